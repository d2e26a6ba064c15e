"""Tables of the values in groups, looked up for any number of rows at a cost without background.

All numbers in the tables are multiples of a power of two that is small enough for sums over leaves
to be exact. So no bit of a value depends on the order of a sum, nor on how rows are looked up.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.parallel import Parallel, delayed

from skshapley._trees._costs import meets
from skshapley._trees._groups import Chunk
from skshapley._trees._leaf_games import leaf_means, runs_of_leaves
from skshapley._trees._meetings import Meetings
from skshapley._trees._path_dependent import training_law

# Terms that are added at once, and rows that are looked up at once, so that they stay in the cache
TERMS, ROWS = 1 << 17, 512
# Entries that are looked up without going through the chunks
FEW_ENTRIES = 1 << 18


@dataclass(frozen=True, eq=False)
class References:
    """The weighted background in the codes of an ensemble, or its training data.

    Attributes
    ----------
    codes : ndarray of shape (n_rows, b), unsigned, or None
        None: absent players follow the training data down the trees, in proportion to the covers.
    weights : ndarray of shape (b,)
        With sum 1.
    """

    codes: np.ndarray | None
    weights: np.ndarray

    def patterns(self, block) -> np.ndarray | None:
        """Return the patterns of the background in the groups of a block."""
        return None if self.codes is None else block.patterns(self.codes)

    def law(self, block, chunk, patterns) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return the fail masks at the leaves of a chunk, and the law of the references there.

        The law has ``2 ** n_path`` numbers for each leaf, one leaf after the other: the weight of
        the references on each fail mask. Sums of multiples of 2^-53 are exact in any order.
        """
        masks = block.fail_masks(chunk)
        if self.codes is None:
            return masks, training_law(block, chunk)
        weights, unit, bits = self.weights, self.weights[0], chunk.n_bits
        equal = (weights == unit).all()
        if not equal:
            weights, unit = np.rint(np.ldexp(weights, 53)), 2.0**-53
        # Signed, since NumPy 2.0 counts no unsigned numbers of 64 bits
        slot = patterns[chunk.groups].astype(np.intp)
        slot += (np.arange(len(slot)) << bits)[:, None]
        repeated = None if equal else np.broadcast_to(weights, slot.shape).ravel()
        law = np.bincount(slot.ravel(), repeated, chunk.n_groups << bits)
        if not chunk.is_single_leaves:
            size = 1 << chunk.n_path
            slot = masks + (np.cumsum(size) - size)[:, None]
            on_leaves = law.reshape(-1, 1 << bits)[chunk.leaf_group].ravel()
            law = np.bincount(slot.ravel(), on_leaves, int(size.sum()))
        return masks, law * unit


def grid_of(trees) -> float:
    """Return the grid on which sums over the leaves of an ensemble are exact in any order.

    It is some 2^-50 of the most that all trees may add up to.
    """
    largest = np.maximum.reduceat(np.abs(trees.value).max(axis=1), trees.roots).sum()
    return float(2.0 ** (np.ceil(np.log2(largest)) - 50)) if largest > 0 else 1.0


@dataclass(frozen=True, eq=False)
class Table:
    """The values in the groups of a chunk.

    Attributes
    ----------
    chunk : Chunk
    entries : ndarray of shape (n_outputs, n_planes, n_groups * 2 ** n_bits)
        By pattern, a plane for each path player of the groups. Of single leaves the own mean, and
        the joint one, see `_leaf_games`.
    mean : ndarray of shape (n_outputs,)
        Of the leaves, over the references.
    """

    chunk: Chunk
    entries: np.ndarray
    mean: np.ndarray

    @classmethod
    def of(cls, block, chunk, masks, law, index, grid) -> Self:
        """Return the table of a chunk.

        Parameters
        ----------
        block : Block
        chunk : Chunk
        masks, law : ndarray
            From `References.law`.
        index : {"shapley", "banzhaf"}
        grid : float
            See `grid_of`.
        """
        means = leaf_means(law, chunk.n_path, index)
        values = block.trees.value[np.ix_(chunk.leaves, chunk.outputs)]
        size, made = 1 << chunk.n_path, []
        for value in values.T / grid:
            scaled = means * np.repeat(value, size)
            np.rint(scaled, out=scaled)
            scaled *= grid
            made.append(scaled if chunk.is_single_leaves else _summed(chunk, masks, *scaled))
        return cls(chunk, np.stack(made), law[np.cumsum(size) - size] @ values)

    def find(self, patterns) -> NDArray[np.float64]:
        """Return the values in the columns of groups, ``(n_outputs, n_columns * n_groups, r)``.

        Parameters
        ----------
        patterns : ndarray of shape (n_groups, r), unsigned
            Of rows, in the groups of the chunk.
        """
        chunk, r = self.chunk, patterns.shape[1]
        slot = np.add(patterns, (np.arange(len(patterns)) << chunk.n_bits)[:, None], dtype=np.intp)
        if chunk.is_single_leaves:
            bits = 1 << np.arange(chunk.n_bits)[:, None, None]
            found = np.take(self.entries[:, 1], slot | bits, axis=1, mode="clip")
            found += np.take(self.entries[:, :1], slot, axis=2, mode="clip")
        else:
            found = np.take(self.entries, slot, axis=2, mode="clip")
        return found.reshape(len(found), -1, r)


