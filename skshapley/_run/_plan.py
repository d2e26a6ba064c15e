"""From names and "auto" to a sampler and a solver that fit together and a budget that is enough."""

from typing import Any

from skshapley._run._budget import Budget
from skshapley._run._engine import Plan
from skshapley._run._size import Size
from skshapley._tools._params import resolve
from skshapley._tools._random import entropy_from
from skshapley.indices import pair_index, player_index
from skshapley.samplers import SAMPLERS, Antithetic, Exact, MonteCarlo, Odd, Sampler
from skshapley.samplers._exact import MOST_PLAYERS
from skshapley.solvers import DEFAULT_SOLVERS, SOLVERS, Solver
from skshapley.stopping import StoppingRule

MOST_IN_A_PROCESS = 500  # players
TIMES_WITH_STOPPING = 16  # of the usual budget: room to go on until the rule says stop


def make_plan(
    *,
    sampler: Any,
    solver: Any,
    stopping: Any,
    random_state: Any,
    size: Size,
    owner: str,
    max_rows: Any = None,
    max_evals: Any = None,
    unbiased: bool = False,
    interactions: Any = False,
    index: Any = "shapley",
) -> Plan:
    """Check the parameters of a run, those of its components too, and return its plan.

    Its budget is given by `max_rows`, or, where that is None, by `max_evals`. With `unbiased`,
    "auto" stands for methods without a bias, which means over many instances would keep. With
    `interactions` (True, or the name of an index) the outcome has entries for pairs of players too.
    The values of players are those of `index`.

    Raises
    ------
    TypeError
        If sampler and solver do not fit.
    ValueError
        For unknown names, wrong parameters, or a budget that is less than the least design.
    """
    wanted, pairs = player_index(index, owner), pair_index(interactions, owner)
    if stopping is not None:
        if not isinstance(stopping, StoppingRule):
            raise TypeError(
                f"{owner} takes stopping as None or a stopping rule; got {stopping!r}. Try"
                f" skshapley.stopping.StandardError(rtol=0.05)."
            )
        stopping.check()
    solver = solver if is_auto(solver) else _solver(solver, owner)
    sampler = sampler if is_auto(sampler) else _sampler(sampler, owner)
    # room to go on until the rule says stop, for a sampler that can be asked again
    again = stopping is not None and (is_auto(sampler) or not sampler.one_shot)
    given = max_evals if max_rows is None else max_rows
    budget = Budget(owner, given, size, in_evals=max_rows is None)
    n_rows, n_players = budget.rows(TIMES_WITH_STOPPING if again else 1), size.n_players
    # the usual budget does not reach for a method that has one design only
    if is_auto(given) and isinstance(sampler, Exact) and n_players <= MOST_PLAYERS:
        n_rows = max(n_rows, size.rows(2**n_players))

    def components(count: int) -> tuple[Sampler, Solver]:
        if is_auto(sampler) and is_auto(solver):
            # a rule that may stop sooner waits for all coalitions only where they are few
            walks = unbiased or stopping is not None
            paired = pairs is not None and pairs.symmetric
            pair = auto_pair(count, size, budget.rows(1), walks=walks, pairs=paired)
        else:
            pair = _pair(sampler, solver, owner)
        pair[1].pairs, pair[1].index = pairs, wanted
        return pair

    chosen, solving = components(n_players)
    for component in (chosen, solving):
        component.check()
    solving.check_players(n_players)
    _check_indices(chosen, solving, budget)
    if stopping is not None and not solving.has_standard_errors:
        raise ValueError(
            f"{owner} got stopping={stopping!r}, but {type(solving).__name__} has no standard"
            f" errors to stop by; choose another solver or stopping=None."
        )
    if n_players > 1:
        name = "" if is_auto(sampler) and is_auto(solver) else f"for {type(chosen).__name__} "
        budget.check(n_rows, chosen, name, again)
    return Plan(components, n_rows, stopping, entropy_from(random_state, owner))


