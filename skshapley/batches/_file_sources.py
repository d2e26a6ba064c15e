"""Sources of rows: tables, documents, iterables of them, Parquet and CSV files, lazy tables."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import pandas as pd
from scipy import sparse

from skshapley._tables import (
    column_names,
    column_types,
    is_column_of_text,
    is_foreign,
    is_frame,
    n_rows,
    narwhal,
    take_rows,
)
from skshapley._tools import needed
from skshapley.batches._fingerprint import digest_of
from skshapley.batches._sources import OWNER, Piece, Source, Wanted, is_bare

PIECE_ROWS = 2**16
PIECE_DOCUMENTS = 1024  # documents per frame, for an iterator of single documents
UNNAMED = "text"
LAZY = ("dask", "polars", "duckdb")  # libraries of lazy tables, read part by part


def _table_source(table: Any) -> Source:
    """Return the source of one array, sparse matrix or frame."""
    table = table.tocsr() if sparse.issparse(table) else table
    if is_frame(table):
        columns = {
            str(name): str(dtype)
            for name, dtype in zip(
                column_names(table),
                column_types(table),
                strict=True,
            )
        }
    else:
        columns = {"dtype": str(table.dtype), "shape": str(table.shape[1:])}
    n = n_rows(table)
    index = getattr(table, "index", None)
    # An index that only counts is the position, which is recorded anyway.
    if index is not None and index.equals(pd.RangeIndex(n)):
        index = None

    def read(wanted: Wanted) -> Iterator[Piece]:
        for start in range(0, n, PIECE_ROWS):
            rows = slice(start, start + PIECE_ROWS)
            piece = take_rows(table, rows)
            # Frames of polars for a background of pandas, and the other way round
            if is_frame(table) and is_foreign(table) != is_foreign(wanted.like):
                piece = wanted.contained(
                    narwhal(piece).to_arrow() if is_foreign(piece) else piece
                )
            yield piece, None if index is None else index[rows]

    return Source(
        {"kind": type(table).__name__, "columns": columns, "rows": n},
        read,
        take_rows(table, slice(0, 0)),
        n,
        from_files=is_foreign(table),
    )


def _pieces_source(tables: Iterable) -> Source:
    """Return the source of an iterable of arrays, sparse matrices or frames."""

    def read(wanted: Wanted) -> Iterator[Piece]:
        kind = None
        for table in tables:
            table = table.tocsr() if sparse.issparse(table) else table
            if not is_bare(table) and not is_frame(table):
                raise TypeError(
                    f"{OWNER} takes iterators of arrays, sparse matrices or frames; "
                    f"got an iterator of {type(table).__name__}."
                )
            if kind not in (None, type(table)):
                raise TypeError(
                    f"{OWNER} got an iterator of {kind.__name__} and "
                    f"{type(table).__name__}; pass pieces of one type."
                )
            kind = type(table)
            index = table.index if isinstance(table, pd.DataFrame) else None
            # an index that only counts is not an index of the frame
            yield table, None if isinstance(index, pd.RangeIndex) else index

    # An iterator has no facts to compare, so a resumed run relies on the hashes of its
    # batches.
    return Source({"kind": "iterator"}, read, typed=False, once=iter(tables) is tables)


def _csv_source(path: Path) -> Source:
    """Return the source of a CSV file."""

    def read(wanted: Wanted) -> Iterator[Piece]:
        with _named(path), pd.read_csv(path, chunksize=PIECE_ROWS) as tables:
            for table in tables:
                yield wanted.contained(table), None

    with _named(path):
        head = read_csv(path, n_rows=1)
    return Source(
        {"kind": "csv", "bytes": path.stat().st_size},
        read,
        head[:0],
        typed=False,
        from_files=True,
    )


def read_csv(path: Path, n_rows: int | None = None) -> pd.DataFrame:
    """Read a CSV file, and raise ParserError if its lines have more fields than its header.

    pandas then takes the first fields as labels of the rows. This is wrong if the lines
    end with a comma.
    """
    table = pd.read_csv(path, nrows=n_rows)
    if len(table) and not isinstance(table.index, pd.RangeIndex):
        raise pd.errors.ParserError("the lines have more fields than the header")
    return table


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Add the name of the file to errors of reading, and the first line that is not UTF-8."""
    try:
        yield
    except (UnicodeDecodeError, pd.errors.ParserError) as error:
        with path.open("rb") as file:
            wrong = [
                i
                for i, line in enumerate(file, start=1)
                if line.decode(errors="ignore").encode() != line
            ]
        what = f"line {wrong[0]} is not UTF-8" if wrong else str(error).strip()
        raise ValueError(
            f"{OWNER} cannot read {str(path)!r}: {what}. For another format or "
            f"encoding, pass pieces, such as pandas.read_csv({str(path)!r}, "
            'encoding="latin-1", chunksize=65536).'
        ) from error


