"""Reproduce the experiments of Grah & Thouvenot (2020), section 5: Figures 2 and 3.

The mean over 50 couples of the norm of the error (not squared, although the axes of the
figures say so) by the number of evaluations of the reward. These are different
coalitions, v(empty) and v(all) included: one that comes again is free, and what it
leaves buys further draws. The paper counts draws. Column `asked` is what was asked, of
the budget `evaluations`. Steps of SGD are the authors' code's, for F/2. Beside the
paper's methods stand what this package makes of the same evaluations. For every task it
writes `doc/results/sgd/<task>.csv` and `.png`, and `tables.md` of all tasks.

    python -m benchmarks sgd [--quick] [--task classification-16 ...]
"""

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.couples import chi_square_median, make_couples
from skshapley._tools._random import row_generators
from skshapley.samplers import Importance, Kernel, Leverage, Uniform
from skshapley.solvers import ProjectedSGD
from skshapley.testing import explain_game

RESULTS = Path(__file__).parent.parent / "doc" / "results" / "sgd"
TRUTH_WALKS = 50_000

TASKS = {
    "classification-16": dict(kind="chi-square", n_players=16, n_samples=1000),
    "regression-16": dict(kind="radial", n_players=16, n_samples=1000),
    "classification-300": dict(kind="chi-square", n_players=300, n_samples=10_000),
}
BUDGETS = {
    16: (128, 256, 500, 1000, 2000, 4000, 8000, 16_000, 30_000),
    300: (1500, 3300, 10_000, 57_300),
}
PAPER = {"constant": {16: 0.01, 300: 0.001}, "sqrt": {16: 0.1, 300: 0.01}}


def methods(p):
    """Name, sampler, solver: first the paper's, then ours."""
    constant, sqrt = PAPER["constant"][p], PAPER["sqrt"][p]

    def sgd(step, size):
        return ProjectedSGD(step, step_size=size, batch_size=1)

    chosen = {
        "classical MC": ("classical", "auto"),
        "optimised MC (Algorithm 1)": ("monte-carlo", "auto"),
        f"SGD, step {constant}": (Importance(), sgd("constant", constant)),
        f"SGD, step {sqrt}/sqrt(t)": (Importance(), sgd("sqrt", sqrt)),
        "SGD, uniform law": (Uniform(), sgd("constant", constant)),
        "SGD, defaults": ("auto", "sgd"),
        "SGD, defaults, leverage pairs": (Leverage(replacement=True), "sgd"),
        "orthogonal permutations": ("orthogonal", "auto"),
        "kernel least squares, pairs": (Kernel(replacement=True), "auto"),
        "leverage least squares, pairs": (Leverage(), "auto"),
    }
    if p > 20:  # it diverges: the weights of the rarest coalitions grow like 2^p
        del chosen["SGD, uniform law"]
    return chosen


def sampled_truth(game, n_walks):
    """Mean over many permutations; a step changes the sum of squares by one summand."""
    truth = np.zeros((game.n_rows, game.n_players, 1))
    threshold = chi_square_median(game.n_players)
    for row, rng in enumerate(row_generators(20_200_825, range(game.n_rows))):
        change = game.X[row] ** 2 - game.references[row] ** 2
        start = (game.references[row] ** 2).sum()
        inside = (game.X[row] ** 2).sum() > threshold
        for _ in range(n_walks // 1000):
            order = rng.permuted(np.tile(np.arange(game.n_players), (1000, 1)), axis=1)
            sums = start + np.cumsum(change[order], axis=1)
            worth = ((sums > threshold) == inside).astype(float)
            steps = np.diff(worth, axis=1, prepend=0.0)
            truth[row, :, 0] += (
                np.bincount(order.ravel(), steps.ravel(), game.n_players) / n_walks
            )
    return truth


def measure(task, quick):
    """Yield all lines so far, after each method: one for each method and budget."""
    game = make_couples(n_couples=50, random_state=0, **TASKS[task])
    exact = game.n_players <= 20
    truth = game.shapley_values if exact else sampled_truth(game, TRUTH_WALKS)
    budgets = [b for b in BUDGETS[game.n_players] if b <= 4000 or not quick]
    lines = []
    for name, (sampler, solver) in methods(game.n_players).items():
        for budget in budgets:
            start = time.process_time()
            outcome = explain_game(
                game, sampler=sampler, solver=solver, max_evals=budget, random_state=1
            )
            cpu = time.process_time() - start
            errors = np.linalg.norm(outcome.values - truth, axis=1)
            lines.append(
                dict(
                    method=name,
                    evaluations=budget,
                    asked=outcome.n_evaluations.mean(),
                    error=errors.mean(),
                    se=errors.std(ddof=1) / np.sqrt(len(errors)),
                    cpu_us_per_evaluation=1e6 * cpu / outcome.n_evaluations.sum(),
                )
            )
        print(f"{task}: {name}: {lines[-1]['error']:.4f} at {budgets[-1]}", flush=True)
        yield pd.DataFrame(lines)


def draw(task, frame):
    """Write the curves, both axes logarithmic."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    ax = figure.subplots()
    for i, (name, curve) in enumerate(frame.groupby("method", sort=False)):
        style = "-" if i < 5 else "--"
        ax.plot(curve["evaluations"], curve["error"], style, marker=".", label=name)
    ax.set(xscale="log", yscale="log", xlabel="evaluations of the reward", title=task)
    ax.set_ylabel("mean norm of the error")
    ax.legend(fontsize=7)
    figure.savefig(RESULTS / f"{task}.png", dpi=90)


def tables():
    """Write one table for each task that has results."""
    parts = ["# Errors (Grah & Thouvenot, Figures 2 and 3)"]
    for task in TASKS:
        path = RESULTS / f"{task}.csv"
        if path.exists():
            frame = pd.read_csv(path)
            table = frame.pivot_table(
                index="method", columns="evaluations", values="error"
            )
            table = table.loc[frame["method"].unique()]
            head = "| " + " | ".join(["method", *map(str, table.columns)]) + " |"
            rule = "|" + "---|" * (table.shape[1] + 1)
            body = [
                "| " + " | ".join([name, *(f"{v:.3g}" for v in row)]) + " |"
                for name, row in zip(table.index, table.to_numpy(), strict=True)
            ]
            # files that do not say what was asked are from runs in which repeats were
            # not replaced
            counted = "different evaluations" if "asked" in frame else "draws"
            parts.append("\n".join([f"## {task}, by {counted}", "", head, rule, *body]))
    (RESULTS / "tables.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="up to 4000 evaluations")
    parser.add_argument("--task", nargs="*", choices=TASKS, default=list(TASKS))
    arguments = parser.parse_args()
    RESULTS.mkdir(parents=True, exist_ok=True)
    for task in arguments.task:
        for frame in measure(task, arguments.quick):
            frame.to_csv(RESULTS / f"{task}.csv", index=False, float_format="%.4g")
        draw(task, frame)
    tables()


if __name__ == "__main__":
    main()
