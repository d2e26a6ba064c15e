"""Interactions of pairs of players by tables of the leaves."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skshapley._trees._costs import most_pair_entries, pair_entries
from skshapley._trees._leaf_games import leaf_interactions, runs_of_leaves
from skshapley._trees._tables import Table

# Rows in one lookup
ROWS = 512
# Numbers in the tables of leaves in one step
BATCH = 1 << 20
# The fail masks at leaves by pattern, the leaves' groups, the distinct pairs, and their sums
_PairTable = tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64], Table]


class PairTables:
    """The interactions of all pairs of players in an ensemble, against one background.

    The tables are made by the first call, and kept if they fit into memory.

    Parameters
    ----------
    blocks : list of Block
    references : References
    n_outputs, n_players : int
    index : Index
    """

    def __init__(self, blocks, references, n_outputs, n_players, index) -> None:
        self.blocks, self.references, self.index = blocks, references, index
        self.n_outputs, self.n_players = n_outputs, n_players
        chunks = (chunk for block in blocks for chunk in block.chunks)
        sizes = (pair_entries(c.n_path).sum() * len(c.outputs) for c in chunks)
        self._keeps = sum(sizes) <= most_pair_entries()
        self._kept: dict[int, list[_PairTable]] = {}

    def values(self, codes) -> NDArray[np.float64]:
        """Return the interactions, ``(n_outputs, n_players, n_players, r)``.

        Parameters
        ----------
        codes : ndarray of shape (n_rows, r), unsigned
        """
        p, k, r = self.n_players, self.n_outputs, codes.shape[1]
        rows = [codes[:, i : i + ROWS] for i in range(0, max(1, r), ROWS)]
        totals = [np.zeros((k * p * p, part.shape[1])) for part in rows]
        for number, block in enumerate(self.blocks):
            patterns = [block.patterns(part) for part in rows]
            for masks, group, pairs, table in self._tables(number, block):
                for total, own in zip(totals, patterns, strict=True):
                    failed = np.take_along_axis(masks, own[group].astype(np.intp), axis=1)
                    total[pairs] += table.sums(failed)
        found = np.concatenate(totals, axis=1).reshape(k, p, p, r)
        return found + found.swapaxes(1, 2)

    def _tables(self, number, block) -> Iterable[_PairTable]:
        if not self._keeps:
            return self._make(block)
        if number not in self._kept:
            self._kept[number] = list(self._make(block))
        return self._kept[number]

    def _make(self, block) -> Iterator[_PairTable]:
        """Yield the tables of a block, each for leaves with the same number of path players."""
        background = self.references.patterns(block)
        for chunk in block.chunks:
            masks, law = self.references.law(block, chunk, background)
            group = chunk.groups.start + chunk.leaf_group
            for k, run, own in runs_of_leaves(chunk.n_path):
                h = law[own].reshape(-1, 1 << k)
                step = max(1, 2 * BATCH // max(1, k * (k - 1) * max(ROWS, 1 << k)))
                for at in range(run.start, run.stop if k > 1 else run.start, step):
                    leaves = slice(at, min(at + step, run.stop))
                    some = h[at - run.start : leaves.stop - run.start]
                    entries = leaf_interactions(np.ascontiguousarray(some.T), self.index)
                    values = block.trees.value[np.ix_(chunk.leaves[leaves], chunk.outputs)]
                    keys = self._keys(chunk.leaf_players[leaves, :k])
                    keys = chunk.outputs[:, None, None] * self.n_players**2 + keys
                    yield masks[leaves], group[leaves], *_table_of(entries, values, keys)

    def _keys(self, players) -> NDArray[np.int64]:
        """Return the pairs of path players of leaves as numbers, ``(k (k - 1) / 2, n_leaves)``."""
        first, second = (players.T[bits] for bits in np.triu_indices(players.shape[1], 1))
        return np.minimum(first, second) * self.n_players + np.maximum(first, second)


def _table_of(entries, values, keys) -> tuple[NDArray[np.int64], Table]:
    """Return the distinct pairs of leaves, and the table of their sums by the leaves' masks.

    Parameters
    ----------
    entries : ndarray of shape (n_pairs, 2 ** k, n_leaves)
        See `leaf_interactions`.
    values : ndarray of shape (n_leaves, n_outputs)
    keys : ndarray of shape (n_outputs, n_pairs, n_leaves)
        The output and the pair of each interaction.
    """
    _, size, n = entries.shape
    made = entries.swapaxes(1, 2) * values.T[:, None, :, None]
    pairs, to = np.unique(keys.ravel(), return_inverse=True)
    output, pair, leaf = np.indices(keys.shape).reshape(3, -1)
    owner = np.stack([leaf, output * len(entries) + pair, to])
    each = np.arange(n)
    made = made.reshape(-1, n * size)
    return pairs, Table(made, size * each, each, 0 * each, owner, len(pairs), np.empty(0))
