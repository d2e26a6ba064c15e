"""Checks for every solver with given designs: merging, independence of rows, relabelling."""

from collections.abc import Container
from dataclasses import fields, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from skshapley.designs import LinearDesign, MarginalDesign
from skshapley.samplers import Sampler
from skshapley.solvers import Solver, SolverTask
from skshapley.solvers._base import Estimate
from skshapley.testing._checks import (
    assert_equal,
    assert_unchanged,
    checks_named,
    run_checks,
)
from skshapley.testing._sampler_contract import goes_on, started
from skshapley.testing.games import RandomGame, StackedGame

N_PLAYERS = 5
N_ROWS = 3


def check_solver_parameters(sampler: Sampler, solver: Solver) -> None:
    """A solver is a parameter object, and a second start discards the first run."""
    before, copy, designs = solver.get_params(), clone(solver), _designs(sampler, 1)[:1]
    first = _solved(copy, designs)
    assert_unchanged(copy, before, "a run")
    assert repr(clone(copy)) == repr(solver)
    _assert_same(_solved(copy, designs), first, "a second run of one object")


def check_solver_result(sampler: Sampler, solver: Solver) -> None:
    """`result` has no side effect, the right shape, and no negative errors."""
    running = _started(clone(solver))
    for design, values in _designs(sampler, 1, 1):
        running.update(np.arange(N_ROWS), design, values)
        once, again = running.result(), running.result()
        _assert_same(again, once, "asked again, result")
        assert once.values.shape == (N_ROWS, N_PLAYERS, 2)
        assert np.isfinite(once.values).all(), "values are not finite"
        if once.standard_errors is not None:
            assert once.standard_errors.shape == once.values.shape
            assert not (once.standard_errors < 0).any(), "a standard error is negative"


def check_solver_rows(sampler: Sampler, solver: Solver) -> None:
    """The result of a row does not depend on the other rows, to the last bit."""
    designs = _designs(sampler, 1, 1)
    together, ends = _solved(clone(solver), designs), _ends()
    for row in range(N_ROWS):
        alone = clone(solver).start(
            SolverTask(N_PLAYERS, ends[0][[row]], ends[1][[row]])
        )
        for design, values in designs:
            alone.update(
                np.array([0]), _of_rows(design, np.array([row])), values[[row]]
            )
        expected = (None if part is None else part[[row]] for part in together)
        _assert_same(alone.result(), expected, f"instance {row} alone")


def check_solver_some_rows(sampler: Sampler, solver: Solver) -> None:
    """Rows outside an update keep their estimates."""
    if not goes_on(sampler):
        return
    (first, values), (second, second_values) = _designs(sampler, 1, 1)
    running = _started(clone(solver))
    running.update(np.arange(N_ROWS), first, values)
    before = running.result().values.copy()
    going = np.array([0, 2])
    running.update(going, _of_rows(second, going), second_values[going])
    after = running.result().values
    assert np.array_equal(after[1], before[1]), "an instance changed without an update"
    values_of_all = _solved(
        clone(solver), [(first, values), (second, second_values)]
    ).values
    assert np.array_equal(after[going], values_of_all[going]), (
        "a row depends on the other continuing rows"
    )


def check_solver_merging(sampler: Sampler, solver: Solver, atol: float = 1e-9) -> None:
    """Two designs in sequence give the same estimate as their union."""
    if not goes_on(sampler):
        return
    parts, whole = _designs(sampler, 1, 1), _designs(sampler, 2)
    in_parts, at_once = _solved(clone(solver), parts), _solved(clone(solver), whole)
    _assert_same(in_parts, at_once, "two designs", atol)


def check_solver_symmetry(sampler: Sampler, solver: Solver, atol: float = 1e-9) -> None:
    """Relabelled players have relabelled results, exactly."""
    order = np.array([3, 0, 4, 2, 1])
    designs = _designs(sampler, 1)
    plain = _solved(clone(solver), designs)
    relabelled = [_relabelled(design, values, order) for design, values in designs]
    swapped = _solved(clone(solver), relabelled)
    expected = [None if part is None else part[:, order] for part in plain[:3]]
    _assert_same(swapped, [*expected, plain.additive], "relabelled players", atol)


