"""Values by fixed weights of a design, and by means over a design or its strata.

Means of interactions over permutations: for a uniform permutation, let S be the set of
the players before the earlier one of i and j. The mean of v(S + i + j) - v(S + i) - v(S
+ j) + v(S) is their Shapley-Taylor interaction (Sundararajan et al. 2020, section 2).
|S| has the probabilities 2 (p - 1 - s)/(p (p - 1)), and weights change them to those of
another index. A Shapley value is v(i) - v(empty), plus half of the Shapley-Taylor
interactions of i.

Strata: Castro, Gomez, Molina & Tejada (2017), "Improving polynomial estimation of the
Shapley value by stratified random sampling with optimum allocation", Computers &
Operations Research 82: strata are the sizes. Owen (1972), "Multilinear extensions of
games", Management Science 18: strata are the nodes of a quadrature rule.
"""

from typing import Any

import numpy as np
from scipy.special import ndtri

from skshapley._tools import Moments, effective_degrees, pooled_errors, widening
from skshapley.designs import (
    ExtendedDesign,
    FullDesign,
    LinearDesign,
    MarginalDesign,
    PairDesign,
)
from skshapley.indices import INDICES, PAIR_INDICES, enumerated
from skshapley.solvers._base import (
    Estimate,
    Scale,
    Solver,
    SolverTask,
    SolverTraits,
    entries,
    errors_without_gap,
    missed,
    unexplained,
    unseen,
    without_gap,
)
from skshapley.solvers._permutation_mean import errors_over_units
from skshapley.solvers._positions import ROUNDING, position_effects


class Linear(Solver):
    """Weighted sums of the values of a fixed list of coalitions; exact designs have zero error.

    Examples
    --------
    >>> from skshapley import shapley_values
    >>> from skshapley.solvers import Linear
    >>> result = shapley_values(
    ...     lambda S: S.any(axis=1) * 1.0,
    ...     n_players=2,
    ...     sampler="exact",
    ...     solver=Linear(),
    ...     max_evals=4,
    ... )
    >>> result.values, result.standard_errors
    (array([0.5, 0.5]), array([0., 0.]))
    """

    accepts = (LinearDesign,)
    default_sampler = "exact"
    traits = SolverTraits(any_index=(FullDesign,), pairs=(FullDesign,))

    def _start(self, task: SolverTask) -> None:
        r, k = self.v_empty_.shape
        self._values = np.zeros((r, len(entries(self.n_players_, self.pairs_)), k))

    def update(
        self,
        rows: np.ndarray,
        design: LinearDesign,
        values: np.ndarray,
    ) -> None:
        """Apply the design's weights."""
        # one product per row: its result must not depend on the other rows of the block
        p = self.n_players_
        shapley = self.index_ == INDICES["shapley"]
        for row, v in zip(rows, values, strict=True):
            single = design.weights @ v if shapley else enumerated(v, self.index_, 1)
            self._values[row, :p] = single
            if self.pairs_ is not None:
                self._values[row, p:] = enumerated(v, self.pairs_, 2)
        self._exact = design.exact

    def result(self) -> Estimate:
        """Return the attributions; standard errors are 0 for exact designs, else unknown (None)."""
        return Estimate(
            self._values,
            np.zeros_like(self._values) if self._exact else None,
        )


