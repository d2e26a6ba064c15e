"""Asymmetric values compared with all linear extensions, and tests of uniformity."""

from itertools import permutations

import networkx as nx
import numpy as np
import pytest
from scipy.stats import chi2

from skshapley import ShapleyExplainer, shapley_values
from skshapley.rewards import ConditionalReward
from skshapley.samplers import Antithetic, Herding, Ordered, _orders
from skshapley.samplers._orders import before_of, taken_apart
from skshapley.testing import RandomGame, as_instances, explain_game

# what they are, and how many linear extensions they have
ORDERS = {
    "none": ((), 4, 24),
    "layers": ([[3, 0], [1], [4, 2]], 5, 4),
    "layers as sets": ([{0, 1, 2}, {3}], 4, 6),
    "chain": ([(2, 0), (0, 3), (3, 1)], 4, 1),
    "forest": ([(0, 1), (0, 2), (3, 4)], 5, 20),
    "tree": ([(0, 1), (0, 2), (2, 3), (2, 4)], 5, 8),
    "series-parallel": ([(0, 1), (1, 3), (0, 2), (2, 3), (4, 5)], 6, 30),
    "the letter N": ([(0, 2), (0, 3), (1, 3)], 4, 5),
    "N beside one": ([(0, 2), (0, 3), (1, 3)], 5, 25),
    "N before one": ([(0, 2), (0, 3), (1, 3), (2, 4), (3, 4)], 5, 5),
    "crown": ([(0, 3), (0, 4), (1, 3), (1, 5), (2, 4), (2, 5)], 6, 48),
    "networkx": (nx.DiGraph([(4, 0), (0, 2)]), 5, 20),
}


def extensions(before):
    """All linear extensions, by looking at every permutation."""
    p = len(before)
    return [
        order
        for order in permutations(range(p))
        if not any(before[order[j], order[i]] for j in range(p) for i in range(j))
    ]


def asymmetric(game, before):
    """The mean contributions over all linear extensions."""
    p, total = len(before), np.zeros(len(before))
    orders = extensions(before)
    for order in orders:
        coalitions = np.array([np.isin(np.arange(p), order[:k]) for k in range(p + 1)])
        total[list(order)] += np.diff(game(coalitions))
    return total / len(orders)


@pytest.mark.thinned
@pytest.mark.parametrize("chain", [False, True])
@pytest.mark.parametrize(("graph", "p", "n_extensions"), ORDERS.values(), ids=ORDERS)
def test_extensions_are_uniform(graph, p, n_extensions, chain, monkeypatch):
    """By chi-square over all of them, of 4,000; false alarms: 1e-5 each."""
    if chain:
        monkeypatch.setattr(_orders, "MOST_IDEALS", 0)
    before = before_of(graph, p, "Owner")
    all_of_them = extensions(before)
    assert len(all_of_them) == n_extensions
    rng, n = np.random.default_rng(0), 4000
    drawn = taken_apart(before).extended(
        rng.permuted(np.tile(np.arange(p), (n, 1)), axis=1), rng
    )
    place = {order: i for i, order in enumerate(all_of_them)}
    counts = np.bincount(
        [place[tuple(order)] for order in drawn.tolist()], minlength=n_extensions
    )
    expected = n / n_extensions
    statistic = ((counts - expected) ** 2 / expected).sum()
    assert statistic <= chi2.ppf(1 - 1e-5, max(n_extensions - 1, 1))


@pytest.mark.parametrize(
    "name", ["layers", "forest", "tree", "series-parallel", "networkx"]
)
def test_simple_orders_are_sampled_directly(name):
    graph, p, _ = ORDERS[name]
    assert not taken_apart(before_of(graph, p, "Owner")).has_prime


