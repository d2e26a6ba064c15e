"""The kernel of the even part of a game, for interactions of pairs.

All covariances refer to differences from the full coalition, since no interaction
depends on a constant.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from skshapley._process._kernel import (
    LOWEST,
    NOISE,
    SIZE,
    SPREADS,
    PartKernel,
    Prior,
    Scalar,
)

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
SIZE_START = -1.0


@dataclass(frozen=True, eq=False)
class EvenKernel(PartKernel):
    """Covariance of the even part: pairs of players, interactions of four and more, the size.

    Attributes
    ----------
    single : float
        Variance of the remaining worth of single players, and of all players but one.
    each : ndarray of shape (p (p - 1)/2,) or None
        Variances of the coefficients of order two one by one, relative to `lowest`, in
        the order of ``np.triu_indices(p, 1)``; None if the reaches determine them.
    """

    single: float = 0.0
    lowest_spread: float = 0.0
    higher_spread: float = 0.0
    each: np.ndarray | None = None

    sign = 1

    @classmethod
    def from_vector(
        cls, reach: np.ndarray, theta: np.ndarray, each: np.ndarray | None = None
    ) -> "EvenKernel":
        """Return the kernel of reaches and the logarithms of its other parameters."""
        total = reach.sum()
        reach = reach if total >= LEAST_TOTAL else reach * (LEAST_TOTAL / total)
        return replace(cls(reach, *np.exp(theta).tolist()), each=each)

    @staticmethod
    def scalars(blocked: bool) -> tuple[Scalar, ...]:
        """Return the priors of the parameters after the reaches."""
        noise = NOISE if blocked else NOISE._replace(high=np.log(MOST_NOISE))
        return LOWEST, noise, SIZE, SIZE, *(SPREADS if blocked else ())

    @staticmethod
    def prior(blocked: bool) -> Prior:
        """Return the prior of the vector without reaches, ``(4,)``, or ``(6,)`` with blocks."""
        out = Prior.of(*EvenKernel.scalars(blocked))
        out.start[2:4] = SIZE_START
        return out

    @property
    def n_fitted(self) -> int:
        """Number of fitted variances: of all pairs, or the reaches."""
        return len(self.reach if self.each is None else self.each)

    @cached_property
    def _pairs_scale(self) -> float:
        """The sum of share_i share_j over all pairs."""
        return float(1 - self.share @ self.share) / 2

    @cached_property
    def shares(self) -> np.ndarray:
        """Variances of the coefficients of order two, relative to `lowest`, ``(p, p)``."""
        out = np.outer(self.share, self.share) / self._pairs_scale
        if self.each is not None:
            out[np.triu_indices(len(out), 1)] = self.each
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
        parts = self._two(a, b), self.higher(a, b)
        # covariances of the differences to the full coalition
        return [x[:-1, :-1] - x[:-1, -1:] - x[-1:, :-1] + x[-1, -1] for x in parts]

    def _two(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the sum over pairs of players of their shares times s_i s_j t_i t_j."""
        if self.each is not None:
            return (products(a) * self.each) @ products(b).T
        # [(sum_j w_j s_j t_j)^2 - sum_j w_j^2]/2 over its value at s = t
        share = self.share
        return (((a * share) @ b.T) ** 2 - share @ share) / (2 * self._pairs_scale)

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
        y = np.abs(b.sum(axis=1)) / a.shape[1]
        return 1 - np.maximum(x[:, None], y)


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
    lone = (signs * np.sign(total)[:, None]).argmin(axis=1)
    return np.where((np.abs(total) == p - 2) & (p > 2), lone, -1)
