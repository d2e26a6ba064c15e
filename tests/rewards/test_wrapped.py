"""Wrapped games take costs and splits of calls from the inner game."""

from copy import copy

import numpy as np
import pytest
import sklearn

from skshapley import GlobalImportance
from skshapley._run._evaluate import Evaluator, Requests
from skshapley.rewards._loss import LossGame

from .test_remainder import explainer

D, B = 4, 3
RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(B, D)) @ (np.eye(D) + 0.5)
X, Y = RNG.normal(size=(5, D)), RNG.normal(size=5)


class Rough:
    """A regressor without a closed form."""

    _estimator_type = "regressor"

    def fit(self, X, y=None):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X):
        return np.sin(2 * X[:, 0]) * X[:, 1] + np.abs(X[:, 2]) * X[:, 3]


def of_loss(reward, references=None):
    """The loss of all rows, of a mean over moved rows or over mixed rows."""
    made = GlobalImportance(Rough(), reward=reward, loss="squared_error").fit(ROWS)
    return LossGame(
        made.reward_.game(X), made.loss_, made.loss_.targets(Y, len(Y)), references
    )


@pytest.mark.parametrize("reward", ["interventional", "conditional"])
def test_delegated_attributes_come_from_the_wrapped_game(reward):
    game = of_loss(reward)
    inside = game._game
    for name in (
        "n_players",
        "n_rows",
        "rows_per_value",
        "bytes_per_row",
        "parted_by_instance",
    ):
        assert getattr(game, name) == getattr(inside, name)
    assert game.parted_by_instance is (reward == "conditional")
    assert game.n_references == 1
    assert of_loss(reward, np.zeros((5, 6), dtype=int)).rows_per_value == 6
    rows = np.arange(5)
    np.testing.assert_array_equal(game.keys(rows), inside.keys(rows))
    np.testing.assert_array_equal(game.active(rows), inside.active(rows))


def test_clearing_shared_data_of_a_copy_keeps_the_original():
    """A copy is sent to workers without the model."""
    game = of_loss("interventional")
    other = copy(game)
    assert other.shared is game.shared is not None
    other.shared = None
    assert other.shared is None
    assert game.shared is not None


def test_losses_of_many_rows_equal_those_of_single_rows():
    game, p = of_loss("interventional"), D
    ends = np.repeat([False, True], p).reshape(2, p)
    coalitions = np.random.default_rng(0).random((6, 3, p)) < 0.5
    rows = np.array([3, 0, 4, 4, 2, 1])
    one_by_one = [[game(coalitions[i, j, None, None], rows[i : i + 1])[0, 0]
                   for j in range(3)] for i in range(6)]  # fmt: skip
    together = game(coalitions, rows)
    np.testing.assert_allclose(together, one_by_one)
    at_ends = game(np.repeat(ends[None], 6, axis=0), rows)
    np.testing.assert_allclose(at_ends[:, :1], game.empty(rows))
    np.testing.assert_allclose(at_ends[:, 1], game.full(rows))
    of_rows = game.take(rows)(coalitions, np.arange(6))
    np.testing.assert_array_equal(of_rows, together)


@pytest.mark.parametrize("kind", ["losses", "whole", "remainder"])
def test_permutations_are_split_independently_of_other_rows(kind):
    """Coalitions along a permutation share a factor, whatever the split into calls."""
    rng = np.random.default_rng(4)
    if kind == "losses":
        game, n_references = of_loss("conditional"), B
    else:
        game, n_references = explainer().reward_.game(X), 1
    if kind == "remainder":
        game = game.remainder()

    def walks(n):
        order = rng.permuted(np.tile(np.arange(D), (n, 1)), axis=1)
        coalitions = order.argsort(axis=1)[:, None] < np.arange(1, D)[:, None]
        references = np.repeat(rng.integers(B, size=n), D - 1)
        return coalitions.reshape(-1, D), references[:, None]

    (first, first_references), (second, references) = walks(11), walks(101)
    rows = np.repeat([1, 3], [len(first), len(second)])
    both_references = np.concatenate([first_references, references])
    if kind == "losses":  # means over the whole background
        references = both_references = None
    coalitions = np.concatenate([first, second])
    both = Requests(rows, coalitions, both_references)
    alone = Requests(np.zeros(len(second), dtype=int), second, references)
    memory = 28 * n_references * game.bytes_per_row / 2**20
    with sklearn.config_context(working_memory=memory):
        together = Evaluator(game)(both)[len(first) :]
        by_itself = Evaluator(game.take(np.array([3])))(alone)
    np.testing.assert_array_equal(by_itself, together)
