"""The pairs of one row to explain, its estimates, and tuned hyper-parameters."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skshapley._process._errors import (
    background_errors,
    in_steps,
    overlooked,
    standard_errors,
)
from skshapley._process._even import EvenKernel
from skshapley._process._fit import fit_even, fit_odd
from skshapley._process._functionals import SHAPLEY, EvenValues, Functional, Interactions, OddValues
from skshapley._process._kernel import Kernel
from skshapley._process._least_squares import blended, linear, pairwise, remainder
from skshapley._process._odd import OddKernel
from skshapley._process._pairs import OddDesign, Pairs, merged, relative
from skshapley._process._process import Posterior, Process
from skshapley.indices import Index, enumerated

# Factorised processes, one per design, functional and set of players that matter: two functionals
# for each of the eight designs. A matrix of 1500 pairs takes 18 MB.
MOST_KEPT = 16


@dataclass(frozen=True, eq=False)
class Tuned:
    """Hyper-parameters tuned on a few background rows, the tuning rows.

    Attributes
    ----------
    odd : tuple of (ndarray of shape (n_players,), int; ndarray)
        For each tuning row, the players that matter to it and its fitted vector of the odd part.
    even : tuple of ndarray
        The fitted vectors of the rows' even parts, without reaches.
    """

    odd: tuple[tuple[np.ndarray, np.ndarray], ...]
    even: tuple[np.ndarray, ...] = ()
    # caches, not part of the state: a sampler's designs by their request, and factorised processes
    designs: dict[Any, Any] = field(default_factory=dict, repr=False)
    _processes: dict[Any, Process] = field(default_factory=dict, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle, without the large caches, which are quickly rebuilt."""
        return {**self.__dict__, "designs": {}, "_processes": {}}

    def known(self, players: np.ndarray) -> np.ndarray | None:
        """Return the mean vector if exactly these players matter to a tuning row, or None."""
        known = any(np.array_equal(players, at) for at, _ in self.odd)
        return self.mean(players, blocked=False) if known else None

    def mean(self, players: np.ndarray, blocked: bool) -> np.ndarray | None:
        """Return the mean of the tuning rows' vectors for these players.

        A player's reach is relative to the other players, averaged over the tuning rows to which
        the player matters. A player that matters to none has the average reach. None if no row was
        fitted in the same way, with or without blocks of background rows.
        """
        scalars = OddKernel.priors(blocked).shape[1]
        fitted = [(at, v) for at, v in self.odd if len(v) == len(at) + scalars]
        if not fitted:
            return None
        width = 1 + max(players.max(), *(at.max() for at, _ in fitted))
        total, count = np.zeros(width), np.zeros(width)
        for at, vector in fitted:
            total[at] += vector[: len(at)]
            count[at] += 1
        level = total.sum() / count.sum()
        reach = np.where(count > 0, total / np.maximum(count, 1), level)
        rest = np.mean([vector[len(at) :] for at, vector in fitted], axis=0)
        return np.concatenate([reach[players], rest])

    def even_mean(self, blocked: bool) -> np.ndarray | None:
        """Return the mean of the rows' vectors of the even part; None if no row matches."""
        length = EvenKernel.priors(blocked).shape[1]
        fitted = [theta for theta in self.even if len(theta) == length]
        return np.mean(fitted, axis=0) if fitted else None

    def process(self, points: Pairs, kernel: Kernel, functional: Functional) -> Process:
        """Return the process at these points, factorised once for repeated points."""
        key = type(functional), functional, kernel.key, points.key
        if key not in self._processes:
            self._processes[key] = Process(points, kernel, functional)
            if len(self._processes) > MOST_KEPT:
                self._processes.pop(next(iter(self._processes)))
        return self._processes[key]


# Pairs per player that an error requires: with fewer, some players have no pair of their own, and
# their contribution goes to other players without notice. At 3, a third of the runs
# (40 evaluations of ten players) would have no error.
LEAST_PAIRS = 2.0
# Fewest pairs with errors if values are steps. Often a majority of three players explains twenty
# values of a vote: errors of 7 or 10 players were up to 25 times too small with 14 to 22 pairs
LEAST_OF_STEPS = 24

Estimates = tuple[np.ndarray, np.ndarray]  # values and standard errors


class Case:
    """The pairs of one row to explain, and the estimates from the pairs so far.

    Every estimate uses the first applicable method: enumeration, least squares without residual,
    or a Gaussian process.

    Parameters
    ----------
    players : ndarray of int
        The players that matter to the row.
    tuned : Tuned or None
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
        self, players: np.ndarray, tuned: Tuned | None, index: Index, pairs: Index | None
    ) -> None:
        self.players, self.index, self.pairs = players, index, pairs
        self._tuned = Tuned(()) if tuned is None else tuned
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
        errors = overlooked(posterior, errors)
        if len(odd) - 1 < LEAST_OF_STEPS:
            errors[:, in_steps(posterior.values)] = np.nan
        return values, errors

    def posterior(self, odd: Pairs) -> Posterior:
        """Return the posterior under the tuned hyper-parameters, or this case's own."""
        theta, make = self._tuned.mean(self.players, odd.block is not None), self._tuned.process
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
        own, make = self._tuned.even_mean(blocked), self._tuned.process
        if own is not None:
            kernel = EvenKernel.from_vector(self._reach(odd), own)
        else:
            if self._even is None:
                self.even_theta, self._even = fit_even(points, self._reach(odd))
            kernel, make = self._even, Process
        posterior = Posterior(make(points, kernel, functional), points.values)
        values[:, residual] = posterior.means
        if blocked:
            errors[:, residual] = standard_errors(posterior)
        elif len(points) < LEAST_PAIRS * points.n_players:
            errors[:, residual] = np.nan
        else:
            errors[:, residual] = overlooked(posterior, standard_errors(posterior))
        return values, errors

    def _reach(self, odd: Pairs) -> np.ndarray:
        """Return the reaches of the odd part."""
        theta, p = self.theta, odd.n_players
        if theta is None:
            theta = self._tuned.mean(self.players, odd.block is not None)
        if theta is None:
            theta = fit_odd(odd) if odd.values.any() else np.full(p, -np.log(p))
        return np.exp(theta[:p])
