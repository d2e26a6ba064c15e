from math import comb

import numpy as np
import pytest
from scipy.stats import chisquare

from skshapley import shapley_values
from skshapley.samplers import Importance, SamplerTask, Uniform


@pytest.mark.parametrize("d", [2, 3, 9])
@pytest.mark.parametrize(("radius", "bound"), [(1.0, 1.0), (4.0, 1.0), (0.3, 2.0)])
def test_importance_distribution_is_that_of_the_paper(d, radius, bound):
    """p_i = L_i / sum_j L_j over all coalitions, L_i = 2 n w_i sqrt(l) (D sqrt(l) + C)."""
    n = 2**d - 2
    size = np.arange(1, d)
    count = np.array([comb(d, s) for s in size])
    weight = (d - 1) / (count * size * (d - size))
    gradient_bound = 2 * n * weight * np.sqrt(size) * (radius * np.sqrt(size) + bound)
    expected = count * gradient_bound / (count * gradient_bound).sum()
    np.testing.assert_allclose(
        Importance(radius / bound).size_law(d), expected, rtol=1e-13
    )


def test_default_ratio_is_that_of_the_authors():
    np.testing.assert_array_equal(Importance().size_law(9), Importance(3.0).size_law(9))


@pytest.mark.parametrize("d", [2, 3, 16, 50])
def test_uniform_law_counts_coalitions(d):
    expected = [comb(d, s) / (2**d - 2) for s in range(1, d)]
    np.testing.assert_allclose(Uniform().size_law(d), expected, rtol=1e-11)


@pytest.mark.parametrize("sampler", [Importance(), Uniform()], ids=repr)
def test_distributions_are_finite_for_many_players(sampler):
    law = sampler.size_law(2000)
    assert np.isfinite(law).all()
    assert law.min() >= 0
    assert law.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(
    "sampler", [Importance(), Importance(0.5), Uniform()], ids=repr
)
def test_draws_follow_the_distribution(sampler):
    """Chi-square of all 14 coalitions of 4 players over 20,000 draws; false alarms 1e-4."""
    d, n = 4, 20_000
    sampler.start(SamplerTask(d, [np.random.default_rng(5)], n))
    design = sampler.ask(np.array([0]), n)
    size = design.coalitions[0].sum(axis=1)
    np.testing.assert_allclose(
        design.expected_draws[0], n * sampler.size_law(d)[size - 1]
    )
    seen = np.bincount(design.coalitions[0] @ (1 << np.arange(d)), minlength=16)
    assert seen[0] == seen[15] == 0
    size = np.array([mask.bit_count() for mask in range(1, 15)])
    count = np.array([comb(d, s) for s in size])
    expected = n * sampler.size_law(d)[size - 1] / count
    assert chisquare(seen[1:15], expected).pvalue > 1e-4


@pytest.mark.parametrize("name", ["importance", "uniform"])
def test_least_squares_accepts_importance_samples(name):
    weights = np.array([1.0, -2.0, 0.0, 5.0])
    result = shapley_values(
        lambda S: S @ weights, n_players=4, sampler=name, max_evals=100, random_state=0
    )
    np.testing.assert_allclose(result.values, weights, rtol=0, atol=1e-10)
