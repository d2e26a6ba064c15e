"""Converted trees give the predictions of the model, at thresholds too."""

import pickle
from dataclasses import replace

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from numpy.lib.recfunctions import rename_fields
from sklearn.ensemble import (
    AdaBoostRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.linear_model import LinearRegression
from sklearn.multioutput import MultiOutputRegressor

from skshapley.exceptions import UnreadableModelError
from skshapley.trees import read_trees

from .conftest import RECIPES, lgb, make_data, tree_values, xgb


def our_response(trees, X):
    """The sum of the trees."""
    return tree_values(trees).predict(trees.to_matrix(X))


def assert_reads(trees, X):
    theirs = trees.raw_response(X)
    # XGBoost adds its leaves in float32.
    tolerance = 1e-6 if trees.strict else 1e-13
    scale = np.abs(trees.value).sum(axis=0).max() ** 0.5 + np.abs(theirs).max()
    np.testing.assert_allclose(
        our_response(trees, X), theirs, rtol=0, atol=tolerance * scale
    )


def rows_at_thresholds(trees, X, seed=1, n=3000):
    """Return rows at thresholds and at their neighbours, in float64 and float32."""
    rng = np.random.default_rng(seed)
    rows = X[rng.integers(0, len(X), n)].copy()
    for feature in range(X.shape[1]):
        asked = trees.threshold[
            (trees.feature == feature) & np.isfinite(trees.threshold)
        ]
        if not len(asked):
            continue
        at = rng.choice(asked, n)
        low, high = np.float32(-np.inf), np.float32(np.inf)
        single = at.astype(np.float32)
        near = np.stack(
            [
                at,
                np.nextafter(at, -np.inf),
                np.nextafter(at, np.inf),
                np.nextafter(single, low),
                np.nextafter(single, high),
                (at + np.nextafter(single, high)) / 2,
            ]
        )
        chosen = near[rng.integers(0, len(near), n), np.arange(n)]
        keep = np.isnan(rows[:, feature]) | (rng.random(n) < 0.3)
        rows[:, feature] = np.where(keep, rows[:, feature], chosen)
    return rows


@pytest.mark.parametrize("name", RECIPES)
def test_trees_predict_like_the_library(fitted, name):
    model, X = fitted(name)
    trees = read_trees(model)
    assert_reads(trees, X)
    assert_reads(trees, rows_at_thresholds(trees, X))


@pytest.mark.parametrize("name", ["xgboost", "random forest"])
def test_threshold_rows_detect_wrong_comparisons(fitted, name):
    """The rows above distinguish < from <=, and float32 from float64."""
    model, X = fitted(name)
    trees = read_trees(model)
    rows = rows_at_thresholds(trees, X)
    for wrong in (
        replace(trees, strict=not trees.strict),
        replace(trees, single_precision=False),
    ):
        assert np.abs(our_response(wrong, rows) - trees.raw_response(rows)).max() > 1e-3


CATEGORICAL = [
    "xgboost, categories",
    "xgboost, one-hot categories, missing",
    "lightgbm, categories",
]


@pytest.mark.parametrize("name", CATEGORICAL)
@pytest.mark.parametrize("value", [-7.0, -1.0, 2.5, 11.0, 12.0, 500.0, 1e6, np.nan])
def test_unknown_categories_follow_the_library(fitted, name, value):
    model, X = fitted(name)
    rows = X.copy()
    rows[:, 3] = value
    assert_reads(read_trees(model), rows)


def test_lightgbm_truncates_fractional_categories_to_zero(fitted):
    model, X = fitted("lightgbm, categories")
    rows = X.copy()
    rows[:, 3] = -0.5
    assert_reads(read_trees(model), rows)


def test_unknown_category_is_missing_for_hist_gradient_boosting(fitted):
    model, X = fitted("hist gradient boosting, categories")
    rows = X.copy()
    rows[::2, 3] = 77.0
    assert_reads(read_trees(model), rows)


@pytest.mark.parametrize(
    "name", ["lightgbm, zero as missing", "lightgbm, missing", "lightgbm"]
)
def test_lightgbm_treats_tiny_numbers_as_zero(fitted, name):
    model, X = fitted(name)
    zero = float(np.float32(1e-35))
    for value in (0.0, -0.0, zero, -zero, np.nextafter(zero, 1), 1e-30, np.nan):
        rows = X.copy()
        rows[:, 2] = value
        assert_reads(read_trees(model), rows)


@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("name", ["lightgbm", "hist gradient boosting"])
def test_infinite_numbers(fitted, name, value):
    model, X = fitted(name)
    rows = X.copy()
    rows[::3, 0] = value
    assert_reads(read_trees(model), rows)


def make_frame():
    X, y = make_data(missing=True, categorical=True)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame["d"] = pd.Categorical.from_codes(X[:, 3].astype(int), list("lkjihgfedcba"))
    frame["f"] = pd.Categorical(X[:, 5].astype(int) * 10)
    frame["b"] = frame["b"].astype("Float64")
    return frame, y


@pytest.mark.parametrize(
    "model",
    [
        xgb(max_depth=5, enable_categorical=True),
        lgb(max_cat_to_onehot=2),
        HistGradientBoostingRegressor(max_iter=12, categorical_features="from_dtype"),
    ],
    ids=["xgboost", "lightgbm", "hist gradient boosting"],
)
def test_frames_with_categories(model):
    frame, y = make_frame()
    if isinstance(model, HistGradientBoostingRegressor):
        frame["b"] = frame["b"].astype(float)
    trees = read_trees(model.fit(frame, y))
    assert trees.category_splits
    assert_reads(trees, frame)
    other = frame.iloc[::-1].copy()
    # The same categories in another order, one that the model has not seen, and a
    # missing one.
    values = other["d"].astype(object)
    values.iloc[3] = None
    other["d"] = pd.Categorical(values, categories=[*"abcdefghijkl"])
    assert_reads(trees, other)
    values.iloc[5] = "new"
    other["d"] = pd.Categorical(values, categories=["new", *"abcdefghijkl"])
    if isinstance(model, xgboost.XGBModel):
        with pytest.raises(ValueError, match="'new' in column 'd', which XGBoost"):
            trees.to_matrix(other)
    else:
        assert_reads(trees, other)


@pytest.mark.parametrize(
    "names", [["Zoë", "Łukasz", "ab", "日本"], ["éa", "b", "cc", "d"]]
)
def test_categories_with_multibyte_characters(names):
    """XGBoost 3.1 to 3.3 truncates such names when saving; the order of the frame is used."""
    X, y = make_data(missing=True, categorical=False)
    frame = pd.DataFrame(X).add_prefix("x")
    kind = np.arange(len(y)) % 4
    frame["kind"] = pd.Categorical.from_codes(kind, names)
    model = xgb(max_depth=5, enable_categorical=True).fit(
        frame, y + (kind == 0) - 2 * (kind == 2)
    )
    trees = read_trees(model)
    assert trees.category_splits
    assert_reads(trees, frame)


def test_early_stopping_keeps_the_predicting_trees():
    X, y = make_data(missing=True, categorical=False)
    sets = [(X[:80], y[:80])]
    stopped = xgboost.XGBRegressor(
        n_estimators=200, early_stopping_rounds=2, learning_rate=1.0
    )
    stopped.fit(X[80:], y[80:], eval_set=sets, verbose=False)
    assert stopped.best_iteration + 1 < stopped.get_booster().num_boosted_rounds()
    assert_reads(read_trees(stopped), X)
    assert_reads(read_trees(stopped.get_booster()), X)
    stop = lightgbm.early_stopping(2, verbose=False)
    light = lightgbm.LGBMRegressor(n_estimators=200, learning_rate=1.0, verbose=-1)
    light.fit(X[80:], y[80:], eval_X=X[:80], eval_y=y[:80], callbacks=[stop])
    assert light.best_iteration_ < 200
    assert_reads(read_trees(light), X)
    assert_reads(read_trees(light.booster_), X)


def test_several_targets():
    X, y = make_data(missing=True, categorical=False)
    model = xgb(max_depth=3).fit(X, np.stack([y, -2 * y], axis=1))
    assert read_trees(model).n_outputs == 2
    assert_reads(read_trees(model), X)


def test_model_of_constant_trees():
    X, y = make_data(missing=False, categorical=False)
    model = lgb().set_params(min_child_samples=1000).fit(X, y)
    assert_reads(read_trees(model), X)


@pytest.mark.parametrize(
    "name",
    ["xgboost, classes", "lightgbm, classes", "hist gradient boosting, classes"],
)
def test_one_output_drops_the_other_trees(fitted, name):
    model, X = fitted(name)
    every, one = read_trees(model), read_trees(model, output=1)
    assert one.n_trees == every.n_trees // 3
    expected = our_response(every, X)[:, [1]]
    np.testing.assert_allclose(our_response(one, X), expected, rtol=1e-13)
    assert_reads(one, X)


def test_subsets_of_trees_add_up(fitted):
    model, X = fitted("lightgbm, categories")
    trees = read_trees(model)
    parts = [trees.take_trees(part) for part in np.split(np.arange(trees.n_trees), [5])]
    total = trees.base + sum(our_response(part, X) for part in parts)
    np.testing.assert_allclose(total, our_response(trees, X), atol=1e-12)


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("xgboost, binary", "predict_proba"),
        ("xgboost, poisson", "predict"),
        ("lightgbm, classes", "predict_proba"),
        ("hist gradient boosting, classes", "predict_proba"),
        ("hist gradient boosting, gamma", "predict"),
        ("gradient boosting, binary", "predict_proba"),
        ("random forest, classes", "predict"),
    ],
)
def test_transformed_response_is_refused(fitted, name, method):
    model, _ = fitted(name)
    with pytest.raises(
        UnreadableModelError, match=rf"{method} is not the sum of its .*default"
    ):
        read_trees(model, method)


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("xgboost", "predict"),
        ("lightgbm", "predict"),
        ("hist gradient boosting", "predict"),
        ("hist gradient boosting, classes", "decision_function"),
        ("gradient boosting, binary", "decision_function"),
        ("random forest", "predict"),
        ("random forest, classes", "predict_proba"),
    ],
)
def test_sum_responses_are_accepted(fitted, name, method):
    model, X = fitted(name)
    expected = np.reshape(getattr(model, method)(X), (len(X), -1))
    np.testing.assert_allclose(
        our_response(read_trees(model, method), X), expected, atol=1e-5
    )


