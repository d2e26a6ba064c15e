"""The engine: evaluations, blocks, stopping, players without effect."""

import numpy as np
import pytest
import sklearn
from joblib import parallel_config

from skshapley import ShapleyExplainer, shapley_values
from skshapley._run._engine import run
from skshapley._run._plan import Request, Size
from skshapley.exceptions import PartialExplanationError
from skshapley.samplers import SAMPLERS, Antithetic, MonteCarlo, SamplerTraits
from skshapley.solvers import SOLVERS, PermutationMean
from skshapley.stopping import StandardError
from skshapley.testing import HybridGame, RandomGame, as_instances, explain_game
from skshapley.testing.contracts import parametrize_contract


class Recorded(HybridGame):
    """Notes the coalitions, rows and references of every call."""

    def __init__(self, *args):
        self.calls = []
        super().__init__(*args)

    def __call__(self, coalitions, rows, references=None):
        rows = np.broadcast_to(rows[:, None], coalitions.shape[:2])
        named = (
            [None] * rows.size
            if references is None
            else references.reshape(rows.size, -1)
        )
        self.calls.append(
            [
                (
                    int(row),
                    coalition.tobytes(),
                    None if r is None else tuple(r.tolist()),
                )
                for row, coalition, r in zip(
                    rows.ravel(), coalitions.reshape(rows.size, -1), named, strict=True
                )
            ]
        )
        return super().__call__(coalitions, rows[:, 0], references)

    def take(self, rows):
        raise AssertionError("a worker would not have the list")

    @property
    def requests(self):
        return [request for call in self.calls for request in call]


def bumpy(rows):
    """Interactions of all orders; the value of a row does not depend on the others."""
    high = rows > 0.3
    three = high[:, 0] & ~high[:, 1] & high[:, 2]
    return high.sum(axis=1) ** 2.0 + 3.0 * (high[:, 0] ^ high[:, -1]) - 4.0 * three


def product(rows):
    return rows.prod(axis=1)


def recorded(n_rows=3, p=4, b=3, function=bumpy, seed=0):
    rng = np.random.default_rng(seed)
    return Recorded(function, rng.normal(size=(n_rows, p)), rng.normal(size=(b, p)))


@parametrize_contract(
    game=recorded, exempt={"game-take": "a worker would not have the list"}
)
def test_the_game_of_these_tests_keeps_its_contract(check) -> None:
    check()


ALONE = [MonteCarlo(references="all"), MonteCarlo(references="stratified"), "kernel"]


@pytest.mark.parametrize("sampler", [MonteCarlo(references="all"), "kernel"])
def test_no_coalition_is_evaluated_twice(sampler):
    game = recorded()
    outcome = explain_game(game, sampler=sampler, max_evals=50)
    assert len(set(game.requests)) == len(game.requests)
    per_row = np.bincount([row for row, *_ in game.requests], minlength=3)
    np.testing.assert_array_equal(outcome.n_model_rows, 3 * per_row + 1)
    np.testing.assert_array_equal(outcome.n_evaluations, 2 + per_row)


def test_permutations_of_few_players_cost_at_most_all_coalitions():
    game = recorded(b=1)
    outcome = explain_game(game, sampler="monte-carlo", max_evals=3000)
    assert outcome.n_evaluations.tolist() == [16.0] * 3
    assert len(game.requests) == 3 * (2**4 - 2)


def test_the_record_names_the_methods_that_were_used():
    """3 or 12 of 510 players have an effect; permutations would be used for 510."""
    background, X = np.zeros((1, 510)), np.zeros((3, 510))
    X[:2, 498:] = 1.0
    X[2, 500:503] = 1.0
    explainer = ShapleyExplainer(bumpy, max_rows=599, random_state=0).fit(background)
    settings = explainer.explain(X).settings
    assert settings.sampler == "Exact(), RankedOdd()"
    assert settings.solver == "Linear(), GaussianProcess()"
    settings = explainer.explain(np.zeros((1, 510))).settings
    assert settings.sampler is settings.solver is None


@pytest.mark.parametrize("sampler", [*ALONE, "exact", "antithetic"])
def test_both_ends_are_evaluated_before_the_loop_only(sampler):
    seen = []

    def function(rows):
        seen.append(len(rows))
        return bumpy(rows)

    game = recorded(function=function)
    assert seen == [3]  # v(empty), against each background row
    explain_game(game, sampler=sampler, max_evals=40)
    assert seen[1] == 3  # v(all), of each instance
    sizes = [sum(coalition) for _, coalition, _ in game.requests]
    assert {min(sizes), max(sizes)} == {1, 3}


