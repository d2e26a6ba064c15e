"""Bars: attributions of one row, importances, and the way from base value to prediction."""

from typing import Any, Self

import numpy as np
import pandas as pd

from skshapley._records._importance import DIRECTION, cohort_masks
from skshapley._records._summary import kind_of_outputs
from skshapley._tables import LEFT_OUT, MAX_NAME, UNEXPLAINED, named_values, number
from skshapley._tools import Count
from skshapley.plots import _style as style
from skshapley.plots._common import (
    CONSTRAINTS,
    HALF_WIDTH,
    check_drawing,
    closed,
    direction_mark,
    fold,
    points,
    response_name,
    row_table,
    wider_half,
)
from skshapley.plots._display import ByRow, Display, SmallMultiples
from skshapley.plots._partners import check_pairs, with_pairs


class BarDisplay(ByRow, Display):
    """Feature importances over all rows or over cohorts, or attributions of one row, as bars.

    Over rows or cohorts, a bar is the mean absolute attribution. For one row, it is the
    attribution itself. Error bars are 95 % intervals, of the mean or of the
    attribution. An arrow after a mean says that attributions clearly rise (↑) or fall
    (↓) with the feature.

    With several outputs, bars are stacked, with one part per output and without
    intervals.

    Features that are not shown one by one are summed row by row, as if they were one
    group. For one row this sum has no interval, since covariances are not on record.

    Use `from_explanation` or `from_estimator` to make one.

    Parameters
    ----------
    table : DataFrame
        Columns ``cohort``, ``feature``, ``data``, ``value``, ``standard_error``,
        ``refit_error`` (by the training data), from
        top to bottom, with the same features in each cohort. Without cohorts,
        ``cohort`` is None. Importances also have ``direction`` and ``direction_error``.
    local : bool, default=False
        Whether the bars are of one row.
    response : str, default="response"
        Name of the explained response, for the axis.
    stacked : bool, default=False
        Whether the cohorts are outputs with stacked bars.

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
    >>> display = BarDisplay.from_estimator(
    ...     explainer, np.array([[1.0, 1.0], [3.0, 0.0]])
    ... )
    >>> display.frame()[["feature", "value"]]
      feature  value
    0      x0    2.0
    1      x1    1.5
    """

    def __init__(self, table, local=False, response="response", stacked=False) -> None:
        super().__init__(table, response)
        self.local = local
        self.stacked = stacked
        # Bars of cohorts lie side by side within a row; .7 rows each keep them legible.
        self._row_height = 1.0 if stacked else max(1.0, 0.7 * table["cohort"].nunique())

    @classmethod
    def from_explanation(
        cls,
        explanation,
        row=None,
        *,
        output=None,
        cohorts=None,
        max_features=10,
        ax=None,
    ) -> Self | SmallMultiples:
        """Draw attributions of one row, or importances.

        Parameters
        ----------
        explanation : Explanation
        row : int, default=None
            Position of the one row to draw. None: mean absolute attributions of all.
        output : label, default=None
            One of `explanation.output_names`. None: all, stacked; with a `row` or
            `cohorts` below each other, or the strongest of many.
        cohorts : str or array-like of shape (r,), default=None
            Draw a bar for each cohort of rows. A column of `explanation.data`, or a
            label for each row; a mask of True and False makes two cohorts.
        max_features : int or None, default=10
            Number of features shown separately, the largest first; the others are
            summed. None: all.
        ax : matplotlib Axes, or one for each output, default=None
            The axes to draw on; a new figure by default.

        Returns
        -------
        display : BarDisplay, or SmallMultiples of them for several outputs

        Raises
        ------
        ValueError, TypeError, IndexError
            For an invalid row, output, cohorts, max_features or ax.
        """
        options = {"row": row, "max_features": max_features, "ax": ax}
        several = output is None and explanation.output_names is not None
        if several and row is None and cohorts is None:
            check_drawing(cls, explanation, output=output, **options)
            return cls(
                _stacked_table(explanation, max_features),
                response=response_name(explanation),
                stacked=True,
            ).plot(ax)
        masks: dict[Any, Any] = {None: slice(None)}
        if cohorts is not None:
            if row is not None:
                raise ValueError(
                    f"{cls.__name__} got both row={row!r} and cohorts: choose one of "
                    "the two.",
                )
            masks = cohort_masks(explanation, cohorts, cls.__name__)
        if len(masks) > len(style.COLOURS):
            raise ValueError(
                f"{cls.__name__} got {len(masks)} cohorts, but it has colours for at "
                f"most {len(style.COLOURS)}: form fewer, for example with pandas.cut.",
            )

        def make(panel, sizes) -> Any:
            panel = fold(panel, max_features, sizes)
            if row is None:
                return cls(_cohort_table(panel, masks), False, response_name(panel))
            return cls(
                row_table(panel).assign(cohort=None)[COLUMNS],
                True,
                response_name(panel),
            )

        return cls._of_outputs(explanation, make, output=output, **options)

    def _row_names(self, letters=MAX_NAME) -> list[str]:
        return named_values(self.table[~self.table["feature"].duplicated()], letters)

    def _draw(self, ax) -> None:
        from matplotlib.patches import Patch

        cohorts = self.table["cohort"].dropna().unique()
        n = max(len(cohorts), 1)
        largest = self.table["value"].abs().max()
        # All cohorts share 3/4 of a row, so a gap of a quarter separates the features.
        n_bars = 1 if self.stacked else n
        height = 0.75 / n_bars
        start = 0.0
        style.zero_line(ax)
        if len(cohorts):
            style.legend_above(
                ax,
                [Patch(color=colour) for colour in style.COLOURS[:n]],
                cohorts,
            )
        for place, (_, part) in enumerate(
            self.table.groupby("cohort", sort=False, dropna=False)
        ):
            value = part["value"].to_numpy()
            y = np.arange(len(part)) + (place % n_bars - (n_bars - 1) / 2) * height
            half = HALF_WIDTH * part["standard_error"].fillna(0.0).to_numpy()
            signs = np.where(value < 0, style.NEGATIVE, style.POSITIVE).tolist()
            ax.barh(
                y,
                value,
                height=0.94 * height,
                left=start,
                color=signs if self.local else style.COLOURS[place],
                zorder=2,
            )
            wider = wider_half(part, "refit_error")
            style.error_bars(ax, value, y, wider, **style.WIDE_BAND)
            style.error_bars(ax, value, y, half)
            end = start + value
            if not self.stacked or place == n - 1:  # a stack has one number, the sum
                directions = part.reindex(columns=DIRECTION).to_numpy(dtype=float)
                texts = [
                    number(bar, signed=self.local, scale=largest)
                    + direction_mark(*direction)
                    for bar, direction in zip(end, directions, strict=True)
                ]
                reach = end + np.copysign(np.fmax(half, wider), value)
                style.write_numbers(
                    ax,
                    reach,
                    y,
                    texts,
                    value,
                    n_bars * len(y),
                    both=self.local,
                )
            # Each part of a stack begins at the end of the earlier parts.
            start = end if self.stacked else 0.0
        what = "attribution" if self.local else "mean |attribution|"
        style.label_x(ax, f"{what} ({self._said}){style.interval_note(self.table)}")


