"""Standard errors of means: allowances for events that no draw has seen, and constant values.

If n draws have not seen an event, its chance is below 3/n with confidence .95 ("rule of
three", Hanley & Lippman-Hand 1983). If all contributions of a player agree, its value
may still differ by up to 3/n of the range of contributions: ± 1.96 standard errors of
1.5/n contain this.
"""

import numpy as np
from numpy.typing import ArrayLike

from skshapley._tools._degrees import UNSEEN

# FEW**n is the probability that n draws miss an event of probability 2/5. Below six
# draws, an event of this size is missed more often than once in twenty runs (.6^6 =
# .047).
FEW = 0.6
# Share of the range: draws with less variation agree. Against 3,000 background rows,
# the allowance for unseen events widens intervals by 6 % (95.7 % cover instead of 95.6
# %). A share of .1 widens them by half, and 98.5 % cover.
AGREE = 1e-3


class Scale:
    """The range of contributions, zero included, by row, player and output.

    Parameters
    ----------
    n_rows, n_players, n_outputs : int
        One player if the contributions of all are pooled.
    """

    def __init__(self, n_rows: int, n_players: int, n_outputs: int) -> None:
        self._low, self._high = np.zeros((2, n_rows, n_players, n_outputs))

    def add(self, rows: np.ndarray, seen: np.ndarray) -> None:
        """Add contributions ``(r, n, p, k)`` of the given `rows`, which may repeat."""
        np.minimum.at(self._low, rows, seen.min(axis=1))
        np.maximum.at(self._high, rows, seen.max(axis=1))

    @property
    def own(self) -> np.ndarray:
        """The range of each player's contributions, ``(r, p, k)``."""
        return self._high - self._low

    @property
    def range(self) -> np.ndarray:
        """The range of all contributions, ``(r, 1, k)``."""
        return self._high.max(axis=1, keepdims=True) - self._low.min(
            axis=1, keepdims=True
        )

    @property
    def likely(self) -> np.ndarray:
        """The mean of both ranges: the size of an unseen contribution, ``(r, p, k)``."""
        return (self.own + self.range) / 2


def unseen(errors: np.ndarray, scale: np.ndarray, share: ArrayLike) -> np.ndarray:
    """Return standard errors that allow for an unseen event.

    Errors are widened only if all draws agree; otherwise the spread of the draws is
    sufficient.

    Parameters
    ----------
    errors : ndarray of shape (..., p, k)
        From the spread of the draws.
    scale : ndarray that broadcasts to the same shape
        The range of the contributions. If it is 0, all values are equal and the range
        is unknown: NaN.
    share : float or ndarray that broadcasts to the same shape
        The sum of the squared weights of the draws in the mean: 1/n for n equal
        weights, and 0 for enumerated values.

    References
    ----------
    Hanley & Lippman-Hand (1983), If nothing goes wrong, is everything all right?, JAMA
    249.
    """
    share = np.minimum(share, 1.0)
    silent = errors <= AGREE * scale * np.sqrt(share)
    errors = np.where(silent, np.maximum(errors, UNSEEN * scale * share), errors)
    return np.where((scale > 0) | (share <= 0), errors, np.nan)


def missed(values: np.ndarray, gain: np.ndarray) -> np.ndarray:
    """Return the difference between the gain ``(r, k)`` and the summed attributions, ``(r, 1, k)``.

    If players are estimated separately, some unseen contribution is at least that
    large.
    """
    return np.abs(gain - values.sum(axis=1))[:, None]
