"""Where the values of a feature stand on an axis, and the ticks that the axis needs."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skshapley.plots._beeswarm import swarm
from skshapley.plots._common import ordered_numbers
from skshapley.plots._key import keyed, positions
from skshapley.plots._style import width_in_points
from skshapley.plots._text import value_text

MOST_PLACES = 30  # categories side by side, beyond which the rarer ones share a place
FEW_VALUES = 10  # different numbers, up to which each has a tick and its points are spread
LEAST_GAP = 0.04  # of the axis, between the ticks of two values
SPREAD = 0.15  # of the axis, at most, for the points of one number
NEAR = 0.3  # of the axis, between "missing" and the least number
MISSING = "missing"
ASIDE = 0.15  # of the numbers' span, between missing ones and the least
UPRIGHT = 8  # long labels, beyond which they are turned up

Ticks = dict[float, str]


def places(data: pd.Series, value: np.ndarray) -> tuple[NDArray[np.float64], Ticks]:
    """Return the positions of instances along the axis, ``(r,)``, and the ticks that it needs.

    Parameters
    ----------
    data : Series of shape (r,)
        Values of the feature.
    value : ndarray of shape (r,)
        Their attributions; similar ones are moved apart where values are the same.

    Returns
    -------
    x : ndarray of shape (r,)
    ticks : dict of position to text
        Empty where those of matplotlib do.
    """
    missing = data.isna().to_numpy()
    if isinstance(data.dtype, pd.CategoricalDtype) and data.cat.ordered:
        groups = list(data.cat.categories)
        codes, texts = positions(data, groups), [value_text(group) for group in groups]
    elif pd.api.types.is_bool_dtype(data.dropna().infer_objects()):
        codes, texts = positions(data, [False, True]), ["False", "True"]
    elif (found := keyed(data, MOST_PLACES)) is not None:
        codes, texts = found
    else:
        return _on_a_scale(data, value, missing)
    codes = np.where(np.isnan(codes), len(texts), codes)
    names = [*texts, *([MISSING] if missing.any() else [])]
    return codes + swarm(value, codes), dict(enumerate(names))


def _on_a_scale(
    data: pd.Series, value: np.ndarray, missing: np.ndarray
) -> tuple[NDArray[np.float64], Ticks]:
    numbers = ordered_numbers(data)
    numbers = np.where(np.isfinite(numbers), numbers, np.nan)  # infinite ones have no place
    known = np.unique(numbers[~missing & np.isfinite(numbers)])
    low, high = (known[0], known[-1]) if len(known) else (0.0, 0.0)
    span = float(high - low) or 1.0
    x = np.where(missing, low - ASIDE * span, numbers)
    ticks = {float(low - ASIDE * span): MISSING} if missing.any() else {}
    few = 0 < len(known) <= FEW_VALUES
    if few and len(known) < np.sum(~missing):
        gap = float(min(np.diff(known), default=span))
        finite = np.isfinite(x)
        x[finite] += min(gap, SPREAD * span) * swarm(value[finite], x[finite])
    at: Any
    if few:
        at = _apart(known, LEAST_GAP * span)
    elif pd.api.types.is_datetime64_any_dtype(data):
        at = np.linspace(low, high, 4)
    elif ticks:
        from matplotlib.ticker import MaxNLocator

        at = MaxNLocator(5, integer=bool((known % 1 == 0).all())).tick_values(low, high)
        at = at[(at >= low) & (at <= high)]
    else:
        return x, {}
    return x, ticks | {float(place): _number_text(data, place) for place in at}


def _apart(values: NDArray[np.float64], least: float) -> list[float]:
    """Return the values of which none is nearer than `least` to the one before."""
    kept: list[float] = []
    for value in values:
        if not kept or value - kept[-1] >= least:
            kept.append(float(value))
    return kept


def _number_text(data: pd.Series, place: float) -> str:
    """Return the text of a place on the axis of a column."""
    if pd.api.types.is_datetime64_any_dtype(data):
        return str(pd.Timestamp(int(place), unit=data.dt.unit).date())
    if pd.api.types.is_timedelta64_dtype(data):
        return str(pd.Timedelta(int(place), unit=data.dt.unit))
    return value_text(float(place))


def upright(ticks: Ticks) -> bool:
    """Return whether the texts are so many and long that they are turned up."""
    return len(ticks) > UPRIGHT and _long(ticks)


def _long(ticks: Ticks) -> bool:
    return sum(map(len, ticks.values())) > 24


def write_ticks(ax, ticks: Ticks) -> None:
    """Write ticks below the axes, turned where they are long and small where they are many."""
    at, texts = list(ticks), list(ticks.values())
    turned: dict = {}
    if upright(ticks):
        turned = {"rotation": 90, "fontsize": np.clip(width_in_points(ax) / len(at), 4, 9)}
    elif _long(ticks):
        turned = {"rotation": 30, "ha": "right", "rotation_mode": "anchor", "fontsize": "small"}
    elif texts[0] == MISSING and at[1] - at[0] < NEAR * (at[-1] - at[0]):
        texts[0] = f"\n{MISSING}"  # below the others, which it would touch
    ax.set_xticks(at, texts, parse_math=False, **turned)
