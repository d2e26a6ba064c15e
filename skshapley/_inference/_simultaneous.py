"""Simultaneous intervals of all means, and the ranks that agree with them.

The multiplier bootstrap gives each row a standard normal weight and takes the largest
studentised mean (Chernozhukov, Chetverikov & Kato 2013). Given the rows, such means are
normal with the rows' covariance. They are drawn from this covariance, so the rows need
not be kept. For few rows, the draws are divided by the chi of the degrees of freedom,
as in Student's t.

Ranks: simultaneous intervals cover the differences of all pairs (Mogstad, Romano,
Shaikh & Wilhelm 2024). A player ranks below every player with a significantly larger
mean, and above every player with a significantly smaller mean.

References
----------
Clopper & Pearson (1934), The use of confidence or fiducial limits illustrated in the
case of the binomial, Biometrika 26. Hall (1992), On the removal of skewness by
transformation, Journal of the Royal Statistical Society B 54. Chernozhukov, Chetverikov
& Kato (2013), Gaussian approximations and multiplier bootstrap for maxima of sums of
high-dimensional random vectors, Annals of Statistics 41. Mogstad, Romano, Shaikh &
Wilhelm (2024), Inference for ranks with applications to mobility across neighbourhoods
and academic achievement across countries, Review of Economic Studies 91.
"""

from collections.abc import Iterator

import numpy as np
from scipy.special import betaincinv, stdtr, stdtrit
from sklearn.utils import gen_batches

from skshapley._inference._means import Means
from skshapley._tools._random import generator

# By chance, the 95 % quantile of the largest of twenty normal means varies by .5 % with
# 10,000 draws, and by 1.6 % with 1,000.
DRAWS, LEAST_DRAWS = 10_000, 1_000
TINY = np.finfo(float).tiny
NUMBERS_AT_ONCE = 2_000_000  # 16 MB
MOST_NUMBERS = 1_000_000_000  # some seconds
EXACT = 1e-13  # relative: the noise of rounding in a covariance
# Largest skewness of a mean, times the critical value, for an interval without regard
# to the range. With .65, simultaneous intervals of 95 % hold .91 of 200 exponential
# rows.
MOST_LEAN = 0.55
# With fewer rows, the range counts for the upper end of sizes without regard to their
# skewness, as few rows rarely show a long tail. On thirteen columns (normal, lognormal,
# exponential, rare, categories), simultaneous intervals of 95 % from 30 rows then hold
# .97 instead of .83.
LEAST_ROWS = 100
# Rows over which the range grows by itself, as few rows rarely show its end. With 4 and
# 0, it is .95 and .94
FARTHER = 8.0


