"""DataShapley against enumeration and the closed form of nearest neighbours."""

from itertools import permutations
from math import factorial

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score
from sklearn.neighbors import KNeighborsClassifier

from skshapley import DataShapley, shapley_values
from skshapley.indices import beta
from skshapley.stopping import StandardError


@pytest.fixture
def data():
    X, y = make_classification(60, 4, flip_y=0.2, random_state=0)
    return X[:6], y[:6], X[6:], y[6:]


def by_permutations(score, n):
    """Return Shapley values of n points by walking all n! permutations."""
    values = np.zeros(n)
    for order in permutations(range(n)):
        before = score(())
        for i, point in enumerate(order):
            now = score(order[: i + 1])
            values[point] += now - before
            before = now
    return values / factorial(n)


def test_values_equal_enumeration_of_all_permutations(data):
    X, y, X_val, y_val = data
    known = {}

    def score(points):
        points = tuple(sorted(points))
        if points not in known:
            labels = y[list(points)]
            if len(points) == 0:
                guess = np.full(len(y_val), np.bincount(y).argmax())
            elif len(set(labels)) == 1:
                guess = np.full(len(y_val), labels[0])
            else:
                guess = LogisticRegression().fit(X[list(points)], labels).predict(X_val)
            known[points] = np.mean(guess == y_val)
        return known[points]

    valued = DataShapley(LogisticRegression(), max_evals=2**6).fit(X, y, X_val, y_val)
    np.testing.assert_allclose(valued.values_, by_permutations(score, 6), atol=1e-12)
    np.testing.assert_allclose(
        valued.values_.sum(), valued.full_value_ - valued.base_value_
    )
    assert valued.converged_
    assert valued.n_evaluations_ == 2**6


@pytest.mark.parametrize("k", [1, 3, 5, 9])
def test_nearest_neighbours_are_valued_exactly(data, k):
    X, y, X_val, y_val = data
    distance = ((X_val[:, None] - X) ** 2).sum(axis=2)

    def utility(points):
        points = np.array(points, dtype=int)
        if not len(points):
            return 0.0
        nearest = points[np.argsort(distance[:, points], axis=1)[:, :k]]
        return (y[nearest] == y_val[:, None]).sum(axis=1).mean() / k

    # fewer points than k are fine: the utility never asks scikit-learn to predict
    valued = DataShapley(KNeighborsClassifier(k)).fit(X, y, X_val, y_val)
    np.testing.assert_allclose(valued.values_, by_permutations(utility, 6), atol=1e-12)
    np.testing.assert_allclose(valued.full_value_, utility(range(6)))
    assert (valued.standard_errors_ == 0).all()


@pytest.mark.thinned
@pytest.mark.parametrize("index", ["shapley", "banzhaf", beta(4, 1)], ids=str)
@pytest.mark.parametrize("k", [1, 3, 8])
def test_neighbours_by_any_index_equal_enumeration(data, k, index):
    """Compared with all 64 sets of points; one point equals a validation point."""
    X, y, X_val, y_val = data
    X_val = np.vstack([X_val[:8], X[:1]])
    y_val = np.append(y_val[:8], 1 - y[0])
    model = KNeighborsClassifier(k)

    def utility(S):
        if not S.any():
            return 0.0
        size = min(k, S.sum())
        fitted = KNeighborsClassifier(size).fit(X[S], y[S])
        probability = fitted.predict_proba(X_val)
        found = np.zeros((len(X_val), 2))
        found[:, fitted.classes_] = probability
        return found[np.arange(len(y_val)), y_val].mean() * size / k

    expected = shapley_values(
        lambda coalitions: np.array([utility(S) for S in coalitions]),
        n_players=6,
        index=index,
    )
    valued = DataShapley(model, index=index).fit(X, y, X_val, y_val)
    np.testing.assert_allclose(valued.values_, expected.values, atol=1e-12)
    np.testing.assert_allclose(valued.full_value_, expected.full_value)
    assert not valued.standard_errors_.any()


def test_weighted_neighbours_are_valued_by_their_score(data):
    X, y, X_val, y_val = data
    model = KNeighborsClassifier(1, weights="distance")
    valued = DataShapley(model).fit(X, y, X_val, y_val)  # all 64 sets of points
    assert valued.n_evaluations_ == 64
    assert valued.full_value_ == model.fit(X, y).score(X_val, y_val)


