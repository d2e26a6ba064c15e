"""Standard errors of means: Student's quantiles, moments, and values that never changed.

If n draws have not seen an event, its chance is below 3/n with confidence .95 ("rule of three",
Hanley & Lippman-Hand 1983). A player whose contributions all agree may so be worth something else,
by up to 3/n of what a contribution can be: ± 1.96 standard errors of 1.5/n hold that.
"""

from copy import deepcopy
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.special import ndtri, stdtrit


def widening(degrees: np.ndarray) -> np.ndarray:
    """Return how much wider a 95 % interval of Student's t is than the normal one.

    A standard error of few degrees of freedom times this makes ± 1.96 standard errors hold 95 %.
    """
    return stdtrit(degrees, 0.975) / ndtri(0.975)


def effective_degrees(variances: np.ndarray, degrees: np.ndarray) -> np.ndarray:
    """Return the degrees of freedom of a sum of independent variances (Welch 1947), at least 1.

    Parameters
    ----------
    variances : ndarray of shape (r, b, ...)
        Estimated variances, to be summed over the second axis.
    degrees : ndarray that broadcasts to the same shape
        Their degrees of freedom; 0 for one that is not known and counts for nothing.

    Returns
    -------
    degrees : ndarray of shape (r, ...)
        At most the sum of the degrees, which is also what sums of zeros have.

    References
    ----------
    Welch (1947), The generalization of "Student's" problem when several different population
    variances are involved, Biometrika 34.
    """
    most = np.maximum(degrees.sum(axis=1), 1)
    squares = (variances**2 / (degrees + 2)).sum(axis=1)
    total = variances.sum(axis=1) ** 2
    known = squares > 0
    welch = np.divide(total, squares, out=np.full(total.shape, np.inf), where=known) - 2
    return np.clip(welch, 1, most)


class Moments:
    """Counts, means and products of units, by instance and stratum: ``(r, b, p, k)``.

    A unit has one or several variables, each ``(p, k)``. The variance of a unit is taken to fall
    with its size (the permutations in it), which weighs units of unequal size.

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

    def copy(self) -> Self:
        """Return moments that can be added to apart from these."""
        return deepcopy(self)

    def add(self, rows, strata, units, unit_size) -> None:
        """Merge units ``(r, u, v, p, k)`` of v variables, in strata ``(r, u)``, into `rows`."""
        # most designs are of a few strata of many
        used, place = np.unique(strata, return_inverse=True)
        r, b = len(rows), len(used)
        group = (np.arange(r)[:, None] * b + place.reshape(strata.shape)).ravel()
        flat = units.reshape(-1, *units.shape[2:])
        count = np.bincount(group, minlength=r * b)
        mean = _sum_by(group, flat, r * b) / np.maximum(count, 1)[:, None, None, None]
        deviation = flat - mean[group]
        inside = unit_size * _sum_by(group, deviation[:, :, None] * deviation[:, None], r * b)
        wide = (r, b, 1, 1, 1)
        rows = rows[:, None], used
        old, new = self.size[rows].reshape(wide), (unit_size * count).reshape(wide)
        total = np.maximum(old + new, 1e-300)
        mean = mean.reshape(r, b, *mean.shape[1:])
        shift = np.where(new > 0, mean - self.mean[rows], 0.0)
        self.mean[rows] += shift * new / total
        between = shift[:, :, :, None] * shift[:, :, None] * (old * new / total)[..., None]
        self.products[rows] += inside.reshape(between.shape) + between
        self.units[rows] += count.reshape(r, b)
        self.size[rows] += unit_size * count.reshape(r, b)


def _sum_by(group, flat, n) -> np.ndarray:
    """Return the sums of ``(u, ...)`` by group, ``(n, ...)``, each in the order of the units."""
    members = csr_array(
        (np.ones(len(group)), (group, np.arange(len(group)))), shape=(n, len(group))
    )
    return (members @ flat.reshape(len(group), -1)).reshape(n, *flat.shape[1:])


UNSEEN = 1.5  # of the range over the number of draws: 3/n over 1.96
FEW = 0.6  # to the power of the walks: the chance that none meets an event of chance 2/5
AGREE = 1e-3  # of the range: draws that vary no more than that agree


class Scale:
    """The range of contributions, zero included, by instance, player and output.

    Parameters
    ----------
    n_rows, n_players, n_outputs : int
        One player where contributions of all are taken together.
    """

    def __init__(self, n_rows: int, n_players: int, n_outputs: int) -> None:
        self._low, self._high = np.zeros((2, n_rows, n_players, n_outputs))

    def add(self, rows: np.ndarray, seen: np.ndarray) -> None:
        """Take in contributions ``(r, n, p, k)`` of the instances `rows`."""
        self._low[rows] = np.minimum(self._low[rows], seen.min(axis=1))
        self._high[rows] = np.maximum(self._high[rows], seen.max(axis=1))

    @property
    def own(self) -> np.ndarray:
        """The range of each player's contributions, ``(r, p, k)``."""
        return self._high - self._low

    @property
    def range(self) -> np.ndarray:
        """The range of all contributions, ``(r, 1, k)``."""
        return self._high.max(axis=1, keepdims=True) - self._low.min(axis=1, keepdims=True)

    @property
    def likely(self) -> np.ndarray:
        """The mean of both: the size of a contribution that was not seen, ``(r, p, k)``."""
        return (self.own + self.range) / 2


def unseen(errors: np.ndarray, scale: np.ndarray, share: ArrayLike) -> np.ndarray:
    """Return standard errors that allow for an event that no draw has met.

    Only errors of draws that all agree are widened; otherwise the spread of the draws suffices.

    Parameters
    ----------
    errors : ndarray of shape (..., p, k)
        From the spread of the draws.
    scale : ndarray that broadcasts to the same shape
        The range of what a draw can add. Where it is 0, nothing ever changed, and nothing is known
        of what might: NaN.
    share : float or ndarray that broadcasts to the same shape
        The sum of the squared weights of the draws in the mean: 1/n for n of equal weight. 0 where
        nothing was left to chance.

    References
    ----------
    Hanley & Lippman-Hand (1983), If nothing goes wrong, is everything all right?, JAMA 249.
    """
    share = np.minimum(share, 1.0)
    silent = errors <= AGREE * scale * np.sqrt(share)
    errors = np.where(silent, np.maximum(errors, UNSEEN * scale * share), errors)
    return np.where((scale > 0) | (share <= 0), errors, np.nan)


def missed(values: np.ndarray, gain: np.ndarray) -> np.ndarray:
    """Return the difference between the gain ``(r, k)`` and the summed attributions, ``(r, 1, k)``.

    If players are estimated separately, some unseen contribution is at least that large.
    """
    return np.abs(gain - values.sum(axis=1))[:, None]


def span(values: np.ndarray) -> np.ndarray:
    """Return the range of attributions ``(..., p, k)``, zero included: ``(..., 1, k)``.

    What a contribution can be, for methods that see none.
    """
    low, high = values.min(axis=-2, keepdims=True), values.max(axis=-2, keepdims=True)
    return np.maximum(high, 0.0) - np.minimum(low, 0.0)
