"""The way from raw columns to the numbers of the terms, as a script can compute it."""

import warnings
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skshapley._tables import as_rows_of, is_frame, shorten
from skshapley._ways._base import Way
from skshapley._what_if._terms import WRITERS, Leaf, Term, leaves
from skshapley.exceptions import UnreadableModelError

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
    linear : bool, default=True
        Whether all terms are linear in the numbers of the column.
    """

    name: str
    offered: pd.Series
    background: pd.Series
    missing: pd.Series
    linear: bool = True

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
                    ignore_index=True,
                    key=lambda x: x.map(str),
                )
        dtype = values.dtype
        missing = values[values.isna()].iloc[:1]
        # arrays of integers and truths have no missing values
        if missing.empty and not (isinstance(dtype, np.dtype) and dtype.kind in "biu"):
            missing = pd.Series([np.nan], dtype=dtype)
        column = cls(str(name), offered, background, missing)
        # numbers and dates have a slider
        ordered = column.number or pd.api.types.is_datetime64_any_dtype(offered.dtype)
        return column._thinned(rows) if ordered else column

    @property
    def number(self) -> bool:
        """True for numbers other than truths."""
        dtype = self.offered.dtype
        return pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(
            dtype
        )

    def _thinned(self, rows: pd.Series) -> Self:
        """Return the column with fewer values: quantiles, all in the rows, and some beyond."""
        places = np.linspace(0, len(self.offered) - 1, MOST_VALUES).astype(np.intp)
        values = [self.offered.iloc[np.unique(places)], rows.dropna()]
        if self.number and len(self.offered):
            low = float(self.offered.min())
            high = float(self.offered.max())
            steps = np.arange(1, N_BEYOND + 1) / N_BEYOND * BEYOND * (high - low)
            outside = np.concatenate([low - steps, high + steps])
            if pd.api.types.is_integer_dtype(self.offered.dtype):
                outside = np.round(outside)
            # unsigned integers have no values below zero
            outside = outside[outside >= 0] if low >= 0 else outside
            values.append(pd.Series(outside))
        offered = pd.concat([part.astype(self.offered.dtype) for part in values])
        return replace(
            self,
            offered=offered.drop_duplicates().sort_values(ignore_index=True),
        )

    @property
    def probes(self) -> pd.Series:
        """The offered values, and a missing one if the column can be missing."""
        return pd.concat([self.offered, self.missing], ignore_index=True)

    def cells(self, values: pd.Series) -> list:
        """Return numbers, with None for missing ones, or the positions of offered values.

        Only linear columns take numbers that are not offered. The position of a missing
        value is -1.
        """
        if self.number and self.linear:
            return _numbers(values.to_numpy(float, na_value=np.nan))
        return pd.Index(self.offered).get_indexer(pd.Index(values)).tolist()

    def record(self) -> dict[str, Any]:
        """Return the column for the script, with its values unless it takes any number."""
        record: dict[str, Any] = {"name": self.name, "missing": not self.missing.empty}
        if not self.number:
            return record | {
                "kind": "choice",
                "values": [shorten(value, LETTERS) for value in self.offered],
                "known": sorted(set(self.cells(self.background.drop_duplicates()))),
            }
        values = self.background.dropna().to_numpy(float)
        quantiles = np.quantile(values, QUANTILES) if len(values) else np.zeros(5)
        range_ = [values.min(initial=np.inf), values.max(initial=-np.inf)]
        record |= {
            "whole": pd.api.types.is_integer_dtype(self.offered.dtype),
            "single": self.offered.dtype == np.float32,
            "quantiles": quantiles.tolist(),
            "range": range_ if len(values) else [0, 0],
            "kind": "number" if self.linear else "steps",
        }
        if not self.linear:
            record["values"] = _numbers(self.offered.to_numpy(float))
        return record


def probe_table(
    base: pd.DataFrame,
    columns: list[RawColumn],
    owner: NDArray[np.intp],
) -> pd.DataFrame:
    """Return copies of one row, in which each column in turn takes its offered values.

    Parameters
    ----------
    base : DataFrame of shape (1, d)
    columns : list of RawColumn
    owner : ndarray of shape (n,), int
        The column that is changed in each copy.

    Returns
    -------
    table : DataFrame of shape (n, d)
    """
    table = base.iloc[[0] * len(owner)].copy()  # pandas 2 warns without a copy
    for place, column in enumerate(columns):
        table.iloc[np.flatnonzero(owner == place), place] = column.probes.array
    return table


def in_container(table: pd.DataFrame, like: Any) -> Any:
    """Return a table in the container of the background."""
    if not is_frame(like):
        return table.to_numpy(dtype=like.dtype)
    if isinstance(like, pd.DataFrame):
        return table
    return as_rows_of(table.to_dict("list"), like, "the what-if page")


# relative to the largest number of a column
ROUNDING = 1e-12
# predictions for a missing value: models may compute in single precision
RESPONSE_RTOL = 1e-5
QUANTILES = (0.01, 0.25, 0.5, 0.75, 0.99)
LETTERS = 120  # longer names of categories are shortened
# Errors of models and steps that refuse a missing value
REFUSALS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


def form_inputs(way: Way, table: Any) -> Any:
    """Return a raw table as the closed form of a way takes it."""
    return table if way.reward is None else way.reward.masked_.inputs(table)


def leaves_of(way: Way, table: Any) -> list[Leaf]:
    """Return the parts of a way's closed form, with their matrices for a raw table."""
    return leaves(way.form, form_inputs(way, table))


