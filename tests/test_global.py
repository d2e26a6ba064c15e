"""GlobalImportance compared with the definition of SAGE, the sage package, and repetition."""

import pickle
from itertools import combinations
from math import factorial

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_classification, make_regression
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.svm import LinearSVC

from skshapley import GlobalExplanation, GlobalImportance
from skshapley.exceptions import ModelOutputError, PartialExplanationError
from skshapley.samplers import SAMPLERS


def by_definition(predict, row_losses, X, background, weights=None, players=None):
    """SAGE values by Shapley's formula on the game of the mean loss over all rows.

    `row_losses` takes the mean responses of all rows, ``(n,)`` or ``(n, K)``.
    """
    columns = (
        list(X.columns) if isinstance(X, pd.DataFrame) else list(range(X.shape[1]))
    )
    players = [[column] for column in columns] if players is None else players
    everyone, worth = range(len(players)), {}
    for size in range(len(players) + 1):
        for coalition in map(frozenset, combinations(everyone, size)):
            present = [column for j in coalition for column in players[j]]
            outputs = predict(_hybrid(X, background, present))
            means = outputs.reshape(len(X), len(background), *outputs.shape[1:]).mean(
                axis=1
            )
            worth[coalition] = -np.average(row_losses(means), weights=weights)
    values, p = np.zeros(len(players)), len(players)
    for coalition, value in worth.items():
        for j in set(everyone) - coalition:
            share = (
                factorial(len(coalition))
                * factorial(p - len(coalition) - 1)
                / factorial(p)
            )
            values[j] += share * (worth[coalition | {j}] - value)
    return values, -worth[frozenset()], -worth[frozenset(everyone)]


def _hybrid(X, background, present):
    """Every background row for every row of X, the columns `present` taken from X."""
    ours, theirs = (index.ravel() for index in np.indices((len(X), len(background))))
    if isinstance(X, pd.DataFrame):
        rows = background.iloc[theirs].reset_index(drop=True)
        for column in present:
            rows[column] = X[column].array.take(ours)
        return rows
    rows = background[theirs]
    rows[:, present] = X[ours][:, present]
    return rows


@pytest.fixture(scope="module")
def two_classes():
    X, y = make_classification(150, 5, flip_y=0.2, random_state=0)
    return LogisticRegression(C=3).fit(X[:50], y[:50]), X[50:60], X[60:84], y[60:84]


@pytest.fixture(scope="module")
def numbers():
    X, y = make_regression(150, 5, noise=20.0, random_state=0)
    y = y + 40 * X[:, 0] * X[:, 1]
    model = make_pipeline(PolynomialFeatures(2), Ridge(10.0)).fit(X[:60], y[:60])
    return model, X[60:70], X[70:94], y[70:94]


# --- the definition -------------------------------------------------------------------


