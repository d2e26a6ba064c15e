"""Graphs: names, matrices, networkx; neighbourhoods and connected sets against networkx."""

from itertools import chain, combinations

import networkx as nx
import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.image import grid_to_graph

from skshapley.samplers import Myerson
from skshapley.samplers._graphs import (
    all_connected_sets,
    as_graph,
    connected_sets,
    masks_to_arrays,
    patches,
)

NETWORKS = {
    "chain": nx.path_graph(7),
    "ring": nx.cycle_graph(7),
    "grid": nx.convert_node_labels_to_integers(nx.grid_2d_graph(3, 3)),
    "star": nx.star_graph(6),
    "random": nx.gnp_random_graph(8, 0.35, seed=3),
    "apart": nx.disjoint_union(nx.path_graph(3), nx.cycle_graph(4)),
    "edgeless": nx.empty_graph(4),
    "complete": nx.complete_graph(5),
}


def subsets(nodes):
    return chain.from_iterable(
        combinations(nodes, size) for size in range(1, len(nodes) + 1)
    )


@pytest.mark.parametrize("name", ["chain", "ring"])
@pytest.mark.parametrize("p", [1, 2, 3, 8])
def test_named_graphs_agree_with_networkx(name, p):
    network = {"chain": nx.path_graph, "ring": nx.cycle_graph}[name](p)
    expected = nx.to_numpy_array(network, weight=None) > 0
    np.fill_diagonal(expected, False)
    np.testing.assert_array_equal(as_graph(name, p, "me").adjacency.toarray(), expected)


@pytest.mark.parametrize("shape", [(3, 4), (1, 5), (2, 3, 4)])
def test_grids_are_numbered_as_in_scikit_learn(shape):
    expected = grid_to_graph(*shape).toarray() > 0
    np.fill_diagonal(expected, False)
    graph = as_graph(("grid", shape), int(np.prod(shape)), "me")
    np.testing.assert_array_equal(graph.adjacency.toarray(), expected)
    assert graph.grid == shape


@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_dense_sparse_and_networkx_give_the_same_graph(network):
    p = len(network)
    matrix = nx.to_numpy_array(network)
    looped = sparse.coo_matrix(2.5 * matrix + np.eye(p))
    graphs = [as_graph(g, p, "me") for g in (network, matrix, matrix.tolist(), looped)]
    assert len(set(graphs)) == 1
    assert graphs[0].adjacency.nnz == matrix.sum()


def test_networkx_nodes_are_matched_by_label_if_possible():
    network = nx.Graph([(2, 1), (1, 0)])
    assert as_graph(network, 3, "me") == as_graph("chain", 3, "me")
    named = nx.Graph([("c", "b"), ("b", "a")])
    assert as_graph(named, 3, "me") == as_graph("chain", 3, "me")


@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
@pytest.mark.parametrize("order", [1, 2, 9])
def test_neighbourhoods_and_patches_agree_with_networkx(network, order):
    graph = as_graph(network, len(network), "me")
    expected = [
        sorted(nx.single_source_shortest_path_length(network, node, cutoff=order))
        for node in range(len(network))
    ]
    assert graph.within(order).tolil().rows.tolist() == expected
    met = {}
    for patch in patches(graph, order):
        for members in patch.members.tolist():
            node = members[patch.centre]
            met[node] = members
            links = masks_to_arrays(patch.links, len(members))
            np.testing.assert_array_equal(
                links, nx.to_numpy_array(network, nodelist=members, weight=None) > 0
            )
    assert [met[node] for node in range(len(network))] == expected


@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
@pytest.mark.parametrize("largest", [None, 1, 3])
def test_connected_sets_are_complete_and_distinct(network, largest):
    p = len(network)
    graph = as_graph(network, p, "me")
    expected = {
        nodes
        for nodes in subsets(range(p))
        if nx.is_connected(network.subgraph(nodes)) and len(nodes) <= (largest or p)
    }
    masks = list(all_connected_sets(graph, largest))
    found = {tuple(np.flatnonzero(row).tolist()) for row in masks_to_arrays(masks, p)}
    assert len(masks) == len(found)
    assert found == expected
    allowed = sum(1 << node for node in range(p) if node != 1)
    rooted = {
        tuple(np.flatnonzero(row).tolist())
        for row in masks_to_arrays(
            list(connected_sets(graph.links, 0, allowed, largest)), p
        )
    }
    assert rooted == {nodes for nodes in expected if 0 in nodes and 1 not in nodes}


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (("grid", (2, 3)), r"grid shape \(2, 3\) of 6 nodes for 5 players"),
        (np.zeros((4, 4)), r"shape \(4, 4\) for 5 players"),
        (np.triu(np.ones((5, 5))), "asymmetric adjacency matrix"),
        (nx.DiGraph([(0, 1), (1, 2), (2, 3), (3, 4)]), "asymmetric adjacency matrix"),
    ],
)
def test_graphs_of_another_size_are_refused(graph, message):
    with pytest.raises(ValueError, match=message) as error:
        as_graph(graph, 5, "Owner")
    assert str(error.value).startswith("Owner ")


@pytest.mark.parametrize(
    "graph",
    [
        "line",
        ("lattice", (5,)),
        ("grid", 5),
        ("grid", (5, 0)),
        np.full((5, 5), np.nan),
        np.zeros(5),
        None,
        [[0, 1], [1]],
    ],
    ids=str,
)
def test_invalid_graphs_are_refused(graph):
    with pytest.raises(ValueError, match='Myerson takes graph as "chain"'):
        Myerson(graph).check()
