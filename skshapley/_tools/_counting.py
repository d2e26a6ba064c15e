"""Binomials, sets of a size, and unbiased rounding of shares."""

import numpy as np
from scipy.special import gammaln


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
    shares, free, left = np.zeros(len(weights)), weights > 0, float(total)
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
