from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from fastgntk import Graph, InputError

SQUARE = np.array([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]])


def neighbours(graph: Graph) -> list[list[int]]:
    return [graph.indices[a:b].tolist() for a, b in zip(graph.indptr[:-1], graph.indptr[1:], strict=True)]


@pytest.mark.parametrize(
    "adjacency",
    [SQUARE, SQUARE.astype(bool), SQUARE.tolist(), sparse.csr_matrix(SQUARE), sparse.coo_array(SQUARE),
     sparse.csc_array(SQUARE.astype(float)), np.triu(SQUARE)],
)  # fmt: skip
def test_every_form_of_adjacency_gives_the_same_graph(adjacency):
    graph = Graph(adjacency)
    assert neighbours(graph) == [[1, 3], [0, 2], [1, 3], [0, 2]]
    assert graph.weights is None
    assert (graph.n_nodes, graph.n_edges) == (4, 4)
    assert graph.adjacency.toarray().tolist() == SQUARE.tolist()


@pytest.mark.parametrize("edges", [[(0, 1), (1, 2), (2, 3), (3, 0)], [(1, 0), (0, 1), (1, 2), (3, 2), (0, 3), (0, 3)]])
def test_duplicate_and_reversed_edges_count_once(edges):
    assert neighbours(Graph.from_edges(edges, 4)) == [[1, 3], [0, 2], [1, 3], [0, 2]]


def test_self_loops_are_dropped_and_counted():
    graph = Graph(SQUARE + np.diag([1, 0, 5, 0]))
    assert graph.n_self_loops == 2
    assert neighbours(graph) == neighbours(Graph(SQUARE))
    assert Graph.from_edges([(0, 0), (0, 0), (0, 1)], 2).n_self_loops == 1


def test_weights_are_kept_and_ones_are_no_weights():
    graph = Graph.from_edges([(0, 1), (1, 2)], 3, weights=[0.5, 2.0])
    assert graph.adjacency.toarray().tolist() == [[0, 0.5, 0], [0.5, 0, 2], [0, 2, 0]]
    assert graph.degrees.tolist() == [1, 2, 1]
    assert Graph.from_edges([(0, 1)], 2, weights=[1.0]).weights is None


def test_weights_are_none_if_only_a_loop_differs():
    assert Graph(np.array([[5, 1], [1, 0]])).weights is None


def test_rounding_in_a_symmetric_matrix_is_averaged_away():
    correlation = np.array([[1.0, 0.3], [np.nextafter(0.3, 1), 1.0]])
    a, b = Graph(correlation).weights
    assert a == b
    assert abs(a - 0.3) < 1e-15


def test_edge_labels_of_each_direction():
    graph = Graph.from_edges([(0, 1), (1, 0), (1, 2)], 3, edge_labels=[4, 5, 6])
    assert graph.edge_labels.tolist() == [4, 5, 6, 6]


def test_graph_copies_its_input():
    features = sparse.csr_array(np.eye(2))
    graph = Graph.from_edges([(0, 1)], 2, features, weights=[2.0])
    features.data[0] = np.nan
    graph.adjacency.data[:] = 9
    assert graph.features.toarray().tolist() == [[1, 0], [0, 1]]
    assert graph.weights.tolist() == [2.0, 2.0]


def test_node_scales_are_copied_numbers():
    scale = np.array([1.5, 0.0])
    graph = Graph.from_edges([(0, 1)], 2, node_scale=scale)
    scale[0] = 9.0
    assert (
        graph.node_scale.tolist() == Graph(np.zeros((2, 2)), node_scale=[1.5, False]).node_scale.tolist() == [1.5, 0.0]
    )
    assert graph.node_scale.dtype == np.float64
    assert Graph.from_edges([(0, 1)], 2).node_scale is None


def test_an_edge_of_weight_zero_is_no_edge():
    assert Graph.from_edges([(0, 1), (1, 2)], 3, weights=[0.0, 2.0]).n_edges == 1
    stored = sparse.csr_array((np.array([0.0, 3.0]), (np.array([0, 1]), np.array([1, 2]))), shape=(3, 3))
    assert Graph(stored).n_edges == 1


def test_duplicate_sparse_entries_are_summed():
    twice = sparse.coo_array((np.array([1.0, 2.0]), (np.array([0, 0]), np.array([1, 1]))), shape=(2, 2))
    assert Graph(twice).adjacency.toarray().tolist() == [[0, 3], [3, 0]]
    assert twice.nnz == 2  # the caller's matrix is left alone


