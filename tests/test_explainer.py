"""ShapleyExplainer in scikit-learn: parameters, outputs, weights, pipelines, copies."""

import pickle
from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from skshapley import Explanation, ShapleyExplainer
from skshapley.rewards import BaselineReward, InterventionalReward
from skshapley.samplers import Antithetic, Kernel
from skshapley.solvers import LeastSquares, PermutationMean
from skshapley.stopping import StandardError

RNG = np.random.default_rng(0)
COEF = np.array([1.0, -2.0, 3.0, 0.5, 0.0])
BACKGROUND, X = RNG.normal(size=(12, 5)), RNG.normal(size=(4, 5))


def linear(X):
    return X @ COEF


def curved(X):
    return X[:, 0] * X[:, 1] + np.sin(X[:, 2]) * X[:, 3] + X[:, 4]


def additive_values(X, background, weights=None):
    """Shapley values of a linear function, in closed form."""
    return (X - np.average(background, axis=0, weights=weights)) * COEF


def rows_for(evals, background=BACKGROUND):
    """Return the model rows of a number of evaluations against the whole background."""
    return (evals - 2) * len(background) + 1


def explain(
    function=linear, X=X, background=BACKGROUND, sample_weight=None, **parameters
):
    parameters = {"random_state": 0, **parameters}
    explainer = ShapleyExplainer(function, **parameters)
    return explainer.fit(background, sample_weight=sample_weight).explain(X)


# --- what is returned -----------------------------------------------------------------


def test_the_record_is_complete():
    made = explain()
    assert isinstance(made, Explanation)
    np.testing.assert_allclose(made.values, additive_values(X, BACKGROUND), atol=1e-12)
    np.testing.assert_allclose(made.base_values, np.full(4, linear(BACKGROUND).mean()))
    np.testing.assert_array_equal(made.predictions, linear(X))
    assert made.feature_names.tolist() == ["x0", "x1", "x2", "x3", "x4"]
    assert made.output_names is None
    assert made.converged.all()
    assert made.n_evaluations.tolist() == [32] * 4
    assert made.n_model_rows.tolist() == [30 * 12 + 1] * 4
    assert made.settings.sampler == "Exact()"
    assert made.settings.n_background == 12


def test_the_model_is_called_once_for_each_table():
    """v(empty) once per fit, v(all) once per row; the other calls are permutations."""
    asked = []

    def model(X):
        asked.append(len(X))
        return linear(X)

    explainer = ShapleyExplainer(
        model, sampler="antithetic", max_rows=rows_for(40), random_state=0
    )
    explainer.fit(BACKGROUND)
    assert asked == [12]
    made = explainer.explain(X)
    assert asked[1] == 4
    assert sum(asked[1:]) == made.n_model_rows.sum()
    assert (made.n_model_rows <= rows_for(40)).all()


def test_values_of_every_output_add_up():
    iris, y = load_iris(return_X_y=True, as_frame=True)
    model = LogisticRegression(max_iter=1000).fit(iris, y)
    made = explain(model, iris[:6], iris[::20], sampler="antithetic", max_rows=225)
    assert made.values.shape == made.standard_errors.shape == (6, 4, 3)
    assert made.output_names.tolist() == [0, 1, 2]
    total = made.base_values + made.values.sum(axis=1)
    np.testing.assert_allclose(total, model.predict_proba(iris[:6]), atol=1e-12)


@pytest.mark.parametrize("columns", [1, 2])
def test_shape_follows_the_response(columns):
    flat = explain(lambda X: X[:, 0])
    table = explain(lambda X: X[:, :columns])
    assert flat.values.shape == (4, 5)
    assert table.values.shape == (4, 5, columns)
    assert table.base_values.shape == (4, columns)
    np.testing.assert_allclose(table.values[..., 0], flat.values, atol=1e-12)


def test_outputs_share_their_model_calls():
    """All classes cost as much as one class, and equal single classes."""
    iris, y = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=1000).fit(iris, y)
    background = iris[::30]
    n_rows = rows_for(30, background)
    run = partial(
        explain, model, iris[:3], background, sampler="antithetic", max_rows=n_rows
    )
    everything = run()
    for label in range(3):
        one = run(output=label)
        # sums over players may be added up in another order
        np.testing.assert_allclose(
            one.values, everything.values[..., label], rtol=0, atol=1e-14
        )
        assert one.n_model_rows.tolist() == everything.n_model_rows.tolist()


