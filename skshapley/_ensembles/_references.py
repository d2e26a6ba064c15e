"""What stands in for absent players: rows of a background, or the training data of the trees.

Both consist of *pieces*, and values are sums over the pieces. A piece knows two things about a
chunk of groups: the law of the fail masks of its leaves, for a table, and the values of the path
players of its leaves for some instances, without a table.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skshapley._ensembles._ensemble import TreeEnsemble
from skshapley._ensembles._leaf_pairs import interactions_by_meetings, interactions_by_ratios
from skshapley._ensembles._meetings import TESTS, leaf_values_by_meetings
from skshapley._ensembles._path_dependent import leaf_values_directly, passing_ratios, training_law
from skshapley._ensembles._paths import Paths
from skshapley._ensembles._tables import background_law, histogram, law_of_few

# Instances whose interactions are found together without a table
PAIR_ROWS = 512


def exact_weights(weights) -> tuple[NDArray[np.float64] | None, float]:
    """Return weights whose sums are exact in any order, and the unit that they are given in.

    Parameters
    ----------
    weights : ndarray of shape (b,)
        With sum 1.

    Returns
    -------
    weights : ndarray of shape (b,), or None
        Multiples of 2^-53; None where all are equal, and rows are counted.
    unit : float
    """
    if (weights == weights[0]).all():
        return None, float(weights[0])
    return np.rint(np.ldexp(weights, 53)), 2.0**-53


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

    def pieces(self, block) -> Iterator["_Rows"]:
        """Yield runs of rows, as many as fit in memory with their patterns in the groups."""
        rows = block.pattern_rows
        for first in range(0, len(self.weights), rows):
            part = slice(first, first + rows)
            yield _Rows(block.groups.patterns(self.codes[:, part]), self.weights[part])


@dataclass(frozen=True, eq=False)
class _Rows:
    """Some background rows, by their patterns ``(n_groups, b)`` and weights ``(b,)``."""

    patterns: np.ndarray
    weights: np.ndarray

    def law(self, chunk, masks) -> NDArray[np.float64]:
        """Return the weight of these rows on the fail masks of every leaf."""
        weights, unit = exact_weights(self.weights)
        patterns = self.patterns[chunk.groups]
        if patterns.shape[1] < 1 << chunk.n_bits and not chunk.is_single_leaves:
            law = law_of_few(chunk, masks, patterns, weights)
        else:
            law = background_law(chunk, masks, histogram(patterns, weights, chunk.n_bits))
        law *= unit
        return law

    def reached(self, chunk) -> NDArray[np.float64]:
        """Return the probability of each leaf of a chunk of single leaves, ``(n_leaves,)``."""
        return (self.patterns[chunk.groups] == 0) @ self.weights

    def direct_cost(self, chunk, n_instances) -> float:
        """Return the operations of `direct`; making one entry of a table is the unit."""
        return 1.5 * len(chunk.leaves) * n_instances * len(self.weights)

    def direct(self, chunk, masks, index) -> NDArray[np.float64]:
        """Return the values of path players, without a table, ``(n_leaves, r, n_path)``."""
        background = self.patterns[chunk.groups]
        return leaf_values_by_meetings(masks, background, self.weights, chunk.n_bits, index)

    def pairs_at_once(self, n_pairs) -> tuple[int, int]:
        """Return how many instances and leaves `interactions` takes at a time."""
        return max(1, min(PAIR_ROWS, TESTS // len(self.weights))), 1

    def interactions(self, chunk, leaves, masks, index) -> NDArray[np.float64] | None:
        """Return the interactions in a leaf, ``(n_pairs, 1, r)``; None where nothing meets."""
        background = self.patterns[chunk.groups][leaves][0]
        found = interactions_by_meetings(masks[0], background, self.weights, chunk.n_bits, index)
        return None if found is None else found[:, None]


@dataclass(frozen=True, eq=False)
class TrainingData:
    """The covers of the trees' nodes: the path-dependent game."""

    def pieces(self, block) -> Iterator["_Covers"]:
        """Yield the only piece."""
        yield _Covers(block.trees, block.paths)


@dataclass(frozen=True, eq=False)
class _Covers:
    """The training data, by the covers of the nodes."""

    trees: TreeEnsemble
    paths: Paths

    def law(self, chunk, masks) -> NDArray[np.float64]:
        """Return the weight of the training data on the fail masks of every leaf."""
        return training_law(passing_ratios(self.trees, self.paths, chunk), chunk.n_path)

    def reached(self, chunk) -> NDArray[np.float64]:
        """Return the probability of each leaf of a chunk of single leaves, ``(n_leaves,)``."""
        return passing_ratios(self.trees, self.paths, chunk).prod(axis=1)

    def direct_cost(self, chunk, n_instances) -> float:
        """Return the operations of `direct`; making one entry of a table is the unit."""
        return 8.0 * len(chunk.leaves) * n_instances * chunk.n_bits**2

    def direct(self, chunk, masks, index) -> NDArray[np.float64]:
        """Return the values of path players, without a table, ``(n_leaves, r, n_path)``."""
        ratios = passing_ratios(self.trees, self.paths, chunk)
        return leaf_values_directly(masks, ratios, index)

    def pairs_at_once(self, n_pairs) -> tuple[int, int]:
        """Return how many instances and leaves `interactions` takes at a time."""
        return PAIR_ROWS, max(1, TESTS // (n_pairs * PAIR_ROWS))

    def interactions(self, chunk, leaves, masks, index) -> NDArray[np.float64]:
        """Return the interactions in some leaves, ``(n_pairs, n_leaves, r)``."""
        ratios = passing_ratios(self.trees, self.paths, chunk)[leaves]
        return interactions_by_ratios(masks, ratios, index)
