r"""Path-dependent values: absent players follow the training data down the tree.

Lundberg et al. 2020, "From local explanations to global understanding with explainable
AI for trees": at the node of an absent player, the row goes to both children in
proportion to their training weight (cover). For one leaf, this is an imaginary
background. Its rows pass the path players independently, each with the product of the
player's ratios along the path.

In trees that are too deep for tables, every player is present with probability t. A row
goes left at a node with probability :math:`\pi = s + a (x - s)`. Here, s is the share
of training weight that goes left, and x is 1 if the row goes left and 0 otherwise. The
probability that the node's player is present is a. At the player's first node on the
path, a = t. At later ones, a is conditional on the way down. It is 0 if the row leaves
the path at an earlier node of the player. If not, and r is the ratio of training weight
that stays on the path at the earlier nodes, :math:`a = t / f` with
:math:`f = t + (1 - t) r`.

One pass down computes the probability R of reaching each node, and one pass up the
expected value below it. With the difference d between the values of the left and the
right child, the node adds the mean over t of :math:`R d (x - s)\,da/dt` to its player.
To the interaction of its player and another player above, it adds this product times
the logarithmic derivative of R with respect to the other player. The derivative is
determined at the last node of the other player. It is :math:`(1 - r) / f` if the row
stays on the path there, and :math:`-1 / (1 - t)` if not.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skshapley._trees._paths import traced_runs
from skshapley._trees._walks import narrowed

# Leaves of the trees in one part, and pairs of nodes in one step: few enough for their
# arrays to stay in the cache
LEAVES = 8192


def training_law(block, chunk) -> NDArray[np.float64]:
    """Return the weight of the imaginary background on the fail masks of every leaf.

    Parameters
    ----------
    block : GroupedTrees
    chunk : Chunk
        Of this block.

    Returns
    -------
    law : ndarray
        ``2 ** n_path`` numbers for each leaf, one leaf after the other.
    """
    paths = block.paths
    ratios = np.ones(chunk.leaf_players.shape)
    at = chunk.leaves.copy()
    going = np.arange(len(chunk.leaves))
    while len(going := going[paths.parent[at[going]] >= 0]):
        node = paths.parent[at[going]]
        ratios[going, paths.bit[node]] *= paths.share[at[going]]
        at[going] = node
    law = []
    for k in np.flatnonzero(np.bincount(chunk.n_path)):
        weights = np.ones((np.count_nonzero(chunk.n_path == k), 1))
        # Each player doubles the masks: the first half passes with its ratio, the
        # second fails. Bits therefore follow the order of the players.
        for ratio in ratios[chunk.n_path == k, :k].T[:, :, None]:
            weights = np.concatenate([weights * ratio, weights * (1 - ratio)], axis=1)
        law.append(weights.ravel())
    return np.concatenate(law)


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
        self.n_players = n_players
        self.n_outputs = trees.n_outputs
        self._parts = [
            _Part(
                subset,
                paths,
                players[subset.feature],
                n_players,
                codes.row[nodes],
                codes.rank[nodes],
            )
            for subset, nodes, paths in traced_runs(trees, players, LEAVES)
        ]
        self.base_values = trees.base + sum(part.mean for part in self._parts)

    def values(self, codes, references, index) -> NDArray[np.float64]:
        """Return the values of the players, ``(n_outputs, n_players, r)``.

        Parameters
        ----------
        codes : ndarray of shape (n_rows, r), unsigned
        references : References
            The training data, which has no rows.
        index : Index
        """
        k = self.n_outputs
        p = self.n_players
        totals = np.zeros((codes.shape[1], k * p))
        for part in self._parts:
            for row, column, _, terms in part.terms(codes, index):
                sums = totals[row, column * p :]
                sums += np.bincount(
                    part.cell,
                    terms @ np.ones(terms.shape[1]),
                    len(sums),
                )
        return totals.reshape(-1, k, p).transpose(1, 2, 0)

    def pairs(self, codes, references, index) -> NDArray[np.float64]:
        """Return the interactions of players, ``(n_outputs, n_players, n_players, r)``.

        The values are on the diagonal.

        Parameters
        ----------
        codes : ndarray of shape (n_rows, r), unsigned
        references : References
            The training data, which has no rows.
        index : Index
        """
        k = self.n_outputs
        p = self.n_players
        totals = np.zeros((codes.shape[1], k * p * p))
        for part in self._parts:
            t, _, _, _ = part.factors(index)
            node, above, pair = part.above
            present = presence(part.ratio, t)
            diagonal = part.cell * p + part.cell % p
            # Times 1 - t, the derivatives of log R are a / t - 1 and -1.
            for row, column, stays, terms in part.terms(codes, index):
                sums = totals[row, column * p * p :]
                on_path = stays.take(above).nonzero()[0]
                for entries in np.split(on_path, range(LEAVES, len(on_path), LEAVES)):
                    products = terms.take(node.take(entries), axis=0)
                    products *= present.take(above.take(entries), axis=0)
                    sums += np.bincount(
                        pair.take(entries),
                        products @ (1 / (t * (1 - t))),
                        len(sums),
                    )
                sums -= np.bincount(pair, (terms @ (1 / (1 - t))).take(node), len(sums))
                # Half of the values, since the transpose is added.
                sums += np.bincount(diagonal, terms @ np.full(len(t), 0.5), len(sums))
        totals = totals.reshape(-1, k, p, p)
        # Each pair of nodes was met once, from the lower one.
        return (totals + totals.swapaxes(2, 3)).transpose(1, 2, 3, 0)


class _Part:
    """Some trees. The inner nodes are numbered level by level, and the leaves after them.

    Parameters
    ----------
    trees : TreeEnsemble
    paths : Paths
    player : ndarray of shape (n_nodes,), int64
        The player of each node's feature; arbitrary at a leaf.
    n_players : int
    row, rank : ndarray of shape (n_nodes,)
        As of `Codes`.

    Attributes
    ----------
    levels : list of tuple
        The inner nodes of each level, as a slice; their positions among the children of
        the level above (at the first level, among the roots); and their left, then
        their right children.
    mean : ndarray of shape (n_outputs,)
        Mean response over the training data.
    most_players : int
        Players on the longest path.
    cell : ndarray of shape (n,), int64
        ``output * n_players + player`` of each inner node, with output 0 if its tree
        adds to several outputs.
    ratio : ndarray of shape (n + 1,)
        The ratio of training weight that stays on the path to this inner node, at its
        parent and at the earlier nodes of the parent's player. The last number stands
        for "no earlier node".
    """

    def __init__(self, trees, paths, player, n_players, row, rank) -> None:
        leaf = trees.is_leaf
        nodes = trees.roots
        levels = []
        n = 0
        place = np.empty(trees.n_nodes, dtype=np.int64)
        while len(nodes):
            source = np.flatnonzero(~leaf[nodes])
            inner = nodes[source]
            at = slice(n, n + len(source))
            nodes = np.concatenate([trees.left[inner], trees.right[inner]])
            n = at.stop
            place[inner] = np.arange(at.start, n)
            levels.append((inner, at, source, nodes))
        place[leaf] = np.arange(n, trees.n_nodes)
        inner = np.concatenate([level[0] for level in levels])
        self.levels = [
            (at, source, place[children]) for _, at, source, children in levels
        ]
        value, output = narrowed(trees)
        tree = np.searchsorted(trees.roots, inner, "right") - 1
        self.row = row[inner]
        self.rank = rank[inner]
        self.value = value[leaf].T
        self.cell = player[inner] + (0 if output is None else n_players * output[tree])
        self.bit = paths.bit[inner]
        self.n_players = n_players
        self.most_players = int(paths.n_above.max())
        self.n_roots = trees.n_trees
        parent = paths.parent[inner]
        self.share = paths.share[trees.left[inner]]
        # A root has no parent. Node 0 stands in for it, and is never used.
        self.parent = np.where(parent < 0, 0, place[parent])
        self.is_left = inner == trees.left[parent]
        self.before, self.earlier = np.full((2, n), n)
        self.ratio = np.ones(n + 1)
        reach = np.ones(trees.n_nodes)
        for (at, _, children), last in self._last_nodes():
            self.before[at] = last[np.arange(len(last)), self.bit[at]]
            if at.start:
                self.earlier[at] = self.before[self.parent[at]]
                self.ratio[at] = self.ratio[self.earlier[at]] * paths.share[inner[at]]
            left = reach[at] * self.share[at]
            reach[children] = np.concatenate([left, reach[at] - left])
        self.mean = reach[n:] @ trees.value[leaf]
        self._factors: dict[Any, tuple[NDArray[np.float64], ...]] = {}

    def _last_nodes(self) -> Iterator[tuple[Any, NDArray[np.int64]]]:
        """Yield each level, and the last children of the nodes of each player above its nodes.

        The array ``(n_nodes, most_players)`` has the inner nodes on the path that
        follow the last node of each player, by the bit of the player; n if there is
        none.
        """
        last = np.full((self.n_roots, max(1, self.most_players)), len(self.bit))
        for level in self.levels:
            at = level[0]
            last = last[level[1]]
            if at.start:
                last[np.arange(len(last)), self.bit[self.parent[at]]] = np.arange(
                    at.start,
                    at.stop,
                )
            yield level, last
            last = np.concatenate([last, last])

    @cached_property
    def above(self) -> tuple[NDArray[np.int64], ...]:
        """Nodes, the last children of the other players above, and the numbers of the pairs."""
        nodes = []
        children = []
        p = self.n_players
        for (at, _, _), last in self._last_nodes():
            last[np.arange(len(last)), self.bit[at]] = len(self.bit)
            node, bit = np.nonzero(last < len(self.bit))
            nodes.append(at.start + node)
            children.append(last[node, bit])
        node = np.concatenate(nodes)
        child = np.concatenate(children)
        return node, child, self.cell[node] * p + self.cell[self.parent[child]] % p

    def factors(self, index) -> tuple[NDArray[np.float64], ...]:
        """Return t, and for each inner node the presence a, the factor of its terms, and s."""
        if index not in self._factors:
            t, weights = index.law(self.most_players - 1)
            present = presence(self.ratio[self.before], t)
            # The derivative of a is a (1 - a) / (t (1 - t)).
            gain = present * (1 - present) * (weights / (t * (1 - t)))
            self._factors[index] = (
                t,
                present,
                gain,
                np.repeat(self.share[:, None], len(t), 1),
            )
        return self._factors[index]

    def terms(self, codes, index) -> Iterator[tuple[int, int, NDArray, NDArray]]:
        """Yield the contributions of the inner nodes to their players, for each row and column.

        Parameters
        ----------
        codes : ndarray of shape (n_rows, r), unsigned
        index : Index

        Yields
        ------
        row, column : int
            The column of the values of leaves: an output, or 0 if each tree adds to one
            output.
        stays : ndarray of shape (n + 1,), bool
            Whether the row stays on the path to the inner node, at its parent and at
            the earlier nodes of the parent's player.
        terms : ndarray of shape (n, q)
            The weighted terms of the mean over t.
        """
        _, present, gain, share = self.factors(index)
        n, q = present.shape
        reach = np.empty((n, q))
        scratch = np.empty((2 * n, q))
        terms = np.empty((n, q))
        values = np.empty((len(self.value), n + self.value.shape[1], q))
        values[:, n:] = self.value[:, :, None]
        for row, code in enumerate(codes.T):
            goes_left = code.take(self.row) <= self.rank
            stays = np.append(goes_left.take(self.parent) == self.is_left, True)
            for at, _, _ in self.levels:
                # A row that left the path at an earlier node of the player does not
                # come back.
                stays[at] &= stays.take(self.earlier[at])
            lead = (goes_left - self.share) * stays.take(self.before)
            lead = np.repeat(lead[:, None], q, 1)
            left = present * lead
            left += share
            below = np.ones((self.n_roots, q))
            for at, source, children in self.levels:
                # With mode="clip", numpy skips the check of each index; all of them are
                # valid.
                reaching = below.take(source, axis=0, out=reach[at], mode="clip")
                m = len(reaching)
                below = scratch[: len(children)]
                np.multiply(reaching, left[at], out=below[:m])
                np.subtract(reaching, below[:m], out=below[m:])
            lead *= gain
            lead *= reach
            for column, value in enumerate(values):
                for at, source, children in reversed(self.levels):
                    m = len(source)
                    below = value.take(
                        children,
                        axis=0,
                        out=scratch[: 2 * m],
                        mode="clip",
                    )
                    step = np.subtract(below[:m], below[m:], out=terms[at])
                    mixed = np.multiply(step, left[at], out=value[at])
                    mixed += below[m:]
                terms *= lead
                yield row, column, stays, terms


def presence(ratio, t) -> NDArray[np.float64]:
    """Return the probability a of the presence of players that stay on the path, ``(n, q)``."""
    # With an inner dimension of 1, this product is quicker than one with broadcasting.
    odds = np.dot(ratio[:, None], (1 / t - 1)[None])
    odds += 1
    return np.reciprocal(odds, out=odds)
