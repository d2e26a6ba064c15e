"""Exact values against the definition, against shap and XGBoost, and against themselves."""

from dataclasses import replace

import lightgbm
import numpy as np
import pytest
import shap
import sklearn
import xgboost
from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestRegressor

from skshapley.trees import read_trees

from .conftest import (
    RECIPES,
    D,
    game_values,
    shapley_by_definition,
    solver_by,
    tree_values,
    xgb,
)

PLAYERS = {
    "features": np.arange(D),
    "groups": np.array([0, 1, 0, 2, 1, 1]),
    "one group": np.zeros(D, dtype=int),
}
WAYS = ("tables", "streamed", "pairs")


def references(X, n=7, seed=3):
    rng = np.random.default_rng(seed)
    background = X[rng.integers(0, len(X), n)]
    return background, rng.random(n) + 0.1


way = pytest.mark.parametrize("way", WAYS)


@pytest.mark.thinned
@way
@pytest.mark.parametrize("players", PLAYERS)
@pytest.mark.parametrize("name", RECIPES)
def test_values_agree_with_the_definition(fitted, name, players, way):
    model, X = fitted(name)
    trees, players = read_trees(model), PLAYERS[players]
    background, weights = references(X)
    solver = solver_by(way, trees, players).fit(trees.to_matrix(background), weights)
    rows = X[:3]
    ours = solver.values(trees.to_matrix(rows))
    for x, values in zip(rows, ours, strict=True):
        v = game_values(trees.raw_response, x, background, weights, players)
        tolerance = (
            1e-6 * np.abs(v).max() if trees.strict else 1e-12 * max(1, np.abs(v).max())
        )
        np.testing.assert_allclose(
            values, shapley_by_definition(v), rtol=0, atol=tolerance
        )
        np.testing.assert_allclose(solver.base_values, v[0], rtol=0, atol=tolerance)
        np.testing.assert_allclose(
            solver.base_values + values.sum(axis=0), v[-1], atol=tolerance
        )


@pytest.mark.thinned
@way
@pytest.mark.parametrize(
    "name", ["xgboost, missing", "lightgbm, classes", "random forest"]
)
def test_banzhaf_values_agree_with_the_definition(fitted, name, way):
    model, X = fitted(name)
    trees = read_trees(model)
    background, weights = references(X)
    solver = solver_by(way, trees, index="banzhaf").fit(
        trees.to_matrix(background), weights
    )
    ours = solver.values(trees.to_matrix(X[:2]))
    for x, values in zip(X[:2], ours, strict=True):
        v = game_values(trees.raw_response, x, background, weights, np.arange(D))
        expected = shapley_by_definition(v, banzhaf=True)
        np.testing.assert_allclose(values, expected, atol=1e-6 * np.abs(v).max())


def test_unknown_index(fitted):
    model, _ = fitted("xgboost")
    with pytest.raises(ValueError, match=r"index as one of .* got 'nash'"):
        tree_values(read_trees(model), index="nash")


def deep_forest(d, n=500, n_estimators=5):
    X, y = make_friedman1(n, d, noise=1.0, random_state=0)
    return RandomForestRegressor(n_estimators, random_state=0).fit(X, y), X


def shap_values(model, background, X):
    masker = shap.maskers.Independent(background, max_samples=len(background))
    explainer = shap.TreeExplainer(model, masker, feature_perturbation="interventional")
    return explainer.shap_values(X, check_additivity=False)


SHAP_READS = [
    "xgboost", "xgboost, missing", "xgboost, binary", "xgboost, classes", "lightgbm",
    "lightgbm, classes", "hist gradient boosting", "gradient boosting", "random forest",
    "random forest, classes", "extra trees", "decision tree",
]  # fmt: skip


@pytest.mark.parametrize("name", SHAP_READS)
def test_values_agree_with_shap(fitted, name):
    model, X = fitted(name)
    trees = read_trees(model)
    ours = (
        tree_values(trees)
        .fit(trees.to_matrix(X[:60]))
        .values(trees.to_matrix(X[60:90]))
    )
    theirs = np.reshape(shap_values(model, X[:60], X[60:90]), ours.shape)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6 * np.abs(theirs).max())


