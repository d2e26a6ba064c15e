"""Regression C-Shapley: least squares on connected sets, with the sum of the attributions exact.

Chen et al. (2018), section 4.3.2: phi = (X'WX)^-1 X'W F over the rows of X, which are intervals of
a line, squares of a grid (printed without the second W). The full coalition has infinite weight: it
is a constraint.
"""

from itertools import islice
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, splu

from skshapley._tools._constraints import Flag
from skshapley._tools._counting import log_binomial
from skshapley.samplers._graph_sampler import (
    GRAPH_CONSTRAINTS,
    GraphSampler,
    LinearPlan,
    TooManyCoalitions,
)
from skshapley.samplers._graphs import Graph, all_connected_sets, masks_to_arrays


class ConnectedRegression(GraphSampler):
    """Least squares over all connected sets of up to k players, adding up to v(all) - v(empty).

    The sets are intervals of up to k players of a chain or ring, squares of up to k x k of a
    ("grid", shape), and connected sets of up to k players of any other graph. On a line of d
    players the cost is k d - k (k - 1)/2 + 2 evaluations, v(empty) and v(all) included.

    Parameters
    ----------
    graph : "chain", "ring", ("grid", shape), adjacency matrix or networkx.Graph, default="chain"
        Who is next to whom. Nodes are players: groups, where there are groups.
    order : int, default=4
        k, the largest length of intervals, side of squares, or size of connected sets.
    balanced : bool, default=False
        False: each set has its weight in the Shapley kernel, (d - 1) / (C(d, s) s (d - s)), as
        printed. A pair has only 1/(d - 2) of the weight of a single player, so that with many
        players the result is close to v({i}) - v(empty) with the sum set right. True: each size s
        has the weight of all coalitions of that size together, in proportion to 1 / (s (d - s)),
        shared equally by its sets that are listed: closer to the Shapley values, ranking no better.

    References
    ----------
    Chen, Song, Wainwright & Jordan (2018), L-Shapley and C-Shapley: efficient model interpretation
    for structured data, section 4.3.2.

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

    _constraints = {**GRAPH_CONSTRAINTS, "balanced": Flag()}

    def __init__(self, graph="chain", order: int = 4, balanced: bool = False) -> None:
        self.graph = graph
        self.order = order
        self.balanced = balanced

    def _plan(self, graph: Graph, order: Any, limit: int) -> LinearPlan:
        p = graph.n_nodes
        if graph.grid is None:
            sets = (mask for mask in all_connected_sets(graph, order) if mask.bit_count() < p)
            masks = list(islice(sets, limit + 1))
            listed = sparse.csr_array(masks_to_arrays(masks, p))
        else:
            listed = _cubes(graph.grid, order)
        if listed.shape[0] > limit:
            raise TooManyCoalitions
        ends = sparse.csr_array(np.array([[False], [True]]).repeat(p, axis=1))
        weights = _Solution(listed, _kernel(np.diff(listed.indptr), p, self.balanced))
        return LinearPlan(sparse.vstack([ends, listed], format="csr"), weights, exact=False)


def _cubes(shape: tuple[int, ...], order: int) -> sparse.csr_array:
    """Return the squares (cubes) of side 1..order of a grid but the whole grid, ``(m, p)`` bool."""
    nodes = np.arange(np.prod(shape)).reshape(shape)
    found = []
    for side in range(1, min(order, *shape) + 1):
        if shape == (side,) * len(shape):
            break
        window = np.lib.stride_tricks.sliding_window_view(nodes, (side,) * len(shape))
        members = window.reshape(-1, side ** len(shape))
        indptr = np.arange(len(members) + 1) * members.shape[1]
        ones = np.ones(members.size, dtype=bool)
        found.append(
            sparse.csr_array((ones, members.ravel(), indptr), shape=(len(members), nodes.size))
        )
    return sparse.vstack(found, format="csr")


def _kernel(sizes: np.ndarray, p: int, balanced: bool) -> np.ndarray:
    """Return the weights of the sets, up to a factor."""
    if balanced:
        number = np.bincount(sizes)[sizes]
        return 1 / (sizes * (p - sizes) * number)
    return np.exp(np.log(p) - log_binomial(p, sizes)) / (sizes * (p - sizes))


class _Solution(LinearOperator):
    """From the values of the empty, the full and the listed sets to the solution of the regression.

    A factorisation instead of a dense matrix keeps the cost on a line linear in the players.
    """

    def __init__(self, listed: sparse.csr_array, weight: np.ndarray) -> None:
        super().__init__(np.float64, (listed.shape[1], listed.shape[0] + 2))
        members = listed.astype(np.float64)
        self._scores = (members.T * weight).tocsr()
        self._solve = splu((self._scores @ members).tocsc()).solve
        pull = self._solve(np.ones(listed.shape[1]))
        self._pull = pull / pull.sum()

    def _matmat(self, values: np.ndarray) -> np.ndarray:
        gains = values - values[0]
        free = self._solve(self._scores @ gains[2:])
        return free + np.outer(self._pull, gains[1] - free.sum(axis=0))

    def _matvec(self, values: np.ndarray) -> np.ndarray:
        return self._matmat(values.reshape(-1, 1))[:, 0]
