"""What agreement does not say: an event that none of n walks has met may have chance 3/n.

If n draws have not seen an event, its chance is below 3/n with confidence .95 ("rule of three",
Hanley & Lippman-Hand 1983). A player whose contributions all agree may so be worth something else,
by up to 3/n of what a contribution can be: ± 1.96 standard errors of 1.5/n hold that.
"""

import numpy as np
from numpy.typing import ArrayLike

UNSEEN = 1.5  # of the range over the number of draws: 3/n over 1.96
FEW = 0.6  # to the power of the walks: the chance that none meets an event of chance 2/5
AGREE = 1e-3  # of the range: draws that vary no more than that agree


class Scale:
    """The range of what one draw can add, zero included, by instance and output: ``(r, 1, k)``."""

    def __init__(self, n_rows, n_outputs) -> None:
        self._low, self._high = np.zeros((2, n_rows, 1, n_outputs))

    def add(self, rows, seen) -> None:
        """Take in contributions ``(r, ..., k)`` of the instances `rows`."""
        seen = seen.reshape(len(rows), -1, seen.shape[-1])
        low, high = seen.min(axis=1, keepdims=True), seen.max(axis=1, keepdims=True)
        self._low[rows] = np.minimum(self._low[rows], low)
        self._high[rows] = np.maximum(self._high[rows], high)

    @property
    def range(self) -> np.ndarray:
        """The largest minus the smallest, ``(r, 1, k)``."""
        return self._high - self._low


def unseen(errors: np.ndarray, scale: np.ndarray, share: ArrayLike) -> np.ndarray:
    """Return standard errors that allow for what none of the draws has met.

    Only where all draws agree; where they differ, their spread speaks.

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
    """Return what attributions ``(r, p, k)`` lack of the gain ``(r, k)``: ``(r, 1, k)``.

    Of players that are estimated apart: a contribution of at least that size was not met.
    """
    return np.abs(gain - values.sum(axis=1))[:, None]


def span(values: np.ndarray) -> np.ndarray:
    """Return the range of attributions ``(..., p, k)``, zero included: ``(..., 1, k)``.

    What a contribution can be, for methods that see none.
    """
    low, high = values.min(axis=-2, keepdims=True), values.max(axis=-2, keepdims=True)
    return np.maximum(high, 0.0) - np.minimum(low, 0.0)
