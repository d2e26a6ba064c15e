"""Means of marginal contributions over permutations, and their errors.

Each unit of permutations uses one background row. It estimates the attribution against
that row, with the noise of the permutations. Over the sampled rows, the estimates are
regressed on quantities known for all rows (`skshapley._references.RowOrder`). The error
has two parts. Rows that are used twice measure the noise of the permutations. The error
from the choice of rows vanishes if all rows are used.

Mitchell, Cooper, Frank & Holmes (2022), JMLR 23, Eq 4: phi_i is the mean over
permutations of v(players up to and with i) - v(players before i). Means and squares are
merged batch by batch (Chan, Golub & LeVeque 1983, the block form of Welford's
recursion). The mean contribution at each position is a control variate
(`skshapley.solvers._positions`).
"""

from typing import Any

import numpy as np

from skshapley._tools import (
    clipped_logit,
    degrees_of_tails,
    effective_degrees,
    pooled_errors,
    rule_of_three,
    widening,
)
from skshapley.designs import OrderedDesign, PermutationDesign
from skshapley.indices import INDICES
from skshapley.solvers._base import (
    AGREE,
    FEW,
    FEW_DRAWS,
    Estimate,
    Scale,
    Solver,
    SolverTask,
    SolverTraits,
    unseen,
    without_gap,
)
from skshapley.solvers._positions import (
    LEAST_DEGREES,
    Centring,
    Walks,
    residual_squares,
)

# Chunks, the spread of which measures an error. With 8, Student's t widens intervals by
# 2 %.
LEAST_CHUNKS = 16
# Background rows with a second unit, to estimate the noise of permutations
LEAST_TWICE = 8
# Further second units, with noise as large as the differences between background rows:
# large contributions are often missed by few second units. On products and jumps, from
# 1 to 1.5 pairs for each of 40 to 300 background rows, intervals contain .92 to 1 of
# the values, and .63 to .95 without.
UNSEEN_UNITS = 6


