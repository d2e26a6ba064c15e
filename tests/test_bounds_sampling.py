"""Bounds of leverage scores, permutations and graphs, against enumeration and many runs."""

from itertools import chain, combinations, permutations, product
from math import comb

import numpy as np
import pytest

from skshapley import shapley_values
from skshapley.bounds import (
    absolute_information,
    dot_product_bounds,
    function_variation,
    graph_dependence,
    graph_error,
    leverage_error,
    leverage_samples,
    quadrature_error,
)
from skshapley.diagnostics import permutation_discrepancy
from skshapley.samplers import (
    ConnectedShapley,
    KendallKernel,
    LocalShapley,
    MallowsKernel,
)
from skshapley.testing import RandomGame, brute_force

# --- leverage scores ------------------------------------------------------------------

D = 6
GAME = RandomGame(D, seed=3)
ALL = (np.arange(2**D)[:, None] >> np.arange(D)) & 1
INNER = ALL[1:-1]
SIZES = INNER.sum(axis=1)
EMPTY, FULL = GAME(ALL[[0, -1]] == 1)
WORTH = GAME(INNER == 1) - EMPTY
KERNEL = np.array([1 / (comb(D, s) * s * (D - s)) for s in SIZES])
RESIDUAL = KERNEL @ (WORTH - INNER @ GAME.shapley_values) ** 2


def least_squares(rows, weights):
    """The solution with the right sum, of coalitions `rows` with weights: by Lagrange."""
    x, y = INNER[rows].astype(float), WORTH[rows]
    system = np.zeros((D + 1, D + 1))
    system[:D, :D] = (x.T * weights) @ x
    system[:D, D] = system[D, :D] = 1
    return np.linalg.solve(system, np.append((x.T * weights) @ y, FULL - EMPTY))[:D]


def test_the_gram_matrix_agrees_with_the_derivation():
    centred = np.eye(D) - 1 / D
    gram = centred @ (INNER.T * KERNEL) @ INNER @ centred
    np.testing.assert_allclose(gram, centred / D, atol=1e-14)
    np.testing.assert_allclose(
        least_squares(slice(None), KERNEL), GAME.shapley_values, rtol=1e-9
    )


@pytest.mark.parametrize(("n", "delta"), [(300, 0.1), (1000, 0.5)])
def test_leverage_samples_err_less_than_the_bound(n, delta):
    """At most 1 of 300 runs exceeds the bound; the mean agrees with the derivation to 20 %."""
    rng = np.random.default_rng(0)
    law = np.array([1 / comb(D, s) for s in SIZES]) / (D - 1)
    squared = []
    for _ in range(300):
        rows = rng.choice(len(INNER), size=n, p=law)
        found = least_squares(rows, KERNEL[rows] / law[rows])
        squared.append(((found - GAME.shapley_values) ** 2).sum())
    bound = leverage_error(n, D, RESIDUAL, delta)
    assert np.mean(np.array(squared) > bound) <= delta
    assert np.mean(squared) == pytest.approx(D * (D - 1) * RESIDUAL / n, rel=0.2)
    assert bound < 6 / delta * np.mean(squared)  # not vacuous


def test_the_stated_number_of_samples_suffices():
    for epsilon, delta in product((0.01, 0.5, 100.0), (0.01, 0.3)):
        n = leverage_samples(epsilon, delta, D)
        # half of delta goes to the Gram matrix, of which less is needed for small
        # epsilon
        assert leverage_error(n, D, 1.0, delta) <= D * epsilon * (1 + 1e-12)
    # by hand, with seven leverage scores in all
    assert leverage_error(10**6, 8, 0.01, 0.1) == pytest.approx(8 * 4 * 7 * 0.01 / 1e5)
    assert leverage_samples([1.0, 0.1], 0.1, 8).tolist() == [560, 5600]
    assert leverage_error(5, D, 1.0, 0.1) == np.inf
    assert leverage_error(500, D, 0.0, 0.1) == 0


# --- sets of permutations -------------------------------------------------------------


def marginals(game, orders):
    """The contribution of each player in each order, ``(n, p)``."""
    found = np.empty(orders.shape)
    for row, order in enumerate(orders):
        sets = np.arange(len(order) + 1)[:, None] > np.argsort(order)
        found[row, order] = np.diff(game(sets))
    return found


def test_errors_of_permutation_sets_are_bounded_by_the_discrepancy():
    rng, kernel = np.random.default_rng(1), MallowsKernel()
    orders, game = np.array(list(permutations(range(4)))), RandomGame(4, seed=5)
    values, gram = marginals(game, orders), kernel(orders, orders)
    variation, closest = function_variation(values, gram), 0.0
    for n in (1, 2, 5, 12):
        for _ in range(10):
            some = rng.choice(24, size=n)
            weights = rng.dirichlet(np.ones(n))
            error = np.abs(weights @ values[some] - game.shapley_values)
            allowed = quadrature_error(
                permutation_discrepancy(orders[some], weights), variation
            )
            assert (error <= allowed * (1 + 1e-9)).all()
            closest = max(closest, (error / allowed).max())
    assert closest > 0.2
    # for the function that the set represents worst, they are equal
    worst = gram.mean(axis=1) - gram[:, some] @ weights
    error = abs(worst.mean() - weights @ worst[some])
    allowed = permutation_discrepancy(orders[some], weights) * function_variation(
        worst, gram
    )
    assert error == pytest.approx(allowed, rel=1e-9)
    with pytest.raises(ValueError, match="not positive definite: choose MallowsKernel"):
        function_variation(values, KendallKernel()(orders, orders))


