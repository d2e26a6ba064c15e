"""What games share that ask another game for responses, and make something else of them."""

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skshapley.rewards._game import Game


class WrappedGame(Game):
    """Base class of games on the instances, players and model of another game.

    For samplers it has a single reference: whatever is averaged over the background is averaged
    inside.

    Parameters
    ----------
    game : Game
    """

    def __init__(self, game: Game) -> None:
        self._game = game
        self.n_players, self.n_rows, self.n_outputs = game.n_players, game.n_rows, game.n_outputs
        self.rows_per_value, self.bytes_per_row = game.rows_per_value, game.bytes_per_row
        self.parted_by_instance = game.parted_by_instance

    @property
    def shared(self) -> Any:
        """Return what the other game shares."""
        return self._game.shared

    @shared.setter
    def shared(self, content) -> None:
        self._game = copy(self._game)
        self._game.shared = content

    def keys(self, rows) -> NDArray[np.uint64]:
        """Return what stands for the instances in the other game."""
        return self._game.keys(rows)

    def active(self, rows) -> NDArray[np.bool_]:
        """Return the players that can matter in the other game."""
        return self._game.active(rows)
