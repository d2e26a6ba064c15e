"""The model's response as numbers: method, outputs, and checks of every call."""

from collections.abc import Callable
from contextlib import suppress
from copy import copy
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from joblib import parallel_config
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from skshapley._tables import (
    as_array,
    column_names,
    is_frame,
    model_columns,
    n_rows,
    row_chunks,
)
from skshapley.exceptions import ModelOutputError
from skshapley.rewards._methods import (
    BY_CLASS,
    FUNCTION,
    as_numpy,
    asked_module,
    checked_method,
    final_estimator,
    in_dmatrix,
    is_torch_module,
    is_xgboost_booster,
    log_odds,
    refuse_unfitted,
)

LARGEST = 1e306  # room for differences and sums
# Ends of errors for NaN and infinity
REMEDIES = {
    "predict_log_proba": '; response_method="log_odds" clips probabilities of 0',
    "log": "; predictions of 0 and below have no logarithm",
}
# Ends of errors for labels, by an attribute of the model
OF_LABELS = {
    "predict_proba": '; choose another response_method, such as "predict_proba"',
    "classes_": "; pass response_method=skshapley.responses.same_class",
}
# From other responses to probabilities of classes; the logistic function for scores
TO_PROBABILITIES: dict[Any, Callable[[Any], Any]] = {
    "predict_proba": np.asarray,
    "predict_log_proba": np.exp,
}


