"""The process against brute force: explicit interactions, enumeration, finite differences."""

from itertools import combinations
from math import comb

import numpy as np
import pytest

from skshapley._odd import (
    Blocks,
    Evidence,
    Hyper,
    Pairs,
    Posterior,
    Process,
    _posterior,
    choose_pairs,
    fit_hyper,
    functional,
    functional_variance,
    gram,
)
from skshapley._odd._index_process import IndexProcess
from skshapley._odd._kernel import cross, kernel, noise
from skshapley._odd._pairs import size_covariance, size_roughness
from skshapley._odd._regression import Regression
from skshapley.indices import INDICES
from skshapley.testing import RandomGame


def some_hyper(p, rng, blocked=False):
    spreads = (0.6, 1.7) if blocked else ()
    return Hyper(rng.uniform(0.05, 0.9, p), 7.0, 0.03, 0.4, *spreads)


def cube(p):
    return 2.0 * ((np.arange(2**p)[:, None] >> np.arange(p)) & 1) - 1


def enumerated_shapley(odd, p):
    """Shapley values ``(p, ...)`` of games whose odd parts on the cube are the columns of `odd`."""
    signs = cube(p)
    size = ((signs + 1) / 2).sum(axis=1).astype(int)
    out = []
    for i in range(p):
        inside = signs[:, i] > 0
        weight = np.where(
            inside,
            [1 / (p * comb(p - 1, max(s - 1, 0))) for s in size],
            [-1 / (p * comb(p - 1, min(s, p - 1))) for s in size],
        )
        out.append(weight @ odd)
    return np.array(out)


def features(signs, hyper):
    """Every odd interaction times its prior standard deviation: the higher part, explicitly."""
    p = signs.shape[1]
    columns = []
    for order in range(3, p + 1, 2):
        for players in combinations(range(p), order):
            deviation = np.sqrt(hyper.rho[list(players)].prod() / hyper.higher_scale)
            columns.append(deviation * signs[:, list(players)].prod(axis=1))
    return np.array(columns).T


@pytest.mark.parametrize("p", [3, 4, 7])
def test_higher_kernel_is_the_sum_over_interactions(p):
    hyper = some_hyper(p, np.random.default_rng(p))
    phi = features(cube(p), hyper)
    np.testing.assert_allclose(kernel(cube(p), cube(p), hyper, linear=0.0), phi @ phi.T, atol=1e-12)
    np.testing.assert_allclose(np.diag(phi @ phi.T), 1.0)


@pytest.mark.parametrize("p", [3, 5, 8])
@pytest.mark.parametrize("reach", [0.02, 0.3, 1.2])
def test_functional_is_the_shapley_value_of_the_kernel(p, reach):
    rng = np.random.default_rng(p)
    hyper = Hyper(reach * rng.uniform(0.5, 1, p), 7.0, 0.03, 0.4)
    covariance = cross(cube(p), cube(p), hyper)
    truth = enumerated_shapley(covariance, p)
    pairs = Pairs(cube(p), np.zeros((2**p, 1)))
    np.testing.assert_allclose(functional(pairs, hyper), truth, atol=1e-8)
    variance = np.diag(enumerated_shapley(truth.T, p))
    np.testing.assert_allclose(functional_variance(hyper), variance, atol=1e-8)


def test_functional_with_many_players_agrees_with_more_nodes():
    """The nodes suffice: an additive sum over sizes by symmetry, p = 60 equal players.

    With equal reaches the covariance with the full coalition depends on the size alone, and phi of
    an exchangeable game is 2 f(full)/p.
    """
    p = 60
    for reach in (0.01, 0.1, 0.6):
        hyper = Hyper(np.full(p, reach), 1e-9, 0.0, 0.0)
        full = Pairs(np.ones((1, p)), np.zeros((1, 1)))
        np.testing.assert_allclose(functional(full, hyper)[:, 0], 2 / p, rtol=1e-7)


def test_size_part_belongs_to_everyone_alike():
    p = 6
    odd = size_covariance(np.ones((1, p)), cube(p))[0]
    np.testing.assert_allclose(enumerated_shapley(odd, p), 2 / p)
    assert np.linalg.eigvalsh(size_covariance(cube(p), cube(p))).min() > -1e-12


