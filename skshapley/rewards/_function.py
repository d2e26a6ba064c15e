"""Games that are functions of coalitions: any function, and the response to parts of an input."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skshapley._records._outcome import Settings, label
from skshapley.exceptions import ModelOutputError
from skshapley.explanation import Explanation
from skshapley.rewards._game import Game
from skshapley.rewards._response import Response, finite_numbers


class FunctionGame(Game):
    """The game of a function from boolean coalitions ``(m, p)`` to values ``(m,)`` or ``(m, k)``.

    It has one row. The empty and the full coalition are evaluated once, at
    construction.

    Parameters
    ----------
    function : callable
    n_players : int

    Raises
    ------
    ModelOutputError
        If the function returns NaN or infinity, or another number of values than
        coalitions.
    """

    n_rows = 1

    def __init__(self, function, n_players) -> None:
        self.function, self.n_players = function, n_players
        self.bytes_per_row = n_players
        ends = np.zeros((2, n_players), dtype=bool)
        ends[1] = True
        # Both ends in one call also show the number of outputs, before any budget is
        # spent.
        raw = function(ends)
        self.one_output = np.ndim(raw) < 2
        self.n_outputs = 1 if self.one_output else np.shape(raw)[1]
        self._ends = self._checked(raw, 2)

    def __call__(self, coalitions, rows, references=None) -> NDArray[np.float64]:
        """Return the values of coalitions, ``(r, m, k)``."""
        r, m, p = coalitions.shape
        # a copy, because the function may write into it
        raw = self.function(np.array(coalitions).reshape(-1, p))
        return self._checked(raw, r * m).reshape(r, m, self.n_outputs)

    def _checked(self, raw, n) -> NDArray[np.float64]:
        """Return the values of n coalitions as ``(n, k)`` float64, or raise ModelOutputError."""
        shape = (n,) if self.one_output else (n, self.n_outputs)
        if np.shape(raw) != shape:
            raise ModelOutputError(
                f"The reward returned values of shape {np.shape(raw)} for {n} "
                f"coalitions, instead of {shape}; it must return one value (or one row "
                "of values) per coalition, as does lambda coalitions: "
                "coalitions.sum(axis=1)."
            )
        return finite_numbers(raw, "The reward", "coalition").reshape(n, -1)

    def empty(self, rows) -> NDArray[np.float64]:
        """Return v(empty), ``(r, 1, k)``."""
        return np.repeat(self._ends[None, :1], len(rows), axis=0)

    def full(self, rows) -> NDArray[np.float64]:
        """Return v(all), ``(r, k)``."""
        return np.repeat(self._ends[1:], len(rows), axis=0)


class InputReward:
    """Base class of rewards of one input, such as a document or an image, divided into players.

    Attributes
    ----------
    response : Response
    n_players : int
    """

    response: Response
    n_players: int
    _winners: np.ndarray

    def _without_axis(self, values) -> NDArray[np.float64]:
        """Return values ``(n, k)``; ``(n,)`` for one output."""
        return values[:, 0] if self.response.output_names is None else values

    def _settings(self, reward: str) -> Settings:
        return Settings(
            model=label(self.response.estimator),
            response_method=label(self.response.method),
            output=self.response.explained_output(self._winners[0]),
            reward=reward,
        )

    def _record(
        self,
        result: Any,
        data: pd.DataFrame,
        settings: Settings,
        rows_per_value: int = 1,
    ) -> Explanation:
        """Return a result of `shapley_values` as an explanation of one row.

        Parameters
        ----------
        result : ShapleyResult
        data : DataFrame of shape (1, p)
        settings : Settings
        rows_per_value : int, default=1
            Model rows of an evaluation.
        """
        names = self.response.output_names
        errors = result.standard_errors
        p = self.n_players
        return Explanation(
            values=result.values[None, :p],
            standard_errors=None if errors is None else errors[None, :p],
            base_values=np.asarray(result.base_value)[None],
            predictions=np.asarray(result.full_value)[None],
            data=data,
            feature_names=data.columns.to_numpy(dtype=object),
            output_names=None if names is None else np.array(names, dtype=object),
            n_evaluations=np.array([result.n_evaluations]),
            n_model_rows=np.array([result.n_evaluations * rows_per_value]),
            converged=np.array([result.converged]),
            settings=settings,
        )
