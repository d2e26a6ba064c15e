"""One instance on one line: what pushes the prediction up against what pushes it down."""

import numpy as np

from ._common import HALF_WIDTH, parts_of_row
from ._display import Display
from ._style import colour_of, error_bars, ink, interval_note, one_axes
from ._text import named_value, number

# Segments narrower than this share of the whole stay without a name
LEAST_SHARE = 0.04


class ForceDisplay(Display):
    """One instance as one stacked bar, with the prediction where the two sides meet.

    The features that raise the prediction stand left of it, those that lower it right of it, the
    largest nearest to it. Narrow segments have no name. The line in the middle of a segment is as
    long as the 95 % interval of its attribution.

    Use `from_explanation` or `from_estimator` to make one.

    Parameters
    ----------
    table : DataFrame
        Columns ``feature``, ``data``, ``value``, ``standard_error``; the largest first.
    base_value, prediction : float
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
    >>> from skshapley.plots import ForceDisplay
    >>> explainer = ShapleyExplainer(lambda X: X @ [1.0, -3.0]).fit(np.zeros((1, 2)))
    >>> display = ForceDisplay.from_estimator(explainer, np.ones((1, 2)))
    >>> display.frame()[["feature", "value", "start", "end"]]
      feature  value  start  end
    0      x1   -3.0    1.0 -2.0
    1      x0    1.0   -3.0 -2.0
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
            Features with a segment of their own, the largest; the others are summed. None: all.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        display : ForceDisplay

        Raises
        ------
        ValueError, TypeError, IndexError
            For an output, a row or a max_features that is none.
        """
        parts = parts_of_row(explanation, row, output, max_features, cls.__name__)
        return cls(*parts).plot(ax)

    def frame(self):
        """Return the segments, the largest first.

        Returns
        -------
        frame : DataFrame
            Columns ``feature``, ``data``, ``value``, ``standard_error``, ``start`` and ``end``, the
            one that is nearer to the prediction.
        """
        value = self.table["value"].to_numpy()
        ends = np.empty(len(value))
        for side in (value >= 0, value < 0):
            ends[side] = self.prediction - np.append(0, np.cumsum(value[side]))[: side.sum()]
        return self.table.assign(start=ends - value, end=ends)

    def plot(self, ax=None):
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        self : ForceDisplay
        """
        frame = self.frame()
        ax = one_axes(ax, type(self).__name__, width=9.0, height=2.8)
        value, start = frame["value"].to_numpy(), frame["start"].to_numpy()
        ax.barh(np.zeros(len(value)), value, left=start, height=0.5, color=colour_of(value),
                edgecolor=ax.get_facecolor(), linewidth=1.0, zorder=2)  # fmt: skip
        middle = start + value / 2
        half = HALF_WIDTH * frame["standard_error"].to_numpy()
        error_bars(ax, middle, np.zeros(len(value)), half)
        whole = np.abs(value).sum() or 1.0
        texts = map(named_value, frame["feature"], frame["data"])
        for text, x, share in zip(texts, middle, np.abs(value) / whole, strict=True):
            if share >= LEAST_SHARE:
                ax.annotate(text, (x, 0.25), xytext=(0, 6), textcoords="offset points",
                            rotation=30, ha="left", va="bottom", color=ink(ax),
                            fontsize="small", parse_math=False)  # fmt: skip
        for x, name in ((self.base_value, "base value"), (self.prediction, "prediction")):
            ax.plot([x, x], [-0.25, -0.42], color=ink(ax), linewidth=1.2, clip_on=False)
            side = "left" if x >= max(self.base_value, self.prediction) else "right"
            ax.annotate(
                f"{name} {number(x)}",
                (x, -0.42),
                xytext=(0, -2),
                textcoords="offset points",
                ha=side,
                va="top",
                color=ink(ax),
            )
        ax.set_ylim(-0.75, 1.4)
        ax.set_yticks([])
        for name in ("top", "left", "right"):
            ax.spines[name].set_visible(False)
        ax.set_xlabel(f"{self.response}{interval_note(frame)}")
        return self._drawn_on(ax)
