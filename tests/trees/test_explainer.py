"""TreeExplainer: parameters, containers, outputs, and agreement with ShapleyExplainer."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from scipy.special import logit
from sklearn.base import clone
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skshapley import ShapleyExplainer
from skshapley._ways._forms import exact_outcome
from skshapley._ways._read import read_outputs
from skshapley.exceptions import UnreadableModelError
from skshapley.rewards import Response
from skshapley.trees import TreeExplainer

from .conftest import D, game_values, make_data, shapley_by_definition, xgb
from .test_read import make_frame


@pytest.fixture(scope="module")
def frame_model():
    frame, y = make_frame()
    return xgb(max_depth=4, enable_categorical=True).fit(frame, y), frame


def test_frames_return_frames(frame_model):
    model, frame = frame_model
    rows = frame.set_index(np.arange(1000, 1000 + len(frame))).iloc[:20]
    explanation = TreeExplainer(model).fit(frame[:100]).explain(rows)
    assert explanation.values.shape == (20, 6)
    assert explanation.feature_names.tolist() == list("abcdef")
    pd.testing.assert_index_equal(explanation.index, rows.index)
    np.testing.assert_allclose(explanation.predictions, model.predict(rows), rtol=1e-5)
    total = explanation.base_values + explanation.values.sum(axis=1)
    np.testing.assert_allclose(total, explanation.predictions, atol=1e-12)
    assert not explanation.standard_errors.any()
    assert explanation.converged.all()
    assert not explanation.n_model_rows.any()
    assert explanation.settings.n_background == 100


def test_values_agree_with_enumeration(frame_model):
    """The model-agnostic path enumerates 2^6 coalitions through predict: an independent answer."""
    model, frame = frame_model
    weights = np.random.default_rng(0).random(30)
    ours = (
        TreeExplainer(model)
        .fit(frame[:30], sample_weight=weights)
        .explain(frame[50:54])
    )
    sampled = ShapleyExplainer(model, sampler="exact").fit(
        frame[:30], sample_weight=weights
    )
    theirs = sampled.explain(frame[50:54])
    np.testing.assert_allclose(ours.values, theirs.values, atol=1e-5)
    np.testing.assert_allclose(ours.base_values, theirs.base_values, atol=1e-5)


def test_groups(frame_model):
    model, frame = frame_model
    groups = {"both": ["a", "d"], "three": ["b", "c", "f"]}
    explanation = TreeExplainer(model, groups=groups).fit(frame[:50]).explain(frame[:5])
    assert explanation.feature_names.tolist() == ["both", "three", "e"]
    sampled = ShapleyExplainer(model, groups=groups, sampler="exact").fit(frame[:50])
    np.testing.assert_allclose(
        explanation.values, sampled.explain(frame[:5]).values, atol=1e-5
    )


CLASSIFIERS = {
    "xgboost": (xgb(xgboost.XGBClassifier, max_depth=3), "margin"),
    "lightgbm": (lightgbm.LGBMClassifier(n_estimators=5, verbose=-1), "margin"),
    "hist": (HistGradientBoostingClassifier(max_iter=5), "margin"),
    "forest": (RandomForestClassifier(5, max_depth=4, random_state=0), "probability"),
}


def margin(model, X):
    """Raw response by the library's own word."""
    if isinstance(model, xgboost.XGBModel):
        return model.predict(X, output_margin=True)
    if isinstance(model, lightgbm.LGBMModel):
        return model.predict(X, raw_score=True)
    probability = isinstance(model, RandomForestClassifier)
    return model.predict_proba(X) if probability else model.decision_function(X)


def classes_of(y, model, n):
    codes = np.digitize(y, np.quantile(y, np.arange(1, n) / n))
    return (
        codes
        if isinstance(model, xgboost.XGBModel)
        else np.array(["no", "so", "yes"])[codes]
    )


