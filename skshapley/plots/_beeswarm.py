"""Beeswarm: every row as a point, feature by feature."""

from typing import Self

import numpy as np
import pandas as pd

from skshapley.plots._checks import AXES, COUNT, check_drawing
from skshapley.plots._common import HALF_WIDTH, errors_of, fold, levels, one_output, response_name
from skshapley.plots._display import ByRow, Display, SmallMultiples, by_output
from skshapley.plots._places import dot_size, faintness, swarm
from skshapley.plots._style import (
    NEUTRAL,
    colour_bar,
    interval_note,
    label_x,
    level_colours,
    zero_line,
)


class BeeswarmDisplay(ByRow, Display):
    """Attributions of all rows, one line of points for each feature.

    Each point is an instance. Its place along the axis is the attribution, and its colour is the
    value of the feature, from low to high. Missing values and categories without an order are grey;
    `DependenceDisplay` shows each category. Points pile up where many instances have nearly the
    same attribution. The line through a point is the 95 % interval of its attribution.

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

    _row_height = 1.15

    @classmethod
    def from_explanation(
        cls, explanation, *, output=None, max_features=10, ax=None
    ) -> Self | SmallMultiples:
        """Draw the attributions of all rows.

        Parameters
        ----------
        explanation : Explanation
        output : label, default=None
            One of `explanation.output_names`. None: all, side by side, or the strongest of many.
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
        from matplotlib.cm import ScalarMappable

        frame = self.frame()
        ax = self._rows(ax)
        zero_line(ax)
        n = len(frame) // frame["feature"].nunique()
        half = HALF_WIDTH * frame["standard_error"].to_numpy()
        x, y = frame["value"].to_numpy(), frame["y"].to_numpy()
        ax.hlines(y, x - half, x + half, color=NEUTRAL, linewidth=0.7, alpha=faintness(n), zorder=2)
        level = np.ma.masked_invalid(frame["level"].to_numpy(dtype=np.float64))
        ax.scatter(x, y, s=dot_size(n), c=level_colours()(level), linewidth=0, zorder=3,
                   rasterized=len(frame) > 5000)  # fmt: skip
        label_x(ax, f"attribution ({self._said}){interval_note(frame)}")
        if frame["level"].notna().any():
            key = ScalarMappable(cmap=level_colours())
            colour_bar(ax, key, "value of the feature", ends=["low", "high"])
        return self._drawn_on([ax])


def _points(shown) -> pd.DataFrame:
    """Return the table of all points, feature by feature."""
    r, p = shown.values.shape
    columns = [shown.data.iloc[:, player] for player in range(p)]
    data = np.concatenate([column.to_numpy(dtype=object) for column in columns])
    return pd.DataFrame(
        {
            "row": np.tile(shown.index.to_numpy(), p),
            "feature": np.repeat(shown.feature_names, r),
            "data": pd.Series(data, dtype=object),  # tokens are not made plain text
            "level": np.concatenate([levels(column) for column in columns]),
            "value": shown.values.T.ravel(),
            "standard_error": errors_of(shown).T.ravel(),
        }
    )
