"""Games of many rows against a background, and many runs of one game at once."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from skshapley._records._outcome import Outcome
from skshapley._run._engine import run
from skshapley._run._plan import Request, Size
from skshapley.rewards import Game
from skshapley.samplers import Sampler
from skshapley.solvers import Solver
from skshapley.stopping import StoppingRule
from skshapley.testing.games import brute_force


class HybridGame(Game):
    """A function of mixed rows: present players come from the row, absent ones from a reference.

    This is the simplest game with several rows and references. Everything is a NumPy
    array.

    Parameters
    ----------
    function : callable
        From rows ``(n, p)`` to values ``(n,)`` or ``(n, k)``.
    X : array-like of shape (r, p)
        The rows to explain.
    background : array-like of shape (b, p)
        The references.
    weights : array-like of shape (b,), optional
        Weights of the references, with sum 1; by default equal.

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley.testing import HybridGame
    >>> game = HybridGame(
    ...     lambda Z: Z[:, 0] * Z[:, 1], [[1.0, 1.0]], [[0.0, 0.0], [3.0, 1.0]]
    ... )
    >>> game(np.array([[[True, False]]]), np.array([0]))
    array([[[0.5]]])
    >>> game(np.array([[[True, False]]]), np.array([0]), np.array([[[1]]]))
    array([[[1.]]])
    >>> game.shapley_values[:, :, 0]
    array([[-0.75,  0.25]])
    """

    def __init__(
        self,
        function: Callable[[np.ndarray], Any],
        X: np.ndarray,
        background: np.ndarray,
        weights: np.ndarray | None = None,
    ) -> None:
        self.function = function
        self.X = np.asarray(X, dtype=np.float64)
        self.background = np.asarray(background, dtype=np.float64)
        self.n_rows, self.n_players = self.X.shape
        self.n_references = self.rows_per_value = len(self.background)
        equal = np.full(self.n_references, 1 / self.n_references)
        self.reference_weights = (
            equal if weights is None else np.asarray(weights, dtype=np.float64)
        )
        self.bytes_per_row = 8 * self.n_players
        self._empty = self._values(self.background)
        self.n_outputs = self._empty.shape[1]

    def __call__(
        self,
        coalitions: np.ndarray,
        rows: np.ndarray,
        references: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the values, ``(r, m, k)``."""
        r, m, p = coalitions.shape
        if references is None:
            weights = self.reference_weights
            references = np.broadcast_to(
                np.arange(self.n_references), (r, m, self.n_references)
            )
        else:
            weights = np.full(references.shape[2], 1 / references.shape[2])
        present = coalitions[:, :, None, :]
        hybrid = np.where(
            present, self.X[rows][:, None, None, :], self.background[references]
        )
        values = self._values(hybrid.reshape(-1, p)).reshape(*references.shape, -1)
        # No matrix product: its last bits may depend on the number of rows.
        return (values * weights[:, None]).sum(axis=2)

    def _values(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(self.function(rows), dtype=np.float64).reshape(len(rows), -1)

    def empty(self, rows: np.ndarray) -> np.ndarray:
        """Return v(empty) against each reference, ``(r, b, k)``."""
        return np.broadcast_to(self._empty, (len(rows), *self._empty.shape))

    def full(self, rows: np.ndarray) -> np.ndarray:
        """Return v(all), ``(r, k)``."""
        return self._values(self.X[rows])

    def active(self, rows: np.ndarray) -> np.ndarray:
        """Return True for players that differ from any reference, ``(r, p)`` bool."""
        return (self.X[rows][:, None, :] != self.background).any(axis=1)

    def take(self, rows: np.ndarray) -> "HybridGame":
        """Return the game of some rows."""
        return HybridGame(
            self.function, self.X[rows], self.background, self.reference_weights
        )

    @property
    def shapley_values(self) -> np.ndarray:
        """By `brute_force`, ``(r, p, k)``."""
        return brute_force_rows(self)


def brute_force_rows(game: Game) -> np.ndarray:
    """Return the Shapley values of each row of a game by `brute_force`, ``(r, p, k)``."""

    def of_row(row: int) -> np.ndarray:
        return brute_force(
            lambda few: game(few[None], np.array([row]))[0], game.n_players
        )

    return np.array([of_row(row) for row in range(game.n_rows)])


def as_instances(game: Any, n: int = 1) -> HybridGame:
    """Return a cooperative game as a game of `n` equal rows, against a single reference.

    Parameters
    ----------
    game : CooperativeGame
        The game.
    n : int, default=1
        Number of rows.
    """
    function = partial(_of_rows, game)  # picklable, for workers
    return HybridGame(
        function, np.ones((n, game.n_players)), np.zeros((1, game.n_players))
    )


def _of_rows(game: Any, rows: np.ndarray) -> np.ndarray:
    """Return the values of a game by rows of zeros and ones."""
    return game(rows > 0.5)


def explain_game(
    game: Game,
    *,
    sampler: str | Sampler,
    solver: str | Solver = "auto",
    max_evals: int | str,
    random_state: int = 0,
    stopping: StoppingRule | None = None,
    n_jobs: int | None = None,
) -> Outcome:
    """Run a sampler and a solver on every row of a `Game`.

    Parameters
    ----------
    game : Game
    sampler : str or Sampler
    solver : str or Solver, default="auto"
    max_evals : int
        Per row.
    random_state : None, int, Generator or RandomState, default=0
        As in `skshapley.shapley_values`.
    stopping : StoppingRule or None, default=None
        As in `skshapley.shapley_values`.
    n_jobs : int or None, default=None
        As in `skshapley.shapley_values`.

    Returns
    -------
    outcome : Outcome
        ``values`` and ``standard_errors`` of shape ``(r, p, k)``, ``v_empty`` and
        ``v_full`` of shape ``(r, k)``, ``n_evaluations``, ``n_model_rows`` and
        ``converged`` of shape ``(r,)``.

    Examples
    --------
    >>> from skshapley.testing import HybridGame, explain_game
    >>> game = HybridGame(
    ...     lambda Z: Z[:, 0] - Z[:, 1], [[1.0, 1.0], [2.0, 5.0]], [[0.0, 0.0]]
    ... )
    >>> explain_game(game, sampler="antithetic", max_evals=4).values[:, :, 0]
    array([[ 1., -1.],
           [ 2., -5.]])
    """
    request = Request.of(
        "explain_game",
        sampler=sampler,
        solver=solver,
        max_evals=max_evals,
        stopping=stopping,
        random_state=random_state,
    )
    return run(game, request.plan(Size.of(game)), n_jobs=n_jobs)
