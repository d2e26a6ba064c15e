from math import comb

import numpy as np
import pytest

from skshapley.bounds import (
    chebyshev_permutations,
    condition_number,
    deviation_probability,
    expected_error,
    gradient_norm,
    hoeffding_permutations,
    least_evals,
    markov_probability,
    strong_convexity,
)
from skshapley.samplers import Importance, MonteCarlo, SamplerTask
from skshapley.solvers import PermutationMean, ProjectedSGD, SolverTask
from skshapley.testing import RandomGame

VERSIONS = ["corrected", "sharp", "published", "preprint"]


def enumerated(d):
    """All coalitions ``(n, d)`` that are not trivial, and their weights w."""
    x = (np.arange(1, 2**d - 1)[:, None] >> np.arange(d)) & 1
    weights = {s: (d - 1) / (comb(d, s) * s * (d - s)) for s in range(1, d)}
    return x, np.array([weights[s] for s in x.sum(axis=1)])


@pytest.mark.parametrize("d", [2, 3, 6, 9])
@pytest.mark.parametrize(("radius", "bound"), [(1.0, 1.0), (4.0, 1.0), (0.0, 2.0)])
def test_gradient_norm_is_the_sum_over_coalitions(d, radius, bound):
    x, w = enumerated(d)
    length = np.sqrt(x.sum(axis=1))
    steepest = 2 * len(w) * w * length * (radius * length + bound)
    assert gradient_norm(d, radius, bound) == pytest.approx(steepest.mean(), rel=1e-13)
    assert gradient_norm(d, radius, bound, law="uniform") == pytest.approx(
        steepest.max(), rel=1e-13
    )


@pytest.mark.parametrize("d", [2, 3, 6, 9])
def test_strong_convexity_is_the_least_eigenvalue_of_the_hessian(d):
    x, w = enumerated(d)
    eigenvalues = np.linalg.eigvalsh(
        2 * (x.T * w) @ x
    )  # of F = (X phi - Y)' W (X phi - Y)
    assert strong_convexity(d, version="sharp") == pytest.approx(
        eigenvalues[0], rel=1e-12
    )
    for version in ("corrected", "published", "preprint"):
        assert strong_convexity(d, version=version) == pytest.approx(
            eigenvalues[0] / 2, rel=1e-12
        )


def by_hand(d, radius, bound):
    """S, written out."""
    return sum(
        d * (np.sqrt(k) * radius + bound) / (np.sqrt(k) * (d - k)) for k in range(1, d)
    )


@pytest.mark.parametrize("d", [2, 3, 16, 300])
def test_kappa_by_hand(d):
    s = by_hand(d, 4.0, 1.0)
    kappa = {v: condition_number(d, 4.0, 1.0, version=v) for v in VERSIONS}
    expected = {"corrected": 2 * s, "sharp": s, "published": 4 * s, "preprint": 4 * s}
    assert kappa == pytest.approx(expected, rel=1e-12)


def test_kappa_agrees_with_the_paper():
    """d = 16, C = 1, D = 4: 459.5, where 919.1 is printed."""
    assert condition_number(16, 4.0, 1.0) == pytest.approx(459.5, abs=0.05)
    assert condition_number(16, 4.0, 1.0, version="published") == pytest.approx(
        919.1, abs=0.05
    )


def test_expected_errors_by_hand():
    """d = 16, C = 1, D = 4, T = 30,000: 28, 42 and 1980, all vacuous."""
    common = dict(n_evals=30_000, n_players=16, radius=4.0, bound=1.0)
    s = by_hand(16, 4.0, 1.0)
    assert expected_error(**common) == pytest.approx(16 * s**2 / 30_000, rel=1e-12)
    assert expected_error(**common) == pytest.approx(28, abs=0.5)
    assert expected_error(step="sqrt", **common) == pytest.approx(42, abs=0.5)
    assert expected_error(step="constant", gamma=0.01, **common) == pytest.approx(
        1980, abs=1
    )


def test_the_initial_error_fades_with_a_constant_step():
    common = dict(n_players=4, radius=1.0, bound=1.0, step="constant", gamma=0.01)
    floor = 0.01 * gradient_norm(4, 1.0, 1.0) ** 2 / 0.75
    errors = expected_error(np.array([0, 1, 100]), start_error=0.5, **common)
    np.testing.assert_allclose(
        errors, floor + 0.5 * (1 - 0.0075) ** np.array([0, 1, 100])
    )
    assert expected_error(0, **common) == pytest.approx(floor + 1.0)


