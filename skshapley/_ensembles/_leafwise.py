"""Exact values leaf by leaf: what instances fail at a leaf meets what the references fail.

Some leaves have tables that are kept. For the others a call makes tables, or does without.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skshapley._ensembles._ensemble import TreeEnsemble
from skshapley._ensembles._first_rows import LeafLaw
from skshapley._ensembles._grouping import find_groups
from skshapley._ensembles._groups import Chunk, Groups
from skshapley._ensembles._interactions import PairValues
from skshapley._ensembles._kept import KeptTables
from skshapley._ensembles._leaf_games import grid_of
from skshapley._ensembles._paths import Paths, runs_of_trees, trace_paths
from skshapley._ensembles._references import Background, TrainingData
from skshapley._ensembles._solved import SolvedChunk, single_table
from skshapley._ensembles._tables import add_columns, look_up, owner_of
from skshapley._ensembles._threads import each
from skshapley._tools._memory import working_bytes

# Instances that are looked up together, so that their patterns stay in the cache
ROWS = 512
# Most instances for which a table that is not kept is made once
STREAM_ROWS = 8192
# Share of the working memory that the patterns of instances or of background rows may take
PATTERN_SHARE = 0.2
LEAST_ROWS = 256
# Subtrees of up to this number of bits are looked up as one
MAX_BITS = 7
CHUNK_SIZE = 1 << 17
# Leaves of more path players have tables that are kept only where those are few
MOST_KEPT_BITS = 12
# Share of the working memory that the tables which are kept may take
TABLE_SHARE = 0.5


@dataclass(frozen=True, eq=False)
class Block:
    """Some trees of the ensemble with their groups."""

    trees: TreeEnsemble
    paths: Paths
    groups: Groups

    @property
    def pattern_rows(self) -> int:
        """Return how many rows fit into the working memory with their patterns in the groups."""
        budget = working_bytes(PATTERN_SHARE)
        bytes_per_row = self.groups.n_groups * self.groups.reader.dtype.itemsize
        return max(LEAST_ROWS, int(budget) // bytes_per_row)


def make_blocks(trees, codes, players) -> Iterator[Block]:
    """Yield the blocks of an ensemble.

    Parameters
    ----------
    trees : TreeEnsemble
    codes : Codes
        Of the whole ensemble.
    players : ndarray of shape (n_features,), int
    """
    for first, last in runs_of_trees(trees):
        some = trees.take_trees(first, last)
        start = trees.roots[first]
        nodes = slice(start, start + some.n_nodes)
        paths = trace_paths(some, np.where(some.is_leaf, -1, players[some.feature]))
        row, rank = codes.row[nodes], codes.rank[nodes]
        groups = find_groups(some, paths, row, rank, codes.sizes, MAX_BITS, CHUNK_SIZE)
        yield Block(some, paths, groups)


def surely_keeps_all(leaves, n_outputs) -> bool:
    """Return whether all tables are kept, by the numbers of leaves of 0, 1, ... path players.

    Parameters
    ----------
    leaves : ndarray of shape (n,), int64
    n_outputs : int
    """
    k = np.arange(len(leaves))
    entries = leaves * k * 2.0**k
    # Those of up to MAX_BITS may be looked up in groups, whose tables are at most so large.
    in_groups = leaves[: MAX_BITS + 1].sum() * MAX_BITS * 2.0**MAX_BITS
    few = entries[MAX_BITS + 1 : MOST_KEPT_BITS + 1].sum()
    size = n_outputs * (in_groups + entries[MAX_BITS + 1 :].sum())
    return entries[MOST_KEPT_BITS + 1 :].sum() <= few and size <= working_bytes(TABLE_SHARE) / 8


class Leafwise:
    """The values of instances by the leaves of an ensemble, against one reference.

    Parameters
    ----------
    trees : TreeEnsemble
    codes : Codes
        Of these trees, as the blocks.
    blocks : list of Block
    reference : Background or TrainingData
    n_players : int
    index : {"shapley", "banzhaf"}
    n_jobs : int or None

    Attributes
    ----------
    tables : KeptTables
    base_values : ndarray of shape (n_outputs,)
        Mean response over the reference.
    """

    def __init__(
        self, trees, codes, blocks, reference: Background | TrainingData, n_players, index, n_jobs
    ) -> None:
        self.trees, self.codes, self.blocks, self.reference = trees, codes, blocks, reference
        self.n_players, self.index, self.n_jobs = n_players, index, n_jobs
        kept = self._choose_kept()
        chunks = ((b.groups, c) for b in blocks for c in b.groups.chunks if c in kept)
        references = getattr(reference, "codes", None)
        self.grid = grid_of(trees)
        self.tables = KeptTables(
            chunks, trees.n_outputs, n_players, index, self.grid, codes, references
        )
        tasks = ((block, kept) for block in blocks)
        self.base_values = trees.base + sum(each(self._fit_block, tasks, n_jobs))
        rest = ((b, [c for c in b.groups.chunks if c not in kept]) for b in blocks)
        self._pairs: PairValues | None = None
        self._rest = [(block, chunks) for block, chunks in rest if chunks]

    @property
    def is_complete(self) -> bool:
        """Return whether every leaf has a table that is kept."""
        return not self._rest

    def _choose_kept(self) -> set[Chunk]:
        """Return the chunks whose tables are kept: all if they fit into memory, else the smallest.

        If not all fit, chunks of single leaves go first: they can do without a table, and with many
        of them the tables cost more than a few instances. Those of very many path players are kept
        if they tell no more values than all others together.
        """
        budget = working_bytes(TABLE_SHARE) / 8
        every = [chunk for block in self.blocks for chunk in block.groups.chunks]
        chunks = [chunk for chunk in every if chunk.n_bits <= MOST_KEPT_BITS]
        small = sum(chunk.n_values for chunk in chunks)
        if sum(chunk.n_values for chunk in every) <= 2 * small:
            chunks = every
        if sum(chunk.table_size for chunk in chunks) > budget:
            chunks = [chunk for chunk in chunks if not chunk.is_single_leaves]
        chunks.sort(key=lambda chunk: chunk.table_size)
        taken = np.cumsum([chunk.table_size for chunk in chunks])
        return set(chunks[: np.searchsorted(taken, budget, side="right")])

    def _fit_block(self, block, kept) -> NDArray[np.float64]:
        """Learn the laws of a block's leaves that are kept, and return its part of the base."""
        laws: dict[Chunk, tuple] = {}
        base = block.trees.value[block.trees.roots].sum(axis=0)
        for piece in self.reference.pieces(block):
            for chunk in block.groups.chunks:
                if chunk in kept or not chunk.is_single_leaves:
                    masks = block.groups.fail_masks(chunk)
                    law = piece.law(chunk, masks)
                    reached = law[np.cumsum(1 << chunk.n_path) - (1 << chunk.n_path)]
                else:
                    reached = piece.reached(chunk)
                base = base + reached @ block.trees.value[chunk.leaves]
                if chunk in kept:
                    laws[chunk] = masks, law + laws[chunk][1] if chunk in laws else law
        for chunk, (masks, law) in laws.items():
            self.tables.take(LeafLaw(chunk, masks, law, self._leaf_values(block, chunk)))
        return base

    def _leaf_values(self, block, chunk) -> NDArray[np.float64]:
        return block.trees.value[np.ix_(chunk.leaves, chunk.outputs)]

    def values(self, X) -> NDArray[np.float64]:
        """Return the values of the players, for each instance and output.

        Parameters
        ----------
        X : ndarray of shape (r, n_features)

        Returns
        -------
        values : ndarray of shape (n_outputs, n_players, r)
        """
        r, codes, few = len(X), self.codes(X), self.tables.values_of_few(X)
        values = self._from_tables(codes) if few is None else few.transpose(2, 1, 0)
        width = min([STREAM_ROWS, *(block.pattern_rows for block, _ in self._rest)])
        for first in range(0, r if self._rest else 0, width):
            part = slice(first, first + width)
            some = [(block, chunks, codes[:, part]) for block, chunks in self._rest]
            for block_values in each(self._stream, some, self.n_jobs):
                values[:, :, part] += block_values
        return values

    def values_of_few(self, X) -> NDArray[np.float64] | None:
        """Return `values` of few instances, ``(r, n_players, n_outputs)``; None where it cannot."""
        return self.tables.values_of_few(X) if self.is_complete else None

    def _from_tables(self, codes) -> NDArray[np.float64]:
        parts = [(codes[:, i : i + ROWS],) for i in range(0, codes.shape[1], ROWS)]
        found = each(self.tables.values, parts, self.n_jobs)
        return found[0] if len(found) == 1 else np.concatenate(found, axis=2)

    def interactions(self, codes, index) -> NDArray[np.float64]:
        """Return the interactions of the pairs of players ``i < j``, twice of what each has.

        Parameters
        ----------
        codes : ndarray of shape (n_rows, r), unsigned
        index : Index, "shapley" or "banzhaf"

        Returns
        -------
        interactions : ndarray of shape (n_outputs, n_players, n_players, r)
            Zero where ``i >= j``.
        """
        r, p, tables = codes.shape[1], self.n_players, self._pairs_by(index)
        result = np.zeros((self.trees.n_outputs, p, p, r))
        width = min([STREAM_ROWS, *(block.pattern_rows for block in self.blocks)])
        for first in range(0, r, width):
            part = slice(first, first + width)
            for block in self.blocks:
                tables.add(result[..., part], block, codes[:, part])
        return result

    def _pairs_by(self, index) -> PairValues:
        """Return the interactions by an index; those of the last one asked for are kept."""
        pairs = self._pairs
        if pairs is None or pairs.index != index:
            pairs = PairValues(self.blocks, self.reference, self.n_players, index)
            self._pairs = pairs
        return pairs

    def _stream(self, block, chunks, codes) -> NDArray[np.float64]:
        """Return values of some instances by tables that are not kept, or by none."""
        r = codes.shape[1]
        values = np.zeros((self.trees.n_outputs, self.n_players, r))
        patterns = block.groups.patterns(codes)
        for piece in self.reference.pieces(block):
            for chunk in chunks:
                own = patterns[chunk.groups]
                table_cost = len(chunk.leaves) * chunk.n_bits**2 << chunk.n_bits
                if chunk.is_single_leaves and piece.direct_cost(chunk, r) < table_cost:
                    found = self._without_table(block, chunk, piece, own)
                else:
                    fails = block.groups.fail_masks(chunk)
                    law, worth = piece.law(chunk, fails), self._leaf_values(block, chunk)
                    given = law, worth, self.index, self.grid
                    if chunk.is_single_leaves:
                        found = look_up(single_table(chunk, *given), own, chunk)
                    else:
                        found = SolvedChunk.of(chunk, fails, *given).values(own)
                add_columns(values, chunk.outputs, owner_of(chunk, self.n_players), found)
        return values

    def _without_table(self, block, chunk, piece, masks) -> NDArray[np.float64]:
        """Return what `look_up` finds in a chunk's table, without the table."""
        games = piece.direct(chunk, masks, self.index).transpose(2, 0, 1)
        values = self._leaf_values(block, chunk).T
        return (games * values[:, None, :, None]).reshape(len(values), -1, masks.shape[1])
