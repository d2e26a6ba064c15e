"""Layers of perceptrons on mixed rows, compared with the model."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skshapley import ShapleyExplainer
from skshapley._tables._rows import row_pool
from skshapley.rewards import _perceptron, _reward
from skshapley.rewards._masked import MaskedModel
from skshapley.rewards._perceptron import PerceptronLayers, holds_floats
from skshapley.rewards._response import Response

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
D = 130
TABLE = np.random.default_rng(0).normal(size=(80, D))
SCORES = TABLE[:, 0] * TABLE[:, 1] + TABLE[:, 2:9].sum(axis=1)
CLASSES = np.digitize(SCORES, [-1, 1])
SIZES = {"hidden_layer_sizes": (7,), "max_iter": 3, "random_state": 0}
MODELS = {
    "relu": (MLPRegressor(**SIZES), SCORES, "predict"),
    "tanh": (MLPRegressor(activation="tanh", **SIZES), SCORES, "predict"),
    "identity": (MLPRegressor(activation="identity", **SIZES), SCORES, "predict"),
    "deep": (
        MLPRegressor(
            **SIZES | {"hidden_layer_sizes": (9, 5), "activation": "logistic"}
        ),
        np.column_stack([SCORES, TABLE[:, 0]]),
        "predict",
    ),
    "binary": (MLPClassifier(**SIZES), CLASSES > 0, "log_odds"),
    "classes": (MLPClassifier(**SIZES), CLASSES, "predict_proba"),
    "logarithms": (MLPClassifier(**SIZES), CLASSES > 0, "predict_log_proba"),
}


def layers_of(model, method="predict", table=TABLE, column_player=None):
    """Return a response, its pool, and its layers or None."""
    response = Response(model, method)
    background = table[40:]
    players = np.arange(D) if column_player is None else column_player
    pool = row_pool(table[:40], background, players)
    masked = MaskedModel(response, background, np.full(40, 1 / 40), players)
    layered = masked.evaluated().layered and holds_floats(pool)
    return response, pool, PerceptronLayers(response, pool) if layered else None


def response_of(layers, coalitions, rows, references):
    """Return the response to mixed rows by layers."""
    return layers.response(layers.outputs(coalitions, rows, references))


def permuted(rng, p):
    """Return coalitions, rows and references of four permutations, in both directions."""
    place = np.argsort([rng.permutation(p) for _ in range(4)], axis=1)[:, None]
    coalitions = place < np.arange(p)[:, None]
    coalitions[1::2] = coalitions[1::2, ::-1]
    rows, references = np.repeat([[3, 3, 5, 5], [7, 9, 9, 9]], p, axis=1)
    return coalitions.reshape(-1, p), rows, references


@pytest.mark.parametrize("d", [9, D])
@pytest.mark.parametrize("container", [np.asarray, pd.DataFrame])
@pytest.mark.parametrize("name", MODELS)
def test_responses_are_those_of_the_model(name, container, d):
    model, y, method = MODELS[name]
    table = container(TABLE[:, :d])
    if container is pd.DataFrame:
        table.columns = [f"x{j}" for j in range(d)]
    model.fit(table, y)
    response, pool, layers = layers_of(model, method, table, np.arange(d))
    coalitions, rows, references = permuted(np.random.default_rng(1), d)
    ours = response_of(layers, coalitions, rows, references[:, None])
    hybrid = pool.hybrid(coalitions, rows, references[:, None])
    np.testing.assert_allclose(ours, response(hybrid), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("activation", _perceptron.ACTIVATIONS)
def test_many_pieces_and_many_references(activation, monkeypatch):
    monkeypatch.setattr(_perceptron, "PIECE_ROWS", 64)
    model = MLPRegressor(**SIZES, activation=activation).fit(TABLE, SCORES)
    model.intercepts_[0] += 3.0  # intercepts matter
    response, pool, layers = layers_of(model)
    rng = np.random.default_rng(5)
    coalitions = rng.random((70, D)) < 0.5
    rows, references = rng.integers(40, size=70), rng.integers(40, size=(70, 3))
    hybrid = pool.hybrid(coalitions, rows, references)
    ours = response_of(layers, coalitions, rows, references)
    np.testing.assert_allclose(ours, response(hybrid), rtol=1e-9, atol=1e-12)


def test_players_of_several_columns():
    model = MLPRegressor(**SIZES).fit(TABLE, SCORES)
    players = np.random.default_rng(2).integers(0, 30, D)
    response, pool, layers = layers_of(model, column_player=players)
    coalitions, rows, references = permuted(np.random.default_rng(3), 30)
    ours = response_of(layers, coalitions, rows, references[:, None])
    hybrid = pool.hybrid(coalitions, rows, references[:, None])
    np.testing.assert_allclose(ours, response(hybrid), rtol=1e-9, atol=1e-12)


def test_only_permutations_have_cumulative_sums():
    *_, layers = layers_of(MLPRegressor(**SIZES).fit(TABLE, SCORES))
    layers = pickle.loads(pickle.dumps(layers))  # for workers
    coalitions = np.random.default_rng(4).random((50, D)) < 0.5
    ones = np.ones(50, dtype=int)
    assert layers.cumulative_sums(coalitions, ones, ones) is None
    # one coalition against many background rows
    coalitions[:] = coalitions[0]
    assert layers.cumulative_sums(coalitions, ones, np.arange(50) % 40) is None


class Doubled(MLPRegressor):
    def predict(self, X):
        return 2 * super().predict(X)


def test_other_models_and_tables_have_no_layers():
    model = MLPRegressor(**SIZES).fit(TABLE, SCORES)
    assert layers_of(model)[-1] is not None
    assert layers_of(model, lambda model, X: model.predict(X))[-1] is None
    assert layers_of(model, table=TABLE.astype(np.float32))[-1] is None
    assert layers_of(Doubled(**SIZES).fit(TABLE, SCORES))[-1] is None
    assert (
        layers_of(MLPRegressor(hidden_layer_sizes=(), max_iter=3).fit(TABLE, SCORES))[
            -1
        ]
        is None
    )
    model.predict = lambda X: np.tanh(X[:, 0])  # not what the weights compute
    assert layers_of(model)[-1] is None


@pytest.mark.parametrize("d", [9, D])
def test_explanations_are_those_of_mixed_rows(monkeypatch, d):
    model = make_pipeline(StandardScaler(), MLPClassifier(**SIZES))
    model.fit(TABLE[:, :d], CLASSES)

    def explained():
        explainer = ShapleyExplainer(model, random_state=0, max_rows=2000)
        return explainer.fit(TABLE[40:, :d]).explain(TABLE[:2, :d])

    ours = explained()
    monkeypatch.setattr(_reward, "holds_floats", lambda pool: False)
    theirs = explained()
    np.testing.assert_allclose(ours.values, theirs.values, rtol=0, atol=1e-9)
    assert (ours.n_model_rows == theirs.n_model_rows).all()
