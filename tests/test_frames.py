"""Frames of any columns are explained by raw columns; silent errors of shap are avoided."""

import narwhals
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.fixes import parse_version
from xgboost import XGBRegressor

from skshapley import ShapleyExplainer
from skshapley.plots import BeeswarmDisplay

N = 60


def people(n=N, seed=0):
    """Rows with every kind of column, missing values and a repeated index."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "job": rng.choice(["nurse", "smith", "clerk"], n),
            "town": np.where(
                rng.random(n) < 0.2, None, rng.choice(["A", "B"], n)
            ).astype(object),
            "kind": pd.Categorical(
                rng.choice(["x", "y", "z"], n), categories=["z", "y", "x"]
            ),
            "rooms": pd.array(
                np.where(rng.random(n) < 0.2, None, rng.integers(1, 5, n)), "Int64"
            ),
            "income": np.where(rng.random(n) < 0.2, np.nan, rng.normal(3, 1, n)),
            "owner": rng.random(n) < 0.5,
            "since": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(rng.integers(0, 999, n), "D"),
        },
        index=[f"row {i % 7}" for i in range(n)],
    )


def years(frame):
    """A datetime column as a number; an object column would have no .dt."""
    return pd.DataFrame(
        {"since": frame["since"].dt.year + frame["since"].dt.month / 12}
    )


def fitted_pipeline(X):
    rng = np.random.default_rng(1)
    columns = ColumnTransformer(
        [
            # unknown="error": a hybrid row with a value that was never seen would raise
            ("words", OneHotEncoder(handle_unknown="error"), ["job", "town", "kind"]),
            ("numbers", SimpleImputer(), ["rooms", "income", "owner"]),
            ("times", FunctionTransformer(years), ["since"]),
        ]
    )
    model = make_pipeline(
        columns, HistGradientBoostingRegressor(max_iter=15, min_samples_leaf=3)
    )
    y = (
        rng.normal(size=len(X))
        + X["owner"] * X["income"].fillna(0)
        + (X["job"] == "nurse")
    )
    return model.fit(X, y)


def by_kind(frame):
    """Values of cells times another column; None and NaN are no equals."""
    numbers = {"A": 1.0, "B": 2.0, None: 5.0}
    towns = np.array([numbers.get(cell, -4.0) for cell in frame["town"]])
    return towns * frame["income"].to_numpy()


@pytest.mark.parametrize("model", ["function", "encoder"])
@pytest.mark.parametrize("gaps", [[None], [None, np.nan]], ids=["None", "None and NaN"])
def test_none_in_objects_stays_none(model, gaps, enumerated):
    """Pandas 3 takes objects for texts, and makes NaN of None in them."""
    rng = np.random.default_rng(0)
    towns = [*"AB", *gaps]
    cells = [towns[i] for i in rng.integers(len(towns), size=40)]
    X = pd.DataFrame({"town": pd.Series([*cells, None], dtype=object)})
    X["income"] = rng.normal(size=41)
    predict = by_kind
    if model == "encoder":
        towns = ColumnTransformer(
            [("town", OneHotEncoder(handle_unknown="ignore"), ["town"])],
            remainder="passthrough",
        )
        predict = make_pipeline(towns, SVR()).fit(X, by_kind(X)).predict
    explainer = ShapleyExplainer(predict, sampler="exact")
    one_kind = X[X["town"].map(type).eq(type(gaps[-1]))][:9]
    for background in (X[:9], one_kind):
        made = explainer.fit(background).explain(X[-3:]).values
        expected = enumerated(predict, X[-3:], background)
        np.testing.assert_allclose(made, expected, atol=1e-9)
    rows = explainer.fit(X[:9]).explain(X[-3:].to_dict("records"))
    np.testing.assert_array_equal(rows.values, explainer.explain(X[-3:]).values)


@pytest.mark.parametrize("sampler", ["exact", "antithetic"])
@pytest.mark.parametrize("library", ["polars", "pyarrow"])
@pytest.mark.parametrize(
    ("kind", "x", "cells"),
    [
        ("float", None, [np.nan, None, 2.0]),
        ("float", np.nan, [None, None, None]),
        ("int", 2**60 + 1, [2**60, None, 2**60 + 3]),
    ],
)
def test_null_is_no_nan_and_integers_beside_it_are_exact(
    kind, x, cells, library, sampler
):
    """Against each row: one of these cells had the effect of another column."""
    package = pytest.importorskip(library)

    def table(cells, others):
        if library == "polars":
            dtype = package.Float64 if kind == "float" else package.Int64
            column = package.Series(cells, dtype=dtype)
            return package.DataFrame({"cell": column, "other": others})
        column = package.array(cells, f"{kind}64")
        return package.table({"cell": column, "other": others})

    def effect(cell):
        return 5.0 if cell is None else -3.0 if np.isnan(cell) else cell % 7

    def model(X):
        frame = narwhals.from_native(X)
        effects = [effect(cell) for cell in frame["cell"].to_list()]
        return np.array(effects) + frame["other"].to_numpy()

    background = table(cells, [1.0, 2.0, 4.0])
    explainer = ShapleyExplainer(model, sampler=sampler, random_state=0)
    found = explainer.fit(background).explain(table([x], [5.0])).values
    expected = effect(x) - np.mean([effect(cell) for cell in cells])
    np.testing.assert_allclose(found, [[expected, 5 - 7 / 3]], atol=1e-9)


def test_lists_of_arrow_in_pandas():
    """pandas has no codes for them."""
    arrow = pytest.importorskip("pyarrow")
    lists = arrow.array([[1, 2], [3], [4, 5]])
    X = pd.DataFrame({"lists": pd.arrays.ArrowExtensionArray(lists), "b": 1.0})
    explainer = ShapleyExplainer(lambda X: [sum(cell) for cell in X["lists"]])
    made = explainer.fit(X[:2]).explain(X[2:])
    np.testing.assert_allclose(made.values, [[6.0, 0.0]])


def test_pipelines_are_explained_by_raw_columns(enumerated):
    X = people()
    model = fitted_pipeline(X)
    explainer = ShapleyExplainer(model, sampler="exact").fit(X[:8])
    made = explainer.explain(X[8:12])
    assert made.feature_names.tolist() == X.columns.tolist()
    assert made.index.tolist() == X.index[8:12].tolist()
    pd.testing.assert_frame_equal(made.data, X[8:12])
    expected = enumerated(model.predict, X[8:12], X[:8])
    np.testing.assert_allclose(made.values, expected, rtol=0, atol=1e-9)


def test_sampled_values_of_a_pipeline_add_up(enumerated):
    X = people()
    model = fitted_pipeline(X)
    explainer = ShapleyExplainer(model, max_rows=58 * 30 + 1, random_state=0).fit(
        X[:30]
    )
    made = explainer.explain(X[30:40])
    total = made.base_values + made.values.sum(axis=1)
    np.testing.assert_allclose(total, model.predict(X[30:40]), atol=1e-12)
    exact = enumerated(model.predict, X[30:40], X[:30])
    # 70 values: all within 5 standard errors but for one seed in 25 000
    assert (np.abs(made.values - exact) <= 5 * made.standard_errors + 1e-9).all()


def test_groups_of_raw_columns(enumerated):
    X = people()
    model = fitted_pipeline(X)
    groups = {"who": ["job", "owner"], "where": ["town", "rooms"]}
    made = (
        ShapleyExplainer(model, groups=groups, sampler="exact")
        .fit(X[:8])
        .explain(X[8:11])
    )
    players = [["job", "owner"], ["town", "rooms"], ["kind"], ["income"], ["since"]]
    expected = enumerated(model.predict, X[8:11], X[:8], players)
    np.testing.assert_allclose(made.values, expected, rtol=0, atol=1e-9)
    assert made.feature_names.tolist() == ["who", "where", "kind", "income", "since"]
    assert (
        made.data["who"].iloc[0]
        == f"job={X['job'].iloc[8]}, owner={X['owner'].iloc[8]}"
    )


@pytest.mark.parametrize("reward", ["interventional", "baseline"])
def test_dtypes_reach_the_model_unchanged(reward):
    seen = []

    def model(frame):
        seen.append(frame.dtypes.to_dict())
        return frame["owner"].to_numpy() + (frame["kind"] == "x").to_numpy(dtype=float)

    X = people()
    made = ShapleyExplainer(model, reward=reward).fit(X[:8]).explain(X[8:10])
    kept = X.dtypes.to_dict()
    if reward == "baseline":  # the mean of whole numbers is none
        kept["rooms"] = pd.Float64Dtype()
    assert len(seen) > 2
    for dtypes in seen[2:]:
        assert list(dtypes.items()) == list(kept.items())
    np.testing.assert_allclose(made.values[:, [0, 1, 3, 4, 6]], 0, atol=1e-12)


def test_categories_in_xgboost(enumerated):
    xgboost = pytest.importorskip("xgboost")
    X = people()[["kind", "rooms", "income", "owner"]].assign(
        rooms=lambda f: f["rooms"].astype(float)
    )
    X["second"] = pd.Categorical(np.random.default_rng(3).choice(list("pqrstu"), N))
    y = (X["kind"] == "x") * X["income"].fillna(2) + (X["second"].isin(["p", "s"])) * X[
        "rooms"
    ].fillna(0)
    model = xgboost.XGBRegressor(
        n_estimators=20, max_depth=4, enable_categorical=True
    ).fit(X, y)
    expected = enumerated(model.predict, X[10:14], X[:10])
    made = ShapleyExplainer(model, sampler="exact").fit(X[:10]).explain(X[10:14])
    np.testing.assert_allclose(made.values, expected, rtol=0, atol=1e-9)
    # from its trees, in float64; the model itself adds them up in float32
    made = ShapleyExplainer(model).fit(X[:10]).explain(X[10:14])
    assert made.settings.why_sampled is None
    np.testing.assert_allclose(made.values, expected, rtol=0, atol=1e-6)


def test_categories_in_lightgbm(enumerated):
    lightgbm = pytest.importorskip("lightgbm")
    X = people()[["kind", "income", "owner"]]
    y = (X["kind"] == "x") * X["income"].fillna(2)
    model = lightgbm.LGBMRegressor(
        n_estimators=10, min_child_samples=3, verbose=-1
    ).fit(X, y)
    made = ShapleyExplainer(model).fit(X[:10]).explain(X[10:14])
    expected = enumerated(model.predict, X[10:14], X[:10])
    np.testing.assert_allclose(made.values, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("order", [["x", "y", "z"], ["y"], ["unused", "z", "x", "y"]])
def test_categories_in_another_order(order):
    """The codes differ, not the categories: the model must get the codes of the background."""
    background = pd.DataFrame(
        {"kind": pd.Categorical(list("xyz"), categories=list("zyx"))}
    )

    def codes(frame):
        return frame["kind"].cat.codes.to_numpy().astype(float)

    explainer = ShapleyExplainer(codes).fit(background)
    made = explainer.explain(
        pd.DataFrame({"kind": pd.Categorical(["y", "y"], categories=order)})
    )
    assert made.predictions.tolist() == [1.0, 1.0]


def test_polars(enumerated):
    polars = pytest.importorskip("polars")
    X = people().drop(columns=["town"]).reset_index(drop=True)
    frame = polars.from_pandas(X.drop(columns="rooms")).with_columns(
        rooms=polars.Series(X["rooms"].to_numpy(dtype=float, na_value=np.nan)).cast(
            polars.Int32, strict=False
        )
    )
    schemas = []

    def model(frame):
        schemas.append(frame.schema)
        number = frame["income"].fill_nan(0).fill_null(0) * frame["owner"].cast(
            polars.Float64
        )
        return number.to_numpy() + (frame["job"] == "nurse").to_numpy()

    made = ShapleyExplainer(model, sampler="exact").fit(frame[:8]).explain(frame[8:11])
    assert all(schema == frame.schema for schema in schemas)

    def same(table):
        income = table["income"].fillna(0) * table["owner"]
        return income.to_numpy(dtype=float) + (table["job"] == "nurse").to_numpy()

    columns = list(frame.columns)
    expected = enumerated(same, X[columns][8:11], X[columns][:8])
    np.testing.assert_allclose(made.values, expected, rtol=0, atol=1e-9)
    assert made.feature_names.tolist() == columns


@pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.8"),
    reason="scikit-learn then finds columns of polars by a protocol that polars 2 has dropped",
)
def test_polars_into_a_scikit_learn_pipeline():
    polars = pytest.importorskip("polars")
    frame = polars.from_pandas(people()[["job", "owner"]].reset_index(drop=True))
    model = make_pipeline(
        ColumnTransformer(
            [("w", OneHotEncoder(sparse_output=False), ["job"])],
            remainder="passthrough",
        ),
        LinearRegression(),
    ).fit(frame, np.arange(N))
    made = ShapleyExplainer(model).fit(frame[:9]).explain(frame[9:12])
    total = made.base_values + made.values.sum(axis=1)
    np.testing.assert_allclose(total, model.predict(frame[9:12]), atol=1e-9)


@pytest.mark.parametrize("names", [[3, 1, 2], [("a", 1), ("a", 2), ("b", 1)]])
def test_non_text_names(names):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(9, 3)), columns=names)
    made = (
        ShapleyExplainer(lambda X: X.to_numpy() @ [1.0, 2.0, 3.0])
        .fit(X[:5])
        .explain(X[5:])
    )
    expected = (X[5:] - X[:5].mean()).to_numpy() * [1.0, 2.0, 3.0]
    np.testing.assert_allclose(made.values, expected, atol=1e-12)
    assert made.feature_names.tolist() == [str(name) for name in names]


def test_non_text_names_with_mixed_dtypes(enumerated):
    """A model that uses dtypes must receive a frame, whatever the names."""
    X = people()[["kind", "income"]].set_axis([0, 1], axis=1)
    model = HistGradientBoostingRegressor(max_iter=5, categorical_features="from_dtype")
    model.fit(X, np.arange(N))
    made = ShapleyExplainer(model).fit(X[:9]).explain(X[9:12])
    np.testing.assert_allclose(
        made.values, enumerated(model.predict, X[9:12], X[:9]), rtol=0, atol=1e-9
    )


def test_arrays_for_models_fitted_with_names_and_vice_versa():
    frame = people()[["income", "owner"]].fillna(0.0)
    array = frame.to_numpy(dtype=float)
    y = np.arange(N)
    with_names = ShapleyExplainer(LinearRegression().fit(frame, y)).fit(array[:9])
    without = ShapleyExplainer(LinearRegression().fit(array, y)).fit(frame[:9])
    np.testing.assert_allclose(
        with_names.explain(array[9:]).values,
        without.explain(frame[9:]).values,
        atol=1e-9,
    )


def test_lists_and_arrays_in_cells(enumerated, tmp_path):
    """Long arrays with equal printed texts, and lists: values without a hash."""
    tags = [["a", "b"][: i % 3] for i in range(12)]
    waves = [np.zeros(2000) for _ in range(12)]
    for i, wave in enumerate(waves):
        wave[1000] = i % 5
    frame = pd.DataFrame({"tags": tags, "x": np.arange(12.0), "wave": waves})

    def model(X):
        waves = np.array([wave[1000] for wave in X["wave"]])
        return (
            X["tags"].map(len).to_numpy() * X["x"].to_numpy()
            + waves * X["x"].to_numpy()
        )

    made = ShapleyExplainer(model).fit(frame[:5]).explain(frame[5:8])
    expected = enumerated(model, frame[5:8], frame[:5])
    np.testing.assert_allclose(made.values, expected, rtol=0, atol=1e-9)
    assert made.data["tags"].tolist() == ["['a', 'b']", "[]", "['a']"]
    made.save(tmp_path / "phi")
    BeeswarmDisplay.from_explanation(made)
    assert isinstance(frame["tags"][0], list)


# --- what shap gets wrong silently ----------------------------------------------------


def test_thirty_additive_features_are_all_exact():
    """shap's KernelExplainer keeps 10 of them by default (l1_reg)."""
    rng = np.random.default_rng(0)
    X, background = rng.normal(size=(2, 30)), rng.normal(size=(20, 30))
    made = (
        ShapleyExplainer(lambda X: X.sum(axis=1), random_state=0)
        .fit(background)
        .explain(X)
    )
    np.testing.assert_allclose(made.values, X - background.mean(axis=0), atol=1e-12)


