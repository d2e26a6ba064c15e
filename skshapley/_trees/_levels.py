"""Patterns of rows in the groups of deep trees, level by level."""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

# Rows of one step
ROWS = 1024


class Step(NamedTuple):
    """Comparisons of codes with nodes: all nodes of one depth, or one node of each group.

    Attributes
    ----------
    of : ndarray of int
        Positions of the masks to write: those of the parents, or the groups.
    row, rank, shift : ndarray
        The code row and the rank of each node, and the position of its bit.
    ends, groups : ndarray of int
        Positions of the nodes at which a group begins, and these groups.
    """

    of: NDArray[np.int64]
    row: NDArray[np.int64]
    rank: NDArray
    shift: NDArray
    ends: NDArray[np.int64]
    groups: NDArray[np.int64]


class Levels(NamedTuple):
    """Tests of codes at the nodes of trees, from the roots to the groups and inside the groups.

    Every node is compared once. `Tests` compares the nodes above a group once for each group: in
    fully grown trees that takes 12 times as long.

    Attributes
    ----------
    above, inside : tuple of Step
    n_trees, n_groups : int
    dtype : dtype
        Unsigned integers that hold a pattern of the largest group.
    """

    above: tuple[Step, ...]
    inside: tuple[Step, ...]
    n_trees: int
    n_groups: int
    dtype: np.dtype

    @classmethod
    def of(cls, trees, group, bit, inside, row, rank, n_bits) -> Self:
        """Return the comparisons of trees.

        Parameters
        ----------
        trees : TreeEnsemble
        group : ndarray of shape (n_nodes,), int
            The group of each node; -1 above the groups.
        bit : ndarray of shape (n_nodes,), int
            The bit of the node's player above the groups, and of its test inside.
        inside : list of ndarray of int
            Inner nodes of the groups, one of each group at most.
        row, rank : ndarray of shape (n_nodes,)
            As of `Codes`.
        n_bits : int
            Of the largest group.
        """
        dtype = np.min_scalar_type((1 << n_bits) - 1)
        none = np.empty(0, dtype=np.int64)

        def step(of, nodes, ends, groups) -> Step:
            shift = bit[nodes].astype(dtype)[:, None]
            return Step(of, row[nodes], rank[nodes, None], shift, ends, groups)

        above, nodes = [], trees.roots
        while len(nodes):
            split = group[nodes] < 0
            upper, ends = nodes[split], np.flatnonzero(~split)
            above.append(step(np.flatnonzero(split), upper, ends, group[nodes[ends]]))
            nodes = np.concatenate([trees.left[upper], trees.right[upper]])
        within = tuple(step(group[nodes], nodes, none, none) for nodes in inside)
        return cls(tuple(above), within, trees.n_trees, int(group.max()) + 1, dtype)

    def __call__(self, codes) -> np.ndarray:
        """Return the pattern of every row in every group, ``(n_groups, r)``, unsigned.

        Parameters
        ----------
        codes : ndarray of shape (n_rows, r), unsigned
        """
        patterns = np.zeros((self.n_groups, codes.shape[1]), dtype=self.dtype)
        for first in range(0, codes.shape[1], ROWS):
            part = slice(first, first + ROWS)
            self._fill(codes[:, part], patterns[:, part])
        return patterns

    def _fill(self, codes, patterns) -> None:
        """Write the patterns of some rows."""
        failed = np.zeros((self.n_trees, codes.shape[1]), dtype=self.dtype)
        for of, row, rank, shift, ends, groups in self.above:
            patterns[groups] = failed[ends]
            if not len(of):
                break
            bit = self.dtype.type(1) << shift
            went_right = (codes.take(row, axis=0) > rank) * bit
            so_far = failed[of] if len(ends) else failed
            failed = np.concatenate([so_far | went_right, so_far | (went_right ^ bit)])
        for of, row, rank, shift, _, _ in self.inside:
            patterns[of] |= (codes.take(row, axis=0) > rank).astype(self.dtype) << shift
