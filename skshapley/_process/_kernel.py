"""The covariance of one part of a game at two points of the cube, and the prior of its parameters.

prod_j (1 + rho_j s_j t_j) = sum_T prod_{j in T} rho_j s_j t_j. With rho = tanh(a) and C
= prod_j sqrt(1 - rho_j^2), its odd part is C sinh(sum_j a_j s_j t_j) and its even part
C cosh(...): one matrix product for all 2^(p-1) interactions. The terms of the lowest
order (single players or pairs) have a variance of their own. So does the part that
depends on the size alone.

The odd part has the Shapley values, and the even part the interactions of pairs. All
covariances refer to differences from the full coalition, since no interaction depends
on a constant.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
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
    def shares(self) -> np.ndarray:
        """Variances of the coefficients of the lowest order, relative to `lowest`."""
        return self.share

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
                out[np.ix_(at, at)] += weighted_sum(
                    self.scales[-2:],
                    self.interactions(signs[at], signs[at]),
                )
        out[np.diag_indices_from(out)] += self.noise_at(points)
        return out

    def slopes(
        self,
        pull: np.ndarray,
        parts: list[np.ndarray],
        points: Pairs,
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
        slopes = np.array(
            [
                scale * np.vdot(pull, part)
                for scale, part in zip(self.scales, parts, strict=False)
            ]
        )
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


# Bounds of the reaches; the least one is SHORTEST/p. From .1/p on, inactive players
# keep interactions: the squared error is 1.5 times as large. With reaches up to .6 it
# is 1.06 times as large, and up to 2.5 it is .98 times as large.
SHORTEST = 0.01
LONGEST = 1.2
# Start of the fit: from the prior's mean, -6, it rarely finds a strong effect of the
# size.
ODD_SIZE_START = -2.0
# Prior variance of the mean log reach. The squared error is 1.02 times as large with
# .5, and 1.09 times with 30, because few pairs do not determine the level.
REACH_LEVEL_VARIANCE = 4.0


@dataclass(frozen=True, eq=False)
class OddKernel(PartKernel):
    """Covariance of the odd part: single players, interactions of three and more, the size."""

    lowest_spread: float = 0.0
    higher_spread: float = 0.0

    sign = -1

    @classmethod
    def from_vector(cls, theta: np.ndarray, p: int) -> "OddKernel":
        """Return the kernel from the logarithms of its parameters, with or without spreads."""
        return cls(np.exp(theta[:p]), *np.exp(theta[p:]).tolist())

    @staticmethod
    def prior(p: int, blocked: bool) -> Prior:
        """Return the prior of the vector of p players, ``(p + 3,)``, or ``(p + 5,)`` with blocks.

        log a_j ~ N(level, 1) with level ~ N(-log p, 4), entering through the mean of
        the log a_j.
        """
        out = Prior.of(
            *[Scalar(-np.log(p), 1.0, np.log(SHORTEST / p), np.log(LONGEST))] * p,
            LOWEST,
            NOISE,
            SIZE,
            *(SPREADS if blocked else ()),
        )
        out.precision[:p, :p] += (1 / (REACH_LEVEL_VARIANCE * p) - 1) / p
        if not blocked:
            out.start[p + 2] = ODD_SIZE_START
        return out

    def low(self, linear: np.ndarray) -> np.ndarray:
        """Return the linear terms."""
        return linear

    def interactions(self, a: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
        """Return the covariances of single players, and of interactions of three and more."""
        return [(a * self.share) @ b.T, self.higher(a, b)]

    @staticmethod
    def of_size(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the covariances of an odd Brownian motion in (2 s - p)/p, ``(n_a, n_b)``.

        Its increments between the possible sizes are independent.
        """
        p = a.shape[1]
        levels = np.arange(2 - p % 2, p + 1, 2)
        spread = np.sqrt(np.diff(levels, prepend=0) / p)

        def increments(signs: np.ndarray) -> np.ndarray:
            total = signs.sum(axis=1)[:, None]
            return np.sign(total) * (np.abs(total) >= levels) * spread

        return increments(a) @ increments(b).T

    def slopes(
        self,
        pull: np.ndarray,
        parts: list[np.ndarray],
        points: Pairs,
    ) -> np.ndarray:
        """Return sum_ij pull_ij d K_ij/d theta for each entry of the vector."""
        on_linear, on_higher = self.with_own(
            pull,
            pull,
            0.0 if points.same_block is None else points.same_block,
        )
        by_linear = _by_player(on_linear, points.signs)
        reach = self.lowest * self.share * (by_linear - self.share @ by_linear)
        reach += self.reach * self._by_reach(on_higher, parts[1], points.signs)
        return np.concatenate([reach, super().slopes(pull, parts, points)])

    def _by_reach(
        self,
        pull: np.ndarray,
        higher: np.ndarray,
        signs: np.ndarray,
    ) -> np.ndarray:
        """Return sum_ij pull_ij d higher_ij/d a, ``(p,)``."""
        rho = self.rho
        total = self.reach.sum()
        grown = np.exp(self.log_norm + total)
        shrunk = np.exp(self.log_norm - total)
        flat = 1 - rho**2
        scale = (grown + shrunk) / 2 - rho * (grown - shrunk) / 2 - flat
        sinh = self.higher_scale * higher + (signs * rho) @ signs.T
        cosh = np.sqrt(np.exp(2 * self.log_norm) + sinh**2)
        slopes = _by_player(pull * cosh, signs) - rho * np.vdot(pull, sinh)
        slopes -= flat * _by_player(pull, signs) + np.vdot(pull, higher) * scale
        return slopes / self.higher_scale


