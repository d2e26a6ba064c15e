"""Rows marked converged, and errors of draws that all agree.

At confidence .95 at most 5 % of the answers that are marked converged may be off by
more than the tolerance. With 200 of them the share is known to .015; the slow test
allows 5 % and two of these standard deviations: a game at exactly 5 % raises a false
alarm about once in fifty.
"""

import numpy as np
import pytest

from skshapley import ShapleyExplainer, shapley_values
from skshapley.samplers import SAMPLERS
from skshapley.stopping import StandardError
from skshapley.testing import (
    AdditiveGame,
    AirportGame,
    CooperativeGame,
    DividendGame,
    FourierGame,
    GloveGame,
    RandomGame,
    WeightedVotingGame,
    as_instances,
    brute_force,
    explain_game,
)

WEIGHTS = np.random.default_rng(9).normal(size=20)


class Sum(CooperativeGame):
    """The sum of two games."""

    def __init__(self, one, other):
        self.one, self.other, self.n_players = one, other, one.n_players

    def __call__(self, coalitions):
        return self.one(coalitions) + self.other(coalitions)

    @property
    def shapley_values(self):
        return self.one.shapley_values + self.other.shapley_values


class Among(CooperativeGame):
    """A game of the number of present players among the first few of p."""

    def __init__(self, worths, p):
        self.worths, self.n_players = np.asarray(worths, dtype=np.float64), p

    def __call__(self, coalitions):
        return self.worths[coalitions[:, : len(self.worths) - 1].sum(axis=1)]

    @property
    def shapley_values(self):
        n = len(self.worths) - 1
        return np.where(
            np.arange(self.n_players) < n, (self.worths[n] - self.worths[0]) / n, 0.0
        )


class Smooth(CooperativeGame):
    """A little of a smooth response."""

    def __init__(self, weights):
        self.weights, self.n_players = weights, len(weights)
        self._values = brute_force(self, self.n_players)

    def __call__(self, coalitions):
        return 0.02 * np.tanh(coalitions @ self.weights / 2).sum(axis=1)

    @property
    def shapley_values(self):
        return self._values


def majority(n):
    return (np.arange(n + 1) > n / 2).astype(float)


JUMPS = {f"and of {n}": Among([0.0] * n + [1.0], 20) for n in (2, 3, 4)} | {
    "majority of 5": Among(majority(5), 5),
    "majority of 9": Among(majority(9), 9),
    "majority of 5 in 20": Among(majority(5), 20),
    "majority of 9 in 20": Among(majority(9), 20),
    "or of 3": Among([0.0, 1, 1, 1], 20),
    "or of 20": Among([0.0] + [1.0] * 20, 20),
}
ADDED = {
    f"additive, {name}": Sum(g, AdditiveGame(WEIGHTS[: g.n_players]))
    for name, g in JUMPS.items()
}
SLOPES = np.random.default_rng(3).normal(size=(10, 10))
PAIRS = {(i, j): SLOPES[i, j] + SLOPES[j, i] for i in range(10) for j in range(i)}
KNOWN = {
    "additive": AdditiveGame(WEIGHTS),
    "size": Among([0, 1, 1, 4, 4, 9, 9], 6),
    "gloves": GloveGame(4, 8),
    "airport": AirportGame(np.arange(1.0, 13.0) ** 1.5),
    "votes": WeightedVotingGame([5, 3, 2, 2, 1, 1, 1], 8),
    "unanimity": DividendGame(8, {(0, 3, 5): 1.0}),
    "random": RandomGame(8, seed=4),
    "pairwise": DividendGame(10, PAIRS),
    "fourier": FourierGame(
        8, {(0,): 1.0, (0, 1): 5.0, (0, 1, 2): 3.0, (2, 3, 4, 5, 6): 2.0}
    ),
    "dividends": DividendGame(10, {(0,): 1.0, (1, 2, 3, 4): 3.0, (5, 6, 7, 8, 9): 2.0}),
}
GAMES = JUMPS | ADDED | KNOWN


