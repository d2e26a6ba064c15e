"""Graphs on players: from a name, a matrix or networkx to neighbourhoods and connected sets.

Sets of nodes are bit masks (Python ints, node j is bit j) while they are enumerated,
boolean arrays afterwards. The cost grows with the number of sets found, never with 2^p
or p^2.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.image import grid_to_graph

NAMES = '"chain", "ring", ("grid", (height, width))'


@dataclass(frozen=True)
class Graph:
    """An undirected graph without loops; nodes are players.

    Two graphs are equal if their edges are (and their grid shape, which regression
    designs read).

    Attributes
    ----------
    n_nodes : int
        Number of nodes p.
    edges : bytes
        The sorted edges in both directions, ``(2, e)`` int32.
    grid : tuple of int or None
        The shape of the grid in C order, if the graph was specified as a grid.
    """

    n_nodes: int
    edges: bytes
    grid: tuple[int, ...] | None = None

    @cached_property
    def adjacency(self) -> sparse.csr_array:
        """The adjacency matrix, ``(p, p)`` bool, with sorted indices."""
        first, second = np.frombuffer(self.edges, dtype=np.int32).reshape(2, -1)
        return sparse.csr_array(
            (np.ones(len(first), dtype=bool), (first, second)),
            shape=(self.n_nodes, self.n_nodes),
        )

    @cached_property
    def neighbours(self) -> list[list[int]]:
        """The neighbours of each node, sorted."""
        a = self.adjacency
        return [near.tolist() for near in np.split(a.indices, a.indptr[1:-1])]

    @cached_property
    def links(self) -> list[int]:
        """The neighbours of each node as a bit mask."""
        return [sum(1 << node for node in near) for near in self.neighbours]

    def within(self, order: int) -> sparse.csr_array:
        """Return which nodes are at distance <= order from each node, ``(p, p)`` bool."""
        step = (
            self.adjacency + sparse.eye_array(self.n_nodes, dtype=bool, format="csr")
        ).tocsr()
        reach = sparse.eye_array(self.n_nodes, dtype=bool, format="csr")
        # powers of a sparse matrix stay sparse; all distances by csgraph would be
        # dense, p x p
        for _ in range(order):
            wider = (reach @ step).tocsr()
            if wider.nnz == reach.nnz:
                break
            reach = wider
        # Products of sparse matrices leave indices unsorted, and patches compare sorted
        # members.
        reach.sort_indices()
        return reach


def is_graph(graph: Any) -> bool:
    """Return True if `as_graph` accepts `graph` for some number of nodes."""
    if isinstance(graph, str):
        return graph in ("chain", "ring")
    if isinstance(graph, tuple):
        shape: Any = graph[1] if len(graph) == 2 and graph[0] == "grid" else None
        is_shape = isinstance(shape, Sequence) and 1 <= len(shape) <= 3
        return is_shape and all(
            isinstance(n, int | np.integer) and n >= 1 for n in shape
        )
    return _matrix(graph) is not None


def as_graph(graph: Any, n_nodes: int, owner: str) -> Graph:
    """Return the graph of a parameter.

    Parameters
    ----------
    graph : "chain", "ring", ("grid", shape), array or sparse matrix (p, p), or networkx.Graph
        Of a kind that `is_graph` accepts. A matrix has an edge wherever it is not zero;
        its diagonal is ignored. Grids number their nodes in C order, as
        `sklearn.feature_extraction.image.grid_to_graph` does. The nodes of a networkx
        graph are players by label if the labels are 0..p-1, else in the order of
        ``graph.nodes``.
    n_nodes : int
        Number of players.
    owner : str
        Owner of the parameter, for errors.

    Raises
    ------
    ValueError
        For another number of nodes than players, or a matrix that is not symmetric.
    """
    if isinstance(graph, str):
        ends = np.stack([np.arange(n_nodes), np.arange(1, n_nodes + 1) % n_nodes])
        return _from_edges(ends if graph == "ring" else ends[:, :-1], n_nodes)
    if isinstance(graph, tuple):
        shape = tuple(graph[1])
        if prod(shape) != n_nodes:
            raise ValueError(
                f"{owner} got the grid shape {shape} of {prod(shape)} nodes for "
                f"{n_nodes} players; it needs one node per player."
            )
        return _from_edges(
            np.stack(grid_to_graph(*(*shape, 1, 1)[:3]).nonzero()),
            n_nodes,
            grid=shape,
        )
    matrix = _matrix(graph)
    if matrix.shape != (n_nodes, n_nodes):
        raise ValueError(
            f"{owner} got a graph of shape {matrix.shape} for {n_nodes} players; it "
            "needs one node per player, in the order of the players."
        )
    if (matrix != matrix.T).nnz:
        raise ValueError(
            f"{owner} got a graph with an asymmetric adjacency matrix; edges have no "
            "direction here: pass A + A.T."
        )
    return _from_edges(np.stack(matrix.nonzero()), n_nodes)


def _matrix(graph: Any) -> Any:
    """Return the sparse matrix of an array, a sparse matrix or a networkx graph; None of others."""
    if hasattr(graph, "nodes") and hasattr(graph, "adjacency"):
        import networkx as nx

        nodes = list(graph)
        # Labels 0 to p - 1 are player numbers, whatever the order in which edges were
        # added.
        if set(nodes) == set(range(len(nodes))):
            nodes = sorted(nodes)
        graph = nx.to_scipy_sparse_array(graph, nodelist=nodes, weight=None)
    if not sparse.issparse(graph):
        try:
            graph = np.asarray(graph, dtype=float)
        except (TypeError, ValueError):
            return None
    if graph.ndim != 2:
        return None
    matrix = sparse.csr_array(graph)
    return None if np.isnan(matrix.data).any() else matrix.astype(bool)


def _from_edges(
    edges: np.ndarray,
    n_nodes: int,
    grid: tuple[int, ...] | None = None,
) -> Graph:
    """Return the graph of edges ``(2, e)`` in either or both directions, without loops."""
    edges = edges[:, edges[0] != edges[1]]
    directed = np.concatenate([edges, edges[::-1]], axis=1)
    distinct = np.unique(directed, axis=1).astype(np.int32)
    return Graph(n_nodes, distinct.tobytes(), grid)


class Patch(NamedTuple):
    """Nodes with neighbourhoods of the same shape, which share their computations.

    On a line all nodes far from the ends share a patch, on a grid all pixels far from
    the border.

    Attributes
    ----------
    members : ndarray of shape (c, n), int
        The neighbourhood of each of c nodes, sorted.
    centre : int
        Position of the node itself in its neighbourhood.
    links : tuple of int
        The neighbours of each member inside the neighbourhood, as bit masks of
        positions.
    """

    members: np.ndarray
    centre: int
    links: tuple[int, ...]


def patches(graph: Graph, order: int) -> list[Patch]:
    """Return the neighbourhoods of all nodes, grouped by shape."""
    by_shape: dict[tuple, list] = {}
    near = graph.within(order)
    for node, members in enumerate(np.split(near.indices, near.indptr[1:-1])):
        place = {member: position for position, member in enumerate(members.tolist())}
        links = tuple(
            sum(
                1 << place[neighbour]
                for neighbour in graph.neighbours[member]
                if neighbour in place
            )
            for member in place
        )
        by_shape.setdefault((place[node], links), []).append(members)
    return [
        Patch(np.stack(neighbourhoods), *look)
        for look, neighbourhoods in by_shape.items()
    ]


def connected_sets(
    links: Sequence[int],
    root: int,
    allowed: int,
    largest: int | None = None,
) -> Iterator[int]:
    """Yield every connected set that contains `root`, each once, as bit masks.

    Each set grows node by node. A skipped node is excluded from its branch, so no set
    is found twice.

    Parameters
    ----------
    links : sequence of int
        Bit masks of the neighbours.
    root : int
    allowed : int
        Bit mask of the nodes that may be in the set.
    largest : int or None
        Largest size.
    """
    # sets of nodes are Python ints, so that graphs may have any size
    start = 1 << root
    stack = [(start, links[root], allowed & ~start)]
    while stack:
        subset, border, free = stack.pop()
        yield subset
        if subset.bit_count() == largest:
            continue
        border &= free
        while border:
            # the lowest node of the border is in all sets of this branch and in none of
            # the later branches, so each set is found once In two's complement, this
            # keeps the lowest set bit alone.
            node = border & -border
            border ^= node
            free ^= node
            stack.append((subset | node, border | links[node.bit_length() - 1], free))


def all_connected_sets(graph: Graph, largest: int | None = None) -> Iterator[int]:
    """Yield every connected set of the graph, each once, as bit masks, by its lowest node."""
    everything = (1 << graph.n_nodes) - 1
    for root in range(graph.n_nodes):
        # Nodes below the root are excluded, so each set is found from its lowest node
        # only.
        yield from connected_sets(
            graph.links,
            root,
            everything >> root << root,
            largest,
        )


def masks_to_arrays(masks: Sequence[int], n_nodes: int) -> np.ndarray:
    """Return bit masks as a boolean array ``(len(masks), n_nodes)``."""
    width = -(-n_nodes // 8)
    packed = np.frombuffer(
        b"".join(m.to_bytes(width, "little") for m in masks),
        dtype=np.uint8,
    )
    return np.unpackbits(
        packed.reshape(-1, width),
        axis=1,
        count=n_nodes,
        bitorder="little",
    ).view(np.bool_)
