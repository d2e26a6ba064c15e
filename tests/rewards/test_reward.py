"""Rewards against a background, compared with loops, and their calls of the model."""

import numpy as np
import pandas as pd
import pytest
import sklearn

from skshapley.exceptions import ModelOutputError
from skshapley.rewards import BaselineReward, InterventionalReward, Players, Response

R, B, D = 3, 5, 4
RNG = np.random.default_rng(0)
X, BACKGROUND = RNG.normal(size=(R, D)), RNG.normal(size=(B, D))
WEIGHTS = np.array([0.1, 0.2, 0.3, 0.4, 0.0]) + 0.0
GROUPS = {"pair": ["x1", "x3"]}


def response_of_two(X):
    return np.column_stack([X[:, 0] * X[:, 1] - X[:, 3], np.sin(X).sum(axis=1)])


def game(
    function=response_of_two,
    groups=None,
    reward=None,
    background=BACKGROUND,
    output=None,
):
    names = [f"x{i}" for i in range(D)]
    reward = InterventionalReward() if reward is None else reward
    response = Response(function, output=output)
    reward.fit(
        response, background, WEIGHTS, Players.from_groups(groups, names, "Owner")
    )
    return reward.game(X)


def by_loop(coalition, instance, references, weights, columns):
    values = 0.0
    for reference, weight in zip(references, weights, strict=True):
        present = coalition[columns]
        row = np.where(present, X[instance], BACKGROUND[reference])
        values = values + weight * response_of_two(row[None])[0]
    return values


@pytest.mark.parametrize("groups", [None, GROUPS])
@pytest.mark.parametrize("q", [None, 1, 2])
def test_values_of_coalitions(groups, q):
    made = game(groups=groups)
    columns = np.arange(D) if groups is None else np.array([0, 1, 2, 1])
    rng = np.random.default_rng(1)
    r, m, p = 2, 6, made.n_players
    coalitions, rows = rng.random((r, m, p)) < 0.5, np.array([2, 0])
    references = None if q is None else rng.integers(0, B, (r, m, q))
    values = made(coalitions, rows, references)
    assert values.shape == (r, m, 2)
    for i in range(r):
        for j in range(m):
            named = range(B) if q is None else references[i, j]
            weights = WEIGHTS if q is None else np.full(q, 1 / q)
            expected = by_loop(coalitions[i, j], rows[i], named, weights, columns)
            np.testing.assert_allclose(values[i, j], expected, rtol=0, atol=1e-12)


def test_ends():
    made = game()
    rows = np.array([1, 0])
    np.testing.assert_array_equal(made.full(rows), response_of_two(X[rows]))
    np.testing.assert_array_equal(made.empty(rows), [response_of_two(BACKGROUND)] * 2)
    ends = np.array([[np.zeros(D), np.ones(D)]] * 2, dtype=bool)
    values = made(ends, rows)
    np.testing.assert_allclose(values[:, 0], WEIGHTS @ made.empty(rows), rtol=1e-12)
    np.testing.assert_allclose(values[:, 1], made.full(rows), rtol=1e-12)


def test_predicted_output_follows_the_instance():
    made = game(output="predicted")
    winners = response_of_two(X).argmax(axis=1)
    assert len(set(winners)) == 2
    everyone = np.arange(R)
    coalitions = np.zeros((R, 1, D), dtype=bool)
    expected = (WEIGHTS @ response_of_two(BACKGROUND))[winners]
    np.testing.assert_allclose(made(coalitions, everyone)[:, 0, 0], expected)
    np.testing.assert_array_equal(
        made.full(everyone)[:, 0], response_of_two(X).max(axis=1)
    )
    np.testing.assert_array_equal(
        made.take(np.array([2, 0])).empty(np.array([0, 1]))[..., 0],
        response_of_two(BACKGROUND).T[winners[[2, 0]]],
    )


def test_take_selects_rows_of_a_game():
    made, rows = game(), np.array([2, 0])
    coalitions = np.random.default_rng(1).random((2, 4, D)) < 0.5
    part = made.take(rows)
    assert part.n_rows == 2
    np.testing.assert_array_equal(
        part(coalitions, np.array([0, 1])), made(coalitions, rows)
    )
    np.testing.assert_array_equal(part.active(np.array([0, 1])), made.active(rows))


