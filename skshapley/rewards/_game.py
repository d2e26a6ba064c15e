"""Games: their protocol, functions of coalitions, and games of other games.

A link after the mean: Chen, Song, Wainwright & Jordan (2018), section 2.1, score a
coalition by the logarithm of the mean probability. The mean of the logarithms is a
different game.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import logit

from skshapley._records._outcome import Settings, label
from skshapley._references import RowOrder
from skshapley._tools import Constraint
from skshapley.exceptions import ModelOutputError
from skshapley.explanation import Explanation
from skshapley.rewards._response import Response, finite_numbers


class Known(NamedTuple):
    """Known Shapley values of a part of a game.

    Attributes
    ----------
    values, standard_errors : ndarray of shape (r, p, k)
    variances : ndarray of shape (r, p, k)
        Variances of the values against single background rows.
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
        The value that replaces theirs.
    coalitions : list of ndarray of shape (p,), bool
        The coalitions found, in the parent process.
    """

    worth: float
    coalitions: list[np.ndarray] = field(default_factory=list)


class Game(ABC):
    """Base class of games: v(S) for r rows to explain, p players and k outputs.

    A game is a reward bound to rows. It is picklable, and a pure function: all random
    numbers were drawn before.

    Attributes
    ----------
    n_players, n_rows, n_outputs : int
        p, the number of rows to explain, k.
    n_references : int
        b, the number of background rows; 1 for a game without a background.
    reference_weights : ndarray of shape (b,)
        Their weights, with sum 1.
    row_order : RowOrder or None
        The background rows in balanced order, if not all of them are used. None: random
        order.
    rows_per_value : int
        Model rows per evaluation.
    bytes_per_row : int
        Memory of one model row.
    most_values : int
        Largest number of coalitions per call. With 1, as for a costly reward, every
        evaluation can go to another worker.
    parted_by_instance : bool
        Whether coalitions of a row share computations, so that dividing them may change
        the rounding. Calls then divide them in the same way for any other rows.
    v_empty : ndarray of shape (n_rows, k) or None
        v(empty) against the whole table, if the background rows are a sample; None: the
        mean over these rows.
    unvalued : Unvalued or None
        Record of coalitions that may be NaN; None: NaN raises ModelOutputError.
    shared : object or None
        The shared part of the games of all rows, such as the model. `take` passes it
        on. Workers receive it separately, so a cluster sends it only once.
    means : Game or None
        The game of means, if each value is a function of means over the background.
    """

    n_players: int
    n_rows: int
    n_outputs: int
    n_references: int = 1
    reference_weights: np.ndarray = np.ones(1)
    row_order: RowOrder | None = None
    rows_per_value: int = 1
    bytes_per_row: int = 8
    most_values: int = 8192
    parted_by_instance: bool = False
    v_empty: NDArray[np.float64] | None = None
    unvalued: Unvalued | None = None
    shared: Any = None
    means: "Game | None" = None

    @abstractmethod
    def __call__(self, coalitions, rows, references=None) -> np.ndarray:
        """Return the values of coalitions.

        Parameters
        ----------
        coalitions : ndarray of shape (r, m, p), bool
        rows : ndarray of shape (r,), int
            The row to explain of each line of coalitions.
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
            Positions of the rows.
        """

    @abstractmethod
    def full(self, rows) -> np.ndarray:
        """Return v(all) of the rows, ``(r, k)``.

        Parameters
        ----------
        rows : ndarray of shape (r,), int
            Positions of the rows.
        """

    def of_means(self, means: np.ndarray) -> np.ndarray:
        """Return values from means over groups of references.

        Parameters
        ----------
        means : ndarray of shape (u, G, k)
            Values of `means` against G groups of equally many references.

        Returns
        -------
        values : ndarray of shape (u, G, k)
            The function of the mean over groups, plus the effect of each group on it.
        """
        return means

    def remainder(self) -> Any:
        """Return the game minus a part with known Shapley values, or None.

        The `known` of that game returns the values of the part (`Known`) for rows.
        """
        return None

    def keys(self, rows) -> np.ndarray:
        """Return the key of each row to explain, used to seed random numbers, ``(r,)`` int.

        Rows with equal keys have equal explanations. By default, the keys are
        positions. Rewards use a hash of the content, so that the same row has the same
        explanation in every table.

        Parameters
        ----------
        rows : ndarray of shape (r,), int
            Positions of the rows.
        """
        return rows

    def active(self, rows) -> np.ndarray:
        """Return True for players with a possible effect, ``(r, p)``; others get 0 at no cost.

        Parameters
        ----------
        rows : ndarray of shape (r,), int
            Positions of the rows.
        """
        return np.ones((len(rows), self.n_players), dtype=bool)

    def differing(self, rows, references) -> np.ndarray | None:
        """Return True for players that differ from a background row, ``(n, p)`` bool, or None.

        Other players have no effect against this background row, so coalitions with and
        without them are evaluated once, and permutations skip their steps. None:
        unknown.

        Parameters
        ----------
        rows : ndarray of shape (n,), int
            Positions of the rows.
        references : ndarray of shape (n,), int
            One background row for each of them.
        """
        return None

    def take(self, rows) -> "Game":
        """Return the renumbered game of some rows, for a worker.

        Parameters
        ----------
        rows : ndarray of shape (r,), int
            Positions of the rows, in any order, with repetitions.
        """
        # A game of one row needs no method, so simple games stay simple.
        if not np.array_equal(rows, np.arange(self.n_rows)):
            raise NotImplementedError(
                f"{type(self).__name__} has {self.n_rows} rows to explain but no "
                "take(rows), which workers need: write one, or choose n_jobs=None."
            )
        return self


def empty_values(game: Game, rows: np.ndarray) -> NDArray[np.float64]:
    """Return v(empty) of the rows against all background rows, ``(r, k)``."""
    if game.v_empty is not None:
        return game.v_empty[rows]
    # No matrix product, whose last bits may depend on the number of rows.
    return (game.reference_weights[:, None] * game.empty(rows)).sum(axis=1)


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
        self.function = function
        self.n_players = n_players
        self.bytes_per_row = n_players
        # Both ends in one call also show the number of outputs, before any budget is
        # spent.
        raw = function(np.repeat([[False], [True]], n_players, axis=1))
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
        response = self.response
        column = self._winners[0] if response.predicted else response.column
        names = response.names
        return Settings(
            model=label(response.estimator),
            response_method=label(response.method),
            output=None if names is None or column is None else names[column],
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


# Attributes that a wrapped game passes on
SHARED_SIZES = (
    *("n_players", "n_rows", "n_outputs"),
    *("rows_per_value", "bytes_per_row", "parted_by_instance"),
)


class WrappedGame(Game):
    """Base class of games on the rows, players and model of another game.

    The values of the empty and the full coalition are functions (`worth`) of those in
    the other game.

    Samplers see a single reference, because averages over the background are computed
    inside.

    Parameters
    ----------
    game : Game

    Attributes
    ----------
    by_row : tuple of str
        Names of the attributes with one entry for each row to explain.
    """

    by_row: tuple[str, ...] = ()

    def __init__(self, game: Game) -> None:
        self._game = game
        for name in SHARED_SIZES:
            setattr(self, name, getattr(game, name))

    @property
    def shared(self) -> Any:
        """Return the shared state of the other game."""
        return self._game.shared

    @shared.setter
    def shared(self, content) -> None:
        # A copy, because other games may wrap the same one.
        self._game = copy(self._game)
        self._game.shared = content

    def worth(self, values, rows) -> NDArray[np.float64]:
        """Return the values for values of the other game, ``(r, m, k)``."""
        return values

    def empty(self, rows) -> NDArray[np.float64]:
        """Return v(empty), ``(r, 1, k)``."""
        return self.worth(empty_values(self._game, rows)[:, None], rows)

    def full(self, rows) -> NDArray[np.float64]:
        """Return v(all), ``(r, k)``."""
        return self.worth(self._game.full(rows)[:, None], rows)[:, 0]

    def keys(self, rows) -> NDArray[np.uint64]:
        """Return the keys of the rows to explain in the other game."""
        return self._game.keys(rows)

    def active(self, rows) -> NDArray[np.bool_]:
        """Return the players with a possible effect in the other game."""
        return self._game.active(rows)

    def take(self, rows) -> Self:
        """Return the game of some rows."""
        selection = copy(self)
        selection._game = self._game.take(rows)
        selection.n_rows = len(rows)
        for name in self.by_row:
            setattr(selection, name, getattr(self, name)[rows])
        return selection


class NumericGame(WrappedGame):
    """Base class of games of a model that takes the rows to explain as numbers.

    Parameters
    ----------
    game : InterventionalGame
        The game of mean responses over the background.
    numbers : ndarray of shape (r, d)
        The rows to explain as numbers of the model.
    rows_per_value : int, default=1
    """

    _game: Any
    by_row = ("_numbers",)

    def __init__(self, game, numbers, rows_per_value=1) -> None:
        super().__init__(game)
        self._numbers = numbers
        self.rows_per_value = rows_per_value


class WeightedGame(NumericGame):
    """A game in which every coalition has its own weights of background rows.

    The shared model has the weights (`row_weights`).
    """

    def __call__(self, coalitions, rows, references=None) -> NDArray[np.float64]:
        """Return the weighted mean responses, ``(r, m, k)``."""
        r, m, p = coalitions.shape
        flat = coalitions.reshape(-1, p)
        repeated = np.repeat(rows, m)
        weights = self.shared.row_weights(self._numbers[repeated], flat)
        # Rows of weight 0 are never passed to the model.
        line, reference = np.nonzero(weights)
        outputs = self._game.against(flat[line], repeated[line], reference[:, None])
        # Every coalition keeps at least its nearest row, so no sum is empty.
        starts = np.flatnonzero(np.diff(line, prepend=-1))
        return np.add.reduceat(
            weights[line, reference][:, None] * outputs[:, 0],
            starts,
            axis=0,
        ).reshape(r, m, -1)


LINKS: dict[str, Callable[[Any], Any]] = {"log": np.log, "logit": logit}
SLOPES: dict[str, Callable[[Any], Any]] = {
    "log": np.reciprocal,
    "logit": lambda m: 1 / (m - m**2),
}
LINK = Constraint(
    lambda link: (
        link is None or callable(link) or (isinstance(link, str) and link in LINKS)
    ),
    'None, "log", "logit" or a function of an array of means',
)
MOST_FOLDS = 20  # parts of the background, for its standard errors
STEP = 1e-6  # step of a central difference, relative to the mean


class LinkedGame(WrappedGame):
    """The game of a link of the mean response; each value uses all background rows.

    Parameters
    ----------
    game : Game
        Its values are the means.
    link : str or callable
    """

    def __init__(self, game: Any, link: Any) -> None:
        super().__init__(game)
        self.link = link

    def worth(self, means, rows) -> NDArray[np.float64]:
        """Return the links of means, ``(r, m, k)``."""
        return linked(self.link, means)

    def __call__(self, coalitions, rows, references=None) -> NDArray[np.float64]:
        """Return the links of the means, ``(r, m, k)``."""
        return self.worth(self._game(coalitions, rows), rows)

    @property
    def means(self) -> Game | None:  # type: ignore[override]
        """The game of the means."""
        return self._game

    def of_means(self, means) -> NDArray[np.float64]:
        """Return the link of the mean over groups, plus each group's effect by the slope."""
        mean = means.mean(axis=1, keepdims=True)
        values = linked(self.link, mean)
        if means.shape[1] > 1:
            values = values + slope(self.link, mean) * (means - mean)
        return values