class Response:
    """A fitted model, one of its methods, and the outputs to explain.

    Parameters
    ----------
    estimator : fitted estimator, or callable from a table to ``(n,)`` or ``(n, k)``
    method : str or callable(estimator, X)
        "auto", one of `METHODS`, or a function.
    output : None, "predicted" or label
    owner : str
        Name of the calling class, for errors.
    whole : bool, default=False
        Whether to keep both classes of a binary classifier.

    Attributes
    ----------
    n_columns : int
        Number of columns K of the raw response. Set by `probe`, like `names` and
        `column`.
    names : list or None
        Labels of the columns; None for a response with one column.
    column : int or None
        The column to explain. None: all columns, or the column of each row's predicted
        class.
    dense : bool
        Whether the model refused a sparse table, and gets arrays instead. Set by
        `probe`.
    """

    def __init__(
        self,
        estimator,
        method="auto",
        output=None,
        owner="ShapleyExplainer",
        whole=False,
    ) -> None:
        self.estimator = estimator
        self.output = output
        self.owner = owner
        self.whole = whole
        self.method = checked_method(estimator, method, owner)
        self.predicted = isinstance(output, str) and output == "predicted"
        self.n_columns = 0
        self.names: list | None = None
        self.column: int | None = None
        self.dense = False
        self._classes = flat_classes(estimator) if self.method in BY_CLASS else None
        if self._classes is not None and output is not None and not self.predicted:
            # Before the first call, which may take long.
            self._position(self._classes)  # raises for an unknown class
        names = getattr(estimator, "feature_names_in_", None)
        self._column_names = None if names is None else list(names)
        self._width = getattr(estimator, "n_features_in_", None)
        self._nameless = self._width is not None and model_columns(estimator) is None

    def over(self, table, what: str) -> np.ndarray:
        """Return the raw response on the rows of a table ``(n, K)``, in calls of bounded size.

        The first call determines the outputs.

        Parameters
        ----------
        table : array or frame of shape (n, d)
        what : str
            A noun for the rows, for errors.
        """
        chunks = row_chunks(table, what)  # copies, one at a time
        return np.concatenate(
            [self.probe(*next(chunks)), *(self(*chunk) for chunk in chunks)]
        )

    def probe(self, X, where="") -> np.ndarray:
        """Return the raw response of the first call, which determines the outputs.

        Parameters
        ----------
        X : array or frame of shape (n, d)
            Rows to call the model on.
        where : str, default=""
            Description of the rows, for errors.

        Returns
        -------
        values : ndarray of shape (n, K), float64
            The raw response.

        Raises
        ------
        ModelOutputError
            For NaN or infinity, or another number of rows.
        NotFittedError
            If the call fails, and the model seems not to be fitted.
        ValueError
            If the response does not have the output to explain.
        """
        try:
            raw = self._asked(self.in_its_container(X))
            values = self._numbers(raw, n_rows(X), where)
        except Exception as error:
            # Models refuse sparse tables by different errors, so one more call with an
            # array decides.
            if sparse.issparse(X) and not self.dense:
                self.dense = True
                return self.probe(X, where)
            width = None if is_frame(X) else self._width
            if width is not None and X.shape[1:] not in ((), (width,)):
                self._width = None  # the model may predict from other columns, too
                with suppress(Exception):
                    return self.probe(X, where)
                self._width = width
            self._refuse_frame(X, error)
            if not isinstance(error, ModelOutputError):
                # Failed calls of unfitted models have obscure errors; this one names
                # the reason.
                refuse_unfitted(self.estimator, self.owner)
            raise
        self._learn(raw, values)
        return values.reshape(n_rows(X), -1)

    def _refuse_frame(self, X, error) -> None:
        """Raise TypeError if a function fails on a frame, and takes the same rows as an array."""
        if not is_frame(X) or not (self.method == FUNCTION or callable(self.method)):
            return
        try:
            self._raw(as_array(X))
        except Exception:
            return
        raise TypeError(
            f"{self.owner}: the function fails on a frame ({type(error).__name__}), and "
            "functions get the container of fit: pass X.to_numpy() to fit and to "
            "explain."
        ) from error

    def __call__(self, X, where="") -> np.ndarray:
        """Return the raw response ``(n, K)`` as float64.

        Raises
        ------
        ModelOutputError
            For NaN or infinity, another number of rows, or of outputs than before.
        """
        raw = self._asked(self.in_its_container(X))
        values = self._numbers(raw, n_rows(X), where).reshape(n_rows(X), -1)
        if values.shape[1] != self.n_columns:
            raise ModelOutputError(
                f"The model returned {values.shape[1]} outputs{where}, and "
                f"{self.n_columns} before: the number of outputs must not change."
            )
        return values

    def of(self, estimator) -> "Response":
        """Return the same response, for the rest of a pipeline after its first steps.

        Parameters
        ----------
        estimator : fitted estimator or None
            The rest of the model. It is called with the unchanged output of those
            steps. None: the response only chooses outputs.
        """
        response = copy(self)
        response.estimator = estimator
        response._column_names = None
        response._width = None
        response._nameless = False
        response.dense = False  # the steps make the columns that the rest was fitted on
        return response

    def learn_from(self, rest: "Response") -> None:
        """Copy the outputs from the response of the rest of the model.

        Parameters
        ----------
        rest : Response
            A probed response.
        """
        self.n_columns = rest.n_columns
        self.names = rest.names
        self.column = rest.column

    def _learn(self, raw, values) -> None:
        """Determine the outputs from the first response."""
        self.n_columns = 1 if values.ndim == 1 else values.shape[1]
        by_class = self._classes is not None and len(self._classes) == self.n_columns
        if values.ndim == 1:
            self.names = None
        elif isinstance(raw, list) and self.method in BY_CLASS:
            classes = self.estimator.classes_
            self.names = [
                name
                for output, part in enumerate(raw)
                for name in (
                    [output]
                    if np.shape(part)[1] <= 2
                    else [f"{output}_{label}" for label in classes[output]]
                )
            ]
        elif hasattr(raw, "columns"):
            self.names = column_names(raw)
        else:
            self.names = self._classes if by_class else list(range(self.n_columns))
        if self.predicted:
            if self.n_columns == 1 or self.method == "predict":
                raise ValueError(
                    f'{self.owner} got output="predicted", which needs one output per '
                    f'class, as of response_method="predict_proba"; {self._label} '
                    f"returns {self.n_columns}."
                )
            self.column = None
        elif self.output is not None:
            self.column = self._position(self.names)
        else:
            self.column = 0 if self.names is None else None
            if by_class and self.n_columns == 2 and not self.whole:
                probabilities = TO_PROBABILITIES.get(self.method, expit)(values)
                # The negative one of two classes is redundant, unlike one of two labels.
                if (np.abs(probabilities.sum(axis=1) - 1) <= 1e-4).all():
                    self.column = 1

    def _position(self, names) -> int:
        if names is None or self.output not in names:
            choices = [] if names is None else [*names, "predicted"]
            raise ValueError(
                f"{self.owner} got output={self.output!r}, which the response does not "
                f"have: choose None{''.join(f', {choice!r}' for choice in choices)}."
            )
        return names.index(self.output)

    @property
    def n_outputs(self) -> int:
        """Return the number of explained outputs, k."""
        return 1 if self.predicted or self.column is not None else self.n_columns

    @property
    def output_names(self) -> list | None:
        """Return the labels of the explained outputs; None for a single one."""
        return None if self.predicted or self.column is not None else self.names

    @property
    def explained_class(self) -> Any:
        """Return the explained class of a classifier with two classes, else None."""
        classes = self._classes or []
        two = len(classes) == self.n_columns == 2
        return classes[self.column] if two and self.column is not None else None

    def winners(self, X, values) -> np.ndarray:
        """Return the column of the class that the model predicts for each row, ``(n,)`` int.

        This is the class returned by `predict`, which need not be the most probable
        one. For a function, it is the column with the largest output. Zeros unless
        ``output="predicted"``.

        Parameters
        ----------
        X : array or frame of shape (n, d)
            The rows.
        values : ndarray of shape (n, K)
            Their raw response.
        """
        if not self.predicted:
            return np.zeros(len(values), dtype=np.intp)
        if self.method not in BY_CLASS or not hasattr(self.estimator, "classes_"):
            return values.argmax(axis=1)
        labels = np.asarray(self.estimator.predict(self.in_its_container(X)))
        winners = pd.Index(self._classes or []).get_indexer(labels.ravel())
        if labels.ndim != 1 or (winners < 0).any():
            raise ValueError(
                f'{self.owner} got output="predicted", but the outputs of '
                f"{self._label}, {self.names}, are not the classes that predict "
                "returns."
            )
        return winners

    def with_winners(self, table) -> tuple[np.ndarray, np.ndarray]:
        """Return the raw response ``(n, K)`` and `winners` of a table's rows, chunk by chunk.

        Parameters
        ----------
        table : array or frame of shape (n, d)
        """
        full = []
        winners = []
        for chunk, where in row_chunks(table, "rows"):
            full.append(self(chunk, where))
            winners.append(self.winners(chunk, full[-1]))
        return np.concatenate(full), np.concatenate(winners)

    def choose(self, values: np.ndarray, winners) -> np.ndarray:
        """Return the explained outputs of raw responses.

        Parameters
        ----------
        values : ndarray of shape (..., K)
        winners : ndarray of int that broadcasts with the leading axes of `values`
            The column of each row's predicted class, for ``output="predicted"``.

        Returns
        -------
        chosen : ndarray of shape (..., k)
        """
        if self.predicted:
            return np.take_along_axis(
                values,
                np.broadcast_to(winners, values.shape[:-1])[..., None],
                axis=-1,
            )
        return (
            values
            if self.column is None
            else values[..., self.column : self.column + 1]
        )

    def _numbers(self, raw, n, where) -> NDArray[np.float64]:
        """Return the raw response as ``(n,)`` or ``(n, K)`` float64, or raise ModelOutputError."""
        if isinstance(raw, list) and self.method in BY_CLASS:
            # for two classes, only the positive one
            raw = np.hstack(
                [
                    part[:, 1:] if part.shape[1] == 2 else part
                    for part in map(np.asarray, raw)
                ]
            )
        shape = np.shape(raw)
        if len(shape) not in (1, 2) or shape[0] != n or 0 in shape:
            raise ModelOutputError(
                f"The model's {self._label} returned shape {shape} for {n} rows{where};"
                f" it must return ({n},) or ({n}, n_outputs)."
            )
        remedies = [
            remedy
            for attribute, remedy in OF_LABELS.items()
            if hasattr(self.estimator, attribute)
        ]
        hints = (*remedies, "")[0], REMEDIES.get(self._label, "")
        return finite_numbers(raw, f"The model's {self._label}", "row", where, hints)

    def in_its_container(self, X) -> Any:
        """Return X with names if the model was fitted with names, else without.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n, d)

        Raises
        ------
        ValueError
            For another number of columns.
        """
        if is_frame(X):
            # A model fitted without names warns about text names.
            if self._nameless and all(
                isinstance(name, str) for name in column_names(X)
            ):
                return as_array(X)
            return X
        if self._width is not None and X.shape[1] != self._width:
            raise ValueError(
                f"{self.owner} got a table of {X.shape[1]} columns for a model that "
                f"was fitted on {self._width}: pass the columns that the model was "
                "fitted on."
            )
        if sparse.issparse(X) and (self.dense or self._column_names is not None):
            X = X.toarray()
        return (
            X
            if self._column_names is None
            else pd.DataFrame(X, columns=self._column_names)
        )

    @property
    def _label(self) -> str:
        return self.method if isinstance(self.method, str) else "response_method"

    def _asked(self, X) -> Any:
        """Return the model's output, computed without the workers of joblib's context.

        The workers are for the explainer. A model that uses them may round differently
        in each call: a forest sums its trees in the order in which threads end.
        """
        with parallel_config("sequential"):
            return self._raw(X)

    def _raw(self, X) -> Any:
        if self.method == FUNCTION:
            return (
                asked_module(self.estimator, X)
                if is_torch_module(self.estimator)
                else as_numpy(self.estimator(X))
            )
        if callable(self.method):
            return as_numpy(self.method(self.estimator, X))
        if self.method == "log_odds":
            values: Any = log_odds(self.estimator, X)
        else:
            if is_xgboost_booster(self.estimator):
                X = in_dmatrix(self.estimator, X)
            name = "predict" if self.method == "log" else self.method
            values = as_numpy(getattr(self.estimator, name)(X))
        if self.method == "log":
            # no number for predictions of 0 and below, which is refused later
            with np.errstate(divide="ignore", invalid="ignore"):
                values = np.log(values)
        # A single decision value belongs to the second class; the first class has its
        # negative.
        two = self._classes is not None and len(self._classes) == 2
        if (
            two
            and self.method in ("decision_function", "log_odds")
            and np.ndim(values) == 1
        ):
            return np.column_stack([-values, values])
        return values


