"""The tasks of bench_accuracy.py: models, backgrounds, instances, and their Shapley values.

Truth: shap's interventional TreeExplainer for trees; the closed form of a sum of products for
kernel machines, synthetic functions and radial games; enumeration up to 16 players; a long run of
walks for the rest, kept in benchmarks/.cache.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import sqrt
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, make_friedman1
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from skshapley import ShapleyExplainer

CACHE = Path(__file__).parent / ".cache"
BACKGROUND = 100
ENUMERATED = 16


@dataclass
class Task:
    """A model (or a game alone), and where it is explained.

    `respond(estimator, rows)` is the response; `truth()` the Shapley values ``(r, p)``.
    """

    name: str
    model: object
    respond: Callable
    background: np.ndarray
    instances: np.ndarray
    truth: Callable[[], np.ndarray]

    @property
    def n_players(self):
        return self.instances.shape[1]


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


@cache
def table(name):
    """Return X, y and whether y are classes."""
    if name == "friedman":
        return *make_friedman1(600, 10, noise=0.3, random_state=0), False
    if name == "diabetes":
        return *load_diabetes(return_X_y=True), False
    if name == "breast":
        return *load_breast_cancer(return_X_y=True), True
    X, y = load_digits(return_X_y=True)
    return X[:, X.std(axis=0) > 0], (y >= 5).astype(int), True


@cache
def fitted(name, kind):
    """Return model, response, X as the model sees it, rows to learn from and rows to explain."""
    from xgboost import XGBClassifier, XGBRegressor

    X, y, classes = table(name)
    X = X.astype(np.float32).astype(float)
    order = np.random.default_rng(1).permutation(len(X))
    train, test = np.split(order, [3 * len(X) // 4])
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
    name = f"{data}-{kind}"

    def truth():
        if kind in ("xgb", "forest"):
            return tree_truth(model, background, instances)
        if kind == "svm":
            inside, outside = kernel_factors(model, instances, background)
            return product_truth(inside, outside, model.dual_coef_[0])
        if X.shape[1] <= ENUMERATED:
            return explained(model, respond, background, instances, sampler="exact").values
        return long_run(name, model, respond, background, instances)

    return Task(name, model, respond, background, instances, truth)


def synthetic_task(p, rows):
    """Return the task of a random sum of products of up to six inputs, passed through a sine."""
    rng = np.random.default_rng(0)
    chance = rng.gamma(0.7, size=p) + 0.05
    chance /= chance.sum()
    orders = [1] * (p // 2) + [min(1 + rng.geometric(0.4), 6) for _ in range(5 * p // 2)]
    terms = [rng.choice(p, order, replace=False, p=chance) for order in orders]
    weights = rng.standard_normal(len(terms)) / np.sqrt(orders)
    X = np.random.default_rng(5).standard_normal((BACKGROUND + rows, p))

    def bend(Z):
        return np.sin(1.5 * Z) + 0.5 * Z

    def function(Z):
        bent = bend(Z)
        return sum(w * bent[:, t].prod(axis=1) for w, t in zip(weights, terms, strict=True))

    def truth():
        member = np.zeros((len(terms), p), dtype=bool)
        for j, term in enumerate(terms):
            member[j, term] = True
        bent = bend(X)
        factors = np.where(member[None], bent[:, None, :], 1.0)
        return product_truth(factors[BACKGROUND:], factors[:BACKGROUND], weights)

    model = Function(function, p)
    return Task(f"synthetic{p}", model, predict, X[:BACKGROUND], X[BACKGROUND:], truth)


def contrastive_task(kind, p, row):
    """Return a couple of Grah & Thouvenot (2020), section 4: an instance and one reference."""
    rng = np.random.default_rng(1000 + row)
    if kind == "chi":
        from scipy.stats import chi2

        cut = chi2.ppf(0.5, p)
        x, z = rng.standard_normal((2, p))
        while ((x**2).sum() > cut) == ((z**2).sum() > cut):
            x, z = rng.standard_normal((2, p))
        side = (x**2).sum() > cut

        def function(Z):
            return 1.0 * (((Z**2).sum(axis=1) > cut) == side)

    else:
        x, z = rng.standard_normal((2, p))

        def function(Z):
            return sqrt(np.pi / 2) ** p * np.exp(-(Z**2).sum(axis=1) / 2)

    model = Function(function, p)

    def truth():
        if kind == "radial":
            factors = [np.exp(-(row_[None, None] ** 2) / 2) for row_ in (x, z)]
            return product_truth(*factors, np.array([sqrt(np.pi / 2) ** p]))
        return explained(model, predict, z[None], x[None], sampler="exact").values

    return Task(f"{kind}{p}-{row}", model, predict, z[None], x[None], truth)


TASKS = {
    **{
        f"{data}-{kind}": (lambda rows, d=data, k=kind: [model_task(d, k, rows)])
        for data in ("friedman", "diabetes", "breast", "digits")
        for kind in ("xgb", "forest", "mlp", "svm")
    },
    **{f"synthetic{p}": (lambda rows, p=p: [synthetic_task(p, rows)]) for p in (20, 60, 100)},
    **{
        f"{kind}16": (lambda rows, k=kind: [contrastive_task(k, 16, i) for i in range(rows)])
        for kind in ("chi", "radial")
    },
}


# --- truths ---------------------------------------------------------------------------------------


def tree_truth(model, background, instances):
    import shap

    explainer = shap.TreeExplainer(model, background, feature_perturbation="interventional")
    values = np.asarray(explainer.shap_values(instances))
    return values[..., 1] if values.ndim == 3 else values


def kernel_factors(model, instances, background):
    """Return the factors exp(-gamma (z_j - s_j)^2) of instances and background, ``(n, m, p)``."""
    vectors, gamma = model.support_vectors_, model._gamma
    return tuple(np.exp(-gamma * (Z[:, None, :] - vectors) ** 2) for Z in (instances, background))


def product_truth(inside, outside, weights):
    """Return the Shapley values of sum_m w_m prod_j (inside if present, else outside), ``(r, p)``.

    phi_i = int_0^1 (a_i - b_i) prod_{j != i} (t a_j + (1 - t) b_j) dt, a polynomial of degree p -
    1, averaged over the rows of `outside`.
    """
    p = inside.shape[2]
    t, share = np.polynomial.legendre.leggauss(p // 2 + 1)
    out = np.zeros((len(inside), p))
    for i, a in enumerate(inside):
        for b in outside:
            for at, part in zip((t + 1) / 2, share / 2, strict=True):
                mixed = at * a + (1 - at) * b
                before = np.cumprod(np.hstack([np.ones((len(a), 1)), mixed[:, :-1]]), axis=1)
                back = np.hstack([np.ones((len(a), 1)), mixed[:, :0:-1]])
                after = np.cumprod(back, axis=1)[:, ::-1]
                out[i] += part * weights @ ((a - b) * before * after)
    return out / len(outside)


def explained(model, respond, background, instances, **parameters):
    """Return our explanation of the instances."""
    parameters.setdefault("max_evals", 2 ** instances.shape[1])
    explainer = ShapleyExplainer(model, response_method=respond, **parameters)
    return explainer.fit(background).explain(instances)


def long_run(name, model, respond, background, instances, evals_per_player=2000):
    """Return the mean of many antithetic walks, a background row each, from the cache if there."""
    key = hashlib.sha256(background.tobytes() + instances.tobytes()).hexdigest()[:16]
    path = CACHE / f"{name}-{key}-{evals_per_player}.npy"
    if path.exists():
        return np.load(path)
    evals = evals_per_player * instances.shape[1]
    found = explained(
        model, respond, background, instances, sampler="antithetic", max_evals=evals, random_state=7
    )
    print(f"  {name}: largest standard error of the truth {np.max(found.standard_errors):.1e}")
    CACHE.mkdir(exist_ok=True)
    np.save(path, found.values)
    return found.values
