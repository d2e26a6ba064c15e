"""Removal curves: how the score falls as training points are removed, the best ones first."""

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.metrics import check_scoring
from sklearn.utils import _safe_indexing


def removal_curve(
    estimator, values, X, y, X_val, y_val, *, scoring=None, n_steps=10, highest_first=True
) -> pd.DataFrame:
    """Return the score of the model as training points are removed in the order of their values.

    With good values, the curve falls fast if the points of the highest values are removed first,
    and stays or rises if those of the lowest are (Ghorbani & Zou 2019, section 4).

    Parameters
    ----------
    estimator : estimator
        Cloned and fitted `n_steps` times.
    values : array of shape (n,)
        Value of each training point, e.g. ``DataShapley.values_``.
    X, y : training data, ``(n, d)`` and ``(n,)``
    X_val, y_val : validation data
    scoring : str, callable or None, default=None
        As in scikit-learn. None: the estimator's own score.
    n_steps : int, default=10
        Number of points on the curve. Up to half of the training points are removed.
    highest_first : bool, default=True
        Whether the points of the highest values are removed first.

    Returns
    -------
    curve : DataFrame
        Columns ``removed`` (fraction of the training points) and ``score``. The curve ends before a
        single class is left.

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
            f"removal_curve got values of shape {values.shape} for {len(y)} training points: pass"
            f" one value for each, shape ({len(y)},)."
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
