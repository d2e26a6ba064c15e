"""Sampler "odd-ranked": one design and one set of matrices for players by rank."""

import numpy as np
import pytest

from skshapley import ShapleyExplainer, shapley_values
from skshapley.samplers import Antithetic, Odd, RankedOdd, SamplerTask
from skshapley.testing import HybridGame, brute_force, explain_game

P = 11
RNG = np.random.default_rng(0)
FIRST = RNG.normal(size=(P, 24)) / np.sqrt(P)
SECOND = RNG.normal(size=24)
ROWS, REFERENCE = RNG.normal(size=(24, P)), RNG.normal(size=(1, P))


def perceptron(rows):
    return np.tanh(2 * np.asarray(rows) @ FIRST) @ SECOND


def attributions(row):
    def worth(coalitions):
        return perceptron(np.where(coalitions, row, REFERENCE))

    return brute_force(worth, P)


@pytest.fixture(scope="module")
def truth():
    return np.stack([attributions(row) for row in ROWS])


def explained(sampler, evals_a_player):
    game = HybridGame(perceptron, ROWS, REFERENCE)
    outcome = explain_game(
        game, sampler=sampler, max_evals=int(evals_a_player * P), random_state=0
    )
    return outcome.values[:, :, 0], outcome.standard_errors[:, :, 0]


def ratio(truth, sampler, other, evals_a_player):
    """Return the geometric mean over rows of the squared errors' ratio."""
    squared = [
        ((explained(name, evals_a_player)[0] - truth) ** 2).sum(axis=1)
        for name in (sampler, other)
    ]
    return np.exp(np.mean(np.log(squared[0]) - np.log(squared[1])))


def test_three_evaluations_a_player_are_a_third_of_permutations(truth):
    assert ratio(truth, RankedOdd(), Antithetic(), 3) < 1 / 3


def test_pairs_above_one_a_player_are_chosen(truth):
    """With a permutation and Hadamard rows, the ratio was .9."""
    assert ratio(truth, Odd(), Antithetic(), 2.5) < 0.5


def test_errors_are_near_those_of_fitted_hyper_parameters(truth):
    """At most 1.5 times the squared error on models, as the geometric mean of 24 rows."""
    assert ratio(truth, RankedOdd(), Odd(), 10) < 1.5


@pytest.mark.parametrize("evals_a_player", [6, 10])
def test_intervals_cover(truth, evals_a_player):
    """264 values, correlated within 24 rows: a share of .95 is known to about .03.

    Stated squared errors are 2.7 and 6.2 times the true ones.
    """
    values, errors = explained(RankedOdd(), evals_a_player)
    off = np.abs(values - truth)
    assert (off <= 1.96 * errors).mean() >= 0.88
    assert (errors**2).mean() < 10 * (off**2).mean()


def worths(family, rng):
    """Return the worth of all coalitions of 12 players."""
    cube = (np.arange(2**12)[:, None] >> np.arange(12)) & 1
    if family == "votes":
        votes = rng.integers(1, 13, 12)
        return (cube @ votes > votes.sum() / 2) * 1.0
    if family == "products":
        return np.prod(1 + cube * rng.normal(size=12), axis=1) - 1
    return np.sin(2 * cube @ rng.normal(size=12))


@pytest.mark.parametrize("family", ["votes", "products", "periodic"])
def test_errors_include_those_at_other_sizes_than_the_middle(family):
    covered = []
    for seed in range(20):
        values = worths(family, np.random.default_rng(seed))

        def game(coalitions, values=values):
            return values[coalitions @ (1 << np.arange(12))]

        result = shapley_values(
            game, n_players=12, sampler="odd-ranked", max_evals=180, random_state=seed
        )
        off = np.abs(result.values - brute_force(game, 12))
        covered.append(off <= 1.96 * result.standard_errors)
    assert np.mean(covered) > 0.88


