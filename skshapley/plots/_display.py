"""Base classes of displays, and displays of several outputs below each other."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast

import numpy as np
import pandas as pd

from skshapley._records._summary import kind_of_outputs, overall_sizes
from skshapley._tables import MAX_NAME, short_names, shorten
from skshapley._tools import Constraint, Hinting, check_values, counted
from skshapley.plots import _style as style
from skshapley.plots._common import (
    CONSTRAINTS,
    MOST_OUTPUTS,
    check_drawing,
    explainer_of,
    of_output,
    one_output,
    one_row,
    strengths,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE_LINE = 0.24  # inches


# Names in matplotlib and elsewhere, and ours
INSTEAD = {
    **dict.fromkeys(("savefig", "save"), ".figure_.savefig(path)"),
    **dict.fromkeys(("fig", "figure"), ".figure_"),
    **dict.fromkeys(("ax", "axes", "axis"), ".ax_, which it was drawn on"),
    **dict.fromkeys(("to_frame", "data", "values"), ".frame()"),
    "show": "matplotlib.pyplot.show()",
}


class Drawn(Hinting, ABC):
    """A picture drawn by `plot`, with its numbers as a frame.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the drawing; the first of several.
    axes_ : list of matplotlib Axes
        All of them.
    figure_ : matplotlib Figure
    """

    table: pd.DataFrame
    response = "response"
    _instead = INSTEAD
    # Valid parameters, whatever is drawn
    _constraints: ClassVar[Mapping[str, Constraint]] = CONSTRAINTS

    # The axis of the response, "x" or "y", which small multiples share
    _scale: str | None = None
    # The end of the response's name in the title of one of several displays
    _title = ""
    # The lowest and highest colour of several displays
    _limits: tuple[float, float] | None = None

    def __init__(self, table, response="response") -> None:
        self.table = table
        self.response = response

    @property
    def _n_axes(self) -> int:
        """Return the number of axes."""
        return 1

    def plot(self, ax=None) -> Self:
        """Draw on the given axes, or on a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, or a sequence of them for several panels, default=None
            The axes to draw on; a new figure by default.

        Returns
        -------
        self : the display
        """
        self.axes_ = self._panels(ax)
        self._draw(*self.axes_)
        self.ax_ = self.axes_[0]
        # It is a SubFigure if the axes are on one.
        self.figure_ = cast("Figure", self.ax_.figure)
        return self

    @abstractmethod
    def _draw(self, *axes) -> None:
        """Draw on axes, which have the names of the rows."""

    def frame(self) -> pd.DataFrame:
        """Return the drawn numbers of all outputs.

        Returns
        -------
        frame : DataFrame
            As the parameter `table`.
        """
        return self.table.copy()

    @abstractmethod
    def _size(self, alone) -> tuple[float, float]:
        """Return the width and height, in inches, of axes with labels, alone or one of several."""

    def _row_names(self, letters=MAX_NAME) -> list[str]:
        """Return the names beside the rows, with a limited number of letters."""
        return []

    def __repr__(self) -> str:
        frame = self.frame()
        features = counted(
            pd.Series(frame.get("feature", frame.index)).nunique(),
            "feature",
        )
        subject = "" if self.response == "response" else f" of the {self.response}"
        return (
            f"<{type(self).__name__}: {features}{subject}; .figure_ is the picture, "
            ".frame() its data>"
        )

    def _colour_limits(self) -> tuple[float, float] | None:
        """Return the lowest and highest number of the colours, or None without a scale."""
        return None

    @property
    def _said(self) -> str:
        """Return the name of the response for a label, without the output in the title."""
        return self.response.removesuffix(self._title)

    def _panels(self, axes) -> "list[Axes]":
        """Return the given axes, as a list, or new ones."""
        return style.panels(
            axes,
            self._n_axes,
            type(self).__name__,
            self._size(alone=True),
        )


class ByFeature(Drawn):
    """Base class of displays that draw each feature of their `table` on separate axes."""

    @property
    def _n_axes(self) -> int:
        return self.table["feature"].nunique()

    def _size(self, alone) -> tuple[float, float]:
        return style.LARGE_PANEL if alone and self._n_axes == 1 else style.PANEL


class ByRow(Drawn):
    """Base class of displays with a row for each feature of their `table`."""

    _scale: str | None = "x"
    _row_height = 1.0  # relative to the usual height

    def _row_names(self, letters=MAX_NAME) -> list[str]:
        features = self.table.get("feature", self.table.index)
        return short_names(pd.unique(features), letters)

    def _size(self, alone) -> tuple[float, float]:
        n_rows = self._row_height * len(self._row_names())
        # Up to 25 rows have the full height, from 100 rows on the least; figures stay
        # printable.
        shrink = np.clip((n_rows - 25) / 75, 0, 1)
        row = style.ROW_HEIGHT + shrink * (style.LEAST_ROW_HEIGHT - style.ROW_HEIGHT)
        return style.WIDTH, 1.1 + n_rows * row

    def _panels(self, axes) -> "list[Axes]":
        """Return the given axes, or new ones, with the names of the rows beside them."""
        (ax,) = super()._panels(axes)
        style.name_rows(ax, self._row_names(style.letters_beside(ax)))
        return [ax]


class Display(Drawn):
    """Base class of the displays of one Explanation.

    Parameters
    ----------
    table : DataFrame
        The numbers to draw, as `frame` returns them.
    response : str, default="response"
        Name of the response, for the axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the drawing; the first of several.
    axes_ : list of matplotlib Axes
        All of them.
    figure_ : matplotlib Figure
    """

    # Parameters of an explainer for this display
    _explainer_options: ClassVar[Mapping[str, Any]] = {}

    @classmethod
    @abstractmethod
    def from_explanation(cls, *args: Any, **kwargs: Any) -> "Self | SmallMultiples":
        """Draw an explanation."""

    @classmethod
    def _of_outputs(
        cls,
        explanation,
        make,
        *,
        output,
        ax,
        row=None,
        needs_row=False,
        **given,
    ) -> "Self | SmallMultiples":
        """Check the arguments, and draw the display of each output, for one row or all.

        Parameters
        ----------
        explanation : Explanation
        make : callable
            Returns the display of an explanation of one output, given the sizes of the
            features over all drawn outputs.
        output, ax, row
            As in `from_explanation`.
        needs_row : bool, default=False
            Whether the display shows one row, so that a row must be given where there
            are several.
        **given
            The other arguments to check.
        """
        check_drawing(
            cls,
            explanation,
            output=output,
            one_row=needs_row,
            row=row,
            ax=ax,
            **given,
        )
        rows = one_row(explanation, row)
        # One order of the features for all outputs
        sizes = overall_sizes(one_output(rows, output))
        return by_output(
            rows,
            output,
            ax,
            lambda name: make(one_output(rows, name), sizes),
        )

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X,
        *,
        background=None,
        **kwargs,
    ) -> "Self | SmallMultiples":
        """Explain rows and draw their explanation.

        Parameters
        ----------
        estimator : fitted estimator, function, or fitted explainer
            The model, or an explainer with its own parameters.
        X : array or frame of shape (r, d)
            The rows to explain.
        background : array or frame of shape (b, d), default=None
            The background rows, such as the training rows. Required except for an
            explainer, which has its own.
        **kwargs
            As in `from_explanation`.

        Returns
        -------
        display : the drawn display

        Raises
        ------
        ValueError
            For an estimator without a background, or an explainer with another.
        """
        # before the model is called
        check_values(cls.__name__, kwargs, cls._constraints)
        explainer = explainer_of(
            cls.__name__,
            estimator,
            background,
            **cls._explainer_options,
        )
        return cls.from_explanation(explainer.explain(X), **kwargs)


@dataclass(eq=False, repr=False)
class SmallMultiples(Drawn):
    """Displays of several outputs below each other, on one scale of axes and colours.

    `from_explanation` of a display returns one of these for an explanation of several
    outputs, unless its `output` names one of them, or bars stack the outputs. With more
    than six outputs, it shows the six with the largest attributions. All have the same
    order of features.

    Parameters
    ----------
    displays : dict of str to display
        Displays of one kind, by the name of their output.
    note : str, default=""
        Title of a new figure, above the displays.
    kind : str, default=""
        Prefix of output names in titles, such as "class ".

    Attributes
    ----------
    ax_ : matplotlib Axes
        The first of `axes_`.
    axes_ : list of matplotlib Axes
        One for each output, or a list for each output if its display has several axes.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import ShapleyExplainer
    >>> weights = np.array([[1.0, 0.0], [-3.0, 2.0]])
    >>> explainer = ShapleyExplainer(lambda X: X @ weights).fit(np.zeros((1, 2)))
    >>> drawn = explainer.explain(np.eye(2)).plot.waterfall(0)
    >>> drawn.frame()[["feature", "value"]]
             feature  value
    output
    0      0      x0    1.0
           1      x1    0.0
    1      0      x0    0.0
           1      x1    0.0
    """

    displays: dict[Any, Any]
    note: str = ""
    kind: str = ""

    @property
    def _first(self) -> Drawn:
        return next(iter(self.displays.values()))

    def __repr__(self) -> str:
        names = ", ".join(str(name) for name in self.displays)
        return (
            f"<{type(self._first).__name__} of {len(self.displays)} outputs: {names}>"
        )

    def frame(self) -> pd.DataFrame:
        """Return the drawn numbers.

        Returns
        -------
        frame : DataFrame
            The frames of all displays, below each other. The first level of the index
            is ``output``.
        """
        return pd.concat(
            {name: display.frame() for name, display in self.displays.items()},
            names=["output"],
        )

    def _size(self, alone) -> tuple[float, float]:
        sizes = [display._size(alone=False) for display in self.displays.values()]
        return max(width for width, _ in sizes), max(
            height for _, height in sizes
        ) + TITLE_LINE

    def _panels(self, axes) -> "list[Axes]":
        n_axes = self._first._n_axes
        panels = style.panels(
            axes,
            n_axes * len(self.displays),
            type(self._first).__name__,
            self._size(False),
            n_axes,
        )
        if axes is None and self.note:
            panels[0].figure.suptitle(
                self.note,
                fontsize=style.tick_size(),
                parse_math=False,
            )
        return panels

    def _draw(self, *axes) -> None:
        n_axes = self._first._n_axes
        scale = self._first._scale
        # One scale for all outputs: bars of equal length must mean equal attributions.
        for ax in axes[1:] if scale else ():
            if not getattr(ax, f"get_shared_{scale}_axes")().joined(ax, axes[0]):
                getattr(ax, f"share{scale}")(axes[0])
        parts = [axes[start : start + n_axes] for start in range(0, len(axes), n_axes)]
        # The names come first: they narrow axes, so each display measures its final
        # space.
        for display, panels in zip(self.displays.values(), parts, strict=True):
            if names := display._row_names(style.letters_beside(panels[0])):
                style.write_names(panels[0], names)
        limits = [display._colour_limits() for display in self.displays.values()]
        ends = [end for pair in limits if pair is not None for end in pair]
        for (name, display), panels in zip(self.displays.items(), parts, strict=True):
            display._title = of_output(name, self.kind)
            display._limits = (min(ends), max(ends)) if ends else None
            display.plot(panels)
            # The displays can be drawn alone later.
            display._title = ""
            display._limits = None
            # Nothing that the display has written there is replaced.
            ax = panels[0]
            legend = ax.get_legend()
            title = shorten(f"{self.kind}{name}", style.letters_within(ax))
            if legend is not None and not legend.get_title().get_text():
                legend.set_title(title)
            elif not ax.get_title() and not ax.get_title(loc="left"):
                ax.set_title(
                    title,
                    loc="left",
                    fontsize=style.tick_size(),
                    parse_math=False,
                )


Made = TypeVar("Made", bound=Drawn)


def by_output(
    explanation,
    output,
    ax,
    make: Callable[[Any], Made],
    strength=strengths,
) -> Made | SmallMultiples:
    """Draw the display of one output; None draws all or the strongest outputs.

    Parameters
    ----------
    explanation : Explanation, Comparison or Drift
        Of the rows that are drawn.
    output : label or None
    ax : matplotlib Axes, a sequence of them, or None
    make : callable
        Returns the display of an output.
    strength : callable
        Returns a number for each output, as an array ``(k,)`` or a Series. If there are
        many, the largest are drawn.

    Returns
    -------
    display : the drawn display, or SmallMultiples of several
    """
    names = explanation.output_names
    if output is not None or names is None:
        return make(output).plot(ax)
    names = list(names)
    note = ""
    if (n := len(names)) > MOST_OUTPUTS:
        sizes = pd.Series(strength(explanation), pd.Index(names, dtype=object))
        # A stable sort keeps equal outputs in the order of the model.
        names = (
            sizes.sort_values(ascending=False, kind="stable")
            .index[:MOST_OUTPUTS]
            .tolist()
        )
        note = f"the {len(names)} strongest of {n} outputs"
    return SmallMultiples(
        {name: make(name) for name in names},
        note,
        kind_of_outputs(explanation),
    ).plot(ax)
