"""The games of this folder: the tables and models of Mitchell et al. (2022), section 5.

Tables come from the folder SKSHAPLEY_DATA; without it, three that scikit-learn bundles
or makes stand in. Games of at most 16 players are tabulated, which changes no value and
makes evaluations free. Rows are single precision, as XGBoost sees them; so are
perceptrons, of more players.
"""

import os
import warnings
from dataclasses import dataclass
from math import comb
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    make_regression,
)
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import StandardScaler

from skshapley.rewards import Game
from skshapley.testing import HybridGame

DATA = os.environ.get("SKSHAPLEY_DATA")
FOREGROUND, BACKGROUND = 10, 100
TABULATED, SMALL = 16, 12  # players
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
        self.shapley_values = (
            self.values @ np.where(every.T, joins[sizes], -leaves[sizes]).T
        )

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
        X, y = make_regression(
            n_samples=1000, n_features=10, noise=0.1, random_state=47
        )
        return X, y, False
    if name == "diabetes":
        return *load_diabetes(return_X_y=True), False
    return *load_breast_cancer(return_X_y=True), True


def task(name, model, most_rows=FOREGROUND):
    """Return the task of a table and a model, "gbdt" or "mlp".

    The first ten rows are explained against the first hundred, as in the authors' code;
    of tables of more than twelve columns the first `most_rows`.
    """
    X, y, classes = table(name)
    X = X.astype(np.float32).astype(float)  # what XGBoost sees
    small = X.shape[1] <= SMALL
    foreground, background = X[: FOREGROUND if small else most_rows], X[:BACKGROUND]
    respond, booster = (_gbdt if model == "gbdt" else _mlp)(X, y, classes)
    game = HybridGame(respond, foreground, background)
    game.X, game.background = (
        part.astype(np.float32) for part in (foreground, background)
    )
    if game.n_players <= TABULATED:
        game = Tabulated(game)
        return Task(name, model, game, game.shapley_values)
    truth = None if booster is None else _tree_values(booster, foreground, background)
    return Task(name, model, game, truth)


def _gbdt(X, y, classes):
    import xgboost

    model = (xgboost.XGBClassifier if classes else xgboost.XGBRegressor)(n_jobs=1).fit(
        X, y
    )
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
    scaler = StandardScaler().fit(X[some])
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # 200 iterations, converged or not, are the paper's
        network.fit(
            scaler.transform(X[some]),
            y[some] if classes else (y[some] - y.mean()) / y.std(),
        )
    first, last, shift, bias = layers(network)
    first = first / scaler.scale_[:, None].astype(np.float32)
    shift = shift - scaler.mean_.astype(np.float32) @ first
    return lambda Z: respond(Z @ first + shift, last, bias), None


def layers(network):
    """Return weights and intercepts of both layers of a perceptron, in single precision."""
    return [part.astype(np.float32) for part in (*network.coefs_, *network.intercepts_)]


def respond(sums, last, bias):
    """Return a perceptron's outputs for the inputs of its hidden layer, changed in place.

    Of classes these are the log-odds of class 1.
    """
    return (np.maximum(sums, 0, out=sums) @ last)[..., 0] + bias


def walk_worths(game, orders):
    """Return the values along permutations ``(n, p)`` of all instances, ``(r, n, p + 1)``."""
    n, p = orders.shape
    rows, ranks = np.arange(game.n_rows), np.argsort(orders, axis=1)
    out = np.empty((len(rows), n, p + 1))
    out[:, :, 0] = game.empty(rows).mean(axis=(1, 2))[:, None]
    out[:, :, p] = game.full(rows)
    step = max(1, 200 // p)
    for start in range(0, n, step):
        part = ranks[start : start + step]
        coalitions = (part[:, None] < np.arange(1, p)[:, None]).reshape(-1, p)
        several = np.broadcast_to(coalitions, (len(rows), *coalitions.shape))
        values = game(several, rows)[..., 0]
        out[:, start : start + step, 1:p] = values.reshape(len(rows), len(part), p - 1)
    return out


def walk_means(worths, orders, weights):
    """Return the estimates ``(..., p)`` from values along permutations ``(..., n, p + 1)``."""
    gains, players = np.diff(worths, axis=-1), np.empty(worths[..., 1:].shape)
    order = np.broadcast_to(orders, gains.shape)
    np.put_along_axis(players, order, gains, axis=-1)
    return np.einsum("n,...np->...p", weights, players)


class Tiles:
    """Images as games of square tiles against black, by the log-odds of their class.

    The model is a perceptron, so that a tile adds a row to the sums that enter the
    hidden layer.
    """

    def __init__(self, n_images):
        X, y, test, y_test, shape, tile = self._images()
        model = MLPClassifier(random_state=0, max_iter=30)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        self.accuracy = model.score(test, y_test)
        self.images, self.shape = test[:: len(test) // n_images][:n_images], shape
        self.grid = shape[0] // tile, shape[1] // tile
        number = np.arange(self.grid[0] * self.grid[1]).reshape(self.grid)
        pixels = np.kron(number, np.ones((tile, tile), dtype=int))
        self.tile_of = np.repeat(pixels.ravel(), shape[2])
        self.model, self._layers = model, layers(model)

    @property
    def n_players(self):
        return self.grid[0] * self.grid[1]

    @staticmethod
    def _images():
        if DATA is None:
            digits = load_digits()
            keep = np.isin(digits.target, (3, 8))
            X, y = digits.data[keep] / 16, (digits.target[keep] == 8) * 1
            return X[::2], y[::2], X[1::2], y[1::2], (8, 8, 1), 1
        with np.load(Path(DATA) / "cifar10_deer_horse.npz") as file:
            X, test = (
                file[part].reshape(len(file[part]), -1) / np.float32(255)
                for part in ("X_train", "X_test")
            )
            return (
                X,
                file["y_train"].ravel(),
                test,
                file["y_test"].ravel(),
                (32, 32, 3),
                2,
            )

    def walk_worths(self, i, orders):
        """Return the values along permutations ``(n, p)``, ``(n, p + 1)``."""
        first, last, shift, bias = self._layers
        added = np.zeros((self.n_players, first.shape[1]), dtype=np.float32)
        np.add.at(added, self.tile_of, self.images[i][:, None] * first)
        sums = np.concatenate(
            [np.broadcast_to(shift, (len(orders), 1, len(shift))), added[orders]],
            axis=1,
        )
        values = respond(np.cumsum(sums, axis=1, out=sums), last, bias)
        return values * np.sign(values[0, -1])

    def rows(self, i, orders):
        """Yield the flat images along each permutation of ``(n, p)``, for other models."""
        ranks = np.argsort(orders, axis=1)[:, self.tile_of]
        for rank in ranks:
            yield self.images[i] * (rank < np.arange(self.n_players + 1)[:, None])
