"""Tables: kept in their container, checked against the background's."""

import sys

import numpy as np
import pandas as pd
import pytest

from skshapley import ShapleyExplainer
from skshapley._tables._inputs import (
    as_array,
    as_pandas,
    check_columns,
    check_frame,
    column_names,
    is_frame,
    take_rows,
)

FRAME = pd.DataFrame(
    {"a": [1, 2], "b": list("uv"), "c": pd.Categorical(list("xy"))}, index=[7, 7]
)


@pytest.fixture
def polars():
    return pytest.importorskip("polars")


def test_frames_are_recognised(polars):
    assert is_frame(FRAME)
    assert is_frame(polars.DataFrame({"a": [1]}))
    assert not is_frame(FRAME.to_numpy())
    assert not is_frame([[1]])


def test_names(polars):
    assert column_names(FRAME) == ["a", "b", "c"]
    assert column_names(polars.DataFrame({"a": [1], "z": [2]})) == ["a", "z"]
    assert column_names(np.zeros((1, 3))) == ["x0", "x1", "x2"]


def test_names_of_arrow_tables():
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("narwhals")
    assert column_names(pyarrow.table({"a": [1], "z": [2]})) == ["a", "z"]


def test_as_pandas_and_as_array(polars):
    table = polars.DataFrame({"a": [1, 2], "b": [0.5, None]})
    expected = pd.DataFrame({"a": [1, 2], "b": [0.5, np.nan]})
    pd.testing.assert_frame_equal(as_pandas(table), expected)
    np.testing.assert_array_equal(as_array(table), expected.to_numpy())
    assert as_pandas(FRAME) is FRAME
    assert as_pandas(np.zeros((1, 2))).columns.tolist() == ["x0", "x1"]


def test_take_rows(polars):
    rows = np.array([1, 0, 1])
    assert take_rows(FRAME, rows)["a"].tolist() == [2, 1, 2]
    assert take_rows(polars.DataFrame({"a": [1, 2]}), rows)["a"].to_list() == [2, 1, 2]
    assert take_rows(np.array([[1], [2]]), rows).tolist() == [[2], [1], [2]]
    assert len(take_rows(polars.DataFrame({"a": [1, 2]}), slice(0, 1))) == 1


def test_frames_of_other_libraries_need_narwhals(polars, monkeypatch):

    monkeypatch.setitem(sys.modules, "narwhals", None)
    assert is_frame(FRAME)
    assert not is_frame(np.zeros((1, 1)))
    with pytest.raises(ImportError, match="polars frame needs narwhals"):
        is_frame(polars.DataFrame({"a": [1]}))


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (FRAME.iloc[:0], r"0 sample\(s\) \(shape=\(0, 3\)\) .* by Owner"),
        (FRAME[[]], r"0 feature\(s\) \(shape=\(2, 0\)\) .* by Owner"),
        (
            FRAME[["a", "b", "a"]],
            r"Owner needs columns of different names; got .* \['a'\]: rename",
        ),
    ],
)
def test_invalid_frames(frame, message):
    with pytest.raises(ValueError, match=message):
        check_frame(frame, "Owner")


# --- columns --------------------------------------------------------------------------


def renamed(names):
    return pd.DataFrame(np.zeros((1, len(names))), columns=names)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("ab", "Owner needs the column 'c', which the given table does not have."),
        ("a", "Owner needs the columns 'b', 'c', which the given table does not have."),
        (
            "abx",
            "Owner needs the column 'c', which .* have; it has the column 'x' instead.",
        ),
        (
            "abcx",
            (
                "Owner got the column 'x', which the background does not have: leave the "
                "rest"
            ),
        ),
    ],
)
def test_mismatched_columns_are_named(given, shown):
    background = renamed(list("abc"))
    with pytest.raises(ValueError, match=shown):
        check_columns(renamed(list(given)), background, "Owner")


def test_at_most_ten_columns_are_named():
    with pytest.raises(ValueError, match="1990 more") as caught:
        check_columns(renamed(range(2000)), renamed(range(2000, 4000)), "Owner")
    assert len(str(caught.value)) < 400


def test_columns_are_reordered_like_the_background():
    pd.testing.assert_frame_equal(
        check_columns(FRAME[["a", "c", "b"]], FRAME, "Owner"), FRAME
    )


