r"""The game of one leaf, solved for all rows to explain at once.

Let h(p) be the weight of the background rows with fail mask p at a leaf of value 1 with
k path players, and let c be the fail mask of a row to explain. The coalition S reaches
the leaf if the row to explain passes the players of S and the background row passes the
other players. If every player is present independently with probability t, the
coalition reaches the leaf with probability

.. math:: F_t(c) = \sum_{p \cap c = \emptyset} h(p)\, t^{|p|} (1 - t)^{|c|},

a sum over subsets: one addition for each player and mask. The value of player j is the
mean over t of the derivative along its coordinate (Owen 1972, "Multilinear extensions
of games"):

.. math::
    j \in c:\quad -\frac{F_t(c)}{1 - t}, \qquad
    j \notin c:\quad \frac{1}{t} \left[F_t(c) - \frac{F_t(c \cup j)}{1 - t}\right].

The derivative is a polynomial of degree k - 1 in t, so Gauss-Legendre nodes give its
exact mean. The Banzhaf value is the same derivative at t = 1/2. Two means for each mask
are therefore enough: the *own* mean of F_t(c) / t, and the *joint* mean of -F_t(c) / (t
(1 - t)). The value of any player at c is the own mean of c plus the joint mean of c
with j.

The interaction of i and j (Grabisch & Roubens 1999, "An axiomatic approach to the
concept of interaction among players in cooperative games") is the mean over t of the
mixed second derivative, a polynomial of degree k - 2.
"""

from collections.abc import Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray

# Numbers in one transform: few enough to stay in the cache
BATCH = 1 << 18
# At least this many leaves per step, so that numpy's overhead per call is shared
LEAST_LEAVES = 8


@cache
def meeting_weights(most, index) -> NDArray[np.float64]:
    """Return the worth of a leaf to its players, for a row to explain and a background row.

    Parameters
    ----------
    most : int
        Largest number of decided players.
    index : Index

    Returns
    -------
    worths : ndarray of shape (5, most + 1, most + 1)
        At ``[|c|, |p|]``: the gain of a player of p, for Shapley (|p| - 1)! |c|! / (|p|
        + |c|)!; the loss of a player of c, |p|! (|c| - 1)! / (|p| + |c|)!; and the
        interaction of two players of p, of one of each, and of two players of c.
    """
    # The moment is a polynomial of degree k - 1 in t; this many nodes integrate it
    # exactly.
    t, weights = index.law(most - 1)
    size = np.arange(most + 1)[:, None]
    moment = (1 - t) ** size @ (t**size * weights).T
    gain, loss, two, mixed, none = worths = np.zeros((5, *moment.shape))
    # Shifted by one or two: the players themselves are excluded from the counts of
    # their sides.
    gain[:, 1:] = moment[:, :-1]
    loss[1:] = moment[:-1]
    two[:, 2:] = moment[:, :-2]
    mixed[1:, 1:] = -moment[:-1, :-1]
    none[2:] = moment[:-2]
    return worths


