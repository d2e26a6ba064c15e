"""XGBoost models, read from ``Booster.save_raw("ubj")``, universal binary JSON.

XGBoost casts its input to float32 and goes left where ``x < threshold``. The categories
listed in a split go right. The base score is stored on the scale of the predictions.
"""

import json
from functools import partial
from io import BytesIO
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skshapley._tables import in_model_columns, is_frame
from skshapley._trees._ensemble import TreeEnsemble, assemble, frame_to_matrix
from skshapley.closed_forms import ClosedForm, LinearTerms
from skshapley.exceptions import UnreadableModelError
from skshapley.readers._base import Ask, Form, TreeReader, check_method
from skshapley.readers._sklearn_linear import probability

# Maps from the stored base score to the margin, by objective.
_LOGIT = {"binary:logistic", "reg:logistic"}
# Objectives that predict the margin itself.
_IDENTITY = {
    "reg:squarederror", "reg:squaredlogerror", "reg:pseudohubererror", "reg:absoluteerror",
    "reg:quantileerror", "reg:expectileerror", "binary:logitraw", "rank:pairwise", "rank:ndcg",
    "rank:map",
}  # fmt: skip
# Objectives whose several outputs are sorted in each row
SORTED = {"reg:quantileerror", "reg:expectileerror"}
_LOG = {"count:poisson", "reg:gamma", "reg:tweedie", "survival:cox", "survival:aft"}
# Types of numbers in universal binary JSON, by their markers
_NUMBERS: dict[bytes, np.dtype[Any]] = {
    b"i": np.dtype("i1"),
    b"U": np.dtype("u1"),
    b"I": np.dtype(">i2"),
    b"l": np.dtype(">i4"),
    b"L": np.dtype(">i8"),
    b"d": np.dtype(">f4"),
    b"D": np.dtype(">f8"),
}
# Beginning of the array of trees, before their number
_TREES = b"\0\0\0\0\0\0\0\5trees[#L"


def read_xgboost(model, output=None) -> TreeEnsemble:
    """Return the margin of an XGBoost model as a `TreeEnsemble`.

    Parameters
    ----------
    model : xgboost.Booster or xgboost.XGBModel
        Of booster "gbtree" or "dart", with one value per leaf.
    output : int or None, default=None
        Leave the trees of all other outputs out.

    Returns
    -------
    trees : TreeEnsemble
        The trees that the model's own ``predict`` uses.

    Raises
    ------
    UnreadableModelError
        For a booster without trees, or leaves with several values.
    """
    booster = model if not hasattr(model, "get_booster") else model.get_booster()
    saved, stored_trees = _split_model(bytes(booster.save_raw("ubj")))
    learner = saved["learner"]
    name = learner["gradient_booster"]["name"]
    if name not in ("gbtree", "dart"):
        raise UnreadableModelError(
            f"An XGBoost model with booster={name!r} has no trees",
            "choose booster='gbtree' or 'dart', or explain it by sampling",
        )
    stored = learner["gradient_booster"]
    forest = stored.get("gbtree", stored)["model"]
    bounds = forest["iteration_indptr"]
    # A plain Booster predicts with all trees. The scikit-learn estimators end at the
    # best iteration.
    best = booster.attr("best_iteration") if booster is not model else None
    n_trees = int(bounds[-1] if best is None else bounds[int(best) + 1])
    # XGBoost 3.4 keeps the weights of dropped-out trees beside the trees, earlier ones
    # outside.
    weights = {"weight_drop": [1.0] * n_trees, **stored, **forest}["weight_drop"]
    parameters = learner["learner_model_param"]
    # `num_class` is 0 for regression and for two classes.
    n_targets = int(parameters.get("num_target", 1))
    n_outputs = max(int(parameters["num_class"]), n_targets, 1)
    missing = getattr(model, "missing", None)
    missing = np.nan if missing is None else float(missing)
    categories = _known_categories(forest, saved["version"])
    trees = [
        _read_tree(_read_ubjson(BytesIO(tree)), tree_output, weight)
        for tree, tree_output, weight in zip(
            stored_trees[:n_trees],
            forest["tree_info"],
            weights,
            strict=False,
        )
        if output in (None, tree_output)
    ]
    return assemble(
        trees,
        n_outputs=n_outputs,
        base=_base_margin(learner, n_outputs),
        n_features=int(parameters["num_feature"]),
        strict=True,
        single_precision=True,
        absent=np.nan,
        encode=None
        if np.isnan(missing) and not categories
        else partial(_encode, missing, categories),
        methods=_methods(model, learner["objective"]["name"], n_outputs),
        raw_response=partial(_margin, model),
        several_targets=n_targets > 1,
    )


