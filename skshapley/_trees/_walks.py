r"""Pairs of a row to explain and a background row go down all trees at once, level by level.

The game of one such pair in one tree has few leaves that some coalition reaches. A *lineage* is a
way to one of them. Where both rows answer a node alike, it goes on. Where they differ, the node's
player decides. If an earlier node of this player took the lineage to the side of the row to
explain, or to the other side, it takes that side again. If the player is still free, the lineage
goes on along the side of the row to explain, where the player must be *present*, and a new lineage
branches off along the other side, where the player must be *absent*.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skshapley._trees._paths import nodes_by_level, runs_of_trees, trace_paths

# Players in one word of a mask: those present in its lower half, those absent in its upper half
WORD_PLAYERS = 32
# Lineages that are followed at the same time, so that their state stays in the cache
FOLLOWED = 8192
# They are joined by more once this share of the room is free
FREE_SHARE = 0.25
# Lineages that have ended are put aside once they are this share of those that are followed
ENDED_SHARE = 0.2


@dataclass(frozen=True, eq=False)
class Layout:
    """The nodes of an ensemble level by level, with both children of a node next to each other.

    A leaf is its own child, and sends everybody there: a lineage may stand at it for a while.

    Attributes
    ----------
    roots : ndarray of shape (n_trees,), int64
    first : ndarray of shape (n_nodes,), int64
        The left child, and of a leaf the leaf itself.
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

    @property
    def mask_shape(self) -> tuple[int, ...]:
        """Return the shape of a mask of one lineage: none for a single word."""
        return () if self.word is None else (self.n_words,)

    def count_decided(self, masks) -> NDArray[Any]:
        """Return ``n_absent * (most_decided + 1) + n_present`` of masks, ``(n,)`` int64."""
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
    """
    order = np.concatenate(nodes_by_level(trees))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    leaf = trees.is_leaf[order]
    # Any player will do at a leaf.
    player = players.take(trees.feature)
    bits, most = _number_players(trees, player)
    player, bits = player[order], bits[order]
    value, output = _narrow(trees)
    n_words = 1 + int(bits.max()) // WORD_PLAYERS
    half = next(h for h in (8, 16, WORD_PLAYERS) if bits.max() < h or h == WORD_PLAYERS)
    dtype = np.dtype(f"u{half // 4}")
    present = dtype.type(1) << (bits % half).astype(dtype)
    return Layout(
        roots=place[trees.roots],
        first=np.where(leaf, np.arange(len(order)), place[trees.left[order]]),
        is_leaf=leaf,
        row=np.maximum(codes.row[order], 0),
        # No rank of a threshold is that high, by the choice of the dtype.
        rank=np.where(leaf, np.iinfo(codes.rank.dtype).max, codes.rank[order]),
        player=player,
        present=present,
        absent=present << dtype.type(half),
        word=None if n_words == 1 else bits // WORD_PLAYERS,
        n_words=n_words,
        most_decided=most,
        value=np.ascontiguousarray(value[order].T),
        output=output,
        n_outputs=trees.n_outputs,
    )


def _number_players(trees, player) -> tuple[NDArray[np.int64], int]:
    """Return the number of each node's player, and how many players a path may decide.

    Players keep their numbers where all of them fit into one word. Else a number is the place of
    the player among those on the path, of which there are fewer.
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
    touched = np.logical_or.reduceat(trees.value != 0, trees.roots, axis=0)
    if trees.n_outputs == 1 or (touched.sum(axis=1) > 1).any():
        return trees.value, None
    return trees.value.sum(axis=1, keepdims=True), touched.argmax(axis=1)


class Walk(NamedTuple):
    """Where all lineages of some starts have branched off and ended.

    Attributes
    ----------
    parents, players : ndarray of shape (n_branchings,), int64
        The lineage that each new one came out of, and the player of the branching.
    bounds : list of int
        The branchings of each step, as positions.
    ends : ndarray of shape (n_lineages,), int64
        The leaf of each lineage: first those that started, then those that branched off.
    sides : ndarray of shape (..., n_lineages), unsigned
        The players who are present, and those who are absent: masks, see `Layout`.
    """

    parents: np.ndarray
    players: np.ndarray
    bounds: list[int]
    ends: np.ndarray
    sides: np.ndarray

    def origins(self, n_starts) -> NDArray[np.int64]:
        """Return the start that each lineage goes back to, ``(n_lineages,)``."""
        origin = np.empty(len(self.ends), dtype=np.int64)
        origin[:n_starts] = np.arange(n_starts)
        branched = origin[n_starts:]
        for first, last in self.steps():
            branched[first:last] = origin.take(self.parents[first:last])
        return origin

    def steps(self) -> list[tuple[int, int]]:
        """Return the first and one more than the last branching of each step."""
        return list(pairwise(self.bounds))


