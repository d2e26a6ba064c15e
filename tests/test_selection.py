"""ShapleyImportance: its numbers by hand, its rates by repetition, inside scikit-learn's tools."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.feature_selection import RFE, RFECV, SelectFromModel
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import (
    KFold,
    ShuffleSplit,
    TimeSeriesSplit,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier, XGBRegressor

from skshapley import ShapleyExplainer, ShapleyImportance
from skshapley._estimators._selection import _same, gains


def drawn(seed=0, n=120):
    """Five columns, the first two of use, the last a permuted copy of the first; and a target."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    X[:, 4] = rng.permutation(X[:, 0])
    return X, X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=n)


def test_classes_missing_from_a_fold_are_refused():
    X, _ = drawn(n=20)
    y = np.array(["rare"] + ["often", "seldom"] * 9 + ["seldom"])
    one = r"without the class 'rare' in its training rows; the class has 1 row"
    with (
        pytest.warns(UserWarning, match="least populated"),
        pytest.raises(ValueError, match=one),
    ):
        ShapleyImportance(LogisticRegression()).fit(X, y)
    with pytest.raises(
        ValueError,
        match=r"without the class 0 in its training rows; the class has 10 rows",
    ):
        ShapleyImportance(LogisticRegression(), cv=KFold(2)).fit(
            X, np.repeat([0, 1], 10)
        )


def test_gains_of_a_linear_model_by_hand():
    X, y = drawn()
    expected = np.empty(X.shape)
    for train, test in KFold(5).split(X):
        model = LinearRegression().fit(X[train], y[train])
        phi = model.coef_ * (X[test] - X[train].mean(axis=0))
        expected[test] = phi * (y[test] - model.predict(X[test]))[:, None] + phi**2
    found = ShapleyImportance(LinearRegression()).fit(X, y)
    means = expected.mean(axis=0)
    np.testing.assert_allclose(
        found.feature_importances_, np.maximum(means, 0), atol=1e-12
    )
    p = stats.ttest_1samp(expected, 0, alternative="greater").pvalue
    np.testing.assert_allclose(found.p_values_, p, rtol=1e-9)
    by = stats.false_discovery_control(p, method="by")
    assert (
        found.get_support().tolist()
        == (by <= 0.05).tolist()
        == [True] * 2 + [False] * 3
    )
    table = found.to_frame().loc[[f"x{j}" for j in range(5)]]
    np.testing.assert_allclose(table["importance"], means, atol=1e-12)
    np.testing.assert_allclose(table["p_adjusted"], by)
    np.testing.assert_array_equal(found.explanation_.data.to_numpy(), X)
    np.testing.assert_allclose(
        found.predict(X), LinearRegression().fit(X, y).predict(X)
    )
    assert found.score(X, y) == LinearRegression().fit(X, y).score(X, y)


def test_log_odds_of_a_classifier_by_hand():
    X, y = drawn()
    y = np.where(y > 0, "yes", "no")
    expected = np.empty(X.shape)
    folds = list(KFold(3).split(X))
    for train, test in folds:
        model = LogisticRegression().fit(X[train], y[train])
        phi = model.coef_ * (X[test] - X[train].mean(axis=0))
        odds = model.decision_function(X[test])[:, None] - phi
        expected[test] = phi * ((y[test] == "yes")[:, None] - 1 / (1 + np.exp(-odds)))
    found = ShapleyImportance(LogisticRegression(), cv=folds).fit(X, y)
    np.testing.assert_allclose(
        found.feature_importances_, np.maximum(expected.mean(axis=0), 0), atol=1e-12
    )
    assert found.explanation_.settings.closed_form is not None
    assert found.classes_.tolist() == ["no", "yes"]
    assert found.predict_proba(X).shape == (120, 2)


