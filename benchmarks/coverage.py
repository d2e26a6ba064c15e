"""The coverage of nominal 95 % intervals, by sampler, solver and number of units.

Each line is one sampler and solver on one game at one budget, run many times with independent
seeds. `coverage` is the share of (run, player) with abs(estimate - truth) <= 1.96 standard errors;
`SE/SD` the mean standard error over the true standard deviation of the estimate (mean over
players); `bias` the largest abs(mean error) over its own standard error. Players with
constant estimates are left out. An arrow marks shares outside 92-98 %, with the cause if it is
known: few units, or rare events (a player that matters in few permutations).

    python -m benchmarks coverage [--runs 60] [--only walks|references|regression|others]
    python -m benchmarks coverage --table [--runs 60] [--seconds 200]

The latter runs every sampler of the registry with every solver that accepts its designs and has
standard errors, on seven games at three budgets, and stopping rules. It resumes an interrupted
run, and writes the tables of `doc/results/coverage`. Remove these files to start again.

Truths are closed forms, or enumeration by `skshapley.testing.brute_force`.
"""

import argparse
import time
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pandas as pd

from skshapley.designs import PermutationDesign
from skshapley.samplers import (
    SAMPLERS,
    Antithetic,
    Classical,
    Kernel,
    Leverage,
    MonteCarlo,
    Orthogonal,
    Owen,
    SamplerTask,
    Stratified,
)
from skshapley.solvers import DEFAULT_SOLVERS, SOLVERS
from skshapley.stopping import StandardError
from skshapley.testing import (
    AirportGame,
    DividendGame,
    FourierGame,
    HybridGame,
    RandomGame,
    WeightedVotingGame,
    as_instances,
    brute_force,
    explain_game,
)

COLUMNS = "{:<28}{:<16}{:>4}{:>4}{:>7}{:>7}{:>10}{:>7}{:>6}"
HEADER = COLUMNS.format(
    "method", "game", "p", "b", "evals", "units", "coverage", "SE/SD", "bias"
)


def sparse_fourier(p, seed):
    """Main effects, pairs and triples that decay with their order, as in models."""
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
    pairs = interactions + interactions.T
    main = {(j,): effect for j, effect in enumerate(rng.normal(size=p))}
    return DividendGame(
        p, main | {(i, j): pairs[i, j] for i, j in combinations(range(p), 2)}
    )


def cooperative_games():
    """Games against one reference: name, game of one instance, Shapley values."""
    games = {
        "random": RandomGame(6, seed=1),
        "airport": AirportGame(np.arange(1.0, 11.0) ** 1.5),
        "fourier 12": sparse_fourier(12, seed=2),
        "pairwise": full_pairwise(16, seed=3),
        "voting": WeightedVotingGame(np.arange(1, 21), quota=106),
        "fourier 30": sparse_fourier(30, seed=4),
    }
    return {
        name: (as_instances(game), game.shapley_values) for name, game in games.items()
    }


class Triples:
    """A sum of main effects and products of three columns; each product is enumerated alone."""

    def __init__(self, p, seed):
        rng = np.random.default_rng(seed)
        self.main = rng.normal(size=p)
        everything = list(combinations(range(p), 3))
        chosen = rng.choice(len(everything), size=p, replace=False)
        self.triples = np.array(everything)[chosen]
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
    """Games against b references: name, game of one instance, Shapley values."""
    rng = np.random.default_rng(b)
    games = {}
    for name, function, p in (("network", network, 6), ("steps", steps, 8)):
        game = HybridGame(function, rng.normal(size=(1, p)), rng.normal(size=(b, p)))
        games[name] = game, game.shapley_values[0, :, 0]
    x, background = rng.normal(size=30), rng.normal(size=(b, 30))
    function = Triples(30, seed=5)
    games["triples"] = (
        HybridGame(function, x[None], background),
        function.shapley_values(x, background),
    )
    return games


def measure(sampler, solver, game, truth, max_evals, n_runs):
    """Return coverage, mean(SE)/SD and the worst bias in standard errors."""
    many = HybridGame(
        game.function,
        np.repeat(game.X, n_runs, 0),
        game.background,
        game.reference_weights,
    )
    outcome = explain_game(
        many, sampler=sampler, solver=solver, max_evals=max_evals, random_state=7
    )
    error, se = outcome.values[:, :, 0] - truth, outcome.standard_errors[:, :, 0]
    if np.isnan(se).any(axis=1).all():
        return np.nan, np.nan, np.nan
    spread = error.std(axis=0, ddof=1)
    varies = spread > 1e-9 * max(np.abs(truth).max(), 1.0)
    if not varies.any() or np.isnan(se).all():
        return np.nan, np.nan, np.nan
    error, se, spread = error[:, varies], se[:, varies], spread[varies]
    bias = np.abs(error.mean(axis=0)) / (spread / np.sqrt(n_runs))
    known = ~np.isnan(se).any(
        axis=1
    )  # a run whose coalitions cannot tell players apart has none
    held = np.abs(error[known]) <= 1.96 * se[known]
    return held.mean(), (se[known].mean(axis=0) / spread).mean(), bias.max()


