"""Standard errors of the process, held against what it fails to predict.

The posterior variance takes the hyper-parameters for known and the prior for true. It is widened by
the number of hyper-parameters relative to the pairs, and by how much worse than promised a process
that has seen most of the pairs predicts the others.
"""

import numpy as np

from skshapley._odd import Hyper, Posterior, fit_hyper

HELD_OUT = 3  # of every ten pairs
STRIDE = 7  # coprime to ten, so that pairs of every kind are held out
LARGEST = 25.0  # squared standardised errors beyond it count as that


def standard_errors(posterior: Posterior, theta: np.ndarray) -> np.ndarray:
    """Return the standard errors of the Shapley values, ``(p, k)``.

    Parameters
    ----------
    posterior : Posterior
    theta : ndarray
        The vector of its hyper-parameters.
    """
    pairs = posterior.pairs
    error, variance = posterior.left_out()
    scale = np.maximum(posterior.scale, np.mean(error**2 / variance[:, None], axis=0))
    if pairs.block is None:
        spent = 1 + pairs.n_players / len(pairs)
        scale = scale * spent * np.maximum(1.0, _surprise(pairs, theta))
    return np.sqrt(posterior.shapley_variance()[:, None] * scale)


def _surprise(pairs, theta):
    """Return the mean squared standardised error of held-out pairs, ``(k,)``."""
    place = np.arange(len(pairs))
    held = (place * STRIDE % 10 < HELD_OUT) & (place > 0)
    kept = pairs.take(~held)
    hyper = Hyper.from_vector(fit_hyper(kept, theta), pairs.n_players)
    posterior = Posterior(kept, hyper)
    mean, variance = posterior.predict(pairs.signs[held])
    scale = np.maximum(posterior.scale, np.finfo(float).tiny)
    squared = (pairs.values[held] - mean) ** 2 / (variance[:, None] * scale)
    return np.minimum(squared, LARGEST).mean(axis=0)
