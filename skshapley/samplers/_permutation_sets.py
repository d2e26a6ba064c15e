"""Sets of permutations that are chosen together: Sobol sequences, herding, quadrature.

A set is computed from a fixed seed for its size and number of players, and cached. Each
unit is this set with randomly relabelled players, similar to a randomly shifted lattice
rule. Its quality does not change, because kernels compare ranks. Each permutation
becomes uniform, so the estimate is unbiased. Units are independent given the set.

**Sobol sequences on the sphere.** Mitchell, Cooper, Frank & Holmes, "Sampling
permutations for Shapley value estimation", JMLR 23 (2022), sections 4.1 and 4.3,
Algorithm 4 (its condition ``i < d - 2`` read as ``i <= d - 2``). A direction in the
hyperplane of sum zero, of p - 1 dimensions, is sorted into a permutation; a uniform
direction gives a uniform one (Theorem 1).

**Herding and quadrature.** Mitchell, Cooper, Frank & Holmes, "Sampling permutations for
Shapley value estimation", JMLR 23 (2022), section 3.1 (herding) and section 3.2,
Algorithm 1 (SBQ). Both choose permutations one by one among uniform candidates (25 in
the paper). Herding takes the candidate least similar to the earlier choices. SBQ takes
the candidate that reduces the variance of the integral most. The paper's sets have
``paired=False``.
"""

from abc import abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.linalg import helmert
from scipy.special import betaincinv, ndtri

from skshapley._tools import (
    Count,
    Flag,
    OneOf,
    check_values,
    entropy_from,
    generator,
    resolve,
    uniform_permutations,
)
from skshapley.samplers._base import SamplerTask, SamplerTraits
from skshapley.samplers._kernels import (
    KERNELS,
    MostNews,
    PermutationKernel,
    bayesian_weights,
    greedy_permutations,
    least_alike,
)
from skshapley.samplers._permutations import (
    Antithetic,
    MonteCarlo,
    Orthogonal,
    PermutationSampler,
    with_reverses,
)

ENTROPY = 2022  # seed of the sets, beside their size and number of players


