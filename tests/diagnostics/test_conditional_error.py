"""The error of rewards on held-out rows: closed forms of normal columns, and a loop."""

import numpy as np
import pandas as pd
import pytest

from skshapley import ShapleyExplainer
from skshapley.diagnostics import conditional_error
from skshapley.rewards import ConditionalReward
from skshapley.rewards._surrogate import kernel_coalitions

RHO = 0.8
SIGMA = np.array([[1.0, RHO], [RHO, 1.0]])
RNG = np.random.default_rng(0)
BACKGROUND = RNG.multivariate_normal([0, 0], SIGMA, size=500)
HELD_OUT = RNG.multivariate_normal([0, 0], SIGMA, size=400)


def total(X):
    return X[:, 0] + X[:, 1]


@pytest.fixture(scope="module")
def explainer():
    return ShapleyExplainer(total).fit(BACKGROUND - BACKGROUND.mean(axis=0))


def test_errors_of_two_normal_columns(explainer):
    """Of x + y: 1 - rho^2 remains of y given x; unconditionally, all of its variance 1.

    Within five standard errors; false alarms: 6e-7 each.
    """
    rewards = {"known": ConditionalReward(SIGMA), "none": "interventional"}
    found = conditional_error(
        explainer, rewards, HELD_OUT, n_coalitions=4, random_state=0
    )
    for name, expected in (("known", 1 - RHO**2), ("none", 1.0)):
        line = found.loc[name]
        assert abs(line["error"] - expected) < 5 * line["standard_error"]
    # of the squares of a normal variable
    assert found.loc["none", "standard_error"] == pytest.approx(
        np.sqrt(2 / 400), rel=0.3
    )
    assert found.loc["known", "share"] == pytest.approx(
        (1 - RHO**2) / (2 + 2 * RHO), rel=0.3
    )


@pytest.mark.slow
def test_differences_are_paired_with_the_first_reward(explainer):
    rewards = ["conditional", "copula", "interventional"]
    found = conditional_error(explainer, rewards, HELD_OUT, random_state=0)
    assert found.index.tolist() == rewards
    assert found.index.name == "reward"
    expected = found["error"] - found.loc["conditional", "error"]
    np.testing.assert_allclose(found["difference"], expected, rtol=0, atol=1e-12)
    assert found.loc["conditional", ["difference", "difference_error"]].tolist() == [
        0,
        0,
    ]
    assert (
        found.loc["copula", "difference_error"]
        < found.loc["copula", "standard_error"] / 5
    )
    worse = found.loc["interventional"]
    assert worse["difference"] > 5 * worse["difference_error"]


def test_values_agree_with_a_loop():
    """Weights, groups, several outputs and frames, as the explainer has them."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.normal(size=(20, 3)), columns=list("abc"))
    weights = rng.dirichlet(np.ones(20))

    def two(X):
        a, b, c = np.asarray(X, dtype=float).T
        return np.column_stack([a * b, c - a])

    explainer = ShapleyExplainer(two, groups={"ab": ["a", "b"]}).fit(
        table, sample_weight=weights
    )
    held_out = table.iloc[:5] + 0.5
    found = conditional_error(
        explainer, ["interventional"], held_out, n_coalitions=8, random_state=3
    )
    stream = np.random.SeedSequence(3, spawn_key=(0, 1))
    drawn = kernel_coalitions(np.random.default_rng(stream), 40, 2).reshape(5, 8, 2)
    squares = np.zeros((5, 8))
    for i, j in np.ndindex(5, 8):
        mixed = table.copy()
        for player, columns in enumerate([["a", "b"], ["c"]]):
            if drawn[i, j, player]:
                mixed[columns] = held_out.iloc[i][columns].to_numpy()
        squares[i, j] = ((two(held_out.iloc[[i]])[0] - weights @ two(mixed)) ** 2).sum()
    each = squares.mean(axis=1)
    assert found.loc["interventional", "error"] == pytest.approx(each.mean())
    assert found.loc["interventional", "standard_error"] == pytest.approx(
        each.std(ddof=1) / np.sqrt(5)
    )


def test_the_explainer_is_not_modified(explainer):
    before = explainer.reward_
    conditional_error(
        explainer, ["baseline"], HELD_OUT[:3], n_coalitions=1, random_state=0
    )
    assert explainer.reward_ is before
    assert explainer.reward == "interventional"


@pytest.mark.slow
def test_workers_and_seeds(explainer):
    run = {"rewards": ["conditional"], "X": HELD_OUT[:20], "random_state": 3}
    one = conditional_error(explainer, **run)
    pd.testing.assert_frame_equal(one, conditional_error(explainer, **run))
    pd.testing.assert_frame_equal(one, conditional_error(explainer, n_jobs=2, **run))
    other = conditional_error(explainer, **{**run, "random_state": 4})
    assert one.loc["conditional", "error"] != other.loc["conditional", "error"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"rewards": "conditional"},
            "takes rewards as a list of different names or rewards",
        ),
        ({"rewards": []}, "takes rewards as a list"),
        (
            {"rewards": ["conditional", "conditional"]},
            "takes rewards as a list of different",
        ),
        ({"rewards": ["no such"]}, "has no reward named 'no such'"),
        (
            {"n_coalitions": 0},
            "conditional_error takes n_coalitions as a positive int; got 0",
        ),
        ({"X": HELD_OUT[:1]}, "needs at least 2 rows to estimate errors; got 1"),
    ],
)
def test_invalid_arguments_are_refused(explainer, change, message):
    with pytest.raises(ValueError, match=message):
        conditional_error(
            explainer, **{"rewards": ["baseline"], "X": HELD_OUT[:3], **change}
        )


def test_a_single_player_is_refused():
    explainer = ShapleyExplainer(total, groups={"both": [0, 1]}).fit(BACKGROUND[:3])
    with pytest.raises(ValueError, match="a single player, which has no coalitions"):
        conditional_error(explainer, ["baseline"], HELD_OUT[:3])


def test_coalition_sizes_follow_the_shapley_kernel():
    """Sizes within five standard errors (false alarms: 3e-6); players alike within each size."""
    n, p = 20_000, 6
    drawn = kernel_coalitions(np.random.default_rng(0), n, p)
    sizes = np.arange(1, p)
    expected = 1 / (sizes * (p - sizes))
    expected /= expected.sum()
    counts = np.bincount(drawn.sum(axis=1), minlength=p + 1)
    assert counts[[0, p]].sum() == 0
    sd = np.sqrt(n * expected * (1 - expected))
    assert (np.abs(counts[1:-1] - n * expected) < 5 * sd).all()
    assert (np.abs(drawn.mean(axis=0) - 0.5) < 5 * 0.5 / np.sqrt(n)).all()
