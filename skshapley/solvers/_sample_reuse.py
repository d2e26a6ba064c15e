"""Maximum sample reuse: every coalition informs every player, also beside a fitted game.

phi_i = sum_S c_i(S) v(S) with c_i(S) = 1(i in S)/(s C(p, s)) - 1(i not in S)/((p - s)
C(p, s)), the sum over all S except the two ends, which are known: together they give
(v(all) - v(empty))/p. A coalition expected e_S times has the weight c_i(S)/e_S, from
which the binomial cancels (Wang & Jia 2023, for semivalues; Kolpaczki et al. 2024). For
another index, where q_s is the probability that s others are present, c_i is 1(i in S)
q_{s-1}/C(p - 1, s - 1) - 1(i not in S) q_s/C(p - 1, s); Shapley's q_s are 1/p.

Regression adjustment (Witter, Liu & Musco 2025): phi(v) = phi(g) + phi(v - g) for any
game g with known Shapley values. Maximum sample reuse or permutations estimate the
second part, with a variance that depends on v - g only. The estimate is unbiased only
if g was not fitted to these coalitions: hence folds. With one fold, the correction of a linear g is
identically zero (its normal equations), so a single fold is refused.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from skshapley._tools import (
    Count,
    OneOf,
    effective_degrees,
    log_binomial,
    positive_sizes,
    widening,
)
from skshapley.designs import CoalitionDesign, PermutationDesign
from skshapley.indices import INDICES, Index
from skshapley.solvers._base import (
    CoalitionSolver,
    Estimate,
    SolverTask,
    SolverTraits,
    unseen,
)
from skshapley.solvers._permutation_mean import PermutationMean
from skshapley.solvers._surrogates import (
    MOST_ENUMERATED,
    SURROGATE,
    fit_surrogate,
    is_read,
)

LEAST_UNITS = 4  # units of permutations with surrogates


@dataclass(eq=False, repr=False)
class SampleReuse(CoalitionSolver):
    """Unbiased weighted sums of the values of all sampled coalitions.

    All indices are supported; Shapley values add up exactly. Standard errors come from
    the spread of units (pairs), within each size if coalitions are drawn without
    replacement. Enumerated sizes have none. With few units, they are widened by
    Student's t.

    Parameters
    ----------
    centre : {"line", "empty"}, default="line"
        The value subtracted from v(S) before weighting; with both, the estimate is
        unbiased. "line": the straight line in the size from v(empty) to v(all), which
        reduces the variance in most games. "empty": v(empty). With the sampler
        ``Kernel(paired=False, replacement=True)`` the latter is unbiased KernelSHAP
        (Covert & Lee 2021, Eq 14), with the exact matrix A.

    References
    ----------
    Wang & Jia (2023), Data Banzhaf, AISTATS (maximum sample reuse). Kolpaczki, Bengs,
    Muschalik & Hüllermeier (2024), Approximating the Shapley value without marginal
    contributions, AAAI. Covert & Lee (2021), Improving KernelSHAP, AISTATS, section
    3.2.

    Examples
    --------
    >>> from skshapley import shapley_values
    >>> from skshapley.solvers import SampleReuse
    >>> result = shapley_values(
    ...     lambda S: S @ [1.0, 2.0, 4.0],
    ...     n_players=3,
    ...     solver=SampleReuse(),
    ...     max_evals=8,
    ...     random_state=0,
    ... )
    >>> result.values.round(9)
    array([1., 2., 4.])
    """

    centre: str = "line"

    default_sampler = "square-root"
    traits = SolverTraits(any_index=(CoalitionDesign,))
    _constraints = {
        "centre": OneOf(("line", "empty"), hint="the line has the lower variance"),
    }

    def _solve(
        self,
        row: int,
        coalitions: np.ndarray,
        expected: np.ndarray,
        values: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        p = self.n_players_
        design = self._design
        baseline = self.v_empty_[row]
        gain = self.gain_[row]
        # the line gives each player a p-th of its total, by any index
        share = 1 / p
        if self.centre == "line":
            baseline = baseline + coalitions.sum(axis=1, keepdims=True) / p * gain
        elif self.index_ != INDICES["shapley"]:
            share = self.index_.size_law(p - 1)[-1]
        parts = unit_sums(
            coalitions,
            expected,
            values - baseline,
            design.unit,
            self.index_,
        )
        estimate = parts.sum(axis=0) + share * gain
        errors = errors_of_sum(design, coalitions, expected, parts)
        return estimate, allowing(errors, estimate, design, coalitions, len(parts))


def unit_sums(
    coalitions: np.ndarray,
    expected: np.ndarray,
    values: np.ndarray,
    unit: int,
    index: Index = INDICES["shapley"],
) -> np.ndarray:
    """Return the contribution of each unit to the estimate, ``(n_units, p, k)``.

    Parameters
    ----------
    coalitions : ndarray of shape (m, p), bool
    expected : ndarray of shape (m,)
        Expected number of coalitions of that size.
    values : ndarray of shape (m, k)
    unit : int
    index : Index
    """
    m, p = coalitions.shape
    size = coalitions.sum(axis=1, keepdims=True)
    with_it = 1 / size
    without = 1 / (p - size)
    if index != INDICES["shapley"]:
        law = index.size_law(p - 1)
        with_it = p * law[size - 1] * with_it
        without = p * law[size] * without
    coefficient = np.where(coalitions, with_it, -without) / expected[:, None]
    contributions = coefficient[:, :, None] * values[:, None, :]
    return contributions.reshape(m // unit, unit, p, -1).sum(axis=1)


def strata(
    coalitions: np.ndarray,
    expected: np.ndarray,
    unit: int,
) -> Iterator[tuple[np.ndarray, float, float]]:
    """Yield the sampled sizes (for pairs, s and p - s are one size).

    Yields
    ------
    stratum : (ndarray of shape (n_units,), bool; float; float)
        The units of this size, their expected number, and the number of all units.
    """
    p = coalitions.shape[1]
    first = coalitions[::unit].sum(axis=1)
    # A pair has sizes s and p - s, which are always drawn together.
    size_of = np.minimum(first, p - first) if unit == 2 else first
    for size in np.unique(size_of):
        inside = size_of == size
        # both of a pair may have this size
        halves = 2 if unit == 2 and 2 * size == p else 1
        yield (
            inside,
            expected[::unit][inside][0] / halves,
            np.exp(log_binomial(p, size)) / halves,
        )


def allowing(
    errors: np.ndarray,
    values: np.ndarray,
    design: CoalitionDesign,
    coalitions: np.ndarray,
    n_units: int,
) -> np.ndarray:
    """Return the errors of values, ``(p, k)``, with the allowance for an event that no unit saw.

    If the coalitions ``(m, p)`` of the design are all there are, no event is unseen.
    """
    m, p = coalitions.shape
    if design.exact or (not design.replacement and m == 2**p - 2):
        return errors
    return unseen(errors, positive_sizes(np.abs(values)), 1 / n_units)


def errors_of_sum(
    design: CoalitionDesign,
    coalitions: np.ndarray,
    expected: np.ndarray,
    parts: np.ndarray,
) -> np.ndarray:
    """Return the standard errors of the sum of the units' `parts` ``(n, p, k)``, ``(p, k)``."""
    if not design.replacement:
        return errors_within(coalitions, expected, parts, design.unit)
    if design.whole is not None:
        # the units of sizes that are not enumerated are drawn
        parts = parts[~design.whole[coalitions[:: design.unit].sum(axis=1)]]
    n = len(parts)
    if n < 2:
        # No drawn unit means all sizes were enumerated: the error is 0. One unit shows
        # no spread.
        return np.full(parts.shape[1:], np.nan if n else 0.0)
    return np.sqrt(n * parts.var(axis=0, ddof=1)) * widening(np.array(n - 1))


