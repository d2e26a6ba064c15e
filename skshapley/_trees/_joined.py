"""Trees whose library keeps inner nodes and leaves apart, as LightGBM and CatBoost do."""

import numpy as np
from numpy.typing import NDArray

from skshapley._trees._ensemble import CategorySplit, TreeEnsemble


def join_leaves(n_leaves, inner, leaves, categories, **how) -> TreeEnsemble:
    """Return the ensemble of trees that are given by their inner nodes and their leaves.

    Parameters
    ----------
    n_leaves : array-like of shape (n_trees,), int
        Each tree has one inner node less.
    inner : dict of str to ndarray of shape (n_inner,)
        Of the inner nodes, tree by tree, first the root: ``left`` and ``right`` (in the tree: an
        inner node, or -1 for its first leaf, -2 for the second), ``feature``, ``threshold``,
        ``missing_left`` and ``cover``. Optional: ``zero_missing``.
    leaves : dict of str to ndarray
        Of the leaves, tree by tree: ``value (n, n_outputs)`` and ``cover (n,)``.
    categories : dict of int to tuple
        Of inner nodes, as they lie in `inner`: their listed and listed_left.
    **how
        The remaining fields of `TreeEnsemble`.

    Returns
    -------
    trees : TreeEnsemble
        Each tree has its inner nodes first.
    """
    n_leaves = np.asarray(n_leaves)
    roots = np.cumsum(2 * n_leaves - 1) - (2 * n_leaves - 1)
    place, leaf_place = (
        np.repeat(roots + before, sizes) + _numbers(sizes)
        for before, sizes in ((0, n_leaves - 1), (n_leaves - 1, n_leaves))
    )
    first_leaf = np.repeat(roots + n_leaves - 1, n_leaves - 1)
    root = np.repeat(roots, n_leaves - 1)

    def column(name, dtype, rest=0) -> np.ndarray:
        made = np.full(len(place) + len(leaf_place), rest, dtype=dtype)
        made[place] = inner.get(name, 0)
        return made

    def child(side) -> NDArray[np.int64]:
        made, to = np.full(len(place) + len(leaf_place), -1), inner[side]
        made[place] = np.where(to < 0, first_leaf - 1 - to, root + to)
        return made

    value = np.zeros((len(place) + len(leaf_place), leaves["value"].shape[1]))
    value[leaf_place] = leaves["value"]
    cover = column("cover", np.float64)
    cover[leaf_place] = leaves["cover"]
    return TreeEnsemble(
        left=child("left"),
        right=child("right"),
        feature=column("feature", np.int64, -1),
        threshold=column("threshold", np.float64),
        missing_left=column("missing_left", bool),
        zero_missing=column("zero_missing", bool),
        value=value,
        cover=cover,
        roots=roots,
        category_splits=tuple(
            CategorySplit(int(place[node]), frozenset(listed), listed_left)
            for node, (listed, listed_left) in categories.items()
        ),
        **how,
    )


def _numbers(sizes) -> NDArray[np.int64]:
    """Return 0, 1, ... for runs of these sizes: 0, 1, 0, 1, 2 for runs of 2 and 3."""
    starts = np.cumsum(sizes) - sizes
    return np.arange(int(np.sum(sizes))) - np.repeat(starts, sizes)
