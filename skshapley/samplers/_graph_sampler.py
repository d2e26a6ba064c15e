"""Base class of the samplers on a graph: a fixed list of coalitions, its cost and its checks.

Chen, Song, Wainwright & Jordan (2018), L-Shapley and C-Shapley: the attribution of a player is a
fixed weighted sum over few coalitions, chosen by a graph on the players. Coalitions that several
players need are evaluated once.
"""

from abc import abstractmethod
from collections import OrderedDict
from typing import NamedTuple

import numpy as np
from scipy import sparse

from skshapley._tools._constraints import Count, Fitting
from skshapley.designs import LinearDesign
from skshapley.samplers._base import Price, Sampler, SamplerTraits
from skshapley.samplers._graphs import NAMES, Graph, Patch, as_graph, is_graph

MOST_COALITIONS = 2**22
PLANS_KEPT = 4
GRAPH_CONSTRAINTS = {
    "graph": Fitting(
        is_graph, f"{NAMES}, an adjacency matrix (dense or sparse), or a networkx graph"
    ),
    "order": Count(),
}


class TooManyCoalitions(Exception):  # noqa: N818 - never leaves the samplers
    """More coalitions than allowed; raised while they are counted."""


class LinearPlan:
    """The coalitions and weights of a graph method, sparse, for all instances.

    Parameters
    ----------
    coalitions : scipy.sparse.csr_array of shape (m, p), bool
        All different; the empty and the full one may be among them.
    weights : sparse array or linear operator of shape (p, m)
    exact : bool
        Whether the attributions are the Shapley values, for any game.
    """

    def __init__(self, coalitions: sparse.csr_array, weights, exact: bool) -> None:
        self.coalitions, self.weights, self.exact = coalitions, weights, exact
        sizes = np.diff(coalitions.indptr)
        self.n_evals = int(((sizes > 0) & (sizes < coalitions.shape[1])).sum())

    def design(self) -> LinearDesign:
        """Return the design, its coalitions dense."""
        return LinearDesign(
            self.coalitions.toarray()[None], weights=self.weights, distinct=True, exact=self.exact
        )


# The last few plans: every block of instances asks for the same one.
_plans: OrderedDict[tuple, LinearPlan] = OrderedDict()


