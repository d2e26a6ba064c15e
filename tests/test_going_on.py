"""Budget saved by repeated coalitions buys draws; stopping rules; no false exactness."""

import numpy as np
import pytest
import sklearn
from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer

from skshapley import ShapleyExplainer, shapley_values
from skshapley.rewards import InterventionalReward
from skshapley.samplers import (
    SAMPLERS,
    Antithetic,
    Importance,
    Kernel,
    MonteCarlo,
    Odd,
    SamplerTraits,
)
from skshapley.solvers import Estimate, PermutationMean, ProjectedSGD
from skshapley.stopping import StandardError
from skshapley.testing import HybridGame, RandomGame, as_instances, explain_game

GO_ON = [
    *(
        name
        for name, sampler in SAMPLERS.items()
        if sampler().traits.goes_on and not sampler().traits.one_shot
    ),
    Kernel(replacement=True),
]


class Counted:
    """A game that counts its evaluations."""

    def __init__(self, game):
        self.game, self.n = game, 0

    def __call__(self, coalitions):
        self.n += len(coalitions)
        return self.game(coalitions)


class Unequal:
    """A step in a product, for mixed rows."""

    def __call__(self, rows):
        return (rows.prod(axis=1) > 0.1) + rows[:, 0] * rows[:, 1]


def game_of_instances(n_rows=7, p=9, b=3):
    """Rows in which 9, 8, 7, ... of 9 players have an effect."""
    rng = np.random.default_rng(1)
    X, background = rng.normal(size=(n_rows, p)), rng.normal(size=(b, p))
    background[:, 5] = X[:, 5] = 1.0
    background[:, 6] = X[::2, 6] = -1.0
    return HybridGame(Unequal(), X, background)


# --- a budget counts what was asked ---------------------------------------------------


@pytest.mark.parametrize(
    "sampler", [s for s in GO_ON if s != "local-permutations"], ids=str
)
def test_budget_saved_by_repeats_is_spent(sampler):
    """At 16 players and 1,000 evaluations 629 were asked by SGD's draws, 658 by pairs."""
    game = Counted(RandomGame(16, seed=0))
    result = shapley_values(
        game, n_players=16, sampler=sampler, max_evals=1000, random_state=0
    )
    price = SAMPLERS.get(sampler, Kernel)().price(16, 1)
    assert game.n == result.n_evaluations <= 1000
    assert result.n_evaluations > 1000 - price.step * price.draw - 1


@pytest.mark.parametrize("sampler", ["antithetic", "classical", "importance"])
@pytest.mark.parametrize("max_evals", [40, 400])
def test_all_coalitions_of_few_players_suffice(sampler, max_evals):
    """Nothing is left to evaluate; drawing on would not end."""
    game = Counted(RandomGame(4, seed=0))
    result = shapley_values(
        game, n_players=4, sampler=sampler, max_evals=max_evals, random_state=0
    )
    assert game.n == result.n_evaluations == 16


def test_no_draws_are_asked_for_when_all_coalitions_are_known():
    asks = []

    class Noted(Antithetic):
        def ask(self, rows, n):
            asks.append(n)
            return super().ask(rows, n)

    shapley_values(RandomGame(4), sampler=Noted(), max_evals=400, random_state=0)
    assert asks == [132]  # of three evaluations each


def test_the_search_for_new_coalitions_ends():
    """A method that knows few coalitions never spends a large budget."""
    result = shapley_values(
        RandomGame(8), sampler="local-permutations", max_evals=500, random_state=0
    )
    assert result.n_evaluations == 4 * 8 - 3


@pytest.mark.parametrize("sampler", GO_ON, ids=str)
def test_draws_do_not_depend_on_the_other_rows_of_the_block(sampler):
    game = game_of_instances()
    how = {"sampler": sampler, "max_evals": 290 if sampler == "stratified" else 160}
    everybody = explain_game(game, **how)
    assert (
        len(np.unique(everybody.n_evaluations)) > 1 or sampler == "local-permutations"
    )
    some = explain_game(game.take(np.arange(3)), **how)
    for name in ("values", "standard_errors", "n_evaluations", "n_model_rows"):
        np.testing.assert_array_equal(getattr(some, name), getattr(everybody, name)[:3])
    with sklearn.config_context(working_memory=0.05):
        parts = explain_game(game, **how)
    for name in ("values", "standard_errors", "n_evaluations", "n_model_rows"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(everybody, name))


