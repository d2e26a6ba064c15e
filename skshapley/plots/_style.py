"""Colours, axes and rows: the look that all displays share.

Blue against orange can be told apart with any kind of colour vision, and both stand out from white
and from black. Lines and text take the colour of the axes' own labels, hence follow style sheets.
"""

from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from skshapley.plots._checks import check_axes, pyplot
from skshapley.plots._text import LEFT_OUT, MAX_NAME, UNEXPLAINED, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colorbar import Colorbar
    from matplotlib.colors import Colormap
    from matplotlib.legend import Legend
    from matplotlib.typing import ColorType

POSITIVE = "#E07B00"
NEGATIVE = "#2B83BA"
NEUTRAL = "#8C8C8C"
# Okabe and Ito (2008), without black and yellow, which vanish on black or white
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")

LIGHT_ON = (NEGATIVE, *COLOURS[:3])  # colours of bars on which white numbers can be read

ROW_HEIGHT, LEAST_ROW_HEIGHT = 0.38, 0.15  # inches
LARGER = 1.2  # type of names and labels, beside the usual tick labels
LEGEND_LINE = 0.2  # inches
WIDTH = 8.0
PANEL = (4.0, 3.0)
LARGE_PANEL = (8.0, 5.2)  # of the only one
LETTER = 0.55  # mean width of a letter, in font sizes
LINE = 1.1  # height of a line of a name, in font sizes
NAMES = 0.46  # of the width of axes and what is beside them, at most, for names
LEAST_LETTERS = 12  # of a line, however narrow the place
LEAST_LABEL = 16  # letters of a line of a label, such as "(log-probability"
LEAST_SIZE = 4.0  # points
MOST_ROOM = 0.35  # of the width of axes, for the numbers on one side


def level_colours() -> "Colormap":
    """Return the colour map from low to high values, visible on white and on black."""
    from matplotlib.colors import LinearSegmentedColormap

    ends = ["#2468B4", "#7B52B9", "#CC4478", "#F0872C"]
    return LinearSegmentedColormap.from_list("levels", ends).with_extremes(bad=NEUTRAL)


def signed_colours() -> "Colormap":
    """Return the diverging colour map of attributions, for filled areas."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(
        "signed", ["#1B5E91", "#7DB3D8", "#F2F2F2", "#F0B264", "#B35F00"]
    )


def colour_of(values) -> list[str]:
    """Return the colour of each attribution's sign."""
    return [NEGATIVE if value < 0 else POSITIVE for value in np.asarray(values)]


def colour_of_steps(frame) -> list[str]:
    """Return the colour of each step between base value and prediction."""
    unknown = frame["feature"].isin([UNEXPLAINED, LEFT_OUT])
    return np.where(unknown, NEUTRAL, colour_of(frame["value"])).tolist()


def height_of_rows(n_rows) -> float:
    """Return the height of axes with `n_rows` rows, in inches."""
    shrink = np.clip((n_rows - 25) / 75, 0, 1)
    return 1.1 + n_rows * (ROW_HEIGHT + shrink * (LEAST_ROW_HEIGHT - ROW_HEIGHT))


def height_of_legend(names) -> float:
    """Return the height of a legend above axes, in inches."""
    lines = [wrapped(name).count("\n") + 1 for name in names]
    line = sum(len(str(name)) + 8 for name in names) <= 2 * MAX_NAME
    return LEGEND_LINE * (max(lines) if line else sum(lines))


def width_of_rows(names) -> float:
    """Return the width, in inches, of axes with such row names, beside others like them."""
    letters = max(len(line) for name in names for line in name.splitlines())
    return min(WIDTH, 4.2 + LETTER * letters * 12 / 72)


def panels(axes, n, owner, size, n_columns=None) -> "list[Axes]":
    """Return the n given axes, or new ones of a size in inches, in rows of at most three."""
    check_axes(owner, axes)
    plt = pyplot(owner)
    if axes is None:
        n_columns = n_columns or (min(n, 3) if n != 4 else 2)
        n_rows = -(-n // n_columns)
        whole = size[0] * n_columns, size[1] * n_rows
        grid = plt.subplots(n_rows, n_columns, figsize=whole, layout="constrained", squeeze=False)
        axes = grid[1].ravel()
        for ax in axes[n:]:
            ax.remove()
        axes = axes[:n]
    axes = list(np.ravel(np.asarray(axes, dtype=object)))
    if len(axes) != n:
        raise ValueError(
            f"{owner} got {len(axes)} axes for {n} panels: pass as many axes as panels, or None for"
            f" a new figure."
        )
    return axes


def settle(ax) -> None:
    """Let the figure lay out its axes with the names beside them, if it has a layout engine."""
    figure = ax.figure.canvas.figure
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)


def width_in_points(ax) -> float:
    """Return the width of the axes in points, as `settle` left it."""
    return ax.get_window_extent().width * 72 / ax.figure.dpi


