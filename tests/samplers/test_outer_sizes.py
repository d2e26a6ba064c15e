"""The sampler "outer-sizes" agrees with shap's KernelExplainer: sizes, weights, values."""

import numpy as np
import pytest
from scipy.special import comb

from skshapley import shapley_values
from skshapley.designs import CoalitionDesign
from skshapley.samplers import OuterSizes, SamplerTask
from skshapley.solvers import LeastSquares, SolverTask
from skshapley.testing import RandomGame

P = 8
GAME = RandomGame(P, seed=0)
ENDS = GAME(np.array([[False] * P, [True] * P]))


def by_shap(n_samples):
    """Return shap's explainer after one explanation, and its values."""
    shap = pytest.importorskip("shap")
    explainer = shap.KernelExplainer(lambda rows: GAME(rows > 0.5), np.zeros((1, P)))
    state = np.random.get_state()  # noqa: NPY002 - shap draws from the global state
    np.random.seed(0)  # noqa: NPY002
    try:
        values = explainer.shap_values(
            np.ones(P), nsamples=n_samples, l1_reg=False, silent=True, gc_collect=False
        )
    finally:
        np.random.set_state(state)  # noqa: NPY002
    return explainer, values


@pytest.mark.parametrize("n", [60, 120, 200])
def test_least_squares_on_the_coalitions_of_shap_agrees_with_shap(n):
    """Enumerated sizes and weights agree. A coalition that shap drew c times is c rows here."""
    explainer, values = by_shap(n)
    mask, weights = explainer.maskMatrix.astype(bool), explainer.kernelWeights
    design = (
        OuterSizes()
        .start(SamplerTask(P, [np.random.default_rng(0)], n))
        .ask(np.array([0]), n)
    )
    size, expected = design.coalitions[0].sum(axis=1), design.expected_draws[0]
    whole = {
        s
        for s in range(1, P)
        if (expected[size == s] == comb(P, s)).all() and s in size
    }
    drawn = np.array([s not in whole for s in mask.sum(axis=1)])
    assert whole
    assert all((mask.sum(axis=1) == s).sum() == comb(P, s) for s in whole)
    counts = np.ones(len(mask), dtype=int)
    counts[drawn] = np.rint(weights[drawn] / weights[drawn].min()).astype(int)
    law = 1 / np.array([s * (P - s) for s in range(1, P)])
    left = law[[s not in whole for s in range(1, P)]]
    rows = np.repeat(mask, counts, axis=0)
    of_size = rows.sum(axis=1)
    rate = counts[drawn].sum() * law[of_size - 1] / left.sum()
    rate = np.where(np.isin(of_size, list(whole)), comb(P, of_size), rate)
    solver = LeastSquares().start(SolverTask(P, ENDS[None, :1], ENDS[None, 1:]))
    again = CoalitionDesign(rows[None], expected_draws=rate[None])
    solver.update(np.array([0]), again, GAME(rows)[None, :, None])
    np.testing.assert_allclose(
        solver.result().values[0, :, 0], values, rtol=0, atol=1e-8
    )


def test_all_coalitions_agree_with_shap():
    result = shapley_values(GAME, sampler="outer-sizes", max_evals=2**P, random_state=0)
    np.testing.assert_allclose(result.values, by_shap(2**P - 2)[1], rtol=0, atol=1e-8)


def test_the_least_budget():
    result = shapley_values(
        GAME, sampler="outer-sizes", max_evals=2 * P, random_state=0
    )
    assert result.n_evaluations <= 2 * P
    assert result.values.sum() == pytest.approx(ENDS[1] - ENDS[0])
    with pytest.raises(ValueError, match=f"needs at least {2 * P} evaluations"):
        shapley_values(GAME, sampler="outer-sizes", max_evals=2 * P - 1)
