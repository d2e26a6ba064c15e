"""Linear boosters of XGBoost have linear terms in single precision."""

import numpy as np
import pandas as pd
import pytest

from skshapley import ShapleyExplainer

xgboost = pytest.importorskip("xgboost")
# XGBoost 3.4 says that linear boosters will go
pytestmark = pytest.mark.filterwarnings("ignore:.*booster=gblinear:UserWarning")
X = pd.DataFrame(np.random.default_rng(0).normal(size=(100, 4)), columns=list("abcd"))
Y = X.to_numpy() @ [1.0, -0.5, 2.0, 0.0]
THREE = np.digitize(Y, [-1, 1])
CASES = {
    "regressor": ("XGBRegressor", Y, {}),
    "absolute error": ("XGBRegressor", Y, {"objective": "reg:absoluteerror"}),
    "probability": ("XGBClassifier", THREE > 1, {}),
    "log-odds": ("XGBClassifier", THREE > 1, {"response_method": "log_odds"}),
    "margins": ("XGBClassifier", THREE, {"response_method": "log_odds"}),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("container", ["frame", "array"])
def test_linear_boosters_are_exact(name, container):
    kind, target, how = CASES[name]
    objective = {key: how[key] for key in how if key == "objective"}
    how = {key: how[key] for key in how if key != "objective"}
    table = X if container == "frame" else X.to_numpy()
    model = getattr(xgboost, kind)(booster="gblinear", n_jobs=1, **objective).fit(
        table, np.asarray(target, dtype=float if kind == "XGBRegressor" else int)
    )
    read, truth = (
        ShapleyExplainer(model, sampler=sampler, **how)
        .fit(table[:9])
        .explain(table[9:12])
        for sampler in ("auto", "exact")
    )
    assert read.settings.closed_form is not None
    atol = 1e-6 * np.abs(truth.predictions).max()
    np.testing.assert_allclose(read.values, truth.values, rtol=0, atol=atol)
    np.testing.assert_allclose(read.predictions, truth.predictions, rtol=0, atol=atol)


def test_probabilities_of_three_classes_are_sampled():
    model = xgboost.XGBClassifier(booster="gblinear", n_jobs=1).fit(X, THREE)
    made = ShapleyExplainer(model).fit(X[:9]).explain(X[9:12])
    assert made.settings.closed_form is None
    assert made.settings.exact_response == "log_odds"
