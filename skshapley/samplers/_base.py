"""What every sampler is: a parameter object that says which coalitions to look at."""

from abc import ABC, abstractmethod

import numpy as np
from sklearn.base import BaseEstimator

from skshapley._tools._commons import Commons


class Sampler(BaseEstimator, ABC):
    """Base class of samplers.

    A sampler holds parameters only. The engine clones it, calls `start` once for a block of
    instances, then `ask` until the budget is spent or the instances are done. A *draw* is the
    sampler's own smallest thing to ask for: a permutation, a coalition. Budgets are counted in
    evaluations and exclude the empty and the full coalition here.

    Attributes
    ----------
    produces : type
        The design class that `ask` returns.
    one_shot : bool
        True where the design for a budget is not the beginning of the design for a larger one:
        such a sampler is asked once.
    needs_all_players : bool
        True where players have a place (in a graph), so that none may be left out, not even one
        that cannot matter.
    """

    produces: type
    one_shot: bool = False
    needs_all_players: bool = False

    @abstractmethod
    def n_draws(self, n_evals: int, n_players: int, n_references: int) -> int:
        """Return how many draws `n_evals` evaluations buy; 0 if not even the least design.

        Parameters
        ----------
        n_evals : int
            Evaluations per instance, without the empty and the full coalition.
        n_players : int
            Number of players, p.
        n_references : int
            Number of background rows, b; 1 for a game that has none.
        """

    @abstractmethod
    def least_evals(self, n_players: int, n_references: int) -> int:
        """Return the least number of evaluations that give a design, without both ends.

        Parameters
        ----------
        n_players : int
            Number of players, p.
        n_references : int
            Number of background rows, b; 1 for a game that has none.
        """

    def unit_draws(self, n_players: int, n_references: int) -> int:
        """Return the number of draws that make one independent unit: asks are multiples of it.

        Parameters
        ----------
        n_players : int
            Number of players, p.
        n_references : int
            Number of background rows, b; 1 for a game that has none.
        """
        return 1

    def coalitions_per_draw(self, n_players: int) -> int:
        """Return the number of coalitions that one draw adds to a design.

        Parameters
        ----------
        n_players : int
            Number of players, p.
        """
        return 1

    def draws_now(self, asked: int, left: int) -> int:
        """Return how many draws to ask for at most before `tell` may change what comes next.

        Parameters
        ----------
        asked, left : int
            Draws so far, and still to come with this budget.
        """
        return left

    def start(self, n_players: int, rngs: list[np.random.Generator], reference_weights=None):
        """Prepare a run over ``len(rngs)`` instances.

        Parameters
        ----------
        n_players : int
        rngs : list of numpy.random.Generator
            One per instance.
        reference_weights : ndarray of shape (b,) or None
            Weights of the background rows, with sum 1; None for a game that has none.

        Returns
        -------
        self
        """
        self.n_players_ = n_players
        self.rngs_ = rngs
        self.reference_weights_ = (
            np.ones(1) if reference_weights is None else np.asarray(reference_weights)
        )
        return self

    def join(self, commons: Commons, rows: np.ndarray, players: np.ndarray) -> None:
        """Meet what the instances of a run have in common, after `start`.

        Parameters
        ----------
        commons : Commons
        rows : ndarray of shape (r,), int
            The instances' positions in the run.
        players : ndarray of shape (r, n_players), int
            Which of the game's players matter to each.
        """

    @abstractmethod
    def ask(self, rows: np.ndarray, n: int):
        """Return a design of `n` draws for the instances `rows`.

        Parameters
        ----------
        rows : ndarray of shape (r,), int
            Positions among the instances given to `start`.
        n : int
            Number of draws, from `n_draws`.

        Returns
        -------
        design : instance of `produces`
        """

    def tell(self, rows: np.ndarray, design, values: np.ndarray) -> None:
        """Learn from the values of a design; adaptive samplers override this.

        Parameters
        ----------
        rows : ndarray of shape (r,), int
            Positions among the instances given to `start`.
        design : instance of `produces`
            What `ask` returned for these rows.
        values : ndarray of shape (r, m, k)
            Values of its coalitions.
        """
