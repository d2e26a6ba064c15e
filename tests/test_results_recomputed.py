"""A cell of each file of results comes out again; its seed is that of the version.

Bits of sums differ between machines: numbers agree to a part in a hundred, and shares to .02.
"""

from pathlib import Path
from zlib import crc32

import numpy as np
import pandas as pd
import pytest

import skshapley
from skshapley.datasets import make_couples
from skshapley.diagnostics import permutation_discrepancy
from skshapley.testing import as_instances, explain_game

ROOT = Path(__file__).parents[1]
DOC, BENCHMARKS = ROOT / "doc" / "results", ROOT / "benchmarks" / "results"

pytestmark = pytest.mark.skipif(not DOC.exists(), reason="an installed package has no pages")


def of_couples(task):
    """Grah & Thouvenot (2020), Figures 2 and 3: up to 4000 evaluations of 50 couples."""

    def cell(line):
        from benchmarks import sgd

        game = make_couples(n_couples=50, random_state=0, **sgd.TASKS[task])
        sampler, solver = sgd.methods(game.n_players)[line["method"]]
        how = {"max_evals": line["evaluations"], "random_state": 1}
        found = explain_game(game, sampler=sampler, solver=solver, **how)
        off = np.linalg.norm(found.values - game.shapley_values, axis=1)
        return line["error"], off.mean(), 0.01 * line["error"]

    return cell, lambda table: table[table["evaluations"] <= 4000]


def of_coverage(line):
    from benchmarks import coverage

    game, truth = coverage.table_games()[line["task"]]
    budget = line["times"] * game.n_players
    given = line["sampler"], line["solver"], game, truth, budget, line["runs"]
    return line["coverage"], coverage.measure(*given)[0], 0.02


def of_stopping(line):
    from benchmarks import coverage

    game, truth = coverage.table_games()[line["task"]]
    found = coverage.stops(line["sampler"], line["rtol"], game, truth, line["runs"])
    return line["converged"], found[0], 0.02


def of_discrepancies(line):
    from benchmarks.permutations.errors import one_set

    d, n = line["d"], line["n"]
    found = [
        permutation_discrepancy(*one_set(line["method"], n, d, np.random.default_rng([i, d, n])))
        for i in range(line["trials"])
    ]
    return line["discrepancy"], np.mean(found), 0.01 * line["discrepancy"]


def of_families(line):
    from benchmarks import coverage_families

    held, n, times = 0, 0, int(line["evaluations"].removesuffix(" p"))
    for game in coverage_families.families()["first"]:
        games, how = as_instances(game, 24), {"max_evals": times * game.n_players}
        found = explain_game(games, sampler=line["sampler"], random_state=0, **how)
        off = np.abs(found.values[:, :, 0] - game.shapley_values)
        held += (off <= 1.96 * found.standard_errors[:, :, 0] + 1e-9).sum()
        n += np.isfinite(found.standard_errors).sum()
    return float(line["first"].partition(" ")[0]), held / n, 0.02


def csv(path):
    return pd.read_csv(path)


def games_of_markdown(path):
    """The first table of a page."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line[:2] == "| "]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    stop = next((i for i, row in enumerate(cells) if i and len(row) != len(cells[0])), len(cells))
    return pd.DataFrame([row for row in cells[1:stop] if row[0] != "---"], columns=cells[0])


def quick_pairs(table):
    """Cells that have a coverage, of solvers that are not processes."""
    return table[table["coverage"].notna() & ~table["solver"].str.startswith("gp")]


COVERAGE = "python -m benchmarks.coverage, after taking the file away"
# the file: how a cell is computed, which cells are quick, and the command that renews it
RECOMPUTED = {
    DOC / "sgd" / f"{task}.csv": (csv, *of_couples(task), f"python -m benchmarks.sgd --task {task}")
    for task in ("classification-16", "regression-16")
} | {
    DOC / "coverage" / "cells.csv": (csv, of_coverage, quick_pairs, COVERAGE),
    DOC / "coverage" / "stopping_cells.csv": (
        csv,
        of_stopping,
        lambda table: table[table["sampler"] != "odd"],
        COVERAGE,
    ),
    DOC / "permutations" / "table4.csv": (
        csv,
        of_discrepancies,
        lambda table: table[table["n"] * table["d"] <= 5000],
        "python -m benchmarks.permutations table4",
    ),
    BENCHMARKS / "coverage.md": (
        games_of_markdown,
        of_families,
        lambda table: table[(table["first"] != "-") & ~table["sampler"].str.startswith("odd")],
        "make bench-coverage",
    ),
}
# Made of other files here, which tests/test_results.py compares
DERIVED = {
    DOC / "coverage" / name for name in ("all.csv", "defaults.csv", "stopping.csv", "tables.md")
} | {DOC / "sgd" / "tables.md", DOC / "permutations" / "table4.md"}
BY_NAME = (
    *("amortized", "batches", "budget", "conditional", "engine", "inputs"),
    *("interactions", "latency", "pipelines", "speed", "trees", "workers"),
)
# Too long, of other packages, of times, or of data that are not here: renewed before a release
RENEWED_BY = {
    DOC / "accuracy": "make bench-accuracy, an hour",
    DOC / "permutations": "make bench-permutations, hours, with SKSHAPLEY_DATA",
    DOC / "sgd" / "classification-300.csv": "make bench-sgd, 20 minutes",
    DOC / "structured": "make bench-structured, with SKSHAPLEY_DATA",
    **{BENCHMARKS / f"{name}.md": f"python -m benchmarks.{name}" for name in BY_NAME},
    BENCHMARKS / "background.csv": "make bench-background, ten minutes, with SKSHAPLEY_DATA",
}


@pytest.mark.slow
@pytest.mark.parametrize("path", RECOMPUTED, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_cell_comes_out_again(path):
    read, recomputed, quick, command = RECOMPUTED[path]
    table = quick(read(path))
    seed = crc32(f"{skshapley.__version__} {path.name}".encode())
    line = table.iloc[np.random.default_rng(seed).integers(len(table))].to_dict()
    said, now, allowed = recomputed(line)
    assert now == pytest.approx(said, abs=allowed), (
        f"{path.relative_to(ROOT)} is stale in its line {line}: renew it by `{command}`"
    )


def test_every_file_of_results_is_recomputed_or_says_how_it_is_renewed():
    numbers = [
        path
        for folder in (DOC, BENCHMARKS)
        for path in folder.rglob("*")
        if path.suffix in {".csv", ".md"}
    ]
    assert len(numbers) > 40
    known = {*RECOMPUTED, *DERIVED, *RENEWED_BY}
    assert not [path for path in numbers if not known & {path, path.parent}]
    assert all(path.exists() for path in known)
