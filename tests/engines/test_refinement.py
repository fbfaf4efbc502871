from __future__ import annotations

import math

import numpy as np
import pytest
from tests.tables import FAMILIES, NEGATIVE_WEIGHTS, scales_of

from fastgntk import GNTK, Compute, Graph, NodeFeatures, as_graphs, datasets, gram, prepare
from fastgntk.engines._refinement import first_equal_graph, indistinguishable_graphs, refine_colours

MUTAG = datasets.load("MUTAG").graphs[:20]
MUTAG = MUTAG.with_node_scale(scales_of(MUTAG.n_nodes))
KINDS = {**FAMILIES, "negative weights": NEGATIVE_WEIGHTS, "MUTAG": list(MUTAG)}
RING = Graph.from_edges([(i, (i + 1) % 6) for i in range(6)], 6)
TRIANGLES = Graph.from_edges([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)], 6)
PATH = Graph.from_edges([(0, 1), (1, 2), (2, 3)], 4)
TURNED = Graph.from_edges([(2, 1), (1, 3), (3, 0)], 4)  # the same path, numbered otherwise


def refined(
    batch, depth, uses_edge_labels=False, uses_node_scale=False, self_weight=1.0, symmetric=False, keep_features=False
):
    """Colours of every level by dictionaries of sorted multisets: nothing shared with the package."""
    X = batch.features.toarray() if hasattr(batch.features, "toarray") else np.asarray(batch.features)
    A = batch.adjacency().toarray()
    T = [[""] * len(A) for _ in A]
    if uses_edge_labels and batch.edge_labels is not None:
        for u, v, label in zip(*np.nonzero(A), batch.edge_labels, strict=True):
            T[u][v] = f"type {label}"
    itself = [self_weight] * len(A)
    if symmetric:
        D = [math.fsum([*row, self_weight]) for row in A]
        itself = [self_weight / d for d in D]
        A = A / np.sqrt(np.outer(D, D))
    current = [tuple(row.tolist()) for row in X + 0.0]
    levels = []
    for _ in range(depth + 1):
        known: dict = {}
        levels.append([known.setdefault(c, len(known)) for c in current])
        now = levels[-1]
        current = [
            (
                batch.node_scale[u] if uses_node_scale else 0.0,
                levels[0][u] if keep_features else 0,
                *sorted(
                    [("itself" * uses_edge_labels, itself[u], now[u])] * (self_weight != 0)
                    + [(T[u][v], A[u, v], now[v]) for v in np.flatnonzero(A[u])]
                ),
            )
            for u in range(len(A))
        ]
    return levels


def partition(colours):
    return [list(colours).index(c) for c in colours]


@pytest.mark.parametrize(
    ("uses_edge_labels", "uses_node_scale", "self_weight", "keep_features"),
    [
        (False, False, 1.0, False),
        (True, False, 1.0, False),
        (False, True, 1.0, False),
        (False, False, 1.0, True),
        (True, True, 1.0, True),
        (False, False, 0.5, False),
        (True, False, 0.0, False),
    ],
)
@pytest.mark.parametrize("used_bits", [None, 0, 0b111])
@pytest.mark.parametrize("kind", KINDS)
def test_colours_are_those_of_plain_refinement_however_hashes_collide(
    kind, used_bits, uses_edge_labels, uses_node_scale, self_weight, keep_features
):
    batch = NodeFeatures().fit_transform(as_graphs(KINDS[kind]))
    options = {
        "uses_edge_labels": uses_edge_labels,
        "uses_node_scale": uses_node_scale,
        "self_weight": self_weight,
        "keep_features": keep_features,
    }
    found = refine_colours(batch, 3, used_bits, **options)
    levels = refined(batch, 3, **options)
    for mine, expected in zip(found.colours.tolist(), levels, strict=True):
        assert partition(mine) == partition(expected)
    assert found.counts == [len(set(level)) for level in levels]
    for mine, operator in zip(found.colours[1:].tolist(), found.operators, strict=True):
        assert operator.first.tolist() == [mine.index(colour) for colour in range(len(operator.first))]


