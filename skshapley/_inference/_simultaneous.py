"""Intervals that hold all means at once, and the ranks that they leave open.

The multiplier bootstrap gives each row a standard normal weight and looks at the largest
studentised mean (Chernozhukov, Chetverikov & Kato 2013). Given the rows, such means are normal with
the covariance that the rows have, so they are drawn from it: rows need not be kept. For few rows
they are divided by the chi of the degrees of freedom, as in Student's t.

Ranks: a player is worse than all those whose mean is surely larger, and better than those whose
mean is surely smaller, by intervals that hold the differences of all pairs at once (Mogstad,
Romano, Shaikh & Wilhelm 2024).

References
----------
Chernozhukov, Chetverikov & Kato (2013), Gaussian approximations and multiplier bootstrap for maxima
of sums of high-dimensional random vectors, Annals of Statistics 41. Mogstad, Romano, Shaikh &
Wilhelm (2024), Inference for ranks with applications to mobility across neighbourhoods and academic
achievement across countries, Review of Economic Studies 91.
"""

from collections.abc import Iterator

import numpy as np
from scipy.special import stdtrit

from skshapley._inference._means import Means
from skshapley._tools._random import generator

DRAWS, LEAST_DRAWS = 10_000, 1_000
NUMBERS_AT_ONCE = 2_000_000  # 16 MB
MOST_NUMBERS = 1_000_000_000  # some seconds
EXACT = 1e-13  # relative: the noise of rounding in a covariance


def intervals(means: Means, confidence: float, simultaneous: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the intervals ``(m,)``; NaN for a single row.

    Parameters
    ----------
    means : Means
    confidence : float
    simultaneous : bool
        Whether the intervals hold all means at once in that share of samples, or each by itself.
    """
    errors = means.errors
    half = critical_value(means, confidence, simultaneous) * errors
    return means.values - half, means.values + half


def critical_value(means: Means, confidence: float, simultaneous: bool) -> float:
    """Return the half-width of the intervals in standard errors."""
    varies = varying(means.covariance)
    if not simultaneous or varies.sum() < 2:
        return float(stdtrit(means.degrees, (1 + confidence) / 2))
    part = Means(means.values[varies], means.covariance[np.ix_(varies, varies)], means.n)
    sizes = [np.abs(draws / part.errors).max(axis=1) for draws in _draws(part, DRAWS, varies.sum())]
    return float(np.quantile(np.concatenate(sizes), confidence))


def varying(covariance: np.ndarray) -> np.ndarray:
    """Return which numbers vary by more than the rounding of the others, ``(m,)``."""
    variances = np.diag(covariance)
    return variances > EXACT**2 * np.max(variances, initial=0.0)


def ranks(
    means: Means, confidence: float, simultaneous: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rank of each mean, 1 for the largest, and the best and worst that it may have.

    Parameters
    ----------
    means : Means
    confidence : float
    simultaneous : bool
        Whether the ranks of all are within their bounds at once, or those of each by itself.

    Returns
    -------
    rank, best, worst : ndarray of shape (m,), int
    """
    values, m = means.values, len(means.values)
    order = np.argsort(-values, kind="stable")
    rank = np.empty(m, dtype=np.int64)
    rank[order] = np.arange(1, m + 1)
    if not np.isfinite(means.covariance).all():
        return rank, np.ones(m, dtype=np.int64), np.full(m, m)
    variances = np.diag(means.covariance)
    spread = variances[:, None] + variances - 2 * means.covariance
    floor = EXACT * (variances[:, None] + variances)
    errors = np.sqrt(np.where(spread > floor, spread, 0.0))
    critical = _critical_differences(means, errors, confidence, simultaneous)
    larger = values - values[:, None] > critical[:, None] * errors  # [j, k]: k is larger than j
    smaller = values[:, None] - values > critical[:, None] * errors
    return rank, 1 + larger.sum(axis=1), m - smaller.sum(axis=1)


def _critical_differences(
    means: Means, errors: np.ndarray, confidence: float, simultaneous: bool
) -> np.ndarray:
    """Return the half-width of the intervals of each mean's differences in standard errors."""
    m = len(means.values)
    inverse = np.where(errors > 0, 1 / np.where(errors > 0, errors, 1.0), 0.0)
    n = int(np.clip(MOST_NUMBERS // max(m * m, 1), LEAST_DRAWS, DRAWS))
    sizes = []
    for draws in _draws(means, n, m * m):
        differences = np.abs(draws[:, :, None] - draws[:, None, :]) * inverse
        sizes.append(differences.max(axis=2))
    largest = np.concatenate(sizes)
    if simultaneous:
        largest = np.broadcast_to(largest.max(axis=1, keepdims=True), largest.shape)
    return np.quantile(largest, confidence, axis=0)


def critical_changes(
    spread: np.ndarray, n: float, degrees: float, sizes: np.ndarray, confidence: float
) -> float:
    """Return the half-width, in standard errors, of limits for means of later rows.

    Parameters
    ----------
    spread : ndarray of shape (m, m)
        Covariance of single rows, estimated with some degrees of freedom.
    n : float
        Rows of the baseline, whose mean all are held against.
    degrees : float
    sizes : ndarray of shape (t,)
        Rows of each later mean.
    confidence : float
        The chance that none of the means is beyond its limits, if nothing changes.
    """
    varies = varying(spread)
    if not len(sizes) or not varies.any():
        return float(stdtrit(degrees, (1 + confidence) / 2))
    root = _root(spread[np.ix_(varies, varies)])
    errors, rng, largest = np.sqrt(np.diag(spread))[varies], generator(0, 24), []
    for some in _portions(DRAWS, len(root) * len(sizes)):
        base = rng.standard_normal((some, 1, len(root))) @ root.T
        later = rng.standard_normal((some, len(sizes), len(root))) @ root.T
        change = later / np.sqrt(sizes)[:, None] - base / np.sqrt(n)
        widths = errors * np.sqrt(1 / sizes + 1 / n)[:, None]
        chi = np.sqrt(rng.chisquare(degrees, size=some) / degrees)
        largest.append(np.abs(change / widths).max(axis=(1, 2)) / chi)
    return float(np.quantile(np.concatenate(largest), confidence))


def _draws(means: Means, n: int, numbers: int) -> Iterator[np.ndarray]:
    """Yield `n` draws of the errors of the means, ``(some, m)``, for `numbers` numbers of each."""
    rng = generator(0, 23)  # the same intervals for the same rows
    root = _root(means.covariance)
    for some in _portions(n, numbers):
        chi = np.sqrt(rng.chisquare(means.degrees, size=(some, 1)) / means.degrees)
        yield rng.standard_normal((some, len(root))) @ root.T / chi


def _root(covariance: np.ndarray) -> np.ndarray:
    """Return a root of a covariance, be it singular."""
    # in units of their errors, so that the rounding of the largest is not that of the smallest
    errors = np.sqrt(np.diag(covariance))
    unit = np.where(errors > 0, errors, 1.0)
    variances, vectors = np.linalg.eigh(covariance / unit / unit[:, None])
    return vectors * np.sqrt(np.maximum(variances, 0.0)) * unit[:, None]


def _portions(n: int, numbers: int) -> Iterator[int]:
    """Yield parts of n draws of so many numbers each, which memory holds at once."""
    size = int(np.clip(NUMBERS_AT_ONCE // max(numbers, 1), 1, n))
    for start in range(0, n, size):
        yield min(size, n - start)
