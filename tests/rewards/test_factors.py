"""Correlations with few common factors, where rows left out say so."""

import numpy as np
import pytest

from skshapley.rewards import ConditionalReward, CopulaReward, Players, Response
from skshapley.rewards._gaussian import _of_factors, learned_correlation, mixed_correlation

D = 12


def correlation_of(loadings):
    found = loadings @ loadings.T
    np.fill_diagonal(found, 1.0)
    return found


def table(truth, n, seed):
    return np.random.default_rng(seed).normal(size=(n, len(truth))) @ np.linalg.cholesky(truth).T


def equal(n):
    return np.full(n, 1 / n)


def test_columns_of_one_factor_are_estimated_better():
    """The errors of 66 numbers from 300 rows, of which 12 are free."""
    truth = np.full((D, D), 0.6) + 0.4 * np.eye(D)
    for seed in range(3):
        rows = table(truth, 300, seed)
        mixed = mixed_correlation(rows, equal(300))
        plain, _ = learned_correlation(rows, equal(300))
        assert mixed.n_factors == 1
        assert mixed.weight >= 0.8
        assert ((mixed.correlation - truth) ** 2).sum() < 0.7 * ((plain - truth) ** 2).sum()
        np.testing.assert_array_equal(np.diagonal(mixed.correlation), 1.0)
        assert np.linalg.eigvalsh(mixed.correlation).min() > 0


@pytest.mark.parametrize("count", [1, 2, 3])
def test_factors_of_a_correlation_that_has_them_are_it(count):
    rng = np.random.default_rng(0)
    truth = correlation_of(rng.uniform(-0.55, 0.55, size=(D, count)))
    np.testing.assert_allclose(_of_factors(truth, count), truth, atol=0.02)


def test_columns_without_factors_are_left_as_they_are():
    """A chain, each column going along with its neighbours: no few factors make it."""
    steps = np.abs(np.subtract.outer(np.arange(D), np.arange(D)))
    for seed in range(3):
        assert mixed_correlation(table(0.7**steps, 1000, seed), equal(1000)) is None
        assert mixed_correlation(table(np.eye(D), 1000, seed), equal(1000)) is None


def test_few_rows_few_columns_and_constant_ones_are_not_looked_at():
    truth = np.full((D, D), 0.6) + 0.4 * np.eye(D)
    rows = table(truth, 400, 0)
    assert mixed_correlation(rows[:100], equal(100)) is None
    assert mixed_correlation(rows[:, :2], equal(400)) is None
    flat = rows.copy()
    flat[:, 3] = 1.0
    assert mixed_correlation(flat, equal(400)) is None


def test_weights_count():
    truth = np.full((D, D), 0.6) + 0.4 * np.eye(D)
    rows = table(truth, 300, 0)
    noise = np.random.default_rng(1).normal(size=(300, D))
    weights = np.r_[equal(300), np.full(300, 1e-12)]
    both = mixed_correlation(np.vstack([rows, noise]), weights / weights.sum())
    alone = mixed_correlation(rows, equal(300))
    assert both[1:] == alone[1:]
    np.testing.assert_allclose(both.correlation, alone.correlation, atol=1e-6)


@pytest.mark.parametrize("reward", [ConditionalReward(), CopulaReward()])
def test_rewards_say_how_many_there_are(reward):
    truth = np.full((D, D), 0.6) + 0.4 * np.eye(D)
    players = Players.from_groups(None, [f"x{i}" for i in range(D)], "Owner")
    response = Response(lambda Z: Z[:, 0])
    made = reward.fit(response, table(truth, 300, 0), equal(300), players)
    assert made.n_factors_ == 1
    assert made.shrinkage_ >= 0.8
    chain = 0.7 ** np.abs(np.subtract.outer(np.arange(D), np.arange(D)))
    made = reward.fit(response, table(chain, 300, 0), equal(300), players)
    assert made.n_factors_ == 0
    assert made.shrinkage_ < 0.5
