r"""Interactions of pairs of players in one leaf.

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

In the path-dependent game, where the path players are passed independently, F_t is a product over
them, and the mixed derivative is the product over the others times one difference for each.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skshapley._ensembles._leaf_games import presence_law, reach_probabilities
from skshapley._ensembles._meetings import unpack_bits


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


def interactions_by_ratios(masks, ratios, index) -> NDArray[np.float64]:
    """Return the interactions of the path players of leaves of value 1 in the path-dependent game.

    Parameters
    ----------
    masks : ndarray of shape (n_leaves, r), unsigned
        Fail masks of the instances.
    ratios : ndarray of shape (n_leaves, n_path)
        The probability of passing each path player, in training; n_path is at least 2.
    index : {"shapley", "banzhaf"}

    Returns
    -------
    interactions : ndarray of shape (n_path (n_path - 1) / 2, n_leaves, r)
        Pairs of bits in the order of ``np.triu_indices(n_path, 1)``.
    """
    n_path = ratios.shape[1]
    shift = np.arange(n_path).astype(masks.dtype)[:, None, None]
    passes = ((masks >> shift) & masks.dtype.type(1) == 0).astype(np.float64)
    ratio = ratios.T[:, :, None]
    found = np.zeros((n_path * (n_path - 1) // 2, *masks.shape))
    for t, weight in zip(*presence_law(index, n_path - 2), strict=True):
        factors = t * passes + (1 - t) * ratio
        after = np.ones((n_path + 1, *masks.shape))
        for j in range(n_path - 1, -1, -1):
            after[j] = after[j + 1] * factors[j]
        before, pair = np.full(masks.shape, weight), 0
        for i in range(n_path):
            others = before.copy()
            for j in range(i + 1, n_path):
                found[pair] += others * after[j + 1]
                others *= factors[j]
                pair += 1
            before *= factors[i]
    gain = passes - ratio
    for bits in np.triu_indices(n_path, 1):
        found *= gain[bits]
    return found
