r"""The game of one leaf, solved for all instances at once.

Let h(p) be the weight of the background rows with fail mask p at a leaf of value 1 with k path
players, and let c be the fail mask of an instance. The coalition S reaches the leaf when the
players of S are passed by the instance and the others by the background row. With every player
present with probability t, independently, the leaf is reached with probability

.. math:: F_t(c) = \sum_{p \cap c = \emptyset} h(p)\, t^{|p|} (1 - t)^{|c|},

a sum over subsets: one addition for each player and mask. The value of player j is the mean over t
of the derivative along its coordinate (Owen 1972, "Multilinear extensions of games"):

.. math::
    \frac{1}{t} \left[F_t(c) - \frac{F_t(c \cup j)}{1 - t}\right],

which is -F_t(c) / (1 - t) for the players of c. It is a polynomial of degree k - 1 in t:
Gauss-Legendre nodes give its mean exactly. The Banzhaf value is the same derivative at t = 1/2. So
two means for each mask are enough: that of F_t(c) / t, and that of -F_t(c) / (t (1 - t)). Values of
all players at c are the first number of c plus the second one of c with j.
"""

from collections.abc import Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray

from skshapley.indices import Index

INDICES = ("shapley", "banzhaf")

# Numbers that are transformed at once, so that they stay in the cache
BATCH = 1 << 18
LEAST_LEAVES = 8


@cache
def presence_law(index, degree) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return nodes and weights that integrate polynomials in t exactly.

    Parameters
    ----------
    index : Index, or "shapley" or "banzhaf"
    degree : int

    Returns
    -------
    nodes, weights : ndarray of shape (q,), float64
        In (0, 1); the weights sum to 1.
    """
    if isinstance(index, Index):
        u, weights = index.nodes(max(degree, 0) // 2 + 1)
        return (1 + u) / 2, weights
    if index == "banzhaf":
        return np.array([0.5]), np.array([1.0])
    nodes, weights = np.polynomial.legendre.leggauss(max(degree, 0) // 2 + 1)
    return (1 + nodes) / 2, weights / 2


@cache
def mean_weights(index, k) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return what the two means of a leaf with k path players are made of.

    Parameters
    ----------
    index : {"shapley", "banzhaf"}
    k : int

    Returns
    -------
    powers, rest : ndarray of shape (k + 1, q)
        The powers of t and of 1 - t.
    combine : ndarray of shape (2, q)
        What F_t(c) counts in each mean.
    """
    t, weights = presence_law(index, k - 1)
    count = np.arange(k + 1)[:, None]
    return t**count, (1 - t) ** count, np.stack([weights / t, -weights / (t * (1 - t))])


