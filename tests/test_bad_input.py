"""Invalid input is refused in one sentence before the model is called; finished work is kept."""

import multiprocessing
import os
import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from skshapley import ShapleyExplainer, ShapleyImportance, TreeExplainer, shapley_values
from skshapley.exceptions import ModelOutputError, PartialExplanationError
from skshapley.samplers import Antithetic, Exact
from skshapley.stopping import StandardError

RNG = np.random.default_rng(0)
BACKGROUND, X = RNG.normal(size=(10, 4)), RNG.normal(size=(6, 4))
FRAME = pd.DataFrame(
    {"age": [1, 2, 3], "job": ["a", "b", "a"], "kind": pd.Categorical(["u", "v", "u"])}
)


class Counter:
    """A function that counts how often it is called."""

    def __init__(self):
        self.calls = 0

    def __call__(self, X):
        self.calls += 1
        return np.arange(len(X), dtype=float)


def one_sentence(caught, owner="ShapleyExplainer"):
    text = str(caught.value)
    assert owner in text
    assert "\n" not in text
    return text


# --- parameters -----------------------------------------------------------------------

PARAMETERS = {
    "sampler unknown": (
        dict(sampler="antithetc"),
        ValueError,
        r"'antithetc' \(did you mean 'antithetic'\?\): choose one of 'antith",
    ),
    "sampler class": (dict(sampler=Exact), TypeError, r"write Exact\(\)"),
    "sampler none": (dict(sampler=None), TypeError, "sampler as one of .* got None"),
    "solver unknown": (
        dict(solver="lsq"),
        ValueError,
        "named 'lsq': choose one of .*'least-squares'",
    ),
    "solver object": (dict(solver=3), TypeError, "solver as one of .* got 3"),
    "reward unknown": (
        dict(reward="shap"),
        ValueError,
        "choose one of 'baseline', 'conditional', 'copula'",
    ),
    "reward object": (dict(reward=0), TypeError, "instance of Reward; got 0"),
    "pair": (
        dict(sampler="kernel", solver="permutation-mean"),
        TypeError,
        (
            "pair sampler Kernel, .* with solver PermutationMean, .*'antith.* or a solver "
            "of .*'least"
        ),
    ),
    "budget": (
        dict(sampler="exact", max_rows=14 * 10),
        ValueError,
        "max_rows=140, .* Exact with 4 players: it needs at least 141 model rows",
    ),
    "budget of walks": (
        dict(sampler="antithetic", max_rows=6),
        ValueError,
        "max_rows=6, .* Antithetic with 4 players: it needs at least 7 model rows",
    ),
    "budget of coalitions": (
        dict(sampler="leverage", max_rows=31),
        ValueError,
        "it needs at least 61 model rows",
    ),
    "budget text": (
        dict(max_rows="many"),
        ValueError,
        'max_rows as "auto" or a positive int',
    ),
    "budget none": (dict(max_rows=0), ValueError, "positive int.* got 0"),
    "budget None": (dict(max_rows=None), ValueError, "takes max_rows as .* got None"),
    "budget fraction": (dict(max_rows=2.5), ValueError, "got 2.5"),
    "budget bool": (dict(max_rows=True), ValueError, "got True"),
    "references": (
        dict(sampler=Antithetic(references="every")),
        ValueError,
        'references as one of "all"',
    ),
    "stopping": (
        dict(stopping=0.05),
        TypeError,
        r"got 0.05. Try .*StandardError\(rtol=0.05\)",
    ),
    "stopping by nothing": (
        dict(stopping=StandardError()),
        ValueError,
        "must be above 0",
    ),
    "groups unknown": (
        dict(groups={"g": ["x9"]}),
        ValueError,
        r"unknown column 'x9' in group 'g': choose among \['x0', 'x1'",
    ),
    "groups text": (dict(groups={"g": "x0"}), ValueError, "takes groups as None or"),
    "groups overlap": (
        dict(groups={"g": [0], "h": [0]}),
        ValueError,
        "'x0' in group 'h' and",
    ),
    "background none": (
        dict(max_background=0),
        ValueError,
        "None or a positive int; got 0",
    ),
    "background bool": (dict(max_background=True), ValueError, "got True"),
    "background text": (dict(max_background="all"), ValueError, "got 'all'"),
    "jobs none": (dict(n_jobs=0), ValueError, "n_jobs as None or an int but 0; got 0"),
    "jobs text": (dict(n_jobs="all"), ValueError, "got 'all'"),
    "verbose": (dict(verbose="yes"), ValueError, "a bool or an int >= 0; got 'yes'"),
    "method": (dict(response_method="predict"), ValueError, "which is called directly"),
}


