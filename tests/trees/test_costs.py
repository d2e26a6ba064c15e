"""Which way calls go, and the counts behind that."""

import numpy as np
import pytest
import sklearn
from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestRegressor

from skshapley.trees import read_trees

from .conftest import tree_values, xgb
from .test_values import chain, deep_forest


def costs_of(model):
    return tree_values(read_trees(model))._costs


def test_small_trees_use_tables_except_for_tiny_backgrounds():
    X, y = make_friedman1(300, 10, random_state=0)
    costs = costs_of(xgb(max_depth=5).fit(X, y))
    assert [costs.keeps_tables(b) for b in (1, 100, 10_000, None)] == [
        False,
        True,
        True,
        True,
    ]


def test_tables_of_fit_do_not_depend_on_the_rows():
    """No bit depends on the rows that come with one."""
    X, y = make_friedman1(300, 10, random_state=0)
    solver = tree_values(read_trees(xgb(max_depth=5).fit(X, y))).fit(X[:200])
    np.testing.assert_array_equal(solver.values(X[:1]), solver.values(X)[:1])


def test_deep_trees_use_tables_for_many_rows():
    model, X = deep_forest(20, n=1500, n_estimators=2)
    costs = costs_of(model)
    assert costs.prefers_pairs(3, 50)
    assert not costs.prefers_pairs(100_000, 1_000)
    assert costs.prefers_pairs(1500, 1)
    solver = tree_values(read_trees(model)).fit(X[:50])
    many = solver.values(np.tile(X, (3, 1)))
    np.testing.assert_allclose(solver.values(X[:3]), many[:3], atol=1e-12)


def test_leaf_counts_are_correct():
    model, _ = deep_forest(12, n=300, n_estimators=2)
    assert costs_of(model).leaves.sum() == sum(
        t.tree_.n_leaves for t in model.estimators_
    )


def test_paths_with_many_players_use_no_tables():
    trees, _ = chain(65)
    costs = tree_values(trees)._costs
    for b in (10**9, None):
        assert not costs.keeps_tables(b)
        assert costs.prefers_pairs(10**9, b)
        assert costs.interacts_in_pairs(10**9, b)


def visits_of(trees, x, r, node, decided):
    """Count the nodes at or below one that some coalition of a row and a reference reaches."""
    if trees.left[node] < 0:
        return 1
    feature = trees.feature[node]
    sides = {"present": x, "absent": r}
    ways = {
        side: trees.left[node]
        if row[feature] <= trees.threshold[node]
        else trees.right[node]
        for side, row in sides.items()
    }
    if ways["present"] == ways["absent"]:
        return 1 + visits_of(trees, x, r, ways["present"], decided)
    if feature in decided:
        return 1 + visits_of(trees, x, r, ways[decided[feature]], decided)
    return 1 + sum(
        visits_of(trees, x, r, way, {**decided, feature: side})
        for side, way in ways.items()
    )


@pytest.mark.parametrize("d", [6, 30])
@pytest.mark.parametrize("depth", [3, 6, None])
def test_visited_nodes_agree_with_the_estimate(depth, d):
    """Pairs visit 0.5 to 2 times the nodes that the covers let expect: here 0.6 to 1.0."""
    X, y = make_friedman1(500, d, noise=1.0, random_state=0)
    trees = read_trees(
        RandomForestRegressor(5, max_depth=depth, random_state=0).fit(X, y)
    )
    X, _ = make_friedman1(20, d, random_state=1)
    counted = np.mean(
        [
            visits_of(trees, x, r, root, {})
            for x in X[:10]
            for r in X[10:]
            for root in trees.roots
        ]
    )
    assert 0.5 < counted * trees.n_trees / tree_values(trees)._costs.visits < 2


def test_little_memory_uses_no_tables():
    X, y = make_friedman1(300, 10, random_state=0)
    costs = costs_of(xgb(max_depth=5).fit(X, y))
    with sklearn.config_context(working_memory=1e-6):
        assert not costs.keeps_tables(100)
        assert not costs.keeps_pairs
    assert costs.keeps_tables(100)
    assert costs.keeps_pairs


def test_tables_are_made_when_single_rows_have_cost_as_much():
    """All rows of a service count, and the values agree to rounding."""
    model, X = deep_forest(20, n=1500, n_estimators=2)
    solver = tree_values(read_trees(model)).fit(X[:50])
    assert solver._tables is None
    first = solver.values(X[:1])
    for _ in range(30):
        solver.values(X[:100])
    assert solver._tables is not None
    np.testing.assert_allclose(solver.values(X[:1]), first, rtol=0, atol=1e-12)
    fresh = tree_values(read_trees(model)).fit(X[:50])
    np.testing.assert_array_equal(
        fresh.values(np.tile(X, (2, 1)))[:1], solver.values(X[:1])
    )


def test_many_rows_against_one_background_row_have_the_same_bits_alone():
    X, y = make_friedman1(300, 10, random_state=0)
    solver = tree_values(read_trees(xgb(max_depth=5).fit(X, y))).fit(X[:1])
    together = solver.values(X[:100])
    assert solver._tables is None
    np.testing.assert_array_equal(solver.values(X[5:6]), together[5:6])
