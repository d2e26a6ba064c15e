"""Tables of a chunk of groups: the value of each player for each pattern of an instance."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skshapley._ensembles._leaf_games import leaf_values


def histogram(patterns, weights, n_bits) -> np.ndarray:
    """Return the weight of the background on every pattern of every group.

    Parameters
    ----------
    patterns : ndarray of shape (n_groups, b), unsigned
    weights : ndarray of shape (b,)
    n_bits : int

    Returns
    -------
    counts : ndarray of shape (n_groups, 2 ** n_bits)
    """
    n_groups, size = len(patterns), 1 << n_bits
    slot = patterns.astype(np.intp) + (np.arange(n_groups) << n_bits)[:, None]
    repeated = np.broadcast_to(weights, slot.shape).ravel()
    counts = np.bincount(slot.ravel(), weights=repeated, minlength=n_groups * size)
    return counts.reshape(n_groups, size)


def background_law(chunk, masks, counts) -> np.ndarray:
    """Return the weight of the background on the fail masks of every leaf of a chunk.

    Parameters
    ----------
    chunk : Chunk
    masks : ndarray of shape (n_leaves, 2 ** n_bits), unsigned
        See `Groups.fail_masks`.
    counts : ndarray of shape (n_groups, 2 ** n_bits)
        Its weight on the patterns of each group, from `histogram`.

    Returns
    -------
    law : ndarray
        ``2 ** n_path`` numbers for each leaf, one leaf after the other.
    """
    if chunk.is_single_leaves:
        return counts.ravel()
    size = 1 << chunk.n_path
    start = np.cumsum(size) - size
    slot = start[:, None] + masks.astype(np.intp)
    weights = counts[chunk.leaf_group]
    return np.bincount(slot.ravel(), weights=weights.ravel(), minlength=int(size.sum()))


def chunk_table(chunk, masks, law, values, index="shapley", out=None) -> NDArray[np.float64]:
    """Return the sum of the games of a chunk's leaves, as one table.

    Parameters
    ----------
    chunk : Chunk
    masks : ndarray of shape (n_leaves, 2 ** n_bits), unsigned
    law : ndarray
        See `background_law`.
    values : ndarray of shape (n_leaves, n_outputs)
        What each leaf adds to the outputs of the chunk.
    index : {"shapley", "banzhaf"}, default="shapley"
    out : ndarray, or None, default=None
        Where the table is written, of its shape.

    Returns
    -------
    table : ndarray of shape (n_outputs, n_columns, n_groups * 2 ** n_bits)
    """
    games, start = _solve_leaves(chunk.n_path, law, index)
    if chunk.is_single_leaves:
        games = games.reshape(chunk.n_groups, chunk.n_columns, -1).transpose(1, 0, 2)
        room = None if out is None else out.reshape(values.shape[1], *games.shape)
        table = np.multiply(games, values.T[:, None, :, None], out=room)
        return table.reshape(values.shape[1], chunk.n_columns, -1)
    leaf, bit = np.nonzero(chunk.leaf_players >= 0)
    group = chunk.leaf_group[leaf]
    player = chunk.leaf_players[leaf, bit]
    column = (chunk.players.T[group] < player[:, None]).sum(axis=1)
    slot = column * chunk.n_groups + group
    order = np.argsort(slot, kind="stable")
    leaf, bit, slot = leaf[order], bit[order], slot[order]
    where = (start[leaf] + (bit << chunk.n_path[leaf]))[:, None] + masks[leaf].astype(np.intp)
    terms = np.take(games, where, mode="clip")  # which is faster, and nothing is out of bounds
    first = np.searchsorted(slot, np.arange(chunk.players.size + 1))
    shape = values.shape[1], chunk.n_columns, chunk.n_groups << chunk.n_bits
    table = np.empty(shape) if out is None else out
    for plane, value in zip(table, values.T, strict=True):
        total = sparse.csr_array(
            (value[leaf], np.arange(len(leaf)), first), shape=(chunk.players.size, len(leaf))
        )
        plane[...] = (total @ terms).reshape(plane.shape)
    return table


def _solve_leaves(n_path, law, index) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the games of all leaves, ``(n_path, 2 ** n_path)`` each, and where each starts."""
    size = 1 << n_path
    ends = np.cumsum(n_path * size)
    games = np.empty(int(ends[-1]))
    law_ends = np.cumsum(size)
    for k in range(1, int(n_path[-1]) + 1):
        # The leaves of a chunk are in the order of their numbers of players.
        first, last = np.searchsorted(n_path, [k, k + 1])
        if first == last:
            continue
        h = law[law_ends[last - 1] - ((last - first) << k) : law_ends[last - 1]]
        solved = games[ends[last - 1] - ((last - first) * k << k) : ends[last - 1]]
        leaf_values(h.reshape(-1, 1 << k), index, out=solved.reshape(-1, k, 1 << k))
    return games, ends - n_path * size


def look_up(table, patterns, n_bits) -> NDArray[np.float64]:
    """Return the entries of a chunk's table for some instances.

    Parameters
    ----------
    table : ndarray of shape (n_outputs, n_columns, n_groups * 2 ** n_bits)
    patterns : ndarray of shape (n_groups, r), unsigned
    n_bits : int

    Returns
    -------
    entries : ndarray of shape (n_outputs, n_columns * n_groups, r)
    """
    slot = patterns.astype(np.intp) + (np.arange(len(patterns)) << n_bits)[:, None]
    entries = np.take(table, slot, axis=2, mode="clip")
    return entries.reshape(len(table), -1, patterns.shape[1])


def owner_of(chunk, n_players) -> sparse.csr_array:
    """Return the matrix ``(n_players, n_columns * n_groups)`` that sums columns into players."""
    n, player = chunk.players.size, chunk.players.ravel()
    # One group after another: a group that holds nothing for an instance can be left out
    order = np.lexsort((np.tile(np.arange(chunk.n_groups), chunk.n_columns), player))
    first = np.searchsorted(player[order], np.arange(n_players + 1))
    return sparse.csr_array((np.ones(n), order, first), shape=(n_players, n))


def add_columns(values, outputs, owner, found) -> None:
    """Add the sums over the columns of some groups to the players.

    Parameters
    ----------
    values : ndarray of shape (n_outputs, n_players, r)
        Added to in place.
    outputs : ndarray of int
    owner : sparse array of shape (n_players, n_columns * n_groups)
    found : ndarray of shape (len(outputs), n_columns * n_groups, r)
    """
    for output, columns in zip(outputs, found, strict=True):
        values[output] += owner @ columns
