"""Hybrid rows: the instance where a player is present, a background row where it is absent.

The instances' and the background's values of each column are put into one pool once. A block of
hybrid rows is then one gather. Columns are gathered and never cast, so that dtypes and categories
reach the model unchanged.
"""

import pickle
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from skshapley._tables._inputs import is_frame, n_rows, narwhal, take_rows

CHUNK_ROWS = 8192
PIECE_BYTES = 2**18
LEAST_RUN = 8  # sparse hybrids of one pair of rows, on average, that are worth a step of their own


def row_pool(X, background, column_player) -> "ColumnPool | SparsePool":
    """Return the pool that fits the container of the background."""
    if sparse.issparse(background):
        return SparsePool(X, background, column_player)
    if not is_frame(background):
        return ArrayPool(np.asarray(X), np.asarray(background), column_player)
    if not isinstance(background, pd.DataFrame):
        return NarwhalsPool(X, background, column_player)
    kinds = set(background.dtypes) | set(X.dtypes)
    if len(kinds) == 1 and isinstance(next(iter(kinds)), np.dtype):
        return UniformFramePool(X, background, column_player)
    return FramePool(X, background, column_player)


def row_chunks(table, what) -> Iterator[tuple[Any, str]]:
    """Yield a table's rows in pieces of bounded size, each with where it is, for errors.

    The pieces are copies, since some models write into their input.
    """
    n = n_rows(table)
    for start in range(0, n, CHUNK_ROWS):
        stop = min(start + CHUNK_ROWS, n)
        yield take_rows(table, np.arange(start, stop)), f" on {what} {start} to {stop - 1}"


class RowPool(ABC):
    """Instances ``(r, d)`` and background ``(b, d)`` in one container.

    Parameters
    ----------
    X, background : array, sparse matrix or frame
    column_player : ndarray of shape (d,), int
    """

    def __init__(self, X, background, column_player) -> None:
        self.X, self.background, self.column_player = X, background, column_player

    @abstractmethod
    def hybrid(self, coalitions, rows, references) -> Any:
        """Return hybrid rows in the background's container.

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
        """Return where instances differ from a background row each, ``(n, d)``; None if unknown.

        Parameters
        ----------
        rows, references : ndarray of shape (n,), int
        """
        return None


class ColumnPool(RowPool):
    """Tables that are gathered by columns."""

    def __init__(self, X, background, column_player) -> None:
        super().__init__(X, background, column_player)
        self._in_order = (column_player == np.arange(len(column_player))).all()

    def hybrid(self, coalitions, rows, references) -> Any:
        """Return hybrid rows in the background's container."""
        one_each = self._in_order and coalitions.shape[1] == len(self.column_player)
        present = coalitions if one_each else coalitions.take(self.column_player, axis=1)
        return self._gather(present, rows, references)

    @abstractmethod
    def _gather(self, present, rows, references) -> Any:
        """Return hybrid rows; `present` is ``(n, d)``, by column."""

    @abstractmethod
    def _columns(self) -> Iterable[Any]:
        """Return each column of the instances and the background, one after the other."""

    @cached_property
    def _codes(self) -> NDArray[np.int64]:
        """Return an integer for each value, with one for missing ones, ``(r + b, d)``."""
        return np.column_stack([_codes(column) for column in self._columns()])

    def differs(self) -> np.ndarray:
        """Return where an instance differs from some background row, ``(r, d)`` bool."""
        instances, background = np.split(self._codes, [len(self.X)])
        return (instances != background[0]) | (background != background[0]).any(axis=0)

    def unlike(self, rows, references) -> NDArray[np.bool_]:
        """Return where instances differ from a background row each, ``(n, d)`` bool."""
        return self._codes[rows] != self._codes[len(self.X) + references]


def _codes(column: Any) -> NDArray[np.int64]:
    """Return an integer for each value of a column, with one for missing ones."""
    try:
        return pd.factorize(column, use_na_sentinel=False)[0]
    except TypeError:  # lists, arrays, dicts in cells: equal where their bytes are
        return pd.factorize(np.array([pickle.dumps(value) for value in column], dtype=object))[0]


class ArrayPool(ColumnPool):
    """Numpy arrays of one dtype."""

    def _gather(self, present, rows, references) -> Any:
        # most requests name the instance and the background rows that the one before named
        other = references[1:] != references[:-1]
        other = other[:, 0] if other.shape[1] == 1 else other.any(axis=1)
        new = np.concatenate([[True], other | (rows[1:] != rows[:-1])])
        first, run = np.flatnonzero(new), np.cumsum(new) - 1
        kind, q = np.result_type(self.background, self.X), references.shape[1]
        instances = self.X[rows[first]].astype(kind, copy=False)
        absent = self.background.take(references[first].ravel(), axis=0).astype(kind, copy=False)
        absent = absent.reshape(len(first), q, -1)
        if kind.kind in "biuf" and kind.itemsize <= 8:
            return _blended(instances, absent, run, present)
        hybrid = np.where(present[:, None], instances[run][:, None], absent[run])
        return hybrid.reshape(len(rows) * q, -1)

    def _columns(self) -> Iterable[Any]:
        return np.concatenate([self.X, self.background]).T

    @property
    def _comparable(self) -> bool:
        return self.X.dtype != object and self.background.dtype != object  # which may hold pd.NA

    def differs(self) -> NDArray[np.bool_]:
        """Return where an instance differs from some background row, ``(r, d)`` bool."""
        if not self._comparable:
            return super().differs()
        first = self.background[:1]
        constant = _same(self.background, first).all(axis=0)
        return ~(constant & _same(self.X, first))

    def unlike(self, rows, references) -> NDArray[np.bool_]:
        """Return where instances differ from a background row each, ``(n, d)`` bool."""
        if not self._comparable:
            return super().unlike(rows, references)
        return ~_same(self.X[rows], self.background[references])


