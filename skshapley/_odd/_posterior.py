"""What is believed of the Shapley values once values have been seen."""

from functools import cached_property

import numpy as np
from scipy.linalg import blas, cho_solve, cholesky, lapack, solve_triangular

from skshapley._odd._functional import functional, functional_variance
from skshapley._odd._hyper import Hyper
from skshapley._odd._kernel import cross, gram, noise
from skshapley._odd._pairs import Pairs, size_roughness
from skshapley._odd._regression import Regression

HELD_OUT = 3  # of every ten pairs
STRIDE = 7  # coprime to ten, so that pairs of every kind are held out
FEW_OUTPUTS = 3  # up to which a product each is less work than two solutions for all together
ROUNDING = 1e-5  # relative: an inverse that is further off is not used


class Process:
    """The process with its hyper-parameters and the points seen, whatever the values there.

    Its factorisation serves every instance that shares points and hyper-parameters. Subclasses tell
    something else than Shapley values by covariances and prior variances of their own.

    Parameters
    ----------
    points : Pairs
        Their values do not matter.
    hyper : Hyper
    """

    least_counted = 0.0  # how much a value counts in what is told at least, times their number
    _upper_inverse: np.ndarray | None = None
    doubts_steps = False  # whether steps may hide another one even where they are not predicted

    def __init__(self, points: Pairs, hyper: Hyper) -> None:
        self.points, self.hyper = points, hyper
        self.factor = cholesky(gram(points, hyper), lower=True, check_finite=False)

    def prepare(self) -> None:
        """Make the inverse too, for the many instances that share this process.

        Its upper triangle and the lower one of the factor share the memory of one matrix with a
        column more: whoever reads the factor reads its lower triangle alone. Where points are so
        close that an inverse holds too few digits, the factor goes on to serve alone.
        """
        n = len(self.points)
        inverse, _ = lapack.dtrtri(self.factor, lower=1)
        self.left_out_variance = 1 / np.einsum("mn,mn->n", inverse, inverse)
        inverse, _ = lapack.dlauum(inverse, lower=1, overwrite_c=1)
        told, apart = self.influence.sum(axis=0), self.covariances.sum(axis=0)
        apart = blas.dsymv(1.0, inverse, apart, lower=1) - told
        if np.abs(apart).max() > ROUNDING * np.abs(told).max():
            return
        both = np.empty((n, n + 1), order="F")
        both[:, :n] = self.factor
        np.copyto(both[:, 1:], inverse.T, where=~np.tri(n, k=-1, dtype=bool))
        self.factor, self._upper_inverse = both[:, :n], both[:, 1:]

    def weights(self, values: np.ndarray) -> np.ndarray:
        """Return the inverse of the covariance matrix times values ``(n, k)``."""
        inverse = self._upper_inverse
        if inverse is None or values.shape[1] > FEW_OUTPUTS:
            return cho_solve((self.factor, True), values, check_finite=False)
        return np.column_stack([blas.dsymv(1.0, inverse, column) for column in values.T.copy()])

    @cached_property
    def covariances(self) -> np.ndarray:
        """The covariances of the Shapley values and the values seen, ``(p, n)``."""
        return functional(self.points, self.hyper)

    @cached_property
    def prior_variance(self) -> np.ndarray:
        """The prior variances of the Shapley values at scale 1, ``(p,)``."""
        return functional_variance(self.hyper, self.points.blocks)

    @cached_property
    def shapley_variance(self) -> np.ndarray:
        """The posterior variances of the Shapley values at scale 1, ``(p,)``."""
        seen = solve_triangular(self.factor, self.covariances.T, lower=True, check_finite=False)
        return np.maximum(self.prior_variance - np.einsum("np,np->p", seen, seen), 0.0)

    @cached_property
    def influence(self) -> np.ndarray:
        """The Shapley values of a value of one at a point and zero at the others, ``(p, n)``."""
        return cho_solve((self.factor, True), self.covariances.T, check_finite=False).T

    @cached_property
    def left_out_variance(self) -> np.ndarray:
        """The variances of values predicted from all the others, at scale 1, ``(n,)``."""
        inverse, _ = lapack.dtrtri(np.tril(self.factor), lower=1)
        return 1 / np.einsum("mn,mn->n", inverse, inverse)

    @cached_property
    def inverse(self) -> np.ndarray:
        """The inverse of the covariance matrix of the values seen, ``(n, n)``."""
        lower, _ = lapack.dpotri(self.factor, lower=1)
        return np.tril(lower) + np.tril(lower, -1).T

    @cached_property
    def noise(self) -> np.ndarray:
        """The variance of each point that no smooth game explains, at scale 1, ``(n,)``."""
        return noise(self.points.roughness, self.hyper)

    @cached_property
    def regression(self) -> Regression:
        """Least squares on the same points."""
        return Regression(self.points)

    @cached_property
    def held(self) -> np.ndarray:
        """Which points are held out to see how well the others predict them, ``(n,)`` bool."""
        place = np.arange(len(self.points))
        return (place * STRIDE % 10 < HELD_OUT) & (place > 0)

    @cached_property
    def held_out(self) -> "Process":
        """The process with the same hyper-parameters that has not seen the points held out."""
        return Process(self.points.take(~self.held), self.hyper)


class Posterior:
    """A process and the values seen at its points.

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
        self._weights = process.weights(values)
        self.scale = np.einsum("nk,nk->k", values, self._weights) / len(values)

    @classmethod
    def of(cls, pairs: Pairs, hyper: Hyper) -> "Posterior":
        """Return the posterior of a process of its own."""
        return cls(Process(pairs, hyper), pairs.values)

    def shapley(self) -> np.ndarray:
        """Return the posterior means of the Shapley values, ``(p, k)``."""
        return self.process.influence @ self.values

    def left_out(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the errors of values predicted from the others ``(n, k)``, variances ``(n,)``.

        Rasmussen & Williams (2006), Gaussian Processes for Machine Learning, Eqs 5.10 to 5.12.
        """
        variance = self.process.left_out_variance
        return self._weights * variance[:, None], variance

    def predict(self, signs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return means ``(m, k)`` and variances at scale 1 ``(m,)`` of values, without blocks."""
        process, hyper = self.process, self.process.hyper
        between = cross(signs, process.points.signs, hyper)
        seen = solve_triangular(process.factor, between.T, lower=True, check_finite=False)
        size = np.abs(signs.sum(axis=1)) / signs.shape[1]
        prior = hyper.linear + 1 + hyper.size * size
        prior = prior + noise(size_roughness(signs), hyper)
        variance = np.maximum(prior - np.einsum("nm,nm->m", seen, seen), 1e-12 * prior)
        return between @ self._weights, variance

    def mean(self, signs: np.ndarray) -> np.ndarray:
        """Return the posterior means at new points, ``(m, k)``, without blocks."""
        return cross(signs, self.process.points.signs, self.process.hyper) @ self._weights