@pytest.mark.parametrize("references", ["all", "stratified"])
def test_several_small_asks_equal_one_large_ask(references, monkeypatch):
    """The budget is asked for in pieces that fit into memory; a ledger spans them."""
    sampler = Antithetic(references=references)
    at_once, piecewise = recorded(), recorded()
    expected = explain_game(at_once, sampler=sampler, max_evals=100)
    for module in ("_schedule", "_engine"):
        monkeypatch.setattr(f"skshapley._run.{module}.ASK_BYTES", 1)
    outcome = explain_game(piecewise, sampler=sampler, max_evals=100)
    assert len(piecewise.calls) > len(at_once.calls)
    assert sorted(piecewise.requests) == sorted(at_once.requests)
    np.testing.assert_allclose(outcome.values, expected.values, rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        outcome.standard_errors, expected.standard_errors, rtol=0, atol=1e-12
    )
    np.testing.assert_array_equal(outcome.n_model_rows, expected.n_model_rows)


class PlannedMonteCarlo(MonteCarlo):
    """Monte Carlo without further draws, in small asks."""

    traits = SamplerTraits(goes_on=False)


def test_a_call_holds_no_more_than_8192_model_rows():
    game = recorded(n_rows=40, p=10, b=7)
    explain_game(game, sampler=PlannedMonteCarlo(references="all"), max_evals=200)
    rows = [7 * len(call) for call in game.calls]
    assert max(rows) <= 8192
    assert sum(rows[:-1]) >= 8000 * (len(rows) - 1)  # and hardly less


@pytest.mark.parametrize(
    "sampler", ["antithetic", "kernel", MonteCarlo(references="all")]
)
def test_a_call_fits_into_the_working_memory(sampler):
    game = recorded(n_rows=4, p=10, b=5)
    with sklearn.config_context(working_memory=0.05):
        explain_game(game, sampler=sampler, max_evals=100)
    allowed = 0.05 * 2**20
    q = 1 if game.requests[0][2] is not None else 5
    assert len(game.calls) > 4
    assert max(len(call) for call in game.calls) * q * game.bytes_per_row <= allowed


@pytest.mark.parametrize(
    ("sampler", "max_evals"), [("exact", 128), ("odd-ranked", 40), ("odd-ranked", 128)]
)
def test_distinct_coalitions_need_no_memory(sampler, max_evals):
    game = recorded(n_rows=5, p=7)
    explain_game(game, sampler=sampler, max_evals=max_evals)
    assert SAMPLERS[sampler].traits.distinct
    assert len(set(game.requests)) == len(game.requests) == 5 * (max_evals - 2)


def test_the_reward_says_how_many_values_a_call_may_ask_for():
    game = recorded()
    game.most_values = 5
    explain_game(game, sampler="exact", max_evals=16)
    assert [len(call) for call in game.calls] == [5] * 8 + [2]


def test_batches_do_not_depend_on_the_number_of_jobs():
    class Shared(Recorded):
        def take(self, rows):
            part = Recorded(self.function, self.X[rows], self.background)
            part.calls = self.calls
            return part

    def batches(n_jobs):
        rng = np.random.default_rng(0)
        game = Shared(bumpy, rng.normal(size=(6, 8)), rng.normal(size=(3, 8)))
        with (
            sklearn.config_context(working_memory=0.02),
            parallel_config(backend="threading"),
        ):
            outcome = explain_game(
                game, sampler="antithetic", max_evals=80, n_jobs=n_jobs
            )
        # instances are numbered anew in each task
        return sorted(
            sorted(request[1:] for request in call) for call in game.calls
        ), outcome

    expected, outcome = batches(None)
    for n_jobs in (1, 2, 3):
        found, other = batches(n_jobs)
        assert len(found) == len(expected) > 6
        assert found == expected
        np.testing.assert_array_equal(other.values, outcome.values)


def test_each_row_has_its_own_design():
    """Four copies of one row: different estimates from equally many evaluations."""
    outcome = explain_game(
        as_instances(RandomGame(7), 4), sampler="antithetic", max_evals=62
    )
    assert len(np.unique(outcome.values[:, 0, 0])) == 4


# --- blocks and interruption ----------------------------------------------------------


def plan(game, sampler="antithetic", max_evals=40, stopping=None):
    request = Request.of(
        "test",
        sampler=sampler,
        solver="auto",
        max_evals=max_evals,
        stopping=stopping,
    )
    return request.plan(Size.of(game))


def arrays(outcome):
    return {
        n: value for n, value in vars(outcome).items() if isinstance(value, np.ndarray)
    }


def one_by_one():
    """Limit the memory so that each row is a block."""
    return sklearn.config_context(working_memory=1e-6)


def test_blocks_of_rows_change_nothing():
    game, finished = recorded(n_rows=5), []
    expected = run(game, plan(game), 0, progress=finished.append)
    assert finished == [5]
    with one_by_one():
        outcome = run(game, plan(game), 0, progress=finished.append)
    assert finished == [5, 1, 2, 3, 4, 5]
    for name, value in arrays(expected).items():
        np.testing.assert_array_equal(getattr(outcome, name), value, err_msg=name)


