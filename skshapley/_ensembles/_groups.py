"""Groups of leaves that are looked up together.

A *group* is a maximal subtree that is settled by few bits: the fail mask of an instance at the
root of the subtree (one bit for every player asked above it) and its answers at the inner nodes
of the subtree (one bit each). These bits are the instance's *pattern* in the group. They determine
which path players the instance fails at every leaf of the group. A leaf that has too many path
players for that is a group of its own, whose pattern is its fail mask.

Groups of the same shape are laid out in *chunks* that are looked up in one call.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skshapley._ensembles._answers import Answers, plan_answers
from skshapley._ensembles._code_patterns import CodePatterns, is_worth_codes, tabulate_codes
from skshapley._ensembles._ensemble import TreeEnsemble
from skshapley._ensembles._paths import Paths
from skshapley._ensembles._patterns import PatternReader

# Instances whose patterns are read code by code; more of them are read faster node by node
FEW_ROWS = 64
# Bits of patterns that are gathered at once; more of them are read faster node by node
FEW_BITS = 1 << 15


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
        Nodes of the ensemble.
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
    def n_columns(self) -> int:
        """Return the number of path players of each group."""
        return self.players.shape[0]

    @property
    def n_groups(self) -> int:
        """Return the number of groups."""
        return self.players.shape[1]

    @property
    def is_single_leaves(self) -> bool:
        """Return whether every group is a single leaf."""
        return len(self.leaves) == self.n_groups

    @property
    def n_planes(self) -> int:
        """Return how many numbers each pattern has: one a column, or the two of `leaf_means`."""
        return 2 if self.is_single_leaves else self.n_columns

    @property
    def n_values(self) -> int:
        """Return how many values the chunk's table tells, of all patterns and columns."""
        return len(self.outputs) * self.players.size << self.n_bits

    @property
    def table_size(self) -> int:
        """Return the number of entries of the chunk's table."""
        return len(self.outputs) * self.n_planes * self.n_groups << self.n_bits


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups of some trees, from `find_groups`.

    Attributes
    ----------
    trees : TreeEnsemble
    paths : Paths
        Of these trees.
    roots : ndarray of shape (n_groups,), int64
        The root of each group.
    inner, owner : ndarray of int
        The inner nodes of the groups, and the group of each.
    position : ndarray of shape (n_nodes,), int64
        The bit of an inner node's answer in the pattern of its group; 0 at all other nodes.
    row, rank : ndarray of shape (n_nodes,)
        How the nodes read the codes of an instance, see `Codes`.
    n_codes : ndarray of shape (n_rows,), int64
        How many codes there are in each row.
    reader : PatternReader
        The function from codes to patterns, node by node.
    chunks : tuple of Chunk
        All groups, in their order.
    """

    trees: TreeEnsemble
    paths: Paths
    roots: np.ndarray
    inner: np.ndarray
    owner: np.ndarray
    position: np.ndarray
    row: np.ndarray
    rank: np.ndarray
    n_codes: np.ndarray
    reader: PatternReader
    chunks: tuple[Chunk, ...]

    @property
    def n_groups(self) -> int:
        """Return the number of groups."""
        return len(self.roots)

    def patterns(self, codes, tabulated=True) -> np.ndarray:
        """Return the pattern of every instance in every group.

        Parameters
        ----------
        codes : ndarray of shape (n_rows, r), unsigned
        tabulated : bool, default=True
            Whether few instances are read from a table of all codes, which the first of them makes.

        Returns
        -------
        patterns : ndarray of shape (n_groups, r), unsigned
        """
        if not len(codes):  # no tree asks anything
            return np.zeros((self.n_groups, codes.shape[1]), dtype=self.reader.dtype)
        if tabulated and codes.shape[1] <= FEW_ROWS and self._by_code is not None:
            return self._by_code(codes)
        if self.n_bits * codes.shape[1] <= FEW_BITS:
            return self.answers(codes)
        return self.reader(codes)

    @cached_property
    def n_bits(self) -> int:
        """How many answers the patterns of all groups consist of."""
        return int(self.paths.n_above[self.roots].sum()) + len(self.inner)

    @cached_property
    def answers(self) -> Answers:
        """Which answers set which bits of the patterns."""
        return plan_answers(self)

    @cached_property
    def _by_code(self) -> CodePatterns | None:
        return tabulate_codes(self) if is_worth_codes(self) else None

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
        at, walking = chunk.leaves.copy(), np.flatnonzero(chunk.leaves != root)
        while len(walking):
            node = paths.parent[at[walking]]
            is_left = left[node] == at[walking]
            answer = pattern >> self.position[node].astype(dtype)[:, None] & dtype.type(1)
            fails = answer ^ is_left.astype(dtype)[:, None]
            masks[walking] |= fails << paths.bit[node].astype(dtype)[:, None]
            at[walking] = node
            walking = walking[node != root[walking]]
        return masks