@pytest.mark.parametrize(("model", "scale"), CLASSIFIERS.values(), ids=CLASSIFIERS)
def test_binary_classifiers_explain_the_positive_class(model, scale):
    X, y = make_data(missing=True, categorical=False)
    y = classes_of(y, model, 2)
    model = clone(model).fit(X, y)
    expected = margin(model, X)
    if scale == "probability":
        expected = expected[:, 1]
    first, second = model.classes_
    for output, sign in ((None, 1), (second, 1), (first, -1)):
        explanation = TreeExplainer(model, output=output).fit(X).explain(X)
        assert explanation.output_names is None
        target = sign * expected
        if scale == "probability" and sign < 0:
            target = 1 - expected
        np.testing.assert_allclose(explanation.predictions, target, atol=1e-5)


@pytest.mark.parametrize(("model", "scale"), CLASSIFIERS.values(), ids=CLASSIFIERS)
def test_several_classes(model, scale):
    X, y = make_data(missing=True, categorical=False)
    model = clone(model).fit(X, classes_of(y, model, 3))
    every = TreeExplainer(model).fit(X[:50]).explain(X[:9])
    assert every.output_names.tolist() == model.classes_.tolist()
    np.testing.assert_allclose(every.predictions, margin(model, X[:9]), atol=1e-5)
    label = model.classes_[1]
    one = TreeExplainer(model, output=label).fit(X[:50]).explain(X[:9])
    np.testing.assert_allclose(one.values, every.output(label).values, atol=1e-12)


def test_several_targets_have_numbers():
    X, y = make_data(missing=False, categorical=False)
    model = xgb(max_depth=3).fit(X, np.stack([y, y**2], axis=1))
    explanation = TreeExplainer(model).fit(X[:40]).explain(X[:5])
    assert explanation.output_names.tolist() == [0, 1]
    np.testing.assert_allclose(
        explanation.predictions, model.predict(X[:5]), rtol=1e-5, atol=1e-5
    )


def test_boosters_without_their_estimators():
    X, y = make_data(missing=True, categorical=False)
    model = xgb(max_depth=3).fit(X, y)
    light = lightgbm.LGBMRegressor(n_estimators=5, verbose=-1).fit(X, y)
    for estimator, booster in ((model, model.get_booster()), (light, light.booster_)):
        one = TreeExplainer(estimator).fit(X[:30]).explain(X[:9])
        other = TreeExplainer(booster).fit(X[:30]).explain(X[:9])
        np.testing.assert_array_equal(one.values, other.values)


def test_log_odds_of_boosters():
    """The raw score, exact, as for the estimator."""
    X, y = make_data(missing=True, categorical=False)
    classes = (y > 0).astype(int)
    model = xgb(xgboost.XGBClassifier, max_depth=3).fit(X, classes)
    light = lightgbm.LGBMClassifier(n_estimators=5, verbose=-1).fit(X, classes)
    for estimator, booster in ((model, model.get_booster()), (light, light.booster_)):
        one, other = (
            ShapleyExplainer(each, response_method="log_odds").fit(X[:30])
            for each in (estimator, booster)
        )
        assert other.exact_ is not None
        np.testing.assert_array_equal(
            one.explain(X[:9]).values, other.explain(X[:9]).values
        )
    booster = lightgbm.LGBMRegressor(n_estimators=5, verbose=-1).fit(X, y).booster_
    regressor = ShapleyExplainer(booster, response_method="log_odds")
    with pytest.raises(ValueError, match="Booster has no predict_proba"):
        regressor.fit(X[:30])


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
@pytest.mark.parametrize(
    "model",
    [
        GradientBoostingRegressor(n_estimators=3),
        make_pipeline(StandardScaler(), GradientBoostingRegressor(n_estimators=3)),
        RandomForestRegressor(3),
        xgb(max_depth=3),
    ],
    ids=lambda model: type(model).__name__,
)
def test_numbers_that_the_model_refuses_are_not_explained(model, value):
    """Its trees have a path for them, but it has no prediction."""
    X, y = make_data(missing=False, categorical=False)
    model = clone(model).fit(X, y)
    rows = X[:2].copy()
    rows[1, 0] = value
    explainers = [ShapleyExplainer(model).fit(X[:30])]
    assert explainers[0].exact_ is not None
    if not hasattr(model, "steps"):
        explainers.append(TreeExplainer(model).fit(X[:30]))
    for explainer in explainers:
        try:
            with np.errstate(over="ignore"):
                expected = model.predict(rows)
        except ValueError:
            with pytest.raises(ValueError, match=r"infinite|infinity|NaN"):
                explainer.explain(rows)
        else:
            predictions = explainer.explain(rows).predictions
            np.testing.assert_allclose(predictions, expected, rtol=1e-5)


