"""The kernel of the odd part of a game, for Shapley values."""

from dataclasses import dataclass

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
from skshapley._process._pairs import Pairs

# Bounds of the reaches; the least one is SHORTEST/p. From .1/p on, inactive players
# keep interactions: the squared error is 1.5 times as large. With reaches up to .6 it
# is 1.06 times as large, and up to 2.5 it is .98 times as large.
SHORTEST = 0.01
LONGEST = 1.2
# Start of the fit: from the prior's mean, -6, it rarely finds a strong effect of the
# size.
SIZE_START = -2.0
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
    def scalars(blocked: bool) -> tuple[Scalar, ...]:
        """Return the priors of the parameters after the reaches."""
        return LOWEST, NOISE, SIZE, *(SPREADS if blocked else ())

    @staticmethod
    def prior(p: int, blocked: bool) -> Prior:
        """Return the prior of the vector of p players, ``(p + 3,)``, or ``(p + 5,)`` with blocks.

        log a_j ~ N(level, 1) with level ~ N(-log p, 4), entering through the mean of
        the log a_j.
        """
        reach = Scalar(-np.log(p), 1.0, np.log(SHORTEST / p), np.log(LONGEST))
        out = Prior.of(*[reach] * p, *OddKernel.scalars(blocked))
        out.precision[:p, :p] += (1 / (REACH_LEVEL_VARIANCE * p) - 1) / p
        if not blocked:
            out.start[p + 2] = SIZE_START
        return out

    @property
    def shares(self) -> np.ndarray:
        """Variances of the coefficients of single players, relative to `lowest`, ``(p,)``."""
        return self.share

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
        self, pull: np.ndarray, parts: list[np.ndarray], points: Pairs
    ) -> np.ndarray:
        """Return sum_ij pull_ij d K_ij/d theta for each entry of the vector."""
        same_block = 0.0 if points.same_block is None else points.same_block
        on_linear, on_higher = self.with_own(pull, pull, same_block)
        by_linear = _by_player(on_linear, points.signs)
        reach = self.lowest * self.share * (by_linear - self.share @ by_linear)
        reach += self.reach * self._by_reach(on_higher, parts[1], points.signs)
        return np.concatenate([reach, super().slopes(pull, parts, points)])

    def _by_reach(
        self, pull: np.ndarray, higher: np.ndarray, signs: np.ndarray
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