def errors_within(
    coalitions: np.ndarray,
    expected: np.ndarray,
    parts: np.ndarray,
    unit: int,
) -> np.ndarray:
    """Return the standard errors of the sum of `parts` for draws without replacement, ``(p, k)``.

    The number of draws of a stratum is its expected number, rounded at random. The
    draws are a simple random sample of the stratum (Cochran 1977, Sampling Techniques,
    chapter 5). For a stratum with one draw, the squared contribution replaces the
    variance and the mean.
    """
    variances = [np.zeros(parts.shape[1:])]
    degrees = [0]
    for inside, expected_size, room in strata(coalitions, expected, unit):
        left = 1 - expected_size / room
        if left < 1e-9:
            continue
        part = parts[inside]
        n = len(part)
        if n == 1:
            variances.append(left * part[0] ** 2)
        else:
            mean = part.mean(axis=0)
            fraction = expected_size - np.floor(expected_size)
            # n / (n - 1) makes the sum of squares unbiased for the sum of n draws.
            spread = ((part - mean) ** 2).sum(axis=0) * n / (n - 1)
            # The second term: the number of draws itself is rounded at random, up or
            # down.
            variances.append(left * spread + fraction * (1 - fraction) * mean**2)
        degrees.append(max(n - 1, 1))
    shares = np.stack(variances)
    return np.sqrt(shares.sum(axis=0)) * widening(
        effective_degrees(shares[None], np.array(degrees)[None, :, None, None])[0]
    )


