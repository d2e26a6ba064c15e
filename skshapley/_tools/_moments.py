"""Moments of groups of draws; the degrees of freedom and intervals of their means."""

import numpy as np
from scipy import sparse
from scipy.special import digamma, ndtri, stdtrit, zeta


class Moments:
    """Counts, means and products of units, by row and stratum: ``(r, b, p, k)``.

    A unit has one or several variables, each ``(p, k)``. The variance of a unit is
    assumed to be inversely proportional to its size (its number of permutations). This
    determines the weights of units.

    Parameters
    ----------
    groups : tuple of int
        ``(r, b)``.
    shape : tuple of int
        ``(p, k)``.
    variables : int, default=1

    Attributes
    ----------
    units, size : ndarray of shape (r, b)
        Units, and permutations in them.
    mean : ndarray of shape (r, b, variables, p, k)
    products : ndarray of shape (r, b, variables, variables, p, k)
        Sums over units of size times the product of two deviations.
    """

    def __init__(self, groups, shape, variables=1) -> None:
        self.units = np.zeros(groups, dtype=np.intp)
        self.size = np.zeros(groups)
        self.mean = np.zeros((*groups, variables, *shape))
        self.products = np.zeros((*groups, variables, variables, *shape))

    def add(self, rows, strata, units, unit_size) -> None:
        """Merge units ``(r, u, v, p, k)`` of v variables, in strata ``(r, u)``, into `rows`."""
        # most designs have few of the strata
        used = np.flatnonzero(np.bincount(strata.ravel()))
        r = len(rows)
        b = len(used)
        group = (np.arange(r)[:, None] * b + np.searchsorted(used, strata)).ravel()
        flat = units.reshape(-1, *units.shape[2:])
        count = np.bincount(group, minlength=r * b)
        # A product with zeros and ones is ten times as fast as sorting a thousand
        # units.
        u = len(group)
        members = sparse.csc_array(
            (np.ones(u), group, np.arange(u + 1)),
            shape=(r * b, u),
        )
        mean = (members @ flat.reshape(u, -1)).reshape(r * b, *flat.shape[1:])
        mean /= np.maximum(count, 1)[:, None, None, None]
        deviation = flat - mean[group]
        products = deviation[:, :, None] * deviation[:, None]
        inside = unit_size * (members @ products.reshape(u, -1))
        rows = rows[:, None], used
        old, new = (
            size.reshape(r, b, 1, 1, 1) for size in (self.size[rows], unit_size * count)
        )
        total = np.maximum(old + new, 1e-300)
        mean = mean.reshape(r, b, *mean.shape[1:])
        shift = np.where(new > 0, mean - self.mean[rows], 0.0)
        self.mean[rows] += shift * new / total
        # in place: new arrays of many rows take longer than their sums
        between = shift[:, :, :, None] * shift[:, :, None]
        between *= (old * new / total)[..., None]
        between += inside.reshape(between.shape)
        self.products[rows] += between
        self.units[rows] += count.reshape(r, b)
        self.size[rows] += unit_size * count.reshape(r, b)


# Factor of the range over the number of draws: 3/n over 1.96 (rule of three)
UNSEEN = 1.5
ROUNDING = 1e-12  # share of the largest variance: smaller ones are rounding errors
# Least variance of log variances: prior degrees of freedom are finite
LEAST_SPREAD = 1e-3
# Fewer degrees of freedom than this do not count half because of heavy tails
LEAST_HALVED = 2.0
LEAST_SIZE = 1e-9  # share of the largest contribution: smaller ones are rounding errors


def rule_of_three(share: np.ndarray) -> np.ndarray:
    """Return the standard error of a probability, if none of 1/share draws saw the event.

    With ± 1.96 standard errors, it is the largest probability that 1/share draws miss
    in one of twenty runs: about 3/n for n draws (Hanley & Lippman-Hand 1983).
    """
    return (1 - 0.05**share) / ndtri(0.975)


def widening(degrees: np.ndarray | float) -> np.ndarray:
    """Return the width of a 95 % interval of Student's t, relative to the normal one.

    With this factor, ± 1.96 standard errors with few degrees of freedom contain 95 %.
    """
    return stdtrit(degrees, 0.975) / ndtri(0.975)


def effective_degrees(variances: np.ndarray, degrees: np.ndarray) -> np.ndarray:
    """Return the degrees of freedom of a sum of independent variances (Welch 1947), at least 1.

    Parameters
    ----------
    variances : ndarray of shape (r, b, ...)
        Estimated variances, to be summed over the second axis.
    degrees : ndarray that broadcasts to the same shape
        Their degrees of freedom; 0 for unknown variances, which are ignored.

    Returns
    -------
    degrees : ndarray of shape (r, ...)
        At most the sum of the degrees, which also applies to sums of zeros.

    References
    ----------
    Welch (1947), The generalization of "Student's" problem when several different
    population variances are involved, Biometrika 34.
    """
    most = np.maximum(degrees.sum(axis=1), 1)
    # Welch's second form: with d + 2, and 2 subtracted below, the estimate has a
    # smaller bias.
    squares = (variances**2 / (degrees + 2)).sum(axis=1)
    total = variances.sum(axis=1) ** 2
    welch = (
        np.divide(total, squares, out=np.full(total.shape, np.inf), where=squares > 0)
        - 2
    )
    return np.minimum(np.maximum(welch, 1), most)


