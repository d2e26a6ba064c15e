"""The method of a model to call, the log-odds of any classifier, and models of torch.

A torch module is called with a tensor of its own device and number type, in evaluation
mode and without gradients. Outputs of other array libraries become NumPy arrays. None
of these libraries is imported here.
"""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from skshapley._tables import as_array, is_frame, passes
from skshapley._tools import clipped_logit, needed, suggested
from skshapley.readers._xgboost import margins_are_odds

METHODS = (
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "score_samples",
    "log_odds",
    "log",
    "transform",
)
BY_KIND: dict[str | None, tuple[str, ...]] = {  # methods for "auto", in order
    "classifier": ("predict_proba", "decision_function", "predict"),
    "outlier_detector": ("score_samples", "decision_function"),
    "density_estimator": ("score_samples", "decision_function"),
    "regressor": ("predict", "decision_function", "score_samples"),
    None: ("predict_proba", "predict", "decision_function", "score_samples"),
}
BY_CLASS = ("predict_proba", "predict_log_proba", "decision_function", "log_odds")
FUNCTION = "function"
# Objectives of XGBoost with margins that are log-odds
LOGIT_OBJECTIVES = ("binary:logistic", "multi:softprob", "multi:softmax")
# Beginnings of the names of methods that predict in other libraries
ELSEWHERE = ("predict_", "effect", "const_marginal_effect", "forecast")
# Losses of CatBoost, and scikit-learn's classifiers with a score equal to the logit
SIGMOIDS = {"Logloss", "CrossEntropy"}
LOGISTIC = {
    *("LogisticRegression", "LogisticRegressionCV", "LinearDiscriminantAnalysis"),
    *("HistGradientBoostingClassifier", "GradientBoostingClassifier"),
}


def checked_method(estimator, method, owner) -> str | Callable[..., Any]:
    """Return the name of the method to call, a function of (estimator, X), or `FUNCTION`.

    `FUNCTION` means that the estimator is a function of X.

    Raises
    ------
    NotFittedError
        If the model has no method because it is not fitted.
    TypeError
        If the estimator is neither a model nor a function.
    ValueError
        For an unknown method, or one that the model does not have.
    """
    has = [name for name in METHODS if hasattr(estimator, name)]
    if isinstance(estimator, type) or not (
        has or callable(estimator) or hasattr(estimator, "fit")
    ):
        hint = (
            f"; fit {estimator.__name__}() first" if isinstance(estimator, type) else ""
        )
        raise TypeError(
            f"{owner} explains a fitted estimator, or a function of a table; got"
            f" {estimator!r}{hint}."
        )
    model_class = type(estimator)
    if callable(method):
        return method
    if is_torch_module(estimator) or (
        callable(estimator) and not hasattr(estimator, "predict")
    ):
        if method != "auto":
            raise ValueError(
                f"{owner} got response_method={method!r} for a {model_class.__name__}, which "
                'is called directly: leave it at "auto", or pass a function of (model, '
                "X) for a table X."
            )
        return FUNCTION
    kind = estimator_type(estimator)
    if kind == "clusterer" and method in ("auto", "predict"):
        distances = 'response_method="transform" for the distances to the clusters, or '
        raise ValueError(
            f"{owner} got response_method={method!r} for {model_class.__name__}, which predicts"
            " labels of clusters, not a quantity: choose "
            f"{distances if 'transform' in has else ''}a function of (estimator, X), "
            "such as lambda model, X: model.predict(X) == 0."
        )
    request = method
    if method == "auto":
        method = next(
            (name for name in BY_KIND.get(kind, BY_KIND["regressor"]) if name in has),
            "predict",
        )
    if method not in METHODS:
        raise ValueError(
            f"{owner} got response_method={method!r}{suggested(method, METHODS)}:"
            f' choose "auto", one of {list(METHODS)}, or a function of (estimator, X).'
        )
    if method == "log" and kind == "classifier":
        raise ValueError(
            f'{owner} got response_method="log" for {model_class.__name__}, but labels '
            'have no logarithm: choose "log_odds" or "predict_log_proba".'
        )
    # Boosters have a raw score instead of probabilities.
    of_score = (
        method == "log_odds"
        and model_class.__name__ == "Booster"
        and _raw_score(estimator) is not None
    )
    required = {"log_odds": "predict_proba", "log": "predict"}.get(method, method)
    if required not in has and not of_score:
        _refuse_method(estimator, request, required, has, owner)
    return method


