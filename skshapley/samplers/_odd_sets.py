"""Sets of pairs of complementary coalitions that tell much about the odd part of a game."""

import numpy as np
from scipy.linalg import hadamard

from skshapley._tools._counting import rounded
from skshapley.samplers._coalitions import distinct_of_size, pairs_by_size

WALKS_BELOW = 1.3  # pairs per player, below which a walk tells more than scattered pairs


def n_all_pairs(p: int) -> int:
    """Return the number of pairs, without the empty and the full coalition."""
    return 2 ** (p - 1) - 1


def first_pairs(rng: np.random.Generator, p: int, n: int) -> np.ndarray:
    """Return the first n pairs, one coalition of each: ``(n, p)`` bool, all different.

    A walk and rows of a Hadamard matrix where there are few; the single players, Hadamard rows and
    pairs by leverage score where there are more; by leverage score alone where they are many of
    all.
    """
    if n >= n_all_pairs(p) / 2:
        return leverage_pairs(rng, p, n)[0]
    if n < WALKS_BELOW * p:
        return filled(rng, [walk_pairs(rng, p), hadamard_pairs(rng, p, max(0, n - p + 1))], n)
    return scattered_pairs(rng, p, n)


def scattered_pairs(rng: np.random.Generator, p: int, n: int) -> np.ndarray:
    """Return single players, Hadamard rows, then pairs of two or more players by leverage score."""
    singles = min(p, n // 2)
    rest = n - singles
    rows = int(min(rest, max(rest / 2, p), 2 * p))
    parts = [np.eye(p, dtype=bool)[rng.permutation(p)[:singles]], hadamard_pairs(rng, p, rows)]
    if rest > rows:
        parts.append(leverage_pairs(rng, p, rest - rows, least_size=2)[0])
    return filled(rng, parts, n)


def filled(
    rng: np.random.Generator, parts: list[np.ndarray], n: int, seen: np.ndarray | None = None
) -> np.ndarray:
    """Return n distinct pairs outside `seen`: those in `parts`, then others by leverage score."""
    seen = np.empty((0, parts[0].shape[1]), dtype=bool) if seen is None else seen
    p, known = seen.shape[1], len(seen)
    found = _different(np.concatenate([seen, *parts]))
    everything = n_all_pairs(p)
    while len(found) < known + n:
        missing = known + n - len(found) + 2
        if 2 * (known + n) > everything:  # many are taken: look at every one
            missing = everything
        more = leverage_pairs(rng, p, min(missing, everything))[0]
        found = _different(np.concatenate([found, more]))
    return found[known : known + n]


def walk_pairs(rng: np.random.Generator, p: int) -> np.ndarray:
    """Return the coalitions on a walk along a random permutation: with complements, its reverse."""
    step = rng.permutation(p)
    return step < np.arange(1, p)[:, None]


def hadamard_pairs(rng: np.random.Generator, p: int, n: int) -> np.ndarray:
    """Return n rows of Hadamard matrices with random signs of columns, and random columns."""
    order = 1 << max(1, (p - 1).bit_length())
    matrix = hadamard(order) > 0
    parts = [np.empty((0, p), dtype=bool)]
    while n > 0:
        signed = matrix[:, rng.permutation(order)[:p]] ^ (rng.random(p) < 0.5)
        parts.append(signed[rng.permutation(order)[:n]])
        n -= order
    return np.concatenate(parts)


def leverage_pairs(
    rng: np.random.Generator, p: int, n: int, least_size: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Return n different pairs of uniform size, ``(n, p)``, and how many of it were expected.

    The size law is that of leverage scores (Musco & Witter 2025, section 3); a size whose pairs are
    fewer than its share is enumerated.
    """
    n = min(n, n_all_pairs(p))
    expected = _by_leverage(p, n, least_size)
    counts = rounded(rng, expected)
    parts = [distinct_of_size(rng, s, count, p) for s, count in enumerate(counts) if count]
    pairs = np.concatenate(parts)[rng.permutation(counts.sum())]
    size = pairs.sum(axis=1)
    return pairs, expected[np.minimum(size, p - size)]


def sizes_missing(rng: np.random.Generator, seen: np.ndarray, n: int, m: int) -> np.ndarray:
    """Return how many of m pairs are to have each size, ``(p // 2 + 1,)`` int, by leverage score.

    They go where those seen and n more are short of the law of leverage scores.
    """
    p, size = seen.shape[1], seen.sum(axis=1)
    there = np.bincount(np.minimum(size, p - size), minlength=p // 2 + 1)
    missing = np.maximum(_by_leverage(p, len(seen) + n) - there, 0.0)
    return rounded(rng, m * missing / missing.sum())


def _by_leverage(p: int, n: int, least_size: int = 1) -> np.ndarray:
    """Return how many of n pairs are expected of each size, ``(p // 2 + 1,)``."""
    law = np.zeros(p + 1)
    law[min(least_size, p // 2) : p + 1 - min(least_size, p // 2)] = 1.0
    expected = 2 * pairs_by_size(law, n)[: p // 2 + 1]
    if p % 2 == 0:
        expected[-1] /= 2
    return expected


def _different(coalitions: np.ndarray) -> np.ndarray:
    """Return the first of each pair met, without the empty and the full coalition."""
    p = coalitions.shape[1]
    packed = np.packbits(coalitions ^ coalitions[:, :1], axis=1)
    if packed.shape[1] <= 8:
        words = np.pad(packed, ((0, 0), (0, 8 - packed.shape[1]))).view(np.uint64)[:, 0]
        first = np.unique(words, return_index=True)[1]
    else:
        first = np.unique(packed, axis=0, return_index=True)[1]
    kept = coalitions[np.sort(first)]
    size = kept.sum(axis=1)
    return kept[(size > 0) & (size < p)]
