"""The games of rewards that move background rows, with and without their quadratic part."""

from typing import cast

import numpy as np
from numpy.typing import NDArray

from skshapley.rewards._game import Known, Remainder
from skshapley.rewards._quadratic import KnownPart
from skshapley.rewards._reward import InterventionalGame
from skshapley.rewards._transport import TransportModel, TransportPool


class TransportGame(InterventionalGame):
    """The mean response over moved rows, for given rows to explain."""

    shared: TransportModel
    _pool: TransportPool
    parted_by_instance = True  # one factor serves a permutation

    def remainder(self) -> Remainder | None:
        """Return the game of the response minus its quadratic part, or None."""
        part = self.shared.part
        if part is None:
            return None
        full = part.left(self.instances.full, part.function(self._pool.given))
        empty = part.left(self._empty, part.function(self._pool.scores))
        v_empty = part.left(self._mean_empty, part.mean)
        remaining = self.instances._replace(full=full)
        game = RemainderGame(self.shared, empty, v_empty, remaining, self.row_order)
        return Remainder(game, game.known)


class RemainderGame(TransportGame):
    """The remainder of a game after its quadratic part is subtracted."""

    def remainder(self) -> None:
        """Return None: nothing more is known."""

    def _responses(self, coalitions, rows, references, where) -> NDArray[np.float64]:
        pool = self._pool
        known_part = cast(KnownPart, self.shared.part)
        moves = pool.moves(coalitions, rows, references)
        hybrid = pool.hybrid(coalitions, rows, references, moves)
        raw = self.shared.response(hybrid, where=where)
        # In place: the moves are the largest array of a batch, and are not used again.
        moves += pool.scores[references]
        part = known_part.function(moves.reshape(-1, moves.shape[2]))
        return known_part.left(raw, part).reshape(*references.shape, -1)

    def known(self, rows) -> Known:
        """Return the Shapley values of the quadratic part."""
        part = cast(KnownPart, self.shared.part)
        shape = (len(rows), self.n_players, self.instances.full.shape[1])
        winners = self.instances.winners[rows][:, None]

        parts = []
        for numbers in part.values(self._pool.given[rows]):
            values = np.zeros(shape)
            values[..., part.columns] = numbers
            parts.append(self.shared.response.choose(values, winners))
        return Known(*parts)
