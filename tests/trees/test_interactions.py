"""Interactions of pairs against their definition, and against what they sum to."""

from itertools import combinations
from math import comb, factorial

import numpy as np
import pytest
import sklearn
import xgboost
from sklearn.ensemble import GradientBoostingRegressor

from skshapley._ensembles import _frontier, _interactions, _pair_tables, _walks
from skshapley._ensembles._leaf_games import INDICES
from skshapley._ensembles._leaf_pairs import interactions_by_ratios, leaf_interactions
from skshapley._ensembles._path_dependent import training_law
from skshapley._ensembles._values import TreeValues
from skshapley.trees import TreeExplainer, read_trees

from .conftest import D, game_values
from .test_values import MEMORY, PLAYERS, deep_forest, references

# of a coalition of the others, of that size (Grabisch & Roubens 1999; Tsai, Yeh & Ravikumar 2023,
# Theorem 19; Sundararajan, Dhamdhere & Agarwal 2020, Proposition 4)
WEIGHTS = {
    "shapley": lambda p, s: 1 / ((p - 1) * comb(p - 2, s)),
    "banzhaf": lambda p, s: 0.5 ** (p - 2),
    "faithful-shapley": lambda p, s: 6 * factorial(s + 1) * factorial(p - s - 1) / factorial(p + 1),
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


def off_diagonal(interactions):
    p = interactions.shape[0]
    return interactions * (1 - np.eye(p))[..., None]


@pytest.fixture
def at_leaves(monkeypatch):
    """Leaf by leaf, whatever it costs."""
    monkeypatch.setattr(TreeValues, "_interacts_in_pairs", lambda *sizes: False)


@pytest.fixture(params=["tables", "meetings", "walks"])
def way(request, monkeypatch):
    """Leaves by tables, or as leaves of too many players for them; or by walks in pairs."""
    walks = request.param == "walks"
    monkeypatch.setattr(TreeValues, "_interacts_in_pairs", lambda *sizes: walks)
    if request.param == "meetings":
        monkeypatch.setattr(_interactions, "MOST_TABLE_BITS", 1)
        # Subtrees that share an index have more than one leaf, and always tables.
        monkeypatch.setattr("skshapley._ensembles._leafwise.MAX_BITS", 0)


@pytest.mark.parametrize("index", ["shapley", "banzhaf"])
@pytest.mark.parametrize("players", PLAYERS)
@pytest.mark.parametrize("name", NAMES)
def test_equal_to_the_definition(fitted, way, name, players, index):
    model, X = fitted(name)
    trees, players = read_trees(model), PLAYERS[players]
    background, weights = references(X)
    solver = TreeValues(trees, players, index).fit(trees.to_matrix(background), weights)
    rows = X[:2]
    ours = solver.interactions(trees.to_matrix(rows))
    for x, interactions in zip(rows, ours, strict=True):
        v = game_values(trees.raw_response, x, background, weights, players)
        tolerance = 1e-6 * np.abs(v).max() if trees.strict else 1e-12 * max(1, np.abs(v).max())
        expected = interactions_by_definition(v, index)
        np.testing.assert_allclose(off_diagonal(interactions), expected / 2, atol=tolerance)
    assert np.array_equal(ours, ours.transpose(0, 2, 1, 3))
    values = solver.values(trees.to_matrix(rows))
    np.testing.assert_allclose(ours.sum(axis=2), values, atol=1e-12 * max(1, np.abs(values).max()))


@pytest.mark.parametrize("d", [10, 40])
def test_walks_are_those_of_the_leaves_and_of_single_values(d, monkeypatch):
    """With players that fit into one word of a mask, and with more; and some that nobody asks."""
    model, X = deep_forest(d, n=150, n_estimators=2)
    solver, rows = TreeValues(read_trees(model), n_players=d + 10), X[100:110]
    solver.fit(X[:20], np.arange(1.0, 21.0))
    for choice in ("_interacts_in_pairs", "_goes_in_pairs"):
        monkeypatch.setattr(TreeValues, choice, lambda *sizes: True)
    monkeypatch.setattr(TreeValues, "_walks_first", lambda *sizes: False)
    values, pairs = solver.values_and_pairs(rows)
    assert np.array_equal(values, solver.values(rows))
    monkeypatch.setattr(_frontier, "STARTS", 30)
    monkeypatch.setattr(_walks, "WALKING", 16)
    for i in (0, 7):
        assert np.array_equal(solver.values_and_pairs(rows[[i]])[1][0], pairs[i])
    monkeypatch.setattr(TreeValues, "_interacts_in_pairs", lambda *sizes: False)
    np.testing.assert_allclose(solver.values_and_pairs(rows)[1], pairs, rtol=0, atol=1e-11)


def test_few_rows_walk_and_many_are_looked_up():
    model, _ = deep_forest(10, n=600, n_estimators=2)
    costs = TreeValues(read_trees(model))._costs
    assert costs.interacts_in_pairs(1, 100)
    assert not costs.interacts_in_pairs(1000, 1000)


@pytest.mark.usefixtures("at_leaves")
def test_both_ways_agree_for_leaves_of_many_players(monkeypatch):
    model, X = deep_forest(30, n=150, n_estimators=2)
    trees = read_trees(model)
    solver = TreeValues(trees).fit(X[:20])
    most = max(chunk.n_bits for block in solver._blocks for chunk in block.groups.chunks)
    assert most > _interactions.MOST_TABLE_BITS
    mixed = solver.interactions(X[100:110])
    monkeypatch.setattr(_interactions, "MOST_TABLE_BITS", most)
    tables = TreeValues(trees).fit(X[:20]).interactions(X[100:110])
    np.testing.assert_allclose(mixed, tables, rtol=0, atol=1e-11)


def test_large_leaves_have_tables_while_those_outgrow_no_others(monkeypatch):
    small, (model, X) = 6, deep_forest(30, n=150, n_estimators=2)
    monkeypatch.setattr(_interactions, "MOST_TABLE_BITS", small)
    solver = TreeValues(read_trees(model)).fit(X[:20])
    made = _interactions.PairValues(solver._blocks, solver._reference, 30, "shapley")
    size = _interactions._table_size
    chunks = [c for block in solver._blocks for c in block.groups.chunks if c.n_bits > 1]
    large = [c for c in chunks if c.is_single_leaves and c.n_bits > small]
    n_small = sum(size(c) for c in chunks if c not in large)
    tabled = [c for c in large if c in made._tabled]
    taken = sum(map(size, tabled))
    without = [c for c in large if c not in tabled]
    assert tabled
    assert taken <= n_small < taken + min(map(size, without))
    assert max(c.n_bits for c in tabled) <= min(c.n_bits for c in without)


@pytest.mark.usefixtures("at_leaves")
def test_same_bits_in_any_block_of_instances(monkeypatch):
    model, X = deep_forest(30, n=150, n_estimators=2)
    solver = TreeValues(read_trees(model)).fit(X[:20])
    whole = solver.interactions(X[100:112])
    assert np.array_equal(whole[5:6], solver.interactions(X[105:106]))
    monkeypatch.setattr(_pair_tables, "ROWS", 5)
    monkeypatch.setattr(_pair_tables, "FEW_ENTRIES", -1)
    assert np.array_equal(whole, solver.interactions(X[100:112]))


@pytest.mark.parametrize("name", ["xgboost, classes", "random forest, classes", "lightgbm"])
def test_few_instances_are_looked_up_at_once(fitted, name, monkeypatch):
    model, X = fitted(name)
    solver = TreeValues(read_trees(model)).fit(X[:20])
    made = solver.interactions(X[20:22])
    few = solver.interactions(X[20:22])
    monkeypatch.setattr(_pair_tables, "FEW_ENTRIES", -1)
    np.testing.assert_array_equal(solver.interactions(X[20:22]), few)
    np.testing.assert_array_equal(made, few)


@pytest.mark.usefixtures("at_leaves")
def test_background_in_pieces(monkeypatch):
    model, X = deep_forest(10, n=300, n_estimators=2)
    solver = TreeValues(read_trees(model)).fit(X[:100])
    whole = solver.interactions(X[100:110])
    monkeypatch.setattr("skshapley._ensembles._leafwise.LEAST_ROWS", 30)
    with sklearn.config_context(working_memory=MEMORY["streamed"]):
        pieces = solver.interactions(X[100:140])[:10]
    np.testing.assert_allclose(pieces, whole, rtol=0, atol=1e-11)


def test_additive_model_has_no_interactions():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, D))
    model = GradientBoostingRegressor(n_estimators=30, max_depth=1).fit(X, X.sum(axis=1))
    interactions = TreeExplainer(model, interactions=True).fit(X).explain(X[:4]).interactions
    assert not interactions.values.any()


