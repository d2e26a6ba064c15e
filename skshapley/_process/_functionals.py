"""Values of players and of pairs of players as linear functionals of a Gaussian process.

An index is a law of u = 2 t - 1 (`skshapley.indices`). With the coefficients c_T of a game,

    value of player i = 2 sum over T that contain i of c_T E[u^(|T| - 1)],
    interaction of i and j = 4 sum over T that contain i and j of c_T E[u^(|T| - 2)].

The sum over all T is one mean of a product, such as sum_{T, i in T} rho_T t_T E[u^(|T| - 1)] =
rho_i t_i E[prod_{l != i} (1 + u rho_l t_l)]. This is a polynomial in u. Few nodes integrate it
exactly or to rounding. Odd T need the even powers of u, and even T the odd powers.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from skshapley._process._even import EvenKernel, lone_player
from skshapley._process._kernel import weighted_sum
from skshapley._process._odd import OddKernel, size_covariance
from skshapley._process._pairs import Blocks, Pairs
from skshapley.indices import INDICES, Index

SHAPLEY = INDICES["shapley"]
Orders = tuple[np.ndarray, np.ndarray]  # parts of orders two, and four and more
# Pairs of players that calibrate the errors of all pairs. Ten of 45 are too few: intervals are a
# tenth narrower.
MOST_WITNESSES = 500


@dataclass(frozen=True)
class Functional(ABC):
    """Linear functional of one part of a game, one entry for each player or pair of players.

    Attributes
    ----------
    index : Index
    least_counted : float
        The least weight of an observed value in an entry, times the number of points.
    doubts_steps : bool
        Whether another step may be unseen even if all seen steps were predicted.
    """

    index: Index = SHAPLEY

    least_counted = 0.0
    doubts_steps = False

    def entries(self, p: int) -> np.ndarray:
        """Return the players of each entry, ``(order, e)``."""
        return np.arange(p)[None]

    def witnesses(self, p: int) -> np.ndarray:
        """Return the positions of the entries that calibrate the errors, ``(m,)``."""
        return np.arange(p)

    def of_pairs(self, interactions: np.ndarray) -> np.ndarray:
        """Return the entries of a game of pair interactions ``(p (p - 1)/2, k)``, ``(e, k)``."""
        return interactions

    def covariances(self, kernel: Any, points: Pairs, entries: np.ndarray) -> np.ndarray:
        """Return covariances of entries, for all rows, with the observed values, ``(e, n)``."""
        lowest, higher, *beside = self._parts(kernel, points, entries)
        if points.blocks is not None:
            share = points.blocks.share[points.block][:, None]
            lowest, higher = kernel.with_own(lowest, higher, share)
        return weighted_sum(kernel.scales, [lowest, higher, *beside]).T

    def variances(self, kernel: Any, entries: np.ndarray, blocks: Blocks | None) -> np.ndarray:
        """Return the prior variances of entries, for the whole background, ``(e,)``."""
        lowest, higher, *beside = self._squares(kernel, entries)
        if blocks is not None:
            lowest, higher = kernel.with_own(lowest, higher, blocks.whole)
        return weighted_sum(kernel.scales, [lowest, higher, *beside])

    @abstractmethod
    def _parts(self, kernel: Any, points: Pairs, entries: np.ndarray) -> list[np.ndarray]:
        """Return the covariances of the kernel's parts at variance 1, ``(n, e)`` or ``(n, 1)``."""

    @abstractmethod
    def _squares(self, kernel: Any, entries: np.ndarray) -> list[np.ndarray]:
        """Return the variances of entries in the kernel's parts at variance 1, ``(e,)`` or one."""


@dataclass(frozen=True)
class OddValues(Functional):
    """Values of players by the odd part; for a symmetric index such as Shapley's, no other part."""

    def _parts(self, kernel: OddKernel, points: Pairs, entries: np.ndarray) -> list[np.ndarray]:
        signs, p, rho = points.signs, points.n_players, kernel.rho
        more = _others(signs, rho, *_powers(self.index, rho, 1)) - 1
        size = size_covariance(signs, _sizes(p)) @ _difference(self.index, p, 1)
        higher = 2 * rho * signs * more / kernel.higher_scale
        return [2 * kernel.share * signs, higher, size[:, None]]

    def _squares(self, kernel: OddKernel, entries: np.ndarray) -> list[np.ndarray]:
        rho, p = kernel.rho, len(kernel.reach)
        more = _squared(rho, *_powers(self.index, rho, 1)) - 1
        law = _difference(self.index, p, 1)
        size = law @ size_covariance(_sizes(p), _sizes(p)) @ law
        return [4 * kernel.share, 4 * rho * more / kernel.higher_scale, size]


