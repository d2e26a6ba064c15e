"""Regression adjustment: surrogates compared with enumeration, bias, honest errors, folds."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from skshapley import shapley_values
from skshapley.samplers import (
    Leverage,
    SamplerTask,
    SquareRoot,
)
from skshapley.solvers import RegressionAdjustment
from skshapley.solvers._sample_reuse import unit_sums
from skshapley.solvers._surrogates import fit_surrogate

P = 6
TREE = DecisionTreeRegressor(random_state=0)
CUBE = ((np.arange(2**P)[:, None] >> np.arange(P)) & 1).astype(bool)


def table(seed=0):
    rng = np.random.default_rng(seed)
    return 3 * CUBE @ rng.normal(size=P) + rng.normal(size=2**P)


def game(coalitions):
    return table()[coalitions @ (1 << np.arange(P))]


def exact(reward):
    return shapley_values(reward, n_players=P, sampler="exact", max_evals=2**P).values


class Copycat(KNeighborsRegressor):
    """No trees to read: its values are enumerated."""


@pytest.mark.parametrize(
    "surrogate",
    [
        "kernel",
        "tree",
        RandomForestRegressor(5, random_state=0),
        HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=3),
        LinearRegression(),
        Copycat(3),
    ],
)
def test_surrogate_agrees_with_enumeration(surrogate):
    rng = np.random.default_rng(0)
    seen = CUBE[1:-1][rng.permutation(2**P - 2)[:40]]
    fitted = fit_surrogate(surrogate, seen, np.ones(40), rng.normal(size=(40, 2)))
    np.testing.assert_allclose(fitted.shapley(), exact(fitted.predict), atol=1e-10)


def test_xgboost_surrogates_are_exact():
    """To single precision, because its trees are summed in float32."""
    xgboost = pytest.importorskip("xgboost")
    rng = np.random.default_rng(0)
    model = xgboost.XGBRegressor(n_estimators=5, max_depth=3, n_jobs=1)
    fitted = fit_surrogate(model, CUBE[1:-1], None, rng.normal(size=(2**P - 2, 1)))
    np.testing.assert_allclose(fitted.shapley(), exact(fitted.predict), atol=1e-6)


def test_linear_surrogate_agrees_with_enumeration():
    rng = np.random.default_rng(1)
    seen = CUBE[1:-1][rng.permutation(2**P - 2)[:40]]
    surrogate = fit_surrogate("linear", seen, np.ones(40), rng.normal(size=(40, 2)))
    np.testing.assert_allclose(
        surrogate.shapley(), exact(surrogate.predict), atol=1e-10
    )


def test_a_linear_surrogate_needs_no_correction_on_its_sample():
    """Without folds, sample reuse of the residuals equals their normal equations: zero."""
    rng = np.random.default_rng(2)
    design = Leverage().start(SamplerTask(P, [rng], 30)).ask(np.array([0]), 30)
    coalitions, expected = design.coalitions[0], design.expected_draws[0]
    values = rng.normal(size=(30, 1))
    fitted = fit_surrogate("linear", coalitions, expected, values)
    left = values - fitted.predict(coalitions)
    correction = unit_sums(coalitions, expected, left, 2).sum(axis=0)
    np.testing.assert_allclose(correction, 0, atol=1e-12)


@pytest.mark.thinned
@pytest.mark.parametrize("surrogate", ["linear", TREE], ids=["linear", "tree"])
@pytest.mark.parametrize(
    "sampler", [SquareRoot(replacement=True), Leverage()], ids=repr
)
def test_unbiased_with_honest_errors(surrogate, sampler):
    """Mean within 5 standard errors of the truth (false alarm below 1e-5 a player).

    Standard errors within 35 % of the deviation: surrogates of overlapping folds make
    units depend on one another.
    """
    runs = 40 if surrogate is TREE else 300
    solver = RegressionAdjustment(surrogate, folds=3 if surrogate is TREE else 4)
    results = [
        shapley_values(
            game,
            n_players=P,
            sampler=sampler,
            solver=solver,
            max_evals=38,
            random_state=i,
        )
        for i in range(runs)
    ]
    values = np.array([result.values for result in results])
    deviation = values.std(axis=0)
    assert (
        abs(values.mean(axis=0) - exact(game)) < 5 * deviation / np.sqrt(runs)
    ).all()
    errors = np.sqrt(np.mean([result.standard_errors**2 for result in results], axis=0))
    np.testing.assert_allclose(errors.mean(), deviation.mean(), rtol=0.35)
    np.testing.assert_allclose(values.sum(axis=1), table()[-1] - table()[0])


def test_variance_is_lower_than_sample_reuse_for_nearly_additive_games():
    def deviation(solver):
        runs = [
            shapley_values(
                game, n_players=P, solver=solver, max_evals=40, random_state=i
            ).values
            for i in range(40)
        ]
        return np.std(runs, axis=0).mean()

    assert deviation("regression-adjustment") < 0.85 * deviation("sample-reuse")


def test_regressors_without_closed_form_are_refused_for_many_players():
    solver = RegressionAdjustment(Copycat())
    with pytest.raises(
        ValueError, match="with 15 players: the values of a regressor other than"
    ):
        shapley_values(
            lambda S: S.sum(axis=1), n_players=15, solver=solver, max_evals=60
        )
    assert clone(solver).surrogate is not solver.surrogate


@pytest.mark.parametrize(
    ("sampler", "surrogate"), [("antithetic", "auto"), ("monte-carlo", TREE)], ids=str
)
def test_permutations_are_unbiased_with_honest_errors(sampler, surrogate):
    """The mean of 60 runs is within 5 standard errors: false alarm below 1e-5 a player.

    A tree that had seen its own unit would leave no residuals, and no errors. At least
    .88 of 360 intervals hold; with .95, fewer do with probability below 1e-6, and in a
    run they agree.
    """
    solver = RegressionAdjustment(surrogate, folds=5)
    how = dict(n_players=P, sampler=sampler, solver=solver, max_evals=50)
    results = [shapley_values(game, random_state=seed, **how) for seed in range(60)]
    values = np.array([result.values for result in results])
    errors = np.array([result.standard_errors for result in results])
    deviation = values.std(axis=0, ddof=1)
    off = values - exact(game)
    assert (abs(off.mean(axis=0)) < 5 * deviation / np.sqrt(60)).all()
    assert (abs(off) <= 1.96 * errors).mean() > 0.88
    np.testing.assert_allclose(values.sum(axis=1), table()[-1] - table()[0])


def smooth(coalitions):
    """A saturated sum of ten players, and a product."""
    total = coalitions @ np.linspace(0.1, 0.5, 10)
    return np.tanh(total - 1) + 0.3 * coalitions[:, 0] * total


def test_permutations_gain_on_smooth_games():
    """Half of the squared error of antithetic permutations, where .29 was measured."""
    squares = []
    for solver in ("permutation-mean", "regression-adjustment"):
        how = dict(n_players=10, sampler="antithetic", solver=solver, max_evals=150)
        runs = [shapley_values(smooth, random_state=seed, **how) for seed in range(8)]
        truth = shapley_values(smooth, n_players=10, sampler="exact").values
        squares.append(np.mean([(run.values - truth) ** 2 for run in runs]))
    assert squares[1] < squares[0] / 2


@pytest.mark.parametrize(
    ("solver", "max_evals"),
    [("regression-adjustment", 32), (RegressionAdjustment("linear"), 60)],
)
def test_permutations_without_interactions_of_surrogates_are_their_mean(
    solver, max_evals
):
    """With three pairs, and with an additive surrogate."""
    how = dict(n_players=P, sampler="antithetic", max_evals=max_evals, random_state=0)
    adjusted = shapley_values(game, solver=solver, **how)
    mean = shapley_values(game, solver="permutation-mean", **how)
    np.testing.assert_allclose(adjusted.values, mean.values, rtol=0, atol=1e-12)


@pytest.mark.parametrize("how", [{"index": "banzhaf"}, {"interactions": True}])
def test_permutations_have_shapley_values_only(how):
    with pytest.raises(ValueError, match="which RegressionAdjustment cannot give with"):
        shapley_values(
            game,
            n_players=P,
            sampler="antithetic",
            solver="regression-adjustment",
            **how,
        )
