"""Kernels on permutations: the similarity of two orders of the players, and its mean.

Mitchell, Cooper, Frank & Holmes, "Sampling permutations for Shapley value estimation",
JMLR 23 (2022), section 3. Their sigma(i) is the rank of player i, so kernels compare
*ranks*, while the package stores orders: ``permutations[k]`` is the player of rank k.
Relabelling the players then does not change a kernel, and its mean over uniform
permutations is equal for all permutations.

The number of discordant pairs follows from a product of signs. Each pair of players has
one sign, which says who comes first. Sums of signs are exact in single precision.

Permutations are chosen by section 3.1 (kernel herding), section 3.2 and Algorithm 1
(sequential Bayesian quadrature), and weighted by Eq 8 (the weights minimise the
discrepancy among weights with sum one). Each permutation is the best of some uniform
candidates, by its similarity to the earlier ones. z is the mean of the kernel and K its
matrix.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import comb

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from skshapley._tools import uniform_permutations


@dataclass(frozen=True)
class PermutationKernel(ABC):
    """Base class of kernels on permutations; kernels with equal parameters are equal.

    Attributes
    ----------
    why_no_weights : str
        The reason if a system with this kernel's matrix lacks the solution that
        Bayesian quadrature needs; empty if it has one.
    """

    why_no_weights = "it is not known to be strictly positive definite"

    def __call__(
        self,
        first: np.ndarray,
        second: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the kernel of two sets of permutations.

        Parameters
        ----------
        first : ndarray of shape (n, p), int
        second : ndarray of shape (m, p), int, or None
            None for `first` again.

        Returns
        -------
        matrix : ndarray of shape (n, m)
        """
        features = self.features(first)
        return self.matrix(
            features,
            features if second is None else self.features(second),
            first.shape[1],
        )

    def features(self, permutations: np.ndarray) -> np.ndarray:
        """Return the kernel's features of permutations ``(n, p)``, one column each: ``(f, n)``.

        By default, the order of each pair of players, as signs.
        """
        # float32 runs through BLAS at twice the speed; sums of signs are exact up to
        # 2^24 pairs.
        rank = np.argsort(permutations, axis=1).T.astype(np.float32)
        first, second = np.triu_indices(len(rank), 1)
        return np.sign(rank[second] - rank[first])

    @abstractmethod
    def matrix(
        self,
        first: np.ndarray,
        second: np.ndarray,
        n_players: int,
    ) -> np.ndarray:
        """Return the kernel of two sets of features ``(f, n)`` and ``(f, m)``, ``(n, m)``."""

    @abstractmethod
    def mean(self, n_players: int) -> float:
        """Return the expected kernel of any permutation with a uniform one."""

    def check_weights(self) -> None:
        """Raise a ValueError if there are no Bayesian weights for this kernel."""
        if self.why_no_weights:
            raise ValueError(
                f"{type(self).__name__} has no Bayesian weights: "
                f"{self.why_no_weights}; use MallowsKernel()."
            )

    def of_pairs(self) -> "PermutationKernel":
        """Return the kernel between pairs of a permutation and its reverse, from the first of each.

        Raises
        ------
        ValueError
            If a permutation and its reverse always cancel, so that all pairs are equal.
        """
        raise ValueError(
            f"{type(self).__name__} cannot distinguish pairs of a permutation and its "
            "reverse, because the two cancel for every pair; set paired=False or use "
            "MallowsKernel()."
        )


@dataclass(frozen=True)
class MallowsKernel(PermutationKernel):
    """exp(-lam n_dis / C(p, 2)), with n_dis the number of discordant pairs.

    Strictly positive definite: different permutations have different features.

    Parameters
    ----------
    lam : float, default=4.0
        Decay of the similarity with distance; positive.

    References
    ----------
    Mitchell, Cooper, Frank & Holmes (2022), Sampling permutations for Shapley value
    estimation, JMLR 23, section 3; the mean follows from the generating function of
    inversions.

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley.samplers import MallowsKernel
    >>> kernel = MallowsKernel(lam=1.0)
    >>> kernel(np.array([[0, 1, 2]]), np.array([[0, 1, 2], [2, 1, 0]])).round(4)
    array([[1.    , 0.3679]])
    """

    lam: float = 4.0
    why_no_weights = ""

    def __post_init__(self) -> None:
        if not self.lam > 0:
            raise ValueError(
                f"MallowsKernel needs lam > 0; got lam={self.lam!r}. Mitchell et al. "
                "use 4."
            )

    def matrix(
        self,
        first: np.ndarray,
        second: np.ndarray,
        n_players: int,
    ) -> np.ndarray:
        """Return exp(-lam n_dis / C(p, 2)), from a table."""
        return self._table(n_players)[count_discordant(first, second)]

    def _table(self, n_players: int) -> np.ndarray:
        pairs = comb(n_players, 2)
        return np.exp(-self.lam * np.arange(pairs + 1) / max(pairs, 1))

    def mean(self, n_players: int) -> float:
        """Return prod_j (1 - exp(-q j)) / (j (1 - exp(-q))), j = 1..p, with q = lam / C(p, 2)."""
        if n_players < 2:
            return 1.0
        q, j = self.lam / comb(n_players, 2), np.arange(1, n_players + 1)
        # Logarithms keep the product of p factors within range.
        return float(np.exp(np.log(np.expm1(-q * j) / (j * np.expm1(-q))).sum()))

    def of_pairs(self) -> "PermutationKernel":
        """Return the mean of this kernel over the members of two pairs."""
        return _MallowsOfPairs(self.lam)


