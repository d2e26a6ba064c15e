"""The columns of the model's input in a page that computes, and their values."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skshapley._tables._inputs import as_rows_of, is_frame

# Values of an ordered column to offer, evenly spaced among those of the background
MOST_VALUES = 100
# Offered numbers reach beyond the background by this share of its range
BEYOND = 0.25
N_BEYOND = 5


@dataclass(frozen=True, eq=False)
class RawColumn:
    """A column of the model's input.

    Attributes
    ----------
    name : str
    offered : Series
        The values to choose from, sorted, without missing ones.
    background : Series
        The values of the background.
    missing : Series of length 1 or 0
        A missing value of the column, if it can be missing.
    """

    name: str
    offered: pd.Series
    background: pd.Series
    missing: pd.Series

    @classmethod
    def of(cls, name: Any, background: pd.Series, rows: pd.Series) -> Self:
        """Return a column with the values of the background and of the shown rows."""
        values = pd.concat([background, rows.astype(background.dtype)])
        if isinstance(values.dtype, pd.CategoricalDtype):
            offered = pd.Series(values.cat.categories).astype(values.dtype)
        else:
            offered = values.dropna().drop_duplicates()
            try:
                offered = offered.sort_values(ignore_index=True)
            except TypeError:  # values of several types
                offered = offered.sort_values(
                    ignore_index=True, key=lambda x: x.map(str)
                )
        dtype = values.dtype
        missing = values[values.isna()].iloc[:1]
        # arrays of integers and truths have no missing values
        if missing.empty and not (isinstance(dtype, np.dtype) and dtype.kind in "biu"):
            missing = pd.Series([np.nan], dtype=dtype)
        column = cls(str(name), offered, background, missing)
        return column._thinned(rows) if column.ordered else column

    @property
    def number(self) -> bool:
        """True for numbers other than truths."""
        dtype = self.offered.dtype
        return pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(
            dtype
        )

    @property
    def ordered(self) -> bool:
        """True for numbers and dates, which have a slider."""
        return self.number or pd.api.types.is_datetime64_any_dtype(self.offered.dtype)

    def _thinned(self, rows: pd.Series) -> Self:
        """Return the column with fewer values: quantiles, all in the rows, and some beyond."""
        places = np.linspace(0, len(self.offered) - 1, MOST_VALUES).astype(np.intp)
        values = [self.offered.iloc[np.unique(places)], rows.dropna()]
        if self.number and len(self.offered):
            low, high = float(self.offered.min()), float(self.offered.max())
            steps = np.arange(1, N_BEYOND + 1) / N_BEYOND * BEYOND * (high - low)
            outside = np.concatenate([low - steps, high + steps])
            if self.whole:
                outside = np.round(outside)
            # unsigned integers have no values below zero
            outside = outside[outside >= 0] if low >= 0 else outside
            values.append(pd.Series(outside))
        dtype = self.offered.dtype
        offered = pd.concat([part.astype(dtype) for part in values])
        offered = offered.drop_duplicates().sort_values(ignore_index=True)
        return type(self)(self.name, offered, self.background, self.missing)

    @property
    def whole(self) -> bool:
        """True for a column of integers."""
        return pd.api.types.is_integer_dtype(self.offered.dtype)

    @property
    def single(self) -> bool:
        """True for numbers in single precision."""
        return self.offered.dtype == np.float32

    @property
    def probes(self) -> pd.Series:
        """The offered values, and a missing one if the column can be missing."""
        return pd.concat([self.offered, self.missing], ignore_index=True)

    def codes(self, values: pd.Series) -> NDArray[np.intp]:
        """Return the positions of values among those offered; -1 for missing ones."""
        return pd.Index(self.offered).get_indexer(pd.Index(values))


def probe_table(base: pd.DataFrame, columns: list[RawColumn]) -> pd.DataFrame:
    """Return copies of one row, in which each column in turn takes its offered values.

    Parameters
    ----------
    base : DataFrame of shape (1, d)
    columns : list of RawColumn

    Returns
    -------
    table : DataFrame of shape (total number of offered values, d)
    """
    sizes = [len(column.probes) for column in columns]
    before = np.cumsum([0, *sizes])
    probes = []
    for place, column in enumerate(columns):
        start = before[place]
        values = base.iloc[[0] * (before[-1] - sizes[place]), place]
        parts = [values.iloc[:start], column.probes, values.iloc[start:]]
        probes.append(pd.concat(parts, ignore_index=True).astype(values.dtype))
    return pd.concat(probes, axis=1).set_axis(base.columns, axis=1)


def in_container(table: pd.DataFrame, like: Any) -> Any:
    """Return a table in the container of the background."""
    if not is_frame(like):
        return table.to_numpy(dtype=like.dtype)
    if isinstance(like, pd.DataFrame):
        return table
    return as_rows_of(table.to_dict("list"), like, "the what-if page")
