"""The base classes of the displays, and displays of several outputs side by side."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast

import numpy as np
import pandas as pd

from skshapley._tools._constraints import Constraint, Count, check_values
from skshapley.plots._checks import AXES, COUNT, ROW, check_drawing
from skshapley.plots._common import (
    MOST_OUTPUTS,
    STRONGEST_OUTPUTS,
    of_output,
    one_output,
    one_row,
    parts_of_row,
    strengths,
)
from skshapley.plots._explain import explanation_of
from skshapley.plots._pairs import check_pairs, with_pairs
from skshapley.plots._style import (
    PANEL,
    WIDTH,
    fit_names,
    letters_across,
    letters_beside,
    panels,
    settle,
    width_of_rows,
    write_names,
)
from skshapley.plots._text import MAX_NAME, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Largest width, in inches, of a display that is one of several
NARROW = 5.2
TITLE = 10.0  # points
TITLE_LINE = 0.2  # inches


class Drawn(ABC):
    """A picture that `plot` draws and whose numbers `frame` returns.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes that were drawn on; the first of several.
    axes_ : list of matplotlib Axes
        All of them.
    figure_ : matplotlib Figure
    """

    ax_: "Axes"
    axes_: "list[Axes]"
    figure_: "Figure"

    response: str

    # The axis of the response, "x" or "y", which small multiples share
    _scale: str | None = None
    # The width of a bar of colours beside the axes, in inches
    _bar: float = 0.0
    # The end of the response's name that the title says, of one of several
    _title: str | None = None

    @property
    def _width(self) -> float:
        """Return the width of a new figure, in inches."""
        return WIDTH

    @property
    def _narrow_width(self) -> float:
        """Return the width, in inches, of a display that is one of several."""
        names = self._row_names()
        return width_of_rows(names) + self._bar if names else min(self._width, NARROW)

    @property
    def _n_axes(self) -> int:
        """Return the number of axes."""
        return 1

    @abstractmethod
    def plot(self, ax=None) -> Self:
        """Draw on the given axes, or on a new figure."""

    @abstractmethod
    def frame(self) -> pd.DataFrame:
        """Return what is drawn, as numbers."""

    @abstractmethod
    def _height(self, width) -> float:
        """Return the height, in inches, of an axes of this width with its labels."""

    def _row_names(self, letters=MAX_NAME) -> list[str]:
        """Return the names beside the rows, in lines of at most so many letters."""
        return []

    @property
    def _said(self) -> str:
        """Return the name of the response for a label, without the output that the title names."""
        return self.response if self._title is None else self.response.removesuffix(self._title)

    def _panels(self, axes) -> "list[Axes]":
        """Return the given axes, as a list, or new ones."""
        size = self._width, self._height(self._width)
        return panels(axes, self._n_axes, type(self).__name__, size)

    def _drawn_on(self, axes) -> Self:
        """Keep the axes that were drawn on, and return the display."""
        if self._title is None and self._row_names():
            settle(axes[0])  # with labels and legends, which take some of the height
            fit_names(axes[0])
        self.axes_ = list(axes)
        self.ax_ = axes[0]
        # It is a SubFigure if the axes are on one.
        self.figure_ = cast("Figure", self.ax_.figure)
        return self


class ByFeature(Drawn):
    """Base class of the displays that draw each feature of their `table` on axes of its own."""

    table: pd.DataFrame

    @property
    def _width(self) -> float:
        return PANEL[0]

    @property
    def _n_axes(self) -> int:
        return self.table["feature"].nunique()

    def _height(self, width) -> float:
        return PANEL[1]


class Display(Drawn):
    """Base class of the displays of one Explanation.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes that were drawn on; the first of several.
    axes_ : list of matplotlib Axes
        All of them.
    figure_ : matplotlib Figure
    """

    # What the parameters may be, whatever the explanation
    _constraints: ClassVar[Mapping[str, Constraint]] = {}
    # What an explainer is asked for whose explanations this display draws
    _asked: ClassVar[Mapping[str, Any]] = {}

    @classmethod
    @abstractmethod
    def from_explanation(cls, *args: Any, **kwargs: Any) -> "Self | SmallMultiples":
        """Draw an explanation."""

    @classmethod
    def from_estimator(cls, estimator, X, *, background=None, **kwargs) -> "Self | SmallMultiples":
        """Explain rows and draw their explanation.

        Parameters
        ----------
        estimator : fitted estimator, function, or fitted explainer
            What is explained; an explainer explains as it is set up.
        X : array or frame of shape (r, d)
            The rows to explain.
        background : array or frame of shape (b, d), default=None
            The rows that stand in for absent features, such as those that the estimator was fitted
            on. Needed for all but an explainer, which has its own.
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
        check_values(cls.__name__, kwargs, cls._constraints)  # before the model is called
        made = explanation_of(cls.__name__, estimator, X, background, **cls._asked)
        return cls.from_explanation(made, **kwargs)


