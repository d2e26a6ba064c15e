"""Decks use every row equally, by its weight, in chunks that represent the table.

A mean over sampled rows, with a regression on known quantities, is unbiased and honest.
"""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from skshapley._references import RowOrder

CHUNK, MOST_PLACES = 8, 32_768


def table(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, (X[:, :1] * X[:, 1:2] + X[:, 2:3])


def balanced(X, predictions, weights=None, seed=0):
    n = X.shape[0]
    weights = np.full(n, 1 / n) if weights is None else weights
    rng = np.random.default_rng(seed)
    return RowOrder.balanced(X, predictions, weights, np.arange(X.shape[1]), rng)


def standardised(numbers):
    return (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)


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
    everything = standardised(np.column_stack([X, predictions]))

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
    wanted = standardised(np.column_stack([predictions, X]))
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
    row_order = balanced(frame, np.arange(40.0)[:, None])
    numbers = row_order.traits.common
    # predictions, three numeric columns, three and four categories, two truths
    assert numbers.shape == (40, 1 + 3 + 3 + 4 + 1)
    assert np.isfinite(numbers).all()
    np.testing.assert_allclose(numbers.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_array_equal(np.sort(row_order.places), np.arange(40))
    players = np.arange(7)
    own = row_order.traits.own(np.arange(40), players)
    np.testing.assert_allclose(own.mean(axis=0), 0, atol=1e-12)


def test_wide_matrices_are_ordered_by_random_projections(monkeypatch):
    monkeypatch.setattr("skshapley._references._herd.MOST_CELLS", 100)
    numbers = np.random.default_rng(0).random((200, 12))
    table = sparse.csr_array(np.where(numbers < 0.3, numbers, 0.0))
    row_order = balanced(table, np.zeros((200, 1)))
    assert sorted(row_order.places) == list(range(200))
    assert row_order.traits is None


# --- means over samples ---------------------------------------------------------------


def setting(seed=0, n=2000):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    quantity = np.column_stack(
        [2 * X[:, 0] + np.sin(3 * X[:, 0]), np.abs(X[:, 1]), rng.normal(size=n)]
    )
    weights = np.full(n, 1 / n)
    predictions = quantity[:, :2].sum(axis=1, keepdims=True)
    return X, quantity, RowOrder.balanced(X, predictions, weights, np.arange(3), rng)


def surveyed(row_order, rows, values, control=None):
    """Return means and errors of quantities of three players over a sample of rows."""
    players = np.arange(3)[None]
    control = np.empty((1, len(rows), 3, 0)) if control is None else control
    means, errors = row_order.mean(
        values[None, :, :, None], rows[None], players, control
    )
    return means[0], errors[0]


def test_regression_removes_the_variance_of_the_traits():
    """Squared errors of 40 samples of 100 rows: a tenth, two fifths, and no increase."""
    _, quantity, row_order = setting()
    rng, truth = np.random.default_rng(1), quantity.mean(axis=0)
    ours, plain = [], []
    for _ in range(40):
        rows = rng.permutation(len(quantity))[:96]
        mean, _ = surveyed(row_order, rows, quantity[rows])
        ours.append((mean[:, 0] - truth) ** 2)
        plain.append((quantity[rows].mean(axis=0) - truth) ** 2)
    ratio = np.mean(ours, axis=0) / np.mean(plain, axis=0)
    assert (ratio < [0.1, 0.4, 1.2]).all(), ratio


@pytest.mark.parametrize("controlled", [False, True])
def test_leave_one_out_errors_agree_with_refits(controlled):
    """Compared with regressions that omit one row each."""
    _, quantity, row_order = setting(n=300)
    rows = row_order.shuffled(np.random.default_rng(2))[:40]
    values = quantity[rows][:, :, None]
    control = np.empty((len(rows), 3, 0))
    if controlled:
        control = quantity[rows][..., None] ** 3
        control /= np.sqrt((control**2).mean(axis=0))
    _, errors = surveyed(row_order, rows, values[..., 0], control[None])
    for i in (0, 7, 39):
        others = np.delete(np.arange(40), i)
        # without a control, nothing explains the third: it has its plain mean
        for player in range(3 if controlled else 2):
            common = np.column_stack([np.ones(40), row_order.traits.common[rows]])
            own = row_order.traits.own(rows, np.array([player]))[:, 0]
            if controlled:
                own = np.column_stack([own, control[:, player, 0]])
            design = np.column_stack([common, own])
            penalty = np.diag([0.0, *np.full(design.shape[1] - 1, 5.0)])
            part = design[others]
            slopes = np.linalg.solve(
                part.T @ part + penalty, part.T @ values[others, player, 0]
            )
            missed = values[i, player, 0] - design[i] @ slopes
            assert errors[i, player, 0] == pytest.approx(missed, rel=1e-6)


def test_the_mean_of_the_whole_table_is_exact():
    _, quantity, row_order = setting(n=200)
    rows = row_order.shuffled(np.random.default_rng(3))
    mean, _ = surveyed(row_order, rows, quantity[rows])
    np.testing.assert_allclose(mean[:, 0], quantity.mean(axis=0), atol=1e-10)


def test_few_rows_or_missing_traits_use_the_plain_mean():
    _, quantity, row_order = setting(n=200)
    rows = np.arange(10)
    mean, errors = surveyed(row_order, rows, quantity[rows])
    np.testing.assert_allclose(mean[:, 0], quantity[rows].mean(axis=0))
    others = (quantity[rows].sum(axis=0) - quantity[rows]) / 9
    np.testing.assert_allclose(errors[:, :, 0], quantity[rows] - others)
    plain = RowOrder.plain(np.full(200, 1 / 200), np.random.default_rng(4))
    rows = np.arange(50)
    mean, _ = surveyed(plain, rows, quantity[rows])
    np.testing.assert_allclose(mean[:, 0], quantity[rows].mean(axis=0))


def test_control_variates_remove_the_variance_that_they_explain():
    """Noise that no trait explains, of variance 1; a control that leaves .1 of its deviation."""
    _, _, row_order = setting()
    rng, off = np.random.default_rng(5), []
    for _ in range(40):
        rows = rng.permutation(2000)[:200]
        control = rng.normal(size=(200, 3))
        values = 7 + 3 * control + 0.3 * rng.normal(size=(200, 3))
        mean, errors = surveyed(row_order, rows, values, control[None, ..., None])
        off.append(mean[:, 0] - 7)
        assert 0.2 < errors.std() < 0.5
    # the ideal is .3 / sqrt(200) = .021; of 120, the root mean square is above .03
    # never
    assert np.sqrt(np.mean(np.square(off))) < 0.03
