"""The cost of each exact method, used to choose the cheapest one.

The costs depend on the trees, the rows and the background rows, never on a clock. The
same call therefore takes the same method on every machine. The constants are
nanoseconds on one core, measured on boosted trees of depth 3 to 10 and on fully grown
forests. Only their ratios matter.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skshapley._tools import working_bytes
from skshapley._trees._paths import Paths
from skshapley._trees._walks import narrowed

# Nodes to count; larger ensembles are represented by some of their trees
COUNTED = 1 << 15
# Cost of a node that a pair of rows visits
VISIT_NS = 28.0
# Overhead of a row in a tree, for pairs of rows
RUN_NS = 300.0
# Cost of one entry of a leaf's table, and overhead per leaf
ENTRY_NS = 7.0
LEAF_NS = 5e3
# Cost of a background row in a leaf's table, per path player
REFERENCE_NS = 0.65
# Cost of a lookup in a leaf's table, per row and path player
LOOK_UP_NS = 1.5
# Number of rows that fit prepares for: it makes tables if these rows cost less with
# them
ROWS_EXPECTED = 20
# Number of rows that are likely to be explained: exact values pay if these cost less
# than sampled ones, tables included
ROWS_LIKELY = 100
# Largest cost of tables for path-dependent rows in fit, where single rows need no
# tables
FIT_NS = 1e8
# Largest cost of other tables in fit. Above, they are made once the rows explained
# without them have cost as much.
PREPARED_NS = 5e8
# Cost of a node that a pair of rows visits, for a prediction by XGBoost; scikit-learn's
# forests take two to four times as long
MODEL_NS = 1.0
# Least cost of a prediction, with the row that is made for it. Tables cost more in
# `fit` than permutations that stop early, so this counts for pairs of rows only.
ROW_NS = 1e3
# Leaves of more path players have no tables, and none of the values of nested groups
MOST_BITS = 18
MOST_NESTED_BITS = 10
# Cost of a leaf for a path-dependent row without tables, per node of the mean over
# presence
WALKED_NS = 12.0
# Largest shares of the working memory for kept tables, and for kept tables of pairs
TABLE_SHARE = 0.5
PAIR_SHARE = 0.25


@dataclass(frozen=True, eq=False)
class Costs:
    """The costs of an ensemble, in nanoseconds.

    Attributes
    ----------
    visits : float
        Nodes that a pair of rows visits, as expected from the covers.
    leaves : ndarray of shape (n,), int64
        Number of leaves with 0, 1, ... path players.
    n_columns : int
        Values of a leaf: one if every tree adds to one output, else one for each
        output.
    n_trees : int
    nested : bool
        Whether the players are in nested groups.
    """

    visits: float
    leaves: NDArray[np.int64]
    n_columns: int
    n_trees: int
    nested: bool = False

    @property
    def has_tables(self) -> bool:
        """Return True if no leaf has too many path players for a table."""
        return len(self.leaves) <= 1 + (MOST_NESTED_BITS if self.nested else MOST_BITS)

    def _by_tables(self, r, b) -> float:
        """Return the cost of making tables from b background rows, and of looking up r rows."""
        k = np.arange(len(self.leaves))
        # The subset transform adds once for each player and mask, hence k 2^k. Tables
        # of nested groups add once for each player and pair of masks that meet.
        masks = 3.0**k if self.nested else 2.0**k
        of_player = ENTRY_NS * masks + REFERENCE_NS * (b or 0) + LOOK_UP_NS * r
        return float((LEAF_NS + of_player * k) @ self.leaves)

    def _without_tables(self, r, b) -> float:
        """Return the cost of r rows against b background rows, or by the training data."""
        if b is None:
            return float(r * WALKED_NS * (len(self.leaves) // 2) * self.leaves.sum())
        return float(r * (VISIT_NS * self.visits * b + RUN_NS * self.n_trees))

    @property
    def tables_fit(self) -> bool:
        """True if the tables of values fit into memory."""
        # Two numbers for each mask: the own and the joint mean of `_leaf_games`. With
        # nested groups, there is one for each player and the prediction.
        k = np.arange(len(self.leaves))
        size = ((k + 1 if self.nested else 2) * 2.0**k) @ self.leaves
        return bool(
            self.has_tables and self.n_columns * size <= working_bytes(TABLE_SHARE) / 8
        )

    def keeps_tables(self, b) -> bool:
        """Return True if fit makes tables."""
        if not self.tables_fit:
            return False
        cost = self._by_tables(0, b)
        if b is None:
            return cost <= FIT_NS
        quick = cost <= max(PREPARED_NS, self._without_tables(1, b))
        return quick and not self.prefers_pairs(ROWS_EXPECTED, b)

    def model_rows(self, b) -> float:
        """Return the cost of each likely row, in predictions of the model for one row."""
        pairs = self.prefers_pairs(ROWS_LIKELY, b)
        cost = (self._without_tables if pairs else self._by_tables)(ROWS_LIKELY, b)
        return cost / (
            ROWS_LIKELY * max(MODEL_NS * self.visits, ROW_NS if pairs else 0.0)
        )

    def prefers_pairs(self, r, b) -> bool:
        """Return True if pairs of rows cost less than tables, for the values of r rows."""
        return not self.nested and (
            not self.has_tables or self._without_tables(r, b) < self._by_tables(r, b)
        )

    @property
    def keeps_pairs(self) -> bool:
        """Return True if tables of pairs fit into memory."""
        k = np.arange(len(self.leaves))
        entries = self.n_columns * (k * (k - 1) / 2 * 2.0**k) @ self.leaves
        return bool(entries <= working_bytes(PAIR_SHARE) / 8)

    def interacts_in_pairs(self, r, b) -> bool:
        """Return True if pairs of rows cost less than tables, for the interactions of r rows."""
        # Tables of interactions, and visits for them, both cost about three times as
        # much as those for values. Kept tables also serve later calls, so a few rows
        # count as many.
        lasting = b is not None and self.keeps_pairs
        return self.prefers_pairs(max(r, ROWS_EXPECTED) if lasting else r, b)


def count_costs(trees, players, nested=False) -> Costs:
    """Return the costs of an ensemble.

    The model assumes that both rows of a pair pass each node independently, in the
    proportions of the training data. If the node's player is free, the pair reaches the
    left child with probability 1 - (1 - p)^2. If the player has been decided, the
    probability is p.

    Parameters
    ----------
    trees : TreeEnsemble
    players : ndarray of shape (n_features,), int
    nested : bool, default=False

    Returns
    -------
    costs : Costs
    """
    # Every n-th tree, not the first ones: boosted trees change in depth from early to
    # late iterations.
    tree_numbers = range(0, trees.n_trees, -(-trees.n_nodes // COUNTED))
    sample = trees.take_trees(tree_numbers)
    share = len(tree_numbers) / trees.n_trees
    paths = Paths(sample, players[sample.feature])
    pairs = np.ones(sample.n_nodes)
    for nodes in paths.levels:
        inner = nodes[sample.left[nodes] >= 0]
        left = sample.left[inner]
        right = sample.right[inner]
        p = paths.share[left]
        free = (
            paths.bit[inner] == paths.n_above[inner]
        )  # no earlier node has this player
        branching = np.where(free, p * (1 - p), 0.0)
        pairs[left] = pairs[inner] * (p + branching)
        pairs[right] = pairs[inner] * (1 - p + branching)
    leaves = np.bincount(paths.n_above[sample.is_leaf]) / share
    return Costs(
        pairs.sum() / share,
        np.rint(leaves).astype(np.int64),
        narrowed(trees)[0].shape[1],
        trees.n_trees,
        nested,
    )
