"""Whether walks err less than the process, by what both make of the pilots.

A process is made of a limited number of pairs. From some budget on, which depends on how rough the
model is and on how many of its columns agree with the background's, walks do better.
"""

from copy import copy
from dataclasses import replace

import numpy as np
from scipy.special import gammaincinv

from skshapley._run._engine import Plan, run
from skshapley._run._size import Size
from skshapley._tools._random import generator
from skshapley.rewards import Game
from skshapley.samplers._odd_blocks import ENOUGH, MOST_BLOCK_PAIRS

SHARE = 1 / 4  # of the model rows of an instance that go to the trial
NOTHING = 1e-10  # relative: two runs that differ by less agree
SURE = 0.9  # that walks err by less than is taken for their error
BETTER = 0.9  # of the squared error that the process states


def walks_serve_better(game: Game, rival: Plan, errors: np.ndarray | None) -> bool:
    """Return whether walks have the lower mean squared error at the whole budget.

    Parameters
    ----------
    game : Game
        Of one pilot.
    rival : Plan
        Of walks, with the whole budget.
    errors : ndarray of shape (p, k) or None
        Standard errors of the process with the whole budget, by what it saw; NaN where it knows
        none, and None where it knows none at all.
    """
    if errors is None or np.isnan(errors).any() or _knows_much(game, rival.max_rows):
        return False
    squares = squares_of_walks(game, rival)
    if squares is None:
        return False
    likely = squares.sum() if _is_saturated(game, rival.max_rows) else upper_limit(squares)
    return bool(likely < BETTER * (errors**2).sum())


def _knows_much(game: Game, max_rows: int) -> bool:
    """Return whether a budget covers so many of all coalitions that no walks need be tried.

    A process that has seen a third of them states some five times its squared error.
    """
    every = (2**game.n_players - 2) * game.n_references
    return Size.of(game).values(max_rows) >= ENOUGH * every


def _is_saturated(game: Game, max_rows: int) -> bool:
    """Return whether a budget buys more pairs against all rows than a process gains by.

    Walks gain by all of it, so that they need not be sure to err less.
    """
    return Size.of(game).values(max_rows) > 2 * MOST_BLOCK_PAIRS * game.n_references


def upper_limit(squares: np.ndarray) -> float:
    """Return what the sum of squared errors is surely below, given one draw of each.

    Where few of them make up the sum it may be small by chance. It is taken for a chi-square of as
    many degrees of freedom as normal numbers of these variances have.
    """
    total = float(squares.sum())
    degrees = 3 * total**2 / float((squares**2).sum()) - 2  # 1 for one, about n for n alike
    return total * degrees / (2 * float(gammaincinv(degrees / 2, 1 - SURE)))


def squares_of_walks(game: Game, rival: Plan) -> np.ndarray | None:
    """Return the squared errors of walks at the whole budget, of each attribution.

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
    apart = (one - other) ** 2
    return part / 2 * apart if apart.sum() > NOTHING**2 * (one**2).sum() else None


class _FewRows(Game):
    """The game of a pilot against a few background rows, drawn by their weights.

    Not against itself: against the row that it is walks cost nothing, which tells of no other row.
    """

    def __init__(self, game: Game, rng: np.random.Generator, n: int) -> None:
        self._game, weights = game, game.reference_weights
        b = len(weights)
        apart = game.apart(np.zeros(b, dtype=np.intp), np.arange(b))
        if apart is not None and apart.any():
            weights = weights * apart.any(axis=1)
            weights = weights / weights.sum()
        n = min(n, int(np.count_nonzero(weights)))
        self._rows = np.sort(rng.choice(b, n, replace=False, p=weights))
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