def n_units(sampler, game, max_evals):
    """Return the number of independent units of one run."""
    p, b = game.n_players, game.n_references
    rng = np.random.default_rng(0)
    n = sampler.afford((max_evals - 2) * b, p, b).n_draws
    design = sampler.start(SamplerTask(p, [rng], n, game.reference_weights)).ask(
        np.zeros(1, dtype=int), n
    )
    draws = getattr(design, "permutations", None)
    draws = design.coalitions if draws is None else draws
    return draws.shape[1] // getattr(design, "unit", 1)


def line(label, sampler, name, game, truth, max_evals, n_runs, solver="auto"):
    p, b = game.n_players, game.n_references
    if not sampler.afford((max_evals - 2) * b, p, b).n_draws or max_evals >= b * 2**p:
        return
    units = n_units(sampler, game, max_evals)
    coverage, ratio, bias = measure(sampler, solver, game, truth, max_evals, n_runs)
    if np.isnan(coverage):
        return
    row = COLUMNS.format(
        label,
        name,
        p,
        b,
        max_evals,
        units,
        f"{coverage:.3f}",
        f"{ratio:.2f}",
        f"{bias:.1f}",
    )
    print(row + ("" if 0.92 <= coverage <= 0.98 else "  <-"), flush=True)


def walks(n_runs):
    """Permutation samplers, one reference."""
    for name, (game, truth) in cooperative_games().items():
        p = game.n_players
        for factory in (MonteCarlo, Antithetic, Orthogonal):
            for n_walks in (4, 8, 16, 32, 64, 128):
                budget = n_walks * (p - 1) + 2
                line(factory.__name__, factory(), name, game, truth, budget, n_runs)


def references(n_runs):
    """Permutation samplers, several references: all, or one for each unit."""
    for b in (10, 50):
        for name, (game, truth) in background_games(b).items():
            p = game.n_players
            for factory in (MonteCarlo, Antithetic, Orthogonal):
                for kind in ("stratified", "random", "all"):
                    for n_walks in (2, 3, 4, 8, 16) if b == 10 else (2, 3, 4):
                        if kind == "all" and b > 10:
                            continue
                        label = f"{factory.__name__} {kind}"
                        sampler, budget = (
                            factory(references=kind),
                            n_walks * (p - 1) + 2,
                        )
                        line(label, sampler, name, game, truth, budget, n_runs)


def regression(n_runs):
    """Coalition samplers with least squares."""
    for name, (game, truth) in cooperative_games().items():
        p = game.n_players
        for factory in (Kernel, Leverage):
            for paired, again in ((True, False), (True, True), (False, True)):
                for times in (3, 4, 6, 10, 20, 40):
                    kind = ("pairs" if paired else "singles") + (
                        " again" if again else ""
                    )
                    sampler = factory(paired=paired, replacement=again)
                    label = f"{factory.__name__} {kind}"
                    line(label, sampler, name, game, truth, times * p + 2, n_runs)


def others(n_runs):
    """Other solvers with standard errors, without the Gaussian-process estimator."""
    methods = [
        ("Stratified", Stratified(), "stratified-mean", (2, 4, 10), n_runs),
        ("Owen", Owen(), "stratified-mean", (2, 4, 10, 30), n_runs),
        ("Classical", Classical(), "marginal-mean", (2, 4, 8, 30), n_runs),
        ("Leverage, sample reuse", Leverage(), "sample-reuse", (2, 3, 5, 10), n_runs),
        (
            "Leverage, adjusted",
            Leverage(),
            "regression-adjustment",
            (2, 3, 5, 10),
            n_runs // 2,
        ),
    ]
    for name, (game, truth) in cooperative_games().items():
        for label, sampler, solver, times, runs in methods:
            for factor in times:
                budget = factor * sampler.price(game.n_players, 1).least_evals + 2
                if budget <= 3000:
                    line(label, sampler, name, game, truth, budget, runs, solver)


