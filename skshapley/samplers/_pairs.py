"""Base class of the samplers of single marginal contributions."""

import numpy as np

from skshapley.designs import PairDesign


def pair_design(
    sets: np.ndarray,
    players: np.ndarray,
    strata: np.ndarray,
    weights: np.ndarray,
    certain: np.ndarray,
    unit: int = 1,
) -> PairDesign:
    """Return the design of contributions of `players` to `sets`, in `strata`.

    Parameters
    ----------
    sets : ndarray of shape (r, n, p), bool
        The coalitions to join; they may contain the player itself.
    players, strata : ndarray of shape (r, n), int
    weights : ndarray of shape (h,)
    certain : ndarray of shape (h,), bool
    unit : int

    Returns
    -------
    design : PairDesign
    """
    coalitions = np.repeat(sets, 2, axis=1)
    instances, draws = np.arange(len(sets))[:, None], np.arange(sets.shape[1])
    coalitions[instances, 2 * draws, players] = False
    coalitions[instances, 2 * draws + 1, players] = True
    return PairDesign(
        coalitions,
        players=players,
        strata=strata,
        stratum_weights=weights,
        certain=certain,
        unit=unit,
    )
