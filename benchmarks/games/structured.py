"""Games of 12 to 30 players with Shapley values from formulas, for the benchmark of games.

Each family is a function of the number of players and a generator. It returns the value
of coalitions, a function from ``(m, p)`` to ``(m,)``, and the Shapley values ``(p,)``.
No constant of this package was chosen on these games.
"""

from collections.abc import Callable

import numpy as np
from scipy.special import gammaln

Game = tuple[Callable[[np.ndarray], np.ndarray], np.ndarray]


def unanimity(p: int, rng: np.random.Generator) -> Game:
    """Return 1 for coalitions that contain a set of two to p/2 players."""
    members = rng.choice(p, rng.integers(2, p // 2 + 1), replace=False)
    values = np.zeros(p)
    values[members] = 1 / len(members)
    return lambda S: S[:, members].all(axis=1) * 1.0, values


def sum_of_unanimity(p: int, rng: np.random.Generator) -> Game:
    """Return a weighted sum of 30 unanimity games of one to five players."""
    sets = [rng.choice(p, rng.integers(1, 6), replace=False) for _ in range(30)]
    weights = rng.uniform(-1, 1, len(sets))
    terms = list(zip(weights, sets, strict=True))
    values = np.zeros(p)
    for weight, members in terms:
        values[members] += weight / len(members)
    return lambda S: sum(w * S[:, members].all(axis=1) for w, members in terms), values


def voting(p: int, rng: np.random.Generator) -> Game:
    """Return 1 for coalitions with more than three fifths of the votes."""
    votes = rng.integers(1, 20, p)
    return of_weight(votes, lambda total: (total > 0.6 * votes.sum()) * 1.0)


def bankruptcy(p: int, rng: np.random.Generator) -> Game:
    """Return the part of an estate that remains after the claims of the other players."""
    claims = rng.integers(1, 20, p)
    return of_weight(claims, lambda total: np.maximum(total - 0.5 * claims.sum(), 0))


def economy(p: int, rng: np.random.Generator) -> Game:
    """Return the root of the total weight."""
    return of_weight(rng.integers(1, 20, p), np.sqrt)


def of_weight(weights: np.ndarray, worth: Callable) -> Game:
    """Return the game that has a worth for each total weight of a coalition.

    The Shapley values come from the number of coalitions of other players by size and
    total weight.
    """
    p = len(weights)
    totals = np.arange(weights.sum() + 1)
    sizes = np.arange(p)
    log_shares = gammaln(sizes + 1) + gammaln(p - sizes) - gammaln(p + 1)
    values = np.empty(p)
    for player, weight in enumerate(weights):
        counts = np.zeros((p, len(totals)))
        counts[0, 0] = 1
        for step in np.delete(weights, player):
            counts[1:, step:] += counts[:-1, :-step].copy()
        gains = worth(totals[weight:]) - worth(totals[: len(totals) - weight])
        by_size = counts[:, : len(totals) - weight] @ gains
        values[player] = np.exp(log_shares) @ by_size
    return lambda S: worth(S @ weights), values


def airport(p: int, rng: np.random.Generator) -> Game:
    """Return the largest cost; a part of a runway is shared by all that need it."""
    costs = rng.integers(1, 30, p) * 1.0
    order = np.argsort(costs)
    parts = np.diff(costs[order], prepend=0) / np.arange(p, 0, -1)
    values = np.empty(p)
    values[order] = np.cumsum(parts)
    return lambda S: np.where(S, costs, 0).max(axis=1), values


def gloves(p: int, rng: np.random.Generator) -> Game:
    """Return the number of pairs of a left and a right glove."""
    left = np.zeros(p, dtype=bool)
    left[rng.choice(p, p // 3, replace=False)] = True
    marks = np.where(left, 1, p)
    _, values = of_weight(marks, lambda total: np.minimum(total % p, total // p))
    sides = np.stack([left, ~left], axis=1) * 1.0
    return lambda S: (S @ sides).min(axis=1), values


def coverage(p: int, rng: np.random.Generator) -> Game:
    """Return the weight of the points that any player covers."""
    covers = rng.random((p, 40)) < 3 / p
    weights = rng.exponential(size=40)
    shares = weights / np.maximum(covers.sum(axis=0), 1)
    return lambda S: (S.astype(float) @ covers > 0) @ weights, covers @ shares


def cut(p: int, rng: np.random.Generator) -> Game:
    """Return the weight of the edges from a coalition to the other players."""
    edges = rng.exponential(size=(p, p)) * (rng.random((p, p)) < 4 / p)
    np.fill_diagonal(edges, 0)
    values = (edges.sum(axis=1) - edges.sum(axis=0)) / 2
    return lambda S: ((S @ edges) * ~S).sum(axis=1), values


def neighbours(p: int, rng: np.random.Generator) -> Game:
    """Return the share of right labels among the three nearest training points.

    Jia et al. (2019), Efficient task-specific data valuation for nearest neighbor
    algorithms, theorem 1. Players are in a random order of distances.
    """
    ranks = rng.permutation(p)
    right = rng.random(p) < 0.6
    by_rank = right[np.argsort(ranks)] * 1.0
    positions = np.arange(1, p)
    steps = (by_rank[:-1] - by_rank[1:]) / 3 * np.minimum(3, positions) / positions
    last = by_rank[-1] / p
    values = last + np.append(np.cumsum(steps[::-1])[::-1], 0)

    def share(S: np.ndarray) -> np.ndarray:
        present = S[:, np.argsort(ranks)]
        nearest = present & (np.cumsum(present, axis=1) <= 3)
        return nearest @ by_rank / 3

    return share, values[ranks]


FAMILIES = {
    family.__name__: family
    for family in (
        unanimity,
        sum_of_unanimity,
        voting,
        bankruptcy,
        economy,
        airport,
        gloves,
        coverage,
        cut,
        neighbours,
    )
}
PLAYERS = (12, 20, 30)


def game(family: str, p: int) -> Game:
    """Return the game of a family."""
    return FAMILIES[family](p, np.random.default_rng([p, *family.encode()]))
