"""Rows in files: Parquet, CSV and sparse matrices; and what a source is made of."""

from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np
import pandas as pd
from scipy import sparse

from skshapley._tables._inputs import is_foreign, is_frame
from skshapley.batches._files import need_pyarrow
from skshapley.batches._hashes import digest_of
from skshapley.batches._sources import (
    OWNER,
    Piece,
    PiecesSource,
    Source,
    TableSource,
    Wanted,
    index_of,
    is_bare,
    refuse_no_rows,
    split,
)

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as ds


class CsvSource(Source):
    """A CSV file."""

    typed = False

    def __init__(self, path: Path) -> None:
        self.path = path

    def facts(self) -> dict:
        """Return kind and size."""
        return {"kind": "csv", "bytes": self.path.stat().st_size}

    def check(self, wanted: Wanted) -> None:
        """Refuse a file whose header lacks columns that are wanted."""
        split(pd.read_csv(self.path, nrows=0), None, wanted)

    def pieces(self, wanted: Wanted) -> Iterator[Piece]:
        """Yield tables of some lines."""
        with pd.read_csv(self.path, chunksize=2**16) as tables:
            yield from PiecesSource(tables).pieces(wanted)

    def contained(self, piece: pd.DataFrame, wanted: Wanted) -> Any:
        """Return a table as frame or array, as the background is."""
        if is_foreign(wanted.like):
            need_pyarrow()
            import pyarrow as pa

            return _foreign(pa.Table.from_pandas(piece, preserve_index=False), wanted.like)
        return piece.to_numpy() if is_bare(wanted.like) else piece


class ArrowSource(Source):
    """A pyarrow dataset: Parquet files, folders of them, or tables in memory."""

    piece_rows = 2**16

    def __init__(self, dataset: "ds.Dataset") -> None:
        self.dataset, self.n_rows = dataset, dataset.count_rows()

    def facts(self) -> dict:
        """Return kind, columns, length, and the sizes of the files."""
        files = getattr(self.dataset, "files", ())
        sizes = [self.dataset.filesystem.get_file_info(file).size for file in files]
        names = [file.rsplit("/", 1)[-1] for file in files]
        return {
            "kind": "parquet" if files else "arrow",
            "columns": {field.name: str(field.type) for field in self.dataset.schema},
            "rows": self.n_rows,
            "files": len(files),
            "names and sizes": digest_of(names, sizes),
        }

    def check(self, wanted: Wanted) -> None:
        """Refuse files without rows, and each that lacks a column: it would read as missing."""
        import pyarrow.dataset as ds

        refuse_no_rows(self.n_rows)
        needed = {*wanted.of(self.dataset.schema.names), *wanted.keys}
        for fragment in self.dataset.get_fragments():
            of_folder = ds.get_partition_keys(fragment.partition_expression)
            lacking = sorted(needed.difference(fragment.physical_schema.names, of_folder))
            if lacking:
                raise ValueError(
                    f"{OWNER} needs the columns {lacking}, which the file"
                    f" {getattr(fragment, 'path', fragment)!r} does not have, and other files of"
                    f" the source do."
                )

    def pieces(self, wanted: Wanted) -> Iterator[Piece]:
        """Yield tables of the columns that are wanted, read one file and few blocks ahead."""
        import pyarrow as pa

        columns = wanted.of(self.dataset.schema.names)
        read = list(dict.fromkeys([*columns, *wanted.keys]))
        ahead = dict(batch_size=self.piece_rows, batch_readahead=2, fragment_readahead=1)
        for block in self.dataset.to_batches(columns=read, **ahead):
            if len(block):
                table = pa.Table.from_batches([block])
                keys = table.select(wanted.keys).to_pandas(ignore_metadata=True)
                yield table.select(columns), index_of(keys, wanted.keys) if wanted.keys else None

    def joined(self, parts: list) -> "pa.Table":
        """Return tables as one."""
        import pyarrow as pa

        return pa.concat_tables(parts)

    def cut(self, piece: "pa.Table", start: int, stop: int) -> "pa.Table":
        """Return some rows of a table."""
        return piece.slice(start, stop - start)

    def contained(self, piece: "pa.Table", wanted: Wanted) -> Any:
        """Return a table as frame or array, as the background is."""
        if is_foreign(wanted.like):
            return _foreign(piece, wanted.like)
        frame = piece.to_pandas(ignore_metadata=True)
        return frame.to_numpy() if is_bare(wanted.like) else frame


def open_source(source: Any) -> Source:
    """Return the source of an array, sparse matrix, frame, iterable of them, path or dataset."""
    if isinstance(source, (str, PathLike)):
        return _from_path(Path(source))
    if type(source).__module__.split(".")[0] == "pyarrow":
        import pyarrow.dataset as ds

        return ArrowSource(source if isinstance(source, ds.Dataset) else ds.dataset(source))
    if sparse.issparse(source) and source.ndim == 2:
        return TableSource(source.tocsr())
    if is_bare(source) or is_frame(source):
        if np.ndim(source) != 2:
            raise ValueError(
                f"{OWNER} takes tables of two dimensions; got an array of shape {source.shape}."
            )
        return TableSource(source)
    if isinstance(source, Iterable) and not isinstance(source, (bytes, dict)):
        return PiecesSource(source)
    raise TypeError(
        f"{OWNER} takes source as a frame, an array, a sparse matrix, an iterable of them, a path"
        f" of Parquet, CSV or .npz files, or a pyarrow dataset; got {type(source).__name__}."
    )


def _from_path(path: Path) -> Source:
    if not path.exists():
        raise FileNotFoundError(f"{OWNER} got source={str(path)!r}, which does not exist.")
    if path.suffix.lower() == ".csv":
        return CsvSource(path)
    if path.suffix.lower() == ".npz":
        return TableSource(read_sparse(path).tocsr())
    need_pyarrow()
    import pyarrow.dataset as ds

    return ArrowSource(ds.dataset(path, format="parquet", partitioning="hive"))


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


def _foreign(piece: "pa.Table", like: Any) -> Any:
    """Return a table as a frame of the library that another frame is of."""
    import narwhals as nw

    return nw.from_arrow(piece, backend=nw.get_native_namespace(like)).to_native()
