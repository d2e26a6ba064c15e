"""Attributions learned from a few hundred rows, compared with enumeration."""

import pickle
from itertools import combinations
from math import comb

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline

from skshapley import AmortizedExplainer, Explanation, ShapleyExplainer, TreeExplainer
from skshapley.batches import explain_batches

P, R = 6, 200
COST = (
    8 * P + 1
)  # model rows of a learned row: 2 p at 4 background rows, and the row itself


def response(X):
    """A step of two columns, a product of three, and one column that does not matter."""
    return np.tanh(2 * X[:, 0] + X[:, 1]) + X[:, 2] * X[:, 3] * X[:, 4] / 2


def truth(X, background):
    """The Shapley values of `response`, from the values of all coalitions."""
    worth = {}
    for size in range(P + 1):
        for coalition in combinations(range(P), size):
            mixed = np.repeat(background[None], len(X), axis=0)
            mixed[..., list(coalition)] = X[:, None, list(coalition)]
            worth[coalition] = (
                response(mixed.reshape(-1, P)).reshape(len(X), -1).mean(axis=1)
            )
    values = np.zeros((len(X), P))
    for coalition, value in worth.items():
        for player in set(range(P)) - set(coalition):
            weight = 1 / (P * comb(P - 1, len(coalition)))
            values[:, player] += weight * (
                worth[tuple(sorted({*coalition, player}))] - value
            )
    return values


@pytest.fixture(scope="module")
def tables():
    """The background to learn from, and further rows of its kind."""
    X = np.random.default_rng(0).normal(size=(400 + R, P))
    return X[:400], X[400:]


@pytest.fixture(scope="module")
def amortized(tables):
    explainer = ShapleyExplainer(
        response, max_background=50, max_rows=3000, random_state=1
    )
    return AmortizedExplainer(explainer, n_training_rows=300).fit(tables[0])


@pytest.fixture(scope="module")
def wanted(amortized, tables):
    return truth(tables[1], amortized.background_)


@pytest.fixture(scope="module")
def explanation(amortized, tables):
    return amortized.explain(tables[1])


def test_learned_values_are_close_to_the_truth_for_few_model_rows(
    explanation, wanted, tables
):
    learned = explanation.n_model_rows == COST
    assert learned.mean() > 0.95
    errors = ((explanation.values - wanted) ** 2).sum(axis=1) / (wanted**2).sum(axis=1)
    assert np.median(errors[learned]) < 1e-3
    total = explanation.values.sum(axis=1) + explanation.base_values
    np.testing.assert_allclose(total, response(tables[1]), rtol=0, atol=1e-12)


def test_intervals_cover(explanation, wanted):
    """Nominal 90 %. 1200 values with dependent errors: +-.06 is three sigma."""
    held = np.abs(explanation.values - wanted) < 1.645 * explanation.standard_errors
    assert 0.84 < held.mean() < 0.96


def test_rows_unlike_the_training_rows_are_explained_directly(amortized, tables):
    X = np.concatenate([tables[1][:3], np.full((2, P), 30.0)])
    explanation, alone = amortized.explain(X), amortized.explainer_.explain(X[3:])
    np.testing.assert_array_equal(explanation.values[3:], alone.values)
    np.testing.assert_array_equal(
        explanation.standard_errors[3:], alone.standard_errors
    )
    np.testing.assert_array_equal(
        explanation.n_model_rows[3:], alone.n_model_rows + COST
    )
    assert (explanation.n_model_rows[:3] == COST).all()


def test_learned_values_are_marked(explanation, tmp_path):
    settings = explanation.settings
    assert settings.learned == "300 rows"
    assert not explanation.converged.any()
    assert "learned from 300 rows" in repr(explanation)
    assert "learned" in explanation._repr_html_()
    for kind in ("wide", "long"):
        assert "learned" in explanation.to_frame(kind).attrs["method"]
    page = explanation[:3].report(tmp_path / "report.html").read_text()
    assert "learned from 300 rows" in page
    explanation.save(tmp_path / "learned.parquet")
    assert Explanation.load(tmp_path / "learned.parquet").settings == settings