def _summed(chunk, masks, own, joint) -> NDArray[np.float64]:
    """Return the sums over the leaves of each group, ``(n_columns, n_groups * 2 ** n_bits)``."""
    games, n_path = [], chunk.n_path
    for k, _, of_run in runs_of_leaves(n_path):
        mine, other = own[of_run].reshape(-1, 1, 1 << k), joint[of_run].reshape(-1, 1 << k)
        with_player = np.arange(1 << k) | 1 << np.arange(k)[:, None]
        games.append((other.take(with_player, axis=1) + mine).ravel())
    leaf, bit = np.nonzero(chunk.leaf_players >= 0)
    group, player = chunk.leaf_group[leaf], chunk.leaf_players[leaf, bit]
    slot = (chunk.players.T[group] < player[:, None]).sum(axis=1) * chunk.n_groups + group
    # Small integers are sorted by their digits.
    order = np.argsort(slot.astype(np.min_scalar_type(chunk.players.size)), kind="stable")
    leaf, bit, slot = leaf[order], bit[order], slot[order]
    start = (np.cumsum(n_path << n_path) - (n_path << n_path))[leaf] + (bit << n_path[leaf])
    first = np.searchsorted(slot, np.arange(chunk.players.size + 1))
    flat, table = np.concatenate(games), np.empty((chunk.players.size, 1 << chunk.n_bits))
    step = max(1, TERMS >> chunk.n_bits)
    cuts = np.searchsorted(first, np.arange(step, first[-1] + step, step), "right") - 1
    for a, b in pairwise(np.unique([0, *cuts, len(first) - 1]).tolist()):
        terms = slice(first[a], first[b])
        found = flat.take(start[terms, None] + masks.take(leaf[terms], axis=0), mode="clip")
        n, starts = len(found), first[a : b + 1] - first[a]
        table[a:b] = sparse.csr_array((np.ones(n), np.arange(n), starts), shape=(b - a, n)) @ found
    return table.reshape(len(chunk.players), -1)


Part = Table | Meetings


class Tables:
    """The values of the players by the groups of an ensemble.

    Parameters
    ----------
    trees : TreeEnsemble
    blocks : list of Block
    references : References
    n_players : int
    index : {"shapley", "banzhaf"}
    n_jobs : int or None
    """

    def __init__(self, trees, blocks, references, n_players, index, n_jobs) -> None:
        self.trees, self.blocks, self.references = trees, blocks, references
        self.index, self.n_jobs = index, n_jobs
        self.shape, self.grid = (trees.n_outputs, n_players), grid_of(trees)
        self._kept: list[list[Part]] | None = None

    def keep(self) -> Self:
        """Make all tables, and keep them."""
        self._kept = each(lambda block: list(self._make(block)), zip(self.blocks), self.n_jobs)
        self._few = _FewRows.of(self._kept, self.blocks, self.shape)
        return self

    @property
    def base_values(self) -> NDArray[np.float64]:
        """Return the mean response over the references, from tables that are kept."""
        # Trees that ask nothing are in no group
        total = self.trees.base + self.trees.value[self.trees.roots].sum(axis=0)
        for part in chain.from_iterable(self._kept or ()):
            total[part.chunk.outputs] += part.mean
        return total

    def _make(self, block) -> "Iterator[Part]":
        """Yield the tables of a block, or their replacements."""
        references, patterns = self.references, self.references.patterns(block)
        for chunk in block.chunks:
            if (
                patterns is None
                or not chunk.is_single_leaves
                or not meets(chunk.n_bits, len(references.weights))
            ):
                masks, law = references.law(block, chunk, patterns)
                yield Table.of(block, chunk, masks, law, self.index, self.grid)
            else:
                values = block.trees.value[np.ix_(chunk.leaves, chunk.outputs)].T
                own = patterns[chunk.groups]
                yield Meetings(chunk, own, references.weights, values, self.grid, self.index)

    def values(self, codes) -> NDArray[np.float64]:
        """Return the values of some rows, ``(n_outputs, n_players, r)``.

        Parameters
        ----------
        codes : ndarray of shape (n_rows, r), unsigned
        """
        r = codes.shape[1]
        if self._kept is None:
            parts = each(self._streamed, ((block, codes) for block in self.blocks), self.n_jobs)
            return sum(parts, np.zeros((*self.shape, r)))
        if len(self._few.start) * r <= FEW_ENTRIES:
            return self._few.values([block.patterns(codes) for block in self.blocks], self.shape)
        some = ((codes[:, i : i + ROWS],) for i in range(0, r, ROWS))
        return np.concatenate(each(self._looked_up, some, self.n_jobs), axis=2)

    def _looked_up(self, codes) -> NDArray[np.float64]:
        totals = np.zeros((*self.shape, codes.shape[1]))
        for block, parts in zip(self.blocks, self._kept or (), strict=True):
            patterns = block.patterns(codes)
            for part in parts:
                add(totals, part, patterns)
        return totals

    def _streamed(self, block, codes) -> NDArray[np.float64]:
        """Return values by tables that are not kept."""
        totals = np.zeros((*self.shape, codes.shape[1]))
        patterns = block.patterns(codes)
        for part in self._make(block):
            for first in range(0, codes.shape[1], ROWS):
                rows = slice(first, first + ROWS)
                add(totals[:, :, rows], part, patterns[:, rows])
        return totals


