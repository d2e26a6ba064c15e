"""CatBoost models, read from their JSON export.

CatBoost casts numbers to float32 and goes right where ``x > border``. A category goes right where
its hash equals the hash in the split. In an oblivious tree, all nodes of a level have the same
split, and bit i of a leaf's number is the result of split i.
"""

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skshapley._tables._inputs import is_frame
from skshapley._trees._assemble import assemble, join_leaves
from skshapley._trees._ensemble import TreeEnsemble
from skshapley.exceptions import UnreadableModelError

# Losses for which `predict` returns the exponential of the sum
_EXPONENTS = {"Poisson", "LogLinQuantile", "Tweedie"}
# Losses with a sigmoid for each output
_SIGMOIDS = {"Logloss", "CrossEntropy", "MultiClassOneVsAll", "MultiLogloss", "MultiCrossEntropy"}


def read_catboost(model) -> TreeEnsemble:
    """Return the raw value of a CatBoost model as a `TreeEnsemble`.

    Parameters
    ----------
    model : catboost.CatBoost

    Returns
    -------
    trees : TreeEnsemble

    Raises
    ------
    UnreadableModelError
        For splits on statistics of categories, on texts or on embeddings.
    """
    dump = _export(model)
    scale, bias = dump["scale_and_bias"]
    bias = np.atleast_1d(np.asarray(bias, dtype=np.float64))
    columns = _Columns.of(dump["features_info"])
    if "oblivious_trees" in dump:
        found = [_oblivious(tree, columns) for tree in dump["oblivious_trees"]]
    else:
        found = [_grown(tree, columns) for tree in dump["trees"]]
    trees = [tree.joined(scale, len(bias)) for tree in found]
    return assemble(
        trees,
        n_outputs=len(bias),
        base=bias,
        n_features=columns.n,
        strict=False,
        single_precision=True,
        encode=_Encoder(columns.n, columns.categories, columns.numbers_asked),
        methods=_methods(model, dump, len(bias)),
        raw_response=partial(model.predict, prediction_type="RawFormulaVal"),
    )


def _export(model) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        return json.loads(path.read_text(encoding="utf-8"))


def _methods(model, dump, n_outputs) -> tuple[str, ...]:
    loss = dump["model_info"].get("params", {}).get("loss_function", {}).get("type")
    if hasattr(model, "predict_proba"):  # its `predict` returns labels
        return ("log_odds",) if loss in _SIGMOIDS else ()
    return () if loss in _EXPONENTS else ("predict",)


class _Columns:
    """The columns of the model's input, as the export numbers them."""

    def __init__(self, n) -> None:
        self.n = n
        self.numbers: list[int] = []
        self.missing_left: list[bool] = []
        self.categories: dict[int, list[int]] = {}  # column -> hashes in its splits
        self.numbers_asked: tuple[int, ...] = ()

    @classmethod
    def of(cls, info) -> "_Columns":
        kinds = [info.get(f"{kind}_features", []) for kind in ("float", "categorical")]
        everything = [one for features in info.values() for one in features if "flat" in str(one)]
        made = cls(1 + max(one["flat_feature_index"] for one in everything))
        floats, categories = (sorted(k, key=lambda one: one["feature_index"]) for k in kinds)
        made.numbers = [one["flat_feature_index"] for one in floats]
        # CatBoost treats NaN as less or as greater than all numbers; here, NaN > border is False
        made.missing_left = [one["nan_value_treatment"] != "AsTrue" for one in floats]
        made.categories = {one["flat_feature_index"]: one.get("values", []) for one in categories}
        made.numbers_asked = tuple(
            one["flat_feature_index"] for one in floats if one.get("borders")
        )
        return made

    def asked(self, split) -> tuple[int, float, bool, Any]:
        """Return the column of a split, its threshold, where NaN goes, and its category."""
        if split["split_type"] == "FloatFeature":
            at = split["float_feature_index"]
            return self.numbers[at], split["border"], self.missing_left[at], None
        if split["split_type"] == "OneHotFeature":
            column, hashes = list(self.categories.items())[split["cat_feature_index"]]
            return column, 0.0, True, hashes.index(split["value"])
        raise UnreadableModelError(
            "A CatBoost model with splits on statistics of its categories, texts or embeddings is"
            " no sum of plain trees",
            "raise one_hot_max_size above the number of categories, or explain it by sampling",
        )