def _arrow_source(dataset: Any) -> Source:
    """Return the source of a pyarrow dataset: Parquet files, folders of them, or tables."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    files = getattr(dataset, "files", ())
    n = dataset.count_rows()
    names = dataset.schema.names
    # A missing column would read as missing values.
    for fragment in dataset.get_fragments():
        of_folder = ds.get_partition_keys(fragment.partition_expression)
        # Columns from the names of folders are in no file.
        names = [
            n for n in names if n in of_folder or n in fragment.physical_schema.names
        ]
    facts = {
        "kind": "parquet" if files else "arrow",
        "columns": {field.name: str(field.type) for field in dataset.schema},
        "rows": n,
        "files": len(files),
        # Hashing the content would read everything twice; batches are compared by
        # content later.
        "names and sizes": digest_of(
            [file.rsplit("/", 1)[-1] for file in files],
            [dataset.filesystem.get_file_info(file).size for file in files],
        ),
    }

    def read(wanted: Wanted) -> Iterator[Piece]:
        # A scan of a whole file reads it to its end while the model is slow.
        for fragment in dataset.get_fragments():
            for part in (
                fragment.split_by_row_group()
                if isinstance(fragment, ds.ParquetFileFragment)
                else [fragment]
            ):
                for block in part.to_batches(
                    dataset.schema,
                    columns=wanted.and_keys(names),
                    batch_size=PIECE_ROWS,
                ):
                    yield wanted.contained(pa.Table.from_batches([block])), None

    return Source(facts, read, pd.DataFrame(columns=names), n, from_files=True)


def _lazy_source(table: Any, library: str) -> Source:
    """Return the source of a lazy table of dask, polars or DuckDB, read part by part."""
    lazy = table if library == "dask" else needed("narwhals", OWNER).from_native(table)
    schema = lazy.dtypes if library == "dask" else lazy.collect_schema()
    columns = {name: str(kind) for name, kind in schema.items()}

    def read(wanted: Wanted) -> Iterator[Piece]:
        names = wanted.and_keys([*columns])
        selection = lazy[names] if library == "dask" else lazy.select(names).to_native()
        if library == "dask":
            parts = (part.compute() for part in selection.partitions)
        elif library == "polars":
            blocks = selection.collect_batches(
                chunk_size=PIECE_ROWS,
                maintain_order=True,
            )
            parts = (block.to_arrow() for block in blocks)
        else:
            pa = needed("pyarrow", OWNER, "parquet")
            blocks = pa.RecordBatchReader.from_stream(selection)
            parts = (pa.Table.from_batches([block]) for block in blocks)
        for part in parts:
            yield wanted.contained(part), None

    return Source(
        {"kind": library, "columns": columns},
        read,
        pd.DataFrame(columns=[*columns]),
        typed=False,
        from_files=True,
    )


def open_source(source: Any) -> Source:
    """Return the source of a table, lazy or not, of an iterable of tables, a path or a dataset."""
    if isinstance(source, (str, PathLike)):
        return _from_path(Path(source))
    if type(source).__module__.split(".")[0] == "pyarrow":
        import pyarrow.dataset as ds

        return _arrow_source(
            source if isinstance(source, ds.Dataset) else ds.dataset(source)
        )
    if is_bare(source) or is_frame(source):
        if np.ndim(source) != 2:
            raise ValueError(
                f"{OWNER} takes tables of two dimensions; got an array of shape "
                f"{source.shape}."
            )
        return _table_source(source)
    library = type(source).__module__.split(".")[0].lstrip("_")
    if library in LAZY:
        return _lazy_source(source, library)
    if isinstance(source, Iterable) and not isinstance(source, (bytes, dict)):
        return _pieces_source(source)
    raise TypeError(
        f"{OWNER} takes source as a frame, an array, a sparse matrix, an iterable of "
        "them, a path of Parquet, CSV or .npz files, or a pyarrow dataset; got "
        f"{type(source).__name__}."
    )


def _from_path(path: Path) -> Source:
    if not path.exists():
        raise FileNotFoundError(
            f"{OWNER} got source={str(path)!r}, which does not exist."
        )
    if path.suffix.lower() == ".csv":
        return _csv_source(path)
    if path.suffix.lower() == ".npz":
        return _table_source(read_sparse(path))
    ds = needed("pyarrow.dataset", OWNER, "parquet")

    return _arrow_source(ds.dataset(path, format="parquet", partitioning="hive"))


def read_sparse(path: Path) -> Any:
    """Return the sparse matrix of a file written by scipy.sparse.save_npz.

    Raises
    ------
    ValueError
        For another file.
    """
    try:
        return sparse.load_npz(path)
    except (ValueError, KeyError, OSError, BadZipFile) as error:
        raise ValueError(
            f"{OWNER} takes only .npz files of scipy.sparse.save_npz; got "
            f"{str(path)!r}: {error}."
        ) from error


# --- documents ------------------------------------------------------------------------


def framed(source: Any, name: Any) -> Any:
    """Return documents in frames of one column; paths, frames and Arrow data are unchanged.

    Parameters
    ----------
    source : list, Series, array of shape (r,), iterable of str or of these, or other
    name : str or None
        Of the column.
    """
    if (
        isinstance(source, str | PathLike)
        or is_frame(source)
        or type(source).__module__.partition(".")[0] == "pyarrow"
    ):
        return source
    if is_column_of_text(source):
        return _frame(source, name)
    # An array of two dimensions is a table with a column of texts.
    if isinstance(source, Iterable) and getattr(source, "ndim", 0) < 2:
        return _frames(source, name)
    return source


def _frames(items: Iterable, name: Any) -> Iterator[Any]:
    """Yield frames of some single documents, or of each piece."""
    items = iter(items)
    for first in items:
        if not isinstance(first, str):
            yield _frame(first, name) if is_column_of_text(first) else first
            continue
        yield _frame([first, *islice(items, PIECE_DOCUMENTS - 1)], name)


def _frame(documents: Any, name: Any) -> pd.DataFrame:
    return pd.Series(
        list(documents),
        index=documents.index if isinstance(documents, pd.Series) else None,
        dtype=object,
    ).to_frame(
        UNNAMED if name is None else name,
    )
