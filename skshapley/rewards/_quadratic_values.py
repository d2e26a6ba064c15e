"""Shapley values of a quadratic function under transport of background rows, without the model.

With the columns in the order in which they enter, Sigma = L L', W = L^-1, e = W (x - r), a row is
at z_k = r + sum_{l <= k} e_l L_l after k columns (`skshapley.rewards._gaussian`). For the quadratic
function s'z + z'Qz, with G = L'QL, column k adds

    e_k s'L_k + 2 e_k L_k'Q r + e_k (2 sum_{l < k} G_kl e_l + G_kk e_k),

a quadratic function of x and r. Its mean over orders, and over the background (of mean 0, say, and
covariance C), has coefficients that no instance changes: with w_k the rows of W and u_k those of
T W, T = G below the diagonal twice and on it once, the terms in x are s'L_k w_k and w_k u_k', and
the constant is w_k'C (u_k - 2 Q L_k).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skshapley.rewards._game import Known
from skshapley.rewards._quadratic import Quadratic

GROUPS = 8  # of orders, whose spread tells the error
FLOPS = 2e9  # for the orders of one output; 8 d^3 each
LEAST_ORDERS, MOST_ORDERS = 2**9, 2**15
BATCH_BYTES = 2**22
MOST_NUMBERS = 2**22  # in the coefficients, above which nothing is learned
SPREAD_ROWS = 256  # background rows that tell how values differ from one to another


@dataclass(frozen=True, eq=False)
class QuadraticValues:
    """What makes Shapley values of rows, as functions of the row in standard units.

    Attributes
    ----------
    centre : ndarray of shape (d,)
    by_group : ndarray of shape (c, GROUPS p, 1 + d + d (d + 1) / 2)
        Coefficients of 1, columns and products, from each group of orders.
    rows : ndarray of shape (u, d)
        Background rows, centred.
    tilts : ndarray of shape (c, p d, d), leans : ndarray of shape (c, p, d)
        The value against row r has the term r'(tilt x - lean).
    bends : ndarray of shape (c, u, p)
        And a term of r alone.
    """

    centre: np.ndarray
    by_group: np.ndarray
    rows: np.ndarray
    tilts: np.ndarray
    leans: np.ndarray
    bends: np.ndarray

    def __call__(self, standard) -> Known:
        """Return the values of instances ``(r, d)`` in standard units, ``(r, p, c)``."""
        apart = standard - self.centre
        c, p, d = self.leans.shape
        first, second = np.triu_indices(d)
        values = np.empty((len(apart), GROUPS, p, c))
        variances = np.empty((len(apart), p, c))
        for i, x in enumerate(apart):  # one by one, so that company changes no rounding
            terms = np.concatenate([[1.0], x, x[first] * x[second]])
            for output in range(c):
                values[i, :, :, output] = (self.by_group[output] @ terms).reshape(GROUPS, p)
                lines = (self.tilts[output] @ x).reshape(p, d) - self.leans[output]
                against = self.rows @ lines.T + self.bends[output]
                variances[i, :, output] = against.var(axis=0)
        # a multiple of what 8 groups tell: 1.2 times, as Student's t with 7 degrees of freedom
        errors = values.std(axis=1, ddof=1) / np.sqrt(GROUPS) * 1.2065
        return Known(values.mean(axis=1), errors, variances)


@dataclass(frozen=True, eq=False)
class KnownPart:
    """A part of a response whose Shapley values are known.

    Attributes
    ----------
    function : Quadratic
    values : QuadraticValues
    columns : slice
        The outputs of the response that it is a part of.
    mean : ndarray of shape (c,)
        Of the function, over the background.
    """

    function: Quadratic
    values: QuadraticValues
    columns: slice
    mean: np.ndarray

    def left(self, raw, part) -> NDArray[np.float64]:
        """Return raw responses ``(..., K)`` less values of the part ``(..., c)``."""
        rest = np.array(raw, dtype=np.float64)
        rest[..., self.columns] -= part
        return rest


def quadratic_values(
    part: Quadratic, standard, weights, correlation, column_player, rng
) -> QuadraticValues | None:
    """Return what makes the Shapley values of a quadratic function; None where it is too large.

    Parameters
    ----------
    part : Quadratic
    standard : ndarray of shape (b, d)
        The background in standard units.
    weights : ndarray of shape (b,)
        With sum 1.
    correlation : ndarray of shape (d, d)
        By which rows are moved.
    column_player : ndarray of shape (d,), int
    rng : numpy.random.Generator
        For the orders.
    """
    (c, d), p = part.slopes.shape, column_player.max() + 1
    if c * p * GROUPS * (1 + d + d * (d + 1) // 2) > MOST_NUMBERS or p == 1:
        return None
    apart = standard - part.centre
    covariance = (apart * weights[:, None]).T @ apart
    orders = _Orders(part, correlation, covariance, column_player)
    n_orders = int(np.clip(FLOPS / (8 * d**3), LEAST_ORDERS, MOST_ORDERS)) // (2 * GROUPS)
    groups = [orders.mean(n_orders, rng) for _ in range(GROUPS)]
    first, second = np.triu_indices(d)
    by_group = []
    for means in groups:
        both = means.squares + np.swapaxes(means.squares, 2, 3)
        both[..., np.arange(d), np.arange(d)] /= 2
        ones = means.constants[..., None]
        by_group.append(np.concatenate([ones, means.lines, both[..., first, second]], axis=2))
    lines, squares, crosses = (np.mean([m[i] for m in groups], axis=0) for i in (1, 2, 3))
    rows = apart[rng.choice(len(apart), min(SPREAD_ROWS, len(apart)), replace=False, p=weights)]
    # (x - r)'A(x - r) + 2 (x - r)'B r + s'(x - r), ordered by r
    tilts = 2 * np.swapaxes(crosses, 2, 3) - squares - np.swapaxes(squares, 2, 3)
    bends = np.einsum("ud,cpde,ue->cup", rows, squares - 2 * crosses, rows, optimize=True)
    return QuadraticValues(
        part.centre,
        np.stack(by_group, axis=1).reshape(c, GROUPS * p, -1),
        rows,
        tilts.reshape(c, p * d, d),
        lines,
        bends,
    )


class _Means(NamedTuple):
    """Mean coefficients: of 1 ``(c, p)``, x ``(c, p, d)``, x x' and x r' ``(c, p, d, d)``."""

    constants: np.ndarray
    lines: np.ndarray
    squares: np.ndarray
    crosses: np.ndarray


@dataclass(frozen=True, eq=False)
class _Orders:
    """Means over random orders of the players, in pairs of opposite ones."""

    part: Quadratic
    correlation: np.ndarray
    covariance: np.ndarray
    column_player: np.ndarray

    def mean(self, n_pairs, rng) -> _Means:
        """Return the mean coefficients over so many pairs of orders."""
        (c, d), p = self.part.slopes.shape, self.column_player.max() + 1
        size = max(1, BATCH_BYTES // (16 * d * d))
        shapes = (c, d), (c, d, d), (c, d, d, d), (c, d, d, d)
        sums = [np.zeros(shape) for shape in shapes]
        for start in range(0, n_pairs, size):
            n = min(size, n_pairs - start)
            ranks = rng.permuted(np.tile(np.arange(p), (n, 1)), axis=1)
            ranks = np.concatenate([ranks, p - 1 - ranks])
            columns = np.argsort(ranks[:, self.column_player], axis=1, kind="stable")
            for output, found in enumerate(self._added(columns)):
                for total, new in zip(sums, found, strict=True):
                    total[output] += new
        member = self.column_player == np.arange(p)[:, None]
        means = (np.tensordot(member, s, ([1], [1])).swapaxes(0, 1) for s in sums)
        return _Means(*(m / (2 * n_pairs) for m in means))

    def _added(self, columns) -> list[tuple[Any, ...]]:
        """Return the sums over orders of columns ``(n, d)`` of the coefficients, by output."""
        place = np.argsort(columns, axis=1)
        d = columns.shape[1]
        factor = np.linalg.cholesky(self.correlation[columns[:, :, None], columns[:, None, :]])
        # both with the table's columns in their own order: (n, d, steps) and (n, steps, d)
        moved = np.take_along_axis(factor, place[:, :, None], axis=1)
        entered = np.take_along_axis(np.linalg.inv(factor), place[:, None, :], axis=2)
        spread = entered @ self.covariance

        def by_column(steps) -> NDArray[np.float64]:
            return np.take_along_axis(steps, place[(...,) + (None,) * (steps.ndim - 2)], axis=1)

        def outer(left, right) -> NDArray[np.float64]:
            return left.transpose(1, 2, 0) @ right.transpose(1, 0, 2)

        own, found = by_column(entered), []
        for slope, curve in zip(self.part.slopes, self.part.curves, strict=True):
            bent = curve @ moved
            products = np.swapaxes(moved, 1, 2) @ bent
            weights = 2 * np.tril(products, -1) + products * np.eye(d)
            pushed, bent = weights @ entered, np.swapaxes(bent, 1, 2)
            constants = (spread * (pushed - 2 * bent)).sum(axis=2)
            lines = (slope @ moved)[:, :, None] * entered
            found.append(
                (
                    by_column(constants).sum(axis=0),
                    by_column(lines).sum(axis=0),
                    outer(own, by_column(pushed)),
                    outer(own, by_column(bent)),
                )
            )
        return found
