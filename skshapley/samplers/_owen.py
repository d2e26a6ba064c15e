"""Owen's multilinear extension: contributions to random coalitions, integrated over the density.

Mitchell, Cooper, Frank & Holmes, "Sampling permutations for Shapley value estimation", JMLR 23
(2022), section 2.5, Eq 5: phi_i is the integral over q in [0, 1] of e_i(q), the expected
contribution of i to a coalition that contains each other player with probability q. Okhrati &
Lipani (2020), "A multilinear sampling algorithm to estimate Shapley values", pair a coalition with
its complement.

One coalition E serves all players: each i compares v(E with i) and v(E without i). One of the two
is v(E), so the cost is p + 1 evaluations instead of 2 p.
"""

import numpy as np

from skshapley._tools._constraints import OneOf
from skshapley.designs import PairDesign
from skshapley.samplers._base import Price, Sampler, SamplerTraits
from skshapley.samplers._pairs import pair_design

RULES = ("gauss-legendre", "uniform")


class Owen(Sampler):
    """Coalitions of density q at the nodes of a quadrature rule (Mitchell et al. 2022, Eq 5).

    Standard errors do not include the error of the quadrature rule. With ceil(p/2) Gauss-Legendre
    nodes, this error is 0.

    Parameters
    ----------
    rule : {"gauss-legendre", "uniform"}, default="gauss-legendre"
        "gauss-legendre": e_i is a polynomial of degree p - 1, which ceil(p/2) nodes integrate
        exactly. Fewer are used if the budget does not give each node two coalitions. "uniform": the
        published rule, with two coalitions at each of equally spaced nodes from 0 to 1 and equal
        weights. Its bias falls with the inverse of their number.

    References
    ----------
    Owen (1972), Multilinear extensions of games, Management Science 18; Mitchell, Cooper, Frank &
    Holmes (2022), Sampling permutations for Shapley value estimation, JMLR 23, Eq 5.

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

    produces = PairDesign
    traits = SamplerTraits(one_shot=True)
    _masks_per_unit = 1
    _constraints = {"rule": OneOf(RULES)}

    def __init__(self, rule: str = "gauss-legendre") -> None:
        self.rule = rule

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
        p, unit = self.n_players_, self._masks_per_unit
        nodes, weights, counts = self._nodes(n // unit)
        stratum = np.repeat(np.arange(len(nodes)), counts)
        density = nodes[stratum][:, None]
        drawn = [self.rngs_[row].random((len(stratum), p)) < density for row in rows]
        masks = self._units(np.stack(drawn))  # (r, units, unit, p)
        # players in sequence within a unit, with adjacent draws of each player
        sets = np.repeat(masks[:, :, None], p, axis=2).reshape(len(rows), -1, p)
        players = np.tile(np.repeat(np.arange(p), unit), len(stratum))
        strata = np.repeat(stratum, p * unit)
        shape = (len(rows), len(players))
        return pair_design(
            sets,
            np.broadcast_to(players, shape),
            np.broadcast_to(strata, shape),
            weights,
            (nodes == 0) | (nodes == 1),
            unit,
        )

    def _units(self, masks: np.ndarray) -> np.ndarray:
        return masks[:, :, None]

    def _nodes(self, n_units: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return nodes, their weights, and the units at each."""
        if self.rule == "uniform":
            n_nodes = max(1, n_units // 2)
            nodes = self._spaced(n_nodes)
            return nodes, np.full(n_nodes, 1 / n_nodes), _shares(np.ones(n_nodes), n_units)
        n_nodes = max(1, min(self._enough(), n_units // 2))
        nodes, weights = self._legendre(n_nodes)
        return nodes, weights, _shares(weights, n_units)

    def _enough(self) -> int:
        return -(-self.n_players_ // 2)

    def _spaced(self, n_nodes: int) -> np.ndarray:
        return np.linspace(0, 1, n_nodes) if n_nodes > 1 else np.array([0.5])

    def _legendre(self, n_nodes: int) -> tuple[np.ndarray, np.ndarray]:
        nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
        return (nodes + 1) / 2, weights / 2


class OwenHalved(Owen):
    """Owen's coalitions, each with its complement: density q in [0, 1/2] and 1 - q.

    The two are a unit. Games with interactions of at most two players have no sampling error.

    Parameters
    ----------
    rule : {"gauss-legendre", "uniform"}, default="gauss-legendre"
        As for `Owen`. ceil(p/2) nodes in [0, 1] are exact; this sampler uses those up to 1/2. Fewer
        nodes and the correction of the sum cause a bias below a third of the error.

    References
    ----------
    Okhrati & Lipani (2020), A multilinear sampling algorithm to estimate Shapley values, ICPR;
    Mitchell, Cooper, Frank & Holmes (2022), JMLR 23, section 2.5.

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

    def _units(self, masks: np.ndarray) -> np.ndarray:
        return np.stack([masks, ~masks], axis=2)

    def _enough(self) -> int:
        return -(-super()._enough() // 2)

    def _spaced(self, n_nodes: int) -> np.ndarray:
        return np.linspace(0, 0.5, n_nodes) if n_nodes > 1 else np.array([0.25])

    def _legendre(self, n_nodes: int) -> tuple[np.ndarray, np.ndarray]:
        whole = min(2 * n_nodes, super()._enough())
        nodes, weights = super()._legendre(whole)
        half = nodes <= 0.5 + 1e-12
        return nodes[half], np.where(nodes[half] < 0.5 - 1e-12, 2.0, 1.0) * weights[half]


def _shares(weights: np.ndarray, total: int) -> np.ndarray:
    """Return ints with sum `total` in proportion to `weights`, at least two each if possible."""
    least = min(2, total // len(weights))
    exact = least + (total - least * len(weights)) * weights / weights.sum()
    counts = np.floor(exact).astype(int)
    largest = np.argsort(counts - exact, kind="stable")[: total - counts.sum()]
    counts[largest] += 1
    return counts
