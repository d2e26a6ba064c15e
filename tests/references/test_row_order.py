"""Decks use every row equally, by its weight, in chunks that represent the table."""

import numpy as np
import pandas as pd
import pytest

from skshapley._references import CHUNK, MOST_PLACES, RowOrder
from skshapley._references._columns import columns_of, numbers_of, standardised


def table(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, (X[:, :1] * X[:, 1:2] + X[:, 2:3])


def balanced(X, predictions, weights=None, seed=0):
    weights = np.full(len(X), 1 / len(X)) if weights is None else weights
    rng = np.random.default_rng(seed)
    return RowOrder.balanced(X, predictions, weights, np.arange(X.shape[1]), rng)


@pytest.mark.parametrize("n", [1, 2, 7, 8, 100, 513, 1023])
def test_every_row_is_used_once(n):
    X, predictions = table(max(n, 2))
    row_order = balanced(X[:n], predictions[:n])
    rng = np.random.default_rng(1)
    for _ in range(2):
        np.testing.assert_array_equal(np.sort(row_order.shuffled(rng)), np.arange(n))
    assert row_order.n_rows == pytest.approx(n)


def test_chunks_represent_the_table_better_than_random_rows():
    """Squared distances of 72 chunk means from the table's are half as large as for random rows."""
    X, predictions = table()
    row_order = balanced(X, predictions)
    everything = standardised([*X.T, *predictions.T], np.full(600, 1 / 600))

    def distance(rows):
        return (
            (everything[rows].reshape(-1, CHUNK, 5).mean(axis=1) ** 2)
            .sum(axis=1)
            .mean()
        )

    places = row_order.places[:576]
    assert distance(places) < 0.5 * distance(
        np.random.default_rng(2).permutation(places)
    )


def test_every_row_is_equally_likely_in_the_first_chunk():
    """Chi-square of 4,000 orders over 32 rows; above 65 once in 3,000 runs of honest orders."""
    X, predictions = table(32)
    predictions[:4] += 30.0  # rows that balance would rather not take together
    rng, counts = np.random.default_rng(3), np.zeros(32)
    for seed in range(400):
        row_order = balanced(X, predictions, seed=seed)
        for _ in range(10):
            counts[row_order.shuffled(rng)[:CHUNK]] += 1
    expected = 4000 * CHUNK / 32
    # draws of one order are dependent: at most 10 times the variance
    assert ((counts - expected) ** 2 / expected).sum() / 10 < 65


def test_weights_become_numbers_of_cards():
    X, predictions = table(50)
    weights = np.arange(50.0) / np.arange(50.0).sum()
    for row_order in (
        balanced(X, predictions, weights),
        RowOrder.plain(weights, np.random.default_rng(4)),
    ):
        counts = np.bincount(row_order.places, minlength=50)
        assert (np.abs(counts - len(row_order.places) * weights) < 1 + 1e-9).all()
        assert row_order.n_rows == pytest.approx(1 / (weights @ weights))


def test_large_tables_are_subsampled():
    X, predictions = table(MOST_PLACES + 100)
    row_order = balanced(X, predictions)
    assert len(np.unique(row_order.rows)) == len(row_order.places) == MOST_PLACES
    np.testing.assert_array_equal(np.sort(row_order.places), np.arange(MOST_PLACES))
    everything = np.column_stack([predictions, X])
    wanted = (everything - everything.mean(axis=0)) / everything.std(axis=0)
    np.testing.assert_allclose(
        row_order.traits.common, wanted[row_order.rows], atol=1e-12
    )
    assert row_order.n_rows == pytest.approx(MOST_PLACES + 100)
    plain = RowOrder.plain(np.full(len(X), 1 / len(X)), np.random.default_rng(0))
    assert plain.places.max() >= MOST_PLACES


def test_categories_text_dates_and_missing_values_are_encoded():
    frame = pd.DataFrame(
        {
            "number": [1.0, np.nan, 3.0, 4.0] * 10,
            "whole": pd.array([1, None, 3, 4] * 10, dtype="Int64"),
            "kind": pd.Categorical(["a", "b", "b", None] * 10),
            "text": ["x", "y", None, "z"] * 10,
            "flag": [True, False, True, True] * 10,
            "day": pd.date_range("2020", periods=40),
            "same": 7.0,
        }
    )
    weights = np.full(40, 1 / 40)
    numbers = standardised(numbers_of(columns_of(frame)), weights)
    assert np.isfinite(numbers).all()
    np.testing.assert_allclose(numbers.mean(axis=0), 0, atol=1e-12)
    row_order = balanced(frame, np.arange(40.0)[:, None])
    np.testing.assert_array_equal(np.sort(row_order.places), np.arange(40))
    players = np.arange(7)
    own = row_order.traits.own(np.arange(40), players)
    np.testing.assert_allclose(own.mean(axis=0), 0, atol=1e-12)
