"""Stopping rules: when a row is precise enough."""

from abc import ABC, abstractmethod

import numpy as np
from scipy.special import ndtr

from skshapley._tools import Number, Parametrised


class StoppingRule(Parametrised, ABC):
    """Base class of stopping rules, with one method `done`."""

    @abstractmethod
    def done(self, values: np.ndarray, standard_errors: np.ndarray) -> np.ndarray:
        """Return True for rows that need no more evaluations, ``(r,)`` bool.

        Parameters
        ----------
        values, standard_errors : ndarray of shape (r, p, k)
        """


class StandardError(StoppingRule):
    """Stop a row when all of its attributions are accurate enough, by their standard errors.

    The tolerance is ``atol + rtol * range``, where the range is that of the row's attributions. It
    holds for all attributions of an output together, with probability `confidence`. A row is done
    when, for each output,

        sum_i 2 Phi(-tol/SE_i) <= 1 - confidence,  tol = (atol + rtol * range)/(1 + 2 rtol).

    This bounds the probability that any normal error exceeds tol. The range of the estimates is at
    most 2 tol above the true one if no error exceeds tol. Then the errors are also within the
    tolerance of the true range. Otherwise, rows whose errors widen the range would stop first.

    With p equal standard errors, each may be tol/1.96 for p = 1, tol/2.8 for p = 10, and tol/3.3
    for p = 50. Rows stop one by one. The rule checks standard errors many times and may stop by
    chance; the bound leaves room for this (``doc/methods/odd_gp.md`` has measured shares).

    Parameters
    ----------
    rtol : float, default=0.0
        Tolerance relative to the range of the row's attributions.
    atol : float, default=0.0
        Absolute tolerance, in the units of the model's response.
    confidence : float, default=0.95
        Above 0 and below 1.

    References
    ----------
    Dunn (1961), Multiple comparisons among means, J. American Statistical Association 56 (the sum
    of probabilities).

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley.stopping import StandardError
    >>> values, errors = np.array([[[1.0], [3.0]]]), np.array([[[0.02], [0.04]]])
    >>> (
    ...     StandardError(rtol=0.05).done(values, errors),
    ...     StandardError(rtol=0.01).done(values, errors),
    ... )
    (array([ True]), array([False]))
    """

    _constraints = {
        "rtol": Number(least=0),
        "atol": Number(least=0),
        "confidence": Number(above=0, below=1, hint="try 0.95"),
    }

    def __init__(
        self,
        rtol: float = 0.0,
        atol: float = 0.0,
        confidence: float = 0.95,
    ) -> None:
        self.rtol = rtol
        self.atol = atol
        self.confidence = confidence

    def _check_together(self) -> None:
        if self.rtol == self.atol == 0:
            raise ValueError(
                f"StandardError got rtol={self.rtol!r} and atol={self.atol!r}: one of "
                "them must be above 0, or no row is accurate enough; try rtol=0.05."
            )

    def done(self, values: np.ndarray, standard_errors: np.ndarray) -> np.ndarray:
        """Return True for rows that are accurate enough; rows without standard errors are not."""
        allowed = (self.atol + self.rtol * np.ptp(values, axis=1))[:, None] / (
            1 + 2 * self.rtol
        )
        ratio = np.full(
            standard_errors.shape,
            np.inf,
        )  # an error of 0 is never too large
        np.divide(allowed, standard_errors, out=ratio, where=standard_errors != 0)
        # A sum, not a maximum: players with small errors contribute almost nothing to
        # it.
        chance = 2 * ndtr(-ratio).sum(axis=1)
        return (chance <= 1 - self.confidence).all(axis=1)


class RelativeError(StoppingRule):
    """Stop a row when its squared errors are small relative to its squared attributions.

    A row is done when the sum of its squared standard errors, over attributions and
    outputs, is at most rtol^2 times the sum of the squared attributions.
    ``stopping="auto"`` uses this rule with a relative error of about 5 %, which is
    sufficient for a picture and for the ranking of large values.

    Parameters
    ----------
    rtol : float, default=0.048
        Above 0. With the default, the mean squared error of converged rows was at most
        2.5e-3 of the squared attributions on each of nine tasks.

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley.stopping import RelativeError
    >>> values, errors = np.array([[[1.0], [3.0]]]), np.array([[[0.02], [0.1]]])
    >>> RelativeError().done(values, errors), RelativeError(0.01).done(values, errors)
    (array([ True]), array([False]))
    """

    _constraints = {"rtol": Number(above=0, hint="try 0.048")}

    def __init__(self, rtol: float = 0.048) -> None:
        self.rtol = rtol

    def done(self, values: np.ndarray, standard_errors: np.ndarray) -> np.ndarray:
        """Return True for rows that are accurate enough; rows without standard errors are not."""
        largest = np.maximum(np.abs(values), standard_errors).max(
            axis=(1, 2),
            keepdims=True,
        )
        unit = np.where(largest > 0, largest, 1.0)  # squares of large numbers overflow
        allowed = self.rtol**2 * ((values / unit) ** 2).sum(axis=(1, 2))
        return ((standard_errors / unit) ** 2).sum(axis=(1, 2)) <= allowed
