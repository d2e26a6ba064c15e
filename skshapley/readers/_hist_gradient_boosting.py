"""HistGradientBoosting: read the trees, which scikit-learn keeps private.

Only this file uses private attributes of scikit-learn's models: ``_predictors`` and
their ``nodes``, ``_baseline_prediction``, ``_preprocessor`` and ``_raw_predict``. Their
layout is checked, so that a new layout is refused and not misread.
"""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from skshapley._trees._ensemble import TreeEnsemble, assemble
from skshapley.exceptions import UnreadableModelError

_LOG_LINK = ("poisson", "gamma")


def read_hist_gradient_boosting(model) -> TreeEnsemble:
    """Return the raw prediction of a HistGradientBoosting model as a `TreeEnsemble`.

    The model compares in float64 and goes left where ``x <= threshold``. Its ordinal
    encoder defines the categories. Unknown categories count as missing.

    Parameters
    ----------
    model : HistGradientBoostingClassifier or HistGradientBoostingRegressor

    Returns
    -------
    trees : TreeEnsemble

    Raises
    ------
    UnreadableModelError
        If this version of scikit-learn stores the trees in an unknown layout.
    """
    try:
        return _read(model)
    except (AttributeError, ValueError) as error:  # a ValueError for a field of nodes
        import sklearn

        raise UnreadableModelError(
            f"{type(model).__name__} of scikit-learn {sklearn.__version__} stores its "
            f"trees in an unknown format ({error})"
        ) from error


def split_columns(model) -> NDArray[np.intp]:
    """Return the column of each split of a HistGradientBoosting model."""
    trees = [predictor.nodes for trees in model._predictors for predictor in trees]
    splits = [nodes["feature_idx"][nodes["is_leaf"] == 0] for nodes in trees]
    return _columns(model)[np.concatenate(splits)]


def _columns(model) -> NDArray[np.intp]:
    """Return the column of each feature of the trees."""
    if model._preprocessor is None:
        return np.arange(model.n_features_in_)
    # The encoder puts the categorical columns first.
    categorical = model.is_categorical_
    return np.concatenate([np.flatnonzero(categorical), np.flatnonzero(~categorical)])


def _read(model) -> TreeEnsemble:
    columns = _columns(model)
    preprocessor = model._preprocessor
    trees = [
        _read_tree(predictor, columns) | {"output": k}
        for iteration in model._predictors
        for k, predictor in enumerate(iteration)
    ]
    return assemble(
        trees,
        n_outputs=len(model._predictors[0]),
        base=np.ravel(model._baseline_prediction),
        n_features=model.n_features_in_,
        strict=False,
        single_precision=False,
        encode=None
        if preprocessor is None
        else partial(_encode, preprocessor, columns),
        methods=_methods(model),
        raw_response=model._raw_predict,
    )


def _methods(model) -> tuple[str, ...]:
    if is_classifier(model):
        # Log-odds of one of several classes need all raw scores at once.
        return (
            "decision_function",
            *(["log_odds"] if model.n_trees_per_iteration_ == 1 else []),
        )
    # With a log link, predictions are exponentials of the sum over trees.
    return ("log",) if model.loss in _LOG_LINK else ("predict",)


def _read_tree(predictor, columns) -> dict[str, Any]:
    nodes = predictor.nodes
    leaf = nodes["is_leaf"].astype(bool)
    categories = {}
    for node in np.flatnonzero(nodes["is_categorical"].astype(bool) & ~leaf):
        # Eight 32-bit words hold the 256 possible categories. Little endian makes the
        # bytes follow the categories.
        words = predictor.raw_left_cat_bitsets[nodes["bitset_idx"][node]].astype("<u4")
        categories[node] = (
            np.flatnonzero(
                np.unpackbits(words.view(np.uint8), bitorder="little")
            ).tolist(),
            True,
        )
    return {
        "left": np.where(leaf, -1, nodes["left"].astype(np.int64)),
        "right": np.where(leaf, -1, nodes["right"].astype(np.int64)),
        "feature": columns[nodes["feature_idx"]],
        "threshold": nodes["num_threshold"],
        "missing_left": nodes["missing_go_to_left"],
        "value": nodes["value"],
        "cover": nodes["count"],
        "categories": categories,
    }


def _encode(preprocessor, columns, X) -> NDArray[np.float64]:
    """Encode categories by the model's own encoder, with the columns in their original order."""
    encoded = np.asarray(preprocessor.transform(X), dtype=np.float64)
    matrix = np.empty_like(encoded)
    matrix[:, columns] = encoded
    return matrix