@dataclass(frozen=True, eq=False)
class Encoder:
    """A number of a term as a function of one raw column.

    Attributes
    ----------
    source : int
        The raw column.
    table : ndarray of shape (n_offered,)
        The number for each offered value.
    missing : float
        The number for a missing value; NaN if it cannot be missing.
    line : tuple of (slope, offset), or None
        If the number is a linear function of the value.
    """

    source: int
    table: NDArray[np.float64]
    missing: float
    line: tuple[float, float] | None

    @classmethod
    def of(cls, column: RawColumn, source: int, numbers: NDArray[np.float64]) -> Self:
        """Return the encoder of the numbers for the values in `RawColumn.probes`."""
        n = len(column.offered)
        return cls(
            source,
            numbers[:n],
            np.nan if column.missing.empty else float(numbers[n]),
            _line(column.offered.to_numpy(float), numbers[:n])
            if column.number
            else None,
        )

    def record(self, linear: bool) -> dict[str, Any]:
        """Return the encoder for the script; missing numbers are null."""
        missing = None if np.isnan(self.missing) else self.missing
        record: dict[str, Any] = {"of": self.source, "missing": missing}
        if linear and self.line is not None:
            return record | dict(zip(("slope", "offset"), self.line, strict=True))
        return record | {"table": _numbers(self.table)}

    def __call__(self, cells: list, linear: bool) -> NDArray[np.float64]:
        """Return the number of each cell of a column that is linear or not."""
        values = np.array(cells, dtype=float)
        if linear and self.line is not None:
            slope, offset = self.line
            return np.where(np.isnan(values), self.missing, values * slope + offset)
        codes = values.astype(np.intp)
        return np.where(codes < 0, self.missing, self.table[codes])


def encode(
    way: Way,
    columns: list[RawColumn],
    base: pd.DataFrame,
    like: Any,
) -> tuple[list[RawColumn], list[Term]]:
    """Return the columns and the terms with their encoders, found by changing each column.

    Parameters
    ----------
    way : Way
        With a closed form.
    columns : list of RawColumn
    base : DataFrame of shape (1, d)
        The row that is changed.
    like : array or frame
        The container of the model's input.
    """
    columns = accepted(way, columns, base, like)
    owner = np.repeat(np.arange(len(columns)), [len(c.probes) for c in columns])
    terms = []
    leaf_pairs = zip(
        leaves_of(way, in_container(base, like)),
        leaves_of(way, in_container(probe_table(base, columns, owner), like)),
        strict=True,
    )
    for leaf, (first, probe) in enumerate(leaf_pairs):
        row = first.matrix[0]
        source = _sources(probe.matrix, row, owner)
        for term in WRITERS[type(probe.form)](probe.form, source, row):
            numbers = term.inputs(probe.matrix)
            encoders = [
                Encoder.of(columns[j], int(j), numbers[owner == j, place])
                for place, j in enumerate(np.maximum(term.source, 0))
            ]
            terms.append(replace(term, leaf=leaf, encoders=encoders))
    curved = {
        encoder.source
        for term in terms
        for encoder in term.encoders
        if encoder.line is None
    }
    columns = [
        replace(column, linear=place not in curved)
        for place, column in enumerate(columns)
    ]
    return columns, terms