def _reached(h, t) -> NDArray[np.float64]:
    """Return F_t(c) of leaves with the laws ``(2 ** k, n)``, as ``(q, 2 ** k, n)``."""
    size = len(h)
    count = np.bitwise_count(np.arange(size))[:, None]
    # The masks come first, so that adjacent masks are far apart in memory and runs are
    # long.
    sums = np.multiply(h[:, None], (t**count)[..., None], order="C")
    # The fast zeta transform: after the step of bit j, each mask has the sum over its
    # subsets that differ in bits up to j. k 2^(k - 1) additions instead of 3^k.
    # Reshaping makes the bit's two states an axis, so each step is one addition of long
    # slices.
    half = 1
    while half < size:
        pairs = sums.reshape(size // (2 * half), 2, -1)
        pairs[:, 1] += pairs[:, 0]
        half *= 2
    # The sum over all p disjoint from c equals the sum over the subsets of c's
    # complement.
    sums = sums[::-1].transpose(1, 0, 2)
    return np.multiply(sums, ((1 - t) ** count).T[..., None], order="C")


def runs_of_leaves(n_path) -> Iterator[tuple[int, slice, slice]]:
    """Yield each number of path players, the leaves with this number, and their masks.

    Parameters
    ----------
    n_path : ndarray of shape (n_leaves,), int64
        Ascending. A leaf with k path players has ``2 ** k`` masks; leaves follow one
        another.
    """
    end = 0
    for k in np.flatnonzero(np.bincount(n_path)).tolist():
        first, last = np.searchsorted(n_path, [k, k + 1])
        start = end
        end = end + ((last - first) << k)
        yield k, slice(first, last), slice(start, end)


def leaf_means(law, n_path, index) -> NDArray[np.float64]:
    """Return the own and the joint mean of leaves of value 1, for every fail mask.

    Parameters
    ----------
    law : ndarray of shape (n,)
        Weight of the background's fail masks, ``2 ** k`` numbers for each leaf.
    n_path : ndarray of shape (n_leaves,), int64
        Ascending.
    index : Index

    Returns
    -------
    means : ndarray of shape (2, n)
    """
    means = np.empty((2, len(law)))
    for k, _, masks in runs_of_leaves(n_path):
        # nodes inside (0, 1), so that neither t nor 1 - t is 0
        t, weights = index.law(k - 1)
        combine = np.stack([weights / t, -weights / (t * (1 - t))])
        h = law[masks].reshape(-1, 1 << k)
        out = means[:, masks].reshape(2, -1, 1 << k)
        step = max(LEAST_LEAVES, BATCH // (len(t) << k))
        for first in range(0, len(h), step):
            batch = np.ascontiguousarray(h[first : first + step].T)
            averages = combine @ _reached(batch, t).reshape(len(t), -1)
            out[:, first : first + step] = averages.reshape(2, *batch.shape).swapaxes(
                1,
                2,
            )
    return means


def leaf_interactions(h, index) -> NDArray[np.float64]:
    """Return the interactions of path players of leaves of value 1, for every fail mask.

    Parameters
    ----------
    h : ndarray of shape (2 ** k, n_leaves)
        Weight of the background's fail masks; k is at least 2.
    index : Index

    Returns
    -------
    table : ndarray of shape (k (k - 1) / 2, 2 ** k, n_leaves)
        Pairs of bits in the order of ``np.triu_indices(k, 1)``.
    """
    size, n_leaves = h.shape
    k = size.bit_length() - 1
    t, weights = index.law(k - 2)
    s = 1 - t
    # One row for each combination of states (free, failed, or both) of the two players;
    # see the module.
    combine = weights * np.stack(
        [
            1 / t**2,
            -1 / (t**2 * s),
            1 / (t * s) ** 2,
            -1 / (t * s),
            1 / (t * s**2),
            1 / s**2,
        ]
    )
    averages = combine @ _reached(h, t).reshape(len(t), -1)
    table = np.empty((k * (k - 1) // 2, size * n_leaves))
    for target, i, j in zip(table, *np.triu_indices(k, 1), strict=True):
        # Axes 1 and 3: the row to explain fails j, and i.
        shape = (size >> (j + 1), 2, 1 << (j - i - 1), 2, n_leaves << i)
        neither, one_more, two_more, failed, failed_more, both_failed = (
            averages.reshape(6, *shape)
        )
        out = target.reshape(shape)
        out[:, 0, :, 0] = (
            neither[:, 0, :, 0]
            + one_more[:, 1, :, 0]
            + one_more[:, 0, :, 1]
            + two_more[:, 1, :, 1]
        )
        out[:, 1, :, 0] = failed[:, 1, :, 0] + failed_more[:, 1, :, 1]
        out[:, 0, :, 1] = failed[:, 0, :, 1] + failed_more[:, 1, :, 1]
        out[:, 1, :, 1] = both_failed[:, 1, :, 1]
    return table.reshape(-1, size, n_leaves)
