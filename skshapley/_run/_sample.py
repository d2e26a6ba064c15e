"""A sample of the background for methods that average over it, in groups that tell the error.

Each instance has background rows of its own, dealt from the deck and cut into groups. A group's
mean is one more output of the game, so that a method gives attributions against each group for the
coalitions that it asks anyway. Their spread tells what the choice of rows leaves to chance.
"""

import numpy as np

from skshapley._references import Deck
from skshapley._run._evaluate import Requests
from skshapley.solvers import Estimate
from skshapley.solvers._spread import widening

MOST_GROUPS = 16
LEAST_IN_GROUP = 4
ROUNDING = 1e-6


class Sample:
    """The background rows of some instances, `n_groups` groups of equal size each.

    Parameters
    ----------
    deck : Deck
    rngs : list of numpy.random.Generator
        One per instance.
    n : int
        Rows for each instance, at most.

    Attributes
    ----------
    rows : ndarray of shape (r, n_groups, q), int
    """

    def __init__(self, deck: Deck, rngs: list[np.random.Generator], n: int) -> None:
        self.n_groups = max(1, min(MOST_GROUPS, n // LEAST_IN_GROUP))
        each = n // self.n_groups
        dealt = np.stack([deck.dealt(rng)[: self.n_groups * each] for rng in rngs])
        self.rows = dealt.reshape(len(rngs), self.n_groups, each)
        self._left = max(0.0, 1 - self.n_groups * each / deck.n_rows)

    def against(self, requests: Requests, instances: np.ndarray) -> Requests:
        """Return requests against background rows: each once for every group, or those it names.

        Parameters
        ----------
        requests : Requests
            Their references, if any, are positions in the sample.
        instances : ndarray of shape (u,), int
            Of each request.
        """
        if requests.references is not None:
            return requests._replace(references=self.named(instances, requests.references))
        n = len(instances)
        references = self.rows[instances].reshape(n * self.n_groups, -1)
        return requests.take(np.repeat(np.arange(n), self.n_groups))._replace(references=references)

    def named(self, instances: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Return the background rows at places ``(u, q)`` of the instances' samples ``(u,)``."""
        return self.rows.reshape(len(self.rows), -1)[instances[:, None], places]

    def beside(self, values: np.ndarray) -> np.ndarray:
        """Return the groups' values ``(n * n_groups, k)`` as outputs, ``(n, n_groups * k)``."""
        return values.reshape(-1, self.n_groups * values.shape[1])

    def together(
        self, estimate: Estimate, gains: np.ndarray, gain: np.ndarray, own: slice = slice(None)
    ) -> Estimate:
        """Return attributions against the whole background, from those against the groups.

        Where the attributions of a group add up to what its own v(empty) leaves, they are regressed
        on that sum, whose mean over the whole background is known.

        Parameters
        ----------
        estimate : Estimate
            Of shape ``(r, e, n_groups * k)``; its errors are those of the method alone.
        gains : ndarray of shape (r, n_groups * k)
            v(all) - v(empty), against each group.
        gain : ndarray of shape (r, k)
            v(all) - v(empty), against the whole background.
        own : slice, default=slice(None)
            The entries that are attributions; those of pairs of players behind them are regressed
            on the same sum.

        Returns
        -------
        estimate : Estimate
            Of shape ``(r, e, k)``.
        """
        values, errors, *_ = estimate
        r, e, _ = values.shape
        groups = values.reshape(r, e, self.n_groups, -1)
        mean = groups.mean(axis=2)
        apart = groups - mean[:, :, None]
        total = apart[:, own].sum(axis=1, keepdims=True)
        squared = (total**2).sum(axis=2)
        slope = np.divide(
            (apart * total).sum(axis=2), squared, out=np.zeros_like(mean), where=squared > 0
        )
        summed, least = values[:, own].sum(axis=1), ROUNDING * np.abs(values[:, own]).max()
        if not np.allclose(summed, gains, rtol=ROUNDING, atol=least):
            slope = np.zeros_like(slope)
        gap = gain[:, None] - mean[:, own].sum(axis=1, keepdims=True)
        mean = mean + slope * gap
        degrees = self.n_groups - 2
        if degrees < 1:
            return Estimate(mean, None if errors is None else np.full_like(mean, np.nan))
        if errors is None:
            return Estimate(mean, None)
        rest = ((apart - slope[:, :, None] * total) ** 2).sum(axis=2) / degrees
        between = self._left * rest / self.n_groups * widening(np.array(degrees)) ** 2
        alone = errors.reshape(r, e, self.n_groups, -1).mean(axis=2)
        return Estimate(mean, np.sqrt(alone**2 + between))
