"""Means over rows: their standard errors, tests, simultaneous intervals and ranks.

Without a change, each row is equally likely in every period. The largest studentised
change is therefore compared with the largest changes under random permutations of the
rows. It exceeds all but a share of them with a probability of that share (Phipson &
Smyth 2010; Westfall & Young 1993).

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
Westfall & Young (1993), Resampling-based multiple testing. Phipson & Smyth (2010),
Permutation p-values should never be zero, Statistical Applications in Genetics and
Molecular Biology 9. Clopper & Pearson (1934), The use of confidence or fiducial limits
illustrated in the case of the binomial, Biometrika 26. Hall (1992), On the removal of
skewness by transformation, Journal of the Royal Statistical Society B 54. Chernozhukov,
Chetverikov & Kato (2013), Gaussian approximations and multiplier bootstrap for maxima
of sums of high-dimensional random vectors, Annals of Statistics 41. Mogstad, Romano,
Shaikh & Wilhelm (2024), Inference for ranks with applications to mobility across
neighbourhoods and academic achievement across countries, Review of Economic Studies 91.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import ceil
from typing import Self

import numpy as np
from scipy.special import betaincinv, stdtr, stdtrit
from sklearn.utils import gen_batches

from skshapley._tools import generator


@dataclass(frozen=True, eq=False)
class Means:
    """Means of m numbers over rows, and their covariance over samples of rows.

    Attributes
    ----------
    values : ndarray of shape (m,)
    covariance : ndarray of shape (m, m)
        The covariance of the means; NaN for a single row.
    n : float
        Number of rows, or the effective number of weighted rows.
    third : ndarray of shape (m,)
        Third central moments of the means.
    below, above : ndarray of shape (m,)
        Distances from the means to the smallest and to the largest number.
    """

    values: np.ndarray
    covariance: np.ndarray
    n: float
    third: np.ndarray
    below: np.ndarray
    above: np.ndarray

    @classmethod
    def of(cls, scores: np.ndarray, weights: np.ndarray) -> Self:
        """Return the weighted means of ``(n, m)`` numbers, by weights of sum 1."""
        values = weights @ scores
        below = values - scores.min(axis=0)
        above = scores.max(axis=0) - values
        centred = weights[:, None] * (scores - values)
        freedom = 1 - float(weights @ weights)
        if freedom <= 0:
            m = len(values)
            return cls(values, np.full((m, m), np.nan), 1.0, np.zeros(m), below, above)
        return cls(
            values,
            centred.T @ centred / freedom,
            1 / float(weights @ weights),
            (centred**3).sum(axis=0),
            below,
            above,
        )

    @classmethod
    def of_batches(cls, batches: Iterable[np.ndarray]) -> Self:
        """Return the means of ``(n, m)`` numbers, given some rows at a time."""
        n = 0
        origin = np.zeros(0)
        sums: list = [np.zeros(0), np.zeros((0, 0)), np.zeros(0)]
        least = most = np.zeros(0)
        for scores in filter(len, batches):
            if not n:  # powers around the first mean lose no digits to a large mean
                origin = scores.mean(axis=0)
                sums = [0.0, 0.0, 0.0]
                least = most = origin
            least = np.minimum(least, scores.min(axis=0))
            most = np.maximum(most, scores.max(axis=0))
            centred = scores - origin
            n = n + len(scores)
            powers = centred.sum(axis=0), centred.T @ centred, (centred**3).sum(axis=0)
            sums = [total + power for total, power in zip(sums, powers, strict=True)]
        first, squares, cubes = (total / max(n, 1) for total in sums)
        third = cubes - 3 * first * np.diag(squares) + 2 * first**3
        covariance = np.full(squares.shape, np.nan)
        if n > 1:
            covariance = (squares - np.outer(first, first)) / (n - 1)
        values = origin + first
        third /= max(n, 1) ** 2
        return cls(values, covariance, float(n), third, values - least, most - values)

    def minus(self, other: "Means") -> "Means":
        """Return the differences to means over other rows, with Welch's degrees of freedom.

        The smallest degrees of freedom over all means are used, which is conservative.
        """
        mine = np.diag(self.covariance)
        subtracted = np.diag(other.covariance)
        squares = mine**2 / self.degrees + subtracted**2 / other.degrees
        total = (mine + subtracted) ** 2
        varies = squares > 0
        degrees = (
            (total[varies] / squares[varies]).min() if varies.any() else self.degrees
        )
        return Means(
            self.values - other.values,
            self.covariance + other.covariance,
            degrees + 1,
            self.third - other.third,
            self.below + other.above,
            self.above + other.below,
        )

    def part(self, which: np.ndarray | slice) -> "Means":
        """Return some of the means."""
        return Means(
            self.values[which],
            self.covariance[which][:, which],
            self.n,
            self.third[which],
            self.below[which],
            self.above[which],
        )

    @property
    def errors(self) -> np.ndarray:
        """Standard errors ``(m,)``."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def skewness(self) -> np.ndarray:
        """Skewness of the means, ``(m,)``; 0 where nothing varies."""
        errors = self.errors
        return np.divide(
            self.third,
            errors**3,
            out=np.zeros(len(errors)),
            where=errors > 0,
        )

    @property
    def degrees(self) -> float:
        """Degrees of freedom of the standard errors."""
        return max(self.n - 1, 1.0)


