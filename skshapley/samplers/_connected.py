"""C-Shapley: only connected coalitions of a player's neighbourhood.

Chen et al. (2018), Definition 2 (Eq 6), with the coefficient corrected. Summing the Shapley weights
of all A that have U as the connected component of i (proof of their Theorem 2, their Lemma 1) gives

    (u - 1)! b! / (u + b)!,    u = |U|, b = number of players of N_k(i) next to U.

The printed 2 / (u (u + 1) (u + 2)) is the case b = 2, an interval inside a long line. With it an
additive game is shrunk near the ends of a neighbourhood, to 0.53 of its values at k = 1.
"""

from itertools import islice
from typing import Any

import numpy as np
from scipy.special import beta

from skshapley.samplers._graph_sampler import (
    GraphSampler,
    LinearPlan,
    Local,
    TooManyCoalitions,
    assemble,
    refuse_above,
)
from skshapley.samplers._graphs import Graph, Patch, connected_sets, masks_to_arrays, patches


class ConnectedShapley(GraphSampler):
    """C-Shapley of order k: marginal contributions to connected sets of the neighbourhood only.

    phi_i is the sum over connected sets U of N_k(i) with i of (u - 1)! b! / (u + b)! times v(U) -
    v(U without i), with u the size of U and b the number of players of N_k(i) next to U. The
    weights have sum 1. On games that add over separated sets this is L-Shapley of the same order
    (and the Myerson value for an order of at least the diameter); on others it is neither. The cost
    on a line of d players is O(k^2 d).

    Parameters
    ----------
    graph : "chain", "ring", ("grid", shape), adjacency matrix or networkx.Graph, default="chain"
        Who is next to whom. Nodes are players: groups, where there are groups.
    order : int, default=1
        k, the radius of the neighbourhoods.

    References
    ----------
    Chen, Song, Wainwright & Jordan (2018), L-Shapley and C-Shapley: efficient model interpretation
    for structured data, Definition 2, with the coefficient of the sets at the border of a
    neighbourhood corrected.

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

    def _plan(self, graph: Graph, order: Any, limit: int) -> LinearPlan:
        alike = patches(graph, order)
        parts = [Local(patch, *_connected(patch, limit)) for patch in alike]
        counts = [
            np.bincount(part.patterns[1:].argmax(axis=1), minlength=part.patterns.shape[1])
            for part in parts
        ]
        refuse_above(limit, alike, counts, graph.n_nodes)
        return assemble(parts, graph.n_nodes, graph.complete)


def _connected(patch: Patch, limit: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the connected sets with and without the centre, and their weights.

    The first pattern is the empty set: the lone centre without itself.
    """
    n, centre = patch.members.shape[1], patch.centre
    masks = list(islice(connected_sets(patch.links, centre, (1 << n) - 1), limit + 2))
    if len(masks) > limit + 1:
        raise TooManyCoalitions
    present = masks_to_arrays(masks, n)
    border = (present @ masks_to_arrays(patch.links, n)) & ~present
    weights = beta(present.sum(axis=1), border.sum(axis=1) + 1.0)
    without = present.copy()
    without[:, centre] = False
    return np.concatenate([without, present]), np.concatenate([-weights, weights])
