"""Base class of solvers, the correction of sums, and standard errors of means.

Standard errors have allowances for events that no draw has seen, and constant values.
If n draws of a player agree, they may have missed an event of probability q with
probability (1 - q)^n. The size of such an event is that of the player's own
contributions: another player's may be a thousand times larger. Constant contributions
count with the largest variation of another player at most. Only contributions that
another player made in a single draw tell about unseen ones. Their number over n
estimates the probability of events that were not seen (Good 1953).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from skshapley._references import RowOrder
from skshapley._tools import Parametrised, positive_sizes, rule_of_three
from skshapley.designs import CoalitionDesign
from skshapley.indices import INDICES, Index

SMALL_GAP = 1e-9  # share of the means: a smaller gap counts as 0


def without_gap(
    means: np.ndarray,
    variances: np.ndarray,
    gain: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return means that add up to `gain`, and their shares of the correction.

    Shares are in proportion to the variances: the projection of least squares, if the
    means are independent. If all variances are 0, they are in proportion to the squares
    of the means, or equal if these are 0 too.

    Parameters
    ----------
    means, variances : ndarray of shape (r, p, k)
        Variances may have any unit, equal for all players of a row.
    gain : ndarray of shape (r, k)
        v(all) - v(empty).

    Returns
    -------
    means : ndarray of shape (r, p, k)
    shares : ndarray of shape (r, p, k)
        With sum 1 over players.
    """
    shares = np.where(
        variances.sum(axis=1, keepdims=True) <= 0,
        means**2,
        variances,
    )
    # All means and variances zero: nothing distinguishes the players, so they share
    # equally.
    shares = np.where(
        shares.sum(axis=1, keepdims=True) > 0,
        shares,
        1.0,
    )
    shares /= shares.sum(axis=1, keepdims=True)
    return means + shares * (gain[:, None] - means.sum(axis=1, keepdims=True)), shares


def errors_without_gap(
    errors: np.ndarray,
    shares: np.ndarray,
    means: np.ndarray,
    gain: np.ndarray,
) -> np.ndarray:
    """Return the standard errors of means after the correction of their sum, ``(r, p, k)``.

    A gap that exceeds the errors comes from contributions that few draws contain. Their
    players are unknown, so each player's error includes at least an equal share of the
    gap.

    Parameters
    ----------
    errors : ndarray of shape (r, p, k)
        Standard errors of the independent means.
    shares, means, gain
        As in `without_gap`.
    """
    squares = errors**2
    # Var(m_i + c_i (g - sum m)) for independent means: (1 - c_i)^2 s_i^2 plus c_i^2 of
    # the other variances.
    other_variances = np.empty_like(squares)
    for i in range(squares.shape[1]):
        # A larger error with a smaller share allows for contributions that no draw has
        # seen. It is no error of this player, and counts as its own.
        other_variances[:, i] = np.where(
            shares >= shares[:, [i]],
            squares,
            np.minimum(squares, squares[:, [i]]),
        ).sum(axis=1)
    return np.sqrt(
        np.maximum(
            squares * (1 - 2 * shares) + shares**2 * other_variances,
            0.0,
        )
        + unexplained(squares.sum(axis=1, keepdims=True), shares, means, gain)
    )


def unexplained(
    total: np.ndarray | float,
    shares: np.ndarray,
    means: np.ndarray,
    gain: np.ndarray,
) -> np.ndarray:
    """Return the variance to add for a gap beyond a variance of `total`, ``(r, p, k)``."""
    gap = np.abs(gain[:, None] - means.sum(axis=1, keepdims=True))
    # Rounding of sums must not turn exact values into values with errors.
    gap = np.where(
        gap > SMALL_GAP * np.abs(means).sum(axis=1, keepdims=True),
        gap,
        0.0,
    )
    return np.maximum(shares, 1 / means.shape[1]) ** 2 * np.maximum(gap**2 - total, 0.0)


