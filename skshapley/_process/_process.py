"""Gaussian-process posterior of a functional of a game, given values at observed points."""

from functools import cached_property

import numpy as np
from scipy.linalg import cho_solve, cholesky, lapack, solve_triangular

from skshapley._process._functionals import Functional
from skshapley._process._kernel import Kernel
from skshapley._process._pairs import Blocks, Pairs

CHUNK_NUMBERS = 2**22  # covariances in one step, 32 MB


class Process:
    """A Gaussian process at the evaluated points, for any values.

    Rows with the same points and hyper-parameters share the factorisation.

    Parameters
    ----------
    points : Pairs
        The evaluated points; their values are not used.
    kernel : Kernel
    functional : Functional
    """

    def __init__(self, points: Pairs, kernel: Kernel, functional: Functional) -> None:
        self.points, self.kernel, self.functional = points, kernel, functional
        self.factor = cholesky(kernel.gram(points), lower=True, check_finite=False)
        self.entries = functional.entries(points.n_players)
        self._witnesses = self.entries[:, functional.witnesses(points.n_players)]

    def solve(self, values: np.ndarray) -> np.ndarray:
        """Return the inverse of the covariance matrix times values ``(n, k)``."""
        return cho_solve((self.factor, True), values, check_finite=False)

    def halves(self, covariances: np.ndarray) -> np.ndarray:
        """Return the inverse of the factor times covariances ``(e, n)``, ``(n, e)``."""
        return solve_triangular(self.factor, covariances.T, lower=True, check_finite=False)

    def covariances(self, entries: np.ndarray) -> np.ndarray:
        """Return the covariances of entries with the observed values, ``(e, n)``."""
        return self.functional.covariances(self.kernel, self.points, entries)

    def prior_variance(self, entries: np.ndarray, blocks: Blocks | None) -> np.ndarray:
        """Return the prior variances of entries, with or without blocks of rows, ``(e,)``."""
        return self.functional.variances(self.kernel, entries, blocks)

    def _left(self, entries: np.ndarray, covariances: np.ndarray) -> np.ndarray:
        """Return the posterior variances of entries at scale 1, ``(e,)``."""
        prior = self.prior_variance(entries, self.points.blocks)
        explained = self.halves(covariances)
        return np.maximum(prior - np.einsum("ne,ne->e", explained, explained), 0.0)

    @cached_property
    def witnessed(self) -> np.ndarray:
        """The covariances of the witnesses with the observed values, ``(m, n)``."""
        return self.covariances(self._witnesses)

    @cached_property
    def influence(self) -> np.ndarray:
        """The witnesses if one point has value 1 and the others 0, for each point, ``(m, n)``."""
        return self.solve(self.witnessed.T).T

    @cached_property
    def variance(self) -> np.ndarray:
        """The posterior variances of all entries at scale 1, ``(e,)``."""
        if not self._chunks:
            return self._left(self.entries, self.witnessed)
        return np.concatenate([self._left(part, self.covariances(part)) for part in self._chunks])

    def means(self, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the posterior means of all entries, ``(e, k)``, from values and solved values."""
        if not self._chunks:
            return self.influence @ values
        return np.concatenate([self.covariances(part) @ weights for part in self._chunks])

    @cached_property
    def _chunks(self) -> list[np.ndarray]:
        """All entries in parts of bounded size; empty if every entry is a witness."""
        total, step = self.entries.shape[1], max(1, CHUNK_NUMBERS // len(self.points))
        if total == self._witnesses.shape[1]:
            return []
        return [self.entries[:, start : start + step] for start in range(0, total, step)]

    @cached_property
    def left_out_variance(self) -> np.ndarray:
        """The variances of values predicted from all other values, at scale 1, ``(n,)``."""
        # 1/(K^-1)_jj. The diagonal of the inverse needs the inverse factor only: a third of the
        # operations of the whole inverse
        inverse, _ = lapack.dtrtri(self.factor, lower=1)
        return 1 / np.einsum("mn,mn->n", inverse, inverse)

    @cached_property
    def inverse(self) -> np.ndarray:
        """The inverse of the covariance matrix of the observed values, ``(n, n)``."""
        lower, _ = lapack.dpotri(self.factor, lower=1)
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
        self.process, self.values = process, values
        self._weights = process.solve(values)
        self.scale = np.einsum("nk,nk->k", values, self._weights) / len(values)

    @cached_property
    def means(self) -> np.ndarray:
        """The posterior means of all entries of the functional, ``(e, k)``."""
        return self.process.means(self.values, self._weights)

    @cached_property
    def witnesses(self) -> np.ndarray:
        """The posterior means of the entries that calibrate the errors, ``(m, k)``."""
        return self.process.influence @ self.values

    @cached_property
    def left_out(self) -> np.ndarray:
        """The errors of values predicted from all other values, ``(n, k)``.

        Rasmussen & Williams (2006), Gaussian Processes for Machine Learning, Eqs 5.10 to 5.12.
        """
        return self._weights * self.process.left_out_variance[:, None]

    def mean(self, signs: np.ndarray) -> np.ndarray:
        """Return the posterior means at new points, ``(m, k)``, without blocks."""
        process = self.process
        return process.kernel.cross(signs, process.points.signs) @ self._weights