COLUMNS = ["cohort", "feature", "data", "value", "standard_error", "refit_error"]


def _stacked_table(explanation, max_features) -> pd.DataFrame:
    """Return the bars of all outputs; outputs beyond the number of colours share one bar."""
    names = list(explanation.output_names)
    sizes = np.abs(explanation.values).mean(axis=0)
    # The last colour stands for all other outputs, so that no colour has two meanings.
    n_kept = len(names) if len(names) <= len(style.COLOURS) else len(style.COLOURS) - 1
    parts: dict[str, Any] = {}
    for place, k in enumerate(np.argsort(-sizes.sum(axis=0), kind="stable")):
        label = f"{len(names) - n_kept} other outputs"
        if place < n_kept:
            label = f"{kind_of_outputs(explanation)}{names[k]}"
        folded = fold(explanation.output(names[k]), max_features, sizes.sum(axis=1))
        parts[label] = parts.get(label, 0.0) + np.abs(folded.values).mean(axis=0)
    table = (
        pd.DataFrame(parts, index=folded.feature_names)
        .melt(var_name="cohort", ignore_index=False)
        .rename_axis("feature")
    )
    return table.reset_index().assign(data=None).reindex(columns=COLUMNS)


def _cohort_table(shown, masks) -> pd.DataFrame:
    """Return the bars of all rows, or of each cohort."""
    tables = []
    for label, mask in masks.items():
        part = shown[mask]
        table = part.importance().loc[shown.feature_names].reset_index()
        cohort = None if label is None else f"{label} (n = {len(part)})"
        tables.append(table.assign(cohort=cohort, data=None))
    table = pd.concat(tables, ignore_index=True).rename(columns={"importance": "value"})
    return table[COLUMNS + DIRECTION]


PREDICTION = "prediction f(x)"
BASE_VALUE = "base value E f(X)"


