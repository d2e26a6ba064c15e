"""Points with intervals: importances, and comparisons of explanations."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from skshapley._tables import MAX_NAME
from skshapley._tools import Number, check_values
from skshapley.comparison._compare import KIND
from skshapley.plots import _style as style
from skshapley.plots._common import (
    CONSTRAINTS,
    HALF_WIDTH,
    check_drawing,
    response_name,
)
from skshapley.plots._display import ByRow, Display, SmallMultiples, by_output

LEVEL = 0.95  # the confidence of all intervals in pictures


@dataclass(eq=False, repr=False)
class ImportanceDisplay(ByRow, Display):
    """Importances with intervals, ranks and selected features.

    A point is an importance, and its bar the 95 % interval, which holds for all
    features together. The numbers beside the names are the possible ranks. If features
    were tested, unselected ones are pale.

    Use `from_explanation`, `from_importance` or `from_selector` to make one.

    Parameters
    ----------
    table : DataFrame
        Columns ``feature``, ``value``, ``low``, ``high``, ``best_rank``, ``worst_rank``
        (NaN without ranks) and ``selected`` (None without a test), from top to bottom.
    label : str, default="importance"
        Name of the quantity, for the axis.

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

    _constraints = CONSTRAINTS | {"alpha": Number(above=0, below=1)}

    table: pd.DataFrame
    label: str = "importance"

    @classmethod
    def from_explanation(
        cls,
        explanation,
        *,
        output=None,
        max_features=20,
        ax=None,
    ) -> Self | SmallMultiples:
        """Draw mean absolute attributions, as `Explanation.importance` with a confidence of 95 %.

        Parameters
        ----------
        explanation : Explanation
        output : label, default=None
            One of `explanation.output_names`. None: all, below each other, or the strongest
            of many.
        max_features : int or None, default=20
            Features shown, the largest first. None: all.
        ax : matplotlib Axes, or one for each output, default=None
            The axes to draw on; a new figure by default.

        Returns
        -------
        display : ImportanceDisplay, or SmallMultiples of them for several outputs

        Raises
        ------
        ValueError, TypeError
            For an invalid output, max_features or ax.
        """

        def make(shown, sizes) -> Any:
            table = shown.importance(confidence=LEVEL)
            if output is None and explanation.output_names is not None:
                table = table.loc[
                    shown.feature_names[np.argsort(-sizes, kind="stable")]
                ]
            return cls(
                _table(table, None)[:max_features],
                f"mean |attribution| ({response_name(shown)}), with 95 % interval",
            )

        return cls._of_outputs(
            explanation,
            make,
            output=output,
            ax=ax,
            max_features=max_features,
        )

    @classmethod
    def from_importance(
        cls,
        importance,
        *,
        alpha=0.05,
        max_features=20,
        ax=None,
    ) -> Self:
        """Draw SAGE values, and mark those significantly above zero.

        Parameters
        ----------
        importance : GlobalExplanation
        alpha : float, default=0.05
            Upper bound of the mean share of false features among the selected ones.
        max_features : int or None, default=20
            Features shown, the largest first. None: all.
        ax : matplotlib Axes, default=None
            The axes to draw on; a new figure by default.

        Returns
        -------
        display : ImportanceDisplay

        Raises
        ------
        ValueError, TypeError
            For an invalid alpha, max_features or ax.
        """
        check_values(
            cls.__name__,
            {"alpha": alpha, "max_features": max_features, "ax": ax},
            cls._constraints,
        )
        table = importance.importance(LEVEL)
        return cls(
            _table(table, table["p_adjusted"] <= alpha)[:max_features],
            f"mean {response_name(importance.rows)}, with 95 % interval",
        ).plot(ax)

    @classmethod
    def from_selector(cls, selector, *, max_features=20, ax=None) -> Self:
        """Draw the gains of a fitted `ShapleyImportance`, and its selection.

        Parameters
        ----------
        selector : ShapleyImportance
            A fitted selector.
        max_features : int or None, default=20
            Features shown, the largest first. None: all.
        ax : matplotlib Axes, default=None
            The axes to draw on; a new figure by default.

        Returns
        -------
        display : ImportanceDisplay
            With pointwise 95 % intervals.

        Raises
        ------
        ValueError, TypeError
            For an invalid max_features or ax.
        """
        check_values(
            cls.__name__,
            {"max_features": max_features, "ax": ax},
            cls._constraints,
        )
        table = selector.to_frame()
        half = HALF_WIDTH * table["standard_error"]
        table["low"] = table["importance"] - half
        table["high"] = table["importance"] + half
        table = _table(table, table["selected"])[:max_features]
        return cls(table, "gain out of fold, with 95 % interval").plot(ax)

    def _row_names(self, letters=MAX_NAME) -> list[str]:
        # Six letters are for the ranks, such as "  (1–3)".
        names = super()._row_names(letters - 6)
        if self.table["best_rank"].isna().any():
            return names
        ranks = zip(self.table["best_rank"], self.table["worst_rank"], strict=True)
        texts = [
            f"{best}" if best == worst else f"{best}–{worst}" for best, worst in ranks
        ]
        return [f"{name}  ({text})" for name, text in zip(names, texts, strict=True)]

    def _draw(self, ax) -> None:
        value = self.table["value"].to_numpy()
        rows = np.arange(len(self.table))
        selected = self.table["selected"].ne(False).to_numpy(dtype=bool)
        style.zero_line(ax)
        style.interval_bars(ax, value, self.table["low"], self.table["high"], rows)
        handles = [
            ax.scatter(value[which], rows[which], s=34, c=colour, zorder=5)
            for which, colour in (
                (selected, style.COLOURS[0]),
                (~selected, style.NEUTRAL),
            )
        ]
        style.label_x(ax, self.label)
        if self.table["selected"].notna().all():
            style.legend_above(ax, handles, ["selected", "not selected"])


