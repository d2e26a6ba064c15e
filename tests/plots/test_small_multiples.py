"""Displays of several outputs side by side, on new axes or given ones."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest

from skshapley import ShapleyExplainer, shapley_values
from skshapley.plots import ConvergenceDisplay, SmallMultiples
from skshapley.rewards import TokenReward

OUTPUTS = ["cat", "dog"]
KINDS = {
    "waterfall": {"row": 0},
    "bar": {"row": 1},
    "beeswarm": {},
    "dependence": {"features": ["x0", "x1"]},
    "decision": {},
    "matrix": {},
    "heat_map": {"row": 2, "shape": (1, 5)},
}


QUICK = ("waterfall", "bar", "dependence")
EACH = pytest.mark.parametrize(
    ("kind", "options"),
    [
        pytest.param(
            kind, options, marks=[pytest.mark.slow] * (kind not in QUICK), id=kind
        )
        for kind, options in KINDS.items()
    ],
)


@pytest.fixture
def several(explanation_maker):
    return explanation_maker(outputs=OUTPUTS)


# Positions that depend on the order of the features
COMMON = ["start", "end", "y"]


@EACH
def test_panels_equal_the_displays_of_single_outputs(kind, options, several):
    draw = getattr(several.plot, kind)
    drawn = draw(**options)
    assert isinstance(drawn, SmallMultiples)
    assert list(drawn.displays) == OUTPUTS
    alone = draw(output="dog", **options)
    frame = drawn.frame().loc["dog"]
    # The order of instances and of features is common to all outputs.
    expected = alone.frame()[frame.columns]
    numbers = frame.select_dtypes("number").drop(columns=COMMON, errors="ignore")
    for name in numbers:
        expected_numbers = np.sort(expected[name])
        np.testing.assert_allclose(np.sort(numbers[name]), expected_numbers)
    for name in OUTPUTS:
        assert drawn.displays[name].response == f"probability of {name}"
        assert drawn.displays[name].figure_ is drawn.figure_
    each = len(alone.axes_)
    assert drawn.ax_ is drawn.axes_[0]
    assert drawn.axes_ == [ax for name in OUTPUTS for ax in drawn.displays[name].axes_]
    assert len(drawn.axes_) == each * len(OUTPUTS)
    assert len({id(ax) for ax in drawn.axes_}) == len(drawn.axes_)
    titles = [ax.get_title(loc="left") for ax in drawn.axes_[::each]]
    assert titles == [f"class {name}" for name in OUTPUTS]


@pytest.mark.parametrize(
    ("kind", "axis"),
    [
        ("bar", "x"),
        ("dependence", "y"),
        pytest.param("beeswarm", "x", marks=pytest.mark.slow),
        pytest.param("waterfall", "x", marks=pytest.mark.slow),
        pytest.param("decision", "x", marks=pytest.mark.slow),
    ],
)
def test_outputs_share_one_scale(kind, axis, several):
    small = replace(several, values=several.values * [1.0, 0.1])
    drawn = getattr(small.plot, kind)(**KINDS[kind])
    (limits,) = {getattr(ax, f"get_{axis}lim")() for ax in drawn.axes_}
    for output in OUTPUTS:
        alone = getattr(small.plot, kind)(output=output, **KINDS[kind])
        low, high = getattr(alone.ax_.dataLim, f"interval{axis}")
        assert limits[0] <= low < high <= limits[1]


@EACH
def test_given_axes_are_used(kind, options, several):
    each = len(options.get("features", [0]))
    figure, axes = plt.subplots(2, each, squeeze=False)
    drawn = getattr(several.plot, kind)(ax=axes, **options)
    assert drawn.axes_ == axes.ravel().tolist()
    assert drawn.figure_ is figure
    assert all(ax.has_data() for ax in axes.flat)
    again = plt.figure().subplots(1, 2 * each).tolist()
    assert drawn.plot(again) is drawn
    assert drawn.axes_ == again
    with pytest.raises(
        ValueError, match=f"got 1 axes for {2 * each} panels: pass as many"
    ):
        getattr(several.plot, kind)(ax=again[0], **options)


def test_a_single_axes_may_be_an_array(explanation):
    axes = plt.subplots(squeeze=False)[1]
    assert explanation.plot.bar(ax=axes).ax_ is axes[0, 0]


def test_invalid_axes_are_refused(explanation):
    with pytest.raises(TypeError, match=r"plot.bar takes ax as matplotlib Axes"):
        explanation.plot.bar(ax=3)


def test_outputs_may_be_drawn_on_a_subfigure(several):
    left, right = plt.figure(layout="constrained").subfigures(1, 2)
    drawn = several.plot.beeswarm(ax=left.subplots(2))
    assert drawn.figure_ is left
    drawn.figure_.canvas.draw()
    assert not right.axes


def test_the_legend_names_cohorts(several):
    drawn = several.plot.bar(cohorts="x0")
    titles = [ax.get_legend().get_title().get_text() for ax in drawn.axes_]
    assert titles == [f"class {name}" for name in OUTPUTS]
    frame = drawn.frame().loc["dog"].set_index(["cohort", "feature"])["value"]
    expected = several.output("dog").importance(cohorts="x0")["importance"]
    for label, n in several.data["x0"].value_counts().items():
        part = expected.loc[label]
        np.testing.assert_array_equal(
            frame.loc[f"{label} (n = {n})"].loc[part.index], part
        )


@pytest.mark.slow
def test_the_strongest_outputs_are_drawn(explanation_maker):
    many = explanation_maker(outputs=[f"y{i}" for i in range(13)])
    assert len(many.plot.beeswarm().axes_) == 6
    assert len(many.plot.beeswarm(output="y12").axes_) == 1


def test_convergence_of_each_output():
    X = np.random.default_rng(0).normal(size=(8, 4))
    explainer = ShapleyExplainer(
        lambda X: np.column_stack([X.prod(axis=1), X.sum(axis=1)]), sampler="antithetic"
    ).fit(X)
    drawn = ConvergenceDisplay.from_estimator(
        explainer, X[:1], budgets=[145, 305], max_features=2
    )
    assert len(drawn.axes_) == 4
    assert drawn.frame().groupby(level="output")["feature"].nunique().tolist() == [2, 2]


def test_sentence_for_each_output():
    reward = TokenReward(
        lambda texts: np.array([[text.count("o"), text.count("a")] for text in texts]),
        "so a word or two " * 9,
    )
    drawn = reward.explanation(
        shapley_values(reward, max_evals=99, random_state=0)
    ).plot.sentence()
    assert len(drawn.axes_) == 2
    drawn.figure_.draw_without_rendering()
    for ax in drawn.axes_:
        boxes = [text.get_window_extent() for text in ax.texts]
        lines = sorted({round(box.y0) for box in boxes})
        # Lines are as far apart as letters are high: the figure is as high as the text.
        assert min(np.diff(lines)) > 0.9 * max(box.height for box in boxes)


@pytest.mark.parametrize("kind", ["waterfall", "bar"])
def test_numbers_do_not_overlap_long_names_of_adjacent_panels(kind, several):
    names = [
        f"measurement_of_channel_{i}_of_the_northern_sensor_hall" for i in range(5)
    ]
    long = replace(
        several,
        feature_names=np.array(names, dtype=object),
        data=several.data.set_axis(names, axis=1),
    )
    drawn = getattr(long.plot, kind)(row=1)
    drawn.figure_.canvas.draw()
    labels = [
        label.get_window_extent()
        for ax in drawn.axes_
        for label in ax.get_yticklabels()
    ]
    for ax in drawn.axes_:
        for text in ax.texts:
            assert not any(text.get_window_extent().overlaps(label) for label in labels)
