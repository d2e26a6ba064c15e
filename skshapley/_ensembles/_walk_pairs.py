r"""Interactions from the walks of instances and references down the trees.

At a leaf of value 1, a lineage with a players present and b absent is worth the moment of
(a - 2, b) to two of the former, that of (a, b - 2) to two of the latter, and minus that of
(a - 1, b - 1) to one of each, see `_leaf_pairs`. The two players of a pair are those of a branching
and of another one before it in the same lineage. So the three numbers are summed over the lineages
that came out of either side of a branching, the last ones first, as single values are. Then every
branching goes back through those before it, and adds to each pair what the side that was taken
there calls for.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skshapley._ensembles._layout import WORD_PLAYERS
from skshapley._ensembles._leaf_games import presence_law


class PairsOfWalks:
    """The interactions of pairs of players, summed over walks.

    Parameters
    ----------
    layout : Layout
    n_players : int
    index : Index, "shapley" or "banzhaf"
    total : ndarray of shape (r, n_outputs, n_players, n_players)
        Added to, at the pairs ``i < j``.
    """

    def __init__(self, layout, n_players, index, total) -> None:
        self.layout, self.n_players, self.total = layout, n_players, total
        self._worths = pair_worths(layout.most_decided, index)

    def add(self, walked, origin, weights, column, at) -> None:
        """Add what some runs give.

        Parameters
        ----------
        walked : Walk
        origin : ndarray of shape (n_lineages,), int64
            Of all lineages, see `Walk.origins`.
        weights : ndarray of shape (b,)
        column : int
            Of the leaves' values.
        at : ndarray of shape (n_runs,), int64
            ``instance * n_outputs + output`` of each run.
        """
        n_runs = len(at)
        value = self.layout.value[column].take(walked.ends)
        value *= np.tile(weights, n_runs).take(origin)
        decided = self.layout.count_decided(walked.sides)
        worth = self._worths.take(decided, axis=0) * value[:, None]
        n_starts, size = n_runs * len(weights), self.n_players**2
        run = np.repeat(np.arange(n_runs), len(weights)).take(origin[n_starts:])
        to_either = self._summed(walked, worth, n_starts)
        # Start by start, so that sums do not depend on who else walked. Small integers are sorted
        # by their digits, in no time.
        order = np.argsort(origin[n_starts:].astype(np.min_scalar_type(n_starts)), kind="stable")
        if self.n_players <= WORD_PLAYERS:
            sums: Any = self._by_masks(walked, order, run, to_either, n_runs)
        else:
            one, before = branchings_before(walked, order, n_starts)
            other = before >> 1
            i, j = walked.players.take(one), walked.players.take(other)
            key = np.minimum(i, j) * self.n_players + np.maximum(i, j)
            key += run.take(one) * size
            sums = np.bincount(key, to_either.ravel().take(2 * one + (before & 1)), n_runs * size)
        # One after another: the trees of an instance add to the same numbers.
        np.add.at(self.total.reshape(-1, size), at, sums.reshape(-1, size))

    def _by_masks(self, walked, order, run, to_either, n_runs) -> NDArray[np.float64]:
        """Return the sums of all runs, player by player: the masks say who was decided before."""
        p, masks = self.n_players, walked.masks.take(order)
        half, one = 4 * masks.dtype.itemsize, masks.dtype.type(1)
        cell, worths = (run * p + walked.players).take(order), to_either.take(order, axis=0).ravel()
        sums = np.zeros((n_runs * p, p))
        # Without room in a mask, a player is never asked
        for player in range(min(p, half)):
            absent = one << masks.dtype.type(player + half)
            known = (masks & (absent | one << masks.dtype.type(player))).nonzero()[0]
            is_absent = (masks.take(known) & absent) != 0
            worth = worths.take(2 * known + is_absent)
            sums[:, player] = np.bincount(cell.take(known), worth, n_runs * p)
        both = sums.reshape(n_runs, p, p)
        return np.triu(both + both.transpose(0, 2, 1))

    def _summed(self, walked, worth, n_starts) -> NDArray[np.float64]:
        """Return what each branching is worth to its player and to one that is present, or absent.

        Parameters
        ----------
        walked : Walk
        worth : ndarray of shape (n_lineages, 3)
            Summed in place.
        n_starts : int

        Returns
        -------
        summed : ndarray of shape (n_branchings, 2)
        """
        summed = np.empty((len(walked.parents), 2))
        for first, last in walked.steps()[::-1]:
            parent = walked.parents[first:last]
            present, absent = worth.take(parent, axis=0), worth[n_starts + first : n_starts + last]
            np.add(present[:, :2], absent[:, 1:], out=summed[first:last])
            worth[parent] = present + absent
        return summed


def branchings_before(walked, order, n_starts) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return every branching with each of those before it in the same lineages.

    Parameters
    ----------
    walked : Walk
    order : ndarray of shape (n_branchings,), int64
        In which the branchings come.
    n_starts : int

    Returns
    -------
    one, before : ndarray of shape (n,), int64
        The latter is twice the earlier branching, plus 1 where its player was absent.
    """
    n = len(walked.parents)
    last, previous = np.full(n_starts + n, -1), np.empty(n, dtype=np.int64)
    for start, stop in walked.steps():
        parent, number = walked.parents[start:stop], np.arange(start, stop)
        previous[start:stop] = last.take(parent)
        last[parent] = 2 * number
        last[n_starts + start : n_starts + stop] = 2 * number + 1
    one, before = order, previous.take(order)
    ones: list[Any] = [one[:0]]
    befores: list[Any] = [one[:0]]
    while len(one):
        known = (before >= 0).nonzero()[0]
        one, before = one.take(known), before.take(known)
        ones.append(one)
        befores.append(before)
        before = previous.take(before >> 1)
    return np.concatenate(ones), np.concatenate(befores)


def pair_worths(most, index) -> NDArray[np.float64]:
    """Return what a lineage is worth to two of its players.

    Parameters
    ----------
    most : int
        Of decided players.
    index : Index, "shapley" or "banzhaf"

    Returns
    -------
    worths : ndarray of shape ((most + 1) ** 2, 3)
        By `Layout.count_decided`, to two that are present, to one of each, and to two absent ones.
    """
    t, weights = presence_law(index, most - 2)
    size = np.arange(most + 1)[:, None]
    moment = ((1 - t) ** size * weights) @ (t**size).T
    worths = np.zeros((*moment.shape, 3))
    worths[:, 2:, 0] = moment[:, :-2]
    worths[1:, 1:, 1] = -moment[:-1, :-1]
    worths[2:, :, 2] = moment[:-2]
    return worths.reshape(-1, 3)
