"""Confidence intervals with few degrees of freedom: Student's t in place of the normal."""

import numpy as np
from scipy.special import ndtri, stdtrit


def widening(degrees: np.ndarray) -> np.ndarray:
    """Return how much wider a 95 % interval of Student's t is than the normal one.

    A standard error of few degrees of freedom times this makes ± 1.96 standard errors hold 95 %.
    """
    return stdtrit(degrees, 0.975) / ndtri(0.975)


def effective_degrees(variances: np.ndarray, degrees: np.ndarray) -> np.ndarray:
    """Return the degrees of freedom of a sum of independent variances (Welch 1947), at least 1.

    Parameters
    ----------
    variances : ndarray of shape (r, b, ...)
        Estimated variances, to be summed over the second axis.
    degrees : ndarray that broadcasts to the same shape
        Their degrees of freedom; 0 for one that is not known and counts for nothing.

    Returns
    -------
    degrees : ndarray of shape (r, ...)
        At most the sum of the degrees, which is also what sums of zeros have.

    References
    ----------
    Welch (1947), The generalization of "Student's" problem when several different population
    variances are involved, Biometrika 34.
    """
    most = np.maximum(degrees.sum(axis=1), 1)
    squares = (variances**2 / (degrees + 2)).sum(axis=1)
    total = variances.sum(axis=1) ** 2
    known = squares > 0
    welch = np.divide(total, squares, out=np.full(total.shape, np.inf), where=known) - 2
    return np.clip(welch, 1, most)
