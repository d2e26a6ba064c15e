"""Least squares on pairs of players: where nothing but pairs interact."""

import numpy as np

from skshapley._odd import Pairs

NOTHING = 1e-9  # of the largest value: a residual no larger is rounding
ROUNDING = 1e-13  # of the game's own values, from which these are differences
SPARE = 2  # points beyond the unknowns, which bear witness that only pairs interact


def quadratic(pairs: Pairs, scale: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the least-squares interactions, the points to spare and whether they leave a residual.

    Parameters
    ----------
    pairs : Pairs
        Relative to the full coalition.
    scale : ndarray of shape (k,)
        The largest values of the game.

    Returns
    -------
    interactions : ndarray of shape (p (p - 1)/2, k)
        With blocks, the mean of their solutions, by weight. 0 where there is a residual.
    spare : ndarray of shape (k,)
        How many points bear witness: those beyond the unknowns, or all where nothing varies.
    residual : ndarray of shape (k,), bool
        True where pairs do not explain the values, or too few points could tell.
    """
    p, k = pairs.n_players, pairs.values.shape[1]
    n_unknowns = p * (p - 1) // 2
    if pairs.block is None:
        parts = [np.arange(len(pairs))]
    else:
        parts = [np.flatnonzero(pairs.block == b) for b in range(pairs.block.max() + 1)]
    size = np.abs(pairs.values).max(axis=0)
    flat = (size <= ROUNDING * scale) & (len(pairs) >= SPARE)
    solution, residual = np.zeros((n_unknowns, k)), ~flat
    few = min(map(len, parts))  # what one block misses all may: rows can be alike
    spare = few - n_unknowns
    witnesses = np.where(flat, few, max(spare, 1))
    whole = pairs.blocks is None or pairs.blocks.complete
    if spare < SPARE or flat.all() or not whole:
        return solution, witnesses, residual
    least, residual = np.maximum(NOTHING * size, ROUNDING * scale), np.zeros(k, dtype=bool)
    first, second = np.triu_indices(p, 1)
    share = np.ones(1) if pairs.blocks is None else pairs.blocks.share
    for part, weight in zip(parts, share, strict=True):
        signs, values = pairs.signs[part], pairs.values[part]
        design = (signs[:, first] * signs[:, second] - 1) / 4
        found, _, rank, _ = np.linalg.lstsq(design, values, rcond=1e-10)
        residual |= np.abs(values - design @ found).max(axis=0) > least
        residual |= (rank < n_unknowns) & ~flat  # pairs of players that no point tells apart
        if residual.all():
            break
        solution += weight * found
    return np.where(residual, 0.0, solution), witnesses, residual
