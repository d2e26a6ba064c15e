"""Cooperative games with Shapley values known from theory, and games of many rows.

Every cooperative game maps boolean coalitions ``(m, p)`` to values ``(m,)`` or ``(m,
k)``. The value of a coalition does not depend on the other coalitions of a call, to the
last bit unless stated.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skshapley._records._outcome import Outcome
from skshapley._run._engine import run
from skshapley._run._plan import Request, Size
from skshapley._tools import entropy_from
from skshapley.rewards import Game
from skshapley.samplers import Sampler
from skshapley.solvers import Solver
from skshapley.stopping import StoppingRule


def brute_force(reward: Callable, n_players: int) -> np.ndarray:
    """Shapley values by their definition, over all 2^p coalitions.

    phi_i = sum over S without i of |S|! (p - |S| - 1)!/p! (v(S with i) - v(S)).

    Parameters
    ----------
    reward : callable
        From boolean coalitions ``(m, p)`` to values ``(m,)`` or ``(m, k)``.
    n_players : int
        p, at most about 20.

    Returns
    -------
    values : ndarray of shape (p,) or (p, k)
        In the units of the reward.

    References
    ----------
    Shapley (1953), A value for n-person games, Contributions to the Theory of Games II,
    Eq 12.

    Examples
    --------
    >>> from skshapley.testing import brute_force
    >>> brute_force(lambda coalitions: coalitions.any(axis=1), 4)
    array([0.25, 0.25, 0.25, 0.25])
    """
    masks = np.arange(2**n_players)
    coalitions = (masks[:, None] >> np.arange(n_players)) & 1 == 1
    worth = np.asarray(reward(coalitions), dtype=np.float64)
    # Equal to |S|! (p - |S| - 1)!/p!, and the binomial is a whole number without
    # rounding.
    weight = np.array(
        [1 / (n_players * comb(n_players - 1, s)) for s in range(n_players)]
    )
    values = []
    for player in range(n_players):
        without = masks[~coalitions[:, player]]
        # The mask of S with i is the mask of S plus 2^i, so its worth is looked up and
        # not searched for.
        joins = worth[without + 2**player] - worth[without]
        values.append(
            np.tensordot(weight[coalitions[without].sum(axis=1)], joins, axes=1)
        )
    return np.array(values)


class CooperativeGame(ABC):
    """Base class of games with known Shapley values.

    Attributes
    ----------
    n_players : int
        p.
    shapley_values : ndarray of shape (p,) or (p, k)
        In the units of the game.

    Examples
    --------
    >>> from skshapley.testing import AdditiveGame, CooperativeGame
    >>> isinstance(AdditiveGame([1.0, 2.0]), CooperativeGame)
    True
    """

    n_players: int

    @abstractmethod
    def __call__(self, coalitions: np.ndarray) -> np.ndarray:
        """Return the values of boolean coalitions ``(m, p)``."""

    @property
    @abstractmethod
    def shapley_values(self) -> np.ndarray:
        """The Shapley values, ``(p,)`` or ``(p, k)``."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.n_players} players>"


class AdditiveGame(CooperativeGame):
    """Each player adds a fixed amount: v(S) = constant + sum of the weights in S.

    Parameters
    ----------
    weights : array-like of shape (p,)
        The Shapley values themselves.
    constant : float, default=0.0
        v(empty).

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley.testing import AdditiveGame
    >>> game = AdditiveGame([1.0, 2.0, 4.0])
    >>> game(np.array([[True, False, True]])), game.shapley_values
    (array([5.]), array([1., 2., 4.]))
    """

    def __init__(self, weights: ArrayLike, constant: float = 0.0) -> None:
        self.weights = np.asarray(weights, dtype=np.float64)
        self.constant = constant
        self.n_players = len(self.weights)

    def __call__(self, coalitions: np.ndarray) -> np.ndarray:
        """Return the sums of the weights."""
        return self.constant + np.where(coalitions, self.weights, 0.0).sum(axis=1)

    @property
    def shapley_values(self) -> np.ndarray:
        """The weights."""
        return self.weights.copy()