def _by_player(matrix: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """Return s_j' matrix s_j for each player j, ``(p,)``."""
    return np.einsum("np,np->p", matrix @ signs, signs)


# Least sum of reaches: below it, rounding dominates the variances of interactions of
# four and more. Sums of .02 and .5 give the same errors.
LEAST_TOTAL = 0.1
LEAST_PLAYERS = 4  # smallest number of players with an even interaction beyond pairs
# Without blocks, few points cannot separate interactions of four from noise, and the
# errors of interactions of two become too small. In games with 15 of 495 terms of order
# four, at 25 evaluations a player, stated variances were .3 of the squared error with
# unlimited noise, and .6 with this limit. Without the limit, intervals cover 96.2 %
# instead of 96.9 %.
MOST_NOISE = 0.1
# Start of the fit: from the priors' means, it rarely finds a strong effect of the size
# or of single players. From -1, the squared error of 34 families at 10 p is .8 times as
# large; from -2 or 0, it is about the same as from -1
EVEN_SIZE_START = -1.0


@dataclass(frozen=True, eq=False)
class EvenKernel(PartKernel):
    """Covariance of the even part: pairs of players, interactions of four and more, the size.

    Attributes
    ----------
    single : float
        Variance of the remaining worth of single players, and of all players but one.
    pair_variances : ndarray of shape (p (p - 1)/2,) or None
        Variances of the coefficients of order two one by one, relative to `lowest`, in
        the order of ``np.triu_indices(p, 1)``; None if the reaches determine them.
    """

    single: float = 0.0
    lowest_spread: float = 0.0
    higher_spread: float = 0.0
    pair_variances: np.ndarray | None = None

    sign = 1

    @classmethod
    def from_vector(
        cls,
        reach: np.ndarray,
        theta: np.ndarray,
        pair_variances: np.ndarray | None = None,
    ) -> "EvenKernel":
        """Return the kernel of reaches and the logarithms of its other parameters."""
        total = reach.sum()
        reach = reach if total >= LEAST_TOTAL else reach * (LEAST_TOTAL / total)
        return replace(
            cls(reach, *np.exp(theta).tolist()),
            pair_variances=pair_variances,
        )

    @staticmethod
    def prior(blocked: bool) -> Prior:
        """Return the prior of the vector without reaches, ``(4,)``, or ``(6,)`` with blocks."""
        out = Prior.of(
            LOWEST,
            NOISE if blocked else NOISE._replace(high=np.log(MOST_NOISE)),
            SIZE,
            SIZE,
            *(SPREADS if blocked else ()),
        )
        out.start[2:4] = EVEN_SIZE_START
        return out

    @property
    def n_fitted(self) -> int:
        """Number of fitted variances: of all pairs, or the reaches."""
        return len(self.reach if self.pair_variances is None else self.pair_variances)

    @cached_property
    def _pairs_scale(self) -> float:
        """The sum of share_i share_j over all pairs."""
        return float(1 - self.share @ self.share) / 2

    @cached_property
    def shares(self) -> np.ndarray:
        """Variances of the coefficients of order two, relative to `lowest`, ``(p, p)``."""
        out = np.outer(self.share, self.share) / self._pairs_scale
        if self.pair_variances is not None:
            out[np.triu_indices(len(out), 1)] = self.pair_variances
        out = np.triu(out, 1)
        return out + out.T

    def low(self, linear: Any) -> Any:
        """Return the constant and the terms of order two."""
        return (linear**2 - self.rho @ self.rho) / 2 + 1

    @cached_property
    def higher_scale(self) -> float:
        """The normalizer; inf without any interaction of four or more."""
        return super().higher_scale if len(self.reach) >= LEAST_PLAYERS else np.inf

    def interactions(self, a: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
        """Return the covariances of interactions of two, and of four and more."""
        full = np.ones((1, a.shape[1]))
        a = np.vstack([a, full])
        b = np.vstack([b, full])
        # the sum over pairs of players of their shares times s_i s_j t_i t_j
        if self.pair_variances is not None:
            lowest = (products(a) * self.pair_variances) @ products(b).T
        else:
            # [(sum_j w_j s_j t_j)^2 - sum_j w_j^2]/2 over its value at s = t
            share = self.share
            lowest = ((a * share) @ b.T) ** 2 - share @ share
            lowest /= 2 * self._pairs_scale
        parts = lowest, self.higher(a, b)
        # covariances of the differences to the full coalition
        return [x[:-1, :-1] - x[:-1, -1:] - x[-1:, :-1] + x[-1, -1] for x in parts]

    @property
    def scales(self) -> list[float]:
        """The variances of all parts, single players after the size."""
        scales = super().scales
        return [*scales[:3], self.single, *scales[3:]]

    @classmethod
    def beside(cls, a: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
        """Return the covariances of the size, and of single players."""
        players = lone_player(b)
        same = lone_player(a)[:, None] == players
        return [cls.of_size(a, b), (same & (players >= 0)).astype(float)]

    @staticmethod
    def of_size(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the covariance of a Brownian motion in |2 s - p|/p, from the full coalition."""
        x = np.abs(a.sum(axis=1)) / a.shape[1]
        return 1 - np.maximum(x[:, None], np.abs(b.sum(axis=1)) / a.shape[1])


def products(signs: np.ndarray) -> np.ndarray:
    """Return s_i s_j for all pairs of players, ``(n, p (p - 1)/2)``."""
    first, second = np.triu_indices(signs.shape[1], 1)
    return signs[:, first] * signs[:, second]


def lone_player(signs: np.ndarray) -> np.ndarray:
    """Return the only present or only absent player, ``(n,)`` int; otherwise -1.

    With two players in the game, both qualify.
    """
    p = signs.shape[1]
    total = signs.sum(axis=1)
    return np.where(
        (np.abs(total) == p - 2) & (p > 2),
        (signs * np.sign(total)[:, None]).argmin(axis=1),
        -1,
    )
