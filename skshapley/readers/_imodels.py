"""Readers of `imodels` (shrunken trees, sums of trees, rules) and of `mapie` (means)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skshapley._trees._ensemble import TreeEnsemble
from skshapley.closed_forms import LinearTerms, Part, Trees, part_by
from skshapley.readers._base import Ask, Form, Reader, TreeReader, check_method
from skshapley.readers._sklearn_sums import wrapper_of
from skshapley.readers._sklearn_trees import of_estimator


def read_sum(model) -> TreeEnsemble:
    """Return the prediction or the scores of a greedy sum of trees (FIGS).

    Parameters
    ----------
    model : FIGSRegressor or FIGSClassifier

    Returns
    -------
    trees : TreeEnsemble
        With one output; for several classes, one for each class.
    """
    trees = []
    for root in model.trees_:
        nodes = [root]
        for node in nodes:  # the list grows
            nodes += [] if node.left is None else [node.left, node.right]
        number = {id(node): place for place, node in enumerate(nodes)}
        tree = {
            "left": [number.get(id(node.left), -1) for node in nodes],
            "right": [number.get(id(node.right), -1) for node in nodes],
            "feature": [node.feature or 0 for node in nodes],
            "threshold": [node.threshold or 0.0 for node in nodes],
            "missing_left": np.zeros(len(nodes), dtype=bool),
            "value": np.stack([np.ravel(node.value) for node in nodes]),
            "cover": [node.n_samples_ for node in nodes],
        }
        trees.append(tree)
    n_classes = len(getattr(model, "classes_", ()))
    ensemble = of_estimator(
        model,
        trees,
        model.n_outputs,
        single_precision=False,
        methods={0: ("predict",), 2: ("log_odds",)}.get(n_classes, ()),
    )
    return ensemble.combined([[-1.0], [1.0]]) if n_classes == 2 else ensemble


def _of_rules(model: Any, method: Any, ask: Ask) -> list[Part]:
    """Return the sum of weighted rules, and of winsorized columns if there are any."""
    classify = hasattr(model, "classes_")
    readable = ["log_odds" if classify else "predict"]
    check_method(model, method, readable, readable[0])
    # probabilities are the softmax of 1 - s and s for the sum s
    factor, shift = (2.0, -1.0) if classify else (1.0, 0.0)
    d = model.n_features_
    names = list(model.feature_placeholders)
    rules = [rule for rule in model.rules_without_feature_names_ if rule.agg_dict]
    chains = [_chain(rule, names, factor) for rule in rules]
    slopes = np.array(model.coef[:d]) if model.include_linear else np.zeros(d)
    terms = LinearTerms(
        factor * slopes[:, None],
        [factor * float(np.ravel(model.intercept)[0]) + shift],
    )
    parts = [part_by(terms, _winsorized, np.arange(d), d, model)]
    if chains:
        parts.append(
            Part(Trees(of_estimator(model, chains, 1, single_precision=False)))
        )
    return parts


def _chain(rule: Any, names: list, factor: float) -> dict[str, Any]:
    """Return a rule as a tree: its conditions in turn, and a leaf for each way out."""
    conditions = list(rule.agg_dict)
    n = len(conditions)
    inside = np.arange(1, n + 1)
    outside = n + inside
    below = np.array([sign in ("<=", "<") for _, sign in conditions])
    leaves = np.full(n + 1, -1)
    thresholds = [float(limit) for limit in rule.agg_dict.values()]
    value = np.zeros(2 * n + 1)
    value[n] = factor * rule.args[0]
    return {
        "left": np.append(np.where(below, inside, outside), leaves),
        "right": np.append(np.where(below, outside, inside), leaves),
        "feature": np.append([names.index(name) for name, _ in conditions], leaves),
        "threshold": np.append(thresholds, np.zeros(n + 1)),
        "missing_left": np.zeros(2 * n + 1, dtype=bool),
        "value": value,
        "cover": np.zeros(2 * n + 1),
    }


def _winsorized(model: Any, X: Any) -> NDArray[np.float64]:
    """Return the columns of the linear terms of a rule ensemble."""
    X = np.asarray(X, dtype=np.float64)
    return (
        model.friedscale.scale(X)
        if (model.include_linear and model.lin_standardise)
        else X
    )


READERS: dict[str, Reader] = {
    "HSTree": wrapper_of("estimator_"),
    "FIGS": TreeReader(read_sum),
    "RuleFit": _of_rules,
}


def _of_conformal(model: Any, method: Any, ask: Ask) -> Form:
    check_method(model, method, ["predict"], "predict")
    ensemble = model._mapie_regressor.estimator_
    members = ensemble.estimators_ or [ensemble.single_estimator_]
    forms = [ask(member, method) for member in members]
    return [
        Part(form.combined(np.eye(form.n_outputs) / len(members))) for form in forms
    ]


MAPIE_READERS: dict[str, Reader] = dict.fromkeys(
    ("SplitConformalRegressor", "CrossConformalRegressor"),
    _of_conformal,
)