class SampledUnits:
    """Units of permutations for some rows, each against a background row of a balanced order.

    Parameters
    ----------
    task : SolverTask
        With the order of the background rows and the active players of each row.
    unit : int
        Permutations in a unit.
    """

    def __init__(self, task: SolverTask, unit: int) -> None:
        self._task: Any = task
        self._unit = unit
        r, k = task.v_full.shape
        # background rows and units of each row, part by part
        self._parts: list[list[tuple[np.ndarray, np.ndarray]]] = [[] for _ in range(r)]
        # the results of `_estimate` for all rows, and the rows that got units since
        # then
        self._results = np.zeros((5, r, task.n_players, k))
        self._changed = np.zeros(r, dtype=bool)
        # whether the permutations of a unit differ, for each player
        self._noisy = np.zeros(
            self._results.shape[1:],
            dtype=bool,
        )

    def add(
        self,
        rows: np.ndarray,
        references: np.ndarray,
        units: np.ndarray,
        controls: np.ndarray,
        noisy: np.ndarray,
    ) -> None:
        """Add units ``(r, u, p, k)`` and their background rows ``(r, u)``.

        The control variates of the units are ``(r, u, p, c)``, with c = 0 for none.
        ``noisy`` tells for each player whether permutations of a unit differ, ``(r, p,
        k)``.
        """
        units = np.concatenate([units, controls], axis=3) if controls.size else units
        for row, *part in zip(rows, references, units, strict=True):
            self._parts[row].append(tuple(part))
        self._changed[rows] = True
        self._noisy[rows] |= noisy

    def estimate(
        self,
        rows: np.ndarray,
        gain: np.ndarray | None,
        scale: Scale,
    ) -> Estimate:
        """Return attributions, their standard errors and their background errors.

        Parameters
        ----------
        rows : ndarray of int
            Others may have an earlier estimate.
        gain : ndarray of shape (r, k) or None
            The sum of the attributions; None if unknown.
        scale : Scale
            The sizes of contributions.
        """
        self._fill(rows[self._changed[rows]])
        values, within, between, shares, background_variances = self._results
        if gain is not None:
            # The gap comes from the choice of rows, because each permutation adds up.
            # The projection removes a share of the variance due to this choice.
            values, shrinkage = without_gap(values, within + between, gain)
            between = between * (1 - shrinkage)
        variances = within + between
        shares = shares / self._unit
        return Estimate(
            values,
            unseen(np.sqrt(variances), scale.sizes, shares, shares * scale.single),
            np.sqrt(background_variances),
        )

    def _fill(self, changed: np.ndarray) -> None:
        """Estimate rows with new units: together those with as many units and references."""
        by_counts: dict[tuple[int, int], list[tuple]] = {}
        for row in changed.tolist():
            references, units = map(
                np.concatenate,
                zip(*self._parts[row], strict=True),
            )
            _, firsts, place = np.unique(
                references,
                return_index=True,
                return_inverse=True,
            )
            record = row, references, units, firsts[place]
            by_counts.setdefault((len(units), len(firsts)), []).append(record)
        for records in by_counts.values():
            rows, references, units, home = map(np.stack, zip(*records, strict=True))
            self._results[:, rows] = self._estimate(references, units, home, rows)
        self._changed[changed] = False

    def _estimate(
        self,
        references: np.ndarray,
        units: np.ndarray,
        home: np.ndarray,
        rows: np.ndarray,
    ) -> np.ndarray:
        """Return values, two variances, sums of squared weights, and background variances.

        The variances of the values are those from permutations, and from the choice of
        background rows. The weights are those of units.

        All are one array, ``(5, r, p, k)``.

        Parameters
        ----------
        references : ndarray of shape (r, u), int
            Background rows, the same number of different ones for each row to explain.
        units : ndarray of shape (r, u, p, k + c)
            With the control variates behind the outputs.
        home : ndarray of shape (r, u), int
            The first unit on the same background row.
        rows : ndarray of shape (r,), int
            The rows to explain.
        """
        r, u = home.shape
        line = np.arange(r)[:, None]
        first = home == np.arange(u)
        firsts = np.nonzero(first)[1].reshape(r, -1)
        m = firsts.shape[1]
        at = np.cumsum(first, axis=1)[line, home] - 1
        # one unit in 17 is the second one on its background row
        again = np.nonzero(~first)
        place = again[0], at[again]
        times = np.ones((r, m, 1, 1))
        np.add.at(times, place, 1)
        means = units[line, firsts]
        np.add.at(means, place, units[again])
        means /= times
        n_outputs = self._results.shape[-1]
        deviations = (units - means[line, at])[..., :n_outputs]
        squares = (deviations**2).sum(axis=1)
        twice = (times > 1).sum(axis=1) >= LEAST_TWICE
        second_units = u - m
        if self._task.row_order.weighted:
            # A row of large weight is drawn more often, and each draw counts.
            means = units
            times = np.ones((r, u, 1, 1))
            firsts = np.broadcast_to(np.arange(u), (r, u))
            m = u
        means, control = np.split(means, [n_outputs], axis=3)
        values, residuals = self._task.row_order.mean(
            means,
            references[line, firsts],
            self._task.players[rows],
            control,
        )
        total = _spread_of_chunks(residuals, self._task.row_order.chunk)
        # difference between background rows, by the noise of permutations or by the
        # rows themselves
        rough = means.var(axis=1, ddof=1) if m > 1 else np.full_like(values, np.nan)
        # finite population: without unseen background rows, their choice causes no
        # error
        left = max(0.0, 1 - m / self._task.row_order.population)
        share = np.broadcast_to((1 / times).mean(axis=1), values.shape)
        noise = share * squares / max(second_units, 1)
        unseen_units = np.where(self._noisy[rows], UNSEEN_UNITS, 0)
        within = second_units * noise / m + unseen_units * total
        within /= np.maximum(second_units + unseen_units, 1)
        # The noise of permutations remains if all rows are used. Both variances are
        # estimates, so the part may exceed the whole.
        within = np.where(twice, np.minimum(within, total), total)
        # The spread of background rows includes the noise of their permutations, which
        # is subtracted.
        background_variance = np.where(twice, np.maximum(rough - noise, 0.0), rough)
        background_variance /= self._task.row_order.n_rows
        return np.stack(
            [values, within, left * (total - within), share / m, background_variance]
        )


