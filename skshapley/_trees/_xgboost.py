"""XGBoost models, read from ``Booster.save_raw("ubj")``.

XGBoost casts its input to float32 and goes left where ``x < threshold``; the categories named by
a split go right. The base score is stored on the scale of the predictions.

Universal binary JSON, its own format, is read here: arrays of numbers as they lie in memory.
"""

import json
from dataclasses import dataclass
from itertools import pairwise
from struct import Struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skshapley._tables._inputs import is_frame
from skshapley._trees._ensemble import TreeEnsemble, assemble
from skshapley._trees._frames import frame_to_matrix
from skshapley.exceptions import UnreadableModelError

# How an objective maps the stored base score to the margin.
_LOGIT = {"binary:logistic", "reg:logistic"}
# Objectives that predict the margin itself.
_IDENTITY = {
    "reg:squarederror", "reg:squaredlogerror", "reg:pseudohubererror", "reg:absoluteerror",
    "reg:quantileerror", "reg:expectileerror", "binary:logitraw", "rank:pairwise", "rank:ndcg",
    "rank:map",
}  # fmt: skip
_LOG = {"count:poisson", "reg:gamma", "reg:tweedie", "survival:cox", "survival:aft"}


def read_xgboost(model) -> TreeEnsemble:
    """Return the margin of an XGBoost model as a `TreeEnsemble`.

    Parameters
    ----------
    model : xgboost.Booster or xgboost.XGBModel
        Of booster "gbtree" or "dart", with one value per leaf.

    Returns
    -------
    trees : TreeEnsemble
        As many trees as the model's own ``predict`` uses.

    Raises
    ------
    UnreadableModelError
        For a booster without trees, or leaves with several values.
    """
    booster = model if not hasattr(model, "get_booster") else model.get_booster()
    saved = read_ubjson(booster.save_raw("ubj"))
    learner = saved["learner"]
    name = learner["gradient_booster"]["name"]
    if name not in ("gbtree", "dart"):
        raise UnreadableModelError(
            f"An XGBoost model with booster={name!r} has no trees",
            "choose booster='gbtree' or 'dart', or explain it by sampling",
        )
    stored = learner["gradient_booster"]
    forest = stored.get("gbtree", stored)["model"]
    n_trees = _n_trees_used(model, booster, forest)
    # XGBoost 3.4 keeps the weights of dropped-out trees beside the trees, earlier ones outside.
    weights = {"weight_drop": [1.0] * n_trees, **stored, **forest}["weight_drop"]
    parameters = learner["learner_model_param"]
    n_outputs = max(int(parameters["num_class"]), int(parameters.get("num_target", 1)), 1)
    missing = getattr(model, "missing", np.nan)
    known = _known_categories(forest, saved["version"])
    encode = _Encoder(np.nan if missing is None else float(missing), known)
    trees = [
        _read_tree(tree, output, weight)
        for tree, output, weight in zip(
            forest["trees"][:n_trees], forest["tree_info"], weights, strict=False
        )
    ]
    return assemble(
        trees,
        n_outputs=n_outputs,
        base=_base_margin(learner, n_outputs),
        n_features=int(parameters["num_feature"]),
        strict=True,
        single_precision=True,
        absent=np.nan,
        encode=encode,
        methods=_methods(model, learner["objective"]["name"]),
        raw_response=_Margin(model, n_outputs),
    )


def _methods(model, objective) -> tuple[str, ...]:
    if hasattr(model, "predict_proba"):  # its `predict` returns labels
        return ("log_odds",)
    return ("predict",) if objective in _IDENTITY else ()


def _n_trees_used(model, booster, forest) -> int:
    """Return how many trees predict: after early stopping, those up to the best iteration."""
    bounds = forest["iteration_indptr"]
    best = booster.attr("best_iteration") if booster is not model else None
    return int(bounds[-1] if best is None else bounds[int(best) + 1])


