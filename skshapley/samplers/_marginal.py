"""Samplers of single marginal contributions: classical, stratified, and by density.

**Classical Monte Carlo.** Strumbelj & Kononenko (2010, 2014). It is the baseline of
Grah & Thouvenot (2020), section 3. Their Algorithm 1, `skshapley.samplers.MonteCarlo`,
uses one permutation for all players, at half the cost.

**Strata, with a second stage by their variances.** Castro, Gomez, Molina & Tejada
(2017), "Improving polynomial estimation of the Shapley value by stratified random
sampling with optimum allocation", Computers & Operations Research 82; Mitchell, Cooper,
Frank & Holmes (2022), JMLR 23, section 2.6. A stratum holds the contributions of a
player i to the coalitions of a size l = 0..p-1. The strata l = 0 and l = p - 1 have a
single contribution each.

**Owen's multilinear extension.** Mitchell, Cooper, Frank & Holmes, "Sampling
permutations for Shapley value estimation", JMLR 23 (2022), section 2.5, Eq 5: phi_i is
the integral over q in [0, 1] of e_i(q), the expected contribution of i to a coalition
that contains each other player with probability q. Okhrati & Lipani (2020), "A
multilinear sampling algorithm to estimate Shapley values", pair a coalition with its
complement.

One coalition E serves all players: each i compares v(E with i) and v(E without i). One
of the two is v(E), so the cost is p + 1 evaluations instead of 2 p.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from skshapley._tools import Constraint, Maybe, Moments, OneOf, rounded
from skshapley.designs import MarginalDesign, PairDesign
from skshapley.samplers._base import Price, Sampler, SamplerTask, SamplerTraits


@dataclass(eq=False, repr=False)
class Classical(Sampler):
    """A separate random coalition for each player, with and without it: two evaluations.

    In every round, each of p players joins an independent random coalition of the
    others. Its size s = 0..p-1 is drawn first, then a uniform coalition of this size,
    so its probability is p_S = law(s)/C(p - 1, s). A round is a unit and costs at most
    2 p evaluations. This is a baseline: "monte-carlo" gets twice as many contributions
    from the same evaluations.

    Parameters
    ----------
    law : callable or None, default=None
        From the number of players p to the probabilities of the sizes 0..p-1, shape
        ``(p,)``, all positive. None: 1/p each, the weights in the Shapley value, as in
        a random permutation. With another law, a contribution has the weight 1/(p
        law(s)). Additive games are then not exact. The correction of the sum has a
        bias, which is below the error.

    References
    ----------
    Strumbelj & Kononenko (2014), Explaining prediction models and individual
    predictions with feature contributions, Knowledge and Information Systems 41,
    Algorithm 1.

    Examples
    --------
    >>> from skshapley import shapley_values
    >>> from skshapley.samplers import Classical
    >>> result = shapley_values(
    ...     lambda S: S @ [1.0, 2.0],
    ...     n_players=2,
    ...     sampler=Classical(),
    ...     max_evals=10,
    ...     random_state=0,
    ... )
    >>> result.values
    array([1., 2.])
    """

    law: Callable[[int], np.ndarray] | None = None

    produces = MarginalDesign
    _constraints = {
        "law": Maybe(
            Constraint(
                callable,
                "a function from p to the probabilities of 0 to p - 1",
            )
        ),
    }

    def price(self, n_players: int, n_references: int) -> Price:
        """Return the price of rounds, or raise ValueError for an invalid law."""
        self._size_law(n_players)
        return Price.of_coalitions(2 * n_players, n_references, least=1)

    def _ask(self, rows: np.ndarray, n: int) -> MarginalDesign:
        p = self.n_players_
        law = self._size_law(p)
        size = np.empty((len(rows), n, p), dtype=np.intp)
        coalitions = np.empty((len(rows), n, p, 2, p), dtype=bool)
        itself = np.eye(p, dtype=bool)
        for i, row in enumerate(rows):
            # for each player and each other player
            draw = self.rngs_[row].random((n, p, p))
            # The number of the player itself is free, so it chooses the size.
            size[i] = np.searchsorted(law.cumsum()[:-1], draw[:, itself], side="right")
            # The player itself ranks last, so it is never among the first `size` of the
            # others.
            draw[:, itself] = np.inf
            coalitions[i, :, :, 0] = (
                draw.argsort(axis=2).argsort(axis=2) < size[i, :, :, None]
            )
            coalitions[i, :, :, 1] = coalitions[i, :, :, 0] | itself
        return MarginalDesign(
            coalitions.reshape(len(rows), -1, p),
            weights=None if self.law is None else 1 / (p * law[size]),
        )

    def _size_law(self, p: int) -> np.ndarray:
        if self.law is None:
            return np.full(p, 1 / p)
        law = np.asarray(self.law(p), dtype=np.float64)
        if law.shape != (p,) or not (law > 0).all() or abs(law.sum() - 1) > 1e-9:
            raise ValueError(
                f"Classical got size probabilities {law} for {p} players: it takes a "
                "function that returns the positive probabilities, of sum 1, of the "
                f"sizes 0 to {p - 1}."
            )
        return law


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
    _constraints = {"allocation": OneOf(("neyman", "castro"))}

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
        return 2 * p + min(max(drawn // 2, LEAST_IN_STRATUM * p * (p - 2)), drawn)

    def _start(self, task: SamplerTask) -> None:
        self._cells: Moments | None = None

    def _ask(self, rows: np.ndarray, n: int) -> PairDesign:
        p = self.n_players_
        cells = np.stack([self._allocate(row, n) for row in rows])
        players, sizes = cells // p, cells % p
        sets = np.stack(
            [
                _others(self.rngs_[row], p, *line)
                for row, *line in zip(rows, players, sizes, strict=True)
            ]
        )
        return PairDesign.joining(
            sets,
            players,
            sizes,
            np.full(p, 1 / p),
            np.isin(np.arange(p), (0, p - 1)),
        )

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
            degrees = count - 1
            # The mean variance of all strata counts as further contributions, so a few
            # equal contributions do not exclude a stratum.
            prior = PRIOR if neyman else 0
            mean = squares.sum() / max(degrees.sum(), 1)
            variance = (squares + prior * mean) / np.maximum(degrees + prior, 1)
            varied = np.sqrt(variance) if neyman else variance
            spread = varied if varied.any() else spread
        if not len(open_cells) or n <= len(certain_cells):
            return certain_cells
        counts = rounded(self.rngs_[row], _level(spread, count, n - len(certain_cells)))
        return np.concatenate([certain_cells, np.repeat(open_cells, counts)])

    def _tell(self, rows: np.ndarray, design: PairDesign, values: np.ndarray) -> None:
        contributions = design.contributions(values)
        if self._cells is None:
            self._cells = Moments(
                (len(self.rngs_), self.n_players_**2),
                (1, values.shape[2]),
            )
        self._cells.add(
            rows,
            design.players * self.n_players_ + design.strata,
            contributions[:, :, None, None],
            1,
        )


def _others(
    rng: np.random.Generator,
    p: int,
    players: np.ndarray,
    sizes: np.ndarray,
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


# The middle node of an odd rule counts as 1/2, even if it is rounded. NumPy 2.5 returns
# it exactly, for all rules of up to 199 nodes.
TINY = 1e-12


@dataclass(eq=False, repr=False)
class Owen(Sampler):
    """Coalitions of density q at the nodes of a quadrature rule (Mitchell et al. 2022, Eq 5).

    Small budgets cause a bias: fewer than ceil(p/2) Gauss-Legendre nodes are not exact,
    and the sum is corrected in proportion to estimated variances. Standard errors do
    not include the bias, but are larger. On 12 random, voting, "or" and data games of
    10 players, the bias was at most 3 % of the squared error. For a single player, it
    was at most 0.3 of the standard deviation from 10 evaluations per player on, and 0.8
    below.

    Parameters
    ----------
    rule : {"gauss-legendre", "uniform"}, default="gauss-legendre"
        "gauss-legendre": e_i is a polynomial of degree p - 1, which ceil(p/2) nodes
        integrate exactly. Fewer are used if the budget does not give each node two
        coalitions. "uniform": the published rule, with two coalitions at each of
        equally spaced nodes from 0 to 1 and equal weights. Its bias falls with the
        inverse of their number.

    References
    ----------
    Owen (1972), Multilinear extensions of games, Management Science 18; Mitchell,
    Cooper, Frank & Holmes (2022), Sampling permutations for Shapley value estimation,
    JMLR 23, Eq 5.

    Examples
    --------
    >>> from skshapley import shapley_values
    >>> from skshapley.samplers import Owen
    >>> result = shapley_values(
    ...     lambda S: S @ [1.0, 2.0, 4.0],
    ...     n_players=3,
    ...     sampler=Owen(),
    ...     max_evals=30,
    ...     random_state=0,
    ... )
    >>> result.values.round(9)
    array([1., 2., 4.])
    """

    rule: str = "gauss-legendre"

    produces = PairDesign
    traits = SamplerTraits(one_shot=True)
    _masks_per_unit = 1
    _constraints = {"rule": OneOf(("gauss-legendre", "uniform"))}

    def price(self, n_players: int, n_references: int) -> Price:
        """Return the price of coalitions E: v(E) and one value per player, at least two units."""
        return Price(
            draw=(n_players + 1) * n_references,
            coalitions=2 * n_players,
            references=n_references,
            least=2 * self._masks_per_unit,
            step=self._masks_per_unit,
            unit=self._masks_per_unit,
        )

    def _ask(self, rows: np.ndarray, n: int) -> PairDesign:
        p = self.n_players_
        unit = self._masks_per_unit
        nodes, weights, counts = self._nodes(n // unit)
        stratum = np.repeat(np.arange(len(nodes)), counts)
        density = nodes[stratum][:, None]
        masks = np.stack(
            [self.rngs_[row].random((len(stratum), p)) < density for row in rows]
        )
        masks = np.stack([masks, ~masks][:unit], axis=2)  # (r, units, unit, p)
        # players in sequence within a unit, with adjacent draws of each player
        sets = np.repeat(masks[:, :, None], p, axis=2).reshape(len(rows), -1, p)
        players = np.tile(np.repeat(np.arange(p), unit), (len(rows), len(stratum)))
        strata = np.tile(np.repeat(stratum, p * unit), (len(rows), 1))
        certain = (nodes == 0) | (nodes == 1)
        return PairDesign.joining(sets, players, strata, weights, certain, unit, True)

    def _nodes(self, n_units: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return nodes, their weights, and the units at each."""
        masks = self._masks_per_unit
        most = max(1, n_units // 2)
        top = 1 / masks  # a complement stands for the density above 1/2
        if self.rule == "uniform":
            nodes = np.linspace(0, top, most) if most > 1 else np.array([top / 2])
            weights = np.full(most, 1 / most)
        else:
            nodes, weights = np.polynomial.legendre.leggauss(
                min(masks * most, -(-self.n_players_ // 2))
            )
            nodes = (nodes + 1) / 2
            # Below 1/2, a node also stands for its mirror image; the middle node is its
            # own.
            weights = np.where(nodes < top - TINY, masks, 1) * (weights / 2)
            inside = nodes < top + TINY
            nodes = nodes[inside]
            weights = weights[inside]
        return nodes, weights, _shares(weights, n_units)


class OwenHalved(Owen):
    """Owen's coalitions, each with its complement: density q in [0, 1/2] and 1 - q.

    The two are a unit. Games with interactions of at most two players have no sampling
    error.

    Parameters
    ----------
    rule : {"gauss-legendre", "uniform"}, default="gauss-legendre"
        As for `Owen`. ceil(p/2) nodes in [0, 1] are exact; this sampler uses those up
        to 1/2. On the games of `Owen`, the bias was at most 8 % of the squared error.

    References
    ----------
    Okhrati & Lipani (2020), A multilinear sampling algorithm to estimate Shapley
    values, ICPR; Mitchell, Cooper, Frank & Holmes (2022), JMLR 23, section 2.5.

    Examples
    --------
    >>> from skshapley import shapley_values
    >>> from skshapley.samplers import OwenHalved
    >>> result = shapley_values(
    ...     lambda S: S[:, 0] * S[:, 1] * 6.0,
    ...     n_players=3,
    ...     sampler=OwenHalved(),
    ...     max_evals=30,
    ...     random_state=0,
    ... )
    >>> result.values.round(9)
    array([3., 3., 0.])
    """

    _masks_per_unit = 2


def _shares(weights: np.ndarray, total: int) -> np.ndarray:
    """Return ints with sum `total` in proportion to `weights`, at least two each if possible."""
    least = min(2, total // len(weights))
    exact = least + (total - least * len(weights)) * weights / weights.sum()
    counts = np.floor(exact).astype(int)
    largest = np.argsort(counts - exact, kind="stable")[: total - counts.sum()]
    # Largest remainders first: the counts have the required sum and deviate by less
    # than one.
    counts[largest] += 1
    return counts
