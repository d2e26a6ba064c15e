"""Samplers of permutations against each other: Mitchell et al. (2022), section 5.

    python -m benchmarks permutations [--quick] [--seconds S] [table4] [curves] [images]
                                            [appendix] [sphere]

table4     discrepancies and CPU times of sets (Table 4), and herding pair by pair for comparison
curves     errors against evaluations for XGBoost margins (Figures 9 and 10), multi-layer
           perceptrons (Figure 11), and this package's own variants; all of the background
images     errors for images of 256 tiles against black (Figures 12 and 15), CPU times (Table 5)
appendix   herding with other kernels and numbers of candidates (Figures 13, 14, 16 and 17)
sphere     orthogonal and Sobol permutations on the sphere (Figures 5 to 8)

Every curve is the mean over trials with a 95 % band; a table and model gets 25 trials, or as many
as fit into S seconds, at least three. Where the truth is not known, the error is the variance over
trials. Data come from the folder SKSHAPLEY_DATA, or from scikit-learn; results go to
doc/results/permutations.
"""

import argparse
import sys
import time

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from benchmarks.permutations.appendix import appendix
from benchmarks.permutations.errors import RESULTS, TRIALS, enough, one_set, summary
from benchmarks.permutations.images import images
from benchmarks.permutations.sphere import sphere
from benchmarks.permutations.tasks import BUNDLED, DATA, FILES, SMALL, TABULATED, task
from skshapley.diagnostics import permutation_discrepancy
from skshapley.samplers import (
    Antithetic,
    Herding,
    Leverage,
    MonteCarlo,
    Orthogonal,
    Owen,
    OwenHalved,
    SequentialBayesianQuadrature,
    Sobol,
    Stratified,
)
from skshapley.testing import explain_game

ROWS = 3  # of tables of more than twelve columns
CELLS = [(d, n) for d in (10, 50, 200) for n in (10, 100, 1000)]
ALL = {"references": "all"}

EXISTING = {
    "Monte Carlo": MonteCarlo(**ALL),
    "antithetic": Antithetic(**ALL),
    "Owen, published nodes": Owen("uniform"),
    "Owen-halved, published nodes": OwenHalved("uniform"),
    "stratified, Castro": Stratified("castro"),
}
PROPOSED = {
    "antithetic": Antithetic(**ALL),
    "herding": Herding(paired=False, **ALL),
    "SBQ": SequentialBayesianQuadrature(paired=False, **ALL),
    "orthogonal": Orthogonal(**ALL),
    "Sobol": Sobol("sphere", paired=False, **ALL),
}
OURS = {
    "antithetic": Antithetic(**ALL),
    "herding, pairs": Herding(**ALL),
    "SBQ, pairs": SequentialBayesianQuadrature(**ALL),
    "Sobol, pairs": Sobol(**ALL),
    "Owen-halved, Gauss-Legendre": OwenHalved(),
    "stratified, Neyman": Stratified(),
    "leverage least squares": Leverage(),
}
METHODS = EXISTING | PROPOSED | OURS
FIGURES = {
    "figure9": ("gbdt", EXISTING),
    "figure10": ("gbdt", PROPOSED),
    "figure11": ("mlp", PROPOSED),
    "variants": ("gbdt", OURS),
}


# --- Table 4 --------------------------------------------------------------------------


def herding_pair_by_pair(d, n, rng, candidates=25):
    """Herding as it is written down: one kernel after the other."""

    def kernel(one, other):
        i, j = np.triu_indices(d, 1)
        discordant = ((one[i] < one[j]) != (other[i] < other[j])).sum()
        return np.exp(-4.0 * discordant / len(i))

    chosen = []
    for _ in range(n):
        drawn = [rng.permutation(d) for _ in range(candidates)]
        chosen.append(min(drawn, key=lambda c: sum(kernel(c, s) for s in chosen)))
    return np.array(chosen)


def table4(quick, seconds):
    records = []
    for d, n in CELLS[:5] if quick else CELLS:
        for method in PROPOSED:
            dear = n == 1000 and method in ("herding", "SBQ")
            trials = (2 if d > 10 else 5) if dear else 5 if quick else TRIALS
            found, times = [], []
            for trial in range(trials):
                start = time.process_time()
                made = one_set(method, n, d, np.random.default_rng([trial, d, n]))
                times.append(time.process_time() - start)
                found.append(permutation_discrepancy(*made))
            records.append(
                {
                    "d": d,
                    "n": n,
                    "method": method,
                    "discrepancy": np.mean(found),
                    "std": np.std(found),
                    "seconds": np.median(times),
                    "trials": trials,
                }
            )
        line = [
            f"{r['method']} {r['discrepancy']:.4f}" for r in records[-len(PROPOSED) :]
        ]
        print(d, n, *line, flush=True)
    frame = pd.DataFrame(records)
    frame.to_csv(RESULTS / "table4.csv", index=False, float_format="%.5g")
    wide = frame.pivot_table(
        index=["d", "n"], columns="method", values=["discrepancy", "seconds"]
    )
    plain = []
    for d, n in [(10, 100), (50, 50), (200, 30)]:
        start = time.process_time()
        herding_pair_by_pair(d, n, np.random.default_rng(0))
        slow = time.process_time() - start
        start = time.process_time()
        for trial in range(5):
            one_set("herding", n, d, np.random.default_rng(trial))
        fast = (time.process_time() - start) / 5
        plain.append({"d": d, "n": n, "pair by pair, s": slow, "herding, s": fast})
    plain = pd.DataFrame(plain)
    plain["ratio"] = plain["pair by pair, s"] / plain["herding, s"]
    plain.to_csv(RESULTS / "pair_by_pair.csv", index=False, float_format="%.4g")
    text = ["# Discrepancy, Mallows kernel, lam 4 (Table 4); CPU seconds, one thread\n"]
    text += [markdown(wide["discrepancy"]), markdown(wide["seconds"]), markdown(plain)]
    (RESULTS / "table4.md").write_text("\n".join(text))


