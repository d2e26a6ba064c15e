"""Nested groups: Owen and Winter values against enumeration, sums of groups, clusters."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    ExtraTreesRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingRegressor,
)
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from skshapley import GlobalImportance, ShapleyExplainer, shapley_values
from skshapley.exceptions import UnreadableModelError
from skshapley.groups import by_correlation
from skshapley.indices import INDICES
from skshapley.readers import read_model
from skshapley.samplers import ExactNested, Nested
from skshapley.testing import RandomGame
from skshapley.trees import TreeExplainer

NAMES = ["age", "wage", "gain", "rooms", "town"]
GROUPS = {
    "person": {"age": ["age"], "income": {"wage": ["wage"], "gain": ["gain"]}},
    "home": {"rooms": ["rooms"]},
}
# numbers of the groups above each player, the outermost first; "town" has none
BY_POSITION = {
    "person": {"age": [0], "income": {"wage": [1], "gain": [2]}},
    "home": {"rooms": [3]},
}
LEVELS = np.array([[0, 0, 0, 1, 2], [3, 4, 4, 5, 6]])


def model(X):
    X = np.asarray(X)
    return X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] * X[:, 4] + np.sin(X[:, 1] * X[:, 4])


def keeps_together(order, level):
    """Whether the members of every group are adjacent in an order."""
    groups = level[list(order)]
    return (np.diff(groups) != 0).sum() == len(set(groups)) - 1


def mean_over_orders(game, p, levels):
    """The mean contributions over all orders that keep groups together, ``(p,)``."""
    orders = [
        order
        for order in permutations(range(p))
        if all(keeps_together(order, level) for level in levels)
    ]
    total = np.zeros(p)
    for order in orders:
        sets = np.zeros((p + 1, p), dtype=bool)
        for step, player in enumerate(order):
            sets[step + 1 :, player] = True
        total[list(order)] += np.diff(np.ravel(game(sets)))
    return total / len(orders)


@pytest.mark.parametrize("n_levels", [0, 1, 2])
def test_values_are_means_over_orders_that_keep_groups_together(n_levels):
    game, levels = RandomGame(5, 3), LEVELS[:n_levels]
    expected = mean_over_orders(game, 5, levels)
    result = shapley_values(
        game, n_players=5, sampler=Nested(levels), max_evals=40_000, random_state=0
    )
    # five values at four standard errors: one false alarm in 3,000 runs
    assert (np.abs(result.values - expected) < 4 * result.standard_errors).all()
    assert (result.standard_errors < 0.03 * np.ptp(expected)).all()


@pytest.mark.parametrize("n_levels", [0, 1, 2])
def test_enumerated_values_are_exact(n_levels):
    game, levels = RandomGame(5, 3), LEVELS[:n_levels]
    result = shapley_values(
        game, n_players=5, sampler=ExactNested(levels), max_evals=32
    )
    expected = mean_over_orders(game, 5, levels)
    np.testing.assert_allclose(result.values, expected, atol=1e-13)
    assert not result.standard_errors.any()


def test_enumeration_leaves_out_coalitions_that_divide_two_groups():
    price = ExactNested([[0, 0, 1, 1, 2, 2]]).price(n_players=6, n_references=1)
    # eight unions of pairs, and three pairs to divide in two ways with four others; the
    # empty and the full coalition are known
    assert price.least == 8 + 3 * 2 * 4 - 2


@pytest.mark.parametrize("seed", range(20))
def test_the_number_of_coalitions_is_counted_without_a_list(seed):
    rng = np.random.default_rng(seed)
    levels = [np.zeros(rng.integers(3, 9), dtype=int)]
    for _ in range(rng.integers(0, 4)):
        parts = 10 * levels[-1] + rng.integers(0, 3, len(levels[-1]))
        levels.append(np.unique(parts, return_inverse=True)[1])
    levels = np.array(levels)
    p = levels.shape[1]
    sampler = ExactNested(levels)
    result = shapley_values(RandomGame(p), n_players=p, sampler=sampler, max_evals=2**p)
    assert result.n_evaluations == sampler.price(p, n_references=1).least + 2


@pytest.mark.parametrize("sampler", [ExactNested, Nested])
def test_groups_may_be_numbered_within_their_group(sampler):
    """Group 0 within "person" is another one than group 0 within "home"."""
    game, levels = RandomGame(5, 3), [LEVELS[0], [0, 1, 1, 0, 0]]
    result = shapley_values(
        game, n_players=5, sampler=sampler(levels), max_evals=20_000, random_state=0
    )
    expected = mean_over_orders(game, 5, LEVELS)
    error = 4 * result.standard_errors + 1e-12
    assert (np.abs(result.values - expected) < error).all()


def test_the_price_of_thousands_of_players_is_known():
    least = ExactNested([[0] * 3000]).price(3000, n_references=1).least
    assert least > 2**50  # and no list of coalitions was made


def test_a_sum_counts_the_costs_of_nested_trees():
    """Before `fit`, as its trees alone do; with the players that it was asked for."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(300, 5))
    forest = RandomForestRegressor(5, max_depth=6, random_state=0)
    both = VotingRegressor([("forest", forest), ("line", LinearRegression())])
    both.fit(table, model(table))
    alone = read_model(both.named_estimators_["forest"], "predict")
    total = read_model(both, "predict")
    players = np.arange(5)
    costs = []
    for levels in (None, LEVELS):
        for form in (alone, total):
            form.set_index(INDICES["shapley"], levels)
        cost = total.expected_cost(players, 100)
        assert cost == pytest.approx(alone.expected_cost(players, 100), rel=0.05)
        costs.append(cost)
    assert costs[1] > 1.05 * costs[0]