def test_unfitted_explainers_are_cloned_and_fitted_ones_used(tables):
    fresh = ShapleyExplainer(response, max_rows=1000, random_state=0)
    made = AmortizedExplainer(fresh, n_training_rows=50).fit(tables[0][:60])
    with pytest.raises(NotFittedError):
        fresh.explain(tables[1])
    assert made.explainer is fresh
    assert len(made.background_) == 60
    fitted = fresh.fit(tables[0][:20])
    made = AmortizedExplainer(fitted, n_training_rows=50).fit(tables[0])
    assert made.explainer_ is fitted
    assert len(made.background_) == 20
    assert made.explain(tables[1]).settings.n_background == 20


@pytest.mark.parametrize("kind", ["linear", "trees"])
def test_an_exact_explainer_explains_all_rows_itself(tables, kind):
    X = tables[0]
    if kind == "linear":
        explainer = ShapleyExplainer(LinearRegression().fit(X, response(X)))
    else:
        explainer = TreeExplainer(
            RandomForestRegressor(5, random_state=0).fit(X, response(X))
        )
    made = AmortizedExplainer(explainer).fit(X).explain(tables[1])
    assert made.settings.learned is None
    assert made.settings.closed_form is not None
    wanted = explainer.fit(X).explain(tables[1]).values
    np.testing.assert_array_equal(made.values, wanted)
    np.testing.assert_array_equal(
        AmortizedExplainer(explainer).fit(X).values(tables[1]), wanted
    )


def test_too_few_rows_are_explained_directly(tables):
    explainer = ShapleyExplainer(response, max_rows=500, random_state=0).fit(
        tables[0][:5]
    )
    repeated = np.repeat(tables[0][:20], 5, axis=0)
    made = AmortizedExplainer(explainer).fit(repeated).explain(tables[1][:3])
    assert made.settings.learned is None
    np.testing.assert_array_equal(made.values, explainer.explain(tables[1][:3]).values)


class Shares(ClassifierMixin, BaseEstimator):
    """A classifier of three classes on a frame with a category and gaps."""

    def fit(self, X, y=None):
        self.classes_, self.n_features_in_ = np.array(["a", "b", "c"]), X.shape[1]
        self.feature_names_in_ = np.array(X.columns, dtype=object)
        return self

    def predict_proba(self, X):
        size = np.nan_to_num(X["size"].to_numpy())
        z = np.column_stack([size, X["rooms"] * (X["town"] == "u"), np.ones(len(X))])
        z = np.exp(z - z.max(axis=1, keepdims=True))
        return z / z.sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(260, 2)), columns=["size", "rooms"])
    X["town"] = pd.Categorical(rng.choice(["u", "v"], 260))
    return X.assign(size=X["size"].where(rng.random(260) < 0.9))


def test_frames_with_categories_and_gaps_and_several_outputs(frame):
    """Compared with all coalitions of three players."""
    rows = frame[200:].set_index(pd.Index([f"r{i}" for i in range(60)]))
    explainer = ShapleyExplainer(Shares().fit(frame), sampler="exact").fit(frame[:40])
    made = AmortizedExplainer(explainer).fit(frame[:200])
    explanation, wanted = made.explain(rows), explainer.explain(rows)
    assert explanation.shape == (60, 3, 3)
    assert list(explanation.output_names) == ["a", "b", "c"]
    assert list(explanation.index) == list(rows.index)
    spread = ((explanation.values - wanted.values) ** 2).sum() / (
        wanted.values**2
    ).sum()
    assert spread < 1e-3
    assert np.median(explanation.n_model_rows) == 8 * 3 + 1
    table = made.set_output(transform="pandas").transform(rows)
    assert list(table)[:3] == ["size_a", "size_b", "size_c"]
    np.testing.assert_array_equal(table, explanation.values.reshape(60, -1))


def test_the_same_for_any_number_of_workers(amortized, explanation, tables):
    spread = pickle.loads(pickle.dumps(amortized))
    spread.explainer_.set_params(n_jobs=2)
    np.testing.assert_array_equal(spread.explain(tables[1]).values, explanation.values)


