"""Sets of evenly spread permutations, computed once and relabelled at random.

A set is computed from a fixed seed for its size and number of players, and cached. Each
unit is this set with randomly relabelled players, similar to a randomly shifted lattice
rule. Its quality does not change, because kernels compare ranks. Each permutation
becomes uniform, so the estimate is unbiased. Units are independent given the set.
"""

from abc import abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from skshapley._tools._params import Count, Flag
from skshapley._tools._random import generator, uniform_permutations
from skshapley.samplers._base import SamplerTraits
from skshapley.samplers._kernels import bayesian_weights
from skshapley.samplers._permutations import PermutationSampler, with_reverses

ENTROPY = 2022  # seed of the sets, beside their size and number of players


@dataclass(eq=False, repr=False, kw_only=True)
class PermutationCode(PermutationSampler):
    """Base class of the samplers that choose all permutations of the budget jointly.

    Subclasses compute the set. The budget is divided into replicates. If replicates
    have their own background rows, each background row gets replicates of equal size.

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

    @property
    def _sets_per_row(self) -> int:  # type: ignore[override]
        return self.replicates

    def _draw(self, rng: np.random.Generator, n_units: int, unit: int) -> np.ndarray:
        p = self.n_players_
        labels = uniform_permutations(rng, n_units, p)
        # Indexing composes each permutation of the set with the random labels.
        return labels[:, self._set(unit, p)].reshape(-1, p)

    def _weigh(self, permutations: np.ndarray, unit: int) -> np.ndarray:
        # relabelling does not change the weights
        r, n, p = permutations.shape
        weights = bayesian_weights(self._set(unit, p), self._kernel())
        return np.tile(weights, (r, n // unit))


@lru_cache(maxsize=64)
def _chosen(
    kind: type[PermutationCode], options: tuple[tuple[str, Any], ...], n: int, p: int
) -> np.ndarray:
    """Return the set of a sampler, as consecutive pairs if it is paired."""
    sampler, rng = kind(**dict(options)), generator(ENTROPY, n, p)
    if not sampler.paired:
        return sampler._choose(rng, n, p)
    # The first of each pair determines the second.
    return with_reverses(sampler._choose(rng, n // 2, p))
