"""Realistic tables and models: a fitted model, a background, rows, and its predictions."""

from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.compose import (
    ColumnTransformer,
    make_column_selector,
    make_column_transformer,
)
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_linnerud
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingRegressor,
)
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputRegressor
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC


class Case(NamedTuple):
    """A fitted model, a background, rows to explain and the model's predictions for them."""

    model: object
    background: object
    rows: object
    said: object
    options: dict = {}


def _iris(model):
    X, y = load_iris(return_X_y=True)
    model.fit(X, y)
    return model, X


def _diabetes(model, as_frame=False):
    X, y = load_diabetes(return_X_y=True, as_frame=as_frame)
    model.fit(X, y)
    return model, X


def linear_numpy():
    model, X = _diabetes(LinearRegression())
    return Case(model, X[::9], X[:3], model.predict(X[:3]))


def forest_numpy():
    model, X = _diabetes(RandomForestRegressor(30, random_state=0))
    return Case(model, X[::9], X[:3], model.predict(X[:3]))


def nearest_neighbours_lists():
    model, X = _iris(KNeighborsClassifier())
    return Case(model, X[::5].tolist(), X[:2].tolist(), model.predict_proba(X[:2]))


def svc_multiclass():
    model, X = _iris(SVC(random_state=0))
    return Case(model, X[::5], X[:2], model.decision_function(X[:2]))


def svc_two_classes():
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    return Case(model, X[::9], X[:2], model.decision_function(X[:2]))


def mlp_regression_scaled():
    model, X = _diabetes(
        make_pipeline(
            StandardScaler(),
            MLPRegressor(
                hidden_layer_sizes=(8,),
                solver="lbfgs",
                max_iter=5000,
                tol=1.0,
                random_state=0,
            ),
        ),
        True,
    )
    return Case(model, X[::9], X[:2], model.predict(X[:2]))


def mlp_multiclass_float32():
    X, y = load_iris(return_X_y=True)
    X = X.astype(np.float32)
    model = MLPClassifier((6,), solver="lbfgs", random_state=0, max_iter=2000).fit(X, y)
    return Case(model, X[::5], X[:2], model.predict_proba(X[:2]))


def gaussian_process():
    X, y = load_diabetes(return_X_y=True)
    model = GaussianProcessRegressor(alpha=0.1, normalize_y=True).fit(X[:80], y[:80])
    return Case(model, X[::9], X[:2], model.predict(X[:2]))


def stacking_frame():
    model, X = _diabetes(
        StackingRegressor(
            [("a", Ridge()), ("b", RandomForestRegressor(9, random_state=0))]
        ),
        True,
    )
    return Case(model, X[::20], X[:1], model.predict(X[:1]))


def searched_pipeline():
    X, y = load_iris(return_X_y=True, as_frame=True)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), LogisticRegression()),
        {"logisticregression__C": [1, 9]},
    )
    search.fit(X, y)
    return Case(search, X[::5], X[:2], search.predict_proba(X[:2]))


