"""The margins of numeric columns: from numbers to standard units, and back for rows that moved."""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from skshapley.rewards._gaussian import location


class Margins(ABC):
    """Base class of margins, one for each column of a table."""

    @abstractmethod
    def standard(self, table) -> NDArray[np.float64]:
        """Return numbers ``(n, d)`` in standard units."""

    @abstractmethod
    def moved(self, rows, standard, moves) -> NDArray[np.float64]:
        """Return rows after a move in standard units.

        Parameters
        ----------
        rows, standard : ndarray of shape (n, d)
            As they were, in numbers and in standard units.
        moves : ndarray of shape (n, d)
        """


class NormalMargins(Margins):
    """Means and standard deviations.

    Parameters
    ----------
    table : ndarray of shape (n, d)
    weights : ndarray of shape (n,)
    spread : ndarray of shape (d,) or None
        The standard deviations, where they are known.
    """

    def __init__(self, table, weights, spread=None) -> None:
        self._centre, found = location(table, weights)
        spread = found if spread is None else spread
        self._spread = np.where(spread > 0, spread, 1.0)

    def standard(self, table) -> NDArray[np.float64]:
        """Return numbers in standard deviations from the mean."""
        return (table - self._centre) / self._spread

    def moved(self, rows, standard, moves) -> NDArray[np.float64]:
        """Return rows that moved by so many standard deviations."""
        return rows + moves * self._spread


class RankMargins(Margins):
    """The ranks of a table's numbers as quantiles of the normal law.

    The levels of equal numbers fill an interval, of which the middle is their score; every score in
    it leads back to them. Between numbers and between scores, both ways are linear. Nothing lies
    beyond the least and the largest number.

    Parameters
    ----------
    table : ndarray of shape (n, d)
    weights : ndarray of shape (n,)
        With sum 1.
    """

    def __init__(self, table, weights) -> None:
        self._columns = [_levels(column, weights) for column in table.T]

    def standard(self, table) -> NDArray[np.float64]:
        """Return the normal scores of numbers."""
        scores = [
            ndtri(np.interp(column, values, (low + high) / 2))
            for column, (values, low, high) in zip(table.T, self._columns, strict=True)
        ]
        return np.column_stack(scores)

    def moved(self, rows, standard, moves) -> NDArray[np.float64]:
        """Return the quantiles of the moved scores; what did not move stays what it was."""
        found = rows.copy()
        for column, (values, low, high) in enumerate(self._columns):
            there = np.flatnonzero(moves[:, column])
            levels = ndtr(standard[there, column] + moves[there, column])
            knots = np.column_stack([low, high]).ravel()
            found[there, column] = np.interp(levels, knots, np.repeat(values, 2))
        return found


def _levels(column, weights) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the different numbers of a column, and the lowest and the highest level of each.

    Half the mean weight of the rows with a number is left out at both ends, so that a single row
    has one level.
    """
    values, inverse, counts = np.unique(column, return_inverse=True, return_counts=True)
    mass = np.bincount(inverse, weights=weights, minlength=len(values))
    ends = np.cumsum(mass)
    half = mass / counts / 2
    return values, ends - mass + half, ends - half