def side_label(ax, text) -> str:
    """Return a label for the side of axes or of their colour bar, in lines that fit its height."""
    letters = _letters(0.6 * _height_in_pixels(ax) * 72 / ax.figure.dpi)
    return fill(text, max(letters, LEAST_LABEL))


def letters_beside(ax) -> int:
    """Return how many letters the lines of names beside the axes may have."""
    return _letters(NAMES * _place_in_points(ax), font_size(ax, 1))


def letters_across(ax, size=10.0) -> int:
    """Return how many letters the lines of a title may have, as wide as the axes' place."""
    return _letters(0.65 * _place_in_points(ax), size)


def _letters(points, size=10.0) -> int:
    """Return how many letters of a font size go into a width, from 12 to 32."""
    return int(np.clip(points / (LETTER * size), LEAST_LETTERS, MAX_NAME))


def _place_in_points(ax) -> float:
    """Return the width of the axes' column in its grid, margins included."""
    spec = ax.get_subplotspec()
    if spec is None:
        return np.inf
    figure = ax.figure
    share = spec.get_position(figure).width / (figure.subplotpars.right - figure.subplotpars.left)
    return min(share, 1.0) * figure.bbox.width * 72 / figure.dpi


def label_x(ax, text) -> None:
    """Label the x axis, in lines that are not wider than the axes."""
    size = _label_size()
    letters = width_in_points(ax) / (LETTER * size)
    ax.set_xlabel(fill(text, max(int(letters), LEAST_LABEL)), fontsize=size, parse_math=False)


def legend(ax, handles, names, letters=MAX_NAME, **where) -> "Legend":
    """Write and return a legend; its names are no formulas and may begin with "_"."""
    made = ax.legend(handles, ["name"] * len(handles), frameon=False, **where)
    for text, name in zip(made.get_texts(), names, strict=True):
        text.set(text=wrapped(name, letters), parse_math=False)
    made.get_title().set_parse_math(False)
    return made


def legend_above(ax, handles, names) -> None:
    """Write a legend above axes that are settled: in a line, or below each other if too wide."""
    points = width_in_points(ax)
    letters = _letters(points - 40)
    line = sum(min(len(str(name)), letters) for name in names) * LETTER * 10 + 50 * len(names)
    place = {"loc": "lower left", "bbox_to_anchor": (0, 1), "alignment": "left"}
    legend(ax, handles, names, letters, ncols=len(names) if line <= points else 1, **place)


def write_names(ax, names) -> None:
    """Write the names of the rows 0, 1, ... beside the axes, in a font size that fits."""
    # Names are not formulas: "$" and "_" are written as they are.
    size = font_size(ax, len(names), _most_lines(names))
    ax.set_yticks(range(len(names)), names, fontsize=size, linespacing=LINE, parse_math=False)


def _most_lines(names) -> int:
    return max(name.count("\n") + 1 for name in names)


def fit_names(ax) -> None:
    """Make the names of the rows smaller, where the settled axes are lower than was thought."""
    labels = ax.get_yticklabels()
    n_lines = _most_lines([label.get_text() for label in labels])
    row = ax.get_window_extent().height * 72 / ax.figure.dpi / abs(np.diff(ax.get_ylim())[0])
    size = max(LEAST_SIZE, 0.98 * row / (LINE * n_lines))
    if size < labels[0].get_size():
        for label in labels:
            label.set_size(size)
        settle(ax)


