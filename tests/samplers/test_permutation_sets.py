"""Samplers of permutations: uniform margins, unbiased means, honest errors.

False alarms: a chi-square test fails a correct sampler with probability 1e-6, a z-test
at |z| > 5 with 6e-7 per player. The seeds are fixed.
"""

from itertools import permutations as all_orders

import numpy as np
import pytest
from scipy.stats import chi2

from skshapley import shapley_values
from skshapley.samplers import (
    SAMPLERS,
    Herding,
    MallowsKernel,
    MonteCarlo,
    Orthogonal,
    PermutationSampler,
    SamplerTask,
    SequentialBayesianQuadrature,
    Sobol,
    draw_permutations,
)
from skshapley.samplers._permutations import orthogonal_directions
from skshapley.testing import (
    HybridGame,
    RandomGame,
    as_instances,
    brute_force,
    explain_game,
)

BY_NAME = [
    name for name, cls in SAMPLERS.items() if issubclass(cls, PermutationSampler)
]
CODES = [
    Herding(paired=False),
    Herding("kendall", paired=False),
    Herding("spearman", paired=False, candidates=5),
    SequentialBayesianQuadrature(paired=False),
    Sobol(paired=False),
    Sobol("sphere"),
    Sobol("sphere", paired=False),
]
WEIGHED = [MonteCarlo(weights="bayesian"), Orthogonal(weights="bayesian")]
ALL = [*BY_NAME, *CODES, *WEIGHED]


def test_samplers_of_the_paper_exist():
    assert {
        "monte-carlo",
        "antithetic",
        "orthogonal",
        "sobol",
        "herding",
        "sbq",
    } <= set(BY_NAME)


@pytest.mark.thinned
@pytest.mark.parametrize("sampler", ALL, ids=str)
@pytest.mark.parametrize("p", [1, 2, 3, 8])
@pytest.mark.parametrize("n", [1, 2, 5, 24])
def test_sets_are_permutations_with_weights_of_sum_one(sampler, p, n):
    orders, weights = draw_permutations(sampler, n, p, random_state=0)
    assert orders.shape == (n, p)
    assert weights.shape == (n,)
    np.testing.assert_array_equal(
        np.sort(orders, axis=1), np.tile(np.arange(p), (n, 1))
    )
    assert weights.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("sampler", ALL, ids=str)
