"""The choice between exact and sampled values, by their cost."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression

from skshapley import ShapleyExplainer

RNG = np.random.default_rng(0)
X = RNG.normal(size=(2000, 12))
TARGET = X[:, :3].sum(axis=1) + X[:, 3] * X[:, 4]


def is_exact(model, background, **parameters):
    explainer = ShapleyExplainer(model, random_state=0, **parameters)
    return explainer.fit(background).exact_ is not None


@pytest.mark.parametrize(
    ("n_columns", "exact", "sampled"),
    [(6, 1000, None), (10, 30, 200), (12, 20, 150), (20, 10, 100)],
)
def test_probabilities_are_exact_for_small_backgrounds(n_columns, exact, sampled):
    """Sampling uses all rows of backgrounds up to 256, and is faster there as well."""
    table = np.random.default_rng(1).normal(size=(2000, n_columns))
    model = LogisticRegression().fit(table, TARGET > 0)
    assert is_exact(model, table[:exact])
    assert sampled is None or not is_exact(model, table[:sampled])


def test_a_larger_budget_is_spent_on_exact_values():
    model = LogisticRegression().fit(X, TARGET > 0)
    assert not is_exact(model, X[:300])
    assert is_exact(model, X[:300], max_rows=100_000)


def test_wide_sparse_tables_are_sampled():
    """An exact row against 500 background rows of 300 columns takes seconds."""
    numbers = np.random.default_rng(0).random((500, 300))
    table = sparse.csr_array(np.where(numbers < 0.1, 10 * numbers, 0.0))
    model = LogisticRegression().fit(table, table.sum(axis=1) > 15)
    assert not is_exact(model, table)


@pytest.fixture(scope="module")
def forest():
    return RandomForestRegressor(100, random_state=0).fit(X, TARGET)


def test_grown_forests_are_exact_for_small_backgrounds_only(forest):
    assert is_exact(forest, X[:20])
    assert is_exact(forest, X[:100])
    assert not is_exact(forest, X)


def test_small_trees_are_exact_for_any_background():
    model = RandomForestRegressor(100, max_depth=4, random_state=0).fit(X, TARGET)
    assert is_exact(model, X)
