"""Curves: over budgets, over time, over masked features, and over outputs."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Self

import numpy as np
import pandas as pd

from skshapley._tables import shorten
from skshapley._tools import OneOf, check_values
from skshapley.diagnostics import masking_curve
from skshapley.plots import _style as style
from skshapley.plots._common import (
    CONSTRAINTS,
    check_drawing,
    check_features,
    explainer_of,
    fold,
    numbers_of_outputs,
    one_output,
    one_row,
    response_name,
    row_table,
)
from skshapley.plots._display import (
    ByFeature,
    Display,
    Drawn,
    SmallMultiples,
    by_output,
)


class ConvergenceDisplay(ByFeature):
    """Convergence of the attributions of one row with the number of model rows.

    Each feature has a panel and each method a line, with its 95 % band.

    Use `from_explanations` or `from_estimator` to make one.

    Parameters
    ----------
    table : DataFrame
        Columns ``method``, ``feature``, ``n_model_rows``, ``value``,
        ``standard_error``.
    response : str, default="response"
        Name of the explained response, for the axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The first of `axes_`.
    axes_ : list of matplotlib Axes
        One for each feature.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import ShapleyExplainer
    >>> from skshapley.plots import ConvergenceDisplay
    >>> X = np.random.default_rng(0).normal(size=(20, 8))
    >>> explainer = ShapleyExplainer(lambda X: X.prod(axis=1), sampler="antithetic")
    >>> display = ConvergenceDisplay.from_estimator(
    ...     explainer.fit(X), X[:1], budgets=[2000, 4000]
    ... )
    >>> display.frame()["feature"].nunique()
    4
    """

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X,
        *,
        budgets,
        background=None,
        **kwargs,
    ) -> Self | SmallMultiples:
        """Explain rows with growing budgets, and draw the attributions of one of them.

        Parameters
        ----------
        estimator : fitted estimator, function or fitted ShapleyExplainer, or dict of them by name
            Explainers are not changed: copies with each budget as their `max_rows`
            explain the rows.
        X : array or frame of shape (r, d)
            The rows to explain.
        budgets : sequence of int
            Numbers of model rows for each row.
        background : array or frame of shape (b, d), default=None
            The background rows. Required except for explainers.
        **kwargs
            As in `from_explanations`.

        Returns
        -------
        display : ConvergenceDisplay
        """
        # before the model is called
        check_values(cls.__name__, kwargs, cls._constraints)
        estimators = estimator if isinstance(estimator, Mapping) else {"": estimator}
        explainers = {
            name: explainer_of(cls.__name__, model, background)
            for name, model in estimators.items()
        }
        explanations = {
            name: [model._with(max_rows=n).explain(X) for n in sorted(budgets)]
            for name, model in explainers.items()
        }
        return cls.from_explanations(explanations, **kwargs)

    @classmethod
    def from_explanations(
        cls,
        explanations,
        *,
        row=None,
        output=None,
        max_features=4,
        axes=None,
    ) -> Self | SmallMultiples:
        """Draw explanations of growing budgets.

        Parameters
        ----------
        explanations : sequence of Explanation, or dict of such sequences by method
            Explanations of the same model and rows, by at most six methods.
        row : int, default=None
            Position of the row. May be left out if there is only one.
        output : label, default=None
            One of `output_names`. None: all, below each other, or the strongest of many.
        max_features : int or None, default=4
            Number of features to show, the largest first. None: all.
        axes : sequence of matplotlib Axes, default=None
            One for each feature (and output); a new figure by default.

        Returns
        -------
        display : ConvergenceDisplay, or SmallMultiples of them for several outputs

        Raises
        ------
        ValueError, TypeError, IndexError
            For no explanations, or an invalid row, output, max_features or axes.
        """
        methods = (
            explanations
            if isinstance(explanations, Mapping)
            else {"": list(explanations)}
        )
        if not 1 <= len(methods) <= len(style.COLOURS) or not all(
            map(len, methods.values())
        ):
            raise ValueError(
                f"{cls.__name__} got { {name: len(e) for name, e in methods.items()} } "
                f"explanations by method: choose 1 to {len(style.COLOURS)} methods "
                "with 1 explanation or more each."
            )
        for explanation in chain.from_iterable(methods.values()):
            check_drawing(
                cls,
                explanation,
                output=output,
                one_row=True,
                axes=axes,
                row=row,
                max_features=max_features,
            )

        def make(output) -> Any:
            single_rows = {
                name: [one_row(one_output(e, output), row) for e in series]
                for name, series in methods.items()
            }
            end = next(iter(single_rows.values()))[-1]
            names = fold(end, max_features).feature_names[:max_features].tolist()
            points = [
                row_table(e[:, names]).assign(
                    method=name,
                    n_model_rows=e.n_model_rows[0],
                )
                for name, series in single_rows.items()
                for e in series
            ]
            columns = ["method", "feature", "n_model_rows", "value", "standard_error"]
            return cls(
                pd.concat(points, ignore_index=True)[columns],
                response_name(end),
            )

        return by_output(next(iter(methods.values()))[-1], output, axes, make)

    def _draw(self, *axes) -> None:
        for ax, feature in zip(axes, pd.unique(self.table["feature"]), strict=True):
            lines = style.curves(
                ax,
                self.table[self.table["feature"] == feature],
                "n_model_rows",
                "method",
            )
            style.name_panel(ax, "model rows")
            # Numbers of five digits overlap if a narrow panel has more of them.
            ax.locator_params(axis="x", nbins=4)
            ax.set_title(
                shorten(feature, style.letters_within(ax)),
                fontsize=style.tick_size(),
                parse_math=False,
            )
        banded = self.table["standard_error"].notna().any()
        what = f"attribution ({self.response})" + (" and 95 % band" if banded else "")
        style.label_y(axes[0], what)
        if len(lines) > 1:
            style.legend(
                axes[0],
                axes[0].get_lines(),
                lines,
                style.letters_within(axes[-1]) - 4,
            )


MOST_TICKS = 8


@dataclass(eq=False, repr=False)
class ControlChartDisplay(ByFeature):
    """Means of attributions over time, with a panel for each feature.

    The central line is the mean of the baseline. The band has the limits of chance,
    valid for all panels together. Points outside the band are marked.

    Use `from_drift` to make one.

    Parameters
    ----------
    table : DataFrame
        Columns ``period``, ``feature``, ``mean``, ``centre``, ``low``, ``high``,
        ``alarm``.
    label : str, default="mean attribution"
        Label of the axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The first of `axes_`.
    axes_ : list of matplotlib Axes
        One for each feature.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import ShapleyExplainer
    >>> from skshapley.comparison import drift
    >>> from skshapley.plots import ControlChartDisplay
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> X[300:, 1] += 1
    >>> explanation = ShapleyExplainer(lambda X: X @ [1.0, 2.0]).fit(X).explain(X)
    >>> display = ControlChartDisplay.from_drift(
    ...     drift(explanation, np.arange(400) // 100)
    ... )
    >>> display.frame().loc[lambda frame: frame["alarm"], ["period", "feature"]]
       period feature
    7       3      x1
    """

    table: pd.DataFrame
    label: str = "mean attribution"

    @classmethod
    def from_drift(
        cls,
        drift,
        *,
        features=None,
        output=None,
        max_features=6,
        ax=None,
    ) -> Self | SmallMultiples:
        """Draw a drift.

        Parameters
        ----------
        drift : Drift
        features : str or list of str, default=None
            Names of the features to show. None: the `max_features` farthest beyond
            their limits, or closest to them.
        output : label, default=None
            The output to draw. None: all, below each other, or the outputs farthest
            beyond their limits if there are many.
        max_features : int or None, default=6
            Number of features to show if `features` is None. None: all.
        ax : matplotlib Axes, or one for each feature (and output), default=None
            The axes to draw on; a new figure by default.

        Returns
        -------
        display : ControlChartDisplay, or SmallMultiples of them for several outputs

        Raises
        ------
        ValueError, TypeError
            For an invalid feature, output, max_features or ax.
        """
        check_drawing(cls, drift, output=output, max_features=max_features, ax=ax)
        table = drift.to_frame()
        if features is not None:
            features = [features] if isinstance(features, str) else list(features)
            check_features(
                cls.__name__,
                "features",
                features,
                pd.unique(table["feature"]).tolist(),
            )
        label = (
            "mean attribution" if drift.kind == "attribution" else "mean |attribution|"
        )

        def make(name) -> Any:
            part = table if name is None else table[table["output"] == name]
            return cls(
                part[
                    part["feature"].isin(features or _farthest(part)[:max_features])
                ].reset_index(drop=True),
                label,
            )

        return by_output(
            drift,
            output,
            ax,
            make,
            lambda _: _beyond(table).groupby(table["output"]).max(),
        )

    def _draw(self, *axes) -> None:
        for ax, feature in zip(axes, _farthest(self.table), strict=True):
            part = self.table[self.table["feature"] == feature]
            x = np.arange(len(part))
            mean = part["mean"].to_numpy()
            # Each limit spans its period, from half a step before to half a step after.
            ax.stairs(
                part["high"],
                np.arange(len(part) + 1) - 0.5,
                lw=0,
                zorder=1,
                baseline=part["low"],
                fill=True,
                color=style.NEUTRAL,
                alpha=0.25,
            )
            ax.use_sticky_edges = False  # the band does not touch the frame
            ax.axhline(
                part["centre"].iloc[0],
                color=style.ink(ax),
                linewidth=0.8,
                alpha=0.6,
                zorder=2,
            )
            ax.plot(
                x,
                mean,
                color=style.COLOURS[0],
                lw=1.2,
                marker="o",
                ms=3.5,
                zorder=3,
            )
            alarm = part["alarm"].to_numpy()
            ax.scatter(
                x[alarm],
                mean[alarm],
                s=70,
                facecolor="none",
                edgecolor=style.COLOURS[1],
                linewidth=1.8,
                zorder=4,
            )
            style.name_panel(ax, feature)
            # Rounded up, so that there are never more names than fit.
            step = -(-len(part) // MOST_TICKS)
            # as text by pandas: days have no time of day
            periods = part["period"].astype(str).iloc[::step]
            names = [shorten(period, 12) for period in periods]
            style.write_ticks(ax, dict(zip(x[::step].tolist(), names, strict=True)))
        style.label_y(axes[0], self.label)


def _farthest(table) -> list:
    """Return the features, sorted by distance beyond their limits."""
    far = _beyond(table).groupby(table["feature"], sort=False).max()
    return far.sort_values(ascending=False, kind="stable").index.tolist()


def _beyond(table) -> pd.Series:
    """Return the distance of each mean from the centre, in units of half the band."""
    half = (table["high"] - table["low"]) / 2
    # Half bands make features of different scales comparable. A band of width 0 has no
    # distance.
    return (table["mean"] - table["centre"]).abs() / half.where(half > 0)


XLABELS = {
    "deletion": "masked, of the features that rank first (%)",
    "insertion": "kept alone, of the features that rank first (%)",
}


class MaskingCurveDisplay(Drawn):
    """Masking curves: the response as more and more features are masked, or kept.

    Each line is the mean over rows for one method, with its 95 % band.

    Use `from_curves` or `from_estimator` to make one.

    Parameters
    ----------
    table : DataFrame
        Columns ``method``, ``kind``, ``fraction``, ``mean``, ``low``, ``high``.
    kind : {"deletion", "insertion"}, default="deletion"
        Whether the features with the highest ranks are masked, or only they are kept.
    response : str, default="log-odds"
        Name of the response, for the axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from skshapley.diagnostics import masking_curve
    >>> from skshapley.plots import MaskingCurveDisplay
    >>> curve = masking_curve(
    ...     lambda S: S @ [3.0, 1.0], [3.0, 1.0], fractions=(0, 0.5, 1)
    ... )
    >>> MaskingCurveDisplay.from_curves({"exact": curve}).frame()[["fraction", "mean"]]
       fraction  mean
    0       0.0   0.0
    1       0.5  -3.0
    2       1.0  -4.0
    """

    _constraints = CONSTRAINTS | {"kind": OneOf(tuple(XLABELS))}

    def __init__(self, table, kind="deletion", response="log-odds") -> None:
        super().__init__(table, response)
        self.kind = kind

    @classmethod
    def from_curves(
        cls,
        curves,
        *,
        kind="deletion",
        response="log-odds",
        ax=None,
    ) -> Self:
        """Draw the curves of some methods.

        Parameters
        ----------
        curves : MaskingCurve, or mapping of name to MaskingCurve
        kind : {"deletion", "insertion"}, default="deletion"
            Whether the features with the highest ranks are masked, or only they are
            kept.
        response : str, default="log-odds"
            Name of the response, for the axis.
        ax : matplotlib Axes, default=None
            The axes to draw on; a new figure by default.

        Returns
        -------
        display : MaskingCurveDisplay

        Raises
        ------
        ValueError, TypeError
            For an invalid kind or ax.
        """
        check_values(cls.__name__, {"kind": kind, "ax": ax}, cls._constraints)
        curves = curves if isinstance(curves, Mapping) else {"": curves}
        table = pd.concat(
            [curve.frame().assign(method=name) for name, curve in curves.items()],
            ignore_index=True,
        )
        table = table[table["kind"] == kind].reset_index(drop=True)
        return cls(table, kind, response).plot(ax)

    @classmethod
    def from_estimator(cls, estimator, X, *, background=None, **kwargs) -> Self:
        """Explain rows, and draw the masking curves of the explanations.

        Parameters
        ----------
        estimator : fitted estimator, function, or fitted ShapleyExplainer
        X : array or frame of shape (r, d)
            The rows to explain.
        background : array or frame of shape (b, d), default=None
            The background rows. Required except for an explainer.
        **kwargs
            As in `from_curves`.

        Returns
        -------
        display : MaskingCurveDisplay
        """
        # before the model is called
        check_values(cls.__name__, kwargs, cls._constraints)
        classes = getattr(estimator, "classes_", ())
        options = {"output": "predicted"} if len(classes) > 2 else {}
        explainer = explainer_of(cls.__name__, estimator, background, **options)
        return cls.from_curves(
            masking_curve(explainer, explainer.explain(X), X),
            **kwargs,
        )

    def _size(self, alone) -> tuple[float, float]:
        return 5.6, 4.2

    def _draw(self, ax) -> None:
        style.settle(ax)
        table = self.table.assign(
            percent=100 * self.table["fraction"],
            value=self.table["mean"],
        )
        lines = style.curves(ax, table, "percent", "method")
        ax.axhline(0, color=style.ink(ax), linewidth=0.8, alpha=0.6, zorder=1)
        style.label_x(ax, XLABELS[self.kind])
        style.label_y(ax, f"change in {self.response}")
        if any(lines):
            style.legend(ax, lines.values(), lines, style.letters_within(ax, 50))


class OverOutputsDisplay(Display):
    """Attributions as curves over outputs that are numbers, such as the times of `SurvivalAt`.

    Each feature has a line: its attributions for one row, or their mean size over all
    rows. The bands are 95 % intervals.

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

    @classmethod
    def from_explanation(
        cls,
        explanation,
        row=None,
        *,
        max_features=6,
        ax=None,
    ) -> Self:
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
        check_drawing(
            cls,
            explanation,
            output=None,
            row=row,
            max_features=max_features,
            ax=ax,
        )
        if numbers_of_outputs(explanation) is None:
            raise ValueError(
                f"{cls.__name__} got outputs that are not ascending numbers: explain "
                "several times, such as response_method=SurvivalAt([1.0, 2.0])."
            )
        rows = one_row(explanation, row)
        what = response_name(explanation)
        table = rows.to_frame("long")
        if len(rows) > 1:
            table = (
                rows.importance().rename(columns={"importance": "value"}).reset_index()
            )
            what = f"{what}, mean size"
        sizes = table["value"].abs().groupby(table["feature"], sort=False).max()
        largest = sizes.sort_values(ascending=False, kind="stable").index[:max_features]
        table = table.astype({"output": float}).sort_values("output", kind="stable")
        table = table.set_index("feature").loc[
            largest,
            ["output", "value", "standard_error"],
        ]
        return cls(table.reset_index(), what).plot(ax)

    def _size(self, alone) -> tuple[float, float]:
        return style.LARGE_PANEL

    def _draw(self, ax) -> None:
        lines = style.curves(ax, self.table, "output", "feature")
        ax.axhline(0.0, color=style.ink(ax), linewidth=0.8, alpha=0.6, zorder=1)
        style.label_x(ax, "output")
        style.label_y(ax, f"attribution ({self.response})")
        style.legend(ax, lines.values(), lines)
