"""Degrees of freedom of estimated variances, and the intervals of Student's t."""

import numpy as np
from scipy.special import ndtri, stdtrit


def widening(degrees: np.ndarray) -> np.ndarray:
    """Return the width of a 95 % interval of Student's t, relative to the normal one.

    With this factor, ± 1.96 standard errors with few degrees of freedom contain 95 %.
    """
    return stdtrit(degrees, 0.975) / ndtri(0.975)


def effective_degrees(variances: np.ndarray, degrees: np.ndarray) -> np.ndarray:
    """Return the degrees of freedom of a sum of independent variances (Welch 1947), at least 1.

    Parameters
    ----------
    variances : ndarray of shape (r, b, ...)
        Estimated variances, to be summed over the second axis.
    degrees : ndarray that broadcasts to the same shape
        Their degrees of freedom; 0 for unknown variances, which are ignored.

    Returns
    -------
    degrees : ndarray of shape (r, ...)
        At most the sum of the degrees, which also applies to sums of zeros.

    References
    ----------
    Welch (1947), The generalization of "Student's" problem when several different population
    variances are involved, Biometrika 34.
    """
    most = np.maximum(degrees.sum(axis=1), 1)
    # Welch's second form: with d + 2, and 2 subtracted below, the estimate has a smaller bias.
    squares = (variances**2 / (degrees + 2)).sum(axis=1)
    total = variances.sum(axis=1) ** 2
    known = squares > 0
    welch = np.divide(total, squares, out=np.full(total.shape, np.inf), where=known) - 2
    return np.clip(welch, 1, most)


def degrees_of_tails(n: float, squares: np.ndarray, fourth: np.ndarray) -> np.ndarray:
    """Return the degrees of freedom of a variance from n numbers with heavy tails.

    A variance estimated from n numbers of kurtosis c varies as one with 2 n/(c - 1) degrees.

    Parameters
    ----------
    n : int or float
        A float is the effective number of weighted numbers.
    squares, fourth : ndarray
        Sums of the second and the fourth powers of the centred numbers.
    """
    varies = squares > 0
    kurtosis = np.where(varies, n * fourth / np.where(varies, squares, 1.0) ** 2, 1.0)
    return np.maximum(2 * n / np.maximum(kurtosis - 1, 1e-9), 1.0)
