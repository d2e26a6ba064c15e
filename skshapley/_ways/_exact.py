"""Exact values of a closed form, without a call of the model."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skshapley._records._outcome import Outcome
from skshapley.closed_forms import ClosedForm
from skshapley.exceptions import UnreadableModelError
from skshapley.indices import Index
from skshapley.rewards._response import finite_numbers

# Largest gap between the sum of values and the prediction, relative to their sizes
GAP_RTOL = 1e-6


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


def explained(
    form: ClosedForm, response: Any, X: Any, pairs: Index | None = None
) -> Outcome:
    """Explain a response at a table of rows.

    Parameters
    ----------
    form : ClosedForm
        The fitted form of the response.
    response : Response
    X : array, sparse matrix or frame of shape (r, d)
    pairs : Index or None, default=None
        Index of additional interactions in the outcome.

    Returns
    -------
    Outcome
        For each row's predicted class, if this is the output.
    """
    X = response.in_its_container(X)
    outcome = exact_outcome(form, X, pairs)
    if not response.predicted:
        return outcome
    # The predicted class differs between rows, so all classes are explained before one
    # is chosen.
    winners = response.winners(X, outcome.v_full)
    values = response.choose(outcome.values, winners[:, None])
    ends = (response.choose(end, winners) for end in (outcome.v_empty, outcome.v_full))
    p = form.n_players_
    chosen = Outcome.exact(values[:, :p], *ends)
    return chosen if pairs is None else chosen.with_pairs(values[:, p:])
