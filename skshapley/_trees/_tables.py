"""Tables of the values in groups, by the patterns of rows; a lookup does not see the background.

All numbers in the tables are multiples of one power of two, chosen so that sums over
leaves are exact. No bit of a value therefore depends on the order of a sum or of the
lookups.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, starmap
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.parallel import Parallel, delayed

from skshapley._trees._leaf_games import leaf_means, runs_of_leaves
from skshapley._trees._oblivious import oblivious_values
from skshapley._trees._path_dependent import training_law

# Terms of one sum, and rows of one lookup: few enough to stay in the cache
TERMS = 1 << 17
ROWS = 512


class Patterns:
    """Comparisons of codes at the nodes of trees, each node once.

    The nodes above the groups and the roots of groups are numbered level by level, with
    both children of a node next to each other.

    Parameters
    ----------
    trees : TreeEnsemble
    paths : Paths
    roots : ndarray of shape (n_groups,), int
        The root of each group.
    group : ndarray of shape (n_nodes,), int
        The group of each node; -1 above the groups.
    position : ndarray of shape (n_nodes,), int
        The position of the bit of the node's player above the groups, and of its test
        inside.
    row, rank : ndarray of shape (n_nodes,)
        As of `Codes`.
    n_bits : int
        Of the largest group.

    Attributes
    ----------
    row, rank : ndarray
        The code row and the rank of the nodes above the groups.
    bit : ndarray of shape (n_above, 1), unsigned
        The bit of the player of each of these nodes.
    parents : list of ndarray
        For each level below the roots of trees, the parents of its nodes.
    roots : ndarray of shape (n_groups,), int64
        The root of each group.
    inner_row, inner_rank : ndarray
        The code row and the rank of the nodes inside the groups.
    inner_bits : sparse array of shape (n_groups, n_inside), unsigned
        The bit of each of these nodes in the pattern of its group.
    """

    def __init__(self, trees, paths, roots, group, position, row, rank, n_bits) -> None:
        # Groups of more bits have no tables. Single leaves can have up to 64 path
        # players, which fill the largest unsigned type.
        dtype = np.min_scalar_type((1 << min(64, n_bits)) - 1)
        # shifts within the unsigned type: a Python int or int64 would overflow at bit 63
        bit = dtype.type(1) << position.astype(dtype)
        # The children of nodes above the groups follow the roots of the trees.
        levels = [nodes[group[nodes] < 0] for nodes in paths.levels]
        upper = np.concatenate(levels)
        left = trees.n_trees + 2 * np.arange(len(upper))
        number = np.empty(trees.n_nodes, dtype=np.int64)
        number[trees.roots] = np.arange(trees.n_trees)
        number[trees.left[upper]] = left
        number[trees.right[upper]] = left + 1
        self.parents = [np.repeat(number[nodes], 2) for nodes in levels if len(nodes)]
        inside = np.flatnonzero((group >= 0) & ~trees.is_leaf)
        # tests that share a bit are one test
        inside = inside[np.unique(group[inside] << 6 | position[inside], True)[1]]
        self.row = row[upper]
        self.rank = rank[upper, None]
        self.bit = bit[upper, None]
        self.roots = number[roots]
        self.n_trees = trees.n_trees
        self.inner_row = row[inside]
        self.inner_rank = rank[inside, None]
        self.inner_bits = sparse.csr_array(
            (bit[inside], (group[inside], np.arange(len(inside)))),
            shape=(len(roots), len(inside)),
        )

    def __call__(self, codes) -> np.ndarray:
        """Return the pattern of every row in every group, ``(n_groups, r)``, unsigned.

        Parameters
        ----------
        codes : ndarray of shape (n_rows, r), unsigned
            Of at most `ROWS` rows, to stay in the cache.
        """
        inner = codes.take(self.inner_row, axis=0) > self.inner_rank
        # each bit has one node, so this sum of different powers of two is their bitwise
        # or
        patterns = self.inner_bits @ inner.view(np.uint8)
        right = codes.take(self.row, axis=0) > self.rank
        failed = np.zeros(
            (self.n_trees + 2 * len(right), codes.shape[1]),
            patterns.dtype,
        )
        below = failed[self.n_trees :]
        # a row that goes right leaves the path to the left child, and has its bit set
        # there; the right child has the opposite bit
        np.multiply(right, self.bit, out=below[::2])
        np.bitwise_xor(below[::2], self.bit, out=below[1::2])
        first = self.n_trees
        for parents in self.parents:
            level = failed[first : first + len(parents)]
            # a player that failed at any node above has failed for good
            level |= failed.take(parents, axis=0)
            first += len(parents)
        patterns |= failed.take(self.roots, axis=0)
        return patterns


@dataclass(frozen=True, eq=False)
class References:
    """The weighted background in the codes of an ensemble, or its training data.

    Attributes
    ----------
    codes : ndarray of shape (n_rows, b), unsigned, or None
        None: absent players follow the training data down the trees, in proportion to
        the covers.
    weights : ndarray of shape (b,)
        With sum 1.
    """

    codes: np.ndarray | None
    weights: np.ndarray

    def pattern_law(self, chunk, patterns) -> NDArray[np.float64]:
        """Return the weight of the background on each pattern, ``(n_groups, 2 ** n_bits)``."""
        # Integers below 2^53 add up without rounding, so the order does not matter.
        # Divided by the mantissa, equal weights are exact, since the largest weight
        # becomes a power of 2.
        mantissa = np.frexp(self.weights.max())[0]
        bits = chunk.n_bits
        weights = np.rint(np.ldexp(self.weights / mantissa, 52))
        # Signed, since bincount of NumPy 2.0 refuses unsigned integers of 64 bits
        slot = patterns[chunk.groups].astype(np.intp)
        # group g has the slots from g 2^bits on, one for each pattern
        slot += (np.arange(len(slot)) << bits)[:, None]
        weights = np.broadcast_to(weights, slot.shape).ravel()
        law = np.bincount(slot.ravel(), weights, len(slot) << bits)
        return np.ldexp(law, -52).reshape(-1, 1 << bits) * mantissa

    def law(self, block, chunk, patterns) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return the fail masks at the leaves of a chunk, and the background's law there.

        The law is the weight of the background on each fail mask. It has
        ``2 ** n_path`` numbers per leaf, leaf by leaf.
        """
        masks = block.fail_masks(chunk)
        if self.codes is None:
            return masks, training_law(block, chunk)
        law: Any = self.pattern_law(chunk, patterns)
        if chunk.is_single_leaves:
            return masks, law.ravel()
        size = 1 << chunk.n_path
        slot = masks + (np.cumsum(size) - size)[:, None]
        law = np.bincount(slot.ravel(), law[chunk.leaf_group].ravel(), int(size.sum()))
        return masks, law


