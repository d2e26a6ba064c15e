"""Weighted least squares with the sum of the attributions exact.

phi minimises sum_S w_S (v(S) - v(empty) - sum_{i in S} phi_i)^2 with the Shapley kernel
w_S = (p - 1)/(C(p, s) s (p - s)), subject to sum phi = v(all) - v(empty) (Charnes et al. 1988;
Lundberg & Lee 2017, Theorem 2). A coalition drawn with probability p_S enters with weight w_S/p_S,
in which the binomial cancels (Musco & Witter 2025).

Banzhaf values are the slopes of plain least squares with a constant, all coalitions alike and no
constraint (Hammer & Holzman 1992); a coalition then enters with weight 1/p_S.
"""

import numpy as np

from skshapley._tools._counting import log_binomial
from skshapley.designs import CoalitionDesign
from skshapley.indices import INDICES
from skshapley.solvers._base import Estimate, Solver, SolverTask, SolverTraits
from skshapley.solvers._spread import span, unseen

RANK = 1e-12  # of the largest eigenvalue: smaller ones are rounding


class LeastSquares(Solver):
    """Weighted least squares over sampled coalitions, constrained to the exact sum.

    With ``index="banzhaf"``, unweighted and unconstrained: Banzhaf values. Additive games are exact
    by either.

    Standard errors are those of a sandwich over units (pairs), each residual divided by one minus
    the unit's leverage (HC3, an approximate jackknife), and without the part of the population
    that was enumerated. They need more units than players, and coalitions that tell all players
    apart; before that they are NaN. From 30 units and three a player on, the attribution ± 1.96
    standard errors holds the truth about 95 times in 100; with fewer units it does so more often
    where players are many, and less often where they are few.

    References
    ----------
    Charnes, Golany, Keane & Rousseau (1988), Extremal principle solutions of games in
    characteristic function form. Lundberg & Lee (2017), A unified approach to interpreting model
    predictions, Theorem 2. Musco & Witter (2025), Provably accurate Shapley value estimation via
    leverage score sampling, Algorithm 1. Hammer & Holzman (1992), Approximations of pseudo-Boolean
    functions; applications to game theory, ZOR 36 (Banzhaf values). MacKinnon & White (1985), J. of
    Econometrics 29 (HC3).

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import shapley_values
    >>> from skshapley.solvers import LeastSquares
    >>> result = shapley_values(
    ...     lambda S: S @ [1.0, 2.0, 4.0],
    ...     n_players=3,
    ...     sampler="kernel",
    ...     solver=LeastSquares(),
    ...     max_evals=8,
    ...     random_state=0,
    ... )
    >>> np.round(result.values, 9)
    array([1., 2., 4.])
    """

    accepts = (CoalitionDesign,)
    default_sampler = "leverage"
    traits = SolverTraits(indices=("shapley", "banzhaf"))

    def _start(self, task: SolverTask) -> None:
        self._seen: list[list[tuple]] = [[] for _ in self.v_empty_]

    def update(self, rows: np.ndarray, design: CoalitionDesign, values: np.ndarray) -> None:
        """Keep the coalitions, their weights and values: residuals need them at the end."""
        p, m = self.n_players_, design.coalitions.shape[1]
        size = design.coalitions.sum(axis=2)
        if self.index_ == INDICES["banzhaf"]:
            weight = m * np.exp(log_binomial(p, size) - p * np.log(2)) / design.expected_draws
        else:
            weight = m / (size * (p - size) * design.expected_draws)
        drawn = _fraction_drawn(design, size, p)
        self._unit, self._exact = design.unit, design.exact
        for i, row in enumerate(rows):
            self._seen[row].append((design.coalitions[i], weight[i], 1 - drawn[i], values[i]))

    def result(self) -> Estimate:
        """Solve each instance and give its standard errors."""
        solved = [self._solve(row) for row in range(len(self._seen))]
        return Estimate(*(np.stack(part) for part in zip(*solved, strict=True)))

    def _solve(self, row: int) -> tuple[np.ndarray, np.ndarray]:
        coalitions, weight, open_part, values = (
            np.concatenate(part) for part in zip(*self._seen[row], strict=True)
        )
        fit = self._unconstrained if self.index_ == INDICES["banzhaf"] else self._constrained
        features, weight, open_part, target, share = fit(row, coalitions, weight, open_part, values)
        p, n = self.n_players_, features.shape[1]
        gram, spare = features.T @ (features * weight[:, None]), len(coalitions) // self._unit - p
        inverse = np.linalg.pinv(gram, RANK, hermitian=True)
        # constrained to a sum, one direction is known
        full_rank = np.linalg.matrix_rank(gram, rtol=RANK, hermitian=True) >= n - (n == p)
        found = inverse @ (features.T @ (target * weight[:, None]))
        own = slice(n - p, None)  # behind the constant, where there is one
        values = found[own] + share
        if self._exact:
            return values, np.zeros_like(values)
        if spare <= 0 or not full_rank:
            return values, np.full_like(values, np.nan)
        residual = target - features @ found
        errors = self._errors(features, weight, open_part, residual, inverse)[own]
        if np.all(open_part < 1e-9):  # all coalitions, drawn size by size
            return values, errors
        return values, unseen(errors, span(values), 1 / spare)

    def _constrained(
        self,
        row: int,
        coalitions: np.ndarray,
        weight: np.ndarray,
        open_part: np.ndarray,
        values: np.ndarray,
    ) -> tuple[np.ndarray, ...]:
        """Return features, weights, open part and target of Shapley values less equal shares."""
        p = self.n_players_
        size = coalitions.sum(axis=1, keepdims=True)
        share = (self.v_full_[row] - self.v_empty_[row]) / p
        target = values - self.v_empty_[row] - size * share
        return coalitions - size / p, weight, open_part, target, share

    def _unconstrained(
        self,
        row: int,
        coalitions: np.ndarray,
        weight: np.ndarray,
        open_part: np.ndarray,
        values: np.ndarray,
    ) -> tuple[np.ndarray, ...]:
        """Return the same of Banzhaf values, with a constant and both ends."""
        p, ends = self.n_players_, np.array([[False], [True]])
        known = np.stack([self.v_empty_[row], self.v_full_[row]])
        present = np.concatenate([np.repeat(ends, p, axis=1), coalitions])
        features = np.column_stack([np.ones(len(present)), present - 0.5])
        # each coalition of the cube once, those drawn for all of them
        weight = np.concatenate([np.full(2, len(coalitions) / 2.0**p), weight])
        open_part = np.concatenate([np.zeros(2), open_part])
        return features, weight, open_part, np.concatenate([known, values]), np.zeros(1)

    def _errors(
        self,
        centred: np.ndarray,
        weight: np.ndarray,
        open_part: np.ndarray,
        residual: np.ndarray,
        inverse: np.ndarray,
    ) -> np.ndarray:
        """Return the sandwich standard errors over units, ``(p, k)``."""
        unit = self._unit
        n_units = len(centred) // unit
        spread = centred @ inverse
        leverage = np.einsum("mp,mp,m->m", spread, centred, weight).reshape(-1, unit).sum(axis=1)
        scaled = weight[:, None] * residual
        # the scores of a unit add up: for a pair both rows are the same direction, with opposite
        # sign
        influence = (
            (spread[:, :, None] * scaled[:, None, :])
            .reshape(n_units, unit, spread.shape[1], -1)
            .sum(1)
        )
        keep = open_part.reshape(-1, unit)[:, 0] / np.maximum(1 - leverage, 1e-9) ** 2
        return np.sqrt(np.einsum("u,upk->pk", keep, influence**2))


def _fraction_drawn(design: CoalitionDesign, size: np.ndarray, p: int) -> np.ndarray:
    """Return the fraction of the coalitions of each size that cannot come again, in [0, 1]."""
    if design.replacement:
        whole = np.zeros(p + 1, dtype=bool) if design.whole is None else design.whole
        return whole[size].astype(np.float64)
    return np.minimum(1.0, np.exp(np.log(design.expected_draws) - log_binomial(p, size)))
