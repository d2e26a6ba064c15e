"""Exact values of the logistic function of a sum over the players.

The game is v(S) = s(start + sum of the steps of S) with s(t) = 1 / (1 + exp(-t)), and

    s(t) = 1/2 + int_0^inf sin(w t) / sinh(pi w) dw

(Gradshteyn & Ryzhik 3.981.1). The midpoint rule turns the integral into a sum over
frequencies w. Its step limits the size of t, and it converges exponentially (Trefethen
& Weideman 2014): with 60 frequencies, the error is 1e-13. A wave exp(i w t) of a sum is
the product of the players' waves, so each frequency is a game of products
(`_products`).

These need p / 2 nodes of quadrature for p players. With many players, far fewer are
sufficient, and this can be checked: values that do not add up to v(all) - v(empty) are
computed again with more nodes. Up to nine players, enumerating all coalitions is
cheaper.
"""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import comb, expit

from skshapley._tools import working_bytes
from skshapley.closed_forms._products import (
    ARRAYS,
    BLOCK_SHARE,
    CACHE_BYTES,
    LEAST_LENGTH,
    SHAPLEY,
    pair_shares,
    single_shares,
)
from skshapley.indices import Index

# The waves err by exp(-TAIL)
TAIL = 30.0
# Numbers of nodes to try, and the allowed deviation of the sum; single values deviate
# by at most a tenth of it
NODES = (12, 20, 32, 52, 84, 136)
NODES_ATOL = 1e-12
COMPLEX_BYTES = 16
# Larger steps need as many frequencies. For sums beyond SATURATED, s(t) is 0 or 1
LARGE_STEP, SATURATED, MOST_LARGE, MOST_REACH = 100.0, 40.0, 8, 10**5
# Waves of all games of a block, below which NumPy's calls cost more than its
# arithmetic. With 60 players, this takes half the time of blocks that fit into the
# cache; with 30, the same
LEAST_WAVES = 512
MOST_ENUMERATED = 9  # players: 15 us per game, as with waves


def n_waves(reach: int) -> int:
    """Return the number of frequencies for sums up to an absolute value."""
    return int(np.ceil(TAIL * (reach + TAIL) / (2 * np.pi**2)))


