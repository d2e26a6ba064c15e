"""Regression adjustment: a surrogate's Shapley values plus an unbiased estimate of the remainder.

Witter, Liu & Musco (2025): phi(v) = phi(g) + phi(v - g) for any game g with known Shapley values.
Maximum sample reuse estimates the second part, with a variance that depends on v - g only. The
estimate is unbiased only if g was not fitted to these coalitions: hence folds. With one fold, the
correction of a linear g is identically zero (its normal equations), so a single fold is refused.
"""

from typing import Any

import numpy as np

from skshapley._tools._constraints import Count
from skshapley.designs import CoalitionDesign
from skshapley.solvers._base import SolverTraits
from skshapley.solvers._kept import CoalitionSolver
from skshapley.solvers._sample_reuse import (
    errors_of_sum,
    is_complete,
    size_law,
    strata,
    unit_sums,
)
from skshapley.solvers._spread import span, unseen
from skshapley.solvers._surrogates import SURROGATE, check_enumerable, fit_surrogate


class RegressionAdjustment(CoalitionSolver):
    """Cross-fitted surrogates, corrected by an unbiased estimate on held-out units.

    Standard errors are those of the correction, over units. With few units, they are widened by
    Student's t.

    Parameters
    ----------
    surrogate : {"linear", "tree"} or regressor, default="linear"
        The model fitted to the values. "linear": weighted least squares, an additive game. "tree":
        boosted regression trees. Any regressor is fitted to 0/1 indicators of the players. Its
        Shapley values are exact: from its trees (`skshapley.trees`), or enumerated for at most 14
        players.
    folds : int, default=10
        Number of parts of the units; each is corrected by a surrogate of the others. At least 2.

    References
    ----------
    Witter, Liu & Musco (2025), Regression-adjusted Monte Carlo estimators for Shapley values and
    probabilistic values, NeurIPS, Eq 6 and Algorithm 1. Chernozhukov et al. (2018), Double/debiased
    machine learning, Econometrics Journal 21 (cross-fitting).

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import shapley_values
    >>> from skshapley.solvers import RegressionAdjustment
    >>> result = shapley_values(
    ...     lambda S: S @ np.arange(8.0),
    ...     n_players=8,
    ...     solver=RegressionAdjustment(),
    ...     max_evals=80,
    ...     random_state=0,
    ... )
    >>> bool(np.abs(result.values - np.arange(8)).max() < 1e-9)
    True
    """

    _constraints = {
        "surrogate": SURROGATE,
        "folds": Count(least=2, hint="a surrogate does not correct its own sample; try 10"),
    }

    def __init__(self, surrogate: Any = "linear", folds: int = 10) -> None:
        self.surrogate = surrogate
        self.folds = folds

    @property
    def traits(self) -> SolverTraits:  # type: ignore[override]
        """The traits; a linear surrogate serves all indices, as additive games have equal values.

        Further draws occur only for few players. The surrogates then know all coalitions, and the
        other folds have no information about the errors.
        """
        linear = isinstance(self.surrogate, str) and self.surrogate == "linear"
        return SolverTraits(goes_on=False, any_index=(CoalitionDesign,) if linear else ())

    def check_players(self, n_players: int) -> None:
        """Raise ValueError for a surrogate that needs enumeration, if there are many players."""
        check_enumerable(self.surrogate, n_players, type(self).__name__)

    def _solve(
        self, row: int, coalitions: np.ndarray, expected: np.ndarray, values: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        p, unit = self.n_players_, self._design.unit
        law = size_law(self.index_, p)
        # the line in the size is additive and known at both ends: it needs no surrogate
        share = (self.v_full_[row] - self.v_empty_[row]) / p
        left = values - self.v_empty_[row] - coalitions.sum(axis=1, keepdims=True) * share
        n_units = len(coalitions) // unit
        fold = self._folds(coalitions, expected)
        total, missed = np.zeros((p, values.shape[1])), np.empty_like(left)
        for one in range(min(self.folds, n_units)):
            inside = fold == one
            within = np.repeat(inside, unit)
            surrogate = fit_surrogate(
                self.surrogate, coalitions[~within], expected[~within], left[~within]
            )
            rest = left - surrogate.predict(coalitions)
            missed[within] = rest[within]
            own = surrogate.shapley()
            # its error at the two ends is divided equally among the players
            adjusted = own - own.mean(axis=0)
            weights = self._weights(coalitions, expected, inside)
            parts = unit_sums(coalitions, expected, rest, unit, law)
            total += inside.mean() * (adjusted + np.einsum("u,upk->pk", weights, parts))
        parts = unit_sums(coalitions, expected, missed, unit, law)
        values, errors = total + share, errors_of_sum(self._design, coalitions, expected, parts)
        if is_complete(self._design, coalitions):
            return values, errors
        return values, unseen(errors, span(values), 1 / max(n_units - p, 1))

    def _folds(self, coalitions: np.ndarray, expected: np.ndarray) -> np.ndarray:
        """Return the fold of each unit, assigned in turn within each size."""
        fold = np.empty(len(coalitions) // self._design.unit, dtype=np.intp)
        dealt = 0
        for inside, _, _ in strata(coalitions, expected, self._design.unit):
            fold[inside] = (dealt + np.arange(inside.sum())) % self.folds
            dealt += inside.sum()
        return fold

    def _weights(
        self, coalitions: np.ndarray, expected: np.ndarray, inside: np.ndarray
    ) -> np.ndarray:
        """Return the weights of units in the sum of residuals over all coalitions.

        With replacement, only the fold's own units count. Otherwise, the other folds are
        known, and the fold is a sample of the rest. With N units, t known and n in the fold, the
        weight is (N - t)/n. A size with too few draws for every fold is treated as with
        replacement.
        """
        weights = np.where(inside, 1 / inside.mean(), 0.0)
        if self._design.replacement and not self._design.exact:
            return weights
        for size, wanted, room in strata(coalitions, expected, self._design.unit):
            n, known = (size & inside).sum(), (size & ~inside).sum()
            if size.sum() < self.folds and wanted < room * (1 - 1e-9):
                continue
            drawn = wanted / room
            weights[size & ~inside] = drawn
            weights[size & inside] = drawn * (room - known) / max(n, 1)
        return weights