class Failing:
    """Raises for marked rows."""

    def __init__(self, error):
        self.error = error

    def __call__(self, rows):
        if (rows == 1e6).any():
            raise self.error
        return bumpy(rows)


def failing_game(error, bad_row):
    rng = np.random.default_rng(3)
    X, background = rng.normal(size=(6, 4)), rng.normal(size=(2, 4))
    well = HybridGame(bumpy, X, background)
    X = X.copy()
    X[bad_row, 2] = 1e6
    return well, HybridGame(Failing(error), X, background)


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), ZeroDivisionError("in the model")]
)
def test_finished_rows_are_kept(error):
    well, ill = failing_game(error, bad_row=4)
    with one_by_one(), pytest.raises(PartialExplanationError) as caught:
        run(ill, plan(ill), 0)
    assert caught.value.__cause__ is error
    expected = run(well, plan(well), 0)
    for name, value in arrays(caught.value.explanation).items():
        np.testing.assert_array_equal(value, getattr(expected, name)[:4], err_msg=name)


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), ZeroDivisionError("in the model")]
)
def test_an_error_in_the_first_block_is_raised_unchanged(error):
    _, ill = failing_game(error, bad_row=0)
    with one_by_one(), pytest.raises(type(error)):
        run(ill, plan(ill), 0)


# --- players that cannot matter -------------------------------------------------------


def game_of_few_who_matter():
    """Return rows in which 4, 3, 2, 0 and 1 of 6 players have an effect, and their background."""
    rng = np.random.default_rng(4)
    X, background = rng.normal(size=(5, 6)), rng.normal(size=(3, 6))
    background[:, [1, 3]] = X[:, [1, 3]] = 0.7
    background[:, 0] = X[1, 0]
    background[:, [2, 4]] = X[2, [2, 4]] = 0.1
    X[3] = X[4] = background[1] = background[2] = background[0]
    X[4, 5] += 2.0
    return X, background


@pytest.mark.parametrize("sampler", ["antithetic", "kernel", "exact", "odd", "herding"])
def test_players_without_effect_get_exactly_zero(sampler):
    X, background = game_of_few_who_matter()
    game = Recorded(bumpy, X, background)
    outcome = explain_game(game, sampler=sampler, max_evals=70)
    idle = ~game.active(np.arange(5))
    assert (outcome.values[idle] == 0.0).all()
    assert (outcome.standard_errors[idle] == 0.0).all()
    for row, coalition, _ in game.requests:
        present = np.frombuffer(coalition, dtype=bool)
        assert not present[idle[row]].any()


def test_players_without_effect_cost_nothing():
    X, background = game_of_few_who_matter()
    outcome = explain_game(
        HybridGame(bumpy, X, background), sampler="exact", max_evals=64
    )
    assert outcome.n_evaluations.tolist() == [16.0, 8.0, 4.0, 2.0, 2.0]
    np.testing.assert_allclose(
        outcome.values,
        HybridGame(bumpy, X, background).shapley_values,
        rtol=0,
        atol=1e-12,
    )
    assert outcome.converged.all()


def test_a_sampler_may_need_all_players():
    """On a graph, a player without effect still connects others."""
    X, background = game_of_few_who_matter()
    game = Recorded(bumpy, X[:1], background)
    explain_game(game, sampler="myerson", max_evals=60)
    assert len(game.requests) == 6 * 7 / 2 - 1


# --- references -----------------------------------------------------------------------


def test_every_background_row_is_used_if_there_are_enough_pairs():
    game = recorded(n_rows=2, p=6, b=5)
    explain_game(game, sampler="antithetic", max_evals=2 * 5 + 2)
    assert {(row, r) for row, _, (r,) in game.requests} == {
        (i, r) for i in (0, 1) for r in range(5)
    }


def test_background_weights_are_respected():
    """A row of weight 0.5 counts like two of 0.25, though it is not used more often."""
    rng = np.random.default_rng(8)
    X, rows = rng.normal(size=(2, 5)), rng.normal(size=(3, 5))
    weighted = HybridGame(product, X, rows, [0.5, 0.25, 0.25])
    repeated = HybridGame(product, X, rows[[0, 0, 1, 2]])
    for sampler in ("exact", "kernel"):
        found, expected = (
            explain_game(game, sampler=sampler, max_evals=32)
            for game in (weighted, repeated)
        )
        np.testing.assert_allclose(found.values, expected.values, rtol=0, atol=1e-12)
    walks = explain_game(weighted, sampler="antithetic", max_evals=600)
    error = np.abs(walks.values - weighted.shapley_values)
    assert 0 < error.max() < 5 * walks.standard_errors.max()


