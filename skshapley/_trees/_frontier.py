r"""Exact values of pairs of a row to explain and a background row, in trees of any depth.

Consider a leaf of value v with a present and b absent players in its lineage (see `_walks`). The
leaf adds v (a - 1)! b! / (a + b)! to each present player. It subtracts v a! (b - 1)! / (a + b)!
from each absent player. Both numbers are known at the leaf, and every decided player belongs to one
branching. They are summed over the lineages on either side of a branching, last branchings first.
The player gains the sum of the first number over the side of the row to explain. It loses the sum
of the second number over the other side.

For interactions, a pair consists of the player of a branching and the player of an earlier
branching of the same lineage. The sums use the three numbers of `pair_worths`. Each branching
visits its earlier branchings and adds the number for the side taken there.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skshapley._trees._leaf_games import meeting_weights, pair_worths
from skshapley._trees._walks import Layout, walk

# Starts in one block: few enough for most of their state to stay in the cache
STARTS = 1 << 12
# Most numbers in the values of one block of starts
SUMS = 1 << 21
# Background rows in one sum for a row to explain
REFERENCES = 2048


@dataclass(frozen=True, eq=False)
class Frontier:
    """Exact values of pairs of a row to explain and a background row.

    Attributes
    ----------
    layout : Layout
    n_players : int
    """

    layout: Layout
    n_players: int

    def values(self, instances, references, weights, index) -> NDArray[np.float64]:
        """Return the values of rows, as weighted sums over the background rows.

        The order of the sums depends on neither the other rows nor the blocks.

        Parameters
        ----------
        instances : ndarray of shape (n_rows, r)
            Codes.
        references : ndarray of shape (n_rows, b)
        weights : ndarray of shape (b,)
        index : Index

        Returns
        -------
        values : ndarray of shape (n_outputs, n_players, r)
        """
        total = np.zeros((instances.shape[1], self.layout.n_outputs, self.n_players))
        self._add(total, instances, references, weights, index)
        return total.transpose(1, 2, 0)

    def values_by_reference(self, instances, references, index) -> NDArray[np.float64]:
        """Return the values of rows against each single background row.

        Parameters
        ----------
        instances : ndarray of shape (n_rows, r)
        references : ndarray of shape (n_rows, b)
        index : Index

        Returns
        -------
        values : ndarray of shape (r, b, n_players, n_outputs)
        """
        r, b = instances.shape[1], references.shape[1]
        total = np.zeros((b, r, self.layout.n_outputs, self.n_players))
        self._add(total, instances, references, None, index)
        return total.transpose(1, 0, 3, 2)

    def pairs(self, instances, references, weights, index) -> NDArray[np.float64]:
        """Return the interactions of players.

        Parameters
        ----------
        instances : ndarray of shape (n_rows, r)
            Codes.
        references : ndarray of shape (n_rows, b)
        weights : ndarray of shape (b,)
        index : Index

        Returns
        -------
        interactions : ndarray of shape (n_outputs, n_players, n_players, r)
            Symmetric, with the values on the diagonal.
        """
        p, r, k = self.n_players, instances.shape[1], self.layout.n_outputs
        total, worths = np.zeros((r * k, p * p)), pair_worths(self.layout.most_decided, index)
        for part, tree, instance, walked in self._runs(instances, references, SUMS // p**2):
            for column, at in self._columns(tree, instance):
                sums = self._pair_sums(walked, worths, weights[part], column, len(tree))
                values = self._sums(walked, column, len(tree), index) * weights[part, None]
                # Half of them, since the transpose is added.
                sums[:, :: p + 1] = values.sum(axis=1) / 2
                # One after another: the trees of a row add to the same numbers.
                np.add.at(total, at, sums)
        found = total.reshape(r, k, p, p)
        return (found + found.swapaxes(2, 3)).transpose(1, 2, 3, 0)

    def _add(self, total, instances, references, weights, index) -> None:
        """Add the values of rows tree by tree.

        Parameters
        ----------
        total : ndarray of shape (r, n_outputs, n_players), or (b, r, ...) without weights
        instances, references : ndarray of shape (n_rows, r) and (n_rows, b)
        weights : ndarray of shape (b,), or None
        index : Index
        """
        r, p = instances.shape[1], self.n_players
        for part, tree, instance, walked in self._runs(instances, references):
            for column, at in self._columns(tree, instance):
                sums = self._sums(walked, column, len(tree), index)
                if weights is None:
                    at = at[:, None] + part * r * self.layout.n_outputs
                else:
                    sums = (sums * weights[part, None]).sum(axis=1)
                cell = at[..., None] * p + np.arange(p)
                # One after another: the trees of a row add to the same numbers.
                np.add.at(total.reshape(-1), cell.ravel(), sums.ravel())

    def _columns(self, tree, instance) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Yield each column of values, and ``instance * n_outputs + output`` of each run."""
        for column in range(len(self.layout.value)):
            output = column if self.layout.output is None else self.layout.output[tree]
            yield column, instance * self.layout.n_outputs + output

    def _runs(self, instances, references, most=STARTS) -> Iterator[tuple[Any, ...]]:
        """Yield the background rows, trees, rows to explain and lineages of some runs.

        A run is a tree and a row to explain, with up to `REFERENCES` background rows. A block has
        at most `most` runs, and at least one.
        """
        layout, (n_rows, r), b = self.layout, instances.shape, references.shape[1]
        if not n_rows:
            return  # all trees are single leaves
        X, n_runs = np.ascontiguousarray(instances.T).ravel(), len(layout.roots) * r
        # The parts of the background have a fixed size, so the order of sums does not depend on
        # other rows.
        for part in np.split(np.arange(b), range(REFERENCES, b, REFERENCES)):
            R, b = np.ascontiguousarray(references[:, part].T).ravel(), len(part)
            step = max(1, min(STARTS // b, SUMS // self.n_players // b, most))
            for first in range(0, n_runs, step):
                tree, instance = np.divmod(np.arange(first, min(first + step, n_runs)), r)
                roots, at_x = np.repeat(layout.roots[tree], b), np.repeat(instance * n_rows, b)
                at_r = np.tile(np.arange(b) * n_rows, len(tree))
                yield part, tree, instance, walk(layout, roots, X, at_x, R, at_r)

    def _sums(self, walked, column, n_runs, index) -> NDArray[np.float64]:
        """Return the values of each run, ``(n_runs, b, n_players)``, for one column of leaves."""
        n_starts, size = len(walked.ends) - len(walked.parents), self.layout.most_decided + 1
        value = self.layout.value[column].take(walked.ends)
        gains, losses = (
            value * worth.ravel().take(walked.decided) for worth in meeting_weights(size - 1, index)
        )
        worth = np.empty(len(walked.parents))
        # Children before parents: a lineage must have all its sums before it passes them on.
        for first, last in walked.steps[::-1]:
            parent = walked.parents[first:last]
            new = slice(n_starts + first, n_starts + last)
            inside = gains.take(parent)
            np.subtract(inside, losses[new], out=worth[first:last])
            gains[parent] = inside + gains[new]
            losses[parent] += losses[new]
        # The first lineages are the starts themselves, which no branching created.
        slot = walked.origins[n_starts:] * self.n_players + walked.players
        sums: Any = np.bincount(slot, worth, n_starts * self.n_players)
        return sums.reshape(n_runs, -1, self.n_players)

    def _pair_sums(self, walked, worths, weights, column, n_runs) -> NDArray[np.float64]:
        """Return the interactions of each run, ``(n_runs, n_players ** 2)``, as i, j or as j, i.

        Parameters
        ----------
        walked : Walk
        worths : ndarray of shape (3, n)
            From `pair_worths`.
        weights : ndarray of shape (b,)
        column : int
            Of the values of leaves.
        n_runs : int
        """
        n, n_starts, p = len(walked.parents), n_runs * len(weights), self.n_players
        value = self.layout.value[column].take(walked.ends)
        value *= np.tile(weights, n_runs).take(walked.origins)
        two, mixed, none = (value * worth.take(walked.decided) for worth in worths)
        # The interaction of a branching's player with a present player, and with an absent one
        of_either = np.empty((2, n))
        for first, last in walked.steps[::-1]:
            parent, new = walked.parents[first:last], slice(n_starts + first, n_starts + last)
            np.add(two.take(parent), mixed[new], out=of_either[0, first:last])
            np.add(mixed.take(parent), none[new], out=of_either[1, first:last])
            for worth in (two, mixed, none):
                worth[parent] += worth[new]
        # Twice the preceding branching, plus 1 where its player is absent
        before, last_of = np.empty(n, dtype=np.int64), np.full(n_starts + n, -1)
        for first, last in walked.steps:
            parent, number = walked.parents[first:last], np.arange(first, last)
            before[first:last] = last_of.take(parent)
            last_of[parent] = 2 * number
            last_of[n_starts + first : n_starts + last] = 2 * number + 1
        # Start by start, so that sums do not depend on the other rows of the block. numpy sorts
        # small integers by radix sort.
        start = walked.origins[n_starts:]
        one = np.argsort(start.astype(np.min_scalar_type(n_starts)), kind="stable")
        cell = (start // len(weights) * p + walked.players) * p
        cells, found, other = [cell[:0]], [value[:0]], before.take(one)
        while len(one):
            known = (other >= 0).nonzero()[0]
            one, other = one.take(known), other.take(known)
            cells.append(cell.take(one) + walked.players.take(other >> 1))
            found.append(of_either.ravel().take(one + n * (other & 1)))
            other = before.take(other >> 1)
        sums: Any = np.bincount(np.concatenate(cells), np.concatenate(found), n_runs * p * p)
        return sums.reshape(n_runs, p * p)
