from math import comb

import numpy as np
import pytest

from benchmarks.couples import make_couples
from skshapley import shapley_values
from skshapley.designs import CoalitionDesign
from skshapley.samplers import (
    Importance,
    Kernel,
    Leverage,
    SamplerTask,
    SamplerTraits,
    Uniform,
)
from skshapley.solvers import ProjectedSGD, SolverTask
from skshapley.testing import RandomGame, StackedGame, explain_game

from .dykstra import dykstra

D = 5
GAME = RandomGame(D, seed=7)
ENDS = GAME(np.array([[False] * D, [True] * D]))


def draw(sampler, n, seeds=(0,), d=D):
    sampler.start(SamplerTask(d, [np.random.default_rng(seed) for seed in seeds], n))
    return sampler.ask(np.arange(len(seeds)), n)


def drive(solver, design, game=GAME):
    """Feed the values of a design to a solver; all rows have the same game."""
    r, m, p = design.coalitions.shape
    ends = game(np.array([[False] * p, [True] * p])).reshape(2, -1)
    values = game(design.coalitions.reshape(-1, p)).reshape(r, m, -1)
    solver.start(SolverTask(p, np.tile(ends[0], (r, 1)), np.tile(ends[1], (r, 1))))
    solver.update(np.arange(r), design, values)
    return solver


# --- the algorithm is the paper's -----------------------------------------------------


def text_of_the_paper(coalitions, step, radius, bound):
    """Grah & Thouvenot (2020), section 4, by enumeration of all coalitions; returns all iterates.

    The gradient is that of F, importance probabilities are L_i / sum L, the projection
    Dykstra's.
    """
    masks = (np.arange(1, 2**D - 1)[:, None] >> np.arange(D)) & 1
    sizes = masks.sum(axis=1)
    n = 2**D - 2
    w = np.array([(D - 1) / (comb(D, s) * s * (D - s)) for s in sizes])
    bounds = 2 * n * w * np.sqrt(sizes) * (radius * np.sqrt(sizes) + bound)
    p = bounds / bounds.sum()
    total = ENDS[1] - ENDS[0]
    phi = np.full(D, total / D)
    path = [phi]
    for t, coalition in enumerate(coalitions, start=1):
        i = np.flatnonzero((masks == coalition).all(axis=1))[0]
        x, y = masks[i], GAME(coalition[None])[0] - ENDS[0]
        gradient = 2 * n * (w[i] * (x @ phi) * x - w[i] * y * x)
        moved = phi - step(t) * gradient / (n * p[i])
        phi = dykstra(moved[None, :, None], np.array([[total]]), radius)[0, :, 0]
        path.append(phi)
    return np.array(path)


def code_of_the_authors(coalitions, step):
    """The update of shapkit: half the gradient, D = C sqrt(d), and no ball."""
    sizes = np.arange(1, D)
    law = (np.sqrt(sizes) * np.sqrt(D) + 1) / (np.sqrt(sizes) * (D - sizes))
    total = ENDS[1] - ENDS[0]
    phi = np.full(D, total / D)
    path = []
    for t, coalition in enumerate(coalitions, start=1):
        x, s = coalition.astype(float), coalition.sum()
        w = (D - 1) / (comb(D, s) * s * (D - s))
        p = (law / law.sum())[s - 1] / comb(D, s)
        y = GAME(coalition[None])[0] - ENDS[0]
        phi = phi - step(t) / p * w * (x @ phi - y) * x
        phi = phi - (phi.sum() - total) / D
        path.append(phi)
    return np.array(path)


STEPS = {
    "constant": lambda g: lambda t: g,
    "sqrt": lambda g: lambda t: g / np.sqrt(t),
    "inverse": lambda g: lambda t: g / t,
}


@pytest.mark.parametrize("step", STEPS)
def test_updates_agree_with_the_text_with_half_its_step(step):
    gamma = {"constant": 0.05, "sqrt": 0.1, "inverse": 1.0}[step]
    radius, bound = 1.1 * abs(ENDS[1] - ENDS[0]), 2.0
    design = draw(Importance(ratio=radius / bound), 200)
    path = text_of_the_paper(
        design.coalitions[0], STEPS[step](gamma / 2), radius, bound
    )
    solver = ProjectedSGD(
        step,
        step_size=gamma,
        averaging="none",
        batch_size=1,
        radius=radius,
        trace_every=1,
    )
    trace = drive(solver, design).trace_
    np.testing.assert_allclose(trace.iterates[:, 0, :, 0], path, rtol=0, atol=1e-8)
    touching = np.abs(np.linalg.norm(path, axis=1) - radius) < 1e-6
    assert touching.any()  # the ball has been met, so that it too was compared
    assert not touching.all()


