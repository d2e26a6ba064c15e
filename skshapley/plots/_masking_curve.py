"""Masking curves of one or several methods, on the same axes."""

from collections.abc import Mapping
from typing import Self

import pandas as pd

from skshapley._tools._constraints import OneOf, check_values
from skshapley.diagnostics import masking_curve
from skshapley.plots._checks import AXES
from skshapley.plots._display import Drawn
from skshapley.plots._explain import explainer_of
from skshapley.plots._style import (
    COLOURS,
    ink,
    label_x,
    legend,
    letters_across,
    settle,
    side_label,
)

XLABELS = {
    "deletion": "masked, of the features that rank first (%)",
    "insertion": "kept alone, of the features that rank first (%)",
}
STYLES = ("-", "--", ":", "-.")


class MaskingCurveDisplay(Drawn):
    """Masking curves: how the response changes as more and more features are masked, or kept.

    Each line is the mean over instances for one method, with its 95 % band.

    Use `from_curves` or `from_estimator` to make one.

    Parameters
    ----------
    table : DataFrame
        Columns ``method``, ``kind``, ``fraction``, ``mean``, ``low``, ``high``.
    kind : {"deletion", "insertion"}, default="deletion"
        Whether the features that rank first are masked, or they alone are kept.
    response : str, default="log-odds"
        Name of the response that the curves follow, for the axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from skshapley.diagnostics import masking_curve
    >>> from skshapley.plots import MaskingCurveDisplay
    >>> curve = masking_curve(lambda S: S @ [3.0, 1.0], [3.0, 1.0], fractions=(0, 0.5, 1))
    >>> MaskingCurveDisplay.from_curves({"exact": curve}).frame()[["fraction", "mean"]]
       fraction  mean
    0       0.0   0.0
    1       0.5  -3.0
    2       1.0  -4.0
    """

    _constraints = {"kind": OneOf(tuple(XLABELS)), "ax": AXES}

    def __init__(self, table, kind="deletion", response="log-odds") -> None:
        self.table = table
        self.kind = kind
        self.response = response

    @classmethod
    def from_curves(cls, curves, *, kind="deletion", response="log-odds", ax=None) -> Self:
        """Draw the curves of some methods.

        Parameters
        ----------
        curves : MaskingCurve, or mapping of name to MaskingCurve
        kind : {"deletion", "insertion"}, default="deletion"
            Whether the features that rank first are masked, or they alone are kept.
        response : str, default="log-odds"
            Name of the response that the curves follow, for the axis.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

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
        frames = [curve.frame().assign(method=name) for name, curve in curves.items()]
        table = pd.concat(frames, ignore_index=True)
        table = table[table["kind"] == kind].reset_index(drop=True)
        return cls(table, kind, response).plot(ax)

    @classmethod
    def from_estimator(cls, estimator, X, *, background=None, **kwargs) -> Self:
        """Explain rows, and draw how well the explanations rank their features.

        Parameters
        ----------
        estimator : fitted estimator, function, or fitted ShapleyExplainer
        X : array or frame of shape (r, d)
            The rows to explain.
        background : array or frame of shape (b, d), default=None
            The rows that stand in for absent features. Needed for all but an explainer.
        **kwargs
            As in `from_curves`.

        Returns
        -------
        display : MaskingCurveDisplay
        """
        check_values(cls.__name__, kwargs, cls._constraints)  # before the model is called
        several = len(getattr(estimator, "classes_", ())) > 2
        asked = {"output": "predicted"} if several else {}
        explainer = explainer_of(cls.__name__, estimator, background, **asked)
        return cls.from_curves(masking_curve(explainer, explainer.explain(X), X), **kwargs)

    def frame(self) -> pd.DataFrame:
        """Return the points of the lines and bands.

        Returns
        -------
        frame : DataFrame
            Columns ``method``, ``kind``, ``fraction``, ``mean``, ``low``, ``high``.
        """
        return self.table.copy()

    @property
    def _width(self) -> float:
        return 5.6

    def _height(self, width) -> float:
        return 4.2

    def plot(self, ax=None) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        self : MaskingCurveDisplay
        """
        (ax,) = self._panels(ax)
        methods = self.table["method"].unique()
        settle(ax)
        handles = []
        for number, method in enumerate(methods):
            part = self.table[self.table["method"] == method]
            colour = COLOURS[number % len(COLOURS)]
            style = STYLES[number // len(COLOURS) % len(STYLES)]
            percent = 100 * part["fraction"]
            handles += ax.plot(
                percent, part["mean"], color=colour, linestyle=style, label=method or None
            )
            ax.fill_between(percent, part["low"], part["high"], color=colour, alpha=0.15, lw=0)
        ax.axhline(0, color=ink(ax), linewidth=0.8, alpha=0.6, zorder=1)
        label_x(ax, XLABELS[self.kind])
        ax.set_ylabel(side_label(ax, f"change in {self.response}"), parse_math=False)
        if any(methods):
            legend(ax, handles, methods, letters_across(ax) - 6)
        return self._drawn_on([ax])
