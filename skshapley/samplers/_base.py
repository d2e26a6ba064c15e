"""What every sampler is: a parameter object that says which coalitions to look at."""

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np

from skshapley._references import Deck
from skshapley._tools._constraints import Parametrised
from skshapley.samplers._price import Price

LEAST_REFERENCES = 100  # background rows, up to which all are looked at
EVALS_A_PLAYER = 6  # against a sample of a larger background


class Sampler(Parametrised, ABC):
    """Base class of samplers.

    A sampler holds parameters only. The engine clones it, calls `start` once for a block of
    instances, and then `ask` and `tell` in turn until the draws are spent or the instances are
    done. Subclasses say what draws cost (`price`) and make designs of them (`_ask`).

    Attributes
    ----------
    produces : type
        The design class that `ask` returns.
    one_shot : bool
        True where the design for a budget is not the beginning of the design for a larger one:
        such a sampler is asked once.
    goes_on : bool
        Whether it may be asked for more draws than `start` was told of: coalitions that came twice
        cost nothing, and what they leave of a budget buys further draws. False where the draws
        told are planned for as a whole. A one-shot sampler never is.
    needs_all_players : bool
        True where players have a place (in a graph), so that none may be left out, not even one
        that cannot matter.
    """

    produces: type[Any]
    one_shot: bool = False
    goes_on: bool = True
    needs_all_players: bool = False

    @abstractmethod
    def price(self, n_players: int, n_references: int) -> Price:
        """Return what draws cost.

        Parameters
        ----------
        n_players : int
            Number of players, p.
        n_references : int
            Number of background rows, b; 1 for a game that has none.

        Raises
        ------
        ValueError
            If there is no design for so many players.
        """

    def n_draws(self, n_rows: int, n_players: int, n_references: int) -> int:
        """Return how many draws `n_rows` model rows buy; 0 if not even the least design.

        Parameters
        ----------
        n_rows : int
            Model rows per instance, without the empty and the full coalition.
        n_players : int
            Number of players, p.
        n_references : int
            Number of background rows that are looked at.
        """
        return self.price(n_players, n_references).n_draws(n_rows)

    def samples_references(self, n_rows: int, n_players: int, n_references: int) -> bool:
        """Return whether some background rows are not looked at.

        Parameters
        ----------
        n_rows, n_players, n_references : int
            As for `n_references`.
        """
        return self.n_references(n_rows, n_players, n_references) < n_references

    def n_references(self, n_rows: int, n_players: int, n_references: int) -> int:
        """Return how many background rows to look at, of those that there are.

        All of them where they are few or affordable; else as many as leave six evaluations a
        player. A sampler that gives each unit a row of its own looks at all that it is given.

        Parameters
        ----------
        n_rows : int
            Model rows per instance, without the empty and the full coalition.
        n_players : int
            Number of players, p.
        n_references : int
            Number of background rows, b.
        """
        enough = max(LEAST_REFERENCES, n_rows // (EVALS_A_PLAYER * n_players))
        if n_references <= enough:
            return n_references
        least = max(1, self.price(n_players, n_references).least_evals)
        return max(1, min(enough, n_rows // least))

    def start(
        self,
        n_players: int,
        rngs: list[np.random.Generator],
        n_draws: int,
        reference_weights: np.ndarray | None = None,
        *,
        players: np.ndarray | None = None,
        lesson: Any = None,
        numbers: np.ndarray | None = None,
        shared_rngs: list[np.random.Generator] | None = None,
        deck: Deck | None = None,
        part: float = 1.0,
    ) -> Self:
        """Prepare a run over ``len(rngs)`` instances.

        Parameters
        ----------
        n_players : int
        rngs : list of numpy.random.Generator
            One per instance.
        n_draws : int
            The draws that the budget pays for if no coalition comes twice; where some do, a sampler
            that `goes_on` is asked for more.
        reference_weights : ndarray of shape (b,) or None
            Weights of the background rows, with sum 1; None for a game that has none.
        players : ndarray of shape (r, n_players), int, or None
            Which of the game's players these are, for each instance; None for all of them.
        lesson : object or None
            What other instances have taught the solver (`Solver.lesson`).
        numbers : ndarray of shape (r,), int, or None
            Of the design that an instance may share with others of the same number.
        shared_rngs : list of numpy.random.Generator or None
            One per instance, alike for the same number at every start, for such designs.
        deck : Deck or None
            In which order to deal background rows, where not all of them are looked at.
        part : float, default=1.0
            What part of the background these references are, where they are a sample of it.

        Returns
        -------
        self
        """
        self.n_players_, self.n_draws_ = n_players, n_draws
        self.rngs_ = rngs
        self.reference_weights_ = np.ones(1) if reference_weights is None else reference_weights
        self._untold = False
        self.deck_, self.part_ = deck, part
        self._numbers = np.zeros(len(rngs), dtype=np.intp) if numbers is None else numbers
        self._shared_rngs = rngs if shared_rngs is None else shared_rngs
        self._start(players, lesson)
        return self

    @property
    def draws_to_stop(self) -> int:
        """Draws before which a stopping rule need not look."""
        return self.price(self.n_players_, len(self.reference_weights_)).least

    def draws_now(self, asked: int) -> int:
        """Return how many draws to ask for at most before `tell` may change what comes next.

        Parameters
        ----------
        asked : int
            Draws so far.
        """
        return self.n_draws_ - asked

    def ask(self, rows: np.ndarray, n: int) -> Any:
        """Return a design of `n` draws for the instances `rows`.

        Parameters
        ----------
        rows : ndarray of shape (r,), int
            Positions among the instances given to `start`.
        n : int
            Number of draws.

        Returns
        -------
        design : instance of `produces`

        Raises
        ------
        RuntimeError
            If the values of the design before have not been told.
        """
        if self._untold:
            raise RuntimeError(
                f"{type(self).__name__}.ask was called twice: tell the values of the first design"
                f" before you ask for the next one."
            )
        design = self._ask(rows, n)
        self._untold = True
        return design

    def tell(self, rows: np.ndarray, design: Any, values: np.ndarray) -> None:
        """Take in the values of the design that was asked for last.

        Parameters
        ----------
        rows : ndarray of shape (r,), int
            Positions among the instances given to `start`.
        design : instance of `produces`
            What `ask` returned for these rows.
        values : ndarray of shape (r, m, k)
            Values of its coalitions.
        """
        self._untold = False
        self._tell(rows, design, values)

    def _start(self, players: Any, lesson: Any) -> None:
        """Make what a run needs; parameters as for `start`."""

    @abstractmethod
    def _ask(self, rows: np.ndarray, n: int) -> Any:
        """Return a design of `n` draws for the instances `rows`."""

    def _tell(self, rows: np.ndarray, design: Any, values: np.ndarray) -> None:
        """Learn from the values of a design, in an adaptive sampler."""
