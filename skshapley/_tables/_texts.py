"""Values of columns for displays: their order, and texts of numbers, names and values."""

from os.path import commonprefix

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skshapley._tables._model_inputs import Piece

MINUS = "−"
# Name of the difference between a prediction and the sum of attributions
UNEXPLAINED = "unexplained"
# Name of the sum of unselected features
LEFT_OUT = "features left out"
MAX_NAME = 40
LEAST_NAME = 12  # letters
MAX_VALUE = 16
KEPT = 4  # letters kept of the common beginning of names
# Numbers below this share of the other numbers are rounding errors; observed: 4e-16
ROUNDING_RTOL = 1e-12


def shorten(text, width=MAX_NAME) -> str:
    """Return a text of at most `width` characters, shortened in the middle.

    The ends of names differ more often than their middle, as in ``sensor_12_mean`` and
    ``sensor_12_std``.
    """
    text = " ".join(str(text).split())
    if len(text) <= width:
        return text
    # One letter is for the ellipsis.
    head = (width - 1) // 2
    return f"{text[:head]}…{text[head + 1 - width :]}"


def short_names(names, width=MAX_NAME) -> list[str]:
    """Return distinct names of at most `width` letters.

    Names that would become equal lose their common beginning.
    """
    names = [" ".join(str(name).split()) for name in names]
    groups: dict[str, list] = {}
    for name in names:
        groups.setdefault(shorten(name, width), []).append(name)
    shared = {short: len(commonprefix(group)) - KEPT for short, group in groups.items()}  # noqa: RUF071
    return [
        short
        if len({*groups[short]}) == 1
        else shorten(f"…{name[shared[short] :]}", width)
        for name in names
        for short in [shorten(name, width)]
    ]


def number(value, signed=False, scale=0.0, digits=3) -> str:
    """Return a number with a few significant digits, or all of the integer part.

    A rounding error relative to `scale` is 0.
    """
    # Also avoids the logarithm of 0 below.
    if abs(value) <= ROUNDING_RTOL * scale:
        return "0"
    size = abs(value)
    decimals = max(0, digits - 1 - int(np.floor(np.log10(size))))
    form = f".{decimals}f" if 1e-4 <= size < 1e6 else f".{digits - 1}e"
    return f"{value:{'+' if signed else ''}{form}}".replace("-", MINUS)


def value_text(value, width=MAX_VALUE) -> str:
    """Return a value of the data as a short text."""
    if pd.isna(value) is True:  # an array for lists
        return "missing"
    if isinstance(value, (int, np.integer, np.bool_)):
        return str(value).replace("-", MINUS)
    if isinstance(value, (float, np.floating)):
        # Four significant digits, or all before the point: 0.1235, 12.35, 1234567
        form = ".0f" if 1e4 <= abs(float(value)) < 1e9 else ".4g"
        return f"{value:{form}}".replace("-", MINUS)
    if isinstance(value, pd.Timestamp):
        return value.isoformat(" ").removesuffix(" 00:00:00")
    return shorten(value, width)


def named_values(frame, width=MAX_NAME) -> list[str]:
    """Return "feature = data" for each line; only the name for a token, or a sum without data."""
    values = [
        "" if value is None or isinstance(value, Piece) else f" = {value_text(value)}"
        for value in frame["data"]
    ]
    names = short_names(
        frame["feature"],
        max(width - max(map(len, values)), LEAST_NAME),
    )
    return [name + value for name, value in zip(names, values, strict=True)]


def ordered_numbers(column) -> NDArray[np.float64]:
    """Return a column as floats, ``(r,)``; NaN for missing values or a column without an order."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        codes = column.cat.codes.to_numpy(dtype=np.float64)
        # Colours from low to high suggest an order, which unordered categories do not
        # have.
        return np.where(column.cat.ordered & (codes >= 0), codes, np.nan)
    if pd.api.types.is_datetime64_any_dtype(
        column
    ) or pd.api.types.is_timedelta64_dtype(column):
        # NaT is the least int64 and would otherwise be the earliest date.
        counts = column.astype("int64").to_numpy(dtype=np.float64)
        return np.where(column.isna(), np.nan, counts)
    # A table of numbers and strings in one ndarray has dtype object.
    if pd.api.types.is_numeric_dtype(column) or column.dtype == object:
        numbers = pd.to_numeric(column, errors="coerce")
        if numbers.notna().sum() == column.notna().sum():
            return numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.full(len(column), np.nan)