@pytest.mark.parametrize("blocked", [False, True])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_gradient_agrees_with_finite_differences(blocked, n_outputs):
    rng = np.random.default_rng(0)
    p, n = 6, 30
    full = 2 if blocked else 1  # one full coalition a block: it is seen without noise
    signs = np.vstack([np.ones((full, p)), rng.choice([-1.0, 1.0], (n - full, p))])
    block = np.arange(n) % 4 if blocked else None
    blocks = Blocks.of(np.arange(8).reshape(4, 2), np.full(8, 1 / 8)) if blocked else None
    evidence = Evidence(Pairs(signs, rng.normal(size=(n, n_outputs)), block, blocks))
    theta = Hyper.start(p, blocked) + 0.5 * rng.normal(size=p + (5 if blocked else 3))
    gradient = evidence(theta)[1]
    step = 1e-3
    for j in range(len(theta)):
        shift = step * (np.arange(len(theta)) == j)
        slope = (evidence(theta + shift)[0] - evidence(theta - shift)[0]) / (2 * step)
        assert gradient[j] == pytest.approx(slope, rel=1e-3, abs=1e-3)


def brute_posterior(pairs, hyper):
    """Means and variances of phi from the joint normal of all interactions, phi by enumeration."""
    p = pairs.n_players
    prior = cross(cube(p), cube(p), hyper)
    place = ((pairs.signs > 0) @ (1 << np.arange(p))).astype(int)
    seen = prior[np.ix_(place, place)] + np.diag(noise(pairs.roughness, hyper))
    to_phi = enumerated_shapley(np.eye(2**p), p)
    between = to_phi @ prior[:, place]
    mean = between @ np.linalg.solve(seen, pairs.values)
    variance = to_phi @ prior @ to_phi.T - between @ np.linalg.solve(seen, between.T)
    return mean, np.diag(variance)


