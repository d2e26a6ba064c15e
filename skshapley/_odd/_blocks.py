"""Blocks of background rows, each with a game of its own, and what they tell about all rows.

Take the game of each background row as a common one plus one of its own, the latter independent
and alike, of variance g q. Blocks are means over q rows, and none shares a row with another: their
own games have variance g. The whole background, sum_r w_r v_r, has an own part of variance g q
sum_r w_r^2, and its covariance with that of a block is g times the weight of the block's rows.
"""

from dataclasses import dataclass

import numpy as np

NOTHING = 1e-12  # of the variance of the whole: blocks that leave no more make it up exactly


@dataclass(frozen=True, eq=False)
class Blocks:
    """What the blocks of one instance tell about the whole background.

    Attributes
    ----------
    share : ndarray of shape (n,)
        Weight of each block's rows: the covariance of its own game and the whole background's,
        relative to its variance.
    whole : float
        Variance of the whole background's own part, likewise.
    """

    share: np.ndarray
    whole: float

    @classmethod
    def of(cls, rows: np.ndarray, weights: np.ndarray) -> "Blocks":
        """Return the shares of blocks of `rows`.

        Parameters
        ----------
        rows : ndarray of shape (n, q), int
            The background rows of each block; none comes twice.
        weights : ndarray of shape (b,)
            Of the background rows, with sum 1.
        """
        return cls(weights[rows].sum(axis=1), rows.shape[1] * float(weights @ weights))

    @property
    def complete(self) -> bool:
        """Whether the blocks, by their shares, make the whole background."""
        return self.whole - self.share @ self.share <= NOTHING * self.whole
