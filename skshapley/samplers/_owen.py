"""Owen's multilinear extension: contributions to random coalitions, integrated over the density.

Mitchell, Cooper, Frank & Holmes, "Sampling permutations for Shapley value estimation",
JMLR 23 (2022), section 2.5, Eq 5: phi_i is the integral over q in [0, 1] of e_i(q), the
expected contribution of i to a coalition that contains each other player with
probability q. Okhrati & Lipani (2020), "A multilinear sampling algorithm to estimate
Shapley values", pair a coalition with its complement.

One coalition E serves all players: each i compares v(E with i) and v(E without i). One
of the two is v(E), so the cost is p + 1 evaluations instead of 2 p.
"""

from dataclasses import dataclass

import numpy as np

from skshapley._tools import OneOf
from skshapley.designs import PairDesign
from skshapley.samplers._base import Price, Sampler, SamplerTraits

RULES = ("gauss-legendre", "uniform")
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
    _constraints = {"rule": OneOf(RULES)}

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
        drawn = [self.rngs_[row].random((len(stratum), p)) < density for row in rows]
        masks = np.stack(drawn)
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
            enough = -(-self.n_players_ // 2)
            nodes, weights = np.polynomial.legendre.leggauss(min(masks * most, enough))
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
