"""Interactions of pairs compared with their definition, and with their sums."""

from itertools import combinations
from math import comb, factorial

import numpy as np
import pytest
import xgboost
from sklearn.ensemble import GradientBoostingRegressor

from skshapley.indices import PAIR_INDICES
from skshapley.trees import TreeExplainer, read_trees

from .conftest import D, OneWay, game_values, solver_by, tree_values
from .test_values import PLAYERS, deep_forest, references

# of a coalition of the others, of that size (Grabisch & Roubens 1999; Tsai, Yeh &
# Ravikumar 2023, Theorem 19; Sundararajan, Dhamdhere & Agarwal 2020, Proposition 4)
WEIGHTS = {
    "shapley": lambda p, s: 1 / ((p - 1) * comb(p - 2, s)),
    "banzhaf": lambda p, s: 0.5 ** (p - 2),
    "faithful-shapley": lambda p, s: (
        6 * factorial(s + 1) * factorial(p - s - 1) / factorial(p + 1)
    ),
    "faithful-banzhaf": lambda p, s: 0.5 ** (p - 2),
    "shapley-taylor": lambda p, s: 2 / (p * comb(p - 1, s)),
}
NAMES = [
    "xgboost", "xgboost, missing", "xgboost, categories", "xgboost, classes", "lightgbm",
    "hist gradient boosting", "hist gradient boosting, classes", "random forest",
    "random forest, classes", "decision tree",
]  # fmt: skip


def interactions_by_definition(v, index):
    """Interaction index of each pair (Grabisch & Roubens 1999), ``(2 ** p, k) -> (p, p, k)``."""
    p = len(v).bit_length() - 1
    result = np.zeros((p, p, v.shape[1]))
    for i, j in combinations(range(p), 2):
        others = [player for player in range(p) if player not in (i, j)]
        for size in range(p - 1):
            weight = WEIGHTS[index](p, size)
            for members in combinations(others, size):
                S, a, b = sum(1 << player for player in members), 1 << i, 1 << j
                result[i, j] += weight * (v[S | a | b] - v[S | a] - v[S | b] + v[S])
        result[j, i] = result[i, j]
    return result


way = pytest.mark.parametrize("way", ["tables", "pairs"])


@pytest.mark.thinned
@way
@pytest.mark.parametrize("index", ["shapley", "banzhaf"])
@pytest.mark.parametrize("players", PLAYERS)
@pytest.mark.parametrize("name", NAMES)
def test_interactions_agree_with_the_definition(fitted, way, name, players, index):
    model, X = fitted(name)
    trees, players = read_trees(model), PLAYERS[players]
    background, weights = references(X)
    solver = solver_by(way, trees, players, index).fit(
        trees.to_matrix(background), weights
    )
    rows = X[:2]
    ours = solver.pairs(trees.to_matrix(rows))
    for x, pairs in zip(rows, ours, strict=True):
        v = game_values(trees.raw_response, x, background, weights, players)
        tolerance = (
            2e-6 * np.abs(v).max() if trees.strict else 2e-12 * max(1, np.abs(v).max())
        )
        np.testing.assert_allclose(
            pairs, interactions_by_definition(v, index), atol=tolerance
        )
    assert np.array_equal(ours, ours.transpose(0, 2, 1, 3))


@pytest.mark.parametrize("d", [10, 40])
def test_pairs_of_rows_agree_with_tables(d):
    """With players that fit into one word of a mask, with more players, and with unused ones."""
    model, X = deep_forest(d, n=150, n_estimators=2)
    rows, found = X[100:110], {}
    for how in ("pairs", "tables"):
        solver = solver_by(how, read_trees(model), n_players=d + 10)
        found[how] = solver.fit(X[:20], np.arange(1.0, 21.0)).pairs(rows)
        for i in (0, 7):
            assert np.array_equal(solver.pairs(rows[[i]])[0], found[how][i])
    np.testing.assert_allclose(found["pairs"], found["tables"], rtol=0, atol=1e-11)


def test_few_rows_use_pairs_and_many_use_tables():
    model, _ = deep_forest(10, n=600, n_estimators=2)
    costs = tree_values(read_trees(model))._costs
    assert costs.interacts_in_pairs(1, 10)
    assert costs.interacts_in_pairs(1, None)
    assert not costs.interacts_in_pairs(1000, 1000)