@pytest.mark.parametrize("step", STEPS)
def test_updates_agree_with_the_code_of_the_authors(step):
    design = draw(Importance(), 200)
    path = code_of_the_authors(design.coalitions[0], STEPS[step](0.05))
    result = drive(ProjectedSGD(step, step_size=0.05, batch_size=1), design).result()
    np.testing.assert_allclose(
        result.values[0, :, 0], path.mean(axis=0), rtol=0, atol=1e-12
    )


def test_text_and_code_give_the_same_run():
    design = draw(Importance(), 100)
    text = text_of_the_paper(
        design.coalitions[0], lambda t: 0.01, 1e6, 1e6 / np.sqrt(D)
    )
    code = code_of_the_authors(design.coalitions[0], lambda t: 0.02)
    np.testing.assert_allclose(text[1:], code, rtol=0, atol=1e-10)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 100])
def test_averaged_iterates(n):
    design = draw(Importance(), n)

    def run(averaging):
        solver = ProjectedSGD(averaging=averaging, batch_size=1, trace_every=1)
        trace = drive(solver, design).trace_
        np.testing.assert_array_equal(solver.result().values, trace.averages[-1])
        return trace.iterates[:, 0, :, 0], trace.averages[-1][0, :, 0]

    path, last = run("none")
    np.testing.assert_array_equal(last, path[-1])
    np.testing.assert_allclose(
        run("uniform")[1], path[1:].mean(axis=0), rtol=0, atol=1e-12
    )
    weights = np.arange(1, n + 2)
    weighted = 2 / ((n + 1) * (n + 2)) * (weights[:, None] * path).sum(axis=0)
    np.testing.assert_allclose(run("weighted")[1], weighted, rtol=0, atol=1e-12)
    first = max(
        1, 2 ** int(np.log2(n)) // 2
    )  # the iterate at the last power of two but one
    np.testing.assert_allclose(
        run("tail")[1], path[first:].mean(axis=0), rtol=0, atol=1e-12
    )
    assert n < 16 or 0.5 <= (n + 1 - first) / n <= 0.78


@pytest.mark.parametrize("batch_size", [2, 7, 50])
def test_batch_is_one_step_along_the_mean_gradient(batch_size):
    design = draw(Leverage(replacement=True), 50)
    gamma, mu = 0.03, 1 - 1 / D
    phi = np.full(D, (ENDS[1] - ENDS[0]) / D)
    size = design.coalitions[0].sum(axis=1)
    weight = (D - 1) ** 2 / (size * (D - size))
    for start in range(0, 50, batch_size):
        batch = slice(start, min(start + batch_size, 50))
        x = design.coalitions[0, batch].astype(float)
        y = GAME(design.coalitions[0, batch]) - ENDS[0]
        b = len(x)
        step = b * gamma / (1 + (b - 1) * mu * gamma)
        phi = phi - step * (weight[batch, None] * (x @ phi - y)[:, None] * x).mean(
            axis=0
        )
        phi = phi - (phi.sum() - (ENDS[1] - ENDS[0])) / D
    solver = ProjectedSGD(step_size=gamma, averaging="none", batch_size=batch_size)
    result = drive(solver, design).result()
    np.testing.assert_allclose(result.values[0, :, 0], phi, rtol=0, atol=1e-12)


# --- it goes to the Shapley values ----------------------------------------------------


