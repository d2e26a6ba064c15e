"""Pairs of coalitions of a design that is made once for p players, named by rank."""

from functools import lru_cache
from math import ceil

import numpy as np

from skshapley._process._ranked import (
    DESIGN_RATE,
    RankedKernel,
    RankedOddDesign,
    ranked_players,
)
from skshapley._tools import Stream, generator
from skshapley.samplers._base import Price, Sampler, SamplerTask, SamplerTraits
from skshapley.samplers._coalitions import with_complements
from skshapley.samplers._odd_designs import (
    completed_pairs,
    n_all_pairs,
    next_pairs,
)

MOST_PAIRS = 2000
MOST_PLAYERS = 500
# Up to this number, pairs are chosen one by one: .2 s for 60 players. Pairs by leverage
# score alone have 2 to 4 times the squared error at 4 to 10 evaluations a player.
MOST_CHOSEN = 300
LEAST_STEP = 64  # pairs chosen with the same candidates
# Share of the second half of the chosen pairs with sizes by leverage score. A process
# prefers middle sizes, and their pairs do not show its errors at other sizes. Without
# this share, intervals hold .1 to .7 of the values of saturated, voting and periodic
# games of 13 players, and .7 to .95 of those of eight models. Over perceptrons of 8 to
# 14 columns, the squared error is 1.1 times as large at 4 to 10 evaluations a player,
# and .8 times at 20
BY_SIZE = 0.15


class RankedOdd(Sampler):
    """Complementary pairs of a design that is made once for p players, for the solver "gp".

    The first pairs are the single players. Their effects rank the players. The other
    pairs are chosen for players whose strength falls with their rank, as those that
    reduce the variance of the Shapley values most. Pairs and matrices depend on the
    numbers of players and pairs alone, so all rows and games share them. A row takes
    about a millisecond beside its evaluations, and its error is near the error with
    "odd" on models. On games with a strong structure, "odd" errs less from six
    evaluations per player on.

    Every coalition is evaluated against the whole background. A design has at most 2000
    pairs and 500 players.

    References
    ----------
    Musco & Witter (2025), Provably accurate Shapley value estimation via leverage score
    sampling, ICLR. Hedayat & Wallis (1978), Hadamard matrices and their applications,
    Annals of Statistics 6.

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import shapley_values
    >>> from skshapley.samplers import RankedOdd
    >>> result = shapley_values(
    ...     lambda S: S @ np.arange(12.0),
    ...     n_players=12,
    ...     sampler=RankedOdd(),
    ...     max_evals=50,
    ...     random_state=0,
    ... )
    >>> bool(np.abs(result.values - np.arange(12)).max() < 1e-9)
    True
    """

    produces = RankedOddDesign
    # the design is planned for all draws
    traits = SamplerTraits(goes_on=False)

    def price(self, n_players: int, n_references: int) -> Price:
        """Return the price of coalitions: at least the single players and their complements."""
        if n_players > MOST_PLAYERS:
            raise ValueError(
                f"RankedOdd takes at most {MOST_PLAYERS} players; got {n_players}: "
                'choose sampler="antithetic".'
            )
        most = 2 * min(MOST_PAIRS, n_all_pairs(n_players))
        least = min(2 * n_players, most)
        return Price.of_coalitions(1, n_references, least, most, step=2)

    def draws_now(self, asked: int) -> int:
        """Return the number of remaining draws before or after the players are ranked."""
        singles = min(2 * self.n_players_, self.n_draws_)
        return (singles if asked < singles else self.n_draws_) - asked

    def _start(self, task: SamplerTask) -> None:
        p = self.n_players_
        self._pairs = ranked_pairs(p, self.n_draws_ // 2)
        self._n_asked = np.zeros(len(self.rngs_), dtype=np.intp)  # pairs of each row
        self._ranked = np.stack([rng.permutation(p) for rng in self.rngs_])

    def _ask(self, rows: np.ndarray, n: int) -> RankedOddDesign:
        # n/2 pairs, and the full coalition with the first
        p = self.n_players_
        ranked = self._ranked[rows]
        start = int(self._n_asked[rows[0]])
        pairs = self._pairs[start : start + n // 2]
        self._n_asked[rows] += len(pairs)
        coalitions = pairs[:, np.argsort(ranked, axis=1)].transpose(1, 0, 2)
        if start == 0:
            # the single players are in their order, because they have no ranks yet
            coalitions[:, :p] = pairs[:p]
            coalitions = np.pad(
                coalitions, ((0, 0), (1, 0), (0, 0)), constant_values=True
            )
        return RankedOddDesign(
            with_complements(coalitions),
            exact=start + len(pairs) == n_all_pairs(p),
            ranked=ranked,
        )

    def _tell(
        self, rows: np.ndarray, design: RankedOddDesign, values: np.ndarray
    ) -> None:
        if self._n_asked[rows[0]] == self.n_players_:
            odd = (values[:, ::2] - values[:, 1::2]) / 2
            self._ranked[rows] = ranked_players(odd, self._ranked[rows])


@lru_cache(maxsize=64)
def ranked_pairs(p: int, n: int) -> np.ndarray:
    """Return n pairs for players by rank, ``(n, p)`` bool: single players first."""
    rng = generator(p, Stream.DESIGN)
    kernel = RankedKernel.of_rate(p, DESIGN_RATE)
    pairs = np.eye(p, dtype=bool)[: min(p, n)]
    most = min(n, MOST_CHOSEN)
    # Sizes in the first half would give squared errors that are 1.4 times as large.
    for end, share in (((p + most) // 2, 0.0), (most, BY_SIZE)):
        while len(pairs) < end:
            step = min(end - len(pairs), max(LEAST_STEP, len(pairs)))
            by_size = ceil(share * step)
            further = next_pairs(rng, kernel, pairs, step, n_by_size=by_size)
            pairs = np.concatenate([pairs, further])
    return completed_pairs(rng, pairs, n)
