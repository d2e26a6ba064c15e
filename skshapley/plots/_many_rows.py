"""Many rows at once: points by feature, a matrix of colours, and paths to predictions."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skshapley._records._importance import direction, errors_of
from skshapley._tables import MAX_NAME, number, ordered_numbers
from skshapley.plots import _style as style
from skshapley.plots._common import (
    HALF_WIDTH,
    closed,
    direction_mark,
    ends_of,
    fold,
    levels,
    points,
    response_name,
    wider_half,
)
from skshapley.plots._display import ByRow, Display, SmallMultiples

# From this number of rows on, they are ordered by their first principal component
MANY = 1000


class BeeswarmDisplay(ByRow, Display):
    """Attributions of all rows, one line of points for each feature.

    Each point is a row. Its place along the axis is the attribution, and its colour is
    the value of the feature, from low to high. Missing values and categories without an
    order are grey; `DependenceDisplay` shows each category. Points pile up where many
    rows have nearly the same attribution. The line through a point is the 95 % interval
    of its attribution. An arrow after a name says that attributions clearly rise (↑) or
    fall (↓) with the feature.

    Use `from_explanation` or `from_estimator` to make one.

    Parameters
    ----------
    table : DataFrame
        Columns ``row`` (label of the row), ``feature``, ``data``, ``level`` (in [0, 1],
        or NaN), ``value``, ``standard_error``, ``refit_error`` and ``y``, where the
        point is drawn: the position of its feature from the top, plus or minus 0.4.
        The features from top to bottom.
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
    >>> from skshapley.plots import BeeswarmDisplay
    >>> explainer = ShapleyExplainer(lambda X: X @ [1.0, -3.0]).fit(np.zeros((1, 2)))
    >>> display = BeeswarmDisplay.from_estimator(explainer, np.eye(2))
    >>> display.frame()[["row", "feature", "value", "y"]]
       row feature  value    y
    0    0      x1   -0.0  0.0
    1    1      x1   -3.0  0.0
    2    0      x0    1.0  1.0
    3    1      x0    0.0  1.0
    """

    _row_height = 1.15

    @classmethod
    def from_explanation(
        cls,
        explanation,
        *,
        output=None,
        max_features=10,
        ax=None,
    ) -> Self | SmallMultiples:
        """Draw the attributions of all rows.

        Parameters
        ----------
        explanation : Explanation
        output : label, default=None
            One of `explanation.output_names`. None: all, below each other, or the strongest
            of many.
        max_features : int or None, default=10
            Features shown one by one, the most important first; the others are summed
            for each row. None: all.
        ax : matplotlib Axes, or one for each output, default=None
            The axes to draw on; a new figure by default.

        Returns
        -------
        display : BeeswarmDisplay, or SmallMultiples of them for several outputs

        Raises
        ------
        ValueError, TypeError
            For an invalid output, max_features or ax.
        """

        def make(shown, sizes) -> Any:
            folded = fold(shown, max_features, sizes)
            r, p = folded.values.shape
            by_feature = np.arange(r * p).reshape(r, p).T.ravel()
            table = points(folded).iloc[by_feature].reset_index(drop=True)
            table.insert(
                3,
                "level",
                np.concatenate(
                    [levels(folded.data.iloc[:, player]) for player in range(p)],
                ),
            )
            rows = np.repeat(np.arange(p), r)
            table["y"] = rows + style.swarm(table["value"].to_numpy(), rows)
            return cls(table.drop(columns="background_error"), response_name(shown))

        return cls._of_outputs(
            explanation,
            make,
            output=output,
            ax=ax,
            max_features=max_features,
        )

    def _row_names(self, letters=MAX_NAME) -> list[str]:
        marks = []
        for _, part in self.table.groupby("feature", sort=False):
            data = ordered_numbers(part["data"].reset_index(drop=True).infer_objects())
            marks.append(direction_mark(*direction(data, part["value"].to_numpy())))
        return [
            name + mark
            for name, mark in zip(super()._row_names(letters - 2), marks, strict=True)
        ]

    def _draw(self, ax) -> None:
        from matplotlib.cm import ScalarMappable

        frame = self.table
        style.zero_line(ax)
        n = len(frame) // frame["feature"].nunique()
        half = np.fmax(
            HALF_WIDTH * frame["standard_error"].fillna(0.0).to_numpy(),
            wider_half(frame, "refit_error"),
        )
        x = frame["value"].to_numpy()
        y = frame["y"].to_numpy()
        colours = style.level_colours()(
            np.ma.masked_invalid(frame["level"].to_numpy(dtype=np.float64)),
        )
        # Intervals lie below the points, which would otherwise disappear.
        style.point_intervals(ax, x, y, half, colours, style.faintness(n))
        ax.scatter(x, y, s=style.dot_size(n), c=colours, linewidth=0, zorder=3,
                   # Beyond 5,000 points, a vector file is slow to open and larger than
                   # an image.
                   rasterized=len(frame) > 5000)  # fmt: skip
        style.label_x(ax, f"attribution ({self._said}){style.interval_note(frame)}")
        if frame["level"].notna().any():
            style.colour_bar(
                ax,
                ScalarMappable(cmap=style.level_colours()),
                "value of the feature",
                ends=["low", "high"],
            )


@dataclass(eq=False, repr=False)
class MatrixDisplay(ByRow, Display):
    """All attributions as a matrix of colours, with features as lines and rows as columns.

    Similar rows are next to each other. Cells are faded if their 95 % interval contains
    0. The line above the matrix shows the predictions; the bars beside it are mean
    absolute attributions.

    Use `from_explanation` or `from_estimator` to make one.

    Parameters
    ----------
    table : DataFrame of shape (p, r)
        Attributions, features from top to bottom and rows from left to right.
    standard_errors : DataFrame of shape (p, r)
        NaN if the explanation has none.
    predictions : Series of shape (r,)
    response : str, default="response"
        Name of the explained response, for the colour bar.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import ShapleyExplainer
    >>> from skshapley.plots import MatrixDisplay
    >>> explainer = ShapleyExplainer(lambda X: X @ [1.0, 3.0]).fit(np.zeros((1, 2)))
    >>> display = MatrixDisplay.from_estimator(
    ...     explainer, np.array([[0.0, 1], [5, 0], [1, 1]])
    ... )
    >>> display.frame()
          1    2    0
    x0  5.0  1.0  0.0
    x1  0.0  3.0  3.0
    """

    _scale = None
    _row_height = 1.3

    table: pd.DataFrame
    standard_errors: pd.DataFrame
    predictions: pd.Series
    response: str = "response"

    @classmethod
    def from_explanation(
        cls,
        explanation,
        *,
        output=None,
        max_features=10,
        ax=None,
    ) -> Self | SmallMultiples:
        """Draw all attributions.

        Parameters
        ----------
        explanation : Explanation
        output : label, default=None
            One of `explanation.output_names`. None: all, below each other, or the strongest
            of many.
        max_features : int or None, default=10
            Features shown one by one, the most important first; the others are summed
            for each row. None: all.
        ax : matplotlib Axes, or one for each output, default=None
            The axes to draw on; a new figure by default.

        Returns
        -------
        display : MatrixDisplay, or SmallMultiples of them for several outputs

        Raises
        ------
        ValueError, TypeError
            For an invalid output, max_features or ax.
        """

        def make(folded, sizes) -> Any:
            # One order for all outputs, so that a row has the same position in each
            order = _order((explanation if output is None else folded).values)
            folded = fold(folded, max_features, sizes)
            columns = folded.index[order]
            values = pd.DataFrame(folded.values[order].T, folded.feature_names, columns)
            return cls(
                values,
                pd.DataFrame(errors_of(folded)[order].T, values.index, columns),
                pd.Series(folded.predictions[order], columns),
                response_name(folded),
            )

        return cls._of_outputs(
            explanation,
            make,
            output=output,
            ax=ax,
            max_features=max_features,
        )

    def _colour_limits(self) -> tuple[float, float]:
        sizes = self.table.abs().to_numpy()
        # A few extreme cells, or the sum of many features, should not wash out all
        # others. If 99 % of the cells are 0, the quantile is 0 and the maximum takes
        # its place.
        limit = np.quantile(sizes, 0.99) or sizes.max() or 1.0
        return -limit, limit

    def _draw(self, ax) -> None:
        values = self.table.to_numpy()
        p, r = values.shape
        _, limit = self._limits or self._colour_limits()
        image, faded = style.faded_cells(
            ax,
            values,
            HALF_WIDTH * self.standard_errors.to_numpy(),
            limit,
        )
        ax.grid(visible=False)  # the image is below the lines
        ax.xaxis.get_major_locator().set_params(integer=True)
        style.label_x(ax, f"rows, similar ones together{faded}")
        style.colour_bar(ax, image, f"attribution ({self._said})", 0.14)

        # At most 1.6 rows high, so that the predictions do not outgrow the matrix.
        top = ax.inset_axes([0, 1.02, 1, min(0.3, 1.6 / p)], sharex=ax)
        top.plot(
            np.arange(r),
            self.predictions.to_numpy(),
            color=style.ink(ax),
            linewidth=0.9,
        )
        top.tick_params(bottom=False, labelbottom=False, labelsize=style.tick_size())
        ends = np.unique([self.predictions.min(), self.predictions.max()])
        top.set_yticks(ends, [number(end, scale=np.abs(ends).max()) for end in ends])
        top.margins(y=0.25)  # for the upper number
        top.set_ylabel(
            "prediction",
            rotation=0,
            ha="right",
            va="center",
            size=style.tick_size(),
        )
        top.spines[["top", "right", "bottom"]].set_visible(False)
        ax.set_xlim(-0.5, r - 0.5)
        side = ax.inset_axes([1.01, 0, 0.12, 1], sharey=ax)
        side.barh(
            range(p),
            np.abs(values).mean(axis=1),
            height=0.7,
            color=style.COLOURS[0],
        )
        side.axis("off")


def _order(values) -> np.ndarray:
    """Return an order of the rows with similar attributions side by side, ``(r,)``."""
    from scipy.cluster.hierarchy import leaves_list, linkage

    if len(values) < 3:
        return np.arange(len(values))
    values = values.reshape(len(values), -1)
    # The squares of 1e200 are infinite. Powers of two change no digit.
    values = np.ldexp(values, -np.frexp(np.abs(values).max(initial=0.0))[1])
    if len(values) < MANY:
        # Hierarchical clustering needs all distances; the optimal order of leaves is
        # slower still.
        return leaves_list(
            linkage(values, "average", optimal_ordering=len(values) <= 300)
        )
    centred = values - values.mean(axis=0)
    # The sum of products has a column for each player, so its cost is linear in the
    # rows.
    axis = np.linalg.eigh(centred.T @ centred)[1][:, -1]
    return np.argsort(centred @ axis, kind="stable")


class DecisionDisplay(ByRow, Display):
    """Paths of many rows from the base value, at the bottom, to their predictions on top.

    Each line is a row. At each feature it moves by the row's attribution, the least
    important feature first, and its colour is the prediction at its end. Lines that
    stay together for long and part at the top differ only in the most important
    features.

    A pale line at the end of a step is the 95 % interval of the attribution. Intervals
    of sums would need unknown covariances. If estimates do not add up exactly, the
    difference is the first step, "unexplained".

    Use `from_explanation` or `from_estimator` to make one.

    Parameters
    ----------
    table : DataFrame
        Columns ``row``, ``feature``, ``value``, ``standard_error``, ``base_value`` and
        ``end``, the position of the path after the step; for each row the features from
        top to bottom.
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
    >>> from skshapley.plots import DecisionDisplay
    >>> explainer = ShapleyExplainer(lambda X: X @ [1.0, -3.0]).fit(np.zeros((1, 2)))
    >>> display = DecisionDisplay.from_estimator(explainer, np.ones((1, 2)))
    >>> display.frame()[["feature", "value", "end"]]
      feature  value  end
    0      x1   -3.0 -2.0
    1      x0    1.0  1.0
    """

    @classmethod
    def from_explanation(
        cls,
        explanation,
        *,
        output=None,
        max_features=20,
        ax=None,
    ) -> Self | SmallMultiples:
        """Draw the paths of all rows.

        Parameters
        ----------
        explanation : Explanation
        output : label, default=None
            One of `explanation.output_names`. None: all, below each other, or the strongest
            of many.
        max_features : int or None, default=20
            Number of features with separate steps, the most important ones. The others
            together are the first step. None: all.
        ax : matplotlib Axes, or one for each output, default=None
            The axes to draw on; a new figure by default.

        Returns
        -------
        display : DecisionDisplay, or SmallMultiples of them for several outputs

        Raises
        ------
        ValueError, TypeError
            For an invalid output, max_features or ax.
        """

        def make(folded, sizes) -> Any:
            folded = closed(fold(folded, max_features, sizes))
            table = points(folded)[["row", "feature", "value", "standard_error"]]
            table["base_value"] = np.repeat(
                folded.base_values,
                len(folded.feature_names),
            )
            upwards = np.column_stack([folded.base_values, folded.values[:, ::-1]])
            ends = np.cumsum(upwards, axis=1)[:, :0:-1]
            return cls(table.assign(end=ends.ravel()), response_name(folded))

        return cls._of_outputs(
            explanation,
            make,
            output=output,
            ax=ax,
            max_features=max_features,
        )

    def _ends(self) -> NDArray[np.float64]:
        """Return the position of each path after each step, ``(r, p)``."""
        p = self.table["feature"].nunique()
        return self.table["end"].to_numpy().reshape(-1, p)

    def _colour_limits(self) -> tuple[float, float]:
        return ends_of(self._ends()[:, 0])

    def _draw(self, ax) -> None:
        from matplotlib.collections import LineCollection

        ends = self._ends()
        base_values = self.table["base_value"].to_numpy()
        paths = np.column_stack([ends, base_values[:: ends.shape[1]]])
        # A step of a feature lies across its row, from its lower to its upper edge.
        heights = np.arange(paths.shape[1]) - 0.5
        # Sixty opaque lines' worth of ink, whatever the number of rows.
        alpha = float(np.clip(60 / len(paths), 0.3, 0.95))
        lines = LineCollection(
            [np.column_stack([path, heights]) for path in paths],
            linewidths=1.2,
            alpha=alpha,
            cmap=style.level_colours(),
        )
        lines.set_clim(*(self._limits or self._colour_limits()))
        lines.set_array(paths[:, 0])
        ax.add_collection(lines)
        style.point_intervals(
            ax,
            ends.ravel(),
            np.broadcast_to(heights[:-1], ends.shape).ravel(),
            HALF_WIDTH * self.table["standard_error"].to_numpy(),
            np.repeat(lines.to_rgba(paths[:, 0]), ends.shape[1], axis=0),
            style.faintness(len(paths)),
            width=3.0,
        )
        lines.set_alpha(None)
        style.colour_bar(ax, lines, self._said)
        lines.set_alpha(alpha)
        ax.set_yticks(heights, minor=True)
        ax.tick_params(which="minor", length=0)
        ax.grid(axis="y", which="minor", color=style.ink(ax), alpha=0.12, linewidth=0.6)
        ax.axvline(
            self.table["base_value"].mean(),
            color=style.ink(ax),
            lw=0.8,
            alpha=0.6,
            zorder=1,
        )
        ax.autoscale_view(scaley=False)
        text = f"{self._said}, from base value (bottom) to prediction (top)"
        style.label_x(ax, f"{text}{style.interval_note(self.table)}")
