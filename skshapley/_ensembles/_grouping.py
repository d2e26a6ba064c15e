"""Dividing trees into groups, numbering the bits of their patterns, and cutting chunks."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from skshapley._ensembles._groups import Chunk, Groups
from skshapley._ensembles._patterns import Level, PatternReader, Step
from skshapley.exceptions import UnreadableModelError

MOST_PATH_PLAYERS = 64
# Groups of a chunk, however large their tables are
LEAST_GROUPS = 16


def find_groups(trees, paths, row, rank, n_codes, max_bits, chunk_size) -> Groups:
    """Return the groups of some trees.

    Parameters
    ----------
    trees : TreeEnsemble
    paths : Paths
        Of these trees.
    row, rank : ndarray of shape (n_nodes,)
        How these nodes read the codes of an instance, see `Codes`.
    n_codes : ndarray of shape (n_rows,), int64
        How many codes there are in each row.
    max_bits : int
        Subtrees with more bits are divided; a leaf has as many as it has path players.
    chunk_size : int
        Number of table entries per chunk and output that is aimed at.

    Returns
    -------
    groups : Groups

    Raises
    ------
    UnreadableModelError
        If a path asks more than 64 players.
    """
    most = int(paths.n_above[paths.leaves].max())
    if most > MOST_PATH_PLAYERS:
        raise UnreadableModelError(
            f"A path of the model asks {most} different players, more than {MOST_PATH_PLAYERS}",
            "put features into groups, or explain it by sampling",
        )
    division = _divide(trees, paths, max_bits)
    questions = _number_bits(trees, paths, division)
    return Groups(
        trees=trees,
        paths=paths,
        roots=division.roots,
        inner=questions.nodes,
        owner=division.group[questions.nodes],
        position=questions.position,
        row=row,
        rank=rank,
        n_codes=n_codes,
        reader=_plan_patterns(trees, paths, division, questions, row, rank),
        chunks=tuple(_cut(trees, paths, division, chunk_size)),
    )


@dataclass(frozen=True, eq=False)
class _Division:
    """Which nodes form which group, with the groups of one shape next to each other.

    Attributes
    ----------
    group : ndarray of shape (n_nodes,), int64
        -1 above the groups.
    roots, n_bits, n_columns : ndarray of shape (n_groups,), int64
        The root of each group, the bits of its pattern, and its distinct path players.
    outputs : ndarray of shape (n_groups,), int64
        The one output that the group's tree adds to; -1 for several.
    keys : ndarray of int64
        The groups with their distinct path players, see `_distinct_keys`.
    """

    group: np.ndarray
    roots: np.ndarray
    n_bits: np.ndarray
    n_columns: np.ndarray
    outputs: np.ndarray
    keys: np.ndarray


def _divide(trees, paths, max_bits) -> _Division:
    """Return the division into maximal subtrees of few bits, and single leaves."""
    bits, leaf = paths.n_above + paths.n_below, trees.is_leaf
    small = bits <= max_bits
    below_small = small[paths.parent] & (paths.parent >= 0)
    is_root = (small & ~below_small) | (leaf & ~small)
    roots = np.flatnonzero(is_root)
    group = _spread(roots, is_root, paths)
    leaf_group, players = group[paths.leaves], paths.leaf_players
    keys = _distinct_keys(leaf_group, players)
    n_columns = np.bincount(keys >> 32, minlength=len(roots))
    tree = np.searchsorted(trees.roots, roots, side="right") - 1
    outputs = _tree_outputs(trees)[tree]
    order = np.lexsort((n_columns, bits[roots], outputs))
    roots, number = roots[order], np.empty_like(order)
    number[order] = np.arange(len(order))
    keys = number[keys >> 32] << 32 | keys & 0xFFFFFFFF
    keys.sort()
    return _Division(
        group=_spread(roots, is_root, paths),
        roots=roots,
        n_bits=bits[roots],
        n_columns=n_columns[order],
        outputs=outputs[order],
        keys=keys,
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


@dataclass(frozen=True, eq=False)
class _Questions:
    """The inner nodes of the groups, each of which has a bit in the pattern of its group.

    Attributes
    ----------
    nodes, order : ndarray of int
        The inner nodes, group by group, and the number of each in its group.
    position : ndarray of shape (n_nodes,), int64
        The bit of an inner node's answer; 0 at all other nodes.
    """

    nodes: np.ndarray
    order: np.ndarray
    position: np.ndarray


def _number_bits(trees, paths, division) -> _Questions:
    """Return the inner nodes with their bits, which are above those of the root's fail mask."""
    nodes = np.concatenate(paths.levels)
    nodes = nodes[(division.group[nodes] >= 0) & ~trees.is_leaf[nodes]]
    nodes = nodes[np.argsort(division.group[nodes], kind="stable")]
    owner = division.group[nodes]
    order = np.arange(len(nodes)) - np.searchsorted(owner, owner)
    position = np.zeros(trees.n_nodes, dtype=np.int64)
    position[nodes] = paths.n_above[division.roots[owner]] + order
    return _Questions(nodes, order, position)


def _plan_patterns(trees, paths, division, questions, row, rank) -> PatternReader:
    """Return the comparisons that make a pattern, as arrays to run through for any data."""
    group = division.group
    dtype = np.dtype(f"u{_n_bytes(int(division.n_bits.max()))}")
    one = dtype.type(1)
    above = []
    nodes = trees.roots
    while len(nodes):
        split = group[nodes] < 0
        upper, ends = nodes[split], nodes[~split]
        bit = np.left_shift(one, paths.bit[upper].astype(dtype))
        above.append(
            Level(
                upper=np.flatnonzero(split),
                ends=np.flatnonzero(~split),
                groups=group[ends],
                row=row[upper],
                rank=rank[upper, None],
                bit=bit[:, None],
            )
        )
        nodes = np.concatenate([trees.left[upper], trees.right[upper]])
    inside = []
    for step in range(int(questions.order.max(initial=-1)) + 1):
        nodes = questions.nodes[questions.order == step]
        shift = questions.position[nodes].astype(dtype)
        inside.append(Step(group[nodes], row[nodes], rank[nodes, None], shift[:, None]))
    return PatternReader(trees.n_trees, len(division.roots), dtype, tuple(above), tuple(inside))


def _cut(trees, paths, division, chunk_size) -> Iterator[Chunk]:
    """Yield runs of groups of one shape, in pieces of about `chunk_size` entries."""
    n_groups = len(division.roots)
    leaves, players = paths.leaves, paths.leaf_players
    owner = division.group[leaves]
    order = np.argsort(owner, kind="stable")
    leaves, players, owner = leaves[order], players[order], owner[order]
    keys = division.keys
    first_key = np.searchsorted(keys, np.arange(n_groups) << 32)
    shape = np.stack([division.outputs, division.n_bits, division.n_columns])
    changes = np.flatnonzero((np.diff(shape, axis=1) != 0).any(axis=0)) + 1
    bounds = [0, *changes.tolist(), n_groups]
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
                outputs=np.arange(trees.n_outputs) if output < 0 else np.array([output]),
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


def _n_bytes(n_bits) -> int:
    """Return how many bytes the smallest unsigned integer with `n_bits` bits has."""
    return 1 if n_bits <= 8 else 2 if n_bits <= 16 else 4 if n_bits <= 32 else 8
