"""Dependence: the value of a feature against its attribution."""

from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skshapley._records._importance import errors_of
from skshapley._tables import Piece, ordered_numbers, shorten, value_text
from skshapley._tools import OneOf
from skshapley.plots import _style as style
from skshapley.plots._common import (
    CONSTRAINTS,
    HALF_WIDTH,
    LEVEL_ENDS,
    check_features,
    levels,
    response_name,
    strengths,
)
from skshapley.plots._display import ByFeature, Display, SmallMultiples
from skshapley.plots._partners import (
    categories,
    check_pairs,
    interacting,
    measured_partners,
)

HISTOGRAM = 0.2  # share of the height of the axes
# Letters of a line beside the colour bar, between the numbers at its ends
BAR_LETTERS = 24
THERE = "in the text"
LETTERS = 24  # most letters of a category
OTHERS = " others"  # the end of the text of categories that share a colour
# Categories side by side; beyond this number, the rarer ones share a position
MOST_PLACES = 30
# Distinct numbers; up to this number, each has a tick and spread points
FEW_VALUES = 10
LEAST_GAP = 0.04  # share of the axis between the ticks of two values
SPREAD = 0.15  # largest share of the axis for the points of one number
ASIDE = 0.15  # share of the range of numbers between "missing" and the smallest


