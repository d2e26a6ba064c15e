"""Permutations for other uses than Shapley values: a sampler on its own, without a reward."""

from numbers import Integral

import numpy as np

from skshapley._tools._params import resolve
from skshapley._tools._random import entropy_from, generator
from skshapley.samplers._permutations import PermutationSampler


def draw_permutations(
    sampler: str | PermutationSampler, n_permutations: int, n_players: int, random_state=None
) -> tuple[np.ndarray, np.ndarray]:
    """Permutations of a sampler, and their weights.

    Parameters
    ----------
    sampler : str or PermutationSampler
        A name of `samplers.SAMPLERS` whose sampler draws permutations, or an instance.
    n_permutations : int
        n. Where it does not divide into the sampler's pairs or blocks, the last one is cut short.
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
        For an unknown name, and for numbers that are not positive ints.
    TypeError
        For a sampler that does not draw permutations.

    References
    ----------
    Mitchell, Cooper, Frank & Holmes (2022), Sampling permutations for Shapley value estimation,
    JMLR 23.

    Examples
    --------
    >>> from skshapley.samplers import draw_permutations
    >>> permutations, weights = draw_permutations("herding", 4, 3, random_state=0)
    >>> permutations.shape, weights
    ((4, 3), array([0.25, 0.25, 0.25, 0.25]))
    """
    from skshapley.samplers import SAMPLERS

    for name, value in (("n_permutations", n_permutations), ("n_players", n_players)):
        if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
            raise ValueError(f"draw_permutations takes {name} as a positive int; got {value!r}.")
    registry = {n: s for n, s in SAMPLERS.items() if issubclass(s, PermutationSampler)}
    sampler = resolve(
        sampler,
        registry=registry,
        base=PermutationSampler,
        owner="draw_permutations",
        parameter="sampler",
    )
    entropy = entropy_from(random_state, "draw_permutations")
    return sampler.draw(n_permutations, n_players, generator(entropy, 1))
