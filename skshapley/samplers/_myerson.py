"""The Myerson value: the Shapley value of the game in which separated players do not act together.

Myerson (1977), Graphs and cooperation in games: v^G(S) is the sum of v over the connected
components of S. U is a component of S just if S contains U and nothing of its border B, and the
Shapley value of that game is known: (u - 1)! b! / (u + b)! for a player of U, -u! (b - 1)! / (u +
b)! for one of B, 0 for others.
"""

from itertools import islice

import numpy as np
from scipy import sparse
from scipy.special import beta

from skshapley.samplers._graph_sampler import (
    GRAPH_CONSTRAINTS,
    GraphSampler,
    LinearPlan,
    TooManyCoalitions,
)
from skshapley.samplers._graphs import Graph, all_connected_sets, masks_to_arrays


class Myerson(GraphSampler):
    """The Myerson value of a game on a graph, in full: every connected set is evaluated.

    On a connected graph it adds up to v(all) - v(empty); a line of d players costs d (d + 1)/2 + 1
    evaluations, v(empty) and v(all) included. It is the Shapley value of games that add over
    separated sets, of any game if the graph is complete, and another value for others: it knows of
    no interaction between players whom no chain of present players joins.

    Parameters
    ----------
    graph : "chain", "ring", ("grid", shape), adjacency matrix or networkx.Graph, default="chain"
        Who is next to whom. Nodes are players: groups, where there are groups.

    References
    ----------
    Myerson (1977), Graphs and cooperation in games, Mathematics of Operations Research 2. Chen,
    Song, Wainwright & Jordan (2018), L-Shapley and C-Shapley, section 4.2.

    Examples
    --------
    Two ends that need each other need the one between them as well:

    >>> from skshapley import shapley_values
    >>> from skshapley.samplers import Myerson
    >>> shapley_values(lambda S: S[:, 0] & S[:, 2], n_players=3, sampler=Myerson("chain")).values
    array([0.3333, 0.3333, 0.3333])
    """

    _constraints = {"graph": GRAPH_CONSTRAINTS["graph"]}

    def __init__(self, graph="chain") -> None:
        self.graph = graph

    @property
    def _radius(self) -> None:
        return None

    def _plan(self, graph: Graph, order: int | None, limit: int) -> LinearPlan:
        masks = list(islice(all_connected_sets(graph), limit + 2))
        if len(masks) > limit + 1:
            raise TooManyCoalitions
        coalitions = sparse.csr_array(masks_to_arrays([0, *masks], graph.n_nodes))
        return LinearPlan(coalitions, _weights(coalitions, graph.adjacency), graph.complete)


def _weights(coalitions: sparse.csr_array, adjacency: sparse.csr_array) -> sparse.csr_array:
    """Return the weights ``(p, m)`` of connected sets ``(m, p)``; the first set is empty."""
    border = (coalitions @ adjacency) > coalitions
    u, b = np.diff(coalitions.indptr), np.diff(border.indptr)
    inside = sparse.diags_array(beta(np.maximum(u, 1), b + 1.0)) @ coalitions
    beside = sparse.diags_array(np.where(b > 0, beta(u + 1.0, np.maximum(b, 1)), 0.0)) @ border
    weights = (inside - beside).tocsr()
    # a component is worth what it adds to v(empty)
    empty = sparse.csr_array(-weights.sum(axis=0)[None])
    return sparse.vstack([empty, weights[1:]]).T.tocsr()
