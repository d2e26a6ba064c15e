"""LightGBM models, read from ``Booster.model_to_string()``.

LightGBM compares in float64 and goes left where ``x <= threshold``. The categories
listed in a split go left, and missing categories go right. The first tree contains the
base score.
"""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skshapley._tables import is_frame, model_columns
from skshapley._trees._ensemble import ZERO, TreeEnsemble, assemble, frame_to_matrix
from skshapley.closed_forms import LinearLeaves, Trees
from skshapley.exceptions import UnreadableModelError
from skshapley.readers._base import (
    Ask,
    Form,
    TreeReader,
    check_method,
    check_sum,
)

# Objectives with predictions on the scale of the raw score.
_IDENTITY = {
    "regression", "regression_l1", "huber", "fair", "quantile", "mape", "lambdarank",
    "rank_xendcg",
}  # fmt: skip
# Objectives with exponentials of the raw score as predictions
_LOG = {"poisson", "gamma", "tweedie"}
# Values that count as missing, from the third and fourth bit of a node's decision type
_NONE_MISSING = 0
_ZERO_MISSING = 1
_NAN_MISSING = 2


def read_lightgbm(model, output=None) -> TreeEnsemble:
    """Return the raw score of a LightGBM model as a `TreeEnsemble`.

    Parameters
    ----------
    model : lightgbm.Booster or lightgbm.LGBMModel
    output : int or None, default=None
        Leave the trees of all other outputs out.

    Returns
    -------
    trees : TreeEnsemble
        The trees that the model's own ``predict`` uses.

    Raises
    ------
    UnreadableModelError
        For leaves that hold linear models.
    """
    trees, slopes = read_linear_leaves(model, output)
    if slopes:
        raise UnreadableModelError(
            "A LightGBM model with linear_tree=True has a linear model in each leaf",
            "fit it with linear_tree=False, or explain it with ShapleyExplainer",
        )
    return trees


def read_linear_leaves(
    model,
    output=None,
) -> tuple[TreeEnsemble, dict[int, NDArray[np.float64]]]:
    """Return the raw score of a LightGBM model with or without linear models in its leaves.

    Parameters
    ----------
    model : lightgbm.Booster or lightgbm.LGBMModel
    output : int or None, default=None
        Leave the trees of all other outputs out.

    Returns
    -------
    trees : TreeEnsemble
        The trees with the constants of the leaves.
    slopes : dict of int to ndarray of shape (n_nodes, n_outputs)
        The slopes of each column in the leaves; empty for plain trees.

    Raises
    ------
    UnreadableModelError
        For linear models of columns with missing values, which replace some of them by
        constants.
    """
    booster = model.booster_ if hasattr(model, "booster_") else model
    header, *blocks = booster.model_to_string().split("\nTree=")
    head = _fields(header)
    n_outputs = int(head["num_tree_per_iteration"])
    averages = "average_output" in header.split()
    # LightGBM averages the iterations of a random forest; all other boosters add them.
    # `len(blocks)` counts the trees of all classes, and each class has its own share of
    # them.
    scale = n_outputs / len(blocks) if averages else 1.0
    stored = [
        (i % n_outputs, _fields(block))
        for i, block in enumerate(blocks)
        if output in (None, i % n_outputs)
    ]
    trees = [
        _read_tree(fields, scale) | {"output": tree_output}
        for tree_output, fields in stored
    ]
    categorical = {
        int(tree["feature"][node]) for tree in trees for node in tree["categories"]
    }
    ensemble = assemble(
        trees,
        n_outputs=n_outputs,
        base=np.zeros(n_outputs),
        n_features=int(head["max_feature_idx"]) + 1,
        strict=False,
        single_precision=False,
        encode=partial(_encode, booster.pandas_categorical or (), sorted(categorical)),
        methods=_methods(model, head.get("objective"), averages),
        raw_response=partial(_raw_score, booster, scale),
    )
    slopes: dict[int, NDArray[np.float64]] = {}
    for (tree_output, fields), end in zip(
        stored,
        [*ensemble.roots[1:], ensemble.n_nodes],
        strict=True,
    ):
        counts = _numbers(fields, "num_features")
        # For rows with a missing column, LightGBM takes a constant, and the leaf is not
        # linear.
        if (
            counts.any()
            and (_numbers(fields, "decision_type") >> 2 == _NAN_MISSING).any()
        ):
            raise UnreadableModelError(
                "A LightGBM model with linear_tree=True was fitted with missing values"
            )
        # Leaves are the last nodes of a tree, in LightGBM's order.
        leaves = np.repeat(np.arange(end - len(counts), end), counts)
        columns = _numbers(fields, "leaf_features").tolist()
        for leaf, column, slope in zip(
            leaves,
            columns,
            _numbers(fields, "leaf_coeff", np.float64),
            strict=True,
        ):
            of_column = slopes.setdefault(
                column,
                np.zeros((ensemble.n_nodes, n_outputs)),
            )
            of_column[leaf, tree_output] = scale * slope
    return ensemble, slopes


