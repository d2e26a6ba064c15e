"""LightGBM models, read from ``Booster.model_to_string()``, in a tenth of ``dump_model``'s time.

LightGBM compares in float64 and goes left where ``x <= threshold``; the categories named by a
split go left, and every missing one goes right. There is no base score: it is in the first tree.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skshapley._tables._inputs import is_frame
from skshapley._trees._codes import ZERO
from skshapley._trees._ensemble import TreeEnsemble, join_leaves
from skshapley._trees._frames import frame_to_matrix
from skshapley.exceptions import UnreadableModelError

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
    blocks = [_fields(block) for block in blocks]
    if any(block.get("is_linear", "0") != "0" for block in blocks):
        raise UnreadableModelError(
            "A LightGBM model with linear_tree=True has a linear model in each leaf",
            "fit it with linear_tree=False, or explain it by sampling",
        )
    n_leaves = np.array([int(block["num_leaves"]) for block in blocks])
    inner, categories = _read_inner(blocks, n_leaves)
    # A random forest of LightGBM averages over its iterations, all others add.
    scale = n_outputs / len(blocks) if averages else 1.0
    return join_leaves(
        n_leaves,
        inner,
        _read_leaves(blocks, n_leaves, n_outputs, scale),
        categories,
        base=np.zeros(n_outputs),
        n_features=int(head["max_feature_idx"]) + 1,
        strict=False,
        single_precision=False,
        encode=_Encoder(
            tuple(booster.pandas_categorical or ()),
            tuple(sorted({int(inner["feature"][node]) for node in categories})),
            bool(((inner["threshold"] >= -ZERO) & (inner["threshold"] < ZERO)).any()),
        ),
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


def _column(blocks, name, dtype=np.int64) -> np.ndarray:
    """Return one field of all trees as a single array of numbers."""
    return np.fromstring(" ".join(block.get(name, "") for block in blocks), dtype, sep=" ")


def _read_inner(blocks, n_leaves) -> tuple[dict[str, np.ndarray], dict[int, tuple]]:
    """Return the inner nodes and, of those that ask for categories, which."""
    kind, threshold = _column(blocks, "decision_type"), _column(blocks, "threshold", np.float64)
    is_category, missing = kind % 2 == 1, kind >> 2
    # NaN is taken for zero by a feature that had none in training.
    missing_left = np.where(missing == _NONE_MISSING, threshold >= 0.0, kind & 2 > 0)
    tree = np.repeat(np.arange(len(blocks)), n_leaves - 1)
    categories = {
        int(node): (_listed(blocks[tree[node]], int(threshold[node])), True)
        for node in np.flatnonzero(is_category)
    }
    return {
        "left": _column(blocks, "left_child"),
        "right": _column(blocks, "right_child"),
        "feature": _column(blocks, "split_feature"),
        "threshold": np.where(is_category, 0.0, threshold),
        "missing_left": missing_left & ~is_category,
        "zero_missing": (missing == _ZERO_MISSING) & ~is_category,
        "cover": _column(blocks, "internal_count"),
    }, categories


def _read_leaves(blocks, n_leaves, n_outputs, scale) -> dict[str, np.ndarray]:
    """Return the values of the leaves and the training rows in each."""
    output = np.repeat(np.arange(len(blocks)) % n_outputs, n_leaves)
    value = np.zeros((len(output), n_outputs))
    value[np.arange(len(output)), output] = _column(blocks, "leaf_value", np.float64) * scale
    cover = np.zeros(len(output))
    # A tree of one leaf may not say.
    says = np.repeat([bool(block.get("leaf_count")) for block in blocks], n_leaves)
    cover[says] = _column(blocks, "leaf_count")
    return {"value": value, "cover": cover}


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
    has_small : bool
        Whether some threshold may tell values as small as `ZERO` apart.
    """

    frame_categories: tuple
    categorical: tuple
    has_small: bool

    def __call__(self, X) -> NDArray[np.float64]:
        if is_frame(X):
            columns = [i for i, dtype in enumerate(X.dtypes) if hasattr(dtype, "categories")]
            known = dict(zip(columns, self.frame_categories, strict=False))
            X = frame_to_matrix(X, known, unknown=np.nan)
        matrix = np.asarray(X, dtype=np.float64)
        if self.has_small:
            # Dense rows are read as sparse ones, without entries as small as these.
            matrix = np.where(np.abs(matrix) <= ZERO, 0.0, matrix)
        if self.categorical:
            # A category is what the cast to int leaves: -0.5 is category 0.
            columns = list(self.categorical)
            matrix = matrix.copy()
            matrix[:, columns] = np.trunc(matrix[:, columns])
        return matrix