class GloveGame(CooperativeGame):
    """A pair of gloves is worth 1: v(S) = min(left gloves, right gloves) in S.

    The first `n_left` players have a left glove each, the others a right one.

    Parameters
    ----------
    n_left, n_right : int

    References
    ----------
    Shapley & Shubik (1969), Pure competition, coalitional power, and fair division,
    International Economic Review 10.

    Examples
    --------
    >>> from skshapley.testing import GloveGame
    >>> GloveGame(1, 2).shapley_values.round(4)
    array([0.6667, 0.1667, 0.1667])
    """

    def __init__(self, n_left: int, n_right: int) -> None:
        self.n_left = n_left
        self.n_right = n_right
        self.n_players = n_left + n_right

    def __call__(self, coalitions: np.ndarray) -> np.ndarray:
        """Return the number of pairs."""
        left, right = np.split(coalitions, [self.n_left], axis=1)
        return np.minimum(left.sum(axis=1), right.sum(axis=1)).astype(np.float64)

    @property
    def shapley_values(self) -> np.ndarray:
        """The probability that an entering player meets a surplus of the other glove."""
        from scipy.stats import hypergeom  # .6 s to import

        hands = np.array([self.n_left, self.n_right])
        before = np.arange(self.n_players)
        # more than half of the `before` others hold the other hand
        chances = hypergeom.sf(
            before // 2,
            self.n_players - 1,
            hands[::-1, None],
            before,
        )
        return np.repeat(chances.mean(axis=1), hands)


class AirportGame(CooperativeGame):
    """The cost of the longest runway: v(S) = the largest cost in S.

    Parameters
    ----------
    costs : array-like of shape (p,)
        At least 0.

    References
    ----------
    Littlechild & Owen (1973), A simple expression for the Shapley value in a special
    case, Management Science 20: each section of the runway is divided equally among all
    who need it.

    Examples
    --------
    >>> from skshapley.testing import AirportGame
    >>> AirportGame([3.0, 6.0, 12.0]).shapley_values
    array([1. , 2.5, 8.5])
    """

    def __init__(self, costs: ArrayLike) -> None:
        self.costs = np.asarray(costs, dtype=np.float64)
        self.n_players = len(self.costs)

    def __call__(self, coalitions: np.ndarray) -> np.ndarray:
        """Return the largest cost in each coalition."""
        return np.where(coalitions, self.costs, 0.0).max(axis=1)

    @property
    def shapley_values(self) -> np.ndarray:
        """The sum of a player's shares of all sections."""
        order = np.argsort(self.costs)
        stretches = np.diff(self.costs[order], prepend=0.0)
        values = np.empty(self.n_players)
        values[order] = np.cumsum(stretches / np.arange(self.n_players, 0, -1))
        return values


class WeightedVotingGame(CooperativeGame):
    """A motion passes with enough votes: v(S) = 1 if the votes in S reach the quota, else 0.

    Parameters
    ----------
    votes : array-like of shape (p,), int
        Positive.
    quota : int
        Positive.

    References
    ----------
    Mann & Shapley (1962), Values of large games VI: evaluating the electoral college
    exactly, RAND RM-3158: coalitions are counted by size and votes.

    Examples
    --------
    >>> from skshapley.testing import WeightedVotingGame
    >>> WeightedVotingGame([50, 49, 1], quota=51).shapley_values.round(4)
    array([0.6667, 0.1667, 0.1667])
    """

    def __init__(self, votes: ArrayLike, quota: int) -> None:
        self.votes = np.asarray(votes, dtype=np.int64)
        self.quota = quota
        self.n_players = len(self.votes)

    def __call__(self, coalitions: np.ndarray) -> np.ndarray:
        """Return 1 if the quota is reached, else 0."""
        return (np.where(coalitions, self.votes, 0).sum(axis=1) >= self.quota).astype(
            np.float64
        )

    @cached_property
    def shapley_values(self) -> np.ndarray:
        """The probability that a player decides the vote."""
        return np.array([self._pivots(player) for player in range(self.n_players)])

    def _pivots(self, player: int) -> float:
        p = self.n_players
        quota = self.quota
        # counts[s, w]: coalitions of s other players with w votes, w < quota. They are
        # exact up to 57 players: the largest count is then C(56, 28) = 7.6e15, below
        # 2^53.
        counts = np.zeros((p, quota))
        counts[0, 0] = 1.0
        for votes in np.delete(self.votes, player):
            if votes < quota:
                counts[1:, votes:] += counts[:-1, : quota - votes].copy()
        pivotal = counts[:, max(0, quota - self.votes[player]) :].sum(axis=1)
        return sum(n / (p * comb(p - 1, s)) for s, n in enumerate(pivotal))


