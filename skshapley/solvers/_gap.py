"""Estimates of separate players, moved to the sum that is known."""

import numpy as np

ROUNDING = 1e-9  # of the means: a gap no larger is none


def without_gap(
    means: np.ndarray, variances: np.ndarray, gain: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return means that add up to `gain`, and the share of the gap that each has taken.

    Shares are in proportion to the variances: the projection of least squares, if the means are
    independent. Without any variance they are in proportion to the squares of the means, or equal
    if all of these are 0.

    Parameters
    ----------
    means, variances : ndarray of shape (r, p, k)
        A variance may have any unit, the same for all players of an instance.
    gain : ndarray of shape (r, k)
        v(all) - v(empty).

    Returns
    -------
    means : ndarray of shape (r, p, k)
    shares : ndarray of shape (r, p, k)
        With sum 1 over players.
    """
    silent = variances.sum(axis=1, keepdims=True) <= 0
    shares = np.where(silent, means**2, variances)
    shares = np.where(shares.sum(axis=1, keepdims=True) > 0, shares, 1.0)
    shares /= shares.sum(axis=1, keepdims=True)
    return means + shares * (gain[:, None] - means.sum(axis=1, keepdims=True)), shares


def errors_without_gap(
    errors: np.ndarray, shares: np.ndarray, means: np.ndarray, gain: np.ndarray
) -> np.ndarray:
    """Return the standard errors of means after their gap has been shared out, ``(r, p, k)``.

    A gap that is larger than the errors allow comes from contributions that few draws have met. Who
    makes these is not known: each player's error holds its share, an equal one at least.

    Parameters
    ----------
    errors : ndarray of shape (r, p, k)
        Of the independent means.
    shares, means, gain
        As given by and to `without_gap`.
    """
    squares = errors**2
    total = squares.sum(axis=1, keepdims=True)
    projected = np.maximum(squares * (1 - 2 * shares) + shares**2 * total, 0.0)
    return np.sqrt(projected + unexplained(total, shares, means, gain))


def unexplained(
    total: np.ndarray | float, shares: np.ndarray, means: np.ndarray, gain: np.ndarray
) -> np.ndarray:
    """Return the variance added by a gap beyond a variance of `total`, ``(r, p, k)``."""
    gap = np.abs(gain[:, None] - means.sum(axis=1, keepdims=True))
    gap = np.where(gap > ROUNDING * np.abs(means).sum(axis=1, keepdims=True), gap, 0.0)
    return np.maximum(shares, 1 / means.shape[1]) ** 2 * np.maximum(gap**2 - total, 0.0)
