"""The default explainer reads a model's closed form, or gives the reason for sampling."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, make_friedman1
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skshapley import ShapleyExplainer
from skshapley.trees import TreeExplainer

CANCER = load_breast_cancer(return_X_y=True, as_frame=True)
DIABETES = load_diabetes(return_X_y=True, as_frame=True)


def explained(model, data, groups=None, **kwargs):
    X, y = data
    explainer = ShapleyExplainer(
        model.fit(X, y), groups=groups, random_state=0, **kwargs
    )
    weights = np.arange(40) % 3
    return explainer.fit(X[:40], sample_weight=weights).explain(X[50:56])


@pytest.mark.parametrize(
    ("model", "data", "kwargs"),
    [
        (GradientBoostingRegressor(n_estimators=20), DIABETES, {}),
        (RandomForestClassifier(10, max_depth=4, random_state=0), CANCER, {}),
        (
            RandomForestClassifier(10, max_depth=4, random_state=0),
            CANCER,
            {"output": 0},
        ),
        (
            HistGradientBoostingClassifier(max_iter=20),
            CANCER,
            {"response_method": "decision_function", "groups": {"first": [0, 1, 2]}},
        ),
    ],
)
def test_trees_agree_with_sampling_and_have_no_error(model, data, kwargs):
    exact = explained(model, data, **kwargs)
    sampled = explained(
        model, data, sampler="antithetic", max_rows=398 * 40 + 1, **kwargs
    )
    assert exact.settings.why_sampled is None
    assert exact.converged.all()
    assert (exact.standard_errors == 0).all()
    assert (exact.n_model_rows == 0).all()
    np.testing.assert_array_equal(exact.feature_names, sampled.feature_names)
    np.testing.assert_allclose(exact.base_values, sampled.base_values, rtol=1e-9)
    np.testing.assert_allclose(exact.predictions, sampled.predictions, rtol=1e-9)
    # players whose walks agree have errors for what none has met, which are wide on
    # purpose
    stated = np.abs(exact.values) > 0.05 * np.abs(exact.values).max()
    error = np.sqrt(np.mean((exact.values - sampled.values)[stated] ** 2))
    typical = np.sqrt(np.mean(sampled.standard_errors[stated] ** 2))
    # the root mean square of dozens of errors against that of their standard errors:
    # around 1
    assert 0.5 < error / typical < 2


@pytest.mark.parametrize(
    ("model", "data", "kwargs", "reason"),
    [
        (
            KNeighborsRegressor(),
            DIABETES,
            {},
            "KNeighborsRegressor.predict has no closed form",
        ),
        (
            HistGradientBoostingClassifier(max_iter=3),
            CANCER,
            {},
            "not the sum of its trees",
        ),
        (
            GradientBoostingRegressor(n_estimators=30),
            DIABETES,
            {"sampler": "leverage"},
            "was chosen",
        ),
    ],
)
def test_other_models_are_sampled_with_a_recorded_reason(model, data, kwargs, reason):
    explanation = explained(model, data, max_rows=148 * 40 + 1, **kwargs)
    assert reason in explanation.settings.why_sampled
    assert explanation.standard_errors.max() > 0


@pytest.fixture(scope="module", params=["forest", "pipeline"])
def grown(request):
    """Some fully grown trees, and the table that they were fitted on."""
    X, y = make_friedman1(4000, 10, noise=1.0, random_state=0)
    forest = RandomForestRegressor(4, random_state=0)
    model = (
        forest if request.param == "forest" else make_pipeline(StandardScaler(), forest)
    )
    return model.fit(X, y), X


def test_fully_grown_trees_against_a_large_table_are_sampled(grown):
    """Exact values of a hundred rows would cost more than the budget allows."""
    model, X = grown
    explainer = ShapleyExplainer(model, max_rows=5000, random_state=0, verbose=False)
    found = explainer.fit(X).explain(X[:5])
    assert "would cost as much as" in found.settings.why_sampled
    budget = ShapleyExplainer(model, max_rows=10**6).fit(X).explain(X[:5])
    assert budget.settings.why_sampled is None
    off = np.abs(found.values - budget.values) / found.standard_errors
    # 50 attributions, of which 47.5 are expected within 1.96 errors: 6 in 100,000 are
    # beyond 4
    assert off.max() < 4.5
    assert (off < 1.96).mean() > 0.8


def test_other_calls_of_fully_grown_trees_are_exact(grown):
    """For a small background, for interactions, and on request."""
    model, X = grown
    small = ShapleyExplainer(model).fit(X[:100]).explain(X[:2])
    assert small.settings.why_sampled is None
    pairs = ShapleyExplainer(model, interactions=True).fit(X).explain(X[:1])
    assert pairs.settings.why_sampled is None


def test_the_tree_explainer_does_not_sample():
    X, y = make_friedman1(4000, 10, noise=1.0, random_state=0)
    forest = RandomForestRegressor(2, random_state=0).fit(X, y)
    found = TreeExplainer(forest).fit(X).explain(X[:2])
    assert (found.standard_errors == 0).all()
