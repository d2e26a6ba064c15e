r"""Pairs of an instance and a reference walk down all trees at once, level by level.

The game of one instance and one reference in one tree has few leaves that some coalition reaches.
A *lineage* is a walk to one of them. Where instance and reference answer a node alike, it goes on.
Where they differ, the node's player decides. If an earlier node of this player took the lineage to
the instance's side, or to the reference's, it takes that side again. If the player is still free,
the lineage goes on along the instance's side, where the player must be *present*, and a new lineage
branches off along the reference's side, where the player must be *absent*.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Lineages that walk at the same time, so that their state stays in the cache
WALKING = 8192
# The walkers are joined by more once this share of the room is free
FREE_SHARE = 0.25
# Lineages that have ended are put aside once they are this share of those that walk
ENDED_SHARE = 0.2


class Walk(NamedTuple):
    """Where all lineages of some starts have branched off and ended.

    Attributes
    ----------
    parents, players : ndarray of shape (n_branchings,), int64
        The lineage that each new one came out of, and the player of the branching.
    masks : ndarray of shape (n_branchings,), unsigned
        The players decided before, see `Layout`; empty where a mask is more than one word.
    bounds : list of int
        The branchings of each step, as positions.
    ends : ndarray of shape (n_lineages,), int64
        The leaf of each lineage: first those that started, then those that branched off.
    sides : ndarray of shape (..., n_lineages), unsigned
        The players who are present, and those who are absent: masks, see `Layout`.
    """

    parents: np.ndarray
    players: np.ndarray
    masks: np.ndarray
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
    """Return the lineages of some starts, all of which join the walkers as others end.

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
        room = WALKING - len(walkers.node)
        if waiting < len(roots) and room >= FREE_SHARE * WALKING:
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
        self.masks: list[np.ndarray] = []
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
        first = layout.first.take(node)
        differ = (right != other).nonzero()[0]
        if not len(differ):
            self.node = layout.child(first + right)
        else:
            asked = node.take(differ)
            present, absent = layout.present.take(asked), layout.absent.take(asked)
            cell = differ
            if layout.word is not None:
                cell = layout.word.take(asked) * len(node) + differ
            mask = self.mask.ravel().take(cell)
            right[differ] ^= (mask & absent) != 0
            free = ((mask & (present | absent)) == 0).nonzero()[0]
            self.node = layout.child(first + right)
            if len(free):
                self._branch(free, differ, asked, cell, first, other)
        is_leaf = layout.is_leaf.take(self.node)
        if np.count_nonzero(is_leaf) > ENDED_SHARE * len(is_leaf):
            self._put_aside(is_leaf)

    def _branch(self, free, differ, asked, cell, first, other) -> None:
        """Add copies of lineages at a free player, which take the reference's side."""
        layout, cell = self.layout, cell.take(free)
        branch, asked = differ.take(free), asked.take(free)
        mask, flat = self.mask.take(branch, axis=-1), self.mask.ravel()
        if layout.word is None:
            self.masks.append(mask)
            mask = mask | layout.absent.take(asked)
        else:
            mask[layout.word.take(asked), np.arange(len(free))] |= layout.absent.take(asked)
        flat[cell] |= layout.present.take(asked)
        self.parents.append(self.number.take(branch))
        self.players.append(layout.player.take(asked))
        self.bounds.append(self.bounds[-1] + len(free))
        number = np.arange(self.n, self.n + len(free))
        self.n += len(free)
        node = layout.child(first.take(branch) + other.take(branch))
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
        masks = np.concatenate([*self.masks, np.empty(0, dtype=self.mask.dtype)])
        return Walk(parents, players, masks, self.bounds, ends, sides)