@pytest.mark.parametrize("kind", ["array", "frame", "mixed frame"])
def test_whole_numbers_in_the_background_do_not_truncate(kind):
    """shap copies fractions into an array of ints."""
    background, X = np.array([[1, 2], [3, 4]]), np.array([[0.25, 0.75]])

    def model(X):
        return np.asarray(X)[:, :2].astype(float) @ [1.0, 10.0]

    if kind != "array":
        background, X = (
            pd.DataFrame(table, columns=["a", "b"]) for table in (background, X)
        )
    if kind == "mixed frame":
        background, X = background.assign(c="u"), X.assign(c="u")
    made = ShapleyExplainer(model).fit(background).explain(X)
    np.testing.assert_allclose(made.values[0, :2], [-1.75, -22.5])
    assert made.data.iloc[0, 0] == 0.25


@pytest.mark.parametrize("scale", [1e-9, 1e-300, 1e9])
def test_tiny_features_and_timestamps_count(scale):
    """shap takes values that are close (np.isclose) for equal and gives them zero."""
    step = 1.0 if scale == 1e9 else scale
    background, X = np.full((3, 2), scale), np.full((1, 2), scale + step)
    made = (
        ShapleyExplainer(lambda X: (X - scale) @ [1.0, 2.0] / step)
        .fit(background)
        .explain(X)
    )
    np.testing.assert_allclose(made.values, [[1.0, 2.0]], rtol=1e-6)