@pytest.mark.parametrize(
    ("parameters", "error", "message"), PARAMETERS.values(), ids=PARAMETERS
)
def test_invalid_parameters(parameters, error, message):
    model = Counter()
    with pytest.raises(error, match=message) as caught:
        ShapleyExplainer(model, **parameters).fit(BACKGROUND)
    # a component speaks for itself of its own parameters
    own = "references" in message or "must be above" in message
    one_sentence(caught, "" if own else "ShapleyExplainer")
    assert not model.calls


@pytest.mark.parametrize("state", ["seed", -1, 1.5])
def test_invalid_random_state(state):
    model = Counter()
    with pytest.raises(ValueError, match=str(state)) as caught:
        ShapleyExplainer(model, random_state=state).fit(BACKGROUND)
    one_sentence(caught, "ShapleyExplainer takes random_state")
    assert not model.calls


def test_the_smallest_budget_works():
    """Permutations need one background row; other methods need all of them."""
    b = len(BACKGROUND)
    needed = {"exact": 14 * b, "antithetic": 6, "leverage": 6 * b, "monte-carlo": 3}
    for sampler, least in needed.items():
        least += 1  # the row to explain
        explainer = ShapleyExplainer(
            Counter(), sampler=sampler, max_rows=least, random_state=0
        )
        assert (explainer.fit(BACKGROUND).explain(X).n_model_rows <= least).all()
        with pytest.raises(ValueError, match=f"at least {least} model rows"):
            explainer.set_params(max_rows=least - 1).fit(BACKGROUND)


def test_parameters_made_invalid_after_fit():
    model = Counter()
    explainer = ShapleyExplainer(model).fit(BACKGROUND)
    model.calls = 0
    for wrong in (dict(n_jobs="all"), dict(n_jobs=None, sampler="exact")):
        with pytest.raises(ValueError, match=r"all|has sampler='exact' now: call fit"):
            explainer.set_params(**wrong).explain(X)
    assert not model.calls


def test_too_many_players_to_enumerate():
    model = Counter()
    with pytest.raises(
        ValueError, match=r"at most 20 players; got 30\. Put features into groups"
    ):
        ShapleyExplainer(model, sampler="exact").fit(np.zeros((2, 30)))
    assert not model.calls


# --- background -----------------------------------------------------------------------

BACKGROUNDS = {
    "empty array": (BACKGROUND[:0], ValueError, "0 sample"),
    "empty frame": (FRAME[:0], ValueError, "0 sample"),
    "no columns": (FRAME[[]], ValueError, "0 feature"),
    "two of one name": (
        FRAME[["age", "age"]],
        ValueError,
        r"more than one of the names \['age'\]:",
    ),
    "one row": (BACKGROUND[0], ValueError, "got 1D array instead"),
    "one column": (FRAME["age"], ValueError, "Series"),
    "names of two kinds": (
        FRAME.rename(columns={"age": 0}),
        TypeError,
        "only supported if all input features have string names",
    ),
    "nothing": (
        None,
        ValueError,
        "got None: pass an array, a sparse matrix or a frame",
    ),
    "a path": ("train.csv", ValueError, r"got 'train\.csv': pass an array"),
    "a number": (100, ValueError, "got 100: pass an array"),
    "a mapping": ({"age": [1.0]}, ValueError, "got dict: pass an array"),
    "a generator": (
        (row for row in BACKGROUND),
        ValueError,
        "got generator: pass an array",
    ),
    "groups": (FRAME.groupby("age"), ValueError, "got DataFrameGroupBy: pass an array"),
}


