from __future__ import annotations

import sys
from collections import OrderedDict, defaultdict
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from tests.batches import batches, same

from fastgntk import Graph, InputError, UnusedAttributesWarning, as_graphs, gram, to_networkx

KINDS = [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]


def one(G, **options) -> Graph:
    return as_graphs([G], **options)[0]


def dense(G, **options) -> list[list[float]]:
    return one(G, **options).adjacency.toarray().tolist()


@given(batches())
def test_round_trip(batch):
    same(as_graphs(to_networkx(batch)), batch)


@given(batches(columns=0))
def test_adjacency_equals_networkx(batch):
    for G, graph in zip(to_networkx(batch), batch, strict=True):
        if len(G):
            expected = nx.to_numpy_array(G, weight="weight")
            assert np.array_equal(graph.adjacency.toarray(), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_node_order_and_isolated_nodes_are_kept(kind):
    G = kind()
    G.add_nodes_from(["z", 3, (1, "a"), None.__class__, 2.5])
    G.add_edge((1, "a"), "z")
    G.add_edge(3, 3)
    graph = one(G)
    assert graph.n_nodes == 5
    assert graph.n_self_loops == 1
    expected = np.zeros((5, 5))
    expected[2, 0] = 1
    if not G.is_directed():
        expected[0, 2] = 1
    assert graph.adjacency.toarray().tolist() == expected.tolist()


def test_a_directed_edge_means_that_its_tail_sums_over_its_head():
    G = nx.DiGraph([("a", "b"), ("b", "c")])
    assert dense(G) == nx.to_numpy_array(G).tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    assert dense(G, directed=True) == dense(G)


def test_directed_false_rejects_one_way_edges():
    with pytest.raises(InputError) as caught:
        as_graphs([nx.path_graph(2), nx.DiGraph([("a", "b"), ("b", "a"), ("b", "c")])], directed=False)
    assert str(caught.value) == (
        "graph 1, edge ('b', 'c') has no edge back, so the graph cannot be converted with directed=False; leave "
        "that out, or add the other direction first."
    )
    both = nx.DiGraph()
    both.add_edge(0, 1, weight=2)
    both.add_edge(1, 0, weight=3)
    with pytest.raises(InputError, match=r"graph 0, edge \(0, 1\) has the weight 2.0, but 3.0 back"):
        as_graphs([both], directed=False)
    assert dense(both) == [[0, 2], [3, 0]]
    assert dense(both.to_undirected().to_directed(), directed=False) == [[0, 3], [3, 0]]


def test_directed_and_undirected_graphs_in_one_list():
    batch = as_graphs([nx.Graph([(0, 1)]), nx.DiGraph([(0, 1)]), nx.Graph([(0, 1)])], directed=True)
    assert [g.adjacency.toarray().tolist() for g in batch] == [[[0, 1], [1, 0]], [[0, 1], [0, 0]], [[0, 1], [1, 0]]]


@pytest.mark.parametrize("kind", [nx.MultiGraph, nx.MultiDiGraph])
def test_weights_of_parallel_edges_add_up(kind):
    G = kind()
    G.add_edge("a", "b", weight=0.1)
    G.add_edge("a", "b", weight=0.2)
    G.add_edge("a", "b", weight=0.3)
    G.add_edge("c", "a", weight=1)
    G.add_edge("b", "c", weight=2)
    G.add_edge("b", "c", weight=-2)
    expected = nx.to_numpy_array(G, nodelist=["a", "b", "c"])
    found = one(G)
    np.testing.assert_allclose(found.adjacency.toarray(), expected, rtol=1e-15)
    if kind is nx.MultiGraph:
        assert np.array_equal(found.adjacency.toarray(), found.adjacency.toarray().T)
        assert found.n_edges == 2  # weights that cancel out leave no edge


def test_parallel_edges_of_both_orientations_are_copies_of_an_undirected_one():
    G = nx.MultiGraph()
    for u, v, w in [(0, 1, 0.1), (1, 0, 0.2), (0, 1, 0.7)]:
        G.add_edge(u, v, weight=w)
    (there, back) = one(G).weights.tolist()
    assert there == back == pytest.approx(1.0)


def test_parallel_edges_count_once_without_weights():
    G = nx.MultiGraph([(0, 1), (0, 1), (1, 2)])
    assert one(G).weights is None
    nx.set_edge_attributes(G, 1, "weight")
    assert dense(G) == [[0, 2, 0], [2, 0, 1], [0, 1, 0]]


def test_labels_of_parallel_edges_must_agree():
    G = nx.MultiGraph()
    G.add_edge("a", "b", label=1)
    G.add_edge("b", "a", label=1)
    assert one(G).edge_labels.tolist() == [1, 1]
    G.add_edge("a", "b", label=2)
    with pytest.raises(InputError, match=r"graph 1, edge \('a', 'b'\) is given twice with different labels"):
        as_graphs([nx.MultiGraph([("a", "b", {"label": 7})]), G])


def test_views_and_frozen_graphs():
    G = nx.path_graph(8)
    nx.set_node_attributes(G, {u: u for u in G}, "label")
    part = G.subgraph([5, 6, 2, 1])
    found = one(part)
    assert sorted(found.labels.tolist()) == [1, 2, 5, 6]
    assert found.n_edges == 2
    assert found.adjacency.toarray().tolist() == nx.to_numpy_array(part).tolist()
    assert dense(nx.freeze(nx.path_graph(2))) == [[0, 1], [1, 0]]
    assert dense(nx.DiGraph([(0, 1)]).reverse(copy=False), node_labels=()) == [[0, 0], [1, 0]]


def test_node_names_that_equal_integers():
    for names in ([0j, 1 + 0j], [0.0, 1.0], [False, True]):
        assert dense(nx.Graph([names])) == [[0, 1], [1, 0]]
    for name in (2.0, 2 + 0j, np.float64(2), np.int8(2), Fraction(2)):
        G = nx.path_graph(3)
        G.add_edge(0, name)
        assert dense(G) == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]


