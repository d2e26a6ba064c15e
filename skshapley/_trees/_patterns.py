"""Patterns of rows in the groups of trees, level by level."""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

# Rows of one step
ROWS = 512


class Level(NamedTuple):
    """The nodes of one depth: some are above the groups, the others are their roots.

    Attributes
    ----------
    above : ndarray of int
        Positions of the nodes above the groups in the level.
    row, rank, bit : ndarray
        The code row and the rank of these nodes, and the bit of their player.
    ends, groups : ndarray of int
        Positions of the roots of groups in the level, and these groups.
    """

    above: NDArray[np.int64]
    row: NDArray[np.int64]
    rank: NDArray
    bit: NDArray
    ends: NDArray[np.int64]
    groups: NDArray[np.int64]


class Patterns(NamedTuple):
    """Comparisons of codes at the nodes of trees, each node once.

    Attributes
    ----------
    levels : tuple of Level
    row, rank : ndarray
        The code row and the rank of the nodes inside the groups.
    bits : sparse array of shape (n_groups, n_inside), unsigned
        The bit of each of these nodes in the pattern of its group.
    n_trees : int
    """

    levels: tuple[Level, ...]
    row: NDArray[np.int64]
    rank: NDArray
    bits: sparse.csr_array
    n_trees: int

    @classmethod
    def of(cls, trees, group, position, row, rank, n_bits) -> Self:
        """Return the comparisons of trees.

        Parameters
        ----------
        trees : TreeEnsemble
        group : ndarray of shape (n_nodes,), int
            The group of each node; -1 above the groups.
        position : ndarray of shape (n_nodes,), int
            The position of the bit of the node's player above the groups, and of its test inside.
        row, rank : ndarray of shape (n_nodes,)
            As of `Codes`.
        n_bits : int
            Of the largest group.
        """
        # Groups of more bits have no tables.
        dtype = np.min_scalar_type((1 << min(64, n_bits)) - 1)
        bit = dtype.type(1) << position.astype(dtype)
        levels, nodes = [], trees.roots
        while len(nodes):
            is_above = group[nodes] < 0
            above, ends = np.flatnonzero(is_above), np.flatnonzero(~is_above)
            upper = nodes[above]
            tests = row[upper], rank[upper, None], bit[upper, None]
            levels.append(Level(above, *tests, ends, group[nodes[ends]]))
            nodes = np.concatenate([trees.left[upper], trees.right[upper]])
        inside = np.flatnonzero((group >= 0) & ~trees.is_leaf)
        entries = bit[inside], (group[inside], np.arange(len(inside)))
        bits = sparse.csr_array(entries, shape=(int(group.max()) + 1, len(inside)))
        return cls(tuple(levels), row[inside], rank[inside, None], bits, trees.n_trees)

    def __call__(self, codes) -> np.ndarray:
        """Return the pattern of every row in every group, ``(n_groups, r)``, unsigned.

        Parameters
        ----------
        codes : ndarray of shape (n_rows, r), unsigned
        """
        steps = range(0, max(1, codes.shape[1]), ROWS)
        return np.concatenate([self._of(codes[:, i : i + ROWS]) for i in steps], axis=1)

    def _of(self, codes) -> np.ndarray:
        patterns = self.bits @ (codes.take(self.row, axis=0) > self.rank).view(np.uint8)
        failed = np.zeros((self.n_trees, codes.shape[1]), dtype=patterns.dtype)
        for above, row, rank, bit, ends, groups in self.levels:
            patterns[groups] |= failed[ends]
            went_right = (codes.take(row, axis=0) > rank) * bit
            so_far = failed[above]
            failed = np.concatenate([so_far | went_right, so_far | (went_right ^ bit)])
        return patterns
