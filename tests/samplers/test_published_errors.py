"""Errors of Mitchell et al. (2022), section 5, on make_regression (d = 10) and XGBoost's defaults.

Reference values were measured apart from this package, over 25 trials of ten instances.
Both sides are noisy, and the sets of herding and SBQ are one set here: a factor of 1.6
is allowed, which is less than what lies between the methods.
"""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_regression

from skshapley.samplers import (
    Antithetic,
    Herding,
    Leverage,
    MonteCarlo,
    Orthogonal,
    Owen,
    OwenHalved,
    SequentialBayesianQuadrature,
    Sobol,
)
from skshapley.solvers import _linear
from skshapley.testing import HybridGame, brute_force, explain_game

D = 10

# mean squared errors at 440 and 2200 marginal evaluations, n_s; permutations cost d - 1
# evaluations and coalitions of Owen's d + 1
ERRORS = {
    "sbq": (SequentialBayesianQuadrature(paired=False), 0.080, 0.0036),
    "herding": (Herding(paired=False), 0.13, 0.0085),
    "orthogonal": (Orthogonal(), 0.19, 0.036),
    "sobol": (Sobol("sphere", paired=False), 0.30, 0.040),
    "antithetic": (Antithetic(), 0.34, 0.067),
    "monte-carlo": (MonteCarlo(), 1.0, 0.17),
    "owen, published": (Owen("uniform"), 0.97, 0.19),
    "owen-halved": (OwenHalved(), 0.30, 0.067),
}


@pytest.fixture(autouse=True)
def gaps_stay(monkeypatch):
    """Keep the efficiency gap, as the paper does; sharing it would reduce the error."""

    def unshared(means, variances, gain):
        return means, np.zeros_like(means)

    monkeypatch.setattr(_linear, "without_gap", unshared)


@pytest.fixture(scope="module")
def games():
    """The values of all coalitions of ten rows ``(10, 1024)``, and their Shapley values."""
    from xgboost import XGBRegressor

    X, y = make_regression(n_samples=1000, n_features=D, noise=0.1, random_state=47)
    # the default for a table of this size when the paper was written, and the same in
    # all versions
    model = XGBRegressor(n_jobs=1, tree_method="exact").fit(X, y)
    every = (np.arange(2**D)[:, None] >> np.arange(D)) & 1 == 1
    worth = np.zeros((10, 2**D))
    for i, row in enumerate(X[:10]):
        hybrid = np.where(every[:, None], row, X[:100]).reshape(-1, D)
        worth[i] = model.predict(hybrid).reshape(-1, 100).mean(axis=1, dtype=float)
    values = np.array(
        [brute_force(lambda S, w=w: w[S @ 2 ** np.arange(D)], D) for w in worth]
    )
    assert (values**2).mean() == pytest.approx(1748, rel=0.02)
    return worth, values


def planned(sampler):
    """Return the sampler without further draws: the paper counts permutations."""
    kind, made = type(sampler), copy(sampler)
    traits = replace(sampler.traits, goes_on=False)
    made.__class__ = type(kind.__name__, (kind,), {"traits": traits})
    return made


def mean_error(games, sampler, max_evals, trials=25):
    errors, sampler = [], planned(sampler)
    for i, (worth, truth) in enumerate(zip(*games, strict=True)):

        def function(rows, worth=worth):
            return worth[(rows > 0) @ 2 ** np.arange(D)]

        runs = HybridGame(function, np.ones((trials, D)), np.zeros((1, D)))
        found = explain_game(runs, sampler=sampler, max_evals=max_evals, random_state=i)
        errors.append(np.mean((found.values[:, :, 0] - truth) ** 2))
    return np.mean(errors)


@pytest.mark.slow
@pytest.mark.parametrize("marginal_evals", [440, 2200])
@pytest.mark.parametrize("name", ERRORS)
def test_errors_agree_with_published_ones(games, name, marginal_evals):
    sampler, *published = ERRORS[name]
    max_evals = 2 * (marginal_evals // (D + 1)) * (D - 1) + 2
    if name == "owen, published":
        max_evals = marginal_evals // D * (D + 1) + 2
    if name == "owen-halved":
        max_evals = 2 * marginal_evals + 2
    ratio = mean_error(games, sampler, max_evals) / published[marginal_evals == 2200]
    assert 1 / 1.6 < ratio < 1.6


@pytest.mark.slow
def test_order_of_the_methods(games):
    """Figures 9 and 10 at 160 permutations of ten players; the gaps are factors of 1.4 and more."""
    names = ("sbq", "herding", "orthogonal", "antithetic", "monte-carlo")
    errors = [
        mean_error(games, ERRORS[name][0], 160 * 9 + 2, trials=8) for name in names
    ]
    assert (np.diff(errors) > 0).all()
    assert mean_error(games, Leverage(), 1000, trials=1) < errors[0]
