"""The Gaussian process behind "gp": kernels, posteriors, corrections and regressions.

Each is compared with explicit interactions, joint normal distributions, refits or
enumeration.
"""

from dataclasses import replace
from itertools import combinations
from math import comb

import numpy as np
import pytest
from scipy import stats

from skshapley._process import _fit as fit
from skshapley._process import _least_squares as least_squares
from skshapley._process._errors import (
    background_errors,
    overlooked,
    standard_errors,
)
from skshapley._process._functionals import (
    EvenValues,
    GameValues,
    OddValues,
    PairValues,
)
from skshapley._process._kernel import EvenKernel, OddKernel
from skshapley._process._pairs import Blocks, Pairs
from skshapley._process._process import Posterior, Process, choose_pairs
from skshapley.indices import INDICES, PAIR_INDICES, beta, enumerated
from skshapley.samplers import OddLeverage, SamplerTask
from skshapley.solvers._gp import _Corrected
from skshapley.testing import RandomGame

SYMMETRIC = [index for index in PAIR_INDICES.values() if index.symmetric]
LAWS = [INDICES["shapley"], INDICES["banzhaf"], beta(16, 1), beta(1, 4), beta(2, 2)]
FUNCTIONALS = [
    *(OddValues(index) for index in LAWS),
    *(EvenValues(index) for index in LAWS if not index.symmetric),
    *(PairValues(index) for index in SYMMETRIC),
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
        games, functional.index, 2 if isinstance(functional, PairValues) else 1
    )


def all_points(p):
    return Pairs(cube(p), np.zeros((2**p, 1)))


@pytest.mark.parametrize("p", [3, 4, 7])
@pytest.mark.parametrize("functional", [OddValues(), PairValues()])
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


