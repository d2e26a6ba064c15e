"""Maximum sample reuse compared with its definition, unbiased KernelSHAP, and simulation."""

from math import comb

import numpy as np
import pytest
from scipy.stats import norm, t

from skshapley import shapley_values
from skshapley.designs import CoalitionDesign
from skshapley.samplers import (
    Importance,
    Kernel,
    Leverage,
    OuterSizes,
    SamplerTask,
    SquareRoot,
)
from skshapley.solvers import SampleReuse, SolverTask
from skshapley.solvers._sample_reuse import errors_within
from skshapley.testing import HybridGame, explain_game

P = 6


def table(p=P, seed=0):
    return np.random.default_rng(seed).normal(size=2**p) + np.arange(2**p) / 2**p


def game(p=P, seed=0):
    values = table(p, seed)
    return lambda coalitions: values[coalitions @ (1 << np.arange(p))]


def truth(p=P, seed=0):
    return shapley_values(
        game(p, seed), n_players=p, sampler="exact", max_evals=2**p
    ).values


def solve(coalitions, expected, values, v_empty, v_full, **kwargs):
    solver = SampleReuse(kwargs.pop("centre", "line"))
    solver.start(
        SolverTask(coalitions.shape[1], np.array([[v_empty]]), np.array([[v_full]]))
    )
    design = CoalitionDesign(coalitions[None], expected_draws=expected[None], **kwargs)
    solver.update(np.array([0]), design, values[None, :, None])
    estimate = solver.result()
    return estimate.values[0, :, 0], estimate.standard_errors[0, :, 0]


@pytest.mark.parametrize("centre", ["line", "empty"])
def test_all_coalitions_give_the_exact_values(centre):
    inner = ((np.arange(1, 2**P - 1)[:, None] >> np.arange(P)) & 1).astype(bool)
    expected = np.array([comb(P, s) for s in inner.sum(axis=1)], dtype=float)
    v = table()
    values, errors = solve(
        inner, expected, game()(inner), v[0], v[-1], centre=centre, replacement=False
    )
    np.testing.assert_allclose(values, truth(), atol=1e-12)
    np.testing.assert_array_equal(errors, 0)


@pytest.mark.parametrize(
    "sampler", [Importance(), Leverage(False, True), SquareRoot()], ids=repr
)
def test_values_agree_with_the_definition(sampler):
    """Sum over draws of v(S) [1(i in S)/(p C(p-1, s-1)) - 1(i not in S)/(p C(p-1, s))]/p_S, for any
    law p_S, and the same for the empty and the full set once each, whose probability is
    1."""
    design = sampler.start(SamplerTask(P, [np.random.default_rng(1)], 30)).ask(
        np.array([0]), 30
    )
    coalitions, expected, v = design.coalitions[0], design.expected_draws[0], table()
    values = np.zeros(P)
    for coalition, of_size in zip(coalitions, expected, strict=True):
        s, worth = coalition.sum(), game()(coalition[None])[0] - v[0]
        draws = of_size / comb(P, s)  # how often this coalition is expected
        inside = 1 / (P * comb(P - 1, s - 1))
        outside = 1 / (P * comb(P - 1, s))
        values += worth * np.where(coalition, inside, -outside) / draws
    values += (
        v[-1] - v[0]
    ) / P  # full: 1/(P C(P-1, P-1)); empty, where v - v(empty) is 0: none
    found, _ = solve(
        coalitions,
        expected,
        game()(coalitions),
        v[0],
        v[-1],
        centre="empty",
        unit=design.unit,
        replacement=design.replacement,
    )
    np.testing.assert_allclose(found, values, atol=1e-12)


@pytest.mark.parametrize("ends", [(0.0, 1.0), (2.0, 0.0), (3.0, 5.0)])
def test_empty_and_full_set_are_exact(ends):
    """Only the full coalition differs from v(empty): no spread, and no division by 0."""

    def all_or_nothing(coalitions):
        return np.where(coalitions.all(axis=1), ends[1], ends[0])

    for sampler in (Importance(), SquareRoot()):
        result = shapley_values(
            all_or_nothing,
            n_players=P,
            sampler=sampler,
            solver=SampleReuse("empty"),
            max_evals=20,
            random_state=0,
        )
        np.testing.assert_allclose(
            result.values, (ends[1] - ends[0]) / P, rtol=0, atol=1e-12
        )
        # by luck: nobody can tell, and draws that agree may all have missed something
        assert (result.standard_errors > 0).all()
        assert (result.standard_errors <= 0.15 * np.ptp(ends)).all()


