"""The forest reward on mixed tables: against the known conditional expectation."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from skshapley import ShapleyExplainer
from skshapley.diagnostics import conditional_error
from skshapley.rewards import ConditionalReward, ForestReward
from skshapley.testing.games import brute_force

# Five classes of rows, in which the columns are independent: a normal number that may be
# missing, another one, a category of four levels, and a count.
RNG = np.random.default_rng(0)
MEANS = RNG.normal(size=(5, 2)) * 1.6
LEVELS = RNG.dirichlet(np.full(4, 0.4), size=5)
MISSING = RNG.uniform(0, 0.6, size=5)
RATES = RNG.uniform(0.3, 6, size=5)
SPREAD = 0.7
CITIES = np.array(["Bern", "Oslo", "Rome", "Wien"])
COLUMNS = ["pay", "age", "city", "rooms"]


def draw(n, seed, classes=None):
    rng = np.random.default_rng(seed)
    classes = rng.integers(5, size=n) if classes is None else np.full(n, classes)
    normal = MEANS[classes] + SPREAD * rng.normal(size=(n, 2))
    levels = rng.random((n, 1)) > LEVELS[classes].cumsum(axis=1)
    return pd.DataFrame(
        {
            "pay": np.where(rng.random(n) < MISSING[classes], np.nan, normal[:, 0]),
            "age": normal[:, 1],
            "city": CITIES[levels.sum(axis=1).clip(0, 3)],
            "rooms": rng.poisson(RATES[classes]),
        }
    )


def model(X):
    pay = X["pay"].fillna(-1.0).to_numpy(float)
    oslo, rome = (X["city"] == "Oslo").to_numpy(), (X["city"] == "Rome").to_numpy()
    rooms = X["rooms"].to_numpy(float)
    return pay * oslo + np.sin(X["age"]) * 2 + rome * X["age"] + 0.3 * rooms * (pay > 0)


def log_density(X, name):
    """Return the log density of a column in each class, up to a constant, ``(n, 5)``."""
    values = X[name].to_numpy()[:, None]
    if name == "city":
        return np.log(LEVELS[:, np.searchsorted(CITIES, X["city"])].T)
    if name == "rooms":
        return values * np.log(RATES) - RATES
    place = COLUMNS.index(name)
    squares = ((values - MEANS[:, place]) / SPREAD) ** 2
    if name == "age":
        return -squares / 2
    return np.where(np.isnan(values), np.log(MISSING), np.log1p(-MISSING) - squares / 2)


def true_worth(rows, absent_rows=400):
    """Return E[f(X) | x_S] of all sets of columns, from the probabilities of the classes."""
    tables = [draw(absent_rows, 10 + each, each) for each in range(5)]
    worth = {}
    for S in (S for s in range(5) for S in combinations(range(4), s)):
        names = [COLUMNS[place] for place in S]
        logs = sum(
            (log_density(rows, name) for name in names), np.zeros((len(rows), 5))
        )
        shares = np.exp(logs - logs.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        means = np.empty((len(rows), 5))
        for i in range(len(rows)):
            for each, table in enumerate(tables):
                present = {name: rows[name].iloc[i] for name in names}
                means[i, each] = model(table.assign(**present)).mean()
        worth[S] = (shares * means).sum(axis=1)
    return worth


def true_values(rows):
    worth = true_worth(rows)

    def of_row(row):
        return lambda sets: np.array(
            [worth[tuple(np.flatnonzero(S))][row] for S in sets]
        )

    return np.array([brute_force(of_row(row), 4) for row in range(len(rows))])


def values(reward, background, rows, model=model):
    explainer = ShapleyExplainer(model, reward=reward, random_state=0)
    return explainer.fit(background).explain(rows).values


def encoded(X):
    """Return the table as numbers without missing values, for the empirical reward."""
    codes = np.searchsorted(CITIES, X["city"])
    return X.assign(pay=X["pay"].fillna(-1.0), city=codes).astype(float)


def decoded(X):
    codes = X["city"].to_numpy().round().astype(int)
    return model(X.assign(city=CITIES[codes]))


@pytest.mark.slow
def test_half_of_the_squared_error_of_other_rewards():
    background, rows = draw(500, 1), draw(12, 2)
    truth = true_values(rows)
    error = {
        "forest": values("conditional", background, rows),
        "surrogate": values("surrogate", background, rows),
        "empirical": values("empirical", encoded(background), encoded(rows), decoded),
    }
    error = {
        name: ((found - truth) ** 2).sum() / (truth**2).sum()
        for name, found in error.items()
    }
    assert error["forest"] < 0.5 * min(error["surrogate"], error["empirical"]), error


def test_conditional_values_choose_the_forest_for_mixed_tables():
    mixed, numbers = draw(60, 1), draw(60, 1)[["age"]].assign(other=1.0)
    explainer = ShapleyExplainer(model, reward="conditional").fit(mixed)
    assert isinstance(explainer.reward_, ForestReward)
    explainer = ShapleyExplainer(lambda X: X["age"], reward="conditional").fit(numbers)
    assert isinstance(explainer.reward_, ConditionalReward)
    given = ConditionalReward(np.eye(4))
    with pytest.raises(ValueError, match="'pay' of the background has missing"):
        ShapleyExplainer(model, reward=given).fit(mixed)


def test_conditional_error_of_mixed_tables():
    explainer = ShapleyExplainer(model).fit(draw(200, 1))
    rewards = ["interventional", "forest"]
    errors = conditional_error(
        explainer, rewards, draw(60, 2), n_coalitions=12, random_state=0
    )
    assert errors.loc["forest", "difference"] < 0