def flat_classes(estimator) -> list | None:
    """Return the class labels of the columns of a response; None if columns are not classes."""
    classes = getattr(estimator, "classes_", None)
    if classes is None or not len(classes) or np.ndim(classes[0]):
        return None
    # one-versus-one decisions belong to pairs of classes
    pairs = (
        getattr(final_estimator(estimator), "decision_function_shape", None) == "ovo"
    )
    return None if pairs and len(classes) > 2 else np.asarray(classes).tolist()


def as_floats(raw) -> np.ndarray | None:
    """Return `raw` as a float64 array, or None unless it contains only real numbers.

    NumPy converts the text "1" to a number. Text is refused, because class labels often
    look like numbers.
    """
    values = np.asarray(raw)
    real = (
        all(isinstance(value, (Real, np.bool_)) for value in values.ravel())
        if values.dtype.kind == "O"
        else values.dtype.kind in "biuf"
    )
    return values.astype(np.float64, copy=False) if real else None


def finite_numbers(
    raw,
    who,
    unit,
    where="",
    hints=("", ""),
) -> NDArray[np.float64]:
    """Return values as float64, or raise ModelOutputError unless they are finite numbers.

    Parameters
    ----------
    raw : array of shape (n,) or (n, k)
    who, unit : str
        The source of the values and a noun for n, for errors.
    where : str, default=""
        The place of these values.
    hints : pair of str, default=("", "")
        The ends of the errors for text and for NaN.
    """
    values = as_floats(raw)
    if values is None:
        raise ModelOutputError(
            f"{who} returned values that are not numbers{where}, such as "
            f"{np.ravel(raw)[0]!r}; it must return one number, or one row of numbers, "
            f"per {unit}{hints[0]}."
        )
    right = np.abs(values) <= LARGEST
    if not right.all():
        bad = np.flatnonzero(~right.reshape(len(values), -1).all(axis=1))
        what = (
            f"numbers beyond {LARGEST:.0e}"
            if np.isfinite(values).all()
            else "NaN or infinity"
        )
        raise ModelOutputError(
            f"{who} returned {what} for {len(bad)} of {len(values)} {unit}s{where}, "
            f"first for {unit} {bad[0]}; such values have no attributions{hints[1]}."
        )
    return values