def _methods(model, objective, averages) -> tuple[str, ...]:
    if hasattr(model, "predict_proba"):  # its `predict` returns labels
        # predict_proba of a random forest averages the trees; the raw score is their
        # sum
        if averages:
            return ()
        methods = ("log_odds",) if objective == "binary sigmoid:1" else ()
        return (
            (*methods, "decision_function")
            if hasattr(model, "decision_function")
            else methods
        )
    if objective == "binary sigmoid:1" and not (averages or hasattr(model, "fit")):
        return ("log_odds",)  # a Booster
    if objective in _IDENTITY:
        return ("predict",)
    # the objective is followed by its parameters
    return ("log",) if (objective or "").partition(" ")[0] in _LOG else ()


def _fields(text) -> dict[str, str]:
    """Return the lines ``name=value`` of a part of a model."""
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def _numbers(block, name, dtype: Any = np.int64) -> np.ndarray:
    return np.fromstring(block.get(name, "").strip(), dtype, sep=" ")


def _read_tree(block, scale) -> dict[str, Any]:
    """Return a tree for `assemble`: its inner nodes, then its leaves, in LightGBM's order."""
    # constants of linear models, or of all rows
    value = _numbers(
        block,
        "leaf_const" if "leaf_const" in block else "leaf_value",
        np.float64,
    )
    no_split = np.zeros(len(value), dtype=np.int64)

    def of_inner(name, dtype: Any = np.int64) -> np.ndarray:
        # np.pad and np.append take ten times as long
        return np.concatenate([_numbers(block, name, dtype), no_split], dtype=dtype)

    kind = of_inner("decision_type")
    threshold = of_inner("threshold", np.float64)
    n = len(kind) - len(value)
    # Decision type: bit 0 marks a category, bit 1 sends missing values left, bits 2 and 3 name
    # them.
    is_category = kind % 2 == 1
    missing = kind >> 2
    # LightGBM treats NaN as zero in features without NaN in training.
    # The comparison of zero with the threshold thus decides the side of NaN.
    missing_left = np.where(missing == _NONE_MISSING, threshold >= 0.0, kind & 2 > 0)
    children = {}
    for side in ("left", "right"):
        child = _numbers(block, f"{side}_child")
        # LightGBM's -1 is the first leaf, which follows the n inner nodes.
        child = np.where(child < 0, n - 1 - child, child)
        children[side] = np.concatenate([child, no_split - 1])
    cover = _numbers(block, "leaf_count")
    # A tree of one leaf may have no row count.
    cover = cover if len(cover) else np.zeros(len(value))
    return {
        **children,
        "feature": of_inner("split_feature"),
        # In splits on categories, LightGBM stores an index into `cat_boundaries` as the
        # threshold.
        "threshold": np.where(is_category, 0.0, threshold),
        "missing_left": missing_left & ~is_category,
        "zero_missing": (missing == _ZERO_MISSING) & ~is_category,
        "value": np.concatenate([np.zeros(n), value * scale]),
        "cover": np.concatenate([_numbers(block, "internal_count"), cover]),
        "categories": {
            node: (_listed(block, int(threshold[node])), True)
            for node in np.flatnonzero(is_category).tolist()
        },
    }


def _listed(block, split) -> list[int]:
    """Return the categories listed in a split, from the bits of its words."""
    first, last = (int(x) for x in block["cat_boundaries"].split()[split : split + 2])
    # Bit i of the 32-bit words, lowest first, is category i of the set.
    words = np.array(block["cat_threshold"].split()[first:last], dtype="<u4")
    return np.flatnonzero(
        np.unpackbits(words.view(np.uint8), bitorder="little")
    ).tolist()


def _raw_score(booster, scale, X) -> np.ndarray:
    return booster.predict(X, raw_score=True) * scale


def _encode(frame_categories, categorical, X) -> NDArray[np.float64]:
    """Return the input as the matrix that LightGBM makes of it.

    Parameters
    ----------
    frame_categories : sequence
        Categories in training of each categorical column of a DataFrame, in their
        order.
    categorical : list of int
        The columns with splits on categories.
    X : array or frame of shape (r, n_features)
    """
    if is_frame(X):
        columns = [
            i for i, dtype in enumerate(X.dtypes) if hasattr(dtype, "categories")
        ]
        X = frame_to_matrix(
            X,
            dict(zip(columns, frame_categories, strict=False)),
            refuses=False,
        )
    matrix = np.asarray(X, dtype=np.float64)
    # LightGBM reads dense rows as sparse rows and drops entries as small as these.
    matrix = np.where(np.abs(matrix) <= ZERO, 0.0, matrix)
    # The cast to int gives the category: -0.5 is category 0.
    matrix[:, categorical] = np.trunc(matrix[:, categorical])
    return matrix


class LightGBMReader(TreeReader):
    """Reader of LightGBM's models, which may have a linear model in each leaf."""

    def __call__(self, model: Any, method: Any, ask: Ask) -> Form:
        """Return the sum of trees as a closed form."""
        trees, slopes = read_linear_leaves(model)
        if slopes:
            check_method(model, method, trees.methods, next(iter(trees.methods), None))
            return LinearLeaves(trees, slopes, model_columns(model))
        check_sum(model, trees, method)
        return Trees(trees, model_columns(model))
