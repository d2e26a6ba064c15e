"""Bars: the attributions of one row, or the importance of each feature over all."""

from dataclasses import replace
from typing import Any, Self

import numpy as np
import pandas as pd

from skshapley._records._importance import cohort_masks
from skshapley._tools._constraints import check_values
from skshapley.plots._checks import AXES, COUNT, ROW, check_drawing
from skshapley.plots._common import (
    HALF_WIDTH,
    errors_of,
    fold,
    kind_of_outputs,
    one_output,
    one_row,
    response_name,
)
from skshapley.plots._display import Display, SmallMultiples, by_output
from skshapley.plots._style import (
    COLOURS,
    beside,
    colour_of,
    error_bars,
    fits_inside,
    fitting,
    height_of_legend,
    height_of_rows,
    inside,
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
    """Feature importances over all rows or over cohorts, or attributions of one row, as bars.

    Over instances or cohorts, a bar is the mean absolute attribution. For one instance, it is the
    attribution itself. Error bars are 95 % intervals, of the mean or of the attribution.

    Over several outputs, each bar is stacked: a part for each output, without intervals.

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
    stacked : bool, default=False
        Whether the cohorts are outputs, whose bars are stacked.

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

    def __init__(self, table, local=False, response="response", stacked=False) -> None:
        self.table = table
        self.local = local
        self.response = response
        self.stacked = stacked

    @classmethod
    def from_explanation(
        cls, explanation, row=None, *, output=None, cohorts=None, max_features=10, ax=None
    ) -> Self | SmallMultiples:
        """Draw attributions of one row, or importances.

        Parameters
        ----------
        explanation : Explanation
        row : int, default=None
            Position of the one instance to draw. None: mean absolute attributions of all.
        output : label, default=None
            One of `explanation.output_names`. None: all, stacked; with a `row` or `cohorts` side by
            side, or the strongest of many.
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
        if (
            output is None
            and explanation.output_names is not None
            and row is None
            and cohorts is None
        ):
            table = _stacked_table(explanation, max_features)
            return cls(table, response=response_name(explanation), stacked=True).plot(ax)
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

    def _row_names(self, letters=MAX_NAME) -> list[str]:
        return named_values(self.table[~self.table["feature"].duplicated()], width=letters)

    def _height(self, width) -> float:
        cohorts = self.table["cohort"].unique()
        above = height_of_legend(cohorts) if len(cohorts) > 1 else 0.0
        share = 1 / len(cohorts)
        return (
            height_of_rows(len(self.table) * (share if self.stacked else max(share, 0.6))) + above
        )

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
        height = 0.75 / (1 if self.stacked else n_cohorts)
        zero_line(ax)
        name_rows(ax, self._row_names(letters_beside(ax)))
        if n_cohorts > 1:
            handles = [Patch(color=colour) for colour in COLOURS[:n_cohorts]]
            legend_above(ax, handles, [part["cohort"].iloc[0] for part in parts])
            settle(ax)  # the legend takes some of the height
        size = fitting(ax, n if self.stacked else n * n_cohorts)
        if self.stacked:
            self._plot_stacked(ax, parts, size)
        else:
            for place, part in enumerate(parts):
                self._plot_cohort(ax, place, part, height, size)
        what = "attribution" if self.local else "mean |attribution|"
        label_x(ax, f"{what} ({self._said}){interval_note(self.table)}")
        return self._drawn_on([ax])

    def _plot_cohort(self, ax, place, part, height, size) -> None:
        """Draw the bars of one cohort, or of all rows."""
        value = part["value"].to_numpy()
        half = HALF_WIDTH * np.nan_to_num(part["standard_error"].to_numpy())
        rows = np.arange(len(part)) + (place + 0.5) * height - 0.375
        colours = colour_of(value) if self.local else [COLOURS[place]] * len(part)
        ax.barh(rows, value, height=0.94 * height, color=colours, zorder=2)
        error_bars(ax, value, rows, half)
        scale = self.table["value"].abs().max()
        texts = [number(bar, signed=self.local, scale=scale) for bar in value]
        low, high = self._shared or self._span()
        within = fits_inside(ax, np.abs(value) - half, texts, high - low, size)
        if place == 0:
            self._size = widen(ax, low, high, texts, size, left=low < 0, right=high > 0)
        for bar, reach, y, text, colour, hidden in zip(
            value, half, rows, texts, colours, within, strict=True
        ):
            if hidden:
                inside(ax, (bar - np.copysign(reach, bar)) / 2, y, text, colour, self._size)
            else:
                beside(ax, bar + np.copysign(reach, bar), y, text, bar, self._size)

    def _plot_stacked(self, ax, parts, size) -> None:
        """Draw the bars of several outputs, each on the end of the one before."""
        ends, rows = np.zeros(len(parts[0])), np.arange(len(parts[0]))
        for part, colour in zip(parts, COLOURS, strict=False):
            ax.barh(rows, part["value"], height=0.7, left=ends, color=colour, zorder=2)
            ends += part["value"].to_numpy()
        texts = [number(end) for end in ends]
        size = widen(ax, 0.0, ends.max(), texts, size, left=False)
        for row, end, text in zip(rows, ends, texts, strict=True):
            beside(ax, end, row, text, 1.0, size)

    def _span(self) -> tuple[float, float]:
        half = HALF_WIDTH * self.table["standard_error"].fillna(0.0)
        low = (self.table["value"] - half).min() if self.local else 0.0
        return min(low, 0.0), max((self.table["value"] + half).max(), 0.0)


def _stacked_table(explanation, max_features) -> pd.DataFrame:
    """Return the bars of all outputs, those beyond the colours that there are in one."""
    names, kind = list(explanation.output_names), kind_of_outputs(explanation)
    sizes = np.abs(explanation.values).mean(axis=0)
    order = np.argsort(-sizes.sum(axis=0), kind="stable")
    folded = [fold(explanation.output(names[k]), max_features, sizes.sum(axis=1)) for k in order]
    values = [np.abs(shown.values).mean(axis=0) for shown in folded]
    labels = [f"{kind}{names[k]}" for k in order]
    most = len(COLOURS)
    if len(values) > most:
        labels[most - 1 :] = [f"{len(values) - most + 1} other outputs"]
        values[most - 1 :] = [np.sum(values[most - 1 :], axis=0)]
    parts = [
        pd.DataFrame(
            {
                "cohort": label,
                "feature": folded[0].feature_names,
                "data": None,
                "value": value,
                "standard_error": np.nan,
            }
        )
        for label, value in zip(labels, values, strict=True)
    ]
    return pd.concat(parts, ignore_index=True)


def _local_table(shown) -> pd.DataFrame:
    """Return the bars of one row."""
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
    """Return the bars of all rows, or of each cohort."""
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
    """Return the rows of each cohort as a mask by label; all of them without cohorts."""
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
