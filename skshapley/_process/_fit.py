"""Hyper-parameters of both kernels by maximum a posteriori."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lapack
from scipy.optimize import minimize

from skshapley._process._kernel import (
    EvenKernel,
    OddKernel,
    PartKernel,
    Prior,
    products,
    weighted_sum,
)
from skshapley._process._pairs import Pairs, spread_places

# (points, iterations) for the odd part: without and with blocks. Many more points, (600,
# 25), take four times as long, for the same errors. Fewer iterations, (150, 8), take .55
# of the time; intervals of nominal 95 % then hold 70 % of the values of a random game of
# ten players at 20 to 30 evaluations a player, and 88 % with 25 iterations. With blocks,
# 20 iterations have equal squared errors and intervals on six kinds of games
COLD = 200, 15
BLOCKED = 200, 12
LEAST_BLOCKS = 4
EVEN = (300, 25)
# Squared errors relative to no round, on games outside the benchmark: .92 after one
# round and .90 after two at 10 p evaluations, .95 and .94 at 20 p. On the benchmark's
# games after two rounds: .98 and .93
ROUNDS = 2
STEPS = 5  # steps of expectation maximisation
# Most products in a step (points squared times pairs of players). Beyond it, a step
# takes too long, and the points separate the pairs without it
MOST_PRODUCTS = 10**8


class Evidence:
    """Minus the log posterior density of a kernel's vector, without its constant.

    The scale of each output is profiled out. The mean over outputs counts as one
    observation of the hyper-parameters, since outputs of one model are far from
    independent.

    Parameters
    ----------
    points : Pairs
        Outputs with zeros at all points do not count.
    kernel : callable
        Returns the kernel of a vector.
    prior : Prior
    """

    def __init__(
        self,
        points: Pairs,
        kernel: Callable[[np.ndarray], PartKernel],
        prior: Prior,
    ) -> None:
        largest = np.abs(points.values).max(axis=0)
        self._values = points.values[:, largest > 0] / largest[largest > 0]
        self.points = points
        self.prior = prior
        self._kernel = kernel
        self._beside = kernel(prior.start).beside(points.signs, points.signs)

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return value and gradient at the vector `theta`."""
        points = self.points
        kernel = self._kernel(theta)
        parts = [*kernel.interactions(points.signs, points.signs), *self._beside]
        if points.same_block is not None:
            parts += [part * points.same_block for part in parts[:2]]
        covariance = weighted_sum(kernel.scales, parts)
        covariance[np.diag_indices_from(covariance)] += kernel.noise_at(points)
        factor, failed = lapack.dpotrf(covariance, lower=1, clean=1, overwrite_a=1)
        if failed:
            return 1e10, np.zeros_like(theta)
        n, k = self._values.shape
        solved, _ = lapack.dpotrs(factor, self._values, lower=1)
        fit = np.einsum("nk,nk->k", self._values, solved) + 1e-300
        off = theta - self.prior.mean
        prior_gradient = self.prior.precision @ off
        value = 0.5 * (off @ prior_gradient + n * np.log(fit).mean())
        value += np.log(np.diag(factor)).sum()
        inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
        # the lower triangle, doubled: its products with symmetric matrices are those of
        # the whole
        pull = (solved * (n / k / fit)) @ solved.T - 2 * inverse
        pull[np.diag_indices(n)] += np.diag(inverse)
        return float(value), prior_gradient - 0.5 * kernel.slopes(pull, parts, points)

    def climbed(self, start: np.ndarray | None, iterations: int) -> np.ndarray:
        """Return the vector after some iterations of L-BFGS, from `start` or the prior's."""
        return minimize(
            self,
            self.prior.start if start is None else start,
            jac=True,
            method="L-BFGS-B",
            bounds=self.prior.bounds,
            options={"maxiter": iterations, "maxcor": 20},
        ).x


def odd_evidence(points: Pairs) -> Evidence:
    """Return the density of the odd kernel's vector."""
    p = points.n_players
    return Evidence(
        points,
        lambda theta: OddKernel.from_vector(theta, p),
        OddKernel.prior(p, points.block is not None),
    )


