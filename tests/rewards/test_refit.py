"""Refitted models: the games against enumeration, one fit for all rows, and errors."""

from contextlib import redirect_stderr
from io import StringIO
from itertools import combinations
from math import comb

import narwhals
import numpy as np
import pandas as pd
import pytest
import sklearn
from joblib import parallel_config
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor
from sklearn.utils.fixes import parse_version

from skshapley import GlobalImportance, ShapleyExplainer, ShapleyImportance
from skshapley.batches import explain_batches
from skshapley.exceptions import ModelOutputError
from skshapley.rewards import RefitReward
from skshapley.samplers import Odd
from skshapley.stopping import StandardError

X, Y = load_diabetes(return_X_y=True, as_frame=True)
X, Y = X.iloc[:120, 2:8] * 20, Y[:120].to_numpy() / 100
NEAREST = KNeighborsRegressor(9)


def enumerated(predict, p, index="values"):
    """Shapley values ``(r, p)`` or interactions of two players, from all sets of players.

    `predict` returns v(S) of all rows, for a tuple of players.
    """
    worth = {S: predict(S) for s in range(p + 1) for S in combinations(range(p), s)}
    if index == "values":
        values = [0.0] * p
        for S, value in worth.items():
            s = len(S)
            for j in range(p):
                if j in S:
                    values[j] = values[j] + value / (p * comb(p - 1, s - 1))
                else:
                    values[j] = values[j] - value / (p * comb(p - 1, s))
        return np.array(values).T
    i, j = index
    total = 0.0
    for S, value in worth.items():
        s = len(set(S) - {i, j})
        sign = (-1) ** (i in S) * (-1) ** (j in S)
        total = total + sign * value / ((p - 1) * comb(p - 2, s))
    return total


def refitted(model, X, y, rows, mean=None):
    """Return v of a model, fitted to the present columns."""

    def predict(S):
        if not S:
            return np.full(len(rows), y.mean() if mean is None else mean)
        columns = X.columns[list(S)]
        return clone(model).fit(X[columns], y).predict(rows[columns])

    return predict


class InContext(RegressorMixin, BaseEstimator):
    """A Gaussian process that stores its rows; `predict` does the work."""

    def fit(self, X, y):
        self.X_, self.y_ = np.asarray(X), y
        return self

    def _kernel(self, A):
        squares = ((A[:, None] - self.X_[None]) ** 2).mean(axis=2)
        return np.exp(-squares)

    def predict(self, X):
        mean = self.y_.mean()
        matrix = self._kernel(self.X_) + 0.3 * np.eye(len(self.X_))
        weights = np.linalg.solve(matrix, self.y_ - mean)
        return mean + self._kernel(np.asarray(X)) @ weights


class Counting(RegressorMixin, BaseEstimator):
    """The nearest rows in context, with the number of fits of all clones."""

    fits = 0

    def fit(self, X, y):
        type(self).fits += 1
        self.model_ = KNeighborsRegressor(5).fit(X, y)
        return self

    def predict(self, X):
        return self.model_.predict(X)


def test_values_equal_enumeration_of_refitted_models():
    rows = X[:5]
    explainer = ShapleyExplainer(clone(NEAREST).fit(X, Y), reward="refit").fit(X, Y)
    explanation = explainer.explain(rows)
    expected = enumerated(refitted(NEAREST, X, Y, rows), 6)
    np.testing.assert_allclose(explanation.values, expected, atol=1e-12)
    np.testing.assert_allclose(explanation.base_values, Y.mean())
    assert (explanation.standard_errors == 0).all()


def test_interactions_and_groups_equal_enumeration():
    rows = X[:3]
    parts = [["bmi", "s2"], ["bp"], ["s1"], ["s3", "s4"]]
    explainer = ShapleyExplainer(
        clone(NEAREST).fit(X, Y),
        reward="refit",
        groups={"first": parts[0], "last": parts[3]},
        interactions=True,
    )
    explanation = explainer.fit(X, Y).explain(rows)
    assert list(explanation.feature_names) == ["first", "bp", "s1", "last"]

    def predict(S):
        columns = [name for player in S for name in parts[player]]
        columns = [name for name in X.columns if name in columns]
        return refitted(NEAREST, X[columns], Y, rows)(tuple(range(len(columns))))

    np.testing.assert_allclose(explanation.values, enumerated(predict, 4), atol=1e-12)
    pair = explanation.interactions.values[:, 0, 3]
    np.testing.assert_allclose(pair, enumerated(predict, 4, (0, 3)), atol=1e-12)


