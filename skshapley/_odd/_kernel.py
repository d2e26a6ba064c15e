"""The covariance of the odd part at two points of the cube.

prod_j (1 + rho_j s_j t_j) = sum_T prod_{j in T} rho_j s_j t_j; with rho = tanh(a) its odd part is
C sinh(sum_j a_j s_j t_j), C = prod_j sqrt(1 - rho_j^2): one matrix product and a sinh for all
2^(p-1) interactions of odd order.
"""

import numpy as np

from skshapley._odd._hyper import Hyper
from skshapley._odd._pairs import Pairs, size_covariance

JITTER = 1e-8


def linear_kernel(a: np.ndarray, b: np.ndarray, hyper: Hyper) -> np.ndarray:
    """Return sum_j share_j s_j t_j between signs ``(n_a, p)`` and ``(n_b, p)``."""
    return (a * hyper.share) @ b.T


def higher_kernel(a: np.ndarray, b: np.ndarray, hyper: Hyper) -> np.ndarray:
    """Return the covariance of the odd interactions of three or more, 1 on the diagonal."""
    grown = np.exp((a * hyper.reach) @ b.T + hyper.log_norm)
    out = grown - np.exp(2 * hyper.log_norm) / grown
    out /= 2
    out -= (a * hyper.rho) @ b.T
    out /= hyper.higher_scale
    return out


def cross(a: np.ndarray, b: np.ndarray, hyper: Hyper) -> np.ndarray:
    """Return the covariance between the noiseless games at two lists of signs, without blocks."""
    return (
        hyper.linear * linear_kernel(a, b, hyper)
        + higher_kernel(a, b, hyper)
        + hyper.size * size_covariance(a, b)
    )


def gram(pairs: Pairs, hyper: Hyper) -> np.ndarray:
    """Return the covariance matrix of the values seen, noise and jitter included, ``(n, n)``."""
    linear = linear_kernel(pairs.signs, pairs.signs, hyper)
    higher = higher_kernel(pairs.signs, pairs.signs, hyper)
    if pairs.same_block is not None:
        linear *= 1 + hyper.linear_spread * pairs.same_block
        higher *= 1 + hyper.higher_spread * pairs.same_block
    out = hyper.linear * linear + higher + hyper.size * pairs.size_table
    out[np.diag_indices_from(out)] += noise(pairs.roughness, hyper)
    return out


def noise(roughness: np.ndarray, hyper: Hyper) -> np.ndarray:
    """Return the noise variance of points of that roughness, jitter included."""
    return hyper.noise * roughness + JITTER * (1 + hyper.linear)
