"""Values agree with the definition, and with shap's exact algorithm for trees."""

from functools import cache

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPRegressor

from skshapley import ShapleyExplainer

RNG = np.random.default_rng(0)


def product(X):
    """All orders of interaction, so that no design is exact by luck."""
    return (
        np.exp(X[:, ::2].sum(axis=1) / 2) * np.cos(X.prod(axis=1)) + X[:, 0] * X[:, -1]
    )


@pytest.mark.parametrize("p", range(1, 8))
@pytest.mark.parametrize("b", [1, 3])
def test_enumeration(p, b, enumerated):
    background, X = RNG.normal(size=(b, p)), RNG.normal(size=(3, p))
    made = ShapleyExplainer(product, sampler="exact").fit(background).explain(X)
    np.testing.assert_allclose(
        made.values, enumerated(product, X, background), rtol=0, atol=1e-9
    )
    assert not made.standard_errors.any()
    assert made.converged.all()


@pytest.mark.parametrize("sampler", ["kernel", "leverage"])
def test_least_squares_on_all_coalitions(sampler, enumerated):
    """A budget for all coalitions leaves no randomness."""
    background, X = RNG.normal(size=(3, 6)), RNG.normal(size=(3, 6))
    explainer = ShapleyExplainer(
        product, sampler=sampler, max_rows=62 * 3 + 1, random_state=0
    )
    made = explainer.fit(background).explain(X)
    np.testing.assert_allclose(
        made.values, enumerated(product, X, background), rtol=0, atol=1e-9
    )


@pytest.mark.parametrize("groups", [{"g": [1, 4, 6]}, {"g": [0, 1], "h": [6, 2, 3]}])
def test_enumeration_over_groups(groups, enumerated):
    background, X = RNG.normal(size=(4, 7)), RNG.normal(size=(3, 7))
    taken = [column for members in groups.values() for column in members]
    players = [*groups.values(), *([c] for c in range(7) if c not in taken)]
    players.sort(key=min)
    made = (
        ShapleyExplainer(product, groups=groups, sampler="exact")
        .fit(background)
        .explain(X)
    )
    expected = enumerated(product, X, background, players)
    np.testing.assert_allclose(made.values, expected, rtol=0, atol=1e-9)
    sampled = ShapleyExplainer(
        product, groups=groups, sampler="antithetic", random_state=0
    )
    sampled = (
        sampled.set_params(max_rows=198 * len(background) + 1)
        .fit(background)
        .explain(X)
    )
    assert (
        np.abs(sampled.values - expected) <= 5 * sampled.standard_errors + 1e-9
    ).all()


def test_enumeration_of_several_outputs(enumerated):
    X, y = load_wine(return_X_y=True)
    X = X[:, :5] / X[:, :5].std(axis=0)
    model = LogisticRegression(max_iter=1000).fit(X, y)
    made = ShapleyExplainer(model, sampler="exact").fit(X[::30]).explain(X[:2])
    expected = enumerated(model.predict_proba, X[:2], X[::30])
    np.testing.assert_allclose(made.values, expected, rtol=0, atol=1e-9)


def margin_model():
    xgboost = pytest.importorskip("xgboost")
    X, y = load_diabetes(return_X_y=True)
    return xgboost.XGBClassifier(n_estimators=40, max_depth=4, n_jobs=1).fit(
        X, y > 140
    ), X


@pytest.mark.parametrize(
    "sampler",
    [
        pytest.param("monte-carlo", marks=pytest.mark.slow),
        "antithetic",
        pytest.param("orthogonal", marks=pytest.mark.slow),
        pytest.param("kernel", marks=pytest.mark.slow),
        "leverage",
    ],
)
def test_trees_of_shap(sampler):
    """Within 4 standard errors of shap's interventional TreeExplainer, on margins.

    100 values, each beyond 4 normal standard errors by chance 6e-5 of the time: a false
    alarm in one seed of 160. The trees are summed in float32, hence the allowance of
    1e-5, which is also all that features without a standard error get.
    """
    shap = pytest.importorskip("shap")
    model, X = margin_model()
    background, instances = X[:50], X[200:210]
    theirs = shap.TreeExplainer(
        model, shap.maskers.Independent(background, max_samples=50), model_output="raw"
    ).shap_values(instances, check_additivity=False)
    explainer = ShapleyExplainer(
        model,
        response_method="log_odds",
        sampler=sampler,
        max_rows=398 * len(background) + 1,
        random_state=0,
    )
    made = explainer.fit(background).explain(instances)
    assert made.standard_errors.max() > 1e-4
    assert (np.abs(made.values - theirs) <= 4 * made.standard_errors + 1e-5).all()


