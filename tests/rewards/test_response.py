"""Responses of models: methods, outputs, refusals, and the container of each call."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from skshapley import ShapleyExplainer
from skshapley.exceptions import ModelOutputError
from skshapley.responses import same_class
from skshapley.rewards import Response

N = 60
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 4))
Y = X @ [1.0, 2.0, -1.0, 0.5]
TWO = np.where(Y > 0, "yes", "no")
THREE = np.digitize(Y, [-1, 1])


def probed(estimator, method="auto", output=None, table=X):
    response = Response(estimator, method, output, owner="Owner")
    return response, response.probe(table)


def explained(response, raw, table=X):
    winners = response.winners(table, raw)
    return response.choose(raw, winners)


@pytest.fixture(scope="module")
def two():
    return LogisticRegression().fit(X, TWO)


@pytest.fixture(scope="module")
def three():
    return LogisticRegression().fit(X, THREE)


# --- methods --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "method"),
    [
        (LinearRegression().fit(X, Y), "predict"),
        (LogisticRegression().fit(X, TWO), "predict_proba"),
        (RidgeClassifier().fit(X, TWO), "decision_function"),
        (IsolationForest(n_estimators=3).fit(X), "score_samples"),
        (PCA(2).fit(X), "score_samples"),
        (FrozenEstimator(LogisticRegression().fit(X, TWO)), "predict_proba"),
        (
            make_pipeline(StandardScaler(), LogisticRegression()).fit(X, TWO),
            "predict_proba",
        ),
        (
            GridSearchCV(LogisticRegression(), {"C": [1]}, cv=2).fit(X, TWO),
            "predict_proba",
        ),
    ],
)
def test_auto_method(estimator, method):
    response, _ = probed(estimator)
    assert response.method == method


@pytest.mark.parametrize(
    "method", ["predict_proba", "predict_log_proba", "decision_function", "log_odds"]
)
def test_two_classes_explain_the_positive_class(two, method):
    response, raw = probed(two, method)
    expected = {
        "decision_function": two.decision_function(X),
        "log_odds": two.decision_function(X),
    }
    if method not in expected:
        expected[method] = getattr(two, method)(X)[:, 1]
    chosen = explained(response, raw)
    assert chosen.shape == (N, 1)
    assert response.n_outputs == 1
    assert response.output_names is None
    np.testing.assert_allclose(chosen[:, 0], expected[method], rtol=1e-9)


@pytest.mark.parametrize("method", ["predict_proba", "decision_function", "log_odds"])
def test_either_class_can_be_chosen_by_label(two, method):
    yes, no = (explained(*probed(two, method, label)) for label in ("yes", "no"))
    np.testing.assert_allclose(
        no, 1 - yes if method == "predict_proba" else -yes, atol=1e-9
    )


def test_several_classes_are_all_explained(three):
    response, raw = probed(three)
    assert response.output_names == [0, 1, 2]
    np.testing.assert_array_equal(explained(response, raw), three.predict_proba(X))


def test_one_of_several_classes(three):
    response, raw = probed(three, output=2)
    assert response.output_names is None
    np.testing.assert_array_equal(
        explained(response, raw)[:, 0], three.predict_proba(X)[:, 2]
    )


@pytest.mark.parametrize("method", ["predict_proba", "decision_function", "log_odds"])
@pytest.mark.parametrize("fixture", ["two", "three"])
def test_predicted_class(fixture, method, request):
    model = request.getfixturevalue(fixture)
    response, raw = probed(model, method, "predicted")
    winners = response.winners(X, raw)
    assert np.array(model.classes_)[winners].tolist() == model.predict(X).tolist()
    chosen = response.choose(raw, winners)[:, 0]
    np.testing.assert_array_equal(chosen, raw[np.arange(N), winners])


def test_predicted_class_follows_predict(two):
    cautious = FixedThresholdClassifier(
        FrozenEstimator(two), threshold=0.1, pos_label="yes"
    )
    cautious.fit(X, TWO)
    response, raw = probed(cautious, "predict_proba", "predicted")
    winners = response.winners(X, raw)
    assert winners.tolist() == (cautious.predict(X) == "yes").astype(int).tolist()
    assert (winners != raw.argmax(axis=1)).any()


def test_predicted_output_of_a_function_is_its_largest():
    response, raw = probed(lambda X: X[:, :3], output="predicted")
    np.testing.assert_array_equal(explained(response, raw)[:, 0], X[:, :3].max(axis=1))


def test_score_of_a_plain_function():
    response, raw = probed(lambda X: X.sum(axis=1))
    assert response.output_names is None
    np.testing.assert_array_equal(explained(response, raw)[:, 0], X.sum(axis=1))


def test_method_as_a_function(two):
    _, raw = probed(two, lambda model, X: model.predict_proba(X)[:, 1] ** 2)
    np.testing.assert_array_equal(raw[:, 0], two.predict_proba(X)[:, 1] ** 2)


@pytest.mark.parametrize(
    "values", [list, pd.Series, lambda v: v.astype(object), np.float32]
)
def test_numbers_in_any_container(values):
    response, raw = probed(lambda X: values(X[:, 0]))
    assert raw.dtype == np.float64
    assert response.output_names is None
    np.testing.assert_allclose(raw[:, 0], X[:, 0], rtol=1e-7)


def test_whole_numbers_and_booleans_are_numbers():
    for values in (X[:, 0] > 0, (X[:, 0] * 9).astype(int)):
        np.testing.assert_array_equal(probed(lambda X, v=values: v)[1][:, 0], values)


@pytest.mark.parametrize("columns", [1, 3])
def test_a_table_of_outputs_has_positions_as_names(columns):
    response, raw = probed(lambda X: X[:, :columns])
    assert response.output_names == list(range(columns))
    assert explained(response, raw).shape == (N, columns)


def test_a_frame_of_outputs_has_names():
    response, _ = probed(lambda X: pd.DataFrame(X[:, :2], columns=["low", "high"]))
    assert response.output_names == ["low", "high"]


def test_several_targets():
    response, raw = probed(RandomForestRegressor(n_estimators=2).fit(X, np.c_[Y, -Y]))
    assert response.output_names == [0, 1]
    assert raw.shape == (N, 2)


# --- many outputs of classifiers ------------------------------------------------------

LABELS = (np.c_[Y > 0, X[:, 0] > 0.5]).astype(int)


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(n_estimators=3, random_state=0).fit(X, LABELS),
        MultiOutputClassifier(LogisticRegression()).fit(X, LABELS),
        MLPClassifier(
            hidden_layer_sizes=(3,), max_iter=5000, random_state=0, tol=1e-3
        ).fit(X, LABELS),
    ],
)
def test_multilabel_targets_are_separate_outputs(model):
    """Two outputs are not two classes, where one would suffice."""
    response, raw = probed(model, "predict_proba")
    expected = model.predict_proba(X)
    if isinstance(expected, list):
        expected = np.column_stack([part[:, 1] for part in expected])
    assert response.output_names == [0, 1]
    np.testing.assert_array_equal(explained(response, raw), expected)


def test_multilabel_decision_values():
    model = RidgeClassifier().fit(X, LABELS)
    response, _ = probed(model)
    assert response.output_names == [0, 1]


@pytest.mark.parametrize("method", ["predict_proba", "predict_log_proba", "log_odds"])
def test_targets_of_several_classes(method):
    model = RandomForestClassifier(n_estimators=20, random_state=0, min_samples_leaf=9)
    model.fit(X, np.column_stack([TWO, np.array(["a", "b", "c"])[THREE]]))
    response, raw = probed(model, method)
    assert response.output_names == [0, "1_a", "1_b", "1_c"]
    binary, ternary = model.predict_proba(X)
    expected = np.column_stack([binary[:, 1], ternary])
    back = {"predict_log_proba": np.exp, "log_odds": lambda v: 1 / (1 + np.exp(-v))}
    np.testing.assert_allclose(back.get(method, np.asarray)(raw), expected, atol=1e-9)


def test_one_vs_one_outputs_are_numbered():
    model = SVC(decision_function_shape="ovo").fit(X, np.array(["a", "b", "c"])[THREE])
    assert probed(model)[0].output_names == [0, 1, 2]
    response, raw = probed(model, output="predicted")
    with pytest.raises(ValueError, match=r"\[0, 1, 2\], are not the classes"):
        response.winners(X, raw)


def test_a_classifier_of_one_class():
    response, raw = probed(DummyClassifier().fit(X, np.zeros(N)))
    assert response.output_names == [0.0]
    assert raw.shape == (N, 1)


# --- log-odds -------------------------------------------------------------------------


def test_log_odds_is_the_logit_of_the_probability():
    model = CalibratedClassifierCV(LogisticRegression(), cv=2).fit(X, TWO)
    response, raw = probed(model, "log_odds")
    np.testing.assert_allclose(
        explained(response, raw)[:, 0], logit(model.predict_proba(X)[:, 1]), rtol=1e-9
    )


def test_log_odds_of_certainty_is_finite():
    model = DecisionTreeClassifier().fit(X, TWO)
    response, raw = probed(model, "log_odds")
    chosen = explained(response, raw)
    assert set(np.round(chosen[:, 0]).tolist()) == {-36.0, 36.0}
    np.testing.assert_array_equal(chosen[:, 0] > 0, TWO == "yes")


@pytest.mark.parametrize("wrap", ["plain", "frozen", "search", "pipeline", "all"])
def test_log_odds_of_xgboost_is_its_margin(wrap):
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBClassifier(n_estimators=5)
    target = (TWO == "yes").astype(int)
    plain = xgboost.XGBClassifier(n_estimators=5).fit(X, target)
    wrapped = {
        "plain": lambda: model.fit(X, target),
        "frozen": lambda: FrozenEstimator(model.fit(X, target)),
        "search": lambda: GridSearchCV(model, {"n_estimators": [5]}, cv=2).fit(
            X, target
        ),
        "pipeline": lambda: make_pipeline(StandardScaler(), model).fit(X, target),
        "all": lambda: FrozenEstimator(
            GridSearchCV(
                make_pipeline(StandardScaler(), model),
                {"xgbclassifier__n_estimators": [5]},
                cv=2,
            ).fit(X, target)
        ),
    }[wrap]()
    response, raw = probed(wrapped, "log_odds")
    margin = plain.predict(X, output_margin=True)
    # a tree does not mind the scaling, but for the rounding of its thresholds
    np.testing.assert_allclose(explained(response, raw)[:, 0], margin, atol=0.05)
    # the margin itself: a logit of float32 probabilities would be off by 1e-7 / (p (1 -
    # p))
    assert np.isin(explained(response, raw)[:, 0], raw.astype(np.float32)).all()


class Resampler(BaseEstimator):
    """A step as in imbalanced-learn, which draws rows in `fit` and cannot transform."""

    def fit_resample(self, X, y):
        return X[::2], y[::2]


@pytest.mark.parametrize("place", [0, 1])
def test_log_odds_skip_steps_that_draw_rows(place):
    scaler = StandardScaler().fit(X)
    model = GaussianNB().fit(scaler.transform(X), TWO)
    steps = [("scaler", scaler), ("model", model)]
    steps.insert(place, ("sampler", Resampler()))
    pipeline = Pipeline(steps)
    response, raw = probed(pipeline, "log_odds")
    expected = logit(model.predict_proba(scaler.transform(X))[:, 1])
    np.testing.assert_allclose(explained(response, raw)[:, 0], expected, rtol=1e-6)


def test_log_odds_of_xgboost_with_several_classes():
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBClassifier(n_estimators=3).fit(X, THREE)
    response, raw = probed(model, "log_odds")
    assert response.output_names == [0, 1, 2]
    np.testing.assert_array_equal(raw, model.predict(X, output_margin=True))


def test_lightgbm():
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMClassifier(n_estimators=5, verbose=-1).fit(X, TWO)
    response, raw = probed(model, "log_odds")
    np.testing.assert_allclose(
        explained(response, raw)[:, 0], model.predict(X, raw_score=True), rtol=1e-9
    )
    booster = lightgbm.LGBMRegressor(n_estimators=5, verbose=-1).fit(X, Y).booster_
    assert probed(booster)[0].method == "predict"


# --- the container that the model knows -----------------------------------------------

NAMES = ["a", "b", "c", "d"]
FRAME = pd.DataFrame(X, columns=NAMES)


class Container(ClassifierMixin, BaseEstimator):
    """Stores the arguments of its calls."""

    def __init__(self, fitted_on):
        self.fitted_on = fitted_on
        if hasattr(fitted_on, "columns") and isinstance(fitted_on.columns[0], str):
            self.feature_names_in_ = np.array(fitted_on.columns, dtype=object)
        self.n_features_in_ = fitted_on.shape[1]
        self.seen = []

    def fit(self, X, y=None):
        return self

    def predict(self, X):
        self.seen.append(X)
        return np.zeros(len(X))


def test_models_fitted_with_names_receive_names():
    model = Container(FRAME)
    probed(model, "predict", table=X)
    assert model.seen[0].columns.tolist() == NAMES
    probed(model, "predict", table=FRAME)
    assert model.seen[1] is FRAME


def test_models_fitted_without_names_receive_arrays():
    model = Container(X)
    probed(model, "predict", table=FRAME)
    assert type(model.seen[0]) is np.ndarray


def test_non_text_names_are_kept():
    """scikit-learn does not store such names, but a model may use them."""
    frame = pd.DataFrame(X)
    model = Container(frame)
    probed(model, "predict", table=frame)
    assert model.seen[0] is frame


def test_polars_frames_for_a_model_fitted_without_names():
    polars = pytest.importorskip("polars")
    model = Container(X)
    probed(model, "predict", table=polars.DataFrame(X, schema=NAMES))
    np.testing.assert_array_equal(model.seen[0], X)


def test_wrong_numbers_of_columns_are_refused_before_the_model_is_called():
    """Models that were fitted on arrays are tried first: tests/test_borders.py."""
    model = Container(FRAME)
    with pytest.raises(ValueError, match="3 columns for a model that was fitted on 4"):
        probed(model, "predict", table=X[:, :3])
    assert not model.seen


# --- refused --------------------------------------------------------------------------


@pytest.mark.parametrize("model", [3, None, "model", {"a": 1}])
def test_objects_without_predict_are_refused(model):
    with pytest.raises(
        TypeError, match="Owner explains a fitted estimator, or a function"
    ):
        Response(model, owner="Owner")


def test_a_class_instead_of_a_model():
    with pytest.raises(TypeError, match=r"fit LinearRegression\(\) first"):
        Response(LinearRegression)


@pytest.mark.parametrize(
    "model",
    [
        LinearRegression(),
        make_pipeline(StandardScaler(), LinearRegression()),
        FrozenEstimator(LinearRegression()),
        GridSearchCV(LogisticRegression(), {}),
    ],
)
def test_unfitted_model(model):
    with pytest.raises(
        NotFittedError, match=r"not fitted: .* sklearn\.frozen\.FrozenEstimator"
    ):
        Response(model).probe(X)


class ByState(BaseEstimator):
    """A fitted model that scikit-learn takes for unfitted: no attribute ends in an underscore."""

    def fit(self, X, y):
        self.state = y.mean()
        return self

    def predict(self, X):
        return X[:, 0] + self.state

    def predict_proba(self, X):
        return np.column_stack([1 - self.state + 0 * X[:, 0], self.state + 0 * X[:, 0]])


def test_models_that_predict_count_as_fitted():
    model = ByState().fit(X, Y)
    np.testing.assert_array_equal(
        Response(model, "predict").probe(X)[:, 0], model.predict(X)
    )
    with pytest.raises(NotFittedError, match="this ByState is not fitted"):
        Response(ByState()).probe(X)


@pytest.mark.parametrize(
    ("kind", "method"), [(None, "predict_proba"), ("regressor", "predict")]
)
def test_wrappers_without_tags_are_explained_by_probabilities(kind, method):
    model = ByState().fit(X, Y)
    if kind is not None:
        model._estimator_type = kind
    assert Response(model).method == method


@pytest.mark.parametrize("method", ["preditc", 3, None, "fit"])
def test_unknown_method(method):
    with pytest.raises(ValueError, match=r'choose "auto", one of \[\'predict\', '):
        Response(LinearRegression().fit(X, Y), method)


@pytest.mark.parametrize("method", ["predict_proba", "log_odds", "score_samples"])
def test_method_that_the_model_does_not_have(method):
    with pytest.raises(
        ValueError, match=r"LinearRegression has no \w+: it has \['predict'\]"
    ):
        Response(LinearRegression().fit(X, Y), method)


def test_method_of_a_function():
    with pytest.raises(ValueError, match="for a function, which is called directly"):
        Response(lambda X: X[:, 0], "predict")


def test_a_model_without_a_response_is_refused():
    with pytest.raises(ValueError, match="'auto', but StandardScaler has no predict"):
        Response(StandardScaler().fit(X))


@pytest.mark.parametrize("output", ["maybe", 1, ["yes"]])
def test_unknown_class_is_refused_before_the_model_is_called(two, output):
    with pytest.raises(ValueError, match="choose None, 'no', 'yes', 'predicted'"):
        Response(two, output=output)


@pytest.mark.parametrize("output", [3, "a"])
def test_unknown_output_of_a_function(output):
    with pytest.raises(ValueError, match="choose None, 0, 1, 'predicted'"):
        probed(lambda X: X[:, :2], output=output)
    with pytest.raises(ValueError, match="does not have: choose None\\."):
        probed(lambda X: X[:, 0], output=output)


@pytest.mark.parametrize(
    "model",
    [
        LinearRegression().fit(X, Y),
        RandomForestRegressor(n_estimators=2).fit(X, np.c_[Y, Y]),
    ],
)
def test_predicted_class_of_a_regressor(model):
    with pytest.raises(ValueError, match="needs one output per class"):
        probed(model, output="predicted")


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (lambda X: 1.0, r"returned shape \(\) for 60 rows"),
        (lambda X: None, r"returned shape \(\) for 60 rows"),
        (lambda X: X[1:, 0], r"returned shape \(59,\) for 60 rows"),
        (lambda X: X[:, :0], r"returned shape \(60, 0\) for 60 rows"),
        (lambda X: X[:, :, None], r"returned shape \(60, 4, 1\) for 60 rows"),
        (lambda X: X[:, 0].astype(str), "not numbers, such as np.str_"),
        (lambda X: X[:, 0].astype(str).astype(object), "not numbers, such as '0.125"),
        (lambda X: X[:, 0] * 1j, "not numbers, such as np.complex"),
        (
            lambda X: np.full(len(X), np.datetime64("2024-01-01")),
            "not numbers, such as np.datetime",
        ),
        (
            lambda X: np.where(X[:, 0] > 1, np.nan, 1),
            r"NaN or infinity for \d+ of 60 rows",
        ),
        (
            lambda X: 1.7e308 * np.sign(X[:, 0]),
            "numbers beyond 1e.306 for 60 of 60 rows",
        ),
        (
            lambda X: np.where(X[:, :2] > 1, np.inf, 1),
            r"infinity for \d+ of 60 rows, first for row",
        ),
    ],
)
def test_invalid_responses_are_refused(returned, message):
    with pytest.raises(ModelOutputError, match=message) as caught:
        probed(returned)
    assert "\n" not in str(caught.value)


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")  # the tree's own
def test_infinite_log_probabilities_suggest_log_odds():
    model = DecisionTreeClassifier().fit(X, Y > 0)
    with pytest.raises(
        ModelOutputError, match=r"60 of 60.*attributions; response.*log_odds"
    ):
        probed(model, "predict_log_proba")
    assert np.isfinite(probed(model, "log_odds")[1]).all()


def test_labels_that_look_like_numbers_are_refused():
    model = LogisticRegression().fit(X, np.where(Y > 0, "1", "0"))
    with pytest.raises(ModelOutputError, match=r"not numbers.*another response_method"):
        probed(model, "predict")


def test_labels_without_probabilities_suggest_a_response_that_works():
    voting = VotingClassifier([("one", DecisionTreeClassifier())]).fit(X, TWO)
    with pytest.raises(
        ModelOutputError, match=r"response_method=skshapley.*same_class"
    ):
        probed(voting, "predict")
    assert probed(voting, same_class)[1].shape == (len(X), 2)
    with pytest.raises(ModelOutputError, match=r"one row of numbers, per row\.$"):
        probed(lambda X: np.where(X[:, 0] > 0, "yes", "no"))


def test_changing_numbers_of_outputs_are_refused():
    widths = iter([2, 3])
    response, _ = probed(lambda X: X[:, : next(widths)])
    with pytest.raises(ModelOutputError, match="3 outputs on block 7, and 2 before"):
        response(X, where=" on block 7")


@pytest.mark.parametrize("method", ["auto", "predict"])
def test_cluster_labels_are_refused(method):
    centres = KMeans(3, random_state=0).fit(X)
    for model, distances in (
        (centres, True),
        (make_pipeline(StandardScaler(), centres), True),
    ):
        with pytest.raises(
            ValueError, match=r"labels of clusters, not a quantity"
        ) as caught:
            ShapleyExplainer(model.fit(X), response_method=method).fit(X[:3])
        assert ('"transform" for the distances' in str(caught.value)) == distances


def test_cluster_distances_and_memberships_on_request():
    model = KMeans(3, random_state=0).fit(X)
    made = (
        ShapleyExplainer(model, response_method="transform")
        .fit(X[:9])
        .explain(X[50:52])
    )
    np.testing.assert_allclose(made.predictions, model.transform(X[50:52]), atol=1e-12)
    total = made.base_values + made.values.sum(axis=1)
    np.testing.assert_allclose(total, made.predictions, atol=1e-9)
    inside = ShapleyExplainer(
        model, response_method=lambda model, X: model.predict(X) == 0
    )
    made = inside.fit(X[::9]).explain(X[50:52])
    np.testing.assert_array_equal(made.predictions, model.predict(X[50:52]) == 0)


def test_densities_of_a_mixture():
    model = GaussianMixture(2, random_state=0).fit(X)
    made = ShapleyExplainer(model).fit(X[:9]).explain(X[50:52])
    np.testing.assert_allclose(
        made.predictions, model.score_samples(X[50:52]), atol=1e-9
    )


@pytest.mark.parametrize("backend", ["numpy_nullable", "pyarrow"])
def test_nullable_columns_become_floats_for_models_without_names(backend):
    table = np.where(RNG.random(X.shape) < 0.2, np.nan, X)
    table[:, 0] = np.round(table[:, 0])
    model = RandomForestRegressor(5, random_state=0).fit(table, Y)
    frame = pd.DataFrame(table, columns=list("abcd")).convert_dtypes(
        dtype_backend=backend
    )
    explained = [
        ShapleyExplainer(model, sampler="antithetic", max_rows=200, random_state=0)
        .fit(given[:9])
        .explain(given[-3:])
        for given in (pd.DataFrame(table, columns=list("abcd")), frame)
    ]
    np.testing.assert_array_equal(explained[1].values, explained[0].values)


BOOSTED = {
    "lightgbm": (
        "LGBMClassifier",
        {"linear_tree": True, "verbose": -1},
        {"raw_score": True},
    ),
    "catboost": (
        "CatBoostClassifier",
        {"verbose": False, "allow_writing_files": False},
        {"prediction_type": "RawFormulaVal"},
    ),
    "xgboost": ("XGBClassifier", {}, {"output_margin": True}),
}


@pytest.mark.parametrize("library", BOOSTED)
def test_log_odds_of_boosted_models_do_not_saturate(library):
    name, parameters, raw = BOOSTED[library]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    model = getattr(pytest.importorskip(library), name)(n_estimators=100, **parameters)
    model.fit(X, (X @ [3.0, 2.0, 0.0, 1.0] > 0).astype(int))
    far = X[:5] * 30.0
    said = Response(model, "log_odds").probe(far)
    np.testing.assert_allclose(said[:, 1], model.predict(far, **raw), rtol=1e-6)
    if library == "lightgbm":
        assert np.abs(said).max() > 40  # where the probability is 1 in float64


def test_log_odds_of_scikit_learn_do_not_saturate():
    X = np.arange(-50.0, 50.0)[:, None]
    model = LogisticRegression(C=1e6).fit(X, X[:, 0] > 0)
    far = X * 1e3
    said = Response(model, "log_odds").probe(far)
    np.testing.assert_array_equal(said[:, 1], model.decision_function(far))