def test_hashes_of_scaled_nodes_depend_on_content_alone():
    one = NodeFeatures().fit_transform(MUTAG)
    some = np.arange(10)[::-1]
    some_scales = one.with_node_scale(np.where(one.graph_of_node < 10, one.node_scale, 0.125))  # numbers scales anew
    hashes = [refine_colours(batch, 3, uses_node_scale=True).hashes for batch in (one[some], some_scales)]
    for part, whole in zip(*hashes, strict=True):
        assert set(part.tolist()) <= set(whole.tolist())
        assert len(set(whole.tolist())) == len(whole)


@pytest.mark.parametrize("options", [{"self_weight": 0.0}, {"self_weight": 0.5, "symmetric": True}], ids=repr)
def test_hashes_of_weighted_operators_depend_on_content_alone(options):
    whole = NodeFeatures().fit_transform(MUTAG)
    hashes = [refine_colours(batch, 3, **options).hashes for batch in (whole[np.arange(10)[::-1]], whole)]
    for part, every in zip(*hashes, strict=True):
        assert set(part.tolist()) <= set(every.tolist())


@pytest.mark.parametrize("kind", KINDS)
def test_operators_separate_edge_types(kind):
    batch = NodeFeatures().fit_transform(as_graphs(KINDS[kind]))
    found = refine_colours(batch, 2, uses_edge_labels=True)
    A = batch.adjacency().tocoo()
    for level, Q in enumerate(found.operators, start=1):
        old, new = found.colours[level - 1], found.colours[level]
        for u in range(batch.n_nodes):
            expected = {(0, int(old[u])): 1.0}
            for k in np.flatnonzero(A.coords[0] == u):
                key = (1 + int(batch.edge_labels[k]), int(old[A.coords[1][k]]))
                expected[key] = expected.get(key, 0.0) + float(A.data[k])
            row = range(Q.indptr[new[u]], Q.indptr[new[u] + 1])
            assert {(int(Q.relation[k]), int(Q.indices[k])): Q.data[k] for k in row} == pytest.approx(expected)
            assert list(Q.relation[row.start : row.stop]) == sorted(Q.relation[row.start : row.stop])


@pytest.mark.parametrize("self_weight", [1.0, 0.5, 0.0])
@pytest.mark.parametrize("kind", KINDS)
def test_operators_sum_the_weights_of_each_colour(kind, self_weight):
    batch = NodeFeatures().fit_transform(as_graphs(KINDS[kind]))
    found = refine_colours(batch, 2, self_weight=self_weight)
    whole = batch.adjacency().toarray() + self_weight * np.eye(batch.n_nodes)
    for level, Q in enumerate(found.operators, start=1):
        old, new = found.colours[level - 1], found.colours[level]
        member = np.zeros((batch.n_nodes, found.counts[level - 1]))
        member[np.arange(batch.n_nodes), old] = 1.0
        for u in range(batch.n_nodes):
            row = slice(Q.indptr[new[u]], Q.indptr[new[u] + 1])
            assert set(Q.indices[row].tolist()) == set(old[np.flatnonzero(whole[u])].tolist())
            dense, magnitude = np.zeros(member.shape[1]), np.zeros(member.shape[1])
            dense[Q.indices[row]], magnitude[Q.indices[row]] = Q.data[row], Q.abs_data[row]
            np.testing.assert_allclose(dense, whole[u] @ member, atol=1e-12)
            np.testing.assert_allclose(magnitude, np.abs(whole[u]) @ member, atol=1e-12)
            assert Q.terms[new[u]] == np.count_nonzero(whole[u]) + (self_weight == 0.0)


