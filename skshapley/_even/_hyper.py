"""The hyper-parameters of the process on the even part."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skshapley._odd._hyper import Hyper, Reaches

# A sum of reaches below which interactions of four and more are those of reaches that are nearly
# zero, and their variances drown in rounding
LEAST_TOTAL = 0.1
LEAST_PLAYERS = 4  # for an interaction of more than two


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
    pairs_spread: float = 0.0
    higher_spread: float = 0.0
    each: np.ndarray | None = None

    @classmethod
    def from_vector(cls, reach: np.ndarray, theta: np.ndarray) -> "EvenHyper":
        """Return the hyper-parameters of reaches and the logarithms of the others."""
        total = reach.sum()
        reach = reach if total >= LEAST_TOTAL else reach * (LEAST_TOTAL / total)
        pairs, noise, size, pairs_spread, higher_spread = [*np.exp(theta).tolist(), 0.0, 0.0][:5]
        return cls(reach, pairs, noise, size, pairs_spread, higher_spread)

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
    """Return means, variances, lower and upper bounds of the priors, ``(4, 3)`` or ``(4, 5)``.

    They are those of the odd part, with the part of order two in the place of the linear one.
    """
    return np.array(Hyper.scalars(blocked)).T
