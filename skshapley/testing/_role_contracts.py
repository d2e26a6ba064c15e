"""Checks for a sampler alone, and for a solver with given designs."""

from collections.abc import Container
from contextlib import suppress
from dataclasses import fields, replace
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone

from skshapley.designs import LinearDesign, MarginalDesign
from skshapley.samplers import Sampler, SamplerTask
from skshapley.solvers import Solver, SolverTask
from skshapley.solvers._base import Estimate
from skshapley.testing._checks import (
    assert_equal,
    assert_unchanged,
    checks_named,
    run_checks,
)
from skshapley.testing.games import RandomGame, StackedGame

N_PLAYERS = 6


def check_sampler_parameters(sampler: Sampler) -> None:
    """A sampler is a parameter object: clones equal it, and a run changes no parameter."""
    before = sampler.get_params()
    copy = clone(sampler)
    n = _draws(copy, 3)
    started(copy, 2, n).ask(np.arange(2), n)
    assert_unchanged(copy, before, "a run")
    assert repr(clone(copy)) == repr(sampler)


def check_sampler_costs(sampler: Sampler) -> None:
    """Every budget from the smallest on buys draws, and no design costs more than its budget."""
    for p, b in product((2, 3, N_PLAYERS), (1, 3)):
        price = sampler.price(p, b)
        least = price.least_rows
        assert least >= 1, f"the least design of p={p}, b={b} costs {least} model rows"
        for name in ("least", "unit"):
            draws = getattr(price, name)
            assert draws % price.step == 0, (
                f"{name}={draws} draws are no steps of {price.step}"
            )
        with suppress(ValueError):
            bought = sampler.afford(least - 1, p, b)
            # a sampler may look at fewer background rows instead
            assert bought.n_draws == 0 or bought.price.least_rows < least, (
                f"draws for less than {least}, p={p}"
            )
        for budget in (least, least + 1, 2 * least + 1, 5 * least):
            n = sampler.afford(budget, p, b).n_draws
            assert n >= 1, (
                f"no draws for {budget} model rows, which are at least {least}"
            )
            design = started(clone(sampler), 2, n, p, b).ask(np.arange(2), n)
            size = design.coalitions.sum(axis=2)
            n_coalitions = ((size > 0) & (size < p)).sum(axis=1).max()
            assert b > 1 or n_coalitions <= n * price.coalitions, (
                f"{n} draws are {n_coalitions} coalitions, more than {price.coalitions} each"
            )
            coalitions, instances, references = design.requested(2)
            # The most expensive row counts, without duplicates.
            keys = [instances[:, None], coalitions]
            keys += [] if references is None else [references]
            distinct = np.unique(np.concatenate(keys, axis=1, dtype=np.int64), axis=0)
            q = b if references is None else references.shape[1]
            cost = q * np.bincount(distinct[:, 0]).max()
            assert cost <= budget, (
                f"of {budget} model rows (p={p}, b={b}), {cost} were spent"
            )


def check_sampler_designs(sampler: Sampler) -> None:
    """Designs have the declared class, boolean coalitions, one line per row, and correct flags."""
    p = N_PLAYERS
    rows = np.arange(3)
    for times in (1, 4):
        n = _draws(sampler, times)
        design = started(clone(sampler), 3, n).ask(rows, n)
        assert isinstance(design, sampler.produces)
        coalitions = design.coalitions
        assert coalitions.dtype == bool, f"coalitions are {coalitions.dtype}"
        assert coalitions.shape[0] in (1, 3)
        assert coalitions.shape[2] == p
        unit = getattr(design, "unit", 1)
        draws = getattr(design, "permutations", coalitions).shape[1]
        assert draws % unit == 0, f"{draws} draws are not whole units of {unit}"


