"""What is known of every background row: the columns of each player, and the predictions.

The attribution of a player against one reference depends on the reference mostly through the
player's own columns and the prediction, which are known of all rows. So it is regressed on them
over the rows that were looked at, and the table's means are put in (`_survey`).
"""

from dataclasses import dataclass, replace

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
        return cls(common, codes, shares, own)

    def take(self, rows: np.ndarray) -> "Traits":
        """Return the traits of some rows, still centred on the table."""
        return replace(self, common=self.common[rows], codes=self.codes[rows])

    def own(self, rows: np.ndarray, players: np.ndarray) -> np.ndarray:
        """Return the centred indicators of the players' own columns, ``(players, rows, n)``."""
        most = max(len(self.of_player[j]) for j in players)
        out = np.zeros((len(players), len(rows), most, BINS))
        for place, j in enumerate(players):
            at = self.of_player[j]
            indicators = self.codes[rows][:, at, None] == np.arange(BINS)
            out[place, :, : len(at)] = indicators - self.shares[at]
        return out.reshape(len(players), len(rows), most * BINS)


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
