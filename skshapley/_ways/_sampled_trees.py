"""Sampled attributions of trees, each tree against other background rows.

The attribution of a sum of trees is the sum of their attributions. That of a tree is a
mean over the background, which is estimated from other background rows than those of
the other trees. The attribution against a single background row is exact, so only the
choice of rows causes errors. The trees of a forest are alike. Their errors would add up
against common rows, and average out against own rows: for grown forests of 100 trees,
squared errors are 10 to 20 times smaller in equal time.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skshapley._run._cohort import GROWTH
from skshapley._tables._inputs import take_rows
from skshapley._tools._degrees import effective_degrees, widening
from skshapley._tools._random import row_generators
from skshapley._trees import TreeValues
from skshapley._trees._tables import each
from skshapley._ways._read import compare_with
from skshapley.closed_forms._base import ClosedForm
from skshapley.closed_forms._sums import Part, Sum
from skshapley.closed_forms._trees import Trees
from skshapley.solvers._base import without_gap
from skshapley.solvers._spread import Scale, unseen

# Background rows of a unit. These are balanced; eight are too many for the first check.
UNIT = 4
# Background rows; fewer make too few units to show their spread
LEAST_ROWS = 32
# Units of all trees before the first check of a stopping rule
FIRST_UNITS = 16


@dataclass(frozen=True, eq=False)
class SampledTrees:
    """Trees that are sampled, as exact values would cost more.

    Attributes
    ----------
    form : Trees or Sum
        The trees, without tables, or their sum on the columns of a pipeline.
    part : Part
        The trees and their columns.
    codes : ndarray of shape (n_code_rows, b), unsigned
        The background in the codes of the trees, column by column in memory.
    cost : float
        Cost of one background row, in model rows.
    """

    form: ClosedForm
    part: Any
    codes: NDArray[Any]
    cost: float

    @classmethod
    def of(cls, form: Any, reward: Any) -> "SampledTrees | None":
        """Return the trees of a fitted reward, compared with the model; None for other forms.

        Parameters
        ----------
        form : ClosedForm or None
        reward : InterventionalReward
            With its background in balanced order.
        """
        part = (
            form.parts[0]
            if isinstance(form, Sum) and len(form.parts) == 1
            else Part(form)
        )
        trees: Any = part.form
        masked = reward.masked_
        if not isinstance(trees, Trees) or len(masked.weights) < LEAST_ROWS:
            return None
        background = masked.response.in_its_container(masked.background)
        players = part.owners(masked.column_player)
        n_players = reward.players_.n_players
        trees.solver_ = TreeValues(
            trees.trees, players, form.index, n_players=n_players
        )
        compare_with(reward, form, background)
        trees.background_ = part(background)
        codes = np.asfortranarray(trees.solver_.codes(trees._matrix(trees.background_)))
        return cls(form, part, codes, trees.expected_cost(players, 1))

    def fill(self, outcome: Any, block: Any, n_jobs: int | None) -> None:
        """Write the attributions of the rows of a block.

        Parameters
        ----------
        outcome : Outcome
        block : Block
        n_jobs : int or None
            Threads over rows.
        """
        game, plan, rows = block.game, block.plan, block.rows
        response, order = game.shared.response, game.row_order
        winners, gains = game.instances.winners[rows], block.v_full - block.v_empty
        X = response.in_its_container(take_rows(game.instances.X, rows))

        def explain(row, code, rng, winner, gain) -> None:
            for found in self._estimates(code, order, rng, plan.max_rows):
                if response.predicted:
                    found = found[..., [winner]]
                values, errors = found[:, None]
                if self.form.index.adds_up:
                    values, shares = without_gap(values, errors**2, gain[None])
                    errors = errors * np.sqrt(1 - shares)
                done = (
                    plan.stopping is not None and plan.stopping.done(values, errors)[0]
                )
                if done:
                    break
            outcome.values[row], outcome.standard_errors[row] = values[0], errors[0]
            outcome.converged[row] = done

        rngs = row_generators(plan.entropy, game.keys(rows))
        codes = self.part.form.solver_.codes(self.part.form._matrix(self.part(X))).T
        each(explain, zip(rows, codes, rngs, winners, gains, strict=True), n_jobs)
        # Only the row itself is passed to the model.
        outcome.n_model_rows[rows], outcome.n_evaluations[rows] = 1, 2
        outcome.used(self, "exact values of trees")

    def __repr__(self) -> str:
        return "background rows for each tree"

    def _estimates(self, code, order, rng, max_rows) -> Iterator[NDArray[np.float64]]:
        """Yield values and standard errors of a row, ``(2, p, k)``, from more and more units."""
        trees: Any = self.part.form
        solver, n_trees, places = (
            trees.solver_,
            trees.trees.n_trees,
            order.shuffled(rng),
        )
        units = places[: len(places) // UNIT * UNIT].reshape(-1, UNIT)
        most = min(max(2, int(max_rows / self.cost) // UNIT), len(units))
        # The trees begin at different units and use all equally often, so that their
        # common errors cancel.
        start = np.arange(n_trees)[:, None] * len(units) // n_trees
        sums, squares = np.zeros((2, n_trees, self.form.n_outputs, solver.n_players))
        scale = Scale(self.form.n_outputs, solver.n_players, 1)
        n, wanted = 0, max(2, ceil(FIRST_UNITS / n_trees))
        while n < most:
            n, last = min(wanted, most), n
            wanted = ceil(n * GROWTH)
            chosen = units[(start + np.arange(last, n)) % len(units)].reshape(
                n_trees, -1
            )
            runs = solver.frontier.values_by_tree(
                code, self.codes, chosen, solver.index
            )
            for tree, output, found in runs:
                scale.add(output, found[..., None])
                means = found.reshape(len(tree), -1, UNIT, found.shape[2]).mean(axis=2)
                sums[tree, output] += means.sum(axis=1)
                squares[tree, output] += (means**2).sum(axis=1)
            # finite population: without unseen background rows, there is no error
            left = max(0.0, 1 - n * UNIT / order.n_rows)
            variances = left * np.maximum(squares - sums**2 / n, 0.0) / (n * (n - 1))
            degrees = effective_degrees(
                variances[None], np.full((1, n_trees, 1, 1), n - 1)
            )[0]
            errors = np.sqrt(variances.sum(axis=0)) * widening(degrees)
            errors = unseen(
                errors, n_trees * scale.likely[..., 0], left / (n * n_trees)
            )
            yield np.stack([sums.sum(axis=0) / n, errors]).swapaxes(1, 2)