def test_probabilities_start_from_class_shares():
    flowers, species = load_iris(return_X_y=True)
    flowers, species = flowers[::3], np.array(["a", "b", "c"])[species[::3]]
    model = KNeighborsClassifier(4).fit(flowers, species)
    explainer = ShapleyExplainer(model, reward="refit", output="b")
    explanation = explainer.fit(flowers, species).explain(flowers[:4])

    def predict(S):
        if not S:
            return np.full(4, (species == "b").mean())
        table = flowers[:, list(S)]
        return clone(model).fit(table, species).predict_proba(table[:4])[:, 1]

    np.testing.assert_allclose(explanation.values, enumerated(predict, 4), atol=1e-12)


def test_empty_coalition_may_be_a_fit_to_a_constant():
    model = DecisionTreeRegressor(criterion="absolute_error", max_depth=1).fit(X, Y)
    base = {}
    for empty in ("mean", "constant"):
        reward = RefitReward(empty=empty)
        explainer = ShapleyExplainer(model, reward=reward, max_rows=11).fit(X, Y)
        base[empty] = explainer.explain(X[:1]).base_values[0]
    assert base["mean"] == pytest.approx(Y.mean())
    constant = np.zeros((len(Y), 1))
    assert base["constant"] == clone(model).fit(constant, Y).predict(constant)[0]


def test_one_fit_of_a_coalition_serves_all_rows(tmp_path):
    model = Counting().fit(X, Y)
    before = dict(vars(model))
    counts = []
    for n in (1, 40):
        Counting.fits = 0
        ShapleyExplainer(model, reward="refit", random_state=0).fit(X, Y).explain(X[:n])
        counts.append(Counting.fits)
    assert counts == [62, 62]
    reward = RefitReward(memory=tmp_path)
    explainer = ShapleyExplainer(model, reward=reward, max_rows=31, random_state=0)
    explainer.fit(X, Y).explain(X[:2])
    Counting.fits = 0
    later = explainer.explain(X[2:4])
    assert Counting.fits == 0
    assert later.n_model_rows.tolist() == [31, 31]
    assert all(before[name] is value for name, value in vars(model).items())


@pytest.mark.parametrize(
    "backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)]
)
def test_workers_change_no_bit(backend):
    model = RandomForestRegressor(3, max_depth=2).fit(X, Y)
    options = {"reward": "refit", "max_rows": 30, "random_state": 0}
    alone = ShapleyExplainer(model, **options).fit(X, Y).explain(X[:3])
    with parallel_config(backend):
        two = ShapleyExplainer(model, **options, n_jobs=2).fit(X, Y).explain(X[:3])
    assert (alone.values == two.values).all()
    assert (alone.standard_errors == two.standard_errors).all()


def test_a_seed_belongs_to_a_coalition():
    tree = ExtraTreeRegressor(max_depth=2)
    scaled = make_pipeline(StandardScaler(), tree).fit(X, Y)
    values = [
        ShapleyExplainer(
            scaled,
            reward=RefitReward(random_state=seed),
            groups={"others": ["bp", "s1", "s2", "s3"]},
        )
        .fit(X, Y)
        .explain(X[:2])
        .values
        for seed in (0, 0, 1)
    ]
    assert (values[0] == values[1]).all()
    assert not np.allclose(values[0], values[2])


def frame_of_kinds():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "pay": rng.normal(size=60),
            "city": rng.choice(["Rome", "Oslo"], 60),
            "kind": pd.Categorical(rng.choice(list("uv"), 60)),
            "rooms": rng.integers(1, 5, 60),
        }
    )


def named_pipeline():
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["city", "kind"]),
        ("passthrough", ["pay", "rooms"]),
        sparse_threshold=0,
    )
    filled = SimpleImputer(keep_empty_features=True)
    return make_pipeline(columns, filled, KNeighborsRegressor(5))


LIBRARIES = [
    "pandas",
    pytest.param(
        "polars",
        marks=pytest.mark.skipif(
            parse_version(sklearn.__version__) < parse_version("1.8"),
            reason="scikit-learn then finds columns by a protocol that polars 2 dropped",
        ),
    ),
]


