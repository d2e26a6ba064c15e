"""Pairs and processes made once for p players: rows to explain rank their players.

The strength of players in a game falls with their rank. Players are ranked by their
effects as single players, and the reaches of a process fall geometrically. The process
then depends on p, the number of pairs and the rate of the fall alone, so its matrices
serve all rows and games. The evidence chooses among few rates.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from skshapley._process._functionals import OddValues
from skshapley._process._kernel import OddKernel
from skshapley._process._pairs import OddDesign, Pairs
from skshapley._process._process import Posterior, Process

# Sum of the reaches and variances of the parts. Sums of 1 and 3, variances of 30 and 300
# for single players, noises of .002 and .03 and size effects of 10 and 100 change the
# squared error by at most 10 % on 42 games of models (.06 to .0001 for 3 to 10 p)
TOTAL_REACH = 2.0
LOWEST = 100.0
NOISE = 0.01
SIZE = 30.0
# Reaches are in proportion to exp(-rate rank/p) + LEAST_REACH. Squared errors of the
# rates 2 and 5 alone are 1.4 and 1.2 times as large at 10 p, and those of equal reaches
# 2.3 times
RATES = 2.0, 5.0, 10.0, 20.0
DESIGN_RATE = 3.0
LEAST_REACH = 0.01
LONGEST = 1.2
# Processes are kept for this number of sets of points: a set of 500 pairs takes 10 MB
MOST_KEPT = 16


@dataclass(frozen=True, eq=False)
class RankedOddDesign(OddDesign):
    """Pairs that start with the single players, and continue with players by rank.

    Attributes
    ----------
    ranked : ndarray of shape (r, p), int
        The players of each row to explain, those with the largest effects first.
    """

    ranked: np.ndarray | None = None


class RankedKernel(OddKernel):
    """Covariance of the odd part, with reaches by rank."""

    n_fitted = 0

    @classmethod
    def of_rate(cls, p: int, rate: float) -> "RankedKernel":
        """Return the kernel for p players."""
        reach = np.exp(-rate * np.arange(p) / p) + LEAST_REACH
        reach = np.minimum(reach * TOTAL_REACH / reach.sum(), LONGEST)
        return cls(reach, LOWEST, NOISE, SIZE)


class RankedProcess(Process):
    """A process for many rows: it keeps the inverse matrix to solve their values."""

    @cached_property
    def log_volume(self) -> float:
        """Half the log determinant of the covariance matrix."""
        return float(np.log(np.diag(self.factor)).sum())

    def solve(self, values: np.ndarray) -> np.ndarray:
        """Return the inverse of the covariance matrix times values ``(n, k)``."""
        return self.inverse @ values


@lru_cache(maxsize=MOST_KEPT)
def processes(p: int, n: int, packed: bytes) -> tuple[RankedProcess, ...]:
    """Return a process for each rate at n points, given as bits."""
    bits = np.unpackbits(np.frombuffer(packed, dtype=np.uint8), count=n * p)
    points = Pairs(2.0 * bits.reshape(n, p) - 1, np.empty((n, 0)))
    return tuple(
        RankedProcess(points, RankedKernel.of_rate(p, rate), OddValues())
        for rate in RATES
    )


def ranked_posterior(odd: Pairs, ranked: np.ndarray) -> Posterior:
    """Return the posterior with the largest evidence, its players by rank.

    Parameters
    ----------
    odd : Pairs
        The full coalition, single players in their order, then other pairs.
    ranked : ndarray of shape (p,), int
    """
    n_singles = min(len(ranked), len(odd) - 1)
    later = np.arange(n_singles + 1, len(odd))
    singles = 1 + ranked[ranked < n_singles]
    points = odd.take(np.concatenate([[0], singles, later]))
    packed = np.packbits(points.signs[:, ranked] > 0).tobytes()
    candidates = processes(len(ranked), len(odd), packed)
    posteriors = [Posterior(process, points.values) for process in candidates]
    # log densities of the values at their best scales, as means over outputs
    log_evidence = [
        -0.5 * len(odd) * np.log(posterior.scale).mean() - process.log_volume
        for process, posterior in zip(candidates, posteriors, strict=True)
    ]
    return posteriors[int(np.argmax(log_evidence))]


def ranked_players(odd: np.ndarray, players: np.ndarray) -> np.ndarray:
    """Return players by the size of their effects, ``(r, p)``; ties keep their order.

    Parameters
    ----------
    odd : ndarray of shape (r, 1 + p, k)
        The odd part of the full coalition, then of each single player.
    players : ndarray of shape (r, p), int
    """
    effects = np.abs(odd[:, 1:] + odd[:, :1])
    largest = effects.max(axis=1, keepdims=True)
    shares = np.divide(effects, largest, out=np.zeros_like(effects), where=largest > 0)
    strength = np.take_along_axis(shares.sum(axis=2), players, axis=1)
    places = np.argsort(-strength, axis=1, kind="stable")
    return np.take_along_axis(players, places, axis=1)
