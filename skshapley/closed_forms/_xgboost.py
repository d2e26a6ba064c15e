"""Reader of XGBoost's models: linear boosters here, trees by their own reader."""

import json
from typing import Any

import numpy as np

from skshapley._tables._model_columns import in_model_columns
from skshapley._trees._xgboost import SORTED
from skshapley.closed_forms._base import Ask, ClosedForm, check_method
from skshapley.closed_forms._linear import LinearTerms
from skshapley.closed_forms._sklearn_linear import probability
from skshapley.closed_forms._trees import read_tree_model


def read_xgboost(model: Any, method: str, ask: Ask) -> ClosedForm:
    """Return the margin of a linear booster, or the probability of two classes; else the trees."""
    if getattr(model, "booster", None) != "gblinear":
        if hasattr(model, "predict_proba"):
            # Refused before the trees are read, which takes 15 ms for 100 trees
            check_method(model, method, ["log_odds"], "log_odds")
        return read_tree_model(model, method, ask)
    learner = json.loads(bytes(model.get_booster().save_raw("json")))["learner"]
    objective, readable = learner["objective"]["name"], []
    if hasattr(model, "predict_proba"):
        readable = [
            "log_odds",
            *(["predict_proba"] if objective == "binary:logistic" else []),
        ]
    elif objective.startswith("reg:") and objective != "reg:logistic":
        readable = ["predict"]
    d = model.n_features_in_
    weights = np.reshape(learner["gradient_booster"]["model"]["weights"], (d + 1, -1))
    if objective in SORTED and weights.shape[1] > 1:
        readable = []
    check_method(model, method, readable, readable[0] if readable else None)
    margin = model.predict(
        in_model_columns(model, np.zeros((1, d))), output_margin=True
    )
    terms = LinearTerms(weights[:d], np.reshape(margin, -1))
    return probability(terms) if method == "predict_proba" else terms