class _Tree(NamedTuple):
    """The inner nodes and the leaves of one tree, with splits as `_Columns.asked` returns them."""

    splits: list[tuple]
    children: np.ndarray
    covers: np.ndarray
    values: list
    weights: list[float]

    def joined(self, scale, n_outputs) -> dict[str, Any]:
        """Return the tree in the form that `assemble` accepts."""
        column, border, missing_left, category = (
            [split[part] for split in self.splits] for part in range(4)
        )
        inner = {
            "left": self.children[0],
            "right": self.children[1],
            "feature": column,
            "threshold": border,
            "missing_left": missing_left,
            "cover": self.covers,
        }
        value = np.reshape(self.values, (-1, n_outputs)) * scale
        named = {node: ([one], False) for node, one in enumerate(category) if one is not None}
        return join_leaves(inner, {"value": value, "cover": self.weights}) | {"categories": named}


def _oblivious(tree, columns) -> _Tree:
    """Return a complete tree, level by level: the last split at the root, the leaves in order."""
    splits = [columns.asked(split) for split in tree["splits"] or []][::-1]
    n = 2 ** len(splits) - 1
    children = 2 * np.arange(n) + np.array([[1], [2]])
    covers = [np.asarray(tree["leaf_weights"], dtype=np.float64)]
    while len(covers[0]) > 1:
        covers.insert(0, covers[0].reshape(-1, 2).sum(axis=1))
    return _Tree(
        [split for depth, split in enumerate(splits) for _ in range(2**depth)],
        np.where(children < n, children, n - 1 - children),
        np.concatenate(covers[:-1] or [np.empty(0)]),
        tree["leaf_values"],
        tree["leaf_weights"],
    )


def _grown(root, columns) -> _Tree:
    """Return a tree that was grown node by node, parents before children."""
    splits: list[tuple] = []
    children: list[list[int]] = []
    values: list[Any] = []
    weights: list[float] = []
    waiting: list[tuple] = [(root, None, 0)]
    while waiting:
        node, parent, side = waiting.pop()
        is_leaf = "split" not in node
        if parent is not None:
            children[parent][side] = -1 - len(values) if is_leaf else len(splits)
        if is_leaf:
            values.append(node["value"])
            weights.append(node.get("weight", 0.0))
        else:
            waiting += [(node["right"], len(splits), 1), (node["left"], len(splits), 0)]
            splits.append(columns.asked(node["split"]))
            children.append([0, 0])
    covers = np.zeros(len(splits))
    for node in range(len(splits) - 1, -1, -1):
        covers[node] = sum(weights[-1 - to] if to < 0 else covers[to] for to in children[node])
    return _Tree(splits, np.reshape(children, (-1, 2)).T.astype(np.int64), covers, values, weights)


@dataclass(frozen=True)
class _Encoder:
    """Encode the input as a matrix: numbers, and categories by position among those in splits.

    Attributes
    ----------
    n : int
        Number of columns.
    categories : dict of int to list of int
        The hashes of the categories in the splits, for each categorical column.
    numbers : tuple of int
        The columns with numeric splits. All other columns are 0.
    """

    n: int
    categories: dict
    numbers: tuple

    def __call__(self, X) -> NDArray[np.float64]:
        matrix = np.zeros((len(X), self.n))
        for column in self.numbers:
            matrix[:, column] = _numbers(X, column)
        for column, named in self.categories.items():
            kinds, place = np.unique(_column(X, column).astype(str), return_inverse=True)
            hashes = [category_hash(str(kind)) for kind in kinds]
            codes = [named.index(one) if one in named else len(named) for one in hashes]
            matrix[:, column] = np.array(codes)[place]
        return matrix


def _column(X, column) -> np.ndarray:
    return X.iloc[:, column].to_numpy() if is_frame(X) else np.asarray(X)[:, column]


def _numbers(X, column) -> np.ndarray:
    if is_frame(X):
        return X.iloc[:, column].to_numpy(dtype=np.float64, na_value=np.nan)
    return np.asarray(X)[:, column].astype(np.float64)


