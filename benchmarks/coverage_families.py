"""Coverage, false alarms and stopping over families of games, attributions and tables.

    python -m benchmarks coverage-families [--runs 100] [--quick]

Writes `families.md` and `families.csv` of `doc/results/coverage`; `--quick` prints them
from a tenth of the runs, in two minutes of CPU. Truths are enumerated or known.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.coverage import ELSEWHERE
from skshapley import Explanation
from skshapley.comparison import drift
from skshapley.samplers import SAMPLERS
from skshapley.stopping import StandardError
from skshapley.testing import (
    CooperativeGame,
    DividendGame,
    WeightedVotingGame,
    as_instances,
    brute_force,
    explain_game,
)

P = 10
BUDGETS = (4, 6, 10, 30, 100)  # evaluations a player
MOST_ODD = 24  # runs of the samplers of pairs, which take tenths of a second a run
EXACT = 1e-5  # of the largest value: errors below count as 0
EXTREMES = 15  # cells of the lists of the narrowest and widest errors
FOLDER = Path(__file__).parents[1] / "doc" / "results" / "coverage"
LAWS = {
    "normal": lambda rng, size: rng.normal(size=size),
    "rare": lambda rng, size: (rng.random(size) < 0.02) - 0.02,
    "lognormal": lambda rng, size: np.exp(rng.normal(size=size)) - np.exp(0.5),
    "Student 3": lambda rng, size: rng.standard_t(3, size=size),
}


class Game(CooperativeGame):
    """A function of coalitions, enumerated."""

    n_players, shapley_values = P, None

    def __init__(self, function):
        self.function = function
        self.shapley_values = brute_force(self, P)

    def __call__(self, coalitions):
        return self.function(coalitions)


def huge_player(rng):
    """One player is worth a hundred times the others, which interact."""
    slope = rng.normal(size=P - 1)
    return Game(lambda c: 100 * c[:, 0] + np.tanh(c[:, 1:] @ slope))


def voting(rng):
    weights = rng.integers(1, 13, size=P)
    return WeightedVotingGame(weights, weights.sum() // 2 + 1)


def products(rng):
    factors = rng.normal(size=P)
    return Game(lambda c: np.prod(1 + c * factors, axis=1) - 1)


def max_of_weights(rng):
    weights = rng.exponential(size=P)
    return Game(lambda c: (c * weights).max(axis=1))


def order_four(rng):
    """Twelve coalitions of four players have dividends."""
    coalitions = {tuple(sorted(rng.choice(P, 4, replace=False))) for _ in range(12)}
    return DividendGame(P, {players: rng.normal() for players in coalitions})


def noisy_steps(rng):
    """Three thresholds of sums, and noise of a tenth of a step for each coalition."""
    slopes = rng.normal(size=(P, 3))
    noise = 0.1 * rng.normal(size=2**P)
    noise[0] = 0
    bits = 2 ** np.arange(P)
    return Game(lambda c: (c @ slopes > 0.5).sum(axis=1) + noise[c @ bits])


def rank(rng):
    """The share of coalitions that have a lower sum of weights."""
    weights = rng.normal(size=P)
    every_coalition = (np.arange(2**P)[:, None] >> np.arange(P)) & 1
    sums = np.sort(every_coalition @ weights)
    return Game(lambda c: np.searchsorted(sums, c @ weights - 1e-9) / 2**P)


def periodic(rng):
    slope = 2 * rng.normal(size=P)
    return Game(lambda c: np.sin(c @ slope))


def saturated(rng):
    """Any three players have nearly the whole worth."""
    weights = rng.exponential(size=P)
    return Game(lambda c: np.tanh(c @ weights))


def near_constant(rng):
    """All coalitions but the empty one are worth 1, up to a thousandth."""
    slope = rng.normal(size=P) / 1000
    return Game(lambda c: c.any(axis=1) * (1 + np.tanh(c @ slope)))


def of_rows(model, rng):
    """Mean of a model over ten background rows, with a row's values for a coalition."""
    row = rng.normal(size=P)
    background = rng.normal(size=(10, P))

    def worth(c):
        hybrids = np.where(c[:, None, :], row, background)
        return model(hybrids).mean(axis=1) - model(background).mean()

    return Game(worth)


def dominant_column(rng):
    """A model with one strong column and four columns that it does not use."""
    return of_rows(
        lambda x: (
            100 * x[..., 0]
            + np.sin(2 * x[..., 1]) * x[..., 2]
            + np.tanh(x[..., 3] * x[..., 4] * x[..., 5])
        ),
        rng,
    )