class UniformFramePool(ArrayPool):
    """Pandas frames with one numpy dtype: gathered as an array, passed on as a frame."""

    def __init__(self, X, background, column_player) -> None:
        self._names = background.columns
        super().__init__(np.asarray(X), np.asarray(background), column_player)

    def _gather(self, present, rows, references) -> Any:
        fresh = super()._gather(present, rows, references)
        return pd.DataFrame(fresh, columns=self._names, copy=False)


class FramePool(ColumnPool):
    """Pandas frames of any dtypes, column by column: the instances' rows, then the background's."""

    def __init__(self, X, background, column_player) -> None:
        super().__init__(X, background, column_player)
        self._names = list(background.columns)
        self._pools = [_joined(X[name], background[name]) for name in self._names]

    def _gather(self, present, rows, references) -> Any:
        index = _pool_index(present, rows, references + len(self.X))
        columns = zip(self._names, self._pools, index, strict=True)
        return pd.DataFrame({name: pool.take(positions) for name, pool, positions in columns})

    def _columns(self) -> Iterable[Any]:
        return self._pools


class NarwhalsPool(ColumnPool):
    """Frames of other libraries (polars), column by column through narwhals."""

    def __init__(self, X, background, column_player) -> None:
        super().__init__(X, background, column_player)
        pairs = zip(narwhal(X).iter_columns(), narwhal(background).iter_columns(), strict=True)
        self._pools = [_joined_foreign(*pair) for pair in pairs]

    def _gather(self, present, rows, references) -> Any:
        index = _pool_index(present, rows, references + len(self.X))
        pairs = zip(self._pools, index, strict=True)
        columns = [pool[pool.columns[0]][positions] for pool, positions in pairs]
        return columns[0].to_frame().with_columns(*columns[1:]).to_native()

    def _columns(self) -> Iterable[Any]:
        return [pool[pool.columns[0]].to_numpy() for pool in self._pools]


class SparsePool(RowPool):
    """CSR matrices of one dtype; explicit zeros stay stored.

    To some models (XGBoost) an entry that is not stored is missing, and not zero.
    """

    def differs(self) -> NDArray[np.bool_]:
        """Return where an instance differs from some background row, ``(r, d)`` bool."""
        first = np.zeros(max(self.X.shape[0], self.background.shape[0]), dtype=np.intp)
        others = _differing(self.background, self.background[first[: self.background.shape[0]]])
        own = _differing(self.X, self.background[first[: self.X.shape[0]]])
        return own | others.any(axis=0)

    def unlike(self, rows, references) -> NDArray[np.bool_]:
        """Return where instances differ from a background row each, ``(n, d)`` bool."""
        return _differing(self.X[rows], self.background[references])

    def hybrid(self, coalitions, rows, references) -> Any:
        """Return hybrid rows in the background's container."""
        q = references.shape[1]
        if q > 1:
            rows, coalitions = np.repeat(rows, q), np.repeat(coalitions, q, axis=0)
        else:
            other = (rows[1:] != rows[:-1]) | (references[1:, 0] != references[:-1, 0])
            starts = np.flatnonzero(np.concatenate([[True], other]))
            if LEAST_RUN * len(starts) <= len(rows):
                return self._by_runs(coalitions, rows, references[:, 0], starts)
        given = self._stored(self.X[rows], coalitions)
        filled = self._stored(self.background[references.ravel()], ~coalitions)
        data, row, column = (np.concatenate(pair) for pair in zip(given, filled, strict=True))
        shape = len(rows), len(self.column_player)
        hybrid = type(self.background)((data, (row, column)), shape=shape)
        hybrid.sort_indices()  # as later versions of SciPy do by themselves
        return hybrid

    def _by_runs(self, coalitions, rows, references, starts) -> Any:
        """Return hybrid rows of runs that have an instance and a background row in common.

        The entries of both are put in order once, for all hybrids of a run.
        """
        parts = []
        for start, stop in zip(starts, [*starts[1:], len(rows)], strict=True):
            own, other = _entries(self.X, rows[start]), _entries(self.background, references[start])
            columns, values = (np.concatenate(pair) for pair in zip(own, other, strict=True))
            order = np.argsort(columns, kind="stable")
            given, columns = order < len(own[0]), columns[order]
            present = coalitions[start:stop].take(self.column_player[columns], axis=1)
            kept = present == given
            entries = np.nonzero(kept)[1]
            parts.append((values[order][entries], columns[entries], kept.sum(axis=1)))
        data, indices, counts = (np.concatenate(part) for part in zip(*parts, strict=True))
        ends = np.concatenate([[0], np.cumsum(counts)]).astype(indices.dtype)
        shape = len(rows), len(self.column_player)
        hybrid = type(self.background)((data, indices, ends), shape=shape)
        hybrid.has_canonical_format = True
        return hybrid

    def _stored(self, matrix, present) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return values, rows and columns of the entries of the players that are present."""
        entries = matrix.tocoo()
        kept = present[entries.row, self.column_player[entries.col]]
        return entries.data[kept], entries.row[kept], entries.col[kept]


def _entries(matrix, row) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns and the values of the entries of one row of a CSR matrix."""
    entries = slice(matrix.indptr[row], matrix.indptr[row + 1])
    return matrix.indices[entries], matrix.data[entries]


