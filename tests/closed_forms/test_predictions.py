"""Predictions of closed forms are computed without the attributions."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
)

from skshapley import ShapleyExplainer, TreeExplainer
from skshapley.closed_forms import LinearTerms
from skshapley.exceptions import ModelOutputError, UnreadableModelError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(100, 4))


class Halved(LinearTerms):
    """Linear terms with a fault: halved attributions."""

    def _attributions(self, X):
        return super()._attributions(X) / 2

    def combined(self, matrix, constant=0.0):
        return self


def test_a_gap_names_the_form():
    model = LinearRegression().fit(X, X @ [1.0, 2.0, 0.0, -1.0])
    explainer = ShapleyExplainer(model).fit(X[:10])
    faulty = Halved(explainer.exact_.coef, explainer.exact_.intercept)
    explainer._way = replace(explainer._way, form=faulty.fit(X[:10]))
    with pytest.raises(UnreadableModelError, match="values of linear terms add up to"):
        explainer.explain(X[10:12])


@pytest.mark.parametrize("interactions", [False, True])
def test_truncated_tables_are_noticed(interactions, monkeypatch):
    """Numbers of tables or branchings that lose their decimals."""
    model = GradientBoostingRegressor(n_estimators=5, max_depth=2, random_state=0)
    model.fit(X, X[:, 0] * X[:, 1])
    explainer = TreeExplainer(model, interactions=interactions).fit(X[:5])
    form = explainer.exact_

    def truncated(*arguments):
        return tuple(np.trunc(part) for part in compute(*arguments))

    name = "attributions_and_pairs" if interactions else "attributions_and_predictions"
    compute = getattr(form, name)
    monkeypatch.setattr(form, name, truncated)
    with pytest.raises(UnreadableModelError, match="trees add up to"):
        explainer.explain(X[10:20])


@pytest.mark.parametrize(
    "parameters", [{}, {"interactions": True}, {"index": "banzhaf"}]
)
def test_infinite_predictions_have_no_values(parameters):
    """The exponential of a large sum, as for a model that is sampled."""
    model = PoissonRegressor().fit(X, RNG.poisson(np.exp(X[:, 0])))
    explainer = ShapleyExplainer(model, **parameters).fit(X)
    assert explainer.exact_ is not None
    instances = X[:3].copy()
    instances[1, 0] = 1e30
    with pytest.raises(
        ModelOutputError, match="exponential of linear terms, returned NaN"
    ):
        explainer.explain(instances)


def test_attributions_too_large_to_be_summed_are_refused():
    """Two large attributions of opposite signs, with a prediction that is in range."""
    model = LogisticRegression().fit(X[:, :2], X[:, 0] > X[:, 1])
    explainer = ShapleyExplainer(model, response_method="log_odds").fit(X[:5, :2])
    assert explainer.exact_ is not None
    with pytest.raises(ModelOutputError, match=r"linear terms, .* beyond 1e\+306"):
        explainer.explain([[1e306, 1e306]])