@pytest.mark.parametrize(
    ("background", "error", "message"), BACKGROUNDS.values(), ids=BACKGROUNDS
)
def test_invalid_backgrounds(background, error, message):
    model = Counter()
    with pytest.raises(error, match=message):
        ShapleyExplainer(model).fit(background)
    assert not model.calls


def test_a_model_in_the_place_of_rows_is_named():
    model = LinearRegression().fit(np.eye(3), [0, 1, 2])
    with pytest.raises(
        TypeError,
        match=r"the model LinearRegression .* rows: ShapleyExplainer\(model\)\.fit\(X_train",
    ):
        ShapleyExplainer(model).fit(model, np.eye(3))


def test_lazy_frames_are_refused():
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({"a": [1.0, 2.0]})
    explainer = ShapleyExplainer(Counter())
    with pytest.raises(ValueError, match=r"got LazyFrame: pass its collect\(\)"):
        explainer.fit(table.lazy())
    with pytest.raises(ValueError, match=r"2-dimensional container|1D array"):
        explainer.fit(table["a"])


WEIGHTS = {
    "NaN": (
        np.where(np.arange(10) == 3, np.nan, 1),
        "finite .* got nan for background row 3",
    ),
    "infinite": (
        np.where(np.arange(10) == 3, np.inf, 1),
        "finite .* got inf for background row 3",
    ),
    "negative": (np.arange(10) - 1.0, "got -1.0 for background row 0"),
    "all zero": (np.zeros(10), "not all of them zero; got 0.0"),
    "too few": (np.ones(9), r"shape \(10,\); got shape \(9,\)"),
    "a column": (np.ones((10, 1)), r"got shape \(10, 1\)"),
    "a number": (1.0, r"got shape \(\)"),
    "text": (["a"] * 10, "a number as sample_weight for each .* of dtype <U1"),
}


@pytest.mark.parametrize(("weights", "message"), WEIGHTS.values(), ids=WEIGHTS)
def test_invalid_weights(weights, message):
    model = Counter()
    with pytest.raises(ValueError, match=message) as caught:
        ShapleyExplainer(model).fit(BACKGROUND, sample_weight=weights)
    one_sentence(caught)
    assert not model.calls


# --- instances ------------------------------------------------------------------------

INSTANCES = {
    "one row": (BACKGROUND, X[0], ValueError, "got 1D array instead"),
    "a column of a frame": (
        FRAME,
        FRAME["age"],
        ValueError,
        "got a Series: pass rows with all columns, as in fit",
    ),
    "none": (BACKGROUND, X[:0], ValueError, "0 sample"),
    "width": (
        BACKGROUND,
        X[:, :3],
        ValueError,
        "3 features, but ShapleyExplainer is expecting 4",
    ),
    "words": (BACKGROUND, X.astype(str), ValueError, "dtype float64, and got <U"),
    "a frame for an array": (
        BACKGROUND,
        pd.DataFrame(X),
        TypeError,
        "pandas.DataFrame for a background of type numpy.ndarray",
    ),
    "an array for a frame": (
        FRAME,
        FRAME.to_numpy()[:, :2],
        TypeError,
        "numpy.ndarray for a background of type pandas.DataFrame",
    ),
    "no rows": (FRAME, FRAME[:0], ValueError, "0 sample"),
    "missing": (FRAME, FRAME[["age", "kind"]], ValueError, "needs the column 'job'"),
    "more": (FRAME, FRAME.assign(more=1), ValueError, "got the column 'more'"),
    "renamed": (
        FRAME,
        FRAME.rename(columns={"job": "jbo"}),
        ValueError,
        "it has the column 'jbo'",
    ),
    "dtype": (
        FRAME,
        FRAME.assign(age=list("abc")),
        ValueError,
        "'age' is .* instead of int64",
    ),
    "category": (
        FRAME,
        FRAME.assign(kind=pd.Categorical(["w", "u", "v"])),
        ValueError,
        r"categories \['w'\] in column 'kind', .*: it has \['u', 'v'\]",
    ),
    "numbers as names": (
        FRAME.set_axis([0, 1, 2], axis=1),
        FRAME.set_axis([0, 3, 1], axis=1),
        ValueError,
        "needs the column 2, which .* it has the column 3 instead",
    ),
}


