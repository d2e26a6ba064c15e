"""Positions of points on an axis, their sizes and colours, and the key of the colours."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skshapley._tables import Piece, ordered_numbers, value_text
from skshapley.plots import _style as style
from skshapley.plots._partners import categories

THERE = "in the text"
LETTERS = 24  # most letters of a category
OTHERS = " others"  # the end of the text of categories that share a colour
# Half the height of a row that points may fill
# Rows are 1 apart, so neighbouring piles are at least .2 apart.
REACH = 0.4
BINS = 120
STEP = 0.12  # at most, between points of a pile


def dot_size(n: int) -> float:
    """Return the area of n dots, in square points, that shows their density."""
    # Up to 150 dots have the full size; then the total area grows with the square root
    # of n.
    return float(np.clip(16 * np.sqrt(150 / max(n, 1)), 3, 16))


def faintness(n: int) -> float:
    """Return the opacity of n intervals, so that together they do not hide the dots."""
    # Forty opaque intervals' worth of ink, and never invisible.
    return float(np.clip(40 / max(n, 1), 0.2, 0.6))


def keyed(
    column,
    most: int = len(style.COLOURS),
) -> tuple[NDArray[np.float64], list[str]] | None:
    """Return the number of each value's category, ``(r,)``, and the texts of the categories.

    Beyond `most` categories, the rarer ones share the last. A token of documents is
    only present or absent.

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
    texts = [value_text(group, LETTERS) for group in groups]
    if len(groups) <= most:
        return codes, texts
    counts = [-np.sum(codes == code) for code in range(len(groups))]
    # Stable, so that equally frequent categories keep their order.
    frequent = np.sort(np.argsort(counts, kind="stable")[: most - 1])
    shared = np.where(
        np.isin(codes, frequent),
        np.searchsorted(frequent, codes),
        most - 1.0,
    )
    return np.where(np.isnan(codes), np.nan, shared), [
        *(texts[code] for code in frequent),
        f"{len(groups) - most + 1}{OTHERS}",
    ]


def positions(column, groups) -> NDArray[np.float64]:
    """Return the position of each value among `groups`, ``(r,)``; NaN for missing values."""
    # as objects, because pandas warns of categories without rows
    codes = pd.Categorical(pd.Series(column).astype(object), groups).codes.astype(
        np.float64
    )
    return np.where(codes < 0, np.nan, codes)


# Categories side by side; beyond this number, the rarer ones share a position
MOST_PLACES = 30
# Distinct numbers; up to this number, each has a tick and spread points
FEW_VALUES = 10
LEAST_GAP = 0.04  # share of the axis between the ticks of two values
SPREAD = 0.15  # largest share of the axis for the points of one number
NEAR = 0.3  # share of the axis between "missing" and the smallest number
MISSING = "missing"
ASIDE = 0.15  # share of the range of numbers between "missing" and the smallest
UPRIGHT = 8  # long labels; beyond this number, they are vertical
MOST_LETTERS = 24  # letters of all labels of an axis in one line

Ticks = dict[float, str]


def places(data: pd.Series, value: np.ndarray) -> tuple[NDArray[np.float64], Ticks]:
    """Return the positions of rows along the axis, ``(r,)``, and its ticks.

    Parameters
    ----------
    data : Series of shape (r,)
        Values of the feature.
    value : ndarray of shape (r,)
        Their attributions; points with equal values and similar attributions are
        separated.

    Returns
    -------
    x : ndarray of shape (r,)
    ticks : dict of position to text
        Empty if matplotlib's ticks are sufficient.
    """
    missing = data.isna().to_numpy()
    if isinstance(data.dtype, pd.CategoricalDtype) and data.cat.ordered:
        groups = list(data.cat.categories)
        codes = positions(data, groups)
        texts = [value_text(group, LETTERS) for group in groups]
    elif pd.api.types.is_bool_dtype(data.dropna().infer_objects()):
        codes = positions(data, [False, True])
        texts = ["False", "True"]
    elif (categories := keyed(data, MOST_PLACES)) is not None:
        codes, texts = categories
    else:
        return _on_a_scale(data, value, missing)
    codes = np.where(np.isnan(codes), len(texts), codes)
    return codes + swarm(value, codes), dict(
        enumerate([*texts, *([MISSING] if missing.any() else [])]),
    )


