"""Solver "gp-leave-one-out": bias, coverage, its sampler."""

import numpy as np
import pytest

from skshapley import ShapleyExplainer, shapley_values
from skshapley.samplers import OddLeverage, SamplerTask
from skshapley.solvers import GaussianProcess, LeaveOneOutProcess
from skshapley.testing import RandomGame, check_unbiased


def test_bias_is_smaller_than_that_of_the_posterior_mean():
    """Probability of a false alarm below 1e-5; on the same pairs "gp" is off by 6 of its errors."""
    games = [RandomGame(6, seed=1)]
    check_unbiased(OddLeverage(), LeaveOneOutProcess(), games, n_runs=150)
    with pytest.raises(AssertionError, match="is estimated with a bias"):
        check_unbiased(OddLeverage(), GaussianProcess(), games, n_runs=150)


def rough_game(p, seed):
    """Products of few players, a threshold and a wave."""
    rng = np.random.default_rng(seed)
    terms = [rng.choice(p, rng.integers(1, 6), replace=False) for _ in range(2 * p)]
    weights, slopes = rng.normal(size=2 * p), rng.uniform(0, 1, p)

    def reward(S):
        products = sum(
            w * S[:, t].all(axis=1) for t, w in zip(terms, weights, strict=True)
        )
        return products + 2 * (S @ slopes > slopes.sum() / 2) + np.sin(3 * (S @ slopes))

    return reward


def test_intervals_cover_and_errors_are_below_least_squares():
    """Nominal 95 % over 40 games x 10 players.

    The share of a game has a standard deviation of .068, and the mean one of .011. A
    true share of .95 is outside the band for 1 seed of 1000.
    """
    p, inside, ratios = 10, [], []
    for seed in range(40):
        reward = rough_game(p, seed)
        truth = shapley_values(
            reward, n_players=p, sampler="exact", max_evals=2**p
        ).values
        found, squares = (
            shapley_values(
                reward, n_players=p, solver=solver, max_evals=100, random_state=seed
            )
            for solver in ("gp-leave-one-out", "least-squares")
        )
        inside.append(abs(found.values - truth) <= 1.96 * found.standard_errors)
        ratios.append(
            ((found.values - truth) ** 2).sum() / ((squares.values - truth) ** 2).sum()
        )
    assert 0.9 < np.mean(inside) < 0.985
    assert np.mean(np.log(ratios)) < np.log(0.8)


def test_few_pairs_have_no_standard_error():
    p = 10
    result = shapley_values(
        rough_game(p, 0),
        n_players=p,
        solver="gp-leave-one-out",
        max_evals=22,
        random_state=0,
    )
    assert result.standard_errors is None
    assert np.isfinite(result.values).all()


def test_every_row_has_its_own_pairs():
    """This includes later rows, so the mean over rows averages their errors."""
    row, background = np.arange(8.0), np.random.default_rng(0).normal(size=(3, 8))
    explainer = ShapleyExplainer(
        lambda X: np.tanh(X.sum(axis=1)) + X[:, 0] * X[:, 1] * X[:, 2],
        solver=LeaveOneOutProcess(),
        max_rows=58 * 3 + 1,
        random_state=0,
    )
    # rows that differ by next to nothing, since equal ones have equal explanations
    rows = row + 1e-12 * np.arange(4)[:, None]
    values = explainer.fit(background).explain(rows).values
    assert len(np.unique(values[:, 0].round(9))) == 4


@pytest.mark.parametrize("p", [2, 3, 8, 30])
def test_pairs_have_every_size_and_are_distinct(p):
    n = OddLeverage().price(p, 1).least
    design = (
        OddLeverage()
        .start(SamplerTask(p, [np.random.default_rng(0)], n))
        .ask(np.array([0]), n)
    )
    coalitions = design.coalitions[0]
    assert coalitions[0].all()
    assert set(coalitions.sum(axis=1)) == set(range(p + 1))
    assert len(np.unique(coalitions, axis=0)) == len(coalitions) == 2 * p
    np.testing.assert_array_equal(coalitions[::2], ~coalitions[1::2])


def test_pairs_are_limited_by_the_matrix_size():
    assert OddLeverage().afford(10_000, 40, 1).n_draws == 4000
    assert OddLeverage().afford(10_000, 8, 1).n_draws == 2**8 - 2
