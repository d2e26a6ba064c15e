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

from skshapley._ensembles._costs import Costs
from skshapley._ensembles._open import OpenGroups
from skshapley._ensembles._values import TreeValues
from skshapley.exceptions import UnreadableModelError
from skshapley.trees import read_trees

from .conftest import RECIPES, D, game_values, shapley_by_definition, xgb

PLAYERS = {
    "features": np.arange(D),
    "groups": np.array([0, 1, 0, 2, 1, 1]),
    "one group": np.zeros(D, dtype=int),
}
# All tables kept, and none kept
MEMORY = {"kept": 1024, "streamed": 1e-6}


def references(X, n=7, seed=3):
    rng = np.random.default_rng(seed)
    background = X[rng.integers(0, len(X), n)]
    return background, rng.random(n) + 0.1


@pytest.fixture(params=MEMORY)
def memory(request, monkeypatch):
    """Leaf by leaf, from tables that are kept, and without."""
    monkeypatch.setattr(Costs, "prefers_pairs", lambda *sizes: False)
    with sklearn.config_context(working_memory=MEMORY[request.param]):
        yield request.param


@pytest.fixture(params=[*MEMORY, "pairs"])
def way(request, monkeypatch):
    """Also in pairs of an instance and a reference."""
    in_pairs = request.param == "pairs"
    monkeypatch.setattr(Costs, "prefers_pairs", lambda *sizes: in_pairs)
    with sklearn.config_context(working_memory=MEMORY.get(request.param, 1e-6)):
        yield request.param


@pytest.mark.parametrize("players", PLAYERS)
@pytest.mark.parametrize("name", RECIPES)
def test_equal_to_the_definition(fitted, name, players):
    model, X = fitted(name)
    trees, players = read_trees(model), PLAYERS[players]
    background, weights = references(X)
    solver = TreeValues(trees, players).fit(trees.to_matrix(background), weights)
    rows = X[:3]
    ours = solver.values(trees.to_matrix(rows))
    for x, values in zip(rows, ours, strict=True):
        v = game_values(trees.raw_response, x, background, weights, players)
        tolerance = 1e-6 * np.abs(v).max() if trees.strict else 1e-12 * max(1, np.abs(v).max())
        np.testing.assert_allclose(values, shapley_by_definition(v), rtol=0, atol=tolerance)
        np.testing.assert_allclose(solver.base_values, v[0], rtol=0, atol=tolerance)
        np.testing.assert_allclose(solver.base_values + values.sum(axis=0), v[-1], atol=tolerance)


@pytest.mark.parametrize("name", ["xgboost, missing", "lightgbm, classes", "random forest"])
def test_banzhaf_equal_to_the_definition(fitted, name, way):
    model, X = fitted(name)
    trees = read_trees(model)
    background, weights = references(X)
    solver = TreeValues(trees, index="banzhaf").fit(trees.to_matrix(background), weights)
    ours = solver.values(trees.to_matrix(X[:2]))
    for x, values in zip(X[:2], ours, strict=True):
        v = game_values(trees.raw_response, x, background, weights, np.arange(D))
        expected = shapley_by_definition(v, banzhaf=True)
        np.testing.assert_allclose(values, expected, atol=1e-6 * np.abs(v).max())


def test_unknown_index(fitted):
    model, _ = fitted("xgboost")
    with pytest.raises(ValueError, match=r"index='nash'.*'shapley', 'banzhaf'"):
        TreeValues(read_trees(model), index="nash")


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
def test_equal_to_shap(fitted, name):
    model, X = fitted(name)
    trees = read_trees(model)
    ours = TreeValues(trees).fit(trees.to_matrix(X[:60])).values(trees.to_matrix(X[60:90]))
    theirs = np.reshape(shap_values(model, X[:60], X[60:90]), ours.shape)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6 * np.abs(theirs).max())


@pytest.mark.parametrize("depth", [1, 3, 6, 9])
@pytest.mark.parametrize("d", [10, 40])
def test_equal_to_shap_at_any_depth(depth, d, way):
    X, y = make_friedman1(400, d, noise=1.0, random_state=1)
    model = xgboost.XGBRegressor(n_estimators=10, max_depth=depth, n_jobs=1).fit(X, y)
    trees = read_trees(model)
    ours = TreeValues(trees).fit(X[:50]).values(X[50:70])[:, :, 0]
    theirs = shap_values(model, X[:50], X[50:70])
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6 * np.abs(theirs).max())