def test_large_orders_are_decomposed():
    """A forest of 400: every path from a root is in order, and the roots share all places."""
    rng = np.random.default_rng(1)
    parents = [
        (int(rng.integers(max(0, child - 5), child)), child) for child in range(8, 400)
    ]
    before = before_of(parents, 400, "Owner")
    drawn = taken_apart(before).extended(
        rng.permuted(np.tile(np.arange(400), (50, 1)), axis=1), rng
    )
    place = np.argsort(drawn, axis=1)
    assert all((place[:, parent] < place[:, child]).all() for parent, child in parents)


def test_indecomposable_orders_are_counted_or_sampled_by_a_chain():
    """A crown of 20 players has few enough ideals to count; a fence of 40 players has too many."""
    crown = [(i, 10 + j) for i in range(10) for j in range(10) if i != j]
    before = before_of(crown, 20, "Owner")
    assert _orders._ideals(before) is not None
    fence = [(i, 20 + j) for i in range(20) for j in (i, (i + 1) % 20)]
    assert _orders._ideals(before_of(fence, 40, "Owner")) is None


@pytest.mark.parametrize(
    ("sampler", "name"),
    [("antithetic", name) for name in ("layers", "forest", "the letter N", "crown")]
    + [
        pytest.param(sampler, "forest", marks=pytest.mark.slow)
        for sampler in ("monte-carlo", "orthogonal", "sobol")
    ],
)
def test_values_are_the_mean_over_all_extensions(sampler, name):
    """Within five standard errors over runs; a single run may lack an error."""
    graph, p, _ = ORDERS[name]
    game = RandomGame(p, seed=3)
    expected = asymmetric(game, before_of(graph, p, "Owner"))
    runs = np.array(
        [
            shapley_values(
                game,
                sampler=Ordered(sampler, graph),
                max_evals=60 * p,
                random_state=seed,
            ).values
            for seed in range(12)
        ]
    )
    error = runs.std(axis=0, ddof=1) / np.sqrt(len(runs))
    # Student's t of 11 degrees beyond 8: 1e-5 for each of at most 88 numbers
    assert (np.abs(runs.mean(axis=0) - expected) <= 8 * error + 1e-9).all()
    np.testing.assert_allclose(runs.sum(axis=1), expected.sum(), rtol=0, atol=1e-9)


def test_standard_errors_cover_the_true_values():
    """Of 150 intervals of 95 % for a player, 128 to 150 hold; false alarms: 1e-5 a player."""
    graph, p, _ = ORDERS["the letter N"]
    game = RandomGame(p, seed=4)
    expected = asymmetric(game, before_of(graph, p, "Owner"))
    sampler = Ordered("monte-carlo", graph)
    found = explain_game(as_instances(game, 150), sampler=sampler, max_evals=130)
    off = np.abs(found.values[:, :, 0] - expected)
    inside = off <= 1.96 * found.standard_errors[:, :, 0] + 1e-12
    assert (inside.sum(axis=0) >= 128).all()


def test_a_chain_of_normal_columns_is_a_sum_of_conditional_steps():
    """x_0 -> x_1 -> x_2, each .8 of the one before: E[sum | x_0] and so on, by hand."""
    rho = 0.8
    sigma = rho ** np.abs(np.subtract.outer(range(3), range(3)))
    rows = np.random.default_rng(5).multivariate_normal(np.zeros(3), sigma, size=50)
    rows -= rows.mean(axis=0)
    explainer = ShapleyExplainer(
        lambda X: X.sum(axis=1),
        reward=ConditionalReward(sigma),
        sampler=Ordered("antithetic", [[0], [1], [2]]),
        max_rows=18 * 50 + 1,
        random_state=0,
    )
    a, b, c = x = np.array([1.0, -0.5, 2.0])
    first = a * (1 + rho + rho**2)
    second = a + b * (1 + rho) - first
    found = explainer.fit(rows).explain(x[None])
    expected = [first, second, a + b + c - first - second]
    np.testing.assert_allclose(found.values[0], expected, rtol=0, atol=1e-5)


