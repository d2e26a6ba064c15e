"""Standard errors of the Gaussian-process estimator, checked on pairs held out of the fit.

The posterior variance assumes known hyper-parameters and a true prior. Two factors widen it: the
number of hyper-parameters relative to the pairs, and the prediction errors of held-out values
relative to their predicted variance. The prediction errors count singly and jointly. Jointly, small
errors of the same sign add up in the estimate.
"""

from collections.abc import Callable

import numpy as np

from skshapley._process._kernel import Kernel
from skshapley._process._least_squares import MISSED, span
from skshapley._process._pairs import Pairs
from skshapley._process._process import Posterior, Process

# Numbers in the comments of this folder are from `benchmarks/constants.py`: 90 runs of 30 games
# of ten players, at 40, 100 and 200 evaluations. Nominal 95 % intervals cover 92.9 % of the values,
# and 70 % on the worst kind of games, votes of unequal weights.

# Upper limit of squared standardised errors. One held-out value beyond five standard deviations
# would otherwise decide the widths of all intervals. Limits of 9 and 100 give the same coverage.
LARGEST = 25.0
# Least share of the variance given the others that held-out pairs remove. A smaller promise would
# divide by nearly zero. Shares of .01 and .5 give the same coverage.
LEAST_PROMISED = 0.1
# Repeated values indicate a game with steps, and the next step may be unseen. Factors, scaled by
# the share of repeated values: of the largest change by one pair, and of the largest value over n.
# Without the first term, intervals cover 57 % on votes, and with a factor of 1 they cover 59 %. A
# factor of 6 covers more (93.6 % of all values), but widens all intervals by 9 %. The second term
# matters only for games that are silent at all evaluated pairs.
JUMPS, SILENT = 3.0, 0.05
# Factor of the largest value over n squared, as few pairs may agree by chance. A factor of 2 widens
# all intervals by 6 %, and covers .2 % more of the values.
FEW = 0.5
# Steps are predicted if the error is below this share of the Shapley values' range over sqrt n.
# Then 3/n of the pairs may hide another step, so 1.96 errors are 3/n of the range. Errors of
# interactions are not reduced this way, because few pairs show their steps. A share of .1 widens
# intervals by 6 % without covering more. With 3/n for every game of steps, they are 10 % wider, and
# cover 93.2 % of the values.
PREDICTED = 1e-2
# Largest share of distinct values in a game with steps, and digits of the comparison.
MOST_DISTINCT, DIGITS = 0.5, 9
TINY = np.finfo(float).tiny

Refit = Callable[[Pairs], Kernel]  # fits hyper-parameters to some of the values


def standard_errors(posterior: Posterior, refit: Refit | None = None) -> np.ndarray:
    """Return the standard errors of all entries given the observed pairs, ``(e, k)``.

    Parameters
    ----------
    posterior : Posterior
    refit : callable or None
        None where the hyper-parameters were not fitted to these values.
    """
    process = posterior.process
    squared = posterior.left_out**2 / process.left_out_variance[:, None]
    scale = np.maximum(posterior.scale, squared.mean(axis=0))
    if process.points.block is None:
        # a left-out point changes the estimates by its influence times its error
        weight = (process.influence**2).sum(axis=0) * process.left_out_variance
        moved = weight @ squared / (weight.sum() * np.maximum(scale, TINY))
        ratios = np.stack([moved, *surprises(posterior, refit)])
        spent = 1 + process.points.n_players / len(process.points)
        scale = scale * spent * np.maximum(1.0, process.functional.joined(ratios))
    return np.sqrt(process.variance[:, None] * scale)