def markdown(frame):
    frame = frame.reset_index() if frame.index.nlevels > 1 else frame
    rows = [
        [f"{x:.4g}" if isinstance(x, float) else str(x) for x in row]
        for row in frame.values
    ]
    lines = [list(map(str, frame.columns)), ["---"] * frame.shape[1], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


# --- Figures 9 to 11 ------------------------------------------------------------------


def sizes(d, quick):
    """Return numbers of permutations; without a table, the model takes most of the time."""
    most = 512 if d <= SMALL else 128 if d <= TABULATED else 32 if d <= 30 else 8
    return [2**k for k in range(1, 10) if 2**k <= (most // 4 if quick else most)]


def run_trials(game, methods, budgets, trials, seconds):
    """Return estimates by method and budget, each a list over trials of ``(r, p)``."""
    found, start, trial = {}, time.process_time(), 0
    while not enough(trial, trials, start, seconds):
        for name, sampler in methods.items():
            for budget in budgets:
                try:
                    outcome = explain_game(
                        game, sampler=sampler, max_evals=budget, random_state=trial
                    )
                except ValueError:  # fewer evaluations than the method's least
                    continue
                found.setdefault((name, budget), []).append(outcome.values[:, :, 0])
        trial += 1
    return found


def curves(quick, seconds):
    for model, methods in (("gbdt", METHODS), ("mlp", PROPOSED)):
        records = []
        for name in FILES if DATA else BUNDLED:
            one = task(name, model, ROWS)
            d = one.game.n_players
            budgets = [n * (d - 1) + 2 for n in sizes(d, quick)]
            found = run_trials(
                one.game, methods, budgets, 3 if quick else TRIALS, seconds
            )
            records += [
                {"data": name, "d": d} | line for line in summary(found, one.truth)
            ]
            print(model, name, d, records[-1]["trials"], "trials", flush=True)
            report(model, pd.DataFrame(records))


def report(model, frame):
    """Write the records of a model so far, the errors at its largest budgets, and its figures."""
    frame.to_csv(RESULTS / f"{model}.csv", index=False, float_format="%.4g")
    last = frame[
        frame["evaluations"] == frame.groupby("data")["evaluations"].transform("max")
    ]
    wide = last.pivot_table(index="method", columns="data", values="mse", sort=False)
    wide = (wide / wide.loc["antithetic"]).reset_index()
    (RESULTS / f"{model}.md").write_text(
        "# MSE relative to antithetic, at the largest budget "
        f"({model})\n\n{markdown(wide)}"
    )
    for figure, (other, methods) in FIGURES.items():
        if other == model:
            plot(frame, methods, figure)


def plot(frame, methods, figure):
    names = list(dict.fromkeys(frame["data"]))
    fig, axes = plt.subplots(
        2, -(-len(names) // 2), figsize=(11, 6.5), squeeze=False, layout="constrained"
    )
    for ax, name in zip(axes.flat, names, strict=False):
        for method in methods:
            line = frame[(frame["data"] == name) & (frame["method"] == method)]
            ax.plot(line["evaluations"], line["mse"], marker=".", label=method)
            ax.fill_between(
                line["evaluations"],
                line["low"].clip(lower=line["mse"] / 10),
                line["high"],
                alpha=0.2,
            )
        d = frame.loc[frame["data"] == name, "d"].iloc[0]
        ax.set(title=f"{name} (d = {d:g})", xscale="log", yscale="log")
    for ax in axes[-1]:
        ax.set_xlabel("evaluations")
    axes[0, 0].set_ylabel("mean squared error")
    fig.legend(
        *axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4
    )
    fig.savefig(RESULTS / f"{figure}.png", dpi=80)
    plt.close(fig)


PARTS = {
    "table4": table4,
    "curves": curves,
    "images": images,
    "appendix": appendix,
    "sphere": sphere,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(PARTS))
    parser.add_argument("--quick", action="store_true", help="small cells, few trials")
    parser.add_argument(
        "--seconds", type=float, default=np.inf, help="CPU for a table and model"
    )
    options = parser.parse_args()
    RESULTS.mkdir(parents=True, exist_ok=True)
    for name in options.parts or PARTS:
        PARTS[name](options.quick, options.seconds)
        print(name, f"{time.process_time():.0f} s of CPU so far", flush=True)


if __name__ == "__main__":
    sys.exit(main())
