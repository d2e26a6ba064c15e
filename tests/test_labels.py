"""Labels of models in records: their repr in one line."""

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestRegressor, VotingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

from skshapley import ShapleyExplainer

NUMBERS = np.random.default_rng(0).normal(size=(40, 3))


def label(model):
    """The model in the record of an explanation, with a function for its predictions."""
    explainer = ShapleyExplainer(model, response_method=first_column).fit(NUMBERS[:2])
    return explainer.explain(NUMBERS[:1]).settings.model


def first_column(model, X):
    return X[:, 0]


@pytest.mark.parametrize(
    "model",
    [
        MLPRegressor(hidden_layer_sizes=(64, 64), max_iter=40),
        make_pipeline(
            ColumnTransformer([("a", OneHotEncoder(drop="first"), ["a", "b"])]), Ridge()
        ),
        VotingRegressor(
            [
                ("one", RandomForestRegressor(5)),
                ("two", FrozenEstimator(Ridge(2.0))),
            ]
        ),
    ],
    ids=["perceptron", "pipeline", "voting"],
)
def test_a_label_is_the_repr_of_scikit_learn_in_one_line(model):
    assert label(model) == " ".join(repr(model).split())


def test_a_label_of_a_long_list_is_short():
    text = label(FunctionTransformer(kw_args={"numbers": list(range(1000))}))
    assert text.startswith("FunctionTransformer(kw_args={'numbers': [0, 1, 2")
    assert len(text) < 300
