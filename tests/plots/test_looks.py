"""Readable pictures: dots, legends, ticks, selections of many outputs."""

import warnings
from dataclasses import replace
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgba
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from skshapley import ShapleyExplainer, TreeExplainer
from skshapley.plots import (
    BarDisplay,
    BeeswarmDisplay,
    ConvergenceDisplay,
    DecisionDisplay,
    DependenceDisplay,
    InteractionsDisplay,
    MaskingCurveDisplay,
    MatrixDisplay,
    WaterfallDisplay,
)
from skshapley.plots._dependence import keyed
from skshapley.plots._style import swarm

# The colours that the displays share
NEUTRAL = "#8C8C8C"

N = 60


def shown(maker, **columns):
    """An explanation of the given columns; the first has the largest attributions."""
    explanation = maker(n_rows=N, n_features=max(len(columns), 2))
    data = pd.DataFrame(columns, index=explanation.index)
    if len(columns) < 2:
        data["other"] = np.linspace(0, 1, N)
    names = data.columns.to_numpy(dtype=object)
    return replace(explanation, data=data, feature_names=names)


# --- dots -----------------------------------------------------------------------------


def test_each_row_of_a_swarm_shows_its_own_density():
    """A row in a heap does not flatten a row that is spread over many bins."""
    x = np.concatenate([np.zeros(1000), np.repeat(np.arange(50), 5)])
    rows = np.repeat([0, 1], [1000, 250])
    y = swarm(x, rows)
    assert np.ptp(y[rows == 0]) == pytest.approx(0.8, abs=0.01)
    assert np.ptp(y[rows == 1]) == pytest.approx(4 * 0.12)


def test_swarm_points_do_not_overlap():
    x = np.repeat([0.0, 1.0, 5.0], [40, 7, 2])
    rows = np.repeat([0, 1], [20, 29])
    y = swarm(x, rows)
    assert np.abs(y).max() <= 0.4 + 1e-12
    for row in (0, 1):
        points = np.column_stack([x, y])[rows == row]
        assert len(np.unique(points.round(9), axis=0)) == len(points)
        assert np.abs(points[:20, 1].mean()) < 0.02
    np.testing.assert_array_equal(swarm(np.array([1.0, 2.0, 3.0]), np.zeros(3, int)), 0)


def test_dots_shrink_and_intervals_stay_visible_with_the_number(explanation_maker):
    areas, opacities = [], []
    for n_rows in (10, 1000):
        ax = explanation_maker(n_rows=n_rows, n_features=2).plot.beeswarm().ax_
        intervals, dots = ax.collections[-2:]
        areas.append(dots.get_sizes()[0])
        opacities.append(intervals.get_alpha())
    assert areas[1] < areas[0]
    assert opacities[0] > opacities[1] >= 0.15


def test_beeswarm_leaves_categories_grey(explanation_maker):
    jobs = pd.Categorical(np.resize(["cook", "$pilot$", None], N))
    drawn = BeeswarmDisplay.from_explanation(shown(explanation_maker, job=jobs))
    colours = drawn.ax_.collections[-1].get_facecolors()
    of_jobs = colours[(drawn.frame()["feature"] == "job").to_numpy()]
    assert {tuple(colour) for colour in of_jobs} == {to_rgba(NEUTRAL)}


def test_rare_categories_share_a_colour():
    column = pd.Series(["a"] * 5 + ["b"] * 4 + list("cdefgh") + ["c", "d", "h", None])
    codes, texts = keyed(column, list("abcdefgh"))
    assert texts == ["a", "b", "c", "d", "h", "3 others"]
    assert dict(zip(column[:-1], codes[:-1], strict=True)) == dict(
        zip("abcdefgh", [0, 1, 2, 3, 5, 5, 5, 4], strict=True)
    )
    assert np.isnan(codes[-1])
    assert keyed(pd.Series(list("ab")), ["a", "b"])[1] == ["a", "b"]


