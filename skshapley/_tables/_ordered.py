"""Columns with an order, as numbers."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray


def ordered_numbers(column) -> NDArray[np.float64]:
    """Return a column as floats, ``(r,)``; NaN for missing values or a column without an order."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        codes = column.cat.codes.to_numpy(dtype=np.float64)
        # Colours from low to high suggest an order, which unordered categories do not
        # have.
        return np.where(column.cat.ordered & (codes >= 0), codes, np.nan)
    if pd.api.types.is_datetime64_any_dtype(
        column
    ) or pd.api.types.is_timedelta64_dtype(column):
        # NaT is the least int64 and would otherwise be the earliest date.
        counts = column.astype("int64").to_numpy(dtype=np.float64)
        return np.where(column.isna(), np.nan, counts)
    if pd.api.types.is_numeric_dtype(column):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    if column.dtype == object:
        # A table of numbers and strings in one ndarray has dtype object.
        numbers = pd.to_numeric(column, errors="coerce")
        if numbers.notna().sum() == column.notna().sum():
            return numbers.to_numpy(dtype=np.float64)
    return np.full(len(column), np.nan)