def unused_columns(rng):
    """A model of three of ten columns."""
    return of_rows(lambda x: x[..., 0] * np.exp(x[..., 1] / 2) * (x[..., 2] > 0), rng)


FAMILIES = {
    "huge player": huge_player,
    "voting": voting,
    "products": products,
    "max of weights": max_of_weights,
    "order-4 sums": order_four,
    "noisy steps": noisy_steps,
    "rank": rank,
    "periodic": periodic,
    "saturated": saturated,
    "near constant": near_constant,
    "dominant column": dominant_column,
    "unused columns": unused_columns,
}
GAMES = 3  # of each family


def games_of(family):
    return [FAMILIES[family](np.random.default_rng([seed, 7])) for seed in range(GAMES)]


def cell(sampler, times, games, runs):
    """Coverage, and the geometric mean over players of stated over true variance.

    Players whose values have no error, stated or true, are not in the ratio.
    """
    covered, stated, true = [], [], []
    for game in games:
        explanation = explain_game(
            as_instances(game, runs),
            sampler=sampler,
            max_evals=times * P,
            random_state=0,
        )
        if explanation.standard_errors is None:
            return None
        errors = explanation.standard_errors[:, :, 0]
        misses = np.abs(explanation.values[:, :, 0] - game.shapley_values)
        finite = np.isfinite(errors)
        covered.append((misses <= 1.96 * errors + 1e-9)[finite])
        stated.append((errors**2).sum(axis=0, where=finite))
        # Values without an error beyond rounding are exact, and have no ratio.
        exact = (misses < EXACT * np.abs(game.shapley_values).max()).all(axis=0)
        true.append(np.where(exact, 0, (misses**2).sum(axis=0, where=finite)))
    covered = np.concatenate(covered)
    if not covered.size:
        return None
    stated = np.concatenate(stated)
    true = np.concatenate(true)
    random = (true > 0) & (stated > 0)
    ratio = np.exp(np.log(stated[random] / true[random]).mean()) if random.any() else 1
    return {
        "coverage": covered.mean(),
        "stated / true": ratio,
        "values": covered.size,
        "runs": runs,
    }


def of_games(runs):
    """Share of values within 1.96 standard errors, and stated over true variance."""
    cells = []
    for family in FAMILIES:
        games = games_of(family)
        for sampler in SAMPLERS:
            if sampler in ELSEWHERE:
                continue
            runs_here = min(runs, MOST_ODD) if sampler.startswith("odd") else runs
            for times in BUDGETS:
                try:
                    measures = cell(sampler, times, games, runs_here)
                except ValueError:  # the budget is too small for the sampler
                    continue
                if measures is not None:
                    names = {"sampler": sampler, "family": family, "times": times}
                    cells.append({**names, **measures})
    return pd.DataFrame(cells)


def record(values):
    """An explanation with given attributions, of a table with the same numbers."""
    n, p = values.shape
    names = np.array([f"x{j}" for j in range(p)], dtype=object)
    return Explanation(
        values=values,
        standard_errors=None,
        base_values=np.zeros(n),
        predictions=values.sum(axis=1),
        data=pd.DataFrame(values, columns=names),
        feature_names=names,
        output_names=None,
        converged=np.ones(n, dtype=bool),
        n_evaluations=np.ones(n),
        n_model_rows=np.ones(n),
    )


def of_importances(runs):
    """Share of samples with intervals that contain all ten values; share of finite ends."""
    lines = []
    for law, draw in LAWS.items():
        truth = np.abs(draw(np.random.default_rng(1), 5_000_000)).mean()
        for n in (30, 100, 200, 300, 1000):
            rng = np.random.default_rng(0)
            covered = np.empty(runs, dtype=bool)
            finite = np.empty(runs)
            for run in range(runs):
                table = record(draw(rng, (n, P))).importance(confidence=0.95)
                covered[run] = (
                    table["low"].le(truth).all() & table["high"].ge(truth).all()
                )
                finite[run] = np.isfinite(table["high"]).mean()
            measures = {"covered": covered.mean(), "finite": finite.mean()}
            lines.append({"attributions": law, "rows": n, **measures})
    return pd.DataFrame(lines).assign(runs=runs)


