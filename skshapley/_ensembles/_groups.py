"""Groups of leaves that are looked up together.

A *group* is a maximal subtree that is settled by few bits: the fail mask of an instance at the
root of the subtree (one bit for every player asked above it) and its answers at the inner nodes
of the subtree (one bit each).  These bits are the instance's *index* in the group; they determine
which path players it fails at every leaf of the group.  A leaf that has too many path players for
that is a group of its own, whose index is its fail mask.

Groups of the same shape are laid out in *chunks* that are looked up in one call.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from skshapley._ensembles._ensemble import UnreadableModelError

MOST_PATH_PLAYERS = 64
# Instances that are compared at once, so that the intermediate masks stay in the cache
ROWS = 512
# Groups of a chunk, however large their tables are
LEAST_GROUPS = 16


@dataclass(frozen=True, eq=False)
class Chunk:
    """Neighbouring groups with the same number of bits, of columns, and the same outputs.

    Attributes
    ----------
    groups : slice
        Of the rows of the index.
    n_bits : int
    outputs : ndarray of int
        The outputs that the trees of these groups add to.
    players : ndarray of shape (n_columns, n_groups), int64
        The distinct path players of each group.
    leaves : ndarray of shape (n_leaves,), int64
        Nodes of the ensemble.
    n_path : ndarray of shape (n_leaves,), int64
        Number of path players of each leaf, in ascending order.
    leaf_group : ndarray of shape (n_leaves,), int64
        Counted from the first group of the chunk.
    leaf_players : ndarray of shape (n_leaves, most), int64
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
    def n_columns(self):
        return self.players.shape[0]

    @property
    def n_groups(self):
        return self.players.shape[1]

    @property
    def is_single_leaves(self):
        return len(self.leaves) == self.n_groups

    @property
    def table_size(self):
        """Number of entries of the chunk's table."""
        return len(self.outputs) * self.players.size << self.n_bits


