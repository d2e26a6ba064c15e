"""Players without an effect on the model: their values are 0, and they cost nothing."""

from itertools import permutations

import numpy as np
import pytest
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from skshapley import ShapleyExplainer
from skshapley.readers import READERS
from skshapley.rewards import ConditionalReward
from skshapley.trees import read_trees

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 30))
USED = [2, 7, 11, 20]
SCORE = X[:, 2] * (2 + X[:, 7]) + X[:, 7] + X[:, 11] - X[:, 20]
MASKED = np.zeros_like(X)
MASKED[:, USED] = X[:, USED]
UNUSED = np.setdiff1d(np.arange(30), USED)


def boosted():
    """Return a classifier with splits in four of thirty columns."""
    model = HistGradientBoostingClassifier(max_iter=20, random_state=0)
    return model.fit(MASKED, SCORE > 0)


class WithAnotherColumn(GradientBoostingClassifier):
    """A derived classifier with a term in a column that no tree compares."""

    def predict_proba(self, X):
        probabilities = super().predict_proba(X)
        probabilities[:, 1] += 0.1 * np.tanh(X[:, 0])
        return probabilities


class WithAnotherStep(WithAnotherColumn):
    """A further derived class."""


def mean_over_orders(response, row, background):
    """Return the mean contribution of each used column over all orders of the four."""
    values = np.zeros(len(USED))
    orders = list(permutations(range(len(USED))))
    for order in orders:
        mixed = background.copy()
        before = response(mixed).mean()
        for player in order:
            mixed[:, USED[player]] = row[USED[player]]
            after = response(mixed).mean()
            values[player] += (after - before) / len(orders)
            before = after
    return values


MODELS = {
    "boosted trees": boosted,
    "selected columns": lambda: make_pipeline(
        StandardScaler(),
        SelectKBest(lambda X, y: np.isin(np.arange(30), USED) + 0.0, k=4),
        KNeighborsRegressor(5),
    ).fit(X, SCORE),
    "zero coefficients": lambda: LogisticRegression().fit(MASKED, SCORE > 0),
}


@pytest.mark.parametrize("name", MODELS)
def test_only_used_columns_are_sampled(name):
    model = MODELS[name]()
    sampler = "antithetic" if name == "zero coefficients" else "auto"
    explainer = ShapleyExplainer(model, sampler=sampler, random_state=0)
    explanation = explainer.fit(X[:50]).explain(X[100:103])
    assert explainer.exact_ is None
    assert (explanation.values[:, UNUSED] == 0).all()
    assert (explanation.standard_errors[:, UNUSED] == 0).all()
    response = model.predict
    if hasattr(model, "predict_proba"):
        response = lambda table: model.predict_proba(table)[:, 1]  # noqa: E731
    truth = [mean_over_orders(response, row, X[:50]) for row in X[100:103]]
    gap = np.abs(explanation.values[:, USED] - truth)
    # twelve values, at most one of which is off by more than five errors in 10^5 runs
    assert (gap <= 5 * explanation.standard_errors[:, USED] + 1e-9).all()
    assert (explanation.values[:, USED] != 0).all()


def test_unused_columns_do_not_change_the_budget():
    few = HistGradientBoostingClassifier(max_iter=20, random_state=0)
    few.fit(X[:, USED], SCORE > 0)
    narrow = ShapleyExplainer(few, random_state=0).fit(X[:50][:, USED])
    wide = ShapleyExplainer(boosted(), random_state=0).fit(X[:50])
    rows = wide.explain(X[100:103]).n_model_rows
    assert (rows == narrow.explain(X[100:103][:, USED]).n_model_rows).all()


def test_groups_with_a_used_column_are_players():
    groups = {"first": [0, 1, 2], "idle": [3, 4], "last": [19, 20]}
    explainer = ShapleyExplainer(boosted(), groups=groups, random_state=0)
    explanation = explainer.fit(X[:50]).explain(X[100:101])
    values = dict(zip(explanation.feature_names, explanation.values[0], strict=True))
    assert values["first"] != 0
    assert values["last"] != 0
    assert values["idle"] == 0


def test_interactions_with_unused_columns_are_zero():
    explainer = ShapleyExplainer(boosted(), interactions=True, random_state=0)
    explanation = explainer.fit(X[:50]).explain(X[100:101])
    pairs = explanation.interactions.values[0]
    assert (pairs[UNUSED] == 0).all()
    assert pairs[2, 7] != 0


@pytest.mark.parametrize("kind", [WithAnotherColumn, WithAnotherStep])
def test_terms_of_derived_classes_are_found(kind):
    model = kind(n_estimators=10, random_state=0).fit(MASKED, SCORE > 0)
    explainer = ShapleyExplainer(model, random_state=0).fit(X[:50])
    explanation = explainer.explain(X[100:103])
    assert (np.abs(explanation.values[:, 0]) > 1e-3).any()


def test_conditional_rewards_keep_all_players():
    table = X.copy()
    table[:, 0] = X[:, 2] + 0.1 * X[:, 0]
    explainer = ShapleyExplainer(
        boosted(), reward=ConditionalReward(), max_rows=4000, random_state=0
    )
    values = explainer.fit(table).explain(table[100:101]).values
    assert values[0, 0] != 0


def test_forests_with_own_rows_skip_unused_columns():
    forest = RandomForestClassifier(60, random_state=0).fit(MASKED, SCORE > 0)
    explainer = ShapleyExplainer(forest, max_rows=40, random_state=0).fit(X)
    explanation = explainer.explain(X[:2])
    assert explainer.exact_ is None
    assert (explanation.values[:, UNUSED] == 0).all()
    assert (explanation.standard_errors[:, UNUSED] == 0).all()


@pytest.mark.parametrize(
    "kind", [DecisionTreeRegressor, ExtraTreesClassifier, HistGradientBoostingRegressor]
)
def test_the_columns_of_splits_are_those_of_the_trees(kind):
    model = kind(random_state=0).fit(MASKED, SCORE > 0)
    splits = READERS[f"sklearn.{kind.__name__}"].splits(model)
    used = np.unique(splits[splits >= 0])
    np.testing.assert_array_equal(used, USED)
    trees = read_trees(model)
    assert set(used) == set(trees.feature[trees.left >= 0])


def test_columns_of_splits_follow_the_encoder_of_categories():
    categories = np.array([3, 20])
    table = np.c_[MASKED[:, :3], X[:, 3:4] > 0, MASKED[:, 4:]]
    table[:, 20] = MASKED[:, 20] > 0
    model = HistGradientBoostingRegressor(categorical_features=categories)
    model.fit(table, SCORE)
    splits = READERS["sklearn.HistGradientBoostingRegressor"].splits(model)
    assert set(splits) == set(read_trees(model).feature) - {-1}
