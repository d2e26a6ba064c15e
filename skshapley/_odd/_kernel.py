"""The covariance of the odd part at two points of the cube.

prod_j (1 + rho_j s_j t_j) = sum_T prod_{j in T} rho_j s_j t_j; with rho = tanh(a) its odd part is
C sinh(sum_j a_j s_j t_j), C = prod_j sqrt(1 - rho_j^2): one matrix product and a sinh for all
2^(p-1) interactions of odd order.
"""

from collections.abc import Callable

import numpy as np

from skshapley._odd._hyper import Hyper, Reaches
from skshapley._odd._pairs import Pairs, size_covariance

JITTER = 1e-8
PANEL = 128  # rows of a matrix made at once, which stay in the cache


def kernel(
    a: np.ndarray, b: np.ndarray, hyper: Hyper, linear: float, higher: float = 1.0
) -> np.ndarray:
    """Return the covariance of interactions between signs ``(n_a, p)`` and ``(n_b, p)``.

    Parameters
    ----------
    a, b : ndarray of signs
    hyper : Hyper
    linear, higher : float
        Variances of the linear part and of the odd interactions of three or more.
    """
    scale = higher / hyper.higher_scale
    level = hyper.log_norm + np.log(scale / 2)
    out = folded(a, b, hyper, level, -1)
    out += (a * (linear * hyper.share - scale * hyper.rho)) @ b.T
    return out


def folded(a: np.ndarray, b: np.ndarray, hyper: Reaches, level: float, sign: int) -> np.ndarray:
    """Return e^(level + g) + sign e^(level - g), g the sum over j of a_j s_j t_j, ``(n_a, n_b)``.

    Parameters
    ----------
    a, b : ndarray of signs
    hyper : Reaches
    level : float
    sign : {-1, 1}
        -1 leaves the odd part, 1 the even one.
    """
    # one product, and all else in place: these matrices are large, and new ones dear
    out = (a * hyper.reach) @ b.T
    out += level
    np.exp(out, out=out)
    if sign < 0:
        out -= np.exp(2 * level) / out
    else:
        out += np.exp(2 * level) / out
    return out


def cross(a: np.ndarray, b: np.ndarray, hyper: Hyper) -> np.ndarray:
    """Return the covariance between the noiseless games at two lists of signs, without blocks."""
    out = kernel(a, b, hyper, hyper.linear)
    out += hyper.size * size_covariance(a, b)
    return out


def gram(pairs: Pairs, hyper: Hyper) -> np.ndarray:
    """Return the covariance matrix of the values seen, noise and jitter included, ``(n, n)``.

    Only its lower triangle is filled in.
    """
    own = hyper.linear * hyper.linear_spread, hyper.higher_spread
    return assembled(
        pairs, hyper, lambda a, b: cross(a, b, hyper), lambda a: kernel(a, a, hyper, *own)
    )


def assembled(
    pairs: Pairs,
    hyper: Reaches,
    between: Callable[[np.ndarray, np.ndarray], np.ndarray],
    within: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Return the lower triangle of a covariance matrix from its parts, ``(n, n)``.

    Parameters
    ----------
    pairs : Pairs
    hyper : Reaches
        Of the noise.
    between : callable
        Returns the covariance between two lists of signs.
    within : callable
        Returns what the points of one block, a list of signs, have more.
    """
    signs, n = pairs.signs, len(pairs)
    out = np.zeros((n, n))
    for start in range(0, n, PANEL):
        stop = min(start + PANEL, n)
        out[start:stop, :stop] = between(signs[start:stop], signs[:stop])
    if pairs.block is not None:
        for block in range(pairs.block.max() + 1):
            at = np.flatnonzero(pairs.block == block)
            out[np.ix_(at, at)] += within(signs[at])
    out[np.diag_indices_from(out)] += noise(pairs.roughness, hyper)
    return out


def noise(roughness: np.ndarray, hyper: Reaches) -> np.ndarray:
    """Return the noise variance of points of that roughness, jitter included."""
    return hyper.noise * roughness + JITTER * (1 + hyper.lowest)