def _refuse_method(estimator, request, required, has, owner) -> None:
    """Raise an error for a model without the required method, with the ones it has."""
    name = type(estimator).__name__
    elsewhere = [method for method in dir(estimator) if method.startswith(ELSEWHERE)]
    if elsewhere and not has:
        call = f"lambda model, X: model.{elsewhere[-1]}(X)"
        raise ValueError(
            f"{owner} got response_method={request!r}, but {name} has no {required}: it "
            f"has {elsewhere}; pass a function, such as response_method={call}."
        )
    refuse_unfitted(estimator, owner)
    raise ValueError(
        f"{owner} got response_method={request!r}, but {name} has no {required}: it has "
        f"{has}; choose one of these, or pass a function of (estimator, X)."
    )


def refuse_unfitted(estimator, owner) -> None:
    """Raise NotFittedError if a failed model seems not to be fitted, and ValueError for a table."""
    if hasattr(estimator, "shape"):
        raise ValueError(
            f"{owner} got a table of shape {estimator.shape} as its model: call"
            f" {owner}(model).fit(X_train)."
        )
    try:
        check_is_fitted(estimator)
    except NotFittedError as error:
        raise NotFittedError(
            f"{owner} explains a fitted model and never fits it, but this "
            f"{type(estimator).__name__} is not fitted: fit it first, and wrap it in "
            "sklearn.frozen.FrozenEstimator where the explainer is cloned "
            "(GridSearchCV, Pipeline)."
        ) from error
    except (
        AttributeError,
        TypeError,
    ):  # not a scikit-learn estimator: its own error follows
        return


def estimator_type(estimator) -> str | None:
    """Return scikit-learn's type of an estimator; None for objects of other libraries."""
    try:
        kind = get_tags(estimator).estimator_type
    except AttributeError:  # not a scikit-learn estimator, but one that predicts
        # An unknown kind is no error: `predict` may still exist.
        kind = None
    return kind or getattr(estimator, "_estimator_type", None)


def unwrapped(estimator) -> Any:
    """Return the estimator within frozen estimators and searches."""
    if isinstance(estimator, FrozenEstimator):
        return unwrapped(estimator.estimator)
    best = getattr(estimator, "best_estimator_", None)
    return estimator if best is None else unwrapped(best)


def final_estimator(estimator) -> Any:
    """Return the estimator that predicts within frozen estimators, searches and pipelines."""
    inner = unwrapped(estimator)
    return final_estimator(inner[-1]) if isinstance(inner, Pipeline) else inner


def log_odds(estimator, X) -> np.ndarray | list[np.ndarray]:
    """Return the raw score of a boosted classifier, else the logit of the probabilities.

    The score is found inside frozen estimators, searches and pipelines. Probabilities
    are clipped at the resolution of float64, so that 0 and 1 give about -36 and 36.
    """
    estimator = unwrapped(estimator)
    if isinstance(estimator, Pipeline):
        for transformer in [
            step for _, step in estimator.steps[:-1] if not passes(step)
        ]:
            X = transformer.transform(X)
        return log_odds(estimator.steps[-1][1], X)
    score = _raw_score(estimator)
    if score is not None:
        return score(X)
    probabilities = estimator.predict_proba(X)
    if isinstance(probabilities, list):
        return [clipped_logit(part) for part in probabilities]
    return clipped_logit(probabilities)


def is_xgboost_booster(model) -> bool:
    """Return True for XGBoost's Booster, which predicts from a DMatrix only."""
    kind = type(model)
    return kind.__name__ == "Booster" and kind.__module__.startswith("xgboost")


def in_dmatrix(model, X) -> Any:
    """Return the rows in the container that a Booster of XGBoost takes."""
    # An array has the columns of the training rows, in their order.
    return needed("xgboost", "A Booster").DMatrix(
        X,
        feature_names=None if is_frame(X) else model.feature_names,
        enable_categorical=True,
    )