def test_counts_are_explained_by_their_predictions():
    """The logarithm of the prediction is exact, but its gains have other units."""
    X, _ = drawn()
    X = X[:, :2]
    y = np.random.default_rng(0).poisson(np.exp(X[:, 0]))
    expected = np.empty(X.shape)
    boosted = HistGradientBoostingRegressor(loss="poisson", max_iter=5)
    for train, test in KFold(3).split(X):
        model = clone(boosted).fit(X[train], y[train])
        first, second = (
            np.array([model.predict(mixed(x, X[train], j)).mean() for x in X[test]])
            for j in range(2)
        )
        both = model.predict(X[test])
        half = (both - model.predict(X[train]).mean()) / 2
        change = (first - second) / 2
        phi = np.column_stack([half + change, half - change])
        expected[test] = phi * (y[test] - both)[:, None] + phi**2
    importance = ShapleyImportance(boosted, cv=3, max_rows=10_000).fit(X, y)
    means = importance.to_frame()["importance"].loc[["x0", "x1"]]
    np.testing.assert_allclose(means, expected.mean(axis=0), rtol=1e-9)


def mixed(row, background, column):
    """The background rows, with one column of a row."""
    table = background.copy()
    table[:, column] = row[column]
    return table


@pytest.mark.parametrize(
    "model",
    [
        XGBClassifier(n_estimators=20, max_depth=2),
        RandomForestClassifier(20, max_depth=3, random_state=0),
        LogisticRegression(max_iter=500),
    ],
)
def test_several_classes(model):
    X, y = load_iris(return_X_y=True, as_frame=True)
    X["noise"] = np.random.default_rng(0).normal(size=len(X))
    found = ShapleyImportance(model, cv=3).fit(X, y)
    assert {"petal length (cm)", "petal width (cm)"} <= set(
        found.get_feature_names_out()
    )
    assert "noise" not in found.get_feature_names_out()
    assert found.explanation_.values.shape == (150, 5, 3)
    assert found.explanation_.settings.closed_form is not None


def test_noise_of_attributions_is_subtracted():
    """Wrong for 1 seed of 1e4: means of 40,000 gains have an error of .007."""
    rng = np.random.default_rng(0)
    phi, rest = rng.normal(size=(40_000, 1)), rng.normal(size=40_000)
    values = rng.normal(phi, 0.5)

    def found(values, errors):
        sure = ShapleyExplainer(lambda X: X[:, 0]).fit(phi[:2]).explain(phi)
        shown = dataclasses.replace(sure, values=values, standard_errors=errors)
        return gains(shown, _same, shown.predictions + rest, np.eye(1, dtype=bool))

    np.testing.assert_allclose(
        found(phi, None)[:, 0], phi[:, 0] ** 2 + phi[:, 0] * rest
    )
    noisy = found(values, np.full(phi.shape, 0.5)).mean()
    assert noisy == pytest.approx(found(phi, None).mean(), abs=0.03)
    assert found(values, None).mean() == pytest.approx(noisy + 0.25, abs=1e-9)


# --- false selections -----------------------------------------------------------------

MODELS = {
    "linear": LinearRegression(),
    "xgboost": XGBRegressor(n_estimators=20, max_depth=3, learning_rate=0.2, n_jobs=1),
}


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_useless_columns_are_selected_at_most_at_the_stated_rate(model):
    """500 runs, 3 useless columns in each: 1500 draws of chance .05 give 75 +- 8.5 or fewer.

    The bound is crossed by chance in 1 of 1000.
    """
    small = selected = 0
    for run in range(500):
        X, y = drawn(run, 100)
        found = ShapleyImportance(model).fit(X, y)
        small += (found.p_values_[2:] <= 0.05).sum()
        selected += found.get_support()[2:].sum()
    assert small <= 75 + 27
    assert selected <= small


def test_correlated_useless_columns_are_not_selected():
    """At most 2 of 10 tables, nominally a twentieth; the gains alone select in all ten."""
    false = useful = 0
    for run in range(10):
        rng = np.random.default_rng(run)
        useless = rng.normal(size=(100, 5))
        copies = useless + rng.normal(scale=0.2, size=useless.shape)
        X = np.column_stack([rng.normal(size=(100, 1)), useless, copies])
        y = X[:, 0] + rng.normal(size=100)
        support = ShapleyImportance(LinearRegression()).fit(X, y).get_support()
        useful += support[0]
        false += support[1:].any()
    assert useful == 10
    assert false <= 2


