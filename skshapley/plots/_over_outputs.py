"""Curves of attributions over outputs that are numbers, such as times."""

from typing import Self

import numpy as np
import pandas as pd

from skshapley.plots._checks import AXES, COUNT, ROW, check_drawing
from skshapley.plots._common import errors_of, numbers_of_outputs, one_row, response_name
from skshapley.plots._display import Display
from skshapley.plots._style import LARGE_PANEL, curves, ink, label_x, label_y, legend


class OverOutputsDisplay(Display):
    """Attributions as curves over outputs that are numbers, such as the times of `SurvivalAt`.

    Each feature has a line: its attributions for one row, or their mean size over all rows. The
    bands are 95 % intervals.

    Use `from_explanation` or `from_estimator` to make one.

    Parameters
    ----------
    table : DataFrame
        Columns ``feature``, ``output``, ``value``, ``standard_error``.
    response : str, default="response"
        Name of the explained response, for the axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from skshapley import ShapleyExplainer
    >>> from skshapley.plots import OverOutputsDisplay
    >>> def at_two_times(X):
    ...     return pd.DataFrame(X @ [[1.0, 2.0]], columns=[0.5, 1.5])
    >>> explainer = ShapleyExplainer(at_two_times).fit(np.zeros((1, 1)))
    >>> OverOutputsDisplay.from_estimator(explainer, np.ones((1, 1))).frame()
      feature  output  value  standard_error
    0      x0     0.5    1.0             0.0
    1      x0     1.5    2.0             0.0
    """

    _constraints = {"row": ROW, "max_features": COUNT, "ax": AXES}

    @classmethod
    def from_explanation(cls, explanation, row=None, *, max_features=6, ax=None) -> Self:
        """Draw the attributions of one row, or the importances over all rows.

        Parameters
        ----------
        explanation : Explanation
            An explanation with numbers as names of its outputs.
        row : int, default=None
            Position of the row. None: the mean size over several rows.
        max_features : int or None, default=6
            Number of features to show, the largest first. None: all.
        ax : matplotlib Axes, default=None
            The axes to draw on; a new figure by default.

        Returns
        -------
        display : OverOutputsDisplay

        Raises
        ------
        ValueError, TypeError, IndexError
            For outputs that are not numbers, or an invalid row, max_features or ax.
        """
        given = {"row": row, "max_features": max_features, "ax": ax}
        check_drawing(cls, explanation, output=None, **given)
        outputs = numbers_of_outputs(explanation)
        if outputs is None:
            raise ValueError(
                f"{cls.__name__} got outputs that are not ascending numbers: explain several times,"
                f" such as response_method=SurvivalAt([1.0, 2.0])."
            )
        chosen, what = one_row(explanation, row), response_name(explanation)
        if len(chosen) == 1:
            columns = {"value": chosen.values.ravel(), "standard_error": errors_of(chosen).ravel()}
            index = pd.MultiIndex.from_product([chosen.feature_names, outputs])
        else:
            means = chosen.importance()
            columns = {"value": means["importance"], "standard_error": means["standard_error"]}
            index, what = means.index.swaplevel(), f"{what}, mean size"
        table = pd.DataFrame({name: np.asarray(part) for name, part in columns.items()}, index)
        sizes = table["value"].abs().groupby(level=0, sort=False).max()
        kept = sizes.sort_values(ascending=False, kind="stable").index[:max_features]
        table = table.sort_index(level=1).loc[kept]
        return cls(table.rename_axis(["feature", "output"]).reset_index(), what).plot(ax)

    def _size(self, alone) -> tuple[float, float]:
        return LARGE_PANEL

    def _draw(self, ax) -> None:
        """Draw the curves."""
        lines = curves(ax, self.table, "output", "feature")
        ax.axhline(0.0, color=ink(ax), linewidth=0.8, alpha=0.6, zorder=1)
        label_x(ax, "output")
        label_y(ax, f"attribution ({self.response})")
        legend(ax, lines.values(), lines)
