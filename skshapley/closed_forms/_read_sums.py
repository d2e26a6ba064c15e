"""Models that are sums of others, or wrap one: the parts of each kind."""

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import Binarizer

from skshapley.closed_forms._base import ClosedForm
from skshapley.closed_forms._linear import LinearTerms
from skshapley.closed_forms._logistic import Logistic
from skshapley.closed_forms._parts import Part, View
from skshapley.exceptions import UnreadableModelError
from skshapley.rewards._columnwise import MixedColumnsError, sources

Ask = Callable[..., ClosedForm]
Found = list[Part] | ClosedForm

BY_CLASS = ("predict_proba", "decision_function", "log_odds")
ANY = ("predict", *BY_CLASS, "score_samples", "mean_depth")
# Class of scikit-learn -> the attribute that holds what it wraps, and the responses that it passes
WRAPPERS = {
    "FrozenEstimator": ("estimator", ANY),
    "BaseSearchCV": ("best_estimator_", ANY),
    "BaseThresholdClassifier": ("estimator_", BY_CLASS),
    "RANSACRegressor": ("estimator_", ("predict",)),
}
# Transformers of a target whose inverse is affine
AFFINE = {"StandardScaler", "RobustScaler", "MinMaxScaler", "MaxAbsScaler"}


def read_parts(model: Any, method: str, ask: Ask) -> Found | None:
    """Return the parts of a model that is a sum, or what it wraps, read.

    Parameters
    ----------
    model : fitted estimator
    method : str
    ask : callable of (model, method)

    Returns
    -------
    found : list of Part, ClosedForm or None
        None for a model that is neither.
    """
    for kind in type(model).__mro__:
        if kind.__module__.split(".")[0] != "sklearn":
            continue
        if kind.__name__ in WRAPPERS:
            attribute, methods = WRAPPERS[kind.__name__]
            if method not in methods:
                raise _not_a_sum(model, method)
            return ask(getattr(model, attribute), method)
        if kind.__name__ in READERS:
            return READERS[kind.__name__](model, method, ask)
    return None


def _not_a_sum(model: Any, method: str) -> UnreadableModelError:
    return UnreadableModelError(
        f"{type(model).__name__}.{method} is not a sum over its members", "explain it by sampling"
    )


def _member(owner: Any, model: Any, method: str, ask: Ask) -> ClosedForm:
    """Return a member, read; what it could be read as does not help its owner."""
    try:
        return ask(model, method)
    except UnreadableModelError as error:
        reason = f"{error.reason}, a member of {type(owner).__name__}"
        raise UnreadableModelError(reason, "explain it by sampling") from error


def _weighted(forms: list[ClosedForm], weights: Any) -> list[Part]:
    """Return the weighted mean of forms that see all columns."""
    weights = np.ones(len(forms)) if weights is None else np.asarray(weights, dtype=np.float64)
    shares = weights / weights.sum()
    return [
        Part(form.combined(share * np.eye(form.n_outputs)))
        for form, share in zip(forms, shares, strict=True)
    ]


def _of_pipeline(pipeline: Any, method: str, ask: Ask) -> Found:
    transformers = [(name, step) for name, step in pipeline.steps[:-1] if not _passes(step)]
    if not transformers:
        return ask(pipeline.steps[-1][1], method)
    width = pipeline.n_features_in_
    source = np.arange(width)
    for name, step in transformers:
        try:
            source = source[sources(step, len(source))]
        except MixedColumnsError as mixed:
            raise UnreadableModelError(
                f"{mixed} (step {name!r})", "explain it by sampling"
            ) from mixed
    steps = tuple(step for _, step in transformers)
    return [Part(ask(pipeline.steps[-1][1], method), View(source, width, steps))]


def _passes(step: Any) -> bool:
    return step is None or (isinstance(step, str) and step == "passthrough")


def _of_selector(selector: Any, method: str, ask: Ask) -> Found:
    """Return what is read behind a recursive elimination of features."""
    view = View(selector.get_support(indices=True), selector.n_features_in_)
    return [Part(ask(selector.estimator_, method), view)]


def _of_voting(model: Any, method: str, ask: Ask) -> Found:
    soft = getattr(model, "voting", "soft") == "soft"
    if method != ("predict_proba" if hasattr(model, "voting") else "predict") or not soft:
        raise _not_a_sum(model, method)
    weights = model.weights
    if weights is not None:
        pairs = zip(model.estimators, weights, strict=True)
        weights = [weight for (_, given), weight in pairs if not _dropped(given)]
    return _weighted([_member(model, one, method, ask) for one in model.estimators_], weights)


def _dropped(estimator: Any) -> bool:
    return isinstance(estimator, str) and estimator == "drop"


