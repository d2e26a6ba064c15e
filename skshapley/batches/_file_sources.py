"""Sources of rows: tables, iterables of tables, Parquet and CSV files, sparse matrices."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np
import pandas as pd
from scipy import sparse

from skshapley._tables._inputs import is_foreign, is_frame, n_rows, narwhal, take_rows
from skshapley._tools._params import needed
from skshapley.batches._sources import (
    OWNER,
    Piece,
    Source,
    Wanted,
    is_bare,
    refuse_no_rows,
    split,
)
from skshapley.batches._state import digest_of

PIECE_ROWS = 2**16
LAZY = ("dask", "polars", "duckdb")  # whose tables that are no frames are read a part at a time

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as ds


def _table_source(table: Any) -> Source:
    """Return the source of one array, sparse matrix or frame."""
    if isinstance(table, pd.DataFrame):
        columns = {str(name): str(dtype) for name, dtype in table.dtypes.items()}
    elif is_frame(table):
        columns = {name: str(dtype) for name, dtype in narwhal(table).schema.items()}
    else:
        columns = {"dtype": str(table.dtype), "shape": str(table.shape[1:])}
    n = n_rows(table)

    def check(wanted: Wanted) -> None:
        refuse_no_rows(n)
        if sparse.issparse(table) and not (wanted.like is None or sparse.issparse(wanted.like)):
            raise TypeError(
                f"{OWNER} got a sparse matrix, and the explainer's background is a"
                f" {type(wanted.like).__name__}: fit the explainer on a sparse background, or pass"
                f" the rows as arrays, (X[i : i + 4096].toarray() for i in range(0, len, 4096))."
            )
        split(take_rows(table, slice(0, 0)), None, wanted)

    def pieces(wanted: Wanted) -> Iterator[Piece]:
        index = getattr(table, "index", None)
        if index is not None and index.equals(pd.RangeIndex(len(index))):
            index = None
        for start in range(0, n, PIECE_ROWS):
            rows = slice(start, start + PIECE_ROWS)
            yield split(take_rows(table, rows), None if index is None else index[rows], wanted)

    return Source({"kind": type(table).__name__, "columns": columns, "rows": n}, pieces, check, n)


def _pieces_source(tables: Iterable) -> Source:
    """Return the source of an iterable of arrays, sparse matrices or frames."""

    def pieces(wanted: Wanted) -> Iterator[Piece]:
        kind = None
        for table in tables:
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
            if n_rows(table):  # an index that merely counts is none of the frame's own
                yield split(table, None if isinstance(index, pd.RangeIndex) else index, wanted)

    once = iter(tables) is tables
    return Source({"kind": "iterator"}, pieces, lambda wanted: None, typed=False, once=once)


def _csv_source(path: Path) -> Source:
    """Return the source of a CSV file."""

    def check(wanted: Wanted) -> None:
        with _named(path):
            header = pd.read_csv(path, nrows=0)
        split(header, None, wanted)

    def pieces(wanted: Wanted) -> Iterator[Piece]:
        with _named(path), pd.read_csv(path, chunksize=PIECE_ROWS) as tables:
            for table in tables:
                if len(table):
                    yield _contained(table, wanted)

    facts = {"kind": "csv", "bytes": path.stat().st_size}
    return Source(facts, pieces, check, typed=False)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Name the file, and the line that is not UTF-8, in the errors of reading."""
    try:
        yield
    except UnicodeDecodeError as error:
        line, text = _first_undecoded(path)
        raise ValueError(
            f"{OWNER} reads {str(path)!r} as UTF-8, and its line {line} is {text!r}. Pass the file"
            f" in its own encoding, for example"
            f' pandas.read_csv({str(path)!r}, encoding="latin-1", chunksize=65536).'
        ) from error
    except pd.errors.ParserError as error:
        raise ValueError(f"{OWNER} cannot read {str(path)!r}: {error}") from error


def _first_undecoded(path: Path) -> tuple[int, bytes]:
    """Return the number of the first line that is not UTF-8, from 1, and its beginning."""
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                return number, line[max(0, error.start - 20) : error.end + 10].rstrip()
    return 0, b""


def _arrow_source(dataset: "ds.Dataset") -> Source:
    """Return the source of a pyarrow dataset: Parquet files, folders of them, or tables."""
    files = getattr(dataset, "files", ())
    sizes = [dataset.filesystem.get_file_info(file).size for file in files]
    n = dataset.count_rows()
    facts = {
        "kind": "parquet" if files else "arrow",
        "columns": {field.name: str(field.type) for field in dataset.schema},
        "rows": n,
        "files": len(files),
        "names and sizes": digest_of([file.rsplit("/", 1)[-1] for file in files], sizes),
    }

    def check(wanted: Wanted) -> None:
        import pyarrow.dataset as ds

        refuse_no_rows(n)
        asked = {*wanted.of(dataset.schema.names), *wanted.keys}
        for fragment in dataset.get_fragments():  # a column that a file lacks would read as missing
            of_folder = ds.get_partition_keys(fragment.partition_expression)
            lacking = sorted(asked.difference(fragment.physical_schema.names, of_folder))
            if lacking:
                raise ValueError(
                    f"{OWNER} needs the columns {lacking}, which the file"
                    f" {getattr(fragment, 'path', fragment)!r} does not have, and other files of"
                    f" the source do."
                )

    def pieces(wanted: Wanted) -> Iterator[Piece]:
        import pyarrow as pa

        columns = list(dict.fromkeys([*wanted.of(dataset.schema.names), *wanted.keys]))
        ahead = dict(batch_size=PIECE_ROWS, batch_readahead=2, fragment_readahead=1)
        for block in dataset.to_batches(columns=columns, **ahead):
            if len(block):
                yield _contained(pa.Table.from_batches([block]), wanted)

    return Source(facts, pieces, check, n)


