from __future__ import annotations

from importlib import resources

import numpy as np
import pytest
from hypothesis import given
from scipy import sparse
from tests.batches import batches, same
from tests.tables import FLOAT64

from fastgntk import Graph, InputError, as_graphs, datasets, gram

grakel = pytest.importorskip("grakel", reason="GraKeL is not installed")
base = pytest.importorskip("grakel.datasets.base", reason="GraKeL is not installed")

# a path a - b - c with weights 2 and 3, in every form that GraKeL takes
WEIGHTED = {("a", "b"): 2.0, ("b", "a"): 2.0, ("b", "c"): 3.0, ("c", "b"): 3.0}
FORMS = {
    "dictionary of edges": WEIGHTED,
    "nested dictionaries": {"a": {"b": 2.0}, "b": {"a": 2.0, "c": 3.0}, "c": {"b": 3.0}},
    "triples": [(u, v, w) for (u, v), w in WEIGHTED.items()],
    "set of triples": {(u, v, w) for (u, v), w in WEIGHTED.items()},
}
UNWEIGHTED = {
    "pairs": list(WEIGHTED),
    "set of pairs": set(WEIGHTED),
    "lists of neighbours": {"a": ["b"], "b": ["a", "c"], "c": ["b"]},
}
MATRIX = [[0, 2, 0], [2, 0, 3], [0, 3, 0]]
LABELS = {"a": "C", "b": "N", "c": "O"}


@pytest.mark.parametrize("form", [*FORMS.values(), *UNWEIGHTED.values()], ids=[*FORMS, *UNWEIGHTED])
def test_every_form_of_edges(form):
    weighted = form in FORMS.values()
    expected = np.array(MATRIX) if weighted else np.array(MATRIX) != 0
    for item in ((form, LABELS), [form, LABELS, {}], grakel.Graph(form, LABELS)):
        graph = as_graphs([item])[0]
        assert graph.adjacency.toarray().tolist() == expected.tolist()
        assert graph.labels.tolist() == ["C", "N", "O"]
    assert as_graphs([(form,)])[0].n_edges == 2


@pytest.mark.parametrize(
    "form", [MATRIX, np.array(MATRIX), sparse.csr_matrix(MATRIX)], ids=["lists", "array", "sparse"]
)
def test_every_form_of_adjacency(form):
    labels, edges = {0: 5, 1: 6, 2: 5}, {(0, 1): 1, (1, 0): 1, (1, 2): 2, (2, 1): 2}
    for item in ((form, labels, edges), grakel.Graph(form, labels, edges), grakel.Graph(form, labels, edges, "all")):
        graph = as_graphs([item])[0]
        assert graph.adjacency.toarray().tolist() == MATRIX
        assert graph.labels.tolist() == [5, 6, 5]
        assert graph.edge_labels.tolist() == [1, 1, 2, 2]


@given(batches(columns=1))
def test_grakel_graphs_are_read(batch):
    items = []
    for graph in batch:
        matrix = graph.adjacency.tocoo()
        pairs = list(zip(*(axis.tolist() for axis in matrix.coords), strict=True))
        of_nodes = graph.labels if batch.features is None else graph.features
        items.append(
            (
                dict(zip(pairs, matrix.data.tolist(), strict=True)),
                None if of_nodes is None else dict(enumerate(of_nodes.tolist())) or None,
                None if graph.edge_labels is None else dict(zip(pairs, graph.edge_labels.tolist(), strict=True)),
            )
        )
    if batch.labels is None and batch.features is None:  # isolated nodes need a label or feature
        items = [(graph.adjacency, None, edges) for graph, (_, _, edges) in zip(batch, items, strict=True)]
    if batch.features is not None:
        batch = type(batch)(**{**vars(batch), "labels": None})
    same(as_graphs(items), batch)


def test_isolated_nodes_are_those_with_a_label_and_no_edge():
    graph = as_graphs([({(1, 2): 1, (2, 1): 1}, {1: "a", 2: "b", 7: "c"})])[0]
    assert graph.n_nodes == 3
    assert graph.labels.tolist() == ["a", "b", "c"]
    assert as_graphs([({1: [], 2: [3], 3: [2]},)])[0].n_nodes == 3


def test_bundled_data_set_read_by_grakel(monkeypatch):
    monkeypatch.chdir(resources.files("fastgntk.datasets") / "bundled")
    data = base.read_data("MUTAG", with_classes=True)
    expected = datasets.load("MUTAG")
    batch = as_graphs(data.data)
    assert data.target.tolist() == expected.y.tolist()
    assert batch.sizes.tolist() == expected.graphs.sizes.tolist()
    assert sorted(batch[5].labels.tolist()) == sorted(expected.graphs[5].labels.tolist())
    K = gram([*batch[:5], *expected.graphs[:5]])
    FLOAT64.check(K[:5, :5], K[5:, 5:])


