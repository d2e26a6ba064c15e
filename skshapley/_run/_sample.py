"""A sample of the background in groups, for methods that average over the background.

Each row to explain has its own background rows, divided into groups. The mean over a
group is one more output of the game. A method thus gives attributions against each
group from the same coalitions. The spread of the groups measures the error due to the
choice of background rows.
"""

import numpy as np

from skshapley._references import RowOrder
from skshapley._run._evaluate import Requests
from skshapley._tools._moments import widening
from skshapley.solvers import Estimate

# Sixteen groups leave 14 degrees of freedom for the spread, and Student's t widens
# errors by 9 %. More groups would have too few rows each, and every group is an output
# that each step must carry.
MOST_GROUPS = 16
LEAST_IN_GROUP = 4
ROUNDING = 1e-6


class Sample:
    """The background rows of some rows to explain, in `n_groups` groups of equal size.

    Parameters
    ----------
    row_order : RowOrder
    rngs : list of numpy.random.Generator
        One generator per row to explain.
    n : int
        Largest number of background rows per row to explain.

    Attributes
    ----------
    rows : ndarray of shape (r, n_groups, q), int
    """

    def __init__(
        self, row_order: RowOrder, rngs: list[np.random.Generator], n: int
    ) -> None:
        self.n_groups = max(1, min(MOST_GROUPS, n // LEAST_IN_GROUP))
        # Groups of equal size have means of equal variance, so no weights are needed.
        size = n // self.n_groups
        # The sample resembles the table, and its groups differ as random samples do.
        drawn = [
            rng.permutation(row_order.shuffled(rng)[: self.n_groups * size])
            for rng in rngs
        ]
        self.rows = np.reshape(drawn, (len(rngs), self.n_groups, size))
        self._share = self.n_groups * size / row_order.n_rows

    def against(self, requests: Requests, instances: np.ndarray) -> Requests:
        """Return requests with background rows: one per group, or with the named rows.

        Parameters
        ----------
        requests : Requests
            Requests with positions in the sample as background rows, if any.
        instances : ndarray of shape (u,), int
            The row to explain of each request.
        """
        if requests.references is not None:
            return requests._replace(
                references=self.named(instances, requests.references)
            )
        n = len(instances)
        references = self.rows[instances].reshape(n * self.n_groups, -1)
        return requests.take(np.repeat(np.arange(n), self.n_groups))._replace(
            references=references
        )

    def named(self, instances: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Return the background rows at positions ``(u, q)`` of the samples of rows ``(u,)``."""
        return self.rows.reshape(len(self.rows), -1)[instances[:, None], places]

    def with_mean(self, groups: np.ndarray) -> np.ndarray:
        """Return values against groups ``(m, n_groups, k)``, and their mean, as outputs."""
        everything = np.concatenate(
            [groups, groups.mean(axis=1, keepdims=True)], axis=1
        )
        return everything.reshape(len(groups), -1)

    def together(
        self,
        estimate: Estimate,
        gains: np.ndarray,
        gain: np.ndarray,
        own: slice = slice(None),
    ) -> Estimate:
        """Combine attributions against the groups to attributions against the whole background.

        If the attributions of a group add up to v(all) minus its own v(empty), they are
        regressed on that sum, which has a known mean over the background.

        Parameters
        ----------
        estimate : Estimate
            Of the outputs of `with_mean`; its errors are from the method alone.
        gains : ndarray of shape (r, (n_groups + 1) * k)
            v(all) - v(empty), for each of these outputs.
        gain : ndarray of shape (r, k)
            v(all) - v(empty), against the whole background.
        own : slice, default=slice(None)
            The entries of single players. The entries of pairs are regressed on the
            same sum.

        Returns
        -------
        estimate : Estimate
            Of shape ``(r, e, k)``, with the spread of the groups as background errors.
        """
        values, errors, *_ = estimate
        r, e, _ = values.shape
        outputs = values.reshape(r, e, self.n_groups + 1, -1)
        groups = outputs[:, :, :-1]
        mean = outputs[:, :, -1]
        deviations = groups - groups.mean(axis=2, keepdims=True)
        total = deviations[:, own].sum(axis=1, keepdims=True)
        squared = (total**2).sum(axis=2)
        slope = np.divide(
            (deviations * total).sum(axis=2),
            squared,
            out=np.zeros_like(mean),
            where=squared > 0,
        )
        sums = values[:, own].sum(axis=1)
        least = ROUNDING * np.abs(values[:, own]).max()
        if not np.allclose(sums, gains, rtol=ROUNDING, atol=least):
            # The regression needs sums with a known mean; estimates that do not add up
            # have none.
            slope = np.zeros_like(slope)
        gap = gain[:, None] - mean[:, own].sum(axis=1, keepdims=True)
        mean = mean + slope * gap
        # One degree for the mean, one for the slope.
        degrees = self.n_groups - 2
        if degrees < 1:
            return Estimate(
                mean, None if errors is None else np.full_like(mean, np.nan)
            )
        if errors is None:
            return Estimate(mean, None)
        residuals = deviations - slope[:, :, None] * total
        residual_variances = (residuals**2).sum(axis=2) / degrees
        widened = widening(np.array(degrees))
        unseen_share = max(0.0, 1 - self._share)
        between = unseen_share * residual_variances / self.n_groups * widened**2
        alone = errors.reshape(outputs.shape)[:, :, -1]
        # Another background would have another v(empty), so without the regression.
        of_sample = (deviations**2).sum(axis=2) / (self.n_groups * (self.n_groups - 1))
        background_errors = np.sqrt(of_sample * self._share)
        return Estimate(mean, np.sqrt(alone**2 + between), background_errors)
