"""Pairs of complements for the odd samplers: sets of pairs, and blocks of background rows."""

from functools import lru_cache
from math import ceil

import numpy as np
from scipy.linalg import hadamard

from skshapley._process._functionals import OddValues
from skshapley._process._kernel import PartKernel
from skshapley._process._pairs import Blocks, Pairs
from skshapley._process._process import (
    DESIGN_RATE,
    DESIGN_SUM,
    Process,
    RankedKernel,
    choose_pairs,
)
from skshapley._tools import Stream, generator, rounded, shared_out
from skshapley.samplers._coalitions import (
    distinct_by_size,
    first_of_each,
    pairs_by_size,
)

# Pairs per player of a block; with fewer, blocks share the pairs of whole designs.
LEAST_OF_BLOCK = 1.3
# Up to this number, pairs are chosen one by one: .2 s for 60 players. Pairs by leverage
# score alone have 2 to 4 times the squared error at 4 to 10 evaluations a player.
MOST_CHOSEN = 300
LEAST_STEP = 64  # pairs chosen with the same candidates
# From this number of pairs per player on, all chosen pairs have sizes by leverage score;
# with fewer pairs, proportionally less. A Gaussian process prefers middle sizes. If a
# game varies more at other sizes, only pairs of these sizes can show it. At 5
# evaluations a player of ten players, intervals hold .96 of the values of noisy steps
# with two such pairs, and .75 with one. The squared error of perceptrons is 1.1, 1.1,
# .9 and 1.1 times as large at 4, 6, 10 and 20.
BY_SIZE_FROM = 20
# Up to this number of players, each block of background rows has chosen pairs. With 10
# and 20 players, they have .5 to .8 times the squared error of Hadamard rows. With 30
# players, they have 1.3 to 5 times the squared error.
MOST_CHOOSING = 20
# Candidates for a choice of pairs: in total, and for each pair.
POOL = 600
EACH = 3


def n_all_pairs(p: int) -> int:
    """Return the number of pairs, without the empty and the full coalition."""
    return 2 ** (p - 1) - 1


def first_pairs(rng: np.random.Generator, p: int, n: int) -> np.ndarray:
    """Return the first n different pairs, by one coalition of each: ``(n, p)`` bool.

    They are chosen one by one, or by leverage score if they are a large share of all.
    Fewer pairs than players are those along a permutation.
    """
    # With half of all pairs, sizes by leverage score leave the fewest gaps. A stopping
    # rule looks at the beginning, which is a small sample with its share of every size.
    if n >= n_all_pairs(p) / 2:
        samples = [leverage_pairs(rng, p, max(1, n >> k))[0] for k in range(5, -1, -1)]
        return completed_pairs(
            rng,
            np.concatenate([np.eye(p, dtype=bool)[rng.permutation(p)], *samples]),
            n,
        )
    order = rng.permutation(p)
    if n < p:
        # Single players would miss one, and have 4.4 times the squared error of a
        # permutation with its reverse on ten models, and 3.6 times on nine structured
        # games. With p pairs, it is .6 and .15 times.
        return order < np.arange(1, n + 1)[:, None]
    return chosen_pairs(p, n)[:, order]


@lru_cache(maxsize=64)
def chosen_pairs(p: int, n: int) -> np.ndarray:
    """Return n pairs, ``(n, p)`` bool: single players, then pairs chosen one by one.

    They depend on p and n alone, so all rows and games share them.
    """
    rng = generator(p, Stream.DESIGN)
    kernel = RankedKernel.by_rank(p, DESIGN_RATE, DESIGN_SUM)
    share = min(1.0, n / (BY_SIZE_FROM * p))
    pairs = np.eye(p, dtype=bool)[:n]
    while len(pairs) < min(n, MOST_CHOSEN):
        step = min(n - len(pairs), max(LEAST_STEP, len(pairs)))
        pairs = np.concatenate(
            [pairs, next_pairs(rng, kernel, pairs, step, ceil(share * step))]
        )
    return completed_pairs(rng, pairs, n)


