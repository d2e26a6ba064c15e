"""The hyper-parameters of the process on the even part."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skshapley._odd._hyper import Hyper, Reaches

# A sum of reaches below which interactions of four and more are those of reaches that are nearly
# zero, and their variances drown in rounding
LEAST_TOTAL = 0.1
LEAST_PLAYERS = 4  # for an interaction of more than two
SIZE, SINGLE = 2, 3  # places in the vector of all hyper-parameters but the reaches
# From the priors' means a strong effect of the size, or of single players, is seldom found: a fit
# from here leaves .8 of the squared error of 34 families at 10 p, one from -2 or 0 much the same
SIZE_START = -1.0


@dataclass(frozen=True, eq=False)
class EvenHyper(Reaches):
    """Hyper-parameters of the process, the variance of interactions of four and more being 1.

    Attributes
    ----------
    reach : ndarray of shape (p,)
        a_j, as for the odd part: coefficients have variance prod_{j in T} tanh(a_j), those of pairs
        a_i a_j.
    pairs : float
        Variance of the part of order two.
    noise : float
        Variance of what no smooth game explains, at the middle size.
    size : float
        Variance of the part that depends on the number of players alone.
    single : float
        Variance of what each player by itself, and all but it, are worth beyond all that.
    pairs_spread, higher_spread : float
        Variances of a block's own parts, of order two and higher, relative to the common ones.
    each : ndarray of shape (p (p - 1)/2,) or None
        Variances of the coefficients of order two one by one, in the order of
        ``np.triu_indices(p, 1)``; None where the reaches share out `pairs`.
    """

    reach: np.ndarray
    pairs: float
    noise: float
    size: float
    single: float = 0.0
    pairs_spread: float = 0.0
    higher_spread: float = 0.0
    each: np.ndarray | None = None

    @classmethod
    def from_vector(cls, reach: np.ndarray, theta: np.ndarray) -> "EvenHyper":
        """Return the hyper-parameters of reaches and the logarithms of the others."""
        total = reach.sum()
        reach = reach if total >= LEAST_TOTAL else reach * (LEAST_TOTAL / total)
        return cls(reach, *np.exp(theta).tolist())

    @property
    def lowest(self) -> float:
        """Variance of the part of order two."""
        return self.pairs

    @cached_property
    def pairs_scale(self) -> float:
        """The sum of share_i share_j over all pairs."""
        return float(1 - self.share @ self.share) / 2

    @cached_property
    def pair_variances(self) -> np.ndarray:
        """Variances of the coefficients of order two, ``(p, p)``, 0 on the diagonal."""
        p = len(self.reach)
        if self.each is None:
            out = np.outer(self.share, self.share) * (self.pairs / self.pairs_scale)
            np.fill_diagonal(out, 0.0)
            return out
        out = np.zeros((p, p))
        out[np.triu_indices(p, 1)] = self.each
        return out + out.T

    @cached_property
    def higher_scale(self) -> float:
        """The variances of all even interactions of four or more, summed; inf without any."""
        if len(self.reach) < LEAST_PLAYERS:
            return np.inf
        total, rho = self.reach.sum(), self.rho
        both = np.exp(self.log_norm + total) + np.exp(self.log_norm - total)
        return float(both / 2 - 1 - (rho.sum() ** 2 - rho @ rho) / 2)


def scalars(blocked: bool) -> np.ndarray:
    """Return means, variances, lower and upper bounds of the priors, ``(4, 4)`` or ``(4, 6)``.

    They are those of the odd part, with the part of order two in the place of the linear one; that
    of single players has the prior of the size.
    """
    linear, noise, size, *spreads = Hyper.scalars(blocked)
    return np.array([linear, noise, size, size, *spreads]).T


def scalars_start(blocked: bool) -> np.ndarray:
    """Return where a fit begins, ``(4,)`` or ``(6,)``: the priors' means, but for two."""
    start = scalars(blocked)[0]
    start[[SIZE, SINGLE]] = SIZE_START
    return start
