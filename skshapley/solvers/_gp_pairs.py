"""Interactions of pairs of players from the pairs of coalitions of the solver "gp".

The process on the even part, its kernel and the functional are those of `skshapley._even`; the
documentation, "The even-part Gaussian process", derives them. Here: what is done with an instance's
points, and how its errors are held against what it fails to predict.
"""

from collections.abc import Callable

import numpy as np

from skshapley._even import (
    EvenLesson,
    EvenPosterior,
    EvenProcess,
    fit_even,
    quadratic,
    relative,
)
from skshapley._odd import Lesson, Pairs, fit_hyper
from skshapley.indices import Index, enumerated
from skshapley.solvers._gp_errors import overlooked, widened_scale
from skshapley.solvers._gp_straight import ENOUGH_ZEROS, MISSED
from skshapley.solvers._silence import span

LEAST_POINTS = 1.3  # per player, below which nothing can be said of the error


class EvenCase:
    """The even part of one instance's game, and its interactions by the points seen so far.

    Parameters
    ----------
    players : ndarray of int
        The players that matter to it.
    lesson : Lesson or None
        Where its hyper-parameters come from; None for its own.
    index : Index
        Of the interactions.
    """

    kind: type[EvenProcess] = EvenProcess

    def __init__(self, players: np.ndarray, lesson: Lesson | None, index: Index) -> None:
        self.players, self._lesson, self.index = players, lesson, index
        self._parts: list[tuple[Pairs, Pairs]] = []
        self._enumerated = False
        self._solution: tuple[np.ndarray, np.ndarray] | None = None
        self.theta: np.ndarray | None = None

    def add(self, odd: Pairs, even: Pairs, drawn: np.ndarray | None, exact: bool) -> None:
        """Take in points, of which those drawn beyond what a process can hold are left out."""
        if drawn is not None:
            placed = np.isnan(drawn)
            odd, even = odd.take(placed), even.take(placed)
        self._parts.append((odd, even))
        self._enumerated, self._solution = exact, None

    def solve(self, theta: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Return interactions and standard errors, ``(p (p - 1)/2, k)`` each.

        Parameters
        ----------
        theta : ndarray or None
            The vector that was fitted to the odd part of the same game, if any.
        """
        if self._solution is None:
            self._solution = self._solve(theta)
        return self._solution

    def _solve(self, theta: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        odd, even = (merged(list(parts)) for parts in zip(*self._parts, strict=True))
        if self._enumerated:
            values = _by_enumeration(even, self.index)
            return values, np.zeros_like(values)
        points = relative(even)
        scale = np.maximum(np.abs(even.values), np.abs(odd.values)).max(axis=0)
        values, witnesses, residual = self._straight(points, scale)
        errors = _unwitnessed(values, witnesses, odd)
        if residual.any():
            posterior = self._posterior(points.outputs(residual), odd, theta)
            values[:, residual] = self._means(posterior)
            if points.block is None and len(points) < LEAST_POINTS * points.n_players:
                errors[:, residual] = np.nan
            else:
                errors[:, residual] = pair_errors(posterior, self.theta)
        return values, errors

    def _posterior(self, points: Pairs, odd: Pairs, theta: np.ndarray | None) -> EvenPosterior:
        """Return the posterior under the lesson's hyper-parameters, or this instance's own."""
        blocked = points.block is not None
        lesson, reach = self._lesson, None
        if theta is None and lesson is not None:
            theta = lesson.mean(self.players, blocked)
        if theta is None:
            theta = _of_odd(odd)
        reach = np.exp(theta[: points.n_players])
        if isinstance(lesson, EvenLesson):
            own = lesson.even_mean(blocked)
            if own is not None:
                process = lesson.even_process(points, reach, own, self.index, self.kind)
                return EvenPosterior(process, points.values)
        self.theta, hyper = fit_even(points, reach)
        return EvenPosterior(self.kind(points, hyper, self.index), points.values)

    def _means(self, posterior: EvenPosterior) -> np.ndarray:
        return posterior.interactions()

    def _straight(
        self, points: Pairs, scale: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return quadratic(points, scale)


def _of_odd(odd: Pairs) -> np.ndarray:
    """Return a vector of the odd part where none was needed for the Shapley values."""
    varies = np.abs(odd.values).max(axis=0) > 0
    if not varies.any():
        return np.full(odd.n_players, -np.log(odd.n_players))
    return fit_hyper(odd.outputs(varies))


def _by_enumeration(even: Pairs, index: Index) -> np.ndarray:
    """Return interactions from the even part at one of each pair of complements."""
    p = even.n_players
    number = (even.signs > 0) @ (1 << np.arange(p))
    values = np.empty((2**p, even.values.shape[1]))
    values[number] = values[2**p - 1 - number] = even.values
    return enumerated(values, index, 2)


def _unwitnessed(values: np.ndarray, witnesses: np.ndarray, odd: Pairs) -> np.ndarray:
    """Return the standard errors of values by least squares that left nothing, as their shape is.

    Where n points bear out that only pairs interact, 3/n of all may not: 1.96 errors are 3/n of the
    range of the values or, where nothing interacts, of what the players are worth.

    Parameters
    ----------
    values : ndarray of shape (e, k)
    witnesses : ndarray of shape (k,)
        The n of each output.
    odd : Pairs
        The odd part, which tells what the players are worth.
    """
    worth, *_ = np.linalg.lstsq(odd.signs / 2, odd.values, rcond=None)
    spread = np.where(values.any(axis=0), span(values)[0], span(worth)[0])
    silence = np.where(witnesses >= ENOUGH_ZEROS, 0.0, np.nan)
    errors = np.where(spread > 0, MISSED * spread / witnesses, silence)
    return np.broadcast_to(errors, values.shape).copy()


def pair_errors(posterior: EvenPosterior, theta: np.ndarray | None) -> np.ndarray:
    """Return the standard errors of the interactions, ``(p (p - 1)/2, k)``.

    The posterior variance, widened as that of the odd part is: by the hyper-parameters relative to
    the points, and by how much worse than promised values are predicted from others, by themselves
    and in their effect on the interactions.

    Parameters
    ----------
    posterior : EvenPosterior
    theta : ndarray or None
        The vector of all hyper-parameters but the reaches, where it was fitted to these values.
    """
    process = posterior.process
    scale = widened_scale(posterior, None if theta is None else _Refit(process, theta))
    errors = np.sqrt(process.interaction_variance[:, None] * scale)
    return errors if process.points.block is not None else overlooked(posterior, errors)


class _Refit:
    """What fits a process like another to other values of the game that `theta` was fitted to."""

    def __init__(self, process: EvenProcess, theta: np.ndarray) -> None:
        self._process, self._theta = process, theta

    def __call__(self, others: Pairs) -> Callable[[Pairs], EvenProcess]:
        """Return what makes the process at any points."""
        process = self._process
        _, hyper = fit_even(others, process.hyper.reach, self._theta)
        return lambda points: type(process)(points, hyper, process.index)


def merged(parts: list[Pairs]) -> Pairs:
    """Return the points of several asks as one."""
    if len(parts) == 1:
        return parts[0]
    block = None
    if parts[0].block is not None:
        block = np.concatenate([pairs.block for pairs in parts])
    return Pairs(
        np.concatenate([pairs.signs for pairs in parts]),
        np.concatenate([pairs.values for pairs in parts]),
        block,
        parts[0].blocks,
    )
