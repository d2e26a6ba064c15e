"""The process on the even part against brute force: explicit interactions, enumeration."""

from dataclasses import replace
from itertools import combinations
from math import comb

import numpy as np
import pytest

from skshapley import shapley_values
from skshapley._even import (
    EvenHyper,
    EvenPosterior,
    EvenProcess,
    cross,
    fit_even,
    fit_scalars,
    functional,
    functional_variance,
    interactions,
    player_functional,
    player_variance,
    quadratic,
    relative,
    relevant,
)
from skshapley._even._evidence import EvenEvidence
from skshapley._even._kernel import (
    gram,
    higher,
    order_two,
    single_covariance,
    size_covariance,
    variance,
)
from skshapley._odd import Blocks, Pairs
from skshapley._odd._kernel import noise
from skshapley.indices import PAIR_INDICES, beta, enumerated
from skshapley.solvers._gp_errors import overlooked

SYMMETRIC = [index for index in PAIR_INDICES.values() if index.symmetric]
SHAPLEY = PAIR_INDICES["shapley"]


def some_hyper(p, rng, blocked=False):
    spreads = (0.6, 1.7) if blocked else ()
    return EvenHyper(rng.uniform(0.05, 0.9, p), 7.0, 0.03, 0.4, 0.6, *spreads)


def cube(p):
    return 2.0 * ((np.arange(2**p)[:, None] >> np.arange(p)) & 1) - 1


def all_pairs(p):
    return np.array(np.triu_indices(p, 1))


def by_definition(v, index=SHAPLEY):
    """Interactions ``(p (p - 1)/2, ...)`` of games that are the columns of `v` on the cube."""
    p = len(v).bit_length() - 1
    law = index.size_law(p - 2)
    out = []
    for i, j in combinations(range(p), 2):
        a, b, total = 1 << i, 1 << j, 0.0
        for S in range(2**p):
            if not S & (a | b):
                size = S.bit_count()
                total += law[size] / comb(p - 2, size) * (v[S | a | b] - v[S | a] - v[S | b] + v[S])
        out.append(total)
    return np.array(out)


@pytest.mark.parametrize("p", [4, 7])
def test_kernel_is_the_sum_over_even_interactions_from_the_full_coalition(p):
    hyper = some_hyper(p, np.random.default_rng(p))
    signs, two, more = cube(p), [], []
    for order in range(2, p + 1, 2):
        for players in map(list, combinations(range(p), order)):
            part = signs[:, players].prod(axis=1) - 1
            if order == 2:
                two.append(np.sqrt(hyper.share[players].prod() / hyper.pairs_scale) * part)
            else:
                more.append(np.sqrt(hyper.rho[players].prod() / hyper.higher_scale) * part)
    two, more = np.array(two).T, np.array(more).T
    np.testing.assert_allclose(order_two(signs, signs, hyper), two @ two.T, atol=1e-12)
    np.testing.assert_allclose(higher(signs, signs, hyper), more @ more.T, atol=1e-11)
    diagonal = np.diag(cross(signs, signs, hyper))
    np.testing.assert_allclose(variance(signs, hyper), diagonal, atol=1e-12)
    # at variance 1 of the parts: one half of their sums over the cube's differences
    np.testing.assert_allclose((two**2).sum(axis=1).mean(), 2)
    np.testing.assert_allclose((more**2).sum(axis=1).mean(), 2)


@pytest.mark.parametrize("index", SYMMETRIC, ids=lambda index: index.name)
@pytest.mark.parametrize("p", [2, 3, 5, 7])
def test_functional_is_the_interaction_of_the_kernel(p, index):
    rng = np.random.default_rng(p)
    for reach in (0.02, 0.3, 1.2):
        hyper = EvenHyper(reach * rng.uniform(0.5, 1, p), 7.0, 0.03, 0.4, 0.6)
        truth = by_definition(cross(cube(p), cube(p), hyper), index)
        points = Pairs(cube(p), np.zeros((2**p, 1)))
        told = functional(points, hyper, all_pairs(p), index)
        np.testing.assert_allclose(told, truth, atol=1e-7)
        spread = np.diag(by_definition(truth.T, index))
        found = functional_variance(hyper, all_pairs(p), index)
        np.testing.assert_allclose(found, spread, atol=1e-6)
        weights = rng.normal(size=(2**p, 2))
        np.testing.assert_allclose(
            interactions(points, hyper, weights, index), truth @ weights, atol=1e-6
        )