def intervals(
    means: Means, confidence: float, simultaneous: bool, sizes: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the intervals ``(m,)``; NaN for a single row.

    Student's intervals, transformed for the skewness of the means (Hall 1992). In long
    tails, and above sizes of few rows, an end is at least as far as for numbers at the
    ends of the range, which have the largest variance (Clopper & Pearson 1934). An
    end is infinite for numbers with the same nonzero value in all rows, and if the
    range is infinite.

    Parameters
    ----------
    means : Means
    confidence : float
    simultaneous : bool
        Whether the confidence is for all means at once, or for each mean by itself.
    sizes : bool, default=False
        Whether the numbers are sizes, with a tail of unknown length above.
    """
    errors, critical = means.errors, critical_value(means, confidence, simultaneous)
    skewness = np.where(varying(means), means.skewness, 0.0)
    # A constant that is not 0 may be a rare event that no row has missed.
    unseen = means.n > 1 and ~varying(means) & (means.values != 0)
    ends = []
    for side, behind, ahead in (
        (-1.0, means.above, means.below),
        (1.0, means.below, means.above),
    ):
        lean = side * skewness * critical
        small_sample = sizes and side > 0 and means.n < LEAST_ROWS
        half = errors * _hall(side * skewness, critical)
        tail = stdtr(means.degrees, -critical)
        farther = ahead * (1 + FARTHER / means.n)
        by_range = np.maximum(half, _to_limit(behind, farther, means.n, tail))
        half = np.where((lean > MOST_LEAN) | small_sample, by_range, half)
        half = np.where(unseen | np.isinf(ahead), np.inf, half)
        ends.append(means.values + side * half)
    return ends[0], ends[1]


def _to_limit(
    behind: np.ndarray, ahead: np.ndarray, n: float, tail: float
) -> np.ndarray:
    """Return the distance to the limit of a mean of numbers within a range.

    The binomial limit of Clopper & Pearson (1934), for n numbers at the ends of the
    range: of all numbers with this range and mean, they have the largest variance.

    Parameters
    ----------
    behind, ahead : ndarray of shape (m,)
        Distances to the ends of the range; `ahead` on the side of the limit.
    n : float
    tail : float
        Probability of a mean beyond the limit.
    """
    width = behind + ahead
    finite = (width > 0) & np.isfinite(width)
    share = np.divide(behind, width, out=np.full(len(width), 0.5), where=finite)
    beyond = np.maximum(n * (1 - share), TINY)
    return width * (betaincinv(n * share + 1, beyond, 1 - tail) - share)


def _hall(skewness: np.ndarray, critical: float) -> np.ndarray:
    """Return the length of an interval on the side of the tail, in standard errors.

    Equation 2 of Hall (1992): the inverse of ``t + a t^2 / 3 + a^2 t^3 / 27 + a / 6``.
    """
    # The formula has the skewness in its denominator; below this, the interval is
    # symmetric.
    skewed = np.abs(skewness) > 1e-6
    a = np.where(skewed, skewness, 1.0)
    # the transformation is a cubic without turning points, so its inverse has a closed
    # form
    root = np.cbrt(1 - a * (critical + a / 6))
    return np.where(skewed, 3 / a * (1 - root), critical)


def critical_value(means: Means, confidence: float, simultaneous: bool) -> float:
    """Return the half-width of the intervals in standard errors."""
    varies = varying(means)
    if not simultaneous or varies.sum() < 2:
        return float(stdtrit(means.degrees, (1 + confidence) / 2))
    # the largest studentised mean over draws with the same covariance (a multiplier
    # bootstrap)
    part = means.part(varies)
    sizes = [
        np.abs(draws / part.errors).max(axis=1)
        for draws in _draws(part, DRAWS, varies.sum())
    ]
    return float(np.quantile(np.concatenate(sizes), confidence))


def varying(means: Means) -> np.ndarray:
    """Return True for numbers that vary by more than rounding, ``(m,)``."""
    variances = np.diag(means.covariance)
    # Also relative to the means: the rounding of a large mean looks like a variance.
    largest = max(np.max(variances, initial=0.0), np.max(means.values**2, initial=0.0))
    return variances > EXACT**2 * largest


def ranks(
    means: Means, confidence: float, simultaneous: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rank of each mean, 1 for the largest, and its best and worst possible rank.

    Parameters
    ----------
    means : Means
    confidence : float
    simultaneous : bool
        Whether the confidence is for all ranks at once, or for each rank by itself.

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
    # Var(a - b) = Var a + Var b - 2 Cov(a, b): shared rows make differences more
    # precise than means.
    spread = variances[:, None] + variances - 2 * means.covariance
    # Variances of differences of equal means are rounding errors, of either sign.
    floor = EXACT * (variances[:, None] + variances)
    errors = np.sqrt(np.where(spread > floor, spread, 0.0))
    critical = _critical_differences(means, errors, confidence, simultaneous)
    low, high = intervals(means, confidence, simultaneous)
    bounded = np.isfinite(high)[:, None] & np.isfinite(
        low
    )  # [j, k]: j is no larger, k no smaller
    larger = (values - values[:, None] > critical[:, None] * errors) & bounded
    smaller = (values[:, None] - values > critical[:, None] * errors) & bounded.T
    return rank, 1 + larger.sum(axis=1), m - smaller.sum(axis=1)


def _critical_differences(
    means: Means, errors: np.ndarray, confidence: float, simultaneous: bool
) -> np.ndarray:
    """Return the half-width of the intervals of each mean's differences in standard errors."""
    m = len(means.values)
    # differences without an error have no studentised size
    inverse = np.where(errors > 0, 1 / np.where(errors > 0, errors, 1.0), 0.0)
    # The draws times the pairs bound the time; 1,000 draws still fix a 95 % quantile.
    n = int(np.clip(MOST_NUMBERS // max(m * m, 1), LEAST_DRAWS, DRAWS))
    sizes = []
    for draws in _draws(means, n, m * m):
        differences = np.abs(draws[:, :, None] - draws[:, None, :]) * inverse
        sizes.append(differences.max(axis=2))
    largest = np.concatenate(sizes)
    if simultaneous:
        largest = np.broadcast_to(largest.max(axis=1, keepdims=True), largest.shape)
    return np.quantile(largest, confidence, axis=0)


def _draws(means: Means, n: int, numbers: int) -> Iterator[np.ndarray]:
    """Yield `n` draws of the errors of the means, ``(some, m)``, for `numbers` numbers of each."""
    rng = generator(0, 23)  # the same intervals for the same rows
    # in units of the standard errors, so that rounding of the largest does not hide the
    # smallest
    unit = np.where(means.errors > 0, means.errors, 1.0)
    law = np.zeros(len(unit)), means.covariance / unit / unit[:, None]
    size = int(np.clip(NUMBERS_AT_ONCE // max(numbers, 1), 1, n))
    for part in gen_batches(n, size):
        n_draws = part.stop - part.start
        # One chi for all means of a draw: their variances come from the same rows.
        chi = np.sqrt(rng.chisquare(means.degrees, size=(n_draws, 1)) / means.degrees)
        # Rounding makes eigenvalues of a singular matrix slightly negative.
        yield (
            rng.multivariate_normal(*law, n_draws, check_valid="ignore", method="eigh")
            * unit
            / chi
        )