def test_path_dependent_needs_no_background(frame_model):
    model, frame = frame_model
    explainer = TreeExplainer(model, feature_perturbation="path_dependent").fit()
    explanation = explainer.explain(frame[:9])
    assert explainer.get_feature_names_out().tolist() == list("abcdef")
    assert explanation.settings.n_background is None
    np.testing.assert_allclose(
        explanation.predictions, model.predict(frame[:9]), rtol=1e-5
    )
    reordered = explainer.explain(frame[:9][list("bacdef")])
    np.testing.assert_array_equal(reordered.values, explanation.values)
    with pytest.raises(
        ValueError,
        match="'a', which the given table does not have; it has the column 'g'",
    ):
        explainer.explain(frame[:9].rename(columns={"a": "g"}))


def test_banzhaf_values_do_not_add_up(frame_model):
    model, frame = frame_model
    explanation = (
        TreeExplainer(model, index="banzhaf").fit(frame[:30]).explain(frame[:9])
    )
    np.testing.assert_allclose(
        explanation.predictions, model.predict(frame[:9]), rtol=1e-5
    )
    total = explanation.base_values + explanation.values.sum(axis=1)
    assert np.abs(total - explanation.predictions).max() > 1e-3


def test_transform_clone_pickle(frame_model):
    model, frame = frame_model
    explainer = clone(TreeExplainer(FrozenEstimator(model))).fit(frame[:30])
    expected = explainer.explain(frame[:9]).values
    np.testing.assert_array_equal(explainer.transform(frame[:9]), expected)
    again = pickle.loads(pickle.dumps(explainer))
    np.testing.assert_array_equal(again.explain(frame[:9]).values, expected)
    names = make_pipeline(explainer).get_feature_names_out()
    assert names.tolist() == list("abcdef")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"response_method": "margin"}, "margin is not the sum of its trees"),
        (
            {"feature_perturbation": "none"},
            "takes feature_perturbation as one of .*; got 'none'",
        ),
        ({"index": "owen"}, "takes index as one of .*; got 'owen'"),
        ({"n_jobs": 0}, "takes n_jobs as .*; got 0"),
        ({"output": 3}, r"output=3, .* choose None or one of \[0\]"),
        ({"groups": {"g": ["z"]}}, "'z'"),
    ],
)
def test_invalid_parameters_are_refused(frame_model, parameters, message):
    model, frame = frame_model
    with pytest.raises(ValueError, match=message):
        TreeExplainer(model, **parameters).fit(frame[:30])


def test_unsupported_models_are_refused(frame_model):
    model, frame = frame_model
    X, y = make_data(missing=False, categorical=False)
    with pytest.raises(UnreadableModelError, match="LinearRegression"):
        TreeExplainer(LinearRegression().fit(X, y)).fit(X)
    with pytest.raises(NotFittedError):
        TreeExplainer(xgb()).fit(X)
    with pytest.raises(ValueError, match="needs background rows"):
        TreeExplainer(model).fit()
    explainer = TreeExplainer(model).fit(frame[:30])
    with pytest.raises(ValueError, match="needs the column 'a'"):
        explainer.explain(frame[:9].rename(columns={"a": "g"}))


def test_trees_are_compared_with_the_model(fitted, monkeypatch):
    """A model with an unknown link is refused."""
    monkeypatch.setattr("skshapley.readers._xgboost._LOG", set())
    model, X = fitted("xgboost, poisson")
    with pytest.raises(
        UnreadableModelError, match=r"adds up to .*, but the model returns"
    ):
        TreeExplainer(model).fit(X)


