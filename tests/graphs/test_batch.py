from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from tests.tables import FAMILIES

from fastgntk import Graph, GraphBatch, InputError, as_graphs, cross_gram, datasets, gram

FIELDS = ("indptr", "indices", "weights", "features", "labels", "edge_labels", "node_scale")


def same(a: Graph, b: Graph) -> bool:
    return all(np.array_equal(getattr(a, f), getattr(b, f)) for f in FIELDS) and a.n_self_loops == b.n_self_loops


@st.composite
def random_graphs(draw) -> list[Graph]:
    out = []
    for _ in range(draw(st.integers(1, 6))):
        n = draw(st.integers(0, 5))
        node = st.integers(0, max(n - 1, 0))
        edges = draw(st.lists(st.tuples(node, node), max_size=8)) if n else []
        weight = {tuple(sorted(e)): 1.0 + sum(e) for e in edges}
        kept = [e for e in weight if e[0] != e[1]] + [(e[0], e[0]) for e in weight if e[0] == e[1]]
        labels = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
        out.append(
            Graph.from_edges(
                kept, n, np.arange(2.0 * n).reshape(n, 2), labels=labels, weights=[weight[e] for e in kept],
                edge_labels=[sum(e) for e in kept], node_scale=draw(st.lists(st.floats(0, 9), min_size=n, max_size=n)),
            )
        )  # fmt: skip
    return out


@given(random_graphs())
def test_batch_returns_its_graphs(made):
    batch = GraphBatch.from_graphs(made)
    assert len(batch) == len(made)
    for graph, back in zip(made, batch, strict=True):
        assert graph.adjacency.toarray().tolist() == back.adjacency.toarray().tolist()
        assert np.array_equal(graph.features, back.features)
        assert graph.labels.tolist() == back.labels.tolist()
        assert graph.n_self_loops == back.n_self_loops


@given(random_graphs(), st.data())
def test_slices_and_choices_equal_lists(made, data):
    batch = GraphBatch.from_graphs(made)
    listed = list(batch)
    cut = data.draw(st.slices(len(made)))
    chosen = data.draw(st.lists(st.integers(-len(made), len(made) - 1), max_size=8))
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(made), max_size=len(made))))
    for part, expected in [
        (batch[cut], listed[cut]),
        (batch[np.array(chosen, dtype=int)], [listed[i] for i in chosen]),
        (batch[mask], [g for g, keep in zip(listed, mask, strict=True) if keep]),
        (batch[1:][:2] if len(made) > 1 else batch, listed[1:][:2] if len(made) > 1 else listed),
    ]:
        assert len(part) == len(expected)
        assert all(same(a, b) for a, b in zip(part, expected, strict=True))
        assert part.adjacency().shape == (part.n_nodes, part.n_nodes)


@given(random_graphs(), random_graphs())
def test_sum_is_concatenation(left, right):
    both = GraphBatch.from_graphs(left) + GraphBatch.from_graphs(right)
    assert [g.n_nodes for g in both] == [g.n_nodes for g in left + right]
    assert all(same(a, b) for a, b in zip(both[: len(left)], both, strict=False))


def test_block_diagonal_adjacency():
    batch = GraphBatch.from_graphs(FAMILIES["weighted"])
    whole = batch.adjacency().toarray()
    for i, graph in enumerate(batch):
        rows = slice(batch.offsets[i], batch.offsets[i + 1])
        assert np.array_equal(whole[rows, rows], graph.adjacency.toarray())
        whole[rows, rows] = 0
    assert not whole.any()


def test_a_slice_shares_memory_and_nothing_can_be_written():
    batch = datasets.load("MUTAG").graphs
    part = batch[20:60]
    assert np.shares_memory(part.indices, batch.indices)
    for array in (batch.indices, part.labels, part[0].indices):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(AttributeError):
        batch.labels = None
    with pytest.raises(ValueError, match="read-only"):
        pickle.loads(pickle.dumps(part)).indices[0] = 1


def test_node_scales_survive_pickling_and_replacement():
    graph = Graph.from_edges([(0, 1)], 2, labels=[1, 2], node_scale=[0.5, 2.0])
    batch = GraphBatch.from_graphs([graph, graph])
    for copy in (pickle.loads(pickle.dumps(batch)), replace(batch, labels=None), batch.with_features(np.eye(4))):
        assert copy.node_scale.tolist() == [0.5, 2.0, 0.5, 2.0]
        assert not copy.node_scale.flags.writeable
    assert pickle.loads(pickle.dumps(graph)).node_scale.tolist() == [0.5, 2.0]
    assert as_graphs([graph]).node_scale.tolist() == [0.5, 2.0]
    assert batch.with_node_scale([1, 2, 3, 4])[1].node_scale.tolist() == [3.0, 4.0]
    assert batch.with_node_scale(None).node_scale is None


def test_node_scales_belong_to_all_graphs_or_to_none():
    with_scale, without = Graph.from_edges([], 2, node_scale=[1, 2]), Graph.from_edges([], 1)
    with pytest.raises(
        InputError, match=r"^graph 1 has node scales but graph 0 has none; give them to all graphs or to none\.$"
    ):
        GraphBatch.from_graphs([without, with_scale])
    with pytest.raises(InputError, match=r"^graph 0 has node scales but graph 1 has none"):
        GraphBatch.from_graphs([with_scale]) + GraphBatch.from_graphs([without])
    nodeless = Graph.from_edges([], 0)
    assert GraphBatch.from_graphs([nodeless, with_scale]).node_scale.tolist() == [1.0, 2.0]


