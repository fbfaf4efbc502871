"""The nodes of the paper's definition: exact and sketched aggregation with one C, from the sketched norms."""

from __future__ import annotations

import numpy as np
import pytest
from tests.tables import EXACT, FAMILIES, one_hot
from tests.theory.graphs import non_negative

from fastgntk import Graph, InputError
from fastgntk.sketch import AMS
from fastgntk.theory import aggregate_nodes, moment


def draw(graphs, seed: int = 0, rows: int = 3) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.choice([-1.0, 1.0], (rows, g.n_nodes)) / np.sqrt(rows) for g in graphs]


def printed_nodes(graph, X, S):
    """Return h̄ and h̃ as the columns of H Â C and H SᵀS Â C, and C, with H of shape (d, N)."""
    A = graph.adjacency.toarray() if hasattr(graph.adjacency, "toarray") else np.asarray(graph.adjacency)
    H, A_hat = np.array(X, dtype=float).reshape(graph.n_nodes, -1).T, A + np.eye(graph.n_nodes)
    sketched = H @ S.T @ S @ A_hat
    norms = np.linalg.norm(sketched, axis=0)
    C = np.diag(np.divide(1.0, norms, out=np.zeros(len(norms)), where=norms > 1e-12))
    return H @ A_hat @ C, sketched @ C, np.diag(C)


@pytest.mark.parametrize("family", ["path", "star", "clique", "weighted", "disconnected", "duplicate nodes"])
def test_both_kinds_of_nodes_equal_the_definition(family):
    graphs = non_negative(family)
    sketches = draw(graphs)
    nodes = aggregate_nodes(graphs, sketches)
    expected = [printed_nodes(g, X, S) for g, X, S in zip(graphs, one_hot(graphs), sketches, strict=True)]
    EXACT.check(nodes.exact.h, np.hstack([h for h, _, _ in expected]).T)
    EXACT.check(nodes.sketched.h, np.hstack([h for _, h, _ in expected]).T)
    EXACT.check(nodes.c, np.concatenate([c for _, _, c in expected]))
    assert nodes.rows.tolist() == [3] * len(graphs)


def test_sketched_nodes_are_unit_vectors_and_exact_ones_are_not():
    graphs = FAMILIES["clique"]
    nodes = aggregate_nodes(graphs, draw(graphs))
    lengths = np.linalg.norm(nodes.sketched.h, axis=1)
    EXACT.check(lengths[lengths > 0], np.ones((lengths > 0).sum()))
    assert np.abs(np.linalg.norm(nodes.exact.h, axis=1) - 1).max() > 0.1


def test_norms_of_the_exact_aggregation_or_of_each_are_options():
    graphs = FAMILIES["star"]
    sketches = draw(graphs)
    exact = aggregate_nodes(graphs, sketches, norms="exact")
    each = aggregate_nodes(graphs, sketches, norms="each")
    EXACT.check(exact.exact.h, aggregate_nodes(graphs).exact.h)
    EXACT.check(each.exact.h, exact.exact.h)
    EXACT.check(each.sketched.h, aggregate_nodes(graphs, sketches).sketched.h)
    ratio = np.linalg.norm(exact.sketched.h, axis=1)  # h̃ with the norms of h̄
    EXACT.check(exact.sketched.h, each.sketched.h * ratio[:, None])
    with pytest.raises(InputError, match="norms must be one of sketched, exact, each, but is 'both'"):
        aggregate_nodes(graphs, sketches, norms="both")


@pytest.mark.parametrize("family", ["weighted", "directed"])
def test_pooling_is_how_features_enter_the_sum_of_exact_nodes(family):
    graphs = non_negative(family)
    nodes = aggregate_nodes(graphs, draw(graphs))
    for i, (start, stop) in enumerate(zip(nodes.exact.offsets[:-1], nodes.exact.offsets[1:], strict=True)):
        EXACT.check(nodes.pooling[start:stop] @ nodes.features[start:stop], nodes.exact.pooled[i])


def test_moments_of_a_slice_are_those_of_its_graphs():
    nodes = aggregate_nodes(FAMILIES["clique"] + FAMILIES["path"]).exact
    EXACT.check(moment(2, nodes[1:3]), moment(2, nodes)[1:3, 1:3])
    assert len(nodes[3:1]) == 0
    with pytest.raises(InputError, match="consecutive graphs only"):
        nodes[::2]


def test_negative_features_are_refused_by_the_definition():
    graph = Graph.from_edges([(0, 1)], 2, np.array([[1.0, 0.0], [0.0, -2.0]]))
    with pytest.raises(InputError, match=r"features, but node 1 of graph 0 has -2; .* or pass norms='each'"):
        aggregate_nodes([graph], [np.eye(2)])
    assert len(aggregate_nodes([graph], [np.eye(2)], norms="each").exact) == 1


def test_sketches_may_be_lists_or_sketch_matrices():
    path = FAMILIES["path"][:1]
    S = AMS.draw(4, 2, np.random.default_rng(0))
    expected = aggregate_nodes(path, [S.dense()]).exact.h
    EXACT.check(aggregate_nodes(path, [S]).exact.h, expected)
    EXACT.check(aggregate_nodes(path, [S.dense().tolist()]).exact.h, expected)


@pytest.mark.parametrize(
    ("sketches", "message"),
    [
        ([np.zeros((0, 4))], r"with b of 1 or more.*shape \(0, 4\)"),
        ([np.eye(3)], r"must have shape \(b, 4\).*shape \(3, 3\)"),
        ([[[1, 1, np.nan, 1]]], r"the sketch of graph 0 must hold finite numbers, but entry \(0, 2\) is nan"),
        (["AMS"], "the sketch of graph 0 must hold numbers in rows of one length, but is 'AMS'"),
        ([np.eye(4)] * 2, "one matrix for each of 1 graphs, but holds 2"),
        (5, "one matrix for each of 1 graphs, but is 5"),
    ],
)
def test_sketches_that_do_not_fit_are_refused(sketches, message):
    with pytest.raises(InputError, match=message):
        aggregate_nodes(FAMILIES["path"][:1], sketches)
