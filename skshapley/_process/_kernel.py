"""The covariance of one part of a game at two points of the cube, and the prior of its parameters.

prod_j (1 + rho_j s_j t_j) = sum_T prod_{j in T} rho_j s_j t_j. With rho = tanh(a) and C = prod_j
sqrt(1 - rho_j^2), its odd part is C sinh(sum_j a_j s_j t_j) and its even part C cosh(...): one
matrix product for all 2^(p-1) interactions. The terms of the lowest order (single players or pairs)
have a variance of their own. So does the part that depends on the size alone.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.linalg import lapack
from scipy.optimize import minimize

from skshapley._process._pairs import Pairs

# Variance added to the diagonal, relative to that of the lowest order. With it, the factorisation
# of nearly equal points succeeds. 1e-5 acts as noise: the squared error is 1.7 times as large.
# 1e-12 leaves .85 of it.
JITTER = 1e-8
PANEL = 128  # rows of a matrix in one step, to save memory; 16 to 1,024 are as fast
# Bounds of the reaches; the least one is SHORTEST/p. From .1/p on, inactive players keep
# interactions: the squared error is 1.5 times as large. With reaches up to .6 it is 1.06 times as
# large, and up to 2.5 it is .98 times as large.
SHORTEST, LONGEST = 0.01, 1.2


class Prior(NamedTuple):
    """Normal prior, bounds and start of the logarithm of a hyper-parameter."""

    mean: float
    variance: float
    low: float
    high: float


# Wide priors, except for the size: with few points, a part that depends on the size alone would
# absorb other parts, so its prior is low and narrower.
LOWEST = Prior(np.log(100.0), 16.0, np.log(0.1), np.log(1e5))
NOISE = Prior(-3.0, 16.0, np.log(1e-6), np.log(30.0))
SIZE = Prior(-6.0, 4.0, np.log(1e-6), np.log(1e4))
SPREADS = Prior(-1.0, 4.0, -20.0, 4.0), Prior(0.0, 4.0, -20.0, 4.0)


@dataclass(frozen=True, eq=False)
class Kernel(ABC):
    """Hyper-parameters and covariances of one part of a game.

    The variance of the interactions above the lowest order is 1.

    Attributes
    ----------
    reach : ndarray of shape (p,)
        a_j, the strength of player j in interactions. Coefficients have variance
        prod_{j in T} tanh(a_j), and prod_{j in T} a_j at the lowest order.
    lowest : float
        Variance of the part of the lowest order.
    noise : float
        Variance of the noise beyond any smooth game, at the middle size.
    size : float
        Variance of the part that depends on the number of players alone.
    lowest_spread, higher_spread : float
        Variances of a block's own parts, relative to the common ones.
    """

    reach: np.ndarray
    lowest: float
    noise: float
    size: float

    lowest_spread = higher_spread = 0.0
    scalars: ClassVar[tuple[Prior, ...]]  # priors after the reaches, without blocks

    @classmethod
    def priors(cls, blocked: bool) -> np.ndarray:
        """Return means, variances and bounds of the scalars' logarithms, ``(4, h)``."""
        return np.array([*cls.scalars, *(SPREADS if blocked else ())]).T

    @cached_property
    def rho(self) -> np.ndarray:
        """tanh(reach), ``(p,)``."""
        return np.tanh(self.reach)

    @cached_property
    def share(self) -> np.ndarray:
        """The reaches, with sum 1, ``(p,)``: a player's share in the lowest order's variance."""
        return self.reach / self.reach.sum()

    @cached_property
    def log_norm(self) -> float:
        """Log C, C = prod sqrt(1 - rho_j^2)."""
        return float(-np.log(np.cosh(self.reach)).sum())

    @property
    def n_fitted(self) -> int:
        """Number of fitted variances, without the few that all players share."""
        return len(self.reach)

    @property
    @abstractmethod
    def higher_scale(self) -> float:
        """The normalizer: the summed variances of all interactions above the lowest order."""

    @property
    def scales(self) -> list[float]:
        """The variances of all parts, in the order of `parts`, then of a block's own parts."""
        own = self.lowest * self.lowest_spread, self.higher_spread
        return [self.lowest, 1.0, self.size, *own]

    @abstractmethod
    def parts(self, a: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
        """Return covariances of parts at variance 1, ``(n_a, n_b)``: lowest and higher orders, ...

        The parts beside interactions follow.
        """

    def cross(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the covariance between noiseless games at two lists of signs, without blocks."""
        return weighted_sum(self.scales, self.parts(a, b))

    def noise_at(self, points: Pairs) -> np.ndarray:
        """Return the noise variance of points, jitter included, ``(n,)``."""
        return self.noise * points.roughness + JITTER * (1 + self.lowest)

    def gram(self, points: Pairs) -> np.ndarray:
        """Return the covariance matrix of observed values, with noise and jitter, ``(n, n)``."""
        signs, n = points.signs, len(points)
        out = np.empty((n, n))
        for start in range(0, n, PANEL):
            panel = slice(start, start + PANEL)
            out[panel] = self.cross(signs[panel], signs)
        if points.block is not None:
            *_, lowest, higher = self.scales
            for at in points.by_block():
                parts = self.parts(signs[at], signs[at])
                out[np.ix_(at, at)] += lowest * parts[0] + higher * parts[1]
        out[np.diag_indices_from(out)] += self.noise_at(points)
        return out

    def folded(self, a: np.ndarray, b: np.ndarray, level: float, sign: int) -> np.ndarray:
        """Return e^(level + g) + sign e^(level - g), g = sum_j a_j s_j t_j, ``(n_a, n_b)``.

        Parameters
        ----------
        a, b : ndarray of signs
        level : float
        sign : {-1, 1}
            -1 for the odd part, 1 for the even part.
        """
        # one product, then everything in place: allocating these large matrices is slow
        out = (a * self.reach) @ b.T
        out += level
        np.exp(out, out=out)
        out += sign * np.exp(2 * level) / out
        return out

    def with_own(self, lowest: Any, higher: Any, own: Any) -> tuple[Any, Any]:
        """Return quantities of both orders plus blocks' own parts, at `own` times these."""
        return lowest * (1 + self.lowest_spread * own), higher * (1 + self.higher_spread * own)

    @property
    def key(self) -> tuple:
        """The hyper-parameters as a hashable key."""
        parameters = (getattr(self, field.name) for field in fields(self))
        return tuple(x.tobytes() if isinstance(x, np.ndarray) else x for x in parameters)


def weighted_sum(scales: list[float], parts: list[np.ndarray]) -> np.ndarray:
    """Return the sum of the parts times their scales."""
    out = scales[0] * parts[0]
    for scale, part in zip(scales[1:], parts[1:], strict=False):
        out += scale * part
    return out


class Evidence(ABC):
    """Minus the log posterior density of the logarithms of the hyper-parameters.

    The scale of each output is profiled out. The mean over outputs counts as one observation of the
    hyper-parameters, since outputs of one model are far from independent.

    Parameters
    ----------
    points : Pairs
        Outputs with zeros at all points do not count.
    priors : ndarray of shape (4, h)
        Means, variances and bounds.
    """

    def __init__(self, points: Pairs, priors: np.ndarray) -> None:
        largest = np.abs(points.values).max(axis=0)
        self.points, self._values = points, points.values[:, largest > 0] / largest[largest > 0]
        self._mean, self._variance, self.bounds = priors[0], priors[1], priors[2:].T
        self.start = self._mean.copy()

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return value and gradient at the vector `theta`."""
        covariance = self.covariance(theta)
        factor, failed = lapack.dpotrf(covariance, lower=1, clean=1, overwrite_a=1)
        if failed:
            return 1e10, np.zeros_like(theta)
        n, k = self._values.shape
        solved, _ = lapack.dpotrs(factor, self._values, lower=1)
        fit = np.einsum("nk,nk->k", self._values, solved) + 1e-300
        value, gradient = self.prior(theta)
        value += 0.5 * n * np.log(fit).mean() + np.log(np.diag(factor)).sum()
        inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
        inverse = inverse + np.tril(inverse, -1).T
        pull = (solved * (n / k / fit)) @ solved.T - inverse
        return float(value), gradient - 0.5 * self.contract(pull)

    def climbed(self, start: np.ndarray | None, iterations: int) -> np.ndarray:
        """Return the vector after some iterations of L-BFGS, from `start` or the prior's."""
        start = self.start if start is None else start
        how = {"maxiter": iterations, "maxcor": 20}
        return minimize(self, start, jac=True, method="L-BFGS-B", bounds=self.bounds, options=how).x

    @abstractmethod
    def kernel(self, theta: np.ndarray) -> Kernel:
        """Return the kernel of a vector."""

    def prior(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return minus the log density of the prior, without its constant, and its gradient."""
        off = theta - self._mean
        return 0.5 * float(off @ (off / self._variance)), off / self._variance

    def covariance(self, theta: np.ndarray) -> np.ndarray:
        """Return the covariance matrix; keep its parts for `contract`."""
        self._kernel = kernel = self.kernel(theta)
        parts, same = kernel.parts(self.points.signs, self.points.signs), self.points.same_block
        self._parts = parts if same is None else [*parts, parts[0] * same, parts[1] * same]
        out = weighted_sum(kernel.scales, self._parts)
        out[np.diag_indices_from(out)] += kernel.noise_at(self.points)
        return out

    def contract(self, pull: np.ndarray) -> np.ndarray:
        """Return sum_ij pull_ij d K_ij/d theta, for every entry of the last theta."""
        kernel, diagonal = self._kernel, np.diag(pull)
        pairs = zip(kernel.scales, self._parts, strict=False)
        lowest, _, *rest = (scale * np.vdot(pull, part) for scale, part in pairs)
        lowest += JITTER * kernel.lowest * diagonal.sum()
        if self.points.block is not None:
            lowest += rest[-2]
        return np.array([lowest, kernel.noise * (diagonal @ self.points.roughness), *rest])
