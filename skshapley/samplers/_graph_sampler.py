"""Base class of the samplers on a graph: a fixed list of coalitions, its cost and its checks.

Chen, Song, Wainwright & Jordan (2018), L-Shapley and C-Shapley: the attribution of a player is a
fixed weighted sum over few coalitions, chosen by a graph on the players. A coalition needed by
several players is evaluated once.
"""

from abc import abstractmethod
from functools import lru_cache
from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skshapley._tools._constraints import Constraint, Count
from skshapley._tools._random import generator
from skshapley.designs import LinearDesign
from skshapley.samplers._base import Price, Sampler, SamplerTraits
from skshapley.samplers._graphs import NAMES, Graph, Patch, as_graph, is_graph

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


class LinearPlan:
    """The sparse coalitions and weights of a graph method, for all rows.

    Parameters
    ----------
    coalitions : scipy.sparse.csr_array of shape (m, p), bool
        Distinct; they may include the empty and the full coalition.
    weights : sparse array or linear operator of shape (p, m)
    exact : bool
        Whether the attributions are the Shapley values, for any game.
    """

    def __init__(self, coalitions: sparse.csr_array, weights, exact: bool) -> None:
        self.coalitions, self.weights, self.exact = coalitions, weights, exact
        sizes = np.diff(coalitions.indptr)
        self.n_evals = int(((sizes > 0) & (sizes < coalitions.shape[1])).sum())

    def design(self) -> LinearDesign:
        """Return the design with dense coalitions."""
        return LinearDesign(self.coalitions.toarray()[None], weights=self.weights, exact=self.exact)


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
        return Price(draw=n_references, coalitions=1, references=n_references, least=n, most=n)

    def _n_references(self, n_rows: int, n_players: int, n_references: int) -> int:
        n_evals = self._affordable(n_players, min(n_rows, MOST_COALITIONS)).n_evals
        return max(1, min(n_references, n_rows // max(n_evals, 1)))

    def _n_draws(self, n_rows: int, price: Price, n_players: int) -> int:
        """Return the number of coalitions; the count stops soon above the budget.

        Raises
        ------
        ValueError
            If they cost more than `n_rows`; the error names the largest order that fits.
        """
        n_evals = n_rows // price.references
        return self._affordable(n_players, min(n_evals, MOST_COALITIONS)).n_evals

    def _ask(self, rows: np.ndarray, n: int) -> LinearDesign:
        # one design for all rows
        return self._affordable(self.n_players_, n).design()

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
            f" evaluations per instance, more than the {limit + 2} that the budget allows:"
            f" {advice}."
        )


class Local(NamedTuple):
    """Coalitions for the nodes of a patch, as patterns over their neighbourhood.

    Attributes
    ----------
    patch : Patch
    patterns : ndarray of shape (s, n), bool
    weights : ndarray of shape (s,)
        Weights of the patterns in the attribution of the central node.
    """

    patch: Patch
    patterns: np.ndarray
    weights: np.ndarray


def refuse_above(
    limit: int, patches: list[Patch], counts: list[np.ndarray], n_players: int
) -> None:
    """Raise TooManyCoalitions if there are certainly more than `limit` different coalitions.

    Coalitions with different lowest players are different. For each player, the largest count in a
    single neighbourhood is therefore a lower bound. The sum of these bounds needs no list of
    coalitions.

    Parameters
    ----------
    counts : list of ndarray of shape (n,)
        For each patch, the number of patterns by their lowest position.
    """
    lowest = np.zeros(n_players)
    for patch, count in zip(patches, counts, strict=True):
        np.maximum.at(lowest, patch.members, np.broadcast_to(count, patch.members.shape))
    if lowest.sum() - 1 > limit:  # one of them may be the full coalition, which costs nothing
        raise TooManyCoalitions


def assemble(parts: list[Local], n_players: int, exact: bool) -> LinearPlan:
    """Return the plan of all nodes, each coalition once.

    Coalitions are compared by two sums of random 64-bit words of their players. Two different
    coalitions have equal sums with probability 2^-128.
    """
    listed = sparse.vstack([_coalitions(part, n_players) for part in parts], format="csr")
    words = generator(0).integers(2**64, size=(n_players, 2), dtype=np.uint64)
    keys = listed @ words
    _, met, column = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    nodes = [
        np.repeat(part.patch.members[:, part.patch.centre], len(part.weights)) for part in parts
    ]
    weights = [np.tile(part.weights, len(part.patch.members)) for part in parts]
    entries = np.concatenate(weights), (np.concatenate(nodes), column.ravel())
    table = sparse.coo_array(entries, shape=(n_players, len(met))).tocsr()
    return LinearPlan(listed[met], table, exact)


def _coalitions(part: Local, n_players: int) -> sparse.csr_array:
    """Return the coalitions of all nodes of a patch, node by node, as sparse rows."""
    members, patterns = part.patch.members, part.patterns
    row, position = np.nonzero(patterns)
    indices = members[:, position].ravel()
    counts = np.tile(np.bincount(row, minlength=len(patterns)), len(members))
    indptr = np.concatenate([[0], np.cumsum(counts)])
    ones = np.ones(len(indices), dtype=bool)
    return sparse.csr_array((ones, indices, indptr), shape=(len(counts), n_players))
