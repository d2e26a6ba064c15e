"""Removal curves: how the score changes as training points go, the best or the worst first."""

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.metrics import check_scoring
from sklearn.utils import _safe_indexing


def removal_curve(
    estimator, values, X, y, X_val, y_val, *, scoring=None, n_steps=10, highest_first=True
):
    """Score of the model as training points are removed in the order of their values.

    A good valuation makes the curve fall fast when the highest go first, and rise or stay when the
    lowest do (Ghorbani & Zou 2019, section 4).

    Parameters
    ----------
    estimator : estimator
        Cloned and fitted `n_steps` times.
    values : array of shape (n,)
        Value of each training point, e.g. ``DataShapley.values_``.
    X, y : training data, ``(n, d)`` and ``(n,)``
    X_val, y_val : validation data
    scoring : str, callable or None, default=None
    n_steps : int, default=10
        Number of points on the curve; up to half of the training points are removed.
    highest_first : bool, default=True

    Returns
    -------
    curve : DataFrame
        Columns ``removed`` (fraction of the training points) and ``score``. It ends before the
        fraction at which a single class would be left.

    References
    ----------
    Ghorbani & Zou (2019), Data Shapley: equitable valuation of data for machine learning, ICML,
    section 4.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from skshapley import DataShapley
    >>> from skshapley.diagnostics import removal_curve
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KNeighborsClassifier()
    >>> values = DataShapley(model).fit(X[::2], y[::2], X[1::2], y[1::2]).values_
    >>> curve = removal_curve(model, values, X[::2], y[::2], X[1::2], y[1::2], n_steps=3)
    >>> curve.removed.tolist()
    [0.0, 0.25, 0.5]
    """
    values = np.asarray(values)
    if values.shape != (len(y),):
        raise ValueError(
            f"removal_curve needs one value per training point, shape ({len(y)},); got shape"
            f" {values.shape}."
        )
    scorer = check_scoring(estimator, scoring=scoring)
    order = np.argsort(-values if highest_first else values, kind="stable")
    lines = []
    for fraction in np.linspace(0, 0.5, n_steps):
        kept = np.sort(order[round(fraction * len(y)) :])
        y_kept = _safe_indexing(y, kept)
        if len(np.unique(y_kept)) == 1:
            break
        model = clone(estimator).fit(_safe_indexing(X, kept), y_kept)
        lines.append((float(fraction), float(scorer(model, X_val, y_val))))
    return pd.DataFrame(lines, columns=["removed", "score"])
