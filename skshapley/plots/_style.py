"""Colours, axes, rows and points: the shared style of displays.

Blue and orange differ for any kind of colour vision, and contrast with white and black.
Lines and text have the colour of the axes' labels, so they follow style sheets.
"""

from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skshapley._tables import LEAST_NAME, MAX_NAME, shorten
from skshapley._tools import check_values, needed
from skshapley.plots._common import AXES, HALF_WIDTH

# Error bars with more causes of error, behind the thin ones
BAND = {"alpha": 0.35, "elinewidth": 7.0, "capsize": 0, "zorder": 3}
WIDE_BAND = {"alpha": 0.18, "elinewidth": 11.0, "capsize": 0, "zorder": 3}
BANDS = {
    "background_error": "the background (band)",
    "refit_error": "the training data (pale band)",
}
POSITIVE = "#E07B00"
NEGATIVE = "#2B83BA"
NEUTRAL = "#8C8C8C"
# Okabe and Ito (2008), without black and yellow, which are invisible on black or white
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")

ROW_HEIGHT, LEAST_ROW_HEIGHT = 0.38, 0.15  # inches
WIDTH = 8.0
PANEL = (4.0, 3.0)
LARGE_PANEL = (8.0, 5.2)  # size of a single panel, in inches
# Mean widths of a letter and of a digit, relative to the font size
LETTER = 0.55
DIGIT = 0.65
NAMES = 0.46  # largest share of the names in the width of the axes and of their names
LEAST_LABEL = 16  # letters of a line of a label, such as "(log-probability"
LEAST_SIZE = 4.0  # points
FADED = 0.35  # opacity of cells that may be 0
MOST_ROOM = 0.3  # largest share of the width of the axes for the numbers on one side
POINT = 7.0  # length of the point of a bar, in points
STYLES = ("-", "--", ":", "-.")
NEAR = 0.3  # share of the axis between "missing" and the smallest number
MISSING = "missing"
UPRIGHT = 8  # long labels; beyond this number, they are vertical
MOST_LETTERS = 24  # letters of all labels of an axis in one line
# Half the height of a row that points may fill
# Rows are 1 apart, so neighbouring piles are at least .2 apart.
REACH = 0.4
BINS = 120
STEP = 0.12  # at most, between points of a pile

Ticks = dict[float, str]


def level_colours() -> Any:
    """Return the colour map from low to high values, visible on white and on black."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(
        "levels",
        ["#2468B4", "#7B52B9", "#CC4478", "#F0872C"],
    ).with_extremes(bad=NEUTRAL)


def signed_colours() -> Any:
    """Return the diverging colour map of attributions, for filled areas."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(
        "signed",
        ["#1B5E91", "#7DB3D8", "#F2F2F2", "#F0B264", "#B35F00"],
    )