def grid_of(trees) -> float:
    """Return the grid on which sums over the leaves of an ensemble are exact in any order.

    The grid is about 2^-50 of the largest possible sum of all trees.
    """
    largest = trees.largest_sum
    # 2^50 grid steps leave 3 of the 53 bits of a double, so partial sums of rounded
    # terms stay exact.
    return float(2.0 ** (np.ceil(np.log2(largest)) - 50)) if largest > 0 else 1.0


@dataclass(frozen=True, eq=False)
class Table:
    """The values or the interactions in groups, by pattern.

    Attributes
    ----------
    entries : ndarray of shape (width, n)
        The values in each column of a group, for each of its patterns.
    start, group, flag : ndarray of shape (n_looked_up,), int64
        The start of a group's entries, the group's number, and bits to set in its
        pattern.
    owner : ndarray of shape (3, n_owned), int64
        The entry to look up, its column, and its sum.
    n_sums : int
        One for each output and player, or for each output and pair in `places`.
    mean : ndarray of shape (n_outputs,), or float
        The mean of the leaves over the background.
    masks : ndarray of shape (n_looked_up, 2 ** n_bits), or None
        The entry to look up by pattern; None: the pattern itself.
    places : ndarray of shape (n_sums,), int64, or None
        The places of the sums among all sums; None: all of them.
    """

    entries: np.ndarray
    start: np.ndarray
    group: np.ndarray
    flag: np.ndarray
    owner: np.ndarray
    n_sums: int
    mean: Any = 0.0
    masks: np.ndarray | None = None
    places: np.ndarray | None = None

    @cached_property
    def _sums(self) -> sparse.csc_array:
        """The sums of the looked-up values, as a sparse matrix."""
        number, column, to = self.owner
        n = len(self.start)
        return sparse.csc_array(
            (np.ones(len(to)), (to, column * n + number)),
            shape=(self.n_sums, n * len(self.entries)),
        )

    def sums(self, patterns) -> NDArray[np.float64]:
        """Return the sums of the values of rows, ``(n_sums, r)``.

        Parameters
        ----------
        patterns : ndarray of shape (n_groups, r), unsigned
            Of the rows, in the groups of the block.
        """
        slot = patterns.take(self.group, axis=0).astype(np.intp)
        if self.masks is not None:
            slot = np.take_along_axis(self.masks, slot, axis=1).astype(np.intp)
        # the joint mean of player j is at the pattern with bit j set, whether or not
        # the row fails
        slot |= self.flag[:, None]
        slot += self.start[:, None]
        # With mode="clip", numpy skips the check of each index; all of them are valid
        # here.
        entries = self.entries.take(slot, axis=1, mode="clip")
        return self._sums @ entries.reshape(-1, slot.shape[1])

    def add_to(self, total, patterns) -> None:
        """Add the sums of rows to their places in a total of all sums."""
        # No Ellipsis in an attribute: skops cannot load it.
        total[... if self.places is None else self.places] += self.sums(patterns)


