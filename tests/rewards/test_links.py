"""A link after the mean: the logarithm of a mean differs from the mean of logarithms."""

from functools import lru_cache
from itertools import combinations
from math import comb

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skshapley import ShapleyExplainer
from skshapley.exceptions import ModelOutputError
from skshapley.rewards import ConditionalReward, CopulaReward, InterventionalReward
from skshapley.testing import brute_force

P, B = 4, 15


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    X = X[:, :P]
    return make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y), X, y


def shapley(v, p):
    """The Shapley values ``(p, k)`` of a function of a tuple of players, by definition."""
    values = []
    for i in range(p):
        others = [j for j in range(p) if j != i]
        total = 0.0
        for size in range(p):
            for S in combinations(others, size):
                total += (v((*S, i)) - v(S)) / (p * comb(p - 1, size))
        values.append(total)
    return np.array(values)


def mean_game(model, x, background, weights):
    def v(S):
        rows = background.copy()
        rows[:, list(S)] = x[list(S)]
        return weights @ model.predict_proba(rows)

    return v


@pytest.mark.parametrize(
    ("link", "function"),
    [("log", np.log), ("logit", logit), (np.sqrt, np.sqrt)],
    ids=["log", "logit", "a function"],
)
def test_values_agree_with_enumeration_of_the_linked_mean(wine, link, function):
    model, X, _ = wine
    background, weights = X[::12][:B], np.arange(B) + 1.0
    reward = InterventionalReward(link=link)
    explainer = ShapleyExplainer(model, reward=reward, random_state=0)
    made = explainer.fit(background, sample_weight=weights).explain(X[:2])
    for row in range(2):
        v = mean_game(model, X[row], background, weights / weights.sum())
        expected = shapley(lambda S, v=v: function(v(S)), P)
        np.testing.assert_allclose(made.values[row], expected, rtol=0, atol=1e-10)
    np.testing.assert_allclose(made.predictions, function(model.predict_proba(X[:2])))
    assert made.settings.closed_form is None
    assert "link" in made.settings.reward


def test_the_logarithm_of_a_mean_differs_from_the_mean_of_logarithms(wine):
    model, X, _ = wine
    linked = ShapleyExplainer(model, reward=InterventionalReward(link="log")).fit(
        X[::9]
    )
    plain = ShapleyExplainer(model, response_method="predict_log_proba").fit(X[::9])
    gap = linked.explain(X[:5]).values - plain.explain(X[:5]).values
    assert np.abs(gap).max() > 0.5


def test_stated_errors_of_sampled_values_are_honest(wine):
    model, X, _ = wine
    X = np.column_stack([X, X[::-1] * 0.5, X[:, ::-1] * 2.0])
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, wine[2])
    how = {"reward": InterventionalReward(link="log"), "output": 0}
    truth = ShapleyExplainer(model, sampler="exact", **how).fit(X[::20]).explain(X[:1])
    inside = []
    for seed in range(20):  # 12 values each; 1e-6 of right implementations fail
        explainer = ShapleyExplainer(
            model, sampler="antithetic", max_rows=9 * 400, random_state=seed, **how
        )
        made = explainer.fit(X[::20]).explain(X[:1])
        away = np.abs(made.values - truth.values)
        inside.append(away <= 3.5 * made.standard_errors + 1e-12)
    assert np.mean(inside) > 0.95


def test_background_errors_match_the_spread_over_backgrounds(wine):
    """The delta method against the spread over backgrounds drawn from the table."""
    model, X, _ = wine
    rng, how = (
        np.random.default_rng(0),
        {"reward": InterventionalReward(link="log"), "output": 0},
    )
    stated, found = [], []
    for _ in range(60):
        explainer = ShapleyExplainer(model, **how).fit(X[rng.integers(0, len(X), 40)])
        stated.append(explainer.background_errors(X[:1])[0] ** 2)
        found.append(explainer.explain(X[:1]).values[0])
    ratio = np.mean(stated, axis=0) / np.var(found, axis=0, ddof=1)
    # a variance of 60 draws is off by 18 %; four of those on either side
    assert (np.abs(np.log(ratio)) < 0.75).all()


def test_background_errors_of_means_next_to_one():
    """The derivative is exact for a named link, and almost the same for an equal function."""

    def errors(link, gap):
        explainer = ShapleyExplainer(
            lambda X: 1 - gap * (1 + X[:, 0] ** 2),
            reward=InterventionalReward(link=link),
        )
        return explainer.fit(np.arange(6.0)[:, None]).background_errors([[1.0]])

    np.testing.assert_allclose(errors("logit", 1e-3), errors(logit, 1e-3), rtol=1e-6)
    # there, the derivative of the logit is the reciprocal of the gap
    np.testing.assert_allclose(errors("logit", 1e-9), errors("logit", 1e-8), rtol=1e-5)


TABLE = np.random.default_rng(0).normal(size=(1500, 6))


def positive(X):
    return np.exp(0.5 * X[:, 0] * X[:, 1]) + 2.0 + np.sin(X[:, 2] + X[:, 3]) * X[:, 4]


