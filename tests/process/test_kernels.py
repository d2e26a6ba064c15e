"""Both kernels and their functionals, compared with explicit interactions and enumeration."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from skshapley._process import _fit as fit
from skshapley._process._even import EvenKernel
from skshapley._process._functionals import EvenValues, Interactions, OddValues
from skshapley._process._odd import OddKernel
from skshapley._process._pairs import Blocks, Pairs
from skshapley.indices import INDICES, PAIR_INDICES, beta, enumerated

SYMMETRIC = [index for index in PAIR_INDICES.values() if index.symmetric]
LAWS = [INDICES["shapley"], INDICES["banzhaf"], beta(16, 1), beta(1, 4), beta(2, 2)]
FUNCTIONALS = [
    *(OddValues(index) for index in LAWS),
    *(EvenValues(index) for index in LAWS if not index.symmetric),
    *(Interactions(index) for index in SYMMETRIC),
]


def cube(p):
    return 2.0 * ((np.arange(2**p)[:, None] >> np.arange(p)) & 1) - 1


def some_kernel(functional, reach, **more):
    """Return a kernel of the part of a game that a functional looks at."""
    if isinstance(functional, OddValues):
        return OddKernel(reach, 7.0, 0.03, 0.4, **more)
    return EvenKernel(reach, 7.0, 0.03, 0.4, 0.6, **more)


def truth(games, functional):
    """Values of games, the columns of `games` on the cube, by enumeration, ``(e, ...)``."""
    return enumerated(
        games, functional.index, 2 if isinstance(functional, Interactions) else 1
    )


def all_points(p):
    return Pairs(cube(p), np.zeros((2**p, 1)))


@pytest.mark.parametrize("p", [3, 4, 7])
@pytest.mark.parametrize("functional", [OddValues(), Interactions()])
def test_a_kernel_is_the_sum_over_interactions(p, functional):
    """The even part as differences from the full coalition."""
    reach = np.random.default_rng(p).uniform(0.05, 0.9, p)
    odd = isinstance(functional, OddValues)
    kernel, signs, parts = (
        some_kernel(functional, reach),
        cube(p),
        {True: [], False: []},
    )
    for order in range(1 if odd else 2, p + 1, 2):
        for players in map(list, combinations(range(p), order)):
            product = signs[:, players].prod(axis=1) - (0 if odd else 1)
            lowest = order < 3
            parts[lowest].append(
                (reach if lowest else np.tanh(reach))[players].prod() ** 0.5 * product
            )
    first, higher = kernel.interactions(signs, signs)
    for lowest, found in ((True, first), (False, higher)):
        explicit = np.array(parts[lowest] or [np.zeros(2**p)]).T
        explicit = explicit @ explicit.T
        if (
            explicit.any()
        ):  # parts have variance 1; differences to the full coalition have 2
            explicit *= (1 if odd else 2) / np.diag(explicit).mean()
        np.testing.assert_allclose(found, explicit, atol=1e-11)


@pytest.mark.thinned
@pytest.mark.parametrize("functional", FUNCTIONALS, ids=str)
@pytest.mark.parametrize("p", [3, 5, 7])
@pytest.mark.parametrize("reach", [0.02, 0.3, 1.2])
def test_functionals_and_their_variances_match_the_kernel(functional, p, reach):
    kernel = some_kernel(
        functional, reach * np.random.default_rng(p).uniform(0.5, 1, p)
    )
    entries = functional.entries(p)
    stated = truth(kernel.cross(cube(p), cube(p)), functional)
    found = functional.covariances(kernel, all_points(p), entries)
    np.testing.assert_allclose(found, stated, atol=1e-6)
    spread = np.diag(truth(stated.T, functional))
    np.testing.assert_allclose(
        functional.variances(kernel, entries, None), spread, atol=1e-6
    )


@pytest.mark.parametrize(
    "functional", [EvenValues(beta(1, 3)), Interactions()], ids=str
)
def test_pairs_with_individual_variances(functional):
    rng, p = np.random.default_rng(0), 6
    plain = some_kernel(functional, rng.uniform(0.05, 0.9, p))
    same = replace(plain, each=plain.shares[np.triu_indices(p, 1)])
    crossed = plain.cross(cube(p), cube(p))
    np.testing.assert_allclose(same.cross(cube(p), cube(p)), crossed, atol=1e-12)
    kernel, entries = (
        replace(plain, each=rng.exponential(size=15)),
        functional.entries(p),
    )
    covariance = kernel.cross(cube(p), cube(p))
    stated = truth(covariance, functional)
    found = functional.covariances(kernel, all_points(p), entries)
    np.testing.assert_allclose(found, stated, atol=1e-10)
    spread = np.diag(truth(stated.T, functional))
    np.testing.assert_allclose(
        functional.variances(kernel, entries, None), spread, atol=1e-10
    )


@pytest.mark.parametrize("reach", [0.01, 0.1, 0.6])
def test_quadrature_nodes_suffice_for_many_equal_players(reach):
    """A game of the size gives a player 2 f(full)/p, and a pair a second difference.

    With equal reaches, so does the covariance with the full coalition, or with single
    players, summed over players.
    """
    p, reach = 60, np.full(60, reach)
    full = Pairs(np.ones((1, p)), np.zeros((1, 1)))
    found = OddValues().covariances(
        OddKernel(reach, 1e-9, 0.0, 0.0), full, np.arange(p)[None]
    )
    np.testing.assert_allclose(found, 2 / p, rtol=1e-7)
    kernel, sizes = EvenKernel(reach, 1.0, 0.0, 0.0), 2.0 * np.tri(p + 1, p, -1) - 1
    one = Pairs(np.where(np.eye(p) > 0, 1.0, -1.0), np.zeros((p, 1)))
    game = kernel.cross(sizes, one.signs).mean(
        axis=1
    )  # of a size, the mean over who is in it
    game = np.array([np.delete(game, 0)[s - 1] if s else game[0] for s in range(p + 1)])
    stated = (
        Interactions().covariances(kernel, one, np.array(np.triu_indices(p, 1))).mean()
    )
    steps = game[2:] - 2 * game[1:-1] + game[:-2]
    np.testing.assert_allclose(stated, steps.mean(), rtol=1e-6, atol=1e-10)


def test_tiny_length_scales_are_clipped():
    """Otherwise only rounding errors of interactions of four players would remain."""
    tiny = EvenKernel.from_vector(np.full(5, 1e-6), np.zeros(3))
    small = EvenKernel(np.full(5, 0.02), 1.0, 1.0, 1.0)
    found, expected = (kernel.cross(cube(5), cube(5)) for kernel in (tiny, small))
    np.testing.assert_allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize("p", [3, 4, 5, 6])
def test_noise_follows_the_law_of_sizes(p):
    """s (p - s) over its mean where sizes are spread evenly over [0, p]."""
    sizes, grid = (cube(p) > 0).sum(axis=1), np.linspace(0, p, 100_001)
    mean = (grid * (p - grid)).mean()
    np.testing.assert_allclose(
        all_points(p).roughness, sizes * (p - sizes) / mean, rtol=1e-4
    )


def evidence_of(part, pairs, rng):
    """Return one of three functions from vectors to densities."""
    p = pairs.n_players
    if part == "odd":
        return fit.odd_evidence(pairs)
    each = rng.exponential(size=p * (p - 1) // 2) if part == "each" else None
    return fit.even_evidence(pairs, rng.uniform(0.05, 0.5, p), each)


def some_pairs(p, n, n_outputs, blocked, rng):
    full = 2 if blocked else 1  # one full coalition a block: it is seen without noise
    signs = np.vstack([np.ones((full, p)), rng.choice([-1.0, 1.0], (n - full, p))])
    block = np.arange(n) % 4 if blocked else None
    blocks = (
        Blocks.of(np.arange(8).reshape(4, 2), np.full(8, 1 / 8)) if blocked else None
    )
    return Pairs(signs, rng.normal(size=(n, n_outputs)), block, blocks)


@pytest.mark.parametrize("part", ["odd", "even", "each"])
@pytest.mark.parametrize("blocked", [False, True])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_gradients_agree_with_finite_differences(part, blocked, n_outputs):
    rng = np.random.default_rng(0)
    pairs = some_pairs(6, 30, n_outputs, blocked, rng)
    if part != "odd":
        pairs = pairs.take(~pairs.full)
    evidence = evidence_of(part, pairs, rng)
    start = evidence.prior.start
    theta, step = start + 0.5 * rng.normal(size=len(start)), 1e-3
    gradient = evidence(theta)[1]
    for j in range(len(theta)):
        shift = step * (np.arange(len(theta)) == j)
        slope = (evidence(theta + shift)[0] - evidence(theta - shift)[0]) / (2 * step)
        assert gradient[j] == pytest.approx(slope, rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("part", ["odd", "even"])
def test_a_fit_ends_at_a_zero_gradient(part):
    rng, p = np.random.default_rng(5), 5
    functional = OddValues() if part == "odd" else Interactions()
    kernel = some_kernel(functional, rng.uniform(0.05, 0.9, p))
    points = Pairs(cube(p)[1:16], np.zeros((15, 1)))
    factor = np.linalg.cholesky(kernel.gram(points))
    points = Pairs(points.signs, factor @ rng.normal(size=(15, 4)))
    evidence = evidence_of(part, points, rng)
    theta = evidence.climbed(evidence.climbed(None, 25), 25)
    value, gradient = evidence(theta)
    low, high = evidence.prior.bounds.T
    inside = (theta > low + 1e-6) & (theta < high - 1e-6)
    assert value < evidence(evidence.prior.start)[0]
    np.testing.assert_allclose(gradient[inside], 0, atol=0.05)


def test_fitted_variances_identify_interacting_pairs():
    """Three of 91 pairs, from 60 points: their variances exceed all others."""
    rng, p = np.random.default_rng(0), 14
    signs, pairs = rng.choice([-1.0, 1.0], (60, p)), [(0, 1), (2, 7), (5, 9)]
    values = sum(2.0 * (signs[:, i] * signs[:, j] - 1) for i, j in pairs)[:, None]
    points, kernel = Pairs(signs, values), EvenKernel(np.full(p, 0.1), 20.0, 0.05, 0.05)
    found = fit.relevant(points, kernel)
    first, second = np.triu_indices(p, 1)
    place = [np.flatnonzero((first == i) & (second == j))[0] for i, j in pairs]
    assert set(np.argsort(-found.each)[:3]) == set(place)
    assert (found.each > 0).all()
    blocks = Blocks.of(np.array([[0], [1]]), np.full(2, 0.5))
    blocked = Pairs(signs, values, np.arange(60) % 2, blocks)
    assert fit.relevant(blocked, kernel) is kernel
