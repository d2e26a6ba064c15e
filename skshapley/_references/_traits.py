"""Traits of every background row: the columns of each player, and the predictions.

The attribution of a player against one reference depends on the reference mostly through the
player's own columns and the prediction, which are known of all rows. So it is regressed on them
over the rows that were looked at, and the table's means are put in (`_survey`).
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from skshapley._references._columns import MOST_CATEGORIES, Column, numbers_of, standardised

BINS = 8  # quantile bins of a numeric column
MOST_OWN_COLUMNS = 4  # of one player that are binned
MOST_COMMON = 128  # numbers of a row that all players share
MOST_PREDICTIONS = 8
NO_BIN = BINS  # codes from here on belong to no indicator


@dataclass(frozen=True, eq=False)
class Traits:
    """Numbers that are known of each row, centred on their means over the table.

    Attributes
    ----------
    common : ndarray of shape (b, l)
        The standardised predictions and columns.
    codes : ndarray of shape (b, w), uint8
        The bin, or category, of some columns.
    shares : ndarray of shape (w, BINS)
        The part of the table in each bin.
    of_player : tuple of p ndarrays of int
        Which of these columns are a player's own.
    """

    common: np.ndarray
    codes: np.ndarray
    shares: np.ndarray
    of_player: tuple[np.ndarray, ...]

    @classmethod
    def of(
        cls,
        columns: list[Column],
        predictions: np.ndarray,
        weights: np.ndarray,
        column_player: np.ndarray,
    ) -> "Traits":
        """Return the traits of a table's rows.

        Parameters
        ----------
        columns : list of d Column
        predictions : ndarray of shape (b, k)
        weights : ndarray of shape (b,)
            With sum 1.
        column_player : ndarray of shape (d,), int
        """
        common = standardised(predictions[:, :MOST_PREDICTIONS], weights)
        numbers = standardised(numbers_of(columns), weights)
        if common.shape[1] + numbers.shape[1] <= MOST_COMMON:
            common = np.concatenate([common, numbers], axis=1)
        codes = np.column_stack([_bins(column) for column in columns])
        one_hot = codes[:, :, None] == np.arange(BINS)
        shares = np.einsum("b,bwn->wn", weights, one_hot)
        players = np.arange(column_player.max() + 1)
        own = tuple(np.flatnonzero(column_player == j)[:MOST_OWN_COLUMNS] for j in players)
        return cls(np.ascontiguousarray(common), codes, shares, own)

    def take(self, rows: np.ndarray) -> "Traits":
        """Return the traits of some rows, still centred on the table."""
        return replace(self, common=self.common[rows], codes=self.codes[rows])

    @cached_property
    def _indicators(self) -> tuple[np.ndarray, np.ndarray]:
        """The columns of each player, ``(p, most)`` int, and the centred indicators of their codes.

        The latter are ``(p, most, BINS + 1, BINS)``, all 0 where a player has fewer columns.
        """
        most = max(map(len, self.of_player))
        columns = np.zeros((len(self.of_player), most), dtype=np.intp)
        indicators = np.zeros((*columns.shape, NO_BIN + 1, BINS))
        for j, at in enumerate(self.of_player):
            columns[j, : len(at)] = at
            indicators[j, : len(at)] = np.eye(NO_BIN + 1, BINS) - self.shares[at][:, None]
        return columns, indicators

    def own(self, rows: np.ndarray, players: np.ndarray) -> np.ndarray:
        """Return the centred indicators of the players' own columns, ``(rows, players, n)``."""
        columns, indicators = self._indicators
        codes = self.codes.take(rows, axis=0).take(columns[players], axis=1)
        place = np.arange(columns.size).reshape(columns.shape)[players] * (NO_BIN + 1)
        own = indicators.reshape(-1, BINS).take(place + codes, axis=0)
        return own.reshape(len(rows), len(players), -1)


def _bins(column: Column) -> np.ndarray:
    """Return the bin of each row by quantiles, or its category, ``(b,)`` uint8."""
    numbers = column.content
    if column.is_category:
        return np.where(numbers < MOST_CATEGORIES, numbers, NO_BIN).astype(np.uint8)
    known = np.isfinite(numbers)
    if not known.any():
        return np.full(len(numbers), NO_BIN, dtype=np.uint8)
    edges = np.unique(np.quantile(numbers[known], np.linspace(0, 1, BINS + 1)[1:-1]))
    return np.where(known, np.searchsorted(edges, numbers, side="right"), NO_BIN).astype(np.uint8)
