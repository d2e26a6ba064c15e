"""Blocks of background rows: whether to cut any, which rows each has, and which pairs."""

import numpy as np

from skshapley._process import Blocks
from skshapley._tools._counting import rounded
from skshapley.samplers._odd_sets import (
    WALKS_BELOW,
    filled,
    first_pairs,
    n_all_pairs,
    scattered_pairs,
)

MOST_BLOCK_PAIRS = 1500  # that all blocks share
FEW_BLOCKS, MOST_IN_FEW = 10, 2500  # up to so many blocks more pairs pay
ENOUGH = 1 / 3  # of all pairs: to see these against all rows tells more than others on blocks
LEAST_ROWS = 8  # from which blocks make do with fewer pairs than a walk on each row
# Rows from which blocks gain, counted as 1/sum of squared weights, at least and per pair a player.
# At 4 evaluations a player they have .9 and .5 times the squared error of all rows with 16 and 24
# rows, at 10 evaluations 1.3, 1.5 and .7 times with 16, 24 and 40, at 25 nine times with 40.
LEAST_EFFECTIVE, EFFECTIVE_PER_PAIR = 16, 5
# Of more rows fewer per pair will do: with 100 rows of 18 columns the two errors cross at 70
# evaluations a player, and to leave the blocks before that would raise the error.
MANY_EFFECTIVE, MORE_PER_PAIR = 25, 2
# Of the variance of the rows' own games, which blocks of unequal rows never see: with .0001, .003
# and .015 and 10 evaluations a player blocks have .7, 1.5 and 6 times the error of all rows.
MOST_LOST = 0.001


def n_blocks(weights: np.ndarray, p: int, n: int) -> int:
    """Return into how many blocks to cut the background; 1 where pairs against all rows tell more.

    Parameters
    ----------
    weights : ndarray of shape (b,)
        Of the background rows, with sum 1.
    p : int
        Number of players.
    n : int
        How many pairs on each row are paid for.
    """
    b = len(weights)
    few = min(FEW_BLOCKS, MOST_IN_FEW // (n + 1))
    most = min(b, max(few, MOST_BLOCK_PAIRS // (n + 1)))
    if most <= 1 or n >= ENOUGH * n_all_pairs(p):
        return 1
    # few rows may be left over, and none where the number of blocks divides b
    counts = np.arange(most, max(1, most // 2), -1)
    count = int(counts[np.argmin(b % counts)])
    if n < p - 1 and b >= LEAST_ROWS:
        return count  # a walk against all rows would not be complete
    return count if _pays(weights, count, n / p) else 1


def _pays(weights: np.ndarray, count: int, pairs_per_player: float) -> bool:
    """Return whether so many blocks tell more than pairs against all rows."""
    more = MANY_EFFECTIVE + MORE_PER_PAIR * pairs_per_player
    least = max(LEAST_EFFECTIVE, min(EFFECTIVE_PER_PAIR * pairs_per_player, more))
    if weights @ weights * least > 1 + 1e-9:
        return False
    b, q = len(weights), len(weights) // count
    kept = np.arange(count * q) * b // (count * q)  # those left out have weights of all kinds
    blocks = Blocks.of(np.argsort(weights)[kept].reshape(count, q), weights)
    return bool(blocks.whole - blocks.share @ blocks.share <= MOST_LOST * blocks.whole)


def dealt_rows(rng: np.random.Generator, weights: np.ndarray, n: int) -> np.ndarray:
    """Deal background rows at random into n blocks of equal size, ``(n, q)`` int.

    Rows of a block have about the same weight. Some are left out where n does not divide them.
    """
    b = len(weights)
    dealt = rng.permutation(b)[: n * (b // n)]
    return dealt[np.argsort(weights[dealt], kind="stable")].reshape(n, -1)


def dealt_pairs(
    rng: np.random.Generator, share: np.ndarray, p: int, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Deal n pairs out to blocks, by their shares: ``(n, p)`` bool, and the block of each."""
    sizes = pairs_each(rng, share, n, n_all_pairs(p))
    block = np.repeat(np.arange(len(share)), sizes)
    if sizes.min() >= WALKS_BELOW * p:
        return np.concatenate([first_pairs(rng, p, size) for size in sizes]), block
    # too few pairs a block for a design of its own: deal out pieces of whole ones, in which
    # a block's second piece may repeat pairs of its first
    whole = min(2 * p, n_all_pairs(p))
    sets = [scattered_pairs(rng, p, whole) for _ in range(-(-n // whole))]
    pool = np.concatenate([pairs[rng.permutation(len(pairs))] for pairs in sets])
    pieces = np.split(pool[:n], np.cumsum(sizes)[:-1])
    return np.concatenate([filled(rng, [piece], len(piece)) for piece in pieces]), block


def pairs_each(rng: np.random.Generator, share: np.ndarray, n: int, most: int) -> np.ndarray:
    """Return how many of n pairs each block gets, ``(len(share),)``: by its weight, 1 to `most`.

    One of each block and the rest by weight, rounded up or down at random. What the heaviest cannot
    take goes to the others.
    """
    room, full = most - 1, np.zeros(len(share), dtype=bool)
    expected = (n - len(share)) * share / share.sum()
    while (expected > room).any():
        full |= expected > room
        expected[full] = room
        rest = n - len(share) - room * full.sum()
        expected[~full] = rest * share[~full] / share[~full].sum()
    return 1 + rounded(rng, expected)
