"""Estimates of players apart from each other, moved to the sum that is known."""

import numpy as np


def without_gap(
    means: np.ndarray, variances: np.ndarray, gain: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return means that add up to `gain`, and what is left of their variances.

    Each of them takes a share of the gap in proportion to its variance: of all ways to share it out
    the one that leaves the least variance, where the means are independent (the projection of least
    squares). A share w leaves 1 - w of the variance. Without any variance the squares of the means
    say who gets how much, and if all of them are 0 everybody gets the same.

    Parameters
    ----------
    means, variances : ndarray of shape (r, p, k)
        A variance may have any unit, the same for all players of an instance.
    gain : ndarray of shape (r, k)
        v(all) - v(empty).

    Returns
    -------
    means : ndarray of shape (r, p, k)
    left : ndarray of shape (r, p, k)
        The part of each variance that is left, in [0, 1].
    """
    gap = gain[:, None] - means.sum(axis=1, keepdims=True)
    silent = variances.sum(axis=1, keepdims=True) <= 0
    shares = np.where(silent, means**2, variances)
    shares = np.where(shares.sum(axis=1, keepdims=True) > 0, shares, 1.0)
    shares /= shares.sum(axis=1, keepdims=True)
    return means + shares * gap, np.where(silent, 1.0, 1 - shares)
