"""Shapley values as a linear functional of the process, in closed form.

1/|T| = int_0^1 u^(|T| - 1) du turns the sum over all interactions that contain i into one integral
of a product: sum_{T odd, i in T} rho_T t_T/|T| = (rho_i t_i/2) int_{-1}^1 prod_{j != i}(1 + u rho_j
t_j) du, a polynomial of degree p - 1 in u, which Gauss-Legendre nodes integrate exactly or to
rounding.
"""

from functools import cache

import numpy as np

from skshapley._odd._blocks import Blocks
from skshapley._odd._hyper import Hyper
from skshapley._odd._pairs import Pairs, size_covariance


@cache
def _legendre(n: int) -> tuple[np.ndarray, np.ndarray]:
    return np.polynomial.legendre.leggauss(n)


def n_nodes(rho: np.ndarray) -> int:
    """Return how many nodes integrate the products over players exactly, or to rounding."""
    # exact from p/2 nodes on; the integrand grows like exp(u sum(rho)), and so few do long before
    return int(min(len(rho) // 2 + 1, 12 + 2 * rho.sum()))


def _nodes(hyper: Hyper) -> tuple[np.ndarray, np.ndarray]:
    return _legendre(n_nodes(hyper.rho))


def higher_functional(signs: np.ndarray, hyper: Hyper) -> np.ndarray:
    """Return the covariances of phi and the higher part at `signs`: ``(p, n)``."""
    u, weight = _nodes(hyper)
    turned = np.arctanh(u[:, None] * hyper.rho)
    norm = 0.5 * np.log1p(-((u[:, None] * hyper.rho) ** 2)).sum(axis=1)
    product = np.exp(signs @ turned.T + norm) * weight
    # division by the factor of i, (1 + u rho_i t_i)^-1 = (1 - u rho_i t_i)/(1 - u^2 rho_i^2)
    inverse = 1 / (1 - (u[:, None] * hyper.rho) ** 2)
    even = product @ inverse
    odd = product @ (inverse * u[:, None] * hyper.rho)
    return (hyper.rho * (signs * (even - 2) - odd) / hyper.higher_scale).T


def functional(pairs: Pairs, hyper: Hyper) -> np.ndarray:
    """Return the covariances of phi, for the whole background, and the values seen: ``(p, n)``."""
    signs = pairs.signs
    linear = 2 * hyper.linear * hyper.share[:, None] * signs.T
    higher = higher_functional(signs, hyper)
    if pairs.blocks is not None:
        share = pairs.blocks.share[pairs.block]
        linear *= 1 + hyper.linear_spread * share
        higher *= 1 + hyper.higher_spread * share
    full = np.ones((1, pairs.n_players))
    return linear + higher + (2 * hyper.size / pairs.n_players) * size_covariance(full, signs)


def functional_variance(hyper: Hyper, blocks: Blocks | None = None) -> np.ndarray:
    """Return the prior variances of phi, for the whole background, ``(p,)``."""
    u, weight = _nodes(hyper)
    uv, both = np.outer(u, u).ravel(), np.outer(weight, weight).ravel()
    factors = np.log1p(uv[:, None] * hyper.rho)
    others = np.exp(factors.sum(axis=1)[:, None] - factors)
    higher = hyper.rho * (both @ others - 4) / hyper.higher_scale
    linear = 4 * hyper.linear * hyper.share
    own = 0.0 if blocks is None else blocks.whole
    return (
        linear * (1 + hyper.linear_spread * own)
        + higher * (1 + hyper.higher_spread * own)
        + 4 * hyper.size / len(hyper.reach) ** 2
    )
