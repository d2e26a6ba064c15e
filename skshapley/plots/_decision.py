"""Decision paths: the way of each instance from the base value to its prediction."""

from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skshapley.plots._checks import AXES, COUNT, check_drawing
from skshapley.plots._common import closed, fold, levels, one_output, response_name
from skshapley.plots._display import Display, SmallMultiples, by_output
from skshapley.plots._style import (
    height_of_rows,
    ink,
    label_x,
    letters_beside,
    level_colours,
    name_rows,
)
from skshapley.plots._text import MAX_NAME, short_names


class DecisionDisplay(Display):
    """Paths of many instances from the base value, at the bottom, to their predictions on top.

    Each line is an instance. At each feature it moves by the instance's attribution, the least
    important feature first, and its colour is the prediction at its end. Lines that stay together
    for long and part at the top differ only in the most important features.

    There are no intervals: those of sums would need covariances, which are not on record. If
    estimates do not add up exactly, the difference is the first step, "unexplained".

    Use `from_explanation` or `from_estimator` to make one.

    Parameters
    ----------
    table : DataFrame
        Columns ``row``, ``feature``, ``value``, ``base_value``; for each instance the features from
        top to bottom.
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
    >>> from skshapley.plots import DecisionDisplay
    >>> explainer = ShapleyExplainer(lambda X: X @ [1.0, -3.0]).fit(np.zeros((1, 2)))
    >>> display = DecisionDisplay.from_estimator(explainer, np.ones((1, 2)))
    >>> display.frame()[["feature", "value", "end"]]
      feature  value  end
    0      x1   -3.0 -2.0
    1      x0    1.0  1.0
    """

    _constraints = {"max_features": COUNT, "ax": AXES}

    _scale = "x"

    def __init__(self, table, response="response") -> None:
        self.table = table
        self.response = response

    @classmethod
    def from_explanation(
        cls, explanation, *, output=None, max_features=20, ax=None
    ) -> Self | SmallMultiples:
        """Draw the paths of all instances.

        Parameters
        ----------
        explanation : Explanation
        output : label, default=None
            One of `explanation.output_names`. None: all, side by side, or the strongest of many.
        max_features : int or None, default=20
            Features with a step of their own, the most important ones. The others together are the
            first step. None: all.
        ax : matplotlib Axes, or one for each output, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        display : DecisionDisplay, or SmallMultiples of them for several outputs

        Raises
        ------
        ValueError, TypeError
            For an invalid output, max_features or ax.
        """
        check_drawing(cls, explanation, ax=ax, output=output, max_features=max_features)

        def read(output) -> tuple[pd.DataFrame, str]:
            shown = closed(fold(one_output(explanation, output), max_features))
            r, p = shown.values.shape
            table = pd.DataFrame(
                {
                    "row": np.repeat(shown.index.to_numpy(), p),
                    "feature": np.tile(shown.feature_names, r),
                    "value": shown.values.ravel(),
                    "base_value": np.repeat(shown.base_values, p),
                }
            )
            return table, response_name(shown)

        return by_output(cls, explanation, output, ax, read)

    def frame(self) -> pd.DataFrame:
        """Return the steps, for each instance from top to bottom.

        Returns
        -------
        frame : DataFrame
            Columns ``row``, ``feature``, ``value``, ``base_value`` and ``end``, the position of the
            path after the step.
        """
        return self.table.assign(end=self._paths()[:, :-1].ravel())

    def _paths(self) -> NDArray[np.float64]:
        """Return where each path is after each step, and last where it starts; ``(r, p + 1)``."""
        p = self.table["feature"].nunique()
        values = self.table["value"].to_numpy().reshape(-1, p)
        base = self.table["base_value"].to_numpy().reshape(-1, p)[:, :1]
        upwards = np.cumsum(np.hstack([base, values[:, ::-1]]), axis=1)
        return upwards[:, ::-1]

    def _row_names(self, letters=MAX_NAME) -> list[str]:
        return short_names(pd.unique(self.table["feature"]), width=letters)

    def _height(self, width) -> float:
        return height_of_rows(self.table["feature"].nunique() + 1)

    def plot(self, ax=None) -> Self:
        """Draw the paths.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        self : DecisionDisplay
        """
        from matplotlib.collections import LineCollection

        paths = self._paths()
        p = self.table["feature"].nunique()
        (ax,) = self._panels(ax)
        heights = np.arange(p + 1) - 0.5
        lines = LineCollection(
            [np.column_stack([path, heights]) for path in paths],
            array=levels(pd.Series(paths[:, 0])),
            cmap=level_colours(),
            clim=(0, 1),
            linewidths=1.2,
            alpha=float(np.clip(30 / len(paths), 0.15, 0.9)),
        )
        ax.add_collection(lines)
        ax.hlines(
            heights, 0, 1, transform=ax.get_yaxis_transform(), color=ink(ax), alpha=0.12, lw=0.6
        )
        ax.axvline(self.table["base_value"].mean(), color=ink(ax), lw=0.8, alpha=0.6, zorder=1)
        name_rows(ax, self._row_names(letters_beside(ax)))
        ax.set_ylim(p - 0.4, -0.7)
        room = 0.04 * (np.ptp(paths) or 1.0)
        ax.set_xlim(paths.min() - room, paths.max() + room)
        label_x(ax, f"{self._said}, from base value (bottom) to prediction (top)")
        return self._drawn_on([ax])
