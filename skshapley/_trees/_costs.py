"""The cost of each exact method, used to choose the cheapest one.

The costs are functions of the trees, the rows and the references alone, never of a clock: the same
call goes the same way on every machine. The constants are nanoseconds of one core, measured on
boosted trees of depth 3 to 10 and on grown forests; only their ratios matter.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skshapley._tools._memory import working_bytes
from skshapley._trees._pair_tables import most_pair_entries, pair_entries

# Nodes times players that are counted: of larger ensembles some of the trees stand for all
COUNTED = 1 << 18
# A node that a pair of rows visits, for values and for interactions
VISIT_NS, PAIR_VISIT_NS = 28.0, 84.0
# An entry of a leaf's table that is made, in the cache and beyond it, and the leaf's share in all
# around it
ENTRY_NS, LARGE_ENTRY_NS, LEAF_NS = 7.0, 12.0, 5e3
# Path players of a leaf whose table is made in the cache
CACHED_BITS = 12
# A path player of a leaf that is looked up for a row
LOOK_UP_NS = 3.0
# An entry of a leaf's table of pairs that is made, and two path players that are looked up
PAIR_ENTRY_NS, PAIR_LOOK_UP_NS = 5.0, 4.0
# Tables are made in fit if they cost no more than so many rows without
ROWS_WORTH_TABLES = 20
# A row and a background row that meet at a leaf without a table
MEETING_NS = 7.0
# Leaves do without a table if it costs more than so many rows without
ROWS_MET = 300
# Leaves of more path players have no tables, and are not met
MOST_BITS, MOST_MET_BITS = 18, 64
# The training data cost as much as so many background rows; a leaf in their interactions
TRAINING_ROWS, WALKED_LEAF_NS = 150, 500.0
# Share of the working memory that the tables which are kept may take
TABLE_SHARE = 0.5


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

    def has_tables(self, b) -> bool:
        """Return whether leaves can be looked up: none has too many path players.

        Parameters
        ----------
        b : int or None
            Number of references; None for the training data.
        """
        return len(self.leaves) <= 1 + (MOST_BITS if b is None else MOST_MET_BITS)

    def _by_tables(self, r, b) -> float:
        """Return the cost of making tables, and of looking up r rows."""
        k = self._players
        make, look_up = _table_ns(k), LOOK_UP_NS * k
        if b is not None:
            met = np.array([meets(bits, b) for bits in k])
            make, look_up = np.where(met, 0.0, make), np.where(met, MEETING_NS * b, look_up)
        return float((LEAF_NS + make + r * look_up) @ self.leaves)

    def _in_pairs(self, r, b) -> float:
        return VISIT_NS * self.visits * r * (TRAINING_ROWS if b is None else b)

    def keeps_tables(self, b) -> bool:
        """Return whether fit makes tables."""
        k = self._players
        size = np.where([b is not None and meets(bits, b) for bits in k], b or 0, 2 * 2.0**k)
        fits = self.n_outputs * size @ self.leaves <= working_bytes(TABLE_SHARE) / 8
        rows = ROWS_WORTH_TABLES
        return bool(
            self.has_tables(b) and fits and self._by_tables(rows, b) <= self._in_pairs(rows, b)
        )

    def prefers_pairs(self, r, b) -> bool:
        """Return whether r rows go down with the references, as tables for one call are dearer."""
        return not self.has_tables(b) or self._in_pairs(r, b) < self._by_tables(r, b)

    def interacts_in_pairs(self, r, b) -> bool:
        """Return whether r rows go down with the references for their interactions."""
        k = self._players
        if pair_entries(k) @ self.leaves <= most_pair_entries():  # tables that are kept
            r = max(r, ROWS_WORTH_TABLES)
        tables = PAIR_ENTRY_NS * pair_entries(k) + PAIR_LOOK_UP_NS * r * k * (k - 1) / 2
        in_pairs = PAIR_VISIT_NS / VISIT_NS * self._in_pairs(r, b)
        if b is None:
            in_pairs = WALKED_LEAF_NS * r * self.leaves.sum()
        return not self.has_tables(None) or in_pairs < float((tables + LEAF_NS) @ self.leaves)


def meets(n_bits, b) -> bool:
    """Return whether leaves on their own do without a table, with b background rows."""
    return n_bits > MOST_BITS or _table_ns(n_bits) > MEETING_NS * b * ROWS_MET


def _table_ns(k) -> Any:
    """Return the cost of the tables of leaves with so many path players."""
    return np.where(k <= CACHED_BITS, ENTRY_NS, LARGE_ENTRY_NS) * k * 2.0**k


def count_costs(trees, players) -> Costs:
    """Return the costs of an ensemble.

    A row and a reference are thought to answer each node on their own, in the proportions of
    the training data. So a pair goes on to the left child of a node whose player is free with
    probability 1 - (1 - p)^2, and with p where the player has been decided.

    Parameters
    ----------
    trees : TreeEnsemble
    players : ndarray of shape (n_features,), int

    Returns
    -------
    costs : Costs
    """
    p = int(players.max()) + 1
    nodes = trees.roots[:: -(-trees.n_nodes * p // COUNTED)]
    share = len(nodes) / trees.n_trees
    pairs, asked = np.ones(len(nodes)), np.zeros((len(nodes), p), dtype=bool)
    visits, leaves = 0.0, np.zeros(asked.shape[1] + 1, dtype=np.int64)
    while len(nodes):
        visits += pairs.sum()
        leaf = trees.left[nodes] < 0
        leaves += np.bincount(asked[leaf].sum(axis=1), minlength=len(leaves))
        nodes, pairs, asked = nodes[~leaf], pairs[~leaf], asked[~leaf]
        left, right, line = trees.left[nodes], trees.right[nodes], np.arange(len(nodes))
        total = trees.cover[left] + trees.cover[right]
        p = np.divide(trees.cover[left], total, out=np.full(len(nodes), 0.5), where=total > 0)
        player = players[trees.feature[nodes]]
        both = np.where(asked[line, player], 0.0, p * (1 - p))
        asked[line, player] = True
        nodes = np.concatenate([left, right])
        pairs = np.concatenate([pairs * (p + both), pairs * (1 - p + both)])
        asked = np.tile(asked, (2, 1))
    leaves = np.rint(leaves[: np.flatnonzero(leaves)[-1] + 1] / share).astype(np.int64)
    return Costs(visits / share, leaves, trees.n_outputs)
