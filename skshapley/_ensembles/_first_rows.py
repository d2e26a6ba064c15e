"""The first rows, straight from the laws of the leaves: no table is made for so few.

A leaf with k path players has 2^k entries in its table. An instance that fails the players c there
needs the sums over the subsets of the others alone: for its own mask, and for those that one more
player joins. All of them follow from folding the law once, and every addition is one that the table
makes, too. So no bit tells these values from those of the table.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from skshapley._ensembles._groups import Chunk
from skshapley._ensembles._leaf_games import added, mean_weights, on_grid

# Numbers that are folded at once, so that they stay in the cache
BATCH = 1 << 15


class LeafLaw(NamedTuple):
    """What the values of the leaves of a chunk follow from.

    Attributes
    ----------
    chunk : Chunk
    masks : ndarray of shape (n_leaves, 2 ** n_bits), unsigned
        See `Groups.fail_masks`.
    law : ndarray
        See `background_law`.
    values : ndarray of shape (n_leaves, n_outputs)
        What each leaf adds to the outputs of the chunk.
    """

    chunk: Chunk
    masks: np.ndarray
    law: np.ndarray
    values: np.ndarray


@dataclass(frozen=True, eq=False)
class FirstRows:
    """The leaves of all chunks, for a few instances.

    Attributes
    ----------
    index : {"shapley", "banzhaf"}
    grid : float
        See `grid_of`.
    n_path, group : ndarray of shape (n_leaves,), int64
        The path players of each leaf, and its group.
    masks : ndarray, unsigned
        The fail masks of every leaf, one leaf after the other.
    first_mask : ndarray of shape (n_leaves,), int64
        Where those of each leaf begin.
    law : ndarray
        The weights of the fail masks of every leaf, likewise.
    first_weight : ndarray of shape (n_leaves,), int64
    terms : Terms
    """

    index: str
    grid: float
    n_path: np.ndarray
    group: np.ndarray
    masks: np.ndarray
    first_mask: np.ndarray
    law: np.ndarray
    first_weight: np.ndarray
    terms: "Terms"

    @classmethod
    def of(cls, laws: Sequence[LeafLaw], first_groups, index, grid, n_outputs, n_players) -> Self:
        """Put the leaves of some chunks one after another.

        Parameters
        ----------
        laws : sequence of LeafLaw
            In the order in which their sums are added.
        first_groups : sequence of int
            The first group of each chunk, counted over all blocks.
        index : {"shapley", "banzhaf"}
        grid : float
            See `grid_of`.
        n_outputs, n_players : int
        """
        chunks = [one.chunk for one in laws]
        n_path = np.concatenate([chunk.n_path for chunk in chunks])
        group = np.concatenate(
            [first + chunk.leaf_group for first, chunk in zip(first_groups, chunks, strict=True)]
        )
        sizes = np.repeat([1 << c.n_bits for c in chunks], [len(c.leaves) for c in chunks])
        return cls(
            index=index,
            grid=grid,
            n_path=n_path,
            group=group,
            masks=np.concatenate([one.masks.ravel() for one in laws]),
            first_mask=np.cumsum(sizes) - sizes,
            law=np.concatenate([one.law for one in laws]),
            first_weight=np.cumsum(1 << n_path) - (1 << n_path),
            terms=_list_terms(laws, n_outputs, n_players),
        )

    def values(self, patterns) -> NDArray[np.float64]:
        """Return the values of some instances, ``(n_outputs, n_players, r)``.

        Parameters
        ----------
        patterns : ndarray of shape (n_groups, r), unsigned
            Of the groups of all blocks.
        """
        n, r = len(self.n_path), patterns.shape[1]
        at = self.first_mask[:, None] + patterns.take(self.group, axis=0).astype(np.int64)
        fails = self.masks.take(at.ravel()).astype(np.int64)
        leaf = np.repeat(np.arange(n), r)
        passed = (1 << self.n_path.take(leaf)) - 1 - fails
        n_passed = np.bitwise_count(passed).astype(np.int64)
        own, joint = np.empty(n * r), np.empty((n * r, self.terms.most))
        for width in np.flatnonzero(np.bincount(n_passed)).tolist():
            some = np.flatnonzero(n_passed == width)
            step = max(1, BATCH >> width)
            for first in range(0, len(some), step):
                part = some[first : first + step]
                own[part], joint[part] = self._means(leaf[part], passed[part], width)
        return self.terms.summed(own.reshape(n, r), joint.reshape(n, r, -1), self.grid)

    def _means(self, leaves, passed, width) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the two means, ``(n,)`` and ``(n, most)``, of leaves that so many players pass."""
        players, at, rest = [], self.first_weight[leaves][None], passed
        for _ in range(width):
            players.append(rest & -rest)
            at = np.concatenate([at, at + players[-1]])
            rest = rest ^ players[-1]
        own, found = fold(self.law.take(at), self.n_path[leaves], self.index)
        joint = np.repeat(found[0, :, None], self.terms.most, axis=1)
        for player, worth in zip(players, found[1:], strict=True):
            joint[np.arange(len(own)), np.bitwise_count(player - 1)] = worth
        return own, joint


