"""Stratified sampling: every stratum is sampled, and the second stage follows the variances."""

import numpy as np
import pytest

from skshapley import shapley_values
from skshapley._tools._counting import rounded
from skshapley._tools._moments import Moments
from skshapley.samplers import SamplerTask, Stratified
from skshapley.samplers._marginal import _level
from skshapley.solvers import SolverTask, StratifiedMean
from skshapley.stopping import StandardError
from skshapley.testing import RandomGame, brute_force

P = 5


def play(game, sampler, budget, seed, p=P):
    """Ask and tell until the budget is spent; return the designs and the estimate."""
    total, asked, designs = sampler.afford(budget, p, 1).n_draws, 0, []
    sampler.start(SamplerTask(p, [np.random.default_rng(seed)], total))
    full, none = game(np.ones((1, p), dtype=bool)), game(np.zeros((1, p), dtype=bool))
    solver = StratifiedMean().start(
        SolverTask(p, none.reshape(1, -1), full.reshape(1, -1))
    )
    while asked < total:
        n = sampler.draws_now(asked)
        design = sampler.ask(np.array([0]), n)
        values = game(design.coalitions[0]).reshape(1, len(design.coalitions[0]), -1)
        sampler.tell(np.array([0]), design, values)
        solver.update(np.array([0]), design, values)
        asked += n
        designs.append(design)
    return designs, solver.result()


def counts(design, p=P):
    cells = design.players[0] * p + design.strata[0]
    return np.bincount(cells, minlength=p * p).reshape(p, p)


def test_coalitions_have_the_stated_size_and_exclude_the_player():
    design = (
        Stratified()
        .start(SamplerTask(P, [np.random.default_rng(0)], 300))
        .ask(np.array([0]), 300)
    )
    pairs = design.coalitions[0].reshape(-1, 2, P)
    np.testing.assert_array_equal(pairs[:, 0].sum(axis=1), design.strata[0])
    own = np.arange(P) == design.players[0][:, None]
    np.testing.assert_array_equal(pairs[:, 1], pairs[:, 0] | own)
    assert not (pairs[:, 0] & own).any()


def test_coalitions_are_uniform_among_those_of_their_size():
    """Each of the C(4, 2) coalitions of player 0 and size 2; z of 5 over some thousand draws."""
    n = 60_000
    design = (
        Stratified()
        .start(SamplerTask(P, [np.random.default_rng(1)], n))
        .ask(np.array([0]), n)
    )
    mine = (design.players[0] == 0) & (design.strata[0] == 2)
    sets = design.coalitions[0, ::2][mine]
    found = np.unique(sets @ 2 ** np.arange(P), return_counts=True)[1]
    assert len(found) == 6
    assert (np.abs(found - len(sets) / 6) < 5 * np.sqrt(len(sets) * 5 / 36)).all()


def test_first_stage_is_balanced_and_draws_single_contributions_once():
    designs, _ = play(RandomGame(P, seed=0), Stratified(), 400, seed=0)
    assert len(designs) == 2
    first, both = counts(designs[0]), sum(counts(design) for design in designs)
    np.testing.assert_array_equal(both[:, [0, -1]], 1)
    assert np.ptp(first[:, 1:-1]) <= 1
    assert first.sum() - 2 * P == (both.sum() - 2 * P) // 2


@pytest.mark.parametrize(("allocation", "prior"), [("neyman", 4), ("castro", 0)])
def test_second_stage_follows_the_measured_variances(allocation, prior):
    """Final counts are proportional to deviations or variances, above the first stage."""
    game = RandomGame(P, seed=4)
    designs, _ = play(game, Stratified(allocation), 3000, seed=1)
    first = designs[0]
    worth = game(first.coalitions[0]).reshape(-1, 2)
    gains, cell = worth[:, 1] - worth[:, 0], first.players[0] * P + first.strata[0]
    inner = np.arange(P * P).reshape(P, P)[:, 1:-1]
    drawn = [gains[cell == c] for c in inner.ravel()]
    squares = np.array([part.var() * len(part) for part in drawn])
    degrees = np.array([len(part) - 1 for part in drawn])
    spread = (squares + prior * squares.sum() / degrees.sum()) / (degrees + prior)
    spread = spread.reshape(inner.shape)
    spread = np.sqrt(spread) if allocation == "neyman" else spread
    before = counts(designs[0])[:, 1:-1]
    total = before + counts(designs[1])[:, 1:-1]
    grown = total > before
    assert grown.any()
    ratio = total[grown] / spread[grown]
    np.testing.assert_allclose(ratio, ratio.mean(), rtol=0.05)
    assert (total[~grown] / spread[~grown] >= 0.95 * ratio.mean()).all()


