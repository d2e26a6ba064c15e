"""The covariance of one part of a game at two points of the cube, and the prior of its parameters.

prod_j (1 + rho_j s_j t_j) = sum_T prod_{j in T} rho_j s_j t_j. With rho = tanh(a) and C
= prod_j sqrt(1 - rho_j^2), its odd part is C sinh(sum_j a_j s_j t_j) and its even part
C cosh(...): one matrix product for all 2^(p-1) interactions. The terms of the lowest
order (single players or pairs) have a variance of their own. So does the part that
depends on the size alone.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from skshapley._process._pairs import Pairs

# Variance added to the diagonal, relative to that of the lowest order. With it, the
# factorisation of nearly equal points succeeds. 1e-5 acts as noise: the squared error
# is 1.7 times as large. 1e-12 leaves .85 of it.
JITTER = 1e-8
PANEL = 128  # rows of a matrix in one step, to save memory; 16 to 1,024 are as fast


class Scalar(NamedTuple):
    """Normal prior and bounds of the logarithm of a hyper-parameter."""

    mean: float
    variance: float
    low: float
    high: float


# Wide priors, except for the size: with few points, a part that depends on the size
# alone would absorb other parts, so its prior is low and narrower.
LOWEST = Scalar(np.log(100.0), 16.0, np.log(0.1), np.log(1e5))
NOISE = Scalar(-3.0, 16.0, np.log(1e-6), np.log(30.0))
SIZE = Scalar(-6.0, 4.0, np.log(1e-6), np.log(1e4))
SPREADS = Scalar(-1.0, 4.0, -20.0, 4.0), Scalar(0.0, 4.0, -20.0, 4.0)


@dataclass(eq=False)
class Prior:
    """Normal prior of a vector of hyper-parameters, and the start and the bounds of its fit.

    Attributes
    ----------
    mean, start : ndarray of shape (h,)
    precision : ndarray of shape (h, h)
    bounds : ndarray of shape (h, 2)
    """

    mean: np.ndarray
    precision: np.ndarray
    start: np.ndarray
    bounds: np.ndarray

    @classmethod
    def of(cls, *scalars: Scalar) -> "Prior":
        """Return the prior of independent hyper-parameters, with a start at their means."""
        mean, variance, *bounds = np.array(scalars).T
        return cls(mean, np.diag(1 / variance), mean.copy(), np.transpose(bounds))


@dataclass(frozen=True, eq=False)
class PartKernel(ABC):
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
    sign : {-1, 1}
        -1 for the odd part, 1 for the even part.
    """

    reach: np.ndarray
    lowest: float
    noise: float
    size: float

    lowest_spread = higher_spread = 0.0
    sign: ClassVar[int]

    @cached_property
    def rho(self) -> np.ndarray:
        """tanh(reach), ``(p,)``."""
        return np.tanh(self.reach)

    @cached_property
    def share(self) -> np.ndarray:
        """The reaches, with sum 1, ``(p,)``."""
        return self.reach / self.reach.sum()

    @property
    @abstractmethod
    def shares(self) -> np.ndarray:
        """Variances of the coefficients of the lowest order, relative to `lowest`."""

    @cached_property
    def log_norm(self) -> float:
        """Log C, C = prod sqrt(1 - rho_j^2)."""
        return float(-np.log(np.cosh(self.reach)).sum())

    @property
    def n_fitted(self) -> int:
        """Number of fitted variances, without the few that all players share."""
        return len(self.reach)

    @abstractmethod
    def low(self, linear: Any) -> Any:
        """Return the terms up to the lowest order, given sum_j rho_j s_j t_j."""

    @cached_property
    def higher_scale(self) -> float:
        """The normalizer: the summed variances of all interactions above the lowest order."""
        total = self.reach.sum()
        reverse = self.sign * np.exp(self.log_norm - total)
        total_variance = np.exp(self.log_norm + total) + reverse
        return float(total_variance / 2 - self.low(self.rho.sum()))

    def higher(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the covariances above the lowest order, C sinh(...) or C cosh(...) less `low`."""
        # everything in place: allocating these large matrices is slow
        out = (a * self.reach) @ b.T
        out += self.log_norm
        np.exp(out, out=out)
        out += self.sign * np.exp(2 * self.log_norm) / out
        out /= 2
        out -= self.low((a * self.rho) @ b.T)
        out /= self.higher_scale
        return out

    @abstractmethod
    def interactions(self, a: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
        """Return covariances at variance 1, ``(n_a, n_b)``: the lowest order, higher orders."""

    @staticmethod
    @abstractmethod
    def of_size(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the covariances of the part that depends on the size alone, at variance 1."""

    @classmethod
    def beside(cls, a: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
        """Return the covariances of the parts without reaches, at variance 1: size first."""
        return [cls.of_size(a, b)]

    @property
    def scales(self) -> list[float]:
        """The variances: of interactions, of parts outside blocks, then of a block's own parts."""
        spreads = self.lowest * self.lowest_spread, self.higher_spread
        return [self.lowest, 1.0, self.size, *spreads]

    def cross(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the covariance between noiseless games at two lists of signs, without blocks."""
        return weighted_sum(self.scales, [*self.interactions(a, b), *self.beside(a, b)])

    def noise_at(self, points: Pairs) -> np.ndarray:
        """Return the noise variance of points, jitter included, ``(n,)``."""
        return self.noise * points.roughness + JITTER * (1 + self.lowest)

    def gram(self, points: Pairs) -> np.ndarray:
        """Return the covariance matrix of observed values, with noise and jitter, ``(n, n)``."""
        signs = points.signs
        n = len(points)
        out = np.empty((n, n))
        for start in range(0, n, PANEL):
            panel = slice(start, start + PANEL)
            out[panel] = self.cross(signs[panel], signs)
        if points.block is not None:
            for at in points.by_block():
                parts = self.interactions(signs[at], signs[at])
                out[np.ix_(at, at)] += weighted_sum(self.scales[-2:], parts)
        out[np.diag_indices_from(out)] += self.noise_at(points)
        return out

    def slopes(
        self, pull: np.ndarray, parts: list[np.ndarray], points: Pairs
    ) -> np.ndarray:
        """Return sum_ij pull_ij d K_ij/d theta for each entry of the kernel's vector.

        Parameters
        ----------
        pull : ndarray of shape (n, n)
            Its sum with its transpose counts, so a doubled triangle is sufficient.
        parts : list of ndarray
            The covariances of the points, in the order of `scales`.
        points : Pairs
        """
        diagonal = np.diag(pull)
        pairs = zip(self.scales, parts, strict=False)
        slopes = np.array([scale * np.vdot(pull, part) for scale, part in pairs])
        slopes[0] += JITTER * self.lowest * diagonal.sum()
        if points.block is not None:
            slopes[0] += slopes[-2]
        # the variance of the higher orders is 1; the noise has its place
        slopes[1] = self.noise * (diagonal @ points.roughness)
        return slopes

    def with_own(self, lowest: Any, higher: Any, own: Any) -> tuple[Any, Any]:
        """Return quantities of both orders plus blocks' own parts, at `own` times these."""
        higher_factor = 1 + self.higher_spread * own
        return lowest * (1 + self.lowest_spread * own), higher * higher_factor


def weighted_sum(scales: list[float], parts: list[np.ndarray]) -> np.ndarray:
    """Return the sum of the parts times their scales."""
    out = scales[0] * parts[0]
    for scale, part in zip(scales[1:], parts[1:], strict=False):
        out += scale * part
    return out