def test_levels_matter():
    game = RandomGame(5, 3)
    plain, owen, winter = (mean_over_orders(game, 5, LEVELS[:n]) for n in (0, 1, 2))
    assert np.abs(plain - owen).max() > 0.05 * np.ptp(plain)
    assert np.abs(owen - winter).max() > 0.01 * np.ptp(plain)


def test_explainers_give_winter_values_and_sums_of_groups():
    background, row = np.zeros((1, 5)), np.array([[1.0, 2.0, 0.5, -1.0, 1.5]])
    frames = (pd.DataFrame(table, columns=NAMES) for table in (background, row))
    background, row = frames

    def game(sets):
        return model(np.where(sets, row, background.to_numpy()))

    expected = mean_over_orders(game, 5, LEVELS)
    explainer = ShapleyExplainer(model, groups=GROUPS).fit(background)
    explanation = explainer.explain(row)
    assert list(explanation.feature_names) == NAMES
    np.testing.assert_allclose(explanation.values[0], expected, atol=1e-12)
    assert explanation.settings.method == "exact, by all coalitions"
    folded = explanation.folded(GROUPS)
    assert list(folded.feature_names) == ["person", "home", "town"]
    assert folded.data["person"].tolist() == ["age=1.0, wage=2.0, gain=0.5"]
    flat = {"person": ["age", "wage", "gain"]}
    quotient = ShapleyExplainer(model, groups=flat).fit(background).explain(row)
    np.testing.assert_allclose(folded.values, quotient.values, atol=1e-12)
    sampled = ShapleyExplainer(model, groups=GROUPS, max_rows=25, random_state=0)
    sampled = sampled.fit(background).explain(row)
    assert sampled.settings.sampler.startswith("Nested(")
    errors = sampled.folded(GROUPS).standard_errors
    assert (errors >= sampled.standard_errors.max()).any()
    second = explanation.folded(GROUPS, level=2)
    assert list(second.feature_names) == ["age", "income", "rooms", "town"]
    assert second.values.sum() == pytest.approx(explanation.values.sum())
    folded.plot.bar()


def test_any_groups_of_features_are_folded():
    """By name: one named like a member, equal names at two places, refits, and mistakes."""
    explainer = ShapleyExplainer(lambda X: X @ [1.0, 2.0, 4.0, 8.0])
    explanation = explainer.fit(np.zeros((1, 4))).explain(np.ones((2, 4)))
    fold = explanation.folded({"x0": ["x0", "x1"]}).to_frame()
    assert fold.iloc[0].to_dict() == {"x0": 3.0, "x2": 4.0, "x3": 8.0}
    twice = {"home": {"size": ["x0", "x1"]}, "work": {"size": ["x2"]}}
    fold = explanation.folded(twice, level=2).to_frame().iloc[0].to_dict()
    assert fold == {"home / size": 3.0, "work / size": 4.0, "x3": 8.0}
    refits = np.random.default_rng(0).normal(size=(2, 4, 5))
    fold = replace(explanation, refit_values=refits).folded({"first": ["x0", "x1"]})
    np.testing.assert_allclose(fold.refit_values[:, 0], refits[:, :2].sum(axis=1))
    assert fold.refit_errors.shape == fold.shape
    for groups, error, words in [
        ({"x3": ["x0", "x1"]}, ValueError, "the names of features outside them"),
        ({"first": ["x9"]}, ValueError, r"groups of the features \['x9'\]"),
        (["x0", "x1"], ValueError, r"takes groups as None or \{name"),
        ({"a": ["x0"]}, ValueError, "takes level as a positive int; got 0"),
    ]:
        with pytest.raises(error, match=words):
            explanation.folded(groups, level=0 if "got 0" in words else 1)


