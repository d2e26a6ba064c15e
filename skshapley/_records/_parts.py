"""The arrays of records: which have which axes, and how they become read-only."""

from dataclasses import fields
from typing import Any

import numpy as np

ERRORS = ("standard_errors", "background_errors")
BY_PLAYER = ("values", *ERRORS)
# `others` is beside them: it is None in most.
BY_OUTPUT = (*BY_PLAYER, "base_values", "predictions", "others")
BY_ROW = (*BY_OUTPUT, "n_evaluations", "n_model_rows", "converged")


def freeze(record: Any) -> None:
    """Replace the arrays of a dataclass by read-only views; the caller's own stay writeable."""
    for item in fields(record):
        value = getattr(record, item.name)
        if isinstance(value, np.ndarray) and value.flags.writeable:
            view = value.view()
            view.setflags(write=False)
            object.__setattr__(record, item.name, view)