def test_pairs_with_variances_of_their_own():
    """Kernel, functionals and variances, also of players, from the same list of variances."""
    rng, p = np.random.default_rng(0), 6
    plain = some_hyper(p, rng)
    same = replace(plain, each=plain.pair_variances[np.triu_indices(p, 1)])
    np.testing.assert_allclose(
        cross(cube(p), cube(p), same), cross(cube(p), cube(p), plain), atol=1e-12
    )
    hyper = replace(plain, each=rng.exponential(size=15))
    covariance = cross(cube(p), cube(p), hyper)
    np.testing.assert_allclose(variance(cube(p), hyper), np.diag(covariance), atol=1e-12)
    points, index = Pairs(cube(p), np.zeros((2**p, 1))), beta(1, 3)
    truth = by_definition(covariance)
    np.testing.assert_allclose(functional(points, hyper, all_pairs(p), SHAPLEY), truth, atol=1e-10)
    weights = rng.normal(size=(2**p, 2))
    found = interactions(points, hyper, weights, SHAPLEY)
    np.testing.assert_allclose(found, truth @ weights, atol=1e-10)
    spread = functional_variance(hyper, all_pairs(p), SHAPLEY)
    np.testing.assert_allclose(spread, np.diag(by_definition(truth.T)), atol=1e-10)
    players = enumerated(covariance, index, 1)
    np.testing.assert_allclose(player_functional(points, hyper, index), players, atol=1e-10)
    spread = np.diag(enumerated(players.T, index, 1))
    np.testing.assert_allclose(player_variance(hyper, index), spread, atol=1e-10)


def test_pairs_that_interact_are_told_from_those_that_do_not():
    """Three of 91, from 60 points: the variances of these three end up above all others."""
    rng, p = np.random.default_rng(0), 14
    signs = rng.choice([-1.0, 1.0], (60, p))
    pairs = [(0, 1), (2, 7), (5, 9)]
    values = sum(2.0 * (signs[:, i] * signs[:, j] - 1) for i, j in pairs)[:, None]
    points = Pairs(signs, values)
    hyper = EvenHyper(np.full(p, 0.1), 20.0, 0.05, 0.05)
    found = relevant(points, hyper)
    first, second = all_pairs(p)
    place = [np.flatnonzero((first == i) & (second == j))[0] for i, j in pairs]
    assert set(np.argsort(-found.each)[:3]) == set(place)
    assert (found.each > 0).all()

    def error(hyper):
        posterior = EvenPosterior(EvenProcess(points, hyper, SHAPLEY), values)
        truth = np.zeros(91)
        truth[place] = 8.0
        return ((posterior.interactions()[:, 0] - truth) ** 2).sum()

    assert error(found) < error(hyper) / 4


def test_variances_of_their_own_are_left_out_where_they_do_not_pay(monkeypatch):
    rng, p = np.random.default_rng(0), 5
    points, hyper = Pairs(cube(p)[1:15], rng.normal(size=(14, 1))), some_hyper(p, rng)
    found = relevant(points, hyper)
    assert found.each.shape == (10,)
    assert relevant(points, found) is found
    blocks = Blocks.of(np.array([[0], [1]]), np.full(2, 0.5))
    blocked = Pairs(points.signs, points.values, np.arange(14) % 2, blocks)
    assert relevant(blocked, hyper) is hyper
    monkeypatch.setattr("skshapley._even._relevance.MOST_PRODUCTS", 14 * 14 * 10 - 1)
    assert relevant(points, hyper) is hyper