def agrees(explanation, expected):
    values, base_loss, full_loss = expected
    np.testing.assert_allclose(explanation.values, values, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(explanation.base_loss, base_loss, rtol=1e-12)
    np.testing.assert_allclose(explanation.full_loss, full_loss, rtol=1e-12)


def test_two_classes_by_definition(two_classes):
    model, background, X, y = two_classes

    def losses(means):
        return -np.log(means[np.arange(len(y)), y])

    explanation = GlobalImportance(model, sampler="exact").fit(background).explain(X, y)
    agrees(explanation, by_definition(model.predict_proba, losses, X, background))
    np.testing.assert_allclose(
        explanation.full_loss, log_loss(y, model.predict_proba(X))
    )
    np.testing.assert_allclose(
        explanation.values.sum(),
        explanation.base_loss - explanation.full_loss,
        rtol=1e-12,
    )


def test_three_named_classes_by_definition():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"], dtype=object)
    model = LogisticRegression(max_iter=1000).fit(X, names[y])

    def losses(means):
        return -np.log(means[np.arange(30), y[::5]])

    explanation = (
        GlobalImportance(model).fit(X[::15]).explain(X[::5], pd.Series(names[y[::5]]))
    )
    assert "Exact" in explanation.rows.settings.sampler  # few players are enumerated
    agrees(explanation, by_definition(model.predict_proba, losses, X[::5], X[::15]))


def test_squared_error_by_definition(numbers):
    model, background, X, y = numbers
    explanation = GlobalImportance(model, sampler="exact").fit(background).explain(X, y)
    agrees(
        explanation, by_definition(model.predict, lambda f: (y - f) ** 2, X, background)
    )
    np.testing.assert_allclose(
        explanation.full_loss, mean_squared_error(y, model.predict(X))
    )


def test_several_targets_by_definition():
    X, Y = make_regression(60, 4, n_targets=3, random_state=0)
    model = LinearRegression().fit(X[:20], np.exp(Y[:20] / 200))
    explanation = GlobalImportance(model).fit(X[:7]).explain(X[20:], Y[20:])
    expected = by_definition(
        model.predict, lambda f: ((Y[20:] - f) ** 2).mean(axis=1), X[20:], X[:7]
    )
    agrees(explanation, expected)


def test_a_custom_loss_by_definition(two_classes, numbers):
    model, background, X, y = two_classes

    def wrong(y, probabilities):
        return (model.classes_[probabilities.argmax(axis=1)] != y).astype(int)

    importance = GlobalImportance(model, loss=wrong, sampler="exact").fit(background)
    expected = by_definition(
        model.predict_proba, lambda means: wrong(y, means), X, background
    )
    agrees(importance.explain(X, y), expected)
    model, background, X, y = numbers

    def absolute(y, response):
        return np.abs(y - response)

    importance = GlobalImportance(model.predict, loss=absolute, sampler="exact").fit(
        background
    )
    expected = by_definition(
        model.predict, lambda means: absolute(y, means), X, background
    )
    agrees(importance.explain(X, y), expected)


def test_log_loss_of_functions_that_return_probabilities(two_classes):
    model, background, X, y = two_classes
    expected = GlobalImportance(model, sampler="exact").fit(background).explain(X, y)
    for function in (model.predict_proba, lambda X: model.predict_proba(X)[:, 1]):
        importance = GlobalImportance(function, loss="log_loss", sampler="exact").fit(
            background
        )
        np.testing.assert_allclose(importance.explain(X, y).values, expected.values)


def test_groups_and_frames_by_definition():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 60, 40),
            "job": pd.Categorical(rng.choice(["a", "b", "c"], 40)),
            "pay": rng.normal(size=40),
            "idle": np.arange(40.0),
        },
        index=[f"person {i}" for i in range(40)],
    )

    def predict(X):
        return np.asarray(X["age"] / 20 * (X["job"] == "a") + X["pay"] * X["age"] / 40)

    y = predict(frame) + rng.normal(size=40)
    background, X, y = frame[:8], frame[8:], y[8:]
    groups = {"person": ["age", "job"]}
    importance = GlobalImportance(predict, loss="squared_error", groups=groups)
    explanation = importance.fit(background).explain(X, y)
    players = [["age", "job"], ["pay"], ["idle"]]
    agrees(
        explanation,
        by_definition(predict, lambda f: (y - f) ** 2, X, background, players=players),
    )
    assert explanation.feature_names.tolist() == ["person", "pay", "idle"]
    assert explanation.rows.index.tolist() == X.index.tolist()
    # what the model never looks at gets nothing, without a doubt
    assert np.abs([explanation.values[2], explanation.standard_errors[2]]).max() < 1e-15


def test_weights_of_rows_and_background_by_definition(numbers):
    model, background, X, y = numbers
    rng = np.random.default_rng(0)
    ours, theirs = rng.integers(0, 4, len(X)), rng.integers(1, 4, len(background))
    importance = GlobalImportance(model, sampler="exact").fit(
        background, sample_weight=theirs
    )
    repeated = np.repeat(background, theirs, axis=0)
    expected = by_definition(
        model.predict, lambda f: (y - f) ** 2, X, repeated, weights=ours
    )
    agrees(importance.explain(X, y, sample_weight=ours), expected)


OF_GRAPHS = (
    "local",
    "local-permutations",
    "connected",
    "connected-regression",
    "myerson",
)