def _table(importance, selected) -> pd.DataFrame:
    """Return the points of a table of importances, one line for each feature."""
    columns = ["importance", "low", "high", "best_rank", "worst_rank"]
    table = importance.reindex(columns=columns).rename(columns={"importance": "value"})
    return table.assign(selected=selected).rename_axis("feature").reset_index()


CLEAR = 0.05  # largest adjusted p-value of a difference that is not pale


@dataclass(eq=False, repr=False)
class DumbbellDisplay(ByRow):
    """Two explanations beside each other: a dumbbell for each feature.

    The bar leads from the first explanation to the second. The second point has the 95
    % interval of the difference, which holds for all features (and outputs) together.
    It is pale if the difference may be due to chance (adjusted p-value above .05).

    Use `from_comparison` to make one.

    Parameters
    ----------
    table : DataFrame
        Columns ``feature``, ``first``, ``second``, ``difference``, ``low``, ``high``
        (of the difference), ``p_adjusted``; the features from top to bottom.
    names : tuple of two str
        Names of the explanations.
    label : str, default="mean |attribution|"
        Name of the quantity, for the axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import ShapleyExplainer
    >>> from skshapley.comparison import compare
    >>> from skshapley.plots import DumbbellDisplay
    >>> X = np.arange(40.0).reshape(20, 2)
    >>> explanation = ShapleyExplainer(lambda X: X @ [1.0, 2.0]).fit(X[:1]).explain(X)
    >>> comparison = compare(explanation[:10], explanation[10:])
    >>> display = DumbbellDisplay.from_comparison(comparison, kind="attribution")
    >>> display.frame()[["feature", "first", "second", "difference"]]
      feature  first  second  difference
    0      x1   18.0    58.0        40.0
    1      x0    9.0    29.0        20.0
    """

    _constraints = CONSTRAINTS | KIND

    _row_height = 1.2

    table: pd.DataFrame
    names: tuple[str, str]
    label: str = "mean |attribution|"

    @classmethod
    def from_comparison(
        cls,
        comparison,
        *,
        kind="importance",
        output=None,
        max_features=10,
        ax=None,
    ) -> Self | SmallMultiples:
        """Draw a comparison.

        Parameters
        ----------
        comparison : Comparison
        kind : {"importance", "attribution"}, default="importance"
            Whether mean absolute attributions are compared, or mean attributions.
        output : label, default=None
            One of `comparison.output_names`. None: all, below each other, or the ones that
            differ most if there are many.
        max_features : int or None, default=10
            Features shown, the largest differences first. None: all.
        ax : matplotlib Axes, or one for each output, default=None
            The axes to draw on; a new figure by default.

        Returns
        -------
        display : DumbbellDisplay, or SmallMultiples of them for several outputs

        Raises
        ------
        ValueError, TypeError
            For an invalid kind, output, max_features or ax.
        """
        check_drawing(
            cls,
            comparison,
            output=output,
            kind=kind,
            max_features=max_features,
            ax=ax,
        )
        whole = comparison.to_frame(kind, confidence=LEVEL)
        label = "mean attribution" if kind == "attribution" else "mean |attribution|"
        label += ", with 95 % interval of the difference"

        def make(name) -> Any:
            table = whole if name is None else whole.loc[name]
            columns = ["difference", "low", "high", "p_adjusted"]
            table = table.loc[
                table.index.isin(comparison.feature_names),
                [*comparison.names, *columns],
            ].set_axis(["first", "second", *columns], axis=1)
            table = table.rename_axis("feature").reset_index()
            return cls(table[:max_features], comparison.names, label)

        return by_output(
            comparison,
            output,
            ax,
            make,
            lambda _: whole["difference"].abs().groupby(level=0).sum(),
        )

    def _draw(self, ax) -> None:
        first = self.table["first"]
        second = self.table["second"]
        rows = np.arange(len(first))
        handles = []
        alphas = np.where(self.table["p_adjusted"] <= CLEAR, 1.0, 0.35)
        style.zero_line(ax)
        ax.hlines(
            rows,
            first,
            second,
            color=style.NEUTRAL,
            linewidth=3.5,
            alpha=0.45,
            zorder=2,
        )
        style.interval_bars(
            ax,
            second,
            first + self.table["low"],
            first + self.table["high"],
            rows,
        )
        for values, colour in ((first, style.COLOURS[0]), (second, style.COLOURS[1])):
            ax.scatter(
                values,
                rows,
                s=46,
                color=colour,
                alpha=alphas,
                linewidth=0,
                zorder=5,
            )
            # Empty points for the legend: those in the picture may be pale.
            handles.append(ax.scatter([], [], s=46, color=colour))
        style.label_x(ax, self.label)
        style.legend_above(ax, handles, self.names)


