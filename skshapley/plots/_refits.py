"""The differences of two models, and the part that retraining alone explains."""

from typing import Any, Self

import numpy as np
import pandas as pd

from skshapley._tools._constraints import check_values
from skshapley.plots import _style as style
from skshapley.plots._checks import AXES, COUNT, check_output
from skshapley.plots._display import ByRow, SmallMultiples, by_output
from skshapley.plots._intervals import LEVEL


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

    _constraints = {"max_features": COUNT, "ax": AXES}

    def __init__(self, table, names) -> None:
        self.table = table
        self.names = names

    @classmethod
    def from_comparison(
        cls, comparison, *, output=None, max_features=10, ax=None
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
        options = {"max_features": max_features, "ax": ax}
        check_values(cls.__name__, options, cls._constraints)
        check_output(cls.__name__, comparison, output)
        whole = comparison.to_frame(confidence=LEVEL)

        def make(name) -> Any:
            table = whole if name is None else whole.loc[name]
            table = table.rename_axis("feature").reset_index()
            return cls(table[:max_features], comparison.names)

        def strength(_) -> pd.Series:
            return whole["difference"].groupby(level=0).sum()

        return by_output(comparison, output, ax, make, strength)

    def _draw(self, ax) -> None:
        """Draw the bars and the limits."""
        rows = np.arange(len(self.table))
        difference = self.table["difference"].to_numpy()
        limit = self.table["limit"].to_numpy()
        beyond = difference > limit
        colours = np.where(beyond, style.COLOURS[1], style.NEUTRAL).tolist()
        ax.barh(rows, difference, height=0.6, color=colours, zorder=2)
        ends = rows[:, None] + [-0.42, 0.42]
        marks = ax.vlines(limit, *ends.T, color=style.ink(ax), linewidth=2, zorder=3)
        style.zero_line(ax)
        first, second = self.names
        style.label_x(ax, f"difference of {second!r} from {first!r}, root mean square")
        style.legend_above(ax, [marks], ["limit of retraining alone, 95 %"])
