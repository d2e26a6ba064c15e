"""The first rows without tables and without what tables are made of: from walks in pairs.

A walk of an instance and a reference ends at the leaves that some coalition reaches. There the
players that it needs present are those whom the reference fails, and those that it needs absent are
those whom the instance fails. So walks against all references count the law of a leaf's fail masks,
as far as it matters to the instance, and the two means of the leaf follow from that as they do in a
table. All counts and all sums over leaves are exact: no bit depends on the way that they came.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skshapley._ensembles._ensemble import TreeEnsemble
from skshapley._ensembles._first_rows import BATCH, fold
from skshapley._ensembles._leaf_games import grid_of, on_grid
from skshapley._ensembles._references import exact_weights


@dataclass(frozen=True, eq=False)
class FirstWalks:
    """Values of a few instances, to the last bit those of `FirstRows` and of tables.

    Attributes
    ----------
    trees : TreeEnsemble
    player : ndarray of shape (n_nodes,), int64
        Of at most 32. Any at leaves.
    parent : ndarray of shape (n_nodes,), int64
        -1 at a root.
    n_players : int
    index : {"shapley", "banzhaf"}
    grid : float
    """

    trees: TreeEnsemble
    player: np.ndarray
    parent: np.ndarray
    n_players: int
    index: str
    grid: float

    @classmethod
    def of(cls, trees, players, n_players, index) -> "FirstWalks":
        """Return the walks of an ensemble."""
        inner = np.flatnonzero(~trees.is_leaf)
        parent = np.full(trees.n_nodes, -1)
        parent[trees.left[inner]] = parent[trees.right[inner]] = inner
        player = players.take(trees.feature)
        return cls(trees, player, parent, n_players, index, grid_of(trees))

    def values(self, frontier, instances, references, weights) -> NDArray[np.float64]:
        """Return the values of instances, ``(n_outputs, n_players, r)``.

        Parameters
        ----------
        frontier : Frontier
            Of these trees, with their nodes in the same order.
        instances, references : ndarray of shape (n_rows, r) and (n_rows, b)
            Codes.
        weights : ndarray of shape (b,)
        """
        r, b = instances.shape[1], references.shape[1]
        weights, unit = exact_weights(weights)
        bits = frontier.layout.present.dtype
        half, low = bits.type(bits.itemsize * 4), bits.type((1 << bits.itemsize * 4) - 1)
        values = np.zeros((self.trees.n_outputs, r * self.n_players))
        for tree, instance, walked in frontier.runs(instances, references):
            run, reference = np.divmod(walked.origins(len(tree) * b), b)
            key = instance[run] * self.trees.n_nodes + walked.ends
            met, number = _distinct(key, r * self.trees.n_nodes)
            row, leaf = np.divmod(met, self.trees.n_nodes)
            absent = np.zeros(len(met), dtype=np.int64)
            absent[number] = walked.sides >> half
            games = _Games.of(self._players_above(leaf), absent, self.n_players)
            present = (walked.sides & low).astype(np.int64)
            own = None if weights is None else weights.take(reference)
            law = games.law(present, number, own) * unit
            means = games.means(law, self.index)
            self._add(values, row * self.n_players, leaf, games, means)
        return values.reshape(-1, r, self.n_players).swapaxes(1, 2)

    def _players_above(self, leaf) -> list[NDArray[np.int64]]:
        """Return the players that the paths to leaves ask, from the root on; -1 for none."""
        asked, at = [], self.parent.take(leaf)
        while (at >= 0).any():
            asked.append(np.where(at >= 0, self.player.take(at), -1))
            at = np.where(at >= 0, self.parent.take(at), -1)
        return asked[::-1]

    def _add(self, values, cell, leaf, games, means) -> None:
        """Add the means of leaves, ``(n,)`` and ``(n, most)``, to the values of path players."""
        for total, worth in zip(values, self.trees.value.T, strict=True):
            own, joint = (on_grid(part.T, worth.take(leaf), self.grid) for part in means)
            terms = own.take(games.leaf) + joint[games.place, games.leaf]
            total += np.bincount(cell.take(games.leaf) + games.player, terms, minlength=len(total))


@dataclass(frozen=True, eq=False)
class _Games:
    """The games of some leaves for their instances.

    Attributes
    ----------
    n_path, n_passed : ndarray of shape (n,), int64
        The path players, and those of them whom the instance passes.
    bit : ndarray of shape (n, n_players), int64
        Among these the place of each, in the order of the path.
    leaf, player, place : ndarray of shape (n_terms,), int64
        The players of each leaf: 0 in place for those whom the instance fails, and 1, 2, ... for
        those whom it passes.
    """

    n_path: np.ndarray
    n_passed: np.ndarray
    bit: np.ndarray
    leaf: np.ndarray
    player: np.ndarray
    place: np.ndarray

    @classmethod
    def of(cls, asked, absent, n_players) -> "_Games":
        """Return the games at leaves.

        Parameters
        ----------
        asked : list of ndarray of shape (n,), int64
            The players on the paths, from the root on; -1 for none.
        absent : ndarray of shape (n,), int64
            The players whom the instance fails, as a mask.
        n_players : int
        """
        n = len(absent)
        seen, n_path, n_passed = (np.zeros(n, dtype=np.int64) for _ in range(3))
        bit = np.zeros((n, n_players), dtype=np.int64)
        leaves, players, places = [], [], []
        for player in asked:
            new = np.flatnonzero((player >= 0) & (seen >> player & 1 == 0))
            of_new = player[new]
            seen[new] |= 1 << of_new
            n_path[new] += 1
            passes = absent[new] >> of_new & 1 == 0
            passed = new[passes]
            bit[passed, of_new[passes]] = n_passed[passed]
            n_passed[passed] += 1
            leaves.append(new)
            players.append(of_new)
            places.append(np.where(passes, n_passed[new], 0))
        none = np.empty(0, dtype=np.int64)
        terms = (np.concatenate([none, *part]) for part in (leaves, players, places))
        return cls(n_path, n_passed, bit, *terms)

    def law(self, present, number, weights) -> NDArray[np.float64]:
        """Return the weights of fail masks of references, ``2 ** n_passed`` for each leaf.

        Parameters
        ----------
        present : ndarray of shape (n_lineages,), int64
            The players whom the reference fails, as masks.
        number : ndarray of shape (n_lineages,), int64
            The leaf.
        weights : ndarray of shape (n_lineages,), or None
        """
        ends = np.cumsum(1 << self.n_passed)
        at, bit = (ends - (1 << self.n_passed)).take(number), self.bit.ravel()
        rest, going = present, np.flatnonzero(present)
        while len(going):
            some = rest.take(going)
            lowest = some & -some
            cell = number.take(going) * self.bit.shape[1] + np.bitwise_count(lowest - 1)
            at[going] += 1 << bit.take(cell)
            rest[going] = some ^ lowest
            going = going[some != lowest]
        return np.bincount(at, weights, minlength=int(ends[-1])).astype(np.float64)

    def means(self, law, index) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the own mean and the joint ones of every leaf, ``(n,)`` and ``(n, most)``."""
        start = np.cumsum(1 << self.n_passed) - (1 << self.n_passed)
        own = np.empty(len(start))
        joint = np.zeros((len(start), 1 + int(self.n_passed.max())))
        for width in np.flatnonzero(np.bincount(self.n_passed)).tolist():
            leaves = np.flatnonzero(self.n_passed == width)
            step = max(1, BATCH >> width)
            for first in range(0, len(leaves), step):
                part = leaves[first : first + step]
                h = law.take(start[part] + np.arange(1 << width)[:, None])
                own[part], found = fold(h, self.n_path[part], index)
                joint[part, : width + 1] = found.T
        return own, joint


def _distinct(keys, n) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct ones of keys below n in order, and the number of each key among them."""
    used = np.zeros(n, dtype=bool)
    used[keys] = True
    number = np.cumsum(used) - 1
    return np.flatnonzero(used), number.take(keys)
