"""Responses of a model to a few rows, to compare it with an earlier one."""

from typing import Any

import numpy as np

from skshapley._tables._inputs import n_rows, take_rows
from skshapley._tools._random import generator

# Few probes: they should cost less than the explanation of a row.
PROBE_ROWS, PROBES_EACH = 32, 8


def probe_values(way: Any) -> list[np.ndarray]:
    """Return the responses of a way's reward to background rows and to mixtures of them."""
    background = way.labels.background.rows
    b = n_rows(background)
    probes = np.arange(min(b, PROBE_ROWS)) * b // min(b, PROBE_ROWS)
    game = way.reward.game(take_rows(background, probes))
    rng = generator(0, 2)
    present = rng.random((game.n_rows, PROBES_EACH, game.n_players)) < 0.5
    references = rng.integers(game.n_references, size=(game.n_rows, PROBES_EACH, 1))
    rows = np.arange(game.n_rows)
    return [game.empty(rows), game.full(rows), game(present, rows, references)]


def response_of(way: Any, X: Any) -> np.ndarray:
    """Return the response of the model to rows, ``(r, k)``."""
    game = way.reward.game(X)
    return game.full(np.arange(game.n_rows))