def _differing(matrix, other) -> NDArray[np.bool_]:
    """Return where two CSR matrices of one shape differ; missing equals missing."""
    different = np.zeros(matrix.shape, dtype=bool)
    flat, places, values = different.ravel(), [], []
    for part in (matrix, other):
        row = np.repeat(np.arange(part.shape[0]), np.diff(part.indptr))
        places.append(row * part.shape[1] + part.indices)
        values.append(part.data)
        flat[places[-1]] = True
    both, own, its = np.intersect1d(places[0], places[1], assume_unique=True, return_indices=True)
    flat[both] = ~_same(values[0][own], values[1][its])
    return different


def _pool_index(present, rows, references) -> NDArray[np.intp]:
    """Return for each column the position in its pool of each hybrid row, ``(d, n q)``."""
    reference = references.ravel()
    rows, present = np.repeat(rows, references.shape[1]), present.T
    if references.shape[1] > 1:
        present = np.repeat(present, references.shape[1], axis=1)
    # arithmetic, since a choice by bool mispredicts a branch for every other row
    index = present * (rows - reference)
    index += reference
    return index


def _joined(column, background) -> Any:
    """Return a column of the instances and of the background as one array of their common dtype."""
    parts = [column, background]
    if column.dtype != background.dtype and pd.api.types.is_numeric_dtype(column.dtype):
        # pandas would make objects of a bool and a float
        parts = [
            part.astype("Int8" if pd.api.types.is_extension_array_dtype(part) else "int8")
            if pd.api.types.is_bool_dtype(part)
            else part
            for part in parts
        ]
    pool = pd.concat(parts, ignore_index=True).array
    return pool.to_numpy() if isinstance(pool.dtype, pd.core.dtypes.dtypes.NumpyEADtype) else pool


def _joined_foreign(column, background) -> Any:
    """Return two columns as a frame of one column of their common type."""
    import narwhals as nw

    if column.dtype != background.dtype:
        is_float = column.dtype.is_float() or background.dtype.is_float()
        common = nw.Float64 if is_float else nw.Int64
        column, background = column.cast(common), background.cast(common)
    return nw.concat([column.to_frame(), background.to_frame()], how="vertical")


def _blended(instances, absent, run, present) -> np.ndarray:
    """Return hybrid rows of numbers, ``(n q, d)``.

    Numbers are blended by their bits, a cache-sized piece at a time: a masked copy would
    mispredict a branch for every other number and cost three times as much.

    Parameters
    ----------
    instances : ndarray of shape (u, d)
        Of each run of requests.
    absent : ndarray of shape (u, q, d)
        Its background rows.
    run : ndarray of shape (n,), int
        Of each request.
    present : ndarray of shape (n, d), bool
    """
    (u, q, d), n, kind = absent.shape, len(run), absent.dtype
    word = np.dtype(f"i{kind.itemsize}")
    fill = np.tile(instances.view(word), q)  # (u, q d)
    change = absent.view(word).reshape(u, q * d) ^ fill
    hybrid = np.empty((n, q * d), dtype=word)
    step = min(n, max(1, PIECE_BYTES // (q * d * word.itemsize)))
    one = (fill[1:] == fill[0]).all()
    filled = np.repeat(fill[:1], step, axis=0) if one else fill
    for start in range(0, n, step):
        at = run[start : start + step]
        piece = hybrid[start : start + step]
        change.take(at, axis=0, out=piece, mode="clip")
        # no bit where present, all of them where absent
        mask = (present[start : start + step].view(np.int8) - np.int8(1)).astype(word)
        piece &= mask if q == 1 else np.repeat(mask, q, axis=0).reshape(len(at), q * d)
        piece ^= filled[: len(at)] if one else fill[at]
    return hybrid.reshape(n * q, d).view(kind)


def _same(values, first) -> NDArray[np.bool_]:
    """Return where values equal `first`; missing equals missing."""
    return (values == first) | (pd.isna(values) & pd.isna(first))
