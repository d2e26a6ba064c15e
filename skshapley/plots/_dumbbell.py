"""Differences of two explanations, as a dumbbell for each feature."""

from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skshapley._records._inferred import CONFIDENCE
from skshapley._tools._constraints import check_values
from skshapley.comparison._compare import KIND
from skshapley.plots._checks import AXES, COUNT
from skshapley.plots._display import Drawn, SmallMultiples, by_output
from skshapley.plots._style import (
    COLOURS,
    NEUTRAL,
    height_of_legend,
    height_of_rows,
    interval_bars,
    label_x,
    legend_above,
    letters_beside,
    name_rows,
    zero_line,
)
from skshapley.plots._text import MAX_NAME, short_names

CLEAR = 0.05  # adjusted p-values up to which a difference is drawn as one


class DumbbellDisplay(Drawn):
    """Two explanations beside each other: a dumbbell for each feature.

    The bar leads from the first explanation to the second, whose point has the interval of the
    difference. It is pale where the difference may be chance (adjusted p-value above .05).

    Use `from_comparison` to make one.

    Parameters
    ----------
    table : DataFrame
        Columns ``feature``, ``first``, ``second``, ``difference``, ``low``, ``high`` (of the
        difference), ``p_adjusted``; the features from top to bottom.
    names : tuple of two str
        What the explanations are called.
    label : str, default="mean |attribution|"
        What is drawn, for the axis.

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

    _constraints = {"max_features": COUNT, "ax": AXES, **CONFIDENCE, **KIND}

    _scale = "x"

    def __init__(self, table, names, label="mean |attribution|") -> None:
        self.table = table
        self.names = names
        self.label = label

    @classmethod
    def from_comparison(
        cls,
        comparison,
        *,
        kind="importance",
        output=None,
        confidence=0.95,
        simultaneous=True,
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
            One of `comparison.output_names`. None: all, side by side, or those of many that differ
            most.
        confidence : float, default=0.95
            Of the intervals.
        simultaneous : bool, default=True
            Whether they hold for all features (and outputs) at once, or each by itself.
        max_features : int or None, default=10
            Features shown, the largest differences first. None: all.
        ax : matplotlib Axes, or one for each output, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        display : DumbbellDisplay, or SmallMultiples of them for several outputs

        Raises
        ------
        ValueError, TypeError
            For an invalid kind, output, confidence, max_features or ax.
        """
        given = {"kind": kind, "confidence": confidence, "simultaneous": simultaneous}
        given |= {"max_features": max_features, "ax": ax}
        check_values(cls.__name__, given, cls._constraints)
        names = [] if comparison.output_names is None else comparison.output_names.tolist()
        if output is not None and output not in names:
            raise ValueError(
                f"{cls.__name__} got output={output!r}: choose None or one of {names}."
            )
        whole = comparison.to_frame(kind, confidence=confidence, simultaneous=simultaneous)
        label = "mean attribution" if kind == "attribution" else "mean |attribution|"
        label += f", with {100 * confidence:g} % interval of the difference"

        def read(name) -> tuple[pd.DataFrame, tuple[str, str], str]:
            table = _table(whole if name is None else whole.loc[name], comparison)
            return table[:max_features], comparison.names, label

        def strength(comparison) -> NDArray[np.float64]:
            """Return the sum of the sizes of each output's differences."""
            sizes = whole["difference"].abs().groupby(level=0).sum()
            return sizes.loc[comparison.output_names].to_numpy()

        return by_output(cls, comparison, output, ax, read, strength)

    def frame(self) -> pd.DataFrame:
        """Return the dumbbells.

        Returns
        -------
        frame : DataFrame
            With the columns of the parameter `table`.
        """
        return self.table.copy()

    def _row_names(self, letters=MAX_NAME) -> list[str]:
        return short_names(self.table["feature"], width=letters)

    def _height(self, width) -> float:
        return height_of_rows(1.2 * len(self.table)) + height_of_legend(self.names)

    def plot(self, ax=None) -> Self:
        """Draw the dumbbells.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        self : DumbbellDisplay
        """
        (ax,) = self._panels(ax)
        first, second = self.table["first"].to_numpy(), self.table["second"].to_numpy()
        rows = np.arange(len(first))
        clear = self.table["p_adjusted"].to_numpy() <= CLEAR
        zero_line(ax)
        name_rows(ax, self._row_names(letters_beside(ax)))
        ax.hlines(rows, first, second, color=NEUTRAL, linewidth=3.5, alpha=0.45, zorder=2)
        interval_bars(ax, first + self.table["low"], first + self.table["high"], rows)
        handles, alphas = [], np.where(clear, 1.0, 0.35)
        for values, colour in zip((first, second), COLOURS, strict=False):
            ax.scatter(values, rows, s=46, color=colour, alpha=alphas, linewidth=0, zorder=5)
            handles.append(ax.scatter([], [], s=46, color=colour))
        label_x(ax, self.label)
        legend_above(ax, handles, self.names)
        return self._drawn_on([ax])


def _table(differences, comparison) -> pd.DataFrame:
    """Return the dumbbells of one output."""
    known = differences[differences.index.isin(comparison.feature_names)]
    first, second = comparison.names
    columns = ["difference", "low", "high", "p_adjusted"]
    table = known[[first, second, *columns]].set_axis(["first", "second", *columns], axis=1)
    return table.rename_axis("feature").reset_index()