def panels(axes, n, owner, size, n_together=1) -> list[Any]:
    """Return the n given axes, or new ones of a given size in inches.

    A figure is as wide as a notebook's cell. Each `n_together` panels begin a new line,
    if they are several.
    """
    plt = needed("matplotlib.pyplot", owner, "plot")
    check_values(owner, {"ax": axes}, {"ax": AXES})
    if axes is None:
        n_together = n_together if n_together > 1 else n
        n_columns = min(n_together, max(int(WIDTH / size[0]), 1))
        n_cells = -(-n_together // n_columns) * n_columns
        n_rows = n_cells * (n // n_together) // n_columns
        figure = plt.figure(
            figsize=(size[0] * n_columns, size[1] * n_rows),
            layout="constrained",
        )
        # the last cells of a group may stay empty
        axes = [
            figure.add_subplot(n_rows, n_columns, cell + 1)
            for cell in range(n_rows * n_columns)
            if cell % n_cells < n_together
        ]
    axes = list(np.ravel(np.asarray(axes, dtype=object)))
    for ax in axes:
        ax.tick_params(labelsize=tick_size())
    if len(axes) != n:
        raise ValueError(
            f"{owner} got {len(axes)} axes for {n} panels: pass as many axes as "
            "panels, or None for a new figure."
        )
    return axes


def settle(ax) -> None:
    """Lay out the axes with the names beside them, if the figure has a layout engine."""
    figure = ax.figure.canvas.figure
    engine = figure.get_layout_engine()
    # Only a layout engine knows the final size, which depends on names and labels.
    if engine is not None:
        engine.execute(figure)


def width_in_points(ax) -> float:
    """Return the width of the axes in points, after `settle`."""
    return ax.get_window_extent().width * 72 / ax.figure.dpi


def letters_beside(ax) -> int:
    """Return the largest number of letters of row names."""
    spec = ax.get_subplotspec()
    share = 1.0 if spec is None else len(spec.colspan) / spec.get_gridspec().ncols
    return _letters(NAMES * share * ax.figure.bbox.width * 72 / ax.figure.dpi)


def letters_within(ax, margin=0) -> int:
    """Return how many letters fit into the width of the axes, less a margin in points."""
    return _letters(width_in_points(ax) - margin)


def _letters(points) -> int:
    return int(np.clip(points / (LETTER * type_size()), LEAST_NAME, MAX_NAME))


def in_lines(text, points) -> str:
    """Return a label in lines of limited length in points."""
    return fill(text, max(int(points / (LETTER * type_size())), LEAST_LABEL))


def label_x(ax, text) -> None:
    """Label the x axis, in lines no wider than the axes."""
    ax.set_xlabel(
        in_lines(text, width_in_points(ax)),
        fontsize=type_size(),
        parse_math=False,
    )


def name_panel(ax, name) -> None:
    """Write the name of a feature below its panel, and leave two spines."""
    ax.set_xlabel(
        shorten(name, letters_within(ax)),
        fontsize=type_size(),
        parse_math=False,
    )
    ax.spines[["top", "right"]].set_visible(False)


def label_y(ax, text) -> None:
    """Label the y axis, in lines no longer than the height of the axes."""
    ax.set_ylabel(
        in_lines(text, 0.9 * row_in_points(ax, 1)),
        fontsize=type_size(),
        parse_math=False,
    )


def curves(ax, table, x, by) -> dict[str, Any]:
    """Draw a line and a band for each part of a table, and return the lines by name.

    Parameters
    ----------
    ax : matplotlib Axes
    table : DataFrame
        Columns `x`, `by`, ``value``, and ``low`` and ``high`` or ``standard_error``.
    x, by : str
        The columns of the positions and of the names.
    """
    if "low" not in table:
        half = HALF_WIDTH * table["standard_error"]
        table = table.assign(low=table["value"] - half, high=table["value"] + half)
    lines = {}
    for place, (name, part) in enumerate(table.groupby(by, sort=False)):
        # Line styles distinguish the lines after the colours are used up.
        styles, place = divmod(place, len(COLOURS))
        ax.fill_between(
            part[x],
            part["low"],
            part["high"],
            color=COLOURS[place],
            alpha=0.2,
            lw=0,
        )
        (lines[name],) = ax.plot(
            part[x],
            part["value"],
            marker="o",
            markersize=3.5,
            linewidth=1.3,
            color=COLOURS[place],
            linestyle=STYLES[styles % len(STYLES)],
            label=name,
        )
    return lines


def legend(ax, handles, names, letters=MAX_NAME, **where) -> None:
    """Write a legend with literal names, which may begin with "_"."""
    # Placeholders first: matplotlib drops labels that begin with an underscore.
    box = ax.legend(
        handles,
        ["name"] * len(handles),
        frameon=False,
        fontsize=tick_size(),
        title_fontsize=tick_size(),
        **where,
    )
    for text, name in zip(box.get_texts(), names, strict=True):
        text.set(text=shorten(name, letters), parse_math=False)
    box.get_title().set_parse_math(False)


def legend_above(ax, handles, names) -> None:
    """Write a legend above settled axes: in one line, or in one column if too wide."""
    letters = letters_within(ax, 50)
    widths = [LETTER * tick_size() * min(len(str(name)), letters) for name in names]
    # 50 points for the handle and the space of each entry.
    in_one_line = sum(widths) + 50 * len(names) <= width_in_points(ax)
    legend(
        ax,
        handles,
        names,
        letters,
        ncols=len(names) if in_one_line else 1,
        loc="lower left",
        bbox_to_anchor=(0, 1),
        alignment="left",
    )
    settle(ax)


def write_names(ax, names) -> None:
    """Write the names of the rows 0, 1, ... beside the axes, in a size that fits their height."""
    # Names are literal: "$" and "_" have no special meaning.
    ax.set_yticks(
        range(len(names)),
        names,
        fontsize=font_size(ax, len(names)),
        parse_math=False,
    )


def name_rows(ax, names) -> None:
    """Name the rows 0, 1, ... from top to bottom, and settle the axes."""
    write_names(ax, names)
    settle(ax)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    # Dotted lines lead from a name to its points without competing with them.
    ax.grid(axis="y", color=ink(ax), alpha=0.25, linewidth=0.6, linestyle=(0, (1, 4)))
    ax.set_axisbelow(True)
    # A tick each 40 points has room for about five letters and the space between.
    ax.xaxis.get_major_locator().set_params(
        nbins=int(np.clip(width_in_points(ax) / 40, 2, 7))
    )


def font_size(ax, n_rows) -> float:
    """Return the font size, in points, for one-line rows that share the height of the axes."""
    # Text with ascenders fills 72 % of the height of its line, and labels take some of
    # the height.
    return float(np.clip(0.65 * row_in_points(ax, n_rows), LEAST_SIZE, type_size()))


def row_in_points(ax, n_rows) -> float:
    """Return the height of each of the rows that share the axes, in points."""
    return ax.get_window_extent().height * 72 / ax.figure.dpi / n_rows


def type_size() -> float:
    """Return the font size of names and labels in points, that of tick labels by the style.

    10 points are 14 pixels, the size of a notebook's text, if the figure is not wider
    than its cell.
    """
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties

    return FontProperties(size=rcParams["ytick.labelsize"]).get_size_in_points()


def tick_size() -> float:
    """Return the font size of ticks, legends and titles, in points."""
    return 0.9 * type_size()


def signed_cells(ax, values, limit, alpha, **how) -> Any:
    """Draw attributions as colours up to a limit, with the opacity of each."""
    return ax.imshow(
        values,
        interpolation="nearest",
        cmap=signed_colours(),
        vmin=-limit,
        vmax=limit,
        alpha=alpha,
        **how,
    )


def faded_cells(ax, values, half, limit) -> tuple[Any, str]:
    """Draw attributions as colours up to a limit, pale where the 95 % interval contains 0.

    Return the image, and a note for the label: empty if no cell is pale.
    """
    unsure = np.abs(values) <= half
    image = signed_cells(ax, values, limit, np.where(unsure, FADED, 1.0), aspect="auto")
    ax.set_ylim(len(values) - 0.5, -0.5)
    return image, "; faded: 95 % interval contains 0" if unsure.any() else ""


def colour_bar(ax, image, label, pad=0.02, ends=None, above=False) -> Any:
    """Draw and return the bar of an image's colours, beside the axes.

    `ends` are texts for 0 and 1, instead of numbers. A label beside the bar would seem
    to belong to another panel on the right; `above` puts it above the bar.
    """
    bar = ax.figure.colorbar(image, ax=ax, aspect=30, pad=pad)
    bar.outline.set_visible(False)
    if ends is not None:
        bar.set_ticks([0, 1], labels=ends, parse_math=False)
        bar.ax.tick_params(length=0)
    bar.ax.tick_params(labelsize=tick_size())
    if above:
        bar.ax.set_title(label, fontsize=tick_size(), loc="right", parse_math=False)
        return bar
    # The bar is a little lower than the axes.
    label = in_lines(label, 0.8 * row_in_points(ax, 1))
    # Texts at both ends leave the middle free, so the label moves beside them.
    pad = 4.0 if ends is None else -3.0
    bar.set_label(label, fontsize=type_size(), labelpad=pad, parse_math=False)
    return bar


def ink(ax) -> Any:
    """Return the text colour of the axes, by the style sheet."""
    return ax.xaxis.label.get_color()


def zero_line(ax) -> None:
    """Draw the zero line of attributions."""
    ax.axvline(0.0, color=ink(ax), linewidth=0.8, alpha=0.6, zorder=1)


def error_bars(ax, x, y, half, **line) -> None:
    """Draw horizontal intervals of points; 0 and NaN have none."""
    positive = half > 0
    line = {"ecolor": ink(ax), "elinewidth": 1.0, "capsize": 2.5, "zorder": 4, **line}
    ax.errorbar(x[positive], y[positive], xerr=half[positive], fmt="none", **line)


def point_intervals(ax, x, y, half, colours, alpha, width=1.5) -> None:
    """Draw horizontal intervals in the colours of their points; 0 and NaN have none."""
    positive = half > 0
    ax.hlines(
        y[positive],
        (x - half)[positive],
        (x + half)[positive],
        colors=colours[positive],
        alpha=alpha,
        linewidth=width,
        zorder=2,
    )


def interval_bars(ax, x, low, high, y) -> None:
    """Draw intervals of points; an infinite end is an arrow at the farthest point or finite end."""
    # 0 is shown in any case, since the question is which side an interval is on.
    finite = [*x, *low[np.isfinite(low)], *high[np.isfinite(high)], 0.0]
    clipped = [np.clip(end, min(finite), max(finite)) for end in (low, high)]
    error_bars(ax, (clipped[0] + clipped[1]) / 2, y, (clipped[1] - clipped[0]) / 2)
    for end, drawn, arrow in zip((low, high), clipped, "<>", strict=True):
        if (far := np.isinf(end)).any():
            ax.scatter(drawn[far], y[far], s=20, color=ink(ax), marker=arrow, zorder=4)


def write_inside(ax, start, rows, texts, lengths) -> np.ndarray:
    """Write numbers in the middle of the bars that are wide enough, and say which are.

    Call it after `name_rows`, and before margins make the bars narrower.

    Parameters
    ----------
    ax : matplotlib Axes
    start, rows, lengths : array of shape (n,)
        The free parts of the bars, with the sign of their direction.
    texts : list of str
    """
    low, high = ax.get_xlim()
    size = min(font_size(ax, len(rows) + 2), tick_size())
    # Margins for the numbers outside take a part of the width.
    points = (1 - MOST_ROOM) * width_in_points(ax) / (high - low)
    letters = np.array([len(text) for text in texts])
    fits = np.abs(lengths) * points > DIGIT * size * letters + POINT
    for place in np.flatnonzero(fits):
        # Black is legible on both colours of bars.
        ax.text(
            start[place] + lengths[place] / 2,
            rows[place],
            texts[place],
            ha="center",
            va="center",
            zorder=5,
            fontsize=size,
            color="black",
            parse_math=False,
        )
    return fits


def write_numbers(ax, x, y, texts, sides, n_rows, *, both=True) -> None:
    """Write numbers beside bars, and make room for them.

    Call it after `name_rows`, because names may narrow the axes.

    Parameters
    ----------
    ax : matplotlib Axes
    x, y : array of shape (n,)
        The ends of the bars, intervals included, and their rows.
    texts : list of str
    sides : array of shape (n,)
        Numbers are left of their place if this is negative.
    n_rows : int
        The number of lines that share the height of the axes.
    both : bool, default=True
        Whether numbers need room on both sides.
    """
    width = width_in_points(ax)
    letters = DIGIT * max(map(len, texts))
    size = min(
        font_size(ax, n_rows),
        tick_size(),
        max((MOST_ROOM * width - 8) / letters, LEAST_SIZE),
    )
    for place, row, text, side in zip(x, y, texts, sides, strict=True):
        gap, align = (-5, "right") if side < 0 else (5, "left")
        ax.annotate(
            text,
            (place, row),
            (gap, 0),
            textcoords="offset points",
            va="center",
            ha=align,
            fontsize=size,
            color=ink(ax),
            parse_math=False,
        )
    room = min((letters * size + 8) / width, MOST_ROOM)
    margin = room / (1 - room * (1 + both))
    # Axes that share a scale have the same margins, as shares of the data.
    for sibling in ax.get_shared_x_axes().get_siblings(ax):
        sibling.margins(x=max(margin, sibling.margins()[0]))


def interval_note(frame) -> str:
    """Return the explanation of error bars at the end of an axis label, or an empty text."""
    bands = [
        cause
        for column, cause in BANDS.items()
        if column in frame and (frame[column] > 0).any()
    ]
    sampled = (frame["standard_error"] > 0).any()
    if not bands:
        return ", with 95 % interval" if sampled else ""
    start = "sampling (line) and with " if sampled else ""
    return f", with 95 % interval of {start}{' and with '.join(bands)}"


def arrow_bars(ax, rows, start, value, height, colours) -> None:
    """Draw horizontal bars with points at their ends, after the limits of the axes are set."""
    from matplotlib.path import Path

    boxes = ax.barh(rows, value, left=start, height=height, color=colours, zorder=2)
    low, high = ax.get_xlim()
    longest = POINT * (high - low) / width_in_points(ax)
    for box, row, first, length in zip(boxes, rows, start, value, strict=True):
        last = first + length
        shoulder = last - np.sign(length) * min(longest, abs(length))
        bottom = row - height / 2
        top = row + height / 2
        outline = Path(
            [
                (first, bottom),
                (shoulder, bottom),
                (last, row),
                (shoulder, top),
                (first, top),
                (first, bottom),
            ]
        )
        box.set_clip_path(outline, transform=ax.transData)


def upright(ticks: Ticks) -> bool:
    """Return True if many long texts need vertical labels."""
    return len(ticks) > UPRIGHT and sum(map(len, ticks.values())) > MOST_LETTERS


def write_ticks(ax, ticks: Ticks) -> None:
    """Write ticks below the axes; long ones are slanted, or vertical if they are many."""
    at = list(ticks)
    texts = list(ticks.values())
    rotation: dict = {}
    if sum(map(len, texts)) > MOST_LETTERS:
        rotation = {
            "rotation": 90 if upright(ticks) else 30,
            "ha": "right",
            "va": "center",
            "rotation_mode": "anchor",
            "fontsize": np.clip(width_in_points(ax) / len(at), 4, 9),
        }
    elif (
        texts[0] == MISSING and len(at) > 1 and at[1] - at[0] < NEAR * (at[-1] - at[0])
    ):
        texts[0] = f"\n{MISSING}"  # below the others, which it would touch
    ax.set_xticks(at, texts, parse_math=False, **rotation)


def dot_size(n: int) -> float:
    """Return the area of n dots, in square points, that shows their density."""
    # Up to 150 dots have the full size; then the total area grows with the square root
    # of n.
    return float(np.clip(16 * np.sqrt(150 / max(n, 1)), 3, 16))


def faintness(n: int) -> float:
    """Return the opacity of n intervals, so that together they do not hide the dots."""
    # Forty opaque intervals' worth of ink, and never invisible.
    return float(np.clip(40 / max(n, 1), 0.2, 0.6))


def swarm(x, rows) -> NDArray[np.float64]:
    """Return offsets in [-0.4, 0.4] that spread points of similar x within their row, ``(n,)``.

    The range of x has 120 bins. Points of a row in the same bin pile up around the
    middle of the row: they move by 0, +1, -1, +2, ... steps, in their order. The
    highest pile of a row determines its step, so that each row shows the density of its
    own points.
    """
    span = np.ptp(x) or 1.0
    bins = np.minimum((BINS * (x - x.min()) / span).astype(int), BINS - 1)
    # Only the groups matter; the zeros are placeholders.
    pile = pd.Series(np.zeros(len(x))).groupby([rows, bins])
    place = pile.cumcount().to_numpy()
    # 0, 1, -1, 2, -2, ...: symmetric for odd piles, half a step lower for even ones.
    offset = np.where(place % 2, place + 1, -place) / 2
    offset = offset - np.where(pile.transform("size").to_numpy() % 2 == 0, 0.5, 0.0)
    highest = pd.Series(np.abs(offset)).groupby(rows).transform("max").to_numpy()
    # The highest pile fills the row, and lower piles keep its step, so heights compare.
    return offset * np.minimum(STEP, REACH / np.maximum(highest, 1.0))
