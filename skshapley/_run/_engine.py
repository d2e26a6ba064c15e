"""The loop: ask, evaluate, tell, for one block of instances after another.

Blocks of instances are cut by fixed numbers and the working memory. Within a block, instances with
the same number of players that matter form a cohort and share the arrays of one sampler and one
solver; the requests of all cohorts are evaluated together.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import sklearn

from skshapley._run._evaluate import Evaluator, Requests
from skshapley._run._ledger import Ledger
from skshapley._tools._commons import Commons
from skshapley._tools._random import row_generators
from skshapley.samplers import Sampler
from skshapley.solvers import Solver
from skshapley.stopping import StoppingRule

BLOCK_MODEL_ROWS = 2**19
BLOCK_INSTANCES = 1024
ASK_BYTES = 2**22
GROWTH = 1.5
# Values between 2**-200 and 2**200 are handed over as they are: standard errors take fourth powers
PLAIN_EXPONENT = 200


@dataclass(frozen=True, eq=False)
class Plan:
    """How to spend the evaluations of an instance.

    Attributes
    ----------
    components : callable
        ``components(n_players) -> (sampler, solver)``, fresh objects.
    max_evals : int
        Evaluations an instance may cost, v(empty) and v(all) included.
    stopping : StoppingRule or None
    entropy : int
        The run's entropy; instance i draws from its child number ``first_row + i``.
    first_row : int
        Where the game's first instance stands in the table that it is a part of.
    """

    components: Callable[[int], tuple[Sampler, Solver]]
    max_evals: int
    stopping: StoppingRule | None
    entropy: int
    first_row: int = 0


@dataclass(eq=False)
class Outcome:
    """What a run gives, by instance.

    Attributes
    ----------
    values, standard_errors : ndarray of shape (r, p, k)
        Standard errors are NaN where there are none.
    v_empty, v_full : ndarray of shape (r, k)
    n_evaluations : ndarray of shape (r,)
        Evaluations, v(empty) and v(all) included; fractions where walks have references of their
        own.
    n_model_rows : ndarray of shape (r,), int
        Rows given to the model for this instance, v(empty) excluded, which is shared.
    converged : ndarray of shape (r,), bool
        Exact, or accurate enough for the stopping rule.
    solver : Solver or None
        The solver that came last, with what it kept of its run (a trace).
    """

    values: np.ndarray
    standard_errors: np.ndarray
    v_empty: np.ndarray
    v_full: np.ndarray
    n_evaluations: np.ndarray
    n_model_rows: np.ndarray
    converged: np.ndarray
    solver: Solver | None = None

    @classmethod
    def blank(cls, r, p, k):
        """Return room for `r` instances."""
        return cls(
            np.zeros((r, p, k)),
            np.full((r, p, k), np.nan),
            np.zeros((r, k)),
            np.zeros((r, k)),
            np.zeros(r),
            np.zeros(r, dtype=np.int64),
            np.zeros(r, dtype=bool),
        )

    def head(self, n):
        """Return the first `n` instances."""
        arrays: dict[str, Any] = {
            name: v[:n] for name, v in vars(self).items() if isinstance(v, np.ndarray)
        }
        return replace(self, **arrays)


class Interrupted(Exception):  # noqa: N818 - never leaves the package
    """Carries the outcome of the finished instances."""

    def __init__(self, outcome):
        super().__init__(outcome)
        self.outcome = outcome


def run(game, plan: Plan, *, n_jobs=None, progress=()) -> Outcome:
    """Spend a plan on every instance of a game.

    Parameters
    ----------
    game : Game
    plan : Plan
    n_jobs : int or None
    progress : sequence of callable or None
        Each is called with the number of finished instances.

    Returns
    -------
    outcome : Outcome

    Raises
    ------
    Interrupted
        If an error or a KeyboardInterrupt (its cause) comes after the first block.
    """
    outcome = Outcome.blank(game.n_rows, game.n_players, game.n_outputs)
    commons = Commons(plan.entropy)
    with Evaluator(game, n_jobs) as evaluator:
        for rows in _blocks(game, plan):
            try:
                _Block(game, plan, rows, commons).fill(outcome, evaluator)
            except (Exception, KeyboardInterrupt) as error:
                if rows[0] == 0:
                    raise
                raise Interrupted(outcome.head(rows[0])) from error
            for report in progress:
                if report is not None:
                    report(int(rows[-1]) + 1)
    return outcome


def _blocks(game, plan):
    """Yield the rows of one block after the other; pilots share none with those that follow."""
    size = _block_size(game, plan)
    head = min(plan.components(game.n_players)[1].pilots, game.n_rows)
    for begin, end in ((0, head), (head, game.n_rows)):
        for start in range(begin, end, size):
            yield np.arange(start, min(start + size, end))


def _block_size(game, plan):
    sampler, _ = plan.components(game.n_players)
    p, k, b = game.n_players, game.n_outputs, game.n_references
    draws = max(1, sampler.n_draws(plan.max_evals - 2, p, b)) if p > 1 else 1
    coalitions = draws * sampler.coalitions_per_draw(p)
    if not sampler.one_shot:
        unit = sampler.unit_draws(p, b) * sampler.coalitions_per_draw(p)
        coalitions = min(coalitions, max(ASK_BYTES // p, unit))
    bytes_an_instance = coalitions * (4 * p + 48 * k + 64) + 8 * b * k + 16 * b * p * k
    memory = sklearn.get_config()["working_memory"] * 2**20 / 2
    model_rows = plan.max_evals * game.rows_per_value
    sizes = memory // bytes_an_instance, BLOCK_MODEL_ROWS // model_rows, BLOCK_INSTANCES
    return max(1, int(min(sizes)))


class _Block:
    """Instances that are worked on together."""

    def __init__(self, game, plan, rows, commons):
        self.game, self.plan, self.rows, self.commons = game, plan, rows, commons
        self.empty = game.empty(rows)
        self.v_empty = (game.reference_weights[:, None] * self.empty).sum(axis=1)
        self.v_full = game.full(rows)
        self.spent = np.zeros(len(rows), dtype=np.int64)

    def fill(self, outcome, evaluator):
        """Run all cohorts to their end and write the outcome of these instances."""
        rows = self.rows
        outcome.v_empty[rows], outcome.v_full[rows] = self.v_empty, self.v_full
        active = self.game.active(rows)
        if self.plan.components(self.game.n_players)[0].needs_all_players:
            active = np.ones_like(active)
        counts = active.sum(axis=1)
        cohorts = []
        for count in np.unique(counts):
            members = np.flatnonzero(counts == count)
            players = np.nonzero(active[members])[1].reshape(len(members), count)
            if count > 1:
                cohorts.append(_Cohort(self, members, players))
            else:
                self._settle(outcome, members, players)
        self._run(cohorts, evaluator)
        for cohort in cohorts:
            cohort.write(outcome)
        outcome.n_model_rows[rows] = self.spent + 1
        outcome.n_evaluations[rows] = 2 + self.spent / self.game.rows_per_value

    def _settle(self, outcome, members, players):
        """Give everything to the only player that matters, if any."""
        rows = self.rows[members]
        outcome.standard_errors[rows] = 0.0
        outcome.converged[rows] = True
        if players.shape[1]:
            outcome.values[rows, players[:, 0]] = (self.v_full - self.v_empty)[members]

    def _run(self, cohorts, evaluator):
        game = self.game
        again = any(cohort.may_ask_again for cohort in cohorts)
        differing = partial(game.differing, self.rows)
        ledger = Ledger(game.n_players, game.n_references, self.rows, again, differing)
        while cohorts:
            batches = [(cohort, *cohort.ask()) for cohort in cohorts]
            widths = [_references_each(requests) for _, requests, _ in batches]
            for width in sorted(set(widths)):
                same = [batch for batch, q in zip(batches, widths, strict=True) if q == width]
                self._evaluate(same, width or game.rows_per_value, evaluator, ledger)
            cohorts = [cohort for cohort in cohorts if cohort.open.size]

    def _evaluate(self, batches, width, evaluator, ledger):
        """Evaluate the requests of some cohorts together, and tell them."""
        requests = _joined([part for _, part, _ in batches])
        distinct = len(batches) == 1 and batches[0][2]
        values, sent = ledger.evaluate(evaluator, requests, distinct)
        place = requests.rows[sent] - self.rows[0]
        self.spent += width * np.bincount(place, minlength=len(self.rows))
        ends = np.cumsum([len(part.rows) for _, part, _ in batches])[:-1]
        for (cohort, _, _), part in zip(batches, np.split(values, ends), strict=True):
            cohort.tell(part)


def _references_each(requests):
    """Return how many background rows each request names; 0 for all of them, unnamed."""
    return 0 if requests.references is None else requests.references.shape[1]


def _joined(parts):
    if len(parts) == 1:
        return parts[0]
    rows, coalitions, *others = zip(*parts, strict=True)
    optional = [None if any(x is None for x in f) else np.concatenate(f) for f in others]
    return Requests(np.concatenate(rows), np.concatenate(coalitions), *optional)


class _Cohort:
    """Instances of a block with the same number of players that matter."""

    def __init__(self, block, members, players):
        game, plan = block.game, block.plan
        self.block, self.members, self.players = block, members, players
        self.count = players.shape[1]
        b = game.n_references
        self.sampler, self.solver = plan.components(self.count)
        rngs = row_generators(plan.entropy, plan.first_row + block.rows[members])
        self.sampler.start(self.count, rngs, game.reference_weights)
        self.units = None  # until the first values are in
        self._start_solver(1.0)
        self.sampler.join(block.commons, block.rows[members], players)
        self.left = self.sampler.n_draws(plan.max_evals - 2, self.count, b)
        least = self.sampler.least_evals(self.count, b)
        self.unit = self.sampler.unit_draws(self.count, b)
        # a stopping rule is asked when so many draws are in; the first time every background row is
        self.goal = max(self.sampler.n_draws(least, self.count, b), 2 * self.unit)
        self.asked = 0
        self.open = np.arange(len(members))
        self.converged = np.zeros(len(members), dtype=bool)
        self.may_ask_again = self._next_draws() < self.left

    def _start_solver(self, units):
        block, members = self.block, self.members
        ends = block.v_empty[members] / units, block.v_full[members] / units
        self.solver.start(self.count, *ends)
        self.solver.join(block.commons, block.rows[members], self.players)

    def _next_draws(self):
        """Return how many draws to ask for: all that stopping and memory allow."""
        if self.sampler.one_shot:
            return self.left
        per_draw = self.count * self.sampler.coalitions_per_draw(self.count)
        most = max(ASK_BYTES // per_draw // self.unit, 1) * self.unit
        most = min(most, self.sampler.draws_now(self.asked, self.left))
        if self.block.plan.stopping is not None:
            most = min(most, self.goal - self.asked)
        return min(most, self.left)

    def ask(self):
        """Return the requests of the next design, and whether they are all different."""
        n = self._next_draws()
        self.asked, self.left = self.asked + n, self.left - n
        self.design = self.sampler.ask(self.open, n)
        flat, instance, references = self.design.requested(len(self.open))
        bits = self.design.bits()
        members = self.members[self.open]
        if self.count < self.block.game.n_players:
            wide = np.zeros((len(flat), self.block.game.n_players), dtype=bool)
            np.put_along_axis(wide, self.players[self.open][instance], flat, axis=1)
            flat, bits = wide, None
        rows = self.block.rows[members][instance]
        return Requests(rows, flat, references, bits), self.design.distinct

    def tell(self, values):
        """Hand the values to sampler and solver, the known ones of both ends filled in."""
        members, block = self.members[self.open], self.block
        everything = self.design.assemble(
            values, block.empty[members], block.v_empty[members], block.v_full[members]
        )
        if self.units is None:
            self.units = _units(everything, self.solver.scales)
            self.plain = (self.units == 1).all()
            if not self.plain:
                self._start_solver(self.units[:, 0])
        if not self.plain:
            everything = everything / self.units[self.open]
        self.sampler.tell(self.open, self.design, everything)
        self.solver.update(self.open, self.design, everything)
        self._close()

    def _result(self):
        """Return attributions and standard errors in the units of the game."""
        values, errors = self.solver.result()
        return values * self.units, None if errors is None else errors * self.units

    def _close(self):
        """Leave the instances that are accurate enough, or all when the budget is spent."""
        stopping = self.block.plan.stopping
        if stopping is not None and (self.asked >= self.goal or not self.left):
            values, errors = self._result()
            if errors is not None:
                done = stopping.done(values[self.open], errors[self.open])
                self.converged[self.open[done]] = True
                self.open = self.open[~done]
            more = int(self.asked * (GROWTH - 1)) // self.unit
            self.goal = self.asked + max(more, 1) * self.unit
        if not self.left:
            self.open = self.open[:0]

    def write(self, outcome):
        """Write values and standard errors at the players that matter; the others get exactly 0."""
        values, errors = self._result()
        outcome.solver = self.solver
        rows = self.block.rows[self.members]
        exact = np.zeros(len(rows), dtype=bool)
        if errors is not None and self.design.exact:
            exact = (errors == 0).all(axis=(1, 2))
        outcome.converged[rows] = self.converged | exact
        outcome.values[rows[:, None], self.players] = values
        outcome.standard_errors[rows] = np.nan if errors is None else 0.0
        if errors is not None:
            outcome.standard_errors[rows[:, None], self.players] = errors


def _units(values, scales):
    """Return a power of two for each instance and output, ``(r, 1, k)``: what values are worth.

    The largest value is then about 1, and its powers are floats; 1 where that needs no help, or the
    solver does not scale.
    """
    if not scales:
        return np.ones((len(values), 1, values.shape[2]))
    largest = np.maximum(values.max(axis=1, keepdims=True), -values.min(axis=1, keepdims=True))
    exponent = np.frexp(largest)[1]
    return np.ldexp(1.0, np.where(np.abs(exponent) > PLAIN_EXPONENT, exponent, 0))