@pytest.mark.parametrize(
    ("sampler", "batch_size"),
    [
        (Importance(), 1),
        (Importance(ratio=0.1), 1),
        (Uniform(), 1),
        (Leverage(paired=False, replacement=True), 1),
        (Kernel(paired=False, replacement=True), 1),
        (Leverage(replacement=True), 2),
        (Kernel(replacement=True), 2),
        (Importance(), 8),
    ],
    ids=repr,
)
def test_mean_path_is_gradient_descent(sampler, batch_size):
    """E phi_t - phi* = (1 - gamma mu)^t (phi_0 - phi*), exactly, as X'WX is mu I on sum zero.

    A chi-square over the d - 1 free coordinates of the mean over 1000 runs; false
    alarms 1e-4.
    """
    runs, n, gamma, mu = 1000, 48, 0.05, 1 - 1 / D
    design = draw(sampler, n, seeds=range(runs))
    solver = ProjectedSGD(step_size=gamma, averaging="none", batch_size=batch_size)
    values = drive(solver, design).result().values[:, :, 0]
    step = batch_size * gamma / (1 + (batch_size - 1) * mu * gamma)
    start = np.full(D, (ENDS[1] - ENDS[0]) / D)
    left = (1 - step * mu) ** (n // batch_size)
    assert 0.05 < left < 0.5  # neither still at the start nor at the end
    expected = GAME.shapley_values + left * (start - GAME.shapley_values)
    off = (values.mean(axis=0) - expected)[:-1]
    covariance = np.cov(values[:, :-1].T) / runs
    assert off @ np.linalg.solve(covariance, off) < 23.5  # chi-square(4), 1 - 1e-4


@pytest.mark.parametrize("step", ["constant", "sqrt", "inverse"])
@pytest.mark.parametrize(
    "sampler", ["importance", "uniform", Leverage(replacement=True)], ids=repr
)
def test_error_falls_with_the_budget(step, sampler):
    """20 runs; the mean squared error falls like 1/T in theory, by 16 here. The test requires 6."""
    game = StackedGame([RandomGame(6, seed=s) for s in range(20)])

    def error(max_evals):
        result = shapley_values(
            game,
            n_players=6,
            sampler=sampler,
            solver=ProjectedSGD(step, averaging="tail"),
            max_evals=max_evals,
            random_state=3,
        )
        return ((result.values - game.shapley_values) ** 2).mean()

    assert error(64_000) < error(4_000) / 6


def test_additive_games_are_solved():
    """Without noise at the solution a constant step converges geometrically, to rounding."""
    weights = np.array([3.0, -1.0, 0.5, 0.0])
    result = shapley_values(
        lambda S: S @ weights + 2,
        n_players=4,
        solver=ProjectedSGD(averaging="none", batch_size=1),
        max_evals=2000,
        random_state=0,
    )
    np.testing.assert_allclose(result.values, weights, rtol=0, atol=1e-12)


# --- it keeps the rules of the house --------------------------------------------------


def test_default_draws_use_the_importance_distribution():
    by_name = shapley_values(
        GAME, n_players=D, solver="sgd", max_evals=100, random_state=1
    )
    spelt = shapley_values(
        GAME,
        n_players=D,
        sampler=Importance(),
        solver=ProjectedSGD(),
        max_evals=100,
        random_state=1,
    )
    np.testing.assert_array_equal(by_name.values, spelt.values)
    assert by_name.standard_errors is None
    assert by_name.n_evaluations <= 100


@pytest.mark.parametrize("radius", [None, 50.0])
@pytest.mark.parametrize("averaging", ["none", "uniform", "weighted", "tail"])
def test_rows_do_not_depend_on_other_rows(averaging, radius):
    game = StackedGame([RandomGame(D, seed=1), RandomGame(D, seed=2)])
    design = draw(Importance(), 100, seeds=range(7))
    solver = ProjectedSGD(averaging=averaging, batch_size=16, radius=radius)
    together = drive(solver, design, game).result().values
    assert together.shape == (7, D, 2)
    for i in range(7):
        own = CoalitionDesign(
            design.coalitions[[i]],
            expected_draws=design.expected_draws[[i]],
            replacement=True,
        )
        np.testing.assert_array_equal(
            drive(solver, own, game).result().values[0], together[i]
        )


def test_updates_of_some_rows_equal_separate_runs():
    designs = [draw(Importance(), 60, seeds=[s]) for s in (1, 2)]
    solver = ProjectedSGD(averaging="tail", batch_size=20)
    ends = np.tile(ENDS, (3, 1))
    solver.start(SolverTask(D, ends[:, :1], ends[:, 1:]))
    for design in designs:
        solver.update(np.array([2]), design, GAME(design.coalitions[0])[None, :, None])
    alone = solver.result().values
    solver.start(SolverTask(D, ends[:1, :1], ends[:1, 1:]))
    for design in designs:
        solver.update(np.array([0]), design, GAME(design.coalitions[0])[None, :, None])
    np.testing.assert_array_equal(alone[2], solver.result().values[0])
    np.testing.assert_array_equal(
        alone[:2], np.full((2, D, 1), (ENDS[1] - ENDS[0]) / D)
    )


@pytest.mark.parametrize("d", [1, 2, 2000])
def test_any_number_of_players(d):
    weights = np.linspace(-1, 2, d)
    result = shapley_values(
        lambda S: S @ weights, n_players=d, solver="sgd", max_evals=4200, random_state=0
    )
    assert np.isfinite(result.values).all()
    np.testing.assert_allclose(result.values.sum(), weights.sum(), rtol=1e-12)
    if d < 2000:
        np.testing.assert_allclose(result.values, weights, rtol=0, atol=1e-2)
    else:
        start = np.full(d, weights.mean())
        assert np.linalg.norm(result.values - weights) < np.linalg.norm(start - weights)


def test_every_iterate_is_feasible():
    design = draw(Uniform(), 300)
    radius = 1.2 * abs(ENDS[1] - ENDS[0])
    trace = drive(
        ProjectedSGD(step_size=0.5, radius=radius, trace_every=1), design
    ).trace_
    norms = np.linalg.norm(trace.iterates[:, 0, :, 0], axis=1)
    assert norms.max() <= radius * (1 + 1e-12)
    np.testing.assert_allclose(
        trace.iterates.sum(axis=2), ENDS[1] - ENDS[0], rtol=0, atol=1e-12 * radius
    )


def test_trace_records_the_iterates():
    design = draw(Importance(), 100)
    trace = drive(ProjectedSGD(batch_size=8, trace_every=4), design).trace_
    assert trace.n_coalitions.tolist() == [0, 32, 64, 96]
    head = CoalitionDesign(
        design.coalitions[:, :64], expected_draws=design.expected_draws[:, :64] * 0.64
    )
    until = drive(ProjectedSGD(batch_size=8, trace_every=4), head).trace_
    np.testing.assert_allclose(trace.averages[2], until.averages[2], rtol=0, atol=1e-12)


def test_trace_is_optional():
    with pytest.raises(
        AttributeError, match="ProjectedSGD has no trace; pass trace_every=1"
    ):
        _ = drive(ProjectedSGD(), draw(Importance(), 5)).trace_


def test_a_ball_without_the_sum_is_refused():
    least = abs(ENDS[1] - ENDS[0]) / np.sqrt(D)
    small, large = (ProjectedSGD(radius=float(f * least)) for f in (0.99, 1.01))
    with pytest.raises(
        ValueError,
        match=r"ProjectedSGD got radius=.* at least .*: give a larger radius",
    ):
        shapley_values(GAME, n_players=D, solver=small, max_evals=100)
    shapley_values(GAME, n_players=D, solver=large, max_evals=100)


# --- the figures of the paper ---------------------------------------------------------

# mean over couples of the norm of the error, by evaluations (Grah & Thouvenot 2020,
# Figure 2)
FIGURE_2 = {
    ("chi-square", "constant", 0.01): {
        256: 0.34,
        1000: 0.142,
        4000: 0.064,
        16000: 0.031,
    },
    ("chi-square", "sqrt", 0.1): {256: 0.35, 1000: 0.162, 4000: 0.067, 16000: 0.031},
    ("radial", "constant", 0.01): {256: 0.19, 1000: 0.083, 4000: 0.041, 16000: 0.021},
}


def mean_errors(game, truth, budgets, **components):
    return {
        budget: np.linalg.norm(
            explain_game(game, max_evals=budget, **components).values - truth, axis=1
        ).mean()
        for budget in budgets
    }


@pytest.mark.parametrize(
    ("kind", "budgets"),
    [
        pytest.param("chi-square", [1000], marks=pytest.mark.slow),
        pytest.param("chi-square", [256, 1000, 4000, 16000], marks=pytest.mark.slow),
        pytest.param("radial", [256, 1000, 4000, 16000], marks=pytest.mark.slow),
    ],
)
def test_figure_2(kind, budgets):
    """Couples are drawn here: means of 50 vary by a few percent, and by 17 % for radial games.

    The paper counts draws.
    """

    class Planned(Importance):
        traits = SamplerTraits(goes_on=False)

    game = make_couples(kind, random_state=0)
    truth = game.shapley_values
    for (of, step, gamma), figure in FIGURE_2.items():
        if of == kind:
            solver = ProjectedSGD(step, step_size=gamma, batch_size=1)
            errors = mean_errors(game, truth, budgets, sampler=Planned(), solver=solver)
            tolerance = 0.1 if kind == "chi-square" else 0.5
            for budget, error in errors.items():
                assert error == pytest.approx(figure[budget], rel=tolerance)


def test_the_trace_comes_with_the_result():
    result = shapley_values(
        lambda S: (S @ np.arange(8.0)) ** 2,
        n_players=8,
        solver=ProjectedSGD(trace_every=5, batch_size=8),
        max_evals=402,
        random_state=0,
    )
    trace = result.solver.trace_
    np.testing.assert_array_equal(trace.averages[-1, 0, :, 0], result.values)
    assert (np.diff(trace.n_coalitions) == 5 * 8).all()
