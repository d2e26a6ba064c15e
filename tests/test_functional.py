"""`shapley_values` of any game: shapes, budgets, seeds. Bad input is in test_bad_input.py."""

import numpy as np
import pytest

from skshapley import shapley_values
from skshapley.samplers import Antithetic, Leverage
from skshapley.solvers import LeastSquares
from skshapley.testing import (
    AirportGame,
    GloveGame,
    RandomGame,
    StackedGame,
    WeightedVotingGame,
)

GAME = AirportGame([1.0, 2.0, 2.0, 5.0, 9.0])


def test_few_players_are_solved_exactly_by_default():
    result = shapley_values(GAME)
    np.testing.assert_allclose(result.values, GAME.shapley_values, rtol=0, atol=1e-12)
    assert result.converged
    assert result.n_evaluations == 32
    assert (result.standard_errors == 0).all()


def test_many_players_are_sampled():
    game = WeightedVotingGame(np.arange(1, 41), quota=411)
    result = shapley_values(game, random_state=0)
    assert not result.converged
    assert 39 < result.n_evaluations < 10_000
    assert result.values.sum() == pytest.approx(1)


def test_one_output_is_1d_and_several_are_2d():
    one = shapley_values(GAME)
    assert one.values.shape == one.standard_errors.shape == (5,)
    assert isinstance(one.base_value, float)
    assert (one.base_value, one.full_value) == (0.0, 9.0)
    for games in ([GAME], [GAME, GloveGame(2, 3)]):
        stacked = StackedGame(games)
        several = shapley_values(stacked)
        assert several.values.shape == several.standard_errors.shape == (5, len(games))
        assert several.base_value.shape == several.full_value.shape == (len(games),)
        np.testing.assert_allclose(
            several.values, stacked.shapley_values, rtol=0, atol=1e-12
        )


@pytest.mark.parametrize("dtype", [bool, int, np.float32, "list"])
def test_rewards_of_any_number(dtype):
    def reward(coalitions):
        worth = coalitions.any(axis=1)
        return worth.tolist() if dtype == "list" else worth.astype(dtype)

    result = shapley_values(reward, n_players=4)
    np.testing.assert_allclose(result.values, 0.25, rtol=0, atol=1e-12)
    assert result.values.dtype == np.float64


def test_n_players_may_come_from_the_reward():
    assert len(shapley_values(GAME).values) == 5
    assert len(shapley_values(lambda S: S.sum(axis=1), n_players=3).values) == 3

    def reward(coalitions):
        return coalitions.sum(axis=1)

    reward.n_players = 4
    assert len(shapley_values(reward).values) == 4
    assert len(shapley_values(reward, n_players=2).values) == 2


def test_a_single_player_gets_the_whole_worth():
    result = shapley_values(lambda S: 3.0 + 4.0 * S[:, 0], n_players=1)
    assert result.values.tolist() == [4.0]
    assert result.standard_errors.tolist() == [0.0]
    assert (result.converged, result.n_evaluations) == (True, 2)


@pytest.mark.parametrize(
    "parameters",
    [
        {"sampler": "antithetic"},
        {"sampler": Antithetic()},
        {"sampler": Leverage(paired=False, replacement=True), "solver": LeastSquares()},
        {"solver": "least-squares"},
        {"solver": LeastSquares()},
    ],
)
def test_names_and_rows(parameters):
    game = RandomGame(8)
    result = shapley_values(game, max_evals=100, random_state=0, **parameters)
    assert np.isfinite(result.values).all()
    assert result.n_evaluations <= 100
    # the size of errors at 100 of 256 evaluations of standard normal values
    assert np.abs(result.values - game.shapley_values).max() < 1


def test_random_states():
    def values(state):
        return shapley_values(
            RandomGame(10), sampler="antithetic", max_evals=60, random_state=state
        ).values

    np.testing.assert_array_equal(values(3), values(3))
    np.testing.assert_array_equal(
        values(np.random.default_rng(3)), values(np.random.default_rng(3))
    )
    assert (values(3) != values(4)).any()
    assert (values(None) != values(None)).any()
    moving = np.random.default_rng(3)
    assert (values(moving) != values(moving)).any()


def test_methods_without_standard_errors_return_none():
    assert (
        shapley_values(GAME, solver="sgd", max_evals=20, random_state=0).standard_errors
        is None
    )


def test_a_single_unit_has_no_standard_errors():
    result = shapley_values(
        RandomGame(8), sampler="antithetic", max_evals=16, random_state=0
    )
    assert result.standard_errors is None
    assert not result.converged


def test_the_reward_sees_fresh_boolean_arrays():
    shapes = []

    def reward(coalitions):
        assert coalitions.dtype == bool
        assert coalitions.flags.writeable
        shapes.append(coalitions.shape)
        return coalitions.sum(axis=1) ** 2

    shapley_values(reward, n_players=6)
    assert shapes == [(2, 6), (62, 6)]


def test_errors_of_the_reward_are_raised_unchanged():
    def reward(coalitions):
        raise ZeroDivisionError("in the game")

    with pytest.raises(ZeroDivisionError, match="in the game"):
        shapley_values(reward, n_players=3)


@pytest.mark.parametrize(
    ("n_players", "least"), [(1, "2 evaluations"), (3, "at least 4 evalu")]
)
def test_one_evaluation_is_too_few(n_players, least):
    with pytest.raises(ValueError, match=f"shapley_values got max_evals=1, .*{least}"):
        shapley_values(lambda S: S.sum(axis=1), n_players=n_players, max_evals=1)
    two = shapley_values(lambda S: S.sum(axis=1), n_players=1, max_evals=2)
    assert two.values.tolist() == [1.0]
