"""Readers of scikit-learn's models that are sums or wrappers of others."""

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skshapley._tables import (
    MixedColumnsError,
    chosen_columns,
    passes,
    sources,
    take_columns,
)
from skshapley.closed_forms import (
    ClosedForm,
    Curve,
    Exponential,
    LinearTerms,
    Logistic,
    Monomials,
    Part,
    Sum,
)
from skshapley.exceptions import UnreadableModelError
from skshapley.readers._base import Ask, Form, Reader, check_method
from skshapley.readers._sklearn_linear import affine_map, probability

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
# Largest degree of polynomial features; above it, coefficients lose digits
MOST_DEGREE = 4


def _member(owner: Any, model: Any, method: str, ask: Ask) -> ClosedForm:
    """Return the closed form of a member, without suggestions of other responses."""
    try:
        return ask(model, method)
    except UnreadableModelError as error:
        reason = f"{error.reason}, a member of {type(owner).__name__}"
        raise UnreadableModelError(reason) from error


def _members(model: Any, method: str, ask: Ask) -> list[ClosedForm]:
    """Return the closed forms of all members."""
    return [_member(model, member, method, ask) for member in model.estimators_]


def _curve_of(
    form: ClosedForm,
    curve: Callable[[LinearTerms], ClosedForm],
) -> ClosedForm | None:
    """Return a curve of linear terms, possibly on columns of a pipeline; else None."""
    if isinstance(form, LinearTerms):
        return curve(form)
    if isinstance(form, Sum) and len(form.parts) == 1:
        part = form.parts[0]
        if isinstance(part.form, LinearTerms):
            return Sum([replace(part, form=curve(part.form))])
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


def _behind(steps: list[tuple[str, Any]], last: Any, width: int) -> list[Part]:
    """Return a form on the columns that some steps make."""
    source = np.arange(width)
    columnwise: list[Any] = []
    for place, (name, step) in enumerate(steps):
        if type(step).__name__ == "PolynomialFeatures":
            line = _scaled(steps[place:], last)
            if step.powers_.max() > MOST_DEGREE:
                raise UnreadableModelError(
                    f"Polynomial features are read up to degree {MOST_DEGREE}"
                )
            last = Monomials(step.powers_, line.coef, line.intercept)
            break
        try:
            source = source[sources(step, len(source))]
        except MixedColumnsError as mixed:
            maps = [later for _, later in steps[place:]]
            linear = isinstance(last, LinearTerms)
            curved = isinstance(last, Exponential | Logistic)
            if (linear or curved) and all(
                _is_map(later, LINEAR_MAPS) for later in maps
            ):
                transform = make_pipeline(*maps).transform
                last = last.of_columns(*affine_map(step, transform, len(source)))
                break
            if not place and type(step).__name__ == "ColumnTransformer" and linear:
                return _of_columns(step, _scaled(steps, last))
            raise UnreadableModelError(f"{mixed} (step {name!r})") from mixed
        columnwise.append(step)
    return [Part(last, source, width, tuple(columnwise))]


def _is_map(transformer: Any, names: set[str] = AFFINE) -> bool:
    """Return whether scikit-learn has a transformer of these names, without clipping."""
    kind = type(transformer)
    return (
        kind.__module__.startswith("sklearn.")
        and kind.__name__ in names
        and not getattr(transformer, "clip", False)
    )


def _scaled(steps: list[tuple[str, Any]], form: ClosedForm) -> LinearTerms:
    """Return linear terms behind scalers as linear terms of the columns of the first step."""
    first, *scalers = [step for _, step in steps]
    if not isinstance(form, LinearTerms) or not all(map(_is_map, scalers)):
        name = type(first).__name__
        raise UnreadableModelError(
            f"{name} can be read only before scalers and a linear model"
        )
    # Two points fix an affine function of each column: the shift at 0 and the slope up
    # to 1.
    ends = np.stack([np.zeros(len(form.coef)), np.ones(len(form.coef))])
    for scaler in scalers:
        ends = scaler.transform(ends)
    slope = ends[1] - ends[0]
    return LinearTerms(slope[:, None] * form.coef, form.intercept + ends[0] @ form.coef)


