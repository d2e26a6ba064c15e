"""Which way calls go, and what the counts behind that are worth."""

import numpy as np
import pytest
import sklearn
from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestRegressor

from skshapley._ensembles import _costs, _walks
from skshapley._ensembles._leafwise import Leafwise
from skshapley._ensembles._values import TreeValues
from skshapley.trees import read_trees

from .conftest import xgb
from .test_values import chain, deep_forest


@pytest.fixture
def ways(monkeypatch):
    """The ways that calls take, in their order."""
    taken = []
    for kind, name in ((Leafwise, "values"), (TreeValues, "_in_pairs")):
        way = getattr(kind, name)

        def noting(self, *given, way=way, kind=kind):
            taken.append("leaves" if kind is Leafwise else "pairs")
            return way(self, *given)

        monkeypatch.setattr(kind, name, noting)
    return taken


@pytest.mark.parametrize("n_references", [1, 200])
def test_small_trees_always_have_tables(ways, n_references):
    """No bit depends on the instances that come with one, though the first of few walk."""
    X, y = make_friedman1(300, 10, random_state=0)
    solver = TreeValues(read_trees(xgb(max_depth=5).fit(X, y))).fit(X[:n_references])
    assert (solver._leafwise is None) == (n_references == 1)
    one, many = solver.values(X[:1]), solver.values(X)
    assert ways == ["leaves"] * (1 + (n_references > 1))
    assert solver._leafwise.is_complete
    np.testing.assert_array_equal(one, many[:1])


def test_grown_trees_have_tables_where_many_pairs_are_worth_them(ways):
    model, X = deep_forest(20, n=1500, n_estimators=2)
    solver = TreeValues(read_trees(model)).fit(X[:50])
    few = solver.values(X[:3])
    assert ways == ["pairs"]
    assert solver._leafwise is None
    many = solver.values(np.tile(X, (3, 1)))
    assert ways[1:] == ["leaves"]
    np.testing.assert_allclose(few, many[:3], atol=1e-12)
    # The tables are there now, and do not change what the next call does.
    np.testing.assert_array_equal(solver.values(X[:3]), few)
    assert ways[2:] == ["pairs"]


def test_one_reference_is_walked_against(ways):
    model, X = deep_forest(30, n=1500, n_estimators=2)
    TreeValues(read_trees(model)).fit(X[:1]).values(X)
    assert ways == ["pairs"]


def test_costs_grow_with_instances_and_references():
    model, _ = deep_forest(12, n=300, n_estimators=2)
    costs = TreeValues(read_trees(model))._costs
    assert costs.leaves.sum() == sum(tree.tree_.n_leaves for tree in model.estimators_)
    for way in (costs.by_pairs, costs.by_leaves):
        prices = np.array([[way(r, b) for b in (1, 10, 1_000)] for r in (1, 10, 1_000)])
        assert (np.diff(prices, axis=0) > 0).all()
        assert (np.diff(prices, axis=1) >= 0).all()
    assert costs.prefers_pairs(1, 1)
    assert not costs.prefers_pairs(100_000, 1_000)


def test_some_trees_stand_for_all(monkeypatch):
    """A fifth of 40 trees tells what all of them cost, to 10 %."""
    model, _ = deep_forest(12, n=300, n_estimators=40)
    trees = read_trees(model)
    monkeypatch.setattr(_costs, "COUNTED_NODES", trees.n_nodes)
    every = _costs.count_costs(trees, np.arange(12))
    monkeypatch.setattr(_costs, "COUNTED_NODES", trees.n_nodes // 5)
    some = _costs.count_costs(trees, np.arange(12))
    assert some.visits != every.visits
    np.testing.assert_allclose(some.visits, every.visits, rtol=0.1)
    np.testing.assert_allclose(some.by_leaves(9, 100), every.by_leaves(9, 100), rtol=0.1)


def test_paths_of_too_many_players_have_no_tables():
    trees, _ = chain(65)
    costs = TreeValues(trees)._costs
    assert not costs.has_tables
    assert not costs.makes_tables_first
    assert costs.prefers_pairs(10**9, 10**9)


@pytest.mark.parametrize("d", [6, 30])
@pytest.mark.parametrize("depth", [3, 6, None])
def test_visits_are_as_expected(depth, d, monkeypatch):
    """Pairs visit 0.5 to 2 times the nodes that the covers let expect: here 0.6 to 1.0."""
    X, y = make_friedman1(500, d, noise=1.0, random_state=0)
    trees = read_trees(RandomForestRegressor(5, max_depth=depth, random_state=0).fit(X, y))
    solver = TreeValues(trees)
    visits = []
    step = _walks._Walkers.step
    monkeypatch.setattr(_walks, "ENDED_SHARE", 0.0)
    monkeypatch.setattr(
        _walks._Walkers, "step", lambda self: visits.append(len(self.node)) or step(self)
    )
    X, _ = make_friedman1(60, d, random_state=1)
    solver.values_by_reference(X[:30], X[30:])
    counted = sum(visits) / 900
    assert 0.5 < counted / solver._costs.visits < 2


def test_little_memory_goes_the_cheaper_way(ways):
    X, y = make_friedman1(300, 10, random_state=0)
    with sklearn.config_context(working_memory=1e-6):
        solver = TreeValues(read_trees(xgb(max_depth=5).fit(X, y))).fit(X[:20])
        assert not solver._leafwise.is_complete
        solver.values(X[:1])
    assert ways == ["pairs"]
