"""What is believed of the Shapley values once values have been seen."""

from functools import cached_property

import numpy as np
from scipy.linalg import cho_solve, cholesky, lapack, solve_triangular

from skshapley._odd._functional import functional, functional_variance
from skshapley._odd._hyper import Hyper
from skshapley._odd._kernel import cross, gram, noise
from skshapley._odd._pairs import Pairs, size_roughness


class Posterior:
    """The process given its hyper-parameters and the values seen.

    Parameters
    ----------
    pairs : Pairs
    hyper : Hyper

    Attributes
    ----------
    scale : ndarray of shape (k,)
        Variance of each output relative to the prior's: y' K^-1 y/n.
    """

    def __init__(self, pairs: Pairs, hyper: Hyper):
        self.pairs, self.hyper = pairs, hyper
        self._factor = cholesky(gram(pairs, hyper), lower=True, check_finite=False)
        self._weights = cho_solve((self._factor, True), pairs.values, check_finite=False)
        self.scale = np.einsum("nk,nk->k", pairs.values, self._weights) / len(pairs)

    @cached_property
    def _functional(self):
        return functional(self.pairs, self.hyper)

    def shapley(self) -> np.ndarray:
        """Return the posterior means of the Shapley values, ``(p, k)``."""
        return self._functional @ self._weights

    def shapley_variance(self) -> np.ndarray:
        """Return their posterior variances at scale 1, ``(p,)``."""
        seen = solve_triangular(self._factor, self._functional.T, lower=True, check_finite=False)
        prior = functional_variance(self.hyper, self.pairs.n_blocks)
        return np.maximum(prior - np.einsum("np,np->p", seen, seen), 0.0)

    def left_out(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the errors of values predicted from the others ``(n, k)``, variances ``(n,)``.

        Rasmussen & Williams (2006), Gaussian Processes for Machine Learning, Eqs 5.10 to 5.12.
        """
        inverse, _ = lapack.dpotri(self._factor, lower=1)
        variance = 1 / np.diag(inverse)
        return self._weights * variance[:, None], variance

    def predict(self, signs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return means ``(m, k)`` and variances at scale 1 ``(m,)`` of values, without blocks."""
        between = cross(signs, self.pairs.signs, self.hyper)
        seen = solve_triangular(self._factor, between.T, lower=True, check_finite=False)
        size = np.abs(signs.sum(axis=1)) / signs.shape[1]
        prior = self.hyper.linear + 1 + self.hyper.size * size
        prior = prior + noise(size_roughness(signs), self.hyper)
        variance = np.maximum(prior - np.einsum("nm,nm->m", seen, seen), 1e-12 * prior)
        return between @ self._weights, variance

    def mean(self, signs: np.ndarray) -> np.ndarray:
        """Return the posterior means at new points, ``(m, k)``, without blocks."""
        return cross(signs, self.pairs.signs, self.hyper) @ self._weights

    def factor(self) -> np.ndarray:
        """Return the lower Cholesky factor of the covariance matrix, ``(n, n)``."""
        return self._factor

    def covariances(self) -> np.ndarray:
        """Return the covariances of the Shapley values and the values seen, ``(p, n)``."""
        return self._functional
