"""The games of bench_permutations.py: the tables and models of Mitchell et al. (2022), section 5.

Tables come from the folder SKSHAPLEY_DATA; without it, three that scikit-learn bundles or makes
stand in. Games of at most 12 players are tabulated, which changes no value and makes evaluations
free.
"""

import os
import warnings
from dataclasses import dataclass
from math import comb
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, make_regression
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skshapley.rewards import Game
from skshapley.testing import HybridGame

DATA = os.environ.get("SKSHAPLEY_DATA")
FOREGROUND, BACKGROUND = 10, 100
TABULATED = 12
MLP_ROWS = 5000

# name: file, target, the target's positive class (None for regression)
FILES = {
    "cal_housing": ("cal_housing.csv.gz", "MedHouseVal", None),
    "make_regression": ("make_regression.csv.gz", "y", None),
    "bank": ("bank.csv.gz", "y", "yes"),
    "breast_cancer": ("breast_cancer_wdbc569.csv.gz", "target", 1),
    "adult": ("adult_onehot107.csv.gz", "class", 1),
    "year": ("msd_year_4680.csv.gz", "year", None),
}
BUNDLED = ("diabetes", "make_regression", "breast_cancer")


@dataclass
class Task:
    """A game of several instances, and their Shapley values ``(r, p)`` or None if not known."""

    name: str
    model: str
    game: Game
    truth: np.ndarray | None


class Tabulated(Game):
    """All values of a game, looked up."""

    def __init__(self, game):
        self.n_rows, self.n_players, self.n_outputs = game.n_rows, game.n_players, 1
        p = game.n_players
        self._bits = 2 ** np.arange(p)
        every = (np.arange(2**p)[:, None] >> np.arange(p)) & 1 == 1
        rows = np.arange(game.n_rows)
        parts = [
            game(np.broadcast_to(part, (len(rows), *part.shape)), rows)
            for part in np.array_split(every, max(1, 2**p // 64))
        ]
        self.values = np.concatenate(parts, axis=1)[:, :, 0]
        sizes = every.sum(axis=1)
        joins = np.array([0.0] + [1 / (s * comb(p, s)) for s in range(1, p + 1)])
        leaves = np.array([1 / ((p - s) * comb(p, s)) for s in range(p)] + [0.0])
        self.shapley_values = self.values @ np.where(every.T, joins[sizes], -leaves[sizes]).T

    def __call__(self, coalitions, rows, references=None):
        return self.values[rows[:, None], coalitions @ self._bits][..., None]

    def empty(self, rows):
        return self.values[rows, :1][..., None]

    def full(self, rows):
        return self.values[rows, -1:]


def table(name):
    """Return X ``(n, d)`` and y; classes are 0 and 1, categories are numbered."""
    if DATA is None:
        return _bundled(name)
    file, target, positive = FILES[name]
    frame = pd.read_csv(Path(DATA) / file)
    y = frame.pop(target).to_numpy()
    for column in frame.columns[~frame.dtypes.map(pd.api.types.is_numeric_dtype)]:
        frame[column] = frame[column].astype("category").cat.codes
    y = y.astype(float) if positive is None else (y == positive).astype(int)
    return frame.to_numpy(dtype=float), y, positive is not None


def _bundled(name):
    if name == "make_regression":
        X, y = make_regression(n_samples=1000, n_features=10, noise=0.1, random_state=47)
        return X, y, False
    if name == "diabetes":
        return *load_diabetes(return_X_y=True), False
    return *load_breast_cancer(return_X_y=True), True


def task(name, model):
    """Return the task of a table and a model, "gbdt" or "mlp".

    The first ten rows are explained against the first hundred, as in the authors' code.
    """
    X, y, classes = table(name)
    X = X.astype(np.float32).astype(float)  # what XGBoost sees
    foreground, background = X[:FOREGROUND], X[:BACKGROUND]
    respond, booster = (_gbdt if model == "gbdt" else _mlp)(X, y, classes)
    game = HybridGame(respond, foreground, background)
    if game.n_players <= TABULATED:
        game = Tabulated(game)
        return Task(name, model, game, game.shapley_values)
    truth = None if booster is None else _tree_values(booster, foreground, background)
    return Task(name, model, game, truth)


def _gbdt(X, y, classes):
    import xgboost

    model = (xgboost.XGBClassifier if classes else xgboost.XGBRegressor)(n_jobs=1).fit(X, y)
    booster = model.get_booster()
    return lambda Z: booster.inplace_predict(Z, predict_type="margin"), model


def _tree_values(model, foreground, background):
    import shap

    explainer = shap.TreeExplainer(
        model, background, feature_perturbation="interventional", model_output="raw"
    )
    return explainer.shap_values(foreground, check_additivity=False)


def _mlp(X, y, classes):
    """Scikit-learn's defaults on standardised columns, fitted on some rows; log-odds of class 1."""
    some = np.random.default_rng(0).permutation(len(X))[:MLP_ROWS]
    network = (MLPClassifier if classes else MLPRegressor)(random_state=0)
    model = make_pipeline(StandardScaler(), network)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 200 iterations, converged or not, are the paper's
        model.fit(X[some], y[some] if classes else (y[some] - y.mean()) / y.std())
    return (lambda Z: log_odds(model, Z)) if classes else model.predict, None


def log_odds(model, rows):
    """Return the log-odds of class 1."""
    chance = np.clip(model.predict_proba(rows)[:, 1], 1e-12, 1 - 1e-12)
    return np.log(chance / (1 - chance))


class Tiles:
    """Images as games of square tiles against black, by the log-odds of their class."""

    def __init__(self, n_images):
        X, y, shape, tile = self._images()
        model = MLPClassifier(random_state=0, max_iter=30)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        self.images, self.shape = X[:: len(X) // n_images][:n_images], shape
        self.grid = shape[0] // tile, shape[1] // tile
        number = np.arange(self.grid[0] * self.grid[1]).reshape(self.grid)
        pixels = np.kron(number, np.ones((tile, tile), dtype=int))
        self.tile_of = np.repeat(pixels.ravel(), shape[2])
        self.model = model

    @staticmethod
    def _images():
        if DATA is None:
            digits = load_digits()
            keep = np.isin(digits.target, (3, 8))
            return digits.data[keep] / 16, (digits.target[keep] == 8) * 1, (8, 8, 1), 1
        with np.load(Path(DATA) / "cifar10_deer_horse.npz") as file:
            X, y = file["X_train"], file["y_train"]
        return X.reshape(len(X), -1) / np.float32(255), y.ravel(), X.shape[1:], 2

    def reward(self, i):
        """Return the game of one image, from coalitions of tiles ``(m, p)`` to log-odds."""
        image = self.images[i]
        sign = np.sign(log_odds(self.model, image[None]))[0]

        def worth(coalitions):
            parts = np.array_split(coalitions, max(1, len(coalitions) // 4096))
            return sign * np.concatenate(
                [log_odds(self.model, image * part[:, self.tile_of]) for part in parts]
            )

        return worth
