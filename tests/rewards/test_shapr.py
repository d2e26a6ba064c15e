"""Values that shapr prints in its own tests, of a linear model of New York's air in 1973.

Data: R's `airquality`, the 111 complete rows. shapr explains three of them, with the
other 108 as its training rows and their mean response as v(empty); its tables name
which by their predictions. Tables: tests/testthat/_snaps/regular-output.md,
regression-output.md and asymmetric-causal-output.md of shapr 1.0, MIT licence.
"""

from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skshapley import ShapleyExplainer
from skshapley.rewards import (
    CausalReward,
    ConditionalReward,
    EmpiricalReward,
    _conditional,
)
from skshapley.samplers import Ordered

TABLE = pd.read_csv(Path(__file__).with_name("airquality.csv")).to_numpy(dtype=float)
SLOPES = np.linalg.lstsq(
    np.column_stack([np.ones(111), TABLE[:, 1:]]), TABLE[:, 0], rcond=None
)[0]
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
    np.testing.assert_allclose(
        explained("interventional"), INDEPENDENCE, rtol=0, atol=1e-3
    )


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
def test_shrinkage_moves_values_towards_independence(reward, most):
    """108 rows of five columns: Ledoit & Wolf's estimate takes a fifth of all correlations away."""
    expected = np.array(REGRESSIONS if reward == "conditional" else COPULA)
    found = explained(reward)
    assert 0.1 < np.abs(found - expected).max() < most


def shapley(worth, orders=None):
    """Mean contributions over orders of five players, all of them or some; worth ``(3, 32)``."""
    orders = list(permutations(range(5))) if orders is None else orders
    found = np.zeros((3, 5))
    for order in orders:
        mask = 0
        for player in order:
            found[:, player] += worth[:, mask | 1 << player] - worth[:, mask]
            mask |= 1 << player
    return found / len(orders)


ALL = np.array(
    [[mask >> player & 1 for player in range(5)] for mask in range(32)], dtype=bool
)
# {Solar.R, Wind} before {Temp} before {Month, Day}
LAYERS = [[0, 1], [2], [3, 4]]
LAYERED = [(a, 1 - a, 2, b, 7 - b) for a in (0, 1) for b in (3, 4)]
# deterministic, as REGRESSIONS
LAYERED_REGRESSIONS = [
    [-11.337, 15.032, 14.506, -2.656, -2.943],
    [5.546, -6.262, -4.518, -6.664, -1.982],
    [9.720, -32.555, 7.270, -3.377, 1.374],
]


def least_squares(worth):
    """The asymmetric values of shapr: a regression on the sets that the orders meet.

    The sets of a size share the weight (p - 1) / (s (p - s)) of Shapley's kernel.
    """
    orders = np.array(LAYERED)
    met = {
        sum(1 << player for player in order[:size])
        for order in orders
        for size in range(1, 5)
    }
    met = sorted(met)
    sizes = ALL[met].sum(axis=1)
    shares = np.array([4 / (s * (5 - s)) / (sizes == s).sum() for s in sizes])
    present = np.vstack([ALL[met], np.ones(5)]).astype(float)
    weighted = present * np.append(shares, 1e6)[:, None]
    gains = (worth - worth[:, :1])[:, [*met, 31]]
    return np.linalg.solve(present.T @ weighted, weighted.T @ gains.T).T


def worth_of(reward):
    """The values of all coalitions; the empty one's is the mean of y, as theirs is."""
    explainer = ShapleyExplainer(linear, reward=reward, sampler="exact").fit(ROWS)
    game = explainer.reward_.game(TABLE[SHOWN, 1:])
    worth = game(np.repeat(ALL[None], 3, axis=0), np.arange(3))[:, :, 0]
    worth[:, 0] = TABLE[OTHERS, 0].mean()
    return worth


def test_asymmetric_values_are_sums_of_conditional_steps():
    reward = ConditionalReward(np.cov(ROWS.T))
    worth = worth_of(reward)
    np.testing.assert_allclose(
        least_squares(worth), LAYERED_REGRESSIONS, rtol=0, atol=1e-3
    )
    # the mean over orders (Frye et al. 2020, Eq 6) is another value
    worth[:, 0] -= worth_gap()
    ours = shapley(worth, LAYERED)
    assert np.abs(ours - LAYERED_REGRESSIONS).max() > 0.5
    sampler = Ordered("antithetic", LAYERS)
    explainer = ShapleyExplainer(
        linear, reward=reward, sampler=sampler, max_rows=8 * 4 * 108 + 1, random_state=0
    )
    sampled = explainer.fit(ROWS).explain(TABLE[SHOWN, 1:])
    # 15 values; 4 standard errors are exceeded once in 1,000 runs
    assert (np.abs(sampled.values - ours) < 4 * sampled.standard_errors + 1e-9).all()


def worth_gap():
    """How much the mean of y is above the mean prediction."""
    return TABLE[OTHERS, 0].mean() - PREDICTIONS[OTHERS].mean()


