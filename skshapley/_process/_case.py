"""The pairs of one row to explain, and the estimates from these pairs."""

import numpy as np

from skshapley._process._errors import background_errors, overlooked, standard_errors
from skshapley._process._even import EvenKernel
from skshapley._process._fit import fit_even, fit_odd
from skshapley._process._functionals import SHAPLEY, EvenValues, Functional, Interactions, OddValues
from skshapley._process._least_squares import blended, linear, pairwise, remainder
from skshapley._process._lesson import Lesson
from skshapley._process._odd import OddKernel
from skshapley._process._pairs import OddDesign, Pairs, merged, relative
from skshapley._process._process import Posterior, Process
from skshapley.indices import Index, enumerated

# Pairs per player that an error requires: with fewer, some players have no pair of their own, and
# their contribution goes to other players without notice. At 3, a third of the runs
# (40 evaluations of ten players) would have no error.
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
    even_theta : ndarray or None
        The fitted vector of the even part's, without reaches.
    background_errors : ndarray of shape (p, k)
        After `solve`.
    """

    def __init__(
        self, players: np.ndarray, lesson: Lesson | None, index: Index, pairs: Index | None
    ) -> None:
        self.players, self.index, self.pairs = players, index, pairs
        self._lesson = Lesson(()) if lesson is None else lesson
        self._seen: list[tuple[Pairs, Pairs, np.ndarray]] = []
        self._solution: Estimates | None = None
        self.theta: np.ndarray | None = None
        self.even_theta: np.ndarray | None = None
        self._even: EvenKernel | None = None

    def add(self, design: OddDesign, place: int, values: np.ndarray) -> None:
        """Add the values ``(m, k)`` of one row of a design."""
        odd, even = design.pairs(place, values)
        drawn = np.full(len(odd), np.nan) if design.drawn is None else design.drawn[place]
        self._seen.append((odd, even, drawn))
        self._enumerated = design.exact
        self._solution = self._even = None

    def solve(self) -> Estimates:
        """Return values and standard errors of players, then of their pairs, ``(e, k)`` each."""
        if self._solution is None:
            odds, evens, drawn = zip(*self._seen, strict=True)
            odd, even, self._drawn = merged(odds), merged(evens), np.concatenate(drawn)
            self._every, placed = odd, np.isnan(self._drawn)
            if not placed.all():  # a Gaussian process holds no more
                odd, even = odd.take(placed), even.take(placed)
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
        # all indices agree on a linear odd part
        values, errors, residual = linear(self._every)
        if residual.any():
            values[:, residual], errors[:, residual] = self._process(odd, residual)
        if not self.index.symmetric:
            more, apart = self._by_even(odd, even, EvenValues(self.index))
            values, errors = values + more, np.hypot(errors, apart)
        return values, errors

    def _interactions(self, odd: Pairs, even: Pairs, index: Index) -> Estimates:
        if self._enumerated:
            return self._by_enumeration(odd, even, index, 2)
        return self._by_even(odd, even, Interactions(index))

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
        posterior = self.posterior(odd.outputs(which))
        values = posterior.means
        if self.index == SHAPLEY:
            self.background_errors[:, which] = background_errors(posterior)
        if odd.block is None and len(odd) - 1 < LEAST_PAIRS * odd.n_players:
            return values, np.full_like(values, np.nan)
        errors = standard_errors(posterior)
        if self.index == SHAPLEY and odd.block is None:
            drawn = np.isfinite(self._drawn)
            if drawn.sum() >= LEAST_PAIRS * odd.n_players:
                # random pairs show the jumps that they contain
                beyond = self._every.outputs(which).take(drawn)
                return remainder(posterior, values, errors, beyond, self._drawn[drawn])
            values, errors = blended(posterior, values, errors)
        return values, overlooked(posterior, errors)

    def posterior(self, odd: Pairs) -> Posterior:
        """Return the posterior under the lesson's hyper-parameters, or this case's own."""
        theta, make = self._lesson.mean(self.players, odd.block is not None), self._lesson.process
        if theta is None:
            first = self._seen[0][0]
            if self.theta is None and len(self._seen) > 1 and first.values.any():
                self.theta = fit_odd(first)  # from there, the fit to all finds better optima
            theta = self.theta = fit_odd(odd, self.theta)
            make = Process
        kernel = OddKernel.from_vector(theta, len(self.players))
        return Posterior(make(odd, kernel, OddValues(self.index)), odd.values)

    def _by_even(self, odd: Pairs, even: Pairs, functional: Functional) -> Estimates:
        """Return values and errors of a functional of the even part."""
        values, errors, residual = pairwise(even, odd, functional.of_pairs)
        if not residual.any():
            return values, errors
        points = relative(even).outputs(residual)
        blocked = points.block is not None
        own, make, refit = self._lesson.even_mean(blocked), self._lesson.process, None
        if own is not None:
            kernel = EvenKernel.from_vector(self._reach(odd), own)
        else:
            if self._even is None:
                self.even_theta, self._even = fit_even(points, self._reach(odd))
            theta, kernel, make = self.even_theta, self._even, Process
            refit = lambda others: fit_even(others, kernel.reach, theta)[1]  # noqa: E731
        posterior = Posterior(make(points, kernel, functional), points.values)
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
        if theta is None:
            theta = self._lesson.mean(self.players, odd.block is not None)
        if theta is None:
            theta = fit_odd(odd) if odd.values.any() else np.full(p, -np.log(p))
        return np.exp(theta[:p])