def _summed(chunk, masks, own, joint) -> NDArray[np.float64]:
    """Return the sums over the leaves of each group, ``(n_columns, n_groups * 2 ** n_bits)``."""
    games = []
    n_path = chunk.n_path
    for k, _, of_run in runs_of_leaves(n_path):
        own_means = own[of_run].reshape(-1, 1, 1 << k)
        joint_means = joint[of_run].reshape(-1, 1 << k)
        # row j: every mask with bit j set, ``(k, 2 ** k)``
        with_player = np.arange(1 << k) | 1 << np.arange(k)[:, None]
        games.append((joint_means.take(with_player, axis=1) + own_means).ravel())
    leaf, bit = np.nonzero(chunk.leaf_players >= 0)
    group = chunk.leaf_group[leaf]
    player = chunk.leaf_players[leaf, bit]
    slot = (chunk.players.T[group] < player[:, None]).sum(axis=1) * chunk.players.shape[
        1
    ] + group
    # numpy sorts small integers by radix sort.
    order = np.argsort(
        slot.astype(np.min_scalar_type(chunk.players.size)),
        kind="stable",
    )
    leaf = leaf[order]
    bit = bit[order]
    slot = slot[order]
    # a leaf of k players has k 2^k numbers, player by player
    start = (np.cumsum(n_path << n_path) - (n_path << n_path))[leaf] + (
        bit << n_path[leaf]
    )
    first = np.searchsorted(slot, np.arange(chunk.players.size + 1))
    flat = np.concatenate(games)
    table = np.empty((chunk.players.size, 1 << chunk.n_bits))
    # A column of a group has 2^bits entries, so wide patterns get fewer columns per
    # step.
    step = max(1, TERMS >> chunk.n_bits)
    cuts = np.searchsorted(first, np.arange(step, first[-1] + step, step), "right") - 1
    for a, b in pairwise(np.unique([0, *cuts, len(first) - 1]).tolist()):
        terms = slice(first[a], first[b])
        gathered = flat.take(
            start[terms, None] + masks.take(leaf[terms], axis=0),
            mode="clip",
        )
        n = len(gathered)
        starts = first[a : b + 1] - first[a]
        table[a:b] = (
            sparse.csr_array((np.ones(n), np.arange(n), starts), shape=(b - a, n))
            @ gathered
        )
    return table.reshape(len(chunk.players), -1)


