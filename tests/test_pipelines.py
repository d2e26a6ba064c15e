"""Precomputed columnwise steps of a pipeline give the values of transforming every mixed row."""

import pickle
import re
from itertools import product

import numpy as np
import pandas as pd
import pytest
import sklearn
from joblib import parallel_config
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin, TransformerMixin
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.utils.fixes import parse_version
from xgboost import XGBClassifier, XGBRegressor

from skshapley import ShapleyExplainer
from skshapley._tables import _columnwise
from skshapley.rewards import BaselineReward, InterventionalReward

N, B, R = 150, 12, 4
RNG = np.random.default_rng(0)
CITIES = ["Rome", "Oslo", "Bern", "Lima"]
X = pd.DataFrame(
    {
        "age": np.where(RNG.random(N) < 0.25, np.nan, RNG.normal(40, 10, N)),
        "city": RNG.choice(CITIES, N),
        "kind": pd.Categorical(RNG.choice(list("uvw"), N)),
        "pay": RNG.lognormal(size=N),
        "rooms": RNG.integers(0, 6, N),
        "left": RNG.normal(size=N),
    }
)
Y = np.log(X["pay"]) + (X["city"] == "Oslo") * (X["rooms"] > 2) + (X["kind"] == "u")
LABELS = np.digitize(Y, [0.0, 1.0])
BACKGROUND, ROWS = X[:B], X[B : B + R].copy()
ROWS.iloc[0, 0] = np.nan
ROWS.iloc[1, 1] = "Kyiv"  # which no model has seen
NUMBERS = np.column_stack([X[name] for name in ("pay", "rooms", "left")])


def columns(sparse_threshold=0.0, numbers=None):
    """Strings, categories and numbers, one of them by two transformers, one not at all."""
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=sparse_threshold > 0)
    gaps = SimpleImputer(add_indicator=True)
    return make_column_transformer(
        (one_hot, ["kind", "city"]),
        (make_pipeline(gaps, numbers or StandardScaler()), ["pay", "age"]),
        ("passthrough", ["rooms"]),
        (KBinsDiscretizer(3, encode="onehot-dense", strategy="uniform"), ["pay"]),
        sparse_threshold=sparse_threshold,
    )


def explained(
    model, transformed, table=X, rows=ROWS, reward=InterventionalReward, **kwargs
):
    kwargs = {
        "sampler": "antithetic",
        "max_rows": 28 * B + 1,
        "random_state": 0,
    } | kwargs
    reward = reward(transformed=transformed)
    explainer = ShapleyExplainer(model, reward=reward, **kwargs)
    return explainer.fit(table[:B]).explain(rows)


def assert_same(model, masked="columns made once by", rtol=0.0, **kwargs):
    """Compare with transforming every mixed row; exactly by default."""
    once, plain = (
        explained(model, transformed, **kwargs) for transformed in (True, False)
    )
    assert once.settings.masked.startswith(masked)
    assert plain.settings.masked == "raw columns: transformed=False was passed"
    for part in ("values", "standard_errors", "base_values", "predictions"):
        ours, theirs = getattr(once, part), getattr(plain, part)
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=rtol)
    # what differs in raw columns may agree in those made of them, and is then evaluated
    # once
    assert (once.n_evaluations <= plain.n_evaluations).all()
    assert once.values.any()
    pd.testing.assert_frame_equal(once.data, plain.data)
    return once


class Strict(RegressorMixin, BaseEstimator):
    """A model that takes nothing but the container, columns and types that it was fitted on."""

    def fit(self, X, y):
        self.form_ = self._form(X)
        return self

    def _form(self, X):
        frame = hasattr(X, "columns")
        types = list(X.dtypes) if frame else [X.dtype]
        return type(X), list(X.columns) if frame else X.shape[1], types

    def predict(self, X):
        if self._form(X) != self.form_:
            raise TypeError(f"{self._form(X)} instead of {self.form_}")
        if hasattr(X, "columns"):
            return sum(np.asarray(X[name], dtype=float) for name in X.columns) ** 2
        return np.asarray(X.sum(axis=1), dtype=float).ravel() ** 2


MODELS = {
    "forest": (RandomForestRegressor(10, max_depth=4, random_state=0), {}),
    "strict": (Strict(), {}),
    "linear": (LinearRegression(), {}),
    "xgboost": (XGBRegressor(n_estimators=15, max_depth=3), {}),
    "classes": (RandomForestClassifier(10, max_depth=4, random_state=0), {}),
    "log-odds": (
        XGBClassifier(n_estimators=5, max_depth=3),
        {"response_method": "log_odds"},
    ),
    "predicted": (LogisticRegression(C=0.1), {"output": "predicted"}),
    "one class": (
        LogisticRegression(C=0.1),
        {"output": 2, "response_method": "decision_function"},
    ),
    "scores": (IsolationForest(n_estimators=10, random_state=0), {}),
}


