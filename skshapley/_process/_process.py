"""Gaussian-process posterior of a functional of a game, and the pairs that inform it most.

Some processes are made once for p players: rows to explain rank their players. The
strength of players in a game falls with their rank. Players are ranked by their effects
as single players, and the reaches of a process fall geometrically. The process then
depends on p, the number of pairs, the rate of the fall and the sum of the reaches alone,
so its matrices serve all rows and games. The evidence chooses among few rates and sums.
"""

from collections.abc import Iterator
from functools import cached_property, lru_cache
from itertools import product

import numpy as np
from scipy.linalg import cho_solve, cholesky, lapack, solve_triangular

from skshapley._process._functionals import Functional, GameValues, OddValues
from skshapley._process._kernel import OddKernel, PartKernel
from skshapley._process._pairs import Pairs, spread_places

CHUNK_NUMBERS = 2**22  # covariances in one step, 32 MB
# Largest share of distinct values in a game with steps, and digits of the comparison.
MOST_DISTINCT = 0.5
DIGITS = 9
TINY = np.finfo(float).tiny


class Process:
    """A Gaussian process at the evaluated points, for any values.

    Parameters
    ----------
    points : Pairs
        The evaluated points; their values are not used.
    kernel : PartKernel
    functional : Functional
    """

    def __init__(
        self,
        points: Pairs,
        kernel: PartKernel,
        functional: Functional,
    ) -> None:
        self.points = points
        self.kernel = kernel
        self.functional = functional
        # the transpose of a symmetric matrix has the order of LAPACK, and needs no copy
        self.factor = cholesky(
            kernel.gram(points).T,
            lower=True,
            overwrite_a=True,
            check_finite=False,
        )
        self.entries = functional.entries(points.n_players)
        self.witnesses = functional.witnesses(points.n_players)

    def solve(self, values: np.ndarray) -> np.ndarray:
        """Return the inverse of the covariance matrix times values ``(n, k)``."""
        return cho_solve((self.factor, True), values, check_finite=False)

    def halves(self, covariances: np.ndarray) -> np.ndarray:
        """Return the inverse of the factor times covariances ``(e, n)``, ``(n, e)``."""
        return solve_triangular(
            self.factor,
            covariances.T,
            lower=True,
            check_finite=False,
        )

    def covariances(self, entries: np.ndarray) -> np.ndarray:
        """Return the covariances of entries with the observed values, ``(e, n)``."""
        return self.functional.covariances(self.kernel, self.points, entries)

    @cached_property
    def witnessed(self) -> np.ndarray:
        """The covariances of the witnesses with the observed values, ``(m, n)``."""
        return self.covariances(self.entries[:, self.witnesses])

    @cached_property
    def influence(self) -> np.ndarray:
        """The witnesses if one point has value 1 and the others 0, for each point, ``(m, n)``."""
        return self.solve(self.witnessed.T).T

    @cached_property
    def squared_influence(self) -> np.ndarray:
        """The squared influence of each point, summed over the witnesses, ``(n,)``."""
        return (self.influence**2).sum(axis=0)

    def _chunks(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield all entries and their covariances with the values, in parts of bounded size."""
        total = self.entries.shape[1]
        step = max(1, CHUNK_NUMBERS // len(self.points))
        if total == len(self.witnesses):
            yield self.entries, self.witnessed
            return
        for start in range(0, total, step):
            part = self.entries[:, start : start + step]
            yield part, self.covariances(part)

    @cached_property
    def variance(self) -> np.ndarray:
        """The posterior variances of all entries at scale 1, ``(e,)``."""
        out = []
        for entries, covariances in self._chunks():
            explained = self.halves(covariances)
            out.append(
                np.maximum(
                    self.functional.variances(self.kernel, entries, self.points.blocks)
                    - np.einsum("ne,ne->e", explained, explained),
                    0.0,
                )
            )
        return np.concatenate(out)

    def means(self, weights: np.ndarray) -> np.ndarray:
        """Return the posterior means of all entries, ``(..., e, k)``, from solved values."""
        return np.concatenate(
            [covariances @ weights for _, covariances in self._chunks()],
            axis=-2,
        )

    @cached_property
    def left_out_variance(self) -> np.ndarray:
        """The variances of values predicted from all other values, at scale 1, ``(n,)``."""
        # 1/(K^-1)_jj. The diagonal of the inverse needs the inverse factor only: a
        # third of the operations of the whole inverse
        inverse = lapack.dtrtri(self.factor, lower=1)[0]
        return 1 / np.einsum("mn,mn->n", inverse, inverse)

    @cached_property
    def inverse(self) -> np.ndarray:
        """The inverse of the covariance matrix of the observed values, ``(n, n)``."""
        lower = lapack.dpotri(self.factor, lower=1)[0]
        return np.tril(lower) + np.tril(lower, -1).T


class Posterior:
    """A process and the observed values at its points.

    Parameters
    ----------
    process : Process
    values : ndarray of shape (..., n, k)
        The leading axis is for rows that share a process.

    Attributes
    ----------
    scale : ndarray of shape (..., k)
        Variance of each output relative to the prior's: y' K^-1 y/n.
    """

    def __init__(self, process: Process, values: np.ndarray) -> None:
        self.process = process
        self.values = values
        self._weights = process.solve(values)
        self.scale = (values * self._weights).sum(axis=-2) / values.shape[-2]

    @cached_property
    def means(self) -> np.ndarray:
        """The posterior means of all entries of the functional, ``(..., e, k)``."""
        return self.process.means(self._weights)

    @cached_property
    def left_out(self) -> np.ndarray:
        """The errors of values predicted from all other values, ``(..., n, k)``.

        Rasmussen & Williams (2006), Gaussian Processes for Machine Learning, Eqs 5.10
        to 5.12.
        """
        return self._weights * self.process.left_out_variance[:, None]

    @cached_property
    def repeated(self) -> np.ndarray:
        """The share of repeated values of each output, ``(..., 1, k)``.

        Pairs count once if they agree in the players that determine all values: pairs
        that differ in unused players only repeat a value without a step.
        """
        scale = np.maximum(np.abs(self.values).max(axis=-2, keepdims=True), TINY)
        rounded = np.round(self.values / scale, DIGITS)
        if np.diff(np.sort(rounded, axis=-2), axis=-2).all():
            return np.zeros(scale.shape)  # usual; no value repeats
        return np.apply_along_axis(
            repetition,
            -2,
            rounded,
            self.process.points.signs[:, np.argsort(-self.process.kernel.reach)],
        )[..., None, :]

    @property
    def in_steps(self) -> np.ndarray:
        """Whether the values of an output are mostly repeated, ``(..., 1, k)``."""
        return self.repeated >= 1 - MOST_DISTINCT

    def mean(self, signs: np.ndarray) -> np.ndarray:
        """Return the posterior means at new points, ``(m, k)``, without blocks."""
        process = self.process
        return process.kernel.cross(signs, process.points.signs) @ self._weights


def repetition(values: np.ndarray, signs: np.ndarray) -> float:
    """Return the share of repeated values among points of the players that determine them.

    Parameters
    ----------
    values : ndarray of shape (n,)
    signs : ndarray of shape (n, p)
        Of players in order of their reach. The first of them determine the values.
    """
    n_distinct = len(np.unique(values))
    if n_distinct == len(values):
        return 0.0
    points = np.column_stack([signs, values])
    points = points[np.lexsort(points.T[::-1])]
    changes = np.diff(points, axis=0) != 0
    first_change = changes.argmax(axis=1)
    # Neighbours that agree in the determining players have equal values.
    last_player = first_change[changes[:, -1]].max(initial=0)
    return 1 - n_distinct / (1 + (first_change <= last_player).sum())


def choose_pairs(
    process: Process,
    pool: np.ndarray,
    n: int,
    sizes: np.ndarray | None = None,
) -> np.ndarray:
    """Return the places in `pool` of `n` pairs, chosen one after the other.

    Each choice reduces the trace of the posterior covariance of the Shapley values the
    most. A step is one column of a pivoted Cholesky factorisation. It needs the pairs'
    positions, not their values. While `sizes` remain, the choice is among pairs of
    those sizes.

    Parameters
    ----------
    process : Process
        Without blocks, of Shapley values.
    pool : ndarray of shape (m, p)
        Signs of the pairs to choose from.
    n : int
    sizes : ndarray of shape (p // 2 + 1,), int, or None
        Number of pairs of each size to choose first. The size of a pair is its smaller
        size.

    Returns
    -------
    chosen : ndarray of shape (at most n,), int
    """
    kernel = process.kernel
    m, p = pool.shape
    points = Pairs(pool, np.empty((m, 0)))
    evaluated = process.halves(kernel.cross(pool, process.points.signs))
    gain = (
        process.functional.covariances(kernel, points, process.entries)
        - process.halves(process.witnessed).T @ evaluated
    )
    between = kernel.cross(pool, pool)
    prior = np.diag(between) + kernel.noise_at(points)
    between -= evaluated.T @ evaluated
    variance = np.diag(between) + kernel.noise_at(points)
    size = np.rint((p - np.abs(pool.sum(axis=1))) / 2).astype(int)
    n_of_size = np.zeros(p // 2 + 1, dtype=int) if sizes is None else sizes.copy()
    open_ = np.ones(m, dtype=bool)
    columns = np.empty((min(n, m), m))
    places = []
    for step in range(len(columns)):
        usable = open_ & (variance > 1e-9 * prior)
        if not usable.any():
            break
        required = usable & (n_of_size[size] > 0)
        usable = required if required.any() else usable
        reduction = np.einsum("pm,pm->m", gain, gain)
        at = int((reduction / np.where(usable, variance, np.inf)).argmax())
        places.append(at)
        n_of_size[size[at]] -= 1
        open_[at] = False
        column = between[at] - columns[:step, at] @ columns[:step]
        column /= np.sqrt(variance[at])
        gain -= np.outer(gain[:, at] / np.sqrt(variance[at]), column)
        columns[step] = column
        variance -= column**2
    return np.array(places, dtype=np.intp)


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
MOST_SIZES = 16  # numbers of players and pairs


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
        """Return the inverse of the covariance matrix times values ``(..., n, k)``."""
        return self.inverse @ values


@lru_cache(maxsize=MOST_SIZES)
def ranked_points(p: int, n: int, packed: bytes) -> Pairs:
    """Return the pairs of players by rank, given as bits; rows with these pairs share it."""
    bits = np.unpackbits(np.frombuffer(packed, dtype=np.uint8), count=n * p)
    return Pairs(2.0 * bits.reshape(n, p) - 1, np.empty((n, 0)))


@lru_cache(maxsize=MOST_KEPT)
def ranked_process(points: Pairs, rate: float, total: float) -> RankedProcess:
    """Return the process of a candidate."""
    return RankedProcess(
        points,
        RankedKernel.by_rank(points.n_players, rate, total),
        GameValues(),
    )


@lru_cache(maxsize=MOST_SIZES)
def compared_processes(points: Pairs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return some places, and each candidate's inverse and log volume at these points."""
    most = min(len(points), MOST_COMPARED)
    # the first points have the outer sizes
    places = spread_places(len(points), most, n_first=most // 2)
    compared = points.take(places)
    processes = [
        RankedProcess(
            compared,
            RankedKernel.by_rank(points.n_players, *pair),
            OddValues(),
        )
        for pair in CANDIDATES
    ]
    inverses = np.stack([process.inverse for process in processes])
    return places, inverses, -np.linalg.slogdet(inverses)[1] / 2


def best_candidates(points: Pairs, values: np.ndarray) -> np.ndarray:
    """Return the candidate with the largest evidence for each row, ``(r,)`` int.

    Parameters
    ----------
    points : Pairs
        Of `ranked_points`.
    values : ndarray of shape (r, n, k)
    """
    places, inverses, log_volumes = compared_processes(points)
    compared = values[:, places]
    scale = (compared * (inverses[:, None] @ compared)).sum(axis=2)
    # log density of the values at their best scales, as a mean over outputs
    return (
        -0.5 * len(places) * np.log(np.maximum(scale, TINY)).mean(axis=2)
        - log_volumes[:, None]
    ).argmax(axis=0)


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
    return np.take_along_axis(
        players,
        np.argsort(-strength, axis=1, kind="stable"),
        axis=1,
    )
