"""L-Shapley: the Shapley value of each player in the game of its own neighbourhood.

Chen et al. (2018), Definition 1 (Eq 5).
"""

from functools import cache
from typing import Any

import numpy as np

from skshapley._tools._counting import all_coalitions
from skshapley.samplers._exact import shapley_weights
from skshapley.samplers._graph_sampler import (
    GraphSampler,
    LinearPlan,
    Local,
    assemble,
    refuse_above,
)
from skshapley.samplers._graphs import Graph, patches


class LocalShapley(GraphSampler):
    """L-Shapley of order k: players farther than k from a player are absent from its game.

    With N_k(i) the players at distance at most k from i, itself among them,

        phi_i = sum over T with i of (v(T) - v(T without i)) / (n C(n - 1, |T| - 1)),  n = |N_k(i)|,

    over the subsets T of N_k(i).

    Where k is at least the diameter of the graph this is the Shapley value. Attributions need not
    add up to v(all) - v(empty): ``efficiency_gap`` says what is missing. On games that add over
    separated sets they do, and are the Shapley values whenever |N_k| holds all that a player
    interacts with. On a line of d players the cost is 2^2k (d - 2k + 1) + 1 evaluations (4 d - 3
    for k = 1), with v(empty) and v(all).

    Parameters
    ----------
    graph : "chain", "ring", ("grid", shape), adjacency matrix or networkx.Graph, default="chain"
        Who is next to whom. Nodes are players: groups, where there are groups.
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
    >>> shapley_values(neighbours_meet, n_players=5, sampler=sampler, max_evals=17).values
    array([0.5, 1. , 1. , 1. , 0.5])
    """

    def _plan(self, graph: Graph, order: Any, limit: int) -> LinearPlan:
        alike = patches(graph, order)
        sizes = [patch.members.shape[1] for patch in alike]
        # of the subsets of n positions, 2^(n - 1 - t) have position t as their lowest
        counts = [2.0 ** np.arange(n - 1, -1, -1) for n in sizes]
        refuse_above(limit, alike, counts, graph.n_nodes)
        parts = [Local(patch, *_subsets(patch.members.shape[1], patch.centre)) for patch in alike]
        exact = min(sizes) == graph.n_nodes
        return assemble(parts, graph.n_nodes, exact)


@cache
def _subsets(n: int, centre: int) -> tuple[np.ndarray, np.ndarray]:
    """Return all subsets of n players and their weights in the Shapley value of one of them."""
    subsets = all_coalitions(n)
    return subsets, shapley_weights(subsets)[centre]
