"""The format of a file of an explanation: its columns, its header, and their checks.

`COLUMNS` has the columns of numbers in the order of the file. Each knows its attribute
of the explanation, its names and types in the file, and how to write and read it. The
tokens of documents are lists, because each document has its own.
"""

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from functools import cached_property
from hashlib import blake2b
from itertools import chain
from typing import Any, BinaryIO, Self

import numpy as np
import pandas as pd

from skshapley._records._importance import errors_of
from skshapley._records._interactions import of_pairs
from skshapley._records._outcome import Record, Settings
from skshapley._tables import META, Piece, decoded

# pyarrow has no types
ArrowTable = Any


AXES = "rplk"  # rows, players, the numbers of an element, outputs


@dataclass(frozen=True)
class Column:
    """Numbers of an explanation in a file, in one column or in one for each player.

    Attributes
    ----------
    name : str
        The name of the column, or of its kind, such as ``value`` in ``value:age``.
    attribute : str
        The attribute of the explanation.
    axes : str
        The axes of the numbers, some of `AXES`. With ``p``, each player has a column;
        with ``l``, the elements are lists. Without ``k``, outputs share a number.
    in_full : bool
        Whether no number is packed or missing, so that they fix the length of a file.
    repeats : bool
        Whether repeated numbers are packed.
    types : tuple of str
        Valid types of the numbers.
    is_error : bool
        Whether the numbers are standard errors.
    """

    name: str
    attribute: str
    axes: str
    in_full: bool = False
    repeats: bool = True
    types: tuple[str, ...] = ("double",)
    is_error: bool = False

    def names(self, header: "Header") -> list[str]:
        """Return the names in the file."""
        if "p" not in self.axes:
            return [self.name]
        return [f"{self.name}:{player}" for player in header.players]

    def length(self, header: "Header") -> int:
        """Return the number of numbers in an element: of refits, or of pairs of players."""
        p = len(header.players)
        return header.added.get(self.name, p * (p - 1) // 2) if "l" in self.axes else 1

    def valid_types(self, header: "Header") -> tuple[str, ...]:
        """Return the valid types in the file."""
        if "l" not in self.axes:
            return self.types
        length = self.length(header)
        fixed = f"fixed_size_list<element: double>[{length}]"
        return (fixed if length else "list<element: double>",)

    def numbers(self, explanation: Record) -> np.ndarray:
        """Return the numbers of an explanation; NaN if they are unknown."""
        if self.attribute != "interactions":
            return errors_of(explanation, self.attribute)
        kind = "standard_errors" if self.is_error else "values"
        return of_pairs(explanation.interactions, kind)

    def cube(self, explanation: Record, header: "Header") -> np.ndarray:
        """Return the numbers along all axes, ``(r, columns, length, k)``."""
        shape = len(explanation), len(self.names(header)), self.length(header)
        return np.broadcast_to(
            self.numbers(explanation).reshape(
                *shape,
                header.k if "k" in self.axes else 1,
            ),
            (*shape, header.k),
        )

    def write(self, explanation: Record, header: "Header") -> Iterator[tuple[str, Any]]:
        """Yield the columns by name, with a line for each row and output."""
        columns = np.moveaxis(self.cube(explanation, header), 1, 0)
        for name, column in zip(self.names(header), columns, strict=True):
            lines = np.swapaxes(column, 1, 2).reshape(
                len(explanation) * header.k,
                self.length(header),
            )
            yield (
                name,
                lists_of(lines, not self.in_full)
                if "l" in self.axes
                else lines.ravel(),
            )

    def read(self, table: ArrowTable, header: "Header") -> np.ndarray:
        """Return the numbers along the axes of the column."""
        columns = [numbers_of(table[name]) for name in self.names(header)]
        lines = np.array(columns).reshape(
            len(columns),
            len(table) // header.k,
            header.k,
            self.length(header),
        )
        return np.transpose(lines, (1, 0, 3, 2))[
            tuple(slice(None) if axis in self.axes else 0 for axis in AXES)
        ]


def lists_of(lines: np.ndarray, nulls: bool) -> Any:
    """Return numbers ``(n, m)`` as an Arrow array of n lists; NaN may become null."""
    import pyarrow as pa

    element = pa.field("element", pa.float64())
    n, m = lines.shape
    if not m:  # Arrow has no lists of a fixed size 0
        return pa.array([[]] * n, pa.list_(element))
    return pa.FixedSizeListArray.from_arrays(
        pa.array(lines.ravel(), from_pandas=nulls),
        m,
    ).cast(pa.list_(element, m))


def numbers_of(column: Any) -> np.ndarray:
    """Return the numbers in a column, or in its lists, one list after the other."""
    if "list" not in str(column.type):
        return column.to_numpy()
    return column.combine_chunks().flatten().to_numpy(zero_copy_only=False)


COUNT = ("double", "int64")
ENDS = (
    Column("prediction", "predictions", "rk", in_full=True, repeats=False),
    Column("base_value", "base_values", "rk"),
    Column("others", "others", "rk"),
)
VALUES = Column("value", "values", "rpk", in_full=True, repeats=False)
ERRORS = (
    Column("error", "standard_errors", "rpk", is_error=True),
    Column("background", "background_errors", "rpk", is_error=True),
)
REFITS = Column("refit", "refit_values", "rplk", in_full=True, repeats=False)
OF_PLAYERS = (VALUES, *ERRORS, REFITS)
PAIRS = (
    Column("interaction", "interactions", "rlk", repeats=False),
    Column("interaction_error", "interactions", "rlk", is_error=True),
)
COSTS = (
    Column("n_evaluations", "n_evaluations", "r", types=COUNT),
    Column("n_model_rows", "n_model_rows", "r", types=COUNT),
    Column("converged", "converged", "r", types=("bool",)),
)
# Attributes that the header names if they are None
LACKING = [column.attribute for column in (*ERRORS, ENDS[2])]
COLUMNS = {column.name: column for column in (*ENDS, *OF_PLAYERS, *PAIRS, *COSTS)}

# The numbers and texts of the tokens of a document, as lists
OF_TOKENS = (VALUES, *ERRORS)
TOKENS = {
    **dict.fromkeys((column.name for column in OF_TOKENS), "double"),
    "position": "int64",
    **dict.fromkeys(("feature", "token", "piece"), "string"),
}


def tokens_of(explanation: Record) -> list[list[int]] | None:
    """Return the columns of each document's tokens, in its order; None for other data.

    A record without players belongs to documents without tokens.
    """
    data = explanation.data
    numbers = [getattr(explanation, column.attribute) for column in OF_TOKENS]
    is_table = any(kind.kind != "O" for kind in data.dtypes)
    if is_table or any(
        part is not None
        for part in (explanation.interactions, explanation.refit_values)
    ):
        return None
    cells = data.to_numpy(dtype=object)
    is_token = np.frompyfunc(lambda cell: isinstance(cell, Piece), 1, 1)(cells).astype(
        bool
    )
    # numbers of absent tokens are not stored
    if (cells.size and not is_token.any()) or any(
        n is not None and n[~is_token].any() for n in numbers
    ):
        return None
    return [
        sorted(np.flatnonzero(in_row).tolist(), key=lambda column: row[column].place)
        for row, in_row in zip(cells, is_token, strict=True)
    ]


def token_columns(
    explanation: Record,
    header: "Header",
    tokens: list[list[int]],
) -> Iterator[tuple[str, Any]]:
    """Yield lists with the numbers and texts of each document's tokens."""
    import pyarrow as pa

    k = header.k
    cells = explanation.data.to_numpy(dtype=object)
    names = [explanation.feature_names[players].tolist() for players in tokens]
    pieces = [cells[row, players].tolist() for row, players in enumerate(tokens)]
    lists: dict[str, list] = {
        "position": [[piece.place for piece in players] for players in pieces],
        "feature": names,
        # without the number of a repeated token
        "token": [[name.partition(" ")[0] for name in players] for players in names],
        "piece": [[str(piece) for piece in players] for players in pieces],
    }
    lists = {
        name: [players for players in column for _ in range(k)]
        for name, column in lists.items()
    }
    for column in OF_TOKENS:
        cube = column.cube(explanation, header)
        lists[column.name] = [
            cube[row, players, 0, o]
            for row, players in enumerate(tokens)
            for o in range(k)
        ]
    for name, kind in TOKENS.items():
        yield (
            name,
            pa.array(
                lists[name],
                pa.list_(pa.field("element", pa.type_for_alias(kind))),
            ),
        )


def read_tokens(
    table: ArrowTable,
    names: np.ndarray | None,
    k: int,
) -> tuple[np.ndarray, dict[Column, np.ndarray], pd.DataFrame]:
    """Return the names of tokens, their numbers by kind ``(r, p, k)``, and their pieces ``(r, p)``.

    Without names, these are the tokens in the table, in the order of first appearance.
    """
    lists = table.select([*TOKENS]).to_pydict()
    if names is None:
        names = np.array([*dict.fromkeys(chain(*lists["feature"]))], dtype=object)
    place = {name: column for column, name in enumerate(names.tolist())}
    shape = len(table) // k, len(names), k
    numbers = {column: np.zeros(shape) for column in OF_TOKENS}
    data = np.full(shape[:2], None, dtype=object)
    for line, features in enumerate(lists["feature"]):
        row, output = divmod(line, k)
        columns = [place[name] for name in features]
        for column, whole in numbers.items():
            whole[row, columns, output] = lists[column.name][line]
        pieces = map(Piece.at, lists["position"][line], lists["piece"][line])
        for player, piece in zip(columns, pieces, strict=True):
            data[row, player] = piece
    return names, numbers, pd.DataFrame(data, columns=names, dtype=object)


FORMAT = 1
# 128 bits: damage goes unnoticed once in 3e38 files.
HASH_BYTES = 16


@dataclass(frozen=True)
class Header:
    """Names, types and sizes of the content of a file.

    Attributes
    ----------
    format : int
    n_rows : int
        Number of explained rows.
    of_tokens : bool
        Whether the players are the tokens of documents.
    features, outputs : dict
        Names as JSON; outputs are None if there is only one.
    settings : dict
    index : list of [name, note], or None
        The levels of the index and their types; None if the index is ``row``.
    data : list of dict
        The type of each column of the data.
    lacking : list of str
        The attributes that are None.
    interactions : str or None
        The index of the interactions.
    part : dict
        The entry for this part from a run of batches.
    unknown : list of str, or None
        The kinds of errors with unknown ones, which are NaN. None: all may be unknown.
    added : dict
        The columns of lists that a file of the first version has not, with the lengths
        of their lists.
    """

    format: int
    n_rows: int
    of_tokens: bool
    features: dict
    outputs: dict | None
    settings: dict
    index: list | None
    data: list
    lacking: list
    interactions: str | None
    part: dict = field(default_factory=dict)
    unknown: list | None = None
    added: dict = field(default_factory=dict)

    @cached_property
    def players(self) -> list:
        """The names of the p players."""
        return [decoded(name) for name in self.features["names"]]

    @property
    def keys(self) -> list[str]:
        """The columns of the index; levels without a name are named by position."""
        levels = self.index or []
        unnamed = "index" if len(levels) == 1 else "index {}"
        return [
            f"key:{unnamed.format(place) if name is None else decoded(name)}"
            for place, (name, _) in enumerate(levels)
        ]

    @property
    def k(self) -> int:
        """The number of outputs."""
        return 1 if self.outputs is None else len(self.outputs["names"])

    def present(self, columns: Iterable[Column]) -> list[Column]:
        """Return the columns of numbers in the file, except lists of tokens."""
        # Unknown errors are written, as NaN.
        absent = set(self.lacking) - {column.attribute for column in ERRORS}
        if REFITS.name not in self.added:
            absent.add(REFITS.attribute)
        if self.interactions is None:
            absent.add("interactions")
        if self.of_tokens:
            absent |= {column.attribute for column in OF_PLAYERS}
        return [column for column in columns if column.attribute not in absent]

    @classmethod
    def of(cls, metadata: dict[bytes, bytes]) -> Self:
        """Return the header of a file."""
        content = json.loads(metadata[META])
        # Later versions may add settings, columns and facts without a new format.
        added = content.get("added", {}).keys() - {REFITS.name}
        settings = content["settings"].keys() - {item.name for item in fields(Settings)}
        facts = content.keys() - {item.name for item in fields(cls)}
        if content["format"] > FORMAT or added or settings or facts:
            raise FutureFormatError
        header = cls(**content)
        for item in fields(cls):
            if not isinstance(getattr(header, item.name), item.type):  # type: ignore[arg-type]
                raise TypeError(
                    f"its header has {item.name}={getattr(header, item.name)!r}"
                )
        if set(header.lacking) - set(LACKING):
            raise ValueError(f"its header lacks {header.lacking}")
        return header

    def expected(self) -> dict[str, tuple[str, ...]]:
        """Return the names of the columns with the valid types; an empty set allows any type."""
        types: dict[str, tuple[str, ...]] = {"row": ("int64",)}
        types |= dict.fromkeys(self.keys, ())
        if self.outputs is not None:
            types["output"] = ()
        types |= self._types((*ENDS, *OF_PLAYERS))
        if self.of_tokens:
            types |= {
                name: (f"list<element: {kind}>",) for name, kind in TOKENS.items()
            }
        else:
            types |= {f"data:{player}": () for player in self.players}
        return types | self._types((*PAIRS, *COSTS))

    def _types(self, columns: Iterable[Column]) -> dict[str, tuple[str, ...]]:
        """Return the names of some columns in the file, with the valid types."""
        return {
            name: column.valid_types(self)
            for column in self.present(columns)
            for name in column.names(self)
        }

    def check(self, metadata: Any, size: int) -> None:
        """Raise an error if names, types or sizes contradict the header.

        Parameters
        ----------
        metadata : pyarrow.parquet.FileMetaData
        size : int
            Bytes of the file.
        """
        columns = metadata.schema.to_arrow_schema()
        expected = self.expected()
        if columns.names != [*expected]:
            raise ValueError("its columns differ from its header")
        for name, kind in zip(columns.names, map(str, columns.types), strict=True):
            nested = "<" in kind or kind in ("binary", "large_binary")
            if kind not in expected[name] if expected[name] else nested:
                raise ValueError(f"its column {name!r} has the type {kind}")
        if self.n_rows < 0 or metadata.num_rows != self.n_rows * self.k:
            raise ValueError(f"it has {metadata.num_rows} lines for {self.n_rows} rows")
        if not self.of_tokens and len(self.data) != len(self.features["names"]):
            raise ValueError(f"it has types for {len(self.data)} columns of data")
        _check_sizes(metadata, size)


class FutureFormatError(Exception):
    """A file uses a format newer than this version."""


def check_errors(kind: str, errors: np.ndarray, unknown: list | None = None) -> None:
    """Raise an error for negative or infinite errors, and for unexpected unknown ones.

    Parameters
    ----------
    kind : str
    errors : ndarray
    unknown : list of str, or None
        The kinds with unknown errors, which are NaN. None: all.
    """
    invalid = (errors < 0) | np.isinf(errors)
    if unknown is not None and kind not in unknown:
        invalid |= np.isnan(errors)
    if invalid.any():
        raise ValueError(
            f"its column {kind!r} has {errors[invalid][0]}, which is no standard error"
        )


def _check_sizes(metadata: Any, size: int) -> None:
    """Raise an error if a file unpacks to much more than its length."""
    total = 0
    for group in range(metadata.num_row_groups):
        for place in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(place)
            total += chunk.total_uncompressed_size
            column, _, nested = kind_of(chunk.path_in_schema).partition(".")
            # an empty list counts as a value
            full = chunk.num_values - (
                metadata.row_group(group).num_rows if nested else 0
            )
            in_full = column in COLUMNS and COLUMNS[column].in_full
            least = 8 * full if in_full else 0
            # Our files are uncompressed, and dictionaries repeat texts. A small file
            # could otherwise unpack to any size and fill the memory of its reader.
            packed = (
                chunk.compression != "UNCOMPRESSED"
                or chunk.total_uncompressed_size < least
            )
            if packed or (
                chunk.physical_type == "BYTE_ARRAY" and chunk.has_dictionary_page
            ):
                raise ValueError(f"its column {chunk.path_in_schema!r} is compressed")
    if total > size:
        raise ValueError(f"its columns take {total} bytes, and the file has {size}")


def kind_of(column: str) -> str:
    return column.partition(":")[0]


# --- the hash of the footer -----------------------------------------------------------


def sealed(data: bytes) -> Iterator[bytes]:
    """Yield a Parquet file with a hash before its footer, which readers ignore."""
    start = _start(data[-8:], len(data))
    yield from (data[:start], _hash(data[start:]), data[start:])


def check_seal(file: BinaryIO) -> None:
    """Raise an error if the footer of a Parquet file has changed.

    pyarrow crashes on some damaged footers.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - 8, 0))
    file.seek(max(_start(file.read(), size) - HASH_BYTES, 0))
    stored_hash, footer = file.read(HASH_BYTES), file.read()
    if stored_hash != _hash(footer):
        raise ValueError("the hash of its footer is wrong")


def _start(tail: bytes, size: int) -> int:
    """Return the position of a Parquet file's footer; its length and a mark come last."""
    start = size - 8 - int.from_bytes(tail[:4], "little")
    if tail[4:] != b"PAR1" or start < 4:
        raise ValueError("it is not a Parquet file")
    return start


def _hash(footer: bytes) -> bytes:
    return blake2b(footer, digest_size=HASH_BYTES).digest()