def test_predicted_output():
    iris, y = load_iris(return_X_y=True)
    model, rows = LogisticRegression(max_iter=1000).fit(iris, y), [0, 60, 120, 70]
    made = explain(model, iris[rows], iris[::30], output="predicted")
    whole = explain(model, iris[rows], iris[::30])
    for i, label in enumerate(model.predict(iris[rows])):
        np.testing.assert_allclose(
            made.values[i], whole.values[i, :, label], atol=1e-14
        )
        assert made.predictions[i] == whole.predictions[i, label]
        assert made.base_values[i] == pytest.approx(
            whole.base_values[i, label], abs=1e-14
        )


# --- background -----------------------------------------------------------------------


@pytest.mark.parametrize("sampler", ["exact", "antithetic", "kernel"])
def test_weights_of_the_background(sampler):
    weights = RNG.random(12) * 3
    made = explain(sample_weight=weights, sampler=sampler, max_rows=rows_for(60))
    expected = additive_values(X, BACKGROUND, weights)
    np.testing.assert_allclose(made.values, expected, atol=1e-12)


def test_integer_weights_equal_repeated_rows():
    weights = np.array([0, 1, 2, 3] * 3)
    weighted = explain(curved, sample_weight=weights)
    repeated = explain(curved, background=np.repeat(BACKGROUND, weights, axis=0))
    np.testing.assert_allclose(weighted.values, repeated.values, atol=1e-12)


def test_rows_with_zero_weight_are_dropped():
    weights = np.array([0.0, 2.0] * 6)
    broken = BACKGROUND.copy()
    broken[::2] = np.nan
    explainer = ShapleyExplainer(curved).fit(broken, sample_weight=weights)
    np.testing.assert_array_equal(explainer.background_, BACKGROUND[1::2])
    np.testing.assert_allclose(explainer.background_weights_, np.full(6, 1 / 6))


@pytest.mark.parametrize(
    "weights", [np.full(12, 1e308), np.full(12, 1e-320), np.full(12, True)]
)
def test_only_the_proportions_of_weights_matter(weights):
    np.testing.assert_allclose(
        explain(sample_weight=weights).values, explain().values, atol=1e-12
    )


def test_max_background_keeps_rows_of_the_background():
    explainer = ShapleyExplainer(linear, max_background=5, random_state=0).fit(
        BACKGROUND
    )
    rows = [BACKGROUND.tolist().index(row) for row in explainer.background_.tolist()]
    assert sorted(set(rows)) == rows
    assert len(rows) == 5
    again = ShapleyExplainer(linear, max_background=5, random_state=0).fit(BACKGROUND)
    np.testing.assert_array_equal(again.background_, explainer.background_)


def test_max_background_keeps_rows_with_positive_weight():
    """They represent the weighted rows and have equal weights."""
    weights = np.array([0.0, 1.0, 2.0, 3.0] * 3)
    explainer = ShapleyExplainer(linear, max_background=8, random_state=0)
    explainer.fit(BACKGROUND, sample_weight=weights)
    rows = [BACKGROUND.tolist().index(row) for row in explainer.background_.tolist()]
    assert (weights[rows] > 0).all()
    np.testing.assert_array_equal(explainer.background_weights_, np.full(8, 1 / 8))


@pytest.mark.parametrize("limit", [12, 100, np.int64(12)])
def test_max_background_above_the_number_of_rows(limit):
    explainer = ShapleyExplainer(linear, max_background=limit).fit(BACKGROUND)
    np.testing.assert_array_equal(explainer.background_, BACKGROUND)


def test_the_background_is_a_copy():
    background = BACKGROUND.copy()
    explainer = ShapleyExplainer(linear).fit(background)
    background[:] = 99
    np.testing.assert_allclose(
        explainer.explain(X).values, additive_values(X, BACKGROUND), atol=1e-12
    )


def test_the_record_has_a_copy_of_the_rows():
    instances = X.copy()
    made = explain(X=instances)
    instances[:] = 99
    np.testing.assert_array_equal(made.data.to_numpy(), X)


# --- players that cannot matter, groups -----------------------------------------------


def test_players_without_effect_get_exactly_zero_at_no_cost():
    background = BACKGROUND.copy()
    background[:, 1:] = X[0, 1:]
    made = explain(
        curved, X[:1], background, sampler="antithetic", max_rows=rows_for(20)
    )
    assert made.values[0, 1:].tolist() == [0.0] * 4
    assert made.standard_errors[0].tolist() == [0.0] * 5
    assert made.n_model_rows.tolist() == [1]


