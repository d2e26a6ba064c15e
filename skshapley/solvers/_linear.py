"""Values by fixed weights of a design, and by means of marginal contributions."""

import numpy as np

from skshapley._tools._moments import Moments
from skshapley.designs import FullDesign, LinearDesign, MarginalDesign
from skshapley.indices import INDICES, enumerated
from skshapley.solvers._base import (
    Estimate,
    Solver,
    SolverTask,
    SolverTraits,
    entries,
    errors_without_gap,
    without_gap,
)
from skshapley.solvers._permutation_mean import errors_over_units
from skshapley.solvers._positions import position_effects
from skshapley.solvers._spread import Scale, missed


class Linear(Solver):
    """Weighted sums of the values of a fixed list of coalitions; exact designs have zero error.

    Examples
    --------
    >>> from skshapley import shapley_values
    >>> from skshapley.solvers import Linear
    >>> result = shapley_values(
    ...     lambda S: S.any(axis=1) * 1.0,
    ...     n_players=2,
    ...     sampler="exact",
    ...     solver=Linear(),
    ...     max_evals=4,
    ... )
    >>> result.values, result.standard_errors
    (array([0.5, 0.5]), array([0., 0.]))
    """

    accepts = (LinearDesign,)
    default_sampler = "exact"
    traits = SolverTraits(any_index=(FullDesign,), pairs=(FullDesign,))

    def _start(self, task: SolverTask) -> None:
        r, k = self.v_empty_.shape
        self._values = np.zeros((r, len(entries(self.n_players_, self.pairs_)), k))
        self._exact = np.zeros(r, dtype=bool)

    def update(
        self, rows: np.ndarray, design: LinearDesign, values: np.ndarray
    ) -> None:
        """Apply the design's weights."""
        # one product per row: its result must not depend on the other rows of the block
        p = self.n_players_
        shapley = self.index_ == INDICES["shapley"]
        for row, v in zip(rows, values, strict=True):
            single = design.weights @ v if shapley else enumerated(v, self.index_, 1)
            self._values[row, :p] = single
            if self.pairs_ is not None:
                self._values[row, p:] = enumerated(v, self.pairs_, 2)
        self._exact[rows] = design.exact

    def result(self) -> Estimate:
        """Return the attributions; standard errors are 0 for exact designs, else unknown (None)."""
        if not self._exact.all():
            return Estimate(self._values, None)
        return Estimate(self._values, np.zeros_like(self._values))


class MarginalMean(Solver):
    """Mean marginal contribution of each player over rounds, with standard errors over units.

    Unlike in a permutation, the contributions of a round do not add up to v(all) -
    v(empty). The gap is divided in proportion to the variances of the means, which is
    the projection with the smallest variance. This is omitted if the estimated values
    need not add up. A single round has no variances, so squares replace them. Standard
    errors are at least as large as the effect of the sizes of a player's coalitions,
    and include a gap that they do not explain. If the distribution of coalitions
    differs from the index, contributions have weights.

    References
    ----------
    Strumbelj & Kononenko (2014), Explaining prediction models and individual
    predictions with feature contributions, Knowledge and Information Systems 41,
    Algorithm 1. Chen, Song, Wainwright & Jordan (2018), L-Shapley and C-Shapley:
    efficient model interpretation for structured data, section 4.3.1.

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
        # number of contributions of each player to coalitions of each size, and all
        # contributions
        self._joined = np.zeros((r, self.n_players_, self.n_players_))
        self._by_size = np.zeros((r, self.n_players_, k))
        self._sums = np.zeros((r, self.n_players_, k))

    def update(
        self, rows: np.ndarray, design: MarginalDesign, values: np.ndarray
    ) -> None:
        """Add the rounds of a design."""
        self._adds_up = design.adds_up
        contributions = design.contributions(values)
        r, n, p, k = contributions.shape
        units = contributions.reshape(r, -1, design.unit, p, k).mean(axis=2)
        self._scale.add(rows, contributions)
        sizes = design.coalitions[:, ::2].sum(axis=2).reshape(r, n, p)
        for row, size, gained in zip(rows, sizes, contributions, strict=True):
            np.add.at(self._joined[row], (np.arange(p), size), 1)
            np.add.at(self._by_size[row], size, gained)
            self._sums[row] += gained.sum(axis=0)
        strata = np.zeros(units.shape[:2], dtype=np.intp)
        self._moments.add(rows, strata, units[:, :, None], design.unit)

    def result(self) -> Estimate:
        """Return the means with a corrected sum, and standard errors over units."""
        m = self._moments
        gain = self.v_full_ - self.v_empty_
        means = m.mean[:, 0, 0]
        squares = m.products[:, :, 0, 0]
        gap = missed(means, gain) if self._adds_up else 0.0
        errors = errors_over_units(m, np.ones(1), squares, self._scale, gap=gap)
        if not self._adds_up:
            return Estimate(means, errors)
        variances = np.where(m.units[:, :1, None] > 1, squares[:, 0], means**2)
        values, shares = without_gap(means, variances, gain)
        errors = errors_without_gap(errors, shares, means, gain)
        # If few coalitions contain nearly all of the worth, most players have joined none
        # of these.
        rows = zip(self._joined, self._by_size, self._sums, strict=True)
        effects = np.stack([position_effects(*row) for row in rows])
        return Estimate(values, np.maximum(errors, np.abs(effects)))
