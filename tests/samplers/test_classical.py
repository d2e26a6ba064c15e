"""Classical Monte Carlo, and the optimised version of Grah & Thouvenot (2020), Algorithm 1."""

from math import comb

import numpy as np
import pytest
from scipy.stats import chisquare

from benchmarks.couples import make_couples
from skshapley import shapley_values
from skshapley.samplers import Classical, MonteCarlo, SamplerTask, SamplerTraits
from skshapley.solvers import MarginalMean, PermutationMean, SolverTask
from skshapley.testing import RandomGame, explain_game

D = 5
GAME = RandomGame(D, seed=4)
ENDS = GAME(np.array([[False] * D, [True] * D]))


def value(members):
    coalition = np.zeros((1, D), dtype=bool)
    coalition[0, members] = True
    return GAME(coalition)[0]


def algorithm_1(orders):
    """Grah & Thouvenot (2020), Algorithm 1, line by line; returns phi, sigma^2, new evaluations."""
    phi, variance = np.zeros(D), np.zeros(D)
    v_empty, v_full = value([]), value(range(D))
    n_evaluations = 2
    for t, order in enumerate(orders, start=1):
        a, b = v_empty, []
        for j in order:
            b = [*b, j]
            if len(b) < D:
                c = value(b)
                n_evaluations += 1
            else:
                c = v_full
            contribution = c - a
            if t > 1:
                variance[j] = (t - 2) / (t - 1) * variance[j] + (
                    contribution - phi[j]
                ) ** 2 / t
            phi[j] = (t - 1) / t * phi[j] + contribution / t
            a = c
    return phi, variance, n_evaluations


@pytest.mark.parametrize("parts", [[7], [1, 1, 5], [3, 40]])
def test_monte_carlo_with_permutation_mean_is_algorithm_1(parts, monkeypatch):
    """Values and online variances of the same permutations, for any size of the asks.

    Without the control variate, which is not in Algorithm 1.
    """
    monkeypatch.setattr("skshapley.solvers._positions.LEAST_DEGREES", np.inf)
    sampler = MonteCarlo(references="all").start(
        SamplerTask(D, [np.random.default_rng(1)], sum(parts))
    )
    solver = PermutationMean().start(SolverTask(D, ENDS[None, :1], ENDS[None, 1:]))
    orders = []
    for n in parts:
        design = sampler.ask(np.array([0]), n)
        values = GAME(design.coalitions[0])[None, :, None]
        sampler.tell(np.array([0]), design, values)
        solver.update(np.array([0]), design, values)
        orders.extend(design.permutations[0])
    phi, variance, _ = algorithm_1(orders)
    t = len(orders)
    values = solver.result().values[0, :, 0]
    np.testing.assert_allclose(values, phi, rtol=0, atol=1e-13)
    moments = solver._centring.moments()[0]
    spread = moments.products[0, 0, 0, 0, :, 0] / (t - 1)
    np.testing.assert_allclose(spread, variance, rtol=0, atol=1e-12)


def test_algorithm_1_has_the_sample_variance():
    orders = [np.random.default_rng(i).permutation(D) for i in range(30)]
    contributions = np.array([algorithm_1([order])[0] for order in orders])
    phi, variance, _ = algorithm_1(orders)
    np.testing.assert_allclose(phi, contributions.mean(axis=0), rtol=0, atol=1e-13)
    np.testing.assert_allclose(
        variance, contributions.var(axis=0, ddof=1), rtol=0, atol=1e-13
    )


@pytest.mark.parametrize("t", [1, 2, 3])
def test_optimised_monte_carlo_needs_t_times_d_minus_1_plus_2_evaluations(t):
    d = 40  # so many players that no coalition comes twice, but for the singletons
    seen = []

    def count(coalitions):
        seen.append(len(coalitions))
        return coalitions.sum(axis=1) * 1.0

    most = t * (d - 1) + 2
    result = shapley_values(
        count,
        n_players=d,
        sampler=MonteCarlo(references="all"),
        max_evals=most,
        random_state=0,
    )
    assert sum(seen) == result.n_evaluations == most
    orders = [np.random.default_rng(i).permutation(D) for i in range(t)]
    assert algorithm_1(orders)[2] == t * (D - 1) + 2


# --- classical Monte Carlo ------------------------------------------------------------


def test_classical_draws_are_pairs_that_differ_in_one_player():
    design = (
        Classical()
        .start(SamplerTask(D, [np.random.default_rng(0)], 50))
        .ask(np.array([0]), 50)
    )
    pairs = design.coalitions.reshape(50, D, 2, D)
    differ = pairs[:, :, 1] & ~pairs[:, :, 0]
    np.testing.assert_array_equal(
        differ, np.broadcast_to(np.eye(D, dtype=bool), differ.shape)
    )
    assert (pairs[:, :, 1] >= pairs[:, :, 0]).all()


def test_classical_coalitions_have_the_shapley_law():
    """p(S) = 1/(d C(d - 1, s)) for each player; chi-square, false alarms 1e-4 in all."""
    n, d = 20_000, 4
    design = (
        Classical()
        .start(SamplerTask(d, [np.random.default_rng(3)], n))
        .ask(np.array([0]), n)
    )
    before = design.coalitions.reshape(n, d, 2, d)[:, :, 0]
    names = before @ (1 << np.arange(d))
    for player in range(d):
        others = [m for m in range(2**d) if not m >> player & 1]
        seen = np.bincount(names[:, player], minlength=2**d)[others]
        expected = [n / (d * comb(d - 1, m.bit_count())) for m in others]
        assert seen.sum() == n
        assert chisquare(seen, expected).pvalue > 1e-4 / d


