"""The covariance of one part of a game at two points of the cube, and the prior of its parameters.

prod_j (1 + rho_j s_j t_j) = sum_T prod_{j in T} rho_j s_j t_j. With rho = tanh(a) and C = prod_j
sqrt(1 - rho_j^2), its odd part is C sinh(sum_j a_j s_j t_j) and its even part C cosh(...): one
matrix product for all 2^(p-1) interactions. The terms of the lowest order (single players or pairs)
have a variance of their own. So does the part that depends on the size alone.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from skshapley._process._pairs import Pairs

JITTER = 1e-8
PANEL = 128  # rows of a matrix in one step: few enough to stay in the cache
SHORTEST, LONGEST = 0.01, 1.2  # the least reach is SHORTEST/p


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
    scalars: ClassVar[tuple[Prior, ...]]  # of the parameters after the reaches, without blocks

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
    @abstractmethod
    def higher_scale(self) -> float:
        """The normalizer: the summed variances of all interactions above the lowest order."""

    @abstractmethod
    def interactions(
        self, a: np.ndarray, b: np.ndarray, lowest: float, higher: float
    ) -> np.ndarray:
        """Return the covariance of interactions with these variances, ``(n_a, n_b)``."""

    @abstractmethod
    def apart(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the covariance of the parts beside interactions, ``(n_a, n_b)``."""

    @abstractmethod
    def diagonal(self, signs: np.ndarray) -> np.ndarray:
        """Return the diagonal of `cross` at one list of signs, ``(n,)``."""

    def cross(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the covariance between noiseless games at two lists of signs, without blocks."""
        out = self.interactions(a, b, self.lowest, 1.0)
        out += self.apart(a, b)
        return out

    def noise_at(self, points: Pairs) -> np.ndarray:
        """Return the noise variance of points, jitter included, ``(n,)``."""
        return self.noise * points.roughness + JITTER * (1 + self.lowest)

    def gram(self, points: Pairs) -> np.ndarray:
        """Return the covariance matrix of observed values, with noise and jitter, ``(n, n)``.

        Only its lower triangle is filled in.
        """
        signs, n = points.signs, len(points)
        out = np.zeros((n, n))
        for start in range(0, n, PANEL):
            stop = min(start + PANEL, n)
            out[start:stop, :stop] = self.cross(signs[start:stop], signs[:stop])
        if points.block is not None:
            own = self.lowest * self.lowest_spread, self.higher_spread
            for at in points.by_block():
                out[np.ix_(at, at)] += self.interactions(signs[at], signs[at], *own)
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

    def block_weights(self, points: Pairs) -> tuple[np.ndarray, np.ndarray]:
        """Return the factors of covariances with the whole background's parts, ``(n,)`` each.

        The first factor is for the lowest order, the second for higher orders.
        """
        share = np.zeros(len(points))
        if points.blocks is not None:
            share = points.blocks.share[points.block]
        return 1 + self.lowest_spread * share, 1 + self.higher_spread * share

    @property
    def key(self) -> tuple:
        """The hyper-parameters as a hashable key."""
        told = (getattr(self, field.name) for field in fields(self))
        return tuple(x.tobytes() if isinstance(x, np.ndarray) else x for x in told)
