"""Values that shapr prints in its own tests, of a linear model of New York's air in 1973.

Data: R's `airquality`, the 111 complete rows. shapr explains three of them, with the other 108 as
its training rows and their mean response as v(empty); its tables name which by their predictions.
Tables: tests/testthat/_snaps/regular-output.md and regression-output.md of shapr 1.0, MIT licence.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skshapley import ShapleyExplainer
from skshapley.rewards import ConditionalReward, _conditional

TABLE = pd.read_csv(Path(__file__).with_name("airquality.csv")).to_numpy(dtype=float)
SLOPES = np.linalg.lstsq(np.column_stack([np.ones(111), TABLE[:, 1:]]), TABLE[:, 0], rcond=None)[0]
INDEPENDENCE = [
    [-4.537, 8.269, 17.517, -5.581, -3.066],
    [2.250, -3.345, -5.232, -5.581, -1.971],
    [3.708, -18.610, -1.440, -2.541, 1.316],
]
# a linear regression of the response on each set of columns: no draws
REGRESSIONS = [
    [-8.577, 7.845, 14.4756, 0.6251, -1.7664],
    [4.818, -4.811, -11.6350, -1.0423, -1.2086],
    [7.406, -25.587, 0.3353, -0.4718, 0.7491],
]
# 1,000 draws for each set
GAUSSIAN = [
    [-8.645, 7.842, 14.4120, 0.535, -1.5427],
    [4.751, -4.814, -11.6985, -1.132, -0.9848],
    [7.339, -25.590, 0.2717, -0.562, 0.9729],
]
COPULA = [
    [-6.512, 7.341, 14.357, -0.5201, -2.064],
    [3.983, -4.656, -10.001, -1.8813, -1.324],
    [6.076, -25.219, 1.754, -1.3488, 1.169],
]


def linear(X):
    return SLOPES[0] + X @ SLOPES[1:]


PREDICTIONS = linear(TABLE[:, 1:])
SHOWN = [np.abs(PREDICTIONS - 42.444 - sum(row)).argmin() for row in REGRESSIONS]
OTHERS = np.delete(np.arange(111), SHOWN)
ROWS = TABLE[OTHERS, 1:]


def explained(reward):
    explainer = ShapleyExplainer(linear, reward=reward, sampler="exact").fit(ROWS)
    values = explainer.explain(TABLE[SHOWN, 1:]).values
    # theirs is the mean of y, ours of the predictions: the difference is shared by all
    return values + (PREDICTIONS[OTHERS].mean() - TABLE[OTHERS, 0].mean()) / 5


def test_independence_is_the_interventional_reward():
    np.testing.assert_allclose(explained("interventional"), INDEPENDENCE, rtol=0, atol=1e-3)


def test_conditional_means_are_regressions():
    found = explained(ConditionalReward(np.cov(ROWS.T)))
    np.testing.assert_allclose(found, REGRESSIONS, rtol=0, atol=1e-3)
    # and normal draws are them on average, to a standard error of some 0.1 of theirs
    np.testing.assert_allclose(found, GAUSSIAN, rtol=0, atol=0.3)


def test_copula(monkeypatch):
    """Theirs has no shrinkage, ranks of r / (n + 1), and errors of some 0.2."""

    def unshrunk(scores, weights):
        return np.corrcoef(scores.T), 0.0

    monkeypatch.setattr(_conditional, "learned_correlation", unshrunk)
    found = explained("copula")
    assert np.abs(found - COPULA).max() < 0.75
    assert np.sqrt(((found - COPULA) ** 2).mean()) < 0.4


@pytest.mark.parametrize(("reward", "most"), [("conditional", 1.6), ("copula", 2.0)])
def test_shrinkage_moves_values_some_of_the_way_to_independence(reward, most):
    """108 rows of five columns: Ledoit & Wolf's estimate takes a fifth of all correlations away."""
    expected = np.array(REGRESSIONS if reward == "conditional" else COPULA)
    found = explained(reward)
    assert 0.1 < np.abs(found - expected).max() < most
