"""What walks read at the nodes of an ensemble: both children side by side, and bits of players."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skshapley._ensembles._paths import runs_of_trees, trace_paths

# Players in one word of a mask: those present in its lower half, those absent in its upper half
WORD_PLAYERS = 32


@dataclass(frozen=True, eq=False)
class Layout:
    """What a walk reads at each node.

    A leaf is its own left child, and sends everybody there: a walk may stand at it for a while.

    Attributes
    ----------
    roots : ndarray of shape (n_trees,), int64
    children : ndarray of shape (2 * n_nodes,), int64, or None
        The left and the right child of each node in turn; of a leaf twice the leaf itself. None:
        they are the nodes in their order.
    first : ndarray of shape (n_nodes,), int64
        Where the left child is; the right one is next to it, or the leaf sends everybody left.
    is_leaf : ndarray of shape (n_nodes,), bool
    row : ndarray of shape (n_nodes,), int64
        The code row that a node compares; 0 at a leaf.
    rank : ndarray of shape (n_nodes,)
        A code above it goes right. At a leaf, no code is above it.
    player : ndarray of shape (n_nodes,), int64
    present, absent : ndarray of shape (n_nodes,), unsigned
        The player's two bits in its word of a mask, e.g. 0x0002 and 0x0200 for player 1 of 8.
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

    roots: np.ndarray
    children: np.ndarray | None
    first: np.ndarray
    is_leaf: np.ndarray
    row: np.ndarray
    rank: np.ndarray
    player: np.ndarray
    present: np.ndarray
    absent: np.ndarray
    word: np.ndarray | None
    n_words: int
    most_decided: int
    value: np.ndarray
    output: np.ndarray | None
    n_outputs: int

    def child(self, place) -> NDArray[np.int64]:
        """Return the nodes at some places among the children."""
        return place if self.children is None else self.children.take(place)

    def in_levels(self) -> Self:
        """Return the same layout, level by level: what many walks read lies close together."""
        if self.children is None:
            return self
        levels, nodes, pairs = [], self.roots, self.children.reshape(-1, 2)
        while len(nodes):
            levels.append(nodes)
            inner = nodes[~self.is_leaf.take(nodes)]
            nodes = pairs.take(inner, axis=0).ravel()
        order = np.concatenate(levels)
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        of_nodes = ("is_leaf", "row", "rank", "player", "present", "absent")
        return replace(
            self,
            roots=place[self.roots],
            children=None,
            first=place.take(pairs[:, 0].take(order)),
            word=None if self.word is None else self.word.take(order),
            value=self.value.take(order, axis=1),
            **{name: getattr(self, name).take(order) for name in of_nodes},
        )

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
    codes : Codes or PlainCodes
        Of these trees.
    players : ndarray of shape (n_features,), int

    Returns
    -------
    layout : Layout
    """
    leaf = trees.is_leaf
    children = np.stack([trees.left, trees.right], axis=1)
    at = np.flatnonzero(leaf)
    children[at] = at[:, None]
    # No code is above it, and the ranks of thresholds are below it by the choice of their dtype
    most_rank = np.inf if codes.rank.dtype.kind == "f" else np.iinfo(codes.rank.dtype).max
    # Any player will do at a leaf.
    player = players.take(trees.feature)
    bits, most = number_players(trees, player)
    value, output = _narrow(trees)
    n_words = 1 + int(bits.max()) // WORD_PLAYERS
    half = next(h for h in (8, 16, WORD_PLAYERS) if bits.max() < h or h == WORD_PLAYERS)
    dtype = np.dtype(f"u{half // 4}")
    of_bit = np.left_shift(dtype.type(1), np.arange(half, dtype=dtype))
    present = of_bit.take(bits if n_words == 1 else bits % half)
    return Layout(
        roots=trees.roots,
        children=children.ravel(),
        first=np.arange(0, 2 * trees.n_nodes, 2),
        is_leaf=leaf,
        row=np.maximum(codes.row, 0),
        rank=np.where(leaf, codes.rank.dtype.type(most_rank), codes.rank),
        player=player,
        present=present,
        absent=present << dtype.type(half),
        word=None if n_words == 1 else bits // WORD_PLAYERS,
        n_words=n_words,
        most_decided=most,
        value=np.ascontiguousarray(value.T),
        output=output,
        n_outputs=trees.n_outputs,
    )


def number_players(trees, player) -> tuple[NDArray[np.int64], int]:
    """Return the number of each node's player, and how many players a path may decide.

    Players keep their numbers where all of them fit into one word. Else a number is the place of
    the player among those on the path, of which there are fewer.

    Parameters
    ----------
    trees : TreeEnsemble
    player : ndarray of shape (n_nodes,), int64
        0 at leaves.

    Returns
    -------
    number : ndarray of shape (n_nodes,), int64
    most : int
    """
    if player.max() < WORD_PLAYERS:
        return player, int(player.max()) + 1
    number, most = np.empty(trees.n_nodes, dtype=np.int64), 0
    for first, last in runs_of_trees(trees):
        some, start = trees.take_trees(first, last), trees.roots[first]
        nodes = slice(start, start + some.n_nodes)
        paths = trace_paths(some, player[nodes])
        number[nodes], most = paths.bit, max(most, int(paths.n_above.max()))
    return number, most


def _narrow(trees) -> tuple[NDArray[np.float64], NDArray[np.intp] | None]:
    """Return values of one column where every tree adds to one output, and that output."""
    if trees.n_outputs == 1:
        return trees.value, None
    touched = np.logical_or.reduceat(trees.value != 0, trees.roots, axis=0)
    if (touched.sum(axis=1) > 1).any():
        return trees.value, None
    return trees.value.sum(axis=1, keepdims=True), touched.argmax(axis=1)
