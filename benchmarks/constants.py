"""Coverage, widths and errors of the Gaussian-process estimator with other constants.

    python -m benchmarks constants                 # Shapley values
    python -m benchmarks constants --interactions

Ten kinds of games with ten players, three games each, at 40, 100 and 200 evaluations.
Each constant of `skshapley._process` is changed by itself. The true values are
enumerated. The comments at the constants quote the output. A run takes four minutes on
one core.
"""

import argparse
import sys
from importlib import import_module
from math import comb
from time import process_time

import numpy as np

from skshapley import shapley_values

P, SEEDS, BUDGETS = 10, 3, (40, 100, 200)
COALITIONS = (np.arange(2**P)[:, None] >> np.arange(P) & 1).astype(bool)
PAIRS = np.triu_indices(P, 1)

VALUES = {
    "_errors.SPENT": (1.0, 2.0),
    "_errors.POOLED": (0.0, 0.5),
    "_errors.JUMPS": (0.0, 1.0, 6.0),
    "_errors.SILENT": (0.0, 0.2),
    "_errors.FEW": (0.0, 2.0),
    "_errors.LEAST_STEP": (0.0, 1.0),
    "_kernel.JITTER": (1e-12, 1e-5),
    "_kernel.ODD_SIZE_START": (-6.0, 0.0),
    "_kernel.REACH_LEVEL_VARIANCE": (0.5, 30.0),
    "_kernel.LONGEST": (0.6, 2.5),
    "_kernel.SHORTEST": (0.001, 0.1),
    "_case.LEAST_PAIRS": (1.3, 3.0),
}
OF_INTERACTIONS = {
    "_kernel.LEAST_TOTAL": (0.02, 0.5),
    "_kernel.MOST_NOISE": (0.02, 1.0, 30.0),
    "_kernel.EVEN_SIZE_START": (-6.0, -2.0, 0.0),
    "_functionals.MOST_WITNESSES": (10,),
    "_errors.JUMPS": (0.0,),
    "_errors.SPENT": (1.0, 2.0),
    "_errors.POOLED": (0.0, 0.5),
}


def game(kind, seed):
    """Return the values of all coalitions in a random game of a kind, ``(2 ** P,)``."""
    rng = np.random.default_rng([seed, sum(map(ord, kind))])
    w, S = rng.normal(size=P), COALITIONS.astype(float)
    if kind == "smooth":
        values = S @ w
        for _ in range(8):
            members = rng.permutation(P)[: rng.integers(2, 5)]
            values = values + rng.normal() * S[:, members].prod(axis=1)
        return values + 3 * np.tanh(S @ rng.normal(size=P))
    if kind == "parity":
        signs, values = 2 * S - 1, np.zeros(len(S))
        for _ in range(30):
            members = rng.permutation(P)[: rng.integers(1, 5)]
            values += rng.normal() * signs[:, members].prod(axis=1)
        return values
    if kind == "vote":
        votes = rng.integers(1, 9, size=P)
        return (S @ votes > votes.sum() / 2) * 1.0
    if kind == "radial":
        return np.exp(-((S - rng.random(P)) ** 2 @ rng.uniform(0.2, 1.5, P)))
    other = rng.normal(size=P)
    return {
        "tanh": 3 * np.tanh(S @ w) + S @ w / 2,
        "exponential": np.exp(1.2 * S @ w),
        "steps": np.round(8 * np.tanh(S @ w)) / 4,
        "threshold": S @ w + 2.0 * (S @ other > 0.5),
        "rare": S @ w + 3 * S[:, np.argsort(other)[:4]].prod(axis=1),
        "maximum": (S * np.abs(w)).max(axis=1),
    }[kind]


KINDS = (
    *("smooth", "tanh", "exponential", "vote", "steps"),
    *("threshold", "parity", "radial", "rare", "maximum"),
)


def truth(values, players):
    """Return the Shapley value of one player, or the interaction of two."""
    rest = P - len(players)
    without = np.flatnonzero(~COALITIONS[:, players].any(axis=1))
    change = np.zeros(len(without))
    for present in range(2 ** len(players)):
        added = sum(1 << i for k, i in enumerate(players) if present >> k & 1)
        change += (-1) ** (len(players) - present.bit_count()) * values[without | added]
    size = COALITIONS[without].sum(axis=1)
    return change @ (
        1 / ((rest + 1) * np.array([comb(rest, s) for s in range(rest + 1)])[size])
    )


def runs(interactions):
    """Return kind, relative squared error, stated squared error and coverage of each run."""
    entries = (
        [[int(i), int(j)] for i, j in zip(*PAIRS, strict=True)]
        if interactions
        else None
    )
    entries = entries or [[i] for i in range(P)]
    bits, found = 1 << np.arange(P), []
    for kind in KINDS:
        for seed in range(SEEDS):
            values = game(kind, seed)
            expected = np.array([truth(values, players) for players in entries])
            scale = (expected**2).sum() + 1e-30
            for budget in BUDGETS:
                result = shapley_values(
                    lambda S, values=values: values[S @ bits],
                    n_players=P,
                    sampler="odd",
                    solver="gp",
                    max_evals=budget + 2,
                    random_state=seed,
                    interactions=interactions,
                )
                made = result.interactions if interactions else result
                at = (0, *PAIRS) if interactions else ...
                error = np.asarray(made.values)[at] - expected
                stated = np.full(len(error), np.nan)
                if made.standard_errors is not None:
                    stated = np.asarray(made.standard_errors)[at]
                inside = np.abs(error) <= 1.96 * stated + 1e-12 * np.sqrt(scale)
                squared = error @ error / scale, stated @ stated / scale
                known = np.isfinite(stated)
                held = inside[known].mean() if known.any() else np.nan
                found.append((kind, *squared, held))
    return found


def ratio(found, usual, column):
    """Return the geometric mean of ratios of squares, where both are more than rounding."""
    ours, theirs = (np.array([run[column] for run in made]) for made in (found, usual))
    kept = (ours > 1e-20) & (theirs > 1e-20)
    return np.exp(np.log(ours[kept] / theirs[kept]).mean())


def line(found, usual):
    """Return coverage, the worst kind of games, and ratios to the usual constants."""
    by_kind = {k: np.nanmean([run[3] for run in found if run[0] == k]) for k in KINDS}
    worst = min(by_kind, key=by_kind.get)
    return (
        f"coverage {np.nanmean([run[3] for run in found]):.3f}, {by_kind[worst]:.2f} "
        f"({worst}); squared error x {ratio(found, usual, 1):.2f}; width x "
        f"{ratio(found, usual, 2) ** 0.5:.2f}"
    )


def changed(name, value, interactions):
    """Return the runs with another value of a constant, in all modules that import it."""
    home, name = name.split(".")
    package = "skshapley._process"
    old = getattr(import_module(f"{package}.{home}"), name)
    modules = [
        module for path, module in sys.modules.items() if path.startswith(package)
    ]
    modules = [m for m in modules if vars(m).get(name) is old]
    try:
        for module in modules:
            setattr(module, name, value)
        return old, runs(interactions)
    finally:
        for module in modules:
            setattr(module, name, old)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--interactions", action="store_true")
    interactions = parser.parse_args().interactions
    start, usual = process_time(), runs(interactions)
    print(f"usual: {line(usual, usual)}; {process_time() - start:.0f} s", flush=True)
    for name, others in (OF_INTERACTIONS if interactions else VALUES).items():
        for value in others:
            old, found = changed(name, value, interactions)
            print(
                f"{name} = {value} instead of {old}: {line(found, usual)}", flush=True
            )


if __name__ == "__main__":
    main()