def even_evidence(
    points: Pairs,
    reach: np.ndarray,
    pair_variances: np.ndarray | None = None,
) -> Evidence:
    """Return the density of the even kernel's vector, given reaches and variances of pairs."""
    return Evidence(
        points,
        lambda theta: EvenKernel.from_vector(reach, theta, pair_variances),
        EvenKernel.prior(points.block is not None),
    )


def fit_odd(pairs: Pairs) -> np.ndarray:
    """Return the odd kernel's vector, ``(p + 3,)`` or ``(p + 5,)``, fitted to some of the points.

    Parameters
    ----------
    pairs : Pairs
    """
    most, iterations = COLD if pairs.block is None else BLOCKED
    return odd_evidence(thinned(pairs, most)).climbed(None, iterations)


def fit_even(points: Pairs, reach: np.ndarray) -> EvenKernel:
    """Return the fitted even kernel.

    Variances of single pairs leave less for noise, size and higher interactions to
    explain. The scalars are therefore fitted again, and then the variances.

    Parameters
    ----------
    points : Pairs
        Relative to the full coalition; at least one output is not all zero.
    reach : ndarray of shape (p,)
    """
    thin = thinned(points, EVEN[0])
    theta = even_evidence(thin, reach).climbed(None, EVEN[1])
    kernel = relevant(points, EvenKernel.from_vector(reach, theta))
    for _ in range(ROUNDS if kernel.pair_variances is not None else 0):
        theta = even_evidence(thin, reach, kernel.pair_variances).climbed(
            theta,
            EVEN[1],
        )
        kernel = relevant(points, EvenKernel.from_vector(reach, theta))
    return kernel


def relevant(points: Pairs, kernel: EvenKernel) -> EvenKernel:
    """Return the kernel with separate variances for all pairs of players.

    Reaches measure how much each player interacts, so two players with large reaches
    have a large prior interaction. Most such pairs do not interact. Five steps of
    expectation maximisation start from the shares of the reaches. Each variance becomes
    the mean of its initial value and the expected squared coefficient (Tipping 2001,
    with a prior as strong as one more coefficient).

    Parameters
    ----------
    points : Pairs
        Relative to the full coalition. With blocks nothing changes.
    kernel : EvenKernel
    """
    n, p = points.signs.shape
    if points.block is not None or n * n * (p * (p - 1) // 2) > MOST_PRODUCTS:
        return kernel
    features = products(points.signs) - 1
    shared = kernel.lowest * kernel.shares[np.triu_indices(p, 1)]
    other_parts = kernel.gram(points) - (features * shared) @ features.T
    variances = shared
    for _ in range(STEPS):
        factor = cho_factor(
            other_parts + (features * variances) @ features.T,
            lower=True,
            check_finite=False,
        )
        solved = cho_solve(factor, points.values, check_finite=False)
        scale = np.maximum(
            np.einsum("nk,nk->k", points.values, solved) / n,
            np.finfo(float).tiny,
        )
        mean = variances[:, None] * (features.T @ solved)
        variance = variances - variances**2 * np.einsum(
            "nm,nm->m",
            features,
            cho_solve(factor, features, check_finite=False),
        )
        expected = (mean**2 / scale).mean(axis=1) + np.maximum(variance, 0.0)
        variances = (shared + expected) / 2
    return replace(kernel, pair_variances=variances / kernel.lowest)


def thinned(pairs: Pairs, most: int) -> Pairs:
    """Return about `most` points at most, or whole blocks.

    Without blocks, half of them are the first ones, which have the outer sizes. The
    others are evenly spread over the design. They include a nonzero value if there is
    one.
    """
    if len(pairs) <= most:
        return pairs
    places = np.arange(len(pairs))
    if pairs.block is not None:
        ends = np.cumsum(np.bincount(pairs.block))
        blocks = max(LEAST_BLOCKS, int(np.searchsorted(ends, most, side="right")))
        places = np.flatnonzero(pairs.block < blocks)
    # few and large blocks: some points of each
    if pairs.block is None or len(places) > 1.2 * most:
        places = places[
            spread_places(len(places), most, most // 2 if pairs.block is None else 0)
        ]
    if not pairs.values[places].any():
        places = np.append(places, np.abs(pairs.values).max(axis=1).argmax())
    return pairs.take(places)
