"""Posteriors of both parts, compared with joint normal distributions and refits."""

import numpy as np
import pytest
from scipy import stats

from skshapley._process._choice import choose_pairs
from skshapley._process._errors import (
    background_errors,
    overlooked,
    standard_errors,
)
from skshapley._process._even import EvenKernel
from skshapley._process._functionals import Interactions, OddValues
from skshapley._process._odd import OddKernel
from skshapley._process._pairs import Blocks, Pairs
from skshapley._process._process import Posterior, Process
from skshapley.indices import beta, enumerated

PARTS = pytest.mark.parametrize(
    "functional", [OddValues(), OddValues(beta(1, 3)), Interactions()]
)


def cube(p):
    return 2.0 * ((np.arange(2**p)[:, None] >> np.arange(p)) & 1) - 1


def some_kernel(functional, p, seed, **spreads):
    reach = np.random.default_rng(seed).uniform(0.05, 0.9, p)
    if isinstance(functional, OddValues):
        return OddKernel(reach, 7.0, 0.03, 0.4, **spreads)
    return EvenKernel(reach, 7.0, 0.03, 0.4, 0.6, **spreads)


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
    order = 2 if isinstance(functional, Interactions) else 1
    return enumerated(np.eye(2**p), functional.index, order)


def place_of(pairs):
    return ((pairs.signs > 0) @ (1 << np.arange(pairs.n_players))).astype(int)


@PARTS
def test_the_posterior_agrees_with_a_joint_normal(functional):
    p, rng = 6, np.random.default_rng(1)
    kernel = some_kernel(functional, p, 1)
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
    kernel = some_kernel(functional, p, 2, lowest_spread=0.6, higher_spread=1.7)
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
    errors = background_errors(found)
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
    kernel, functional = EvenKernel(np.full(p, 0.05), 7.0, 0.03, 0.4), Interactions()
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
    assert found.witnesses.shape == (500, 2)


@PARTS
def test_left_out_values_agree_with_refits(functional):
    """The estimates change by the influence of a point times its prediction error."""
    p, rng = 6, np.random.default_rng(3)
    kernel = some_kernel(functional, p, 3)
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
    p, kernel = 6, some_kernel(OddValues(), 6, 4)
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
    p, kernel = 7, some_kernel(OddValues(), 7, 4)
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
    kernel = some_kernel(functional, p, 0)
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
    for least in (0.0, 1.0):
        jumps = max(3 * repeated, least) ** 2 * max(changes)
        silent = (0.05 * repeated * largest) ** 2 + (0.5 / (n - 1) * largest) ** 2
        errors = overlooked(posterior, np.full((p, 1), 0.7), least)
        np.testing.assert_allclose(errors**2, 0.49 + jumps + silent, rtol=1e-5)
    if repeated > 0.5:  # and all is predicted
        # a step of the odd part is half a step of the game
        step = np.diff(np.sort(np.append(values, 0.0))).max()
        phi_range = max(phi.max(), 0) - min(phi.min(), 0)
        silent = max(silent, (1.5 / (n - 1) * max(phi_range, 2 * step)) ** 2)
    errors = overlooked(posterior, np.zeros((p, 1)), 1.0)
    np.testing.assert_allclose(errors**2, jumps + silent, rtol=1e-5)


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
    found, counts = posterior_of(points, kernel, Interactions()), []
    present = (points.signs > 0).sum(axis=1)
    sizes = np.minimum(present, p - present).tolist()
    for j in range(n):
        others = points.take(np.delete(np.arange(n), j))
        without = posterior_of(others, kernel, Interactions())
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
