"""Curves over outputs that are numbers: the numbers drawn, and the refusal of other outputs."""

import numpy as np
import pandas as pd
import pytest

from skshapley import ShapleyExplainer
from skshapley.plots import OverOutputsDisplay

TIMES = [0.5, 1.0, 4.0]
SLOPES = np.array([[1.0, 2.0, 3.0], [0.0, -5.0, 1.0], [0.1, 0.1, 0.1]])


@pytest.fixture
def over_time():
    def model(X):
        return pd.DataFrame(X @ SLOPES, columns=TIMES)

    X = np.random.default_rng(0).normal(size=(9, 3))
    return ShapleyExplainer(model).fit(np.zeros((1, 3))).explain(X)


def test_a_row_has_a_line_for_each_feature(over_time):
    drawn = over_time.plot.over_outputs(2, max_features=2)
    frame = drawn.frame().sort_values(["feature", "output"])
    assert frame["output"].tolist() == 2 * TIMES
    np.testing.assert_allclose(
        frame["value"], over_time.values[2, :2].ravel(), atol=1e-12
    )
    lines = [
        line.get_xdata().tolist()
        for line in drawn.ax_.lines
        if len(line.get_xdata()) == 3
    ]
    assert lines == [TIMES, TIMES]
    assert drawn.ax_.get_ylabel() == "attribution (response)"


def test_several_rows_have_mean_sizes_with_errors(over_time):
    drawn = over_time.plot.over_outputs()
    one = drawn.frame().query("output == 4.0").set_index("feature")
    importance = over_time.output(4.0).importance()
    expected = importance.loc[one.index, ["importance", "standard_error"]]
    np.testing.assert_allclose(one[["value", "standard_error"]], expected)


def test_a_single_row_needs_no_position(over_time):
    drawn = OverOutputsDisplay.from_explanation(over_time[:1])
    assert len(drawn.frame()) == 9


@pytest.mark.parametrize("columns", [["a", "b", "c"], [0, 1, 2], [2.0, 1.0, 3.0]])
def test_other_outputs_are_refused(columns):
    explainer = ShapleyExplainer(lambda X: pd.DataFrame(X @ SLOPES, columns=columns))
    explanation = explainer.fit(np.zeros((1, 3))).explain(np.eye(3))
    with pytest.raises(
        ValueError, match="over_outputs got outputs that are not ascending numbers"
    ):
        explanation.plot.over_outputs(0)
