"""Base class of objects with frames, so that skops can save them."""

import copyreg
from typing import Any

import pandas as pd

from skshapley._tables._arrow import frame_from_bytes, frame_to_bytes

FRAME = "frame "  # a mark with a space, which no attribute name contains


class Portable:
    """Mixin that returns frames as bytes in the state for skops.

    skops saves arrays, texts and bytes, but no frames. Pickles and copies contain the frames.
    """

    def __getstate__(self) -> Any:
        """Return the attributes, frames as bytes."""
        state = super().__getstate__()
        if not isinstance(state, dict):
            return state
        frames = [name for name, part in state.items() if isinstance(part, pd.DataFrame)]
        packed = {FRAME + name: frame_to_bytes(state[name]) for name in frames}
        return {name: part for name, part in state.items() if name not in frames} | packed

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Set the attributes; frames are decoded from bytes."""
        plain = {
            name.removeprefix(FRAME): frame_from_bytes(part) if name.startswith(FRAME) else part
            for name, part in state.items()
        }
        getattr(super(), "__setstate__", self.__dict__.update)(plain)

    def __reduce_ex__(self, protocol: Any) -> tuple:
        """Return the constructor and state for pickles and copies."""
        new: Any = copyreg.__newobj__  # type: ignore[attr-defined]
        return new, (type(self),), super().__getstate__()
