"""Descriptors that graphs carry: slicing, concatenation, copies, errors, and attributes of other libraries."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse

from fastgntk import Graph, GraphBatch, InputError, as_graphs
from fastgntk.graphs import content_keys

EDGE = [(0, 1)]
COUNTS = np.array([[0, 2, 0], [1, 0, 0], [0, 0, 3.0]])


def batch() -> GraphBatch:
    graphs = [Graph.from_edges(EDGE, 2, descriptors={"dose": dose, "x": [dose, 1.0]}) for dose in (0.5, 1.5, 2.5)]
    return GraphBatch.from_graphs(graphs).with_descriptors(counts=sparse.csr_array(COUNTS))


def blocks(graphs: GraphBatch) -> dict[str, list]:
    dense = {name: b.toarray() if sparse.issparse(b) else b for name, b in graphs.descriptors.items()}
    return {name: block.tolist() for name, block in dense.items()}


ROWS = {"dose": [[0.5], [1.5], [2.5]], "x": [[0.5, 1], [1.5, 1], [2.5, 1]], "counts": COUNTS.tolist()}


@pytest.mark.parametrize("index", [slice(1, 3), slice(None, None, -1), [2, 0, 0], [True, False, True], []], ids=str)
def test_parts_of_a_batch_have_their_rows(index):
    numbers = (
        np.arange(3)[np.asarray(index, dtype=bool if True in np.atleast_1d(index) else int)]
        if isinstance(index, list)
        else np.arange(3)[index]
    )
    assert blocks(batch()[index]) == {name: [rows[i] for i in numbers] for name, rows in ROWS.items()}


def test_batches_survive_concatenation_and_pickling():
    both = batch() + batch()[:1]
    assert blocks(both) == {name: [*rows, rows[0]] for name, rows in ROWS.items()}
    assert sparse.issparse(both.descriptors["counts"])
    copy = pickle.loads(pickle.dumps(both))
    assert blocks(copy) == blocks(both)
    assert blocks(GraphBatch.from_graphs(list(copy))) == blocks(both)
    for values in (copy.descriptors["dose"], copy.descriptors["counts"].data, batch()[1].descriptors["x"]):
        with pytest.raises(ValueError, match="read-only"):
            values[...] = 0


def test_a_graph_has_its_own_vectors():
    graph = batch()[1]
    assert graph.descriptors["x"].tolist() == [1.5, 1.0]
    assert graph.descriptors["counts"].toarray().tolist() == [[1, 0, 0]]
    assert repr(graph) == "Graph(n_nodes=2, n_edges=1, dose=1, x=2, counts=3)"
    assert Graph(np.zeros((1, 1)), descriptors={"t": 3}).descriptors["t"].tolist() == [3.0]


def test_graphs_without_a_block_have_a_row_of_nan():
    graphs = [Graph.from_edges(EDGE, 2, descriptors={"x": [1, 2]}), Graph.from_edges(EDGE, 2), *batch()[:1]]
    assert np.isnan(GraphBatch.from_graphs(graphs).descriptors["x"]).tolist() == [[False] * 2, [True] * 2, [False] * 2]


def test_blocks_are_added_replaced_and_removed():
    graphs = batch().with_descriptors({"a b": np.ones((3, 2))}, dose=[1, 2, 3], x=None)
    assert list(graphs.descriptors) == ["counts", "a b", "dose"]
    assert graphs.descriptors["dose"].tolist() == [[1], [2], [3]]
    own = np.ones((3, 1))
    graphs = graphs.with_descriptors(own=own)
    own[0] = 9
    assert graphs.descriptors["own"].tolist() == [[1], [1], [1]]


def test_sketches_do_not_depend_on_descriptors():
    assert (content_keys(batch()) == content_keys(batch().with_descriptors(dose=None, x=[7, 7, 7]))).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: batch().with_descriptors(x=[1, 2]),
            r"'x' must have a row .* of the 3 graphs, but have shape \(2, 1\)",
        ),
        (lambda: batch().with_descriptors(x=np.ones((3, 0))), r"have shape \(3, 0\)"),
        (lambda: batch().with_descriptors(x=np.ones((3, 1, 1))), r"have shape \(3, 1, 1\)"),
        (lambda: batch().with_descriptors(x=["a", "b", "c"]), "descriptors 'x' must be numbers, the same number"),
        (
            lambda: batch().with_descriptors({"": [1, 2, 3]}),
            "name of descriptors must be text, such as 'dose', but is ''",
        ),
        (lambda: Graph.from_edges(EDGE, 2, descriptors=[1.0]), "descriptors must be a mapping .* but is a list"),
        (lambda: Graph.from_edges(EDGE, 2, descriptors={"x": np.ones((2, 2))}), r"a number or a vector, .* \(2, 2\)"),
        (lambda: Graph.from_edges(EDGE, 2, descriptors={"x": []}), r"a number or a vector, but have shape \(0,\)"),
        (
            lambda: GraphBatch.from_graphs([batch()[0], Graph.from_edges(EDGE, 2, descriptors={"x": 1.0})]),
            "'x' must have the same width in all graphs, but graph 0 has 2 and graph 1 has 1",
        ),
    ],
)
def test_bad_descriptors_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def networkx_graphs(**values) -> list:
    networkx = pytest.importorskip("networkx")
    return [networkx.Graph([(0, 1 + i)], **{k: v[i] for k, v in values.items() if v[i] is not None}) for i in range(3)]


def test_named_attributes_of_networkx_graphs_are_taken():
    graphs = networkx_graphs(dose=[1, 2.5, 3], x=[[1, 2], None, np.array([[3, 4]])], name=["a", "b", "c"])
    found = as_graphs(graphs, descriptors=["dose", "x"]).descriptors
    assert found["dose"].tolist() == [[1], [2.5], [3]]
    assert np.array_equal(found["x"], [[1, 2], [np.nan] * 2, [3, 4]], equal_nan=True)
    assert as_graphs(graphs).descriptors == {}
    assert as_graphs(graphs, descriptors="dose").descriptors["dose"].shape == (3, 1)


def test_named_attributes_of_other_sources_are_taken():
    igraph = pytest.importorskip("igraph")
    graph = igraph.Graph([(0, 1)])
    graph["dose"] = 2
    assert as_graphs([graph], descriptors="dose").descriptors["dose"].tolist() == [[2]]
    record = {"graph": {"dose": 3}, "nodes": [{"id": 0}, {"id": 1}], "edges": [{"source": 0, "target": 1}]}
    assert as_graphs([record], descriptors="dose").descriptors["dose"].tolist() == [[3]]


def test_named_attributes_of_geometric_graphs_are_taken():
    torch, data = pytest.importorskip("torch"), pytest.importorskip("torch_geometric.data")
    edges = torch.tensor([[0, 1], [1, 0]])
    graphs = [data.Data(edge_index=edges, num_nodes=2, dose=torch.tensor([[float(i), 1.0]])) for i in (1, 2)]
    assert as_graphs(graphs, descriptors="dose").descriptors["dose"].tolist() == [[1, 1], [2, 1]]


@pytest.mark.parametrize(
    ("values", "named", "message"),
    [
        ({"dose": [1, 2, 3]}, "temperature", "no graph has an attribute 'temperature' .* there are 'dose'"),
        ({"dose": [1, "high", 3]}, "dose", "graph 1 has 'dose' = 'high'; descriptors must be a number or a vector"),
        ({"x": [[1], [1, 2], [1]]}, "x", "graph 1 has 2 numbers in 'x', but graph 0 has 1"),
        ({"x": [1, 2, 3]}, ["x", "x"], "descriptors must name each attribute once"),
        ({"x": [1, 2, 3]}, 3, "descriptors must be the name of an attribute or a sequence of names, but is 3"),
    ],
)
def test_bad_attributes_are_refused(values, named, message):
    with pytest.raises(InputError, match=message):
        as_graphs(networkx_graphs(**values), descriptors=named)


def test_sources_without_named_attributes_refuse_names():
    with pytest.raises(InputError, match="no named attributes; leave out descriptors, and add them"):
        as_graphs([np.zeros((2, 2))], descriptors="dose")
