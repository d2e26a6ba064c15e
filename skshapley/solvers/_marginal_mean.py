"""The mean of marginal contributions that are drawn for each player apart."""

import numpy as np

from skshapley.designs import MarginalDesign
from skshapley.solvers._base import Estimate, Solver, SolverTask
from skshapley.solvers._gap import without_gap
from skshapley.solvers._moments import Moments
from skshapley.solvers._permutation_mean import errors_over_units
from skshapley.solvers._silence import Scale, missed


class MarginalMean(Solver):
    """Mean marginal contribution of each player over rounds, with standard errors over units.

    Unlike along a walk, the contributions of a round do not add up to v(all) - v(empty). The gap is
    shared out in proportion to the variances of the means, which is the projection of least
    variance, unless the design estimates a value that need not add up. A single round has no
    variances, and squares stand in for them. Where coalitions are drawn by another law than the
    value's own, contributions carry weights.

    References
    ----------
    Strumbelj & Kononenko (2014), Explaining prediction models and individual predictions with
    feature contributions, Knowledge and Information Systems 41, Algorithm 1. Chen, Song, Wainwright
    & Jordan (2018), L-Shapley and C-Shapley: efficient model interpretation for structured data,
    section 4.3.1.

    Examples
    --------
    >>> from skshapley import shapley_values
    >>> from skshapley.solvers import MarginalMean
    >>> result = shapley_values(
    ...     lambda S: S @ [1.0, 2.0, 4.0],
    ...     n_players=3,
    ...     solver=MarginalMean(),
    ...     max_evals=20,
    ...     random_state=0,
    ... )
    >>> result.values
    array([1., 2., 4.])
    """

    accepts = (MarginalDesign,)
    default_sampler = "classical"

    def _start(self, task: SolverTask) -> None:
        r, k = self.v_full_.shape
        self._moments = Moments((r, 1), (self.n_players_, k))
        self._scale = Scale(r, self.n_players_, k)

    def update(self, rows: np.ndarray, design: MarginalDesign, values: np.ndarray) -> None:
        """Add the rounds of a design."""
        self._adds_up = design.adds_up
        contributions = design.contributions(values)
        r, n, p, k = contributions.shape
        units = contributions.reshape(r, n // design.unit, design.unit, p, k).mean(axis=2)
        self._scale.add(rows, contributions)
        strata = np.zeros(units.shape[:2], dtype=np.intp)
        self._moments.add(rows, strata, units[:, :, None], design.unit)

    def result(self) -> Estimate:
        """Return the means with the gap shared out, and standard errors over units."""
        m, gain = self._moments, self.v_full_ - self.v_empty_
        means, squares = m.mean[:, 0, 0], m.products[:, :, 0, 0]
        if not self._adds_up:
            return Estimate(means, errors_over_units(m, np.ones(1), squares, 1, self._scale.range))
        scale = np.maximum(self._scale.range, missed(means, gain))
        errors = errors_over_units(m, np.ones(1), squares, 1, scale)
        variances = np.where(m.units[:, :1, None] > 1, squares[:, 0], means**2)
        values, left = without_gap(means, variances, gain)
        return Estimate(values, errors * np.sqrt(left))
