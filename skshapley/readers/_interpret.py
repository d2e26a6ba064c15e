"""Readers of explainable boosting machines and linear models, from `interpret`."""

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skshapley._tables import is_frame
from skshapley.closed_forms import (
    ClosedForm,
    Exponential,
    LinearTerms,
    Tables,
    part_by,
)
from skshapley.exceptions import UnreadableModelError
from skshapley.readers._base import Ask, Form, Reader, check_method
from skshapley.readers._sklearn_linear import probability, shares_of
from skshapley.readers._sklearn_sums import wrapper_of

# (link, response) -> the curve of a sum of terms of one feature each
CURVES: dict[tuple[str, str], Callable[[Any, float], ClosedForm]] = {
    ("logit", "predict_proba"): lambda coef, constant: probability(
        LinearTerms(coef[:, None], [constant])
    ),
    ("log", "predict"): Exponential,
}
# Links for which the prediction, its logarithm or the log-odds is the sum of tables
LINKS = ("identity", "log", "logit", "mlogit")


def _coding(machine: Any, keys: Any) -> list[Any]:
    """Return machines that look up bins, as the scores of terms that are their own numbers.

    Parameters
    ----------
    machine : ExplainableBoostingModel
    keys : sequence of (int, int)
        For each column of codes, which of a feature's binnings, and the feature;
        sorted.
    """
    machines = []
    for size in sorted({size for size, _ in keys}):
        part = copy(machine)
        part.intercept_ = 0.0
        part.bins_ = [[levels[min(size, len(levels) - 1)]] for levels in machine.bins_]
        part.term_features_ = [(feature,) for of, feature in keys if of == size]
        of_terms = (part.bins_[feature][0] for (feature,) in part.term_features_)
        # Missing and unseen values have scores, too.
        sizes = (len(bins) + (2 if isinstance(bins, dict) else 3) for bins in of_terms)
        part.term_scores_ = [np.arange(scores, dtype=float) for scores in sizes]
        machines.append(part)
    return machines


def _codes(machines: list[Any], X: Any) -> NDArray[np.float64]:
    """Return the bins of a table, a column for each feature and size, ``(n, D)``."""
    return np.column_stack([_terms(machine, X) for machine in machines])


def _terms(machine: Any, X: Any) -> NDArray[np.float64]:
    return machine.eval_terms(
        X
        if is_frame(X)
        else pd.DataFrame(np.asarray(X), columns=list(machine.feature_names_in_))
    )


def read_machine(model: Any, method: str, ask: Ask) -> Form:
    """Return the sum of a machine's tables: its prediction, or the log-odds of two classes."""
    n_classes = len(getattr(model, "classes_", ()))
    several = n_classes > 2
    scale = "decision_function"  # the response that is a sum of tables
    if not several:
        scale = (
            "log_odds" if n_classes else ("log" if model.link_ == "log" else "predict")
        )
    width = max(map(len, model.term_features_))
    if width > 2:
        raise UnreadableModelError(
            f"{type(model).__name__} has terms of three features"
        )
    if several and method == "predict_proba":
        scores = ask(model, scale)
        check_method(model, method, [method] if scores.additive else [], scale)
        return shares_of(scores)
    curve = None if several else CURVES.get((model.link_, method))
    if curve is not None and width == 1:
        source = [feature for (feature,) in model.term_features_]
        intercept = float(np.ravel(model.intercept_)[0])
        return [
            part_by(
                curve(np.ones(len(source)), intercept),
                _terms,
                source,
                len(model.bins_),
                model,
            ),
        ]
    check_method(
        model,
        method,
        [scale, "decision_function"] if model.link_ in LINKS else [],
        scale,
    )
    terms = [
        [
            (min(len(features), len(model.bins_[feature])) - 1, feature)
            for feature in features
        ]
        for features in model.term_features_
    ]
    keys = sorted({key for term in terms for key in term})
    tables = [
        ([keys.index(key) for key in term], scores if several else scores[..., None])
        for term, scores in zip(terms, model.term_scores_, strict=True)
    ]
    return [
        part_by(
            Tables(tables, np.reshape(model.intercept_, -1)),
            _codes,
            [feature for _, feature in keys],
            len(model.bins_),
            _coding(model, keys),
        ),
    ]


READERS: dict[str, Reader] = {
    "ExplainableBoostingRegressor": read_machine,
    "ExplainableBoostingClassifier": read_machine,
    **dict.fromkeys(
        (
            "LinearRegression",
            "LogisticRegression",
            "RegressionTree",
            "ClassificationTree",
        ),
        wrapper_of("sk_model_"),
    ),
}
