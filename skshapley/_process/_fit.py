"""Hyper-parameters of both kernels by maximum a posteriori."""

from dataclasses import replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from skshapley._process._even import EvenEvidence, EvenKernel, products
from skshapley._process._odd import OddEvidence
from skshapley._process._pairs import Pairs

# (points, iterations) for the odd part: from the prior's means, from an earlier fit, with blocks.
# Many more points, (600, 25), take four times as long, for the same errors. Fewer iterations, (150,
# 8) and (200, 3), take .55 of the time; intervals of nominal 95 % then hold 70 % of the values of a
# random game of ten players at 20 to 30 evaluations a player, and 88 % with these
COLD, WARM, BLOCKED = (200, 25), (200, 12), (200, 20)
LEAST_BLOCKS = 4
EVEN = (300, 25)
# Squared errors relative to no round, on games outside the benchmark: .92 after one round and .90
# after two at 10 p evaluations, .95 and .94 at 20 p. On the benchmark's games after two rounds: .98
# and .93
ROUNDS = 2
STEPS = 5  # steps of expectation maximisation
# Most products in a step (points squared times pairs of players). Beyond it, a step takes too long,
# and the points separate the pairs without it
MOST_PRODUCTS = 10**8


def fit_odd(pairs: Pairs, start: np.ndarray | None = None) -> np.ndarray:
    """Return the odd kernel's vector, ``(p + 3,)`` or ``(p + 5,)``, fitted to some of the points.

    Parameters
    ----------
    pairs : Pairs
    start : ndarray or None
        The vector of an earlier fit.
    """
    most, iterations = BLOCKED if pairs.block is not None else COLD if start is None else WARM
    points = thinned(pairs, most)
    return OddEvidence(points).climbed(start, iterations)


def fit_even(points: Pairs, reach: np.ndarray) -> tuple[np.ndarray, EvenKernel]:
    """Return the fitted scalars with reaches alone, and the fitted even kernel.

    Variances of single pairs leave less for noise, size and higher interactions to explain. The
    scalars are therefore fitted again, and then the variances.

    Parameters
    ----------
    points : Pairs
        Relative to the full coalition; at least one output is not all zero.
    reach : ndarray of shape (p,)
    """
    some = thinned(points, EVEN[0])

    def scalars(start: np.ndarray | None, each: np.ndarray | None) -> np.ndarray:
        return EvenEvidence(some, reach, each).climbed(start, EVEN[1])

    first = theta = scalars(None, None)
    kernel = relevant(points, EvenKernel.from_vector(reach, theta))
    for _ in range(ROUNDS):
        if kernel.each is None:
            break
        theta = scalars(theta, kernel.each)
        kernel = relevant(points, EvenKernel.from_vector(reach, theta))
    return first, kernel


def relevant(points: Pairs, kernel: EvenKernel) -> EvenKernel:
    """Return the kernel with separate variances for all pairs of players.

    Reaches measure how much each player interacts, so two players with large reaches have a large
    prior interaction. Most such pairs do not interact. Five steps of expectation maximisation start
    from the shares of the reaches. Each variance becomes the mean of its initial value and the
    expected squared coefficient (Tipping 2001, with a prior as strong as one more coefficient).

    Parameters
    ----------
    points : Pairs
        Relative to the full coalition. With blocks nothing changes.
    kernel : EvenKernel
    """
    n, p = points.signs.shape
    if points.block is not None or n * n * (p * (p - 1) // 2) > MOST_PRODUCTS:
        return kernel
    features = products(points.signs)
    shared = kernel.lowest * kernel.pair_shares[np.triu_indices(p, 1)]
    rest = kernel.gram(points) - (features * shared) @ features.T
    each = shared
    for _ in range(STEPS):
        factor = cho_factor(rest + (features * each) @ features.T, lower=True, check_finite=False)
        solved = cho_solve(factor, points.values, check_finite=False)
        scale = np.maximum(np.einsum("nk,nk->k", points.values, solved) / n, np.finfo(float).tiny)
        mean = each[:, None] * (features.T @ solved)
        solved_features = cho_solve(factor, features, check_finite=False)
        variance = each - each**2 * np.einsum("nm,nm->m", features, solved_features)
        expected = (mean**2 / scale).mean(axis=1) + np.maximum(variance, 0.0)
        each = (shared + expected) / 2
    return replace(kernel, each=each / kernel.lowest)


def thinned(pairs: Pairs, most: int) -> Pairs:
    """Return about `most` points at most, evenly spread over the design, or whole blocks.

    They include a nonzero value if there is one.
    """
    if len(pairs) <= most:
        return pairs
    kept = np.arange(len(pairs))
    if pairs.block is not None:
        ends = np.cumsum(np.bincount(pairs.block))
        blocks = max(LEAST_BLOCKS, int(np.searchsorted(ends, most, side="right")))
        kept = np.flatnonzero(pairs.block < blocks)
    if pairs.block is None or len(kept) > 1.2 * most:  # few and large blocks: some points of each
        kept = kept[np.linspace(0, len(kept) - 1, most).round().astype(int)]
    if not pairs.values[kept].any():
        kept = np.append(kept, np.abs(pairs.values).max(axis=1).argmax())
    return pairs.take(kept)
