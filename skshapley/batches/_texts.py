"""Texts of objects and errors that are the same in every process."""

import sys
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from skshapley._tools._texts import unaddressed
from skshapley.batches._hashes import digest_of

LONGEST = 400


def told(value: Any) -> str:
    """Return the text of a value, whole, the same in every process."""
    if isinstance(value, BaseEstimator):
        parameters = value.get_params(deep=False).items()
        inner = ", ".join(f"{name}={told(parameter)}" for name, parameter in parameters)
        return f"{type(value).__name__}({inner})"
    if isinstance(value, (set, frozenset)):  # whose order is another in each process
        return f"{type(value).__name__}({sorted(map(told, value))})"
    with np.printoptions(threshold=sys.maxsize, floatmode="unique"):
        text = unaddressed(repr(value))
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({digest_of(text)})"


def plain(value: Any) -> str | float | None:
    """Return a value that JSON knows, the same in every process."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return unaddressed(value)
    return value if value is None or isinstance(value, (int, float, bool)) else told(value)
