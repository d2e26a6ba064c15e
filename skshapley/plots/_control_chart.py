"""Control charts: attributions of one period after another, between their limits."""

from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skshapley._tools._constraints import check_values
from skshapley.plots._checks import AXES, COUNT, check_names
from skshapley.plots._display import ByFeature, SmallMultiples, by_output
from skshapley.plots._style import COLOURS, NEUTRAL, ink, letters_across, side_label
from skshapley.plots._text import shorten, wrapped

MOST_TICKS = 8


class ControlChartDisplay(ByFeature):
    """Means of attributions over time, a panel for each feature.

    The line in the middle is the mean of the baseline, the band the limits that nothing but chance
    should leave, in all panels together. Points beyond it are marked.

    Use `from_drift` to make one.

    Parameters
    ----------
    table : DataFrame
        Columns ``period``, ``feature``, ``mean``, ``centre``, ``low``, ``high``, ``alarm``.
    label : str, default="mean attribution"
        What is drawn, for the axis.

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
    >>> display = ControlChartDisplay.from_drift(drift(explanation, np.arange(400) // 100))
    >>> display.frame().loc[lambda frame: frame["alarm"], ["period", "feature"]]
       period feature
    7       3      x1
    """

    _constraints = {"max_features": COUNT, "ax": AXES}

    _scale = None

    def __init__(self, table, label="mean attribution") -> None:
        self.table = table
        self.label = label

    @classmethod
    def from_drift(
        cls, drift, *, features=None, output=None, max_features=6, ax=None
    ) -> Self | SmallMultiples:
        """Draw a drift.

        Parameters
        ----------
        drift : Drift
        features : str or list of str, default=None
            Names of the features to show. None: the `max_features` that are farthest beyond their
            limits, or nearest to them.
        output : label, default=None
            Of several outputs. None: all, below each other, or those of many that are farthest
            beyond their limits.
        max_features : int or None, default=6
            Number of features to show if `features` is None. None: all.
        ax : matplotlib Axes, or one for each feature (and output), default=None
            Where to draw; a new figure by default.

        Returns
        -------
        display : ControlChartDisplay, or SmallMultiples of them for several outputs

        Raises
        ------
        ValueError, TypeError
            For an invalid feature, output, max_features or ax.
        """
        check_values(cls.__name__, {"max_features": max_features, "ax": ax}, cls._constraints)
        table = drift.to_frame()
        known = pd.unique(table["feature"]).tolist()
        if features is not None:
            features = [features] if isinstance(features, str) else list(features)
            check_names(cls.__name__, "features", features, known)
        outputs = drift.output_names
        if output is not None and (outputs is None or output not in outputs):
            names = [] if outputs is None else outputs.tolist()
            raise ValueError(
                f"{cls.__name__} got output={output!r}: choose None or one of {names}."
            )
        label = "mean attribution" if drift.kind == "attribution" else "mean |attribution|"

        def read(name) -> tuple[pd.DataFrame, str]:
            part = table if name is None else table[table["output"] == name]
            shown = features or _farthest(part)[:max_features]
            return part[part["feature"].isin(shown)].reset_index(drop=True), label

        def strength(drift) -> NDArray[np.float64]:
            """Return how far the outputs are beyond their limits."""
            far = _beyond(table).groupby(table["output"], sort=False).max()
            return far.loc[drift.output_names].fillna(0.0).to_numpy()

        return by_output(cls, drift, output, ax, read, strength)

    def frame(self) -> pd.DataFrame:
        """Return the points.

        Returns
        -------
        frame : DataFrame
            With the columns of the parameter `table`, and ``n_rows``.
        """
        return self.table.copy()

    def plot(self, ax=None) -> Self:
        """Draw the charts.

        Parameters
        ----------
        ax : matplotlib Axes, or a sequence of them for several features, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        self : ControlChartDisplay
        """
        shown = _farthest(self.table)
        axes = self._panels(ax)
        for panel, feature in zip(axes, shown, strict=True):
            self._panel(panel, feature, self.table[self.table["feature"] == feature])
        axes[0].set_ylabel(side_label(axes[0], self.label), parse_math=False)
        return self._drawn_on(axes)

    def _panel(self, ax, feature, part) -> None:
        """Draw the chart of one feature."""
        x, mean = np.arange(len(part)), part["mean"].to_numpy()
        edges = np.repeat(np.arange(len(part) + 1) - 0.5, 2)[1:-1]
        low, high = (np.repeat(part[name].to_numpy(), 2) for name in ("low", "high"))
        ax.fill_between(edges, low, high, color=NEUTRAL, alpha=0.25, linewidth=0, zorder=1)
        ax.axhline(part["centre"].iloc[0], color=ink(ax), linewidth=0.8, alpha=0.6, zorder=2)
        ax.plot(x, mean, color=COLOURS[0], linewidth=1.2, marker="o", markersize=3.5, zorder=3)
        alarm = part["alarm"].to_numpy()
        ax.scatter(x[alarm], mean[alarm], s=70, facecolor="none", edgecolor=COLOURS[1],
                   linewidth=1.8, zorder=4)  # fmt: skip
        ax.set_xlabel(wrapped(feature, letters_across(ax)), parse_math=False)
        ax.spines[["top", "right"]].set_visible(False)
        step = -(-len(part) // MOST_TICKS)
        names = [shorten(period, 12) for period in part["period"].iloc[::step]]
        turned = sum(map(len, names)) > 24
        ax.set_xticks(x[::step], names, parse_math=False, fontsize="small")
        if turned:
            ax.tick_params(axis="x", labelrotation=30)


def _farthest(table) -> list:
    """Return the features, those farthest beyond their limits first."""
    far = _beyond(table).groupby(table["feature"], sort=False).max()
    return far.sort_values(ascending=False, kind="stable").index.tolist()


def _beyond(table) -> pd.Series:
    """Return how far each mean is from the centre, in half the distance between the limits."""
    half = (table["high"] - table["low"]) / 2
    return (table["mean"] - table["centre"]).abs() / half.where(half > 0)