def test_clusters_of_an_array_are_folded():
    table = np.random.default_rng(0).normal(size=(50, 3))
    table[:, 2] = table[:, 0]
    groups = by_correlation(table, 2)
    explainer = ShapleyExplainer(lambda X: X @ [1.0, 2.0, 4.0], groups=groups)
    explanation = explainer.fit(table).explain(table[:2])
    fold = explanation.folded(groups)
    assert len(fold.feature_names) == 2
    np.testing.assert_allclose(fold.values.sum(axis=1), explanation.values.sum(axis=1))


def test_sums_over_columns_are_exact():
    table = np.random.default_rng(0).normal(size=(50, 5))
    linear = LinearRegression().fit(table, table @ np.arange(5.0))
    groups = {"first": {"a": [0], "b": [1, 2]}}
    explainer = ShapleyExplainer(linear, groups=groups).fit(table)
    assert explainer.exact_ is not None
    explanation = explainer.explain(table[:2])
    assert list(explanation.feature_names) == ["a", "b", "x3", "x4"]
    first = (table[:2] - table.mean(axis=0)) * np.arange(5.0)
    expected = np.column_stack([first[:, 0], first[:, 1:3].sum(axis=1), first[:, 3:]])
    np.testing.assert_allclose(explanation.values, expected, atol=1e-9)


def trees_game(trees, row, background):
    """The game of a model with one or more outputs, over background rows."""

    def game(sets):
        mixed = np.where(sets[:, None], row, background)
        predictions = np.reshape(trees(mixed.reshape(-1, 5)), (*mixed.shape[:2], -1))
        return predictions.mean(axis=1)

    return game


@pytest.mark.parametrize("kind", ["boosted", "forest", "sum"])
def test_trees_are_exact(kind):
    rng = np.random.default_rng(0)
    table = rng.normal(size=(300, 5))
    if kind == "boosted":
        trees = HistGradientBoostingRegressor(max_iter=20).fit(table, model(table))
        response = trees.predict
    elif kind == "sum":
        boosted = HistGradientBoostingRegressor(max_iter=20)
        trees = VotingRegressor([("boosted", boosted), ("line", LinearRegression())])
        response = trees.fit(table, model(table)).predict
    else:
        trees = RandomForestClassifier(10, max_depth=5, random_state=0)
        trees.fit(table, np.digitize(model(table), [-0.5, 0.5]))
        response = trees.predict_proba
    background, rows = table[:11], table[20:22]
    explainer = ShapleyExplainer(trees, groups=BY_POSITION).fit(background)
    explanation = explainer.explain(rows)
    assert explanation.settings.closed_form.startswith("trees")
    values = explanation.values.reshape(2, 5, -1)
    for row, of_row in zip(rows, values, strict=True):
        for output in range(of_row.shape[1]):
            expected = mean_over_orders(
                lambda sets, row=row, output=output: trees_game(
                    response, row, background
                )(sets)[:, output],
                5,
                LEVELS,
            )
            np.testing.assert_allclose(of_row[:, output], expected, atol=1e-12)
    single = explainer.exact_.references(rows, range(11))
    np.testing.assert_allclose(single.mean(axis=1), values, atol=1e-12)
    assert (explainer._way.background_errors(rows, None) > 0).any()
    if kind == "sum":
        return
    again = TreeExplainer(trees, groups=BY_POSITION, n_jobs=2).fit(background)
    np.testing.assert_array_equal(again.explain(rows).values, explanation.values)


def test_trees_on_the_training_data():
    table = np.random.default_rng(0).normal(size=(200, 5))
    tree = DecisionTreeRegressor(max_depth=5, random_state=0).fit(table, model(table))
    inner, row = tree.tree_, table[7]

    def expectation(node, present):
        left, right = inner.children_left[node], inner.children_right[node]
        if left < 0:
            return inner.value[node, 0, 0]
        feature = inner.feature[node]
        if present[feature]:
            goes_left = np.float32(row[feature]) <= inner.threshold[node]
            return expectation(left if goes_left else right, present)
        weights = inner.weighted_n_node_samples[[left, right]]
        children = [expectation(left, present), expectation(right, present)]
        return np.average(children, weights=weights)

    def game(sets):
        return np.array([expectation(0, present) for present in sets])

    explainer = TreeExplainer(
        tree, feature_perturbation="path_dependent", groups=BY_POSITION
    )
    explanation = explainer.fit(table).explain(row[None])
    expected = mean_over_orders(game, 5, LEVELS)
    np.testing.assert_allclose(explanation.values[0], expected, atol=1e-12)