def test_posterior_agrees_with_brute_force():
    rng = np.random.default_rng(1)
    p = 6
    hyper = some_hyper(p, rng)
    signs = np.vstack([np.ones(p), cube(p)[rng.permutation(2**p // 2)[:14]]])
    pairs = Pairs(signs, rng.normal(size=(15, 2)))
    posterior = Posterior.of(pairs, hyper)
    mean, variance = brute_posterior(pairs, hyper)
    np.testing.assert_allclose(posterior.shapley(), mean, atol=1e-7)
    np.testing.assert_allclose(posterior.process.shapley_variance, variance, atol=1e-8)


@pytest.mark.parametrize(
    ("rows", "weights"),
    [
        ([[0], [1]], [1 / 3, 1 / 3, 1 / 3]),  # a row is not seen
        ([[0], [2]], [0.2, 0.3, 0.5]),
        ([[0, 3], [1, 2]], [0.1, 0.4, 0.3, 0.2]),
    ],
)
def test_blocks_agree_with_a_joint_normal(rows, weights):
    """v_r = f + own_r for each row r, blocks and the whole are weighted means over r."""
    rng = np.random.default_rng(2)
    p, b, weights, rows = 5, len(weights), np.array(weights), np.array(rows)
    hyper = some_hyper(p, rng, blocked=True)
    at = cube(p)[[31, 3, 12, 31, 9, 26]]
    block = np.array([0, 0, 0, 1, 1, 1])
    pairs = Pairs(at, rng.normal(size=(6, 1)), block, Blocks.of(rows, weights))
    common = Hyper(hyper.reach, hyper.linear, 0.0, 0.0)
    higher = kernel(cube(p), cube(p), common, linear=0.0)
    straight = cross(cube(p), cube(p), common) - higher
    size = hyper.size * size_covariance(cube(p), cube(p))
    shares = np.stack([np.bincount(part, minlength=len(weights)) / len(part) for part in rows])
    unit = (shares**2).sum(axis=1).mean()
    own = (hyper.linear_spread * straight + hyper.higher_spread * higher) / unit
    joint = np.kron(np.ones((b, b)), straight + higher + size) + np.kron(np.eye(b), own)
    place = ((at > 0) @ (1 << np.arange(p))).astype(int)
    to_seen = np.einsum("nr,nc->nrc", shares[block], np.eye(2**p)[place]).reshape(6, -1)
    to_phi = np.kron(weights, enumerated_shapley(np.eye(2**p), p))
    seen = to_seen @ joint @ to_seen.T + np.diag(noise(pairs.roughness, hyper))
    between = to_phi @ joint @ to_seen.T
    variance = to_phi @ joint @ to_phi.T - between @ np.linalg.solve(seen, between.T)
    posterior = Posterior.of(pairs, hyper)
    np.testing.assert_allclose(
        posterior.shapley(), between @ np.linalg.solve(seen, pairs.values), atol=1e-9
    )
    np.testing.assert_allclose(posterior.process.shapley_variance, np.diag(variance), atol=1e-8)


def test_blocks_that_make_the_whole_background():
    even = Blocks.of(np.array([[0, 3], [2, 1]]), np.full(4, 0.25))
    np.testing.assert_allclose(even.share, 0.5)
    assert even.whole == pytest.approx(0.5)
    assert even.complete
    assert Blocks.of(np.array([[0], [1]]), np.array([0.2, 0.8])).complete
    assert not Blocks.of(np.array([[0, 1]]), np.array([0.2, 0.8])).complete
    assert not Blocks.of(np.array([[0], [1]]), np.full(3, 1 / 3)).complete


def test_left_out_values_are_predicted_from_the_others():
    rng = np.random.default_rng(3)
    p, hyper = 6, some_hyper(6, np.random.default_rng(3))
    pairs = Pairs(cube(p)[rng.permutation(32)[:12]], rng.normal(size=(12, 1)))
    errors, variances = Posterior.of(pairs, hyper).left_out()
    for j in (0, 7):
        others = np.delete(np.arange(12), j)
        mean, variance = Posterior.of(pairs.take(others), hyper).predict(pairs.signs[[j]])
        assert errors[j] == pytest.approx(pairs.values[j] - mean[0])
        assert variances[j] == pytest.approx(variance[0])


def test_choice_is_greedy_in_the_posterior_variance():
    p, hyper = 6, some_hyper(6, np.random.default_rng(4))
    signs = cube(p)[: 2 ** (p - 1)]
    pairs = Pairs(signs[:4], np.zeros((4, 1)))
    pool = signs[4:]
    chosen = choose_pairs(Process(pairs, hyper), pool, 3)
    held = list(range(4))
    for choice in chosen:
        totals = []
        for candidate in range(len(pool)):
            points = np.vstack([signs[held], pool[[candidate]]])
            grown = Pairs(points, np.zeros((len(points), 1)))
            totals.append(Process(grown, hyper).shapley_variance.sum())
        assert totals[choice] == pytest.approx(min(totals), rel=1e-9)
        held.append(4 + choice)
    assert len(set(chosen)) == 3


def test_choice_takes_the_sizes_asked_for_first():
    """Then it is free; of a size that the pool lacks none is taken."""
    p, hyper = 7, some_hyper(7, np.random.default_rng(4))
    signs = cube(p)[: 2 ** (p - 1)]
    process = Process(Pairs(signs[:4], np.zeros((4, 1))), hyper)
    size = (p - np.abs(signs[4:].sum(axis=1)).astype(int)) // 2
    pool, size = signs[4:][size != 1], size[size != 1]
    asked = np.array([0, 5, 4, 2])
    chosen = choose_pairs(process, pool, 9, asked)
    assert (np.bincount(size[chosen[:6]], minlength=4) == [0, 0, 4, 2]).all()
    first = np.vstack([signs[:4], pool[chosen[:6]]])
    rest = np.setdiff1d(np.arange(len(pool)), chosen[:6])
    free = choose_pairs(Process(Pairs(first, np.zeros((10, 1))), hyper), pool[rest], 3)
    assert (chosen[6:] == rest[free]).all()


def test_influence_is_the_change_of_the_shapley_values():
    """Also when a pair is left out: by its influence times the error of its prediction."""
    rng = np.random.default_rng(3)
    p, hyper = 6, some_hyper(6, np.random.default_rng(3))
    pairs = Pairs(cube(p)[rng.permutation(32)[:12]], rng.normal(size=(12, 1)))
    posterior = Posterior.of(pairs, hyper)
    influence, (errors, _) = posterior.process.influence, posterior.left_out()
    direct = posterior.process.covariances @ posterior.process.weights(pairs.values)
    np.testing.assert_allclose(posterior.shapley(), direct, rtol=1e-9)
    for j in (0, 7):
        without = Posterior.of(pairs.take(np.delete(np.arange(12), j)), hyper).shapley()
        change = influence[:, [j]] * errors[j]
        np.testing.assert_allclose(posterior.shapley() - without, change, rtol=1e-7)


def test_a_prepared_process_says_the_same():
    """Its factor and its inverse share their memory, and each is read without the other."""
    rng = np.random.default_rng(3)
    p, hyper = 6, some_hyper(6, np.random.default_rng(3))
    pairs = Pairs(cube(p)[rng.permutation(32)[:12]], rng.normal(size=(12, 5)))
    plain, prepared = Process(pairs, hyper), Process(pairs, hyper)
    prepared.prepare()
    assert prepared.factor.base is not None
    for k in (1, 2, 5):
        values = pairs.values[:, :k]
        expected = np.linalg.solve(gram(pairs, hyper), values)
        np.testing.assert_allclose(prepared.weights(values), expected, rtol=1e-9)
    of_index = [IndexProcess(process, INDICES["banzhaf"]) for process in (plain, prepared)]
    for one, other in ((plain, prepared), of_index):
        for name in ("shapley_variance", "influence", "left_out_variance", "inverse"):
            np.testing.assert_allclose(getattr(other, name), getattr(one, name), rtol=1e-9)
        np.testing.assert_allclose(other.weights(values), one.weights(values), rtol=1e-9)


def test_where_an_inverse_holds_too_few_digits_the_factor_serves(monkeypatch):
    rng = np.random.default_rng(3)
    pairs = Pairs(cube(6)[rng.permutation(32)[:12]], rng.normal(size=(12, 1)))
    process = Process(pairs, some_hyper(6, rng))
    exact = process.weights(pairs.values)
    for least, same in ((0.0, True), (1e-5, False)):
        monkeypatch.setattr(_posterior, "ROUNDING", least)
        process.prepare()
        assert np.array_equal(process.weights(pairs.values), exact) == same


def test_fit_climbs_to_where_the_gradient_vanishes():
    rng = np.random.default_rng(5)
    p, hyper = 5, some_hyper(5, np.random.default_rng(5))
    signs = np.vstack([np.ones(p), cube(p)[:15]])
    factor = np.linalg.cholesky(gram(Pairs(signs, np.zeros((16, 1))), hyper))
    pairs = Pairs(signs, factor @ rng.normal(size=(16, 4)))
    theta = fit_hyper(pairs, fit_hyper(pairs))
    value, gradient = Evidence(pairs)(theta)
    bounds = np.array(Hyper.bounds(p, False))
    inside = (theta > bounds[:, 0] + 1e-6) & (theta < bounds[:, 1] - 1e-6)
    assert value < Evidence(pairs)(Hyper.start(p, False))[0]
    np.testing.assert_allclose(gradient[inside], 0, atol=0.05)


@pytest.mark.parametrize("p", [3, 4, 5, 6])
def test_roughness_is_that_of_the_law_of_sizes(p):
    """s (p - s) over its mean where sizes are spread evenly over [0, p], which is p^2/6."""
    signs = cube(p)
    sizes = np.array([(point > 0).sum() for point in signs])
    grid = np.linspace(0, p, 100_001)
    mean = (grid * (p - grid)).mean()
    np.testing.assert_allclose(size_roughness(signs), sizes * (p - sizes) / mean, rtol=1e-4)
    np.testing.assert_allclose(Pairs(signs, np.zeros((2**p, 1))).roughness, size_roughness(signs))


@pytest.mark.parametrize("p", [3, 4, 5, 6, 7])
def test_regression_on_all_pairs_gives_the_shapley_values(p):
    """Whatever the game: each of the two coalitions of a middle pair has its own weight."""
    game = RandomGame(p, seed=p)
    signs = cube(p)
    signs = signs[signs[:, 0] > 0][::-1]  # one of each pair, the full coalition first
    assert (signs[0] == 1).all()
    values = (game(signs > 0) - game(signs < 0))[:, None] / 2
    found, _ = Regression(Pairs(signs, values)).solve(values)
    np.testing.assert_allclose(found[:, 0], game.shapley_values, atol=1e-9)
