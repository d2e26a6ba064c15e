"""Attributions that are fixed linear combinations of values."""

import numpy as np

from skshapley.designs import FullDesign, LinearDesign
from skshapley.indices import INDICES, enumerated
from skshapley.solvers._base import Estimate, Solver, SolverTask, SolverTraits, entries


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

    def update(self, rows: np.ndarray, design: LinearDesign, values: np.ndarray) -> None:
        """Apply the design's weights."""
        # one product an instance: its result must not depend on who shares the block
        p = self.n_players_
        if self.index_ == INDICES["shapley"]:
            self._values[rows, :p] = np.stack([design.weights @ v for v in values])
        else:
            self._values[rows, :p] = np.stack([enumerated(v, self.index_, 1) for v in values])
        if self.pairs_ is not None:
            self._values[rows, p:] = np.stack([enumerated(v, self.pairs_, 2) for v in values])
        self._exact[rows] = design.exact

    def result(self) -> Estimate:
        """Return the attributions; standard errors are 0 where exact, else unknown (None)."""
        if not self._exact.all():
            return Estimate(self._values, None)
        return Estimate(self._values, np.zeros_like(self._values))
