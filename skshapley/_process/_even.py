"""The kernel of the even part of a game, for interactions of pairs, and its fit.

All covariances refer to differences from the full coalition, since no interaction depends on a
constant.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from skshapley._process._kernel import LOWEST, NOISE, SIZE, Evidence, Kernel
from skshapley._process._pairs import Pairs

# Least sum of reaches: below it, rounding dominates the variances of interactions of four and more.
# Sums of .02 and .5 give the same errors.
LEAST_TOTAL = 0.1
LEAST_PLAYERS = 4  # smallest number of players with an even interaction beyond pairs
# Without blocks, few points cannot separate interactions of four from noise, and the errors of
# interactions of two become too small. In games with 15 of 495 terms of order four, at 25
# evaluations a player, stated variances were .3 of the squared error with unlimited noise, and .6
# with this limit. Without the limit, intervals cover 96.2 % instead of 96.9 %.
NOISE_PLACE, MOST_NOISE = 1, 0.1
# Start of the fit: from the priors' means, it rarely finds a strong effect of the size or of single
# players. From -1, the squared error of 34 families at 10 p is .8 times as large; from -2 or 0, it
# is about the same as from -1
SIZE_PLACES, SIZE_START = [2, 3], -1.0


@dataclass(frozen=True, eq=False)
class EvenKernel(Kernel):
    """Covariance of the even part: pairs of players, interactions of four and more, the size.

    Attributes
    ----------
    single : float
        Variance of the remaining worth of single players, and of all players but one.
    each : ndarray of shape (p (p - 1)/2,) or None
        Variances of the coefficients of order two one by one, relative to `lowest`, in the order
        of ``np.triu_indices(p, 1)``; None where the reaches share it out.
    """

    single: float = 0.0
    lowest_spread: float = 0.0
    higher_spread: float = 0.0
    each: np.ndarray | None = None

    scalars = (LOWEST, NOISE, SIZE, SIZE)

    @classmethod
    def priors(cls, blocked: bool) -> np.ndarray:
        """Return means, variances and bounds of the scalars' logarithms, ``(4, h)``."""
        out = super().priors(blocked)
        if not blocked:
            out[3, NOISE_PLACE] = np.log(MOST_NOISE)
        return out

    @classmethod
    def from_vector(
        cls, reach: np.ndarray, theta: np.ndarray, each: np.ndarray | None = None
    ) -> "EvenKernel":
        """Return the kernel of reaches and the logarithms of its other parameters."""
        total = reach.sum()
        reach = reach if total >= LEAST_TOTAL else reach * (LEAST_TOTAL / total)
        return replace(cls(reach, *np.exp(theta).tolist()), each=each)

    @property
    def n_fitted(self) -> int:
        """Number of fitted variances: of all pairs, or the reaches."""
        return len(self.reach if self.each is None else self.each)

    @cached_property
    def pairs_scale(self) -> float:
        """The sum of share_i share_j over all pairs."""
        return float(1 - self.share @ self.share) / 2

    @cached_property
    def pair_shares(self) -> np.ndarray:
        """Variances of the coefficients of order two, relative to `lowest`, ``(p, p)``."""
        out = np.outer(self.share, self.share) / self.pairs_scale
        if self.each is not None:
            out[np.triu_indices(len(out), 1)] = self.each
        out = np.triu(out, 1)
        return out + out.T

    @cached_property
    def higher_scale(self) -> float:
        """The variances of all even interactions of four or more, summed; inf without any."""
        if len(self.reach) < LEAST_PLAYERS:
            return np.inf
        total, rho = self.reach.sum(), self.rho
        both = np.exp(self.log_norm + total) + np.exp(self.log_norm - total)
        return float(both / 2 - 1 - (rho.sum() ** 2 - rho @ rho) / 2)

    @property
    def scales(self) -> list[float]:
        """The variances of all parts, in the order of `parts`, then of a block's own parts."""
        lowest, higher, size, *own = super().scales
        return [lowest, higher, size, self.single, *own]

    def parts(self, a: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
        """Return covariances: order two, higher orders, the size, and single players."""
        if self.each is None:
            two = _relative(self._order_two, a, b)
        else:
            two = (products(a) * self.each) @ products(b).T
        if np.isinf(self.higher_scale):
            more = np.zeros((len(a), len(b)))
        else:
            more = _relative(self._higher, a, b)
        return [two, more, size_covariance(a, b), single_covariance(a, b)]

    def _order_two(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return [(sum_j w_j s_j t_j)^2 - sum_j w_j^2]/2 over its value at s = t."""
        share = self.share
        out = (a * share) @ b.T
        np.square(out, out=out)
        out -= share @ share
        out /= 2 * self.pairs_scale
        return out

    def _higher(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return C cosh(...) without its constant and its part of order two, at variance 1."""
        rho, scale = self.rho, self.higher_scale
        out = self.folded(a, b, self.log_norm - np.log(2 * scale), 1)
        two = (a * rho) @ b.T
        np.square(two, out=two)
        two /= 2 * scale
        out -= two
        out -= (1 - (rho @ rho) / 2) / scale
        return out


def _relative(covariance, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the covariance of the differences to the full coalition."""
    full = np.ones((1, a.shape[1]))
    out = covariance(a, b)
    out -= covariance(a, full)
    out -= covariance(full, b)
    out += covariance(full, full)
    return out


def products(signs: np.ndarray) -> np.ndarray:
    """Return s_i s_j - 1 for all pairs of players, ``(n, p (p - 1)/2)``."""
    first, second = np.triu_indices(signs.shape[1], 1)
    return signs[:, first] * signs[:, second] - 1


def size_covariance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the covariance of a Brownian motion in |2 s - p|/p, from the full coalition down."""
    x, y = (np.abs(signs.sum(axis=1)) / a.shape[1] for signs in (a, b))
    return 1 - np.maximum(x[:, None], y)


def single_covariance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return 1 where two coalitions are the same player by itself, or all but it."""
    x, y = lone_player(a), lone_player(b)
    return ((x[:, None] == y) & (y >= 0)).astype(float)


def lone_player(signs: np.ndarray) -> np.ndarray:
    """Return the only present or only absent player, ``(n,)`` int; otherwise -1.

    With two players in the game, both qualify.
    """
    p, total = signs.shape[1], signs.sum(axis=1)
    lone = (signs * np.sign(total)[:, None]).argmin(axis=1)
    return np.where((np.abs(total) == p - 2) & (p > 2), lone, -1)


class EvenEvidence(Evidence):
    """The even kernel at given points as a function of its vector without reaches.

    Parameters
    ----------
    points : Pairs
        Relative to the full coalition.
    reach : ndarray of shape (p,)
    each : ndarray of shape (p (p - 1)/2,) or None
        Variances of the coefficients of order two at variance 1; None where the reaches share it.
    """

    def __init__(self, points: Pairs, reach: np.ndarray, each: np.ndarray | None = None) -> None:
        super().__init__(points, EvenKernel.priors(points.block is not None))
        self.start[SIZE_PLACES] = SIZE_START
        self._reach, self._each = reach, each

    def kernel(self, theta: np.ndarray) -> EvenKernel:
        """Return the kernel of a vector."""
        return EvenKernel.from_vector(self._reach, theta, self._each)