@pytest.mark.parametrize("kind", ["array", "frame"])
def test_missing_values_reach_the_model(kind):
    """In shap NaN in x turns into NaN in the attributions."""
    background = np.array([[1.0, np.nan], [2.0, 4.0]])
    X = np.array([[np.nan, 1.0], [3.0, np.nan], [np.nan, np.nan], [np.inf, 1.0]])

    def model(X):
        X = np.asarray(X)
        return np.where(np.isnan(X), 7.0, np.minimum(X, 9.0)) @ [1.0, 10.0]

    expected = np.array([[7, 1], [3, 7], [7, 7], [9, 1]]) - [1.5, 5.5]
    if kind == "frame":
        background, X = (
            pd.DataFrame(table, columns=["a", "b"]) for table in (background, X)
        )
    made = ShapleyExplainer(model).fit(background).explain(X)
    np.testing.assert_allclose(made.values, expected * [1.0, 10.0], atol=1e-12)


def test_columns_missing_everywhere_have_no_effect():
    calls = []

    def model(X):
        calls.append(len(X))
        return np.nansum(X, axis=1)

    background, X = np.array([[np.nan, 1.0]] * 2), np.array([[np.nan, 2.0]])
    made = ShapleyExplainer(model).fit(background).explain(X)
    assert made.values.tolist() == [[0.0, 1.0]]
    assert calls == [2, 1]


