r"""Tables leaf by leaf: of the interactions of players, and of the values of nested groups.

A row to explain with fail mask c and a background row with fail mask p meet at a leaf
if no player fails for both. The leaf then needs the players of p present and those of c
absent. A player of p gains the value of the leaf with the probability that it enters
last of p, and before all of c (`entry_probabilities`); a player of c loses it likewise.
All leaves with the same groups along the path share these probabilities as one sparse
matrix.
"""

import math
from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import gen_batches

from skshapley._tools import entry_probabilities
from skshapley._trees._leaf_games import leaf_interactions, runs_of_leaves
from skshapley._trees._tables import ROWS, Table

# Numbers in the tables of leaves in one step
BATCH = 1 << 20
# Matrices in memory; the largest have 3^k k numbers for k = 10 path players
MATRICES = 64


def pair_tables(
    block,
    chunk,
    references,
    patterns,
    n_players,
    index,
) -> Iterator[Table]:
    """Yield the tables of the interactions of players ``i < j`` in a chunk.

    There are tables for each number of path players of a leaf. The sums are those of an
    array ``(n_outputs, n_players, n_players)``.

    Parameters
    ----------
    block : GroupedTrees
    chunk : Chunk
    references : References
    patterns : ndarray of shape (n_groups, b), unsigned, or None
        Of the background; None for the training data.
    n_players : int
    index : Index
    """
    masks, law = references.law(block, chunk, patterns)
    for k, leaves, laws in _batches(chunk, law, lambda k: k * (k - 1) // 2):
        entries = leaf_interactions(np.ascontiguousarray(laws.T), index)
        values = block.trees.value[np.ix_(chunk.leaves[leaves], chunk.outputs)]
        terms = entries.swapaxes(1, 2) * values.T[:, None, :, None]
        players = chunk.leaf_players[leaves].T
        first, second = (players[places] for places in np.triu_indices(k, 1))
        # Only i < j is stored. The caller adds the transpose, which halves the tables.
        keys = np.minimum(first, second) * n_players + np.maximum(first, second)
        keys = chunk.outputs[:, None, None] * n_players**2 + keys
        # Few of the p^2 pairs meet in one run of leaves, so sums are kept for these
        # pairs only.
        targets, to = np.unique(keys.ravel(), return_inverse=True)
        output, pair, leaf = np.indices(keys.shape).reshape(3, -1)
        number = np.arange(len(laws))
        yield Table(
            entries=terms.reshape(-1, laws.size),
            start=number << k,
            group=chunk.groups.start + chunk.leaf_group[leaves],
            flag=0 * number,
            owner=np.stack([leaf, output * len(entries) + pair, to]),
            n_sums=len(targets),
            masks=masks[leaves],
            places=targets,
        )


def _batches(
    chunk,
    law,
    n_tables: Callable[[int], int],
) -> Iterator[tuple[int, slice, NDArray[np.float64]]]:
    """Yield the number k of path players, some leaves with it, and their laws.

    Parameters
    ----------
    chunk : Chunk
    law : ndarray
        From `References.law`.
    n_tables : callable
        The number of tables of a leaf with k path players; leaves without tables are
        left out. A table has 2^k entries, or one number per row looked up.
    """
    for k, run, of_run in runs_of_leaves(chunk.n_path):
        if not n_tables(k):
            continue
        laws = law[of_run].reshape(-1, 1 << k)
        step = max(1, BATCH // (n_tables(k) * max(ROWS, 1 << k)))
        for batch in gen_batches(len(laws), step):
            yield k, slice(run.start + batch.start, run.start + batch.stop), laws[batch]


@lru_cache(maxsize=MATRICES)
def _leaf_values(levels: tuple[tuple[int, ...], ...]) -> sparse.csr_array:
    """Return the matrix from the background's law to the values of a leaf.

    Parameters
    ----------
    levels : tuple of tuple of int
        The group of each of k path players at each level.

    Returns
    -------
    matrix : sparse array of shape (k 2 ** k, 2 ** k)
        For each player and fail mask of the row to explain.
    """
    k = len(levels[0])
    masks = np.arange(1 << k)
    players = np.arange(k)
    failed, background_failed = np.nonzero((masks[:, None] & masks) == 0)
    present = background_failed[:, None] >> players & 1 == 1
    absent = failed[:, None] >> players & 1 == 1
    values = (present.astype(float) - absent) * entry_probabilities(
        present,
        absent,
        np.array(levels),
    )
    pair, player = np.nonzero(values)
    slots = player * len(masks) + failed[pair]
    return sparse.csr_array(
        (values[pair, player], (slots, background_failed[pair])),
        shape=(k << k, 1 << k),
    )


def nested_tables(block, chunk, references, patterns, shape, levels) -> Iterator[Table]:
    """Yield the tables of the values and predictions in a chunk.

    Parameters
    ----------
    block : GroupedTrees
    chunk : Chunk
    references : References
    patterns : ndarray of shape (n_groups, b), unsigned, or None
        Of the background; None for the training data.
    shape : tuple of int
        The number of outputs, and of players and the prediction, which comes last.
    levels : ndarray of shape (n_levels, p), int
        The group of each player at each level, the outermost first.
    """
    masks, law = references.law(block, chunk, patterns)
    # a leaf without players is a constant
    for k, leaves, laws in _batches(chunk, law, lambda k: k + 1 if k else 0):
        players = chunk.leaf_players[leaves, :k]
        # Path players sorted by group, and the new number of each mask. Groups are
        # numbered along the path, so that leaves with groups of the same sizes are
        # equal.
        order = np.lexsort(levels[::-1, players], axis=-1)
        players = np.take_along_axis(players, order, axis=1)
        of_players = levels[:, players].swapaxes(0, 1)
        changes = np.diff(of_players, axis=2, prepend=of_players[:, :, :1]) != 0
        groups = changes.cumsum(axis=2)
        bits = np.arange(1 << k)[:, None] >> order[:, None] & 1
        sorted_masks = bits @ (1 << np.arange(k))
        sorted_laws = np.empty_like(laws)
        np.put_along_axis(sorted_laws, sorted_masks, laws, axis=1)
        games = np.zeros((k + 1, *sorted_laws.shape))
        patterns, of_leaf = np.unique(groups, axis=0, return_inverse=True)
        for kind, pattern in enumerate(patterns):
            members = np.flatnonzero(of_leaf.ravel() == kind)
            matrix = _leaf_values(tuple(map(tuple, pattern.tolist())))
            values = (matrix @ sorted_laws[members].T).reshape(k, 1 << k, -1)
            games[:k, members] = values.swapaxes(1, 2)
        games[k, :, 0] = 1.0  # rows without a failed player reach the leaf
        values = block.trees.value[np.ix_(chunk.leaves[leaves], chunk.outputs)]
        mean = np.zeros(shape[0])
        mean[chunk.outputs] = sorted_laws[:, 0] @ values
        terms = games * values.T[:, None, :, None]
        sums = np.concatenate([players.T, np.full((1, len(players)), shape[1] - 1)])
        sums = chunk.outputs[:, None, None] * shape[1] + sums
        output, column, leaf = np.indices(sums.shape).reshape(3, -1)
        number = np.arange(len(players))
        yield Table(
            entries=terms.reshape(-1, sorted_laws.size),
            start=number << k,
            group=chunk.groups.start + chunk.leaf_group[leaves],
            flag=0 * number,
            owner=np.stack([leaf, output * (k + 1) + column, sums.ravel()]),
            n_sums=math.prod(shape),
            mean=mean,
            masks=np.take_along_axis(
                sorted_masks,
                masks[leaves].astype(np.intp),
                axis=1,
            ),
        )