def alarms(law, n, runs):
    """Share of charts with a false alarm, after a baseline of n rows."""
    rng = np.random.default_rng(0)
    periods = np.repeat(np.arange(6), [n, *5 * [40]])
    charts = [drift(record(law(rng, (len(periods), 5))), periods) for _ in range(runs)]
    return np.mean([len(chart.alarms) > 0 for chart in charts])


def of_drift(runs):
    """Share of charts with a false alarm, for five periods of 40 rows."""
    lines = [
        {"attributions": name, "baseline": n, "alarms": alarms(law, n, runs)}
        for name, law in LAWS.items()
        for n in (40, 200)
    ]
    return pd.DataFrame(lines).assign(charts=runs)


def of_stopping(runs):
    """Share of runs that stop, and number of stops with an error above the tolerance."""
    games = {
        f"and of {n} in 20": DividendGame(20, {tuple(range(n)): 1.0}) for n in (2, 3, 4)
    }
    games["majority of 5 in 20"] = WeightedVotingGame([1] * 5 + [0] * 15, 3)
    lines = []
    for name, game in games.items():
        for sampler in ("auto", "antithetic", "monte-carlo", "kernel", "odd"):
            explanation = explain_game(
                as_instances(game, runs),
                sampler=sampler,
                max_evals=3000,
                stopping=StandardError(rtol=0.1),
                random_state=0,
            )
            misses = np.abs(explanation.values[:, :, 0] - game.shapley_values)
            wrong = misses.max(axis=1) > 0.1 * np.ptp(game.shapley_values)
            stopped = explanation.converged
            counts = {"stopped": stopped.mean(), "wrong": (stopped & wrong).sum()}
            lines.append({"game": name, "sampler": sampler, **counts, "runs": runs})
    return pd.DataFrame(lines)


def markdown(table):
    rows = [table.columns, ["---"] * table.shape[1], *table.to_numpy()]
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in rows)


NOTE = """\
Twelve families of games. The constants of this package were chosen on other games, but some were
changed after this page showed a cell below .90. Each family has three games of ten players. A
cell is one sampler, one family and one budget: evaluations are given as times the number of
players.

"stated / true" is the variance that the standard errors state, over the mean squared error: the
geometric mean over players that have an error. One is right, and above one is too wide. Values
without a stated error are not counted.

A share of .95 has a standard deviation of .01 for the runs of a cell if its values are
independent. Values of one run are not: a cell of .90 can be one of .93.
"""


def games_page(cells):
    """Return the extremes and one table of each measure."""
    names = ["sampler", "family", "times", "coverage", "stated / true", "values"]
    cells = cells.round({"coverage": 3, "stated / true": 2})
    narrowest = cells.nsmallest(EXTREMES, "coverage")[names]
    widest = cells.nlargest(EXTREMES, "stated / true")[names]
    parts = [
        f"The {EXTREMES} narrowest cells:\n",
        markdown(narrowest),
        f"\nThe {EXTREMES} widest cells:\n",
        markdown(widest),
    ]
    for measure in ("coverage", "stated / true"):
        table = cells.pivot_table(
            measure, ["sampler", "times"], "family", sort=False
        ).round(3)
        parts += [f"\nAll cells, {measure}:\n", markdown(table.reset_index())]
    return "\n".join(parts)


PARTS = {
    "Importances": (
        of_importances,
        5,
        "Nominally .95, for ten features simultaneously.",
    ),
    "Drift": (of_drift, 5, "Nominally .05."),
    "Stopping": (
        of_stopping,
        0.3,
        "The tolerance is 10 %, and the budget is 3,000 evaluations.",
    ),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument(
        "--quick", action="store_true", help="print a tenth of the runs"
    )
    args = parser.parse_args()
    runs = args.runs // 10 if args.quick else args.runs
    cells = of_games(max(2, runs))
    page = [
        "# Coverage by families\n",
        "Made by `make bench-coverage-families`.\n",
        NOTE,
        "## Games\n",
        games_page(cells) + "\n",
    ]
    print(page[-1], flush=True)
    for title, (part, share, note) in PARTS.items():
        table = part(max(2, int(runs * share)))
        subject = " ".join(part.__doc__.split())
        page += [
            f"## {title}\n",
            f"{subject} {note}\n",
            markdown(table.round(3)) + "\n",
        ]
        print("\n".join(page[-3:]), flush=True)
    if not args.quick:
        (FOLDER / "families.md").write_text("\n".join(page))
        cells.to_csv(FOLDER / "families.csv", index=False, float_format="%.4g")


if __name__ == "__main__":
    main()
