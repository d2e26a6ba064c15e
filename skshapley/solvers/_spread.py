"""Standard errors of means: allowances for events that no draw has seen, and constant values.

If n draws of a player agree, they may have missed an event of probability q with
probability (1 - q)^n. The size of such an event is that of the player's own
contributions: another player's may be a thousand times larger. Only contributions that
another player made in a single draw tell about unseen ones. Their number over n
estimates the probability of events that were not seen (Good 1953).
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from skshapley._tools._moments import rule_of_three

# FEW**n is the probability that n draws miss an event of probability 2/5. Below six
# draws, an event of this size is missed more often than once in twenty runs (.6^6 =
# .047).
FEW = 0.6
FEW_DRAWS = 6
# Share of the range: draws with less variation agree. Against 3,000 background rows,
# the allowance for unseen events widens intervals by 6 % (95.7 % cover instead of 95.6
# %). A share of .1 widens them by half, and 98.5 % cover.
AGREE = 1e-3
# Means of n numbers of range 1 are within 1.96 WIDEST/sqrt(n) of their expectation with
# probability .95 or more (Hoeffding 1963). Student's t with one degree exceeds this.
WIDEST = np.sqrt(np.log(2 / 0.05) / 2) / ndtri(0.975)
# A player's largest contribution is rare if it is this many times its second largest.
RARE = 3.0
ROUNDING = 1e-9  # share of the largest contribution: smaller ones are rounding errors


class Scale:
    """The sizes of contributions, by row, player and output.

    Parameters
    ----------
    n_rows, n_players, n_outputs : int
    """

    def __init__(self, n_rows: int, n_players: int, n_outputs: int) -> None:
        shape = n_rows, n_players, n_outputs
        self._low = np.full(shape, np.inf)
        self._high = np.full(shape, -np.inf)
        # the two largest absolute contributions
        self._largest = np.zeros(shape)
        self._second = np.zeros(shape)

    def add(self, rows: Any, seen: np.ndarray) -> None:
        """Add contributions ``(r, n, p, k)`` of distinct `rows`; NaN for none."""
        sizes = np.nan_to_num(np.abs(seen), copy=False, nan=0.0)
        largest, n = sizes.max(axis=1), sizes.shape[1]
        second = np.partition(sizes, n - 2, axis=1)[:, n - 2] if n > 1 else 0.0
        lower = np.minimum(self._largest[rows], largest)
        self._second[rows] = np.maximum(self._second[rows], np.maximum(lower, second))
        self._largest[rows] = np.maximum(self._largest[rows], largest)
        self._low[rows] = np.fmin(self._low[rows], np.fmin.reduce(seen, axis=1))
        self._high[rows] = np.fmax(self._high[rows], np.fmax.reduce(seen, axis=1))

    @property
    def own(self) -> np.ndarray:
        """The range of each player's contributions, zero included, ``(r, p, k)``."""
        return np.maximum(self._high, 0.0) - np.minimum(self._low, 0.0)

    @property
    def range(self) -> np.ndarray:
        """The range of all contributions, zero included, ``(r, 1, k)``."""
        highest = np.maximum(self._high.max(axis=1, keepdims=True), 0.0)
        return highest - np.minimum(self._low.min(axis=1, keepdims=True), 0.0)

    @property
    def sizes(self) -> np.ndarray:
        """The size of an unseen contribution of each player, ``(r, p, k)``.

        It is the player's own range, or its mean with the smallest variation of another
        player.
        """
        least = (self.own + self._variations[:, :1]) / 2
        return positive_sizes(np.maximum(self.own, least))

    @property
    def frequent(self) -> np.ndarray:
        """The size of an unseen contribution if few draws were made, ``(r, p, k)``.

        It is the player's own range, and at least the median variation of others.
        """
        variations = self._variations
        count = (variations > 0).sum(axis=1, keepdims=True)
        # Players without variation have zeros, which are sorted last.
        median = np.take_along_axis(variations, np.maximum(count - 1, 0) // 2, axis=1)
        return positive_sizes(np.maximum(self.own, median))

    @property
    def _variations(self) -> np.ndarray:
        """The ranges of players that vary, zero not included, ascending, then zeros."""
        variation = self._high - self._low
        varies = variation > AGREE * self.own
        ascending = np.sort(np.where(varies, variation, np.inf), axis=1)
        return np.where(np.isinf(ascending), 0.0, ascending)

    @property
    def single(self) -> np.ndarray:
        """The sum of a player's unseen contributions in all draws, ``(r, p, k)``.

        For each player, the contributions larger than its own that another player made
        in a single draw. They are shared among the players without such contributions.
        """
        largest = self._largest
        n_players = largest.shape[1]
        second = np.where(largest > RARE * self._second, 0.0, self._second)
        # Sorted together, cumulative sums give the totals up to each player's largest.
        limits = RARE * largest
        points = np.concatenate([second, largest, limits], axis=1)
        order = np.argsort(points, axis=1, kind="stable")
        none = np.zeros_like(largest)
        sizes = np.concatenate([largest, -largest, none], axis=1)
        counts = np.concatenate([none, np.ones_like(largest), none], axis=1)
        places = np.argsort(order, axis=1)[:, 2 * n_players :]

        def up_to_limits(numbers: np.ndarray) -> np.ndarray:
            sums = np.cumsum(np.take_along_axis(numbers, order, axis=1), axis=1)
            return np.take_along_axis(sums, places, axis=1)

        return np.maximum(up_to_limits(sizes), 0.0) / up_to_limits(counts)


def positive_sizes(sizes: np.ndarray) -> np.ndarray:
    """Replace sizes of 0 by the smallest positive one of another player, ``(..., p, k)``."""
    changed = sizes > ROUNDING * sizes.max(axis=-2, keepdims=True)
    smallest = np.where(changed, sizes, np.inf).min(axis=-2, keepdims=True)
    return np.where(changed | np.isinf(smallest), sizes, smallest)


def widest(sizes: np.ndarray, share: ArrayLike) -> np.ndarray:
    """Return the largest standard errors of means of numbers of the given ranges.

    Parameters
    ----------
    sizes : ndarray
        The ranges.
    share : float or ndarray that broadcasts to the same shape
        As for `unseen`.

    References
    ----------
    Hoeffding (1963), Probability inequalities for sums of bounded random variables,
    JASA 58, Theorem 2.
    """
    return WIDEST * sizes * np.sqrt(np.minimum(share, 1.0))


def unseen(
    errors: np.ndarray,
    sizes: np.ndarray,
    share: ArrayLike,
    missing: np.ndarray | float = 0.0,
) -> np.ndarray:
    """Return standard errors that allow for an unseen event.

    Errors are widened if all draws agree. Otherwise the spread of the draws is
    sufficient, unless other players' single contributions are larger.

    Parameters
    ----------
    errors : ndarray of shape (..., p, k)
        From the spread of the draws.
    sizes : ndarray of shape (..., p, k)
        The range of each player's contributions. If all are 0, the size of unseen ones
        is unknown: NaN.
    share : float or ndarray that broadcasts to the same shape
        The sum of the squared weights of the draws in the mean: 1/n for n equal
        weights, and 0 for enumerated values.
    missing : ndarray that broadcasts to the same shape, default=0.0
        The mean of unseen contributions (`Scale.single` over n).

    References
    ----------
    Good (1953), The population frequencies of species and the estimation of population
    parameters, Biometrika 40. Hanley & Lippman-Hand (1983), If nothing goes wrong, is
    everything all right?, JAMA 249.
    """
    share = np.minimum(share, 1.0)
    silent = errors <= AGREE * sizes * np.sqrt(share)
    errors = np.where(silent, np.maximum(errors, rule_of_three(share) * sizes), errors)
    errors = np.maximum(errors, missing)
    return np.where((sizes > 0) | (share <= 0), errors, np.nan)


def missed(values: np.ndarray, gain: np.ndarray) -> np.ndarray:
    """Return the difference between the gain ``(r, k)`` and the summed attributions, ``(r, 1, k)``.

    If players are estimated separately, some unseen contribution is at least that
    large.
    """
    return np.abs(gain - values.sum(axis=1))[:, None]
