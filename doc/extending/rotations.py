"""A sampler: permutations with all their rotations."""

import numpy as np

from skshapley.samplers import PermutationSampler


class Rotations(PermutationSampler):
    """Uniform permutations, each with all its rotations.

    Within a unit every player enters once at each place: first, second, ..., last.

    Parameters
    ----------
    references : {"stratified", "all", "random"}, default="stratified"
        Background rows of each unit.
    weights : {"equal", "bayesian"}, default="equal"
        Weights of the permutations.

    Examples
    --------
    >>> from skshapley import shapley_values
    >>> def first_comes(S):  # the more there are, the less each adds
    ...     return S.sum(axis=1) ** 0.5
    >>> shapley_values(
    ...     first_comes, n_players=4, sampler=Rotations(), max_evals=14
    ... ).values
    array([0.5, 0.5, 0.5, 0.5])
    """

    def _least_unit(self, n_players):
        return n_players

    def _draw(self, rng, n_units, unit):
        p = self.n_players_
        first = rng.permuted(np.tile(np.arange(p), (n_units * unit // p, 1)), axis=1)
        rotations = (np.arange(p)[:, None] + np.arange(p)) % p
        return first[:, rotations].reshape(-1, p)
