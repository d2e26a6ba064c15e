"""Dependence: the value of a feature against its attribution."""

from typing import Any, Self

import numpy as np
import pandas as pd

from skshapley._records._importance import errors_of
from skshapley._tables import ordered_numbers, shorten, value_text
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
from skshapley.plots._partners import check_pairs, interacting, measured_partners
from skshapley.plots._places import (
    OTHERS,
    dot_size,
    faintness,
    keyed,
    places,
    upright,
    write_ticks,
)

HISTOGRAM = 0.2  # share of the height of the axes
# Letters of a line beside the colour bar, between the numbers at its ends
BAR_LETTERS = 24


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
                players = [names.index(feature)]
                if kind == "interaction":
                    players.append(names.index(partner_name))
                cells = (slice(None), *players)
                points.append(
                    _points(
                        chosen,
                        players[0],
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
        return width, height + (0.6 if any(map(upright, self.ticks.values())) else 0.0)

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
            alpha=faintness(len(part)),
            zorder=2,
        )
        size = dot_size(len(part))
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
            write_ticks(ax, self.ticks[feature])
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
    column,
    partner,
    value,
    error,
) -> tuple[pd.DataFrame, dict[float, str], list[str]]:
    """Return the points of one feature, the ticks of its axis, and the legend of its partner."""
    data = explanation.data.iloc[:, column]
    x, ticks = places(data, value)
    level = np.full(len(data), np.nan)
    partner_data = None
    legend: list[str] = []
    if partner is not None:
        partner_data = explanation.data[partner]
        level, legend = (
            keyed(partner_data)
            or _two_values(partner_data)
            or (levels(partner_data), [])
        )
    table = pd.DataFrame(
        {
            "feature": explanation.feature_names[column],
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


def _two_values(column) -> tuple[np.ndarray, list[str]] | None:
    """Return the codes and texts of a column with two values; None for other columns."""
    numbers = ordered_numbers(column)
    finite = np.isfinite(numbers)
    distinct, firsts = np.unique(numbers[finite], return_index=True)
    if len(distinct) != 2:
        return None
    codes = np.searchsorted(distinct, numbers).astype(np.float64)
    return np.where(finite, codes, np.nan), [
        value_text(value) for value in column[finite].iloc[firsts]
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