def test_explainer(fitted):
    model, X = fitted("random forest, classes")
    groups = {"both": [0, 3]}
    explanation = (
        TreeExplainer(model, groups=groups, interactions=True).fit(X[:50]).explain(X[50:53])
    )
    interactions = explanation.interactions
    assert interactions.values.shape == (3, D - 1, D - 1, 3)
    assert not interactions.standard_errors.any()
    np.testing.assert_allclose(interactions.matrix().sum(axis=2), explanation.values, atol=1e-12)
    plain = TreeExplainer(model, groups=groups).fit(X[:50]).explain(X[50:53])
    np.testing.assert_array_equal(explanation.values, plain.values)
    assert plain.interactions is None
    one = TreeExplainer(model, output=1, groups=groups, interactions=True).fit(X[:50])
    alone = one.explain(X[50:53]).interactions.values
    np.testing.assert_allclose(alone, interactions.values[..., 1], atol=1e-12)


@pytest.mark.parametrize("index", WEIGHTS)
def test_indices_of_pairs(fitted, way, index):
    """Beside Banzhaf values, too: the index of pairs is another choice."""
    model, X = fitted("xgboost")
    explainer = TreeExplainer(model, interactions=index, index="banzhaf").fit(X[:9])
    found = explainer.explain(X[50:52]).interactions
    assert found.index == index
    weights = np.full(9, 1 / 9)
    for x, values in zip(X[50:52], found.values, strict=True):
        raw = explainer.exact_.trees.raw_response
        v = game_values(raw, x, X[:9], weights, np.arange(D))
        expected = interactions_by_definition(v, index)[..., 0]
        np.testing.assert_allclose(values, expected, atol=1e-6 * np.abs(v).max())