def _split_model(raw) -> tuple[dict[str, Any], list[bytes]]:
    """Return a saved model without its trees, and each tree as it is stored."""
    # A linear booster has no array of trees.
    head, name, array = raw.partition(_TREES)
    trees = []
    end = 8
    for _ in range(int.from_bytes(array[:end], "big")):
        start = end
        # The last field of a tree is an object of short texts.
        end = array.index(b"}}", array.index(b"tree_param{", start)) + 2
        trees.append(array[start:end])
    return _read_ubjson(BytesIO(head + name + bytes(8) + array[end:])), trees


def _read_ubjson(stream) -> Any:
    """Return the next value of a document in universal binary JSON, as XGBoost writes it.

    Parameters
    ----------
    stream : binary file
    """
    marker = stream.read(1)
    if marker == b"{":
        fields = {}
        while stream.read(1) != b"}":
            name = stream.read(int.from_bytes(stream.read(8), "big")).decode()
            fields[name] = _read_ubjson(stream)
        return fields
    if marker == b"S":
        return stream.read(_read_length(stream)).decode()
    if marker != b"[":
        dtype = _NUMBERS[marker]
        return np.frombuffer(stream.read(dtype.itemsize), dtype)[0].item()
    if stream.read(1) == b"#":
        return [_read_ubjson(stream) for _ in range(_read_length(stream))]
    dtype = _NUMBERS[stream.read(1)]
    stream.read(1)
    return np.frombuffer(stream.read(_read_length(stream) * dtype.itemsize), dtype)


def _read_length(stream) -> int:
    # The marker of an integer of 8 bytes comes first.
    return int.from_bytes(stream.read(9)[1:], "big")


def margins_are_odds(objective, n_classes) -> bool:
    """Return False for two classes with a softmax: their log-odds are a difference of margins."""
    return not (n_classes == 2 and objective.startswith("multi:"))


def _methods(model, objective, n_outputs) -> tuple[str, ...]:
    if hasattr(model, "predict_proba"):  # its `predict` returns labels
        return ("log_odds",) if margins_are_odds(objective, n_outputs) else ()
    if objective.startswith(("binary:log", "multi:")) and not hasattr(model, "fit"):
        return ("log_odds",)  # a Booster
    # XGBoost sorts several quantiles of a row, so they are no sums over trees. Few
    # background rows may have none that cross.
    if objective in SORTED and n_outputs > 1:
        return ()
    if objective in _LOG:
        return ("log",)
    return ("predict",) if objective in _IDENTITY else ()


def _read_tree(tree, output, weight) -> dict[str, Any]:
    if int(tree["tree_param"].get("size_leaf_vector", 1)) > 1:
        raise UnreadableModelError(
            "An XGBoost model with multi_strategy='multi_output_tree' has several "
            "values in each leaf",
            "choose multi_strategy='one_output_per_tree', or explain it by sampling",
        )
    condition = tree["split_conditions"]
    splits = zip(
        tree["categories_nodes"],
        tree["categories_segments"],
        tree["categories_sizes"],
        strict=True,
    )
    categories = {
        int(node): (tree["categories"][start : start + size].tolist(), False)
        for node, start, size in splits
    }
    return {
        "left": tree["left_children"],
        "right": tree["right_children"],
        "feature": tree["split_indices"],
        "threshold": condition,
        "missing_left": tree["default_left"],
        # A dropped-out tree counts with a weight; the product is rounded as XGBoost
        # rounds it.
        "value": condition * np.float32(weight),
        "output": output,
        "cover": tree["sum_hessian"],
        "categories": categories,
    }


