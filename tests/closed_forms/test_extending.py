"""An external model needs one reader function and one line in the registry."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import VotingRegressor
from sklearn.linear_model import Ridge

from skshapley import ShapleyExplainer
from skshapley._tools._params import installed as installed_components
from skshapley.closed_forms import ClosedForm, LinearTerms
from skshapley.indices import INDICES
from skshapley.readers import READERS


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


def read_squares(model, method, ask):
    return SquaredTerms(LinearTerms(model.factors_[:, None], [0.0]))


NAME = f"{Squares.__module__.partition('.')[0]}.Squares"


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setitem(READERS, NAME, read_squares)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Another package, which has a reader among its entry points."""
    info = tmp_path / "squares-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: squares\nVersion: 1.0\n"
    )
    where = f"{read_squares.__module__}:read_squares"
    (info / "entry_points.txt").write_text(f"[skshapley.readers]\n{NAME} = {where}\n")
    monkeypatch.syspath_prepend(tmp_path)
    installed_components.cache_clear()
    yield
    installed_components.cache_clear()


@pytest.mark.parametrize("way", ["registered", "installed"])
def test_external_readers_work_alone_and_in_sums(way, request):
    request.getfixturevalue(way)
    X = np.random.default_rng(0).normal(size=(50, 4))
    y = X**2 @ [1.0, 2.0, 0.0, -1.0]
    for model, label in (
        (Squares(), "squares"),
        (
            VotingRegressor([("r", Ridge()), ("s", Squares())]),
            "linear terms and squares",
        ),
    ):
        model.fit(X, y)
        made = ShapleyExplainer(model).fit(X[:20]).explain(X[20:23])
        truth = ShapleyExplainer(model, sampler="exact").fit(X[:20]).explain(X[20:23])
        assert made.settings.closed_form == label
        np.testing.assert_allclose(made.values, truth.values, rtol=0, atol=1e-13)
