"""Checks for a sampler and a solver together: Shapley's axioms, budgets, reproducibility."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import sklearn
from joblib import parallel_config

from skshapley._estimators._functional import shapley_values
from skshapley._records._result import ShapleyResult
from skshapley.samplers import Sampler
from skshapley.solvers import Solver
from skshapley.testing._instances import HybridGame, explain_game
from skshapley.testing.games import AdditiveGame, RandomGame, StackedGame

N_PLAYERS = 5


def check_additive(sampler: Sampler, solver: Solver, atol: float = 1e-9) -> None:
    """Additive games are solved exactly by any budget, from the least on."""
    for p in (2, 3, N_PLAYERS, 9):
        game = AdditiveGame(np.random.default_rng(p).normal(size=p) * 10, constant=3.0)
        for budget in _budgets(sampler, p):
            found = _explain(sampler, solver, game, budget).values
            np.testing.assert_allclose(
                found, game.shapley_values, rtol=0, atol=atol, err_msg=f"p={p}, budget {budget}"
            )


def check_efficiency(sampler: Sampler, solver: Solver, atol: float = 1e-9) -> None:
    """Attributions add up to v(all) - v(empty), for every game and budget."""
    for p in (2, 3, N_PLAYERS):
        for seed, budget in enumerate(_budgets(sampler, p)):
            result = _explain(sampler, solver, RandomGame(p, seed), budget)
            gain = result.full_value - result.base_value
            np.testing.assert_allclose(result.values.sum(), gain, rtol=0, atol=atol)
    game = _hybrid_game(n_rows=2)
    for budget in _budgets(sampler, game.n_players)[:2]:
        outcome = explain_game(game, sampler=sampler, solver=solver, max_evals=budget)
        gains = outcome.v_full - outcome.v_empty
        np.testing.assert_allclose(outcome.values.sum(axis=1), gains, rtol=0, atol=atol)


def check_null_player(sampler: Sampler, solver: Solver, atol: float = 1e-9) -> None:
    """A player that changes no coalition's value gets 0."""
    for seed, budget in enumerate(_budgets(sampler, N_PLAYERS)):
        player = seed % N_PLAYERS
        game = RandomGame(N_PLAYERS, seed, null_players=[player])
        value = _explain(sampler, solver, game, budget).values[player]
        assert abs(value) <= atol, f"null player {player} gets {value} of {budget} evaluations"


def check_linearity(sampler: Sampler, solver: Solver, atol: float = 1e-9) -> None:
    """With the same seed, phi(2 v - 3 u) = 2 phi(v) - 3 phi(u)."""
    v, u = RandomGame(N_PLAYERS, 1), RandomGame(N_PLAYERS, 2)
    for budget in _budgets(sampler, N_PLAYERS):
        of_v, of_u, of_both = (
            _explain(sampler, solver, game, budget).values
            for game in (v, u, lambda coalitions: 2 * v(coalitions) - 3 * u(coalitions))
        )
        np.testing.assert_allclose(of_both, 2 * of_v - 3 * of_u, rtol=0, atol=atol)


def check_outputs(sampler: Sampler, solver: Solver, atol: float = 1e-9) -> None:
    """Several outputs together give the values of each output alone."""
    games = [RandomGame(N_PLAYERS, seed) for seed in range(3)]
    budget = _budgets(sampler, N_PLAYERS)[-1]
    together = _explain(sampler, solver, StackedGame(games), budget)
    for k, game in enumerate(games):
        alone = _explain(sampler, solver, game, budget)
        np.testing.assert_allclose(together.values[:, k], alone.values, rtol=0, atol=atol)
        errors, expected = together.standard_errors, alone.standard_errors
        assert (errors is None) == (expected is None)
        if errors is not None and expected is not None:
            np.testing.assert_allclose(errors[:, k], expected, rtol=0, atol=atol)