def test_functional_with_many_players_agrees_with_many_nodes():
    """Few nodes suffice: 60 players of large reaches."""
    p, rng = 60, np.random.default_rng(0)
    hyper = EvenHyper(np.full(p, 0.3), 1.0, 0.0, 0.0)
    points = Pairs(rng.choice([-1.0, 1.0], (5, p)), np.zeros((5, 1)))
    which = all_pairs(p)[:, :30]
    u, weight = np.polynomial.legendre.leggauss(40)
    signs = np.vstack([points.signs, np.ones(p)])
    factors = 1 + u[:, None, None] * hyper.rho * signs
    product = np.exp(np.log(factors).sum(axis=2))
    i, j = which
    others = np.einsum("u,un,unm->nm", weight / 2, product, 1 / (factors[..., i] * factors[..., j]))
    both = signs[:, i] * signs[:, j]
    expected = 4 * hyper.rho[i] * hyper.rho[j] * both * (others - 1) / hyper.higher_scale
    expected += 4 * hyper.share[i] * hyper.share[j] * both / hyper.pairs_scale
    told = functional(points, hyper, which, SHAPLEY)
    np.testing.assert_allclose(told, (expected[:-1] - expected[-1]).T, rtol=1e-7, atol=1e-12)


def test_reaches_of_next_to_nothing_are_those_of_small_ones():
    """Rounding would be all that is left of interactions of four."""
    tiny = EvenHyper.from_vector(np.full(5, 1e-6), np.zeros(3))
    small = EvenHyper(np.full(5, 0.02), 1.0, 1.0, 1.0)
    found, expected = (cross(cube(5), cube(5), hyper) for hyper in (tiny, small))
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_size_part_is_alike_for_all_pairs():
    p = 6
    even = size_covariance(cube(p), cube(p))
    found = by_definition(even)
    np.testing.assert_allclose(found, np.broadcast_to(found[:1], found.shape), atol=1e-14)
    # the mean second difference telescopes to what the last step from the full coalition is
    depth = 1 - np.abs(cube(p).mean(axis=1))
    np.testing.assert_allclose(found[0], -2 / (p - 1) * np.minimum(depth, 2 / p))
    assert np.linalg.eigvalsh(even).min() > -1e-12


@pytest.mark.parametrize("p", [2, 3, 4, 7])
def test_single_players_have_an_effect_of_their_own(p):
    """Each by itself and all but it: one of p equal squares of the kernel, and nothing else."""
    by_size = np.minimum((cube(p) > 0).sum(axis=1), (cube(p) < 0).sum(axis=1))
    found, alone = single_covariance(cube(p), cube(p)), np.flatnonzero(by_size == 1)
    assert np.linalg.matrix_rank(found) == (p if p > 2 else 0)
    if p > 2:
        assert np.diag(found).nonzero()[0].tolist() == alone.tolist()
        same = np.abs(cube(p)[alone] @ cube(p)[alone].T) == p
        np.testing.assert_array_equal(found[np.ix_(alone, alone)], same)


def _squared_error_at_ten_evaluations_a_player(game):
    run = dict(n_players=12, interactions=True, random_state=0)
    exact = shapley_values(game, sampler="exact", **run).interactions.values
    found = shapley_values(game, sampler="odd", max_evals=120, **run).interactions.values
    return ((found - exact) ** 2).sum() / (exact**2).sum()


def test_means_over_members_are_told_by_what_each_is_worth_by_itself():
    """Squared means: .01 to .04; .10 to .15 without an effect of single players."""
    errors = []
    for seed in range(4):
        worth = np.random.default_rng(seed).exponential(size=12)
        errors.append(
            _squared_error_at_ten_evaluations_a_player(
                lambda S, w=worth: (S @ w / np.maximum(S.sum(axis=1), 1)) ** 2
            )
        )
    assert max(errors) < 0.07


def test_a_strong_effect_of_the_size_is_found():
    """Any number for each size, and little else: .000 to .07; .4 to 16 from the priors' means."""
    errors = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        worth, by_size = rng.exponential(size=12), rng.normal(size=13)
        errors.append(
            _squared_error_at_ten_evaluations_a_player(
                lambda S, w=worth, h=by_size: h[S.sum(axis=1)] + 0.3 * np.tanh(S @ w - 6)
            )
        )
    assert max(errors) < 0.2


@pytest.mark.parametrize("blocked", [False, True])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_gradient_agrees_with_finite_differences(blocked, n_outputs):
    rng = np.random.default_rng(0)
    p, n = 6, 30
    signs = rng.choice([-1.0, 1.0], (n, p))
    block = np.arange(n) % 4 if blocked else None
    blocks = Blocks.of(np.arange(8).reshape(4, 2), np.full(8, 1 / 8)) if blocked else None
    points = Pairs(signs, rng.normal(size=(n, n_outputs)), block, blocks)
    evidence = EvenEvidence(points, rng.uniform(0.05, 0.5, p))
    theta = evidence.priors[0] + 0.5 * rng.normal(size=6 if blocked else 4)
    gradient, step = evidence(theta)[1], 1e-4
    for j in range(len(theta)):
        shift = step * (np.arange(len(theta)) == j)
        slope = (evidence(theta + shift)[0] - evidence(theta - shift)[0]) / (2 * step)
        assert gradient[j] == pytest.approx(slope, rel=1e-4, abs=1e-4)