@pytest.mark.parametrize(
    ("name", "method", "output"),
    [
        ("xgboost", "auto", None),
        ("xgboost, binary", "log_odds", None),
        ("xgboost, binary", "log_odds", 0),
        ("xgboost, classes", "log_odds", None),
        ("hist gradient boosting, binary", "log_odds", None),
        ("gradient boosting, binary", "log_odds", 0),
        ("lightgbm, binary", "log_odds", None),
        ("lightgbm, binary", "log_odds", 0),
        ("hist gradient boosting, classes", "decision_function", None),
        ("hist gradient boosting, classes", "decision_function", 1),
        ("gradient boosting, binary", "decision_function", 0),
        ("random forest, classes", "auto", None),
        ("extra trees, binary", "auto", None),
        ("lightgbm", "auto", None),
    ],
)
def test_trees_of_a_response(fitted, name, method, output):
    """The outputs of the response, in the same order."""
    model, X = fitted(name)
    response = Response(model, method, output)
    seen = response.choose(response.probe(X), None)
    outcome = exact_outcome(read_outputs(response).fit(X[:30]), X)
    np.testing.assert_allclose(outcome.v_full, seen, atol=1e-5)


@pytest.mark.parametrize(
    "name",
    ["hist gradient boosting, binary", "gradient boosting, binary", "lightgbm, binary"],
)
def test_log_odds_of_two_classes_come_from_the_trees(fitted, name):
    model, X = fitted(name)
    made = (
        ShapleyExplainer(model, response_method="log_odds")
        .fit(X[:20])
        .explain(X[50:53])
    )
    assert made.settings.why_sampled is None

    def log_odds(rows):
        return logit(model.predict_proba(rows)[:, 1])

    for x, values in zip(X[50:53], made.values, strict=True):
        v = game_values(log_odds, x, X[:20], np.ones(20), np.arange(D))
        expected = shapley_by_definition(v)[:, 0]
        np.testing.assert_allclose(values, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "method", "output", "reason"),
    [
        ("xgboost, binary", "auto", None, "predict_proba has no closed form"),
        ("lightgbm, classes", "log_odds", None, "log_odds is not the sum"),
        (
            "hist gradient boosting, classes",
            "auto",
            "predicted",
            "predict_proba is not the sum",
        ),
    ],
)
def test_responses_that_are_not_a_sum_of_trees_are_refused(
    fitted, name, method, output, reason
):
    model, X = fitted(name)
    response = Response(model, method, output)
    response.probe(X)
    with pytest.raises(UnreadableModelError, match=reason):
        read_outputs(response)


@pytest.mark.parametrize(
    ("name", "method", "theirs"),
    [
        ("xgboost, missing", "predict", "auto"),
        ("xgboost, binary", "log_odds", "auto"),
        ("gradient boosting, classes", "decision_function", "auto"),
        ("random forest", "predict", "predict"),
        ("random forest, classes", "predict_proba", "auto"),
    ],
)
@pytest.mark.parametrize(
    "weights", [np.arange(40) % 3, np.arange(40) < 37], ids=["0, 1, 2", "37"]
)
def test_both_explainers_give_the_same_bits(fitted, name, method, theirs, weights):
    """37 weights of 1/37 have another sum than 1: they must not be divided once more."""
    weights = weights * 1.0
    model, X = fitted(name)
    both = [
        ShapleyExplainer(model, response_method=method).fit(
            X[:40], sample_weight=weights
        ),
        TreeExplainer(model, response_method=theirs).fit(
            X[:40][weights > 0], sample_weight=weights[weights > 0]
        ),
    ]
    assert both[0].exact_ is not None
    ours, trees = (explainer.explain(X[40:60]) for explainer in both)
    for part in ("values", "base_values", "predictions"):
        np.testing.assert_array_equal(getattr(ours, part), getattr(trees, part))


@pytest.mark.parametrize("name", ["xgboost", "random forest"])
def test_threads_that_share_an_explainer_give_equal_values(fitted, name):
    """Also in the first calls, which create shared tables.

    Values from tables and from pairs of rows agree to rounding.
    """
    model, X = fitted(name)
    rows = [X[i : i + 1] for i in range(8)] + [X, X[:30]]
    alone = [TreeExplainer(model).fit(X[:20]).explain(row).values for row in rows]
    shared = TreeExplainer(model).fit(X[:20])
    both = TreeExplainer(model, interactions=True).fit(X[:20])
    with ThreadPoolExecutor(8) as pool:
        explained = list(pool.map(shared.explain, rows * 4))
        pairs = list(pool.map(both.explain, rows[:8]))
    for one, values in zip(explained, alone * 4, strict=True):
        np.testing.assert_allclose(one.values, values, rtol=0, atol=1e-11)
    for one, row in zip(pairs, rows[:8], strict=True):
        fresh = TreeExplainer(model, interactions=True).fit(X[:20]).explain(row)
        np.testing.assert_array_equal(
            one.interactions.values, fresh.interactions.values
        )


