r"""Path-dependent values: absent players follow the training data down the tree.

Lundberg et al. 2020, "From local explanations to global understanding with explainable AI for
trees": at the node of an absent player, the row goes to both children in proportion to their
training weight (cover). For one leaf, this is an imaginary background. Its rows pass the path
players independently, each with the product of the player's ratios along the path.

In trees that are too deep for tables, every player is present with probability t. A row reaches a
leaf of value v with probability :math:`P = \prod_j (t x_j + (1 - t) r_j)`. Here, x_j is 1 if the
row passes the path player j and 0 otherwise, and r_j is the ratio. The worth of the leaf to player
j is the mean over t of :math:`v P (x_j - r_j) / (t x_j + (1 - t) r_j)`. The quotient belongs to the
last node of j. It is constant over the leaves below, up to the next node of j. Each node therefore
adds its own quotient, minus the quotient of the previous node of j, times the sum of v P below.
"""

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from skshapley._trees._paths import nodes_by_level, trace_paths


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

    Nodes are numbered level by level, with both children of a node next to each other.

    Parameters
    ----------
    trees : TreeEnsemble
    codes : Codes
    players : ndarray of shape (n_features,), int
    n_players : int
    index : Index

    Attributes
    ----------
    base_values : ndarray of shape (n_outputs,)
        Mean response over the training data.
    """

    def __init__(self, trees, codes, players, n_players, index) -> None:
        levels = nodes_by_level(trees)
        order, self.n_players = np.concatenate(levels), n_players
        self.ends = np.cumsum([0, *map(len, levels)])
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        self.value = trees.value[order].T
        self.inner = np.flatnonzero(~trees.is_leaf[order])
        self.row, self.rank = codes.row[order[self.inner]], codes.rank[order[self.inner]]
        self.parent = np.full(len(order), -1)
        self.parent[self.ends[1] :] = np.repeat(self.inner, 2)
        self.player = players[trees.feature[order]][self.parent]
        share = _shares(trees.cover[order], self.parent)
        paths = trace_paths(trees, np.where(trees.is_leaf, -1, players[trees.feature]))
        n_asked = int(paths.n_above.max())
        self.before = self._asked_before(paths.bit[order][self.parent], n_asked)
        # The extra entry stands for "no earlier node of this player", with ratio 1.
        ratio, reach = np.ones(len(order) + 1), np.ones(len(order))
        for first, last in self._levels():
            ratio[first:last] = share[first:last] * ratio[self.before[first:last]]
            reach[first:last] = share[first:last] * reach[self.parent[first:last]]
        self.base_values = trees.base + self.value @ reach

        # P divided by one factor has degree n - 1 in t on the longest path; shorter paths have a
        # lower degree.
        t, weights = index.law(n_asked - 1)
        # Gauss-Legendre nodes lie inside (0, 1), so no factor below divides by zero.
        rest, before = (1 - t) * ratio[:-1, None], (1 - t) * ratio[self.before, None]
        old = (1 - ratio[self.before, None]) / (t + before)
        new = (1 - ratio[:-1, None]) / (t + rest)
        # The factor of P and the quotient, for a row that failed the player above, fails it here,
        # or passes it.
        self.factor = np.stack(
            [share[:, None] + 0 * t, rest / (t + before), (t + rest) / (t + before)]
        )
        self.quotient = weights * np.stack([0 * old, -1 / (1 - t) - old, new - old])
        self.weights = weights

    def _levels(self) -> list[tuple[int, int]]:
        """Return the first node and one past the last node of each level below the roots."""
        return list(pairwise(self.ends[1:].tolist()))

    def _asked_before(self, bit, n_asked) -> NDArray[np.int64]:
        """Return the last node above with the same player, or the number of nodes.

        Parameters
        ----------
        bit : ndarray of shape (n_nodes,), int64
            The position of each node's player among the players of its path.
        n_asked : int
            Players on the longest path.
        """
        before, start = np.full(len(bit), len(bit)), 0
        last = np.full((self.ends[1], max(1, n_asked)), len(bit))
        for first, end in self._levels():
            nodes = np.arange(first, end)
            last = last[self.parent[nodes] - start]
            before[nodes] = last[nodes - first, bit[nodes]]
            last[nodes - first, bit[nodes]] = nodes
            start = first
        return before

    def values(self, codes) -> NDArray[np.float64]:
        """Return the values of the players, ``(n_outputs, n_players, r)``.

        Parameters
        ----------
        codes : ndarray of shape (n_rows, r), unsigned
        """
        found = np.zeros((codes.shape[1], len(self.value), self.n_players))
        for total, code in zip(found, codes.T, strict=True):
            for of_output, below, quotient in self._below(code):
                worth = np.einsum("nt,nt->n", below, quotient)
                total[of_output] = np.bincount(self._asked, worth, self.n_players)
        return found.transpose(1, 2, 0)

    def pairs(self, codes) -> NDArray[np.float64]:
        """Return the interactions of players, ``(n_outputs, n_players, n_players, r)``.

        Parameters
        ----------
        codes : ndarray of shape (n_rows, r), unsigned
        """
        p = self.n_players
        found = np.zeros((codes.shape[1], len(self.value), p * p))
        for total, code in zip(found, codes.T, strict=True):
            for of_output, below, quotient in self._below(code):
                # Both children of a node have the same player, and the same nodes above
                worth = below * quotient
                worth = (worth[::2] + worth[1::2]) / self.weights
                for node, above, key in self._above:
                    both = np.einsum(
                        "nt,nt->n", worth.take(node, axis=0), quotient.take(above, axis=0)
                    )
                    total[of_output] += np.bincount(key, both, p * p)
        found = found.reshape(len(found), -1, p, p)
        # Ancestors and descendants were met in one order only. Two nodes of one player are no pair.
        found += found.swapaxes(2, 3)
        found[..., np.arange(p), np.arange(p)] = 0.0
        return found.transpose(1, 2, 3, 0)

    @cached_property
    def _above(self) -> list[tuple[NDArray[np.int64], ...]]:
        """Return inner nodes, their ancestors at each distance, and the players of both."""
        pairs: list[tuple[NDArray[np.int64], ...]] = []
        roots = self.ends[1]
        node, above = np.arange(len(self.inner)), self.inner
        while len(node := node[above >= roots]):
            above = above[above >= roots]
            key = self._asked[2 * node] * self.n_players + self.player[above]
            pairs.append((node, above - roots, key))
            above = self.parent[above]
        return pairs

    @property
    def _asked(self) -> NDArray[np.int64]:
        """Return the player of the parent of each node below the roots."""
        return self.player[self.ends[1] :]

    def _below(self, code) -> Iterator[tuple[int, NDArray[np.float64], NDArray[np.float64]]]:
        """Yield each output, the sum of v P below each node, and the quotients with weights."""
        roots, n = self.ends[1], len(self.parent)
        goes_left = code[self.row] <= self.rank
        # The last entry again stands for "no earlier node": every row passes it.
        passes = np.ones(n + 1, dtype=np.int8)
        passes[roots:n] = np.stack([goes_left, ~goes_left], axis=1).ravel()
        kind = np.zeros(n, dtype=np.intp)
        for first, last in self._levels():
            # A player that failed at one node stays failed. The kind is 0, 1 or 2, the row of
            # `factor`.
            already = passes[self.before[first:last]]
            passes[first:last] &= already
            kind[first:last] = already + passes[first:last]
        kind = kind * n + np.arange(n)
        q = len(self.weights)
        factor = self.factor.reshape(-1, q).take(kind, axis=0)
        for first, last in self._levels():
            factor[first:last] *= factor.take(self.parent[first:last], axis=0)
        quotient = self.quotient.reshape(-1, q).take(kind[roots:], axis=0)
        for output, value in enumerate(self.value):
            below = factor * value[:, None]
            for first, last in reversed(self._levels()):
                # Siblings are neighbours, so two strided slices add them without an unordered sum.
                parents = self.parent[first:last:2]
                below[parents] = below[first:last:2] + below[first + 1 : last : 2]
            yield output, below[roots:], quotient
