from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from skshapley._tables._texts import (
    named_values,
    number,
    ordered_numbers,
    short_names,
)
from skshapley.plots._common import (
    closed,
    fold,
    levels,
)


@pytest.mark.parametrize("n_kept", [1, 10, 498])
def test_fold_keeps_the_largest_features_and_the_sum(wide_explanation, n_kept):
    folded = fold(wide_explanation, n_kept)
    assert folded.values.shape == (12, n_kept + 1)
    np.testing.assert_allclose(
        folded.values.sum(axis=1), wide_explanation.values.sum(axis=1)
    )
    sizes = np.abs(wide_explanation.values).mean(axis=0)
    np.testing.assert_allclose(
        np.abs(folded.values[:, :-1]).mean(axis=0), np.sort(sizes)[::-1][:n_kept]
    )
    assert folded.feature_names[-1] == f"{500 - n_kept} other features"
    assert np.isnan(folded.standard_errors[:, -1]).all()
    assert not np.isnan(folded.standard_errors[:, :-1]).any()


@pytest.mark.parametrize("max_features", [4, 5, 9, None])
def test_fold_never_hides_a_single_feature(explanation, max_features):
    folded = fold(explanation, max_features)
    assert sorted(folded.feature_names) == sorted(explanation.feature_names)
    column = folded.feature_names.tolist().index("x2")
    np.testing.assert_array_equal(folded.values[:, column], explanation.values[:, 2])
    pd.testing.assert_series_equal(folded.data["x2"], explanation.data["x2"])


def test_fold_without_standard_errors(explanation_maker):
    assert (
        fold(explanation_maker(n_features=20, errors=False), 3).standard_errors is None
    )


def test_additive_attributions_are_unchanged(explanation):
    assert closed(explanation) is explanation
    single = replace(explanation, values=explanation.values.astype(np.float32))
    assert closed(single) is single


@pytest.mark.parametrize("errors", [True, False])
def test_an_efficiency_gap_becomes_a_last_player(explanation_maker, errors):
    explanation = explanation_maker(errors=errors)
    gap = np.linspace(-0.5, 0.5, 12)
    open_ended = replace(explanation, predictions=explanation.predictions + gap)
    whole = closed(open_ended)
    assert whole.feature_names.tolist() == [*explanation.feature_names, "unexplained"]
    np.testing.assert_allclose(whole.values[:, -1], gap)
    ends = whole.base_values + whole.values.sum(axis=1)
    np.testing.assert_allclose(ends, whole.predictions)
    if errors:
        assert np.isnan(whole.standard_errors[:, -1]).all()
        assert not np.isnan(whole.standard_errors[:, :-1]).any()
    assert whole.data["unexplained"].isna().all()
    assert explanation.data.shape == (12, 5)  # the record itself stays as it is


def test_levels_run_from_low_to_high():
    column = pd.Series([*range(100), np.nan, 1e9])
    found = levels(column)
    assert np.isnan(found[100])
    assert np.nanmin(found) == 0
    assert np.nanmax(found) == 1
    assert (np.diff(found[:100]) >= 0).all()
    # An outlier leaves the others apart.
    assert found[90] - found[10] > 0.7


COLUMNS = {
    "bool": (pd.Series([False, True]), [0, 1]),
    "nullable": (pd.Series([1, None, 3], dtype="Int64"), [1, np.nan, 3]),
    "ordered": (
        pd.Series(pd.Categorical(["b", "a", None], ["a", "b"], ordered=True)),
        [1, 0, np.nan],
    ),
    "unordered": (pd.Series(pd.Categorical(["b", "a"])), [np.nan, np.nan]),
    "strings": (pd.Series(["b", "a"]), [np.nan, np.nan]),
    "objects": (pd.Series([1, 2.5, None], dtype=object), [1, 2.5, np.nan]),
    "mixed": (pd.Series([1, "a"], dtype=object), [np.nan, np.nan]),
    "nothing": (pd.Series([None, None], dtype=object), [np.nan, np.nan]),
}


@pytest.mark.parametrize(("column", "expected"), COLUMNS.values(), ids=COLUMNS)
def test_ordered_numbers(column, expected):
    np.testing.assert_array_equal(ordered_numbers(column), expected)


def test_ordered_numbers_of_dates():
    days = pd.Series(pd.to_datetime(["2024-01-02", None, "2024-01-01"]))
    first, missing, last = ordered_numbers(days)
    assert first > last
    assert np.isnan(missing)


def test_levels_of_a_constant():
    np.testing.assert_array_equal(
        levels(pd.Series([3.0, 3.0, np.nan])), [0.5, 0.5, np.nan]
    )
    # More than 95 % of one value: the others are distinguished all the same.
    np.testing.assert_array_equal(
        np.unique(levels(pd.Series([0.0] * 99 + [1.0]))), [0, 1]
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-1.7, "−1.70"),
        (0.05478, "0.0548"),
        (1234.5, "1234"),
        (2.5e7, "2.50e+07"),
        (-3.21e-6, "−3.21e−06"),
    ],
)
def test_number(value, text):
    assert number(value) == text
    assert number(value, signed=True) == ("+" + text if value > 0 else text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.nan, "missing"),
        (pd.NA, "missing"),
        (pd.NaT, "missing"),
        (True, "True"),
        (-3, "−3"),
        (1234567, "1234567"),
        (0.123456, "0.1235"),
        # rounding keeps the integer part
        (1304000.4, "1304000"),
        (-640423.0, "−640423"),
        (12.3456, "12.35"),
        (8.0, "8"),
        (1e12, "1e+12"),
        (pd.Timestamp("2024-03-01"), "2024-03-01"),
        ("a category with a long name", "a categ…ong name"),
    ],
)
def test_value_text(value, text):
    frame = pd.DataFrame({"feature": ["x"], "data": pd.Series([value], dtype=object)})
    assert named_values(frame) == [f"x = {text}"]


def test_unnamed_features_show_their_value():
    frame = pd.DataFrame({"feature": ["", "\n"], "data": [1.5, 2.0]})
    assert [line.strip()[-3:] for line in named_values(frame)] == ["1.5", "= 2"]


def test_a_long_name_leaves_room_for_its_value():
    name = (
        "Average monthly household expenditure on durable consumer goods and services"
    )
    frame = pd.DataFrame(
        {"feature": [name, "age"], "data": ["a category with a name", 3]}
    )
    long, short = named_values(frame)
    assert long == "Average mo…d services = a categ…h a name"
    assert short == "age = 3"


ALIKE = {
    "middle": [
        f"measurement_of_channel_{i}_of_the_northern_sensor_hall" for i in range(12)
    ],
    "groups": [
        f"{hall}_hall_of_the_plant_sensor_{i}_mean_in_C"
        for hall in "AB"
        for i in (1, 2)
    ],
    "different": ["age", "x" * 40, "y" * 40],
}


@pytest.mark.parametrize("width", [28, 32])
@pytest.mark.parametrize("names", ALIKE.values(), ids=ALIKE)
def test_short_names_stay_different(names, width):
    names = [*names, "12 other features", names[0]]
    short = short_names(names, width)
    assert len(set(short)) == len(set(names))
    assert max(map(len, short)) <= width
    assert short[0] == short[-1]
    assert short_names(["age", "sex"], width) == ["age", "sex"]
