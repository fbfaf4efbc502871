"""Keys of sketches: different for different graphs, and the same for one graph in any storage and company."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from fastgntk import Graph, GraphBatch, InputError, as_graphs
from fastgntk.graphs import content_keys

EDGES = [(0, 1), (1, 2), (2, 3)]
X = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0], [0.0, 0.5]])


def graph(**parts):
    return Graph.from_edges(EDGES, 4, **parts)


def key(graph):
    return content_keys(GraphBatch.from_graphs([graph])).tobytes()


def test_graphs_that_differ_in_any_part_have_different_keys():
    graphs = [
        graph(),
        Graph.from_edges([(0, 1), (1, 2), (1, 3)], 4),
        Graph.from_edges(EDGES, 5),
        Graph.from_edges(EDGES, 4, directed=True),
        graph(weights=[1.0, 2.0, 1.0]),
        graph(weights=[2.0, 1.0, 1.0]),
        graph(labels=[0, 0, 0, 1]),
        graph(labels=[0, 0, 1, 0]),
        graph(labels=["0", "0", "1", "0"]),
        graph(labels=[[0, 0], [0, 0], [1, 0], [0, 0]]),
        graph(labels=["a", "bc", "a", "a"]),
        graph(labels=["ab", "c", "a", "a"]),
        graph(edge_labels=[0, 0, 1]),
        graph(edge_labels=[0, 1, 0]),
        graph(features=X),
        graph(features=X[::-1]),
        graph(features=np.column_stack([X, np.zeros(4)])),
        graph(features=np.eye(4)[:, :1]),
        graph(features=np.eye(4)[:, :1] * [[1, 0]]),
        graph(features=X, labels=[0, 0, 0, 1]),
    ]
    assert len(set(map(key, graphs))) == len(graphs)


def test_storage_makes_no_difference():
    batch = as_graphs([graph(features=X, labels=[3, 1, 3, 2], edge_labels=[5, 6, 5])])
    messy = sparse.csr_array(
        (np.array([-0.0, 0.5, 0.5, 2.0, 3.0, 0.5]), np.array([1, 0, 0, 1, 0, 1]), np.array([0, 3, 4, 5, 6])),
        shape=(4, 2),
    )
    signed = np.where(X == 0.0, -0.0, X)
    others = [
        replace(batch, features=sparse.csr_array(X)),
        replace(batch, features=messy),
        replace(batch, features=signed),
        replace(batch, features=np.asfortranarray(X)),
        replace(batch, labels=batch.labels.astype(np.int8)),
        replace(batch, labels=batch.labels[:, None]),
        replace(batch, edge_labels=batch.edge_labels.astype(np.uint16)),
        replace(batch, weights=np.ones(6)),
        pickle.loads(pickle.dumps(batch)),
    ]
    for other in others:
        assert np.array_equal(content_keys(other), content_keys(batch))
    words = as_graphs([graph(labels=["C", "O", "C", "N"])])
    assert np.array_equal(content_keys(replace(words, labels=words.labels.astype("<U9"))), content_keys(words))


def test_other_graphs_of_the_batch_make_no_difference():
    # Others bring longer labels, weights, and edge labels that a graph without edges has none of.
    alone = [
        graph(labels=["C", "O", "C", "N"], edge_labels=[1, 1, 2]),
        Graph.from_edges([], 2, labels=["C", "C"]),
        Graph.from_edges(EDGES, 4, labels=["Fe", "chlorine", "C", "C"], edge_labels=[1, 1, 1], weights=[1, 2, 3]),
    ]
    together = GraphBatch.from_graphs(alone)
    for batch in (together, together[::-1][::-1], together[[2, 1, 0]][[2, 1, 0]], together[:1] + together[1:]):
        assert [one.tobytes() for one in content_keys(batch)] == list(map(key, alone))
    assert content_keys(GraphBatch.from_graphs([])).shape == (0, 2)


def test_keys_and_sizes_of_the_caller_stay_with_their_graph():
    batch = as_graphs([graph()] * 4).with_sketch_keys([7, "7", np.int64(8), 7]).with_sketch_sizes([1, 2, 3, 4])
    keys = content_keys(batch)
    assert len({one.tobytes() for one in keys}) == 3
    assert np.array_equal(keys[0], keys[3])
    order = [3, 1, 1]
    for chosen in (batch[order], as_graphs([batch[i] for i in order]), pickle.loads(pickle.dumps(batch[order]))):
        assert np.array_equal(content_keys(chosen), keys[order])
        assert chosen.sketch_sizes.tolist() == [4, 2, 2]
    made = as_graphs([graph(sketch_key=8, sketch_size=3), Graph(np.ones((2, 2)), sketch_key="7", sketch_size=2)])
    assert np.array_equal(content_keys(made), keys[[2, 1]])
    assert made.sketch_sizes.tolist() == [3, 2]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda b: b.with_sketch_keys([1]), "sketch_keys must have one entry for each of the 2 graphs, but has 1."),
        (lambda b: b.with_sketch_keys("ab"), "must be a sequence of integers or strings, but is 'ab'."),
        (
            lambda b: b.with_sketch_keys([1, 1.5]),
            "key of graph 1 must be an integer or a string, but is 1.5.",
        ),
        (
            lambda b: b.with_sketch_sizes([1]),
            "must have one entry for each of the 2 graphs, but has shape (1,)",
        ),
        (lambda b: b.with_sketch_sizes([3, 0]), "sketch_sizes must be 1 or more, but is 0 for graph 1."),
        (lambda b: b.with_sketch_sizes([-3, 1]), "sketch_sizes must be 1 or more, but is -3 for graph 0."),
        (lambda b: b.with_sketch_sizes([0.5, 1]), "sketch_sizes must be integers, but has dtype float64."),
        (lambda b: b.with_sketch_sizes([True, True]), "sketch_sizes must be integers, but has dtype bool."),
        (lambda b: b.with_sketch_sizes([[1], [1, 2]]), "sketch_sizes must be integers, one for each graph."),
        (lambda b: graph(sketch_key=None, sketch_size=0), "sketch_size must be an integer, 1 or more, but is 0."),
        (lambda b: graph(sketch_size=2.5), "sketch_size must be an integer, 1 or more, but is 2.5."),
        (lambda b: graph(sketch_key=True), "sketch_key must be an integer or a string, but is True."),
        (
            lambda b: as_graphs([graph(), graph(sketch_key=1)]),
            "graph 1 has a sketch_key but graph 0 has none; give one to all graphs or to none.",
        ),
        (
            lambda b: as_graphs([graph(sketch_size=1), graph()]),
            "graph 0 has a sketch_size but graph 1 has none; give one to all graphs or to none.",
        ),
    ],
)
def test_bad_keys_and_sizes_are_refused_in_one_sentence(make, message):
    with pytest.raises(InputError) as caught:
        make(as_graphs([graph(), graph()]))
    assert message in str(caught.value)
