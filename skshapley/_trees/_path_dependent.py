r"""Path-dependent values: absent players follow the training data down the tree.

Lundberg et al. 2020, "From local explanations to global understanding with explainable AI for
trees": at the node of an absent player, the row goes to both children in proportion to their
training weight (cover). For one leaf, this is an imaginary background. Its rows pass the path
players independently, each with the product of the player's ratios along the path.

In trees that are too deep for tables, every player is present with probability t. A row reaches a
leaf of value v with probability :math:`P = \prod_j f_j` for :math:`f_j = t x_j + (1 - t) r_j`.
Here, x_j is 1 if the row passes the path player j and 0 otherwise, and r_j is the ratio. The worth
of the leaf to player j is the mean over t of :math:`v P g_j` with :math:`g_j = (x_j - r_j) / f_j`;
to the pair of players i and j, it is that of :math:`v P g_i g_j`. The quotient g_j belongs to the
last node of j. It is constant over the leaves below, up to the next node of j. Each node therefore
adds its own quotient, minus the quotient of the previous node of j, times the sum of v P below. In
a pair, this is multiplied by the quotient of another player above the node.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skshapley._trees._paths import traced_runs

# Leaves of the trees in one part: few enough for its arrays to stay in the cache
LEAVES = 8192
# In place of the ratio 0, of nodes without training weight
TINY = 1e-200


def training_law(block, chunk) -> NDArray[np.float64]:
    """Return the weight of the imaginary background on the fail masks of every leaf.

    Parameters
    ----------
    block : Block
    chunk : Chunk
        Of this block.

    Returns
    -------
    law : ndarray
        ``2 ** n_path`` numbers for each leaf, one leaf after the other.
    """
    trees, paths = block.trees, block.paths
    ratios = np.ones(chunk.leaf_players.shape)
    share = _shares(trees.cover, paths.parent)
    at, going = chunk.leaves.copy(), np.arange(len(chunk.leaves))
    while len(going := going[paths.parent[at[going]] >= 0]):
        node = paths.parent[at[going]]
        ratios[going, paths.bit[node]] *= share[at[going]]
        at[going] = node
    law = []
    for k in np.flatnonzero(np.bincount(chunk.n_path)):
        weights = np.ones((np.count_nonzero(chunk.n_path == k), 1))
        # Each player doubles the masks: the first half passes with its ratio, the second fails.
        # Bits therefore follow the order of the players.
        for ratio in ratios[chunk.n_path == k, :k].T[:, :, None]:
            weights = np.concatenate([weights * ratio, weights * (1 - ratio)], axis=1)
        law.append(weights.ravel())
    return np.concatenate(law)


def _shares(cover, parent) -> NDArray[np.float64]:
    """Return the share of the training weight of its parent that went to each node; 1 at roots."""
    above = np.where(parent >= 0, cover[parent], cover)
    # A node without training weight is never reached: both children get the share 0, not NaN.
    share = np.divide(cover, above, out=np.zeros(len(cover)), where=above > 0)
    return np.where(parent >= 0, share, 1.0)


class PathWalk:
    """Path-dependent values and interactions of trees of any depth.

    Parameters
    ----------
    trees : TreeEnsemble
    codes : Codes
    players : ndarray of shape (n_features,), int
    n_players : int

    Attributes
    ----------
    base_values : ndarray of shape (n_outputs,)
        Mean response over the training data.
    """

    def __init__(self, trees, codes, players, n_players) -> None:
        self.n_players, self._parts = n_players, []
        for some, nodes, paths in traced_runs(trees, players, LEAVES):
            player = players[some.feature]
            self._parts.append(_Part(some, paths, player, codes.row[nodes], codes.rank[nodes]))
        self.base_values = trees.base + sum(part.mean for part in self._parts)

    def values(self, codes, index) -> NDArray[np.float64]:
        """Return the values of the players, ``(n_outputs, n_players, r)``.

        Parameters
        ----------
        codes : ndarray of shape (n_rows, r), unsigned
        index : Index
        """
        found = self._zeros(codes, self.n_players)
        for part in self._parts:
            for row, output, _, worth in part.worths(codes, *index.law(part.most_players - 1)):
                found[row, output] += np.bincount(part.player, worth.sum(axis=0), self.n_players)
        return found.transpose(1, 2, 0)

    def pairs(self, codes, index) -> NDArray[np.float64]:
        """Return the interactions of players, ``(n_outputs, n_players, n_players, r)``.

        Parameters
        ----------
        codes : ndarray of shape (n_rows, r), unsigned
        index : Index
        """
        p = self.n_players
        found = self._zeros(codes, p * p)
        for part in self._parts:
            for row, output, gain, worth in part.worths(codes, *index.law(part.most_players - 2)):
                # Both children of a node have the same player, and the same nodes above.
                worth = worth.take(part.left, axis=1) + worth.take(part.right, axis=1)
                for node, above, player, other in part.above:
                    both = worth.take(node, axis=1)
                    both *= gain.take(above, axis=1)
                    found[row, output] += np.bincount(player * p + other, both.sum(axis=0), p * p)
        found = found.reshape(*found.shape[:2], p, p)
        # Each pair of nodes was met once, from the lower one.
        return (found + found.swapaxes(2, 3)).transpose(1, 2, 3, 0)

    def _zeros(self, codes, n) -> NDArray[np.float64]:
        return np.zeros((codes.shape[1], len(self.base_values), n))


class _Level(NamedTuple):
    """The inner nodes of a level, as positions among all nodes and among the inner ones.

    Attributes
    ----------
    nodes, inner, children : slice
    """

    nodes: slice
    inner: slice
    children: slice


class _Part:
    """Some trees. Their nodes are numbered level by level, and in a level, inner nodes come first.

    Parameters
    ----------
    trees : TreeEnsemble
    paths : Paths
    player : ndarray of shape (n_nodes,), int64
        The player of each node's feature; arbitrary at a leaf.
    row, rank : ndarray of shape (n_nodes,)
        As of `Codes`.

    Attributes
    ----------
    mean : ndarray of shape (n_outputs,)
        Mean response over the training data.
    most_players : int
        Players on the longest path.
    player : ndarray of shape (n_nodes,), int64
        The player that decides at the parent of each node; arbitrary at a root.
    left, right : ndarray of shape (n_inner,), int64
        The children of each inner node.
    """

    def __init__(self, trees, paths, player, row, rank) -> None:
        leaf, self.levels = trees.is_leaf, []
        parts, n_nodes, n_inner = [], 0, 0
        for nodes in paths.levels:
            inner = nodes[~leaf[nodes]]
            parts += [inner, nodes[leaf[nodes]]]
            first, m = n_nodes, len(inner)
            n_nodes, n_inner = n_nodes + len(nodes), n_inner + m
            here, below = slice(first, first + m), slice(n_nodes, n_nodes + 2 * m)
            self.levels.append(_Level(here, slice(n_inner - m, n_inner), below))
        order, inner = np.concatenate(parts), np.concatenate(parts[::2])
        place = np.empty_like(order)
        place[order] = np.arange(n_nodes)
        self.row, self.rank, self.value = row[inner], rank[inner], trees.value[order].T
        self.left, self.right = place[trees.left[inner]], place[trees.right[inner]]
        self.parent, self.player = place[paths.parent[order]], player[paths.parent[order]]
        self.bit, self.most_players = paths.bit[order], int(paths.n_above.max())
        self.n_roots = trees.n_trees
        # The last number stands for "no earlier node of this player".
        self.before = np.full(n_nodes, n_nodes)
        for level, above, own in self._decided():
            for children in (self.left[level.inner], self.right[level.inner]):
                self.before[children] = above[own]
        share = _shares(trees.cover, paths.parent)[order]
        self.ratio, reach = np.ones(n_nodes + 1), np.ones(n_nodes)
        for level in self.levels:
            below = level.children
            ratio = share[below] * self.ratio[self.before[below]]
            self.ratio[below] = np.maximum(ratio, TINY)
            reach[below] = share[below] * reach[self.parent[below]]
        self.mean = self.value @ reach

    def _decided(self) -> Iterator[tuple[_Level, NDArray[np.int64], NDArray[np.bool_]]]:
        """Yield each level with the last node of each player above its inner nodes.

        The two arrays ``(n, most_players)`` are these nodes, by the bit of the player, and whether
        the bit is that of the player of the inner node itself.
        """
        bits = np.arange(max(1, self.most_players))
        above = np.full((self.n_roots, len(bits)), len(self.bit))
        for level in self.levels:
            above, own = above[: len(self.left[level.inner])], self.bit[level.nodes, None] == bits
            yield level, above, own
            below = np.empty((2 * len(above), len(bits)), dtype=np.int64)
            for children in (self.left[level.inner], self.right[level.inner]):
                place = children - level.children.start
                below[place] = above
                below[place, self.bit[level.nodes]] = children
            above = below

    @cached_property
    def above(self) -> list[tuple[NDArray[np.int64], ...]]:
        """Inner nodes, the last nodes of the other players above, and both players, by level."""
        found: list[tuple[NDArray[np.int64], ...]] = []
        for level, above, own in self._decided():
            node, bit = np.nonzero((above < len(self.bit)) & ~own)
            node, last = level.inner.start + node, above[node, bit]
            found.append((node, last, self.player[self.left[node]], self.player[last]))
        return found

    def worths(self, codes, t, weights) -> Iterator[tuple[int, int, NDArray, NDArray]]:
        """Yield the terms of each row and output at the nodes.

        Parameters
        ----------
        codes : ndarray of shape (n_rows, r), unsigned
        t, weights : ndarray of shape (q,)

        Yields
        ------
        row, output : int
        gain : ndarray of shape (q, n_nodes + 1)
            The quotients g.
        worth : ndarray of shape (q, n_nodes)
            The steps of the quotients, times the weighted sums of v P below.
        """
        n, before, t = len(self.before), self.before, t[:, None]
        absent = (1 - t) * self.ratio
        for row, code in enumerate(codes.T):
            passes = self._passes(code)
            lead = passes - self.ratio
            # Gauss-Jacobi nodes lie inside (0, 1) and ratios are positive, so no f is zero.
            f = t * passes
            f += absent
            inverse = 1 / f
            above = inverse.take(before, axis=1)
            product = f[:, :n] * above
            product[:, : self.n_roots] = weights[:, None]
            for level in self.levels:
                nodes = level.children
                product[:, nodes] *= product.take(self.parent[nodes], axis=1)
            # New arrays would cost a tenth of the time.
            gain = np.multiply(inverse, lead, out=inverse)
            above *= lead.take(before)
            step = np.subtract(gain[:, :n], above, out=above)
            for output, value in enumerate(self.value):
                below = product * value
                for nodes, inner, _ in reversed(self.levels):
                    left, right = self.left[inner], self.right[inner]
                    below[:, nodes] = below.take(left, axis=1) + below.take(right, axis=1)
                below *= step
                yield row, output, gain, below

    def _passes(self, code) -> NDArray[np.float64]:
        """Return 1 for nodes where a row passes the player, here and above; 0 elsewhere."""
        passes = np.ones(len(self.before) + 1)
        goes_left = code[self.row] <= self.rank
        passes[self.left], passes[self.right] = goes_left, ~goes_left
        for level in self.levels:
            # A player that failed at one node stays failed.
            passes[level.children] *= passes.take(self.before[level.children])
        return passes
