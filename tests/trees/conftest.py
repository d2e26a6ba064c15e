"""Fitted models of every library, and the Shapley value by its definition."""

from itertools import combinations
from math import comb

import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from skshapley._trees import TreeValues

D = 6


def make_data(missing, categorical, n=400, seed=0):
    """Rows with ties; missing values in columns 1 and 4, zeros in 2, categories in 3 and 5.

    All numbers are multiples of 1/8, so that rounding to float32, which shap leaves out
    for some models, changes no tie.
    """
    rng = np.random.default_rng(seed)
    X = np.round(8 * rng.normal(size=(n, D))) / 8
    X[:, 2] *= rng.random(n) < 0.7
    if categorical:
        X[:, 3] = rng.integers(0, 12, n)
        X[:, 5] = rng.integers(0, 4, n)
    y = X[:, 0] * X[:, 1] + X[:, 2] + np.sin(3 * X[:, 3]) + (X[:, 5] > 1) * X[:, 4]
    if missing:
        X[rng.random(n) < 0.25, 1] = np.nan
        X[rng.random(n) < 0.15, 4] = np.nan
    return X, y


def xgb(kind=xgboost.XGBRegressor, **parameters):
    return kind(n_estimators=12, n_jobs=1, **parameters)


def lgb(kind=lightgbm.LGBMRegressor, **parameters):
    return kind(
        n_estimators=12, n_jobs=1, verbose=-1, min_child_samples=5, **parameters
    )


FEATURE_TYPES = ["q", "q", "q", "c", "q", "c"]

# XGBoost 3.4 deprecates the booster "dart", since "gbtree" now drops trees out.
OLD_XGBOOST = tuple(map(int, xgboost.__version__.split(".")[:2])) < (3, 4)
DROPOUT = {"rate_drop": 0.4, **({"booster": "dart"} if OLD_XGBOOST else {})}