class DependenceDisplay(ByFeature, Display):
    """How the attribution of a feature depends on its value, in a panel for each feature.

    Each point is a row, and the line through it is the 95 % interval of its
    attribution. The colour is the value of another feature, the partner: the one that
    interacts most with it or, where the explanation has no interactions, the one that
    best explains why rows of the same value have different attributions. A partner with
    two values has two colours. Several outputs have the same features and partners.
    Categories are
    side by side, the rarer of more than 20 together, and missing values have a place of
    their own. Where a number has few values, the points of each are spread a little.

    Use `from_explanation` or `from_estimator` to make one.

    Parameters
    ----------
    table : DataFrame
        Columns ``feature``, ``row``, ``data``, ``x`` (position on the axis), ``value``,
        ``standard_error``, ``partner`` (name, or None), ``partner_data`` and ``level``
        (the partner's value in [0, 1], or the number of its category; NaN for missing
        values).
    ticks : dict
        For each feature, the positions and texts of its categories; empty for numbers.
    legends : dict
        For each feature, the texts of its partner's categories; empty for numbers.
    response : str, default="response"
        Name of the explained response, for the axis.
    kind : {"attribution", "interaction"}, default="attribution"
        The kind of values.

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
    >>> from skshapley.plots import DependenceDisplay
    >>> explainer = ShapleyExplainer(lambda X: X @ [1.0, -3.0]).fit(np.zeros((1, 2)))
    >>> display = DependenceDisplay.from_estimator(explainer, np.eye(2), features="x1")
    >>> display.frame()[["feature", "data", "value"]]
      feature data  value
    0      x1  0.0   -0.0
    1      x1  1.0   -3.0
    """

    _constraints = CONSTRAINTS | {"kind": OneOf(("attribution", "interaction"))}

    _scale = "y"

    def __init__(
        self,
        table,
        ticks,
        legends,
        response="response",
        kind="attribution",
    ) -> None:
        super().__init__(table, response)
        self.ticks = ticks
        self.legends = legends
        self.kind = kind

    @classmethod
    def from_explanation(
        cls,
        explanation,
        features=None,
        *,
        partner="auto",
        kind="attribution",
        output=None,
        max_features=4,
        ax=None,
    ) -> Self | SmallMultiples:
        """Draw features against their attributions.

        Parameters
        ----------
        explanation : Explanation
        features : str or list of str, default=None
            Names of the features to show. None: the `max_features` most important ones.
        partner : str or None, default="auto"
            Name of the feature that colours the points. "auto": the feature with the
            strongest measured or estimated interaction. None: no colours.
        kind : {"attribution", "interaction"}, default="attribution"
            The quantity drawn against the feature. "interaction": its interaction with
            the partner. By default, `features` are then the two features with the
            strongest interaction. A single feature is followed by its partner.
        output : label, default=None
            One of `explanation.output_names`. None: all, below each other, or the strongest
            of many.
        max_features : int or None, default=4
            Number of features to show if `features` is None. None: all.
        ax : matplotlib Axes, or one for each feature (and output), default=None
            The axes to draw on; a new figure by default.

        Returns
        -------
        display : DependenceDisplay, or SmallMultiples of them for several outputs

        Raises
        ------
        ValueError, TypeError
            For an invalid feature, partner, kind, output, max_features or ax, or an
            explanation without interactions.
        """
        if features is not None and not isinstance(features, list | tuple):
            features = [features]
        names = explanation.feature_names.tolist()
        check_features(cls.__name__, "features", features or [], names)
        check_features(
            cls.__name__,
            "partner",
            [] if partner is None else [partner],
            ["auto", *names],
        )
        if kind == "interaction":
            check_pairs(cls.__name__, explanation)

        def make(chosen, sizes) -> Any:
            # The strongest output chooses the partners of all.
            strongest = chosen
            if output is None and explanation.output_names is not None:
                strongest = explanation.output(
                    explanation.output_names[strengths(explanation).argmax()],
                )
            drawn = chosen.interactions if kind == "interaction" else chosen
            points = []
            if kind == "interaction":
                panels = interacting(strongest, features, partner)
            else:
                selection = features or [
                    names[player]
                    for player in np.argsort(-sizes, kind="stable")[:max_features]
                ]
                partners = [partner] * len(selection)
                if partner == "auto":
                    partners = measured_partners(
                        strongest,
                        [names.index(name) for name in selection],
                    )
                panels = list(zip(selection, partners, strict=True))
            for feature, partner_name in panels:
                players = [feature]
                if kind == "interaction":
                    players.append(partner_name)
                cells = (slice(None), *map(names.index, players))
                points.append(
                    _points(
                        chosen,
                        feature,
                        partner_name,
                        drawn.values[cells],
                        errors_of(drawn)[cells],
                    )
                )
            tables, ticks, legends = zip(*points, strict=True)
            drawn_features = [feature for feature, _ in panels]
            return cls(
                pd.concat(tables, ignore_index=True),
                dict(zip(drawn_features, ticks, strict=True)),
                dict(zip(drawn_features, legends, strict=True)),
                response_name(chosen),
                kind,
            )

        return cls._of_outputs(
            explanation,
            make,
            output=output,
            ax=ax,
            max_features=max_features,
            kind=kind,
        )

    def _size(self, alone) -> tuple[float, float]:
        width, height = super()._size(alone)
        return width, height + (
            0.6 if any(map(style.upright, self.ticks.values())) else 0.0
        )

    def _draw(self, *axes) -> None:
        parts = list(self.table.groupby("feature", sort=False))
        for panel, (feature, part) in zip(axes, parts, strict=True):
            self._panel(panel, feature, part)
        style.label_y(axes[0], f"{self.kind} ({self._said})")
        if len(parts) > 1 or self._title:
            return
        # A histogram of the rows. The axis is extended below, so that it covers no
        # points.
        feature, part = parts[0]
        low, high = axes[0].get_ylim()
        axes[0].set_ylim(low - HISTOGRAM * (high - low), high)
        below = axes[0].inset_axes([0, 0, 1, 0.8 * HISTOGRAM], sharex=axes[0], zorder=0)
        ticks = list(self.ticks[feature])
        several = len(ticks) > 0 and ticks == list(range(len(ticks)))  # categories
        # 2 sqrt(n) bins show gaps and spikes; below 10 or above 60 bars, shape or bars
        # are lost.
        bins = (
            np.arange(len(ticks) + 1) - 0.5
            if several
            else int(np.clip(2 * np.sqrt(len(part)), 10, 60))
        )
        below.hist(
            part["x"].dropna(),
            bins=bins,
            rwidth=0.8 if several else None,
            color=style.NEUTRAL,
            alpha=0.45,
        )
        below.axis("off")

    def _panel(self, ax, feature, part) -> None:
        """Draw the points of one feature."""
        x = part["x"].to_numpy()
        value = part["value"].to_numpy()
        half = HALF_WIDTH * part["standard_error"].to_numpy()
        ax.axhline(0, color=style.ink(ax), linewidth=0.6, alpha=0.5)
        # The intervals have the colour of text, since points have all others.
        # Exact values have no interval, and thousands of empty lines would slow the
        # drawing.
        uncertain = half > 0
        ax.vlines(
            x[uncertain],
            (value - half)[uncertain],
            (value + half)[uncertain],
            color=style.ink(ax),
            linewidth=1.0,
            alpha=style.faintness(len(part)),
            zorder=2,
        )
        size = style.dot_size(len(part))
        partner = part["partner"].iloc[0]
        level = part["level"].to_numpy()
        if groups := self.legends[feature]:
            # the colour of categories that share one is grey
            shared = len(groups) == len(style.COLOURS) and groups[-1].endswith(OTHERS)
            colours = [
                *style.COLOURS[: len(groups) - shared],
                *[style.NEUTRAL] * shared,
            ]
            # Points without a category stay grey below the coloured ones, instead of
            # disappearing.
            ax.scatter(x, value, s=size, c=style.NEUTRAL, linewidth=0, zorder=3)
            handles = [
                ax.scatter(
                    x[in_category],
                    value[in_category],
                    s=size,
                    c=colour,
                    linewidth=0,
                    zorder=4,
                )
                for place, colour in enumerate(colours)
                for in_category in [level == place]
            ]
            style.legend(
                ax,
                handles,
                groups,
                title=f"colour: {shorten(partner, BAR_LETTERS)}",
                loc="upper left",
                bbox_to_anchor=(1, 1),
                markerscale=1.5,
            )
        elif partner is None:
            ax.scatter(x, value, s=size, c=style.COLOURS[0], linewidth=0, zorder=3)
        else:
            style.colour_bar(
                ax,
                ax.scatter(
                    x,
                    value,
                    s=size,
                    lw=0,
                    zorder=3,
                    plotnonfinite=True,
                    c=level,
                    cmap=style.level_colours(),
                    vmin=0,
                    vmax=1,
                ),
                f"colour: {shorten(partner, BAR_LETTERS)}",
                ends=_ends(part["partner_data"]),
                above=True,
            )
        style.name_panel(ax, feature)
        if self.ticks[feature]:
            style.write_ticks(ax, self.ticks[feature])
        elif np.isfinite(x).any():
            letters = max(
                len(value_text(float(end))) for end in (np.nanmin(x), np.nanmax(x))
            )
            # Three letters of space separate the numbers, each as wide as the longer
            # end.
            n_ticks = style.width_in_points(ax) / (style.LETTER * 10 * (letters + 3))
            ax.xaxis.get_major_locator().set_params(nbins=int(np.clip(n_ticks, 2, 6)))