@pytest.mark.parametrize("sampler", GO_ON, ids=str)
def test_ties_in_transformed_columns_change_nothing(sampler, binned):
    """Columns that a pipeline makes equal do not change the requests."""
    model, X = binned
    max_rows = 901 if sampler == "stratified" else 601

    def run(columnwise):
        reward = InterventionalReward(columnwise)
        options = {
            "sampler": sampler,
            "reward": reward,
            "max_rows": max_rows,
            "random_state": 0,
        }
        return ShapleyExplainer(model, **options).fit(X[:3]).explain(X[3:7])

    less, more = run(True), run(False)
    assert less.settings.masked.startswith("columns made once")
    np.testing.assert_allclose(less.values, more.values, rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        less.standard_errors, more.standard_errors, rtol=0, atol=1e-12
    )
    np.testing.assert_array_equal(less.n_model_rows, more.n_model_rows)
    assert (more.n_model_rows <= max_rows).all()


@pytest.fixture(scope="module")
def binned():
    """A regression on two bins of each of nine numbers, and its rows."""
    X, y = make_friedman1(60, 9, random_state=0)
    bins = KBinsDiscretizer(2, encode="ordinal", strategy="uniform")
    return make_pipeline(
        bins, RandomForestRegressor(3, max_depth=4, random_state=0)
    ).fit(X, y), X


class PlannedAntithetic(Antithetic):
    """Antithetic permutations without further draws."""

    traits = SamplerTraits(goes_on=False)


class PlannedImportance(Importance):
    """Importance sampling without further draws."""

    traits = SamplerTraits(goes_on=False)


def test_the_number_of_draws_is_fair_to_all_players():
    """Given their number, permutations are uniform: means are exact, false alarms 1e-5."""
    game = RandomGame(5, seed=3)
    found = explain_game(as_instances(game, 4000), sampler="antithetic", max_evals=26)
    values = found.values[:, :, 0]
    off = values.mean(axis=0) - game.shapley_values
    assert (np.abs(off) < 5 * values.std(axis=0) / np.sqrt(4000)).all()
    planned = explain_game(
        as_instances(game, 4000), sampler=PlannedAntithetic(), max_evals=26
    )
    assert (found.n_evaluations > planned.n_evaluations).mean() > 1 / 3


def test_one_shot_methods_keep_their_plan():
    """Surrogates would be tested on their training draws, and blocks depend on the budget."""
    game = as_instances(RandomGame(6), 2)
    asked = [
        explain_game(
            game, sampler="importance", solver=solver, max_evals=60
        ).n_evaluations
        for solver in ("regression-adjustment", "least-squares")
    ]
    assert (asked[0] < 50).all()
    assert (asked[1] > 55).all()
    assert not Odd.traits.goes_on


def test_additional_draws_reduce_errors():
    """Mean squared error over 100 rows: at most two thirds with the rest of the budget."""
    game = RandomGame(10, seed=5)
    errors = []
    for sampler in (Importance(), PlannedImportance()):
        how = {"sampler": sampler, "solver": "least-squares", "max_evals": 400}
        found = explain_game(as_instances(game, 100), **how).values[:, :, 0]
        errors.append(np.mean((found - game.shapley_values) ** 2))
    assert errors[0] < 0.75 * errors[1]


def test_stopping_rules_apply_to_additional_draws():
    """The planned draws miss the tolerance, and the additional draws reach it."""
    game = as_instances(RandomGame(10, seed=5), 20)
    how = {"sampler": "antithetic", "max_evals": 600}
    free = explain_game(game, **how)
    reached = free.standard_errors.max(axis=(1, 2))
    ruled = explain_game(game, stopping=StandardError(atol=3.3 * reached.max()), **how)
    assert ruled.converged.all()
    assert (ruled.n_evaluations <= 600).all()


def test_a_path_of_several_instances_keeps_its_shape():
    """Some rows continue while others have no budget left."""
    outcome = explain_game(
        as_instances(RandomGame(9), 6),
        sampler=Importance(),
        solver=ProjectedSGD(trace_every=1),
        max_evals=90,
    )
    steps, iterates, averages = outcome.solver.trace_
    assert iterates.shape == averages.shape == (len(steps), 6, 9, 1)
    np.testing.assert_array_equal(averages[-1], outcome.values)


