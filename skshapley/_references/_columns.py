"""Columns of any table as numbers or codes, to compare rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from skshapley._tables._inputs import as_pandas
from skshapley._tools._random import generator

MOST_CELLS = 2**22  # of a sparse matrix that is made dense: 32 MB
N_MIXTURES = 64
MOST_CATEGORIES = 8  # that have a column of their own; the rest share one


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a table.

    Attributes
    ----------
    content : ndarray of shape (n,)
        Numbers, float64, NaN where missing; or codes of categories, int, the most frequent being 0.
    """

    content: np.ndarray

    @property
    def is_category(self) -> bool:
        """Whether the content are codes."""
        return self.content.dtype.kind == "i"

    @property
    def numbers(self) -> np.ndarray:
        """Numbers as they are; a column for each of the most frequent categories: ``(n, c)``."""
        if not self.is_category:
            return self.content[:, None]
        count = min(self.content.max() + 1, MOST_CATEGORIES)
        return (self.content[:, None] == np.arange(count)).astype(np.float64)


def columns_of(table: Any) -> list[Column]:
    """Return the columns of a table ``(n, d)``; of a large sparse one, some mixtures of them.

    Mixtures with random signs keep the distances of rows (Achlioptas 2003, Database-friendly random
    projections, Journal of Computer and System Sciences 66).
    """
    if sparse.issparse(table):
        if table.shape[0] * table.shape[1] > MOST_CELLS:
            signs = generator(0).choice([-1.0, 1.0], (table.shape[1], N_MIXTURES))
            return [Column(column) for column in (table @ signs).T]
        table = table.toarray()
    if isinstance(table, np.ndarray) and table.dtype.kind in "biuf":
        return [Column(column.astype(np.float64)) for column in table.T]
    frame = as_pandas(table)
    return [_column(frame.iloc[:, j]) for j in range(frame.shape[1])]


def _column(series: pd.Series) -> Column:
    if pd.api.types.is_numeric_dtype(series.dtype):
        return Column(series.to_numpy(dtype=np.float64, na_value=np.nan))
    if pd.api.types.is_datetime64_any_dtype(series.dtype):
        return Column(series.astype("int64").to_numpy(dtype=np.float64))
    codes, _ = pd.factorize(series.astype(object), use_na_sentinel=False)
    order = np.argsort(-np.bincount(codes), kind="stable")
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    return Column(rank[codes])


def standardised(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return columns ``(n, c)`` of mean 0 and spread 1, those that vary; missing values are 0.

    Parameters
    ----------
    values : ndarray of shape (n, c)
    weights : ndarray of shape (n,)
        With sum 1.
    """
    finite = np.isfinite(values)
    share = weights @ finite
    filled = np.where(finite, values, 0.0)
    mean = (weights @ filled) / np.where(share > 0, share, 1.0)
    centred = np.where(finite, filled - mean, 0.0)
    spread = np.sqrt(weights @ centred**2)
    varies = spread > 1e-9 * np.maximum(np.abs(mean), np.finfo(float).tiny)
    return centred[:, varies] / spread[varies]


def numbers_of(columns: list[Column]) -> np.ndarray:
    """Return all columns side by side as numbers, categories by their indicators, ``(n, c)``."""
    return np.concatenate([column.numbers for column in columns], axis=1)
