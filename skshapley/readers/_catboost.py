"""CatBoost models, read from their JSON export.

CatBoost casts numbers to float32 and goes right where ``x > border``. A category goes
right where its hash equals the hash in the split; CatBoost itself looks the category
up. In an oblivious tree, all nodes of a level have the same split, and bit i of a
leaf's number is the result of split i.
"""

import json
from functools import partial
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skshapley._tables import is_frame
from skshapley._trees._ensemble import TreeEnsemble, assemble, frame_to_matrix
from skshapley.exceptions import UnreadableModelError

# Losses for which `predict` returns the exponential of the sum
_EXPONENTS = {"Poisson", "LogLinQuantile", "Tweedie"}
# Losses of several targets with two classes each
_TARGETS = {"MultiLogloss", "MultiCrossEntropy"}
# The reason and the remedy for models that compare other numbers than columns
_STATISTICS = (
    "CatBoost splits on statistics of categories, texts or embeddings, not on columns",
    "raise one_hot_max_size above the number of categories, or explain it by sampling",
)
# Losses with a sigmoid for each output
_SIGMOIDS = _TARGETS | {
    "Logloss",
    "CrossEntropy",
    "MultiClassOneVsAll",
}


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
    loss = dump["model_info"].get("params", {}).get("loss_function", {}).get("type")
    scale, bias = dump["scale_and_bias"]
    bias = np.atleast_1d(np.asarray(bias, dtype=np.float64))
    columns = _Columns.of(dump["features_info"])
    by_depth = groupby(
        dump.get("oblivious_trees", ()),
        lambda tree: len(tree["splits"] or ()),
    )
    trees = [
        tree
        for _, run in by_depth
        for tree in _read_oblivious(list(run), columns, scale, len(bias))
    ] or [_read_tree(root, columns, scale, len(bias)) for root in dump["trees"]]
    return assemble(
        trees,
        n_outputs=len(bias),
        base=bias,
        n_features=columns.n,
        strict=False,
        single_precision=True,
        encode=_encoder(dump, columns),
        methods=_methods(model, loss),
        raw_response=partial(model.predict, prediction_type="RawFormulaVal"),
        several_targets=loss in _TARGETS,
    )


def _export(model) -> dict[str, Any]:
    from catboost import CatBoostError

    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        try:
            model.save_model(str(path), format="json")
        except CatBoostError as error:  # for texts and embeddings
            raise UnreadableModelError(*_STATISTICS) from error
        return json.loads(path.read_text(encoding="utf-8"))


def _methods(model, loss) -> tuple[str, ...]:
    if hasattr(model, "predict_proba"):  # its `predict` returns labels
        return ("log_odds",) if loss in _SIGMOIDS else ()
    return ("log",) if loss in _EXPONENTS else ("predict",)


class _Columns(NamedTuple):
    """The columns of the model's input, in the order of the export's numbers.

    Attributes
    ----------
    n : int
    floats, categories : list of dict
    """

    n: int
    floats: list[dict[str, Any]]
    categories: list[dict[str, Any]]

    @classmethod
    def of(cls, info) -> "_Columns":
        floats, categories = (
            sorted(info.get(name, []), key=itemgetter("feature_index"))
            for name in ("float_features", "categorical_features")
        )
        last = max(
            feature.get("flat_feature_index", 0)
            for feature in chain.from_iterable(info.values())
        )
        return cls(1 + last, floats, categories)

    def asked(self, split) -> tuple[int, float, bool, int]:
        """Return the column of a split, its threshold, where NaN goes, and its category or -1."""
        if split["split_type"] == "FloatFeature":
            feature = self.floats[split["float_feature_index"]]
            # CatBoost treats NaN as less or as greater than all numbers; NaN > border
            # is False
            return (
                feature["flat_feature_index"],
                split["border"],
                feature["nan_value_treatment"] != "AsTrue",
                -1,
            )
        if split["split_type"] == "OneHotFeature":
            feature = self.categories[split["cat_feature_index"]]
            return (
                feature["flat_feature_index"],
                0.0,
                True,
                feature["values"].index(split["value"]),
            )
        raise UnreadableModelError(*_STATISTICS)


