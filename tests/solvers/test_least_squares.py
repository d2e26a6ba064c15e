"""Least squares compared with a Lagrange multiplier; errors compared with a jackknife."""

from math import comb

import numpy as np
import pytest

from skshapley._tools._moments import pooled_errors
from skshapley.designs import CoalitionDesign
from skshapley.samplers import Kernel, Leverage, SamplerTask
from skshapley.solvers import LeastSquares, SolverTask
from skshapley.testing import RandomGame

P = 5
GAME = RandomGame(P, seed=2)
ENDS = np.array([[False] * P, [True] * P])


def drawn(sampler, n_evals, seed=0):
    rngs = [np.random.default_rng(seed)]
    return sampler.start(SamplerTask(P, rngs, n_evals)).ask(
        np.zeros(1, dtype=int), n_evals
    )


def solved(*designs, game=GAME):
    ends = game(ENDS)
    solver = LeastSquares().start(SolverTask(P, ends[:1][:, None], ends[1:][:, None]))
    for design in designs:
        solver.update(
            np.zeros(1, dtype=int), design, game(design.coalitions[0])[None, :, None]
        )
    values, errors, *_ = solver.result()
    return values[0, :, 0], errors[0, :, 0]


def plain(coalitions, weights, game=GAME):
    """Solve min sum w (v(S) - v(empty) - S phi)^2 subject to sum phi = v(all) - v(empty)."""
    x = coalitions.astype(float)
    y = game(coalitions) - game(ENDS)[0]
    system = np.zeros((P + 1, P + 1))
    system[:P, :P] = (x.T * weights) @ x
    system[P, :P] = system[:P, P] = 1.0
    right = np.append((x.T * weights) @ y, game(ENDS)[1] - game(ENDS)[0])
    return np.linalg.solve(system, right)[:P]


def kernel_over_law(design):
    """Return w_S / p_S with the binomials in full (Lundberg & Lee 2017, Theorem 2)."""
    size = design.coalitions[0].sum(axis=1)
    choose = np.array([comb(P, s) for s in size])
    kernel = (P - 1) / (choose * size * (P - size))
    return kernel / (design.expected_draws[0] / choose)


SAMPLERS = {
    "kernel": Kernel(),
    "leverage": Leverage(),
    "kernel, again": Kernel(replacement=True),
    "leverage, singles": Leverage(paired=False, replacement=True),
}


@pytest.mark.parametrize("sampler", SAMPLERS.values(), ids=SAMPLERS)
def test_solution_of_the_constrained_problem(sampler):
    design = drawn(sampler, 20)
    values, _ = solved(design)
    expected = plain(design.coalitions[0], kernel_over_law(design))
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    "sampler", [Leverage(replacement=True), Leverage(paired=False, replacement=True)]
)
def test_errors_agree_with_the_jackknife(sampler):
    """HC3 over units is the exact sum of squared changes if each unit is omitted.

    The variances of all players are pooled, as Student's t with the remaining degrees
    of freedom.
    """
    design = drawn(sampler, 40)
    values, errors = solved(design)
    weights, coalitions = kernel_over_law(design), design.coalitions[0]
    changes = []
    for start in range(0, 40, design.unit):
        rest = np.delete(np.arange(40), np.arange(start, start + design.unit))
        changes.append(plain(coalitions[rest], weights[rest]) - values)
    squares, n = np.square(changes), len(changes)
    kurtosis = n * (squares**2).sum(axis=0) / squares.sum(axis=0) ** 2
    degrees = np.minimum(2 * n / (kurtosis - 1), n - 1)
    expected = pooled_errors(squares.sum(axis=0)[:, None], degrees[:, None], n - 1.0)[
        :, 0
    ]
    np.testing.assert_allclose(errors, expected, rtol=1e-8)


def test_enumerated_sizes_have_no_error():
    """All coalitions of sizes 1 and 4 are evaluated, and the game depends on the size only."""
    design = drawn(Kernel(), 28)
    size = design.coalitions[0].sum(axis=1)
    assert (size == 1).sum() == (size == 4).sum() == 5
    worths = np.array([0.0, 1, 0, 0, 1, 3])

    def bonus(coalitions):
        return worths[coalitions.sum(axis=1)]

    _, errors = solved(design, game=bonus)
    _, errors_of_all = solved(
        CoalitionDesign(
            design.coalitions,
            expected_draws=design.expected_draws,
            unit=2,
            replacement=True,
        ),
        game=bonus,
    )
    assert (errors < errors_of_all).all()


def test_full_enumeration_is_exact():
    design = drawn(Leverage(), 30)
    values, errors = solved(design)
    np.testing.assert_allclose(values, GAME.shapley_values, rtol=0, atol=1e-12)
    assert (errors == 0).all()


def test_collinear_coalitions_have_no_standard_error():
    """Players 3 and 4 are always together, so equal values are a guess without a known error."""
    coalitions = np.random.default_rng(0).random((40, P)) < 0.5
    coalitions[:, 4] = coalitions[:, 3]
    inner = coalitions.any(axis=1) & ~coalitions.all(axis=1)
    design = CoalitionDesign(
        coalitions[inner][None], expected_draws=np.full((1, inner.sum()), 5.0), unit=1
    )
    values, errors = solved(design)
    assert values[3] == pytest.approx(values[4])
    assert np.isnan(errors).all()


def test_few_units_have_no_standard_error():
    _, errors = solved(drawn(Leverage(replacement=True), 2 * P))
    assert np.isnan(errors).all()


def test_designs_add_up():
    rng = np.random.default_rng(3)
    first, second = (
        Leverage(replacement=True)
        .start(SamplerTask(P, [rng], n))
        .ask(np.zeros(1, dtype=int), n)
        for n in (20, 30)
    )
    coalitions = np.concatenate([first.coalitions, second.coalitions], axis=1)
    size = coalitions[0].sum(axis=1)
    expected = plain(coalitions[0], 1 / (size * (P - size)))
    values, _ = solved(first, second)
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-10)
