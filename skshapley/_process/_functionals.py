"""Values of players and of pairs of players as linear functionals of a Gaussian process.

An index is a law of u = 2 t - 1 (`skshapley.indices`). With the coefficients c_T of a
game,

    value of player i = 2 sum over T that contain i of c_T E[u^(|T| - 1)],
    interaction of i and j = 4 sum over T that contain i and j of c_T E[u^(|T| - 2)].

The sum over all T is one mean of a product, such as sum_{T, i in T} rho_T t_T E[u^(|T|
- 1)] = rho_i t_i E[prod_{l != i} (1 + u rho_l t_l)]. This is a polynomial in u. Few
nodes integrate it exactly or to rounding. Odd T need the even powers of u, and even T
the odd powers.
"""

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from skshapley._process._kernel import PartKernel, lone_player, weighted_sum
from skshapley._process._pairs import Blocks, Pairs
from skshapley._tools import log_binomial
from skshapley.indices import INDICES, Index

SHAPLEY = INDICES["shapley"]
Two = tuple[Any, Any]
# Pairs of players that calibrate the errors of all pairs. Ten of 45 are too few:
# intervals are a tenth narrower.
MOST_WITNESSES = 500


@dataclass(frozen=True)
class Functional:
    """Linear functional of one part of a game, one entry for each player or pair of players.

    Attributes
    ----------
    index : Index
    order : int
        The number of players of an entry.
    parity : {-1, 1}
        The parity of the remaining players of an interaction: of the powers of u.
    least_counted : float
        The least weight of an observed value in an entry, times the number of points.
        If positive, another step may be unseen even if all seen steps were predicted.
    """

    index: Index = SHAPLEY

    order: ClassVar[int] = 1
    parity: ClassVar[int] = 1
    least_counted: ClassVar[float] = 0.0

    def entries(self, p: int) -> np.ndarray:
        """Return the players of each entry, ``(order, e)``."""
        sets = np.array(list(combinations(range(p), self.order)))
        return sets.T.reshape(self.order, -1)

    def witnesses(self, p: int) -> np.ndarray:
        """Return the positions of the entries that calibrate the errors, ``(m,)``."""
        return np.arange(p)

    def of_pairs(self, interactions: np.ndarray) -> np.ndarray:
        """Return the entries of a game of pair interactions ``(p (p - 1)/2, k)``, ``(e, k)``."""
        return interactions

    def covariances(
        self,
        kernel: PartKernel,
        points: Pairs,
        entries: np.ndarray,
    ) -> np.ndarray:
        """Return covariances of entries, for all rows, with the observed values, ``(e, n)``."""
        p = points.n_players
        signs = points.signs
        if kernel.sign < 0:
            lowest, higher = self._orders(kernel, signs, entries)
        else:  # differences to the full coalition
            orders = self._orders(kernel, np.vstack([signs, np.ones((1, p))]), entries)
            lowest, higher = (part[:-1] - part[-1] for part in orders)
        if points.blocks is not None:
            lowest, higher = kernel.with_own(
                lowest,
                higher,
                points.blocks.share[points.block][:, None],
            )
        size = kernel.of_size(signs, _sizes(p)) @ self._by_size(p)
        parts = [lowest, higher, size[:, None]]
        if kernel.sign > 0:
            lone = lone_player(signs)[:, None]
            single = np.where(
                (lone[:, :, None] == entries).any(axis=1),
                *self._by_single(p),
            )
            parts.append(np.where(lone >= 0, single, 0.0))
        return weighted_sum(kernel.scales, parts).T

    def variances(
        self,
        kernel: PartKernel,
        entries: np.ndarray,
        blocks: Blocks | None,
    ) -> np.ndarray:
        """Return the prior variances of entries, for the whole background, ``(e,)``."""
        p = len(kernel.reach)
        rho = kernel.rho
        lowest, low = self._lowest_squared(kernel, entries)
        squared = _squared(rho, *self._powers(rho), entries) - low
        higher = (
            4**self.order * rho[entries].prod(axis=0) * squared / kernel.higher_scale
        )
        lowest = 4**self.order * lowest
        if blocks is not None:
            lowest, higher = kernel.with_own(lowest, higher, blocks.whole)
        law = self._by_size(p)
        parts = [lowest, higher, law @ kernel.of_size(_sizes(p), _sizes(p)) @ law]
        if kernel.sign > 0:
            own_weight, other_weight = self._by_single(p)
            parts.append(
                self.order * own_weight**2 + (p - self.order) * other_weight**2
            )
        return weighted_sum(kernel.scales, parts)

    def _orders(
        self,
        kernel: PartKernel,
        signs: np.ndarray,
        entries: np.ndarray,
    ) -> Two:
        """Return the covariances with the games' values by the lowest and by higher orders."""
        rho = kernel.rho
        lowest, low = self._lowest(kernel, signs, entries)
        higher = _others(signs, rho, *self._powers(rho), entries) - low
        higher *= rho[entries].prod(axis=0) / kernel.higher_scale
        factor = 2**self.order * signs[:, entries].prod(axis=1)
        return factor * lowest, factor * higher

    def _lowest(
        self,
        kernel: PartKernel,
        signs: np.ndarray,
        entries: np.ndarray,
    ) -> Two:
        """Return the share of the lowest order in each entry, and its part of `_others`."""
        return kernel.shares[tuple(entries)], 1.0

    def _lowest_squared(self, kernel: PartKernel, entries: np.ndarray) -> Two:
        """Return the variance of each entry by the lowest order, and its part of `_squared`."""
        return kernel.shares[tuple(entries)], 1.0

    def _powers(self, rho: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return nodes u and weights of the mean of the powers of u that this part needs."""
        # exact from p/2 nodes on; the integrand grows like exp(u sum(rho)), so fewer
        # suffice
        u, weight = self.index.nodes(int(min(len(rho) // 2 + 1, 12 + 2 * rho.sum())))
        if self.index.symmetric and self.parity > 0:
            return u, weight
        return np.concatenate([u, -u]), np.concatenate(
            [weight, self.parity * weight]
        ) / 2

    def _by_size(self, p: int) -> np.ndarray:
        """Return the weights of g(0..p) in an entry, for a game g of the size."""
        return np.convolve(
            self.index.size_law(p - self.order),
            [-1.0, 1.0] if self.order == 1 else [1.0, -2.0, 1.0],
        )

    def _by_single(self, p: int) -> tuple[float, float]:
        """Return the weights of a player and its complement in its own and in others' entries."""
        if p < 3:
            return 0.0, 0.0
        law = self.index.size_law(p - self.order)
        sign = (-1) ** self.order
        own_weight = float(law[0] + sign * law[-1])
        return -sign * own_weight, float(law[-2] + sign * law[1]) / (p - self.order)


class OddValues(Functional):
    """Values of players by the odd part; for a symmetric index such as Shapley's, no other part."""


class GameValues(OddValues):
    """The same with the noise of all pairs, without blocks.

    The noise of a pair is a part of the game. Evaluated pairs show theirs, and the
    noise of the others is a part of the error.
    """

    def covariances(
        self,
        kernel: PartKernel,
        points: Pairs,
        entries: np.ndarray,
    ) -> np.ndarray:
        """Return covariances of players with the observed values, ``(p, n)``."""
        noise = self.pair_weights(points.signs).T * kernel.noise_at(points)
        return super().covariances(kernel, points, entries) + noise[entries[0]]

    def variances(
        self,
        kernel: PartKernel,
        entries: np.ndarray,
        blocks: Blocks | None,
    ) -> np.ndarray:
        """Return the prior variances of players, ``(p,)``."""
        # a pair of each size with the first player, and the number of such pairs
        p = len(kernel.reach)
        pairs = Pairs(_sizes(p)[1:], np.empty((p, 0)))
        noise = (
            np.exp(log_binomial(p - 1, np.arange(p)))
            * self.pair_weights(pairs.signs)[:, 0] ** 2
            @ kernel.noise_at(pairs)
        )
        return super().variances(kernel, entries, blocks) + noise

    def pair_weights(self, signs: np.ndarray) -> np.ndarray:
        """Return the weights of the odd values of pairs in the values of players, ``(n, p)``."""
        p = signs.shape[1]
        law = self.index.size_law(p - 1)
        # by the number of other players in the coalition
        weights = (law + law[::-1]) * np.exp(-log_binomial(p - 1, np.arange(p)))
        return signs * weights[(signs > 0).sum(axis=1, keepdims=True) - (signs > 0)]


class EvenValues(Functional):
    """Values of players by the even part; 0 for a symmetric index."""

    parity = -1

    def of_pairs(self, interactions: np.ndarray) -> np.ndarray:
        """Return the values of players in a game of pair interactions, ``(p, k)``."""
        p = (1 + math.isqrt(1 + 8 * len(interactions))) // 2
        values = np.zeros((p, interactions.shape[1]))
        for players in np.triu_indices(p, 1):
            np.add.at(values, players, interactions)
        # c_ij is a quarter of the interaction, and each player has twice the mean of u
        # of it
        return values * (self.index.moments(2)[1] / 2)

    def _lowest(
        self,
        kernel: PartKernel,
        signs: np.ndarray,
        entries: np.ndarray,
    ) -> Two:
        mean = self.index.moments(2)[1]
        low = signs * kernel.rho
        low = low.sum(axis=1, keepdims=True) - low
        return mean * (signs @ kernel.shares)[:, entries[0]], mean * low[:, entries[0]]

    def _lowest_squared(self, kernel: PartKernel, entries: np.ndarray) -> Two:
        factor = self.index.moments(2)[1] ** 2
        low = kernel.rho.sum() - kernel.rho
        return factor * kernel.shares.sum(axis=1)[entries[0]], factor * low[entries[0]]


class PairValues(Functional):
    """Interactions of pairs of players, by a symmetric index."""

    order = 2
    # A value would weigh 4/n in a plain mean of interactions. With 4, intervals of
    # games with steps are 9 % wider. With 2, they are 7 % narrower, and cover .89
    # instead of .99 on gloves at 10 p.
    least_counted = 3.0

    def witnesses(self, p: int) -> np.ndarray:
        """Return the positions of some pairs, evenly spread over all, ``(m,)``."""
        total = p * (p - 1) // 2
        return np.linspace(0, total - 1, min(total, MOST_WITNESSES)).round().astype(int)


def _others(
    signs: np.ndarray,
    rho: np.ndarray,
    u: np.ndarray,
    weight: np.ndarray,
    entries: np.ndarray,
) -> np.ndarray:
    """Return the means over u of prod (1 + u rho_l s_l), l outside each entry, ``(n, e)``."""
    scaled = u[:, None] * rho
    flat = 1 - scaled**2
    product = (
        np.exp(signs @ np.arctanh(scaled).T + 0.5 * np.log(flat).sum(axis=1)) * weight
    )
    # division by the factors of the entry: 1/(1 + u rho s) = (1 - u rho s)/(1 - u^2
    # rho^2)
    inverse = (1 / flat)[:, entries].prod(axis=1)
    inside = -(rho * signs)[:, entries]
    out = product @ inverse
    factors = [inside.sum(axis=1), inside.prod(axis=1)][-len(entries) :]
    for power, factor in enumerate(factors, 1):
        out += factor * (product @ (u[:, None] ** power * inverse))
    return out


def _squared(
    rho: np.ndarray,
    u: np.ndarray,
    weight: np.ndarray,
    entries: np.ndarray,
) -> np.ndarray:
    """Return the means over u, v of prod (1 + u v rho_l) over players outside each entry."""
    factors = 1 + np.outer(u, u).ravel()[:, None] * rho
    return (
        np.outer(weight, weight).ravel()
        * np.exp(np.log(factors).sum(axis=1))
        @ (1 / factors)[:, entries].prod(axis=1)
    )


def _sizes(p: int) -> np.ndarray:
    """Return a coalition of each size 0..p, as signs, ``(p + 1, p)``."""
    return 2.0 * np.tri(p + 1, p, -1) - 1
