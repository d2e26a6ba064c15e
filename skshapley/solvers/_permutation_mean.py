"""The mean of marginal contributions over walks, with standard errors over independent units.

Mitchell, Cooper, Frank & Holmes (2022), JMLR 23, Eq 4: phi_i is the mean over permutations of
v(players up to and with i) - v(players before i). Means and squares are merged batch by batch
(Chan, Golub & LeVeque 1983, the block form of Welford's recursion).
"""

from typing import Any

import numpy as np

from skshapley.designs import OrderedDesign, PermutationDesign
from skshapley.solvers._base import Estimate, Solver
from skshapley.solvers._moments import Moments
from skshapley.solvers._student import effective_degrees, widening

LEAST_REPLICATED = 8  # background rows with a second unit, from which the others may borrow


class PermutationMean(Solver):
    """Mean marginal contribution over permutations.

    Standard errors come from the spread of the units of the design (pairs, blocks), within each
    background row where units keep to one row. Those of few units are widened as Student's t is
    against the normal, so that the attribution ± 1.96 standard errors holds the truth 95 times in
    100 (2, 4, 8, 30 units: by 6.5, 1.6, 1.2, 1.04). An instance with a single unit, or with a
    second one on fewer than eight of its background rows and fewer than half of them, has none
    (NaN): the spread between rows, all of which are used, is no error, and few rows do not tell the
    spread on the others. A player that matters on few of all walks (the rare turn of a vote) must
    have been seen to, a few times, before its error is right.

    Where references are drawn at random, their chance value of v(empty) is corrected by regression
    on the units' sums, whose mean is known, so that attributions add up exactly.

    References
    ----------
    Mitchell, Cooper, Frank & Holmes (2022), Sampling permutations for Shapley value estimation,
    JMLR 23, Eq 4.

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

    def _start(self, players, lesson) -> None:
        self._moments: Moments | None = None

    def update(self, rows: np.ndarray, design, values: np.ndarray) -> None:
        """Add the units of a design."""
        units = self._unit_means(design, values)
        r, n_units, p, k = units.shape
        if design.stratum_weights is None:
            weights, strata = np.ones(1), np.zeros((r, n_units), dtype=np.intp)
        else:
            weights, strata = design.stratum_weights, design.references[:, :: design.unit]
        if self._moments is None:
            self._weights = weights
            self._drifting = design.references is not None and design.stratum_weights is None
            self._moments = Moments((len(self.v_empty_), len(weights)), (p, k), self._drifting)
        self._moments.add(rows, strata, units, design.unit)

    def _unit_means(self, design: Any, values: np.ndarray) -> np.ndarray:
        """Return the mean contributions over the walks of each unit, ``(r, u, p, k)``."""
        contributions = design.contributions(values, self._step_weights(self.n_players_))
        r, n, p, k = contributions.shape
        units = contributions.reshape(r, n // design.unit, design.unit, p, k)
        if design.weights is None:
            return units.mean(axis=2)
        weights = design.weights.reshape(r, -1, design.unit, 1, 1)
        return (units * weights).sum(axis=2) / weights.sum(axis=2)

    def _step_weights(self, p: int) -> np.ndarray | None:
        """Return how much the step of each position counts, ``(p,)``; None for all alike."""
        return None

    def result(self) -> Estimate:
        """Return the mean over references of the means within, and standard errors over units."""
        m = self._seen()
        values = (self._weights[:, None, None] * m.mean).sum(axis=1)
        squares, spent = m.squares, 1
        if self._drifting:
            slope, squares = m.regress_on_total()
            drift = (self.v_full_ - self.v_empty_) - values.sum(axis=1)
            values = values + slope * drift[:, None]
            spent = 2
        return Estimate(values, self._errors(squares, spent))

    def _seen(self) -> Moments:
        if self._moments is None:
            raise RuntimeError("PermutationMean.result() needs at least one update() first.")
        return self._moments

    def _errors(self, squares: np.ndarray, spent: int) -> np.ndarray:
        """Return the standard errors, ``(r, p, k)``, NaN where units are too few."""
        moments = self._seen()
        units, size = moments.units[..., None, None], moments.size[..., None, None]
        share = self._weights[:, None, None] ** 2 / np.maximum(size, 1)
        degrees = np.maximum(units - spent, 0)
        replicated = degrees > 0
        spread = np.where(replicated, squares / np.maximum(degrees, 1), 0.0)
        widened = widening(effective_degrees(share * spread, degrees))
        # strata with one unit borrow the mean spread of the others, which are a random choice
        known = replicated.sum(axis=1, keepdims=True)
        enough = known[:, 0] >= min(LEAST_REPLICATED, replicated.shape[1] / 2)
        mean_spread = spread.sum(axis=1, keepdims=True) / np.maximum(known, 1)
        within = (share * np.where(replicated, spread, mean_spread)).sum(axis=1)
        return np.where(enough, np.sqrt(within) * widened, np.nan)