class Groups:
    """The groups of some trees, and the index of any instance in each of them.

    Parameters
    ----------
    trees : TreeEnsemble
    paths : Paths
        Of these trees.
    row, rank : ndarray of shape (n_nodes,)
        How these nodes read the codes of an instance, see `Codes`.
    max_bits : int
        Subtrees with more bits are divided; a leaf has as many as it has path players.
    chunk_size : int
        Number of table entries per chunk and output that is aimed at.

    Attributes
    ----------
    n_groups : int
    chunks : list of Chunk
    """

    def __init__(self, trees, paths, row, rank, max_bits, chunk_size):
        self._trees, self._paths = trees, paths
        group, self.position = self._find(max_bits)
        self._plan_index(group, row, rank)
        self.chunks = list(self._cut(group, chunk_size))

    def _find(self, max_bits):
        """The group of every node (-1 above the groups), and the index bit of every inner one."""
        trees, paths = self._trees, self._paths
        bits, leaf = paths.n_above + paths.n_below, trees.is_leaf
        most = int(paths.n_above[paths.leaves].max())
        if most > MOST_PATH_PLAYERS:
            raise UnreadableModelError(
                f"A path of the model asks {most} different players, more than {MOST_PATH_PLAYERS}",
                "put features into groups, or explain it by sampling",
            )
        small = bits <= max_bits
        below_small = small[paths.parent] & (paths.parent >= 0)
        self.is_root = (small & ~below_small) | (leaf & ~small)
        roots = np.flatnonzero(self.is_root)
        group = np.full(trees.n_nodes, -1)
        group[roots] = np.arange(len(roots))
        self._inherit(group)
        leaf_group, players = group[paths.leaves], paths.leaf_players
        n_columns = np.bincount(
            np.unique(_keys(leaf_group, players)[players >= 0]) >> 32, minlength=len(roots)
        )
        tree = np.searchsorted(trees.roots, roots, side="right") - 1
        order = np.lexsort((n_columns, bits[roots], self._tree_outputs()[tree]))
        roots = roots[order]
        group[roots] = np.arange(len(roots))
        self._inherit(group)
        self.n_groups, self.root = len(roots), roots
        self._bits, self._n_columns = bits[roots], n_columns[order]
        self._outputs = self._tree_outputs()[tree[order]]
        return group, self._number_bits(group)

    def _inherit(self, group):
        for nodes in self._paths.levels[1:]:
            inside = nodes[~self.is_root[nodes]]
            group[inside] = group[self._paths.parent[inside]]

    def _tree_outputs(self):
        """The one output that a tree adds to, or -1 when there are several."""
        touched = np.logical_or.reduceat(self._trees.value != 0, self._trees.roots, axis=0)
        return np.where(touched.sum(axis=1) > 1, -1, touched.argmax(axis=1))

    def _number_bits(self, group):
        """Inner nodes of a group take the bits above those of its root's fail mask, in order."""
        paths, leaf = self._paths, self._trees.is_leaf
        nodes = np.concatenate(paths.levels)
        nodes = nodes[(group[nodes] >= 0) & ~leaf[nodes]]
        nodes = nodes[np.argsort(group[nodes], kind="stable")]
        owner = group[nodes]
        self._order = np.arange(len(nodes)) - np.searchsorted(owner, owner)
        self._inner = nodes
        position = np.zeros(self._trees.n_nodes, dtype=np.int64)
        position[nodes] = paths.n_above[self.root[owner]] + self._order
        return position

    def _plan_index(self, group, row, rank):
        """The comparisons that make an index, as arrays to run through for any data."""
        trees, paths = self._trees, self._paths
        self.dtype = np.dtype(f"u{_n_bytes(int(self._bits.max()))}")
        one = self.dtype.type(1)
        self._above = []
        nodes = trees.roots
        while len(nodes):
            split = group[nodes] < 0
            upper, ends = nodes[split], nodes[~split]
            bit = np.left_shift(one, paths.bit[upper].astype(self.dtype))
            self._above.append(
                (np.flatnonzero(split), np.flatnonzero(~split), group[ends],
                 row[upper], rank[upper, None], bit[:, None])
            )  # fmt: skip
            nodes = np.concatenate([trees.left[upper], trees.right[upper]])
        self._inside = []
        for step in range(int(self._order.max(initial=-1)) + 1):
            nodes = self._inner[self._order == step]
            shift = self.position[nodes].astype(self.dtype)
            self._inside.append((group[nodes], row[nodes], rank[nodes, None], shift[:, None]))

    def index(self, codes):
        """The index of every instance in every group.

        Parameters
        ----------
        codes : ndarray of shape (n_rows, r), unsigned

        Returns
        -------
        ndarray of shape (n_groups, r), unsigned
        """
        index = np.empty((self.n_groups, codes.shape[1]), dtype=self.dtype)
        for first in range(0, codes.shape[1], ROWS):
            part = slice(first, first + ROWS)
            self._fill(codes[:, part], index[:, part])
        return index

    def _fill(self, codes, index):
        r = codes.shape[1]
        failed = np.zeros((self._trees.n_trees, r), dtype=self.dtype)
        for upper, ends, groups, row, rank, bit in self._above:
            index[groups] = failed[ends]
            if not len(upper):
                break
            went_left = (np.take(codes, row, axis=0) <= rank) * bit
            so_far = failed[upper] if len(ends) else failed
            failed = np.empty((2 * len(upper), r), dtype=self.dtype)
            np.bitwise_or(so_far, went_left ^ bit, out=failed[: len(upper)])
            np.bitwise_or(so_far, went_left, out=failed[len(upper) :])
        for groups, row, rank, shift in self._inside:
            answer = (np.take(codes, row, axis=0) <= rank).astype(self.dtype) << shift
            if len(groups) == self.n_groups:
                index |= answer
            else:
                index[groups] |= answer

    def _cut(self, group, chunk_size):
        """Runs of groups of one shape, in pieces of about `chunk_size` entries."""
        leaves, players = self._paths.leaves, self._paths.leaf_players
        owner = group[leaves]
        order = np.argsort(owner, kind="stable")
        leaves, players, owner = leaves[order], players[order], owner[order]
        keys = np.unique(_keys(owner, players)[players >= 0])
        first_key = np.searchsorted(keys, np.arange(self.n_groups) << 32)
        shape = np.stack([self._outputs, self._bits, self._n_columns])
        changes = np.flatnonzero((np.diff(shape, axis=1) != 0).any(axis=0)) + 1
        bounds = [0, *changes.tolist(), self.n_groups]
        for start, stop in pairwise(bounds):
            output, bits, n_columns = (int(x) for x in shape[:, start])
            width = max(LEAST_GROUPS, chunk_size // max(1, n_columns << bits))
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
                    outputs=np.arange(self._trees.n_outputs) if output < 0 else np.array([output]),
                    # The columns of a leaf on its own are in the order of its bits.
                    players=players[a:b, :bits].T if single else keys[columns] & 0xFFFFFFFF,
                    leaves=leaves[inside],
                    n_path=n_path[inside - a],
                    leaf_group=owner[inside] - first,
                    leaf_players=players[inside, : n_path.max()],
                )

    def fail_masks(self, chunk):
        """For every leaf of a chunk and every index of its group, the leaf's fail mask.

        Parameters
        ----------
        chunk : Chunk

        Returns
        -------
        ndarray of shape (n_leaves, 2 ** n_bits), int64
        """
        paths, left = self._paths, self._trees.left
        index = np.arange(1 << chunk.n_bits)
        root = self.root[chunk.groups][chunk.leaf_group]
        masks = index & ((1 << paths.n_above[root]) - 1)[:, None]
        at, walking = chunk.leaves.copy(), np.flatnonzero(chunk.leaves != root)
        while len(walking):
            node = paths.parent[at[walking]]
            is_left = left[node] == at[walking]
            answer = (index >> self.position[node][:, None]) & 1
            masks[walking] |= (answer != is_left[:, None]) << paths.bit[node][:, None]
            at[walking] = node
            walking = walking[node != root[walking]]
        return masks


def _keys(owner, players):
    """One integer for each (group, player), in the order of groups and then of players."""
    return (owner[:, None] << 32) | np.maximum(players, 0)


def _n_bytes(n_bits):
    return 1 if n_bits <= 8 else 2 if n_bits <= 16 else 4 if n_bits <= 32 else 8
