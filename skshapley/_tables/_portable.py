"""Base class of objects with frames, so that skops can save them."""

import copyreg
from typing import Any

import pandas as pd

from skshapley._tables._arrow import frame_from_bytes, frame_to_bytes

FRAME, INDEX = "frame ", "index "  # marks with a space, which no attribute name contains


class Portable:
    """Mixin that returns frames as bytes in the state for skops.

    skops saves arrays, texts and bytes, but no frames. Pickles and copies contain the frames.
    """

    def __getstate__(self) -> Any:
        """Return the attributes, frames and indices as bytes."""
        state = super().__getstate__()
        if not isinstance(state, dict):
            return state
        return dict(_packed(name, value) for name, value in state.items())

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Set the attributes; frames and indices are decoded from bytes."""
        plain = dict(_unpacked(name, value) for name, value in state.items())
        getattr(super(), "__setstate__", self.__dict__.update)(plain)

    def __reduce_ex__(self, protocol: Any) -> tuple:
        """Return the constructor and state for pickles and copies."""
        new: Any = copyreg.__newobj__  # type: ignore[attr-defined]
        return new, (type(self),), super().__getstate__()


def _packed(name: str, value: Any) -> tuple[str, Any]:
    """Return a frame or an index as bytes with a marked name; other values are unchanged."""
    if isinstance(value, pd.DataFrame):
        return FRAME + name, frame_to_bytes(value)
    if isinstance(value, pd.Index):
        return INDEX + name, frame_to_bytes(pd.DataFrame(index=value))
    return name, value


def _unpacked(name: str, value: Any) -> tuple[str, Any]:
    """Return the name and the value that were packed."""
    if name.startswith(FRAME):
        return name.removeprefix(FRAME), frame_from_bytes(value)
    if name.startswith(INDEX):
        return name.removeprefix(INDEX), frame_from_bytes(value).index
    return name, value
