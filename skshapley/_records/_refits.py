"""Errors of attributions by the training data, from the values of refitted models.

A half sample without replacement leaves out as many rows as it keeps. The variance of
values over half samples is therefore the variance over training samples of full size,
without a further factor (Politis, Romano & Wolf 1999, section 2.2; Shao & Wu 1989).

References
----------
Shao & Wu (1989), A general theory for jackknife variance estimation, Annals of
Statistics 17. Politis, Romano & Wolf (1999), Subsampling, Springer.
"""

import numpy as np

from skshapley._inference._means import Means
from skshapley._tools._degrees import widening


def spread_errors(refit_values: np.ndarray) -> np.ndarray:
    """Return the standard errors by the spread over refits, the third axis.

    They are widened as for Student's t: 1.96 of them contain 95 %.
    """
    deviations = refit_values.std(axis=2, ddof=1)
    degrees = refit_values.shape[2] - 1
    return deviations * widening(np.array(degrees, dtype=float))


def sign_shares(values: np.ndarray, refit_values: np.ndarray) -> np.ndarray:
    """Return the share of refits with the sign of each value."""
    same = np.sign(refit_values) == np.sign(values)[:, :, None]
    return same.mean(axis=2)


def rank_shares(values: np.ndarray, refit_values: np.ndarray) -> np.ndarray:
    """Return the share of refits with the rank of each value, by size among the players."""
    same = _ranks(refit_values) == _ranks(values)[:, :, None]
    return same.mean(axis=2)


def _ranks(values: np.ndarray) -> np.ndarray:
    """Return the ranks of sizes along the second axis, 0 for the largest."""
    order = np.argsort(-np.abs(values), axis=1, kind="stable")
    return np.argsort(order, axis=1)


def refit_means(means: np.ndarray) -> Means:
    """Return zero means with the covariance of refits; other means subtract them.

    Parameters
    ----------
    means : ndarray of shape (b, m)
        The means over rows, by each refit.
    """
    covariance = np.atleast_2d(np.cov(means, rowvar=False))
    m = means.shape[1]
    return Means(np.zeros(m), covariance, float(len(means)), np.zeros(m))
