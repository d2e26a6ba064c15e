"""Mixed rows: present players come from the row to explain, absent ones from a background row.

The values of each column, of the rows and of the background, are put into one pool
once. A block of mixed rows is then one gather. Columns are gathered and never cast, so
dtypes and categories reach the model unchanged. The hashes of many rows are computed at
once, by their words or by their values.
"""

import pickle
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from skshapley._tables._inputs import as_pandas, is_frame, n_rows, narwhal, take_rows

# Factors of splitmix64's finaliser
FIRST = 0xBF58476D1CE4E5B9
SECOND = 0x94D049BB133111EB
WORD = 2**64 - 1


def hashed(blocks, seed: int) -> np.ndarray:
    """Return a 64-bit hash of blocks of words: splitmix64's finaliser after each word."""
    blocks = [block.astype(np.uint64) for block in blocks if block is not None]
    columns: Any = np.concatenate(blocks, axis=1).T
    out: Any = np.full(columns.shape[1], seed, dtype=np.uint64)
    if columns.shape[1] == 1:
        # integers of Python take a tenth of the time of arrays of one number
        out = seed
        columns = columns[:, 0].tolist()
    for column in columns:
        # Shifts copy high bits to low ones, and products carry low bits to high ones.
        # After three rounds, each input bit changes each output bit with probability
        # near 1/2.
        out ^= column
        out ^= out >> 30
        out *= FIRST
        out &= WORD
        out ^= out >> 27
        out *= SECOND
        out &= WORD
        out ^= out >> 31
        out += seed
        out &= WORD
    return np.atleast_1d(np.asarray(out, dtype=np.uint64))


# An odd constant, different from the ledger's, so that keys of rows and of requests are
# unrelated. It is part of the keys of rows, and so of their random numbers: a change
# changes sampled values.
SEED = 0x2545F4914F6CDD1D
DENSE_CELLS = 2**20  # cells of a sparse matrix to make dense in one step


