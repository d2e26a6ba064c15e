"""Where rows come from, as batches of one size: arrays, frames and iterators of them.

A source gives pieces of any length; `batches` cuts them anew, so that the same rows make the same
batches whatever they came in.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals
from scipy import sparse

from skshapley._tables._inputs import (
    as_pandas,
    is_frame,
    n_rows,
    narwhal,
    take_rows,
)

if TYPE_CHECKING:
    pass

OWNER = "explain_batches"

# A piece of a source, and its index, or None where it has none of its own
Piece = tuple[Any, pd.Index | None]


@dataclass(frozen=True, eq=False)
class Batch:
    """Consecutive rows of a source.

    Attributes
    ----------
    number : int
    first_row : int
        Position in the source of the first row.
    X : array, sparse matrix or frame of shape (r, d)
        In the container of the background.
    index : Index of length r
        The keys of the rows; their positions in the source where they have none.
    keyed : bool
        Whether they have any.
    """

    number: int
    first_row: int
    X: Any
    index: pd.Index
    keyed: bool

    def __len__(self) -> int:
        return len(self.index)

    @property
    def rows(self) -> np.ndarray:
        """Positions of the rows in the source, ``(r,)``."""
        return np.arange(self.first_row, self.first_row + len(self))

    def take(self, start: int, stop: int) -> "Batch":
        """Return some consecutive rows, as a batch."""
        rows = slice(start, stop)
        first = self.first_row + start
        return replace(self, first_row=first, X=take_rows(self.X, rows), index=self.index[rows])

    def __str__(self) -> str:
        """Say where the rows are."""
        last = self.first_row + len(self) - 1
        place = f"row {last}" if len(self) == 1 else f"rows {self.first_row} to {last}"
        if not self.keyed:
            return place
        name = ", ".join("index" if part is None else str(part) for part in self.index.names)
        ends = self.index[:1] if len(self) == 1 else self.index[[0, -1]]
        return f"{place} ({name} {' to '.join(map(str, ends.tolist()))})"


@dataclass(frozen=True, eq=False)
class Wanted:
    """What is taken of each piece, and the container that it goes into.

    Attributes
    ----------
    columns : list or None
        None: all but the keys.
    keys : list
    like : array, sparse matrix or frame, or None
        The background; None: pandas.
    """

    columns: list | None
    keys: list
    like: Any

    def of(self, names: Sequence) -> list:
        """Return the columns to take of those that there are, or refuse to go on without them."""
        lacking = [name for name in (*(self.columns or ()), *self.keys) if name not in names]
        if lacking:
            raise ValueError(
                f"{OWNER} needs the columns {lacking}, for the explainer or as keys, which the"
                f" source does not have: it has {list(names)}."
            )
        if self.columns is not None:
            return self.columns
        return [name for name in names if name not in self.keys]


class Source(ABC):
    """Rows, a piece at a time.

    Attributes
    ----------
    n_rows : int or None
        None where nobody knows before the end.
    typed : bool
        Whether all pieces are sure to have the same types of columns.
    """

    n_rows: int | None = None
    typed = True

    @abstractmethod
    def facts(self) -> dict:
        """Return what can be said of the data before they are read, for the manifest."""

    @abstractmethod
    def check(self, wanted: Wanted) -> None:
        """Refuse a source that lacks what is wanted, as far as it can be seen before it is read."""

    @abstractmethod
    def pieces(self, wanted: Wanted) -> Iterator[Piece]:
        """Yield pairs of a table and its index, or None where it has none of its own."""

    def joined(self, parts: list) -> Any:
        """Return pieces as one."""
        return _joined(parts)

    def cut(self, piece: Any, start: int, stop: int) -> Any:
        """Return some rows of a piece."""
        return take_rows(piece, slice(start, stop))

    def contained(self, piece: Any, wanted: Wanted) -> Any:
        """Return a piece in the container that is wanted."""
        return piece


class TableSource(Source):
    """One array, sparse matrix or frame."""

    piece_rows = 2**16

    def __init__(self, table: Any) -> None:
        self.table, self.n_rows = table, n_rows(table)

    def facts(self) -> dict:
        """Return kind, columns and length."""
        table = self.table
        if isinstance(table, pd.DataFrame):
            columns = {str(name): str(dtype) for name, dtype in table.dtypes.items()}
        elif is_frame(table):
            columns = {name: str(dtype) for name, dtype in narwhal(table).schema.items()}
        else:
            columns = {"dtype": str(table.dtype), "shape": str(table.shape[1:])}
        return {"kind": type(table).__name__, "columns": columns, "rows": self.n_rows}

    def check(self, wanted: Wanted) -> None:
        """Refuse a table without rows, or without the columns that are wanted."""
        refuse_no_rows(self.n_rows)
        if sparse.issparse(self.table) and not _may_be_sparse(wanted.like):
            raise TypeError(
                f"{OWNER} got a sparse matrix, and the explainer's background is a"
                f" {type(wanted.like).__name__}: fit the explainer on a sparse background, or pass"
                f" the rows as arrays, (X[i : i + 4096].toarray() for i in range(0, len, 4096))."
            )
        split(take_rows(self.table, slice(0, 0)), None, wanted)

    def pieces(self, wanted: Wanted) -> Iterator[Piece]:
        """Yield slices of the table."""
        index = getattr(self.table, "index", None)
        if index is not None and index.equals(pd.RangeIndex(len(index))):
            index = None
        for start in range(0, n_rows(self.table), self.piece_rows):
            rows = slice(start, start + self.piece_rows)
            own = None if index is None else index[rows]
            yield split(take_rows(self.table, rows), own, wanted)


class PiecesSource(Source):
    """An iterable of arrays, sparse matrices or frames."""

    typed = False

    def __init__(self, tables: Iterable) -> None:
        self.tables = tables

    def facts(self) -> dict:
        """Return the kind, which is all that is known."""
        return {"kind": "iterator"}

    def check(self, wanted: Wanted) -> None:
        """Refuse nothing: a table is only seen when it is its turn."""

    def pieces(self, wanted: Wanted) -> Iterator[Piece]:
        """Yield the tables; a frame's own index is one that does not merely count."""
        kind = None
        for table in self.tables:
            table = table.tocsr() if sparse.issparse(table) else table
            if not is_bare(table) and not is_frame(table):
                raise TypeError(
                    f"{OWNER} takes iterators of arrays, sparse matrices or frames; got one of"
                    f" {type(table).__name__}."
                )
            if kind not in (None, type(table)):
                raise TypeError(
                    f"{OWNER} got an iterator of {kind.__name__} and {type(table).__name__}; pass"
                    f" pieces of one type."
                )
            kind = type(table)
            index = table.index if isinstance(table, pd.DataFrame) else None
            index = None if isinstance(index, pd.RangeIndex) else index
            if n_rows(table):
                yield split(table, index, wanted)


