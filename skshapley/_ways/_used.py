"""The players that a model uses; the others have the value 0 and are not sampled."""

from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skshapley._tables._columnwise import MixedColumnsError
from skshapley._ways._read import (
    RESPONSE_RTOL,
    SCORES,
    checked_rows,
    model_and_method,
)
from skshapley.exceptions import UnreadableModelError
from skshapley.readers._registry import read_model
from skshapley.rewards import InterventionalReward, Reward
from skshapley.rewards._masked import split
from skshapley.rewards._methods import FUNCTION
from skshapley.rewards._players import marked_players

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
    columns = _used_columns(masked.response, masked.background)
    used = marked_players(columns, masked.column_player, n_players)
    return used if used.all() or _ignores(reward, used) else every


def _used_columns(response: Any, background: Any) -> NDArray[np.bool_]:
    """Return True for the columns of the background that a response may use, ``(D,)``."""
    used = np.zeros(background.shape[1], dtype=bool)
    source = np.arange(len(used))
    with suppress(MixedColumnsError):
        # With ``transformed=False``, the first steps of a pipeline still select columns.
        _, estimator, source = split(response, background)
        response = response.of(estimator)
    used[source[_read_columns(response, len(source))]] = True
    return used


def _read_columns(response: Any, n_columns: int) -> NDArray[np.bool_]:
    """Return True for the columns of a model that a response may use, ``(D,)``."""
    model, method = model_and_method(response)
    if method != FUNCTION and not callable(method):
        # The sum of trees has the splits of every other response of the same trees.
        for score in (method, *SCORES, "raw"):
            with suppress(UnreadableModelError):
                form = read_model(model, score)
                return form.used_columns(n_columns)
    return np.ones(n_columns, dtype=bool)


def _ignores(reward: Any, used: NDArray[np.bool_]) -> bool:
    """Return True if the response of background rows does not depend on unused players.

    A subclass may add a term to a response, which no reader knows.
    """
    masked = reward.masked_
    rows = checked_rows(len(masked.weights), MIXED_ROWS)
    pool = masked.pool(masked.background)
    coalitions = np.broadcast_to(used, (len(rows), len(used)))
    mixed = pool.hybrid(coalitions, rows, rows[::-1, None])
    responses = masked.response(mixed, where=" on mixtures of background rows")
    expected = reward.empty_[rows]
    tolerance = RESPONSE_RTOL * np.abs(expected).max()
    return bool((np.abs(responses - expected) <= tolerance).all())