def fold(sums, k, index) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the two means of leaves for an instance that so many players pass.

    Parameters
    ----------
    sums : ndarray of shape (2 ** width, n)
        Weight of the fail masks that lack all players whom the instance fails, by the others: in
        the order of their bits.
    k : ndarray of shape (n,), int64
        The path players of each leaf.
    index : {"shapley", "banzhaf"}

    Returns
    -------
    own : ndarray of shape (n,)
    joint : ndarray of shape (width + 1, n)
        The joint mean at the instance's own fail mask, and at those that each other player joins.
    """
    size, weights = len(sums), _weights(index, int(k.max()))
    width = size.bit_length() - 1
    powers = weights.powers[: width + 1].take(k, axis=-1)
    sums = sums[:, None] * powers.take(np.bitwise_count(np.arange(size)), axis=0)
    # First the sums at the own mask, then those at the masks that a player joins
    sums = sums[:, None]
    for n in range(1, width + 1):
        pairs = sums.reshape(-1, 2, *sums.shape[1:])
        sums = np.empty((len(pairs), n + 1, *sums.shape[2:]))
        np.add(pairs[:, 0], pairs[:, 1], out=sums[:, :n])
        sums[:, n] = pairs[:, 0, 0]
    reached = sums[0] * weights.rest[:, k - width, k]
    if width:
        reached[1:] = sums[0, 1:] * weights.rest[:, k - width + 1, k]
    of_own, of_joint = weights.combine.take(k, axis=-1)
    return added(of_own, reached[0]), added(of_joint, reached.swapaxes(0, 1))


class _Weights(NamedTuple):
    """What `mean_weights` gives for leaves of 0, 1, ... path players, padded with zeros.

    Attributes
    ----------
    powers : ndarray of shape (n, q, n)
        By the exponent, the node and the number of path players.
    rest : ndarray of shape (q, n, n)
        By the node, the exponent and the number of path players.
    combine : ndarray of shape (2, q, n)
    """

    powers: np.ndarray
    rest: np.ndarray
    combine: np.ndarray


@cache
def _weights(index, most) -> _Weights:
    """Return the weights for leaves of up to so many path players."""
    n, q = most + 1, mean_weights(index, most)[0].shape[1]
    powers, rest, combine = np.zeros((n, q, n)), np.zeros((q, n, n)), np.zeros((2, q, n))
    for k in range(n):
        of_t, of_rest, means = mean_weights(index, k)
        nodes = slice(of_t.shape[1])
        powers[: k + 1, nodes, k] = of_t
        rest[nodes, : k + 1, k] = of_rest.T
        combine[:, nodes, k] = means
    return _Weights(powers, rest, combine)


class Terms(NamedTuple):
    """What every path player of every leaf is added to.

    Attributes
    ----------
    leaf, at : ndarray of shape (n_terms,), int64
        The leaf, and the place in the joint means.
    value : ndarray of shape (n_terms,)
        What the leaf adds to the output.
    cell : ndarray of shape (n_terms,), int64
        The output and player that each term is added to.
    shape : tuple of int
        The number of outputs, and that of players.
    most : int
        No leaf has more path players.
    """

    leaf: np.ndarray
    at: np.ndarray
    value: np.ndarray
    cell: np.ndarray
    shape: tuple[int, int]
    most: int

    def summed(self, own, joint, grid) -> NDArray[np.float64]:
        """Return the sums of instances, ``(n_outputs, n_players, r)``.

        Parameters
        ----------
        own : ndarray of shape (n_leaves, r)
        joint : ndarray of shape (n_leaves, r, most)
        grid : float
            On which sums are exact in any order.
        """
        n_cells, values = self.shape[0] * self.shape[1], []
        for row in range(own.shape[1]):
            terms = on_grid(own[:, row].take(self.leaf), self.value, grid)
            terms += on_grid(joint[:, row].ravel().take(self.at), self.value, grid)
            values.append(np.bincount(self.cell, terms, minlength=n_cells).reshape(self.shape))
        return np.stack(values, axis=-1)


def _list_terms(laws, n_outputs, n_players) -> Terms:
    most = max(1, *(one.chunk.leaf_players.shape[1] for one in laws))
    leaves, places, values, cells, start = [], [], [], [], 0
    for chunk, _, _, worth in laws:
        leaf, bit = np.nonzero(chunk.leaf_players >= 0)
        player = chunk.leaf_players[leaf, bit]
        for output, value in zip(chunk.outputs.tolist(), worth.T, strict=True):
            leaves.append(start + leaf)
            places.append((start + leaf) * most + bit)
            values.append(value[leaf])
            cells.append(output * n_players + player)
        start += len(chunk.leaves)
    leaf, at, value, cell = (np.concatenate(part) for part in (leaves, places, values, cells))
    return Terms(leaf, at, value, cell, (n_outputs, n_players), most)
