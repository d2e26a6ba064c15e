"""Universal binary JSON, as XGBoost writes it: arrays of numbers are read as they lie in memory."""

from struct import Struct
from typing import Any

import numpy as np

# Type markers and the big-endian numbers that follow them
_FORMATS = {"i": "b", "U": "B", "I": "h", "l": "i", "L": "q", "d": "f", "D": "d"}
_NUMBERS = {ord(marker): Struct(f">{code}") for marker, code in _FORMATS.items()}
_DTYPES = {marker: np.dtype(number.format) for marker, number in _NUMBERS.items()}
# Bytes of a field's head that tell most fields apart: the length of its name, and seven letters
_KEY = 16
_CONSTANTS = {ord("Z"): None, ord("T"): True, ord("F"): False}
# No field begins like this
_UNKNOWN = b"?", "", np.dtype("b")
_ARRAY, _ARRAY_END, _OBJECT, _OBJECT_END, _TEXT, _CHARACTER, _TYPE, _COUNT = b"[]{}SC$#"


def read_ubjson(raw) -> Any:
    """Return what a document of universal binary JSON holds.

    Parameters
    ----------
    raw : bytes or bytearray

    Returns
    -------
    value : dict, list, str, int, float, bool, None or ndarray
        An array of numbers of one type is an ndarray, big-endian as it lies there.
    """
    return _Reader(bytes(raw)).value()


class _Reader:
    """A place in a document; markers are compared as the numbers that their bytes are."""

    def __init__(self, raw) -> None:
        self.raw, self.at = raw, 0
        # Of arrays of numbers: the bytes before their number, its name and the type of its numbers
        self.heads: dict[bytes, tuple[bytes, str, np.dtype]] = {}

    def take(self) -> int:
        self.at += 1
        return self.raw[self.at - 1]

    def number(self) -> Any:
        """Return the number behind the marker that comes next."""
        number, at = _NUMBERS[self.raw[self.at]], self.at + 1
        self.at = at + number.size
        return number.unpack_from(self.raw, at)[0]

    def numbers(self, marker, n) -> np.ndarray:
        dtype, start = _DTYPES[marker], self.at
        self.at += n * dtype.itemsize
        return np.frombuffer(self.raw, dtype, n, start)

    def text(self) -> str:
        n, start = self.number(), self.at
        self.at += n
        return self.raw[start : start + n].decode()

    def value(self) -> Any:
        marker = self.raw[self.at]
        if marker in _NUMBERS:
            return self.number()
        self.at += 1
        if marker == _ARRAY:
            return self.array()
        if marker == _OBJECT:
            return self.fields()
        if marker == _TEXT:
            return self.text()
        return chr(self.take()) if marker == _CHARACTER else _CONSTANTS[marker]

    def array(self) -> np.ndarray | list:
        if self.raw[self.at] == _TYPE:
            marker = self.raw[self.at + 1]
            self.at += 3  # the type's "$", the type, the count's "#"
            return self.numbers(marker, self.number())
        if self.raw[self.at] == _COUNT:
            self.at += 1
            return [self.value() for _ in range(self.number())]
        items = []
        while self.raw[self.at] != _ARRAY_END:
            items.append(self.value())
        self.at += 1
        return items

    def fields(self) -> dict[str, Any]:
        """Return the fields of an object.

        One tree has the same fields as another: arrays that are known by their heads are read
        without going through them byte by byte.
        """
        raw, heads, fields = self.raw, self.heads, {}
        while raw[self.at] != _OBJECT_END:
            start = self.at
            head, name, dtype = heads.get(raw[start : start + _KEY], _UNKNOWN)
            if raw.startswith(head, start):
                self.at = start + len(head)
                n = self.number()
                fields[name] = np.frombuffer(raw, dtype, n, self.at)
                self.at += n * dtype.itemsize
                continue
            name, begin = self.text(), self.at
            fields[name] = self.value()
            if raw[begin : begin + 2] == b"[$":
                dtype = _DTYPES[raw[begin + 2]]
                heads[raw[start : start + _KEY]] = raw[start : begin + 4], name, dtype
        self.at += 1
        return fields
