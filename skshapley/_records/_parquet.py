"""Explanations in Parquet files: the format of `Explanation.save` and of batches.

A line belongs to a row and an output, so the table does not get wider with the outputs.
Columns: ``row``, ``key:<name>`` for each level of the index, ``output`` where there are
several, ``prediction``, ``base_value``, ``others``, then ``value:<player>``,
``error:<player>``, ``background:<player>``, ``refit:<player>`` with a list of numbers
(if the model was refitted) and ``data:<player>`` for each player,
``interaction`` and ``interaction_error`` with a number for each pair of players,
``n_evaluations``, ``n_model_rows`` and ``converged``. Each document has its own tokens,
so lists with a number or text for each token replace the columns of players.

The metadata have a header as JSON, with names and types, and a hash precedes the
footer. Both are compared with the file before any data are read. Pages have Parquet's
checksums. Nothing is compressed, and values, predictions and texts are written in full.
A file therefore never unpacks to much more than its length.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np
import pandas as pd

from skshapley._records._format import (
    COLUMNS,
    ERRORS,
    FORMAT,
    LACKING,
    PAIRS,
    ArrowTable,
    FutureFormatError,
    Header,
    check_errors,
    check_seal,
    kind_of,
    read_tokens,
    sealed,
    token_columns,
    tokens_of,
)
from skshapley._records._interactions import Interactions
from skshapley._records._outcome import Record, Settings
from skshapley._tables import (
    META,
    column_from_arrow,
    column_to_arrow,
    decoded,
    encoded,
    index_from_arrow,
    index_to_arrow,
)
from skshapley._tools import DamagedFileError, needed

# --- writing --------------------------------------------------------------------------


def arrow_table(
    explanation: Record,
    rows: np.ndarray | None = None,
    *,
    keyed: bool = True,
    typed: bool = True,
    unknown: Callable[[Any], str] | None = None,
) -> tuple[ArrowTable, Header]:
    """Return an explanation as an Arrow table, and its header.

    Parameters
    ----------
    explanation : Explanation
    rows : ndarray of shape (r,), int, default=None
        The positions in ``row``. None: 0, 1, 2, ...
    keyed : bool, default=True
        Whether the index is kept.
    typed : bool, default=True
        Whether integers in the data stay integers; otherwise they are stored as floats.
    unknown : callable, default=None
        Returns the text of an object in the data that cannot be stored. None: raise
        TypeError.
    """
    pa = needed("pyarrow", "a Parquet file of an explanation", "parquet")
    outputs = explanation.output_names
    r = len(explanation)
    pairs = explanation.interactions
    refits = explanation.refit_values
    declared = ERRORS if pairs is None else (*ERRORS, PAIRS[1])
    errors = {column.name: column.numbers(explanation) for column in declared}
    for name, array in errors.items():
        check_errors(name, array)
    levels = index_to_arrow(explanation.index, unknown) if keyed else None
    tokens = tokens_of(explanation)
    data, notes = (
        _data(explanation.data, typed, unknown) if tokens is None else ([], [])
    )
    header = Header(
        format=FORMAT,
        n_rows=r,
        of_tokens=tokens is not None,
        features=_written(explanation.feature_names, unknown),
        outputs=None if outputs is None else _written(outputs, unknown),
        settings={
            name: encoded(value, unknown)
            for name, value in explanation.settings.all.items()
        },
        index=None if levels is None else [[name, note] for name, _, note in levels],
        data=notes,
        lacking=[name for name in LACKING if getattr(explanation, name) is None],
        interactions=None if pairs is None else pairs.index,
        unknown=[name for name, array in errors.items() if np.isnan(array).any()],
        added={} if refits is None else {"refit": refits.shape[2]},
    )
    lines = np.arange(r * header.k)
    row = lines // header.k
    columns = [("row", (np.arange(r) if rows is None else rows)[row])]
    for key, (_, array, _) in zip(header.keys, levels or (), strict=True):
        columns.append((key, array.take(row)))
    if outputs is not None:
        columns.append(("output", _labels(outputs).take(lines % header.k)))
    for column in header.present(COLUMNS.values()):
        columns += column.write(explanation, header)
    if tokens is not None:
        columns += token_columns(explanation, header, tokens)
    else:
        for name, array in zip(header.players, data, strict=True):
            columns.append((f"data:{name}", array.take(row)))
    arrays = {name: pa.array(column) for name, column in columns}
    # A dict keeps one column of each name; the other would be lost silently.
    if len(arrays) < len(columns):
        raise ValueError(
            "A file of an explanation needs features and index levels with different "
            f"names as text; got {[str(name) for name in header.players]} under "
            f"{list(explanation.index.names)}."
        )
    # numbers that every line has are not nullable
    required = {"row", *COLUMNS} - {column.name for column in PAIRS}
    schema = [
        pa.field(name, arrays[name].type, nullable=kind_of(name) not in required)
        for name in header.expected()
    ]
    return pa.table(arrays, schema=pa.schema(schema)), header


def write_table(
    file: BinaryIO,
    table: ArrowTable,
    header: Header,
    part: dict | None = None,
) -> None:
    """Write a table and its header into an open file."""
    pq = needed("pyarrow.parquet", "a Parquet file of an explanation", "parquet")
    # Dictionaries shrink labels and repeated numbers. Columns that determine the file
    # size are stored in full.
    in_full = {column.name for column in COLUMNS.values() if not column.repeats}
    may_repeat = [
        f"{field.name}.list.element" if "list" in str(field.type) else field.name
        for field in table.schema
        if "string" not in str(field.type) and kind_of(field.name) not in in_full
    ]
    content = asdict(header) | {"part": part or {}}
    # in memory first: the seal needs the hash of the whole footer
    parquet = BytesIO()
    pq.write_table(
        table.replace_schema_metadata({META: json.dumps(content)}),
        parquet,
        compression="none",
        use_dictionary=may_repeat,
        write_statistics=["row"],
        write_page_checksum=True,
    )
    file.writelines(sealed(parquet.getvalue()))


def _data(frame: pd.DataFrame, typed: bool, unknown: Any) -> tuple[list, list]:
    columns = []
    for name, column in frame.items():
        # a later piece of the table may contain other numbers than integers
        floats = not typed and pd.api.types.is_integer_dtype(column.dtype)
        try:
            columns.append(
                column_to_arrow(column.astype(float) if floats else column, unknown)
            )
        except (TypeError, NotImplementedError, ValueError) as error:
            raise TypeError(f"Column {name!r} cannot be saved: {error}") from error
    return [array for array, _ in columns], [note for _, note in columns]


def _labels(outputs: np.ndarray) -> Any:
    """Return the labels of outputs; as text, unless all are numbers."""
    import pyarrow as pa

    labels = [
        label.item() if isinstance(label, np.generic) else label for label in outputs
    ]
    # A bool is an int for Python, but another type for readers of the file.
    numbers = {type(label) for label in labels} in ({int}, {float}, {bool})
    return pa.array(labels if numbers else [str(label) for label in labels])


def _written(names: np.ndarray, unknown: Any) -> dict:
    """Return names as JSON."""
    return {
        "objects": names.dtype == object,
        "names": [encoded(name, unknown) for name in names.tolist()],
    }


# --- reading --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ExplanationFile:
    """A file with a header that was checked against its content.

    Attributes
    ----------
    path : Path
    header : Header
    """

    path: Path
    header: Header

    @classmethod
    def open(cls, path: Path) -> Self:
        """Return a file without reading its data.

        Raises
        ------
        DamagedFileError
            If the file has changed since it was written.
        """
        pq = needed("pyarrow.parquet", "a Parquet file of an explanation", "parquet")
        size = path.stat().st_size
        with _named(path), path.open("rb") as file:
            # First the seal, which tells a cut file from one that Arrow cannot parse.
            check_seal(file)
            metadata = pq.read_metadata(file)
            header = Header.of(metadata.metadata or {})
            header.check(metadata, size)
        return cls(path, header)

    def table(self) -> ArrowTable:
        """Return the lines of the file; every page is compared with its checksum."""
        import pyarrow.parquet as pq

        with (
            _named(self.path),
            pq.ParquetFile(self.path, page_checksum_verification=True) as file,
        ):
            return file.read()

    def parts(self, positions: np.ndarray | None = None) -> dict[str, Any]:
        """Return the arguments of Explanation by name, for all rows or for some."""
        table = self.table()
        with _named(self.path):
            return _parts(self.header, table, positions)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Replace errors caused by invalid content by one with the name of the file."""
    import pyarrow as pa

    try:
        yield
    except FutureFormatError:
        raise ValueError(
            f"{str(path)!r} was written by a later version of skshapley: install that "
            "one."
        ) from None
    except (
        OSError,
        pa.ArrowException,
        KeyError,
        TypeError,
        ValueError,
        IndexError,
        AttributeError,
        NotImplementedError,
        RecursionError,
    ) as error:
        raise DamagedFileError(path, error) from error


