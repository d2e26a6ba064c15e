"""Models without closed form are sampled, and the record names the reason."""

import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.decomposition import KernelPCA
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, RationalQuadratic
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler
from sklearn.svm import SVC, SVR

from skshapley import ShapleyExplainer
from skshapley.exceptions import UnreadableModelError
from skshapley.readers import read_model
from skshapley.rewards import BaselineReward

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X @ [1.0, 2.0, 0.0] + 0.1 * RNG.normal(size=60)
TWO, THREE = (Y > 0).astype(int), np.digitize(Y, [-1, 1])
HGB = HistGradientBoostingClassifier(max_iter=20, min_samples_leaf=5)
KNN = KNeighborsRegressor(3)


class Bent(LinearRegression):
    """A linear model that predicts something else."""

    def predict(self, X):
        return np.abs(super().predict(X))


class Unknown(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return X[:, 0] * X[:, 1]


# name: (model, target, parameters, why it is sampled, a response that would be read)
SAMPLED = {
    "no formula": (KNN, Y, {}, "KNeighborsRegressor.predict has no closed form", None),
    "not ours": (Unknown(), Y, {}, "Unknown.predict has no closed form", None),
    "a bent line": (Bent(), Y, {}, "Bent overrides predict of ", None),
    "a mixing step": (
        GridSearchCV(make_pipeline(KernelPCA(2), Ridge()), {}, cv=2), Y, {},
        r"KernelPCA .* \(step 'kernelpca'\)",
        None,
    ),
    "a step of a pipeline": (
        make_pipeline(StandardScaler(), MLPRegressor(max_iter=30, tol=10.0)), Y, {},
        "MLPRegressor.predict has no closed form", None,
    ),
    "a curve of trees": (
        make_pipeline(StandardScaler(), HGB), TWO, {}, "predict_proba is not the sum", "log_odds",
    ),
    "curves of trees": (HGB, THREE, {}, "predict_proba is not the sum", "decision_function"),
    "the logarithm of a curve": (
        GradientBoostingClassifier(n_estimators=30), TWO,
        {"response_method": "predict_log_proba"}, "predict_log_proba is not the sum", "log_odds",
    ),
    "the logarithm of a curve of a line": (
        LogisticRegression(), TWO, {"response_method": "predict_log_proba"},
        "LogisticRegression.predict_log_proba has no closed form", "log_odds",
    ),
    "steps of trees": (
        CalibratedClassifierCV(HGB, method="isotonic", cv=2), TWO, {},
        "CalibratedClassifierCV calibrates decision values with interactions", None,
    ),
    "a sigmoid of a forest": (
        CalibratedClassifierCV(RandomForestClassifier(5, random_state=0), cv=2), TWO, {},
        "decision_function is not the sum of its trees, a member of CalibratedClassifierCV", None,
    ),
    "sigmoids of lines": (
        GridSearchCV(SGDClassifier(loss="log_loss"), {}, cv=2), THREE, {"output": 1},
        "SGDClassifier.predict_proba has no closed form", "decision_function",
    ),
    "log-odds of three": (
        LogisticRegression(), THREE, {"response_method": "log_odds"}, "log_odds has no closed form",
        "decision_function",
    ),
    "flags of three": (
        BernoulliNB(), THREE, {"response_method": "log_odds"}, "BernoulliNB.log_odds has no",
        None,
    ),
    "votes": (SVC(), THREE, {"response_method": "decision_function"}, "has no closed form", None),
    "a kernel of all columns": (
        SVR(kernel="poly"), Y, {}, "kernel 'poly' of SVR is not known to be a product", None,
    ),
    "a process of all columns": (
        GaussianProcessRegressor(RationalQuadratic() + RBF(), optimizer=None), Y, {},
        "kernel RationalQuadratic.* is not known", None,
    ),
    "hard votes": (
        VotingClassifier([("a", RidgeClassifier()), ("b", GaussianNB())]), TWO,
        {"response_method": lambda model, X: model.predict(X)}, "response_method is a function",
        None,
    ),
    "a curved member": (
        VotingClassifier([("h", HGB), ("l", LogisticRegression())], voting="soft"), TWO, {},
        ("HistGradient.*predict_proba is not the sum of its trees, a member of "
        "VotingClassifier"),
        None,
    ),
    "an unknown member": (
        VotingRegressor([("r", Ridge()), ("k", KNN)]), Y, {},
        "KNeighborsRegressor.predict .* a member of VotingRegressor", None,
    ),
    "a bag of unknowns": (
        BaggingRegressor(KNN, n_estimators=2), Y, {}, "a member of BaggingRegressor", None,
    ),
    "a curved stack": (
        StackingRegressor([("r", Ridge())], RandomForestRegressor(3), cv=2), Y, {},
        "StackingRegressor has a predict that is not linear", None,
    ),
    "a bent target": (
        TransformedTargetRegressor(Ridge(), transformer=QuantileTransformer(n_quantiles=20)), Y, {},
        "target is transformed by QuantileTransformer", None,
    ),
    "a stacked probability": (
        StackingClassifier([("a", LogisticRegression()), ("b", RandomForestClassifier(3))]), TWO,
        {}, "StackingClassifier has a predict_proba that is not linear", "log_odds",
    ),
    "boosted lines": (
        AdaBoostClassifier(RidgeClassifier(), n_estimators=2), TWO,
        {"response_method": "decision_function"}, "boosts RidgeClassifier, which is not a tree",
        None,
    ),
    "depths": (
        IsolationForest(n_estimators=3), Y, {}, "IsolationForest.score_samples is not the sum",
        None,
    ),
    "each its own class": (
        SGDClassifier(loss="log_loss"), THREE, {"output": "predicted"},
        "predict_proba has no closed form", "decision_function",
    ),
    "asked for": (Ridge(), Y, {"sampler": "exact"}, "a sampler or solver was chosen", None),
}  # fmt: skip


@pytest.mark.parametrize("name", SAMPLED)
def test_the_record_names_the_obstacle_to_exact_values(name):
    model, target, how, reason, instead = SAMPLED[name]
    few = (
        {} if "sampler" in how else {"max_rows": 24}
    )  # less than all coalitions, which are exact
    how = {"random_state": 0, **few, **how}
    explainer = ShapleyExplainer(model.fit(X, target), **how).fit(X[:5])
    made = explainer.explain(X[:2])
    assert explainer.exact_ is None
    assert made.settings.closed_form is None
    assert re.search(reason, made.settings.why_sampled)
    assert made.settings.exact_response == instead
    assert (f"response_method={instead!r} would be exact" in repr(made)) == (
        instead is not None
    )


@pytest.mark.parametrize("name", [name for name, case in SAMPLED.items() if case[4]])
def test_the_suggested_response_is_exact(name):
    model, target, how, _, instead = SAMPLED[name]
    how = {**how, "response_method": instead}
    made = ShapleyExplainer(model.fit(X, target), **how).fit(X[:5]).explain(X[:2])
    assert made.settings.why_sampled is None
    assert "exact, read from" in repr(made)


def test_models_that_disagree_with_their_form_are_sampled():
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBRegressor(n_estimators=9).fit(X, Y)
    plain = model.predict

    def clip(table, output_margin=False):
        margin = plain(table, output_margin=output_margin)
        return margin if output_margin else np.maximum(margin, np.median(margin))

    model.predict = clip
    explanation = ShapleyExplainer(model).fit(X[:20]).explain(X[:3])
    assert re.search(
        "closed form adds up to .*, but the model returns",
        explanation.settings.why_sampled,
    )
    total = explanation.base_values + explanation.values.sum(axis=1)
    np.testing.assert_allclose(total, model.predict(X[:3]), rtol=0, atol=1e-6)


@pytest.mark.parametrize("n_background", [1, 3, 50])
@pytest.mark.parametrize("booster", ["gbtree", "gblinear"])
def test_several_quantiles_of_xgboost_are_sampled(booster, n_background):
    """Newer versions sort them in each row, whether or not background rows cross."""
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBRegressor(
        n_estimators=9,
        booster=booster,
        objective="reg:quantileerror",
        quantile_alpha=[0.45, 0.5, 0.55],
    ).fit(X, Y)
    explainer = ShapleyExplainer(model).fit(X[:n_background])
    assert explainer.exact_ is None
    explanation = explainer.explain(X)
    np.testing.assert_allclose(explanation.predictions, model.predict(X), rtol=1e-6)
    single = model.set_params(quantile_alpha=0.5).fit(X, Y)
    assert ShapleyExplainer(single).fit(X[:n_background]).exact_ is not None


def test_subclasses_with_their_own_predict_are_sampled():
    xgboost = pytest.importorskip("xgboost")

    class Clipped(xgboost.XGBRegressor):
        def predict(self, X):  # takes no output_margin
            return np.clip(super().predict(X), 0, None)

    class Named(xgboost.XGBRegressor):
        """Another name, and the same predictions."""

    model = Clipped(n_estimators=9).fit(X, Y)
    # no background row is clipped, so that nothing but the class tells
    made = ShapleyExplainer(model).fit(X[Y > 1]).explain(X[Y < -1])
    assert made.settings.why_sampled.startswith("Clipped overrides predict of XGBModel")
    total = made.base_values + made.values.sum(axis=1)
    np.testing.assert_allclose(total, 0, rtol=0, atol=1e-6)
    model = Named(n_estimators=9).fit(X, Y)
    assert (
        ShapleyExplainer(model).fit(X[:5]).explain(X[:2]).settings.closed_form
        == "trees"
    )


def test_wide_sparse_kernels_are_sampled():
    rng = np.random.default_rng(0)
    wide = sparse.csr_array(
        np.where(rng.random((60, 1001)) < 0.01, rng.random((60, 1001)), 0.0)
    )
    with pytest.raises(
        UnreadableModelError, match="With 1001 sparse columns, the model costs less"
    ):
        read_model(SVR().fit(wide, Y), "predict")
    assert (
        read_model(SVR().fit(wide[:, :1000], Y), "predict").label == "product kernels"
    )


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("wide", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    "model", [Ridge(), SVR(), PoissonRegressor(), LogisticRegression()]
)
def test_rows_refused_by_the_model_are_refused(model, wide, value):
    """Linear terms of NaN are NaN, and a kernel of infinity is 0: neither is an answer."""
    kind = sparse.csr_array if wide else np.asarray
    explainer = ShapleyExplainer(model.fit(kind(X), TWO)).fit(kind(X[:5]))
    bad = X[:3].copy()
    bad[1, 2] = value
    message = "infinite values.*'x2', row 1 of 3; impute"
    if np.isinf(value):
        message = "finite numbers; got inf in row 1, column 2 of"
    with pytest.raises(ValueError, match=message):
        explainer.explain(kind(bad))


def test_functions_are_sampled():
    made = ShapleyExplainer(lambda Z: Z @ [1.0, 2.0, 3.0]).fit(X[:5]).explain(X[:2])
    assert (
        made.settings.why_sampled
        == "The model is a function, which has no known closed form"
    )


def test_a_baseline_equals_a_background_of_one_row():
    model, how = SVR().fit(X, Y), {"reward": BaselineReward([0.1, 0.2, 0.3])}
    read = ShapleyExplainer(model, **how).fit(X[:5]).explain(X[:2])
    plain = ShapleyExplainer(model, **how, sampler="exact").fit(X[:5]).explain(X[:2])
    assert read.settings.closed_form == "product kernels"
    np.testing.assert_allclose(read.values, plain.values, rtol=0, atol=1e-13)


def test_the_report_names_the_obstacle_too():
    made = (
        ShapleyExplainer(HGB.fit(X, TWO), max_rows=24, random_state=0)
        .fit(X[:5])
        .explain(X[:2])
    )
    assert "response_method=&#x27;log_odds&#x27; would be exact" in made._repr_html_()