def _read_oblivious(trees, columns, scale, n_outputs) -> list[dict[str, Any]]:
    """Return oblivious trees of one depth for `assemble`, level by level.

    The last split of a tree is the root's.
    """
    # the leaf stands for the questions of a tree without splits
    questions = [
        [*map(columns.asked, reversed(tree["splits"] or ())), (-1, 0.0, False, -1)]
        for tree in trees
    ]
    n = len(questions)
    depth = len(questions[0]) - 1
    level = np.repeat(np.arange(depth + 1), 1 << np.arange(depth + 1))
    node = np.arange(len(level))
    inner = level < depth
    by_level = (
        np.array([[question[part] for question in tree] for tree in questions])
        for part in range(4)
    )
    feature, threshold, missing_left, category = (part[:, level] for part in by_level)
    value = np.zeros((n, len(level), n_outputs))
    # the root's answer is the highest bit of a leaf's number
    leaf_values = np.array([tree["leaf_values"] for tree in trees])
    value[:, ~inner] = leaf_values.reshape(n, -1, n_outputs) * scale
    # CatBoost stores weights of leaves only.
    covers = [np.array([tree["leaf_weights"] for tree in trees])]
    for _ in range(depth):
        covers.append(covers[-1].reshape(n, -1, 2).sum(axis=2))
    cover = np.concatenate(covers[::-1], axis=1)
    return [
        {
            "left": np.where(inner, 2 * node + 1, -1),
            "right": np.where(inner, 2 * node + 2, -1),
            "feature": feature[i],
            "threshold": threshold[i],
            "missing_left": missing_left[i],
            "value": value[i],
            "cover": cover[i],
            "categories": {
                split: ([int(category[i, split])], False)
                for split in np.flatnonzero(category[i] >= 0).tolist()
            },
        }
        for i in range(n)
    ]


def _read_tree(root, columns, scale, n_outputs) -> dict[str, Any]:
    """Return a tree for `assemble`, parents before children."""
    left, right, questions, value, cover = zip(
        *_nodes(root, columns, n_outputs),
        strict=True,
    )
    feature, threshold, missing_left, category = zip(*questions, strict=True)
    place = np.arange(len(left))
    return {
        "left": np.where(left, place + left, -1),
        "right": np.where(left, place + right, -1),
        "feature": feature,
        "threshold": threshold,
        "missing_left": missing_left,
        "value": np.array(value) * scale,
        "cover": cover,
        "categories": {
            node: ([code], False) for node, code in enumerate(category) if code >= 0
        },
    }


def _nodes(node, columns, n_outputs) -> list[tuple]:
    """Return a node and those below: distances of the children, question, value and weight."""
    if "split" not in node:
        return [
            (
                0,
                0,
                (-1, 0.0, False, -1),
                np.reshape(node["value"], n_outputs),
                node["weight"],
            ),
        ]
    left, right = (_nodes(node[side], columns, n_outputs) for side in ("left", "right"))
    # CatBoost stores weights of leaves only.
    weight = left[0][-1] + right[0][-1]
    return [
        (1, 1 + len(left), columns.asked(node["split"]), np.zeros(n_outputs), weight),
        *left,
        *right,
    ]


def _encoder(dump, columns) -> partial:
    """Return the function from inputs of an exported model to matrices."""
    from catboost import CatBoost

    numeric = [feature for feature in columns.floats if feature.get("borders")]
    n_borders = sum(len(feature["borders"]) for feature in numeric)
    stumps: list[dict[str, Any]] = []
    owner = []
    for feature in columns.categories:
        for value in feature.get("values", ()):
            stumps.append(
                {
                    "splits": [
                        {
                            "split_type": "OneHotFeature",
                            "cat_feature_index": feature["feature_index"],
                            "value": value,
                            "split_index": n_borders + len(stumps),
                        },
                    ],
                    "leaf_values": [0, 1],
                    "leaf_weights": [1, 1],
                }
            )
            owner.append(feature["flat_feature_index"])
    lookup = None
    if stumps:
        # CatBoost hashes categories internally. One tree per category lets CatBoost
        # itself find the category, without a copy of its hash function.
        dump = {**dump, "oblivious_trees": stumps, "scale_and_bias": [1, [0]]}
        dump.pop("trees", None)
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model.json"
            path.write_text(json.dumps(dump), encoding="utf-8")
            lookup = CatBoost().load_model(str(path), format="json")
    return partial(
        _encode,
        columns.n,
        [feature["flat_feature_index"] for feature in numeric],
        lookup,
        np.array(owner),
    )


def _encode(n, numbers, lookup, owner, X) -> NDArray[np.float64]:
    """Return the input as a matrix: numbers, and categories by position among those in splits.

    Parameters
    ----------
    n : int
        Number of columns of the input.
    numbers : list of int
        The columns with numeric splits. All other columns are 0.
    lookup : CatBoost or None
        A model with one tree for each category in splits, which has leaf 1 for that
        category.
    owner : ndarray of shape (n_trees,), int
        The column of each of these trees.
    X : array or frame of shape (r, n)
    """
    matrix = np.zeros((len(X), n))
    if is_frame(X):
        matrix[:, numbers] = frame_to_matrix(X.iloc[:, numbers], {})
    else:
        matrix[:, numbers] = np.asarray(X)[:, numbers].astype(np.float64)
    if lookup is not None:
        leaves = lookup.calc_leaf_indexes(X)
        for column in np.unique(owner):
            hits = leaves[:, owner == column]
            # A category outside all splits gets a code of its own: no comparison finds
            # it equal.
            matrix[:, column] = np.where(
                hits.any(axis=1),
                hits.argmax(axis=1),
                hits.shape[1],
            )
    return matrix