def _spread_of_chunks(missed: np.ndarray, size: int) -> np.ndarray:
    """Return the variance of the mean of ``(r, m, p, k)`` by its balanced chunks, ``(r, p, k)``.

    Chunks have at most `size` numbers. The variance is widened as Student's t is. Where
    few of the chunks make up most of the spread, the degrees of freedom are fewer.
    """
    r, m, *shape = missed.shape
    # Smaller chunks give more degrees of freedom, but only whole chunks are balanced
    # over the background.
    while size > 1 and m // size < LEAST_CHUNKS:
        size //= 2
    n = m // size
    if n < 2:
        return np.full((r, *shape), np.nan)
    chunks = missed[:, : n * size].reshape(r, n, size, *shape).mean(axis=2)
    chunks = chunks - chunks.mean(axis=1, keepdims=True)
    squared = chunks**2
    squares = squared.sum(axis=1)
    degrees = degrees_of_tails(n, squares, (squared**2).sum(axis=1))
    return squares / ((n - 1) * n) * widening(np.minimum(degrees, n - 1.0)) ** 2


# share of the values: smaller changes of a player count as 0
ROUNDING = 32 * np.finfo(float).eps
# Degrees of freedom of a ratio that p players share: p - 4 within these limits. Few of many
# players may have most of the variance.
LEAST_SHARED = 3
MOST_SHARED = 6
LEAST_REPLICATED = 8  # background rows with a second unit, for the noise of the others