def test_partner_of_many_categories_has_a_key_beside_the_axes(explanation_maker):
    explanation = shown(
        explanation_maker, x=np.linspace(0, 1, N), deck=np.resize(list("ABCDEFGHIJ"), N)
    )
    drawn = DependenceDisplay.from_explanation(
        explanation, features="x", partner="deck"
    )
    drawn.figure_.canvas.draw()
    legend = drawn.ax_.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == [*"ABCDE", "5 others"]
    assert legend.get_window_extent().x0 >= drawn.ax_.get_window_extent().x1
    assert len(drawn.figure_.axes) == 1  # and no bar of colours


def test_the_colour_bar_labels_its_ends(explanation_maker):
    explanation = shown(
        explanation_maker, x=np.linspace(0, 1, N), size=np.arange(N) * 10
    )
    drawn = DependenceDisplay.from_explanation(
        explanation, features="x", partner="size"
    )
    labels = [text.get_text() for text in drawn.figure_.axes[1].get_yticklabels()]
    assert labels == ["30", "560"]


# --- ticks ----------------------------------------------------------------------------

TICKS = {
    "few": (np.resize([1, 2, 3], N), ["1", "2", "3"]),
    "gaps": (
        np.resize([1990.0, 1995, 2000, 2020], N),
        ["1990", "1995", "2000", "2020"],
    ),
    "two that are too near": (np.resize([0.0, 0.001, 1.0], N), ["0", "1"]),
    "large": (np.resize([0, 10**6], N), ["0", "1000000"]),
    "bools": (np.resize([True, False], N), ["False", "True"]),
    "bools of which some are missing": (
        np.resize(np.array([True, None, False], dtype=object), N),
        ["False", "True", "missing"],
    ),
    "missing": (
        np.where(np.arange(N) % 5, np.arange(N), np.nan).astype(float),
        ["missing", "15", "30", "45"],
    ),
    "dates": (
        pd.to_datetime("2020-01-01") + pd.to_timedelta(np.arange(N), "D"),
        ["2020-01-01", "2020-01-20", "2020-02-09", "2020-02-29"],
    ),
    "categories of which some are not there": (
        pd.Categorical(np.resize(["a", "b"], N), categories=list("abcd")),
        ["a", "b"],
    ),
    "35 categories": (
        np.resize([f"c{i:02}" for i in range(35)], N),
        [*(f"c{i:02}" for i in range(29)), "6 others"],
    ),
    "many numbers": (np.linspace(0, 1, N), []),
}


@pytest.mark.parametrize(("values", "texts"), TICKS.values(), ids=TICKS)
def test_ticks(values, texts, explanation_maker):
    data = pd.Series(values)
    explanation = shown(explanation_maker, x=values)
    drawn = DependenceDisplay.from_explanation(explanation, features="x")
    x = drawn.frame()["x"]
    ticks = drawn.ax_.get_xticks()
    if texts:
        labels = [label.get_text() for label in drawn.ax_.get_xticklabels()]
        assert labels == texts
    assert list(ticks) == sorted(ticks)
    if pd.api.types.is_numeric_dtype(data) and data.dtype != bool:
        gaps = np.diff(np.unique(data.dropna()))
        assert (
            np.abs(x - data).max() < gaps.min() / 2
        )  # each is nearest to its own value


def test_infinite_values_are_not_drawn(explanation_maker):
    x = np.linspace(0, 1, N)
    x[[3, 7]] = np.inf, -np.inf
    drawn = DependenceDisplay.from_explanation(
        shown(explanation_maker, x=x), features="x"
    )
    drawn.figure_.canvas.draw()
    places_ = drawn.frame()["x"]
    assert np.flatnonzero(places_.isna()).tolist() == [3, 7]


def test_large_tick_labels_do_not_overlap(explanation_maker):
    rng = np.random.default_rng(0)
    large = {f"x{i}": rng.integers(0, 10**5, N) for i in range(3)}
    drawn = DependenceDisplay.from_explanation(shown(explanation_maker, **large))
    drawn.figure_.canvas.draw()
    for ax in drawn.axes_:
        low, high = ax.get_xlim()
        ticks = zip(ax.get_xticks(), ax.get_xticklabels(), strict=True)
        boxes = [label.get_window_extent() for at, label in ticks if low <= at <= high]
        assert len(boxes) >= 2
        assert all(one.x1 + 4 < two.x0 for one, two in pairwise(boxes))


