"""Permutations from a scrambled Sobol sequence on the sphere.

Mitchell, Cooper, Frank & Holmes, "Sampling permutations for Shapley value estimation",
JMLR 23 (2022), sections 4.1 and 4.3, Algorithm 4 (its condition ``i < d - 2`` read as
``i <= d - 2``). A direction in the hyperplane of sum zero, of p - 1 dimensions, is
sorted into a permutation; a uniform direction gives a uniform one (Theorem 1).
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import helmert
from scipy.special import betaincinv, ndtri

from skshapley._tools._params import OneOf
from skshapley.samplers._codes import PermutationCode

MAPPINGS = ("gaussian", "sphere")
# Distance of the points from 0 and 1. Points have 30 bits, and a 0 would have an
# infinite normal quantile.
EDGE = 2.0**-32


@dataclass(eq=False, repr=False)
class Sobol(PermutationCode):
    """Permutations from a scrambled Sobol sequence (Mitchell et al. 2022, Algorithm 4).

    The sequence is scrambled once from a fixed seed, and each replicate relabels the
    players of its permutations at random, which makes the estimate unbiased.

    Parameters
    ----------
    mapping : {"gaussian", "sphere"}, default="gaussian"
        From the cube to directions: "sphere" inverts the distribution functions of the
        spherical coordinates of p - 2 numbers, as in the paper; "gaussian" takes normal
        quantiles of p - 1, which is cheaper and as good.
    references : {"stratified", "all", "random"}, default="stratified"
        Background rows of each sequence; see `PermutationSampler`.
    weights : {"equal", "bayesian"}, default="equal"
        Weights of the permutations; "bayesian" gives the least discrepancy, for few
        players.
    paired : bool, default=True
        Add the reverse of each permutation. Games with interactions of at most two
        players are then exact. False: the paper's sequence.
    replicates : int, default=1
        Sequences per row to explain (and per background row). Two or more give standard
        errors.

    References
    ----------
    Mitchell, Cooper, Frank & Holmes (2022), Sampling permutations for Shapley value
    estimation, JMLR 23, Algorithm 4; Sobol' (1967), USSR Computational Mathematics 7.

    Examples
    --------
    >>> from skshapley import shapley_values
    >>> from skshapley.samplers import Sobol
    >>> result = shapley_values(
    ...     lambda S: S[:, 0] * S[:, 1] * 6.0,
    ...     n_players=3,
    ...     sampler=Sobol(),
    ...     max_evals=20,
    ...     random_state=0,
    ... )
    >>> result.values
    array([3., 3., 0.])
    """

    mapping: str = "gaussian"

    _constraints = {**PermutationCode._constraints, "mapping": OneOf(MAPPINGS)}

    def _choose(self, rng: np.random.Generator, n: int, p: int) -> np.ndarray:
        return sobol_permutations(rng, n, p, self.mapping)


def sobol_permutations(
    rng: np.random.Generator, n: int, p: int, mapping: str
) -> np.ndarray:
    """Return the permutations of a sequence scrambled by `rng`, ``(n, p)``."""
    points = (
        ndtri(_sobol(rng, n, p - 1)) if mapping == "gaussian" else _sphere(rng, n, p)
    )
    # The Helmert matrix is an orthonormal basis of the vectors of sum zero (Eq 9).
    return np.argsort(points @ helmert(p), axis=1, kind="stable")


def _sobol(rng: np.random.Generator, n: int, dimension: int) -> np.ndarray:
    """Return `n` scrambled points of the open cube, ``(n, dimension)``."""
    from scipy.stats import qmc

    if dimension == 0:
        return np.empty((n, 0))
    # the sequence is balanced for powers of two; use its beginning
    exponent = max(0, int(n - 1).bit_length())
    points = qmc.Sobol(dimension, scramble=True, seed=rng).random_base2(exponent)[:n]
    return np.clip(points, EDGE, 1 - EDGE)


def _sphere(rng: np.random.Generator, n: int, p: int) -> np.ndarray:
    """Return points of the sphere in p - 1 dimensions, ``(n, p - 1)``.

    The angle phi_j has density proportional to sin(phi)^(p - 2 - j) and the last one is
    uniform on the circle; cos phi = 1 - 2 t with t of a beta distribution.
    """
    if p <= 2:
        return np.where(_sobol(rng, n, p - 1) < 0.5, 1.0, -1.0)
    u = _sobol(rng, n, p - 2)
    points, radius = np.empty((n, p - 1)), np.ones(n)
    for j in range(p - 3):
        a = (p - 2 - j) / 2
        t = betaincinv(a, a, u[:, j])
        points[:, j] = radius * (1 - 2 * t)
        radius = radius * 2 * np.sqrt(t * (1 - t))
    angle = 2 * np.pi * u[:, p - 3]
    points[:, p - 3] = radius * np.cos(angle)
    points[:, p - 2] = radius * np.sin(angle)
    return points
