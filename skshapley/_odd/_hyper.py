"""The hyper-parameters of the process, their prior and their bounds."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np


class _Prior(NamedTuple):
    """Normal prior, bounds and start of the logarithm of a hyper-parameter."""

    mean: float
    variance: float
    low: float
    high: float


# Wide, but for the size: a part that depends on it alone takes over where few points tell it from
# the rest, and must earn its place.
SCALARS = {
    "linear": _Prior(np.log(100.0), 16.0, np.log(0.1), np.log(1e5)),
    "noise": _Prior(-3.0, 16.0, np.log(1e-6), np.log(30.0)),
    "size": _Prior(-6.0, 4.0, np.log(1e-6), np.log(1e4)),
    "linear_spread": _Prior(-1.0, 4.0, -20.0, 4.0),
    "higher_spread": _Prior(0.0, 4.0, -20.0, 4.0),
}
SIZE_START = -2.0  # from the prior's mean a strong effect of the size is seldom found
REACH_LEVEL_VARIANCE = 4.0
SHORTEST, LONGEST = 0.01, 1.2  # the least reach is SHORTEST/p


class Reaches:
    """What follows from the reaches, for the process on either part of a game."""

    reach: np.ndarray
    noise: float

    @property
    def lowest(self) -> float:
        """Variance of the part of the lowest order: players by themselves, or pairs of them."""
        raise NotImplementedError

    @cached_property
    def rho(self) -> np.ndarray:
        """tanh(reach), ``(p,)``."""
        return np.tanh(self.reach)

    @cached_property
    def share(self) -> np.ndarray:
        """The reaches, with sum 1, ``(p,)``: a player's share in the linear variance."""
        return self.reach / self.reach.sum()

    @cached_property
    def log_norm(self) -> float:
        """Log C, C = prod sqrt(1 - rho_j^2)."""
        return float(-np.log(np.cosh(self.reach)).sum())


@dataclass(frozen=True, eq=False)
class Hyper(Reaches):
    """Hyper-parameters of the process, the variance of its interactions being 1.

    Attributes
    ----------
    reach : ndarray of shape (p,)
        a_j: how much player j takes part in interactions; coefficients have variance
        prod_{j in T} tanh(a_j), and linear ones a_j/sum(a).
    linear : float
        Variance of the linear part.
    noise : float
        Variance of what no smooth game explains, at the middle size.
    size : float
        Variance of the part that depends on the number of players alone.
    linear_spread, higher_spread : float
        Variances of a block's own linear and higher part, relative to the common ones.
    """

    reach: np.ndarray
    linear: float
    noise: float
    size: float
    linear_spread: float = 0.0
    higher_spread: float = 0.0

    @property
    def lowest(self) -> float:
        """Variance of the linear part."""
        return self.linear

    @cached_property
    def higher_scale(self) -> float:
        """The variances of all odd interactions of three or more, summed: what divides them."""
        total = self.reach.sum()
        both = np.exp(self.log_norm + total) - np.exp(self.log_norm - total)
        return float(both / 2 - self.rho.sum())

    @classmethod
    def from_vector(cls, theta: np.ndarray, p: int) -> "Hyper":
        """Return the hyper-parameters of their logarithms, with spreads or without."""
        return cls(np.exp(theta[:p]), *(float(value) for value in np.exp(theta[p:])))

    @staticmethod
    def scalars(blocked: bool) -> list[_Prior]:
        """Return the priors of the entries of the vector after the reaches."""
        return list(SCALARS.values())[: 5 if blocked else 3]

    @classmethod
    def start(cls, p: int, blocked: bool) -> np.ndarray:
        """Return the vector that a fit begins with: the means of the priors, the size apart."""
        start = np.concatenate([np.full(p, -np.log(p)), [s.mean for s in cls.scalars(blocked)]])
        if not blocked:
            start[p + list(SCALARS).index("size")] = SIZE_START
        return start

    @classmethod
    def bounds(cls, p: int, blocked: bool) -> list[tuple[float, float]]:
        """Return the bounds of the vector."""
        reach = (np.log(SHORTEST / p), np.log(LONGEST))
        return [reach] * p + [(s.low, s.high) for s in cls.scalars(blocked)]


def log_prior(theta: np.ndarray, p: int, blocked: bool) -> tuple[float, np.ndarray]:
    """Return minus the log density of the prior, without its constant, and its gradient.

    log a_j ~ N(level, 1) with level ~ N(-log p, 4), entering through the mean of the log a_j.
    """
    gradient = np.empty_like(theta)
    level = theta[:p].mean()
    deviation = theta[:p] - level
    off = level + np.log(p)
    gradient[:p] = deviation + off / (REACH_LEVEL_VARIANCE * p)
    value = 0.5 * (deviation @ deviation) + 0.5 * off**2 / REACH_LEVEL_VARIANCE
    for at, prior in enumerate(Hyper.scalars(blocked), start=p):
        gradient[at] = (theta[at] - prior.mean) / prior.variance
        value += 0.5 * (theta[at] - prior.mean) ** 2 / prior.variance
    return float(value), gradient