def test_probabilities_as_printed():
    """Each formula of the two texts, with S, at arguments where none is clipped."""
    d, radius, bound, epsilon, t = 3, 1.0, 1.0, 1.0, 1e6
    s = by_hand(d, radius, bound)
    kappa = 4 * s
    given = (epsilon, t, d, radius, bound)
    printed = {
        ("published", "inverse"): 4 * kappa**2 / (epsilon * t),
        ("published", "sqrt"): 4 * radius * kappa / (epsilon * np.sqrt(t)),
        ("preprint", "inverse"): 16 / (t * epsilon) * s**2,
        ("preprint", "sqrt"): 8 * radius / (np.sqrt(t) * epsilon) * s,
    }
    for (version, step), value in printed.items():
        assert value < 1
        assert markov_probability(*given, version=version, step=step) == pytest.approx(
            value
        )
    exponents = {
        ("published", "inverse"): epsilon * t / (4 * kappa**2),
        ("published", "sqrt"): epsilon * np.sqrt(t) / (4 * radius * kappa),
        ("preprint", "inverse"): epsilon * t / (16 * kappa**2),
        ("preprint", "sqrt"): epsilon * np.sqrt(t) / (8 * radius * kappa),
    }
    for (version, step), exponent in exponents.items():
        value = min(1, 2 * np.exp(-((exponent - 2) ** 2) / 16))
        assert deviation_probability(
            *given, version=version, step=step
        ) == pytest.approx(value)


def test_constant_step_as_printed():
    d, radius, bound, epsilon, gamma, t = 3, 1.0, 1.0, 0.5, 1e-4, 5e4
    # the preprint's appendix spells out gamma B^2/mu
    sizes = np.arange(1, d)
    spelt = (
        np.sqrt(d * (d - 1))
        / (np.sqrt(sizes) * (d - sizes))
        * (np.sqrt(sizes) * radius + bound)
    )
    rest = gamma / epsilon * 4 * spelt.sum() ** 2
    decay = 1 - gamma * (1 - 1 / d)
    options = dict(step="constant", gamma=gamma, start_error=0.8)
    for version, rounds in (("published", t), ("preprint", t + 1)):
        value = markov_probability(
            epsilon, t, d, radius, bound, version=version, **options
        )
        assert value == pytest.approx(decay**rounds / epsilon * 0.8 + rest, rel=1e-12)
        assert value < 1


def test_probabilities_are_clipped_and_fall():
    epsilon = np.logspace(-6, 6, 50)
    for bound_of in (markov_probability, deviation_probability):
        for version in VERSIONS:
            p = bound_of(epsilon, 1000, 16, 4.0, 1.0, version=version)
            assert p.shape == epsilon.shape
            assert p[0] == 1
            assert p[-1] < 1e-2
            assert (np.diff(p) <= 0).all()


def test_arrays_broadcast():
    p = markov_probability(np.ones((4, 1)), np.arange(1, 4), 5, 1.0, 1.0)
    assert p.shape == (4, 3)
    assert expected_error(10, 5, np.ones(2), np.ones((3, 1))).shape == (3, 2)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("step", ["inverse", "sqrt", "constant"])
def test_least_evals_is_the_smallest_sufficient_number(step, version):
    options = dict(step=step, version=version)
    if step == "constant":
        options["gamma"] = 1e-5
    needed = least_evals(0.5, 0.1, 4, 1.0, 1.0, **options)
    assert needed == np.ceil(needed)
    assert markov_probability(0.5, needed, 4, 1.0, 1.0, **options) <= 0.1 * (1 + 1e-9)
    assert markov_probability(0.5, needed - 1, 4, 1.0, 1.0, **options) > 0.1


def test_a_constant_step_may_never_reach_the_error():
    needed = least_evals([0.5, 1e9], 0.1, 4, 1.0, 1.0, step="constant", gamma=0.1)
    assert needed.tolist() == [np.inf, 0.0]


@pytest.mark.parametrize("d", [2, 1000, 3000])
def test_many_players(d):
    assert np.isfinite(gradient_norm(d, 1.0, 1.0))
    assert gradient_norm(d, 1.0, 1.0, law="uniform") >= gradient_norm(d, 1.0, 1.0)


@pytest.mark.parametrize("gamma", [None, 0.0, 2.0])
def test_constant_step_needs_a_step(gamma):
    with pytest.raises(
        ValueError, match=rf"error got gamma={gamma} .* 0 and 1/mu = 1\.33333"
    ):
        expected_error(10, 4, 1.0, 1.0, step="constant", gamma=gamma)
    with pytest.raises(
        ValueError, match=rf"error got gamma={gamma} .* 1/mu = 1\.33333"
    ):
        least_evals(0.1, 0.05, 4, 1.0, 1.0, step="constant", gamma=gamma)


def test_errors_name_the_choices():
    with pytest.raises(
        ValueError, match="expected_error got step='linear': choose one of"
    ):
        expected_error(10, 4, 1.0, 1.0, step="linear")
    with pytest.raises(
        ValueError, match="strong_convexity got version='new': choose one of"
    ):
        expected_error(10, 4, 1.0, 1.0, version="new")
    with pytest.raises(
        ValueError, match="gradient_norm got law='kernel': choose one of"
    ):
        expected_error(10, 4, 1.0, 1.0, law="kernel")


