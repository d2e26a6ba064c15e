"""The quadratic part of a response in standard units, fitted to the background.

Conditional rewards of a quadratic function of the rows are known without the model.
Only the rest of the response, which varies less, is sampled. The quadratic part is a
control variate, fitted in ``fit``.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import RidgeCV

from skshapley.rewards._game import Known
from skshapley.rewards._gaussian import NormalMargins, row_products

LEAST_ROWS = 64  # background rows for the fit
MOST_ROWS = 4096
# Columns with products in the fit: those with the largest main effects
MOST_CROSSED = 32
LEAST_SHARE = 0.2  # smallest explained share of the variance on held-out rows
PENALTIES = (1.0, 10.0, 100.0, 1000.0)  # penalty, as a number of rows without effect


@dataclass(frozen=True, eq=False)
class Quadratic:
    """Quadratic functions of rows in standard units, one per learned output.

    Attributes
    ----------
    centre : ndarray of shape (d,)
        The background's mean.
    constants : ndarray of shape (c,)
    slopes : ndarray of shape (c, d)
    curves : ndarray of shape (c, d, d)
        Symmetric.
    """

    centre: np.ndarray
    constants: np.ndarray
    slopes: np.ndarray
    curves: np.ndarray

    def __call__(self, rows) -> NDArray[np.float64]:
        """Return the values at rows ``(n, d)`` in standard units, ``(n, c)``."""
        deviations = rows - self.centre
        curvature = row_products(deviations, np.hstack(list(self.curves))).reshape(
            len(rows),
            *self.slopes.shape,
        )
        return self.constants + ((curvature + self.slopes) * deviations[:, None]).sum(
            axis=2
        )


def fitted_quadratic(standard, targets, weights, rng) -> Quadratic | None:
    """Return the quadratic parts of responses, or None if they explain too little.

    They are ridge regressions, with the penalty of the best prediction of held-out
    rows.

    Parameters
    ----------
    standard : ndarray of shape (b, d)
        The background in standard units.
    targets : ndarray of shape (b, c)
    weights : ndarray of shape (b,)
        With sum 1.
    rng : numpy.random.Generator
        For the choice of rows from a large background.
    """
    # The mean of the whole background, also if only some rows are used for the fit.
    centre = weights @ standard
    if len(standard) > MOST_ROWS:
        sample = np.sort(rng.choice(len(standard), MOST_ROWS, replace=False))
        standard = standard[sample]
        targets = targets[sample]
        weights = weights[sample]
    b, d = standard.shape
    if b < LEAST_ROWS:
        return None
    deviations = standard - centre
    mass = weights / weights.sum()
    every = crossed = np.arange(d)
    if d > MOST_CROSSED:
        diagonal, _ = _regressed(_terms(deviations, (every, every)), targets, mass)
        effect = np.max(np.abs(diagonal[:, :d]) + np.abs(diagonal[:, d:]), axis=0)
        crossed = np.sort(np.argsort(-effect, kind="stable")[:MOST_CROSSED])
    i, j = np.triu_indices(len(crossed), k=1)
    squares = np.append(every, crossed[i]), np.append(every, crossed[j])
    coefficients, shares = _regressed(_terms(deviations, squares), targets, mass)
    if shares.max() < LEAST_SHARE:
        return None
    # A part that explains little adds its own noise and saves none.
    coefficients[shares < LEAST_SHARE] = 0.0
    curves = np.zeros((len(coefficients), d, d))
    curves[:, *squares] = coefficients[:, d:]
    # The fit has each product once; half on either side makes the matrix symmetric.
    curves = (curves + np.swapaxes(curves, 1, 2)) / 2
    part = Quadratic(
        centre,
        np.zeros(len(coefficients)),
        coefficients[:, :d],
        curves,
    )
    # The constant makes the mean residual 0, so the sampled rest has no mean to
    # estimate.
    return replace(part, constants=mass @ (targets - part(standard)))


def _terms(apart, squares) -> NDArray[np.float64]:
    """Return the columns and the products of pairs of them, ``(n, f)``."""
    first, second = squares
    return np.concatenate([apart, apart[:, first] * apart[:, second]], axis=1)


def _regressed(
    terms,
    targets,
    mass,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return ridge coefficients ``(c, f)``, and the explained share on held-out rows, ``(c,)``."""
    margins = NormalMargins(terms, mass)
    ridge = RidgeCV(PENALTIES, alpha_per_target=True)
    ridge.fit(margins.standard(terms), targets, sample_weight=len(mass) * mass)
    variance = mass @ (targets - mass @ targets) ** 2
    noise_ratio = np.divide(
        ridge.best_score_,
        variance,
        out=-np.ones_like(variance),
        where=variance > 0,
    )
    return np.atleast_2d(ridge.coef_) / margins.spread, 1 + noise_ratio