def value_tables(block, chunk, references, patterns, shape, index, grid) -> list[Table]:
    """Return the table of the values and predictions in a chunk, as a list.

    Parameters
    ----------
    block : GroupedTrees
    chunk : Chunk
    references : References
    patterns : ndarray of shape (n_groups, b), unsigned, or None
        Of the background; None for the training data.
    shape : tuple of int
        The number of outputs, and of players and the prediction, which comes last.
    index : Index
    grid : float
        See `grid_of`.
    """
    mean = np.zeros(shape[0])
    parts = []
    # The laws of the training data differ between leaves.
    if chunk.is_oblivious and patterns is not None:
        law = references.pattern_law(chunk, patterns)
        # The leaves of a tree are neighbours, and the first one has pattern 0.
        first = np.argsort(chunk.leaf_group[:: law.shape[1]]) * law.shape[1]
        masks = block.fail_masks(chunk, first)
        for output, value in zip(chunk.outputs, block.values(chunk), strict=True):
            predictions = np.rint(value / grid)
            games = oblivious_values(
                law,
                predictions,
                masks,
                chunk.leaf_players[first],
                index,
            )
            entries = np.concatenate([np.rint(games), predictions[None]]) * grid
            parts.append(entries.reshape(len(entries), -1))
            mean[output] = (law * value).sum()
    else:
        masks, law = references.law(block, chunk, patterns)
        means = leaf_means(law, chunk.n_path, index)
        values = block.trees.value[np.ix_(chunk.leaves, chunk.outputs)]
        size = 1 << chunk.n_path
        leaf, pattern = np.nonzero(masks == 0)
        reached = (chunk.leaf_group[leaf] << chunk.n_bits) + pattern
        for value in values.T / grid:
            # Rounding to the grid costs about 2^-50 of the largest sum and makes sums
            # exact in any order.
            scaled = np.rint(means * np.repeat(value, size)) * grid
            if not chunk.is_single_leaves:
                scaled = _summed(chunk, masks, *scaled)
            predictions = np.zeros(scaled.shape[1])
            predictions[reached] = np.rint(value[leaf]) * grid
            parts.append(np.stack([*scaled, predictions]))
        # Mask 0, the first of each leaf, has the background rows that reach the leaf.
        mean[chunk.outputs] = law[np.cumsum(size) - size] @ values
    k, n = chunk.players.shape
    start = np.arange(n) << chunk.n_bits
    group = chunk.groups.start + np.arange(n)
    # The prediction follows the players.
    players = np.vstack([chunk.players, np.full(n, shape[1] - 1)])
    real = np.broadcast_to(players < shape[1], (len(chunk.outputs), k + 1, n))
    output, column, number = np.nonzero(real)
    to = chunk.outputs[output] * shape[1] + players[column, number]
    n_sums = math.prod(shape)
    if not chunk.is_single_leaves:
        owner = np.stack([number, output * (k + 1) + column, to])
        entries = np.concatenate(parts)
        return [
            Table(
                entries,
                start,
                group,
                0 * group,
                owner,
                n_sums,
                mean,
            )
        ]
    # Look up the own mean for all players, then the joint means player by player, and
    # the prediction. Tables of single leaves keep three numbers per mask instead of one
    # per player and mask.
    lookups = np.stack([number, output, to])[:, column < k]
    owner = np.concatenate([lookups, [n + n * column + number, output, to]], axis=1)
    entries = np.stack(parts).reshape(len(parts), -1)
    start = np.concatenate([start, np.tile(start + (n << k), k), start + (2 * n << k)])
    flag = np.repeat(np.concatenate([[0], 1 << np.arange(k), [0]]), n)
    return [
        Table(
            entries,
            start,
            np.tile(group, 2 + k),
            flag,
            owner,
            n_sums,
            mean,
        )
    ]