@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize("name", ["xgboost", "xgboost, missing", "xgboost, classes"])
def test_path_dependent_equal_to_xgboost(fitted, name, direct, monkeypatch):
    if direct:
        monkeypatch.setattr("skshapley._ensembles._leafwise.MAX_BITS", 0)
        monkeypatch.setattr(_interactions, "MOST_TABLE_BITS", 1)
    model, X = fitted(name)
    how = {"feature_perturbation": "path_dependent", "interactions": True}
    ours = TreeExplainer(model, **how).fit().explain(X[:20]).interactions.matrix()
    theirs = model.get_booster().predict(
        xgboost.DMatrix(X[:20]), pred_interactions=True, strict_shape=True
    )
    theirs = np.moveaxis(theirs[:, :, :-1, :-1], 1, 3).reshape(ours.shape)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=3e-6 * np.abs(theirs).max())


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize("k", [2, 3, 6])
def test_path_dependent_table_and_direct_interactions_agree(k, index):
    rng = np.random.default_rng(k)
    ratios = rng.random((5, k))
    ratios[0, :2] = 0.0, 1.0
    law = training_law(ratios, np.full(5, k)).reshape(5, -1).T
    table = leaf_interactions(law, index)
    masks = np.tile(np.arange(1 << k, dtype=np.uint16), (5, 1))
    direct = interactions_by_ratios(masks, ratios, index)
    np.testing.assert_allclose(direct, table.transpose(0, 2, 1), rtol=0, atol=1e-12)


def test_tables_of_pairs_are_made_once(fitted, monkeypatch):
    model, X = fitted("xgboost")
    solver = TreeValues(read_trees(model)).fit(X[:30])
    first = solver.interactions(X[40:45])
    with monkeypatch.context() as patch:
        patch.delattr(_interactions, "leaf_interactions")
        np.testing.assert_array_equal(solver.interactions(X[40:45]), first)
    monkeypatch.setattr(_interactions, "TABLE_SHARE", 0.0)
    fresh = TreeValues(read_trees(model)).fit(X[:30])
    np.testing.assert_array_equal(fresh.interactions(X[40:45]), first)
    np.testing.assert_array_equal(fresh.interactions(X[40:45]), first)


def test_an_index_that_is_none_is_refused(fitted):
    model, X = fitted("xgboost")
    with pytest.raises(ValueError, match=r'takes interactions as False, .*"shapley-taylor"; got 2'):
        TreeExplainer(model, interactions=2).fit(X[:9])
