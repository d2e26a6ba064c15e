"""The pairs of one row to explain, and the estimates from these pairs."""

import numpy as np

from skshapley._process._errors import background_errors, overlooked, standard_errors
from skshapley._process._even import EvenKernel
from skshapley._process._fit import fit_even, fit_odd
from skshapley._process._functionals import (
    SHAPLEY,
    EvenValues,
    Functional,
    Interactions,
    OddValues,
)
from skshapley._process._least_squares import blended, linear, pairwise, remainder
from skshapley._process._lesson import Lesson
from skshapley._process._odd import OddKernel
from skshapley._process._pairs import OddDesign, Pairs, merged, relative
from skshapley._process._process import Posterior, Process
from skshapley.indices import Index, enumerated

# Pairs per player that an error requires: with fewer, some players have no pair of their own, and
# their contribution goes to other players without notice
LEAST_PAIRS = 2.0

Estimates = tuple[np.ndarray, np.ndarray]  # values and standard errors


class Case:
    """The pairs of one row to explain, and the estimates from the pairs so far.

    Every estimate uses the first applicable method: enumeration, least squares without residual,
    or a Gaussian process.

    Parameters
    ----------
    players : ndarray of int
        The players that matter to the row.
    lesson : Lesson or None
        Source of the hyper-parameters. None: they are fitted to these pairs.
    index : Index
        Of the players' values.
    pairs : Index or None
        The index of the interactions, if they are requested.

    Attributes
    ----------
    theta : ndarray or None
        The fitted vector of the odd part's hyper-parameters.
    background_errors : ndarray of shape (p, k)
        After `solve`.
    """

    def __init__(
        self, players: np.ndarray, lesson: Lesson | None, index: Index, pairs: Index | None
    ) -> None:
        self.players, self.index, self.pairs = players, index, pairs
        self._lesson = lesson
        self._seen: list[tuple[Pairs, Pairs]] = []
        self._drawn: list[np.ndarray] = []
        self._start: np.ndarray | None = None
        self._solution: Estimates | None = None
        self.theta: np.ndarray | None = None
        self._even: tuple[np.ndarray, EvenKernel] | None = None

    def add(self, design: OddDesign, place: int, values: np.ndarray) -> None:
        """Add the values ``(m, k)`` of one row of a design."""
        odd, even = design.pairs(place, values)
        self._seen.append((odd, even))
        placed = np.full(len(odd), np.nan)
        self._drawn.append(placed if design.drawn is None else design.drawn[place])
        if design.start is not None and np.isfinite(design.start[place]).all():
            self._start = design.start[place]
        self._enumerated = design.exact
        self._solution = self._even = None

    def solve(self) -> Estimates:
        """Return values and standard errors of players, then of their pairs, ``(e, k)`` each."""
        if self._solution is None:
            odd, even = (merged(list(parts)) for parts in zip(*self._seen, strict=True))
            values, errors = self._values(odd, even)
            if self.pairs is not None:
                more, apart = self._interactions(odd, even, self.pairs)
                values, errors = np.concatenate([values, more]), np.concatenate([errors, apart])
            self._solution = values, errors
        return self._solution

    def _values(self, odd: Pairs, even: Pairs) -> Estimates:
        self.background_errors = np.full((odd.n_players, odd.values.shape[1]), np.nan)
        if self._enumerated:
            return self._by_enumeration(odd, even, self.index, 1)
        if self.index != SHAPLEY:
            odd, even = self._placed(odd), self._placed(even)
        # all indices agree on a linear odd part
        values, errors, residual = linear(odd)
        if residual.any():
            values[:, residual], errors[:, residual] = self._process(odd, residual)
        if not self.index.symmetric:
            more, apart = self._by_even(odd, even, EvenValues(self.index))
            values, errors = values + more, np.hypot(errors, apart)
        return values, errors

    def _interactions(self, odd: Pairs, even: Pairs, index: Index) -> Estimates:
        if self._enumerated:
            return self._by_enumeration(odd, even, index, 2)
        return self._by_even(self._placed(odd), self._placed(even), Interactions(index))

    def _placed(self, pairs: Pairs) -> Pairs:
        """Drop the pairs drawn beyond the number that a Gaussian process can hold."""
        placed = np.isnan(np.concatenate(self._drawn))
        return pairs if placed.all() else pairs.take(placed)

    def _by_enumeration(self, odd: Pairs, even: Pairs, index: Index, order: int) -> Estimates:
        """Return exact values from all pairs; a symmetric index needs one part of the game."""
        p, f, g = odd.n_players, odd.values, even.values
        if index.symmetric:
            f, g = (f, 0 * g) if order == 1 else (0 * f, g)
        number = (odd.signs > 0) @ (1 << np.arange(p))
        values = np.empty((2**p, f.shape[1]))
        values[number], values[2**p - 1 - number] = g + f, g - f
        found = enumerated(values, index, order)
        return found, np.zeros_like(found)

    def _process(self, odd: Pairs, which: np.ndarray) -> Estimates:
        """Return values and errors of some outputs by the Gaussian process on the odd part."""
        core = self._placed(odd.outputs(which))
        posterior = self.posterior(core)
        values = posterior.means
        if self.index == SHAPLEY:
            self.background_errors[:, which] = background_errors(posterior)
        if core.block is None and len(core) - 1 < LEAST_PAIRS * core.n_players:
            return values, np.full_like(values, np.nan)
        errors = standard_errors(posterior)
        if self.index == SHAPLEY and core.block is None:
            drawn = np.concatenate(self._drawn)
            if np.isfinite(drawn).any():
                # random pairs show the jumps that they contain
                beyond = odd.outputs(which).take(np.isfinite(drawn))
                return remainder(posterior, values, errors, beyond, drawn[np.isfinite(drawn)])
            values, errors = blended(posterior, values, errors)
        return values, overlooked(posterior, errors)

    def posterior(self, odd: Pairs) -> Posterior:
        """Return the posterior under the lesson's hyper-parameters, or this case's own."""
        functional = OddValues(self.index)
        if self._lesson is not None:
            theta = self._lesson.mean(self.players, blocked=odd.block is not None)
            if theta is not None:
                kernel = self._odd_kernel(theta)
                return Posterior(self._lesson.process(odd, kernel, functional), odd.values)
        self.theta = self._start = fit_odd(odd, self._start)
        return Posterior(Process(odd, self._odd_kernel(self.theta), functional), odd.values)

    def _odd_kernel(self, theta: np.ndarray) -> OddKernel:
        return OddKernel.from_vector(theta, len(self.players))

    def _by_even(self, odd: Pairs, even: Pairs, functional: Functional) -> Estimates:
        """Return values and errors of a functional of the even part."""
        values, errors, residual = pairwise(even, odd, functional.of_pairs)
        if not residual.any():
            return values, errors
        points = relative(even).outputs(residual)
        blocked = points.block is not None
        lesson, refit = self._lesson, None
        own = None if lesson is None else lesson.even_mean(blocked)
        if lesson is not None and own is not None:
            kernel = EvenKernel.from_vector(self._reach(odd), own)
            process = lesson.process(points, kernel, functional)
        else:
            if self._even is None:
                self._even = fit_even(points, self._reach(odd))
            theta, kernel = self._even
            refit = lambda others: fit_even(others, kernel.reach, theta)[1]  # noqa: E731
            process = Process(points, kernel, functional)
        posterior = Posterior(process, points.values)
        values[:, residual] = posterior.means
        if blocked:
            errors[:, residual] = standard_errors(posterior, refit)
        elif len(points) < LEAST_PAIRS * points.n_players:
            errors[:, residual] = np.nan
        else:
            errors[:, residual] = overlooked(posterior, standard_errors(posterior, refit))
        return values, errors

    def _reach(self, odd: Pairs) -> np.ndarray:
        """Return the reaches of the odd part."""
        theta, p = self.theta, odd.n_players
        if theta is None and self._lesson is not None:
            theta = self._lesson.mean(self.players, odd.block is not None)
        if theta is None:
            varies = np.abs(odd.values).max(axis=0) > 0
            theta = fit_odd(odd.outputs(varies)) if varies.any() else np.full(p, -np.log(p))
        return np.exp(theta[:p])

    @property
    def even_theta(self) -> np.ndarray | None:
        """The fitted vector of the even part's hyper-parameters, without reaches."""
        return None if self._even is None else self._even[0]