@pytest.mark.thinned
@way
@pytest.mark.parametrize("depth", [1, 3, 6, 9])
@pytest.mark.parametrize("d", [10, 40])
def test_values_agree_with_shap_at_any_depth(depth, d, way):
    X, y = make_friedman1(400, d, noise=1.0, random_state=1)
    model = xgboost.XGBRegressor(n_estimators=10, max_depth=depth, n_jobs=1).fit(X, y)
    trees = read_trees(model)
    ours = solver_by(way, trees).fit(X[:50]).values(X[50:70])[:, :, 0]
    theirs = shap_values(model, X[:50], X[50:70])
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6 * np.abs(theirs).max())


@way
@pytest.mark.parametrize("d", [10, 30])
def test_fully_grown_forests_agree_with_shap(d, way):
    """Leaves of 30 columns have too many players for tables: both sides meet there."""
    model, X = deep_forest(d)
    trees = read_trees(model)
    solver = solver_by(way, trees).fit(X[:40])
    ours = solver.values(X[100:130])[:, :, 0]
    theirs = shap_values(model, X[:40], X[100:130])
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6 * np.abs(theirs).max())
    prediction = model.predict(X[100:130])
    np.testing.assert_allclose(
        solver.base_values + ours.sum(axis=1), prediction, atol=1e-10
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_tables_agree_with_pairs_for_few_and_many_references(weighted):
    """Leaves have tables against many references, and against few they have none."""
    model, X = deep_forest(12, n=2000, n_estimators=2)
    trees = read_trees(model)
    for b in (20, 2000):
        weights = np.random.default_rng(0).random(b) if weighted else None
        tables = solver_by("tables", trees).fit(X[:b], weights)
        pairs = solver_by("pairs", trees).fit(X[:b], weights)
        np.testing.assert_allclose(
            tables.values(X[:9]), pairs.values(X[:9]), rtol=0, atol=1e-11
        )
        np.testing.assert_allclose(tables.base_values, pairs.base_values, rtol=1e-13)


@pytest.mark.parametrize("d", [6, 12, 30, 60])
def test_values_per_background_row(d):
    """Masks of one, two and four bytes for each side, and of places on the path."""
    model, X = deep_forest(d, n=300, n_estimators=3)
    solver = solver_by("tables", read_trees(model)).fit(X[:40])
    apart = solver.values_by_reference(X[100:120], X[:40])
    np.testing.assert_allclose(
        apart.mean(axis=1), solver.values(X[100:120]), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("d", [10, 40])
def test_large_backgrounds_are_processed_in_pieces(d, monkeypatch):
    monkeypatch.setattr("skshapley._trees._frontier.REFERENCES", 9)
    model, X = deep_forest(d, n=150, n_estimators=2)
    trees = read_trees(model)
    pairs, tables = (solver_by(way, trees).fit(X[:50]) for way in ("pairs", "tables"))
    np.testing.assert_allclose(
        pairs.values(X[:5]), tables.values(X[:5]), rtol=0, atol=1e-12
    )
    apart = pairs.values_by_reference(X[:5], X[:50])
    np.testing.assert_allclose(
        pairs.values(X[:5]), apart.mean(axis=1), rtol=0, atol=1e-12
    )


def test_weights_equal_repeated_rows(fitted):
    model, X = fitted("hist gradient boosting")
    trees = read_trees(model)
    times = np.arange(10) % 4
    weighted = tree_values(trees).fit(X[:10], times)
    repeated = tree_values(trees).fit(np.repeat(X[:10], times, axis=0))
    np.testing.assert_allclose(weighted.values(X), repeated.values(X), atol=1e-13)


def test_unused_players_get_zero():
    X, y = make_friedman1(200, 12, random_state=0)
    X[:, 11] = 0.0
    model = xgb(max_depth=3).fit(X, y)
    values = tree_values(read_trees(model)).fit(X[:20]).values(X)
    assert not values[:, 11].any()


@pytest.mark.thinned
@way
@pytest.mark.parametrize("name", ["xgboost, classes", "random forest", "lightgbm"])
def test_values_depend_neither_on_n_jobs_nor_on_other_rows(fitted, name, way):
    model, X = fitted(name)
    trees = read_trees(model)
    X = trees.to_matrix(np.tile(X, (2, 1)))
    one = solver_by(way, trees).fit(X[:30])
    two = solver_by(way, trees, n_jobs=2).fit(X[:30])
    np.testing.assert_array_equal(one.values(X), two.values(X))
    alone = np.concatenate([one.values(x[None]) for x in X[:5]])
    np.testing.assert_array_equal(alone, one.values(X)[:5])


@pytest.mark.parametrize("way", ["tables", "streamed"])
def test_large_backgrounds_divide_the_trees_into_blocks(fitted, way):
    """So that the patterns of the background fit into memory."""
    model, X = fitted("lightgbm, classes")
    trees = read_trees(model)
    whole = solver_by(way, trees).fit(X[:30]).values(X)
    with sklearn.config_context(working_memory=0.003):
        blocks = solver_by(way, trees).fit(X[:30])
        np.testing.assert_array_equal(blocks.values(X), whole)
        assert len(blocks._blocks) > 3


@way
@pytest.mark.parametrize(
    "name", ["xgboost", "xgboost, missing", "xgboost, classes", "xgboost, categories"]
)
def test_path_dependent_values_agree_with_xgboost(fitted, name, way):
    model, X = fitted(name)
    trees = read_trees(model)
    solver = solver_by(way, trees).fit()
    ours = solver.values(trees.to_matrix(X))
    matrix = xgboost.DMatrix(
        X, feature_types=model.feature_types, enable_categorical=True
    )
    theirs = model.get_booster().predict(matrix, pred_contribs=True, strict_shape=True)
    scale = np.abs(theirs).max()
    np.testing.assert_allclose(
        ours.transpose(0, 2, 1), theirs[:, :, :-1], rtol=0, atol=3e-6 * scale
    )
    expected = np.broadcast_to(solver.base_values, theirs[:, :, -1].shape)
    np.testing.assert_allclose(expected, theirs[:, :, -1], atol=3e-6 * scale)


@way
@pytest.mark.parametrize(
    "name", ["random forest", "extra trees", "gradient boosting", "lightgbm, missing"]
)
def test_path_dependent_values_agree_with_shap(fitted, name, way):
    model, X = fitted(name)
    trees = read_trees(model)
    ours = solver_by(way, trees).fit().values(trees.to_matrix(X[:20]))[:, :, 0]
    theirs = shap.TreeExplainer(model, feature_perturbation="tree_path_dependent")
    theirs = theirs.shap_values(X[:20], check_additivity=False)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6 * np.abs(theirs).max())


@way
def test_path_dependent_values_of_fully_grown_forests(way):
    model, X = deep_forest(30, n=300, n_estimators=2)
    solver = solver_by(way, read_trees(model)).fit()
    ours = solver.values(X[:10])[:, :, 0]
    theirs = shap.TreeExplainer(model, feature_perturbation="tree_path_dependent")
    theirs = theirs.shap_values(X[:10], check_additivity=False)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6 * np.abs(theirs).max())
    np.testing.assert_allclose(
        solver.base_values + ours.sum(axis=1), model.predict(X[:10])
    )


