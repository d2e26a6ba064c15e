"""All coalitions: the exact Shapley values by enumeration."""

from math import comb

import numpy as np

from skshapley._tools import all_coalitions
from skshapley.designs import FullDesign
from skshapley.samplers._base import LEAST_REFERENCES, Price, Sampler, SamplerTraits

MOST_PLAYERS = 20


class Exact(Sampler):
    """Every coalition once: exact values with 2^p - 2 evaluations, for p up to 20.

    References
    ----------
    Shapley (1953), A value for n-person games, Contributions to the Theory of Games II.

    Examples
    --------
    >>> from skshapley import shapley_values
    >>> from skshapley.samplers import Exact
    >>> shapley_values(
    ...     lambda S: S.all(axis=1) * 6.0, n_players=3, sampler=Exact(), max_evals=8
    ... ).values
    array([2., 2., 2.])
    """

    produces = FullDesign
    traits = SamplerTraits(one_shot=True, distinct=True)

    def price(self, n_players: int, n_references: int) -> Price:
        """Return the price of exactly the enumerated coalitions."""
        n = self._n_evals(n_players)
        return Price.of_coalitions(1, n_references, least=n, most=n)

    def _n_evals(self, n_players: int) -> int:
        """Return the number of coalitions, without the empty and the full one."""
        if n_players > MOST_PLAYERS:
            raise ValueError(
                f"Exact enumerates 2^p coalitions of at most {MOST_PLAYERS} players; "
                f"got {n_players}. Put features into groups, or choose a sampler such "
                'as "antithetic" or "leverage".'
            )
        return 2**n_players - 2

    def _n_references(self, n_rows: int, n_players: int, n_references: int) -> int:
        # Few background rows are all used, so that values are exact and not only a
        # sample's.
        if n_references <= LEAST_REFERENCES:
            return n_references
        return max(1, min(n_references, n_rows // max(self._n_evals(n_players), 1)))

    def _ask(self, rows: np.ndarray, n: int) -> FullDesign:
        # one design for all rows
        coalitions = all_coalitions(self.n_players_)
        return FullDesign(
            coalitions[None],
            weights=shapley_weights(coalitions),
            exact=True,
        )


def shapley_weights(coalitions: np.ndarray) -> np.ndarray:
    """Return the exact weights ``(p, m)`` of all 2^p coalitions ``(m, p)``.

    For a coalition S of size s, the weight is (s-1)!(p-s)!/p! if player i is in S, else
    -s!(p-s-1)!/p!.
    """
    p = coalitions.shape[1]
    # (s-1)!(p-s)!/p! = 1/(s C(p, s)), and likewise with p - s for the players outside
    joins = np.array([0.0] + [1 / (s * comb(p, s)) for s in range(1, p + 1)])
    leaves = np.array([1 / ((p - s) * comb(p, s)) for s in range(p)] + [0.0])
    sizes = coalitions.sum(axis=1)
    return np.where(coalitions.T, joins[sizes], -leaves[sizes])
