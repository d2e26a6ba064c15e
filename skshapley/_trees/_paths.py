"""The paths from the roots to the leaves, and the players on each path.

Along a path, every distinct player gets a bit, in the order of first appearance. A row's *fail
mask* at a node has the bits of the players at which the row leaves the path. A leaf with k players
on its path is a game of k bits of the row to explain and k bits of a background row.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

# Leaves of the trees in one step
LEAVES = 16384


@dataclass(frozen=True, eq=False)
class Paths:
    """The paths of an ensemble, determined by its structure alone.

    Attributes
    ----------
    levels : tuple of ndarray
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

    levels: tuple[np.ndarray, ...]
    parent: np.ndarray
    bit: np.ndarray
    n_above: np.ndarray
    n_below: np.ndarray
    leaves: np.ndarray
    leaf_players: np.ndarray


def runs_of_trees(trees, n=LEAVES) -> Iterator[tuple[int, int]]:
    """Yield runs of trees with about `n` leaves, as first and last; the last is excluded."""
    n_leaves = np.add.reduceat(trees.is_leaf, trees.roots, dtype=np.int64)
    number = np.cumsum(n_leaves) // max(1, n)
    yield from pairwise([0, *(np.flatnonzero(np.diff(number)) + 1).tolist(), trees.n_trees])


def trace_paths(trees, player) -> Paths:
    """Return the paths of all trees, followed at once, level by level.

    Parameters
    ----------
    trees : TreeEnsemble
    player : ndarray of shape (n_nodes,), int
        The player of each node's feature; arbitrary at a leaf.

    Returns
    -------
    paths : Paths
    """
    left, right, leaf = trees.left, trees.right, trees.is_leaf
    parent = np.full(trees.n_nodes, -1)
    bit = np.zeros(trees.n_nodes, dtype=np.int64)
    n_above = np.zeros(trees.n_nodes, dtype=np.int64)
    nodes, seen = trees.roots, np.full((trees.n_trees, 1), -1)
    levels, leaves, leaf_players = [], [], []
    while len(nodes):
        levels.append(nodes)
        ends = leaf[nodes]
        leaves.append(nodes[ends])
        leaf_players.append(seen[ends])
        inner, seen = nodes[~ends], seen[~ends]
        asked, count = player[inner], n_above[inner]
        # A player that comes again keeps its bit: two nodes of one player are one decision.
        known = seen == asked[:, None]
        position = np.where(known.any(axis=1), known.argmax(axis=1), count)
        # Widening on demand keeps the array as wide as the longest path, not as wide as all
        # players.
        if len(inner) and position.max() == seen.shape[1]:
            seen = np.pad(seen, ((0, 0), (0, 1)), constant_values=-1)
        seen[np.arange(len(inner)), position] = asked
        bit[inner] = position
        # A repeated player has a position below the count, which then stays.
        count = np.maximum(count, position + 1)
        for nodes in (left[inner], right[inner]):
            parent[nodes], n_above[nodes] = inner, count
        nodes, seen = np.concatenate([left[inner], right[inner]]), np.concatenate([seen, seen])
    n_below = np.zeros(trees.n_nodes, dtype=np.int64)
    for nodes in reversed(levels):
        inner = nodes[~leaf[nodes]]
        n_below[inner] = 1 + n_below[left[inner]] + n_below[right[inner]]
    players, last = np.full((np.count_nonzero(leaf), leaf_players[-1].shape[1]), -1), 0
    for part in leaf_players:
        first, last = last, last + len(part)
        players[first:last, : part.shape[1]] = part
    return Paths(
        levels=tuple(levels),
        parent=parent,
        bit=bit,
        n_above=n_above,
        n_below=n_below,
        leaves=np.concatenate(leaves),
        leaf_players=players,
    )


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