def test_trees_of_shap_exactly():
    shap = pytest.importorskip("shap")
    model, X = margin_model()
    background, instances = X[:20], X[200:202]
    theirs = shap.TreeExplainer(
        model, shap.maskers.Independent(background, max_samples=20), model_output="raw"
    ).shap_values(instances, check_additivity=False)
    explainer = ShapleyExplainer(model, response_method="log_odds", sampler="exact")
    made = explainer.fit(background).explain(instances)
    np.testing.assert_allclose(made.values, theirs, rtol=0, atol=1e-5)


# --- the answer does not depend on how it was computed --------------------------------

DIABETES, TARGET = load_diabetes(return_X_y=True)
INSTANCES = DIABETES[100:112]
PAIRS = ["exact", "antithetic", "orthogonal", "leverage"]
ARRAYS = (
    "values",
    "standard_errors",
    "base_values",
    "predictions",
    "n_evaluations",
    "n_model_rows",
)


@cache
def forest():
    model = RandomForestClassifier(n_estimators=5, max_depth=5, random_state=0)
    return model.fit(DIABETES, np.digitize(TARGET, [100, 200]))


@cache
def perceptron():
    options = dict(solver="lbfgs", max_iter=5000, random_state=0, alpha=10.0)
    return MLPRegressor(hidden_layer_sizes=(8,), **options).fit(DIABETES, TARGET)


def explained(model, X, sampler, **parameters):
    n_rows = (1022 if sampler == "exact" else 222) * 15 + 1
    parameters = {
        "max_rows": n_rows,
        "random_state": 0,
        "sampler": sampler,
        **parameters,
    }
    return ShapleyExplainer(model, **parameters).fit(DIABETES[:15]).explain(X)


@cache
def alone(model, n, sampler):
    """The first rows, in one process with the default memory."""
    return explained(model, INSTANCES[:n], sampler)


def assert_same(first, second, atol=0.0):
    for name in ARRAYS:
        ours, theirs = getattr(first, name), getattr(second, name)
        if atol:
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=atol)
        else:
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.thinned
@pytest.mark.parametrize("backend", ["loky", "threading"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_workers_change_nothing(n_jobs, backend):
    import joblib

    for sampler in PAIRS if backend == "threading" else ["antithetic"]:
        with joblib.parallel_config(backend=backend):
            made = explained(forest(), INSTANCES, sampler, n_jobs=n_jobs)
        assert_same(made, alone(forest(), 12, sampler))


@pytest.mark.thinned
@pytest.mark.parametrize(
    "sampler",
    [
        "antithetic",
        "leverage",
        *(pytest.param(s, marks=pytest.mark.slow) for s in PAIRS[::2]),
    ],
)
@pytest.mark.parametrize("memory", [0.2, 4096])
def test_the_working_memory_changes_nothing(sampler, memory):
    import sklearn

    for model, atol in ((forest(), 0.0), (perceptron(), 1e-9)):
        with sklearn.config_context(working_memory=memory):
            made = explained(model, INSTANCES[:6], sampler)
        assert_same(made, alone(model, 6, sampler), atol)


@pytest.mark.parametrize("sampler", PAIRS)
def test_rows_do_not_depend_on_later_rows(sampler):
    for model, atol in ((forest(), 0.0), (perceptron(), 1e-9)):
        whole = alone(model, 12, sampler)
        for n in (1, 6):
            assert_same(alone(model, n, sampler), whole[:n], atol)


@pytest.mark.parametrize("sampler", ["antithetic", "leverage"])
def test_frames_and_arrays_agree(sampler):
    frame, y = load_diabetes(return_X_y=True, as_frame=True)
    X = frame[100:106]
    model = RandomForestClassifier(n_estimators=5, max_depth=5, random_state=0)
    model.fit(frame, np.digitize(y, [100, 200]))
    explainer = ShapleyExplainer(
        model, sampler=sampler, max_rows=222 * 15 + 1, random_state=0
    )
    made = explainer.fit(frame[:15]).explain(X)
    assert_same(made, alone(forest(), 6, sampler))


def test_the_configuration_reaches_the_workers():
    X = DIABETES[100:104]
    import sklearn

    with sklearn.config_context(assume_finite=True):
        made = explained(_by_configuration, X, sampler="antithetic", n_jobs=2)
    np.testing.assert_allclose(made.values, X - DIABETES[:15].mean(axis=0), atol=1e-12)


def _by_configuration(X):
    import sklearn

    return X.sum(axis=1) * (1.0 if sklearn.get_config()["assume_finite"] else 100.0)
