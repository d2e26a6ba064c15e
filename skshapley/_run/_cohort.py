"""Rows of a block that share one sampler and one solver, and their background sample."""

from dataclasses import replace
from typing import Any

import numpy as np

from skshapley._records._outcome import Outcome
from skshapley._references import RowOrder
from skshapley._run._evaluate import Requests
from skshapley._run._plan import Size
from skshapley._run._schedule import Schedule
from skshapley._tools import Stream, generator, row_generators, widening
from skshapley.designs import StepwiseDesign
from skshapley.rewards import Game
from skshapley.samplers import BackgroundSample, SamplerTask
from skshapley.solvers import Estimate, SolverTask
from skshapley.solvers._base import entries

# Sixteen groups leave 14 degrees of freedom for the spread, and Student's t widens
# errors by 9 %. More groups would have too few rows each, and every group is an output
# that each step must carry.
MOST_GROUPS = 16
LEAST_IN_GROUP = 4
ROUNDING = 1e-6


class Sample:
    """The background rows of some rows to explain, in `n_groups` groups of equal size.

    Parameters
    ----------
    row_order : RowOrder
    rngs : list of numpy.random.Generator
        One generator per row to explain; a child of each draws the sample.
    n : int
        Largest number of background rows per row to explain.

    Attributes
    ----------
    rows : ndarray of shape (r, n_groups, q), int
    """

    def __init__(
        self,
        row_order: RowOrder,
        rngs: list[np.random.Generator],
        n: int,
    ) -> None:
        self.n_groups = max(1, min(MOST_GROUPS, n // LEAST_IN_GROUP))
        # Groups of equal size have means of equal variance, so no weights are needed.
        size = n // self.n_groups
        # The sample resembles the table, and its groups differ as random samples do.
        drawn = [
            rng.permutation(row_order.shuffled(rng)[: self.n_groups * size])
            for rng in (of_row.spawn(1)[0] for of_row in rngs)
        ]
        self.rows = np.reshape(drawn, (len(rngs), self.n_groups, size))
        # the shares of a table of equal weights, and of the places by weight
        self._share = self.n_groups * size / row_order.n_rows
        self._share_seen = self.n_groups * size / row_order.population

    def against(self, requests: Requests, instances: np.ndarray) -> Requests:
        """Return requests with background rows: one per group, or with the named rows.

        Parameters
        ----------
        requests : Requests
            Requests with positions in the sample as background rows, if any.
        instances : ndarray of shape (u,), int
            The row to explain of each request.
        """
        if requests.references is not None:
            return requests._replace(
                references=self.named(instances, requests.references)
            )
        n = len(instances)
        references = self.rows[instances].reshape(n * self.n_groups, -1)
        return requests.take(np.repeat(np.arange(n), self.n_groups))._replace(
            references=references
        )

    def named(self, instances: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Return the background rows at positions ``(u, q)`` of the samples of rows ``(u,)``."""
        return self.rows.reshape(len(self.rows), -1)[instances[:, None], places]

    def with_mean(self, groups: np.ndarray) -> np.ndarray:
        """Return values against groups ``(m, n_groups, k)``, and their mean, as outputs."""
        return np.concatenate(
            [groups, groups.mean(axis=1, keepdims=True)],
            axis=1,
        ).reshape(len(groups), -1)

    def together(
        self,
        estimate: Estimate,
        gains: np.ndarray,
        gain: np.ndarray,
        own: slice = slice(None),
    ) -> Estimate:
        """Combine attributions against the groups to attributions against the whole background.

        If the attributions of a group add up to v(all) minus its own v(empty), they are
        regressed on that sum, which has a known mean over the background.

        Parameters
        ----------
        estimate : Estimate
            Of the outputs of `with_mean`; its errors are from the method alone.
        gains : ndarray of shape (r, (n_groups + 1) * k)
            v(all) - v(empty), for each of these outputs.
        gain : ndarray of shape (r, k)
            v(all) - v(empty), against the whole background.
        own : slice, default=slice(None)
            The entries of single players. The entries of pairs are regressed on the
            same sum.

        Returns
        -------
        estimate : Estimate
            Of shape ``(r, e, k)``, with the spread of the groups as background errors.
        """
        values, errors, *_ = estimate
        r, e, _ = values.shape
        outputs = values.reshape(r, e, self.n_groups + 1, -1)
        groups = outputs[:, :, :-1]
        mean = outputs[:, :, -1]
        deviations = groups - groups.mean(axis=2, keepdims=True)
        total = deviations[:, own].sum(axis=1, keepdims=True)
        squared = (total**2).sum(axis=2)
        slope = np.divide(
            (deviations * total).sum(axis=2),
            squared,
            out=np.zeros_like(mean),
            where=squared > 0,
        )
        sums = values[:, own].sum(axis=1)
        least = ROUNDING * np.abs(values[:, own]).max()
        if not np.allclose(sums, gains, rtol=ROUNDING, atol=least):
            # The regression needs sums with a known mean; estimates that do not add up
            # have none.
            slope = np.zeros_like(slope)
        mean = mean + slope * (gain[:, None] - mean[:, own].sum(axis=1, keepdims=True))
        # One degree for the mean, one for the slope.
        degrees = self.n_groups - 2
        if degrees < 1:
            return Estimate(
                mean,
                None if errors is None else np.full_like(mean, np.nan),
            )
        if errors is None:
            return Estimate(mean, None)
        residuals = deviations - slope[:, :, None] * total
        residual_variances = (residuals**2).sum(axis=2) / degrees
        widened = widening(np.array(degrees))
        unseen_share = max(0.0, 1 - self._share_seen)
        between = unseen_share * residual_variances / self.n_groups * widened**2
        alone = errors.reshape(outputs.shape)[:, :, -1]
        # Another background would have another v(empty), so without the regression.
        of_sample = (deviations**2).sum(axis=2) / (self.n_groups * (self.n_groups - 1))
        return Estimate(
            mean,
            np.sqrt(alone**2 + between),
            np.sqrt(of_sample * self._share),
        )


# Values between 2**-200 and 2**200 are not scaled: standard errors take fourth powers
PLAIN_EXPONENT = 200


class Cohort:
    """Rows of a block with the same number of active players, and the state of their run.

    Parameters
    ----------
    block : Block
    members : ndarray of shape (r,), int
        Their positions in the block.
    players : ndarray of shape (r, count), int
        The active players of each row.

    Attributes
    ----------
    sampler : Sampler
    solver : Solver
    schedule : Schedule
        The rows of the next design, and its draws.
    row_order : RowOrder or None
        The background rows in balanced order; None if all of them are used.
    sample : Sample or None
        The sample of the background, if not all background rows are used.
    v_empty, v_full : ndarray of shape (r, k)
        Values of the empty and the full coalition, for each group of a sample.
    units : ndarray of shape (r, 1, k) or None
        Scale of the values, from the first values.
    groups : Sample or None
        The sample, if each coalition is evaluated against every group of it.
    design, asking : Design, and ndarray of int
        The last design, and its rows.
    estimate : Estimate or None
        Of the last look, if no values came since then.
    """

    def __init__(self, block: Any, members: np.ndarray, players: np.ndarray) -> None:
        self.block = block
        self.members = members
        self.players = players
        game, plan, (r, self.count) = block.game, block.plan, players.shape
        # entries of single players; pairs follow
        self._own = slice(None if plan.request.pairs is None else self.count)
        weights = game.reference_weights
        self.sampler, self.solver = plan.request.methods(plan.size, self.count)
        size = replace(Size.of(game), n_players=self.count).within(plan.max_rows)
        bought = self.sampler.afford(
            size.values(plan.max_rows),
            self.count,
            size.n_references,
        )
        self.schedule = Schedule(plan, size, self.sampler, self.solver, bought, r)
        self.row_order = self._order(game) if bought.samples else game.row_order
        self.v_empty = block.v_empty[members]
        self.v_full = block.v_full[members]
        self.units: np.ndarray | None = None
        self.groups: Sample | None = None
        self.estimate: Estimate | None = None
        # Random numbers depend on the content of a row, so a row has the same values in
        # any block.
        rngs = row_generators(block.entropy, game.keys(block.rows[members]))
        # A sampler needs the used share of the background for its finite-population
        # corrections.
        self.sample = None
        share = 1.0
        if game.means is not None and size.rows_per_value < game.rows_per_value:
            self.sample = Sample(self._order(game.means), rngs, size.rows_per_value)
        elif bought.n_references < game.n_references:
            self.sample = Sample(self.row_order, rngs, bought.n_references)
            used = self.sample.rows[0].size
            # an order has rows as often as their weights require, so its rows have
            # equal weights
            weights = np.full(used, 1 / used)
            share = used / self.row_order.n_rows
            if self.row_order.weighted:
                # Draws by weight repeat rows, so they are never the whole background.
                share /= 1 + share
        self.sampler.start(
            SamplerTask(
                n_players=self.count,
                rngs=rngs,
                n_draws=bought.n_draws,
                reference_weights=weights,
                background=None
                if self.row_order is None
                else BackgroundSample(self.row_order, share),
            )
        )

    def _order(self, game: Game) -> RowOrder:
        """Return the background rows in balanced order, or a random one, equal in all blocks."""
        if game.row_order is not None:
            return game.row_order
        rng = generator(self.block.entropy, Stream.PLAIN_ORDER)
        return RowOrder.plain(game.reference_weights, rng)

    def ask(self) -> Requests:
        """Return the requests of the next design."""
        self.asking = self.schedule.asking
        self.design: Any = self._less_ties(
            self.sampler.ask(self.asking, self.schedule.next_draws())
        )
        flat, instance, references = self.design.requested(len(self.asking))
        members = self.members[self.asking]
        if self.count < self.block.game.n_players:
            # Players that do not matter stay absent: they agree with the background, so
            # their columns do not change.
            active = np.zeros((len(members), self.block.game.n_players), dtype=bool)
            np.put_along_axis(active, self.players[self.asking], True, axis=1)
            wide = active[instance]
            # players are in order, and equally many in each row
            wide[wide] = flat.ravel()
            flat = wide
        requests = Requests(self.block.rows[members][instance], flat, references)
        if self.sample is None:
            return requests
        if references is None and self.groups is None:
            # Each coalition is evaluated against every group of the sample, as outputs
            # of the game. v(empty) against single background rows is known from fit and
            # costs no call of the model.
            self.groups = self.sample
            empty = self.block.empty[self.members[:, None, None], self.sample.rows]
            groups = self.block.game.of_means(empty.mean(axis=2))
            self.v_empty = self.sample.with_mean(groups)
            self.v_full = np.tile(self.v_full, (1, self.sample.n_groups + 1))
        return self.sample.against(requests, self.asking[instance])

    def _less_ties(self, design: Any) -> Any:
        """Drop the steps of players that agree with the background row from permutations."""
        if not isinstance(design, StepwiseDesign) or design.references is None:
            return design
        (r, n) = design.references.shape
        rows = self.block.rows[self.members[self.asking]]
        differing = self.block.game.differing(
            np.repeat(rows, n),
            design.references.ravel(),
        )
        if differing is None or differing.all():
            return design
        differing = differing.reshape(r, n, -1)
        differing = np.take_along_axis(
            differing,
            self.players[self.asking][:, None],
            axis=2,
        )
        return replace(design, differing=differing)

    @property
    def n_groups(self) -> int:
        """Number of values of each coalition."""
        return 1 if self.groups is None else self.groups.n_groups

    def tell(self, values: np.ndarray) -> None:
        """Hand the values to sampler and solver, with the known values of both ends."""
        members = self.members[self.asking]
        # Rows like the background need no evaluation, so there may be no values.
        values = values.reshape(
            len(values) // self.n_groups,
            self.n_groups,
            values.shape[1],
        )
        values = self.block.game.of_means(values)
        if self.groups is not None:
            values = self.groups.with_mean(values)
        values = values.reshape(len(values), np.prod(values.shape[1:], dtype=int))

        def empty(instances: np.ndarray, references: np.ndarray) -> np.ndarray:
            if self.sample is not None:
                references = self.sample.named(self.asking[instances], references)
            return self.block.empty[members[instances][:, None], references]

        everything = self.design.assemble(
            values,
            empty,
            self.v_empty[self.asking],
            self.v_full[self.asking],
        )
        if self.units is None:
            self.units = self._start_solver(everything)
        # The solver uses fourth powers. In units near 1, they neither overflow nor
        # vanish.
        everything = everything / self.units[self.asking]
        self.sampler.tell(self.asking, self.design, everything)
        self.solver.update(self.asking, self.design, everything)
        self.estimate = None

    def look(self) -> None:
        """Close the rows that are accurate enough or have spent their budget."""
        due = self.schedule.due()
        if len(due):
            self.solver.look_at(due)
            self.estimate = self._estimate(self.solver.result())
            values, errors, _, additive = self.estimate
            # Requests for interactions must not change the players' values.
            self.schedule.stop(
                due,
                Estimate(
                    values[due, self._own],
                    None if errors is None else errors[due, self._own],
                    additive=None if additive is None else additive[due],
                ),
            )
        self.schedule.go_on(self.block.spent[self.members])

    def _start_solver(self, values: np.ndarray) -> np.ndarray:
        """Start the solver, and return the units of its values, ``(r, 1, k)``.

        They are powers of two. The largest of the first values ``(r, m, k)`` is about 1
        in these units, so its powers do not overflow. They are 1 if no scaling is
        needed, or if the solver takes no powers.
        """
        plan = self.block.plan
        values = np.concatenate(
            [values, self.v_empty[:, None], self.v_full[:, None]],
            axis=1,
        )
        largest = np.abs(values).max(axis=1, keepdims=True)
        # Powers of two scale without rounding, so ordinary values have the same bits
        # with and without.
        exponent = np.frexp(largest)[1]
        extreme = (
            np.abs(exponent) > PLAIN_EXPONENT
        ) & self.solver.traits.standard_errors
        units = np.ldexp(1.0, np.where(extreme, exponent, 0))
        margins = self.block.margins
        if margins is not None:
            margins = margins[self.block.rows[self.members][:, None], self.players]
        task = SolverTask(
            n_players=self.count,
            v_empty=self.v_empty / units[:, 0],
            v_full=self.v_full / units[:, 0],
            players=self.players,
            row_order=self.row_order,
            index=plan.request.index,
            pairs=plan.request.pairs,
            margins=margins,
        )
        self.solver.start(task)
        return units

    def _estimate(self, estimate: Estimate) -> Estimate:
        """Return an estimate of the solver for the whole game and the whole background."""
        values = estimate.values * self.units
        errors, background_errors = (
            None if part is None else part * self.units
            for part in (estimate.standard_errors, estimate.background_errors)
        )
        additive = estimate.additive
        if self.groups is not None:
            # The known gain against the whole background corrects the sampled groups
            # by regression.
            gain = self.block.v_full[self.members] - self.block.v_empty[self.members]
            values, errors, background_errors, additive = self.groups.together(
                Estimate(values, errors, background_errors, additive),
                self.v_full - self.v_empty,
                gain,
                self._own,
            )
        part = self.block.known
        if part is not None:
            at = self.members[:, None], self.players
            values = values + part.values[at]
            if errors is not None:
                # the known part and the remainder have independent errors
                errors = np.hypot(errors, part.standard_errors[at])
            if background_errors is not None:
                weights = self.block.game.reference_weights
                variances = part.variances[at] * (weights @ weights)
                background_errors = np.sqrt(background_errors**2 + variances)
        return Estimate(values, errors, background_errors, additive)

    def write(self, outcome: Outcome) -> None:
        """Write values and standard errors of active players; other entries are exactly 0."""
        if self.estimate is None:
            self.solver.look_at(np.arange(len(self.members)))
            self.estimate = self._estimate(self.solver.result())
        values, errors, background_errors, _ = self.estimate
        outcome.used(self.sampler, self.solver)
        rows = self.block.rows[self.members]
        exact = (
            errors is not None
            and self.design.exact
            and self.sample is None
            and (errors == 0).all(axis=(1, 2))
        )
        # Enumerated rows are exact, whether or not a rule checked them.
        outcome.converged[rows] = self.schedule.converged | exact
        sets = self.players[:, entries(self.count, self.block.plan.request.pairs)]
        positions = np.zeros(
            [self.block.game.n_players] * outcome.entries.shape[1],
            dtype=np.intp,
        )
        positions[tuple(outcome.entries.T)] = np.arange(len(outcome.entries))
        at = positions[tuple(np.moveaxis(sets, -1, 0))]
        outcome.values[rows[:, None], at] = values
        outcome.standard_errors[rows] = np.nan if errors is None else 0.0
        if errors is not None:
            outcome.standard_errors[rows[:, None], at] = errors
        if background_errors is not None:
            outcome.background_errors[rows] = 0.0
            outcome.background_errors[rows[:, None], at] = background_errors
