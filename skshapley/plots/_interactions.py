"""Interactions of features, for one row or over many."""

from typing import Any, Self

import numpy as np
import pandas as pd

from skshapley.plots._checks import AXES, COUNT, ROW
from skshapley.plots._common import HALF_WIDTH, response_name
from skshapley.plots._display import Display, SmallMultiples
from skshapley.plots._partners import check_pairs
from skshapley.plots._style import (
    LETTER,
    colour_bar,
    faded_cells,
    font_size,
    ink,
    label_x,
    letters_beside,
    row_in_points,
    settle,
    type_size,
    width_in_points,
    write_names,
)
from skshapley.plots._text import MAX_NAME, number, short_names

CELL = 0.56, 0.42  # inches
DIGIT = 0.65  # width of a digit, relative to the font size
BELOW = 20  # letters of a name below a column
MOST_WRITTEN = 14  # features; beyond this number, texts in the cells would be illegible


class InteractionsDisplay(Display):
    """Interactions of pairs as a triangle of colours, with their errors written into the cells.

    Below the diagonal stands the whole interaction of each pair, with half the width of its 95 %
    interval; on the diagonal the main effect of each feature, without one. Of one row these
    have a sign and add up to prediction less base value; of a table they are mean sizes. Where the
    interval contains 0 the cell is faded.

    Use `from_explanation` or `from_estimator` to make one.

    Parameters
    ----------
    table : DataFrame
        Columns ``feature``, ``other``, ``value``, ``standard_error``, with one line per cell. Main
        effects have equal names. Features are sorted from top to bottom.
    response : str, default="response"
        Name of the explained response, for the colour bar.
    title : str, default="interaction"
        The kind of numbers.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import ShapleyExplainer
    >>> from skshapley.plots import InteractionsDisplay
    >>> explainer = ShapleyExplainer(lambda X: X[:, 0] * X[:, 1], interactions=True)
    >>> explainer = explainer.fit(np.zeros((1, 2)))
    >>> display = InteractionsDisplay.from_estimator(explainer, np.full((1, 2), 3.0))
    >>> display.frame()
      feature other  value  standard_error
    0      x0    x0    0.0             NaN
    1      x1    x0    9.0             0.0
    2      x1    x1    0.0             NaN
    """

    _constraints = {"row": ROW, "max_features": COUNT, "ax": AXES}
    _asked = {"interactions": True}

    def __init__(self, table, response="response", title="interaction") -> None:
        super().__init__(table, response)
        self.title = title

    @classmethod
    def from_explanation(
        cls, explanation, row=None, *, output=None, max_features=8, ax=None
    ) -> Self | SmallMultiples:
        """Draw the interactions of a row, or their mean sizes.

        Parameters
        ----------
        explanation : Explanation
            With interactions.
        row : int, default=None
            Position of the row. None: the mean absolute interactions of all rows, or the only one.
        output : label, default=None
            One of `explanation.output_names`. None: all, side by side, or the strongest of many.
        max_features : int or None, default=8
            Number of features shown, by the largest interactions. None: all.
        ax : matplotlib Axes, or one for each output, default=None
            The axes to draw on; a new figure by default.

        Returns
        -------
        display : InteractionsDisplay, or SmallMultiples of them for several outputs

        Raises
        ------
        ValueError, TypeError, IndexError
            For an explanation without interactions, or an invalid row, output, max_features or ax.
        """
        check_pairs(cls.__name__, explanation)

        def make(shown) -> Any:
            table = _table(shown.interactions, max_features)
            title = "interaction" if len(shown) == 1 else "mean absolute interaction"
            return cls(table, response_name(shown), title)

        given = {"row": row, "max_features": max_features}
        return cls._of_outputs(explanation, make, output=output, ax=ax, **given)

    def _row_names(self, letters=MAX_NAME) -> list[str]:
        return short_names(pd.unique(self.table["feature"]), letters)

    def _size(self, alone) -> tuple[float, float]:
        names = self._row_names(BELOW)
        # Names below the columns are turned by 45 degrees, so their height is the length times sin
        # 45.
        slanted = max(map(len, names)) * LETTER * type_size() / 72 * np.sin(np.pi / 4)
        width = min(3.0 + CELL[0] * len(names), 14.0)
        return width, 1.1 + slanted + CELL[1] * len(names)

    def _draw(self, ax) -> None:
        """Draw the triangle."""
        letters = letters_beside(ax)
        names = self._row_names(letters)
        n = len(names)
        values, half = np.full((2, n, n), np.nan)
        values[np.tril_indices(n)] = self.table["value"]
        half[np.tril_indices(n)] = HALF_WIDTH * self.table["standard_error"]
        limit = np.nanmax(np.abs(values)) or 1.0
        image, faded = faded_cells(ax, np.ma.masked_invalid(values), half, limit)
        write_names(ax, names)
        size = font_size(ax, n)  # the shorter names below the columns are those of the rows
        ax.set_xticks(range(n), self._row_names(min(letters, BELOW)), rotation=45, ha="right",
                      rotation_mode="anchor", fontsize=size, parse_math=False)  # fmt: skip
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        bar = colour_bar(ax, image, self._said)
        if (values[np.isfinite(values)] >= 0).all():
            bar.ax.set_ylim(0, limit)
        settle(ax)  # long names leave little room for the cells
        label_x(ax, f"{self.title}; diagonal: main effect{faded}")
        if n <= MOST_WRITTEN:
            self._write(ax, values, half, limit)

    def _write(self, ax, values, half, limit) -> None:
        """Write each number into its cell, and half the width of its interval below it."""
        n = len(values)
        numbers = zip(values[np.tril_indices(n)], half[np.tril_indices(n)], strict=True)
        texts = [
            number(value) + (f"\n±{number(error, digits=2)}" if error > 0 else "")
            for value, error in numbers
        ]
        letters = max(len(line) for text in texts for line in text.splitlines())
        # A cell has two lines, at 1.1 times the font size each.
        width, height = width_in_points(ax) / n, row_in_points(ax, n)
        size = min(8.0, width / (DIGIT * letters), height / 2.2)
        for i, j, text in zip(*np.tril_indices(n), texts, strict=True):
            value, error = values[i, j], half[i, j]
            # White is legible on the dark end of the colours, above three quarters of the limit.
            dark = "white" if abs(value) > 0.75 * limit else "#202020"
            colour = ink(ax) if abs(value) <= error else dark
            ax.text(j, i, text, ha="center", va="center", fontsize=size, color=colour,
                    parse_math=False)  # fmt: skip


def _table(interactions, max_features) -> pd.DataFrame:
    """Return the cells of the triangle, features with the largest interactions first."""
    pairs, main = interactions.values, interactions.main_effects
    errors = interactions.standard_errors
    if len(pairs) > 1:
        pairs, main = np.abs(pairs), np.abs(main)
        errors = pairs.std(axis=0, ddof=1) / np.sqrt(len(pairs))
    else:
        errors = np.full(pairs[0].shape, np.nan) if errors is None else errors[0].copy()
    values, names = pairs.mean(axis=0), interactions.feature_names
    order = np.argsort(-np.abs(values).max(axis=1), kind="stable")[:max_features]
    # After sorting: large main effects must not decide which interactions are shown.
    np.fill_diagonal(values, main.mean(axis=0))
    np.fill_diagonal(errors, np.nan)
    i, j = (order[part] for part in np.tril_indices(len(order)))
    cells = {"feature": names[i], "other": names[j], "value": values[i, j]}
    return pd.DataFrame(cells | {"standard_error": errors[i, j]})
