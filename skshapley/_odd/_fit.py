"""Hyper-parameters by maximum a posteriori: on few points first, then a few steps on more."""

import numpy as np
from scipy.optimize import minimize

from skshapley._odd._evidence import Evidence
from skshapley._odd._hyper import Hyper
from skshapley._odd._pairs import Pairs

# (points, iterations) of the two stages: from the prior's means, and from an earlier fit
COLD = ((200, 25), (600, 8))
WARM = ((200, 12), (600, 8))
BLOCKED = ((200, 20),)
LEAST_BLOCKS = 4


def fit_hyper(pairs: Pairs, start: np.ndarray | None = None) -> np.ndarray:
    """Return the vector of the logarithms of the hyper-parameters, ``(p + 3,)`` or ``(p + 5,)``.

    Parameters
    ----------
    pairs : Pairs
    start : ndarray or None
        The vector of an earlier fit.
    """
    p, blocked = pairs.n_players, pairs.block is not None
    stages = BLOCKED if blocked else COLD if start is None else WARM
    theta = Hyper.start(p, blocked) if start is None else start
    bounds = Hyper.bounds(p, blocked)
    for stage, (most, iterations) in enumerate(stages):
        if stage and len(pairs) <= stages[stage - 1][0]:
            break
        found = minimize(
            Evidence(thinned(pairs, most)),
            theta,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": iterations, "maxcor": 20},
        )
        theta = found.x
    return theta


def thinned(pairs: Pairs, most: int) -> Pairs:
    """Return at most about `most` points, spread evenly over the design, or whole blocks of it.

    One of them has a value that is not zero, if there is one.
    """
    if len(pairs) <= most:
        return pairs
    kept = _spread(pairs, most)
    if not pairs.values[kept].any():
        kept = np.append(kept, np.abs(pairs.values).max(axis=1).argmax())
    return pairs.take(kept)


def _spread(pairs: Pairs, most: int) -> np.ndarray:
    """Return the places of the points that `thinned` keeps."""
    if pairs.block is None:
        return np.linspace(0, len(pairs) - 1, most).round().astype(int)
    sizes = np.bincount(pairs.block)
    blocks = max(LEAST_BLOCKS, int(np.searchsorted(np.cumsum(sizes), most, side="right")))
    kept = np.flatnonzero(pairs.block < blocks)
    if len(kept) > 1.2 * most:  # few and large blocks: some points of each
        kept = kept[np.linspace(0, len(kept) - 1, most).round().astype(int)]
    return kept
