"""Readers of survival models, from scikit-survival: linear risk scores and trees."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skshapley._tables import in_model_columns, model_columns
from skshapley.closed_forms import ClosedForm, Curve, Exponential, Trees
from skshapley.readers._base import Ask, Reader, check_method
from skshapley.readers._sklearn_linear import line_of
from skshapley.readers._sklearn_trees import of_estimator, read_tree
from skshapley.responses import SurvivalAt


def read_hazards(model: Any, method: Any, ask: Ask) -> ClosedForm:
    """Return the log hazard ratio, or the survival function as a curve of it."""
    if not isinstance(method, SurvivalAt):
        return line_of(model, method, ask)
    line = line_of(model, "predict", ask)
    # Any row serves: under proportional hazards, survival curves are powers of one
    # another.
    survival = method(
        model,
        in_model_columns(model, np.zeros((1, model.n_features_in_))),
    ).to_numpy()
    # Without the intercept, the origin has the log hazard ratio 0 and the power 1.
    hazards = line.combined([[1.0]], -line.intercept)
    return Curve(hazards, partial(_powers, survival), np.eye(survival.shape[1]))


def _powers(survival: NDArray[np.float64], log_hazards: NDArray[np.float64]) -> Any:
    """Return the survival ``(n, k)`` of log hazards ``(n, 1)``, relative to that of one row."""
    return survival ** np.exp(log_hazards)


def read_boosting(model: Any, method: Any, ask: Ask) -> ClosedForm:
    """Return the log hazard ratio of boosted trees, scaled by dropouts."""
    check_method(model, method, ["predict"])
    stages = model.estimators_[:, 0]
    shares = model.learning_rate * getattr(model, "_scale", np.ones(len(stages)))
    trees = [
        read_tree(stage.tree_, stage.tree_.value[:, 0, 0] * share)
        for stage, share in zip(stages, shares, strict=True)
    ]
    return Trees(of_estimator(model, trees, 1), model_columns(model))


def read_survival_forest(model: Any, method: Any, ask: Ask) -> ClosedForm:
    """Return the risk score of a survival forest, or its survival function at given times."""
    members = getattr(model, "estimators_", [model])
    trees = []
    for member in members:
        value = member.tree_.value
        if isinstance(method, SurvivalAt) and value.shape[2] > 1:
            response = method.look_up(model.unique_times_, value[:, :, 1])
        else:
            check_method(model, method, ["predict"])
            # with little memory, the score alone is kept
            score = value if value.shape[2] == 1 else value[:, member.is_event_time_]
            # scikit-survival's risk score is the cumulative hazard, summed over the
            # event times.
            response = score[:, :, 0].sum(axis=1)[:, None]
        trees.append(read_tree(member.tree_, response / len(members)))
    return Trees(of_estimator(model, trees, response.shape[1]), model_columns(model))


def read_time(model: Any, method: Any, ask: Ask) -> ClosedForm:
    """Return a survival time, the exponential of linear terms, or a linear rank."""
    if getattr(model, "rank_ratio", 0.0) == 1:
        return line_of(model, method, ask)
    check_method(model, method, ["predict"])
    return Exponential(model.coef_, getattr(model, "intercept_", 0.0))


READERS: dict[str, Reader] = {
    "CoxPHSurvivalAnalysis": read_hazards,
    "CoxnetSurvivalAnalysis": read_hazards,
    "ComponentwiseGradientBoostingSurvivalAnalysis": read_hazards,
    "IPCRidge": read_time,
    "FastSurvivalSVM": read_time,
    "GradientBoostingSurvivalAnalysis": read_boosting,
    "RandomSurvivalForest": read_survival_forest,
    "ExtraSurvivalTrees": read_survival_forest,
    "SurvivalTree": read_survival_forest,
}
