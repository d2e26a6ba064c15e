"""The efficiency gap: the difference that attributions do not explain."""

import numpy as np

NEGLIGIBLE = 1e-6  # share of the largest value or end: smaller gaps are rounding errors


def efficiency_gap(values: np.ndarray, base: np.ndarray, full: np.ndarray) -> np.ndarray:
    """Return ``full - base - sum of the values``, ``(r,)`` or ``(r, k)``.

    Parameters
    ----------
    values : ndarray of shape (r, p) or (r, p, k)
    base, full : ndarray of shape (r,) or (r, k)
    """
    # the brackets keep the difference of large, similar ends accurate
    return (full - base) - values.sum(axis=1)


def gap_shows(values, base, full) -> bool:
    """Return True if any gap exceeds rounding; parameters as for `efficiency_gap`."""
    size = np.abs(values).max(axis=1, initial=0.0)
    largest = np.fmax(size, np.fmax(np.abs(base), np.abs(full)))
    return bool((np.abs(efficiency_gap(values, base, full)) > NEGLIGIBLE * largest).any())
