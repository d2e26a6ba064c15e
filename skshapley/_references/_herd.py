"""A few rows that represent a table, by kernel herding on random Fourier features."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from skshapley._references._columns import columns_of, numbers_of, standardised
from skshapley._tables._inputs import n_rows

N_FEATURES = 128
BANDWIDTH_PAIRS = 1000  # of rows; their median distance is the bandwidth


@dataclass(frozen=True, eq=False)
class Features:
    """Random Fourier features of rows of standardised numbers.

    Rahimi & Recht (2007), Random features for large-scale kernel machines, NeurIPS.

    Attributes
    ----------
    frequencies : ndarray of shape (c, m)
    phases : ndarray of shape (m,)
    """

    frequencies: np.ndarray
    phases: np.ndarray

    @classmethod
    def of(cls, numbers: np.ndarray, rng: np.random.Generator, count: int = N_FEATURES) -> Self:
        """Return `count` features with a bandwidth from the rows ``(n, c)``."""
        n, c = numbers.shape
        first, second = rng.integers(0, n, size=(2, BANDWIDTH_PAIRS))
        distance = np.sqrt(((numbers[first] - numbers[second]) ** 2).sum(axis=1))
        bandwidth = np.median(distance[distance > 0]) if (distance > 0).any() else 1.0
        frequencies = rng.standard_normal((c, count)) / bandwidth
        return cls(frequencies, rng.uniform(0, 2 * np.pi, count))

    def __call__(self, numbers: np.ndarray) -> np.ndarray:
        """Return the features of rows ``(n, c)``, ``(n, m)`` float32."""
        return np.cos(numbers @ self.frequencies + self.phases).astype(np.float32)


MOST_CANDIDATES = 2**16
CHUNK_ROWS = 2**14
LINEAR_SHARE = 0.25  # share of the columns in the squared distance, beside smooth functions


def herded(
    table, n: int, predictions: np.ndarray | None, weights: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Choose n rows with mean features close to the weighted table's, ``(n,)`` int.

    Greedy choice under the kernel of random Fourier features and of the columns themselves (Chen,
    Welling & Smola 2010, Super-samples from kernel herding, UAI). Features of a very large table
    are averaged over all rows, and the rows chosen among 65536.

    Parameters
    ----------
    table : array or frame of shape (b, d)
    n : int
        At most b.
    predictions : ndarray of shape (b, k) or None
        Further columns to match.
    weights : ndarray of shape (b,)
        With sum 1.
    rng : numpy.random.Generator
    """
    parts = [*numbers_of(columns_of(table)), *(() if predictions is None else predictions.T)]
    numbers = standardised(parts, weights)
    b = n_rows(table)
    few = b <= MOST_CANDIDATES
    candidates = np.arange(b) if few else np.sort(rng.choice(b, MOST_CANDIDATES, replace=False))
    smooth = Features.of(numbers[candidates], rng)
    features = _features(numbers[candidates], smooth)
    wanted = weights @ features if few else _mean(numbers, weights, smooth)
    squares = np.einsum("nm,nm->n", features, features)
    taken, chosen = np.zeros(features.shape[1]), np.empty(n, dtype=np.intp)
    for t in range(n):
        gain = 2 * features @ ((t + 1) * wanted - taken) - squares
        gain[chosen[:t]] = -np.inf
        chosen[t] = gain.argmax()
        taken += features[chosen[t]]
    return candidates[chosen]


def _features(numbers: np.ndarray, smooth: Features) -> np.ndarray:
    """Return weighted smooth functions of rows and the rows themselves, ``(n, m)``."""
    linear = numbers * np.sqrt(LINEAR_SHARE / max(numbers.shape[1], 1))
    return np.concatenate([smooth(numbers) / np.sqrt(N_FEATURES / 2), linear], axis=1)


def _mean(numbers: np.ndarray, weights: np.ndarray, smooth: Features) -> np.ndarray:
    """Return the weighted mean of the features, chunk by chunk."""
    starts = range(0, len(numbers), CHUNK_ROWS)
    chunks = (slice(start, start + CHUNK_ROWS) for start in starts)
    return sum(weights[chunk] @ _features(numbers[chunk], smooth) for chunk in chunks)
