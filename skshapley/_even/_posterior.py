"""What is believed of the interactions of pairs once values have been seen."""

from functools import cached_property

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from skshapley._even._functional import functional, functional_variance, interactions
from skshapley._even._hyper import EvenHyper
from skshapley._even._kernel import cross, gram, variance
from skshapley._odd import Pairs, Posterior, Process
from skshapley._odd._kernel import noise
from skshapley._odd._pairs import size_roughness
from skshapley.indices import Index

CHUNK_NUMBERS = 2**22  # of covariances made at once
MOST_WITNESSES = 500  # pairs of players on which the errors of all are held against what happens


class EvenProcess(Process):
    """The process on the even part and the points seen, whatever the values there.

    What others of its kind say of the Shapley values it says of the witnesses' interactions.

    Parameters
    ----------
    points : Pairs
        Relative to the full coalition. Their values do not matter.
    hyper : EvenHyper
    index : Index
        Of the interactions; symmetric.
    """

    hyper: EvenHyper  # type: ignore[assignment]
    least_counted = 2.0  # a plain mean of interactions would be four times a value over n
    doubts_steps = True

    def __init__(self, points: Pairs, hyper: EvenHyper, index: Index) -> None:
        self.points, self.hyper, self.index = points, hyper, index
        self.factor = cholesky(gram(points, hyper), lower=True, check_finite=False)

    @cached_property
    def which(self) -> np.ndarray:
        """The two players of each pair, ``(2, p (p - 1)/2)``."""
        return np.array(np.triu_indices(self.points.n_players, 1))

    @cached_property
    def witnesses(self) -> np.ndarray:
        """The positions of some pairs, evenly spread over all, ``(m,)``."""
        most = min(self.which.shape[1], MOST_WITNESSES)
        return np.linspace(0, self.which.shape[1] - 1, most).round().astype(int)

    @cached_property
    def covariances(self) -> np.ndarray:
        """The covariances of the witnesses' interactions and the values seen, ``(m, n)``."""
        return functional(self.points, self.hyper, self.which[:, self.witnesses], self.index)

    @cached_property
    def prior_variance(self) -> np.ndarray:
        """The prior variances of the witnesses' interactions at scale 1, ``(m,)``."""
        which = self.which[:, self.witnesses]
        return functional_variance(self.hyper, which, self.index, self.points.blocks)

    @cached_property
    def interaction_variance(self) -> np.ndarray:
        """The posterior variances of all interactions at scale 1, ``(p (p - 1)/2,)``."""
        total, step = self.which.shape[1], max(1, CHUNK_NUMBERS // len(self.points))
        if total == len(self.witnesses):
            return self.shapley_variance
        out = np.empty(total)
        for start in range(0, total, step):
            part = slice(start, start + step)
            told = functional(self.points, self.hyper, self.which[:, part], self.index).T
            seen = solve_triangular(self.factor, told, lower=True, check_finite=False)
            prior = functional_variance(
                self.hyper, self.which[:, part], self.index, self.points.blocks
            )
            out[part] = np.maximum(prior - np.einsum("nm,nm->m", seen, seen), 0.0)
        return out

    @cached_property
    def held_out(self) -> "EvenProcess":
        """The process with the same hyper-parameters that has not seen the points held out."""
        return type(self)(self.points.take(~self.held), self.hyper, self.index)


class EvenPosterior(Posterior):
    """A process on the even part and the values seen at its points.

    Parameters
    ----------
    process : EvenProcess
    values : ndarray of shape (n, k)
        Relative to the full coalition's.
    """

    process: EvenProcess

    def interactions(self) -> np.ndarray:
        """Return the posterior means of the interactions, ``(p (p - 1)/2, k)``."""
        process = self.process
        return interactions(process.points, process.hyper, self._weights, process.index)

    def predict(self, signs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return means ``(m, k)`` and variances at scale 1 ``(m,)`` of values, without blocks."""
        process, hyper = self.process, self.process.hyper
        between = cross(signs, process.points.signs, hyper)
        seen = solve_triangular(process.factor, between.T, lower=True, check_finite=False)
        prior = variance(signs, hyper) + noise(size_roughness(signs), hyper)
        left = np.maximum(prior - np.einsum("nm,nm->m", seen, seen), 1e-12 * prior)
        return between @ self._weights, left

    def mean(self, signs: np.ndarray) -> np.ndarray:
        """Return the posterior means at new points, ``(m, k)``, without blocks."""
        return cross(signs, self.process.points.signs, self.process.hyper) @ self._weights
