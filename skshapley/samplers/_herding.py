"""Kernel herding and sequential Bayesian quadrature on permutations.

Mitchell, Cooper, Frank & Holmes, "Sampling permutations for Shapley value estimation",
JMLR 23 (2022), section 3.1 (herding) and section 3.2, Algorithm 1 (SBQ). Both choose
permutations one by one among uniform candidates (25 in the paper). Herding takes the
candidate least similar to the earlier choices. SBQ takes the candidate that reduces the
variance of the integral most. The paper's sets have ``paired=False``.
"""

from dataclasses import dataclass

import numpy as np

from skshapley._tools._params import Count, resolve
from skshapley.samplers._codes import PermutationCode
from skshapley.samplers._kernels import (
    KERNELS,
    MostNews,
    PermutationKernel,
    greedy_permutations,
    least_alike,
)


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
            self.kernel, KERNELS, PermutationKernel, type(self).__name__, "kernel"
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