def _base_margin(learner, n_outputs) -> NDArray[np.float32]:
    text = learner["learner_model_param"]["base_score"]
    stored = json.loads(text) if text.startswith("[") else [float(text)]
    score = np.broadcast_to(np.array(stored, dtype=np.float32), (n_outputs,))
    objective = learner["objective"]["name"]
    if objective in _LOGIT:
        # In float32, as XGBoost computes it; in float64 the margin would differ in the
        # last digits.
        return -np.log(np.float32(1.0) / score - np.float32(1.0))
    return np.log(score) if objective in _LOG else score


def _margin(model, X) -> np.ndarray:
    if hasattr(model, "get_booster"):
        return model.predict(X, output_margin=True)
    import xgboost

    return model.predict(
        xgboost.DMatrix(X, enable_categorical=True),
        output_margin=True,
    )


def _encode(missing, categories, X) -> NDArray[np.float64]:
    """Return the input as the matrix that XGBoost makes of it.

    Parameters
    ----------
    missing : float
        The value that marks missing values, besides NaN.
    categories : dict
        Position of a categorical column -> its categories in training; since XGBoost
        3.1.
    X : array or frame of shape (r, n_features)
    """
    matrix = frame_to_matrix(X, categories) if is_frame(X) else X
    matrix = np.asarray(matrix, dtype=np.float64)
    # XGBoost compares in float32: in float64, 0.1 would not equal its own marker.
    return np.where(matrix == np.float32(missing), np.nan, matrix)


def _known_categories(forest, version) -> dict[int, list]:
    """Return the categories of columns with readable names."""
    categories = {}
    for position, stored in enumerate(forest.get("cats", {}).get("enc", [])):
        values = np.asarray(stored["values"]).tolist()
        if "offsets" in stored:
            text = bytes(value % 256 for value in values)
            if not text.isascii() and tuple(version) < (3, 4):
                # XGBoost counted characters instead of bytes and truncated the names
                continue
            values = [
                text[start:stop].decode() for start, stop in pairwise(stored["offsets"])
            ]
        if values:
            categories[position] = values
    return categories


class XGBoostReader(TreeReader):
    """Reader of XGBoost's estimators: trees, or linear terms."""

    def __call__(self, model: Any, method: Any, ask: Ask) -> Form:
        """Return the margin, or the probability of a linear booster."""
        if getattr(model, "booster", None) == "gblinear":
            return _linear_booster(model, method)
        if hasattr(model, "predict_proba"):
            # Refused before the trees are read, which takes 15 ms for 100 trees
            check_method(model, method, ["log_odds"], "log_odds")
        return super().__call__(model, method, ask)


def _linear_booster(model: Any, method: str) -> ClosedForm:
    """Return the margin of a linear booster, or the probability of two classes."""
    learner = _read_ubjson(BytesIO(model.get_booster().save_raw("ubj")))["learner"]
    objective = learner["objective"]["name"]
    d = model.n_features_in_
    stored = learner["gradient_booster"]["model"]["weights"]
    weights = np.asarray(stored, dtype=np.float64).reshape(d + 1, -1)
    readable = list(_methods(model, objective, weights.shape[1]))
    if objective == "binary:logistic" and "log_odds" in readable:
        readable.append("predict_proba")
    check_method(model, method, readable, readable[0] if readable else None)
    margin = model.predict(
        in_model_columns(model, np.zeros((1, d))),
        output_margin=True,
    )
    terms = LinearTerms(weights[:d], np.reshape(margin, -1))
    return probability(terms) if method == "predict_proba" else terms
