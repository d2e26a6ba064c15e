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
from skshapley._ensembles._leaf_games import added, mean_weights

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
    n_path: np.ndarray
    group: np.ndarray
    masks: np.ndarray
    first_mask: np.ndarray
    law: np.ndarray
    first_weight: np.ndarray
    terms: "Terms"

    @classmethod
    def of(cls, laws: Sequence[LeafLaw], first_groups, index, n_outputs, n_players) -> Self:
        """Put the leaves of some chunks one after another.

        Parameters
        ----------
        laws : sequence of LeafLaw
            In the order in which their sums are added.
        first_groups : sequence of int
            The first group of each chunk, counted over all blocks.
        index : {"shapley", "banzhaf"}
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
                own[part], joint[part] = self._fold(leaf[part], passed[part], width)
        return self.terms.summed(own.reshape(n, r), joint.reshape(n, r, -1))

    def _fold(self, leaves, passed, width) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the two means, ``(n,)`` and ``(n, most)``, of leaves that so many players pass."""
        k, weights = self.n_path[leaves], _weights(self.index, int(self.n_path[leaves].max()))
        players, at, rest = [], self.first_weight[leaves][None], passed
        for _ in range(width):
            players.append(rest & -rest)
            at = np.concatenate([at, at + players[-1]])
            rest = rest ^ players[-1]
        powers = weights.powers[: width + 1].take(k, axis=-1)
        powers = powers.take(np.bitwise_count(np.arange(len(at))), axis=0)
        sums = self.law.take(at)[:, None] * powers
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
        found = added(of_joint, reached.swapaxes(0, 1))
        joint = np.repeat(found[0, :, None], self.terms.most, axis=1)
        for player, worth in zip(players, found[1:], strict=True):
            joint[np.arange(len(k)), np.bitwise_count(player - 1)] = worth
        return added(of_own, reached[0]), joint


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
        Group by group and player by player. The leaf, and the place in the joint means.
    value : ndarray of shape (n_terms,)
        What the leaf adds to the output.
    found : ndarray of shape (n_terms,), int64
        The sum of the group's leaves that each term is added to.
    subtotal : ndarray of shape (n_found,), int64
        The sum of the chunk's groups that each of these is added to, then.
    outputs : list of int
        The output that the subtotals of all players are added to, chunk by chunk.
    n_outputs, n_players : int
    most : int
        No leaf has more path players.
    """

    leaf: np.ndarray
    at: np.ndarray
    value: np.ndarray
    found: np.ndarray
    subtotal: np.ndarray
    outputs: list[int]
    n_outputs: int
    n_players: int
    most: int

    def summed(self, own, joint) -> NDArray[np.float64]:
        """Return the sums of instances, ``(n_outputs, n_players, r)``, in the order of tables.

        Parameters
        ----------
        own : ndarray of shape (n_leaves, r)
        joint : ndarray of shape (n_leaves, r, most)
        """
        shape = len(self.outputs), self.n_players
        values = np.zeros((self.n_outputs, self.n_players, own.shape[1]))
        for row in range(own.shape[1]):
            own_means = own[:, row].take(self.leaf)
            joint_means = joint[:, row].ravel().take(self.at)
            terms = self.value * own_means + self.value * joint_means
            found = np.bincount(self.found, terms)
            subtotals = np.bincount(self.subtotal, found, minlength=shape[0] * shape[1])
            for output, subtotal in zip(self.outputs, subtotals.reshape(shape), strict=True):
                values[output, :, row] += subtotal
        return values


def _list_terms(laws, n_outputs, n_players) -> Terms:
    most = max(1, *(one.chunk.leaf_players.shape[1] for one in laws))
    leaves, groups, players, bits, values, outputs, sizes = [], [], [], [], [], [], []
    n_leaves = n_groups = 0
    for chunk, _, _, worth in laws:
        leaf, bit = np.nonzero(chunk.leaf_players >= 0)
        for output, value in zip(chunk.outputs.tolist(), worth.T, strict=True):
            leaves.append(n_leaves + leaf)
            groups.append(n_groups + chunk.leaf_group[leaf])
            players.append(chunk.leaf_players[leaf, bit])
            bits.append(bit)
            values.append(value[leaf])
            outputs.append(output)
            sizes.append(len(leaf))
            n_groups += chunk.n_groups
        n_leaves += len(chunk.leaves)
    leaf, group, player, bit = (np.concatenate(part) for part in (leaves, groups, players, bits))
    # Group by group, player by player and, within these, leaf by leaf
    key = group * n_players + player
    packed = key * len(key) + np.arange(len(key))
    packed.sort()  # which is stable, and takes a tenth of the time of argsort
    key, order = np.divmod(packed, len(key))
    new = np.diff(key, prepend=-1) != 0
    return Terms(
        leaf=leaf[order],
        at=(leaf * most + bit)[order],
        value=np.concatenate(values)[order],
        found=np.cumsum(new) - 1,
        subtotal=(np.repeat(np.arange(len(sizes)), sizes) * n_players + player)[order][new],
        outputs=outputs,
        n_outputs=n_outputs,
        n_players=n_players,
        most=most,
    )