@pytest.mark.parametrize(
    "scoring",
    [
        "neg_log_loss",
        pytest.param("roc_auc", marks=pytest.mark.slow),
        pytest.param("neg_brier_score", marks=pytest.mark.slow),
        "roc_auc_ovr",
    ],
)
def test_scores_that_need_all_classes(data, scoring):
    """Classes that a coalition lacks have the probability 0.

    Compared with scikit-learn's own functions of these probabilities, over all sets of
    points.
    """
    X, y, X_val, y_val = data
    if scoring == "roc_auc_ovr":
        X, y = load_iris(return_X_y=True)
        X, y, X_val, y_val = X[::25], y[::25], X[3::9], y[3::9]
    classes, prior = np.unique(y), np.bincount(y) / len(y)
    score = {
        "neg_log_loss": lambda q: -log_loss(y_val, q, labels=classes),
        "roc_auc": lambda q: roc_auc_score(y_val, q[:, 1]),
        "neg_brier_score": lambda q: -brier_score_loss(y_val, q[:, 1]),
        "roc_auc_ovr": lambda q: roc_auc_score(y_val, q, multi_class="ovr"),
    }[scoring]

    def worth(S):
        if not S.any():
            return score(np.tile(prior, (len(y_val), 1)))
        found = np.zeros((len(y_val), len(classes)))
        if len(set(y[S])) == 1:
            found[:, y[S][0]] = 1
        else:
            model = LogisticRegression().fit(X[S], y[S])
            found[:, model.classes_] = model.predict_proba(X_val)
        return score(found)

    expected = shapley_values(lambda C: np.array([worth(S) for S in C]), n_players=6)
    valued = DataShapley(LogisticRegression(), scoring=scoring).fit(X, y, X_val, y_val)
    np.testing.assert_allclose(valued.values_, expected.values, atol=1e-10)
    assert valued.n_unfitted_ == 0


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_coalitions_too_small_to_fit_have_a_value_and_are_counted(data, n_jobs):
    """Three neighbours of one or two points: 6 + 15 of 64 coalitions, except one class only."""
    X, y, X_val, y_val = data
    neighbours = KNeighborsClassifier(3)
    how = {"scoring": "accuracy", "n_jobs": n_jobs}
    with pytest.warns(
        FitFailedWarning, match=r"DataGame cannot fit or score KNei.*2 training poi"
    ):
        valued = DataShapley(neighbours, **how).fit(X, y, X_val, y_val)
    two = sum(len(set(y[[i, j]])) == 2 for i in range(6) for j in range(i))
    assert valued.n_unfitted_ == two > 0

    def worth(S):
        if not S.any():
            return np.mean(y_val == np.bincount(y).argmax())
        if len(set(y[S])) == 1:
            return np.mean(y_val == y[S][0])
        if S.sum() < 3:
            return valued.base_value_
        return neighbours.fit(X[S], y[S]).score(X_val, y_val)

    expected = shapley_values(lambda C: np.array([worth(S) for S in C]), n_players=6)
    np.testing.assert_allclose(valued.values_, expected.values, atol=1e-12)


def test_errors_with_all_points_are_raised(data):
    with pytest.raises(ValueError, match="Expected n_neighbors <= n_samples_fit"):
        DataShapley(KNeighborsClassifier(7), scoring="accuracy").fit(*data)


IRIS_BY_PYDVL = [
    *(
        0.06921957671957658,
        0.06961640211640206,
        0.0712433862433861,
        0.06981481481481475,
    ),
    *(
        0.046957671957671816,
        0.06917989417989401,
        0.04485449735449727,
        0.07144179894179886,
    ),
    0.08767195767195748,
]
IRIS_NEIGHBOURS_BY_PYDVL = {
    1: [
        *(
            0.11111111111111112,
            0.11111111111111112,
            0.11111111111111112,
            0.07277777777777777,
        ),
        *(
            0.11388888888888887,
            0.08666666666666667,
            0.09777777777777778,
            0.16444444444444445,
        ),
        0.09777777777777778,
    ],
    3: [
        *(
            0.11111111111111112,
            0.11111111111111112,
            0.11111111111111112,
            0.08388888888888889,
        ),
        *(
            0.09166666666666665,
            0.08666666666666667,
            0.07555555555555554,
            0.07555555555555556,
        ),
        0.07555555555555554,
    ],
}


def iris():
    X, y = load_iris(return_X_y=True)
    return X[::17], y[::17], X[1::5], y[1::5]


@pytest.mark.slow
def test_values_equal_those_of_pydvl():
    """Numbers of pyDVL 0.10.0 (NumPy 1.26.4, scikit-learn 1.9.1), an independent library.

    ``ShapleyValuation`` over all subsets,
    ``DeterministicUniformSampler(index_iteration= FiniteSequentialIndexIteration)``, of
    ``ModelUtility(model, SupervisedScorer(accuracy, test, default=1/3), catch_errors=False)``,
    whose model is LogisticRegression(), or DummyClassifier() where there is a single
    class; 1/3 is the accuracy of the most frequent class of all points.
    """
    valued = DataShapley(LogisticRegression(), max_evals=2**9).fit(*iris())
    np.testing.assert_allclose(valued.values_, IRIS_BY_PYDVL, rtol=0, atol=1e-12)


@pytest.mark.parametrize("k", IRIS_NEIGHBOURS_BY_PYDVL)
def test_nearest_neighbour_values_equal_those_of_pydvl(k):
    """Numbers of pyDVL 0.10.0, ``KNNShapleyValuation(KNeighborsClassifier(k), test)``."""
    valued = DataShapley(KNeighborsClassifier(k)).fit(*iris())
    np.testing.assert_allclose(
        valued.values_, IRIS_NEIGHBOURS_BY_PYDVL[k], rtol=0, atol=1e-12
    )


