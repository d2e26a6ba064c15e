"""The cost of each exact method, used to choose the cheapest one.

The costs depend on the trees, the rows and the background rows, never on a clock. The same call
therefore takes the same method on every machine. The constants are nanoseconds on one core,
measured on boosted trees of depth 3 to 10 and on fully grown forests. Only their ratios matter.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skshapley._tools._memory import working_bytes
from skshapley._trees._ensemble import concatenate
from skshapley._trees._paths import Paths

# Nodes to count; larger ensembles are represented by some of their trees
COUNTED = 1 << 15
# Cost of a node that a pair of rows visits, for values and for interactions
VISIT_NS, PAIR_VISIT_NS = 28.0, 84.0
# Cost of one entry of a leaf's table, within and beyond the cache, and overhead per leaf
ENTRY_NS, LARGE_ENTRY_NS, LEAF_NS = 7.0, 12.0, 5e3
# Most path players of a leaf with a table that fits into the cache
CACHED_BITS = 12
# Cost of a lookup in a leaf's table, per row and path player
LOOK_UP_NS = 3.0
# Cost of one entry of a leaf's table of pairs, and of a lookup per two path players
PAIR_ENTRY_NS, PAIR_LOOK_UP_NS = 5.0, 4.0
# Fit makes tables if they cost no more than explaining this many rows without tables
ROWS_WORTH_TABLES = 20
# Largest cost of the tables of a control variate
QUICK_NS = 5e8
# Leaves of more path players have no tables
MOST_BITS = 18
# Cost of a leaf for a path-dependent row without tables
WALKED_LEAF_NS = 500.0
# Largest shares of the working memory for kept tables, and for kept tables of pairs
TABLE_SHARE, PAIR_SHARE = 0.5, 0.25


@dataclass(frozen=True, eq=False)
class Costs:
    """The costs of an ensemble, in nanoseconds.

    Attributes
    ----------
    visits : float
        Nodes that a pair of rows visits, as expected from the covers.
    leaves : ndarray of shape (n,), int64
        Number of leaves with 0, 1, ... path players.
    n_outputs : int
    """

    visits: float
    leaves: NDArray[np.int64]
    n_outputs: int

    @property
    def _players(self) -> NDArray[np.int64]:
        return np.arange(len(self.leaves))

    @property
    def has_tables(self) -> bool:
        """Return True if no leaf has too many path players for a table."""
        return len(self.leaves) <= 1 + MOST_BITS

    def _by_tables(self, r) -> float:
        """Return the cost of making tables, and of looking up r rows."""
        k = self._players
        # The subset transform adds once for each player and mask, hence k 2^k.
        make = np.where(k <= CACHED_BITS, ENTRY_NS, LARGE_ENTRY_NS) * k * 2.0**k
        return float((LEAF_NS + make + r * LOOK_UP_NS * k) @ self.leaves)

    def _without_tables(self, r, b, visit=VISIT_NS) -> float:
        """Return the cost of r rows against b background rows, or by the training data."""
        per_row = WALKED_LEAF_NS * self.leaves.sum() if b is None else visit * self.visits * b
        return float(per_row * r)

    def keeps_tables(self, b) -> bool:
        """Return True if fit makes tables."""
        k = self._players
        # Two numbers for each mask: the own and the joint mean of `_leaf_games`.
        size, rows = 2 * 2.0**k @ self.leaves, ROWS_WORTH_TABLES
        fits = self.n_outputs * size <= working_bytes(TABLE_SHARE) / 8
        return bool(
            self.has_tables and fits and self._by_tables(rows) <= self._without_tables(rows, b)
        )

    def quick(self, b) -> bool:
        """Return True if fit makes tables within about a second."""
        return self.keeps_tables(b) and self._by_tables(0) <= QUICK_NS

    def prefers_pairs(self, r, b) -> bool:
        """Return True if pairs of rows cost less than tables, for the values of r rows."""
        return not self.has_tables or self._without_tables(r, b) < self._by_tables(r)

    @property
    def _pair_entries(self) -> NDArray[np.float64]:
        """Return the entries of a leaf's table of pairs, by its number of path players."""
        return self._players * (self._players - 1) / 2 * 2.0**self._players

    @property
    def keeps_pairs(self) -> bool:
        """Return True if tables of pairs fit into memory."""
        entries = self.n_outputs * self._pair_entries @ self.leaves
        return bool(entries <= working_bytes(PAIR_SHARE) / 8)

    def interacts_in_pairs(self, r, b) -> bool:
        """Return True if pairs of rows cost less than tables, for the interactions of r rows."""
        # Kept tables also serve later calls, so a few rows count as many.
        rows = max(r, ROWS_WORTH_TABLES) if self.keeps_pairs else r
        k = self._players
        tables = PAIR_ENTRY_NS * self._pair_entries + PAIR_LOOK_UP_NS * rows * k * (k - 1) / 2
        making = float((tables + LEAF_NS) @ self.leaves)
        return not self.has_tables or self._without_tables(rows, b, PAIR_VISIT_NS) < making


def count_costs(trees, players) -> Costs:
    """Return the costs of an ensemble.

    The model assumes that both rows of a pair pass each node independently, in the proportions of
    the training data. If the node's player is free, the pair reaches the left child with
    probability 1 - (1 - p)^2. If the player has been decided, the probability is p.

    Parameters
    ----------
    trees : TreeEnsemble
    players : ndarray of shape (n_features,), int

    Returns
    -------
    costs : Costs
    """
    # Every n-th tree, not the first ones: boosted trees change in depth from early to late
    # iterations.
    chosen = range(0, trees.n_trees, -(-trees.n_nodes // COUNTED))
    some = trees
    if len(chosen) < trees.n_trees:
        some = concatenate([trees.take_trees(i, i + 1) for i in chosen])
    share = len(chosen) / trees.n_trees
    paths, pairs = Paths(some, players[some.feature]), np.ones(some.n_nodes)
    for nodes in paths.levels:
        inner = nodes[some.left[nodes] >= 0]
        left, right = some.left[inner], some.right[inner]
        p = paths.share[left]
        free = paths.bit[inner] == paths.n_above[inner]  # no earlier node has this player
        both = np.where(free, p * (1 - p), 0.0)
        pairs[left], pairs[right] = pairs[inner] * (p + both), pairs[inner] * (1 - p + both)
    leaves = np.bincount(paths.n_above[some.is_leaf]) / share
    return Costs(pairs.sum() / share, np.rint(leaves).astype(np.int64), trees.n_outputs)
