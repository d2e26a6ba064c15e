"""The protocol that the engine evaluates: a reward at given instances."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from skshapley._references import Deck
from skshapley.exceptions import ModelOutputError


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


class Game(ABC):
    """Base class of games: v(S) for r instances over p players with k outputs.

    A game is a reward bound to its instances. It is picklable, and it is a pure function:
    whatever is random was fixed before.

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
    finer : bool
        Whether `differing` says more than `apart`.
    shared : object or None
        What the games of all instances share, such as the model. `take` hands it on as it is.
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
    finer: bool = False
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

    def unvalued(self, coalitions) -> np.ndarray:
        """Return replacement values for coalitions with NaN; called in the parent process.

        Parameters
        ----------
        coalitions : ndarray of shape (u, p), bool

        Returns
        -------
        values : ndarray of shape (u, k)

        Raises
        ------
        ModelOutputError
            By default.
        """
        raise ModelOutputError(
            f"{type(self).__name__} returned NaN for {len(coalitions)} coalitions; every coalition"
            f" needs a finite value."
        )

    @abstractmethod
    def empty(self, rows) -> np.ndarray:
        """Return the values of the empty coalition against each background row, ``(r, b, k)``.

        Parameters
        ----------
        rows : ndarray of shape (r,), int
            Positions of the instances.
        """

    def v_empty(self, rows) -> np.ndarray:
        """Return v(empty) of the instances, ``(r, k)``: against all background rows, weighted.

        Parameters
        ----------
        rows : ndarray of shape (r,), int
            Positions of the instances.
        """
        return (self.reference_weights[:, None] * self.empty(rows)).sum(axis=1)

    @abstractmethod
    def full(self, rows) -> np.ndarray:
        """Return v(all) of the instances, ``(r, k)``.

        Parameters
        ----------
        rows : ndarray of shape (r,), int
            Positions of the instances.
        """

    def remainder(self) -> "Game | None":
        """Return the game minus a part with known Shapley values (`known`), or None."""
        return None

    def known(self, rows) -> Known | None:
        """Return the Shapley values of the part subtracted from this game, or None.

        Parameters
        ----------
        rows : ndarray of shape (r,), int
            Positions of the instances.
        """
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
        same value, so only one of them is evaluated. None: not known.

        Parameters
        ----------
        rows : ndarray of shape (n,), int
            Positions of the instances.
        references : ndarray of shape (n,), int
            A background row for each of them.
        """
        return None

    def apart(self, rows, references) -> np.ndarray | None:
        """Return which players differ from a background row, as budgets count, or None.

        Walks never ask for steps of the others. By default what `differing` says. A game that is
        `finer` knows more there, such as columns that a pipeline makes equal, and saves further
        evaluations by it, but those buy nothing.

        Parameters
        ----------
        rows, references : ndarray of shape (n,), int
            As for `differing`.

        Returns
        -------
        apart : ndarray of shape (n, p), bool, or None
        """
        return self.differing(rows, references)

    def take(self, rows) -> "Game":
        """Return the game of some instances alone, numbered anew, to be sent to a worker.

        Parameters
        ----------
        rows : ndarray of shape (r,), int
            Positions of the instances, in any order; some may come twice.
        """
        if not np.array_equal(rows, np.arange(self.n_rows)):
            raise NotImplementedError(
                f"{type(self).__name__} has {self.n_rows} instances but no take(rows), which"
                f" workers need: write one, or choose n_jobs=None."
            )
        return self
