"""Instances of a block that share the arrays of one sampler and one solver."""

from dataclasses import replace
from typing import Any

import numpy as np

from skshapley._records._outcome import Outcome
from skshapley._references import Deck
from skshapley._run._evaluate import Requests
from skshapley._run._memory import Rest, Ties
from skshapley._run._plan import Size
from skshapley._run._sample import Sample
from skshapley._tools._random import Stream, generator, row_generators
from skshapley.designs import WalkDesign
from skshapley.samplers import SamplerTask
from skshapley.solvers import Estimate, SolverTask
from skshapley.solvers._base import entries

# That instances share: few, so that what is made of one serves many, and several,
# so that errors of many instances do not line up
N_DESIGNS = 8
ASK_BYTES = 2**22  # of the coalitions of an instance in one ask
FIRST_LOOK = 64  # draws, or the least of a design, before a stopping rule is asked
GROWTH = 1.6  # of the draws, from one look of the stopping rule to the next
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
        self.sampler, self.solver = plan.methods(self.count)
        size = replace(Size.of(game), n_players=self.count)
        values = size.values(plan.max_rows)
        bought = self.sampler.afford(values, self.count, b)
        self.left, self.price, looked_at = bought.n_draws, bought.price, bought.n_references
        keys = game.keys(block.rows[members])
        rngs = row_generators(plan.entropy, keys)
        numbers = (keys % N_DESIGNS).astype(np.intp)
        self.deck = game.deck
        if b > 1 and self.deck is None:
            rng = generator(plan.entropy, Stream.PLAIN_ORDER)
            self.deck = Deck.plain(game.reference_weights, rng)
        weights, self.sample = game.reference_weights, None
        if looked_at < b:
            self.sample = Sample(self.deck, [rng.spawn(1)[0] for rng in rngs], looked_at)
            looked_at = self.sample.rows[0].size
            weights = np.full(looked_at, 1 / looked_at)
        part = 1.0 if self.sample is None else looked_at / self.deck.n_rows
        shared = self._shared_rngs(numbers)
        drawn = (plan.lesson, numbers.tolist(), shared, self.deck, part)
        self.sampler.start(SamplerTask(self.count, rngs, self.left, weights, players, *drawn))
        self.units = np.ones(1)  # until the first values are in
        # whether each coalition is evaluated against every group of the sample
        self.started, self.grouped = False, False
        # a stopping rule is asked when so many draws are in
        first = -(-FIRST_LOOK // self.price.unit) * self.price.unit
        self.goal = max(bought.to_stop, first)
        self.asked = 0
        self.open = self.asking = np.arange(len(members))
        self.converged = np.zeros(len(members), dtype=bool)
        self.ties: Ties | None = None  # once coalitions are asked for against single rows
        self.rest: Rest | None = None
        traits = self.sampler.traits
        if traits.goes_on and self.solver.traits.goes_on and not traits.one_shot:
            self.rest = Rest(self.price, size, self.left, plan.max_rows, len(members))
        self.may_ask_again = self.rest is not None or self._next_draws() < self.left

    def _shared_rngs(self, numbers: np.ndarray) -> list[np.random.Generator] | None:
        """Return a generator for each number of a design; None where nobody shares one."""
        if self.block.plan.lesson is None:
            return None
        entropy = self.block.plan.entropy
        return [generator(entropy, Stream.DESIGN, self.count, int(number)) for number in numbers]

    @property
    def n_groups(self) -> int:
        """In how many groups of background rows each coalition is evaluated."""
        return self.sample.n_groups if self.sample is not None and self.grouped else 1

    def _next_draws(self) -> int:
        """Return how many draws to ask for: all that stopping and memory allow."""
        if self.sampler.traits.one_shot:
            return self.left
        most = min(self._most_draws(), self.sampler.draws_now(self.asked))
        if self.block.plan.stopping is not None:
            most = min(most, self.goal - self.asked)
        return min(most, self.left)

    def _most_draws(self) -> int:
        """Return how many draws memory allows in one ask, in whole units."""
        price = self.price
        return max(ASK_BYTES // (self.count * price.coalitions) // price.unit, 1) * price.unit

    def ask(self) -> tuple[Requests, np.ndarray | None]:
        """Return the requests of the next design, and how many in a row are surely different."""
        if self.left:
            n = self._next_draws()
            self.asked, self.left = self.asked + n, self.left - n
        else:
            n = self._go_on()
        self.design = self._less_ties(self.sampler.ask(self.asking, n))
        flat, instance, references = self.design.requested(len(self.asking))
        bits, runs = self.design.bits(), self.design.runs(instance)
        members = self.members[self.asking]
        if self.count < self.block.game.n_players:
            wide = np.zeros((len(flat), self.block.game.n_players), dtype=bool)
            ends = np.searchsorted(instance, np.arange(len(self.asking) + 1))
            for place, own in enumerate(self.players[self.asking]):
                block = slice(ends[place], ends[place + 1])
                wide[block, own] = flat[block]
            flat, bits = wide, None
        rows = self.block.rows[members][instance]
        requests = Requests(rows, flat, references, bits)
        if self.sample is not None:
            self.grouped = references is None
            requests = self.sample.against(requests, self.asking[instance])
            runs = None if self.grouped else runs
        return requests, runs

    def _less_ties(self, design: Any) -> Any:
        """Return a design of walks without the steps of players that agree with the reference."""
        if not isinstance(design, WalkDesign) or design.references is None:
            return design
        if self.ties is None:
            self.ties = Ties(self.block.game, self.block.rows[self.members], self.players)
        return replace(design, differing=self.ties.differing(self.asking, design.references))

    def tell(self, values: np.ndarray) -> None:
        """Hand the values to sampler and solver, the known ones of both ends filled in."""
        members, block, (v_empty, v_full) = self.members[self.asking], self.block, self._ends()
        if self.sample is not None and self.grouped:
            values = self.sample.beside(values)

        def empty(instances: np.ndarray, references: np.ndarray) -> np.ndarray:
            if self.sample is not None:
                references = self.sample.named(self.asking[instances], references)
            return block.empty[members[instances][:, None], references]

        everything = self.design.assemble(values, empty, v_empty[self.asking], v_full[self.asking])
        if not self.started:
            self._start_solver(_units((everything, v_empty, v_full), self.solver.traits.scales))
        if not self.plain:
            everything = everything / self.units[self.asking]
        self.sampler.tell(self.asking, self.design, everything)
        self.solver.update(self.asking, self.design, everything)
        self._close()

    def _start_solver(self, units: np.ndarray) -> None:
        """Start the solver, in units that the first values are about 1 of."""
        self.units, self.plain, self.started = units, (units == 1).all(), True
        v_empty, v_full = (v / units[:, 0] for v in self._ends())
        plan = self.block.plan
        wanted = (plan.lesson, self.deck, plan.index, plan.pairs)
        self.solver.start(SolverTask(self.count, v_empty, v_full, self.players, *wanted))

    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Return v(empty) and v(all) as the solver sees them, for each group of a sample."""
        block, members = self.block, self.members
        v_empty, v_full = block.v_empty[members], block.v_full[members]
        if self.sample is None or not self.grouped:
            return v_empty, v_full
        rows = self.sample.rows
        at = block.empty[members[:, None, None], rows].mean(axis=2)  # (r, groups, k)
        return at.reshape(len(members), -1), np.tile(v_full, (1, rows.shape[1]))

    def _result(self) -> Estimate:
        """Return values and errors in the units of the game, against the whole background."""
        estimate, known = self._sampled(), self.block.known
        if known is None:
            return estimate
        at = self.members[:, None], self.players
        values, errors, apart, additive = estimate
        if errors is not None:
            errors = np.hypot(errors, known.standard_errors[at])
        if apart is not None:
            weights = self.block.game.reference_weights
            apart = np.sqrt(apart**2 + known.variances[at] * (weights @ weights))
        return Estimate(values + known.values[at], errors, apart, additive)

    def _sampled(self) -> Estimate:
        """Return the estimate of the sampled part of the game."""
        values, errors, apart, additive = self.solver.result()
        errors = None if errors is None else errors * self.units
        apart = None if apart is None else apart * self.units
        estimate = Estimate(values * self.units, errors, apart, additive)
        if self.sample is None or not self.grouped:
            return estimate
        gain = self.block.v_full[self.members] - self.block.v_empty[self.members]
        v_empty, v_full = self._ends()
        own = slice(None) if self.block.plan.pairs is None else slice(self.count)
        return self.sample.together(estimate, v_full - v_empty, gain, own)

    def _close(self) -> None:
        """Close the rows that are accurate enough or have spent their budget."""
        stopping = self.block.plan.stopping
        if stopping is not None and (self.asked >= self.goal or not self.left):
            values, errors, _, additive = self._result()
            if errors is not None:
                # of the players: what else is wanted must not change what they are worth
                at = slice(None) if self.block.plan.pairs is None else slice(self.count)
                done = stopping.done(values[self.open, at], errors[self.open, at])
                if additive is not None and self.left:
                    done &= ~additive[self.open]
                self.converged[self.open[done]] = True
                self.open = self.open[~done]
            more = int(self.asked * (GROWTH - 1)) // self.price.unit
            self.goal = self.asked + max(more, 1) * self.price.unit
        if not self.left:
            self.open = self.open[self._further_draws() > 0]
        self.asking = self.open

    def _further_draws(self) -> np.ndarray:
        """Return how many draws beyond those planned each open instance is to make next."""
        if self.rest is None:
            return np.zeros(len(self.open), dtype=np.int64)
        charged, most = self.block.charged[self.members[self.open]], self._most_draws()
        if self.ties is None:
            return self.rest.draws(self.open, charged, most)
        steps, every = self.ties.steps[self.open], self.ties.n_hybrids[self.open]
        return self.rest.draws(self.open, charged, most, steps, every)

    def _go_on(self) -> int:
        """Choose the open instances that have most draws to make, and return how many."""
        draws = self._further_draws()
        most = int(draws.max())
        self.asking = self.open[draws == most]
        if self.rest is not None:
            self.rest.add(self.asking, most)
        return most

    def write(self, outcome: Outcome) -> None:
        """Write values and standard errors at the entries that matter; the others get exactly 0."""
        values, errors, apart, _ = self._result()
        outcome.used(self.sampler, self.solver)
        rows = self.block.rows[self.members]
        exact = np.zeros(len(rows), dtype=bool)
        if errors is not None and self.design.exact and self.sample is None:
            exact = (errors == 0).all(axis=(1, 2))
        outcome.converged[rows] = self.converged | exact
        own = self.players[:, entries(self.count, self.block.plan.pairs)]
        at = places(outcome.entries, own, self.block.game.n_players)
        outcome.values[rows[:, None], at] = values
        outcome.standard_errors[rows] = np.nan if errors is None else 0.0
        if errors is not None:
            outcome.standard_errors[rows[:, None], at] = errors
        if apart is not None:
            outcome.background_errors[rows] = 0.0
            outcome.background_errors[rows[:, None], at] = apart


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


def _units(values: tuple[np.ndarray, ...], scales: bool) -> np.ndarray:
    """Return the scale of the values as a power of two per row and output, ``(r, 1, k)``.

    Of values ``(r, m, k)`` and those of both ends, ``(r, k)`` each. The largest value is then about
    1, and its powers are floats; 1 where that needs no help, or the solver does not scale.
    """
    inner, *ends = values
    if not scales:
        return np.ones((len(inner), 1, inner.shape[2]))
    largest = np.maximum(inner.max(axis=1, keepdims=True), -inner.min(axis=1, keepdims=True))
    for end in ends:
        largest = np.maximum(largest, np.abs(end)[:, None])
    exponent = np.frexp(largest)[1]
    return np.ldexp(1.0, np.where(np.abs(exponent) > PLAIN_EXPONENT, exponent, 0))
