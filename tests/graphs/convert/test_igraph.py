from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from tests.batches import batches, same

from fastgntk import Graph, GraphBatch, InputError, UnusedAttributesWarning, as_graphs, to_networkx

igraph = pytest.importorskip("igraph", reason="igraph is not installed")


def made(graph: Graph):
    """Make an igraph graph by igraph's own means."""
    G = to_networkx(graph)
    out = igraph.Graph(n=len(G), edges=list(G.edges), directed=G.is_directed())
    for name in ("label", "features") if len(G) else ():
        values = list(nx.get_node_attributes(G, name).values())
        if values:
            out.vs[name] = values
    for name in ("weight", "label") if G.size() else ():
        values = list(nx.get_edge_attributes(G, name).values())
        if values:
            out.es[name] = values
    return out


@given(batches())
def test_igraph_attributes_are_read(batch):
    same(as_graphs([made(graph) for graph in batch]), batch)


@given(batches(columns=0))
def test_adjacency_equals_igraph(batch):
    for graph in batch:
        G = made(graph)
        weight = "weight" if "weight" in G.es.attributes() else None
        expected = np.array(G.get_adjacency(attribute=weight) if weight is None else list(G.get_adjacency(weight)))
        assert np.array_equal(as_graphs([G])[0].adjacency.toarray(), expected.reshape(G.vcount(), G.vcount()))


def test_isolated_nodes_loops_and_parallel_edges():
    G = igraph.Graph([(0, 1), (1, 0), (2, 2)], n=5)
    graph = as_graphs(G)[0]
    assert (graph.n_nodes, graph.n_edges, graph.n_self_loops, graph.weights) == (5, 1, 1, None)
    G.es["weight"] = [0.5, 0.25, 1]
    assert as_graphs(G)[0].weights.tolist() == [0.75, 0.75]
    G.es["label"] = ["a", "b", "c"]
    with pytest.raises(InputError, match=r"graph 0, edge \(0, 1\) is given twice with different labels"):
        as_graphs(G)


def test_vertex_names_are_used_in_messages_only():
    G = igraph.Graph.Formula("ann-bob, cid")
    assert as_graphs([G]).labels is None
    assert as_graphs([G], node_labels="name").labels.tolist() == ["ann", "bob", "cid"]
    G.vs[0]["age"] = 5
    with pytest.raises(InputError, match="graph 1, node 'bob' has no attribute 'age'"):
        as_graphs([igraph.Graph(), G], node_labels="age")


def test_attribute_missing_in_some_graphs():
    one, two = igraph.Graph([(0, 1)]), igraph.Graph([(0, 1)])
    one.vs["label"] = ["C", "O"]
    with pytest.warns(UnusedAttributesWarning, match=r"'label' \(not on every node\)"):
        assert as_graphs([one, two]).labels is None
    with pytest.raises(InputError, match="graph 1, node 0 has no attribute 'label'"):
        as_graphs([one, two], node_labels="label")


def test_vectors_as_attributes():
    G = igraph.Graph([(0, 1)])
    G.vs["features"] = [np.array([1.0, 2]), np.array([3.0, 4])]
    assert as_graphs([G]).features.tolist() == [[1, 2], [3, 4]]


def test_directed_graphs():
    G = igraph.Graph([(0, 1)], directed=True)
    assert as_graphs([G])[0].adjacency.toarray().tolist() == [[0, 1], [0, 0]]
    with pytest.raises(InputError, match=r"graph 0, edge \(0, 1\) has no edge back"):
        as_graphs([G], directed=False)


def test_graph_without_nodes():
    batch = as_graphs([igraph.Graph(), igraph.Graph([(0, 1)])])
    assert isinstance(batch, GraphBatch)
    assert batch.sizes.tolist() == [0, 2]
