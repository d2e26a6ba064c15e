"""Intervals, dumbbells and control charts show the numbers of their tables."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgba
from sklearn.linear_model import LinearRegression

from skshapley import GlobalExplanation, ShapleyImportance
from skshapley.comparison import compare, drift
from skshapley.plots import (
    ControlChartDisplay,
    DumbbellDisplay,
    ImportanceDisplay,
    SmallMultiples,
)

# The colours that the displays share
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
NEUTRAL = "#8C8C8C"


def points(ax):
    """The points of all collections, with their colours, from top to bottom."""
    found = [
        (*point, tuple(colour))
        for scattered in ax.collections
        if hasattr(scattered, "get_sizes") and len(scattered.get_sizes())
        for point, colour in zip(
            scattered.get_offsets(),
            np.resize(scattered.get_facecolors(), (len(scattered.get_offsets()), 4)),
            strict=True,
        )
    ]
    return sorted(found, key=lambda point: (point[1], point[0]))


def test_importances_agree_with_the_table(explanation_maker):
    explanation = explanation_maker(200)
    drawn = explanation.plot.importance(max_features=3)
    table = explanation.importance(confidence=0.95)[:3]
    assert drawn.frame()["feature"].tolist() == table.index.tolist()
    np.testing.assert_allclose(
        [x for x, _, _ in points(drawn.ax_)], table["importance"]
    )
    ends = [
        segment[:, 0] for segment in drawn.ax_.containers[0].lines[2][0].get_segments()
    ]
    np.testing.assert_allclose(ends, table[["low", "high"]])
    first = table.iloc[0]
    places = {int(first["best_rank"]), int(first["worst_rank"])}
    label = f"{table.index[0]}  ({'–'.join(map(str, sorted(places)))})"
    assert drawn.ax_.get_yticklabels()[0].get_text() == label
    assert "with 95 % interval" in drawn.ax_.get_xlabel().replace("\n", " ")
    assert drawn.ax_.get_legend() is None


def test_unbounded_intervals_end_in_an_arrow(explanation_maker):
    """Few rows with a single value of a feature give no bound of its attributions."""
    explanation = explanation_maker(30)
    explanation.data["x2"] = 1.0
    drawn = explanation.plot.importance()
    unknown = np.isinf(drawn.frame()["high"]).sum()
    assert unknown == 1
    arrows = [x for x, _, _ in points(drawn.ax_)]
    assert np.isclose(arrows, max(arrows)).sum() >= unknown
    assert max(arrows) >= drawn.frame()["value"].max()


def test_arrows_are_right_of_their_points():
    table = pd.DataFrame(
        {"feature": ["a", "b"], "value": [9.0, 3.0], "low": [-np.inf, 1.0]}
    )
    table = table.assign(
        high=np.inf, best_rank=np.nan, worst_rank=np.nan, selected=None
    )
    drawn = ImportanceDisplay(table).plot()
    upper = [x for x, _, _ in points(drawn.ax_)]
    assert max(upper) == 9.0
    assert np.isclose(upper, 9.0).sum() >= 3


def test_importances_of_several_outputs(explanation_maker):
    several = explanation_maker(outputs=["cat", "dog"])
    drawn = several.plot.importance()
    assert isinstance(drawn, SmallMultiples)
    assert set(drawn.frame().index.get_level_values("output")) == {"cat", "dog"}
    own = several.plot.importance(output="dog").frame()
    pd.testing.assert_frame_equal(drawn.frame().loc["dog"], own)


def test_selected_features_stand_out(explanation):
    importance = GlobalExplanation(explanation, np.full(12, 1 / 12))
    drawn = ImportanceDisplay.from_importance(importance, alpha=0.5)
    p = importance.importance()["p_adjusted"]
    assert drawn.frame()["selected"].tolist() == (p <= 0.5).tolist()
    X = np.random.default_rng(0).normal(size=(80, 4))
    selector = ShapleyImportance(LinearRegression(), random_state=0).fit(X, X[:, 1])
    drawn = ImportanceDisplay.from_selector(selector)
    colours = {colour for _, _, colour in points(drawn.ax_)}
    assert colours == {to_rgba(COLOURS[0]), to_rgba(NEUTRAL)}
    top = points(drawn.ax_)[0]
    assert top[1] == 0
    assert top[2] == to_rgba(COLOURS[0])
    assert drawn.ax_.get_yticklabels()[0].get_text() == "x1"
    assert len(drawn.frame()) == 4


@pytest.mark.parametrize("kind", ["importance", "attribution"])
def test_dumbbells_agree_with_the_comparison(kind, explanation):
    comparison = compare(explanation[:5], explanation[5:], names=("old", "new"))
    drawn = DumbbellDisplay.from_comparison(comparison, kind=kind, max_features=None)
    table = comparison.to_frame(kind).drop(
        index=["base value", "unexplained"], errors="ignore"
    )
    assert drawn.frame()["feature"].tolist() == table.index.tolist()
    for row, (old, new) in enumerate(zip(table["old"], table["new"], strict=True)):
        xs = sorted(x for x, y, _ in points(drawn.ax_) if y == row)
        np.testing.assert_allclose(xs, sorted([old, new]))
    ends = [
        segment[:, 0] for segment in drawn.ax_.containers[0].lines[2][0].get_segments()
    ]
    expected = table["old"].to_numpy()[:, None] + table[["low", "high"]].to_numpy()
    np.testing.assert_allclose(ends, expected)
    assert [text.get_text() for text in drawn.ax_.get_legend().get_texts()] == [
        "old",
        "new",
    ]


def test_dumbbells_of_several_outputs(explanation_maker):
    several = explanation_maker(outputs=["cat", "dog"])
    comparison = compare(several[:5], several[5:])
    drawn = DumbbellDisplay.from_comparison(comparison, max_features=2)
    assert len(drawn.axes_) == 2
    one = DumbbellDisplay.from_comparison(comparison, output="dog", max_features=2)
    pd.testing.assert_frame_equal(drawn.frame().loc["dog"], one.frame())
    with pytest.raises(
        ValueError, match=r"output='cow': choose None or one of \['cat', 'dog'\]"
    ):
        DumbbellDisplay.from_comparison(comparison, output="cow")


def test_control_chart_marks_points_beyond_the_limits(explanation_maker):
    explanation = explanation_maker(n_rows=60)
    values = explanation.values.copy()
    values[40:, 2] += 3
    object.__setattr__(explanation, "values", values)
    found = drift(explanation, np.repeat(list("abc"), 20))
    drawn = ControlChartDisplay.from_drift(found, features=["x2", "x3"])
    assert [ax.get_xlabel() for ax in drawn.axes_] == ["x2", "x3"]
    table = found.to_frame().query("feature == 'x2'")
    (line,) = [line for line in drawn.axes_[0].lines if len(line.get_xdata()) == 3]
    np.testing.assert_allclose(line.get_ydata(), table["mean"])
    marked = drawn.axes_[0].collections[-1].get_offsets()
    np.testing.assert_allclose(marked, [[2, table["mean"].iloc[2]]])
    assert not len(drawn.axes_[1].collections[-1].get_offsets())
    band = drawn.axes_[0].patches[0].get_data()
    np.testing.assert_array_equal(
        np.stack([band.baseline, band.values]), table[["low", "high"]].T
    )
    assert drawn.frame()["alarm"].sum() == 1
    assert len(ControlChartDisplay.from_drift(found, max_features=2).axes_) == 2


def test_control_chart_names_days(explanation_maker):
    """Each of them was "2020-…:00:00"."""
    days = pd.date_range("2020-01-01", periods=3)
    found = drift(explanation_maker(n_rows=60), days.repeat(20))
    drawn = ControlChartDisplay.from_drift(found, max_features=1)
    texts = [tick.get_text() for tick in drawn.ax_.get_xticklabels()]
    assert texts == ["2020-01-01", "2020-01-02", "2020-01-03"]


def test_control_chart_of_several_outputs(explanation_maker):
    found = drift(explanation_maker(40, 3, outputs=["cat", "dog"]), np.arange(40) // 10)
    drawn = ControlChartDisplay.from_drift(found, max_features=2)
    assert len(drawn.axes_) == 4
    assert len(ControlChartDisplay.from_drift(found, output="dog").axes_) == 3


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_displays_work_in_any_style_and_on_given_axes(style, explanation):
    with plt.style.context(style):
        _, axes = plt.subplots(1, 3)
        comparison = compare(explanation[:5], explanation[5:])
        explanation.plot.importance(ax=axes[0])
        DumbbellDisplay.from_comparison(comparison, ax=axes[1])
        found = drift(explanation, np.arange(12) // 6)
        drawn = ControlChartDisplay.from_drift(found, features="x1", ax=axes[2])
        assert drawn.ax_ is axes[2]
        axes[0].figure.canvas.draw()


REFUSED = {
    "alpha": lambda e: ImportanceDisplay.from_importance(None, alpha=95),
    "max_features": lambda e: DumbbellDisplay.from_comparison(
        compare(e, e), max_features=0
    ),
    "kind": lambda e: DumbbellDisplay.from_comparison(compare(e, e), kind="mean"),
    "features": lambda e: ControlChartDisplay.from_drift(
        drift(e, np.arange(12) // 6), features="q"
    ),
    "output": lambda e: ControlChartDisplay.from_drift(
        drift(e, np.arange(12) // 6), output="q"
    ),
}


@pytest.mark.parametrize(("name", "call"), REFUSED.items(), ids=REFUSED)
def test_invalid_arguments_are_refused(name, call, explanation):
    with pytest.raises(ValueError, match=name):
        call(explanation)
