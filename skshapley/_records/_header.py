"""The header of an explanation's file: its content and its checks."""

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from hashlib import blake2b
from typing import Any, BinaryIO, Self

import numpy as np

from skshapley._records._outcome import Settings
from skshapley._tables._arrow import META
from skshapley._tables._scalars import decoded

FORMAT = 1
# 128 bits: damage goes unnoticed once in 3e38 files.
HASH_BYTES = 16
KINDS = {
    "value": "values",
    "error": "standard_errors",
    "background": "background_errors",
}
# The numbers and texts of the tokens of a document, as lists
TOKENS = dict.fromkeys(KINDS, "double") | {"position": "int64"}
TOKENS |= dict.fromkeys(("feature", "token", "piece"), "string")
COSTS = ("n_evaluations", "n_model_rows", "converged")
ENDS = {"prediction": "predictions", "base_value": "base_values", "others": "others"}
PAIRS = ("interaction", "interaction_error")
MAY_LACK = ("standard_errors", "background_errors", "others")
IN_FULL = ("value", "prediction")  # columns that determine the length of a file


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

    @property
    def k(self) -> int:
        """The number of outputs."""
        return 1 if self.outputs is None else len(self.outputs["names"])

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
        known = {item.name for item in fields(Settings)}
        # Later versions may add settings without a new format, so unknown settings
        # count as later too.
        if content["format"] > FORMAT or set(content["settings"]) - known:
            raise FutureFormatError
        header = cls(**content)
        for item in fields(cls):
            if not isinstance(getattr(header, item.name), item.type):  # type: ignore[arg-type]
                raise TypeError(
                    f"its header has {item.name}={getattr(header, item.name)!r}"
                )
        if set(header.lacking) - set(MAY_LACK):
            raise ValueError(f"its header lacks {header.lacking}")
        return header

    def expected(self) -> dict[str, tuple[str, ...]]:
        """Return the names of the columns with the valid types; an empty set allows any type."""
        number, count = ("double",), ("double", "int64")
        p = len(self.features["names"])
        names = [decoded(name) for name in self.features["names"]]
        pair = f"fixed_size_list<element: double>[{p * (p - 1) // 2}]"
        columns: dict[str, tuple[str, ...]] = {"row": ("int64",)}
        levels = enumerate(self.index or ())
        columns |= {
            key_column(name, place, self.index): () for place, (name, _) in levels
        }
        if self.outputs is not None:
            columns["output"] = ()
        ends = [end for end in ENDS if end not in self.lacking]
        columns |= dict.fromkeys(ends, number)
        if self.of_tokens:
            columns |= {
                name: (f"list<element: {kind}>",) for name, kind in TOKENS.items()
            }
        else:
            for kind in KINDS:
                columns |= {f"{kind}:{name}": number for name in names}
            columns |= {f"data:{name}": () for name in names}
        if self.interactions is not None:
            columns |= dict.fromkeys(PAIRS, (pair,))
        return columns | dict.fromkeys(COSTS[:2], count) | {COSTS[2]: ("bool",)}

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
        if self.n_rows < 0 or metadata.num_rows != self.n_rows * self.k:
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
            least = 8 * full if column in IN_FULL else 0
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
    found, footer = file.read(HASH_BYTES), file.read()
    if found != _hash(footer):
        raise ValueError("the hash of its footer is wrong")


def _start(tail: bytes, size: int) -> int:
    """Return the position of a Parquet file's footer; its length and a mark come last."""
    start = size - 8 - int.from_bytes(tail[:4], "little")
    if tail[4:] != b"PAR1" or start < 4:
        raise ValueError("it is not a Parquet file")
    return start


def _hash(footer: bytes) -> bytes:
    return blake2b(footer, digest_size=HASH_BYTES).digest()
