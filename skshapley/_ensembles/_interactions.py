r"""Interactions of pairs of players in a tree ensemble, leaf by leaf.

The interaction of the players i and j (Grabisch & Roubens 1999, "An axiomatic approach to the
concept of interaction among players in cooperative games") is the mean over t of the mixed second
derivative of the multilinear extension, where every other player is present with probability t. At
a leaf of value 1, with F_t(c) as in `_leaf_games`, each of the two derivatives is

.. math::
    j \in c:\quad -\frac{F_t(c)}{1 - t}, \qquad
    j \notin c:\quad \frac{1}{t} \left[F_t(c) - \frac{F_t(c \cup j)}{1 - t}\right],

and a polynomial of degree k - 2 in t is left. An instance with fail mask c that meets a disjoint
background row with fail mask p contributes the moment of (|p| - 2, |c|) to two players of p, of
(|p|, |c| - 2) to two players of c, and minus that of (|p| - 1, |c| - 1) to one of each, where for
Shapley the moment of (a, b) is a! b! / (a + b + 1)!.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skshapley._ensembles._leaf_games import presence_law, reach_probabilities
from skshapley._ensembles._meetings import TESTS, unpack_bits

# Leaves of more path players meet the fail masks of both sides directly
MOST_TABLE_BITS = 10
# Instances that are looked up together
ROWS = 512
# Numbers in the tables of the leaves that are handled together
BATCH = 1 << 20


def add_interactions(totals, block, reference, codes, index) -> None:
    """Add the interactions of the pairs in some trees, for some instances.

    Parameters
    ----------
    totals : ndarray of shape (n_outputs, n_players, n_players, r)
        Added to in place, at the pairs ``i < j`` only.
    block : object
        With ``trees``, ``paths`` and ``groups``.
    reference : Background
    codes : ndarray of shape (n_rows, r), unsigned
        Of the instances.
    index : {"shapley", "banzhaf"}
    """
    patterns = block.groups.patterns(codes)
    for piece in reference.pieces(block):
        for chunk in block.groups.chunks:
            part = patterns[chunk.groups]
            if chunk.is_single_leaves and chunk.n_bits > MOST_TABLE_BITS:
                _add_meetings(totals, block, chunk, piece, part, index)
            elif chunk.n_bits > 1:
                _add_look_ups(totals, block, chunk, piece, part, index)


def _add_look_ups(totals, block, chunk, piece, patterns, index) -> None:
    """Add the interactions in a chunk, by tables over the fail masks, some leaves at a time."""
    fails = block.groups.fail_masks(chunk)
    law = piece.law(chunk, fails)
    start = np.cumsum(1 << chunk.n_path) - (1 << chunk.n_path)
    for k in np.unique(chunk.n_path[chunk.n_path > 1]).tolist():
        first, last = np.searchsorted(chunk.n_path, [k, k + 1])
        step = max(1, 2 * BATCH // (k * (k - 1) * max(ROWS, 1 << k)))
        for at in range(first, last, step):
            leaves = np.arange(at, min(at + step, last))
            h = law[start[leaves] + np.arange(1 << k)[:, None]]
            table = leaf_interactions(h, index).reshape(-1, h.size)
            keys = pair_keys(chunk.leaf_players[leaves, :k], totals.shape[1])
            some = patterns[chunk.leaf_group[leaves]]
            for row in range(0, patterns.shape[1], ROWS):
                part = slice(row, row + ROWS)
                masks = np.take_along_axis(fails[leaves], some[:, part].astype(np.intp), axis=1)
                slot = masks * len(leaves) + np.arange(len(leaves))[:, None]
                found = np.take(table, slot, axis=1)
                values = block.trees.value[np.ix_(chunk.leaves[leaves], chunk.outputs)]
                _add(totals[..., part], chunk.outputs, keys, values, found)


def _add_meetings(totals, block, chunk, piece, patterns, index) -> None:
    """Add the interactions in a chunk of single leaves, without tables, one leaf at a time."""
    r, b = patterns.shape[1], len(piece.weights)
    keys = pair_keys(chunk.leaf_players[:, : chunk.n_bits], totals.shape[1])
    background = piece.patterns[chunk.groups]
    rows = min(ROWS, max(1, TESTS // b))
    for leaf, node in enumerate(chunk.leaves):
        one = slice(leaf, leaf + 1)
        values = block.trees.value[[node]][:, chunk.outputs]
        for row in range(0, r, rows):
            part = slice(row, row + rows)
            found = interactions_by_meetings(
                patterns[leaf, part], background[leaf], piece.weights, chunk.n_bits, index
            )
            if found is not None:
                _add(totals[..., part], chunk.outputs, keys[:, one], values, found[:, None])


def pair_keys(players, n_players) -> NDArray[np.int64]:
    """Return the pairs of path players of each leaf as numbers ``i * n_players + j`` with i < j.

    Parameters
    ----------
    players : ndarray of shape (n_leaves, k), int64
    n_players : int

    Returns
    -------
    keys : ndarray of shape (k (k - 1) / 2, n_leaves), int64
        Pairs of bits in the order of ``np.triu_indices(k, 1)``.
    """
    first, second = (players.T[bits] for bits in np.triu_indices(players.shape[1], 1))
    return np.minimum(first, second) * n_players + np.maximum(first, second)


def _add(totals, outputs, keys, values, found) -> None:
    """Add the interactions of the pairs of some leaves.

    Parameters
    ----------
    totals : ndarray of shape (n_outputs, n_players, n_players, r)
        Added to in place.
    outputs : ndarray of int
    keys : ndarray of shape (n_pairs, n_leaves)
    values : ndarray of shape (n_leaves, len(outputs))
    found : ndarray of shape (n_pairs, n_leaves, r)
    """
    pairs, owner = np.unique(keys.ravel(), return_inverse=True)
    terms = found.reshape(keys.size, -1)
    first, second = np.divmod(pairs, totals.shape[1])
    for output, value in zip(outputs, values.T, strict=True):
        weights = np.broadcast_to(value, keys.shape).ravel()
        gather = sparse.coo_array((weights, (owner, np.arange(keys.size)))).tocsr()
        totals[output, first, second] += gather @ terms


def leaf_interactions(h, index) -> NDArray[np.float64]:
    """Return the interactions of path players of leaves of value 1, for every fail mask.

    Parameters
    ----------
    h : ndarray of shape (2 ** k, n_leaves)
        Weight of the background's fail masks; k is at least 2.
    index : {"shapley", "banzhaf"}

    Returns
    -------
    table : ndarray of shape (k (k - 1) / 2, 2 ** k, n_leaves)
        Pairs of bits in the order of ``np.triu_indices(k, 1)``.
    """
    size, n_leaves = h.shape
    k = size.bit_length() - 1
    t, weights = presence_law(index, k - 2)
    s = 1 - t
    combine = weights * np.stack(
        [1 / t**2, -1 / (t**2 * s), 1 / (t * s) ** 2, -1 / (t * s), 1 / (t * s**2), 1 / s**2]
    )
    averages = combine @ reach_probabilities(h, t).reshape(len(t), -1)
    table = np.empty((k * (k - 1) // 2, size * n_leaves))
    for target, i, j in zip(table, *np.triu_indices(k, 1), strict=True):
        # Axes 1 and 3 tell whether the instance fails j and i.
        shape = (size >> (j + 1), 2, 1 << (j - i - 1), 2, n_leaves << i)
        neither, one_more, two_more, failed, failed_more, both = averages.reshape(6, *shape)
        out = target.reshape(shape)
        out[:, 0, :, 0] = (
            neither[:, 0, :, 0] + one_more[:, 1, :, 0] + one_more[:, 0, :, 1] + two_more[:, 1, :, 1]
        )
        out[:, 1, :, 0] = failed[:, 1, :, 0] + failed_more[:, 1, :, 1]
        out[:, 0, :, 1] = failed[:, 0, :, 1] + failed_more[:, 1, :, 1]
        out[:, 1, :, 1] = both[:, 1, :, 1]
    return table.reshape(-1, size, n_leaves)


def interactions_by_meetings(
    instances, background, weights, n_path, index
) -> NDArray[np.float64] | None:
    """Return the interactions of the path players of one leaf of value 1, without a table.

    Parameters
    ----------
    instances : ndarray of shape (r,), unsigned
        Fail masks.
    background : ndarray of shape (b,), unsigned
    weights : ndarray of shape (b,)
    n_path : int
        At least 2.
    index : {"shapley", "banzhaf"}

    Returns
    -------
    interactions : ndarray of shape (n_path (n_path - 1) / 2, r), or None
        None where no instance meets any row.
    """
    asker, reference = np.nonzero((instances[:, None] & background) == 0)
    if not len(asker):
        return None
    t, law = presence_law(index, n_path - 2)
    size = np.arange(n_path + 1)[:, None]
    moment = (t**size * law) @ ((1 - t) ** size).T
    n_present = np.bitwise_count(background[reference]).astype(np.intp)
    n_absent = np.bitwise_count(instances[asker]).astype(np.intp)
    starts = np.searchsorted(asker, np.arange(len(instances) + 1))

    def total(of_present, of_absent, what) -> NDArray[np.float64]:
        """Return the sum over the rows that an instance meets, less some players of each mask."""
        there = (n_present >= of_present) & (n_absent >= of_absent)
        worth = moment[n_present - of_present, n_absent - of_absent] * there * weights[reference]
        shape = (len(instances), len(background))
        return sparse.csr_array((worth, reference, starts), shape=shape) @ what

    present, absent = unpack_bits(background, n_path), unpack_bits(instances, n_path)
    i, j = np.triu_indices(n_path, 1)
    mixed = total(1, 1, present)
    found = total(2, 0, present[:, i] * present[:, j])
    found -= absent[:, i] * mixed[:, j] + absent[:, j] * mixed[:, i]
    found += absent[:, i] * absent[:, j] * total(0, 2, np.ones((len(background), 1)))
    return found.T