class PermutationMean(Solver):
    """Mean marginal contribution over permutations.

    Standard errors come from the spread of the units of the design (pairs, blocks),
    within each background row if units use a single row. With few units, they are
    widened by Student's t (2, 4, 8, 30 units: by 6.5, 1.6, 1.2, 1.04). The attribution
    ± 1.96 standard errors then contains the true value 95 times in 100. Standard errors
    are NaN for a single unit. They are NaN too if fewer than eight background rows, and
    fewer than half of them, have a second unit. In that case all rows are used, so the
    spread between rows is not an error, and too few rows show the spread within rows.
    Rare contributions reduce the degrees of freedom, by their kurtosis.

    A player of which the draws missed rare contributions has too small a variance, just
    when its mean is wrong. With four players or more, variances are therefore shrunk
    towards their geometric mean, the more of their differences chance explains (Smyth
    2004). On exponentials of sums, where one coalition is worth more than all others
    together, intervals contain 91 to 97 % of the values at 10 to 30 evaluations per
    player.

    If all contributions of a player agree, n permutations may have missed an event of
    probability up to 1 - .05^(1/n), or 3/n for large n. The standard error is then that
    probability over 1.96, times the size of an unseen contribution. A permutation and
    its reverse count as one. The size is the distance of the mean from the farther end
    of the range of the player's contributions, zero included, or its mean with the
    smallest variation of another player. Below six permutations without reverses, a
    player without contributions gets the median variation of the others. It is NaN if
    all contributions are zero. Few permutations also miss frequent events: errors are
    at least .6^n of the median variation, half of it for pairs, and allow for large
    contributions that another player made in one permutation only (Good 1953).

    Two or three units leave too few degrees of freedom to each player. All players then
    share the ratio of their variances and their squared largest contributions. On ranks,
    voting, products, thresholds and a parity times one plus a player, intervals from
    two pairs contain 91 to 99 % of the values; on exponentials of sums, 86 %.

    Contributions are centred by position: the mean contribution at the same position in
    the other units is subtracted, times a coefficient that is fitted to the units (0
    below four units). The part that positions explain is no event that other draws may
    have missed, so allowances are smaller by its share. On games that jump when the
    first players enter (valuation of data, ensembles), this leaves a quarter to a
    thirtieth of the squared error; elsewhere the coefficient is near 0. The errors of
    these means are the standard deviation of the values over their number of
    permutations, and are added. Below four units, standard errors are at least as large
    as the effect of the positions. Players
    with constant contributions are not corrected, so every permutation solves additive
    games. The errors of other players include their unseen contributions: where any two
    of ten players have the whole worth, intervals contain 90 to 98 % of the values at 6
    to 30 evaluations per player, instead of 88 to 95 %.

    If background rows are drawn at random, a projection on the known sum corrects the
    error of their v(empty). Attributions then add up exactly. Other indices than
    Shapley's weight each step by its position, so their sum is unknown.

    References
    ----------
    Mitchell, Cooper, Frank & Holmes (2022), Sampling permutations for Shapley value
    estimation, JMLR 23, Eq 4. Smyth (2004), Linear models and empirical Bayes methods
    for assessing differential expression in microarray experiments, Statistical
    Applications in Genetics and Molecular Biology 3. Good (1953), The population
    frequencies of species and the estimation of population parameters, Biometrika 40.

    Examples
    --------
    >>> from skshapley import shapley_values
    >>> from skshapley.solvers import PermutationMean
    >>> result = shapley_values(
    ...     lambda S: S @ [1.0, 2.0, 4.0],
    ...     n_players=3,
    ...     sampler="monte-carlo",
    ...     solver=PermutationMean(),
    ...     max_evals=20,
    ...     random_state=0,
    ... )
    >>> result.values
    array([1., 2., 4.])
    """

    accepts: tuple[type, ...] = (PermutationDesign, OrderedDesign)
    default_sampler = "antithetic"
    traits = SolverTraits(any_index=(PermutationDesign,), parts=(PermutationDesign,))

    def _start(self, task: SolverTask) -> None:
        self._task = task
        self._centring: Any = None
        self._sampled: Any = None
        p, (r, k) = self.n_players_, self.v_full_.shape
        self._scale = Scale(r, p, k)
        self._additive = np.ones(r, dtype=bool)
        self._rows = np.arange(r)
        # weights of the step at each position, ``(p,)``; only Shapley values have equal
        # weights and a known sum
        self._is_shapley = self.index_ == INDICES["shapley"]
        self._weights = (
            np.ones(p) if self._is_shapley else p * self.index_.size_law(p - 1)
        )

    def look_at(self, rows: np.ndarray) -> None:
        """Choose rows, because the regressions of the others take long."""
        self._rows = rows

    def update(self, rows: np.ndarray, design, values: np.ndarray) -> None:
        """Add the units of a design."""
        by_step = design.steps(values)
        by_step *= self._weights[:, None]
        contributions = design.by_player(by_step)
        r, n, p, k = contributions.shape
        self._scale.add(rows, contributions)
        inside = contributions.reshape(r, n // design.unit, design.unit, p, k)
        # In an additive game, a permutation and its reverse agree in all units. Larger
        # differences than rounding rule it out. Without a reverse permutation there is
        # nothing to compare, so no row counts as additive.
        differences = np.abs(inside[:, :, 1:] - inside[:, :, :1])
        noisy = (design.unit == 1) | (
            differences.max(axis=(1, 2), initial=0.0) > self._rounding[rows]
        )
        self._additive[rows] &= ~noisy.any(axis=(1, 2))
        if design.sampled:
            if self._sampled is None:
                self._sampled = SampledUnits(self._task, design.unit)
            self._sampled.add(
                rows,
                design.references[:, :: design.unit],
                inside.mean(axis=2),
                self._controls(rows, design, values),
                noisy,
            )
            return
        stratified = design.stratum_weights is not None
        if self._centring is None:
            self._symmetric = design.symmetric
            self._strata = design.stratum_weights if stratified else np.ones(1)
            self._drifting = (
                design.references is not None and not stratified and self._is_shapley
            )
            # a permutation and its reverse miss the same events
            self._together = 2 if design.unit % 2 == 0 else 1
            self._centring = Centring((len(self.v_empty_), len(self._strata)), (p, k))
        n_units = n // design.unit
        strata = (
            design.references[:, :: design.unit]
            if stratified
            else np.zeros((r, n_units), dtype=np.intp)
        )
        # the weights of the permutations of each unit, with sum 1
        shares = np.full((r, n_units, design.unit), 1 / design.unit)
        if design.weights is not None:
            weights = design.weights.reshape(shares.shape)
            shares = weights / weights.sum(axis=2, keepdims=True)
        wide = shares[..., None, None]
        walks = Walks(
            strata,
            units=(inside * wide).sum(axis=2),
            # contributions by position in the order, to subtract the mean effect of a
            # position
            steps=(by_step.reshape(inside.shape) * wide).sum(axis=2),
            positions=design.places.reshape(inside.shape[:4]),
            shares=shares,
        )
        self._centring.add(rows, walks, self._scale.range)

    def _controls(self, rows, design, values) -> np.ndarray:
        """Return the units' contributions to the log-odds minus their known means, if known.

        They are ``(r, u, p, 1)``, or ``(r, u, p, 0)``.
        """
        r, n, p = design.permutations.shape
        if self._task.margins is None:
            return np.empty((r, n // design.unit, p, 0))
        units = (
            design.contributions(clipped_logit(values[:, :, :1]))
            .reshape(r, -1, design.unit, p, 1)
            .mean(axis=2)
        )
        return units - self._task.margins[rows, None, :, None]

    def result(self) -> Estimate:
        """Return the mean over background rows, and standard errors over units."""
        estimate = self._estimated()
        # A player whose contributions are all rounding errors gets an exact 0.
        return estimate._replace(
            values=np.where(self._scale.own > self._rounding, estimate.values, 0.0),
            additive=self._additive,
        )

    @property
    def _rounding(self) -> np.ndarray:
        """The largest size of rounding errors in contributions, ``(r, 1, k)``."""
        # Values of coalitions have rounding errors in proportion to their size, and not
        # to their differences.
        largest = np.abs(self.v_full_) + np.abs(self.v_empty_)
        return ROUNDING * (largest[:, None] + self._scale.range)

    def _estimated(self) -> Estimate:
        if self._sampled is not None:
            gain = self.gain_ if self._is_shapley else None
            return self._sampled.estimate(self._rows, gain, self._scale)
        m, kurtosis, slope, cost = self._centring.moments()
        if not self._symmetric:  # the effect of a position then differs between players
            slope = np.zeros_like(slope)
            cost = np.ones_like(cost)
        mean = m.mean[:, :, 0] - slope * m.mean[:, :, 1]
        squares = residual_squares(m, slope)
        values = (self._strata[:, None, None] * mean).sum(axis=1)
        # The number of units, less one for each background row
        degrees = m.units.sum(axis=1) - m.units.astype(bool).sum(axis=1)
        residual_share = _residual_share(mean, m.products[:, :, 0, 0], squares, degrees)
        if self._drifting:
            # The known sum removes a share of each variance, as the projection does.
            values, shrinkage = without_gap(values, squares.sum(axis=1), self.gain_)
            squares = squares * (1 - shrinkage)[:, None]
        varies = self._centring.varies
        errors = errors_over_units(
            m,
            self._strata,
            cost * squares,
            self._scale,
            self._together,
            kurtosis,
            # contributions that do not vary are not corrected for their positions
            unexplained=np.where(varies, np.sqrt(residual_share), 1.0),
        )
        # If an unseen contribution of theirs depends on its position, the corrections
        # of all others are wrong, as they ignore these players. Players without
        # contributions have the mean of unseen ones (`Scale.single`).
        n_draws = m.size.sum(axis=1)[:, None, None]
        unseen_values = np.where(
            self._scale.own > self._rounding,
            errors,
            np.where(n_draws < FEW_DRAWS, 0.0, self._scale.single / n_draws),
        )
        unseen_values = np.where(
            varies,
            0.0,
            np.minimum(unseen_values, np.abs(values).mean(axis=1, keepdims=True)),
        )
        n_varying = np.maximum(varies.sum(axis=1, keepdims=True), 1)
        shift = unseen_values.sum(axis=1, keepdims=True) / n_varying
        # Players enter at a position unequally often, so the mean contributions at
        # positions have errors. All units share them.
        centre = np.where(varies, values, 0.0).sum(axis=1, keepdims=True) / n_varying
        deviations = np.where(varies, values - centre, 0.0)
        variance = (deviations**2).sum(axis=1, keepdims=True) / n_varying
        position_errors = np.sqrt(variance) / np.maximum(n_draws, 1)
        shift = np.hypot(shift, position_errors) * np.abs(slope[:, 0])
        errors = np.where(varies, np.hypot(errors, shift), errors)
        # too few units to fit a coefficient: the effect of positions is unknown
        for row in np.flatnonzero(degrees < LEAST_DEGREES).tolist():
            errors[row] = np.maximum(
                errors[row],
                np.abs(self._centring.effects(row)),
            )
        if len(self._strata) == 1:
            return Estimate(values, errors)
        return Estimate(
            values,
            errors,
            background_errors(m, self._strata, mean, cost * squares),
        )


def _residual_share(
    mean: np.ndarray,
    squares: np.ndarray,
    residual_squares: np.ndarray,
    degrees: np.ndarray,
) -> np.ndarray:
    """Return the share of sums of squares that is left by a fit, ``(r, 1, k)``.

    Parameters
    ----------
    mean, squares, residual_squares : ndarray of shape (r, b, p, k)
    degrees : ndarray of shape (r,)
        Few degrees of freedom do not exclude that the fit is a chance agreement.
    """
    total = squares.sum(axis=(1, 2))[:, None]
    residual = residual_squares.sum(axis=(1, 2))[:, None]
    # Contributions of single precision that agree still differ by 1e-7 of their size.
    share = np.divide(
        residual,
        total,
        out=np.ones_like(total),
        where=total > 1e-12 * (mean**2).sum(axis=(1, 2))[:, None],
    )
    return np.minimum(share + 1 / (degrees[:, None, None] + 1), 1.0)


def background_errors(moments, weights, means, squares) -> np.ndarray:
    """Return the background errors for strata drawn at random, ``(r, p, k)``.

    Parameters
    ----------
    moments, weights, squares
        As for `errors_over_units`.
    means : ndarray of shape (r, b, p, k)
        Means within each stratum.
    """
    size = moments.size[..., None, None]
    degrees = np.maximum(moments.units[..., None, None] - 1, 0)
    share = weights[:, None, None]
    # the part of the noise within strata that is in their means
    spread = squares.sum(axis=1) / np.maximum(degrees.sum(axis=1), 1)
    # Means of few units vary by themselves; this part is not due to the background.
    noise = spread * (share / np.maximum(size, 1)).sum(axis=1)
    mean = (share * means).sum(axis=1, keepdims=True)
    # Divided by 1 - sum of w^2, the weighted spread is unbiased; equal weights give b -
    # 1.
    between = (share * (means - mean) ** 2).sum(axis=1) / (1 - weights @ weights)
    return np.sqrt(np.maximum(between - noise, 0.0) * (weights @ weights))


def errors_of_few_units(
    variances: np.ndarray,
    scale: Scale,
    equal: np.ndarray,
    unseen_errors: np.ndarray,
) -> np.ndarray:
    """Return standard errors from two or three units, ``(r, p, k)``.

    Student's t with one degree of freedom would widen intervals 6.5 times. Instead, all
    players share one ratio of their variances and their squared largest contributions
    (Smyth 2004, with the scale of each player as its prior). A player whose own
    variance is larger keeps it.

    Equal units show no variance, but may have missed an event. The square of its size
    is added, times the share of these players in the squares: if no units differ, the
    ratio contains no information.

    Two antithetic pairs contain 93 % of the values of ranks, and 86 % of those of
    exponentials of sums of normal weights of deviation 1.2. Stated variances are 1 to 6
    times the squared errors (geometric mean over players), but up to 17 times if the
    first players of a permutation have most of the worth.

    Parameters
    ----------
    variances : ndarray of shape (r, p, k)
        Variances of the players' means.
    scale : Scale
        The sizes of contributions.
    equal : ndarray of shape (r, p, k), bool
        Players with equal units.
    unseen_errors : ndarray of shape (r, p, k)
        Standard errors of these players, from an unseen event alone.
    """
    largest = scale.largest
    squares = np.where(scale.own > 0, largest**2, 0.0)
    total = np.maximum(squares.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    ratio = variances.sum(axis=1, keepdims=True) / total
    equal_share = np.where(equal, squares, 0.0).sum(axis=1, keepdims=True) / total
    shared = (
        widening(np.clip(variances.shape[1] - 4, LEAST_SHARED, MOST_SHARED)) ** 2
        * ratio
        * largest**2
    )
    shared += np.where(equal, equal_share * unseen_errors**2, 0.0)
    return np.sqrt(np.maximum(shared, variances))


def errors_over_units(
    moments,
    weights,
    squares,
    scale,
    together=1,
    kurtosis=1.0,
    gap=0.0,
    unexplained=1.0,
) -> np.ndarray:
    """Return standard errors of a weighted mean over strata, ``(r, p, k)``.

    Parameters
    ----------
    moments : Moments
    weights : ndarray of shape (b,)
        Weights of the strata.
    squares : ndarray of shape (r, b, p, k)
        Sums over the units of a stratum, weighted by their size.
    scale : Scale
        The sizes of contributions.
    together : int, default=1
        Number of draws that miss the same events.
    kurtosis : ndarray of shape (r, p, k) or float, default=1.0
        Kurtosis of the units. A variance estimated from n numbers with kurtosis c has 2
        n/(c - 1) degrees of freedom.
    gap : ndarray of shape (r, 1, k) or float, default=0.0
        The size of unseen contributions if all contributions are 0.
    unexplained : ndarray of shape (r, 1, k) or float, default=1.0
        The size of contributions without the effect of their positions, relative to
        their size with it.

    Returns
    -------
    errors : ndarray of shape (r, p, k)
        NaN if there are too few units.
    """
    share = weights[:, None, None] ** 2 / np.maximum(moments.size[..., None, None], 1)
    degrees = np.maximum(moments.units[..., None, None] - 1, 0)
    replicated = degrees > 0
    spread = np.where(replicated, squares / np.maximum(degrees, 1), 0.0)
    most = effective_degrees(share * spread, degrees)
    freedom = np.minimum(
        np.maximum(2 * degrees.sum(axis=1) / np.maximum(kurtosis - 1, 1e-9), 1.0),
        most,
    )
    # strata with one unit take the mean spread of the others, which are a random choice
    n_replicated = replicated.sum(axis=1, keepdims=True)
    # Few replicated strata do not represent the others; see `LEAST_REPLICATED`.
    enough = n_replicated[:, 0] >= min(LEAST_REPLICATED, replicated.shape[1] / 2)
    mean_spread = spread.sum(axis=1, keepdims=True) / np.maximum(n_replicated, 1)
    within = (share * np.where(replicated, spread, mean_spread)).sum(axis=1)
    per_draw = share.sum(axis=1)
    per_unit = together * per_draw
    n_draws = moments.size.sum(axis=1)[:, None, None]
    # Few permutations without their reverses miss events that most players have.
    few_draws = (n_draws < FEW_DRAWS) & (together == 1)
    frequent = scale.frequent
    unchanged = np.where(few_draws, frequent, scale.sizes)
    means = (weights[:, None, None] * moments.mean[:, :, 0]).sum(axis=1)
    equal = moments.products[:, :, 0, 0].sum(axis=1) <= (AGREE * scale.sizes) ** 2
    sizes = np.where(equal, scale.distances(means), scale.sizes)
    # Positions explain no contribution of a player without any.
    sizes = np.where(scale.own > 0, unexplained * sizes, unchanged)
    sizes = np.where(sizes > 0, sizes, gap)
    errors = pooled_errors(within, freedom, most)
    few_units = degrees.sum(axis=1) < LEAST_DEGREES
    if few_units.any():
        unseen_errors = rule_of_three(per_unit) * sizes
        shared_errors = errors_of_few_units(within, scale, equal, unseen_errors)
        errors = np.where(few_units, shared_errors, errors)
    errors = unseen(errors, sizes, per_unit, per_draw * unexplained * scale.single)
    # However much the draws agree, few of them cannot exclude a frequent event.
    frequent = unexplained * frequent
    frequent = np.where(frequent > 0, frequent, gap)
    # An event in one of the two orders changes the mean of a pair by half of its size.
    return np.where(
        enough,
        np.maximum(errors, frequent * FEW**n_draws / together),
        np.nan,
    )
