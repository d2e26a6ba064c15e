"""Players: columns, or groups of them."""

import numpy as np
import pandas as pd
import pytest

from skshapley import ShapleyExplainer
from skshapley.rewards import Players

COLUMNS = ["age", "red", "green", "pay", "blue"]


def players(groups, columns=COLUMNS):
    return Players.from_groups(groups, columns, "Owner")


def test_every_column_is_a_player():
    made = players(None)
    assert made.names.tolist() == COLUMNS
    assert made.column_player.tolist() == [0, 1, 2, 3, 4]
    assert made.n_players == 5


@pytest.mark.parametrize(
    "members",
    [
        ["red", "green", "blue"],
        ("blue", "red", "green"),
        np.array(["green", "red", "blue"]),
        pd.Index(["red", "green", "blue"]),
        [1, 2, 4],
        [np.int64(1), "green", 4],
    ],
)
def test_a_group_stands_at_its_first_column(members):
    made = players({"colour": members})
    assert made.names.tolist() == ["age", "colour", "pay"]
    assert made.column_player.tolist() == [0, 1, 1, 2, 1]


def test_several_groups():
    made = players({"body": ["pay", "age"], 7: ["green"]})
    assert made.names.tolist() == ["body", "red", "7", "blue"]
    assert made.column_player.tolist() == [0, 1, 2, 0, 3]


def test_names_take_precedence_over_positions():
    """Columns called 2, 1, 0: a group of [0] is the column of that name, which stands last."""
    assert players({"g": [0]}, columns=[2, 1, 0]).names.tolist() == ["2", "1", "g"]


def test_a_group_may_have_the_name_of_a_member():
    assert players({"red": ["red", "green"]}).names.tolist() == [
        "age",
        "red",
        "pay",
        "blue",
    ]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (
            {"g": ["rde"]},
            r"unknown column 'rde' \(did you mean 'red'\?\) in group 'g': choose among",
        ),
        ({"g": [5]}, "unknown column 5 in group 'g'"),
        ({"g": [-1]}, "unknown column -1 in group 'g'"),
        ({"g": ["red"], "h": ["green", "red"]}, "'red' in group 'h' and in group 'g'"),
        ({"g": ["red", 1]}, "'red' in group 'g' and in group 'g'"),
        ({"g": []}, "at least one column each"),
        ({"g": "red"}, r"takes groups as None or \{name: \[columns"),
        ([["red"]], "takes groups as None or"),
        ({"age": ["red", "green"]}, "of the same name among .*: rename a group"),
    ],
)
def test_invalid_groups_are_refused(groups, message):
    with pytest.raises(ValueError, match=message) as caught:
        players(groups)
    assert str(caught.value).startswith("Owner ")
    assert "\n" not in str(caught.value)


def explained_data(frame, groups):
    """Return the rows in an explanation."""
    explainer = ShapleyExplainer(lambda X: np.zeros(len(X)), groups=groups)
    return explainer.fit(frame).explain(frame).data


def test_table_shows_a_group_as_text():
    frame = pd.DataFrame(
        [[30, 1.5, 0.0, 9, "b"]] * 2, columns=COLUMNS, index=["u", "u"]
    )
    table = explained_data(frame, {"colour": ["red", "green", "blue"]})
    assert table.columns.tolist() == ["age", "colour", "pay"]
    assert table.index.tolist() == ["u", "u"]
    assert table["colour"].tolist() == ["red=1.5, green=0.0, blue=b"] * 2
    assert table.dtypes["age"] == frame.dtypes["age"]


def test_table_shortens_a_large_group():
    frame = pd.DataFrame([[1, 2, 3, 4, 5]], columns=COLUMNS)
    table = explained_data(frame, {"all": COLUMNS})
    assert table["all"].tolist() == ["age=1, red=2, green=3, ..."]


def test_table_is_a_copy():
    frame = pd.DataFrame(np.zeros((2, 5)), columns=COLUMNS)
    table = explained_data(frame, None)
    frame.iloc[0, 0] = 7.0
    assert table.iloc[0, 0] == 0