@pytest.mark.parametrize(
    ("background", "instances", "error", "message"), INSTANCES.values(), ids=INSTANCES
)
def test_invalid_rows(background, instances, error, message):
    model = Counter()
    explainer = ShapleyExplainer(model).fit(background)
    model.calls = 0
    with pytest.raises(error, match=message):
        explainer.explain(instances)
    assert not model.calls


def test_unexpected_columns_are_named():
    explainer = ShapleyExplainer(Counter()).fit(FRAME)
    with pytest.raises(
        ValueError, match=r"needs the column 'kind', .* it has the column 'kin' instead"
    ) as caught:
        explainer.explain(FRAME.rename(columns={"kind": "kin"}))
    one_sentence(caught)


NAMED = pd.DataFrame(
    np.random.default_rng(0).normal(size=(30, 2)), columns=["a b", "c"]
)


def _catboost():
    catboost = pytest.importorskip("catboost")
    return catboost.CatBoostRegressor(
        iterations=2, verbose=0, allow_writing_files=False
    )


NAMED_MODELS = {
    "scikit-learn": LinearRegression,
    "a pipeline": lambda: make_pipeline(StandardScaler(), LinearRegression()),
    "XGBoost": lambda: pytest.importorskip("xgboost").XGBRegressor(n_estimators=2),
    "LightGBM": lambda: pytest.importorskip("lightgbm").LGBMRegressor(
        n_estimators=2, verbose=-1
    ),
    "CatBoost": _catboost,
}


@pytest.mark.parametrize("make", NAMED_MODELS.values(), ids=NAMED_MODELS)
def test_columns_unknown_to_the_model_are_refused_by_name(make):
    model = make().fit(NAMED, NAMED["c"])
    explainer = ShapleyExplainer(model)
    with pytest.raises(
        ValueError,
        match=r"got the column 'target', which the training data of .* does not have: leave",
    ) as caught:
        explainer.fit(NAMED.assign(target=1.0))
    one_sentence(caught)
    with pytest.raises(
        ValueError,
        match=r"got the columns 'id', 'day', which .*: leave the rest out, X\.drop",
    ):
        explainer.fit(NAMED.assign(id=1.0, day=2.0))
    explainer.fit(NAMED)
    with pytest.raises(
        ValueError, match=r"got the column 'target', which the background does not have"
    ) as caught:
        explainer.explain(NAMED[:2].assign(target=1.0))
    one_sentence(caught)


@pytest.mark.parametrize("make", NAMED_MODELS.values(), ids=NAMED_MODELS)
def test_columns_of_the_model_are_required(make):
    more = NAMED.assign(**{"d e": 0.5 * NAMED["c"], "f": 2 * NAMED["c"]})
    explainer = ShapleyExplainer(make().fit(more, more["c"]))
    with pytest.raises(
        ValueError, match=r"needs the column 'd.e', which the given table does not have"
    ) as caught:
        explainer.fit(more.drop(columns="d e"))
    one_sentence(caught)
    with pytest.raises(ValueError, match=r"needs the columns 'a.b', 'f', which"):
        explainer.fit(more[["c", "d e"]])
    with pytest.raises(
        ValueError,
        match=r"needs the column 'f', which .* it has the column 'F' instead",
    ):
        explainer.fit(more.rename(columns={"f": "F"}))
    explainer.fit(more)


