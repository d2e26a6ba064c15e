"""Regression adjustment: a surrogate's Shapley values, and an unbiased estimate of what it misses.

Witter, Liu & Musco (2025): phi(v) = phi(g) + phi(v - g) for any game g whose Shapley values are
known; the second part is estimated by maximum sample reuse, the variance of which depends on v - g
alone. Unbiased only where g has not seen the coalitions that it is held against: hence folds. With
one fold the correction of a linear g is identically zero (its normal equations), and so that is
refused.
"""

import numpy as np

from skshapley.designs import CoalitionDesign
from skshapley.solvers._base import Estimate, Solver
from skshapley.solvers._sample_reuse import strata, unit_sums, variance_within
from skshapley.solvers._surrogates import SURROGATES


class RegressionAdjustment(Solver):
    """Cross-fitted surrogates, corrected by maximum sample reuse on the units they have not seen.

    Standard errors are those of the correction, over units (pairs), within folds.

    Parameters
    ----------
    surrogate : {"linear", "tree"}, default="linear"
        What is fitted to the values. "linear": weighted least squares, an additive game. "tree":
        boosted regression trees on the players' presence, whose Shapley values are exact.
    folds : int, default=10
        Parts of the units; each is corrected by a surrogate of the others. At least 2.

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

    accepts = (CoalitionDesign,)
    default_sampler = "leverage"

    def __init__(self, surrogate="linear", folds=10):
        self.surrogate = surrogate
        self.folds = folds

    def start(self, n_players, v_empty, v_full):
        """Prepare a run."""
        if self.surrogate not in SURROGATES:
            raise ValueError(
                f"RegressionAdjustment got surrogate={self.surrogate!r}: choose one of"
                f" {sorted(SURROGATES)}."
            )
        if isinstance(self.folds, bool) or not isinstance(self.folds, int) or self.folds < 2:
            raise ValueError(
                f"RegressionAdjustment got folds={self.folds!r}: it needs an int of at least 2: a"
                f" surrogate held against its own sample corrects nothing; try folds=10."
            )
        super().start(n_players, v_empty, v_full)
        self._seen: list[list[tuple]] = [[] for _ in v_empty]
        return self

    def update(self, rows, design, values):
        """Keep the coalitions and values: surrogates need them at the end."""
        self._unit, self._replacement = design.unit, design.replacement
        m = design.coalitions.shape[1]
        for i, row in enumerate(rows):
            rates = design.expected_draws[i] / m
            self._seen[row].append((design.coalitions[i], rates, values[i]))

    def result(self):
        """Fit, correct and average over folds, for each instance."""
        solved = [self._solve(row) for row in range(len(self._seen))]
        return Estimate(*(np.stack(part) for part in zip(*solved, strict=True)))

    def _solve(self, row):
        """Return attributions and standard errors of one instance, ``(p, k)`` each."""
        coalitions, rates, values = (
            np.concatenate(part) for part in zip(*self._seen[row], strict=True)
        )
        p, unit = self.n_players_, self._unit
        expected = rates * len(coalitions)
        # the line in the size is known to both ends, and additive: it needs no surrogate
        share = (self.v_full_[row] - self.v_empty_[row]) / p
        left = values - self.v_empty_[row] - coalitions.sum(axis=1, keepdims=True) * share
        n_units = len(coalitions) // unit
        fold = self._folds(coalitions, expected)
        total, missed = np.zeros((p, values.shape[1])), np.empty_like(left)
        for one in range(min(self.folds, n_units)):
            inside = fold == one
            within = np.repeat(inside, unit)
            surrogate = SURROGATES[self.surrogate](
                coalitions[~within], expected[~within], left[~within]
            )
            rest = left - surrogate.predict(coalitions)
            missed[within] = rest[within]
            own = surrogate.shapley()
            # what it misses at the two ends is shared by all players alike
            adjusted = own - own.mean(axis=0)
            weights = self._weights(coalitions, expected, inside)
            parts = unit_sums(coalitions, expected, rest, unit)
            total += inside.mean() * (adjusted + np.einsum("u,upk->pk", weights, parts))
        parts = unit_sums(coalitions, expected, missed, unit)
        if self._replacement:
            scale = n_units / (n_units - 1) if n_units > 1 else np.nan
            variance = ((parts - parts.mean(axis=0)) ** 2).sum(axis=0) * scale
        else:
            variance = variance_within(coalitions, expected, parts, unit)
        return total + share, np.sqrt(variance)

    def _folds(self, coalitions, expected):
        """Return the fold of each unit, dealt size by size."""
        fold = np.empty(len(coalitions) // self._unit, dtype=np.intp)
        dealt = 0
        for inside, _, _ in strata(coalitions, expected, self._unit):
            fold[inside] = (dealt + np.arange(inside.sum())) % self.folds
            dealt += inside.sum()
        return fold

    def _weights(self, coalitions, expected, inside):
        """Return the weights of the units that estimate the sum of residuals over all coalitions.

        With replacement only the fold's own units count. Without, those of the other folds are
        known and the fold is a sample of the rest: of N units, t known and n in the fold, the
        latter weigh (N - t)/n; where a size has too few draws for every fold, as with replacement.
        """
        weights = np.where(inside, 1 / inside.mean(), 0.0)
        if self._replacement:
            return weights
        for size, wanted, room in strata(coalitions, expected, self._unit):
            n, known = (size & inside).sum(), (size & ~inside).sum()
            if size.sum() < self.folds and wanted < room * (1 - 1e-9):
                continue
            drawn = wanted / room
            weights[size & ~inside] = drawn
            weights[size & inside] = drawn * (room - known) / max(n, 1)
        return weights
