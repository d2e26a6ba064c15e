"""The plan of a run: sampler, solver and budget."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, sqrt
from typing import Any, Self

from sklearn.base import clone

from skshapley._tools import Count, resolve, working_bytes
from skshapley.designs import StepwiseDesign
from skshapley.indices import INDICES, Index, pair_index, player_index
from skshapley.rewards import Game
from skshapley.samplers import (
    SAMPLERS,
    Antithetic,
    Exact,
    ExactNested,
    Extended,
    MonteCarlo,
    Nested,
    Odd,
    RankedOdd,
    Sampler,
)
from skshapley.samplers._base import EVALS_A_PLAYER, LEAST_REFERENCES, Bought
from skshapley.samplers._coalitions import MOST_PLAYERS
from skshapley.solvers import DEFAULT_SOLVERS, SOLVERS, Solver
from skshapley.stopping import RelativeError, StoppingRule

# Repeated draws cost no evaluation, so a budget above the number of coalitions is never
# spent. It is cut to the number of coalitions, or to this number, at which the error is
# negligible
UNUSED = object()  # users may pass None
ENOUGH_EVALS = 2**18
MOST_EVALS = 2**26  # per row without a stopping rule: hours for most models
SMALL_BYTES = 2**27  # a single design may take this much, whatever the working memory
LEAST_EVALS_A_PLAYER = 4  # against a sample of fewer than a hundred background rows
USUAL_REFERENCES = 100  # "auto" requests no more model rows for larger backgrounds


@dataclass(frozen=True)
class Size:
    """The size of a game.

    Attributes
    ----------
    n_players, n_references : int
    rows_per_value : int
        Model rows of one evaluation, against all background rows.
    of_means : bool
        Whether a value is a function of means over the background, so that a sample of
        the background rows may stand for all.
    """

    n_players: int
    n_references: int = 1
    rows_per_value: int = 1
    of_means: bool = False

    @classmethod
    def of(cls, game: Game) -> Self:
        """Return the size of a game."""
        return cls(
            game.n_players,
            game.n_references,
            game.rows_per_value,
            of_means=game.means is not None,
        )

    def within(self, max_rows: int) -> Self:
        """Return the size with as many background rows per evaluation as a budget allows.

        As for other games, a sample leaves six evaluations per player, or at least four
        if it has less than a hundred rows.
        """
        if not self.of_means:
            return self
        n_rows = max(LEAST_REFERENCES, max_rows // (EVALS_A_PLAYER * self.n_players))
        n_rows = min(n_rows, max_rows // (LEAST_EVALS_A_PLAYER * self.n_players))
        return replace(self, rows_per_value=max(1, min(self.rows_per_value, n_rows)))

    def rows(self, n_evals: int) -> int:
        """Return the model rows of `n_evals` evaluations, including v(empty) and v(all)."""
        return (n_evals - 2) * self.rows_per_value + 1

    def values(self, max_rows: int) -> int:
        """Return the number of coalitions, each against one background row, for `max_rows`.

        The row to explain itself costs one model row.
        """
        return (
            (max_rows - 1) * self.n_references // self.within(max_rows).rows_per_value
        )


def auto_rows(size: Size) -> int:
    """Return the model rows per row to explain for the budget "auto".

    The budget is ``b (max(256, 4 p) + 768 / sqrt(b))`` for b background rows, at most
    100. It enumerates up to 8 players against 100 rows, and gives every row at least
    two pairs of permutations. An evaluation against b rows is one step of b
    permutations, so small backgrounds need more evaluations for the same error. A
    larger table costs no more, because its rows are sampled. On XGBoost models of 10 to
    100 features, the errors stay below the errors of shap's PermutationExplainer with
    its default of 500 evaluations. At b = 100, a quarter of the budget is enough.
    """
    n_references = size.rows_per_value if size.of_means else size.n_references
    b = min(n_references, USUAL_REFERENCES)
    n_evals = max(256, 4 * size.n_players) + ceil(768 / sqrt(b))
    rows_per_value = size.rows_per_value * b // n_references
    return replace(size, rows_per_value=rows_per_value).rows(n_evals)


def design_bytes(coalitions: int, n_players: int, n_outputs: int = 1) -> int:
    """Return the approximate memory of a row's coalitions and values, in bytes."""
    return coalitions * (4 * n_players + 48 * n_outputs + 64)


