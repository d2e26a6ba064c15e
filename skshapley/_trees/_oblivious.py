r"""The game of an oblivious tree, in which all nodes of a level have the same test.

The answers to the tests are the bits of a row's pattern. With the bits in S from a row
to explain of pattern x, and the others from the background, the mean response is

.. math:: v(S, x) = \sum_z h(z)\, f(x_S, z_{-S}),

where h(z) is the weight of the background rows of pattern z, and f the values of the
leaves. All these numbers come from the products h(z) f(y) in one step for each bit,
which replaces z by the membership in S, and y by x. S is a coalition if it has all bits
of each player or none of them.
"""

import numpy as np
from numpy.typing import NDArray

from skshapley._trees._leaf_games import meeting_weights


def oblivious_values(law, values, some, players, index) -> NDArray[np.float64]:
    """Return the values of the players of n trees with b tests, ``(k, n, 2 ** b)``.

    Parameters
    ----------
    law, values : ndarray of shape (n, 2 ** b)
        The weight of the background on each pattern, and the value of its leaf.
    some : ndarray of shape (n, 2 ** b), unsigned
        The players of which some bits are in each set of bits.
    players : ndarray of shape (n, k), int
        Players in the order of their bits in `some`, then -1. The values have the
        ascending order.
    index : Index
    """
    size = values.shape[1]
    # The trees come last, so that runs in memory are long.
    worths = np.multiply(law.T[:, None], values.T, order="C")
    half = size // 2
    while half:
        pairs = worths.reshape(size // (2 * half), 2, half, size // (2 * half), 2, -1)
        outside = pairs[:, 0, :, :, 0] + pairs[:, 1, :, :, 1]
        pairs[:, 1] += pairs[:, 0]
        pairs[:, 0] = outside[:, :, :, None]
        half //= 2
    left_out = some[:, ::-1]  # the complement of a set has the opposite number
    counts = np.bitwise_count(left_out), np.bitwise_count(some)
    gains, losses = (
        np.where(some & left_out, 0.0, worth[counts])[:, None]
        for worth in meeting_weights(size.bit_length() - 1, index)[:2]
    )
    bits = np.argsort(players.astype(np.uint64), axis=1)[:, :, None]
    present, absent = (sets[:, None] >> bits & 1 for sets in (some, left_out))
    weights = present * gains - absent * losses
    return (weights @ worths.transpose(2, 0, 1)).swapaxes(0, 1)