def scattered_pairs(rng: np.random.Generator, p: int, n: int) -> np.ndarray:
    """Return single players, Hadamard rows, then pairs by leverage score."""
    singles = min(p, n // 2)
    n_rest = n - singles
    # Between one and two Hadamard rows per player: more would repeat the middle sizes.
    pairs = np.concatenate(
        [
            np.eye(p, dtype=bool)[rng.permutation(p)[:singles]],
            hadamard_pairs(rng, p, int(min(n_rest, max(n_rest / 2, p), 2 * p))),
        ]
    )
    return completed_pairs(rng, pairs, n)


def completed_pairs(
    rng: np.random.Generator,
    wanted: np.ndarray,
    n: int,
    seen: np.ndarray | None = None,
) -> np.ndarray:
    """Return n distinct pairs outside `seen`: those `wanted`, then others by leverage score."""
    previous = wanted[:0] if seen is None else seen
    p = previous.shape[1]
    n_seen = len(previous)
    n_total = n_seen + n
    distinct = _different(np.concatenate([previous, wanted]))
    everything = n_all_pairs(p)
    while len(distinct) < n_total:
        # two more than needed, because some repeat known pairs
        # If many pairs are taken, all are enumerated.
        sparse = 2 * n_total <= everything
        missing = n_total - len(distinct) + 2 if sparse else everything
        distinct = _different(
            np.concatenate(
                [distinct, leverage_pairs(rng, p, min(missing, everything))[0]]
            )
        )
    return distinct[n_seen:n_total]


def next_pairs(
    rng: np.random.Generator,
    kernel: PartKernel,
    pairs: np.ndarray,
    n: int,
    n_by_size: int,
) -> np.ndarray:
    """Return n further pairs, which reduce the variance of the Shapley values most.

    Parameters
    ----------
    rng : numpy.random.Generator
    kernel : PartKernel
        Of the odd part.
    pairs : ndarray of shape (m, p), bool
        The pairs so far, without the full coalition.
    n : int
    n_by_size : int
        The number of new pairs of the sizes that `pairs` lack by leverage score.
    """
    p = pairs.shape[1]
    evaluated = np.pad(pairs, ((1, 0), (0, 0)), constant_values=True)
    process = Process(
        Pairs(np.where(evaluated, 1.0, -1.0), np.empty((len(evaluated), 0))),
        kernel,
        OddValues(),
    )
    # Hadamard rows have middle sizes, and leverage scores all sizes.
    half = max(POOL, EACH * n) // 2
    by_leverage, _ = leverage_pairs(rng, p, half)
    pool = completed_pairs(
        rng,
        np.concatenate([by_leverage, hadamard_pairs(rng, p, half)]),
        min(2 * half, n_all_pairs(p) - len(pairs)),
        seen=pairs,
    )
    # They fill the sizes that lack pairs by leverage score; the size of a pair is the
    # smaller one of its coalitions.
    size = pairs.sum(axis=1)
    counts = np.bincount(np.minimum(size, p - size), minlength=p // 2 + 1)
    missing = np.maximum(_by_leverage(p, len(pairs) + n) - counts, 0.0)
    sizes = rounded(rng, n_by_size * missing / missing.sum())
    return completed_pairs(
        rng,
        pool[choose_pairs(process, np.where(pool, 1.0, -1.0), n, sizes)],
        n,
        seen=pairs,
    )


def hadamard_pairs(rng: np.random.Generator, p: int, n: int) -> np.ndarray:
    """Return n rows of Hadamard matrices with random columns and random signs."""
    # the smallest power of two that is at least p
    # Sylvester's construction needs a power of two.
    order = 1 << max(1, (p - 1).bit_length())
    matrix = hadamard(order) > 0
    parts = [np.empty((0, p), dtype=bool)]
    for start in range(0, n, order):
        # random columns and signs keep rows orthogonal, or nearly if p is no power of
        # two
        signed = matrix[:, rng.permutation(order)[:p]] ^ (rng.random(p) < 0.5)
        parts.append(signed[rng.permutation(order)[: n - start]])
    return np.concatenate(parts)


def leverage_pairs(
    rng: np.random.Generator,
    p: int,
    n: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return n different pairs of uniform size, ``(n, p)``, and the expected number of each size.

    The distribution of sizes is that of leverage scores (Musco & Witter 2025, section
    3). A size with fewer pairs than its share is enumerated.
    """
    n = min(n, n_all_pairs(p))
    expected = _by_leverage(p, n)
    counts = rounded(rng, expected)
    # in random order, because callers take the beginning
    pairs = distinct_by_size(rng, counts, p)[rng.permutation(counts.sum())]
    size = pairs.sum(axis=1)
    return pairs, expected[np.minimum(size, p - size)]


def _by_leverage(p: int, n: int) -> np.ndarray:
    """Return the expected number of pairs of each size among n pairs, ``(p // 2 + 1,)``."""
    law = np.zeros(p + 1)
    law[1:p] = 1.0
    # A pair is counted at both of its sizes, except halves, which have one size.
    expected = 2 * pairs_by_size(law, n)[: p // 2 + 1]
    if p % 2 == 0:
        expected[-1] /= 2
    return expected


def _different(coalitions: np.ndarray) -> np.ndarray:
    """Return the first coalition of each pair, without the empty and the full coalition."""
    # exclusive or with the first player maps a coalition and its complement to the same
    # bits
    distinct = coalitions[first_of_each(coalitions ^ coalitions[:, :1])]
    size = distinct.sum(axis=1)
    return distinct[(size > 0) & (size < coalitions.shape[1])]


MOST_BLOCK_PAIRS = 1500  # pairs of all blocks together
# Up to this number of blocks, more pairs pay. With 100 rows of 20 columns and 70
# evaluations per player, four blocks have .7 times the squared error of two, and .6
# times that of all rows
FEW_BLOCKS = 10
MOST_IN_FEW = 3000
# Share of all pairs from which on pairs against all rows are more informative than
# blocks.
ENOUGH = 1 / 3
# From this number of rows on, blocks need fewer pairs than one permutation on each row.
LEAST_ROWS = 8
# Smallest number of rows for which blocks gain, counted as 1/sum of squared weights: in
# total, and per pair per player. At 4 evaluations per player, blocks have .9 and .5
# times the squared error of all rows with 16 and 24 rows. At 10 evaluations it is 1.3,
# 1.5 and .7 times with 16, 24 and 40 rows, at 25 nine times with 40.
LEAST_EFFECTIVE = 16
EFFECTIVE_PER_PAIR = 5
# With more rows, fewer per pair are sufficient: with 100 rows of 18 columns, the two
# errors cross at 70 evaluations per player. Below that, blocks have the smaller error.
MANY_EFFECTIVE = 25
MORE_PER_PAIR = 2
# Largest unseen share of the variance of single rows' games, with blocks of unequal
# rows. With .0001, .003 and .015 and 10 evaluations per player, blocks have .7, 1.5 and
# 6 times the error of all rows.
MOST_LOST = 0.001


def n_blocks(weights: np.ndarray, p: int, n: int) -> int:
    """Return the number of blocks; 1 if pairs against all rows are more informative.

    Parameters
    ----------
    weights : ndarray of shape (b,)
        Weights of the background rows, with sum 1.
    p : int
        Number of players.
    n : int
        Number of pairs per row that the budget buys.
    """
    b = len(weights)
    # n + 1 pairs per block, because each has the full coalition
    most = min(
        b,
        max(min(FEW_BLOCKS, MOST_IN_FEW // (n + 1)), MOST_BLOCK_PAIRS // (n + 1)),
    )
    if most <= 1 or n >= ENOUGH * n_all_pairs(p):
        return 1
    # few rows may be left over, and none if the number of blocks divides b
    counts = np.arange(most, max(1, most // 2), -1)
    count = int(counts[np.argmin(b % counts)])
    if n < p - 1 and b >= LEAST_ROWS:
        return count  # a permutation against all rows would not be complete
    pairs_per_player = n / p
    least = min(
        EFFECTIVE_PER_PAIR * pairs_per_player,
        MANY_EFFECTIVE + MORE_PER_PAIR * pairs_per_player,
    )
    # 1 / sum of squared weights is the effective number of rows (Kish).
    if weights @ weights * max(LEAST_EFFECTIVE, least) > 1 + 1e-9:
        return 1
    q = b // count
    # the rows left out have various weights
    places = np.arange(count * q) * b // (count * q)
    blocks = Blocks.of(np.argsort(weights)[places].reshape(count, q), weights)
    lost = blocks.whole - blocks.share @ blocks.share
    return count if lost <= MOST_LOST * blocks.whole else 1


def rows_of_blocks(
    rng: np.random.Generator,
    weights: np.ndarray,
    n: int,
    shuffled: bool = True,
) -> np.ndarray:
    """Assign background rows to n blocks of equal size, ``(n, q)`` int.

    Rows are assigned at random, unless they are in a random order already. Rows of a
    block have about the same weight. If n does not divide b, some are left out.
    """
    b = len(weights)
    n_used = n * (b // n)
    if not shuffled:
        return np.arange(n_used).reshape(n, -1)
    # shuffle first, so that the stable sort orders equal weights at random
    rows = rng.permutation(b)[:n_used]
    return rows[np.argsort(weights[rows], kind="stable")].reshape(n, -1)


def pairs_of_blocks(
    rng: np.random.Generator,
    share: np.ndarray,
    p: int,
    n: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Assign n pairs to blocks by their shares: ``(n, p)`` bool, and the block of each."""
    sizes = pairs_each(rng, share, n, n_all_pairs(p))
    block = np.repeat(np.arange(len(share)), sizes)
    if sizes.min() >= LEAST_OF_BLOCK * p:
        pairs_of = first_pairs if p <= MOST_CHOOSING else scattered_pairs
        return np.concatenate([pairs_of(rng, p, size) for size in sizes]), block
    # too few pairs per block for separate designs: assign pieces of whole designs; a
    # second piece of a block may repeat pairs of the first A design of two pairs per
    # player has each player, and rows of each middle size.
    whole = min(2 * p, n_all_pairs(p))
    sets = [scattered_pairs(rng, p, whole) for _ in range(-(-n // whole))]
    pieces = np.split(
        np.concatenate([pairs[rng.permutation(len(pairs))] for pairs in sets])[:n],
        np.cumsum(sizes)[:-1],
    )
    return np.concatenate(
        [completed_pairs(rng, piece, len(piece)) for piece in pieces]
    ), block


def pairs_each(
    rng: np.random.Generator,
    share: np.ndarray,
    n: int,
    most: int,
) -> np.ndarray:
    """Return the number of pairs of each block, ``(len(share),)``, by its weight, from 1 to `most`.

    Each block gets one, and the rest is divided by weight and rounded at random. The
    excess of the heaviest blocks goes to the others.
    """
    return 1 + rounded(
        rng,
        shared_out(n - len(share), share, np.full(len(share), most - 1.0)),
    )
