"""Trees from dicts of arrays, for all readers."""

from functools import partial

import numpy as np

from skshapley._trees._ensemble import CategorySplit, TreeEnsemble


def assemble(trees, *, n_outputs, base, raw_response=None, **how) -> TreeEnsemble:
    """Return the `TreeEnsemble` of the dicts, one per tree, that a reader has collected.

    Parameters
    ----------
    trees : list of dict
        With ``left``, ``right`` (positions in the tree, negative at a leaf),
        ``feature``, ``threshold``, ``missing_left``, ``value`` (for each node one
        number, or `n_outputs` of them) and ``cover``. Optional, in all trees or none:
        ``zero_missing``, ``output`` (the output that a tree of single values adds to)
        and ``categories`` (dict from a node to its categories, and whether they go left).
    n_outputs : int
    base : array-like of shape (n_outputs,)
    raw_response : callable or None, default=None
        The library's own response ``X -> (r,) or (r, n_outputs)``.
    **how
        The remaining fields of `TreeEnsemble`.

    Returns
    -------
    trees : TreeEnsemble
    """
    sizes = np.array([len(tree["left"]) for tree in trees])
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)

    def column(name, dtype) -> np.ndarray:
        parts = [tree[name] for tree in trees]
        return np.concatenate(parts, dtype=dtype, casting="unsafe")

    # Libraries mark leaves differently: -1, -2, or 0.
    leaf = column("left", np.int64) < 0
    # Libraries number nodes within each tree, and the ensemble numbers them over all
    # trees.
    shift = np.repeat(roots, sizes)
    left, right = (
        np.where(leaf, -1, column(side, np.int64) + shift) for side in ("left", "right")
    )
    if "output" in trees[0] and n_outputs > 1:
        value = np.zeros((len(left), n_outputs))
        output = np.repeat([tree["output"] for tree in trees], sizes)
        value[np.arange(len(left)), output] = column("value", np.float64)
    else:
        value = column("value", np.float64).reshape(len(left), n_outputs)
    # Some libraries store means at inner nodes too. Sums over all nodes may count only
    # the leaves.
    value[~leaf] = 0.0
    zero_missing = "zero_missing" in trees[0]
    splits = [
        CategorySplit(int(root + node), frozenset(categories), goes_left)
        for root, tree in zip(roots, trees, strict=True)
        for node, (categories, goes_left) in tree.get("categories", {}).items()
    ]
    return TreeEnsemble(
        left=left,
        right=right,
        feature=np.where(leaf, -1, column("feature", np.int64)),
        threshold=column("threshold", np.float64),
        missing_left=column("missing_left", bool),
        zero_missing=column("zero_missing", bool)
        if zero_missing
        else np.zeros(len(left), bool),
        value=value,
        cover=column("cover", np.float64),
        roots=roots,
        base=np.array(base, dtype=np.float64).reshape(n_outputs),
        category_splits=tuple(splits),
        raw_response=None if raw_response is None else partial(_two_axes, raw_response),
        **how,
    )


def _two_axes(response, X) -> np.ndarray:
    raw = response(X)
    return np.reshape(raw, (len(raw), -1))