class WaterfallDisplay(ByRow, Display):
    """One prediction as a waterfall from the base value to the prediction.

    The base value E f(X), the mean prediction over the background, is at the bottom,
    and the prediction f(x) of the row at the top. In between, each feature has an arrow
    as long as its attribution, which starts where the arrow below it ends. The largest
    attribution is at the top.

    Error bars are 95 % intervals of the attributions; wide pale bands include the error
    of the background. A sum of several features has
    none, because covariances are unknown. Some methods give estimates that do not add
    up exactly; the difference is then a grey bar named "unexplained".

    Use `from_explanation` or `from_estimator` to make one.

    Parameters
    ----------
    table : DataFrame
        Columns ``feature``, ``data``, ``value``, ``standard_error``,
        ``background_error``, ``refit_error``, ``start``, ``end``; from top to bottom.
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

    _constraints = CONSTRAINTS | {"max_pairs": Count(least=0)}

    def __init__(self, table, base_value, prediction, response="response") -> None:
        super().__init__(table, response)
        self.base_value = base_value
        self.prediction = prediction

    @classmethod
    def from_explanation(
        cls,
        explanation,
        row=None,
        *,
        output=None,
        max_features=10,
        max_pairs=0,
        ax=None,
    ) -> Self | SmallMultiples:
        """Draw the explanation of one row.

        Parameters
        ----------
        explanation : Explanation
        row : int, default=None
            Position of the row. May be left out if there is only one.
        output : label, default=None
            One of `explanation.output_names`. None: all, below each other, or the strongest
            of many.
        max_features : int or None, default=10
            Number of features shown separately, the largest first; the others are
            summed. None: all.
        max_pairs : int, default=0
            So many of the strongest interactions are shown as well, and count as
            features. Each of the two features gives half of it away, and has no error
            then.
        ax : matplotlib Axes, or one for each output, default=None
            The axes to draw on; a new figure by default.

        Returns
        -------
        display : WaterfallDisplay, or SmallMultiples of them for several outputs

        Raises
        ------
        ValueError, TypeError, IndexError
            For an invalid row, output, max_features, max_pairs or ax, and for pairs of
            an explanation without interactions.
        """
        if max_pairs:
            check_pairs(cls.__name__, explanation)

        def make(whole, sizes) -> Any:
            players = with_pairs(whole, max_pairs) if max_pairs else whole
            # The pairs of single outputs differ, and are sorted with their features.
            folded = closed(fold(players, max_features, None if max_pairs else sizes))
            # The table runs from top to bottom, and the sum from the base value at the
            # bottom upwards.
            base_value = float(whole.base_values[0])
            ends = base_value + np.cumsum(folded.values[0, ::-1])[::-1]
            starts = np.append(ends[1:], base_value)
            return cls(
                points(folded).drop(columns="row").assign(start=starts, end=ends),
                base_value,
                float(whole.predictions[0]),
                response_name(whole),
            )

        return cls._of_outputs(
            explanation,
            make,
            output=output,
            ax=ax,
            needs_row=True,
            row=row,
            max_features=max_features,
            max_pairs=max_pairs,
        )

    def _row_names(self, letters=MAX_NAME) -> list[str]:
        return [PREDICTION, *named_values(self.table, letters), BASE_VALUE]

    def _draw(self, ax) -> None:
        frame = self.table
        n = len(frame)
        rows = np.arange(1, n + 1)
        value, start, end = frame[["value", "start", "end"]].to_numpy().T
        colours = np.where(value < 0, style.NEGATIVE, style.POSITIVE)
        colours[frame["feature"].isin([UNEXPLAINED, LEFT_OUT])] = style.NEUTRAL
        half = HALF_WIDTH * frame["standard_error"].to_numpy()
        widest = wider_half(frame, "background_error", "refit_error")
        style.error_bars(ax, end, rows, widest, **style.WIDE_BAND)
        style.error_bars(
            ax,
            end,
            rows,
            wider_half(frame, "background_error"),
            **style.BAND,
        )
        style.error_bars(ax, end, rows, half)

        # Each bar hangs on the end of the one below; the outermost on base value and
        # prediction.
        ax.vlines(np.append(end, self.base_value), np.arange(n + 1), np.arange(1, n + 2),
                  color=style.ink(ax), linewidth=0.6, alpha=0.6, zorder=1)  # fmt: skip
        ends = [self.prediction, self.base_value]
        ax.plot(ends, [0, n + 1], "D", color=style.ink(ax), ms=5)

        scale = np.abs([*ends, *value]).max()
        first, last = (number(amount, scale=scale) for amount in ends)
        texts = [number(amount, signed=True, scale=scale) for amount in value]
        reach = np.copysign(np.fmax(np.nan_to_num(half), widest), value)
        # The part of the bar without the interval; 0 where the interval is longer
        free = np.maximum(np.abs(value) - np.abs(reach), 0)
        inside = style.write_inside(ax, start, rows, texts, np.sign(value) * free)
        outside = np.where(inside, "", texts).tolist()
        ax.use_sticky_edges = False  # numbers need room on both sides
        style.write_numbers(
            ax,
            [self.prediction, *(end + reach), self.base_value],
            range(n + 2),
            [first, *outside, last],
            [1, *value, 1],
            n + 2,
        )
        style.arrow_bars(ax, rows, start, value, 0.7, colours.tolist())
        style.label_x(ax, f"{self._said}{style.interval_note(frame)}")