def test_long_category_names_do_not_overlap(explanation_maker):
    states = np.resize([f"State of the number {i}" for i in range(16)], N)
    drawn = DependenceDisplay.from_explanation(
        shown(explanation_maker, state=states), features="state"
    )
    drawn.figure_.canvas.draw()
    boxes = [label.get_window_extent() for label in drawn.ax_.get_xticklabels()]
    assert all(one.x1 <= two.x0 + 1 for one, two in pairwise(boxes))


def test_tokens_have_two_levels():
    documents = ["A dull film.", "Dull plot, dull!", "Fine, moving.", "a fine plot"] * 3
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(
        documents, [0, 0, 1, 1] * 3
    )
    explanation = (
        ShapleyExplainer(model, random_state=0).fit(documents).explain(documents[:4])
    )
    dependence = explanation.plot.dependence(features="dull")
    assert [t.get_text() for t in dependence.ax_.get_xticklabels()] == [
        "in the text",
        "missing",
    ]
    names = [
        t.get_text() for t in explanation.plot.waterfall(row=1).ax_.get_yticklabels()
    ]
    assert "dull" in names
    assert not any("=" in name for name in names)


# --- outputs --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", [pytest.param("beeswarm", marks=pytest.mark.slow), "waterfall"]
)
def test_the_strongest_outputs_are_drawn(explanation_maker, kind):
    explanation = explanation_maker(
        n_features=2, outputs=[f"class {i}" for i in range(19)]
    )
    weights = np.ones(19)
    weights[[4, 17, 2, 9, 11, 0]] = [9, 8, 7, 6, 5, 4]
    explanation = replace(explanation, values=np.sign(explanation.values) * weights)
    row = {"row": 0} if kind == "waterfall" else {}
    drawn = getattr(explanation.plot, kind)(**row)
    assert list(drawn.displays) == [f"class {i}" for i in (4, 17, 2, 9, 11, 0)]
    assert drawn.figure_.get_suptitle() == "the 6 strongest of 19 outputs"
    _, axes = plt.subplots(2, 3)
    onto = getattr(explanation.plot, kind)(ax=axes, **row)
    assert onto.figure_.get_suptitle() == ""  # of a figure that is not ours


@pytest.mark.parametrize(
    ("labels", "stated"), [(["calm", "windy"], "windy"), ([False, True], "class True")]
)
def test_the_explained_class_of_two_is_named(labels, stated):
    data, y = load_iris(return_X_y=True, as_frame=True)
    model = LogisticRegression(max_iter=1000).fit(
        data, np.array(labels)[(y == 1).astype(int)]
    )
    explanation = ShapleyExplainer(model).fit(data[::10]).explain(data[::30])
    assert explanation.settings.explained_class == labels[1]
    assert (
        explanation.plot.waterfall(0)
        .ax_.get_xlabel()
        .startswith(f"probability of {stated}")
    )
    other = (
        ShapleyExplainer(model, output=labels[0]).fit(data[::10]).explain(data[::30])
    )
    assert stated not in other.plot.waterfall(0).ax_.get_xlabel()
    trees = RandomForestClassifier(3).fit(data, model.predict(data))
    assert (
        TreeExplainer(trees).fit(data[::10]).explain(data[:1]).settings.explained_class
        == (labels[1])
    )


def test_font_sizes_are_those_of_a_notebook(explanation):
    drawn = explanation.plot.beeswarm()
    assert drawn.ax_.yaxis.get_ticklabels()[0].get_size() == pytest.approx(10)
    assert drawn.ax_.xaxis.label.get_size() == pytest.approx(10)
    assert drawn.ax_.xaxis.get_ticklabels()[0].get_size() == pytest.approx(9)


@pytest.mark.parametrize("kind", ["waterfall", "beeswarm", "dependence"])
def test_several_outputs_are_not_wider_than_a_notebook(kind, explanation_maker):
    several = explanation_maker(outputs=["a", "b", "c"])[:6]
    options = {"row": 0} if kind == "waterfall" else {}
    drawn = getattr(several.plot, kind)(**options)
    assert drawn.figure_.get_size_inches()[0] <= 8
    assert drawn.ax_.xaxis.get_ticklabels()[0].get_size() == pytest.approx(9)


