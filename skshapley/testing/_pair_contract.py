"""Checks for a sampler and a solver together: axioms, budgets, reproducibility, statistics.

The seeds of statistical checks are fixed, so a check that passes once passes always.
The stated rate of false alarms is the probability that a correct component fails with
randomly chosen seeds.
"""

from collections.abc import Callable, Container, Sequence
from functools import partial
from typing import Any

import numpy as np
import sklearn
from joblib import parallel_config

from skshapley._estimators._orders import shapley_values
from skshapley._records._result import ShapleyResult
from skshapley.samplers import Sampler
from skshapley.solvers import Solver
from skshapley.testing._checks import Counted, assert_equal, checks_named, run_checks
from skshapley.testing.games import (
    AdditiveGame,
    CooperativeGame,
    FourierGame,
    HybridGame,
    RandomGame,
    StackedGame,
    as_instances,
    explain_game,
)

# All 32 coalitions can be enumerated, for exact values. The largest budget here is 18
# to 51 evaluations for most samplers, so some leave coalitions out and some do not.
N_PLAYERS = 5
ROW_FIELDS = "values", "standard_errors", "n_evaluations", "n_model_rows", "converged"


def check_pair_additive(sampler: Sampler, solver: Solver, atol: float = 1e-9) -> None:
    """Additive games are solved exactly with any budget, even the smallest."""
    # Nine players have 512 coalitions, more than any budget here except those of
    # "exact". So no method is exact because it saw all of them.
    for p in (2, 3, N_PLAYERS, 9):
        game = AdditiveGame(np.random.default_rng(p).normal(size=p) * 10, constant=3.0)
        for budget in _budgets(sampler, p):
            assert_equal(
                _explain(sampler, solver, game, budget).values,
                game.shapley_values,
                f"p={p}, budget {budget}",
                atol,
            )


def check_pair_efficiency(sampler: Sampler, solver: Solver, atol: float = 1e-9) -> None:
    """Attributions add up to v(all) - v(empty), for every game and budget."""
    games = [as_instances(RandomGame(p, p)) for p in (2, 3, N_PLAYERS)]
    for game in [*games, _hybrid_game(n_rows=2)]:
        for budget in _budgets(sampler, game.n_players):
            result = explain_game(
                game,
                sampler=sampler,
                solver=solver,
                max_evals=budget,
            )
            assert_equal(
                result.values.sum(axis=1),
                result.v_full - result.v_empty,
                f"the sum by budget {budget}",
                atol,
            )


def check_pair_null_player(
    sampler: Sampler,
    solver: Solver,
    atol: float = 1e-9,
) -> None:
    """A player that changes no coalition's value gets 0."""
    for seed, budget in enumerate(_budgets(sampler, N_PLAYERS)):
        player = seed % N_PLAYERS
        value = _explain(
            sampler,
            solver,
            RandomGame(N_PLAYERS, seed, null_players=[player]),
            budget,
        ).values[player]
        assert abs(value) <= atol, (
            f"null player {player} gets {value} of {budget} evaluations"
        )


def check_pair_linearity(sampler: Sampler, solver: Solver, atol: float = 1e-9) -> None:
    """With the same seed, phi(2 v - 3 u) = 2 phi(v) - 3 phi(u)."""
    v = RandomGame(N_PLAYERS, 1)
    u = RandomGame(N_PLAYERS, 2)

    def combined(coalitions: np.ndarray) -> np.ndarray:
        return 2 * v(coalitions) - 3 * u(coalitions)

    for budget in _budgets(sampler, N_PLAYERS):
        of_v = _explain(sampler, solver, v, budget).values
        of_u = _explain(sampler, solver, u, budget).values
        assert_equal(
            _explain(sampler, solver, combined, budget).values,
            2 * of_v - 3 * of_u,
            f"2 v - 3 u, budget {budget},",
            atol,
        )


def check_pair_outputs(sampler: Sampler, solver: Solver, atol: float = 1e-9) -> None:
    """Several outputs together give the values of each output alone."""
    games = [RandomGame(N_PLAYERS, seed) for seed in range(3)]
    budget = _budgets(sampler, N_PLAYERS)[-1]
    together = _explain(sampler, solver, StackedGame(games), budget)
    for k, game in enumerate(games):
        alone = _explain(sampler, solver, game, budget)
        for name in ("values", "standard_errors"):
            part = getattr(together, name)
            part = None if part is None else part[:, k]
            assert_equal(part, getattr(alone, name), f"{name} of output {k}", atol)