def surprises(posterior: Posterior, refit: Refit | None) -> tuple[np.ndarray, np.ndarray]:
    """Return two mean squared errors of held-out pairs, relative to predictions, ``(k,)``.

    The first is the error of the held-out values. The second is the change of the estimates when
    these values, and their information about the hyper-parameters, are added.

    Parameters
    ----------
    posterior : Posterior
        Without blocks.
    refit : callable or None
        As of `standard_errors`.
    """
    process, values, held = posterior.process, posterior.values, posterior.process.held
    rest = process.held_out
    if refit is not None and values[~held].any():
        others = Pairs(process.points.signs[~held], values[~held])
        rest = Process(others, refit(others), process.functional)
    kept = Posterior(rest, values[~held])
    mean, variance = kept.predict(process.points.take(held))
    # the values may vary at the held-out pairs only
    scale = np.maximum(kept.scale, np.maximum(posterior.scale / LARGEST**2, TINY))
    squared = (values[held] - mean) ** 2 / (variance[:, None] * scale)
    moved = ((posterior.witnesses - kept.witnesses) ** 2).sum(axis=0)
    before = rest.witness_variance.sum() * scale
    promised = before - process.witness_variance.sum() * posterior.scale
    promised = np.maximum(promised, LEAST_PROMISED * before)
    return np.minimum(squared, LARGEST).mean(axis=0), moved / promised


def overlooked(posterior: Posterior, errors: np.ndarray, least: float = 0.0) -> np.ndarray:
    """Widen standard errors by the change that an unseen pair may cause.

    If a game jumps, few pairs show it, and other such pairs may be unseen. The allowance is a
    multiple of the largest change of the estimates by one pair, predicted from all the others. It
    is in proportion to the share of pairs of that size that were not evaluated: single players,
    which change most, are all known. If none of n pairs shows a jump, the allowance is a share of
    the largest value over n. Both are small for games without jumps. A Gaussian process treats rare
    jumps as noise and gives every pair a small influence, so the influence of a pair is at least a
    share of that in a plain mean.

    Parameters
    ----------
    posterior : Posterior
    errors : ndarray of shape (e, k)
        The part of the evaluated pairs.
    least : float, default=0.0
        Factor of the largest change by one pair, for any game.
    """
    process, values = posterior.process, posterior.values
    inner = process.points.roughness > 0
    n, largest, repeated = inner.sum(), np.abs(values).max(axis=0), _repeated(values)
    influence = np.sqrt((process.influence[:, inner] ** 2).mean(axis=0))
    influence = np.maximum(influence, process.functional.least_counted / n)
    reach = influence * process.points.unseen[inner]
    seen = (reach[:, None] * np.abs(posterior.left_out[inner])).max(axis=0)
    silent = np.hypot(SILENT * repeated, FEW / n) * largest / n
    wide = span(posterior.witnesses)
    agree = np.sqrt((errors**2).mean(axis=0)) <= PREDICTED * wide / np.sqrt(n)
    steps = (repeated > 1 - MOST_DISTINCT) & (agree | process.functional.doubts_steps)
    silent = np.where(steps, np.maximum(silent, MISSED * wide / n), silent)
    return np.sqrt(errors**2 + (np.maximum(JUMPS * repeated, least) * seen) ** 2 + silent**2)


def _repeated(values: np.ndarray) -> np.ndarray:
    """Return the share of repeated values of each output, ``(k,)``."""
    scale = np.maximum(np.abs(values).max(axis=0), TINY)
    ordered = np.sort(np.round(values / scale, DIGITS), axis=0)
    return (np.diff(ordered, axis=0) == 0).sum(axis=0) / len(values)


def background_errors(posterior: Posterior) -> np.ndarray | float:
    """Return standard deviations of the background's own part of the values, ``(e, k)``.

    The error due to the choice of background rows. It needs blocks of rows: NaN without.
    """
    process, blocks = posterior.process, posterior.process.points.blocks
    if blocks is None:
        return np.nan
    own, common = (process.prior_variance(process.entries, of) for of in (blocks, None))
    return np.sqrt(np.maximum(own - common, 0.0)[:, None] * posterior.scale)
