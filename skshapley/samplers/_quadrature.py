"""Greedy choice and weights of permutations: kernel herding and Bayesian quadrature.

Mitchell, Cooper, Frank & Holmes, "Sampling permutations for Shapley value estimation",
JMLR 23 (2022): section 3.1 (kernel herding), section 3.2 and Algorithm 1 (sequential
Bayesian quadrature), Eq 8 (the weights minimise the discrepancy among weights with sum
one). Each permutation is the best of some uniform candidates, by its similarity to the
earlier ones. z is the mean of the kernel and K its matrix.
"""

from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from skshapley._tools._random import uniform_permutations
from skshapley.samplers._kernels import PermutationKernel

# Relative variance below which a candidate repeats earlier choices; its division would
# be rounding
LEAST_NEWS = 1e-9


def greedy_permutations(
    kernel: PermutationKernel,
    n: int,
    p: int,
    rng: np.random.Generator,
    candidates: int,
    choose: Callable[[np.ndarray], int],
) -> np.ndarray:
    """Choose `n` permutations of `p` players one by one, each among uniform candidates.

    Parameters
    ----------
    kernel : PermutationKernel
    n, p : int
    rng : numpy.random.Generator
    candidates : int
        Number of candidates for each choice.
    choose : callable
        From the kernel of the candidates with the choices so far, ``(candidates, k)``,
        to the index of the best one.

    Returns
    -------
    permutations : ndarray of shape (n, p)
    """
    permutations = np.empty((n, p), dtype=np.intp)
    # Room for all choices at once, so that each step adds a column without a copy.
    features = np.repeat(kernel.features(np.arange(p)[None]), n, axis=1)
    for k in range(n):
        drawn = uniform_permutations(rng, candidates, p)
        drawn_features = kernel.features(drawn)
        pick = choose(kernel.matrix(drawn_features, features[:, :k], p))
        permutations[k] = drawn[pick]
        features[:, k] = drawn_features[:, pick]
    return permutations


def least_alike(likeness: np.ndarray) -> int:
    """Return the candidate least similar to the choices so far: kernel herding (section 3.1)."""
    return int(np.argmin(likeness.sum(axis=1)))


class MostNews:
    """Choose the candidate that reduces the variance of the integral most: Algorithm 1.

    With L the Cholesky factor of K and a = L^-1 z, a candidate c reduces it by
    ``(z - a . L^-1 k_c)^2 / (K(c, c) - |L^-1 k_c|^2)``. The inverse of L grows row by
    row. Candidates that repeat an earlier choice reduce nothing. If all do, the first
    is taken and the factor does not change.
    """

    def __init__(self, kernel: PermutationKernel, n: int, p: int) -> None:
        self._own = float(kernel(np.arange(p)[None])[0, 0])
        self._mean = kernel.mean(p)
        self._inverse = np.zeros((n, n))
        self._solved = np.zeros(n)
        self._distinct = np.empty(0, dtype=np.intp)

    def __call__(self, likeness: np.ndarray) -> int:
        """Return the best candidate, and store it."""
        k = len(self._distinct)
        inverse = self._inverse[:k, :k]
        whitened = inverse @ likeness[:, self._distinct].T
        news = self._own - (whitened**2).sum(axis=0)
        new = news > LEAST_NEWS * self._own
        missing = self._mean - self._solved[:k] @ whitened
        gain = np.where(new, missing**2 / np.where(new, news, 1.0), -1.0)
        pick = int(np.argmax(gain))
        if new[pick]:
            diagonal = np.sqrt(news[pick])
            # The next row of L^-1 from the Cholesky recursion, in k^2 steps instead of
            # k^3.
            self._inverse[k, :k] = -(whitened[:, pick] @ inverse) / diagonal
            self._inverse[k, k] = 1 / diagonal
            self._solved[k] = missing[pick] / diagonal
            self._distinct = np.append(self._distinct, likeness.shape[1])
        return pick


def bayesian_weights(permutations: np.ndarray, kernel: PermutationKernel) -> np.ndarray:
    """Return the weights ``(n,)`` with sum one and the smallest discrepancy: K^-1 1 / (1' K^-1 1).

    These are the normalised weights K^-1 z of Bayesian quadrature. Without the
    normalisation, estimates would shrink. Repeated permutations share their weight.

    Raises
    ------
    ValueError
        If the kernel's system has no such solution.
    """
    kernel.check_weights()
    distinct, place, count = np.unique(
        permutations, axis=0, return_inverse=True, return_counts=True
    )
    matrix, ones = kernel(distinct), np.ones(len(distinct))
    try:
        weights = cho_solve(cho_factor(matrix, lower=True), ones)
    except LinAlgError:  # nearly constant kernel: solution of least norm
        weights = np.linalg.pinv(matrix, hermitian=True) @ ones
    weights /= weights.sum()
    # Equal permutations make the matrix singular, so each of them is solved once.
    return (weights / count)[place.ravel()]
