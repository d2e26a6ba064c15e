"""The surrogate reward: known conditional means, categories, missing values, reported error."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skshapley import ShapleyExplainer
from skshapley.diagnostics import conditional_error
from skshapley.rewards import SurrogateReward
from skshapley.rewards._surrogate import HiddenColumns

RNG = np.random.default_rng(0)
FEW = HistGradientBoostingRegressor(max_iter=3, early_stopping=False, random_state=0)


def mixed(n, seed=0):
    """A category that determines the mean of a number, and an independent number."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(["low", "mid", "high"], size=n, p=[0.5, 0.3, 0.2])
    centre = pd.Series(kind).map({"low": -2.0, "mid": 0.0, "high": 3.0}).to_numpy()
    return pd.DataFrame(
        {"kind": kind, "x": centre + rng.normal(size=n), "y": rng.normal(size=n)}
    )


def total(table):
    return table["x"].to_numpy() + 2 * table["y"].to_numpy()


def worth(explainer, X, coalition):
    return explainer.reward_.game(X)(np.array([[coalition]]), np.array([0]))[0, 0, 0]


@pytest.mark.slow
def test_conditional_means_of_a_mixed_table():
    """E[x | kind] is known, E[x + 2 y | kind, y] too; 3,000 rows know them to some .05."""
    explainer = ShapleyExplainer(total, reward="surrogate").fit(mixed(3000))
    for kind, centre in (("low", -2.0), ("mid", 0.0), ("high", 3.0)):
        x = pd.DataFrame({"kind": [kind], "x": [9.0], "y": [0.5]})
        assert worth(explainer, x, [True, False, False]) == pytest.approx(
            centre, abs=0.3
        )
        assert worth(explainer, x, [True, False, True]) == pytest.approx(
            centre + 1, abs=0.5
        )
    found = explainer.explain(mixed(5, seed=1))
    expected = total(mixed(5, seed=1)) - total(mixed(3000)).mean()
    np.testing.assert_allclose(found.values.sum(axis=1), expected, rtol=0, atol=1e-9)
    assert found.n_model_rows.max() <= 8


@pytest.mark.slow
def test_the_reported_error_is_measured_on_held_out_rows():
    """The error of the best function is Var(f | x_S) over masks, here by hand.

    Of two shown at random: sizes one and two alike, three coalitions each. 4 remains
    without y, 1 without x but with the kind, the whole variance of x without either.
    """
    table = mixed(3000)
    explainer = ShapleyExplainer(total, reward="surrogate").fit(table)
    found = conditional_error(
        explainer, ["surrogate"], mixed(600, seed=1), random_state=0
    )
    of_x = table["x"].var()
    left = {"kind": 1 + 4, "x": 4, "y": of_x, "kind x": 4, "kind y": 1, "x y": 0}
    best = np.mean(list(left.values()))
    assert 0.9 * best < found["error"].item() < 1.2 * best


def test_probabilities_stay_within_the_training_range():
    table = mixed(300)
    X, y = table[["x", "y"]].to_numpy(), table["kind"] == "low"
    model = LogisticRegression(C=100).fit(X, y)
    explainer = ShapleyExplainer(model, reward="surrogate").fit(X)
    game = explainer.reward_.game(X * 5)
    coalitions = np.array([[[True, False], [False, True]]]).repeat(300, axis=0)
    values = game(coalitions, np.arange(300))
    seen = model.predict_proba(X)[:, 1]
    assert seen.min() <= values.min()
    assert values.max() <= seen.max()


@pytest.mark.slow
def test_weights_are_respected():
    """Rows with weights near 0 have no effect: the mean of the other rows is learned."""
    table = mixed(400)
    weights = np.where(table["kind"] == "low", 1.0, 1e-9)
    explainer = ShapleyExplainer(total, reward="surrogate").fit(
        table, sample_weight=weights
    )
    x = pd.DataFrame({"kind": ["mid"], "x": [0.0], "y": [0.0]})
    assert worth(explainer, x, [False, False, True]) == pytest.approx(-2, abs=0.5)


def test_regressors_without_sample_weight_need_equal_weights():
    nearest = make_pipeline(KNeighborsRegressor())
    weights = np.linspace(1, 2, 50)
    with pytest.raises(ValueError, match="does not support sample weights"):
        ShapleyExplainer(total, reward=SurrogateReward(nearest)).fit(
            mixed(50), sample_weight=weights
        )


@pytest.mark.slow
def test_pipelines_with_encoders_are_accepted():
    table = mixed(300)
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
    model.fit(table[["kind"]], table["x"] > 0)
    explainer = ShapleyExplainer(model, reward="surrogate").fit(table[["kind"]])
    found = explainer.explain(table[["kind"]].iloc[:3])
    np.testing.assert_allclose(
        found.values[:, 0], found.predictions - found.base_values, rtol=0, atol=1e-12
    )


def test_hidden_columns():
    table = pd.DataFrame(
        {
            "a": [1.0, np.nan, 3.0],
            "b": pd.Categorical(["u", "v", "u"], categories=["v", "u"]),
            "c": ["x", None, "y"],
            "d": [True, False, True],
            "e": [1, 2, 3],
        }
    )
    columns = HiddenColumns(table)
    numbers = columns.numbers(table)
    expected = [[1, 1, 0, 1, 1], [np.nan, 0, 2, 0, 2], [3, 1, 1, 1, 3]]
    np.testing.assert_array_equal(numbers, expected)
    assert columns.categorical.tolist() == [False, True, True, False, False, False]
    present = np.array([[1, 0, 1, 0, 1], [1, 1, 1, 1, 1], [0, 0, 0, 0, 0]], dtype=bool)
    nan = np.nan
    shown = [[1, nan, 0, nan, 1, 1], [nan, 0, 2, 0, 2, 1], [nan] * 5 + [0]]
    np.testing.assert_array_equal(columns.hidden(numbers, present), shown)
    # a level that the table does not have is like a missing one
    other = table.assign(c=["z", "x", None])
    assert columns.numbers(other)[:, 2].tolist() == [2, 0, 2]


def test_masks_depend_on_the_seed():
    table = mixed(60)

    def explained(seed):
        reward = SurrogateReward(FEW, n_masks=4, random_state=seed)
        return (
            ShapleyExplainer(total, reward=reward).fit(table).explain(table[:2]).values
        )

    assert np.array_equal(explained(0), explained(0))
    assert not np.array_equal(explained(0), explained(1))
