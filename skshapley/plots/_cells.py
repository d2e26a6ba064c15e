"""Cells of colours: attributions over images and signals, and interactions of pairs."""

from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skshapley._records._importance import errors_of
from skshapley._tables import MAX_NAME, number, short_names
from skshapley.plots import _style as style
from skshapley.plots._common import (
    HALF_WIDTH,
    one_row,
    response_name,
    row_table,
)
from skshapley.plots._display import Display, SmallMultiples
from skshapley.plots._partners import check_pairs


class HeatMapDisplay(Display):
    """Attributions as colours over an image or along a signal.

    The players are the pixels or the tiles of the image, or the sections of the signal.

    Use `from_explanation` or `from_estimator` to make one.

    Parameters
    ----------
    table : DataFrame
        Columns ``feature``, ``row``, ``column``, ``value``, ``standard_error``. ``row``
        is 0 for a signal.
    labels : ndarray of shape (height, width)
        The player of each pixel. If the players do not form a grid, ``row`` and
        ``column`` are the centre of its pixels.
    image : ndarray of shape (height, width), (height, width, 3) or (n,), default=None
        Picture under the attributions.
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
    >>> from skshapley.plots import HeatMapDisplay
    >>> explainer = ShapleyExplainer(lambda X: X @ [1.0, 0.0, 0.0, 2.0]).fit(
    ...     np.zeros((1, 4))
    ... )
    >>> display = HeatMapDisplay.from_estimator(
    ...     explainer, np.ones((1, 4)), shape=(2, 2)
    ... )
    >>> display.frame()[["feature", "row", "column", "value"]]
      feature  row  column  value
    0      x0    0       0    1.0
    1      x1    0       1    0.0
    2      x2    1       0    0.0
    3      x3    1       1    2.0
    """

    def __init__(self, table, labels, image=None, response="response") -> None:
        super().__init__(table, response)
        self.labels = labels
        self.image = None if image is None else np.atleast_2d(image)

    @classmethod
    def from_explanation(
        cls,
        explanation,
        shape,
        row=None,
        *,
        output=None,
        image=None,
        ax=None,
    ) -> Self | SmallMultiples:
        """Draw the attributions of one row.

        Parameters
        ----------
        explanation : Explanation
        shape : tuple (height, width), int, or int array of shape (height, width)
            The arrangement of the players: the shape of their grid in C order, their
            number along a signal, or the player of each pixel from 0, such as
            `TileReward.labels`.
        row : int, default=None
            Position of the row. May be left out if there is only one.
        output : label, default=None
            One of `explanation.output_names`. None: all, below each other, or the strongest
            of many.
        image : array of shape (height, width), (height, width, 3) or (n,), default=None
            Picture under the attributions: an image or a signal of any size, divided
            evenly among the players. None: the players' own values if they are numbers,
            else nothing.
        ax : matplotlib Axes, or one for each output, default=None
            The axes to draw on; a new figure by default.

        Returns
        -------
        display : HeatMapDisplay, or SmallMultiples of them for several outputs

        Raises
        ------
        ValueError, TypeError, IndexError
            For a shape that does not fit the players, or an invalid row, output, image
            or ax.
        """
        labels = _checked_labels(cls.__name__, shape, len(explanation.feature_names))
        pixels = pd.DataFrame(
            np.column_stack([at.ravel() for at in np.indices(labels.shape)])
        )
        middles = pixels.groupby(labels.ravel()).mean()
        if len(middles) == len(pixels):  # each pixel is a player
            middles = middles.astype(int)
        if image is not None:
            image = _checked_image(cls.__name__, image, labels.shape)

        def make(shown, _) -> Any:
            table = row_table(shown).drop(columns="data")
            table.insert(1, "row", middles[0])
            table.insert(2, "column", middles[1])
            below = image
            if image is None and all(
                map(pd.api.types.is_numeric_dtype, shown.data.dtypes)
            ):
                below = shown.data.to_numpy(dtype=float)[0][labels]
            return cls(table, labels, below, response_name(shown))

        return cls._of_outputs(
            explanation,
            make,
            output=output,
            ax=ax,
            row=row,
            needs_row=True,
        )

    def _size(self, alone) -> tuple[float, float]:
        n_rows, n_columns = self.labels.shape
        if n_rows == 1:
            return style.WIDTH, 2.6
        # The clip keeps very flat or tall images legible, at the price of empty
        # margins.
        width, scale = (5.2, 3.9) if alone else (style.WIDTH / 2, 3.0)
        return width, float(np.clip(scale * n_rows / n_columns, 1.5, 10.4)) + 0.4

    def _colour_limits(self) -> tuple[float, float]:
        # The smallest float avoids a division by 0 if all attributions are 0.
        top = max(self.table["value"].abs().max(), np.finfo(float).tiny)
        return -top, top

    def _draw(self, ax) -> None:
        values = self.table["value"].to_numpy()[self.labels]
        signal = len(values) == 1
        height, width = (values if self.image is None else self.image).shape[:2]
        # Pixel centres are integers, as matplotlib's own images have them, with row 0
        # at the top.
        extent = (-0.5, width - 0.5, height - 0.5, -0.5)
        _, top = self._limits or self._colour_limits()
        if self.image is not None and not signal:
            ax.imshow(self.image, cmap="gray", extent=extent, interpolation="nearest")
        # The square root lifts weak attributions, which would vanish over the image.
        strength = (
            np.ones(values.shape)
            if self.image is None
            else np.sqrt(np.abs(values) / top)
        )
        # At most 90 % opaque: the image stays visible below the strongest cells.
        painted = style.signed_cells(
            ax,
            values,
            top,
            0.9 * strength,
            extent=extent,
            aspect="auto" if signal else "equal",
            zorder=1,
        )
        if signal and self.image is not None:
            ax.twinx().plot(
                np.arange(width),
                np.ravel(self.image),
                color=style.ink(ax),
                linewidth=1.2,
            )
        ax.tick_params(left=False, labelleft=False, bottom=signal, labelbottom=signal)
        style.colour_bar(ax, painted, f"attribution ({self._said})")


