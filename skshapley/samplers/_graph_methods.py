"""Samplers on graphs: L-Shapley, C-Shapley, Myerson values and regression on connected sets.

Chen, Song, Wainwright & Jordan (2018), L-Shapley and C-Shapley: the attribution of a player is a
fixed weighted sum over few coalitions, chosen by a graph on the players. A coalition needed by
several players is evaluated once.

L-Shapley is their Definition 1 (Eq 5). Section 4.3.1 samples neighbourhoods too large to enumerate.

C-Shapley is their Definition 2 (Eq 6), with the coefficient corrected. The sum of the Shapley
weights of all A in which U is the connected component of i (proof of their Theorem 2, their Lemma
1) is

    (u - 1)! b! / (u + b)!,    u = |U|, b = number of players of N_k(i) next to U.

The printed 2 / (u (u + 1) (u + 2)) is the case b = 2, an interval inside a long line. With it, the
values of an additive game shrink near the ends of a neighbourhood, to 0.53 at k = 1.

Myerson (1977), Graphs and cooperation in games: v^G(S) is the sum of v over the connected
components of S. U is a component of S if and only if S contains U and no player of its border B.
The Shapley value of this game is known: (u - 1)! b! / (u + b)! for a player of U, -u! (b - 1)! / (u
+ b)! for one of B, 0 for others.

The regression of section 4.3.2 is phi = (X'WX)^-1 X'W F over the rows of X, which are intervals of
a line, squares of a grid (printed without the second W). The full coalition has infinite weight: it
is a constraint.
"""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice, takewhile
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, splu
from scipy.special import beta

from skshapley._tools import (
    Constraint,
    Count,
    Flag,
    all_coalitions,
    generator,
    log_binomial,
    uniform_permutations,
)
from skshapley.designs import LinearDesign, MarginalDesign
from skshapley.samplers._base import Price, Sampler, SamplerTask, SamplerTraits
from skshapley.samplers._coalitions import shapley_weights
from skshapley.samplers._graphs import (
    NAMES,
    Graph,
    Patch,
    all_connected_sets,
    as_graph,
    connected_sets,
    is_graph,
    masks_to_arrays,
    patches,
)

MOST_COALITIONS = 2**22
PLANS_KEPT = 8
GRAPH_CONSTRAINTS = {
    "graph": Constraint(
        is_graph,
        f"{NAMES}, an adjacency matrix (dense or sparse), or a networkx graph",
    ),
    "order": Count(),
}


class TooManyCoalitions(Exception):  # noqa: N818 - internal to the samplers
    """More coalitions than allowed; raised while counting."""


def listed(sets: Iterator[int], limit: int, n_nodes: int) -> np.ndarray:
    """Return sets given as bit masks, ``(m, n_nodes)`` bool; the full one is beyond the limit."""
    # One more than allowed proves that there are too many, without enumerating the
    # rest.
    masks = list(islice(sets, limit + 2))
    if len(masks) > limit + 1:
        raise TooManyCoalitions
    return masks_to_arrays(masks, n_nodes)


class LinearPlan(NamedTuple):
    """The sparse coalitions and weights of a graph method, for all rows.

    Attributes
    ----------
    coalitions : scipy.sparse.csr_array of shape (m, p), bool
        Distinct; they may include the empty and the full coalition.
    weights : sparse array or linear operator of shape (p, m)
    exact : bool
        Whether the attributions are the Shapley values, for any game.
    """

    coalitions: sparse.csr_array
    weights: Any
    exact: bool

    @property
    def n_evals(self) -> int:
        """The number of coalitions that are neither empty nor full."""
        sizes = np.diff(self.coalitions.indptr)
        return int(((sizes > 0) & (sizes < self.coalitions.shape[1])).sum())


@lru_cache(maxsize=PLANS_KEPT)
def _planned(
    kind: type["GraphSampler"],
    graph: Graph,
    options: tuple[tuple[str, Any], ...],
    limit: int,
) -> LinearPlan | None:
    """Return the plan of a sampler for all blocks of rows, or None above `limit` evaluations."""
    try:
        plan = kind(graph, **dict(options))._plan(graph, limit)
    except TooManyCoalitions:
        return None
    return plan if plan.n_evals <= limit else None


