r"""Exact values of pairs of an instance and a reference, from their walks down the trees.

A leaf of value v whose lineage (see `_walks`) has a players present and b absent is worth
v (a - 1)! b! / (a + b)! to each of the former, and minus v a! (b - 1)! / (a + b)! to each of the
latter. Both numbers are known at the leaf, and every decided player is the player of one branching.
So they are summed over the lineages that came out of either side of a branching, the last
branchings first: its player gains the first number of those on the instance's side, and loses the
second number of those on the reference's side.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skshapley._ensembles._layout import Layout, lay_out
from skshapley._ensembles._meetings import meeting_weights
from skshapley._ensembles._walk_pairs import PairsOfWalks
from skshapley._ensembles._walks import Walk, walk

# Starts whose lineages are kept until they are summed: more of them, and fewer long tails
STARTS = 1 << 14
# Numbers in the values of these starts
SUMS = 1 << 21
# References whose values of one instance are summed in one go
REFERENCES = 2048


@dataclass(frozen=True, eq=False)
class Frontier:
    """Exact values of pairs of an instance and a reference.

    Attributes
    ----------
    layout : Layout
    n_players : int
    index : {"shapley", "banzhaf"}
    """

    layout: Layout
    n_players: int
    index: str

    @classmethod
    def of(cls, trees, codes, players, n_players, index) -> "Frontier":
        """Return the frontier of an ensemble."""
        return cls(lay_out(trees, codes, players), n_players, index)

    def in_levels(self) -> "Frontier":
        """Return the same frontier for many pairs, see `Layout.in_levels`."""
        return replace(self, layout=self.layout.in_levels())

    def values(self, instances, references, weights) -> NDArray[np.float64]:
        """Return the values of instances, as weighted sums over the references.

        The order of the sums depends on neither the other instances nor the blocks.

        Parameters
        ----------
        instances : ndarray of shape (n_rows, r)
            Codes.
        references : ndarray of shape (n_rows, b)
        weights : ndarray of shape (b,)

        Returns
        -------
        values : ndarray of shape (n_outputs, n_players, r)
        """
        total = np.zeros((instances.shape[1], self.layout.n_outputs, self.n_players))
        for first in range(0, len(weights), REFERENCES):
            part = slice(first, first + REFERENCES)
            self._add(total, instances, references[:, part], weights[part])
        return total.transpose(1, 2, 0)

    def values_by_reference(self, instances, references) -> NDArray[np.float64]:
        """Return the values of instances against each reference on its own.

        Parameters
        ----------
        instances : ndarray of shape (n_rows, r)
        references : ndarray of shape (n_rows, b)

        Returns
        -------
        values : ndarray of shape (r, b, n_players, n_outputs)
        """
        r, b = instances.shape[1], references.shape[1]
        total = np.zeros((b, r, self.layout.n_outputs, self.n_players))
        for first in range(0, b, REFERENCES):
            part = slice(first, first + REFERENCES)
            self._add(total[part], instances, references[:, part], None)
        return total.transpose(1, 0, 3, 2)

    def values_and_pairs(
        self, instances, references, weights, index
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the values and the interactions of instances, from one walk.

        Parameters
        ----------
        instances : ndarray of shape (n_rows, r)
            Codes.
        references : ndarray of shape (n_rows, b)
        weights : ndarray of shape (b,)
        index : Index, "shapley" or "banzhaf"
            Of the interactions.

        Returns
        -------
        values : ndarray of shape (n_outputs, n_players, r)
            To the last bit those of `values`.
        interactions : ndarray of shape (n_outputs, n_players, n_players, r)
            Zero where ``i >= j``.
        """
        p, r, k = self.n_players, instances.shape[1], self.layout.n_outputs
        total, pairs = np.zeros((r, k, p)), np.zeros((r, k, p, p))
        for first in range(0, len(weights), REFERENCES):
            part = slice(first, first + REFERENCES)
            given = instances, references[:, part], weights[part]
            self._add(total, *given, PairsOfWalks(self.layout, p, index, pairs))
        return total.transpose(1, 2, 0), pairs.transpose(1, 2, 3, 0)

    def _add(self, total, instances, references, weights, pairs=None) -> None:
        """Add the values of instances tree by tree.

        Parameters
        ----------
        total : ndarray of shape (r, n_outputs, n_players), or (b, r, ...) without weights
        instances, references : ndarray of shape (n_rows, r) and (n_rows, b)
        weights : ndarray of shape (b,), or None
        pairs : PairsOfWalks, or None
            To which the interactions are added.
        """
        layout, r, b, p = self.layout, instances.shape[1], references.shape[1], self.n_players
        most = SUMS // p if pairs is None else min(SUMS // p, b * (SUMS // p**2))
        for tree, instance, walked in self.runs(instances, references, most):
            n = len(tree) * b
            origin = walked.origins(n)
            slot = origin[n:] * p + walked.players
            for column, worth in enumerate(self._worth(walked, n)):
                output = column if layout.output is None else layout.output[tree]
                at = instance * layout.n_outputs + output
                sums = np.bincount(slot, weights=worth, minlength=n * p).reshape(len(tree), b, p)
                if weights is None:
                    at = at[:, None] + np.arange(b) * r * layout.n_outputs
                else:
                    sums = (sums * weights[:, None]).sum(axis=1)
                cell = at[..., None] * p + np.arange(p)
                # One after another: the trees of an instance add to the same numbers.
                np.add.at(total.reshape(-1), cell.ravel(), sums.ravel())
                if pairs is not None:
                    pairs.add(walked, origin, weights, column, at)

    def runs(self, instances, references, most=STARTS) -> Iterator[tuple[Any, Any, Walk]]:
        """Yield the trees and the instances of some runs, and where their lineages went.

        A run is a tree and an instance, with all references. At most so many starts walk together,
        and at least one run.
        """
        layout, (n_rows, r), b = self.layout, instances.shape, references.shape[1]
        if not n_rows:
            return  # no node asks anything
        X, R = (np.ascontiguousarray(codes.T).ravel() for codes in (instances, references))
        n_runs = len(layout.roots) * r
        step = max(1, min(STARTS, most) // b)
        for first in range(0, n_runs, step):
            tree, instance = np.divmod(np.arange(first, min(first + step, n_runs)), r)
            roots = np.repeat(layout.roots[tree], b)
            at_x, at_r = np.repeat(instance * n_rows, b), np.tile(np.arange(b) * n_rows, len(tree))
            yield tree, instance, walk(layout, roots, X, at_x, R, at_r)

    def _worth(self, walked, n_starts) -> Iterator[NDArray[np.float64]]:
        """Yield what each branching is worth to its player, for each column of values."""
        size = self.layout.most_decided + 1
        gain, loss = meeting_weights(size - 1, self.index)
        decided = self.layout.count_decided(walked.sides)
        gain, loss = (worth.ravel().take(decided) for worth in (gain, loss))
        steps = walked.steps()[::-1]
        for value in self.layout.value:
            value = value.take(walked.ends)
            gains, losses = value * gain, value * loss
            worth = np.empty(len(walked.parents))
            for first, last in steps:
                parent = walked.parents[first:last]
                new = slice(n_starts + first, n_starts + last)
                inside = gains.take(parent)
                np.subtract(inside, losses[new], out=worth[first:last])
                gains[parent] = inside + gains[new]
                losses[parent] += losses[new]
            yield worth