# --- stopping -------------------------------------------------------------------------


def test_every_row_stops_independently():
    game = as_instances(RandomGame(8, seed=1), 6)
    outcome = explain_game(
        game, sampler="antithetic", max_evals=20_000, stopping=StandardError(atol=0.5)
    )
    assert outcome.converged.all()
    assert (outcome.standard_errors.max(axis=1) <= 0.5 / 1.96).all()
    assert len(np.unique(outcome.n_evaluations)) > 1


def test_stopped_rows_cost_nothing_and_keep_their_result():
    """The easy row stops first, the other continues, and neither changes the other.

    The first permutations of an additive row agree. At a tolerance of .01, this does
    not stop it.
    """
    rng = np.random.default_rng(1)
    X = np.stack([np.r_[1.0, rng.normal(size=6)], np.r_[9.0, rng.normal(size=6)]])
    background = np.r_[1.0, np.zeros(6)][None]

    def function(rows):
        return np.where(rows[:, 0] == 1.0, rows.sum(axis=1), bumpy(rows))

    run_both = {
        "sampler": "monte-carlo",
        "max_evals": 100,
        "stopping": StandardError(rtol=0.1),
    }
    game = HybridGame(function, X, background)
    both = explain_game(game, **run_both)
    alone = explain_game(game.take(np.array([0])), **run_both)
    assert both.converged.tolist() == [True, False]
    assert both.n_evaluations[0] < 80 < both.n_evaluations[1]
    np.testing.assert_array_equal(both.values[0], alone.values[0])
    assert both.n_evaluations[0] == alone.n_evaluations[0]


def test_inaccurate_rows_are_not_marked_converged():
    game = as_instances(RandomGame(8), 2)
    outcome = explain_game(
        game, sampler="antithetic", max_evals=60, stopping=StandardError(atol=1e-6)
    )
    assert not outcome.converged.any()
    assert (outcome.n_evaluations > 30).all()


class CountedMean(PermutationMean):
    """Permutation means that count their estimates."""

    n_estimates = 0

    def result(self):
        type(self).n_estimates += 1
        return super().result()


def test_a_row_that_stops_at_its_first_look_is_estimated_once():
    explain_game(
        recorded(n_rows=1, p=6, b=7),
        sampler="antithetic",
        solver=CountedMean(),
        max_evals=900,
        stopping=StandardError(atol=1e9),
    )
    assert CountedMean.n_estimates == 1


def test_rows_stop_only_after_every_background_row_was_used():
    """Permutations on some rows give no information about other rows."""
    game = recorded(n_rows=1, p=6, b=7)
    explain_game(
        game, sampler="antithetic", max_evals=900, stopping=StandardError(atol=1e9)
    )
    assert {r for _, _, (r,) in game.requests} == set(range(7))


def test_rows_stop_after_at_least_two_units():
    """One unit has no standard error, and an infinite tolerance must not replace it by 0."""
    outcome = explain_game(
        as_instances(RandomGame(6), 3),
        sampler="antithetic",
        max_evals=900,
        stopping=StandardError(atol=1e9),
    )
    assert outcome.converged.all()
    assert np.isfinite(outcome.standard_errors).all()


@pytest.mark.parametrize("size", [1e-306, 1e-160, 1e160, 9e305])
@pytest.mark.parametrize("solver", SOLVERS)
def test_attributions_and_errors_scale_with_the_values(solver, size):
    """Two outputs, one trivial; both ends are zero, so they give no scale."""
    game = RandomGame(6, seed=3)

    def reward(coalitions):
        inner = np.where(
            coalitions.all(axis=1) | ~coalitions.any(axis=1), 0.0, game(coalitions)
        )
        return inner / 20

    def stretched(coalitions):
        return np.stack([reward(coalitions), size * reward(coalitions)], axis=1)

    most = {"linear": 64, "stratified-mean": 300}.get(solver, 50)
    how = {"n_players": 6, "solver": solver, "max_evals": most, "random_state": 0}
    plain = shapley_values(lambda S: np.stack([reward(S)] * 2, axis=1), **how)
    result = shapley_values(stretched, **how)
    tolerance = {"rtol": 0, "atol": 1e-9}
    np.testing.assert_allclose(result.values / [1, size], plain.values, **tolerance)
    if plain.standard_errors is not None:
        errors = result.standard_errors / [1, size]
        np.testing.assert_allclose(errors, plain.standard_errors, **tolerance)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_absolute_tolerances_have_the_units_of_the_game(size):
    game = RandomGame(10, seed=0)

    def evaluations(atol):
        rule = StandardError(atol=atol * size)
        return shapley_values(
            lambda S: size * game(S),
            n_players=10,
            sampler="antithetic",
            stopping=rule,
            random_state=0,
        ).n_evaluations

    assert evaluations(10.0) < evaluations(0.01)