def test_fit_climbs_to_where_the_gradient_vanishes():
    p, rng = 6, np.random.default_rng(5)
    hyper, signs = some_hyper(p, rng), cube(p)[:31]
    factor = np.linalg.cholesky(gram(Pairs(signs, np.zeros((31, 1))), hyper))
    points = Pairs(signs, factor @ rng.normal(size=(31, 4)))
    evidence = EvenEvidence(points, hyper.reach)
    theta = fit_scalars(points, hyper.reach)
    value, gradient = evidence(theta)
    assert value < evidence(evidence.priors[0])[0]
    inside = (theta > evidence.priors[2] + 1e-6) & (theta < evidence.priors[3] - 1e-6)
    np.testing.assert_allclose(gradient[inside], 0, atol=0.05)


def test_posterior_agrees_with_brute_force():
    rng = np.random.default_rng(1)
    p = 6
    hyper = some_hyper(p, rng)
    place = 1 + rng.permutation(2 ** (p - 1) - 1)[:14]
    points = Pairs(cube(p)[place], rng.normal(size=(14, 2)))
    prior = cross(cube(p), cube(p), hyper)
    seen = prior[np.ix_(place, place)] + np.diag(noise(points.roughness, hyper))
    to_pairs = by_definition(np.eye(2**p))
    between = to_pairs @ prior[:, place]
    expected = to_pairs @ prior @ to_pairs.T - between @ np.linalg.solve(seen, between.T)
    posterior = EvenPosterior(EvenProcess(points, hyper, SHAPLEY), points.values)
    mean = between @ np.linalg.solve(seen, points.values)
    np.testing.assert_allclose(posterior.interactions(), mean, atol=1e-8)
    np.testing.assert_allclose(posterior.shapley(), mean, atol=1e-8)
    np.testing.assert_allclose(posterior.process.interaction_variance, np.diag(expected), atol=1e-8)


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
    at, block = cube(p)[[3, 12, 5, 9, 26, 7]], np.array([0, 0, 0, 1, 1, 1])
    points = Pairs(at, rng.normal(size=(6, 1)), block, Blocks.of(rows, weights))
    two = hyper.pairs * order_two(cube(p), cube(p), hyper)
    more = higher(cube(p), cube(p), hyper)
    size = hyper.size * size_covariance(cube(p), cube(p))
    size += hyper.single * single_covariance(cube(p), cube(p))
    shares = np.stack([np.bincount(part, minlength=b) / len(part) for part in rows])
    unit = (shares**2).sum(axis=1).mean()
    own = (hyper.pairs_spread * two + hyper.higher_spread * more) / unit
    joint = np.kron(np.ones((b, b)), two + more + size) + np.kron(np.eye(b), own)
    place = ((at > 0) @ (1 << np.arange(p))).astype(int)
    to_seen = np.einsum("nr,nc->nrc", shares[block], np.eye(2**p)[place]).reshape(6, -1)
    to_pairs = np.kron(weights, by_definition(np.eye(2**p)))
    seen = to_seen @ joint @ to_seen.T + np.diag(noise(points.roughness, hyper))
    between = to_pairs @ joint @ to_seen.T
    spread = to_pairs @ joint @ to_pairs.T - between @ np.linalg.solve(seen, between.T)
    posterior = EvenPosterior(EvenProcess(points, hyper, SHAPLEY), points.values)
    expected = between @ np.linalg.solve(seen, points.values)
    np.testing.assert_allclose(posterior.interactions(), expected, atol=1e-9)
    np.testing.assert_allclose(posterior.process.interaction_variance, np.diag(spread), atol=1e-8)


