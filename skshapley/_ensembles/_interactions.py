"""Interactions of pairs of players in a tree ensemble, summed over its leaves."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from skshapley._ensembles._groups import Chunk
from skshapley._ensembles._leaf_pairs import leaf_interactions
from skshapley._ensembles._pair_tables import ROWS, FewPairs, PairSums, PairTable, pair_keys
from skshapley._tools._memory import working_bytes

# Leaves of more path players have tables only where those are few: else they meet the fail masks of
# both sides directly
MOST_TABLE_BITS = 10
# Tables of more path players are larger than any memory
MOST_COUNTED = 40
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
    index : Index, "shapley" or "banzhaf"
    """

    def __init__(self, blocks, reference, n_players, index) -> None:
        self.blocks, self.reference = blocks, reference
        self.n_players, self.index = n_players, index
        # Twice: chunk by chunk, and in one array for a few instances
        most = working_bytes(TABLE_SHARE) / 16
        every = [c for block in blocks for c in block.groups.chunks if c.n_bits > 1]
        every.sort(key=lambda chunk: chunk.n_bits if chunk.is_single_leaves else 0)
        sizes = np.cumsum([0, *map(_table_size, every)])
        n_small = sum(not c.is_single_leaves or c.n_bits <= MOST_TABLE_BITS for c in every)
        room = min(2 * sizes[n_small], most)
        n = max(n_small, np.searchsorted(sizes, room, side="right") - 1)
        self._tabled, self._keeps = set(every[:n]), sizes[n] <= most
        self._kept: dict[Any, list[tuple[Chunk, PairTable]]] = {}
        self._few: dict[Any, FewPairs] = {}

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
        patterns, chunks = block.groups.patterns(codes, tabulated=True), block.groups.chunks
        few = self._few.get(block)
        if few is not None and few.suits(totals):
            few.add(totals, patterns)
        else:
            for chunk, table in self._all_tables(block):
                table.add(totals, patterns[chunk.groups])
        direct = [c for c in chunks if c not in self._tabled and c.n_bits > 1]
        for piece in self.reference.pieces(block) if direct else ():
            for chunk in direct:
                part = patterns[chunk.groups]
                _add_directly(totals, block, chunk, piece, part, self.index)

    def _all_tables(self, block) -> Iterable[tuple[Chunk, PairTable]]:
        """Return the tables of a block, and keep them if there is room."""
        kept = self._kept.get(block)
        if kept is not None:
            return kept
        laws = self._laws(block)
        tables = ((c, table) for c in laws for table in self._tables(block, c, *laws[c]))
        if not self._keeps:
            return tables
        kept = self._kept[block] = list(tables)
        if kept:
            self._few[block] = FewPairs(kept, self.n_players)
        return kept

    def _laws(self, block) -> dict[Chunk, tuple[np.ndarray, np.ndarray]]:
        """Return the fail masks of the leaves that have tables, and the reference's law on them."""
        laws: dict[Chunk, tuple] = {}
        for piece in self.reference.pieces(block):
            for chunk in filter(self._tabled.__contains__, block.groups.chunks):
                fails, so_far = laws.get(chunk) or (block.groups.fail_masks(chunk), 0.0)
                laws[chunk] = fails, so_far + piece.law(chunk, fails)
        return laws

    def _tables(self, block, chunk, fails, law) -> Iterator[PairTable]:
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
                yield PairTable(
                    fails=fails[leaves],
                    group=chunk.leaf_group[leaves],
                    entries=leaf_interactions(h, self.index).reshape(-1, h.size),
                    sums=PairSums.of(chunk.outputs, keys, values, self.n_players),
                )


def _table_size(chunk) -> int:
    """Return the number of entries of the tables of a chunk."""
    k = chunk.n_path.clip(max=MOST_COUNTED)
    return int((k * (k - 1) // 2 << k).sum())


def _add_directly(totals, block, chunk, piece, patterns, index) -> None:
    """Add the interactions in a chunk of single leaves, without tables, some leaves at a time."""
    n_pairs = chunk.n_bits * (chunk.n_bits - 1) // 2
    rows, leaves = piece.pairs_at_once(n_pairs)
    for first in range(0, len(chunk.leaves), leaves):
        some = slice(first, first + leaves)
        values = block.trees.value[np.ix_(chunk.leaves[some], chunk.outputs)]
        keys = pair_keys(chunk.leaf_players[some, : chunk.n_bits], totals.shape[1])
        sums = PairSums.of(chunk.outputs, keys, values, totals.shape[1])
        for row in range(0, patterns.shape[1], rows):
            part = slice(row, row + rows)
            found = piece.interactions(chunk, some, patterns[some, part], index)
            if found is not None:
                sums.add(totals[..., part], found)
