"""Values of closed forms: exact, or of trees against a sample of the background.

The attribution of a sum of trees is the sum of their attributions. That of a tree is a
mean over the background, which is estimated from other background rows than those of
the other trees. The attribution against a single background row is exact, so only the
choice of rows causes errors. The trees of a forest are alike. Their errors would add up
against common rows, and average out against own rows: for grown forests of 100 trees,
squared errors are 10 to 20 times smaller in equal time.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skshapley._records._outcome import Outcome
from skshapley._run._engine import Block
from skshapley._run._schedule import GROWTH
from skshapley._tables import take_rows
from skshapley._tools import (
    Stream,
    effective_degrees,
    generator,
    row_generators,
    widening,
)
from skshapley._trees import TreeValues
from skshapley._trees._tables import each
from skshapley._ways._base import Way
from skshapley._ways._coalitions import Coalitions
from skshapley._ways._read import check_fitted_form
from skshapley.closed_forms._base import ClosedForm
from skshapley.closed_forms._sums import Part, Sum
from skshapley.closed_forms._trees import LEAST_SAMPLED, Trees
from skshapley.exceptions import UnreadableModelError
from skshapley.explanation import Explanation
from skshapley.indices import Index
from skshapley.rewards._response import LARGEST, finite_numbers
from skshapley.solvers._base import Scale, unseen, without_gap

# Largest gap between the sum of values and the prediction, relative to their sizes
GAP_RTOL = 1e-6
SINGLE_ROWS = 64  # background rows that estimate the spread over single ones


def exact_outcome(form: ClosedForm, X: Any, pairs: Index | None = None) -> Outcome:
    """Explain a table by a fitted form.

    Parameters
    ----------
    form : ClosedForm
    X : array, sparse matrix or frame of shape (r, d)
    pairs : Index or None, default=None
        Index of additional interactions in the outcome.

    Returns
    -------
    Outcome
        Its standard errors are zero. The model is not called.

    Raises
    ------
    ModelOutputError
        For infinite or missing predictions.
    UnreadableModelError
        If the values do not add up to the prediction.
    """
    # Overflow becomes an error below, as for sampled values.
    with np.errstate(over="ignore", invalid="ignore"):
        if pairs is None:
            values, v_full = form.attributions_and_predictions(X)
        else:
            values, interactions = form.attributions_and_pairs(X, pairs)
            v_full = form.predict(X)
    v_empty = np.tile(form.base_values_, (len(values), 1))
    # The predictions are computed without the values, so a fault in either shows.
    total = v_empty + values.sum(axis=1)
    size = np.abs(v_empty) + np.abs(v_full) + np.abs(values).sum(axis=1)
    close = size <= LARGEST  # False for NaN
    if form.index.adds_up:
        close &= np.abs(total - v_full) <= GAP_RTOL * size
    if not close.all():
        finite_numbers(size, f"The closed form, {form.label},", "row")
        row, output = np.argwhere(~close)[0]
        raise UnreadableModelError(
            f"The exact values of {form.label} add up to {total[row, output]:.9g} in row"
            f" {row}, but their prediction is {v_full[row, output]:.9g}",
            'choose sampler="antithetic", and report the model, please',
        )
    outcome = Outcome.exact(values, v_empty, v_full)
    if pairs is None:
        return outcome
    first, second = np.triu_indices(form.n_players_, 1)
    return outcome.with_pairs(interactions[:, first, second])


@dataclass(frozen=True, eq=False, kw_only=True)
class Exact(Way):
    """Exact values of a closed form.

    Attributes
    ----------
    takes_raw : bool
        Whether the form takes the rows to explain unchanged.
    """

    takes_raw: bool = True

    def outcome(self, X: Any) -> Outcome:
        """Return the exact values of checked rows, for each row's predicted class if asked."""
        pairs = self.labels.pairs
        if not self.takes_raw:
            X = self.reward.masked_.inputs(X)
        outcome = exact_outcome(self.form, X, pairs)
        if self.reward is None or not self.reward.masked_.response.predicted:
            return outcome
        response = self.reward.masked_.response
        # The predicted class differs between rows, so all classes are explained before
        # one is chosen.
        winners = response.winners(X, outcome.v_full)
        values = response.choose(outcome.values, winners[:, None])
        p = self.form.n_players_
        outcome = Outcome.exact(
            values[:, :p],
            response.choose(outcome.v_empty, winners),
            response.choose(outcome.v_full, winners),
        )
        return outcome if pairs is None else outcome.with_pairs(values[:, p:])

    def explain(self, X: Any, n_jobs: int | None, verbose: Any) -> Explanation:
        """Return the exact explanation of checked rows."""
        return self.labels.explanation(self.outcome(X), X)

    def values(self, X: Any, n_jobs: int | None, verbose: Any) -> np.ndarray:
        """Return the exact values without a record."""
        return self.labels.shaped(self.outcome(X).values[:, : self.form.n_players_])

    def background_errors(self, X: Any, n_jobs: int | None) -> np.ndarray:
        """Return the errors by the spread over single background rows."""
        return self.labels.shaped(single_row_errors(self, self.form, X))

    def for_run(self, n_rows: int | None, batch_rows: int) -> Self:
        """Return this way with one method for all batches of a run."""
        return replace(self, form=self.form.for_run(n_rows, batch_rows))

    def state(self) -> dict[str, Any]:
        """Return the arrays of the form, and the responses of the model to probes."""
        return {"form": self.form.state(), **super().state()}


