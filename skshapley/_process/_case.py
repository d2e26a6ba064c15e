"""The pairs of one row to explain, its estimates, and tuned hyper-parameters."""

from collections.abc import Callable
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
from skshapley._process._functionals import (
    SHAPLEY,
    EvenValues,
    Functional,
    Interactions,
    OddValues,
)
from skshapley._process._kernel import Kernel
from skshapley._process._least_squares import blended, linear, pairwise, remainder
from skshapley._process._odd import OddKernel
from skshapley._process._pairs import OddDesign, Pairs, Seen, observed, relative
from skshapley._process._process import Posterior, Process
from skshapley._process._ranked import RankedOddDesign, ranked_posterior
from skshapley.indices import Index, enumerated

# Factorised processes, one per design, functional and set of players that matter: two
# functionals for each of the eight designs. A matrix of 1500 pairs takes 18 MB.
MOST_KEPT = 16


@dataclass(frozen=True, eq=False)
class Tuned:
    """Hyper-parameters tuned on a few background rows, the tuning rows.

    Attributes
    ----------
    odd : tuple of (ndarray of shape (n_players,), int; ndarray)
        For each tuning row, the players that matter to it and its fitted vector of the
        odd part.
    even : tuple of ndarray
        The fitted vectors of the rows' even parts, without reaches.
    """

    odd: tuple[tuple[np.ndarray, np.ndarray], ...]
    even: tuple[np.ndarray, ...] = ()
    # caches, not part of the state: a sampler's designs by their request, and
    # factorised processes
    designs: dict[Any, Any] = field(default_factory=dict, repr=False)
    _processes: dict[Any, Process] = field(default_factory=dict, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle, without the large caches, which are quickly rebuilt."""
        return {**self.__dict__, "designs": {}, "_processes": {}}

    def mean(self, players: np.ndarray, blocked: bool) -> np.ndarray | None:
        """Return the mean of the tuning rows' vectors for these players.

        A player's reach is relative to the other players, averaged over the tuning rows
        to which the player matters. A player that matters to none has the average
        reach. None if no row was fitted in the same way, with or without blocks of
        background rows.
        """
        scalars = len(OddKernel.scalars(blocked))
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
        scalars_mean = np.mean([vector[len(at) :] for at, vector in fitted], axis=0)
        return np.concatenate([reach[players], scalars_mean])

    def even_mean(self, blocked: bool) -> np.ndarray | None:
        """Return the mean of the rows' vectors of the even part; None if no row matches."""
        length = len(EvenKernel.scalars(blocked))
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


# Pairs per player that an error requires: with fewer, some players have no pair of
# their own, and their contribution goes to other players without notice. At 3, a third
# of the runs (40 evaluations of ten players) would have no error.
LEAST_PAIRS = 2.0
# The same for a random sample of pairs. With 3, standard errors on data valuation,
# feature selection and voting games are .4 to .8 of the deviation: they ignore the
# fitted hyper-parameters. It also applies to linear fits: 19 random pairs of a vote of
# ten players may agree with one
LEAST_RANDOM_PAIRS = 3.5
# Fewest pairs with errors if values are steps. Often a majority of three players
# explains twenty values of a vote: errors of 7 or 10 players were up to 25 times too
# small with 14 to 22 pairs
LEAST_OF_STEPS = 24

Estimates = tuple[np.ndarray, np.ndarray]  # values and standard errors


class Case:
    """The pairs of one row to explain, and the estimates from the pairs so far.

    Every estimate uses the first applicable method: enumeration, least squares without
    residual, or a Gaussian process.

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
    corrected : callable or None
        Returns values and errors without bias from the posterior of a random sample of
        pairs.

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
        self,
        players: np.ndarray,
        tuned: Tuned | None,
        index: Index,
        pairs: Index | None,
        corrected: Callable[[Posterior], Estimates] | None = None,
    ) -> None:
        self.players, self.index, self.pairs = players, index, pairs
        self._tuned, self._corrected = Tuned(()) if tuned is None else tuned, corrected
        self._seen: list[Seen] = []
        self._solution: Estimates | None = None
        self._even: tuple[np.ndarray, EvenKernel] | None = None
        self._fitted: np.ndarray | None = None
        self._start: np.ndarray | None = None
        self._ranked: np.ndarray | None = None
        self.theta: np.ndarray | None = None
        self.even_theta: np.ndarray | None = None

    def add(self, design: OddDesign, place: int, values: np.ndarray) -> None:
        """Add the values ``(m, k)`` of one row of a design."""
        self._seen.append((design, place, values))
        if isinstance(design, RankedOddDesign) and design.ranked is not None:
            self._ranked = design.ranked[place]
        if design.thetas:
            # from the vector of the choice, the fit to all pairs finds better optima
            self._start = design.thetas[place]
        self._solution = self._even = self._fitted = None

    def solve(self) -> Estimates:
        """Return values and standard errors of players, then of their pairs, ``(e, k)`` each."""
        if self._solution is None:
            every, even, drawn = observed(self._seen)
            self.background_errors = np.full(
                (every.n_players, every.values.shape[1]), np.nan
            )
            if self._seen[-1][0].exact:
                values = by_enumeration(every, even, self.index, self.pairs)
                self._solution = values, np.zeros_like(values)
            else:
                self._solution = self._estimates(every, even, drawn)
        return self._solution

    def _estimates(self, every: Pairs, even: Pairs, drawn: np.ndarray) -> Estimates:
        """Return values and errors of players and pairs; interactions ignore random pairs."""
        # all indices agree on a linear odd part
        values, errors, residual = linear(every)
        if residual.any():
            estimate = self._by_odd(every.outputs(residual), drawn, residual)
            values[:, residual], errors[:, residual] = estimate
        placed = np.isnan(drawn)
        odd, even = every.take(placed), even.take(placed)
        if (
            self._corrected is not None
            and len(odd) - 1 < LEAST_RANDOM_PAIRS * odd.n_players
        ):
            errors[:] = np.nan
        if not self.index.symmetric:
            even_values, even_errors = self._by_even(odd, even, EvenValues(self.index))
            values, errors = values + even_values, np.hypot(errors, even_errors)
        if self.pairs is not None:
            even_values, even_errors = self._by_even(
                odd, even, Interactions(self.pairs)
            )
            values, errors = (
                np.concatenate([values, even_values]),
                np.concatenate([errors, even_errors]),
            )
        return values, errors

    def _by_odd(self, every: Pairs, drawn: np.ndarray, which: np.ndarray) -> Estimates:
        """Return values and errors of some outputs by the Gaussian process on the odd part."""
        if self._ranked is not None and self.index == SHAPLEY and self.pairs is None:
            return by_rank(every, self._ranked)
        placed = np.isnan(drawn)
        odd, p = every.take(placed), every.n_players  # a Gaussian process holds no more
        vector, shared = self._vector(odd)
        kernel = OddKernel.from_vector(vector, p)
        make = self._tuned.process if shared else Process
        posterior = Posterior(make(odd, kernel, OddValues(self.index)), odd.values)
        if self._corrected is not None:
            return self._corrected(posterior)
        values = posterior.means
        if self.index == SHAPLEY:
            self.background_errors[:, which] = background_errors(posterior)
        if odd.block is None and len(odd) - 1 < LEAST_PAIRS * p:
            return values, np.full_like(values, np.nan)
        errors = standard_errors(posterior)
        if self.index == SHAPLEY and odd.block is None:
            if (~placed).sum() >= LEAST_PAIRS * p:
                # random pairs show the jumps that they contain
                return remainder(
                    posterior, values, errors, every.take(~placed), drawn[~placed]
                )
            values, errors = blended(posterior, values, errors)
        return values, allowing_for_steps(posterior, errors)

    def _by_even(self, odd: Pairs, even: Pairs, functional: Functional) -> Estimates:
        """Return values and errors of a functional of the even part."""
        values, errors, residual = pairwise(even, odd, functional.of_pairs)
        if not residual.any():
            return values, errors
        points = relative(even).outputs(residual)
        reach, blocked = (
            np.exp(self._vector(odd)[0][: odd.n_players]),
            points.block is not None,
        )
        own, make = self._tuned.even_mean(blocked), self._tuned.process
        if own is not None:
            kernel = EvenKernel.from_vector(reach, own)
        else:
            if self._even is None:
                self._even = fit_even(points, reach)
            (self.even_theta, kernel), make = self._even, Process
        posterior = Posterior(make(points, kernel, functional), points.values)
        values[:, residual], stated = posterior.means, standard_errors(posterior)
        if not blocked:
            few = len(points) < LEAST_PAIRS * points.n_players
            stated = (
                np.full_like(stated, np.nan) if few else overlooked(posterior, stated)
            )
        errors[:, residual] = stated
        return values, errors

    def _vector(self, odd: Pairs) -> tuple[np.ndarray, bool]:
        """Return the odd kernel's vector, and whether it was tuned and not fitted here."""
        blocked = odd.block is not None
        vector = self._tuned.mean(self.players, blocked)
        if vector is not None:
            return vector, True
        if not odd.values.any():
            return OddKernel.prior(odd.n_players, blocked).start, False
        if self._fitted is None:
            # not from an earlier fit: looks of a stopping rule must change no estimate
            self._fitted = self.theta = fit_odd(odd, self._start)
        return self._fitted, False


def by_rank(every: Pairs, ranked: np.ndarray) -> Estimates:
    """Return values and errors by a process that is made once for players by rank."""
    posterior = ranked_posterior(every, ranked)
    means, errors = blended(posterior, posterior.means, standard_errors(posterior))
    out = np.empty((2, *means.shape))
    out[0, ranked] = means
    out[1, ranked] = allowing_for_steps(posterior, errors)
    if len(every) - 1 < LEAST_PAIRS * every.n_players:
        out[1] = np.nan
    return out[0], out[1]


def allowing_for_steps(posterior: Posterior, errors: np.ndarray) -> np.ndarray:
    """Return errors with the effect of an unseen pair; NaN for steps in few pairs."""
    errors = overlooked(posterior, errors)
    if len(posterior.values) - 1 < LEAST_OF_STEPS:
        errors[:, in_steps(posterior.values)] = np.nan
    return errors


def by_enumeration(
    odd: Pairs, even: Pairs, index: Index, pairs: Index | None
) -> np.ndarray:
    """Return exact values of players, and of their pairs if requested, from all pairs."""
    number = (odd.signs > 0) @ (1 << np.arange(odd.n_players))
    exact = []
    for order, requested in ((1, index), (2, pairs)):
        if requested is None:
            continue
        f, g = odd.values, even.values
        if (
            requested.symmetric
        ):  # one part of the game has no effect, and not even its rounding
            f, g = (f, 0 * g) if order == 1 else (0 * f, g)
        values = np.empty((2**odd.n_players, f.shape[1]))
        values[number], values[2**odd.n_players - 1 - number] = g + f, g - f
        exact.append(enumerated(values, requested, order))
    return np.concatenate(exact)