def _parts(
    header: Header,
    table: ArrowTable,
    positions: np.ndarray | None,
) -> dict[str, Any]:
    k = header.k
    names = _read(header.features)
    if positions is not None:
        # Each row has k consecutive lines, one for each output.
        table = table.take((positions[:, None] * k + np.arange(k)).ravel())
    heads = table.take(np.arange(len(table) // k) * k)
    numbers = {
        column: column.read(table, header)
        for column in header.present(COLUMNS.values())
    }
    if header.of_tokens:
        names, of_tokens, data = read_tokens(
            table,
            None if positions is not None else names,
            k,
        )
        numbers |= of_tokens
    else:
        columns = [
            column_from_arrow(heads[f"data:{name}"], note)
            for name, note in zip(names, header.data, strict=True)
        ]
        data = pd.DataFrame(
            dict(enumerate(columns)),
            index=range(len(heads)),
        ).set_axis(names, axis=1)
    for column, array in numbers.items():
        if column.is_error:
            check_errors(column.name, array, header.unknown)
        if header.outputs is None and "k" in column.axes:
            numbers[column] = array[..., 0]
    pairs: list[Any] = [numbers.pop(column, None) for column in PAIRS]
    parts: dict[str, Any] = {
        column.attribute: array for column, array in numbers.items()
    }
    parts |= dict.fromkeys(header.lacking)
    index = pd.Index(heads["row"].to_numpy())
    if header.index is not None:
        index = index_from_arrow(
            [
                (name, heads[key], note)
                for key, (name, note) in zip(header.keys, header.index, strict=True)
            ],
        )
    settings = {name: decoded(value) for name, value in header.settings.items()}
    parts |= dict(
        data=data.set_axis(index, axis=0),
        feature_names=names,
        output_names=None if header.outputs is None else _read(header.outputs),
        settings=Settings(**settings),
    )
    if header.interactions is not None:
        parts["interactions"] = Interactions.of_pairs(
            parts["values"],
            *pairs,
            base_values=parts["base_values"],
            feature_names=names,
            index=header.interactions,
            rows=index,
            output_names=parts["output_names"],
        )
    return parts


def _read(content: dict) -> np.ndarray:
    """Return the original names."""
    names = [decoded(name) for name in content["names"]]
    if not content["objects"]:
        return np.array(names)
    # numpy would turn a list of tuples into two dimensions
    return pd.Series(names, dtype=object).to_numpy()