# --- every pair of the registries -----------------------------------------------------

RESULTS = Path(__file__).parents[1] / "doc" / "results" / "coverage"
CELLS = RESULTS / "cells.csv"
COLUMNS_OF_CELLS = ["sampler", "solver", "times", "task", "runs", "coverage", "ratio"]
TIMES = (4, 10, 30)
GP_RUNS = 30
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
ADJUSTED = "regression-adjustment"  # seconds a run: of permutations, only "antithetic"


def table_games():
    """Seven games: name, game of one instance, Shapley values."""
    games = {
        name: (as_instances(game), game.shapley_values)
        for name, game in {
            "random 10": RandomGame(10, seed=1),
            "airport 10": AirportGame(np.arange(1.0, 11.0) ** 1.5),
            "fourier 12": sparse_fourier(12, seed=2),
            "pairwise 16": full_pairwise(16, seed=3),
            "fourier 30": sparse_fourier(30, seed=4),
        }.items()
    }
    rng = np.random.default_rng(10)
    for name, function in (("network 9 x 10", network), ("steps 9 x 10", steps)):
        game = HybridGame(function, rng.normal(size=(1, 9)), rng.normal(size=(10, 9)))
        games[name] = game, game.shapley_values[0, :, 0]
    return games


def pairs():
    """Every sampler with every solver that reads it and has errors; default pairs come first."""
    both = []
    for sampler, solver in product(SAMPLERS, SOLVERS):
        made = SAMPLERS[sampler].produces
        fits = issubclass(made, SOLVERS[solver].accepts)
        slow = issubclass(made, PermutationDesign) and solver == ADJUSTED
        if (
            fits
            and sampler not in ELSEWHERE
            and (sampler == "antithetic" or not slow)
            and SOLVERS[solver]().traits.standard_errors
        ):
            both.append((sampler, solver))
    return sorted(both, key=lambda pair: not is_default(*pair))


def is_default(sampler, solver):
    return DEFAULT_SOLVERS[SAMPLERS[sampler].produces] == solver


def known(path, columns):
    """Return the lines that were measured before."""
    return pd.read_csv(path) if path.exists() else pd.DataFrame(columns=columns)


