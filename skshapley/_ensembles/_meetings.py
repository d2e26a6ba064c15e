"""Leaves with too many path players for a table: the fail masks of both sides meet directly.

An instance with fail mask c *meets* a background row with fail mask p where c and p are disjoint.
Only then do the two contribute to a leaf: each player of p has to be present and each player of c
absent, and this game has the closed form below.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skshapley._ensembles._leaf_games import presence_law

# Disjointness tests that are made in one call
TESTS = 1 << 20


@cache
def meeting_weights(n_path, index) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what a meeting is worth to each player, by the sizes of the two masks.

    Parameters
    ----------
    n_path : int
    index : {"shapley", "banzhaf"}

    Returns
    -------
    present, absent : ndarray of shape (n_path + 1, n_path + 1)
        At ``[|c|, |p|]``: what a player of p gains, for Shapley (|p| - 1)! |c|! / (|p| + |c|)!, and
        what a player of c loses, |p|! (|c| - 1)! / (|p| + |c|)!.
    """
    t, weights = presence_law(index, n_path - 1)
    size = np.arange(n_path + 1)[:, None]
    powers, rest = t**size * weights, (1 - t) ** size
    moment = rest @ powers.T
    present, absent = np.zeros_like(moment), np.zeros_like(moment)
    present[:, 1:] = moment[:, :-1]
    absent[1:] = moment[:-1]
    return present, absent


def leaf_values_by_meetings(
    instances, background, weights, n_path, index="shapley"
) -> NDArray[np.float64]:
    """Return the values of the path players of leaves of value 1, without a table.

    Parameters
    ----------
    instances : ndarray of shape (n_leaves, r), unsigned
        Fail masks.
    background : ndarray of shape (n_leaves, b), unsigned
    weights : ndarray of shape (b,)
    n_path : int
        Number of path players, the same at all leaves.
    index : {"shapley", "banzhaf"}, default="shapley"

    Returns
    -------
    values : ndarray of shape (n_leaves, r, n_path)
    """
    smallest = np.min_scalar_type((1 << n_path) - 1)
    instances, background = instances.astype(smallest), background.astype(smallest)
    n_leaves, r = instances.shape
    b = background.shape[1]
    gains, losses = meeting_weights(n_path, index)
    values = np.empty((n_leaves, r, n_path))
    leaves = max(1, TESTS // (r * b))
    rows = max(1, TESTS // (leaves * b))
    for first in range(0, n_leaves, leaves):
        chosen = slice(first, first + leaves)
        present = unpack_bits(background[chosen].ravel(), n_path)
        n_present = np.bitwise_count(background[chosen]).ravel().astype(np.intp)
        for row in range(0, r, rows):
            part = slice(row, row + rows)
            masks = np.ascontiguousarray(instances[chosen, part])
            meetings = np.flatnonzero((masks[:, :, None] & background[chosen, None]) == 0)
            # A meeting is (leaf, instance, background row) in one number.
            asker, reference = np.divmod(meetings, b)
            other = asker // masks.shape[1] * b + reference
            n_absent = np.bitwise_count(masks).ravel().astype(np.intp)
            sizes = n_absent[asker] * (n_path + 1) + n_present[other]
            weight = weights[reference]
            starts = np.searchsorted(meetings, np.arange(masks.size + 1) * b)
            met = sparse.csr_array(
                (gains.ravel()[sizes] * weight, other, starts), shape=(masks.size, len(present))
            )
            lost = np.bincount(asker, losses.ravel()[sizes] * weight, minlength=masks.size)
            gained = met @ present - unpack_bits(masks.ravel(), n_path) * lost[:, None]
            values[chosen, part] = gained.reshape(*masks.shape, n_path)
    return values


def unpack_bits(masks, n_path) -> NDArray[np.float64]:
    """Return the bits of masks ``(n,)`` as rows of 0.0 and 1.0, ``(n, n_path)``."""
    raw = masks.astype(masks.dtype.newbyteorder("<")).view(np.uint8).reshape(len(masks), -1)
    return np.unpackbits(raw, axis=1, count=n_path, bitorder="little").astype(np.float64)
