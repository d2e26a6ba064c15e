"""Waterfall: from the base value to the prediction, one feature after the other."""

from typing import Self

import numpy as np
import pandas as pd

from skshapley.plots._common import HALF_WIDTH
from skshapley.plots._display import OneRowDisplay
from skshapley.plots._style import (
    beside,
    colour_of_steps,
    error_bars,
    font_size,
    height_of_rows,
    ink,
    interval_note,
    label_x,
    letters_beside,
    name_rows,
    widen,
)
from skshapley.plots._text import MAX_NAME, named_values, number


class WaterfallDisplay(OneRowDisplay):
    """One prediction as a waterfall: from the base value up and down to the prediction.

    The base value, the mean prediction over the background, is at the bottom and the prediction of
    the instance at the top. In between, each feature has a bar as long as its attribution, which
    starts where the bar below it ends. The largest attribution is at the top.

    Error bars are 95 % intervals of the attributions. A sum of several features has none, since the
    covariances of its terms are not on record. Some methods give estimates that do not add up
    exactly; the difference is then a grey bar named "unexplained".

    Use `from_explanation` or `from_estimator` to make one.

    Parameters
    ----------
    table : DataFrame
        Columns ``feature``, ``data``, ``value``, ``standard_error``; from top to bottom.
    base_value, prediction : float
        Where the bars start and where they end.
    response : str, default="response"
        Name of the explained response, for the axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import ShapleyExplainer
    >>> from skshapley.plots import WaterfallDisplay
    >>> explainer = ShapleyExplainer(lambda X: X @ [1.0, -3.0]).fit(np.zeros((1, 2)))
    >>> display = WaterfallDisplay.from_estimator(explainer, np.ones((1, 2)))
    >>> display.frame()[["feature", "value", "start", "end"]]
      feature  value  start  end
    0      x1   -3.0    1.0 -2.0
    1      x0    1.0    0.0  1.0
    """

    _scale = "x"

    def frame(self) -> pd.DataFrame:
        """Return the bars from top to bottom.

        Returns
        -------
        frame : DataFrame
            Columns ``feature``, ``data``, ``value``, ``standard_error``, ``background_error``,
            ``start``, ``end``.
        """
        upwards = self.table["value"].to_numpy()[::-1]
        ends = (self.base_value + np.cumsum(upwards))[::-1]
        starts = np.append(ends[1:], self.base_value)
        return self.table.assign(start=starts, end=ends)

    def _row_names(self, letters=MAX_NAME) -> list[str]:
        return ["prediction", *named_values(self.table, width=letters), "base value"]

    def _height(self, width) -> float:
        return height_of_rows(len(self.table) + 2)

    def plot(self, ax=None) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        self : WaterfallDisplay
        """
        frame = self.frame()
        n = len(frame)
        (ax,) = self._panels(ax)
        size = font_size(ax, n + 2)
        rows = np.arange(1, n + 1)
        value, start, end = (frame[name].to_numpy() for name in ("value", "start", "end"))
        half = HALF_WIDTH * frame["standard_error"].to_numpy()
        apart = frame.get("background_error", np.full(n, np.nan))
        wider = np.hypot(half, HALF_WIDTH * np.asarray(apart, dtype=np.float64))
        ax.barh(rows, value, left=start, height=0.7, color=colour_of_steps(frame), zorder=2)
        error_bars(ax, end, rows, half, wider)

        # Each bar hangs on the end of the one below; the outermost on base value and prediction.
        ax.vlines(np.append(end, self.base_value), np.arange(n + 1), np.arange(1, n + 2),
                  color=ink(ax), linewidth=0.6, alpha=0.6, zorder=1)  # fmt: skip
        ax.plot([self.prediction, self.base_value], [0, n + 1], "D", color=ink(ax), markersize=5)

        reach = np.fmax(np.nan_to_num(half), np.nan_to_num(wider))
        low = min(np.minimum(start, end - reach).min(), self.base_value)
        high = max(np.maximum(start, end + reach).max(), self.base_value)
        name_rows(ax, self._row_names(letters_beside(ax)))
        scale = np.abs([self.base_value, self.prediction, *value]).max()
        texts = [number(change, signed=True, scale=scale) for change in value]
        size = widen(ax, low, high, texts, size)
        for y, text, change, tip in zip(
            rows, texts, value, end + np.copysign(reach, value), strict=True
        ):
            beside(ax, tip, y, text, change, size)
        beside(ax, self.prediction, 0, number(self.prediction), value[0], size)
        beside(ax, self.base_value, n + 1, number(self.base_value), -value[-1], size)
        label_x(ax, f"{self._said}{interval_note(frame)}")
        return self._drawn_on([ax])
