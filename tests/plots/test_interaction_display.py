"""What is in the triangle: which pairs, their numbers and errors. Pixels are not compared."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from skshapley._records._interactions import Interactions
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
            pairs,
            np.full(pairs.shape, 0.5) if errors else None,
            explanation.values,
            base_values=explanation.base_values,
            feature_names=explanation.feature_names,
            index="shapley",
            rows=explanation.index,
            output_names=explanation.output_names,
        )
        return replace(explanation, interactions=record)

    return make


def test_a_row_shows_each_pair_once_and_adds_up(with_pairs):
    explanation = with_pairs()
    frame = explanation.plot.interactions(row=2).frame()
    assert len(frame) == 15
    values = explanation.interactions.values[2]
    names = explanation.feature_names.tolist()
    for line in frame.itertuples():
        i, j = names.index(line.feature), names.index(line.other)
        expected = explanation.interactions.main_effects[2, i] if i == j else values[i, j]
        assert line.value == expected
        assert np.isnan(line.standard_error) == (i == j)
    total = explanation.predictions[2] - explanation.base_values[2]
    assert frame["value"].sum() == pytest.approx(total)


def test_a_table_shows_mean_sizes_with_the_errors_of_means(with_pairs):
    explanation = with_pairs()
    display = explanation.plot.interactions()
    expected = explanation.interactions.importance()
    for line in display.frame().itertuples():
        if line.feature != line.other:
            pair = tuple(sorted((line.feature, line.other)))
            assert line.value == pytest.approx(expected.loc[pair, "importance"])
            assert line.standard_error == pytest.approx(expected.loc[pair, "standard_error"])
    assert "mean absolute" in display.ax_.get_xlabel()
    alone = explanation[[0]].plot.interactions()
    pd.testing.assert_frame_equal(alone.frame(), explanation.plot.interactions(row=0).frame())


def test_errors_are_written_below_the_numbers(with_pairs):
    display = with_pairs().plot.interactions(row=0)
    texts = [text.get_text() for text in display.ax_.texts]
    assert len(texts) == 15
    assert sum("±0.980" in text for text in texts) == 10
    assert "faded" in display.ax_.get_xlabel()
    plain = with_pairs(errors=False).plot.interactions(row=0)
    assert not any("±" in text.get_text() for text in plain.ax_.texts)
    assert "faded" not in plain.ax_.get_xlabel()


def test_features_with_the_largest_interactions_come_first(with_pairs):
    explanation = with_pairs()
    size = np.abs(explanation.interactions.values[1]).max(axis=1)
    display = explanation.plot.interactions(row=1, max_features=3)
    shown = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert shown == explanation.feature_names[np.argsort(-size, kind="stable")][:3].tolist()
    assert len(display.frame()) == 6


def test_many_features_have_no_numbers_that_nobody_can_read(with_pairs):
    display = with_pairs(3, 30).plot.interactions(max_features=None)
    assert len(display.frame()) == 30 * 31 / 2
    assert not display.ax_.texts


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_several_outputs_are_side_by_side(style, with_pairs):
    explanation = with_pairs(outputs=["no", "yes"])
    with plt.style.context(style):
        drawn = explanation.plot.interactions(row=0)
        drawn.figure_.canvas.draw()
    assert len(drawn.axes_) == 2
    one = explanation.plot.interactions(row=0, output="yes").frame()
    pd.testing.assert_frame_equal(drawn.frame().loc["yes"], one)


def test_explanations_without_interactions_are_refused(explanation):
    with pytest.raises(ValueError, match=r"InteractionsDisplay got .* explain with interactions=T"):
        InteractionsDisplay.from_explanation(explanation)
