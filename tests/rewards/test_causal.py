"""Causal values: examples of Heskes et al. (2020) by hand, and a simulated chain graph."""

import numpy as np
import pandas as pd
import pytest

from skshapley import ShapleyExplainer
from skshapley.rewards import CausalReward, ConditionalReward
from skshapley.samplers import Ordered

# Two columns of mean 0, E[x_1 | x_0] = A x_0 and E[x_0 | x_1] = G x_1, and a linear
# model
A, G = 0.5, 0.8
SIGMA = np.array([[1.6, 0.8], [0.8, 1.0]])
SLOPES = np.array([2.0, -3.0])
ROWS = np.array([[1.0, -2.0], [-1.0, 2.0]])
X = np.array([[1.5, 0.7]])


def explained(reward, rows=ROWS, x=X, model=lambda X: X @ SLOPES, **options):
    options = {"sampler": "exact"} | options
    return (
        ShapleyExplainer(model, reward=reward, random_state=0, **options)
        .fit(rows)
        .explain(x)
    )


def by_hand(first_moves_second, second_moves_first):
    """Return the symmetric value of the first player: the mean of its values before and after."""
    (a, b), (s, t) = X[0], SLOPES
    alone = s * a + t * A * a * first_moves_second
    other = t * b + s * G * b * second_moves_first
    total = s * a + t * b
    first = (alone + total - other) / 2
    return np.array([first, total - first])


# Heskes et al. (2020), Figure 2: chain, fork, confounder, cycle
EXAMPLES = {
    "chain": ([[0], [1]], False, (1, 0)),
    "fork": ([[1], [0]], False, (0, 1)),
    "confounder": ([[0, 1]], True, (0, 0)),
    "cycle": ([[0, 1]], False, (1, 1)),
}


@pytest.mark.parametrize(
    ("components", "confounded", "moves"), EXAMPLES.values(), ids=EXAMPLES
)
def test_the_four_examples(components, confounded, moves):
    found = explained(CausalReward(components, confounded, SIGMA)).values[0]
    np.testing.assert_allclose(found, by_hand(*moves), rtol=0, atol=1e-5)


def test_the_asymmetric_causal_value_of_a_chain():
    """The cause comes first: it gets its own contribution and that of its effect."""
    sampler = Ordered("antithetic", [(0, 1)])
    reward = CausalReward([[0], [1]], covariance=SIGMA)
    found = explained(reward, sampler=sampler, max_rows=18 * len(ROWS) + 1).values[0]
    total = X[0, 0] * (SLOPES[0] + SLOPES[1] * A)
    np.testing.assert_allclose(found, [total, X[0] @ SLOPES - total], rtol=0, atol=1e-5)


def simulated(n, rng, x=None, do=()):
    """Simulate c -> (u, w) -> y with a hidden common cause of u and w; set some columns."""
    hidden, noise = rng.normal(size=n), rng.normal(size=(4, n))
    table = np.empty((n, 4))

    def put(column, values):
        table[:, column] = x[column] if column in do else values

    put(0, noise[0])
    put(1, 0.7 * table[:, 0] + hidden + 0.5 * noise[1])
    put(2, -0.4 * table[:, 0] + hidden + 0.5 * noise[2])
    put(3, table[:, 1] - 0.5 * table[:, 2] + 0.3 * table[:, 0] + noise[3])
    return table


def rough(rows):
    return np.tanh(rows[:, 0] + rows[:, 3]) + np.abs(rows[:, 1] - rows[:, 2]) / 2


@pytest.fixture(scope="module")
def simulated_world():
    """Rows, and a reward that has learned from them which columns cause which."""
    reward = CausalReward([[0], [1, 2], [3]], [False, True, False])
    rows = simulated(200_000, np.random.default_rng(0))
    return rows, ShapleyExplainer(rough, reward=reward, sampler="antithetic").fit(
        rows
    ).reward_


@pytest.mark.parametrize(
    "do",
    [
        (0,),
        (1,),
        (1, 2),
        pytest.param((0, 2), marks=pytest.mark.slow),
        pytest.param((3,), marks=pytest.mark.slow),
        pytest.param((0, 3), marks=pytest.mark.slow),
    ],
)
def test_interventions_agree_with_a_simulation(do, simulated_world):
    """v(S) agrees with simulations within 0.03, for a nonlinear response.

    Both means are over 200,000 rows, and so is the covariance: errors of about 0.005
    each.
    """
    (rows, reward), x = simulated_world, np.array([1.2, -0.5, 0.8, 2.0])
    coalition = np.isin(np.arange(4), do)[None, None]
    found = reward.game(x[None])(coalition, np.array([0]))[0, 0, 0]
    expected = rough(simulated(200_000, np.random.default_rng(1), x, do)).mean()
    assert found == pytest.approx(expected, abs=0.03)
    if do != (0,):  # where seeing is not setting
        seen = ShapleyExplainer(rough, reward=ConditionalReward(), sampler="antithetic")
        seen.fit(rows[:20_000])
        conditional = seen.reward_.game(x[None])(coalition, np.array([0]))[0, 0, 0]
        assert abs(conditional - expected) > 0.05


def test_extreme_graphs_equal_existing_rewards():
    rng = np.random.default_rng(1)
    rows, x = (
        rng.normal(size=(30, 3)) @ rng.normal(size=(3, 3)),
        rng.normal(size=(2, 3)),
    )

    def model(X):
        return np.sin(X[:, 0]) * X[:, 1] + X[:, 2] ** 2

    for reward, other in (
        (CausalReward([[2, 0, 1]], True), "interventional"),
        (CausalReward([["x0", "x1", "x2"]]), "conditional"),
    ):
        one, two = (explained(r, rows, x, model).values for r in (reward, other))
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-10)


def test_names_of_a_frame():
    frame = pd.DataFrame(ROWS, columns=["cause", "effect"])
    reward = CausalReward([["cause"], ["effect"]], [True, False], SIGMA)
    found = explained(
        reward, frame, pd.DataFrame(X, columns=frame.columns), lambda F: F @ SLOPES
    )
    np.testing.assert_allclose(found.values[0], by_hand(1, 0), rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"components": [[0]]}, r"name each of the columns \['x0', 'x1'\] once"),
        ({"components": [[0], [0, 1]]}, "a column belongs to at most one group"),
        ({"components": [["x0"], ["y"]]}, "unknown column 'y' in group 'component 1'"),
        (
            {"components": [[0], [1]], "confounded": [True]},
            "for 2 components: pass one flag",
        ),
        ({"components": "x0"}, "takes components as a list of lists of columns"),
        ({"components": [0, 1]}, "takes components as a list of lists"),
        (
            {"components": [[0], [1]], "confounded": "yes"},
            "takes confounded as True or False",
        ),
    ],
)
def test_invalid_components_are_refused(parameters, message):
    with pytest.raises(ValueError, match=f"CausalReward.*{message}"):
        ShapleyExplainer(lambda X: X[:, 0], reward=CausalReward(**parameters)).fit(ROWS)