def walk(layout, roots, X, at_x, R, at_r) -> Walk:
    """Return the lineages from all starts; new starts enter as others end.

    Parameters
    ----------
    layout : Layout
    roots : ndarray of shape (n_starts,), int64
        Where each one starts.
    X, R : ndarray
        Codes of instances and of references, row by row.
    at_x, at_r : ndarray of shape (n_starts,), int64
        The places in `X` and `R` of the first codes of each start's instance and reference.

    Returns
    -------
    walk : Walk
    """
    walkers = _Walkers(layout, X, R, len(roots))
    waiting = 0
    while waiting < len(roots) or len(walkers.node):
        room = FOLLOWED - len(walkers.node)
        if waiting < len(roots) and room >= FREE_SHARE * FOLLOWED:
            new = slice(waiting, waiting + room)
            waiting = min(waiting + room, len(roots))
            walkers.join(np.arange(len(roots))[new], roots[new], at_x[new], at_r[new])
        walkers.step()
    return walkers.finished()


class _Walkers:
    """The lineages that walk, each with its number, its node, its rows and its decided players."""

    def __init__(self, layout, X, R, n) -> None:
        self.layout, self.X, self.R, self.n = layout, X, R, n
        none = np.empty(0, dtype=np.int64)
        self.number = self.node = self.at_x = self.at_r = none
        self.mask = np.empty((*layout.mask_shape, 0), dtype=layout.present.dtype)
        self.parents, self.players, self.bounds = [none], [none], [0]
        self.ended: list[tuple[np.ndarray, ...]] = []

    def join(self, number, node, at_x, at_r, mask=None) -> None:
        """Add lineages, by default with no player decided."""
        if mask is None:
            mask = np.zeros((*self.layout.mask_shape, len(node)), dtype=self.mask.dtype)
        self.number = np.concatenate([self.number, number])
        self.node = np.concatenate([self.node, node])
        self.at_x = np.concatenate([self.at_x, at_x])
        self.at_r = np.concatenate([self.at_r, at_r])
        self.mask = np.concatenate([self.mask, mask], axis=-1)

    def step(self) -> None:
        """Take every lineage to the next level of its tree."""
        layout, node = self.layout, self.node
        row, rank = layout.row.take(node), layout.rank.take(node)
        right = self.X.take(self.at_x + row) > rank
        other = self.R.take(self.at_r + row) > rank
        differ = (right != other).nonzero()[0]
        if not len(differ):
            self.node = layout.first.take(node) + right
        else:
            asked = node.take(differ)
            present, absent = layout.present.take(asked), layout.absent.take(asked)
            cell = differ
            if layout.word is not None:
                cell = layout.word.take(asked) * len(node) + differ
            mask = self.mask.ravel().take(cell)
            right[differ] ^= (mask & absent) != 0
            free = ((mask & (present | absent)) == 0).nonzero()[0]
            self.node = layout.first.take(node) + right
            if len(free):
                self._branch(free, differ, asked, cell, node, other)
        is_leaf = layout.is_leaf.take(self.node)
        if np.count_nonzero(is_leaf) > ENDED_SHARE * len(is_leaf):
            self._put_aside(is_leaf)

    def _branch(self, free, differ, asked, cell, node, other) -> None:
        """Add copies of lineages at a free player, which take the reference's side."""
        layout, cell = self.layout, cell.take(free)
        branch, asked = differ.take(free), asked.take(free)
        mask, flat = self.mask.take(branch, axis=-1), self.mask.ravel()
        if layout.word is None:
            mask |= layout.absent.take(asked)
        else:
            mask[layout.word.take(asked), np.arange(len(free))] |= layout.absent.take(asked)
        flat[cell] |= layout.present.take(asked)
        self.parents.append(self.number.take(branch))
        self.players.append(layout.player.take(asked))
        self.bounds.append(self.bounds[-1] + len(free))
        number = np.arange(self.n, self.n + len(free))
        self.n += len(free)
        node = layout.first.take(node.take(branch)) + other.take(branch)
        self.join(number, node, self.at_x.take(branch), self.at_r.take(branch), mask)

    def _put_aside(self, is_leaf) -> None:
        end, go = is_leaf.nonzero()[0], (~is_leaf).nonzero()[0]
        mask = self.mask.take(end, axis=-1)
        self.ended.append((self.number.take(end), self.node.take(end), mask))
        self.number, self.node = self.number.take(go), self.node.take(go)
        self.at_x, self.at_r = self.at_x.take(go), self.at_r.take(go)
        self.mask = self.mask.take(go, axis=-1)

    def finished(self) -> Walk:
        """Return where all of them have been, by their numbers."""
        ends = np.empty(self.n, dtype=np.int64)
        sides = np.empty((*self.layout.mask_shape, self.n), dtype=self.mask.dtype)
        for number, node, mask in self.ended:
            ends[number], sides[..., number] = node, mask
        parents, players = np.concatenate(self.parents), np.concatenate(self.players)
        return Walk(parents, players, self.bounds, ends, sides)
