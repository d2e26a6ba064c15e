"""Errors where tables, models and names of other libraries meet: each has the remedy."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skshapley import ShapleyExplainer, TreeExplainer
from skshapley.batches import explain_batches

RNG = np.random.default_rng(0)
N = 60
X = pd.DataFrame(
    {
        "age": RNG.normal(50, 10, N),
        "income": RNG.normal(size=N),
        "city": RNG.choice(["Bern", "Chur"], N),
    }
)
Y = (X["age"] > 50).astype(int)
NUMBERS = X[["age", "income"]]


@pytest.fixture(scope="module")
def pipeline():
    columns = make_column_transformer(
        (StandardScaler(), ["age", "income"]), (OneHotEncoder(), ["city"])
    )
    return make_pipeline(columns, LogisticRegression()).fit(X, Y)


@pytest.fixture(scope="module")
def explainer():
    return ShapleyExplainer(LinearRegression().fit(NUMBERS, Y)).fit(NUMBERS)


def refused(call, *parts, error=ValueError):
    """Check that a call is refused with the given parts in its one message."""
    with pytest.raises(error) as caught:
        call()
    for part in parts:
        assert part in str(caught.value)


def test_missing_values_behind_a_pipeline_have_the_name_of_the_users_column(pipeline):
    gap = X[:3].assign(age=[40.0, np.nan, 60.0])
    explain = ShapleyExplainer(pipeline).fit(X).explain
    refused(lambda: explain(gap), "'age', row 1", "impute")
    refused(lambda: ShapleyExplainer(pipeline).fit(gap), "background", "'age', row 1")


def test_unknown_categories_have_the_name_of_the_users_column(pipeline):
    strange = X[:3].assign(city=["Bern", "Chur", "Rome"])
    explain = ShapleyExplainer(pipeline).fit(X).explain
    refused(lambda: explain(strange), "'Rome' in 'city', row 2", "handle_unknown")


def test_frames_of_another_library(explainer):
    polars = pytest.importorskip("polars")
    numbers = polars.DataFrame(NUMBERS.to_dict("list"))
    refused(
        lambda: explainer.explain(numbers),
        "polars.DataFrame",
        "pandas.DataFrame",
        ": X.to_pandas()",
        error=TypeError,
    )
    other = ShapleyExplainer(lambda Z: Z["age"].to_numpy()).fit(numbers)
    call = ": polars.from_pandas(X)"
    refused(lambda: other.explain(NUMBERS), call, error=TypeError)


@pytest.mark.parametrize("kind", ["frame", "lazy", "arrow"])
def test_batches_of_another_library(explainer, kind, tmp_path):
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    table = polars.DataFrame(NUMBERS.to_dict("list"))
    source = {
        "frame": table,
        "lazy": table.lazy(),
        "arrow": pyarrow.table(NUMBERS.to_dict("list")),
    }[kind]
    done = explain_batches(explainer, source, tmp_path / "out", verbose=False).read()
    expected = explainer.explain(NUMBERS).values
    np.testing.assert_allclose(done.values, expected, atol=1e-12)


def test_batches_of_pandas_for_a_background_of_polars(tmp_path):
    polars = pytest.importorskip("polars")
    table = polars.DataFrame(NUMBERS.to_dict("list"))
    explainer = ShapleyExplainer(lambda Z: Z["age"].to_numpy()).fit(table)
    done = explain_batches(explainer, NUMBERS, tmp_path / "out", verbose=False).read()
    np.testing.assert_allclose(done.values, explainer.explain(table).values)


def test_a_function_of_arrays_that_gets_a_frame():
    explainer = ShapleyExplainer(lambda Z: Z[:, 0])
    refused(lambda: explainer.fit(NUMBERS), "X.to_numpy()", error=TypeError)
    values = explainer.fit(NUMBERS.to_numpy()).explain(NUMBERS.to_numpy()[:2]).values
    assert (values[:, 0] != 0).all()


def test_an_error_of_a_function_itself_is_not_hidden():
    def broken(Z):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        ShapleyExplainer(broken).fit(NUMBERS)


class Survival(BaseEstimator):
    """A fitted model without attributes that end in an underscore."""

    def fit(self, X):
        return self

    def predict_partial_hazard(self, X):
        return np.asarray(X).sum(axis=1)


def test_a_model_without_predict_is_not_called_unfitted():
    with pytest.raises(ValueError, match="has no predict") as caught:
        ShapleyExplainer(Survival()).fit(NUMBERS)
    call = re.search(r"response_method=(lambda .*)\.$", str(caught.value))[1]
    explainer = ShapleyExplainer(Survival(), response_method=eval(call))
    assert explainer.fit(NUMBERS).explain(NUMBERS[:2]).shape == (2, 2)


class Series(BaseEstimator):
    """A model that states another number of columns than it takes."""

    n_features_in_ = 1

    def predict(self, X):
        return np.asarray(X).sum(axis=1)


def test_a_wrong_number_of_columns_is_tried():
    rows = NUMBERS.to_numpy()
    explanation = ShapleyExplainer(Series()).fit(rows).explain(rows[:2])
    np.testing.assert_allclose(explanation.values, rows[:2] - rows.mean(axis=0))
    honest = LinearRegression().fit(rows, Y)
    refused(lambda: ShapleyExplainer(honest).fit(rows[:, :1]), "fitted on 2")


def test_calls_of_other_libraries(explainer):
    refused(
        lambda: explainer.explain(NUMBERS, Y),
        "ShapleyExplainer.explain(X)",
        error=TypeError,
    )
    call = "ShapleyExplainer(model).fit(X_train).explain(X)"
    refused(lambda: ShapleyExplainer().fit(NUMBERS), call, error=TypeError)


@pytest.mark.parametrize(
    ("sampler", "remedy"),
    [
        ("tree", "leave it out"),
        ("deep", "leave it out"),
        ("permutation", "did you mean 'antithetic'"),
        ("sampling", "did you mean 'monte-carlo'"),
    ],
)
def test_samplers_of_other_libraries(sampler, remedy):
    model = LinearRegression().fit(NUMBERS, Y)
    refused(lambda: ShapleyExplainer(model, sampler=sampler).fit(NUMBERS), remedy)


def test_misspelt_columns(explainer):
    explanation = explainer.explain(NUMBERS)
    meant = "did you mean 'income'"
    refused(lambda: explanation.plot.dependence("incme"), meant)
    groups = {"all": ["age", "incme"]}
    model = explainer.estimator
    refused(lambda: ShapleyExplainer(model, groups=groups).fit(NUMBERS), meant)


@pytest.mark.parametrize("as_frame", [True, False])
def test_a_booster_is_read_as_tree_explainer_reads_it(as_frame):
    xgboost = pytest.importorskip("xgboost")
    rows = NUMBERS if as_frame else NUMBERS.to_numpy()
    data = xgboost.DMatrix(rows, Y)
    booster = xgboost.train({"objective": "binary:logistic"}, data, 5)
    expected = TreeExplainer(booster).fit(rows).explain(rows[:3]).values
    explainer = ShapleyExplainer(booster, response_method="log_odds").fit(rows)
    explanation = explainer.explain(rows[:3])
    assert explanation.settings.method == "exact, read from trees"
    np.testing.assert_allclose(explanation.values, expected, rtol=1e-5, atol=1e-6)
    probability = ShapleyExplainer(booster, verbose=False).fit(rows).explain(rows[:3])
    np.testing.assert_allclose(probability.predictions, booster.predict(data)[:3])
    regression = xgboost.train({}, data, 5)
    bad = ShapleyExplainer(regression, response_method="log_odds")
    refused(lambda: bad.fit(rows), "no predict_proba")
