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
from skshapley._process._odd import OddKernel, size_covariance
from skshapley._process._pairs import Blocks, Pairs
from skshapley.indices import INDICES, Index

SHAPLEY = INDICES["shapley"]
MOST_WITNESSES = 500  # pairs of players that calibrate the errors of all pairs


@dataclass(frozen=True)
class Functional(ABC):
    """Linear functional of one part of a game, one entry for each player or pair of players.

    Attributes
    ----------
    index : Index
    least_counted : float
        The least weight of an observed value in an entry, times the number of points.
    doubts_steps : bool
        Whether predicted steps may still hide another step.
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

    def joined(self, ratios: np.ndarray) -> np.ndarray:
        """Combine ratios ``(m, k)`` of actual to predicted errors into one factor, ``(k,)``.

        Each ratio is a noisy estimate of 1. The largest ratio would widen errors that are right.
        """
        return np.sqrt((ratios**2).mean(axis=0))

    def of_pairs(self, interactions: np.ndarray) -> np.ndarray:
        """Return the entries of a game of pair interactions ``(p (p - 1)/2, k)``, ``(e, k)``."""
        return interactions

    @abstractmethod
    def covariances(self, kernel: Any, points: Pairs, entries: np.ndarray) -> np.ndarray:
        """Return covariances of entries, for all rows, with the observed values, ``(e, n)``."""

    @abstractmethod
    def variances(self, kernel: Any, entries: np.ndarray, blocks: Blocks | None) -> np.ndarray:
        """Return the prior variances of entries, for the whole background, ``(e,)``."""


@dataclass(frozen=True)
class OddValues(Functional):
    """Values of players by the odd part; for a symmetric index such as Shapley's, no other part."""

    def covariances(self, kernel: OddKernel, points: Pairs, entries: np.ndarray) -> np.ndarray:
        """Return the covariances of players' values and the values seen, ``(p, n)``."""
        signs, p = points.signs, points.n_players
        on_linear, on_higher = kernel.block_weights(points)
        linear = 2 * kernel.lowest * kernel.share[:, None] * signs.T
        more = _others(signs, kernel.rho, *_powers(self.index, kernel.rho, 1)) - 1
        higher = 2 * kernel.rho[:, None] * (signs * more).T / kernel.higher_scale
        size = _first_difference(p, self.index) @ size_covariance(_sizes(p), signs)
        return linear * on_linear + higher * on_higher + kernel.size * size

    def variances(
        self, kernel: OddKernel, entries: np.ndarray, blocks: Blocks | None
    ) -> np.ndarray:
        """Return the prior variances of players' values, ``(p,)``."""
        own, rho, p = 0.0 if blocks is None else blocks.whole, kernel.rho, len(kernel.reach)
        more = _squared(rho, *_powers(self.index, rho, 1)) - 1
        higher = 4 * rho * more / kernel.higher_scale
        law = _first_difference(p, self.index)
        out = 4 * kernel.lowest * kernel.share * (1 + kernel.lowest_spread * own)
        out += higher * (1 + kernel.higher_spread * own)
        return out + kernel.size * law @ size_covariance(_sizes(p), _sizes(p)) @ law


