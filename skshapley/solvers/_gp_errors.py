"""Standard errors of the process, held against what it failed to predict."""

import numpy as np

from skshapley._odd import Posterior


def standard_errors(posterior: Posterior, theta) -> np.ndarray:
    """Return the standard errors of the Shapley values, ``(p, k)``.

    Posterior variance at the scale of the data, or of the left-out predictions where these are
    worse.
    """
    pairs = posterior.pairs
    n_pairs = len(pairs)
    error, variance = posterior.left_out()
    left_out = np.mean(error**2 / variance[:, None], axis=0)
    scale = np.maximum(posterior.scale, left_out) * (1 + pairs.n_players / n_pairs)
    return np.sqrt(posterior.shapley_variance()[:, None] * scale)
