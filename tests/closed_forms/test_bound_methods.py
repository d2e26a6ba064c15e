"""Bound methods of models are explained as the models themselves."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeRegressor

from skshapley import ShapleyExplainer

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = X[:, 0] + X[:, 1] * X[:, 2]


@pytest.mark.parametrize("model", [LinearRegression(), DecisionTreeRegressor()])
def test_predictions_by_a_bound_method_are_exact(model):
    model.fit(X, Y)
    function = ShapleyExplainer(model.predict).fit(X[:20]).explain(X[:3])
    estimator = ShapleyExplainer(model).fit(X[:20]).explain(X[:3])
    assert function.n_model_rows.sum() == 0
    np.testing.assert_array_equal(function.values, estimator.values)


def test_probabilities_by_a_bound_method_have_all_classes():
    model = LogisticRegression().fit(X, Y > 0)
    function = ShapleyExplainer(model.predict_proba).fit(X[:20]).explain(X[:3])
    estimator = ShapleyExplainer(model).fit(X[:20]).explain(X[:3])
    assert function.n_model_rows.sum() == 0
    assert function.values.shape == (3, 4, 2)
    np.testing.assert_allclose(function.values[..., 1], estimator.values, atol=1e-15)


def test_methods_that_the_model_replaces_are_called():
    model = LinearRegression().fit(X, Y)
    plain = model.predict
    model.predict = lambda table: plain(table) + table[:, 3] ** 2
    explainer = ShapleyExplainer(plain, random_state=0).fit(X[:20])
    assert explainer.exact_ is None
