"""Path-dependent values: absent players follow the training data down the tree.

Lundberg et al. 2020, "From local explanations to global understanding with explainable AI for
trees": at a node that asks an absent player, the instance goes to both children in proportion to
the training weight (cover) that went there. For one leaf this is an imaginary background in which
the path players are passed independently, each with the product of its ratios along the path.
"""

import numpy as np
from numpy.typing import NDArray

from skshapley._ensembles._leaf_games import presence_law


def passing_ratios(trees, paths, chunk) -> NDArray[np.float64]:
    """Return the probability of passing each path player, in training.

    Parameters
    ----------
    trees : TreeEnsemble
    paths : Paths
    chunk : Chunk

    Returns
    -------
    ratios : ndarray of shape (n_leaves, most)
        1 beyond the last path player.
    """
    ratios = np.ones(chunk.leaf_players.shape)
    at, walking = chunk.leaves.copy(), np.arange(len(chunk.leaves))
    walking = walking[paths.parent[at] >= 0]
    while len(walking):
        node = paths.parent[at[walking]]
        cover = trees.cover[node]
        share = np.divide(trees.cover[at[walking]], cover, out=np.zeros(len(node)), where=cover > 0)
        ratios[walking, paths.bit[node]] *= share
        at[walking] = node
        walking = walking[paths.parent[node] >= 0]
    return ratios


def training_law(ratios, n_path) -> NDArray[np.float64]:
    """Return the weight of the imaginary background on the fail masks of every leaf.

    Parameters
    ----------
    ratios : ndarray of shape (n_leaves, most)
    n_path : ndarray of shape (n_leaves,), int

    Returns
    -------
    law : ndarray
        ``2 ** n_path`` numbers for each leaf, one leaf after the other.
    """
    size = 1 << n_path
    start = np.cumsum(size) - size
    law = np.empty(int(size.sum()))
    for k in np.unique(n_path):
        which = np.flatnonzero(n_path == k)
        weights = np.ones((len(which), 1))
        for ratio in ratios[which, :k].T[:, :, None]:
            weights = np.concatenate([weights * ratio, weights * (1 - ratio)], axis=1)
        law[start[which][:, None] + np.arange(1 << k)] = weights
    return law


def leaf_values_directly(masks, ratios, index="shapley") -> NDArray[np.float64]:
    """Return the values of the path players of leaves of value 1, without a table.

    Parameters
    ----------
    masks : ndarray of shape (n_leaves, r), unsigned
        Fail masks of the instances.
    ratios : ndarray of shape (n_leaves, n_path)
    index : {"shapley", "banzhaf"}, default="shapley"

    Returns
    -------
    values : ndarray of shape (n_leaves, r, n_path)
    """
    n_path = ratios.shape[1]
    values = np.zeros((*masks.shape, n_path))
    one = masks.dtype.type(1)
    passes = [(masks >> masks.dtype.type(j)) & one == 0 for j in range(n_path)]
    nodes, weights = presence_law(index, n_path - 1)
    for t, weight in zip(nodes, weights, strict=True):
        # Products over the players before and after each one: a ratio may be zero.
        factors = [
            np.where(passed, t + (1 - t) * ratio[:, None], (1 - t) * ratio[:, None])
            for passed, ratio in zip(passes, ratios.T, strict=True)
        ]
        before = [np.full(masks.shape, weight)]
        for factor in factors[:-1]:
            before.append(before[-1] * factor)
        after = np.ones(masks.shape)
        for j in range(n_path - 1, -1, -1):
            values[:, :, j] += before[j] * after * (passes[j] - ratios[:, j, None])
            after *= factors[j]
    return values
