"""Readers of survival models, from scikit-survival: linear risk scores and trees."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from skshapley._trees._assemble import assemble
from skshapley._trees._sklearn import read_tree
from skshapley.closed_forms._base import ClosedForm
from skshapley.closed_forms._linear import LinearTerms
from skshapley.closed_forms._trees import Trees
from skshapley.exceptions import UnreadableModelError
from skshapley.responses import SurvivalAt

Ask = Callable[..., ClosedForm]


def _names(model: Any) -> Any:
    return getattr(model, "feature_names_in_", None)


def _unread(model: Any, method: Any) -> UnreadableModelError:
    return UnreadableModelError(
        f"{type(model).__name__}.{method} is no sum over its terms", "explain it by sampling"
    )


def read_line(model: Any, method: Any, ask: Ask) -> ClosedForm:
    """Return a risk score that is linear, from its predictions at the origin and the axes."""
    if method != "predict":
        raise _unread(model, method)
    d = model.n_features_in_
    ends, names = np.concatenate([np.zeros((1, d)), np.eye(d)]), _names(model)
    said = model.predict(ends if names is None else pd.DataFrame(ends, columns=names))
    return LinearTerms((said[1:] - said[0])[:, None], said[:1])


def read_boosting(model: Any, method: Any, ask: Ask) -> ClosedForm:
    """Return the log hazard ratio of boosted trees, which dropouts scale."""
    if method != "predict":
        raise _unread(model, method)
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
        elif method == "predict":
            # with little memory, the score alone is kept
            score = value if value.shape[2] == 1 else value[:, member.is_event_time_]
            found = score[:, :, 0].sum(axis=1)[:, None]
        else:
            raise _unread(model, method)
        trees.append(read_tree(member.tree_, found / len(members)))
    return _trees_of(model, trees, found.shape[1])


def _trees_of(model: Any, trees: list, k: int) -> Trees:
    ensemble = assemble(
        trees,
        n_outputs=k,
        base=np.zeros(k),
        n_features=model.n_features_in_,
        strict=False,
        single_precision=True,
    )
    return Trees(ensemble, _names(model))


READERS: dict[str, Callable[..., ClosedForm]] = {
    "CoxPHSurvivalAnalysis": read_line,
    "CoxnetSurvivalAnalysis": read_line,
    "ComponentwiseGradientBoostingSurvivalAnalysis": read_line,
    "GradientBoostingSurvivalAnalysis": read_boosting,
    "RandomSurvivalForest": read_forest,
    "ExtraSurvivalTrees": read_forest,
    "SurvivalTree": read_forest,
}
