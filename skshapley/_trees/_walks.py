r"""Pairs of a row to explain and a background row go down all trees at once, level by level.

In the game of one pair and one tree, coalitions reach few leaves. A *lineage* is a path
to one of these leaves. Where both rows go to the same child, the lineage follows them.
Where they differ, the node's player decides. A player decided at an earlier node keeps
its side. If the player is still free, the lineage follows the row to explain, which
requires the player to be *present*. A new lineage branches off along the background
row, which requires the player to be *absent*.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skshapley._trees._ensemble import tree_outputs
from skshapley._trees._paths import traced_runs

# Players in one word of a mask: bits of present players in the lower half, absent in
# the upper
WORD_PLAYERS = 32
# Least share of lineages at inner nodes; with fewer, the ended ones are removed
MOVING = 0.75


class Layout:
    """The nodes of an ensemble, with both children of a node next to each other.

    Parameters
    ----------
    trees : TreeEnsemble
    codes : Codes
        Of these trees.
    players : ndarray of shape (n_features,), int

    Attributes
    ----------
    roots : ndarray of shape (n_trees,), int64
    first : ndarray of shape (n_nodes,), int64
        The left child; the leaf itself at a leaf.
    row : ndarray of shape (n_nodes,), int64
        The code row that a node compares; 0 at a leaf.
    rank : ndarray of shape (n_nodes,)
        Codes above the rank go right; none is above the rank of a leaf.
    is_inner : ndarray of shape (n_nodes,), bool
    player : ndarray of shape (n_nodes,), int64
    present : ndarray of shape (n_words, n_nodes), uint64
        The bit, in the words of a mask, of a present player by its position among those
        of the path: 1 << 3 in the first word for position 3. An absent player has the
        bit 1 << 35.
    most_decided : int
        The largest number of distinct players on a path.
    value : ndarray of shape (n_columns, n_nodes), float64
        The value of a leaf: for all outputs, or for the output of its tree.
    output : ndarray of shape (n_trees,), int64, or None
        The output of each tree; None where leaves add to all of them.
    n_outputs : int
    """

    def __init__(self, trees, codes, players) -> None:
        parts = []
        numbers = []
        self.most_decided = 0
        for _, nodes, paths in traced_runs(trees, players):
            level_nodes = np.concatenate(paths.levels)
            parts.append(nodes.start + level_nodes)
            numbers.append(paths.bit[level_nodes])
            self.most_decided = max(self.most_decided, int(paths.n_above.max()))
        order = np.concatenate(parts)
        bits = np.concatenate(numbers)
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        value, self.output = narrowed(trees)
        self.value = np.ascontiguousarray(value[order].T)
        self.n_outputs = trees.n_outputs
        # Siblings are neighbours, so `first + goes_right` is the next node without a
        # second array. A lineage at a leaf stays there.
        self.is_inner = inner = ~trees.is_leaf[order]
        self.first = np.where(inner, place[trees.left[order]], np.arange(len(order)))
        self.row = np.where(inner, codes.row[order], 0)
        self.rank = np.where(inner, codes.rank[order], np.iinfo(codes.rank.dtype).max)
        self.roots = place[trees.roots]
        self.player = players.take(trees.feature)[order]
        bit = np.uint64(1) << (bits % WORD_PLAYERS).astype(np.uint64)
        words = np.arange(1 + int(bits.max()) // WORD_PLAYERS)[:, None]
        self.present = np.where(bits // WORD_PLAYERS == words, bit, np.uint64(0))


def narrowed(trees) -> tuple[NDArray[np.float64], NDArray[np.intp] | None]:
    """Return values as one column if every tree adds to one output, and that output."""
    output = tree_outputs(trees)
    if trees.n_outputs == 1 or (output < 0).any():
        return trees.value, None
    return trees.value.sum(axis=1, keepdims=True), output


class Walk(NamedTuple):
    """Branchings and ends of all lineages from given starts.

    Attributes
    ----------
    parents, players : ndarray of shape (n_branchings,), int64
        The parent of each new lineage, and the player of the branching.
    steps : list of tuple of int
        The first branching of each step, and one past the last.
    ends : ndarray of shape (n_lineages,), int64
        The leaf of each lineage: first the starting lineages, then the branched
        lineages.
    decided : ndarray of shape (n_lineages,), int64
        ``n_absent * (most_decided + 1) + n_present``, of decided players.
    origins : ndarray of shape (n_lineages,), int64
        The start of each lineage.
    """

    parents: np.ndarray
    players: np.ndarray
    steps: list[tuple[int, int]]
    ends: np.ndarray
    decided: np.ndarray
    origins: np.ndarray


def walk(layout, roots, X, R, at) -> Walk:
    """Return the lineages from all starts.

    Parameters
    ----------
    layout : Layout
    roots : ndarray of shape (n_starts,), int64
        The root of each start.
    X, R : ndarray
        Codes of rows to explain and of background rows, row by row. Of a single row to
        explain, `X` may have the answer at each node instead: whether it goes right.
    at : list of ndarray of shape (n_starts,), int64
        Positions of the first code of each start's rows in `X` and `R`, or in `R`.

    Returns
    -------
    walk : Walk
    """
    number = np.arange(len(roots))
    node = roots
    n = len(roots)
    mask = np.zeros((len(layout.present), n), dtype=layout.present.dtype)
    parents = [number[:0]]
    players = [number[:0]]
    steps = []
    ended: list[tuple[np.ndarray, ...]] = []
    while len(node):
        inner = layout.is_inner.take(node)
        # Most steps leave ended lineages where they are: it costs time to remove them.
        if np.count_nonzero(inner) < MOVING * len(node):
            end = (~inner).nonzero()[0]
            go = inner.nonzero()[0]
            ended.append((number.take(end), node.take(end), mask.take(end, axis=1)))
            number, node, *at = (part.take(go) for part in (number, node, *at))
            mask = mask.take(go, axis=1)
        row, rank, first = (
            part.take(node) for part in (layout.row, layout.rank, layout.first)
        )
        right = X.take(node) if len(at) == 1 else X.take(at[0] + row) > rank
        background_right = R.take(at[-1] + row) > rank
        differ = (right != background_right).nonzero()[0]
        branching_nodes = node.take(differ)
        decided = mask.take(differ, axis=1)
        present = layout.present.take(branching_nodes, axis=1)
        absent = present << np.uint64(WORD_PLAYERS)
        # If the rows differ and the player is absent, the lineage follows the
        # background row instead.
        right[differ.compress((decided & absent).any(axis=0))] ^= True
        node = first + right
        free = (~(decided & (present | absent)).any(axis=0)).nonzero()[0]
        if len(free):
            # A copy follows the background row; its player is absent.
            branch = differ.take(free)
            decided = decided.take(free, axis=1)
            present = present.take(free, axis=1)
            copies = decided | present << np.uint64(WORD_PLAYERS)
            mask[:, branch] = decided | present
            parents.append(number.take(branch))
            players.append(layout.player.take(branching_nodes.take(free)))
            steps.append((n - len(roots), n - len(roots) + len(free)))
            number = np.concatenate([number, np.arange(n, n + len(free))])
            n += len(free)
            node = np.concatenate(
                [node, first.take(branch) + background_right.take(branch)]
            )
            at = [np.concatenate([part, part.take(branch)]) for part in at]
            mask = np.concatenate([mask, copies], axis=1)
    ends = np.empty(n, dtype=np.int64)
    sides = np.empty((len(mask), n), dtype=np.uint64)
    for number, node, mask in ended:
        ends[number] = node
        sides[:, number] = mask
    present, absent = (
        np.bitwise_count(side).sum(axis=0, dtype=np.int64)
        for side in (sides << np.uint64(WORD_PLAYERS), sides >> np.uint64(WORD_PLAYERS))
    )
    decided = absent * (layout.most_decided + 1) + present
    origins = np.arange(n)
    origin = np.concatenate(parents)
    for first, last in steps:
        origins[len(roots) + first : len(roots) + last] = origins.take(
            origin[first:last]
        )
    return Walk(origin, np.concatenate(players), steps, ends, decided, origins)