def name_rows(ax, names) -> None:
    """Name the rows 0, 1, ... from top to bottom, and settle the axes."""
    n = len(names)
    write_names(ax, names)
    ax.set_ylim(n - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.grid(axis="y", color=ink(ax), alpha=0.25, linewidth=0.6, linestyle=(0, (1, 4)))
    ax.set_axisbelow(True)
    settle(ax)
    fit_names(ax)
    ax.xaxis.get_major_locator().set_params(nbins=int(np.clip(width_in_points(ax) / 40, 2, 7)))


def font_size(ax, n_rows, lines=1) -> float:
    """Return the font size, in points, for rows of some lines that share the height of the axes."""
    usual = _label_size()
    share = 0.72 if lines == 1 else 0.9 / (LINE * lines)
    return float(np.clip(share * points_of_rows(ax, n_rows), LEAST_SIZE, usual))


def fitting(ax, n_rows) -> float:
    """Return the font size, in points, for rows of one line beside axes that are settled."""
    settled = ax.get_window_extent().height * 72 / ax.figure.dpi / n_rows
    return min(font_size(ax, n_rows), max(LEAST_SIZE, settled))


def points_of_rows(ax, n_rows) -> float:
    """Return the height of each of the rows that share the axes, in points."""
    return _height_in_pixels(ax) * 72 / ax.figure.dpi / n_rows


def _height_in_pixels(ax) -> float:
    """Return the height of the axes' place in its grid, which no later layout changes."""
    spec = ax.get_subplotspec()
    if spec is None:
        return ax.get_window_extent().height
    return spec.get_position(ax.figure).height * ax.figure.bbox.height


def _label_size() -> float:
    """Return the font size of names, larger than tick labels in the current style."""
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties

    return LARGER * FontProperties(size=rcParams["ytick.labelsize"]).get_size_in_points()


def colour_bar(ax, image, label, pad=0.02) -> "Colorbar":
    """Draw and return the bar of an image's colours, beside the axes."""
    label = side_label(ax, label)
    bar = ax.figure.colorbar(image, ax=ax, aspect=30, pad=pad, label=label)
    bar.outline.set_visible(False)
    return bar


def ink(ax) -> "ColorType":
    """Return the colour of the axes' text, which follows the style sheet."""
    return ax.xaxis.label.get_color()


def zero_line(ax, at=0.0) -> None:
    """Draw the line that attributions start from."""
    ax.axvline(at, color=ink(ax), linewidth=0.8, alpha=0.6, zorder=1)


def error_bars(ax, x, y, half_widths, wider=None) -> None:
    """Draw horizontal intervals around points with known positive errors.

    `wider` are the half-widths of pale ones behind them.
    """
    if wider is not None and (known := np.isfinite(wider) & (wider > 0)).any():
        low, high = np.asarray(x) - wider, np.asarray(x) + wider
        line = {"color": ink(ax), "alpha": 0.3, "linewidth": 3.0, "zorder": 3}
        ax.hlines(np.asarray(y)[known], low[known], high[known], **line)
    shown = np.isfinite(half_widths) & (half_widths > 0)
    if shown.any():
        ax.errorbar(
            np.asarray(x)[shown],
            np.asarray(y)[shown],
            xerr=np.asarray(half_widths)[shown],
            fmt="none",
            ecolor=ink(ax),
            elinewidth=1.0,
            capsize=2.5,
            capthick=1.0,
            zorder=4,
        )


def interval_bars(ax, low, high, y) -> None:
    """Draw horizontal intervals; an end that is not known is an arrow at the farthest known one."""
    low, high, y = np.asarray(low), np.asarray(high), np.asarray(y)
    known = [*low[np.isfinite(low)], *high[np.isfinite(high)], 0.0]
    shown = [np.clip(end, min(known), max(known)) for end in (low, high)]
    error_bars(ax, (shown[0] + shown[1]) / 2, y, (shown[1] - shown[0]) / 2)
    for end, drawn, arrow in zip((low, high), shown, "<>", strict=True):
        if (far := np.isinf(end)).any():
            ax.scatter(drawn[far], y[far], s=20, color=ink(ax), marker=arrow, zorder=4)


def widen(ax, low, high, texts, size, left=True, right=True) -> float:
    """Set the x limits to low and high, with room for the longest text on the sides named.

    Call it after `name_rows`, since names may narrow the axes.

    Returns
    -------
    size : float
        The font size, made smaller where the texts would need most of the axes.
    """
    if not high > low:
        low, high = low - 0.5, high + 0.5
    ax.set_xlim(low, high)
    points = max(width_in_points(ax), 1.0)
    # A digit is about 0.64 of the font size wide, and `beside` leaves a gap; axes drawn later on
    # the same figure may take some of the width.
    letters = 0.7 * max(map(len, texts))
    size = min(size, max(LEAST_SIZE, (MOST_ROOM * points - 10) / letters))
    room = min((letters * size + 10) / points, MOST_ROOM)
    span = high - low
    unit = span * room / (1 - room * (left + right))
    ax.set_xlim(low - left * unit, high + right * unit)
    return size


def fits_inside(ax, widths, texts, span, size) -> NDArray[np.bool_]:
    """Return whether numbers fit inside their bars, given the span of the axis, ``(n,)``."""
    points = (1 - MOST_ROOM) * width_in_points(ax) / (span or 1.0)
    letters = np.array([len(text) for text in texts])
    return np.asarray(widths) * points > 0.7 * size * letters + 8


def inside(ax, x, y, text, colour, size) -> None:
    """Write text around the point (x, y) of a bar of this colour."""
    ink = "white" if colour in LIGHT_ON else "#1A1A1A"
    ax.annotate(text, (x, y), ha="center", va="center", fontsize=size, color=ink, zorder=5,
                parse_math=False)  # fmt: skip


def beside(ax, x, y, text, towards, size) -> None:
    """Write text beside the point (x, y), left of it where `towards` is negative."""
    ax.annotate(
        text,
        (x, y),
        xytext=(-5 if towards < 0 else 5, 0),
        textcoords="offset points",
        horizontalalignment="right" if towards < 0 else "left",
        verticalalignment="center",
        fontsize=size,
        color=ink(ax),
        annotation_clip=False,
        parse_math=False,
    )


def interval_note(frame) -> str:
    """Return the end of an axis label that explains error bars; empty without error bars."""
    if not (frame["standard_error"] > 0).any():
        return ""
    wider = "background_error" in frame and (frame["background_error"] > 0).any()
    return f", with 95 % interval{' (pale: and of the background)' if wider else ''}"