def test_linear_games_have_errors_of_the_size_of_each_player():
    """As for "odd": the errors were 3/m of the range of all players, 19.5 for each one."""
    weights = np.append([1000.0, 1.0, -0.5], np.zeros(9))
    stated = [
        shapley_values(
            lambda S: S @ weights, n_players=12, sampler=sampler, max_evals=180
        ).standard_errors
        for sampler in ("odd", "odd-ranked")
    ]
    # 178/2 pairs less 12 coefficients; unused players count as the smallest effect
    m = 77
    sizes = np.where(weights, np.abs(weights), 0.5)
    np.testing.assert_allclose(stated, np.tile(1.5 * sizes / m, (2, 1)), rtol=1e-9)


def test_too_few_pairs_have_no_errors():
    _, errors = explained(RankedOdd(), 3)
    assert np.isnan(errors).all()


def test_values_do_not_depend_on_other_rows_or_names():
    """Renamed players have the same values if no effects tie: ranks do not know names."""
    explainer = ShapleyExplainer(perceptron, max_rows=80, random_state=0)
    together = explainer.fit(REFERENCE).explain(ROWS[:4])
    alone = explainer.explain(ROWS[2:3])
    np.testing.assert_allclose(alone.values[0], together.values[2], rtol=1e-9)
    order = np.random.default_rng(1).permutation(P)
    back = np.argsort(order)

    def renamed(rows):
        return perceptron(np.asarray(rows)[:, back])

    explainer = ShapleyExplainer(renamed, max_rows=80, random_state=0)
    other = explainer.fit(REFERENCE[:, order]).explain(ROWS[2:3, order])
    assert other.settings.sampler == "RankedOdd()"
    np.testing.assert_allclose(other.values[0], alone.values[0, order], rtol=1e-9)


@pytest.mark.parametrize("step", [0.0, 0.25])
def test_rows_are_solved_together_with_equal_bits(step):
    """Rows choose different candidates, and some outputs are linear."""
    slopes = np.random.default_rng(2).normal(size=P)

    def model(rows):
        total = np.zeros(len(rows))
        for j in range(P):
            total += np.sin(rows[:, j] * slopes[j]) * np.abs(rows[:, (7 * j + 1) % P])
        total = np.floor(total / step) * step if step else total
        return np.stack([total, rows[:, 0] - rows[:, 3], np.zeros(len(rows))], axis=1)

    explainer = ShapleyExplainer(model, max_rows=120, random_state=0).fit(REFERENCE)
    together = explainer.explain(ROWS)
    assert together.settings.sampler == "RankedOdd()"
    alone = [explainer.explain(ROWS[i : i + 1]) for i in range(len(ROWS))]
    for name in ("values", "standard_errors"):
        parts = np.concatenate([getattr(one, name) for one in alone])
        np.testing.assert_array_equal(parts, getattr(together, name))
    difference = ROWS[:, [0, 3]] - REFERENCE[:, [0, 3]]
    np.testing.assert_allclose(
        together.values[:, [0, 3], 1], difference * [1, -1], atol=1e-12
    )


def test_tied_players_have_random_ranks():
    """Votes of equal weight tie, so no player may be first in every run."""
    sampler, rows = RankedOdd(), np.arange(20)
    rngs = [np.random.default_rng(seed) for seed in rows]
    sampler.start(SamplerTask(9, rngs, n_draws=60))
    for n in (18, 42):
        design = sampler.ask(rows, n)
        won = design.coalitions.sum(axis=2, keepdims=True) > 4
        sampler.tell(rows, design, won.astype(float))
    assert len(np.unique(design.ranked[:, 0])) > 4


def test_more_than_500_players_are_refused():
    with pytest.raises(ValueError, match=r"at most 500 players; got 501.*antithetic"):
        shapley_values(
            lambda S: S.sum(axis=1), n_players=501, sampler="odd-ranked", max_evals=3000
        )
