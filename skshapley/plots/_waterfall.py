"""Waterfall: from the base value to the prediction, one feature after the other."""

from typing import Self

import numpy as np
import pandas as pd

from skshapley._tools._constraints import Count
from skshapley.plots._checks import AXES, COUNT, ROW, check_drawing
from skshapley.plots._common import (
    HALF_WIDTH,
    closed,
    errors_of,
    fold,
    one_output,
    one_row,
    response_name,
)
from skshapley.plots._display import ByRow, Display, SmallMultiples, by_output
from skshapley.plots._partners import check_pairs, with_pairs
from skshapley.plots._style import (
    colour_of_steps,
    error_bars,
    ink,
    interval_note,
    label_x,
    number_bars,
)
from skshapley.plots._text import MAX_NAME, named_values, number


class WaterfallDisplay(ByRow, Display):
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

    _constraints = {"row": ROW, "max_features": COUNT, "max_pairs": Count(least=0), "ax": AXES}

    def __init__(self, table, base_value, prediction, response="response") -> None:
        super().__init__(table, response)
        self.base_value = base_value
        self.prediction = prediction

    @classmethod
    def from_explanation(
        cls, explanation, row=None, *, output=None, max_features=10, max_pairs=0, ax=None
    ) -> Self | SmallMultiples:
        """Draw the explanation of one row.

        Parameters
        ----------
        explanation : Explanation
        row : int, default=None
            Position of the instance. May be left out if there is only one.
        output : label, default=None
            One of `explanation.output_names`. None: all, side by side, or the strongest of many.
        max_features : int or None, default=10
            Features shown one by one, the largest first; the others are summed. None: all.
        max_pairs : int, default=0
            So many of the strongest interactions are shown as well, and count as features. Each of
            the two features gives half of it away, and has no error then.
        ax : matplotlib Axes, or one for each output, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        display : WaterfallDisplay, or SmallMultiples of them for several outputs

        Raises
        ------
        ValueError, TypeError, IndexError
            For an invalid row, output, max_features, max_pairs or ax, and for pairs of an
            explanation without interactions.
        """
        given = {"row": row, "max_features": max_features, "max_pairs": max_pairs, "ax": ax}
        check_drawing(cls, explanation, output=output, one_row=True, **given)
        if max_pairs:
            check_pairs(cls.__name__, explanation)
        chosen = one_row(explanation, row)

        def read(output) -> tuple[pd.DataFrame, float, float, str]:
            whole = one_output(chosen, output)
            shown = closed(fold(with_pairs(whole, max_pairs) if max_pairs else whole, max_features))
            table = pd.DataFrame(
                {
                    "feature": shown.feature_names,
                    "data": pd.Series(shown.data.iloc[0].tolist(), dtype=object),
                    "value": shown.values[0],
                    "standard_error": errors_of(shown)[0],
                    "background_error": errors_of(shown, "background_errors")[0],
                }
            )
            base, prediction = float(whole.base_values[0]), float(whole.predictions[0])
            return table, base, prediction, response_name(whole)

        return by_output(cls, chosen, output, ax, read)

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
        return ["prediction", *named_values(self.table, letters), "base value"]

    def _intervals(self, frame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return half the intervals without and with the background, and the larger of both."""
        half = HALF_WIDTH * frame["standard_error"].to_numpy()
        apart = frame.get("background_error", np.full(len(frame), np.nan))
        wider = np.hypot(half, HALF_WIDTH * np.asarray(apart, dtype=np.float64))
        return half, wider, np.fmax(np.nan_to_num(half), np.nan_to_num(wider))

    def _span(self) -> tuple[float, float]:
        frame = self.frame()
        start, end, reach = frame["start"], frame["end"], self._intervals(frame)[2]
        low = min(np.minimum(start, end - reach).min(), self.base_value)
        return low, max(np.maximum(start, end + reach).max(), self.base_value)

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
        n, ax = len(frame), self._rows(ax)
        rows = np.arange(1, n + 1)
        value, start, end = (frame[name].to_numpy() for name in ("value", "start", "end"))
        half, wider, reach = self._intervals(frame)
        colours = colour_of_steps(frame)
        ax.barh(rows, value, left=start, height=0.7, color=colours, zorder=2)
        error_bars(ax, end, rows, half, wider)

        # Each bar hangs on the end of the one below; the outermost on base value and prediction.
        ax.vlines(np.append(end, self.base_value), np.arange(n + 1), np.arange(1, n + 2),
                  color=ink(ax), linewidth=0.6, alpha=0.6, zorder=1)  # fmt: skip
        ax.plot([self.prediction, self.base_value], [0, n + 1], "D", color=ink(ax), markersize=5)

        scale = np.abs([self.base_value, self.prediction, *value]).max()
        texts = [number(change, signed=True, scale=scale) for change in value]
        ends = [
            (self.prediction, 0, number(self.prediction, scale=scale), value[0]),
            (self.base_value, n + 1, number(self.base_value, scale=scale), -value[-1]),
        ]
        bars = list(zip(start, end, reach, rows, texts, colours, strict=True))
        number_bars(ax, bars, self._shared or self._span(), beside=ends)
        label_x(ax, f"{self._said}{interval_note(frame)}")
        return self._drawn_on([ax])
