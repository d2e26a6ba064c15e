"""Interactions of pairs as linear functionals of the process, in closed form.

An index is a law of u = 2 t - 1, and the sum over all interactions that contain i and j one mean of
a product: sum_{T even, i, j in T} rho_T t_T E[u^(|T| - 2)] = rho_i rho_j t_i t_j
E[prod_{l != i, j} (1 + u rho_l t_l)], a polynomial of degree p - 2 in u.
"""

import numpy as np

from skshapley._even._hyper import EvenHyper
from skshapley._even._kernel import lone_player
from skshapley._odd import Blocks, Pairs
from skshapley._odd._functional import n_nodes
from skshapley.indices import Index


def interactions(pairs: Pairs, hyper: EvenHyper, weights: np.ndarray, index: Index) -> np.ndarray:
    """Return the interactions of all pairs of players, without a matrix of all their covariances.

    Parameters
    ----------
    pairs : Pairs
        Relative to the full coalition.
    hyper : EvenHyper
    weights : ndarray of shape (n, k)
        K^-1 times the values.
    index : Index
        Symmetric.

    Returns
    -------
    interactions : ndarray of shape (p (p - 1)/2, k)
        Pairs in the order of ``np.triu_indices(p, 1)``.
    """
    p = pairs.n_players
    first, second = np.triu_indices(p, 1)
    on_two, on_higher = (w[:, None] * weights for w in _block_weights(pairs, hyper))
    signs = np.vstack([pairs.signs, np.ones((1, p))])
    parts = _products(signs, hyper, index)
    out = np.empty((len(first), weights.shape[1]))
    for k in range(weights.shape[1]):
        two, more = (np.append(w[:, k], -w[:, k].sum()) for w in (on_two, on_higher))
        total = 4 * hyper.pair_variances
        total *= (signs * two[:, None]).T @ signs
        if parts is not None:
            total += _higher_sum(signs, more, parts, hyper)
        out[:, k] = total[first, second]
    own, other = _single_law(p, index)
    lone = lone_player(pairs.signs)
    by_player = np.zeros((p, weights.shape[1]))
    np.add.at(by_player, lone[lone >= 0], hyper.single * weights[lone >= 0])
    out += other * by_player.sum(axis=0) + (own - other) * (by_player[first] + by_player[second])
    return out + _size_functional(pairs.signs, hyper, index) @ weights


def functional(pairs: Pairs, hyper: EvenHyper, which: np.ndarray, index: Index) -> np.ndarray:
    """Return the covariances of interactions, for the whole background, and the values seen.

    Parameters
    ----------
    pairs : Pairs
        Relative to the full coalition.
    hyper : EvenHyper
    which : ndarray of shape (2, m), int
        The two players of each of m pairs.
    index : Index
        Symmetric.

    Returns
    -------
    covariances : ndarray of shape (m, n)
    """
    on_two, on_higher = _block_weights(pairs, hyper)
    signs = np.vstack([pairs.signs, np.ones((1, pairs.n_players))])
    i, j = which
    both = signs[:, i] * signs[:, j]
    two = 4 * hyper.pair_variances[i, j] * both
    out = on_two[:, None] * (two[:-1] - two[-1])
    parts = _products(signs, hyper, index)
    if parts is not None:
        rho, (u, product, inverse) = hyper.rho, parts
        pair = inverse[:, i] * inverse[:, j]
        # 1/(1 + u rho t) = (1 - u rho t)/(1 - u^2 rho^2), for both players
        level = both * (product @ pair - 1)
        level += rho[i] * rho[j] * (product @ (u[:, None] ** 2 * pair))
        tilt = product @ (u[:, None] * pair)
        level -= tilt * (rho[i] * signs[:, j] + rho[j] * signs[:, i])
        level *= 4 * rho[i] * rho[j] / hyper.higher_scale
        out += on_higher[:, None] * (level[:-1] - level[-1])
    own, other = _single_law(pairs.n_players, index)
    lone = lone_player(pairs.signs)[:, None]
    counts = np.where((lone == i) | (lone == j), own, other)
    out += hyper.single * np.where(lone >= 0, counts, 0.0)
    return (out + _size_functional(pairs.signs, hyper, index)[:, None]).T


