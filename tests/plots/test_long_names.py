"""Long names, narrow axes, many outputs: texts neither overlap nor leave the figure."""

from dataclasses import replace
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.text import Text

from skshapley.comparison import compare, drift
from skshapley.plots import (
    ControlChartDisplay,
    ConvergenceDisplay,
    DumbbellDisplay,
    MaskingCurveDisplay,
    SentenceDisplay,
)
from skshapley.plots._sentence import _flowed

NAMES = [
    "Average monthly household expenditure on durable consumer goods and services",
    "number_of_days_since_the_last_successful_payment_was_received_by_the_department",
    "AVERAGEMONTHLYHOUSEHOLDEXPENDITUREONDURABLECONSUMERGOODSANDSERVICES",
    "Share of employees with permanent contracts; percentage of full-time equivalents",
    "Concentration of particulate matter below 2.5 micrometres (station 12)",
    "Concentration of particulate matter below 2.5 micrometres (station 14)",
]
CLASSES = [
    f"acute and other inflammatory conditions of the organ of number {i}"
    for i in range(13)
]
METHOD = "antithetic permutations (Owen) with a long name of the method"


@pytest.fixture
def long(explanation_maker):
    """Make explanations of long names."""

    def make(outputs=None):
        explanation = explanation_maker(40, len(NAMES), outputs=outputs)
        data = explanation.data.set_axis(NAMES, axis=1)
        return replace(
            explanation, data=data, feature_names=np.array(NAMES, dtype=object)
        )

    return make


def dumbbell(explanation, **kwargs):
    names = ("customers before the change of the tariff in spring", "$after$")
    compared = compare(explanation[:20], explanation[20:], names=names)
    return DumbbellDisplay.from_comparison(compared, **kwargs)


def chart(explanation, **kwargs):
    return ControlChartDisplay.from_drift(
        drift(explanation, np.arange(40) // 10), **kwargs
    )


def convergence(explanation, **kwargs):
    series = [
        replace(explanation, n_model_rows=np.full(40, n), standard_errors=None)
        for n in (10, 20)
    ]
    return ConvergenceDisplay.from_explanations(
        {METHOD: series, "_b": series}, row=0, **kwargs
    )


def by_method(kind, **asked):
    return lambda explanation, **kwargs: getattr(explanation.plot, kind)(
        **asked, **kwargs
    )


DISPLAYS = {
    "dumbbell": dumbbell,
    "convergence": convergence,
    "chart": chart,
    **{
        kind: by_method(kind)
        for kind in ("bar", "beeswarm", "decision", "matrix", "importance")
    },
    "waterfall": by_method("waterfall", row=0),
    "cohorts": by_method(
        "bar", cohorts=np.resize(["men of any age and class", "women"], 40)
    ),
}


def lying_texts(figure):
    """Boxes of all horizontal texts, by their text."""
    figure.canvas.draw()
    hidden = set()
    for ax in figure.findobj(Axes):  # those inside others too
        for axis in (ax.xaxis, ax.yaxis):
            drawn = axis._update_ticks() if ax.axison else []
            ticks = [tick for tick in axis.get_major_ticks() if tick not in drawn]
            hidden |= {label for tick in ticks for label in (tick.label1, tick.label2)}
    texts = [
        text
        for text in figure.findobj(Text)
        if text.get_visible() and text not in hidden
    ]
    return [
        (text.get_text(), text.get_window_extent())
        for text in texts
        if text.get_text().strip() and text.get_rotation() % 90 == 0
    ]


def assert_clear(figure, but=()):
    """Texts overlap by less than 4 pixels, and leave the figure by less than 5."""
    boxes = [(said, box) for said, box in lying_texts(figure) if said not in but]
    for said, box in boxes:
        assert box.x0 > -4, said
        assert box.x1 < figure.bbox.width + 5, said
        assert box.y0 > -4, said
        assert box.y1 < figure.bbox.height + 4, said
    for (said, one), (other, two) in combinations(boxes, 2):
        wide = min(one.x1, two.x1) - max(one.x0, two.x0)
        high = min(one.y1, two.y1) - max(one.y0, two.y0)
        assert min(wide, high) < 4, f"{said!r} on {other!r}"


QUICK = ("dumbbell", "bar", "waterfall")


@pytest.mark.parametrize(
    "draw",
    [
        pytest.param(draw, marks=[pytest.mark.slow] * (kind not in QUICK), id=kind)
        for kind, draw in DISPLAYS.items()
    ],
)
def test_long_names_do_not_overlap(draw, long):
    # the last line of a row with a key is blank
    but = ["high", "low"] if draw is DISPLAYS["beeswarm"] else ()
    assert_clear(draw(long()).figure_, but)


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("dumbbell", marks=pytest.mark.slow),
        "bar",
        pytest.param("importance", marks=pytest.mark.slow),
        "waterfall",
    ],
)
def test_long_names_do_not_overlap_in_a_narrow_figure(kind, long):
    _, ax = plt.subplots(figsize=(4, 4), layout="constrained")
    drawn = DISPLAYS[kind](long(), ax=ax)
    assert_clear(drawn.figure_)
    assert ax.get_window_extent().width > 0.2 * drawn.figure_.bbox.width


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dumbbell", "matrix"])
def test_the_strongest_outputs_are_drawn_without_overlap(kind, long):
    drawn = DISPLAYS[kind](long(CLASSES))
    assert drawn.figure_.get_suptitle() == "the 6 strongest of 13 outputs"
    assert_clear(drawn.figure_)
    assert not any(
        "organ" in ax.get_xlabel() for ax in drawn.axes_
    )  # which the titles say
    alone = DISPLAYS[kind](long(CLASSES), output=CLASSES[3])
    labels = [ax.get_xlabel() + ax.get_ylabel() for ax in alone.figure_.axes]
    assert kind == "dumbbell" or any("organ" in label for label in labels)


