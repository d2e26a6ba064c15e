"""Standard errors of the Gaussian-process estimator, checked on pairs predicted from all others.

The posterior variance assumes known hyper-parameters and a true prior. It is therefore
scaled by the errors of predicted values relative to their stated variances, and by the
number of hyper-parameters relative to the pairs.
"""

import numpy as np

from skshapley._process._pairs import Blocks
from skshapley._process._process import Posterior
from skshapley._tools import UNSEEN, degrees_of_tails, value_range, widening

# Power of 1 + variances/pairs, for the fitted variances of the prior. With it,
# intervals of nominal 95 % hold .94 to .98 of players and of pairs on average over 43
# families of games, with 6 to 25 evaluations a player. The numbers below are from
# `benchmarks/constants.py`: 90 runs of 30 other games of ten players. They hold 95.3 %
# of the players' values, and 81 % on the worst kind of games, exponentials of sums. A
# power of 1 narrows intervals by 5 %, and holds 94.7 %
SPENT = 1.5
# Added to the share of unseen pairs of each size, as a game may have no unseen pair
LEAST_UNSEEN = 1e-3
# Share of the mean variance of all entries in the variance of each. An entry without an
# effect on the evaluated pairs has a small prior variance, which may be wrong: of 5,376
# interactions in rows of tree models, 41 were off by more than eight of their errors,
# and none with this share
POOLED = 0.25
# Repeated values indicate a game with steps, and the next step may be unseen. Factors,
# scaled by the share of repeated values: of the largest change by one pair, and of the
# largest value over n. Without the first term, intervals cover 68 % on votes, and with
# a factor of 1 they cover 70 %. A factor of 6 covers more (95.9 % of all values), but
# widens all intervals by 9 %. The second term matters only for games that are silent at
# all evaluated pairs.
JUMPS = 3.0
SILENT = 0.05
# Factor of the largest value over n squared, as few pairs may agree by chance. A factor
# of 2 widens all intervals by 13 %, and covers .3 % more of the values.
FEW = 0.5
# In a game with steps, 3/n of the pairs may hide another step, so 1.96 errors are at
# least 3/n of the Shapley values' range. Of 720 weighted votes of 7, 10 and 13 players
# with 26 to 60 pairs, errors were up to 112 times too small without it, and up to 7
# times with it. For interactions they are at least 9/n of the largest step: few pairs
# show a step, so an observed value counts 3/n. With two left gloves and eight to twelve
# right ones, the even part is constant at most pairs. In 10 of 72 runs, errors were 6
# to 11 times too small.
# A step of the odd part is half a step of the game, which a player's value may contain.
# With the range of the Shapley values alone, votes of 7 players passed for majorities
# of 5 after 200 evaluations, and errors were 38 times too small.
LEAST_STEP = 2.0


def standard_errors(posterior: Posterior) -> np.ndarray:
    """Return the standard errors of all entries given the observed pairs, ``(..., e, k)``."""
    process = posterior.process
    squared = posterior.left_out**2 / process.left_out_variance[:, None]
    # a left-out point changes the estimates by its influence times its error
    influence = process.squared_influence * process.left_out_variance
    # No error is left in a size of which all pairs were evaluated. Such pairs, as
    # single players, often have the largest errors, so errors on airport games were 2
    # to 7 times too large. Steps of interactions show in few pairs, so all of them
    # count.
    counted = (
        np.ones(len(process.points))
        if process.functional.least_counted
        else process.points.unseen + LEAST_UNSEEN
    )
    scale = np.maximum(
        _widened(squared, counted),
        _widened(squared, counted * influence),
    )
    scale *= (1 + process.kernel.n_fitted / len(process.points)) ** SPENT
    variance = (1 - POOLED) * process.variance + POOLED * process.variance.mean()
    return np.sqrt(variance[:, None] * scale[..., None, :])


def _widened(squared: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the weighted mean of squares ``(..., n, k)``, widened as Student's t is, ``(..., k)``.

    The more the largest errors make up of it, the fewer are its degrees of freedom.
    """
    weights = weights / weights.sum()
    mean = weights @ squared
    n = 1 / (weights @ weights)
    # as many degrees as errors for normal ones, which have a kurtosis of 3
    degrees = np.minimum(degrees_of_tails(n, n * mean, n * (weights @ squared**2)), n)
    return mean * widening(degrees) ** 2


def overlooked(
    posterior: Posterior,
    errors: np.ndarray,
    least: float = 0.0,
) -> np.ndarray:
    """Widen standard errors by the change that an unseen pair may cause.

    If a game jumps, few pairs show it, and other such pairs may be unseen. The
    allowance is a multiple of the largest change of the estimates by one pair,
    predicted from all the others. It is in proportion to the share of pairs of that
    size that were not evaluated: single players, which change most, are all known. If
    none of n pairs shows a jump, the allowance is a share of the largest value over n.
    Both are small for games without jumps. A Gaussian process treats rare jumps as
    noise and gives every pair a small influence, so the influence of a pair is at least
    a share of that in a plain mean.

    In a game with steps, errors always allow for one more step in 3/n of the pairs.
    Predicted pairs and estimates may agree by chance, or nearly all pairs may have the
    same value. For players, the allowance is in proportion to the largest share of
    pairs of one size that were not evaluated.

    Parameters
    ----------
    posterior : Posterior
    errors : ndarray of shape (..., e, k)
        The part of the evaluated pairs.
    least : float, default=0.0
        Factor of the largest change by one pair, for any game.
    """
    process = posterior.process
    values = posterior.values
    weight = process.functional.least_counted
    inner = process.points.roughness > 0
    n = inner.sum()
    influence = np.maximum(
        np.sqrt(process.squared_influence[inner] / len(process.influence)),
        weight / n,
    )
    reach = influence * process.points.unseen[inner]
    largest_change = (reach[:, None] * np.abs(posterior.left_out[..., inner, :])).max(
        axis=-2,
        keepdims=True,
    )
    largest = np.abs(
        values if weight else values - process.points.signs @ posterior.means / 2
    ).max(axis=-2, keepdims=True)
    silent = np.hypot(SILENT * posterior.repeated, FEW / n) * largest / n
    wide = value_range(posterior.means[..., process.witnesses, :])
    # largest distance between neighbouring values, zero included
    ascending = np.sort(np.append(values, np.zeros_like(largest), axis=-2), axis=-2)
    hidden_change = np.maximum(
        wide,
        max(weight, LEAST_STEP)
        * np.diff(ascending, axis=-2).max(axis=-2, keepdims=True),
    )
    silent = np.maximum(silent, posterior.in_steps * UNSEEN * hidden_change / n)
    if not weight:
        silent *= process.points.unseen[inner].max()
    jump = np.maximum(JUMPS * posterior.repeated, least) * largest_change
    return np.sqrt(errors**2 + jump**2 + silent**2)


def background_errors(posterior: Posterior, blocks: Blocks) -> np.ndarray:
    """Return standard deviations of the background's own part of the values, ``(e, k)``.

    The error due to the choice of background rows.
    """
    process = posterior.process
    variances = process.functional.variances
    common = variances(process.kernel, process.entries, None)
    return np.sqrt(
        np.maximum(variances(process.kernel, process.entries, blocks) - common, 0.0)[
            :, None
        ]
        * posterior.scale
    )
