"""Bounds of least squares on coalitions that are drawn by their leverage scores.

Musco & Witter (2025), Provably accurate Shapley value estimation via leverage score sampling, ICLR.
Shapley values minimise, among vectors with the sum v(all) - v(empty),

    R^2 = sum_S w_S (v(S) - v(empty) - sum_{i in S} phi_i)^2,  w_S = 1 / (C(d, s) s (d - s)),

over the coalitions S of sizes s from 1 to d - 1. In coordinates in which the sum is kept this is a
regression A beta = b with A'A = I/d on vectors of sum zero, so that its leverage scores are 1/C(d,
s), and a solution phi' has exactly the excess |phi' - phi|^2 / d.

The paper's theorem has constants that it does not spell out. These functions do, for m coalitions
drawn independently, with r = d - 1 the sum of the leverage scores: a matrix Chernoff bound (Tropp
2012, Theorem 1.1) keeps the least eigenvalue of the sampled Gram matrix above 1/2 but for a
probability of r (2/e)^(m/(2 r)); the sampled product of A and the residuals has the mean square
r R^2 / m, so that Markov's inequality does the rest.
"""

import numpy as np

from skshapley.bounds._numbers import Numbers

RATE = (1 - np.log(2)) / 2  # of the Chernoff bound at one half


def leverage_error(n_samples, n_players, residual, delta) -> Numbers:
    """Return a bound on the squared error of least squares on leverage samples.

    With a probability of at least 1 - delta, |phi' - phi|^2 <= 4 d r R^2 / (m (delta - delta_0)),
    where delta_0 = r exp(-(1 - log 2) m / (2 r)) is what is left to chance of the Gram matrix.

    Parameters
    ----------
    n_samples : array-like
        Coalitions m, drawn independently by their leverage scores.
    n_players : int
        Number of players d, at least 2.
    residual : array-like
        R^2, the weighted sum of squared residuals of the Shapley values themselves: 0 for additive
        games.
    delta : array-like
        A probability.

    Returns
    -------
    error : ndarray or float
        In squared units of the game; infinite where there are too few samples to say anything.

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
    samples, residual = np.asarray(n_samples, dtype=float), np.asarray(residual, dtype=float)
    rank = n_players - 1
    left = np.asarray(delta, dtype=float) - rank * np.exp(-RATE * samples / rank)
    known = left > 0
    excess = np.where(known, 4 * rank / (samples * np.where(known, left, 1.0)), np.inf)
    return (n_players * excess * residual)[()]


def leverage_samples(epsilon, delta, n_players) -> Numbers:
    """Return how many coalitions make the regression's loss at most 1 + epsilon times the least.

    With that many, |A beta' - b|^2 <= (1 + epsilon) |A beta - b|^2 with a probability of at least
    1 - delta, that is |phi' - phi|^2 <= d epsilon R^2. It is O(d log(d / delta) + d / (delta
    epsilon)).

    Parameters
    ----------
    epsilon : array-like
        Positive.
    delta : array-like
        A probability, half of which goes to the Gram matrix and half to the residuals.
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
    for_gram = rank / RATE * np.log(2 * rank / delta)
    return np.ceil(np.maximum(for_gram, 8 * rank / (delta * epsilon)))