def test_wrong_node_scales_of_a_batch_name_graph_and_node():
    batch = GraphBatch.from_graphs([Graph.from_edges([], 2), Graph.from_edges([], 3)])
    with pytest.raises(
        InputError, match=r"^node 1 of graph 1 has the scale -2\.0; every node_scale must be finite and 0"
    ):
        batch.with_node_scale([1, 1, 1, -2, 1])
    with pytest.raises(
        InputError, match=r"^node_scale must have one entry for each of the 5 nodes, but has shape \(2,\)"
    ):
        batch.with_node_scale([1, 1])


def test_with_features_checks_the_shape():
    batch = datasets.load("MUTAG").graphs[:1]
    with pytest.raises(InputError, match="features has 3 rows, but the graph has 17 nodes"):
        batch.with_features(np.ones((3, 2)))
    assert batch.with_features([[1.0]] * 17).features.shape == (17, 1)


def test_batch_leaves_input_arrays_writable():
    features = np.ones((2, 2))
    graph = Graph.from_edges([(0, 1)], 2, features)
    GraphBatch.from_graphs([graph])
    features[0, 0] = 5.0
    assert graph.features[0, 0] == 1.0


@pytest.mark.parametrize("index", [5, -6])
def test_out_of_range_raises_index_error(index):
    batch = datasets.load("MUTAG").graphs[:5]
    with pytest.raises(IndexError, match=r"graph .* of a batch of 5"):
        batch[index]
    with pytest.raises(IndexError, match=r"must lie in 0\.\.4"):
        batch[[index]]
    with pytest.raises(IndexError, match="mask has 2 entries"):
        batch[np.array([True, False])]
    with pytest.raises(IndexError, match="integers or a mask"):
        batch[[0.7, 1.9]]
    for wrong in (1.9, "1"):
        with pytest.raises(TypeError):
            batch[wrong]


def features(width: int) -> Graph:
    return Graph.from_edges([(0, 1)], 2, np.ones((2, width)))


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (
            [features(2), features(2), features(3)],
            "features must have the same width .* graph 0 has 2 and graph 2 has 3",
        ),
        ([features(2), Graph.from_edges([], 1)], "graph 0 has features but graph 1 has none"),
        ([Graph.from_edges([], 1), Graph.from_edges([], 1, labels=[1])], "graph 1 has labels but graph 0 has none"),
        ([Graph.from_edges([], 1, labels=["C"]), Graph.from_edges([], 1, labels=[1])], "graphs 0 and 1 differ"),
    ],
)
def test_incompatible_graphs_are_rejected(made, words):
    with pytest.raises(InputError, match=words):
        GraphBatch.from_graphs(made)


def labelled(*labels) -> Graph:
    return Graph.from_edges([(i, i + 1) for i in range(len(labels))], len(labels) + 1, edge_labels=labels)


def test_edge_labels_of_different_string_lengths():
    batch = GraphBatch.from_graphs([labelled("a"), labelled(), labelled("double", "b")])
    assert batch.edge_labels.tolist() == ["a", "a", "double", "double", "b", "b"]
    assert batch[2].edge_labels.tolist() == ["double", "double", "b", "b"]
    assert batch[[2, 0]].edge_labels.tolist() == ["double", "double", "b", "b", "a", "a"]


def test_edge_labels_of_different_kinds_are_rejected():
    with pytest.raises(InputError, match="edge_labels must be all integers or all strings, but graphs 1 and 2 differ"):
        GraphBatch.from_graphs([labelled(), labelled(1), labelled("a")])
    with pytest.raises(InputError, match="graph 1 has edge labels but graph 2 has none; give them to all"):
        GraphBatch.from_graphs([labelled(), labelled(1), Graph.from_edges([(0, 1)], 2)])


def test_graph_without_nodes_is_compatible_with_all():
    nothing = Graph(np.zeros((0, 0)))
    for other in (
        Graph.from_edges([], 1, labels=["C"]),
        Graph.from_edges([], 1, labels=[[1, 2]]),
        Graph.from_edges([], 1, np.ones((1, 3))),
        Graph.from_edges([], 1, sparse.csr_array(np.ones((1, 3)))),
    ):
        for made in ([nothing, other], [other, nothing], [Graph.from_edges([], 0, labels=[]), other, nothing]):
            batch = GraphBatch.from_graphs(made)
            assert batch.n_nodes == 1
            assert gram(made)[made.index(other), made.index(other)] > 0
        assert cross_gram([nothing], [other]).tolist() == [[0.0]]
        assert cross_gram([], [other]).shape == (0, 1)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ([np.eye(2), np.ones((2, 3))], r"graph 1: adjacency must be square, but has shape \(2, 3\)"),
        ([(np.eye(2), np.full((2, 1), np.nan))], "graph 0: node 0 has the feature value nan"),
        ([np.eye(2), "CCO"], r"graph 1 is a str, but graph 0 is a numpy.ndarray; convert graphs of one kind"),
        ([np.eye(2), 7, "CCO"], "graph 1 is an int, which cannot be converted"),
        (np.eye(3), r"for a single graph pass \[matrix\]"),
        ((np.eye(3), np.eye(3)), r"for a single graph pass \[\(adjacency, features\)\]"),
        ("MUTAG", "datasets.load"),
        (7, "must be a sequence of graphs"),
    ],
)
def test_unsupported_sources_are_rejected(source, words):
    with pytest.raises(InputError, match=words):
        as_graphs(source)


def test_supported_sources():
    one = Graph.from_edges([(0, 1)], 2)
    assert len(as_graphs(one)) == 1
    assert len(as_graphs(datasets.load("MUTAG"))) == 188
    assert as_graphs(iter([np.eye(2), one])).n_nodes == 4
    assert as_graphs([(np.eye(2), np.ones((2, 3)))]).features.shape == (2, 3)
