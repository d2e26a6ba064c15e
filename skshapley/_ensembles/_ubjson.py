"""Universal binary JSON, as XGBoost writes it: arrays of numbers are read as they lie in memory."""

from typing import Any

import numpy as np

# Type markers and the big-endian numbers that follow them
_NUMBERS = {
    b"i": ">i1", b"U": ">u1", b"I": ">i2", b"l": ">i4", b"L": ">i8", b"d": ">f4", b"D": ">f8",
}  # fmt: skip
_DTYPES = {marker: np.dtype(name) for marker, name in _NUMBERS.items()}
_NATIVE = {marker: dtype.newbyteorder("=") for marker, dtype in _DTYPES.items()}
_SIZES = {marker: dtype.itemsize for marker, dtype in _DTYPES.items()}
_CONSTANTS = {b"Z": None, b"T": True, b"F": False}


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
    """A place in a document."""

    def __init__(self, raw) -> None:
        self.raw, self.at = raw, 0

    def take(self, n=1) -> bytes:
        self.at += n
        return self.raw[self.at - n : self.at]

    def peek(self) -> bytes:
        return self.raw[self.at : self.at + 1]

    def number(self, marker) -> int | float:
        if marker in b"dD":
            return float(self.numbers(marker, 1)[0])
        return int.from_bytes(self.take(_SIZES[marker]), signed=marker != b"U")

    def numbers(self, marker, n) -> np.ndarray:
        start, self.at = self.at, self.at + n * _SIZES[marker]
        return np.frombuffer(self.raw, _DTYPES[marker], n, start).astype(_NATIVE[marker])

    def text(self) -> str:
        return self.take(int(self.number(self.take()))).decode()

    def value(self) -> Any:
        marker = self.take()
        if marker == b"[":
            return self.array()
        if marker == b"{":
            return self.fields()
        if marker == b"S":
            return self.text()
        if marker == b"C":
            return self.take().decode()
        return _CONSTANTS[marker] if marker in _CONSTANTS else self.number(marker)

    def array(self) -> np.ndarray | list:
        if self.peek() == b"$":
            self.take()
            marker = self.take()
            self.take()  # the count's "#"
            return self.numbers(marker, int(self.number(self.take())))
        if self.peek() == b"#":
            self.take()
            return [self.value() for _ in range(int(self.number(self.take())))]
        items = []
        while self.peek() != b"]":
            items.append(self.value())
        self.take()
        return items

    def fields(self) -> dict[str, Any]:
        fields = {}
        while self.peek() != b"}":
            name = self.text()
            fields[name] = self.value()
        self.take()
        return fields