EMPIRICAL = [
    [-13.252, 15.541, 12.826, -5.77179, 3.259],
    [2.758, -3.325, -7.992, -7.12800, 1.808],
    [6.805, -22.126, 3.730, -0.09235, -5.885],
]


def test_empirical_distances_follow_the_paper(monkeypatch):
    """shapr divides squared distances by the square of the number of columns, the paper by it.

    With its scale, which is a bandwidth for each number of columns here, its values
    come out but for rows that are equally far, of which it drops some: months and days
    are whole numbers.
    """

    def unshrunk(scores, weights):
        return np.corrcoef(scores.T), 0.0

    monkeypatch.setattr(_conditional, "learned_correlation", unshrunk)
    by_size = [
        worth_of(EmpiricalReward(0.1 * np.sqrt(size * 108 / 107)))
        for size in range(1, 6)
    ]
    theirs = by_size[0].copy()
    for size in range(1, 6):
        theirs[:, ALL.sum(axis=1) == size] = by_size[size - 1][
            :, ALL.sum(axis=1) == size
        ]
    apart = np.abs(shapley(theirs) - EMPIRICAL)
    assert apart.max() < 0.5
    assert apart.mean() < 0.1
    assert np.abs(shapley(worth_of(EmpiricalReward())) - EMPIRICAL).max() > 3


# five draws for each set, "just for speed": components, confounding, how they are
# solved, values
CAUSAL = {
    "asymmetric-confounded": (
        (LAYERS, True, least_squares),
        [
            [-12.804, 11.755, 17.3723, -0.499, -3.222],
            [1.471, -2.609, -5.9820, -4.592, -2.168],
            [14.736, -31.711, -0.3884, -1.430, 1.225],
        ],
    ),
    "asymmetric": (
        (LAYERS, False, least_squares),
        [
            [-15.4362, 17.9420, 13.883, -0.626, -3.161],
            [-0.8741, -0.4898, -5.682, -4.634, -2.200],
            [7.2517, -30.3922, 5.763, -1.347, 1.156],
        ],
    ),
    "asymmetric-mixed": (
        (LAYERS, [True, False, False], least_squares),
        [
            [-12.804, 11.755, 17.4378, -0.626, -3.161],
            [1.471, -2.609, -5.9087, -4.634, -2.200],
            [14.736, -31.711, -0.4028, -1.347, 1.156],
        ],
    ),
    "confounded": (
        (LAYERS, True, shapley),
        [
            [-10.586, 9.603, 14.085, -2.429, 1.9293],
            [1.626, -3.712, -2.724, -7.310, -1.7595],
            [9.581, -25.344, 1.892, -4.089, 0.3918],
        ],
    ),
    "plain": (
        (LAYERS, False, shapley),
        [
            [-7.978, 10.871, 12.1981, -2.188, -0.3003],
            [3.637, -6.474, -9.6711, -1.850, 0.4779],
            [1.926, -27.039, 0.7298, 1.404, 5.4112],
        ],
    ),
    "all-confounded": (
        ([[0, 1, 2, 3, 4]], True, shapley),
        [
            [-8.1241, 6.631, 15.251, -2.3173, 1.161],
            [0.8798, -2.652, -6.971, -1.2012, -3.935],
            [3.3391, -14.550, -3.145, -0.4127, -2.800],
        ],
    ),
}
DRAWS = 5


@pytest.mark.parametrize("name", CAUSAL)
def test_causal_values_agree_within_the_sampling_error(name):
    """Standard errors of their values, from independent draws for each set.

    Of a linear model, the spread of v(S) over draws is that of the moved rows'
    responses here. 15 values: 4 standard errors are exceeded once in 1,000 runs, their
    root mean square is at most 1.6 but for one run in 10,000.
    """
    (components, confounded, solve), expected = CAUSAL[name]
    reward = CausalReward(components, confounded, covariance=np.cov(ROWS.T))
    worth = worth_of(reward)
    explainer = ShapleyExplainer(linear, reward=reward, sampler="exact").fit(ROWS)
    game = explainer.reward_.game(TABLE[SHOWN, 1:])
    single = np.stack(
        [
            game(
                np.repeat(ALL[None], 3, axis=0), np.arange(3), np.full((3, 32, 1), row)
            )[:, :, 0]
            for row in range(108)
        ]
    )  # fmt: skip
    spread = single.std(axis=0) / np.sqrt(DRAWS)
    spread[:, [0, -1]] = 0.0  # both ends are known
    squares = np.zeros((3, 5))
    for mask in range(1, 31):
        one = np.zeros((3, 32))
        one[:, mask] = spread[:, mask]
        squares += solve(one) ** 2
    apart = (solve(worth) - expected) / np.sqrt(squares)
    assert np.abs(apart).max() < 4
    assert np.sqrt((apart**2).mean()) < 1.6