class MarginalMean(Solver):
    """Mean marginal contribution of each player over rounds, with standard errors over units.

    Unlike in a permutation, the contributions of a round do not add up to v(all) -
    v(empty). The gap is divided in proportion to the variances of the means, which is
    the projection with the smallest variance. This is omitted if the estimated values
    need not add up. A single round has no variances, so squares replace them. Standard
    errors are at least as large as the effect of the sizes of a player's coalitions,
    and include a gap that they do not explain. If the distribution of coalitions
    differs from the index, contributions have weights.

    References
    ----------
    Strumbelj & Kononenko (2014), Explaining prediction models and individual
    predictions with feature contributions, Knowledge and Information Systems 41,
    Algorithm 1. Chen, Song, Wainwright & Jordan (2018), L-Shapley and C-Shapley:
    efficient model interpretation for structured data, section 4.3.1.

    Examples
    --------
    >>> from skshapley import shapley_values
    >>> from skshapley.solvers import MarginalMean
    >>> result = shapley_values(
    ...     lambda S: S @ [1.0, 2.0, 4.0],
    ...     n_players=3,
    ...     solver=MarginalMean(),
    ...     max_evals=20,
    ...     random_state=0,
    ... )
    >>> result.values
    array([1., 2., 4.])
    """

    accepts = (MarginalDesign,)
    default_sampler = "classical"

    def _start(self, task: SolverTask) -> None:
        r, k = self.v_full_.shape
        self._moments = Moments((r, 1), (self.n_players_, k))
        self._scale = Scale(r, self.n_players_, k)
        # number of contributions of each player to coalitions of each size, and all
        # contributions
        self._joined = np.zeros((r, self.n_players_, self.n_players_))
        self._by_size = np.zeros((r, self.n_players_, k))
        self._sums = np.zeros((r, self.n_players_, k))

    def update(
        self,
        rows: np.ndarray,
        design: MarginalDesign,
        values: np.ndarray,
    ) -> None:
        """Add the rounds of a design."""
        self._adds_up = design.adds_up
        contributions = design.contributions(values)
        r, n, p, k = contributions.shape
        units = contributions.reshape(r, -1, design.unit, p, k).mean(axis=2)
        self._scale.add(rows, contributions)
        sizes = (
            design.coalitions[:, ::2]
            .sum(axis=2)
            .reshape(
                r,
                n,
                p,
            )
        )
        of_row = rows[:, None, None]
        np.add.at(
            self._joined,
            (of_row, np.arange(p), sizes),
            1,
        )
        np.add.at(self._by_size, (of_row, sizes), contributions)
        self._sums[rows] += contributions.sum(axis=1)
        self._moments.add(
            rows,
            np.zeros(units.shape[:2], dtype=np.intp),
            units[:, :, None],
            design.unit,
        )

    def result(self) -> Estimate:
        """Return the means with a corrected sum, and standard errors over units."""
        m = self._moments
        gain = self.gain_
        means = m.mean[:, 0, 0]
        squares = m.products[:, :, 0, 0]
        errors = errors_over_units(
            m,
            np.ones(1),
            squares,
            self._scale,
            gap=missed(means, gain) if self._adds_up else 0.0,
        )
        if not self._adds_up:
            return Estimate(means, errors)
        values, shares = without_gap(
            means,
            np.where(m.units[:, :1, None] > 1, squares[:, 0], means**2),
            gain,
        )
        errors = errors_without_gap(errors, shares, means, gain)
        # If few coalitions contain nearly all of the worth, most players have joined none
        # of these.
        effects = position_effects(self._joined, self._by_size, self._sums)
        return Estimate(values, np.maximum(errors, np.abs(effects)))


# Permutations per player, from which on each player has one of the first two positions
# in 98 % of the runs of ten players. Most interactions of saturated games are there.
ENOUGH = 3.0


