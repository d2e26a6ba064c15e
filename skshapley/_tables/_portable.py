"""Objects whose frames skops can keep."""

import copyreg
from typing import Any

import pandas as pd

from skshapley._tables._archive import (
    Arrays,
    pack,
    read_frame,
    read_index,
    unpack,
    write_frame,
    write_index,
)

PACKED = "packed "  # no attribute has a space in its name


class Portable:
    """Mixin that gives its frames as bytes to whom asks for its state, as skops does.

    skops knows arrays, text and bytes, and no frames. Pickles and copies take another way, and hold
    the frames as they are.
    """

    def __getstate__(self) -> Any:
        """Return the attributes, frames and indices as bytes."""
        state = super().__getstate__()
        if not isinstance(state, dict):
            return state
        return dict(_packed(name, value) for name, value in state.items())

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the attributes, from bytes where they are."""
        plain = dict(_unpacked(name, value) for name, value in state.items())
        getattr(super(), "__setstate__", self.__dict__.update)(plain)

    def __reduce_ex__(self, protocol: Any) -> tuple:
        """Return what pickles and copies are made of."""
        new: Any = copyreg.__newobj__  # type: ignore[attr-defined]
        return new, (type(self),), super().__getstate__()


def _packed(name: str, value: Any) -> tuple[str, Any]:
    """Return a frame or an index as bytes, with a mark on its name; anything else as it is."""
    arrays: Arrays = {}
    if isinstance(value, pd.DataFrame):
        content = {"frame": write_frame(value, arrays, "frame")}
    elif isinstance(value, pd.Index):
        content = {"index": write_index(value, arrays, "index")}
    else:
        return name, value
    return PACKED + name, pack(content, arrays, compress=False)


def _unpacked(name: str, value: Any) -> tuple[str, Any]:
    """Return what was packed."""
    if not name.startswith(PACKED):
        return name, value
    content, arrays = unpack(value)
    frame = content.get("frame")
    whole = read_index(content["index"], arrays) if frame is None else read_frame(frame, arrays)
    return name.removeprefix(PACKED), whole