@pytest.mark.parametrize("library", LIBRARIES)
def test_models_that_name_columns_get_missing_values(library):
    table = frame_of_kinds()
    target = table["pay"] * (table["city"] == "Oslo") + table["rooms"]
    model = named_pipeline().fit(table, target)
    names = list(table)

    def predict(S):
        absent = [name for place, name in enumerate(names) if place not in S]
        if not S:
            return np.full(3, target.mean())
        masked = table.astype({"rooms": float})
        masked[absent] = np.nan
        return clone(model).fit(masked, target).predict(masked[:3])

    expected = enumerated(predict, 4)
    if library == "polars":
        polars = pytest.importorskip("polars")
        table = polars.from_pandas(table.assign(kind=table["kind"].astype(str)))
        model = named_pipeline().fit(table, target)
    reward = RefitReward(absent="missing")
    explainer = ShapleyExplainer(model, reward=reward).fit(table, target)
    np.testing.assert_allclose(explainer.explain(table[:3]).values, expected, atol=1e-9)


def fitted_to(names, table, target):
    """A pipeline of boosted trees that names its columns, some of these."""
    columns = make_column_transformer(
        (OneHotEncoder(sparse_output=False), [n for n in names if n == "city"]),
        ("passthrough", [n for n in names if n != "city"]),
    )
    boosted = HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=5)
    return make_pipeline(columns, boosted).fit(table, target)


@pytest.mark.parametrize("library", LIBRARIES)
def test_constant_columns_are_worth_as_much_as_none(library):
    """Boosted trees that name their columns learn nothing from constant ones."""
    table = frame_of_kinds()[["city", "pay", "rooms"]]
    table.loc[0, "pay"] = np.nan
    table.loc[1, "rooms"] = np.nan
    target = table["pay"].fillna(3.0) * (table["city"] == "Oslo")

    def predict(S):
        names = [name for place, name in enumerate(table) if place in S]
        if not S:
            return np.full(3, target.mean())
        return fitted_to(names, table, target).predict(table[:3])

    expected = enumerated(predict, 3)
    frame = table
    if library == "polars":
        frame = pytest.importorskip("polars").from_pandas(table)
    model = fitted_to(list(table), frame, target)
    reward = RefitReward(absent="constant")
    explainer = ShapleyExplainer(model, reward=reward).fit(frame, target)
    np.testing.assert_allclose(explainer.explain(frame[:3]).values, expected, atol=1e-9)


@pytest.mark.parametrize("absent", ["missing", "constant"])
def test_no_column_is_a_frame_of_constants_for_models_that_name_columns(absent):
    """The empty coalition of a decision function is a fit, to constant columns."""
    table = frame_of_kinds()
    target = table["pay"] > table["pay"].median()
    model = named_pipeline()
    model.steps[-1] = ("model", LogisticRegression())
    model.fit(table, target)
    reward = RefitReward(absent=absent)
    explainer = ShapleyExplainer(
        model,
        reward=reward,
        response_method="decision_function",
    )
    explanation = explainer.fit(table, target).explain(table[:2])
    share = target.mean()
    # one-hot columns of a constant category are penalised intercepts, which stay at 0
    expected = np.log(share / (1 - share))
    np.testing.assert_allclose(explanation.base_values, expected, atol=1e-3)


class SumOfColumns(RegressorMixin, BaseEstimator):
    """The sum of the columns of a frame of any library."""

    def fit(self, X, y):
        self.container_ = type(X)
        return self

    def predict(self, X):
        assert type(X) is self.container_
        return narwhals.from_native(X).to_numpy().sum(axis=1)


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_columns_leave_frames_of_other_libraries(library):
    """A frame keeps its container: models may name their columns."""
    convert = {
        "polars": lambda table: pytest.importorskip("polars").from_pandas(table),
        "pyarrow": lambda table: pytest.importorskip("pyarrow").table(table),
    }[library]
    table = pd.DataFrame([[1.0, 2.0, 4.0], [3.0, 0.0, 8.0]], columns=list("abc"))
    model = SumOfColumns().fit(convert(table), [0.0, 0.0])
    explainer = ShapleyExplainer(model, reward="refit")
    explainer.fit(convert(table), np.array([0.0, 0.0]))
    values = explainer.explain(convert(table)).values
    np.testing.assert_allclose(values, table, atol=1e-12)


def test_searches_are_refitted_by_their_best_parameters():
    table = X.iloc[:, :3]
    search = GridSearchCV(Ridge(), {"alpha": [0.1, 10.0]}, cv=2).fit(table, Y)
    found = ShapleyExplainer(search, reward="refit").fit(table, Y).explain(table[:2])
    best = Ridge(**search.best_params_).fit(table, Y)
    expected = ShapleyExplainer(best, reward="refit").fit(table, Y).explain(table[:2])
    np.testing.assert_allclose(found.values, expected.values, atol=1e-12)


