"""Least squares on pairs: for games without higher interactions, and beside a Gaussian process."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from skshapley._process._pairs import Pairs, relative
from skshapley._process._process import TINY, Posterior
from skshapley._tools import UNSEEN, positive_sizes, value_range

# Rounding, relative to the largest value: smaller residuals count as 0. Least squares
# with a condition number of 1e6 loses six of sixteen digits.
NOTHING = 1e-9
# Relative to the game's own values, because values of the even part are their
# differences.
ROUNDING = 1e-13
# Least number of points of a block beyond the unknowns, for least squares: a second
# spare point confirms the agreement of the first one.
SPARE = 2
# Spare points: this many zeros indicate a constant game. With fewer, an event of
# probability 3 % may be unseen, and its size is unknown, so the error is unknown, too.
ENOUGH_ZEROS = 100
MOST_KEPT = 16  # regressions, for processes that serve many rows
# Least 1 - leverage: a point that determines its own fit has no useful error.
LEAST_LEFT = 1e-3


def linear(odd: Pairs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return values of players, errors and residuals if the odd part may be linear.

    If m spare points agree with a linear game, up to 3/m of all pairs may still
    deviate. So 1.96 errors are 3/m of a player's value. A player without effect counts
    as the one with the smallest effect.

    Parameters
    ----------
    odd : Pairs
        The full coalition is among them, once for each block.

    Returns
    -------
    values, errors : ndarray of shape (p, k)
        Errors are NaN for outputs that are zero at too few pairs.
    residual : ndarray of shape (k,), bool
        True if least squares does not explain the values, or there are too few pairs to
        decide.
    """
    largest = np.abs(odd.values).max(axis=0)
    values, residual = _fitted(odd, lambda signs: signs / 2, 1, NOTHING * largest)
    # without a fit, zeros at all points of all blocks are the witnesses
    n_points = len(odd) - len(odd.by_block()) if residual.all() else _least(odd) - 1
    errors = _unwitnessed(
        values,
        positive_sizes(np.abs(values)),
        np.full(len(largest), n_points - odd.n_players),
    )
    return values, errors, residual & (largest > 0)


