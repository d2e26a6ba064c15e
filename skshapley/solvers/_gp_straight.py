"""Least squares on pairs: where the odd part is linear, and on what a process leaves."""

import numpy as np
from scipy.special import gammaln

from skshapley._odd import Pairs, Posterior

NOTHING = 1e-9  # of the largest value: a residual no larger is rounding
SPARE = 2  # pairs of a block beyond the unknowns, below which least squares is not tried
MISSED = 1.5  # of the range over the number of spare pairs: 3/n over 1.96, the "rule of three"
ENOUGH_ZEROS = 100  # spare pairs: so many that are all zero are those of a constant game


def straight(pairs: Pairs, enumerated: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the least-squares solution, its standard errors and whether it leaves a residual.

    Errors are 0 where all pairs were seen. Where m spare ones bear out that the odd part is linear,
    3/m of all pairs may not: 1.96 errors are 3/m of the range of the values.

    Parameters
    ----------
    pairs : Pairs
        The full coalition is the first of each block.
    enumerated : bool
        Whether all pairs are there, without blocks: then the solution is exact for any game.

    Returns
    -------
    values, errors : ndarray of shape (p, k)
        With blocks, the mean of their solutions, by weight. Errors are NaN of outputs that are zero
        at too few pairs to tell.
    residual : ndarray of shape (k,), bool
        True where least squares does not explain the values, or too few pairs could tell.
    """
    p, largest = pairs.n_players, np.abs(pairs.values).max(axis=0)
    if pairs.block is None:
        parts = [np.arange(len(pairs))]
    else:
        order = np.argsort(pairs.block, kind="stable")
        parts = np.split(order, np.cumsum(np.bincount(pairs.block))[:-1])
    solutions, residual = _solutions(pairs, parts, enumerated)
    if enumerated:
        return solutions[0], np.zeros_like(solutions[0]), residual
    share = np.ones(1) if pairs.blocks is None else pairs.blocks.share
    complete = pairs.blocks is None or pairs.blocks.complete
    if len(solutions) < len(parts) or not complete:
        share, solutions, residual = np.ones(1), [np.zeros((p, len(largest)))], largest > 0
        spare = len(pairs) - len(parts) - p
    else:
        spare = min(map(len, parts)) - (p + 1)  # what one block misses all may: rows can be alike
    values = np.tensordot(share, solutions, axes=1)
    span = np.maximum(values.max(axis=0), 0) - np.minimum(values.min(axis=0), 0)
    silence = 0.0 if spare >= ENOUGH_ZEROS else np.nan
    errors = np.where(largest > 0, MISSED / max(spare, 1) * span, silence)
    return values, np.broadcast_to(errors, values.shape).copy(), residual


def _solutions(
    pairs: Pairs, parts: list[np.ndarray], enumerated: bool
) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the solution of each block, or fewer where one is not linear, and residuals."""
    p, solutions = pairs.n_players, list[np.ndarray]()
    residual = np.zeros(pairs.values.shape[1], dtype=bool)
    if not enumerated and min(map(len, parts)) < p + 1 + SPARE:
        return solutions, residual
    for part in parts:
        signs, values = pairs.signs[part], pairs.values[part]
        weights = _kernel_weights(signs) if enumerated else np.ones(len(part))
        solution, rank = _constrained(signs, values, weights)
        left = np.abs(values - signs @ solution / 2).max(axis=0)
        residual |= left > NOTHING * np.abs(values).max(axis=0)
        if not enumerated and (residual.all() or rank < p - 1):
            break
        solutions.append(solution)
    return solutions, residual


def remainder(
    posterior: Posterior, values: np.ndarray, errors: np.ndarray, drawn: Pairs, expected: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return values and errors that take in pairs drawn at random beyond those of the process.

    phi(f) = phi(m) + phi(f - m) for the posterior mean m: the second is estimated by weighted least
    squares on the new pairs, which is all but unbiased, and the two estimates are weighted by their
    variances, summed over the players.

    Parameters
    ----------
    posterior : Posterior
    values, errors : ndarray of shape (p, k)
        Of the process.
    drawn : Pairs
    expected : ndarray of shape (n,)
        How many pairs of that size were expected.
    """
    p, n = drawn.n_players, len(drawn)
    left = drawn.values - posterior.mean(drawn.signs)
    full = np.ones((1, p))
    end = posterior.values[:1] - posterior.mean(full)
    size = (drawn.signs.sum(axis=1) + p) / 2
    weights = 1 / (size * (p - size) * expected)
    weights = weights / weights.max()
    change, _ = _constrained(
        np.vstack([full, drawn.signs]), np.vstack([end, left]), np.concatenate([[0.0], weights])
    )
    centred = (drawn.signs - drawn.signs.mean(axis=1, keepdims=True)) / 2
    residual = left - drawn.signs @ change / 2
    inverse = np.linalg.pinv((centred.T * weights) @ centred, hermitian=True)
    influence = (inverse @ (centred.T * weights)) ** 2
    variance = influence @ residual**2 * n / max(1, n - p)
    share = (errors**2).sum(axis=0) / np.maximum((errors**2 + variance).sum(axis=0), 1e-300)
    return values + share * change, np.sqrt((1 - share) ** 2 * errors**2 + share**2 * variance)


def blended(
    posterior: Posterior, values: np.ndarray, errors: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return values and errors mixed with those of least squares on the same pairs.

    Where the prior is far off (one coalition worth more than all others together) least squares
    errs less, and both say about how much: they are weighted by their variances, summed over the
    players. Their errors are taken to agree in sign, which is the worst case.

    Parameters
    ----------
    posterior : Posterior
        Without blocks.
    values, errors : ndarray of shape (p, k)
        Of the process.
    """
    other, variance = posterior.process.regression.solve(posterior.values)
    total = (errors**2).sum(axis=0), variance.sum(axis=0)
    share = total[0] / np.maximum(total[0] + total[1], 1e-300)
    return values + share * (other - values), (1 - share) * errors + share * np.sqrt(variance)


def _kernel_weights(signs: np.ndarray) -> np.ndarray:
    """Return Shapley kernel weights of the coalitions, the full one's 0, ``(n,)``."""
    p = signs.shape[1]
    size = (signs.sum(axis=1) + p) / 2
    inner = (size > 0) & (size < p)
    size = np.where(inner, size, 1)
    log_weight = gammaln(size) + gammaln(p - size) - gammaln(p + 1)
    return np.where(inner, np.exp(log_weight - log_weight.max()), 0.0)


def _constrained(
    signs: np.ndarray, values: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, int]:
    """Return phi of values = signs @ phi/2, and the rank of the pairs.

    By weighted least squares, exact at the first point.
    """
    p = signs.shape[1]
    share = 2 * values[0] / p
    total = signs.sum(axis=1, keepdims=True)
    root = np.sqrt(weights)[:, None]
    design = (signs - total / p) / 2
    target = values - total / 2 * share
    solution, _, rank, _ = np.linalg.lstsq(design * root, target * root, rcond=1e-10)
    return solution - solution.mean(axis=0) + share, rank
