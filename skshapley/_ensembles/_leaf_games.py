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
    size, q = len(h), len(nodes)
    count = np.bitwise_count(np.arange(size))[:, None]
    # The masks come first, so that even neighbours among them are far apart, and runs are long.
    sums = np.multiply(h[:, None], (nodes**count)[..., None], order="C").reshape(size, -1)
    half = 1
    while half < size:
        pairs = sums.reshape(size // (2 * half), 2, -1)
        pairs[:, 1] += pairs[:, 0]
        half *= 2
    # The sum over all p that are disjoint from c is that over the subsets of what c lacks.
    probabilities = sums.reshape(size, q, -1)[::-1] * ((1 - nodes) ** count)[..., None]
    return probabilities.transpose(1, 0, 2)


def leaf_means(h, index, values, out) -> None:
    """Write the two means of leaves that the values of all their path players consist of.

    Parameters
    ----------
    h : ndarray of shape (n_leaves, 2 ** k)
        Weight of the background's fail masks.
    index : {"shapley", "banzhaf"}
    values : ndarray of shape (n_leaves, n_outputs)
        What each leaf adds to the outputs.
    out : ndarray of shape (n_outputs, 2, n_leaves, 2 ** k)
        Where they are written. The value of player j for the fail mask c is
        ``out[:, 0, :, c] + out[:, 1, :, c | 1 << j]``.
    """
    combine = _combinations(h.shape[1], index)
    for part, F in _reached(h, index):
        means = combine @ F.transpose(0, 2, 1).reshape(len(F), -1)
        own_and_joint = means.reshape(2, -1, h.shape[1])
        np.multiply(own_and_joint, values.T[:, None, part, None], out=out[:, :, part])


def leaf_values(h, index, out) -> None:
    """Write the values of the path players of leaves of value 1, for every fail mask.

    Parameters
    ----------
    h : ndarray of shape (n_leaves, 2 ** k)
        Weight of the background's fail masks.
    index : {"shapley", "banzhaf"}
    out : ndarray of shape (n_leaves, k, 2 ** k)
        Where the values are written.
    """
    k, size = out.shape[1:]
    combine = _combinations(size, index)
    for part, F in _reached(h, index):
        own, joint = (combine @ F.reshape(len(F), -1)).reshape(2, size, -1)
        values = np.empty((k, *own.shape))
        for j in range(k):
            shape = (size >> (j + 1), 2, -1)
            np.add(own.reshape(shape), joint.reshape(shape)[:, 1:], out=values[j].reshape(shape))
        out[part] = values.transpose(2, 0, 1)


def _combinations(size, index) -> NDArray[np.float64]:
    """Return the weights ``(2, q)`` of F_t(c) in the two means, for so many masks."""
    t, weights = presence_law(index, size.bit_length() - 2)
    return np.stack([weights / t, -weights / (t * (1 - t))])


def _reached(h, index) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Yield some leaves and their `reach_probabilities`, ``(q, 2 ** k, n)``."""
    n_leaves, size = h.shape
    t, _ = presence_law(index, size.bit_length() - 2)
    step = max(LEAST_LEAVES, BATCH // (len(t) * size))
    for first in range(0, n_leaves, step):
        part = slice(first, min(first + step, n_leaves))
        yield part, reach_probabilities(np.ascontiguousarray(h[part].T), t)
