"""A closed form from outside is one class, and one line in the registry."""

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import VotingRegressor
from sklearn.linear_model import Ridge

from skshapley import ShapleyExplainer
from skshapley.closed_forms import CLOSED_FORMS, ClosedForm, LinearTerms
from skshapley.indices import INDICES


class Squares(RegressorMixin, BaseEstimator):
    """A sum of squares of the columns, with factors."""

    def fit(self, X, y):
        self.factors_ = np.linalg.lstsq(X**2, y, rcond=None)[0]
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return X**2 @ self.factors_


class SquaredTerms(ClosedForm):
    """Linear terms of the squares."""

    label = "squares"

    def __init__(self, terms):
        self.terms, self.n_outputs = terms, terms.n_outputs

    @classmethod
    def read(cls, model, method, ask):
        if not isinstance(model, Squares) or method != "predict":
            return None
        return cls(LinearTerms(model.factors_[:, None], [0.0]))

    def combined(self, matrix, constant=0.0):
        return SquaredTerms(self.terms.combined(matrix, constant))

    def _fit(self):
        how = self.weights_, self.column_player_, self.n_players_
        return self.terms.fit(self.background_**2, *how).base_values_

    def predict(self, X):
        return self.terms.predict(X**2)

    def _attributions(self, X):
        return self.terms.attributions(X**2)

    def pairs(self, X, index=INDICES["shapley"]):
        return self.terms.pairs(X, index)

    def references(self, X, rows):
        return self.terms.references(X**2, rows)

    def state(self):
        return self.terms.state()


def test_a_closed_form_from_outside_serves_alone_and_in_sums(monkeypatch):
    monkeypatch.setitem(CLOSED_FORMS, "squares", SquaredTerms)
    X = np.random.default_rng(0).normal(size=(50, 4))
    y = X**2 @ [1.0, 2.0, 0.0, -1.0]
    for model, label in (
        (Squares(), "squares"),
        (VotingRegressor([("r", Ridge()), ("s", Squares())]), "linear terms and squares"),
    ):
        model.fit(X, y)
        made = ShapleyExplainer(model).fit(X[:20]).explain(X[20:23])
        truth = ShapleyExplainer(model, sampler="exact").fit(X[:20]).explain(X[20:23])
        assert made.settings.closed_form == label
        np.testing.assert_allclose(made.values, truth.values, rtol=0, atol=1e-13)