def degrees_of_tails(n: float, squares: np.ndarray, fourth: np.ndarray) -> np.ndarray:
    """Return the degrees of freedom of a variance from n numbers with heavy tails.

    A variance estimated from n numbers of kurtosis c varies as one with 2 n/(c - 1)
    degrees.

    Parameters
    ----------
    n : int or float
        A float is the effective number of weighted numbers.
    squares, fourth : ndarray
        Sums of the second and the fourth powers of the centred numbers.
    """
    kurtosis = np.divide(
        n * fourth,
        squares**2,
        out=np.ones_like(squares),
        where=squares > 0,
    )
    return np.maximum(2 * n / np.maximum(kurtosis - 1, 1e-9), 1.0)


def pooled_errors(
    variances: np.ndarray,
    degrees: np.ndarray,
    most: np.ndarray | float,
    joint: bool = False,
) -> np.ndarray:
    """Return standard errors from estimated variances of all players, as for Student's t.

    If large contributions are rare, the draws of a player may contain none. Its
    variance is then too small just when its mean is wrong, and the variances of the
    other players show this. So variances are shrunk towards their geometric mean over
    players, the more of their differences chance explains. With three players or fewer,
    nothing is shrunk.

    With antithetic permutations, intervals then contain .91 to .97 of the values of
    exponentials of sums, instead of .82 to .92. In games without rare contributions,
    they contain as many as before with smaller errors.

    Parameters
    ----------
    variances : ndarray of shape (..., p, k)
    degrees : ndarray that broadcasts to the same shape
        Degrees of freedom, at least 1.
    most : float or ndarray that broadcasts to the same shape
        Degrees of freedom of as many normal numbers.
    joint : bool, default=False
        Whether the draws of all players have the same coalitions. Errors of the
        variances are then common to all players, who add no degrees of freedom.

    References
    ----------
    Smyth (2004), Linear models and empirical Bayes methods for assessing differential
    expression in microarray experiments, Statistical Applications in Genetics and
    Molecular Biology 3. Efron & Morris (1973), Stein's estimation rule and its
    competitors, JASA 68 (few players).
    """
    # Degrees from a sample with heavy tails are too many, as it rarely shows the
    # largest numbers.
    degrees = np.maximum(
        degrees / (2 - degrees / most),
        np.minimum(degrees, LEAST_HALVED),
    )
    positive = variances > ROUNDING * variances.max(axis=-2, keepdims=True)
    n = np.maximum(positive.sum(axis=-2, keepdims=True), 1)

    def mean(numbers: np.ndarray) -> np.ndarray:
        return np.where(positive, numbers, 0.0).sum(axis=-2, keepdims=True) / n

    # The logarithm of a chi-squared variable has this bias, and trigamma as its
    # variance.
    logs = (
        np.log(np.where(positive, variances, 1.0))
        - digamma(degrees / 2)
        + np.log(degrees / 2)
    )
    centre = mean(logs)
    spread = mean((logs - centre) ** 2) * n / np.maximum(n - 1, 1) - mean(
        zeta(2.0, degrees / 2)  # trigamma
    )
    spread = np.maximum(spread, LEAST_SPREAD)
    # degrees of freedom of a chi-squared variable with this spread, by trigamma(x) =
    # 1/x + 1/(2x^2)
    prior = (
        positive
        * np.maximum(n - 3, 0)
        / np.maximum(n - 1, 1)
        * 2
        / (np.sqrt(1 + 2 * spread) - 1)
    )
    shrunk = (prior * np.exp(centre) + degrees * variances) / (prior + degrees)
    # Where large contributions are rare, they are rare for all players, who inform
    # less.
    further_degrees = 0.0 if joint else prior * degrees / most
    return np.sqrt(shrunk) * widening(degrees + further_degrees)


def positive_sizes(sizes: np.ndarray) -> np.ndarray:
    """Replace sizes of 0 by the smallest positive one of another player, ``(..., p, k)``."""
    changed = sizes > LEAST_SIZE * sizes.max(axis=-2, keepdims=True)
    smallest = np.where(changed, sizes, np.inf).min(axis=-2, keepdims=True)
    return np.where(changed | np.isinf(smallest), sizes, smallest)


def value_range(values: np.ndarray) -> np.ndarray:
    """Return the range of attributions ``(..., p, k)``, zero included: ``(..., 1, k)``.

    It replaces the range of contributions in methods without contributions.
    """
    low = values.min(axis=-2, keepdims=True)
    high = values.max(axis=-2, keepdims=True)
    return np.maximum(high, 0.0) - np.minimum(low, 0.0)
