"""The pairs of one row to explain, and its estimates."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from skshapley._process._errors import (
    background_errors,
    overlooked,
    standard_errors,
)
from skshapley._process._fit import fit_even, fit_odd
from skshapley._process._functionals import (
    SHAPLEY,
    EvenValues,
    Functional,
    GameValues,
    OddValues,
    PairValues,
)
from skshapley._process._kernel import EvenKernel, OddKernel
from skshapley._process._least_squares import (
    blended,
    linear,
    linear_by_rank,
    pairwise,
    remainder,
)
from skshapley._process._pairs import (
    OddDesign,
    Pairs,
    Seen,
    observed,
    odd_part,
    relative,
)
from skshapley._process._process import (
    CANDIDATES,
    Posterior,
    Process,
    best_candidates,
    ranked_points,
    ranked_process,
)
from skshapley.indices import Index, enumerated

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
# explains twenty values of a vote: with 26 pairs, 10 of 180 votes of 7 to 13 players had
# a value beyond four errors, and with 32 one of 180
LEAST_OF_STEPS = 28

Estimates = tuple[np.ndarray, np.ndarray]  # values and standard errors


@dataclass(eq=False)
class Case:
    """The pairs of one row to explain, and the estimates from the pairs so far.

    Every estimate uses the first applicable method: enumeration, least squares without
    residual, or a Gaussian process.

    Attributes
    ----------
    index : Index
        Of the players' values.
    pairs : Index or None
        The index of the interactions, if they are requested.
    corrected : callable or None
        Returns values and errors without bias from the posterior of a random sample of
        pairs.
    designs : list of Seen
        Designs, the place of the row in them, and its values.
    ranked : ndarray of shape (p,), int, or None
        The players, those with the largest effects first, if they determine a process.
    solution : Estimates or None
        The estimates from the pairs so far.
    background_errors : ndarray of shape (p, k)
        After `solve`.
    """

    index: Index
    pairs: Index | None
    corrected: Callable[[Posterior], Estimates] | None = None
    designs: list[Seen] = field(default_factory=list, init=False)
    solution: Estimates | None = field(default=None, init=False)

    def add(self, design: OddDesign, place: int, values: np.ndarray) -> None:
        """Add the values ``(m, k)`` of one row of a design."""
        self.designs.append((design, place, values))
        self.solution = None
        self.background_errors = np.full(
            (design.coalitions.shape[2], values.shape[1]),
            np.nan,
        )
        plain = self.index == SHAPLEY and self.pairs is None and not design.exact
        self.ranked = (
            design.ranked[place] if plain and design.ranked is not None else None
        )

    def solve(self) -> Estimates:
        """Return values and standard errors of players, then of their pairs, ``(e, k)`` each."""
        if self.solution is None:
            every, even, drawn = observed(self.designs)
            if self.designs[-1][0].exact:
                values = by_enumeration(every, even, self.index, self.pairs)
                self.solution = values, np.zeros_like(values)
            else:
                self.solution = self._estimates(every, even, drawn)
        return self.solution

    def _estimates(self, every: Pairs, even: Pairs, drawn: np.ndarray) -> Estimates:
        """Return values and errors of players and pairs; interactions ignore random pairs."""
        # not from an earlier fit: looks of a stopping rule must change no estimate
        self._vector: np.ndarray | None = None
        self._even_kernel: EvenKernel | None = None
        # all indices agree on a linear odd part
        values, errors, residual = linear(every)
        placed = np.isnan(drawn)
        odd = every.take(placed)  # a Gaussian process holds no more
        even = even.take(placed)
        if residual.any():
            values[:, residual], errors[:, residual] = self._by_odd(
                odd.outputs(residual),
                every.take(~placed).outputs(residual),
                drawn[~placed],
                residual,
            )
        if (
            self.corrected is not None
            and len(odd) - 1 < LEAST_RANDOM_PAIRS * odd.n_players
        ):
            errors[:] = np.nan
        if not self.index.symmetric:
            even_values, even_errors = self._by_even(odd, even, EvenValues(self.index))
            values = values + even_values
            errors = np.hypot(errors, even_errors)
        if self.pairs is not None:
            pair_estimates = self._by_even(odd, even, PairValues(self.pairs))
            values = np.concatenate([values, pair_estimates[0]])
            errors = np.concatenate([errors, pair_estimates[1]])
        return values, errors

    def _by_odd(
        self,
        odd: Pairs,
        drawn: Pairs,
        expected: np.ndarray,
        which: np.ndarray,
    ) -> Estimates:
        """Return values and errors of some outputs by the Gaussian process on the odd part."""
        p = odd.n_players
        functional = (
            OddValues(self.index)
            if self.corrected is not None or odd.block is not None
            else GameValues(self.index)
        )
        posterior = Posterior(
            Process(odd, OddKernel.from_vector(self._fitted(odd), p), functional),
            odd.values,
        )
        if self.corrected is not None:
            return self.corrected(posterior)
        values = posterior.means
        if odd.blocks is not None and self.index == SHAPLEY:
            self.background_errors[:, which] = background_errors(posterior, odd.blocks)
        errors = standard_errors(posterior)
        if self.index == SHAPLEY and odd.block is None:
            if len(drawn) >= LEAST_PAIRS * p:
                # random pairs show the jumps that they contain
                return remainder(posterior, values, errors, drawn, expected)
            values, errors = blended(posterior, values, errors)
        return values, allowing_for_steps(posterior, errors)

    def _by_even(self, odd: Pairs, even: Pairs, functional: Functional) -> Estimates:
        """Return values and errors of a functional of the even part."""
        values, errors, residual = pairwise(even, odd, functional.of_pairs)
        if not residual.any():
            return values, errors
        points = relative(even).outputs(residual)
        if self._even_kernel is None:
            self._even_kernel = fit_even(
                points,
                np.exp(self._fitted(odd)[: odd.n_players]),
            )
        posterior = Posterior(
            Process(points, self._even_kernel, functional),
            points.values,
        )
        values[:, residual] = posterior.means
        stated = standard_errors(posterior)
        if points.block is None:
            stated = overlooked(posterior, stated)
            if len(points) < LEAST_PAIRS * points.n_players:
                stated = np.full_like(stated, np.nan)
        errors[:, residual] = stated
        return values, errors

    def _fitted(self, odd: Pairs) -> np.ndarray:
        """Return the vector of the odd kernel, fitted once to the pairs so far."""
        if not odd.values.any():
            return OddKernel.prior(odd.n_players, odd.block is not None).start
        if self._vector is None:
            self._vector = fit_odd(odd)
        return self._vector


def solve_ranked(cases: Sequence[Case]) -> None:
    """Solve cases with the same pairs of players by rank; they are the leading axis.

    The pairs are the full coalition, single players in their order, then other pairs.
    """
    values = odd_part(
        np.stack(
            [np.concatenate([values for *_, values in case.designs]) for case in cases]
        )
    )
    ranked = np.array([case.ranked for case in cases])
    p = ranked.shape[1]
    order = np.tile(np.arange(values.shape[1]), (len(cases), 1))
    order[:, 1 : p + 1] = 1 + ranked
    values = np.take_along_axis(values, order[:, :, None], axis=1)
    signs = observed(cases[0].designs)[0].signs[np.ix_(order[0], ranked[0])]
    points = ranked_points(p, len(signs), np.packbits(signs > 0).tobytes())
    means, errors, residual = linear_by_rank(points, values)
    candidates = best_candidates(points, values)
    for i in np.unique(candidates[residual.any(axis=1)]):
        rows = np.flatnonzero(candidates == i)
        posterior = Posterior(ranked_process(points, *CANDIDATES[i]), values[rows])
        estimate = blended(posterior, posterior.means, standard_errors(posterior))
        fitted = residual[rows, None]
        means[rows] = np.where(fitted, estimate[0], means[rows])
        errors[rows] = np.where(
            fitted,
            allowing_for_steps(posterior, estimate[1]),
            errors[rows],
        )
    for case, place, mean, error in zip(
        cases,
        np.argsort(ranked, axis=1),
        means,
        errors,
        strict=True,
    ):
        case.solution = mean[place], error[place]


def allowing_for_steps(posterior: Posterior, errors: np.ndarray) -> np.ndarray:
    """Return errors with the effect of an unseen pair; NaN for too few pairs."""
    points = posterior.process.points
    n_pairs = len(points) - 1
    below_least = points.block is None and n_pairs < LEAST_PAIRS * points.n_players
    return np.where(
        below_least | (posterior.in_steps & (n_pairs < LEAST_OF_STEPS)),
        np.nan,
        overlooked(posterior, errors),
    )


def by_enumeration(
    odd: Pairs,
    even: Pairs,
    index: Index,
    pairs: Index | None,
) -> np.ndarray:
    """Return exact values of players, and of their pairs if requested, from all pairs."""
    number = (odd.signs > 0) @ (1 << np.arange(odd.n_players))
    values = np.empty((2**odd.n_players, odd.values.shape[1]))
    exact = []
    for order, requested in ((1, index), (2, pairs)):
        if requested is not None:
            # for a symmetric index, one part of the game has no effect, and not even
            # its rounding
            odd_values = odd.values * (order == 1 or not requested.symmetric)
            even_values = even.values * (order == 2 or not requested.symmetric)
            values[number] = even_values + odd_values
            values[~number] = even_values - odd_values  # the complements
            exact.append(enumerated(values, requested, order))
    return np.concatenate(exact)
