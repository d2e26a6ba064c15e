"""Tables and models that people bring besides: wrappers, encoders, odd columns, indices, arrays."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import (
    HistGradientBoostingRegressor,
    RandomForestRegressor,
    StackingClassifier,
)
from sklearn.feature_selection import SelectKBest
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.multiclass import OneVsOneClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier, RegressorChain
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    PolynomialFeatures,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.svm import SVR, LinearSVC

from skshapley import Explanation, ShapleyExplainer
from skshapley.plots import BeeswarmDisplay, WaterfallDisplay

pytestmark = pytest.mark.slow
N = 120


def numbers(k=3):
    return pd.DataFrame(np.random.default_rng(k).normal(size=(N, k)), columns=list("abcd")[:k])


X = numbers()
A, POSITIVE = X["a"].to_numpy(), X["a"].to_numpy() > 0
LEVELS = np.array(["lo", "mid", "hi"])[np.digitize(A, [-0.5, 0.5])]
TWO = np.column_stack([POSITIVE, np.digitize(X["b"], [0, 1])])
SOME = np.where(np.arange(N) % 3, POSITIVE.astype(int), -1)

# name: (model, target)
MODELS = {
    "tuned threshold": (TunedThresholdClassifierCV(LogisticRegression(), cv=3), POSITIVE),
    "fixed threshold": (FixedThresholdClassifier(GaussianNB(), threshold=0.3), POSITIVE),
    "targets of two and three classes": (MultiOutputClassifier(LogisticRegression()), TWO),
    "chain of classes": (ClassifierChain(LogisticRegression()), TWO > 0),
    "chain of numbers": (RegressorChain(Ridge()), X[["a", "b"]].to_numpy()),
    "stack": (StackingClassifier([("a", GaussianNB()), ("b", LinearSVC())], cv=3), LEVELS),
    "calibrated behind a scaler": (
        make_pipeline(StandardScaler(), CalibratedClassifierCV(LinearSVC(), cv=3)), POSITIVE,
    ),
    "pairs of classes": (OneVsOneClassifier(LinearSVC()), LEVELS),
    "half of the labels": (SelfTrainingClassifier(LogisticRegression()), SOME),
    "process of classes": (GaussianProcessClassifier(), POSITIVE),
    "splines": (make_pipeline(SplineTransformer(), Ridge()), A**2),
    "quantiles": (make_pipeline(QuantileTransformer(n_quantiles=20), KNeighborsRegressor()), A),
    "bins": (
        make_pipeline(
            KBinsDiscretizer(4, strategy="uniform"), LogisticRegression()
        ),
        POSITIVE,
    ),
    "products": (make_pipeline(PolynomialFeatures(2), Ridge()), A**2),
    "selected": (
        make_pipeline(StandardScaler(), SelectKBest(k=2), LogisticRegression()).set_output(
            transform="pandas"
        ),
        POSITIVE,
    ),
    "union": (make_pipeline(make_union(PCA(2), FunctionTransformer(np.square)), Lasso(0.01)), A),
    "a constant": (DummyRegressor(), A),
    "targets in a column": (KNeighborsRegressor(), X[["a"]]),
    "labels of categories": (LogisticRegression(), pd.Categorical(LEVELS)),
}  # fmt: skip


def encoded_targets(rng):
    table = pd.DataFrame({"c": rng.choice(list("abc"), N), "x": rng.normal(size=N)})
    steps = make_column_transformer((TargetEncoder(), ["c"]), remainder="passthrough")
    return make_pipeline(steps, Ridge()).fit(table, table["x"] + (table["c"] == "a")), table


def numbered_columns(rng):
    table = pd.DataFrame(rng.normal(size=(N, 3)))
    return RandomForestRegressor(5, random_state=0).fit(table, table[0]), table


def columns_called_as_ours(rng):
    table = numbers(4).set_axis(["values", "base_values", "data", "row"], axis=1)
    table.index.name = "row"
    return RandomForestRegressor(5, random_state=0).fit(table, table["row"]), table


def columns_of_markup(rng):
    table = numbers(4).set_axis(["<b>x</b>", "$y_1$", "", "\n"], axis=1)
    return Ridge().fit(table, table[""]), table


def columns_of_two_levels(rng):
    table = numbers(4)
    table.columns = pd.MultiIndex.from_product([["u", "v"], ["p", "q"]])
    return KNeighborsRegressor().fit(table.to_numpy(), rng.normal(size=N)), table


def one_column(rng):
    table = pd.DataFrame({"city": rng.choice(["Oslo", "Rome"], N)})
    model = make_pipeline(OneHotEncoder(), LogisticRegression())
    return model.fit(table, table["city"] == "Oslo"), table


def one_row_behind(rng):
    return KNeighborsRegressor().fit(X, A), X.iloc[[0]]


def nothing_varies(rng):
    return KNeighborsRegressor().fit(np.ones((N, 3)), A), np.ones((N, 3))


def lists_of_lists(rng):
    table = X.to_numpy().tolist()
    return KNeighborsRegressor().fit(table, A), table


def infinity_behind_a_curve(rng):
    table = X.to_numpy(copy=True)
    table[0, 0], table[1, 1] = np.inf, -np.inf
    return make_pipeline(FunctionTransformer(np.tanh), Ridge()).fit(table, A), table


def infinity_in_trees(rng):
    table = X.to_numpy(copy=True)
    table[0, 0] = np.inf
    return HistGradientBoostingRegressor(max_iter=5).fit(X.to_numpy(), A), table


def arrow_with_gaps(rng):
    pytest.importorskip("pyarrow")
    whole = [None if i % 7 == 0 else i for i in range(N)]
    when = pd.array(pd.date_range("2020", periods=N), "timestamp[ns][pyarrow]")
    table = pd.DataFrame({"i": pd.array(whole, "int64[pyarrow]"), "d": when})
    table["s"] = rng.choice(np.array(["x", "y", None], dtype=object), N)

    def told(Z):
        return Z["i"].fillna(0).astype(float) + Z["d"].dt.month + (Z["s"] == "x").astype(float)

    return told, table


def unused_levels(rng):
    words = pd.Categorical(rng.choice(list("ab"), N), list("abcd"))
    table = pd.DataFrame({"c": words, "x": rng.normal(size=N)})
    model = HistGradientBoostingRegressor(max_iter=5, categorical_features="from_dtype")
    return model.fit(table, table["x"] + (table["c"] == "a")), table


def hours_of_a_time_zone(rng):
    when = pd.date_range("2024", periods=N, freq="h", tz="Europe/Oslo")
    table = pd.DataFrame({"t": when, "x": rng.normal(size=N)})
    return (lambda Z: Z["t"].dt.hour * Z["x"]), table


def flags_with_gaps(rng):
    flags = rng.choice(np.array([True, False, None], dtype=object), N)
    table = pd.DataFrame({"b": flags, "x": rng.normal(size=N)})
    steps = make_column_transformer((OneHotEncoder(), ["b"]), remainder=SimpleImputer())
    return make_pipeline(steps, SVR()).fit(table, table["x"]), table


def halves_by_column_not_to_be_written(rng):
    table = np.asfortranarray(X.to_numpy().astype("float16"))
    table.flags.writeable = False
    return RandomForestRegressor(5, random_state=0).fit(table, A), table


def days_and_enums_of_polars(rng):
    polars = pytest.importorskip("polars")
    first, last = polars.date(2020, 1, 1), polars.date(2020, 4, 29)
    words = polars.Series(rng.choice(["u", "v"], N)).cast(polars.Enum(["u", "v", "w"]))
    days = polars.date_range(first, last, eager=True)
    table = polars.DataFrame({"d": days, "e": words, "x": rng.normal(size=N)})
    return (lambda Z: Z["d"].dt.month() + (Z["e"] == "u") * Z["x"]), table


def a_table_of_arrow(rng):
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table({"a": rng.normal(size=N), "b": rng.normal(size=N)})
    return (lambda Z: Z["a"].to_numpy() * Z["b"].to_numpy()), table


def sparse_columns_of_a_frame(rng):
    dense = np.where(rng.random((N, 4)) < 0.3, 1.0, 0.0)
    table = pd.DataFrame(dense, columns=list("abcd")).astype(pd.SparseDtype(float, 0.0))
    return Ridge().fit(table, A), table


TABLES = [
    encoded_targets, numbered_columns, columns_called_as_ours, columns_of_markup,
    columns_of_two_levels, one_column, one_row_behind, nothing_varies, lists_of_lists,
    infinity_behind_a_curve, infinity_in_trees, arrow_with_gaps, unused_levels,
    hours_of_a_time_zone, flags_with_gaps, halves_by_column_not_to_be_written,
    days_and_enums_of_polars, a_table_of_arrow, sparse_columns_of_a_frame,
]  # fmt: skip


def all_a_user_does(model, table, folder):
    """Explain three rows, look at them, and keep them in each way."""
    made = ShapleyExplainer(model, random_state=0).fit(table).explain(table[:3])
    total = made.base_values + made.values.sum(axis=1)
    np.testing.assert_allclose(total, made.predictions, rtol=1e-8, atol=1e-8)
    assert made.settings.method != "method unknown"
    one = made if made.values.ndim == 2 else made[:, :, 0]
    BeeswarmDisplay.from_explanation(one)
    WaterfallDisplay.from_explanation(one, row=0)
    plt.close("all")
    assert made._repr_html_()
    made.save(folder / "phi")
    there = Explanation.load(folder / "phi")
    np.testing.assert_array_equal(there.values, made.values)
    pd.testing.assert_frame_equal(there.data, made.data)
    k = 1 if made.output_names is None else len(made.output_names)
    assert len(pd.read_parquet(folder / "phi")) == k * len(made)
    made.report(folder / "report.html")


@pytest.mark.parametrize("name", MODELS)
def test_a_model_that_somebody_brings(name, tmp_path):
    model, target = MODELS[name]
    all_a_user_does(model.fit(X, target), X, tmp_path)


@pytest.mark.parametrize("make", TABLES, ids=lambda make: make.__name__)
def test_a_table_that_somebody_brings(make, tmp_path):
    all_a_user_does(*make(np.random.default_rng(0)), tmp_path)
