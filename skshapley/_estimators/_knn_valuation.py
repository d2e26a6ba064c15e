"""Exact values of training points of k-nearest-neighbour classifiers, by any index.

The utility of S is the mean over validation points of

    u(S) = min(K, |S|)/K times the share of the right label in the weights of the min(K,
    |S|) nearest points of S.

With uniform weights, this is 1/K times the number of right labels among them (Jia et
al. 2019).
"""

from itertools import combinations
from math import comb
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier

from skshapley.indices import Index

MOST_SETS = 5 * 10**7  # sets of neighbours times validation points: about ten seconds
# Flags of present points in one step: 4 MB, and 32 MB for their running counts.
CHUNK_NUMBERS = 2**22


class Neighbours(NamedTuple):
    """Training points, sorted by their distance from each of v validation points.

    Attributes
    ----------
    order : ndarray of shape (v, n), int
        Positions of the training points, the nearest first.
    right : ndarray of shape (v, n), float
        1 if the label, in that order, equals the label of the validation point.
    distance : ndarray of shape (v, n)
        In that order.
    k : int
    weights : "uniform", "distance" or callable
        As in scikit-learn.
    """

    order: NDArray[np.intp]
    right: NDArray[np.float64]
    distance: NDArray[np.float64]
    k: int
    weights: object

    @classmethod
    def of(cls, estimator: KNeighborsClassifier, X, y, X_val, y_val) -> Self:
        """Return the neighbours for the metric and the K of an estimator; ties keep its order."""
        model = clone(estimator).fit(X, y)
        distance, order = model.kneighbors(X_val, n_neighbors=len(y))
        right = (np.asarray(y)[order] == np.asarray(y_val)[:, None]).astype(np.float64)
        return cls(order, right, distance, model.n_neighbors, model.weights)

    @property
    def n_players(self) -> int:
        """The number of training points."""
        return self.order.shape[1]

    @property
    def sizes(self) -> range:
        """The possible numbers of neighbours, without 0."""
        return range(1, min(self.k, self.n_players) + 1)

    def __call__(self, coalitions) -> NDArray[np.float64]:
        """Return the utility of coalitions ``(m, n)``, ``(m,)``."""
        out = np.zeros(len(coalitions))
        step = max(1, CHUNK_NUMBERS // self.n_players)
        for start in range(0, len(coalitions), step):
            part = coalitions[start : start + step]
            for point in range(len(self.order)):
                present = part[:, self.order[point]]
                # Points are sorted by distance, so the first K present ones are the
                # neighbours.
                near = present & (present.cumsum(axis=1) <= self.k)
                for size in self.sizes:
                    is_full = near.sum(axis=1) == size
                    ranks = np.nonzero(near[is_full])[1].reshape(-1, size)
                    out[start : start + step][is_full] += self.shares(point, ranks)
        return out / len(self.order)

    def shares(self, point: int, ranks: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the utility of sets of neighbours ``(t, size)``, by rank, for one point."""
        size, right = ranks.shape[1], self.right[point][ranks]
        if self.weights == "uniform":
            return right.sum(axis=1) / self.k
        weights = self._weights(self.distance[point][ranks])
        total = weights.sum(axis=1)
        share = np.divide((right * weights).sum(axis=1), total, out=np.zeros(len(ranks)),
                          where=total > 0)  # fmt: skip
        return share * (size / self.k)

    def _weights(self, distance: NDArray[np.float64]) -> NDArray[np.float64]:
        if callable(self.weights):
            return np.asarray(self.weights(distance), dtype=np.float64)
        same = distance == 0  # points at distance 0 have all the weight
        with np.errstate(divide="ignore"):
            return np.where(same.any(axis=1, keepdims=True), same, 1 / distance)

    @property
    def exact(self) -> bool:
        """Whether `values` is feasible: whether there are few sets of at most K neighbours."""
        n_sets = len(self.order) * sum(
            comb(self.n_players, size) for size in self.sizes
        )
        return self.weights == "uniform" or n_sets <= MOST_SETS

    def values(self, index: Index) -> NDArray[np.float64]:
        """Return the values of the training points by an index, ``(n,)``."""
        ranked = (
            self._uniform(index) if self.weights == "uniform" else self._weighted(index)
        )
        values = np.empty_like(ranked)
        np.put_along_axis(values, self.order, ranked, axis=1)
        return values.mean(axis=0)

    def _uniform(self, index: Index) -> NDArray[np.float64]:
        """Return values in order of distance, ``(v, n)``.

        Consecutive points have different values if fewer than K nearer points are
        present (Jia et al. 2019, Theorem 1, for Shapley's uniform distribution).
        """
        n, k = self.n_players, self.k
        room = np.array([index.size_law(nearer)[:k].sum() for nearer in range(n)])
        steps = (self.right[:, :-1] - self.right[:, 1:]) * room[:-1]
        last = self.right[:, -1:] * room[-1]
        return (
            np.concatenate([steps, last], axis=1)[:, ::-1].cumsum(axis=1)[:, ::-1] / k
        )

    def _weighted(self, index: Index) -> NDArray[np.float64]:
        """Return values in order of distance, ``(v, n)``, by a sum over all sets of K neighbours.

        Let the other points be present with probability t. The K nearest are the set T
        with probability t^K (1 - t)^(m - K), if the farthest point of T has rank m. The
        value of a point is the mean of the derivative with respect to its own
        probability. For sets of fewer than K points, m is n.
        """
        n = self.n_players
        out = np.zeros((len(self.order), n))
        for size in self.sizes:
            ranks = np.array(list(combinations(range(n), size)), dtype=np.intp).reshape(
                -1, size
            )
            last = ranks[:, -1] if size == self.k else np.full(len(ranks), n - 1)
            with_it = _chances(index, n, size - 1)[last]
            without = _chances(index, n, size)[last]
            for point in range(len(self.order)):
                worth = self.shares(point, ranks)
                absent = np.bincount(last, worth * without, minlength=n)
                out[point] -= absent[::-1].cumsum()[::-1]
                shares = np.repeat(worth * (with_it + without), size)
                out[point] += np.bincount(ranks.ravel(), shares, minlength=n)
        return out


def _chances(index: Index, n: int, present: int) -> NDArray[np.float64]:
    """Return E[t^present (1 - t)^(m - present)] for m = 0..n - 1 others; 0 for m < present."""
    out = np.zeros(n)
    for n_others in range(present, n):
        out[n_others] = index.size_law(n_others)[present] / comb(n_others, present)
    return out
