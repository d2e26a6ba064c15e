"""The game of SAGE, row by row: minus the loss of the mean response over the background.

Covert, Lundberg & Lee (2020), Understanding global feature contributions with additive
importance measures, NeurIPS. In their notation x is a row, y its target, and f_S(x_S)
the mean response when the features outside S are removed (Eq 2; here by background
rows, their marginal distribution). v(S) = -E[l(f_S(x_S), y)] (Eq 3 up to a constant) is
the mean of the games of single rows, and so are its Shapley values. Every row may
therefore have its own design.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skshapley.exceptions import ModelOutputError
from skshapley.rewards._game import Game, WrappedGame
from skshapley.rewards._methods import FUNCTION, estimator_type
from skshapley.rewards._response import Response, as_floats, flat_classes

TINY = np.finfo(np.float64).eps
SLACK = 1e-6


@dataclass(eq=False)
class Loss(ABC):
    """Base class of losses: the cost of a response at each row, given the row's target.

    Parameters
    ----------
    response : Response
        With ``whole=True``.
    owner : str
        Name of the calling class, for errors.

    Attributes
    ----------
    name : str
    """

    response: Response
    owner: str

    name = "loss"

    @abstractmethod
    def targets(self, y, n: int) -> np.ndarray:
        """Return the targets for `__call__`, ``(n, ...)``, or raise ValueError."""

    @abstractmethod
    def __call__(self, targets: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the losses ``(n,)`` of responses ``(n, K)``."""


class SquaredError(Loss):
    """The squared error, averaged over the outputs."""

    name = "squared_error"

    def targets(self, y, n) -> NDArray[np.float64]:
        """Return the targets as numbers, ``(n, K)``."""
        k = self.response.n_columns
        y = np.asarray(y)
        if y.shape != (n, k) and (k > 1 or y.shape != (n,)):
            raise ValueError(
                f'{self.owner} with loss="squared_error" needs y of shape'
                f" {(n,) if k == 1 else (n, k)}, like the response; got {y.shape}."
            )
        numbers = as_floats(y)
        finite = (
            np.zeros(n)
            if numbers is None
            else np.isfinite(numbers.reshape(n, k)).all(axis=1)
        )
        if numbers is None or not finite.all():
            row = np.argmin(finite)
            raise ValueError(
                f'{self.owner} with loss="squared_error" needs finite numbers as y; got'
                f" {y[row]!r} at row {row}."
            )
        return numbers.reshape(n, k)

    def __call__(self, targets, values) -> NDArray[np.float64]:
        """Return the squared errors, ``(n,)``."""
        return ((targets - values) ** 2).mean(axis=1)


@dataclass(eq=False)
class LogLoss(Loss):
    """Minus the logarithm of the probability of the true class, clipped at 2e-16."""

    name = "log_loss"

    def __post_init__(self) -> None:
        response = self.response
        self._classes = flat_classes(response.estimator)
        is_method = isinstance(response.method, str) and response.method != FUNCTION
        if is_method and (response.method != "predict_proba" or self._classes is None):
            calibrate = "wrap it in sklearn.calibration.CalibratedClassifierCV, or "
            remedy = "" if response.method == "predict_proba" else calibrate
            raise ValueError(
                f'{self.owner} with loss="log_loss" needs the predict_proba of a classifier '
                f"of one target; got {response.method} of "
                f"{type(response.estimator).__name__}: {remedy}pass a callable loss of "
                "(y, response)."
            )

    def targets(self, y, n) -> NDArray[np.intp]:
        """Return the column of each row's class, ``(n,)`` int."""
        if np.shape(y) != (n,):
            raise ValueError(
                f'{self.owner} with loss="log_loss" needs one label per row as y, '
                f"shape ({n},); got shape {np.shape(y)}."
            )
        k = max(
            self.response.n_columns,
            2,
        )  # one column is the probability of the second class
        labels = self._classes
        classes = labels if labels is not None and len(labels) == k else list(range(k))
        columns = pd.Index(classes).get_indexer(y)
        if (columns < 0).any():
            row = np.argmin(columns)
            raise ValueError(
                f'{self.owner} with loss="log_loss" got the label '
                f"{np.asarray(y).tolist()[row]!r} at row {row}, but the model has "
                f"probabilities only for {classes}."
            )
        return columns

    def __call__(self, targets, values) -> NDArray[np.float64]:
        """Return the log losses, ``(n,)``."""
        if values.shape[1] == 1:
            # Binary responses keep the second class only.
            values = np.column_stack([1 - values, values])
        probabilities = values[np.arange(len(values)), targets]
        # Written with `not`, so that NaN fails too. The slack is for rounding in single
        # precision.
        if not (probabilities.min() >= -SLACK and probabilities.max() <= 1 + SLACK):
            wrong = probabilities[np.abs(probabilities - 0.5).argmax()]
            raise ModelOutputError(
                f'{self.owner} with loss="log_loss" needs probabilities; the model '
                f"returned {wrong:.6g}. Choose another response_method or loss."
            )
        # A probability of 0 would make the loss infinite, and every mean with it.
        return -np.log(np.clip(probabilities, TINY, 1.0))


