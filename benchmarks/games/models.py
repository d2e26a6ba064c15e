"""Rows of models against one reference row, for the benchmark of games.

Models of up to 16 columns have exact values from all coalitions, and trees of 24 and 30
columns from shapiq's own closed form. Tables come from SKSHAPLEY_DATA and scikit-learn.
"""

from collections.abc import Callable, Iterator

import numpy as np
from shapiq import Game
from shapiq_games import InterventionalTreeGame
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_wine,
    make_friedman1,
)
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestRegressor,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from xgboost import XGBClassifier

from benchmarks.background import tables
from skshapley._tools import all_coalitions

ROWS, MOST_ROWS = 2, 3000


def table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers and target of a table in SKSHAPLEY_DATA."""
    return next((X, y) for other, X, y in tables() if other == name)


def adult_xgboost():
    X, y = table("adult")
    return X, y, XGBClassifier(n_estimators=100, n_jobs=1), "predict_proba"


def adult_boosting():
    X, y = table("adult")
    model = HistGradientBoostingClassifier(random_state=0)
    return X, y, model, "decision_function"


def bank_perceptron():
    X, y = table("bank")
    model = MLPClassifier(hidden_layer_sizes=(50,), random_state=0)
    return X, y, scaled(model), "predict_proba"


def bank_forest():
    X, y = table("bank")
    model = RandomForestRegressor(30, min_samples_leaf=3, random_state=0)
    return X, y, model, "predict"


def diabetes_perceptron():
    X, y = load_diabetes(return_X_y=True)
    model = MLPRegressor(hidden_layer_sizes=(50,), max_iter=500, random_state=0)
    return X, y, scaled(model), "predict"


def diabetes_process():
    X, y = load_diabetes(return_X_y=True)
    kernel = RBF(3.0) + WhiteKernel(0.5)
    model = GaussianProcessRegressor(kernel, normalize_y=True, random_state=0)
    return X, y, scaled(model), "predict"


def wine_machine():
    X, y = load_wine(return_X_y=True)
    return X, y == 1, scaled(SVC(gamma=0.1)), "decision_function"


def friedman_perceptron():
    X, y = make_friedman1(2000, 14, random_state=0)
    model = MLPRegressor(hidden_layer_sizes=(64, 64), random_state=0)
    return X, y, scaled(model), "predict"


def timbre_boosting():
    X, y = table("msd_year")
    model = GradientBoostingRegressor(max_depth=5, random_state=0)
    return X[:, :24], y, model, "trees"


def breast_boosting():
    X, y = load_breast_cancer(return_X_y=True)
    model = GradientBoostingRegressor(max_depth=5, random_state=0)
    return X, y, model, "trees"


MODELS: dict[str, Callable] = {
    make.__name__: make
    for make in (
        adult_xgboost,
        adult_boosting,
        bank_perceptron,
        bank_forest,
        diabetes_perceptron,
        diabetes_process,
        wine_machine,
        friedman_perceptron,
        timbre_boosting,
        breast_boosting,
    )
}


def scaled(model):
    return make_pipeline(StandardScaler(), model)


class RowGame(Game):
    """The response of a row with the columns of a coalition, others from a reference.

    All coalitions are evaluated once, so times are those of the methods.
    """

    def __init__(self, respond: Callable, row: np.ndarray, reference: np.ndarray):
        coalitions = all_coalitions(len(row))
        values = respond(np.where(coalitions, row, reference))
        self.values = values - values[0]
        self.bits = 1 << np.arange(len(row))
        super().__init__(len(row), normalize=False)

    def value_function(self, coalitions: np.ndarray) -> np.ndarray:
        return self.values[coalitions @ self.bits]


def games() -> Iterator[tuple[str, Game]]:
    """Yield the games of each model, and their names."""
    for name, make in MODELS.items():
        X, y, model, response = make()
        order = np.random.default_rng(0).permutation(len(X))[:MOST_ROWS]
        X, y = np.nan_to_num(X[order]), y[order]
        model.fit(X[2 * ROWS :], y[2 * ROWS :])
        for i in range(ROWS):
            row, reference = X[i], X[ROWS + i]
            if response == "trees":
                yield name, InterventionalTreeGame(model, reference[None], row)
            else:
                yield name, RowGame(response_of(model, response), row, reference)


def response_of(model, method: str) -> Callable[[np.ndarray], np.ndarray]:
    def respond(rows: np.ndarray) -> np.ndarray:
        responses = np.asarray(getattr(model, method)(rows), dtype=float)
        return responses if responses.ndim == 1 else responses[:, 1]

    return respond
