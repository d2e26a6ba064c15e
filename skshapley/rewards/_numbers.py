"""Whether something returned by a model or a game is made of numbers."""

from numbers import Real

import numpy as np


def as_floats(raw) -> np.ndarray | None:
    """Return `raw` as a float64 array; None if it holds anything but real numbers.

    Text is refused though numpy would read "1" as a number: class labels often look like that.
    """
    values = np.asarray(raw)
    if values.dtype.kind == "O":
        real = all(isinstance(value, (Real, np.bool_)) for value in values.ravel())
    else:
        real = values.dtype.kind in "biuf"
    return values.astype(np.float64, copy=False) if real else None
