"""Readers of scikit-learn's models that are sums or wrappers of others."""

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from skshapley._tables._columnwise import (
    MixedColumnsError,
    chosen_columns,
    passes,
    sources,
    take_columns,
)
from skshapley._tables._model_columns import in_model_columns
from skshapley.closed_forms._base import ClosedForm
from skshapley.closed_forms._curves import Curve, Exponential, LinearCurve
from skshapley.closed_forms._linear import LinearTerms, Monomials
from skshapley.closed_forms._sums import Part, Sum, View
from skshapley.exceptions import UnreadableModelError
from skshapley.readers._base import Ask, Form, Reader, check_method
from skshapley.readers._sklearn_linear import probability

# Transformers with an affine inverse
AFFINE = {"StandardScaler", "RobustScaler", "MinMaxScaler", "MaxAbsScaler"}
# Transformers with a linear map of their columns as output
LINEAR_MAPS = AFFINE | {
    *("PCA", "IncrementalPCA", "TruncatedSVD", "FactorAnalysis", "FastICA"),
    *("LinearDiscriminantAnalysis", "GaussianRandomProjection"),
    "SparseRandomProjection",
}
# Inverse transformations of a target from linear to exponential -> the constant
EXPONENTIALS = {np.exp: 0.0, np.expm1: -1.0}
MOST_DEGREE = (
    4  # largest degree of polynomial features; above it, coefficients lose digits
)


def _member(owner: Any, model: Any, method: str, ask: Ask) -> ClosedForm:
    """Return the closed form of a member, without suggestions of other responses."""
    try:
        return ask(model, method)
    except UnreadableModelError as error:
        reason = f"{error.reason}, a member of {type(owner).__name__}"
        raise UnreadableModelError(reason) from error


def _bent(
    form: ClosedForm, curve: Callable[[LinearTerms], ClosedForm]
) -> ClosedForm | None:
    """Return a curve of linear terms, possibly on columns of a pipeline; else None."""
    if isinstance(form, LinearTerms):
        return curve(form)
    if isinstance(form, Sum) and len(form.parts) == 1:
        (part,) = form.parts
        if isinstance(part.form, LinearTerms):
            return Sum([Part(curve(part.form), part.view)])
    return None


def of_pipeline(pipeline: Any, method: str, ask: Ask) -> Form:
    """Return the last step, on the columns made by the other steps."""
    final = pipeline.steps[-1][1]
    transformers = [
        (name, step) for name, step in pipeline.steps[:-1] if not passes(step)
    ]
    if not transformers:
        return ask(final, method)
    width = getattr(pipeline, "n_features_in_", None)
    if width is None:  # the first step belongs to another library
        raise UnreadableModelError(
            f"{type(transformers[0][1]).__name__} has no n_features_in_"
        )
    return _behind(transformers, ask(final, method), width)


def _behind(steps: list[tuple[str, Any]], last: ClosedForm, width: int) -> list[Part]:
    """Return a form on the columns that some steps make."""
    source, linear = np.arange(width), isinstance(last, LinearTerms)
    for place, (name, step) in enumerate(steps):
        if type(step).__name__ == "PolynomialFeatures":
            last, steps = _of_powers(step, _scaled(steps[place:], last)), steps[:place]
            break
        try:
            source = source[sources(step, len(source))]
        except MixedColumnsError as mixed:
            maps = [later for _, later in steps[place:]]
            if isinstance(last, LinearTerms | LinearCurve) and all(
                map(_is_linear_map, maps)
            ):
                last, steps = _mapped(maps, last, len(source)), steps[:place]
                break
            if not place and type(step).__name__ == "ColumnTransformer" and linear:
                return _of_columns(step, _scaled(steps, last))
            raise UnreadableModelError(f"{mixed} (step {name!r})") from mixed
    return [Part(last, View(source, width, tuple(step for _, step in steps)))]


def _is_linear_map(transformer: Any) -> bool:
    """Return whether a transformer of scikit-learn is affine in its columns together."""
    kind = type(transformer)
    clips = getattr(transformer, "clip", False)
    own = kind.__module__.startswith("sklearn.")
    return own and kind.__name__ in LINEAR_MAPS and not clips