def test_many_pairs_are_worked_on_in_chunks(monkeypatch):
    rng = np.random.default_rng(3)
    p, hyper = 9, some_hyper(9, rng)
    points = Pairs(cube(p)[rng.permutation(255)[:20]], rng.normal(size=(20, 1)))
    whole = EvenProcess(points, hyper, SHAPLEY).interaction_variance
    monkeypatch.setattr("skshapley._even._posterior.MOST_WITNESSES", 7)
    monkeypatch.setattr("skshapley._even._posterior.CHUNK_NUMBERS", 100)
    some = EvenProcess(points, hyper, SHAPLEY)
    assert len(some.witnesses) == 7
    np.testing.assert_allclose(some.interaction_variance, whole, rtol=1e-12)
    np.testing.assert_allclose(some.shapley_variance, whole[some.witnesses], rtol=1e-12)


def test_left_out_values_are_predicted_from_the_others():
    rng = np.random.default_rng(3)
    p, hyper = 6, some_hyper(6, np.random.default_rng(3))
    points = Pairs(cube(p)[1 + rng.permutation(31)[:12]], rng.normal(size=(12, 1)))
    errors, variances = EvenPosterior(EvenProcess(points, hyper, SHAPLEY), points.values).left_out()
    for j in (0, 7):
        rest = points.take(np.delete(np.arange(12), j))
        other = EvenPosterior(EvenProcess(rest, hyper, SHAPLEY), rest.values)
        mean, spread = other.predict(points.signs[[j]])
        assert errors[j] == pytest.approx(points.values[j] - mean[0])
        assert variances[j] == pytest.approx(spread[0])


@pytest.mark.parametrize("noise", [0.05, 50.0])
def test_errors_allow_for_jumps_by_what_a_point_counts_in_a_plain_mean(noise):
    """What leaving out each point changes, or 2/n of the value, by processes that never saw it."""
    rng = np.random.default_rng(4)
    p, n = 6, 24
    values = np.where(rng.random((n, 1)) < 0.2, 1.0, 0.0)
    points = Pairs(cube(p)[rng.permutation(31)[:n] + 1], values)
    hyper = EvenHyper(rng.uniform(0.1, 0.5, p), 3.0, noise, 0.2)
    found = EvenPosterior(EvenProcess(points, hyper, SHAPLEY), values)
    counts = []
    for j in range(n):
        others = points.take(np.delete(np.arange(n), j))
        without = EvenPosterior(EvenProcess(others, hyper, SHAPLEY), others.values)
        change = np.sqrt(((found.interactions() - without.interactions()) ** 2).mean())
        missed = abs(values[j] - without.predict(points.signs[[j]])[0][0])[0]
        counts.append((change, 2 / n * missed))
    steady, plain = np.max(counts, axis=0)
    assert (steady < plain) == (noise > 1)
    repeated = (n - 2) / n
    jumps = (3 * repeated * max(steady, plain)) ** 2
    told = np.append(found.interactions(), 0.0)
    silent = (1.5 / n * (told.max() - told.min())) ** 2  # as they repeat; larger than the other two
    assert silent > (0.05 * repeated / n) ** 2 + (0.5 / n**2) ** 2
    errors = overlooked(found, np.full((15, 1), 0.7))
    np.testing.assert_allclose(errors**2, 0.49 + jumps + silent, rtol=1e-5)


