"""Means over rows with the covariance of their errors, taken in batch by batch."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np


@dataclass(frozen=True, eq=False)
class Means:
    """Means of m numbers over rows, and how they vary together over samples of rows.

    Attributes
    ----------
    values : ndarray of shape (m,)
    covariance : ndarray of shape (m, m)
        Of the means; NaN for a single row.
    n : float
        Rows, or as many as the weights are worth.
    """

    values: np.ndarray
    covariance: np.ndarray
    n: float

    @classmethod
    def of(cls, scores: np.ndarray, weights: np.ndarray) -> Self:
        """Return the weighted means of ``(n, m)`` numbers, by weights of sum 1."""
        values = weights @ scores
        centred = weights[:, None] * (scores - values)
        freedom = 1 - float(weights @ weights)
        if freedom <= 0:
            return cls(values, np.full((len(values), len(values)), np.nan), 1.0)
        return cls(values, centred.T @ centred / freedom, 1 / float(weights @ weights))

    @classmethod
    def of_batches(cls, batches: Iterable[np.ndarray]) -> Self:
        """Return the means of ``(n, m)`` numbers, given some rows at a time.

        Squares are merged batch by batch (Chan, Golub & LeVeque 1983).
        """
        n, values, squares = 0, np.zeros(0), np.zeros((0, 0))
        for scores in batches:
            size = len(scores)
            if not size:
                continue
            mean = scores.mean(axis=0)
            centred = scores - mean
            if not n:
                n, values, squares = size, mean, centred.T @ centred
                continue
            shift = mean - values
            squares = (
                squares + centred.T @ centred + np.outer(shift, shift) * (n * size / (n + size))
            )
            values, n = values + shift * (size / (n + size)), n + size
        unknown = np.full(squares.shape, np.nan)
        return cls(values, squares / (n * (n - 1)) if n > 1 else unknown, float(n))

    @property
    def errors(self) -> np.ndarray:
        """Standard errors ``(m,)``."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def degrees(self) -> float:
        """Degrees of freedom of the standard errors."""
        return max(self.n - 1, 1.0)