class _EvenFunctional(Functional):
    """Base class of functionals of the even part, of differences from the full coalition."""

    def _parts(self, kernel: EvenKernel, points: Pairs, entries: np.ndarray) -> list[np.ndarray]:
        p, order = points.n_players, len(entries)
        signs = np.vstack([points.signs, np.ones((1, p))])
        depth = np.minimum(_depth(p)[:, None], 1 - np.abs(points.signs.mean(axis=1)))
        size = (_difference(self.index, p, order) @ depth)[:, None]
        lone = lone_player(points.signs)[:, None]
        own = (lone[:, :, None] == entries).any(axis=1)
        single = np.where(lone >= 0, np.where(own, *self._single_law(p, order)), 0.0)
        two, more = self._orders(kernel, signs, entries)
        return [two[:-1] - two[-1], more[:-1] - more[-1], size, single]

    def _squares(self, kernel: EvenKernel, entries: np.ndarray) -> list[np.ndarray]:
        p, order = len(kernel.reach), len(entries)
        law, depth = _difference(self.index, p, order), _depth(p)
        own, other = self._single_law(p, order)
        size, single = law @ np.minimum(depth[:, None], depth) @ law, own**2 * order
        return [*self._own_orders(kernel, entries), size, single + (p - order) * other**2]

    @abstractmethod
    def _orders(self, kernel: EvenKernel, signs: np.ndarray, entries: np.ndarray) -> Orders:
        """Return the covariances of orders two, and four and more, with the games' values."""

    @abstractmethod
    def _own_orders(self, kernel: EvenKernel, entries: np.ndarray) -> Orders:
        """Return the variances of entries by orders two, and four and more."""

    def _single_law(self, p: int, order: int) -> tuple[float, float]:
        """Return the weights of a player and its complement in its own and in others' entries."""
        if p < 3:
            return 0.0, 0.0
        law, sign = self.index.size_law(p - order), (-1) ** order
        own, other = law[0] + sign * law[-1], law[-2] + sign * law[1]
        return -sign * float(own), float(other) / (p - order)


@dataclass(frozen=True)
class EvenValues(_EvenFunctional):
    """Values of players by the even part; 0 for a symmetric index."""

    def of_pairs(self, interactions: np.ndarray) -> np.ndarray:
        """Return the values of players in a game of pair interactions, ``(p, k)``."""
        p = (1 + math.isqrt(1 + 8 * len(interactions))) // 2
        values = np.zeros((p, interactions.shape[1]))
        for players in np.triu_indices(p, 1):
            np.add.at(values, players, interactions)
        # c_ij is a quarter of the interaction, and each player has twice the mean of u of it
        return values * (self.index.moments(2)[1] / 2)

    def _orders(self, kernel: EvenKernel, signs: np.ndarray, entries: np.ndarray) -> Orders:
        rho, mean = kernel.rho, self.index.moments(2)[1]
        more = _others(signs, rho, *_powers(self.index, rho, -1))
        more -= mean * ((signs @ rho)[:, None] - signs * rho)
        more *= signs * rho * (2 / kernel.higher_scale)
        return 2 * mean * signs * (signs @ kernel.pair_shares), more

    def _own_orders(self, kernel: EvenKernel, entries: np.ndarray) -> Orders:
        rho, mean = kernel.rho, self.index.moments(2)[1]
        more = _squared(rho, *_powers(self.index, rho, -1)) - mean**2 * (rho.sum() - rho)
        two = 4 * mean**2 * kernel.pair_shares.sum(axis=1)
        return two, 4 * rho * more / kernel.higher_scale


