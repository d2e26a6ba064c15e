"""Least squares on pairs is exact for games without higher interactions, and only for these."""

import numpy as np
import pytest

from skshapley._process import _least_squares as least_squares
from skshapley._process._pairs import Blocks, Pairs
from skshapley.testing import RandomGame


def cube(p):
    return 2.0 * ((np.arange(2**p)[:, None] >> np.arange(p)) & 1) - 1


def products(signs):
    first, second = np.triu_indices(signs.shape[1], 1)
    return signs[:, first] * signs[:, second] - 1


def pairwise(signs, values, block=None, blocks=None):
    """Return interactions, errors and residuals, the full coalition being there for each block."""
    count = 1 if block is None else block.max() + 1
    signs = np.vstack([np.ones((count, signs.shape[1])), signs])
    values = np.vstack([np.zeros((count, values.shape[1])), values])
    block = None if block is None else np.r_[np.arange(count), block]
    even = Pairs(signs, values, block, blocks)
    odd = Pairs(signs, np.repeat(signs[:, :1], values.shape[1], axis=1), block, blocks)
    return least_squares.pairwise(even, odd, lambda found: found)


def test_least_squares_is_exact_for_pairwise_games():
    """Twenty points, 15 unknowns; one output is not pairwise, and one does not vary at all."""
    p, rng = 6, np.random.default_rng(4)
    coefficients, points = rng.normal(size=15), cube(p)[rng.permutation(31)[:20]]
    values = products(points) @ coefficients
    values = np.column_stack([values, values + 0.1 * rng.normal(size=20), np.zeros(20)])
    found, errors, residual = pairwise(points, values)
    assert residual.tolist() == [False, True, False]
    np.testing.assert_allclose(found[:, 0], 4 * coefficients, atol=1e-12)
    assert not found[:, 1:].any()
    span = np.ptp(np.append(4 * coefficients, 0.0))
    np.testing.assert_allclose(
        errors[:, [0, 2]] - [1.5 / 5 * span, 1.5 / 20 * 2], 0, atol=1e-12
    )
    few, _, residual = pairwise(points[:16], values[:16])
    assert residual.tolist() == [True, True, False], (
        "one point to spare bears no witness"
    )
    assert not few.any()


def test_pairwise_blocks_average_their_solutions():
    p, rng = 4, np.random.default_rng(4)
    each, block = rng.normal(size=(2, 6)), np.repeat([0, 1], 15)
    signs = np.tile(cube(p)[:15], (2, 1))
    values = np.einsum("nm,nm->n", products(signs), each[block])[:, None]
    blocks = Blocks.of(np.array([[0], [1]]), np.array([0.3, 0.7]))
    found, _, residual = pairwise(signs, values, block, blocks)
    assert not residual.any()
    np.testing.assert_allclose(
        found[:, 0], 4 * (0.3 * each[0] + 0.7 * each[1]), atol=1e-12
    )
    unseen = Blocks.of(np.array([[0], [1]]), np.full(3, 1 / 3))
    assert pairwise(signs, values, block, unseen)[2].all()


def test_indistinguishable_players_are_left_to_the_gaussian_process():
    """Two players are always together: neither interaction nor shares are determined."""
    rest = 2.0 * ((np.arange(8)[:, None] >> np.arange(3)) & 1) - 1
    signs = np.column_stack([rest[:, 0], rest])[:-1]
    signs = np.vstack([signs, signs[:2]])
    found, _, residual = pairwise(signs, signs[:, :1] * signs[:, 2:3] - 1)
    assert residual.all()
    assert not found.any()
    odd = Pairs(
        np.vstack([np.ones(4), signs]), np.vstack([[4.0], signs.sum(axis=1)[:, None]])
    )
    found, _, residual = least_squares.linear(odd)
    assert residual.all()
    assert not found.any()


def test_values_are_relative_to_the_full_coalition_of_the_block():
    """Two blocks of one game with different constants: the mean of the slopes remains."""
    p, rng = 3, np.random.default_rng(0)
    signs, block = np.tile(cube(p)[1:7], (2, 1)), np.repeat([0, 1], 6)
    blocks = Blocks.of(np.array([[0], [1]]), np.full(2, 0.5))
    each, constant = rng.normal(size=(2, 3)), np.array([5.0, -2.0])
    values = constant[block] + np.einsum("nm,nm->n", products(signs), each[block])
    even = Pairs(np.vstack([np.ones((2, p)), signs]), np.r_[constant, values][:, None],
                 np.r_[0, 1, block], blocks)  # fmt: skip
    found, _, residual = least_squares.pairwise(even, even, lambda found: found)
    assert not residual.any()
    np.testing.assert_allclose(found[:, 0], 4 * each.mean(axis=0), atol=1e-12)


@pytest.mark.parametrize("p", [3, 4, 5, 6, 7])
def test_regression_on_all_pairs_gives_the_shapley_values(p):
    """For any game, by the weights of the Shapley kernel; a middle pair has half of its weight."""
    game, signs = RandomGame(p, seed=p), cube(p)
    signs = signs[signs[:, 0] > 0][::-1]  # one of each pair, the full coalition first
    size = (signs > 0).sum(axis=1)
    room = np.bincount(np.minimum(size, p - size))[np.minimum(size, p - size)]
    weights = np.where(size < p, 1 / (size * np.maximum(p - size, 1) * room), 0.0)
    values = (game(signs > 0) - game(signs < 0))[:, None] / 2
    weights = np.where((2 * size == p), weights / 2, weights)
    found, _ = least_squares.Regression.of(signs, weights)(values)
    np.testing.assert_allclose(found[:, 0], game.shapley_values, atol=1e-9)
