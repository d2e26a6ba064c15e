"""Tests of means against zero, and which of many may be called discoveries."""

import numpy as np
from scipy.special import stdtr

from skshapley._inference._means import Means


def p_values(means: Means, two_sided: bool = False) -> np.ndarray:
    """Return p-values ``(m,)`` of means against zero, by Student's t.

    Parameters
    ----------
    means : Means
    two_sided : bool, default=False
        Whether means below zero speak against zero, too.

    Returns
    -------
    p_values : ndarray of shape (m,)
        1 where a mean is zero without an error; NaN for a single row.
    """
    values, errors = means.values, means.errors
    sizes = np.abs(values) if two_sided else values
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(errors == 0, np.where(sizes > 0, np.inf, -np.inf), sizes / errors)
    p = stdtr(means.degrees, -t)
    return np.minimum(2 * p, 1.0) if two_sided else p


def adjusted(p: np.ndarray) -> np.ndarray:
    """Return p-values adjusted so that those up to q are a selection of false discovery rate q.

    By Benjamini & Yekutieli (2001), whatever way the tests depend on each other; NaN stay NaN.
    """
    from scipy.stats import false_discovery_control

    result = np.full(p.shape, np.nan)
    known = np.isfinite(p)
    if known.any():
        result[known] = false_discovery_control(p[known], method="by")
    return result