MOST_IN_A_PROCESS = 500  # players
# Players for which interactions of an asymmetric index are enumerated by default
MOST_ENUMERATED = 12
MOST_RANKED = 4000  # evaluations of a design for players by rank
# Background rows for pairs of permutations; fewer rows get single permutations
LEAST_PAIRED = 16
TIMES_WITH_STOPPING = 16  # times the usual budget, so that the stopping rule decides


# The automatic choice of a sampler: from the request, the size of the game and the
# number of players that matter
Rule = Callable[["Request", Size, int], Sampler]


@dataclass(frozen=True, eq=False)
class Request:
    """The checked parameters of a run, as the user passed them.

    Attributes
    ----------
    owner : str
        For errors.
    sampler, solver : Sampler and Solver, or None
        None: the rule chooses, by the number of players that matter.
    limit : int or "auto"
        The budget in model rows or in evaluations.
    in_evals : bool
        Whether the budget counts evaluations of a game rather than model rows.
    stopping : StoppingRule, None or "auto"
        "auto": permutations stop at a relative error if no budget is given.
    index : Index
        The index of the players' values.
    pairs : Index or None
        The index of the requested interactions.
    rule : callable
    """

    owner: str
    sampler: Sampler | None
    solver: Solver | None
    limit: Any
    in_evals: bool
    stopping: Any
    index: Index
    pairs: Index | None
    rule: Rule

    @classmethod
    def of(
        cls,
        owner: str,
        *,
        sampler: Any,
        solver: Any,
        stopping: Any,
        max_rows: Any = UNUSED,
        max_evals: Any = UNUSED,
        interactions: Any = False,
        index: Any = "shapley",
        rule: Rule | None = None,
    ) -> Self:
        """Check the parameters of a run and its components.

        Parameters
        ----------
        owner : str
            For errors.
        sampler, solver, stopping, interactions, index
            As users pass them.
        max_rows, max_evals : int or "auto"
            The budget, in model rows or in evaluations.
        rule : callable, default=usual_sampler

        Raises
        ------
        TypeError
            If sampler and solver do not fit.
        ValueError
            For unknown names or wrong parameters.
        """
        if not (stopping is None or is_auto(stopping)):
            if not isinstance(stopping, StoppingRule):
                raise TypeError(
                    f'{owner} takes stopping as "auto", None or a stopping rule; got '
                    f"{stopping!r}. Try skshapley.stopping.StandardError(rtol=0.05)."
                )
            stopping.check()
        if is_auto(sampler) and is_auto(solver):
            sampler = None
            solver = None
        else:
            sampler, solver = _pair(sampler, solver, owner)
            # All errors of parameters come before the first call of the model.
            sampler.check()
            solver.check()
        return cls(
            owner,
            sampler,
            solver,
            limit=max_evals if max_rows is UNUSED else max_rows,
            in_evals=max_rows is UNUSED,
            stopping=stopping,
            index=player_index(index, owner),
            pairs=pair_index(interactions, owner),
            rule=usual_sampler if rule is None else rule,
        )

    @property
    def automatic(self) -> bool:
        """True if the rule chooses sampler and solver."""
        return self.sampler is None

    @property
    def parameter(self) -> str:
        """The name of the budget's parameter."""
        return "max_evals" if self.in_evals else "max_rows"

    @property
    def text(self) -> str:
        """The owner and value of the budget, for errors."""
        return f"{self.owner} got {self.parameter}={self.limit!r}"

    def rows(self, size: Size, times: int = 1) -> int:
        """Return the model rows per row to explain; "auto" gives `times` the usual budget."""
        p = size.n_players
        if is_auto(self.limit):
            return auto_rows(size) * times
        if not Count().allows(self.limit):
            what = "evaluations" if self.in_evals else "model rows"
            raise ValueError(
                f'{self.owner} takes {self.parameter} as "auto" or a positive int, '
                f"{what} per row to explain; got {self.limit!r}."
            )
        n_rows = int(self.limit)
        if self.in_evals and p == 1 and n_rows < 2:
            raise ValueError(
                f"{self.text}, which is too small: a game of one player has 2 "
                "evaluations, the empty and the full coalition."
            )
        if self.in_evals:
            n_rows = size.rows(n_rows)
        return min(n_rows, size.rows(max(2**p, ENOUGH_EVALS)))

    def methods(self, size: Size, n_players: int) -> tuple[Sampler, Solver]:
        """Return a fresh sampler and solver for a number of players that matter."""
        if self.sampler is not None and self.solver is not None:
            return clone(self.sampler), clone(self.solver)
        sampler = self.rule(self, size, n_players)
        return sampler, _default_solver(sampler)

    def plan(self, size: Size) -> "Plan":
        """Return the plan for a game of some size.

        Raises
        ------
        ValueError
            For a budget below the smallest design, or for unsuitable methods.
        """
        return self.draft(size).checked()

    def draft(self, size: Size) -> "Plan":
        """Return the plan; automatic methods without regard to indices.

        A closed form may give these.

        Raises
        ------
        ValueError
            As `plan`, except for indices of automatic methods.
        """
        p = size.n_players
        sampler, solver = self.methods(size, p)
        automatic = is_auto(self.stopping)
        stopping = None if automatic else self.stopping
        # room until the rule stops, for a sampler with several designs
        again = stopping is not None and (
            self.sampler is None or not sampler.traits.one_shot
        )
        n_rows = self.rows(size, TIMES_WITH_STOPPING if again else 1)
        # the usual budget is too small for a method with a single design
        if is_auto(self.limit) and isinstance(sampler, Exact) and p <= MOST_PLAYERS:
            # A user who names "exact" and no budget wants all coalitions.
            n_rows = max(n_rows, size.rows(2**p))
        walks = (
            issubclass(sampler.produces, StepwiseDesign) and not sampler.traits.one_shot
        )
        errors = solver.traits.standard_errors
        if automatic and is_auto(self.limit) and walks and errors:
            stopping = RelativeError()
        solver.check_players(p)
        if stopping is not None and not errors:
            raise ValueError(
                f"{self.owner} got stopping={stopping!r}, but "
                f"{type(solver).__name__} has no standard errors to stop by; choose "
                "another solver or stopping=None."
            )
        plan = Plan(self, size, n_rows, stopping, sampler, solver)
        if p > 1:
            plan.check_budget(stops=again)
        return plan if self.automatic else plan.checked()