class _SetGame(CooperativeGame):
    """A sum over sets of players, each with a number."""

    def __init__(
        self,
        n_players: int,
        numbers: Mapping[tuple[int, ...], float],
    ) -> None:
        self.n_players = n_players
        self._sets = np.zeros((len(numbers), n_players), dtype=bool)
        for row, members in zip(self._sets, numbers, strict=True):
            row[list(members)] = True
        self._numbers = np.array(list(numbers.values()), dtype=np.float64)
        self._sizes = self._sets.sum(axis=1)

    def _absent(self, coalitions: np.ndarray) -> np.ndarray:
        """Return how many members of each set are not in each coalition, ``(m, t)``."""
        # whole numbers below 2^24 are exact in float32, in any order of summation
        return self._sizes - coalitions.astype(np.float32) @ self._sets.T.astype(
            np.float32
        )

    def _shared(self, numbers: np.ndarray) -> np.ndarray:
        """Return each player's sum of equal shares of the numbers of its sets, ``(p,)``."""
        return (numbers / np.maximum(self._sizes, 1)) @ self._sets


class DividendGame(_SetGame):
    """A sum of unanimity games: v(S) = sum of the dividends of all subsets of S.

    Parameters
    ----------
    n_players : int
    dividends : mapping of tuple of int to float
        The Harsanyi dividend of each set of players; the empty tuple's is v(empty).

    References
    ----------
    Harsanyi (1963), A simplified bargaining model for the n-person cooperative game,
    International Economic Review 4: a dividend is divided equally among the members of
    its set.

    Examples
    --------
    >>> from skshapley.testing import DividendGame
    >>> DividendGame(3, {(0,): 1.0, (0, 1, 2): 6.0}).shapley_values
    array([3., 2., 2.])
    """

    def __init__(
        self,
        n_players: int,
        dividends: Mapping[tuple[int, ...], float],
    ) -> None:
        super().__init__(n_players, dividends)
        self.dividends = dict(dividends)

    def __call__(self, coalitions: np.ndarray) -> np.ndarray:
        """Return the sums of the dividends within each coalition."""
        return np.where(self._absent(coalitions) == 0, self._numbers, 0.0).sum(axis=1)

    @property
    def shapley_values(self) -> np.ndarray:
        """Each dividend in equal shares."""
        return self._shared(self._numbers)


class FourierGame(_SetGame):
    """A sum of parities: v(S) = sum over sets T of c_T prod_{j in T} s_j, s_j = 1 in S, else -1.

    Only odd sets contribute to the Shapley values: phi_i = 2 sum over odd T that
    contain i of c_T/|T|. Antithetic pairs cancel the even part of a game, but not its
    odd part.

    Parameters
    ----------
    n_players : int
    coefficients : mapping of tuple of int to float

    References
    ----------
    O'Donnell (2014), Analysis of Boolean Functions, section 1.2 (the expansion).

    Examples
    --------
    >>> from skshapley.testing import FourierGame
    >>> FourierGame(3, {(0,): 1.0, (0, 1): 5.0, (0, 1, 2): 3.0}).shapley_values
    array([4., 2., 2.])
    """

    def __init__(
        self,
        n_players: int,
        coefficients: Mapping[tuple[int, ...], float],
    ) -> None:
        super().__init__(n_players, coefficients)
        self.coefficients = dict(coefficients)

    def __call__(self, coalitions: np.ndarray) -> np.ndarray:
        """Return the sums of the signed coefficients."""
        return np.where(
            self._absent(coalitions) % 2 == 0,
            self._numbers,
            -self._numbers,
        ).sum(axis=1)

    @property
    def shapley_values(self) -> np.ndarray:
        """Twice the odd coefficients, in equal shares."""
        return self._shared(2 * self._numbers * (self._sizes % 2))


