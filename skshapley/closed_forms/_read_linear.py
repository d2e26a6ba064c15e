"""The coefficients of scikit-learn's linear models, from their public attributes.

Classes are compared by name, which loads none of them; a class that is derived from one of these is
read the same way. What was read is compared with the model's own responses before it serves.
"""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from skshapley.exceptions import UnreadableModelError

REGRESSORS = {
    *("LinearRegression", "Ridge", "RidgeCV", "Lasso", "LassoCV", "ElasticNet", "ElasticNetCV"),
    *("Lars", "LarsCV", "LassoLars", "LassoLarsCV", "LassoLarsIC", "MultiTaskLasso"),
    *("MultiTaskLassoCV", "MultiTaskElasticNet", "MultiTaskElasticNetCV"),
    *("OrthogonalMatchingPursuit", "OrthogonalMatchingPursuitCV", "BayesianRidge"),
    *("ARDRegression", "HuberRegressor", "TheilSenRegressor", "QuantileRegressor"),
    *("SGDRegressor", "PassiveAggressiveRegressor", "LinearSVR"),
}
# Those whose intercept is that of centred columns
CENTRED = {"PLSRegression", "PLSCanonical", "CCA"}
CLASSIFIERS = {
    *("LogisticRegression", "LogisticRegressionCV", "LinearDiscriminantAnalysis"),
    *("RidgeClassifier", "RidgeClassifierCV", "LinearSVC", "SGDClassifier", "Perceptron"),
    "PassiveAggressiveClassifier",
}
# Those of which the logit of the probability of two classes is the decision value
LOGISTIC = {"LogisticRegression", "LogisticRegressionCV", "LinearDiscriminantAnalysis"}
# Those of which it is the difference of two sums over the columns
BAYES = {"MultinomialNB", "ComplementNB", "BernoulliNB"}
MACHINES = {"SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"}
DETECTORS = {"SGDOneClassSVM"}

Coefficients = tuple[NDArray[np.float64], NDArray[np.float64]]


def kinds(model: Any) -> set[str]:
    """Return the names of the classes of scikit-learn from which a model is derived."""
    return {
        kind.__name__ for kind in type(model).__mro__ if kind.__module__.split(".")[0] == "sklearn"
    }


def not_linear(model: Any, method: str, instead: str | None = None) -> UnreadableModelError:
    """Return the error for a response of a linear model that is not linear."""
    hint = "explain it by sampling" if instead is None else f"choose response_method={instead!r}"
    return UnreadableModelError(f"{type(model).__name__}.{method} is not linear", hint, instead)


def read_coefficients(model: Any, method: str) -> Coefficients | None:
    """Return the coefficients ``(d, k)`` and the intercept ``(k,)`` of a response.

    Parameters
    ----------
    model : fitted estimator
    method : str

    Returns
    -------
    found : tuple or None
        None for a model that has none.

    Raises
    ------
    UnreadableModelError
        For a response of a linear model that is not linear.
    """
    names = kinds(model)
    if names & REGRESSORS:
        if method != "predict":
            raise not_linear(model, method, "predict")
        return _affine(model)
    if names & CENTRED and method == "predict":
        return np.asarray(model.coef_).T, _at_zero(model)
    if names & CLASSIFIERS:
        return _of_classifier(model, method, names)
    if names & BAYES:
        return _of_bayes(model, method, names)
    if names & DETECTORS:
        return _of_detector(model, method)
    if names & MACHINES and model.kernel == "linear":
        return _of_machine(model, method)
    if "KernelRidge" in names and model.kernel == "linear" and method == "predict":
        dual = np.asarray(model.dual_coef_).reshape(model.X_fit_.shape[0], -1)
        return np.asarray(model.X_fit_.T @ dual), np.zeros(dual.shape[1])
    return None


def _affine(model: Any) -> Coefficients:
    """Return what a model has as ``coef_`` ``(k, d)`` and ``intercept_``, for one output or k."""
    coef = model.coef_.toarray() if sparse.issparse(model.coef_) else np.asarray(model.coef_)
    coef = np.atleast_2d(coef).T
    return coef, np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), coef.shape[1])


def _at_zero(model: Any) -> NDArray[np.float64]:
    """Return the prediction for a row of zeros, ``(k,)``."""
    names, zeros = getattr(model, "feature_names_in_", None), np.zeros((1, model.n_features_in_))
    said = model.predict(zeros if names is None else pd.DataFrame(zeros, columns=names))
    return np.reshape(said, -1)


def has_logistic_odds(model: Any) -> bool:
    """Return whether the log-odds of a model of two classes are linear."""
    names = kinds(model)
    if names & BAYES:
        return getattr(model, "binarize", None) is None
    return bool(names & LOGISTIC or ("SGDClassifier" in names and model.loss == "log_loss"))


def _of_classifier(model: Any, method: str, names: set[str]) -> Coefficients:
    odds = has_logistic_odds(model) and len(model.classes_) == 2
    if method == "decision_function" or (method == "log_odds" and odds):
        return _affine(model)
    raise not_linear(model, method, "log_odds" if odds else "decision_function")


def _of_bayes(model: Any, method: str, names: set[str]) -> Coefficients | None:
    """Return the coefficients of the log-odds of a naive Bayes classifier."""
    if not has_logistic_odds(model):  # of columns that it makes
        return None
    if method != "log_odds" or len(model.classes_) != 2:
        raise not_linear(model, method, "log_odds" if len(model.classes_) == 2 else None)
    logs, prior = model.feature_log_prob_, np.asarray(model.class_log_prior_, dtype=np.float64)
    if "ComplementNB" in names:
        prior = np.zeros(2)
    if "BernoulliNB" in names:
        absent = np.log1p(-np.exp(logs))
        logs, prior = logs - absent, prior + absent.sum(axis=1)
    return (logs[1] - logs[0])[:, None], prior[1:] - prior[:1]


def _of_detector(model: Any, method: str) -> Coefficients:
    coef, offset = _affine_of_machine(model), np.asarray(model.offset_, dtype=np.float64)
    if method == "decision_function":
        return coef, -np.broadcast_to(offset, coef.shape[1])
    if method == "score_samples":
        return coef, np.zeros(coef.shape[1])
    raise not_linear(model, method, "score_samples")


def _of_machine(model: Any, method: str) -> Coefficients:
    """Return the coefficients of a support vector machine with the linear kernel."""
    coef = _affine_of_machine(model)
    intercept = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), coef.shape[1])
    if method == responses_of_machine(model):
        return coef, intercept
    if method == "score_samples" and hasattr(model, "score_samples"):
        return coef, intercept + model.offset_
    raise not_linear(model, method, responses_of_machine(model))


def _affine_of_machine(model: Any) -> NDArray[np.float64]:
    coef = model.coef_.toarray() if sparse.issparse(model.coef_) else np.asarray(model.coef_)
    return np.atleast_2d(coef).T


def responses_of_machine(model: Any) -> str | None:
    """Return the response of a support vector machine that is a sum over its support vectors.

    With more than two classes there is none but the votes of pairs of classes.
    """
    if not hasattr(model, "decision_function"):
        return "predict"
    pairs = getattr(model, "decision_function_shape", None) == "ovo"
    several = len(getattr(model, "classes_", [])) > 2
    return "decision_function" if pairs or not several else None
