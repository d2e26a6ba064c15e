"""When an instance is done."""

from abc import ABC, abstractmethod

import numpy as np
from sklearn.base import BaseEstimator


class StoppingRule(BaseEstimator, ABC):
    """Base class of stopping rules: parameters only, and one question."""

    def check(self) -> None:
        """Refuse wrong parameters, before anything is evaluated."""

    @abstractmethod
    def done(self, values: np.ndarray, standard_errors: np.ndarray) -> np.ndarray:
        """Return which instances need no more evaluations, ``(r,)`` bool.

        Parameters
        ----------
        values, standard_errors : ndarray of shape (r, p, k)
        """


class StandardError(StoppingRule):
    """Stop an instance when every standard error is small enough.

    An instance is done when, for each output, the largest standard error is at most
    ``atol + rtol * (largest attribution - smallest attribution)``. Instances stop one by one.

    Parameters
    ----------
    rtol : float, default=0.0
        Relative to the range of the instance's attributions.
    atol : float, default=0.0
        Absolute, in the units of the model's response.

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley.stopping import StandardError
    >>> values, errors = np.array([[[1.0], [3.0]]]), np.array([[[0.05], [0.1]]])
    >>> StandardError(rtol=0.05).done(values, errors), StandardError(rtol=0.01).done(values, errors)
    (array([ True]), array([False]))
    """

    def __init__(self, rtol=0.0, atol=0.0):
        self.rtol = rtol
        self.atol = atol

    def check(self):
        """Refuse negative tolerances, and two zeros."""
        if not (self.rtol >= 0 and self.atol >= 0 and self.rtol + self.atol > 0):
            raise ValueError(
                f"StandardError needs rtol >= 0 and atol >= 0, not both 0; got rtol={self.rtol!r},"
                f" atol={self.atol!r}. Try rtol=0.05."
            )

    def done(self, values, standard_errors):
        """Return which instances are accurate enough; one without a standard error is not."""
        allowed = self.atol + self.rtol * np.ptp(values, axis=1)
        return (standard_errors.max(axis=1) <= allowed).all(axis=1)
