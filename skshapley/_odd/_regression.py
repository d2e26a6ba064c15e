"""Weighted least squares on the points of a process: no prior, and so another kind of error."""

import numpy as np

from skshapley._odd._pairs import Pairs

LEAST_SPARE = 1e-3  # of one: a point that determines its own fit says little of the error


class Regression:
    """Least squares with the Shapley kernel, whatever the values at the points.

    Every size has the weight that it has in the kernel, shared by the points of that size (and of
    the complement's), so that where points crowd they do not outweigh the others.

    Parameters
    ----------
    points : Pairs
        Without blocks, the full coalition first.
    """

    def __init__(self, points: Pairs) -> None:
        p, total = points.n_players, points.signs.sum(axis=1)
        size = np.rint((p - np.abs(total)) / 2).astype(int)
        count = np.bincount(size, minlength=p + 1)
        count[p // 2] *= 2 - p % 2  # of even p: half as many pairs as coalitions
        inner = size > 0
        weights = np.zeros(len(points))
        weights[inner] = 1 / (size * (p - size) * count[size])[inner]
        weights /= weights.max()
        self._half = total[:, None] / 2
        self._design = (points.signs - total[:, None] / p) / 2
        weighted = self._design.T * weights
        self._influence = np.linalg.pinv(weighted @ self._design, hermitian=True) @ weighted
        leverage = np.einsum("pn,np->n", self._influence, self._design)
        self._spare = np.maximum(1 - leverage, LEAST_SPARE)[:, None]

    def solve(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the Shapley values of ``(n, k)`` values and their variances, ``(p, k)`` each.

        The variances are MacKinnon & White's (1985) HC3, all but a jackknife over pairs.
        """
        share = 2 * values[:1] / self._design.shape[1]
        target = values - self._half * share
        change = self._influence @ target
        residual = (target - self._design @ change) / self._spare
        return change + share, self._influence**2 @ residual**2