def check_sampler_rows(sampler: Sampler) -> None:
    """The design of a row depends on its own Generator, not on the other rows."""
    n = _draws(sampler, 3)
    together = started(clone(sampler), 4, n).ask(np.arange(4), n)
    one_by_one = started(clone(sampler), 4, n)
    for row in (2, 0, 3, 1):
        alone = one_by_one.ask(np.array([row]), n)
        _tell_nothing(one_by_one, np.array([row]), alone)
        for part_alone, part_together in zip(
            _part(alone, 0),
            _part(together, row),
            strict=True,
        ):
            assert_equal(
                part_alone,
                part_together,
                f"the design of instance {row}, asked alone,",
            )


def check_sampler_prefix(sampler: Sampler) -> None:
    """Two requests give the design of one request for the sum, unless the sampler is one-shot."""
    if not goes_on(sampler):
        return
    rows = np.arange(2)
    unit = sampler.price(N_PLAYERS, 1).unit
    # The first request is rounded up to whole units: a unit is never divided between
    # two designs.
    first = -(-_draws(sampler, 4) // unit) * unit
    second = 3 * unit
    whole = started(clone(sampler), 2, first + second).ask(rows, first + second)
    twice = started(clone(sampler), 2, first + second)
    parts = [twice.ask(rows, first)]
    _tell_nothing(twice, rows, parts[0])
    parts.append(twice.ask(rows, second))
    for row in rows:
        assert_equal(
            np.concatenate([_part(part, row)[0] for part in parts]),
            _part(whole, row)[0],
            f"the design of row {row} by two requests",
        )


def check_sampler_symmetry(sampler: Sampler, n_runs: int = 400, z: float = 5.0) -> None:
    """All players are in small coalitions equally often, and in large ones.

    Relabelled players must have a relabelled distribution. The check counts how often a
    player is in coalitions of at most (more than) half the players, at the smallest and
    at a larger budget. With six players and z = 5, a correct sampler fails with
    probability below 3e-5.
    """
    p = N_PLAYERS
    for times in (1, 4):
        n = _draws(sampler, times)
        design = started(clone(sampler), n_runs, n).ask(np.arange(n_runs), n)
        size = design.coalitions.sum(axis=2, keepdims=True)
        for half in ((size > 0) & (2 * size <= p), (2 * size > p) & (size < p)):
            share = np.where(half, design.coalitions, 0).sum(axis=1)
            share = share - share.mean(axis=1, keepdims=True)
            error = share.std(axis=0, ddof=min(1, len(share) - 1)) / np.sqrt(len(share))
            worst = np.abs(share.mean(axis=0)) - z * error
            # A count that is equal in all runs has no error, so rounding is allowed
            # for.
            assert (worst <= 1e-9).all(), (
                f"players are in coalitions more or less often than on average by"
                f" {share.mean(axis=0).round(4)}, standard errors {error.round(4)}"
            )


def goes_on(sampler: Sampler) -> bool:
    """Return True if further designs of the sampler do not depend on values."""
    return not sampler.traits.one_shot and type(sampler)._tell is Sampler._tell


def started(
    sampler: Sampler,
    r: int,
    n: int,
    p: int = N_PLAYERS,
    b: int = 1,
) -> Sampler:
    # One generator per row, by its number: a row draws the same alone and with others.
    return sampler.start(
        SamplerTask(
            p,
            [np.random.default_rng([5, row]) for row in range(r)],
            n,
            np.full(b, 1 / b),
        )
    )


def _draws(sampler: Sampler, times: int) -> int:
    return sampler.afford(
        times * sampler.price(N_PLAYERS, 1).least_evals,
        N_PLAYERS,
        1,
    ).n_draws


def _tell_nothing(sampler: Sampler, rows: np.ndarray, design: Any) -> None:
    sampler.tell(rows, design, np.zeros((len(rows), design.coalitions.shape[1], 1)))


def _part(design: Any, row) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the coalitions and references of one row."""
    row = row if len(design.coalitions) > 1 else 0
    references = design.coalition_references
    return design.coalitions[row], None if references is None else references[row]


SAMPLER_CHECKS = checks_named("check_sampler_", globals())


def check_sampler(sampler: Sampler, *, skip: Container[str] = ()) -> None:
    """Check a sampler alone: parameters, costs, designs, rows, prefix, symmetry.

    Parameters
    ----------
    sampler : Sampler
        Not changed.
    skip : container of str, default=()
        Names of checks that do not apply, such as "symmetry".

    Raises
    ------
    AssertionError
        If the check fails.

    Examples
    --------
    >>> from skshapley.samplers import MonteCarlo
    >>> from skshapley.testing import check_sampler
    >>> check_sampler(MonteCarlo())
    """
    run_checks(SAMPLER_CHECKS, skip, sampler)


SOLVER_PLAYERS = 5
N_ROWS = 3
ALL_ROWS = np.arange(N_ROWS)


def check_solver_parameters(sampler: Sampler, solver: Solver) -> None:
    """A solver is a parameter object, and a second start discards the first run."""
    before = solver.get_params()
    copy = clone(solver)
    designs = _designs(sampler, 1)[:1]
    first = _solved(copy, designs)
    assert_unchanged(copy, before, "a run")
    assert repr(clone(copy)) == repr(solver)
    _assert_same(_solved(copy, designs), first, "a second run of one object")


def check_solver_result(sampler: Sampler, solver: Solver) -> None:
    """`result` has no side effect, the right shape, and no negative errors."""
    running = _started(clone(solver))
    for design, values in _designs(sampler, 1, 1):
        running.update(ALL_ROWS, design, values)
        once = running.result()
        _assert_same(running.result(), once, "asked again, result")
        assert once.values.shape == (N_ROWS, SOLVER_PLAYERS, 2)
        assert np.isfinite(once.values).all(), "values are not finite"
        if once.standard_errors is not None:
            assert once.standard_errors.shape == once.values.shape
            assert not (once.standard_errors < 0).any(), "a standard error is negative"


def check_solver_rows(sampler: Sampler, solver: Solver) -> None:
    """The result of a row does not depend on the other rows, to the last bit."""
    designs = _designs(sampler, 1, 1)
    together = _solved(clone(solver), designs)
    for row in range(N_ROWS):
        _assert_same(
            _solved(clone(solver), designs, np.array([row])),
            (None if part is None else part[[row]] for part in together),
            f"instance {row} alone",
        )


def check_solver_some_rows(sampler: Sampler, solver: Solver) -> None:
    """Rows outside an update keep their estimates."""
    if not goes_on(sampler):
        return
    (first, values), (second, second_values) = _designs(sampler, 1, 1)
    running = _started(clone(solver))
    running.update(ALL_ROWS, first, values)
    before = running.result().values.copy()
    going = np.array([0, 2])
    running.update(going, _of_rows(second, going), second_values[going])
    after = running.result().values
    assert np.array_equal(after[1], before[1]), "an instance changed without an update"
    values_of_all = _solved(
        clone(solver),
        [(first, values), (second, second_values)],
    ).values
    assert np.array_equal(after[going], values_of_all[going]), (
        "a row depends on the other continuing rows"
    )


def check_solver_merging(sampler: Sampler, solver: Solver, atol: float = 1e-9) -> None:
    """Two designs in sequence give the same estimate as their union."""
    if not goes_on(sampler):
        return
    parts = _designs(sampler, 1, 1)
    whole = _designs(sampler, 2)
    _assert_same(
        _solved(clone(solver), parts),
        _solved(clone(solver), whole),
        "two designs",
        atol,
    )


def check_solver_symmetry(sampler: Sampler, solver: Solver, atol: float = 1e-9) -> None:
    """Relabelled players have relabelled results, exactly."""
    order = np.array([3, 0, 4, 2, 1])
    designs = _designs(sampler, 1)
    plain = _solved(clone(solver), designs)
    swapped = _solved(
        clone(solver),
        [_relabelled(design, values, order) for design, values in designs],
    )
    expected = [None if part is None else part[:, order] for part in plain[:3]]
    _assert_same(swapped, [*expected, plain.additive], "relabelled players", atol)


def _relabelled(
    design: Any,
    values: np.ndarray,
    order: np.ndarray,
) -> tuple[Any, np.ndarray]:
    """Return a design in which player ``order[i]`` is called i, and its values."""
    changed = {}
    if isinstance(design, MarginalDesign):
        # the position of a coalition determines the player of its marginal contribution
        place = np.arange(values.shape[1]).reshape(-1, len(order), 2)[:, order].ravel()
        values = values[:, place]
        design = replace(
            design,
            coalitions=design.coalitions[:, place],
            weights=None if design.weights is None else design.weights[:, :, order],
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


def _started(solver: Solver, rows: np.ndarray = ALL_ROWS) -> Solver:
    ends = np.array([[False] * SOLVER_PLAYERS, [True] * SOLVER_PLAYERS])
    v_empty, v_full = np.stack([_values(row, ends) for row in rows], axis=1)
    return solver.start(SolverTask(SOLVER_PLAYERS, v_empty, v_full))


def _solved(
    solver: Solver,
    designs: list[tuple[Any, np.ndarray]],
    rows: np.ndarray = ALL_ROWS,
) -> Estimate:
    """Return the estimate of some rows from their parts of designs."""
    _started(solver, rows)
    for design, values in designs:
        solver.update(np.arange(len(rows)), _of_rows(design, rows), values[rows])
    return solver.result()


def _designs(sampler: Sampler, *halves) -> list[tuple[Any, np.ndarray]]:
    """Return designs that each take a half of one budget, with their values ``(r, m, k)``."""
    sampler = clone(sampler)
    price = sampler.price(SOLVER_PLAYERS, 1)
    draws = sampler.afford(10 * price.least_evals, SOLVER_PLAYERS, 1).n_draws
    half = draws // 2 // price.unit * price.unit
    requests = [draws] if sampler.traits.one_shot else [part * half for part in halves]
    started(sampler, N_ROWS, sum(requests), SOLVER_PLAYERS)
    pairs = []
    for n in requests:
        design = sampler.ask(ALL_ROWS, n)
        coalitions = np.broadcast_to(
            design.coalitions,
            (N_ROWS, *design.coalitions.shape[1:]),
        )
        values = np.stack(
            [
                _values(row, row_coalitions)
                for row, row_coalitions in enumerate(coalitions)
            ]
        )
        sampler.tell(ALL_ROWS, design, values)
        pairs.append((design, values))
    return pairs


def _values(row: int, coalitions: np.ndarray) -> np.ndarray:
    # Two unrelated outputs, so a solver that mixes outputs fails.
    return StackedGame(
        [RandomGame(SOLVER_PLAYERS, seed) for seed in (2 * row, 2 * row + 1)]
    )(coalitions)


def _of_rows(design: Any, rows: np.ndarray) -> Any:
    """Return the design of some rows, by indexing all arrays with a leading axis of rows."""
    parts = {item.name: getattr(design, item.name) for item in fields(design)}
    # Other arrays, such as weights of strata, belong to all rows.
    row_fields = {
        name: part[rows]
        for name, part in parts.items()
        if isinstance(part, np.ndarray) and part.ndim > 1 and len(part) == N_ROWS
    }
    return replace(design, **row_fields)


def _assert_same(found: Any, expected: Any, what: str, atol: float = 0.0) -> None:
    """Raise AssertionError unless the parts of two estimates agree."""
    for result, target in zip(found, expected, strict=True):
        assert_equal(result, target, what, atol)


SOLVER_CHECKS = checks_named("check_solver_", globals())


def check_solver(
    solver: Solver,
    sampler: Sampler,
    *,
    skip: Container[str] = (),
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