@dataclass(eq=False, repr=False)
class RefitComparisonDisplay(ByRow):
    """Differences of two models by feature, with the limits of retraining alone.

    A bar is the root mean squared difference of the attributions of a feature. The
    vertical mark is its limit: two models of one law stay below all marks with a
    probability of 95 %. Bars beyond their mark are coloured.

    Use `from_comparison` to make one.

    Parameters
    ----------
    table : DataFrame
        Columns ``feature``, ``difference``, ``retraining``, ``limit``, ``p_value`` and
        ``p_adjusted``; from top to bottom.
    names : tuple of two str
        Names of the models.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from skshapley import RefitExplainer
    >>> from skshapley.comparison import compare_refits
    >>> from skshapley.plots import RefitComparisonDisplay
    >>> rng = np.random.default_rng(0)
    >>> X, noise = rng.normal(size=(100, 2)), rng.normal(size=100)
    >>> parts = [
    ...     RefitExplainer(LinearRegression(), X, random_state=0)
    ...     .fit(X[rows], X[rows, 0] + noise[rows])
    ...     .explain(X[:5])
    ...     for rows in (slice(0, 50), slice(50, 100))
    ... ]
    >>> comparison = compare_refits(*parts)
    >>> display = RefitComparisonDisplay.from_comparison(comparison)
    >>> display.frame()["p_adjusted"].gt(0.05).tolist()
    [True, True]
    """

    table: pd.DataFrame
    names: tuple[str, str]

    @classmethod
    def from_comparison(
        cls,
        comparison,
        *,
        output=None,
        max_features=10,
        ax=None,
    ) -> Self | SmallMultiples:
        """Draw a comparison of two models with refits.

        Parameters
        ----------
        comparison : RefitComparison
        output : label, default=None
            One of `comparison.output_names`. None: all, side by side, or the ones that
            differ most if there are many.
        max_features : int or None, default=10
            Features shown, the largest differences first. None: all.
        ax : matplotlib Axes, or one for each output, default=None
            The axes to draw on; a new figure by default.

        Returns
        -------
        display : RefitComparisonDisplay, or SmallMultiples of them

        Raises
        ------
        ValueError, TypeError
            For an invalid output, max_features or ax.
        """
        check_drawing(
            cls,
            comparison,
            output=output,
            max_features=max_features,
            ax=ax,
        )
        whole = comparison.to_frame(confidence=LEVEL)

        def make(name) -> Any:
            table = whole if name is None else whole.loc[name]
            table = table.rename_axis("feature").reset_index()
            return cls(table[:max_features], comparison.names)

        return by_output(
            comparison,
            output,
            ax,
            make,
            lambda _: whole["difference"].groupby(level=0).sum(),
        )

    def _draw(self, ax) -> None:
        rows = np.arange(len(self.table))
        difference = self.table["difference"].to_numpy()
        limit = self.table["limit"].to_numpy()
        colours = np.where(difference > limit, style.COLOURS[1], style.NEUTRAL).tolist()
        ax.barh(rows, difference, height=0.6, color=colours, zorder=2)
        marks = ax.vlines(
            limit,
            rows - 0.42,
            rows + 0.42,
            color=style.ink(ax),
            linewidth=2,
            zorder=3,
        )
        style.zero_line(ax)
        first, second = self.names
        style.label_x(ax, f"difference of {second!r} from {first!r}, root mean square")
        style.legend_above(ax, [marks], ["limit of retraining alone, 95 %"])