def check_few_players(sampler: Sampler, solver: Solver) -> None:
    """One player gets everything, at no cost; two and three get finite attributions."""
    alone = _explain(sampler, solver, AdditiveGame([4.0], constant=1.0), 2)
    assert alone.values.tolist() == [4.0]
    assert alone.n_evaluations == 2
    for p in (2, 3):
        for budget in _budgets(sampler, p):
            result = _explain(sampler, solver, RandomGame(p, seed=p), budget)
            assert np.isfinite(result.values).all()


def check_exactness(sampler: Sampler, solver: Solver, atol: float = 1e-9) -> None:
    """A run that claims convergence without a stopping rule is exact."""
    for p in (2, 3, N_PLAYERS):
        game = RandomGame(p, seed=p)
        result = _explain(sampler, solver, game, max(2**p, _budgets(sampler, p)[0]))
        if result.converged:
            np.testing.assert_allclose(result.values, game.shapley_values, rtol=0, atol=atol)
            assert not np.any(result.standard_errors), "an exact result has standard errors"


def check_budget(sampler: Sampler, solver: Solver) -> None:
    """Evaluations are as few as allowed and as reported; too small a budget is refused."""
    least = _budgets(sampler, N_PLAYERS)[0]
    counted = _Counted(RandomGame(N_PLAYERS))
    message = _refusal(ValueError, sampler, solver, counted, least - 1)
    assert message is not None, f"a budget of {least - 1} < {least} evaluations was accepted"
    assert str(least) in message, f"the error does not name {least}: {message}"
    assert counted.n == 0, "the reward was called before the budget was refused"
    for budget in _budgets(sampler, N_PLAYERS):
        counted = _Counted(RandomGame(N_PLAYERS))
        result = _explain(sampler, solver, counted, budget)
        assert result.n_evaluations <= budget
        assert counted.n == result.n_evaluations, f"{counted.n} evaluations were made"


def check_reproducible(sampler: Sampler, solver: Solver) -> None:
    """Equal seeds give equal results, to the last bit; the objects given are not changed."""
    before = repr([dict(vars(component)) for component in (sampler, solver)])
    game, budget = RandomGame(N_PLAYERS), _budgets(sampler, N_PLAYERS)[-1]
    first, second = (_explain(sampler, solver, game, budget, random_state=3) for _ in range(2))
    _assert_equal(first.values, second.values, "a second run")
    _assert_equal(first.standard_errors, second.standard_errors, "a second run's error")
    after = repr([dict(vars(component)) for component in (sampler, solver)])
    assert after == before, f"a run changed {before} to {after}"


def check_batch(sampler: Sampler, solver: Solver) -> None:
    """The result of a row is the same with more rows after it, for any players that matter."""
    game = _hybrid_game(n_rows=4)
    budget = 2 * _budgets(sampler, game.n_players)[-1]
    run: dict[str, Any] = {"sampler": sampler, "solver": solver, "max_evals": budget}
    everyone = explain_game(game, **run)
    first = explain_game(game.take(np.arange(2)), **run)
    for name in ("values", "standard_errors", "n_evaluations", "n_model_rows", "converged"):
        _assert_equal(getattr(everyone, name)[:2], getattr(first, name), f"{name} of a prefix")
    with sklearn.config_context(working_memory=0.01):
        _assert_equal(
            explain_game(game, **run).values, everyone.values, "with little memory, values"
        )


def check_jobs(
    sampler: Sampler, solver: Solver, backends: Sequence[str] = ("loky", "threading")
) -> None:
    """The result does not depend on `n_jobs` and the backend, to the last bit."""
    game = _hybrid_game(n_rows=3)
    budget = 2 * _budgets(sampler, game.n_players)[-1]
    run: dict[str, Any] = {"sampler": sampler, "solver": solver, "max_evals": budget}
    # so little memory that there is work for two
    with sklearn.config_context(working_memory=0.005):
        expected = explain_game(game, **run).values
        _assert_equal(explain_game(game, n_jobs=1, **run).values, expected, "n_jobs=1")
        for backend in backends:
            with parallel_config(backend=backend):
                found = explain_game(game, n_jobs=2, **run).values
            _assert_equal(found, expected, f"n_jobs=2, {backend}")


