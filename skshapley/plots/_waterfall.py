"""From the base value to the prediction, one feature after the other."""

import numpy as np

from ._common import HALF_WIDTH, parts_of_row
from ._display import Display
from ._style import (
    beside,
    colour_of,
    error_bars,
    font_size,
    ink,
    interval_note,
    name_rows,
    row_axes,
    widen,
)
from ._text import named_value, number


class WaterfallDisplay(Display):
    """One instance: how the features lead from the base value up and down to the prediction.

    The largest attribution stands on top, under the prediction; the base value is at the bottom.
    Each bar starts where the one below it ends. Error bars are 95 % intervals of the attributions.

    Use `from_explanation` or `from_estimator` to make one.

    Parameters
    ----------
    table : DataFrame
        Columns ``feature``, ``data``, ``value``, ``standard_error``; from top to bottom.
    base_value, prediction : float
        Where the bars start and where they end.
    response : str
        What they are measured in.

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

    def __init__(self, table, base_value, prediction, response="response"):
        self.table = table
        self.base_value = base_value
        self.prediction = prediction
        self.response = response

    @classmethod
    def from_explanation(cls, explanation, *, row=0, output=None, max_features=10, ax=None):
        """Draw the explanation of one instance.

        Parameters
        ----------
        explanation : Explanation
        row : int, default=0
            Position of the instance.
        output : label, default=None
            One of `explanation.output_names`; needed where there are several.
        max_features : int or None, default=10
            Features shown one by one, the largest first; the others are summed. None: all.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        display : WaterfallDisplay

        Raises
        ------
        ValueError, TypeError, IndexError
            For an output, a row or a max_features that is none.
        """
        parts = parts_of_row(explanation, row, output, max_features, cls.__name__)
        return cls(*parts).plot(ax)

    def frame(self):
        """Return the bars from top to bottom.

        Returns
        -------
        frame : DataFrame
            Columns ``feature``, ``data``, ``value``, ``standard_error``, ``start``, ``end``.
        """
        upwards = self.table["value"].to_numpy()[::-1]
        ends = (self.base_value + np.cumsum(upwards))[::-1]
        starts = np.append(ends[1:], self.base_value)
        return self.table.assign(start=starts, end=ends)

    def plot(self, ax=None):
        """Draw.

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
        ax = row_axes(ax, n + 2, type(self).__name__)
        size = font_size(ax, n + 2)
        rows = np.arange(1, n + 1)
        value, start, end = (frame[name].to_numpy() for name in ("value", "start", "end"))
        half = HALF_WIDTH * frame["standard_error"].to_numpy()
        ax.barh(rows, value, left=start, height=0.7, color=colour_of(value), zorder=2)
        error_bars(ax, end, rows, half)

        # Each bar hangs on the end of the one below; the outermost on base value and prediction.
        ax.vlines(np.append(end, self.base_value), np.arange(n + 1), np.arange(1, n + 2),
                  color=ink(ax), linewidth=0.6, alpha=0.6, zorder=1)  # fmt: skip
        ax.plot([self.prediction, self.base_value], [0, n + 1], "D", color=ink(ax), markersize=5)

        reach = np.nan_to_num(half)
        low = min(np.minimum(start, end - reach).min(), self.base_value)
        high = max(np.maximum(start, end + reach).max(), self.base_value)
        labels = map(named_value, frame["feature"], frame["data"])
        name_rows(ax, ["prediction", *labels, "base value"])
        texts = [number(change, signed=True) for change in value]
        widen(ax, low, high, texts, size)
        for y, text, change, tip in zip(
            rows, texts, value, end + np.copysign(reach, value), strict=True
        ):
            beside(ax, tip, y, text, change, size)
        beside(ax, self.prediction, 0, number(self.prediction), value[0], size)
        beside(ax, self.base_value, n + 1, number(self.base_value), -value[-1], size)
        ax.set_xlabel(f"{self.response}{interval_note(frame)}")
        return self._drawn_on(ax)