def keep(path, columns, line):
    """Add a line to a file, so that an interrupted run goes on after it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame([line], columns=columns).to_csv(
        path, mode="a", header=not path.exists(), index=False, float_format="%.4g"
    )


def measure_pairs(n_runs, enough):
    """Measure the missing cells of cells.csv, until `enough` returns True."""
    done = set(
        known(CELLS, COLUMNS_OF_CELLS).iloc[:, :4].itertuples(index=False, name=None)
    )
    for (sampler, solver), times in product(pairs(), TIMES):
        for task, (game, truth) in table_games().items():
            key = sampler, solver, times, task
            p, b = game.n_players, game.n_references
            budget, component = times * p, SAMPLERS[sampler]()
            if key in done or enough():
                continue
            runs, found = (
                min(n_runs, GP_RUNS) if solver in ("gp", ADJUSTED) else n_runs,
                (np.nan, np.nan),
            )
            if budget < 2**p and component.afford((budget - 2) * b, p, b).n_draws:
                found = measure(component, solver, game, truth, budget, runs)[:2]
            keep(CELLS, COLUMNS_OF_CELLS, (*key, runs, *found))
            print(*key, *found, flush=True)


def shares(of_pair):
    """Return the cells of one line: mean, least and largest coverage; and SE/SD at the end."""
    shown = []
    for times in TIMES:
        found = of_pair[of_pair["times"] == times]["coverage"].dropna()
        if found.empty:
            shown.append("-")
            continue
        share = found.mean()
        text = f"{share:.3f}" if 0.92 <= share <= 0.98 else f"**{share:.3f}**"
        shown.append(f"{text} ({found.min():.2f}-{found.max():.2f})")
    ratios = of_pair[of_pair["times"] == TIMES[-1]]["ratio"].dropna()
    return [*shown, f"{ratios.mean():.2f}" if len(ratios) else "-"]


def write_tables():
    """Write all.csv, and defaults.csv of each sampler with its own solver, which pages quote.

    A pair of which cells are missing keeps its line.
    """
    cells = known(CELLS, COLUMNS_OF_CELLS)
    head = ["sampler", "solver", *(f"{times} p" for times in TIMES), "SE/SD"]
    before = known(RESULTS / "all.csv", head).astype(str)
    lines = []
    for sampler, solver in pairs():
        names = [f'"{sampler}"', f'"{solver}"']
        of_pair = cells[(cells["sampler"] == sampler) & (cells["solver"] == solver)]
        if len(of_pair) == len(TIMES) * len(table_games()):
            if of_pair["coverage"].notna().any():
                lines.append([*names, *shares(of_pair)])
        else:
            lines += before[(before[head[:2]] == names).all(axis=1)].to_numpy().tolist()
    table = pd.DataFrame(lines, columns=head)
    table.to_csv(RESULTS / "all.csv", index=False)
    own = [is_default(*(name.strip('"') for name in line[:2])) for line in lines]
    table[own].drop(columns="SE/SD").to_csv(RESULTS / "defaults.csv", index=False)


# --- rules that stop ------------------------------------------------------------------

STOPPING = RESULTS / "stopping_cells.csv"
COLUMNS_OF_STOPS = [
    "sampler",
    "rtol",
    "task",
    "runs",
    "converged",
    "kept",
    "evaluations",
]
STOPPED = ("antithetic", "orthogonal", "monte-carlo", "odd")
TOLERANCES = (0.1, 0.05)
ODD_STOPS = 20  # runs, for the process takes seconds a run


def measure_stops(n_runs, enough):
    """Measure how often a stopping rule with 95 % confidence is right, for missing cells."""
    done = set(
        known(STOPPING, COLUMNS_OF_STOPS).iloc[:, :3].itertuples(index=False, name=None)
    )
    for sampler, rtol in product(STOPPED, TOLERANCES):
        for task, (game, truth) in table_games().items():
            if (sampler, rtol, task) in done or enough():
                continue
            runs = min(n_runs, ODD_STOPS) if sampler == "odd" else n_runs
            found = stops(sampler, rtol, game, truth, runs)
            keep(STOPPING, COLUMNS_OF_STOPS, (sampler, rtol, task, runs, *found))
            print(sampler, rtol, task, *found, flush=True)


def stops(sampler, rtol, game, truth, n_runs):
    """Return the shares of runs that stop and of these that are right, and their evaluations."""
    background, weights = game.background, game.reference_weights
    many = HybridGame(game.function, np.repeat(game.X, n_runs, 0), background, weights)
    found = explain_game(
        many,
        sampler=sampler,
        max_evals=min(200 * game.n_players, 2**game.n_players - 1),
        stopping=StandardError(rtol=rtol),
        random_state=7,
    )
    converged = found.converged
    if not converged.any():
        return 0.0, np.nan, found.n_evaluations.mean()
    values = found.values[converged, :, 0]
    off = np.abs(values - truth).max(axis=1)
    kept = off <= rtol * np.ptp(truth) + 1e-9
    return converged.mean(), kept.mean(), found.n_evaluations[converged].mean()


def write_stops():
    """Write stopping.csv, which pages quote."""
    cells, lines = known(STOPPING, COLUMNS_OF_STOPS), []
    for (sampler, rtol), found in cells.groupby(["sampler", "rtol"], sort=False):
        kept = found["kept"].dropna()
        per_player = found["evaluations"] / found["task"].str.extract(r"(\d+)")[
            0
        ].astype(int)
        shown = (
            f"{kept.mean():.3f} ({kept.min():.2f}-{kept.max():.2f})"
            if len(kept)
            else "-"
        )
        line = (
            len(found),
            f"{found['converged'].mean():.2f}",
            shown,
            f"{per_player.mean():.0f}",
        )
        lines.append((f'"{sampler}"', f"{rtol:g}", *line))
    head = [
        "sampler",
        "rtol",
        "games",
        "stopped",
        "within the tolerance",
        "evaluations a player",
    ]
    pd.DataFrame(lines, columns=head).to_csv(RESULTS / "stopping.csv", index=False)


PARTS = {part.__name__: part for part in (walks, references, regression, others)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=60, help="runs a line")
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument(
        "--table", action="store_true", help="all pairs of the registries"
    )
    parser.add_argument(
        "--seconds", type=float, default=np.inf, help="CPU after which to stop"
    )
    args = parser.parse_args()
    start = time.process_time()
    if args.table:
        enough = lambda: time.process_time() - start > args.seconds  # noqa: E731
        measure_stops(args.runs, enough)
        measure_pairs(args.runs, enough)
        write_stops()
        write_tables()
    else:
        print(HEADER)
        for name, part in PARTS.items():
            if args.only in (None, name):
                part(args.runs)
    print(f"{time.process_time() - start:.0f} s CPU")


if __name__ == "__main__":
    main()
