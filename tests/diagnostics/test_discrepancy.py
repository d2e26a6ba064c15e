"""Discrepancies of permutation sets: the definition, and Table 4 of Mitchell et al. (2022)."""

from itertools import permutations as all_orders

import numpy as np
import pytest

from skshapley.diagnostics import permutation_discrepancy
from skshapley.samplers import (
    Antithetic,
    Herding,
    KendallKernel,
    MallowsKernel,
    MonteCarlo,
    Orthogonal,
    SequentialBayesianQuadrature,
    Sobol,
    draw_permutations,
)
from skshapley.samplers._kernels import MostNews, bayesian_weights

KERNEL = MallowsKernel()

# d, n: mean discrepancy of antithetic, orthogonal, Sobol, herding, SBQ, Mallows kernel
# with lam 4. From Table 4, with SBQ at n = 1000 (which the paper could not run) and
# Sobol at d = 10 from an independent implementation; n = 1000 at d = 50 and 200 to one
# digit more than the table prints.
TABLE_4 = {
    (10, 10): (0.266, 0.244, 0.257, 0.240, 0.239),
    (10, 100): (0.084, 0.070, 0.068, 0.059, 0.056),
    (10, 1000): (0.027, 0.022, 0.0175, 0.0133, 0.0109),
    (50, 10): (0.272, 0.269, 0.271, 0.270, 0.270),
    (50, 100): (0.086, 0.0725, 0.079, 0.080, 0.079),
    (50, 1000): (0.027, 0.0229, 0.0225, 0.0226, 0.0220),
    (200, 100): (0.0864, 0.0832, 0.0840, 0.0838, 0.0837),
    (200, 1000): (0.0273, 0.0234, 0.0235, 0.0260, 0.0253),
}
QUICK = [(10, 10), (50, 100)]
SAMPLERS = {
    "antithetic": "antithetic",
    "orthogonal": "orthogonal",
    "sobol": Sobol(paired=False),
    "herding": Herding(paired=False),
    "sbq": SequentialBayesianQuadrature(paired=False),
}


def mean_discrepancy(method, n, d, draws):
    """Return the mean discrepancy over independent sets of a sampler."""
    return np.mean(
        [
            permutation_discrepancy(
                *draw_permutations(
                    SAMPLERS[method], n, d, np.random.default_rng([seed, d, n])
                )
            )
            for seed in range(draws)
        ]
    )


@pytest.mark.parametrize("method", SAMPLERS)
@pytest.mark.parametrize(
    ("d", "n"),
    [
        pytest.param(*cell, marks=[] if cell in QUICK else [pytest.mark.slow])
        for cell in TABLE_4
    ],
)
def test_table_4(method, d, n):
    """Within 3 %, the two digits of the table at d = 10, n = 1000 allowing for half a unit more."""
    # the other three choose one set for all seeds, and only relabel its players
    draws = 25 if n * d <= 5000 else 5
    draws = draws if method in ("antithetic", "orthogonal") else 1
    published = TABLE_4[d, n][list(SAMPLERS).index(method)]
    printed = 0.0005 if (d, n, method) == (10, 1000, "antithetic") else 0.0
    found = mean_discrepancy(method, n, d, draws)
    assert found == pytest.approx(published, rel=0.03, abs=0.03 * published + printed)


@pytest.mark.parametrize("kernel", ["mallows", "kendall", "spearman"])
def test_discrepancy_of_all_permutations_is_zero(kernel):
    orders = np.array(list(all_orders(range(5))))
    assert permutation_discrepancy(orders, kernel=kernel) == pytest.approx(0, abs=1e-6)


