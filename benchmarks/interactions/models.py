"""Tree models of 10 to 30 inputs for the interactions' benchmark: games with exact pairs.

Each is a function that returns a fitted model and its table. A game is the mean
prediction of a row's hybrids with 20 background rows; its truth comes from
`TreeExplainer`.
"""

from collections.abc import Callable, Iterator

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, make_friedman1
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from xgboost import XGBRegressor

from skshapley import TreeExplainer

BACKGROUND = 20


def _boosted(X, y):
    return XGBRegressor(n_estimators=100, max_depth=4, learning_rate=0.1, n_jobs=1).fit(
        X, y
    ), X


def diabetes_xgboost():
    return _boosted(*load_diabetes(return_X_y=True))


def friedman_xgboost():
    return _boosted(*make_friedman1(600, 10, random_state=0))


def linear_xgboost():
    """Fifteen inputs, ten with linear effects: next to nothing interacts."""
    X = np.random.default_rng(0).normal(size=(600, 15))
    return _boosted(
        X, X[:, :10] @ np.linspace(1, 3, 10) + np.random.default_rng(1).normal(size=600)
    )


def friedman_boosted():
    X, y = make_friedman1(1000, 20, random_state=0)
    return HistGradientBoostingRegressor(max_iter=100, random_state=0).fit(X, y), X


def breast_xgboost():
    return _boosted(*load_breast_cancer(return_X_y=True))


def breast_forest():
    X, y = load_breast_cancer(return_X_y=True)
    return RandomForestRegressor(50, min_samples_leaf=2, random_state=0).fit(X, y), X


MODELS: dict[str, Callable] = {
    function.__name__: function
    for function in (
        *(diabetes_xgboost, friedman_xgboost, linear_xgboost, friedman_boosted),
        *(breast_xgboost, breast_forest),
    )
}


def games(make: Callable, rows: int) -> Iterator[tuple[Callable, int, np.ndarray]]:
    """Yield the game of each row, its number of players, and its interactions ``(p, p)``.

    Parameters
    ----------
    make : callable
        One of `MODELS`.
    rows : int
    """
    model, X = make()
    order = np.random.default_rng(0).permutation(len(X))
    background, explained = (
        X[order[:BACKGROUND]],
        X[order[BACKGROUND : BACKGROUND + rows]],
    )
    exact = TreeExplainer(model, interactions=True).fit(background).explain(explained)
    for x, truth in zip(explained, exact.interactions.values, strict=True):

        def game(coalitions, x=x):
            hybrids = np.where(coalitions[:, None], x, background)
            values = model.predict(hybrids.reshape(-1, len(x))).astype(float)
            return values.reshape(len(coalitions), -1).mean(axis=1)

        yield game, X.shape[1], truth
