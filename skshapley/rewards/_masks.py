"""Random coalitions, of sizes as the Shapley value weighs them."""

import numpy as np
from numpy.typing import NDArray


def kernel_coalitions(rng: np.random.Generator, n: int, n_players: int) -> NDArray[np.bool_]:
    """Return coalitions ``(n, p)``, neither empty nor full, drawn by Shapley's kernel.

    Size s has a probability in proportion to 1 / (s (p - s)), and all coalitions of a size are
    alike: that is how the regression whose solution the Shapley value is weighs them (Charnes et
    al. 1988).

    Parameters
    ----------
    rng : Generator
    n : int
    n_players : int
        p, two at least.
    """
    sizes = np.arange(1, n_players)
    weights = 1 / (sizes * (n_players - sizes))
    size = rng.choice(sizes, size=n, p=weights / weights.sum())
    rank = rng.permuted(np.tile(np.arange(n_players), (n, 1)), axis=1)
    return rank < size[:, None]
