"""Universal binary JSON, as XGBoost writes it: arrays of numbers are read as they lie in memory."""

from struct import Struct
from typing import Any

import numpy as np

# Type markers and the big-endian numbers that follow them
_FORMATS = {"i": "b", "U": "B", "I": "h", "l": "i", "L": "q", "d": "f", "D": "d"}
_NUMBERS = {ord(marker): Struct(f">{code}") for marker, code in _FORMATS.items()}
_DTYPES = {marker: np.dtype(number.format) for marker, number in _NUMBERS.items()}
_NATIVE = {marker: dtype.newbyteorder("=") for marker, dtype in _DTYPES.items()}
_CONSTANTS = {ord("Z"): None, ord("T"): True, ord("F"): False}
_ARRAY, _ARRAY_END, _OBJECT, _OBJECT_END, _TEXT, _CHARACTER, _TYPE, _COUNT = b"[]{}SC$#"


def read_ubjson(raw) -> Any:
    """Return what a document of universal binary JSON holds.

    Parameters
    ----------
    raw : bytes or bytearray

    Returns
    -------
    value : dict, list, str, int, float, bool, None or ndarray
        An array of numbers of one type is an ndarray.
    """
    return _Reader(bytes(raw)).value()


class _Reader:
    """A place in a document; markers are compared as the numbers that their bytes are."""

    def __init__(self, raw) -> None:
        self.raw, self.at = raw, 0

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
        return np.frombuffer(self.raw, dtype, n, start).astype(_NATIVE[marker])

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
        fields = {}
        while self.raw[self.at] != _OBJECT_END:
            name = self.text()
            fields[name] = self.value()
        self.at += 1
        return fields
