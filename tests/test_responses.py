from functools import cache, partial

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.linear_model import LinearRegression

from benchmarks.couples import chi_square_median, make_couples
from skshapley import ShapleyExplainer
from skshapley.responses import highest_probability, rank, same_class
from skshapley.testing import brute_force

X, y = load_iris(return_X_y=True)


@cache
def forest():
    return RandomForestClassifier(n_estimators=20, random_state=0).fit(X, y)


def by_definition(function, x, background):
    """Mean over background rows of the Shapley values of v(S) = f(x in S, row elsewhere)."""

    def worth(coalitions, row):
        return np.asarray(function(np.where(coalitions, x, row)), dtype=float)

    return np.mean(
        [brute_force(partial(worth, row=row), len(x)) for row in background], axis=0
    )


def explained(x, background, model=None, **options):
    model = forest() if model is None else model
    explainer = ShapleyExplainer(model, max_rows=62 * len(background) + 1, **options)
    return explainer.fit(background).explain(x[None]).values[0]


REFERENCES = {"one reference": X[[3]], "a population": X[[3, 60, 110, 9]]}


@pytest.mark.parametrize("background", REFERENCES.values(), ids=REFERENCES)
@pytest.mark.parametrize("i", [0, 70, 120])
def test_rewards_of_the_paper(background, i):
    x = X[i]
    own = forest().predict(x[None])[0]
    rewards = {
        "same class": (
            dict(response_method=same_class, output="predicted"),
            lambda Z: forest().predict(Z) == own,
        ),
        "probability of the predicted class": (
            dict(response_method="predict_proba", output="predicted"),
            lambda Z: forest().predict_proba(Z)[:, own],
        ),
        "maximum probability": (
            dict(response_method=highest_probability),
            lambda Z: forest().predict_proba(Z).max(axis=1),
        ),
    }
    for options, function in rewards.values():
        expected = by_definition(function, x, background)
        np.testing.assert_allclose(
            explained(x, background, **options), expected, rtol=0, atol=1e-12
        )


def test_anomaly_score():
    model = IsolationForest(n_estimators=10, random_state=0).fit(X)
    expected = by_definition(model.score_samples, X[120], X[[3]])
    np.testing.assert_allclose(
        explained(X[120], X[[3]], model), expected, rtol=0, atol=1e-12
    )


def test_rank():
    model = LinearRegression().fit(X[:, :3], X[:, 3])
    scores = model.predict(X[5:, :3])

    def place(Z):
        return [1 + (scores > s).sum() for s in model.predict(Z)]

    found = explained(
        X[2, :3], X[[120], :3], model, response_method=partial(rank, competitors=scores)
    )
    expected = by_definition(place, X[2, :3], X[[120], :3])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    assert rank(model, X[:5, :3], competitors=scores).tolist() == place(X[:5, :3])


def test_ties_share_the_better_rank():
    model = LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0])
    model.coef_, model.intercept_ = np.array([1.0]), 0.0
    assert rank(model, [[2.0], [3.0]], competitors=[1.0, 2.0, 2.0, 3.0]).tolist() == [
        2.0,
        1.0,
    ]


class InSphere(ClassifierMixin, BaseEstimator):
    """The classifier of the simulated experiments, as a model with classes of any name."""

    def fit(self, X, y=None):
        self.classes_ = np.array(["in", "out"])
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return self.classes_[1 * ((X**2).sum(axis=1) > chi_square_median(X.shape[1]))]


def test_same_class_is_the_simulated_game():
    game = make_couples(n_couples=6, n_players=6, random_state=3)
    model = InSphere().fit(game.X)
    truth = game.shapley_values[:, :, 0]
    for x, reference, expected in zip(game.X, game.references, truth, strict=True):
        found = explained(
            x, reference[None], model, response_method=same_class, output="predicted"
        )
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
