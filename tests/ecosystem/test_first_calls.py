"""Models and pipelines of other libraries: fit, explain, compare with all coalitions."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from skshapley import ShapleyExplainer
from skshapley.responses import SurvivalAt

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

RNG = np.random.default_rng(0)
N, B, R = 200, 12, 3
NUMBERS = pd.DataFrame(RNG.normal(size=(N, 4)), columns=list("abcd"))
Y = NUMBERS.to_numpy() @ [1.0, -0.5, 2.0, 0.0] + NUMBERS["a"] * NUMBERS["b"]
TWO = (Y > 0.5).astype(int)
COUNTS = np.exp(Y / 3).round().to_numpy()
MIXED = NUMBERS[["a", "b"]].assign(
    city=RNG.choice(["Rome", "Oslo", "Bern"], N),
    day=pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.integers(0, 900, N), "D"),
)
GAPS = NUMBERS.mask(RNG.random(NUMBERS.shape) < 0.1)


def ebm(kind, target, **how):
    glassbox = pytest.importorskip("interpret.glassbox")
    how = {"outer_bags": 2, "max_rounds": 60, "n_jobs": 1, "random_state": 0, **how}
    return getattr(glassbox, kind)(**how), target


def machine_of_numbers():
    model, target = ebm("ExplainableBoostingRegressor", Y, interactions=3)
    return model.fit(NUMBERS, target), NUMBERS, {}


def machine_of_an_array():
    model, target = ebm("ExplainableBoostingRegressor", Y, interactions=2)
    return model.fit(NUMBERS.to_numpy(), target), NUMBERS.to_numpy(), {}


def machine_of_mixed_columns():
    table = MIXED.drop(columns="day")
    model, target = ebm("ExplainableBoostingClassifier", TWO, interactions=2)
    return model.fit(table, target), table, {"response_method": "log_odds"}


def machine_of_gaps():
    model, target = ebm("ExplainableBoostingRegressor", Y, interactions=2)
    return model.fit(GAPS, target), GAPS, {}


def groups_of_a_machine():
    model, target = ebm("ExplainableBoostingRegressor", Y, interactions=3)
    return model.fit(NUMBERS, target), NUMBERS, {"groups": {"both": ["a", "b"]}}


def probability_of_a_machine_without_pairs():
    model, target = ebm("ExplainableBoostingClassifier", TWO, interactions=0)
    return model.fit(NUMBERS, target), NUMBERS, {}


def counts_of_a_machine_without_pairs():
    how = {"interactions": 0, "objective": "poisson_deviance"}
    model, target = ebm("ExplainableBoostingRegressor", np.exp(Y / 3), **how)
    return model.fit(NUMBERS, target), NUMBERS, {}


def margins_of_a_machine_of_three_classes():
    model, target = ebm(
        "ExplainableBoostingClassifier", np.digitize(Y, [-0.5, 0.5]), outer_bags=1
    )
    return model.fit(NUMBERS, target), NUMBERS, {"response_method": "decision_function"}


def probabilities_of_a_machine_of_three_classes():
    how = {"outer_bags": 1, "interactions": 0}
    model, target = ebm(
        "ExplainableBoostingClassifier", np.digitize(Y, [-0.5, 0.5]), **how
    )
    return model.fit(NUMBERS, target), NUMBERS, {}


def survivors():
    util = pytest.importorskip("sksurv.util")
    time = np.exp(2 + Y / 3 + 0.1 * RNG.normal(size=N))
    return util.Surv.from_arrays(RNG.random(N) < 0.7, time)


def survival(module, kind, table=NUMBERS, **how):
    target = survivors()
    made = getattr(pytest.importorskip(f"sksurv.{module}"), kind)(**how)
    return made.fit(table, target), table, {}


def cox_model():
    return survival("linear_model", "CoxPHSurvivalAnalysis")


def cox_model_with_a_penalty():
    return survival(
        "linear_model", "CoxnetSurvivalAnalysis", NUMBERS.to_numpy(), n_alphas=5
    )


def boosted_lines():
    kind = "ComponentwiseGradientBoostingSurvivalAnalysis"
    return survival("ensemble", kind, n_estimators=30)


def boosted_survival_trees():
    return survival("ensemble", "GradientBoostingSurvivalAnalysis", n_estimators=9)


def boosted_survival_trees_with_dropout():
    how = {"n_estimators": 9, "dropout_rate": 0.4, "random_state": 0}
    return survival(
        "ensemble", "GradientBoostingSurvivalAnalysis", NUMBERS.to_numpy(), **how
    )


def survival_forest():
    how = {"n_estimators": 4, "max_depth": 4, "random_state": 0}
    return survival("ensemble", "RandomSurvivalForest", **how)


def survival_forest_of_little_memory():
    how = {"n_estimators": 4, "max_depth": 4, "random_state": 0, "low_memory": True}
    return survival("ensemble", "RandomSurvivalForest", **how)


def extra_survival_trees():
    how = {"n_estimators": 4, "max_depth": 4, "random_state": 0}
    return survival("ensemble", "ExtraSurvivalTrees", **how)


def survival_tree():
    return survival("tree", "SurvivalTree", max_depth=3)


def curves_of(case):
    model, table, _ = case()
    return model, table, {"response_method": SurvivalAt([0.01, 4.0, 8.0, 12.0])}


def curves_of_a_cox_model():
    return curves_of(cox_model)


def curves_of_a_cox_model_with_a_penalty():
    how = {"n_alphas": 5, "fit_baseline_model": True}
    return curves_of(lambda: survival("linear_model", "CoxnetSurvivalAnalysis", **how))


def curves_of_boosted_lines():
    return curves_of(boosted_lines)


def curves_of_a_survival_forest():
    return curves_of(survival_forest)


def curves_of_a_pipeline_of_a_survival_forest():
    forest = pytest.importorskip("sksurv.ensemble").RandomSurvivalForest(4, max_depth=4)
    model = make_pipeline(StandardScaler(), forest).fit(NUMBERS, survivors())
    return curves_of(lambda: (model, NUMBERS, {}))


def survival_times():
    return survival("linear_model", "IPCRidge")


def survival_ranks():
    return survival("svm", "FastSurvivalSVM", random_state=0)


def tree_of_interpret():
    glassbox = pytest.importorskip("interpret.glassbox")
    return glassbox.ClassificationTree(max_depth=3).fit(NUMBERS, TWO), NUMBERS, {}


def logistic_regression_of_interpret():
    glassbox = pytest.importorskip("interpret.glassbox")
    return glassbox.LogisticRegression().fit(NUMBERS, TWO), NUMBERS, {}


def additive(kind, target):
    pygam = pytest.importorskip("pygam")
    terms = pygam.s(0, n_splines=6) + pygam.l(1) + pygam.s(2, n_splines=6)
    table = NUMBERS.to_numpy()
    return getattr(pygam, kind)(terms).fit(table, target), table, {}


def logarithm_of_a_machine():
    """Counts, pairs of columns, texts and missing values."""
    table = GAPS.assign(city=MIXED["city"])
    how = {"objective": "poisson_deviance", "interactions": 3}
    model, target = ebm("ExplainableBoostingRegressor", COUNTS, **how)
    return model.fit(table, target), table, {"response_method": "log"}


def logarithm_of_a_poisson_gam():
    model, table, _ = additive("PoissonGAM", COUNTS)
    return model, table, {"response_method": "log"}


def logarithm_of_a_gam_with_a_tensor():
    """The columns of the tensor are a group."""
    pygam = pytest.importorskip("pygam")
    terms = pygam.te(0, 1, n_splines=5) + pygam.s(2, n_splines=6)
    table = NUMBERS.to_numpy()
    how = {"response_method": "log", "groups": {"tensor": [0, 1]}}
    return pygam.GammaGAM(terms).fit(table, COUNTS + 0.5), table, how


def linear_gam():
    return additive("LinearGAM", Y)


def tensors_of_a_gam():
    pygam = pytest.importorskip("pygam")
    terms = pygam.te(0, 1, n_splines=5) + pygam.s(2, n_splines=6)
    table = NUMBERS.to_numpy()
    return pygam.LinearGAM(terms).fit(table, Y), table, {}


def a_gam_of_one_tensor():
    pygam = pytest.importorskip("pygam")
    table = NUMBERS.to_numpy()[:, :3]
    return pygam.LinearGAM(pygam.te(0, 1, 2, n_splines=4)).fit(table, Y), table, {}


def poisson_gam():
    return additive("PoissonGAM", COUNTS)


def logistic_gam():
    return additive("LogisticGAM", TWO)


def resampled():
    pipeline = pytest.importorskip("imblearn.pipeline")
    sampler = pytest.importorskip("imblearn.over_sampling").RandomOverSampler(
        random_state=0
    )
    steps = StandardScaler(), sampler, LogisticRegression()
    return pipeline.make_pipeline(*steps).fit(NUMBERS, TWO), NUMBERS, {}


def resampled_trees():
    pipeline = pytest.importorskip("imblearn.pipeline")
    sampler = pytest.importorskip("imblearn.over_sampling").RandomOverSampler(
        random_state=0
    )
    steps = (
        sampler,
        StandardScaler(),
        RandomForestClassifier(5, max_depth=3, random_state=0),
    )
    return pipeline.make_pipeline(*steps).fit(NUMBERS, TWO), NUMBERS, {}


def balanced_forest():
    ensemble = pytest.importorskip("imblearn.ensemble")
    model = ensemble.BalancedRandomForestClassifier(5, max_depth=3, random_state=0)
    return model.fit(NUMBERS, TWO), NUMBERS, {}


def table_vectorizer():
    skrub = pytest.importorskip("skrub")
    return make_pipeline(skrub.TableVectorizer(), Ridge()).fit(MIXED, Y), MIXED, {}


def tabular_pipeline():
    skrub = pytest.importorskip("skrub")
    return skrub.tabular_pipeline(Ridge()).fit(MIXED, Y), MIXED, {}


def imputed():
    imputation = pytest.importorskip("feature_engine.imputation")
    return make_pipeline(imputation.MeanMedianImputer(), Ridge()).fit(GAPS, Y), GAPS, {}


def encoded(kind, final):
    encoders = pytest.importorskip("category_encoders")
    table = MIXED.drop(columns="day")
    return make_pipeline(getattr(encoders, kind)(), final).fit(table, Y), table, {}


def one_hot_encoder():
    return encoded("OneHotEncoder", Ridge())


def target_encoder():
    return encoded("TargetEncoder", HistGradientBoostingRegressor(max_iter=5))


def function_of_columns():
    step = FunctionTransformer(lambda table: np.sign(table) * np.log1p(np.abs(table)))
    return make_pipeline(step, Ridge()).fit(NUMBERS, Y), NUMBERS, {}


LOGARITHMS = (
    logarithm_of_a_machine,
    logarithm_of_a_poisson_gam,
    logarithm_of_a_gam_with_a_tensor,
)
CASES = (
    machine_of_numbers, machine_of_an_array, machine_of_mixed_columns, machine_of_gaps,
    groups_of_a_machine, probability_of_a_machine_without_pairs, counts_of_a_machine_without_pairs,
    logistic_regression_of_interpret, linear_gam, tensors_of_a_gam, a_gam_of_one_tensor,
    poisson_gam, logistic_gam, *LOGARITHMS, resampled,
    resampled_trees, balanced_forest, table_vectorizer, tabular_pipeline, imputed, one_hot_encoder,
    probabilities_of_a_machine_of_three_classes,
    target_encoder, function_of_columns, margins_of_a_machine_of_three_classes, cox_model,
    cox_model_with_a_penalty, boosted_lines, boosted_survival_trees,
    boosted_survival_trees_with_dropout, survival_forest, survival_forest_of_little_memory,
    extra_survival_trees, survival_tree, curves_of_a_survival_forest, curves_of_a_cox_model,
    curves_of_a_cox_model_with_a_penalty, curves_of_boosted_lines, survival_times, survival_ranks,
    curves_of_a_pipeline_of_a_survival_forest, tree_of_interpret,
)  # fmt: skip
SINGLE_PRECISION = (table_vectorizer, tabular_pipeline)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_values_agree_with_enumeration(case):
    model, table, how = case()
    read, truth = (
        ShapleyExplainer(model, sampler=sampler, **how)
        .fit(table[:B])
        .explain(table[B : B + R])
        for sampler in ("auto", "exact")
    )
    assert read.settings.closed_form is not None, read.settings.why_sampled
    atol = 1e-5 if case in SINGLE_PRECISION else 1e-8
    np.testing.assert_allclose(read.values, truth.values, rtol=0, atol=atol)
    total = read.base_values + read.values.sum(axis=1)
    np.testing.assert_allclose(total, truth.predictions, rtol=0, atol=atol)


@pytest.mark.parametrize("case", LOGARITHMS, ids=lambda case: case.__name__)
def test_logarithms_are_those_of_the_predictions(case):
    model, table, how = case()
    explanation = ShapleyExplainer(model, **how).fit(table[:B]).explain(table[B:])
    expected = np.log(model.predict(table[B:]))
    np.testing.assert_allclose(explanation.predictions, expected, atol=1e-10)
    base_value = np.log(model.predict(table[:B])).mean()
    np.testing.assert_allclose(explanation.base_values, base_value, atol=1e-10)


def test_boosting_machine_interactions_agree_with_enumeration():
    model, table, _ = machine_of_numbers()
    read, truth = (
        ShapleyExplainer(model, sampler=sampler, interactions=True)
        .fit(table[:B])
        .explain(table[B : B + R])
        .interactions
        for sampler in ("auto", "exact")
    )
    np.testing.assert_allclose(read.values, truth.values, rtol=0, atol=1e-8)


def test_boosting_machine_probabilities_are_sampled():
    model, target = ebm("ExplainableBoostingClassifier", TWO)
    made = (
        ShapleyExplainer(model.fit(NUMBERS, target))
        .fit(NUMBERS[:B])
        .explain(NUMBERS[:2])
    )
    assert made.settings.exact_response == "log_odds"


def test_steps_that_mix_columns_are_detected():
    step = FunctionTransformer(lambda table: table.assign(a=table["a"] * table["b"]))
    model = make_pipeline(step, Ridge()).fit(NUMBERS, Y)
    made = ShapleyExplainer(model).fit(NUMBERS[:B]).explain(NUMBERS[:2])
    assert "FunctionTransformer mixes columns" in made.settings.masked


def test_survival_of_boosted_trees_is_sampled():
    model, table, _ = boosted_survival_trees()
    explainer = ShapleyExplainer(
        model, response_method=SurvivalAt([4.0, 8.0]), random_state=0
    )
    made = explainer.fit(table[:B]).explain(table[B : B + R])
    assert made.settings.closed_form is None
    total = made.base_values + made.values.sum(axis=1)
    times = [
        [function(time) for time in (4.0, 8.0)]
        for function in model.predict_survival_function(table[B : B + R])
    ]
    np.testing.assert_allclose(total, times, rtol=0, atol=1e-8)