def _lazy_source(table: Any, library: str) -> Source:
    """Return the source of a lazy table of dask, polars or DuckDB, read a part at a time."""
    lazy = table if library == "dask" else needed("narwhals", OWNER).from_native(table)
    schema = lazy.dtypes if library == "dask" else lazy.collect_schema()
    columns = {name: str(kind) for name, kind in schema.items()}

    def parts(names: list) -> Iterator[Any]:
        if library == "dask":
            yield from (part.compute() for part in lazy[names].partitions)
        elif library == "polars":
            chosen = lazy.select(names).to_native()
            for frame in chosen.collect_batches(chunk_size=PIECE_ROWS, maintain_order=True):
                yield frame.to_arrow()
        else:
            pa = needed("pyarrow", OWNER, "parquet")
            for block in pa.RecordBatchReader.from_stream(lazy.select(names).to_native()):
                yield pa.Table.from_batches([block])

    def pieces(wanted: Wanted) -> Iterator[Piece]:
        for part in parts(list(dict.fromkeys([*wanted.of([*columns]), *wanted.keys]))):
            if len(part):
                yield _contained(part, wanted)

    def check(wanted: Wanted) -> None:
        wanted.of([*columns])

    return Source({"kind": library, "columns": columns}, pieces, check, typed=False)


def _contained(table: "pd.DataFrame | pa.Table", wanted: Wanted) -> Piece:
    """Return rows of a file in the container of the background."""
    if is_foreign(wanted.like):
        nw, pa = needed("narwhals", OWNER), needed("pyarrow", OWNER, "parquet")
        if isinstance(table, pd.DataFrame):
            table = pa.Table.from_pandas(table, preserve_index=False)
        frame = nw.from_arrow(table, backend=nw.get_native_namespace(wanted.like)).to_native()
        return split(frame, None, wanted)
    frame = table if isinstance(table, pd.DataFrame) else table.to_pandas(ignore_metadata=True)
    X, index = split(frame, None, wanted)
    return (X.to_numpy() if is_bare(wanted.like) else X), index


def open_source(source: Any) -> Source:
    """Return the source of a table, lazy or not, of an iterable of tables, a path or a dataset."""
    if isinstance(source, (str, PathLike)):
        return _from_path(Path(source))
    if type(source).__module__.split(".")[0] == "pyarrow":
        import pyarrow.dataset as ds

        return _arrow_source(source if isinstance(source, ds.Dataset) else ds.dataset(source))
    if sparse.issparse(source) and source.ndim == 2:
        return _table_source(source.tocsr())
    if is_bare(source) or is_frame(source):
        if np.ndim(source) != 2:
            raise ValueError(
                f"{OWNER} takes tables of two dimensions; got an array of shape {source.shape}."
            )
        return _table_source(source)
    library = type(source).__module__.split(".")[0].lstrip("_")
    if library in LAZY:
        return _lazy_source(source, library)
    if isinstance(source, Iterable) and not isinstance(source, (bytes, dict)):
        return _pieces_source(source)
    raise TypeError(
        f"{OWNER} takes source as a frame, an array, a sparse matrix, an iterable of them, a path"
        f" of Parquet, CSV or .npz files, or a pyarrow dataset; got {type(source).__name__}."
    )


def _from_path(path: Path) -> Source:
    if not path.exists():
        raise FileNotFoundError(f"{OWNER} got source={str(path)!r}, which does not exist.")
    if path.suffix.lower() == ".csv":
        return _csv_source(path)
    if path.suffix.lower() == ".npz":
        return _table_source(read_sparse(path).tocsr())
    ds = needed("pyarrow.dataset", OWNER, "parquet")

    return _arrow_source(ds.dataset(path, format="parquet", partitioning="hive"))


def read_sparse(path: Path) -> Any:
    """Return the sparse matrix of a file that scipy.sparse.save_npz wrote.

    Raises
    ------
    ValueError
        For another file.
    """
    try:
        return sparse.load_npz(path)
    except (ValueError, KeyError, OSError, BadZipFile) as error:
        raise ValueError(
            f"{OWNER} takes .npz files of scipy.sparse.save_npz alone; got {str(path)!r}: {error}."
        ) from error
