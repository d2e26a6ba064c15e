"""What the even part gives to players, where an index is not symmetric.

With u = 2 t - 1 under the law of the index, 2 sum over even T that contain i of c_T E[u^(|T| - 1)]:
a mean of odd powers. Where the law is symmetric it is nothing, for any game.
"""

from functools import cached_property

import numpy as np

from skshapley._even._functional import _block_weights
from skshapley._even._hyper import EvenHyper
from skshapley._even._kernel import lone_player
from skshapley._even._posterior import EvenProcess
from skshapley._odd import Blocks, Pairs
from skshapley._odd._index_process import first_difference, mirrored, others
from skshapley.indices import Index


def player_functional(pairs: Pairs, hyper: EvenHyper, index: Index) -> np.ndarray:
    """Return the covariances of the whole background's values and what was seen, ``(p, n)``.

    Parameters
    ----------
    pairs : Pairs
        Relative to the full coalition.
    hyper : EvenHyper
    index : Index
    """
    p, rho = pairs.n_players, hyper.rho
    signs = np.vstack([pairs.signs, np.ones((1, p))])
    on_two, on_higher = _block_weights(pairs, hyper)
    mean = index.moments(2)[1]
    two = 2 * mean * signs * (signs @ hyper.pair_variances)
    out = on_two[:, None] * (two[:-1] - two[-1])
    if np.isfinite(hyper.higher_scale):
        more = others(signs, rho, *mirrored(index, rho, -1.0))
        more -= mean * ((signs @ rho)[:, None] - signs * rho)
        more *= signs * rho * (2 / hyper.higher_scale)
        out += on_higher[:, None] * (more[:-1] - more[-1])
    depth, own = 1 - np.abs(2 * np.arange(p + 1) / p - 1), 1 - np.abs(pairs.signs.mean(axis=1))
    size = first_difference(p, index) @ np.minimum(depth[:, None], own)
    single_own, single_other = _single_law(p, index)
    lone = lone_player(pairs.signs)[:, None]
    counts = np.where(lone == np.arange(p), single_own, single_other)
    out += hyper.single * np.where(lone >= 0, counts, 0.0)
    return (out + hyper.size * size[:, None]).T


def player_variance(hyper: EvenHyper, index: Index, blocks: Blocks | None = None) -> np.ndarray:
    """Return the prior variances of the even part's values, for the whole background, ``(p,)``."""
    p, rho = len(hyper.reach), hyper.rho
    own = 0.0 if blocks is None else blocks.whole
    mean = index.moments(2)[1]
    two = 4 * mean**2 * hyper.pair_variances.sum(axis=1)
    law, depth = first_difference(p, index), 1 - np.abs(2 * np.arange(p + 1) / p - 1)
    size = hyper.size * law @ np.minimum(depth[:, None], depth) @ law
    of_own, of_other = _single_law(p, index)
    single = hyper.single * (of_own**2 + (p - 1) * of_other**2)
    out = two * (1 + hyper.pairs_spread * own) + size + single
    if np.isfinite(hyper.higher_scale):
        u, weight = mirrored(index, rho, -1.0)
        uv, both = np.outer(u, u).ravel(), np.outer(weight, weight).ravel()
        factors = np.log1p(uv[:, None] * rho)
        product = both @ np.exp(factors.sum(axis=1)[:, None] - factors)
        higher = 4 * rho * (product - mean**2 * (rho.sum() - rho)) / hyper.higher_scale
        out += higher * (1 + hyper.higher_spread * own)
    return out


def _single_law(p: int, index: Index) -> tuple[float, float]:
    """Return what a player and its complement count in its own value, and in others'."""
    if p < 3:
        return 0.0, 0.0
    law = index.size_law(p - 1)
    return float(law[0] - law[-1]), float(law[-2] - law[1]) / (p - 1)


class EvenPlayerProcess(EvenProcess):
    """The process on the even part, for what it gives to single players.

    Parameters
    ----------
    points : Pairs
        Relative to the full coalition. Their values do not matter.
    hyper : EvenHyper
    index : Index
    """

    least_counted = 0.0
    doubts_steps = False

    @cached_property
    def covariances(self) -> np.ndarray:
        """The covariances of the values of players and those seen, ``(p, n)``."""
        return player_functional(self.points, self.hyper, self.index)

    @cached_property
    def prior_variance(self) -> np.ndarray:
        """The prior variances of the values of players at scale 1, ``(p,)``."""
        return player_variance(self.hyper, self.index, self.points.blocks)

    @property
    def interaction_variance(self) -> np.ndarray:
        """The posterior variances of the values of players at scale 1, ``(p,)``."""
        return self.shapley_variance