@pytest.mark.parametrize("name", ["xgboost, classes", "random forest"])
def test_single_references_add_up(fitted, name):
    model, X = fitted(name)
    explainer = TreeExplainer(model).fit(X[:20], sample_weight=np.arange(20) + 1.0)
    singles = explainer.exact_.references(X[20:23], np.arange(20))
    values = explainer.explain(X[20:23]).values.reshape(3, *singles.shape[2:])
    assert singles.shape[1] == 20
    mean = np.einsum("rbpk,b->rpk", singles, explainer.background_weights_)
    np.testing.assert_allclose(mean, values, rtol=0, atol=1e-12 * np.abs(values).max())
    other = TreeExplainer(model).fit(X[4:5]).explain(X[20:23]).values
    np.testing.assert_allclose(
        singles[:, 4].reshape(other.shape),
        other,
        rtol=0,
        atol=1e-12 * np.abs(values).max(),
    )


def test_log_odds_near_zero_are_read():
    """Their rounding is that of the trees: 3 of these 100 rows were refused."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 6))
    y = X[:, 0] * X[:, 1] + X[:, 2] + 3 * rng.normal(size=6000) > 0
    model = xgboost.XGBClassifier(n_estimators=100, max_depth=4, learning_rate=0.1)
    model.fit(X, y)
    margin = model.predict(X, output_margin=True)
    for row in np.argsort(np.abs(margin))[:100]:
        explainer = TreeExplainer(model, response_method="log_odds")
        base = explainer.fit(X[[row]]).explain(X[:1]).base_values
        np.testing.assert_allclose(base, margin[row], atol=1e-5)


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("library", ["xgboost", "catboost"])
def test_several_targets_of_two_classes_are_explained_at_once(library, n):
    if library == "xgboost":
        model = xgboost.XGBClassifier(n_estimators=5, max_depth=2)
        raw = {"output_margin": True}
    else:
        catboost = pytest.importorskip("catboost")
        model = catboost.CatBoostClassifier(
            n_estimators=5,
            depth=2,
            loss_function="MultiLogloss",
            verbose=0,
            allow_writing_files=False,
        )
        raw = {"prediction_type": "RawFormulaVal"}
    X = np.random.default_rng(0).normal(size=(200, 4))
    model.fit(X, (X[:, :n] > 0).astype(int))
    explanation = TreeExplainer(model).fit(X[:9]).explain(X[9:12])
    total = explanation.base_values + explanation.values.sum(axis=1)
    margins = model.predict(X[9:12], **raw)
    assert margins.shape == (3, n)
    np.testing.assert_allclose(total, margins, atol=1e-5)
    assert explanation.settings.explained_class is None


def test_log_odds_of_two_classes_with_a_softmax_are_those_of_the_probability():
    """The margin of the second class is half of them, or anything else."""
    X = np.random.default_rng(0).normal(size=(200, 4))
    model = xgboost.XGBClassifier(
        n_estimators=5, max_depth=2, objective="multi:softprob", num_class=2
    )
    model.fit(X, (X[:, 0] > 0).astype(int))
    explainer = ShapleyExplainer(model, response_method="log_odds", random_state=0)
    explanation = explainer.fit(X[:9]).explain(X[9:12])
    total = explanation.base_values + explanation.values.sum(axis=1)
    first, second = model.predict_proba(X[9:12]).T
    np.testing.assert_allclose(total, np.log(second / first), atol=1e-5)
    with pytest.raises(UnreadableModelError, match="not the sum of its trees"):
        TreeExplainer(model, response_method="log_odds").fit(X[:9])
