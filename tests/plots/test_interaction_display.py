"""The triangle of interactions: pairs, numbers and errors. Pixels are not compared."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from skshapley import Interactions
from skshapley.plots import InteractionsDisplay


@pytest.fixture
def with_pairs(explanation_maker):
    """Explanations with interactions of random numbers."""

    def make(n_rows=6, n_features=5, *, errors=True, **kwargs):
        explanation = explanation_maker(n_rows, n_features, **kwargs)
        rng = np.random.default_rng(1)
        p, rest = n_features, explanation.values.shape[2:]
        pairs = rng.normal(size=(n_rows, p * (p - 1) // 2, *rest))
        record = Interactions.of_pairs(
            explanation.values,
            pairs,
            np.full(pairs.shape, 0.5 if errors else np.nan),
            base_values=explanation.base_values,
            feature_names=explanation.feature_names,
            index="shapley",
            rows=explanation.index,
            output_names=explanation.output_names,
        )
        return replace(explanation, interactions=record)

    return make


def test_a_matrix_shows_each_pair_once_and_adds_up(with_pairs):
    explanation = with_pairs()
    frame = explanation.plot.interactions(row=2).frame()
    assert len(frame) == 15
    values = explanation.interactions.values[2]
    names = explanation.feature_names.tolist()
    for line in frame.itertuples():
        i, j = names.index(line.feature), names.index(line.other)
        expected = (
            explanation.interactions.main_effects[2, i] if i == j else values[i, j]
        )
        assert line.value == expected
        assert np.isnan(line.standard_error) == (i == j)
    total = explanation.predictions[2] - explanation.base_values[2]
    assert frame["value"].sum() == pytest.approx(total)


def test_a_table_shows_mean_absolute_interactions_with_errors(with_pairs):
    explanation = with_pairs()
    display = explanation.plot.interactions()
    expected = explanation.interactions.importance()
    for line in display.frame().itertuples():
        if line.feature != line.other:
            pair = tuple(sorted((line.feature, line.other)))
            assert line.value == pytest.approx(expected.loc[pair, "importance"])
            assert line.standard_error == pytest.approx(
                expected.loc[pair, "standard_error"]
            )
    assert "mean absolute" in display.ax_.get_xlabel()
    alone = explanation[[0]].plot.interactions()
    pd.testing.assert_frame_equal(
        alone.frame(), explanation.plot.interactions(row=0).frame()
    )


def test_errors_are_written_below_the_numbers(with_pairs):
    display = with_pairs().plot.interactions(row=0)
    texts = [text.get_text() for text in display.ax_.texts]
    assert len(texts) == 15
    assert sum("±0.98" in text for text in texts) == 10
    assert "faded" in display.ax_.get_xlabel()
    plain = with_pairs(errors=False).plot.interactions(row=0)
    assert not any("±" in text.get_text() for text in plain.ax_.texts)
    assert "faded" not in plain.ax_.get_xlabel()


def test_features_with_the_largest_interactions_come_first(with_pairs):
    explanation = with_pairs()
    size = np.abs(explanation.interactions.values[1]).max(axis=1)
    display = explanation.plot.interactions(row=1, max_features=3)
    shown = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert (
        shown
        == explanation.feature_names[np.argsort(-size, kind="stable")][:3].tolist()
    )
    assert len(display.frame()) == 6


def test_numbers_fit_into_cells_beside_long_names(with_pairs):
    explanation = with_pairs(3, 8)
    names = np.array(
        [f"a feature whose name is long {i}" for i in range(8)], dtype=object
    )
    record = replace(explanation.interactions, feature_names=names)
    explanation = replace(explanation, feature_names=names, interactions=record)
    _, ax = plt.subplots(figsize=(6, 5), layout="constrained")
    display = explanation.plot.interactions(ax=ax)
    display.figure_.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert len(boxes) == 36
    assert max(box.width for box in boxes) <= ax.get_window_extent().width / 8


def test_numbers_are_omitted_for_many_features(with_pairs):
    display = with_pairs(3, 30).plot.interactions(max_features=None)
    assert len(display.frame()) == 30 * 31 / 2
    assert not display.ax_.texts


@pytest.mark.parametrize(
    "style", ["default", pytest.param("dark_background", marks=pytest.mark.slow)]
)
def test_several_outputs_are_side_by_side(style, with_pairs):
    explanation = with_pairs(outputs=["no", "yes"])
    with plt.style.context(style):
        drawn = explanation.plot.interactions(row=0)
        drawn.figure_.canvas.draw()
    assert len(drawn.axes_) == 2
    one = explanation.plot.interactions(row=0, output="yes").frame()
    pd.testing.assert_frame_equal(drawn.frame().loc["yes"], one)


def test_explanations_without_interactions_are_refused(explanation):
    with pytest.raises(
        ValueError,
        match=r"(InteractionsDisplay|plot[.]interactions) got .* explain with interactions=T",
    ):
        InteractionsDisplay.from_explanation(explanation)


def test_waterfalls_show_the_strongest_pairs(with_pairs):
    explanation = with_pairs()
    display = explanation.plot.waterfall(row=2, max_pairs=2, max_features=None)
    frame = display.frame().set_index("feature")
    strongest = explanation.interactions[2].strongest(2)
    left = dict(zip(explanation.feature_names, explanation.values[2], strict=True))
    for line in strongest.itertuples():
        bar = frame.loc[f"{line.feature} × {line.other}"]
        assert bar["value"] == line.value
        assert bar["standard_error"] == 0.5
        for name in (line.feature, line.other):
            left[name] -= line.value / 2
            assert np.isnan(frame.loc[name, "standard_error"])
    for name, value in left.items():
        assert frame.loc[name, "value"] == pytest.approx(value)
    untouched = set(left) - set(strongest["feature"]) - set(strongest["other"])
    assert np.isfinite(frame.loc[list(untouched), "standard_error"]).all()
    assert frame["end"].iloc[0] == pytest.approx(explanation.predictions[2])
    shown = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert sum("×" in text for text in shown) == 2
    plain = explanation.plot.waterfall(row=2, max_pairs=0)
    assert not any("×" in name for name in plain.frame()["feature"])
    few = explanation.plot.waterfall(row=2, max_pairs=2, max_features=3).frame()
    assert few["value"].sum() == pytest.approx(frame["value"].sum())


def test_pairs_that_do_not_interact_have_no_bars(with_pairs):
    explanation = with_pairs(errors=False)
    values = np.zeros((6, 5, 5))
    values[:, 0, 1] = values[:, 1, 0] = 2.0
    record = replace(explanation.interactions, values=values)
    frame = (
        replace(explanation, interactions=record)
        .plot.waterfall(row=0, max_pairs=9)
        .frame()
    )
    assert sum("×" in name for name in frame["feature"]) == 1


def test_dependence_is_coloured_by_the_strongest_partner(with_pairs):
    explanation = with_pairs(40)
    size = np.abs(explanation.interactions.values).mean(axis=0)
    names = explanation.feature_names
    frame = explanation.plot.dependence(max_features=None).frame()
    for feature, part in frame.groupby("feature"):
        expected = names[size[names.tolist().index(feature)].argmax()]
        assert (part["partner"] == expected).all()
    none = replace(explanation.interactions, values=np.zeros((40, 5, 5)))
    frame = replace(explanation, interactions=none).plot.dependence().frame()
    assert frame["partner"].isna().all()


def test_an_interaction_is_drawn_against_both_features(with_pairs):
    explanation = with_pairs(40)
    found, names = explanation.interactions, explanation.feature_names.tolist()
    strongest = set(found.importance().index[0])
    display = explanation.plot.dependence(kind="interaction")
    frame = display.frame()
    assert set(frame["feature"]) == strongest
    assert display.ax_.get_ylabel().startswith("interaction")
    for (feature, other), part in frame.groupby(["feature", "partner"]):
        assert {feature, other} == strongest
        i, j = names.index(feature), names.index(other)
        np.testing.assert_array_equal(part["value"], found.values[:, i, j])
        np.testing.assert_array_equal(
            part["standard_error"], found.standard_errors[:, i, j]
        )
        np.testing.assert_array_equal(part["data"], explanation.data[feature])
    chosen = explanation.plot.dependence(
        kind="interaction", features=names[1], partner=names[3]
    )
    pairs = chosen.frame().groupby("feature", sort=False)["partner"].first()
    assert pairs.to_dict() == {names[1]: names[3], names[3]: names[1]}
    both = explanation.plot.dependence(kind="interaction", features=names[:2]).frame()
    assert both["feature"].drop_duplicates().tolist() == names[:2]


def test_missing_interactions_are_reported(explanation):
    with pytest.raises(
        ValueError, match=r"plot.waterfall got .* explain with interactions=Tr"
    ):
        explanation.plot.waterfall(row=0, max_pairs=1)
    with pytest.raises(
        ValueError, match=r"plot.dependence got .* explain with interactions=T"
    ):
        explanation.plot.dependence(kind="interaction")
    with pytest.raises(
        ValueError, match=r'kind as one of "attribution", "interaction"; got'
    ):
        explanation.plot.dependence(kind="main")
