"""Outlier detectors of pyod, and explainers saved by other tools."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from skshapley import ShapleyExplainer, shapley_values

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(200, 4)), columns=list("abcd"))
Y = X.to_numpy() @ [1.0, -0.5, 2.0, 0.0]


@pytest.fixture(scope="module")
def explainer():
    return ShapleyExplainer(Ridge().fit(X, Y)).fit(X[:12])


@pytest.mark.parametrize("name", ["iforest.IForest", "knn.KNN"])
def test_scores_of_pyod_agree_with_all_coalitions(name):
    """Detectors such as ECOD score a row by the other rows of the call, and are left out."""
    module, kind = name.split(".")
    detectors = pytest.importorskip(f"pyod.models.{module}")
    rows = X.to_numpy()
    model = getattr(detectors, kind)().fit(rows)
    background, row = rows[:12], rows[20]

    def game(coalitions):
        mixed = np.where(coalitions[:, None, :], row, background)
        scores = model.decision_function(mixed.reshape(-1, 4))
        return scores.reshape(len(coalitions), -1).mean(axis=1)

    expected = shapley_values(game, n_players=4, sampler="exact").values
    explanation = ShapleyExplainer(model).fit(background).explain(rows[20:21])
    assert explanation.settings.response_method == "decision_function"
    np.testing.assert_allclose(explanation.values[0], expected, atol=1e-10)


def test_an_explainer_survives_skops(explainer):
    skops = pytest.importorskip("skops.io")
    data = skops.dumps(explainer)
    loaded = skops.loads(data, trusted=skops.get_untrusted_types(data=data))
    expected = explainer.explain(X[:3]).values
    np.testing.assert_array_equal(loaded.explain(X[:3]).values, expected)


def test_an_explainer_survives_mlflow(explainer, tmp_path):
    mlflow = pytest.importorskip("mlflow")

    class Explained(mlflow.pyfunc.PythonModel):
        def predict(self, context, model_input, params=None):
            return explainer.explain(model_input).to_frame()

    path = str(tmp_path / "model")
    mlflow.pyfunc.save_model(path, python_model=Explained(), pip_requirements=[])
    frame = mlflow.pyfunc.load_model(path).predict(X[:3])
    pd.testing.assert_frame_equal(frame, explainer.explain(X[:3]).to_frame())


def test_a_model_of_mlflow_is_explained(explainer, tmp_path):
    mlflow = pytest.importorskip("mlflow.sklearn")
    path = str(tmp_path / "model")
    how = {"pip_requirements": [], "serialization_format": "cloudpickle"}
    mlflow.save_model(explainer.estimator, path, **how)
    model = mlflow.load_model(path)
    explanation = ShapleyExplainer(model).fit(X[:12]).explain(X[:3])
    np.testing.assert_array_equal(explanation.values, explainer.explain(X[:3]).values)