GROUPS = 8  # groups of orders; their spread measures the error
FLOPS = 2e9  # operations for the orders of one output; 8 d^3 each
# The largest number holds for up to 19 columns, the smallest for 79 and more.
LEAST_ORDERS = 2**9
MOST_ORDERS = 2**15
BATCH_BYTES = 2**22
# 64 MB: one output of a hundred columns just fits.
MOST_NUMBERS = 2**23  # coefficients; above this number, nothing is learned
SPREAD_ROWS = 256  # background rows to measure the spread of values


@dataclass(frozen=True, eq=False)
class KnownPart:
    """A part of a response, with Shapley values that are quadratic in the row to explain.

    Attributes
    ----------
    function : Quadratic
    mean : ndarray of shape (c,)
        Mean of the function over the background.
    columns : slice
        The outputs of the response to which the part belongs.
    constants, lines, squares : ndarray of shape (c, GROUPS, p), (..., d) and (..., d, d)
        Coefficients of 1, columns and products, from each group of orders.
    rows : ndarray of shape (u, d)
        Background rows, centred.
    tilts : ndarray of shape (c, p, d, d), leans : ndarray of shape (c, p, d)
        The value against row r has the term r'(tilt x - lean).
    bends : ndarray of shape (c, u, p)
        The term that depends on r only.
    """

    function: Quadratic
    mean: np.ndarray
    columns: slice
    constants: np.ndarray
    lines: np.ndarray
    squares: np.ndarray
    rows: np.ndarray
    tilts: np.ndarray
    leans: np.ndarray
    bends: np.ndarray

    def values(self, standard) -> Known:
        """Return the Shapley values of rows ``(r, d)`` in standard units, ``(r, p, c)``."""
        # one by one: rounding does not depend on other rows
        deviations = standard - self.function.centre
        totals = [
            self.constants + (self.lines + self.squares @ x) @ x for x in deviations
        ]
        slopes = ((self.tilts @ x - self.leans).swapaxes(1, 2) for x in deviations)
        spreads = [(self.rows @ slope + self.bends).var(axis=1) for slope in slopes]
        c, groups, p = self.constants.shape
        values = np.reshape(totals, (-1, c, groups, p)).transpose(2, 0, 3, 1)
        variances = np.reshape(spreads, (-1, c, p)).swapaxes(1, 2)
        # 1.2 times the spread of 8 groups: Student's t with 7 degrees of freedom
        errors = values.std(axis=0, ddof=1) / np.sqrt(GROUPS) * 1.2065
        return Known(values.mean(axis=0), errors, variances)

    def left(self, raw, part) -> NDArray[np.float64]:
        """Return raw responses ``(..., K)`` minus values of the part ``(..., c)``."""
        remainder = np.array(raw, dtype=np.float64)
        remainder[..., self.columns] -= part
        return remainder


