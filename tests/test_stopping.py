import numpy as np
import pytest
from sklearn.base import clone

from skshapley import shapley_values
from skshapley.stopping import StandardError
from skshapley.testing import RandomGame, as_instances, explain_game


def test_largest_error_against_the_range_of_the_attributions():
    """Two instances, three players, one output: ranges 4 and 1, largest errors 0.2."""
    values = np.array([[[1.0], [3.0], [5.0]], [[1.0], [1.5], [2.0]]])
    errors = np.array([[[0.1], [0.2], [0.0]], [[0.2], [0.1], [0.0]]])
    assert StandardError(rtol=0.05).done(values, errors).tolist() == [True, False]
    assert StandardError(atol=0.2).done(values, errors).tolist() == [True, True]
    assert StandardError(atol=0.19).done(values, errors).tolist() == [False, False]
    assert StandardError(rtol=0.02, atol=0.12).done(values, errors).tolist() == [True, False]


def test_every_output_must_be_accurate():
    values = np.array([[[0.0, 0.0], [4.0, 1.0]]])
    assert not StandardError(rtol=0.05).done(values, np.full((1, 2, 2), 0.1)).any()
    assert StandardError(rtol=0.1).done(values, np.full((1, 2, 2), 0.1)).all()


def test_an_unknown_error_is_never_small_enough():
    values, errors = np.zeros((2, 2, 1)), np.array([[[0.1], [np.nan]], [[0.1], [0.1]]])
    assert StandardError(atol=1e9).done(values, errors).tolist() == [False, True]


def test_equal_attributions_need_an_absolute_tolerance():
    values = np.ones((1, 3, 1))
    assert not StandardError(rtol=0.5).done(values, np.full((1, 3, 1), 1e-12)).any()
    assert StandardError(rtol=0.5).done(values, np.zeros((1, 3, 1))).all()


@pytest.mark.parametrize(
    "rule", [{}, {"rtol": 0.0}, {"rtol": -0.1, "atol": 1.0}, {"atol": -1.0}, {"rtol": np.nan}]
)
def test_tolerances_that_are_none_are_refused(rule):
    with pytest.raises(ValueError, match=r"StandardError needs rtol >= 0 .* Try rtol=0\.05"):
        shapley_values(RandomGame(4), stopping=StandardError(**rule))


def test_a_rule_is_a_parameter_object():
    rule = StandardError(rtol=0.1, atol=2.0)
    assert clone(rule).get_params() == {"rtol": 0.1, "atol": 2.0}


@pytest.mark.parametrize("sampler", ["antithetic", "monte-carlo"])
def test_stopped_estimates_are_as_accurate_as_they_say(sampler):
    """Looking again and again stops on lucky looks; the error is still of the size asked for.

    600 runs of 8 players: the share is known to 0.01 (false alarms below 1e-4).
    """
    game = RandomGame(8, seed=4)
    tolerance = 0.12
    outcome = explain_game(
        as_instances(game, 600),
        sampler=sampler,
        max_evals=20_000,
        stopping=StandardError(atol=tolerance),
    )
    assert outcome.converged.all()
    error = np.abs(outcome.values[:, :, 0] - game.shapley_values)
    assert (error <= 1.96 * tolerance).mean() > 0.92
    assert len(np.unique(outcome.n_evaluations)) > 3


def test_a_smaller_tolerance_costs_more():
    game = as_instances(RandomGame(8, seed=4), 20)
    costs = [
        explain_game(
            game, sampler="antithetic", max_evals=50_000, stopping=StandardError(rtol=rtol)
        ).n_evaluations.mean()
        for rtol in (0.4, 0.1)
    ]
    # all 256 coalitions at most: each is evaluated once
    assert costs[0] < costs[1] <= 256


def test_a_solver_without_standard_errors_cannot_stop():
    with pytest.raises(ValueError, match="ProjectedSGD has no standard errors"):
        shapley_values(RandomGame(4), solver="sgd", stopping=StandardError(rtol=0.1))


def test_a_rule_must_be_a_rule():
    with pytest.raises(TypeError, match=r"stopping as None or a stopping rule; got 0\.05"):
        shapley_values(RandomGame(4), stopping=0.05)
