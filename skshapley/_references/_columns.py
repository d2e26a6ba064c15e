"""Columns of any table as numbers or codes, to compare rows."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from skshapley._tables._inputs import as_pandas
from skshapley._tools._random import generator

MOST_CELLS = 2**22  # largest sparse matrix to make dense: 32 MB
N_MIXTURES = 64
MOST_AT_ONCE = (
    2**16
)  # cells of columns to standardise at once; a large table is never copied
MOST_CATEGORIES = (
    8  # most categories with a column of their own; the other categories share one
)


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
    order = np.argsort(-np.bincount(codes), kind="stable")
    return np.argsort(order)[codes]


def is_category(column: np.ndarray) -> bool:
    """Return whether a column of `columns_of` is codes."""
    return column.dtype.kind == "i"


def standardised(
    columns: Iterable[np.ndarray], weights: np.ndarray, rows: Any = slice(None)
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
    numbers, left = [], iter(columns)
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


def numbers_of(columns: list[np.ndarray]) -> Iterator[np.ndarray]:
    """Yield the columns as numbers ``(n,)``, with one indicator for each frequent category."""
    for column in columns:
        if is_category(column):
            levels = range(min(column.max() + 1, MOST_CATEGORIES))
            yield from ((column == level).astype(np.float64) for level in levels)
        else:
            yield column
