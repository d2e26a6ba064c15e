"""The tasks of this folder: models, backgrounds, instances, and their Shapley values.

SUITE are models on data that scikit-learn bundles or makes, and functions alone; TABLES
are models on tables of the folder SKSHAPLEY_DATA, where it is set.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import sqrt

import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    make_friedman1,
)
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import benchmarks.permutations.tasks as permutation_tasks
from benchmarks.accuracy.truths import (
    ENUMERATED,
    averaged,
    enumerated,
    kept,
    kernel_factors,
    perceptron_truth,
    product_truth,
    threshold_truth,
    tree_truth,
)

BACKGROUND = 100
LEARNT = 5000  # most rows that a model is fitted on


@dataclass
class Task:
    """A model (or a game alone), and where it is explained.

    `respond(estimator, rows)` is the response; `compute(instances)` the Shapley values
    ``(r, p)``.
    """

    name: str
    model: object
    respond: Callable
    background: np.ndarray
    instances: np.ndarray
    compute: Callable[[np.ndarray], np.ndarray]

    @property
    def n_players(self):
        return self.instances.shape[1]

    def truth(self):
        return kept(self.name, self.background, self.instances, self.compute)


class Function:
    """A function of rows as a fitted regressor."""

    _estimator_type = "regressor"

    def __init__(self, function, n_features):
        self.function, self.n_features_in_ = function, n_features

    def fit(self, X, y=None):
        return self

    def predict(self, X):
        return self.function(np.asarray(X))

    def __sklearn_is_fitted__(self):
        return True


def predict(estimator, X):
    return estimator.predict(X)


def decision(estimator, X):
    return estimator.decision_function(X)


def margin(estimator, X):
    return estimator.predict(X, output_margin=True)


def probability(estimator, X):
    return estimator.predict_proba(X)[:, 1]


def six_friedmans(n):
    """Return X of 30 columns, and the sum of six functions of Friedman (1991) of five each."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(n, 30)), 0.3 * rng.standard_normal(n)
    for k, weight in enumerate((1.0, 0.8, 0.6, 0.5, 0.4, 0.3)):
        a, b, c, d, e = X[:, 5 * k : 5 * k + 5].T
        y += weight * (
            10 * np.sin(np.pi * a * b) + 20 * (c - 0.5) ** 2 + 10 * d + 5 * e
        )
    return X, y


@cache
def table(name):
    """Return X, y and whether y are classes."""
    if name == "friedman":
        return *make_friedman1(600, 10, noise=0.3, random_state=0), False
    if name == "diabetes":
        return *load_diabetes(return_X_y=True), False
    if name == "breast":
        return *load_breast_cancer(return_X_y=True), True
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        return X[:, X.std(axis=0) > 0], (y >= 5).astype(int), True
    if name == "friedman30":
        return *six_friedmans(3000), False
    return permutation_tasks.table(name)


