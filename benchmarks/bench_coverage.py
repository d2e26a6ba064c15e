"""How often nominal 95 % intervals hold the true Shapley value, by solver, sampler and number of units.

Each line is one sampler on one game at one budget, run many times with independent seeds. `coverage` is
the share of (run, player) with |estimate - truth| <= 1.96 standard errors; `SE/SD` the mean standard error
over the true standard deviation of the estimate (both averaged over players); `bias` the largest
|mean error| over its own standard error. Players whose estimate never varies are left out.

    python benchmarks/bench_coverage.py [--quick] [--only walks|regression]
"""

import argparse
import time
from itertools import combinations

import numpy as np

from skshapley.samplers import Antithetic, Kernel, Leverage, MonteCarlo, Orthogonal
from skshapley.testing import (
    AirportGame,
    FourierGame,
    HybridGame,
    PairwiseGame,
    RandomGame,
    WeightedVotingGame,
    as_instances,
    brute_force,
    explain_game,
)

HEADER = f"{'sampler':<34}{'game':<22}{'p':>3}{'b':>4}{'evals':>7}{'units':>7}{'coverage':>10}{'SE/SD':>7}{'bias':>6}"


def sparse_fourier(p, seed):
    """Main effects, pairs and triples that decay with their order: what models look like."""
    rng = np.random.default_rng(seed)
    terms = {}
    for order, scale in ((1, 1.0), (2, 0.5), (3, 0.4), (5, 0.2)):
        for _ in range(p):
            members = tuple(sorted(rng.choice(p, size=order, replace=False).tolist()))
            terms[members] = scale * rng.normal()
    return FourierGame(p, terms)


def full_pairwise(p, seed):
    rng = np.random.default_rng(seed)
    interactions = rng.normal(size=(p, p)) / np.sqrt(p)
    return PairwiseGame(rng.normal(size=p), interactions + interactions.T)


def cooperative_games():
    """One reference: name, game of one instance, Shapley values."""
    games = {
        "random": RandomGame(6, seed=1),
        "airport": AirportGame(np.arange(1.0, 11.0) ** 1.5),
        "fourier": sparse_fourier(12, seed=2),
        "pairwise": full_pairwise(16, seed=3),
        "voting": WeightedVotingGame(np.arange(1, 21), quota=106),
        "fourier ": sparse_fourier(30, seed=4),
    }
    return {name: (as_instances(game), game.shapley_values) for name, game in games.items()}


class Triples:
    """Rows to a sum of main effects and products of three columns, closed form by brute force."""

    def __init__(self, p, seed):
        rng = np.random.default_rng(seed)
        self.main = rng.normal(size=p)
        everything = list(combinations(range(p), 3))
        self.triples = np.array([everything[i] for i in rng.choice(len(everything), p, False)])
        self.effects = rng.normal(size=p)

    def __call__(self, rows):
        return rows @ self.main + rows[:, self.triples].prod(axis=2) @ self.effects

    def shapley_values(self, x, background):
        values = (x - background).mean(axis=0) * self.main
        for triple, effect in zip(self.triples, self.effects, strict=True):

            def product(coalitions, triple=triple):
                mixed = np.where(coalitions[:, None], x[triple], background[:, triple])
                return mixed.prod(axis=2).mean(axis=1)

            values[triple] += effect * brute_force(product, 3)
        return values


def network(rows):
    """A smooth function with interactions of every order."""
    rng = np.random.default_rng(9)
    hidden = np.tanh(rows @ rng.normal(size=(rows.shape[1], 16)) + rng.normal(size=16))
    return hidden @ rng.normal(size=16)


def steps(rows):
    """A piecewise constant function, as trees are."""
    rng = np.random.default_rng(10)
    out = np.zeros(len(rows))
    for _ in range(40):
        i, j, k = rng.choice(rows.shape[1], 3, replace=False)
        low = (rows[:, i] > rng.normal()) & (rows[:, j] > rng.normal())
        out += rng.normal() * np.where(low, rows[:, k] > 0, 0.3 * (rows[:, k] < 0.5))
    return out