def _on_a_scale(
    data: pd.Series,
    value: np.ndarray,
    missing: np.ndarray,
) -> tuple[NDArray[np.float64], Ticks]:
    numbers = ordered_numbers(data)
    finite = np.isfinite(numbers)  # infinite values have no position
    distinct = np.unique(numbers[finite])
    low, high = (distinct[0], distinct[-1]) if len(distinct) else (0.0, 0.0)
    span = float(high - low) or 1.0
    aside = float(low - ASIDE * span)
    gap = float(min(np.diff(distinct), default=span))
    x = np.where(missing, aside, np.where(finite, numbers, np.nan))
    few_values = 0 < len(distinct) <= FEW_VALUES
    if few_values and len(distinct) < finite.sum():
        # The swarm reaches .4 of the gap on each side, so that neighbouring piles do
        # not meet.
        placed = finite | missing
        x[placed] += min(gap, SPREAD * span) * swarm(value[placed], x[placed])
    at: Any = []
    if few_values:
        at = distinct if gap >= LEAST_GAP * span else distinct[[0, -1]]
    elif pd.api.types.is_datetime64_any_dtype(data):
        # Four dates of ten letters fit below a panel.
        at = np.linspace(low, high, 4)
    elif missing.any():
        from matplotlib.ticker import MaxNLocator

        at = MaxNLocator(5, integer=bool((distinct % 1 == 0).all())).tick_values(
            low,
            high,
        )
        at = at[(at >= low) & (at <= high)]
    ticks = {aside: MISSING} if missing.any() else {}
    return x, ticks | {float(place): _number_text(data, place) for place in at}


def _number_text(data: pd.Series, place: float) -> str:
    """Return the text of a position on the axis of a column."""
    if pd.api.types.is_datetime64_any_dtype(data):
        return str(pd.Timestamp(int(place), unit=data.dt.unit).date())
    if pd.api.types.is_timedelta64_dtype(data):
        return str(pd.Timedelta(int(place), unit=data.dt.unit))
    return value_text(float(place))


def upright(ticks: Ticks) -> bool:
    """Return True if many long texts need vertical labels."""
    return len(ticks) > UPRIGHT and sum(map(len, ticks.values())) > MOST_LETTERS


def write_ticks(ax, ticks: Ticks) -> None:
    """Write ticks below the axes; long ones are slanted, or vertical if they are many."""
    at = list(ticks)
    texts = list(ticks.values())
    rotation: dict = {}
    if sum(map(len, texts)) > MOST_LETTERS:
        rotation = {
            "rotation": 90 if upright(ticks) else 30,
            "ha": "right",
            "va": "center",
            "rotation_mode": "anchor",
            "fontsize": np.clip(style.width_in_points(ax) / len(at), 4, 9),
        }
    elif (
        texts[0] == MISSING and len(at) > 1 and at[1] - at[0] < NEAR * (at[-1] - at[0])
    ):
        texts[0] = f"\n{MISSING}"  # below the others, which it would touch
    ax.set_xticks(at, texts, parse_math=False, **rotation)


def swarm(x, rows) -> NDArray[np.float64]:
    """Return offsets in [-0.4, 0.4] that spread points of similar x within their row, ``(n,)``.

    The range of x has 120 bins. Points of a row in the same bin pile up around the
    middle of the row: they move by 0, +1, -1, +2, ... steps, in their order. The
    highest pile of a row determines its step, so that each row shows the density of its
    own points.
    """
    span = np.ptp(x) or 1.0
    bins = np.minimum((BINS * (x - x.min()) / span).astype(int), BINS - 1)
    # Only the groups matter; the zeros are placeholders.
    pile = pd.Series(np.zeros(len(x))).groupby([rows, bins])
    place = pile.cumcount().to_numpy()
    # 0, 1, -1, 2, -2, ...: symmetric for odd piles, half a step lower for even ones.
    offset = np.where(place % 2, place + 1, -place) / 2
    offset = offset - np.where(pile.transform("size").to_numpy() % 2 == 0, 0.5, 0.0)
    highest = pd.Series(np.abs(offset)).groupby(rows).transform("max").to_numpy()
    # The highest pile fills the row, and lower piles keep its step, so heights compare.
    return offset * np.minimum(STEP, REACH / np.maximum(highest, 1.0))