WIDE = NAMED.assign(d=1.0, e=np.arange(30.0), f=0.0)
CHOICES = {
    "names": ([("one", StandardScaler(), ["a b", "e"])], "drop", ["a b", "e"]),
    "places": ([("one", StandardScaler(), [0, 3])], "drop", ["a b", "e"]),
    "a mask": (
        [("one", "passthrough", [True, False, False, True, False])],
        "drop",
        ["a b", "e"],
    ),
    "a slice of names": (
        [("one", StandardScaler(), slice("a b", "c"))],
        "drop",
        ["a b", "c"],
    ),
    "the rest, too": (
        [("one", StandardScaler(), ["a b"]), ("none", "drop", ["d", "f"])],
        "passthrough",
        ["a b", "c", "e"],
    ),
    "by a function": (
        [("one", StandardScaler(), make_column_selector(pattern="a|e"))],
        "drop",
        ["a b", "e"],
    ),
}


@pytest.mark.parametrize(
    ("steps", "remainder", "needed"), CHOICES.values(), ids=CHOICES
)
def test_a_column_transformer_needs_only_its_columns(steps, remainder, needed):
    model = make_pipeline(
        ColumnTransformer(steps, remainder=remainder), LinearRegression()
    )
    explainer = ShapleyExplainer(model.fit(WIDE, NAMED["c"]))
    lost = needed[-1]
    with pytest.raises(ValueError, match=f"columns are missing: {{'{lost}'}}"):
        explainer.fit(WIDE.drop(columns=lost))
    if isinstance(steps[0][2], list) and isinstance(
        steps[0][2][0], str
    ):  # which places are not
        values = explainer.fit(WIDE[needed]).explain(WIDE[needed][:3])
        whole = explainer.fit(WIDE).explain(WIDE[:3])
        np.testing.assert_allclose(
            values.to_frame(), whole.to_frame()[needed], atol=1e-12
        )


def test_a_method_may_need_fewer_columns_than_its_model():
    first = FunctionTransformer(lambda X: X[["a b", "e"]])
    model = make_pipeline(first, LinearRegression()).fit(WIDE, NAMED["c"])
    chosen = WIDE[["a b", "e"]]
    assert ShapleyExplainer(model).fit(chosen).explain(chosen[:2]).values.shape == (
        2,
        2,
    )


def test_a_model_to_be_refitted_may_receive_fewer_columns():
    model = LinearRegression().fit(WIDE, NAMED["c"])
    selector = ShapleyImportance(model, cv=2, random_state=0)
    assert selector.fit(NAMED, NAMED["c"]).n_features_in_ == 2


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_boosters_name_refused_columns(library):
    module = pytest.importorskip(library)
    make = module.XGBRegressor if library == "xgboost" else module.LGBMRegressor
    model = make(n_estimators=2, verbosity=-1 if library == "lightgbm" else 0)
    model.fit(NAMED, NAMED["c"])
    booster = model.get_booster() if library == "xgboost" else model.booster_
    with pytest.raises(
        ValueError, match="'target', which the training data of Booster does not have"
    ):
        TreeExplainer(booster).fit(NAMED.assign(target=1.0))
    with pytest.raises(ValueError, match=r"needs the column 'a.b', which"):
        TreeExplainer(booster).fit(NAMED[["c"]])


def test_before_fit():
    with pytest.raises(NotFittedError):
        ShapleyExplainer(Counter()).explain(X)
    with pytest.raises(NotFittedError):
        ShapleyExplainer(Counter()).get_feature_names_out()


def test_unfitted_model_names_frozen_estimator():
    with pytest.raises(
        NotFittedError, match=r"sklearn\.frozen\.FrozenEstimator"
    ) as caught:
        ShapleyExplainer(LinearRegression()).fit(BACKGROUND)
    one_sentence(caught)