def _points(
    explanation,
    feature,
    partner,
    value,
    error,
) -> tuple[pd.DataFrame, dict[float, str], list[str]]:
    """Return the points of one feature, the ticks of its axis, and the legend of its partner."""
    data = explanation.data[feature]
    x, ticks = places(data, value)
    level = np.full(len(data), np.nan)
    partner_data = None
    legend: list[str] = []
    if partner is not None:
        partner_data = explanation.data[partner]
        groups = categories(partner_data) or _two_values(partner_data)
        if groups is None:
            level = levels(partner_data)
        else:
            level, legend = keyed(partner_data, groups)
    table = pd.DataFrame(
        {
            "feature": feature,
            "row": explanation.index.to_numpy(),
            "data": data.to_numpy(dtype=object),
            "x": x,
            "value": value,
            "standard_error": error,
            "partner": partner,
            "partner_data": None
            if partner_data is None
            else partner_data.to_numpy(dtype=object),
            "level": level,
        }
    )
    return table, ticks, legend


def _two_values(column) -> list | None:
    """Return the two values of a column of numbers or times; None for other columns."""
    finite = column[np.isfinite(ordered_numbers(column))]
    _, firsts = np.unique(ordered_numbers(finite), return_index=True)
    return finite.iloc[firsts].tolist() if len(firsts) == 2 else None


def keyed(
    column,
    groups,
    most: float = len(style.COLOURS),
) -> tuple[NDArray[np.float64], list[str]]:
    """Return the number of each value's category, ``(r,)``, and the texts of the categories.

    Beyond `most` categories, the rarer ones share the last. A token of documents is
    only present or absent.

    Parameters
    ----------
    column : Series
    groups : list
        The categories.
    most : int or infinity

    Returns
    -------
    codes, texts
        Codes are NaN for missing values.
    """
    if isinstance(groups[0], Piece):
        return np.where(pd.Series(column).isna(), np.nan, 0.0), [THERE]
    # as objects, because pandas warns of categories without rows
    coded = pd.Categorical(pd.Series(column).astype(object), groups)
    codes = np.where(coded.codes < 0, np.nan, coded.codes)
    texts = [value_text(group, LETTERS) for group in groups]
    if len(groups) <= most:
        return codes, texts
    n_shared = len(groups) - int(most) + 1
    counts = [np.sum(codes == code) for code in range(len(groups))]
    # Stable, so that equally frequent categories keep their order.
    frequent = np.sort(np.argsort(np.negative(counts), kind="stable")[:-n_shared])
    shared = np.where(
        np.isin(codes, frequent),
        np.searchsorted(frequent, codes),
        most - 1.0,
    )
    return np.where(np.isnan(codes), np.nan, shared), [
        *(texts[code] for code in frequent),
        f"{n_shared}{OTHERS}",
    ]