def test_empty_centre_is_unbiased_kernel_shap():
    """Covert & Lee (2021), Eqs 7, 8, 14: A^-1 (b - 1 (1'A^-1 b - v(1) + v(0))/(1'A^-1 1))."""
    rng = np.random.default_rng(1)
    sampler = Kernel(paired=False, replacement=True).start(SamplerTask(P, [rng], 40))
    design = sampler.ask(np.array([0]), 40)
    z = design.coalitions[0].astype(float)
    v, values = table(), game()(design.coalitions[0])
    sizes = np.arange(1, P)
    law = 1 / (sizes * (P - sizes))
    law = law / law.sum()
    together = (law * sizes * (sizes - 1) / (P * (P - 1))).sum()
    matrix = np.full((P, P), together) + np.diag(np.full(P, 0.5 - together))
    b = (z * (values - v[0])[:, None]).mean(axis=0)
    inverse = np.linalg.inv(matrix)
    ones = np.ones(P)
    excess = (ones @ inverse @ b - v[-1] + v[0]) / (ones @ inverse @ ones)
    expected = inverse @ (b - ones * excess)
    found, _ = solve(
        design.coalitions[0],
        design.expected_draws[0],
        values,
        v[0],
        v[-1],
        centre="empty",
    )
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize(
    "sampler",
    [
        pytest.param(
            SquareRoot(paired=False, replacement=True), marks=pytest.mark.slow
        ),
        pytest.param(SquareRoot(replacement=True), marks=pytest.mark.slow),
        SquareRoot(),
        Leverage(),
        pytest.param(Kernel(), marks=pytest.mark.slow),
        pytest.param(Importance(), marks=pytest.mark.slow),
        OuterSizes(),
    ],
    ids=repr,
)
def test_unbiased_with_honest_errors(sampler):
    """Mean of 400 runs within 5 standard errors of the truth (false alarm below 1e-5 a player), and
    nominal 95 % intervals that hold it in 92-98 of 100 cases, of which 6 players x 400
    runs have a standard deviation of at most 0.011, if the players of a run stand and
    fall together."""
    runs = 400
    instances = HybridGame(
        lambda S: game()(S > 0), np.ones((runs, P)), np.zeros((1, P))
    )
    found = explain_game(
        instances, sampler=sampler, solver="sample-reuse", max_evals=26
    )
    values, errors = found.values[:, :, 0], found.standard_errors[:, :, 0]
    deviation = values.std(axis=0)
    assert (abs(values.mean(axis=0) - truth()) < 5 * deviation / np.sqrt(runs)).all()
    held = abs(values - truth()) <= 1.96 * errors
    assert 0.92 <= held.mean() <= 0.98, held.mean()


@pytest.mark.parametrize("sampler", [Importance(), Leverage(False, True)], ids=repr)
def test_size_effects_are_removed(sampler):
    found = shapley_values(
        lambda S: 3.0 * S.sum(axis=1) - 1,
        n_players=P,
        sampler=sampler,
        solver=SampleReuse(),
        max_evals=20,
        random_state=0,
    )
    np.testing.assert_allclose(found.values, 3.0, atol=1e-12)


def test_random_rounding_of_draws_is_part_of_the_variance():
    """1.5 draws of 15 are one or two: half of the time c, half of the time 2 c."""
    pair = np.zeros((2, P), dtype=bool)
    pair[0, :2] = pair[1, 1:3] = True
    errors = errors_within(pair, np.full(2, 1.5), np.full((2, P, 1), 4.0), 1)
    np.testing.assert_allclose(errors, 0.5 * 4.0 * t.ppf(0.975, 1) / norm.ppf(0.975))


def test_square_root_law_has_the_least_variance():
    """Sum over players of the variance of one draw, for |v| = 1 with signs that cancel nothing."""

    def variance(law):
        size = np.arange(1, P)
        # sum_i c_i(S)^2 = (1/s + 1/(P - s))/C(P, s)^2, and p_S = law/C(P, s)
        return ((1 / size + 1 / (P - size)) / law).sum()

    best = variance(SquareRoot().size_law(P))
    for other in (Leverage().size_law(P), Kernel().size_law(P)):
        assert best < variance(other) - 1e-9
    rng = np.random.default_rng(0)
    for _ in range(20):
        law = SquareRoot().size_law(P) * rng.uniform(0.7, 1.4, P - 1)
        assert best <= variance(law / law.sum())


def test_attributions_add_up():
    v = table()
    result = shapley_values(
        game(), n_players=P, solver="sample-reuse", max_evals=20, random_state=0
    )
    assert result.values.sum() == pytest.approx(v[-1] - v[0])