def test_unknown_class_names_the_choices():
    model = LogisticRegression().fit(BACKGROUND, ["no", "yes"] * 5)
    with pytest.raises(
        ValueError, match=r"'ja', .* choose None, 'no', 'yes', 'pred"
    ) as caught:
        ShapleyExplainer(model, output="ja").fit(BACKGROUND)
    one_sentence(caught)


# --- any game -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        (dict(n_players=0), ValueError, "n_players as a positive int; got 0"),
        (dict(n_players=2.0), ValueError, "got 2.0"),
        (dict(), ValueError, "got None. Pass n_players="),
        (dict(n_players=3, sampler="?"), ValueError, "choose one of"),
        (
            dict(n_players=3, sampler="kernel", solver="linear"),
            TypeError,
            "cannot pair",
        ),
        (
            dict(n_players=3, sampler="exact", max_evals=7),
            ValueError,
            "at least 8 evaluations",
        ),
    ],
)
def test_invalid_reward_functions(parameters, error, message):
    reward = Counter()
    with pytest.raises(error, match=message) as caught:
        shapley_values(reward, **parameters)
    one_sentence(caught, "shapley_values")
    assert not reward.calls


def test_an_invalid_game():
    with pytest.raises(TypeError, match="takes a callable"):
        shapley_values([1.0, 2.0], n_players=1)


@pytest.mark.parametrize(
    ("reward", "message"),
    [
        (lambda S: np.ones(len(S) + 1), r"shape \(3,\) for 2 coalitions"),
        (lambda S: np.nan * S[:, 0], "NaN or infinity for 2 of 2 coalitions"),
        (
            lambda S: np.where(S.sum(axis=1) == 1, np.inf, 0.0),
            "infinity for 3 of 6 coalitions",
        ),
        (lambda S: 1.7e308 * S[:, 0], "numbers beyond 1e.306 for 1 of 2 coalitions"),
        (lambda S: ["a"] * len(S), "not numbers"),
        (lambda S: None, r"shape \(\) for 2 coalitions, instead of \(2,\)"),
        (lambda S: np.ones((len(S), 2, 2)), r"shape \(2, 2, 2\)"),
        (lambda S: np.ones((len(S), len(S))), r"shape \(6, 6\) for 6 coalitions"),
    ],
)
def test_games_that_return_nonsense(reward, message):
    with pytest.raises(ModelOutputError, match=message):
        shapley_values(reward, n_players=3)


def test_a_game_may_write_into_its_coalitions():
    def vandal(S):
        worth = (S @ [1.0, 2.0, 4.0]) ** 2
        S[:] = True
        return worth

    for sampler in ("exact", "antithetic", "kernel"):
        made = shapley_values(
            vandal, n_players=3, sampler=sampler, max_evals=8, random_state=0
        )
        np.testing.assert_allclose(made.values, [7.0, 14.0, 28.0])


# --- models that misbehave on the way -------------------------------------------------


class Misbehaves:
    """Does as it should for some calls, then something else."""

    def __init__(self, after, act):
        self.left, self.act = after, act

    def __call__(self, X):
        self.left -= 1
        good = np.sin(X).prod(axis=1) + X.sum(axis=1)
        return good if self.left >= 0 else self.act(good)


def raises(error):
    def act(good):
        raise error

    return act


ACTS = {
    "NaN": (
        lambda good: np.where(np.arange(len(good)) == 2, np.nan, good),
        "NaN .* first for row 2",
    ),
    "too few": (lambda good: good[1:], r"returned shape \(\d+,\) for \d+ rows"),
    "two outputs": (
        lambda good: np.column_stack([good, good]),
        "2 outputs .* and 1 before",
    ),
    "text": (lambda good: good.astype(str), "not numbers .*, such as"),
}