def row_keys(X: Any) -> np.ndarray:
    """Return a 64-bit key of each row, ``(r,)`` uint64; equal rows have equal keys.

    Numbers of any type are compared by value, and all missing values are equal. Other
    values are hashed by pandas, with the same hash in every process. A sparse matrix
    has the keys of the equivalent array.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (r, d)
    """
    if sparse.issparse(X):
        step = max(1, DENSE_CELLS // X.shape[1])
        pieces = range(0, X.shape[0], step)
        # The keys of the dense rows, in pieces, so that memory stays bounded.
        return np.concatenate(
            [row_keys(X[start : start + step].toarray()) for start in pieces]
        )
    if isinstance(X, np.ndarray) and X.dtype.kind in "biuf":
        return hashed([_bits(X)], SEED)
    frame = as_pandas(X)
    columns = [_column(frame.iloc[:, j]) for j in range(frame.shape[1])]
    return hashed([np.column_stack(columns)], SEED)


def _column(series: pd.Series) -> np.ndarray:
    if pd.api.types.is_numeric_dtype(series.dtype):
        return _bits(series.to_numpy(dtype=np.float64, na_value=np.nan))
    values = series.astype(object).where(series.notna(), None)
    numbers = pd.to_numeric(values, errors="coerce")
    # The text "1" is no number: it must differ from 1.
    plain = numbers.notna() & ~values.map(lambda value: isinstance(value, str))
    # pandas hashes text equally in each process, unlike Python's own hash.
    texts = pd.util.hash_array(values.astype(str).to_numpy(dtype=object))
    return np.where(plain, _bits(numbers.to_numpy(dtype=np.float64)), texts)


def _bits(numbers: np.ndarray) -> np.ndarray:
    """Return numbers as words: -0 as 0, every missing number as the same."""
    # -0.0 + 0.0 is 0.0. NaNs of other bits, such as those of a division, become the one
    # of numpy
    numbers = numbers.astype(np.float64) + 0.0
    return np.where(np.isnan(numbers), np.nan, numbers).view(np.uint64)


CHUNK_ROWS = 8192  # rows in one call of the model
# Size of the mixed rows made in one step. Larger arrays are new memory in each step,
# and a row of ten columns may take three times as long.
PIECE_BYTES = 2**17


def row_pool(X, background, column_player) -> "ColumnPool | SparsePool":
    """Return the pool for the container of the background."""
    if sparse.issparse(background):
        return SparsePool(X, background, column_player)
    if not is_frame(background):
        return ArrayPool(np.asarray(X), np.asarray(background), column_player)
    if not isinstance(background, pd.DataFrame):
        return NarwhalsPool(X, background, column_player)
    kinds = set(background.dtypes) | set(X.dtypes)
    # Frames of one numpy dtype are gathered as arrays, and get their names back at the
    # end.
    if len(kinds) == 1 and isinstance(next(iter(kinds)), np.dtype):
        return ArrayPool(
            np.asarray(X),
            np.asarray(background),
            column_player,
            background.columns,
        )
    return FramePool(X, background, column_player)


def row_chunks(table, what) -> Iterator[tuple[Any, str]]:
    """Yield a table's rows in pieces of bounded size, with their place for errors.

    The pieces are copies, because some models write into their input.
    """
    n = n_rows(table)
    for start in range(0, n, CHUNK_ROWS):
        stop = min(start + CHUNK_ROWS, n)
        yield (
            take_rows(table, np.arange(start, stop)),
            f" on {what} {start} to {stop - 1}",
        )


@dataclass(eq=False)
class RowPool(ABC):
    """Rows to explain ``(r, d)`` and background ``(b, d)`` in one container.

    Attributes
    ----------
    X, background : array, sparse matrix or frame
    column_player : ndarray of shape (d,), int
    """

    X: Any
    background: Any
    column_player: NDArray[np.intp]

    @abstractmethod
    def hybrid(self, coalitions, rows, references) -> Any:
        """Return mixed rows in the background's container.

        Parameters
        ----------
        coalitions : ndarray of shape (n, p), bool
        rows : ndarray of shape (n,), int
        references : ndarray of shape (n, q), int

        Returns
        -------
        hybrid : array, sparse matrix or frame of n q rows
        """

    def unlike(self, rows, references) -> np.ndarray | None:
        """Return True where rows differ from a background row each, ``(n, d)``; None if unknown.

        Parameters
        ----------
        rows, references : ndarray of shape (n,), int
        """
        return None


class ColumnPool(RowPool):
    """Tables gathered by columns."""

    @cached_property
    @abstractmethod
    def _columns(self) -> Iterable[Any]:
        """Return each column of the rows and the background, in turn."""

    @cached_property
    def _codes(self) -> NDArray[np.int64]:
        """Return an integer for each value, and one for missing values, ``(r + b, d)``."""
        return np.column_stack([codes_of(column) for column in self._columns])

    def _index(self, coalitions, rows, references) -> NDArray[np.intp]:
        """Return the position among rows and background by column and mixed row, ``(d, n q)``."""
        present = np.repeat(
            coalitions.T.take(self.column_player, axis=0),
            references.shape[1],
            1,
        )
        instance_rows = np.repeat(rows, references.shape[1])
        reference_rows = references.ravel() + len(self.X)
        # arithmetic, because a choice by bool mispredicts a branch for every other row
        return present * (instance_rows - reference_rows) + reference_rows

    def unlike(self, rows, references) -> NDArray[np.bool_]:
        return self._codes[rows] != self._codes[len(self.X) + references]


def codes_of(column: Any) -> NDArray[np.int64]:
    """Return an integer for each value of a column, and one for each kind of missing value."""
    if hasattr(column, "to_native"):
        null = column.is_null().to_numpy()
        # null would make floats of integers, and NaN of itself
        column = column.fill_null(0) if column.dtype.is_integer() else column
        codes = codes_of(column.to_numpy())
        return np.where(null, -1, codes)
    if column.dtype == object:
        # encoders have a category for each kind of missing value
        missing = pd.isna(column)
        kinds = [float if isinstance(v, float) else type(v) for v in column[missing]]
        column = column.copy()
        column[missing] = kinds
    try:
        return pd.factorize(column, use_na_sentinel=False)[0]
    except (TypeError, ValueError, NotImplementedError):
        # lists, arrays and dicts in cells are equal if their bytes are
        return pd.factorize(
            np.array([pickle.dumps(value) for value in column], dtype=object)
        )[0]


@dataclass(eq=False)
class ArrayPool(ColumnPool):
    """Numpy arrays of one dtype, and pandas frames with one numpy dtype.

    Attributes
    ----------
    X, background : ndarray
    column_player : ndarray of shape (d,), int
    names : pandas.Index or None
        The columns of mixed rows as a frame.
    """

    names: Any = None

    def hybrid(self, coalitions, rows, references) -> Any:
        present = self.by_column(coalitions)
        # The common type, since integers of the background must not truncate floats of
        # the rows.
        kind = np.result_type(self.X, self.background)
        n, q = references.shape
        d = present.shape[1]
        mixed = np.empty((n, q, d), dtype=kind)
        # Pieces that fit into the cache take half the time.
        step = max(1, PIECE_BYTES // (q * d * kind.itemsize))
        for start in range(0, n, step):
            chunk = slice(start, start + step)
            instances = self.X.take(rows[chunk], axis=0)[:, None].astype(
                kind,
                copy=False,
            )
            replacements = self.background.take(references[chunk], axis=0).astype(
                kind,
                copy=False,
            )
            _choose(present[chunk, None], instances, replacements, mixed[chunk])
        hybrid = mixed.reshape(n * q, d)
        return (
            hybrid
            if self.names is None
            else pd.DataFrame(hybrid, columns=self.names, dtype=kind, copy=False)
        )

    def by_column(self, coalitions) -> NDArray[np.bool_]:
        """Return coalitions ``(n, p)`` as present columns ``(n, d)``."""
        alone = np.array_equal(self.column_player, np.arange(coalitions.shape[1]))
        return coalitions if alone else coalitions.take(self.column_player, axis=1)

    @cached_property
    def _columns(self) -> Iterable[Any]:
        return np.concatenate([self.X, self.background]).T

    def unlike(self, rows, references) -> NDArray[np.bool_]:
        if object in (self.X.dtype, self.background.dtype):  # objects may include pd.NA
            return super().unlike(rows, references)
        instances = self.X[rows]
        replacements = self.background[references]
        # Only missing values differ from themselves, and two of them are no difference.
        return (instances != replacements) & (
            (instances == instances) | (replacements == replacements)
        )


def _choose(present, instances, replacements, out) -> None:
    """Write values of instances where present, and replacements elsewhere."""
    kind = out.dtype
    if kind.kind not in "iuf" or kind.itemsize > 8:
        out[:] = np.where(present, instances, replacements)
        return
    # Bits of numbers are blended as integers. A choice by bool mispredicts a branch for
    # every other number, which makes explanations of a perceptron take 1.08 times as
    # long.
    integer = f"i{kind.itemsize}"
    bits = out.view(integer)
    replacement_bits = replacements.view(integer)
    np.negative(present.view(np.int8), out=bits)  # all bits where present
    bits &= instances.view(integer) ^ replacement_bits
    bits ^= replacement_bits


class FramePool(ColumnPool):
    """Pandas frames of any dtypes, column by column: the rows to explain, then the background."""

    @cached_property
    def _columns(self) -> Iterable[Any]:
        return [
            _joined(self.X[name], self.background[name])
            for name in self.background.columns
        ]

    def hybrid(self, coalitions, rows, references) -> Any:
        columns = zip(
            self.background.columns,
            self._columns,
            self._index(coalitions, rows, references),
            strict=True,
        )
        return pd.DataFrame(
            {name: _typed(pool.take(positions)) for name, pool, positions in columns}
        )


def _typed(values: Any) -> Any:
    """Return values of a column of a frame; pandas 3 would make texts of objects."""
    return pd.Series(values, dtype=object) if values.dtype == object else values


class NarwhalsPool(ColumnPool):
    """Frames of other libraries (polars), column by column through narwhals."""

    @cached_property
    def _columns(self) -> Iterable[Any]:
        pairs = zip(
            narwhal(self.X).iter_columns(),
            narwhal(self.background).iter_columns(),
            strict=True,
        )
        return [_joined_foreign(*pair) for pair in pairs]

    def hybrid(self, coalitions, rows, references) -> Any:
        columns = [
            column[at]
            for column, at in zip(
                self._columns,
                self._index(coalitions, rows, references),
                strict=True,
            )
        ]
        return columns[0].to_frame().with_columns(*columns[1:]).to_native()


class SparsePool(RowPool):
    """CSR matrices of one dtype; explicit zeros stay stored.

    Some models (XGBoost) treat entries that are not stored as missing instead of zero.
    """

    def unlike(self, rows, references) -> NDArray[np.bool_]:
        instances = self.X[rows]
        replacements = self.background[references]
        # The bits are compared, so that missing equals missing.
        for part in (instances, replacements):
            part.data = part.data.astype(np.float64).view(np.int64)
        unequal = instances != replacements
        instances.data = np.ones(instances.nnz)
        replacements.data = np.ones(replacements.nnz)
        # One of them may store zeros.
        return (unequal + (instances != replacements)).toarray()

    def hybrid(self, coalitions, rows, references) -> Any:
        q = references.shape[1]
        b = self.background.shape[0]
        # One number for each pair of rows; permutations mix the same pair many times.
        pairs, line = np.unique(rows[:, None] * b + references, return_inverse=True)
        # the entries of each pair of rows are sorted once, for all mixtures of the pair
        instances = self.X[pairs // b]
        replacements = self.background[pairs % b]
        pair = np.concatenate([_lines(instances), _lines(replacements)])
        columns = np.concatenate([instances.indices, replacements.indices])
        order = np.lexsort((columns, pair))
        ends = instances.indptr + replacements.indptr
        stacked = sparse.csr_array(
            (order, columns[order], ends),
            shape=instances.shape,
        )[line.ravel()]
        present = coalitions[_lines(stacked) // q, self.column_player[stacked.indices]]
        # Entries of the row to explain are kept where present, those of the background
        # where absent.
        present_entries = present == (stacked.data < instances.nnz)
        data = np.concatenate([instances.data, replacements.data])[
            stacked.data[present_entries]
        ]
        ends = np.concatenate([[0], np.cumsum(present_entries)])[stacked.indptr].astype(
            stacked.indptr.dtype
        )
        hybrid = type(self.background)(
            (data, stacked.indices[present_entries], ends),
            shape=stacked.shape,
        )
        # Entries are sorted and distinct by construction, and scipy would check them in
        # each call.
        hybrid.has_canonical_format = True
        return hybrid


def _lines(matrix) -> NDArray[np.intp]:
    """Return the row of each entry of a CSR matrix."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def _joined(column, background) -> Any:
    """Return a column of the rows and of the background as one array of their common dtype."""
    parts = [column, background]
    if column.dtype != background.dtype and pd.api.types.is_numeric_dtype(column.dtype):
        # pandas would make objects of a bool and a float
        parts = [
            part * 1 if pd.api.types.is_bool_dtype(part) else part for part in parts
        ]
    pool = pd.concat(parts, ignore_index=True).array
    return (
        pool.to_numpy()
        if isinstance(pool.dtype, pd.core.dtypes.dtypes.NumpyEADtype)
        else pool
    )


def _joined_foreign(column, background) -> Any:
    """Return two columns as one of their common type."""
    import narwhals as nw

    if column.dtype != background.dtype:
        is_float = column.dtype.is_float() or background.dtype.is_float()
        common = nw.Float64 if is_float else nw.Int64
        column = column.cast(common)
        background = background.cast(common)
    return nw.concat([column.to_frame(), background.to_frame()])[column.name]