def larger_sets_first(p):
    return np.arange(1, p + 1) / (p * (p + 1) / 2)


def test_any_distribution_of_sizes_with_its_weights():
    """p_S = law(s)/C(d - 1, s), chi-square (false alarms 1e-4 in all), and weight law ratios."""
    n, d = 20_000, 4
    sampler = Classical(larger_sets_first).start(
        SamplerTask(d, [np.random.default_rng(3)], n)
    )
    design = sampler.ask(np.array([0]), n)
    before = design.coalitions.reshape(n, d, 2, d)[:, :, 0]
    names, law = before @ (1 << np.arange(d)), larger_sets_first(d)
    for player in range(d):
        others = [m for m in range(2**d) if not m >> player & 1]
        seen = np.bincount(names[:, player], minlength=2**d)[others]
        sizes = np.array([m.bit_count() for m in others])
        drawn = law[sizes] / [comb(d - 1, s) for s in sizes]
        assert chisquare(seen, n * drawn).pvalue > 1e-4 / d
        wanted = 1 / (
            d * np.array([comb(d - 1, s) for s in range(d)])[before[:, player].sum(1)]
        )
        ratio = wanted / drawn[[others.index(m) for m in names[:, player]]]
        np.testing.assert_allclose(design.weights[0, :, player], ratio)


@pytest.mark.parametrize(
    "law", [lambda p: np.full(p + 1, 1 / (p + 1)), lambda p: np.eye(p)[0], np.ones]
)
def test_invalid_distributions_are_refused_before_any_evaluation(law):
    def game(coalitions):
        raise AssertionError

    with pytest.raises(
        ValueError, match="positive probabilities, of sum 1, of the sizes 0 to 4"
    ):
        shapley_values(game, n_players=5, sampler=Classical(law), max_evals=40)


def test_classical_players_have_independent_draws():
    """Contributions add up to 1 along one permutation, but not over separate permutations."""

    def unanimity(coalitions):
        return coalitions.all(axis=-1) * 1.0

    rows = np.arange(4000)
    sampler = Classical().start(
        SamplerTask(3, [np.random.default_rng([1, i]) for i in rows], 1)
    )
    design = sampler.ask(rows, 1)
    # the solver shares out what the sum lacks, which makes them depend on each other
    values = design.contributions(unanimity(design.coalitions)[..., None])[:, 0, :, 0]
    correlation = np.corrcoef(values.T)
    assert np.abs(correlation[np.triu_indices(3, 1)]).max() < 4.3 / np.sqrt(
        4000
    )  # alarms 6e-5
    np.testing.assert_allclose(
        values.mean(axis=0), 1 / 3, atol=4.3 * np.sqrt(2 / 9 / 4000)
    )


def test_classical_contributions_cost_at_most_two_evaluations():
    result = shapley_values(
        GAME, n_players=D, sampler="classical", max_evals=2 * D * 3 + 2, random_state=0
    )
    assert result.n_evaluations <= 2 * D * 3 + 2
    with pytest.raises(ValueError, match="needs at least 12 evaluations"):
        shapley_values(GAME, n_players=D, sampler="classical", max_evals=11)


def test_classical_standard_errors():
    """Standard errors against the spread of 500 runs, within 15 %; and no bias, at 5 of them."""
    runs = np.arange(500)
    sampler = Classical().start(
        SamplerTask(D, [np.random.default_rng([2, i]) for i in runs], 60)
    )
    design = sampler.ask(runs, 60)
    solver = MarginalMean().start(
        SolverTask(D, np.full((500, 1), ENDS[0]), np.full((500, 1), ENDS[1]))
    )
    values = GAME(design.coalitions.reshape(-1, D)).reshape(500, -1, 1)
    solver.update(runs, design, values)
    estimate = solver.result()
    spread = estimate.values[:, :, 0].std(axis=0, ddof=1)
    errors = np.sqrt((estimate.standard_errors[:, :, 0] ** 2).mean(axis=0))
    np.testing.assert_allclose(errors, spread, rtol=0.2)
    off = estimate.values[:, :, 0].mean(axis=0) - GAME.shapley_values
    assert (np.abs(off) < 5 * spread / np.sqrt(500)).all()


@pytest.mark.slow
def test_figure_2_classical_and_optimised(monkeypatch):
    """Grah & Thouvenot (2020), Figure 2a, 4000 evaluations: .094 and .066, our couples.

    The paper counts draws, and leaves the gap of the classical scheme where it is.
    """
    keep = lambda means, variances, gain: (means, np.zeros_like(means))  # noqa: E731
    monkeypatch.setattr("skshapley.solvers._linear.without_gap", keep)

    class PlannedClassical(Classical):
        traits = SamplerTraits(goes_on=False)

    class PlannedMonteCarlo(MonteCarlo):
        traits = SamplerTraits(goes_on=False)

    game = make_couples(random_state=0)
    truth = game.shapley_values

    def error(sampler):
        outcome = explain_game(game, sampler=sampler, max_evals=4000)
        return np.linalg.norm(outcome.values - truth, axis=1).mean()

    assert error(PlannedClassical()) == pytest.approx(0.094, rel=0.1)
    assert error(PlannedMonteCarlo()) == pytest.approx(0.066, rel=0.1)