class LeafSums:
    """Sums over the leaves of an ensemble, from tables of its groups.

    Parameters
    ----------
    blocks : list of GroupedTrees
    references : References
    shape : tuple of int
        Of the sums for one row.
    make : callable
        From a block, a chunk, the background and its patterns, to the tables of the
        chunk.
    n_jobs : int or None
    """

    def __init__(self, blocks, references, shape, make, n_jobs) -> None:
        self.blocks = blocks
        self.references = references
        self.shape = shape
        self.make = make
        self.n_jobs = n_jobs
        self.kept: list[list[Table]] | None = None

    def keep(self) -> Self:
        """Make all tables, and keep them."""
        self.kept = each(
            lambda block: list(self._made(block)),
            zip(self.blocks),
            self.n_jobs,
        )
        return self

    def _made(self, block) -> Iterator[Table]:
        """Yield the tables of a block."""
        codes = self.references.codes
        patterns = (
            None
            if codes is None
            else np.concatenate(
                [block.patterns(part) for part in _row_parts(codes)],
                axis=1,
            )
        )
        for chunk in block.chunks:
            yield from self.make(block, chunk, self.references, patterns)

    def values(self, codes) -> NDArray[np.float64]:
        """Return the sums of some rows, ``(*shape, r)``.

        Threads divide the rows if the tables are kept, and the blocks otherwise.

        Parameters
        ----------
        codes : ndarray of shape (n_rows, r), unsigned
        """
        parts = _row_parts(codes)
        if self.kept is None:
            start = np.zeros((math.prod(self.shape), codes.shape[1]))
            sums = sum(
                each(
                    self._of_block,
                    [(block, parts) for block in self.blocks],
                    self.n_jobs,
                ),
                start,
            )
        else:
            sums = np.concatenate(each(self._of_rows, zip(parts), self.n_jobs), axis=1)
        return sums.reshape(*self.shape, -1)

    def _of_rows(self, codes) -> NDArray[np.float64]:
        """Return the sums of some rows in all kept tables, ``(n_sums, r)``."""
        total = np.zeros((math.prod(self.shape), codes.shape[1]))
        for block, tables in zip(self.blocks, self.kept or [], strict=True):
            patterns = block.patterns(codes)
            for table in tables:
                table.add_to(total, patterns)
        return total

    def _of_block(self, block, parts) -> NDArray[np.float64]:
        """Return the sums of parts of the rows in the tables of a block, made on the way."""
        patterns = [block.patterns(part) for part in parts]
        totals = [np.zeros((math.prod(self.shape), part.shape[1])) for part in parts]
        for table in self._made(block):
            for total, pattern in zip(totals, patterns, strict=True):
                table.add_to(total, pattern)
        return np.concatenate(totals, axis=1)


def _row_parts(codes) -> list[NDArray[Any]]:
    """Return the codes of `ROWS` rows each; one part without rows if there are none."""
    return [
        codes[:, start : start + ROWS]
        for start in range(0, max(1, codes.shape[1]), ROWS)
    ]


def each(function, arguments, n_jobs) -> list:
    """Return ``function(*a)`` for each of the arguments, by `n_jobs` threads.

    A single thread does not use joblib, because joblib's objects stay in reference
    cycles until garbage collection. A single task does not either: starting joblib
    takes longer than one row.
    """
    arguments = list(arguments)
    if len(arguments) < 2 or effective_n_jobs(n_jobs) == 1:
        return list(starmap(function, arguments))
    return Parallel(n_jobs=n_jobs, require="sharedmem")(
        delayed(function)(*a) for a in arguments
    )
