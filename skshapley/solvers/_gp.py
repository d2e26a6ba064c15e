"""Shapley values from Gaussian processes on pairs of complementary coalitions.

`skshapley._process` has the kernels and functionals, and `Case` all estimates from the
pairs of one row. The documentation, "The odd-part Gaussian process", derives them.

The estimator corrected by its left-out errors has little bias. A posterior mean is
biased towards its prior, in the same direction for every row. Here the pairs of each
size are a simple random sample, so the left-out errors on them represent the unseen
pairs. With them, phi(f) = phi(m) + phi(f - m) is estimated by maximum sample reuse.
"""

from collections.abc import Callable

import numpy as np

from skshapley._process._case import Case, Estimates, solve_ranked
from skshapley._process._errors import overlooked
from skshapley._process._pairs import OddDesign, RandomOddDesign
from skshapley._process._process import Posterior
from skshapley._tools import effective_degrees, log_binomial, widening
from skshapley.solvers._base import Estimate, Solver, SolverTask, SolverTraits


class GaussianProcess(Solver):
    """Posterior mean of the Shapley values under a Gaussian prior on the odd interactions.

    Hyper-parameters are fitted to the values of each row, for all outputs together. A
    row takes 10 to 200 ms beside its evaluations. Pairs of "odd-ranked" need no
    hyper-parameters, and a row takes milliseconds. If least
    squares leaves no residual (additive and pairwise games), its solution is returned.
    Pairs beyond the capacity of the Gaussian process enter by least squares on the
    residuals. Attributions add up exactly.

    Standard errors are posterior standard deviations, scaled by the errors of pairs
    predicted from all others. They include the possible effect of an unseen pair. They
    are 0 if all pairs were evaluated. If least squares leaves no residual, they are
    1.5/m of the attributions' range, for m pairs beyond the players. They are NaN below
    two pairs per player, and for values in steps below 28 pairs.

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
        confirms=True,
        any_index=(OddDesign,),
        symmetric_pairs=(OddDesign,),
    )
    _correction: tuple[Callable[[Posterior], Estimates], ...] = ()

    def _start(self, task: SolverTask) -> None:
        self._cases = [
            Case(task.index, task.pairs, *self._correction) for _ in task.v_empty
        ]

    def update(
        self,
        rows: np.ndarray,
        design: OddDesign,
        values: np.ndarray,
    ) -> None:
        """Store the pairs of each row."""
        for i, row in enumerate(rows):
            self._cases[row].add(design, i, values[i])

    def result(self) -> Estimate:
        """Return the posterior means and their standard errors."""
        ranked = [
            case
            for case in self._cases
            if case.solution is None and case.ranked is not None
        ]
        if ranked:
            solve_ranked(ranked)
        values, errors = (
            np.stack(part)
            for part in zip(*[case.solve() for case in self._cases], strict=True)
        )
        p = self.n_players_
        background_errors = np.full_like(values, np.nan)
        background_errors[:, :p] = [case.background_errors for case in self._cases]
        if self.index_.adds_up:
            gap = self.gain_ - values[:, :p].sum(axis=1)
            # The rest is rounding or the jitter of the matrix; it has no owner, so it
            # is shared equally.
            values[:, :p] += gap[:, None] / p
        return Estimate(values, errors, background_errors)


PANEL = 128  # pairs deleted at once


def corrected(posterior: Posterior) -> tuple[np.ndarray, np.ndarray]:
    """Return values and errors from a simple random sample of the pairs of each size."""
    points = posterior.process.points
    correction = _Corrected(posterior)
    if np.linalg.matrix_rank(points.signs) < points.n_players:
        # players not separated by any pair: deleted pairs would not show it
        return correction.values, np.full_like(correction.values, np.nan)
    return correction.values, overlooked(
        posterior,
        correction.standard_errors(),
        least=1.0,
    )


class _Corrected:
    """Shapley values phi(m) + sum_S q(S) [(f - m)(S) + (N/n - 1) (f - m_without_S)(S)].

    With A = K^-1, a = A y and the noise nu of each pair, (f - m)(S) = nu_S a_S. The
    error of the prediction without S is a_S/A_SS (Rasmussen & Williams 2006, Eq 5.12).

    Parameters
    ----------
    posterior : Posterior
        Without blocks, the full coalition first.
    """

    def __init__(self, posterior: Posterior) -> None:
        self.posterior = posterior
        process = posterior.process
        points = process.points
        self._missed = posterior.left_out[1:]
        inside = points.signs[1:] > 0
        p = points.n_players
        size = inside.sum(axis=1)
        self._size = np.minimum(size, p - size)
        # Both coalitions of a pair count as the smaller size; n is the number of pairs
        # of that size.
        self._n = np.bincount(self._size)[self._size]
        # halves are two coalitions of one size
        multiplicity = np.where(2 * size == p, 1, 2)
        self._per_room = np.exp(-log_binomial(p, size)) * 2 / multiplicity
        # q(S) N: N cancels
        self._counts = multiplicity[:, None] * np.where(
            inside,
            1 / size[:, None],
            -1 / (p - size)[:, None],
        )
        self._solved = self._missed / process.left_out_variance[1:, None]
        self._noise = process.kernel.noise_at(points)[1:]
        self._change = self._sum(self._solved, self._missed, self._n)
        self.values = posterior.means + self._change

    def _sum(
        self,
        solved: np.ndarray,
        missed: np.ndarray,
        n: np.ndarray,
    ) -> np.ndarray:
        """Return the correction ``(p, k)``, or ``(p, m)`` for samples ``(n, m)``."""
        per_room = self._per_room[:, None]
        evaluated = self._noise[:, None] * per_room * solved
        unevaluated = (1 / n.reshape(len(n), -1) - per_room) * missed
        return self._counts.T @ (evaluated + unevaluated)

    def standard_errors(self) -> np.ndarray:
        """Return jackknife standard errors over pairs, within each size, ``(p, k)``.

        If n of N pairs of a size were evaluated, 1 - n/N of the variance remains.
        """
        squares = self._deleted() ** 2
        sizes, first, n = np.unique(self._size, return_index=True, return_counts=True)
        sums = np.stack([squares[self._size == size].sum(axis=0) for size in sizes])
        # Finite population: a completely evaluated size has no sampling error (Cochran
        # 1977).
        left = np.maximum(0.0, 1 - n * self._per_room[first])
        jackknife = left * np.maximum(n - 1, 1) / n
        parts = jackknife[:, None, None] * sums
        degrees = effective_degrees(parts[None], n[None, :, None, None])[0]
        return np.sqrt(parts.sum(axis=0)) * widening(degrees)

    def _deleted(self) -> np.ndarray:
        """Return the change of the values without each of the pairs, ``(n, p, k)``.

        Without the pair j, a_i becomes a_i - A_ij a_j/A_jj and A_ii becomes A_ii -
        A_ij^2/A_jj.
        """
        process = self.posterior.process
        # Row 0 is the full coalition, which is known and never deleted.
        shift = process.influence.T[1:]
        inverse = process.inverse[1:, 1:]
        diagonal = np.diag(inverse)
        out = -shift[:, :, None] * self._missed[:, None, :] - self._change
        for start in range(0, len(diagonal), PANEL):
            gone = np.arange(start, min(start + PANEL, len(diagonal)))
            itself = np.arange(len(diagonal))[:, None] == gone
            between = inverse[:, gone]
            # The deleted pair itself is set to 0 below; 1 avoids a division by 0.
            spread = np.where(
                itself,
                1.0,
                diagonal[:, None] - between**2 / diagonal[gone],
            )
            # Deleting a pair also raises the weights N/n of the other pairs of its
            # size.
            n = np.maximum(
                self._n[:, None] - (self._size[:, None] == self._size[gone]),
                1,
            )
            for k in range(out.shape[2]):
                solved = self._solved[:, k : k + 1] - between * self._missed[gone, k]
                solved[itself] = 0.0
                out[gone, :, k] += self._sum(solved, solved / spread, n).T
        return out


class LeaveOneOutProcess(GaussianProcess):
    """Posterior mean of the Shapley values, corrected by leave-one-out errors: nearly unbiased.

    Let S be the pair {S, complement}, f the odd part of the game and q(S) the weight of
    f(S) in the Shapley values, phi = sum_S q(S) f(S). Of the N pairs of a size, n are
    drawn at random without replacement. Evaluated pairs have their values. Other pairs
    have the posterior mean m, and the mean of its errors is estimated by maximum sample
    reuse from the evaluated pairs, each predicted from all others:

        phi = phi(m) + sum over seen S of q(S) [(f - m)(S) + (N/n - 1) (f -
        m_without_S)(S)].

    For any prior, a prediction without S has the same error distribution as on an
    unseen pair of its size. The remaining bias comes from the hyper-parameters, which
    are fitted to all values, and from predictions with one pair fewer. Attributions add
    up exactly. Additive and pairwise games are exact, and so is a budget that covers
    all pairs.

    The cost is variance: 1.1 to 1.2 times the squared error of "gp" with the same
    pairs, and up to twice the error of "gp" with chosen pairs. Use it for means of many
    estimates, in which a bias would remain.

    Standard errors are a jackknife over the pairs of each size, with fixed
    hyper-parameters. With few pairs, they are widened by Student's t. They are NaN
    below 3.5 pairs (seven evaluations) per player.

    References
    ----------
    Rasmussen & Williams (2006), Gaussian Processes for Machine Learning, Eqs 5.10 to
    5.12. Witter, Liu & Musco (2025), Regression-adjusted Monte Carlo estimators for
    Shapley values and probabilistic values, NeurIPS. Särndal, Swensson & Wretman
    (1992), Model Assisted Survey Sampling, chapter 6 (the difference estimator).

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import shapley_values
    >>> from skshapley.solvers import LeaveOneOutProcess
    >>> result = shapley_values(
    ...     lambda S: np.tanh(S @ np.linspace(0.1, 0.4, 12)),
    ...     n_players=12,
    ...     solver=LeaveOneOutProcess(),
    ...     max_evals=120,
    ...     random_state=0,
    ... )
    >>> bool(np.isclose(result.values.sum(), np.tanh(3.0)))
    True
    """

    accepts = (RandomOddDesign,)
    default_sampler = "odd-leverage"
    traits = SolverTraits(confirms=True, symmetric_pairs=(OddDesign,))
    _correction = (corrected,)