def subset_sums(h, powers) -> NDArray[np.float64]:
    """Return the sums of h(p) t^|p| over the subsets p of every mask, for every t.

    Parameters
    ----------
    h : ndarray of shape (2 ** k, n_leaves)
        Weight of the background's fail masks.
    powers : ndarray of shape (k + 1, q)
        Of t.

    Returns
    -------
    sums : ndarray of shape (2 ** k, q, n_leaves)
    """
    size = len(h)
    # The masks come first, so that even neighbours among them are far apart, and runs are long.
    of_mask = powers.take(np.bitwise_count(np.arange(size)), axis=0)
    sums = np.multiply(h[:, None], of_mask[..., None], order="C")
    half = 1
    while half < size:
        pairs = sums.reshape(size // (2 * half), 2, -1)
        pairs[:, 1] += pairs[:, 0]
        half *= 2
    return sums


def reach_probabilities(h, nodes) -> NDArray[np.float64]:
    """Return F_t(c) for every fail mask c and every t.

    Parameters
    ----------
    h : ndarray of shape (2 ** k, n_leaves)
        Weight of the background's fail masks.
    nodes : ndarray of shape (q,)

    Returns
    -------
    probabilities : ndarray of shape (q, 2 ** k, n_leaves)
    """
    count = np.arange(len(h).bit_length())[:, None]
    return _reached(h, nodes**count, (1 - nodes) ** count)


def _reached(h, powers, rest) -> NDArray[np.float64]:
    """Return F_t(c), ``(q, 2 ** k, n_leaves)``, by the powers of t and of 1 - t."""
    of_mask = rest.take(np.bitwise_count(np.arange(len(h))), axis=0)
    # The sum over all p that are disjoint from c is that over the subsets of what c lacks.
    sums = subset_sums(h, powers)[::-1].transpose(1, 0, 2)
    return np.multiply(sums, of_mask.T[..., None], order="C")


def grid_of(trees) -> float:
    """Return the grid on which sums over the leaves of an ensemble are exact in any order.

    What a leaf adds to a player is rounded to a multiple of it, some 2^-50 of what all trees may
    add up to.
    """
    largest = np.maximum.reduceat(np.abs(trees.value).max(axis=1), trees.roots).sum()
    return float(2.0 ** (np.ceil(np.log2(largest)) - 50)) if largest > 0 else 1.0


def on_grid(values, worth, grid) -> NDArray[np.float64]:
    """Return ``values * worth``, rounded to multiples of a power of two."""
    rounded = values * (worth / grid)
    np.rint(rounded, out=rounded)
    rounded *= grid
    return rounded


def leaf_means(h, index, values, grid, out) -> None:
    """Write the two means of leaves that the values of all their path players consist of.

    Parameters
    ----------
    h : ndarray of shape (n_leaves, 2 ** k)
        Weight of the background's fail masks.
    index : {"shapley", "banzhaf"}
    values : ndarray of shape (n_leaves, n_outputs)
        What each leaf adds to the outputs.
    grid : float
        See `grid_of`.
    out : ndarray of shape (n_outputs, 2, n_leaves, 2 ** k)
        Where they are written. The value of player j for the fail mask c is
        ``out[:, 0, :, c] + out[:, 1, :, c | 1 << j]``.
    """
    for part, means in _means(h, index):
        for worth, of_output in zip(values.T, out, strict=True):
            of_output[:, part] = on_grid(means, worth[part], grid).swapaxes(1, 2)


def leaf_values(h, index, values, grid, out) -> None:
    """Write the values of the path players of leaves, for every fail mask.

    Parameters
    ----------
    h : ndarray of shape (n_leaves, 2 ** k)
        Weight of the background's fail masks.
    index : {"shapley", "banzhaf"}
    values : ndarray of shape (n_leaves, n_outputs)
        What each leaf adds to the outputs.
    grid : float
        See `grid_of`.
    out : ndarray of shape (n_outputs, n_leaves, k, 2 ** k)
        Where the values are written.
    """
    k, size = out.shape[2:]
    joined = np.arange(size) | 1 << np.arange(k)[:, None]
    for part, means in _means(h, index):
        for worth, of_output in zip(values.T, out, strict=True):
            own, joint = np.ascontiguousarray(on_grid(means, worth[part], grid).swapaxes(1, 2))
            of_output[part] = joint.take(joined, axis=1)
            of_output[part] += own[:, None]


def _means(h, index) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Yield some leaves, and the two means of leaves of value 1, ``(2, 2 ** k, n)``."""
    n_leaves, size = h.shape
    powers, rest, combine = mean_weights(index, size.bit_length() - 1)
    step = max(LEAST_LEAVES, BATCH // (combine.shape[1] * size))
    for first in range(0, n_leaves, step):
        part = slice(first, min(first + step, n_leaves))
        reached = _reached(np.ascontiguousarray(h[part].T), powers, rest)
        yield part, np.stack([added(weights, reached) for weights in combine])


def added(weights, parts) -> NDArray[np.float64]:
    """Return the weighted sum of some arrays, whose bits do not depend on their shapes.

    Parameters
    ----------
    weights : sequence of float or ndarray
    parts : sequence of ndarray
    """
    total = weights[0] * parts[0]
    for weight, part in zip(weights[1:], parts[1:], strict=True):
        total += weight * part
    return total