@pytest.mark.parametrize(
    "weights", [np.arange(1.0, len(X) + 1), np.full(len(X), 3.0)], ids=["all", "equal"]
)
def test_weights_reach_the_fits(weights):
    """Unchanged: a penalty counts less against a larger sum of weights."""
    model = Ridge(alpha=100).fit(X, Y, weights)
    explainer = ShapleyExplainer(model, reward="refit").fit(X, Y, weights)

    def predict(S):
        if not S:
            return np.full(2, np.average(Y, weights=weights))
        table = X.iloc[:, list(S)]
        return clone(model).fit(table, Y, weights).predict(table[:2])

    np.testing.assert_allclose(
        explainer.explain(X[:2]).values, enumerated(predict, 6), atol=1e-10
    )


def test_a_run_does_not_continue_with_other_weights(tmp_path):
    """The same shares of the rows, but another sum, so that a penalty counts less."""
    model = Ridge(alpha=100).fit(X, Y)
    for weight in (1.0, 3.0):
        explainer = ShapleyExplainer(model, reward="refit", max_rows=20, random_state=0)
        explainer.fit(X, Y, np.full(len(X), weight))
        if weight == 1.0:
            explain_batches(explainer, X[:2], tmp_path)
    with pytest.raises(FileExistsError, match="begun with something else"):
        explain_batches(explainer, X[:2], tmp_path)


class NoEmptyColumn(DecisionTreeRegressor):
    """A tree that takes missing values, but no column without values."""

    def fit(self, X, y):
        if np.isnan(X).all(axis=0).any():
            raise ValueError("window shape cannot be larger than input array shape")
        return super().fit(X, y)


def test_a_model_that_takes_missing_values_is_not_blamed_for_them():
    """The hint of the reward has the word "missing" as well."""
    table = X.to_numpy().copy()
    table[0, 0] = np.nan
    model = NoEmptyColumn(max_depth=2, random_state=0).fit(table, Y)
    reward = RefitReward(absent="missing")
    explainer = ShapleyExplainer(model, reward=reward).fit(table, Y)
    remedy = r'could not fit NoEmptyColumn.*window shape.*absent="constant"'
    with pytest.raises(ValueError, match=remedy):
        explainer.explain(table[:1])


def test_impossible_requests_are_refused():
    model = clone(NEAREST).fit(X, Y)
    explainer = ShapleyExplainer(model, reward="refit")
    with pytest.raises(ValueError, match=r"call fit\(X_train, y_train\)"):
        explainer.fit(X)
    with pytest.raises(ValueError, match="fit without sample_weight"):
        explainer.fit(X, Y, sample_weight=np.arange(1.0, len(X) + 1))
    with pytest.raises(TypeError, match="pass an estimator with fit and predict"):
        ShapleyExplainer(model.predict, reward="refit").fit(X, Y)
    two = LogisticRegression().fit(X, Y > 1)
    with pytest.raises(ValueError, match=r"classes \[False\].*\[False, True\]"):
        ShapleyExplainer(two, reward="refit").fit(X[Y <= 1], Y[Y <= 1] > 1)
    table = frame_of_kinds()
    named = named_pipeline().fit(table, table["pay"])
    explainer = ShapleyExplainer(named, reward="refit").fit(table, table["pay"])
    with pytest.raises(ValueError, match=r'RefitReward\(absent="constant"\)'):
        explainer.explain(table[:1])
    bad = ShapleyExplainer(Flawed().fit(X, Y), reward="refit").fit(X, Y)
    with pytest.raises(ModelOutputError, match="NaN"):
        bad.explain(X[:1])


class Flawed(Counting):
    """Predictions of NaN from fewer than all columns."""

    def predict(self, X):
        predictions = super().predict(X)
        return predictions if X.shape[1] == 6 else np.full(len(X), np.nan)


def test_global_importance_of_refitted_models():
    rows, targets = X[60:], Y[60:]
    model = clone(NEAREST).fit(X[:60], Y[:60])
    importance = GlobalImportance(model, reward="refit").fit(X[:60], Y[:60])
    explanation = importance.explain(rows, targets)
    worth = refitted(NEAREST, X[:60], Y[:60], rows)
    expected = enumerated(lambda S: -((worth(S) - targets) ** 2), 6)
    np.testing.assert_allclose(explanation.values, expected.mean(axis=0), atol=1e-12)