def functional_variance(
    hyper: EvenHyper, which: np.ndarray, index: Index, blocks: Blocks | None = None
) -> np.ndarray:
    """Return the prior variances of interactions, for the whole background, ``(m,)``.

    Parameters
    ----------
    hyper : EvenHyper
    which : ndarray of shape (2, m), int
    index : Index
        Symmetric.
    blocks : Blocks or None
    """
    p, (i, j) = len(hyper.reach), which
    own = 0.0 if blocks is None else blocks.whole
    two = 16 * hyper.pair_variances[i, j]
    law, depth = _second_difference(p, index), _depth(p)
    size = hyper.size * law @ np.minimum(depth[:, None], depth) @ law
    of_own, of_other = _single_law(p, index)
    single = hyper.single * (2 * of_own**2 + (p - 2) * of_other**2)
    out = two * (1 + hyper.pairs_spread * own) + size + single
    if np.isfinite(hyper.higher_scale):
        rho = hyper.rho
        u, weight = index.nodes(n_nodes(rho))
        uv, both = np.outer(u, u).ravel(), np.outer(weight, weight).ravel()
        factors = 1 + uv[:, None] * rho
        product = both * np.exp(np.log(factors).sum(axis=1))
        others = product @ (1 / (factors[:, i] * factors[:, j])) - 1
        higher = 16 * rho[i] * rho[j] * others / hyper.higher_scale
        out += higher * (1 + hyper.higher_spread * own)
    return out


def _block_weights(pairs: Pairs, hyper: EvenHyper) -> tuple[np.ndarray, np.ndarray]:
    """Return what the covariance with the whole background's parts has more, ``(n,)`` each."""
    share = np.zeros(len(pairs))
    if pairs.blocks is not None:
        share = pairs.blocks.share[pairs.block]
    return 1 + hyper.pairs_spread * share, 1 + hyper.higher_spread * share


def _products(
    signs: np.ndarray, hyper: EvenHyper, index: Index
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return nodes u, weighted prod_j (1 + u rho_j s_j) ``(n, nodes)``, and 1/(1 - u^2 rho_j^2).

    None where there are no interactions of more than two.
    """
    if np.isinf(hyper.higher_scale):
        return None
    u, weight = index.nodes(n_nodes(hyper.rho))
    scaled = u[:, None] * hyper.rho
    flat = 1 - scaled**2
    product = np.exp(signs @ np.arctanh(scaled).T + 0.5 * np.log(flat).sum(axis=1)) * weight
    return u, product, 1 / flat


def _higher_sum(signs, weights, parts, hyper: EvenHyper) -> np.ndarray:
    """Return the sums over points of the higher functional, weighted, ``(p, p)``."""
    rho = hyper.rho
    out = -(signs * weights[:, None]).T @ signs
    for u, product, inverse in zip(parts[0], parts[1].T, parts[2], strict=True):
        # a factor t/(1 + u rho t) = (t - u rho)/(1 - u^2 rho^2) for both players
        turned = (signs - u * rho) * inverse
        out += (turned * (weights * product)[:, None]).T @ turned
    return out * np.outer(rho, rho) * (4 / hyper.higher_scale)


def _size_functional(signs: np.ndarray, hyper: EvenHyper, index: Index) -> np.ndarray:
    """Return the covariances of any interaction and the part of the size, ``(n,)``."""
    p = signs.shape[1]
    depth = 1 - np.abs(signs.mean(axis=1))
    return hyper.size * _second_difference(p, index) @ np.minimum(_depth(p)[:, None], depth)


def _second_difference(p: int, index: Index) -> np.ndarray:
    """Return what g(0..p) count in the interaction of any pair, for a function of the size."""
    law = index.size_law(p - 2)
    out = np.zeros(p + 1)
    out[2:] += law
    out[1:-1] -= 2 * law
    out[:-2] += law
    return out


def _single_law(p: int, index: Index) -> tuple[float, float]:
    """Return what a player and its complement count in its own interactions, and in others'."""
    if p < 3:
        return 0.0, 0.0
    law = index.size_law(p - 2)
    return -float(law[0] + law[-1]), float(law[1] + law[-2]) / (p - 2)


def _depth(p: int) -> np.ndarray:
    """Return 1 - |2 s - p|/p of the sizes 0..p."""
    return 1 - np.abs(2 * np.arange(p + 1) / p - 1)