def test_sets_depend_on_the_seed_only(sampler):
    first, again, other = (
        draw_permutations(sampler, 12, 6, seed)[0] for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


@pytest.mark.parametrize("sampler", ALL, ids=str)
@pytest.mark.parametrize("p", [4, pytest.param(6, marks=pytest.mark.slow)])
def test_each_permutation_is_uniform(sampler, p):
    """First, fourth and last of a set of eight; over 10 p! (p = 4) or 5 p! sets."""
    orders = {order: i for i, order in enumerate(all_orders(range(p)))}
    runs = (10 if p == 4 else 5) * len(orders)
    sets = np.stack([draw_permutations(sampler, 8, p, seed)[0] for seed in range(runs)])
    for k in (0, 3, 7):
        found = np.bincount(
            [orders[tuple(row)] for row in sets[:, k]], minlength=len(orders)
        )
        expected = runs / len(orders)
        statistic = ((found - expected) ** 2 / expected).sum()
        assert statistic < chi2.isf(1e-6, len(orders) - 1)


@pytest.mark.parametrize("sampler", ALL, ids=str)
def test_attributions_are_unbiased_and_add_up(sampler):
    game = RandomGame(5, seed=3)
    truth = brute_force(game, 5)
    runs = as_instances(game, 200)
    values = explain_game(runs, sampler=sampler, max_evals=30).values[:, :, 0]
    np.testing.assert_allclose(values.sum(axis=1), truth.sum(), atol=1e-9)
    z = (values.mean(axis=0) - truth) / (
        values.std(axis=0, ddof=1) / np.sqrt(200) + 1e-12
    )
    assert np.abs(z).max() < 5


@pytest.mark.parametrize(
    "sampler", ["antithetic", "orthogonal", "sobol", "herding", "sbq"]
)
def test_antithetic_pairs_are_exact_for_pairwise_games(sampler):
    """v(S) = sum a_i + sum b_ij: each order and its reverse average to the Shapley value."""
    rng = np.random.default_rng(0)
    single, double = rng.standard_normal(7), np.triu(rng.standard_normal((7, 7)), 1)
    result = shapley_values(
        lambda S: S @ single + np.einsum("mi,ij,mj->m", S, double, S),
        n_players=7,
        sampler=sampler,
        max_evals=40,
        random_state=0,
    )
    expected = single + (double.sum(axis=0) + double.sum(axis=1)) / 2
    np.testing.assert_allclose(result.values, expected, atol=1e-12)


@pytest.mark.parametrize(("size", "p"), [(1, 2), (3, 4), (2, 7)])
def test_orthogonal_directions_are_orthonormal_and_of_sum_zero(size, p):
    directions = orthogonal_directions(np.random.default_rng(0), 40, size, p)
    gram = directions @ np.swapaxes(directions, 1, 2)
    np.testing.assert_allclose(
        gram, np.broadcast_to(np.eye(size), gram.shape), atol=1e-12
    )
    np.testing.assert_allclose(directions.sum(axis=2), 0, atol=1e-12)


@pytest.mark.thinned
@pytest.mark.parametrize("sampler", ALL, ids=str)
@pytest.mark.parametrize(("draws", "sets"), [(40, 10), (84, 10), (430, 10), (37, 9)])
def test_each_unit_uses_one_background_row_and_all_are_used_equally(
    sampler, draws, sets
):
    """Ten background rows; the remaining units go to different rows, one each."""
    cls = SAMPLERS[sampler] if isinstance(sampler, str) else type(sampler)
    sampler = cls(**({} if isinstance(sampler, str) else sampler.get_params()))
    sampler.start(SamplerTask(6, [np.random.default_rng(0)], draws, np.full(10, 0.1)))
    design = sampler.ask(np.array([0]), draws // 2 * 2)
    units = design.references[0].reshape(-1, design.unit)
    assert (units == units[:, :1]).all()
    used = np.bincount(units[:, 0], minlength=10)
    assert np.ptp(used) <= 1
    assert (used > 0).sum() >= sets
    assert design.references.shape[1] > 0.5 * draws


@pytest.mark.parametrize("references", ["all", "stratified", "random"])
@pytest.mark.parametrize("name", ["sobol", "herding", "sbq"])
def test_background_rows_per_unit_leave_the_mean_unbiased(name, references):
    """The Shapley values of the weighted average game, |z| < 5 over 200 equal rows."""
    rng = np.random.default_rng(0)
    background, weights = rng.standard_normal((4, 5)), np.array([0.1, 0.2, 0.3, 0.4])
    X = np.tile(rng.standard_normal((1, 5)), (200, 1))
    game = HybridGame(
        lambda Z: np.stack([Z.prod(axis=1), Z[:, 0] * Z[:, 1] * Z[:, 2]], axis=1),
        X,
        background,
        weights,
    )
    truth = game.take(np.array([0])).shapley_values[0]
    sampler = SAMPLERS[name](references=references, replicates=3)
    outcome = explain_game(game, sampler=sampler, max_evals=40)
    z = outcome.values.mean(axis=0) - truth
    z /= outcome.values.std(axis=0, ddof=1) / np.sqrt(200) + 1e-12
    assert np.abs(z).max() < 5
    assert np.isfinite(outcome.standard_errors).all()
    total = outcome.v_full - outcome.v_empty
    np.testing.assert_allclose(outcome.values.sum(axis=1), total, atol=1e-9)


@pytest.mark.parametrize("cls", [Sobol, Herding, SequentialBayesianQuadrature])
def test_replicates_give_standard_errors(cls):
    """One replicate has none; four cover the truth 95 times in 100 (over 200 runs)."""
    game = RandomGame(6, seed=1)
    truth = brute_force(game, 6)

    def run(replicates, n):
        sampler = cls(replicates=replicates)
        return explain_game(as_instances(game, n), sampler=sampler, max_evals=50)

    assert np.isnan(run(1, 1).standard_errors).all()
    found = run(4, 200)
    covered = (
        np.abs(found.values[:, :, 0] - truth) <= 1.96 * found.standard_errors[:, :, 0]
    )
    assert 0.90 < covered.mean() < 0.99


@pytest.mark.parametrize("p", [2, 3])
@pytest.mark.parametrize("sampler", ["sbq", MonteCarlo(weights="bayesian")], ids=str)
def test_weights_of_all_permutations_are_exact(p, sampler):
    """Repeated permutations share one weight, so the mean is uniform for any draw."""
    orders, weights = draw_permutations(sampler, 60, p, random_state=0)
    distinct, place = np.unique(orders, axis=0, return_inverse=True)
    shares = np.bincount(place.ravel(), weights=weights)
    np.testing.assert_allclose(shares, 1 / len(distinct), atol=1e-12)


def test_sphere_points_lie_on_the_sphere_and_are_uniform():
    """The printed loop bound gives norms up to 1.41; every coordinate has variance 1/(p - 1)."""
    from skshapley.samplers._permutation_sets import _sphere

    for p in (2, 3, 4, 9):
        points = _sphere(np.random.default_rng(0), 4096, p)
        np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1, atol=1e-12)
        np.testing.assert_allclose((points**2).mean(axis=0), 1 / (p - 1), atol=0.02)
        np.testing.assert_allclose(points.mean(axis=0), 0, atol=0.02)


WRONG = {
    "kendall pairs": (Herding("kendall"), "cannot distinguish pairs"),
    "sbq": (
        SequentialBayesianQuadrature("spearman", paired=False),
        "no Bayesian weights",
    ),
    "replicates": (Sobol(replicates=0), "replicates as a positive int; got 0"),
}


@pytest.mark.parametrize(("sampler", "message"), WRONG.values(), ids=WRONG)
def test_invalid_parameters_are_refused_before_any_evaluation(sampler, message):
    def never(coalitions):
        raise AssertionError("the game was evaluated")

    with pytest.raises(ValueError, match=message):
        shapley_values(never, n_players=5, sampler=sampler, max_evals=100)
    with pytest.raises(ValueError, match=message):
        draw_permutations(sampler, 10, 5)


@pytest.mark.parametrize(("n", "p"), [(0, 3), (2.5, 3), (3, 0), (True, 3)])
def test_invalid_numbers_of_permutations_are_refused(n, p):
    with pytest.raises(ValueError, match="as a positive int; got"):
        draw_permutations("sobol", n, p)


def test_other_samplers_are_refused():
    with pytest.raises(ValueError, match="no sampler named 'leverage'"):
        draw_permutations("leverage", 5, 3)


@pytest.mark.parametrize(
    ("sampler", "least"),
    [("herding", 10), (Sobol(paired=False), 6), (Herding(replicates=3), 26)],
)
def test_too_small_budgets_are_refused_with_the_smallest_one(sampler, least):
    def game(coalitions):
        return coalitions.sum(axis=1)

    with pytest.raises(ValueError, match=f"needs at least {least} evaluations"):
        shapley_values(game, n_players=5, sampler=sampler, max_evals=least - 1)
    result = shapley_values(
        game, n_players=5, sampler=sampler, max_evals=least, random_state=0
    )
    np.testing.assert_allclose(result.values, 1)
    assert result.n_evaluations <= least


def test_kernels_support_get_params_and_set_params():
    sets = [Herding(MallowsKernel(lam), paired=False) for lam in (0.1, 4.0, 4.0)]
    first, second, again = (draw_permutations(sampler, 60, 5, 0)[0] for sampler in sets)
    assert (first != second).any()
    np.testing.assert_array_equal(second, again)


@pytest.mark.parametrize("asks", [[3, 3, 4], [1] * 10, [4, 6], [7, 3]])
def test_the_next_ask_continues_the_round(asks):
    """Every five consecutive units use all five background rows, for any split into asks."""
    weights = np.full(5, 0.2)
    for seed in range(5):
        sampler = MonteCarlo().start(
            SamplerTask(4, [np.random.default_rng(seed)], 10, weights)
        )
        used = []
        for n in asks:
            design = sampler.ask(np.arange(1), n)
            used.extend(design.references[0].tolist())
            sampler.tell(np.arange(1), design, None)
        assert sorted(used[:5]) == sorted(used[5:]) == [0, 1, 2, 3, 4]