@way
def test_nodes_without_training_rows_share_evenly(fitted, way):
    """A node that no training weight reached counts both children as equally likely."""
    model, X = fitted("decision tree")
    trees = read_trees(model)
    covers = []
    for left in (0, 1):
        cover = trees.cover.copy()
        inner = np.flatnonzero(~trees.is_leaf)[-1]
        cover[[inner, trees.left[inner], trees.right[inner]]] = 0, left, left
        covers.append(cover)
    solver, even = (
        solver_by(way, replace(trees, cover=cover)).fit() for cover in covers
    )
    np.testing.assert_allclose(solver.values(X), even.values(X), atol=1e-12)
    values = solver.values(X)
    np.testing.assert_allclose(
        solver.base_values + values.sum(axis=1), model.predict(X)[:, None], atol=1e-12
    )
    assert np.isfinite(solver.pairs(X[:3])).all()


def chain(depth):
    """One tree that asks another feature at each step down."""
    X = np.tril(np.ones((depth + 1, depth)), -1)
    y = np.arange(depth + 1.0) ** 2
    trees = read_trees(RandomForestRegressor(1, bootstrap=False).fit(X[:3], y[:3]))
    inner, leaf = np.arange(depth), np.arange(depth, 2 * depth + 1)
    return replace(
        trees,
        left=np.concatenate([leaf[:-1], np.full(depth + 1, -1)]),
        right=np.concatenate([inner[1:], leaf[-1:], np.full(depth + 1, -1)]),
        feature=np.concatenate([inner, np.full(depth + 1, -1)]),
        threshold=np.full(2 * depth + 1, 0.5),
        missing_left=np.zeros(2 * depth + 1, dtype=bool),
        zero_missing=np.zeros(2 * depth + 1, dtype=bool),
        value=np.concatenate([np.zeros(depth), y])[:, None],
        cover=np.ones(2 * depth + 1),
        roots=np.array([0]),
        n_features=depth,
        raw_response=None,
    ), X


