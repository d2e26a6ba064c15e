"""Comparison of several explanations: two models, two methods, two backgrounds."""

from collections.abc import Mapping
from typing import Self

import numpy as np
import pandas as pd

from skshapley._tools._constraints import check_values
from skshapley.plots._checks import AXES, COUNT, ROW, check_drawing
from skshapley.plots._common import HALF_WIDTH, errors_of, one_output, one_row, response_name
from skshapley.plots._display import Drawn, SmallMultiples, by_output
from skshapley.plots._explain import explanation_of
from skshapley.plots._style import (
    COLOURS,
    height_of_legend,
    height_of_rows,
    interval_note,
    label_x,
    legend_above,
    letters_beside,
    name_rows,
    zero_line,
)
from skshapley.plots._text import MAX_NAME, short_names

MARKERS = "oDs^vP"


class ComparisonDisplay(Drawn):
    """The same features in several explanations, for example of two models.

    Each feature is a row with a point for every explanation and its 95 % interval. A point is an
    attribution of one instance, or the mean absolute attribution over all.

    Use `from_explanations` or `from_estimator` to make one.

    Parameters
    ----------
    table : DataFrame
        Columns ``explanation``, ``feature``, ``value``, ``standard_error``; the features from top
        to bottom.
    local : bool, default=False
        Whether the points are of one instance.
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
    >>> from skshapley.plots import ComparisonDisplay
    >>> X = np.array([[1.0, 1.0], [3.0, 0.0]])
    >>> one = ShapleyExplainer(lambda X: X @ [1.0, 3.0]).fit(X[:1]).explain(X)
    >>> two = ShapleyExplainer(lambda X: X @ [1.0, 3.0]).fit(X[1:]).explain(X)
    >>> display = ComparisonDisplay.from_explanations({"first": one, "second": two}, row=0)
    >>> display.frame()[["explanation", "feature", "value"]]
      explanation feature  value
    0       first      x1    0.0
    1       first      x0    0.0
    2      second      x1    3.0
    3      second      x0   -2.0
    """

    _constraints = {"row": ROW, "max_features": COUNT, "ax": AXES}

    _scale = "x"

    def __init__(self, table, local=False, response="response") -> None:
        self.table = table
        self.local = local
        self.response = response

    @classmethod
    def from_explanations(
        cls, explanations, *, row=None, output=None, max_features=10, ax=None
    ) -> Self | SmallMultiples:
        """Draw several explanations.

        Parameters
        ----------
        explanations : dict of str to Explanation
            Two to six explanations by name, of the same players. With a `row`, of the same
            instances, too.
        row : int, default=None
            Position of the one instance to compare. None: mean absolute attributions.
        output : label, default=None
            One of `output_names`. None: all, side by side, or the strongest of many.
        max_features : int or None, default=10
            Features shown, the most important on average first. None: all.
        ax : matplotlib Axes, or one for each output, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        display : ComparisonDisplay, or SmallMultiples of them for several outputs

        Raises
        ------
        ValueError, TypeError, IndexError
            For explanations of different players, or an invalid row, output, max_features or ax.
        """
        _check_explanations(cls.__name__, explanations)
        for one in explanations.values():
            check_drawing(cls, one, ax=ax, output=output, row=row, max_features=max_features)

        def read(output) -> tuple[pd.DataFrame, bool, str]:
            chosen = {name: one_row(one_output(e, output), row) for name, e in explanations.items()}
            names = _order(list(chosen.values()), max_features)
            points = [_points(name, e, names, row is not None) for name, e in chosen.items()]
            response = response_name(next(iter(chosen.values())))
            return pd.concat(points, ignore_index=True), row is not None, response

        return by_output(cls, next(iter(explanations.values())), output, ax, read)

    @classmethod
    def from_estimator(cls, estimators, X, *, background=None, **kwargs) -> Self | SmallMultiples:
        """Explain rows with several estimators and draw their explanations.

        Parameters
        ----------
        estimators : dict of str to fitted estimator, function or fitted explainer
            Two to six of them by name.
        X : array or frame of shape (r, d)
            The rows to explain.
        background : array or frame of shape (b, d), default=None
            The rows that stand in for absent features. Needed for all but explainers.
        **kwargs
            As in `from_explanations`.

        Returns
        -------
        display : ComparisonDisplay, or SmallMultiples of them for several outputs
        """
        check_values(cls.__name__, kwargs, cls._constraints)  # before a model is called
        _check_dict(cls.__name__, "estimators", estimators)
        explanations = {
            name: explanation_of(cls.__name__, one, X, background)
            for name, one in estimators.items()
        }
        return cls.from_explanations(explanations, **kwargs)

    def frame(self) -> pd.DataFrame:
        """Return the points.

        Returns
        -------
        frame : DataFrame
            Columns ``explanation``, ``feature``, ``value``, ``standard_error``.
        """
        return self.table.copy()

    def _row_names(self, letters=MAX_NAME) -> list[str]:
        return short_names(pd.unique(self.table["feature"]), width=letters)

    def _height(self, width) -> float:
        names = pd.unique(self.table["explanation"])
        return height_of_rows(1.2 * self.table["feature"].nunique()) + height_of_legend(names)

    def plot(self, ax=None) -> Self:
        """Draw the points.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        self : ComparisonDisplay
        """
        parts = list(self.table.groupby("explanation", sort=False))
        (ax,) = self._panels(ax)
        zero_line(ax)
        step, handles = 0.5 / len(parts), []
        for place, (_, part) in enumerate(parts):
            half = HALF_WIDTH * part["standard_error"].fillna(0.0).to_numpy()
            values = part["value"].to_numpy()
            rows = np.arange(len(part)) + (place - (len(parts) - 1) / 2) * step
            points = ax.errorbar(values, rows, xerr=half, fmt=MARKERS[place], color=COLOURS[place],
                                 markersize=5, elinewidth=1.1, capsize=2)  # fmt: skip
            handles.append(points)
        name_rows(ax, self._row_names(letters_beside(ax)))
        what = "attribution" if self.local else "mean |attribution|"
        label_x(ax, f"{what} ({self._said}){interval_note(self.table)}")
        legend_above(ax, handles, [name for name, _ in parts])
        return self._drawn_on([ax])