def converged_and_off(game, sampler, n_runs, rtol=0.1):
    """Return how many runs say that they converged, and how many of these are off."""
    outcome = explain_game(
        as_instances(game, n_runs),
        sampler=sampler,
        max_evals="auto",
        stopping=StandardError(rtol=rtol),
    )
    values, done = outcome.values[:, :, 0], outcome.converged
    error = np.abs(values - game.shapley_values).max(axis=1)
    return done.sum(), (done & (error > rtol * np.ptp(values, axis=1) + 1e-9)).sum()


@pytest.mark.slow
@pytest.mark.parametrize("sampler", ["antithetic", "monte-carlo"])
@pytest.mark.parametrize("name", GAMES)
def test_converged_values_are_within_the_tolerance(name, sampler):
    done, off = converged_and_off(GAMES[name], sampler, 200)
    if done < 10 and off:
        pytest.xfail(
            "of a rough game that next to never converges, lucky runs are what does"
        )
    assert off <= 0.05 * done + 2 * np.sqrt(0.05 * 0.95 * done)


@pytest.mark.parametrize(
    "name", ["and of 3", "additive, and of 3", "additive, majority of 5"]
)
def test_agreement_of_first_checks_does_not_stop(name):
    """Of 40 runs at 5 %, seven are off with probability .003."""
    done, off = converged_and_off(GAMES[name], "antithetic", 40)
    assert done == 40
    assert off <= 6


WAVES = np.random.default_rng(77).normal(size=(12, 6))
LITTLE = Sum(Smooth(WAVES), Among([0.0] * 6 + [1.0], 12))
HIDDEN = Sum(Among([0.0] * 5 + [1.0], 16), Among([0.0] * 3 + [-1.0], 16))


@pytest.mark.parametrize(
    "game", [LITTLE, HIDDEN], ids=["and of 6, smooth", "and of 5, of 3"]
)
@pytest.mark.parametrize("sampler", ["monte-carlo", "classical"])
def test_near_agreement_of_first_permutations_does_not_stop(sampler, game):
    """Small variation hides as much as none, and constant games carry no information.

    Two permutations with the same player in sixth place, or with cancelling
    contributions.
    """
    outcome = explain_game(
        as_instances(game, 60),
        sampler=sampler,
        max_evals=100,
        stopping=StandardError(rtol=0.1),
    )
    assert not outcome.converged.any()


@pytest.mark.parametrize(
    ("sampler", "max_rows"),
    [
        ("antithetic", 41),
        ("monte-carlo", 41),
        ("owen", 61),
        ("leverage", 41),
        ("odd", 57),
    ],
)
def test_values_of_few_evaluations_are_within_their_errors(sampler, max_rows):
    """All ten or nothing: few evaluations see no contribution of most players, which are all .1.

    The Gaussian-process estimator states no errors for steps from fewer than 28 pairs,
    and Owen's estimator none from a single density, which cannot show its bias.
    """
    result = (
        ShapleyExplainer(
            lambda rows: (rows.sum(axis=1) == 10) * 1.0,
            sampler=sampler,
            max_rows=max_rows,
            random_state=0,
        )
        .fit(np.zeros((1, 10)))
        .explain(np.ones((1, 10)))
    )
    assert (result.standard_errors > 0).all()
    assert (np.abs(result.values - 0.1) <= 1.96 * result.standard_errors).all()


@pytest.mark.parametrize("sampler", sorted(SAMPLERS))
def test_only_exact_values_have_an_error_of_zero(sampler):
    """Games that look additive need not be so: only all coalitions can prove it."""
    for budget in (700, 2**12):
        result = shapley_values(
            lambda coalitions: coalitions @ np.arange(1.0, 11.0),
            n_players=10,
            sampler=sampler,
            max_evals=budget if sampler != "exact" else 2**10,
            random_state=0,
        )
        if result.standard_errors is None:
            continue
        errors = result.standard_errors[np.isfinite(result.standard_errors)]
        assert result.converged or (errors > 0).all()
