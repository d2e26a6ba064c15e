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
        """Return the means of ``(n, m)`` numbers, given some rows at a time."""
        tally = Tally()
        for scores in batches:
            tally.add(scores)
        return cls(*tally.means())

    def minus(self, other: "Means") -> "Means":
        """Return the differences to means over other rows, with Welch's degrees of freedom.

        The fewest of the degrees of all means, which is on the safe side.
        """
        mine, theirs = np.diag(self.covariance), np.diag(other.covariance)
        squares = mine**2 / self.degrees + theirs**2 / other.degrees
        total = (mine + theirs) ** 2
        known = squares > 0
        degrees = (total[known] / squares[known]).min() if known.any() else self.degrees
        return Means(self.values - other.values, self.covariance + other.covariance, degrees + 1)

    def part(self, which: np.ndarray | slice) -> "Means":
        """Return some of the means."""
        return Means(self.values[which], self.covariance[which][:, which], self.n)

    @property
    def errors(self) -> np.ndarray:
        """Standard errors ``(m,)``."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def degrees(self) -> float:
        """Degrees of freedom of the standard errors."""
        return max(self.n - 1, 1.0)


class Tally:
    """Sums over rows that come batch by batch.

    Squares are merged batch by batch (Chan, Golub & LeVeque 1983).
    """

    def __init__(self) -> None:
        self.n = 0
        self._mean, self._squares = np.zeros(0), np.zeros((0, 0))

    def add(self, scores: np.ndarray) -> None:
        """Take in numbers ``(n, m)`` of some rows, or of none."""
        size = len(scores)
        if not size:
            return
        mean = scores.mean(axis=0)
        centred = scores - mean
        own = centred.T @ centred
        if not self.n:
            self.n, self._mean, self._squares = size, mean, own
            return
        shift = mean - self._mean
        whole = self.n + size
        self._squares = self._squares + own + np.outer(shift, shift) * (self.n * size / whole)
        self._mean, self.n = self._mean + shift * (size / whole), whole

    def means(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Return what `Means` holds."""
        if self.n < 2:
            return self._mean, np.full(self._squares.shape, np.nan), float(self.n)
        return self._mean, self._squares / (self.n * (self.n - 1)), float(self.n)
