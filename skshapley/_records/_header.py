"""The header of an explanation's file: its content and its checks."""

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields
from hashlib import blake2b
from typing import Any, BinaryIO, Self

import numpy as np

from skshapley._records._columns import (
    ADDED,
    COLUMNS,
    COSTS,
    ENDS,
    ERRORS,
    LACKING,
    OF_PLAYERS,
    PAIRS,
    TOKENS,
    Column,
    Size,
)
from skshapley._records._outcome import Settings
from skshapley._tables._arrow import META, decoded

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

    @property
    def size(self) -> Size:
        """The sizes that determine the columns."""
        k = 1 if self.outputs is None else len(self.outputs["names"])
        players = [decoded(name) for name in self.features["names"]]
        return Size(players, k, self.added)

    def present(self, columns: Iterable[Column]) -> list[Column]:
        """Return the columns of numbers that are in the file."""
        # Unknown errors are written, as NaN.
        absent = set(self.lacking) - {column.attribute for column in ERRORS}
        absent |= {
            column.attribute for column in ADDED if column.name not in self.added
        }
        if self.interactions is None:
            absent |= {column.attribute for column in PAIRS}
        return [column for column in columns if column.attribute not in absent]

    def may_lack(self, kind: str) -> bool:
        """Return True if some errors of a kind may be unknown."""
        return self.unknown is None or kind in self.unknown

    def metadata(self) -> dict[bytes, bytes]:
        """Return the header as metadata of a file."""
        return {META: json.dumps(asdict(self)).encode()}

    @classmethod
    def of(cls, metadata: dict[bytes, bytes]) -> Self:
        """Return the header of a file."""
        content = json.loads(metadata[META])
        # Later versions may add settings, columns and facts without a new format.
        added = content.get("added", {}).keys() - {column.name for column in ADDED}
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
        for place, (name, _) in enumerate(self.index or ()):
            types[key_column(name, place, self.index)] = ()
        if self.outputs is not None:
            types["output"] = ()
        types |= self._types(ENDS)
        if self.of_tokens:
            types |= {
                name: (f"list<element: {kind}>",) for name, kind in TOKENS.items()
            }
        else:
            types |= self._types(OF_PLAYERS)
            types |= {f"data:{player}": () for player in self.size.players}
        return types | self._types((*PAIRS, *COSTS))

    def _types(self, columns: Iterable[Column]) -> dict[str, tuple[str, ...]]:
        """Return the names of some columns in the file, with the valid types."""
        types: dict[str, tuple[str, ...]] = {}
        for column in self.present(columns):
            valid = column.valid_types(self.size)
            types |= dict.fromkeys(column.names(self.size), valid)
        return types

    def check(self, metadata: Any, size: int) -> None:
        """Raise an error if names, types or sizes contradict the header.

        Parameters
        ----------
        metadata : pyarrow.parquet.FileMetaData
        size : int
            Bytes of the file.
        """
        columns, expected = metadata.schema.to_arrow_schema(), self.expected()
        if columns.names != [*expected]:
            raise ValueError("its columns differ from its header")
        for name, kind in zip(columns.names, map(str, columns.types), strict=True):
            nested = "<" in kind or kind in ("binary", "large_binary")
            if kind not in expected[name] if expected[name] else nested:
                raise ValueError(f"its column {name!r} has the type {kind}")
        if self.n_rows < 0 or metadata.num_rows != self.n_rows * self.size.k:
            raise ValueError(f"it has {metadata.num_rows} lines for {self.n_rows} rows")
        if not self.of_tokens and len(self.data) != len(self.features["names"]):
            raise ValueError(f"it has types for {len(self.data)} columns of data")
        _check_sizes(metadata, size)


class FutureFormatError(Exception):
    """A file uses a format newer than this version."""


def check_errors(kind: str, errors: np.ndarray, may_lack: bool) -> None:
    """Raise an error for negative or infinite errors, and for unexpected unknown ones."""
    invalid = (errors < 0) | np.isinf(errors)
    if not may_lack:
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
            texts = chunk.physical_type == "BYTE_ARRAY" and chunk.has_dictionary_page
            if packed or texts:
                raise ValueError(f"its column {chunk.path_in_schema!r} is compressed")
    if total > size:
        raise ValueError(f"its columns take {total} bytes, and the file has {size}")


def kind_of(column: str) -> str:
    return column.partition(":")[0]


def key_column(name: Any, place: int, levels: list | None) -> str:
    """Return the column of a level of the index; unnamed levels are named by position."""
    unnamed = "index" if len(levels or ()) == 1 else f"index {place}"
    return f"key:{unnamed if name is None else decoded(name)}"


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
    start = _start(file.read(), size)
    file.seek(max(start - HASH_BYTES, 0))
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