@dataclass(frozen=True)
class EvenValues(Functional):
    """Values of players by the even part; 0 for a symmetric index."""

    def of_pairs(self, interactions: np.ndarray) -> np.ndarray:
        """Return the values of players in a game of pair interactions, ``(p, k)``."""
        p = (1 + math.isqrt(1 + 8 * len(interactions))) // 2
        values = np.zeros((p, interactions.shape[1]))
        for players in np.triu_indices(p, 1):
            np.add.at(values, players, interactions)
        # c_ij is a quarter of the interaction, and each player has twice the mean of u of it
        return values * (self.index.moments(2)[1] / 2)

    def covariances(self, kernel: EvenKernel, points: Pairs, entries: np.ndarray) -> np.ndarray:
        """Return the covariances of players' values and the values seen, ``(p, n)``."""
        p, rho, signs = points.n_players, kernel.rho, _with_full(points)
        on_two, on_higher = kernel.block_weights(points)
        mean = self.index.moments(2)[1]
        two = 2 * mean * signs * (signs @ kernel.pair_variances)
        out = on_two[:, None] * (two[:-1] - two[-1])
        if np.isfinite(kernel.higher_scale):
            more = _others(signs, rho, *_powers(self.index, rho, -1))
            more -= mean * ((signs @ rho)[:, None] - signs * rho)
            more *= signs * rho * (2 / kernel.higher_scale)
            out += on_higher[:, None] * (more[:-1] - more[-1])
        out += (kernel.size * _first_difference(p, self.index) @ _depths(points))[:, None]
        return (out + _single(kernel, points, entries, *self._single_law(p))).T

    def variances(
        self, kernel: EvenKernel, entries: np.ndarray, blocks: Blocks | None
    ) -> np.ndarray:
        """Return the prior variances of players' values, ``(p,)``."""
        own, rho, p = 0.0 if blocks is None else blocks.whole, kernel.rho, len(kernel.reach)
        mean = self.index.moments(2)[1]
        two = 4 * mean**2 * kernel.pair_variances.sum(axis=1)
        of_own, of_other = self._single_law(p)
        out = two * (1 + kernel.lowest_spread * own) + _size(
            kernel, _first_difference(p, self.index)
        )
        out += kernel.single * (of_own**2 + (p - 1) * of_other**2)
        if np.isfinite(kernel.higher_scale):
            more = _squared(rho, *_powers(self.index, rho, -1)) - mean**2 * (rho.sum() - rho)
            out += 4 * rho * more / kernel.higher_scale * (1 + kernel.higher_spread * own)
        return out

    def _single_law(self, p: int) -> tuple[float, float]:
        """Return the weights of a player and its complement in its own and others' values."""
        if p < 3:
            return 0.0, 0.0
        law = self.index.size_law(p - 1)
        return float(law[0] - law[-1]), float(law[-2] - law[1]) / (p - 1)


