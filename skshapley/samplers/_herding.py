"""Kernel herding and sequential Bayesian quadrature on permutations.

Mitchell, Cooper, Frank & Holmes, "Sampling permutations for Shapley value estimation", JMLR 23
(2022), section 3.1 (herding) and section 3.2, Algorithm 1 (SBQ). Both choose permutations one by
one among uniform candidates (25 in the paper). Herding takes the candidate least similar to the
earlier choices. SBQ takes the candidate that reduces the variance of the integral most. The paper's
sets have ``paired=False``.
"""

from functools import lru_cache

import numpy as np

from skshapley._tools._constraints import Count, Named
from skshapley._tools._random import generator
from skshapley.samplers._codes import ENTROPY, PermutationCode
from skshapley.samplers._kernels import KERNELS, PermutationKernel
from skshapley.samplers._permutations import with_reverses
from skshapley.samplers._quadrature import MostNews, greedy_permutations, least_alike


class GreedyCode(PermutationCode):
    """Base class of the samplers that choose permutations one by one with a kernel.

    Parameters
    ----------
    kernel : {"mallows", "kendall", "spearman"} or PermutationKernel, default="mallows"
    candidates : int, default=25
        Number of uniform permutations (or pairs) for each choice.
    paired, replicates, references, weights
        As for `PermutationCode`.
    """

    _most_in_unit = 2**10  # choosing n permutations takes n^2 or n^3 steps: one or two seconds
    _by_variance = False
    _constraints = {
        **PermutationCode._constraints,
        "kernel": Named(KERNELS, PermutationKernel),
        "candidates": Count(hint="the paper has 25"),
    }

    def __init__(
        self,
        kernel: str | PermutationKernel = "mallows",
        candidates: int = 25,
        paired: bool = True,
        replicates: int = 1,
        references: str = "stratified",
        weights: str = "equal",
    ) -> None:
        super().__init__(references, weights, paired, replicates)
        self.kernel = kernel
        self.candidates = candidates

    def _kernel(self) -> PermutationKernel:
        return KERNELS[self.kernel]() if isinstance(self.kernel, str) else self.kernel

    def _check_together(self) -> None:
        kernel = self._kernel()
        if self.paired:
            kernel.of_pairs()
        if self._by_variance or self.weights != "equal":
            kernel.check_weights()

    def _set(self, n: int, p: int) -> np.ndarray:
        return _greedy(self._kernel(), n, p, self.candidates, self.paired, self._by_variance)


class Herding(GreedyCode):
    """Kernel herding: each permutation is the least similar to the earlier ones.

    The whole set for the budget is chosen from a fixed seed and cached. It is relabelled at random
    for each row to explain (and each background row). This keeps its discrepancy, and makes the
    estimate unbiased.

    Parameters
    ----------
    kernel : {"mallows", "kendall", "spearman"} or PermutationKernel, default="mallows"
        Similarity of two permutations. The Mallows kernel has lam 4 by name.
    candidates : int, default=25
        Number of uniform permutations (or pairs) for each choice.
    paired : bool, default=True
        Choose pairs of a permutation and its reverse. Games with interactions of at most two
        players are then exact. False: single permutations, as in the paper. All pairs are equal for
        Kendall's and Spearman's kernels.
    replicates : int, default=1
        Sets per row to explain (and per background row). Two or more give standard errors.
    references : {"stratified", "all", "random"}, default="stratified"
        Background rows of each set; see `PermutationSampler`.
    weights : {"equal", "bayesian"}, default="equal"
        Weights of the permutations; "bayesian" gives the least discrepancy, for few players.

    References
    ----------
    Mitchell, Cooper, Frank & Holmes (2022), Sampling permutations for Shapley value estimation,
    JMLR 23, section 3.1; Chen, Welling & Smola (2010), Super-samples from kernel herding, UAI.

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


class SequentialBayesianQuadrature(GreedyCode):
    """Weighted permutations, chosen one by one to minimise the variance of the mean.

    This is herding with the variance of Bayesian quadrature as the criterion, and with its weights,
    normalised to sum one (Mitchell et al. 2022, Algorithm 1 with the weights divided by their sum).

    Parameters
    ----------
    kernel : {"mallows"} or PermutationKernel, default="mallows"
        Similarity of two permutations. Kendall's kernel has mean zero, and Spearman's has a matrix
        of rank at most p, so neither has weights.
    candidates : int, default=25
        Number of uniform permutations (or pairs) for each choice.
    paired : bool, default=True
        Choose pairs of a permutation and its reverse. False: single permutations, as in the paper.
    replicates : int, default=1
        Sets per row to explain (and per background row). Two or more give standard errors.
    references : {"stratified", "all", "random"}, default="stratified"
        Background rows of each set; see `PermutationSampler`.
    weights : {"bayesian", "equal"}, default="bayesian"
        Weights of the permutations.

    References
    ----------
    Mitchell, Cooper, Frank & Holmes (2022), Sampling permutations for Shapley value estimation,
    JMLR 23, Algorithm 1; Huszar & Duvenaud (2012), Optimally-weighted herding is Bayesian
    quadrature, UAI.

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

    _by_variance = True

    def __init__(
        self,
        kernel: str | PermutationKernel = "mallows",
        candidates: int = 25,
        paired: bool = True,
        replicates: int = 1,
        references: str = "stratified",
        weights: str = "bayesian",
    ) -> None:
        super().__init__(kernel, candidates, paired, replicates, references, weights)


@lru_cache(maxsize=64)
def _greedy(
    kernel: PermutationKernel, n: int, p: int, candidates: int, paired: bool, by_variance: bool
) -> np.ndarray:
    """Return a set of `n` permutations, as consecutive pairs if `paired`."""
    rng = generator(ENTROPY, n, p)
    if paired:
        # The first of each pair determines the second, so only n / 2 are chosen.
        kernel, n = kernel.of_pairs(), n // 2
    choose = MostNews(kernel, n, p) if by_variance else least_alike
    chosen = greedy_permutations(kernel, n, p, rng, candidates, choose)
    return with_reverses(chosen) if paired else chosen