# --- they hold ------------------------------------------------------------------------


class Theorem(ProjectedSGD):
    """With the inverse step of the theorem, 2/(mu (t + 1)) for F, twice that for F/2."""

    mu = 1.0

    def _step_sizes(self, scale, seen, batch):
        return 4 / (self.mu * (seen + 1))


D = 3
GAME = RandomGame(D, seed=11)
ENDS = GAME(np.array([[False] * D, [True] * D]))
ALL = (np.arange(2**D)[:, None] >> np.arange(D)) & 1 == 1
BOUND = np.abs(GAME(ALL) - ENDS[0]).max()
RADIUS = 1.2 * np.linalg.norm(GAME.shapley_values)


def squared_errors(solver, n, runs=50):
    sampler = Importance(ratio=RADIUS / BOUND)
    sampler.start(
        SamplerTask(D, [np.random.default_rng([3, i]) for i in range(runs)], n)
    )
    rows = np.arange(runs)
    design = sampler.ask(rows, n)
    values = GAME(design.coalitions.reshape(-1, D)).reshape(runs, n, 1)
    solver.start(
        SolverTask(D, np.full((runs, 1), ENDS[0]), np.full((runs, 1), ENDS[1]))
    )
    solver.update(rows, design, values)
    return ((solver.result().values[:, :, 0] - GAME.shapley_values) ** 2).sum(axis=1)


@pytest.mark.thinned
@pytest.mark.parametrize("version", ["corrected", "sharp"])
@pytest.mark.parametrize(
    ("step", "n"), [("inverse", 5000), ("sqrt", 20_000), ("constant", 5000)]
)
def test_bounds_dominate_the_measured_error(step, n, version):
    """Mean and upper tail of 50 runs, where the bound is below D^2."""
    options = dict(step=step, version=version)
    common = dict(
        averaging={"inverse": "weighted", "sqrt": "uniform"}.get(step, "none")
    )
    common.update(batch_size=1, radius=RADIUS)
    if step == "inverse":
        solver = Theorem(**common)
        solver.mu = strong_convexity(D, version=version)
    elif step == "sqrt":
        gamma = 2 * RADIUS / gradient_norm(D, RADIUS, BOUND)
        solver = ProjectedSGD(step, step_size=2 * gamma, **common)
    else:
        options["gamma"] = 1e-3
        solver = ProjectedSGD(step_size=2e-3, **common)
    measured = squared_errors(solver, n)
    error = expected_error(n, D, RADIUS, BOUND, **options)
    assert error < RADIUS**2  # not vacuous
    assert measured.mean() <= error
    for epsilon in np.quantile(measured, [0.5, 0.9, 0.99]):
        probability = markov_probability(epsilon, n, D, RADIUS, BOUND, **options)
        assert (measured >= epsilon).mean() <= probability
    epsilon = 4 * error
    assert markov_probability(epsilon, n, D, RADIUS, BOUND, **options) == pytest.approx(
        0.25
    )
    assert (measured >= epsilon).mean() <= 0.25


@pytest.mark.parametrize(
    "counted", ["hoeffding", pytest.param("chebyshev", marks=pytest.mark.slow)]
)
def test_monte_carlo_counts_hold(counted):
    """Glove game: a marginal contribution is 0 or 1. Frequencies over 1000 runs, delta 0.2."""
    epsilon, delta, p = 0.05, 0.2, 3

    def worth(coalitions):
        return (coalitions[..., 0] & coalitions[..., 1:].any(axis=-1)).astype(float)

    truth = np.array([2 / 3, 1 / 6, 1 / 6])
    if counted == "hoeffding":
        n = hoeffding_permutations(epsilon, delta, 1.0, n_players=p)
    else:
        n = chebyshev_permutations(
            epsilon, delta, truth[0] * (1 - truth[0]), n_players=p
        )
    runs = 1000
    rows = np.arange(runs)
    rngs = [np.random.default_rng([5, i]) for i in range(runs)]
    design = MonteCarlo().start(SamplerTask(p, rngs, int(n))).ask(rows, int(n))
    solver = PermutationMean().start(
        SolverTask(p, np.zeros((runs, 1)), np.ones((runs, 1)))
    )
    solver.update(rows, design, worth(design.coalitions)[..., None])
    off = np.abs(solver.result().values[:, :, 0] - truth).max(axis=1)
    assert (off >= epsilon).mean() <= delta


def test_monte_carlo_counts_by_hand():
    assert (
        hoeffding_permutations(0.1, 0.05, 2.0) == np.ceil(4 * np.log(40) / 0.02) == 738
    )
    assert chebyshev_permutations([0.1, 0.2], 0.05, 1.0).tolist() == [2000, 500]
    assert hoeffding_permutations(0.1, 0.05, 2.0, n_players=10) == np.ceil(
        200 * np.log(400)
    )
    assert chebyshev_permutations(0.1, 0.05, 1.0, n_players=10) == 20_000