def _relabelled(
    design: Any, values: np.ndarray, order: np.ndarray
) -> tuple[Any, np.ndarray]:
    """Return a design in which player ``order[i]`` is called i, and its values."""
    changed = {}
    if isinstance(design, MarginalDesign):
        # the position of a coalition determines the player of its marginal contribution
        place = np.arange(values.shape[1]).reshape(-1, len(order), 2)[:, order].ravel()
        values = values[:, place]
        weights = None if design.weights is None else design.weights[:, :, order]
        design = replace(
            design, coalitions=design.coalitions[:, place], weights=weights
        )
    for name, value in vars(design).items():
        if name in ("permutations", "players"):
            changed[name] = np.argsort(order)[value]
        elif name == "coalitions":
            changed[name] = value[:, :, order]
        elif name == "weights" and isinstance(design, LinearDesign):
            # the rows of an array, a sparse matrix or an operator
            changed[name] = np.asarray(value @ np.eye(value.shape[1]))[order]
    return replace(design, **changed), values


def _ends() -> tuple[np.ndarray, np.ndarray]:
    """Return v(empty) and v(all), ``(r, k)`` each."""
    ends = np.array([[False] * N_PLAYERS, [True] * N_PLAYERS])
    values = np.stack([_values(row, ends) for row in range(N_ROWS)])
    return values[:, 0], values[:, 1]


def _started(solver: Solver) -> Solver:
    return solver.start(SolverTask(N_PLAYERS, *_ends()))


def _solved(solver: Solver, designs) -> Estimate:
    _started(solver)
    for design, values in designs:
        solver.update(np.arange(N_ROWS), design, values)
    return solver.result()


def _designs(sampler: Sampler, *halves) -> list[tuple[Any, np.ndarray]]:
    """Return designs that each take a half of one budget, with their values ``(r, m, k)``."""
    sampler, rows = clone(sampler), np.arange(N_ROWS)
    price = sampler.price(N_PLAYERS, 1)
    draws = sampler.afford(10 * price.least_evals, N_PLAYERS, 1).n_draws
    half = draws // 2 // price.unit * price.unit
    requests = [draws] if sampler.traits.one_shot else [part * half for part in halves]
    started(sampler, N_ROWS, sum(requests), N_PLAYERS)
    pairs = []
    for n in requests:
        design = sampler.ask(rows, n)
        coalitions = np.broadcast_to(
            design.coalitions, (N_ROWS, *design.coalitions.shape[1:])
        )
        values = np.stack(
            [
                _values(row, row_coalitions)
                for row, row_coalitions in enumerate(coalitions)
            ]
        )
        sampler.tell(rows, design, values)
        pairs.append((design, values))
    return pairs


def _values(row: int, coalitions: np.ndarray) -> np.ndarray:
    # Two unrelated outputs, so a solver that mixes outputs fails.
    games = [RandomGame(N_PLAYERS, seed) for seed in (2 * row, 2 * row + 1)]
    return StackedGame(games)(coalitions)


def _of_rows(design: Any, rows: np.ndarray) -> Any:
    """Return the design of some rows, by indexing all arrays with a leading axis of rows."""
    parts = {item.name: getattr(design, item.name) for item in fields(design)}
    arrays = {
        name: part for name, part in parts.items() if isinstance(part, np.ndarray)
    }
    # Other arrays, such as weights of strata, belong to all rows.
    row_fields = {
        name: part
        for name, part in arrays.items()
        if part.ndim > 1 and len(part) == N_ROWS
    }
    return replace(design, **{name: part[rows] for name, part in row_fields.items()})


def _assert_same(found: Any, expected: Any, what: str, atol: float = 0.0) -> None:
    """Raise AssertionError unless the parts of two estimates agree."""
    for result, target in zip(found, expected, strict=True):
        assert_equal(result, target, what, atol)


SOLVER_CHECKS = checks_named("check_solver_", globals())


def check_solver(
    solver: Solver, sampler: Sampler, *, skip: Container[str] = ()
) -> None:
    """Check a solver on given designs: independence of rows, merging, relabelled players.

    Parameters
    ----------
    solver : Solver
        Not changed.
    sampler : Sampler
        Makes the designs; not changed.
    skip : container of str, default=()
        Names of checks that do not apply, such as "merging".

    Raises
    ------
    AssertionError
        If the check fails.

    Examples
    --------
    >>> from skshapley.samplers import Leverage
    >>> from skshapley.solvers import LeastSquares
    >>> from skshapley.testing import check_solver
    >>> check_solver(LeastSquares(), Leverage())
    """
    run_checks(SOLVER_CHECKS, skip, sampler, solver)
