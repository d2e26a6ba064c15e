"""Step functions: estimates by permutations, their errors and intervals."""

import numpy as np
import pytest

from skshapley import shapley_values
from skshapley.samplers import Antithetic, MonteCarlo, Orthogonal
from skshapley.testing import (
    AirportGame,
    CooperativeGame,
    FourierGame,
    GloveGame,
    WeightedVotingGame,
    as_instances,
    brute_force,
    explain_game,
)


class Enumerated(CooperativeGame):
    """A game given by the values of all coalitions."""

    def __init__(self, function, n_players):
        self.function, self.n_players = function, n_players
        self._values = brute_force(function, n_players)

    def __call__(self, coalitions):
        return self.function(coalitions)

    @property
    def shapley_values(self):
        return self._values


def points(p=12):
    """The accuracy of the nearest neighbour in the training points that are there."""
    rng = np.random.default_rng(0)
    train, test = rng.normal(size=(p, 3)), rng.normal(size=(40, 3))
    label = train[:, 0] + 0.5 * rng.normal(size=p) > 0
    far = ((test[:, None] - train) ** 2).sum(axis=2)

    def accuracy(coalitions):
        nearest = np.where(coalitions[:, None], far, np.inf).argmin(axis=2)
        right = (label[nearest] == (test[:, 0] > 0)).mean(axis=1)
        return np.where(coalitions.any(axis=1), right, 0.0)

    return Enumerated(accuracy, p)


def ensemble(p=12):
    """The accuracy of the majority of the members that are there."""
    rng = np.random.default_rng(1)
    right = (rng.random((100, p)) < rng.uniform(0.5, 0.8, p)).astype(np.float64)

    def accuracy(coalitions):
        half = coalitions.sum(axis=1, keepdims=True) / 2
        votes = coalitions.astype(np.float64) @ right.T
        won = (votes > half) + 0.5 * (votes == half)
        return np.where(half > 0, won, 0.0).mean(axis=1)

    return Enumerated(accuracy, p)


def model(p=12):
    """A smooth response: next to nothing of it is the size's."""
    rng = np.random.default_rng(2)
    weights, heads = rng.normal(size=(p, 8)) / 2, rng.normal(size=8)
    return Enumerated(lambda coalitions: np.tanh(coalitions @ weights) @ heads, p)


def terms(p=10):
    rng = np.random.default_rng(3)
    sizes = np.repeat([1, 2, 3, 5], 8)
    sets = (
        tuple(sorted(rng.choice(p, size, replace=False).tolist())) for size in sizes
    )
    return FourierGame(p, {members: rng.normal() / len(members) for members in sets})


FAMILIES = {
    "airport": AirportGame(np.arange(1.0, 21.0) ** 1.5),
    "gloves": GloveGame(6, 12),
    "votes": WeightedVotingGame(np.arange(1, 21), 106),
    "points": points(),
    "ensemble": ensemble(),
}
SAMPLERS = {
    "monte-carlo": MonteCarlo(),
    "antithetic": Antithetic(),
    "orthogonal": Orthogonal(),
}


def run(game, sampler, walks, n_runs):
    """Return estimates minus truth and standard errors, ``(n_runs, p)`` each."""
    budget = walks * (game.n_players - 1) + 2
    outcome = explain_game(
        as_instances(game, n_runs), sampler=sampler, max_evals=budget
    )
    return outcome.values[:, :, 0] - game.shapley_values, outcome.standard_errors[
        :, :, 0
    ]


def plain(game, walks, n_runs, unit):
    """Return the errors of plain means over permutations, or over antithetic pairs."""
    rng, p = np.random.default_rng(5), game.n_players
    walks = rng.permuted(np.tile(np.arange(p), (n_runs * walks // unit, 1)), axis=1)
    if unit == 2:
        walks = np.stack([walks, walks[:, ::-1]], axis=1).reshape(-1, p)
    place = np.argsort(walks, axis=1)
    sets = (place[:, None, :] < np.arange(p + 1)[:, None]).reshape(-1, p)
    steps = np.diff(game(sets).reshape(len(walks), p + 1), axis=1)
    along = np.take_along_axis(steps, place, axis=1)
    return along.reshape(n_runs, -1, p).mean(axis=1) - game.shapley_values


# Squared error against that of plain means, at 10 and 30 walks; at 10 walks .38-.39,
# .03-.04
MOST = {"points": 0.45, "ensemble": 0.15}


@pytest.mark.parametrize("family", MOST)
@pytest.mark.parametrize(("name", "unit"), [("monte-carlo", 1), ("antithetic", 2)])
def test_position_effects_are_removed(name, unit, family):
    """The ratio of squared errors over 60 runs has a relative error of a tenth or two."""
    game = FAMILIES[family]
    error, claimed = run(game, SAMPLERS[name], 10, 60)
    ratio = (error**2).mean() / (plain(game, 10, 60, unit) ** 2).mean()
    assert ratio < MOST[family]
    assert 0.88 <= (np.abs(error) <= 1.96 * claimed).mean() <= 0.995


@pytest.mark.slow
@pytest.mark.parametrize("game", [model(), terms()], ids=["model", "terms"])
@pytest.mark.parametrize(("name", "unit"), [("monte-carlo", 1), ("antithetic", 2)])
@pytest.mark.parametrize("walks", [10, 30])
def test_without_position_effects_nothing_is_lost(walks, name, unit, game):
    """1,500 runs each: a ratio of 1 is estimated to .02."""
    error, _ = run(game, SAMPLERS[name], walks, 1500)
    ratio = (error**2).mean() / (plain(game, walks, 1500, unit) ** 2).mean()
    assert ratio < 1.05 + 0.05


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("walks", [10, 30])
def test_intervals_cover_values_of_step_functions(walks, name, family):
    """200 runs of 12 to 20 players, fully dependent within a run: known to .012, 3 of them allowed.

    Intervals of players with identical permutations allow for unseen events, and cover
    too often.
    """
    game = FAMILIES[family]
    error, claimed = run(game, SAMPLERS[name], walks, 200)
    if np.isnan(claimed).any():
        # a single block, and it says so; a few have a second, which repeated coalitions
        # paid for
        assert name == "orthogonal"
        assert np.isnan(claimed).mean() > 0.9
        return
    assert (np.abs(error) <= 1.96 * claimed).mean() >= 0.9


@pytest.mark.parametrize("p", [7, 10])
@pytest.mark.parametrize("n", [22, 26, 32, 40])
def test_few_pairs_of_a_vote_have_no_errors_that_a_simpler_vote_would_break(p, n):
    """Twelve votes: a vote of three may explain 22 values, and errors were up to 25 times smaller.

    Errors that hold are exceeded four times by one value of a thousand, in games with
    jumps too.
    """
    for seed in range(12):
        votes = np.random.default_rng(seed).integers(1, 9, p)
        game = WeightedVotingGame(votes, votes.sum() // 2 + 1)
        found = shapley_values(
            game,
            n_players=p,
            sampler="odd",
            solver="gp",
            max_evals=2 * n + 2,
            random_state=seed,
        )
        if found.standard_errors is not None:
            off = np.abs(found.values - game.shapley_values)
            assert not (off > 4 * found.standard_errors + 1e-9).any()
