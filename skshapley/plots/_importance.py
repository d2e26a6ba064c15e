"""Importances with their intervals, and which of them are selected."""

from typing import Self

import numpy as np
import pandas as pd

from skshapley._records._inferred import CONFIDENCE
from skshapley._tools._constraints import Number, check_values
from skshapley.plots._checks import AXES, COUNT, check_drawing
from skshapley.plots._common import one_output, response_name
from skshapley.plots._display import Display, SmallMultiples, by_output
from skshapley.plots._style import (
    COLOURS,
    NEUTRAL,
    height_of_rows,
    interval_bars,
    label_x,
    legend_above,
    letters_beside,
    name_rows,
    zero_line,
)
from skshapley.plots._text import MAX_NAME, short_names


class ImportanceDisplay(Display):
    """How much each feature matters, with intervals, ranks and the features selected.

    A point is an importance, its bar the interval, the numbers beside the names the ranks that the
    data leave open. Where features were tested, those that are not selected are pale.

    Use `from_explanation`, `from_importance` or `from_selector` to make one.

    Parameters
    ----------
    table : DataFrame
        Columns ``feature``, ``value``, ``low``, ``high``, ``best_rank``, ``worst_rank`` (None
        without ranks) and ``selected`` (None without a test), from top to bottom.
    label : str, default="importance"
        What is drawn, for the axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import ShapleyExplainer
    >>> explainer = ShapleyExplainer(lambda X: X @ [1.0, -3.0]).fit(np.zeros((1, 2)))
    >>> explanation = explainer.explain(np.arange(20.0).reshape(10, 2))
    >>> display = explanation.plot.importance()
    >>> display.frame()[["feature", "value", "best_rank", "worst_rank"]]
      feature  value  best_rank  worst_rank
    0      x1   30.0          1           1
    1      x0    9.0          2           2
    """

    _constraints = {"max_features": COUNT, "ax": AXES, **CONFIDENCE,
                    "alpha": Number(above=0, below=1)}  # fmt: skip

    _scale = "x"

    def __init__(self, table, label="importance") -> None:
        self.table = table
        self.label = label

    @classmethod
    def from_explanation(
        cls,
        explanation,
        *,
        output=None,
        confidence=0.95,
        simultaneous=True,
        max_features=20,
        ax=None,
    ) -> Self | SmallMultiples:
        """Draw mean absolute attributions, as `Explanation.importance` with a confidence.

        Parameters
        ----------
        explanation : Explanation
        output : label, default=None
            One of `explanation.output_names`. None: all, side by side, or the strongest of many.
        confidence : float, default=0.95
            Of intervals and ranks.
        simultaneous : bool, default=True
            Whether they hold for all features at once, or each by itself.
        max_features : int or None, default=20
            Features shown, the largest first. None: all.
        ax : matplotlib Axes, or one for each output, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        display : ImportanceDisplay, or SmallMultiples of them for several outputs

        Raises
        ------
        ValueError, TypeError
            For an invalid output, confidence, max_features or ax.
        """
        asked = {"confidence": confidence, "simultaneous": simultaneous}
        check_drawing(cls, explanation, ax=ax, output=output, max_features=max_features, **asked)

        def read(output) -> tuple[pd.DataFrame, str]:
            shown = one_output(explanation, output)
            table = _table(shown.importance(**asked), None)[:max_features]
            return table, f"mean |attribution| ({response_name(shown)}){_note(confidence)}"

        return by_output(cls, explanation, output, ax, read)

    @classmethod
    def from_importance(
        cls, importance, *, alpha=0.05, confidence=0.95, simultaneous=True, max_features=20, ax=None
    ) -> Self:
        """Draw SAGE values, and which of them are above zero.

        Parameters
        ----------
        importance : GlobalExplanation
        alpha : float, default=0.05
            The share of false ones among those selected, at most and on average.
        confidence : float, default=0.95
            Of intervals and ranks.
        simultaneous : bool, default=True
            Whether they hold for all features at once, or each by itself.
        max_features : int or None, default=20
            Features shown, the largest first. None: all.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        display : ImportanceDisplay

        Raises
        ------
        ValueError, TypeError
            For an invalid alpha, confidence, max_features or ax.
        """
        given = {"alpha": alpha, "confidence": confidence, "max_features": max_features, "ax": ax}
        check_values(cls.__name__, given, cls._constraints)
        table = importance.importance(confidence, simultaneous)
        selected = table["p_adjusted"] <= alpha
        label = f"mean {response_name(importance.rows)}{_note(confidence)}"
        return cls(_table(table, selected)[:max_features], label).plot(ax)

    @classmethod
    def from_selector(cls, selector, *, max_features=20, ax=None) -> Self:
        """Draw the gains of a fitted `ShapleyImportance`, and its selection.

        Parameters
        ----------
        selector : ShapleyImportance
            Fitted. Noise columns are shown too, where there are any.
        max_features : int or None, default=20
            Features shown, the largest first. None: all.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        display : ImportanceDisplay
            With pointwise 95 % intervals.

        Raises
        ------
        ValueError, TypeError
            For an invalid max_features or ax.
        """
        check_values(cls.__name__, {"max_features": max_features, "ax": ax}, cls._constraints)
        table = selector.to_frame()
        half = 1.96 * table["standard_error"]
        table = table.assign(low=table["importance"] - half, high=table["importance"] + half)
        table = _table(table, table["selected"])[:max_features]
        return cls(table, f"gain out of fold{_note(0.95)}").plot(ax)

    def frame(self) -> pd.DataFrame:
        """Return the points.

        Returns
        -------
        frame : DataFrame
            With the columns of the parameter `table`.
        """
        return self.table.copy()

    def _row_names(self, letters=MAX_NAME) -> list[str]:
        names = short_names(self.table["feature"], width=letters)
        if self.table["best_rank"].isna().any():
            return names
        ranks = zip(self.table["best_rank"], self.table["worst_rank"], strict=True)
        texts = [f"{best}" if best == worst else f"{best}–{worst}" for best, worst in ranks]
        return [f"{name}  ({text})" for name, text in zip(names, texts, strict=True)]

    def _height(self, width) -> float:
        return height_of_rows(len(self.table))

    def plot(self, ax=None) -> Self:
        """Draw the points.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        self : ImportanceDisplay
        """
        (ax,) = self._panels(ax)
        value = self.table["value"].to_numpy()
        tested = self.table["selected"].notna().all()
        chosen = self.table["selected"].ne(False).to_numpy(dtype=bool)
        rows = np.arange(len(value))
        zero_line(ax)
        name_rows(ax, self._row_names(letters_beside(ax)))
        interval_bars(ax, self.table["low"], self.table["high"], rows)
        handles = [
            ax.scatter(value[which], rows[which], s=34, c=colour, zorder=5)
            for which, colour in ((chosen, COLOURS[0]), (~chosen, NEUTRAL))
        ]
        label_x(ax, self.label)
        if tested:
            legend_above(ax, handles, ["selected", "not selected"])
        return self._drawn_on([ax])


def _table(importance, selected) -> pd.DataFrame:
    """Return the points of a table of importances, one line for each feature."""
    columns = {name: importance.get(name) for name in ("best_rank", "worst_rank")}
    table = pd.DataFrame(
        {
            "feature": importance.index,
            "value": importance["importance"].to_numpy(),
            "low": importance["low"].to_numpy(),
            "high": importance["high"].to_numpy(),
        }
    )
    for name, part in (*columns.items(), ("selected", selected)):
        table[name] = None if part is None else part.to_numpy()
    return table


def _note(confidence) -> str:
    return f", with {100 * confidence:g} % interval"