class OneRowDisplay(Display):
    """Base class of the displays of one prediction, from base value to prediction.

    Parameters
    ----------
    table : DataFrame
        Columns ``feature``, ``data``, ``value``, ``standard_error``; the largest first.
    base_value, prediction : float
    response : str, default="response"
        Name of the explained response, for the axis.
    """

    _constraints = {"row": ROW, "max_features": COUNT, "max_pairs": Count(least=0), "ax": AXES}

    def __init__(self, table, base_value, prediction, response="response") -> None:
        self.table = table
        self.base_value = base_value
        self.prediction = prediction
        self.response = response

    @classmethod
    def from_explanation(
        cls, explanation, *, row=None, output=None, max_features=10, max_pairs=0, ax=None
    ) -> "Self | SmallMultiples":
        """Draw the explanation of one instance.

        Parameters
        ----------
        explanation : Explanation
        row : int, default=None
            Position of the instance. May be left out if there is only one.
        output : label, default=None
            One of `explanation.output_names`. None: all, side by side, or the strongest of many.
        max_features : int or None, default=10
            Features shown one by one, the largest first; the others are summed. None: all.
        max_pairs : int, default=0
            So many of the strongest interactions are shown as well, and count as features. Each of
            the two features gives half of it away, and has no error then.
        ax : matplotlib Axes, or one for each output, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        display : the drawn display, or SmallMultiples of them for several outputs

        Raises
        ------
        ValueError, TypeError, IndexError
            For an invalid row, output, max_features, max_pairs or ax, and for pairs of an
            explanation without interactions.
        """
        check_drawing(
            cls,
            explanation,
            ax=ax,
            output=output,
            row=row,
            max_features=max_features,
            max_pairs=max_pairs,
            one_row=True,
        )
        if max_pairs:
            check_pairs(cls.__name__, explanation)
        chosen = one_row(explanation, row)

        def read(output) -> tuple[pd.DataFrame, float, float, str]:
            shown = one_output(chosen, output)
            shown = with_pairs(shown, None, max_pairs) if max_pairs else shown
            return parts_of_row(shown, None, max_features)

        return by_output(cls, chosen, output, ax, read)


