"""Every closed form agrees with enumeration, and with the promises of its contract."""

import pickle
from functools import cache
from math import comb

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from skshapley import ShapleyExplainer
from skshapley.closed_forms import CLOSED_FORMS, Exponential, Logistic, Tables

from .models import MODELS, Y

B, R = 9, 3
# Columns that are one player, in every table
GROUPS = {"pair": [0, 2]}


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    with threadpool_limits(1):
        yield


@cache
def fitted(name):
    model, table, target, method = MODELS[name]
    if target is not None:
        model = model.fit(table, target)
    return model, table, method


def rows(table, start, stop):
    some = (
        table.iloc[start:stop] if isinstance(table, pd.DataFrame) else table[start:stop]
    )
    return some.toarray() if sparse.issparse(some) else some


def explainers(name, **how):
    """Return the explainer that reads, and the one that enumerates, of one model."""
    model, table, method = fitted(name)
    background, weights = rows(table, 0, B), np.arange(B) + 1.0
    made = [
        ShapleyExplainer(model, response_method=method, **how, **sampling)
        for sampling in ({}, {"sampler": "exact"})
    ]
    exact, plain = (one.fit(background, sample_weight=weights) for one in made)
    return exact, plain, rows(table, B, B + R)


@pytest.mark.thinned
@pytest.mark.parametrize("groups", [None, GROUPS], ids=["columns", "groups"])
@pytest.mark.parametrize("name", MODELS)
def test_values_agree_with_enumeration(name, groups):
    exact, plain, X = explainers(name, groups=groups)
    read, truth = exact.explain(X), plain.explain(X)
    assert read.settings.why_sampled is None
    assert read.n_model_rows.sum() == 0
    scale = np.abs(truth.values).max() + np.abs(truth.predictions).max()
    # log-odds are the logit of a probability, which has lost some digits
    rtol = 1e-12 if MODELS[name][3] != "log_odds" else 1e-10
    for one, other in (
        (read.values, truth.values),
        (read.base_values, truth.base_values),
        (read.predictions, truth.predictions),
    ):
        np.testing.assert_allclose(one, other, rtol=0, atol=rtol * scale)


@pytest.mark.parametrize(
    "name", ["forest, three", "LDA, three", "RidgeClassifier", "LogisticRegression"]
)
def test_each_row_may_explain_its_predicted_class(name):
    exact, plain, X = explainers(name, output="predicted")
    read, truth = exact.explain(X), plain.explain(X)
    assert read.settings.why_sampled is None
    for part in ("values", "base_values", "predictions"):
        one, other = getattr(read, part), getattr(truth, part)
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-10)
    assert len(set(fitted(name)[0].predict(rows(fitted(name)[1], B, B + R)))) > 1


def test_polars_frames():
    polars = pytest.importorskip("polars")
    model, table, _ = fitted("VotingRegressor of pipelines")
    frame = polars.DataFrame(table, schema=list("abcde"))
    model = clone(model).fit(frame, Y)
    made = ShapleyExplainer(model).fit(frame[:B]).explain(frame[B : B + R])
    truth = (
        ShapleyExplainer(model, sampler="exact")
        .fit(frame[:B])
        .explain(frame[B : B + R])
    )
    assert made.settings.closed_form == "linear terms"
    np.testing.assert_allclose(
        made.values, truth.values, rtol=0, atol=1e-12 * np.abs(Y).max()
    )


def pairs_by_definition(form, X, background, weights):
    """The Shapley interaction index of all pairs (Grabisch & Roubens 1999), by all coalitions."""
    p, player = form.n_players_, form.column_player_
    coalitions = (np.arange(2**p)[:, None] >> np.arange(p)) & 1 > 0
    hybrid = np.where(
        coalitions[:, None, player], X[:, None, None], background[None, None]
    )
    v = form.predict(hybrid.reshape(-1, len(player))).reshape(
        len(X), 2**p, len(background), -1
    )
    v = np.einsum("rcbk,b->rck", v, weights)
    sizes, index = coalitions.sum(axis=1), np.zeros((len(X), p, p, v.shape[2]))
    share = np.array([1.0 / (p - 1) / comb(p - 2, s) for s in range(p - 1)])
    for i in range(p):
        for j in range(p):
            without = np.flatnonzero(~coalitions[:, i] & ~coalitions[:, j])
            if i != j:
                a, b = 1 << i, 1 << j
                worth = v[:, without | a | b] - v[:, without | a] - v[:, without | b]
                worth += v[:, without]
                index[:, i, j] = np.einsum("rck,c->rk", worth, share[sizes[without]])
    return index


