"""Base class of the samplers on a graph: a fixed list of coalitions, its cost and its checks.

Chen, Song, Wainwright & Jordan (2018), L-Shapley and C-Shapley: the attribution of a player is a
fixed weighted sum over few coalitions, chosen by a graph on the players. A coalition needed by
several players is evaluated once.
"""

from abc import abstractmethod
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice, takewhile
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skshapley._tools._constraints import Constraint, Count
from skshapley._tools._random import generator
from skshapley.designs import LinearDesign
from skshapley.samplers._base import Bought, Price, Sampler, SamplerTraits
from skshapley.samplers._graphs import (
    NAMES,
    Graph,
    Patch,
    as_graph,
    is_graph,
    masks_to_arrays,
    patches,
)

MOST_COALITIONS = 2**22
PLANS_KEPT = 8
GRAPH_CONSTRAINTS = {
    "graph": Constraint(
        is_graph, f"{NAMES}, an adjacency matrix (dense or sparse), or a networkx graph"
    ),
    "order": Count(),
}


class TooManyCoalitions(Exception):  # noqa: N818 - internal to the samplers
    """More coalitions than allowed; raised while counting."""


def listed(sets: Iterator[int], limit: int, n_nodes: int) -> np.ndarray:
    """Return sets given as bit masks, ``(m, n_nodes)`` bool; the full one is beyond the limit."""
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
    kind: type["GraphSampler"], graph: Graph, options: tuple[tuple[str, Any], ...], limit: int
) -> LinearPlan:
    """Return the plan of a sampler, equal for all blocks of rows."""
    plan = kind(graph, **dict(options))._plan(graph, limit)
    if plan.n_evals > limit:
        raise TooManyCoalitions
    return plan


class GraphSampler(Sampler):
    """Base class of the samplers on a graph.

    The graph and the order determine the coalitions, and thus the cost. A smaller budget raises an
    error before the model is called.

    Parameters
    ----------
    graph : str, tuple, array, sparse matrix or networkx.Graph, default="chain"
    order : int, default=1
    """

    produces = LinearDesign
    traits = SamplerTraits(one_shot=True, needs_all_players=True)
    _constraints = GRAPH_CONSTRAINTS

    def __init__(self, graph="chain", order: int = 1) -> None:
        self.graph = graph
        self.order = order

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

    def afford(self, n_rows: int, n_players: int, n_references: int) -> Bought:
        """Return all coalitions, and the number of background rows that the budget buys.

        Raises
        ------
        ValueError
            If they cost more than `n_rows`; the error names the largest order that fits. Not many
            more than the budget are counted.
        """
        n = self._affordable(n_players, min(n_rows, MOST_COALITIONS)).n_evals
        looked_at = max(1, min(n_references, n_rows // max(n, 1)))
        price = self.price(n_players, looked_at)
        return Bought(price, n, looked_at, looked_at < n_references, n)

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
        try:
            return _planned(type(self), graph, tuple(options.items()), limit)
        except TooManyCoalitions:
            return None

    def _refusal(self, graph: Graph, limit: int) -> str:
        most = min(64 * max(limit, 1), MOST_COALITIONS)

        def cost(**changed: int) -> str:
            plan = self._within(graph, most, **changed)
            return f"more than {most + 2}" if plan is None else str(plan.n_evals + 2)

        with_order, advice = "", "raise the budget or put players into groups"
        if (order := self.get_params().get("order")) is not None:
            fits = takewhile(lambda k: self._within(graph, limit, order=k), range(1, order))
            largest = max(fits, default=0)
            with_order = f" with order={order}"
            advice = f"not even order=1 fits, which needs {cost(order=1)}: {advice}"
            if largest:
                needs = cost(order=largest)
                advice = f"the largest order that fits is {largest}, which needs {needs}"
        return (
            f"{type(self).__name__}{with_order} on {graph.n_nodes} players needs {cost()}"
            f" evaluations per row, more than the {limit + 2} that the budget allows:"
            f" {advice}."
        )


class NeighbourhoodSampler(GraphSampler):
    """Base class of the samplers that look at coalitions inside each player's neighbourhood."""

    @staticmethod
    @abstractmethod
    def _patterns(patch: Patch, limit: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the patterns ``(s, n)`` of a patch, the empty one first, and their weights.

        TooManyCoalitions if there are more than `limit`.
        """

    def _plan(self, graph: Graph, limit: int) -> LinearPlan:
        p, lowest = graph.n_nodes, np.zeros(graph.n_nodes)
        parts, nodes, weights, exact = [], [], [], True
        for patch in patches(graph, self.order):
            patterns, own = self._patterns(patch, limit)
            # coalitions with different lowest players differ: for each player, the most that one
            # neighbourhood has adds up to a lower bound (the full coalition costs nothing)
            counts = np.bincount(patterns[1:].argmax(axis=1), minlength=patterns.shape[1])
            np.maximum.at(lowest, patch.members, np.broadcast_to(counts, patch.members.shape))
            if lowest.sum() - 1 > limit:
                raise TooManyCoalitions
            parts.append(_coalitions(patch.members, patterns, p))
            nodes.append(np.repeat(patch.members[:, patch.centre], len(own)))
            weights.append(np.tile(own, len(patch.members)))
            exact &= len(own) == 2**p
        # each coalition once: different ones have equal sums of random words of their players with
        # probability 2^-128
        every = sparse.vstack(parts, format="csr")
        words = generator(0).integers(2**64, size=(p, 2), dtype=np.uint64)
        _, met, column = np.unique(every @ words, axis=0, return_index=True, return_inverse=True)
        entries = np.concatenate(weights), (np.concatenate(nodes), column.ravel())
        table = sparse.coo_array(entries, shape=(p, len(met))).tocsr()
        return LinearPlan(every[met], table, exact)


def _coalitions(members: np.ndarray, patterns: np.ndarray, n_players: int) -> sparse.csr_array:
    """Return the coalitions of all nodes of a patch, node by node, as sparse rows."""
    row, position = np.nonzero(patterns)
    indices = members[:, position].ravel()
    counts = np.tile(np.bincount(row, minlength=len(patterns)), len(members))
    indptr = np.concatenate([[0], np.cumsum(counts)])
    ones = np.ones(len(indices), dtype=bool)
    return sparse.csr_array((ones, indices, indptr), shape=(len(counts), n_players))