def test_moments_are_merged():
    rng = np.random.default_rng(0)
    cells, values = np.repeat([3, 7], 20), rng.standard_normal((40, 2)) + 100
    state = Moments((1, P * P), (1, 2))
    order = rng.permutation(40)
    for part in (order[:13], order[13:]):
        state.add(np.array([0]), cells[None, part], values[None, part, None, None], 1)
    squares = state.products[0, [3, 7]].sum(axis=(1, 2, 3, 4))
    expected = [values[cells == c].var(axis=0, ddof=1).sum() for c in (3, 7)]
    np.testing.assert_allclose(squares / 19, expected)
    np.testing.assert_array_equal(state.units[0, [3, 7]], 20)


def test_unbiased_with_honest_errors():
    """The second stage's bias is far below the error: |z| < 5 over 300 runs, and coverage."""
    game = RandomGame(P, seed=2)
    truth = brute_force(game, P)
    runs = [play(game, Stratified(), 150, seed)[1] for seed in range(300)]
    values = np.array([run.values[0, :, 0] for run in runs])
    errors = np.array([run.standard_errors[0, :, 0] for run in runs])
    z = (values.mean(axis=0) - truth) / (values.std(axis=0, ddof=1) / np.sqrt(300))
    assert np.abs(z).max() < 5
    assert 0.88 < (np.abs(values - truth) <= 1.96 * errors).mean() < 0.99


def test_a_second_stage_helps_if_strata_differ():
    """A game of seven players that varies only near size 3, in two of five strata."""
    p = 7
    spiky = np.random.default_rng(0).standard_normal(2**p)

    def game(coalitions):
        size = coalitions.sum(axis=1)
        return np.where(size == 3, spiky[coalitions @ 2 ** np.arange(p)], 0.0)

    truth = brute_force(game, p)

    def error(sampler):
        runs = [
            play(game, sampler, 600, seed, p)[1].values[0, :, 0] for seed in range(100)
        ]
        return np.mean((np.array(runs) - truth) ** 2)

    even = Stratified()
    even.draws_now = lambda asked: even.n_draws_ - asked
    assert error(Stratified()) < 0.8 * error(even)


@pytest.mark.parametrize("p", [2, 3])
def test_few_players(p):
    """Two players leave no randomness."""
    game = RandomGame(p, seed=1)
    result = shapley_values(
        game, n_players=p, sampler="stratified", max_evals=40, random_state=0
    )
    if p == 2:
        np.testing.assert_allclose(result.values, brute_force(game, p), atol=1e-12)
        np.testing.assert_array_equal(result.standard_errors, 0)
    else:
        assert (
            np.abs(result.values - brute_force(game, p)) < 5 * result.standard_errors
        ).all()


@pytest.mark.parametrize("seed", range(5))
def test_the_smallest_budget_has_standard_errors(seed):
    """Two contributions in each stratum: with one, its variance is unknown."""
    game = RandomGame(P, seed=seed)
    result = shapley_values(
        game, n_players=P, sampler="stratified", max_evals=72, random_state=seed
    )
    assert (result.standard_errors > 0).all()
    with pytest.raises(ValueError, match="needs at least 72 evaluations"):
        shapley_values(game, n_players=P, sampler="stratified", max_evals=71)


def test_stops_when_accurate_enough():
    game = RandomGame(P, seed=1)
    result = shapley_values(
        game,
        n_players=P,
        sampler="stratified",
        max_evals=100_000,
        stopping=StandardError(atol=0.02),
        random_state=0,
    )
    assert result.converged
    assert result.standard_errors.max() <= 0.02


def test_allocations_fill_the_lowest_strata_and_rounding_keeps_the_sum():
    more = _level(np.array([1.0, 1.0, 2.0, 0.0]), np.array([9, 1, 0, 4]), 8)
    np.testing.assert_allclose(more, [0, 2, 6, 0])
    rng = np.random.default_rng(0)
    counts = np.array([rounded(rng, np.array([0.25, 1.5, 2.25])) for _ in range(4000)])
    assert (counts.sum(axis=1) == 4).all()
    np.testing.assert_allclose(counts.mean(axis=0), [0.25, 1.5, 2.25], atol=0.05)
