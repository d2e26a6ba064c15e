"""Samplers on a graph, compared with their definitions by enumeration."""

from itertools import chain, combinations
from math import comb

import networkx as nx
import numpy as np
import pytest

from skshapley import shapley_values
from skshapley.samplers import (
    ConnectedRegression,
    ConnectedShapley,
    LocalPermutations,
    LocalShapley,
    Myerson,
    SamplerTask,
)
from skshapley.testing import brute_force

NETWORKS = {
    "chain": nx.path_graph(7),
    "ring": nx.cycle_graph(7),
    "grid": nx.convert_node_labels_to_integers(nx.grid_2d_graph(3, 3)),
    "star": nx.star_graph(6),
    "random": nx.gnp_random_graph(8, 0.35, seed=3),
    "apart": nx.disjoint_union(nx.path_graph(3), nx.cycle_graph(4)),
    "complete": nx.complete_graph(5),
}
SAMPLERS = [LocalShapley, ConnectedShapley, ConnectedRegression]
TOLERANCE = dict(rtol=0, atol=1e-12)
on_every_graph = pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
of_every_order = pytest.mark.parametrize("order", [1, 2, 3, 8])


class Table:
    """A game of given values, indexed by the bits of the coalition; it counts its evaluations."""

    def __init__(self, worth):
        self.worth, self.asked = np.asarray(worth), []

    def __call__(self, coalitions):
        masks = coalitions @ (1 << np.arange(coalitions.shape[1]))
        self.asked.extend(masks.tolist())
        return self.worth[masks]

    def of(self, players):
        return self.worth[sum(1 << player for player in players)]


def random_game(p, seed=0):
    return Table(np.random.default_rng(seed).normal(size=2**p))


def components(network, players):
    return [tuple(c) for c in nx.connected_components(network.subgraph(players))]


def on_components(network, game):
    """The sum over components of a coalition of their worth beyond v(empty)."""
    p, nothing = len(network), game.of(())
    coalitions = [[j for j in range(p) if mask >> j & 1] for mask in range(2**p)]
    worth = [
        sum(game.of(c) - nothing for c in components(network, s)) for s in coalitions
    ]
    return Table(np.array(worth) + nothing)


def additive_game(p, seed=1):
    a = np.random.default_rng(seed).normal(size=p)
    masks = np.arange(2**p)
    return Table(((masks[:, None] >> np.arange(p)) & 1) @ a + 0.7), a


def neighbourhood(network, node, order):
    return sorted(nx.single_source_shortest_path_length(network, node, cutoff=order))


def subsets(players):
    return chain.from_iterable(
        combinations(players, s) for s in range(len(players) + 1)
    )


def shapley_weight(n, size):
    """The weight of the marginal contribution that completes a coalition of that size."""
    return 1 / (n * comb(n - 1, size - 1))


def explain(game, sampler, p):
    return shapley_values(game, n_players=p, sampler=sampler, max_evals=2**p).values


@pytest.mark.thinned
@on_every_graph
@of_every_order
def test_local_values_are_shapley_values_of_the_neighbourhood(network, order):
    p = len(network)
    game = random_game(p)
    expected = []
    for node in range(p):
        members = neighbourhood(network, node, order)
        restricted = Table(
            [game.of(np.array(members)[list(s)]) for s in _by_mask(len(members))]
        )
        expected.append(brute_force(restricted, len(members))[members.index(node)])
    values = explain(game, LocalShapley(network, order), p)
    np.testing.assert_allclose(values, expected, **TOLERANCE)


def _by_mask(n):
    return [[j for j in range(n) if mask >> j & 1] for mask in range(2**n)]


@pytest.mark.thinned
@on_every_graph
@of_every_order
def test_connected_weights_sum_over_sets_with_the_same_component(network, order):
    # the coefficient by its meaning: the Shapley weights, in the neighbourhood, of all
    # coalitions in which U is the component of the player
    p = len(network)
    game = random_game(p, seed=2)
    expected = np.zeros(p)
    for node in range(p):
        members = neighbourhood(network, node, order)
        total = 0.0
        for coalition in subsets(members):
            if node in coalition:
                u = next(c for c in components(network, coalition) if node in c)
                weight = shapley_weight(len(members), len(coalition))
                expected[node] += weight * (game.of(u) - game.of(set(u) - {node}))
                total += weight
        assert total == pytest.approx(1, abs=1e-12)
    values = explain(game, ConnectedShapley(network, order), p)
    np.testing.assert_allclose(values, expected, **TOLERANCE)