def _check_dict(owner, name, given) -> None:
    """Refuse what is not a dict of two to six things by name."""
    if not isinstance(given, Mapping) or not 2 <= len(given) <= len(COLOURS):
        got = list(given) if isinstance(given, Mapping) else given
        raise ValueError(
            f"{owner} got {name}={got!r}: choose a dict of 2 to {len(COLOURS)} {name} by name."
        )


def _check_explanations(owner, explanations) -> None:
    """Refuse what is not a dict of two to six explanations of the same players."""
    _check_dict(owner, "explanations", explanations)
    (first, one), *others = explanations.items()
    for name, other in others:
        ours, theirs = set(one.feature_names), set(other.feature_names)
        if ours != theirs:
            raise ValueError(
                f"{owner} got explanations of different players, as only one of {first!r} and"
                f" {name!r} has {sorted(ours ^ theirs)[:5]}: choose explanations of the same ones."
            )


def _points(name, explanation, features, local) -> pd.DataFrame:
    """Return the table of one explanation's points, for the features in their order."""
    if local:
        columns = {"value": explanation.values[0], "standard_error": errors_of(explanation)[0]}
        frame = pd.DataFrame(columns, index=explanation.feature_names)
    else:
        frame = explanation.importance().rename(columns={"importance": "value"})
    frame = frame.loc[features, ["value", "standard_error"]].rename_axis("feature").reset_index()
    frame.insert(0, "explanation", str(name))
    return frame


def _order(explanations, max_features) -> np.ndarray:
    """Return the features to show, those with the largest mean over the explanations first."""
    names = explanations[0].feature_names
    sizes = [pd.Series(np.abs(e.values).mean(axis=0), index=e.feature_names) for e in explanations]
    order = np.argsort(-sum(size.loc[names].to_numpy() for size in sizes), kind="stable")
    return names[order][:max_features]
