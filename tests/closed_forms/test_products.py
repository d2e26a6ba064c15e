"""Products of one factor per player: values by enumeration, factors of zero, and costs."""

import re
from math import comb

import numpy as np
import pytest
import sklearn
from sklearn.svm import SVR

from skshapley import ShapleyExplainer
from skshapley._ways._read import read
from skshapley.closed_forms._products import ProductForm
from skshapley.indices import INDICES

RNG = np.random.default_rng(0)


class Products(ProductForm):
    """Products of the factors ``(p, n, T')`` that a function of rows and terms returns."""

    def __init__(self, factors, coef, p):
        self.factors, self.coef, self.p = factors, coef, p
        self.constant, self.n_outputs = np.zeros(coef.shape[1]), coef.shape[1]

    def combined(self, matrix, constant=0.0):
        return Products(self.factors, self.coef @ matrix, self.p)

    def _products(self, rows, terms, owners, n):
        return self.factors(rows[:, 0].astype(int), terms)

    def against(self, rows, weights=None):
        return self.fit(rows, weights, np.zeros(1, dtype=int), self.p)


def games(p, terms, zeros, k=2, r=3, b=4):
    """Return factors of r rows and b references, ``(p, ., terms)``, as games."""
    tables = RNG.random((p, r + b, terms))
    tables[RNG.random(tables.shape) < zeros] = 0.0
    made = Products(
        lambda rows, part: tables[:, rows, part], RNG.normal(size=(terms, k)), p
    )
    rows = np.arange(r + b)[:, None]
    return made, tables, rows[:r], rows[r:]


def worth(tables, coef, x, r):
    """Return v of all coalitions of one row and one reference, ``(2 ** p, k)``."""
    p = len(tables)
    present = (np.arange(2**p)[:, None] >> np.arange(p)) & 1
    factors = np.where(present[:, :, None], tables[:, x], tables[:, r])
    return factors.prod(axis=1) @ coef


def by_definition(v, p):
    values = np.zeros((p, v.shape[1]))
    sizes = np.array([bin(c).count("1") for c in range(2**p)])
    for j in range(p):
        without = np.flatnonzero(~(np.arange(2**p) >> j) & 1)
        weight = np.array([1 / (p * comb(p - 1, s)) for s in sizes[without]])
        values[j] = weight @ (v[without | 1 << j] - v[without])
    return values


@pytest.mark.parametrize("zeros", [0.0, 0.4])
@pytest.mark.parametrize("p", [1, 2, 5, 8])
def test_values_are_exact_for_factors_of_zero(p, zeros):
    made, tables, X, references = games(p, 6, zeros)
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    found = made.against(references, weights).references(X, np.arange(4))
    for x in range(3):
        for r in range(4):
            truth = by_definition(worth(tables, made.coef, x, 3 + r), p)
            np.testing.assert_allclose(found[x, r], truth, rtol=0, atol=1e-14)
    mean = np.einsum("rbpk,b->rpk", found, weights)
    np.testing.assert_allclose(made.attributions(X), mean, rtol=0, atol=1e-14)


@pytest.mark.parametrize("p", [1, 2, 7, 40])
def test_quadrature_nodes_integrate_polynomials_exactly(p):
    nodes, weights = INDICES["shapley"].law(p - 1)
    assert len(nodes) == max(1, -(-p // 2))
    for degree in range(p):
        assert weights @ nodes**degree == pytest.approx(1 / (degree + 1), rel=1e-13)


def test_many_players_neither_underflow_nor_divide_by_zero():
    """Of 200 factors of 1e-3 against ones, products are 1e-600: zero, and nothing is NaN."""
    p = 200
    made = Products(
        lambda rows, part: np.full(
            (p, len(rows), 1), np.where(rows == 0, 1e-3, 1.0)[:, None]
        ),
        np.ones((1, 1)),
        p,
    )
    found = made.against(np.array([[1]])).references(np.array([[0]]), [0])
    np.testing.assert_allclose(found, -1 / p, rtol=1e-12)


def test_values_do_not_depend_on_the_block_size():
    made, _, X, references = games(5, 200, 0.1)
    made.against(references)
    values, pairs = made.attributions(X), made.pairs(X)
    with sklearn.config_context(working_memory=1e-3):
        np.testing.assert_allclose(made.attributions(X), values, rtol=0, atol=1e-12)
        np.testing.assert_allclose(made.pairs(X), pairs, rtol=0, atol=1e-12)


def test_costs_grow_with_players_and_background_rows():
    """b p ceil(p / 2) products, in units of a row that sampling passes to the model."""

    def cost(b, p, d):
        made = Products(
            lambda rows, part: np.ones((p, len(rows), 1)), np.ones((1, 1)), p
        )
        return made.fit(np.zeros((b, d)), None, np.zeros(d, dtype=int), p).cost_

    assert cost(200, 10, 10) == 2 * cost(100, 10, 10)
    assert 4 * cost(100, 10, 10) < cost(100, 20, 10) < 6 * cost(100, 10, 10)
    assert cost(100, 10, 20) < cost(100, 10, 10)
    # One product against 100 rows: sampling ten players costs 2,500 model rows
    assert 1 < cost(100, 10, 10) < 100


def test_the_cheaper_of_closed_form_and_sampling_is_used():
    X = RNG.normal(size=(60, 20))
    explainer = ShapleyExplainer(SVR().fit(X, X[:, 0] * X[:, 1])).fit(X)
    assert explainer.exact_.label == "product kernels"
    cost = explainer.exact_.cost_
    assert read(explainer.reward_, cost).form.label == "product kernels"
    reading = read(explainer.reward_, 0.99 * cost)
    assert re.search(r"product kernels would cost .* model rows", reading.reason)


def test_many_players_are_sampled():
    """Products grow with the square of the players, the usual budget with their number."""
    X = RNG.normal(size=(60, 400))
    explainer = ShapleyExplainer(SVR().fit(X, X[:, 0]), random_state=0).fit(X)
    assert explainer.exact_ is None


def test_a_model_without_support_vectors_is_constant():
    """All residuals lie within epsilon: there is no term to sum over."""
    X = RNG.normal(size=(30, 4))
    model = SVR().fit(X, 3 + 0.01 * X[:, 0])
    assert len(model.support_) == 0
    explanation = ShapleyExplainer(model, interactions=True).fit(X).explain(X[:3])
    assert explanation.settings.closed_form == "product kernels"
    assert not explanation.values.any()
    np.testing.assert_allclose(
        explanation.base_values, model.predict(X[:3]), rtol=1e-15
    )