# --- when the rule is asked -----------------------------------------------------------


class NotedStandardError(StandardError):
    """Never satisfied; notes the number of permutations at each check."""

    noted: list[int] = []

    def done(self, values, errors):
        type(self).noted.append(
            NotedStandardError.game.n / (NotedStandardError.game.game.n_players - 1)
        )
        return np.zeros(len(values), dtype=bool)


def test_stopping_rules_are_checked_early_and_rarely():
    """Rows are not looked at while their errors are far too large."""
    NotedStandardError.game, NotedStandardError.noted = Counted(SquareGame(30)), []
    shapley_values(
        NotedStandardError.game,
        n_players=30,
        sampler="antithetic",
        max_evals=20_000,
        stopping=NotedStandardError(atol=1e-9),
        random_state=0,
    )
    looks = np.unique(NotedStandardError.noted)
    assert looks[0] < 70
    assert len(looks) < 10
    assert looks[1] > 400  # of 690


@pytest.mark.parametrize("rtol", [0.1, 0.03, 0.01])
def test_skipped_looks_delay_no_stop(rtol):
    """Errors of plain means shrink with the root of the number of permutations.

    Looks grow by a factor of 1.6, so 1.7 times fewer evaluations were not enough.
    """
    how = {"n_players": 12, "sampler": "antithetic", "random_state": 0}
    rule = StandardError(rtol=rtol)
    stopped = shapley_values(SquareGame(12), max_evals=200_000, stopping=rule, **how)
    assert stopped.converged
    n_fewer = int(stopped.n_evaluations / 1.7)
    fewer = shapley_values(SquareGame(12), max_evals=n_fewer, stopping=None, **how)
    enough = rule.done(
        fewer.values[None, :, None], fewer.standard_errors[None, :, None]
    )
    assert not enough.any() or n_fewer < 1_200  # the first look


class SquareGame:
    """The square of the sum of the players' weights."""

    def __init__(self, n_players):
        self.n_players = n_players

    def __call__(self, coalitions):
        return (coalitions @ np.arange(self.n_players)) ** 2.0


def test_stopping_rules_may_exceed_the_default_budget():
    def spent(stopping):
        how = {"n_players": 30, "sampler": "antithetic", "random_state": 0}
        return shapley_values(SquareGame(30), stopping=stopping, **how).n_evaluations

    assert spent(StandardError(atol=1e-9)) > 10 * spent(None)


# --- what is never claimed ------------------------------------------------------------


class Sure(PermutationMean):
    """A solver that is sure of itself."""

    def result(self):
        values, *_ = super().result()
        return Estimate(values, np.zeros_like(values))


@pytest.mark.parametrize("sampler", [Antithetic(), MonteCarlo()])
def test_zero_errors_count_as_exact_only_for_exact_designs(sampler):
    outcome = explain_game(
        as_instances(RandomGame(6), 2), sampler=sampler, solver=Sure(), max_evals=60
    )
    assert not outcome.standard_errors.any()
    assert not outcome.converged.any()
    outcome = explain_game(
        as_instances(RandomGame(6), 2), sampler="exact", max_evals=64
    )
    assert outcome.converged.all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_missing_everywhere_have_no_effect(dtype):
    """NaN is no other than NaN: the player gets exactly 0 and costs nothing."""
    rng = np.random.default_rng(0)
    X, background = (rng.normal(size=(n, 5)).astype(dtype) for n in (2, 3))
    X[:, 2] = background[:, 2] = np.nan
    explainer = ShapleyExplainer(
        lambda X: np.nansum(X, axis=1) ** 2, sampler="exact", max_rows=91
    )
    made = explainer.fit(background).explain(X)
    assert made.n_evaluations.tolist() == [16, 16]
    assert (made.values[:, 2] == 0).all()
    # against a single background row, a value that is missing there too is the same
    # request
    background[0, 3] = X[0, 3] = np.nan
    explainer = ShapleyExplainer(
        lambda X: np.nansum(X, axis=1) ** 2,
        sampler="antithetic",
        max_rows=63,
        random_state=0,
    )
    made = explainer.fit(background[:1]).explain(X[:1])
    assert made.n_evaluations.tolist() == [8]