@dataclass(eq=False, repr=False, kw_only=True)
class PermutationCode(PermutationSampler):
    """Base class of the samplers that choose all permutations of the budget jointly.

    Subclasses compute the set. The budget is divided into replicates. If replicates
    have their own background rows, each background row gets replicates of equal size,
    whatever its weight; the estimate weights the rows.

    Parameters
    ----------
    references : {"stratified", "all", "random"}, default="stratified"
        Background rows of each replicate; see `PermutationSampler`.
    weights : {"equal", "bayesian"}, default="equal"
        Weights of the permutations; "bayesian" gives the least discrepancy.
    paired : bool, default=True
        Choose pairs of a permutation and its reverse. False: single permutations.
    replicates : int, default=1
        Sets per row to explain (and per background row). Two or more give standard
        errors, but each set is smaller, which costs accuracy.
    """

    paired: bool = True
    replicates: int = 1

    traits = SamplerTraits(one_shot=True)
    _most_in_unit = 2**14  # permutations per set; a larger budget buys more sets
    _constraints = {
        **PermutationSampler._constraints,
        "paired": Flag(),
        "replicates": Count(hint="with 2 or more there are standard errors"),
    }

    @abstractmethod
    def _choose(self, rng: np.random.Generator, n: int, p: int) -> np.ndarray:
        """Return `n` permutations ``(n, p)``; if paired, their reverses belong to the set."""

    def _set(self, n: int, p: int) -> np.ndarray:
        """Return the set of `n` permutations ``(n, p)``; equal in every call."""
        return _chosen(type(self), tuple(self.get_params(deep=False).items()), n, p)

    def _least_unit(self, n_players: int) -> int:
        return 2 if self.paired else 1

    def _draw(self, rng: np.random.Generator, n_units: int, unit: int) -> np.ndarray:
        p = self.n_players_
        labels = uniform_permutations(rng, n_units, p)
        # Indexing composes each permutation of the set with the random labels.
        return labels[:, self._set(unit, p)].reshape(-1, p)

    def _weigh(self, permutations: np.ndarray, unit: int) -> np.ndarray:
        # relabelling does not change the weights
        r, n, p = permutations.shape
        return np.tile(
            bayesian_weights(self._set(unit, p), self._kernel()),
            (r, n // unit),
        )


@lru_cache(maxsize=64)
def _chosen(
    kind: type[PermutationCode],
    options: tuple[tuple[str, Any], ...],
    n: int,
    p: int,
) -> np.ndarray:
    """Return the set of a sampler, as consecutive pairs if it is paired."""
    sampler = kind(**dict(options))
    rng = generator(ENTROPY, n, p)
    if not sampler.paired:
        return sampler._choose(rng, n, p)
    # The first of each pair determines the second.
    return with_reverses(sampler._choose(rng, n // 2, p))


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

    _constraints = {
        **PermutationCode._constraints,
        "mapping": OneOf(("gaussian", "sphere")),
    }

    def _choose(self, rng: np.random.Generator, n: int, p: int) -> np.ndarray:
        return sobol_permutations(rng, n, p, self.mapping)


def sobol_permutations(
    rng: np.random.Generator,
    n: int,
    p: int,
    mapping: str,
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
    points = qmc.Sobol(dimension, scramble=True, seed=rng).random_base2(
        max(0, int(n - 1).bit_length())
    )[:n]
    return np.clip(points, EDGE, 1 - EDGE)


def _sphere(rng: np.random.Generator, n: int, p: int) -> np.ndarray:
    """Return points of the sphere in p - 1 dimensions, ``(n, p - 1)``.

    The angle phi_j has density proportional to sin(phi)^(p - 2 - j) and the last one is
    uniform on the circle; cos phi = 1 - 2 t with t of a beta distribution.
    """
    if p <= 2:
        return np.where(_sobol(rng, n, p - 1) < 0.5, 1.0, -1.0)
    u = _sobol(rng, n, p - 2)
    points = np.empty((n, p - 1))
    radius = np.ones(n)
    for j in range(p - 3):
        a = (p - 2 - j) / 2
        t = betaincinv(a, a, u[:, j])
        points[:, j] = radius * (1 - 2 * t)
        radius = radius * 2 * np.sqrt(t * (1 - t))
    angle = 2 * np.pi * u[:, p - 3]
    points[:, p - 3] = radius * np.cos(angle)
    points[:, p - 2] = radius * np.sin(angle)
    return points


@dataclass(eq=False, repr=False)
class Herding(PermutationCode):
    """Kernel herding: each permutation is the least similar to the earlier ones.

    The whole set for the budget is chosen from a fixed seed and cached. It is
    relabelled at random for each row to explain (and each background row). This keeps
    its discrepancy, and makes the estimate unbiased.

    Parameters
    ----------
    kernel : {"mallows", "kendall", "spearman"} or PermutationKernel, default="mallows"
        Similarity of two permutations. The Mallows kernel has lam 4 by name.
    candidates : int, default=25
        Number of uniform permutations (or pairs) for each choice.
    references : {"stratified", "all", "random"}, default="stratified"
        Background rows of each set; see `PermutationSampler`.
    weights : {"equal", "bayesian"}, default="equal"
        Weights of the permutations; "bayesian" gives the least discrepancy, for few
        players.
    paired : bool, default=True
        Choose pairs of a permutation and its reverse. Games with interactions of at
        most two players are then exact. False: single permutations, as in the paper.
        All pairs are equal for Kendall's and Spearman's kernels.
    replicates : int, default=1
        Sets per row to explain (and per background row). Two or more give standard
        errors.

    References
    ----------
    Mitchell, Cooper, Frank & Holmes (2022), Sampling permutations for Shapley value
    estimation, JMLR 23, section 3.1; Chen, Welling & Smola (2010), Super-samples from
    kernel herding, UAI.

    Examples
    --------
    >>> from skshapley import shapley_values
    >>> from skshapley.samplers import Herding
    >>> result = shapley_values(
    ...     lambda S: S[:, 0] * S[:, 1] * 6.0,
    ...     n_players=3,
    ...     sampler=Herding(replicates=2),
    ...     max_evals=20,
    ...     random_state=0,
    ... )
    >>> result.values
    array([3., 3., 0.])
    """

    kernel: str | PermutationKernel = "mallows"
    candidates: int = 25

    # choosing n permutations takes n^2 or n^3 steps: one or two seconds
    _most_in_unit = 2**10
    _by_variance = False
    _constraints = {
        **PermutationCode._constraints,
        "candidates": Count(hint="the paper has 25"),
    }

    def _kernel(self) -> PermutationKernel:
        return resolve(
            self.kernel,
            KERNELS,
            PermutationKernel,
            type(self).__name__,
            "kernel",
        )

    def _check_together(self) -> None:
        kernel = self._kernel()
        if self.paired:
            kernel.of_pairs()
        if self._by_variance or self.weights != "equal":
            kernel.check_weights()

    def _choose(self, rng: np.random.Generator, n: int, p: int) -> np.ndarray:
        kernel = self._kernel().of_pairs() if self.paired else self._kernel()
        choose = MostNews(kernel, n, p) if self._by_variance else least_alike
        return greedy_permutations(kernel, n, p, rng, self.candidates, choose)


@dataclass(eq=False, repr=False, kw_only=True)
class SequentialBayesianQuadrature(Herding):
    """Weighted permutations, chosen one by one to minimise the variance of the mean.

    This is herding with the variance of Bayesian quadrature as the criterion, and with
    its weights, normalised to sum one (Mitchell et al. 2022, Algorithm 1 with the
    weights divided by their sum).

    Parameters
    ----------
    kernel : {"mallows"} or PermutationKernel, default="mallows"
        Similarity of two permutations. Kendall's kernel has mean zero, and Spearman's
        has a matrix of rank at most p, so neither has weights.
    candidates : int, default=25
        Number of uniform permutations (or pairs) for each choice.
    references : {"stratified", "all", "random"}, default="stratified"
        Background rows of each set; see `PermutationSampler`.
    weights : {"bayesian", "equal"}, default="bayesian"
        Weights of the permutations.
    paired : bool, default=True
        Choose pairs of a permutation and its reverse. False: single permutations, as in
        the paper.
    replicates : int, default=1
        Sets per row to explain (and per background row). Two or more give standard
        errors.

    References
    ----------
    Mitchell, Cooper, Frank & Holmes (2022), Sampling permutations for Shapley value
    estimation, JMLR 23, Algorithm 1; Huszar & Duvenaud (2012), Optimally-weighted
    herding is Bayesian quadrature, UAI.

    Examples
    --------
    >>> from skshapley import shapley_values
    >>> from skshapley.samplers import SequentialBayesianQuadrature
    >>> result = shapley_values(
    ...     lambda S: S.all(axis=1) * 6.0,
    ...     n_players=3,
    ...     sampler=SequentialBayesianQuadrature(),
    ...     max_evals=50,
    ...     random_state=0,
    ... )
    >>> result.values
    array([2., 2., 2.])
    """

    weights: str = "bayesian"

    _by_variance = True


PERMUTATION_SAMPLERS: dict[str, type[PermutationSampler]] = {
    "monte-carlo": MonteCarlo,
    "antithetic": Antithetic,
    "orthogonal": Orthogonal,
    "sobol": Sobol,
    "herding": Herding,
    "sbq": SequentialBayesianQuadrature,
}


def draw_permutations(
    sampler: str | PermutationSampler,
    n_permutations: int,
    n_players: int,
    random_state=None,
) -> tuple[np.ndarray, np.ndarray]:
    """Permutations of a sampler, and their weights.

    Parameters
    ----------
    sampler : str or PermutationSampler
        A sampler of permutations: a name of `samplers.SAMPLERS` or an instance.
    n_permutations : int
        n. If it is not a multiple of the sampler's pairs or blocks, the last one is
        shorter.
    n_players : int
        p.
    random_state : None, int, Generator or RandomState, default=None

    Returns
    -------
    permutations : ndarray of shape (n, p), int
        ``permutations[:, k]`` is the player that enters at step k.
    weights : ndarray of shape (n,)
        With sum one.

    Raises
    ------
    ValueError
        For an unknown name, or numbers that are not positive ints.
    TypeError
        For a sampler of coalitions.

    References
    ----------
    Mitchell, Cooper, Frank & Holmes (2022), Sampling permutations for Shapley value
    estimation, JMLR 23.

    Examples
    --------
    >>> from skshapley.samplers import draw_permutations
    >>> permutations, weights = draw_permutations("herding", 4, 3, random_state=0)
    >>> permutations.shape, weights
    ((4, 3), array([0.25, 0.25, 0.25, 0.25]))
    """
    counts = {"n_permutations": n_permutations, "n_players": n_players}
    owner = "draw_permutations"
    check_values(owner, counts, dict.fromkeys(counts, Count()))
    drawn = resolve(sampler, PERMUTATION_SAMPLERS, PermutationSampler, owner, "sampler")
    drawn.check()
    n = n_permutations
    drawn.start(
        SamplerTask(n_players, [generator(entropy_from(random_state, owner), 1)], n)
    )
    # full units, the last of which is cut short
    unit = (
        drawn._unit(n, 1) if drawn.traits.one_shot else drawn._whole_unit(n_players, 1)
    )
    permutations = drawn._draw(drawn.rngs_[0], -(-n // unit), unit)[:n]
    if drawn.weights == "equal":
        return permutations, np.full(n, 1 / n)
    units = [permutations[i : i + unit] for i in range(0, n, unit)]
    weights = [
        len(block) / n * bayesian_weights(block, drawn._kernel()) for block in units
    ]
    return permutations, np.concatenate(weights)
