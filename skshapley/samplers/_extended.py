"""Permutations with the coalitions of interactions: each prefix coalitions by each later player.

Sundararajan, Dhamdhere & Agarwal (2020), "The Shapley Taylor interaction index", ICML:
for a permutation, the interaction of two players is the discrete second derivative of
the game at the set of the players before both (section 2). One permutation
needs p (p + 1)/2 - 1 evaluations, and has one such derivative for each pair.
"""

import numpy as np

from skshapley._tools._random import uniform_permutations
from skshapley.designs import ExtendedDesign
from skshapley.samplers._base import Price, Sampler


class Extended(Sampler):
    """Uniform permutations, with each of their prefixes coalitions by each later player.

    For interactions of pairs without bias, at p (p + 1)/2 - 1 evaluations per
    permutation. Errors need two permutations. With fewer evaluations, "odd" estimates
    interactions by a Gaussian process.

    References
    ----------
    Sundararajan, Dhamdhere & Agarwal (2020), The Shapley Taylor interaction index,
    ICML.

    Examples
    --------
    >>> from skshapley import shapley_values
    >>> result = shapley_values(
    ...     lambda S: S[:, 0] * S[:, 1] + 2.0 * S[:, 2],
    ...     n_players=4,
    ...     sampler="extended",
    ...     interactions="shapley-taylor",
    ...     max_evals=13,
    ...     random_state=0,
    ... )
    >>> result.values
    array([0.5, 0.5, 2. , 0. ])
    >>> result.interactions.matrix(0)
    array([[0. , 0.5, 0. , 0. ],
           [0.5, 0. , 0. , 0. ],
           [0. , 0. , 2. , 0. ],
           [0. , 0. , 0. , 0. ]])
    """

    produces = ExtendedDesign

    def price(self, n_players: int, n_references: int) -> Price:
        """Return the price of permutations."""
        n_distinct = max(1, n_players * (n_players + 1) // 2 - 1)
        draw = n_distinct * n_references
        return Price(draw, n_players**2, references=n_references, least=1)

    def _ask(self, rows: np.ndarray, n: int) -> ExtendedDesign:
        p = self.n_players_
        drawn = [uniform_permutations(self.rngs_[row], n, p) for row in rows]
        permutations = np.stack(drawn)
        places = np.argsort(permutations, axis=2)[:, :, None, None]
        steps = np.arange(p)
        coalitions = (places < steps[:, None, None]) | (places == steps[:, None])
        return ExtendedDesign(coalitions.reshape(len(rows), -1, p), permutations)