def test_effects_get_their_contribution_beyond_the_cause():
    """Frye, Rowat & Feige (2020), section 3: a model that uses only the effect.

    The unused cause gets E[x_1 | x_0] - E[x_1]; symmetric values give half of it.
    """
    sigma = np.array([[1.0, 0.6], [0.6, 1.0]])
    rows = np.array([[1.0, 1.0], [-1.0, -1.0]])
    for order, expected in (
        ([(0, 1)], [0.6 * 2.0, 1.0 - 0.6 * 2.0]),
        ([(1, 0)], [0.0, 1.0]),
        ((), [0.6, 0.4]),
    ):
        explainer = ShapleyExplainer(
            lambda X: X[:, 1],
            reward=ConditionalReward(sigma),
            sampler=Ordered("antithetic", order),
            max_rows=37,
            random_state=0,
        )
        found = explainer.fit(rows).explain(np.array([[2.0, 1.0]])).values[0]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)


def test_players_without_effect_stay_in_the_order():
    """Interventional reward; one column in the middle equals that of the background."""
    rows = np.array([[0.0, 1.0, 0.0]])
    explainer = ShapleyExplainer(
        lambda X: X[:, 0] * X[:, 2],
        sampler=Ordered("antithetic", [(2, 1), (1, 0)]),
        random_state=0,
    )
    found = explainer.fit(rows).explain(np.array([[1.0, 1.0, 1.0]]))
    assert found.values.tolist() == [[1.0, 0.0, 0.0]]


def test_groups_are_players():
    explainer = ShapleyExplainer(
        lambda X: X.max(axis=1),
        groups={"first": ["x0", "x2"]},
        sampler=Ordered("monte-carlo", [(1, 0)]),
        random_state=0,
    )
    found = explainer.fit(np.zeros((1, 3))).explain(np.ones((1, 3)))
    assert found.values.tolist() == [[0.0, 1.0]]


REFUSED = {
    "circle": (
        [(0, 1), (1, 2), (2, 0)],
        "got an order with a cycle, in which player 0 comes",
    ),
    "itself": ([(1, 1)], "player 1 comes before itself"),
    "too many": ([(0, 7)], "got an order of player 7: number the 3 players from 0"),
    "names": (
        nx.DiGraph([("a", "b")]),
        "got an order of player 'a'|got an order of player 'b'",
    ),
    "missing": ([[0], [1]], "for 3 players: name each of 0..2 once"),
    "twice": ([[0, 1], [1, 2]], "name each of 0..2 once"),
}


@pytest.mark.parametrize(("graph", "message"), REFUSED.values(), ids=REFUSED)
def test_invalid_orders_are_refused_before_the_game_is_called(graph, message):
    def never(coalitions):
        raise AssertionError("called")

    with pytest.raises(ValueError, match=f"^Ordered {message}|{message}"):
        shapley_values(never, n_players=3, sampler=Ordered("antithetic", graph))


@pytest.mark.parametrize(
    "graph", [nx.Graph([(0, 1)]), [(0, 1, 2)], [(0, "b")], "chain", [0, 1]]
)
def test_cyclic_or_malformed_orders_are_refused(graph):
    with pytest.raises(ValueError, match="Ordered takes graph as a list of pairs"):
        shapley_values(RandomGame(3), sampler=Ordered("antithetic", graph))


def test_kernel_weights_are_refused():
    with pytest.raises(
        ValueError, match="equal weights of permutations; got Antithetic"
    ):
        shapley_values(RandomGame(3), sampler=Ordered(Antithetic(weights="bayesian")))
    shapley_values(RandomGame(3), sampler=Ordered(Herding(), [(0, 1)]), max_evals=40)


@pytest.mark.parametrize("solver", ["regression-adjustment", "least-squares"])
def test_solvers_of_symmetric_values_are_refused(solver):
    with pytest.raises(TypeError, match="cannot pair sampler Ordered"):
        shapley_values(RandomGame(3), sampler=Ordered(graph=[(0, 1)]), solver=solver)
