"""Instances of a block that share the arrays of one sampler and one solver."""

from typing import Any

import numpy as np

from skshapley._records._outcome import Outcome
from skshapley._run._evaluate import Requests
from skshapley._tools._random import generator, row_generators

ASK_BYTES = 2**22  # of the coalitions of an instance in one ask
GROWTH = 1.5  # of the draws, from one look of the stopping rule to the next
# Values between 2**-200 and 2**200 are handed over as they are: standard errors take fourth powers
PLAIN_EXPONENT = 200


class Cohort:
    """Instances of a block with the same number of players that matter.

    Parameters
    ----------
    block : Block
    members : ndarray of shape (r,), int
        Their positions in the block.
    players : ndarray of shape (r, count), int
        The players that matter to each.
    """

    def __init__(self, block: Any, members: np.ndarray, players: np.ndarray) -> None:
        game, plan = block.game, block.plan
        self.block, self.members, self.players = block, members, players
        self.count = players.shape[1]
        b = game.n_references
        self.sampler, self.solver = plan.components(self.count)
        self.left = self.sampler.n_draws(plan.max_evals - 2, self.count, b)
        self.price = self.sampler.price(self.count, b)
        self.sampler.start(
            self.count,
            row_generators(plan.entropy, plan.first_row + block.rows[members]),
            self.left,
            game.reference_weights,
            players=players,
            lesson=block.lesson,
            shared_rng=generator(plan.entropy, 2, self.count),
        )
        self.units = np.ones(1)  # until the first values are in
        self.started = False
        # a stopping rule is asked when so many draws are in; the first time every background row is
        self.goal = max(self.price.least, 2 * self.price.unit)
        self.asked = 0
        self.open = np.arange(len(members))
        self.converged = np.zeros(len(members), dtype=bool)
        self.may_ask_again = self._next_draws() < self.left

    def _next_draws(self) -> int:
        """Return how many draws to ask for: all that stopping and memory allow."""
        if self.sampler.one_shot:
            return self.left
        price = self.price
        most = max(ASK_BYTES // (self.count * price.coalitions) // price.unit, 1) * price.unit
        most = min(most, self.sampler.draws_now(self.asked))
        if self.block.plan.stopping is not None:
            most = min(most, self.goal - self.asked)
        return min(most, self.left)

    def ask(self) -> tuple[Requests, bool]:
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

    def tell(self, values: np.ndarray) -> None:
        """Hand the values to sampler and solver, the known ones of both ends filled in."""
        members, block = self.members[self.open], self.block
        everything = self.design.assemble(
            values, block.empty[members], block.v_empty[members], block.v_full[members]
        )
        if not self.started:
            self._start_solver(_units(everything, self.solver.scales))
        if not self.plain:
            everything = everything / self.units[self.open]
        self.sampler.tell(self.open, self.design, everything)
        self.solver.update(self.open, self.design, everything)
        self._close()

    def _start_solver(self, units: np.ndarray) -> None:
        """Start the solver, in units that the first values are about 1 of."""
        block, members = self.block, self.members
        self.units, self.plain, self.started = units, (units == 1).all(), True
        ends = (v[members] / units[:, 0] for v in (block.v_empty, block.v_full))
        self.solver.start(self.count, *ends, players=self.players, lesson=block.lesson)

    def _result(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Return values and standard errors in the units of the game."""
        values, errors = self.solver.result()
        return values * self.units, None if errors is None else errors * self.units

    def _close(self) -> None:
        """Leave the instances that are accurate enough, or all when the budget is spent."""
        stopping = self.block.plan.stopping
        if stopping is not None and (self.asked >= self.goal or not self.left):
            values, errors = self._result()
            if errors is not None:
                # of the players: what else is wanted must not change what they are worth
                at = slice(None) if self.solver.pairs is None else slice(self.count)
                done = stopping.done(values[self.open, at], errors[self.open, at])
                self.converged[self.open[done]] = True
                self.open = self.open[~done]
            more = int(self.asked * (GROWTH - 1)) // self.price.unit
            self.goal = self.asked + max(more, 1) * self.price.unit
        if not self.left:
            self.open = self.open[:0]

    def write(self, outcome: Outcome) -> None:
        """Write values and standard errors at the entries that matter; the others get exactly 0."""
        values, errors = self._result()
        outcome.used(self.sampler, self.solver)
        rows = self.block.rows[self.members]
        exact = np.zeros(len(rows), dtype=bool)
        if errors is not None and self.design.exact:
            exact = (errors == 0).all(axis=(1, 2))
        outcome.converged[rows] = self.converged | exact
        own = self.players[:, self.solver.entries(self.count)]
        at = places(outcome.entries, own, self.block.game.n_players)
        outcome.values[rows[:, None], at] = values
        outcome.standard_errors[rows] = np.nan if errors is None else 0.0
        if errors is not None:
            outcome.standard_errors[rows[:, None], at] = errors


def places(entries: np.ndarray, wanted: np.ndarray, n_players: int) -> np.ndarray:
    """Return where sets of players stand among the entries.

    Parameters
    ----------
    entries : ndarray of shape (e, size), int
    wanted : ndarray of shape (..., size), int
        Each of them an entry.
    n_players : int
    """
    radix = n_players ** np.arange(entries.shape[1])
    keys = entries @ radix
    order = np.argsort(keys)
    return order[np.searchsorted(keys[order], wanted @ radix)]


def _units(values: np.ndarray, scales: bool) -> np.ndarray:
    """Return a power of two for each instance and output, ``(r, 1, k)``: what values are worth.

    The largest value is then about 1, and its powers are floats; 1 where that needs no help, or the
    solver does not scale.
    """
    if not scales:
        return np.ones((len(values), 1, values.shape[2]))
    largest = np.maximum(values.max(axis=1, keepdims=True), -values.min(axis=1, keepdims=True))
    exponent = np.frexp(largest)[1]
    return np.ldexp(1.0, np.where(np.abs(exponent) > PLAIN_EXPONENT, exponent, 0))