def check_terms(
    terms: list[Term],
    columns: list[RawColumn],
    way: Way,
    rows: pd.DataFrame,
    like: Any,
) -> None:
    """Raise UnreadableModelError unless the encoders reproduce the numbers of some rows."""
    cells = cells_of(columns, rows)
    leaf_inputs = leaves_of(way, in_container(rows, like))
    for term in terms:
        numbers = term.inputs(leaf_inputs[term.leaf].matrix).T
        for encoder, column in zip(term.encoders, numbers, strict=True):
            source = encoder.source
            computed = encoder(cells[source], columns[source].linear)
            size = np.abs(np.nan_to_num([*column, *encoder.table])).max()
            if not np.allclose(computed, column, ROUNDING, ROUNDING * size, True):
                raise UnreadableModelError(
                    "a step of the model does not depend on "
                    f"{columns[source].name!r} alone",
                )


def cells_of(columns: list[RawColumn], rows: pd.DataFrame) -> list[list]:
    """Return the cells of rows, column by column."""
    return [
        column.cells(values)
        for column, (_, values) in zip(columns, rows.items(), strict=True)
    ]


def accepted(way: Way, columns: list, base: pd.DataFrame, like: Any) -> list:
    """Return columns, without missing values unless the model accepts them."""
    columns = list(columns)
    for place, column in enumerate(columns):
        lost = base.copy()
        lost.isetitem(place, column.probes.iloc[-1:].set_axis(base.index))
        if not column.missing.empty and not _takes(way, in_container(lost, like)):
            columns[place] = replace(column, missing=column.missing.iloc[:0])
    return columns


def _takes(way: Way, row: Any) -> bool:
    """Return True if the model predicts a row, as its closed form does."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            prediction = way.predictions(row)
            if way.form is None:
                return True
            computed = way.form.predict(form_inputs(way, row))
        except REFUSALS:
            return False
    return bool(np.allclose(computed, prediction, RESPONSE_RTOL, RESPONSE_RTOL))


def _sources(probes: Any, base: Any, owner: Any) -> NDArray[np.intp]:
    """Return the raw column of each column of a matrix; -1 for constant ones.

    Parameters
    ----------
    probes : ndarray of shape (n, D)
    base : ndarray of shape (D,)
    owner : ndarray of shape (n,), int
        The raw column that is changed in each row.
    """
    differs = (probes != base) & ~(np.isnan(probes) & np.isnan(base))
    changes = np.array([differs[owner == j].any(axis=0) for j in np.unique(owner)])
    if (changes.sum(axis=0) > 1).any():
        raise UnreadableModelError("a step of the model mixes columns")
    return np.where(changes.any(axis=0), changes.argmax(axis=0), -1)


def _line(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float] | None:
    """Return slope and offset if numbers are a linear function of others, else None."""
    if np.array_equal(x, y):
        return 1.0, 0.0
    if not np.isfinite(y).all():
        return None
    slope = 0.0 if len(x) < 2 else float((y[-1] - y[0]) / (x[-1] - x[0]))
    offset = float(y[0] - slope * x[0])
    atol = ROUNDING * np.abs(y).max()
    return (slope, offset) if np.allclose(slope * x + offset, y, 0, atol) else None


def _numbers(numbers: NDArray[np.float64]) -> list[float | None]:
    """Return numbers for JSON: None for missing ones, and whole numbers as integers."""
    return [
        None if np.isnan(x) else int(x) if abs(x) < 2**53 and x == int(x) else x
        for x in numbers.tolist()
    ]
