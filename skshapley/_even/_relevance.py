"""Which pairs of players interact: variances of their own, learned from the values."""

from dataclasses import replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from skshapley._even._hyper import EvenHyper
from skshapley._even._kernel import gram, products
from skshapley._odd import Pairs

STEPS = 5
# Products in a step, points squared times pairs of players, beyond which it takes too long; by then
# the points tell the pairs apart without it
MOST_PRODUCTS = 10**8


def relevant(points: Pairs, hyper: EvenHyper) -> EvenHyper:
    """Return the hyper-parameters with a variance of its own for each pair.

    The reaches say how much a player takes part, so that two who take part are thought to interact.
    Most such pairs do not. Five steps of expectation maximisation, from the shares of the reaches:
    each variance becomes the mean of what it was first and of the squared coefficient that is
    expected (Tipping 2001, with a prior as strong as one more coefficient).

    Parameters
    ----------
    points : Pairs
        Relative to the full coalition. With blocks nothing changes.
    hyper : EvenHyper
    """
    if points.block is not None or hyper.each is not None:
        return hyper
    features = products(points.signs)
    n, m = features.shape
    if n * n * m > MOST_PRODUCTS:
        return hyper
    first, second = np.triu_indices(points.n_players, 1)
    shared = hyper.pair_variances[first, second]
    total = gram(points, hyper)
    rest = total + np.tril(total, -1).T - (features * shared) @ features.T
    each = shared
    for _ in range(STEPS):
        factor = cho_factor(rest + (features * each) @ features.T, lower=True, check_finite=False)
        solved = cho_solve(factor, points.values, check_finite=False)
        scale = np.maximum(np.einsum("nk,nk->k", points.values, solved) / n, np.finfo(float).tiny)
        mean = each[:, None] * (features.T @ solved)
        told = cho_solve(factor, features, check_finite=False)
        variance = each - each**2 * np.einsum("nm,nm->m", features, told)
        expected = (mean**2 / scale).mean(axis=1) + np.maximum(variance, 0.0)
        each = (shared + expected) / 2
    return replace(hyper, each=each)
