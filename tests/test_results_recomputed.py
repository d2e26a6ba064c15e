"""A cell of each file of results comes out again; the cell is drawn by the version.

Bits of sums differ between machines: numbers agree to a part in a hundred, shares to
.02, and errors over trials to the width of their 95 % intervals. Files of tables and
models in SKSHAPLEY_DATA are recomputed where that folder is.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import numpy as np
import pandas as pd
import pytest

import skshapley
from benchmarks.couples import make_couples
from skshapley.diagnostics import masking_curve, permutation_discrepancy
from skshapley.testing import explain_game

ROOT = Path(__file__).parents[1]
DATA = os.environ.get("SKSHAPLEY_DATA")
RESULTS = ROOT / "doc" / "results"

EVERY = 0.01  # of a number: what it may differ by
pytestmark = pytest.mark.skipif(
    not RESULTS.exists(), reason="an installed package has no pages"
)


def of_couples(task):
    """Grah & Thouvenot, Figures 2 and 3: mean errors of 50 couples."""

    def cell(line):
        from benchmarks import sgd

        game = make_couples(n_couples=50, random_state=0, **sgd.TASKS[task])
        sampler, solver = sgd.methods(game.n_players)[line["method"]]
        how = {"max_evals": line["evaluations"], "random_state": 1}
        found = explain_game(game, sampler=sampler, solver=solver, **how)
        exact = game.n_players <= 20
        truth = (
            game.shapley_values if exact else sgd.sampled_truth(game, sgd.TRUTH_WALKS)
        )
        off = np.linalg.norm(found.values - truth, axis=1)
        return line["error"], off.mean(), 0.01 * line["error"]

    return cell


def of_probabilities(line):
    from benchmarks import margins

    _, ways, *rows = next(task for task in margins.tasks() if task[0] == line["task"])
    truth = margins.true_values(ways, *rows)
    budget = line["budget"] if line["budget"] == "auto" else int(line["budget"])
    now = margins.errors(ways[line["way"]], *rows, truth, budget)
    # the trees are fitted by another version of XGBoost, or on another processor
    return line["error"], now["error"], 0.2 * line["error"]


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
        permutation_discrepancy(
            *one_set(line["method"], n, d, np.random.default_rng([i, d, n]))
        )
        for i in range(line["trials"])
    ]
    return line["discrepancy"], np.mean(found), 0.01 * line["discrepancy"]


def of_families(line):
    from benchmarks import coverage_families

    games = coverage_families.games_of(line["family"])
    measures = coverage_families.cell(
        line["sampler"], line["times"], games, line["runs"]
    )
    return line["coverage"], measures["coverage"], 0.02


def of_alarms(line):
    from benchmarks import coverage_families

    law = coverage_families.LAWS[line["attributions"]]
    share = coverage_families.alarms(law, int(line["baseline"]), int(line["charts"]))
    return line["alarms"], share, 0.01


def of_accuracy(line):
    """Errors of two seeds; of models that are fitted alike on all machines."""
    from benchmarks.accuracy import __main__ as accuracy

    tasks = accuracy.TASKS[line["task"]](accuracy.INSTANCES)
    found = [
        accuracy.measure(line["method"], tasks, line["budget"], seed)[0]
        for seed in (0, 1)
    ]
    return line["error"], np.mean(found), EVERY * line["error"]


def of_curves(model):
    """Mitchell et al., Figures 9 to 11: errors of permutations on a table of eight columns."""

    def cell(line):
        from benchmarks.permutations import __main__ as permutations
        from benchmarks.permutations.tasks import task

        one = task(line["data"], model, permutations.ROWS)
        methods = {line["method"]: permutations.METHODS[line["method"]]}
        given = one.game, methods, [line["evaluations"]], line["trials"], np.inf
        (found,) = permutations.summary(permutations.run_trials(*given), one.truth)
        return line["mse"], found["mse"], line["high"] - line["low"]

    return cell


def of_appendix(line):
    """Mitchell et al., appendix B: herding by kernels and numbers of candidates."""
    from benchmarks.permutations import appendix
    from benchmarks.permutations.tasks import task

    model, varied, settings = appendix.FIGURES[line["figure"]]
    setting = {str(label): label for label in settings}[line["setting"]]
    one = task(line["data"], model, appendix.ROWS)
    figures = {"": (model, varied, {setting: settings[setting]})}
    (found,), _ = appendix.measured(one, figures, line["trials"], np.inf)
    return line["mse"], found["mse"], line["high"] - line["low"]


def of_images(about):
    """Mitchell et al., Figures 12 and 15: errors on an image of 256 tiles."""

    def cell(line):
        from benchmarks.permutations.errors import herded, one_set, record
        from benchmarks.permutations.images import PAIRS
        from benchmarks.permutations.tasks import Tiles, walk_means
        from skshapley.samplers import MallowsKernel, Sobol, draw_permutations

        tiles, n, estimates = Tiles(8), 100, []
        for trial in range(int(line["trials"])):
            rng = np.random.default_rng([trial, tiles.n_players, n])
            if about == "lam":
                lam = line["lam"]
                orders = herded(MallowsKernel(lam), n, tiles.n_players, rng)
                made = orders, np.full(n, 1 / n)
            elif line["method"] == PAIRS:
                made = draw_permutations(Sobol(), n, tiles.n_players, rng)
            else:
                made = one_set(line["method"], n, tiles.n_players, rng)
            estimates.append(
                walk_means(tiles.walk_worths(int(line["image"]), made[0]), *made)
            )
        return line["mse"], record(estimates)["mse"], line["high"] - line["low"]

    return cell


def of_sphere(line):
    """Mitchell et al., Figure 5: similarities of permutations within a set."""
    from benchmarks.permutations.sphere import shares, similarities

    method = {"independent": "Monte Carlo"}.get(line["set"], line["set"])
    name = "rms but reverses"
    return line[name], shares(similarities(method, 10))[name], EVERY * line[name]


def of_structured(name):
    """Chen et al., Figures 2 and 3: log-odds as features that rank first are masked."""

    def cell(line):
        from benchmarks.structured import __main__ as structured

        if name in structured.TEXTS:
            model, documents = structured.TEXTS[name]()
            games = structured.word_games(model, documents, "predict_log_proba")
            values, _ = structured.of_words(line["method"], games)
            followed = structured.word_games(model, documents, "log_odds")
            curve = masking_curve(followed, values)
        else:
            made = structured.PIXELS[name]()
            explainer, explanation = structured.of_pixels(line["method"], *made)
            curve = masking_curve(explainer, explanation.values, made[2])
        if "deletion" in line:
            return (
                line["deletion"],
                curve.area()["deletion"],
                EVERY * abs(line["deletion"]),
            )
        points = curve.frame()
        at = (points["kind"] == line["kind"]) & np.isclose(
            points["fraction"], line["fraction"]
        )
        return line["mean"], points["mean"][at].item(), EVERY * abs(line["mean"]) + 1e-3

    return cell


def of_scaling(line):
    from benchmarks.structured.__main__ import scaled

    return line["evaluations"], scaled(line["method"], line["d"])[2], 0


def of_tiles(line):
    from benchmarks.structured import __main__ as structured

    exact, _ = structured.of_tiles("exact", line["response"])
    values, _ = structured.of_tiles(line["method"], line["response"])
    found = structured.relative_error(values, exact)
    return line["relative_error"], found, EVERY * line["relative_error"] + 1e-9


def of_background(line):
    from benchmarks import background

    _, predict, rows, instances, truth = next(background.tasks())
    found = background.methods(predict, rows, instances, line["times"])
    values = next(values for name, values, _ in found if name == line["method"])
    # The trees are fitted by another version of XGBoost, or on another processor
    return line["error"], background.relative(values, truth(rows)), 0.2 * line["error"]


def of_hundred_rows(line):
    from benchmarks import background

    found = next(background.against_hundred([line["times"]]))
    return line["odd"], found["odd"], 0.2 * line["odd"]


def of_amortized(line):
    from benchmarks import amortized

    found = amortized.measured(line["table"])
    # A perceptron of two layers differs after forty passes over the data
    return line["error"], found["error"], 0.2 * line["error"]


def of_margins(line):
    from benchmarks import conditional

    found = {name: cells for name, *cells in conditional.margins()}[line["margins"]]
    return line["copula"], float(found[1]), 0.05 * line["copula"]


def of_interactions(line):
    from benchmarks.interactions import __main__ as interactions

    family = line["family"]
    games = {family: interactions.made("benchmark", 8)[family]}
    found = interactions.measured(games, [line["times"]], 1, shapiq=False)
    return line["coverage"], np.mean(found["covered"][family, line["times"]]), 0.03


def of_games(line):
    from benchmarks.games import __main__ as games
    from benchmarks.games import structured
    from skshapley import shapley_values

    p = int(line["players"])
    worth, truth = structured.game(line["game"], p)
    budget = int(line["times"]) * p
    squares = []
    for seed in games.SEEDS:
        result = shapley_values(worth, n_players=p, max_evals=budget, random_state=seed)
        squares.append(((result.values - truth) ** 2).sum() / (truth**2).sum())
    error = games.geometric(np.maximum(squares, games.TINY))
    # Steps of the optimiser differ between versions of SciPy
    return line[games.OURS], error, 0.2 * line[games.OURS]


def of_pipelines(line):
    from benchmarks.pipelines import B, R, explain, pipelines, table

    X, y = table(10)
    model = dict(pipelines(X))[line["pipeline"]].fit(X, y)
    (once, _), (plain, _) = (
        explain(model, X, transformed) for transformed in (True, False)
    )
    assert len(once.values) == R == len(X[B : B + R])
    return line["difference"], np.abs(once.values - plain.values).max(), 1e-12


def markdown(title=None):
    """Read the first table of a page, or the first one after a title."""

    def read(path):
        text = path.read_text(encoding="utf-8")
        text = text.partition(f"{title}\n")[2] if title else text
        lines = text[text.index("\n|") + 1 :].partition("\n\n")[0].splitlines()
        cells = [
            [cell.strip() for cell in line.strip("|").split("|")] for line in lines
        ]
        table = pd.DataFrame(cells[2:], columns=cells[0])
        numbers = table.apply(pd.to_numeric, errors="coerce")
        return table.where(numbers.isna(), numbers)

    return read


def of_refits(line):
    from benchmarks.refits import measured

    name = "coverage, half samples"
    return line[name], measured(line["law"], line["model"])[name], 2e-3


def quick_accuracies(table):
    """Cells of models that are fitted alike on all machines.

    Processes on the game of chi-square differ by 3 % between versions of SciPy.
    """
    methods = ["leverage", "kernel", "permutations, all rows"]
    tasks = table["task"].isin(["friedman-svm", "diabetes-svm", "synthetic20"])
    process = tasks & table["method"].isin(["default", "odd"])
    sampled = (tasks | (table["task"] == "chi16")) & table["method"].isin(methods)
    return table[(process | sampled) & (table["budget"] <= 20)]


def quick_pairs(table):
    """Cells that have a coverage, of solvers that are not Gaussian processes."""
    return table[table["coverage"].notna() & ~table["solver"].str.startswith("gp")]


def below(column, most):
    return lambda table: table[table[column] <= most]


def among(column, *values):
    return lambda table: table[table[column].isin(values)]


@dataclass
class Recomputed:
    """How a cell of a file is computed, and which of its cells are quick."""

    cell: Callable
    quick: Callable = lambda table: table
    read: Callable = pd.read_csv
    with_data: bool = False


TABLES = ("goals", "means", "real", "wins", "worst", "tasks")
STRUCTURED = ("digits", "imdb", "agnews", "mnist", "cifar")
METHODS_OF_CHEN = among("method", "C-Shapley, regression", "antithetic permutations")
RECOMPUTED = {
    RESULTS / "accuracy" / "cells.csv": Recomputed(
        of_accuracy,
        quick_accuracies,
    ),
    **{
        RESULTS / "sgd" / f"{task}.csv": Recomputed(
            of_couples(task),
            below("evaluations", 4000),
        )
        for task in ("classification-16", "regression-16", "classification-300")
    },
    RESULTS / "coverage" / "cells.csv": Recomputed(of_coverage, quick_pairs),
    RESULTS / "coverage" / "stopping_cells.csv": Recomputed(
        of_stopping, lambda table: table[table["sampler"] != "odd"]
    ),
    RESULTS / "permutations" / "table4.csv": Recomputed(
        of_discrepancies,
        lambda table: table[table["n"] * table["d"] <= 5000],
    ),
    **{
        RESULTS / "permutations" / f"{model}.csv": Recomputed(
            of_curves(model), among("data", "cal_housing"), with_data=True
        )
        for model in ("gbdt", "mlp")
    },
    RESULTS / "permutations" / "appendix.csv": Recomputed(
        of_appendix, among("data", "cal_housing"), with_data=True
    ),
    RESULTS / "permutations" / "sphere.md": Recomputed(of_sphere, read=markdown()),
    RESULTS / "permutations" / "images.csv": Recomputed(
        of_images("method"), with_data=True
    ),
    RESULTS / "permutations" / "lam_of_images.csv": Recomputed(
        of_images("lam"), with_data=True
    ),
    **{
        RESULTS / "structured" / f"{name}{part}.csv": Recomputed(
            of_structured(name), METHODS_OF_CHEN, with_data=name != "digits"
        )
        for name in STRUCTURED
        for part in ("", "_area")
    },
    RESULTS / "structured" / "scaling.csv": Recomputed(of_scaling, below("d", 512)),
    RESULTS / "structured" / "tiles.csv": Recomputed(of_tiles),
    RESULTS / "coverage" / "families.csv": Recomputed(of_families),
    RESULTS / "coverage" / "families.md": Recomputed(
        of_alarms, read=markdown("## Drift")
    ),
    RESULTS / "background.csv": Recomputed(
        of_background,
        lambda table: table[
            (table["task"] == "friedman1, XGBoost")
            & table["method"].str.startswith("skshapley")
        ],
    ),
    RESULTS / "hundred.csv": Recomputed(
        of_hundred_rows,
        among("task", "friedman1, XGBoost"),
    ),
    RESULTS / "margins.csv": Recomputed(
        of_probabilities, among("task", "friedman1, XGBoost")
    ),
    RESULTS / "refits.csv": Recomputed(of_refits, among("model", "ridge")),
    RESULTS / "amortized.md": Recomputed(
        of_amortized,
        among("table", "friedman1"),
        markdown(),
    ),
    RESULTS / "conditional.md": Recomputed(of_margins, read=markdown("## Margins")),
    RESULTS / "interactions.md": Recomputed(
        of_interactions,
        lambda table: table[table["family"] != "mean"].assign(times=10),
        markdown("## benchmark"),
    ),
    RESULTS / "games.csv": Recomputed(of_games, among("kind", "structured")),
    RESULTS / "pipelines.md": Recomputed(
        of_pipelines,
        lambda table: table[table["pipeline"].str.startswith("20")],
        markdown(),
    ),
}
# Made of other files here, which tests/test_results.py compares
DERIVED = {
    *(
        RESULTS / "coverage" / name
        for name in ("all.csv", "defaults.csv", "stopping.csv", "tables.md")
    ),
    *(RESULTS / "accuracy" / f"{name}.csv" for name in TABLES),
    RESULTS / "accuracy" / "versions.csv",
    RESULTS / "games.md",
    *(RESULTS / folder / "tables.md" for folder in ("accuracy", "sgd", "structured")),
    *(RESULTS / "permutations" / f"{name}.md" for name in ("table4", "gbdt", "mlp")),
}
# Times of a machine
TIMES = {
    RESULTS / "permutations" / "table5.csv",
    RESULTS / "permutations" / "pair_by_pair.csv",
    *(RESULTS / f"{name}.md" for name in ("batches", "latency", "speed", "trees")),
}
INDEX = RESULTS / "index.csv"


def origin(path):
    """Return the line of a file in the index of results."""
    return (
        pd.read_csv(INDEX).set_index("file").loc[path.relative_to(RESULTS).as_posix()]
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "path", RECOMPUTED, ids=lambda path: str(path.relative_to(ROOT))
)
def test_a_cell_is_reproduced(path):
    file = RECOMPUTED[path]
    if file.with_data and DATA is None:
        pytest.skip("needs the tables in SKSHAPLEY_DATA")
    table = file.quick(file.read(path))
    seed = crc32(f"{skshapley.__version__} {path.name}".encode())
    line = table.iloc[np.random.default_rng(seed).integers(len(table))].to_dict()
    said, now, allowed = file.cell(line)
    assert now == pytest.approx(said, abs=allowed), (
        f"{path.relative_to(ROOT)} is stale in its line {line}: renew it by "
        f"`{origin(path)['command']}`"
    )


def test_every_results_file_is_recomputed_or_holds_times():
    numbers = {path for path in RESULTS.rglob("*") if path.suffix in {".csv", ".md"}}
    pages = {INDEX, RESULTS / "index.md"}
    assert numbers == {*RECOMPUTED, *DERIVED, *TIMES, *pages}


def test_the_index_names_the_origin_of_every_file():
    from benchmarks.__main__ import subjects

    index = pd.read_csv(INDEX, dtype=str)
    assert index.notna().all(axis=None)
    files = {
        path.relative_to(RESULTS).as_posix()
        for path in RESULTS.rglob("*")
        if path.is_file() and path.stem != "index"
    }
    assert set(index["file"]) == files
    targets = index["command"].str.extract(r"^make bench-([a-z-]+)")[0]
    assert set(targets.str.replace("-", "_")) <= subjects().keys()


def print_lines():
    """Print how many lines of each file are drawn from, and which files are not."""
    for path, file in RECOMPUTED.items():
        table = file.read(path)
        shares = f"{len(file.quick(table))} of {len(table)} lines may be drawn"
        print(f"{path.relative_to(RESULTS)}: {shares}")
    for path in sorted(TIMES):
        print(f"{path.relative_to(RESULTS)}: times, not recomputed")


if __name__ == "__main__":
    print_lines()