def test_weak_correlations_do_not_link_columns_of_many_rows():
    """At most 1 of 4 tables: a correlation of .08 is significant, and links all columns."""
    false = 0
    for run in range(4):
        rng = np.random.default_rng(run)
        useful = rng.normal(size=(5000, 1))
        useless = 0.08 * useful + rng.normal(size=(5000, 4))
        copies = useless + rng.normal(scale=0.2, size=useless.shape)
        y = useful[:, 0] + rng.normal(size=5000)
        X = np.column_stack([useful, useless, copies])
        false += ShapleyImportance(LinearRegression()).fit(X, y).get_support()[1:].any()
    assert false <= 1


def test_columns_that_correct_each_other_are_selected():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    X[:, 1] = 0.8 * X[:, 0] + 0.6 * X[:, 1]
    y = 0.8 * X[:, 0] - 0.6 * X[:, 1] + rng.normal(scale=0.5, size=200)
    found = ShapleyImportance(LinearRegression()).fit(X, y)
    assert found.get_support(indices=True).tolist() == [0, 1]


def test_frames_keep_their_columns_and_types():
    X, y = drawn()
    X = pd.DataFrame(
        X, columns=["a", "noise", "b", "c", "d"], index=np.arange(120)[::-1]
    )
    X["b"] = pd.Categorical(np.where(X["b"] > 0, "u", "v"))
    model = XGBRegressor(n_estimators=10, enable_categorical=True)
    found = ShapleyImportance(model, random_state=1).fit(X, y)
    assert found.explanation_.feature_names.tolist() == X.columns.tolist()
    assert found.explanation_.index.tolist() == X.index.tolist()
    kinds = found.explanation_.data.dtypes
    assert isinstance(kinds["b"], pd.CategoricalDtype)
    assert found.get_feature_names_out().tolist()[:1] == ["a"]
    assert found.transform(X).shape[0] == 120


def test_models_fitted_on_fewer_columns_are_refitted():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = LinearRegression().fit(X.iloc[:, 1:], y)
    found = ShapleyImportance(model, cv=2).fit(X, y)
    assert found.feature_names_in_.tolist() == X.columns.tolist()


def test_polars_frames():
    polars = pytest.importorskip("polars")
    X, y = drawn()
    frame = polars.DataFrame(X, schema=list("abcde"))
    expected = ShapleyImportance(LinearRegression(), random_state=0).fit(X, y)
    found = ShapleyImportance(LinearRegression(), random_state=0).fit(frame, y)
    np.testing.assert_allclose(
        found.feature_importances_, expected.feature_importances_
    )


# --- inside scikit-learn --------------------------------------------------------------


def test_works_in_pipelines_and_selectors():
    X, y = drawn()
    selector = ShapleyImportance(LinearRegression(), cv=3)
    pipeline = make_pipeline(StandardScaler(), selector, LinearRegression())
    assert cross_val_score(pipeline, X, y, cv=3).shape == (3,)
    chosen = SelectFromModel(clone(selector), max_features=2, threshold=-np.inf).fit(
        X, y
    )
    assert chosen.get_support(indices=True).tolist() == [0, 1]
    assert RFE(clone(selector), n_features_to_select=1).fit(X, y).ranking_[0] == 1
    assert RFECV(clone(selector), cv=3).fit(X, y).support_[:2].all()


def test_rows_in_no_fold_are_not_explained():
    X, y = drawn()
    found = ShapleyImportance(LinearRegression(), cv=TimeSeriesSplit(3)).fit(X, y)
    assert found.explanation_.data.to_numpy().tolist() == X[30:].tolist()
    with pytest.raises(ValueError, match="cv with folds that share rows"):
        ShapleyImportance(LinearRegression(), cv=ShuffleSplit(20, random_state=0)).fit(
            X, y
        )


@pytest.mark.parametrize("wrong", [{"alpha": 0}, {"n_jobs": 0}])
def test_invalid_parameters_are_refused(wrong):
    (name,) = wrong
    with pytest.raises(ValueError, match=f"ShapleyImportance takes {name} as"):
        ShapleyImportance(LinearRegression(), **wrong).fit(*drawn())
