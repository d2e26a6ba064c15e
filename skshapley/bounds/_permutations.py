"""Bounds of weighted sets of permutations, after Mitchell, Cooper, Frank & Holmes (2022).

A player's marginal contribution is a function f of the permutation. In the space of a kernel K, the
error of a weighted mean of f is at most the discrepancy of the set times the norm of f, which the
paper calls its variation: Koksma and Hlawka's inequality of quadrature.
"""

import numpy as np
from numpy.typing import NDArray

from skshapley.bounds._numbers import Numbers


def quadrature_error(discrepancy, variation) -> Numbers:
    """Return a bound on the error of a weighted mean over permutations: D V.

    Parameters
    ----------
    discrepancy : array-like
        D, of the set and its weights: `skshapley.diagnostics.permutation_discrepancy`.
    variation : array-like
        V, of the function that is averaged, by the same kernel: `function_variation`.

    Returns
    -------
    error : ndarray or float
        In the units of the variation.

    References
    ----------
    Mitchell, Cooper, Frank & Holmes (2022), Sampling permutations for Shapley value estimation,
    JMLR 23, section 3.3.

    Examples
    --------
    >>> from skshapley.bounds import quadrature_error
    >>> float(quadrature_error(0.5, 3.0))
    1.5
    """
    return np.asarray(discrepancy, dtype=float) * np.asarray(variation, dtype=float)


def function_variation(values, gram) -> Numbers:
    """Return the norm of functions of permutations in the space of a kernel: sqrt(f' K^-1 f).

    Parameters
    ----------
    values : array-like of shape (n,) or (n, p)
        At all n = p! permutations, such as the marginal contributions of each player.
    gram : array-like of shape (n, n)
        The kernel between all permutations, positive definite: of the kernels of the paper only
        Mallows' is.

    Returns
    -------
    variation : float or ndarray of shape (p,)

    Raises
    ------
    ValueError
        If the kernel is not positive definite.

    References
    ----------
    Mitchell, Cooper, Frank & Holmes (2022), Sampling permutations for Shapley value estimation,
    JMLR 23, section 3.3.

    Examples
    --------
    >>> from itertools import permutations
    >>> import numpy as np
    >>> from skshapley.bounds import function_variation
    >>> from skshapley.samplers import MallowsKernel
    >>> orders = np.array(list(permutations(range(3))))
    >>> first = (orders[:, 0] == 0) * 1.0  # a player who wins if it is the first
    >>> function_variation(first, MallowsKernel()(orders, orders)).round(3)
    np.float64(1.316)
    """
    values, gram = np.asarray(values, dtype=float), np.asarray(gram, dtype=float)
    try:
        factor = np.linalg.cholesky(gram)
    except np.linalg.LinAlgError:
        raise ValueError(
            f"function_variation got a kernel matrix of shape {gram.shape} that is not positive"
            f" definite: choose MallowsKernel, the only one of the paper's that is."
        ) from None
    return np.sqrt((np.linalg.solve(factor, values) ** 2).sum(axis=0))


def dot_product_bounds(tau) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return between which numbers the dot product of two permutations lies, by Kendall's tau.

    Of rank vectors that are centred and scaled to norm 1. The limits hold up to a term O(1/p).

    Parameters
    ----------
    tau : array-like
        Kendall's tau, 1 - 2 n_dis / C(p, 2).

    Returns
    -------
    lower, upper : ndarray or float
        3 tau - 2 + 4 ((1 - tau)/2)^(3/2) and 3 tau + 2 - 4 ((1 + tau)/2)^(3/2).

    References
    ----------
    Mitchell, Cooper, Frank & Holmes (2022), Sampling permutations for Shapley value estimation,
    JMLR 23, Theorem 2.

    Examples
    --------
    >>> from skshapley.bounds import dot_product_bounds
    >>> [part.round(3).tolist() for part in dot_product_bounds([-1.0, 0.0, 1.0])]
    [[-1.0, -0.586, 1.0], [-1.0, 0.586, 1.0]]
    """
    tau = np.asarray(tau, dtype=float)
    lower = 3 * tau - 2 + 4 * ((1 - tau) / 2) ** 1.5
    return lower, 3 * tau + 2 - 4 * ((1 + tau) / 2) ** 1.5