def test_additive_model_has_no_interactions():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, D))
    model = GradientBoostingRegressor(n_estimators=30, max_depth=1).fit(
        X, X.sum(axis=1)
    )
    interactions = (
        TreeExplainer(model, interactions=True).fit(X).explain(X[:4]).interactions
    )
    assert not interactions.values.any()


def test_explainer_interactions(fitted):
    model, X = fitted("random forest, classes")
    groups = {"both": [0, 3]}
    explanation = (
        TreeExplainer(model, groups=groups, interactions=True)
        .fit(X[:50])
        .explain(X[50:53])
    )
    interactions = explanation.interactions
    assert interactions.values.shape == (3, D - 1, D - 1, 3)
    assert not interactions.standard_errors.any()
    np.testing.assert_allclose(
        interactions.matrix().sum(axis=2), explanation.values, atol=1e-12
    )
    plain = TreeExplainer(model, groups=groups).fit(X[:50]).explain(X[50:53])
    np.testing.assert_array_equal(explanation.values, plain.values)
    assert plain.interactions is None
    one = TreeExplainer(model, output=1, groups=groups, interactions=True).fit(X[:50])
    alone = one.explain(X[50:53]).interactions.values
    np.testing.assert_allclose(alone, interactions.values[..., 1], atol=1e-12)


@pytest.mark.thinned
@way
@pytest.mark.parametrize("index", WEIGHTS)
def test_indices_of_pairs(fitted, way, index):
    """The index of pairs is chosen separately, also for Banzhaf values."""
    model, X = fitted("xgboost")
    explainer = TreeExplainer(model, interactions=index, index="banzhaf").fit(X[:9])
    explainer.exact_.solver_._costs = OneWay(way)
    found = explainer.explain(X[50:52]).interactions
    assert found.index == index
    weights = np.full(9, 1 / 9)
    for x, values in zip(X[50:52], found.values, strict=True):
        raw = explainer.exact_.trees.raw_response
        v = game_values(raw, x, X[:9], weights, np.arange(D))
        expected = interactions_by_definition(v, index)[..., 0]
        np.testing.assert_allclose(values, expected, atol=1e-6 * np.abs(v).max())


@way
@pytest.mark.parametrize("name", ["xgboost", "xgboost, missing", "xgboost, classes"])
def test_path_dependent_interactions_agree_with_xgboost(fitted, name, way):
    model, X = fitted(name)
    how = {"feature_perturbation": "path_dependent", "interactions": True}
    explainer = TreeExplainer(model, **how).fit()
    explainer.exact_.solver_._costs = OneWay(way)
    ours = explainer.explain(X[:20]).interactions.matrix()
    theirs = model.get_booster().predict(
        xgboost.DMatrix(X[:20]), pred_interactions=True, strict_shape=True
    )
    theirs = np.moveaxis(theirs[:, :, :-1, :-1], 1, 3).reshape(ours.shape)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=3e-6 * np.abs(theirs).max())


@pytest.mark.parametrize(
    "index", ["shapley", "banzhaf", PAIR_INDICES["shapley-taylor"]]
)
def test_path_dependent_methods_agree(fitted, index):
    model, X = fitted("random forest")
    walked, looked_up = (
        solver_by(how, read_trees(model)).fit().pairs(X[:5], index)
        for how in ("pairs", "tables")
    )
    np.testing.assert_allclose(walked, looked_up, rtol=0, atol=1e-12)


def test_tables_of_pairs_are_optional(fitted):
    model, X = fitted("xgboost")
    solver = solver_by("tables", read_trees(model)).fit(X[:30])
    first = solver.pairs(X[40:45])
    np.testing.assert_array_equal(solver.pairs(X[40:45]), first)
    fresh = solver_by("streamed", read_trees(model)).fit(X[:30])
    np.testing.assert_allclose(fresh.pairs(X[40:45]), first, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(fresh.pairs(X[40:45]), fresh.pairs(X[40:45]))


def test_unknown_indices_are_refused(fitted):
    model, X = fitted("xgboost")
    with pytest.raises(
        ValueError, match=r'takes interactions as False, .*"shapley-taylor"; got 2'
    ):
        TreeExplainer(model, interactions=2).fit(X[:9])
