"""Players that agree with a background row: they need no look there, and cost no model row."""

from typing import Any

import numpy as np

LEAST_TIED = 0.02  # of players and background rows: with fewer ties to look for them costs more
MOST_COMPARED = 256  # background rows that each instance is compared with before any is dealt
MOST_EXPONENT = 1000  # of two: more hybrid rows than can be counted


class Ties:
    """Knows in which players instances differ from background rows.

    Parameters
    ----------
    game : Game
    rows : ndarray of shape (r,), int
        The instances.
    players : ndarray of shape (r, count), int
        The players that matter to each.

    Attributes
    ----------
    steps : ndarray of shape (r,), int
        Model rows that a walk costs at most: those between its ends. At least 1.
    n_hybrids : ndarray of shape (r,)
        Hybrid rows between the ends of all walks there are, or infinity if not counted.
    """

    def __init__(self, game: Any, rows: np.ndarray, players: np.ndarray) -> None:
        self._game, self._rows, self._players = game, rows, players
        (r, count), b = players.shape, game.n_references
        self.steps, self.n_hybrids = np.full(r, max(count - 1, 1)), np.full(r, np.inf)
        self._few, self._table = b <= MOST_COMPARED, None
        if self._few:
            every = np.broadcast_to(np.arange(b), (r, b))
            self._table = self._compared(np.arange(r), every)
        if self._table is not None:
            sizes = self._table.sum(axis=2)
            self.steps = np.maximum(sizes.max(axis=1) - 1, 1)
            powers = np.ldexp(1.0, np.minimum(sizes, MOST_EXPONENT))
            self.n_hybrids = np.maximum(powers - 2, 0).sum(axis=1)

    def differing(self, members: np.ndarray, references: np.ndarray) -> np.ndarray | None:
        """Return the players in which instances differ from background rows, or None for all.

        Parameters
        ----------
        members : ndarray of shape (m,), int
            Positions among the instances.
        references : ndarray of shape (m, n), int

        Returns
        -------
        differing : ndarray of shape (m, n, count), bool
        """
        if self._table is not None:
            return self._table[members[:, None], references]
        return None if self._few else self._compared(members, references)

    def _compared(self, members: np.ndarray, references: np.ndarray) -> np.ndarray | None:
        """Compare instances ``(m,)`` with background rows ``(m, n)``."""
        n = references.shape[1]
        found = self._game.apart(np.repeat(self._rows[members], n), references.ravel())
        if found is None:
            return None
        found = found.reshape(*references.shape, -1)
        if self._players.shape[1] < found.shape[2]:
            found = np.take_along_axis(found, self._players[members][:, None], axis=2)
        # an instance with next to no ties is spared, whoever stands beside it
        spared = found.mean(axis=(1, 2)) > 1 - LEAST_TIED
        return None if spared.all() else found | spared[:, None, None]
