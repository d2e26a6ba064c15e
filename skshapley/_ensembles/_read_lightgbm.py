"""LightGBM models, read from ``Booster.dump_model()``.

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
    dump = booster.dump_model()
    n_outputs = dump["num_tree_per_iteration"]
    trees = [_read_tree(tree["tree_structure"]) for tree in dump["tree_info"]]
    # A random forest of LightGBM averages over its iterations, all others add.
    scale = n_outputs / len(trees) if dump["average_output"] else 1.0
    for number, tree in enumerate(trees):
        tree["value"] = np.array(tree["value"]) * scale
        tree["output"] = number % n_outputs
    categories = dump.get("pandas_categorical") or []
    n_features = dump["max_feature_idx"] + 1
    categorical = sorted({tree["feature"][node] for tree in trees for node in tree["categories"]})
    return assemble(
        trees,
        n_outputs=n_outputs,
        base=np.zeros(n_outputs),
        n_features=n_features,
        strict=False,
        single_precision=False,
        encode=_Encoder(tuple(categories), tuple(categorical)),
        methods=_methods(model, dump),
        raw_response=_RawScore(booster, n_outputs, scale),
    )


def _methods(model, dump) -> tuple[str, ...]:
    if hasattr(model, "predict_proba"):  # its `predict` returns labels
        logistic = dump.get("objective") == "binary sigmoid:1" and not dump["average_output"]
        methods = ("log_odds",) if logistic else ()
        # of a random forest it is the sum over the trees that predict_proba averages
        scores = hasattr(model, "decision_function") and not dump["average_output"]
        return (*methods, "decision_function") if scores else methods
    return ("predict",) if dump.get("objective") in _IDENTITY else ()


def _read_tree(root) -> dict[str, Any]:
    """Return the nodes of one tree, parents before children."""
    names = ("left", "right", "feature", "threshold", "missing_left", "zero_missing", "value")
    tree: dict[str, Any] = {name: [] for name in (*names, "cover")}
    tree["categories"] = {}
    waiting: list[tuple] = [(root, None, None)]
    while waiting:
        node, parent, side = waiting.pop()
        row = len(tree["left"])
        if parent is not None:
            tree[side][parent] = row
        if "split_index" in node:
            _read_split(node, row, tree)
            waiting.append((node["right_child"], row, "right"))
            waiting.append((node["left_child"], row, "left"))
            continue
        if "leaf_coeff" in node:
            raise UnreadableModelError(
                "A LightGBM model with linear_tree=True has a linear model in each leaf",
                "fit it with linear_tree=False, or explain it by sampling",
            )
        _append(tree, -1, 0.0, False, False, node["leaf_value"], node.get("leaf_count", 0))
    return tree


def _read_split(node, row, tree) -> None:
    missing_left, zero_missing = node["default_left"], node["missing_type"] == "Zero"
    threshold = 0.0
    if node["decision_type"] == "==":
        listed = [int(category) for category in node["threshold"].split("||")]
        tree["categories"][row] = (listed, True)
        missing_left = zero_missing = False
    else:
        threshold = float(node["threshold"])
        if node["missing_type"] == "None":
            # NaN is taken for zero by a feature that had none in training.
            missing_left = threshold >= 0.0
    _append(
        tree, node["split_feature"], threshold, missing_left, zero_missing, 0.0,
        node["internal_count"],
    )  # fmt: skip


def _append(tree, feature, threshold, missing_left, zero_missing, value, cover) -> None:
    tree["left"].append(-1)
    tree["right"].append(-1)
    tree["feature"].append(feature)
    tree["threshold"].append(threshold)
    tree["missing_left"].append(missing_left)
    tree["zero_missing"].append(zero_missing)
    tree["value"].append(value)
    tree["cover"].append(cover)


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