def add(totals, part, patterns) -> None:
    """Add the values in a chunk to the players.

    Parameters
    ----------
    totals : ndarray of shape (n_outputs, n_players, r)
        Added to in place.
    part : Table or Meetings
    patterns : ndarray of shape (n_groups, r), unsigned
        Of the rows, in the groups of the block.
    """
    n, player = part.chunk.players.size, part.chunk.players.ravel()
    owner = sparse.csc_array((np.ones(n), player, np.arange(n + 1)), shape=(totals.shape[1], n))
    for output, columns in zip(
        part.chunk.outputs, part.find(patterns[part.chunk.groups]), strict=True
    ):
        totals[output] += owner @ columns


@dataclass(frozen=True, eq=False)
class _FewRows:
    """All tables one after another, for a few rows.

    Attributes
    ----------
    entries : ndarray
    start, group, flag : ndarray of shape (n,), int64
        Where a column of a group starts, the group, and the bit that is set in its pattern.
    owner : sparse array of shape (n_outputs * n_players, n)
    rest : list of list of Meetings
        Of each block.
    """

    entries: np.ndarray
    start: np.ndarray
    group: np.ndarray
    flag: np.ndarray
    owner: sparse.csr_array
    rest: list[list[Meetings]]

    @classmethod
    def of(cls, kept, blocks, shape) -> Self:
        """Return the tables of all blocks."""
        starts, groups, flags, owners, places = ([np.empty(0, dtype=np.int64)] for _ in range(5))
        entries, rest, first, before, n = [np.empty(0)], [], 0, 0, 0
        for block, parts in zip(blocks, kept, strict=True):
            rest.append([part for part in parts if isinstance(part, Meetings)])
            for table in (part for part in parts if isinstance(part, Table)):
                chunk, (_, n_planes, width) = table.chunk, table.entries.shape
                group, k = np.arange(chunk.n_groups), len(chunk.players)
                # Which plane is looked up, which bit is set before, and whose columns it serves
                columns = [(column, 0, [column]) for column in range(k)]
                if chunk.is_single_leaves:
                    columns = [(1, 1 << column, [column]) for column in range(k)]
                    columns.append((0, 0, list(range(k))))
                for output in chunk.outputs * shape[1]:
                    for plane, flag, served in columns:
                        starts.append(first + plane * width + (group << chunk.n_bits))
                        groups.append(before + chunk.groups.start + group)
                        flags.append(np.full(len(group), flag))
                        owners += [output + chunk.players[column] for column in served]
                        places += [n + group] * len(served)
                        n += len(group)
                    first += n_planes * width
                entries.append(table.entries.ravel())
            before += len(block.roots)
        owner, place = np.concatenate(owners), np.concatenate(places)
        matrix = sparse.csr_array((np.ones(len(place)), (owner, place)), (math.prod(shape), n))
        start, at, bit = (np.concatenate(part) for part in (starts, groups, flags))
        return cls(np.concatenate(entries), start, at, bit, matrix, rest)

    def values(self, patterns, shape) -> NDArray[np.float64]:
        """Return the values of rows with these patterns in the groups of each block."""
        slot = np.concatenate(patterns).take(self.group, axis=0).astype(np.intp)
        slot |= self.flag[:, None]
        totals = (self.owner @ self.entries.take(slot + self.start[:, None])).reshape(*shape, -1)
        for own, of_block in zip(self.rest, patterns, strict=True):
            for part in own:
                add(totals, part, of_block)
        return totals


def each(function, arguments, n_jobs) -> list:
    """Return ``function(*a)`` for each of the arguments, by `n_jobs` threads.

    One thread does without joblib, whose objects live on in cycles until the collector comes. So
    does one task, which joblib would take longer to start than a row takes to explain.
    """
    arguments = list(arguments)
    if len(arguments) < 2 or effective_n_jobs(n_jobs) == 1:
        return [function(*a) for a in arguments]
    run = Parallel(n_jobs=n_jobs, require="sharedmem")
    return run(delayed(function)(*a) for a in arguments)
