"""Smooth functions of rows; samples should match the means of these over the table."""

from dataclasses import dataclass
from typing import Self

import numpy as np

N_FEATURES = 128
BANDWIDTH_PAIRS = 1000  # of rows, whose median distance is the bandwidth


@dataclass(frozen=True, eq=False)
class Features:
    """Random Fourier features of rows of standardised numbers.

    Rahimi & Recht (2007), Random features for large-scale kernel machines, NeurIPS.

    Attributes
    ----------
    frequencies : ndarray of shape (c, N_FEATURES)
    phases : ndarray of shape (N_FEATURES,)
    """

    frequencies: np.ndarray
    phases: np.ndarray

    @classmethod
    def of(cls, numbers: np.ndarray, rng: np.random.Generator) -> Self:
        """Return features that suit the rows ``(n, c)``."""
        n, c = numbers.shape
        first, second = rng.integers(0, n, size=(2, BANDWIDTH_PAIRS))
        distance = np.sqrt(((numbers[first] - numbers[second]) ** 2).sum(axis=1))
        bandwidth = np.median(distance[distance > 0]) if (distance > 0).any() else 1.0
        frequencies = rng.standard_normal((c, N_FEATURES)) / bandwidth
        return cls(frequencies, rng.uniform(0, 2 * np.pi, N_FEATURES))

    def __call__(self, numbers: np.ndarray) -> np.ndarray:
        """Return the features of rows ``(n, c)``, ``(n, N_FEATURES)`` float32."""
        return np.cos(numbers @ self.frequencies + self.phases).astype(np.float32)
