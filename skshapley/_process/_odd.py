"""The kernel of the odd part of a game, for Shapley values, and its fit."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skshapley._process._kernel import LONGEST, LOWEST, NOISE, SHORTEST, SIZE, Evidence, Kernel
from skshapley._process._pairs import Pairs

# Start of the fit: from the prior's mean, -6, it rarely finds a strong effect of the size.
SIZE_PLACE, SIZE_START = 2, -2.0
# Prior variance of the mean log reach. The squared error is 1.02 times as large with .5, and 1.09
# times with 30, because few pairs do not determine the level.
REACH_LEVEL_VARIANCE = 4.0


@dataclass(frozen=True, eq=False)
class OddKernel(Kernel):
    """Covariance of the odd part: single players, interactions of three and more, the size."""

    lowest_spread: float = 0.0
    higher_spread: float = 0.0

    scalars = (LOWEST, NOISE, SIZE)

    @classmethod
    def from_vector(cls, theta: np.ndarray, p: int) -> "OddKernel":
        """Return the kernel from the logarithms of its parameters, with or without spreads."""
        return cls(np.exp(theta[:p]), *np.exp(theta[p:]).tolist())

    @cached_property
    def higher_scale(self) -> float:
        """The normalizer: the summed variances of all odd interactions of three or more players."""
        total = self.reach.sum()
        both = np.exp(self.log_norm + total) - np.exp(self.log_norm - total)
        return float(both / 2 - self.rho.sum())

    def parts(self, a: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
        """Return single players, C sinh(...) without its linear part, and the size."""
        scale = self.higher_scale
        higher = self.folded(a, b, self.log_norm - np.log(2 * scale), -1)
        higher -= (a * (self.rho / scale)) @ b.T
        return [(a * self.share) @ b.T, higher, size_covariance(a, b)]


def size_covariance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the covariances of an odd Brownian motion in (2 s - p)/p, ``(n_a, n_b)``.

    Its increments between the possible sizes are independent.
    """
    p = a.shape[1]
    levels = np.arange(2 - p % 2, p + 1, 2)
    spread = np.sqrt(np.diff(levels, prepend=0) / p)
    totals = (signs.sum(axis=1)[:, None] for signs in (a, b))
    x, y = (np.sign(total) * (np.abs(total) >= levels) * spread for total in totals)
    return x @ y.T


class OddEvidence(Evidence):
    """The odd kernel at given points as a function of its vector, ``(p + 3,)`` or ``(p + 5,)``."""

    def __init__(self, points: Pairs) -> None:
        super().__init__(points, OddKernel.priors(points.block is not None))
        self.p = p = points.n_players
        reach = np.tile([np.log(SHORTEST / p), np.log(LONGEST)], (p, 1))
        self.bounds = np.vstack([reach, self.bounds])
        if points.block is None:
            self.start[SIZE_PLACE] = SIZE_START
        self.start = np.concatenate([np.full(p, -np.log(p)), self.start])

    def kernel(self, theta: np.ndarray) -> OddKernel:
        """Return the kernel of a vector."""
        return OddKernel.from_vector(theta, self.p)

    def prior(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return minus the log density of the prior, without its constant, and its gradient.

        log a_j ~ N(level, 1) with level ~ N(-log p, 4), entering through the mean of the log a_j.
        """
        p = self.p
        value, rest = super().prior(theta[p:])
        level = theta[:p].mean()
        deviation, off = theta[:p] - level, level + np.log(p)
        value += (deviation @ deviation + off**2 / REACH_LEVEL_VARIANCE) / 2
        return value, np.concatenate([deviation + off / (REACH_LEVEL_VARIANCE * p), rest])

    def contract(self, pull: np.ndarray) -> np.ndarray:
        """Return sum_ij pull_ij d K_ij/d theta, for every entry of the last theta."""
        kernel, same = self._kernel, self.points.same_block
        on_linear, on_higher = kernel.with_own(pull, pull, 0.0 if same is None else same)
        by_linear = self._by_player(on_linear)
        reach = kernel.lowest * kernel.share * (by_linear - kernel.share @ by_linear)
        reach += kernel.reach * self._by_reach(on_higher)
        return np.concatenate([reach, super().contract(pull)])

    def _by_player(self, matrix: np.ndarray) -> np.ndarray:
        """Return s_j' matrix s_j for each player j, ``(p,)``."""
        return np.einsum("np,np->p", matrix @ self.points.signs, self.points.signs)

    def _by_reach(self, pull: np.ndarray) -> np.ndarray:
        """Return sum_ij pull_ij d higher_ij/d a, ``(p,)``."""
        kernel, signs, higher = self._kernel, self.points.signs, self._parts[1]
        rho, total = kernel.rho, kernel.reach.sum()
        grown, shrunk = np.exp(kernel.log_norm + total), np.exp(kernel.log_norm - total)
        flat = 1 - rho**2
        scale = (grown + shrunk) / 2 - rho * (grown - shrunk) / 2 - flat
        sinh = kernel.higher_scale * higher + (signs * rho) @ signs.T
        cosh = np.sqrt(np.exp(2 * kernel.log_norm) + sinh**2)
        moved = self._by_player(pull * cosh) - rho * np.vdot(pull, sinh)
        moved -= flat * self._by_player(pull) + np.vdot(pull, higher) * scale
        return moved / kernel.higher_scale