def check_pair_exactness(sampler: Sampler, solver: Solver, atol: float = 1e-9) -> None:
    """A run that claims convergence without a stopping rule is exact."""
    for p in (2, 3, N_PLAYERS):
        game = RandomGame(p, seed=p)
        result = _explain(sampler, solver, game, max(2**p, _budgets(sampler, p)[0]))
        if result.converged:
            assert_equal(
                result.values,
                game.shapley_values,
                "a result that is exact",
                atol,
            )
            assert not np.any(result.standard_errors), (
                "an exact result has standard errors"
            )


def check_pair_budget(sampler: Sampler, solver: Solver) -> None:
    """Evaluations keep to the budget and are reported; too small a budget raises ValueError."""
    least = _budgets(sampler, N_PLAYERS)[0]
    counted = Counted(RandomGame(N_PLAYERS))
    with np.testing.assert_raises_regex(ValueError, str(least)):
        _explain(sampler, solver, counted, least - 1)
    assert counted.n == 0, "the reward was called before the error"
    for budget in _budgets(sampler, N_PLAYERS):
        counted = Counted(RandomGame(N_PLAYERS))
        result = _explain(sampler, solver, counted, budget)
        assert result.n_evaluations <= budget
        assert counted.n == result.n_evaluations, f"{counted.n} evaluations were made"


def check_pair_batch(sampler: Sampler, solver: Solver) -> None:
    """The result of a row is the same with more rows after it, for any active players."""
    run = _hybrid_run(sampler, solver, n_rows=4)
    whole = run()
    first = explain_game(run.args[0].take(np.arange(2)), **run.keywords)
    for name, part in vars(first).items():
        if name in ROW_FIELDS:
            assert_equal(getattr(whole, name)[:2], part, f"{name} of a prefix")
    with sklearn.config_context(working_memory=0.01):
        assert_equal(run().values, whole.values, "with little memory, values")


def check_pair_jobs(
    sampler: Sampler,
    solver: Solver,
    backends: Sequence[str] = ("loky", "threading"),
) -> None:
    """The result does not depend on `n_jobs` and the backend, to the last bit."""
    run = _hybrid_run(sampler, solver, n_rows=3)
    # A batch then has 13 model rows and a task four batches, so three rows keep two
    # workers busy.
    with sklearn.config_context(working_memory=0.005):
        expected = run().values
        assert_equal(run(n_jobs=1).values, expected, "n_jobs=1")
        for backend in backends:
            with parallel_config(backend=backend):
                assert_equal(run(n_jobs=2).values, expected, f"n_jobs=2, {backend}")


def check_pair_references(sampler: Sampler, solver: Solver, atol: float = 1e-9) -> None:
    """Against several background rows, additive functions are solved exactly, within the budget."""
    rng = np.random.default_rng(0)
    slopes = rng.normal(size=N_PLAYERS)
    X = rng.normal(size=(2, N_PLAYERS))
    background = rng.normal(size=(3, N_PLAYERS))
    weights = np.array([0.5, 0.2, 0.3])
    game = HybridGame(lambda rows: (rows * slopes).sum(axis=1), X, background, weights)
    expected = (X - weights @ background) * slopes
    for budget in _budgets(sampler, N_PLAYERS):
        outcome = explain_game(game, sampler=sampler, solver=solver, max_evals=budget)
        assert_equal(outcome.values[:, :, 0], expected, f"budget {budget}", atol)
        assert (outcome.n_model_rows <= (budget - 2) * len(background) + 1).all()


def _steps(rows: np.ndarray) -> np.ndarray:
    """A piecewise constant function, as trees are: a row's value does not depend on its batch."""
    high = rows > 0
    pairs = high[:, :-1] & high[:, 1:]
    return (
        2.0 * high.sum(axis=1)
        - 3.0 * pairs.sum(axis=1)
        + high.all(axis=1)
        + 0.1 * high[:, 0]
    )