def test_shared_coalitions_add_their_error_to_the_global_one():
    importance = GlobalImportance(
        clone(NEAREST).fit(X[:60], Y[:60]), reward="refit", max_rows=41, random_state=0
    )
    explanation = importance.fit(X[:60], Y[:60]).explain(X[60:], Y[60:])
    rows = explanation.rows
    expected = rows.standard_errors.mean(axis=0)
    np.testing.assert_allclose(explanation.estimation_errors, expected)
    spread = rows.values.std(axis=0, ddof=1) / np.sqrt(len(rows.values))
    total = np.hypot(spread, expected)
    np.testing.assert_allclose(explanation.standard_errors, total, rtol=0.02)


def test_importances_by_refitted_models():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(80, 3))
    target = table[:, 0] + 0.1 * rng.normal(size=80)
    selector = ShapleyImportance(LinearRegression(), cv=3, reward="refit")
    selector.fit(table, target)
    assert selector.get_support().tolist() == [True, False, False]


@pytest.mark.slow
def test_twelve_columns_against_all_fits():
    wine = load_wine().data
    table = (wine - wine.mean(axis=0)) / wine.std(axis=0)
    table, target = pd.DataFrame(table[:, 1:]), table[:, 0]
    known, rows = table[:80], table[80:100]
    model = InContext()
    truth = enumerated(refitted(model, known, target[:80], rows), 12)
    explainer = ShapleyExplainer(
        model.fit(known, target[:80]),
        reward="refit",
        sampler=Odd(),
        max_rows=241,
        random_state=0,
    )
    explanation = explainer.fit(known, target[:80]).explain(rows)
    assert explanation.n_evaluations.max() <= 242
    error = ((explanation.values - truth) ** 2).sum() / (truth**2).sum()
    assert error < 0.02
    off = np.abs(explanation.values - truth) / explanation.standard_errors
    assert (off < 1.96).mean() > 0.85


@pytest.fixture(scope="module")
def wide():
    """Ten columns, a target with one product, and six rows to explain."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(100, 10))
    target = table[:, 0] * table[:, 1] + table[:, 2] + 0.3 * table[:, 3]
    return table, target, rng.normal(size=(6, 10))


def explained(wide, rows, reward="refit", **options):
    table, target, _ = wide
    model = KNeighborsRegressor(5).fit(table, target)
    explainer = ShapleyExplainer(model, reward=reward, random_state=0, **options)
    return explainer.fit(table, target).explain(rows)


def test_a_stopping_rule_saves_fits(wide):
    rows = wide[2][:2]
    rule = StandardError(rtol=0.5)
    stopped = explained(wide, rows, max_rows=500, stopping=rule)
    assert stopped.converged.all()
    assert (stopped.n_evaluations < 400).all()
    sizes = np.abs(stopped.values).max(axis=1)
    assert (stopped.standard_errors.max(axis=1) < 0.5 * sizes).all()
    strict = StandardError(rtol=1e-6)
    spent = explained(wide, rows, max_rows=100, stopping=strict)
    assert not spent.converged.any()
    assert (spent.n_evaluations == 100).all()


def test_progress_counts_fits(wide):
    with redirect_stderr(StringIO()) as terminal:
        explained(wide, wide[2][:2], max_rows=40, verbose=True)
    assert "of 39 models" in terminal.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("keeps", [False, True])
def test_values_alone_and_in_company(wide, keeps, tmp_path):
    rows = wide[2]
    reward = RefitReward(memory=tmp_path if keeps else None)
    company = explained(wide, rows, reward, max_rows=100)
    alone = np.concatenate(
        [explained(wide, rows[[i]], reward, max_rows=100).values for i in range(3)]
    )
    errors = company.standard_errors[:3]
    # the root mean square of the difference is .3 to .8 standard errors
    assert ((alone - company.values[:3]) ** 2).mean() < (errors**2).mean()


def test_enumerated_values_do_not_depend_on_company():
    table = X.iloc[:, :4]
    model = LinearRegression().fit(table, Y)
    explainer = ShapleyExplainer(model, reward="refit").fit(table, Y)
    company = explainer.explain(table[:5]).values
    alone = explainer.explain(table[1:2]).values
    np.testing.assert_allclose(alone, company[1:2], rtol=0, atol=1e-12)