@pytest.mark.parametrize("kind", FAMILIES)
def test_colours_of_symmetric_operators_are_those_of_equal_rows(kind):
    batch = NodeFeatures().fit_transform(as_graphs(KINDS[kind]))
    found = refine_colours(batch, 3, symmetric=True, self_weight=0.5)
    levels = refined(batch, 3, symmetric=True, self_weight=0.5)
    assert found.counts == [len(set(level)) for level in levels]
    for mine, expected in zip(found.colours.tolist(), levels, strict=True):
        assert partition(mine) == partition(expected)


def test_colours_of_symmetric_operators_do_not_depend_on_the_order_of_edges():
    rng = np.random.default_rng(0)
    edges, weights = [(0, i) for i in range(1, 8)], rng.uniform(0.1, 3.0, 7)
    stars = [Graph.from_edges(edges, 8, weights=weights[order]) for order in (rng.permutation(7) for _ in range(20))]
    batch = NodeFeatures().fit_transform(stars)
    assert refine_colours(batch, 2, symmetric=True).counts == [2, 8, 8]


def test_operator_rows_are_sorted_by_content():
    batch = NodeFeatures().fit_transform(datasets.load("MUTAG").graphs[:30])
    backwards = batch[np.arange(30)[::-1]]
    one, two = refine_colours(batch, 3), refine_colours(backwards, 3)
    for level in range(1, 4):
        rows = [{}, {}]
        for found, seen in ((one, rows[0]), (two, rows[1])):
            Q, old, new = found.operators[level - 1], found.hashes[level - 1], found.hashes[level]
            for c in range(len(new)):
                part = slice(Q.indptr[c], Q.indptr[c + 1])
                seen[int(new[c])] = (old[Q.indices[part]].tolist(), Q.data[part].tolist())
        assert rows[0] == rows[1]


def test_long_neighbourhoods_are_sorted_like_short_ones():
    leaves = 60
    star = Graph.from_edges([(0, i) for i in range(1, leaves + 1)], leaves + 1, np.eye(leaves + 1))
    found = refine_colours(as_graphs([star]), 1)
    Q = found.operators[0]
    centre = slice(Q.indptr[found.colours[1, 0]], Q.indptr[found.colours[1, 0] + 1])
    hashes = found.hashes[0][Q.indices[centre]]
    assert len(hashes) == leaves + 1
    assert (np.diff(hashes.astype(object)) > 0).all()