@pytest.mark.parametrize("d", [10, 30])
def test_fully_grown_forests_equal_to_shap(d, way):
    model, X = deep_forest(d)
    trees = read_trees(model)
    solver = TreeValues(trees).fit(X[:40])
    ours = solver.values(X[100:130])[:, :, 0]
    theirs = shap_values(model, X[:40], X[100:130])
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6 * np.abs(theirs).max())
    prediction = model.predict(X[100:130])
    np.testing.assert_allclose(solver.base_values + ours.sum(axis=1), prediction, atol=1e-10)


def test_tables_and_meetings_agree(monkeypatch):
    """The same leaves with tables, and without any."""
    monkeypatch.setattr(Costs, "prefers_pairs", lambda *sizes: False)
    model, X = deep_forest(30, n=300, n_estimators=3)
    trees = read_trees(model)
    weights = np.random.default_rng(0).random(50)
    kept = TreeValues(trees).fit(X[:50], weights)
    expected = kept.values(X)
    with sklearn.config_context(working_memory=1e-6):
        streamed = TreeValues(trees).fit(X[:50], weights)
        # A few rows meet the background, many are worth a table: both give the same values.
        many = streamed.values(X)
    few = np.concatenate([streamed.values(X[i : i + 1]) for i in range(0, 300, 30)])
    np.testing.assert_allclose(many, expected, atol=1e-12)
    np.testing.assert_allclose(few, many[::30], atol=1e-12)


def test_few_rows_meet_the_background(monkeypatch):
    """Guards the test above: one row is explained without a table."""
    from skshapley._ensembles import _references

    monkeypatch.setattr(Costs, "prefers_pairs", lambda *sizes: False)
    model, X = deep_forest(30, n=300, n_estimators=3)
    calls = []
    meet = _references.leaf_values_by_meetings
    monkeypatch.setattr(
        _references, "leaf_values_by_meetings", lambda *a: calls.append(1) or meet(*a)
    )
    with sklearn.config_context(working_memory=1e-6):
        TreeValues(read_trees(model)).fit(X[:50]).values(X[:1])
    assert calls


def test_pieces_of_the_background_add_up(monkeypatch):
    from skshapley._ensembles import _leafwise

    monkeypatch.setattr(Costs, "prefers_pairs", lambda *sizes: False)
    model, X = deep_forest(20, n=200, n_estimators=2)
    trees = read_trees(model)
    for memory in MEMORY.values():
        with sklearn.config_context(working_memory=memory):
            whole = TreeValues(trees).fit(X[:90])
            expected = whole.values(X[:9])
            with monkeypatch.context() as patch:
                patch.setattr(_leafwise, "LEAST_ROWS", 40)
                patch.setattr(_leafwise, "PATTERN_SHARE", 0.0)
                pieces = TreeValues(trees).fit(X[:90])
                assert len(list(pieces._reference.pieces(pieces._blocks[0]))) > 1
                np.testing.assert_allclose(pieces.values(X[:9]), expected, atol=1e-12)
                np.testing.assert_allclose(pieces.base_values, whole.base_values, atol=1e-12)


def test_weights_are_repetitions(fitted):
    model, X = fitted("hist gradient boosting")
    trees = read_trees(model)
    times = np.arange(10) % 4
    weighted = TreeValues(trees).fit(X[:10], times)
    repeated = TreeValues(trees).fit(np.repeat(X[:10], times, axis=0))
    np.testing.assert_allclose(weighted.values(X), repeated.values(X), atol=1e-13)


def test_players_that_are_never_asked_get_zero():
    X, y = make_friedman1(200, 12, random_state=0)
    X[:, 11] = 0.0
    model = xgb(max_depth=3).fit(X, y)
    values = TreeValues(read_trees(model)).fit(X[:20]).values(X)
    assert not values[:, 11].any()


