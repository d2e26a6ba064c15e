"""Groups of leaves that share one table lookup.

A *group* is a maximal subtree with few bits per row. The bits are the row's fail mask
at the root of the subtree (one bit per player above it) and its tests at the subtree's
inner nodes (one bit each). These bits are the row's *pattern* in the group. They
determine the path players that the row fails, at every leaf of the group. A leaf with
too many path players is a group of its own. Its pattern is its fail mask.

Groups of the same shape form *chunks*, with one lookup per chunk.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from skshapley._trees._ensemble import tree_outputs
from skshapley._trees._tables import Patterns

# Most bits of a subtree that is one group: 128 patterns, in one byte each
MAX_BITS = 7
# Target number of entries of a chunk's table, and bits of 16 groups that are never
# divided
CHUNK_SIZE = 1 << 17
LEAST_BITS = 12
# The player of an empty column
NOBODY = 0xFFFFFFFF


@dataclass(frozen=True, eq=False)
class Chunk:
    """Neighbouring groups with the same number of bits and the same outputs.

    Attributes
    ----------
    groups : slice
        The groups, as a range.
    n_bits : int
        Number of bits of a pattern.
    outputs : ndarray of int
        The outputs of the trees of these groups.
    players : ndarray of shape (n_columns, n_groups), int64
        The distinct path players of each group, in ascending order; then `NOBODY`.
    leaves : ndarray of shape (n_leaves,), int64
        Nodes of the block's trees.
    n_path : ndarray of shape (n_leaves,), int64
        Number of path players of each leaf, in ascending order.
    leaf_group : ndarray of shape (n_leaves,), int64
        The group of each leaf, relative to the first group of the chunk.
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
    def is_single_leaves(self) -> bool:
        """Return True if every group is a single leaf, too deep to share a group."""
        return self.n_bits > MAX_BITS

    @property
    def is_oblivious(self) -> bool:
        """Return True if every group is an oblivious tree, with a leaf for each pattern."""
        return len(self.leaves) == self.players.shape[1] << self.n_bits


class GroupedTrees:
    """Some trees, divided into maximal subtrees of few bits and single leaves.

    Parameters
    ----------
    trees : TreeEnsemble
    paths : Paths
    row, rank : ndarray of shape (n_nodes,)
        As of `Codes`.

    Attributes
    ----------
    roots : ndarray of shape (n_groups,), int64
        The root of each group.
    position : ndarray of shape (n_nodes,), int64
        The bit of an inner node's test in the pattern of its group; 0 at all other
        nodes.
    patterns : Patterns
        The pattern of a row in every group, from its codes.
    chunks : list of Chunk
        All groups, in their order.
    """

    def __init__(self, trees, paths, row, rank) -> None:
        self.trees = trees
        self.paths = paths
        test = row * (1 + int(rank.max())) + rank.astype(np.int64)
        bits = paths.n_above + _tests_below(trees, paths, test)
        leaf = trees.is_leaf
        small = bits <= MAX_BITS
        # A subtree is maximal if its parent has too many bits. Index -1 at roots is
        # masked by the second test.
        is_root = (small & ~(small[paths.parent] & (paths.parent >= 0))) | (
            leaf & ~small
        )
        roots = np.flatnonzero(is_root)
        # One integer for each (group, player): group 2 and player 5 are
        # 0x00000002_00000005.
        group = _spread(roots, paths)
        keys = group[paths.leaves, None] << 32 | paths.leaf_players
        # One sort of integers is quicker than a sort of pairs of group and player.
        keys = np.unique(keys[paths.leaf_players >= 0])
        n_columns = np.bincount(keys >> 32, minlength=len(roots))
        outputs = tree_outputs(trees)[
            np.searchsorted(trees.roots, roots, side="right") - 1
        ]
        # The last key sorts first: groups of one shape become neighbours, and equal
        # widths meet in a chunk.
        order = np.lexsort((n_columns, bits[roots], outputs))
        roots = roots[order]
        number = np.argsort(order)
        # the same keys and nodes under the new numbers of the groups
        keys = np.sort(number[keys >> 32] << 32 | keys & 0xFFFFFFFF)
        group = np.append(number, -1)[group]
        shape = np.stack([outputs[order], bits[roots]])

        inner = np.concatenate(paths.levels)
        inner = inner[(group[inner] >= 0) & ~leaf[inner]]
        # equal tests of a group share a bit, such as all of a level of an oblivious tree
        n_tests = 1 + int(test.max(initial=0))
        tests, number = np.unique(
            group[inner] * n_tests + test[inner],
            return_inverse=True,
        )
        owner = tests // n_tests
        place = paths.n_above[roots[owner]] + np.arange(len(tests))
        place -= np.searchsorted(owner, owner)
        self.position = np.zeros(trees.n_nodes, dtype=np.int64)
        self.position[inner] = place[number]
        self.roots = roots
        bit = np.where(group < 0, paths.bit, self.position)
        self.patterns = Patterns(
            trees,
            paths,
            roots,
            group,
            bit,
            row,
            rank,
            int(bits[roots].max()),
        )
        self.chunks = list(_cut(paths, group, shape, keys, trees.n_outputs))

    def values(self, chunk) -> NDArray[np.float64]:
        """Return the value of the leaf that rows of each pattern reach in whole trees.

        Parameters
        ----------
        chunk : Chunk
            Of groups without nodes above.

        Returns
        -------
        values : ndarray of shape (n_outputs, n_groups, 2 ** n_bits)
        """
        pattern = np.arange(1 << chunk.n_bits)
        nodes = np.repeat(self.roots[chunk.groups, None], len(pattern), axis=1)
        children = np.concatenate([self.trees.left, self.trees.right])
        while (inner := children.take(nodes) >= 0).any():
            right = pattern >> self.position.take(nodes) & 1
            nodes = np.where(
                inner,
                children.take(nodes + right * self.trees.n_nodes),
                nodes,
            )
        return self.trees.value.T[chunk.outputs][:, nodes]

    def fail_masks(self, chunk, leaves=slice(None)) -> np.ndarray:
        """Return the fail mask at the leaves of a chunk, for every pattern in the leaf's group.

        Parameters
        ----------
        chunk : Chunk
        leaves : slice or ndarray of int, default=slice(None)
            Positions of the leaves in the chunk.

        Returns
        -------
        masks : ndarray of shape (n_leaves, 2 ** n_bits), unsigned
            Of the smallest type.
        """
        paths = self.paths
        size = 1 << chunk.n_bits
        # The masks fill 2^bits entries per leaf, so the smallest type decides about
        # memory.
        dtype = np.min_scalar_type(size - 1)
        pattern = np.arange(size, dtype=dtype)
        if chunk.is_single_leaves:
            return np.broadcast_to(pattern, (len(chunk.leaves), size))
        root = self.roots[chunk.groups][chunk.leaf_group[leaves]]
        # the low bits of a pattern are the fail mask above the group
        masks = pattern & ((1 << paths.n_above[root]) - 1).astype(dtype)[:, None]
        at = chunk.leaves[leaves].copy()
        going = np.flatnonzero(at != root)
        while len(going):
            node = paths.parent[at[going]]
            is_right = self.trees.left[node] != at[going]
            # answer 1 goes right: it fails on the way to a left child, and 0 on that to
            # a right one
            answer = pattern >> self.position[node].astype(dtype)[:, None] & dtype.type(
                1
            )
            fails = answer ^ is_right.astype(dtype)[:, None]
            masks[going] |= fails << paths.bit[node].astype(dtype)[:, None]
            at[going] = node
            going = going[node != root[going]]
        return masks


