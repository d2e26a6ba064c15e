"""Stratified sampling of marginal contributions, with a second stage by their variances.

Castro, Gomez, Molina & Tejada (2017), "Improving polynomial estimation of the Shapley
value by stratified random sampling with optimum allocation", Computers & Operations
Research 82; Mitchell, Cooper, Frank & Holmes (2022), JMLR 23, section 2.6. A stratum
holds the contributions of a player i to the coalitions of a size l = 0..p-1. The strata
l = 0 and l = p - 1 have a single contribution each.
"""

from dataclasses import dataclass

import numpy as np

from skshapley._tools import Moments, OneOf, rounded
from skshapley.designs import PairDesign
from skshapley.samplers._base import Price, Sampler, SamplerTask

ALLOCATIONS = ("neyman", "castro")
# A single contribution shows no variance.
LEAST_IN_STRATUM = 2
PRIOR = 4


@dataclass(eq=False, repr=False)
class Stratified(Sampler):
    """Contributions of each player to coalitions of each size, more in strata that vary more.

    Half of the budget is spent evenly, with at least two contributions in each stratum.
    The rest is spent according to the variances of the first half. The
    means use the first half too, which causes a bias below their error.

    Parameters
    ----------
    allocation : {"neyman", "castro"}, default="neyman"
        The share of a stratum. "neyman": proportional to its standard deviation, which
        minimises the sum of variances; measured variances are shrunk towards their
        mean. "castro": proportional to its measured variance, the published rule. It
        trusts strata that did not vary by chance, so standard errors are too small. If
        a stratum already has more than its share, the others divide the rest.

    References
    ----------
    Castro, Gomez, Molina & Tejada (2017), Computers & Operations Research 82; Neyman
    (1934), Journal of the Royal Statistical Society 97; Mitchell, Cooper, Frank &
    Holmes (2022), Sampling permutations for Shapley value estimation, JMLR 23, section
    2.6.

    Examples
    --------
    >>> from skshapley import shapley_values
    >>> from skshapley.samplers import Stratified
    >>> result = shapley_values(
    ...     lambda S: S @ [1.0, 2.0, 4.0],
    ...     n_players=3,
    ...     sampler=Stratified(),
    ...     max_evals=30,
    ...     random_state=0,
    ... )
    >>> result.values.round(9)
    array([1., 2., 4.])
    """

    allocation: str = "neyman"

    produces = PairDesign
    _constraints = {"allocation": OneOf(ALLOCATIONS)}

    def price(self, n_players: int, n_references: int) -> Price:
        """Return the price of contributions with at least two in each sampled stratum.

        A single contribution shows no variance, so that errors would be unknown. A
        contribution to the empty coalition, or to all other players, is the only one in
        its stratum, and costs one evaluation instead of two. Two players have four
        contributions in total, and each coalition occurs in two of them.
        """
        p = n_players
        two_players = p == 2
        n_sampled = p * max(0, p - 2)
        return Price(
            draw=2 * n_references,
            coalitions=2,
            references=n_references,
            least=p * p + (LEAST_IN_STRATUM - 1) * n_sampled,
            most=4 if two_players else None,
            saved_rows=(6 if two_players else 2 * p) * n_references,
        )

    def draws_now(self, asked: int) -> int:
        """Return the number of remaining draws before the next allocation."""
        p = self.n_players_
        if asked:
            return self.n_draws_ - asked
        drawn = self.n_draws_ - 2 * p
        first = max(drawn // 2, LEAST_IN_STRATUM * p * (p - 2))
        return 2 * p + min(first, drawn)

    def _start(self, task: SamplerTask) -> None:
        self._cells: Moments | None = None

    def _ask(self, rows: np.ndarray, n: int) -> PairDesign:
        p = self.n_players_
        cells = np.stack([self._allocate(row, n) for row in rows])
        players, sizes = cells // p, cells % p
        drawn = zip(rows, players, sizes, strict=True)
        sets = np.stack([_others(self.rngs_[row], p, *line) for row, *line in drawn])
        certain = np.isin(np.arange(p), (0, p - 1))
        return PairDesign.joining(sets, players, sizes, np.full(p, 1 / p), certain)

    def _allocate(self, row: int, n: int) -> np.ndarray:
        """Return the cells player * p + size of `n` draws, with repetitions."""
        p = self.n_players_
        cells = np.arange(p * p).reshape(p, p)
        certain_cells = cells[:, [0, p - 1]].ravel()
        open_cells = cells[:, 1 : p - 1].ravel()
        count = np.zeros(len(open_cells))
        spread = np.ones(len(open_cells))
        drawn = self._cells
        if drawn is not None and drawn.units[row].any():
            certain_cells = certain_cells[:0]
            count = drawn.units[row, open_cells]
            neyman = self.allocation == "neyman"
            squares = drawn.products[row, open_cells].sum(axis=(1, 2, 3, 4))
            variance = _variances(squares, count, PRIOR if neyman else 0)
            varied = np.sqrt(variance) if neyman else variance
            spread = varied if varied.any() else spread
        if not len(open_cells) or n <= len(certain_cells):
            return certain_cells
        counts = rounded(self.rngs_[row], _level(spread, count, n - len(certain_cells)))
        return np.concatenate([certain_cells, np.repeat(open_cells, counts)])

    def _tell(self, rows: np.ndarray, design: PairDesign, values: np.ndarray) -> None:
        contributions = design.contributions(values)
        cells = design.players * self.n_players_ + design.strata
        if self._cells is None:
            groups = len(self.rngs_), self.n_players_**2
            self._cells = Moments(groups, (1, values.shape[2]))
        self._cells.add(rows, cells, contributions[:, :, None, None], 1)


def _variances(squares: np.ndarray, count: np.ndarray, prior: float) -> np.ndarray:
    """Return the variance in cells, from summed squares ``(c,)`` and counts ``(c,)``.

    The mean variance of all strata counts as `prior` additional contributions. A few
    equal contributions therefore do not exclude a stratum.
    """
    degrees = count - 1
    mean = squares.sum() / max(degrees.sum(), 1)
    return (squares + prior * mean) / np.maximum(degrees + prior, 1)


def _others(
    rng: np.random.Generator, p: int, players: np.ndarray, sizes: np.ndarray
) -> np.ndarray:
    """Return one uniform coalition of each size among the other players, ``(n, p)``."""
    keys = rng.random((len(players), p))
    # comes last, so it is in no coalition of p - 1
    keys[np.arange(len(players)), players] = 2.0
    return keys.argsort(axis=1).argsort(axis=1) < sizes[:, None]


def _level(spread: np.ndarray, count: np.ndarray, n: int) -> np.ndarray:
    """Return the additions, with sum n, that make the counts proportional to `spread`.

    Counts above their share get nothing, and the others divide the rest.
    """
    # Cells with more draws than their share cannot give any back. They leave the
    # division, and the others share the rest; each round removes a cell, so the loop
    # ends.
    free = spread > 0
    while True:
        total = n + count[free].sum()
        targets = np.where(free, total * spread / spread[free].sum() - count, 0.0)
        if (targets >= 0).all():
            return targets
        free &= targets >= 0
