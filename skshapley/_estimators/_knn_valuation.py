"""Exact data Shapley values of k-nearest-neighbour classifiers (Jia et al. 2019)."""

import numpy as np
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier


def knn_shapley(estimator: KNeighborsClassifier, X, y, X_val, y_val) -> tuple[np.ndarray, float]:
    """Return the Shapley values of training points for the utility of k nearest neighbours.

    The utility of S is the mean over validation points of (1/K) times the number of the min(K, |S|)
    nearest points of S that have the right label. In order of distance, from the farthest point on,
    s_N = [y_N = y] min(K, N)/(N K) and s_i = s_{i+1} + ([y_i = y] - [y_{i+1} = y])/K min(K, i)/i.

    Parameters
    ----------
    estimator : KNeighborsClassifier
        Its metric and its K are used; points at the same distance are ordered as it orders them.
    X, y : training data, ``(n, d)`` and ``(n,)``
    X_val, y_val : validation data, ``(v, d)`` and ``(v,)``

    Returns
    -------
    values : ndarray of shape (n,)
    full_value : float
        The utility of all points; the empty set has 0.

    References
    ----------
    Jia, Dao, Wang, Hubis, Gurel, Li, Zhang, Spanos & Song (2019), Efficient task-specific data
    valuation for nearest neighbor algorithms, VLDB 12, Theorem 1.
    """
    model = clone(estimator).fit(X, y)
    n, k = len(y), model.n_neighbors
    order = model.kneighbors(X_val, n_neighbors=n, return_distance=False)
    right = (np.asarray(y)[order] == np.asarray(y_val)[:, None]).astype(np.float64)
    position = np.arange(1, n)
    steps = (right[:, :-1] - right[:, 1:]) / k * np.minimum(k, position) / position
    last = right[:, -1:] * min(k, n) / (n * k)
    ranked = np.concatenate([steps, last], axis=1)[:, ::-1].cumsum(axis=1)[:, ::-1]
    values = np.empty_like(ranked)
    np.put_along_axis(values, order, ranked, axis=1)
    return values.mean(axis=0), float(right[:, :k].sum(axis=1).mean() / k)