def _of_bagging(model: Any, method: str, ask: Ask) -> Found:
    classify = hasattr(model, "classes_")
    if method not in (("predict_proba", "decision_function") if classify else ("predict",)):
        raise _not_a_sum(model, method)
    parts, share = [], 1 / len(model.estimators_)
    for one, columns in zip(model.estimators_, model.estimators_features_, strict=True):
        form = _member(model, one, method, ask)
        if classify and len(one.classes_) != len(model.classes_):
            raise UnreadableModelError(
                f"A member of {type(model).__name__} saw {len(one.classes_)} of"
                f" {len(model.classes_)} classes",
                "explain it by sampling",
            )
        view = View(np.asarray(columns), model.n_features_in_)
        parts.append(Part(form.combined(share * np.eye(form.n_outputs)), view))
    return parts


def _of_flags(model: Any, method: str, ask: Ask) -> Found:
    """Return a naive Bayes classifier behind the columns of 0 and 1 that it makes."""
    plain, d = copy(model), model.n_features_in_
    plain.binarize = None
    return [Part(ask(plain, method), View(np.arange(d), d, (Binarizer(threshold=model.binarize),)))]


def _of_calibrated(model: Any, method: str, ask: Ask) -> Found:
    """Return the mean of logistic functions of decision values, if those are linear."""
    members = model.calibrated_classifiers_
    if method != "predict_proba" or len(model.classes_) != 2:
        raise _not_a_sum(model, method)
    parts, share = [], 1 / len(members)
    for one in members:
        form, curve = _member(model, one.estimator, "decision_function", ask), one.calibrators[0]
        if not isinstance(form, LinearTerms) or not hasattr(curve, "a_"):
            raise UnreadableModelError(
                f"{type(model).__name__} is not the logistic function of linear decision values",
                "explain it by sampling",
            )
        intercept = -curve.a_ * form.intercept[0] - curve.b_
        ends = [[-share, share]], [share, 0.0]
        parts.append(Part(Logistic(-curve.a_ * form.coef[:, 0], intercept, *ends)))
    return parts


def _of_several(model: Any, method: str, ask: Ask) -> Found:
    """Return one output for each member: several targets, or one class against the rest."""
    if method != ("decision_function" if hasattr(model, "classes_") else "predict"):
        raise _not_a_sum(model, method)
    forms = [_member(model, one, method, ask) for one in model.estimators_]
    if any(form.n_outputs > 1 for form in forms):
        raise _not_a_sum(model, method)
    outputs = np.eye(len(forms))
    return [Part(form.combined(row[None])) for form, row in zip(forms, outputs, strict=True)]


def _of_stacking(model: Any, method: str, ask: Ask) -> Found:
    final = _member(model, model.final_estimator_, method, ask)
    if not isinstance(final, LinearTerms):
        raise UnreadableModelError(
            f"The final estimator of {type(model).__name__},"
            f" {type(model.final_estimator_).__name__}, is not linear",
            "explain it by sampling",
        )
    binary = len(getattr(model, "classes_", ())) == 2
    parts: list[Part] = []
    start = 0
    for one, response in zip(model.estimators_, model.stack_method_, strict=True):
        form = _member(model, one, response, ask)
        first = int(response == "predict_proba" and binary)  # the other class is left out
        n = form.n_outputs - first
        coef = np.zeros((form.n_outputs, final.n_outputs))
        coef[first:] = final.coef[start : start + n]
        parts.append(Part(form.combined(coef, final.intercept if not parts else 0.0)))
        start += n
    if model.passthrough:
        parts.append(Part(LinearTerms(final.coef[start:], np.zeros(final.n_outputs))))
    return parts


def _of_target(model: Any, method: str, ask: Ask) -> Found:
    if method != "predict":
        raise _not_a_sum(model, method)
    form = ask(model.regressor_, method)
    slope, constant = _inverse(model.transformer_, form.n_outputs)
    return form.combined(slope, constant)


def _inverse(transformer: Any, k: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the matrix and the constant of the inverse of an affine transformer of targets."""
    name = type(transformer).__name__
    none = name == "FunctionTransformer" and transformer.inverse_func is None
    affine = none or (name in AFFINE and not getattr(transformer, "clip", False))
    if not affine or not type(transformer).__module__.startswith("sklearn."):
        raise UnreadableModelError(
            f"The target is transformed by {name}, whose inverse is not known to be affine",
            "explain it by sampling",
        )
    constant = transformer.inverse_transform(np.zeros((1, k)))
    return transformer.inverse_transform(np.eye(k)) - constant, constant[0]


READERS: dict[str, Callable[[Any, str, Ask], Found]] = {
    "Pipeline": _of_pipeline,
    "RFE": _of_selector,
    "VotingRegressor": _of_voting,
    "VotingClassifier": _of_voting,
    "BaggingRegressor": _of_bagging,
    "BaggingClassifier": _of_bagging,
    "BernoulliNB": _of_flags,
    "CalibratedClassifierCV": _of_calibrated,
    "MultiOutputRegressor": _of_several,
    "OneVsRestClassifier": _of_several,
    "StackingRegressor": _of_stacking,
    "StackingClassifier": _of_stacking,
    "TransformedTargetRegressor": _of_target,
}