def _checked_labels(owner, shape, p) -> NDArray[np.intp]:
    """Return the player of each pixel, ``(height, width)``; a signal has height 1."""
    if np.ndim(shape) == 2:
        labels = np.asarray(shape)
        if labels.dtype.kind not in "iu" or not np.array_equal(
            np.unique(labels),
            np.arange(p),
        ):
            raise ValueError(
                f"{owner} got labels of shape {labels.shape} for {p} players: pass "
                f"labels that contain each int from 0 to {p - 1} and no other."
            )
        return labels
    sides: tuple = (1, shape) if isinstance(shape, (int, np.integer)) else tuple(shape)
    whole = all(isinstance(side, (int, np.integer)) and side > 0 for side in sides)
    if len(sides) != 2 or not whole or sides[0] * sides[1] != p:
        raise ValueError(
            f"{owner} got shape={shape!r} for {p} players: choose (height, width) of "
            "their grid, or their number along a signal."
        )
    return np.arange(p).reshape(sides)


def _checked_image(owner, image, shape) -> np.ndarray:
    """Return an image of numbers for a grid of players, or a signal for a line of them."""
    pixels = np.asarray(image)
    signal = shape[0] == 1
    colours = pixels.ndim == 3 and pixels.shape[2] in (3, 4)
    kinds = (
        "(n,) for players along a signal"
        if signal
        else "(height, width), (height, width, 3) or (height, width, 4) for players on a "
        "grid"
    )
    fits = (
        pixels.shape in ((pixels.size,), (1, pixels.size))
        if signal
        else pixels.ndim == 2 or colours
    )
    if pixels.dtype.kind not in "biuf" or not (fits and pixels.size):
        raise ValueError(
            f"{owner} got an image of shape {pixels.shape} and type {pixels.dtype}: "
            f"choose numbers of shape {kinds}."
        )
    # matplotlib clips colours outside this range silently.
    most = 1 if pixels.dtype.kind in "bf" else 255
    if colours and not ((pixels >= 0) & (pixels <= most)).all():
        raise ValueError(
            f"{owner} got an image with colours from {pixels.min()} to {pixels.max()}: "
            "choose floats from 0 to 1, or ints from 0 to 255."
        )
    return pixels


CELL = 0.56, 0.42  # inches
BELOW = 20  # letters of a name below a column
MOST_WRITTEN = 14  # features; beyond this number, texts in the cells would be illegible


