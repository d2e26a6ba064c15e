"""Figures of this folder, from its cells."""

import numpy as np

from benchmarks.accuracy.methods import AVERAGED, PEERS, SPREAD
from benchmarks.accuracy.tables import FLOOR, budgets_of, common, errors_at, geometric

# Method: colour and style; peers are dashed.
DRAWN = {
    "default": ("#c1272d", "o-"),
    "odd": ("#b5651d", "^-"),
    "odd, all rows": ("#0b5394", "o-"),
    "leverage": ("#38761d", "^-"),
    "permutations, all rows": ("#93c47d", "v-"),
    "shap permutation": ("#444444", "o--"),
    "shap kernel": ("#888888", "s--"),
    "lightshap kernel": ("#8e63b0", "^--"),
    "shapiq kernel": ("#d5a6e6", "v--"),
    "shapiq LeverageSHAP": ("#e377c2", "D--"),
    "shapiq OddSHAP": ("#7f6000", "D--"),
    "shapiq RegressionMSR": ("#bcbd22", "v--"),
}


def curves(cells, methods):
    """Yield method, budgets, geometric means of error, rows a player and seconds."""
    tasks = {
        budget: common(errors_at(cells, budget)).index for budget in budgets_of(cells)
    }
    most = max(map(len, tasks.values()))  # another set of tasks would bend the curves
    tasks = {budget: names for budget, names in tasks.items() if len(names) == most}
    for method in methods:
        points = []
        for budget, names in tasks.items():
            at = cells[(cells["budget"] == budget) & (cells["method"] == method)]
            at = at[at["task"].isin(names)]
            if len(at) == most:
                points.append(
                    (budget, geometric(at["error"]), geometric(at["seconds"]))
                )
        if points:
            yield method, np.array(points).T


def axes_of(n, height=4.4):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2 * n, height), layout="constrained")
    return figure, figure.subplots(1, n, squeeze=False)[0]


def save(figure, axes, path):
    handles = {}
    for ax in axes:
        ax.set_yscale("log")
        ax.grid(which="major", color="#dddddd", linewidth=0.6)
        handles |= dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    order = [method for method in DRAWN if method in handles]
    figure.legend(
        [handles[m] for m in order], order, loc="outside lower center", ncols=6
    )
    figure.savefig(path, dpi=90)


def line(ax, method, x, y):
    colour, style = DRAWN[method]
    ax.plot(x, y, style, color=colour, label=method, markersize=4, linewidth=1.6)


def draw_suite(cells, folder):
    """Geometric means against evaluations, against model rows, and against CPU time."""
    figure, axes = axes_of(3)
    peers = [method for method in DRAWN if method in PEERS]
    ours = [method for method in DRAWN if method in AVERAGED]
    spread = [method for method in DRAWN if method in SPREAD]
    for ax, methods, x, name in (
        (axes[0], ours + peers, 0, "evaluations / d, each over the whole background"),
        (axes[1], [*spread, "odd, all rows", *peers], 0, "model rows / 100 d"),
        (
            axes[2],
            [*spread, "odd, all rows", "leverage", *peers],
            2,
            "CPU seconds an instance",
        ),
    ):
        for method, points in curves(cells, methods):
            line(ax, method, points[x], points[1])
        ax.set(xlabel=name, xscale="log")
    for ax in axes[:2]:
        ticks = axes[0].lines[0].get_xdata()
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.set_xticks([], minor=True)
        ax.set_yscale("log")
        ax.set_ylim(top=1)  # kernel regressions on 2 d evaluations are far above
    axes[0].set_ylabel("squared error / squared norm")
    save(figure, axes, folder / "suite.png")


def draw_cells(cells, folder):
    """`sampler="odd"` beside the best peer, task by task."""
    from matplotlib.figure import Figure

    budgets = [b for b in (2, 4, 10, 20, 50) if b in set(cells["budget"])]
    tables = {b: errors_at(cells, b).clip(lower=FLOOR) for b in budgets}
    tasks = list(dict.fromkeys(cells["task"]))
    figure = Figure(figsize=(7.5, 0.27 * len(tasks) + 1.2), layout="constrained")
    ax = figure.subplots()
    for budget, marker in zip(budgets, "vso^D", strict=False):
        errors = tables[budget].reindex(tasks)
        peers = errors[[m for m in errors if m in PEERS]].min(axis=1)
        if "odd" in errors:
            ax.plot(
                errors["odd"] / peers, range(len(tasks)), marker, label=f"{budget:g}d"
            )
    ax.axvline(1, color="#888888", linewidth=0.8)
    ax.set(
        xscale="log", xlabel="squared error of odd / least of all peers', equal rows"
    )
    ax.set_yticks(range(len(tasks)), tasks)
    ax.invert_yaxis()
    ax.grid(axis="x", color="#dddddd", linewidth=0.6)
    figure.legend(ncols=len(budgets), loc="outside lower center")
    figure.savefig(folder / "cells.png", dpi=90)
