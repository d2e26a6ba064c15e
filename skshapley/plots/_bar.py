"""Bars: the attributions of one instance, or the importance of each feature over all."""

from dataclasses import replace
from typing import Any, Self

import numpy as np
import pandas as pd

from skshapley._records._importance import cohort_masks
from skshapley._tools._constraints import check_values
from skshapley.plots._checks import AXES, COUNT, ROW, check_drawing
from skshapley.plots._common import HALF_WIDTH, errors_of, fold, one_output, one_row, response_name
from skshapley.plots._display import Display, SmallMultiples, by_output
from skshapley.plots._style import (
    COLOURS,
    beside,
    colour_of,
    error_bars,
    fitting,
    height_of_legend,
    height_of_rows,
    interval_note,
    label_x,
    legend_above,
    letters_beside,
    name_rows,
    settle,
    widen,
    zero_line,
)
from skshapley.plots._text import MAX_NAME, named_values, number


class BarDisplay(Display):
    """How much each feature matters, as bars: over all instances, over cohorts, or in one instance.

    Over instances or cohorts, a bar is the mean absolute attribution. For one instance, it is the
    attribution itself. Error bars are 95 % intervals, of the mean or of the attribution.

    Features that are not shown one by one are summed instance by instance, as if they were one
    group. For one instance this sum has no interval, since covariances are not on record.

    Use `from_explanation` or `from_estimator` to make one.

    Parameters
    ----------
    table : DataFrame
        Columns ``cohort``, ``feature``, ``data``, ``value``, ``standard_error``, from top to
        bottom, with the same features in each cohort. Without cohorts, ``cohort`` is None.
    local : bool, default=False
        Whether the bars are of one instance.
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
    >>> from skshapley.plots import BarDisplay
    >>> explainer = ShapleyExplainer(lambda X: X @ [1.0, -3.0]).fit(np.zeros((1, 2)))
    >>> display = BarDisplay.from_estimator(explainer, np.array([[1.0, 1.0], [3.0, 0.0]]))
    >>> display.frame()[["feature", "value"]]
      feature  value
    0      x0    2.0
    1      x1    1.5
    """

    _constraints = {"row": ROW, "max_features": COUNT, "ax": AXES}

    _scale = "x"

    def __init__(self, table, local=False, response="response") -> None:
        self.table = table
        self.local = local
        self.response = response

    @classmethod
    def from_explanation(
        cls, explanation, *, row=None, output=None, cohorts=None, max_features=10, ax=None
    ) -> Self | SmallMultiples:
        """Draw attributions of one instance, or importances.

        Parameters
        ----------
        explanation : Explanation
        row : int, default=None
            Position of the one instance to draw. None: mean absolute attributions of all.
        output : label, default=None
            One of `explanation.output_names`. None: all, side by side, or the strongest of many.
        cohorts : str or array-like of shape (r,), default=None
            Draw a bar for each cohort of instances. A column of `explanation.data`, or a label for
            each instance; a mask of True and False makes two cohorts.
        max_features : int or None, default=10
            Features shown one by one, the largest first; the others are summed. None: all.
        ax : matplotlib Axes, or one for each output, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        display : BarDisplay, or SmallMultiples of them for several outputs

        Raises
        ------
        ValueError, TypeError, IndexError
            For an invalid row, output, cohorts, max_features or ax.
        """
        check_drawing(cls, explanation, ax=ax, output=output, row=row, max_features=max_features)
        masks = _checked_cohorts(cls.__name__, explanation, row, cohorts)
        local = row is not None
        chosen = one_row(explanation, row)

        def read(output) -> tuple[pd.DataFrame, bool, str]:
            shown = fold(one_output(chosen, output), max_features)
            table = _local_table(shown) if local else _global_table(shown, masks)
            return table, local, response_name(shown)

        return by_output(cls, chosen, output, ax, read)

    @classmethod
    def from_importance(cls, importance, *, max_features=10, ax=None) -> Self:
        """Draw SAGE values: how much of the model's loss each feature saves.

        Parameters
        ----------
        importance : GlobalExplanation
        max_features : int or None, default=10
            Features shown one by one, the largest first; the others are summed. None: all.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        display : BarDisplay
            Its error bars are 95 % intervals, for rows that are a sample of a larger population.

        Raises
        ------
        ValueError, TypeError
            For an invalid max_features or ax.
        """
        check_values(cls.__name__, {"max_features": max_features, "ax": ax}, cls._constraints)
        rows = fold(importance.rows, max_features, size=importance.values)
        shown = replace(importance, rows=rows)
        table = pd.DataFrame(
            {
                "cohort": None,
                "feature": shown.feature_names,
                "data": None,
                "value": shown.values,
                "standard_error": shown.standard_errors,
            }
        )
        return cls(table, True, f"mean {response_name(rows)}").plot(ax)

    def frame(self) -> pd.DataFrame:
        """Return the bars.

        Returns
        -------
        frame : DataFrame
            Columns ``cohort`` (None without cohorts), ``feature``, ``data`` (None unless the bars
            are of one instance), ``value`` and ``standard_error``.
        """
        return self.table.copy()

    def _row_names(self, letters=MAX_NAME) -> list[str]:
        return named_values(self.table[~self.table["feature"].duplicated()], width=letters)

    def _height(self, width) -> float:
        cohorts = self.table["cohort"].unique()
        above = height_of_legend(cohorts) if len(cohorts) > 1 else 0.0
        return height_of_rows(len(self.table) * max(1 / len(cohorts), 0.6)) + above

    def plot(self, ax=None) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        self : BarDisplay
        """
        from matplotlib.patches import Patch

        parts = [part for _, part in self.table.groupby("cohort", sort=False, dropna=False)]
        n, n_cohorts = len(parts[0]), len(parts)
        (ax,) = self._panels(ax)
        height = 0.75 / n_cohorts
        zero_line(ax)
        name_rows(ax, self._row_names(letters_beside(ax)))
        if n_cohorts > 1:
            handles = [Patch(color=colour) for colour in COLOURS[:n_cohorts]]
            legend_above(ax, handles, [part["cohort"].iloc[0] for part in parts])
            settle(ax)  # the legend takes some of the height
        size = self._widen(ax, fitting(ax, n * n_cohorts))
        for number_of, part in enumerate(parts):
            value = part["value"].to_numpy()
            half = HALF_WIDTH * part["standard_error"].to_numpy()
            rows = np.arange(n) + (number_of + 0.5) * height - 0.375
            colour = colour_of(value) if self.local else COLOURS[number_of]
            ax.barh(rows, value, height=0.94 * height, color=colour, zorder=2)
            error_bars(ax, value, rows, half)
            tips = value + np.copysign(np.nan_to_num(half), value)
            for y, bar, tip in zip(rows, value, tips, strict=True):
                beside(ax, tip, y, self._number(bar), bar, size)
        what = "attribution" if self.local else "mean |attribution|"
        label_x(ax, f"{what} ({self._said}){interval_note(self.table)}")
        return self._drawn_on([ax])

    def _number(self, value) -> str:
        return number(value, signed=self.local, scale=self.table["value"].abs().max())

    def _widen(self, ax, size) -> float:
        """Set the limits of x, with room for the numbers beside the bars; return their size."""
        half = HALF_WIDTH * self.table["standard_error"].fillna(0.0)
        low, high = (self.table["value"] - half).min(), (self.table["value"] + half).max()
        if not self.local:
            low = 0.0
        texts = [self._number(value) for value in self.table["value"]]
        ends = min(low, 0.0), max(high, 0.0)
        return widen(ax, *ends, texts, size, left=low < 0, right=high > 0)


def _local_table(shown) -> pd.DataFrame:
    """Return the bars of one instance."""
    return pd.DataFrame(
        {
            "cohort": None,
            "feature": shown.feature_names,
            "data": pd.Series(shown.data.iloc[0].tolist(), dtype=object),
            "value": shown.values[0],
            "standard_error": errors_of(shown)[0],
        }
    )


def _global_table(shown, masks) -> pd.DataFrame:
    """Return the bars of all instances, or of each cohort."""
    tables = []
    for label, mask in masks.items():
        part = shown[mask]
        importance = part.importance().loc[shown.feature_names]
        tables.append(
            pd.DataFrame(
                {
                    "cohort": None if label is None else f"{label} (n = {len(part)})",
                    "feature": shown.feature_names,
                    "data": None,
                    "value": importance["importance"].to_numpy(),
                    "standard_error": importance["standard_error"].to_numpy(),
                }
            )
        )
    return pd.concat(tables, ignore_index=True)


def _checked_cohorts(owner, explanation, row, cohorts) -> dict[Any, Any]:
    """Return the instances of each cohort as a mask by label; all of them without cohorts."""
    if cohorts is None:
        return {None: slice(None)}
    if row is not None:
        raise ValueError(f"{owner} got both row={row!r} and cohorts: choose one of the two.")
    masks = cohort_masks(explanation, cohorts, owner)
    if len(masks) > len(COLOURS):
        raise ValueError(
            f"{owner} got {len(masks)} cohorts, but it has colours for at most {len(COLOURS)}: form"
            f" fewer, for example with pandas.cut."
        )
    return masks
