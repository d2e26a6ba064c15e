"""The contract of ways: how the rows of a fitted explainer are explained."""

from typing import Any

import numpy as np

from skshapley._tables import n_rows, take_rows
from skshapley.testing._checks import Checks, assert_equal, checks_named, run_checks

FIELDS = ("values", "standard_errors", "base_values", "predictions", "n_model_rows")
ROUNDING = 1e-12  # relative to the largest value
# Largest difference of two predictions, relative to the largest one
RTOL = 1e-6


def check_way(explainer: Any, X: Any, skip: tuple[str, ...] = ()) -> None:
    """Check the way in which a fitted explainer explains rows.

    A row has the same explanation alone and in company. The same state gives the same
    bits. The predictions are computed in another way than by adding up the values.

    Parameters
    ----------
    explainer : explainer
        Fitted.
    X : array or frame of shape (r, d), or documents
        Three or more rows.
    skip : tuple of str, default=()
        Names of checks that do not apply.

    Raises
    ------
    AssertionError
        If a check fails.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from skshapley import ShapleyExplainer
    >>> from skshapley.testing import check_way
    >>> X = np.arange(12.0).reshape(6, 2)
    >>> model = LinearRegression().fit(X, X[:, 0])
    >>> check_way(ShapleyExplainer(model).fit(X), X[:3])
    """
    run_checks(WAY_CHECKS, skip, explainer, explainer._table(X))


def _explained(way: Any, X: Any) -> Any:
    return way.explain(X, None, False)


def _assert_same(explanation: Any, expected: Any, what: str) -> None:
    for name in FIELDS:
        assert_equal(getattr(explanation, name), getattr(expected, name), what)


def check_way_alone(explainer: Any, X: Any) -> None:
    """A row alone has the same explanation as in company."""
    way = explainer._way
    together = _explained(way, X)
    for row in range(n_rows(X)):
        alone = _explained(way, take_rows(X, [row]))
        names = together.feature_names
        position = [list(names).index(name) for name in alone.feature_names]
        # Learned values are sums over training rows, whose order may vary.
        assert_equal(
            alone.values[0],
            together.values[row][position],
            f"row {row} alone",
            ROUNDING * np.abs(together.values).max(),
        )


def check_way_state(explainer: Any, X: Any) -> None:
    """The same state gives the same bits, and other entropy can be taken back."""
    way = explainer._way
    first = _explained(way, X)
    _assert_same(_explained(way, X), first, "the same state")
    back = way.with_entropy(way.entropy + 1).with_entropy(way.entropy)
    assert back.entropy == way.entropy, "with_entropy changes the entropy"
    _assert_same(_explained(back, X), first, "the same entropy")
    state = way.state()
    again = back.state()
    assert state.keys() == again.keys(), "the state has other names"


def check_way_predictions(explainer: Any, X: Any) -> None:
    """The predictions of the way and of its explanations agree."""
    way = explainer._way
    predictions = np.asarray(way.predictions(X), dtype=float)
    expected = _explained(way, X).predictions.reshape(predictions.shape)
    assert_equal(predictions, expected, "predictions", RTOL * np.abs(expected).max())


WAY_CHECKS: Checks = checks_named("check_way_", globals())
