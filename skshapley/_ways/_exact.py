"""Exact values of a closed form, without a call of the model."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skshapley._records._outcome import Outcome
from skshapley._tools._random import Stream, generator
from skshapley._ways._base import Way
from skshapley._ways._labels import Labels
from skshapley._ways._probes import probe_values, response_of
from skshapley.closed_forms import ClosedForm
from skshapley.exceptions import UnreadableModelError
from skshapley.explanation import Explanation
from skshapley.indices import Index
from skshapley.rewards._response import finite_numbers

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
    v_full = finite_numbers(v_full, f"The closed form, {form.label},", "row")
    v_empty = np.tile(form.base_values_, (len(values), 1))
    if form.index.adds_up:
        _check_gap(form, values, v_empty, v_full)
    outcome = Outcome.exact(values, v_empty, v_full)
    if pairs is None:
        return outcome
    first, second = np.triu_indices(form.n_players_, 1)
    return outcome.with_pairs(interactions[:, first, second])


def _check_gap(
    form: ClosedForm,
    values: NDArray[np.float64],
    v_empty: NDArray[np.float64],
    v_full: NDArray[np.float64],
) -> None:
    """Raise UnreadableModelError if values do not add up to the prediction.

    The predictions are computed without the values, so a fault in either shows.
    """
    total = v_empty + values.sum(axis=1)
    size = np.abs(v_empty) + np.abs(v_full) + np.abs(values).sum(axis=1)
    # NaN in the values is a gap too
    close = np.abs(total - v_full) <= GAP_RTOL * size
    if not close.all():
        row, output = np.argwhere(~close)[0]
        raise UnreadableModelError(
            f"The exact values of {form.label} add up to {total[row, output]:.9g} in row"
            f" {row}, but their prediction is {v_full[row, output]:.9g}",
            'choose sampler="antithetic", and report the model, please',
        )


@dataclass(frozen=True, eq=False)
class Exact(Way):
    """Exact values of a closed form.

    Attributes
    ----------
    labels : Labels
    form : ClosedForm
        Fitted to the background.
    reward : Reward or None
        None if the form takes the columns of the table.
    entropy : int
        Source of the single background rows.
    """

    labels: Labels
    form: ClosedForm
    reward: Any = None
    entropy: int = 0

    def outcome(self, X: Any) -> Outcome:
        """Return the exact values of checked rows, for each row's predicted class if asked."""
        pairs = self.labels.pairs
        if self.reward is None:
            return exact_outcome(self.form, X, pairs)
        response = self.reward.masked_.response
        X = response.in_its_container(self.reward.masked_.transform(X))
        outcome = exact_outcome(self.form, X, pairs)
        if not response.predicted:
            return outcome
        # The predicted class differs between rows, so all classes are explained before
        # one is chosen.
        winners = response.winners(X, outcome.v_full)
        values = response.choose(outcome.values, winners[:, None])
        v_empty = response.choose(outcome.v_empty, winners)
        v_full = response.choose(outcome.v_full, winners)
        p = self.form.n_players_
        outcome = Outcome.exact(values[:, :p], v_empty, v_full)
        return outcome if pairs is None else outcome.with_pairs(values[:, p:])

    def explain(self, X: Any, n_jobs: int | None, verbose: Any) -> Explanation:
        """Return the exact explanation of checked rows."""
        return self.labels.explanation(self.outcome(X), X)

    def values(self, X: Any, n_jobs: int | None, verbose: Any) -> np.ndarray:
        """Return the exact values without a record."""
        values = self.outcome(X).values[:, : self.form.n_players_]
        return self.labels.shaped(values)

    def predictions(self, X: Any) -> np.ndarray:
        """Return the predictions of the model, or of the trees without a reward."""
        return self.form.predict(X) if self.reward is None else response_of(self, X)

    def background_errors(self, X: Any, n_jobs: int | None) -> np.ndarray:
        """Return the errors by the spread over single background rows."""
        return self.labels.shaped(single_row_errors(self, self.form, X))

    def for_run(self, n_rows: int | None, batch_rows: int) -> Self:
        """Return this way with one method for all batches of a run."""
        return replace(self, form=self.form.for_run(n_rows, batch_rows))

    def with_entropy(self, entropy: int) -> Self:
        """Return this way with other single background rows."""
        return replace(self, entropy=entropy)

    def state(self) -> dict[str, Any]:
        """Return the arrays of the form, and the responses of the model to probes."""
        probes = [] if self.reward is None else probe_values(self)
        return {"form": self.form.state(), "responses": probes}


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
    weights, response = masked.weights, masked.response
    # With 64 rows, the standard deviation of normal numbers is known to 9 %.
    n = min(len(weights), SINGLE_ROWS)
    rng = generator(way.entropy, Stream.SINGLE_ROWS)
    rows = rng.choice(len(weights), n, replace=False, p=weights)
    X = response.in_its_container(masked.transform(X))
    values = form.references(X, np.sort(rows))
    if response.predicted:
        winners = response.winners(X, form.predict(X))
        values = response.choose(values, winners[:, None, None])
    if n == 1:
        return np.full(values[:, 0].shape, np.nan)
    spread = values.std(axis=1, ddof=1)
    return spread * np.linalg.norm(way.labels.background.weights)