def test_other_containers_are_refused(polars):
    table = polars.DataFrame({"a": [1]})
    for given, background in [
        (FRAME, FRAME.to_numpy()),
        (FRAME.to_numpy(), FRAME),
        (table, FRAME),
        (FRAME, table),
    ]:
        with pytest.raises(
            TypeError, match=r"Owner got rows of type .* for a background of type"
        ):
            check_columns(given, background, "Owner")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"a": ["1", "2"]}, "'a' is str|'a' is object"),
        ({"b": [1, 2]}, "'b' is int64"),
        ({"c": ["x", "y"]}, "'c' is (str|object) instead of category"),
        ({"a": pd.to_datetime(["2024", "2025"])}, "'a' is datetime64"),
        ({"b": [1, 2], "a": ["1", "2"]}, r"'a' is .*; 'b' is int64"),
    ],
)
def test_incompatible_dtypes_are_refused_in_one_sentence(changes, message):
    with pytest.raises(ValueError, match=message) as caught:
        check_columns(FRAME.assign(**changes), FRAME, "Owner")
    assert "X.astype(background.dtypes)" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"a": [0.5, 1.5]},
        {"a": [True, False]},
        {"a": pd.array([1, None], dtype="Int8")},
        {"b": np.array(["u", None], dtype=object)},
        {"b": pd.array(["u", None], dtype="string")},
    ],
)
def test_compatible_dtypes_are_accepted(changes):
    given = FRAME.assign(**changes)
    assert check_columns(given, FRAME, "Owner") is given


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (pd.Categorical(["y", "y"]), pd.Categorical(["x", "y"])),
        (
            pd.Categorical(["y", "x"], categories=["unused", "y", "x"]),
            pd.Categorical(["x", "y"]),
        ),
        (pd.Categorical(["y", None]), pd.Categorical(["x", "y"], ordered=True)),
        (pd.Categorical([2, 1], categories=[3, 2, 1]), pd.Categorical([1, 2])),
    ],
)
@pytest.mark.parametrize("name", ["c", 0])
def test_categories_are_reordered_like_the_background(given, expected, name):
    X, background = pd.DataFrame({name: given}), pd.DataFrame({name: expected})
    checked = check_columns(X, background, "Owner")
    assert checked[name].dtype == background[name].dtype
    assert list(checked[name].dropna()) == list(pd.Series(given).dropna())
    assert list(checked[name].isna()) == list(pd.isna(given))
    assert X[name].dtype == given.dtype


def test_unknown_categories_are_named():
    X = FRAME.assign(c=pd.Categorical(["x", "q"]))
    with pytest.raises(
        ValueError, match=r"categories \['q'\] in column 'c', .* has \['x', 'y'\]"
    ):
        check_columns(X, FRAME, "Owner")


def test_arrays():
    floats, words = np.zeros((2, 2)), np.full((2, 2), "u")
    assert check_columns(floats.astype(int), floats, "Owner").dtype == int
    assert check_columns(words.astype("U9"), words, "Owner").dtype == "U9"
    with pytest.raises(ValueError, match="array of dtype float64, and got <U1"):
        check_columns(words, floats, "Owner")
    with pytest.raises(ValueError, match="2 columns, and got 1"):
        check_columns(floats[:, :1], floats, "Owner")


def test_polars_dtypes(polars):
    background = polars.DataFrame({"n": [1, 2], "s": ["u", "v"]})
    fraction = background.with_columns(n=polars.col("n") / 2)
    assert check_columns(fraction, background, "Owner") is fraction
    with pytest.raises(
        ValueError, match="'n' is String instead of Int64; 's' is Int64"
    ) as caught:
        check_columns(background.select(n="s", s="n"), background, "Owner")
    assert "X.cast(background.schema)" in str(caught.value)
    assert check_columns(background.select("s", "n"), background, "Owner").columns == [
        "n",
        "s",
    ]


SERVED = pd.DataFrame(
    {
        "age": [30.0, 40.0, 50.0, 60.0],
        "rooms": [1, 2, 3, 4],
        "city": pd.Categorical(["Rome", "Oslo", "Rome", "Bern"]),
        "name": ["a", "b", "c", "d"],
    }
)
ROW = {"name": "b", "city": "Oslo", "age": 41, "rooms": 3}
ROWS = {
    "dict": ROW,
    "list of dicts": [ROW],
    "dict of lists": {name: [value] for name, value in ROW.items()},
    "Series": pd.Series(ROW),
}


def served(frame):
    return np.asarray(frame["age"]) * np.asarray(frame["rooms"]) + (
        np.asarray(frame["city"]) == "Oslo"
    )


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_json_rows_are_converted_to_the_frame_of_the_background(row):
    explainer = ShapleyExplainer(served).fit(SERVED)
    expected = explainer.explain(SERVED.iloc[1:2].assign(age=41.0, rooms=3))
    made = explainer.explain(row)
    np.testing.assert_array_equal(made.values, expected.values)
    assert made.data["rooms"].tolist() == [3]


def test_json_rows_for_a_polars_background():
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({"age": [30.0, 40.0], "rooms": [1, 2]})
    explainer = ShapleyExplainer(
        lambda X: X["age"].to_numpy() * X["rooms"].to_numpy()
    ).fit(table)
    made = explainer.explain([{"rooms": 5, "age": 50.0}, {"age": 30.0, "rooms": 1}])
    np.testing.assert_array_equal(made.predictions, [250.0, 30.0])


def test_arrays_are_read_in_column_order_with_a_warning():
    table = SERVED[["age", "rooms"]].astype(float)
    explainer = ShapleyExplainer(lambda X: X["age"] * X["rooms"]).fit(table)
    with pytest.warns(
        UserWarning, match="X does not have valid feature names, but Shapley"
    ):
        made = explainer.explain(table.to_numpy()[:1])
    np.testing.assert_array_equal(made.values, explainer.explain(table[:1]).values)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({**ROW, "city": "Paris"}, "city"),
        ({"age": 1.0}, "rooms"),
    ],
    ids=["unknown category", "missing column"],
)
def test_json_rows_with_invalid_values_are_refused(row, message):
    with pytest.raises((TypeError, ValueError), match=message):
        ShapleyExplainer(served).fit(SERVED).explain(row)