@dataclass(frozen=True)
class Interactions(Functional):
    """Interactions of pairs of players, by a symmetric index."""

    least_counted = 2.0  # in a plain mean of interactions, a value would weigh 4/n
    doubts_steps = True

    def entries(self, p: int) -> np.ndarray:
        """Return the two players of each pair, ``(2, p (p - 1)/2)``."""
        return np.array(np.triu_indices(p, 1))

    def witnesses(self, p: int) -> np.ndarray:
        """Return the positions of some pairs, evenly spread over all, ``(m,)``."""
        total = p * (p - 1) // 2
        return np.linspace(0, total - 1, min(total, MOST_WITNESSES)).round().astype(int)

    def joined(self, ratios: np.ndarray) -> np.ndarray:
        """Return the largest ratio, since few points inform about each interaction."""
        return ratios.max(axis=0)

    def covariances(self, kernel: EvenKernel, points: Pairs, entries: np.ndarray) -> np.ndarray:
        """Return the covariances of interactions and the values seen, ``(e, n)``."""
        p, rho, signs = points.n_players, kernel.rho, _with_full(points)
        on_two, on_higher = kernel.block_weights(points)
        i, j = entries
        both = signs[:, i] * signs[:, j]
        two = 4 * kernel.pair_variances[i, j] * both
        out = on_two[:, None] * (two[:-1] - two[-1])
        if np.isfinite(kernel.higher_scale):
            u, product, inverse = _products(signs, rho, *_powers(self.index, rho, 1))
            pair = inverse[:, i] * inverse[:, j]
            # 1/(1 + u rho t) = (1 - u rho t)/(1 - u^2 rho^2), for both players
            level = both * (product @ pair - 1)
            level += rho[i] * rho[j] * (product @ (u[:, None] ** 2 * pair))
            tilt = product @ (u[:, None] * pair)
            level -= tilt * (rho[i] * signs[:, j] + rho[j] * signs[:, i])
            level *= 4 * rho[i] * rho[j] / kernel.higher_scale
            out += on_higher[:, None] * (level[:-1] - level[-1])
        out += (kernel.size * self._second_difference(p) @ _depths(points))[:, None]
        return (out + _single(kernel, points, entries, *self._single_law(p))).T

    def variances(
        self, kernel: EvenKernel, entries: np.ndarray, blocks: Blocks | None
    ) -> np.ndarray:
        """Return the prior variances of interactions, ``(e,)``."""
        own, rho, p = 0.0 if blocks is None else blocks.whole, kernel.rho, len(kernel.reach)
        i, j = entries
        out = 16 * kernel.pair_variances[i, j] * (1 + kernel.lowest_spread * own)
        of_own, of_other = self._single_law(p)
        out += kernel.single * (2 * of_own**2 + (p - 2) * of_other**2)
        out += _size(kernel, self._second_difference(p))
        if np.isfinite(kernel.higher_scale):
            factors, product = _squares(rho, *_powers(self.index, rho, 1))
            more = product @ (1 / (factors[:, i] * factors[:, j])) - 1
            more *= 16 * rho[i] * rho[j] / kernel.higher_scale
            out += more * (1 + kernel.higher_spread * own)
        return out

    def _second_difference(self, p: int) -> np.ndarray:
        """Return the weights of g(0..p) in any interaction, for a function g of the size."""
        law = self.index.size_law(p - 2)
        out = np.zeros(p + 1)
        out[2:] += law
        out[1:-1] -= 2 * law
        out[:-2] += law
        return out

    def _single_law(self, p: int) -> tuple[float, float]:
        """Return the weights of a player and its complement in its interactions and in others'."""
        if p < 3:
            return 0.0, 0.0
        law = self.index.size_law(p - 2)
        return -float(law[0] + law[-1]), float(law[1] + law[-2]) / (p - 2)


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


def _with_full(points: Pairs) -> np.ndarray:
    """Return the signs of the points and of the full coalition, their point of reference."""
    return np.vstack([points.signs, np.ones((1, points.n_players))])


def _first_difference(p: int, index: Index) -> np.ndarray:
    """Return the weights of g(0..p) in the value of any player, for a function g of the size."""
    law = index.size_law(p - 1)
    out = np.zeros(p + 1)
    out[1:] += law
    out[:-1] -= law
    return out


def _sizes(p: int) -> np.ndarray:
    """Return a coalition of each size 0..p, as signs, ``(p + 1, p)``."""
    return 2.0 * np.tri(p + 1, p, -1) - 1


def _depth(p: int) -> np.ndarray:
    """Return 1 - |2 s - p|/p of the sizes 0..p."""
    return 1 - np.abs(2 * np.arange(p + 1) / p - 1)


def _depths(points: Pairs) -> np.ndarray:
    """Return covariances of all sizes with the points' sizes at variance 1, ``(p + 1, n)``."""
    own = 1 - np.abs(points.signs.mean(axis=1))
    return np.minimum(_depth(points.n_players)[:, None], own)


def _size(kernel: EvenKernel, law: np.ndarray) -> float:
    """Return the prior variance of the size's part under a law of the sizes."""
    depth = _depth(len(law) - 1)
    return float(kernel.size * law @ np.minimum(depth[:, None], depth) @ law)


def _single(
    kernel: EvenKernel, points: Pairs, entries: np.ndarray, own: float, other: float
) -> np.ndarray:
    """Return the covariances with the part of single players, ``(n, e)``."""
    lone = lone_player(points.signs)[:, None]
    counts = np.where((lone[:, :, None] == entries).any(axis=1), own, other)
    return kernel.single * np.where(lone >= 0, counts, 0.0)
