"""The game of a single leaf against its definition."""

import numpy as np
import pytest

from skshapley._trees._leaf_games import leaf_means, meeting_weights
from skshapley.indices import INDICES

from .conftest import shapley_by_definition


def leaf_game(h, c):
    """v(S): weight of the fail masks p that S, with an instance of fail mask c, takes to a leaf."""
    size = len(h)
    v = np.zeros((size, 1))
    for coalition in range(size):
        for p in range(size):
            # The players in S follow the instance, the others the background row.
            fails = (coalition & c) | (~coalition & (size - 1) & p)
            v[coalition] += h[p] * (fails == 0)
    return v


def by_definition(h, index):
    games = [
        shapley_by_definition(leaf_game(h, c), index == "banzhaf")
        for c in range(len(h))
    ]
    return np.concatenate(games, axis=1)


def leaf_values(h, k, index):
    """Values of the path players of leaves, ``(n_leaves, k, 2 ** k)``."""
    own, joint = leaf_means(h.ravel(), np.full(len(h), k), INDICES[index]).reshape(
        2, len(h), 1, 1 << k
    )
    return own + joint[:, 0, np.arange(1 << k) | 1 << np.arange(k)[:, None]]


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_tables_equal_the_definition(k, index):
    h = np.random.default_rng(k).random((3, 1 << k))
    for ours, weights in zip(leaf_values(h, k, index), h, strict=True):
        np.testing.assert_allclose(ours, by_definition(weights, index), atol=1e-13)


@pytest.mark.parametrize("k", [6, 9, 12, 13, 14])
@pytest.mark.parametrize("n_leaves", [1, 2, 3, 4, 7, 8, 12])
def test_large_tables_are_efficient(k, n_leaves):
    """Values sum to v(all) - v(empty) at every mask, whatever the layout in memory.

    numpy 2.4's np.negative is wrong for some strides, which 4 leaves of 13 players had.
    """
    rng = np.random.default_rng(k)
    h = rng.random((n_leaves, 1 << k))
    h /= h.sum(axis=1, keepdims=True)
    out = leaf_values(h, k, "shapley")
    expected = np.repeat(-h[:, :1], 1 << k, axis=1)
    expected[:, 0] += 1.0
    np.testing.assert_allclose(out.sum(axis=1), expected, atol=1e-12)


@pytest.mark.parametrize("k", [1, 5, 20, 64])
def test_meeting_weights_agree_with_the_closed_form(k):
    from scipy.special import beta

    present, absent = meeting_weights(k, INDICES["shapley"])[:2]
    for c in range(k + 1):
        for p in range(k + 1 - c):
            if p:
                np.testing.assert_allclose(present[c, p], beta(p, c + 1), rtol=1e-12)
            if c:
                np.testing.assert_allclose(absent[c, p], beta(p + 1, c), rtol=1e-12)


@pytest.mark.parametrize("degree", [0, 1, 2, 7, 63])
def test_distribution_of_present_players_is_exact(degree):
    t, weights = INDICES["shapley"].law(degree)
    for power in range(degree + 1):
        np.testing.assert_allclose(weights @ t**power, 1 / (power + 1), rtol=1e-12)
