"""Validation of the bounds' arguments: numbers that broadcast, and choices."""

import numpy as np
from numpy.typing import NDArray

# One number, or one for each entry of the arrays that were given
Numbers = np.float64 | NDArray[np.float64]


def one_of(owner, parameter, value, choices) -> None:
    """Refuse a value that is not one of the choices."""
    if value not in choices:
        raise ValueError(f"{owner} got {parameter}={value!r}: choose one of {choices}.")