@cache
def fitted(name, kind):
    """Return model, response, X as the model sees it, rows to learn from and rows to explain."""
    from xgboost import XGBClassifier, XGBRegressor

    X, y, classes = table(name)
    X = X.astype(np.float32).astype(float)
    order = np.random.default_rng(1).permutation(len(X))
    train, test = np.split(order, [3 * len(X) // 4])
    train = train[:LEARNT]
    if kind in ("mlp", "svm"):
        X = StandardScaler().fit(X[train]).transform(X)
        if not classes:
            y = (y - y[train].mean()) / y[train].std()
    seen = train[:180] if kind == "svm" else train
    models = {
        "xgb": (XGBClassifier, XGBRegressor, dict(n_jobs=1, random_state=0), margin),
        "forest": (
            RandomForestClassifier,
            RandomForestRegressor,
            dict(n_estimators=50, random_state=0),
            probability if classes else predict,
        ),
        "mlp": (
            MLPClassifier,
            MLPRegressor,
            dict(max_iter=2000, alpha=1e-3, random_state=0),
            probability if classes else predict,
        ),
        "svm": (SVC, SVR, dict(C=5.0), decision if classes else predict),
    }
    classifier, regressor, parameters, respond = models[kind]
    model = (classifier if classes else regressor)(**parameters).fit(X[seen], y[seen])
    return model, respond, X, train, test


def model_task(data, kind, rows):
    """Return the task of a model on a data set."""
    model, respond, X, train, test = fitted(data, kind)
    background = X[np.random.default_rng(5).choice(train, BACKGROUND, replace=False)]
    instances = X[test[:rows]]

    def truth(instances):
        if X.shape[1] <= ENUMERATED:
            worths = [
                averaged(lambda Z: respond(model, Z), x, background) for x in instances
            ]
            return np.array([enumerated(worth, X.shape[1]) for worth in worths])
        if kind in ("xgb", "forest"):
            total = respond(model, instances) - respond(model, background).mean()
            return tree_truth(model, background, instances, total)
        if kind == "svm":
            inside, outside = kernel_factors(model, instances, background)
            return product_truth(inside, outside, model.dual_coef_[0])
        return perceptron_truth(model, background, instances)

    return Task(f"{data}-{kind}", model, respond, background, instances, truth)


def synthetic_task(p, rows):
    """Return the task of a random sum of products of up to six inputs, passed through a sine."""
    rng = np.random.default_rng(0)
    chance = rng.gamma(0.7, size=p) + 0.05
    chance /= chance.sum()
    orders = [1] * (p // 2) + [
        min(1 + rng.geometric(0.4), 6) for _ in range(5 * p // 2)
    ]
    terms = [rng.choice(p, order, replace=False, p=chance) for order in orders]
    weights = rng.standard_normal(len(terms)) / np.sqrt(orders)
    X = np.random.default_rng(5).standard_normal((BACKGROUND + rows, p))

    def bend(Z):
        return np.sin(1.5 * Z) + 0.5 * Z

    def function(Z):
        bent = bend(Z)
        return sum(
            w * bent[:, t].prod(axis=1) for w, t in zip(weights, terms, strict=True)
        )

    def truth(instances):
        member = np.zeros((len(terms), p), dtype=bool)
        for j, term in enumerate(terms):
            member[j, term] = True
        inside, outside = (
            np.where(member[None], bend(Z)[:, None, :], 1.0)
            for Z in (instances, X[:BACKGROUND])
        )
        return product_truth(inside, outside, weights)

    model = Function(function, p)
    return Task(f"synthetic{p}", model, predict, X[:BACKGROUND], X[BACKGROUND:], truth)


def contrastive_task(kind, p, row):
    """Return a couple of Grah & Thouvenot (2020), section 4: an instance and one reference."""
    from scipy.stats import chi2

    rng = np.random.default_rng(1000 + row)
    cut = chi2.ppf(0.5, p)
    x, z = rng.standard_normal((2, p))
    while kind == "chi" and ((x**2).sum() > cut) == ((z**2).sum() > cut):
        x, z = rng.standard_normal((2, p))
    side = (x**2).sum() > cut

    def inside(Z):
        return 1.0 * (((Z**2).sum(axis=1) > cut) == side)

    def radial(Z):
        return sqrt(np.pi / 2) ** p * np.exp(-(Z**2).sum(axis=1) / 2)

    function = inside if kind == "chi" else radial

    def truth(_):
        if kind == "radial":
            factors = [np.exp(-(row_[None, None] ** 2) / 2) for row_ in (x, z)]
            return product_truth(*factors, np.array([sqrt(np.pi / 2) ** p]))
        if p <= ENUMERATED:
            return enumerated(averaged(function, x, z[None]), p)[None]
        return (1 if side else -1) * threshold_truth(x**2, z**2, cut)[None]

    return Task(
        f"{kind}{p}-{row}", Function(function, p), predict, z[None], x[None], truth
    )


def on_table(data, kinds):
    """Return the makers of the tasks of a data set, by name."""
    return {
        f"{data}-{kind}": (lambda rows, kind=kind: [model_task(data, kind, rows)])
        for kind in kinds
    }


KINDS = ("xgb", "forest", "mlp", "svm")

# Name: function of the number of instances, which returns tasks.
SUITE = {
    **on_table("friedman", KINDS),
    **on_table("diabetes", KINDS),
    **on_table("breast", KINDS),
    **on_table("digits", KINDS),
    **{
        f"synthetic{p}": (lambda rows, p=p: [synthetic_task(p, rows)])
        for p in (20, 60, 100)
    },
    **{
        f"{kind}{p}": (
            lambda rows, kind=kind, p=p: [
                contrastive_task(kind, p, i) for i in range(rows)
            ]
        )
        for kind, p in (("chi", 16), ("radial", 16), ("chi", 300))
    },
}
TABLES = (
    on_table("bank", ("xgb", "mlp"))
    | on_table("adult", ("xgb",))
    | on_table("year", ("xgb",))
    if permutation_tasks.DATA
    else {}
)
TASKS = SUITE | TABLES
