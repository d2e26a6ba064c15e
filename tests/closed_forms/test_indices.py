"""Closed forms of other indices, compared with enumeration."""

import numpy as np
import pytest
from sklearn.ensemble import (
    RandomForestClassifier,
    RandomForestRegressor,
    VotingRegressor,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import PoissonRegressor, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from skshapley import ShapleyExplainer
from skshapley.indices import PAIR_INDICES, beta

from .models import THREE, Y, forest
from .models import X as TABLE

X, BACKGROUND = TABLE[:3], TABLE[100:107]
MODELS = {
    "linear": Ridge(),
    "kernels": make_pipeline(StandardScaler(), SVR(C=10.0)),
    "process": GaussianProcessRegressor(alpha=0.1, normalize_y=True),
    "exponential": PoissonRegressor(),
    "trees": forest(),
    "sum": VotingRegressor([("forest", RandomForestRegressor(3)), ("svr", SVR())]),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    return MODELS[request.param].fit(TABLE, np.abs(Y))


def both(model, **how):
    """Return values by closed form and by enumeration."""
    read = ShapleyExplainer(model, **how).fit(BACKGROUND).explain(X)
    return read, ShapleyExplainer(model, sampler="exact", **how).fit(
        BACKGROUND
    ).explain(X)


@pytest.mark.thinned
@pytest.mark.parametrize("name", PAIR_INDICES)
def test_interactions_for_any_index(model, name):
    found, truth = both(model, interactions=name)
    assert found.settings.closed_form is not None
    assert found.interactions.index == name
    expected = truth.interactions.values
    atol = 1e-9 * np.abs(truth.predictions).max()
    np.testing.assert_allclose(found.interactions.values, expected, rtol=0, atol=atol)
    assert not found.interactions.standard_errors.any()
    plain = ShapleyExplainer(model).fit(BACKGROUND).explain(X)
    np.testing.assert_array_equal(found.values, plain.values)


@pytest.mark.parametrize("index", ["banzhaf", beta(3, 1)], ids=["banzhaf", "beta"])
def test_values_for_other_indices(model, index):
    found, truth = both(model, index=index)
    atol = 1e-9 * np.abs(truth.predictions).max()
    np.testing.assert_allclose(found.values, truth.values, rtol=0, atol=atol)
    np.testing.assert_allclose(found.predictions, truth.predictions, rtol=0, atol=atol)
    assert found.settings.index == (index if index == "banzhaf" else index.name)
    assert found.settings.closed_form is not None


def test_interactions_for_the_predicted_class():
    model = RandomForestClassifier(5, max_depth=3, random_state=0).fit(TABLE, THREE)
    found, truth = both(model, output="predicted", interactions=True)
    assert found.settings.closed_form == "trees"
    expected = truth.interactions.values
    np.testing.assert_allclose(found.interactions.values, expected, atol=1e-12)
    np.testing.assert_allclose(found.values, truth.values, atol=1e-12)
