"""Read-only arrays in frozen records."""

from dataclasses import fields
from typing import Any

import numpy as np


def freeze(record: Any) -> None:
    """Replace the arrays of a dataclass by read-only views; the caller's own stay writeable."""
    for item in fields(record):
        value = getattr(record, item.name)
        if isinstance(value, np.ndarray) and value.flags.writeable:
            view = value.view()
            view.setflags(write=False)
            object.__setattr__(record, item.name, view)