@dataclass(eq=False)
class GivenLoss(Loss):
    """A function ``loss(y, response)`` that returns one number per row."""

    function: Callable[..., Any]

    def __post_init__(self) -> None:
        self.name = getattr(self.function, "__name__", self.name)

    def targets(self, y, n) -> np.ndarray:
        """Return y as an array."""
        if not np.ndim(y) or len(y) != n:
            raise ValueError(
                f"{self.owner} needs one value of y for each of {n} rows; got shape "
                f"{np.shape(y)}."
            )
        return np.asarray(y)

    def __call__(self, targets, values) -> NDArray[np.float64]:
        """Return the checked losses of the function, ``(n,)``."""
        n = len(values)
        raw = self.function(
            targets,
            values if self.response.names is not None else values[:, 0],
        )
        losses = as_floats(raw)
        if np.shape(raw) != (n,) or losses is None or not np.isfinite(losses).all():
            raise ModelOutputError(
                f"{self.owner} needs a loss(y, response) that returns one finite "
                f"number per row, shape ({n},); got shape {np.shape(raw)}: {raw!r:.40}."
            )
        return losses


LOSSES = {loss.name: loss for loss in (LogLoss, SquaredError)}
DEFAULTS: dict[str | None, str] = {
    "classifier": "log_loss",
    "regressor": "squared_error",
}


def resolve_loss(loss, response: Response, owner: str) -> Loss:
    """Return the loss for "auto", a name or a function.

    Raises
    ------
    ValueError
        For anything else, "auto" with a model that is neither a classifier nor a
        regressor, or a loss that does not fit the response.
    """
    if callable(loss):
        return GivenLoss(response, owner, loss)
    name = DEFAULTS.get(estimator_type(response.estimator)) if loss == "auto" else loss
    if isinstance(name, str) and name in LOSSES:
        return LOSSES[name](response, owner)
    raise ValueError(
        f"{owner} got loss={loss!r} for {response.estimator!r}: choose one of "
        f"{sorted(LOSSES)}, a function of (y, response) that returns one loss per row, "
        'or "auto" for a classifier or a regressor.'
    )


class LossGame(WrappedGame):
    """The game of a row: minus the loss of its mean response over the background.

    The loss is computed from a mean, so every coalition needs the whole background, or
    the row's own sample of it. The loss of a mean over q sampled rows has a bias
    proportional to 1/q. The losses of both halves remove it: 2 l(mean) - (l(first) +
    l(second))/2.

    Parameters
    ----------
    game : InterventionalGame
        The game of the whole response.
    loss : Loss
    targets : ndarray of shape (r, ...)
        From `Loss.targets`.
    references : ndarray of shape (r, q), int, or None
        The background rows of each row to explain, an even number; None for all of
        them.
    """

    def __init__(
        self,
        game: Game,
        loss: Loss,
        targets: np.ndarray,
        references: np.ndarray | None = None,
    ) -> None:
        super().__init__(game)
        self.n_outputs = 1
        self._loss = copy(loss)
        self._loss.response = loss.response.of(None)  # for workers
        self._targets = targets
        self._references = references
        self.by_row = ("_targets",)
        if references is not None:
            self.by_row = ("_targets", "_references")
            self.rows_per_value = references.shape[1]

    def __call__(self, coalitions, rows, references=None) -> NDArray[np.float64]:
        """Return minus the losses, ``(r, m, 1)``."""
        if self._references is None:
            return self.worth(self._game(coalitions, rows), rows)
        r, m, _ = coalitions.shape
        # Halves, not two samples: the mean over both is the mean that is needed anyway.
        against = np.tile(
            self._references[rows].reshape(len(rows), 2, -1),
            (1, m, 1),
        )  # for each coalition one half, then the other
        values = self._game(np.repeat(coalitions, 2, axis=1), rows, against)
        half_means = values.reshape(r, m, 2, -1).mean(axis=2)
        parts = self.worth(values, rows).reshape(r, m, 2, 1).mean(axis=2)
        # The bias of the halves is twice that of the whole, so the difference removes
        # it (Richardson).
        return 2 * self.worth(half_means, rows) - parts

    def worth(self, values, rows) -> NDArray[np.float64]:
        """Return minus the losses of responses ``(r, m, K)``."""
        r, m, k = values.shape
        targets = np.repeat(self._targets[rows], m, axis=0)
        return -self._loss(targets, values.reshape(r * m, k)).reshape(r, m, 1)
