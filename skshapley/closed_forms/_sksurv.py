"""Readers of survival models, from scikit-survival: linear risk scores and trees."""

from typing import Any

import numpy as np

from skshapley._trees._sklearn import of_estimator, read_tree
from skshapley.closed_forms._base import Ask, ClosedForm, check_method
from skshapley.closed_forms._sklearn_linear import line_of
from skshapley.closed_forms._sums import Reader
from skshapley.closed_forms._trees import Trees
from skshapley.responses import SurvivalAt


def read_boosting(model: Any, method: Any, ask: Ask) -> ClosedForm:
    """Return the log hazard ratio of boosted trees, scaled by dropouts."""
    check_method(model, method, ["predict"])
    stages = model.estimators_[:, 0]
    shares = model.learning_rate * getattr(model, "_scale", np.ones(len(stages)))
    trees = [
        read_tree(stage.tree_, stage.tree_.value[:, 0, 0] * share)
        for stage, share in zip(stages, shares, strict=True)
    ]
    return _trees_of(model, trees, 1)


def read_forest(model: Any, method: Any, ask: Ask) -> ClosedForm:
    """Return the risk score of a survival forest, or its survival function at given times."""
    members = getattr(model, "estimators_", [model])
    trees = []
    for member in members:
        value = member.tree_.value
        if isinstance(method, SurvivalAt) and value.shape[2] > 1:
            found = method.look_up(model.unique_times_, value[:, :, 1])
        else:
            check_method(model, method, ["predict"])
            # with little memory, the score alone is kept
            score = value if value.shape[2] == 1 else value[:, member.is_event_time_]
            found = score[:, :, 0].sum(axis=1)[:, None]
        trees.append(read_tree(member.tree_, found / len(members)))
    return _trees_of(model, trees, found.shape[1])


def _trees_of(model: Any, trees: list, k: int) -> Trees:
    return Trees(of_estimator(model, trees, k), getattr(model, "feature_names_in_", None))


READERS: dict[str, Reader] = {
    "CoxPHSurvivalAnalysis": line_of,
    "CoxnetSurvivalAnalysis": line_of,
    "ComponentwiseGradientBoostingSurvivalAnalysis": line_of,
    "GradientBoostingSurvivalAnalysis": read_boosting,
    "RandomSurvivalForest": read_forest,
    "ExtraSurvivalTrees": read_forest,
    "SurvivalTree": read_forest,
}