def _mapped(steps: list[Any], form: Any, width: int) -> ClosedForm:
    """Return linear terms, or their curve, of the columns before some linear maps."""
    # An affine map is known from its values at the origin and on the axes.
    ends = np.concatenate([np.zeros((1, width)), np.eye(width)])
    ends = in_model_columns(steps[0], ends)
    for step in steps:
        ends = step.transform(ends)
    ends = np.asarray(ends)
    return form.of_columns(ends[1:] - ends[0], ends[0])


def _scaled(steps: list[tuple[str, Any]], form: ClosedForm) -> LinearTerms:
    """Return linear terms behind scalers as linear terms of the columns of the first step."""
    (_, first), *scalers = steps
    if not isinstance(form, LinearTerms) or not all(
        _is_affine(step) for _, step in scalers
    ):
        name = type(first).__name__
        raise UnreadableModelError(
            f"{name} can be read only before scalers and a linear model"
        )
    # Two points fix an affine function of each column: the shift at 0 and the slope up
    # to 1.
    ends = np.stack([np.zeros(len(form.coef)), np.ones(len(form.coef))])
    for _, step in scalers:
        ends = step.transform(ends)
    slope = ends[1] - ends[0]
    return LinearTerms(slope[:, None] * form.coef, form.intercept + ends[0] @ form.coef)


def _is_affine(transformer: Any) -> bool:
    """Return whether a transformer, and its inverse, is affine in each column."""
    return type(transformer).__name__ in AFFINE and not getattr(
        transformer, "clip", False
    )


def _of_powers(powers: Any, form: LinearTerms) -> Monomials:
    """Return linear terms of polynomial features as a sum of monomials."""
    if powers.powers_.max() > MOST_DEGREE:
        raise UnreadableModelError(
            f"Polynomial features are read up to degree {MOST_DEGREE}"
        )
    return Monomials(powers.powers_, form.coef, form.intercept)


def _of_columns(transformer: Any, form: LinearTerms) -> list[Part]:
    """Return linear terms of the columns of a ColumnTransformer, one transformer at a time."""
    d, parts = transformer.n_features_in_, []
    intercept = form.intercept
    for name, one, columns in transformer.transformers_:
        coef = form.coef[transformer.output_indices_[name]]
        if not len(coef):
            continue
        chosen = chosen_columns(transformer, columns)
        steps = one.steps if isinstance(one, Pipeline) else [(name, one)]
        steps = [(name, step) for name, step in steps if not passes(step)]
        select = FunctionTransformer(partial(take_columns, columns))
        for part in _behind(steps, LinearTerms(coef, intercept), len(chosen)):
            view: Any = part.view
            parts.append(
                Part(part.form, View(chosen[view.source], d, (select, *view.steps)))
            )
        # Only the first part carries the intercept; the sum must count it once.
        intercept = np.zeros(form.n_outputs)
    return parts


def _of_selector(selector: Any, method: str, ask: Ask) -> Form:
    """Return the model behind a recursive elimination of features."""
    view = View(selector.get_support(indices=True), selector.n_features_in_)
    return [Part(ask(selector.estimator_, method), view)]


def _of_voting(model: Any, method: str, ask: Ask) -> Form:
    readable = {"soft": ["predict_proba"], "hard": []}
    check_method(
        model,
        method,
        readable[model.voting] if hasattr(model, "voting") else ["predict"],
    )
    weights = np.ones(len(model.estimators)) if model.weights is None else model.weights
    kept = [
        weight
        for (_, given), weight in zip(model.estimators, weights, strict=True)
        if not (isinstance(given, str) and given == "drop")
    ]
    forms = [_member(model, one, method, ask) for one in model.estimators_]
    return [
        Part(form.combined(weight / sum(kept) * np.eye(form.n_outputs)))
        for form, weight in zip(forms, kept, strict=True)
    ]


