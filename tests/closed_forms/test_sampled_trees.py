"""Grown trees against many background rows: samples with stated errors."""

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_friedman1
from sklearn.ensemble import (
    BaggingRegressor,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from skshapley import ShapleyExplainer
from skshapley.indices import INDICES
from skshapley.stopping import RelativeError

X, Y = make_friedman1(620, 8, noise=1.0, random_state=0)
BACKGROUND, ROWS = X[:600], X[600:]
METHOD = "sampler=background rows for each tree, solver=exact values of trees"
# exact values against 600 rows would cost more
BUDGET = 900


@pytest.fixture(scope="module")
def forest():
    return RandomForestRegressor(30, random_state=0).fit(BACKGROUND, Y[:600])


def both(model, max_rows=BUDGET, weights=None, **parameters):
    """Return sampled and exact values of the same rows."""
    how = {"random_state": 0, "stopping": None, **parameters}
    few, enough = (
        ShapleyExplainer(model, max_rows=rows, **how).fit(
            BACKGROUND, sample_weight=weights
        )
        for rows in (max_rows, 10**8)
    )
    assert few.exact_ is None
    assert enough.exact_ is not None
    return few.explain(ROWS), enough.explain(ROWS)


def assert_stated(found, exact):
    """Errors are about as large as the standard errors."""
    assert found.settings.method == METHOD
    assert (found.n_model_rows == 1).all()
    stated = found.standard_errors > 0
    ratio = ((found.values - exact.values)[stated] / found.standard_errors[stated]) ** 2
    # the mean of hundreds of squared errors, which depend on each other within a row
    assert 0.2 < ratio.mean() < 1.6
    assert (ratio < 1.96**2).mean() > 0.88
    np.testing.assert_array_equal(found.values[~stated], exact.values[~stated])


@pytest.mark.parametrize(
    "model",
    [
        RandomForestRegressor(30, random_state=0),
        ExtraTreesRegressor(20, random_state=0),
        RandomForestRegressor(3, random_state=0),
        make_pipeline(StandardScaler(), RandomForestRegressor(10, random_state=0)),
        BaggingRegressor(DecisionTreeRegressor(), 10, max_features=0.8, random_state=0),
    ],
)
def test_errors_are_as_stated_and_values_add_up(model):
    found, exact = both(model.fit(BACKGROUND, Y[:600]))
    assert_stated(found, exact)
    total = found.base_values + found.values.sum(axis=1)
    np.testing.assert_allclose(total, found.predictions, rtol=1e-12)


@pytest.mark.parametrize(
    "parameters",
    [
        {"groups": {"first": [0, 1, 2]}},
        {"index": INDICES["banzhaf"]},
        {"weights": np.arange(600.0) % 3},
    ],
)
def test_groups_indices_and_weights(forest, parameters):
    assert_stated(*both(forest, **parameters))


@pytest.mark.parametrize("output", [None, 1, "predicted"])
def test_outputs_of_several_classes(output):
    table, classes = make_classification(
        620, 14, n_informative=6, n_classes=3, flip_y=0.3, random_state=0
    )
    model = RandomForestClassifier(20, random_state=0).fit(table, classes)
    explainers = [
        ShapleyExplainer(
            model, output=output, max_rows=rows, stopping=None, random_state=0
        )
        for rows in (BUDGET, 10**8)
    ]
    found, exact = (one.fit(table[:600]).explain(table[600:]) for one in explainers)
    assert_stated(found, exact)
    apart = [one.background_errors(table[600:610]) for one in explainers]
    np.testing.assert_allclose(*apart, rtol=1e-9, atol=1e-12)
    assert apart[0].shape == found.values[:10].shape


def test_rows_stop_when_they_are_precise(forest):
    rule = RelativeError(0.1)
    how = {"max_rows": BUDGET, "random_state": 0}
    explainer = ShapleyExplainer(forest, **how, stopping=rule).fit(BACKGROUND)
    found, (spent, _) = explainer.explain(ROWS), both(forest)
    assert found.settings.method == METHOD
    assert found.converged.all()
    assert not spent.converged.any()
    share = (found.standard_errors**2).sum(axis=1) / (found.values**2).sum(axis=1)
    assert (share < rule.rtol**2).all()
    assert (spent.standard_errors**2).mean() < 0.5 * (found.standard_errors**2).mean()


def test_values_do_not_depend_on_other_rows_or_workers(forest):
    explainer = ShapleyExplainer(forest, max_rows=BUDGET, random_state=0).fit(
        BACKGROUND
    )
    together = explainer.explain(ROWS[:9])
    alone = [explainer.explain(ROWS[[i]]) for i in (7, 2)]
    parallel = ShapleyExplainer(forest, max_rows=BUDGET, random_state=0, n_jobs=2).fit(
        BACKGROUND
    )
    np.testing.assert_array_equal(
        together.values[[7, 2]], np.concatenate([a.values for a in alone])
    )
    np.testing.assert_array_equal(parallel.explain(ROWS[:9]).values, together.values)