def test_values_are_taken_from_the_full_coalition_of_their_block():
    signs = np.array([[1, 1, 1], [1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) * 1.0
    values, block = np.array([[5.0], [7.0], [1.0], [2.0], [3.0]]), np.array([1, 0, 1, 0, 1])
    blocks = Blocks.of(np.array([[0], [1]]), np.full(2, 0.5))
    found = relative(Pairs(signs, values, block, blocks))
    assert found.values[:, 0].tolist() == [-4.0, -5.0, -2.0]
    assert found.block.tolist() == [1, 0, 1]
    assert relative(Pairs(signs[1:], values[1:])).values[:, 0].tolist() == [-6.0, -5.0, -4.0]


def test_where_only_pairs_interact_least_squares_is_exact():
    p, rng = 6, np.random.default_rng(4)
    coefficients = rng.normal(size=15)
    points = cube(p)[rng.permutation(31)[:20]]
    first, second = all_pairs(p)
    values = (points[:, first] * points[:, second] - 1) @ coefficients
    both = np.column_stack([values, values + 0.1 * rng.normal(size=20), np.zeros(20)])
    found, witnesses, residual = quadratic(Pairs(points, both), np.full(3, 9.0))
    assert witnesses.tolist() == [5, 5, 20], "20 points, 15 unknowns, none where nothing varies"
    assert residual.tolist() == [False, True, False]
    np.testing.assert_allclose(found[:, 0], 4 * coefficients, atol=1e-12)
    assert not found[:, 1:].any()
    few, _, residual = quadratic(Pairs(points[:16], both[:16]), np.full(3, 9.0))
    assert residual.tolist() == [True, True, False], "one point to spare bears no witness"
    assert not few.any()


def test_blocks_that_are_pairwise_have_the_mean_of_their_solutions():
    p, rng = 4, np.random.default_rng(4)
    each = rng.normal(size=(2, 6))
    block = np.repeat([0, 1], 15)
    signs = np.tile(cube(p)[:15], (2, 1))
    first, second = all_pairs(p)
    products = signs[:, first] * signs[:, second] - 1
    values = np.einsum("nm,nm->n", products, each[block])[:, None]
    blocks = Blocks.of(np.array([[0], [1]]), np.array([0.3, 0.7]))
    found, witnesses, residual = quadratic(Pairs(signs, values, block, blocks), np.ones(1))
    assert witnesses == 15 - 6
    assert not residual.any()
    np.testing.assert_allclose(found[:, 0], 4 * (0.3 * each[0] + 0.7 * each[1]), atol=1e-12)
    unseen = Blocks.of(np.array([[0], [1]]), np.full(3, 1 / 3))
    assert quadratic(Pairs(signs, values, block, unseen), np.ones(1))[2].all()


def test_pairs_that_no_point_tells_apart_are_left_to_the_process():
    """Two players that are always together: their interaction cannot be seen."""
    rest = 2.0 * ((np.arange(8)[:, None] >> np.arange(3)) & 1) - 1
    signs = np.column_stack([rest[:, 0], rest])[:-1]
    signs = np.vstack([signs, signs[:2]])
    values = signs[:, :1] * signs[:, 2:3] - 1
    found, _, residual = quadratic(Pairs(signs, values), np.ones(1))
    assert residual.all()
    assert not found.any()


def few_terms(seed, p=9):
    """Products of two to four players: values at signs, and interactions by enumeration."""
    rng, signs = np.random.default_rng(seed), cube(p)
    terms = [rng.choice(p, size, replace=False) for size in (2, 2, 2, 2, 4, 4)]
    values = sum(rng.normal() * signs[:, t].prod(axis=1) for t in terms)[:, None]
    return signs, values, enumerated(values, SHAPLEY, 2)


def test_what_is_fitted_in_turn_is_nearer_to_the_truth():
    """Ratios of squared errors in 12 games, beside one step of each; .77 in the mean, measured."""
    ratios = []
    for seed in range(12):
        signs, values, truth = few_terms(seed)
        some = np.random.default_rng(seed).permutation(256)[:45]
        points = relative(Pairs(np.vstack([signs[-1:], signs[some]]), values[[-1, *some]]))
        reach = np.full(9, 0.2)
        theta, hyper = fit_even(points, reach)
        np.testing.assert_array_equal(theta, fit_scalars(points, reach))
        once = relevant(points, EvenHyper.from_vector(reach, theta))
        errors = []
        for fitted in (once, hyper):
            posterior = EvenPosterior(EvenProcess(points, fitted, SHAPLEY), points.values)
            errors.append(((posterior.interactions() - truth) ** 2).sum())
        ratios.append(errors[1] / errors[0])
    assert np.exp(np.mean(np.log(ratios))) < 0.9


def test_the_gradient_with_variances_of_their_own():
    rng, p = np.random.default_rng(0), 6
    points = Pairs(cube(p)[:20], rng.normal(size=(20, 1)))
    evidence = EvenEvidence(points, rng.uniform(0.1, 0.5, p), rng.exponential(size=15))
    theta = np.array([1.0, -2.0, -1.0, -0.5])
    _, slope = evidence(theta)
    for at in range(4):
        step = np.zeros(4)
        step[at] = 1e-5
        numeric = (evidence(theta + step)[0] - evidence(theta - step)[0]) / 2e-5
        assert slope[at] == pytest.approx(numeric, rel=1e-4)
