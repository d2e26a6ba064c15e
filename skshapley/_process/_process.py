"""Gaussian-process posterior of a functional of a game, given values at observed points."""

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from scipy.linalg import cho_solve, cholesky, lapack, solve_triangular

from skshapley._process._functionals import Functional
from skshapley._process._kernel import PartKernel
from skshapley._process._pairs import Pairs

CHUNK_NUMBERS = 2**22  # covariances in one step, 32 MB


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
        self, points: Pairs, kernel: PartKernel, functional: Functional
    ) -> None:
        self.points = points
        self.kernel = kernel
        self.functional = functional
        # the transpose of a symmetric matrix has the order of LAPACK, and needs no copy
        covariance = kernel.gram(points).T
        self.factor = cholesky(
            covariance, lower=True, overwrite_a=True, check_finite=False
        )
        self.entries = functional.entries(points.n_players)
        self.witnesses = functional.witnesses(points.n_players)

    def solve(self, values: np.ndarray) -> np.ndarray:
        """Return the inverse of the covariance matrix times values ``(n, k)``."""
        return cho_solve((self.factor, True), values, check_finite=False)

    def halves(self, covariances: np.ndarray) -> np.ndarray:
        """Return the inverse of the factor times covariances ``(e, n)``, ``(n, e)``."""
        return solve_triangular(
            self.factor, covariances.T, lower=True, check_finite=False
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
            prior = self.functional.variances(self.kernel, entries, self.points.blocks)
            variance = prior - np.einsum("ne,ne->e", explained, explained)
            out.append(np.maximum(variance, 0.0))
        return np.concatenate(out)

    def means(self, weights: np.ndarray) -> np.ndarray:
        """Return the posterior means of all entries, ``(e, k)``, from solved values."""
        return np.concatenate(
            [covariances @ weights for _, covariances in self._chunks()]
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
    values : ndarray of shape (n, k)

    Attributes
    ----------
    scale : ndarray of shape (k,)
        Variance of each output relative to the prior's: y' K^-1 y/n.
    """

    def __init__(self, process: Process, values: np.ndarray) -> None:
        self.process = process
        self.values = values
        self._weights = process.solve(values)
        self.scale = np.einsum("nk,nk->k", values, self._weights) / len(values)

    @cached_property
    def means(self) -> np.ndarray:
        """The posterior means of all entries of the functional, ``(e, k)``."""
        return self.process.means(self._weights)

    @property
    def witnesses(self) -> np.ndarray:
        """The posterior means of the entries that calibrate the errors, ``(m, k)``."""
        return self.means[self.process.witnesses]

    @cached_property
    def left_out(self) -> np.ndarray:
        """The errors of values predicted from all other values, ``(n, k)``.

        Rasmussen & Williams (2006), Gaussian Processes for Machine Learning, Eqs 5.10
        to 5.12.
        """
        return self._weights * self.process.left_out_variance[:, None]

    def mean(self, signs: np.ndarray) -> np.ndarray:
        """Return the posterior means at new points, ``(m, k)``, without blocks."""
        process = self.process
        return process.kernel.cross(signs, process.points.signs) @ self._weights
