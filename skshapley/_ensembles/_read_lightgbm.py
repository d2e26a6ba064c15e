"""LightGBM models, read from ``Booster.model_to_string()``, in a tenth of ``dump_model``'s time.

LightGBM compares in float64 and goes left where ``x <= threshold``; the categories named by a
split go left, and every missing one goes right. There is no base score: it is in the first tree.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skshapley._ensembles._codes import ZERO
from skshapley._ensembles._ensemble import TreeEnsemble, UnreadableModelError, assemble
from skshapley._ensembles._frames import frame_to_matrix, is_frame

# Objectives that predict the raw score itself.
_IDENTITY = {
    "regression", "regression_l1", "huber", "fair", "quantile", "mape", "lambdarank",
    "rank_xendcg",
}  # fmt: skip
# What counts as missing, in the third and fourth bit of a node's kind
_NONE_MISSING, _ZERO_MISSING = 0, 1


def read_lightgbm(model) -> TreeEnsemble:
    """Return the raw score of a LightGBM model as a `TreeEnsemble`.

    Parameters
    ----------
    model : lightgbm.Booster or lightgbm.LGBMModel

    Returns
    -------
    trees : TreeEnsemble
        As many trees as the model's own ``predict`` uses.

    Raises
    ------
    UnreadableModelError
        For leaves that hold linear models.
    """
    booster = model.booster_ if hasattr(model, "booster_") else model
    header, *blocks = booster.model_to_string().split("\nTree=")
    head = _fields(header)
    n_outputs, averages = int(head["num_tree_per_iteration"]), "average_output" in header.split()
    trees = _read_trees([_fields(block) for block in blocks])
    # A random forest of LightGBM averages over its iterations, all others add.
    scale = n_outputs / len(trees) if averages else 1.0
    for number, tree in enumerate(trees):
        tree["value"] = tree["value"] * scale
        tree["output"] = number % n_outputs
    categorical = sorted({tree["feature"][node] for tree in trees for node in tree["categories"]})
    return assemble(
        trees,
        n_outputs=n_outputs,
        base=np.zeros(n_outputs),
        n_features=int(head["max_feature_idx"]) + 1,
        strict=False,
        single_precision=False,
        encode=_Encoder(tuple(booster.pandas_categorical or ()), tuple(categorical)),
        methods=_methods(model, head.get("objective"), averages),
        raw_response=_RawScore(booster, n_outputs, scale),
    )


def _methods(model, objective, averages) -> tuple[str, ...]:
    if hasattr(model, "predict_proba"):  # its `predict` returns labels
        methods = ("log_odds",) if objective == "binary sigmoid:1" and not averages else ()
        # of a random forest it is the sum over the trees that predict_proba averages
        scores = hasattr(model, "decision_function") and not averages
        return (*methods, "decision_function") if scores else methods
    return ("predict",) if objective in _IDENTITY else ()


def _fields(text) -> dict[str, str]:
    """Return the lines ``name=value`` of a part of a model."""
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def _read_trees(blocks) -> list[dict[str, Any]]:
    """Return the trees: the inner nodes of each, and then its leaves."""
    if any(block.get("is_linear", "0") != "0" for block in blocks):
        raise UnreadableModelError(
            "A LightGBM model with linear_tree=True has a linear model in each leaf",
            "fit it with linear_tree=False, or explain it by sampling",
        )
    n_leaves = np.array([int(block["num_leaves"]) for block in blocks])

    def column(name, sizes) -> list[np.ndarray]:
        # The numbers of all trees are read at once.
        flat = np.fromstring(" ".join(block.get(name, "") for block in blocks), sep=" ")
        return np.split(flat, np.cumsum(sizes)[:-1])

    inner = [
        column(name, n_leaves - 1)
        for name in (
            "split_feature", "threshold", "decision_type", "left_child", "right_child",
            "internal_count",
        )
    ]  # fmt: skip
    leaves = column("leaf_value", n_leaves), _leaf_counts(blocks, n_leaves, column)
    parts = zip(blocks, *inner, *leaves, strict=True)
    return [_read_tree(*tree) for tree in parts]


def _leaf_counts(blocks, n_leaves, column) -> list[np.ndarray]:
    """Return the training rows in each leaf; a tree of one leaf may not say."""
    sizes = np.where([bool(block.get("leaf_count")) for block in blocks], n_leaves, 0)
    counts = column("leaf_count", sizes)
    return [count if len(count) else np.zeros(n) for count, n in zip(counts, n_leaves, strict=True)]


def _read_tree(
    block, feature, threshold, decision, left, right, count, value, leaf_count
) -> dict[str, Any]:
    """Return one tree."""
    n, kind = len(feature), decision.astype(np.int64)
    is_category, missing = kind % 2 == 1, kind >> 2
    # NaN is taken for zero by a feature that had none in training.
    missing_left = np.where(missing == _NONE_MISSING, threshold >= 0.0, kind & 2 > 0)
    leaf = np.zeros(len(value))

    def padded(inner, rest=leaf) -> np.ndarray:
        return np.concatenate([inner, rest])

    def child(side) -> np.ndarray:
        # A negative child is a leaf: -1 the first, -2 the second.
        return padded(np.where(side < 0, n - 1 - side, side), leaf - 1)

    return {
        "left": child(left),
        "right": child(right),
        "feature": padded(feature, leaf - 1).astype(np.int64),
        "threshold": padded(np.where(is_category, 0.0, threshold)),
        "missing_left": padded(missing_left & ~is_category),
        "zero_missing": padded((missing == _ZERO_MISSING) & ~is_category).astype(bool),
        "value": padded(np.zeros(n), value),
        "cover": padded(count, leaf_count),
        "categories": {
            int(node): (_listed(block, int(threshold[node])), True)
            for node in np.flatnonzero(is_category)
        },
    }


def _listed(block, split) -> list[int]:
    """Return the categories that a split names, by the bits of its words."""
    first, last = (int(x) for x in block["cat_boundaries"].split()[split : split + 2])
    words = np.array(block["cat_threshold"].split()[first:last], dtype="<u4")
    return np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little")).tolist()


@dataclass(frozen=True)
class _RawScore:
    """LightGBM's own raw score, ``(r, n_outputs)``, which of a forest is not yet the mean."""

    booster: Any
    n_outputs: int
    scale: float

    def __call__(self, X) -> np.ndarray:
        score = self.booster.predict(X, raw_score=True) * self.scale
        return np.reshape(score, (len(score), self.n_outputs))


@dataclass(frozen=True)
class _Encoder:
    """The matrix that LightGBM makes of its input.

    Attributes
    ----------
    frame_categories : tuple
        Categories in training of each categorical column of a DataFrame, in their order.
    categorical : tuple of int
        The columns in which some tree asks for a category.
    """

    frame_categories: tuple
    categorical: tuple

    def __call__(self, X) -> NDArray[np.float64]:
        if is_frame(X):
            columns = [i for i, dtype in enumerate(X.dtypes) if hasattr(dtype, "categories")]
            known = dict(zip(columns, self.frame_categories, strict=False))
            X = frame_to_matrix(X, known, unknown=np.nan)
        matrix = np.asarray(X, dtype=np.float64)
        # Dense rows are read as sparse ones, without entries as small as these.
        matrix = np.where(np.abs(matrix) <= ZERO, 0.0, matrix)
        # A category is what the cast to int leaves: -0.5 is category 0.
        columns = list(self.categorical)
        matrix[:, columns] = np.trunc(matrix[:, columns])
        return matrix