@dataclass(eq=False, repr=False)
class GraphSampler(Sampler):
    """Base class of the samplers on a graph.

    The graph and the order determine the coalitions, and thus the cost. A smaller
    budget raises an error before the model is called.

    Parameters
    ----------
    graph : str, tuple, array, sparse matrix or networkx.Graph, default="chain"
    order : int, default=1
    """

    graph: Any = "chain"

    produces = LinearDesign
    traits = SamplerTraits(one_shot=True, needs_all_players=True)
    _constraints = GRAPH_CONSTRAINTS

    @abstractmethod
    def _plan(self, graph: Graph, limit: int) -> LinearPlan:
        """Return the plan, or raise TooManyCoalitions if it has more than `limit` evaluations."""

    def n_evaluations(self, n_players: int) -> int:
        """Return the evaluations for one row to explain, including v(empty) and v(all)."""
        return self.price(n_players, 1).least_evals + 2

    def price(self, n_players: int, n_references: int) -> Price:
        """Return the exact price of the coalitions."""
        n = self._affordable(n_players, MOST_COALITIONS).n_evals
        return Price.of_coalitions(1, n_references, least=n, most=n)

    def _n_references(self, n_rows: int, n_players: int, n_references: int) -> int:
        """Return the number of background rows that the budget buys for all coalitions.

        Raises
        ------
        ValueError
            If they cost more than `n_rows`; the error names the largest order that
            fits. Not many more than the budget are counted.
        """
        n = self._affordable(n_players, min(n_rows, MOST_COALITIONS)).n_evals
        return max(1, min(n_references, n_rows // max(n, 1)))

    def _ask(self, rows: np.ndarray, n: int) -> LinearDesign:
        # one design for all rows
        coalitions, weights, exact = self._affordable(self.n_players_, n)
        return LinearDesign(coalitions.toarray()[None], weights=weights, exact=exact)

    def _affordable(self, n_players: int, limit: int) -> LinearPlan:
        graph = as_graph(self.graph, n_players, type(self).__name__)
        plan = self._within(graph, limit)
        if plan is None:
            raise ValueError(self._refusal(graph, limit))
        return plan

    def _within(self, graph: Graph, limit: int, **changed: Any) -> LinearPlan | None:
        """Return the plan with some parameters changed, or None above `limit` evaluations."""
        options = {k: v for k, v in self.get_params().items() if k != "graph"} | changed
        return _planned(type(self), graph, tuple(options.items()), limit)

    def _refusal(self, graph: Graph, limit: int) -> str:
        # The message names the cost of methods up to 64 times too dear; beyond that,
        # counting takes too long.
        most = min(64 * max(limit, 1), MOST_COALITIONS)
        plan = self._within(graph, most)
        cost = f"more than {most + 2}" if plan is None else plan.n_evals + 2
        advice = "raise the budget or put players into groups"
        # Costs grow with the order, so the first order that does not fit ends the search.
        fits = [
            *takewhile(
                lambda k: self._within(graph, limit, order=k),
                range(1, getattr(self, "order", 1)),
            )
        ]
        if fits:
            advice = f"choose order={fits[-1]}, {advice}"
        return (
            f"{self!r} on {graph.n_nodes} players needs {cost} evaluations per row, "
            f"more than the {limit + 2} that the budget allows: {advice}."
        )


@dataclass(eq=False, repr=False)
class NeighbourhoodSampler(GraphSampler):
    """Base class of the samplers that look at coalitions inside each player's neighbourhood."""

    order: int = 1

    @staticmethod
    @abstractmethod
    def _patterns(patch: Patch, limit: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the patterns ``(s, n)`` of a patch, the empty one first, and their weights.

        Raise TooManyCoalitions if there are more than `limit`.
        """

    def _plan(self, graph: Graph, limit: int) -> LinearPlan:
        p = graph.n_nodes
        lowest = np.zeros(p)
        parts = []
        nodes = []
        weights = []
        exact = True
        for patch in patches(graph, self.order):
            patterns, pattern_weights = self._patterns(patch, limit)
            # coalitions with different lowest players differ: for each player, the most
            # that one neighbourhood has adds up to a lower bound (the full coalition
            # costs nothing)
            counts = np.bincount(
                patterns[1:].argmax(axis=1),
                minlength=patterns.shape[1],
            )
            np.maximum.at(lowest, patch.members, counts)
            if lowest.sum() - 1 > limit:
                raise TooManyCoalitions
            parts.append(_coalitions(patch.members, patterns, p))
            nodes.append(
                np.repeat(patch.members[:, patch.centre], len(pattern_weights))
            )
            weights.append(np.tile(pattern_weights, len(patch.members)))
            exact &= len(pattern_weights) == 2**p
        # each coalition once: different ones have equal sums of random words of their
        # players with probability 2^-128
        every = sparse.vstack(parts, format="csr")
        # A fixed seed: the words only tell coalitions apart and never reach the values.
        _, first, column = np.unique(
            every @ generator(0).integers(2**64, size=(p, 2), dtype=np.uint64),
            axis=0,
            return_index=True,
            return_inverse=True,
        )
        places = np.concatenate(nodes), column.ravel()
        table = sparse.coo_array(
            (np.concatenate(weights), places),
            shape=(p, len(first)),
        )
        return LinearPlan(every[first], table.tocsr(), exact)


def _coalitions(
    members: np.ndarray,
    patterns: np.ndarray,
    n_players: int,
) -> sparse.csr_array:
    """Return the coalitions of all nodes of a patch, node by node, as sparse rows."""
    indices = members[:, np.nonzero(patterns)[1]].ravel()
    counts = np.tile(patterns.sum(axis=1), len(members))
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return sparse.csr_array(
        (np.ones(len(indices), dtype=bool), indices, indptr),
        shape=(len(counts), n_players),
    )


class LocalShapley(NeighbourhoodSampler):
    """L-Shapley of order k: players at a distance above k from a player are absent from its game.

    With N_k(i) the players at distance at most k from i, including i,

        phi_i = sum over T with i of (v(T) - v(T without i)) / (n C(n - 1, |T| - 1)),  n = |N_k(i)|,

    over the subsets T of N_k(i).

    If k is at least the diameter of the graph, this is the Shapley value. Attributions need not add
    up to v(all) - v(empty): ``efficiency_gap`` is the difference. On games that add over separated
    sets they add up. They are then the Shapley values if N_k contains all players with which a
    player interacts. On a line of d players the cost is 2^2k (d - 2k + 1) + 1 evaluations (4 d - 3
    for k = 1), including v(empty) and v(all).

    Parameters
    ----------
    graph : "chain", "ring", ("grid", shape), adjacency matrix or networkx.Graph, default="chain"
        The neighbours. Nodes are players, or groups if `groups` are used.
    order : int, default=1
        k, the radius of the neighbourhoods.

    References
    ----------
    Chen, Song, Wainwright & Jordan (2018), L-Shapley and C-Shapley: efficient model interpretation
    for structured data, Definition 1.

    Examples
    --------
    >>> from skshapley import shapley_values
    >>> from skshapley.samplers import LocalShapley
    >>> neighbours_meet = lambda S: (S[:, 1:] & S[:, :-1]).sum(axis=1)
    >>> sampler = LocalShapley(graph="chain", order=1)
    >>> sampler.n_evaluations(5)
    17
    >>> shapley_values(
    ...     neighbours_meet, n_players=5, sampler=sampler, max_evals=17
    ... ).values
    array([0.5, 1. , 1. , 1. , 0.5])
    """

    @staticmethod
    def _patterns(patch: Patch, limit: int) -> tuple[np.ndarray, np.ndarray]:
        n = patch.members.shape[1]
        if 2**n > limit + 2:
            raise TooManyCoalitions
        subsets = all_coalitions(n)
        return subsets, shapley_weights(subsets)[patch.centre]


@dataclass(eq=False, repr=False)
class LocalPermutations(Sampler):
    """L-Shapley of order k estimated from permutations, if 2^|N_k| evaluations are too many.

    In every round, all players are put in a random order. Each player joins the earlier
    players of its own neighbourhood, which gives a uniform permutation of every
    neighbourhood. Rounds come in pairs, the second in reverse order; a pair is a unit.
    A round costs at most 2 p evaluations. A repeated coalition costs nothing. This is
    not the Shapley value, and need not add up to v(all)
    - v(empty); ``efficiency_gap`` is the difference.

    Parameters
    ----------
    graph : "chain", "ring", ("grid", shape), adjacency matrix or networkx.Graph, default="chain"
        The neighbours. Nodes are players, or groups if `groups` are used.
    order : int, default=1
        k, the radius of the neighbourhoods.

    References
    ----------
    Chen, Song, Wainwright & Jordan (2018), L-Shapley and C-Shapley: efficient model
    interpretation for structured data, Definition 1 and section 4.3.1.

    Examples
    --------
    >>> from skshapley import shapley_values
    >>> from skshapley.samplers import LocalPermutations
    >>> result = shapley_values(
    ...     lambda S: S @ [1.0, 2.0, 3.0, 4.0],
    ...     n_players=4,
    ...     sampler=LocalPermutations("ring", order=1),
    ...     random_state=0,
    ... )
    >>> result.values, result.standard_errors
    (array([1., 2., 3., 4.]), array([0., 0., 0., 0.]))
    """

    graph: Any = "chain"
    order: int = 1

    produces = MarginalDesign
    traits = SamplerTraits(needs_all_players=True)
    _constraints = GRAPH_CONSTRAINTS

    def price(self, n_players: int, n_references: int) -> Price:
        """Return the price of pairs of rounds, or raise ValueError for a graph of other players."""
        as_graph(self.graph, n_players, type(self).__name__)
        return Price.of_coalitions(2 * n_players, n_references, least=2, step=2)

    def _start(self, task: SamplerTask) -> None:
        graph = as_graph(self.graph, self.n_players_, type(self).__name__)
        self._near = graph.within(self.order).toarray()

    def _ask(self, rows: np.ndarray, n: int) -> MarginalDesign:
        p = self.n_players_
        place = np.stack(
            [uniform_permutations(self.rngs_[row], n // 2, p) for row in rows]
        )
        # Negative places reverse the order, which makes the second round of a pair.
        places = np.stack([place, -place], axis=2).reshape(len(rows), n, p)
        sets = self._near & (places[:, :, None] < places[..., None])
        coalitions = np.stack([sets, sets | np.eye(p, dtype=bool)], axis=3)
        return MarginalDesign(
            coalitions.reshape(len(rows), -1, p),
            unit=2,
            adds_up=False,
        )


class ConnectedShapley(NeighbourhoodSampler):
    """C-Shapley of order k: marginal contributions to connected sets of the neighbourhood.

    phi_i is the sum over connected sets U of N_k(i) with i of (u - 1)! b! / (u + b)!
    times v(U) - v(U without i), with u the size of U and b the number of its neighbours
    in N_k(i). The weights have sum 1. On games that add over separated sets, this is
    L-Shapley of the same order, and the Myerson value if the order is at least the
    diameter. On other games it is neither. The cost on a line of d players is O(k^2 d).

    Parameters
    ----------
    graph : "chain", "ring", ("grid", shape), adjacency matrix or networkx.Graph, default="chain"
        The neighbours. Nodes are players, or groups if `groups` are used.
    order : int, default=1
        k, the radius of the neighbourhoods.

    References
    ----------
    Chen, Song, Wainwright & Jordan (2018), L-Shapley and C-Shapley: efficient model
    interpretation for structured data, Definition 2, with the coefficient of the sets
    at the border of a neighbourhood corrected.

    Examples
    --------
    >>> from skshapley import shapley_values
    >>> from skshapley.samplers import ConnectedShapley
    >>> shapley_values(
    ...     lambda S: S @ [1.0, 2.0, 3.0, 4.0],
    ...     n_players=4,
    ...     sampler=ConnectedShapley(graph="ring", order=1),
    ... ).values
    array([1., 2., 3., 4.])
    """

    @staticmethod
    def _patterns(patch: Patch, limit: int) -> tuple[np.ndarray, np.ndarray]:
        n = patch.members.shape[1]
        present = listed(
            connected_sets(patch.links, patch.centre, (1 << n) - 1),
            limit,
            n,
        )
        # Neighbours of present players that are absent themselves.
        border = (present @ masks_to_arrays(patch.links, n)) & ~present
        # beta(u, b + 1) = (u - 1)! b! / (u + b)!, without overflow of the factorials.
        weights = beta(present.sum(axis=1), border.sum(axis=1) + 1.0)
        without = present.copy()
        without[:, patch.centre] = False  # the first set is the lone centre
        return np.concatenate([without, present]), np.concatenate([-weights, weights])


class Myerson(GraphSampler):
    """The Myerson value of a game on a graph, from all connected sets.

    On a connected graph it adds up to v(all) - v(empty); a line of d players costs d (d
    + 1)/2 + 1 evaluations, v(empty) and v(all) included. It is the Shapley value for
    games that add over separated sets, and for all games if the graph is complete. For
    other games it differs: players interact only if a chain of present players connects
    them.

    Parameters
    ----------
    graph : "chain", "ring", ("grid", shape), adjacency matrix or networkx.Graph, default="chain"
        The neighbours. Nodes are players, or groups if `groups` are used.

    References
    ----------
    Myerson (1977), Graphs and cooperation in games, Mathematics of Operations Research
    2. Chen, Song, Wainwright & Jordan (2018), L-Shapley and C-Shapley, section 4.2.

    Examples
    --------
    Two ends that need each other also need the player between them:

    >>> from skshapley import shapley_values
    >>> from skshapley.samplers import Myerson
    >>> shapley_values(
    ...     lambda S: S[:, 0] & S[:, 2], n_players=3, sampler=Myerson("chain")
    ... ).values
    array([0.3333, 0.3333, 0.3333])
    """

    _constraints = {"graph": GRAPH_CONSTRAINTS["graph"]}

    def _plan(self, graph: Graph, limit: int) -> LinearPlan:
        coalitions = sparse.csr_array(
            listed(chain([0], all_connected_sets(graph)), limit + 1, graph.n_nodes)
        )
        border = (coalitions @ graph.adjacency) > coalitions
        u = np.diff(coalitions.indptr)
        b = np.diff(border.indptr)
        of_members = beta(np.maximum(u, 1), b + 1.0)
        of_border = np.where(b > 0, beta(u + 1.0, np.maximum(b, 1)), 0.0)
        inside = sparse.diags_array(of_members) @ coalitions
        weights = (inside - sparse.diags_array(of_border) @ border).tocsr()
        # the worth of a component is its difference from v(empty), the first set
        weights = sparse.vstack(
            [sparse.csr_array(-weights.sum(axis=0)[None]), weights[1:]]
        ).T.tocsr()
        p = graph.n_nodes
        is_complete = graph.adjacency.nnz == p * (p - 1)
        return LinearPlan(coalitions, weights, is_complete)


@dataclass(eq=False, repr=False)
class ConnectedRegression(GraphSampler):
    """Least squares over all connected sets of up to k players, adding up to v(all) - v(empty).

    The sets are intervals of up to k players of a chain or ring, squares of up to k x k
    of a ("grid", shape), and connected sets of up to k players of any other graph. On a
    line of d players the cost is k d - k (k - 1)/2 + 2 evaluations, v(empty) and v(all)
    included.

    Parameters
    ----------
    graph : "chain", "ring", ("grid", shape), adjacency matrix or networkx.Graph, default="chain"
        The neighbours. Nodes are players, or groups if `groups` are used.
    order : int, default=4
        k, the largest length of intervals, side of squares, or size of connected sets.
    balanced : bool, default=False
        False: each set has its weight in the Shapley kernel, (d - 1) / (C(d, s) s (d -
        s)), as printed. A pair has only 1/(d - 2) of the weight of a single player, so
        with many players the result is close to v({i}) - v(empty), adjusted to the
        correct sum. True: each size s has the total weight of all coalitions of this
        size, proportional to 1 / (s (d - s)), divided equally among its sets. The
        result is closer to the Shapley values, but does not rank better.

    References
    ----------
    Chen, Song, Wainwright & Jordan (2018), L-Shapley and C-Shapley: efficient model
    interpretation for structured data, section 4.3.2.

    Examples
    --------
    >>> from skshapley import shapley_values
    >>> from skshapley.samplers import ConnectedRegression
    >>> sampler = ConnectedRegression(graph="chain", order=2)
    >>> neighbours_meet = lambda S: (S[:, 1:] & S[:, :-1]).sum(axis=1)
    >>> result = shapley_values(neighbours_meet, n_players=5, sampler=sampler)
    >>> float(result.values.sum()), result.n_evaluations
    (4.0, 11)
    """

    order: int = 4
    balanced: bool = False

    _constraints = {**GRAPH_CONSTRAINTS, "balanced": Flag()}

    def _plan(self, graph: Graph, limit: int) -> LinearPlan:
        p = graph.n_nodes
        if graph.grid is None:
            sets = (
                mask
                for mask in all_connected_sets(graph, self.order)
                if mask.bit_count() < p
            )
            coalitions = sparse.csr_array(listed(sets, limit, p))
        else:
            coalitions = _cubes(graph.grid, self.order)
        sizes = np.diff(coalitions.indptr)
        scale = sizes * (p - sizes)
        weights = (
            1 / (scale * np.bincount(sizes)[sizes])
            if self.balanced
            else np.exp(np.log(p) - log_binomial(p, sizes)) / scale
        )
        ends = sparse.csr_array(np.array([[False], [True]]).repeat(p, axis=1))
        return LinearPlan(
            sparse.vstack([ends, coalitions], format="csr"),
            _Solution(coalitions, weights),
            exact=False,
        )


def _cubes(shape: tuple[int, ...], order: int) -> sparse.csr_array:
    """Return squares (cubes) of side 1..order of a grid, without the whole grid, ``(m, p)``."""
    nodes = np.arange(np.prod(shape)).reshape(shape)
    cubes = []
    for side in range(1, min(order, *shape) + 1):
        # This square is the whole grid, whose value is a constraint and not a row.
        if shape == (side,) * len(shape):
            break
        members = np.lib.stride_tricks.sliding_window_view(
            nodes,
            (side,) * len(shape),
        ).reshape(-1, side ** len(shape))
        cubes.append(
            _coalitions(
                members,
                np.ones((1, members.shape[1]), dtype=bool),
                nodes.size,
            )
        )
    return sparse.vstack(cubes, format="csr")


class _Solution(LinearOperator):
    """Linear operator from the values of the empty, full and listed sets to the solution.

    A factorisation instead of a dense matrix keeps the cost linear in the players of a
    line.
    """

    def __init__(self, listed: sparse.csr_array, weight: np.ndarray) -> None:
        super().__init__(np.float64, (listed.shape[1], listed.shape[0] + 2))
        members = listed.astype(np.float64)
        self._scores = (members.T * weight).tocsr()
        # Sets on a line touch few players, so the matrix is banded and its factors stay
        # sparse.
        self._solve = splu((self._scores @ members).tocsc()).solve
        pull = self._solve(np.ones(listed.shape[1]))
        self._pull = pull / pull.sum()

    def _matmat(self, values: np.ndarray) -> np.ndarray:
        gains = values - values[0]
        free = self._solve(self._scores @ gains[2:])
        # The free solution is moved along the direction that costs least, until the sum
        # is correct.
        return free + np.outer(self._pull, gains[1] - free.sum(axis=0))