class SmallMultiples(Drawn):
    """The displays of several outputs side by side, on one scale.

    `from_explanation` of a display returns one of these for an explanation of several outputs,
    unless its `output` names one of them. Of more than 12 outputs it shows the 6 whose attributions
    are largest.

    Parameters
    ----------
    displays : dict of str to display
        Displays of one kind, by the name of their output.
    note : str, default=""
        What a new figure says above the displays.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The first of `axes_`.
    axes_ : list of matplotlib Axes
        One for each output; a row of them for each output where its display has several.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import ShapleyExplainer
    >>> weights = np.array([[1.0, 0.0], [-3.0, 2.0]])
    >>> explainer = ShapleyExplainer(lambda X: X @ weights).fit(np.zeros((1, 2)))
    >>> drawn = explainer.explain(np.eye(2)).plot.bar()
    >>> drawn.frame()[["feature", "value"]]
             feature  value
    output
    0      0      x1    1.5
           1      x0    0.5
    1      0      x1    1.0
           1      x0    0.0
    >>> len(drawn.axes_)
    2
    """

    def __init__(self, displays, note="") -> None:
        self.displays = displays
        self.note = note

    def frame(self) -> pd.DataFrame:
        """Return what is drawn, as numbers.

        Returns
        -------
        frame : DataFrame
            The frames of all displays, below each other. The first level of the index is
            ``output``.
        """
        frames = {name: display.frame() for name, display in self.displays.items()}
        return pd.concat(frames, names=["output"])

    def _height(self, width) -> float:
        return max(display._height(width) for display in self.displays.values())

    def plot(self, ax=None) -> Self:
        """Draw all displays.

        Parameters
        ----------
        ax : array or sequence of matplotlib Axes, default=None
            One for each output, or as many as its display has; a new figure by default.

        Returns
        -------
        self : SmallMultiples
        """
        first = next(iter(self.displays.values()))
        each = first._n_axes
        width = max(display._narrow_width for display in self.displays.values())
        titles = [wrapped(name) for name in self.displays]
        high = TITLE_LINE * max(title.count("\n") + 1 for title in titles)
        size, n = (width, self._height(width) + high), each * len(self.displays)
        axes = panels(ax, n, type(first).__name__, size, each if each > 1 else None)
        if ax is None and self.note:
            axes[0].figure.suptitle(self.note, fontsize="medium", parse_math=False)
        parts = [axes[start : start + each] for start in range(0, n, each)]
        # First the names, which narrow axes, so that each display measures its final room.
        for display, own in zip(self.displays.values(), parts, strict=True):
            if names := display._row_names(letters_beside(own[0])):
                write_names(own[0], names)
        for (name, display), own in zip(self.displays.items(), parts, strict=True):
            display._title = of_output(name)
            display.plot(own)
            display._title = None
            _entitle(own[0], wrapped(name, letters_across(own[0], TITLE)))
        if first._row_names():
            settle(axes[0])
            for own in parts:
                fit_names(own[0])
        if first._scale is not None:
            limits = [getattr(ax, f"get_{first._scale}lim")() for ax in axes]
            for ax in axes:
                ax.set(**{f"{first._scale}lim": (np.min(limits), np.max(limits))})
        return self._drawn_on(axes)


Chosen = TypeVar("Chosen", bound=Drawn)


def by_output(
    make: Callable[..., Chosen],
    explanation,
    output,
    ax,
    read: Callable[[Any], tuple],
    strength: Callable[[Any], Any] = strengths,
) -> Chosen | SmallMultiples:
    """Draw the display of one output, or those of all or the strongest outputs if it is None.

    Parameters
    ----------
    make : callable
        The class of the display.
    explanation : Explanation, Comparison or Drift
        Of the instances that are drawn.
    output : label or None
    ax : matplotlib Axes, a sequence of them, or None
    read : callable
        Returns the arguments of `make` for an output.
    strength : callable
        Returns a number for each output, ``(k,)``. The largest of many are drawn.

    Returns
    -------
    display : the drawn display, or SmallMultiples of several
    """
    names = explanation.output_names
    if output is not None or names is None:
        return make(*read(output)).plot(ax)
    names, note = list(names), ""
    if (n := len(names)) > MOST_OUTPUTS:
        order = np.argsort(-np.asarray(strength(explanation)), kind="stable")
        names = [names[place] for place in order[:STRONGEST_OUTPUTS]]
        note = f"the {len(names)} strongest of {n} outputs"
    return SmallMultiples({name: make(*read(name)) for name in names}, note).plot(ax)


def _entitle(ax, name) -> None:
    """Write the name of an output above its axes, unless something else is there."""
    legend = ax.get_legend()
    if legend is not None and not legend.get_title().get_text():
        legend.set_title(name)
    elif not ax.get_title() and not ax.get_title(loc="left"):
        ax.set_title(name, loc="left", fontsize=TITLE, parse_math=False)
