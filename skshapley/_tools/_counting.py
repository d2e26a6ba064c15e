"""Coalitions: their numbers, lists, random ones of a size, and orders of nested groups.

In orders of nested groups, the members of a group are adjacent, at every level. At each
level, the groups are in uniformly random order, and so are the members within a group.
Mean contributions over these orders are Owen values for one level of groups, and
Winter's values for more levels.
"""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.special import beta, gammaln

MOST_UNITS = 60


def log_binomial(n: float | np.ndarray, k: float | np.ndarray) -> np.ndarray:
    """Return the logarithm of n choose k, without overflow for any n."""
    # The difference of large logarithms is off by 1e-12 for 1,000 choose 500.
    return gammaln(n + 1) - gammaln(k + 1) - gammaln(np.subtract(n, k) + 1)


def all_coalitions(p: int) -> np.ndarray:
    """Return all coalitions, ``(2^p, p)`` bool: row 5, binary 101, has players 0 and 2."""
    return (np.arange(2**p)[:, None] >> np.arange(p)) & 1 == 1


def uniform_of_size(rng: np.random.Generator, sizes: np.ndarray, p: int) -> np.ndarray:
    """Return one uniform coalition of each size, ``(len(sizes), p)`` bool."""
    order = rng.permuted(np.broadcast_to(np.arange(p), (len(sizes), p)), axis=1)
    return order < sizes[:, None]


def shared_out(total: float, weights: np.ndarray, room: np.ndarray) -> np.ndarray:
    """Return shares of `total` in proportion to weights, none above its `room`.

    An excess goes to the others. The sum is `total`, unless all are full.
    """
    shares = np.zeros(len(weights))
    free = weights > 0
    left = float(total)
    # Each pass fills at least one share, so there are at most as many passes as shares.
    while free.any():
        shares[free] = left * weights[free] / weights[free].sum()
        over = free & (shares > room)
        if not over.any():
            break
        shares[over] = room[over]
        free &= ~over
        left = total - shares[~free].sum()
    return shares


def rounded(rng: np.random.Generator, amounts: np.ndarray) -> np.ndarray:
    """Return ints with given means and their sum, each amount rounded up or down at random.

    By systematic sampling: one uniform number shifts the cumulative sums of all
    amounts.
    """
    # the sum of the amounts is an int up to rounding, and must stay so
    edges = np.floor(np.cumsum(amounts) + rng.random() * (1 - 1e-9) + 1e-9)
    return np.diff(edges, prepend=0.0).astype(int)


def entry_probabilities(
    present: NDArray[np.bool_],
    absent: NDArray[np.bool_],
    levels: NDArray[np.intp],
) -> NDArray[np.float64]:
    """Return the probability that each player enters between two sets of players.

    Of a player's siblings at a level, a precede it and b follow it, with probability
    a! b! / (a + b + 1)!, where a siblings have present members and b absent ones. No
    order is possible if a sibling has both. The product over the levels is the
    probability (Winter 1989, Eq 3).

    Parameters
    ----------
    present, absent : ndarray of shape (m, p), bool
        The players before and after; the player itself may be in either.
    levels : ndarray of shape (n_levels, p), int
        The group of each player at each level, the outermost first.

    Returns
    -------
    probabilities : ndarray of shape (m, p)
    """
    p = present.shape[1]
    probabilities = np.ones(present.shape)
    for outer, inner in pairwise([np.zeros(p, dtype=np.intp), *levels, np.arange(p)]):
        _, first, unit = np.unique(inner, return_index=True, return_inverse=True)
        members = np.equal.outer(unit, np.arange(len(first))).astype(float)
        has_present = present @ members > 0
        has_absent = absent @ members > 0
        siblings = np.equal.outer(outer[first], outer[first]).astype(float)
        np.fill_diagonal(siblings, 0.0)
        before = has_present @ siblings
        after = has_absent @ siblings
        divided = (has_present & has_absent) @ siblings
        of_units = np.where(divided == 0, beta(before + 1, after + 1), 0.0)
        probabilities *= of_units[:, unit]
    return probabilities


def count_nested(levels: NDArray[np.intp]) -> int:
    """Return the number of coalitions that some order passes, from empty to full.

    At most one of the units of a group is divided: c units, of which unit i can be
    divided in n_i ways, are divided in 2^c - 2 + 2^(c-1) (n_1 + ... + n_c) ways.

    Parameters
    ----------
    levels : ndarray of shape (n_levels, p), int
    """
    players = np.arange(levels.shape[1])
    ways = np.zeros(len(players))  # divisions of the unit of each player
    for outer, inner in reversed(
        list(pairwise([np.zeros_like(players), *levels, players]))
    ):
        first = np.unique(inner, return_index=True)[1]
        # Counts of more units are beyond any budget, and may overflow.
        n_units = np.minimum(np.bincount(outer[first]), MOST_UNITS)
        n_divided = np.bincount(outer[first], ways[first])
        of_groups = 2.0**n_units - 2 + 2.0 ** (n_units - 1) * n_divided
        ways = of_groups[outer]
    return int(ways[0]) + 2


def nested_coalitions(levels: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return the coalitions that some order passes, ``(m, p)``; see `count_nested`.

    In each, one innermost group is divided: its members are units, and so are the
    undivided groups beside it and beside each group above it.

    Parameters
    ----------
    levels : ndarray of shape (n_levels, p), int
    """
    players = np.arange(levels.shape[1])
    groups = np.vstack([np.zeros_like(players), *levels, players])
    coalitions = []
    for divided in np.unique(groups[-2], return_index=True)[1]:
        # the outermost level at which a player is in another group
        level = (groups != groups[:, [divided]]).argmax(axis=0)
        level[divided] = len(groups) - 1
        unit = np.unique(
            np.stack([level, groups[level, players]]),
            axis=1,
            return_inverse=True,
        )[1].ravel()
        coalitions.append(all_coalitions(int(unit.max()) + 1)[:, unit])
    return np.unique(np.concatenate(coalitions), axis=0)