def linked(link: Any, means: np.ndarray) -> NDArray[np.float64]:
    """Return the link of means, or raise ModelOutputError unless it is finite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        links = LINKS.get(link, link)(means)
    values = np.asarray(links, dtype=np.float64)
    if values.shape != np.shape(means) or not np.isfinite(values).all():
        raise ModelOutputError(
            f"link={link!r} returned no finite number for each mean response; "
            f"they are between {np.min(means):.4g} and {np.max(means):.4g}. Choose "
            "a link that accepts them, or link=None."
        )
    return values


def slope(link: Any, mean: np.ndarray) -> NDArray[np.float64]:
    """Return the derivative of the link at means; by a central difference for a function."""
    if link in SLOPES:  # a step from a mean next to 1 could leave the domain
        return SLOPES[link](mean)
    # Relative to the mean, with a floor for means of 0; the relative error is about
    # STEP^2.
    step = STEP * (np.abs(mean) + STEP)
    return (linked(link, mean + step) - linked(link, mean - step)) / (2 * step)


class InfluenceGame(WrappedGame):
    """The share of each part of the background in the error of a linked game (delta method).

    The values are ``link'(m(S)) * sum over r in the part of w_r (f_r(S) - m(S))``, with
    adjacent outputs of a part. Their Shapley values are the contributions of the part
    to the values of the linked game.
    """

    def __init__(self, game: Any, link: Any) -> None:
        super().__init__(game)
        self.link = link
        folds = min(MOST_FOLDS, game.n_references)
        self._starts = np.arange(folds) * game.n_references // folds
        self.n_outputs = game.n_outputs * folds

    def errors(self, influences) -> NDArray[np.float64]:
        """Return the standard errors ``(r, p, k)`` due to the background.

        Parameters
        ----------
        influences : ndarray of shape (r, p, k F)
            Shapley values of this game.
        """
        # A jackknife over parts: F / (F - 1) makes the sum of squares unbiased.
        folds = len(self._starts)
        parts = influences.reshape(*influences.shape[:2], -1, folds)
        scale = folds / (folds - 1) if folds > 1 else np.nan
        return np.sqrt((parts**2).sum(axis=-1) * scale)

    def __call__(self, coalitions, rows, references=None) -> NDArray[np.float64]:
        """Return the influences, ``(r, m, k F)``."""
        r, m, p = coalitions.shape
        game: Any = self._game
        weights = game.reference_weights
        every = np.broadcast_to(np.arange(len(weights)), (r * m, len(weights)))
        responses = game.against(
            coalitions.reshape(-1, p),
            np.repeat(rows, m),
            every,
        )
        mean = np.einsum("nbk,b->nk", responses, weights)
        away = weights[:, None] * (responses - mean[:, None])
        parts = (
            np.add.reduceat(away, self._starts, axis=1)
            * slope(self.link, mean)[:, None]
        )
        return np.swapaxes(parts, 1, 2).reshape(r, m, -1)

    def empty(self, rows) -> NDArray[np.float64]:
        """Return the influences on v(empty), ``(r, 1, k F)``."""
        return self(np.zeros((len(rows), 1, self.n_players), dtype=bool), rows)

    def full(self, rows) -> NDArray[np.float64]:
        """Return zeros ``(r, k F)``, because v(all) uses no background row."""
        return np.zeros((len(rows), self.n_outputs))