@pytest.mark.parametrize("sampler", sorted(SAMPLERS.keys() - set(OF_GRAPHS)))
def test_any_sampler_can_be_used(numbers, sampler):
    model, background, X, y = numbers
    exact = GlobalImportance(model, sampler="exact").fit(background).explain(X, y)
    importance = GlobalImportance(model, sampler=sampler, random_state=0).fit(
        background
    )
    explanation = importance.explain(X, y)
    # much nearer to the values of these rows than those are to the population's
    assert (
        np.abs(explanation.values - exact.values) < 0.3 * exact.standard_errors
    ).all()


# --- the sage package -----------------------------------------------------------------


@pytest.mark.parametrize("estimator", ["PermutationEstimator", "KernelEstimator"])
@pytest.mark.parametrize("task", ["two_classes", "numbers"])
def test_agrees_with_the_sage_package(task, estimator, request):
    sage = pytest.importorskip("sage")
    model, background, X, y = request.getfixturevalue(task)
    loss = "cross entropy" if task == "two_classes" else "mse"
    predict = model.predict_proba if task == "two_classes" else model.predict
    imputer = sage.MarginalImputer(predict, background)
    theirs = getattr(sage, estimator)(imputer, loss, random_state=0)
    how = {"n_permutations": 1024} if "Perm" in estimator else {"n_samples": 4096}
    theirs = theirs(X, y, bar=False, detect_convergence=False, **how)
    n_rows = 40 * len(background) + 1
    ours = GlobalImportance(
        model, sampler="antithetic", max_rows=n_rows, random_state=0
    )
    ours = ours.fit(background).explain(X, y)
    # both are of exactly these rows: their errors count no choice of rows but their own
    # draws
    z = (ours.values - theirs.values) / np.hypot(ours.estimation_errors, theirs.std)
    assert np.abs(z).max() < 4  # 5 players: false alarm below 4e-4


# --- errors ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def replicates(numbers):
    """SAGE values of 300 samples of 20 rows, one pair of permutations each, and exact ones."""
    model, background, X, y = numbers
    importance = GlobalImportance(model, sampler="exact").fit(background)
    truth = importance.explain(X, y).values
    drawn = np.random.default_rng(0).integers(len(X), size=(300, 20))
    how = {"sampler": "antithetic", "max_rows": 8 * len(background) + 1}
    # equal rows have equal explanations of one fit
    fits = (
        importance.set_params(random_state=seed, **how).fit(background)
        for seed in range(300)
    )
    return truth, [
        fitted.explain(X[rows], y[rows])
        for fitted, rows in zip(fits, drawn, strict=True)
    ]


def test_unbiased_with_a_single_pair_of_permutations(replicates):
    truth, samples = replicates
    values = np.array([sample.values for sample in samples])
    z = (values.mean(axis=0) - truth) / (values.std(axis=0, ddof=1) / np.sqrt(300))
    assert np.abs(z).max() < 4  # 5 players: false alarm below 4e-4


def test_standard_errors_include_rows_and_sampling(replicates):
    _, samples = replicates
    spread = np.var([sample.values for sample in samples], axis=0, ddof=1)
    claimed = np.mean([sample.standard_errors**2 for sample in samples], axis=0)
    # the variance of 300 values with tails is known to a relative 0.1 or so
    np.testing.assert_allclose(claimed, spread, rtol=0.4)
    assert np.isnan(samples[0].estimation_errors).all()  # a single unit tells nothing


def test_sampling_errors_refer_to_these_rows(numbers):
    model, background, X, y = numbers
    n_rows = 40 * len(background) + 1
    importance = GlobalImportance(model, sampler="monte-carlo", max_rows=n_rows)
    fits = (importance.set_params(random_state=s).fit(background) for s in range(25))
    runs = [fitted.explain(X[:8], y[:8]) for fitted in fits]
    spread = np.var([run.values for run in runs], axis=0, ddof=1)
    claimed = np.mean([run.estimation_errors**2 for run in runs], axis=0)
    # chi-square of 24 degrees over 24 leaves [0.2, 2.7] by less than 2e-5 a player; the
    # errors of ten walks are widened by 1.15 in the variance
    assert ((spread / claimed > 0.17) & (spread / claimed < 2.7)).all()
    frame = runs[0].to_frame()
    parts = frame["rows_error"] ** 2 + frame["estimation_error"] ** 2
    np.testing.assert_allclose(parts, frame["standard_error"] ** 2)


