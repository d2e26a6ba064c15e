"""Single values as JSON: elements of object columns, indexes and names."""

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from skshapley._tables._documents import Piece

_PLAIN = (str, bool, int, float, type(None))

# Encoders and decoders of values of other types; the first match is used.
_TYPES: dict[str, tuple[type, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "NaT": (type(pd.NaT), lambda value: None, lambda text: pd.NaT),
    "NA": (type(pd.NA), lambda value: None, lambda text: pd.NA),
    "Timestamp": (pd.Timestamp, pd.Timestamp.isoformat, pd.Timestamp),
    "Timedelta": (pd.Timedelta, pd.Timedelta.isoformat, pd.Timedelta),
    "datetime": (dt.datetime, dt.datetime.isoformat, dt.datetime.fromisoformat),
    "date": (dt.date, dt.date.isoformat, dt.date.fromisoformat),
    "time": (dt.time, dt.time.isoformat, dt.time.fromisoformat),
    "Decimal": (Decimal, str, Decimal),
    "Period": (
        pd.Period,
        lambda value: [value.ordinal, value.freqstr],
        lambda parts: pd.Period(ordinal=parts[0], freq=parts[1]),
    ),
    "Interval": (
        pd.Interval,
        lambda value: [encoded(value.left), encoded(value.right), value.closed],
        lambda parts: pd.Interval(decoded(parts[0]), decoded(parts[1]), parts[2]),
    ),
    "Piece": (
        Piece,
        lambda piece: [piece.place, str(piece)],
        lambda parts: Piece.at(*parts),
    ),
    "tuple": (
        tuple,
        lambda value: [encoded(part) for part in value],
        lambda parts: tuple(decoded(part) for part in parts),
    ),
}


def encoded(value: Any, unknown: Callable[[Any], str] | None = None) -> Any:
    """Return a value in a form that JSON can store.

    Parameters
    ----------
    value : object
    unknown : callable, default=None
        Returns the text of a value of any other type. None refuses such values.

    Raises
    ------
    TypeError
        For a value of another type.
    """
    if type(value) in _PLAIN:
        return value
    if isinstance(value, np.str_):
        return str(value)
    if isinstance(value, np.generic) and value.dtype.kind in "biufmM":
        number = value.astype(np.int64) if value.dtype.kind in "mM" else value
        return {"type": "numpy", "value": [value.dtype.str, number.item()]}
    for name, (kind, write, _) in _TYPES.items():
        if isinstance(value, kind):
            return {"type": name, "value": write(value)}
    if unknown is not None:
        return unknown(value)
    raise TypeError(
        f"it contains {value!r} of type {type(value).__name__}; convert it to a "
        "number, a text or a date first."
    )


def decoded(content: Any) -> Any:
    """Return the original value of an encoded one."""
    if not isinstance(content, dict):
        return content
    if content["type"] == "numpy":
        kind, number = content["value"]
        return np.array(number).astype(kind)[()]
    return _TYPES[content["type"]][2](content["value"])
