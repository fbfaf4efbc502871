from __future__ import annotations

import json
from collections import defaultdict

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from tests.batches import batches, same

from fastgntk import InputError, UnusedAttributesWarning, as_graphs, to_networkx


@pytest.mark.parametrize("key", ["edges", "links"])
@given(batch=batches(columns=1))
def test_networkx_node_link_round_trip(key, batch):
    text = json.dumps([nx.node_link_data(G, edges=key) for G in to_networkx(batch)])
    same(as_graphs(json.loads(text)), batch)


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_all_graph_classes_equal_those_of_networkx(kind):
    G = kind()
    G.add_nodes_from(["z", 3, (1, "a"), (1, ("b", 2))])
    G.add_edge((1, "a"), "z", weight=2)
    G.add_edge((1, "a"), "z", weight=2.5)
    G.add_edge("z", (1, "a"), weight=2.5)
    G.add_edge(3, 3, weight=1)
    data = json.loads(json.dumps(nx.node_link_data(G, edges="edges")))
    found, expected = as_graphs(data), as_graphs(G)
    same(found, expected)
    assert found.self_loops.tolist() == [1]
    assert np.array_equal(expected[0].adjacency.toarray(), nx.to_numpy_array(G) - np.diag([0, 1, 0, 0]))


def test_structural_keys_raise_no_warning():
    G = nx.MultiGraph([("a", "b")])
    assert as_graphs(nx.node_link_data(G, edges="links")).sizes.tolist() == [2]
    G.nodes["a"]["age"] = 3
    with pytest.warns(UnusedAttributesWarning, match="not used: node attribute 'age';"):
        as_graphs(nx.node_link_data(G, edges="links"))


NODES = [{"id": "a"}, {"id": "b"}]


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ({"edges": []}, "graph 0 is not in node-link form: it has no 'nodes'; see networkx.node_link_data"),
        ({"nodes": NODES}, "graph 0 is not in node-link form: it has no 'edges'"),
        ({"nodes": NODES, "links": {}}, "it has 'links' that is no list of objects"),
        ({"nodes": ["a"], "edges": []}, "it has 'nodes' that is no list of objects"),
        ({"nodes": NODES, "edges": [], "directed": "yes"}, "'directed' must be true or false, but is 'yes'"),
        ({"nodes": NODES * 2, "edges": []}, "graph 0 has several nodes with the id 'a'"),
        ({"nodes": NODES, "edges": [{"source": "a"}]}, "graph 0, edge 0 of its list has no source and target"),
        (
            {"nodes": NODES, "edges": [{"source": "a", "target": "c"}]},
            "graph 0, edge ('a', 'c') names the node 'c', which is not among its nodes",
        ),
        (
            {"nodes": NODES, "edges": [{"source": "a", "target": "b", "weight": w} for w in (1, 2)]},
            "graph 0, edge ('a', 'b') is given with different weights 1.0 and 2.0",
        ),
    ],
)
def test_invalid_node_link_form(item, words):
    with pytest.raises(InputError) as caught:
        as_graphs([item])
    assert words in str(caught.value)


def parallel(name: str, *values) -> dict:
    """Edges between a and b, every second one written backwards."""
    ends = [("a", "b"), ("b", "a")]
    edges = [{"source": ends[i % 2][0], "target": ends[i % 2][1], name: v} for i, v in enumerate(values)]
    return {"multigraph": True, "nodes": NODES, "edges": edges}


def test_parallel_edges_in_either_direction_are_copies():
    with pytest.raises(InputError, match=r"graph 0, edge \('a', 'b'\) is given twice with different labels"):
        as_graphs(parallel("label", 1, 2))
    (there, back) = as_graphs(parallel("weight", 0.1, 0.2, 0.3, 0.7, 1e-17))[0].weights.tolist()
    assert there == back


def test_nodes_without_an_id_are_numbered():
    assert as_graphs({"nodes": [{}, {}, {}], "edges": [{"source": 0, "target": 2}]})[0].degrees.tolist() == [1, 0, 1]


def test_graph_without_nodes():
    assert as_graphs([{"nodes": [], "edges": []}, {"nodes": NODES, "edges": []}]).sizes.tolist() == [0, 2]


def test_a_multigraph_changes_nothing_for_its_neighbours():
    once = {"source": 0, "target": 1, "weight": 2.0}
    nodes = [{"id": 0}, {"id": 1}]
    simple = {"nodes": nodes, "edges": [once, {"source": 1, "target": 0, "weight": 2.0}]}
    multi = {"multigraph": True, "nodes": nodes, "edges": [once | {"key": 0}, once | {"key": 1}]}
    assert as_graphs([simple]).weights.tolist() == [2, 2]
    assert as_graphs([simple, multi]).weights.tolist() == [2, 2, 4, 4]
    assert as_graphs([multi, simple]).weights.tolist() == [4, 4, 2, 2]


def test_the_two_directions_of_an_edge_have_one_label():
    edges = [{"source": 0, "target": 1, "label": "s"}, {"source": 1, "target": 0, "label": "d"}]
    item = {"nodes": [{"id": 0}, {"id": 1}], "edges": edges}
    with pytest.raises(InputError, match=r"graph 0, edge \(0, 1\) is given twice with different labels"):
        as_graphs([item])
    assert as_graphs([item | {"directed": True}]).edge_labels.tolist() == ["s", "d"]


def test_unhashable_node_ids_are_rejected():
    for item in (
        {"nodes": [{"id": {"a": 1}}], "edges": []},
        {"nodes": [{"id": 0}], "edges": [{"source": {}, "target": 0}]},
        {"nodes": [{"id": {1}}], "edges": []},
        {"nodes": [{"id": (1, {2})}], "edges": []},
        {"nodes": [{"id": 0}], "edges": [{"source": 0, "target": {1}}]},
    ):
        with pytest.raises(InputError, match=r"graph 0 has the node id .*\{.*\}.*; use a number, a string or a list"):
            as_graphs([item])


def test_mappings_that_create_missing_keys():
    row = defaultdict(int, target=1)
    with pytest.raises(InputError, match="graph 0, edge 0 of its list has no source and target"):
        as_graphs([{"nodes": [{"id": 0}, {"id": 1}], "edges": [row]}])
    nodes = [defaultdict(int), defaultdict(int)]
    assert as_graphs([{"nodes": nodes, "edges": [{"source": 0, "target": 1}]}]).indices.tolist() == [1, 0]
    assert (row, nodes) == ({"target": 1}, [{}, {}])


def test_list_subclasses_are_several_labels():
    class Row(list):
        pass

    nodes = [{"id": 0, "label": Row([1, 2])}, {"id": 1, "label": Row([3, 4])}]
    assert as_graphs([{"nodes": nodes, "edges": []}]).labels.tolist() == [[1, 2], [3, 4]]


def test_several_labels_survive_json():
    G = nx.path_graph(2)
    nx.set_node_attributes(G, {0: (1, 2), 1: (1, 3)}, "label")
    nx.set_edge_attributes(G, {(0, 1): ("a", "b")}, "label")
    back = as_graphs([json.loads(json.dumps(nx.node_link_data(G, edges="edges")))])
    assert back.labels.tolist() == [[1, 2], [1, 3]]
    assert back.edge_labels.tolist() == as_graphs([G]).edge_labels.tolist()