@dataclass(eq=False, repr=False)
class RegressionAdjustment(CoalitionSolver):
    """Cross-fitted surrogates, corrected by an unbiased estimate on held-out units.

    Coalitions are corrected by maximum sample reuse, and permutations by the mean
    contributions (`PermutationMean`). A permutation solves additive games, so only the
    interactions of a surrogate change its contributions. With fewer than four units,
    permutations have no surrogate.

    Standard errors are those of the correction, over units. With few units, they are
    widened by Student's t.

    Parameters
    ----------
    surrogate : {"auto", "linear", "kernel", "tree"} or regressor, default="auto"
        The model fitted to the values. "auto": "linear" for coalitions, "kernel" for
        permutations. "linear": weighted least squares, an additive game. "kernel": a
        Gaussian process, for smooth games. Its squared errors are .1 to 1.05 times
        those of antithetic permutations for 12 players and 10 evaluations per player,
        and .005 to .7 times for 40 (1.2 for random tables). A row takes .01 to 1 s.
        "tree": boosted regression trees.
        Any regressor is fitted to 0/1 indicators of the players. Shapley values of
        surrogates are exact: by a formula, from trees (`skshapley.trees`), or
        enumerated for at most 14 players.
    folds : int, default=10
        Number of parts of the units; each is corrected by a surrogate of the others. At
        least 2.

    References
    ----------
    Witter, Liu & Musco (2025), Regression-adjusted Monte Carlo estimators for Shapley
    values and probabilistic values, NeurIPS, Eq 6 and Algorithm 1. Chernozhukov et al.
    (2018), Double/debiased machine learning, Econometrics Journal 21 (cross-fitting).

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import shapley_values
    >>> from skshapley.solvers import RegressionAdjustment
    >>> result = shapley_values(
    ...     lambda S: S @ np.arange(8.0),
    ...     n_players=8,
    ...     solver=RegressionAdjustment(),
    ...     max_evals=80,
    ...     random_state=0,
    ... )
    >>> bool(np.abs(result.values - np.arange(8)).max() < 1e-9)
    True
    >>> game, errors = lambda S: np.tanh(S @ np.linspace(0.1, 0.4, 12)), []
    >>> for solver in ("permutation-mean", "regression-adjustment"):
    ...     how = dict(sampler="antithetic", solver=solver, max_evals=200)
    ...     result = shapley_values(game, n_players=12, random_state=0, **how)
    ...     errors.append(result.standard_errors.mean())
    >>> bool(errors[1] < errors[0])
    True
    """

    surrogate: Any = "auto"
    folds: int = 10

    accepts = (CoalitionDesign, PermutationDesign)
    _constraints = {
        "surrogate": SURROGATE,
        "folds": Count(
            least=2,
            hint="a surrogate does not correct its own sample; try 10",
        ),
    }

    @property
    def traits(self) -> SolverTraits:  # type: ignore[override]
        """The traits; a linear surrogate serves all indices, as additive games have equal values.

        Further coalitions occur only for few players. The surrogates then know all
        coalitions, and the other folds have no information about the errors.
        """
        # the surrogates of coalitions that are additive
        linear = isinstance(self.surrogate, str) and self.surrogate in {
            "auto",
            "linear",
        }
        return SolverTraits(
            planned=(CoalitionDesign,),
            any_index=(CoalitionDesign,) if linear else (),
        )

    def check_players(self, n_players: int) -> None:
        """Raise ValueError for too many players, if the surrogate needs enumeration."""
        enumerates = not (isinstance(self.surrogate, str) or is_read(self.surrogate))
        if enumerates and n_players > MOST_ENUMERATED:
            raise ValueError(
                f"RegressionAdjustment got surrogate={self.surrogate!r} with {n_players} "
                "players: the values of a regressor other than trees are enumerated, for "
                f'at most {MOST_ENUMERATED} players; try surrogate="tree".'
            )

    def _start(self, task: SolverTask) -> None:
        super()._start(task)
        self._task = task
        self._rows = np.arange(len(self.v_empty_))
        self._permutations: list[tuple] = []

    def look_at(self, rows: np.ndarray) -> None:
        """Choose rows, because surrogates of the others take long."""
        self._rows = rows

    def update(
        self,
        rows: np.ndarray,
        design: Any,
        values: np.ndarray,
    ) -> None:
        """Store the values of a design."""
        if isinstance(design, PermutationDesign):
            self._permutations.append((rows, design, values))
        else:
            super().update(rows, design, values)

    def result(self) -> Estimate:
        """Return the estimate of each row, with standard errors."""
        if not self._permutations:
            return super().result()
        mean = PermutationMean().start(self._task)
        designs = [(rows, design, v.copy()) for rows, design, v in self._permutations]
        for row in self._rows.tolist():
            self._adjust(row, designs)
        for rows, design, values in designs:
            mean.update(rows, design, values)
        return mean.result()

    def _adjust(self, row: int, designs: list[tuple]) -> None:
        """Subtract interactions of surrogates from the values of a row, in place.

        For each permutation, the surrogate g is fitted to the other folds. Without the
        additive game of its Shapley values, those of the rest of g are 0.
        """
        p = self.n_players_
        parts = [
            (design.coalitions[i].reshape(-1, p + 1, p), values[i], design.unit)
            for rows, design, values in designs
            for i in np.flatnonzero(rows == row)
        ]
        coalitions = np.concatenate([sets for sets, _, _ in parts])
        path = np.concatenate([values for _, values, _ in parts]).reshape(
            len(coalitions),
            p + 1,
            -1,
        )
        # the units of a design are equally large, and a design has whole units
        starts = np.concatenate(
            [np.arange(len(sets)) % unit == 0 for sets, _, unit in parts]
        )
        unit = np.cumsum(starts) - 1
        if unit[-1] + 1 < LEAST_UNITS:
            return
        # the line in the size is additive and known at both ends: it needs no surrogate
        left = (
            path
            - path[:, :1]
            - np.linspace(0.0, 1.0, p + 1)[:, None] * (path[:, -1:] - path[:, :1])
        )
        gain = self.gain_[row]
        interactions = np.empty_like(left)
        for fold in range(min(self.folds, unit[-1] + 1)):
            inside = unit % self.folds == fold
            training = coalitions[~inside, 1:-1].reshape(-1, p)
            surrogate = self._fitted(
                "kernel",
                training,
                np.ones(len(training)),
                left[~inside, 1:-1].reshape(len(training), -1),
                gain,
            )
            predicted = surrogate.predict(coalitions[inside].reshape(-1, p)).reshape(
                -1,
                *left.shape[1:],
            )
            interactions[inside] = (
                predicted - predicted[:, :1] - coalitions[inside] @ surrogate.shapley()
            )
        for (_, values, _), part in zip(
            parts,
            np.split(interactions, np.cumsum([len(sets) for sets, _, _ in parts])[:-1]),
            strict=True,
        ):
            values -= part.reshape(values.shape)

    def _fitted(self, automatic: str, *sample: Any) -> Any:
        """Return the surrogate of a sample, by the given name for "auto"."""
        is_automatic = isinstance(self.surrogate, str) and self.surrogate == "auto"
        return fit_surrogate(automatic if is_automatic else self.surrogate, *sample)

    def _solve(
        self,
        row: int,
        coalitions: np.ndarray,
        expected: np.ndarray,
        values: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        p = self.n_players_
        unit = self._design.unit
        # the line in the size is additive and known at both ends: it needs no surrogate
        share = self.gain_[row] / p
        left = (
            values - self.v_empty_[row] - coalitions.sum(axis=1, keepdims=True) * share
        )
        n_units = len(coalitions) // unit
        # the fold of each unit, assigned in turn within each size
        fold = np.empty(n_units, dtype=np.intp)
        # Continuing the count across sizes keeps the folds equally large in total.
        sizes = [inside for inside, _, _ in strata(coalitions, expected, unit)]
        by_size = np.concatenate([np.flatnonzero(inside) for inside in sizes])
        fold[by_size] = np.arange(n_units) % self.folds
        total = np.zeros((p, values.shape[1]))
        residuals = np.empty_like(left)
        for k in range(min(self.folds, n_units)):
            inside = fold == k
            within = np.repeat(inside, unit)
            surrogate = self._fitted(
                "linear",
                coalitions[~within],
                expected[~within],
                left[~within],
                p * share,
            )
            fold_residuals = left - surrogate.predict(coalitions)
            residuals[within] = fold_residuals[within]
            surrogate_values = surrogate.shapley()
            # its error at the two ends is divided equally among the players The known
            # ends fix the sum of the values, so only differences between players count
            # here.
            adjusted = surrogate_values - surrogate_values.mean(axis=0)
            weights = self._weights(coalitions, expected, inside)
            parts = unit_sums(
                coalitions,
                expected,
                fold_residuals,
                unit,
                self.index_,
            )
            total += inside.mean() * (adjusted + np.einsum("u,upk->pk", weights, parts))
        parts = unit_sums(coalitions, expected, residuals, unit, self.index_)
        values = total + share
        design = self._design
        errors = errors_of_sum(design, coalitions, expected, parts)
        n_spare = max(n_units - p, 1)
        return values, allowing(errors, values, design, coalitions, n_spare)

    def _weights(
        self,
        coalitions: np.ndarray,
        expected: np.ndarray,
        inside: np.ndarray,
    ) -> np.ndarray:
        """Return the weights of units in the sum of residuals over all coalitions.

        With replacement, only the fold's own units count. Otherwise, the other folds
        are known, and the fold is a sample of the rest. With N units, t known and n in
        the fold, the weight is (N - t)/n. A size with too few draws for every fold is
        treated as with replacement.
        """
        weights = np.where(inside, 1 / inside.mean(), 0.0)
        if self._design.replacement and not self._design.exact:
            return weights
        for size, expected_size, room in strata(
            coalitions,
            expected,
            self._design.unit,
        ):
            if size.sum() < self.folds and expected_size < room * (1 - 1e-9):
                continue
            drawn = expected_size / room
            weights[size & ~inside] = drawn
            weights[size & inside] = (
                drawn * (room - (size & ~inside).sum()) / max((size & inside).sum(), 1)
            )
        return weights