@pytest.mark.thinned
@pytest.mark.parametrize(
    ("name", "container"),
    [(name, "array") for name in MODELS]
    + [
        (name, kind) for name in ("classes", "log-odds") for kind in ("sparse", "frame")
    ],
)
def test_values_agree_with_transforming_every_row(name, container):
    model, kwargs = MODELS[name]
    steps = columns(sparse_threshold=float(container == "sparse"))
    if container == "frame":
        steps.set_output(transform="pandas")
    target = LABELS if hasattr(model, "predict_proba") else Y
    pipeline = make_pipeline(steps, model).fit(X, target)
    assert sparse.issparse(pipeline[:-1].transform(X)) == (container == "sparse")
    # products of a matrix may round by the layout of the matrix
    rtol = 1e-9 if "Regression" in type(model).__name__ else 0.0
    explanation = assert_same(
        pipeline, rtol=rtol, groups={"both": ["age", "rooms"]}, **kwargs
    )
    assert explanation.settings.masked == "columns made once by columntransformer"
    assert list(explanation.feature_names) == ["both", "city", "kind", "pay", "left"]
    # a player whose column is dropped
    assert np.abs(explanation.values[:, 4]).max() <= (1e-15 if rtol else 0)


@pytest.mark.parametrize(
    "steps",
    [
        (StandardScaler(),),
        (PowerTransformer(), SplineTransformer(n_knots=3)),
        (SplineTransformer(n_knots=3, sparse_output=True),),  # it stores zeros, too
        (
            FunctionTransformer(np.abs),
            FunctionTransformer(np.log1p),
            StandardScaler(copy=False),
        ),
        (StandardScaler(), "passthrough", KBinsDiscretizer(4, strategy="uniform")),
    ],
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_arrays(steps, dtype):
    numbers = NUMBERS.astype(dtype)
    model = XGBRegressor(n_estimators=10, max_depth=3)
    pipeline = make_pipeline(*steps, model).fit(numbers, Y)
    assert_same(pipeline, table=numbers, rows=numbers[B : B + R])


def test_encoders_of_categories_with_names():
    numbers = ["pay", "rooms"]
    steps = make_column_transformer(
        (
            OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
            ["city"],
        ),
        (TargetEncoder(), ["kind"]),
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    model = HistGradientBoostingRegressor(max_iter=10, max_depth=3)
    pipeline = make_pipeline(steps, model).fit(X, Y)
    assert_same(pipeline, sampler="leverage", max_rows=18 * B + 1)
    named = make_pipeline(StandardScaler().set_output(transform="pandas"), model)
    assert_same(named.fit(X[numbers], Y), table=X[numbers], rows=ROWS[numbers])


@pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.8"),
    reason="scikit-learn then finds columns of polars by a protocol that polars 2 has dropped",
)
def test_polars():
    pl = pytest.importorskip("polars")
    table = pl.from_pandas(X.astype({"kind": str}))
    rows = pl.from_pandas(ROWS.astype({"kind": str}))
    steps = columns().set_output(transform="polars")
    pipeline = make_pipeline(steps, Strict()).fit(table, Y)
    assert isinstance(pipeline[:-1].transform(table), pl.DataFrame)
    assert_same(pipeline, table=table, rows=rows)


def test_rows_with_other_dtypes_than_the_background():
    """Columns made of float32 rows are rounded, and trees would turn a last bit into a step."""
    pipeline = make_pipeline(StandardScaler(), LinearRegression()).fit(NUMBERS, Y)
    for ours, theirs in [
        (np.float32, np.float64),
        (np.float64, np.float32),
        (int, float),
    ]:
        table, rows = NUMBERS.astype(theirs), NUMBERS[B : B + R].astype(ours)
        assert_same(pipeline, rtol=1e-5, table=table, rows=rows)
    pipeline = make_pipeline(columns(), Strict()).fit(X, Y)
    assert_same(pipeline, rows=ROWS.astype({"rooms": float, "pay": np.float32}))


def test_reordered_and_additional_columns():
    """A ColumnTransformer finds its columns by name."""
    pipeline = make_pipeline(columns(), RandomForestRegressor(5, random_state=0)).fit(
        X, Y
    )
    order = [
        "rooms",
        "new",
        "city",
        "pay",
        "kind",
        "age",
    ]  # without "left", which is not used
    table, rows = (part.assign(new=1.0)[order] for part in (X, ROWS))
    explanation = assert_same(pipeline, table=table, rows=rows)
    np.testing.assert_allclose(
        explanation.predictions, pipeline.predict(rows), rtol=1e-12, atol=0
    )


@pytest.mark.parametrize(
    "wrap",
    [
        pytest.param("frozen", marks=pytest.mark.slow),
        pytest.param("search", marks=pytest.mark.slow),
        "both",
    ],
)
def test_pipelines_inside_searches_and_frozen_estimators(wrap):
    pipeline = make_pipeline(columns(), RandomForestRegressor(5, random_state=0))
    model = pipeline if wrap == "frozen" else GridSearchCV(pipeline, {}, cv=2)
    model = model.fit(X, Y)
    assert_same(model if wrap == "search" else FrozenEstimator(model))


def test_steps_that_mix_columns_belong_to_the_model():
    model = make_pipeline(
        columns(), StandardScaler(), PCA(2), RandomForestRegressor(5, max_depth=3)
    )
    made_once = "columns made once by columntransformer, standardscaler"
    # PCA rounds by the layout of its matrix, and may then pass a threshold
    once = assert_same(model.fit(X, Y), masked=made_once, rtol=1e-9)
    assert once.settings.masked == made_once


@pytest.mark.parametrize("reward", [InterventionalReward, BaselineReward])
def test_other_rewards_and_workers(reward):
    pipeline = make_pipeline(columns(), RandomForestRegressor(5, random_state=0)).fit(
        X, Y
    )
    serial = assert_same(pipeline, reward=reward)
    with parallel_config("threading"):
        spread = explained(pipeline, True, reward=reward, n_jobs=2)
    np.testing.assert_array_equal(spread.values, serial.values)


def test_a_fitted_explainer_can_be_pickled():
    pipeline = make_pipeline(columns(1.0), XGBRegressor(n_estimators=5)).fit(X, Y)
    n_rows = 18 * B + 1
    explainer = ShapleyExplainer(
        pipeline, sampler="antithetic", max_rows=n_rows, random_state=0
    )
    explainer.fit(BACKGROUND)
    again = pickle.loads(pickle.dumps(explainer))
    np.testing.assert_array_equal(
        again.explain(ROWS).values, explainer.explain(ROWS).values
    )


# --- what it saves --------------------------------------------------------------------


def rows_transformed(monkeypatch, transformed):
    """The number of rows that a scaler saw in fit and in explain, and of rows of the model."""
    seen = []
    ours = StandardScaler.transform

    def transform(self, X, copy=None):
        seen.append(len(X))
        return ours(self, X, copy)

    monkeypatch.setattr(StandardScaler, "transform", transform)
    pipeline = make_pipeline(StandardScaler(), LinearRegression()).fit(NUMBERS, Y)
    reward = InterventionalReward(transformed=transformed)
    n_rows = 28 * B + 1
    explainer = ShapleyExplainer(
        pipeline, reward=reward, sampler="antithetic", max_rows=n_rows
    )
    seen.clear()
    explainer.fit(NUMBERS[:B])
    in_fit, n = list(seen), len(seen)
    explanation = explainer.explain(NUMBERS[B : B + R])
    return in_fit, seen[n:], explanation.n_model_rows.sum()


def test_rows_are_transformed_once(monkeypatch):
    in_fit, in_explain, model_rows = rows_transformed(monkeypatch, True)
    # the background, and the hybrids on which it is checked
    assert in_fit == [B, 64]
    assert in_explain == [R]
    assert model_rows > 30 * R


def test_without_the_shortcut_every_mixed_row_is_transformed(monkeypatch):
    in_fit, in_explain, model_rows = rows_transformed(monkeypatch, False)
    assert in_fit == [B]
    assert sum(in_explain) == model_rows


# --- what falls back ------------------------------------------------------------------


def half(model, X):
    return model.predict(X) / 2


@pytest.mark.parametrize(
    ("model", "kwargs", "reason"),
    [
        (LinearRegression(), {}, "LinearRegression is not a Pipeline"),
        (
            make_pipeline(LinearRegression()),
            {},
            "the pipeline has no step that works column",
        ),
        (
            make_pipeline("passthrough", LinearRegression()),
            {},
            "the pipeline has no step that",
        ),
        (
            make_pipeline(PCA(), LinearRegression()),
            {},
            r"PCA is not known .* \(step 'pca'\)",
        ),
        (
            make_pipeline(PolynomialFeatures(), LinearRegression()),
            {},
            "PolynomialFeatures is not",
        ),
        (
            make_pipeline(KNNImputer(), LinearRegression()),
            {},
            "KNNImputer is not known",
        ),
        (
            make_pipeline(StandardScaler(), LinearRegression()),
            {"response_method": half},
            "response_method is a function of the whole model",
        ),
    ],
)
def test_other_models_are_masked_in_raw_columns(model, kwargs, reason):
    model.fit(NUMBERS, Y)
    explanation = assert_same(
        model, "raw columns: ", table=NUMBERS, rows=NUMBERS[B : B + R], **kwargs
    )
    assert re.search(reason, explanation.settings.masked)


def test_steps_that_mix_columns_unexpectedly_are_detected(monkeypatch):
    """The reading of a transformer is compared with the transformer itself."""
    pipeline = make_pipeline(StandardScaler(), RandomForestRegressor(5)).fit(NUMBERS, Y)
    for lie in ([2, 1, 0], [0, 1, 2, 2]):
        monkeypatch.setitem(
            _columnwise._READERS, "StandardScaler", lambda *_, lie=lie: lie
        )
        assert_same(pipeline, "raw columns: ", table=NUMBERS, rows=NUMBERS[B : B + R])


def test_invalid_parameter():
    with pytest.raises(
        ValueError, match="InterventionalReward takes transformed as True or False"
    ):
        explained(
            LinearRegression().fit(NUMBERS, Y), "auto", table=NUMBERS, rows=NUMBERS[:1]
        )


# --- trees at the end of a pipeline ---------------------------------------------------

ENSEMBLES = {
    "forest": (RandomForestRegressor(8, max_depth=4, random_state=0), "auto", 1e-9),
    "classes": (RandomForestClassifier(8, max_depth=4, random_state=0), "auto", 1e-9),
    "boosted": (HistGradientBoostingRegressor(max_iter=10, max_depth=3), "auto", 1e-9),
    # its own predictions are sums in single precision
    "xgboost": (XGBRegressor(n_estimators=10, max_depth=3), "auto", 2e-6),
    "log-odds": (XGBClassifier(n_estimators=5, max_depth=3), "log_odds", 2e-6),
}


@pytest.mark.thinned
@pytest.mark.parametrize(
    ("name", "container"),
    [
        pair
        for pair in product(ENSEMBLES, ("array", "sparse", "frame"))
        if pair != ("boosted", "sparse")  # which HistGradientBoosting does not take
    ],
)
def test_trees_after_columnwise_steps_are_exact(name, container):
    """Tables of the trees against all coalitions of raw columns, transformed row by row."""
    model, method, atol = ENSEMBLES[name]
    steps = columns(sparse_threshold=float(container == "sparse"))
    if container == "frame":
        steps.set_output(transform="pandas")
    target = LABELS if hasattr(model, "predict_proba") else Y
    pipeline = make_pipeline(steps, model).fit(X, target)
    how = {"response_method": method, "max_rows": 62 * B + 1}
    exact = explained(pipeline, True, sampler="auto", **how)
    plain = explained(pipeline, False, sampler="exact", **how)
    assert exact.settings.why_sampled is None
    assert plain.settings.why_sampled is not None
    assert plain.converged.all()
    assert exact.n_model_rows.sum() == 0
    np.testing.assert_allclose(exact.values, plain.values, rtol=0, atol=atol)
    np.testing.assert_allclose(exact.base_values, plain.base_values, rtol=0, atol=atol)
    np.testing.assert_allclose(exact.predictions, plain.predictions, rtol=0, atol=atol)
    pd.testing.assert_frame_equal(exact.data, plain.data)


class Halves(TransformerMixin, BaseEstimator):
    """A transformer of another library: whole part and rest of each column, side by side."""

    def __init__(self, mixes=False):
        self.mixes = mixes

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        X = np.asarray(X, dtype=float)
        whole = np.floor(X) * (X[:, :1] > 0) if self.mixes else np.floor(X)
        return np.column_stack([whole, X - np.floor(X)])


@pytest.mark.parametrize(
    ("step", "works"),
    [
        (Halves(), True),
        (Halves(mixes=True), False),
        (FunctionTransformer(lambda X: np.sign(X) * X**2), True),
        (FunctionTransformer(lambda X: X - X.mean(axis=1, keepdims=True)), False),
    ],
    ids=["columns", "mixed", "function of columns", "function of rows"],
)
def test_unknown_steps_are_tested_on_rows(step, works):
    X = np.random.default_rng(0).normal(size=(60, 4))
    model = make_pipeline(StandardScaler(), step, Ridge()).fit(
        X, X @ [1.0, 2.0, 0.0, -1.0]
    )
    read, truth = (
        ShapleyExplainer(model, sampler=sampler).fit(X[:9]).explain(X[9:12])
        for sampler in ("auto", "exact")
    )
    assert (read.settings.closed_form is not None) == works
    np.testing.assert_allclose(read.values, truth.values, rtol=0, atol=1e-12)