def _hybrid_game(n_rows: int) -> HybridGame:
    """Return a game in which the last player is active in no row, and others in some rows."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n_rows, 6))
    background = rng.normal(size=(3, 6))
    X[:, 5] = background[:, 5] = 1.0
    background[:, 0] = X[1, 0]
    return HybridGame(_steps, X, background)


def _hybrid_run(sampler: Sampler, solver: Solver, n_rows: int) -> partial:
    """Return a call that explains such a game."""
    game = _hybrid_game(n_rows)
    return partial(
        explain_game,
        game,
        sampler=sampler,
        solver=solver,
        max_evals=2 * _budgets(sampler, game.n_players)[-1],
    )


def _explain(
    sampler: Sampler,
    solver: Solver,
    game: Any,
    max_evals: int | str,
    random_state: int = 0,
) -> ShapleyResult:
    return shapley_values(
        game,
        n_players=getattr(game, "n_players", N_PLAYERS),
        sampler=sampler,
        solver=solver,
        max_evals=max_evals,
        random_state=random_state,
    )


def _budgets(sampler: Sampler, p: int) -> tuple[int, ...]:
    """Return a few legal budgets, the least first; they include v(empty) and v(all)."""
    least = sampler.price(p, 1).least_evals + 2
    # The second and third budget need not pay for a whole number of draws.
    return least, least + 1, 2 * least + 1, 3 * least


PAIR_CHECKS = checks_named("check_pair_", globals())


def check_pair(sampler: Sampler, solver: Solver, *, skip: Container[str] = ()) -> None:
    """Check a sampler and a solver together: axioms, budgets, reproducibility, exactness.

    Parameters
    ----------
    sampler : Sampler
        Not changed.
    solver : Solver
        Not changed.
    skip : container of str, default=()
        Names of checks that do not apply: a regression need not pass "null player", for
        example, and a mean centred by position is not linear in the game.

    Raises
    ------
    AssertionError
        If the check fails.

    Examples
    --------
    >>> from skshapley.samplers import Antithetic
    >>> from skshapley.solvers import PermutationMean
    >>> from skshapley.testing import check_pair
    >>> check_pair(Antithetic(), PermutationMean(), skip={"jobs", "linearity"})
    """
    run_checks(PAIR_CHECKS, skip, sampler, solver)


def check_consistent(sampler: Sampler, solver: Solver, n_runs: int = 40) -> None:
    """The error falls to less than half between twice and 32 times the smallest budget.

    An error that is proportional to the inverse root of the budget falls to a quarter.
    With 40 runs and 6 players, the ratio has a relative error of a tenth, so false
    alarms are rarer than 1e-6.

    Parameters
    ----------
    sampler : Sampler
        Not changed.
    solver : Solver
        Not changed.
    n_runs : int, default=40
        Seeded runs of each game.

    Raises
    ------
    AssertionError
        If the check fails.

    Examples
    --------
    >>> from skshapley.samplers import Antithetic
    >>> from skshapley.solvers import PermutationMean
    >>> from skshapley.testing import check_consistent
    >>> check_consistent(Antithetic(), PermutationMean())
    """
    game = RandomGame(6, seed=0)
    least = sampler.price(6, 1).least_evals
    small, large = (
        _errors(sampler, solver, game, times * least + 2, n_runs)[0]
        for times in (2, 32)
    )
    # Measured: .16 for "monte-carlo", .23 for "antithetic" and .40 for "stratified". It
    # is 0 for "kernel" and "leverage", which evaluate all 64 coalitions with the larger
    # budget.
    ratio = np.sqrt((large**2).mean() / np.maximum((small**2).mean(), 1e-300))
    assert np.sqrt((large**2).mean()) < 1e-9 or ratio < 0.5, (
        f"16 times the evaluations leave {ratio:.2f} of the root mean squared error"
    )


def check_unbiased(
    sampler: Sampler,
    solver: Solver,
    games: Sequence[CooperativeGame] | None = None,
    n_runs: int = 400,
    z: float = 5.0,
) -> None:
    """The mean estimate of many runs is within `z` standard errors of the Shapley value.

    Each run has three times the smallest budget. With z = 5 and the 16 players of the
    default games, a correct pair fails with probability below 1e-5 (normal means; 400
    runs).

    Parameters
    ----------
    sampler : Sampler
        Not changed.
    solver : Solver
        Not changed.
    games : sequence of CooperativeGame, optional
        Games with known values; by default a random one and one with few interactions.
    n_runs : int, default=400
        Seeded runs of each game.
    z : float, default=5.0
        Largest allowed deviation, in standard errors of the mean.

    Raises
    ------
    AssertionError
        If the check fails.

    Examples
    --------
    >>> from skshapley.samplers import Antithetic
    >>> from skshapley.solvers import PermutationMean
    >>> from skshapley.testing import check_unbiased
    >>> check_unbiased(Antithetic(), PermutationMean())
    """
    for game in _games() if games is None else games:
        error, _ = _errors(
            sampler,
            solver,
            game,
            3 * sampler.price(game.n_players, 1).least_evals + 2,
            n_runs,
        )
        mean = error.mean(axis=0)
        spread = error.std(axis=0, ddof=1) / np.sqrt(n_runs)
        assert (np.abs(mean) <= z * spread + 1e-9).all(), (
            f"{game} is estimated with a bias of {mean.round(4)}, "
            f"{(mean / spread).round(1)} times its standard error"
        )


def check_standard_errors(
    sampler: Sampler,
    solver: Solver,
    max_evals: Callable[[int], int],
    games: Sequence[CooperativeGame] | None = None,
    n_runs: int = 400,
    lowest: float = 0.92,
    highest: float = 0.98,
) -> None:
    """Attributions ± 1.96 standard errors contain the true value in 92 to 98 % of runs.

    Players with constant estimates are left out. The share of 2 games x 400 runs has a
    standard deviation of at most 0.008 (reached if all players of a run fail together).
    A correct pair, with a coverage of 0.945 or more, then fails with probability below
    1e-3.

    Parameters
    ----------
    sampler : Sampler
        Not changed.
    solver : Solver
        Not changed.
    max_evals : callable
        Function from the number of players to a budget with enough units.
    games : sequence of CooperativeGame, optional
        Games with known values; by default a random one and one with few interactions.
    n_runs : int, default=400
        Seeded runs of each game.
    lowest, highest : float, default=0.92, 0.98
        Limits of the share.

    Raises
    ------
    AssertionError
        If the check fails.

    Examples
    --------
    >>> from skshapley.samplers import Antithetic
    >>> from skshapley.solvers import PermutationMean
    >>> from skshapley.testing import check_standard_errors
    >>> check_standard_errors(Antithetic(), PermutationMean(), lambda p: 20 * p)
    """
    covered = []
    wide = []
    for game in _games() if games is None else games:
        error, claimed = _errors(
            sampler,
            solver,
            game,
            max_evals(game.n_players),
            n_runs,
        )
        assert np.isfinite(claimed).all(), (
            f"{game} has no standard errors at this budget"
        )
        # Players with exact estimates vary by rounding only, and any interval contains
        # their value.
        spread = error.std(axis=0)
        varies = spread > 1e-9
        covered.append((np.abs(error) <= 1.96 * claimed)[:, varies])
        wide.append(claimed.mean(axis=0)[varies] / spread[varies])
    coverage = np.concatenate([part.ravel() for part in covered]).mean()
    assert lowest <= coverage <= highest, (
        f"nominal 95 % intervals hold the truth in {coverage:.1%} of runs; standard "
        f"errors are {np.concatenate(wide).mean():.2f} times the standard deviation"
    )


def _games() -> list[CooperativeGame]:
    """Games without structure, and one that resembles a model."""
    rng = np.random.default_rng(3)
    # Antithetic pairs cancel the terms of two players, and keep those of 1, 3 and 5
    # players. So a standard error that ignores the pairing is too large on one part and
    # too small on the other.
    sizes = np.repeat([1, 2, 3, 5], 8)
    terms = {
        tuple(sorted(rng.choice(10, size, replace=False).tolist())): 0.0
        for size in sizes
    }
    terms = {members: rng.normal() / len(members) for members in terms}
    return [RandomGame(6, seed=1), FourierGame(10, terms)]


def _errors(
    sampler: Sampler,
    solver: Solver,
    game: CooperativeGame,
    max_evals: int,
    n_runs: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return estimates minus true values, and standard errors, ``(n_runs, p)`` each."""
    outcome = explain_game(
        as_instances(game, n_runs),
        sampler=sampler,
        solver=solver,
        max_evals=max_evals,
    )
    deviations = outcome.values[:, :, 0] - game.shapley_values
    return deviations, outcome.standard_errors[:, :, 0]
