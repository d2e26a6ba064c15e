"""Pairs that walk down the trees, against the definition, the tables, and a closed form."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestRegressor

from skshapley._ensembles import _frontier, _walks
from skshapley._ensembles._codes import plan_codes
from skshapley._ensembles._frontier import Frontier
from skshapley._ensembles._plain_codes import plan_plain_codes
from skshapley._ensembles._values import TreeValues
from skshapley.trees import read_trees

from .conftest import RECIPES, game_values, shapley_by_definition
from .test_values import PLAYERS, chain, references


def make(trees, players=None, index="shapley", plan=plan_codes):
    """A frontier, and the codes of rows that it takes."""
    players = np.arange(trees.n_features) if players is None else players
    codes = plan(trees)
    return Frontier.of(trees, codes, players, players.max() + 1, index), codes


@pytest.mark.parametrize("index", ["shapley", "banzhaf"])
@pytest.mark.parametrize("players", PLAYERS)
@pytest.mark.parametrize("name", RECIPES)
def test_equal_to_the_definition(fitted, name, players, index):
    model, X = fitted(name)
    trees, players = read_trees(model), PLAYERS[players]
    background, weights = references(X)
    weights /= weights.sum()
    frontier, codes = make(trees, players, index)
    rows, others = codes(trees.to_matrix(X[:2])), codes(trees.to_matrix(background))
    ours = frontier.values(rows, others, weights).transpose(2, 1, 0)
    apart = frontier.values_by_reference(rows, others)
    np.testing.assert_allclose(np.einsum("rbpk,b->rpk", apart, weights), ours, atol=1e-13)
    for x, values, singles in zip(X[:2], ours, apart, strict=True):
        v = game_values(trees.raw_response, x, background, weights, players)
        tolerance = 1e-6 * np.abs(v).max() if trees.strict else 1e-12 * max(1, np.abs(v).max())
        expected = shapley_by_definition(v, index == "banzhaf")
        np.testing.assert_allclose(values, expected, rtol=0, atol=tolerance)
        v = game_values(trees.raw_response, x, background[3:4], np.ones(1), players)
        expected = shapley_by_definition(v, index == "banzhaf")
        np.testing.assert_allclose(singles[3], expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("d", [6, 60])
def test_levels_and_ranks_change_no_bit(d):
    """Many pairs walk through nodes that lie level by level; ranks and values answer alike."""
    X, y = make_friedman1(300, d, noise=1.0, random_state=0)
    trees = read_trees(RandomForestRegressor(3, random_state=0).fit(X, y))
    frontier, codes = make(trees)
    ranked = frontier.values(codes(X[:5]), codes(X[5:15]), np.full(10, 0.1))
    in_levels = frontier.in_levels()
    assert in_levels.layout.children is None
    walked = in_levels.values(codes(X[:5]), codes(X[5:15]), np.full(10, 0.1))
    np.testing.assert_array_equal(walked, ranked)
    frontier, plain = make(trees, plan=plan_plain_codes)
    walked = frontier.values(plain(X[:5]), plain(X[5:15]), np.full(10, 0.1))
    np.testing.assert_array_equal(walked, ranked)


@pytest.mark.parametrize("d", [6, 12, 30, 60])
def test_equal_to_the_tables_of_grown_trees(d, monkeypatch):
    """Masks of one, two and four bytes for each side, and of places on the path."""
    monkeypatch.setattr("skshapley._ensembles._paths.LEAVES", 50)
    X, y = make_friedman1(300, d, noise=1.0, random_state=0)
    trees = read_trees(RandomForestRegressor(3, random_state=0).fit(X, y))
    weights = np.random.default_rng(0).dirichlet(np.ones(40))
    frontier, codes = make(trees)
    ours = frontier.values(codes(X[100:120]), codes(X[:40]), weights).transpose(2, 1, 0)
    expected = TreeValues(trees).fit(X[:40], weights).values(X[100:120])
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("depth", [31, 32, 33, 64, 65, 150])
def test_masks_of_several_words(depth):
    """v(S) is the square of the length of the first run in S: a sum of unanimity games."""
    trees, X = chain(depth)
    frontier, codes = make(trees)
    assert frontier.layout.n_words == 1 + (depth - 1) // 32
    rows = np.concatenate([X[[depth // 2]], np.ones((1, depth))])
    values = frontier.values(codes(rows), codes(np.zeros((1, depth))), np.ones(1))[0].T
    m = np.arange(1.0, depth + 1)
    shares = (2 * m - 1) / m
    np.testing.assert_allclose(values[1], shares[::-1].cumsum()[::-1], rtol=1e-12)
    half = np.where(m <= depth // 2, shares, 0.0)
    np.testing.assert_allclose(values[0], half[::-1].cumsum()[::-1], rtol=1e-12)
    np.testing.assert_array_equal(values[0, depth // 2 :], 0.0)


@pytest.mark.parametrize("name", ["xgboost, classes", "random forest, classes", "random forest"])
def test_same_bits_in_any_blocks(fitted, name, monkeypatch):
    model, X = fitted(name)
    trees = read_trees(model)
    frontier, codes = make(trees)
    X = codes(trees.to_matrix(X))
    weights = np.random.default_rng(0).dirichlet(np.ones(30))
    whole = frontier.values(X[:, 30:50], X[:, :30], weights)
    apart = frontier.values_by_reference(X[:, 30:50], X[:, :30])
    for i in (30, 37):
        alone = frontier.values(X[:, [i]], X[:, :30], weights)
        np.testing.assert_array_equal(alone[..., 0], whole[..., i - 30])
    monkeypatch.setattr(_walks, "WALKING", 7)
    monkeypatch.setattr(_walks, "ENDED_SHARE", 0.5)
    monkeypatch.setattr(_frontier, "STARTS", 100)
    np.testing.assert_array_equal(frontier.values(X[:, 30:50], X[:, :30], weights), whole)
    np.testing.assert_array_equal(frontier.values_by_reference(X[:, 30:50], X[:, :30]), apart)


def test_many_references_in_pieces(fitted, monkeypatch):
    model, X = fitted("lightgbm, classes")
    frontier, codes = make(read_trees(model))
    X = codes(X)
    apart = frontier.values_by_reference(X[:, :5], X[:, 5:28])
    monkeypatch.setattr(_frontier, "REFERENCES", 9)
    np.testing.assert_array_equal(frontier.values_by_reference(X[:, :5], X[:, 5:28]), apart)
    values = frontier.values(X[:, :5], X[:, 5:28], np.full(23, 1 / 23))
    np.testing.assert_allclose(values.transpose(2, 1, 0), apart.mean(axis=1), atol=1e-12)


def test_trees_that_ask_nothing():
    X = np.zeros((20, 3))
    trees = read_trees(RandomForestRegressor(2).fit(X, np.arange(20.0)))
    frontier, codes = make(trees)
    assert not frontier.values(codes(X), codes(X[:3]), np.full(3, 1 / 3)).any()
    assert frontier.values_by_reference(codes(X), codes(X[:3])).shape == (20, 3, 3, 1)
