"""Groups of leaves that are looked up together.

A *group* is a maximal subtree that is settled by few bits: the fail mask of a row at the root of
the subtree (one bit for every player asked above it) and its answers at the inner nodes of the
subtree (one bit each). These bits are the row's *pattern* in the group. They determine which path
players the row fails at every leaf of the group. A leaf that has too many path players for that is
a group of its own, whose pattern is its fail mask.

Groups of the same shape are laid out in *chunks* that are looked up in one call.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skshapley._tools._memory import working_bytes
from skshapley._trees._ensemble import TreeEnsemble
from skshapley._trees._paths import LEAVES, Paths, runs_of_trees, trace_paths

# Subtrees of up to this number of bits are looked up as one
MAX_BITS = 7
# Entries of a chunk's table that are aimed at, and the bits of 16 groups that are never divided
CHUNK_SIZE, LEAST_BITS = 1 << 17, 12
# Share of the working memory that the patterns of the background may take
PATTERN_SHARE = 0.2
# Rows that are compared at once, so that the intermediate masks stay in the cache
ROWS = 512


@dataclass(frozen=True, eq=False)
class Chunk:
    """Neighbouring groups with the same number of bits, of columns, and the same outputs.

    Attributes
    ----------
    groups : slice
        The groups, as a range.
    n_bits : int
        Number of bits of a pattern.
    outputs : ndarray of int
        The outputs that the trees of these groups add to.
    players : ndarray of shape (n_columns, n_groups), int64
        The distinct path players of each group.
    leaves : ndarray of shape (n_leaves,), int64
        Nodes of the block's trees.
    n_path : ndarray of shape (n_leaves,), int64
        Number of path players of each leaf, in ascending order.
    leaf_group : ndarray of shape (n_leaves,), int64
        The group of each leaf, counted from the first one of the chunk.
    leaf_players : ndarray of shape (n_leaves, most), int64
        The path players of each leaf, in the order of their bits; -1 beyond the last.
    """

    groups: slice
    n_bits: int
    outputs: np.ndarray
    players: np.ndarray
    leaves: np.ndarray
    n_path: np.ndarray
    leaf_group: np.ndarray
    leaf_players: np.ndarray

    @property
    def n_groups(self) -> int:
        """Return the number of groups."""
        return self.players.shape[1]

    @property
    def is_single_leaves(self) -> bool:
        """Return whether every group is a single leaf."""
        return len(self.leaves) == self.n_groups


class _Step(NamedTuple):
    """Comparisons of codes with nodes, all groups or nodes of a depth at once.

    Attributes
    ----------
    of : ndarray of int
        Positions of the nodes' masks.
    row, rank, shift : ndarray
        How the nodes read codes, see `Codes`, and the positions of their bits.
    ends, groups : ndarray of int
        Above the groups: positions of the nodes that are roots of groups, and these groups.
    """

    of: np.ndarray
    row: np.ndarray
    rank: np.ndarray
    shift: np.ndarray
    ends: np.ndarray
    groups: np.ndarray


@dataclass(frozen=True, eq=False)
class Block:
    """Some trees of an ensemble with their groups.

    Attributes
    ----------
    trees : TreeEnsemble
    paths : Paths
    roots : ndarray of shape (n_groups,), int64
        The root of each group.
    position : ndarray of shape (n_nodes,), int64
        The bit of an inner node's answer in the pattern of its group; 0 at all other nodes.
    above, inside : tuple of _Step
        The comparisons that make a pattern: depth by depth, then node by node of each group.
    dtype : dtype
        Unsigned integers that hold a pattern of the largest group.
    chunks : tuple of Chunk
        All groups, in their order.
    """

    trees: TreeEnsemble
    paths: Paths
    roots: np.ndarray
    position: np.ndarray
    above: tuple[_Step, ...]
    inside: tuple[_Step, ...]
    dtype: np.dtype
    chunks: tuple[Chunk, ...]

    def patterns(self, codes) -> np.ndarray:
        """Return the pattern of every row in every group, ``(n_groups, r)``, unsigned.

        Parameters
        ----------
        codes : ndarray of shape (n_rows, r), unsigned
        """
        patterns = np.zeros((len(self.roots), codes.shape[1]), dtype=self.dtype)
        for first in range(0, codes.shape[1] if len(codes) else 0, ROWS):
            part = slice(first, first + ROWS)
            self._fill(codes[:, part], patterns[:, part])
        return patterns

    def _fill(self, codes, patterns) -> None:
        """Write the patterns of some rows."""
        r, one = codes.shape[1], self.dtype.type(1)
        failed = np.zeros((self.trees.n_trees, r), dtype=self.dtype)
        for upper, row, rank, shift, ends, groups in self.above:
            patterns[groups] = failed[ends]
            if not len(upper):
                break
            bit = one << shift
            went_left = (np.take(codes, row, axis=0) <= rank) * bit
            so_far = failed[upper] if len(ends) else failed
            failed = np.empty((2 * len(upper), r), dtype=self.dtype)
            np.bitwise_or(so_far, went_left ^ bit, out=failed[: len(upper)])
            np.bitwise_or(so_far, went_left, out=failed[len(upper) :])
        for of, row, rank, shift, _, _ in self.inside:
            answer = (np.take(codes, row, axis=0) <= rank).astype(self.dtype) << shift
            if len(of) == len(patterns):
                patterns |= answer
            else:
                patterns[of] |= answer

    def fail_masks(self, chunk) -> np.ndarray:
        """Return the fail mask at every leaf of a chunk, for every pattern in the leaf's group.

        Parameters
        ----------
        chunk : Chunk

        Returns
        -------
        masks : ndarray of shape (n_leaves, 2 ** n_bits), unsigned
            Of the smallest type.
        """
        paths, left = self.paths, self.trees.left
        size = 1 << chunk.n_bits
        dtype = np.min_scalar_type(size - 1)
        pattern = np.arange(size, dtype=dtype)
        if chunk.is_single_leaves:
            return np.broadcast_to(pattern, (len(chunk.leaves), size))
        root = self.roots[chunk.groups][chunk.leaf_group]
        masks = pattern & ((1 << paths.n_above[root]) - 1).astype(dtype)[:, None]
        at, going = chunk.leaves.copy(), np.flatnonzero(chunk.leaves != root)
        while len(going):
            node = paths.parent[at[going]]
            is_left = left[node] == at[going]
            answer = pattern >> self.position[node].astype(dtype)[:, None] & dtype.type(1)
            fails = answer ^ is_left.astype(dtype)[:, None]
            masks[going] |= fails << paths.bit[node].astype(dtype)[:, None]
            at[going] = node
            going = going[node != root[going]]
        return masks


def make_blocks(trees, codes, players, n_references) -> Iterator[Block]:
    """Yield the blocks of an ensemble.

    Parameters
    ----------
    trees : TreeEnsemble
        With at most 64 players on a path.
    codes : Codes
        Of these trees.
    players : ndarray of shape (n_features,), int
    n_references : int
        Rows whose patterns in all groups of a block shall fit into memory.
    """
    room = int(working_bytes(PATTERN_SHARE) / max(1, n_references))
    for first, last in runs_of_trees(trees, min(LEAVES, room)):
        some = trees.take_trees(first, last)
        nodes = slice(trees.roots[first], trees.roots[first] + some.n_nodes)
        paths = trace_paths(some, np.where(some.is_leaf, -1, players[some.feature]))
        yield _group(some, paths, codes.row[nodes], codes.rank[nodes])


def _group(trees, paths, row, rank) -> Block:
    """Return trees divided into maximal subtrees of few bits, and single leaves."""
    bits, leaf = paths.n_above + paths.n_below, trees.is_leaf
    small = bits <= MAX_BITS
    is_root = (small & ~(small[paths.parent] & (paths.parent >= 0))) | (leaf & ~small)
    roots = np.flatnonzero(is_root)
    keys = _distinct_keys(_spread(roots, is_root, paths)[paths.leaves], paths.leaf_players)
    n_columns = np.bincount(keys >> 32, minlength=len(roots))
    outputs = _tree_outputs(trees)[np.searchsorted(trees.roots, roots, side="right") - 1]
    order = np.lexsort((n_columns, bits[roots], outputs))
    roots, number = roots[order], np.empty_like(order)
    number[order] = np.arange(len(order))
    keys = np.sort(number[keys >> 32] << 32 | keys & 0xFFFFFFFF)
    group = _spread(roots, is_root, paths)
    shape = np.stack([outputs[order], bits[roots], n_columns[order]])

    inner = np.concatenate(paths.levels)
    inner = inner[(group[inner] >= 0) & ~leaf[inner]]
    inner = inner[np.argsort(group[inner], kind="stable")]
    owner = group[inner]
    place = np.arange(len(inner)) - np.searchsorted(owner, owner)
    position = np.zeros(trees.n_nodes, dtype=np.int64)
    position[inner] = paths.n_above[roots[owner]] + place

    dtype = np.min_scalar_type((1 << int(shape[1].max())) - 1)
    none = np.empty(0, dtype=np.int64)

    def step(of, nodes, bit, ends, groups) -> _Step:
        shift = bit[nodes].astype(dtype)[:, None]
        return _Step(of, row[nodes], rank[nodes, None], shift, ends, groups)

    above, nodes = [], trees.roots
    while len(nodes):
        split = group[nodes] < 0
        upper, ends = nodes[split], np.flatnonzero(~split)
        above.append(step(np.flatnonzero(split), upper, paths.bit, ends, group[nodes[ends]]))
        nodes = np.concatenate([trees.left[upper], trees.right[upper]])
    runs = (inner[place == number] for number in range(int(place.max(initial=-1)) + 1))
    return Block(
        trees=trees,
        paths=paths,
        roots=roots,
        position=position,
        above=tuple(above),
        inside=tuple(step(group[nodes], nodes, position, none, none) for nodes in runs),
        dtype=dtype,
        chunks=tuple(_cut(paths, group, shape, keys, trees.n_outputs)),
    )


def _spread(roots, is_root, paths) -> NDArray[np.int64]:
    """Return the group of every node, where the groups are numbered as their roots are given."""
    group = np.full(len(is_root), -1)
    group[roots] = np.arange(len(roots))
    for nodes in paths.levels[1:]:
        inside = nodes[~is_root[nodes]]
        group[inside] = group[paths.parent[inside]]
    return group


def _tree_outputs(trees) -> NDArray[np.int64]:
    """Return the one output that each tree adds to, or -1 where there are several."""
    touched = np.logical_or.reduceat(trees.value != 0, trees.roots, axis=0)
    return np.where(touched.sum(axis=1) > 1, -1, touched.argmax(axis=1))


def _cut(paths, group, shape, keys, n_outputs) -> Iterator[Chunk]:
    """Yield runs of groups of one shape, in pieces of about `CHUNK_SIZE` entries."""
    owner = group[paths.leaves]
    order = np.argsort(owner, kind="stable")
    leaves, players, owner = paths.leaves[order], paths.leaf_players[order], owner[order]
    first_key = np.searchsorted(keys, np.arange(shape.shape[1]) << 32)
    changes = np.flatnonzero((np.diff(shape, axis=1) != 0).any(axis=0)) + 1
    for start, stop in pairwise([0, *changes.tolist(), shape.shape[1]]):
        output, bits, n_columns = (int(x) for x in shape[:, start])
        least = 1 << max(0, min(4, 4 + LEAST_BITS - bits))
        width = max(least, CHUNK_SIZE // max(1, n_columns << bits))
        for first in range(start, stop if n_columns else start, width):
            last = min(first + width, stop)
            a, b = np.searchsorted(owner, [first, last])
            columns = first_key[first:last] + np.arange(n_columns)[:, None]
            n_path = (players[a:b] >= 0).sum(axis=1)
            inside = a + np.argsort(n_path, kind="stable")
            single = b - a == last - first
            yield Chunk(
                groups=slice(first, last),
                n_bits=bits,
                outputs=np.arange(n_outputs) if output < 0 else np.array([output]),
                # The columns of a leaf on its own are in the order of its bits.
                players=players[a:b, :bits].T if single else keys[columns] & 0xFFFFFFFF,
                leaves=leaves[inside],
                n_path=n_path[inside - a],
                leaf_group=owner[inside] - first,
                leaf_players=players[inside, : n_path.max()],
            )


def _distinct_keys(owner, players) -> NDArray[np.int64]:
    """Return one integer for each (group, player), ordered by groups and then by players.

    The group is in the upper 32 bits and the player in the lower ones: group 2 and player 5 are
    0x00000002_00000005.
    """
    keys = ((owner[:, None] << 32) | players)[players >= 0]
    keys.sort()  # which takes a third of the time of np.unique
    return keys[np.diff(keys, prepend=-1) != 0]