def test_minus_zero_and_explicit_zeros_are_zero():
    from scipy import sparse

    stored = sparse.csr_array((np.array([1.0, 0.0, 1.0]), np.array([0, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    batch = as_graphs([Graph.from_edges([], 2)]).with_features(stored)
    assert refine_colours(batch, 1).counts == [1, 1]
    dense = as_graphs([Graph.from_edges([], 2, np.array([[1.0, -0.0], [1.0, 0.0]]))])
    assert refine_colours(dense, 1).counts == [1, 1]


def test_counts_of_mutag():
    batch = NodeFeatures().fit_transform(datasets.load("MUTAG").graphs)
    assert refine_colours(batch, 4).counts == [7, 26, 171, 572, 1197]


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("IMDB-BINARY", [65, 2931, 3595, 3595]),
        ("IMDB-MULTI", [59, 1869, 2111, 2111]),
        ("PROTEINS", [3, 186, 18538, 34877]),
        ("NCI1", [37, 243, 3804, 22847, 44455]),
    ],
)
def test_counts_of_large_sets(name, counts, shared_data):
    batch = NodeFeatures().fit_transform(datasets.load(name).graphs)
    assert refine_colours(batch, len(counts) - 1).counts == counts


def test_indistinguishable_graphs_share_an_index():
    batch = NodeFeatures().fit_transform([PATH, RING, TURNED, TRIANGLES, Graph.from_edges([], 0), RING])
    assert first_equal_graph(batch, 3).tolist() == [0, 1, 0, 1, 4, 1]


def test_scales_distinguish_graphs_only_if_given_scale():
    scales = ([1.0] * 4, [1.0] * 4, [1.0, 2.0, 1.0, 1.0], [1.0, 1.0, 2.0, 1.0], [2.0, 1.0, 1.0, 1.0])
    graphs = [Graph(PATH.adjacency, node_scale=scale) for scale in scales]
    batch = NodeFeatures().fit_transform(graphs)
    assert first_equal_graph(batch, 2).tolist() == [0] * 5
    assert first_equal_graph(batch, 1, uses_node_scale=True).tolist() == [0, 0, 2, 2, 4]
    assert indistinguishable_graphs(batch)[0].tolist() == [0] * 5
    assert indistinguishable_graphs(batch, uses_node_scale=True)[0].tolist() == [0, 0, 2, 2, 4]
    assert prepare(graphs, GNTK(2)).first_equal_graph().tolist() == [0] * 5
    for engine in ("lossless", "decoupled"):  # by the colours of the engine, and by new ones
        given = prepare(graphs, GNTK(2, scale="given"), compute=Compute(engine=engine))
        assert given.first_equal_graph().tolist() == [0, 0, 2, 2, 4]


def test_features_distinguish_nodes_of_equal_neighbourhoods_only_with_a_residual():
    # In both rings closed neighbourhoods are 0 0 1 and 0 1 1, twice each, but around other nodes.
    around = [(0, 1), (1, 2), (2, 3), (3, 0)]
    graphs = [Graph.from_edges(around, 4, labels=labels) for labels in ([0, 1, 0, 1], [0, 0, 1, 1])]
    batch = NodeFeatures().fit_transform(graphs)
    assert first_equal_graph(batch, 1).tolist() == [0, 0]
    assert first_equal_graph(batch, 1, keep_features=True).tolist() == [0, 1]
    for engine in ("lossless", "decoupled"):  # by the colours of the engine, and by new ones
        how = Compute(engine=engine)
        assert prepare(graphs, GNTK(1, residual=0.5), compute=how).first_equal_graph().tolist() == [0, 1]
        K = gram(graphs, GNTK(1, residual=0.5), compute=how)
        assert K[0, 0] > K[0, 1] + 1


def test_deeper_refinement_distinguishes_more():
    # Two trees of one degree sequence in which neighbours of neighbours differ.
    one = Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 4), (2, 5), (5, 6)], 7, labels=[0] * 7)
    other = Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (1, 6)], 7, labels=[0] * 7)
    batch = NodeFeatures().fit_transform([one, other])
    assert first_equal_graph(batch, 1).tolist() == [0, 0]
    assert first_equal_graph(batch, 3).tolist() == [0, 1]


def test_equal_graphs_have_equal_rows_and_hardly_any_others_do():
    batch = datasets.load("MUTAG").graphs
    groups = first_equal_graph(NodeFeatures().fit_transform(batch), 2)
    K = gram(batch, GNTK(2, 1))
    own = K.diagonal()
    distance = (own[:, None] + own - 2 * K) / np.sqrt(np.outer(own, own))
    same = groups[:, None] == groups
    assert np.sum(groups != np.arange(len(batch))) > 0
    assert np.abs(distance[same]).max() < 1e-9
    assert np.mean(distance[~same] < 1e-9) < 0.01


def test_graphs_with_equal_neighbourhoods_but_other_nodes_are_not_equal():
    # Closed neighbourhoods hold the same labels in both, but one has four nodes of label 0 and the other three.
    edges = [(0, 4), (1, 3), (2, 3), (3, 4)]
    given = [Graph.from_edges(edges, 5, labels=labels) for labels in ([0, 0, 0, 1, 0], [1, 0, 1, 0, 0])]
    batch = NodeFeatures().fit_transform(given)
    assert first_equal_graph(batch, 1).tolist() == [0, 1]
    K = gram(given, GNTK(1, 1, jump=True))
    assert K[0, 0] > K[0, 1] + 1
