"""Sparse matrices are explained as the arrays that they stand for, and stay sparse on the way."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from skshapley import GlobalImportance, ShapleyExplainer
from skshapley._tables._rows import SparsePool
from skshapley.background import herd
from skshapley.rewards import InterventionalReward, Players, Response
from skshapley.trees import TreeExplainer

D = 7


def table(n, seed=0, density=0.4):
    rng = np.random.default_rng(seed)
    return np.where(rng.random((n, D)) < density, rng.integers(1, 4, (n, D)), 0).astype(
        float
    )


class Products(RegressorMixin, BaseEstimator):
    """A stateless model that accepts sparse matrices and records its inputs."""

    def __init__(self):
        self.given = []

    def fit(self, X, y=None):
        return self

    def predict(self, X):
        self.given.append(type(X))
        dense = X.toarray() if sparse.issparse(X) else np.asarray(X)
        return dense @ np.arange(1.0, D + 1) + dense[:, 0] * dense[:, 2] * dense[:, 5]

    def __sklearn_is_fitted__(self):
        return True


@pytest.mark.parametrize(
    "kind", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array]
)
@pytest.mark.parametrize(
    "options", [{}, {"max_rows": 300}, {"reward": "baseline"}], ids=str
)
def test_sparse_values_equal_dense_values(kind, options):
    background, rows = table(12), table(3, seed=1)
    model, dense = Products(), Products()
    explainer = ShapleyExplainer(model, random_state=0, **options).fit(kind(background))
    made = explainer.explain(kind(rows))
    expected = (
        ShapleyExplainer(dense, random_state=0, **options).fit(background).explain(rows)
    )
    np.testing.assert_allclose(made.values, expected.values, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(made.data, expected.data)
    assert all(sparse.issparse(given((1, D))) for given in model.given)
    assert (made.n_model_rows <= expected.n_model_rows).all()


def test_values_agree_with_enumeration(enumerated):
    background, rows = table(6), table(2, seed=1)
    explainer = ShapleyExplainer(Products(), sampler="exact").fit(
        sparse.csr_array(background)
    )
    made = explainer.explain(sparse.csr_array(rows))
    expected = enumerated(Products().predict, rows, background)
    np.testing.assert_allclose(made.values, expected, rtol=0, atol=1e-12)


def test_groups_of_columns(enumerated):
    background, rows = table(6), table(2, seed=1)
    groups = {"first": [0, 2], "last": [5, 6]}
    explainer = ShapleyExplainer(Products(), groups=groups, sampler="exact")
    made = explainer.fit(sparse.csr_array(background)).explain(sparse.csr_array(rows))
    players = [[0, 2], [1], [3], [4], [5, 6]]
    expected = enumerated(Products().predict, rows, background, players)
    np.testing.assert_allclose(made.values, expected, rtol=0, atol=1e-12)
    assert made.feature_names.tolist() == ["first", "x1", "x3", "x4", "last"]


def test_models_without_sparse_support_receive_dense_blocks():
    background, rows = table(30), table(2, seed=1)
    background[:, 0] = np.arange(30) % 2
    model = GaussianNB().fit(background, background[:, 0])
    made = (
        ShapleyExplainer(model)
        .fit(sparse.csr_array(background))
        .explain(sparse.coo_array(rows))
    )
    expected = ShapleyExplainer(model).fit(background).explain(rows)
    np.testing.assert_allclose(made.values, expected.values, rtol=0, atol=1e-12)
    # one output a row from a function that knows arrays only
    product = ShapleyExplainer(lambda X: X[:, 0] * X[:, 1]).fit(
        sparse.csr_matrix(background)
    )
    made = product.explain(sparse.csr_matrix(rows))
    np.testing.assert_allclose(made.predictions, rows[:, 0] * rows[:, 1], atol=1e-12)


def test_errors_of_the_model_are_raised():
    def broken(X):
        raise ValueError("no such luck")

    with pytest.raises(ValueError, match="no such luck"):
        ShapleyExplainer(broken).fit(sparse.csr_array(table(3)))


def test_a_pipeline_of_sparse_steps():
    background, rows = table(40), table(2, seed=1)
    network = MLPRegressor(
        hidden_layer_sizes=(3,), solver="lbfgs", tol=0.1, random_state=0
    )
    steps = MaxAbsScaler(), network
    model = make_pipeline(*steps).fit(background, background[:, 0] * background[:, 1])
    made = (
        ShapleyExplainer(model)
        .fit(sparse.csr_array(background))
        .explain(sparse.csr_array(rows))
    )
    expected = ShapleyExplainer(model).fit(background).explain(rows)
    assert made.settings.masked == "columns made once by maxabsscaler"
    np.testing.assert_allclose(made.values, expected.values, rtol=0, atol=1e-9)


def test_players_equal_to_the_reference_are_detected():
    """Against single background rows, each set of differing players is evaluated once."""
    background, rows = table(20, density=0.2), table(2, seed=1, density=0.2)
    pool = SparsePool(
        sparse.csr_array(rows), sparse.csr_array(background), np.arange(D)
    )
    at, references = np.repeat([0, 1], 20), np.tile(np.arange(20), 2)
    expected = rows[at] != background[references]
    np.testing.assert_array_equal(pool.unlike(at, references), expected)
    players = Players.from_groups(None, [f"x{j}" for j in range(D)], "Owner")
    reward, response = InterventionalReward(), Response(lambda Z: Z.sum(axis=1))
    reward.fit(response, sparse.csr_array(background), np.full(20, 0.05), players)
    differs = (rows[:, None] != background).any(axis=1)
    active = reward.game(sparse.csr_array(rows)).active(np.arange(2))
    np.testing.assert_array_equal(active, differs)


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
def test_mixed_rows_of_long_runs_are_correct(kind):
    """Entry by entry, including stored zeros."""
    rng = np.random.default_rng(0)
    tables = [
        kind(np.where(rng.random((n, 7)) < 0.4, rng.normal(size=(n, 7)), 0))
        for n in (3, 5)
    ]
    tables[0].data[::3] = 0.0
    tables[1].data[::4] = 0.0
    player = np.array([0, 1, 2, 0, 3, 1, 2])
    pool = SparsePool(*tables, player)
    rows, references = (
        np.repeat([0, 2, 1], [30, 9, 21]),
        np.repeat([4, 4, 0], [30, 9, 21]),
    )
    requests = rng.random((60, 4)) < 0.5, rows, references[:, None]
    long = pool.hybrid(*requests)
    assert type(long) is kind
    assert long.has_canonical_format
    dense = np.where(
        requests[0][:, player],
        tables[0][rows].toarray(),
        tables[1][references].toarray(),
    )
    np.testing.assert_array_equal(long.toarray(), dense)


def test_stored_zeros_are_counted():
    """A stored zero is not an absent entry, which means missing to XGBoost; NaN is NaN."""
    stored = sparse.csr_array(([0.0, np.nan, 2.0], [0, 1, 2], [0, 3]), shape=(1, 4))
    plain = sparse.csr_array(([np.nan, 2.0], [1, 2], [0, 2]), shape=(1, 4))
    pool = SparsePool(stored, plain, np.arange(4))
    assert pool.unlike(np.array([0]), np.array([0])).tolist() == [
        [True, False, False, False]
    ]
    hybrid = pool.hybrid(
        np.array([[True, False, False, True]]), np.array([0]), np.array([[0]])
    )
    assert hybrid.indices.tolist() == [0, 1, 2]


def test_xgboost_treats_absent_entries_as_missing():
    xgboost = pytest.importorskip("xgboost")
    background = table(60)
    X = sparse.csr_array(background)
    model = xgboost.XGBRegressor(n_estimators=10, max_depth=3)
    model.fit(X, (background[:, 0] == 0) * 2 + background[:, 1])
    made = ShapleyExplainer(model).fit(X[:20]).explain(X[20:23])
    assert made.settings.why_sampled is None
    sampled = ShapleyExplainer(model, sampler="exact").fit(X[:20]).explain(X[20:23])
    np.testing.assert_allclose(made.values, sampled.values, rtol=0, atol=1e-5)
    of_trees = TreeExplainer(model).fit(X[:20]).explain(X[20:23])
    np.testing.assert_allclose(of_trees.values, made.values, rtol=0, atol=1e-12)
    # an array's zeros are zeros, also behind a sparse background
    rows = background[20:23]
    np.testing.assert_allclose(
        ShapleyExplainer(model).fit(X[:20]).explain(rows).predictions,
        model.predict(rows),
        rtol=1e-5,
    )


def test_equal_rows_are_explained_alike():
    background, rows = (
        sparse.csr_array(table(200, seed=3)),
        sparse.csr_array(table(4, seed=1)),
    )
    explainer = ShapleyExplainer(Products(), max_rows=300, random_state=0).fit(
        background
    )
    together = explainer.explain(rows).values
    for i in range(4):
        np.testing.assert_array_equal(
            explainer.explain(rows[[i]]).values[0], together[i]
        )


def test_duplicate_entries_are_summed():
    twice = sparse.csr_array(([1.0, 2.0], [3, 3], [0, 2]), shape=(1, D))
    explainer = ShapleyExplainer(Products()).fit(sparse.csr_array(table(5)))
    once = sparse.csr_array(([3.0], [3], [0, 1]), shape=(1, D))
    np.testing.assert_array_equal(
        explainer.explain(twice).values, explainer.explain(once).values
    )
    assert twice.nnz == 2


def test_wide_matrices_are_explained_with_random_projections(monkeypatch):
    monkeypatch.setattr("skshapley._references._herd.MOST_CELLS", 100)
    background, rows = sparse.csr_array(table(200)), sparse.csr_array(table(2, seed=1))
    made = (
        ShapleyExplainer(Products(), max_rows=300, random_state=0)
        .fit(background)
        .explain(rows)
    )
    total = made.base_values + made.values.sum(axis=1)
    np.testing.assert_allclose(total, made.predictions, rtol=0, atol=1e-9)
    assert herd(background, 5, random_state=0).shape == (5, D)


def test_global_importance_of_sparse_rows():
    X = table(60)
    y = X[:, 0] > 1
    model = LogisticRegression().fit(X, y)
    made = GlobalImportance(model, random_state=0).fit(sparse.csr_array(X[:20]))
    expected = GlobalImportance(model, random_state=0).fit(X[:20])
    np.testing.assert_allclose(
        made.explain(sparse.csr_array(X[20:]), y[20:]).values,
        expected.explain(X[20:], y[20:]).values,
        rtol=0,
        atol=1e-9,
    )


def test_invalid_sparse_input_is_refused():
    X = sparse.csr_array(table(5))
    with pytest.raises(
        TypeError, match=r"sparse matrix with reward='conditional', .* X\.toarray"
    ):
        ShapleyExplainer(Products(), reward="conditional").fit(X)
    shown = (
        r"scipy\.csr_array for a background of type numpy\.ndarray: .* X\.toarray\(\)"
    )
    with pytest.raises(TypeError, match=shown):
        ShapleyExplainer(Products()).fit(X.toarray()).explain(X)
    with pytest.raises(ValueError, match="expecting 7 features"):
        ShapleyExplainer(Products()).fit(X).explain(X[:, :3])