class Estimate(NamedTuple):
    """A solver's current estimates.

    Attributes
    ----------
    values : ndarray of shape (r, e, k)
        One value per entry: attributions of the e = p players, in the units of the
        reward.
    standard_errors : ndarray of shape (r, e, k) or None
        NaN if a row has too few units; None if the method has no standard errors.
    background_errors : ndarray of shape (r, e, k) or None
        Standard errors due to the background as a sample; None if the method has none.
    additive : ndarray of shape (r,), bool, or None
        Rows that seem additive against each background row. They are exact after every
        background row was used, so a stopping rule waits for this. None if unknown.
    """

    values: np.ndarray
    standard_errors: np.ndarray | None
    background_errors: np.ndarray | None = None
    additive: np.ndarray | None = None


@dataclass(frozen=True)
class SolverTraits:
    """Abilities of a solver.

    Attributes
    ----------
    standard_errors : bool
        Whether `result` has standard errors, as a stopping rule requires. Very large or
        very small values are then passed in units of a power of two, since errors take
        powers of the values.
    confirms : bool
        Whether a row stops only if it passes two checks of a stopping rule in a row, the
        second one with new coalitions. For errors that rely on a fitted model of the
        game, which may agree with few coalitions by chance.
    planned : tuple of type
        Design classes without draws beyond the plan, which the budget of repeated
        coalitions would pay.
    indices : tuple of str
        Indices that the solver estimates from every accepted design.
    any_index : tuple of type
        Design classes from which it estimates any index.
    parts : tuple of type
        Design classes from which Shapley values are estimated without bias. A part of
        the game with known Shapley values can then be subtracted, and its values added.
    pairs, symmetric_pairs : tuple of type
        Design classes for interactions of pairs, by any index or by a symmetric one.
    """

    standard_errors: bool = True
    confirms: bool = False
    planned: tuple[type, ...] = ()
    indices: tuple[str, ...] = ("shapley",)
    any_index: tuple[type, ...] = ()
    parts: tuple[type, ...] = ()
    pairs: tuple[type, ...] = ()
    symmetric_pairs: tuple[type, ...] = ()

    def gives(self, design: type, index: Index) -> bool:
        """Return True if the solver can estimate the given index of single players.

        Parameters
        ----------
        design : type
            The class of the sampler's designs.
        index : Index
        """
        # By equality, not by name: an index built by a user may equal one of the known
        # ones.
        supported = any(index == INDICES[name] for name in self.indices)
        return supported or issubclass(design, self.any_index)

    def gives_pairs(self, design: type, index: Index) -> bool:
        """Return True if the solver can estimate interactions of pairs for the given index.

        Parameters
        ----------
        design : type
            The class of the sampler's designs.
        index : Index
        """
        symmetric = index.symmetric and issubclass(design, self.symmetric_pairs)
        return symmetric or issubclass(design, self.pairs)


@dataclass(frozen=True, eq=False)
class SolverTask:
    """The rows for which a solver starts, and the requested indices.

    Attributes
    ----------
    n_players : int
    v_empty, v_full : ndarray of shape (r, k)
        Values of the empty and the full coalition of each row.
    players : ndarray of shape (r, n_players), int, or None
        Numbers of these players in the game, for each row; None for all players.
    row_order : RowOrder or None
        The background rows in balanced order with their known quantities, if a sample
        is used.
    index : Index
        Index of the players' values.
    pairs : Index or None
        Index of the requested interactions; None for no interactions.
    margins : ndarray of shape (r, n_players) or None
        Known Shapley values of the log-odds of the values (`run`).
    """

    n_players: int
    v_empty: np.ndarray
    v_full: np.ndarray
    players: np.ndarray | None = None
    row_order: RowOrder | None = None
    index: Index = INDICES["shapley"]
    pairs: Index | None = None
    margins: np.ndarray | None = None