def test_players_without_effect():
    background = np.vstack([X[0], X[0]])
    background[1, 3] += 1
    reward = InterventionalReward()
    names = Players.from_groups(GROUPS, ["x0", "x1", "x2", "x3"], "Owner")
    reward.fit(Response(response_of_two), background, np.full(2, 0.5), names)
    active = reward.game(X).active(np.arange(R))
    assert active.tolist() == [[False, True, False], [True] * 3, [True] * 3]


def test_the_model_is_called_with_large_blocks():
    """A mean over 5 rows of 100 coalitions."""
    sizes = []

    def model(X):
        sizes.append(len(X))
        return X[:, 0]

    made = game(model)
    coalitions = np.random.default_rng(1).random((1, 100, D)) < 0.5
    made(coalitions, np.array([0]))
    assert sizes == [B, R, 100 * B]


def test_calls_respect_the_working_memory():
    """One coalition against a large background is evaluated in pieces."""
    sizes = []

    def model(X):
        sizes.append(len(X))
        return X @ np.ones(200)

    wide, large = np.ones((1, 200)), np.zeros((5000, 200))
    reward = InterventionalReward()
    names = Players.from_groups(None, list(range(200)), "Owner")
    reward.fit(Response(model), large, np.full(5000, 1 / 5000), names)
    made = reward.game(wide)
    sizes.clear()
    coalition = (np.arange(200) < 50)[None, None]
    with sklearn.config_context(working_memory=8):
        assert made(coalition, np.array([0])) == pytest.approx(50)
    # 1/8 of 8 MiB, for rows of 200 columns with 24 bytes each
    assert max(sizes) == 2**20 // (24 * 200)
    assert sum(sizes) == 5000


def test_the_model_may_write_into_its_input():
    def vandal(X):
        out = X[:, 0] * X[:, 1]
        X[:] = -1
        return out

    x, background = X.copy(), BACKGROUND.copy()
    reward = InterventionalReward()
    names = Players.from_groups(None, list("abcd"), "Owner")
    reward.fit(Response(vandal), background, WEIGHTS, names)
    made = reward.game(x)
    coalitions = np.random.default_rng(1).random((1, 9, D)) < 0.5
    made(coalitions, np.array([0]))
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(background, BACKGROUND)


@pytest.mark.parametrize(
    ("bad", "where"),
    [
        (1, "on background rows 0 to 4"),
        (2, "on rows 0 to 2"),
        (3, "on mixtures of rows 1 to 2"),
    ],
)
def test_errors_name_rows_and_coalitions(bad, where):
    calls = []

    def model(X):
        calls.append(X)
        return np.full(len(X), np.nan if len(calls) == bad else 1.0)

    with pytest.raises(
        ModelOutputError, match=f"NaN or infinity for .* {where}, first for row 0"
    ):
        game(model)(np.ones((2, 1, D), dtype=bool), np.array([1, 2]))


# --- the baseline ---------------------------------------------------------------------


def baseline_of(background, weights=None, baseline=None, function=None):
    weights = (
        np.full(len(background), 1 / len(background)) if weights is None else weights
    )
    names = Players.from_groups(None, list(range(background.shape[1])), "Owner")
    reward = BaselineReward(baseline)
    function = (lambda X: np.zeros(len(X))) if function is None else function
    return reward.fit(Response(function), background, weights, names).background_


def test_baseline_of_numbers_is_the_weighted_mean():
    np.testing.assert_allclose(baseline_of(BACKGROUND, WEIGHTS), [WEIGHTS @ BACKGROUND])
    np.testing.assert_allclose(baseline_of(np.array([[1], [2]])), [[1.5]])


@pytest.mark.parametrize("kind", ["array", "pandas", "polars"])
def test_baseline_ignores_missing_numbers(kind):
    table = np.array([[np.nan, 1.0], [2.0, np.nan], [4.0, 3.0]])
    if kind == "pandas":
        table = pd.DataFrame(table)
    if kind == "polars":
        polars = pytest.importorskip("polars")
        table = polars.DataFrame(table, schema=["a", "b"]).fill_nan(None)
    row = baseline_of(table, np.array([0.5, 0.25, 0.25]))
    np.testing.assert_allclose(
        np.asarray(row, dtype=float), [[3.0, (0.5 + 0.75) / 0.75]]
    )


