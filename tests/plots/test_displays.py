"""The contents of the axes: order, bars, sums, labels. Pixels are not compared."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgba

from skshapley import ShapleyExplainer
from skshapley.plots import BarDisplay, BeeswarmDisplay, WaterfallDisplay

# The colours that the displays share
NEGATIVE = "#2B83BA"
NEUTRAL = "#8C8C8C"
POSITIVE = "#E07B00"

DISPLAYS = [WaterfallDisplay, BarDisplay, BeeswarmDisplay]


def drawn_by(display, explanation, **options):
    """Draw a display; of the first row, if it shows a single row."""
    first = {"row": 0} if display is WaterfallDisplay else {}
    return display.from_explanation(explanation, **first, **options)


def bars(ax):
    """Left end and width of each bar, from top to bottom."""
    boxes = sorted(
        (patch.get_y(), patch.get_x(), patch.get_width()) for patch in ax.patches
    )
    return np.array([box[1] for box in boxes]), np.array([box[2] for box in boxes])


def row_names(ax):
    return [label.get_text().rstrip() for label in ax.get_yticklabels()]


def drawn_half_widths(ax):
    """Half widths of the error bars, from top to bottom."""
    segments = [
        s for container in ax.containers for s in _segments(container) if len(s)
    ]
    segments.sort(key=lambda s: s[0][1])
    return np.array([np.ptp(s[:, 0]) / 2 for s in segments])


def _segments(container):
    lines = getattr(container, "lines", None)
    return lines[2][0].get_segments() if lines else []


# --- what all displays do -------------------------------------------------------------


@pytest.mark.parametrize(
    "draw",
    [
        lambda plot: plot.bar().frame()["value"],
        lambda plot: plot.matrix().frame().select_dtypes(float),
        lambda plot: plot.interactions().frame()["value"],
        lambda plot: plot.interactions().frame()["standard_error"],
    ],
    ids=["bar", "matrix", "interactions", "their errors"],
)
def test_huge_numbers_are_drawn_like_others(draw):
    X = np.random.default_rng(0).normal(size=(13, 3))

    def numbers(unit):
        explainer = ShapleyExplainer(
            lambda X: (X[:, 0] * X[:, 1] + X[:, 2]) * unit, interactions=True
        )
        return draw(explainer.fit(X[:9]).explain(X[9:]).plot).to_numpy()

    np.testing.assert_allclose(numbers(1e200) / 1e200, numbers(1.0), atol=1e-12)


@pytest.mark.thinned
@pytest.mark.parametrize("display", DISPLAYS)
@pytest.mark.parametrize(
    ("style", "n_features"), [("default", 1), ("default", 500), ("dark_background", 5)]
)
def test_displays_work_in_any_style(display, style, n_features, explanation_maker):
    with plt.style.context(style):
        drawn = drawn_by(display, explanation_maker(n_features=n_features))
        drawn.figure_.canvas.draw()
    texts = [*drawn.ax_.get_yticklabels(), *drawn.ax_.texts, drawn.ax_.xaxis.label]
    for text in texts:
        contrast = np.subtract(to_rgba(text.get_color()), color_behind(text, drawn))
        assert np.abs(contrast[:3]).max() > 0.5, text


def color_behind(text, drawn):
    """The colour of the bar that a text stands in, or of the figure."""
    box = text.get_window_extent()
    middle = (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2
    for bar in drawn.ax_.patches:
        opaque = bar.get_facecolor()[3] > 0.5
        if opaque and bar.get_window_extent().contains(*middle):
            return bar.get_facecolor()
    return to_rgba(drawn.figure_.get_facecolor())


@pytest.mark.parametrize(
    "display",
    [
        BeeswarmDisplay,
        *(pytest.param(kind, marks=pytest.mark.slow) for kind in DISPLAYS[:2]),
    ],
)
def test_all_150_features_are_drawn(display, explanation_maker):
    explanation = explanation_maker(n_features=150, n_rows=3)
    drawn = drawn_by(display, explanation, max_features=None)
    names = [name.split(" = ")[0] for name in row_names(drawn.ax_)]
    assert set(names) >= set(explanation.feature_names)
    row = drawn.ax_.get_window_extent().height * 72 / drawn.figure_.dpi / len(names)
    assert max(label.get_fontsize() for label in drawn.ax_.get_yticklabels()) < row


@pytest.mark.parametrize("display", DISPLAYS)
def test_names_are_not_parsed_as_formulas(display, explanation_maker):
    explanation = explanation_maker(n_features=2)
    names = np.array(["$x_1", "\\frac{$}"], dtype=object)
    data = explanation.data.set_axis(names, axis=1)
    explanation = replace(explanation, data=data, feature_names=names)
    drawn = drawn_by(display, explanation)
    drawn.figure_.canvas.draw()
    assert any("\\frac{$}" in name for name in row_names(drawn.ax_))


@pytest.mark.parametrize("display", DISPLAYS)
def test_one_output_by_name(display, explanation_maker):
    several = explanation_maker(outputs=["cat", "dog"])
    drawn = drawn_by(display, several, output="dog")
    expected = drawn_by(display, several.output("dog"))
    pd.testing.assert_frame_equal(drawn.frame(), expected.frame())
    assert "probability of dog" in drawn.ax_.get_xlabel()


@pytest.mark.parametrize("display", DISPLAYS)
def test_from_estimator_explains_and_draws(display):
    X = np.random.default_rng(0).normal(size=(6, 3))
    explainer = ShapleyExplainer(lambda X: X @ [1.0, -2.0, 0.5]).fit(X)
    drawn = display.from_estimator(explainer, X[:1], max_features=2)
    expected = display.from_explanation(explainer.explain(X[:1]), max_features=2)
    pd.testing.assert_frame_equal(drawn.frame(), expected.frame())


@pytest.mark.parametrize("display", DISPLAYS)
def test_intervals_are_mentioned_if_drawn(display, explanation_maker):
    drawn = drawn_by(display, explanation_maker())
    assert "95 % interval" in drawn.ax_.get_xlabel()
    if display is not BarDisplay:  # importances have one over instances
        drawn = drawn_by(display, explanation_maker(errors=False))
        assert "95 % interval" not in drawn.ax_.get_xlabel()


@pytest.mark.parametrize("display", DISPLAYS)
def test_frame_is_a_copy(display, explanation):
    drawn = drawn_by(display, explanation)
    frame = drawn.frame()
    frame["value"] = 0.0
    assert drawn.frame()["value"].abs().sum() > 0


# --- waterfall ------------------------------------------------------------------------


@pytest.mark.parametrize("row", [0, 3, -1])
def test_waterfall_runs_from_base_value_to_prediction(wide_explanation, row):
    drawn = WaterfallDisplay.from_explanation(wide_explanation, row=row)
    frame = drawn.frame()
    assert len(frame) == 11
    assert frame["end"].iloc[0] == pytest.approx(wide_explanation.predictions[row])
    assert frame["start"].iloc[-1] == wide_explanation.base_values[row]
    np.testing.assert_allclose(
        frame["start"].to_numpy()[:-1], frame["end"].to_numpy()[1:]
    )
    np.testing.assert_allclose(frame["end"] - frame["start"], frame["value"])

    left, width = bars(drawn.ax_)
    np.testing.assert_allclose(left, frame["start"])
    np.testing.assert_allclose(width, frame["value"])
    names = row_names(drawn.ax_)
    assert (names[0], names[-2], names[-1]) == (
        "prediction f(x)",
        "490 other features",
        "base value E f(X)",
    )
    low, high = drawn.ax_.get_xlim()
    assert low < min(left.min(), (left + width).min())
    assert high > max(left.max(), (left + width).max())


def test_waterfall_orders_by_size_and_colours_by_sign(explanation):
    drawn = WaterfallDisplay.from_explanation(explanation, row=2)
    order = np.argsort(-np.abs(explanation.values[2]))
    assert (
        drawn.frame()["feature"].tolist() == explanation.feature_names[order].tolist()
    )
    assert drawn.frame()["data"].tolist() == explanation.data.iloc[2, order].tolist()
    colours = [
        patch.get_facecolor()
        for patch in sorted(drawn.ax_.patches, key=lambda b: b.get_y())
    ]
    expected = [
        NEGATIVE if value < 0 else POSITIVE for value in explanation.values[2, order]
    ]
    assert colours == [to_rgba(colour) for colour in expected]


def test_waterfall_draws_95_percent_intervals(explanation, explanation_maker):
    drawn = WaterfallDisplay.from_explanation(explanation[0])
    expected = 1.96 * drawn.frame()["standard_error"]
    np.testing.assert_allclose(drawn_half_widths(drawn.ax_), expected)
    bare = WaterfallDisplay.from_explanation(explanation_maker(n_rows=1, errors=False))
    assert not len(drawn_half_widths(bare.ax_))


def test_waterfall_names_values(explanation):
    names = row_names(WaterfallDisplay.from_explanation(explanation, row=0).ax_)
    assert "x1 = missing" in names
    assert f"x0 = {explanation.data.iloc[0, 0]}" in names


def test_waterfall_shows_the_efficiency_gap(explanation):
    """The marginal means of Owen sampling need not add up; the path ends at the prediction."""
    open_ended = replace(explanation, predictions=explanation.predictions + 0.7)
    drawn = WaterfallDisplay.from_explanation(open_ended, row=2, max_features=3)
    frame = drawn.frame()
    assert frame["feature"].tolist()[3:] == ["2 other features", "unexplained"]
    last = frame.iloc[-1]
    assert last["value"] == pytest.approx(0.7)
    assert last["start"] == open_ended.base_values[2]
    assert frame["end"].iloc[0] == pytest.approx(open_ended.predictions[2])
    colours = [
        bar.get_facecolor()
        for bar in sorted(drawn.ax_.patches, key=lambda b: b.get_y())
    ]
    assert colours[-1] == to_rgba(NEUTRAL)
    assert to_rgba(NEUTRAL) not in colours[:-1]
    assert "unexplained" in row_names(drawn.ax_)


def test_waterfall_with_an_efficiency_gap_ends_at_the_prediction():
    X = np.random.default_rng(0).normal(size=(9, 5))
    model = ShapleyExplainer(
        lambda X: np.exp(X).prod(axis=1), sampler="local-permutations", random_state=0
    )
    explanation = model.fit(X).explain(X[:1])
    gap = explanation.efficiency_gap
    assert abs(gap[0]) > 1e-3  # else this test shows nothing
    frame = explanation.plot.waterfall().frame()
    assert frame["value"].iloc[-1] == pytest.approx(gap[0])
    assert frame["end"].iloc[0] == pytest.approx(explanation.predictions[0])


def test_waterfall_of_zero_attributions():
    flat = WaterfallDisplay(
        pd.DataFrame(
            {
                "feature": ["a", "b"],
                "data": 1.0,
                "value": 0.0,
                "standard_error": np.nan,
                "start": 0.5,
                "end": 0.5,
            }
        ),
        base_value=0.5,
        prediction=0.5,
    ).plot()
    assert flat.ax_.get_xlim()[0] < 0.5 < flat.ax_.get_xlim()[1]


# --- bar ------------------------------------------------------------------------------


def test_bar_of_all_rows_shows_the_importance(explanation):
    drawn = BarDisplay.from_explanation(explanation)
    importance = explanation.importance()
    assert row_names(drawn.ax_) == importance.index.tolist()
    left, width = bars(drawn.ax_)
    np.testing.assert_array_equal(left, 0)
    np.testing.assert_allclose(width, importance["importance"])
    np.testing.assert_allclose(
        drawn_half_widths(drawn.ax_), 1.96 * importance["standard_error"]
    )


def test_bar_of_remaining_features_equals_that_of_a_group(wide_explanation):
    frame = BarDisplay.from_explanation(wide_explanation, max_features=3).frame()
    kept = frame["feature"].tolist()[:3]
    others = ~np.isin(wide_explanation.feature_names, kept)
    sums = np.abs(wide_explanation.values[:, others].sum(axis=1))
    assert frame["value"].iloc[-1] == pytest.approx(sums.mean())
    assert frame["standard_error"].iloc[-1] == pytest.approx(
        sums.std(ddof=1) / np.sqrt(12)
    )


def test_bar_of_one_row(explanation):
    drawn = BarDisplay.from_explanation(explanation, row=1)
    order = np.argsort(-np.abs(explanation.values[1]))
    left, width = bars(drawn.ax_)
    np.testing.assert_array_equal(left, 0)
    np.testing.assert_allclose(width, explanation.values[1, order])
    np.testing.assert_allclose(
        drawn_half_widths(drawn.ax_), 1.96 * explanation.standard_errors[1, order]
    )


@pytest.mark.parametrize("by", ["x0", "array"])
def test_bar_of_cohorts(explanation, by):
    labels = explanation.data["x0"]
    drawn = BarDisplay.from_explanation(
        explanation, cohorts=labels if by == "array" else by
    )
    frame = drawn.frame()
    assert frame["cohort"].nunique() == 2
    for label in ("low", "high"):
        part = explanation[(labels == label).to_numpy()]
        shown = frame[frame["cohort"] == f"{label} (n = {len(part)})"].set_index(
            "feature"
        )
        expected = part.importance()["importance"]
        np.testing.assert_allclose(shown["value"], expected.loc[shown.index])
    assert len(drawn.ax_.patches) == 10
    texts = [text.get_text() for text in drawn.ax_.get_legend().get_texts()]
    assert texts == frame["cohort"].unique().tolist()


def test_bar_refuses_invalid_cohorts(explanation):
    with pytest.raises(ValueError, match="choose a column among"):
        BarDisplay.from_explanation(explanation, cohorts="sex")
    with pytest.raises(ValueError, match="cohort for each of 12 rows; got 2"):
        BarDisplay.from_explanation(explanation, cohorts=["a", "b"])
    with pytest.raises(
        ValueError, match=r"got 12 cohorts, .* at most 6: .*pandas\.cut"
    ):
        BarDisplay.from_explanation(explanation, cohorts="x2")
    with pytest.raises(ValueError, match="both row=0 and cohorts: choose one"):
        BarDisplay.from_explanation(explanation, row=0, cohorts="x0")


def test_bar_orders_cohorts_by_category(explanation):
    sizes = pd.cut(np.arange(12), [-1, 3, 7, 11], labels=["small", "medium", "large"])
    frame = BarDisplay.from_explanation(explanation, cohorts=sizes).frame()
    assert [c.split()[0] for c in pd.unique(frame["cohort"])] == [
        "small",
        "medium",
        "large",
    ]
    part = frame[frame["cohort"] == "large (n = 4)"].set_index("feature")["value"]
    expected = np.abs(explanation.values[8:]).mean(axis=0)
    np.testing.assert_allclose(part[explanation.feature_names], expected)


@pytest.mark.parametrize("display", [WaterfallDisplay, BarDisplay])
def test_numbers_do_not_overlap_names(display, explanation_maker):
    explanation = explanation_maker(n_rows=1, n_features=6)
    explanation = replace(explanation, values=-1e-4 * explanation.values)
    drawn = display.from_explanation(explanation, row=0)
    drawn.figure_.canvas.draw()
    for text in drawn.ax_.texts:
        box = text.get_window_extent()
        names = [label.get_window_extent() for label in drawn.ax_.get_yticklabels()]
        assert not any(box.overlaps(name) for name in names)
        assert box.x1 < drawn.figure_.bbox.x1


@pytest.mark.parametrize("display", [WaterfallDisplay, BarDisplay])
def test_rounding_errors_are_written_as_zero(display, explanation_maker):
    explanation = explanation_maker(n_rows=1, n_features=3)
    explanation = replace(explanation, values=np.array([[1.0, -1.4e-16, 1e-9]]))
    drawn = display.from_explanation(explanation, row=0)
    texts = {text.get_text() for text in drawn.ax_.texts}
    assert {"+1.00", "+1.00e−09", "0"} <= texts


def test_bar_counts_missing_cohorts(explanation):
    labels = ["a"] * 6 + [None] * 5 + [np.nan]
    frame = BarDisplay.from_explanation(explanation, cohorts=labels).frame()
    assert frame["cohort"].unique().tolist() == ["a (n = 6)", "missing (n = 6)"]


# --- beeswarm -------------------------------------------------------------------------


def test_beeswarm_has_a_point_per_row_and_feature(explanation):
    drawn = BeeswarmDisplay.from_explanation(explanation)
    frame = drawn.frame()
    assert len(frame) == explanation.values.size
    assert row_names(drawn.ax_) == explanation.importance().index.tolist()
    points = drawn.ax_.collections[-1].get_offsets()
    np.testing.assert_allclose(points, frame[["value", "y"]])
    for place, feature in enumerate(pd.unique(frame["feature"])):
        part = frame[frame["feature"] == feature]
        column = explanation.feature_names.tolist().index(feature)
        np.testing.assert_array_equal(part["value"], explanation.values[:, column])
        np.testing.assert_array_equal(
            part["standard_error"], explanation.standard_errors[:, column]
        )
        assert part["row"].tolist() == explanation.index.tolist()
        assert (np.abs(part["y"] - place) <= 0.4).all()


def test_beeswarm_draws_each_interval(explanation):
    drawn = BeeswarmDisplay.from_explanation(explanation)
    frame = drawn.frame()
    lines = max(
        drawn.ax_.collections, key=lambda c: len(getattr(c, "get_segments", list)())
    )
    widths = [np.ptp(segment[:, 0]) for segment in lines.get_segments()]
    np.testing.assert_allclose(widths, 2 * 1.96 * frame["standard_error"])


def test_beeswarm_greys_values_without_an_order(explanation):
    frame = BeeswarmDisplay.from_explanation(explanation).frame()
    grey = frame["level"].isna()
    assert grey[frame["feature"] == "x0"].all()
    missing = frame.loc[grey & (frame["feature"] != "x0"), ["row", "feature"]]
    assert missing.to_numpy().tolist() == [["row 0", "x1"]]


def test_missing_matplotlib_is_reported_with_the_install_command(
    explanation, monkeypatch
):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "skshapley\[plot\]"'):
        BarDisplay.from_explanation(explanation)


# --- several outputs ------------------------------------------------------------------


def test_bars_of_several_outputs_are_stacked(explanation_maker):
    several = explanation_maker(outputs=["cat", "dog", "cow"])
    drawn = BarDisplay.from_explanation(several)
    frame = drawn.frame().pivot_table("value", "feature", "cohort")
    for name in several.output_names:
        expected = several.output(name).importance()["importance"]
        np.testing.assert_allclose(frame[f"class {name}"], expected[frame.index])
    legend = [text.get_text() for text in drawn.ax_.get_legend().get_texts()]
    assert set(legend) == {"class cat", "class dog", "class cow"}
    ends = {round(patch.get_x() + patch.get_width(), 9) for patch in drawn.ax_.patches}
    assert {round(total, 9) for total in frame.sum(axis=1)} <= ends


def test_stacked_bars_sum_outputs_beyond_the_colours(explanation_maker):
    several = explanation_maker(outputs=[f"y{i}" for i in range(9)])
    frame = BarDisplay.from_explanation(several, max_features=3).frame()
    assert frame["cohort"].nunique() == 6
    assert frame["cohort"].iloc[-1] == "4 other outputs"
    sizes = np.abs(several.values).mean(axis=0).sum()
    kept = frame[~frame["feature"].str.startswith("2 other")]["value"].sum()
    assert kept < sizes


@pytest.mark.parametrize(
    "n_outputs",
    [
        2,
        pytest.param(3, marks=pytest.mark.slow),
        pytest.param(4, marks=pytest.mark.slow),
    ],
)
def test_numbers_of_adjacent_waterfalls_do_not_overlap_names(
    explanation_maker, n_outputs
):
    several = explanation_maker(outputs=list(range(n_outputs)))
    shrunk = replace(several, values=several.values * np.geomspace(1, 1e-3, n_outputs))
    drawn = WaterfallDisplay.from_explanation(shrunk, row=0)
    drawn.figure_.canvas.draw()
    assert [ax.get_title(loc="left") for ax in drawn.axes_] == [
        f"class {k}" for k in range(n_outputs)
    ]
    for ax in drawn.axes_:
        names = [label.get_window_extent() for label in ax.get_yticklabels()]
        for text in ax.texts:
            assert not any(text.get_window_extent().overlaps(name) for name in names)


def test_repr_describes_the_display(explanation, explanation_maker):
    drawn = WaterfallDisplay.from_explanation(explanation, row=0)
    assert repr(drawn).startswith("<WaterfallDisplay: 5 features of the probability; ")
    several = explanation_maker(outputs=["cat", "dog"])
    assert repr(several.plot.beeswarm()) == "<BeeswarmDisplay of 2 outputs: cat, dog>"


@pytest.mark.parametrize("precision", [1, 10])
@pytest.mark.parametrize("display", [WaterfallDisplay, BarDisplay])
def test_numbers_stand_beyond_the_intervals(display, precision, explanation):
    errors = explanation.standard_errors / precision
    drawn = display.from_explanation(replace(explanation, standard_errors=errors), 0)
    frame = drawn.frame()
    ends = frame["end"] if display is WaterfallDisplay else frame["value"]
    reach = 1.96 * np.sign(frame["value"]) * frame["standard_error"]
    texts = drawn.ax_.texts
    at = {text.get_text(): text.xy[0] for text in texts if hasattr(text, "xy")}
    inside = {text.get_text() for text in texts if not hasattr(text, "xy")}
    assert (len(inside) > 0) == (display is WaterfallDisplay and precision == 10)
    for value, end in zip(frame["value"], ends + reach, strict=True):
        number = f"{value:+.3g}".replace("-", "−")
        if number not in inside:
            assert at[number] == pytest.approx(end)


def test_numbers_inside_bars_touch_neither_their_ends_nor_intervals(explanation):
    drawn = explanation.plot.waterfall(0)
    drawn.figure_.canvas.draw()
    frame = drawn.frame()
    texts = [text for text in drawn.ax_.texts if not hasattr(text, "xy")]
    for text in texts:
        line = frame.iloc[round(text.get_position()[1]) - 1]
        half = 1.96 * line["standard_error"]
        box = text.get_window_extent().transformed(drawn.ax_.transData.inverted())
        low, high = sorted([line["start"], line["end"] - np.sign(line["value"]) * half])
        assert low < box.x0 < box.x1 < high


def test_bars_of_a_waterfall_are_arrows(explanation):
    drawn = explanation.plot.waterfall(0)
    frame = drawn.frame()
    for bar, end in zip(drawn.ax_.patches, frame["end"], strict=True):
        path, affine = bar.get_clip_path().get_transformed_path_and_affine()
        outline = affine.transform(path.vertices)
        point = drawn.ax_.transData.transform((end, 0))[0]
        # One corner, in the middle of the height, is the point.
        (tip,) = outline[np.isclose(outline[:, 0], point)]
        assert tip[1] == pytest.approx((outline[0, 1] + outline[4, 1]) / 2)