def known_part(
    part: Quadratic,
    columns: slice,
    standard,
    weights,
    correlation,
    column_player,
    rng,
) -> KnownPart | None:
    """Return a quadratic part with the coefficients of its Shapley values; None if too large.

    Parameters
    ----------
    part : Quadratic
    columns : slice
        The outputs of the response to which the part belongs.
    standard : ndarray of shape (b, d)
        The background in standard units.
    weights : ndarray of shape (b,)
        With sum 1.
    correlation : ndarray of shape (d, d)
        Correlation of the moves.
    column_player : ndarray of shape (d,), int
    rng : numpy.random.Generator
        For the orders.
    """
    (c, d), p = part.slopes.shape, column_player.max() + 1
    # The coefficients would fill the memory, and sampling alone is correct too.
    if c * p * GROUPS * (1 + d + d * d) > MOST_NUMBERS or p == 1:
        return None
    deviations = standard - part.centre
    covariance = (deviations * weights[:, None]).T @ deviations
    n_pairs = int(np.clip(FLOPS / (8 * d**3), LEAST_ORDERS, MOST_ORDERS)) // (
        2 * GROUPS
    )
    groups = [
        _means(part, correlation, covariance, column_player, n_pairs, rng)
        for _ in range(GROUPS)
    ]
    # (c, GROUPS, p, ...)
    constants, lines, squares, crosses = (
        np.stack(g, axis=1) for g in zip(*groups, strict=True)
    )
    leans, curves, mixed = (
        of_groups.mean(axis=1) for of_groups in (lines, squares, crosses)
    )
    rows = deviations[
        rng.choice(
            len(deviations),
            min(SPREAD_ROWS, len(deviations)),
            replace=False,
            p=weights,
        )
    ]
    # (x - r)'A(x - r) + 2 (x - r)'B r + s'(x - r), sorted by powers of r
    tilts = 2 * np.swapaxes(mixed, 2, 3) - curves - np.swapaxes(curves, 2, 3)
    bends = np.einsum("ud,cpde,ue->cup", rows, curves - 2 * mixed, rows, optimize=True)
    return KnownPart(
        part,
        weights @ part(standard),
        columns,
        constants,
        lines,
        squares,
        rows,
        tilts,
        leans,
        bends,
    )


def _means(
    part,
    correlation,
    covariance,
    column_player,
    n_pairs,
    rng,
) -> list[NDArray[np.float64]]:
    """Return mean coefficients over random pairs of opposite orders of the players.

    They are the coefficients of 1 ``(c, p)``, x ``(c, p, d)``, x x' and x r'
    ``(c, p, d, d)``.
    """
    d = len(column_player)
    p = column_player.max() + 1
    size = max(1, BATCH_BYTES // (16 * d * d))
    sums: list[Any] = [0.0] * 4
    for start in range(0, n_pairs, size):
        n = min(size, n_pairs - start)
        ranks = rng.permuted(np.tile(np.arange(p), (n, 1)), axis=1)
        # Each order with its reverse: terms of two players are then exact.
        ranks = np.concatenate([ranks, p - 1 - ranks])
        # Columns of one player enter together, one after the other.
        columns = np.argsort(ranks[:, column_player], axis=1, kind="stable")
        terms = _added(part, correlation, covariance, columns)
        sums = [total + new for total, new in zip(sums, terms, strict=True)]
    member = column_player == np.arange(p)[:, None]
    means = (np.tensordot(member, total, ([1], [1])).swapaxes(0, 1) for total in sums)
    return [mean / (2 * n_pairs) for mean in means]


def _added(part, correlation, covariance, columns) -> tuple[NDArray[np.float64], ...]:
    """Return the sums of the four coefficients over orders ``(n, d)`` of the columns."""
    place = np.argsort(columns, axis=1)
    factor = np.linalg.cholesky(correlation[columns[:, :, None], columns[:, None, :]])
    # Rows and steps are in the order of the table's columns.
    steps = factor[
        np.arange(len(place))[:, None, None],
        place[:, :, None],
        place[:, None],
    ]
    inverse = np.linalg.inv(steps)  # (n, steps, d)
    # A column's step changes x'Ax by its own square and twice its products with earlier
    # steps.
    twice = 2.0 * (place[:, None] < place[:, :, None]) + np.eye(len(correlation))
    curved = np.swapaxes(part.curves[:, None] @ steps, 2, 3)  # (c, n, steps, d)
    projections = (curved @ steps * twice) @ inverse
    constants = (inverse @ covariance * (projections - 2 * curved)).sum(axis=(1, 3))
    lines = np.einsum(
        "cns,nsd->csd",
        np.tensordot(part.slopes, steps, ([1], [1])),
        inverse,
    )
    # Products of the same step are summed over orders: (steps, d, n) @ (c, steps, n,
    # d).
    step_rows = inverse.transpose(1, 2, 0)
    return (
        constants,
        lines,
        step_rows @ projections.swapaxes(1, 2),
        step_rows @ curved.swapaxes(1, 2),
    )
