"""Complete games of many families, as tables of all coalitions, for the interactions' benchmark.

Of the process's constants two, the steps and the prior's strength of
`_process/_fit.py`, were chosen on them, all others elsewhere. Each family is a function
of a generator that returns the values of all coalitions in the order of
`all_coalitions`, ``(2^p,)``.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, make_friedman1
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from skshapley._tools._counting import all_coalitions

BACKGROUND = 20


def of_model(model, rng, X, y, predict="predict"):
    """Return the game of one row against background rows, all coalitions."""
    order = rng.permutation(len(X))
    model.fit(X[order[100:]], y[order[100:]])
    return hybrids(getattr(model, predict), X[order[0]], X[order[1 : 1 + BACKGROUND]])


def hybrids(function, x, background):
    coalitions, values = all_coalitions(len(x)), 0.0
    for row in background:
        out = function(np.where(coalitions, x, row))
        values = values + (out if out.ndim == 1 else out[:, 1]) / len(background)
    return values


def friedman_mlp(rng):
    X, y = make_friedman1(500, 10, random_state=rng.integers(2**31))
    net = MLPRegressor(
        hidden_layer_sizes=(32,), max_iter=300, random_state=rng.integers(2**31)
    )
    return of_model(make_pipeline(StandardScaler(), net), rng, X, y)


def friedman_trees(rng):
    X, y = make_friedman1(500, 12, random_state=rng.integers(2**31))
    return of_model(HistGradientBoostingRegressor(max_iter=60), rng, X, y)


def diabetes_forest(rng):
    X, y = load_diabetes(return_X_y=True)
    forest = RandomForestRegressor(
        40, min_samples_leaf=3, random_state=rng.integers(2**31)
    )
    return of_model(forest, rng, X, y)


def diabetes_svr(rng):
    X, y = load_diabetes(return_X_y=True)
    return of_model(make_pipeline(StandardScaler(), SVR(C=100.0)), rng, X, y)


def breast_mlp(rng):
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, rng.permutation(30)[:12]]
    net = MLPClassifier(
        hidden_layer_sizes=(20,), max_iter=200, random_state=rng.integers(2**31)
    )
    return of_model(make_pipeline(StandardScaler(), net), rng, X, y, "predict_proba")


def products(rng):
    """Sums of products of two and three inputs, one background row."""
    p = 14
    terms = [rng.choice(p, rng.integers(2, 4), replace=False) for _ in range(10)]
    x, r, c = rng.normal(size=p), rng.normal(size=(3, p)), rng.normal(size=10)
    return hybrids(
        lambda Z: sum(w * Z[:, t].prod(axis=1) for w, t in zip(c, terms, strict=True)),
        x,
        r,
    )


def radial(rng):
    x, r = rng.normal(size=(2, 12))
    return hybrids(lambda Z: np.exp(-(Z**2).sum(axis=1) / 12), x, r[None])


def exponential(rng):
    return np.exp(all_coalitions(11) @ rng.normal(0, 0.8, 11))


def vote(rng):
    votes = rng.integers(1, 10, 13)
    return (all_coalitions(13) @ votes > votes.sum() * 0.65) * 1.0


def airport(rng):
    return np.where(all_coalitions(11), rng.integers(1, 9, 11), 0).max(axis=1) * 1.0


def dividends(rng):
    """Sums of unanimity games of one to five players."""
    coalitions = all_coalitions(12)
    return sum(
        rng.normal()
        * coalitions[:, rng.choice(12, rng.integers(1, 6), replace=False)].all(axis=1)
        for _ in range(40)
    )


def fourier(rng):
    """Parities of one to four players, smaller for more."""
    signs = 2.0 * all_coalitions(12) - 1
    out = signs @ rng.normal(size=12)
    for order, scale in ((2, 0.5), (3, 0.4), (4, 0.25)):
        for _ in range(15):
            out += (
                scale
                * rng.normal()
                * signs[:, rng.choice(12, order, replace=False)].prod(axis=1)
            )
    return out


def cut(rng):
    """Edges of a weighted graph from a coalition to the others."""
    coalitions, p = all_coalitions(13) * 1.0, 13
    weights = np.triu(rng.exponential(size=(p, p)) * (rng.random((p, p)) < 0.4), 1)
    inside = np.einsum("np,pq,nq->n", coalitions, weights, 1 - coalitions)
    return np.sqrt(
        inside + np.einsum("np,pq,nq->n", 1 - coalitions, weights, coalitions)
    )


def selection(rng):
    """R^2 of least squares on some of the features."""
    X, y = make_friedman1(300, 10, noise=1.0, random_state=rng.integers(2**31))
    X = X + 0.5 * X[:, rng.permutation(10)]
    scores = [
        LinearRegression().fit(X[:200, S], y[:200]).score(X[200:, S], y[200:])
        if S.any()
        else 0.0
        for S in all_coalitions(10)
    ]
    return np.array(scores)


def valuation(rng):
    """Error of three neighbours among some of the training points."""
    X, y = make_friedman1(60, 5, random_state=rng.integers(2**31))
    scores = [0.0]
    for S in all_coalitions(10)[1:]:
        model = KNeighborsRegressor(min(3, S.sum())).fit(X[:10][S], y[:10][S])
        scores.append(-np.mean((model.predict(X[10:]) - y[10:]) ** 2))
    scores[0] = -np.mean(y[10:] ** 2)
    return np.array(scores)


def saturated(rng):
    """The probability of a logistic model of large weights, over three background rows."""
    x, r, w = rng.normal(size=14), rng.normal(size=(3, 14)), rng.normal(size=14)
    return hybrids(lambda Z: 1 / (1 + np.exp(-2 * (Z @ w + Z[:, 0] * Z[:, 1]))), x, r)


FAMILIES = {
    function.__name__: function
    for function in (
        *(
            friedman_mlp,
            friedman_trees,
            diabetes_forest,
            diabetes_svr,
            breast_mlp,
            products,
        ),
        *(
            radial,
            exponential,
            vote,
            airport,
            dividends,
            fourier,
            cut,
            selection,
            valuation,
        ),
        saturated,
    )
}