def test_conversion_does_not_modify_the_graph():
    G = nx.path_graph(2)
    for u in G:
        G._node[u] = defaultdict(int)
    G.nodes[0]["label"] = 3
    with pytest.raises(InputError, match="node 1 has no attribute 'label'"):
        as_graphs([G], node_labels="label")
    assert dict(G.nodes[1]) == {}


def test_neighbour_order_differs_from_node_order():
    G = nx.DiGraph([(0, 1), (1, 2)])
    G._adj = dict(reversed(G._adj.items()))
    assert dense(G) == [[0, 1, 0], [0, 0, 1], [0, 0, 0]]


def test_subclasses_with_their_own_views():
    class Short(nx.Graph):
        def adjacency(self):
            for u, row in super().adjacency():
                yield u, {v: data for v, data in row.items() if abs(u - v) == 1}

    assert dense(Short([(0, 1), (1, 2), (2, 0)])) == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]


def test_many_graphs_of_all_kinds_in_one_list():
    rng = np.random.default_rng(0)
    listed = []
    for size in rng.integers(1, 9, 300):
        G = KINDS[rng.integers(4)]()
        names = rng.permutation(size).tolist() if rng.random() < 0.5 else [f"node {u}" for u in range(size)]
        G.add_nodes_from(names, label=int(size))
        for u, v in rng.integers(0, size, (2 * size, 2)):
            G.add_edge(names[u], names[v], weight=int(rng.integers(1, 5)))
        listed.append(G.subgraph(names[1:]) if rng.random() < 0.2 else G)
    batch = as_graphs(listed)
    for G, graph in zip(listed, batch, strict=True):
        expected = nx.to_numpy_array(G) if len(G) else np.zeros((0, 0))
        assert graph.n_self_loops == np.count_nonzero(np.diag(expected))
        assert graph.adjacency.toarray().tolist() == (expected - np.diag(np.diag(expected))).tolist()
        assert graph.labels.tolist() == list(nx.get_node_attributes(G, "label").values())


def test_more_than_256_nodes():
    G = nx.gnm_random_graph(400, 900, seed=0)
    assert dense(G) == nx.to_numpy_array(G).tolist()
    assert np.array_equal(as_graphs([nx.node_link_data(G, edges="edges")])[0].indices, one(G).indices)