def batches(source: Source, wanted: Wanted, batch_rows: int) -> Iterator[Batch]:
    """Yield the rows of a source, `batch_rows` at a time; the last batch holds the rest."""
    number = first_row = held = 0
    parts: list = []
    indices: list = []

    def batch(piece: Any, index: pd.Index | None) -> Batch:
        keyed = index is not None
        index = index if keyed else pd.RangeIndex(first_row, first_row + n_rows(piece))
        return Batch(number, first_row, source.contained(piece, wanted), index, keyed)

    for piece, index in source.pieces(wanted):
        if indices and (indices[-1] is None) != (index is None):
            raise ValueError(
                f"{OWNER} got frames with an index of their own and frames without; pass keys="
                f" to name the columns that tell rows apart."
            )
        parts.append(piece)
        indices.append(index)
        held += n_rows(piece)
        if held < batch_rows:
            continue
        whole, index = source.joined(parts), _appended(indices)
        stop = held - held % batch_rows
        for start in range(0, stop, batch_rows):
            end = start + batch_rows
            yield batch(source.cut(whole, start, end), None if index is None else index[start:end])
            number, first_row = number + 1, first_row + batch_rows
        held -= stop
        parts = [source.cut(whole, stop, n_rows(whole))] if held else []
        indices = [None if index is None else index[stop:]] if held else []
    if held:
        yield batch(source.joined(parts), _appended(indices))


def refuse_no_rows(n_rows: int | None) -> None:
    """Refuse a source that turns out to be empty."""
    if not n_rows:
        raise ValueError(f"{OWNER} got a source without rows.")


def split(table: Any, index: pd.Index | None, wanted: Wanted) -> Piece:
    """Return the columns that are wanted, and the index that the keys make."""
    if is_bare(table):
        if wanted.keys:
            raise ValueError(f"{OWNER} got keys={wanted.keys} for an array, which has no names.")
        return table, None
    if isinstance(table, pd.DataFrame):
        columns = wanted.of(list(table.columns))
        keys = table[wanted.keys]
        return table[columns], index_of(keys, wanted.keys) if wanted.keys else index
    frame = narwhal(table)
    columns = wanted.of(frame.columns)
    keys = as_pandas(frame.select(wanted.keys).to_native()) if wanted.keys else None
    return frame.select(columns).to_native(), keys if keys is None else index_of(keys, wanted.keys)


def is_bare(table: Any) -> bool:
    """Return whether a table has neither names nor an index."""
    return isinstance(table, np.ndarray) or sparse.issparse(table)


def _may_be_sparse(like: Any) -> bool:
    return like is None or sparse.issparse(like)


def index_of(keys: pd.DataFrame, names: list) -> pd.Index:
    if len(names) > 1:
        return pd.MultiIndex.from_frame(keys)
    return pd.Index(keys.iloc[:, 0], name=names[0])


def _appended(indices: list) -> pd.Index | None:
    return None if indices[0] is None else indices[0].append(indices[1:])


def _joined(parts: list) -> Any:
    """Return tables of one kind as one table."""
    if len(parts) == 1:
        return parts[0]
    if is_bare(parts[0]):
        widths = {part.shape[1:] for part in parts}
        if len(widths) > 1:
            raise ValueError(f"{OWNER} got arrays of different widths: {sorted(widths)}.")
        return sparse.vstack(parts, "csr") if sparse.issparse(parts[0]) else np.concatenate(parts)
    if isinstance(parts[0], pd.DataFrame):
        return pd.concat(_with_the_same_categories(parts), ignore_index=True)
    import narwhals as nw

    return nw.concat([narwhal(part) for part in parts]).to_native()


def _with_the_same_categories(frames: list[pd.DataFrame]) -> list[pd.DataFrame]:
    """Return frames whose categorical columns may be joined without becoming objects."""
    frames = [frame.copy(deep=False) for frame in frames]
    for name in frames[0].columns:
        columns = [frame[name] for frame in frames]
        kinds = {column.dtype for column in columns}
        if len(kinds) > 1 and all(isinstance(kind, pd.CategoricalDtype) for kind in kinds):
            both = union_categoricals(columns, ignore_order=True).dtype
            for frame in frames:
                frame[name] = frame[name].astype(both)
    return frames
