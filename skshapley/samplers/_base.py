"""What every sampler is: a parameter object that says which coalitions to look at."""

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np

from skshapley._tools._constraints import Parametrised
from skshapley.samplers._price import Price


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

    def n_draws(self, n_evals: int, n_players: int, n_references: int) -> int:
        """Return how many draws `n_evals` evaluations buy; 0 if not even the least design.

        Parameters
        ----------
        n_evals : int
            Evaluations per instance, without the empty and the full coalition.
        n_players : int
            Number of players, p.
        n_references : int
            Number of background rows, b.
        """
        return self.price(n_players, n_references).n_draws(n_evals)

    def start(
        self,
        n_players: int,
        rngs: list[np.random.Generator],
        n_draws: int,
        reference_weights: np.ndarray | None = None,
        *,
        players: np.ndarray | None = None,
        lesson: Any = None,
        shared_rng: np.random.Generator | None = None,
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
            What instances before these have taught the solver (`Solver.lesson`).
        shared_rng : numpy.random.Generator or None
            The same at every start of a run, for designs that instances share.

        Returns
        -------
        self
        """
        self.n_players_, self.n_draws_ = n_players, n_draws
        self.rngs_ = rngs
        self.reference_weights_ = np.ones(1) if reference_weights is None else reference_weights
        self._untold = False
        self._start(players, lesson, shared_rng)
        return self

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

    def _start(self, players: Any, lesson: Any, shared_rng: Any) -> None:
        """Make what a run needs; parameters as for `start`."""

    @abstractmethod
    def _ask(self, rows: np.ndarray, n: int) -> Any:
        """Return a design of `n` draws for the instances `rows`."""

    def _tell(self, rows: np.ndarray, design: Any, values: np.ndarray) -> None:
        """Learn from the values of a design, in an adaptive sampler."""