def check_references(sampler: Sampler, solver: Solver, atol: float = 1e-9) -> None:
    """Against several background rows, additive functions are solved exactly, within the budget."""
    rng = np.random.default_rng(0)
    slopes = rng.normal(size=N_PLAYERS)
    X, background = rng.normal(size=(2, N_PLAYERS)), rng.normal(size=(3, N_PLAYERS))
    weights = np.array([0.5, 0.2, 0.3])
    game = HybridGame(_Linear(slopes), X, background, weights)
    expected = (X - weights @ background) * slopes
    for budget in _budgets(sampler, N_PLAYERS):
        outcome = explain_game(game, sampler=sampler, solver=solver, max_evals=budget)
        np.testing.assert_allclose(outcome.values[:, :, 0], expected, rtol=0, atol=atol)
        assert (outcome.n_model_rows <= (budget - 2) * len(background) + 1).all()


def check_refused(sampler: Sampler, solver: Solver) -> None:
    """A pair that does not fit raises TypeError, naming both, before the reward is called."""
    counted = _Counted(RandomGame(N_PLAYERS))
    message = _refusal(TypeError, sampler, solver, counted, "auto")
    assert message is not None, f"{solver} took what {sampler} produces, a {sampler.produces}"
    for component in (sampler, solver):
        assert type(component).__name__ in message, f"{component} is not in: {message}"
    assert counted.n == 0, "the reward was called before the pair was refused"


def _refusal(
    kind: type[Exception], sampler: Sampler, solver: Solver, game: Any, max_evals: int | str
) -> str | None:
    """Return the message of the error of that kind, or None if there was none."""
    try:
        _explain(sampler, solver, game, max_evals)
    except kind as error:
        return str(error)
    return None


class _Counted:
    """Counts the coalitions that a game is asked for."""

    def __init__(self, game: Any) -> None:
        self.game, self.n = game, 0

    def __call__(self, coalitions: np.ndarray) -> np.ndarray:
        self.n += len(coalitions)
        return self.game(coalitions)


class _Linear:
    def __init__(self, slopes: np.ndarray) -> None:
        self.slopes = slopes

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        return (rows * self.slopes).sum(axis=1)


class _Steps:
    """Piecewise constant, as trees are: the value of a row does not depend on its batch."""

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        high = rows > 0
        pairs = high[:, :-1] & high[:, 1:]
        return (
            2.0 * high.sum(axis=1) - 3.0 * pairs.sum(axis=1) + high.all(axis=1) + 0.1 * high[:, 0]
        )


def _hybrid_game(n_rows: int) -> HybridGame:
    """Return a game in which the last player matters to no instance and others to some."""
    rng = np.random.default_rng(1)
    X, background = rng.normal(size=(n_rows, 6)), rng.normal(size=(3, 6))
    X[:, 5] = background[:, 5] = 1.0
    background[:, 0] = X[1, 0]
    return HybridGame(_Steps(), X, background)


def _explain(
    sampler: Sampler, solver: Solver, game: Any, max_evals: int | str, random_state: int = 0
) -> ShapleyResult:
    n_players = getattr(game, "n_players", N_PLAYERS)
    return shapley_values(
        game,
        n_players=n_players,
        sampler=sampler,
        solver=solver,
        max_evals=max_evals,
        random_state=random_state,
    )


def _budgets(sampler: Sampler, p: int) -> tuple[int, ...]:
    """Return a few legal budgets, the least first; they include v(empty) and v(all)."""
    least = sampler.price(p, 1).least_evals + 2
    return least, least + 1, 2 * least + 1, 3 * least


def _assert_equal(one, other, who) -> None:
    assert (one is None) == (other is None), f"{who} is not the same"
    if one is not None:
        assert np.array_equal(one, other, equal_nan=True), f"{who} differs"


PAIR_CHECKS = {
    "additive": check_additive,
    "efficiency": check_efficiency,
    "null player": check_null_player,
    "linearity": check_linearity,
    "outputs": check_outputs,
    "few players": check_few_players,
    "exactness": check_exactness,
    "budget": check_budget,
    "reproducible": check_reproducible,
    "batch": check_batch,
    "jobs": check_jobs,
    "references": check_references,
}
