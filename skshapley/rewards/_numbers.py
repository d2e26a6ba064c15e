"""Checks of what models and games return: real numbers, finite and not too large."""

from numbers import Real

import numpy as np

LARGEST = 1e306  # leaves room for differences and sums


def as_floats(raw) -> np.ndarray | None:
    """Return `raw` as a float64 array; None if it holds anything but real numbers.

    numpy would read the text "1" as a number. It is refused, since class labels often look so.
    """
    values = np.asarray(raw)
    if values.dtype.kind == "O":
        real = all(isinstance(value, (Real, np.bool_)) for value in values.ravel())
    else:
        real = values.dtype.kind in "biuf"
    return values.astype(np.float64, copy=False) if real else None


def flaw(values: np.ndarray) -> tuple[str, np.ndarray] | None:
    """Return what is wrong with values, and where; None if nothing is."""
    wrong = ~(np.abs(values) <= LARGEST)
    if not wrong.any():
        return None
    finite = np.isfinite(values).all()
    return f"numbers beyond {LARGEST:.0e}" if finite else "NaN or infinity", wrong