@dataclass(frozen=True)
class Interactions(_EvenFunctional):
    """Interactions of pairs of players, by a symmetric index."""

    # in a plain mean of interactions, a value would weigh 4/n; half of it widens errors by 1 %
    least_counted = 2.0
    doubts_steps = True

    def entries(self, p: int) -> np.ndarray:
        """Return the two players of each pair, ``(2, p (p - 1)/2)``."""
        return np.array(np.triu_indices(p, 1))

    def witnesses(self, p: int) -> np.ndarray:
        """Return the positions of some pairs, evenly spread over all, ``(m,)``."""
        total = p * (p - 1) // 2
        return np.linspace(0, total - 1, min(total, MOST_WITNESSES)).round().astype(int)

    def _orders(self, kernel: EvenKernel, signs: np.ndarray, entries: np.ndarray) -> Orders:
        rho, (i, j) = kernel.rho, entries
        both = signs[:, i] * signs[:, j]
        u, product, inverse = _products(signs, rho, *_powers(self.index, rho, 1))
        pair = inverse[:, i] * inverse[:, j]
        # 1/(1 + u rho t) = (1 - u rho t)/(1 - u^2 rho^2), for both players
        level = both * (product @ pair - 1)
        level += rho[i] * rho[j] * (product @ (u[:, None] ** 2 * pair))
        tilt = product @ (u[:, None] * pair)
        level -= tilt * (rho[i] * signs[:, j] + rho[j] * signs[:, i])
        level *= 4 * rho[i] * rho[j] / kernel.higher_scale
        return 4 * kernel.pair_shares[i, j] * both, level

    def _own_orders(self, kernel: EvenKernel, entries: np.ndarray) -> Orders:
        rho, (i, j) = kernel.rho, entries
        factors, product = _squares(rho, *_powers(self.index, rho, 1))
        more = product @ (1 / (factors[:, i] * factors[:, j])) - 1
        more *= 16 * rho[i] * rho[j] / kernel.higher_scale
        return 16 * kernel.pair_shares[i, j], more


def _powers(index: Index, rho: np.ndarray, sign: int) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights of the mean of f(u)/2 + sign f(-u)/2 over the law of the index."""
    # exact from p/2 nodes on; the integrand grows like exp(u sum(rho)), so fewer nodes suffice
    u, weight = index.nodes(int(min(len(rho) // 2 + 1, 12 + 2 * rho.sum())))
    if index.symmetric and sign > 0:
        return u, weight
    return np.concatenate([u, -u]), np.concatenate([weight, sign * weight]) / 2


def _products(
    signs: np.ndarray, rho: np.ndarray, u: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return nodes u, weighted prod_j (1 + u rho_j s_j) ``(n, nodes)``, and 1/(1 - u^2 rho_j^2)."""
    scaled = u[:, None] * rho
    flat = 1 - scaled**2
    product = np.exp(signs @ np.arctanh(scaled).T + 0.5 * np.log(flat).sum(axis=1)) * weight
    return u, product, 1 / flat


def _others(signs: np.ndarray, rho: np.ndarray, u: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the means of prod_{j != i} (1 + u rho_j s_j), ``(n, p)``."""
    _, product, inverse = _products(signs, rho, u, weight)
    # division by the factor of i, 1/(1 + u rho s) = (1 - u rho s)/(1 - u^2 rho^2)
    return product @ inverse - signs * (product @ (inverse * u[:, None] * rho))


def _squares(rho: np.ndarray, u: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return 1 + u v rho_j ``(nodes^2, p)`` at two nodes, and their weighted products over j."""
    factors = 1 + np.outer(u, u).ravel()[:, None] * rho
    return factors, np.outer(weight, weight).ravel() * np.exp(np.log(factors).sum(axis=1))


def _squared(rho: np.ndarray, u: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the means of prod_{j != i} (1 + u v rho_j) over two nodes, ``(p,)``."""
    factors, product = _squares(rho, u, weight)
    return product @ (1 / factors)


def _difference(index: Index, p: int, order: int) -> np.ndarray:
    """Return the weights of g(0..p) in the entry of a player or pair, for a game of the size."""
    differences = [-1.0, 1.0] if order == 1 else [1.0, -2.0, 1.0]
    return np.convolve(index.size_law(p - order), differences)


def _sizes(p: int) -> np.ndarray:
    """Return a coalition of each size 0..p, as signs, ``(p + 1, p)``."""
    return 2.0 * np.tri(p + 1, p, -1) - 1


def _depth(p: int) -> np.ndarray:
    """Return 1 - |2 s - p|/p of the sizes 0..p."""
    return 1 - np.abs(2 * np.arange(p + 1) / p - 1)
