"""Means over rows, with standard errors and tests."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import stdtr


@dataclass(frozen=True, eq=False)
class Means:
    """Means of m numbers over rows, and their covariance over samples of rows.

    Attributes
    ----------
    values : ndarray of shape (m,)
    covariance : ndarray of shape (m, m)
        The covariance of the means; NaN for a single row.
    n : float
        Number of rows, or the effective number of weighted rows.
    third : ndarray of shape (m,)
        Third central moments of the means.
    below, above : ndarray of shape (m,)
        Distances from the means to the smallest and to the largest number.
    """

    values: np.ndarray
    covariance: np.ndarray
    n: float
    third: np.ndarray
    below: np.ndarray
    above: np.ndarray

    @classmethod
    def of(cls, scores: np.ndarray, weights: np.ndarray) -> Self:
        """Return the weighted means of ``(n, m)`` numbers, by weights of sum 1."""
        values = weights @ scores
        below = values - scores.min(axis=0)
        above = scores.max(axis=0) - values
        centred = weights[:, None] * (scores - values)
        freedom = 1 - float(weights @ weights)
        if freedom <= 0:
            m = len(values)
            unknown = np.full((m, m), np.nan)
            return cls(values, unknown, 1.0, np.zeros(m), below, above)
        third = (centred**3).sum(axis=0)
        covariance = centred.T @ centred / freedom
        n = 1 / float(weights @ weights)
        return cls(values, covariance, n, third, below, above)

    @classmethod
    def of_batches(cls, batches: Iterable[np.ndarray]) -> Self:
        """Return the means of ``(n, m)`` numbers, given some rows at a time."""
        n, origin = 0, np.zeros(0)
        sums: list = [np.zeros(0), np.zeros((0, 0)), np.zeros(0)]
        least = most = np.zeros(0)
        for scores in filter(len, batches):
            if not n:  # powers around the first mean lose no digits to a large mean
                origin, sums = scores.mean(axis=0), [0.0, 0.0, 0.0]
                least = most = origin
            least = np.minimum(least, scores.min(axis=0))
            most = np.maximum(most, scores.max(axis=0))
            centred, n = scores - origin, n + len(scores)
            powers = centred.sum(axis=0), centred.T @ centred, (centred**3).sum(axis=0)
            sums = [total + power for total, power in zip(sums, powers, strict=True)]
        first, squares, cubes = (total / max(n, 1) for total in sums)
        third = cubes - 3 * first * np.diag(squares) + 2 * first**3
        covariance = np.full(squares.shape, np.nan)
        if n > 1:
            covariance = (squares - np.outer(first, first)) / (n - 1)
        values = origin + first
        third /= max(n, 1) ** 2
        below, above = values - least, most - values
        return cls(values, covariance, float(n), third, below, above)

    def minus(self, other: "Means") -> "Means":
        """Return the differences to means over other rows, with Welch's degrees of freedom.

        The smallest degrees of freedom over all means are used, which is conservative.
        """
        mine, subtracted = np.diag(self.covariance), np.diag(other.covariance)
        squares = mine**2 / self.degrees + subtracted**2 / other.degrees
        total = (mine + subtracted) ** 2
        varies = squares > 0
        degrees = (
            (total[varies] / squares[varies]).min() if varies.any() else self.degrees
        )
        return Means(
            self.values - other.values,
            self.covariance + other.covariance,
            degrees + 1,
            self.third - other.third,
            self.below + other.above,
            self.above + other.below,
        )

    def part(self, which: np.ndarray | slice) -> "Means":
        """Return some of the means."""
        covariance = self.covariance[which][:, which]
        vectors = self.third, self.below, self.above
        parts = [vector[which] for vector in vectors]
        return Means(self.values[which], covariance, self.n, *parts)

    @property
    def errors(self) -> np.ndarray:
        """Standard errors ``(m,)``."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def skewness(self) -> np.ndarray:
        """Skewness of the means, ``(m,)``; 0 where nothing varies."""
        errors = self.errors
        return np.divide(
            self.third, errors**3, out=np.zeros(len(errors)), where=errors > 0
        )

    @property
    def degrees(self) -> float:
        """Degrees of freedom of the standard errors."""
        return max(self.n - 1, 1.0)


def p_values(means: Means, two_sided: bool = False) -> np.ndarray:
    """Return p-values ``(m,)`` of means against zero, by Student's t.

    Parameters
    ----------
    means : Means
    two_sided : bool, default=False
        Whether negative means count as evidence, too.

    Returns
    -------
    p_values : ndarray of shape (m,)
        1 where a mean is zero without an error; NaN for a single row.
    """
    values, errors = means.values, means.errors
    sizes = np.abs(values) if two_sided else values
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(errors == 0, np.where(sizes > 0, np.inf, -np.inf), sizes / errors)
    p = stdtr(means.degrees, -t)
    return np.minimum(2 * p, 1.0) if two_sided else p


def adjusted(p: np.ndarray) -> np.ndarray:
    """Return p-values adjusted for the false discovery rate: select the values up to q for rate q.

    By Benjamini & Yekutieli (2001), for any dependence between the tests; NaN stay NaN.
    """
    from scipy.stats import false_discovery_control

    result = np.full(p.shape, np.nan)
    finite = np.isfinite(p)
    if finite.any():
        result[finite] = false_discovery_control(p[finite], method="by")
    return result
