"""Other values of players than Shapley's: the odd part of any index, by the same process.

An index is a law of u = 2 t - 1 (`skshapley.indices`). What the odd part gives to player i is
2 sum over odd T that contain i of c_T E[u^(|T| - 1)], a mean of even powers; Shapley's law is
uniform.
"""

from functools import cached_property

import numpy as np

from skshapley._odd._blocks import Blocks
from skshapley._odd._functional import n_nodes
from skshapley._odd._hyper import Hyper
from skshapley._odd._pairs import Pairs, size_covariance
from skshapley._odd._posterior import Process
from skshapley.indices import Index


def mirrored(index: Index, rho: np.ndarray, sign: float) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights of the mean of f(u)/2 + sign f(-u)/2."""
    u, weight = index.nodes(n_nodes(rho))
    return np.concatenate([u, -u]), np.concatenate([weight, sign * weight]) / 2


def others(signs: np.ndarray, rho: np.ndarray, u: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the means of prod_{j != i} (1 + u rho_j s_j), ``(n, p)``."""
    scaled = u[:, None] * rho
    flat = 1 - scaled**2
    product = np.exp(signs @ np.arctanh(scaled).T + 0.5 * np.log(flat).sum(axis=1)) * weight
    # division by the factor of i, 1/(1 + u rho s) = (1 - u rho s)/(1 - u^2 rho^2)
    return product @ (1 / flat) - signs * (product @ (scaled / flat))


def first_difference(p: int, index: Index) -> np.ndarray:
    """Return what g(0..p) count in the value of any player, for a function of the size."""
    law = index.size_law(p - 1)
    out = np.zeros(p + 1)
    out[1:] += law
    out[:-1] -= law
    return out


def index_functional(pairs: Pairs, hyper: Hyper, index: Index) -> np.ndarray:
    """Return the covariances of the whole background's values and what was seen, ``(p, n)``.

    Parameters
    ----------
    pairs : Pairs
    hyper : Hyper
    index : Index
    """
    signs, rho = pairs.signs, hyper.rho
    u, weight = mirrored(index, rho, 1.0)
    linear = 2 * hyper.linear * hyper.share[:, None] * signs.T
    higher = (others(signs, rho, u, weight) - 1).T
    higher *= 2 * rho[:, None] * signs.T / hyper.higher_scale
    if pairs.blocks is not None:
        share = pairs.blocks.share[pairs.block]
        linear *= 1 + hyper.linear_spread * share
        higher *= 1 + hyper.higher_spread * share
    p = pairs.n_players
    size = first_difference(p, index) @ size_covariance(_sizes(p), signs)
    return linear + higher + hyper.size * size


def index_variance(hyper: Hyper, index: Index, blocks: Blocks | None = None) -> np.ndarray:
    """Return the prior variances of the odd part's values, for the whole background, ``(p,)``."""
    rho, p = hyper.rho, len(hyper.reach)
    u, weight = mirrored(index, rho, 1.0)
    uv, both = np.outer(u, u).ravel(), np.outer(weight, weight).ravel()
    factors = np.log1p(uv[:, None] * rho)
    product = both @ np.exp(factors.sum(axis=1)[:, None] - factors)
    higher = 4 * rho * (product - 1) / hyper.higher_scale
    linear = 4 * hyper.linear * hyper.share
    own = 0.0 if blocks is None else blocks.whole
    law = first_difference(p, index)
    return (
        linear * (1 + hyper.linear_spread * own)
        + higher * (1 + hyper.higher_spread * own)
        + hyper.size * law @ size_covariance(_sizes(p), _sizes(p)) @ law
    )


def _sizes(p: int) -> np.ndarray:
    """Return a coalition of each size 0..p, as signs, ``(p + 1, p)``."""
    return 2.0 * np.tri(p + 1, p, -1) - 1


class IndexProcess(Process):
    """A process whose values are those of another index.

    Parameters
    ----------
    process : Process
        The same, for Shapley values.
    index : Index
    """

    def __init__(self, process: Process, index: Index) -> None:
        self.points, self.hyper, self.index = process.points, process.hyper, index
        self.factor, self._upper_inverse = process.factor, process._upper_inverse

    @cached_property
    def covariances(self) -> np.ndarray:
        """The covariances of the values of players and those seen, ``(p, n)``."""
        return index_functional(self.points, self.hyper, self.index)

    @cached_property
    def prior_variance(self) -> np.ndarray:
        """The prior variances of the values of players at scale 1, ``(p,)``."""
        return index_variance(self.hyper, self.index, self.points.blocks)

    @cached_property
    def held_out(self) -> "IndexProcess":
        """The process with the same hyper-parameters that has not seen the points held out."""
        return IndexProcess(Process(self.points.take(~self.held), self.hyper), self.index)
