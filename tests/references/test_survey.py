"""A mean over sampled rows, with a regression on known quantities: unbiased and honest."""

import numpy as np
import pytest

from skshapley._references import RowOrder
from skshapley._references._row_order import _regressed


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
    _, errors = _regressed(row_order.traits, values, rows, np.arange(3), control)
    for i in (0, 7, 39):
        others = np.delete(np.arange(40), i)
        for player in range(3):
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
