"""Standard errors of the process, held against what it fails to predict.

The posterior variance takes the hyper-parameters for known and the prior for true. It is widened by
the number of hyper-parameters relative to the pairs, and by how much worse than promised values
are predicted from others: each of them, and all together in their effect on the Shapley values, to
which errors that are small but alike add up.
"""

from collections.abc import Callable

import numpy as np

from skshapley._odd import Hyper, Pairs, Posterior, Process, fit_hyper
from skshapley._odd._functional import functional_variance

LARGEST = 25.0  # squared standardised errors beyond it count as that
NOTHING = 1e-6  # of the variance: pairs that promise to take away no more of it tell nothing
# Values that repeat come from a game with steps, whose next step may be unseen. By the share of
# those that do: times what the pair that counts most changes, and of the largest value over n.
JUMPS, SILENT = 3.0, 0.05
FEW = 0.5  # of the largest value over n squared: few pairs may agree by chance
# Where steps are predicted to so little of the range of the Shapley values over sqrt n, 3/n of the
# pairs may hide one that is not: 1.96 errors are 3/n of the range. Interactions hang on more that
# few pairs show: theirs are no smaller, however well steps are predicted.
PREDICTED, MISSED = 1e-2, 1.5
MOST_DISTINCT, DIGITS = 0.5, 9  # of the values of steps, and digits to which they are compared
TINY = np.finfo(float).tiny


def standard_errors(posterior: Posterior, theta: np.ndarray | None) -> np.ndarray:
    """Return the standard errors of the Shapley values, ``(p, k)``.

    Parameters
    ----------
    posterior : Posterior
    theta : ndarray or None
        The vector of its hyper-parameters where they were fitted to these very values.
    """
    scale = widened_scale(posterior, None if theta is None else _Refit(theta))
    return np.sqrt(posterior.process.shapley_variance[:, None] * scale)


class _Refit:
    """What fits a process to other values of the game that `theta` was fitted to."""

    def __init__(self, theta: np.ndarray) -> None:
        self._theta = theta

    def __call__(self, others: Pairs) -> Callable[[Pairs], Process]:
        """Return what makes the process at any points."""
        hyper = Hyper.from_vector(fit_hyper(others, self._theta), others.n_players)
        return lambda points: Process(points, hyper)


def widened_scale(
    posterior: Posterior, refit: Callable[[Pairs], Callable[[Pairs], Process]] | None
) -> np.ndarray:
    """Return the scale of a process, of the odd part or the even one, by what it mispredicts.

    Parameters
    ----------
    posterior : Posterior
    refit : callable or None
        Fits hyper-parameters to some of the values, and returns what makes their process at any
        points; None where they were not fitted to these values.

    Returns
    -------
    scale : ndarray of shape (k,)
    """
    process = posterior.process
    error, variance = posterior.left_out()
    squared = error**2 / variance[:, None]
    scale = np.maximum(posterior.scale, squared.mean(axis=0))
    if process.points.block is not None:
        return scale
    # left out, a point moves the estimates by its influence times its error
    weight = (process.influence**2).sum(axis=0) * variance
    moved = weight @ squared / (weight.sum() * np.maximum(scale, TINY))
    spent = 1 + process.points.n_players / len(process.points)
    return scale * spent * np.maximum(1.0, np.maximum(moved, surprise(posterior, refit)))


def overlooked(posterior: Posterior, errors: np.ndarray, least: float = 0.0) -> np.ndarray:
    """Return standard errors that allow for what a pair that was not seen may change.

    Where a game jumps, few pairs show it, and others may not have been among them: some times as
    much as the pair that changes the Shapley values most, predicted from all the others. Where none
    of n pairs shows it, a jump in one of them: a share of the largest value over n. Games without
    steps have hardly any of both. Where jumps are rare a process takes them for noise, by which no
    pair counts for much: it counts for some share of what it does in a plain mean.

    Parameters
    ----------
    posterior : Posterior
    errors : ndarray of shape (p, k)
        Of the Shapley values, or of interactions, for what was seen.
    least : float, default=0.0
        Times what the pair that counts most changes, whatever the game.
    """
    process, values = posterior.process, posterior.values
    missed, _ = posterior.left_out()
    inner = process.points.roughness > 0
    n, largest, repeated = inner.sum(), np.abs(values).max(axis=0), _repeated(values)
    influence = np.sqrt((process.influence[:, inner] ** 2).mean(axis=0))
    influence = np.maximum(influence, process.least_counted / n)
    seen = (influence[:, None] * np.abs(missed[inner])).max(axis=0)
    silent = np.hypot(SILENT * repeated, FEW / n) * largest / n
    shapley = posterior.shapley()
    span = np.maximum(shapley.max(axis=0), 0) - np.minimum(shapley.min(axis=0), 0)
    agree = np.sqrt((errors**2).mean(axis=0)) <= PREDICTED * span / np.sqrt(n)
    steps = (repeated > 1 - MOST_DISTINCT) & (agree | process.doubts_steps)
    silent = np.where(steps, np.maximum(silent, MISSED * span / n), silent)
    return np.sqrt(errors**2 + (np.maximum(JUMPS * repeated, least) * seen) ** 2 + silent**2)


def _repeated(values: np.ndarray) -> np.ndarray:
    """Return the share of values that are there already, of each output, ``(k,)``."""
    scale = np.maximum(np.abs(values).max(axis=0), TINY)
    ordered = np.sort(np.round(values / scale, DIGITS), axis=0)
    return (np.diff(ordered, axis=0) == 0).sum(axis=0) / len(values)


def background_errors(posterior: Posterior) -> np.ndarray | float:
    """Return standard deviations of the background's own part of the Shapley values, ``(p, k)``.

    That is what the choice of background rows leaves to chance. Only blocks of rows tell: NaN
    without.
    """
    process = posterior.process
    if process.points.blocks is None:
        return np.nan
    hyper = process.hyper
    own = functional_variance(hyper, process.points.blocks) - functional_variance(hyper)
    return np.sqrt(np.maximum(own, 0.0)[:, None] * posterior.scale)


def surprise(
    posterior: Posterior, refit: Callable[[Pairs], Callable[[Pairs], Process]] | None
) -> np.ndarray:
    """Return the mean squared error of held-out pairs, relative to what was promised, ``(k,)``.

    The larger of two: of their values, and of the Shapley values or interactions, which they move.

    Parameters
    ----------
    posterior : Posterior
        Without blocks.
    refit : callable or None
        As of `widened_scale`.
    """
    process, values, kind = posterior.process, posterior.values, type(posterior)
    held, points = process.held, process.points
    if refit is None or not values[~held].any():
        rest, full = process.held_out, posterior
    else:
        others = Pairs(points.signs[~held], values[~held])
        made = refit(others)
        rest, full = made(others), kind(made(points), values)
    kept = kind(rest, values[~held])
    mean, variance = kept.predict(points.signs[held])
    # values may vary nowhere but at the pairs held out
    scale = np.maximum(kept.scale, np.maximum(full.scale / LARGEST**2, TINY))
    squared = (values[held] - mean) ** 2 / (variance[:, None] * scale)
    moved = ((full.shapley() - kept.shapley()) ** 2).sum(axis=0)
    before, after = rest.shapley_variance.sum(), full.process.shapley_variance.sum()
    promised = max(before - after, NOTHING * before)
    return np.maximum(np.minimum(squared, LARGEST).mean(axis=0), moved / (promised * scale))
