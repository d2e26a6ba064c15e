"""What each way to exact values costs, so that the cheapest one is taken.

The costs are functions of the trees, the instances and the references alone, never of a clock: the
same call goes the same way on every machine. The constants are nanoseconds of one core, measured
on boosted trees of depth 3 to 9 and on grown forests; only their ratios matter.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from skshapley._ensembles._layout import number_players

# Nodes that are counted: of larger ensembles some of the trees stand for all
COUNTED_NODES = 1 << 14
# A node that a pair of an instance and a reference visits
VISIT_NS = 55.0
# A leaf whose law is learned before the first row, and its share in that row
FIRST_LEAF_NS = 3e3
# An entry of a leaf's own table that is made in fit, and the leaf's share in what surrounds it
KEPT_ENTRY_NS, KEPT_LEAF_NS = 20.0, 8e3
# The same for a table that serves one call only
ENTRY_NS, LEAF_NS = 5.0, 18e3
# An instance and a reference that meet at a leaf without a table
MEETING_NS = 1.7
# A path player of a leaf that is looked up for an instance
LOOK_UP_NS = 3.0
# Of interactions: a node that a pair visits, a leaf, and two of its path players for an instance
INTERACTING_VISIT_NS, INTERACTING_LEAF_NS, INTERACTING_PLAYERS_NS = 200.0, 40e3, 4.0
# Tables that cost no more than so many pairs are made in fit: 50 rows against 100 references
PAIRS_WORTH_TABLES = 5_000
# Leaves of more path players are not looked up at all
MOST_PATH_PLAYERS = 64


@dataclass(frozen=True, eq=False)
class Costs:
    """The costs of an ensemble, in nanoseconds.

    Attributes
    ----------
    visits : float
        Nodes that a pair of an instance and a reference visits, as expected from the covers.
    leaves : ndarray of shape (n,), int64
        Number of leaves with 0, 1, ... path players.
    is_exact : bool
        Whether all trees have been counted.
    """

    visits: float
    leaves: NDArray[np.int64]
    is_exact: bool

    @property
    def has_tables(self) -> bool:
        """Whether leaves can be looked up: none has too many path players."""
        return len(self.leaves) <= MOST_PATH_PLAYERS + 1

    @cached_property
    def makes_tables_first(self) -> bool:
        """Whether tables are so cheap that fit makes them, whatever comes."""
        made = (KEPT_ENTRY_NS * self._entries + KEPT_LEAF_NS) @ self.leaves
        return self.has_tables and bool(made <= self.by_pairs(1, PAIRS_WORTH_TABLES))

    def walks_first(self, r, b) -> bool:
        """Return whether r instances walk in pairs, as the laws of the leaves are dearer."""
        return self.by_pairs(r, b) < FIRST_LEAF_NS * self.leaves.sum()

    def by_pairs(self, r, b) -> float:
        """Return the cost of r instances and b references that walk in pairs."""
        return VISIT_NS * self.visits * r * b

    def by_leaves(self, r, b) -> float:
        """Return the cost of r instances and b references at all leaves, with or without tables."""
        players = np.arange(len(self.leaves))
        meet = np.minimum(MEETING_NS * r * b, ENTRY_NS * self._entries)
        return float((LEAF_NS + meet + LOOK_UP_NS * r * players) @ self.leaves)

    def prefers_pairs(self, r, b) -> bool:
        """Return whether r instances and b references walk in pairs."""
        return not self.has_tables or self.by_pairs(r, b) < self.by_leaves(r, b)

    def interacts_in_pairs(self, r, b) -> bool:
        """Return whether r instances and b references walk in pairs for their interactions."""
        k = np.arange(len(self.leaves))
        look_up = INTERACTING_PLAYERS_NS * r * k * (k - 1) / 2
        at_leaves = float((INTERACTING_LEAF_NS + look_up) @ self.leaves)
        return not self.has_tables or INTERACTING_VISIT_NS * self.visits * r * b < at_leaves

    @property
    def _entries(self) -> NDArray[np.float64]:
        """Numbers in the table of a leaf of 0, 1, ... path players."""
        players = np.arange(len(self.leaves))
        return players * 2.0**players


def count_costs(trees, players) -> Costs:
    """Return the costs of an ensemble.

    An instance and a reference are thought to answer each node on their own, in the proportions of
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
    nodes, most = trees.roots, int(players.max()) + 1
    if most <= MOST_PATH_PLAYERS:
        number = None
        nodes = nodes[:: -(-trees.n_nodes // COUNTED_NODES)]
    else:  # one path that is too long decides
        number, most = number_players(trees, players.take(trees.feature))
    share = len(nodes) / trees.n_trees
    pairs, asked = np.ones(len(nodes)), np.zeros((len(nodes), most), dtype=bool)
    visits, leaves = 0.0, np.zeros(most + 1, dtype=np.int64)
    while len(nodes):
        visits += pairs.sum()
        leaf = trees.left[nodes] < 0
        leaves += np.bincount(asked[leaf].sum(axis=1), minlength=len(leaves))
        nodes, pairs, asked = nodes[~leaf], pairs[~leaf], asked[~leaf]
        left, right, line = trees.left[nodes], trees.right[nodes], np.arange(len(nodes))
        total = trees.cover[left] + trees.cover[right]
        p = np.divide(trees.cover[left], total, out=np.full(len(nodes), 0.5), where=total > 0)
        player = players[trees.feature[nodes]] if number is None else number[nodes]
        both = np.where(asked[line, player], 0.0, p * (1 - p))
        asked[line, player] = True
        nodes = np.concatenate([left, right])
        pairs = np.concatenate([pairs * (p + both), pairs * (1 - p + both)])
        asked = np.tile(asked, (2, 1))
    return Costs(visits / share, np.rint(leaves / share).astype(np.int64), share == 1)
