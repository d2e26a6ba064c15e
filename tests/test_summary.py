"""Tables of explanations in notebooks and terminals, and directions of importances."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.linear_model import LinearRegression

from skshapley import Explanation, ShapleyExplainer

NAMES = ["age", "<b>job", "when"]
R = 5


def made(n=R, outputs=None, **parts):
    """Values i + j / 4, with errors of .1; the third feature is the largest."""
    k = 1 if outputs is None else len(outputs)
    names = np.array(NAMES, dtype=object)
    values = np.arange(n)[:, None, None] + np.arange(3)[:, None] / 4 + np.arange(k)
    ends = {"base_values": np.ones((n, k)), "predictions": 1 + values.sum(axis=1)}
    numbers = {"values": values, "standard_errors": np.full(values.shape, 0.1), **ends}
    if outputs is None:
        numbers = {name: part[..., 0] for name, part in numbers.items()}
    columns = {
        "data": pd.DataFrame(np.arange(3 * n).reshape(n, 3), columns=names),
        "feature_names": names,
        "output_names": None if outputs is None else np.array(outputs, dtype=object),
        "n_evaluations": np.ones(n),
        "n_model_rows": np.ones(n),
        "converged": np.ones(n, dtype=bool),
    }
    return Explanation(**(numbers | columns | parts))


def text_cells(explanation):
    """The cells of the lines of the text, by the first cell."""
    _, *lines = repr(explanation).splitlines()
    return [re.split(r"\s{2,}", line.strip()) for line in lines]


def html_cells(explanation):
    lines = explanation._repr_html_().split("<tr")[1:]
    rows = [re.findall("<t[hd]>(.*?)</t[hd]>", line) for line in lines]
    return [[cell for cell in row if cell] for row in rows]


@pytest.mark.parametrize("cells", [text_cells, html_cells])
def test_one_row_shows_data_signed_values_and_errors_by_size(cells):
    row = made()[1]
    head, prediction, *lines, base_value = cells(row)
    assert "standard error" in head[-1]
    assert prediction == ["prediction", "4.75"]
    assert base_value == ["base value", "1.00"]
    names = ["when", "<b>job" if cells is text_cells else "&lt;b&gt;job", "age"]
    assert [line[0] for line in lines] == names
    frame = row.to_frame("long").sort_values("value", ascending=False)
    assert [line[1] for line in lines] == frame["data"].astype(str).tolist()
    assert [line[2] for line in lines] == [f"{value:+.2f}" for value in frame["value"]]
    assert [line[3] for line in lines] == ["± 0.10"] * 3


def test_negative_values_have_a_sign():
    row = made(1)
    negative = made(1, values=-row.values, predictions=2 - row.predictions)
    assert ["when", "2", "−0.500", "± 0.10"] in text_cells(negative)


@pytest.mark.parametrize("cells", [text_cells, html_cells])
def test_a_few_rows_are_a_table_of_signed_values(cells):
    few = made(3)
    head, prediction, when, *_ = cells(few)
    assert head[-3:] == ["0", "1", "2"]
    assert prediction[0] == "prediction"
    assert when == ["when", "+0.500", "+1.50", "+2.50"]


@pytest.mark.parametrize("cells", [text_cells, html_cells])
def test_many_rows_are_a_table_of_importances_of_every_output(cells):
    many = made(20, ["no", "yes"])
    head, when, *_ = cells(many)
    assert head[-2:] == ["no", "yes"]
    table = many.importance()
    for text, output in zip(when[1:], ["no", "yes"], strict=True):
        size, error = table.loc[(output, "when"), ["importance", "standard_error"]]
        assert text == f"{size:.1f} ± {error:.1f}"


def test_omitted_features_and_outputs_are_counted():
    p, k = 14, 8
    names = np.array([f"x{i}" for i in range(p)], dtype=object)
    wide = made(
        1,
        range(k),
        values=np.ones((1, p, k)),
        standard_errors=None,
        base_values=np.zeros((1, k)),
        predictions=np.full((1, k), float(p)),
        data=pd.DataFrame(np.zeros((1, p)), columns=names),
        feature_names=names,
    )
    for text in (repr(wide), wide._repr_html_()):
        assert "the 10 strongest of 14 features" in text
        assert "the 6 strongest of 8 outputs" in text
        assert "4 other features" in text


def test_parts_that_are_not_shown_add_up():
    row = made()[1, ["age"]]
    assert ["features left out", "+2.75"] in text_cells(row)
    lacking = made(1, predictions=np.array([9.0]))
    assert ["unexplained", "+7.25"] in text_cells(lacking)


def test_exact_is_not_above_an_error_of_the_background():
    X = np.random.default_rng(0).normal(size=(30, 2))
    explainer = ShapleyExplainer(LinearRegression().fit(X, X[:, 0])).fit(X)
    exact = explainer.explain(X[:1])
    assert "for this background" not in repr(exact)
    explanation = replace(exact, background_errors=np.full((1, 2), 0.5))
    assert "exact for this background" in repr(explanation)
    assert "background error" in repr(explanation)


@pytest.fixture
def mixed():
    """60 rows of a number, a column of 0 and 1, and a category."""
    rng = np.random.default_rng(0)
    number = rng.normal(size=60)
    flag = rng.integers(0, 2, 60)
    values = np.column_stack([number, -flag + rng.normal(size=60), number])
    data = {"age": number, "<b>job": flag, "when": rng.choice(["a", "b"], 60)}
    return made(60, values=values, data=pd.DataFrame(data))


@pytest.mark.parametrize("confidence", [None, 0.95])
def test_direction_is_the_rank_correlation_of_data_and_values(mixed, confidence):
    table = mixed.importance(confidence=confidence)
    assert table.loc["age", "direction"] == pytest.approx(1)
    assert table.loc["when", ["direction", "direction_error"]].isna().all()
    flag, values = mixed.data["<b>job"].to_numpy(), mixed.values[:, 1]
    expected = stats.spearmanr(flag, values).statistic
    assert table.loc["<b>job", "direction"] == pytest.approx(expected)


def test_the_error_of_a_direction_is_its_spread_over_samples(mixed):
    """Over 500 bootstrap samples, the spread is known within 3.2 %."""
    rng = np.random.default_rng(1)
    draws = rng.integers(0, 60, (500, 60))
    flag, values = mixed.data["<b>job"].to_numpy(), mixed.values[:, 1]
    resampled = [stats.spearmanr(flag[rows], values[rows]).statistic for rows in draws]
    error = mixed.importance().loc["<b>job", "direction_error"]
    assert error == pytest.approx(np.std(resampled), rel=0.13)