def _read_tree(tree, output, weight) -> dict[str, Any]:
    left = np.array(tree["left_children"])
    if int(tree["tree_param"].get("size_leaf_vector", 1)) > 1:
        raise UnreadableModelError(
            "An XGBoost model with multi_strategy='multi_output_tree' has several values in each"
            " leaf",
            "choose multi_strategy='one_output_per_tree', or explain it by sampling",
        )
    condition = np.array(tree["split_conditions"], dtype=np.float32)
    categories = {}
    for node, start, size in zip(
        tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"], strict=True
    ):
        categories[int(node)] = (tree["categories"][start : start + size], False)
    return {
        "left": left,
        "right": tree["right_children"],
        "feature": tree["split_indices"],
        "threshold": condition,
        "missing_left": tree["default_left"],
        # A dropped-out tree counts with a weight; the product is rounded as XGBoost rounds it.
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
        return -np.log(np.float32(1.0) / score - np.float32(1.0))
    return np.log(score) if objective in _LOG else score


@dataclass(frozen=True)
class _Margin:
    """XGBoost's own margin, ``(r, n_outputs)``."""

    model: Any
    n_outputs: int

    def __call__(self, X) -> np.ndarray:
        if hasattr(self.model, "get_booster"):
            margin = self.model.predict(X, output_margin=True)
        else:
            import xgboost

            frame = xgboost.DMatrix(X, enable_categorical=True)
            margin = self.model.predict(frame, output_margin=True)
        return np.reshape(margin, (len(margin), self.n_outputs))


@dataclass(frozen=True)
class _Encoder:
    """The matrix that XGBoost makes of its input.

    Attributes
    ----------
    missing : float
        The value that stands for a missing one, besides NaN.
    categories : dict
        Position of a categorical column -> its categories in training; since XGBoost 3.1.
    """

    missing: float
    categories: dict

    def __call__(self, X) -> NDArray[np.float64]:
        matrix = frame_to_matrix(X, self.categories, unknown=None) if is_frame(X) else X
        matrix = np.asarray(matrix, dtype=np.float64)
        if np.isnan(self.missing):
            return matrix
        return np.where(matrix == np.float32(self.missing), np.nan, matrix)


def _known_categories(forest, version) -> dict[int, list]:
    """Return the categories of columns, where their names can be read."""
    known = {}
    for position, stored in enumerate(forest.get("cats", {}).get("enc", [])):
        values = np.asarray(stored["values"]).tolist()
        if "offsets" in stored:
            text, bounds = bytes(value % 256 for value in values), stored["offsets"]
            if not text.isascii() and tuple(version) < (3, 4):
                continue  # XGBoost counted letters, which take more bytes, and cut the names
            values = [text[a:b].decode() for a, b in pairwise(bounds)]
        if values:
            known[position] = values
    return known


# Type markers and the big-endian numbers that follow them
_FORMATS = {"i": "b", "U": "B", "I": "h", "l": "i", "L": "q", "d": "f", "D": "d"}
_NUMBERS = {ord(marker): Struct(f">{code}") for marker, code in _FORMATS.items()}
_DTYPES = {marker: np.dtype(number.format) for marker, number in _NUMBERS.items()}
# Bytes of a field's head that tell most fields apart: the length of its name, and seven letters
_KEY = 16
_CONSTANTS = {ord("Z"): None, ord("T"): True, ord("F"): False}
# No field begins like this
_UNKNOWN = b"?", "", np.dtype("b")
_ARRAY, _ARRAY_END, _OBJECT, _OBJECT_END, _TEXT, _CHARACTER, _TYPE, _COUNT = b"[]{}SC$#"


def read_ubjson(raw) -> Any:
    """Return the value decoded from a document of universal binary JSON.

    Parameters
    ----------
    raw : bytes or bytearray

    Returns
    -------
    value : dict, list, str, int, float, bool, None or ndarray
        An array of numbers of one type is an ndarray, big-endian as it lies there.
    """
    return _Reader(bytes(raw)).value()


class _Reader:
    """A place in a document; markers are compared as the numbers that their bytes are."""

    def __init__(self, raw) -> None:
        self.raw, self.at = raw, 0
        # Of arrays of numbers: the bytes before their number, its name and the type of its numbers
        self.heads: dict[bytes, tuple[bytes, str, np.dtype]] = {}

    def take(self) -> int:
        self.at += 1
        return self.raw[self.at - 1]

    def number(self) -> Any:
        """Return the number behind the marker that comes next."""
        number, at = _NUMBERS[self.raw[self.at]], self.at + 1
        self.at = at + number.size
        return number.unpack_from(self.raw, at)[0]

    def numbers(self, marker, n) -> np.ndarray:
        dtype, start = _DTYPES[marker], self.at
        self.at += n * dtype.itemsize
        return np.frombuffer(self.raw, dtype, n, start)

    def text(self) -> str:
        n, start = self.number(), self.at
        self.at += n
        return self.raw[start : start + n].decode()

    def value(self) -> Any:
        marker = self.raw[self.at]
        if marker in _NUMBERS:
            return self.number()
        self.at += 1
        if marker == _ARRAY:
            return self.array()
        if marker == _OBJECT:
            return self.fields()
        if marker == _TEXT:
            return self.text()
        return chr(self.take()) if marker == _CHARACTER else _CONSTANTS[marker]

    def array(self) -> np.ndarray | list:
        if self.raw[self.at] == _TYPE:
            marker = self.raw[self.at + 1]
            self.at += 3  # the type's "$", the type, the count's "#"
            return self.numbers(marker, self.number())
        if self.raw[self.at] == _COUNT:
            self.at += 1
            return [self.value() for _ in range(self.number())]
        items = []
        while self.raw[self.at] != _ARRAY_END:
            items.append(self.value())
        self.at += 1
        return items

    def fields(self) -> dict[str, Any]:
        """Return the fields of an object.

        One tree has the same fields as another: arrays that are known by their heads are read
        without going through them byte by byte.
        """
        raw, heads, fields = self.raw, self.heads, {}
        while raw[self.at] != _OBJECT_END:
            start = self.at
            head, name, dtype = heads.get(raw[start : start + _KEY], _UNKNOWN)
            if raw.startswith(head, start):
                self.at = start + len(head)
                n = self.number()
                fields[name] = np.frombuffer(raw, dtype, n, self.at)
                self.at += n * dtype.itemsize
                continue
            name, begin = self.text(), self.at
            fields[name] = self.value()
            if raw[begin : begin + 2] == b"[$":
                dtype = _DTYPES[raw[begin + 2]]
                heads[raw[start : start + _KEY]] = raw[start : begin + 4], name, dtype
        self.at += 1
        return fields