@way
@pytest.mark.parametrize("depth", [9, 33, 64, 65, 150])
def test_long_paths(depth, way):
    """Values of a known sum of unanimity games; x of ones passes every split."""
    trees, X = chain(depth)
    solver = solver_by(way, trees).fit(np.zeros((2, depth)))
    values = solver.values(np.concatenate([X, np.ones((1, depth))]))[:, :, 0]
    np.testing.assert_allclose(solver.base_values, 0.0, atol=1e-12)
    np.testing.assert_allclose(
        values.sum(axis=1), [*np.arange(depth + 1.0) ** 2, depth**2]
    )
    # Row i passes the first i questions: v(S) is the square of the length of the first
    # run in S, a sum of unanimity games.
    order = np.diff(values[-1])
    assert (order <= 1e-12).all()
    m = np.arange(1.0, depth + 1)
    shares = (2 * m - 1) / m
    np.testing.assert_allclose(values[-1], shares[::-1].cumsum()[::-1], rtol=1e-11)
    half = np.where(m <= depth // 2, shares, 0.0)
    np.testing.assert_allclose(
        values[depth // 2], half[::-1].cumsum()[::-1], atol=1e-11
    )


@way
@pytest.mark.parametrize("depth", [9, 65])
def test_long_paths_of_the_training_data(depth, way):
    """The cover of a node is the number of leaves below: half go each way at the last one."""
    trees, X = chain(depth)
    below = np.arange(depth + 1.0, 1, -1)
    trees = replace(trees, cover=np.concatenate([below, np.ones(depth + 1)]))
    solver = solver_by(way, trees).fit()
    np.testing.assert_allclose(solver.base_values, np.mean(np.arange(depth + 1.0) ** 2))
    total = solver.base_values + solver.values(X).sum(axis=1)
    np.testing.assert_allclose(
        total[:, 0], np.arange(depth + 1.0) ** 2, atol=1e-9 * depth**2
    )
    pairs = solver.pairs(X[:2])
    assert pairs.shape == (2, depth, depth, 1)


def test_groups_of_columns_shorten_paths():
    trees, _ = chain(65)
    solver = tree_values(trees, np.arange(65) // 5).fit(np.zeros((1, 65)))
    np.testing.assert_allclose(solver.values(np.ones((1, 65))).sum(), 65.0**2)


@pytest.mark.parametrize(
    "model",
    [
        RandomForestRegressor(2),
        lightgbm.LGBMRegressor(n_estimators=2, verbose=-1),
        xgb(max_depth=3),
    ],
    ids=["forest", "lightgbm", "xgboost"],
)
def test_trees_without_splits(model):
    X = np.arange(30.0)[:, None] * [1.0, -1.0]
    trees = read_trees(model.fit(X, np.full(30, 2.0)))
    solver = tree_values(trees).fit(X[:3])
    np.testing.assert_allclose(solver.base_values, 2.0)
    assert not solver.values(X).any()
    assert not solver.pairs(X).any()
    assert not tree_values(trees).fit().values(X).any()
