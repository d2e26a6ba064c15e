"""Pairs and processes made once for p players: rows to explain rank their players.

The strength of players in a game falls with their rank. Players are ranked by their
effects as single players, and the reaches of a process fall geometrically. The process
then depends on p, the number of pairs, the rate of the fall and the sum of the reaches
alone, so its matrices serve all rows and games. The evidence chooses among few rates and
sums.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np

from skshapley._process._fit import thinned
from skshapley._process._functionals import OddValues
from skshapley._process._kernel import OddKernel
from skshapley._process._pairs import OddDesign, Pairs
from skshapley._process._process import Posterior, Process

# Variances of the parts. Variances of 30 and 300 for single players, noises of .002 and
# .03 and size effects of 10 and 100 change the squared error by at most 10 % on 42 games
# of models (.06 to .0001 for 3 to 10 p)
LOWEST = 100.0
NOISE = 0.01
SIZE = 30.0
# Candidates: reaches are in proportion to exp(-rate rank/p) + LEAST_REACH, with one of
# the sums. Squared errors of the rates 2 and 5 alone are 1.4 and 1.2 times as large at
# 10 p, and those of equal reaches 2.3 times. With the sum 2 alone, they are 1.05, 1.15,
# 1.1, 1.2 and 1.5 times as large at 4, 6, 10, 20 and 50 p on 19 kinds of games.
RATES = 2.0, 5.0, 10.0, 20.0
SUMS = 0.7, 5.0
DESIGN_RATE = 1.0
DESIGN_SUM = 2.0
LEAST_REACH = 0.01
LONGEST = 1.2
CANDIDATES = tuple(product(RATES, SUMS))
MOST_COMPARED = 200  # points of the evidence
MOST_KEPT = 32  # processes: one of 500 pairs takes 5 MB


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
    def by_rank(cls, p: int, rate: float, total: float) -> "RankedKernel":
        """Return the kernel for p players, with reaches that sum to `total`."""
        reach = np.exp(-rate * np.arange(p) / p) + LEAST_REACH
        reach = np.minimum(reach * total / reach.sum(), LONGEST)
        return cls(reach, LOWEST, NOISE, SIZE)


class RankedProcess(Process):
    """A process for many rows: it keeps the inverse matrix to solve their values."""

    def solve(self, values: np.ndarray) -> np.ndarray:
        """Return the inverse of the covariance matrix times values ``(n, k)``."""
        return self.inverse @ values


@lru_cache(maxsize=MOST_KEPT)
def ranked_process(
    p: int, n: int, packed: bytes, rate: float, total: float
) -> RankedProcess:
    """Return the process of a candidate at n points, given as bits."""
    bits = np.unpackbits(np.frombuffer(packed, dtype=np.uint8), count=n * p)
    points = Pairs(2.0 * bits.reshape(n, p) - 1, np.empty((n, 0)))
    return RankedProcess(points, RankedKernel.by_rank(p, rate, total), OddValues())


def candidate_posterior(
    points: Pairs, ranked: np.ndarray, candidate: tuple[float, float]
) -> Posterior:
    """Return the posterior of a candidate, its players by rank."""
    packed = np.packbits(points.signs[:, ranked] > 0).tobytes()
    process = ranked_process(len(ranked), len(points), packed, *candidate)
    return Posterior(process, points.values)


def ranked_posterior(odd: Pairs, ranked: np.ndarray) -> Posterior:
    """Return the posterior with the largest evidence on some points, its players by rank.

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
    compared = thinned(points, MOST_COMPARED)
    log_evidence = []
    for candidate in CANDIDATES:
        posterior = candidate_posterior(compared, ranked, candidate)
        # log density of the values at their best scales, as a mean over outputs
        log_fit = -0.5 * len(compared) * np.log(posterior.scale).mean()
        log_volume = np.log(np.diag(posterior.process.factor)).sum()
        log_evidence.append(log_fit - log_volume)
    best = CANDIDATES[int(np.argmax(log_evidence))]
    return candidate_posterior(points, ranked, best)


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