def test_label_order_differs_from_edge_order():
    edges = {(0, 1): 1, (1, 2): 1, (1, 0): 1, (2, 1): 1}
    types = {(1, 2): "d", (2, 1): "d", (0, 1): "s", (1, 0): "s"}
    graph = as_graphs([(edges, {2: "O", 0: "C", 1: "N"}, types)])[0]
    assert graph.labels.tolist() == ["O", "C", "N"]
    assert graph.adjacency.toarray().tolist() == [[0, 0, 1], [0, 0, 1], [1, 1, 0]]
    assert graph.edge_labels.tolist() == ["d", "s", "d", "s"]


def test_unlabelled_nodes_follow_in_order_of_edges():
    with pytest.raises(InputError, match=r"graph 0, edge \('b', 'a'\) has no edge back"):
        as_graphs([([("b", "a"), ("c", "b"), ("b", "c")],)], directed=False)
    graph = as_graphs([([("b", "a"), ("c", "b")],)])[0]
    assert graph.adjacency.toarray().tolist() == [[0, 1, 0], [0, 0, 0], [1, 0, 0]]  # b, a, c


def test_edges_keep_their_direction():
    one_way = [({("a", "b"): 1}, {"a": 1, "b": 2})]
    assert as_graphs(one_way)[0].adjacency.toarray().tolist() == [[0, 1], [0, 0]]
    with pytest.raises(InputError, match=r"graph 0, edge \('a', 'b'\) has no edge back"):
        as_graphs(one_way, directed=False)


def test_vectors_are_features():
    for vector in ([0.5, 1.0], np.array([0.5, 1.0]), (0.5, 1.0)):
        batch = as_graphs([(EDGE, {0: vector, 1: vector})])
        assert batch.features.tolist() == [[0.5, 1.0]] * 2
        assert batch.labels is None


EDGE = {(0, 1): 1, (1, 0): 1}


@pytest.mark.parametrize(
    ("items", "words"),
    [
        ([(EDGE, {0: "a"})], "graph 0, node 1 has no attribute 'label'; give it to every node"),
        ([(EDGE, {0: 1, 1: 2}), (EDGE,)], "graph 1, node 0 has no attribute 'label'"),
        ([(EDGE, None, {(0, 1): 3})], r"graph 0, edge \(1, 0\) has no attribute 'label'; give it to every edge"),
        (
            [(EDGE, None, {key: [1, 2] for key in EDGE})],
            r"graph 0, edge \(0, 1\) has 'label' = \[1, 2\]; a label must be",
        ),
        ([(np.eye(2), {0: 1, 1: 1, 2: 1})], "graph 0: its matrix has 2 nodes, but node 2 has a label"),
        ([(EDGE,), ([(0, 1), (1,)],)], "graph 1: edges must be pairs, triples with a weight"),
        ([({0: 5},)], "graph 0: edges must be pairs"),
        ([([([1], 2)],)], "graph 0: edges must be pairs"),
        ([({0: {1: None}},)], r"graph 0, edge \(0, 1\) has no attribute 'weight'"),
        ([([[0, 1], [1]],)], "graph 0: adjacency must be a square matrix, but its rows have different"),
        ([([[0, 1, 0], [1, 0, 1]],)], r"graph 0: adjacency must be square, but has shape \(2, 3\)"),
        ([({(0, 1): float("nan")},)], r"graph 0, edge \(0, 1\) has 'weight' = nan; numbers must be finite"),
        ([({(0, 1): 2j},)], r"graph 0, edge \(0, 1\) has 'weight' = 2j; it must be a real number"),
        ([([(0, 1, 2), (0, 1, 3)],)], r"graph 0, edge \(0, 1\) is given with different weights 2.0 and 3.0"),
        ([(EDGE, {0: [1.0], 1: [1.0, 2.0]})], "graph 0, node 1 has 2 numbers in 'features'"),
    ],
)
def test_invalid_input(items, words):
    with pytest.raises(InputError, match=words):
        as_graphs(items)


def test_attribute_names_are_rejected():
    with pytest.raises(InputError, match="have no named attributes"):
        as_graphs([(EDGE,)], node_labels="label")


def test_a_pair_of_arrays_is_adjacency_and_features():
    assert as_graphs([(np.ones((2, 2)), np.ones((2, 3)))]).features.shape == (2, 3)
    assert isinstance(as_graphs([(np.ones((2, 2)), None)])[0], Graph)


def test_graph_without_nodes():
    assert as_graphs([({}, {}), (EDGE,)]).sizes.tolist() == [0, 2]
