"""Shapley values from Gaussian processes on pairs of complementary coalitions.

`skshapley._process` has the kernels and functionals, and `Case` all estimates from the
pairs of one row. The documentation, "The odd-part Gaussian process", derives them.
"""

from collections.abc import Callable

import numpy as np

from skshapley._process._case import Case, Estimates
from skshapley._process._pairs import OddDesign
from skshapley._process._process import Posterior
from skshapley.solvers._base import Estimate, Solver, SolverTask, SolverTraits


class GaussianProcess(Solver):
    """Posterior mean of the Shapley values under a Gaussian prior on the odd interactions.

    Hyper-parameters are fitted to the values of each row, for all outputs together. A
    row takes tenths of a second beside its evaluations. Pairs of "odd-ranked" need no
    hyper-parameters, and a row takes milliseconds. If least
    squares leaves no residual (additive and pairwise games), its solution is returned.
    Pairs beyond the capacity of the Gaussian process enter by least squares on the
    residuals. Attributions add up exactly.

    Standard errors are posterior standard deviations, scaled by the errors of pairs
    predicted from all others. They include the possible effect of an unseen pair. They
    are 0 if all pairs were evaluated. If least squares leaves no residual, they are
    1.5/m of the attributions' range, for m pairs beyond the players. They are NaN below
    two pairs per player, and for values in steps below 24 pairs.

    References
    ----------
    Rasmussen & Williams (2006), Gaussian Processes for Machine Learning, chapters 2 and
    5. O'Hagan (1991), Bayes-Hermite quadrature, J. Statistical Planning and Inference
    29 (a linear functional of a Gaussian process). Musco & Witter (2025), Provably
    accurate Shapley value estimation via leverage score sampling, ICLR (the regression
    on residuals).

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import shapley_values
    >>> from skshapley.solvers import GaussianProcess
    >>> result = shapley_values(
    ...     lambda S: np.tanh(S @ np.linspace(0.1, 0.4, 12)),
    ...     n_players=12,
    ...     solver=GaussianProcess(),
    ...     max_evals=120,
    ...     random_state=0,
    ... )
    >>> bool(np.isclose(result.values.sum(), np.tanh(3.0)))
    True
    """

    accepts = (OddDesign,)
    default_sampler = "odd"
    traits = SolverTraits(
        confirms=True, any_index=(OddDesign,), symmetric_pairs=(OddDesign,)
    )
    _correction: tuple[Callable[[Posterior], Estimates], ...] = ()

    def _start(self, task: SolverTask) -> None:
        self._cases = [
            Case(task.index, task.pairs, *self._correction) for _ in task.v_empty
        ]

    def update(self, rows: np.ndarray, design: OddDesign, values: np.ndarray) -> None:
        """Store the pairs of each row."""
        for i, row in enumerate(rows):
            self._cases[row].add(design, i, values[i])

    def result(self) -> Estimate:
        """Return the posterior means and their standard errors."""
        solved = [case.solve() for case in self._cases]
        values, errors = (np.stack(part) for part in zip(*solved, strict=True))
        background_errors, p = np.full_like(values, np.nan), self.n_players_
        background_errors[:, :p] = [case.background_errors for case in self._cases]
        if self.index_.adds_up:
            gap = self.v_full_ - self.v_empty_ - values[:, :p].sum(axis=1)
            # The rest is rounding or the jitter of the matrix; it has no owner, so it
            # is shared equally.
            values[:, :p] += gap[:, None] / p
        return Estimate(values, errors, background_errors)
