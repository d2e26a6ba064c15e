"""Responses that are a curve of linear terms."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skshapley.closed_forms._base import ClosedForm


class LinearCurve(ClosedForm):
    """A response ``curve(X @ coef + intercept)``; subclasses say which curve.

    Parameters
    ----------
    coef : array-like of shape (d,)
    intercept : float
    outputs : array-like of shape (1, k), default=((1.0,),)
        What the curve adds to each output.
    constant : array-like of shape (k,), default=(0.0,)
        What each output is without it.
    """

    def __init__(
        self, coef: Any, intercept: float, outputs: Any = ((1.0,),), constant: Any = (0.0,)
    ) -> None:
        self.coef: NDArray[np.float64] = np.asarray(coef, dtype=np.float64)
        self.intercept = float(intercept)
        self.outputs = np.asarray(outputs, dtype=np.float64)
        self.constant = np.asarray(constant, dtype=np.float64)
        self.n_outputs = self.outputs.shape[1]

    def combined(self, matrix: Any, constant: Any = 0.0) -> Self:
        """Return linear combinations of the outputs."""
        base = self.constant @ matrix + constant
        return type(self)(self.coef, self.intercept, self.outputs @ matrix, base)

    def state(self) -> list:
        """Return coefficients and intercept, and the outputs."""
        return [self.coef, self.intercept, self.outputs, self.constant]
