"""Wrappers of other libraries: values against all coalitions of the model's response."""

import numpy as np
import pytest
from scipy.special import logit
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge

from skshapley import ShapleyExplainer
from skshapley.samplers import Exact

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
Y = X[:, 0] * X[:, 1] + X[:, 2]
TWO = (Y > 0).astype(int)
BACKGROUND, ROWS = X[:7], X[50:52]


def imodels(name, target, **parameters):
    library = pytest.importorskip("imodels")
    return getattr(library, name)(**parameters).fit(X, target)


def split_conformal():
    regression = pytest.importorskip("mapie.regression")
    forest = RandomForestRegressor(5, max_depth=4, random_state=0).fit(X, Y)
    model = regression.SplitConformalRegressor(forest, prefit=True)
    return model.conformalize(X, Y)


def cross_conformal():
    regression = pytest.importorskip("mapie.regression")
    return regression.CrossConformalRegressor(Ridge()).fit_conformalize(X, Y)


def jackknife():
    regression = pytest.importorskip("mapie.regression")
    return regression.JackknifeAfterBootstrapRegressor(Ridge()).fit_conformalize(X, Y)


def quantile_forest(quantiles):
    library = pytest.importorskip("quantile_forest")
    model = library.RandomForestQuantileRegressor(
        5, max_depth=4, random_state=0, default_quantiles=quantiles
    )
    return model.fit(X, Y)


# name: (model, response, closed form or None)
CASES = {
    "shrunken tree": (
        lambda: imodels("HSTreeRegressor", Y, max_leaf_nodes=8),
        "predict",
        "trees",
    ),
    "shrunken forest": (
        lambda: imodels(
            "HSTreeRegressor",
            Y,
            estimator_=RandomForestRegressor(5, max_depth=4, random_state=0),
        ),
        "predict",
        "trees",
    ),
    "shrunken classifier": (
        lambda: imodels("HSTreeClassifier", TWO, max_leaf_nodes=8),
        "predict_proba",
        "trees",
    ),
    "sum of trees": (
        lambda: imodels("FIGSRegressor", Y, max_rules=8),
        "predict",
        "trees",
    ),
    "classifying sum of trees": (
        lambda: imodels("FIGSClassifier", TWO, max_rules=8),
        "log_odds",
        "trees",
    ),
    "rules": (
        lambda: imodels("RuleFitRegressor", Y, max_rules=10, random_state=0),
        "predict",
        "trees and linear terms",
    ),
    "rules without columns": (
        lambda: imodels(
            "RuleFitRegressor", Y, max_rules=10, include_linear=False, random_state=0
        ),
        "predict",
        "trees and linear terms",
    ),
    "classifying rules": (
        lambda: imodels("RuleFitClassifier", TWO, max_rules=10, random_state=0),
        "log_odds",
        "trees and linear terms",
    ),
    "split conformal": (split_conformal, "predict", "trees"),
    "cross conformal": (cross_conformal, "predict", "linear terms"),
    "jackknife": (jackknife, "predict", None),
    "quantile": (lambda: quantile_forest(0.8), "predict", None),
    "two quantiles": (lambda: quantile_forest([0.1, 0.9]), "predict", None),
}


@pytest.mark.parametrize("name", CASES)
def test_values_agree_with_all_coalitions(name):
    make, method, closed_form = CASES[name]
    model = make()

    def response(table):
        if method == "log_odds":
            return logit(model.predict_proba(table)[:, 1])
        if method == "predict_proba":
            return model.predict_proba(table)[:, 1]
        return model.predict(table)

    explainer = ShapleyExplainer(model, response_method=method).fit(BACKGROUND)
    explanation = explainer.explain(ROWS)
    assert explanation.settings.closed_form == closed_form
    enumerated = ShapleyExplainer(response, sampler=Exact()).fit(BACKGROUND)
    expected = enumerated.explain(ROWS)
    np.testing.assert_allclose(explanation.values, expected.values, atol=1e-12)
