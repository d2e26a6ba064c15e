r"""Exact values of pairs of a row to explain and a background row, in trees of any depth.

Consider a leaf of value v with a present and b absent players in its lineage (see
`_walks`). The leaf adds v (a - 1)! b! / (a + b)! to each present player. It subtracts v
a! (b - 1)! / (a + b)! from each absent player. Both numbers are known at the leaf, and
every decided player belongs to one branching. They are summed over the lineages on
either side of a branching, last branchings first. The player gains the sum of the first
number over the side of the row to explain. It loses the sum of the second number over
the other side.

For interactions, a pair consists of the player of a branching and the player of an
earlier branching of the same lineage. The sums use the last three numbers of
`meeting_weights`. Each branching visits its earlier branchings and adds the number for
the side taken there.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skshapley._trees._leaf_games import meeting_weights
from skshapley._trees._walks import Layout, walk

# Starts in one block: few enough for most of their state to stay in the cache. A single
# row takes less time in one block.
STARTS = 1 << 12
SINGLE_STARTS = 1 << 14
# Most numbers in the values of one block of starts
SUMS = 1 << 21
# Rows that are added at once; `np.add.at` takes ten times as long for many rows
LEAST_AT_ONCE = 16
# Background rows; with more, a single row is compared with all nodes before it descends
LEAST_ANSWERED = 16
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

    def values(self, instances, references, index) -> NDArray[np.float64]:
        """Return the values of rows, as weighted sums over the background rows.

        The order of the sums depends on neither the other rows nor the blocks.

        Parameters
        ----------
        instances : ndarray of shape (n_rows, r)
            Codes.
        references : References
        index : Index

        Returns
        -------
        values : ndarray of shape (n_outputs, n_players, r)
        """
        r = instances.shape[1]
        k = self.layout.n_outputs
        p = self.n_players
        total = np.zeros((r * k, p))
        for part, column, _, at, walked in self._runs(instances, references.codes):
            sums = self._sums(walked, column, len(part), index)
            sums *= references.weights[part, None]
            _add_in_order(total, at, sums.sum(axis=1), r)
        return total.reshape(r, k, p).transpose(1, 2, 0)

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
        r = instances.shape[1]
        k = self.layout.n_outputs
        b = references.shape[1]
        total = np.zeros((r * k, b, self.n_players))
        for part, column, _, at, walked in self._runs(instances, references):
            sums = self._sums(walked, column, len(part), index)
            np.add.at(total[:, part[0] : part[-1] + 1], at, sums)
        return total.reshape(r, k, b, -1).transpose(0, 2, 3, 1)

    def values_by_tree(
        self,
        instance,
        references,
        tree_references,
        index,
    ) -> Iterator[tuple[Any, ...]]:
        """Yield some trees, an output of each, and its values for a row and the tree's references.

        Parameters
        ----------
        instance : ndarray of shape (n_rows,)
            Codes.
        references : ndarray of shape (n_rows, b)
        tree_references : ndarray of shape (n_trees, m), int
            The background rows of each tree.
        index : Index

        Yields
        ------
        tree, output : ndarray of shape (n,), int
        values : ndarray of shape (n, m, n_players)
        """
        for part, column, tree, output, walked in self._runs(
            instance[:, None],
            references,
            tree_references=tree_references,
        ):
            yield tree, output, self._sums(walked, column, len(part), index)

    def pairs(self, instances, references, index) -> NDArray[np.float64]:
        """Return the interactions of players.

        Parameters
        ----------
        instances : ndarray of shape (n_rows, r)
            Codes.
        references : References
        index : Index

        Returns
        -------
        interactions : ndarray of shape (n_outputs, n_players, n_players, r)
            Symmetric, with the values on the diagonal.
        """
        p = self.n_players
        r = instances.shape[1]
        k = self.layout.n_outputs
        total = np.zeros((r * k, p * p))
        for part, column, _, at, walked in self._runs(
            instances,
            references.codes,
            SUMS // p**2,
        ):
            weights = references.weights[part]
            sums = self._pair_sums(walked, weights, column, index)
            values = self._sums(walked, column, len(part), index) * weights[:, None]
            # Half of them, since the transpose is added.
            sums[:, :: p + 1] = values.sum(axis=1) / 2
            np.add.at(total, at, sums)
        halves = total.reshape(r, k, p, p)
        return (halves + halves.swapaxes(2, 3)).transpose(1, 2, 3, 0)

    def _runs(
        self,
        instances,
        references,
        most=STARTS,
        tree_references=None,
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the lineages of some runs, with their background rows, for each column of values.

        Yields the background rows, the column, and the tree and
        ``row * n_outputs + output`` of each run. A run is a tree and a row to explain,
        with up to `REFERENCES` background rows of all, or of those `tree_references` for the
        tree. A block has at most `most` runs, and at least one.
        """
        layout = self.layout
        n_rows, r = instances.shape
        if not n_rows:
            return  # all trees are single leaves
        if tree_references is None:
            b = references.shape[1]
            tree_references = np.broadcast_to(np.arange(b), (len(layout.roots), b))
        X, R = (np.ravel(codes, order="F") for codes in (instances, references))
        answered = r == 1 and tree_references.shape[1] >= LEAST_ANSWERED
        if answered:
            X = X.take(layout.row) > layout.rank
        n_runs = len(layout.roots) * r
        b = tree_references.shape[1]
        # The parts of the background have a fixed size, so the order of sums does not
        # depend on other rows.
        for part in np.split(np.arange(b), range(REFERENCES, b, REFERENCES)):
            b = len(part)
            starts = SINGLE_STARTS if r == 1 else STARTS
            step = max(1, min(starts // b, SUMS // self.n_players // b, most))
            for first in range(0, n_runs, step):
                tree, instance = np.divmod(
                    np.arange(first, min(first + step, n_runs)),
                    r,
                )
                at = [
                    np.repeat(instance * n_rows, b),
                    tree_references[tree][:, part].ravel() * n_rows,
                ]
                walked = walk(
                    layout,
                    np.repeat(layout.roots[tree], b),
                    X,
                    R,
                    at[answered:],
                )
                for column in range(len(layout.value)):
                    output = column if layout.output is None else layout.output[tree]
                    yield (
                        part,
                        column,
                        tree,
                        instance * layout.n_outputs + output,
                        walked,
                    )

    def _sums(self, walked, column, b, index) -> NDArray[np.float64]:
        """Return the values of each run, ``(n_runs, b, n_players)``, for one column of leaves."""
        n_starts = len(walked.ends) - len(walked.parents)
        value = self.layout.value[column].take(walked.ends)
        gains, losses = (
            value * worth.take(walked.decided)
            for worth in meeting_weights(self.layout.most_decided, index)[:2]
        )
        worth = np.empty(len(walked.parents))
        # Children before parents: a lineage must have all its sums before it passes
        # them on.
        for first, last in walked.steps[::-1]:
            parent = walked.parents[first:last]
            new = slice(n_starts + first, n_starts + last)
            inside = gains.take(parent)
            np.subtract(inside, losses[new], out=worth[first:last])
            gains[parent] = inside + gains[new]
            losses[parent] += losses[new]
        # The first lineages are the starts themselves, which no branching created.
        slot = walked.origins[n_starts:] * self.n_players + walked.players
        return added_up(slot, worth, n_starts * self.n_players).reshape(
            -1,
            b,
            self.n_players,
        )

    def _pair_sums(self, walked, weights, column, index) -> NDArray[np.float64]:
        """Return the interactions of each run, ``(n_runs, n_players ** 2)``, as i, j or as j, i.

        Parameters
        ----------
        walked : Walk
        weights : ndarray of shape (b,)
        column : int
            Of the values of leaves.
        index : Index
        """
        n = len(walked.parents)
        p = self.n_players
        n_starts = len(walked.ends) - n
        n_runs = n_starts // len(weights)
        value = self.layout.value[column].take(walked.ends)
        value *= np.tile(weights, n_runs).take(walked.origins)
        two, mixed, none = (
            value * worth.take(walked.decided)
            for worth in meeting_weights(self.layout.most_decided, index)[2:]
        )
        # The interaction of a branching's player with a present player, and with an
        # absent one
        of_either = np.empty((2, n))
        for first, last in walked.steps[::-1]:
            parent = walked.parents[first:last]
            new = slice(n_starts + first, n_starts + last)
            np.add(two.take(parent), mixed[new], out=of_either[0, first:last])
            np.add(mixed.take(parent), none[new], out=of_either[1, first:last])
            for worth in (two, mixed, none):
                worth[parent] += worth[new]
        # Twice the preceding branching, plus 1 where its player is absent
        before = np.empty(n, dtype=np.int64)
        last_of = np.full(n_starts + n, -1)
        for first, last in walked.steps:
            parent = walked.parents[first:last]
            number = np.arange(first, last)
            before[first:last] = last_of.take(parent)
            last_of[parent] = 2 * number
            last_of[n_starts + first : n_starts + last] = 2 * number + 1
        # The branchings of a run have the same order with and without other runs, and
        # so do sums.
        cell = (walked.origins[n_starts:] // len(weights) * p + walked.players) * p
        cells = [cell[:0]]
        terms = [value[:0]]
        later = np.arange(n)
        earlier = before
        while len(later):
            linked = (earlier >= 0).nonzero()[0]
            later = later.take(linked)
            earlier = earlier.take(linked)
            cells.append(cell.take(later) + walked.players.take(earlier >> 1))
            terms.append(of_either.ravel().take(later + n * (earlier & 1)))
            earlier = before.take(earlier >> 1)
        return added_up(
            np.concatenate(cells),
            np.concatenate(terms),
            n_runs * p * p,
        ).reshape(n_runs, p * p)


def _add_in_order(total, at, terms, n_rows) -> None:
    """Add terms to rows of a total, in the order of the terms.

    Parameters
    ----------
    total : ndarray of shape (n, p)
    at : ndarray of shape (n_terms,), int
        No row occurs twice among the next `n_rows` terms.
    terms : ndarray of shape (n_terms, p)
    n_rows : int
    """
    if n_rows < LEAST_AT_ONCE:
        np.add.at(total, at, terms)
        return
    for first in range(0, len(at), n_rows):
        part = slice(first, first + n_rows)
        total[at[part]] += terms[part]


def added_up(slots, terms, n) -> NDArray[np.float64]:
    """Return the sums of the terms in each of n slots."""
    # Without terms, bincount ignores their type and returns integers, which would
    # truncate all numbers that are written into the sums later.
    return np.bincount(slots, terms, n).astype(np.float64, copy=False)