def test_a_large_background_keeps_the_budget_and_states_its_errors():
    """96 attributions by definition, below .90 in one of 100 honest runs."""
    rows = np.random.default_rng(1).normal(size=(16, 6))
    reward = InterventionalReward(link="log")
    weights = np.full(len(TABLE), 1 / len(TABLE))
    truth = []
    for row in rows:

        def v(S, row=row):
            mixed = TABLE.copy()
            mixed[:, list(S)] = row[list(S)]
            return np.log(weights @ positive(mixed))[None]

        truth.append(shapley(lru_cache(v), 6)[:, 0])
    for max_rows, sampler in (("auto", "auto"), (3000, "auto"), (6000, "antithetic")):
        explainer = ShapleyExplainer(
            positive,
            reward=reward,
            max_rows=max_rows,
            sampler=sampler,
            random_state=0,
        ).fit(TABLE)
        explanation = explainer.explain(rows)
        most = 35_000 if max_rows == "auto" else max_rows
        assert explanation.n_model_rows.max() <= most
        errors = np.abs(explanation.values - truth)
        assert (errors <= 1.96 * explanation.standard_errors).mean() >= 0.90
        relative = (errors**2).sum() / np.square(truth).sum()
        assert relative < 0.05
        np.testing.assert_allclose(explanation.efficiency_gap, 0, atol=1e-9)


def between(X):
    """A response between 0 and 1."""
    return expit(positive(X) - 3)


@pytest.mark.parametrize(
    ("link", "function"), [("log", positive), ("logit", between)], ids=["log", "logit"]
)
def test_background_errors_of_a_sample_match_the_delta_method(link, function):
    """With one seed, the ratio has a standard deviation of .08."""
    rows = np.random.default_rng(2).normal(size=(8, 6))
    how = {"reward": InterventionalReward(link=link)}
    # all coalitions against all rows, so that errors come from the influences
    whole = ShapleyExplainer(
        function, sampler="exact", max_rows=64 * len(TABLE), **how
    ).fit(TABLE)
    delta = whole.background_errors(rows)
    squares = []
    for seed in range(6):
        explainer = ShapleyExplainer(function, random_state=seed, **how).fit(TABLE)
        sampled = explainer.background_errors(rows)
        squares.append((sampled**2).sum())
        # The function does not use the last column.
        assert sampled[:, 5].max() < 0.1 * sampled.max()
    assert 0.9 < np.mean(squares) / (delta**2).sum() < 1.15


@pytest.mark.slow
@pytest.mark.parametrize("link", ["log", "logit"])
def test_background_errors_of_a_sample_match_other_backgrounds(link):
    """Of the background, 100 of 200 rows are used for each value.

    The standard deviation of the ratio is .06. Balanced groups had a ratio of .7.
    """
    rows = np.random.default_rng(3).normal(size=(3, 5))
    weights = np.array([1.1, -0.8, 0.5, 1.4, -0.3])
    transform = np.log if link == "log" else logit

    def response(X):
        return expit(X @ weights + X[:, 0] * X[:, 1])

    stated, values = [], []
    for seed in range(300):
        background = np.random.default_rng(seed).normal(size=(200, 5))
        how = {"reward": InterventionalReward(link=link), "random_state": seed}
        sampled = ShapleyExplainer(
            response, sampler="antithetic", max_rows=3001, **how
        ).fit(background)
        stated.append(sampled.background_errors(rows) ** 2)

        def worth(coalitions, background=background):
            mixed = np.where(coalitions[:, None, None], rows[:, None], background)
            means = response(mixed.reshape(-1, 5)).reshape(-1, 3, 200).mean(axis=2)
            return transform(means)

        values.append(brute_force(worth, 5))
    ratio = np.mean(stated, axis=0).sum() / np.var(values, axis=0, ddof=1).sum()
    assert 0.9 < ratio < 1.15


@pytest.mark.parametrize("kind", [ConditionalReward, CopulaReward])
def test_conditional_rewards_accept_a_link(wine, kind):
    model, X, _ = wine
    linked = ShapleyExplainer(model, reward=kind(link="log"), random_state=0).fit(
        X[::4]
    )
    made = linked.explain(X[:2])
    total = made.base_values + made.values.sum(axis=1)
    np.testing.assert_allclose(
        total, np.log(model.predict_proba(X[:2])), rtol=0, atol=1e-10
    )
    np.testing.assert_allclose(
        made.base_values,
        np.log(model.predict_proba(X[::4]).mean(axis=0))[None].repeat(2, axis=0),
    )


def test_links_that_return_nan_are_refused():
    model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    explainer = ShapleyExplainer(
        model,
        response_method="decision_function",
        reward=InterventionalReward(link="log"),
    ).fit([[0.0], [0.1]])
    with pytest.raises(ModelOutputError, match="link='log' returned no finite number"):
        explainer.explain([[1.0]])
    with pytest.raises(ValueError, match='link as None, "log", "logit" or a function'):
        ShapleyExplainer(model, reward=InterventionalReward(link="exp")).fit([[0.0]])
