"""Permutations of a sampler, without a game."""

import numpy as np

from skshapley._tools import Count, check_values, entropy_from, generator, resolve
from skshapley.samplers._base import SamplerTask
from skshapley.samplers._kernels import bayesian_weights
from skshapley.samplers._permutation_sets import (
    Herding,
    SequentialBayesianQuadrature,
    Sobol,
)
from skshapley.samplers._permutations import (
    Antithetic,
    MonteCarlo,
    Orthogonal,
    PermutationSampler,
)

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
