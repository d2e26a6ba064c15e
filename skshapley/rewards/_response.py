"""The model's response as numbers: which method, which outputs, checked every time."""

import numpy as np
import pandas as pd
from sklearn.base import is_classifier, is_outlier_detector
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from skshapley._inputs import is_frame
from skshapley.exceptions import ModelOutputError

METHODS = (
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "score_samples",
    "log_odds",
)
BY_CLASS = ("predict_proba", "predict_log_proba", "decision_function", "log_odds")


class Response:
    """A fitted model, one of its methods, and the outputs to explain.

    Parameters
    ----------
    estimator : fitted estimator, or callable from a table to ``(n,)`` or ``(n, k)``
    method : str or callable(estimator, X)
        "auto", one of `METHODS`, or a function.
    output : None, "predicted" or label
    owner : str
        Who asks, for errors.

    Attributes
    ----------
    n_columns : int
        Columns of the raw response; set by `probe`.
    names : list or None
        Labels of the columns; None for a response of one column.
    column : int or None
        The fixed column to explain; None for all, or for each instance's own (``predicted``).
    """

    def __init__(self, estimator, method="auto", output=None, owner="ShapleyExplainer"):
        self.estimator, self.output, self.owner = estimator, output, owner
        self.method = _checked_method(estimator, method, owner)
        self.predicted = isinstance(output, str) and output == "predicted"
        self.n_columns = 0  # unknown until probe
        self.column: int | None = None
        self._wants_names = getattr(estimator, "feature_names_in_", None)
        self._wants_array = self._wants_names is None and hasattr(estimator, "n_features_in_")

    def probe(self, X) -> np.ndarray:
        """Call the model for the first time and learn its outputs; return ``(n, K)``."""
        values, one_output = self._call(X)
        self.n_columns = values.shape[1]
        classes = getattr(self.estimator, "classes_", None)
        self.names = None if one_output else list(range(self.n_columns))
        if self.method in BY_CLASS and _flat_length(classes) == self.n_columns:
            self.names = np.asarray(classes).tolist()
        self.column = self._fixed_column()
        return values

    def _fixed_column(self):
        if self.predicted:
            if self.n_columns < 2:
                raise ValueError(
                    f'{self.owner} got output="predicted", but the response has one output; it'
                    f' needs one per class, e.g. response_method="predict_proba".'
                )
            return None
        if self.output is None:
            # of two classes only the positive one says anything
            binary = (
                self.method in BY_CLASS and self.n_columns == 2 and is_classifier(self.estimator)
            )
            return 1 if binary else (0 if self.names is None else None)
        if self.names is None or self.output not in self.names:
            choices = [] if self.names is None else [*self.names, "predicted"]
            raise ValueError(
                f"{self.owner} got output={self.output!r}, which the response does not have: choose"
                f" None{''.join(f', {choice!r}' for choice in choices)}."
            )
        return self.names.index(self.output)

    @property
    def n_outputs(self) -> int:
        """Number of outputs that are explained, k."""
        return 1 if self.predicted or self.column is not None else self.n_columns

    @property
    def output_names(self):
        """Labels of the explained outputs, or None where there is one, shown without its axis."""
        return None if self.predicted or self.column is not None else self.names

    def choose(self, values: np.ndarray, winners=None) -> np.ndarray:
        """Return the explained outputs of raw responses.

        Parameters
        ----------
        values : ndarray of shape (..., K)
        winners : ndarray of int that broadcasts with the leading axes of `values`
            The column of each instance's own prediction, for ``output="predicted"``.

        Returns
        -------
        chosen : ndarray of shape (..., k)
        """
        if self.predicted:
            index = np.broadcast_to(winners, values.shape[:-1])[..., None]
            return np.take_along_axis(values, index, axis=-1)
        return values if self.column is None else values[..., self.column : self.column + 1]

    def __call__(self, X, where="") -> np.ndarray:
        """Return the raw response ``(n, K)`` as float64.

        Raises
        ------
        ModelOutputError
            For NaN or infinity, another number of rows or of outputs than before.
        """
        values, _ = self._call(X, where)
        if values.shape[1] != self.n_columns:
            raise ModelOutputError(
                f"The model returned {values.shape[1]} outputs{where}, after {self.n_columns}"
                f" before;"
                f" the number of outputs must not change."
            )
        return values

    def _call(self, X, where=""):
        raw = self._raw(self._in_its_container(X))
        if isinstance(raw, list):  # a multi-output classifier: one array of probabilities an output
            raw = np.hstack([np.asarray(part)[:, 1:] for part in raw])
        try:
            values = np.asarray(raw, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ModelOutputError(
                f"The model's {self._label} returned values that are not numbers{where}; choose"
                f" another response_method, such as 'predict_proba'."
            ) from error
        if values.ndim not in (1, 2) or len(values) != len(X):
            raise ModelOutputError(
                f"The model's {self._label} returned shape {values.shape} for {len(X)} rows{where};"
                f" it must return ({len(X)},) or ({len(X)}, n_outputs)."
            )
        if not np.isfinite(values).all():
            bad = np.flatnonzero(~np.isfinite(values.reshape(len(values), -1)).all(axis=1))
            raise ModelOutputError(
                f"The model's {self._label} returned NaN or infinity for {len(bad)} of {len(X)}"
                f" rows{where}, first for row {bad[0]}; no attribution can be made of that."
            )
        return (values[:, None], True) if values.ndim == 1 else (values, False)

    def _in_its_container(self, X):
        """Return X as the model knows it: with names if it was fitted with names, and only then."""
        if self._wants_names is not None and not is_frame(X):
            return pd.DataFrame(X, columns=self._wants_names)
        if self._wants_array and isinstance(X, pd.DataFrame):
            return X.to_numpy()
        return X

    @property
    def _label(self):
        return self.method if isinstance(self.method, str) else "response_method"

    def _raw(self, X):
        if self.method == "__call__":
            return self.estimator(X)
        if callable(self.method):
            return self.method(self.estimator, X)
        if self.method == "log_odds":
            values = np.asarray(_log_odds(self.estimator, X))
        else:
            values = getattr(self.estimator, self.method)(X)
        classes = getattr(self.estimator, "classes_", None)
        signed = self.method in ("decision_function", "log_odds") and np.ndim(values) == 1
        if signed and _flat_length(classes) == 2:
            return np.column_stack([-values, values])
        return values


def _flat_length(classes):
    """Return the number of classes, or 0 where there are none or one set for each of several y."""
    return len(classes) if classes is not None and np.ndim(classes) == 1 else 0


def _checked_method(estimator, method, owner):
    """Return the method to call, after checking that the model is fitted and has it."""
    if not hasattr(estimator, "predict") and callable(estimator) and not callable(method):
        if method != "auto":
            raise ValueError(
                f"{owner} got response_method={method!r} for a plain function, which has no"
                f" methods;"
                f' leave it at "auto".'
            )
        return "__call__"
    _check_fitted(estimator, owner)
    if callable(method):
        return method
    if method == "auto":
        return _auto_method(estimator, owner)
    if method not in METHODS:
        raise ValueError(
            f'{owner} got response_method={method!r}: choose "auto", one of {list(METHODS)}, or a'
            f" function of (estimator, X)."
        )
    needed = "predict_proba" if method == "log_odds" else method
    if not hasattr(estimator, needed):
        has = [name for name in METHODS if hasattr(estimator, name)]
        raise ValueError(
            f"{owner} got response_method={method!r}, but {type(estimator).__name__} has no"
            f" {needed}: it has {has}."
        )
    return method


def _check_fitted(estimator, owner):
    if not hasattr(estimator, "fit"):
        return
    try:
        check_is_fitted(estimator)
    except NotFittedError as error:
        raise NotFittedError(
            f"{owner} explains a fitted model and never fits it, but this"
            f" {type(estimator).__name__} is not fitted: fit it first, and wrap it in"
            f" sklearn.frozen.FrozenEstimator where the explainer is cloned (GridSearchCV,"
            f" Pipeline)."
        ) from error
    except TypeError:  # not a scikit-learn estimator: it will speak for itself
        return


def _auto_method(estimator, owner):
    if is_classifier(estimator):
        order: tuple[str, ...] = ("predict_proba", "decision_function", "predict")
    elif is_outlier_detector(estimator):
        order = ("score_samples", "decision_function")
    else:
        order = ("predict", "decision_function", "score_samples")
    for name in order:
        if hasattr(estimator, name):
            return name
    raise ValueError(
        f"{owner} found none of {list(order)} on {type(estimator).__name__}; pass"
        f" response_method as a"
        f" function of (estimator, X)."
    )


def _log_odds(estimator, X):
    """Return XGBoost's margin, else the logit of the probabilities, kept off 0 and 1."""
    final = _unwrapped(estimator)
    if type(final).__module__.startswith("xgboost"):
        return estimator.predict(X, output_margin=True)
    tiny = np.finfo(np.float64).eps
    probability = np.clip(estimator.predict_proba(X), tiny, 1 - tiny)
    return np.log(probability) - np.log1p(-probability)


def _unwrapped(estimator):
    while isinstance(estimator, (FrozenEstimator, Pipeline)):
        frozen = isinstance(estimator, FrozenEstimator)
        estimator = estimator.estimator if frozen else estimator.steps[-1][1]
    return estimator