def _of_bagging(model: Any, method: str, ask: Ask) -> Form:
    classify = hasattr(model, "classes_")
    check_method(
        model,
        method,
        ["predict_proba", "decision_function"] if classify else ["predict"],
    )
    parts, share = [], 1 / len(model.estimators_)
    for one, columns in zip(model.estimators_, model.estimators_features_, strict=True):
        form = _member(model, one, method, ask)
        # Columns of probabilities would otherwise belong to different classes.
        if classify and len(one.classes_) != len(model.classes_):
            raise UnreadableModelError(
                f"A member of {type(model).__name__} saw {len(one.classes_)} of"
                f" {len(model.classes_)} classes"
            )
        view = View(np.asarray(columns), model.n_features_in_)
        parts.append(Part(form.combined(share * np.eye(form.n_outputs)), view))
    return parts


class _Scores(ClassifierMixin, BaseEstimator):
    """A classifier of decision values, which are its columns."""

    def __init__(self, classes_: Any) -> None:
        self.classes_ = classes_

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the columns, or the only one."""
        return X[:, 0] if X.shape[1] == 1 else X


def _of_calibrated(model: Any, method: str, ask: Ask) -> Form:
    """Return the mean of calibrated classifiers, curves of sums of decision values."""
    members = model.calibrated_classifiers_
    check_method(model, method, ["predict_proba"])
    parts, share = [], 1 / len(members)
    for one in members:
        scores = _member(model, one.estimator, "decision_function", ask)
        curve, form = one.calibrators[0], None
        if len(model.classes_) == 2 and hasattr(curve, "a_"):
            odds = scores.combined([[-curve.a_]], [-curve.b_])
            form = _bent(odds, partial(probability, share=share))
        if form is None and scores.additive:
            plain = copy(one)
            plain.estimator = _Scores(one.estimator.classes_)
            form = Curve(
                scores, plain.predict_proba, share * np.eye(len(model.classes_))
            )
        if form is None:
            raise UnreadableModelError(
                f"{type(model).__name__} calibrates decision values with interactions"
            )
        parts.append(Part(form))
    return parts


def _of_several(model: Any, method: str, ask: Ask) -> Form:
    """Return one output for each member: several targets, or one class against the rest."""
    if (
        method == "predict_proba"
        and hasattr(model, "classes_")
        and len(model.classes_) > 2
    ):
        odds = Sum(
            _side_by_side(
                [_member(model, one, "log_odds", ask) for one in model.estimators_]
            )
        )
        check_method(
            model, method, [method] if odds.additive and not model.multilabel_ else []
        )
        return Curve(odds, _shares, np.eye(odds.n_outputs))
    forms = [_member(model, one, method, ask) for one in model.estimators_]
    readable = ["decision_function"] if hasattr(model, "classes_") else ["predict"]
    check_method(
        model, method, readable if all(form.n_outputs == 1 for form in forms) else []
    )
    return _side_by_side(forms)


def _shares(odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probabilities of classes, each against the rest, divided by their sum."""
    single = expit(odds)
    return single / single.sum(axis=1, keepdims=True)


def _of_targets(model: Any, method: str, ask: Ask) -> Form:
    """Return the classes of each target in turn; of two classes, the second."""
    check_method(model, method, ["predict_proba", "log_odds"])
    forms = [_member(model, one, method, ask) for one in model.estimators_]
    return _side_by_side(
        [
            form.combined([[0.0], [1.0]]) if form.n_outputs == 2 else form
            for form in forms
        ]
    )


def _side_by_side(forms: list[ClosedForm]) -> list[Part]:
    """Return several forms as the outputs of one form."""
    ends = np.cumsum([0, *(form.n_outputs for form in forms)])
    outputs = np.eye(ends[-1])
    return [
        Part(form.combined(outputs[start : start + form.n_outputs]))
        for form, start in zip(forms, ends, strict=False)
    ]