def single_row_errors(way: Way, form: ClosedForm, X: Any) -> NDArray[np.float64]:
    """Return the errors due to the choice of the background, ``(r, p, k)``.

    Parameters
    ----------
    way : Way
        With a reward.
    form : ClosedForm
        Of its response.
    X : array, sparse matrix or frame of shape (r, d)
    """
    masked = way.reward.masked_
    weights = masked.weights
    response = masked.response
    # With 64 rows, the standard deviation of normal numbers is known to 9 %.
    n = min(len(weights), SINGLE_ROWS)
    rng = generator(way.entropy, Stream.SINGLE_ROWS)
    rows = rng.choice(len(weights), n, replace=False, p=weights)
    X = masked.inputs(X)
    values = form.references(X, np.sort(rows))
    if response.predicted:
        values = response.choose(
            values,
            response.winners(X, form.predict(X))[:, None, None],
        )
    if n == 1:
        return np.full(values[:, 0].shape, np.nan)
    return values.std(axis=1, ddof=1) * np.linalg.norm(way.labels.background.weights)


# Background rows of a unit. These are balanced; eight are too many for the first check.
UNIT = 4
# Units of all trees before the first check of a stopping rule
FIRST_UNITS = 16


@dataclass(frozen=True, eq=False, kw_only=True)
class SampledTrees(Coalitions):
    """Trees that are sampled, as exact values would cost more.

    Attributes
    ----------
    trees : Trees or Sum
        The trees, without tables, or their sum on the columns of a pipeline.
    part : Part
        The trees and their columns.
    codes : ndarray of shape (n_code_rows, b), unsigned
        The background in the codes of the trees, column by column in memory.
    cost : float
        Cost of one background row, in model rows.
    """

    trees: ClosedForm
    part: Any
    codes: NDArray[Any]
    cost: float

    @classmethod
    def of(
        cls,
        way: Coalitions,
        form: ClosedForm,
    ) -> Self | None:
        """Return the trees of a reward, compared with the model; None for other forms.

        Parameters
        ----------
        way : Coalitions
            The way without the form; the background of its reward is in balanced order.
        form : ClosedForm
        """
        reward = way.reward
        part = (
            form.parts[0]
            if isinstance(form, Sum) and len(form.parts) == 1
            else Part(form)
        )
        trees: Any = part.form
        if not isinstance(trees, Trees) or len(reward.masked_.weights) < LEAST_SAMPLED:
            return None
        masked = reward.masked_
        background = masked.response.in_its_container(masked.background)
        players = part.owners(masked.column_player)
        trees.solver_ = TreeValues(
            trees.trees,
            players,
            form.index,
            n_players=reward.players_.n_players,
        )
        check_fitted_form(reward, form, background)
        trees.background_ = part(background)
        codes = np.asfortranarray(trees.solver_.codes(trees._matrix(trees.background_)))
        return cls(
            way.labels,
            reward,
            way.entropy,
            plan=way.plan,
            trees=form,
            part=part,
            codes=codes,
            cost=trees.expected_cost(players, 1),
        )

    def _options(self, game: Any, n_jobs: int | None) -> dict[str, Any]:
        """Return further options of `run`."""
        return {"fill": partial(self._fill, n_jobs)}

    def background_errors(self, X: Any, n_jobs: int | None) -> NDArray[np.float64]:
        """Return the errors by the spread over single background rows."""
        return self.labels.shaped(single_row_errors(self, self.trees, X))

    def _fill(
        self,
        n_jobs: int | None,
        block: Block,
        outcome: Outcome,
        evaluator: Any,
    ) -> None:
        """Write the attributions of the rows of a block."""
        game: Any = block.game
        plan = block.plan
        rows = block.rows
        response = game.shared.response
        X = response.in_its_container(take_rows(game.instances.X, rows))

        def explain(row, code, rng, winner, gain) -> None:
            for estimate in self._estimates(code, game.row_order, rng, plan.max_rows):
                if response.predicted:
                    estimate = estimate[..., [winner]]
                values, errors = estimate[:, None]
                if self.trees.index.adds_up:
                    values, shares = without_gap(values, errors**2, gain[None])
                    errors = errors * np.sqrt(1 - shares)
                done = (
                    plan.stopping is not None and plan.stopping.done(values, errors)[0]
                )
                if done:
                    break
            outcome.values[row] = values[0]
            outcome.standard_errors[row] = errors[0]
            outcome.converged[row] = done

        rngs = row_generators(block.entropy, game.keys(rows))
        codes = self.part.form.solver_.codes(self.part.form._matrix(self.part(X))).T
        each(
            explain,
            zip(
                rows,
                codes,
                rngs,
                game.instances.winners[rows],
                block.v_full - block.v_empty,
                strict=True,
            ),
            n_jobs,
        )
        # Only the row itself is passed to the model.
        outcome.n_model_rows[rows] = 1
        outcome.n_evaluations[rows] = 2
        outcome.used("background rows for each tree", "exact values of trees")

    def _estimates(self, code, order, rng, max_rows) -> Iterator[NDArray[np.float64]]:
        """Yield values and standard errors of a row, ``(2, p, k)``, from more and more units."""
        trees: Any = self.part.form
        solver = trees.solver_
        p = solver.n_players
        n_trees = trees.trees.n_trees
        places = order.shuffled(rng)
        units = places[: len(places) // UNIT * UNIT].reshape(-1, UNIT)
        most = min(max(2, int(max_rows / self.cost) // UNIT), len(units))
        # The trees begin at different units and use all equally often, so that their
        # common errors cancel.
        start = np.arange(n_trees)[:, None] * len(units) // n_trees
        sums, squares = np.zeros((2, n_trees, self.trees.n_outputs, p))
        scale = Scale(self.trees.n_outputs, p, 1)
        n = 0
        next_n = max(2, ceil(FIRST_UNITS / n_trees))
        while n < most:
            first = n
            n = min(next_n, most)
            next_n = ceil(n * GROWTH)
            unit_rows = units[(start + np.arange(first, n)) % len(units)].reshape(
                n_trees,
                -1,
            )
            for tree, output, contributions in solver.frontier.values_by_tree(
                code,
                self.codes,
                unit_rows,
                solver.index,
            ):
                for column in np.unique(output):
                    of_output = contributions[output == column]
                    scale.add([column], of_output.reshape(1, -1, p, 1))
                means = contributions.reshape(len(tree), -1, UNIT, p).mean(axis=2)
                sums[tree, output] += means.sum(axis=1)
                squares[tree, output] += (means**2).sum(axis=1)
            # finite population: without unseen background rows, there is no error
            left = max(0.0, 1 - n * UNIT / order.n_rows)
            variances = left * np.maximum(squares - sums**2 / n, 0.0) / (n * (n - 1))
            degrees = effective_degrees(
                variances[None],
                np.full((1, n_trees, 1, 1), n - 1),
            )[0]
            errors = np.sqrt(variances.sum(axis=0)) * widening(degrees)
            errors = unseen(
                errors[..., None],
                n_trees * scale.sizes,
                left / (n * n_trees),
            )[..., 0]
            errors = np.where(self.reward.used_, errors, 0.0)
            yield np.stack([sums.sum(axis=0) / n, errors]).swapaxes(1, 2)
