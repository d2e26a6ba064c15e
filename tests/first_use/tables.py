"""Tables in the form of popular downloads, each with a fitted model."""

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
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
from sklearn.svm import SVR, LinearSVC

N = 120


def numbers(k=3):
    return pd.DataFrame(
        np.random.default_rng(k).normal(size=(N, k)), columns=list("abcd")[:k]
    )


X = numbers()
A, POSITIVE = X["a"].to_numpy(), X["a"].to_numpy() > 0


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
    columns = {
        f"Area {i} SqFt": np.where(rng.random(N) < 0.1, np.nan, 9.0 * i)
        for i in range(40)
    }
    columns |= {f"Cat_{i}": rng.choice(["Ex", "Gd", "TA", None], N) for i in range(40)}
    frame = pd.DataFrame(columns).assign(**{"Lot Area": rng.gamma(2, 4000, N)})
    steps = make_column_transformer(
        (
            make_pipeline(SimpleImputer(), StandardScaler()),
            make_column_selector("Area"),
        ),
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
    return lightgbm.LGBMRegressor(n_estimators=9, verbose=-1).fit(
        frame, frame["carat"]
    ), frame


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
    frame = pd.DataFrame(
        {f"c{i}": rng.choice(list("abcdefgh")[: i + 1], N) for i in range(8)}
    )
    return make_pipeline(OrdinalEncoder(), CategoricalNB()).fit(
        frame, frame["c3"] == "a"
    ), frame


def bins_and_periods(rng):
    frame = pd.DataFrame(
        {
            "month": pd.period_range("2000", periods=N, freq="M"),
            "bin": pd.cut(rng.normal(size=N), 5),
            "x": rng.normal(size=N),
        }
    )

    def model(X):
        return X["x"] * X["month"].dt.month + X["bin"].map(
            lambda part: part.mid
        ).astype(float)

    return model, frame


def two_levels_of_rows(rng):
    index = pd.MultiIndex.from_product(
        [range(N // 2), ["u", "v"]], names=["id", "part"]
    )
    frame = pd.DataFrame(rng.normal(size=(N, 3)), index, list("abc"))
    return KNeighborsRegressor().fit(frame, frame["a"]), frame


def one_name_for_all_rows(rng):
    frame = pd.DataFrame(rng.normal(size=(N, 3)), [0] * N, list("abc"))
    return RandomForestRegressor(5, random_state=0).fit(frame, frame["a"]), frame


def constants(rng):
    frame = pd.DataFrame({"a": rng.normal(size=N), "one": 1, "word": "same"})
    steps = make_column_transformer(
        (OneHotEncoder(), ["word"]), remainder="passthrough"
    )
    return make_pipeline(steps, KNeighborsRegressor()).fit(frame, frame["a"]), frame


def polars_categories(rng):
    polars = pytest.importorskip("polars")
    numbers = [None if value < -1 else value for value in rng.normal(size=N).tolist()]
    words = polars.Series(rng.choice(["x", "y", "z"], N)).cast(polars.Categorical)
    frame = polars.DataFrame({"a": numbers, "c": words, "ok": rng.random(N) < 0.5})
    steps = make_column_transformer((OneHotEncoder(), ["c"]), remainder=SimpleImputer())
    return make_pipeline(steps, KNeighborsRegressor()).fit(
        frame, rng.normal(size=N)
    ), frame


def arrow_columns(rng):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"a": rng.normal(size=N), "b": rng.choice(["u", "v"], N)})
    frame = frame.astype({"a": "double[pyarrow]", "b": "string[pyarrow]"})
    steps = make_column_transformer((OneHotEncoder(), ["b"]), remainder="passthrough")
    model = make_pipeline(steps, KNeighborsRegressor())
    return model.fit(frame, frame["a"].to_numpy(dtype=float)), frame


def booster_with_categories(rng):
    lightgbm = pytest.importorskip("lightgbm")
    frame = pd.DataFrame(
        {"x": rng.normal(size=N), "c": pd.Categorical(rng.choice(list("abc"), N))}
    )
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


def encoded_targets(rng):
    table = pd.DataFrame({"c": rng.choice(list("abc"), N), "x": rng.normal(size=N)})
    steps = make_column_transformer((TargetEncoder(), ["c"]), remainder="passthrough")
    return make_pipeline(steps, Ridge()).fit(
        table, table["x"] + (table["c"] == "a")
    ), table


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

    def stated(Z):
        return (
            Z["i"].fillna(0).astype(float)
            + Z["d"].dt.month
            + (Z["s"] == "x").astype(float)
        )

    return stated, table


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
    adult, ames, diamonds, penguins, bike, mushroom, bins_and_periods, two_levels_of_rows,
    one_name_for_all_rows, constants, polars_categories, arrow_columns, booster_with_categories,
    calibrated, half_precision, columns_first_and_not_to_be_written, objects,
    encoded_targets, numbered_columns, columns_called_as_ours, columns_of_markup,
    columns_of_two_levels, one_column, one_row_behind, nothing_varies, lists_of_lists,
    infinity_behind_a_curve, infinity_in_trees, arrow_with_gaps, unused_levels,
    hours_of_a_time_zone, flags_with_gaps, halves_by_column_not_to_be_written,
    days_and_enums_of_polars, a_table_of_arrow, sparse_columns_of_a_frame,
]  # fmt: skip