MIXED = pd.DataFrame(
    {
        "number": [1, 2, 6],
        "nullable": pd.array([1, None, 3], dtype="Int64"),
        "category": pd.Categorical(["u", "v", "v"], categories=["w", "v", "u"]),
        "text": ["u", "v", "v"],
        "object": np.array(["u", None, None], dtype=object),
        "flag": [True, False, False],
        "when": pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-02"]),
    },
    index=[7, 7, 8],
)


def test_baseline_of_categories_is_the_weighted_mode():
    row = baseline_of(MIXED)
    assert row.iloc[0].tolist() == [
        3,
        2,
        "v",
        "v",
        "u",
        False,
        pd.Timestamp("2024-01-02"),
    ]
    assert row["category"].dtype == MIXED["category"].dtype
    assert row["text"].dtype == MIXED["text"].dtype
    assert row["when"].dtype == MIXED["when"].dtype
    heavy = baseline_of(MIXED, np.array([0.8, 0.1, 0.1]))
    assert heavy["category"].tolist() == heavy["text"].tolist() == ["u"]
    assert heavy["flag"].tolist() == [True]


def test_baseline_of_polars_keeps_its_types():
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({"n": [1, 2, 6], "s": ["u", "v", "v"]}).with_columns(
        c=polars.Series(["p", "q", "q"]).cast(polars.Categorical)
    )
    row = baseline_of(table)
    assert row.rows() == [(3.0, "v", "q")]
    assert row.schema["c"] == table.schema["c"]


def test_baseline_of_objects():
    assert baseline_of(
        np.array([["u", 1], ["v", 2], ["v", 1]], dtype=object)
    ).tolist() == [["v", 1]]


VALUES = [5, 1, "w", "x", "y", True, pd.Timestamp("2020-01-01")]


@pytest.mark.parametrize(
    "given",
    [
        VALUES,
        tuple(VALUES),
        dict(zip(MIXED.columns, VALUES, strict=True)),
        pd.Series(VALUES, index=MIXED.columns, dtype=object),
        MIXED.iloc[:1].assign(number=0.5),
    ],
)
def test_explicit_baseline(given):
    row = baseline_of(MIXED, baseline=given)
    expected = given.iloc[0].tolist() if isinstance(given, pd.DataFrame) else VALUES
    assert row.iloc[0].tolist() == expected
    assert row["category"].dtype == MIXED["category"].dtype


def test_explicit_baseline_as_array():
    assert baseline_of(BACKGROUND, baseline=[1, 2, 3, 4]).tolist() == [[1, 2, 3, 4]]
    assert (
        baseline_of(BACKGROUND, baseline=BACKGROUND[1:2]).tolist()
        == BACKGROUND[1:2].tolist()
    )


@pytest.mark.parametrize(
    ("background", "given", "message"),
    [
        (BACKGROUND, [1, 2], r"of shape \(1, 2\): pass one row with the 4"),
        (BACKGROUND, BACKGROUND, r"of shape \(5, 4\): pass one row with the 4"),
        (BACKGROUND, list("abcd"), "array of dtype float64, and got <U1"),
        (MIXED, VALUES[:-1], r"of shape \(1, 6\): pass one row with the 7"),
        (MIXED, [*VALUES[:2], "oops", *VALUES[3:]], "'category' is"),
        (
            MIXED,
            MIXED.iloc[:1].rename(columns={"number": "numbr"}),
            "needs the column 'number', which .* it has the column 'numbr' instead",
        ),
        (MIXED, ["oops", *VALUES[1:]], "'number' is"),
        (MIXED, MIXED, r"of shape \(3, 7\): pass one row with the 7"),
    ],
)
def test_invalid_baselines_are_refused_before_the_model_is_called(
    background, given, message
):
    calls = []
    with pytest.raises(ValueError, match=message):
        baseline_of(background, baseline=given, function=calls.append)
    assert not calls


def test_a_series_is_aligned_by_name():
    shuffled = pd.Series(VALUES, index=MIXED.columns, dtype=object).iloc[::-1]
    given = baseline_of(MIXED, baseline=shuffled)
    assert list(given.columns) == list(MIXED.columns)
    assert (
        given.iloc[0].tolist() == baseline_of(MIXED, baseline=VALUES).iloc[0].tolist()
    )
