"""Random models against random small backgrounds: values, pairs and predictions.

The truth comes from the model: its predictions for all coalitions of five columns or
groups, and its predictions for the rows. Each case is explained with and without
interactions, with other rows and alone.
"""

from itertools import combinations
from math import factorial

import catboost
import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.ensemble import (
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skshapley import ShapleyExplainer, TreeExplainer

P = 5
# Relative to the largest response: XGBoost and CatBoost compute in single precision.
RTOL = {"xgboost": 3e-5, "catboost": 1e-5}
SMALL = {"n_estimators": 4, "n_jobs": 1}


def draw_depth(rng):
    return int(rng.integers(1, 7))


def gradient_boosting(kind):
    return lambda rng: kind(n_estimators=4, max_depth=draw_depth(rng), random_state=0)


def forest(kind):
    return lambda rng: kind(n_estimators=4, max_depth=draw_depth(rng), random_state=0)


def single_tree(kind):
    return lambda rng: kind(max_depth=draw_depth(rng), random_state=0)


def histogram_boosting(kind):
    return lambda rng: kind(max_iter=4, max_depth=draw_depth(rng), min_samples_leaf=5)


def boosted_by_xgboost(kind, **parameters):
    return lambda rng: kind(max_depth=draw_depth(rng), **SMALL, **parameters)


def boosted_by_lightgbm(kind):
    return lambda rng: kind(
        max_depth=draw_depth(rng), min_child_samples=5, verbose=-1, **SMALL
    )


def boosted_by_catboost(kind):
    return lambda rng: kind(
        iterations=4,
        depth=draw_depth(rng),
        silent=True,
        allow_writing_files=False,
        thread_count=1,
    )


# name -> (maker of a model, number of classes or 0, response)
MODELS = {
    "gradient boosting": (gradient_boosting(GradientBoostingRegressor), 0, "predict"),
    "forest": (forest(RandomForestRegressor), 0, "predict"),
    "extra trees": (forest(ExtraTreesRegressor), 0, "predict"),
    "tree": (single_tree(DecisionTreeRegressor), 0, "predict"),
    "histogram boosting": (
        histogram_boosting(HistGradientBoostingRegressor),
        0,
        "predict",
    ),
    "xgboost": (boosted_by_xgboost(xgboost.XGBRegressor), 0, "predict"),
    "xgboost, two quantiles": (
        boosted_by_xgboost(
            xgboost.XGBRegressor,
            objective="reg:quantileerror",
            quantile_alpha=np.array([0.2, 0.8]),
        ),
        0,
        "predict",
    ),
    "lightgbm": (boosted_by_lightgbm(lightgbm.LGBMRegressor), 0, "predict"),
    "catboost": (boosted_by_catboost(catboost.CatBoostRegressor), 0, "predict"),
    "bagged trees": (
        lambda rng: BaggingRegressor(
            DecisionTreeRegressor(max_depth=draw_depth(rng)), 4, random_state=0
        ),
        0,
        "predict",
    ),
    "trees and lines": (
        lambda rng: VotingRegressor(
            [
                ("trees", RandomForestRegressor(3, max_depth=draw_depth(rng))),
                ("lines", Ridge()),
            ]
        ),
        0,
        "predict",
    ),
    "scaled trees": (
        lambda rng: make_pipeline(
            StandardScaler(),
            GradientBoostingRegressor(n_estimators=4, max_depth=draw_depth(rng)),
        ),
        0,
        "predict",
    ),
    "products": (
        lambda rng: make_pipeline(PolynomialFeatures(2), Ridge()),
        0,
        "predict",
    ),
    "kernels": (lambda rng: SVR(C=float(rng.uniform(0.1, 10))), 0, "predict"),
    "gradient boosting, two": (
        gradient_boosting(GradientBoostingClassifier),
        2,
        "decision_function",
    ),
    "gradient boosting, three": (
        gradient_boosting(GradientBoostingClassifier),
        3,
        "decision_function",
    ),
    "forest, three": (forest(RandomForestClassifier), 3, "predict_proba"),
    "extra trees, two": (forest(ExtraTreesClassifier), 2, "predict_proba"),
    "tree, three": (single_tree(DecisionTreeClassifier), 3, "predict_proba"),
    "histogram boosting, three": (
        histogram_boosting(HistGradientBoostingClassifier),
        3,
        "decision_function",
    ),
    "xgboost, two, probability": (
        boosted_by_xgboost(xgboost.XGBClassifier),
        2,
        "predict_proba",
    ),
    "lightgbm, two, probability": (
        boosted_by_lightgbm(lightgbm.LGBMClassifier),
        2,
        "predict_proba",
    ),
    "logistic, two, probability": (
        lambda rng: LogisticRegression(C=float(rng.uniform(0.1, 10))),
        2,
        "predict_proba",
    ),
    "logistic, three, log probability": (
        lambda rng: LogisticRegression(),
        3,
        "predict_log_proba",
    ),
}
TREES = {"gradient boosting", "forest", "tree", "xgboost", "lightgbm", "catboost"}


def make_table(rng, n):
    """Numbers with ties, counts and 0/1 columns."""
    X = np.round(4 * rng.normal(size=(n, P))) / 4
    X[:, 1] = rng.integers(0, 3, n)
    X[:, 3] = rng.random(n) < 0.4
    return X


def respond(model, response, X):
    """Return the explained outputs of the model itself, ``(n, k)``."""
    values = np.asarray(getattr(model, response)(X), dtype=np.float64)
    values = values.reshape(len(X), -1)
    # of two classes, the second is explained
    return values[:, 1:] if response != "predict" and values.shape[1] == 2 else values


def worth_of_all(predict, x, background, weights, groups):
    """Return the worth of each coalition of groups of columns, by its bit pattern."""
    p = len(groups)
    tables = []
    for pattern in range(1 << p):
        rows = background.copy()
        for j, columns in enumerate(groups):
            if pattern >> j & 1:
                rows[:, columns] = x[columns]
        tables.append(rows)
    outputs = predict(np.concatenate(tables))
    return np.einsum("sbk,b->sk", outputs.reshape(1 << p, len(background), -1), weights)


def shapley_and_pairs(worth, p):
    """Return Shapley values and interaction indices by their definitions."""
    values = np.zeros((p, worth.shape[1]))
    pairs = np.zeros((p, p, worth.shape[1]))
    for pattern in range(1 << p):
        size = pattern.bit_count()
        absent = [j for j in range(p) if not pattern >> j & 1]
        for j in absent:
            weight = factorial(size) * factorial(p - size - 1) / factorial(p)
            values[j] += weight * (worth[pattern | 1 << j] - worth[pattern])
        for i, j in combinations(absent, 2):
            weight = factorial(size) * factorial(p - size - 2) / factorial(p - 1)
            second = worth[pattern | 1 << i | 1 << j] + worth[pattern]
            second = second - worth[pattern | 1 << i] - worth[pattern | 1 << j]
            pairs[i, j] += weight * second
            pairs[j, i] = pairs[i, j]
    return values, pairs


def check_case(name, seed):
    """Compare one random case with the model."""
    rng = np.random.default_rng([seed, sum(map(ord, name))])
    make, n_classes, response = MODELS[name]
    X = make_table(rng, 80)
    score = X[:, 0] * X[:, 1] - X[:, 2] + (X[:, 3] > 0) * X[:, 4]
    y = np.digitize(score, np.quantile(score, [0.4, 0.75][: max(n_classes - 1, 0)]))
    model = make(rng).fit(X, y if n_classes else score + 10 * rng.normal())
    background = X[rng.choice(80, int(rng.integers(1, 8)), replace=False)]
    weights = rng.dirichlet(np.ones(len(background))) if rng.random() < 0.4 else None
    grouped = rng.random() < 0.3
    groups = [[0, 3], [1], [2], [4]] if grouped else [[j] for j in range(P)]
    parameters = {"groups": {"g": [0, 3]}} if grouped else {}
    rows = X[rng.choice(80, int(rng.integers(1, 5)), replace=False)]
    kind = TreeExplainer if name in TREES and rng.random() < 0.5 else ShapleyExplainer
    if kind is ShapleyExplainer:
        parameters |= {"random_state": 0, "response_method": response}
    plain = kind(model, **parameters).fit(background, sample_weight=weights)
    paired = kind(model, interactions=True, **parameters)
    paired.fit(background, sample_weight=weights)

    def predict(table):
        return respond(model, response, table)

    probabilities = np.full(len(background), 1 / len(background))
    probabilities = probabilities if weights is None else weights
    truth = [worth_of_all(predict, x, background, probabilities, groups) for x in rows]
    scale = max(np.abs(worth).max() for worth in truth) + 1e-300
    atol = RTOL.get(name.split(",")[0], 1e-8) * scale
    together, with_pairs = plain.explain(rows), paired.explain(rows)
    order = [list(together.feature_names).index(label(g, grouped)) for g in groups]
    k = truth[0].shape[1]
    for r, worth in enumerate(truth):
        values, pairs = shapley_and_pairs(worth, len(groups))
        alone, alone_pairs = plain.explain(rows[[r]]), paired.explain(rows[[r]])
        results = (
            (together, r),
            (with_pairs, r),
            (alone, 0),
            (alone_pairs, 0),
        )
        for explanation, row in results:
            computed = explanation.values[row].reshape(len(groups), k)[order]
            np.testing.assert_allclose(computed, values, rtol=0, atol=atol)
            ends = explanation.predictions[row], explanation.base_values[row]
            np.testing.assert_allclose(
                np.reshape(ends[0], k), predict(rows[[r]])[0], rtol=0, atol=atol
            )
            np.testing.assert_allclose(
                np.reshape(ends[1], k), worth[0], rtol=0, atol=atol
            )
        for explanation, row in ((with_pairs, r), (alone_pairs, 0)):
            computed = explanation.interactions.values[row]
            computed = computed.reshape(len(groups), len(groups), k)
            np.testing.assert_allclose(
                computed[np.ix_(order, order)], pairs, rtol=0, atol=atol
            )


def label(columns, grouped):
    return "g" if grouped and len(columns) > 1 else f"x{columns[0]}"


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("start", range(0, 60, 15))
def test_random_models_against_few_rows(name, start):
    for seed in range(start, start + 15):
        check_case(name, seed)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("start", range(1000, 1208, 26))
def test_more_random_models_against_few_rows(name, start):
    for seed in range(start, start + 26):
        check_case(name, seed)


def test_stumps_against_five_rows():
    """A row that agrees with all background rows in each stump has no branching."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 5)), columns=list("abcde"))
    y = X["a"] * 2 + X["b"].clip(0) + rng.normal(size=200)
    model = GradientBoostingRegressor(max_depth=1, random_state=0).fit(X, y)
    explainer = ShapleyExplainer(model, interactions=True).fit(X[:5])
    for row in range(20):
        explanation = explainer.explain(X[row : row + 1])
        np.testing.assert_allclose(
            explanation.predictions, model.predict(X[row : row + 1])
        )
        total = explanation.base_values + explanation.values.sum(axis=1)
        np.testing.assert_allclose(total, model.predict(X[row : row + 1]))
