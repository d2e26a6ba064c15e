"""Herding with other kernels and numbers of candidates: Mitchell et al. (2022), appendix B.

Figures 13 and 14 vary lam of the Mallows kernel, for XGBoost margins and for
perceptrons, Figure 16 the candidates among which each permutation is chosen, Figure 17
the kernel. Every trial has sets of its own, chosen among the same uniform permutations
by all. A set has 100 permutations, on tables of more than fifty columns 25. Of tables
of more than twelve columns two rows are explained.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from benchmarks.permutations.errors import RESULTS, TRIALS, enough, herded, record
from benchmarks.permutations.tasks import (
    BUNDLED,
    DATA,
    FILES,
    task,
    walk_means,
    walk_worths,
)
from skshapley.samplers import KendallKernel, MallowsKernel, SpearmanKernel

ROWS = 2
WIDE = 50  # columns
LAMS = (0.5, 2, 4, 8, 32)
COUNTS = (2, 5, 10, 25, 50)


class SpearmanOfOrders(SpearmanKernel):
    """Spearman's kernel of orders instead of ranks, as in the authors' code."""

    def features(self, permutations):
        return super().features(np.argsort(permutations, axis=1))


KERNELS = {
    "Mallows, lam 4": (MallowsKernel(4), 25),
    "Kendall": (KendallKernel(), 25),
    "Spearman": (SpearmanKernel(), 25),
    "Spearman, of orders": (SpearmanOfOrders(), 25),
}
BY_LAM = {lam: (MallowsKernel(lam), 25) for lam in LAMS}
BY_COUNT = {count: (MallowsKernel(4), count) for count in COUNTS}
# figure: (model, what varies, the settings); those of 15 are in permutation_images
FIGURES = {
    "figure13": ("gbdt", "lam", BY_LAM),
    "figure14": ("mlp", "lam", BY_LAM),
    "figure16": ("gbdt", "candidates", BY_COUNT),
    "figure17": ("gbdt", "kernel", KERNELS),
}


def appendix(quick, seconds):
    """Measure all settings and draw the figures."""
    records = []
    for model in ("gbdt", "mlp"):
        figures = {name: about for name, about in FIGURES.items() if about[0] == model}
        for data in FILES if DATA else BUNDLED:
            one = task(data, model, ROWS)
            lines, trials = measured(one, figures, 3 if quick else TRIALS, seconds / 2)
            records += lines
            print(model, data, one.game.n_players, trials, "trials", flush=True)
            pd.DataFrame(records).to_csv(
                RESULTS / "appendix.csv", index=False, float_format="%.4g"
            )
    for figure in FIGURES:
        draw(pd.DataFrame(records), figure)


def measured(one, figures, trials, seconds):
    """Return the records of a task, and how many trials there were."""
    p = one.game.n_players
    n = 25 if p > WIDE else 100
    settings = [
        setting for _, _, all_of in figures.values() for setting in all_of.values()
    ]
    found, start, trial = {setting: [] for setting in settings}, time.process_time(), 0
    while not enough(trial, trials, start, seconds):
        for (kernel, candidates), of_setting in found.items():
            orders = herded(
                kernel, n, p, np.random.default_rng([trial, p, n]), candidates
            )
            worths = walk_worths(one.game, orders)
            of_setting.append(walk_means(worths, orders, np.full(n, 1 / n)))
        trial += 1
    about = {"data": one.name, "d": p, "permutations": n}
    lines = [
        {"figure": figure, "setting": label} | about | record(found[setting], one.truth)
        for figure, (_, _, all_of) in figures.items()
        for label, setting in all_of.items()
    ]
    return lines, trial


def draw(frame, figure):
    """Draw a figure from the records: a panel for each table."""
    _, varied, settings = FIGURES[figure]
    of_figure = frame[frame["figure"] == figure]
    tables = list(dict.fromkeys(of_figure["data"]))
    fig, axes = plt.subplots(
        2, -(-len(tables) // 2), figsize=(10, 5.5), squeeze=False, layout="constrained"
    )
    for ax in axes.flat[len(tables) :]:
        ax.set_axis_off()
    for ax, data in zip(axes.flat, tables, strict=False):
        lines = of_figure[of_figure["data"] == data]
        points(ax, settings, lines)
        ax.set(
            title=f"{data} (d = {lines['d'].iloc[0]}, n = {lines['permutations'].iloc[0]})"
        )
        ax.set_ylim(bottom=0)
    fig.suptitle(f"Mean squared error of herding by {varied}, 95 % intervals")
    fig.savefig(RESULTS / f"{figure}.png", dpi=80)
    plt.close(fig)


def points(ax, settings, lines):
    """Draw errors with their intervals, at numbers on a logarithmic axis or at names."""
    error, half = lines["mse"], lines["high"] - lines["mse"]
    if all(isinstance(label, str) for label in settings):
        places = np.arange(len(settings))
        ax.errorbar(places, error, half, fmt="o", capsize=3)
        ax.set_xticks(
            places, [label.replace(", ", ",\n") for label in settings], fontsize=7
        )
        ax.set_xlim(-0.5, len(settings) - 0.5)
        return
    ax.plot(list(settings), error, marker=".")
    ax.fill_between(list(settings), error - half, error + half, alpha=0.2)
    ax.set_xscale("log", base=2)
    ax.set_xticks(list(settings), [f"{label:g}" for label in settings])