def test_groups_are_players():
    groups = {"pair": ["x0", "x3"], "rest": [1, 2, 4]}
    made = explain(groups=groups)
    single = additive_values(X, BACKGROUND)
    expected = np.column_stack(
        [single[:, [0, 3]].sum(axis=1), single[:, [1, 2, 4]].sum(axis=1)]
    )
    np.testing.assert_allclose(made.values, expected, atol=1e-12)
    assert made.feature_names.tolist() == ["pair", "rest"]
    assert made.data.columns.tolist() == ["pair", "rest"]


def test_one_group_of_everything():
    made = explain(curved, groups={"all": list(range(5))})
    np.testing.assert_allclose(made.values[:, 0], made.predictions - made.base_values)


# --- samplers, solvers, rewards, stopping ---------------------------------------------


@pytest.mark.parametrize(
    ("sampler", "solver"),
    [
        (Antithetic(), "auto"),
        ("antithetic", PermutationMean()),
        ("auto", "permutation-mean"),
        (Kernel(), LeastSquares()),
        ("auto", "least-squares"),
    ],
)
def test_names_and_rows(sampler, solver):
    made = explain(sampler=sampler, solver=solver, max_rows=rows_for(60))
    np.testing.assert_allclose(made.values, additive_values(X, BACKGROUND), atol=1e-12)


def test_component_objects_can_be_shared():
    sampler = Antithetic(references="all")
    before = dict(vars(sampler))
    first = explain(curved, sampler=sampler, max_rows=rows_for(60))
    second = explain(curved, sampler=sampler, max_rows=rows_for(60))
    np.testing.assert_array_equal(second.values, first.values)
    assert vars(sampler) == before


def test_auto_depends_on_the_budget():
    assert explain(max_rows=rows_for(32)).settings.sampler == "Exact()"
    assert explain(max_rows=rows_for(31)).settings.sampler.startswith("Antithetic(")
    assert explain(max_rows=rows_for(10)).settings.sampler.startswith("Antithetic(")
    assert explain(max_rows=rows_for(9)).settings.sampler.startswith("MonteCarlo(")
    least = explain(max_rows=rows_for(6))
    np.testing.assert_allclose(least.values, additive_values(X, BACKGROUND), atol=1e-12)
    with pytest.raises(ValueError, match=r"max_rows=4, .* at least 5 model rows"):
        explain(max_rows=4)
    stopped = explain(max_rows=rows_for(31), stopping=StandardError(rtol=0.1))
    assert stopped.settings.sampler.startswith("Antithetic(")


@pytest.mark.parametrize(
    "reward", ["baseline", BaselineReward(), BaselineReward([0.0] * 5)]
)
def test_baseline(reward):
    made = explain(curved, reward=reward, sampler="exact")
    row = (
        BACKGROUND.mean(axis=0)
        if reward == "baseline" or reward.baseline is None
        else np.zeros(5)
    )
    contrast = explain(curved, background=row[None], sampler="exact")
    np.testing.assert_allclose(made.values, contrast.values, atol=1e-12)
    assert made.n_model_rows.tolist() == [31] * 4


def test_budgets_count_the_references_of_the_reward():
    """A baseline is one row: a permutation and its reverse cost 2 (p - 1) model rows."""
    background = RNG.normal(size=(60, 5))
    options = dict(reward="baseline", sampler="antithetic", random_state=0)
    least = ShapleyExplainer(curved, max_rows=9, **options).fit(background).explain(X)
    assert least.n_model_rows.tolist() == [9] * 4
    with pytest.raises(ValueError, match=r"max_rows=8, .* at least 9 model rows"):
        ShapleyExplainer(curved, max_rows=8, **options).fit(background)


def test_reward_as_an_object():
    made = explain(curved, reward=InterventionalReward())
    np.testing.assert_array_equal(made.values, explain(curved).values)


def test_rows_stop_independently():
    """A row with an additive response stops early; the others continue."""
    rows = np.vstack([X, [0.0, 0.0, 0.0, 0.0, 5.0]])
    background = np.column_stack([BACKGROUND[:, :4] * [1, 0.2, 1, 1], BACKGROUND[:, 4]])
    made = explain(
        lambda X: np.exp(X[:, 0] * X[:, 1]) * X[:, 2] + X[:, 3] + X[:, 4],
        rows,
        background,
        sampler="antithetic",
        max_rows=rows_for(20_000),
        stopping=StandardError(rtol=0.1),
    )
    assert made.converged.all()
    assert made.n_evaluations.min() < made.n_evaluations.max()
    allowed = 0.1 * np.ptp(made.values, axis=1)
    assert (made.standard_errors.max(axis=1) <= allowed).all()


