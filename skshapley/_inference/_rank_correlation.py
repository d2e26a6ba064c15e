"""Rank correlations with their standard errors."""

import numpy as np
from numpy.typing import NDArray

# Below this number of rows, the standard error is mostly noise
LEAST_ROWS = 5


def rank_correlation(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Return Spearman's rank correlation of two columns, and its standard error.

    The standard error is the deviation of the influence function, so it holds for any
    joint distribution and for ties. NaN for fewer than five rows or a constant column.

    Parameters
    ----------
    x, y : ndarray of shape (n,)
        Finite numbers.

    References
    ----------
    Borkowf (2002), Computing the nonnull asymptotic variance and the asymptotic
    relative efficiency of Spearman's rank correlation, Computational Statistics & Data
    Analysis 39.
    """
    n = len(x)
    if n < LEAST_ROWS or x.min() == x.max() or y.min() == y.max():
        return np.nan, np.nan
    # the number of each value among the sorted distinct values
    groups_x = np.unique(x, return_inverse=True)[1]
    groups_y = np.unique(y, return_inverse=True)[1]
    u = _centred_ranks(groups_x)
    v = _centred_ranks(groups_y)
    covariance = u @ v / n
    variance_u = u @ u / n
    variance_v = v @ v / n
    scale = np.sqrt(variance_u * variance_v)
    correlation = covariance / scale
    # A row also changes the ranks of all other rows.
    influence = u * v + _means_above(groups_x, v) + _means_above(groups_y, u)
    influence_u = u**2 + 2 * _means_above(groups_x, u)
    influence_v = v**2 + 2 * _means_above(groups_y, v)
    shares = influence_u / variance_u + influence_v / variance_v
    influence = influence / scale - correlation / 2 * shares
    return float(correlation), float(influence.std(ddof=1) / np.sqrt(n))


def _centred_ranks(groups: np.ndarray) -> NDArray[np.float64]:
    """Return the ranks over their number, minus their mean; ties share a rank."""
    counts = np.bincount(groups)
    ranks = np.cumsum(counts) - counts / 2
    return ranks[groups] / len(groups) - 0.5


def _means_above(groups: np.ndarray, v: np.ndarray) -> NDArray[np.float64]:
    """Return, for each row, the sum of v over larger rows and half of ties, over n."""
    sums = np.bincount(groups, v)
    above = sums.sum() - np.cumsum(sums) + sums / 2
    return above[groups] / len(v)
