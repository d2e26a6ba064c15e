"""Readers of scikit-learn's linear models and of naive Bayes, from their public attributes."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import Binarizer
from sklearn.utils.extmath import softmax

from skshapley._tables import in_model_columns
from skshapley.closed_forms import (
    ClosedForm,
    Curve,
    Exponential,
    LinearTerms,
    Logistic,
    Part,
    part_by,
)
from skshapley.readers._base import Ask, Form, Reader, check_method

REGRESSORS = (
    *(
        "LinearRegression",
        "Ridge",
        "RidgeCV",
        "Lasso",
        "LassoCV",
        "ElasticNet",
        "ElasticNetCV",
    ),
    *("Lars", "LarsCV", "LassoLars", "LassoLarsCV", "LassoLarsIC", "MultiTaskLasso"),
    *("MultiTaskLassoCV", "MultiTaskElasticNet", "MultiTaskElasticNetCV"),
    *("OrthogonalMatchingPursuit", "OrthogonalMatchingPursuitCV", "BayesianRidge"),
    *("ARDRegression", "HuberRegressor", "TheilSenRegressor", "QuantileRegressor"),
    *("SGDRegressor", "PassiveAggressiveRegressor", "LinearSVR"),
)
# Models with the intercept of centred columns
CENTRED = ("PLSRegression", "PLSCanonical", "CCA")
# The logit of the probability of two classes is the decision value
LOGISTIC = ("LogisticRegression", "LogisticRegressionCV", "LinearDiscriminantAnalysis")
CLASSIFIERS = (
    *(
        "RidgeClassifier",
        "RidgeClassifierCV",
        "LinearSVC",
        "SGDClassifier",
        "Perceptron",
    ),
    "PassiveAggressiveClassifier",
)


def affine(model: Any) -> LinearTerms:
    """Return the linear terms of ``coef_`` ``(k, d)`` and ``intercept_``, for one output or k."""
    coef = coefficients(model)
    return LinearTerms(
        coef,
        np.full(coef.shape[1], model.intercept_, dtype=np.float64),
    )


def coefficients(model: Any) -> NDArray[np.float64]:
    """Return ``coef_`` as ``(d, k)``."""
    coef = (
        model.coef_.toarray()
        if sparse.issparse(model.coef_)
        else np.asarray(model.coef_)
    )
    return np.atleast_2d(coef).T


def probability(terms: LinearTerms, share: float = 1.0) -> Logistic:
    """Return a share of the probabilities of two classes, from the log-odds of the second one."""
    return Logistic(
        terms.coef[:, 0],
        terms.intercept[0],
        [[-share, share]],
        [share, 0.0],
    )


def shares_of(scores: ClosedForm) -> Curve:
    """Return the softmax of the scores of several classes."""
    return Curve(scores, softmax, np.eye(scores.n_outputs))


def affine_map(
    owner: Any,
    function: Callable[[Any], Any],
    width: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the matrix and the shift of an affine function of the columns of its owner."""
    # They are known from its values at the origin and on the axes.
    ends = np.concatenate([np.zeros((1, width)), np.eye(width)])
    values = np.asarray(function(in_model_columns(owner, ends)))
    values = values.reshape(width + 1, -1)
    return values[1:] - values[0], values[0]


def line_of(model: Any, method: Any, ask: Ask) -> LinearTerms:
    """Return a linear prediction, from its values at the origin and on the axes."""
    check_method(model, method, ["predict"], "predict")
    # Public attributes differ between these models.
    return LinearTerms(*affine_map(model, model.predict, model.n_features_in_))


def _of_regressor(model: Any, method: str, ask: Ask) -> Form:
    check_method(model, method, ["predict"], "predict")
    return affine(model)