@pytest.mark.parametrize("p", [4, 5, 6, 7])
def test_dot_products_lie_between_their_bounds(p):
    """Mitchell et al., Theorem 2, over all permutations: up to 1.5/p."""
    orders = np.array(list(permutations(range(p))))
    ranks = (np.argsort(orders, axis=1) - (p - 1) / 2) / np.sqrt(p * (p**2 - 1) / 12)
    tau = KendallKernel()(orders[:1], orders)[0]
    lower, upper = dot_product_bounds(tau)
    product_ = ranks @ ranks[0]
    assert (product_ >= lower - 1.5 / p).all()
    assert (product_ <= upper + 1.5 / p).all()
    # where the bounds meet, at both ends, they are exact
    ends = np.abs(tau) > 1 - 1e-12
    assert ends.sum() == 2
    np.testing.assert_allclose(lower[ends], product_[ends], atol=1e-12)
    np.testing.assert_allclose(upper[ends], product_[ends], atol=1e-12)


# --- graphs ---------------------------------------------------------------------------

PLAYERS = 4
EDGES = np.abs(np.subtract.outer(np.arange(PLAYERS), np.arange(PLAYERS))) == 1


def joint_law(seed, strength):
    """A chain of four bits and a response, with some dependence beyond the chain."""
    rng = np.random.default_rng(seed)
    links = np.where(
        EDGES, rng.normal(size=EDGES.shape), strength * rng.normal(size=EDGES.shape)
    )
    bits = np.array(list(product([-1.0, 1.0], repeat=PLAYERS)))
    mass = np.exp(np.einsum("ni,ij,nj->n", bits, np.triu(links, 1), bits))
    one = 1 / (1 + np.exp(-bits @ rng.normal(size=PLAYERS)))
    joint = np.stack([mass * (1 - one), mass * one], axis=1)
    return (joint / joint.sum()).reshape((2,) * (PLAYERS + 1))


def worth_of(joint, x):
    """v_x(S): the mean over Y given x of log P(Y | x_S)."""
    law = joint[tuple(x)] / joint[tuple(x)].sum()

    def worth(coalitions):
        found = []
        for present in np.asarray(coalitions, dtype=bool):
            absent = tuple(np.flatnonzero(~present))
            marginal = joint.sum(axis=absent, keepdims=True)
            index = tuple(np.where(present, x, 0))
            found.append(law @ np.log(marginal[index] / marginal[index].sum()))
        return np.array(found)

    return worth


def connected_dependence(joint, player, near):
    """The largest of Eq 8 and Eq 10 of Chen et al., for a chain."""
    found = [graph_dependence(joint, player, near)]
    for low, high in product(range(PLAYERS), repeat=2):
        run = set(range(low, high + 1))
        if player in run and run <= set(near):
            apart = [
                j for j in range(PLAYERS) if j not in run and not {j - 1, j + 1} & run
            ]
            given = tuple(run - {player})
            for some in chain.from_iterable(combinations(apart, n) for n in (1, 2, 3)):
                found += [
                    absolute_information(joint, [player], some, known)
                    for known in (given, (*given, PLAYERS))
                ]
    return max(found)


@pytest.mark.parametrize("method", ["local", "connected"])
@pytest.mark.parametrize("strength", [0.0, 0.05, 0.5])
def test_graph_values_err_less_than_the_bound(method, strength):
    joint = joint_law(0, strength)
    sampler = (LocalShapley if method == "local" else ConnectedShapley)(
        "chain", order=1
    )
    law, errors = joint.sum(axis=-1), np.zeros(PLAYERS)
    for x in product([0, 1], repeat=PLAYERS):
        worth = worth_of(joint, x)
        found = shapley_values(worth, n_players=PLAYERS, sampler=sampler).values
        errors += law[x] * np.abs(found - brute_force(worth, PLAYERS))
    for player in range(PLAYERS):
        near = [j for j in (player - 1, player, player + 1) if 0 <= j < PLAYERS]
        if method == "local":
            epsilon = graph_dependence(joint, player, near)
        else:
            epsilon = connected_dependence(joint, player, near)
        assert errors[player] <= graph_error(epsilon, method=method, whole=True)
    assert errors.max() > 0


def test_independent_players_have_zero_bounds():
    """A response that depends on one player: then nothing is shared, and each graph is right."""
    law = np.array([0.3, 0.7])
    joint = np.einsum("a,b,c,d,dy->abcdy", law, law, law, law, [[0.9, 0.1], [0.2, 0.8]])
    assert graph_dependence(joint, 0, [0, 1]) == pytest.approx(0.0, abs=1e-12)
    assert graph_error(0.0) == 0.0
    # by hand: two bits that agree with probability 3/4
    agree = np.array([[3, 1], [1, 3]]) / 8
    expected = 0.75 * np.log(1.5) + 0.25 * np.log(2)
    assert absolute_information(agree, [0], [1]) == pytest.approx(expected)
    # given their copy they tell nothing
    copied = np.zeros((2, 2, 2))
    copied[[0, 1], :, [0, 1]] = agree
    assert absolute_information(copied, [0], [1], [2]) == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(ValueError, match="method='near': choose one of"):
        graph_error(0.1, method="near")


def test_factors_of_the_theorems():
    assert [
        float(graph_error(1.0, method=method, whole=whole))
        for method in ("local", "connected")
        for whole in (False, True)
    ] == [4, 2, 6, 4]