def test_directions_are_marked(explanation_maker):
    explanation = shown(explanation_maker, up=np.arange(N), group=["a"] * N)
    values = explanation.values.copy()
    column = explanation.feature_names.tolist().index("up")
    values[:, column] = -np.linspace(-1, 1, N)
    explanation = replace(explanation, values=values)
    names = [
        text.get_text() for text in explanation.plot.beeswarm().ax_.get_yticklabels()
    ]
    assert "up ↓" in names
    assert sum(name == "group" for name in names) == 1
    bar = explanation.plot.bar()
    assert any(text.get_text().endswith(" ↓") for text in bar.ax_.texts)
    assert bar.frame().set_index("feature").loc["up", "direction"] == pytest.approx(-1)


def test_a_partner_with_two_values_has_two_colours(explanation_maker):
    explanation = shown(explanation_maker, age=np.arange(N), flag=np.arange(N) % 2)
    drawn = explanation.plot.dependence("age", partner="flag")
    legend = drawn.ax_.get_legend()
    assert legend.get_title().get_text() == "colour: flag"
    assert [text.get_text() for text in legend.get_texts()] == ["0", "1"]


# --- selections, sizes and means ------------------------------------------------------


def test_unselected_features_are_summed_in_one_bar(explanation):
    frame = explanation[0, ["x3", "x1"]].plot.waterfall().frame()
    assert frame["feature"].tolist()[2:] == ["features left out"]
    assert frame["end"].iloc[0] == pytest.approx(explanation.predictions[0])
    left_out = explanation.values[0, [0, 2, 4]].sum()
    assert frame["value"].iloc[-1] == pytest.approx(left_out)
    assert explanation["x1"].plot.bar().frame()["feature"].tolist() == ["x1"]


def test_means_of_explanations_are_drawn_as_bars(explanation):
    names = explanation.mean().plot.waterfall().ax_.get_yticklabels()
    assert {name.get_text() for name in names} >= set(explanation.feature_names)
    importance = explanation.importance()["importance"]
    bars = abs(explanation).mean().plot.bar().frame()
    np.testing.assert_allclose(bars["value"], importance)
    for display in (WaterfallDisplay, DecisionDisplay):
        with pytest.raises(
            ValueError, match="as by abs, do not add up to a prediction"
        ):
            display.from_explanation(abs(explanation)[:1])


# --- from_estimator -------------------------------------------------------------------

MODEL, ROWS = LogisticRegression(max_iter=1000), load_iris(as_frame=True)
X, Y = ROWS.data.iloc[::10, :3], ROWS.target[::10]


@pytest.fixture(scope="module")
def model():
    return MODEL.fit(X, Y == 1)


@pytest.mark.parametrize(
    "display",
    [
        *(BarDisplay, DependenceDisplay, InteractionsDisplay, MaskingCurveDisplay),
        *(
            pytest.param(display, marks=pytest.mark.slow)
            for display in (BeeswarmDisplay, MatrixDisplay, DecisionDisplay)
        ),
    ],
)
def test_from_estimator_accepts_a_model_and_a_background(display, model):
    drawn = display.from_estimator(model, X[:5], background=X)
    pairs = display is InteractionsDisplay
    explainer = ShapleyExplainer(model, interactions=pairs).fit(X)
    pd.testing.assert_frame_equal(
        drawn.frame(), display.from_estimator(explainer, X[:5]).frame()
    )
    with pytest.raises(
        ValueError, match=r"background=None for a LogisticRegression: .*X_train"
    ):
        display.from_estimator(model, X[:5])
    with pytest.raises(
        ValueError, match="background for a ShapleyExplainer, which has its own"
    ):
        display.from_estimator(explainer, X[:5], background=X)


def test_from_estimator_of_several_budgets():
    near, budgets = KNeighborsClassifier().fit(X, Y == 1), [50, 500]
    frame = ConvergenceDisplay.from_estimator(
        near, X[:1], background=X, budgets=budgets
    ).frame()
    assert frame["n_model_rows"].nunique() == 2


def test_masking_curve_of_three_classes_follows_the_predicted_one():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        three = LogisticRegression(max_iter=1000).fit(X, Y)
        frame = MaskingCurveDisplay.from_estimator(three, X[:5], background=X).frame()
    assert frame["mean"].iloc[-1] < 0