@dataclass(frozen=True)
class _MallowsOfPairs(MallowsKernel):
    def _table(self, n_players: int) -> np.ndarray:
        table = super()._table(n_players)
        # Reversing one permutation swaps concordant and discordant pairs, which
        # reverses the table.
        return (table + table[::-1]) / 2


@dataclass(frozen=True)
class KendallKernel(PermutationKernel):
    """Kendall's tau, (concordant - discordant pairs) / C(p, 2); its mean is 0.

    References
    ----------
    Mitchell, Cooper, Frank & Holmes (2022), Sampling permutations for Shapley value
    estimation, JMLR 23, section 3.

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley.samplers import KendallKernel
    >>> KendallKernel()(np.array([[0, 1, 2], [2, 1, 0]]))
    array([[ 1., -1.],
           [-1.,  1.]])
    """

    why_no_weights = "its mean is 0, so that all weights would be 0"

    def matrix(
        self,
        first: np.ndarray,
        second: np.ndarray,
        n_players: int,
    ) -> np.ndarray:
        """Return 1 - 2 n_dis / C(p, 2)."""
        return 1 - 2 / max(comb(n_players, 2), 1) * count_discordant(first, second)

    def mean(self, n_players: int) -> float:
        """Return 0 (1 for a single player)."""
        return 0.0 if n_players > 1 else 1.0


@dataclass(frozen=True)
class SpearmanKernel(PermutationKernel):
    """Spearman's kernel, the product sum_i sigma(i) sigma'(i) of ranks 1..p.

    References
    ----------
    Mitchell, Cooper, Frank & Holmes (2022), Sampling permutations for Shapley value
    estimation, JMLR 23, section 3; the mean is p (p + 1)^2 / 4.

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley.samplers import SpearmanKernel
    >>> SpearmanKernel()(np.array([[0, 1, 2], [2, 1, 0]]))
    array([[14., 10.],
           [10., 14.]])
    """

    why_no_weights = (
        "the rank of its matrix is at most p, so that weights are not unique"
    )

    def features(self, permutations: np.ndarray) -> np.ndarray:
        """Return the ranks 1..p."""
        return np.ascontiguousarray(np.argsort(permutations, axis=1).T + 1.0)

    def matrix(
        self,
        first: np.ndarray,
        second: np.ndarray,
        n_players: int,
    ) -> np.ndarray:
        """Return the products of ranks."""
        return first.T @ second

    def mean(self, n_players: int) -> float:
        """Return p (p + 1)^2 / 4."""
        return n_players * (n_players + 1) ** 2 / 4


KERNELS: Mapping[str, type[PermutationKernel]] = {
    "mallows": MallowsKernel,
    "kendall": KendallKernel,
    "spearman": SpearmanKernel,
}


def count_discordant(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the number of discordant pairs of two sets of signs, ``(n, m)`` int."""
    return ((len(first) - first.T @ second) / 2).astype(np.intp)


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
        pick = int(
            np.argmax(np.where(new, missing**2 / np.where(new, news, 1.0), -1.0))
        )
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
        permutations,
        axis=0,
        return_inverse=True,
        return_counts=True,
    )
    matrix = kernel(distinct)
    ones = np.ones(len(distinct))
    try:
        weights = cho_solve(cho_factor(matrix, lower=True), ones)
    except LinAlgError:  # nearly constant kernel: solution of least norm
        weights = np.linalg.pinv(matrix, hermitian=True) @ ones
    weights /= weights.sum()
    # Equal permutations make the matrix singular, so each of them is solved once.
    return (weights / count)[place.ravel()]