def _tests_below(trees, paths, test) -> NDArray[np.int64]:
    """Return the number of tests in the subtree of each node, with equal halves counted once.

    Parameters
    ----------
    trees : TreeEnsemble
    paths : Paths
    test : ndarray of shape (n_nodes,), int64
        Equal for equal comparisons.
    """
    count, form = np.zeros((2, trees.n_nodes), dtype=np.int64)
    for nodes in reversed(paths.levels):
        inner = nodes[~trees.is_leaf[nodes]]
        left = trees.left[inner]
        right = trees.right[inner]
        halves = form[left] == form[right]
        count[inner] = 1 + count[left] + np.where(halves, 0, count[right])
        # Equal subtrees of a level have equal numbers, and unequal halves their own.
        form[inner] = -1 - inner
        doubled = inner[halves]
        key = test[doubled] * trees.n_nodes + form[trees.left[doubled]]
        form[doubled] = 1 + np.unique(key, return_inverse=True)[1]
    return count


def _spread(roots, paths) -> NDArray[np.int64]:
    """Return the group of every node; groups are numbered in the order of their roots."""
    group = np.full(len(paths.parent), -1)
    group[roots] = np.arange(len(roots))
    for nodes in paths.levels[1:]:
        # Groups have no other root below their own, and nodes above the groups have -1.
        group[nodes] = np.maximum(group[nodes], group[paths.parent[nodes]])
    return group


def _cut(paths, group, shape, keys, n_outputs) -> Iterator[Chunk]:
    """Yield runs of groups of one shape, in pieces of about `CHUNK_SIZE` entries."""
    owner = group[paths.leaves]
    order = np.argsort(owner, kind="stable")
    leaves = paths.leaves[order]
    players = paths.leaf_players[order]
    owner = owner[order]
    columns = np.append(keys & 0xFFFFFFFF, NOBODY)
    first_key = np.searchsorted(keys, np.arange(shape.shape[1] + 1) << 32)
    changes = np.flatnonzero((np.diff(shape, axis=1) != 0).any(axis=0)) + 1
    for start, stop in pairwise([0, *changes.tolist(), shape.shape[1]]):
        output, bits = (int(x) for x in shape[:, start])
        # 16 groups up to LEAST_BITS bits; half as many for each further bit, down to
        # one
        least = 1 << max(0, min(4, 4 + LEAST_BITS - bits))
        n_columns = 2 if bits > MAX_BITS else bits
        # only groups with equal tests have more leaves than bits and one
        first_leaf, end_leaf = np.searchsorted(owner, [start, stop])
        n_leaves = int(end_leaf - first_leaf) // (stop - start)
        width = max(least, CHUNK_SIZE // max(1, max(n_columns, n_leaves - 1) << bits))
        # Groups without bits are trees of one leaf. They add a constant and need no
        # table.
        for first in range(start, stop if bits else start, width):
            last = min(first + width, stop)
            a, b = np.searchsorted(owner, [first, last])
            ends = first_key[first : last + 1]
            # All groups take as many columns as the widest. Places beyond a group's own
            # keys become `NOBODY`.
            place = ends[:-1] + np.arange(np.diff(ends).max())[:, None]
            distinct = np.where(
                place < ends[1:],
                columns.take(place, mode="clip"),
                NOBODY,
            )
            n_path = (players[a:b] >= 0).sum(axis=1)
            inside = a + np.argsort(n_path, kind="stable")
            yield Chunk(
                groups=slice(first, last),
                n_bits=bits,
                outputs=np.arange(n_outputs) if output < 0 else np.array([output]),
                # The columns of a single leaf have the order of its bits.
                players=players[a:b, :bits].T if bits > MAX_BITS else distinct,
                leaves=leaves[inside],
                n_path=n_path[inside - a],
                leaf_group=owner[inside] - first,
                leaf_players=players[inside, : n_path.max()],
            )