@pytest.mark.parametrize(("act", "message"), ACTS.values(), ids=ACTS)
@pytest.mark.parametrize(
    ("after", "where"),
    [(1, "on rows 0 to 5"), (2, "on mixtures of rows 0 to 5")],
)
def test_model_errors_name_the_rows(act, message, after, where):
    explainer = ShapleyExplainer(Misbehaves(after, act), max_rows=141).fit(BACKGROUND)
    with pytest.raises(ModelOutputError, match=message) as caught:
        explainer.explain(X)
    assert where in str(caught.value)
    one_sentence(caught, "The model")


@pytest.mark.parametrize(
    "cause",
    [
        KeyboardInterrupt(),
        ValueError("no more"),
        pytest.param(MemoryError(), marks=pytest.mark.slow),
        pytest.param(ModelOutputError("bad"), marks=pytest.mark.slow),
    ],
)
def test_finished_rows_are_kept(cause):
    """The working memory is so small that each row is a block."""
    frame = pd.DataFrame(X, columns=list("abcd"), index=list("pqrstu"))
    background = pd.DataFrame(BACKGROUND, columns=list("abcd"))

    def model(rows):
        if broken and mixed(rows.to_numpy()):
            raise cause
        return np.sin(rows % 50).prod(axis=1) + rows.sum(axis=1)

    frame.iloc[4:] += 100
    broken = False
    explainer = ShapleyExplainer(model, max_rows=141, random_state=0).fit(background)
    whole = explainer.explain(frame)
    broken = True
    with (
        sklearn.config_context(working_memory=1e-6),
        pytest.raises(PartialExplanationError, match="after 4 of 6 rows") as caught,
    ):
        explainer.explain(frame)
    assert type(cause).__name__ in one_sentence(caught, "Explaining stopped by")
    assert caught.value.__cause__ is cause
    kept = caught.value.explanation
    assert kept.index.tolist() == list("pqrs")
    np.testing.assert_array_equal(kept.values, whole.values[:4])
    np.testing.assert_array_equal(kept.n_model_rows, whole.n_model_rows[:4])
    assert len(pickle.loads(pickle.dumps(caught.value)).explanation) == 4


def test_interruption_before_the_first_finished_row():
    explainer = ShapleyExplainer(Misbehaves(2, raises(KeyboardInterrupt()))).fit(
        BACKGROUND
    )
    with pytest.raises(KeyboardInterrupt):
        explainer.explain(X)


@pytest.mark.parametrize("n_jobs", [None, pytest.param(2, marks=pytest.mark.slow)])
def test_finished_rows_survive_a_failing_worker(n_jobs):
    explainer = ShapleyExplainer(_fails_on_large, max_rows=141, n_jobs=n_jobs).fit(
        BACKGROUND
    )
    instances = np.vstack([X[:4], X[4:] + 100])
    with (
        sklearn.config_context(working_memory=1e-6),
        pytest.raises(
            PartialExplanationError, match="stopped by OSError after 4"
        ) as caught,
    ):
        explainer.explain(instances)
    assert len(caught.value.explanation) == 4


@pytest.mark.slow
def test_finished_rows_survive_a_dead_worker():
    explainer = ShapleyExplainer(_dies_on_large, max_rows=141, n_jobs=2).fit(BACKGROUND)
    instances = np.vstack([X[:4], X[4:] + 100])
    with (
        sklearn.config_context(working_memory=1e-6),
        pytest.raises(
            PartialExplanationError, match="stopped by TerminatedWorkerError after 4"
        ) as caught,
    ):
        explainer.explain(instances)
    assert len(caught.value.explanation) == 4


def mixed(rows):
    """Return True if a row mixes a large explained row with small background rows."""
    return ((rows > 50).any(axis=1) & (rows < 50).any(axis=1)).any()


def _fails_on_large(X):
    if mixed(X):
        raise OSError("disk full")
    return X.prod(axis=1)


def _dies_on_large(X):
    if mixed(X) and multiprocessing.parent_process() is not None:
        os._exit(1)
    return X.prod(axis=1)