def background_games(b):
    """b references: name, game of one instance, Shapley values."""
    rng = np.random.default_rng(b)
    games = {}
    for name, function, p in (("network", network, 6), ("steps", steps, 8)):
        game = HybridGame(function, rng.normal(size=(1, p)), rng.normal(size=(b, p)))
        games[name] = game, game.shapley_values[0, :, 0]
    x, background = rng.normal(size=30), rng.normal(size=(b, 30))
    function = Triples(30, seed=5)
    game = HybridGame(function, x[None], background)
    games["triples"] = game, function.shapley_values(x, background)
    return games


def measure(sampler, game, truth, max_evals, n_runs):
    """Return coverage, mean(SE)/SD and the worst bias in standard errors, and the number of runs."""
    many = HybridGame(
        game.function, np.repeat(game.X, n_runs, 0), game.background, game.reference_weights
    )
    outcome = explain_game(many, sampler=sampler, max_evals=max_evals, random_state=7)
    error = outcome.values[:, :, 0] - truth
    se = outcome.standard_errors[:, :, 0]
    spread = error.std(axis=0, ddof=1)
    varies = spread > 1e-9 * max(np.abs(truth).max(), 1.0)
    if not varies.any() or np.isnan(se).all():
        return np.nan, np.nan, np.nan
    error, se, spread = error[:, varies], se[:, varies], spread[varies]
    coverage = (np.abs(error) <= 1.96 * se).mean()
    bias = np.abs(error.mean(axis=0)) / (spread / np.sqrt(n_runs))
    return coverage, (se.mean(axis=0) / spread).mean(), bias.max()


def line(label, name, game, truth, sampler, max_evals, n_runs):
    p, b = game.n_players, game.n_references
    draws = sampler.n_draws(max_evals - 2, p, b)
    if not draws:
        return
    sampler_unit = getattr(sampler, "_unit", None)
    if sampler_unit is None:
        unit = sampler.unit_draws(p, b)
    else:
        sampler.n_players_ = p
        unit = sampler_unit(draws, b)
    coverage, ratio, bias = measure(sampler, game, truth, max_evals, n_runs)
    flag = "" if np.isnan(coverage) or 0.92 <= coverage <= 0.98 else "  <-"
    print(
        f"{label:<34}{name:<22}{p:>3}{b:>4}{max_evals:>7}{draws // unit:>7}{coverage:>10.3f}"
        f"{ratio:>7.2f}{bias:>6.1f}{flag}",
        flush=True,
    )


def walks(n_runs):
    """Permutation samplers with the permutation mean."""
    for name, (game, truth) in cooperative_games().items():
        p = game.n_players
        for factory in (MonteCarlo, Antithetic, Orthogonal):
            for n_walks in (8, 16, 32, 64, 128):
                budget = n_walks * (p - 1) + 2
                line(factory.__name__, name, game, truth, factory(), budget, n_runs)
    for b in (10, 50):
        for name, (game, truth) in background_games(b).items():
            p = game.n_players
            for factory in (MonteCarlo, Antithetic, Orthogonal):
                for references in ("stratified", "random", "all"):
                    sampler = factory(references=references)
                    label = f"{factory.__name__} {references}"
                    for n_walks in (2, 4, 8, 16):
                        if references == "all" and b > 10:
                            continue
                        # with references of their own, b times as many walks
                        budget = n_walks * (p - 1) + 2
                        line(label, name, game, truth, sampler, budget, n_runs)


def regression(n_runs):
    """Coalition samplers with least squares."""
    for name, (game, truth) in cooperative_games().items():
        p = game.n_players
        for factory in (Kernel, Leverage):
            for paired, replacement in ((True, False), (True, True), (False, True)):
                sampler = factory(paired=paired, replacement=replacement)
                kind = ("pairs" if paired else "singles") + (" again" if replacement else "")
                for times in (3, 4, 6, 10, 20, 40):
                    budget = times * p + 2
                    if not replacement and budget >= 2**p:
                        continue
                    label = f"{factory.__name__} {kind}"
                    line(label, name, game, truth, sampler, budget, n_runs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="200 runs a line instead of 1000")
    parser.add_argument("--only", choices=["walks", "regression"])
    args = parser.parse_args()
    n_runs = 200 if args.quick else 1000
    start = time.process_time()
    print(HEADER)
    for part in (walks, regression):
        if args.only in (None, part.__name__):
            part(n_runs)
    print(f"{time.process_time() - start:.0f} s CPU")


if __name__ == "__main__":
    main()