@pytest.mark.parametrize("name", ["xgboost, classes", "random forest", "lightgbm"])
def test_same_for_any_n_jobs_and_alone(fitted, name, way):
    model, X = fitted(name)
    trees = read_trees(model)
    X = trees.to_matrix(np.tile(X, (2, 1)))
    one = TreeValues(trees).fit(X[:30])
    two = TreeValues(trees, n_jobs=2).fit(X[:30])
    np.testing.assert_array_equal(one.values(X), two.values(X))
    alone = np.concatenate([one.values(x[None]) for x in X[:5]])
    if way != "streamed":
        np.testing.assert_array_equal(alone, one.values(X)[:5])
    else:
        np.testing.assert_allclose(alone, one.values(X)[:5], atol=1e-12)


def test_trees_in_many_blocks(fitted, monkeypatch):
    from skshapley._ensembles import _paths

    model, X = fitted("lightgbm, classes")
    trees = read_trees(model)
    whole = TreeValues(trees).fit(X[:30]).values(X)
    monkeypatch.setattr(_paths, "LEAVES", 20)
    blocks = TreeValues(trees).fit(X[:30])
    assert len(blocks._blocks) > 3
    np.testing.assert_allclose(blocks.values(X), whole, atol=1e-12)


@pytest.mark.parametrize(
    "name", ["xgboost", "xgboost, missing", "xgboost, classes", "xgboost, categories"]
)
def test_path_dependent_equals_xgboost(fitted, name, memory):
    model, X = fitted(name)
    trees = read_trees(model)
    solver = TreeValues(trees).fit_path_dependent()
    ours = solver.values(trees.to_matrix(X))
    matrix = xgboost.DMatrix(X, feature_types=model.feature_types, enable_categorical=True)
    theirs = model.get_booster().predict(matrix, pred_contribs=True, strict_shape=True)
    scale = np.abs(theirs).max()
    np.testing.assert_allclose(
        ours.transpose(0, 2, 1), theirs[:, :, :-1], rtol=0, atol=3e-6 * scale
    )
    expected = np.broadcast_to(solver.base_values, theirs[:, :, -1].shape)
    np.testing.assert_allclose(expected, theirs[:, :, -1], atol=3e-6 * scale)


@pytest.mark.parametrize(
    "name", ["random forest", "extra trees", "gradient boosting", "lightgbm, missing"]
)
def test_path_dependent_equals_shap(fitted, name, memory):
    model, X = fitted(name)
    trees = read_trees(model)
    ours = TreeValues(trees).fit_path_dependent().values(trees.to_matrix(X[:20]))[:, :, 0]
    theirs = shap.TreeExplainer(model, feature_perturbation="tree_path_dependent")
    theirs = theirs.shap_values(X[:20], check_additivity=False)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6 * np.abs(theirs).max())


def test_path_dependent_of_fully_grown_forests(memory):
    model, X = deep_forest(30, n=300, n_estimators=2)
    solver = TreeValues(read_trees(model)).fit_path_dependent()
    ours = solver.values(X[:10])[:, :, 0]
    theirs = shap.TreeExplainer(model, feature_perturbation="tree_path_dependent")
    theirs = theirs.shap_values(X[:10], check_additivity=False)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6 * np.abs(theirs).max())
    np.testing.assert_allclose(solver.base_values + ours.sum(axis=1), model.predict(X[:10]))


def test_empty_node_has_no_share(fitted):
    """A node that no training weight reached passes nothing on, and divides by nothing."""
    model, X = fitted("decision tree")
    trees = read_trees(model)
    cover = trees.cover.copy()
    inner = np.flatnonzero(~trees.is_leaf)[-1]
    cover[[inner, trees.left[inner], trees.right[inner]]] = 0
    values = TreeValues(replace(trees, cover=cover)).fit_path_dependent().values(X)
    assert np.isfinite(values).all()


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