def alone(explanation):
    series = [replace(explanation, n_model_rows=np.full(40, n)) for n in (10, 20)]
    return ConvergenceDisplay.from_explanations(series, row=0, max_features=1)


def sentence(explanation):
    words = pd.DataFrame([[f"{name[:5]} " for name in NAMES]] * 40, columns=NAMES)
    return SentenceDisplay.from_explanation(replace(explanation, data=words), row=0)


@pytest.mark.parametrize(
    "draw",
    [alone, chart, DISPLAYS["matrix"]]
    + [
        pytest.param(draw, marks=pytest.mark.slow)
        for draw in (convergence, sentence, DISPLAYS["cohorts"], DISPLAYS["decision"])
    ],
)
def test_each_panel_names_its_output(draw, long):
    figure = draw(long(["cat", "dog"])).figure_
    said = " ".join(
        text.get_text() for text in figure.findobj(Text) if text.get_visible()
    )
    assert "cat" in said
    assert "dog" in said


@pytest.mark.slow
def test_the_strongest_outputs_of_a_comparison_and_a_drift(long):
    """The outputs with the largest differences, and those farthest beyond their limits."""
    explanation = long(CLASSES)
    values = 0.01 * explanation.values
    values[20:, :, [2, 5]] += [1.0, 2.0]
    explanation = replace(explanation, values=values)
    for draw in (dumbbell, chart):
        drawn = draw(explanation, max_features=1)
        assert list(drawn.displays)[:2] == [CLASSES[5], CLASSES[2]]


def test_names_in_legends_may_begin_with_an_underscore(long):
    axes = convergence(long()).axes_
    (legend,) = [ax.get_legend() for ax in axes if ax.get_legend() is not None]
    texts = [text.get_text() for text in legend.get_texts()]
    assert texts[1].startswith("_")
    assert texts[0].startswith("antithe")
    assert "…" in texts[0]


def test_the_legend_has_the_colours_of_the_cohorts(long):
    drawn = DISPLAYS["cohorts"](long())
    legend = drawn.ax_.get_legend()
    shown = [handle.get_facecolor() for handle in legend.legend_handles]
    n = len(NAMES)
    assert [bar.get_facecolor() for bar in drawn.ax_.patches] == [shown[0]] * n + [
        shown[1]
    ] * n
    assert len({*shown}) == 2


def test_long_method_names_leave_room_for_curves():
    table = pd.DataFrame(
        {"method": [METHOD] * 2, "kind": "deletion", "fraction": [0.0, 1.0]}
    )
    table = table.assign(mean=[0.0, -1.0], low=[0.0, -2.0], high=0.0)
    drawn = MaskingCurveDisplay(table).plot()
    assert_clear(drawn.figure_)
    assert drawn.ax_.get_window_extent().width > 0.7 * drawn.figure_.bbox.width


def test_long_tokens_are_wrapped():
    pieces, n_lines = _flowed(["see ", "https://example.org/a/long/path ", "ok"], 12)
    assert "".join(word for token, word, _, _ in pieces if token == 1) == (
        "https://example.org/a/long/path"
    )
    assert n_lines == 1 + max(line for _, _, line, _ in pieces) == 4
    assert all(column + len(word) <= 12 for _, word, _, column in pieces)
    wide, _ = _flowed(["水平", "收入"], 6)
    assert [(line, column) for _, _, line, column in wide] == [(0, 0), (1, 0)]


def test_a_text_with_a_long_token_stays_in_its_figure():
    tokens = ["see ", "https://example.org/" + "long/" * 30, "now"]
    table = pd.DataFrame(
        {"token": tokens, "value": [0.1, -1.0, 0.2], "standard_error": np.nan}
    )
    assert_clear(SentenceDisplay(table).plot().figure_)