def test_deep_trees_are_sampled():
    table = np.random.default_rng(0).normal(size=(3000, 12))
    trees = ExtraTreesRegressor(1, random_state=0).fit(table, table.prod(axis=1))
    groups = {"first": {"a": [0, 1], "b": [2]}}
    explainer = ShapleyExplainer(trees, groups=groups, max_rows=2000).fit(table[:20])
    assert explainer.explain(table[:1]).settings.closed_form is None
    with pytest.raises(UnreadableModelError, match="more than 10 players"):
        TreeExplainer(trees, groups=groups).fit(table[:20])


def test_other_methods_refuse_nested_groups():
    background = pd.DataFrame(np.zeros((2, 5)), columns=NAMES)
    explainer = ShapleyExplainer(model, groups=GROUPS, sampler="kernel")
    with pytest.raises(ValueError, match="leave both at"):
        explainer.fit(background)
    tree = DecisionTreeRegressor().fit(background, [0.0, 1.0])
    with pytest.raises(ValueError, match="nested groups and interactions"):
        ShapleyExplainer(model, groups=GROUPS, interactions=True).fit(background)
    with pytest.raises(ValueError, match='nested groups and index="banzhaf"'):
        TreeExplainer(tree, groups=GROUPS, index="banzhaf").fit(background)
    with pytest.raises(ValueError, match=r"such dicts in a dict; got \{'a': \[\]\}"):
        ShapleyExplainer(model, groups={"g": {"a": []}}).fit(background)
    with pytest.raises(ValueError, match="2 players for a game of 3"):
        shapley_values(RandomGame(3), sampler=Nested([[0, 0]]), max_evals=50)


def test_global_importance_keeps_groups_together():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(40, 5)), columns=NAMES)
    y = model(table)
    importance = GlobalImportance(
        model, loss="squared_error", groups=GROUPS, max_rows=100
    )
    explanation = importance.fit(table[:10]).explain(table[10:], y[10:])
    assert explanation.rows.settings.sampler.startswith("Nested")


def test_clusters_of_correlated_columns():
    rng = np.random.default_rng(0)
    size, mood = rng.normal(size=(2, 200))
    table = pd.DataFrame(
        {
            "weight": size + 0.1 * rng.normal(size=200),
            "mood": mood,
            "height": np.exp(size),
            "happy": np.where(mood > 0, "yes", "no"),
            "shoe": np.where(rng.random(200) < 0.1, np.nan, -size),
        }
    )
    groups = by_correlation(table, 2)
    assert [list(members) for members in groups.values()] == [
        ["weight", "height", "shoe"],
        ["mood", "happy"],
    ]
    assert len(by_correlation(table.to_numpy()[:, [0, 1, 2]].astype(float), 3)) == 3
    with pytest.raises(ValueError, match="n_groups"):
        by_correlation(table, 0)
    with pytest.raises(
        ValueError, match=r"by_correlation takes a table .* got 'a\.csv'"
    ):
        by_correlation("a.csv", 2)


def test_a_column_named_like_a_cluster_has_its_own_group():
    numbers = np.random.default_rng(0).normal(size=(50, 2))
    table = pd.DataFrame(numbers[:, [0, 0, 1]], columns=["a", "b", "a + b"])
    groups = by_correlation(table, 2)
    assert [*groups.values()] == [{"a": ["a"], "b": ["b"]}, {"a + b": ["a + b"]}]
    explainer = ShapleyExplainer(lambda X: X.sum(axis=1), groups=groups).fit(table)
    assert explainer.explain(table[:2]).feature_names.tolist() == ["a", "b", "a + b"]


@pytest.mark.parametrize("kind", ["date", "category"])
def test_dates_and_ordered_categories_have_ranks(kind):
    place = np.random.default_rng(0).permutation(60)
    if kind == "date":
        ordered = pd.Timestamp("2024-01-01") + pd.to_timedelta(place, "D")
    else:
        ordered = pd.Categorical(place // 6, range(10), ordered=True)
    table = pd.DataFrame({"place": place, "noise": place % 7, "ordered": ordered})
    assert next(iter(by_correlation(table, 2).values())).keys() == {"place", "ordered"}


def test_a_page_refuses_nested_groups(tmp_path):
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(100, 5)), columns=NAMES)
    trees = HistGradientBoostingRegressor(max_iter=3).fit(table, model(table))
    explainer = ShapleyExplainer(trees, groups=GROUPS).fit(table)
    explanation = explainer.explain(table[:2])
    with pytest.raises(ValueError, match="it explains groups of columns"):
        explanation.report(tmp_path / "page.html", what_if=explainer)
