"""Reader of XGBoost's models: linear boosters here, trees by their own reader."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skshapley.closed_forms._base import ClosedForm
from skshapley.closed_forms._linear import LinearTerms
from skshapley.closed_forms._sklearn_linear import not_linear, probability
from skshapley.closed_forms._trees import read_tree_model
from skshapley.exceptions import UnreadableModelError


def read_xgboost(model: Any, method: str, ask: Callable[..., ClosedForm]) -> ClosedForm:
    """Return the margin of a linear booster, or the probability of two classes; else the trees."""
    if getattr(model, "booster", None) != "gblinear":
        return read_tree_model(model, method, ask)
    classify = hasattr(model, "predict_proba")
    learner = json.loads(bytes(model.get_booster().save_raw("json")))["learner"]
    objective, d = learner["objective"]["name"], model.n_features_in_
    weights = np.reshape(learner["gradient_booster"]["model"]["weights"], (d + 1, -1))
    terms = LinearTerms(weights[:d], _margin_at_zero(model.get_booster(), d))
    if method == "log_odds" and classify:
        return terms
    if method == "predict_proba" and objective == "binary:logistic":
        return probability(terms)
    if method == "predict" and not classify and objective.startswith("reg:"):
        if objective == "reg:logistic":
            raise UnreadableModelError(
                "XGBoost's reg:logistic bends its linear terms", "explain it by sampling"
            )
        return terms
    raise not_linear(model, method, "log_odds" if classify else "predict")


def _margin_at_zero(booster: Any, d: int) -> NDArray[np.float64]:
    import xgboost

    names, kinds = booster.feature_names, booster.feature_types
    row = xgboost.DMatrix(np.zeros((1, d)), feature_names=names, feature_types=kinds)
    return np.reshape(booster.predict(row, output_margin=True), -1).astype(np.float64)
