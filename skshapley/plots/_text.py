"""Numbers, names and values as the displays write them."""

import numpy as np
import pandas as pd

MINUS = "−"
MAX_NAME = 32
MAX_VALUE = 16


def shorten(text, width=MAX_NAME):
    """Return text of at most `width` characters, cut in its middle.

    The ends of names tell more than their middle: ``sensor_12_mean`` against ``sensor_12_std``.
    """
    text = " ".join(str(text).split())
    if len(text) <= width:
        return text
    head = (width - 1) // 2
    return f"{text[:head]}…{text[head + 1 - width :]}"


def number(value, signed=False):
    """Return three significant digits, more of whole numbers, with a typographic minus."""
    if value == 0:
        return "0"
    size = abs(value)
    decimals = max(0, 2 - int(np.floor(np.log10(size))))
    form = f".{decimals}f" if 1e-4 <= size < 1e6 else ".2e"
    return f"{value:{'+' if signed else ''}{form}}".replace("-", MINUS)


def value_text(value):
    """Return a value of the data in a few characters."""
    if value is None or value is pd.NaT or value is pd.NA:
        return "missing"
    if isinstance(value, (bool, np.bool_)):
        return str(value)
    if isinstance(value, (int, np.integer)):
        return str(value).replace("-", MINUS)
    if isinstance(value, (float, np.floating)):
        return "missing" if np.isnan(value) else f"{value:.4g}".replace("-", MINUS)
    if isinstance(value, pd.Timestamp):
        return value.isoformat(" ").removesuffix(" 00:00:00")
    return shorten(value, MAX_VALUE)


def named_value(name, value):
    """Return "name = value"; only the name where there is no value, as for a sum of others."""
    return shorten(name) if value is None else f"{shorten(name)} = {value_text(value)}"
