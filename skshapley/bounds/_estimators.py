"""Bounds on the errors of permutations, Monte Carlo and leverage scores.

A player's marginal contribution is a function f of the permutation. In the space of a kernel K, the
error of a weighted mean of f is at most the discrepancy of the set times the norm of f, which the
paper calls its variation: Koksma and Hlawka's inequality of quadrature.

Musco & Witter (2025), Provably accurate Shapley value estimation via leverage score sampling, ICLR.
Shapley values minimise, among vectors with the sum v(all) - v(empty),

    R^2 = sum_S w_S (v(S) - v(empty) - sum_{i in S} phi_i)^2,  w_S = 1 / (C(d, s) s (d - s)),

over the coalitions S of sizes s from 1 to d - 1. With the sum constraint, this is a regression A
beta = b with A'A = I/d on vectors of sum zero. Its leverage scores are 1/C(d, s), and a solution
phi' has exactly the excess |phi' - phi|^2 / d.

The paper's theorem has unspecified constants. These functions specify them, for m independently
drawn coalitions and r = d - 1, the sum of the leverage scores. By a matrix Chernoff bound (Tropp
2012, Theorem 1.1), the smallest eigenvalue of the sampled Gram matrix is above 1/2 except with
probability r (2/e)^(m/(2 r)). The sampled product of A and the residuals has the mean square r R^2
/ m, so Markov's inequality completes the bound.
"""

import numpy as np
from numpy.typing import NDArray

# One number, or one for each entry of the given arrays
Numbers = np.float64 | NDArray[np.float64]


def one_of(owner, parameter, value, choices) -> None:
    """Raise ValueError unless a value is one of the choices."""
    if value not in choices:
        raise ValueError(f"{owner} got {parameter}={value!r}: choose one of {choices}.")


def hoeffding_permutations(epsilon, delta, spread, *, n_players=1) -> Numbers:
    """Return the number of permutations for Monte Carlo by Hoeffding's inequality.

    Then P(abs error >= epsilon) <= delta, for all `n_players` p simultaneously:
    n >= spread^2 log(2 p/delta) / (2 epsilon^2).

    Parameters
    ----------
    epsilon, delta : array-like
        Error, in the units of the game, and probability.
    spread : array-like
        Largest minus smallest marginal contribution of a player.
    n_players : int, default=1
        Number of players for a simultaneous bound on their errors (a union bound).

    Returns
    -------
    n_permutations : ndarray or float
        A whole number.

    References
    ----------
    Maleki, Tran-Thanh, Hines, Rahwan & Rogers (2013), Bounding the estimation error of
    sampling-based Shapley value approximation with/without stratifying,
    arXiv:1306.4265.

    Examples
    --------
    >>> from skshapley.bounds import hoeffding_permutations
    >>> float(hoeffding_permutations(0.01, 0.05, 1.0))
    18445.0
    """
    epsilon, delta, spread = (
        np.asarray(a, dtype=float) for a in (epsilon, delta, spread)
    )
    return np.ceil(spread**2 * np.log(2 * n_players / delta) / (2 * epsilon**2))


def chebyshev_permutations(epsilon, delta, variance, *, n_players=1) -> Numbers:
    """Return the number of permutations for Monte Carlo by Chebyshev's inequality.

    Then P(abs error >= epsilon) <= delta, for all `n_players` p simultaneously:
    n >= p variance / (delta epsilon^2).

    Parameters
    ----------
    epsilon, delta : array-like
        As for `hoeffding_permutations`.
    variance : array-like
        Variance of the marginal contribution of a player in a random permutation.
    n_players : int, default=1
        As for `hoeffding_permutations`.

    Returns
    -------
    n_permutations : ndarray or float
        A whole number.

    References
    ----------
    Maleki, Tran-Thanh, Hines, Rahwan & Rogers (2013), arXiv:1306.4265.

    Examples
    --------
    >>> from skshapley.bounds import chebyshev_permutations
    >>> float(chebyshev_permutations(0.01, 0.05, 0.1))
    20000.0
    """
    epsilon, delta, variance = (
        np.asarray(a, dtype=float) for a in (epsilon, delta, variance)
    )
    return np.ceil(n_players * variance / (delta * epsilon**2))


