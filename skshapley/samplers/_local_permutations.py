"""L-Shapley by sampling: random permutations of each player's neighbourhood.

Chen et al. (2018), section 4.3.1, for neighbourhoods too large to enumerate.
"""

import numpy as np

from skshapley.designs import MarginalDesign
from skshapley.samplers._base import Sampler, SamplerTask, SamplerTraits
from skshapley.samplers._graph_sampler import GRAPH_CONSTRAINTS
from skshapley.samplers._graphs import Graph, as_graph
from skshapley.samplers._price import Price


class LocalPermutations(Sampler):
    """L-Shapley of order k estimated from permutations, where 2^|N_k| is too dear.

    In every round all players are put in a random order, and each one joins the players of its own
    neighbourhood that come before it: a uniform permutation of every neighbourhood. Rounds come in
    pairs, the second in reverse order; a pair is a unit. A round costs at most 2 p evaluations;
    a coalition met again costs nothing. This is another value than Shapley's, and need not add up
    to v(all) - v(empty): ``efficiency_gap`` says what is missing.

    Parameters
    ----------
    graph : "chain", "ring", ("grid", shape), adjacency matrix or networkx.Graph, default="chain"
        Who is next to whom. Nodes are players: groups, where there are groups.
    order : int, default=1
        k, the radius of the neighbourhoods.

    References
    ----------
    Chen, Song, Wainwright & Jordan (2018), L-Shapley and C-Shapley: efficient model interpretation
    for structured data, Definition 1 and section 4.3.1.

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

    produces = MarginalDesign
    traits = SamplerTraits(needs_all_players=True)
    _constraints = GRAPH_CONSTRAINTS

    def __init__(self, graph="chain", order: int = 1) -> None:
        self.graph = graph
        self.order = order

    def price(self, n_players: int, n_references: int) -> Price:
        """Return the price of rounds, in pairs; a graph of other players is refused."""
        self._graph(n_players)
        return Price(
            draw=2 * n_players * n_references,
            coalitions=2 * n_players,
            references=n_references,
            least=2,
            step=2,
            unit=2,
        )

    def _start(self, task: SamplerTask) -> None:
        p = self.n_players_
        self._near = np.zeros((p, p), dtype=bool)
        for player, members in enumerate(self._graph(p).neighbourhoods(self.order)):
            self._near[player, members] = True

    def _graph(self, n_players: int) -> Graph:
        return as_graph(self.graph, n_players, type(self).__name__)

    def _ask(self, rows: np.ndarray, n: int) -> MarginalDesign:
        p = self.n_players_
        coalitions = np.empty((len(rows), n, p, 2, p), dtype=bool)
        for i, row in enumerate(rows):
            place = self.rngs_[row].permuted(np.tile(np.arange(p), (n // 2, 1)), axis=1)
            both = np.stack([place, -place], axis=1).reshape(n, p)
            coalitions[i, :, :, 0] = self._near & (both[:, None, :] < both[:, :, None])
        coalitions[:, :, :, 1] = coalitions[:, :, :, 0] | np.eye(p, dtype=bool)
        return MarginalDesign(coalitions.reshape(len(rows), -1, p), unit=2, adds_up=False)
