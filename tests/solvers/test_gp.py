"""Solver "gp" and sampler "odd": exactness, enumeration, calibration, growth, blocks."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale
from sklearn.svm import SVC

from skshapley import ShapleyExplainer, shapley_values
from skshapley.samplers import Odd, OddLeverage, SamplerTask
from skshapley.samplers._odd_designs import (
    first_pairs,
    hadamard_pairs,
    leverage_pairs,
)
from skshapley.solvers import GaussianProcess, SolverTask
from skshapley.stopping import StandardError


def smooth_game(p, seed=0, order=4):
    """A sum of products of few players and a saturating sum; its truth comes from enumeration."""
    rng = np.random.default_rng(seed)
    terms = [
        rng.choice(p, rng.integers(1, order + 1), replace=False) for _ in range(3 * p)
    ]
    weights, slopes = rng.normal(size=3 * p), rng.uniform(0, 2 / p, p)

    def reward(coalitions):
        products = sum(
            w * coalitions[:, t].all(axis=1)
            for t, w in zip(terms, weights, strict=True)
        )
        return products + 5 * np.tanh(coalitions @ slopes)

    return reward


def run(reward, p, evals, **kwargs):
    kwargs = {"sampler": Odd(), "solver": GaussianProcess(), "random_state": 0} | kwargs
    return shapley_values(reward, n_players=p, max_evals=evals, **kwargs)


def exact(reward, p):
    return shapley_values(reward, n_players=p, sampler="exact", max_evals=2**p).values


@pytest.mark.parametrize("p", [3, 4, 5, 7])
def test_all_pairs_are_exact(p):
    values = np.random.default_rng(p).normal(size=(2**p, 2))
    result = run(lambda S: values[S @ (1 << np.arange(p))], p, 2**p)
    np.testing.assert_allclose(
        result.values, exact(lambda S: values[S @ (1 << np.arange(p))], p)
    )
    np.testing.assert_array_equal(result.standard_errors, 0)


def test_additive_and_pairwise_games_are_exact():
    p, rng = 12, np.random.default_rng(0)
    square, linear = rng.normal(size=(p, p)), rng.normal(size=p)

    def reward(S):
        return np.einsum("mi,ij,mj->m", S * 1.0, square, S * 1.0) + S @ linear

    result = run(reward, p, 4 * p)
    truth = (
        linear
        + np.diag(square)
        + ((square + square.T).sum(1) - 2 * np.diag(square)) / 2
    )
    np.testing.assert_allclose(result.values, truth, atol=1e-9)
    # 23 pairs, 11 of them beyond the players: they may have missed 3/11 of what a
    # player can bring
    expected = 1.5 / 11 * np.abs(truth)
    np.testing.assert_allclose(result.standard_errors, expected, rtol=1e-6)


def test_constant_outputs_are_zero_and_do_not_affect_others():
    p, reward = 10, smooth_game(10)
    for evals, error in (
        (60, np.nan),
        (224, 0.0),
    ):  # 29 pairs may have missed what varies
        both = run(
            lambda S: np.stack([reward(S), np.full(len(S), 3.0)], axis=1), p, evals
        )
        np.testing.assert_array_equal(both.values[:, 1], 0)
        np.testing.assert_array_equal(both.standard_errors[:, 1], error)
        np.testing.assert_allclose(both.values[:, 0], run(reward, p, evals).values)


def test_values_scale_with_the_outputs():
    p, reward = 10, smooth_game(10)
    small = run(lambda S: 1e-6 * reward(S), p, 60)
    once = run(reward, p, 60)
    np.testing.assert_allclose(small.values * 1e6, once.values, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        small.standard_errors * 1e6, once.standard_errors, rtol=1e-4
    )


@pytest.mark.parametrize("evals", [40, pytest.param(200, marks=pytest.mark.slow)])
def test_far_more_accurate_than_least_squares(evals):
    """Geometric mean over ten games of the ratio of squared errors (it is 1/3 to 1/100)."""
    p, ratios = 10, []
    for seed in range(10):
        reward = smooth_game(p, seed)
        truth = exact(reward, p)
        errors = [
            (
                (run(reward, p, evals, sampler=sampler, solver=solver).values - truth)
                ** 2
            ).sum()
            for sampler, solver in (("odd", "gp"), ("leverage", "least-squares"))
        ]
        ratios.append(np.log(errors[0] / errors[1]))
    assert np.mean(ratios) < np.log(0.5)


def test_intervals_cover():
    """Nominal 95 % over 12 games x 10 players.

    The share of a game has a standard deviation of .061 (48 games), and the mean one of
    .018. A true share of .95 gives less than .89 for 1 seed of 2000.
    """
    p, inside = 10, []
    for seed in range(12):
        reward = smooth_game(p, seed, order=5)
        result = run(reward, p, 80, random_state=seed)
        inside.append(
            abs(result.values - exact(reward, p)) <= 1.96 * result.standard_errors
        )
    assert 0.89 < np.mean(inside) <= 1


def test_few_pairs_have_no_standard_error():
    result = run(smooth_game(10), 10, 22)
    assert result.standard_errors is None
    assert np.isfinite(result.values).all()


@pytest.mark.parametrize("evals", [20, 22, 30, 60, 200, 1023])
def test_attributions_add_up_at_every_budget(evals):
    p, reward = 10, smooth_game(10)
    ends = np.repeat([[False], [True]], p, axis=1)
    result = run(reward, p, evals)
    assert result.values.sum() == pytest.approx(np.diff(reward(ends))[0], abs=1e-9)
    assert result.n_evaluations <= evals


def test_budgets_beyond_the_matrix_size(monkeypatch):
    """Random pairs and a regression reduce the error below that of the Gaussian process alone."""
    p = 14
    reward = smooth_game(p, 3, order=6)
    truth = exact(reward, p)
    monkeypatch.setattr("skshapley.samplers._odd.MOST_PAIRS", 60)
    errors = {}
    for evals in (122, 1600):
        runs = [run(reward, p, evals, random_state=seed) for seed in range(2)]
        errors[evals] = np.mean([((one.values - truth) ** 2).sum() for one in runs])
        spread = np.mean([(one.standard_errors**2).sum() for one in runs])
        assert 0.2 < spread / errors[evals] < 10
    assert errors[1600] < 0.5 * errors[122]


def test_sampling_continues_until_standard_errors_are_small():
    p, reward = 12, smooth_game(12)
    stopped = run(reward, p, 2000, stopping=StandardError(rtol=0.02))
    assert stopped.converged
    assert 50 < stopped.n_evaluations < 2000
    truth = exact(reward, p)
    assert abs(stopped.values - truth).max() < 3 * 0.02 * np.ptp(truth)


def ask_and_tell(sampler, reward, p, draws, rng):
    """Drive a sampler by hand; returns its designs and their values."""
    sampler.start(SamplerTask(p, [rng], sum(draws)))
    row, out = np.array([0]), []
    for n in draws:
        design = sampler.ask(row, n)
        values = reward(design.coalitions[0])[None, :, None]
        sampler.tell(row, design, values)
        out.append((design, values))
    return out


def test_chosen_pairs_are_more_accurate_than_random_ones():
    """The sum of log squared errors over 12 games is lower than with pairs by leverage score."""
    p, gains = 10, []
    for seed in range(12):
        reward = smooth_game(p, seed)
        truth, ends = exact(reward, p), reward(np.repeat([[False], [True]], p, axis=1))
        errors = []
        for sampler in (Odd(), OddLeverage()):
            parts = ask_and_tell(
                sampler, reward, p, (100,), np.random.default_rng(seed)
            )
            solver = GaussianProcess().start(
                SolverTask(p, ends[:1, None], ends[1:, None])
            )
            for design, values in parts:
                solver.update(np.array([0]), design, values)
            errors.append(((solver.result().values[0, :, 0] - truth) ** 2).sum())
        gains.append(np.log(errors[0] / errors[1]))
    assert np.mean(gains) < -0.2


def test_rows_share_a_design_but_no_order_of_players():
    """The pairs of two rows are the same up to the names of the players."""
    p, rows = 12, np.arange(2)
    rngs = [np.random.default_rng(seed) for seed in rows]
    design = Odd().start(SamplerTask(p, rngs, 80)).ask(rows, 80)
    first, second = design.coalitions
    assert (first != second).any()
    np.testing.assert_array_equal(first.sum(axis=1), second.sum(axis=1))


def test_some_chosen_pairs_have_sizes_by_leverage_score():
    """A free choice prefers sizes near p/2, and takes no pair of size four or less."""
    p = 16
    parts = ask_and_tell(Odd(), smooth_game(p), p, (150, 150), np.random.default_rng(0))
    size = parts[1][0].coalitions[0, ::2].sum(axis=1)
    assert (np.minimum(size, p - size) <= 4).mean() > 0.1


def test_pairs_are_distinct():
    p = 9
    parts = ask_and_tell(
        Odd(), smooth_game(p), p, (60, 30, 64, 200), np.random.default_rng(0)
    )
    coalitions = np.concatenate([design.coalitions[0] for design, _ in parts])
    inner = coalitions[(coalitions.sum(axis=1) % p) > 0]
    assert len(np.unique(inner, axis=0)) == len(inner) == 354


@pytest.mark.parametrize("p", [3, 5, 12, 40, 130])
@pytest.mark.parametrize("share", [1.0, 1.2, 1.5, 2, 5, 12])
def test_first_pairs_are_distinct_and_complete(p, share):
    n = min(int(share * p), 2 ** (p - 1) - 1)
    draws = Odd().start(SamplerTask(p, [np.random.default_rng(0)], 2 * n))
    coalitions = draws.ask(np.array([0]), 2 * n).coalitions[0]
    pairs = coalitions[2::2]  # the full and the empty coalition come first
    assert pairs.shape == (n, p)
    np.testing.assert_array_equal(coalitions[3::2], ~pairs)
    oriented = pairs ^ pairs[:, :1]
    assert len(np.unique(oriented, axis=0)) == n
    assert (pairs.any(axis=1) & ~pairs.all(axis=1)).all()


def test_the_smallest_budget_is_a_permutation_and_its_reverse():
    """Single players, without the last one, have .6 of squared error, and this .1."""
    p = 11
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X[:, :p])
    model = SVC(C=5).fit(X[:150], y[:150])
    places = 1 << np.arange(p)
    coalitions = np.arange(2**p)[:, None] & places > 0
    squared = []
    for row in X[[200, 202, 203, 300]]:
        rows = np.where(coalitions[:, None], row, X[:20])
        responses = model.decision_function(rows.reshape(-1, p))
        worths = responses.reshape(2**p, -1).mean(axis=1)
        reward = lambda S, worths=worths: worths[S @ places]  # noqa: E731
        truth = exact(reward, p)
        runs = [run(reward, p, 2 * p, random_state=seed) for seed in range(4)]
        errors = [((one.values - truth) ** 2).sum() for one in runs]
        squared.append(np.mean(errors) / (truth**2).sum())
    assert np.mean(squared) < 0.25


@pytest.mark.parametrize("b", [1, 5, 8, 100])
def test_the_error_names_the_smallest_budget(b):
    """A permutation and its reverse against one row: 2 (p - 1) model rows and the row itself."""
    X = np.random.default_rng(0).normal(size=(b + 1, 6))

    def explained(max_rows):
        model = lambda Z: np.tanh(np.asarray(Z).sum(axis=1))  # noqa: E731
        explainer = ShapleyExplainer(
            model, sampler="odd", max_rows=max_rows, random_state=0
        )
        return explainer.fit(X[:b]).explain(X[b:])

    with pytest.raises(ValueError, match="needs at least 11 model rows"):
        explained(10)
    assert np.isfinite(explained(11).values).all()


def test_hadamard_rows_are_orthogonal():
    rows = np.where(hadamard_pairs(np.random.default_rng(0), 8, 8), 1, -1)
    np.testing.assert_array_equal(rows @ rows.T, 8 * np.eye(8))


def test_leverage_pairs_have_the_expected_sizes():
    rng, p = np.random.default_rng(0), 9
    sizes, n = np.zeros(p + 1), 40
    for _ in range(300):
        pairs, expected = leverage_pairs(rng, p, n)
        small = np.minimum(pairs.sum(axis=1), p - pairs.sum(axis=1))
        sizes += np.bincount(small, minlength=p + 1)
        assert len(pairs) == n
        assert sum(expected[small == s][0] for s in np.unique(small)) == pytest.approx(
            n
        )
    for s in np.unique(small):
        assert sizes[s] / 300 == pytest.approx(expected[small == s][0], abs=0.15)


def largest_error(game, p, sampler, max_evals):
    truth = exact(game, p)
    off, errors = [], []
    for seed in range(3):
        result = run(
            game, p, max_evals, sampler=sampler, solver="auto", random_state=seed
        )
        off.append(np.abs(result.values - truth))
        errors.append(result.standard_errors)
    assert (np.array(off) <= 4 * np.array(errors) + 1e-9).all()
    return np.max(off)


def test_many_pairs_show_rare_values_to_the_fit():
    """An "and" of eleven in fourteen players is seen at eight of 750 pairs.

    Hyper-parameters fitted to 200 pairs, evenly spread, missed it. Values were off by
    .013, and are now off by less than .001.
    """

    def game(S):
        return S[:, 3:].all(axis=1) + 0.1 * S[:, 0]

    assert largest_error(game, 14, "odd", 1500) < 0.002


def test_evaluated_pairs_have_their_own_values():
    """A saturated game is rough at the outer sizes, which is noise to the prior.

    With 350 of 511 pairs, the posterior of the smooth part was off by .0012, and the
    values are off by .0001.
    """
    slopes = 3 * np.abs(np.random.default_rng(700).normal(size=10))
    assert largest_error(lambda S: np.tanh(S @ slopes), 10, "odd-ranked", 700) < 0.0004


def test_the_beginning_of_all_pairs_has_all_sizes():
    """A random 64 of the 2,047 pairs of twelve players have 2 of the 66 of size two."""
    for seed in range(20):
        first = first_pairs(np.random.default_rng(seed), 12, 2047)[:64]
        size = np.minimum(first.sum(axis=1), 12 - first.sum(axis=1))
        counts = np.bincount(size, minlength=7)[1:]
        assert counts[0] == 12
        assert counts.min() >= 5


class Rows:
    """The game of a model on background rows, evaluated by hand against blocks of them."""

    def __init__(self, p, b, seed=0, weights=None):
        rng = np.random.default_rng(seed)
        self.weights = np.full(b, 1 / b) if weights is None else weights
        self.x, self.rows = rng.normal(size=p), rng.normal(size=(b, p))
        self.pairs, self.slopes = rng.integers(0, p, (8, 3)), rng.normal(size=p)

    def model(self, z):
        return z @ self.slopes + z[..., self.pairs].prod(axis=-1).sum(axis=-1)

    def __call__(self, coalitions, references=None):
        if references is None:
            return (
                self.model(np.where(coalitions[:, None], self.x, self.rows))
                @ self.weights
            )
        return self.model(
            np.where(coalitions[:, None], self.x, self.rows[references])
        ).mean(axis=1)


@pytest.fixture
def small_blocks(monkeypatch):
    """Let blocks share fewer pairs, which takes a tenth of the time."""
    monkeypatch.setattr("skshapley.samplers._odd_designs.MOST_BLOCK_PAIRS", 520)


def solve_blocks(game, p, b, evals, seed):
    n, row = Odd().afford(evals * b, p, b).n_draws, np.array([0])
    design = (
        Odd()
        .start(SamplerTask(p, [np.random.default_rng(seed)], n, game.weights))
        .ask(row, n)
    )
    references = design.coalition_references
    values = game(design.coalitions[0], None if references is None else references[0])
    ends = game(np.repeat([[False], [True]], p, axis=1))
    solver = GaussianProcess().start(SolverTask(p, ends[:1, None], ends[1:, None]))
    solver.update(row, design, values[None, :, None])
    return design, solver.result()


def test_blocks_of_rows_increase_accuracy(small_blocks):
    """At equal model rows, four seeds: blocks against the whole background for every pair."""
    p, b = 10, 24
    game = Rows(p, b)
    truth = exact(game, p)
    gains = []
    for seed in range(4):
        design, estimate = solve_blocks(game, p, b, 40, seed)
        assert design.block.max() + 1 == 24
        assert np.isfinite(estimate.standard_errors).all()
        whole = run(game, p, 42, random_state=seed).values
        error = ((estimate.values[0, :, 0] - truth) ** 2).sum()
        gains.append(np.log(error / ((whole - truth) ** 2).sum()))
    assert np.mean(gains) < np.log(0.5)


@pytest.mark.parametrize("heaviest", [1, 9])
def test_blocks_of_rows_are_more_accurate_than_permutations(small_blocks, heaviest):
    """At equal model rows, eight rows, equal and unequal weights: half the error."""
    rng = np.random.default_rng(0)
    rows, X = rng.normal(size=(24, 10)), rng.normal(size=(8, 10))

    def function(Z):
        return np.tanh(Z[:, ::2].sum(axis=1)) + Z[:, 0] * Z[:, 1] * Z[:, 2] * np.cos(
            Z[:, 5]
        )

    def explained(sampler, max_rows=40 * 24 + 1):
        explainer = ShapleyExplainer(
            function, sampler=sampler, max_rows=max_rows, random_state=0
        )
        return (
            explainer.fit(rows, sample_weight=np.linspace(1, heaviest, 24))
            .explain(X)
            .values
        )

    truth = explained("exact", 1022 * 24 + 1)
    blocks, walks = (
        ((explained(s) - truth) ** 2).sum(axis=1) for s in ("odd", "antithetic")
    )
    assert np.mean(np.log(blocks) - np.log(walks)) < np.log(0.5)


def test_every_row_is_used_equally_often(small_blocks):
    p, b = 10, 30
    design, _ = solve_blocks(Rows(p, b), p, b, 100, 0)
    assert 1 < design.block.max() + 1 < b
    used = np.bincount(design.coalition_references[0].ravel(), minlength=b)
    assert used.min() == used.max() > 0
    assert design.blocks[0].complete


@pytest.mark.parametrize(
    ("p", "n_pairs", "in_blocks"),
    [(8, 42, True), (8, 43, False), (30, 1490, True), (30, 1510, False)],
)
def test_blocks_depend_on_the_whole_budget(p, n_pairs, in_blocks):
    """No blocks from a third of all 127 pairs on, or with more than half of 3000 per block."""
    n = 2 * n_pairs
    rows = 210  # five for each pair a player
    sampler = Odd().start(
        SamplerTask(p, [np.random.default_rng(0)], n, np.full(rows, 1 / rows))
    )
    assert (sampler.ask(np.array([0]), n).block is not None) == in_blocks


@pytest.mark.parametrize("heaviest", [1, 3])
def test_blocks_of_an_additive_model_are_exact(heaviest):
    """Each background row has its own block and enough pairs for an exact solution."""
    p, b = 8, 20
    weights = np.linspace(1, heaviest, b)
    game = Rows(p, b, weights=weights / weights.sum())
    game.pairs = game.pairs[:0]
    design, estimate = solve_blocks(game, p, b, 40, 0)
    assert design.block is not None
    truth = game.slopes * (game.x - game.weights @ game.rows)
    np.testing.assert_allclose(estimate.values[0, :, 0], truth, atol=1e-9)


def test_heavy_rows_have_more_pairs_and_every_row_is_used():
    p, b = 8, 30
    weights = np.r_[np.full(b - 1, 0.5), 0.5 * (b - 1)] / (b - 1)
    sampler = Odd().start(SamplerTask(p, [np.random.default_rng(0)], 12, weights))
    design = sampler.ask(np.array([0]), 12)
    used = np.bincount(design.coalition_references[0].ravel(), minlength=b)
    assert used.min() > 0
    assert used.sum() == 14 * b  # twelve coalitions paid for on each row, and the ends
    assert (
        used[-1] == 2 * (1 + 75) + 2
    )  # a pair, half of the 150 beyond one each, and the ends
