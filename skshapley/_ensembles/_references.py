"""What stands in for absent players: rows of a background, or the training data of the trees.

Both answer two questions about a chunk of groups: which law the fail masks of its leaves follow,
for a table, and what the path players of its leaves are worth to some instances, without a table.
They hand out their *pieces* one after the other; values are sums over the pieces.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from skshapley._ensembles._join import join
from skshapley._ensembles._path_dependent import leaf_values_directly, passing_ratios, training_law
from skshapley._ensembles._tables import background_law, histogram


@dataclass(frozen=True, eq=False)
class Background:
    """Weighted rows: the interventional game.

    Attributes
    ----------
    codes : ndarray of shape (n_rows, b), unsigned
    weights : ndarray of shape (b,)
        Their sum is 1.
    """

    codes: np.ndarray
    weights: np.ndarray

    def pieces(self, block):
        """Runs of rows whose indices in the block's groups fit in memory."""
        rows = block.index_rows
        for first in range(0, len(self.weights), rows):
            part = slice(first, first + rows)
            yield _Rows(block.groups.index(self.codes[:, part]), self.weights[part])


@dataclass(frozen=True, eq=False)
class _Rows:
    index: np.ndarray
    weights: np.ndarray

    def law(self, chunk, masks):
        counts = histogram(self.index[chunk.groups], self.weights, chunk.n_bits)
        return background_law(chunk, masks, counts)

    def reached(self, chunk):
        """Probability of each leaf of a chunk of single leaves."""
        return (self.index[chunk.groups] == 0) @ self.weights

    def direct_cost(self, chunk, n_instances):
        """Operations of `direct`, in the unit of one entry of a table that is made."""
        return 1.5 * len(chunk.leaves) * n_instances * len(self.weights)

    def direct(self, chunk, masks, index):
        background = self.index[chunk.groups]
        return join(masks, background, self.weights, chunk.n_bits, index)


@dataclass(frozen=True, eq=False)
class TrainingData:
    """The covers of the trees' nodes: the path-dependent game."""

    def pieces(self, block):
        """The one piece that there is."""
        yield _Covers(block.trees, block.paths)


@dataclass(frozen=True, eq=False)
class _Covers:
    trees: Any
    paths: Any

    def law(self, chunk, masks):
        return training_law(passing_ratios(self.trees, self.paths, chunk), chunk.n_path)

    def reached(self, chunk):
        """Probability of each leaf of a chunk of single leaves."""
        return passing_ratios(self.trees, self.paths, chunk).prod(axis=1)

    def direct_cost(self, chunk, n_instances):
        """Operations of `direct`, in the unit of one entry of a table that is made."""
        return 8.0 * len(chunk.leaves) * n_instances * chunk.n_bits**2

    def direct(self, chunk, masks, index):
        ratios = passing_ratios(self.trees, self.paths, chunk)
        return leaf_values_directly(masks, ratios, index)