@lru_cache(64)
def waves(reach: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return frequencies and their shares: s(t) = 1/2 + sum of shares * sin(frequencies * t).

    Parameters
    ----------
    reach : int
        Largest absolute t.
    """
    step = 2 * np.pi / (reach + TAIL)
    frequencies: Any = step * (np.arange(n_waves(reach)) + 0.5)
    return frequencies, step / np.sinh(np.pi * frequencies)


def reach_of(start: NDArray[np.float64], steps: NDArray[np.float64]) -> int:
    """Return the largest absolute sum of games ``(b,)`` with steps ``(b, p)``, rounded up."""
    # the smallest and the largest sum of any coalition, because the series is valid up
    # to its reach
    low = start + np.minimum(steps, 0).sum(axis=1)
    high = start + np.maximum(steps, 0).sum(axis=1)
    return int(np.ceil(max(-low.min(), high.max(), 1.0)))


def _waves_for(start, steps) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    reach = reach_of(start, steps)
    if reach > MOST_REACH:
        raise ValueError(
            f"The log-odds of a row are sums of up to {reach:.3g}, too large for an "
            'exact probability: choose response_method="log_odds", or leave the row '
            "out."
        )
    return waves(reach)


def shrunk(
    start: NDArray[np.float64],
    steps: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Scale down the largest steps ``(b, p)`` so that the rest can offset them.

    A coalition is worth 0 or 1 if its large steps add up to more than the other steps
    can offset. The large steps are scaled down together until their smallest sum just
    reaches this limit: first all large steps of a game, then all except the smallest
    one, and so on.
    """
    n_large = (np.abs(steps) > LARGE_STEP).sum(axis=1)
    games = np.flatnonzero((n_large > 0) & (n_large <= MOST_LARGE))
    steps = steps.copy() if len(games) else steps
    for game in games:
        order = np.argsort(np.abs(steps[game]))
        # scale the n largest steps together, then fewer, because the rest grows with
        # the smaller ones
        for n in range(n_large[game], 0, -1):
            large = order[-n:]
            small_steps = np.abs(steps[game, order[:-n]])
            most = SATURATED + abs(start[game]) + small_steps.sum()
            # the sums of all 2^n sets of large steps
            sums = sums_of_coalitions(np.zeros(1), steps[game, large][None])
            least = np.abs(sums[0, 1:]).min()
            if least > most:
                steps[game, large] *= most / least
    return steps


def logistic_values(
    start: NDArray[np.float64],
    steps: NDArray[np.float64],
    index: Index = SHAPLEY,
) -> NDArray[np.float64]:
    """Return the values of the players of b games, ``(b, p)``.

    Parameters
    ----------
    start : ndarray of shape (b,)
    steps : ndarray of shape (b, p)
        Terms of each player in the sum. Players with equal terms cost nothing.
    index : Index, default=Shapley's
    """
    steps = shrunk(start, steps)
    widths = (steps != 0).sum(axis=1)  # numbers of active players: others cost nothing
    width = int(widths.max(initial=0))
    values = np.zeros(steps.shape)
    if not width:
        return values
    # the active players of each game first; games with fewer have steps of 0
    order = np.argsort(steps == 0, axis=1, kind="stable")[:, :width]
    packed = np.take_along_axis(steps, order, axis=1)
    if width <= MOST_ENUMERATED:
        games = expit(sums_of_coalitions(start, packed))
        shares = games @ coalition_weights(width, index)
        np.put_along_axis(values, order, np.where(packed == 0, 0.0, shares), axis=1)
        return values
    frequencies, shares = _waves_for(start, packed)
    nodes = list(NODES if index == SHAPLEY else ())
    # games of about as many players together, so that few factors are 1
    by_width = np.argsort(widths, kind="stable")
    for block in _blocks(len(packed), width, len(frequencies), LEAST_WAVES):
        games = by_width[block]
        active = slice(0, max(1, widths[games[-1]]))
        values[games[:, None], order[games, active]] = _values(
            start[games],
            packed[games, active],
            frequencies,
            shares,
            index,
            nodes,
        )
    return values


def sums_of_coalitions(start: NDArray[np.float64], steps: NDArray[np.float64]) -> Any:
    """Return the start plus the steps of each coalition's players, ``(b, 2 ** p, ...)``.

    Parameters
    ----------
    start : ndarray of shape (b, ...)
    steps : ndarray of shape (b, p, ...)
        Player i has bit i of a coalition's number.
    """
    sums = start[:, None]
    for player in range(steps.shape[1]):
        sums = np.concatenate([sums, sums + steps[:, player, None]], axis=1)
    return sums


@lru_cache(16)
def coalition_weights(p: int, index: Index) -> NDArray[np.float64]:
    """Return the weight of each coalition's value for each player, ``(2 ** p, p)``."""
    present = (np.arange(2**p)[:, None] >> np.arange(p)) & 1 > 0
    n_others = present.sum(axis=1, keepdims=True) - present
    size_share = index.size_law(max(p - 1, 0)) / comb(p - 1, np.arange(max(p, 1)))
    share = size_share[n_others]
    return np.where(present, share, -share)


def logistic_pairs(
    start: NDArray[np.float64],
    steps: NDArray[np.float64],
    index: Index = SHAPLEY,
) -> NDArray[np.float64]:
    """Return the interactions of all pairs of players of b games, ``(b, p, p)``."""
    steps = shrunk(start, steps)
    frequencies, shares = _waves_for(start, steps)
    b, p = steps.shape
    pairs = np.zeros((b, p, p))
    for block in _blocks(b, p, len(frequencies), LEAST_LENGTH):
        factors, reduced = _terms(start[block], steps[block], frequencies, shares)
        pairs[block] = np.moveaxis(
            pair_shares(factors, np.ones((p, 1, 1)), index.law(p - 2), reduced),
            2,
            0,
        )
    return pairs


def _blocks(b: int, width: int, n_waves: int, least: int = 1) -> list[slice]:
    """Return blocks of games, limited by the memory for waves."""
    bytes_each = COMPLEX_BYTES * ARRAYS * width
    # small blocks stay in the cache, unless their arrays would be shorter than `least`
    room = min(working_bytes(BLOCK_SHARE), max(CACHE_BYTES, least * bytes_each))
    depth = max(1, int(room // (bytes_each * n_waves)))
    return [slice(first, first + depth) for first in range(0, b, depth)]


def _terms(start, steps, frequencies, shares) -> tuple[NDArray[np.complex128], Any]:
    """Return the waves of the players ``(p, 1, T b)``, and a function from products to values.

    Parameters
    ----------
    start, steps : arrays of shape (b,), (b, p)
    frequencies, shares : arrays of shape (T,)
    """
    factors = _powers(steps.T, frequencies).reshape(steps.shape[1], 1, -1)
    first = shares[:, None] * _powers(start, frequencies)
    return factors, lambda product: (product.reshape(first.shape) * first).imag.sum(
        axis=0
    )


def _powers(
    t: NDArray[np.float64],
    frequencies: NDArray[np.float64],
) -> NDArray[np.complex128]:
    """Return exp(1j * frequency * t), ``(..., T, b)`` of t ``(..., b)``.

    The frequencies are the odd multiples of the first, so that products give most of
    the waves.
    """
    powers = np.empty((*t.shape[:-1], len(frequencies), t.shape[-1]), dtype=complex)
    powers[..., 0, :] = np.exp(1j * frequencies[0] * t)
    done = 1
    shift = powers[..., :1, :] ** 2  # factor of a shift by `done` frequencies
    while done < len(frequencies):
        later = powers[..., done : 2 * done, :]
        np.multiply(powers[..., : later.shape[-2], :], shift, out=later)
        done *= 2
        shift = shift**2
    return powers


def _values(start, steps, frequencies, shares, index, nodes) -> NDArray[np.float64]:
    """Return the values ``(b, p)`` of a block of games, with a sufficient number of nodes.

    Insufficient numbers of `nodes` are removed from the list for the following blocks.
    """
    factors, reduced = _terms(start, steps, frequencies, shares)
    p = len(factors)
    absent = np.ones((p, 1, 1))
    # The known sum of the values shows whether fewer quadrature nodes are sufficient.
    gain = expit(start + steps.sum(axis=1)) - expit(start)
    while nodes and 2 * nodes[0] < p:
        values = single_shares(factors, absent, index.law(2 * nodes[0] - 1), reduced).T
        if np.abs(values.sum(axis=1) - gain).max() < NODES_ATOL:
            return values
        del nodes[0]
    return single_shares(factors, absent, index.law(p - 1), reduced).T