def _raw_score(model) -> Callable[[Any], Any] | None:
    """Return the function of X with the exact logit of the probability, or None."""
    kind = type(model)
    library = kind.__module__.partition(".")[0]
    two = len(getattr(model, "classes_", ())) == 2
    if is_xgboost_booster(model):
        objective = json.loads(model.save_config())["learner"]["objective"]["name"]
        if objective not in LOGIT_OBJECTIVES:
            return None
        return lambda X: model.predict(in_dmatrix(model, X), output_margin=True)
    if library == "xgboost":
        if not margins_are_odds(str(model.objective), len(model.classes_)):
            return None
        return lambda X: model.predict(X, output_margin=True)
    if library == "lightgbm" and (two or kind.__name__ == "Booster"):
        # One iteration is enough for the header, and thousands of trees would take
        # seconds.
        head = getattr(model, "booster_", model).dump_model(num_iteration=1)
        if head["objective"] == "binary sigmoid:1" and not head["average_output"]:
            return lambda X: model.predict(X, raw_score=True)
    if (
        library == "catboost"
        and two
        and model.get_all_params()["loss_function"] in SIGMOIDS
    ):
        return lambda X: model.predict(X, prediction_type="RawFormulaVal")
    if library == "sklearn" and two and kind.__name__ in LOGISTIC:
        # With the exponential loss, the probability is the logistic function of twice
        # the score.
        return (
            model.decision_function
            if getattr(model, "loss", "log_loss") == "log_loss"
            else None
        )
    return None


def is_torch_module(model: Any) -> bool:
    """Return True if a model is a `torch.nn.Module`."""
    return any(
        (kind.__module__, kind.__name__) == ("torch.nn.modules.module", "Module")
        for kind in type(model).__mro__
    )


def asked_module(module: Any, X: Any) -> Any:
    """Return a torch module's output for a table; a single column loses its axis.

    Parameters
    ----------
    module : torch.nn.Module
    X : array, sparse matrix or frame of shape (n, d)

    Returns
    -------
    values : ndarray of shape (n,) or (n, k)

    Raises
    ------
    TypeError
        For a table with other columns than numbers.
    RuntimeError
        If the module fails.
    """
    import torch

    table: Any = as_array(X) if is_frame(X) else X
    table = np.ascontiguousarray(table.toarray() if sparse.issparse(table) else table)
    if table.dtype.kind not in "biuf":
        raise TypeError(
            f"A torch module takes numbers, and got a table of dtype {table.dtype}: "
            "encode its columns, or pass a function that encodes the table."
        )
    parameter = next((p for p in module.parameters() if p.is_floating_point()), None)
    kind = torch.float32 if parameter is None else parameter.dtype
    device = None if parameter is None else parameter.device
    training = [part for part in module.modules() if part.training]
    module.eval()  # switches dropout off
    try:
        with torch.no_grad():
            values = as_numpy(
                module(torch.as_tensor(table).to(device=device, dtype=kind))
            )
    except Exception as error:
        raise RuntimeError(
            f"The torch module {type(module).__name__} failed on {len(table)} rows of "
            f"{table.shape[1]} columns, {kind} on {device}, with "
            f"{type(error).__name__}: {error}. Pass the columns that it was trained "
            "on, or a function of the table."
        ) from error
    finally:
        for part in training:
            part.training = True
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


def as_numpy(raw: Any) -> Any:
    """Return the array of another library as a NumPy array; other objects are unchanged.

    Tensors are detached and moved to the CPU. Others come through ``__array__`` or
    DLPack.
    """
    if hasattr(raw, "detach") and hasattr(raw, "cpu"):
        raw = raw.detach().cpu()
        return (
            raw.double() if raw.is_floating_point() else raw
        ).numpy()  # numpy has no bfloat16
    needs_dlpack = hasattr(raw, "__dlpack__") and not hasattr(raw, "__array__")
    return np.from_dlpack(raw) if needs_dlpack else raw
