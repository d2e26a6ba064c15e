"""The nodes of an ensemble in an order for walking: children side by side, trees one by one."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skshapley._ensembles._paths import runs_of_trees, trace_paths

# Players in one word of a mask: those present in its lower half, those absent in its upper half
WORD_PLAYERS = 32


@dataclass(frozen=True, eq=False)
class Layout:
    """What a walk reads at each node, in an order in which ``first + 1`` is the right child.

    A leaf is its own child and sends everybody left, so that a walk may stand at it for a while.

    Attributes
    ----------
    order : ndarray of shape (n_nodes,), int64
        The nodes of the ensemble, in the order of this layout.
    roots : ndarray of shape (n_trees,), int64
    first : ndarray of shape (n_nodes,), int64
        The left child; the right one is next to it. At a leaf the leaf itself.
    is_leaf : ndarray of shape (n_nodes,), bool
    row : ndarray of shape (n_nodes,), int64
        The code row that a node compares; 0 at a leaf.
    rank : ndarray of shape (n_nodes,), unsigned
        A code above it goes right. At a leaf, no code is above it.
    player : ndarray of shape (n_nodes,), int64
    present, absent : ndarray of shape (n_nodes,), unsigned
        The player's two bits in its word of a mask, e.g. 0x0002 and 0x0200 for player 1 of 8.
    number : ndarray of shape (n_nodes,), int64
        The player's number, which no other player on the path has.
    word : ndarray of shape (n_nodes,), int64, or None
        The word of a mask that holds the bits. None: every mask is one word.
    n_words : int
    most_decided : int
        No path asks more distinct players.
    value : ndarray of shape (n_columns, n_nodes), float64
        What a leaf adds: to all outputs, or to the one output of its tree.
    output : ndarray of shape (n_trees,), int64, or None
        The output of each tree; None where leaves add to all of them.
    n_outputs : int
    """

    order: np.ndarray
    roots: np.ndarray
    first: np.ndarray
    is_leaf: np.ndarray
    row: np.ndarray
    rank: np.ndarray
    player: np.ndarray
    present: np.ndarray
    absent: np.ndarray
    number: np.ndarray
    word: np.ndarray | None
    n_words: int
    most_decided: int
    value: np.ndarray
    output: np.ndarray | None
    n_outputs: int

    @property
    def mask_shape(self) -> tuple[int, ...]:
        """Return the shape of a mask of one lineage: none for a single word."""
        return () if self.word is None else (self.n_words,)

    def count_decided(self, masks) -> NDArray[Any]:
        """Return how many players are decided by masks.

        Returns
        -------
        decided : ndarray of shape (n,), int
            ``n_absent * (most_decided + 1) + n_present``.
        """
        half = masks.dtype.itemsize * 4
        low = masks.dtype.type((1 << half) - 1)
        present, absent = np.bitwise_count(masks & low), np.bitwise_count(masks >> half)
        if self.word is not None:
            present, absent = (part.sum(axis=0, dtype=np.int64) for part in (present, absent))
        return absent.astype(np.int64) * (self.most_decided + 1) + present


def lay_out(trees, codes, players) -> Layout:
    """Return the layout of an ensemble.

    Parameters
    ----------
    trees : TreeEnsemble
    codes : Codes
        Of these trees.
    players : ndarray of shape (n_features,), int

    Returns
    -------
    layout : Layout
    """
    order = _order(trees)
    place = np.empty(trees.n_nodes, dtype=np.int64)
    place[order] = np.arange(trees.n_nodes)
    leaf = trees.is_leaf[order]
    rank = codes.rank[order]
    # Above all codes; the ranks of the last threshold stay below it by the choice of their dtype.
    rank[leaf] = np.iinfo(rank.dtype).max
    player = np.where(leaf, 0, players[trees.feature[order]])
    bits, most = _number_players(trees, players, order)
    value, output = _narrow(trees)
    n_words = 1 + int(bits.max()) // WORD_PLAYERS
    half = next(h for h in (8, 16, WORD_PLAYERS) if bits.max() < h or h == WORD_PLAYERS)
    present = np.left_shift(np.uint64(1), (bits % half).astype(np.uint64))
    dtype = np.dtype(f"u{half // 4}")
    return Layout(
        order=order,
        roots=trees.roots,
        first=np.where(leaf, np.arange(trees.n_nodes), place[trees.left[order]]),
        is_leaf=leaf,
        row=np.where(leaf, 0, codes.row[order]),
        rank=rank,
        player=player,
        present=present.astype(dtype),
        absent=(present << np.uint64(half)).astype(dtype),
        number=bits,
        word=None if n_words == 1 else bits // WORD_PLAYERS,
        n_words=n_words,
        most_decided=most,
        value=np.ascontiguousarray(value[order].T),
        output=output,
        n_outputs=trees.n_outputs,
    )


def _order(trees) -> NDArray[np.int64]:
    """Return the nodes tree by tree, level by level, with children next to each other."""
    levels, nodes = [], trees.roots
    while len(nodes):
        levels.append(nodes)
        inner = nodes[~trees.is_leaf[nodes]]
        nodes = np.stack([trees.left[inner], trees.right[inner]], axis=1).ravel()
    order = np.concatenate(levels)
    tree = np.searchsorted(trees.roots, order, side="right")
    return order[np.argsort(tree, kind="stable")]


def _number_players(trees, players, order) -> tuple[NDArray[np.int64], int]:
    """Return the number of each node's player, and how many players a path may decide.

    Players keep their numbers where all of them fit into one word. Else a number is the place of
    the player among those on the path, of which there are fewer.
    """
    player = np.where(trees.is_leaf, 0, players[trees.feature])
    if player.max() < WORD_PLAYERS:
        return player[order], int(player.max()) + 1
    number, most = np.empty(trees.n_nodes, dtype=np.int64), 0
    for first, last in runs_of_trees(trees):
        some, start = trees.take_trees(first, last), trees.roots[first]
        nodes = slice(start, start + some.n_nodes)
        paths = trace_paths(some, np.where(some.is_leaf, -1, player[nodes]))
        number[nodes], most = paths.bit, max(most, int(paths.n_above.max()))
    return number[order], most


def _narrow(trees) -> tuple[NDArray[np.float64], NDArray[np.intp] | None]:
    """Return values of one column where every tree adds to one output, and that output."""
    touched = np.logical_or.reduceat(trees.value != 0, trees.roots, axis=0)
    if trees.n_outputs == 1 or (touched.sum(axis=1) > 1).any():
        return trees.value, None
    return trees.value.sum(axis=1, keepdims=True), touched.argmax(axis=1)
