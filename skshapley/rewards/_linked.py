"""A link after the mean: the worth of a coalition is a function of its mean response.

Chen, Song, Wainwright & Jordan (2018), section 2.1, score a coalition by the logarithm
of the mean probability. The mean of the logarithms is a different game.
"""

from abc import abstractmethod
from collections.abc import Callable
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from skshapley._tools._params import Constraint
from skshapley.exceptions import ModelOutputError
from skshapley.rewards._game import Game, empty_values


class WrappedGame(Game):
    """Base class of games on the rows, players and model of another game.

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
        self.n_players = game.n_players
        self.n_rows = game.n_rows
        self.n_outputs = game.n_outputs
        self.rows_per_value = game.rows_per_value
        self.bytes_per_row = game.bytes_per_row
        self.parted_by_instance = game.parted_by_instance

    @property
    def shared(self) -> Any:
        """Return the shared state of the other game."""
        return self._game.shared

    @shared.setter
    def shared(self, content) -> None:
        # A copy, because other games may wrap the same one.
        self._game = copy(self._game)
        self._game.shared = content

    def empty(self, rows) -> NDArray[np.float64]:
        """Return v(empty) in the other game, ``(r, 1, k)``."""
        return empty_values(self._game, rows)[:, None]

    def full(self, rows) -> NDArray[np.float64]:
        """Return v(all) in the other game, ``(r, k)``."""
        return self._game.full(rows)

    def keys(self, rows) -> NDArray[np.uint64]:
        """Return the keys of the rows to explain in the other game."""
        return self._game.keys(rows)

    def active(self, rows) -> NDArray[np.bool_]:
        """Return the players with a possible effect in the other game."""
        return self._game.active(rows)

    def take(self, rows) -> Self:
        """Return the game of some rows."""
        selection = copy(self)
        selection._game, selection.n_rows = self._game.take(rows), len(rows)
        for name in self.by_row:
            setattr(selection, name, getattr(self, name)[rows])
        return selection


class WeightedGame(WrappedGame):
    """Base class of games in which every coalition has its own weights of background rows.

    Subclasses define the weights (`_weights`).

    Parameters
    ----------
    game : InterventionalGame
        The game of the same model with equal weights.
    """

    _game: Any

    @abstractmethod
    def _weights(self, coalitions, rows) -> NDArray[np.float64]:
        """Return the weights of background rows, with sum 1, ``(n, b)``.

        Parameters
        ----------
        coalitions : ndarray of shape (n, p), bool
        rows : ndarray of shape (n,), int
        """

    def __call__(self, coalitions, rows, references=None) -> NDArray[np.float64]:
        """Return the weighted mean responses, ``(r, m, k)``."""
        r, m, p = coalitions.shape
        flat, repeated = coalitions.reshape(-1, p), np.repeat(rows, m)
        weights = self._weights(flat, repeated)
        # Rows of weight 0 are never passed to the model.
        line, reference = np.nonzero(weights)
        outputs = self._game.against(flat[line], repeated[line], reference[:, None])[
            :, 0
        ]
        # Every coalition keeps at least its nearest row, so no sum is empty.
        starts = np.flatnonzero(np.diff(line, prepend=-1))
        values = np.add.reduceat(
            weights[line, reference][:, None] * outputs, starts, axis=0
        )
        return values.reshape(r, m, -1)


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

    def __call__(self, coalitions, rows, references=None) -> NDArray[np.float64]:
        """Return the links of the means, ``(r, m, k)``."""
        return linked(self.link, self._game(coalitions, rows, None))

    @property
    def means(self) -> Game | None:
        """The game of the means."""
        return self._game

    def of_means(self, means) -> NDArray[np.float64]:
        """Return the link of the mean over groups, plus each group's effect by the slope."""
        mean = means.mean(axis=1, keepdims=True)
        values = linked(self.link, mean)
        if means.shape[1] > 1:
            values = values + slope(self.link, mean) * (means - mean)
        return values

    def empty(self, rows) -> NDArray[np.float64]:
        """Return the link of the mean over the background, ``(r, 1, k)``."""
        return linked(self.link, super().empty(rows))

    def full(self, rows) -> NDArray[np.float64]:
        """Return the link of the response of the rows, ``(r, k)``."""
        return linked(self.link, super().full(rows))


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
        responses = game.against(coalitions.reshape(-1, p), np.repeat(rows, m), every)
        mean = np.einsum("nbk,b->nk", responses, weights)
        away = weights[:, None] * (responses - mean[:, None])
        sums = np.add.reduceat(away, self._starts, axis=1)
        parts = sums * slope(self.link, mean)[:, None]
        return np.swapaxes(parts, 1, 2).reshape(r, m, -1)

    def empty(self, rows) -> NDArray[np.float64]:
        """Return the influences on v(empty), ``(r, 1, k F)``."""
        return self(np.zeros((len(rows), 1, self.n_players), dtype=bool), rows)

    def full(self, rows) -> NDArray[np.float64]:
        """Return zeros ``(r, k F)``, because v(all) uses no background row."""
        return np.zeros((len(rows), self.n_outputs))
