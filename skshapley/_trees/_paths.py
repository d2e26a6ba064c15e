"""The paths from the roots to the leaves, and the players on each path.

Along a path, every distinct player gets a bit, in the order of first appearance. A
row's *fail mask* at a node has the bits of the players at which the row leaves the
path. A leaf with k players on its path is a game of k bits of the row to explain and k
bits of a background row.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from skshapley._trees._ensemble import TreeEnsemble

# Leaves of the trees in one step
LEAVES = 16384


class Paths:
    """The paths of all trees, determined by their structure and the players.

    Parameters
    ----------
    trees : TreeEnsemble
    player : ndarray of shape (n_nodes,), int
        The player of each node's feature; arbitrary at a leaf.

    Attributes
    ----------
    levels : list of ndarray
        The nodes of each depth, with both children of a node next to each other.
    parent : ndarray of shape (n_nodes,), int64
        -1 at a root.
    bit : ndarray of shape (n_nodes,), int64
        The bit of an inner node's player, on every path through the node.
    n_above : ndarray of shape (n_nodes,), int64
        Number of distinct players above a node.
    share : ndarray of shape (n_nodes,), float64
        The share of training weight that goes to a node from its parent; arbitrary at a
        root.
    leaves : ndarray of shape (n_leaves,), int64
    leaf_players : ndarray of shape (n_leaves, most), int64
        The players on the path, in the order of their bits; -1 beyond the last.
    """

    def __init__(self, trees, player) -> None:
        left = trees.left
        right = trees.right
        leaf = trees.is_leaf
        self.parent = np.full(trees.n_nodes, -1)
        self.bit, self.n_above = np.zeros((2, trees.n_nodes), dtype=np.int64)
        nodes = trees.roots
        path_players = np.full((trees.n_trees, 1), -1)
        self.levels = []
        leaves = []
        leaf_players = []
        while len(nodes):
            self.levels.append(nodes)
            ends = leaf[nodes]
            leaves.append(nodes[ends])
            leaf_players.append(path_players[ends])
            inner = nodes[~ends]
            path_players = path_players[~ends]
            tested = player[inner]
            count = self.n_above[inner]
            # A player that comes again keeps its bit: two nodes of one player are one
            # decision.
            is_tested = path_players == tested[:, None]
            position = np.where(is_tested.any(axis=1), is_tested.argmax(axis=1), count)
            # Widening on demand keeps the array as wide as the longest path, not as
            # wide as all players.
            if len(inner) and position.max() == path_players.shape[1]:
                path_players = np.pad(
                    path_players,
                    ((0, 0), (0, 1)),
                    constant_values=-1,
                )
            path_players[np.arange(len(inner)), position] = tested
            self.bit[inner] = position
            # A repeated player has a position below the count, which then stays.
            count = np.maximum(count, position + 1)
            for children in (left[inner], right[inner]):
                self.parent[children] = inner
                self.n_above[children] = count
            nodes = np.stack([left[inner], right[inner]], axis=1).ravel()
            path_players = np.repeat(path_players, 2, axis=0)
        total = (trees.cover[left] + trees.cover[right])[self.parent]
        # Nodes without training weight have no proportion, so both children count as
        # equally likely.
        self.share = np.full(trees.n_nodes, 0.5)
        np.divide(trees.cover, total, out=self.share, where=total > 0)
        self.leaves = np.concatenate(leaves)
        self.leaf_players = np.full((len(self.leaves), path_players.shape[1]), -1)
        ends = np.cumsum([len(part) for part in leaf_players])
        for part, end in zip(leaf_players, ends.tolist(), strict=True):
            self.leaf_players[end - len(part) : end, : part.shape[1]] = part


def traced_runs(
    trees,
    players,
    n=LEAVES,
) -> Iterator[tuple[TreeEnsemble, slice, Paths]]:
    """Yield runs of trees with about `n` leaves: the trees, their nodes, and their paths.

    Parameters
    ----------
    trees : TreeEnsemble
    players : ndarray of shape (n_features,), int
    n : int
    """
    n_leaves = np.add.reduceat(trees.is_leaf, trees.roots, dtype=np.int64)
    number = np.cumsum(n_leaves) // max(1, n)
    for first, last in pairwise(
        [0, *(np.flatnonzero(np.diff(number)) + 1), trees.n_trees]
    ):
        subset = trees.take_trees(range(first, last))
        start = int(trees.roots[first])
        yield (
            subset,
            slice(start, start + subset.n_nodes),
            Paths(subset, players[subset.feature]),
        )
