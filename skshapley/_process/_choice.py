"""The choice of the next pairs: the most informative ones about the Shapley values."""

import numpy as np

from skshapley._process._pairs import Pairs
from skshapley._process._process import Process


def choose_pairs(
    process: Process, pool: np.ndarray, n: int, sizes: np.ndarray | None = None
) -> np.ndarray:
    """Return the places in `pool` of `n` pairs, chosen one after the other.

    Each choice reduces the trace of the posterior covariance of the Shapley values the
    most. A step is one column of a pivoted Cholesky factorisation. It needs the pairs'
    positions, not their values. While `sizes` remain, the choice is among pairs of
    those sizes.

    Parameters
    ----------
    process : Process
        Without blocks, of Shapley values.
    pool : ndarray of shape (m, p)
        Signs of the pairs to choose from.
    n : int
    sizes : ndarray of shape (p // 2 + 1,), int, or None
        Number of pairs of each size to choose first. The size of a pair is its smaller
        size.

    Returns
    -------
    chosen : ndarray of shape (at most n,), int
    """
    kernel = process.kernel
    m, p = pool.shape
    points = Pairs(pool, np.empty((m, 0)))
    evaluated = process.halves(kernel.cross(pool, process.points.signs))
    explained = process.halves(process.witnessed)
    gain = process.functional.covariances(kernel, points, process.entries)
    gain = gain - explained.T @ evaluated
    between = kernel.cross(pool, pool)
    prior = np.diag(between) + kernel.noise_at(points)
    between -= evaluated.T @ evaluated
    variance = np.diag(between) + kernel.noise_at(points)
    size = np.rint((p - np.abs(pool.sum(axis=1))) / 2).astype(int)
    n_of_size = np.zeros(p // 2 + 1, dtype=int) if sizes is None else sizes.copy()
    open_ = np.ones(m, dtype=bool)
    columns = np.empty((min(n, m), m))
    places = []
    for step in range(len(columns)):
        usable = open_ & (variance > 1e-9 * prior)
        if not usable.any():
            break
        required = usable & (n_of_size[size] > 0)
        usable = required if required.any() else usable
        reduction = np.einsum("pm,pm->m", gain, gain)
        at = int((reduction / np.where(usable, variance, np.inf)).argmax())
        places.append(at)
        n_of_size[size[at]] -= 1
        open_[at] = False
        column = between[at] - columns[:step, at] @ columns[:step]
        column /= np.sqrt(variance[at])
        gain -= np.outer(gain[:, at] / np.sqrt(variance[at]), column)
        columns[step] = column
        variance -= column**2
    return np.array(places, dtype=np.intp)
