"""Standard errors of the process, held against what it fails to predict.

The posterior variance takes the hyper-parameters for known and the prior for true. It is widened by
the number of hyper-parameters relative to the pairs, and by how much worse than promised a process
that has seen most of the pairs predicts the others.
"""

from dataclasses import replace

import numpy as np

from skshapley._odd import Hyper, Posterior, Process, fit_hyper

LARGEST = 25.0  # squared standardised errors beyond it count as that


def standard_errors(posterior: Posterior, theta: np.ndarray | None) -> np.ndarray:
    """Return the standard errors of the Shapley values, ``(p, k)``.

    Parameters
    ----------
    posterior : Posterior
    theta : ndarray or None
        The vector of its hyper-parameters where they were fitted to these very values.
    """
    points = posterior.process.points
    error, variance = posterior.left_out()
    scale = np.maximum(posterior.scale, np.mean(error**2 / variance[:, None], axis=0))
    if points.block is None:
        spent = 1 + points.n_players / len(points)
        scale = scale * spent * np.maximum(1.0, _surprise(posterior, theta))
    return np.sqrt(posterior.process.shapley_variance[:, None] * scale)


def _surprise(posterior, theta):
    """Return the mean squared standardised error of held-out pairs, ``(k,)``."""
    process, values = posterior.process, posterior.values
    held, points = process.held, process.points
    if theta is None:
        rest = process.held_out
    else:
        kept = replace(points, values=values).take(~held)
        rest = Process(kept, Hyper.from_vector(fit_hyper(kept, theta), points.n_players))
    kept = Posterior(rest, values[~held])
    mean, variance = kept.predict(points.signs[held])
    scale = np.maximum(kept.scale, np.finfo(float).tiny)
    squared = (values[held] - mean) ** 2 / (variance[:, None] * scale)
    return np.minimum(squared, LARGEST).mean(axis=0)