def test_standard_errors_of_weighted_rows(numbers):
    model, background, X, y = numbers
    rows = GlobalImportance(model, sampler="exact").fit(background).explain(X, y).rows
    equal = GlobalExplanation(rows, np.full(24, 1 / 24))
    by_hand = rows.values.std(axis=0, ddof=1) / np.sqrt(24)
    np.testing.assert_allclose(equal.standard_errors, by_hand)
    half = GlobalExplanation(
        rows, np.repeat([1 / 12, 0], 12)
    )  # rows of no weight do not count
    by_hand = rows.values[:12].std(axis=0, ddof=1) / np.sqrt(12)
    np.testing.assert_allclose(half.standard_errors, by_hand)
    one = GlobalImportance(model).fit(background).explain(X[:1], y[:1])
    assert np.isnan(one.standard_errors).all()


# --- the record -----------------------------------------------------------------------


def test_the_record(numbers):
    model, background, X, y = numbers
    explanation = GlobalImportance(model).fit(background).explain(X, y)
    frame = explanation.to_frame()
    assert frame.index.name == "feature"
    assert frame["importance"].is_monotonic_decreasing
    assert frame.loc["x2", "importance"] == explanation.values[2]
    assert "5 features, 24 rows; loss" in repr(explanation)
    rows = explanation.rows
    np.testing.assert_allclose(rows.predictions, -((y - model.predict(X)) ** 2))
    np.testing.assert_allclose(
        rows.base_values + rows.values.sum(axis=1), rows.predictions
    )
    again = pickle.loads(pickle.dumps(explanation))
    np.testing.assert_array_equal(again.values, explanation.values)


def test_values_do_not_depend_on_the_number_of_workers(two_classes):
    model, background, X, y = two_classes
    n_rows = 18 * len(background) + 1
    importance = GlobalImportance(
        model, sampler="antithetic", max_rows=n_rows, random_state=0
    )
    one = importance.fit(background).explain(X, y)
    many = importance.set_params(n_jobs=2).explain(X, y)
    np.testing.assert_array_equal(one.rows.values, many.rows.values)


def test_few_rows_get_more_evaluations_than_many():
    X = np.random.default_rng(0).normal(size=(2000, 20))
    importance = GlobalImportance(lambda X: X[:, :3].prod(axis=1), loss="squared_error")
    importance.fit(X[:2])
    for n, evals in ((2000, 40), (100, 164)):  # against two rows
        explanation = importance.explain(X[:n], np.zeros(n))
        assert explanation.rows.settings.max_rows == 2 * (evals - 2) + 1
        assert explanation.rows.settings.sampler == "Antithetic()"  # which has no bias
    importance.set_params(sampler="stratified")
    with pytest.raises(
        ValueError, match=r"was fitted with sampler='auto', and has .* again"
    ):
        importance.explain(X[:400], np.zeros(400))
    X = X[:400, :12]
    stratified = importance.fit(X[:2]).explain(X, np.zeros(400))
    assert stratified.rows.settings.max_rows == 2 * 504 + 1  # its least design


def test_certain_wrong_predictions_have_a_finite_loss():
    importance = GlobalImportance(lambda X: (X[:, 0] > 0) * 1.0, loss="log_loss")
    explanation = importance.fit([[-1.0], [1.0]]).explain([[1.0], [1.0]], [1, 0])
    assert explanation.base_loss == pytest.approx(np.log(2))
    assert explanation.full_loss == pytest.approx(-np.log(np.finfo(float).eps) / 2)


def test_missing_values_are_passed_to_the_model():
    X, y = make_regression(80, 3, random_state=0)
    X[::7, 0] = np.nan
    model = HistGradientBoostingRegressor(max_iter=5).fit(X[:40], y[:40])
    explanation = GlobalImportance(model).fit(X[:10]).explain(X[40:], y[40:])
    np.testing.assert_allclose(
        explanation.values.sum(), explanation.base_loss - explanation.full_loss
    )