class RandomGame(CooperativeGame):
    """Independent standard normal values of all 2^p coalitions; Shapley values by `brute_force`.

    Parameters
    ----------
    n_players : int
        At most about 16.
    seed : int, default=0
    null_players : sequence of int, default=()
        Players without effect.

    Examples
    --------
    >>> from skshapley.testing import RandomGame
    >>> RandomGame(3, seed=0, null_players=[1]).shapley_values[1] == 0
    np.True_
    """

    def __init__(
        self,
        n_players: int,
        seed: int = 0,
        null_players: Sequence[int] = (),
    ) -> None:
        self.n_players = n_players
        self.seed = seed
        self.null_players = tuple(null_players)

    @cached_property
    def _table(self) -> np.ndarray:
        # 512 kB for 16 players, and twice as much for each further player.
        return np.random.default_rng(self.seed).standard_normal(2**self.n_players)

    def __call__(self, coalitions: np.ndarray) -> np.ndarray:
        """Return the values from a table."""
        bits = 2 ** np.arange(self.n_players)
        # Coalitions that differ in these players only share an entry of the table.
        bits[list(self.null_players)] = 0
        return self._table[coalitions @ bits]

    @cached_property
    def shapley_values(self) -> np.ndarray:
        """By `brute_force`."""
        return brute_force(self, self.n_players)


class StackedGame(CooperativeGame):
    """Several games over the same players, as k outputs of one game.

    Parameters
    ----------
    games : sequence of CooperativeGame
        Each of one output.

    Examples
    --------
    >>> from skshapley.testing import AdditiveGame, DividendGame, StackedGame
    >>> pair = DividendGame(2, {(0, 1): 1.0})
    >>> StackedGame([AdditiveGame([1.0, 3.0]), pair]).shapley_values
    array([[1. , 0.5],
           [3. , 0.5]])
    """

    def __init__(self, games: Sequence[CooperativeGame]) -> None:
        self.games = tuple(games)
        self.n_players = self.games[0].n_players

    def __call__(self, coalitions: np.ndarray) -> np.ndarray:
        """Return the values of all games, ``(m, k)``."""
        return np.stack([game(coalitions) for game in self.games], axis=1)

    @property
    def shapley_values(self) -> np.ndarray:
        """One column per game."""
        return np.stack([game.shapley_values for game in self.games], axis=1)


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
                np.arange(self.n_references),
                (r, m, self.n_references),
            )
        else:
            weights = np.full(references.shape[2], 1 / references.shape[2])
        hybrid = np.where(
            coalitions[:, :, None, :],
            self.X[rows][:, None, None, :],
            self.background[references],
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
            self.function,
            self.X[rows],
            self.background,
            self.reference_weights,
        )

    @property
    def shapley_values(self) -> np.ndarray:
        """By `brute_force`, ``(r, p, k)``."""
        return brute_force_rows(self)


def brute_force_rows(game: Game) -> np.ndarray:
    """Return the Shapley values of each row of a game by `brute_force`, ``(r, p, k)``."""
    functions = (
        lambda coalitions, row=row: game(coalitions[None], np.array([row]))[0]
        for row in range(game.n_rows)
    )
    return np.array([brute_force(function, game.n_players) for function in functions])


def as_instances(game: Any, n: int = 1) -> HybridGame:
    """Return a cooperative game as a game of `n` equal rows, against a single reference.

    Parameters
    ----------
    game : CooperativeGame
        The game.
    n : int, default=1
        Number of rows.
    """
    # picklable, for workers
    return HybridGame(
        partial(_of_rows, game),
        np.ones((n, game.n_players)),
        np.zeros((1, game.n_players)),
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
    )
    entropy = entropy_from(random_state, "explain_game")
    return run(game, request.plan(Size.of(game)), entropy, n_jobs=n_jobs)
