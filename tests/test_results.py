"""Tables of results agree with their cells, and pages quote them."""

import ast
import re
from importlib import import_module
from itertools import product
from pathlib import Path

import pandas as pd
import pytest

from skshapley.designs import CoalitionDesign
from skshapley.samplers import SAMPLERS
from skshapley.solvers import SOLVERS

RESULTS = Path(__file__).parents[1] / "doc" / "results"
COVERAGE, ACCURACY = RESULTS / "coverage", RESULTS / "accuracy"
DOC = RESULTS.parent
# Their aim is another value than Shapley's on these games, or they give it exactly.
ELSEWHERE = {
    "local",
    "local-permutations",
    "connected",
    "connected-regression",
    "myerson",
    "exact",
    "odd-ranked",  # no random part: all runs of a game agree
}

pytestmark = pytest.mark.skipif(
    not RESULTS.exists(), reason="an installed package has no pages"
)


def printed(cell):
    """The number at the head of a cell such as "**0.980** (0.94-1.00)", or None for a dash."""
    found = re.match(r"\**([\d.]+)", cell)
    return float(found[1]) if found else None


def by_line(path, by):
    """The cells of a table by the names of its lines, without their quotes."""
    frame = pd.read_csv(path, dtype=str)
    names = [frame.pop(name).str.strip('"') for name in by]
    return dict(zip(zip(*names, strict=True), frame.to_dict("records"), strict=True))


def test_coverage_is_the_mean_of_its_cells():
    cells = pd.read_csv(COVERAGE / "cells.csv")
    means = cells.groupby(["sampler", "solver", "times"])["coverage"].mean().dropna()
    table = by_line(COVERAGE / "all.csv", ["sampler", "solver"])
    assert set(table) == {key[:2] for key in means.index}
    for (sampler, solver), line in table.items():
        for times in (4, 10, 30):
            expected = means.get((sampler, solver, times))
            assert printed(line[f"{times} p"]) == (
                expected and pytest.approx(expected, abs=6e-4)
            )
    for key, line in by_line(COVERAGE / "defaults.csv", ["sampler", "solver"]).items():
        assert line.items() <= table[key].items()


def test_cells_of_coverage_are_complete():
    """Every sampler with every solver that reads it and has errors, on seven games.

    Surrogates take seconds a run: of permutations, only antithetic ones have them here.
    """
    cells = pd.read_csv(COVERAGE / "cells.csv")
    pairs = {
        (sampler, solver)
        for sampler, solver in product(SAMPLERS.keys() - ELSEWHERE, SOLVERS)
        if issubclass(SAMPLERS[sampler].produces, SOLVERS[solver].accepts)
        and SOLVERS[solver]().traits.standard_errors
        and (
            solver != "regression-adjustment"
            or sampler == "antithetic"
            or SAMPLERS[sampler].produces is CoalitionDesign
        )
    }
    measured = cells.groupby(["sampler", "solver"]).size()
    assert not {pair for pair in pairs if pair not in measured.index}
    assert (measured == 21).all()
    assert not cells.duplicated(["sampler", "solver", "times", "task"]).any()


def test_stopping_is_the_mean_of_its_cells():
    cells = pd.read_csv(COVERAGE / "stopping_cells.csv")
    grouped = cells.groupby(["sampler", "rtol"])
    means, table = grouped.mean(numeric_only=True), by_line(
        COVERAGE / "stopping.csv", ["sampler", "rtol"]
    )  # fmt: skip
    assert (grouped.size() == 7).all()
    assert {(s, float(t)) for s, t in table} == set(means.index)
    assert {sampler for sampler, _ in table} == {
        "antithetic",
        "orthogonal",
        "monte-carlo",
        "odd",
    }
    for (sampler, rtol), line in table.items():
        mean = means.loc[(sampler, float(rtol))]
        assert float(line["stopped"]) == pytest.approx(mean["converged"], abs=6e-3)
        assert printed(line["within the tolerance"]) == pytest.approx(
            mean["kept"], abs=6e-4
        )


@pytest.mark.parametrize(
    ("page", "files"),
    [
        ("results/coverage/tables.md", {"all.csv", "stopping.csv"}),
        ("guide/budgets.rst", {"defaults.csv", "stopping.csv"}),
    ],
)
def test_pages_quote_coverage_from_its_files(page, files):
    text = (DOC / page).read_text(encoding="utf-8")
    quoted = [(DOC / page).parent / name for name in re.findall(r":file: (\S+)", text)]
    assert {path.name for path in quoted} == files
    assert all(path.resolve().parent == COVERAGE for path in quoted)


def test_tables_of_accuracy_agree_with_their_cells():
    from benchmarks.accuracy.report import tables

    for name, table in tables(pd.read_csv(ACCURACY / "cells.csv")).items():
        assert table.to_csv() == (ACCURACY / f"{name}.csv").read_text(
            encoding="utf-8"
        ), name


def test_peers_are_measured_on_all_tasks():
    """All methods in the README except PolySHAP, which has too many pairs on two tasks."""
    means = pd.read_csv(ACCURACY / "means.csv").set_index("method")
    peers = [
        name
        for name in means.index
        if name.startswith("shapiq") and "SVARM" not in name
    ]
    for name in peers:
        short = " (20)" if name == "shapiq PolySHAP" else ""
        for head in means.columns[:4]:
            assert head.endswith("(22 tasks)")
            assert means[head][name].partition(" ")[2] == short.strip()


def test_tables_of_games_agree_with_their_errors():
    from benchmarks.games.__main__ import summary

    page = (RESULTS / "games.md").read_text(encoding="utf-8")
    assert summary(pd.read_csv(RESULTS / "games.csv")) in page


@pytest.mark.parametrize(
    ("page", "cells"),
    [
        (DOC.parent / "README.md", [("structured", 3), ("models", 3)]),
        (DOC / "from_shap.rst", [("structured", 3), ("structured", 6)]),
        (DOC / "from_shap.rst", [("models", 3), ("models", 6)]),
    ],
)
def test_pages_quote_ratios_of_games(page, cells):
    from benchmarks.games.__main__ import geometric, ratios

    errors = pd.read_csv(RESULTS / "games.csv")
    means = ratios(errors).groupby([errors["kind"], errors["times"]]).agg(geometric)
    text = " ".join(page.read_text(encoding="utf-8").split())
    quoted = " and ".join(f"{means[cell]:.2f}".lstrip("0") for cell in cells)
    assert f"{quoted} times" in text


def test_benchmarks_import_names_that_the_package_has():
    for path in (DOC.parent / "benchmarks").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            module = getattr(node, "module", None) or ""
            if isinstance(node, ast.ImportFrom) and module.startswith("skshapley"):
                names = {alias.name for alias in node.names}
                assert names <= set(dir(import_module(module))), path
