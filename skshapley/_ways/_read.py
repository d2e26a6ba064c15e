"""The closed form of a response, and the players that a model uses."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skshapley._tables import MixedColumnsError, take_rows
from skshapley.closed_forms._base import ClosedForm
from skshapley.closed_forms._trees import Trees
from skshapley.exceptions import UnreadableModelError
from skshapley.indices import INDICES, Index
from skshapley.readers._registry import read_columns, read_model
from skshapley.responses import SurvivalAt
from skshapley.rewards import InterventionalReward, Reward
from skshapley.rewards._masked import marked_players, split
from skshapley.rewards._methods import FUNCTION, METHODS

# Functions as response_method that closed forms know, by module and name
FUNCTIONS = {("skshapley.responses", "mean_depth"): "mean_depth"}
# Responses that may be sums over the columns where others are curves of them
SCORES = ("log_odds", "decision_function", "log")
# Background rows for the comparison of a form with the known response
CHECKED_ROWS = 256
# relative to the largest response: models may compute in single precision
RESPONSE_RTOL = 1e-5
# relative to the size of the terms: eight roundings of single precision
TERMS_RTOL = 5e-7
# Log-odds beyond are left out of the comparison: they are the logit of a probability
# that rounds
MOST_LOG_ODDS = 15.0


@dataclass(frozen=True, eq=False)
class Reading:
    """The closed form of a response, or the reason to sample it.

    Attributes
    ----------
    form : ClosedForm or None
        Fitted, unless it costs more than sampling.
    reason : str or None
        The obstacle; None if the form is to be used.
    instead : str or None
        A response of the model that can be read.
    """

    form: Any = None
    reason: str | None = None
    instead: str | None = None


def read(
    reward: Reward,
    most_rows: float = np.inf,
    n_jobs: int | None = None,
    index: Index = INDICES["shapley"],
    pairs: Index | None = None,
    stops_after: int | None = None,
) -> Reading:
    """Read the response of a fitted reward, and fit its closed form to the background.

    Parameters
    ----------
    reward : Reward
        Fitted.
    most_rows : float, default=inf
        Largest cost of a row to explain, in calls of the model for one row: the cost of
        sampling.
    n_jobs : int or None, default=None
    index : Index, default=Shapley's
        Of the attributions.
    pairs : Index or None, default=None
        Index of the requested interactions.
    stops_after : int or None, default=None
        Model rows of a row before sampling may stop at the default relative error.
        None if it does not stop.
    """
    if not isinstance(reward, InterventionalReward):
        return Reading(reason=f"{type(reward).__name__} has no exact values")
    if reward.link is not None:
        return Reading(
            reason=f"A link after the mean, {reward.link!r}, has no exact values"
        )
    try:
        form = read_outputs(reward.masked_.response)
        _check_indices(form, index, pairs)
        form.set_index(index, reward.players_.levels)
        if form.levels is not None and not (form.nests or form.additive):
            return Reading(
                reason="Values of nested groups are exact for trees and sums over "
                "columns only"
            )
        if stops_after is not None:
            size = reward.players_.n_players, len(reward.masked_.weights)
            most_rows = min(most_rows, max(stops_after, form.usual_rows(*size)))
        cost = fitted_cost(form, reward, most_rows, n_jobs, pairs)
        if cost <= most_rows:
            check_fitted_form(reward, form, form.background_)
            return Reading(form)
    except UnreadableModelError as error:
        return Reading(None, error.reason, error.instead)
    reason = (
        f"Exact values from {form.label} would cost as much as {cost:.3g} model rows "
        f"per row, and sampling costs {most_rows:.3g}"
    )
    # never for trees, which take milliseconds to read
    trees = isinstance(form, Trees)
    return Reading(
        form,
        reason,
        None if trees else _additive_score(reward.masked_.response.estimator),
    )


def _check_indices(form: ClosedForm, index: Index, pairs: Index | None) -> None:
    """Raise UnreadableModelError for an index that a form does not have."""
    for requested, names, what in (
        (index, form.indices, "index"),
        (pairs, form.pair_indices, "index of pairs"),
    ):
        if requested and names is not None and requested.name not in names:
            raise UnreadableModelError(
                f'{form.label} have no exact values for the {what} "{requested.name}"'
            )


def fitted_cost(
    form: ClosedForm,
    reward: Any,
    most_rows: float,
    n_jobs: int | None = None,
    pairs: Index | None = None,
) -> float:
    """Return the cost of a row in model rows, and fit the form unless it is too large."""
    masked = reward.masked_
    # Sampled interactions are so much less precise that exact ones may take longer.
    if pairs is None:
        cost = form.expected_cost(masked.column_player, len(masked.weights))
        if cost > most_rows:
            return cost
    background = masked.response.in_its_container(masked.background)
    form.fit(
        background,
        masked.weights,
        masked.column_player,
        reward.players_.n_players,
        n_jobs,
    )
    return form.cost_


def checked_rows(b: int, most: int = CHECKED_ROWS) -> np.ndarray:
    """Return the background rows to compare a form with the known response at."""
    # Evenly spaced rows: a sorted background would otherwise be compared in one corner
    # only.
    return np.unique(np.linspace(0, b - 1, min(b, most)).astype(np.intp))


def _additive_score(model: Any) -> str | None:
    """Return the score of a model that is a sum over its columns, which costs nothing, or None."""
    for method in SCORES:
        with suppress(UnreadableModelError):
            if read_model(model, method).additive:
                return method
    return None


def read_outputs(response: Any) -> ClosedForm:
    """Read the outputs that a response explains.

    Parameters
    ----------
    response : Response
        A probed response.

    Returns
    -------
    form : ClosedForm
        With all outputs if each row's predicted class is explained.

    Raises
    ------
    UnreadableModelError
        If the response cannot be read.
    """
    model, method = model_and_method(response)
    if callable(method):
        method = FUNCTIONS.get(
            (getattr(method, "__module__", ""), getattr(method, "__qualname__", "")),
            method,
        )
    if method == FUNCTION or (callable(method) and not isinstance(method, SurvivalAt)):
        what = "The response_method" if callable(method) else "The model"
        raise UnreadableModelError(
            f"{what} is a function, which has no known closed form"
        )
    form = read_model(model, method)
    if form.n_outputs == 1 and response.n_columns == 2:
        # the score of the second of two classes; that of the first is its negative
        form = form.combined([[-1.0, 1.0]])
    # A wrong number of outputs would broadcast silently in the comparison below.
    if form.n_outputs != response.n_columns:
        raise UnreadableModelError(
            f"{type(response.estimator).__name__} was read with {form.n_outputs} "
            f"outputs, but returns {response.n_columns}",
            "explain it by sampling, and report the model, please",
        )
    if response.column is None or form.n_outputs == 1:
        return form
    return form.combined(np.eye(form.n_outputs)[:, [response.column]])


def model_and_method(response: Any) -> tuple[Any, Any]:
    """Return a model and its method, also for a bound method such as ``model.predict``."""
    function = response.estimator
    name: Any = getattr(function, "__name__", None)
    model = getattr(function, "__self__", None)
    is_method = response.method == FUNCTION and name in METHODS
    if is_method and getattr(model, name, None) == function:
        return model, name
    return function, response.method


def check_fitted_form(reward: Reward, form: ClosedForm, background: Any) -> None:
    """Raise UnreadableModelError if a form differs from a fitted reward on its background."""
    masked: Any = reward.masked_
    rows = checked_rows(len(masked.weights))
    responses = masked.empty[rows]
    if not masked.response.predicted:
        responses = masked.response.choose(responses, 0)
    check_form(
        form.predict(take_rows(background, rows)),
        responses,
        rows,
        form.size,
        str(masked.response.method),
    )


def check_form(
    ours: NDArray[np.float64],
    theirs: NDArray[np.float64],
    rows: NDArray[np.intp],
    size: float = 0.0,
    method: str = "raw",
) -> None:
    """Raise UnreadableModelError if a form differs from the response on some background rows.

    Parameters
    ----------
    ours, theirs : ndarray of shape (n, k)
    rows : ndarray of shape (n,), int
        Positions in the background.
    size : float, default=0.0
        Size of the terms that the response adds up (`ClosedForm.size`).
    method : str, default="raw"
        The response.
    """
    # Relative to the largest response, and to its terms: a response near 0 is a
    # difference of large terms, and keeps their rounding.
    largest = np.abs(theirs).max() + np.abs(ours).max()
    off = np.abs(ours - theirs) > RESPONSE_RTOL * largest + TERMS_RTOL * size
    if method == "log_odds":
        off &= np.abs(theirs) < MOST_LOG_ODDS
    if off.any():
        row, output = np.argwhere(off)[0]
        raise UnreadableModelError(
            f"The closed form adds up to {ours[row, output]:.6g}, but the model returns"
            f" {theirs[row, output]:.6g} (background row {rows[row]})",
            "explain it by sampling, and report the model, please",
        )


# Background rows that are mixed to test that the other players have no effect
MIXED_ROWS = 64


def used_players(reward: Reward, n_players: int) -> NDArray[np.bool_]:
    """Return False for players that have no effect on the response of a reward, ``(p,)``.

    Parameters
    ----------
    reward : Reward
        Fitted.
    n_players : int
    """
    every = np.ones(n_players, dtype=bool)
    if not isinstance(reward, InterventionalReward):
        return every
    masked = reward.masked_
    response = masked.response
    used_columns = np.zeros(masked.background.shape[1], dtype=bool)
    source = np.arange(len(used_columns))
    with suppress(MixedColumnsError):
        # With ``transformed=False``, the first steps of a pipeline still select columns.
        _, estimator, source = split(response, masked.background)
        response = response.of(estimator)
    used_columns[source[_read_columns(response, len(source))]] = True
    used = marked_players(used_columns, masked.column_player, n_players)
    return used if used.all() or _ignores(reward, used) else every


def _read_columns(response: Any, n_columns: int) -> NDArray[np.bool_]:
    """Return True for the columns of a model that a response may use, ``(D,)``."""
    model, method = model_and_method(response)
    if method != FUNCTION and not callable(method):
        # The sum of trees has the splits of every other response of the same trees.
        for score in ("raw", method, *SCORES):
            with suppress(UnreadableModelError):
                return read_columns(model, score, n_columns)
    return np.ones(n_columns, dtype=bool)


def _ignores(reward: Any, used: NDArray[np.bool_]) -> bool:
    """Return True if the response of background rows does not depend on unused players.

    A subclass may add a term to a response, which no reader knows.
    """
    masked = reward.masked_
    rows = checked_rows(len(masked.weights), MIXED_ROWS)
    pool = masked.pool(masked.background)
    mixed = pool.hybrid(
        np.broadcast_to(used, (len(rows), len(used))),
        rows,
        rows[::-1, None],
    )
    responses = masked.response(mixed, where=" on mixtures of background rows")
    expected = masked.empty[rows]
    tolerance = RESPONSE_RTOL * np.abs(expected).max()
    return bool((np.abs(responses - expected) <= tolerance).all())