def _of_classifier(model: Any, method: str, ask: Ask) -> Form:
    two = len(model.classes_) == 2
    log_loss = getattr(model, "loss", "log_loss") == "log_loss"
    odds = two and log_loss and hasattr(model, "predict_proba")
    # before scikit-learn 1.8, LogisticRegression had other probabilities, by
    # multi_class and solver
    multinomial = getattr(model, "multi_class", "auto") in ("auto", "deprecated")
    if method == "predict_proba" and multinomial:
        if odds:
            return probability(affine(model))
        if not two and type(model).__name__ in LOGISTIC:
            return shares_of(affine(model))
    readable = ["decision_function", "log_odds"] if odds else ["decision_function"]
    check_method(model, method, readable, readable[-1])
    return affine(model)


def _of_glm(model: Any, method: str, ask: Ask) -> Form:
    # TweedieRegressor's link "auto" is the identity for normal targets only
    link = getattr(model, "link", "log")
    identity = link == "identity" or (link == "auto" and model.power <= 0)
    readable = ["predict"] if identity else ["predict", "log"]
    check_method(model, method, readable, readable[-1])
    return (
        affine(model)
        if identity or method == "log"
        else Exponential(model.coef_, model.intercept_)
    )


def _posterior(model: Any, method: str, scores: LinearTerms) -> ClosedForm:
    """Return the probabilities of classes from their log-probabilities, or the log-odds of two."""
    two = len(model.classes_) == 2
    check_method(
        model,
        method,
        ["log_odds", "predict_proba"] if two else ["predict_proba"],
        "log_odds" if two else None,
    )
    if not two:
        return shares_of(scores)
    odds = scores.combined([[-1.0], [1.0]])
    return odds if method == "log_odds" else probability(odds)


def _of_bayes(model: Any, method: str, ask: Ask) -> Form:
    """Return naive Bayes of counts or flags: its log-odds are linear.

    If the model converts its columns to flags, so does the view of the part.
    """
    logs = model.feature_log_prob_
    prior = np.asarray(model.class_log_prior_, dtype=np.float64)
    # ComplementNB ignores the prior with two or more classes.
    if type(model).__name__ == "ComplementNB":
        prior = np.zeros(len(prior))
    if hasattr(model, "binarize"):
        absent = np.log1p(-np.exp(logs))
        # log p(x) = x log q + (1 - x) log(1 - q) is linear in the flag x.
        logs = logs - absent
        prior = prior + absent.sum(axis=1)
    form = _posterior(model, method, LinearTerms(logs.T, prior))
    threshold = getattr(model, "binarize", None)
    if threshold is None:
        return form
    d = model.n_features_in_
    return [Part(form, np.arange(d), d, (Binarizer(threshold=threshold),))]


def _squares(centre: NDArray[np.float64], X: Any) -> NDArray[np.float64]:
    """Return the columns of a table minus their centre, and their squares."""
    away = np.asarray(X, dtype=np.float64) - centre
    return np.column_stack([away, away**2])


def _of_normal_bayes(model: Any, method: str, ask: Ask) -> Form:
    """Return naive Bayes of normal columns: its log-odds are linear in columns and squares."""
    variance = model.var_
    d = model.n_features_in_
    # Squares of columns far from 0 would cancel; squares of distances from the centre
    # do not.
    centre = model.theta_.mean(axis=0)
    away = model.theta_ - centre
    exponents = np.log(variance) + away**2 / variance
    logs = np.log(model.class_prior_) - 0.5 * exponents.sum(axis=1)
    form = _posterior(
        model,
        method,
        LinearTerms(np.concatenate([away / variance, -0.5 / variance], axis=1).T, logs),
    )
    return [part_by(form, _squares, np.tile(np.arange(d), 2), d, centre)]


READERS: dict[str, Reader] = {
    **dict.fromkeys(REGRESSORS, _of_regressor),
    **dict.fromkeys(CENTRED, line_of),
    **dict.fromkeys(LOGISTIC + CLASSIFIERS, _of_classifier),
    **dict.fromkeys(
        ("PoissonRegressor", "GammaRegressor", "TweedieRegressor"),
        _of_glm,
    ),
    **dict.fromkeys(("MultinomialNB", "ComplementNB", "BernoulliNB"), _of_bayes),
    "GaussianNB": _of_normal_bayes,
}
