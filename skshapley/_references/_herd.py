"""A few rows that represent a table, by kernel herding, and its columns as numbers."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from skshapley._tables import as_pandas, n_rows
from skshapley._tools import generator, random_state

MOST_CELLS = 2**22  # largest sparse matrix to make dense: 32 MB
N_MIXTURES = 64
MOST_AT_ONCE = (
    2**16
)  # cells of columns to standardise at once; a large table is never copied
# Most categories with a column of their own; the other categories share one
MOST_CATEGORIES = 8


def columns_of(table: Any) -> list[np.ndarray]:
    """Return the columns of a table ``(n, d)``; for a large sparse table, mixtures of columns.

    A column has numbers (float64, NaN for missing ones), or codes of categories (int, 0
    for the most frequent one). Mixtures with random signs preserve distances of rows
    (Achlioptas 2003, Database-friendly random projections, Journal of Computer and
    System Sciences 66).
    """
    if sparse.issparse(table):
        if table.shape[0] * table.shape[1] > MOST_CELLS:
            signs = generator(0).choice([-1.0, 1.0], (table.shape[1], N_MIXTURES))
            return list((table @ signs).T)
        table = table.toarray()
    if isinstance(table, np.ndarray) and table.dtype.kind in "biuf":
        return list(table.astype(np.float64, copy=False).T)
    frame = as_pandas(table)
    return [_column(frame.iloc[:, j]) for j in range(frame.shape[1])]


def _column(series: pd.Series) -> np.ndarray:
    if pd.api.types.is_numeric_dtype(series.dtype):
        return series.to_numpy(dtype=np.float64, na_value=np.nan)
    if pd.api.types.is_datetime64_any_dtype(series.dtype):
        return series.astype("int64").to_numpy(dtype=np.float64)
    # Codes by frequency, so that the categories beyond the most frequent ones share the
    # last bin.
    codes, _ = pd.factorize(series.astype(object), use_na_sentinel=False)
    return np.argsort(np.argsort(-np.bincount(codes), kind="stable"))[codes]


def is_category(column: np.ndarray) -> bool:
    """Return whether a column of `columns_of` is codes."""
    return column.dtype.kind == "i"


def standardised(
    columns: Iterable[np.ndarray],
    weights: np.ndarray,
    rows: Any = slice(None),
) -> np.ndarray:
    """Return the varying columns with mean 0 and standard deviation 1; missing values are 0.

    Without any, it is a column of zeros.

    Parameters
    ----------
    columns : iterable of ndarrays of shape (n,)
        A few are read at once, to limit memory for large tables.
    weights : ndarray of shape (n,)
        With sum 1.
    rows : index of m rows, default=slice(None)
        The rows to return; means and standard deviations are over all rows.

    Returns
    -------
    numbers : ndarray of shape (m, c)
    """
    numbers = []
    left = iter(columns)
    while batch := list(islice(left, max(1, MOST_AT_ONCE // len(weights)))):
        table = np.stack(batch)
        finite = np.isfinite(table)
        filled = np.where(finite, table, 0.0)
        share = finite @ weights
        mean = filled @ weights / np.where(share > 0, share, 1.0)
        centred = np.where(finite, filled - mean[:, None], 0.0)
        spread = np.sqrt(centred**2 @ weights)
        varies = spread > 1e-9 * np.maximum(np.abs(mean), np.finfo(float).tiny)
        numbers.append((centred[varies][:, rows] / spread[varies, None]).T)
    matrix = np.concatenate(numbers, axis=1)
    return matrix if matrix.shape[1] else np.zeros((len(matrix), 1))


def indicators_of(columns: list[np.ndarray]) -> Iterator[np.ndarray]:
    """Yield the columns as numbers ``(n,)``, with one indicator for each frequent category."""
    for column in columns:
        if is_category(column):
            yield from (
                (column == level).astype(np.float64)
                for level in range(min(column.max() + 1, MOST_CATEGORIES))
            )
        else:
            yield column


N_FEATURES = 128
BANDWIDTH_PAIRS = 1000  # pairs of rows; their median distance is the bandwidth


Features = Callable[[np.ndarray], np.ndarray]


def fourier(
    numbers: np.ndarray,
    rng: np.random.Generator,
    count: int = N_FEATURES,
) -> Features:
    """Return random Fourier features with a bandwidth from the rows ``(n, c)``.

    They are the features of scikit-learn's `RBFSampler`, without its checks, which take
    longer than the features of a hundred rows.
    """
    first, second = rng.integers(0, len(numbers), size=(2, BANDWIDTH_PAIRS))
    differences = numbers.take(first, axis=0) - numbers.take(second, axis=0)
    squares = (differences**2).sum(axis=1)
    gamma = 1 / (2 * np.median(squares[squares > 0])) if squares.any() else 1.0
    law = random_state(rng)
    frequencies = (2.0 * gamma) ** 0.5 * law.normal(size=(numbers.shape[1], count))
    frequencies = frequencies.astype(numbers.dtype)
    phases = law.uniform(0, 2 * np.pi, size=count).astype(numbers.dtype)

    def features_of(rows: np.ndarray) -> np.ndarray:
        """Return the features of rows ``(n, c)``, ``(n, count)``."""
        features = rows @ frequencies
        features += phases
        np.cos(features, out=features)
        features *= (2.0 / count) ** 0.5
        return features

    return features_of


MOST_CANDIDATES = 2**16
CHUNK_ROWS = 2**14
# Share of the columns in the squared distance, beside smooth functions
LINEAR_SHARE = 0.25


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
    numbers = standardised(
        [
            *indicators_of(columns_of(table)),
            *(() if predictions is None else predictions.T),
        ],
        weights,
    )
    b = n_rows(table)
    take_all = b <= MOST_CANDIDATES
    candidates = (
        np.arange(b)
        if take_all
        else np.sort(rng.choice(b, MOST_CANDIDATES, replace=False))
    )
    smooth = fourier(numbers[candidates], rng)
    features = _features(numbers[candidates], smooth)
    chunks = [slice(at, at + CHUNK_ROWS) for at in range(0, b, CHUNK_ROWS)]
    target = (
        weights @ features
        if take_all
        else sum(weights[part] @ _features(numbers[part], smooth) for part in chunks)
    )
    squares = np.einsum("nm,nm->n", features, features)
    feature_sum = np.zeros(features.shape[1])
    selection = np.empty(n, dtype=np.intp)
    for t in range(n):
        # A float64 vector would convert all features in each step, which takes twice as
        # long.
        missing = ((t + 1) * target - feature_sum).astype(np.float32)
        gain = 2 * features @ missing - squares
        gain[selection[:t]] = -np.inf
        selection[t] = gain.argmax()
        feature_sum += features[selection[t]]
    return candidates[selection]


def _features(numbers: np.ndarray, smooth: Features) -> np.ndarray:
    """Return weighted smooth functions of rows and the rows themselves, ``(n, m)``."""
    linear = numbers * np.sqrt(LINEAR_SHARE / numbers.shape[1])
    return np.concatenate([smooth(numbers), linear], axis=1).astype(np.float32)
