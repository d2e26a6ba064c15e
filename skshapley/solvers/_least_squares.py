"""Weighted least squares that define Shapley values: exact, and by projected gradients.

phi minimises sum_S w_S (v(S) - v(empty) - sum_{i in S} phi_i)^2 with the Shapley kernel
w_S = (p - 1)/(C(p, s) s (p - s)), subject to sum phi = v(all) - v(empty) (Charnes et
al. 1988; Lundberg & Lee 2017, Theorem 2). A coalition drawn with probability p_S has
the weight w_S/p_S, from which the binomial cancels (Musco & Witter 2025).

Banzhaf values are the slopes of unweighted least squares with a constant and without
constraint (Hammer & Holzman 1992). A coalition then has the weight 1/p_S.

**Projected stochastic gradient.** Grah & Thouvenot (2020), section 4.1. In their
notation d is the number of players, l the size of a coalition, x_i its indicator, y_i
its value, w_i = (d - 1)/(C(d, l) l (d - l)) and

    F(phi) = sum_i w_i (x_i . phi - y_i)^2   over the n = 2^d - 2 non-trivial coalitions.

A coalition drawn with probability p_i gives (w_i / p_i) (x_i . phi - y_i) x_i, an
unbiased gradient of F/2. With p_i = q(l)/C(d, l) the binomial cancels: w_i / p_i = (d -
1)/(q(l) l (d - l)). Steps here are for F/2, as in the authors' code and figures. The
paper gives the gradient of F, so its steps are half as large.

The projection is on the set K of a given sum, within a ball. Grah & Thouvenot (2020),
section 4.1: K = {phi : sum phi = v(M), ||phi|| <= D}. They alternate projections
(Dykstra, their Algorithm 2); K is a disc in a hyperplane, so there is a closed form.
Points are ``(r, p, k)``, one for every row and output; sums are ``(r, k)``.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from skshapley._tools import (
    Count,
    Maybe,
    Number,
    OneOf,
    degrees_of_tails,
    log_binomial,
    pooled_errors,
    positive_sizes,
)
from skshapley.designs import CoalitionDesign
from skshapley.indices import INDICES
from skshapley.solvers._base import (
    CoalitionSolver,
    Estimate,
    Solver,
    SolverTask,
    SolverTraits,
    unseen,
)

RANK = 1e-12  # share of the largest eigenvalue: smaller ones are rounding errors


class LeastSquares(CoalitionSolver):
    """Weighted least squares over sampled coalitions, constrained to the exact sum.

    With ``index="banzhaf"``, it is unweighted and unconstrained, and gives Banzhaf
    values. Additive games are exact for both indices.

    Standard errors are those of a sandwich over units (pairs), each residual divided by
    one minus the unit's leverage (HC3, an approximate jackknife), and without the part
    of the population that was enumerated. The variances of all players are pooled (see
    `PermutationMean`). They are widened as Student's t is against the normal. If few
    units make up most of the sum, the degrees of freedom are fewer, by their kurtosis.
    Errors need more units than players, and coalitions that tell all players apart;
    before that they are NaN. The attribution ± 1.96 standard errors holds the truth
    about 95 times in 100, more often with hardly more units than players. If one
    coalition is worth more than all others together, it does so less often: 84 to 90
    times on exponentials of sums at 4 to 30 evaluations per player.

    References
    ----------
    Charnes, Golany, Keane & Rousseau (1988), Extremal principle solutions of games in
    characteristic function form. Lundberg & Lee (2017), A unified approach to
    interpreting model predictions, Theorem 2. Musco & Witter (2025), Provably accurate
    Shapley value estimation via leverage score sampling, Algorithm 1. Hammer & Holzman
    (1992), Approximations of pseudo-Boolean functions; applications to game theory, ZOR
    36 (Banzhaf values). MacKinnon & White (1985), J. of Econometrics 29 (HC3).

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

    traits = SolverTraits(indices=("shapley", "banzhaf"))

    def _solve(
        self,
        row: int,
        coalitions: np.ndarray,
        expected: np.ndarray,
        values: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        banzhaf = self.index_ == INDICES["banzhaf"]
        problem = self._unconstrained if banzhaf else self._constrained
        features, weight, target, share = problem(row, coalitions, expected, values)
        p = self.n_players_
        n = features.shape[1]
        unit = self._design.unit
        spare = len(coalitions) // unit - p
        gram = features.T @ (features * weight[:, None])
        # Features of Shapley values add up to zero in each row, so the matrix is
        # singular.
        inverse = np.linalg.pinv(gram, RANK, hermitian=True)
        # the constraint on the sum fixes one direction
        rank = np.linalg.matrix_rank(gram, rtol=RANK, hermitian=True)
        coefficients = inverse @ (features.T @ (target * weight[:, None]))
        player_columns = slice(n - p, None)  # after the constant, if there is one
        values = coefficients[player_columns] + share
        if self._design.exact:
            return values, np.zeros_like(values)
        if spare <= 0 or rank < n - (n == p):
            return values, np.full_like(values, np.nan)
        # the fraction of the coalitions of each size that are not used up
        size = coalitions.sum(axis=1)
        whole = self._design.whole
        left = np.ones(len(size)) if whole is None else 1.0 - whole[size]
        if not self._design.replacement:
            left = 1 - np.minimum(1.0, expected / np.exp(log_binomial(p, size)))
        # nothing is left of both ends, where they are among the rows
        left = np.pad(
            left,
            (len(features) - len(left), 0),
        )
        scores = weight[:, None] * (target - features @ coefficients)
        errors = _sandwich(
            features,
            weight,
            scores,
            inverse,
            left,
            unit,
            player_columns,
        )
        if np.any(left >= 1e-9):  # otherwise all coalitions are drawn, size by size
            errors = unseen(errors, positive_sizes(np.abs(values)), 1 / spare)
        return values, errors

    def _constrained(self, row, coalitions, expected, values) -> tuple[np.ndarray, ...]:
        """Return features, weights and target for Shapley values minus equal shares; the shares."""
        p = self.n_players_
        size = coalitions.sum(axis=1, keepdims=True)
        # Less equal shares, the values add up to 0. Features of sum 0 then satisfy the
        # constraint by themselves.
        share = self.gain_[row] / p
        # w_S / p_S: the binomials of both cancel, so large p cannot overflow.
        weight = len(coalitions) / (size * (p - size) * expected[:, None])
        return (
            coalitions - size / p,
            weight[:, 0],
            values - self.v_empty_[row] - size * share,
            share,
        )

    def _unconstrained(
        self,
        row,
        coalitions,
        expected,
        values,
    ) -> tuple[np.ndarray, ...]:
        """Return features, weights and target of Banzhaf values, and no share for the players."""
        p = self.n_players_
        m = len(coalitions)
        end_values = np.stack([self.v_empty_[row], self.v_full_[row]])
        present = np.concatenate([np.repeat([[False], [True]], p, axis=1), coalitions])
        # Centred at 1/2, the features are uncorrelated with the constant over all
        # coalitions.
        features = np.column_stack([np.ones(len(present)), present - 0.5])
        # each coalition once; drawn coalitions represent all of their size
        drawn = np.exp(log_binomial(p, coalitions.sum(axis=1))) / expected
        return (
            features,
            m / 2.0**p * np.concatenate([np.ones(2), drawn]),
            np.concatenate([end_values, values]),
            np.zeros(1),
        )


def _sandwich(features, weight, scores, inverse, left, unit, own) -> np.ndarray:
    """Return the standard errors of the players by least squares over units, ``(p, k)``.

    Parameters
    ----------
    features : ndarray of shape (m, n)
    weight, left : ndarray of shape (m,)
        `left` is the fraction of the population that is sampled.
    scores : ndarray of shape (m, k)
        Weighted residuals.
    inverse : ndarray of shape (n, n)
    unit : int
    own : slice
        The columns of the players.
    """
    spread = features @ inverse
    leverage = (
        np.einsum("mp,mp,m->m", spread, features, weight).reshape(-1, unit).sum(axis=1)
    )
    # the scores of a unit add up: both rows of a pair have the same direction with
    # opposite signs
    contributions = spread[:, own, None] * scores[:, None, :]
    # HC3: residuals of units with leverage h are too small by 1 - h. The floor avoids a
    # division by 0.
    keep = left.reshape(-1, unit)[:, 0] / np.maximum(1 - leverage, 1e-9) ** 2
    squares = (
        keep[:, None, None]
        * contributions.reshape(-1, unit, *contributions.shape[1:]).sum(axis=1) ** 2
    )
    total = squares.sum(axis=0)
    n = int((keep > 0).sum())
    degrees = degrees_of_tails(n, total, (squares**2).sum(axis=0))
    # The kurtosis of few numbers is too small, so n - 1 degrees remain an upper limit.
    most = max(n - 1, 1)
    return pooled_errors(total, np.minimum(degrees, most), most)


def project(
    points: np.ndarray,
    total: np.ndarray,
    radius: float,
) -> np.ndarray:
    """Project on the hyperplane sum = `total` within the ball of `radius` around 0.

    The ball cuts the hyperplane in a disc around the point with all coordinates
    total/p, so the projection on the hyperplane is pulled radially towards that point.

    Parameters
    ----------
    points : ndarray of shape (r, p, k)
    total : ndarray of shape (r, k)
    radius : float
        At least ``abs(total) / sqrt(p)``. Infinite for no ball.

    Returns
    -------
    projected : ndarray of shape (r, p, k)

    Examples
    --------
    >>> import numpy as np
    >>> project(
    ...     np.array([[[3.0], [-1.0]]]), total=np.array([[0.0]]), radius=1.0
    ... ).ravel().round(4)
    array([ 0.7071, -0.7071])
    """
    p = points.shape[1]
    centre = (total / p)[:, None]
    offset = points - ((points.sum(axis=1) - total) / p)[:, None] - centre
    # Pythagoras: the disc's centre has this distance from the origin. Rounding may make
    # the product negative. Without squares, large numbers do not overflow.
    distance = total / np.sqrt(p)
    reach = np.sqrt(np.maximum((radius - distance) * (radius + distance), 0.0))
    length = np.hypot.reduce(offset, axis=1)
    shrink = np.divide(
        reach,
        length,
        out=np.ones_like(length),
        where=length > reach,
    )
    return centre + offset * shrink[:, None]


class Trace(NamedTuple):
    """The path of a run, in intervals of some steps.

    Attributes
    ----------
    n_coalitions : ndarray of shape (n,), int
        Number of processed coalitions.
    iterates, averages : ndarray of shape (n, r, p, k)
    """

    n_coalitions: np.ndarray
    iterates: np.ndarray
    averages: np.ndarray


@dataclass(eq=False, repr=False)
class ProjectedSGD(Solver):
    """Projected stochastic gradient descent, coalition by coalition (Grah & Thouvenot 2020).

    It starts with equal shares, stores no coalitions and solves no linear system. Least squares
    does both and is more accurate with the same evaluations. There are no standard errors.

    Parameters
    ----------
    step : {"constant", "sqrt", "inverse"}, default="constant"
        Decay of the step with the number t of processed coalitions.
    step_size : float or None, default=None
        gamma: the step is gamma, gamma / sqrt(t) or gamma / t. None: the natural scale g = 1/((p -
        1) H(p - 1)), with the harmonic number H. It moves approximately to the solution of the
        drawn coalition. The step is g, g / sqrt(1 + g t) or g / (1 + g mu t / 2), mu = 1 - 1/p; the
        last one approaches 2 / (mu t), as in the paper. A design with steeper coalitions than the
        importance distribution reduces g. Steps are for one coalition, and for F/2, half of the
        paper's F.
    averaging : {"uniform", "none", "weighted", "tail"}, default="uniform"
        The estimate from the iterates. "uniform": the mean of all. "none": the last one.
        "weighted": the mean with linearly growing weights (the paper's choice for "inverse").
        "tail": the mean since the second last power of two, which is half to three quarters of all
        iterates.
    batch_size : int, default=64
        Coalitions per step, which uses the mean of their gradients; the paper has 1. The step for B
        coalitions is B gamma / (1 + (B - 1) mu gamma). It equals B steps if these are small, and is
        never far above 1 / mu, the step that solves the problem with an exact gradient.
    radius : float or None, default=None
        D, a bound on the norm of the attributions; None for no bound.
    trace_every : int or None, default=None
        Interval of steps after which `trace_` stores the iterate and its mean.

    Attributes
    ----------
    trace_ : Trace
        Available after a run, as ``shapley_values(...).solver.trace_``.

    Notes
    -----
    Pairs with replacement, ``Leverage(replacement=True)``, have half to three quarters of the error
    of the importance distribution with as many draws. Without replacement, the small sizes are
    enumerated. They occur once with large weights, and one pass does not average them.

    References
    ----------
    Grah & Thouvenot (2020), A projected stochastic gradient algorithm for estimating Shapley value
    applied in attribute importance, CD-MAKE, section 4.

    Examples
    --------
    >>> from skshapley import shapley_values
    >>> from skshapley.solvers import ProjectedSGD
    >>> result = shapley_values(
    ...     lambda S: S @ [1.0, 2.0, 4.0],
    ...     n_players=3,
    ...     solver=ProjectedSGD(averaging="tail"),
    ...     max_evals=1000,
    ...     random_state=0,
    ... )
    >>> result.values.round(3)
    array([1., 2., 4.])
    """

    step: str = "constant"
    step_size: float | None = None
    averaging: str = "uniform"
    batch_size: int = 64
    radius: float | None = None
    trace_every: int | None = None

    accepts = (CoalitionDesign,)
    default_sampler = "importance"
    # Without errors, values are never scaled: the radius and the trace are in their
    # units.
    traits = SolverTraits(standard_errors=False)
    _constraints = {
        "step": OneOf(("constant", "sqrt", "inverse")),
        "step_size": Maybe(Number(above=0)),
        "averaging": OneOf(("none", "uniform", "weighted", "tail")),
        "batch_size": Count(),
        "radius": Maybe(Number(above=0)),
        "trace_every": Maybe(Count()),
    }

    def _start(self, task: SolverTask) -> None:
        p = self.n_players_
        self._radius = np.inf if self.radius is None else self.radius
        largest = np.abs(self.gain_).max(initial=0.0)
        least = largest / np.sqrt(p)
        if least > self._radius:
            raise ValueError(
                f"ProjectedSGD got radius={self._radius!r}, but attributions of {p} "
                f"players with the sum {largest:.6g} have a norm of at least {least:.6g}: "
                "give a larger radius, or None for no ball."
            )
        phi = np.repeat(
            (self.gain_ / p)[:, None],
            p,
            axis=1,
        )
        none = np.zeros_like(phi)
        # the iterate, the weighted sum of all iterates, and this sum before the last
        # and the second last power of two; only weighted sums include the start
        self._state = np.stack(
            [phi, phi if self.averaging == "weighted" else none, none, none]
        )
        self._steps = np.zeros(len(phi), dtype=np.int64)
        self._seen = np.zeros(len(phi), dtype=np.int64)
        self._path = [(0, phi, phi)]

    def update(
        self,
        rows: np.ndarray,
        design: CoalitionDesign,
        values: np.ndarray,
    ) -> None:
        """Take one step for each batch of coalitions, in the order of the design."""
        p = self.n_players_
        m = values.shape[1]
        size = design.coalitions.sum(axis=2)
        weight = (p - 1) * m / (design.expected_draws * size * (p - size))
        target = values - self.v_empty_[rows, None]
        # the squared length of x on the hyperplane of sum zero is l (d - l)/d
        steepest = (weight * size * (p - size) / p).max(axis=1)
        # 1/((p - 1) H(p - 1)): with the importance distribution, the step of a Kaczmarz
        # projection, which approximately solves the equation of a coalition. If a design
        # has coalitions with much larger weights (the uniform distribution, or enumerated
        # sizes), the steepest curvature limits the step.
        scale = 1 / np.maximum((p - 1) * np.sum(1 / np.arange(1, p)), steepest)
        for start in range(0, m, self.batch_size):
            batch = slice(start, start + self.batch_size)
            x = design.coalitions[:, batch].astype(np.float64)
            self._seen[rows] += x.shape[1]
            self._steps[rows] += 1
            step = self._step_sizes(
                scale,
                self._seen[rows],
                x.shape[1],
            )
            phi, weighted_sum, *tails = self._state[:, rows]
            # The mean gradient of the batch; a step for B coalitions is scaled in
            # `_step_sizes`.
            pull = step[:, None] * weight[:, batch] / x.shape[1]
            gap = pull[:, :, None] * (np.matmul(x, phi) - target[:, batch])
            phi = project(
                phi - np.matmul(np.swapaxes(x, 1, 2), gap),
                self.gain_[rows],
                self._radius,
            )
            t = self._steps[rows, None, None]
            growth = t + 1 if self.averaging == "weighted" else 1
            # Sums at powers of two suffice for the tail mean, without storing iterates.
            last, before = np.where(
                t == _power_below(t),
                (weighted_sum, tails[0]),
                tails,
            )
            weighted_sum = weighted_sum + growth * phi
            self._state[:, rows] = phi, weighted_sum, last, before
            if self.trace_every and self._steps[rows[0]] % self.trace_every == 0:
                n_seen = self._seen[rows[0]]
                self._path.append((n_seen, self._state[0].copy(), self.result().values))

    def _step_sizes(
        self,
        scale: np.ndarray,
        seen: np.ndarray,
        batch: int,
    ) -> np.ndarray:
        """Return the step of the batch with the last coalition number `seen`, ``(r,)``."""
        # Curvature of F/2 along the hyperplane of constant sums, equal in all
        # directions.
        mu = 1 - 1 / self.n_players_
        natural = self.step_size is None
        gamma = scale if natural else np.full(len(seen), self.step_size)
        if self.step == "sqrt":
            gamma = gamma / np.sqrt(1 + gamma * seen if natural else seen)
        elif self.step == "inverse":
            gamma = gamma / (1 + gamma * mu * seen / 2 if natural else seen)
        return batch * gamma / (1 + (batch - 1) * mu * gamma)

    @property
    def trace_(self) -> Trace:
        """The path so far, including the start; see `Trace`."""
        if self.trace_every is None:
            raise AttributeError(
                f"{type(self).__name__} has no trace; pass trace_every=1, or another "
                "int."
            )
        return Trace(*(np.array(part) for part in zip(*self._path, strict=True)))

    def result(self) -> Estimate:
        """Return the mean of the iterates; there are no standard errors."""
        phi, total, _, before = self._state
        t = self._steps[:, None, None]
        if self.averaging == "none":
            return Estimate(phi.copy(), None)
        if self.averaging == "weighted":
            return Estimate(
                total * 2 / ((t + 1) * (t + 2)),
                None,
            )
        n = t
        if self.averaging == "tail":
            n = t + 1 - np.maximum(_power_below(t) // 2, 1)
            total = total - before
        return Estimate(
            np.where(t > 0, total / np.maximum(n, 1), phi),
            None,
        )


def _power_below(t: np.ndarray) -> np.ndarray:
    """Return the largest power of two that is at most t (1 for t = 0)."""
    return 2 ** np.log2(np.maximum(t, 1)).astype(np.int64)
