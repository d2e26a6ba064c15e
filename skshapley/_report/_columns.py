"""The columns of the data in the report: numbers, dates, or coded texts."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skshapley._tables._texts import ordered_numbers, shorten
from skshapley.plots._common import ends_of

# Numbers in a script are doubles: larger integers would lose their last digits
LARGEST_INTEGER = 2**53
DATA_DIGITS = 10
TEXT_LETTERS = 120


def rounded(numbers: NDArray[np.float64], digits: int) -> list[float | None]:
    """Return numbers with few significant digits, short in JSON; None for NaN and infinity."""
    form = f"%.{digits}g"
    return [
        _short(float(form % x)) if np.isfinite(x) else None for x in numbers.tolist()
    ]


def column(data: pd.Series) -> dict[str, Any]:
    """Return a column of the data for the page.

    Returns
    -------
    column : dict
        Numbers and dates: ``kind`` ("number", or "date" in seconds), ``x`` (None
        without a finite number) and ``ends``, the limits of the colours. Infinite
        values are in ``texts``, by row. Other columns: ``kind`` "text", ``names``,
        ``codes`` (-1 for missing values) and whether the names are ``ordered``.
    """
    if pd.api.types.is_datetime64_any_dtype(data):
        # Readers expect the local time of their data.
        clock = data.dt.tz_localize(None) if data.dt.tz is not None else data
        seconds = clock.astype("datetime64[ms]").astype("int64").to_numpy() / 1e3
        return _numbers("date", np.where(data.isna(), np.nan, seconds))
    if pd.api.types.is_bool_dtype(data):
        return _texts(data, [False, True], ordered=True)
    if isinstance(data.dtype, pd.CategoricalDtype):
        return _texts(data, list(data.cat.categories), ordered=bool(data.cat.ordered))
    numbers = ordered_numbers(data)
    unordered = np.isnan(numbers).all() or pd.api.types.is_timedelta64_dtype(data)
    # Integers that exceed doubles, such as long keys, are texts.
    ends = (data.min(), data.max()) if pd.api.types.is_integer_dtype(data) else ()
    if unordered or any(abs(int(end)) > LARGEST_INTEGER for end in ends):
        texts = [text(value) for value in data]
        names = sorted({value for value in texts if value is not None})
        return _texts(pd.Series(texts, dtype=object), names, ordered=False)
    return _numbers("number", numbers)


def text(value: Any) -> str | None:
    """Return any value as a text of at most 120 letters, or None if it is missing."""
    missing = pd.isna(value) is True  # an array for lists
    return None if missing else shorten(value, TEXT_LETTERS)


def _numbers(kind: str, numbers: NDArray[np.float64]) -> dict[str, Any]:
    infinite = np.flatnonzero(np.isinf(numbers))
    return {
        "kind": kind,
        "x": rounded(numbers, DATA_DIGITS if kind == "number" else 17),
        "ends": rounded(np.array(ends_of(numbers)), DATA_DIGITS),
        "texts": {str(row): "∞" if numbers[row] > 0 else "−∞" for row in infinite},
    }


def _texts(data: pd.Series, names: list, ordered: bool) -> dict[str, Any]:
    codes = pd.Categorical(data, names).codes
    texts = [text(name) for name in names]
    return {"kind": "text", "names": texts, "codes": codes.tolist(), "ordered": ordered}


def _short(number: float) -> float:
    """Return a whole number as an int: "2" is shorter than "2.0" and "-0.0"."""
    return (
        int(number)
        if number.is_integer() and abs(number) <= LARGEST_INTEGER
        else number
    )