MASK = 2**64 - 1
K0, K1 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273
K2, K3 = 0x9AE16A3B2F90404F, 0xC949D7C7509E6557
MUL = 0x9DDFEA08EB382D69


def category_hash(text: str) -> int:
    """Return the hash of a category as CatBoost stores it: the lower half, as an int32."""
    low = city_hash(text.encode()) & (2**32 - 1)
    return low - 2**32 if low >= 2**31 else low


def city_hash(data: bytes) -> int:
    """Return CityHash64, version 1.0, of some bytes."""
    n = len(data)
    if n <= 16:
        return _up_to_16(data, n)
    if n <= 32:
        a, b = _word(data, 0) * K1, _word(data, 8)
        c, d = _word(data, n - 8) * K2, _word(data, n - 16) * K0
        turned = _turn(a - b, 43) + _turn(c, 30) + d
        return _two(turned, a + _turn(b ^ K3, 20) - c + n)
    return _up_to_64(data, n) if n <= 64 else _long(data, n)


def _word(data: bytes, start: int, size: int = 8) -> int:
    return int.from_bytes(data[start : start + size], "little")


def _turn(word: int, bits: int) -> int:
    """Return a word rotated to the right."""
    word &= MASK
    return (word >> bits | word << (64 - bits)) & MASK if bits else word


def _mix(word: int) -> int:
    word &= MASK
    return word ^ (word >> 47)


def _two(u: int, v: int) -> int:
    """Return the hash of two words."""
    u, v = u & MASK, v & MASK
    return _mix((v ^ _mix((u ^ v) * MUL)) * MUL) * MUL & MASK


def _up_to_16(data: bytes, n: int) -> int:
    if n > 8:
        a, b = _word(data, 0), _word(data, n - 8)
        return _two(a, _turn(b + n, n)) ^ b
    if n >= 4:
        return _two(n + (_word(data, 0, 4) << 3), _word(data, n - 4, 4))
    if not n:
        return K2
    y, z = data[0] + (data[n >> 1] << 8), n + (data[-1] << 2)
    return _mix(y * K2 ^ z * K3) * K2 & MASK


def _up_to_64(data: bytes, n: int) -> int:
    def half(first: int, a: int, z: int) -> tuple[int, int]:
        b, c = _turn(a + z, 52), _turn(a, 37)
        a += _word(data, first + 8)
        c += _turn(a, 7)
        a += _word(data, first + 16)
        return a + z, b + _turn(a, 31) + c

    v = half(0, _word(data, 0) + (n + _word(data, n - 16)) * K0, _word(data, 24))
    w = half(n - 32, _word(data, 16) + _word(data, n - 32), _word(data, n - 8))
    return _mix(_mix((v[0] + w[1]) * K2 + (w[0] + v[1]) * K0) * K0 + v[1]) * K2 & MASK


def _pair(data: bytes, start: int, a: int, b: int) -> tuple[int, int]:
    """Return the weak hash of 32 bytes and two seeds."""
    w, x, y, z = (_word(data, start + 8 * i) for i in range(4))
    a += w
    b, c = _turn(b + a + z, 21), a
    a += x + y
    b += _turn(a, 44)
    return (a + z) & MASK, (b + c) & MASK


def _long(data: bytes, n: int) -> int:
    x, y = _word(data, 0), _word(data, n - 16) ^ K1
    z = _word(data, n - 56) ^ K0
    v = _pair(data, n - 64, n, y)
    w = _pair(data, n - 32, n * K1, K0)
    z += _mix(v[1]) * K1
    x = _turn(z + x, 39) * K1
    y = _turn(y, 33) * K1
    for start in range(0, (n - 1) // 64 * 64, 64):
        x = _turn(x + y + v[0] + _word(data, start + 16), 37) * K1
        y = _turn(y + v[1] + _word(data, start + 48), 42) * K1
        x, y = (x ^ w[1]) & MASK, (y ^ v[0]) & MASK
        z = _turn(z ^ w[0], 33)
        v = _pair(data, start, v[1] * K1, x + w[0])
        w = _pair(data, start + 32, z + w[1], y)
        z, x = x, z
    return _two(_two(v[0], w[0]) + _mix(y) * K1 + z, _two(v[1], w[1]) + x)