def test_groups_are_players(data):
    X, _, X_val, _ = data
    groups = np.array(["a", "a", "b", "b", "c", "c"])
    valued = DataShapley(Ridge(), groups=groups, scoring="neg_mean_squared_error")
    valued.fit(X, X[:, 0], X_val, X_val[:, 0])
    assert valued.players_.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(
        valued.values_.sum(), valued.full_value_ - valued.base_value_
    )


def test_values_do_not_depend_on_the_number_of_workers(data):
    for truncation in (None, 0.1):
        valued = [
            DataShapley(
                LogisticRegression(),
                sampler="antithetic",
                max_evals=40,
                truncation=truncation,
                random_state=0,
                n_jobs=n_jobs,
            ).fit(*data)
            for n_jobs in (None, 2)
        ]
        np.testing.assert_array_equal(valued[0].values_, valued[1].values_)


def test_truncation_saves_fits_with_little_bias(data):
    class Counting(Ridge):
        fits = 0

        def fit(self, X, y):
            Counting.fits += 1
            return super().fit(X, y)

    X, _, X_val, _ = data
    spent, values = [], []
    for truncation in (None, 0.05):
        Counting.fits = 0
        valued = DataShapley(
            Counting(),
            sampler="monte-carlo",
            max_evals=62,
            truncation=truncation,
            random_state=0,
        ).fit(X, X[:, 0], X_val, X_val[:, 0])
        spent.append(Counting.fits)
        values.append(valued.values_)
    assert spent[1] < spent[0]
    np.testing.assert_allclose(
        values[1], values[0], atol=0.05
    )  # at most 0.05 is left to the rest


def test_stopping_and_standard_errors(data):
    valued = DataShapley(
        LogisticRegression(),
        sampler="antithetic",
        stopping=StandardError(atol=0.05),
        random_state=0,
    ).fit(*data)
    assert valued.converged_
    assert valued.standard_errors_.max() <= 0.05


@pytest.mark.parametrize(
    ("index", "law"),
    [
        ("banzhaf", lambda s: 1 / 2**4),
        (beta(4, 1), lambda s: beta_law(s, 4, 1)),
        (beta(1, 1), lambda s: beta_law(s, 1, 1)),
    ],
)
def test_semivalues_agree_with_their_definition(index, law):
    p, bits = 5, np.arange(2**5)[:, None] >> np.arange(5) & 1 == 1
    worth = np.random.default_rng(0).normal(size=2**p)
    expected = np.zeros(p)
    for i in range(p):
        for code, coalition in enumerate(bits):
            if not coalition[i]:
                gain = worth[code | 1 << i] - worth[code]
                expected[i] += law(coalition.sum()) * gain
    result = shapley_values(
        lambda S: worth[S @ (1 << np.arange(p))],
        n_players=p,
        sampler="monte-carlo",
        index=index,
        max_evals=200_000,
        random_state=0,
    )
    # 5 players, |z| < 4.5: false alarm below 1e-4
    assert (np.abs(result.values - expected) < 4.5 * result.standard_errors).all()


def beta_law(size, alpha, beta, p=5):
    """Return the weight of one coalition of that size, by integrating over its beta law."""
    t = (np.arange(100_000) + 0.5) / 100_000
    density = t ** (beta - 1) * (1 - t) ** (alpha - 1)
    return np.average(t**size * (1 - t) ** (p - 1 - size), weights=density)


def test_invalid_input_is_refused_in_one_sentence(data):
    X, y, X_val, y_val = data
    with pytest.raises(
        ValueError, match=r"groups as one label per training point, shape \(6,\)"
    ):
        DataShapley(LogisticRegression(), groups=[0, 1]).fit(X, y, X_val, y_val)
    with pytest.raises(ValueError, match="needs at least 12 evaluations"):
        DataShapley(LogisticRegression(), max_evals=3, sampler="antithetic").fit(
            X, y, X_val, y_val
        )


@pytest.mark.slow
def test_other_indices_of_points():
    """Eight groups: by all of their sets, and by two fifths; errors .012 and .006 when written."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(70, 3))
    y = X @ [1.0, 2.0, 0.0] + rng.normal(size=70)
    data = X[:40], y[:40], X[40:], y[40:]
    how = {"groups": np.arange(40) % 8, "random_state": 0}
    for index in ("banzhaf", beta(4, 1)):
        exact = DataShapley(Ridge(), index=index, sampler="exact", **how).fit(*data)
        found = DataShapley(Ridge(), index=index, max_evals=100, **how).fit(*data)
        gap = found.values_ - exact.values_
        assert gap @ gap < 0.05 * (exact.values_ @ exact.values_)
        assert not np.isclose(
            exact.values_.sum(), exact.full_value_ - exact.base_value_
        )
    with pytest.raises(ValueError, match=r"DataShapley takes index as .*; got 3"):
        DataShapley(Ridge(), index=3).fit(*data)