@dataclass(frozen=True, eq=False)
class Plan:
    """A run planned in ``fit`` and executed by ``explain``.

    Attributes
    ----------
    request : Request
    size : Size
        The size of the game.
    max_rows : int
        Model rows per row to explain, its own included.
    stopping : StoppingRule or None
    sampler, solver : Sampler and Solver
        The methods if all players matter; they are never started.
    """

    request: Request
    size: Size
    max_rows: int
    stopping: StoppingRule | None
    sampler: Sampler
    solver: Solver

    @cached_property
    def bought(self) -> Bought:
        """The draws that the budget buys if all players matter."""
        return self.sampler.afford(
            self.size.values(self.max_rows),
            self.size.n_players,
            self.size.n_references,
        )

    @property
    def rows_to_stop(self) -> int:
        """Model rows of a row before it may stop, if every background row is used; else 0.

        A small background is used as a whole, more than once. A sample of a large one
        may be as small as the precision allows.
        """
        if self.samples:
            return 0
        return self.bought.to_stop * self.bought.price.draw

    @property
    def takes_parts(self) -> bool:
        """True if a part of the game with known Shapley values may be subtracted."""
        plain = self.size.n_players > 1 and self.request.index == INDICES["shapley"]
        return plain and self.sampler.produces in self.solver.traits.parts

    @property
    def samples(self) -> bool:
        """True if a sample of the coalitions is evaluated."""
        size = self.size
        fewer_means = size.within(self.max_rows).rows_per_value < size.rows_per_value
        return size.n_players > 1 and (fewer_means or self.bought.samples)

    def as_text(self, n_values: int) -> str:
        """Return a phrase for the cost of `n_values` coalitions against one background row."""
        size = self.size.within(self.max_rows)
        n_rows = -(-n_values * size.rows_per_value // size.n_references) + 1
        if not self.request.in_evals:
            return f"{n_rows} model rows"
        return f"{-(-(n_rows - 1) // size.rows_per_value) + 2} evaluations"

    def check_budget(self, stops: bool) -> None:
        """Raise ValueError for a budget below any design, or above memory and time limits."""
        size = self.size.within(self.max_rows)
        p = size.n_players
        values = size.values(self.max_rows)
        sampler = self.sampler
        method = type(sampler).__name__
        bought = self.bought
        price = bought.price
        n_draws = bought.n_draws
        if not n_draws:
            hint = "; or keep fewer of the background rows, such as max_background=100"
            fewer = sampler.price(p, min(USUAL_REFERENCES, size.n_references))
            averaged = size.rows_per_value > 1 and size.n_references == 1
            averaged |= (
                fewer.references < price.references and fewer.n_draws(values) > 0
            )
            name = "" if self.request.sampler is None else f"for {method} "
            raise ValueError(
                f"{self.request.text}, which is too small {name}with {p} players: it needs at "
                f"least {self.as_text(price.least_rows)} per row"
                f"{hint if averaged and not self.request.in_evals else ''}."
            )
        # A very small working memory must not forbid designs that fit on any machine.
        room = max(working_bytes(), SMALL_BYTES)
        most = int(room // design_bytes(price.coalitions, p))
        if sampler.traits.one_shot and n_draws > max(most, price.least):
            raise ValueError(
                f"{self.request.text}, but {method} makes a single design, "
                "and the working memory holds one of "
                f"{self.as_text(most * price.draw - price.saved_rows)} with {p} players: "
                "pass fewer, raise sklearn.set_config(working_memory=), or choose a "
                'sampler of several designs, such as "antithetic".'
            )
        if not stops and n_draws * price.draw > MOST_EVALS * price.references:
            raise ValueError(
                f"{self.request.text}, more than the "
                f"{self.as_text(MOST_EVALS * price.references)} that a row can have "
                "without a stopping rule: pass fewer, or "
                "stopping=skshapley.stopping.StandardError(rtol=0.05)."
            )

    def checked(self) -> Self:
        """Return the plan, or raise ValueError for an index that the methods do not give."""
        request = self.request
        size = self.size
        solver = self.solver
        design = self.sampler.produces
        # Two pairs per player are the least for the Gaussian-process estimator, less
        # both known ends.
        least = (4 * size.n_players - 2) * size.n_references
        odd = f', or sampler="odd" with at least {self.as_text(least)}'
        what = f'index="{request.index.name}"'
        if solver.traits.gives(design, request.index):
            pairs = request.pairs
            if pairs is None or solver.traits.gives_pairs(design, pairs):
                return self
            what = f'interactions with index "{pairs.name}"'
            odd = odd if pairs.symmetric else ' or "extended"'
        raise ValueError(
            f"{request.owner} got {what}, which {type(solver).__name__} cannot give with"
            f' {type(self.sampler).__name__}: choose sampler="exact"{odd}.'
        )


def is_auto(value: Any) -> bool:
    """Return True if a parameter is "auto"; objects may define their own comparison with a str."""
    return isinstance(value, str) and value == "auto"


def usual_sampler(request: Request, size: Size, count: int) -> Sampler:
    """Return the sampler for ``sampler="auto", solver="auto"``.

    If the budget covers all coalitions, all of them. With one background row, or with
    interactions, the Gaussian-process estimator; for an asymmetric index of
    interactions, extended permutations, or all coalitions of up to 12 players.
    Otherwise, antithetic permutations, with one background row per pair. Budgets below
    a pair buy single permutations.

    With one background row, the Gaussian-process estimator takes at most
    `MOST_IN_A_PROCESS` players. It needs two evaluations per player, and four for other
    indices than Shapley's.
    """
    sampler = sampler_by_steps(request, size, count)
    if isinstance(sampler, Exact):
        return sampler
    pairs = request.pairs
    if pairs is not None and not pairs.symmetric:
        enumerable = is_auto(request.limit) and size.n_players <= MOST_ENUMERATED
        return Exact() if enumerable else Extended()
    # Against 3,000 background rows, permutations have half the squared error of the
    # Gaussian process or less: 1.3e-3 and 2.4e-3 at 4 evaluations per player, 4.4e-4
    # and 1.2e-3 at 10 (18 columns, boosted trees).
    values = size.values(request.rows(size))
    single = size.n_references == 1 and count <= MOST_IN_A_PROCESS
    plain = pairs is None and request.index == INDICES["shapley"]
    least = 2 * count if plain else 4 * count - 2
    if single and least <= values:
        # If rows of a model are explained, evaluations are cheap: for 1,000 of them, a
        # model takes .4 ms, and hyper-parameters of the row take 15 to 200 ms. If a
        # game is passed, evaluations may be slow. With hyper-parameters of the game,
        # the squared error on 26 families of structured games is .5, .6 and .3 times as
        # large at 3, 4 and 10 evaluations per player, and on 25 games of models .9, 1.0
        # and .8 times.
        unstopped = request.stopping is None or is_auto(request.stopping)
        cheap = unstopped and not request.in_evals and values <= MOST_RANKED
        return RankedOdd() if plain and cheap else Odd()
    return sampler if pairs is None else Odd()


def sampler_by_steps(request: Request, size: Size, count: int) -> Sampler:
    """Return all coalitions if the budget covers them, and permutations otherwise."""
    # with a stopping rule, all coalitions only if they are few
    b = size.n_references
    values = size.values(request.rows(size))
    if count <= MOST_PLAYERS and (2**count - 2) * b <= values:
        return Exact()
    # Fewer than this many pairs cover too few background rows: single permutations see
    # twice as many.
    least = Antithetic().price(count, b).least_rows * min(b, LEAST_PAIRED)
    return Antithetic() if values >= least else MonteCarlo()


def nested_sampler(request: Request, size: Size, count: int, levels: Any) -> Sampler:
    """Return all coalitions of nested groups if the budget covers them, or permutations."""
    b = size.n_references
    values = size.values(request.rows(size))
    exact = ExactNested(levels)
    # with a large budget, memory is the limit
    most_rows = min(values, 2**MOST_PLAYERS * b)
    return exact if exact.price(count, b).least_rows <= most_rows else Nested(levels)


def _pair(sampler, solver, owner: str) -> tuple[Sampler, Solver]:
    """Return a compatible sampler and solver; one of them may be "auto"."""
    if not is_auto(solver):
        solver = resolve(
            solver,
            registry=SOLVERS,
            base=Solver,
            owner=owner,
            parameter="solver",
        )
    if is_auto(sampler):
        sampler = solver.default_sampler
    sampler = resolve(
        sampler,
        registry=SAMPLERS,
        base=Sampler,
        owner=owner,
        parameter="sampler",
    )
    if is_auto(solver):
        return sampler, _default_solver(sampler)
    if not issubclass(sampler.produces, solver.accepts):
        samplers = [
            n for n, s in SAMPLERS.items() if issubclass(s.produces, solver.accepts)
        ]
        solvers = [
            n for n, s in SOLVERS.items() if issubclass(sampler.produces, s.accepts)
        ]
        accepted = " or ".join(design.__name__ for design in solver.accepts)
        raise TypeError(
            f"{owner} cannot pair sampler {type(sampler).__name__}, which produces a "
            f"{sampler.produces.__name__}, with solver {type(solver).__name__}, which "
            f"accepts {accepted}: use a sampler of {samplers}, or a solver of {solvers}."
        )
    return sampler, solver


def _default_solver(sampler: Sampler) -> Solver:
    for design in sampler.produces.__mro__:
        if design in DEFAULT_SOLVERS:
            return SOLVERS[DEFAULT_SOLVERS[design]]()
    raise TypeError(
        f"{type(sampler).__name__} produces a {sampler.produces.__name__}, for which "
        f"there is no default solver; name one of {sorted(SOLVERS)} or pass an "
        "instance."
    )
