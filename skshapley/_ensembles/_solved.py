"""The games of the leaves of a chunk, solved, and their sums over the leaves of its groups."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skshapley._ensembles._groups import Chunk
from skshapley._ensembles._leaf_games import leaf_means, leaf_values

# Terms that are added at once, so that they stay in the cache
TERMS = 1 << 17


@dataclass(frozen=True, eq=False)
class SolvedChunk:
    """The games of a chunk's leaves: a table of its groups, or the values of a few instances.

    Attributes
    ----------
    chunk : Chunk
    masks : ndarray of shape (n_leaves, 2 ** n_bits), unsigned
        See `Groups.fail_masks`.
    games : ndarray of shape (n_outputs, n)
        Of every leaf ``(n_path, 2 ** n_path)`` numbers, one leaf after the other.
    leaf : ndarray of shape (n_terms,), int64
        The leaf of each path player of each leaf, in the order of the group's columns.
    start : ndarray of shape (n_terms, 1), int64
        Where the game of this player begins.
    first : ndarray of shape (n_columns * n_groups + 1,), int64
        Where the terms of each sum over the leaves of a group begin.
    """

    chunk: Chunk
    masks: np.ndarray
    games: np.ndarray
    leaf: np.ndarray
    start: np.ndarray
    first: np.ndarray

    @classmethod
    def of(cls, chunk, masks, law, values, index, grid) -> Self:
        """Solve the games of the leaves of a chunk.

        Parameters
        ----------
        chunk : Chunk
        masks : ndarray of shape (n_leaves, 2 ** n_bits), unsigned
        law : ndarray
            See `background_law`.
        values : ndarray of shape (n_leaves, n_outputs)
            What each leaf adds to the outputs of the chunk.
        index : {"shapley", "banzhaf"}
        grid : float
            See `grid_of`.
        """
        games, start = _solve_leaves(chunk.n_path, law, values, index, grid)
        leaf, bit = np.nonzero(chunk.leaf_players >= 0)
        group = chunk.leaf_group[leaf]
        player = chunk.leaf_players[leaf, bit]
        column = (chunk.players.T[group] < player[:, None]).sum(axis=1)
        slot = column * chunk.n_groups + group
        # Small integers are sorted by their digits.
        order = np.argsort(slot.astype(np.min_scalar_type(chunk.players.size)), kind="stable")
        leaf, bit, slot = leaf[order], bit[order], slot[order]
        first = np.searchsorted(slot, np.arange(chunk.players.size + 1))
        start = start[leaf] + (bit << chunk.n_path[leaf])
        return cls(chunk, masks, games, leaf, start[:, None], first)

    def table(self, out=None) -> NDArray[np.float64]:
        """Return the sums for every pattern, ``(n_outputs, n_columns, n_groups * 2 ** n_bits)``.

        Parameters
        ----------
        out : ndarray or None, default=None
            Where they are written.
        """
        chunk = self.chunk
        shape = len(self.games), chunk.n_columns, chunk.n_groups << chunk.n_bits
        return self._added(self.masks, np.empty(shape) if out is None else out)

    def values(self, patterns) -> NDArray[np.float64]:
        """Return what `look_up` finds in the table, to the last bit, without the table.

        Parameters
        ----------
        patterns : ndarray of shape (n_groups, r), unsigned

        Returns
        -------
        values : ndarray of shape (n_outputs, n_columns * n_groups, r)
        """
        own = patterns[self.chunk.leaf_group].astype(np.intp)
        masks = np.take_along_axis(self.masks, own, axis=1)
        out = np.empty((len(self.games), self.chunk.players.size, patterns.shape[1]))
        return self._added(masks, out)

    def _added(self, masks, out) -> NDArray[np.float64]:
        """Write the sums for these fail masks of each leaf, and return them."""
        width, total = masks.shape[1], out.reshape(len(out), len(self.first) - 1, -1)
        step = max(1, TERMS // width)
        cuts = (
            np.searchsorted(self.first, np.arange(step, self.first[-1] + step, step), "right") - 1
        )
        for a, b in pairwise(np.unique([0, *cuts, len(self.first) - 1]).tolist()):
            terms = slice(self.first[a], self.first[b])
            where = self.start[terms] + masks.take(self.leaf[terms], axis=0)
            n, first = len(where), self.first[a : b + 1] - self.first[a]
            sums = sparse.csr_array((np.ones(n), np.arange(n), first), shape=(b - a, n))
            for sum_of, games in zip(total, self.games, strict=True):
                # This mode is faster, and nothing is out of bounds.
                sum_of[a:b] = sums @ np.take(games, where, mode="clip")
        return out


def single_table(chunk, law, values, index, grid, out=None) -> NDArray[np.float64]:
    """Return the table of a chunk of single leaves: their means, see `leaf_means`.

    Parameters
    ----------
    chunk, law, values, index, grid
        As in `SolvedChunk.of`.
    out : ndarray, or None, default=None
        Where the table is written, of its shape.

    Returns
    -------
    table : ndarray of shape (n_outputs, 2, n_groups * 2 ** n_bits)
    """
    shape = values.shape[1], 2, chunk.n_groups, 1 << chunk.n_bits
    table = np.empty(shape) if out is None else out.reshape(shape)
    leaf_means(law.reshape(chunk.n_groups, -1), index, values, grid, table)
    return table.reshape(values.shape[1], 2, -1)


def _solve_leaves(n_path, law, values, index, grid) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the games of all leaves, ``(n_path, 2 ** n_path)`` each, and where each starts."""
    size = 1 << n_path
    ends = np.cumsum(n_path * size)
    games = np.empty((values.shape[1], int(ends[-1])))
    law_ends = np.cumsum(size)
    for k in range(1, int(n_path[-1]) + 1):
        # The leaves of a chunk are in the order of their numbers of players.
        first, last = np.searchsorted(n_path, [k, k + 1])
        if first == last:
            continue
        h = law[law_ends[last - 1] - ((last - first) << k) : law_ends[last - 1]]
        solved = games[:, ends[last - 1] - ((last - first) * k << k) : ends[last - 1]]
        solved = solved.reshape(len(games), -1, k, 1 << k)
        leaf_values(h.reshape(-1, 1 << k), index, values[first:last], grid, solved)
    return games, ends - n_path * size
