"""Classical Monte Carlo: every marginal contribution is drawn and paid for by itself.

Strumbelj & Kononenko (2010, 2014). Kept as the baseline of Grah & Thouvenot (2020), section 3,
whose Algorithm 1 walks along one permutation for all players at half the cost: that is
`skshapley.samplers.MonteCarlo`.
"""

import numpy as np

from skshapley.designs import MarginalDesign
from skshapley.samplers._base import Sampler


class Classical(Sampler):
    """For each player a permutation of its own: v(those before it) and v(with it), two evaluations.

    In every round each of p players joins the players before it in an independent uniform
    permutation. A round is a unit and costs at most 2 p evaluations. Attributions need not add up
    to v(all) - v(empty). A baseline to compare with; "monte-carlo" makes twice as much of the same
    evaluations.

    References
    ----------
    Strumbelj & Kononenko (2014), Explaining prediction models and individual predictions with
    feature contributions, Knowledge and Information Systems 41, Algorithm 1.

    Examples
    --------
    >>> from skshapley import shapley_values
    >>> from skshapley.samplers import Classical
    >>> result = shapley_values(
    ...     lambda S: S @ [1.0, 2.0],
    ...     n_players=2,
    ...     sampler=Classical(),
    ...     max_evals=10,
    ...     random_state=0,
    ... )
    >>> result.values
    array([1., 2.])
    """

    produces = MarginalDesign

    def n_draws(self, n_evals, n_players, n_references):
        """Return how many rounds `n_evals` evaluations buy."""
        return n_evals // (2 * n_players)

    def least_evals(self, n_players, n_references):
        """Return 2 p: one round."""
        return 2 * n_players

    def coalitions_per_draw(self, n_players):
        """Return 2 p."""
        return 2 * n_players

    def ask(self, rows, n):
        """Return `n` rounds for each of `rows`."""
        p = self.n_players_
        coalitions = np.empty((len(rows), n, p, 2, p), dtype=bool)
        for i, row in enumerate(rows):
            time = self.rngs_[row].random((n, p, p))  # of each player's arrival, player by player
            own = np.diagonal(time, axis1=1, axis2=2)[:, :, None]
            coalitions[i, :, :, 0] = time < own
            coalitions[i, :, :, 1] = time <= own
        return MarginalDesign(coalitions.reshape(len(rows), -1, p))