def test_graphs_with_other_mapping_types():
    class Ordered(nx.MultiGraph):
        node_attr_dict_factory = node_dict_factory = OrderedDict
        adjlist_outer_dict_factory = adjlist_inner_dict_factory = OrderedDict
        edge_key_dict_factory = edge_attr_dict_factory = OrderedDict

    G = Ordered([(0, 1, {"weight": 2}), (0, 1, {"weight": 3}), (1, 2, {"weight": 1})])
    assert dense(G) == [[0, 5, 0], [5, 0, 1], [0, 1, 0]]


def test_graph_without_nodes():
    batch = as_graphs([nx.Graph(), nx.path_graph(2), nx.DiGraph()])
    assert batch.sizes.tolist() == [0, 2, 0]
    assert as_graphs([nx.Graph()]).n_nodes == 0
    assert len(as_graphs([])) == 0
    labelled = nx.Graph()
    labelled.add_node(0, label="C")
    assert as_graphs([nx.Graph(), labelled]).labels.tolist() == ["C"]


def test_single_graph_and_kernels_of_networkx_graphs():
    G = nx.path_graph(3)
    assert len(as_graphs(G)) == 1
    assert np.array_equal(gram([G, nx.star_graph(3)]), gram(as_graphs([G, nx.star_graph(3)])))
    with pytest.warns(UnusedAttributesWarning, match="'club'") as caught:
        gram([nx.karate_club_graph()])
    assert caught[0].filename == __file__


def molecule() -> nx.Graph:
    G = nx.Graph()
    G.add_node("c", element="C", charge=0, mass=12.0, at=(0.0, 1.5))
    G.add_node("o", element="O", charge=-1, mass=16.0, at=[2, 3])
    G.add_node("h", element="H", charge=0, mass=1.0, at=np.array([4.0, 5.0]))
    G.add_edge("c", "o", order=2, ring=False, length=1.2)
    G.add_edge("o", "h", order=1, ring=True, length=1.0)
    return G


def test_several_attributes_discrete_and_continuous_together():
    batch = as_graphs(
        [molecule(), molecule()],
        node_labels=["element", "charge"],
        node_features=["mass", "at"],
        edge_labels="order",
        edge_weights="length",
    )
    assert batch.labels.tolist() == [["C", "0"], ["O", "-1"], ["H", "0"]] * 2
    assert batch.features.tolist() == [[12, 0, 1.5], [16, 2, 3], [1, 4, 5]] * 2
    assert batch[1].edge_labels.tolist() == [2, 2, 1, 1]
    assert batch[1].weights.tolist() == [1.2, 1.2, 1.0, 1.0]
    assert one(molecule(), node_labels="charge", edge_weights=()).labels.tolist() == [0, -1, 0]


def test_several_edge_labels_become_one():
    found = one(molecule(), node_labels=(), edge_labels=["order", "ring"])
    assert found.edge_labels.tolist() == ["[2, 0]", "[2, 0]", "[1, 1]", "[1, 1]"]
    assert found.weights is None
    G = nx.Graph()
    G.add_edge(0, 1, a='x", "y', b="z")
    G.add_edge(1, 2, a="x", b='y", "z')
    assert len(set(one(G, edge_labels=["a", "b"]).edge_labels.tolist())) == 2


def test_targets_become_graph_attributes():
    batch = as_graphs([nx.path_graph(2), nx.path_graph(3)])
    assert [G.graph["y"] for G in to_networkx(batch, [0.5, 2])] == [0.5, 2.0]
    assert [G.graph["y"] for G in to_networkx(batch, [[1, 2], [3, 4]])] == [[1, 2], [3, 4]]
    assert to_networkx(batch[0], "active").graph == {"y": "active"}
    assert to_networkx(batch[0]).graph == {}
    with pytest.raises(InputError, match=r"an entry for each of the 2 graphs, but has shape \(3,\)"):
        to_networkx(batch, [1, 2, 3])
    with pytest.raises(InputError, match=r"but has type list; convert it with fastgntk.as_graphs"):
        to_networkx([nx.path_graph(2)])


def test_missing_networkx_raises_install_hint(monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(InputError, match=r"needs NetworkX; install it with `pip install 'fastgntk\[networkx\]'`"):
        to_networkx(Graph.from_edges([(0, 1)], 2))
    assert len(as_graphs(["C"])) == 1