class Solver(Parametrised, ABC):
    """Base class of solvers.

    A solver has parameters only. The engine calls `start` once for a block of rows,
    `update` for each design, and `result` for each estimate.

    Attributes
    ----------
    accepts : tuple of type
        The design classes that `update` accepts.
    default_sampler : str
        The sampler for ``sampler="auto"`` with this solver.
    traits : SolverTraits
        Abilities.
    """

    accepts: tuple[type, ...]
    default_sampler: str
    traits: SolverTraits = SolverTraits()

    def check_players(self, n_players: int) -> None:
        """Raise ValueError if there are too many players, before any evaluation.

        Parameters
        ----------
        n_players : int

        Raises
        ------
        ValueError
            If the parameters do not allow this number of players.
        """

    def start(self, task: SolverTask) -> Self:
        """Prepare a run.

        Parameters
        ----------
        task : SolverTask

        Returns
        -------
        self
        """
        self.n_players_ = task.n_players
        self.v_empty_ = task.v_empty
        self.v_full_ = task.v_full
        self.gain_ = task.v_full - task.v_empty
        self.index_ = task.index
        self.pairs_ = task.pairs
        self._start(task)
        return self

    def _start(self, task: SolverTask) -> None:
        """Set up the state of a run."""

    @abstractmethod
    def update(
        self,
        rows: np.ndarray,
        design: Any,
        values: np.ndarray,
    ) -> None:
        """Process the values of a design.

        Parameters
        ----------
        rows : ndarray of shape (r,), int
            Positions among the rows passed to `start`.
        design : instance of one of `accepts`
        values : ndarray of shape (r, m, k)
            Values of the design's coalitions, including the empty and the full one.
        """

    def look_at(self, rows: np.ndarray) -> None:
        """Choose rows for the next `result`; that of others may be an earlier estimate.

        Parameters
        ----------
        rows : ndarray of shape (u,), int
            Positions among the rows passed to `start`.
        """

    @abstractmethod
    def result(self) -> Estimate:
        """Return the estimate of all rows."""


