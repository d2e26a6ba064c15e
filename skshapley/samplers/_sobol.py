"""Permutations from a scrambled Sobol sequence on the sphere.

Mitchell, Cooper, Frank & Holmes, "Sampling permutations for Shapley value estimation", JMLR 23
(2022), sections 4.1 and 4.3, Algorithm 4 (its condition ``i < d - 2`` read as ``i <= d - 2``). A
direction in the hyperplane of sum zero, of p - 1 dimensions, is sorted into a permutation; a
uniform direction gives a uniform one (Theorem 1).
"""

from functools import lru_cache

import numpy as np
from scipy.special import betaincinv, ndtri

from skshapley._tools._constraints import OneOf
from skshapley._tools._random import generator
from skshapley.samplers._codes import ENTROPY, PermutationCode
from skshapley.samplers._permutations import with_reverses

MAPPINGS = ("gaussian", "sphere")
# Distance of the points from 0 and 1. Points have 30 bits, and a 0 would have an infinite
# normal quantile.
EDGE = 2.0**-32


class Sobol(PermutationCode):
    """Permutations from a scrambled Sobol sequence (Mitchell et al. 2022, Algorithm 4).

    The sequence is scrambled once from a fixed seed, and each replicate relabels the players of its
    permutations at random, which makes the estimate unbiased.

    Parameters
    ----------
    mapping : {"gaussian", "sphere"}, default="gaussian"
        From the cube to directions: "sphere" inverts the distribution functions of the spherical
        coordinates of p - 2 numbers, as in the paper; "gaussian" takes normal quantiles of p - 1,
        which is cheaper and as good.
    paired : bool, default=True
        Add the reverse of each permutation. Games with interactions of at most two players are then
        exact. False: the paper's sequence.
    replicates : int, default=1
        Sequences per row to explain (and per background row). Two or more give standard errors.
    references : {"stratified", "all", "random"}, default="stratified"
        Background rows of each sequence; see `PermutationSampler`.
    weights : {"equal", "bayesian"}, default="equal"
        Weights of the permutations; "bayesian" gives the least discrepancy, for few players.

    References
    ----------
    Mitchell, Cooper, Frank & Holmes (2022), Sampling permutations for Shapley value estimation,
    JMLR 23, Algorithm 4; Sobol' (1967), USSR Computational Mathematics 7.

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

    _constraints = {**PermutationCode._constraints, "mapping": OneOf(MAPPINGS)}

    def __init__(
        self,
        mapping: str = "gaussian",
        paired: bool = True,
        replicates: int = 1,
        references: str = "stratified",
        weights: str = "equal",
    ) -> None:
        super().__init__(references, weights, paired, replicates)
        self.mapping = mapping

    def _set(self, n: int, p: int) -> np.ndarray:
        return _sorted_directions(n, p, self.mapping, self.paired)


@lru_cache(maxsize=32)
def _sorted_directions(n: int, p: int, mapping: str, paired: bool) -> np.ndarray:
    rng = generator(ENTROPY, n, p)
    if paired:
        return with_reverses(sobol_permutations(rng, n // 2, p, mapping))
    return sobol_permutations(rng, n, p, mapping)


def sobol_permutations(rng: np.random.Generator, n: int, p: int, mapping: str) -> np.ndarray:
    """Return the permutations of a sequence scrambled by `rng`, ``(n, p)``."""
    points = ndtri(_sobol(rng, n, p - 1)) if mapping == "gaussian" else _sphere(rng, n, p)
    return np.argsort(points @ hyperplane_basis(p), axis=1, kind="stable")


def hyperplane_basis(p: int) -> np.ndarray:
    """Return an orthonormal basis of the vectors of sum zero, ``(p - 1, p)`` (Eq 9)."""
    # row k is k + 1 ones and then -(k + 1), before normalisation: orthogonal to all earlier rows
    basis = np.tril(np.ones((p - 1, p)))
    rows = np.arange(p - 1)
    basis[rows, rows + 1] = -(rows + 1.0)
    return basis / np.linalg.norm(basis, axis=1, keepdims=True)


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

    The angle phi_j has density proportional to sin(phi)^(p - 2 - j) and the last one is uniform on
    the circle; cos phi = 1 - 2 t with t of a beta distribution.
    """
    if p == 2:
        return np.where(_sobol(rng, n, 1) < 0.5, 1.0, -1.0)
    u = _sobol(rng, n, max(p - 2, 0))
    points, radius = np.empty((n, max(p - 1, 0))), np.ones(n)
    for j in range(p - 3):
        a = (p - 2 - j) / 2
        t = betaincinv(a, a, u[:, j])
        points[:, j] = radius * (1 - 2 * t)
        radius = radius * 2 * np.sqrt(t * (1 - t))
    if p > 2:
        angle = 2 * np.pi * u[:, p - 3]
        points[:, p - 3], points[:, p - 2] = radius * np.cos(angle), radius * np.sin(angle)
    return points
