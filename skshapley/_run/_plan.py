"""From names and "auto" to a sampler and a solver that fit together and a budget that is enough."""

from math import ceil, sqrt
from typing import Any

from skshapley._run._engine import Plan, design_bytes
from skshapley._tools._constraints import Count
from skshapley._tools._memory import working_bytes
from skshapley._tools._params import resolve
from skshapley._tools._random import RowStream
from skshapley.indices import pair_index, player_index
from skshapley.samplers import SAMPLERS, Antithetic, Exact, MonteCarlo, Odd, Sampler
from skshapley.samplers._exact import MOST_PLAYERS
from skshapley.solvers import DEFAULT_SOLVERS, SOLVERS, Solver
from skshapley.stopping import StoppingRule

MOST_IN_A_PROCESS = 500  # players
# Draws that repeat cost no evaluation, so that a budget of more coalitions than there are would
# never be spent: it is cut to all of them, or to this many, with which no error is left to speak of
ENOUGH_EVALS = 2**18
MOST_EVALS = 2**26  # of an instance, without a rule that stops: hours of most models
SMALL_BYTES = 2**27  # a single design may take as much, however little the working memory is
TIMES_WITH_STOPPING = 16  # of the usual budget: room to go on until the rule says stop


def make_plan(
    *,
    sampler: Any,
    solver: Any,
    max_evals: Any,
    stopping: Any,
    random_state: Any,
    n_players: int,
    n_references: int,
    owner: str,
    unbiased: bool = False,
    interactions: Any = False,
    index: Any = "shapley",
) -> Plan:
    """Check the parameters of a run, those of its components too, and return its plan.

    With `unbiased`, "auto" stands for methods without a bias, which means over many instances would
    keep. With `interactions` (True, or the name of an index) the outcome has entries for pairs of
    players too. The values of players are those of `index`.

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
    budget = _budget(max_evals, n_players, n_references, owner, again)
    # the usual budget does not reach for a method that has one design only
    if is_auto(max_evals) and isinstance(sampler, Exact) and n_players <= MOST_PLAYERS:
        budget = max(budget, 2**n_players)

    def components(count: int) -> tuple[Sampler, Solver]:
        if is_auto(sampler) and is_auto(solver):
            pair = auto_pair(count, budget, walks=unbiased or stopping is not None)
        else:
            pair = _pair(sampler, solver, owner)
        pair[1].pairs, pair[1].index = pairs, wanted
        return pair

    chosen, solving = components(n_players)
    for component in (chosen, solving):
        component.check()
    solving.check_players(n_players)
    _check_indices(chosen, solving, owner)
    if stopping is not None and not solving.has_standard_errors:
        raise ValueError(
            f"{owner} got stopping={stopping!r}, but {type(solving).__name__} has no standard"
            f" errors to stop by; choose another solver or stopping=None."
        )
    if n_players > 1:
        asked = f"{owner} got max_evals={max_evals!r}"
        name = "" if is_auto(sampler) and is_auto(solver) else f"for {type(chosen).__name__} "
        _check_budget(budget, chosen, n_players, n_references, asked, name)
        if not again:
            _check_end(budget, chosen, n_players, n_references, asked)
    return Plan(components, budget, stopping, *RowStream.of(random_state, owner))


def _check_indices(sampler: Sampler, solver: Solver, owner: str) -> None:
    """Refuse values of players, or interactions, of an index that cannot be had."""
    if not solver.gives(sampler.produces, solver.index):
        raise ValueError(
            f'{owner} was asked for the index "{solver.index.name}", which {type(solver).__name__}'
            f' cannot give with {type(sampler).__name__}: choose sampler="exact", or sampler="odd"'
            f" with max_evals of at least four a player."
        )
    index = solver.pairs
    if index is None or solver.gives_pairs(sampler.produces, index):
        return
    hint = 'choose sampler="exact"'
    if index.symmetric:
        hint += ', or sampler="odd" with max_evals of at least four a player'
    raise ValueError(
        f'{owner} was asked for interactions, index "{index.name}", which {type(solver).__name__}'
        f" cannot give with {type(sampler).__name__}: {hint}."
    )


def is_auto(value: Any) -> bool:
    """Return whether a parameter is left to us; an object may compare with a str as it likes."""
    return isinstance(value, str) and value == "auto"


def _budget(max_evals, n_players: int, n_references: int, owner: str, again: bool) -> int:
    """Return the evaluations of an instance as a number; `again` where a rule stops sooner."""
    if is_auto(max_evals):
        times = TIMES_WITH_STOPPING if again else 1
        return auto_budget(n_players, n_references) * times
    if not Count().allows(max_evals):
        raise ValueError(
            f'{owner} takes max_evals as "auto" or a positive int, evaluations per instance;'
            f" got {max_evals!r}."
        )
    return min(int(max_evals), max(2**n_players, ENOUGH_EVALS))


def _check_budget(budget, sampler, n_players, n_references, asked, name) -> None:
    """Refuse a budget that buys no design, or one that the working memory cannot hold."""
    n_draws = sampler.n_draws(budget - 2, n_players, n_references)
    price = sampler.price(n_players, n_references)
    if not n_draws:
        raise ValueError(
            f"{asked}, which is too small {name}with {n_players} players: it needs at least"
            f" {price.least_evals + 2} evaluations per instance."
        )
    room = max(working_bytes(), SMALL_BYTES)
    most = int(room // design_bytes(price.coalitions, n_players))
    if sampler.one_shot and n_draws > max(most, price.least):
        fits = (most * price.draw - price.given) // price.references + 2
        raise ValueError(
            f"{asked}, but {type(sampler).__name__} makes a single design, and the working memory"
            f" holds one of {fits} evaluations with {n_players} players: pass fewer, raise"
            f" sklearn.set_config(working_memory=), or choose a sampler that is asked in parts,"
            f' such as "antithetic".'
        )


def _check_end(budget, sampler, n_players, n_references, asked) -> None:
    """Refuse a budget that nobody lives to see spent."""
    price = sampler.price(n_players, n_references)
    n_draws = sampler.n_draws(budget - 2, n_players, n_references)
    if n_draws * price.draw > MOST_EVALS * price.references:
        raise ValueError(
            f"{asked}, more than the {MOST_EVALS} that an instance can have without a stopping"
            f" rule: pass fewer, or stopping=skshapley.stopping.StandardError(rtol=0.05)."
        )


def auto_budget(n_players: int, n_references: int) -> int:
    """Return the evaluations per instance that ``max_evals="auto"`` stands for.

    ``max(256, 4 p) + 768 / sqrt(b)``: up to 8 players are enumerated; every background row gets at
    least two pairs of walks, which standard errors need; and since an evaluation against b rows is
    b walks' steps, small backgrounds need more of them for the same error. On XGBoost models of 10
    to 100 features this stays below the errors of shap's PermutationExplainer with its default of
    500 evaluations, at b = 100 with a quarter of them too (``benchmarks/bench_budget.py``).
    """
    return max(256, 4 * n_players) + ceil(768 / sqrt(n_references))


def auto_pair(n_players: int, max_evals: int, *, walks: bool) -> tuple[Sampler, Solver]:
    """Return what ``sampler="auto", solver="auto"`` stand for: by counts alone.

    All coalitions where the budget covers them. From four evaluations a player on, the process on
    the odd part: of all methods here it makes the least error of the same model rows, at any size
    of background (``benchmarks/bench_accuracy.py``). Its algebra takes about a quarter of a second
    for each of the first eight instances and some milliseconds for those that follow; the decision
    does not know how many there are, nor what a model row costs, so that no result depends on
    either. Of a model that answers thousands of rows a millisecond, a few instances are explained
    sooner by walks. Below, pairs of walks that each have a background row of their own, or, where
    the budget does not reach for a pair on every row, single walks. Walks serve too with `walks`,
    where a stopping rule asks for standard errors again and again, which cost them nothing, or a
    mean over instances for no bias; and for more players than a process holds four pairs of.
    """
    if n_players <= MOST_PLAYERS and 2**n_players <= max_evals:
        sampler: Sampler = Exact()
    elif not walks and n_players <= MOST_IN_A_PROCESS and 4 * n_players <= max_evals:
        sampler = Odd()
    elif max_evals >= 2 * n_players:
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
