"""Convergence: how the estimates settle as the budget grows."""

import copy
from collections.abc import Mapping
from itertools import chain
from typing import Any, Self

import pandas as pd

from skshapley._tools._constraints import check_values
from skshapley.explanation import Explanation
from skshapley.plots._checks import AXES, COUNT, ROW, check_drawing, check_names
from skshapley.plots._common import HALF_WIDTH, errors_of, fold, one_output, one_row, response_name
from skshapley.plots._display import ByFeature, SmallMultiples, by_output
from skshapley.plots._explain import explainer_of
from skshapley.plots._style import COLOURS, legend, letters_across, side_label
from skshapley.plots._text import wrapped


class ConvergenceDisplay(ByFeature):
    """How the attributions of one instance settle as more model rows are spent.

    Each feature has a panel and each method a line, with its 95 % band.

    Use `from_explanations` or `from_estimator` to make one.

    Parameters
    ----------
    table : DataFrame
        Columns ``method``, ``feature``, ``n_model_rows``, ``value``, ``standard_error``.
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
    >>> display = ConvergenceDisplay.from_estimator(explainer.fit(X), X[:1], budgets=[2000, 4000])
    >>> display.frame()["feature"].nunique()
    4
    """

    _constraints = {"row": ROW, "max_features": COUNT, "axes": AXES}

    def __init__(self, table, response="response") -> None:
        self.table = table
        self.response = response

    @classmethod
    def from_estimator(
        cls, estimator, X, *, budgets, background=None, **kwargs
    ) -> Self | SmallMultiples:
        """Explain rows with growing budgets, and draw the attributions of one of them.

        Parameters
        ----------
        estimator : fitted estimator, function or fitted ShapleyExplainer, or dict of them by name
            Explainers are not changed: copies with each budget as their `max_rows` explain the
            rows.
        X : array or frame of shape (r, d)
            The rows to explain.
        budgets : sequence of int
            Numbers of model rows per instance.
        background : array or frame of shape (b, d), default=None
            The rows that stand in for absent features. Needed for all but explainers.
        **kwargs
            As in `from_explanations`.

        Returns
        -------
        display : ConvergenceDisplay
        """
        check_values(cls.__name__, kwargs, cls._constraints)  # before the model is called
        estimators = estimator if isinstance(estimator, Mapping) else {"": estimator}
        explainers = {
            name: explainer_of(cls.__name__, one, background) for name, one in estimators.items()
        }
        explanations = {
            name: [_with_budget(one, n).explain(X) for n in sorted(budgets)]
            for name, one in explainers.items()
        }
        return cls.from_explanations(explanations, **kwargs)

    @classmethod
    def from_explanations(
        cls, explanations, *, row=None, output=None, features=None, max_features=4, axes=None
    ) -> Self | SmallMultiples:
        """Draw explanations of growing budgets.

        Parameters
        ----------
        explanations : sequence of Explanation, or dict of such sequences by method
            Explanations of the same model and instances, by at most six methods.
        row : int, default=None
            Position of the instance. May be left out if there is only one.
        output : label, default=None
            One of `output_names`. None: all, side by side, or the strongest of many.
        features : list of str, default=None
            Names of the features to show. None: the `max_features` largest ones.
        max_features : int or None, default=4
            Number of features to show if `features` is None. None: all.
        axes : sequence of matplotlib Axes, default=None
            One for each feature (and output); a new figure by default.

        Returns
        -------
        display : ConvergenceDisplay, or SmallMultiples of them for several outputs

        Raises
        ------
        ValueError, TypeError, IndexError
            For no explanations, or an invalid row, output, features, max_features or axes.
        """
        methods = explanations if isinstance(explanations, Mapping) else {"": list(explanations)}
        features = None if features is None else list(features)
        _check_methods(cls.__name__, methods, features)
        for one in chain.from_iterable(methods.values()):
            check_drawing(
                cls,
                one,
                axes=axes,
                output=output,
                row=row,
                max_features=max_features,
                one_row=True,
            )

        def read(output) -> tuple[pd.DataFrame, str]:
            chosen = {
                name: [one_row(one_output(e, output), row) for e in series]
                for name, series in methods.items()
            }
            end = next(iter(chosen.values()))[-1]
            names = features or fold(end, max_features).feature_names[:max_features]
            lines = [_lines(name, series, names) for name, series in chosen.items()]
            return pd.concat(lines, ignore_index=True), response_name(end)

        return by_output(cls, _last(methods), output, axes, read)

    def frame(self) -> pd.DataFrame:
        """Return the points of the lines.

        Returns
        -------
        frame : DataFrame
            Columns ``method``, ``feature``, ``n_model_rows``, ``value``, ``standard_error``.
        """
        return self.table.copy()

    def plot(self, axes=None) -> Self:
        """Draw the lines.

        Parameters
        ----------
        axes : sequence of matplotlib Axes, default=None
            One for each feature; a new figure by default.

        Returns
        -------
        self : ConvergenceDisplay
        """
        features = pd.unique(self.table["feature"])
        axes, lines = self._panels(axes), {}
        for ax, feature in zip(axes, features, strict=True):
            part = self.table[self.table["feature"] == feature]
            for place, (method, line) in enumerate(part.groupby("method", sort=False)):
                half = HALF_WIDTH * line["standard_error"]
                x, y, colour = line["n_model_rows"], line["value"], COLOURS[place]
                ax.fill_between(x, y - half, y + half, color=colour, alpha=0.22, linewidth=0)
                lines[method] = ax.plot(x, y, "o-", color=colour, markersize=3.5, linewidth=1.3)[0]
            letters = letters_across(ax)
            ax.set_title(wrapped(feature, letters), fontsize="medium", parse_math=False)
            ax.spines[["top", "right"]].set_visible(False)
            ax.set_xlabel("model rows")
        banded = self.table["standard_error"].notna().any()
        what = f"attribution ({self.response})" + (" and 95 % band" if banded else "")
        axes[0].set_ylabel(side_label(axes[0], what), parse_math=False)
        if len(lines) > 1:
            legend(axes[0], list(lines.values()), lines, letters - 4, fontsize="small")
        return self._drawn_on(axes)


def _check_methods(owner, methods, features) -> None:
    """Refuse too few or too many methods, methods without explanations, and unknown features."""
    if not 1 <= len(methods) <= len(COLOURS) or not all(len(e) for e in methods.values()):
        raise ValueError(
            f"{owner} got { {name: len(e) for name, e in methods.items()} } explanations by method:"
            f" choose 1 to {len(COLOURS)} methods with 1 explanation or more each."
        )
    check_names(owner, "features", features or [], _last(methods).feature_names)


def _last(methods) -> Explanation:
    """Return the last explanation of the first method."""
    return next(iter(methods.values()))[-1]


def _lines(method, series, features) -> pd.DataFrame:
    """Return the table of one method's lines, for the features in their order."""
    frames = []
    for explanation in series:
        columns = {"value": explanation.values[0], "standard_error": errors_of(explanation)[0]}
        frame = pd.DataFrame(columns, index=explanation.feature_names).loc[list(features)]
        spent = explanation.n_model_rows[0]
        frames.append(
            frame.rename_axis("feature").reset_index().assign(method=method, n_model_rows=spent)
        )
    order = ["method", "feature", "n_model_rows", "value", "standard_error"]
    return pd.concat(frames, ignore_index=True)[order]


def _with_budget(explainer: Any, max_rows: int) -> Any:
    """Return an explainer with another budget, fitted to the same background."""
    other = copy.copy(explainer).set_params(max_rows=max_rows)
    return other.fit(other.background_, sample_weight=other.background_weights_)