def quadrature_error(discrepancy, variation) -> Numbers:
    """Return a bound on the error of a weighted mean over permutations: D V.

    Parameters
    ----------
    discrepancy : array-like
        D, of the set and its weights: `skshapley.diagnostics.permutation_discrepancy`.
    variation : array-like
        V, of the averaged function, for the same kernel: `function_variation`.

    Returns
    -------
    error : ndarray or float
        In the units of the variation.

    References
    ----------
    Mitchell, Cooper, Frank & Holmes (2022), Sampling permutations for Shapley value
    estimation, JMLR 23, section 3.3.

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
        The kernel between all permutations. It must be positive definite; of the
        paper's kernels, only Mallows' is.

    Returns
    -------
    variation : float or ndarray of shape (p,)

    Raises
    ------
    ValueError
        If the kernel is not positive definite.

    References
    ----------
    Mitchell, Cooper, Frank & Holmes (2022), Sampling permutations for Shapley value
    estimation, JMLR 23, section 3.3.

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
    # Mallows' matrix of all permutations has the condition number 25 for 4 players, 517
    # for 5 and 23,000 for 6, so the factorisation loses at most five of sixteen digits.
    try:
        factor = np.linalg.cholesky(gram)
    except np.linalg.LinAlgError:
        raise ValueError(
            f"function_variation got a kernel matrix of shape {gram.shape} that is not "
            "positive definite: choose MallowsKernel, the paper's only positive "
            "definite kernel."
        ) from None
    return np.sqrt((np.linalg.solve(factor, values) ** 2).sum(axis=0))


def dot_product_bounds(tau) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return bounds of the dot product of two permutations, by Kendall's tau.

    The rank vectors are centred and scaled to norm 1. The bounds hold up to a term
    O(1/p).

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
    Mitchell, Cooper, Frank & Holmes (2022), Sampling permutations for Shapley value
    estimation, JMLR 23, Theorem 2.

    Examples
    --------
    >>> from skshapley.bounds import dot_product_bounds
    >>> [part.round(3).tolist() for part in dot_product_bounds([-1.0, 0.0, 1.0])]
    [[-1.0, -0.586, 1.0], [-1.0, 0.586, 1.0]]
    """
    tau = np.asarray(tau, dtype=float)
    lower = 3 * tau - 2 + 4 * ((1 - tau) / 2) ** 1.5
    return lower, 3 * tau + 2 - 4 * ((1 + tau) / 2) ** 1.5


RATE = (1 - np.log(2)) / 2  # exponent of the Chernoff bound at one half


def leverage_error(n_samples, n_players, residual, delta) -> Numbers:
    """Return a bound on the squared error of least squares on leverage samples.

    With a probability of at least 1 - delta, |phi' - phi|^2 <= 4 d r R^2 / (m (delta - delta_0)),
    where delta_0 = r exp(-(1 - log 2) m / (2 r)) is the failure probability of the Gram matrix.

    Parameters
    ----------
    n_samples : array-like
        Coalitions m, drawn independently by their leverage scores.
    n_players : int
        Number of players d, at least 2.
    residual : array-like
        R^2, the weighted sum of squared residuals of the Shapley values: 0 for additive games.
    delta : array-like
        A probability.

    Returns
    -------
    error : ndarray or float
        In squared units of the game; infinite if there are too few samples for a bound.

    References
    ----------
    Musco & Witter (2025), Provably accurate Shapley value estimation via leverage score sampling,
    ICLR, Theorem 1.1 and Corollary 4.1. Tropp (2012), User-friendly tail bounds for sums of random
    matrices, Foundations of Computational Mathematics 12.

    Examples
    --------
    >>> from skshapley.bounds import leverage_error
    >>> leverage_error([100, 1000, 10_000], 8, 0.01, 0.1).round(3)
    array([  inf, 0.022, 0.002])
    """
    samples, residual = (
        np.asarray(n_samples, dtype=float),
        np.asarray(residual, dtype=float),
    )
    rank = n_players - 1
    left = np.asarray(delta, dtype=float) - rank * np.exp(-RATE * samples / rank)
    # With too few samples, the failure probability exceeds delta and there is no bound.
    # For delta = .1, a bound needs 194 samples for 8 players, which have only 254
    # coalitions, and 490 for 16.
    positive = left > 0
    excess = np.where(
        positive, 4 * rank / (samples * np.where(positive, left, 1.0)), np.inf
    )
    return (n_players * excess * residual)[()]


def leverage_samples(epsilon, delta, n_players) -> Numbers:
    """Return the number of coalitions for a loss of at most 1 + epsilon times the smallest one.

    Then |A beta' - b|^2 <= (1 + epsilon) |A beta - b|^2 with a probability of at least
    1 - delta, that is |phi' - phi|^2 <= d epsilon R^2. It is O(d log(d / delta) + d / (delta
    epsilon)).

    Parameters
    ----------
    epsilon : array-like
        Positive.
    delta : array-like
        A probability: half for the Gram matrix and half for the residuals.
    n_players : int
        Number of players d, at least 2.

    Returns
    -------
    n_samples : ndarray or float
        A whole number.

    References
    ----------
    Musco & Witter (2025), Provably accurate Shapley value estimation via leverage score sampling,
    ICLR, Theorem 1.1.

    Examples
    --------
    >>> from skshapley.bounds import leverage_samples
    >>> leverage_samples([1.0, 0.1], 0.1, 8)
    array([ 560., 5600.])
    """
    epsilon, delta = np.asarray(epsilon, dtype=float), np.asarray(delta, dtype=float)
    rank = n_players - 1
    # The matrix must be well conditioned with probability 1 - delta / 2; the residuals
    # take the rest.
    for_gram = rank / RATE * np.log(2 * rank / delta)
    return np.ceil(np.maximum(for_gram, 8 * rank / (delta * epsilon)))