def _of_chain(model: Any, method: str, ask: Ask) -> Form:
    """Return a chain of linear models; each sees the responses of the earlier ones."""
    classify = hasattr(model, "classes_")
    response = "decision_function" if classify else "predict"
    chained = not classify or model.chain_method_ == response
    check_method(model, method, [response] if chained else [])
    first = model.estimators_[0]
    d = first.n_features_in_
    coef, intercept = np.zeros((d, 0)), np.zeros(0)
    for one in model.estimators_:
        form = _member(model, one, response, ask)
        if not isinstance(form, LinearTerms):
            raise UnreadableModelError(
                f"{type(model).__name__} chains models that are not linear"
            )
        # Later models are linear in earlier ones, so substitution makes them linear in
        # the columns.
        own, before = form.coef[:d], form.coef[d:]
        intercept = np.append(intercept, form.intercept + intercept @ before)
        coef = np.column_stack([coef, own + coef @ before])
    # The chain's order is inverted, as scikit-learn does for its predictions.
    order = np.argsort(model.order_)
    return LinearTerms(coef[:, order], intercept[order])


def _of_stacking(model: Any, method: str, ask: Ask) -> Form:
    final = _member(model, model.final_estimator_, method, ask)
    if not isinstance(final, LinearTerms):
        raise UnreadableModelError(
            f"The final estimator of {type(model).__name__}, "
            f"{type(model.final_estimator_).__name__}, is not linear"
        )
    binary = len(getattr(model, "classes_", ())) == 2
    parts: list[Part] = []
    start = 0
    for one, response in zip(model.estimators_, model.stack_method_, strict=True):
        form = _member(model, one, response, ask)
        first = int(
            response == "predict_proba" and binary
        )  # the other class is left out
        n = form.n_outputs - first
        # Stacking drops the first of two probabilities: its coefficient is zero.
        coef = np.zeros((form.n_outputs, final.n_outputs))
        coef[first:] = final.coef[start : start + n]
        parts.append(Part(form.combined(coef, final.intercept if not parts else 0.0)))
        start += n
    if model.passthrough:
        parts.append(Part(LinearTerms(final.coef[start:], np.zeros(final.n_outputs))))
    return parts


def _of_target(model: Any, method: str, ask: Ask) -> Form:
    check_method(model, method, ["predict"])
    form, transformer = ask(model.regressor_, method), model.transformer_
    function = getattr(transformer, "inverse_func", None)
    if (
        isinstance(function, np.ufunc)
        and function in EXPONENTIALS
        and form.n_outputs == 1
    ):
        constant = [EXPONENTIALS[function]]
        bent = _bent(
            form,
            lambda line: Exponential(
                line.coef[:, 0], line.intercept[0], constant=constant
            ),
        )
        if bent is not None:
            return bent
    slope, shift = _inverse(transformer, form.n_outputs)
    return form.combined(slope, shift)


def _inverse(
    transformer: Any, k: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the matrix and the constant of the inverse of an affine transformer of targets."""
    name = type(transformer).__name__
    none = name == "FunctionTransformer" and transformer.inverse_func is None
    if not (none or _is_affine(transformer)) or not type(
        transformer
    ).__module__.startswith("sklearn."):
        raise UnreadableModelError(
            f"The target is transformed by {name}, and its inverse may not be affine"
        )
    # An affine map is known from its values at the origin and on the axes.
    constant = transformer.inverse_transform(np.zeros((1, k)))
    return transformer.inverse_transform(np.eye(k)) - constant, constant[0]


def wrapper_of(attribute: str) -> Reader:
    """Return the reader of a wrapper, by the attribute with the wrapped model."""
    return lambda model, method, ask: ask(getattr(model, attribute), method)


READERS: dict[str, Reader] = {
    "FrozenEstimator": wrapper_of("estimator"),
    "BaseSearchCV": wrapper_of("best_estimator_"),
    "BaseThresholdClassifier": wrapper_of("estimator_"),
    "RANSACRegressor": wrapper_of("estimator_"),
    "Pipeline": of_pipeline,
    "RFE": _of_selector,
    "VotingRegressor": _of_voting,
    "VotingClassifier": _of_voting,
    "BaggingRegressor": _of_bagging,
    "BaggingClassifier": _of_bagging,
    "CalibratedClassifierCV": _of_calibrated,
    "MultiOutputRegressor": _of_several,
    "MultiOutputClassifier": _of_targets,
    "OneVsRestClassifier": _of_several,
    "RegressorChain": _of_chain,
    "ClassifierChain": _of_chain,
    "StackingRegressor": _of_stacking,
    "StackingClassifier": _of_stacking,
    "TransformedTargetRegressor": _of_target,
}