def test_interrupted_work_keeps_the_finished_rows():
    """With so little memory that each row is finished by itself."""

    def model(X):
        if ((X > 50).any(axis=1) & (X < 50).any(axis=1)).any():
            raise KeyboardInterrupt
        return X.prod(axis=1)

    X = np.repeat([[1.0, 2.0, 3.0], [101.0, 102.0, 103.0]], [4, 2], axis=0)
    importance = GlobalImportance(model, loss="squared_error").fit(np.zeros((4, 3)))
    with (
        sklearn.config_context(working_memory=1e-6),
        pytest.raises(PartialExplanationError, match="after 4 of 6") as caught,
    ):
        importance.explain(X, np.zeros(6), sample_weight=[1, 1, 1, 3, 1, 1])
    kept = caught.value.explanation
    assert len(kept.rows) == 4
    np.testing.assert_allclose(kept.weights, [1 / 6, 1 / 6, 1 / 6, 1 / 2])


# --- bad input ------------------------------------------------------------------------


class Counting(LogisticRegression):
    calls = 0

    def predict_proba(self, X):
        Counting.calls += 1
        return super().predict_proba(X)


@pytest.fixture
def counting(two_classes):
    _, background, X, y = two_classes
    model = Counting().fit(X, y)
    Counting.calls = 0
    return model, background, X, y


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        (
            dict(loss="mse"),
            ValueError,
            r"got loss='mse' for .*: choose one of \['log_loss'",
        ),
        (dict(loss=3), ValueError, r"got loss=3 for .*: choose one of"),
        (
            dict(response_method="predict"),
            ValueError,
            "log_loss.*got predict of Counting",
        ),
        (dict(sampler="?"), ValueError, "no sampler named"),
        (
            dict(max_rows=3, sampler="antithetic"),
            ValueError,
            "at least [0-9]+ model rows",
        ),
        (
            dict(max_background=0),
            ValueError,
            "max_background as None or a positive int",
        ),
        (dict(groups={"a": ["x9"]}), ValueError, "unknown column 'x9'"),
    ],
)
def test_invalid_parameters(counting, parameters, error, message):
    model, background, *_ = counting
    with pytest.raises(error, match=message) as caught:
        GlobalImportance(model, **parameters).fit(background)
    assert "GlobalImportance" in str(caught.value)
    assert not Counting.calls


def test_models_incompatible_with_a_loss(two_classes):
    model, background, X, y = two_classes
    with pytest.raises(
        ValueError, match=r"loss='auto' for .* for a classifier or a regressor"
    ):
        GlobalImportance(model.predict_proba).fit(background)
    machine = LinearSVC().fit(X, y)
    with pytest.raises(
        ValueError, match=r"decision_function of LinearSVC: .*Calibrated"
    ):
        GlobalImportance(machine).fit(background)
    calibrated = CalibratedClassifierCV(machine, cv=2).fit(X, y)
    assert GlobalImportance(calibrated).fit(background).loss_.name == "log_loss"
    many = MultiOutputClassifier(model).fit(X, np.column_stack([y, y]))
    # Calibrated classifiers have one target, too.
    with pytest.raises(ValueError, match=r"MultiOutputClassifier: pass a callable"):
        GlobalImportance(many, loss="log_loss").fit(background)
    by_label = GlobalImportance(many, loss=lambda y, shares: (y - shares)[:, 0] ** 2)
    targets = np.column_stack([y, y])
    assert by_label.fit(background).explain(X, targets).base_loss > 0


LABELS = np.repeat([0, 1], 12)


