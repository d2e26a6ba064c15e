"""Beeswarm: every instance as a point, feature by feature."""

from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skshapley.plots._checks import AXES, COUNT, check_drawing
from skshapley.plots._common import HALF_WIDTH, errors_of, fold, levels, one_output, response_name
from skshapley.plots._display import Display, SmallMultiples, by_output
from skshapley.plots._style import (
    NEUTRAL,
    height_of_rows,
    interval_note,
    label_x,
    level_colours,
    name_rows,
    zero_line,
)
from skshapley.plots._text import short_names

# Half the height of a row that points may fill
REACH = 0.4
BINS = 120


class BeeswarmDisplay(Display):
    """Attributions of all instances, one row of points for each feature.

    Each point is an instance. Its place along the axis is the attribution, and its colour is the
    value of the feature, from low to high; it is grey if the value is missing or has no order.
    Points pile up where many instances have nearly the same attribution. The line through a point
    is the 95 % interval of its attribution.

    Use `from_explanation` or `from_estimator` to make one.

    Parameters
    ----------
    table : DataFrame
        Columns ``row`` (index of the instance), ``feature``, ``data``, ``level`` (in [0, 1], or
        NaN), ``value``, ``standard_error``; the features from top to bottom.
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
    >>> from skshapley.plots import BeeswarmDisplay
    >>> explainer = ShapleyExplainer(lambda X: X @ [1.0, -3.0]).fit(np.zeros((1, 2)))
    >>> display = BeeswarmDisplay.from_estimator(explainer, np.eye(2))
    >>> display.frame()[["row", "feature", "value", "y"]]
       row feature  value    y
    0    0      x1   -0.0  0.0
    1    1      x1   -3.0  0.0
    2    0      x0    1.0  1.0
    3    1      x0    0.0  1.0
    """

    _constraints = {"max_features": COUNT, "ax": AXES}

    _scale = "x"

    def __init__(self, table, response="response") -> None:
        self.table = table
        self.response = response

    @classmethod
    def from_explanation(
        cls, explanation, *, output=None, max_features=10, ax=None
    ) -> Self | SmallMultiples:
        """Draw the attributions of all instances.

        Parameters
        ----------
        explanation : Explanation
        output : label, default=None
            One of `explanation.output_names`. None: all, side by side.
        max_features : int or None, default=10
            Features shown one by one, the most important first; the others are summed for each
            instance. None: all.
        ax : matplotlib Axes, or one for each output, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        display : BeeswarmDisplay, or SmallMultiples of them for several outputs

        Raises
        ------
        ValueError, TypeError
            For an invalid output, max_features or ax.
        """
        check_drawing(cls, explanation, ax=ax, output=output, max_features=max_features)

        def read(output) -> tuple[pd.DataFrame, str]:
            shown = fold(one_output(explanation, output), max_features)
            return _points(shown), response_name(shown)

        return by_output(cls, explanation, output, ax, read)

    def frame(self) -> pd.DataFrame:
        """Return the points.

        Returns
        -------
        frame : DataFrame
            Columns ``row``, ``feature``, ``data``, ``level``, ``value``, ``standard_error`` and
            ``y``, where the point is drawn: the position of its feature from the top, plus or minus
            0.4.
        """
        places = pd.factorize(self.table["feature"])[0]
        value = self.table["value"].to_numpy()
        return self.table.assign(y=places + swarm(value, places))

    def _height(self, width) -> float:
        return height_of_rows(1.15 * self.table["feature"].nunique())

    def plot(self, ax=None) -> Self:
        """Draw the points.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        self : BeeswarmDisplay
        """
        frame = self.frame()
        names = pd.unique(frame["feature"])
        (ax,) = self._panels(ax)
        zero_line(ax)
        size = float(np.clip(1200 * len(names) / len(frame), 4, 16))
        half = HALF_WIDTH * frame["standard_error"].to_numpy()
        x, y = frame["value"].to_numpy(), frame["y"].to_numpy()
        ax.hlines(y, x - half, x + half, color=NEUTRAL, linewidth=0.7, alpha=0.45, zorder=2)
        points = ax.scatter(
            x,
            y,
            s=size,
            c=frame["level"].to_numpy(),
            cmap=level_colours(),
            vmin=0,
            vmax=1,
            linewidth=0,
            zorder=3,
            plotnonfinite=True,
            rasterized=len(frame) > 5000,
        )
        name_rows(ax, short_names(names))
        label_x(ax, f"attribution ({self.response}){interval_note(frame)}")
        bar = ax.figure.colorbar(points, ax=ax, aspect=40, pad=0.02, ticks=[0, 1])
        bar.ax.set_yticklabels(["low", "high"])
        bar.set_label("value of the feature", labelpad=-12)
        bar.outline.set_visible(False)
        bar.ax.tick_params(length=0)
        return self._drawn_on([ax])


def _points(shown) -> pd.DataFrame:
    """Return the table of all points, feature by feature."""
    r, p = shown.values.shape
    columns = [shown.data.iloc[:, player] for player in range(p)]
    return pd.DataFrame(
        {
            "row": np.tile(shown.index.to_numpy(), p),
            "feature": np.repeat(shown.feature_names, r),
            "data": np.concatenate([column.to_numpy(dtype=object) for column in columns]),
            "level": np.concatenate([levels(column) for column in columns]),
            "value": shown.values.T.ravel(),
            "standard_error": errors_of(shown).T.ravel(),
        }
    )


def swarm(x, rows) -> NDArray[np.float64]:
    """Return offsets in [-0.4, 0.4] that spread points of similar x within their row, ``(n,)``.

    Points of one row in the same of 120 bins over all x pile up around the middle of the row: they
    are moved by 0, +1, -1, +2, ... steps, in their order. The highest pile sets the step.
    """
    span = np.ptp(x) or 1.0
    bins = np.minimum((BINS * (x - x.min()) / span).astype(int), BINS - 1)
    pile = pd.Series(np.zeros(len(x))).groupby([rows, bins])
    place = pile.cumcount().to_numpy()
    # 0, 1, -1, 2, -2, ...: symmetric where the pile is odd, half a step lower where it is even.
    offset = np.where(place % 2, place + 1, -place) / 2
    even = pile.transform("size").to_numpy() % 2 == 0
    offset = offset - np.where(even, 0.5, 0.0)
    return offset * min(0.12, REACH / max(np.abs(offset).max(), 1.0))