class GraphSampler(Sampler):
    """Base class of the samplers on a graph.

    The coalitions, and so the cost, are fixed by the graph and the order; a budget that is less is
    refused before the model is called.

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
    def _plan(self, graph: Graph, order: int | None, limit: int) -> LinearPlan:
        """Return the plan, or raise TooManyCoalitions if it has more than `limit` evaluations."""

    def n_evaluations(self, n_players: int) -> int:
        """Return the evaluations for one row to explain, including v(empty) and v(all)."""
        return self.price(n_players, 1).least_evals + 2

    def price(self, n_players: int, n_references: int) -> Price:
        """Return the price of the coalitions, no more and no less."""
        n = self._affordable(n_players, MOST_COALITIONS).n_evals
        return Price(draw=n_references, coalitions=1, references=n_references, least=n, most=n)

    def _n_references(self, n_rows: int, n_players: int, n_references: int) -> int:
        n_evals = self._affordable(n_players, min(n_rows, MOST_COALITIONS)).n_evals
        return max(1, min(n_references, n_rows // max(n_evals, 1)))

    def _n_draws(self, n_rows: int, price: Price, n_players: int) -> int:
        """Return the number of coalitions, without counting many more than the budget.

        Raises
        ------
        ValueError
            If they cost more than `n_rows`; the error names the largest order that fits.
        """
        n_evals = n_rows // price.references
        return self._affordable(n_players, min(n_evals, MOST_COALITIONS)).n_evals

    def _ask(self, rows: np.ndarray, n: int) -> LinearDesign:
        # one design, for every instance
        return self._affordable(self.n_players_, n).design()

    def _affordable(self, n_players: int, n_evals: int) -> LinearPlan:
        graph = as_graph(self.graph, n_players, type(self).__name__)
        order = self._radius
        try:
            return self._remembered(graph, order, n_evals)
        except TooManyCoalitions:
            pass
        raise ValueError(self._refusal(graph, order, n_evals))

    def _remembered(self, graph: Graph, order: int | None, limit: int) -> LinearPlan:
        options = {name: value for name, value in self.get_params().items() if name != "graph"}
        key = type(self), graph, *options.values()
        plan = _plans.get(key) or self._plan(graph, order, limit)
        _plans[key] = plan
        _plans.move_to_end(key)
        while len(_plans) > PLANS_KEPT:
            _plans.popitem(last=False)
        if plan.n_evals > limit:
            raise TooManyCoalitions
        return plan

    @property
    def _radius(self) -> int | None:
        """The order, in a method that has one."""
        return self.order

    def _refusal(self, graph: Graph, order: int | None, n_evals: int) -> str:
        most = min(64 * max(n_evals, 1), MOST_COALITIONS)

        def cost(order: int | None) -> str:
            found = self._cost(graph, order, most)
            return f"more than {most + 2}" if found is None else str(found)

        advice = 'raise the budget, put players into groups, or take "connected" of a low order'
        if order is not None:
            costs: list[int] = []
            while (fitting := self._cost(graph, len(costs) + 1, n_evals)) is not None:
                costs.append(fitting)
            advice = (
                f"not even order=1 fits, which needs {cost(1)}: raise the budget or put players"
                f" into groups"
            )
            if costs:
                advice = f"the largest order that fits is {len(costs)}, which needs {costs[-1]}"
        with_order = "" if order is None else f" with order={order}"
        return (
            f"{type(self).__name__}{with_order} on {graph.n_nodes} players needs {cost(order)}"
            f" evaluations per instance, more than the {n_evals + 2} that the budget allows:"
            f" {advice}."
        )

    def _cost(self, graph: Graph, order: int | None, limit: int) -> int | None:
        """Return the evaluations, v(empty) and v(all) included, or None if above `limit` + 2."""
        try:
            n_evals = self._plan(graph, order, limit).n_evals
        except TooManyCoalitions:
            return None
        return n_evals + 2 if n_evals <= limit else None


class Local(NamedTuple):
    """The coalitions that the nodes of a patch look at, as patterns over their neighbourhood.

    Attributes
    ----------
    patch : Patch
    patterns : ndarray of shape (s, n), bool
    weights : ndarray of shape (s,)
        Of the patterns' values in the attribution of the node in the centre.
    """

    patch: Patch
    patterns: np.ndarray
    weights: np.ndarray


def refuse_above(
    limit: int, patches: list[Patch], counts: list[np.ndarray], n_players: int
) -> None:
    """Raise TooManyCoalitions if there are surely more than `limit` different coalitions.

    Coalitions with different lowest players differ, so that for each player the most that any one
    neighbourhood has adds up to a lower bound, found without listing anything.

    Parameters
    ----------
    counts : list of ndarray of shape (n,)
        For each patch, the number of its patterns by their lowest position.
    """
    lowest = np.zeros(n_players)
    for patch, count in zip(patches, counts, strict=True):
        np.maximum.at(lowest, patch.members, np.broadcast_to(count, patch.members.shape))
    if lowest.sum() - 1 > limit:  # one of them may be the full coalition, which costs nothing
        raise TooManyCoalitions


def assemble(parts: list[Local], n_players: int, exact: bool) -> LinearPlan:
    """Return the plan of all nodes, each coalition once.

    Coalitions are compared by the sums of two 64-bit words of their players; two different ones
    agree in both with probability 2^-128.
    """
    words = _words(n_players)
    keys = [
        np.stack(
            [(w[part.patch.members] @ part.patterns.T.astype(np.uint64)).ravel() for w in words]
        )
        for part in parts
    ]
    column, leaders = _distinct(np.concatenate(keys, axis=1))
    ends = np.cumsum([key.shape[1] for key in keys])
    member_lists, nodes, weights = [], [], []
    for part, end, key in zip(parts, ends, keys, strict=True):
        n_patterns = len(part.patterns)
        start = end - key.shape[1]
        mine = leaders[np.searchsorted(leaders, start) : np.searchsorted(leaders, end)] - start
        member_lists.append(_sparse_rows(part, mine // n_patterns, mine % n_patterns, n_players))
        nodes.append(np.repeat(part.patch.members[:, part.patch.centre], n_patterns))
        weights.append(np.tile(part.weights, len(part.patch.members)))
    coalitions = sparse.vstack(member_lists, format="csr")
    entries = np.concatenate(weights), (np.concatenate(nodes), column)
    table = sparse.coo_array(entries, shape=(n_players, len(leaders))).tocsr()
    return LinearPlan(coalitions, table, exact)


def _words(n_players: int) -> np.ndarray:
    """Return two 64-bit words for each player (splitmix64), ``(2, p)``."""
    out = np.arange(1, 2 * n_players + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        out = (out ^ (out >> np.uint64(shift))) * np.uint64(factor)
    return out.reshape(2, n_players)


def _distinct(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the column of each key ``(2, e)`` and where each column was first met, in order."""
    order = np.argsort(keys[0], kind="stable")
    ordered = keys[:, order]
    new = np.ones(keys.shape[1], dtype=bool)
    new[1:] = (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)
    met = order[new]
    rank = np.empty(len(met), dtype=np.intp)
    rank[np.argsort(met)] = np.arange(len(met))
    column = np.empty(keys.shape[1], dtype=np.intp)
    column[order] = rank[np.cumsum(new) - 1]
    return column, np.sort(met)


def _sparse_rows(
    part: Local, node: np.ndarray, pattern: np.ndarray, n_players: int
) -> sparse.csr_array:
    """Return coalitions, given by a node of the patch and a pattern each, as sparse rows."""
    chosen = part.patterns[pattern]
    row, position = np.nonzero(chosen)
    indptr = np.concatenate([[0], np.cumsum(chosen.sum(axis=1))])
    indices = part.patch.members[node[row], position]
    ones = np.ones(len(indices), dtype=bool)
    return sparse.csr_array((ones, indices, indptr), shape=(len(chosen), n_players))