def _of_columns(transformer: Any, form: LinearTerms) -> list[Part]:
    """Return linear terms of the columns of a ColumnTransformer, one transformer at a time."""
    parts = []
    intercept = form.intercept
    for name, member, columns in transformer.transformers_:
        coef = form.coef[transformer.output_indices_[name]]
        if not len(coef):
            continue
        positions = chosen_columns(transformer, columns)
        steps = member.steps if isinstance(member, Pipeline) else [(name, member)]
        steps = [(name, step) for name, step in steps if not passes(step)]
        select = FunctionTransformer(partial(take_columns, columns))
        parts += [
            Part(
                part.form,
                positions[part.source],
                transformer.n_features_in_,
                (select, *part.steps),
            )
            for part in _behind(steps, LinearTerms(coef, intercept), len(positions))
        ]
        # Only the first part carries the intercept; the sum must count it once.
        intercept = np.zeros(form.n_outputs)
    return parts


def _of_selector(selector: Any, method: str, ask: Ask) -> Form:
    """Return the model behind a recursive elimination of features."""
    return [
        Part(
            ask(selector.estimator_, method),
            selector.get_support(indices=True),
            selector.n_features_in_,
        ),
    ]


def _of_voting(model: Any, method: str, ask: Ask) -> Form:
    readable = {"soft": ["predict_proba"], "hard": []}
    check_method(
        model,
        method,
        readable[model.voting] if hasattr(model, "voting") else ["predict"],
    )
    weights = np.ones(len(model.estimators)) if model.weights is None else model.weights
    member_weights = [
        weight
        for (_, member), weight in zip(model.estimators, weights, strict=True)
        if not (isinstance(member, str) and member == "drop")
    ]
    shares = np.array(member_weights) / sum(member_weights)
    forms = _members(model, method, ask)
    return [
        Part(form.combined(share * np.eye(form.n_outputs)))
        for form, share in zip(forms, shares, strict=True)
    ]


def _of_bagging(model: Any, method: str, ask: Ask) -> Form:
    classify = hasattr(model, "classes_")
    check_method(
        model,
        method,
        ["predict_proba", "decision_function"] if classify else ["predict"],
    )
    parts = []
    share = 1 / len(model.estimators_)
    for member, columns in zip(
        model.estimators_,
        model.estimators_features_,
        strict=True,
    ):
        form = _member(model, member, method, ask)
        # Columns of probabilities would otherwise belong to different classes.
        if classify and len(member.classes_) != len(model.classes_):
            raise UnreadableModelError(
                f"A member of {type(model).__name__} saw {len(member.classes_)} of"
                f" {len(model.classes_)} classes"
            )
        parts.append(
            Part(
                form.combined(share * np.eye(form.n_outputs)),
                np.asarray(columns),
                model.n_features_in_,
            )
        )
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
    check_method(model, method, ["predict_proba"])
    parts = []
    n_classes = len(model.classes_)
    share = 1 / len(model.calibrated_classifiers_)
    for member in model.calibrated_classifiers_:
        scores = _member(model, member.estimator, "decision_function", ask)
        sigmoid = member.calibrators[0]
        form = None
        if n_classes == 2 and hasattr(sigmoid, "a_"):
            form = _curve_of(
                scores.combined([[-sigmoid.a_]], [-sigmoid.b_]),
                partial(probability, share=share),
            )
        if form is None and scores.additive:
            calibrated = copy(member)
            calibrated.estimator = _Scores(member.estimator.classes_)
            form = Curve(scores, calibrated.predict_proba, share * np.eye(n_classes))
        if form is None:
            raise UnreadableModelError(
                f"{type(model).__name__} calibrates decision values with interactions"
            )
        parts.append(Part(form))
    return parts