# name: (model, targets, message)
UNREADABLE = {
    "no trees": (LinearRegression(), 1, "LinearRegression is not a tree ensemble"),
    "weighted medians": (AdaBoostRegressor(), 1, "not a tree ensemble"),
    "linear boosting": (xgb(booster="gblinear"), 1, "'gblinear' has no trees"),
    "vector leaves": (xgb(multi_strategy="multi_output_tree"), 2, "several values in each leaf"),
    "linear leaves": (lgb(linear_tree=True), 1, "linear_tree=True"),
    "a model before": (
        GradientBoostingRegressor(init=LinearRegression()), 1, "starts from a model",
    ),
    "several targets": (RandomForestClassifier(2), 2, "fitted on 2 targets"),
    "a wrapped one": (MultiOutputRegressor(xgb()), 2, "not a tree ensemble"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("model", "targets", "message"), UNREADABLE.values(), ids=UNREADABLE
)
@pytest.mark.filterwarnings("ignore:.*booster=gblinear. is deprecated")  # XGBoost 3.4
def test_unreadable_models_are_refused_with_the_reason(model, targets, message):
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = X[:, 0] if targets == 1 else X[:, :2]
    model.fit(X, y > 0 if isinstance(model, RandomForestClassifier) else y)
    with pytest.raises(UnreadableModelError, match=message):
        read_trees(model)


def test_errors_give_reason_and_remedy_in_any_process():
    error = UnreadableModelError("A stump has no branches", "let it grow")
    sent = pickle.loads(pickle.dumps(error))
    assert sent.reason == "A stump has no branches"
    expected = "A stump has no branches, so it has no exact values here: let it grow."
    assert str(sent) == str(error) == expected


def test_invalid_parameters(fitted):
    model, X = fitted("xgboost, classes")
    with pytest.raises(
        ValueError, match=r"proba is not the sum of its trees.* choose one of"
    ):
        read_trees(model, "proba")
    with pytest.raises(ValueError, match="6 columns"):
        read_trees(model).to_matrix(X[:, :5])


def test_private_layout_of_hist_gradient_boosting(fitted):
    """The only private layout that is used; this test fails if it changes."""
    model, _ = fitted("hist gradient boosting, categories")
    predictor = model._predictors[0][0]
    fields = (
        "value count feature_idx num_threshold missing_go_to_left left right is_leaf"
    )
    fields += " is_categorical bitset_idx"
    assert set(fields.split()) <= set(predictor.nodes.dtype.names)
    assert predictor.nodes.dtype["value"] == np.float64
    assert predictor.raw_left_cat_bitsets.shape[1:] == (8,)
    assert model._baseline_prediction.shape == (1, 1)
    encoder, numbers = (step[2] for step in model._preprocessor.transformers_[:2])
    np.testing.assert_array_equal(encoder, ~np.asarray(numbers))


@pytest.mark.parametrize("change", ["_predictors", "nodes"])
def test_new_layout_of_hist_gradient_boosting_is_refused(change):
    X, y = make_data(missing=False, categorical=False)
    model = HistGradientBoostingRegressor(max_iter=2).fit(X, y)
    if change == "nodes":
        predictor = model._predictors[0][0]
        predictor.nodes = rename_fields(predictor.nodes, {"value": "leaf_value"})
        detail = "no field of name value"
    else:
        del model._predictors
        detail = "_predictors"
    with pytest.raises(UnreadableModelError, match=f"an unknown format .*{detail}"):
        read_trees(model)