NUMERIC = [
    name for name, (_, table, _, _) in MODELS.items() if isinstance(table, np.ndarray)
]


# Those of one kind promise the same: a third of them in `make test`, all in
# `make test-slow`
SOME = [
    name if i % 3 == 0 else pytest.param(name, marks=pytest.mark.slow)
    for i, name in enumerate(NUMERIC)
]


def form_of(name, groups=None):
    exact, _, X = explainers(name, groups=groups)
    return exact.exact_, X


@pytest.mark.thinned
@pytest.mark.parametrize("groups", [None, GROUPS], ids=["columns", "groups"])
@pytest.mark.parametrize("name", SOME)
def test_interactions_agree_with_enumeration(name, groups):
    form, X = form_of(name, groups)
    masked = ShapleyExplainer(fitted(name)[0]).fit(X)  # for the steps that come first
    X = masked.reward_.masked_.transform(X)
    expected = pairs_by_definition(form, X, np.asarray(form.background_), form.weights_)
    found = form.pairs(X)
    scale = np.abs(expected).max() + np.abs(form.predict(X)).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * scale)


@pytest.mark.parametrize("name", SOME)
def test_values_per_background_row_average_to_the_attributions(name):
    form, X = form_of(name)
    single = form.references(X, np.arange(B))
    assert single.shape == (R, B, form.n_players_, form.n_outputs)
    values = form.attributions(X)
    scale = np.abs(values).max() + np.abs(form.predict(X)).max()
    mean = np.einsum("rbpk,b->rpk", single, form.weights_)
    np.testing.assert_allclose(mean, values, rtol=0, atol=1e-12 * scale)
    # against one row, attributions add up to the difference of the two predictions
    gap = form.predict(X)[:, None] - form.predict(form.background_)[None]
    np.testing.assert_allclose(single.sum(axis=2), gap, rtol=0, atol=1e-12 * scale)


@pytest.mark.parametrize("name", SOME)
def test_values_do_not_depend_on_other_rows(name):
    form, X = form_of(name)
    together, alone = form.attributions(X), form.attributions(X[1:2])
    np.testing.assert_array_equal(alone[0], together[1])
    assert form.attributions(X[:0]).shape == (0, *together.shape[1:])


@pytest.mark.parametrize("name", SOME)
def test_forms_can_be_pickled_and_combined(name):
    form, X = form_of(name)
    sent = pickle.loads(pickle.dumps(form))
    np.testing.assert_array_equal(sent.attributions(X), form.attributions(X))
    doubled = form.combined(2 * np.eye(form.n_outputs), np.ones(form.n_outputs))
    doubled.fit(form.background_, form.weights_, form.column_player_, form.n_players_)
    scale = np.abs(form.attributions(X)).max() + np.abs(form.base_values_).max()
    np.testing.assert_allclose(
        doubled.attributions(X), 2 * form.attributions(X), rtol=0, atol=1e-13 * scale
    )
    np.testing.assert_allclose(
        doubled.base_values_, 2 * form.base_values_ + 1, rtol=0, atol=1e-13 * scale
    )
    assert len(form.state()) > 0


def test_every_closed_form_is_tested():
    """Each entry of the registry reads some model of the list, alone or as a part."""
    forms = [form_of(name)[0] for name in NUMERIC]
    met = {type(form) for form in forms}
    met |= {type(part.form) for form in forms for part in getattr(form, "parts", [])}
    # the models of tables are in tests/ecosystem
    assert met | {Tables} == set(CLOSED_FORMS.values())


@pytest.mark.parametrize("curve", [Exponential, Logistic])
def test_curves_keep_nothing_of_an_earlier_background(curve):
    rng = np.random.default_rng(0)
    earlier, background, instances = rng.normal(size=(3, 5, 4))
    coef = [1.0, -2.0, 0.5, 0.3]
    form = curve(coef, 0.2).fit(earlier)
    form.attributions(instances)
    again = form.fit(background)
    fresh = curve(coef, 0.2).fit(background)
    np.testing.assert_array_equal(
        again.attributions(instances), fresh.attributions(instances)
    )
    np.testing.assert_array_equal(
        again.references(instances, [0, 2]), fresh.references(instances, [0, 2])
    )
