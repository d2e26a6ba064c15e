"""Force: one instance on one line, what raises the prediction against what lowers it."""

from typing import Self

import numpy as np
import pandas as pd

from skshapley.plots._common import HALF_WIDTH
from skshapley.plots._display import OneRowDisplay
from skshapley.plots._style import (
    LETTER,
    colour_of_steps,
    error_bars,
    ink,
    interval_note,
    label_x,
    letters_beside,
    settle,
)
from skshapley.plots._text import named_values, number

# Segments narrower than this share of the whole have no name
LEAST_SHARE = 0.04
LETTERS = 24  # of a name, with the value behind it
SIZE = 8.5  # points
SLANT = 30  # degrees
SINE = np.sin(np.radians(SLANT))
RISE = LETTER * SIZE * SINE  # points, by which a letter is above the one before
APART = 1.15 * SIZE / SINE  # points, between the beginnings of names
LEAST_UNIT = 0.4  # of the height of the axes, for the segments and what is below


class ForceDisplay(OneRowDisplay):
    """One prediction as a stacked bar: what raises it against what lowers it.

    The features that raise the prediction are left of it and those that lower it are right of it,
    the largest next to it. Each has a segment as long as its attribution; narrow segments have no
    name. The line in the middle of a segment is as long as the 95 % interval of its attribution. A
    sum of several features has none. If estimates do not add up exactly, the difference is grey.

    Use `from_explanation` or `from_estimator` to make one.

    Parameters
    ----------
    table : DataFrame
        Columns ``feature``, ``data``, ``value``, ``standard_error``; the largest first.
    base_value, prediction : float
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
    >>> from skshapley.plots import ForceDisplay
    >>> explainer = ShapleyExplainer(lambda X: X @ [1.0, -3.0]).fit(np.zeros((1, 2)))
    >>> display = ForceDisplay.from_estimator(explainer, np.ones((1, 2)))
    >>> display.frame()[["feature", "value", "start", "end"]]
      feature  value  start  end
    0      x1   -3.0    1.0 -2.0
    1      x0    1.0   -3.0 -2.0
    """

    def frame(self) -> pd.DataFrame:
        """Return the segments, the largest first.

        Returns
        -------
        frame : DataFrame
            Columns ``feature``, ``data``, ``value``, ``standard_error``, ``start`` and ``end``.
            The end of a segment is its side nearer to the prediction.
        """
        value = self.table["value"].to_numpy()
        ends = np.empty(len(value))
        for side in (value >= 0, value < 0):
            ends[side] = self.prediction - np.append(0, np.cumsum(value[side]))[: side.sum()]
        return self.table.assign(start=ends - value, end=ends)

    @property
    def _width(self) -> float:
        return 9.0

    def _height(self, width) -> float:
        return 2.0 + max(map(len, self._names())) * RISE / 72

    def plot(self, ax=None) -> Self:
        """Draw the segments.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        self : ForceDisplay
        """
        frame = self.frame()
        (ax,) = self._panels(ax)
        value, start = frame["value"].to_numpy(), frame["start"].to_numpy()
        ax.barh(np.zeros(len(value)), value, left=start, height=0.5, color=colour_of_steps(frame),
                edgecolor=ax.get_facecolor(), linewidth=1.0, zorder=2)  # fmt: skip
        middle = start + value / 2
        half = HALF_WIDTH * frame["standard_error"].to_numpy()
        error_bars(ax, middle, np.zeros(len(value)), half)
        whole = np.abs(value).sum() or 1.0
        texts = self._names(min(LETTERS, letters_beside(ax) - 8))
        names = [
            ax.annotate(text, (x, 0.25), xytext=(0, 6), textcoords="offset points",
                        rotation=SLANT, rotation_mode="anchor", color=ink(ax), fontsize=SIZE,
                        parse_math=False)
            for text, x, share in zip(texts, middle, np.abs(value) / whole, strict=True)
            if share >= LEAST_SHARE
        ]  # fmt: skip
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
        label_x(ax, f"{self._said}{interval_note(frame)}")
        self._make_room(ax, names)
        return self._drawn_on([ax])

    def _names(self, letters=LETTERS) -> list[str]:
        return named_values(self.table, lines=1, width=letters)

    def _make_room(self, ax, names) -> None:
        """Leave out names that would touch those of larger segments; make room for the others."""
        # What is left out gives room, and changes where the others are.
        for _ in range(2 if self._title is None else 1):
            settle(ax)
            kept: list[float] = []
            for name in names:
                place = ax.transData.transform(name.xy)[0] * 72 / ax.figure.dpi
                name.set_visible(all(abs(place - other) >= APART for other in kept))
                kept += [place] if name.get_visible() else []
            height = ax.get_window_extent().height * 72 / ax.figure.dpi
            lengths = [len(name.get_text()) for name in names if name.get_visible()]
            unit = max(height - max(lengths, default=0) * RISE - SIZE, LEAST_UNIT * height)
            ax.set_ylim(-0.75, height / unit - 0.75)
            if len(kept) == len(names):
                return