def _of_several(model: Any, method: str, ask: Ask) -> Form:
    """Return one output for each member: several targets, or one class against the rest."""
    if method == "predict_proba" and len(getattr(model, "classes_", ())) > 2:
        odds = Sum(_side_by_side(_members(model, "log_odds", ask)))
        exclusive = odds.additive and not model.multilabel_
        check_method(model, method, [method] if exclusive else [])
        return Curve(odds, _shares, np.eye(odds.n_outputs))
    forms = _members(model, method, ask)
    readable = ["decision_function"] if hasattr(model, "classes_") else ["predict"]
    single = all(form.n_outputs == 1 for form in forms)
    check_method(model, method, readable if single else [])
    return _side_by_side(forms)


def _shares(odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probabilities of classes, each against the rest, divided by their sum."""
    single = expit(odds)
    return single / single.sum(axis=1, keepdims=True)


def _of_targets(model: Any, method: str, ask: Ask) -> Form:
    """Return the classes of each target in turn; of two classes, the second."""
    check_method(model, method, ["predict_proba", "log_odds"])
    forms = [
        form.combined([[0.0], [1.0]]) if form.n_outputs == 2 else form
        for form in _members(model, method, ask)
    ]
    return _side_by_side(forms)


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
    d = model.estimators_[0].n_features_in_
    coef = np.zeros((d, 0))
    intercept = np.zeros(0)
    for form in _members(model, response, ask):
        if not isinstance(form, LinearTerms):
            raise UnreadableModelError(
                f"{type(model).__name__} chains models that are not linear"
            )
        # Later models are linear in earlier ones, so substitution makes them linear in
        # the columns.
        before = form.coef[d:]
        intercept = np.append(intercept, form.intercept + intercept @ before)
        coef = np.column_stack([coef, form.coef[:d] + coef @ before])
    # The chain's order is inverted, as scikit-learn does for its predictions.
    order = np.argsort(model.order_)
    return LinearTerms(coef[:, order], intercept[order])


def _of_stacking(model: Any, method: str, ask: Ask) -> Form:
    final = _member(model, model.final_estimator_, method, ask)
    if not isinstance(final, LinearTerms):
        raise UnreadableModelError(
            f"The final estimator of {type(model).__name__} has a {method} that is not "
            f"linear ({type(model.final_estimator_).__name__})",
            instead="log_odds" if isinstance(final, Logistic) else None,
        )
    binary = len(getattr(model, "classes_", ())) == 2
    parts: list[Part] = []
    start = 0
    for member, response in zip(model.estimators_, model.stack_method_, strict=True):
        form = _member(model, member, response, ask)
        first = int(response == "predict_proba" and binary)
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
    function: Any = getattr(model.transformer_, "inverse_func", None)
    check_method(
        model,
        method,
        ["predict", "log"] if function is np.exp else ["predict"],
    )
    form = ask(model.regressor_, "predict")
    if method == "log":
        return form
    exponential = isinstance(function, np.ufunc) and function in EXPONENTIALS
    if exponential and form.n_outputs == 1:
        constant = [EXPONENTIALS[function]]
        curve = _curve_of(
            form,
            lambda line: Exponential(
                line.coef[:, 0],
                line.intercept[0],
                constant=constant,
            ),
        )
        if curve is not None:
            return curve
    if function is np.exp:
        check_method(model, method, [], "log")
    slope, shift = _inverse(model.transformer_, form.n_outputs)
    return form.combined(slope, shift)


def _inverse(
    transformer: Any,
    k: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the matrix and the constant of the inverse of an affine transformer of targets."""
    name = type(transformer).__name__
    none = name == "FunctionTransformer" and transformer.inverse_func is None
    if not (none or _is_map(transformer)):
        raise UnreadableModelError(
            f"The target is transformed by {name}, and its inverse may not be affine"
        )
    return affine_map(transformer, transformer.inverse_transform, k)


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
