"""The logarithm of a prediction: exact for models with a log link, against all coalitions."""

import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import (
    GammaRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    TweedieRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skshapley import ShapleyExplainer
from skshapley.exceptions import ModelOutputError
from skshapley.samplers import Exact
from skshapley.trees import TreeExplainer

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
COUNTS = RNG.poisson(np.exp(0.5 * X[:, 0] + 0.3 * X[:, 1] * X[:, 2])) + 0.125
BACKGROUND, ROWS = X[:7], X[50:53]


def catboost(loss):
    library = pytest.importorskip("catboost")
    return library.CatBoostRegressor(
        loss_function=loss, iterations=8, verbose=0, allow_writing_files=False
    )


BOOSTED = {
    "histogram, poisson": lambda: HistGradientBoostingRegressor(
        loss="poisson", max_iter=8
    ),
    "histogram, gamma": lambda: HistGradientBoostingRegressor(loss="gamma", max_iter=8),
    **{
        f"xgboost, {objective}": lambda objective=objective: xgboost.XGBRegressor(
            objective=objective, n_estimators=8, n_jobs=1
        )
        for objective in ("count:poisson", "reg:gamma", "reg:tweedie")
    },
    **{
        f"lightgbm, {objective}": lambda objective=objective: lightgbm.LGBMRegressor(
            objective=objective, n_estimators=8, verbose=-1, n_jobs=1
        )
        for objective in ("poisson", "gamma", "tweedie")
    },
    "catboost, poisson": lambda: catboost("Poisson"),
    "catboost, tweedie": lambda: catboost("Tweedie:variance_power=1.5"),
    "log target, forest": lambda: TransformedTargetRegressor(
        RandomForestRegressor(5, max_depth=4, random_state=0),
        func=np.log,
        inverse_func=np.exp,
    ),
}
LINEAR = {
    "poisson": PoissonRegressor,
    "gamma": GammaRegressor,
    "tweedie": lambda: TweedieRegressor(power=1.5),
    "pipeline": lambda: make_pipeline(StandardScaler(), PoissonRegressor()),
    "linear booster": lambda: xgboost.XGBRegressor(
        objective="reg:gamma", booster="gblinear", n_estimators=8, n_jobs=1
    ),
    "log target, linear": lambda: TransformedTargetRegressor(
        LinearRegression(), func=np.log, inverse_func=np.exp
    ),
}


@pytest.mark.parametrize("name", [*BOOSTED, *LINEAR])
def test_values_are_exact(name):
    model = (BOOSTED | LINEAR)[name]().fit(X, COUNTS)
    explainer = ShapleyExplainer(model, response_method="log").fit(BACKGROUND)
    explanation = explainer.explain(ROWS)
    closed_form = "trees" if name in BOOSTED else "linear terms"
    assert explanation.settings.closed_form == closed_form
    enumerated = ShapleyExplainer(
        lambda table: np.log(model.predict(table)), sampler=Exact()
    ).fit(BACKGROUND)
    expected = enumerated.explain(ROWS)
    # libraries of single precision
    np.testing.assert_allclose(explanation.values, expected.values, atol=2e-6)
    np.testing.assert_allclose(explanation.base_values, expected.base_values, atol=2e-6)


@pytest.mark.parametrize("name", BOOSTED)
def test_sampled_means_name_the_logarithm(name):
    model = BOOSTED[name]().fit(X, COUNTS)
    explainer = ShapleyExplainer(model, max_rows=300, random_state=0)
    settings = explainer.fit(BACKGROUND).explain(ROWS[:1]).settings
    assert settings.closed_form is None
    assert settings.exact_response == "log"


def test_the_sum_of_trees_is_the_logarithm():
    model = BOOSTED["histogram, poisson"]().fit(X, COUNTS)
    explanation = TreeExplainer(model, response_method="log").fit(X).explain(ROWS)
    total = explanation.base_values + explanation.values.sum(axis=1)
    np.testing.assert_allclose(np.exp(total), model.predict(ROWS))


def test_labels_and_negative_numbers_have_no_logarithm():
    labels = LogisticRegression().fit(X, COUNTS > 1)
    with pytest.raises(ValueError, match=r'no logarithm: choose "log_odds"'):
        ShapleyExplainer(labels, response_method="log").fit(BACKGROUND)
    line = LinearRegression().fit(X, X[:, 0])
    with pytest.raises(ModelOutputError, match="predictions of 0 and below"):
        ShapleyExplainer(line, response_method="log").fit(X)
