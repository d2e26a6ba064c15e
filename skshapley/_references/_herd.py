"""A few rows that represent a table, by kernel herding on random Fourier features."""

from typing import NamedTuple

import numpy as np

from skshapley._references._columns import columns_of, numbers_of, standardised
from skshapley._tables._inputs import n_rows
from skshapley._tools._random import random_state

N_FEATURES = 128
BANDWIDTH_PAIRS = 1000  # pairs of rows; their median distance is the bandwidth


class Fourier(NamedTuple):
    """Random Fourier features, as of scikit-learn's `RBFSampler`, without its checks.

    The checks take longer than the features of a hundred rows.

    Attributes
    ----------
    frequencies : ndarray of shape (c, m)
    phases : ndarray of shape (m,)
    """

    frequencies: np.ndarray
    phases: np.ndarray

    def __call__(self, numbers: np.ndarray) -> np.ndarray:
        """Return the features of rows ``(n, c)``, ``(n, m)``."""
        features = numbers @ self.frequencies
        features += self.phases
        np.cos(features, out=features)
        features *= (2.0 / len(self.phases)) ** 0.5
        return features


def fourier(
    numbers: np.ndarray, rng: np.random.Generator, count: int = N_FEATURES
) -> Fourier:
    """Return random Fourier features with a bandwidth from the rows ``(n, c)``."""
    first, second = rng.integers(0, len(numbers), size=(2, BANDWIDTH_PAIRS))
    squares = ((numbers[first] - numbers[second]) ** 2).sum(axis=1)
    gamma = 1 / (2 * np.median(squares[squares > 0])) if squares.any() else 1.0
    law = random_state(rng)
    frequencies = (2.0 * gamma) ** 0.5 * law.normal(size=(numbers.shape[1], count))
    phases = law.uniform(0, 2 * np.pi, size=count)
    return Fourier(frequencies.astype(numbers.dtype), phases.astype(numbers.dtype))


MOST_CANDIDATES = 2**16
CHUNK_ROWS = 2**14
LINEAR_SHARE = (
    0.25  # share of the columns in the squared distance, beside smooth functions
)


def herded(
    table,
    n: int,
    predictions: np.ndarray | None,
    weights: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """Choose n rows with mean features close to the weighted table's, ``(n,)`` int.

    Greedy choice under the kernel of random Fourier features and of the columns
    themselves (Chen, Welling & Smola 2010, Super-samples from kernel herding, UAI).
    Features of a very large table are averaged over all rows, and the rows chosen among
    65536.

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
    parts = [
        *numbers_of(columns_of(table)),
        *(() if predictions is None else predictions.T),
    ]
    numbers = standardised(parts, weights)
    b = n_rows(table)
    take_all = b <= MOST_CANDIDATES
    candidates = (
        np.arange(b)
        if take_all
        else np.sort(rng.choice(b, MOST_CANDIDATES, replace=False))
    )
    smooth = fourier(numbers[candidates], rng)
    features = _features(numbers[candidates], smooth)
    target = weights @ features if take_all else _mean(numbers, weights, smooth)
    squares = np.einsum("nm,nm->n", features, features)
    feature_sum, selection = np.zeros(features.shape[1]), np.empty(n, dtype=np.intp)
    for t in range(n):
        # A float64 vector would convert all features in each step, which takes twice as
        # long.
        missing = ((t + 1) * target - feature_sum).astype(np.float32)
        gain = 2 * features @ missing - squares
        gain[selection[:t]] = -np.inf
        selection[t] = gain.argmax()
        feature_sum += features[selection[t]]
    return candidates[selection]


def _features(numbers: np.ndarray, smooth: Fourier) -> np.ndarray:
    """Return weighted smooth functions of rows and the rows themselves, ``(n, m)``."""
    linear = numbers * np.sqrt(LINEAR_SHARE / numbers.shape[1])
    return np.concatenate([smooth(numbers), linear], axis=1).astype(np.float32)


def _mean(numbers: np.ndarray, weights: np.ndarray, smooth: Fourier) -> np.ndarray:
    """Return the weighted mean of the features, chunk by chunk."""
    starts = range(0, len(numbers), CHUNK_ROWS)
    chunks = (slice(start, start + CHUNK_ROWS) for start in starts)
    return sum(weights[chunk] @ _features(numbers[chunk], smooth) for chunk in chunks)