def test_inaccurate_rows_are_marked():
    made = explain(
        lambda X: np.exp(X[:, 0] * X[:, 1] * X[:, 2]),
        sampler="antithetic",
        max_rows=rows_for(40),
        stopping=StandardError(atol=1e-9),
    )
    assert not made.converged.any()


# --- randomness -----------------------------------------------------------------------

SAMPLED = {"sampler": "antithetic", "max_rows": rows_for(20)}


@pytest.mark.parametrize(
    "make", [lambda: 3, np.random.default_rng, np.random.RandomState]
)
def test_equal_random_states_give_equal_results(make):
    def state():
        return make() if make() == 3 else make(3)

    first, second = (explain(curved, random_state=state(), **SAMPLED) for _ in range(2))
    np.testing.assert_array_equal(first.values, second.values)


def test_unseeded_runs_can_be_repeated_from_their_record():
    """Its background was random, too."""
    options = dict(max_background=6, **SAMPLED)
    explainer = ShapleyExplainer(curved, **options).fit(BACKGROUND)
    made = explainer.explain(X)
    np.testing.assert_array_equal(explainer.explain(X).values, made.values)
    again = ShapleyExplainer(curved, random_state=made.settings.entropy, **options)
    np.testing.assert_array_equal(again.fit(BACKGROUND).explain(X).values, made.values)
    other = explainer.fit(BACKGROUND).explain(X)
    assert (other.values != made.values).any()
    assert other.settings.entropy != made.settings.entropy


@pytest.mark.parametrize("state", [np.random.default_rng(0), np.random.RandomState(0)])
def test_generators_advance_with_each_fit(state):
    explainer = ShapleyExplainer(curved, random_state=state, **SAMPLED)
    first = explainer.fit(BACKGROUND).explain(X).values
    np.testing.assert_array_equal(explainer.explain(X).values, first)
    assert (explainer.fit(BACKGROUND).explain(X).values != first).any()


# --- a transformer --------------------------------------------------------------------


def test_transform():
    explainer = ShapleyExplainer(linear).fit(BACKGROUND)
    np.testing.assert_array_equal(explainer.transform(X), explainer.explain(X).values)
    assert explainer.transform(X).flags.writeable
    assert explainer.get_feature_names_out().tolist() == ["x0", "x1", "x2", "x3", "x4"]
    np.testing.assert_allclose(
        ShapleyExplainer(linear).fit_transform(BACKGROUND),
        additive_values(BACKGROUND, BACKGROUND),
        atol=1e-12,
    )


def test_transform_of_several_outputs():
    iris, y = load_iris(return_X_y=True, as_frame=True)
    model = LogisticRegression(max_iter=1000).fit(iris, iris.columns.to_numpy()[y])
    explainer = ShapleyExplainer(model, groups={"sepal": [0, 1], "petal": [2, 3]}).fit(
        iris[::20]
    )
    table, made = explainer.transform(iris[:2]), explainer.explain(iris[:2])
    names = explainer.get_feature_names_out().tolist()
    assert names[:2] == ["sepal_petal length (cm)", "sepal_sepal length (cm)"]
    assert table.shape == (2, 6)
    assert names[4] == f"petal_{made.output_names[1]}"
    np.testing.assert_array_equal(table[:, 4], made.values[:, 1, 1])


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_set_output(kind):
    library = pytest.importorskip(kind)
    explainer = ShapleyExplainer(linear).set_output(transform=kind).fit(BACKGROUND)
    table = explainer.transform(X)
    assert isinstance(table, library.DataFrame)
    assert list(table.columns) == ["x0", "x1", "x2", "x3", "x4"]


def test_set_output_keeps_the_index():
    frame = pd.DataFrame(X, columns=list("abcde"), index=[3, 3, 1, 2])
    model = LinearRegression().fit(frame, linear(X))
    explainer = ShapleyExplainer(model).set_output(transform="pandas").fit(frame)
    table = explainer.transform(frame)
    assert table.index.tolist() == [3, 3, 1, 2]
    assert table.columns.tolist() == list("abcde")


# --- citizens' rights -----------------------------------------------------------------