@pytest.mark.slow
def test_batches_can_be_resumed(tables, tmp_path):
    """Also if fit drew other random numbers, as with ``random_state=None``."""
    X = tables[1][:40]

    def made():
        explainer = ShapleyExplainer(response, max_rows=800).fit(tables[0][:20])
        return AmortizedExplainer(explainer, n_training_rows=60).fit(tables[0])

    arguments = {"out": tmp_path / "phi", "batch_rows": 20}
    first = list(explain_batches(made(), X, **arguments))
    part = sorted((tmp_path / "phi").glob("*.parquet"))[1]
    part.unlink()
    second = list(explain_batches(made(), X, **arguments))
    for before, after in zip(first, second, strict=True):
        np.testing.assert_array_equal(before.values, after.values)
    assert second[0].settings.learned == "60 rows"
    other = AmortizedExplainer(made().explainer, n_training_rows=60).fit(
        tables[0][:100]
    )
    with pytest.raises(FileExistsError, match="training rows"):
        explain_batches(other, X, **arguments)
    other = made()
    other.explainer.set_params(max_rows=900)
    with pytest.raises(FileExistsError, match="max_rows was 800 and is 900"):
        explain_batches(other, X, **arguments)


@pytest.mark.parametrize(
    ("explainer", "error", "words"),
    [
        (LinearRegression(), TypeError, "ShapleyExplainer or TreeExplainer"),
        (
            AmortizedExplainer(ShapleyExplainer(response)),
            TypeError,
            "got AmortizedExplainer",
        ),
        (
            ShapleyExplainer(response, interactions=True),
            ValueError,
            "interactions=True",
        ),
        (ShapleyExplainer(response, index="banzhaf"), ValueError, "index='banzhaf'"),
        (
            ShapleyExplainer(response, reward="conditional"),
            ValueError,
            "reward='conditional'",
        ),
    ],
)
def test_unsupported_explainers_are_refused_before_the_model_is_called(
    tables, explainer, error, words
):
    with pytest.raises(error, match=words):
        AmortizedExplainer(explainer).fit(tables[0])


def test_skops_round_trip(frame, tmp_path):
    skops_io = pytest.importorskip("skops.io")
    X = frame[["size", "rooms"]].fillna(0.0)
    settings = {
        "hidden_layer_sizes": 4,
        "solver": "lbfgs",
        "max_iter": 2000,
        "random_state": 0,
    }
    model = MLPRegressor(**settings).fit(X, X["size"] * X["rooms"])
    made = AmortizedExplainer(
        ShapleyExplainer(model, random_state=0), n_training_rows=40
    ).fit(X[:60])
    skops_io.dump(made, tmp_path / "made.skops")
    types = skops_io.get_untrusted_types(file=tmp_path / "made.skops")
    there = skops_io.load(tmp_path / "made.skops", trusted=types)
    np.testing.assert_array_equal(there.values(X[60:]), made.values(X[60:]))


def test_sparse_rows():
    X = sparse.random(300, 5, density=0.5, random_state=0, format="csr")
    explainer = ShapleyExplainer(
        lambda X: X.toarray().max(axis=1), max_rows=1500, random_state=0
    )
    made = AmortizedExplainer(explainer.fit(X[:10]), n_training_rows=200).fit(X[:250])
    learned, wanted = made.explain(X[250:]), explainer.explain(X[250:])
    assert learned.settings.learned == "200 rows"
    assert ((learned.values - wanted.values) ** 2).sum() < 0.05 * (
        wanted.values**2
    ).sum()


def test_documents_are_refused():
    texts = ["good day", "bad night", "good night", "bad day"] * 10
    model = make_pipeline(CountVectorizer(), LogisticRegression()).fit(
        texts, [1, 0, 1, 0] * 10
    )
    with pytest.raises(TypeError, match="fitted on documents"):
        AmortizedExplainer(ShapleyExplainer(model)).fit(texts)


def test_invalid_columns_and_parameters_are_refused(amortized, tables):
    with pytest.raises(ValueError, match="features"):
        amortized.explain(tables[1][:, :3])
    with pytest.raises(ValueError, match="n_training_rows"):
        AmortizedExplainer(ShapleyExplainer(response), n_training_rows=0).fit(tables[0])
    with pytest.raises(NotFittedError):
        AmortizedExplainer(ShapleyExplainer(response)).explain(tables[1])
