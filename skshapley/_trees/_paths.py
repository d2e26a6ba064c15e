"""The paths from the roots to the leaves, and the players on each path.

Along a path, every distinct player gets a bit, in the order of first appearance. A row's *fail
mask* at a node has the bits of the players at which the row leaves the path. A leaf with k players
on its path is a game of k bits of the row to explain and k bits of a background row.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

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
        The nodes of each depth: first all left children, then all right children.
    parent : ndarray of shape (n_nodes,), int64
        -1 at a root.
    bit : ndarray of shape (n_nodes,), int64
        The bit of an inner node's player, on every path through the node.
    n_above : ndarray of shape (n_nodes,), int64
        Number of distinct players above a node.
    n_below : ndarray of shape (n_nodes,), int64
        Number of inner nodes in the subtree of a node, itself included.
    leaves : ndarray of shape (n_leaves,), int64
    leaf_players : ndarray of shape (n_leaves, most), int64
        The players on the path, in the order of their bits; -1 beyond the last.
    """

    def __init__(self, trees, player) -> None:
        left, right, leaf = trees.left, trees.right, trees.is_leaf
        self.parent = np.full(trees.n_nodes, -1)
        self.bit, self.n_above, self.n_below = np.zeros((3, trees.n_nodes), dtype=np.int64)
        nodes, seen = trees.roots, np.full((trees.n_trees, 1), -1)
        self.levels, leaves, leaf_players = [], [], []
        while len(nodes):
            self.levels.append(nodes)
            ends = leaf[nodes]
            leaves.append(nodes[ends])
            leaf_players.append(seen[ends])
            inner, seen = nodes[~ends], seen[~ends]
            asked, count = player[inner], self.n_above[inner]
            # A player that comes again keeps its bit: two nodes of one player are one decision.
            known = seen == asked[:, None]
            position = np.where(known.any(axis=1), known.argmax(axis=1), count)
            # Widening on demand keeps the array as wide as the longest path, not as wide as all
            # players.
            if len(inner) and position.max() == seen.shape[1]:
                seen = np.pad(seen, ((0, 0), (0, 1)), constant_values=-1)
            seen[np.arange(len(inner)), position] = asked
            self.bit[inner] = position
            # A repeated player has a position below the count, which then stays.
            count = np.maximum(count, position + 1)
            for children in (left[inner], right[inner]):
                self.parent[children], self.n_above[children] = inner, count
            nodes, seen = np.concatenate([left[inner], right[inner]]), np.concatenate([seen, seen])
        for nodes in reversed(self.levels):
            inner = nodes[~leaf[nodes]]
            self.n_below[inner] = 1 + self.n_below[left[inner]] + self.n_below[right[inner]]
        self.leaves, last = np.concatenate(leaves), 0
        self.leaf_players = np.full((len(self.leaves), leaf_players[-1].shape[1]), -1)
        for part in leaf_players:
            first, last = last, last + len(part)
            self.leaf_players[first:last, : part.shape[1]] = part


def runs_of_trees(trees, n=LEAVES) -> Iterator[tuple[int, int]]:
    """Yield runs of trees with about `n` leaves, as first and last; the last is excluded."""
    n_leaves = np.add.reduceat(trees.is_leaf, trees.roots, dtype=np.int64)
    number = np.cumsum(n_leaves) // max(1, n)
    yield from pairwise([0, *(np.flatnonzero(np.diff(number)) + 1).tolist(), trees.n_trees])


def nodes_by_level(trees) -> list[np.ndarray]:
    """Return the nodes of each depth, with both children of a node next to each other.

    Parameters
    ----------
    trees : TreeEnsemble
    """
    levels, nodes = [], trees.roots
    while len(nodes):
        levels.append(nodes)
        inner = nodes[trees.left[nodes] >= 0]
        nodes = np.stack([trees.left[inner], trees.right[inner]], axis=1).ravel()
    return levels
