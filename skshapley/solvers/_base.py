"""What every solver is: an accumulator that turns values of coalitions into attributions."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, Self

import numpy as np

from skshapley._references import Deck
from skshapley._tools._constraints import Parametrised
from skshapley.indices import INDICES, Index


class Estimate(NamedTuple):
    """What a solver knows so far.

    Attributes
    ----------
    values : ndarray of shape (r, e, k)
        One value an entry: attributions of the e = p players, in the units of the reward.
    standard_errors : ndarray of shape (r, e, k) or None
        NaN where an instance has too few units for one; None where the method has none.
    background_errors : ndarray of shape (r, e, k) or None
        What the background leaves to chance as a sample of where it came from; None where the
        method cannot tell.
    """

    values: np.ndarray
    standard_errors: np.ndarray | None
    background_errors: np.ndarray | None = None


class Solver(Parametrised, ABC):
    """Base class of solvers.

    A solver holds parameters only. The engine clones it, calls `start` once for a block of
    instances, `update` for each design, `result` whenever an estimate is wanted, and at the end
    `lesson`.

    Attributes
    ----------
    accepts : tuple of type
        The design classes that `update` reads.
    default_sampler : str
        The sampler that ``sampler="auto"`` stands for when this solver is asked for by name.
    has_standard_errors : bool
        Whether `result` can ever give standard errors; a stopping rule needs them.
    scales : bool
        Whether c times the values make c times the result. Then values that are very large or very
        small come in units of a power of two.
    goes_on : bool
        Whether it can do with draws beyond the planned ones, which coalitions that came twice have
        paid for.
    pilots : int
        So many background rows are explained in ``fit``, and teach what is used for all instances
        (`lesson`).
    """

    accepts: tuple[type, ...]
    default_sampler: str
    has_standard_errors: bool = True
    scales: bool = True
    goes_on: bool = True
    pilots: int = 0
    # of the interactions that are wanted beside the players' values; set by the plan of a run
    pairs: Index | None = None
    # of the players' values, likewise
    index: Index = INDICES["shapley"]

    def gives(self, produced: type, index: Index) -> bool:
        """Return whether the values of players can be those of an index.

        Parameters
        ----------
        produced : type
            The class of the sampler's designs.
        index : Index
        """
        return index == INDICES["shapley"]

    def takes_parts(self, produced: type) -> bool:
        """Return whether it gives the Shapley value of any game, with designs of a class.

        Then a part whose Shapley values are known can be taken off the game, and added to them.

        Parameters
        ----------
        produced : type
            The class of the sampler's designs.
        """
        return False

    def gives_pairs(self, produced: type, index: Index) -> bool:
        """Return whether interactions of pairs of players come out where they are wanted.

        Parameters
        ----------
        produced : type
            The class of the sampler's designs.
        index : Index
        """
        return False

    def check_players(self, n_players: int) -> None:
        """Refuse a number of players that is too much, before anything is evaluated.

        Parameters
        ----------
        n_players : int

        Raises
        ------
        ValueError
            If these parameters cannot serve so many players.
        """

    def entries(self, n_players: int) -> np.ndarray:
        """Return the sets of players that values belong to, ``(e, size)`` int, each in order.

        By default there is an entry for each player, and where interactions are wanted one for
        each pair behind them; a player by itself is then there twice.

        Parameters
        ----------
        n_players : int
        """
        players = np.arange(n_players)[:, None]
        if self.pairs is None:
            return players
        both = np.array(np.triu_indices(n_players, 1)).T
        return np.concatenate([np.repeat(players, 2, axis=1), both])

    def start(
        self,
        n_players: int,
        v_empty: np.ndarray,
        v_full: np.ndarray,
        *,
        players: np.ndarray | None = None,
        lesson: Any = None,
        deck: Deck | None = None,
    ) -> Self:
        """Prepare a run.

        Parameters
        ----------
        n_players : int
        v_empty, v_full : ndarray of shape (r, k)
            Values of the empty and the full coalition of each instance.
        players : ndarray of shape (r, n_players), int, or None
            Which of the game's players these are, for each instance; None for all of them.
        lesson : object or None
            What other instances have taught (`lesson`).
        deck : Deck or None
            What is known of the background rows that a design's references are a sample of.

        Returns
        -------
        self
        """
        self.deck_ = deck
        self.n_players_, self.v_empty_, self.v_full_ = n_players, v_empty, v_full
        if players is None:
            players = np.broadcast_to(np.arange(n_players), (len(v_empty), n_players))
        self._start(players, lesson)
        return self

    def seen_errors(self) -> np.ndarray | None:
        """Return standard errors ``(r, p, k)`` by what was seen, or None.

        Those of `result`, where these allow for no more.
        """
        return self.result().standard_errors

    def lesson(self, earlier: Any = None) -> Any:
        """Return what these instances teach others, with what earlier ones did; frozen.

        Parameters
        ----------
        earlier : object or None
            The lesson of other instances.

        Returns
        -------
        lesson : object or None
            None where there is nothing to be learned.
        """
        return earlier

    def _start(self, players: np.ndarray, lesson: Any) -> None:
        """Make what a run needs; parameters as for `start`."""

    @abstractmethod
    def update(self, rows: np.ndarray, design: Any, values: np.ndarray) -> None:
        """Take in the values of a design.

        Parameters
        ----------
        rows : ndarray of shape (r,), int
            Positions among the instances given to `start`.
        design : instance of one of `accepts`
        values : ndarray of shape (r, m, k)
            Values of the design's coalitions, empty and full ones included.
        """

    @abstractmethod
    def result(self) -> Estimate:
        """Return the estimate of all instances."""
