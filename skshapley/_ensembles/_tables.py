"""The law of a background in a chunk of groups, and looking up what was made of it."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


def histogram(patterns, weights, n_bits) -> np.ndarray:
    """Return the weight of the background on every pattern of every group.

    Parameters
    ----------
    patterns : ndarray of shape (n_groups, b), unsigned
    weights : ndarray of shape (b,), or None
        None: every row counts 1.
    n_bits : int

    Returns
    -------
    counts : ndarray of shape (n_groups, 2 ** n_bits)
    """
    n_groups, size = len(patterns), 1 << n_bits
    # signed, since NumPy 2.0 counts no unsigned numbers of 64 bits
    slot = patterns.astype(np.intp) + (np.arange(n_groups) << n_bits)[:, None]
    if weights is None:
        counts = np.bincount(slot.ravel(), minlength=n_groups * size)
    else:
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
        return counts.ravel().astype(np.float64)
    size = 1 << chunk.n_path
    start = np.cumsum(size) - size
    slot = start[:, None] + masks.astype(np.intp)
    weights = counts[chunk.leaf_group]
    return np.bincount(slot.ravel(), weights=weights.ravel(), minlength=int(size.sum()))


def law_of_few(chunk, masks, patterns, weights) -> np.ndarray:
    """Return what `background_law` returns, without counting the patterns of a few rows.

    Parameters
    ----------
    chunk : Chunk
    masks : ndarray of shape (n_leaves, 2 ** n_bits), unsigned
    patterns : ndarray of shape (n_groups, b), unsigned
    weights : ndarray of shape (b,), or None
        None: every row counts 1.
    """
    size = 1 << chunk.n_path
    own = patterns[chunk.leaf_group].astype(np.intp)
    slot = np.take_along_axis(masks, own, axis=1) + (np.cumsum(size) - size)[:, None]
    if weights is not None:
        weights = np.broadcast_to(weights, slot.shape).ravel()
    return np.bincount(slot.ravel(), weights, int(size.sum())).astype(np.float64)


def look_up(table, patterns, chunk, room=None) -> NDArray[np.float64]:
    """Return the values in a chunk's table for some instances.

    Parameters
    ----------
    table : ndarray of shape (n_outputs, n_planes, n_groups * 2 ** n_bits)
    patterns : ndarray of shape (n_groups, r), unsigned
    chunk : Chunk
    room : ndarray or None, default=None
        Where the values are written, ``(n,)`` with n at least their number. New memory for each
        chunk takes as long as the values.

    Returns
    -------
    values : ndarray of shape (n_outputs, n_columns * n_groups, r)
    """
    shape = len(table), chunk.n_columns, *patterns.shape
    out = None if room is None else room[: math.prod(shape)].reshape(shape)
    slot = np.add(patterns, (np.arange(len(patterns)) << chunk.n_bits)[:, None], dtype=np.intp)
    if chunk.is_single_leaves:
        bits = 1 << np.arange(chunk.n_bits)[:, None, None]
        values = np.take(table[:, 1], slot | bits, axis=1, mode="clip", out=out)
        values += np.take(table[:, :1], slot, axis=2, mode="clip")
    else:
        values = np.take(table, slot, axis=2, mode="clip", out=out)
    return values.reshape(len(table), -1, patterns.shape[1])


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
