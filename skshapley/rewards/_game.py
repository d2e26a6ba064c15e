"""The protocol of games: a reward for given rows."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skshapley._references import RowOrder


class Known(NamedTuple):
    """Known Shapley values of a part of a game.

    Attributes
    ----------
    values, standard_errors : ndarray of shape (r, p, k)
    variances : ndarray of shape (r, p, k)
        Variances of the values against single background rows.
    """

    values: np.ndarray
    standard_errors: np.ndarray
    variances: np.ndarray


@dataclass
class Unvalued:
    """Coalitions without a value, for which a call returns NaN.

    Attributes
    ----------
    worth : float
        The value that replaces theirs.
    coalitions : list of ndarray of shape (p,), bool
        The coalitions found, in the parent process.
    """

    worth: float
    coalitions: list[np.ndarray] = field(default_factory=list)


class Game(ABC):
    """Base class of games: v(S) for r rows to explain, p players and k outputs.

    A game is a reward bound to rows. It is picklable, and a pure function: all random
    numbers were drawn before.

    Attributes
    ----------
    n_players, n_rows, n_outputs : int
        p, the number of rows to explain, k.
    n_references : int
        b, the number of background rows; 1 for a game without a background.
    reference_weights : ndarray of shape (b,)
        Their weights, with sum 1.
    row_order : RowOrder or None
        The background rows in balanced order, if not all of them are used. None: random
        order.
    rows_per_value : int
        Model rows per evaluation.
    bytes_per_row : int
        Memory of one model row.
    most_values : int
        Largest number of coalitions per call. With 1, as for a costly reward, every
        evaluation can go to another worker.
    parted_by_instance : bool
        Whether coalitions of a row share computations, so that dividing them may change
        the rounding. Calls then divide them in the same way for any other rows.
    v_empty : ndarray of shape (n_rows, k) or None
        v(empty) against the whole table, if the background rows are a sample; None: the
        mean over these rows.
    unvalued : Unvalued or None
        Record of coalitions that may be NaN; None: NaN raises ModelOutputError.
    shared : object or None
        The shared part of the games of all rows, such as the model. `take` passes it
        on. Workers receive it separately, so a cluster sends it only once.
    """

    n_players: int
    n_rows: int
    n_outputs: int
    n_references: int = 1
    reference_weights: np.ndarray = np.ones(1)
    row_order: RowOrder | None = None
    rows_per_value: int = 1
    bytes_per_row: int = 8
    most_values: int = 8192
    parted_by_instance: bool = False
    v_empty: NDArray[np.float64] | None = None
    unvalued: Unvalued | None = None
    shared: Any = None

    @abstractmethod
    def __call__(self, coalitions, rows, references=None) -> np.ndarray:
        """Return the values of coalitions.

        Parameters
        ----------
        coalitions : ndarray of shape (r, m, p), bool
        rows : ndarray of shape (r,), int
            The row to explain of each line of coalitions.
        references : ndarray of shape (r, m, q), int, or None
            The q background rows to average over. None: all of them, weighted.

        Returns
        -------
        values : ndarray of shape (r, m, k)
        """

    @abstractmethod
    def empty(self, rows) -> np.ndarray:
        """Return the values of the empty coalition against each background row, ``(r, b, k)``.

        Parameters
        ----------
        rows : ndarray of shape (r,), int
            Positions of the rows.
        """

    @abstractmethod
    def full(self, rows) -> np.ndarray:
        """Return v(all) of the rows, ``(r, k)``.

        Parameters
        ----------
        rows : ndarray of shape (r,), int
            Positions of the rows.
        """

    @property
    def means(self) -> "Game | None":
        """The game of means, if each value is a function of means over the background."""
        return None

    def of_means(self, means: np.ndarray) -> np.ndarray:
        """Return values from means over groups of references.

        Parameters
        ----------
        means : ndarray of shape (u, G, k)
            Values of `means` against G groups of equally many references.

        Returns
        -------
        values : ndarray of shape (u, G, k)
            The function of the mean over groups, plus the effect of each group on it.
        """
        return means

    def remainder(self) -> "Remainder | None":
        """Return the game minus a part with known Shapley values, or None."""
        return None

    def keys(self, rows) -> np.ndarray:
        """Return the key of each row to explain, used to seed random numbers, ``(r,)`` int.

        Rows with equal keys have equal explanations. By default, the keys are
        positions. Rewards use a hash of the content, so that the same row has the same
        explanation in every table.

        Parameters
        ----------
        rows : ndarray of shape (r,), int
            Positions of the rows.
        """
        return rows

    def active(self, rows) -> np.ndarray:
        """Return True for players with a possible effect, ``(r, p)``; others get 0 at no cost.

        Parameters
        ----------
        rows : ndarray of shape (r,), int
            Positions of the rows.
        """
        return np.ones((len(rows), self.n_players), dtype=bool)

    def differing(self, rows, references) -> np.ndarray | None:
        """Return True for players that differ from a background row, ``(n, p)`` bool, or None.

        Other players have no effect against this background row, so coalitions with and
        without them are evaluated once, and permutations skip their steps. None:
        unknown.

        Parameters
        ----------
        rows : ndarray of shape (n,), int
            Positions of the rows.
        references : ndarray of shape (n,), int
            One background row for each of them.
        """
        return None

    def take(self, rows) -> "Game":
        """Return the renumbered game of some rows, for a worker.

        Parameters
        ----------
        rows : ndarray of shape (r,), int
            Positions of the rows, in any order, with repetitions.
        """
        # A game of one row needs no method, so simple games stay simple.
        if not np.array_equal(rows, np.arange(self.n_rows)):
            raise NotImplementedError(
                f"{type(self).__name__} has {self.n_rows} rows to explain but no "
                "take(rows), which workers need: write one, or choose n_jobs=None."
            )
        return self


class Remainder(NamedTuple):
    """A game minus a part with known Shapley values.

    Attributes
    ----------
    game : Game
    known_values : callable
        From positions of rows ``(r,)`` to the `Known` of this part.
    """

    game: Game
    known_values: Callable[[np.ndarray], Known]


def empty_values(game: Game, rows: np.ndarray) -> NDArray[np.float64]:
    """Return v(empty) of the rows against all background rows, ``(r, k)``."""
    if game.v_empty is not None:
        return game.v_empty[rows]
    # No matrix product, whose last bits may depend on the number of rows.
    return (game.reference_weights[:, None] * game.empty(rows)).sum(axis=1)
