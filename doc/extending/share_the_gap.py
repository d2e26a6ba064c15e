"""A solver: means of marginal contributions that add up."""

import numpy as np

from skshapley.designs import MarginalDesign
from skshapley.solvers import Estimate, Solver


class ShareTheGap(Solver):
    """Means of marginal contributions, moved to the right sum where they are least certain.

    Players whose contributions are drawn apart from each other have means whose sum
    misses v(all) - v(empty). The gap is shared out in proportion to the variances s_i
    of the means, which is the projection of least variance; what is left of s_i is s_i
    (1 - s_i / sum s).

    Examples
    --------
    >>> from skshapley import shapley_values
    >>> result = shapley_values(
    ...     lambda S: S[:, 0] * S[:, 1] * 6.0,
    ...     n_players=3,
    ...     sampler="classical",
    ...     solver=ShareTheGap(),
    ...     max_evals=200,
    ...     random_state=0,
    ... )
    >>> float(result.values.sum()), float(result.values[2])
    (6.0, 0.0)
    """

    accepts = (MarginalDesign,)
    default_sampler = "classical"

    def _start(self, task):
        self._gains = [
            [] for _ in self.v_full_
        ]  # of each instance, arrays (units, p, k)

    def update(self, rows, design, values):
        """Keep the mean contributions of each unit."""
        contributions = design.contributions(values)  # (r, n, p, k)
        r, _, p, k = contributions.shape
        units = contributions.reshape(r, -1, design.unit, p, k).mean(axis=2)
        for row, gains in zip(rows, units, strict=True):
            self._gains[row].append(gains)

    def result(self):
        """Return the means with the gap shared out; NaN errors for a single unit."""
        estimates = [self._of_one(np.concatenate(gains)) for gains in self._gains]
        means, variances = (np.stack(part) for part in zip(*estimates, strict=True))
        total = variances.sum(axis=1, keepdims=True)
        share = np.divide(
            variances, total, out=np.zeros_like(variances), where=total > 0
        )
        gap = (self.v_full_ - self.v_empty_)[:, None] - means.sum(axis=1, keepdims=True)
        errors = np.sqrt(variances * (1 - share))
        single = np.array([sum(map(len, gains)) < 2 for gains in self._gains])
        errors[single] = np.nan
        return Estimate(means + share * gap, errors)

    def _of_one(self, gains):
        """Return mean and its variance; of a single unit, the square stands in for the variance."""
        n = len(gains)
        variance = gains.var(axis=0, ddof=1) / n if n > 1 else gains[0] ** 2
        return gains.mean(axis=0), variance