def _ends(values) -> list[str]:
    """Return the texts of the lowest and the highest value of the colours."""
    column = pd.Series(values).infer_objects()
    finite = column[np.isfinite(ordered_numbers(column))].sort_values(
        key=ordered_numbers
    )
    if finite.empty:
        return ["low", "high"]
    return [
        value_text(finite.iloc[round(end * (len(finite) - 1))]) for end in LEVEL_ENDS
    ]


def places(
    data: pd.Series, value: np.ndarray
) -> tuple[NDArray[np.float64], style.Ticks]:
    """Return the positions of rows along the axis, ``(r,)``, and its ticks.

    Parameters
    ----------
    data : Series of shape (r,)
        Values of the feature.
    value : ndarray of shape (r,)
        Their attributions; points with equal values and similar attributions are
        separated.

    Returns
    -------
    x : ndarray of shape (r,)
    ticks : dict of position to text
        Empty if matplotlib's ticks are sufficient.
    """
    missing = data.isna().to_numpy()
    most = np.inf
    if isinstance(data.dtype, pd.CategoricalDtype) and data.cat.ordered:
        groups: list | None = list(data.cat.categories)
    elif pd.api.types.is_bool_dtype(data.dropna().infer_objects()):
        groups = [False, True]
    else:
        groups = categories(data)
        most = MOST_PLACES
    if groups is None:
        return _on_a_scale(data, value, missing)
    codes, texts = keyed(data, groups, most)
    codes = np.where(np.isnan(codes), len(texts), codes)
    return codes + style.swarm(value, codes), dict(
        enumerate([*texts, *([style.MISSING] if missing.any() else [])]),
    )


def _on_a_scale(
    data: pd.Series,
    value: np.ndarray,
    missing: np.ndarray,
) -> tuple[NDArray[np.float64], style.Ticks]:
    numbers = ordered_numbers(data)
    finite = np.isfinite(numbers)  # infinite values have no position
    distinct = np.unique(numbers[finite])
    low, high = (distinct[0], distinct[-1]) if len(distinct) else (0.0, 0.0)
    span = float(high - low) or 1.0
    aside = float(low - ASIDE * span)
    gap = float(min(np.diff(distinct), default=span))
    x = np.where(missing, aside, np.where(finite, numbers, np.nan))
    few_values = 0 < len(distinct) <= FEW_VALUES
    if few_values and len(distinct) < finite.sum():
        # The swarm reaches .4 of the gap on each side, so that neighbouring piles do
        # not meet.
        placed = finite | missing
        x[placed] += min(gap, SPREAD * span) * style.swarm(value[placed], x[placed])
    at: Any = []
    if few_values:
        at = distinct if gap >= LEAST_GAP * span else distinct[[0, -1]]
    elif pd.api.types.is_datetime64_any_dtype(data):
        # Four dates of ten letters fit below a panel.
        at = np.linspace(low, high, 4)
    elif missing.any():
        from matplotlib.ticker import MaxNLocator

        at = MaxNLocator(5, integer=bool((distinct % 1 == 0).all())).tick_values(
            low,
            high,
        )
        at = at[(at >= low) & (at <= high)]
    ticks = {aside: style.MISSING} if missing.any() else {}
    return x, ticks | {float(place): _number_text(data, place) for place in at}


def _number_text(data: pd.Series, place: float) -> str:
    """Return the text of a position on the axis of a column."""
    if pd.api.types.is_datetime64_any_dtype(data):
        return str(pd.Timestamp(int(place), unit=data.dt.unit).date())
    if pd.api.types.is_timedelta64_dtype(data):
        return str(pd.Timedelta(int(place), unit=data.dt.unit))
    return value_text(float(place))
