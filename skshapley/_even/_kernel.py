"""The covariance of the even part at two points of the cube, relative to the full coalition.

prod_j (1 + rho_j s_j t_j) = sum_T prod_{j in T} rho_j s_j t_j; with rho = tanh(a) its even part is
C cosh(sum_j a_j s_j t_j), C = prod_j sqrt(1 - rho_j^2). From it go the constant and the part of
order two, [(sum_j rho_j s_j t_j)^2 - sum_j rho_j^2]/2, which has a variance of its own.
"""

import numpy as np

from skshapley._even._hyper import EvenHyper
from skshapley._odd import Pairs
from skshapley._odd._kernel import assembled, folded


def order_two(a: np.ndarray, b: np.ndarray, hyper: EvenHyper) -> np.ndarray:
    """Return the covariance of the part of order two at variance 1, ``(n_a, n_b)``."""
    full = np.ones((1, a.shape[1]))
    return _relative(_order_two, a, b, full, hyper)


def higher(a: np.ndarray, b: np.ndarray, hyper: EvenHyper) -> np.ndarray:
    """Return the covariance of interactions of four and more at variance 1, ``(n_a, n_b)``."""
    if np.isinf(hyper.higher_scale):
        return np.zeros((len(a), len(b)))
    full = np.ones((1, a.shape[1]))
    return _relative(_higher, a, b, full, hyper)


def all_pairs(a: np.ndarray, b: np.ndarray, hyper: EvenHyper) -> np.ndarray:
    """Return the covariance of the part of order two, ``(n_a, n_b)``."""
    if hyper.each is None:
        return hyper.pairs * order_two(a, b, hyper)
    return (products(a) * hyper.each) @ products(b).T


def products(signs: np.ndarray) -> np.ndarray:
    """Return s_i s_j - 1 for all pairs of players, ``(n, p (p - 1)/2)``."""
    first, second = np.triu_indices(signs.shape[1], 1)
    return signs[:, first] * signs[:, second] - 1


def size_covariance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return that of a Brownian motion in |2 s - p|/p, from the full coalition down."""
    p = a.shape[1]
    x, y = (np.abs(signs.sum(axis=1)) / p for signs in (a, b))
    return 1 - np.maximum(x[:, None], y)


def single_covariance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return 1 where two coalitions are the same player by itself, or all but it."""
    x, y = lone_player(a), lone_player(b)
    return ((x[:, None] == y) & (y >= 0)).astype(float)


def lone_player(signs: np.ndarray) -> np.ndarray:
    """Return who is by itself, present or absent, -1 where nobody is, ``(n,)`` int.

    Of two players both are.
    """
    p, total = signs.shape[1], signs.sum(axis=1)
    lone = (signs * np.sign(total)[:, None]).argmin(axis=1)
    return np.where((np.abs(total) == p - 2) & (p > 2), lone, -1)


def cross(a: np.ndarray, b: np.ndarray, hyper: EvenHyper) -> np.ndarray:
    """Return the covariance between the noiseless games at two lists of signs, without blocks."""
    out = higher(a, b, hyper)
    out += all_pairs(a, b, hyper)
    out += hyper.size * size_covariance(a, b)
    out += hyper.single * single_covariance(a, b)
    return out


def variance(signs: np.ndarray, hyper: EvenHyper) -> np.ndarray:
    """Return the diagonal of `cross` at one list of signs, ``(n,)``."""
    full = np.ones((1, signs.shape[1]))
    if hyper.each is None:
        out = hyper.pairs * 2 * (1 - _order_two(signs, full, hyper)[:, 0])
    else:
        out = products(signs) ** 2 @ hyper.each
    if np.isfinite(hyper.higher_scale):
        out += 2 * (1 - _higher(signs, full, hyper)[:, 0])
    out += hyper.single * (lone_player(signs) >= 0)
    return out + hyper.size * (1 - np.abs(signs.mean(axis=1)))


def gram(pairs: Pairs, hyper: EvenHyper) -> np.ndarray:
    """Return the covariance matrix of the values seen, noise and jitter included, ``(n, n)``.

    Only its lower triangle is filled in.
    """

    def own(a: np.ndarray) -> np.ndarray:
        two = hyper.pairs * hyper.pairs_spread * order_two(a, a, hyper)
        return two + hyper.higher_spread * higher(a, a, hyper)

    return assembled(pairs, hyper, lambda a, b: cross(a, b, hyper), own)


def _relative(kernel, a: np.ndarray, b: np.ndarray, full: np.ndarray, hyper) -> np.ndarray:
    """Return the covariance of the differences to the full coalition."""
    out = kernel(a, b, hyper)
    out -= kernel(a, full, hyper)
    out -= kernel(full, b, hyper)
    out += kernel(full, full, hyper)
    return out


def _order_two(a: np.ndarray, b: np.ndarray, hyper: EvenHyper) -> np.ndarray:
    share = hyper.share
    out = (a * share) @ b.T
    np.square(out, out=out)
    out -= share @ share
    out /= 2 * hyper.pairs_scale
    return out


def _higher(a: np.ndarray, b: np.ndarray, hyper: EvenHyper) -> np.ndarray:
    rho, scale = hyper.rho, hyper.higher_scale
    level = hyper.log_norm - np.log(2 * scale)
    out = folded(a, b, hyper, level, 1)
    two = (a * rho) @ b.T
    np.square(two, out=two)
    two /= 2 * scale
    out -= two
    out -= (1 - (rho @ rho) / 2) / scale
    return out
