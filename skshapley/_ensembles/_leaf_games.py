r"""The game of one leaf, solved for all instances at once.

Let h(p) be the weight of the background rows with fail mask p at a leaf of value 1 with k path
players, and let c be the fail mask of an instance. The coalition S reaches the leaf when the
players of S are passed by the instance and the others by the background row. With every player
present with probability t, independently, the leaf is reached with probability

.. math:: F_t(c) = \sum_{p \cap c = \emptyset} h(p)\, t^{|p|} (1 - t)^{|c|},

a sum over subsets: one addition for each player and mask. The value of player j is the mean over t
of the derivative along its coordinate (Owen 1972, "Multilinear extensions of games"):

.. math::
    j \in c:\quad -\frac{F_t(c)}{1 - t}, \qquad
    j \notin c:\quad \frac{1}{t} \left[F_t(c) - \frac{F_t(c \cup j)}{1 - t}\right].

It is a polynomial of degree k - 1 in t: Gauss-Legendre nodes give its mean exactly. The Banzhaf
value is the same derivative at t = 1/2.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from skshapley.indices import Index

INDICES = ("shapley", "banzhaf")

# Numbers that are transformed at once, so that they stay in the cache
BATCH = 1 << 17
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
    size, n_leaves = h.shape
    count = np.bitwise_count(np.arange(size))
    sums = np.multiply(h, (nodes[:, None] ** count)[:, :, None], order="C")  # added to in place
    half = 1
    while half < size:
        pairs = sums.reshape(len(nodes), size // (2 * half), 2, half * n_leaves)
        pairs[:, :, 1] += pairs[:, :, 0]
        half *= 2
    # The sum over all p that are disjoint from c is that over the subsets of what c lacks.
    return sums[:, ::-1] * ((1 - nodes)[:, None] ** count)[:, :, None]


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
    n_leaves, k, size = out.shape
    t, weights = presence_law(index, k - 1)
    combine = np.stack([weights / t, -weights / (1 - t), -weights / (t * (1 - t))])
    step = max(LEAST_LEAVES, BATCH // (len(t) * size))
    for first in range(0, n_leaves, step):
        part = slice(first, min(first + step, n_leaves))
        F = reach_probabilities(np.ascontiguousarray(h[part].T), t)
        averages = (combine @ F.reshape(len(t), -1)).reshape(3, size, -1)
        present, absent, both = np.ascontiguousarray(averages.transpose(0, 2, 1))
        for j in range(k):
            shape = (-1, size >> (j + 1), 2, 1 << j)
            target = out[part, j].reshape(shape)
            target[:, :, 1] = absent.reshape(shape)[:, :, 1]
            np.add(
                present.reshape(shape)[:, :, 0], both.reshape(shape)[:, :, 1], out=target[:, :, 0]
            )
