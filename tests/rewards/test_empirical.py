"""The empirical reward and its numbers of effective rows, compared with loops over rows."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from skshapley import ShapleyExplainer
from skshapley.rewards import EmpiricalReward, Players, Response

RNG = np.random.default_rng(0)
D = 3
ROWS = RNG.multivariate_normal(np.arange(D), 0.6 + 0.4 * np.eye(D), size=40)
X = RNG.multivariate_normal(np.arange(D), 0.6 + 0.4 * np.eye(D), size=2)
WEIGHTS = RNG.dirichlet(np.full(40, 5.0))
ALL = np.array(list(product([False, True], repeat=D)))


def bumpy(rows):
    a, b, c = rows.T
    return np.sin(a) * b + c**2


def fitted(reward, rows=ROWS, weights=WEIGHTS, function=bumpy):
    players = Players.from_groups(
        None, [f"x{i}" for i in range(rows.shape[1])], "Owner"
    )
    return reward.fit(Response(function), rows, weights, players)


def by_loop(reward, x, present, rows=ROWS, base=WEIGHTS):
    """Eq 10-12 of Aas, Jullum & Loland (2021), with the covariance that the reward learned."""
    if not present.any():
        return base @ bumpy(rows), base
    centre = base @ rows
    spread = np.sqrt(base @ (rows - centre) ** 2)
    sigma = reward.correlation_ * np.outer(spread, spread)
    inverse = np.linalg.inv(sigma[np.ix_(present, present)])
    gaps = (x - rows)[:, present]
    squares = np.einsum("ij,jk,ik->i", gaps, inverse, gaps) / present.sum()
    weights = base * np.exp(-(squares - squares.min()) / (2 * reward.sigma**2))
    weights /= weights.sum()
    order = np.argsort(-weights)
    kept = order[: np.searchsorted(np.cumsum(weights[order]), reward.eta) + 1]
    used = np.zeros(len(rows))
    used[kept] = weights[kept] / weights[kept].sum()
    return used @ bumpy(np.where(present, x, rows)), used


@pytest.mark.parametrize("parameters", [{}, {"sigma": 0.5}, {"sigma": 1.0, "eta": 0.5}])
def test_values_and_effective_rows_agree_with_a_loop(parameters):
    reward = fitted(EmpiricalReward(**parameters))
    game = reward.game(X)
    found = game(np.repeat(ALL[None], 2, axis=0), np.arange(2))[:, :, 0]
    rows = reward.effective_rows(X, ALL)
    for i, (j, present) in product(range(2), enumerate(ALL)):
        value, used = by_loop(reward, X[i], present)
        assert found[i, j] == pytest.approx(value, abs=1e-10)
        assert rows[i, j] == pytest.approx(1 / (used**2).sum())


def test_a_wide_bandwidth_equals_the_interventional_reward():
    wide = ShapleyExplainer(bumpy, reward=EmpiricalReward(1e3, 1.0), sampler="exact")
    plain = ShapleyExplainer(bumpy, sampler="exact")
    expected = plain.fit(ROWS, sample_weight=WEIGHTS).explain(X).values
    found = wide.fit(ROWS, sample_weight=WEIGHTS).explain(X).values
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)


def test_a_budget_below_one_evaluation_is_refused_with_a_remedy():
    explainer = ShapleyExplainer(
        bumpy, reward="empirical", sampler="antithetic", max_rows=30
    )
    with pytest.raises(
        ValueError, match=r"at least 161 model rows .* max_background=100\."
    ):
        explainer.fit(ROWS)


def test_a_narrow_bandwidth_equals_the_nearest_row():
    reward = fitted(EmpiricalReward(1e-3), weights=np.full(40, 1 / 40))
    far = np.array([[100.0, 1.0, 2.0]])
    game, alone = reward.game(far), np.array([True, False, False])
    nearest = ROWS[np.argmax(ROWS[:, 0])]
    expected = bumpy(np.array([[100.0, *nearest[1:]]]))[0]
    assert game(alone[None, None], np.array([0]))[0, 0, 0] == pytest.approx(expected)
    assert reward.effective_rows(far, alone[None]) == pytest.approx(1)


def test_rows_of_little_weight_are_not_evaluated():
    seen = []

    def look(rows):
        seen.append(len(rows))
        return rows[:, 0]

    reward = fitted(EmpiricalReward(0.1), function=look)
    game = reward.game(X)
    seen.clear()
    game(ALL[None, 1:-1], np.array([0]))
    assert sum(seen) < 6 * 40 / 2


def test_constant_columns_have_no_effect():
    rows = np.column_stack([ROWS, np.full(40, 7.0)])
    x = np.append(X[0], 7.0)[None]

    def explained(table, instance):
        explainer = ShapleyExplainer(
            lambda Z: bumpy(Z[:, :3]), reward="empirical", sampler="exact"
        )
        return explainer.fit(table).explain(instance).values[0]

    np.testing.assert_allclose(
        explained(rows, x), [*explained(ROWS, X[:1]), 0.0], atol=1e-9
    )


def test_non_numeric_columns_are_refused():
    table = pd.DataFrame({"a": [1.0, 2.0], "b": ["u", "v"]})
    with pytest.raises(
        ValueError, match="EmpiricalReward takes finite numbers, and column 'b'"
    ):
        ShapleyExplainer(lambda Z: Z["a"], reward="empirical").fit(table)
