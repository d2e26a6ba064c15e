"""Limits of changes by permutation, valid for any distribution of the rows.

Without a change, each row is equally likely in every period. The largest studentised
change is therefore compared with the largest changes under random permutations of the
rows. It exceeds all but a share of them with a probability of that share (Phipson &
Smyth 2010; Westfall & Young 1993).

References
----------
Westfall & Young (1993), Resampling-based multiple testing. Phipson & Smyth (2010),
Permutation p-values should never be zero, Statistical Applications in Genetics and
Molecular Biology 9.
"""

from math import ceil

import numpy as np

from skshapley._tools._random import generator

LEAST_PERMUTATIONS = 999
ROUNDING = 1e-9  # share of the largest error: less variation counts as none


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
        The probability that no change exceeds its limit, if rows are exchangeable.

    Returns
    -------
    critical : float
        The limit in standard errors.
    errors : ndarray of shape (t, m)
        Standard errors of the changes, if the period and the baseline have the same
        distribution.
    """
    sets = [baseline, *later]
    counts = np.array([len(rows) for rows in sets])[:, None]
    starts = np.append(0, counts[:-1, 0].cumsum())
    rows = np.concatenate(sets)
    # centred, so that sums of squares do not lose digits to a large mean
    rows = rows - rows.mean(axis=0)
    powers = np.hstack([rows, rows**2])
    met = _changes(np.add.reduceat(powers, starts, axis=0), counts)[1]
    least = ROUNDING * met.max(initial=0.0)
    rng = generator(0, 24)  # the same limits for the same rows
    # at least twenty permutations above the limit, so its probability is known to about
    # a fifth
    n = max(LEAST_PERMUTATIONS, ceil(20 / (1 - confidence)))
    largest = np.empty(n)
    for i in range(n):
        sums = np.add.reduceat(powers[rng.permutation(len(powers))], starts, axis=0)
        changes, errors = _changes(sums, counts)
        sizes = np.zeros(errors.shape)
        np.divide(np.abs(changes), errors, out=sizes, where=errors > least)
        largest[i] = sizes.max(initial=0.0)
    return float(np.sort(largest)[min(ceil(confidence * (n + 1)), n) - 1]), met


def _changes(sums: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return changes from the first set and their errors ``(t, m)``, from sums and square sums."""
    total, squares = np.split(sums, 2, axis=1)
    n = counts[0] + counts[1:]
    changes = total[1:] / counts[1:] - total[0] / counts[0]
    # the pooled variance of both sets, as in Student's test
    spread = squares[0] + squares[1:] - (total[0] + total[1:]) ** 2 / n
    variance = np.maximum(spread, 0.0) / (n - 1)
    return changes, np.sqrt(variance * (1 / counts[0] + 1 / counts[1:]))
