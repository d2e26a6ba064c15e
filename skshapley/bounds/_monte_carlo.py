"""How many permutations Monte Carlo needs: Maleki et al. (2013)."""

import numpy as np

from skshapley.bounds._numbers import Numbers


def hoeffding_permutations(epsilon, delta, spread, *, n_players=1) -> Numbers:
    """Return how many permutations Monte Carlo needs by Hoeffding's inequality.

    With that many, P(abs error >= epsilon) <= delta, for all of `n_players` p at once:
    n >= spread^2 log(2 p/delta) / (2 epsilon^2).

    Parameters
    ----------
    epsilon, delta : array-like
        Error, in the units of the game, and probability.
    spread : array-like
        Largest minus smallest marginal contribution of a player.
    n_players : int, default=1
        Number of players whose errors are to be small at once (a union bound).

    Returns
    -------
    n_permutations : ndarray or float
        A whole number.

    References
    ----------
    Maleki, Tran-Thanh, Hines, Rahwan & Rogers (2013), Bounding the estimation error of
    sampling-based Shapley value approximation with/without stratifying, arXiv:1306.4265.

    Examples
    --------
    >>> from skshapley.bounds import hoeffding_permutations
    >>> float(hoeffding_permutations(0.01, 0.05, 1.0))
    18445.0
    """
    epsilon, delta, spread = (np.asarray(a, dtype=float) for a in (epsilon, delta, spread))
    return np.ceil(spread**2 * np.log(2 * n_players / delta) / (2 * epsilon**2))


def chebyshev_permutations(epsilon, delta, variance, *, n_players=1) -> Numbers:
    """Return how many permutations Monte Carlo needs by Chebyshev's inequality.

    With that many, P(abs error >= epsilon) <= delta, for all of `n_players` p at once:
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
    epsilon, delta, variance = (np.asarray(a, dtype=float) for a in (epsilon, delta, variance))
    return np.ceil(n_players * variance / (delta * epsilon**2))