@pytest.mark.parametrize("functional", [EvenValues(beta(1, 3)), PairValues()], ids=str)
def test_pairs_with_individual_variances(functional):
    rng, p = np.random.default_rng(0), 6
    plain = some_kernel(functional, rng.uniform(0.05, 0.9, p))
    same = replace(plain, pair_variances=plain.shares[np.triu_indices(p, 1)])
    crossed = plain.cross(cube(p), cube(p))
    np.testing.assert_allclose(same.cross(cube(p), cube(p)), crossed, atol=1e-12)
    kernel, entries = (
        replace(plain, pair_variances=rng.exponential(size=15)),
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
        PairValues().covariances(kernel, one, np.array(np.triu_indices(p, 1))).mean()
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
        pairs = pairs.take(pairs.signs.min(axis=1) < 0)  # no full coalition
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
    functional = OddValues() if part == "odd" else PairValues()
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
    assert set(np.argsort(-found.pair_variances)[:3]) == set(place)
    assert (found.pair_variances > 0).all()
    blocks = Blocks.of(np.array([[0], [1]]), np.full(2, 0.5))
    blocked = Pairs(signs, values, np.arange(60) % 2, blocks)
    assert fit.relevant(blocked, kernel) is kernel


# --- posteriors -----------------------------------------------------------------------


PARTS = pytest.mark.parametrize(
    "functional", [OddValues(), OddValues(beta(1, 3)), PairValues()]
)


def random_kernel(functional, p, seed, **spreads):
    reach = np.random.default_rng(seed).uniform(0.05, 0.9, p)
    return some_kernel(functional, reach, **spreads)


def posterior_of(pairs, kernel, functional=OddValues()):  # noqa: B008 - frozen
    return Posterior(Process(pairs, kernel, functional), pairs.values)


def predicted(posterior, point):
    """Return the mean and the variance of the value at one more point, with its noise."""
    process = posterior.process
    kernel, points = process.kernel, process.points
    between = kernel.cross(point.signs, points.signs)[0]
    variance = kernel.gram(point)[0, 0] - between @ process.solve(between)
    return (between @ process.solve(posterior.values))[0], variance


def to_entries(p, functional):
    order = 2 if isinstance(functional, PairValues) else 1
    return enumerated(np.eye(2**p), functional.index, order)


def place_of(pairs):
    return ((pairs.signs > 0) @ (1 << np.arange(pairs.n_players))).astype(int)


@PARTS
def test_the_posterior_agrees_with_a_joint_normal(functional):
    p, rng = 6, np.random.default_rng(1)
    kernel = random_kernel(functional, p, 1)
    pairs = Pairs(cube(p)[1 + rng.permutation(31)[:14]], rng.normal(size=(14, 2)))
    prior, place, to = (
        kernel.cross(cube(p), cube(p)),
        place_of(pairs),
        to_entries(p, functional),
    )
    seen = prior[np.ix_(place, place)] + np.diag(kernel.noise_at(pairs))
    between = to @ prior[:, place]
    variance = to @ prior @ to.T - between @ np.linalg.solve(seen, between.T)
    found = posterior_of(pairs, kernel, functional)
    np.testing.assert_allclose(
        found.means, between @ np.linalg.solve(seen, pairs.values), atol=1e-7
    )
    np.testing.assert_allclose(found.process.variance, np.diag(variance), atol=1e-7)


@pytest.mark.parametrize("index", LAWS)
def test_the_noise_of_all_pairs_is_a_part_of_the_game(index):
    """A pair and its complement have opposite noise, and values are enumerated."""
    p, rng = 6, np.random.default_rng(1)
    functional = GameValues(index)
    kernel = random_kernel(OddValues(), p, 1)
    pairs = Pairs(cube(p)[1 + rng.permutation(31)[:14]], rng.normal(size=(14, 2)))
    noise = np.diag(kernel.noise_at(all_points(p)))
    prior = kernel.cross(cube(p), cube(p)) + noise - noise[::-1]
    to = to_entries(p, functional)
    place = place_of(pairs)
    between = to @ prior[:, place]
    seen = prior[np.ix_(place, place)]
    variance = to @ prior @ to.T - between @ np.linalg.solve(seen, between.T)
    posterior = posterior_of(pairs, kernel, functional)
    means = between @ np.linalg.solve(seen, pairs.values)
    np.testing.assert_allclose(posterior.means, means, atol=1e-7)
    np.testing.assert_allclose(posterior.process.variance, np.diag(variance), atol=1e-7)


@PARTS
@pytest.mark.parametrize(
    ("rows", "weights"),
    [
        ([[0], [1]], [1 / 3, 1 / 3, 1 / 3]),  # a row is not seen
        ([[0], [2]], [0.2, 0.3, 0.5]),
        ([[0, 3], [1, 2]], [0.1, 0.4, 0.3, 0.2]),
    ],
)
def test_blocks_agree_with_a_joint_normal(rows, weights, functional):
    """v_r = f + own_r for each row r, blocks and the whole are weighted means over r."""
    rng = np.random.default_rng(2)
    p, b, weights, rows = 5, len(weights), np.array(weights), np.array(rows)
    kernel = random_kernel(functional, p, 2, lowest_spread=0.6, higher_spread=1.7)
    block, all_signs = np.array([0, 0, 0, 1, 1, 1]), cube(p)
    pairs = Pairs(all_signs[[3, 12, 5, 9, 26, 7]], rng.normal(size=(6, 1)), block,
                  Blocks.of(rows, weights))  # fmt: skip
    shares = np.stack([np.bincount(part, minlength=b) / len(part) for part in rows])
    unit = (shares**2).sum(axis=1).mean()
    first, higher = kernel.interactions(all_signs, all_signs)
    own = (0.6 * kernel.lowest * first + 1.7 * higher) / unit
    common = kernel.cross(all_signs, all_signs)
    joint = np.kron(np.ones((b, b)), common) + np.kron(np.eye(b), own)
    to_seen = np.einsum(
        "nr,nc->nrc", shares[block], np.eye(2**p)[place_of(pairs)]
    ).reshape(6, -1)
    to = np.kron(weights, to_entries(p, functional))
    seen = to_seen @ joint @ to_seen.T + np.diag(kernel.noise_at(pairs))
    between = to @ joint @ to_seen.T
    variance = to @ joint @ to.T - between @ np.linalg.solve(seen, between.T)
    found = posterior_of(pairs, kernel, functional)
    np.testing.assert_allclose(
        found.means, between @ np.linalg.solve(seen, pairs.values), atol=1e-8
    )
    np.testing.assert_allclose(found.process.variance, np.diag(variance), atol=1e-7)
    # only the parts of single background rows, without the game that all share
    of_rows = np.diag(to @ np.kron(np.eye(b), own) @ to.T)
    errors = background_errors(found, pairs.blocks)
    np.testing.assert_allclose(errors**2, of_rows[:, None] * found.scale, rtol=1e-6)


def test_blocks_that_cover_the_whole_background():
    even = Blocks.of(np.array([[0, 3], [2, 1]]), np.full(4, 0.25))
    np.testing.assert_allclose(even.share, 0.5)
    assert even.whole == pytest.approx(0.5)
    assert even.complete
    assert Blocks.of(np.array([[0], [1]]), np.array([0.2, 0.8])).complete
    assert not Blocks.of(np.array([[0, 1]]), np.array([0.2, 0.8])).complete
    assert not Blocks.of(np.array([[0], [1]]), np.full(3, 1 / 3)).complete


def test_many_pairs_are_computed_in_chunks():
    """780 pairs of 40 players; 500 of them calibrate the errors."""
    p, rng = 40, np.random.default_rng(3)
    kernel, functional = EvenKernel(np.full(p, 0.05), 7.0, 0.03, 0.4), PairValues()
    pairs = Pairs(rng.choice([-1.0, 1.0], (6000, p)), np.ones((6000, 1))).take(
        np.arange(50)
    )
    pairs = Pairs(pairs.signs, rng.normal(size=(50, 2)))
    found, entries = posterior_of(pairs, kernel, functional), functional.entries(p)
    between = functional.covariances(kernel, pairs, entries)
    seen = kernel.gram(pairs)
    np.testing.assert_allclose(
        found.means, between @ np.linalg.solve(seen, pairs.values)
    )
    stated = np.einsum("en,ne->e", between, np.linalg.solve(seen, between.T))
    variance = functional.variances(kernel, entries, None) - stated
    np.testing.assert_allclose(found.process.variance, variance, rtol=1e-6)
    assert len(found.process.witnesses) == 500


@PARTS
def test_left_out_values_agree_with_refits(functional):
    """The estimates change by the influence of a point times its prediction error."""
    p, rng = 6, np.random.default_rng(3)
    kernel = random_kernel(functional, p, 3)
    pairs = Pairs(cube(p)[1 + rng.permutation(31)[:12]], rng.normal(size=(12, 1)))
    found = posterior_of(pairs, kernel, functional)
    for j in (0, 7):
        without = posterior_of(
            pairs.take(np.delete(np.arange(12), j)), kernel, functional
        )
        mean, variance = predicted(without, pairs.take(np.array([j])))
        assert found.left_out[j] == pytest.approx(pairs.values[j] - mean)
        assert found.process.left_out_variance[j] == pytest.approx(variance)
        change = found.process.influence[:, [j]] * found.left_out[j]
        np.testing.assert_allclose(
            found.means - without.means, change, rtol=1e-7, atol=1e-12
        )


def test_pairs_are_chosen_greedily_by_posterior_variance():
    p, kernel = 6, random_kernel(OddValues(), 6, 4)
    signs = cube(p)[: 2 ** (p - 1)]
    pool, held = signs[4:], list(range(4))
    chosen = choose_pairs(
        Process(Pairs(signs[:4], np.zeros((4, 1))), kernel, OddValues()), pool, 3
    )
    for choice in chosen:
        totals = []
        for candidate in range(len(pool)):
            points = np.vstack([signs[held], pool[[candidate]]])
            grown = Pairs(points, np.zeros((len(points), 1)))
            totals.append(Process(grown, kernel, OddValues()).variance.sum())
        assert totals[choice] == pytest.approx(min(totals), rel=1e-9)
        held.append(4 + choice)
    assert len(set(chosen)) == 3


def test_requested_sizes_are_chosen_first():
    """Afterwards the choice is free. Sizes missing from the pool are skipped."""
    p, kernel = 7, random_kernel(OddValues(), 7, 4)
    signs = cube(p)[: 2 ** (p - 1)]
    process = Process(Pairs(signs[:4], np.zeros((4, 1))), kernel, OddValues())
    size = (p - np.abs(signs[4:].sum(axis=1)).astype(int)) // 2
    pool, size = signs[4:][size != 1], size[size != 1]
    chosen = choose_pairs(process, pool, 9, np.array([0, 5, 4, 2]))
    assert (np.bincount(size[chosen[:6]], minlength=4) == [0, 0, 4, 2]).all()
    first = np.vstack([signs[:4], pool[chosen[:6]]])
    rest = np.setdiff1d(np.arange(len(pool)), chosen[:6])
    grown = Process(Pairs(first, np.zeros((10, 1))), kernel, OddValues())
    assert (chosen[6:] == rest[choose_pairs(grown, pool[rest], 3)]).all()


def widened(squares, weights):
    """The weighted mean for Student's t; the kurtosis gives its degrees of freedom."""
    weights = weights / weights.sum()
    mean = weights @ squares
    kurtosis = max(weights @ squares**2 / mean**2, 3)
    degrees = max(2 / (weights**2).sum() / (kurtosis - 1), 1)
    return mean * (stats.t.ppf(0.975, degrees) / stats.norm.ppf(0.975)) ** 2


@PARTS
def test_errors_are_scaled_by_left_out_residuals(functional):
    """By their definition, with a separate process for each omitted pair."""
    p, n, larger = 6, 20, set()
    kernel = random_kernel(functional, p, 0)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        inner = rng.permutation(31)[:n] + 1
        signs = 1.0 - 2.0 * (inner[:, None] >> np.arange(p) & 1)
        values = rng.normal(size=(n, 1)) / 10
        values[seed] = 5.0  # one value counts for more than the rest
        pairs = Pairs(signs, values)
        posterior = posterior_of(pairs, kernel, functional)
        squares, promises = np.zeros((2, n))
        for j in range(n):
            without = posterior_of(
                pairs.take(np.delete(np.arange(n), j)), kernel, functional
            )
            mean, variance = predicted(without, pairs.take(np.array([j])))
            change = (posterior.means - without.means) / (pairs.values[j] - mean)
            squares[j] = (pairs.values[j, 0] - mean) ** 2 / variance
            promises[j] = (change**2).sum() * variance
        size = np.minimum((signs > 0).sum(axis=1), (signs < 0).sum(axis=1))
        unseen = 1 - np.bincount(size)[size] / np.array([1, 6, 15, 10])[size]
        counted = unseen + 0.001 if isinstance(functional, OddValues) else np.ones(n)
        ratios = widened(squares, counted), widened(squares, counted * promises)
        own = posterior.process.variance
        expected = (0.75 * own + 0.25 * own.mean()) * max(ratios) * (1 + p / n) ** 1.5
        np.testing.assert_allclose(
            standard_errors(posterior)[:, 0] ** 2, expected, rtol=1e-5
        )
        larger.add(ratios[0] > ratios[1])
    assert len(larger) == 2 or functional != OddValues()


@pytest.mark.parametrize("grid", [0.0, 0.5, 4.0])
def test_errors_of_step_functions_depend_on_repeated_values(grid):
    """The effect of omitting a pair comes from a refit without this pair."""
    p, n, rng = 6, 24, np.random.default_rng(0)
    inside = rng.permutation(31)[: n - 1] + 1
    signs = 1.0 - 2.0 * (np.r_[0, inside][:, None] >> np.arange(p) & 1)
    values = rng.normal(size=(n, 1))
    if grid:
        values = np.round(values / grid) * grid
        values[0] = grid
    pairs, kernel = (
        Pairs(signs, values),
        OddKernel(np.linspace(0.1, 0.5, p), 3.0, 0.05, 0.2),
    )
    posterior = posterior_of(pairs, kernel)
    phi = posterior.means
    others = [pairs.take(np.delete(np.arange(n), j)) for j in range(1, n)]
    of_all = [
        min(code.bit_count(), p - code.bit_count()) for code in range(2 ** (p - 1))
    ]
    sizes = [min(code.bit_count(), p - code.bit_count()) for code in inside.tolist()]
    unseen = [1 - sizes.count(size) / of_all.count(size) for size in sizes]
    changes = [
        ((share * (phi - posterior_of(pair, kernel).means)) ** 2).mean()
        for share, pair in zip(unseen, others, strict=True)
    ]
    repeated, largest = 1 - len(np.unique(values)) / n, np.abs(values).max() / (n - 1)
    silent = (0.05 * repeated * largest) ** 2 + (0.5 / (n - 1) * largest) ** 2
    if repeated > 0.5:
        # a step of the odd part is half a step of the game
        step = np.diff(np.sort(np.append(values, 0.0))).max()
        phi_range = max(phi.max(), 0) - min(phi.min(), 0)
        silent = max(silent, (1.5 / (n - 1) * max(phi_range, 2 * step)) ** 2)
    silent *= max(unseen[1:]) ** 2
    for least in (0.0, 1.0):
        jumps = max(3 * repeated, least) ** 2 * max(changes)
        errors = overlooked(posterior, np.full((p, 1), 0.7), least)
        np.testing.assert_allclose(errors**2, 0.49 + jumps + silent, rtol=1e-5)


@pytest.mark.parametrize("levels", [(0.0, 1.0), (3.0, 4.0)])
@pytest.mark.parametrize("noise", [0.05, 50.0])
def test_interaction_errors_are_at_least_those_of_a_plain_mean(noise, levels):
    """The effect of omitting a point, from refits, or at least 3/n of its value."""
    rng = np.random.default_rng(4)
    p, n = 6, 24
    low, high = levels
    values = np.where(rng.random((n, 1)) < 0.2, high, low)
    points = Pairs(cube(p)[rng.permutation(31)[:n] + 1], values)
    kernel = EvenKernel(rng.uniform(0.1, 0.5, p), 3.0, noise, 0.2)
    found, counts = posterior_of(points, kernel, PairValues()), []
    present = (points.signs > 0).sum(axis=1)
    sizes = np.minimum(present, p - present).tolist()
    for j in range(n):
        others = points.take(np.delete(np.arange(n), j))
        without = posterior_of(others, kernel, PairValues())
        change = np.sqrt(((found.means - without.means) ** 2).mean())
        missed = abs(values[j] - predicted(without, points.take(np.array([j])))[0])[0]
        unseen = 1 - sizes.count(sizes[j]) / (6, 15, 10)[sizes[j] - 1]
        counts.append((unseen * change, unseen * 3 / n * missed))
    steady, plain = np.max(counts, axis=0)
    assert (steady < plain) == (noise > 1)
    repeated = (n - 2) / n
    jumps = (3 * repeated * max(steady, plain)) ** 2
    stated = np.append(found.means, 0.0)
    # larger than the other two terms; the largest step may be from zero
    step = max(high - low, low)
    silent = (1.5 / n * max(stated.max() - stated.min(), 3 * step)) ** 2
    assert silent > ((0.05 * repeated / n) ** 2 + (0.5 / n**2) ** 2) * high**2
    errors = overlooked(found, np.full((15, 1), 0.7))
    np.testing.assert_allclose(errors**2, 0.49 + jumps + silent, rtol=1e-5)


# --- corrections by left-out residuals ------------------------------------------------


P = 7
KERNEL = OddKernel.from_vector(np.r_[np.linspace(-3, -1, P), 3.0, -2.0, -4.0], P)


def drawn_pairs(n, seed):
    """Return pairs by leverage score, the full coalition first, with values of two outputs."""
    rng = np.random.default_rng(seed)
    draws = OddLeverage().start(SamplerTask(P, [rng], 2 * n))
    coalitions = draws.ask(np.array([0]), 2 * n).coalitions[0, ::2]
    signs = np.where(coalitions, 1.0, -1.0)
    rough = rng.normal(size=(n + 1, 2))
    return Pairs(
        signs,
        signs @ rng.normal(size=(P, 2)) + signs[:, :3].prod(axis=1)[:, None] + rough,
    )


def corrected_by_refits(pairs):
    """Return phi(m) + sum_S q(S) [(f - m)(S) + (N/n - 1) (f - m_without_S)(S)], word by word."""
    posterior = posterior_of(pairs, KERNEL)
    out = posterior.means
    coalitions = pairs.signs > 0
    sizes = np.minimum(coalitions.sum(axis=1), P - coalitions.sum(axis=1))
    missed = pairs.values - posterior.mean(pairs.signs)
    for j in range(1, len(pairs)):
        others = np.arange(len(pairs)) != j
        rest = posterior_of(pairs.take(others), KERNEL)
        outside = pairs.values[j] - rest.mean(pairs.signs[j : j + 1])[0]
        size = coalitions[j].sum()
        q = 2 * np.where(coalitions[j], 1 / size, -1 / (P - size)) / comb(P, size)
        room, n = comb(P, size), (sizes == sizes[j]).sum()
        out = out + q[:, None] * (missed[j] + (room / n - 1) * outside)
    return out, sizes


@pytest.mark.parametrize("n", [P - 1, 12, 40])
def test_corrected_values_agree_with_refits(n):
    pairs = drawn_pairs(n, seed=n)
    found = _Corrected(posterior_of(pairs, KERNEL)).values
    np.testing.assert_allclose(found, corrected_by_refits(pairs)[0], rtol=0, atol=1e-6)


@pytest.mark.parametrize("n", [12, 40])
def test_corrected_errors_are_a_jackknife_of_refits(n):
    pairs = drawn_pairs(n, seed=n)
    values, sizes = corrected_by_refits(pairs)
    parts, counts = [], []
    for size in (1, 2, 3):
        members = np.flatnonzero(sizes == size)
        away = [
            corrected_by_refits(pairs.take(np.arange(n + 1) != j))[0] for j in members
        ]
        m = len(members)
        scale = (1 - m / comb(P, size)) * (m - 1) / m
        parts.append(scale * ((np.array(away) - values) ** 2).sum(axis=0))
        counts.append(m)
    total = np.sum(parts, axis=0)
    squares = [part**2 / (m + 2) for part, m in zip(parts, counts, strict=True)]
    freedom = np.clip(total**2 / np.sum(squares, axis=0) - 2, 1, sum(counts))
    widths = stats.t.ppf(0.975, freedom) / stats.norm.ppf(0.975)
    expected = np.sqrt(total) * widths
    found = _Corrected(posterior_of(pairs, KERNEL)).standard_errors()
    np.testing.assert_allclose(found, expected, rtol=1e-5)


# --- least squares --------------------------------------------------------------------


def products(signs):
    first, second = np.triu_indices(signs.shape[1], 1)
    return signs[:, first] * signs[:, second] - 1


def pairwise(signs, values, block=None, blocks=None):
    """Return interactions, errors and residuals, the full coalition being there for each block."""
    count = 1 if block is None else block.max() + 1
    signs = np.vstack([np.ones((count, signs.shape[1])), signs])
    values = np.vstack([np.zeros((count, values.shape[1])), values])
    block = None if block is None else np.r_[np.arange(count), block]
    even = Pairs(signs, values, block, blocks)
    odd = Pairs(signs, np.repeat(signs[:, :1], values.shape[1], axis=1), block, blocks)
    return least_squares.pairwise(even, odd, lambda found: found)


def test_least_squares_is_exact_for_pairwise_games():
    """Twenty points, 15 unknowns; one output is not pairwise, and one does not vary at all."""
    p, rng = 6, np.random.default_rng(4)
    coefficients, points = rng.normal(size=15), cube(p)[rng.permutation(31)[:20]]
    values = products(points) @ coefficients
    values = np.column_stack([values, values + 0.1 * rng.normal(size=20), np.zeros(20)])
    found, errors, residual = pairwise(points, values)
    assert residual.tolist() == [False, True, False]
    np.testing.assert_allclose(found[:, 0], 4 * coefficients, atol=1e-12)
    assert not found[:, 1:].any()
    span = np.ptp(np.append(4 * coefficients, 0.0))
    np.testing.assert_allclose(
        errors[:, [0, 2]] - [1.5 / 5 * span, 1.5 / 20 * 2], 0, atol=1e-12
    )
    few, _, residual = pairwise(points[:16], values[:16])
    assert residual.tolist() == [True, True, False], (
        "one point to spare bears no witness"
    )
    assert not few.any()


def test_pairwise_blocks_average_their_solutions():
    p, rng = 4, np.random.default_rng(4)
    each, block = rng.normal(size=(2, 6)), np.repeat([0, 1], 15)
    signs = np.tile(cube(p)[:15], (2, 1))
    values = np.einsum("nm,nm->n", products(signs), each[block])[:, None]
    blocks = Blocks.of(np.array([[0], [1]]), np.array([0.3, 0.7]))
    found, _, residual = pairwise(signs, values, block, blocks)
    assert not residual.any()
    np.testing.assert_allclose(
        found[:, 0], 4 * (0.3 * each[0] + 0.7 * each[1]), atol=1e-12
    )
    unseen = Blocks.of(np.array([[0], [1]]), np.full(3, 1 / 3))
    assert pairwise(signs, values, block, unseen)[2].all()


def test_indistinguishable_players_are_left_to_the_gaussian_process():
    """Two players are always together: neither interaction nor shares are determined."""
    rest = 2.0 * ((np.arange(8)[:, None] >> np.arange(3)) & 1) - 1
    signs = np.column_stack([rest[:, 0], rest])[:-1]
    signs = np.vstack([signs, signs[:2]])
    found, _, residual = pairwise(signs, signs[:, :1] * signs[:, 2:3] - 1)
    assert residual.all()
    assert not found.any()
    odd = Pairs(
        np.vstack([np.ones(4), signs]), np.vstack([[4.0], signs.sum(axis=1)[:, None]])
    )
    found, _, residual = least_squares.linear(odd)
    assert residual.all()
    assert not found.any()


def test_values_are_relative_to_the_full_coalition_of_the_block():
    """Two blocks of one game with different constants: the mean of the slopes remains."""
    p, rng = 3, np.random.default_rng(0)
    signs, block = np.tile(cube(p)[1:7], (2, 1)), np.repeat([0, 1], 6)
    blocks = Blocks.of(np.array([[0], [1]]), np.full(2, 0.5))
    each, constant = rng.normal(size=(2, 3)), np.array([5.0, -2.0])
    values = constant[block] + np.einsum("nm,nm->n", products(signs), each[block])
    even = Pairs(np.vstack([np.ones((2, p)), signs]), np.r_[constant, values][:, None],
                 np.r_[0, 1, block], blocks)  # fmt: skip
    found, _, residual = least_squares.pairwise(even, even, lambda found: found)
    assert not residual.any()
    np.testing.assert_allclose(found[:, 0], 4 * each.mean(axis=0), atol=1e-12)


@pytest.mark.parametrize("p", [3, 4, 5, 6, 7])
def test_regression_on_all_pairs_gives_the_shapley_values(p):
    """For any game, by the weights of the Shapley kernel; a middle pair has half of its weight."""
    game, signs = RandomGame(p, seed=p), cube(p)
    signs = signs[signs[:, 0] > 0][::-1]  # one of each pair, the full coalition first
    size = (signs > 0).sum(axis=1)
    room = np.bincount(np.minimum(size, p - size))[np.minimum(size, p - size)]
    weights = np.where(size < p, 1 / (size * np.maximum(p - size, 1) * room), 0.0)
    values = (game(signs > 0) - game(signs < 0))[:, None] / 2
    weights = np.where((2 * size == p), weights / 2, weights)
    found, _ = least_squares.Regression.of(signs, weights)(values)
    np.testing.assert_allclose(found[:, 0], game.shapley_values, atol=1e-9)