def test_directed_rows_list_what_a_node_sums_over():
    graph = Graph(np.array([[0, 1, 1], [0, 0, 0], [0, 3, 0]]), directed=True)
    assert neighbours(graph) == [[1, 2], [], [1]]
    assert graph.n_edges == 3
    assert Graph.from_edges([(0, 1), (1, 0), (1, 2)], 3, directed=True).n_edges == 2


def test_isolated_single_and_no_nodes_are_legal():
    assert Graph.from_edges([], 3).degrees.tolist() == [0, 0, 0]
    assert Graph(np.zeros((1, 1))).n_nodes == 1
    assert Graph(np.zeros((0, 0))).n_nodes == 0
    assert Graph.from_edges([], 0, np.zeros((0, 4))).features.shape == (0, 4)


def test_edge_labels_follow_their_edges():
    graph = Graph.from_edges([(2, 1), (0, 2), (1, 1)], 3, edge_labels=[7, 9, 4])
    assert neighbours(graph) == [[2], [2], [0, 1]]
    assert graph.edge_labels.tolist() == [9, 7, 9, 7]


def test_edge_labels_may_be_strings():
    graph = Graph.from_edges([(2, 1), (0, 2), (1, 2)], 3, edge_labels=["double", "a", "double"])
    assert graph.edge_labels.tolist() == ["a", "double", "a", "double"]
    graph = Graph.from_edges([(0, 1), (1, 0)], 2, edge_labels=["there", "back"], weights=[2, 2])
    assert graph.edge_labels.tolist() == ["there", "back"]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["C", "O"], ["C", "O"]),
        (np.array(["C", "Cl"], dtype=object), ["C", "Cl"]),
        ([3, 5], [3, 5]),
        (np.array([1.0, 2.0]), [1, 2]),
        ([[1, 2], [3, 4]], [[1, 2], [3, 4]]),
    ],
)
def test_labels_are_integers_or_strings(labels, expected):
    assert Graph.from_edges([(0, 1)], 2, labels=labels).labels.tolist() == expected


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: Graph(SQUARE, node_scale=[1, 2, 3]),
            r"node_scale must have one entry for each of the 4 nodes, but has",
        ),
        (
            lambda: Graph(SQUARE, node_scale=np.ones((4, 1))),
            r"one entry for each of the 4 nodes, but has shape \(4, 1\)",
        ),
        (lambda: Graph(SQUARE, node_scale=["a"] * 4), r"^node_scale must be numbers, one for each node\.$"),
        (
            lambda: Graph(SQUARE, node_scale=[1, 0, -0.5, 1]),
            r"^node 2 has the scale -0\.5; every node_scale must be finite ",
        ),
        (
            lambda: Graph(SQUARE, node_scale=[1, np.inf, 1, 1]),
            r"^node 1 has the scale inf; every node_scale must be fin",
        ),
        (
            lambda: Graph.from_edges([], 1, node_scale=[np.nan]),
            r"^node 0 has the scale nan; every node_scale must be fin",
        ),
        (lambda: Graph(np.ones((2, 3))), r"adjacency must be square, but has shape \(2, 3\)"),
        (lambda: Graph(sparse.csr_array(np.ones((2, 3)))), r"adjacency must be square, but has shape \(2, 3\)"),
        (lambda: Graph(np.zeros((0, 3))), r"adjacency must be square, but has shape \(0, 3\)"),
        (lambda: Graph([[0, 1], [1]]), "rows have different lengths"),
        (lambda: Graph([(0, 1), (1, 2), (2, 0)]), r"for a list of edges use Graph.from_edges"),
        (lambda: Graph(np.array([["a", "b"], ["c", "d"]])), "adjacency must be numeric and real"),
        (lambda: Graph(SQUARE, np.ones((3, 2))), "features has 3 rows, but the graph has 4 nodes"),
        (lambda: Graph(SQUARE, np.ones(4)), r"features must have shape \(nodes, width\).*labels="),
        (lambda: Graph(SQUARE, [["a"]] * 4), "features must be numbers"),
        (lambda: Graph(SQUARE, np.diag([1, 1, np.nan, 1])), "node 2 has the feature value nan in column 2"),
        (lambda: Graph(SQUARE, np.diag([1, np.inf, 1, 1])), "node 1 has the feature value inf in column 1"),
        (lambda: Graph(SQUARE, sparse.csr_array(np.diag([1, 1, 1, np.nan]))), "node 3 has the feature value nan"),
        (lambda: Graph(SQUARE, labels=[1, 2]), "labels must have one entry for each of the 4 nodes"),
        (lambda: Graph(SQUARE, labels=[1, "C", 2, 3]), "all integers or all strings, but contains both"),
        (lambda: Graph(SQUARE, labels=[0.5, 1, 2, 3]), "pass continuous values as features="),
        (lambda: Graph.from_edges([(0, 4)], 4), r"edge 0 is \(0, 4\), but node indices must lie in 0..3"),
        (lambda: Graph.from_edges([(0, 1), (-1, 2)], 4), r"edge 1 is \(-1, 2\)"),
        (lambda: Graph.from_edges([(0, 1, 2)], 4), "edges must be pairs of integers"),
        (lambda: Graph.from_edges([(0.5, 1.0)], 4), "edges must be pairs of integers"),
        (lambda: Graph.from_edges([(0, 1)], -1), "n_nodes must be an integer, 0 or more, but is -1"),
        (lambda: Graph.from_edges([(0, 1)], 2.0), "n_nodes must be an integer"),
        (lambda: Graph.from_edges([(0, 1)], 2, weights=[1, 2]), "weights must have one entry for each of the 1 edges"),
        (lambda: Graph.from_edges([(0, 1)], 2, weights=[np.nan]), r"weight of edge \(0, 1\) is nan"),
        (lambda: Graph(np.array([[0, np.inf], [np.inf, 0]])), r"weight of edge \(0, 1\) is inf"),
        (
            lambda: Graph.from_edges([(0, 1), (1, 0)], 2, weights=[1, 2]),
            r"different weights 1.0 and 2.0; give it once, or pass directed=True",
        ),
        (lambda: Graph(np.array([[0, 2.0], [3.0, 0]])), "is given with different weights"),
        (lambda: Graph.from_edges([(0, 1), (0, 1)], 2, edge_labels=[1, 2]), "given twice with different labels"),
        (lambda: Graph.from_edges([(0, 1)], 2, edge_labels=[1.5]), "edge_labels must be integers"),
        (lambda: Graph.from_edges([(0, 1)], 2, edge_labels=[["single"]]), r"edge_labels must have .* shape \(1, 1\)"),
        (lambda: Graph.from_edges([(0, 1), (1, 2)], 3, edge_labels=["a"]), "entry for each of the 2 edges, but has"),
        (
            lambda: Graph.from_edges([(0, 1), (1, 2)], 3, edge_labels=[1, "a"]),
            "edge_labels must be all integers or all",
        ),
        (lambda: Graph.from_edges([(0, 1)], 2, edge_labels=[None]), "edge_labels must be integers or strings, but has"),
        (lambda: Graph.from_edges([(0, 1)], 2, edge_labels=5), "one integer or string for each edge"),
        (lambda: Graph.from_edges([(0, 1), (0, 1)], 2, edge_labels=["a", "b"]), "given twice with different labels"),
        (lambda: Graph.from_edges([(0, 1)], 2, weights=["x"]), "weights must be numbers"),
        (lambda: Graph.from_edges([(0, 1), (1,)], 2), "edges must be pairs of integers, but their lengths differ"),
        (lambda: Graph(sparse.csr_array(np.array([[0, 1j], [1j, 0]]))), "adjacency must be numeric and real"),
        (lambda: Graph(SQUARE, labels=5), "labels must be a sequence"),
        (lambda: Graph(SQUARE, labels=[[1], [1, 2], [3], [4]]), "labels must be a sequence"),
        (lambda: Graph(SQUARE, labels=np.array([1, 2, 3, np.inf])), "labels must be integers or strings"),
        (lambda: Graph(SQUARE, labels=np.array([1, 2, 3, 1e300])), "labels must be integers or strings"),
        (lambda: Graph(SQUARE, labels=np.array([2**63 + 1] * 4, dtype=np.uint64)), "labels must be integers"),
        (lambda: Graph(SQUARE, labels=[None] * 4), "labels must be integers or strings, but has dtype object"),
    ],
)
def test_invalid_input(make, words):
    with pytest.raises(InputError, match=words):
        make()
