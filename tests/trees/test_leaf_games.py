"""The game of a single leaf against its definition."""

import numpy as np
import pytest

from skshapley._ensembles._leaf_games import INDICES, leaf_values, presence_law
from skshapley._ensembles._meetings import leaf_values_by_meetings, meeting_weights
from skshapley._ensembles._path_dependent import leaf_values_directly, training_law

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
    games = [shapley_by_definition(leaf_game(h, c), index == "banzhaf") for c in range(len(h))]
    return np.concatenate(games, axis=1)


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_tables_equal_the_definition(k, index):
    h = np.random.default_rng(k).random((3, 1 << k))
    out = np.empty((3, k, 1 << k))
    leaf_values(h, index, np.ones((len(h), 1)), 2.0**-50, out[None])
    for ours, weights in zip(out, h, strict=True):
        np.testing.assert_allclose(ours, by_definition(weights, index), atol=1e-13)


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize("k", [1, 2, 4, 7])
def test_meetings_equal_the_tables(k, index):
    rng = np.random.default_rng(k)
    background = rng.integers(0, 1 << k, (2, 30)).astype(np.uint32)
    weights = rng.random(30)
    h = np.stack([np.bincount(row, weights, minlength=1 << k) for row in background])
    table = np.empty((2, k, 1 << k))
    leaf_values(h, index, np.ones((len(h), 1)), 2.0**-50, table[None])
    instances = np.tile(np.arange(1 << k, dtype=np.uint32), (2, 1))
    ours = leaf_values_by_meetings(instances, background, weights, k, index)
    np.testing.assert_allclose(ours, table.transpose(0, 2, 1), atol=1e-13)


def test_meetings_in_small_pieces(monkeypatch):
    from skshapley._ensembles import _meetings

    rng = np.random.default_rng(0)
    instances, background = rng.integers(0, 1 << 12, (2, 5, 40)).astype(np.uint16)
    weights = rng.random(40)
    whole = leaf_values_by_meetings(instances, background, weights, 12)
    monkeypatch.setattr(_meetings, "TESTS", 100)
    pieces = leaf_values_by_meetings(instances, background, weights, 12)
    np.testing.assert_array_equal(pieces, whole)


@pytest.mark.parametrize("index", INDICES)
def test_path_dependent_table_and_direct_values_agree(index):
    rng = np.random.default_rng(0)
    ratios = rng.random((4, 5))
    ratios[0, 2], ratios[1, 0] = 0.0, 1.0
    law = training_law(ratios, np.full(4, 5)).reshape(4, 32)
    np.testing.assert_allclose(law.sum(axis=1), 1.0)
    table = np.empty((4, 5, 32))
    leaf_values(law, index, np.ones((4, 1)), 2.0**-50, table[None])
    masks = np.tile(np.arange(32, dtype=np.uint8), (4, 1))
    ours = leaf_values_directly(masks, ratios, index)
    np.testing.assert_allclose(ours, table.transpose(0, 2, 1), atol=1e-14)


@pytest.mark.parametrize("k", [6, 9, 12, 13, 14])
@pytest.mark.parametrize("n_leaves", [1, 2, 3, 4, 7, 8, 12])
def test_large_tables_are_efficient(k, n_leaves):
    """Values sum to v(all) - v(empty) at every mask, whatever the layout in memory.

    numpy 2.4's np.negative is wrong for some strides, which 4 leaves of 13 players had.
    """
    rng = np.random.default_rng(k)
    h = rng.random((n_leaves, 1 << k))
    h /= h.sum(axis=1, keepdims=True)
    out = np.empty((n_leaves, k, 1 << k))
    leaf_values(h, "shapley", np.ones((len(h), 1)), 2.0**-50, out[None])
    expected = np.repeat(-h[:, :1], 1 << k, axis=1)
    expected[:, 0] += 1.0
    np.testing.assert_allclose(out.sum(axis=1), expected, atol=1e-12)


@pytest.mark.parametrize("k", [1, 5, 20, 64])
def test_meeting_weights_are_the_closed_form(k):
    from scipy.special import beta

    present, absent = meeting_weights(k, "shapley")
    for c in range(k + 1):
        for p in range(k + 1 - c):
            if p:
                np.testing.assert_allclose(present[c, p], beta(p, c + 1), rtol=1e-12)
            if c:
                np.testing.assert_allclose(absent[c, p], beta(p + 1, c), rtol=1e-12)


@pytest.mark.parametrize("degree", [0, 1, 2, 7, 63])
def test_presence_law_is_exact(degree):
    t, weights = presence_law("shapley", degree)
    for power in range(degree + 1):
        np.testing.assert_allclose(weights @ t**power, 1 / (power + 1), rtol=1e-12)