@pytest.mark.thinned
@on_every_graph
@of_every_order
def test_connected_equals_local_on_decomposable_games(network, order):
    p = len(network)
    game = on_components(network, random_game(p, seed=3))
    connected = explain(game, ConnectedShapley(network, order), p)
    np.testing.assert_allclose(
        connected, explain(game, LocalShapley(network, order), p), **TOLERANCE
    )


@pytest.mark.thinned
@on_every_graph
@of_every_order
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_additive_games_are_exact(network, order, sampler):
    game, a = additive_game(len(network))
    np.testing.assert_allclose(
        explain(game, sampler(network, order), len(a)), a, **TOLERANCE
    )


@on_every_graph
def test_local_values_at_the_diameter_are_exact_shapley_values(network):
    p = len(network)
    game = random_game(p, seed=4)
    result = shapley_values(
        game, n_players=p, sampler=LocalShapley(network, p), max_evals=2**p
    )
    if nx.is_connected(network):
        np.testing.assert_allclose(result.values, brute_force(game, p), **TOLERANCE)
        np.testing.assert_array_equal(result.standard_errors, 0)
        assert result.converged
    else:
        assert result.standard_errors is None


@on_every_graph
def test_myerson_is_the_shapley_value_of_the_game_on_components(network):
    p = len(network)
    game = random_game(p, seed=5)
    restricted = on_components(network, game)
    values = explain(game, Myerson(network), p)
    np.testing.assert_allclose(values, brute_force(restricted, p), **TOLERANCE)
    for component in nx.connected_components(network):
        players = list(component)
        assert values[players].sum() == pytest.approx(
            game.of(players) - game.of(()), abs=1e-12
        )


@on_every_graph
def test_all_agree_with_shapley_on_decomposable_games(network):
    p = len(network)
    game = on_components(network, random_game(p, seed=6))
    expected = brute_force(game, p)
    for sampler in (
        LocalShapley(network, p),
        ConnectedShapley(network, p),
        Myerson(network),
    ):
        np.testing.assert_allclose(explain(game, sampler, p), expected, **TOLERANCE)


@pytest.mark.thinned
@on_every_graph
@pytest.mark.parametrize("order", [1, 3])
@pytest.mark.parametrize("balanced", [True, False])
def test_regression_is_weighted_least_squares_with_the_sum_exact(
    network, order, balanced
):
    p = len(network)
    game = random_game(p, seed=7)
    sets = [
        s
        for s in subsets(range(p))
        if 0 < len(s) <= order and len(s) < p and nx.is_connected(network.subgraph(s))
    ]
    rows = np.array([[j in s for j in range(p)] for s in sets], dtype=float)
    sizes = rows.sum(axis=1).astype(int)
    kernel = (p - 1) / (np.array([comb(p, s) for s in sizes]) * sizes * (p - sizes))
    if balanced:
        # all coalitions of a size share their weight among those of the size that are
        # listed
        share = np.array([comb(p, s) for s in sizes]) / np.bincount(sizes)[sizes]
        kernel = kernel * share
    y = np.array([game.of(s) for s in sets]) - game.of(())
    # Karush-Kuhn-Tucker system of the constrained problem
    system = np.block(
        [[rows.T * kernel @ rows, np.ones((p, 1))], [np.ones((1, p)), np.zeros((1, 1))]]
    )
    right = np.append(rows.T @ (kernel * y), game.of(range(p)) - game.of(()))
    expected = np.linalg.solve(system, right)[:p]
    values = explain(game, ConnectedRegression(network, order, balanced), p)
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-11)


def test_plans_are_cached_by_all_options():
    game = random_game(6, seed=11)
    values = [
        explain(game, ConnectedRegression("ring", 3, b), 6) for b in (True, False, True)
    ]
    np.testing.assert_array_equal(values[0], values[2])
    assert np.abs(values[0] - values[1]).max() > 1e-3
    orders = [explain(game, LocalShapley("ring", order), 6) for order in (1, 2, 1)]
    np.testing.assert_array_equal(orders[0], orders[2])
    assert np.abs(orders[0] - orders[1]).max() > 1e-3
    assert np.abs(explain(game, LocalShapley("chain", 1), 6) - orders[0]).max() > 1e-3


@pytest.mark.parametrize("balanced", [True, False])
def test_regression_over_all_coalitions_is_shapley(balanced):
    game = random_game(6, seed=8)
    values = explain(game, ConnectedRegression(nx.complete_graph(6), 6, balanced), 6)
    np.testing.assert_allclose(values, brute_force(game, 6), rtol=0, atol=1e-11)