# name: (model, missing values, categories, classes in y)
RECIPES = {
    "xgboost": (xgb(max_depth=4), False, False, 0),
    "xgboost, missing": (xgb(max_depth=6), True, False, 0),
    "xgboost, categories": (
        xgb(max_depth=5, enable_categorical=True, feature_types=FEATURE_TYPES), False, True, 0,
    ),
    "xgboost, one-hot categories, missing": (
        xgb(max_depth=4, enable_categorical=True, feature_types=FEATURE_TYPES,
            max_cat_to_onehot=99),
        True, True, 0,
    ),
    "xgboost, binary": (xgb(xgboost.XGBClassifier, max_depth=3), True, False, 2),
    "xgboost, classes": (xgb(xgboost.XGBClassifier, max_depth=3), True, False, 3),
    "xgboost, dart": (xgb(max_depth=4, **DROPOUT), False, False, 0),
    "xgboost, random forest": (
        xgb(max_depth=5, num_parallel_tree=3, subsample=0.8, colsample_bynode=0.8), True, False, 0,
    ),
    "xgboost, poisson": (xgb(max_depth=3, objective="count:poisson"), False, False, 9),
    "xgboost, tweedie": (xgb(max_depth=3, objective="reg:tweedie"), False, False, 9),
    "xgboost, own missing value": (xgb(max_depth=4, missing=0.0), True, False, 0),
    "xgboost, leaf-wise": (
        xgb(grow_policy="lossguide", max_leaves=31, max_depth=0), False, False, 0,
    ),
    "lightgbm": (lgb(), False, False, 0),
    "lightgbm, missing": (lgb(num_leaves=15), True, False, 0),
    "lightgbm, zero as missing": (lgb(zero_as_missing=True), True, False, 0),
    "lightgbm, no missing allowed": (lgb(use_missing=False), True, False, 0),
    "lightgbm, categories": (
        lgb(max_cat_to_onehot=2, min_data_per_group=5, cat_smooth=1.0), True, True, 0,
    ),
    "lightgbm, binary": (lgb(lightgbm.LGBMClassifier, num_leaves=8), True, False, 2),
    "lightgbm, classes": (lgb(lightgbm.LGBMClassifier, num_leaves=8), True, False, 3),
    "lightgbm, dart": (lgb(boosting_type="dart"), False, False, 0),
    "lightgbm, random forest": (
        lgb(boosting_type="rf", bagging_freq=1, bagging_fraction=0.5), False, False, 0,
    ),
    "hist gradient boosting": (HistGradientBoostingRegressor(max_iter=12), True, False, 0),
    "hist gradient boosting, categories": (
        HistGradientBoostingRegressor(max_iter=12, categorical_features=[3, 5]), True, True, 0,
    ),
    "hist gradient boosting, gamma": (
        HistGradientBoostingRegressor(max_iter=12, loss="gamma"), False, False, 9,
    ),
    "hist gradient boosting, binary": (HistGradientBoostingClassifier(max_iter=6), True, False, 2),
    "hist gradient boosting, classes": (HistGradientBoostingClassifier(max_iter=6), True, False, 3),
    "gradient boosting": (GradientBoostingRegressor(n_estimators=12), False, False, 0),
    "gradient boosting, from zero": (
        GradientBoostingRegressor(n_estimators=12, init="zero"), False, False, 0,
    ),
    "gradient boosting, binary": (GradientBoostingClassifier(n_estimators=12), False, False, 2),
    "gradient boosting, classes": (GradientBoostingClassifier(n_estimators=6), False, False, 3),
    "random forest": (RandomForestRegressor(8, random_state=0), True, False, 0),
    "random forest, classes": (
        RandomForestClassifier(8, max_depth=6, random_state=0), True, False, 3,
    ),
    "extra trees": (ExtraTreesRegressor(8, random_state=0), True, False, 0),
    "extra trees, binary": (ExtraTreesClassifier(8, max_depth=5, random_state=0), False, False, 2),
    "decision tree": (DecisionTreeRegressor(max_depth=7, random_state=0), True, False, 0),
}  # fmt: skip


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """Small models are fitted a hundred times faster when threads do not wait for each other."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="session")
def fitted():
    """A function from the name of a recipe to (fitted model, X)."""
    made = {}

    def fit(name):
        if name not in made:
            model, missing, categorical, classes = RECIPES[name]
            X, y = make_data(missing, categorical)
            if classes:
                y = np.digitize(y, np.quantile(y, np.linspace(0, 1, classes + 1)[1:-1]))
                y = y + (classes == 9)
            named = (
                {"categorical_feature": [3, 5]}
                if name == "lightgbm, categories"
                else {}
            )
            made[name] = model.fit(X, y, **named), X
        return made[name]

    return fit


def game_values(response, x, background, weights, players):
    """v of every coalition, from mixed rows and the library's own prediction.

    Returns ``(2 ** p, k)``; bit j of a coalition's number is player j.
    """
    p = players.max() + 1
    coalitions = np.arange(1 << p)
    present = (coalitions[:, None] >> players & 1).astype(bool)
    hybrid = np.where(present[:, None], x, background).reshape(-1, len(players))
    values = response(hybrid).reshape(len(coalitions), len(background), -1)
    return np.einsum("cbk,b->ck", values.astype(float), weights / weights.sum())


def shapley_by_definition(v, banzhaf=False):
    """Shapley (1953) or Banzhaf values of a game, ``(2 ** p, k) -> (p, k)``."""
    p = len(v).bit_length() - 1
    values = np.zeros((p, v.shape[1]))
    for j in range(p):
        others = [i for i in range(p) if i != j]
        for size in range(p):
            weight = 0.5 ** (p - 1) if banzhaf else 1 / (p * comb(p - 1, size))
            for members in combinations(others, size):
                coalition = sum(1 << i for i in members)
                values[j] += weight * (v[coalition | 1 << j] - v[coalition])
    return values


class OneWay:
    """Costs by which all calls go one way: "tables" made in fit, "streamed" ones, or "pairs"."""

    def __init__(self, way):
        self.way, self.keeps_pairs = way, way == "tables"
        self.tables_fit = False

    def keeps_tables(self, b):
        return self.way == "tables"

    def prefers_pairs(self, r, b):
        return self.way == "pairs"

    interacts_in_pairs = prefers_pairs


def tree_values(trees, players=None, **options):
    """Return the solver of exact values of trees that were read."""
    return TreeValues(trees, players, **options)


def solver_by(way, trees, players=None, index="shapley", **options):
    """Exact values that go one way."""
    solver = tree_values(trees, players, index=index, **options)
    solver._costs = OneWay(way)
    return solver
