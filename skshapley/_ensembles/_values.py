"""Exact values of tree ensembles: plain arrays in, plain arrays out."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.parallel import Parallel, delayed

from skshapley._ensembles._codes import plan_codes, predict
from skshapley._ensembles._ensemble import TreeEnsemble
from skshapley._ensembles._grouping import find_groups
from skshapley._ensembles._groups import Chunk, Groups
from skshapley._ensembles._interactions import add_interactions
from skshapley._ensembles._leaf_games import INDICES
from skshapley._ensembles._paths import Paths, trace_paths
from skshapley._ensembles._references import Background, TrainingData
from skshapley._ensembles._tables import chunk_table, look_up
from skshapley._tools._memory import working_bytes

# Instances that are looked up together, so that their patterns stay in the cache
ROWS = 512
# Most instances for which a table that is not kept is made once
STREAM_ROWS = 8192
# Share of the working memory that the patterns of instances or of background rows may take
PATTERN_SHARE = 0.2
LEAST_ROWS = 256
# Leaves of the trees that are handled together
LEAVES = 8192
# Subtrees of up to this number of bits are looked up as one
MAX_BITS = 7
CHUNK_SIZE = 1 << 15
# Leaves of more path players have no table that is kept
MOST_KEPT_BITS = 12
# Share of the working memory that the tables which are kept may take
TABLE_SHARE = 0.5


@dataclass(frozen=True, eq=False)
class _Block:
    """Some trees of the ensemble with their groups."""

    trees: TreeEnsemble
    paths: Paths
    groups: Groups

    @property
    def pattern_rows(self) -> int:
        """Return how many rows fit into the working memory with their patterns in the groups."""
        budget = working_bytes(PATTERN_SHARE)
        bytes_per_row = self.groups.n_groups * self.groups.patterns.dtype.itemsize
        return max(LEAST_ROWS, int(budget) // bytes_per_row)


@dataclass(frozen=True, eq=False)
class _Table:
    """The table of a chunk, kept from fit on."""

    block: _Block
    chunk: Chunk
    entries: np.ndarray
    owner: sparse.csr_array


class TreeValues:
    """Exact values of instances under a tree ensemble.

    Parameters
    ----------
    trees : TreeEnsemble
    players : ndarray of shape (n_features,), int, or None, default=None
        The player that each feature belongs to, counted from 0. The features of one player enter
        together. None: each feature is a player of its own.
    index : {"shapley", "banzhaf"}, default="shapley"
    n_jobs : int or None, default=None
        Threads over blocks of instances and of trees. The results do not depend on it.
    n_players : int or None, default=None
        Number of players, of whom the last may own no feature. None: those that own some.

    Attributes
    ----------
    n_players : int
    base_values : ndarray of shape (n_outputs,)
        Mean response over the background or the training data; known after a fit.
    """

    base_values: NDArray[np.float64]
    _reference: Background | TrainingData
    _tables: list[_Table]

    def __init__(self, trees, players=None, index="shapley", n_jobs=None, n_players=None) -> None:
        if index not in INDICES:
            raise ValueError(f"TreeValues got index={index!r}: choose one of {INDICES}.")
        self.trees, self.index, self.n_jobs = trees, index, n_jobs
        self.players = np.arange(trees.n_features) if players is None else np.asarray(players)
        self.n_players = int(self.players.max()) + 1 if n_players is None else n_players
        self._codes = plan_codes(trees)
        self._blocks = list(self._make_blocks())

    def _make_blocks(self) -> Iterator[_Block]:
        trees = self.trees
        n_leaves = np.add.reduceat(trees.is_leaf, trees.roots, dtype=np.int64)
        number = np.cumsum(n_leaves) // LEAVES
        bounds = [0, *(np.flatnonzero(np.diff(number)) + 1).tolist(), trees.n_trees]
        for first, last in pairwise(bounds):
            some = trees.take_trees(first, last)
            start = trees.roots[first]
            nodes = slice(start, start + some.n_nodes)
            paths = trace_paths(some, np.where(some.is_leaf, -1, self.players[some.feature]))
            row, rank = self._codes.row[nodes], self._codes.rank[nodes]
            yield _Block(some, paths, find_groups(some, paths, row, rank, MAX_BITS, CHUNK_SIZE))

    def fit(self, background, weights=None) -> Self:
        """Let background rows stand in for absent players (the interventional game).

        Parameters
        ----------
        background : ndarray of shape (b, n_features)
        weights : ndarray of shape (b,) or None, default=None
            Non-negative, with a positive sum. None: equal weights.

        Returns
        -------
        self
        """
        b = len(background)
        weights = np.full(b, 1.0 / b) if weights is None else weights / np.sum(weights)
        return self._fit(Background(self._codes(background), weights))

    def fit_path_dependent(self) -> Self:
        """Let absent players follow the training data down the trees.

        Returns
        -------
        self
        """
        return self._fit(TrainingData())

    def _fit(self, reference) -> Self:
        self._reference = reference
        kept = self._choose_kept()
        fitted = self._each(self._fit_block, ((block, kept) for block in self._blocks))
        self._tables = [table for tables, _ in fitted for table in tables]
        self.base_values = self.trees.base + sum(base for _, base in fitted)
        return self

    def _choose_kept(self) -> set[Chunk]:
        """Return the chunks whose tables are kept: all if they fit into memory, else the smallest.

        If not all fit, chunks of single leaves go first: they can do without a table, and with many
        of them the tables cost more than a few instances.
        """
        budget = working_bytes(TABLE_SHARE) / 8
        chunks = [chunk for block in self._blocks for chunk in block.groups.chunks]
        chunks = [chunk for chunk in chunks if chunk.n_bits <= MOST_KEPT_BITS]
        if sum(chunk.table_size for chunk in chunks) > budget:
            chunks = [chunk for chunk in chunks if not chunk.is_single_leaves]
        chunks.sort(key=lambda chunk: chunk.table_size)
        taken = np.cumsum([chunk.table_size for chunk in chunks])
        return set(chunks[: np.searchsorted(taken, budget, side="right")])

    def _fit_block(self, block, kept) -> tuple[list[_Table], NDArray[np.float64]]:
        """Return the tables of a block that are kept, and its part of the base values."""
        laws: dict[Chunk, tuple] = {}
        base = block.trees.value[block.trees.roots].sum(axis=0)
        for piece in self._reference.pieces(block):
            for chunk in block.groups.chunks:
                if chunk in kept or not chunk.is_single_leaves:
                    masks = block.groups.fail_masks(chunk)
                    law = piece.law(chunk, masks)
                    reached = law[np.cumsum(1 << chunk.n_path) - (1 << chunk.n_path)]
                else:
                    reached = piece.reached(chunk)
                base = base + reached @ block.trees.value[chunk.leaves]
                if chunk in kept:
                    laws[chunk] = masks, law + laws.get(chunk, (None, 0.0))[1]
        tables = [
            _Table(block, chunk, self._make_table(block, chunk, masks, law), self._owner(chunk))
            for chunk, (masks, law) in laws.items()
        ]
        return tables, base

    def _make_table(self, block, chunk, masks, law) -> NDArray[np.float64]:
        values = block.trees.value[np.ix_(chunk.leaves, chunk.outputs)]
        return chunk_table(chunk, masks, law, values, self.index)

    def _owner(self, chunk) -> sparse.csr_array:
        """Return the matrix that sums the columns of a chunk's groups into players."""
        n, player = chunk.players.size, chunk.players.ravel()
        order = np.argsort(player, kind="stable")
        first = np.searchsorted(player[order], np.arange(self.n_players + 1))
        return sparse.csr_array((np.ones(n), order, first), shape=(self.n_players, n))

    def values(self, X) -> NDArray[np.float64]:
        """Return the values of the players, for each instance and output.

        Parameters
        ----------
        X : ndarray of shape (r, n_features)

        Returns
        -------
        values : ndarray of shape (r, n_players, n_outputs)
        """
        codes = self._codes(X)
        kept = {table.chunk for table in self._tables}
        starts = range(0, len(X), ROWS)
        parts = self._each(self._look_up, ((codes[:, i : i + ROWS],) for i in starts))
        values = np.concatenate(parts, axis=2)
        rest = [
            (block, [chunk for chunk in block.groups.chunks if chunk not in kept])
            for block in self._blocks
        ]
        rest = [(block, chunks) for block, chunks in rest if chunks]
        width = min([STREAM_ROWS, *(block.pattern_rows for block, _ in rest)])
        for first in range(0, len(X) if rest else 0, width):
            part = slice(first, first + width)
            some = codes[:, part]
            for block_values in self._each(self._stream, ((b, c, some) for b, c in rest)):
                values[:, :, part] += block_values
        return np.ascontiguousarray(values.transpose(2, 1, 0))

    def interactions(self, X, index=None) -> NDArray[np.float64]:
        """Return the interactions of all pairs of players under the interventional game.

        Parameters
        ----------
        X : ndarray of shape (r, n_features)
        index : Index, "shapley", "banzhaf" or None, default=None
            Of the interactions; None for that of the values.

        Returns
        -------
        interactions : ndarray of shape (r, n_players, n_players, n_outputs)
            Half the interaction index off the diagonal; the rows sum to `values`.
        """
        codes, k, p = self._codes(X), self.trees.n_outputs, self.n_players
        result = np.empty((len(X), p, p, k))
        width = min([STREAM_ROWS, *(block.pattern_rows for block in self._blocks)])
        for first in range(0, len(X), width):
            part = slice(first, first + width)
            some = codes[:, part]
            pairs = np.zeros((k, p, p, some.shape[1]))
            for block in self._blocks:
                add_interactions(pairs, block, self._reference, some, index or self.index)
            result[part] = pairs.transpose(3, 1, 2, 0) / 2
        result += result.transpose(0, 2, 1, 3)
        player = np.arange(p)
        result[:, player, player] = self.values(X) - result.sum(axis=2)
        return result

    def predict(self, X) -> NDArray[np.float64]:
        """Return the response of the ensemble, ``(r, n_outputs)``, by walking its trees."""
        return predict(self.trees, self._codes, self._codes(X))

    def _look_up(self, codes) -> NDArray[np.float64]:
        """Return values of some instances by the kept tables, ``(n_outputs, n_players, r)``."""
        values = np.zeros((self.trees.n_outputs, self.n_players, codes.shape[1]))
        patterns, of = np.empty((0, 0)), None
        for table in self._tables:
            if table.block is not of:
                of = table.block
                patterns = of.groups.patterns(codes)
            found = look_up(table.entries, patterns[table.chunk.groups], table.chunk.n_bits)
            _add(values, table.chunk.outputs, table.owner, found)
        return values

    def _stream(self, block, chunks, codes) -> NDArray[np.float64]:
        """Return values of some instances by tables that are not kept, or by none."""
        r = codes.shape[1]
        values = np.zeros((self.trees.n_outputs, self.n_players, r))
        patterns = block.groups.patterns(codes)
        for piece in self._reference.pieces(block):
            for chunk in chunks:
                own = patterns[chunk.groups]
                table_cost = len(chunk.leaves) * chunk.n_bits**2 << chunk.n_bits
                if chunk.is_single_leaves and piece.direct_cost(chunk, r) < table_cost:
                    found = self._without_table(block, chunk, piece, own)
                else:
                    fails = block.groups.fail_masks(chunk)
                    law = piece.law(chunk, fails)
                    entries = self._make_table(block, chunk, fails, law)
                    found = look_up(entries, own, chunk.n_bits)
                _add(values, chunk.outputs, self._owner(chunk), found)
        return values

    def _without_table(self, block, chunk, piece, masks) -> NDArray[np.float64]:
        """Return what `look_up` finds in a chunk's table, without the table."""
        games = piece.direct(chunk, masks, self.index).transpose(2, 0, 1)
        values = block.trees.value[np.ix_(chunk.leaves, chunk.outputs)].T
        return (games * values[:, None, :, None]).reshape(len(values), -1, masks.shape[1])

    def _each(self, function, arguments) -> list:
        """Return ``function(*a)`` for each of the arguments, by `n_jobs` threads.

        One thread does without joblib, whose objects live on in cycles until the collector comes.
        """
        if effective_n_jobs(self.n_jobs) == 1:
            return [function(*a) for a in arguments]
        run = Parallel(n_jobs=self.n_jobs, require="sharedmem")
        return run(delayed(function)(*a) for a in arguments)


def _add(values, outputs, owner, found) -> None:
    """Add the sums over the columns of some groups to the players.

    Parameters
    ----------
    values : ndarray of shape (n_outputs, n_players, r)
        Added to in place.
    outputs : ndarray of int
    owner : sparse array of shape (n_players, n_columns)
    found : ndarray of shape (len(outputs), n_columns, r)
    """
    for output, columns in zip(outputs, found, strict=True):
        values[output] += owner @ columns
