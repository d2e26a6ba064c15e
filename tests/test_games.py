from itertools import combinations

import numpy as np
import pytest
from scipy.special import comb

from skshapley import shapley_values
from skshapley.testing import (
    AdditiveGame,
    AirportGame,
    DividendGame,
    FourierGame,
    GloveGame,
    HybridGame,
    RandomGame,
    StackedGame,
    WeightedVotingGame,
    brute_force,
)

RNG = np.random.default_rng(0)

GAMES = {
    "additive": AdditiveGame([0.5, -1.0, 3.0, 0.0], constant=7.0),
    "gloves, fewer left": GloveGame(2, 5),
    "gloves, fewer right": GloveGame(4, 3),
    "gloves, one hand": GloveGame(3, 0),
    "airport": AirportGame([5.0, 1.0, 1.0, 0.0, 8.0, 2.5]),
    "voting": WeightedVotingGame([4, 3, 3, 2, 1, 1], quota=8),
    "voting with a dictator": WeightedVotingGame([9, 2, 2], quota=8),
    "voting with a vetoer": WeightedVotingGame([5, 1, 1, 1], quota=6),
    "unanimity": DividendGame(5, {(1, 4): 1.0}),
    "dividends": DividendGame(5, {(): 2.0, (0,): 1.0, (1, 3): -2.0, (0, 2, 3, 4): 8.0}),
    "fourier": FourierGame(
        5, {(): 1.0, (2,): 1.0, (0, 1): 3.0, (0, 3, 4): 2.0, tuple(range(5)): 5.0}
    ),
    "pairs": DividendGame(
        6, {pair: RNG.normal() for pair in combinations(range(6), 2)}
    ),
    "random": RandomGame(6, seed=3),
    "random with null players": RandomGame(5, seed=3, null_players=(0, 3)),
    "stacked": StackedGame([AirportGame([1.0, 2.0, 3.0]), GloveGame(1, 2)]),
}


@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
def test_closed_form_is_the_definition(game):
    np.testing.assert_allclose(
        game.shapley_values, brute_force(game, game.n_players), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
def test_values_do_not_depend_on_other_coalitions(game):
    coalitions = np.random.default_rng(1).random((33, game.n_players)) < 0.5
    alone = np.concatenate([game(coalitions[[i]]) for i in range(33)])
    together = game(coalitions)
    np.testing.assert_array_equal(alone, together)


def test_large_games_stay_exact():
    """Two houses of 60 voters: closed forms still add up where enumeration is out of reach."""
    votes = np.arange(1, 61)
    assert WeightedVotingGame(votes, quota=1000).shapley_values.sum() == pytest.approx(
        1
    )
    assert GloveGame(30, 40).shapley_values.sum() == pytest.approx(30)
    one_vote_each = WeightedVotingGame(np.ones(60, dtype=int), quota=17)
    np.testing.assert_allclose(one_vote_each.shapley_values, 1 / 60, rtol=1e-12)


def test_enumeration_agrees_with_the_exact_sampler():
    """Two implementations of the definition: by marginal contributions and by coalitions."""
    game = RandomGame(7, seed=11)
    exact = shapley_values(game, sampler="exact", max_evals=2**7)
    np.testing.assert_allclose(
        brute_force(game, 7),
        exact.values,
        rtol=0,
        atol=1e-13,
    )


def test_enumeration_of_a_size_game_by_hand():
    """v(S) = C(|S|, 2): every pair of players shares 1."""
    np.testing.assert_allclose(brute_force(lambda S: comb(S.sum(axis=1), 2), 5), 2.0)


def test_table_game_of_a_quadratic_has_its_closed_form():
    """g(z) = a z + z B z / 2 with zero diagonal: phi_i = d_i (a_i + (B (x + r)/2)_i), d = x - r."""
    rng = np.random.default_rng(5)
    main, b = rng.normal(size=4), rng.normal(size=(4, 4))
    b = b + b.T
    np.fill_diagonal(b, 0)
    X, background = rng.normal(size=(3, 4)), rng.normal(size=(5, 4))
    weights = rng.dirichlet(np.ones(5))
    game = HybridGame(
        lambda Z: Z @ main + ((Z @ b) * Z).sum(axis=1) / 2, X, background, weights
    )
    delta = X[:, None] - background
    each = delta * (main + (X[:, None] + background) / 2 @ b)
    expected = np.einsum("b,rbp->rp", weights, each)
    np.testing.assert_allclose(
        game.shapley_values[:, :, 0], expected, rtol=0, atol=1e-12
    )


def test_table_game_marks_players_without_effect():
    game = HybridGame(
        lambda Z: Z.sum(axis=1), [[1.0, 2.0], [3.0, 2.0]], [[1.0, 2.0], [1.0, 2.0]]
    )
    np.testing.assert_array_equal(
        game.active(np.array([0, 1])), [[False, False], [True, False]]
    )
