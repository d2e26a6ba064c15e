"""Tables of any columns as numbers of which some can be hidden, for a regressor that takes NaN."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skshapley._tables._inputs import as_pandas

MOST_LEVELS = 254  # of a column that HistGradientBoosting takes as categories, with missing ones


class HiddenColumns:
    """Numbers for the columns of a table, NaN for those that are absent.

    Numbers stay. Other columns have a code for each level, with one for levels that the table does
    not have, and for missing ones. A column of numbers with gaps brings a second one, which says
    whether it is present.

    Parameters
    ----------
    table : array or frame of shape (b, d)
    """

    def __init__(self, table) -> None:
        frame = as_pandas(table)
        self._levels = [_levels(column) for _, column in frame.items()]
        gaps = [
            levels is None and column.isna().any()
            for levels, (_, column) in zip(self._levels, frame.items(), strict=True)
        ]
        self._gaps = np.flatnonzero(gaps)

    @property
    def categorical(self) -> NDArray[np.bool_]:
        """Which columns are codes of few levels, the second ones of columns with gaps included."""
        few = [levels is not None and len(levels) < MOST_LEVELS for levels in self._levels]
        return np.array(few + [False] * len(self._gaps))

    def numbers(self, table) -> NDArray[np.float64]:
        """Return a table ``(n, d)`` as numbers."""
        frame = as_pandas(table)
        columns = zip(self._levels, (column for _, column in frame.items()), strict=True)
        return np.column_stack([_numbers(levels, column) for levels, column in columns])

    def hidden(self, numbers, present) -> NDArray[np.float64]:
        """Return numbers ``(n, d)`` with NaN where they are not present, and the second columns."""
        shown = np.where(present, numbers, np.nan)
        return np.column_stack([shown, present[:, self._gaps].astype(float)])


def _levels(column) -> list | None:
    """Return the levels of a column that is not of numbers."""
    if pd.api.types.is_numeric_dtype(column):
        return None
    if column.dtype == object and pd.api.types.infer_dtype(column, skipna=True) in (
        "integer",
        "floating",
        "mixed-integer-float",
        "boolean",
    ):
        return None
    if isinstance(column.dtype, pd.CategoricalDtype):
        return list(column.cat.categories)
    return sorted(column.dropna().unique(), key=lambda level: (str(type(level)), str(level)))


def _numbers(levels, column) -> NDArray[np.float64]:
    if levels is None:
        numbers = pd.to_numeric(column.astype(object), errors="coerce")
        return numbers.to_numpy(np.float64, na_value=np.nan)
    place = {level: code for code, level in enumerate(levels)}
    return column.astype(object).map(place).fillna(len(levels)).to_numpy(np.float64)