@pytest.mark.parametrize(
    ("y", "weights", "message"),
    [
        (LABELS[:5], None, "inconsistent numbers of samples"),
        (
            LABELS[:, None],
            None,
            r"one label per row as y, shape \(24,\); got shape \(24, 1\)",
        ),
        (LABELS * 3, None, r"got the label 3 at row 12, but .* only for \[0, 1\]"),
        (np.where(LABELS, np.nan, 0), None, "got the label nan at row 12"),
        (LABELS.astype(str), None, "got the label '0' at row 0"),
        (LABELS, np.ones(3), r"sample_weight for each row, shape \(24,\)"),
        (LABELS, LABELS - 1, "got -1.0 for row 0"),
    ],
)
def test_invalid_targets_and_weights(counting, y, weights, message):
    model, background, X, _ = counting
    importance = GlobalImportance(model).fit(background)
    Counting.calls = 0
    with pytest.raises(ValueError, match=message):
        importance.explain(X, y, sample_weight=weights)
    assert not Counting.calls


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros((24, 2)), r"y of shape \(24,\), like the response; got \(24, 2\)"),
        (np.array(["1.5"] * 24), "needs finite numbers as y; got .*1.5"),
        (
            np.where(LABELS, np.inf, 0),
            "needs finite numbers as y; got .*inf.* at row 12",
        ),
    ],
)
def test_invalid_numbers(numbers, y, message):
    model, background, X, _ = numbers
    importance = GlobalImportance(model).fit(background)
    with pytest.raises(ValueError, match=message):
        importance.explain(X, y)


def test_invalid_returns_of_models_and_losses(numbers):
    model, background, X, y = numbers

    def explain(loss, model=model, y=y):
        return GlobalImportance(model, loss=loss).fit(background).explain(X, y)

    with pytest.raises(
        ModelOutputError, match=r"one finite number per row, .*got shape \(\)"
    ):
        explain(mean_squared_error)
    with pytest.raises(ModelOutputError, match="one finite number per row"):
        explain(lambda y, response: y * np.nan)
    with pytest.raises(ModelOutputError, match="NaN"):
        explain(
            "squared_error",
            model=lambda X: X[:, 0] * np.where(len(X) > 24, np.nan, 1.0),
        )
    with pytest.raises(
        ModelOutputError, match="needs probabilities; the model returned"
    ):
        explain("log_loss", model=lambda X: X[:, 0] * 9, y=LABELS)


@pytest.mark.parametrize("name", ["conditional", "copula", "empirical", "surrogate"])
def test_conditional_rewards_agree_with_their_games(name):
    """SAGE of a conditional reward: Shapley values of the mean loss of its games."""
    rng = np.random.default_rng(0)
    X = rng.multivariate_normal(np.zeros(3), 0.7 + 0.3 * np.eye(3), size=60)
    y = X[:, 0] * X[:, 1] + rng.normal(size=60)

    def model(rows):
        return rows[:, 0] * rows[:, 1]

    importance = GlobalImportance(
        model, loss="squared_error", reward=name, sampler="exact"
    )
    found = importance.fit(X[:40]).explain(X[40:], y[40:])
    game = importance.reward_.game(X[40:])
    worth = {}
    for coalition in (
        frozenset(c) for s in range(4) for c in combinations(range(3), s)
    ):
        present = np.isin(np.arange(3), list(coalition))
        means = game(np.tile(present, (20, 1, 1)), np.arange(20))[:, 0, 0]
        worth[coalition] = -((y[40:] - means) ** 2).mean()
    expected = [
        sum(
            factorial(len(c)) * factorial(2 - len(c)) / 6 * (worth[c | {j}] - worth[c])
            for c in worth
            if j not in c
        )
        for j in range(3)
    ]
    np.testing.assert_allclose(found.values, expected, rtol=0, atol=1e-9)
    assert type(importance.reward_).__name__ in found.rows.settings.reward


def test_an_unused_copy_of_a_column_matters_only_conditionally():
    rng = np.random.default_rng(1)
    first = rng.normal(size=200)
    X, y = np.column_stack([first, first]), first

    def model(rows):
        return rows[:, 0]

    def values(reward):
        importance = GlobalImportance(
            model, loss="squared_error", reward=reward, random_state=0
        )
        return importance.fit(X[:100]).explain(X[100:], y[100:]).values

    assert values("interventional")[1] == 0
    first, second = values("conditional")
    assert first == pytest.approx(second, rel=0.1)


def test_invalid_rewards_are_refused():
    with pytest.raises(
        ValueError, match="GlobalImportance has no reward named 'no such'"
    ):
        GlobalImportance(lambda X: X[:, 0], loss="squared_error", reward="no such").fit(
            np.eye(3)
        )
