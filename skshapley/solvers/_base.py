"""What every solver is: an accumulator that turns values of coalitions into attributions."""

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from skshapley._tools._commons import Commons


class Estimate(NamedTuple):
    """What a solver knows so far.

    Attributes
    ----------
    values : ndarray of shape (r, p, k)
        Attributions, in the units of the reward.
    standard_errors : ndarray of shape (r, p, k) or None
        NaN where an instance has too few units for one; None where the method has none.
    """

    values: np.ndarray
    standard_errors: np.ndarray | None


class Solver(BaseEstimator, ABC):
    """Base class of solvers.

    A solver holds parameters only. The engine clones it, calls `start` once for a block of
    instances, `update` for each design, and `result` whenever an estimate is wanted.

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
    pilots : int
        So many instances at the head of a run are worked on before all others, which may learn from
        them (`join`).
    """

    accepts: tuple[type, ...]
    default_sampler: str
    has_standard_errors: bool = True
    scales: bool = True
    pilots: int = 0

    def check(self) -> None:
        """Refuse wrong parameters, before anything is evaluated."""

    def start(self, n_players: int, v_empty: np.ndarray, v_full: np.ndarray):
        """Prepare a run.

        Parameters
        ----------
        n_players : int
        v_empty, v_full : ndarray of shape (r, k)
            Values of the empty and the full coalition of each instance.

        Returns
        -------
        self
        """
        self.n_players_, self.v_empty_, self.v_full_ = n_players, v_empty, v_full
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
    def update(self, rows: np.ndarray, design, values: np.ndarray) -> None:
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
