"""Kernels on permutations against their definitions, and their means by enumeration."""

from itertools import permutations as all_orders
from math import comb

import numpy as np
import pytest

from skshapley.samplers import KendallKernel, MallowsKernel, SpearmanKernel

KERNELS = [MallowsKernel(), MallowsKernel(0.7), KendallKernel(), SpearmanKernel()]


def discordant(one, other):
    """The definition, on ranks: pairs of players that the two order differently."""
    a, b = np.argsort(one), np.argsort(other)
    return sum((a[i] < a[j]) != (b[i] < b[j]) for i in range(len(a)) for j in range(i))


def by_definition(kernel, one, other):
    p = len(one)
    if isinstance(kernel, SpearmanKernel):
        return float((np.argsort(one) + 1) @ (np.argsort(other) + 1))
    if isinstance(kernel, KendallKernel):
        return 1 - 2 * discordant(one, other) / comb(p, 2)
    return np.exp(-kernel.lam * discordant(one, other) / comb(p, 2))


def uniform(rng, n, p):
    return rng.permuted(np.tile(np.arange(p), (n, 1)), axis=1)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("p", [2, 3, 9, 30])
def test_kernel_agrees_with_its_definition(kernel, p):
    rng = np.random.default_rng(0)
    first, second = uniform(rng, 5, p), uniform(rng, 4, p)
    expected = [[by_definition(kernel, a, b) for b in second] for a in first]
    np.testing.assert_allclose(kernel(first, second), expected, rtol=1e-13)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("p", range(1, 7))
def test_mean_is_the_mean_over_all_permutations(kernel, p):
    orders = np.array(list(all_orders(range(p))))
    means = kernel(orders).mean(axis=1)
    np.testing.assert_allclose(means, kernel.mean(p), atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_are_invariant_to_relabelling(kernel):
    rng = np.random.default_rng(1)
    orders, labels = uniform(rng, 20, 11), rng.permutation(11)
    np.testing.assert_allclose(kernel(labels[orders]), kernel(orders), rtol=1e-13)


@pytest.mark.parametrize("p", [2, 17, 100, 300])
def test_discordant_pairs_of_many_players(p):
    """More than 256 players need wider ranks; a reverse is discordant in all pairs."""
    order = np.random.default_rng(2).permutation(p)
    orders = np.stack([order, order[::-1], np.roll(order, 1)])
    # the last player comes before all others
    expected = [1.0, -1.0, 1 - 2 * (p - 1) / comb(p, 2)]
    np.testing.assert_allclose(KendallKernel()(orders)[0], expected, atol=1e-13)


def test_large_matrices_agree_with_their_blocks():
    rng = np.random.default_rng(3)
    few, many = uniform(rng, 19, 6), uniform(rng, 3300, 6)
    whole = KendallKernel()(few, many)
    np.testing.assert_array_equal(KendallKernel()(many, few), whole.T)
    for i, j in ((0, 0), (18, 3299), (7, 3200), (8, 3199)):
        assert whole[i, j] == pytest.approx(
            by_definition(KendallKernel(), few[i], many[j])
        )


def test_kernel_of_pairs_is_the_mean_over_their_members():
    rng = np.random.default_rng(5)
    first, second = uniform(rng, 6, 7), uniform(rng, 3, 7)
    kernel = MallowsKernel(2.0)
    members = [
        kernel(a, b) for a in (first, first[:, ::-1]) for b in (second, second[:, ::-1])
    ]
    np.testing.assert_allclose(
        kernel.of_pairs()(first, second), np.mean(members, axis=0)
    )
    assert kernel.of_pairs().mean(7) == kernel.mean(7)


@pytest.mark.parametrize("kernel", [KendallKernel(), SpearmanKernel()])
def test_unsuitable_kernels_are_refused_with_a_reason(kernel):
    with pytest.raises(
        ValueError, match=f"{type(kernel).__name__} cannot distinguish pairs .* cancel"
    ):
        kernel.of_pairs()
    with pytest.raises(
        ValueError, match=f"{type(kernel).__name__} has no Bayesian weights: "
    ):
        kernel.check_weights()


@pytest.mark.parametrize("lam", [0, -1.0, float("nan")])
def test_mallows_refuses_increasing_similarities(lam):
    with pytest.raises(ValueError, match=f"lam > 0; got lam={lam!r}"):
        MallowsKernel(lam)
