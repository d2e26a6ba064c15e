"""Permutations on the sphere: Mitchell et al. (2022), section 4, Figures 5 to 8."""

from itertools import permutations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.stats import chi2, gaussian_kde

from benchmarks.permutations.errors import RESULTS, one_set
from skshapley.bounds import dot_product_bounds
from skshapley.samplers._permutation_sets import _sphere

BLOCKS = 200  # of 2 (d - 1) permutations, Figure 5
DRAWN = 4000  # permutations of Figure 6
REPEATS = 1000  # of Sobol sequences with scrambles of their own, Figure 8


def kendall(ranks, others):
    """Return Kendall's tau of two arrays of rank vectors ``(n, d)``, row by row."""
    i, j = np.triu_indices(ranks.shape[1], 1)
    agree = np.sign(ranks[:, i] - ranks[:, j]) * np.sign(others[:, i] - others[:, j])
    return agree.mean(axis=1)


def similarities(method, d):
    """Return tau of all pairs of different permutations within sets of 2 (d - 1)."""
    i, j = np.triu_indices(2 * (d - 1), 1)
    found = []
    for seed in range(BLOCKS):
        orders, _ = one_set(method, 2 * (d - 1), d, np.random.default_rng([seed, d]))
        ranks = np.argsort(orders, axis=1)
        tau = kendall(ranks[i], ranks[j])
        found.append(tau[tau < 1])
    return np.concatenate(found)


def shares(tau):
    """Return the share of similar pairs, and the spread of pairs that are not reverses."""
    spread = np.sqrt((tau[tau > -1] ** 2).mean())
    return {"share above .5": (tau > 0.5).mean(), "rms but reverses": spread}


def figure5(ax, d=10):
    """Draw the densities of tau, and return their summaries."""
    records, grid = [], np.linspace(-1.1, 1.1, 400)
    for method, label in (("orthogonal", "orthogonal"), ("Monte Carlo", "independent")):
        tau = similarities(method, d)
        ax.plot(grid, gaussian_kde(tau, 0.15)(grid), label=label)
        records.append({"set": label} | shares(tau))
    ax.set(title=f"Figure 5, d = {d}", xlabel="Kendall's tau of two permutations")
    ax.set(ylabel="density")
    ax.legend()
    return pd.DataFrame(records)


def figure6(ax, d=15):
    """Draw dot products against tau, and return by how much they pass the bounds."""
    rng = np.random.default_rng(0)
    # sorting noise with a trend of random slope gives all values of tau
    trend = rng.normal(0, 1, DRAWN)[:, None] * (np.arange(d) - (d - 1) / 2)
    ranks = np.argsort(np.argsort(trend + rng.normal(size=(DRAWN, d)), axis=1), axis=1)
    identity = np.arange(d)
    tau = kendall(ranks, np.broadcast_to(identity, ranks.shape))
    unit = (ranks - (d - 1) / 2) / np.sqrt(d * (d**2 - 1) / 12)
    products = unit @ ((identity - (d - 1) / 2) / np.sqrt(d * (d**2 - 1) / 12))
    grid = np.linspace(-1, 1, 200)
    for bound in dot_product_bounds(grid):
        ax.plot(grid, bound, "k--", linewidth=1)
    ax.plot(tau, products, ".", markersize=2)
    ax.set(title=f"Figure 6, d = {d}", xlabel="Kendall's tau to the identity")
    ax.set(ylabel="dot product")
    lower, upper = dot_product_bounds(tau)
    return max((lower - products).max(), (products - upper).max())


def figure7(ax):
    """Draw 200 Sobol points on the sphere."""
    points = _sphere(np.random.default_rng(0), 200, 4)
    front = points @ [0.43, -0.75, 0.5] > 0  # towards the camera
    ax.scatter(*points.T, c=np.where(front, "C0", "lightgrey"), s=8, depthshade=False)
    ax.set(title="Figure 7, 200 points", box_aspect=(1, 1, 1))


def counts(method, seed, n=1000):
    """Return how often each of the 24 permutations of four players occurs."""
    orders, _ = one_set(method, n, 4, np.random.default_rng(seed))
    names = {order: i for i, order in enumerate(permutations(range(4)))}
    return np.bincount([names[tuple(order)] for order in orders.tolist()], minlength=24)


def figure8(ax):
    """Draw the counts of permutations, and return chi squares of sets, and of all together."""
    ax.bar(np.arange(24), counts("Sobol", 0))
    ax.axhline(1000 / 24, color="k", linewidth=1)
    ax.set(
        title="Figure 8, 1000 permutations, d = 4",
        xlabel="permutation",
        ylabel="times drawn",
    )
    records = []
    for method in ("Sobol", "Monte Carlo"):
        drawn = np.array([counts(method, seed) for seed in range(REPEATS)])
        squares = ((drawn - 1000 / 24) ** 2).sum(axis=1) / (1000 / 24)
        means = drawn.mean(axis=0)
        z = (means - 1000 / 24) / (drawn.std(axis=0, ddof=1) / np.sqrt(REPEATS))
        records.append(
            {"set": method, "chi square": squares.mean(), "largest z": np.abs(z).max()}
        )
    return pd.DataFrame(records).assign(**{"5 % limit of chance": chi2.ppf(0.95, 23)})


def sphere(quick, seconds):
    """Make the figures and their table; takes seconds, quick or not."""
    fig = plt.figure(figsize=(10, 8), layout="constrained")
    axes = [
        fig.add_subplot(2, 2, i + 1, projection="3d" if i == 2 else None)
        for i in range(4)
    ]
    pairs = figure5(axes[0])
    passed = figure6(axes[1])
    figure7(axes[2])
    uniform = figure8(axes[3])
    fig.savefig(RESULTS / "figure5_to_8.png", dpi=80)
    plt.close(fig)
    text = [
        "# Permutations on the sphere (Figures 5, 6 and 8)\n",
        pairs.to_markdown(index=False, floatfmt=".3g"),
        (
            f"\nLargest excess over bounds of Theorem 2 at d = 15: {passed:.3f}; 1/d = "
            f"{1 / 15:.3f}\n"
        ),
        uniform.to_markdown(index=False, floatfmt=".3g"),
    ]
    (RESULTS / "sphere.md").write_text("\n".join(text) + "\n")
