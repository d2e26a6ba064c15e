"""Bars: the attributions of one row, or the importance of each feature over all."""

from typing import Any, Self

import numpy as np
import pandas as pd

from skshapley._records._importance import cohort_masks
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
from skshapley.plots._display import ByRow, Display, SmallMultiples, by_output
from skshapley.plots._style import (
    COLOURS,
    colour_of,
    error_bars,
    interval_note,
    label_x,
    legend_above,
    number_bars,
    zero_line,
)
from skshapley.plots._text import MAX_NAME, named_values, number


class BarDisplay(ByRow, Display):
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

    def __init__(self, table, local=False, response="response", stacked=False) -> None:
        super().__init__(table, response)
        self.local = local
        self.stacked = stacked
        self._row_height = 1.0 if stacked else max(1.0, 0.6 * len(self._legend))

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
        several = output is None and explanation.output_names is not None
        if several and row is None and cohorts is None:
            table = _stacked_table(explanation, max_features)
            return cls(table, response=response_name(explanation), stacked=True).plot(ax)
        local = row is not None
        chosen = one_row(explanation, row)

        def read(output) -> tuple[pd.DataFrame, bool, str]:
            shown = fold(one_output(chosen, output), max_features)
            if not local:
                return _global_table(shown, masks), False, response_name(shown)
            data = pd.Series(shown.data.iloc[0].tolist(), dtype=object)
            errors = errors_of(shown)[0]
            table = _table(shown.feature_names, shown.values[0], errors, data=data)
            return table, True, response_name(shown)

        return by_output(cls, chosen, output, ax, read)

    def _row_names(self, letters=MAX_NAME) -> list[str]:
        return named_values(self.table[~self.table["feature"].duplicated()], letters)

    @property
    def _legend(self) -> tuple:
        return tuple(self.table["cohort"].dropna().unique())

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

        table, cohorts = self.table, self._legend
        place, row = pd.factorize(table["cohort"].fillna(""))[0], pd.factorize(table["feature"])[0]
        ax = self._rows(ax)
        zero_line(ax)
        if cohorts:
            legend_above(ax, [Patch(color=COLOURS[i]) for i in range(len(cohorts))], cohorts)
        value, start, height, y = table["value"].to_numpy(), 0.0, 0.75, row
        half = HALF_WIDTH * table["standard_error"].fillna(0.0).to_numpy()
        colours = colour_of(value) if self.local else [COLOURS[i] for i in place]
        if self.stacked:
            start = table.groupby("feature")["value"].cumsum().to_numpy() - value
        else:
            height /= max(len(cohorts), 1)
            y = row + (place + 0.5) * height - 0.375
        ax.barh(y, value, height=0.94 * height, left=start, color=colours, zorder=2)
        error_bars(ax, value, y, half)
        texts = [number(bar, signed=self.local, scale=np.abs(value).max()) for bar in value]
        bars = list(zip(np.zeros(len(value)), value, half, y, texts, colours, strict=True))
        low, high = self._shared or self._span()
        if self.stacked:  # their sums alone
            ends = (start + value)[place == place.max()]
            beside = [(end, i, number(end), 1.0) for i, end in enumerate(ends)]
            number_bars(ax, [], (low, high), left=False, beside=beside)
        else:
            number_bars(ax, bars, (low, high), left=low < 0, right=high > 0)
        what = "attribution" if self.local else "mean |attribution|"
        label_x(ax, f"{what} ({self._said}){interval_note(table)}")
        return self._drawn_on([ax])

    def _span(self) -> tuple[float, float]:
        half = HALF_WIDTH * self.table["standard_error"].fillna(0.0)
        low = (self.table["value"] - half).min() if self.local else 0.0
        ends = self.table["value"] + half
        if self.stacked:
            ends = ends.groupby(self.table["feature"]).sum()
        return min(low, 0.0), max(ends.max(), 0.0)


def _table(feature, value, error=np.nan, cohort=None, data=None) -> pd.DataFrame:
    """Return the bars of one row, of all rows or of a cohort."""
    columns = {"cohort": cohort, "feature": feature, "data": data, "value": value}
    return pd.DataFrame(columns | {"standard_error": error})


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
    parts = zip(labels, values, strict=True)
    tables = [_table(folded[0].feature_names, value, cohort=label) for label, value in parts]
    return pd.concat(tables, ignore_index=True)


def _global_table(shown, masks) -> pd.DataFrame:
    """Return the bars of all rows, or of each cohort."""
    tables = []
    for label, mask in masks.items():
        part = shown[mask]
        found = part.importance().loc[shown.feature_names].reset_index()
        name = None if label is None else f"{label} (n = {len(part)})"
        tables.append(_table(found["feature"], found["importance"], found["standard_error"], name))
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