DIABETES, TARGET = load_diabetes(return_X_y=True, as_frame=True)


@cache
def forest():
    model = RandomForestRegressor(n_estimators=3, max_depth=4, random_state=0)
    return model.fit(DIABETES, TARGET)


def test_works_in_a_pipeline():
    model = FrozenEstimator(forest())
    explainer = ShapleyExplainer(
        model, max_background=20, max_rows=1161, random_state=0
    )
    pipeline = make_pipeline(explainer, Ridge()).fit(DIABETES[:60], TARGET[:60])
    assert pipeline.predict(DIABETES[:3]).shape == (3,)
    assert pipeline[:-1].get_feature_names_out().tolist() == DIABETES.columns.tolist()


def test_weights_are_passed_through_a_pipeline():
    weights = np.zeros(60)
    weights[:10] = 1
    pipeline = make_pipeline(
        ShapleyExplainer(FrozenEstimator(forest()), max_rows=581), Ridge()
    )
    pipeline.fit(DIABETES[:60], TARGET[:60], shapleyexplainer__sample_weight=weights)
    pd.testing.assert_frame_equal(pipeline[0].background_, DIABETES[:10])


def test_works_in_a_cached_pipeline(tmp_path):
    explainer = ShapleyExplainer(
        FrozenEstimator(forest()), max_background=10, max_rows=581, random_state=0
    )
    plain = make_pipeline(clone(explainer), Ridge()).fit(DIABETES[:40], TARGET[:40])
    for _ in range(2):
        cached = make_pipeline(clone(explainer), Ridge(), memory=str(tmp_path))
        cached.fit(DIABETES[:40], TARGET[:40])
        np.testing.assert_array_equal(
            cached.predict(DIABETES[40:45]), plain.predict(DIABETES[40:45])
        )


def test_works_in_a_grid_search():
    explainer = ShapleyExplainer(
        FrozenEstimator(forest()), max_background=5, random_state=0
    )
    pipeline = make_pipeline(explainer, StandardScaler(), Ridge())
    grid = {
        "shapleyexplainer__max_rows": [141, 291],
        "shapleyexplainer__sampler": ["antithetic"],
    }
    search = GridSearchCV(pipeline, grid, cv=2).fit(DIABETES[:40], TARGET[:40])
    assert search.best_params_["shapleyexplainer__max_rows"] in (141, 291)


def test_cloning_keeps_the_fitted_model():
    explainer = clone(ShapleyExplainer(forest()))
    with pytest.raises(NotFittedError, match=r"sklearn\.frozen\.FrozenEstimator"):
        explainer.fit(DIABETES)


def test_clone_keeps_the_parameters_and_forgets_the_fit():
    explainer = ShapleyExplainer(
        FrozenEstimator(forest()),
        sampler=Antithetic(references="all"),
        groups={"blood": ["s1", "s2"]},
        max_rows=581,
        stopping=StandardError(rtol=0.1),
    ).fit(DIABETES[:10])
    copy = clone(explainer)
    assert copy.estimator.estimator is forest()
    assert copy.sampler.references == "all"
    assert copy.groups == {"blood": ["s1", "s2"]}
    with pytest.raises(NotFittedError):
        check_is_fitted(copy)
    with pytest.raises(NotFittedError):
        copy.explain(DIABETES[:1])


def test_parameters_are_only_stored():
    explainer = ShapleyExplainer(linear, sampler="nothing", max_rows=-1, n_jobs="many")
    assert explainer.get_params()["sampler"] == "nothing"
    before = explainer.get_params()
    explainer.set_params(sampler="auto", max_rows="auto", n_jobs=None).fit(BACKGROUND)
    assert explainer.get_params() == {
        **before,
        "sampler": "auto",
        "max_rows": "auto",
        "n_jobs": None,
    }


def test_pickling_a_fitted_explainer():
    explainer = ShapleyExplainer(forest(), max_rows=581, random_state=0).fit(
        DIABETES[:10]
    )
    copy = pickle.loads(pickle.dumps(explainer))
    made, again = explainer.explain(DIABETES[:2]), copy.explain(DIABETES[:2])
    np.testing.assert_array_equal(made.values, again.values)
    pd.testing.assert_frame_equal(made.data, again.data)


def test_repr_and_html():
    explainer = ShapleyExplainer(forest(), max_rows=60)
    assert "max_rows=60" in repr(explainer)
    assert "ShapleyExplainer" in explainer._repr_html_()
