"""Whether walks err less than the process, by what both make of the pilots.

A process is made of a limited number of pairs. From some budget on, which depends on how rough the
model is and on how many of its columns agree with the background's, walks do better.
"""

from copy import copy
from dataclasses import replace

import numpy as np

from skshapley._run._engine import Plan, run
from skshapley._run._size import Size
from skshapley._tools._random import generator
from skshapley.rewards import Game

SHARE = 1 / 4  # of the model rows of an instance that go to the trial
NOTHING = 1e-10  # relative: two runs that differ by less agree
BETTER = 0.8  # of the error that the process states, which is right to about a half


def walks_serve_better(game: Game, rival: Plan, errors: np.ndarray) -> bool:
    """Return whether walks have the lower mean squared error at the whole budget.

    Parameters
    ----------
    game : Game
        Of one pilot.
    rival : Plan
        Of walks, with the whole budget.
    errors : ndarray of shape (p, k)
        Standard errors of the process with the whole budget, by what it saw; NaN where it knows
        none.
    """
    if np.isnan(errors).any():
        return False
    of_walks = error_of_walks(game, rival)
    return of_walks is not None and of_walks < BETTER * (errors**2).sum()


def error_of_walks(game: Game, rival: Plan) -> float | None:
    """Return the squared error of walks at the whole budget, summed over all attributions.

    Two independent runs, each with an eighth of the budget on an eighth of the background rows,
    differ by what walks leave to chance. None where that is too little for a walk, or where both
    agree, which tells nothing: a game that is additive, or seems so.

    Parameters
    ----------
    game : Game
        Of one pilot.
    rival : Plan
        Of walks, with the whole budget.
    """
    part = SHARE / 2
    rng = generator(rival.entropy, 8)
    few = _FewRows(game, rng, max(1, round(game.n_references * part)))
    rows = int(rival.max_rows * part)
    sampler, _ = rival.components(game.n_players)
    price = sampler.price(game.n_players, few.n_references)
    if Size.of(few).values(rows) < price.least_rows:
        return None
    plans = [
        replace(rival, max_rows=rows, entropy=int(word), stopping=None)
        for word in rng.integers(2**63, size=2)
    ]
    one, other = (run(few, plan).values for plan in plans)
    apart = float(((one - other) ** 2).sum())
    return part / 2 * apart if apart > NOTHING**2 * float((one**2).sum()) else None


class _FewRows(Game):
    """A game against a few of its background rows, drawn by their weights."""

    def __init__(self, game: Game, rng: np.random.Generator, n: int) -> None:
        self._game, weights = game, game.reference_weights
        n = min(n, int(np.count_nonzero(weights)))
        self._rows = np.sort(rng.choice(len(weights), n, replace=False, p=weights))
        self.n_players, self.n_rows, self.n_outputs = game.n_players, game.n_rows, game.n_outputs
        self.n_references = n
        self.rows_per_value = max(1, game.rows_per_value * n // game.n_references)
        self.reference_weights = np.full(n, 1 / n)
        self.bytes_per_row, self.most_values = game.bytes_per_row, game.most_values
        self.finer = game.finer

    def __call__(self, coalitions, rows, references=None) -> np.ndarray:
        if references is None:
            named = np.broadcast_to(self._rows, (*coalitions.shape[:2], self.n_references))
        else:
            named = self._rows[references]
        return self._game(coalitions, rows, named)

    def empty(self, rows) -> np.ndarray:
        return self._game.empty(rows)[:, self._rows]

    def full(self, rows) -> np.ndarray:
        return self._game.full(rows)

    def keys(self, rows) -> np.ndarray:
        return self._game.keys(rows)

    def active(self, rows) -> np.ndarray:
        return self._game.active(rows)

    def differing(self, rows, references) -> np.ndarray | None:
        return self._game.differing(rows, self._rows[references])

    def apart(self, rows, references) -> np.ndarray | None:
        return self._game.apart(rows, self._rows[references])

    def take(self, rows) -> "_FewRows":
        other = copy(self)
        other._game, other.n_rows = self._game.take(rows), len(rows)
        return other
