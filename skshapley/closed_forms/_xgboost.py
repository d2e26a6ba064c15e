"""Reader of XGBoost's models: linear boosters here, trees by their own reader."""

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skshapley.closed_forms._base import Ask, ClosedForm, check_method
from skshapley.closed_forms._linear import LinearTerms
from skshapley.closed_forms._sklearn_linear import probability
from skshapley.closed_forms._trees import read_tree_model


def read_xgboost(model: Any, method: str, ask: Ask) -> ClosedForm:
    """Return the margin of a linear booster, or the probability of two classes; else the trees."""
    if getattr(model, "booster", None) != "gblinear":
        return read_tree_model(model, method, ask)
    booster = model.get_booster()
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    objective, readable = learner["objective"]["name"], []
    if hasattr(model, "predict_proba"):
        readable = ["log_odds", *(["predict_proba"] if objective == "binary:logistic" else [])]
    elif objective.startswith("reg:") and objective != "reg:logistic":
        readable = ["predict"]
    check_method(model, method, readable, readable[0] if readable else None)
    d = model.n_features_in_
    weights = np.reshape(learner["gradient_booster"]["model"]["weights"], (d + 1, -1))
    terms = LinearTerms(weights[:d], _margin_at_zero(booster, d))
    return probability(terms) if method == "predict_proba" else terms


def _margin_at_zero(booster: Any, d: int) -> NDArray[np.float64]:
    import xgboost

    names, kinds = booster.feature_names, booster.feature_types
    row = xgboost.DMatrix(np.zeros((1, d)), feature_names=names, feature_types=kinds)
    return np.reshape(booster.predict(row, output_margin=True), -1).astype(np.float64)