class InteractionsDisplay(Display):
    """Interactions of pairs as a triangle of colours, with their errors written into the cells.

    Below the diagonal stands the whole interaction of each pair, with half the width of
    its 95 % interval; on the diagonal the main effect of each feature, without one. Of
    one row these have a sign and add up to prediction less base value; of a table they
    are mean sizes. Where the interval contains 0 the cell is faded.

    Use `from_explanation` or `from_estimator` to make one.

    Parameters
    ----------
    table : DataFrame
        Columns ``feature``, ``other``, ``value``, ``standard_error``, with one line per
        cell. Main effects have equal names. Features are sorted from top to bottom.
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

    _explainer_options = {"interactions": True}

    def __init__(self, table, response="response", title="interaction") -> None:
        super().__init__(table, response)
        self.title = title

    @classmethod
    def from_explanation(
        cls,
        explanation,
        row=None,
        *,
        output=None,
        max_features=8,
        ax=None,
    ) -> Self | SmallMultiples:
        """Draw the interactions of a row, or their mean sizes.

        Parameters
        ----------
        explanation : Explanation
            With interactions.
        row : int, default=None
            Position of the row. None: the mean absolute interactions of all rows, or
            the only one.
        output : label, default=None
            One of `explanation.output_names`. None: all, below each other, or the strongest
            of many.
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
            For an explanation without interactions, or an invalid row, output,
            max_features or ax.
        """
        check_pairs(cls.__name__, explanation)

        def make(shown, _) -> Any:
            drawn = one_row(explanation, row) if output is None else shown
            return cls(
                _table(shown.interactions, _order(drawn.interactions)[:max_features]),
                response_name(shown),
                "interaction" if len(shown) == 1 else "mean absolute interaction",
            )

        return cls._of_outputs(
            explanation,
            make,
            output=output,
            ax=ax,
            row=row,
            max_features=max_features,
        )

    def _row_names(self, letters=MAX_NAME) -> list[str]:
        return short_names(pd.unique(self.table["feature"]), letters)

    def _size(self, alone) -> tuple[float, float]:
        names = self._row_names(BELOW)
        # Names below the columns are turned by 45 degrees, so their height is the
        # length times sin 45.
        slanted = (
            max(map(len, names))
            * style.LETTER
            * style.type_size()
            / 72
            * np.sin(np.pi / 4)
        )
        height = 1.1 + slanted + CELL[1] * len(names)
        return min(3.0 + CELL[0] * len(names), 14.0), height

    def _colour_limits(self) -> tuple[float, float]:
        limit = self.table["value"].abs().max() or 1.0
        return -limit, limit

    def _draw(self, ax) -> None:
        letters = style.letters_beside(ax)
        names = self._row_names(letters)
        n = len(names)
        values, half = np.full((2, n, n), np.nan)
        cells = np.tril_indices(n)
        values[cells] = self.table["value"]
        half[cells] = HALF_WIDTH * self.table["standard_error"]
        _, limit = self._limits or self._colour_limits()
        image, faded = style.faded_cells(ax, np.ma.masked_invalid(values), half, limit)
        style.write_names(ax, names)
        # The shorter names below the columns are those of the rows.
        ax.set_xticks(
            range(n),
            self._row_names(min(letters, BELOW)),
            rotation=45,
            ha="right",
            rotation_mode="anchor",
            fontsize=style.font_size(ax, n),
            parse_math=False,
        )
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        bar = style.colour_bar(ax, image, self._said)
        if (values[np.isfinite(values)] >= 0).all():
            bar.ax.set_ylim(0, limit)
        style.settle(ax)  # long names leave little room for the cells
        style.label_x(ax, f"{self.title}; diagonal: main effect{faded}")
        if n > MOST_WRITTEN:
            return
        texts = [
            number(value) + (f"\n±{number(error, digits=2)}" if error > 0 else "")
            for value, error in zip(values[cells], half[cells], strict=True)
        ]
        letters = max(len(line) for text in texts for line in text.splitlines())
        # A cell has two lines, at 1.1 times the font size each.
        width = style.width_in_points(ax) / n
        size = min(
            8.0,
            width / (style.DIGIT * letters),
            style.row_in_points(ax, n) / 2.2,
        )
        for i, j, text in zip(*cells, texts, strict=True):
            # White is legible on the dark end of the colours, above three quarters of
            # the limit.
            dark = "white" if abs(values[i, j]) > 0.75 * limit else "#202020"
            colour = style.ink(ax) if abs(values[i, j]) <= half[i, j] else dark
            ax.text(j, i, text, ha="center", va="center", fontsize=size, color=colour,
                    parse_math=False)  # fmt: skip


def _order(interactions) -> NDArray[np.intp]:
    """Return the positions of the features, those with the largest interactions first."""
    sizes = np.abs(interactions.values).mean(axis=0).max(axis=1)
    return np.argsort(-sizes.reshape(len(sizes), -1).sum(axis=1), kind="stable")


def _table(interactions, order) -> pd.DataFrame:
    """Return the cells of the triangle, for features in an order."""
    pairs = interactions.values
    main = interactions.main_effects
    errors = errors_of(interactions)[0].copy()
    if len(pairs) > 1:
        pairs = np.abs(pairs)
        main = np.abs(main)
        # The squares of 1e200 are infinite. Powers of two change no digit.
        unit = np.ldexp(1.0, np.frexp(pairs.max(initial=0.0))[1])
        errors = (pairs / unit).std(axis=0, ddof=1) * unit / np.sqrt(len(pairs))
    values = pairs.mean(axis=0)
    names = interactions.feature_names
    np.fill_diagonal(values, main.mean(axis=0))
    np.fill_diagonal(errors, np.nan)
    i, j = (order[part] for part in np.tril_indices(len(order)))
    cells = {"feature": names[i], "other": names[j], "value": values[i, j]}
    return pd.DataFrame(cells | {"standard_error": errors[i, j]})
