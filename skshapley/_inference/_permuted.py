"""Limits of changes by permutation: they hold whatever law the rows have.

If nothing changes, then rows are as likely in one period as in another. So the largest studentised
change that was met is held against the largest ones of random permutations of the rows, and exceeds
all but a share of them with that chance (Phipson & Smyth 2010; Westfall & Young 1993).

References
----------
Westfall & Young (1993), Resampling-based multiple testing. Phipson & Smyth (2010), Permutation
p-values should never be zero, Statistical Applications in Genetics and Molecular Biology 9.
"""

from math import ceil

import numpy as np

from skshapley._tools._random import generator

LEAST_PERMUTATIONS = 999
ROUNDING = 1e-9  # of the largest error: columns that vary by no more than this do not change


def limits_of_changes(
    baseline: np.ndarray, later: list[np.ndarray], confidence: float
) -> tuple[float, np.ndarray]:
    """Return limits for the changes from a baseline to each of several later periods.

    Parameters
    ----------
    baseline : ndarray of shape (n, m)
    later : list of ndarray of shape (n_t, m)
        One or more rows each.
    confidence : float
        The chance that no change is beyond its limit, if rows are exchangeable.

    Returns
    -------
    critical : float
        The limit in standard errors.
    errors : ndarray of shape (t, m)
        Standard errors of the changes, if the rows of a period and the baseline have one law.
    """
    sets = [baseline, *later]
    counts = np.array([len(rows) for rows in sets])[:, None]
    starts = np.append(0, counts[:-1, 0].cumsum())
    rows = np.concatenate(sets)
    rows = rows - rows.mean(axis=0)
    both = np.hstack([rows, rows**2])
    met = _changes(np.add.reduceat(both, starts, axis=0), counts)[1]
    least = ROUNDING * met.max(initial=0.0)
    rng = generator(0, 24)  # the same limits for the same rows
    n = max(LEAST_PERMUTATIONS, ceil(20 / (1 - confidence)))
    largest = np.empty(n)
    for i in range(n):
        sums = np.add.reduceat(both[rng.permutation(len(both))], starts, axis=0)
        changes, errors = _changes(sums, counts)
        sizes = np.zeros(errors.shape)
        np.divide(np.abs(changes), errors, out=sizes, where=errors > least)
        largest[i] = sizes.max(initial=0.0)
    return float(np.sort(largest)[min(ceil(confidence * (n + 1)), n) - 1]), met


def _changes(sums: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return changes from the first set and their errors ``(t, m)``, given sums and of squares."""
    total, squares = np.split(sums, 2, axis=1)
    n = counts[0] + counts[1:]
    changes = total[1:] / counts[1:] - total[0] / counts[0]
    spread = squares[0] + squares[1:] - (total[0] + total[1:]) ** 2 / n
    return changes, np.sqrt(np.maximum(spread, 0.0) / (n - 1) * (1 / counts[0] + 1 / counts[1:]))
