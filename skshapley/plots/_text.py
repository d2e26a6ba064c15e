"""Numbers, names and values, as the displays write them."""

from functools import partial
from itertools import takewhile

import numpy as np
import pandas as pd

from skshapley._tables._documents import Piece

MINUS = "−"
# Name of the part of a prediction that the attributions do not add up to
UNEXPLAINED = "unexplained"
# Name of what the features are worth that a selection left out
LEFT_OUT = "features left out"
MAX_NAME = 32  # letters of a line
BREAKS = " _-–—./:;,|=)&+…"  # behind which a name may go on in a second line
MAX_VALUE = 16
BEYOND = 8  # letters by which a value may be beyond the width of names
KEPT = 4  # letters that are kept of the beginning that names share
# Share of the numbers beside it below which a number is their rounding; seen: 4e-16
ROUNDING_RTOL = 1e-12


def shorten(text, width=MAX_NAME) -> str:
    """Return text of at most `width` characters, cut in its middle.

    The ends of names differ more often than their middle, as in ``sensor_12_mean`` and
    ``sensor_12_std``.
    """
    text = " ".join(str(text).split())
    if len(text) <= width:
        return text
    head = (width - 1) // 2
    return f"{text[:head]}…{text[head + 1 - width :]}"


def wrapped(text, width=MAX_NAME) -> str:
    """Return text in one or two lines of at most `width` characters, cut in its middle if longer.

    The lines break behind a space or a sign, as near to the middle as can be.
    """
    text = shorten(text, 2 * width)
    if len(text) <= width:
        return text
    ends = range(len(text) - width, width + 1)
    signs = [end for end in ends if text[end - 1] in BREAKS]
    end = min(signs or ends, key=lambda end: abs(2 * end - len(text)))
    return f"{text[:end].rstrip()}\n{text[end:].lstrip()}"


def short_names(names, lines=2, width=MAX_NAME) -> list[str]:
    """Return names of one or two lines of at most `width` letters; different ones stay different.

    Names that would look alike lose the beginning that they share.
    """
    fit = partial(wrapped if lines == 2 else shorten, width=width)
    names = [" ".join(str(name).split()) for name in names]
    alike: dict[str, list] = {}
    for name in names:
        alike.setdefault(fit(name), []).append(name)
    starts = {short: _n_shared(group) - KEPT for short, group in alike.items()}
    return [
        short if len({*alike[short]}) == 1 else fit(f"…{name[starts[short] :]}")
        for name, short in zip(names, map(fit, names), strict=True)
    ]


def _n_shared(names) -> int:
    """Return the number of letters at the beginning that all names share."""
    columns = zip(*names, strict=False)
    return sum(1 for _ in takewhile(lambda letters: len({*letters}) == 1, columns))


def number(value, signed=False, scale=0.0) -> str:
    """Return a number with three significant digits, or all of the integer part.

    One that is nothing but rounding beside `scale` is 0.
    """
    if abs(value) <= ROUNDING_RTOL * scale:
        return "0"
    size = abs(value)
    decimals = max(0, 2 - int(np.floor(np.log10(size))))
    form = f".{decimals}f" if 1e-4 <= size < 1e6 else ".2e"
    return f"{value:{'+' if signed else ''}{form}}".replace("-", MINUS)


def value_text(value) -> str:
    """Return a value of the data as a short text."""
    if value is None or value is pd.NaT or value is pd.NA:
        return "missing"
    if isinstance(value, (bool, np.bool_)):
        return str(value)
    if isinstance(value, (int, np.integer)):
        return str(value).replace("-", MINUS)
    if isinstance(value, (float, np.floating)):
        return "missing" if np.isnan(value) else _float_text(value)
    if isinstance(value, pd.Timestamp):
        return value.isoformat(" ").removesuffix(" 00:00:00")
    return shorten(value, MAX_VALUE)


def _float_text(value) -> str:
    """Return four significant digits, or all before the point: 0.1235, 12.35, 1234567."""
    whole = 1e4 <= abs(value) < 1e9
    return (f"{value:.0f}" if whole else f"{value:.4g}").replace("-", MINUS)


def named_values(frame, lines=2, width=MAX_NAME) -> list[str]:
    """Return "feature = data" for each line; only the name for a token, or a sum without data.

    A value that does not fit behind the name stands below it, if there may be two lines.
    """
    names = (short_names(frame["feature"], number, width) for number in (lines, 1))
    return [
        name
        if value is None or isinstance(value, Piece)
        else _and_value(name, short, f"= {value_text(value)}", lines, width)
        for name, short, value in zip(*names, frame["data"], strict=True)
    ]


def _and_value(name, short, value, lines, width) -> str:
    """Return a name with its value; `short` is the name in one line."""
    last = name.splitlines()[-1] if name else ""
    beside = lines == 1 or len(last) + len(value) <= width + BEYOND
    return f"{name} {value}" if beside else f"{short}\n{value}"