def people(n=240, seed=0):
    """Every kind of column, with missing values."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.integers(16, 80, n)),
            "town": pd.Categorical(rng.choice(["Rome", "Oslo", "Bern", None], n)),
            "job": rng.choice(["nurse", "smith", "clerk"], n),
            "owner": rng.random(n) < 0.5,
            "rooms": pd.array(
                np.where(rng.random(n) < 0.1, None, rng.integers(1, 6, n)), "Int64"
            ),
        }
    )
    y = frame["owner"] * 2 + (frame["job"] == "nurse") + frame["age"].fillna(30) / 40
    return frame, (y + rng.normal(size=n) / 9).to_numpy()


def _mixed_steps():
    numbers, words = ["age", "owner", "rooms"], ["town", "job"]
    imputed = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    return make_column_transformer((SimpleImputer(), numbers), (imputed, words))


def _as_objects(frame):
    return frame.assign(
        town=frame["town"].astype(object), rooms=frame["rooms"].astype(float)
    )


def mixed_frame_linear():
    frame, y = people()
    frame = _as_objects(frame)
    model = make_pipeline(_mixed_steps(), LogisticRegression()).fit(frame, y > 2)
    return Case(model, frame[::3], frame[:2], model.predict_proba(frame[:2])[:, 1])


def mixed_frame_neighbours():
    frame, y = people()
    frame = _as_objects(frame)
    model = make_pipeline(_mixed_steps(), KNeighborsClassifier()).fit(frame, y.round())
    return Case(model, frame[::6], frame[:2], model.predict_proba(frame[:2]))


def _with_categories(frame):
    return frame.assign(
        job=frame["job"].astype("category"), rooms=frame["rooms"].astype(float)
    )


def categories_hist_boosting():
    frame, y = people()
    frame = _with_categories(frame)
    model = HistGradientBoostingRegressor(
        categorical_features="from_dtype", max_iter=20
    )
    model.fit(frame, y)
    return Case(model, frame[::3], frame[:2], model.predict(frame[:2]))


def categories_xgboost():
    xgboost = pytest.importorskip("xgboost")
    frame, y = people()
    frame = _with_categories(frame)
    model = xgboost.XGBClassifier(n_estimators=20, enable_categorical=True)
    model.fit(frame, y.round().astype(int))
    return Case(model, frame[::3], frame[:2], model.predict_proba(frame[:2]))


def categories_lightgbm():
    lightgbm = pytest.importorskip("lightgbm")
    frame, y = people()
    frame = _with_categories(frame)
    model = lightgbm.LGBMClassifier(n_estimators=20, verbose=-1).fit(frame, y > 2)
    return Case(model, frame[::3], frame[:2], model.predict_proba(frame[:2])[:, 1])


def columns_in_another_order():
    frame, y = people()
    frame = _with_categories(frame)
    model = HistGradientBoostingClassifier(
        categorical_features="from_dtype", max_iter=20
    )
    model.fit(frame, y > 2)
    other = frame[["rooms", "owner", "job", "age", "town"]]
    return Case(model, frame[::3], other[:2], model.predict_proba(frame[:2])[:, 1])


def polars_pipeline():
    polars = pytest.importorskip("polars")
    frame, y = people()
    frame = frame.drop(columns=["town", "rooms"])
    steps = make_column_transformer(
        (OneHotEncoder(), ["job"]),
        (SimpleImputer(), ["age"]),
        ("passthrough", ["owner"]),
    )
    ours = polars.DataFrame({name: frame[name].to_numpy() for name in frame})
    model = make_pipeline(
        steps, MLPRegressor(hidden_layer_sizes=(4,), solver="lbfgs", random_state=0)
    ).fit(ours, y)
    return Case(model, ours[:40], ours[:2], model.predict(ours[:2]))


def titanic(n=300, seed=0):
    """A table like the downloaded Titanic data: text, missing values, names that rarely repeat."""
    rng = np.random.default_rng(seed)
    surnames = rng.choice(["Braund", "Cumings", "Heikkinen", "Futrelle", "Allen"], n)
    sex = rng.choice(["male", "female"], n, p=[0.65, 0.35])
    frame = pd.DataFrame(
        {
            "PassengerId": np.arange(1, n + 1),
            "Pclass": rng.integers(1, 4, n),
            "Name": [f"{name}, Mr. Owen {i}" for i, name in enumerate(surnames)],
            "Sex": sex,
            "Age": np.where(rng.random(n) < 0.2, np.nan, rng.integers(1, 80, n)),
            "SibSp": rng.integers(0, 4, n),
            "Parch": rng.integers(0, 3, n),
            "Ticket": [f"A/5 {i // 2 * 7919 % 99991}" for i in range(n)],
            "Fare": rng.gamma(2, 16, n).round(4),
            "Cabin": np.where(
                rng.random(n) < 0.77, None, [f"C{i % 130}" for i in range(n)]
            ),
            "Embarked": rng.choice(
                ["S", "C", "Q", None], n, p=[0.72, 0.19, 0.08, 0.01]
            ),
        }
    )
    return frame, ((sex == "female") | (rng.random(n) < 0.2)).astype(int)


def _titanic_steps(min_frequency=None):
    words = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="missing"),
        OneHotEncoder(handle_unknown="ignore", min_frequency=min_frequency),
    )
    numbers = make_column_selector(dtype_include="number")
    return ColumnTransformer(
        [
            ("numbers", SimpleImputer(), numbers),
            ("words", words, make_column_selector(dtype_exclude="number")),
        ]
    )


def titanic_forest():
    frame, y = titanic()
    model = make_pipeline(_titanic_steps(), RandomForestClassifier(20, random_state=0))
    model.fit(frame, y)
    return Case(model, frame[::3], frame[:2], model.predict_proba(frame[:2])[:, 1])


def titanic_sampled():
    frame, y = titanic()
    model = make_pipeline(_titanic_steps(), KNeighborsClassifier()).fit(frame, y)
    return Case(model, frame[::6], frame[:1], model.predict_proba(frame[:1])[:, 1])


def titanic_xgboost():
    xgboost = pytest.importorskip("xgboost")
    frame, y = titanic()
    model = make_pipeline(_titanic_steps(), xgboost.XGBClassifier(n_estimators=20)).fit(
        frame, y
    )
    return Case(model, frame[::3], frame[:2], model.predict_proba(frame[:2])[:, 1])


def binary_columns(n=200, d=300, seed=0):
    rng = np.random.default_rng(seed)
    X = sparse.csr_array((rng.random((n, d)) < 0.09).astype(float))
    return X, np.asarray(X[:, :9].sum(axis=1)).ravel() + X[:, [9]].toarray()[:, 0] * 2


def sparse_logistic():
    X, y = binary_columns()
    model = LogisticRegression().fit(X, y > 1)
    return Case(model, X[::3], X[:2], model.predict_proba(X[:2])[:, 1])


def sparse_forest():
    X, y = binary_columns()
    model = RandomForestRegressor(20, random_state=0).fit(X, y)
    return Case(model, X[::3], X[:2], model.predict(X[:2]))


def sparse_matrix_svc():
    X, y = binary_columns(d=60)
    X = sparse.csr_matrix(X)
    model = LinearSVC().fit(X, y > 1)
    return Case(model, X[::3], X[:2], model.decision_function(X[:2]))


def sparse_xgboost():
    xgboost = pytest.importorskip("xgboost")
    X, y = binary_columns(d=60)
    model = xgboost.XGBRegressor(n_estimators=20).fit(X, y)
    return Case(model, X[::3], X[:2], model.predict(X[:2]))


def sparse_columns_for_a_dense_model():
    X, y = binary_columns(d=30)
    model = GaussianNB().fit(X.toarray(), y > 1)
    return Case(
        model, X[::3].tocsc(), X[:2].tocoo(), model.predict_proba(X[:2].toarray())[:, 1]
    )


DOCUMENTS = [
    "A fine film, and a moving one.",
    "Dull, dull, dull: I left before the end!",
    "The plot is thin but the actors are fine.",
    "Not a good film; the end is dull.",
    "Moving, funny and warm. See it.",
    "Thin plot, dull actors, no end.",
    "",
] * 4
LIKED = [1, 0, 1, 0, 1, 0, 0] * 4


def text_series():
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(DOCUMENTS, LIKED)
    series = pd.Series(
        DOCUMENTS, name="review", index=[f"d{i}" for i in range(len(DOCUMENTS))]
    )
    return Case(model, series, series[:3], model.predict_proba(series[:3])[:, 1])


def text_list_multiclass():
    topic = [len(text) % 3 for text in DOCUMENTS]
    model = make_pipeline(CountVectorizer(), MultinomialNB()).fit(DOCUMENTS, topic)
    return Case(model, DOCUMENTS, DOCUMENTS[:2], model.predict_proba(DOCUMENTS[:2]))


def text_frame():
    frame = pd.DataFrame({"review": DOCUMENTS})
    steps = make_column_transformer((TfidfVectorizer(), "review"))
    model = make_pipeline(steps, LogisticRegression()).fit(frame, LIKED)
    return Case(model, frame, frame[:2], model.predict_proba(frame[:2])[:, 1])


def several_outputs_forest():
    X, y = load_linnerud(return_X_y=True, as_frame=True)
    model = RandomForestRegressor(20, random_state=0).fit(X, y)
    return Case(model, X, X[:2], model.predict(X[:2]))


def several_outputs_sampled():
    X, y = load_linnerud(return_X_y=True)
    steps = (
        StandardScaler(),
        MLPRegressor(
            hidden_layer_sizes=(4,), solver="lbfgs", random_state=0, max_iter=2000
        ),
    )
    model = MultiOutputRegressor(make_pipeline(*steps)).fit(X, y)
    return Case(model, X, X[:2], model.predict(X[:2]))


def cluster_distances():
    model, X = _iris(KMeans(3, random_state=0))
    return Case(
        model, X[::5], X[:2], model.transform(X[:2]), {"response_method": "transform"}
    )


def outliers():
    X = load_iris(as_frame=True).data
    model = IsolationForest(n_estimators=20, random_state=0).fit(X)
    return Case(model, X[::5], X[:2], model.score_samples(X[:2]))


def densities():
    X = load_iris().data
    model = GaussianMixture(2, random_state=0).fit(X)
    return Case(model, X[::5], X[:2], model.score_samples(X[:2]))


CASES = [
    linear_numpy,
    forest_numpy,
    nearest_neighbours_lists,
    svc_multiclass,
    svc_two_classes,
    mlp_regression_scaled,
    mlp_multiclass_float32,
    gaussian_process,
    stacking_frame,
    searched_pipeline,
    mixed_frame_linear,
    mixed_frame_neighbours,
    categories_hist_boosting,
    categories_xgboost,
    categories_lightgbm,
    columns_in_another_order,
    polars_pipeline,
    titanic_forest,
    titanic_sampled,
    titanic_xgboost,
    sparse_logistic,
    sparse_forest,
    sparse_matrix_svc,
    sparse_xgboost,
    sparse_columns_for_a_dense_model,
    text_series,
    text_list_multiclass,
    text_frame,
    several_outputs_forest,
    several_outputs_sampled,
    cluster_distances,
    outliers,
    densities,
]
