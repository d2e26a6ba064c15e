"""Networks of skorch and TabNet, streaming models of river, and rows as torch tensors."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from skshapley import ShapleyExplainer, shapley_values

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4)).astype(np.float32)
Y = (X @ [1.0, -0.5, 2.0, 0.0] + X[:, 0] * X[:, 1]).astype(np.float32)


def network():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)
    )


def skorch_regressor():
    skorch = pytest.importorskip("skorch")
    model = skorch.NeuralNetRegressor(network(), max_epochs=3, verbose=0)
    return model.fit(X, Y[:, None])


def tabnet_regressor():
    tabnet = pytest.importorskip("pytorch_tabnet.tab_model")
    model = tabnet.TabNetRegressor(n_d=4, n_a=4, n_steps=2, seed=0, verbose=0)
    model.fit(X, Y[:, None], max_epochs=2)
    return model


def river_regressor():
    compat = pytest.importorskip("river.compat")
    linear_model = pytest.importorskip("river.linear_model")
    model = compat.convert_river_to_sklearn(linear_model.LinearRegression())
    return model.fit(X, Y)


def enumerated(predict, background, row):
    """Return the values of a row by the predictions of all coalitions."""

    def game(coalitions):
        mixed = np.where(coalitions[:, None, :], row, background)
        predictions = np.ravel(predict(mixed.reshape(-1, 4)))
        return predictions.reshape(len(coalitions), -1).mean(axis=1)

    return shapley_values(game, n_players=4, sampler="exact").values


@pytest.mark.parametrize("make", [skorch_regressor, tabnet_regressor, river_regressor])
def test_values_agree_with_all_coalitions(make):
    model = make()
    explanation = ShapleyExplainer(model).fit(X[:12]).explain(X[20:21])
    expected = enumerated(model.predict, X[:12], X[20])
    np.testing.assert_allclose(explanation.values.ravel(), expected, atol=1e-5)


def test_rows_may_be_torch_tensors():
    """For models of arrays and for functions of tensors."""
    torch = pytest.importorskip("torch")
    tensor = torch.from_numpy(X)
    module = network()

    def predict(rows):
        with torch.no_grad():
            return module(torch.as_tensor(rows))[:, 0].numpy()

    model = Ridge().fit(X, Y)
    for estimator, function in ((model, model.predict), (predict, predict)):
        explainer = ShapleyExplainer(estimator).fit(tensor[:12])
        explanation = explainer.explain(tensor[20:21])
        expected = enumerated(function, X[:12], X[20])
        np.testing.assert_allclose(explanation.values[0], expected, atol=1e-5)
