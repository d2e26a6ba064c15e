"""Complete games of kinds that others publish, for the interactions' benchmark.

Rows of models, and what selections of features, models, data and clusters are worth. Of
the process's constants one was chosen in the light of other games of these kinds,
EVEN_SIZE_START of `_process/_kernel.py`. Each is a function of a generator that returns the
values of all coalitions in the order of `all_coalitions`, ``(2^p,)``.
"""

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import calinski_harabasz_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from benchmarks.interactions.games import BACKGROUND, hybrids, of_model
from skshapley._tools._counting import all_coalitions


def wine_svc(rng):
    X, y = load_wine(return_X_y=True)
    machine = make_pipeline(StandardScaler(), SVC(gamma=0.1))
    return of_model(machine, rng, X, y == 1, "decision_function")


def wine_forest(rng):
    X, y = load_wine(return_X_y=True)
    forest = RandomForestClassifier(30, random_state=rng.integers(2**31))
    return of_model(forest, rng, X, y == 1, "predict_proba")


def breast_svc(rng):
    X, y = load_breast_cancer(return_X_y=True)
    machine = make_pipeline(StandardScaler(), SVC(gamma=0.2))
    return of_model(
        machine, rng, X[:, rng.permutation(30)[:12]], y, "decision_function"
    )


def digits_mlp(rng):
    """The probability of the predicted digit, by twelve patches of the picture."""
    X, y = load_digits(return_X_y=True)
    net = MLPClassifier(
        hidden_layer_sizes=(40,), max_iter=150, random_state=rng.integers(2**31)
    )
    x = X[1400 + rng.integers(300)]
    digit = net.fit(X[:1400], y[:1400]).predict(x[None])[0]
    row, column = np.divmod(np.arange(64), 8)
    shown = all_coalitions(12)[:, row // 2 * 3 + np.minimum(column // 3, 2)]
    return net.predict_proba(np.where(shown, x, X.mean(axis=0)))[:, digit]


def loss(rng):
    """Reductions of the squared error of a perceptron by features, over 25 rows."""
    X, y = load_diabetes(return_X_y=True)
    y = scale(y)
    net = MLPRegressor(
        hidden_layer_sizes=(30,), max_iter=200, random_state=rng.integers(2**31)
    )
    net = make_pipeline(StandardScaler(), net).fit(X[:350], y[:350])
    total = 0.0
    for row in 350 + rng.permutation(90)[:25]:
        background = X[rng.permutation(350)[:8]]
        total = total - (hybrids(net.predict, X[row], background) - y[row]) ** 2 / 25
    return total


def uncertainty(rng):
    """The entropy of the predictions of a forest."""
    X, y = load_breast_cancer(return_X_y=True)
    X, order = X[:, rng.permutation(30)[:11]], rng.permutation(len(X))
    forest = RandomForestClassifier(20, max_depth=4, random_state=rng.integers(2**31))
    forest.fit(X[order[100:]], y[order[100:]])

    def entropy(Z):
        chances = forest.predict_proba(Z)
        return -(chances * np.log(chances + 1e-12)).sum(axis=1)

    return hybrids(entropy, X[order[0]], X[order[1 : 1 + BACKGROUND]])


def correlation(rng):
    """The total correlation of normal columns."""
    X, _ = load_breast_cancer(return_X_y=True)
    matrix = np.corrcoef(np.log1p(X[:, rng.permutation(30)[:12]]).T)
    return np.array(
        [-np.linalg.slogdet(matrix[np.ix_(S, S)])[1] / 2 for S in all_coalitions(12)]
    )


def feature_selection(rng):
    """Accuracy of nearest neighbours on some of the features."""
    X, y = load_breast_cancer(return_X_y=True)
    order = rng.permutation(len(y))
    X = scale(X[:, rng.permutation(30)[:10]])
    return _scores(
        KNeighborsClassifier(5), X, y, order[:150], order[150:350], y[order].mean()
    )


def _scores(model, X, y, train, test, empty):
    return np.array(
        [
            model.fit(X[train][:, S], y[train]).score(X[test][:, S], y[test])
            if S.any()
            else empty
            for S in all_coalitions(X.shape[1])
        ]
    )


def ensemble(rng):
    """Accuracy of the majority of some of eleven classifiers."""
    X, y = load_breast_cancer(return_X_y=True)
    order, votes = rng.permutation(len(y)), []
    train, test = order[:200], order[200:350]
    for j in range(11):
        columns = rng.permutation(30)[:3]
        model = (
            DecisionTreeClassifier(max_depth=2),
            GaussianNB(),
            KNeighborsClassifier(3),
        )[j % 3]
        votes.append(
            model.fit(X[train][:, columns], y[train]).predict(X[test][:, columns])
        )
    members = all_coalitions(11) * 1.0
    majority = members @ np.array(votes) > members.sum(axis=1, keepdims=True) / 2
    right = (majority == y[test]).mean(axis=1)
    right[0] = 0.5
    return right


def trees(rng):
    """R^2 of some of twelve trees of a forest."""
    X, y = load_diabetes(return_X_y=True)
    order = rng.permutation(len(y))
    train, test = order[:300], order[300:]
    forest = RandomForestRegressor(12, random_state=rng.integers(2**31)).fit(
        X[train], y[train]
    )
    each = np.array([tree.predict(X[test]) for tree in forest.estimators_])
    members = all_coalitions(12) * 1.0
    mean = members @ each / np.maximum(members.sum(axis=1), 1)[:, None]
    mean[0] = y[train].mean()
    return 1 - ((mean - y[test]) ** 2).mean(axis=1) / y[test].var()


def data(rng):
    """Accuracy of a tree fitted to some of ten parts of the table."""
    X, y = load_wine(return_X_y=True)
    order, part = rng.permutation(len(y)), np.arange(40) % 10
    train, test, model = (
        order[:40],
        order[40:],
        DecisionTreeClassifier(max_depth=4, random_state=0),
    )
    accuracy = [0.4]
    for S in all_coalitions(10)[1:]:
        rows = train[S[part]]
        accuracy.append(model.fit(X[rows], y[rows]).score(X[test], y[test]))
    return np.array(accuracy)


def clusters(rng):
    """The criterion of Calinski & Harabasz of clusters by some of the features."""
    X, _ = load_wine(return_X_y=True)
    X, found = scale(X)[:, rng.permutation(13)[:10]], [0.0]
    for S in all_coalitions(10)[1:]:
        label = KMeans(3, n_init=1, random_state=0).fit_predict(X[:, S])
        found.append(calinski_harabasz_score(X[:, S], label) / 100)
    return np.array(found)


HELD_OUT = {
    function.__name__: function
    for function in (
        *(
            wine_svc,
            wine_forest,
            breast_svc,
            digits_mlp,
            loss,
            uncertainty,
            correlation,
        ),
        *(feature_selection, ensemble, trees, data, clusters),
    )
}
