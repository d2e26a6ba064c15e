"""Dots: their size, the colours of categories, and keys that tell them."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skshapley._tables._documents import Piece
from skshapley.plots._partner import categories
from skshapley.plots._style import COLOURS, LINE, NEUTRAL, letters_beside
from skshapley.plots._text import MAX_NAME, short_names, value_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KEY_LETTERS = 40  # of a key beside a row
LEAST_TEXT = 8  # letters of a category
KEY_SIZE = 7.5  # points
THERE = "in the text"
OTHERS = " others"  # the end of the text of those that share a colour
LEAST_KEY_ROW = 20.0  # points, below which a row has no room for a key


def dot_size(n: int) -> float:
    """Return the area of dots, in square points, that shows how dense n of them are."""
    return float(np.clip(16 * np.sqrt(150 / max(n, 1)), 3, 16))


def faintness(n: int) -> float:
    """Return the opacity of n intervals, which together must not hide the dots."""
    return float(np.clip(20 / max(n, 1), 0.04, 0.45))


def keyed(column, most: int = len(COLOURS)) -> tuple[NDArray[np.float64], list[str]] | None:
    """Return the number of each value's category, ``(r,)``, and the texts of the categories.

    Where there are more than `most`, the rarer ones share the last. A token of documents is there
    or not, whatever stands after it.

    Parameters
    ----------
    column : Series
    most : int

    Returns
    -------
    codes, texts : or None for a column with an order
        Codes are NaN for missing values.
    """
    groups = categories(column)
    if groups is None:
        return None
    if isinstance(groups[0], Piece):
        return np.where(pd.Series(column).isna(), np.nan, 0.0), [THERE]
    codes = positions(column, groups)
    if len(groups) <= most:
        return codes, [value_text(group) for group in groups]
    counts = np.bincount(codes[~np.isnan(codes)].astype(int), minlength=len(groups))
    kept = np.sort(np.argsort(-counts, kind="stable")[: most - 1])
    places = np.full(len(groups), most - 1.0)
    places[kept] = np.arange(most - 1)
    known = ~np.isnan(codes)
    codes[known] = places[codes[known].astype(int)]
    texts = [value_text(groups[place]) for place in kept]
    return codes, [*texts, f"{len(groups) - most + 1}{OTHERS}"]


def positions(column, groups) -> NDArray[np.float64]:
    """Return the place of each value among `groups`, ``(r,)``; NaN for missing ones."""
    # as objects, since pandas warns where a column has categories that no row is in
    codes = pd.Categorical(pd.Series(column).astype(object), groups).codes.astype(np.float64)
    return np.where(codes < 0, np.nan, codes)


def category_colours(texts: list[str]) -> list[str]:
    """Return the colour of each category; grey for those that share one."""
    shared = len(texts) == len(COLOURS) and texts[-1].endswith(OTHERS)
    return [*COLOURS[: len(texts) - shared], *[NEUTRAL] * shared]


def write_key(ax: "Axes", row: int, texts: list[str]) -> None:
    """Write the categories of a row in their colours, in the last line of its name."""
    from matplotlib.offsetbox import AnnotationBbox, HPacker, TextArea

    most = KEY_LETTERS * letters_beside(ax) // MAX_NAME
    letters = max(most // len(texts), LEAST_TEXT * most // KEY_LETTERS)
    shown = short_names(texts, lines=1, width=letters)
    words: list[Any] = [
        TextArea(text, textprops={"color": colour, "size": KEY_SIZE})
        for text, colour in zip(shown, category_colours(texts), strict=True)
    ]
    for word in words:
        word.get_children()[0].set_parse_math(False)
    label = ax.get_yticklabels()[row]
    below = label.get_text().count("\n") / 2 * LINE * float(label.get_fontsize())
    box = AnnotationBbox(
        HPacker(children=words, pad=0, sep=4, align="baseline"),
        (0, row),
        xybox=(-4, -below),
        xycoords=("axes fraction", "data"),
        boxcoords="offset points",
        box_alignment=(1, 0.5),
        frameon=False,
        pad=0,
        annotation_clip=False,
    )
    ax.add_artist(box)