class InteractionMean(Solver):
    """Mean interactions of pairs over permutations, without bias, by any index.

    Shapley values and Shapley-Taylor interactions of every permutation add up to v(all)
    - v(empty): the main effects of the matrix are v(i) - v(empty), without errors.

    Standard errors come from the spread of the permutations, as those of
    `PermutationMean`. They are NaN for a single permutation. Below three permutations
    per player, errors of players are at least as large as the effect of their positions.

    References
    ----------
    Sundararajan, Dhamdhere & Agarwal (2020), The Shapley Taylor interaction index,
    ICML, section 2. Grabisch & Roubens (1999), An axiomatic approach to the concept of
    interaction among players in cooperative games, International Journal of Game Theory
    28 (other indices).

    Examples
    --------
    >>> from skshapley import shapley_values
    >>> from skshapley.solvers import InteractionMean
    >>> result = shapley_values(
    ...     lambda S: S[:, :3].all(axis=1),
    ...     n_players=16,
    ...     solver=InteractionMean(),
    ...     interactions="shapley-taylor",
    ...     max_evals=13_502,
    ...     random_state=0,
    ... )
    >>> interactions = result.interactions
    >>> error = interactions.values[0, 0, 1] - 1 / 3
    >>> bool(abs(error) < 2 * interactions.standard_errors[0, 0, 1])
    True
    """

    accepts = (ExtendedDesign,)
    default_sampler = "extended"
    traits = SolverTraits(pairs=(ExtendedDesign,))

    def _start(self, task: SolverTask) -> None:
        p, (r, k) = self.n_players_, self.v_full_.shape
        counts = [p] if self.pairs_ is None else [p, p * (p - 1) // 2]
        self._moments = [Moments((r, 1), (count, k)) for count in counts]
        self._scales = [Scale(r, count, k) for count in counts]
        # permutations by player and position, and sums of contributions by position
        self._counts = np.zeros((r, p, p))
        self._by_position = np.zeros((r, p, k))

    def update(
        self,
        rows: np.ndarray,
        design: ExtendedDesign,
        values: np.ndarray,
    ) -> None:
        """Add the permutations of a design."""
        r, n, p = design.permutations.shape
        values = values.reshape(r, n, p, p, -1)
        prefixes = values[:, :, :, :1].copy()
        prefixes[:, :, 0, 0] = self.v_empty_[rows, None]
        contributions = values - prefixes
        # the second derivatives for both places, at the set before the earlier one
        derivatives = (
            np.diff(contributions, axis=2, append=0.0)
            * np.triu(np.ones((p, p)), 1)[:, :, None]
        )
        places = np.argsort(design.permutations, axis=2)

        def by_player(weights: np.ndarray) -> np.ndarray:
            weighted = derivatives * weights[:, None, None]
            part = np.take_along_axis(
                weighted + np.swapaxes(weighted, 2, 3),
                places[..., None, None],
                axis=2,
            )
            return np.take_along_axis(
                part,
                places[:, :, None, :, None],
                axis=3,
            )

        of_players = (
            np.take_along_axis(contributions[:, :, 0], places[..., None], axis=2)
            + by_player(np.ones(p)).sum(axis=3) / 2
        )
        self._counts[rows] += (places[..., None] == np.arange(p)).sum(axis=1)
        self._by_position[rows] += np.take_along_axis(
            of_players,
            design.permutations[..., None],
            axis=2,
        ).sum(axis=1)
        quantities = [of_players]
        if self.pairs_ is not None:
            weights = np.append(
                self.pairs_.size_law(p - 2)
                / PAIR_INDICES["shapley-taylor"].size_law(p - 2),
                0.0,
            )
            quantities.append(by_player(weights)[:, :, *np.triu_indices(p, 1)])
        strata = np.zeros((r, n), dtype=np.intp)
        for units, moments, scale in zip(
            quantities,
            self._moments,
            self._scales,
            strict=True,
        ):
            scale.add(rows, units)
            moments.add(rows, strata, units[:, :, None], 1)

    def result(self) -> Estimate:
        """Return the means over permutations, and standard errors."""
        values = [moments.mean[:, 0, 0] for moments in self._moments]
        errors = [
            errors_over_units(moments, np.ones(1), moments.products[:, :, 0, 0], scale)
            for moments, scale in zip(self._moments, self._scales, strict=True)
        ]
        n = self._counts.sum(axis=2)[:, :, None]
        effects = position_effects(self._counts, self._by_position, n * values[0])
        errors[0] = np.maximum(
            errors[0],
            np.where(n < ENOUGH * self.n_players_, np.abs(effects), 0.0),
        )
        return Estimate(
            np.concatenate(values, axis=1),
            np.concatenate(errors, axis=1),
        )


# Means of n numbers of range 1 are within 1.96 WIDEST/sqrt(n) of their expectation with
# probability .95 or more (Hoeffding 1963).
WIDEST = np.sqrt(np.log(2 / 0.05) / 2) / ndtri(0.975)
# Errors of units with large contributions that few coalitions have are multiplied by
# their concentration (`_concentration`), at most by `WIDER`. From more units, variances
# have more degrees of freedom, and the exponent is `FEW_UNITS` over their number.
FEW_UNITS = 9
WIDER = 1.6
# Players with the same coalitions share large contributions, so fewer of them are
# unseen.
JOINT = 0.5
LIKELY_GAP = 1.96  # standard errors of the sum: a larger gap misses contributions


class StratifiedMean(Solver):
    """Weighted sum over strata of a player's mean marginal contribution in each.

    Standard errors come from the spread within strata, over units. They are NaN as long
    as any stratum of any player with an error has a single unit, or none has one, and
    for a single node of a quadrature rule, which does not show its bias.
    Errors of few units are widened as Student's t is against the normal, the more the
    strata differ. If all contributions of a player agree, they allow for unseen events:
    1.5/n of their range for n draws, and 18 % of it for five coalitions of "owen". So an
    additive player with a large value has a large error, although its value is exact.
    If all players have the same coalitions, few of these may have most of the spread.
    Errors are then up to 1.6 times as wide (Kish 1965), but not wider than the range of
    contributions allows (Hoeffding 1963).

    The gap between the sum of the means and v(all) - v(empty) is shared out in
    proportion to their variances (in a stratum with a single unit, to the square of its
    mean). If all players have the same coalitions ("owen"), errors are those after this
    correction. Otherwise they are computed before it, when they are at least as large.
    They include the correction, and an equal share of a gap that the variances do not
    explain. The variances of all players are pooled (see
    `PermutationMean`).

    On exponentials of sums of normal weights, one coalition is worth more than all
    others together, and no interval from coalitions without it can contain the value.
    With "owen" and weights of deviation 1.2, intervals contain 81, 84, 92 and 94 % of
    the values of 16 games of ten players at 6, 10, 30 and 100 evaluations per player.
    With deviation 2, it is 66, 67, 82 and 88 %. Samples without the large coalitions
    look like those of other games, so these errors cannot be recognised. Cubes of sums
    have 88 and 90 % at 6 and 10 evaluations per player.

    References
    ----------
    Castro, Gomez, Molina & Tejada (2017), Computers & Operations Research 82; Owen
    (1972), Management Science 18; Mitchell, Cooper, Frank & Holmes (2022), JMLR 23,
    sections 2.5 and 2.6. Kish (1965), Survey Sampling, Wiley. Hoeffding (1963),
    Probability inequalities for sums of bounded random variables, JASA 58.

    Examples
    --------
    >>> from skshapley import shapley_values
    >>> from skshapley.solvers import StratifiedMean
    >>> result = shapley_values(
    ...     lambda S: S @ [1.0, 2.0, 4.0],
    ...     n_players=3,
    ...     sampler="owen",
    ...     solver=StratifiedMean(),
    ...     max_evals=30,
    ...     random_state=0,
    ... )
    >>> result.values.round(9)
    array([1., 2., 4.])
    """

    accepts = (PairDesign,)
    default_sampler = "stratified"

    def _start(self, task: SolverTask) -> None:
        self._moments: Any = None

    def update(
        self,
        rows: np.ndarray,
        design: PairDesign,
        values: np.ndarray,
    ) -> None:
        """Add the contributions of a design."""
        r, _, k = values.shape
        units = design.contributions(values).reshape(r, -1, design.unit, k).mean(axis=2)
        n_strata = len(design.stratum_weights)
        if self._moments is None:
            self._design = design
            groups = (len(self.v_empty_), self.n_players_ * n_strata)
            # the contributions of a player, and their sum over players if known
            self._moments = Moments(groups, (1, k), variables=2)
            self._scale = Scale(len(self.v_empty_), self.n_players_, k)
            self._concentration = np.ones((len(self.v_empty_), 1, k))
        players = design.players[:, :: design.unit]
        self._scale.add(rows, _by_player(units, players, self.n_players_))
        totals = np.zeros_like(units)
        if design.joint:
            by_player = units.reshape(r, -1, self.n_players_, k)
            totals = np.repeat(
                by_player.sum(axis=2),
                self.n_players_,
                axis=1,
            )
            self._concentration[rows] = _concentration(by_player)
        self._moments.add(
            rows,
            players * n_strata + design.strata[:, :: design.unit],
            np.stack([units, totals], axis=2)[:, :, :, None],
            design.unit,
        )

    def result(self) -> Estimate:
        """Return the weighted sums of means, and standard errors over units."""
        design = self._design
        n_strata = len(design.stratum_weights)
        by_stratum = len(self.v_full_), self.n_players_, n_strata, -1
        weights = design.stratum_weights[:, None]
        certain = design.certain[:, None]
        means = self._moments.mean[:, :, 0].reshape(by_stratum)
        values = (weights * means).sum(axis=2)
        size = self._moments.size.reshape(by_stratum)
        degrees = np.where(
            certain,
            0,
            self._moments.units.reshape(by_stratum) - 1,
        )
        products = np.moveaxis(self._moments.products, (2, 3), (0, 1)).reshape(
            2,
            2,
            *by_stratum,
        )
        # Cells with a single unit have no spread, and enumerated ones no error: both
        # count as 0 here.
        per_draw = np.where(
            degrees > 0,
            weights**2 / np.maximum(size, 1),
            0.0,
        )
        variances = per_draw * _spread(products[0, 0], degrees)
        # The squares of the means replace the unknown variances.
        is_known = (degrees > 0) | certain
        gain = self.gain_
        corrected, shares = without_gap(
            values,
            np.where(is_known, variances, (weights * means) ** 2).sum(axis=2),
            gain,
        )
        # The correction subtracts a share of the players' sum from each of them.
        slope = shares[:, :, None]
        residual_ss = np.maximum(
            products[0, 0] - 2 * slope * products[0, 1] + slope**2 * products[1, 1],
            0.0,
        )
        share = per_draw * _spread(residual_ss, degrees)
        estimable = is_known.all(axis=2)
        if self.n_players_ > 2:  # the sizes between the two ends are sampled
            estimable &= (degrees > 0).any(axis=2)
            # A single density does not show how contributions change with it.
            estimable &= n_strata > 1
        estimable = np.all(estimable, axis=1, keepdims=True)
        open_share = per_draw.sum(axis=2)
        # `effective_degrees` expects strata on the second axis
        freedom = effective_degrees(
            np.moveaxis(share, 2, 1),
            np.moveaxis(degrees, 2, 1),
        )
        errors = pooled_errors(
            share.sum(axis=2),
            freedom,
            np.maximum(degrees.sum(axis=2), 1),
            design.joint,
        )
        sizes = self._scale.sizes
        # A coalition and its complement miss the same events.
        of_units = open_share * design.unit
        missing = open_share * self._scale.single
        if design.joint:
            n_units = self._moments.units.sum(axis=1)[:, None, None] / self.n_players_
            errors = errors * np.minimum(
                self._concentration ** np.minimum(FEW_UNITS / n_units, 1.0),
                WIDER,
            )
            errors = np.minimum(errors, WIDEST * sizes * np.sqrt(of_units))
            missing = missing * JOINT
        # Contributions that are all zero miss the whole gain.
        sizes = np.where(sizes > 0, sizes, missed(values, gain))
        errors = unseen(errors, sizes, of_units, missing)
        # A gap beyond two standard errors of the sum comes from contributions that few
        # draws contain. The correction of a smaller gap is as uncertain as it is large.
        gap_variance = (per_draw * _spread(products[1, 1], degrees)).sum(axis=2)
        gap_variance *= (LIKELY_GAP / widening(freedom)) ** 2
        likely_gap = np.minimum(missed(values, gain) ** 2, gap_variance)
        variances = errors**2 + shares**2 * likely_gap
        errors = np.sqrt(variances + unexplained(gap_variance, shares, values, gain))
        return Estimate(corrected, np.where(estimable, errors, np.nan))


def _concentration(units: np.ndarray) -> np.ndarray:
    """Return the number of units over their effective number, ``(r, 1, k)``.

    The squared deviations of a unit ``(r, n, p, k)``, relative to their sum for each
    player, are added over players. The effective number is that of Kish (1965): few
    units may have most of the sum.
    """
    squares = (units - units.mean(axis=1, keepdims=True)) ** 2
    total = squares.sum(axis=1, keepdims=True)
    varies = total > ROUNDING * (units**2).sum(axis=1, keepdims=True)
    shares = np.divide(
        squares,
        total,
        out=np.zeros_like(squares),
        where=varies,
    )
    n_varying = varies.sum(axis=2)
    effective = np.maximum(n_varying**2, 1) / np.maximum(
        (shares.sum(axis=2, keepdims=True) ** 2).sum(axis=1),
        1e-9,
    )
    return np.where(n_varying > 0, units.shape[1] / effective, 1.0)


def _spread(squares: np.ndarray, degrees: np.ndarray) -> np.ndarray:
    """Return the variances of units by stratum, from sums of squares ``(r, p, h, k)``.

    Each stratum gets one more unit, with the mean spread of all strata of the player:
    agreeing units may have missed events that other strata show.
    """
    total = np.maximum(degrees.sum(axis=2, keepdims=True), 1)
    return (squares + squares.sum(axis=2, keepdims=True) / total) / (degrees + 1)


def _by_player(
    contributions: np.ndarray,
    players: np.ndarray,
    n_players: int,
) -> np.ndarray:
    """Return contributions ``(r, m, k)`` by player, ``(r, n, p, k)``, NaN beyond a player's."""
    order = np.argsort(players, axis=1, kind="stable")
    by_player = np.take_along_axis(players, order, axis=1)
    numbers = np.arange(n_players)
    ranks = np.arange(players.shape[1]) - np.take_along_axis(
        np.stack([np.searchsorted(row, numbers) for row in by_player]),
        by_player,
        axis=1,
    )
    shape = len(players), ranks.max() + 1, n_players, contributions.shape[2]
    out = np.full(shape, np.nan)
    rows = np.arange(len(players))[:, None]
    out[rows, ranks, by_player] = contributions[rows, order]
    return out
