"""Batches of equal size from a source of pieces of any length.

The same rows give the same batches in any container.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals
from scipy import sparse

from skshapley._tables import (
    as_pandas,
    cast_like,
    check_container,
    is_foreign,
    joined_index,
    n_rows,
    narwhal,
    take_rows,
)
from skshapley._tools import needed

OWNER = "explain_batches"

# A piece of a source, and its own index or None
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
        The keys of the rows, or their positions in the source.
    keyed : bool
        Whether the rows have keys.
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
        return replace(
            self,
            first_row=self.first_row + start,
            X=take_rows(self.X, rows),
            index=self.index[rows],
        )

    def __str__(self) -> str:
        """Return the positions and keys of the rows as text."""
        last = self.first_row + len(self) - 1
        place = f"row {last}" if len(self) == 1 else f"rows {self.first_row} to {last}"
        if not self.keyed:
            return place
        name = ", ".join(
            "index" if part is None else str(part) for part in self.index.names
        )
        ends = self.index[:1] if len(self) == 1 else self.index[[0, -1]]
        return f"{place} ({name} {' to '.join(map(str, ends.tolist()))})"


@dataclass(frozen=True, eq=False)
class Wanted:
    """The columns and keys to take from each piece, and their container.

    Attributes
    ----------
    columns : list or None
        None: all except the keys.
    keys : list
    like : array, sparse matrix or frame, or None
        The background; None: pandas.
    documents : bool, default=False
        Whether one column of documents is taken.
    text_column : str or None
        Name of the column of documents in ``fit``, if any.
    """

    columns: list | None
    keys: list
    like: Any
    documents: bool = False
    text_column: str | None = None

    def of(self, names: Sequence) -> list:
        """Return the columns to take; raise ValueError if some are missing or ambiguous."""
        lacking = [
            name for name in (*(self.columns or ()), *self.keys) if name not in names
        ]
        if lacking:
            raise ValueError(
                f"{OWNER} needs the columns {lacking}, for the explainer or as keys, "
                "but the source, or one of its files, lacks them: it has "
                f"{list(names)}."
            )
        other_columns = [name for name in names if name not in self.keys]
        columns = other_columns if self.columns is None else self.columns
        if self.documents and self.columns is None and self.text_column in columns:
            return [self.text_column]
        if self.documents and len(columns) != 1:
            raise ValueError(
                f"{OWNER} explains documents here, and got the columns {columns} "
                f"beside keys={self.keys}: name the column with the documents, such as "
                f"columns=[{(columns or list(names) or ['text'])[0]!r}]."
            )
        return columns

    def and_keys(self, names: Sequence) -> list:
        """Return the columns and keys to read from a source with these names."""
        return list(dict.fromkeys([*self.of(names), *self.keys]))

    def contained(self, table: Any) -> Any:
        """Return a table of pandas or Arrow in the container of the background."""
        if is_foreign(self.like):
            nw = needed("narwhals", OWNER)
            pa = needed("pyarrow", OWNER, "parquet")
            if isinstance(table, pd.DataFrame):
                table = pa.Table.from_pandas(table, preserve_index=False)
            return nw.from_arrow(
                table,
                backend=nw.get_native_namespace(self.like),
            ).to_native()
        frame = (
            table
            if isinstance(table, pd.DataFrame)
            else table.to_pandas(ignore_metadata=True)
        )
        if not isinstance(self.like, pd.DataFrame):
            return frame
        # Files have no categories, and read booleans beside missing values as objects.
        kinds = self.like.dtypes
        return cast_like(frame, kinds[[not isinstance(k, np.dtype) for k in kinds]])

    def split(self, table: Any, index: pd.Index | None) -> Piece:
        """Return the requested columns, and the index of the keys."""
        if is_bare(table):
            if self.keys:
                raise ValueError(
                    f"{OWNER} got keys={self.keys} for an array: pass a frame."
                )
            return table, None
        if isinstance(table, pd.DataFrame):
            X = table[self.of(list(table.columns))]
            keys = table[self.keys]
        else:
            frame = narwhal(table)
            X = frame.select(self.of(frame.columns)).to_native()
            keys = (
                as_pandas(frame.select(self.keys).to_native())
                if self.keys
                else pd.DataFrame()
            )
        return X, keys.set_index(self.keys).index if self.keys else index


@dataclass(frozen=True, eq=False)
class Source:
    """Rows in pieces.

    Attributes
    ----------
    facts : dict
        Facts about the data before they are read, for the manifest.
    read : callable
        Takes a `Wanted` and returns an iterator of pieces with at least its columns and
        keys.
    head : array, sparse matrix or frame of no rows, or None
        A table with the columns of all pieces; None if unknown.
    n_rows : int or None
        None if unknown before the end.
    typed : bool
        Whether all pieces certainly have the same column types.
    once : bool
        Whether the rows can be read only once.
    from_files : bool
        Whether the pieces are frames that become arrays if the background is one.
    """

    facts: dict
    read: Callable[[Wanted], Iterator[Piece]]
    head: Any = None
    n_rows: int | None = None
    typed: bool = True
    once: bool = False
    from_files: bool = False

    def check(self, wanted: Wanted) -> None:
        """Raise ValueError for a source known to lack rows or columns."""
        if self.n_rows == 0:
            refuse_no_rows(0)
        if self.head is not None:
            wanted.split(self.head, None)
        if sparse.issparse(self.head) and wanted.like is not None:
            check_container(self.head, wanted.like, OWNER)

    def pieces(self, wanted: Wanted) -> Iterator[Piece]:
        """Yield the requested columns and the index of each non-empty piece."""
        for table, index in self.read(wanted):
            if n_rows(table):
                X, labels = wanted.split(table, index)
                yield (
                    (X.to_numpy() if self.from_files and is_bare(wanted.like) else X),
                    labels,
                )


def batches(source: Source, wanted: Wanted, batch_rows: int) -> Iterator[Batch]:
    """Yield the rows of a source, `batch_rows` at a time; the last batch holds the rest."""
    number = n_buffered = 0
    pieces: list[Piece] = []
    for piece in chain(source.pieces(wanted), [None]):
        if piece is not None:
            pieces.append(piece)
            n_buffered += n_rows(piece[0])
        if not n_buffered or (piece is not None and n_buffered < batch_rows):
            continue
        X, index = _joined(pieces)
        # Full batches only, until the source ends: batches do not depend on the lengths
        # of its pieces.
        stop = n_buffered if piece is None else n_buffered - n_buffered % batch_rows
        for start in range(0, stop, batch_rows):
            rows = slice(start, start + batch_rows)
            first = number * batch_rows
            part = take_rows(X, rows)
            yield Batch(
                number,
                first,
                part,
                pd.RangeIndex(first, first + n_rows(part))
                if index is None
                else index[rows],
                index is not None,
            )
            number += 1
        n_buffered -= stop
        remaining = slice(stop, None)
        pieces = (
            [(take_rows(X, remaining), None if index is None else index[remaining])]
            if n_buffered
            else []
        )


def refuse_no_rows(n_rows: int | None) -> None:
    """Raise ValueError for an empty source."""
    if not n_rows:
        raise ValueError(f"{OWNER} got a source without rows.")


def is_bare(table: Any) -> bool:
    """Return True if a table has neither names nor an index."""
    return isinstance(table, np.ndarray) or sparse.issparse(table)


def _joined(pieces: list[Piece]) -> Piece:
    """Return pieces of one kind as one piece."""
    parts, indices = zip(*pieces, strict=True)
    if len({index is None for index in indices}) > 1:
        raise ValueError(
            f"{OWNER} got frames with an index of their own and frames without; pass "
            "keys= to name the columns that identify rows."
        )
    index = None if indices[0] is None else joined_index([*indices])
    return _stacked(list(parts)), index


def _stacked(parts: list) -> Any:
    """Return tables of one kind as one table."""
    if len(parts) == 1:
        return parts[0]
    if is_bare(parts[0]):
        # numpy's own error would not name the source.
        widths = {part.shape[1:] for part in parts}
        if len(widths) > 1:
            raise ValueError(
                f"{OWNER} got arrays of different widths, {sorted(widths)}: pass "
                "pieces with the same columns."
            )
        return (
            sparse.vstack(parts, "csr")
            if sparse.issparse(parts[0])
            else np.concatenate(parts)
        )
    if isinstance(parts[0], pd.DataFrame):
        frames = [frame.copy(deep=False) for frame in parts]
        for name in frames[0].columns:
            columns = [frame[name] for frame in frames]
            kinds = {column.dtype for column in columns}
            # joint categories, so that joining the frames keeps the categorical dtype
            if len(kinds) > 1 and all(
                isinstance(kind, pd.CategoricalDtype) for kind in kinds
            ):
                shared_type = union_categoricals(columns, ignore_order=True).dtype
                for frame in frames:
                    frame[name] = frame[name].astype(shared_type)
        return pd.concat(frames, ignore_index=True)
    import narwhals as nw

    return nw.concat([narwhal(part) for part in parts]).to_native()
