"""Tables in the shapes of those that people download: all that a first user does with each."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import CategoricalNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import LinearSVC

from skshapley import Explanation, ShapleyExplainer
from skshapley.plots import BeeswarmDisplay, WaterfallDisplay

pytestmark = pytest.mark.slow
N = 120


def adult(rng):
    frame = pd.DataFrame(
        {
            "age": rng.integers(17, 90, N),
            "workclass": rng.choice(["Private", "?", None], N),
            "education-num": rng.integers(1, 16, N),
            "capital-gain": np.where(rng.random(N) < 0.9, 0, rng.integers(0, 99999, N)),
        }
    )
    words = TargetEncoder(), ["workclass"]
    model = make_pipeline(
        make_column_transformer(words, remainder=StandardScaler()), LogisticRegression()
    )
    return model.fit(frame, np.where(frame["age"] > 50, ">50K", "<=50K")), frame


def ames(rng):
    columns = {f"Area {i} SqFt": np.where(rng.random(N) < 0.1, np.nan, 9.0 * i) for i in range(40)}
    columns |= {f"Cat_{i}": rng.choice(["Ex", "Gd", "TA", None], N) for i in range(40)}
    frame = pd.DataFrame(columns).assign(**{"Lot Area": rng.gamma(2, 4000, N)})
    steps = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), make_column_selector("Area")),
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector("Cat")),
    )
    return make_pipeline(steps, Ridge()).fit(frame, rng.normal(size=N)), frame


def diamonds(rng):
    lightgbm = pytest.importorskip("lightgbm")
    cuts = ["Fair", "Good", "Ideal"]
    frame = pd.DataFrame(
        {
            "carat": rng.gamma(2, 0.4, N),
            "cut": pd.Categorical(rng.choice(cuts, N), cuts, ordered=True),
            "depth": rng.normal(61, 1, N).astype("float32"),
        }
    )
    return lightgbm.LGBMRegressor(n_estimators=9, verbose=-1).fit(frame, frame["carat"]), frame


def penguins(rng):
    def gaps(values):
        return np.where(rng.random(N) < 0.1, None, values)

    frame = pd.DataFrame(
        {
            "bill": pd.array(gaps(rng.normal(40, 5, N)), "Float64"),
            "flipper": pd.array(gaps(rng.integers(170, 230, N)), "Int64"),
            "male": pd.array(gaps(rng.random(N) < 0.5), "boolean"),
            "island": pd.array(rng.choice(["Biscoe", "Dream"], N), "string"),
        }
    )
    steps = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["island"]), remainder="passthrough"
    ).set_output(transform="pandas")
    model = make_pipeline(steps, HistGradientBoostingClassifier(max_iter=5))
    return model.fit(frame, rng.choice(["Adelie", "Gentoo", "Chinstrap"], N)), frame


def bike(rng):
    frame = pd.DataFrame(
        {
            "when": pd.date_range("2011-01-01", periods=N, freq="6h"),
            "lasts": pd.to_timedelta(rng.integers(1, 999, N), unit="min"),
            "holiday": rng.random(N) < 0.1,
        }
    )

    def parts(X):
        return np.column_stack([X["when"].dt.hour, X["lasts"].dt.total_seconds()])

    steps = make_column_transformer(
        (FunctionTransformer(parts), ["when", "lasts"]), remainder="passthrough"
    )
    model = make_pipeline(steps, RandomForestRegressor(9, random_state=0))
    return model.fit(frame, frame["when"].dt.hour + rng.normal(size=N)), frame


def mushroom(rng):
    frame = pd.DataFrame({f"c{i}": rng.choice(list("abcdefgh")[: i + 1], N) for i in range(8)})
    return make_pipeline(OrdinalEncoder(), CategoricalNB()).fit(frame, frame["c3"] == "a"), frame


def bins_and_periods(rng):
    frame = pd.DataFrame(
        {
            "month": pd.period_range("2000", periods=N, freq="M"),
            "bin": pd.cut(rng.normal(size=N), 5),
            "x": rng.normal(size=N),
        }
    )

    def model(X):
        return X["x"] * X["month"].dt.month + X["bin"].map(lambda part: part.mid).astype(float)

    return model, frame


def two_levels_of_rows(rng):
    index = pd.MultiIndex.from_product([range(N // 2), ["u", "v"]], names=["id", "part"])
    frame = pd.DataFrame(rng.normal(size=(N, 3)), index, list("abc"))
    return KNeighborsRegressor().fit(frame, frame["a"]), frame


def one_name_for_all_rows(rng):
    frame = pd.DataFrame(rng.normal(size=(N, 3)), [0] * N, list("abc"))
    return RandomForestRegressor(5, random_state=0).fit(frame, frame["a"]), frame


def constants(rng):
    frame = pd.DataFrame({"a": rng.normal(size=N), "one": 1, "word": "same"})
    steps = make_column_transformer((OneHotEncoder(), ["word"]), remainder="passthrough")
    return make_pipeline(steps, KNeighborsRegressor()).fit(frame, frame["a"]), frame


def polars_categories(rng):
    polars = pytest.importorskip("polars")
    numbers = [None if value < -1 else value for value in rng.normal(size=N).tolist()]
    words = polars.Series(rng.choice(["x", "y", "z"], N)).cast(polars.Categorical)
    frame = polars.DataFrame({"a": numbers, "c": words, "ok": rng.random(N) < 0.5})
    steps = make_column_transformer((OneHotEncoder(), ["c"]), remainder=SimpleImputer())
    return make_pipeline(steps, KNeighborsRegressor()).fit(frame, rng.normal(size=N)), frame


def arrow_columns(rng):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"a": rng.normal(size=N), "b": rng.choice(["u", "v"], N)})
    frame = frame.astype({"a": "double[pyarrow]", "b": "string[pyarrow]"})
    steps = make_column_transformer((OneHotEncoder(), ["b"]), remainder="passthrough")
    model = make_pipeline(steps, KNeighborsRegressor())
    return model.fit(frame, frame["a"].to_numpy(dtype=float)), frame


def booster_with_categories(rng):
    lightgbm = pytest.importorskip("lightgbm")
    frame = pd.DataFrame({"x": rng.normal(size=N), "c": pd.Categorical(rng.choice(list("abc"), N))})
    data = lightgbm.Dataset(frame, rng.integers(0, 3, N))
    options = {"objective": "multiclass", "num_class": 3, "verbose": -1}
    return lightgbm.train(options, data, 5), frame


def calibrated(rng):
    X = rng.normal(size=(N, 4))
    return CalibratedClassifierCV(LinearSVC(), cv=3).fit(X, X[:, 0] > 0), X


def half_precision(rng):
    X = rng.normal(size=(N, 4)).astype("float16")
    return KNeighborsRegressor().fit(X, X[:, 0]), X


def columns_first_and_not_to_be_written(rng):
    X = np.asfortranarray(rng.integers(-9, 9, (N, 4)).astype("int8"))
    X.flags.writeable = False
    return KNeighborsClassifier().fit(X, X[:, 0] > 0), X


def objects(rng):
    X = np.empty((N, 2), dtype=object)
    X[:, 0], X[:, 1] = rng.normal(size=N), rng.choice(["u", "v"], N)
    steps = make_column_transformer((OneHotEncoder(), [1]), remainder="passthrough")
    return make_pipeline(steps, KNeighborsRegressor()).fit(X, X[:, 0].astype(float)), X


TABLES = [
    adult, ames, diamonds, penguins, bike, mushroom, bins_and_periods, two_levels_of_rows,
    one_name_for_all_rows, constants, polars_categories, arrow_columns, booster_with_categories,
    calibrated, half_precision, columns_first_and_not_to_be_written, objects,
]  # fmt: skip


@pytest.mark.parametrize("make", TABLES, ids=lambda make: make.__name__)
def test_a_first_user_gets_through(make, tmp_path):
    model, X = make(np.random.default_rng(0))
    made = ShapleyExplainer(model, random_state=0).fit(X).explain(X[:3])
    total = made.base_values + made.values.sum(axis=1)
    np.testing.assert_allclose(total, made.predictions, rtol=1e-8, atol=1e-8)
    assert made.settings.method != "method unknown"
    one = made if made.values.ndim == 2 else made[:, :, 0]
    BeeswarmDisplay.from_explanation(one)
    WaterfallDisplay.from_explanation(one, row=0)
    plt.close("all")
    assert len(made.to_frame()) >= 3
    made.save(tmp_path / "phi")
    there = Explanation.load(tmp_path / "phi")
    np.testing.assert_array_equal(there.values, made.values)
    pd.testing.assert_frame_equal(there.data, made.data)
    made.report(tmp_path / "report.html")
