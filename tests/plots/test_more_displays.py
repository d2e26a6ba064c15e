"""Displays of paths, pairs, matrices and comparisons: contents of the axes, not pixels."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection

from skshapley import Interactions, ShapleyExplainer, plots
from skshapley.plots import (
    ConvergenceDisplay,
    DecisionDisplay,
    DependenceDisplay,
    Display,
    MatrixDisplay,
)
from skshapley.plots._partners import strongest_partners

SINGLE = [DecisionDisplay, MatrixDisplay]


def drawn_by(display, explanation, **options):
    """Draw a display; of the first row, if it shows a single row."""
    return display.from_explanation(explanation, **options)


@pytest.mark.thinned
@pytest.mark.parametrize("display", [*SINGLE, DependenceDisplay])
@pytest.mark.parametrize(
    ("style", "n_features"), [("default", 1), ("default", 500), ("dark_background", 5)]
)
def test_displays_work_in_any_style(display, style, n_features, explanation_maker):
    with plt.style.context(style):
        drawn = drawn_by(display, explanation_maker(n_features=n_features))
        drawn.figure_.canvas.draw()


@pytest.mark.parametrize("display", [*SINGLE, DependenceDisplay])
def test_given_axes_one_output_and_missing_errors(
    display, explanation, explanation_maker
):
    _, ax = plt.subplots()
    only = {"features": "x2"} if display is DependenceDisplay else {}
    drawn = drawn_by(display, explanation, ax=ax, **only)
    assert drawn.ax_ is ax
    assert drawn.plot(plt.figure().add_subplot()) is drawn
    several = explanation_maker(outputs=["cat", "dog"])
    chosen = drawn_by(display, several, output="dog").frame()
    pd.testing.assert_frame_equal(
        chosen, drawn_by(display, several.output("dog")).frame()
    )
    drawn_by(display, explanation_maker(errors=False, n_rows=2))


# --- decision -------------------------------------------------------------------------


def test_decision_paths_run_from_base_value_to_prediction(wide_explanation):
    drawn = DecisionDisplay.from_explanation(wide_explanation, max_features=7)
    (lines,) = [c for c in drawn.ax_.collections if c.get_array() is not None]
    assert isinstance(lines, LineCollection)
    paths = np.stack(lines.get_segments())
    assert paths.shape == (12, 9, 2)
    np.testing.assert_allclose(paths[:, 0, 0], wide_explanation.predictions)
    np.testing.assert_allclose(paths[:, -1, 0], wide_explanation.base_values)
    np.testing.assert_array_equal(paths[0, :, 1], np.arange(9) - 0.5)
    frame = drawn.frame()
    np.testing.assert_allclose(frame["end"], paths[:, :-1, 0].ravel())
    first = frame.groupby("row", sort=False)["end"].first()
    np.testing.assert_allclose(first, wide_explanation.predictions)


def test_decision_paths_end_at_the_prediction(explanation):
    gap = np.where(np.arange(12) % 2, 0.6, 0.0)
    open_ended = replace(explanation, predictions=explanation.predictions + gap)
    frame = DecisionDisplay.from_explanation(open_ended).frame()
    steps = frame[frame["feature"] == "unexplained"]
    np.testing.assert_allclose(steps["value"], gap, atol=1e-12)
    np.testing.assert_allclose(
        frame.groupby("row", sort=False)["end"].first(), open_ended.predictions
    )


# --- dependence of one feature --------------------------------------------------------


@pytest.mark.parametrize("feature", ["x0", "x2"])
def test_the_dependence_of_one_feature_is_large_and_has_a_histogram(
    explanation, feature
):
    drawn = DependenceDisplay.from_explanation(explanation, feature, partner=None)
    assert tuple(drawn.figure_.get_size_inches()) > (7, 4)
    (below,) = drawn.ax_.child_axes
    assert sum(patch.get_height() for patch in below.patches) == len(explanation)
    points = drawn.ax_.collections[-1].get_offsets()
    top = below.get_position().y1
    shown = drawn.ax_.transData.transform(points)[:, 1] / drawn.figure_.bbox.height
    assert shown.min() > top
    assert not DependenceDisplay.from_explanation(explanation).ax_.child_axes


# --- matrix ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "n_rows", [1, 2, 12, pytest.param(1200, marks=pytest.mark.slow)]
)
def test_matrix_shows_every_row_once(explanation_maker, n_rows):
    explanation = explanation_maker(n_rows=n_rows)
    drawn = MatrixDisplay.from_explanation(explanation)
    frame = drawn.frame()
    assert sorted(frame.columns) == sorted(explanation.index)
    expected = explanation.to_frame().T.loc[frame.index, frame.columns]
    np.testing.assert_array_equal(frame, expected)
    np.testing.assert_array_equal(drawn.ax_.images[0].get_array(), frame)
    shown = drawn.ax_.child_axes[0].lines[0].get_ydata()
    position = explanation.index.get_indexer(frame.columns)
    np.testing.assert_array_equal(shown, explanation.predictions[position])


@pytest.mark.parametrize("n_rows", [40, 1200])
def test_matrix_orders_rows_by_similarity(explanation_maker, n_rows):
    explanation = explanation_maker(n_rows=n_rows)
    clusters = np.arange(n_rows) % 2
    values = np.where(clusters, 1.0, -1.0)[:, None] + 1e-3 * explanation.values
    explanation = replace(explanation, values=values)
    frame = MatrixDisplay.from_explanation(explanation).frame()
    signs = np.sign(frame.iloc[0].to_numpy())
    assert (np.diff(signs) != 0).sum() == 1


def test_matrix_fades_insignificant_values(explanation):
    drawn = MatrixDisplay.from_explanation(explanation)
    faded = drawn.ax_.images[0].get_alpha() < 1
    assert 0 < faded.sum() < faded.size
    expected = np.abs(explanation.values) <= 1.96 * explanation.standard_errors
    assert faded.sum() == expected.sum()
    assert "faded" in drawn.ax_.get_xlabel()


# --- dependence -----------------------------------------------------------------------


def test_dependence_shows_the_most_important_features(wide_explanation):
    drawn = DependenceDisplay.from_explanation(wide_explanation)
    assert len(drawn.axes_) == 4
    important = wide_explanation.importance().index[:4].tolist()
    assert pd.unique(drawn.frame()["feature"]).tolist() == important
    assert [ax.get_xlabel() for ax in drawn.axes_] == important


def test_dependence_draws_value_against_attribution(explanation):
    drawn = DependenceDisplay.from_explanation(
        explanation, features=["x2", "x0"], partner=None
    )
    numbers = drawn.axes_[0].collections[-1].get_offsets()
    expected = np.column_stack([explanation.data["x2"], explanation.values[:, 2]])
    np.testing.assert_allclose(numbers, expected)
    # Categories stand at whole numbers, give or take the room that points need.
    frame = drawn.frame().query("feature == 'x0'")
    assert [t.get_text() for t in drawn.axes_[1].get_xticklabels()] == ["high", "low"]
    places = frame["data"].map({"high": 0, "low": 1})
    assert (np.abs(frame["x"].astype(float) - places.astype(float)) <= 0.4).all()


def test_dependence_draws_missing_values_beside_the_axis(explanation):
    drawn = DependenceDisplay.from_explanation(explanation, features="x1", partner=None)
    frame = drawn.frame()
    missing = frame["data"].isna()
    assert missing.sum() == 1
    assert frame.loc[missing, "x"].item() < frame.loc[~missing, "x"].min()
    assert "missing" in [t.get_text().strip() for t in drawn.ax_.get_xticklabels()]


@pytest.mark.parametrize("kind", ["bool", "boolean"])
def test_dependence_of_booleans(explanation, kind):
    answers = pd.array([True, False, None] * 4, dtype="boolean")
    expected = ["False", "True", "missing"]
    if kind == "bool":
        answers, expected = answers.fillna(False).astype(bool), expected[:2]
    explanation.data["x3"] = answers
    drawn = DependenceDisplay.from_explanation(explanation, features="x3", partner=None)
    assert [label.get_text() for label in drawn.ax_.get_xticklabels()] == expected
    frame = drawn.frame()
    places = frame["data"].map({True: 1, False: 0}).fillna(2).to_numpy(dtype=float)
    assert (np.abs(frame["x"] - places) <= 0.4).all()


def test_dependence_of_dates(explanation):
    explanation.data["x3"] = pd.date_range("2024-01-01", periods=12, freq="D")
    drawn = DependenceDisplay.from_explanation(explanation, features="x3", partner=None)
    texts = [label.get_text() for label in drawn.ax_.get_xticklabels()]
    assert texts[-1] == "2024-01-12"


def test_dependence_colours_by_the_partner(explanation):
    drawn = DependenceDisplay.from_explanation(explanation, features="x2", partner="x0")
    texts = [text.get_text() for text in drawn.ax_.get_legend().get_texts()]
    assert texts == ["high", "low"]
    frame = drawn.frame()
    assert (
        frame["level"].map({0: "high", 1: "low"}).tolist()
        == explanation.data["x0"].tolist()
    )


def test_dependence_refuses_unknown_names(explanation):
    with pytest.raises(
        ValueError, match=r"got features=\['x9'\]: choose among \['x0',"
    ):
        DependenceDisplay.from_explanation(explanation, features=["x1", "x9"])
    with pytest.raises(
        ValueError, match=r"got partner=\['y'\]: choose among \['auto', 'x0',"
    ):
        DependenceDisplay.from_explanation(explanation, partner="y")
    axes = plt.subplots(1, 3)[1]
    with pytest.raises(ValueError, match="got 3 axes for 2 panels: pass as many"):
        DependenceDisplay.from_explanation(explanation, features=["x1", "x2"], ax=axes)


@pytest.mark.parametrize("kind", ["numbers", "categories"])
def test_the_interaction_partner_is_found(explanation_maker, kind):
    explanation = explanation_maker(n_rows=300, n_features=6)
    x, z = explanation.data["x2"].to_numpy(), explanation.data["x4"].to_numpy()
    if kind == "categories":
        z = np.where(explanation.data["x0"] == "low", -1.0, 1.0)
    values = np.array(explanation.values)
    values[:, 2] = x + 0.5 * x * z
    (found,) = strongest_partners(replace(explanation, values=values), [2])
    assert found == ("x4" if kind == "numbers" else "x0")
    # No other feature matters to one whose attribution follows from its own value.
    values = np.array(values)
    values[:, 2] = x
    assert strongest_partners(replace(explanation, values=values), [2]) == [None]
    # Nor to one whose rounding errors follow another.
    values[:, 2] = x + 1e-14 * z
    assert strongest_partners(replace(explanation, values=values), [2]) == [None]
    # Its scale does not matter.
    values[:, 2] = 1e200 * (x + 0.5 * x * z)
    assert strongest_partners(replace(explanation, values=values), [2]) == [found]


def test_partners_are_rarely_found_in_noise(explanation_maker):
    """One of 20 features at most finds a partner in noise; P(B(20, 1/20) > 4) < 1 %."""
    explanation = explanation_maker(n_rows=120, n_features=60)
    found = strongest_partners(explanation, range(2, 22))
    assert sum(name is not None for name in found) <= 4


# --- convergence ----------------------------------------------------------------------


def test_convergence_from_estimator():
    X = np.random.default_rng(0).normal(size=(10, 6))
    explainers = {
        name: ShapleyExplainer(
            lambda X: X.prod(axis=1), sampler=name, random_state=0
        ).fit(X)
        for name in ("antithetic", "monte-carlo")
    }
    drawn = ConvergenceDisplay.from_estimator(
        explainers, X[:2], budgets=[581, 281], row=1
    )
    assert explainers["antithetic"].max_rows == "auto"
    frame = drawn.frame()
    assert len(drawn.axes_) == 4
    assert frame["method"].nunique() == 2
    expected = (
        explainers["monte-carlo"].set_params(max_rows=581).fit(X).explain(X[:2])[1]
    )
    last = frame.query("method == 'monte-carlo'").groupby("feature").last()
    names = expected.feature_names.tolist()
    for feature, point in last.iterrows():
        assert point["value"] == expected.values[0, names.index(feature)]
        assert point["n_model_rows"] == expected.n_model_rows[0]
    line = drawn.axes_[0].lines[0]
    assert (np.diff(line.get_xdata()) > 0).all()


def test_convergence_refuses_invalid_explanations():
    with pytest.raises(ValueError, match="choose 1 to 6 methods"):
        ConvergenceDisplay.from_explanations({})


def test_convergence_band_is_the_95_percent_interval(explanation):
    drawn = ConvergenceDisplay.from_explanations([explanation[:1, ["x1"]]] * 2)
    low, high = np.sort(
        np.unique(drawn.ax_.collections[0].get_paths()[0].vertices[:, 1])
    )[[0, -1]]
    error = explanation.standard_errors[0, 1]
    assert (high - low) == pytest.approx(2 * 1.96 * error)


# --- accessor -------------------------------------------------------------------------


OPTIONS = {"waterfall": {"row": 0}, "heat_map": {"row": 0, "shape": (1, 5)}}


def test_accessor_has_a_method_for_each_display(explanation):
    record = Interactions(
        np.zeros((len(explanation), 5, 5)),
        None,
        explanation.values,
        explanation.base_values,
        explanation.feature_names,
        "shapley",
        explanation.index,
    )
    explanation = replace(explanation, interactions=record)
    kinds = {name for name in dir(explanation.plot) if not name.startswith("_")}
    kinds.remove("over_outputs")  # of several outputs
    drawn = {}
    for kind in kinds:
        options = OPTIONS.get(kind, {"row": 0} if kind == "sentence" else {})
        drawn[kind] = type(getattr(explanation.plot, kind)(**options))
        plt.close("all")
    assert {kind.title().replace("_", "") + "Display" for kind in kinds} == {
        display.__name__ for display in drawn.values()
    }
    members = vars(plots).values()
    displays = {d for d in members if isinstance(d, type) and issubclass(d, Display)}
    assert set(drawn.values()) == displays - {Display, plots.OverOutputsDisplay}


@pytest.mark.parametrize("kind", ["waterfall", "heat_map", "sentence"])
def test_a_single_row_must_be_chosen_explicitly(explanation, kind):
    options = {"shape": 5} if kind == "heat_map" else {}
    with pytest.raises(
        ValueError, match=r"plot.[a-z_]+ got row=None, .* has 12: choose a position"
    ):
        getattr(explanation.plot, kind)(**options)
    getattr(explanation[3].plot, kind)(**options)