def p_values(means: Means, two_sided: bool = False) -> np.ndarray:
    """Return p-values ``(m,)`` of means against zero, by Student's t.

    Parameters
    ----------
    means : Means
    two_sided : bool, default=False
        Whether negative means count as evidence, too.

    Returns
    -------
    p_values : ndarray of shape (m,)
        1 where a mean is zero without an error; NaN for a single row.
    """
    errors = means.errors
    sizes = np.abs(means.values) if two_sided else means.values
    constant = np.isfinite(errors) & ~varying(means)
    certain = np.where(sizes > rounding(means), np.inf, -np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(constant, certain, sizes / errors)
    p = stdtr(means.degrees, -t)
    return np.minimum(2 * p, 1.0) if two_sided else p


def adjusted(p: np.ndarray) -> np.ndarray:
    """Return p-values adjusted for the false discovery rate: select the values up to q for rate q.

    By Benjamini & Yekutieli (2001), for any dependence between the tests; NaN stay NaN.
    """
    from scipy.stats import false_discovery_control

    result = np.full(p.shape, np.nan)
    finite = np.isfinite(p)
    if finite.any():
        result[finite] = false_discovery_control(p[finite], method="by")
    return result


LEAST_PERMUTATIONS = 999
ROUNDING = 1e-9  # share of the largest error: less variation counts as none


def limits_of_changes(
    baseline: np.ndarray,
    later: list[np.ndarray],
    confidence: float,
) -> tuple[float, np.ndarray]:
    """Return limits for the changes from a baseline to each of several later periods.

    Parameters
    ----------
    baseline : ndarray of shape (n, m)
    later : list of ndarray of shape (n_t, m)
        One or more rows each.
    confidence : float
        The probability that no change exceeds its limit, if rows are exchangeable.

    Returns
    -------
    critical : float
        The limit in standard errors.
    errors : ndarray of shape (t, m)
        Standard errors of the changes, if the period and the baseline have the same
        distribution.
    """
    sets = [baseline, *later]
    counts = np.array([len(rows) for rows in sets])[:, None]
    starts = np.append(0, counts[:-1, 0].cumsum())
    rows = np.concatenate(sets)
    # centred, so that sums of squares do not lose digits to a large mean
    rows = rows - rows.mean(axis=0)
    powers = np.hstack([rows, rows**2])
    met = _changes(np.add.reduceat(powers, starts, axis=0), counts)[1]
    least = ROUNDING * met.max(initial=0.0)
    rng = generator(0, 24)  # the same limits for the same rows
    # at least twenty permutations above the limit, so its probability is known to about
    # a fifth
    n = max(LEAST_PERMUTATIONS, ceil(20 / (1 - confidence)))
    largest = np.empty(n)
    for i in range(n):
        changes, errors = _changes(
            np.add.reduceat(powers[rng.permutation(len(powers))], starts, axis=0),
            counts,
        )
        sizes = np.zeros(errors.shape)
        np.divide(np.abs(changes), errors, out=sizes, where=errors > least)
        largest[i] = sizes.max(initial=0.0)
    return float(np.sort(largest)[min(ceil(confidence * (n + 1)), n) - 1]), met


def _changes(sums: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return changes from the first set and their errors ``(t, m)``, from sums and square sums."""
    total, squares = np.split(sums, 2, axis=1)
    n = counts[0] + counts[1:]
    changes = total[1:] / counts[1:] - total[0] / counts[0]
    # the pooled variance of both sets, as in Student's test
    spread = squares[0] + squares[1:] - (total[0] + total[1:]) ** 2 / n
    variance = np.maximum(spread, 0.0) / (n - 1)
    return changes, np.sqrt(variance * (1 / counts[0] + 1 / counts[1:]))


# By chance, the 95 % quantile of the largest of twenty normal means varies by .5 % with
# 10,000 draws, and by 1.6 % with 1,000.
DRAWS = 10_000
LEAST_DRAWS = 1_000
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
    means: Means,
    confidence: float,
    simultaneous: bool,
    sizes: bool = False,
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
    varies = varying(means)
    if not simultaneous or varies.sum() < 2:
        critical = float(stdtrit(means.degrees, (1 + confidence) / 2))
    else:
        # the largest studentised mean over draws with the same covariance (a
        # multiplier bootstrap)
        part = means.part(varies)
        studentised = [
            np.abs(draws / part.errors).max(axis=1)
            for draws in _draws(part, DRAWS, varies.sum())
        ]
        critical = float(np.quantile(np.concatenate(studentised), confidence))
    skewness = np.where(varies, means.skewness, 0.0)
    tail_skewness = skewness
    above = means.above
    if sizes and simultaneous:
        tail_skewness, above = _common_tail(means, skewness)
    # A constant that is not 0 may be a rare event that no row has missed.
    unseen = means.n > 1 and ~varies & (np.abs(means.values) > rounding(means))
    ends = []
    for side, behind, ahead, skewness_ahead in (
        (-1.0, means.above, means.below, -skewness),
        (1.0, means.below, above, tail_skewness),
    ):
        small_sample = sizes and side > 0 and means.n < LEAST_ROWS
        half = means.errors * _hall(side * skewness, critical)
        by_range = np.maximum(
            half,
            _to_limit(
                behind,
                ahead * (1 + FARTHER / means.n),
                means.n,
                stdtr(means.degrees, -critical),
            ),
        )
        half = np.where(
            (skewness_ahead * critical > MOST_LEAN) | small_sample,
            by_range,
            half,
        )
        half = np.where(unseen | np.isinf(ahead), np.inf, half)
        ends.append(means.values + side * half)
    return ends[0], ends[1]


def _common_tail(means: Means, skewness: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the skewness of sizes and the distances to the largest, ``(m,)`` each.

    The rows may contain no large size of a column with a long tail, and other columns
    show that such tails occur. The skewness is therefore at least its mean over columns.
    A distance is at least the geometric mean of itself and the usual one, the median
    distance relative to the mean size. On ten lognormal columns, simultaneous intervals
    of 95 % then hold .99 instead of .90 at 30 rows, and .98 instead of .87 at 100.
    """
    comparable = varying(means) & (means.values > 0) & np.isfinite(means.above)
    if not comparable.any():
        return skewness, means.above
    reach = np.median(means.above[comparable] / means.values[comparable])
    expected = np.where(comparable, reach * means.values, 0.0)
    above = np.where(comparable, means.above, 0.0)
    tails = np.maximum(means.above, np.sqrt(above * expected))
    return np.maximum(skewness, skewness[comparable].mean()), tails


def _to_limit(
    behind: np.ndarray,
    ahead: np.ndarray,
    n: float,
    tail: float,
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
    share = np.divide(
        behind,
        width,
        out=np.full(len(width), 0.5),
        where=(width > 0) & np.isfinite(width),
    )
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


def varying(means: Means) -> np.ndarray:
    """Return True for numbers that vary by more than rounding, ``(m,)``."""
    variances = np.diag(means.covariance)
    # Also relative to the means: the rounding of a large mean looks like a variance.
    largest = max(np.max(variances, initial=0.0), np.max(means.values**2, initial=0.0))
    return variances > EXACT**2 * largest


def rounding(means: Means) -> float:
    """Return the size of rounding errors of the means."""
    return EXACT * float(np.abs(means.values).max(initial=0.0))


def ranks(
    means: Means,
    confidence: float,
    simultaneous: bool,
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
    values = means.values
    m = len(means.values)
    rank = np.argsort(np.argsort(-values, kind="stable")) + 1
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
    margin = np.maximum(critical[:, None] * errors, rounding(means))
    larger = (values - values[:, None] > margin) & bounded
    smaller = (values[:, None] - values > margin) & bounded.T
    return rank, 1 + larger.sum(axis=1), m - smaller.sum(axis=1)


def _critical_differences(
    means: Means,
    errors: np.ndarray,
    confidence: float,
    simultaneous: bool,
) -> np.ndarray:
    """Return the half-width of the intervals of each mean's differences in standard errors."""
    m = len(means.values)
    # differences without an error have no studentised size
    inverse = np.where(errors > 0, 1 / np.where(errors > 0, errors, 1.0), 0.0)
    # The draws times the pairs bound the time; 1,000 draws still fix a 95 % quantile.
    sizes = [
        (np.abs(draws[:, :, None] - draws[:, None, :]) * inverse).max(axis=2)
        for draws in _draws(
            means,
            int(np.clip(MOST_NUMBERS // max(m * m, 1), LEAST_DRAWS, DRAWS)),
            m * m,
        )
    ]
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
    for part in gen_batches(n, int(np.clip(NUMBERS_AT_ONCE // max(numbers, 1), 1, n))):
        n_draws = part.stop - part.start
        # One chi for all means of a draw: their variances come from the same rows.
        chi = np.sqrt(rng.chisquare(means.degrees, size=(n_draws, 1)) / means.degrees)
        # Rounding makes eigenvalues of a singular matrix slightly negative.
        yield (
            rng.multivariate_normal(*law, n_draws, check_valid="ignore", method="eigh")
            * unit
            / chi
        )