def test_log_odds_of_certain_predictions():
    """shap's logit link gives NaN where p is 0 or 1."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    model = DecisionTreeClassifier().fit(X, X[:, 0] > 0)
    made = (
        ShapleyExplainer(model, response_method="log_odds").fit(X[:9]).explain(X[9:20])
    )
    assert np.isfinite(made.values).all()
    np.testing.assert_allclose(
        made.base_values + made.values.sum(axis=1), made.predictions
    )
    assert set(np.round(np.abs(made.predictions)).tolist()) == {36.0}


def test_columns_are_reordered_by_name():
    """shap explains df[["b", "a"]] as df[["a", "b"]]."""
    X = people()[["income", "owner"]].fillna(0)
    other = X[["owner", "income"]]
    model = FrozenEstimator(LogisticRegression().fit(X, np.arange(N) % 2))
    expected = ShapleyExplainer(model).fit(X).explain(X[:3])
    for background, instances in ((X, other[:3]), (other, X[:3]), (other, other[:3])):
        explainer = ShapleyExplainer(model).fit(background)
        made = explainer.explain(instances)
        assert made.feature_names.tolist() == ["income", "owner"]
        np.testing.assert_array_equal(made.values, expected.values)
    with pytest.raises(
        ValueError, match="same order"
    ):  # as scikit-learn's transformers do
        explainer.transform(other)
    with pytest.raises(ValueError, match="column 'more'"):
        explainer.explain(other.assign(more=1))


@pytest.mark.parametrize("dtype", ["Categorical", "Enum"])
def test_trees_accept_polars_categories(dtype):
    polars = pytest.importorskip("polars")
    kinds = (
        polars.Enum(["nurse", "cook", "clerk"])
        if dtype == "Enum"
        else polars.Categorical
    )
    X = (
        people(90)[["income", "job"]]
        .replace({"job": "smith"}, "cook")
        .reset_index(drop=True)
    )
    y, frame = (
        (X["income"] > 3) * (X["job"] == "cook") * 1.0,
        X.astype({"job": "category"}),
    )
    model = XGBRegressor(n_estimators=5, max_depth=3, enable_categorical=True)
    model.fit(frame, y)
    given = polars.from_pandas(X).with_columns(polars.col("job").cast(kinds))
    try:
        model.predict(given)
    except ValueError:
        pytest.skip("later versions of XGBoost take an Enum alone")
    found, expected = (
        ShapleyExplainer(model).fit(table[:30]).explain(table[-3:])
        for table in (given, frame)
    )
    assert found.settings.closed_form == "trees"
    np.testing.assert_array_equal(found.values, expected.values)


def test_polars_columns_are_reordered_by_name():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": [1.0, 2.0], "b": [5.0, 3.0]})
    explainer = ShapleyExplainer(lambda X: 2 * X["a"].to_numpy()).fit(frame[:1])
    made = explainer.explain(frame.select("b", "a")[1:])
    assert made.values.tolist() == [[2.0, 0.0]]


def test_all_rows_of_the_background_are_used():
    """shap cuts it to 100 rows."""
    background = np.zeros((150, 1))
    background[149] = 150.0
    made = ShapleyExplainer(lambda X: X[:, 0]).fit(background).explain(np.zeros((1, 1)))
    assert made.base_values[0] == pytest.approx(1.0)