def test_discrepancy_is_the_largest_error_in_the_kernel_space():
    """It is the error of the function that represents the error, of unit norm (enumerated)."""
    orders = np.array(list(all_orders(range(4))))
    rng = np.random.default_rng(0)
    chosen, weights = rng.integers(0, 24, 7), rng.dirichlet(np.ones(7))
    signed = np.full(24, 1 / 24)
    np.subtract.at(signed, chosen, weights)
    gram = KERNEL(orders)
    norm = np.sqrt(signed @ gram @ signed)
    worst = gram @ signed / norm
    assert abs(worst.mean() - weights @ worst[chosen]) == pytest.approx(norm)
    assert permutation_discrepancy(orders[chosen], weights) == pytest.approx(norm)


@pytest.mark.parametrize("lam", [0.5, 4.0, 20.0])
@pytest.mark.parametrize("n", [2, 9, 40])
def test_bayesian_weights_minimise_the_discrepancy(n, lam):
    kernel = MallowsKernel(lam)
    orders, _ = draw_permutations("monte-carlo", n, 6, 0)
    weights = bayesian_weights(orders, kernel)
    assert weights.sum() == pytest.approx(1)
    best = permutation_discrepancy(orders, weights, kernel)
    rng = np.random.default_rng(1)
    for _ in range(20):
        step = rng.standard_normal(n)
        step *= 0.1 / n / np.linalg.norm(step)
        other = permutation_discrepancy(orders, weights + step - step.mean(), kernel)
        assert other >= best - 1e-9


def test_weights_lower_the_discrepancy_of_any_set():
    for sampler in (MonteCarlo, Antithetic, Orthogonal, Sobol):
        plain = draw_permutations(sampler(), 60, 5, 0)
        weighed = draw_permutations(sampler(weights="bayesian"), 60, 5, 0)
        np.testing.assert_array_equal(plain[0], weighed[0])
        assert permutation_discrepancy(*weighed) < permutation_discrepancy(*plain)


def test_weights_are_finite_for_nearly_constant_kernels():
    orders, _ = draw_permutations("monte-carlo", 50, 5, 0)
    weights = bayesian_weights(orders, MallowsKernel(1e-12))
    assert np.isfinite(weights).all()
    assert weights.sum() == pytest.approx(1)


def test_sbq_lowers_the_variance_of_the_integral_most():
    """Each choice against brute force over its candidates (inverses of whole matrices)."""
    rng, p = np.random.default_rng(0), 9
    mean, choose = KERNEL.mean(p), MostNews(KERNEL, 6, p)
    chosen = np.empty((0, p), dtype=int)
    for _ in range(6):
        candidates = rng.permuted(np.tile(np.arange(p), (10, 1)), axis=1)
        variances = []
        for one in candidates:
            gram = KERNEL(np.vstack([chosen, one]))
            variances.append(-(mean**2) * np.linalg.inv(gram).sum())
        pick = choose(KERNEL(candidates, chosen) if len(chosen) else np.empty((10, 0)))
        assert variances[pick] == pytest.approx(min(variances))
        chosen = np.vstack([chosen, candidates[pick]])


def test_sbq_continues_after_all_permutations():
    sampler = SequentialBayesianQuadrature(paired=False)
    assert permutation_discrepancy(*draw_permutations(sampler, 50, 3, 0)) < 1e-7


def test_kendall_and_spearman_weights_are_refused():
    with pytest.raises(
        ValueError, match="KendallKernel has no Bayesian weights: its mean is 0"
    ):
        bayesian_weights(np.array([[0, 1, 2]]), KendallKernel())


@pytest.mark.parametrize(
    "orders", [[[0, 0, 1]], [[1, 2, 3]], [0, 1, 2], [[0.0, 1.0]], np.empty((0, 3), int)]
)
def test_invalid_permutations_are_refused(orders):
    with pytest.raises(ValueError, match=r"not permutations: pass rows \(n, p\)"):
        permutation_discrepancy(orders)


def test_weights_of_another_length_are_refused():
    with pytest.raises(
        ValueError, match=r"weights of shape \(3,\) for 2 permutations: pass one"
    ):
        permutation_discrepancy([[0, 1], [1, 0]], [1 / 3] * 3)