def _check_indices(sampler: Sampler, solver: Solver, budget: Budget) -> None:
    """Refuse values of players, or interactions, of an index that cannot be had."""
    owner, size = budget.owner, budget.size
    odd = f'sampler="odd" with at least {budget.told((4 * size.n_players - 2) * size.n_references)}'
    cannot = f"which {type(solver).__name__} cannot give with {type(sampler).__name__}"
    if not solver.gives(sampler.produces, solver.index):
        raise ValueError(
            f'{owner} was asked for the index "{solver.index.name}", {cannot}: choose'
            f' sampler="exact", or {odd}.'
        )
    index = solver.pairs
    if index is None or solver.gives_pairs(sampler.produces, index):
        return
    hint = 'choose sampler="exact"' + (f", or {odd}" if index.symmetric else "")
    raise ValueError(f'{owner} was asked for interactions, index "{index.name}", {cannot}: {hint}.')


def is_auto(value: Any) -> bool:
    """Return whether a parameter is left to us; an object may compare with a str as it likes."""
    return isinstance(value, str) and value == "auto"


def auto_pair(
    count: int, size: Size, n_rows: int, *, walks: bool, pairs: bool = False
) -> tuple[Sampler, Solver]:
    """Return what ``sampler="auto", solver="auto"`` stand for, before any value is seen.

    All coalitions where the budget covers them against all background rows. Where it covers four
    evaluations a player against all of them, the process on the odd part: of all methods here it
    makes the least error of the same model rows (``benchmarks/accuracy``). Its algebra
    takes a second or two in ``fit``, and some milliseconds an instance; the decision does not know
    how many there are, nor what a model row costs, so that no result depends on either. An
    explainer turns to walks where its pilots show that these do better (`skshapley._run._rival`).
    Else, for tables of many rows too, pairs of walks that each have a background row of their own
    (``benchmarks/background.py``), or, where the budget does not reach for those, single
    walks. Walks serve too with `walks`, where a stopping rule asks for standard errors again and
    again, which cost them nothing, or a mean over instances
    for no bias; and for more players than a process holds four pairs of. With `pairs`, interactions
    are wanted, which walks cannot give: the process serves at any budget, against a sample of the
    background rows where they are many.
    """
    b, values = size.n_references, size.values(n_rows)
    if count <= MOST_PLAYERS and (2**count - 2) * b <= values:
        sampler: Sampler = Exact()
    elif pairs or (not walks and count <= MOST_IN_A_PROCESS and (4 * count - 2) * b <= values):
        sampler = Odd()
    elif values >= Antithetic().price(count, b).least_rows:
        sampler = Antithetic()
    else:
        sampler = MonteCarlo()
    return sampler, _default_solver(sampler)


def _solver(solver, owner: str) -> Solver:
    return resolve(solver, registry=SOLVERS, base=Solver, owner=owner, parameter="solver")


def _sampler(sampler, owner: str) -> Sampler:
    return resolve(sampler, registry=SAMPLERS, base=Sampler, owner=owner, parameter="sampler")


def _pair(sampler, solver, owner: str) -> tuple[Sampler, Solver]:
    """Return a fresh sampler and solver, made to fit."""
    if is_auto(sampler):
        chosen = SAMPLERS[solver.default_sampler]()
    else:
        chosen = _sampler(sampler, owner)
    if is_auto(solver):
        return chosen, _default_solver(chosen)
    if not issubclass(chosen.produces, solver.accepts):
        fitting = [n for n, s in SAMPLERS.items() if issubclass(s.produces, solver.accepts)]
        solving = [n for n, s in SOLVERS.items() if issubclass(chosen.produces, s.accepts)]
        accepted = " or ".join(design.__name__ for design in solver.accepts)
        raise TypeError(
            f"{owner} cannot pair sampler {type(chosen).__name__}, which produces a"
            f" {chosen.produces.__name__}, with solver {type(solver).__name__}, which accepts"
            f" {accepted}: use a sampler of {fitting}, or a solver of {solving}."
        )
    return chosen, _solver(solver, owner)


def _default_solver(sampler: Sampler) -> Solver:
    for design in sampler.produces.__mro__:
        if design in DEFAULT_SOLVERS:
            return SOLVERS[DEFAULT_SOLVERS[design]]()
    raise TypeError(
        f"{type(sampler).__name__} produces a {sampler.produces.__name__}, for which there is no"
        f" default solver; name one of {sorted(SOLVERS)} or pass an instance."
    )
