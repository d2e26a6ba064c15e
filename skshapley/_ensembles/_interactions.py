"""Interactions of pairs of players in a tree ensemble, summed over its leaves."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skshapley._ensembles._groups import Chunk
from skshapley._ensembles._leaf_pairs import leaf_interactions
from skshapley._tools._memory import working_bytes

# Leaves of more path players meet the fail masks of both sides directly
MOST_TABLE_BITS = 10
# Instances that are looked up together
ROWS = 512
# Numbers in the tables of the leaves that are handled together
BATCH = 1 << 20
# Share of the working memory that the tables which are kept may take
TABLE_SHARE = 0.25


class PairValues:
    """The interactions of the pairs in the trees of an ensemble, against one reference.

    The tables of the leaves are made by the first call, and kept if they fit into memory.

    Parameters
    ----------
    blocks : list of Block
    reference : Background or TrainingData
    n_players : int
    index : {"shapley", "banzhaf"}
    """

    def __init__(self, blocks, reference, n_players, index) -> None:
        self.blocks, self.reference = blocks, reference
        self.n_players, self.index = n_players, index
        size = sum(_table_size(chunk) for block in blocks for chunk in block.groups.chunks)
        self._keeps = 8 * size <= working_bytes(TABLE_SHARE)
        self._kept: dict[Any, list[tuple[Chunk, _PairTable]] | None] = {}

    def add(self, totals, block, codes) -> None:
        """Add the interactions of the pairs in a block, for some instances.

        Parameters
        ----------
        totals : ndarray of shape (n_outputs, n_players, n_players, r)
            Added to in place, at the pairs ``i < j`` only.
        block : Block
        codes : ndarray of shape (n_rows, r), unsigned
            Of the instances.
        """
        patterns, chunks = block.groups.patterns(codes), block.groups.chunks
        kept = self._kept.get(block)
        if kept is None:
            laws = self._laws(block)
            tables = ((c, table) for c in laws for table in self._tables(block, c, *laws[c]))
            kept = self._kept[block] = list(tables) if self._keeps else None
        for chunk, table in tables if kept is None else kept:
            table.add(totals, patterns[chunk.groups])
        direct = [c for c in chunks if not _has_table(c) and c.n_bits > 1]
        for piece in self.reference.pieces(block) if direct else ():
            for chunk in direct:
                part = patterns[chunk.groups]
                _add_directly(totals, block, chunk, piece, part, self.index)

    def _laws(self, block) -> dict[Chunk, tuple[np.ndarray, np.ndarray]]:
        """Return the fail masks of the leaves that have tables, and the reference's law on them."""
        laws: dict[Chunk, tuple] = {}
        for piece in self.reference.pieces(block):
            for chunk in filter(_has_table, block.groups.chunks):
                fails, so_far = laws.get(chunk) or (block.groups.fail_masks(chunk), 0.0)
                laws[chunk] = fails, so_far + piece.law(chunk, fails)
        return laws

    def _tables(self, block, chunk, fails, law) -> Iterator["_PairTable"]:
        """Yield the tables of a chunk, of some leaves each with as many path players."""
        start = np.cumsum(1 << chunk.n_path) - (1 << chunk.n_path)
        for k in np.unique(chunk.n_path[chunk.n_path > 1]).tolist():
            first, last = np.searchsorted(chunk.n_path, [k, k + 1])
            step = max(1, 2 * BATCH // (k * (k - 1) * max(ROWS, 1 << k)))
            for at in range(first, last, step):
                leaves = np.arange(at, min(at + step, last))
                h = law[start[leaves] + np.arange(1 << k)[:, None]]
                values = block.trees.value[np.ix_(chunk.leaves[leaves], chunk.outputs)]
                keys = pair_keys(chunk.leaf_players[leaves, :k], self.n_players)
                yield _PairTable(
                    fails=fails[leaves],
                    group=chunk.leaf_group[leaves],
                    entries=leaf_interactions(h, self.index).reshape(-1, h.size),
                    sums=_PairSums.of(chunk.outputs, keys, values, self.n_players),
                )


def _has_table(chunk) -> bool:
    """Return whether the leaves of a chunk are looked up, and not too large for it."""
    return chunk.n_bits > 1 and not (chunk.is_single_leaves and chunk.n_bits > MOST_TABLE_BITS)


def _table_size(chunk) -> int:
    """Return the number of entries of the tables of a chunk."""
    k = chunk.n_path
    return int((k * (k - 1) // 2 << k).sum()) if _has_table(chunk) else 0


@dataclass(frozen=True, eq=False)
class _PairTable:
    """The interactions in some leaves, for every fail mask.

    Attributes
    ----------
    fails : ndarray of shape (n_leaves, 2 ** n_bits), int64
        The fail mask at each leaf, for every pattern in its group.
    group : ndarray of shape (n_leaves,), int64
        The group of each leaf, in its chunk.
    entries : ndarray of shape (n_pairs, 2 ** k * n_leaves)
        See `leaf_interactions`.
    sums : _PairSums
    """

    fails: np.ndarray
    group: np.ndarray
    entries: np.ndarray
    sums: "_PairSums"

    def add(self, totals, patterns) -> None:
        """Add the interactions for instances with these patterns, ``(n_groups, r)``."""
        n = len(self.fails)
        for row in range(0, patterns.shape[1], ROWS):
            part = slice(row, row + ROWS)
            masks = np.take_along_axis(
                self.fails, patterns[self.group, part].astype(np.intp), axis=1
            )
            slot = masks * n + np.arange(n)[:, None]
            self.sums.add(totals[..., part], np.take(self.entries, slot, axis=1))


def _add_directly(totals, block, chunk, piece, patterns, index) -> None:
    """Add the interactions in a chunk of single leaves, without tables, some leaves at a time."""
    n_pairs = chunk.n_bits * (chunk.n_bits - 1) // 2
    rows, leaves = piece.pairs_at_once(n_pairs)
    for first in range(0, len(chunk.leaves), leaves):
        some = slice(first, first + leaves)
        values = block.trees.value[np.ix_(chunk.leaves[some], chunk.outputs)]
        keys = pair_keys(chunk.leaf_players[some, : chunk.n_bits], totals.shape[1])
        sums = _PairSums.of(chunk.outputs, keys, values, totals.shape[1])
        for row in range(0, patterns.shape[1], rows):
            part = slice(row, row + rows)
            found = piece.interactions(chunk, some, patterns[some, part], index)
            if found is not None:
                sums.add(totals[..., part], found)


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
class _PairSums:
    """Which interactions in some leaves add to which pair of players.

    Attributes
    ----------
    outputs : ndarray of int
    first, second : ndarray of shape (n_distinct,), int64
        The players of the pairs.
    gather : list of sparse array of shape (n_distinct, n_pairs * n_leaves)
        The leaves' values for each output.
    """

    outputs: np.ndarray
    first: np.ndarray
    second: np.ndarray
    gather: list[sparse.csr_array]

    @classmethod
    def of(cls, outputs, keys, values, n_players) -> "_PairSums":
        """Return the sums of leaves with these `pair_keys` and values ``(n_leaves, n_outputs)``."""
        pairs, owner = np.unique(keys.ravel(), return_inverse=True)
        gather = []
        for value in values.T:
            weights = np.broadcast_to(value, keys.shape).ravel()
            gather.append(sparse.coo_array((weights, (owner, np.arange(keys.size)))).tocsr())
        return cls(outputs, *np.divmod(pairs, n_players), gather)

    def add(self, totals, found) -> None:
        """Add what was found, ``(n_pairs, n_leaves, r)``."""
        terms = found.reshape(-1, found.shape[-1])
        for output, gather in zip(self.outputs, self.gather, strict=True):
            totals[output, self.first, self.second] += gather @ terms
