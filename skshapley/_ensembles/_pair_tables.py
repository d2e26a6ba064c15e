"""Tables of interactions in some leaves, and their sums over leaves into pairs of players."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

# Instances that are looked up together
ROWS = 512
# Entries that are looked up at once, for a few instances
FEW_ENTRIES = 1 << 18


@dataclass(frozen=True, eq=False)
class PairTable:
    """The interactions in some leaves, for every fail mask.

    Attributes
    ----------
    fails : ndarray of shape (n_leaves, 2 ** n_bits), unsigned
        The fail mask at each leaf, for every pattern in its group.
    group : ndarray of shape (n_leaves,), int64
        The group of each leaf, in its chunk.
    entries : ndarray of shape (n_pairs, 2 ** k * n_leaves)
        See `leaf_interactions`.
    sums : PairSums
    """

    fails: np.ndarray
    group: np.ndarray
    entries: np.ndarray
    sums: "PairSums"

    def add(self, totals, patterns) -> None:
        """Add the interactions for instances with these patterns, ``(n_groups, r)``."""
        n = len(self.fails)
        for row in range(0, patterns.shape[1], ROWS):
            part = slice(row, row + ROWS)
            masks = np.take_along_axis(
                self.fails, patterns[self.group, part].astype(np.intp), axis=1
            )
            slot = masks.astype(np.intp) * n + np.arange(n)[:, None]
            self.sums.add(totals[..., part], np.take(self.entries, slot, axis=1))


def pair_keys(players, n_players) -> NDArray[np.int64]:
    """Return the pairs of path players of each leaf as numbers ``i * n_players + j`` with i < j.

    Parameters
    ----------
    players : ndarray of shape (n_leaves, k), int64
    n_players : int

    Returns
    -------
    keys : ndarray of shape (k (k - 1) / 2, n_leaves), int64
        Pairs of bits in the order of ``np.triu_indices(k, 1)``.
    """
    first, second = (players.T[bits] for bits in np.triu_indices(players.shape[1], 1))
    return np.minimum(first, second) * n_players + np.maximum(first, second)


@dataclass(frozen=True, eq=False)
class PairSums:
    """Which interactions in some leaves add to which pair of players.

    Attributes
    ----------
    outputs : ndarray of int
    first, second : ndarray of shape (n_distinct,), int64
        The players of the pairs.
    owner : ndarray of shape (n_pairs * n_leaves,), int64
        Which distinct pair each interaction belongs to.
    weights : ndarray of shape (len(outputs), n_pairs * n_leaves)
        The leaf's value for each output.
    """

    outputs: np.ndarray
    first: np.ndarray
    second: np.ndarray
    owner: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, outputs, keys, values, n_players) -> "PairSums":
        """Return the sums of leaves with these `pair_keys` and values ``(n_leaves, n_outputs)``."""
        pairs, owner = np.unique(keys.ravel(), return_inverse=True)
        weights = np.broadcast_to(values.T[:, None], (len(outputs), *keys.shape))
        first, second = np.divmod(pairs, n_players)
        return cls(outputs, first, second, owner, weights.reshape(len(outputs), -1))

    @cached_property
    def _gather(self) -> sparse.csr_array:
        ones, n = np.ones(len(self.owner)), len(self.owner)
        return sparse.coo_array((ones, (self.owner, np.arange(n)))).tocsr()

    def add(self, totals, found) -> None:
        """Add what was found, ``(n_pairs, n_leaves, r)``."""
        terms = found.reshape(-1, found.shape[-1])
        for output, weights in zip(self.outputs, self.weights, strict=True):
            # Products first: a sum of products may be fused, and differ in its last bit.
            totals[output, self.first, self.second] += self._gather @ (terms * weights[:, None])


class FewPairs:
    """The tables of a block in one array, to be looked up at once for a few instances.

    Parameters
    ----------
    tables : list of (Chunk, PairTable)
    n_players : int
    """

    def __init__(self, tables, n_players) -> None:
        self.n_players = n_players
        self._flat = np.concatenate([table.entries.ravel() for _, table in tables])
        self._fails = np.concatenate([table.fails.ravel() for _, table in tables])
        group, fail_start, leaf, at, stride, weight, key = ([] for _ in range(7))
        n_leaves = n_entries = n_fails = 0
        for number, (chunk, table) in enumerate(tables):
            (n, width), (n_pairs, size) = table.fails.shape, table.entries.shape
            group.append(table.group + chunk.groups.start)
            fail_start.append(n_fails + np.arange(n) * width)
            own = n_entries + np.arange(n_pairs)[:, None] * size + np.arange(n)
            sums = table.sums
            cell = sums.first * n_players + sums.second
            for output, weights in zip(sums.outputs, sums.weights, strict=True):
                leaf.append(np.tile(n_leaves + np.arange(n), n_pairs))
                at.append(own.ravel())
                stride.append(np.full(own.size, n))
                weight.append(weights)
                key.append((number << 40) + output * n_players**2 + cell[sums.owner])
            n_leaves, n_entries, n_fails = (
                n_leaves + n,
                n_entries + table.entries.size,
                n_fails + table.fails.size,
            )
        self._group, self._fail_start = np.concatenate(group), np.concatenate(fail_start)
        self._leaf, self._at, self._stride = map(np.concatenate, (leaf, at, stride))
        self._weight = np.concatenate(weight)
        distinct, self._subtotal = np.unique(np.concatenate(key), return_inverse=True)
        self._cell = distinct & ((1 << 40) - 1)

    def suits(self, totals) -> bool:
        """Return whether so many instances are looked up at once."""
        return totals.flags.c_contiguous and len(self._at) * totals.shape[-1] <= FEW_ENTRIES

    def add(self, totals, patterns) -> None:
        """Add what `PairTable.add` adds for all tables, to the last bit."""
        r = totals.shape[-1]
        row = np.arange(r)
        pattern = patterns.take(self._group, axis=0).astype(np.int64)
        masks = self._fails.take(self._fail_start[:, None] + pattern)
        slot = masks.take(self._leaf, axis=0) * self._stride[:, None] + self._at[:, None]
        found = self._flat.take(slot) * self._weight[:, None]
        size = len(self._cell) * r
        sums = np.bincount((self._subtotal[:, None] * r + row).ravel(), found.ravel(), size)
        cell = (self._cell[:, None] * r + row).ravel()
        np.add.at(totals.reshape(-1), cell, sums)