@pytest.mark.parametrize("depth", [9, 33, 64])
def test_long_paths(depth, memory):
    """Symmetric in what matters: with one reference of zeros, x of ones wins y[-1] step by step."""
    trees, X = chain(depth)
    solver = TreeValues(trees).fit(np.zeros((2, depth)))
    values = solver.values(np.concatenate([X, np.ones((1, depth))]))[:, :, 0]
    np.testing.assert_allclose(solver.base_values, 0.0, atol=1e-12)
    np.testing.assert_allclose(values.sum(axis=1), [*np.arange(depth + 1.0) ** 2, depth**2])
    # Row i passes the first i questions: v(S) is the square of the length of the first run in S.
    order = np.diff(values[-1])
    assert (order <= 1e-12).all()


def test_longer_paths_go_in_pairs_alone():
    """v(S) is the square of the length of the first run in S."""
    trees, _ = chain(65)
    values = TreeValues(trees).fit(np.zeros((1, 65))).values(np.ones((1, 65)))[0, :, 0]
    shares = 2 - 1 / np.arange(1.0, 66)
    np.testing.assert_allclose(values, shares[::-1].cumsum()[::-1], rtol=1e-12)
    with pytest.raises(UnreadableModelError, match="asks 65 different players"):
        TreeValues(trees).fit_path_dependent()
    # Grouped, the same path asks fewer players.
    values = TreeValues(trees, np.arange(65) // 5).fit(np.zeros((1, 65))).values(np.ones((1, 65)))
    np.testing.assert_allclose(values.sum(), 65.0**2)


def with_ends(X):
    """Rows, and four in which all values are missing, zero or infinite."""
    return np.concatenate([X, *(np.full((1, D), end) for end in (np.nan, 0.0, np.inf, -np.inf))])


@pytest.mark.parametrize("players", PLAYERS)
@pytest.mark.parametrize("name", RECIPES)
def test_few_instances_are_read_as_many_are(fitted, name, players, monkeypatch):
    """Codes and patterns, whose many bits are worked out one after the other."""
    from skshapley._ensembles import _code_patterns, _codes, _groups

    monkeypatch.setattr(_code_patterns, "MOST_BYTES_PER_BIT", 1 << 20)
    model, X = fitted(name)
    trees = read_trees(model)
    X = with_ends(trees.to_matrix(X[:60]))
    solver = TreeValues(trees, PLAYERS[players])
    codes = solver._codes(X)
    patterns = [block.groups.patterns(codes, tabulated=True) for block in solver._blocks]
    assert all(block.groups._by_code is not None for block in solver._blocks)
    few = np.concatenate([solver._codes(x[None]) for x in X], axis=1)
    monkeypatch.setattr(_codes, "FEW_ROWS", -1)
    monkeypatch.setattr(_groups, "FEW_ROWS", -1)
    np.testing.assert_array_equal(few, solver._codes(X))
    np.testing.assert_array_equal(codes, few)
    for block, pattern in zip(solver._blocks, patterns, strict=True):
        np.testing.assert_array_equal(block.groups.answers(codes), pattern)
        np.testing.assert_array_equal(block.groups.reader(codes), pattern)


@pytest.mark.parametrize("players", PLAYERS)
@pytest.mark.parametrize("name", RECIPES)
def test_readings_set_the_bits_that_codes_set(fitted, name, players, monkeypatch):
    from skshapley._ensembles import _few_patterns

    monkeypatch.setattr(_few_patterns, "MOST_BYTES_PER_BIT", 1 << 20)
    model, X = fitted(name)
    trees = read_trees(model)
    X = with_ends(trees.to_matrix(X[:60]))
    solver = TreeValues(trees, PLAYERS[players])
    blocks, codes = solver._blocks, solver._codes(X)
    expected = np.concatenate([block.groups.reader(codes) for block in blocks]).T
    answers = [block.groups.answers for block in blocks]
    patterns = _few_patterns.FewPatterns.of(answers, solver._codes, expected.dtype)
    assert (patterns.words is None) == any(row.zero_missing for row in solver._codes.numeric_rows)
    np.testing.assert_array_equal(patterns(X), expected)
    for x, pattern in zip(X, expected, strict=True):
        np.testing.assert_array_equal(patterns(x[None]), pattern[None])
    monkeypatch.setattr(_few_patterns, "MOST_BYTES", -1)
    patterns = _few_patterns.FewPatterns.of(answers, solver._codes, expected.dtype)
    assert patterns.words is None
    np.testing.assert_array_equal(patterns(X), expected)


@pytest.mark.parametrize("b", [1, 2, 40])
@pytest.mark.parametrize("players", PLAYERS)
@pytest.mark.parametrize("name", ["xgboost, classes", "random forest", "lightgbm, missing"])
def test_few_instances_are_looked_up_as_many_are(fitted, name, players, b, monkeypatch):
    from skshapley._ensembles import _kept, _open

    monkeypatch.setattr(_open, "OPEN_SHARE", 1.0)
    monkeypatch.setattr(_open, "MOST_ROOM", 1 << 20)
    model, X = fitted(name)
    trees = read_trees(model)
    X = trees.to_matrix(X[:40])
    solver = TreeValues(trees, PLAYERS[players]).fit(X[:b])
    tables = solver._leaves().tables
    monkeypatch.setattr(_kept, "FEW_ENTRIES", 1 << 30)
    many, single = solver.values(X), [solver.values(x[None]) for x in X]
    np.testing.assert_array_equal(np.concatenate(single), many)
    assert isinstance(tables._way, OpenGroups)
    np.testing.assert_array_equal(solver.values(X), many)
    monkeypatch.setattr(_open, "OPEN_SHARE", -1.0)
    del tables._way
    np.testing.assert_array_equal(solver.values(X), many)
    assert not isinstance(tables._way, OpenGroups)
    monkeypatch.setattr(_kept, "FEW_ENTRIES", -1)
    np.testing.assert_array_equal(solver.values(X), many)


def test_groups_are_closed_where_references_are_few(fitted):
    model, X = fitted("xgboost, missing")
    trees = read_trees(model)
    for b, expected in (1, True), (40, False), (100, False):
        solver = TreeValues(trees).fit(X[:b])
        assert isinstance(solver._leaves().tables._way, OpenGroups) == expected


@pytest.mark.parametrize("grouped", [False, True])
def test_groups_of_many_bits_are_taken_apart(grouped):
    """Against one reference a pattern takes a byte, unless a player has several columns."""
    model, X = deep_forest(48, n=300, n_estimators=2)
    noise = np.random.default_rng(0).normal(size=len(X))
    model.set_params(max_depth=12, max_features=1).fit(X, noise)
    X[::7, 3], X[::11, 5] = np.nan, np.inf
    players = np.arange(48) % (12 if grouped else 48)
    solver = TreeValues(read_trees(model), players).fit(X[:1])
    tables = solver._make_leafwise().tables
    many = tables.values(solver._codes(X))
    way, few = tables._way, tables.values_of_few(X[:40])
    assert isinstance(way, OpenGroups)
    n_strips = len(np.unique(way.start))
    size = np.diff(way.start, append=len(way.table))
    assert (way.patterns.dtype == np.int8) != grouped
    assert size.max() > 128 if grouped else (size.max() == 128 and len(way.start) == n_strips)
    np.testing.assert_array_equal(few, many.transpose(2, 1, 0)[:40])
    single = [tables.values_of_few(x[None]) for x in X[40:80]]
    np.testing.assert_array_equal(np.concatenate(single), many.transpose(2, 1, 0)[40:80])


def test_single_leaves_are_looked_up_by_two_means(monkeypatch):
    """Of several outputs, for few instances and for many, beside walks in pairs."""
    from skshapley._ensembles import _kept

    model, X = deep_forest(12, n=300, n_estimators=2)
    targets = np.column_stack([X[:, 0], X[:, 1] * X[:, 2], X[:, 3]])
    model.set_params(max_depth=10).fit(X, targets)
    solver = TreeValues(read_trees(model)).fit(X[:20])
    leaves = solver._make_leafwise()
    leaves.values(X[:11])  # from now on there are tables
    assert any(chunk.is_single_leaves for _, chunk in leaves.tables.chunks)
    assert leaves.is_complete
    monkeypatch.setattr(_kept, "FEW_ENTRIES", 1 << 30)
    few = leaves.tables.values_of_few(X[:30])
    monkeypatch.setattr(_kept, "FEW_ENTRIES", -1)
    np.testing.assert_array_equal(leaves.values(X[:30]).transpose(2, 1, 0), few)
    walked = np.concatenate(solver._in_pairs(solver._frontier.values, X[:30]), axis=-1)
    np.testing.assert_allclose(few, walked.transpose(2, 1, 0), atol=1e-13)


@pytest.mark.parametrize("index", ["shapley", "banzhaf"])
@pytest.mark.parametrize("b", [1, 40])
@pytest.mark.parametrize("name", ["xgboost, classes", "random forest, classes", "lightgbm"])
def test_first_rows_have_the_bits_of_tables(fitted, name, b, index, monkeypatch):
    """The first rows are folded from the laws of the leaves, before there is a table."""
    from skshapley._ensembles import _first_rows, _kept, _leafwise

    monkeypatch.setattr(_leafwise, "MAX_BITS", 3)
    monkeypatch.setattr(_first_rows, "BATCH", 64)
    model, X = fitted(name)
    trees = read_trees(model)
    X = trees.to_matrix(X[:60])
    solver = TreeValues(trees, index=index).fit(X[:b], np.arange(1.0, b + 1))
    tables, one = solver._leaves().tables, solver.values(X[-1:])
    several = solver.values(X[1 : _kept.FEW_ROWS - 1])
    assert tables.tables is None
    assert len({chunk.is_single_leaves for _, chunk in tables.chunks}) == 2
    every = solver.values(X)
    assert tables.tables is not None
    first = np.concatenate([one, several])
    np.testing.assert_array_equal(first, every[[-1, *range(1, _kept.FEW_ROWS - 1)]])
    np.testing.assert_array_equal(solver.values(X[-1:]), one)


@pytest.mark.parametrize("index", ["shapley", "banzhaf"])
@pytest.mark.parametrize("players", PLAYERS)
@pytest.mark.parametrize("name", RECIPES)
def test_first_walks_have_the_bits_of_tables(fitted, name, players, index, monkeypatch):
    """Against references of equal and of other weights, one of them nothing."""
    from skshapley._ensembles import _costs

    monkeypatch.setattr(_costs, "FIRST_LEAF_NS", 1e12)
    monkeypatch.setattr(_costs, "PAIRS_WORTH_TABLES", 1e12)
    model, X = fitted(name)
    trees = read_trees(model)
    X = trees.to_matrix(X[:60])
    for weights in (None, np.linspace(0.0, 1.0, 9)):
        solver = TreeValues(trees, PLAYERS[players], index).fit(X[:9], weights)
        one, several = solver.values(X[20:21]), solver.values(X[21:25])
        assert solver._leafwise is None
        every = solver.values(X)
        assert solver._leafwise.tables.tables is not None
        np.testing.assert_array_equal(np.concatenate([one, several]), every[20:25])
        np.testing.assert_allclose(solver.base_values, solver._leafwise.base_values, rtol=1e-13)


@pytest.mark.parametrize("n_small", [1, 10])
def test_deep_leaves_have_tables_where_they_are_few(n_small, monkeypatch):
    from skshapley._ensembles import _leafwise, concatenate

    monkeypatch.setattr(_leafwise, "MOST_KEPT_BITS", 7)
    (deep, X), (small, _) = chain(8), chain(7)
    small = replace(small, n_features=8)
    leaves = TreeValues(concatenate([deep] + n_small * [small])).fit(X)._make_leafwise()
    assert leaves.is_complete == (n_small == 10)


@pytest.mark.parametrize(
    "model",
    [
        RandomForestRegressor(2),
        lightgbm.LGBMRegressor(n_estimators=2, verbose=-1),
        xgb(max_depth=3),
    ],
    ids=["forest", "lightgbm", "xgboost"],
)
def test_trees_that_ask_nothing(model):
    X = np.arange(30.0)[:, None] * [1.0, -1.0]
    trees = read_trees(model.fit(X, np.full(30, 2.0)))
    solver = TreeValues(trees).fit(X[:3])
    np.testing.assert_allclose(solver.base_values, 2.0)
    assert not solver.values(X).any()
    assert not solver.interactions(X).any()
    assert not TreeValues(trees).fit_path_dependent().values(X).any()
