"""Owen sampling: exactness of the rules, and costs."""

import numpy as np
import pytest

from skshapley import shapley_values
from skshapley.samplers import Owen, OwenHalved, SamplerTask
from skshapley.testing import RandomGame, as_instances, brute_force, explain_game

EVERY = [Owen(), OwenHalved(), Owen("uniform"), OwenHalved("uniform")]


def started(sampler, p, rows=1):
    return sampler.start(
        SamplerTask(p, [np.random.default_rng([7, row]) for row in range(rows)], 10**6)
    )


def expected_contributions(game, p, q):
    """e_i(q), by enumeration."""
    masks = np.arange(2**p)
    coalitions = (masks[:, None] >> np.arange(p)) & 1 == 1
    worth = game(coalitions)
    chance = np.where(coalitions, q, 1 - q).prod(axis=1)
    out = []
    for i in range(p):
        without = masks[~coalitions[:, i]]
        gain = worth[without + 2**i] - worth[without]
        out.append((chance[without] / (1 - q)) @ gain)
    return np.array(out)


@pytest.mark.parametrize("p", [2, 3, 6, 7])
def test_ceil_half_p_nodes_integrate_exactly(p):
    game = RandomGame(p, seed=p)
    nodes, weights, _ = started(Owen(), p)._nodes(1000)
    assert len(nodes) == -(-p // 2)
    integral = sum(
        w * expected_contributions(game, p, q)
        for q, w in zip(nodes, weights, strict=True)
    )
    np.testing.assert_allclose(integral, brute_force(game, p), atol=1e-12)


@pytest.mark.parametrize("p", [2, 3, 6, 7, 12])
@pytest.mark.parametrize("n_units", [1, 2, 5, 1000])
def test_halved_nodes_are_half_of_a_symmetric_rule(p, n_units):
    nodes, weights, counts = started(OwenHalved(), p)._nodes(n_units)
    assert (nodes <= 0.5 + 1e-12).all()
    assert weights.sum() == pytest.approx(1)
    assert counts.sum() == n_units
    powers = np.arange(
        2 * len(nodes) - 1
    )  # of x = q - 1/2, odd ones vanish by symmetry
    moments = [
        w * ((q - 0.5) ** (2 * (powers // 2)))
        for q, w in zip(nodes, weights, strict=True)
    ]
    degree = 2 * (powers // 2)
    np.testing.assert_allclose(
        np.sum(moments, axis=0), 0.5**degree / (degree + 1), atol=1e-12
    )


def test_published_nodes_are_equally_spaced_with_two_coalitions_each():
    nodes, weights, counts = started(Owen("uniform"), 5)._nodes(22)
    np.testing.assert_allclose(nodes, np.linspace(0, 1, 11))
    np.testing.assert_allclose(weights, 1 / 11)
    np.testing.assert_array_equal(counts, 2)
    nodes = started(OwenHalved("uniform"), 5)._nodes(22)[0]
    np.testing.assert_allclose(nodes, np.linspace(0, 0.5, 11))


def test_each_coalition_costs_p_plus_one_evaluations():
    seen = []

    def game(coalitions):
        seen.append(coalitions.copy())
        return coalitions.sum(axis=1)

    p, n = 12, 9
    result = shapley_values(
        game, n_players=p, sampler="owen", max_evals=n * (p + 1) + 2, random_state=0
    )
    asked = np.concatenate(seen)
    assert len(np.unique(asked, axis=0)) == len(asked)
    assert result.n_evaluations <= n * (p + 1) + 2
    design = started(Owen(), p).ask(np.array([0]), n)
    pairs = design.coalitions[0].reshape(n, p, 2, p)
    np.testing.assert_array_equal(
        design.players[0].reshape(n, p), np.tile(np.arange(p), (n, 1))
    )
    for i in range(p):
        assert not pairs[:, i, 0, i].any()
        assert pairs[:, i, 1, i].all()


@pytest.mark.parametrize("sampler", EVERY, ids=str)
def test_linear_games_are_exact(sampler):
    single = np.arange(1.0, 7.0)
    result = shapley_values(
        lambda S: S @ np.stack([single, -single], axis=1),
        n_players=6,
        sampler=sampler,
        max_evals=60,
        random_state=0,
    )
    np.testing.assert_allclose(
        result.values, np.stack([single, -single], axis=1), atol=1e-12
    )
    assert not (result.standard_errors == 0).any()  # what looks linear need not be


def test_complements_are_exact_for_pairwise_games():
    double = np.triu(np.random.default_rng(0).standard_normal((6, 6)), 1)
    result = shapley_values(
        lambda S: np.einsum("mi,ij,mj->m", S, double, S),
        n_players=6,
        sampler="owen-halved",
        max_evals=60,
        random_state=0,
    )
    expected = (double.sum(axis=0) + double.sum(axis=1)) / 2
    np.testing.assert_allclose(result.values, expected, atol=1e-12)


@pytest.mark.parametrize("name", ["owen", "owen-halved"])
def test_unbiased_with_honest_errors(name):
    """|z| < 5 for each player (false alarm 6e-7); intervals hold 88 % or more of 300 runs."""
    game = RandomGame(6, seed=2)
    truth = brute_force(game, 6)
    found = explain_game(as_instances(game, 300), sampler=name, max_evals=80)
    values, errors = found.values[:, :, 0], found.standard_errors[:, :, 0]
    z = (values.mean(axis=0) - truth) / (values.std(axis=0, ddof=1) / np.sqrt(300))
    assert np.abs(z).max() < 5
    assert (np.abs(values - truth) <= 1.96 * errors).mean() > 0.88
    assert (errors**2).mean() < 4 * ((values - truth) ** 2).mean()


@pytest.mark.parametrize("rule", ["gauss-legendre", "uniform"])
def test_players_are_present_with_the_probability_of_the_node(rule):
    """|z| < 5 at each of 4 nodes (false alarm 2e-6), over 7 others in a thousand coalitions."""
    p, n, rows = 8, 8, 500
    sampler = started(Owen(rule), p, rows)
    nodes = sampler._nodes(n)[0]
    design = sampler.ask(np.arange(rows), n)
    firsts = design.players == 0
    others = design.coalitions[:, ::2][firsts][:, 1:]
    for stratum, node in enumerate(nodes):
        present = others[design.strata[firsts] == stratum]
        assert abs(present.mean() - node) <= 5 * np.sqrt(
            node * (1 - node) / present.size
        )


def test_published_rule_has_the_documented_bias():
    """Equal weights at nodes 0, 1/Q, ..., 1: the mean of e_i over nodes, not its integral."""
    p, game = 6, RandomGame(6, seed=2)
    nodes = np.linspace(0, 1, 4)
    biased = np.mean(
        [expected_contributions(game, p, min(q, 1 - 1e-12)) for q in nodes], axis=0
    )
    runs = as_instances(game, 300)
    values = explain_game(runs, sampler=Owen("uniform"), max_evals=58).values[:, :, 0]
    error = values.std(axis=0, ddof=1) / np.sqrt(300)
    assert np.abs((values.mean(axis=0) - biased) / error).max() < 5
    assert np.abs((values.mean(axis=0) - brute_force(game, p)) / error).max() > 5


@pytest.mark.parametrize(("name", "least"), [("owen", 12), ("owen-halved", 22)])
def test_too_small_budgets_are_refused_with_the_smallest_one(name, least):
    with pytest.raises(ValueError, match=f"needs at least {least} evaluations"):
        shapley_values(len, n_players=4, sampler=name, max_evals=least - 1)