def linear_by_rank(
    points: Pairs,
    values: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return values of players by rank, errors and residuals if the odd part may be linear.

    Errors are as those of `linear`.

    Parameters
    ----------
    points : Pairs
        The full coalition, all single players, then other pairs.
    values : ndarray of shape (r, n, k)
        The odd part of the games of r rows.

    Returns
    -------
    means, errors : ndarray of shape (r, p, k)
    residual : ndarray of shape (r, k), bool
    """
    means, _ = kernel_regression(points)(values)
    deviations = np.abs(values - points.signs @ means / 2).max(axis=1)
    errors = _unwitnessed(
        means,
        positive_sizes(np.abs(means)),
        len(points) - 1 - points.n_players,
    )
    return means, errors, deviations > NOTHING * np.abs(values).max(axis=1)


def pairwise(
    even: Pairs,
    odd: Pairs,
    of_pairs: Callable[[np.ndarray], np.ndarray],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return values, errors and residuals of the even part if only pairs may interact.

    If n points agree with pair interactions, up to 3/n of all pairs may still deviate.
    So 1.96 errors are 3/n of the range of the values. Without interactions, they are
    3/n of the range of the players' values.

    Parameters
    ----------
    even, odd : Pairs
        Both parts at the same points, including the full coalition once for each block.
    of_pairs : callable
        Maps the interactions of all pairs, ``(p (p - 1)/2, k)``, to the values
        ``(e, k)``.

    Returns
    -------
    values, errors : ndarray of shape (e, k)
    residual : ndarray of shape (k,), bool
        As of `linear`.
    """
    points = relative(even)
    first, second = np.triu_indices(even.n_players, 1)
    scale = np.maximum(np.abs(even.values), np.abs(odd.values)).max(axis=0)
    size = np.abs(points.values).max(axis=0)
    flat = (size <= ROUNDING * scale) & (len(points) >= SPARE)
    interactions, residual = _fitted(
        points,
        lambda s: (s[:, first] * s[:, second] - 1) / 4,
        0,
        np.maximum(NOTHING * size, ROUNDING * scale),
    )
    values = of_pairs(np.where(flat, 0.0, interactions))
    spread = np.where(
        values.any(axis=0),
        value_range(values),
        value_range(np.linalg.lstsq(odd.signs / 2, odd.values, rcond=None)[0]),
    )
    n_witnesses = _least(points) - np.where(flat, 0, len(first))
    return values, _unwitnessed(values, spread, n_witnesses), residual & ~flat


def _least(points: Pairs) -> int:
    """Return the number of points of the smallest block, as all blocks may miss the same event."""
    return min(map(len, points.by_block()))


def _fitted(
    points: Pairs,
    features: Callable[[np.ndarray], np.ndarray],
    known: int,
    least: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of the blocks' solutions, 0 with a residual, and the residuals.

    With too few points in a block, or with blocks that do not make up the background,
    all residuals are True.
    """
    blocks = points.blocks
    n_unknowns = features(points.signs[:1]).shape[1]
    complete = blocks is None or blocks.complete
    enough = _least(points) - known - n_unknowns >= SPARE and complete
    solution = np.zeros((n_unknowns, len(least)))
    residual = np.full(len(least), not enough)
    if not enough:
        return solution, residual
    for at, weight in zip(
        points.by_block(),
        np.ones(1) if blocks is None else blocks.share,
        strict=True,
    ):
        design = features(points.signs[at])
        values = points.values[at]
        coefficients, _, rank, _ = np.linalg.lstsq(design, values, rcond=1e-10)
        residual |= np.abs(values - design @ coefficients).max(axis=0) > least
        # no point may separate some players or some pairs
        residual |= rank < n_unknowns
        if residual.all():
            break
        solution += weight * coefficients
    return np.where(residual, 0.0, solution), residual


def _unwitnessed(
    values: np.ndarray,
    spread: np.ndarray,
    witnesses: np.ndarray | int,
) -> np.ndarray:
    """Return the errors of values without residual, in the shape of the values."""
    errors = np.where(
        spread > 0,
        UNSEEN * spread / np.maximum(witnesses, 1),
        np.where(witnesses >= ENOUGH_ZEROS, 0.0, np.nan),
    )
    return np.broadcast_to(errors, values.shape).copy()


@dataclass(frozen=True, eq=False)
class Regression:
    """Shapley values by weighted least squares, exact at the first of the points.

    Attributes
    ----------
    total : ndarray of shape (n, 1)
        The sum of the signs of each point.
    design : ndarray of shape (n, p)
    influence : ndarray of shape (p, n)
        From values to coefficients.
    unexplained : ndarray of shape (n, 1)
        One minus the leverage of each point.
    """

    total: np.ndarray
    design: np.ndarray
    influence: np.ndarray
    unexplained: np.ndarray

    @classmethod
    def of(cls, signs: np.ndarray, weights: np.ndarray) -> "Regression":
        """Return the regression on points ``(n, p)``, the full coalition first."""
        total = signs.sum(axis=1, keepdims=True)
        design = (signs - total / signs.shape[1]) / 2
        weighted = design.T * (weights / weights.max())
        influence = np.linalg.pinv(weighted @ design, hermitian=True) @ weighted
        unexplained = np.maximum(
            1 - np.einsum("pn,np->n", influence, design),
            LEAST_LEFT,
        )[:, None]
        return cls(total, design, influence, unexplained)

    def __call__(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return Shapley values and their variances, ``(..., p, k)``, of values ``(..., n, k)``.

        The variances are MacKinnon & White's (1985) HC3, which approximate a jackknife
        over pairs.
        """
        share = 2 * values[..., :1, :] / self.design.shape[1]
        target = values - self.total / 2 * share
        change = self.influence @ target
        residual = (target - self.design @ change) / self.unexplained
        return change + share, self.influence**2 @ residual**2


@lru_cache(maxsize=MOST_KEPT)
def kernel_regression(points: Pairs) -> Regression:
    """Return the regression with Shapley's weights on some points.

    Every size has its weight in the Shapley kernel, shared by the points of that size
    and of the complement's size. Many points of one size therefore do not outweigh the
    others.
    """
    signs = points.signs
    p = signs.shape[1]
    size = np.rint((p - np.abs(signs.sum(axis=1))) / 2).astype(int)
    count = np.bincount(size, minlength=p + 1)
    count[p // 2] *= 2 - p % 2  # even p: half as many pairs as coalitions
    inner = size > 0
    weights = np.zeros(len(signs))
    weights[inner] = 1 / (size * (p - size) * count[size])[inner]
    return Regression.of(signs, weights)


def blended(
    posterior: Posterior,
    values: np.ndarray,
    errors: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Average values and errors with the least-squares estimates from the same pairs.

    With a wrong prior (one coalition worth more than all others together), least
    squares errs less. Both estimates state their variances. The weights are these
    variances, summed over the players. The errors are assumed to agree in sign, which
    is the worst case.

    The posterior variance depends on the prior, and most of the error of a saturated
    game is a bias. A second estimate of the error's size is free of the prior: the
    Shapley values of the left-out errors. If it is larger, errors are scaled to the
    mean of both sizes. Intervals of nominal 95 % then hold at least .89 of the values
    in each of 16 other families of games with 6 to 30 evaluations a player, instead of
    .77. If it is smaller, errors remain. Left-out errors of many pairs are nearly
    orthogonal to linear games, because the process explains these: for a network with
    30 evaluations of each of nine players, their size is .3 of the true one.

    Parameters
    ----------
    posterior : Posterior
        Without blocks, the full coalition first.
    values, errors : ndarray of shape (..., p, k)
        Estimates of the Gaussian process.
    """
    regression = kernel_regression(posterior.process.points)
    regressed, variance = regression(posterior.values)
    # finite population: sizes without unseen pairs leave no error
    shift, _ = regression(
        np.sqrt(posterior.process.points.unseen)[:, None] * posterior.left_out
    )
    stated = np.sqrt((errors**2).mean(axis=-2, keepdims=True))
    left_out = np.sqrt((shift**2).mean(axis=-2, keepdims=True))
    errors = errors * np.maximum((1 + left_out / np.maximum(stated, TINY)) / 2, 1.0)
    own_variance = (errors**2).sum(axis=-2, keepdims=True)
    share = own_variance / np.maximum(
        own_variance + variance.sum(axis=-2, keepdims=True),
        1e-300,
    )
    errors = (1 - share) * errors + share * np.sqrt(variance)
    return values + share * (regressed - values), errors


def remainder(
    posterior: Posterior,
    values: np.ndarray,
    errors: np.ndarray,
    drawn: Pairs,
    expected: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Update values and errors with pairs drawn at random after the Gaussian process's own.

    phi(f) = phi(m) + phi(f - m) for the posterior mean m. Weighted least squares on the
    new pairs estimates the second term almost without bias. The weights of the two
    estimates are their variances, summed over the players.

    Parameters
    ----------
    posterior : Posterior
    values, errors : ndarray of shape (p, k)
        Estimates of the Gaussian process.
    drawn : Pairs
    expected : ndarray of shape (n,)
        Expected number of pairs of that size.
    """
    p = drawn.n_players
    signs = np.vstack([np.ones((1, p)), drawn.signs])
    left = np.vstack([posterior.values[:1], drawn.values]) - posterior.mean(signs)
    size = (drawn.signs.sum(axis=1) + p) / 2
    change, variance = Regression.of(
        signs,
        np.append(0.0, 1 / (size * (p - size) * expected)),
    )(left)
    share = (errors**2).sum(axis=0) / np.maximum(
        (errors**2 + variance).sum(axis=0),
        1e-300,
    )
    squares = (1 - share) ** 2 * errors**2 + share**2 * variance
    return values + share * change, np.sqrt(squares)
