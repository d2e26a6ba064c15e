"""Interactions of pairs of players by tables of the leaves."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skshapley._tools._memory import working_bytes
from skshapley._trees._leaf_games import leaf_interactions, runs_of_leaves

# Rows that are looked up together
ROWS = 512
# Numbers in the tables of the leaves that are handled together
BATCH = 1 << 20
# Share of the working memory that the tables which are kept may take
TABLE_SHARE = 0.25


class PairTables:
    """The interactions of the pairs in the trees of an ensemble, against one reference.

    The tables are made by the first call, and kept if they fit into memory.

    Parameters
    ----------
    blocks : list of Block
    references : References
    n_outputs, n_players : int
    index : Index, "shapley" or "banzhaf"
    """

    def __init__(self, blocks, references, n_outputs, n_players, index) -> None:
        self.blocks, self.references, self.index = blocks, references, index
        self.n_outputs, self.n_players = n_outputs, n_players
        sizes = (pair_entries(chunk.n_path).sum() for block in blocks for chunk in block.chunks)
        self._keeps = sum(sizes) <= most_pair_entries()
        self._kept: dict[int, list[_PairTable]] = {}

    def values(self, codes) -> NDArray[np.float64]:
        """Return the interactions, ``(n_outputs, n_players, n_players, r)``.

        Parameters
        ----------
        codes : ndarray of shape (n_rows, r), unsigned
        """
        p, r = self.n_players, codes.shape[1]
        totals = np.zeros((self.n_outputs, p * p, r))
        for number, block in enumerate(self.blocks):
            patterns = block.patterns(codes)
            for table in self._tables(number, block):
                for first in range(0, r, ROWS):
                    part = slice(first, first + ROWS)
                    table.add(totals[..., part], patterns[:, part])
        found = totals.reshape(self.n_outputs, p, p, r)
        return found + found.swapaxes(1, 2)

    def _tables(self, number, block) -> "Iterable[_PairTable]":
        if not self._keeps:
            return self._make(block)
        if number not in self._kept:
            self._kept[number] = list(self._make(block))
        return self._kept[number]

    def _make(self, block) -> "Iterator[_PairTable]":
        """Yield the tables of a block, of some leaves each with as many path players."""
        background = self.references.patterns(block)
        for chunk in block.chunks:
            masks, law = self.references.law(block, chunk, background)
            group = chunk.groups.start + chunk.leaf_group
            for k, run, own in runs_of_leaves(chunk.n_path):
                h = law[own].reshape(-1, 1 << k)
                step = max(1, 2 * BATCH // max(1, k * (k - 1) * max(ROWS, 1 << k)))
                for at in range(run.start, run.stop if k > 1 else run.start, step):
                    leaves = slice(at, min(at + step, run.stop))
                    some = h[at - run.start : leaves.stop - run.start].T
                    values = block.trees.value[np.ix_(chunk.leaves[leaves], chunk.outputs)]
                    keys = self._keys(chunk.leaf_players[leaves, :k])
                    entries = leaf_interactions(np.ascontiguousarray(some), self.index)
                    yield _PairTable.of(
                        masks[leaves], group[leaves], entries, chunk.outputs, keys, values
                    )

    def _keys(self, players) -> NDArray[np.int64]:
        """Return the pairs of path players of leaves as numbers, ``(k (k - 1) / 2, n_leaves)``."""
        first, second = (players.T[bits] for bits in np.triu_indices(players.shape[1], 1))
        return np.minimum(first, second) * self.n_players + np.maximum(first, second)


def pair_entries(n_path) -> NDArray[Any]:
    """Return the number of entries in the tables of pairs of leaves with so many path players."""
    return n_path * (n_path - 1) / 2 * 2.0**n_path


def most_pair_entries() -> float:
    """Return how many entries of tables of pairs are kept."""
    return working_bytes(TABLE_SHARE) / 8


@dataclass(frozen=True, eq=False)
class _PairTable:
    """The interactions in some leaves, for every fail mask.

    Attributes
    ----------
    masks : ndarray of shape (n_leaves, 2 ** n_bits), unsigned
        The fail mask at each leaf, for every pattern in its group.
    group : ndarray of shape (n_leaves,), int64
        The group of each leaf, in its block.
    entries : ndarray of shape (n_pairs, 2 ** k * n_leaves)
        See `leaf_interactions`.
    outputs : ndarray of int
    pairs : ndarray of shape (n_distinct,), int64
        The pairs that the interactions belong to.
    owner : sparse array of shape (n_distinct, n_pairs * n_leaves)
    weights : ndarray of shape (len(outputs), n_pairs, n_leaves, 1)
        The leaf's value for each output.
    """

    masks: np.ndarray
    group: np.ndarray
    entries: np.ndarray
    outputs: np.ndarray
    pairs: np.ndarray
    owner: sparse.csr_array
    weights: np.ndarray

    @classmethod
    def of(cls, masks, group, entries, outputs, keys, values) -> "_PairTable":
        """Return the table of leaves with these pairs and values ``(n_leaves, n_outputs)``."""
        pairs, owner = np.unique(keys.ravel(), return_inverse=True)
        n = len(owner)
        matrix = sparse.coo_array((np.ones(n), (owner, np.arange(n)))).tocsr()
        weights = np.broadcast_to(values.T[:, None, :, None], (len(outputs), *keys.shape, 1))
        return cls(masks, group, entries.reshape(len(keys), -1), outputs, pairs, matrix, weights)

    def add(self, totals, patterns) -> None:
        """Add the interactions for rows with these patterns in the block's groups."""
        n = len(self.masks)
        masks = np.take_along_axis(self.masks, patterns[self.group].astype(np.intp), axis=1)
        slot = masks.astype(np.intp) * n + np.arange(n)[:, None]
        found = np.take(self.entries, slot, axis=1)
        for output, weights in zip(self.outputs, self.weights, strict=True):
            # Products first: a sum of products may be fused, and differ in its last bit.
            terms = (found * weights).reshape(-1, found.shape[-1])
            totals[output, self.pairs] += self.owner @ terms
