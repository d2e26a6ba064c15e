"""The protocol that the engine evaluates: a reward at given instances."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skshapley._references import Deck


class Known(NamedTuple):
    """Shapley values that are known of a part of a game.

    Attributes
    ----------
    values, standard_errors : ndarray of shape (r, p, k)
    variances : ndarray of shape (r, p, k)
        Of the values against single background rows.
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
        The value that stands for theirs.
    coalitions : list of ndarray of shape (p,), bool
        Those that were met, in the parent process.
    """

    worth: float
    coalitions: list[np.ndarray] = field(default_factory=list)


class Game(ABC):
    """Base class of games: v(S) for r instances over p players with k outputs.

    A game is a reward bound to its instances. It is picklable, and it is a pure function: all
    random numbers were drawn before.

    Attributes
    ----------
    n_players, n_rows, n_outputs : int
        p, the number of instances, k.
    n_references : int
        b, the number of background rows; 1 for a game without a background.
    reference_weights : ndarray of shape (b,)
        Their weights, with sum 1.
    deck : Deck or None
        In which order to deal background rows where not all of them are looked at; None: at random.
    rows_per_value : int
        Model rows that one evaluation costs.
    bytes_per_row : int
        Memory of one model row.
    most_values : int
        Most coalitions in one call. With 1, as for a costly reward, every call can be given to
        another worker.
    parted_by_instance : bool
        Whether coalitions of an instance share work, so that their values may differ by a rounding
        where they are parted. Calls then part them in the same places in any company.
    v_empty : ndarray of shape (n_rows, k) or None
        v(empty) against the table that the background rows are a sample of; None: the mean over
        these.
    unvalued : Unvalued or None
        Where a call may return NaN; None: it is refused.
    shared : object or None
        The shared part of the games of all instances, such as the model. `take` passes it on.
        Workers get it apart from the game, so that a cluster sends it only once.
    """

    n_players: int
    n_rows: int
    n_outputs: int
    n_references: int = 1
    reference_weights: np.ndarray = np.ones(1)
    deck: Deck | None = None
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
            The instance of each line of coalitions.
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
            Positions of the instances.
        """

    @abstractmethod
    def full(self, rows) -> np.ndarray:
        """Return v(all) of the instances, ``(r, k)``.

        Parameters
        ----------
        rows : ndarray of shape (r,), int
            Positions of the instances.
        """

    def remainder(self) -> "Remainder | None":
        """Return the game minus a part with known Shapley values, or None."""
        return None

    def keys(self, rows) -> np.ndarray:
        """Return the key of each row to explain, used to seed random numbers, ``(r,)`` int.

        Instances of the same key are explained alike. By default their positions; a reward takes a
        hash of their content, so that the same row has the same explanation anywhere.

        Parameters
        ----------
        rows : ndarray of shape (r,), int
            Positions of the instances.
        """
        return rows

    def active(self, rows) -> np.ndarray:
        """Return which players can matter, ``(r, p)`` bool; the others get 0 without a cost.

        Parameters
        ----------
        rows : ndarray of shape (r,), int
            Positions of the instances.
        """
        return np.ones((len(rows), self.n_players), dtype=bool)

    def differing(self, rows, references) -> np.ndarray | None:
        """Return which players differ from a background row, ``(n, p)`` bool, or None.

        Against a background row, coalitions that agree on the players which differ from it have the
        same value, so only one of them is evaluated, and permutations skip the steps of the others.
        None: not known.

        Parameters
        ----------
        rows : ndarray of shape (n,), int
            Positions of the instances.
        references : ndarray of shape (n,), int
            A background row for each of them.
        """
        return None

    def take(self, rows) -> "Game":
        """Return the game of some instances alone, numbered anew, to be sent to a worker.

        Parameters
        ----------
        rows : ndarray of shape (r,), int
            Positions of the instances, in any order; some may come twice.
        """
        if not np.array_equal(rows, np.arange(self.n_rows)):
            raise NotImplementedError(
                f"{type(self).__name__} has {self.n_rows} rows to explain but no take(rows), which"
                f" workers need: write one, or choose n_jobs=None."
            )
        return self


class Remainder(NamedTuple):
    """A game minus a part with known Shapley values.

    Attributes
    ----------
    game : Game
    known : callable
        Takes positions of instances ``(r,)``, and returns the `Known` of that part.
    """

    game: Game
    known: Callable[[np.ndarray], Known]


def empty_values(game: Game, rows: np.ndarray) -> NDArray[np.float64]:
    """Return v(empty) of the instances against all background rows, ``(r, k)``."""
    if game.v_empty is not None:
        return game.v_empty[rows]
    return (game.reference_weights[:, None] * game.empty(rows)).sum(axis=1)