class CoalitionSolver(Solver):
    """Store the coalitions and the values of each row; subclasses implement `_solve`."""

    accepts: tuple[type, ...] = (CoalitionDesign,)
    default_sampler = "leverage"

    def _start(self, task: SolverTask) -> None:
        self._kept: list[list[list]] = [[] for _ in self.v_empty_]

    def update(
        self,
        rows: np.ndarray,
        design: CoalitionDesign,
        values: np.ndarray,
    ) -> None:
        """Store the coalitions, the expected draws of their sizes, and their values."""
        self._design = design
        for row, *sample in zip(
            rows,
            design.coalitions,
            design.expected_draws / design.coalitions.shape[1],
            values,
            strict=True,
        ):
            self._kept[row].append(sample)

    def result(self) -> Estimate:
        """Return the solution of each row, with standard errors."""
        solved = []
        for row, samples in enumerate(self._kept):
            coalitions, rates, values = (
                np.concatenate(part) for part in zip(*samples, strict=True)
            )
            solved.append(self._solve(row, coalitions, rates * len(rates), values))
        return Estimate(*(np.stack(part) for part in zip(*solved, strict=True)))

    @abstractmethod
    def _solve(
        self,
        row: int,
        coalitions: np.ndarray,
        expected: np.ndarray,
        values: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the values and the standard errors of a row, ``(p, k)`` each.

        Parameters
        ----------
        row : int
        coalitions : ndarray of shape (m, p), bool
        expected : ndarray of shape (m,)
            Expected number of coalitions of that size.
        values : ndarray of shape (m, k)
        """


def entries(n_players: int, pairs: Index | None) -> np.ndarray:
    """Return the sorted set of players of each value, ``(e, size)`` int.

    There is one entry per player. If interactions are requested, one entry per pair
    follows. A single player is then a pair of two equal players.

    Parameters
    ----------
    n_players : int
    pairs : Index or None
            Index of the requested interactions.
    """
    players = np.arange(n_players)[:, None]
    if pairs is None:
        return players
    return np.concatenate(
        [np.repeat(players, 2, axis=1), np.array(np.triu_indices(n_players, 1)).T]
    )


# FEW**n is the probability that n draws miss an event of probability 2/5. Below six
# draws, an event of this size is missed more often than once in twenty runs (.6^6 =
# .047).
FEW = 0.6
FEW_DRAWS = 6
# Share of the size of an unseen contribution: draws with less variation agree. With
# 1e-6, intervals of games that are nearly constant hold .87 instead of .99.
AGREE = 1e-3
# Share of the largest contribution: with less, numbers of single precision are constant
CONSTANT = 1e-6
# A player's largest contribution is rare if it is this many times its second largest.
RARE = 3.0


class Scale:
    """The sizes of contributions, by row, player and output.

    Parameters
    ----------
    n_rows, n_players, n_outputs : int
    """

    def __init__(self, n_rows: int, n_players: int, n_outputs: int) -> None:
        shape = n_rows, n_players, n_outputs
        self._low = np.full(shape, np.inf)
        self._high = np.full(shape, -np.inf)
        # the two largest absolute contributions, ascending
        self._top = np.zeros((n_rows, 2, n_players, n_outputs))

    def add(self, rows: Any, seen: np.ndarray) -> None:
        """Add contributions ``(r, n, p, k)`` of distinct `rows`; NaN for none."""
        for name in SIZES:
            vars(self).pop(name, None)
        # a missing contribution counts as 0
        sizes = np.concatenate([self._top[rows], np.fmax(np.abs(seen), 0.0)], axis=1)
        self._top[rows] = np.partition(sizes, -2, axis=1)[:, -2:]
        self._low[rows] = np.fmin(
            self._low[rows],
            np.fmin.reduce(seen, axis=1),
        )
        self._high[rows] = np.fmax(
            self._high[rows],
            np.fmax.reduce(seen, axis=1),
        )

    @cached_property
    def own(self) -> np.ndarray:
        """The range of each player's contributions, zero included, ``(r, p, k)``.

        It is at most the largest variation of a player. If a player changes the
        contributions of others, these change its own.
        """
        return self._limited(np.maximum(self._high, 0.0) - np.minimum(self._low, 0.0))

    @cached_property
    def largest(self) -> np.ndarray:
        """The largest contribution of each player, without its sign, ``(r, p, k)``.

        It has the limits of `own` and `sizes`.
        """
        return self._raised(self._limited(self._top[:, 1]))

    def distances(self, means: np.ndarray) -> np.ndarray:
        """Return the size of unseen contributions of players with equal draws, ``(r, p, k)``.

        An unseen contribution is between the ends of the player's range. Its distance
        from the mean replaces the range in `sizes`.

        Parameters
        ----------
        means : ndarray of shape (r, p, k)
        """
        above = np.maximum(self._high, 0.0) - means
        return self._raised(
            self._limited(np.maximum(above, means - np.minimum(self._low, 0.0)))
        )

    @cached_property
    def range(self) -> np.ndarray:
        """The range of all contributions, zero included, ``(r, 1, k)``."""
        highest = np.maximum(
            self._high.max(axis=1, keepdims=True),
            0.0,
        )
        return highest - np.minimum(self._low.min(axis=1, keepdims=True), 0.0)

    @cached_property
    def sizes(self) -> np.ndarray:
        """The size of an unseen contribution of each player, ``(r, p, k)``.

        It is the player's own range, or its mean with the smallest variation of another
        player.
        """
        return positive_sizes(self._raised(self.own))

    @cached_property
    def frequent(self) -> np.ndarray:
        """The size of an unseen contribution if few draws were made, ``(r, p, k)``.

        It is the player's own range, and at least the median variation of others.
        """
        variations = self._variations
        count = (variations > 0).sum(axis=1, keepdims=True)
        # Players without variation have zeros, which are sorted last.
        return positive_sizes(
            np.maximum(
                self.own,
                np.take_along_axis(variations, np.maximum(count - 1, 0) // 2, axis=1),
            )
        )

    def _limited(self, sizes: np.ndarray) -> np.ndarray:
        """Return sizes, at most the largest variation of a player."""
        largest = self._variations.max(axis=1, keepdims=True)
        return np.where(largest > 0, np.minimum(sizes, largest), sizes)

    def _raised(self, sizes: np.ndarray) -> np.ndarray:
        """Return sizes, at least their means with the smallest variation of a player."""
        return np.maximum(
            sizes,
            (sizes + self._variations[:, :1]) / 2,
        )

    @cached_property
    def _variations(self) -> np.ndarray:
        """The ranges of players that vary, zero not included, ascending, then zeros."""
        variation = self._high - self._low
        varies = variation > CONSTANT * self._top[:, 1].max(axis=1, keepdims=True)
        ascending = np.sort(
            np.where(varies, variation, np.inf),
            axis=1,
        )
        return np.where(np.isinf(ascending), 0.0, ascending)

    @cached_property
    def single(self) -> np.ndarray:
        """The sum of a player's unseen contributions in all draws, ``(r, p, k)``.

        For each player, the contributions larger than its own that another player made
        in a single draw. They are shared among the players without such contributions.
        """
        second, largest = np.moveaxis(self._top, 1, 0)
        second = np.where(largest > RARE * second, 0.0, second)
        # Sorted together, cumulative sums give the totals up to each player's largest.
        order = np.argsort(
            np.concatenate([second, largest, RARE * largest], axis=1),
            axis=1,
            kind="stable",
        )
        none = np.zeros_like(largest)
        sizes = np.concatenate([largest, -largest, none], axis=1)
        counts = np.concatenate(
            [none, np.ones_like(largest), none],
            axis=1,
        )
        places = np.argsort(order, axis=1)[:, 2 * largest.shape[1] :]

        def up_to_limits(numbers: np.ndarray) -> np.ndarray:
            return np.take_along_axis(
                np.cumsum(np.take_along_axis(numbers, order, axis=1), axis=1),
                places,
                axis=1,
            )

        return np.maximum(up_to_limits(sizes), 0.0) / up_to_limits(counts)


# They hold until the next contributions.
SIZES = [
    name for name, part in vars(Scale).items() if isinstance(part, cached_property)
]


def unseen(
    errors: np.ndarray,
    sizes: np.ndarray,
    share: ArrayLike,
    missing: np.ndarray | float = 0.0,
) -> np.ndarray:
    """Return standard errors that allow for an unseen event.

    Errors are widened if all draws agree. Otherwise the spread of the draws is
    sufficient, unless other players' single contributions are larger.

    Parameters
    ----------
    errors : ndarray of shape (..., p, k)
        From the spread of the draws.
    sizes : ndarray of shape (..., p, k)
        The range of each player's contributions. If all are 0, the size of unseen ones
        is unknown: NaN.
    share : float or ndarray that broadcasts to the same shape
        The sum of the squared weights of the draws in the mean: 1/n for n equal
        weights, and 0 for enumerated values.
    missing : ndarray that broadcasts to the same shape, default=0.0
        The mean of unseen contributions (`Scale.single` over n).

    References
    ----------
    Good (1953), The population frequencies of species and the estimation of population
    parameters, Biometrika 40. Hanley & Lippman-Hand (1983), If nothing goes wrong, is
    everything all right?, JAMA 249.
    """
    share = np.minimum(share, 1.0)
    errors = np.where(
        errors <= AGREE * sizes * np.sqrt(share),
        np.maximum(errors, rule_of_three(share) * sizes),
        errors,
    )
    errors = np.maximum(errors, missing)
    return np.where(
        (sizes > 0) | (share <= 0),
        errors,
        np.nan,
    )


def missed(values: np.ndarray, gain: np.ndarray) -> np.ndarray:
    """Return the difference between the gain ``(r, k)`` and the summed attributions, ``(r, 1, k)``.

    If players are estimated separately, some unseen contribution is at least that
    large.
    """
    return np.abs(gain - values.sum(axis=1))[:, None]
