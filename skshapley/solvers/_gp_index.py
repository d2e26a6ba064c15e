"""Values of players by another index than Shapley's, from the pairs of the solver "gp".

The odd part gives what is left of a symmetric law of the other players, the even part the rest; as
their values are seen apart, the estimates add up, and so do the variances.
"""

import numpy as np

from skshapley._even import EvenPlayerProcess, EvenPosterior
from skshapley._odd import IndexProcess, Lesson, Pairs, Posterior
from skshapley.indices import Index, enumerated
from skshapley.solvers._gp_errors import overlooked, standard_errors
from skshapley.solvers._gp_pairs import LEAST_POINTS, EvenCase, merged
from skshapley.solvers._gp_straight import straight


class EvenPlayersCase(EvenCase):
    """What the even part of one instance's game gives to each player."""

    kind = EvenPlayerProcess

    def _means(self, posterior: EvenPosterior) -> np.ndarray:
        return posterior.shapley()

    def _straight(
        self, points: Pairs, scale: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        pairs, witnesses, residual = super()._straight(points, scale)
        p = points.n_players
        values = np.zeros((p, pairs.shape[1]))
        for players in np.triu_indices(p, 1):
            np.add.at(values, players, pairs)
        # c_ij is a quarter of the interaction, and each player has twice the mean of u of it
        return values * (self.index.moments(2)[1] / 2), witnesses, residual


class IndexCase:
    """The pairs of one instance, and its values by an index; as `_Case` to the solver.

    Parameters
    ----------
    case : _Case
        Of the Shapley values of the same pairs: its fit serves.
    players : ndarray of int
        The players that matter to it.
    lesson : Lesson or None
    index : Index
    """

    def __init__(self, case, players: np.ndarray, lesson: Lesson | None, index: Index) -> None:
        self._case, self.players, self.index = case, players, index
        self.even = None if index.symmetric else EvenPlayersCase(players, lesson, index)
        self._parts: list[tuple[Pairs, Pairs]] = []
        self._enumerated = False
        self._solution: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def theta(self) -> np.ndarray | None:
        """The fitted vector of the odd part's hyper-parameters."""
        return self._case.theta

    def add(
        self,
        odd: Pairs,
        even: Pairs,
        drawn: np.ndarray | None,
        start: np.ndarray | None,
        exact: bool,
    ) -> None:
        """Take in pairs, of which those drawn beyond what a process can hold are left out."""
        self._case.add(odd, drawn, start, exact)
        if self.even is not None:
            self.even.add(odd, even, drawn, exact)
        if drawn is not None:
            odd, even = odd.take(np.isnan(drawn)), even.take(np.isnan(drawn))
        self._parts.append((odd, even))
        self._enumerated, self._solution = exact, None

    def solve(self) -> tuple[np.ndarray, np.ndarray]:
        """Return values and standard errors, ``(p, k)`` each."""
        if self._solution is None:
            self._solution = self._solve()
        return self._solution

    def _solve(self) -> tuple[np.ndarray, np.ndarray]:
        odd, even = (merged(list(parts)) for parts in zip(*self._parts, strict=True))
        self.background_errors = np.full((odd.n_players, odd.values.shape[1]), np.nan)
        if self._enumerated:
            values = _by_enumeration(odd, even, self.index)
            return values, np.zeros_like(values)
        # where the odd part is linear all indices agree on it
        values, errors, residual = straight(odd, False)
        if residual.any():
            values[:, residual], errors[:, residual] = self._process(odd.outputs(residual))
        if self.even is not None:
            more, spread = self.even.solve(self.theta)
            values, errors = values + more, np.hypot(errors, spread)
        return values, errors

    def _process(self, odd: Pairs) -> tuple[np.ndarray, np.ndarray]:
        posterior = self._case.posterior(odd)
        posterior = Posterior(IndexProcess(posterior.process, self.index), odd.values)
        values = posterior.shapley()
        if odd.block is None and len(odd) - 1 < LEAST_POINTS * odd.n_players:
            return values, np.full_like(values, np.nan)
        return values, overlooked(posterior, standard_errors(posterior, self.theta))


def _by_enumeration(odd: Pairs, even: Pairs, index: Index) -> np.ndarray:
    """Return the values from both parts at one of each pair of complements."""
    p = odd.n_players
    number = (odd.signs > 0) @ (1 << np.arange(p))
    values = np.empty((2**p, odd.values.shape[1]))
    values[number] = even.values + odd.values
    values[2**p - 1 - number] = even.values - odd.values
    return enumerated(values, index, 1)
