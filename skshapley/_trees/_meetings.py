"""Leaves with too many path players for a table: the fail masks of both sides meet directly.

A row with fail mask c *meets* a background row with fail mask p where c and p are disjoint. Only
then do the two contribute to a leaf: each player of p has to be present and each player of c
absent, and this game has a closed form, see `meeting_weights`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skshapley._trees._groups import Chunk
from skshapley._trees._leaf_games import meeting_weights

# Disjointness tests that are made in one call
TESTS = 1 << 20


@dataclass(frozen=True, eq=False)
class Meetings:
    """The values in a chunk of single leaves.

    Attributes
    ----------
    chunk : Chunk
    background : ndarray of shape (n_leaves, b), unsigned
        Fail masks.
    weights : ndarray of shape (b,)
    values : ndarray of shape (n_outputs, n_leaves)
        Of the leaves.
    grid : float
        See `grid_of`.
    index : {"shapley", "banzhaf"}
    """

    chunk: Chunk
    background: np.ndarray
    weights: np.ndarray
    values: np.ndarray
    grid: float
    index: str

    @property
    def mean(self) -> NDArray[np.float64]:
        """Return the mean of the leaves over the background, ``(n_outputs,)``."""
        return self.values @ ((self.background == 0) @ self.weights)

    def find(self, masks) -> NDArray[np.float64]:
        """Return the values of the path players, ``(n_outputs, n_path * n_leaves, r)``.

        Parameters
        ----------
        masks : ndarray of shape (n_leaves, r), unsigned
            Fail masks of rows.
        """
        n, r = masks.shape
        games = np.empty((n, r, self.chunk.n_bits))
        leaves = max(1, TESTS // (r * len(self.weights)))
        rows = max(1, TESTS // (leaves * len(self.weights)))
        for first in range(0, n, leaves):
            some = slice(first, first + leaves)
            for row in range(0, r, rows):
                part = slice(row, row + rows)
                games[some, part] = self._met(masks[some, part], self.background[some])
        found = games.transpose(2, 0, 1) * (self.values / self.grid)[:, None, :, None]
        return (np.rint(found, out=found) * self.grid).reshape(len(found), -1, r)

    def _met(self, masks, background) -> NDArray[np.float64]:
        """Return the values of path players of leaves of value 1, ``(n, r, n_path)``."""
        k, b = self.chunk.n_bits, background.shape[1]
        # A meeting is (leaf, row, background row) in one number.
        meetings = np.flatnonzero((masks[:, :, None] & background[:, None]) == 0)
        asker, reference = np.divmod(meetings, b)
        other = asker // masks.shape[1] * b + reference
        n_absent, n_present = (np.bitwise_count(side).ravel() for side in (masks, background))
        sizes = n_absent[asker].astype(np.intp) * (k + 1) + n_present[other]
        gains, losses = (
            worth.ravel()[sizes] * self.weights[reference]
            for worth in meeting_weights(k, self.index)
        )
        starts = np.searchsorted(asker, np.arange(masks.size + 1))
        present, absent = unpack_bits(background.ravel(), k), unpack_bits(masks.ravel(), k)
        met = sparse.csr_array((gains, other, starts), shape=(masks.size, len(present)))
        lost = np.bincount(asker, losses, minlength=masks.size)
        return (met @ present - absent * lost[:, None]).reshape(*masks.shape, k)


def unpack_bits(masks, n_path) -> NDArray[np.float64]:
    """Return the bits of masks ``(n,)`` as rows of 0.0 and 1.0, ``(n, n_path)``."""
    raw = masks.astype(masks.dtype.newbyteorder("<")).view(np.uint8).reshape(len(masks), -1)
    return np.unpackbits(raw, axis=1, count=n_path, bitorder="little").astype(np.float64)
