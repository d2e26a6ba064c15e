"""Classical Monte Carlo: every marginal contribution is drawn separately.

Strumbelj & Kononenko (2010, 2014). It is the baseline of Grah & Thouvenot (2020),
section 3. Their Algorithm 1, `skshapley.samplers.MonteCarlo`, uses one permutation for
all players, at half the cost.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from skshapley._tools import Constraint, Maybe
from skshapley.designs import MarginalDesign
from skshapley.samplers._base import Price, Sampler


@dataclass(eq=False, repr=False)
class Classical(Sampler):
    """A separate random coalition for each player, with and without it: two evaluations.

    In every round, each of p players joins an independent random coalition of the
    others. Its size s = 0..p-1 is drawn first, then a uniform coalition of this size,
    so its probability is p_S = law(s)/C(p - 1, s). A round is a unit and costs at most
    2 p evaluations. This is a baseline: "monte-carlo" gets twice as many contributions
    from the same evaluations.

    Parameters
    ----------
    law : callable or None, default=None
        From the number of players p to the probabilities of the sizes 0..p-1, shape
        ``(p,)``, all positive. None: 1/p each, the weights in the Shapley value, as in
        a random permutation. With another law, a contribution has the weight 1/(p
        law(s)). Additive games are then not exact. The correction of the sum has a
        bias, which is below the error.

    References
    ----------
    Strumbelj & Kononenko (2014), Explaining prediction models and individual
    predictions with feature contributions, Knowledge and Information Systems 41,
    Algorithm 1.

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

    law: Callable[[int], np.ndarray] | None = None

    produces = MarginalDesign
    _constraints = {
        "law": Maybe(
            Constraint(callable, "a function from p to the probabilities of 0 to p - 1")
        )
    }

    def price(self, n_players: int, n_references: int) -> Price:
        """Return the price of rounds, or raise ValueError for an invalid law."""
        self._size_law(n_players)
        return Price.of_coalitions(2 * n_players, n_references, least=1)

    def _ask(self, rows: np.ndarray, n: int) -> MarginalDesign:
        p = self.n_players_
        law = self._size_law(p)
        size = np.empty((len(rows), n, p), dtype=np.intp)
        coalitions = np.empty((len(rows), n, p, 2, p), dtype=bool)
        itself = np.eye(p, dtype=bool)
        for i, row in enumerate(rows):
            # for each player and each other player
            draw = self.rngs_[row].random((n, p, p))
            # The number of the player itself is free, so it chooses the size.
            size[i] = np.searchsorted(law.cumsum()[:-1], draw[:, itself], side="right")
            # The player itself ranks last, so it is never among the first `size` of the
            # others.
            draw[:, itself] = np.inf
            ranks = draw.argsort(axis=2).argsort(axis=2)
            coalitions[i, :, :, 0] = ranks < size[i, :, :, None]
            coalitions[i, :, :, 1] = coalitions[i, :, :, 0] | itself
        weights = None if self.law is None else 1 / (p * law[size])
        return MarginalDesign(coalitions.reshape(len(rows), -1, p), weights=weights)

    def _size_law(self, p: int) -> np.ndarray:
        if self.law is None:
            return np.full(p, 1 / p)
        law = np.asarray(self.law(p), dtype=np.float64)
        if law.shape != (p,) or not (law > 0).all() or abs(law.sum() - 1) > 1e-9:
            raise ValueError(
                f"Classical got size probabilities {law} for {p} players: it takes a "
                "function that returns the positive probabilities, of sum 1, of the "
                f"sizes 0 to {p - 1}."
            )
        return law