def test_regression_on_a_grid_evaluates_squares():
    sampler = ConnectedRegression(("grid", (3, 4)), order=3)
    design = sampler.start(SamplerTask(12, [], 10**6)).ask(np.arange(1), 10**6)
    squares = {
        tuple((r + i) * 4 + c + j for i in range(side) for j in range(side))
        for side in (1, 2, 3)
        for r in range(4 - side)
        for c in range(5 - side)
    }
    listed = {tuple(np.flatnonzero(row).tolist()) for row in design.coalitions[0]}
    assert listed == squares | {(), tuple(range(12))}


def line_local(d, k):
    return 4**k * (d - 2 * k + 1) + 1


def line_connected(d, k):
    """Intervals of up to 2k + 1 players, and two of up to k around one player; with both ends."""
    intervals = sum(d - length + 1 for length in range(1, 2 * k + 2))
    return intervals + sum(min(k, i) * min(k, d - 1 - i) for i in range(d)) + 2


@pytest.mark.parametrize(
    ("sampler", "cost"),
    [
        (LocalShapley("chain", 1), 4 * 30 - 3),
        (LocalShapley("chain", 3), line_local(30, 3)),
        (LocalShapley("ring", 2), 4**2 * 30 + 2),
        (LocalShapley(("grid", (5, 6)), 1), None),
        (ConnectedShapley("chain", 1), line_connected(30, 1)),
        (ConnectedShapley("chain", 4), line_connected(30, 4)),
        (ConnectedShapley("ring", 2), 30 * (2 * 2 + 1 + 2 * 2) + 2),
        (ConnectedRegression("chain", 4), 4 * 30 - 4 * 3 // 2 + 2),
        (ConnectedRegression("ring", 4), 4 * 30 + 2),
        (ConnectedRegression(("grid", (5, 6)), 3), 30 + 4 * 5 + 3 * 4 + 2),
        (Myerson("chain"), 30 * 31 // 2 + 1),
        (Myerson("ring"), 30 * 29 + 2),
    ],
)
def test_cost_agrees_with_formula_and_evaluations(sampler, cost):
    asked = []

    def game(coalitions):
        asked.extend(row.tobytes() for row in coalitions)
        return coalitions.any(axis=1)

    if cost is not None:
        assert sampler.n_evaluations(30) == cost
    cost = sampler.n_evaluations(30)
    result = shapley_values(game, n_players=30, sampler=sampler, max_evals=cost)
    assert result.n_evaluations == cost == len(asked) == len(set(asked))


@pytest.mark.parametrize(("shape", "order"), [((4, 5), 1), ((5, 5), 2), ((2, 3, 4), 1)])
def test_local_cost_on_a_grid_is_the_number_of_distinct_coalitions(shape, order):
    network = nx.convert_node_labels_to_integers(nx.grid_graph(shape[::-1]))
    p = len(network)
    distinct = set()
    for node in network:
        distinct.update(subsets(neighbourhood(network, node, order)))
    assert LocalShapley(("grid", shape), order).n_evaluations(p) == len(distinct) + 1


def test_local_cost_on_a_large_grid_is_23_coalitions_a_pixel():
    # subsets of a pixel and its neighbours, different up to translation: 1 + 6 + 10 + 5
    # + 1
    costs = {
        n: LocalShapley(("grid", (n, n)), 1).n_evaluations(n * n) for n in (20, 40, 60)
    }
    # quadratic in the side, so that the second difference of cost tells the coefficient
    # of n^2
    assert costs[60] - 2 * costs[40] + costs[20] == 23 * 2 * 20**2


def test_two_stars_with_common_nodes():
    # neighbourhoods of a star's leaves lie in the centre's: 2^p coalitions in all
    network = nx.star_graph(6)
    assert LocalShapley(network, 1).n_evaluations(7) == 2**7


@pytest.mark.parametrize(
    ("sampler", "message"),
    [
        (
            LocalShapley(order=3),
            r"LocalShapley\(order=3\) on 40 players needs 2241 .* choose order=2, raise",
        ),
        (
            ConnectedShapley(order=9),
            r"choose order=\d, raise the budget",
        ),
        (
            ConnectedRegression(order=30),
            "choose order=19, raise the budget",
        ),
        (Myerson(), r"Myerson\(\) on 40 players needs 821 evaluations"),
        (LocalShapley(("grid", (5, 8)), 1), "that the budget allows: raise the budget"),
        (LocalShapley(order=20), "needs more than"),
    ],
)
def test_expensive_orders_are_refused_before_the_game_is_called(sampler, message):
    def never(coalitions):
        raise RuntimeError("called")

    with pytest.raises(ValueError, match=message):
        shapley_values(never, n_players=40, sampler=sampler, max_evals=597)


@pytest.mark.parametrize("order", [0, -1, 1.5, True, None, "2"])
def test_orders_are_positive_ints(order):
    with pytest.raises(ValueError, match="takes order as a positive int"):
        shapley_values(
            lambda S: S.any(axis=1), n_players=4, sampler=LocalShapley(order=order)
        )


def test_a_graph_of_another_size_is_refused_before_the_game_is_called():
    def never(coalitions):
        raise RuntimeError("called")

    with pytest.raises(ValueError, match="for 4 players"):
        shapley_values(never, n_players=4, sampler=Myerson(nx.path_graph(5)))


def test_hopeless_orders_are_refused_quickly():
    # found without listing: 2^39 subsets of one neighbourhood, and more connected sets
    # than atoms
    with pytest.raises(ValueError, match="needs more than"):
        LocalShapley(("grid", (20, 20)), 20).afford(4 * 400, 400, 1)
    with pytest.raises(ValueError, match="needs more than"):
        ConnectedShapley(("grid", (20, 20)), 20).afford(4 * 400, 400, 1)


def test_printed_coefficients_would_shrink_additive_games():
    # Chen et al. Definition 2 as printed, on a long line: what it leaves of an additive
    # game
    def printed(k):
        ends = [(left, right) for left in range(k + 1) for right in range(k + 1)]
        sizes = [left + right + 1 for left, right in ends]
        return sum(2 / (u * (u + 1) * (u + 2)) for u in sizes)

    shares = [printed(k) for k in (1, 2, 4, 8, 16)]
    np.testing.assert_allclose(shares, [0.533, 0.643, 0.758, 0.853, 0.918], atol=6e-4)
    design = (
        ConnectedShapley("chain", 1)
        .start(SamplerTask(9, [], 10**6))
        .ask(np.arange(1), 10**6)
    )
    inner = design.weights[[4]].toarray().ravel()
    assert inner[inner > 0].sum() == pytest.approx(1, abs=1e-12)


def local_walks(game, p, **kwargs):
    return shapley_values(
        game, n_players=p, sampler=LocalPermutations("ring", 2), **kwargs
    )


def test_local_permutations_estimate_local_with_honest_errors():
    # z-scores of 40 runs x 8 players: the mean square has a standard deviation below
    # 0.12
    p, game = 8, random_game(8, seed=9)
    expected = explain(game, LocalShapley("ring", 2), p)
    z = []
    for seed in range(40):
        result = local_walks(game, p, max_evals=40 * 4 * p + 2, random_state=seed)
        z.append((result.values - expected) / result.standard_errors)
    z = np.array(z)
    assert abs(z.mean()) < 5 / np.sqrt(z.size / 2)
    assert 0.75 < (z**2).mean() < 1.35


def test_local_permutations_of_the_whole_graph_estimate_shapley():
    # one run of 500 pairs of rounds: |z| of 6 players all below 4.5 (false alarm 4e-5)
    game = random_game(6, seed=10)
    sampler = LocalPermutations("chain", 5)
    result = shapley_values(
        game,
        n_players=6,
        sampler=sampler,
        max_evals=12000,
        random_state=0,
        solver="auto",
    )
    z = (result.values - brute_force(game, 6)) / result.standard_errors
    assert np.abs(z).max() < 4.5


def test_local_permutations_stay_inside_neighbourhoods():
    sampler = LocalPermutations(("grid", (3, 4)), 1)
    design = sampler.start(SamplerTask(12, [np.random.default_rng(0)], 6)).ask(
        np.arange(1), 6
    )
    network = nx.convert_node_labels_to_integers(nx.grid_2d_graph(3, 4))
    pairs = design.coalitions.reshape(6, 12, 2, 12)
    for player in range(12):
        without, joined = pairs[:, player, 0], pairs[:, player, 1]
        near = neighbourhood(network, player, 1)
        assert set(np.flatnonzero(without.any(axis=0))) <= set(near) - {player}
        np.testing.assert_array_equal(
            joined ^ without, np.eye(12, dtype=bool)[[player] * 6]
        )
        # a round and its reverse: each neighbour comes before the player in just one of
        # the two
        both = without.reshape(3, 2, 12).sum(axis=1)
        others = [node for node in near if node != player]
        np.testing.assert_array_equal(both[:, others], 1)


def test_local_permutations_need_a_pair_of_rounds():
    with pytest.raises(ValueError, match="needs at least 34 evaluations"):
        local_walks(lambda S: S.any(axis=1), 8, max_evals=33)
    assert local_walks(lambda S: S.any(axis=1), 8, max_evals=34).n_evaluations <= 34
