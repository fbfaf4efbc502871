from __future__ import annotations

import itertools
import json
from statistics import fmean, median

import networkx as nx
import numpy as np
import pytest
from tests.tables import FAMILIES, NEGATIVE_WEIGHTS

from fastgntk import Graph, GraphBatch, InputError, NodeFeatures, as_graphs, datasets, describe
from fastgntk.datasets import synthetic
from fastgntk.engines import _refinement, first_equal_graph, indistinguishable_graphs
from fastgntk.engines._refinement import refine_colours

MUTAG = datasets.load("MUTAG")
RING = Graph.from_edges([(i, (i + 1) % 6) for i in range(6)], 6)
TRIANGLES = Graph.from_edges([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)], 6)
PATH = Graph.from_edges([(0, 1), (1, 2)], 3)


RING_OF_20 = Graph.from_edges([(i, (i + 1) % 20) for i in range(20)], 20, labels=[0] * 20)


def small_graphs(kind: str) -> GraphBatch:
    """Many graphs of few nodes, so that some are equal."""
    rng = np.random.default_rng(7)
    out = []
    for _ in range(60):
        n = int(rng.integers(2, 5))
        edges = np.argwhere(rng.random((n, n)) < (0.4 if kind == "directed" else 0.3))
        out.append(
            Graph.from_edges(
                edges,
                n,
                weights=rng.integers(1, 3, len(edges)) / 2 if kind == "weighted" else None,
                labels=rng.integers(0, 2, n) if kind != "without labels" else None,
                edge_labels=rng.integers(5, 7, len(edges)),
                directed=True if kind == "directed" else bool(kind == "weighted"),
            )
        )
    return as_graphs(out)


KINDS = ("labels", "without labels", "weighted", "directed")


def refined_in_plain_python(batch: GraphBatch, *, typed: bool = False) -> list[int]:
    """1-WL by the book, on nested tuples instead of numbers, for as many rounds as there can be."""
    found: dict[tuple, int] = {}
    out = []
    for i, graph in enumerate(batch):
        data = graph.adjacency.data
        kinds = graph.edge_labels if typed else np.zeros(len(graph.indices))
        marks = graph.degrees if graph.labels is None else graph.labels
        colours: list = [("start", int(mark)) for mark in marks]
        for _ in range(max(batch.sizes)):
            colours = [
                (colours[u], tuple(sorted(
                    (float(data[k]), int(kinds[k]), colours[graph.indices[k]])
                    for k in range(graph.indptr[u], graph.indptr[u + 1])
                )))
                for u in range(graph.n_nodes)
            ]  # fmt: skip
        out.append(found.setdefault(tuple(sorted(colours)), i))
    return out


@pytest.mark.parametrize("typed", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_equal_graphs_are_those_of_refinement_by_the_book(kind, typed):
    batch = small_graphs(kind)
    first, _ = indistinguishable_graphs(NodeFeatures().fit_transform(batch), uses_edge_labels=typed)
    expected = refined_in_plain_python(batch, typed=typed)
    assert first.tolist() == expected
    assert 0 < sum(e != i for i, e in enumerate(expected)) < 59


def test_scales_of_nodes_separate_graphs():
    graphs = as_graphs([MUTAG.graphs[0]] * 3)
    assert describe(graphs).equal.duplicates == 2
    assert not describe(graphs).node_scale
    scaled = graphs.with_node_scale(1.0 + (np.arange(graphs.n_nodes) == graphs.n_nodes - 1))
    found = describe(scaled)
    assert found.node_scale
    assert found.equal.duplicates == found.equal_typed.duplicates == 1
    assert ("nodes carry", "labels, 3 distinct; scales") in found.rows()


def test_equal_graphs_are_those_of_networkx():
    hashes = []
    for graph in MUTAG.graphs:
        other = nx.from_scipy_sparse_array(graph.adjacency)
        nx.set_node_attributes(other, {u: str(label) for u, label in enumerate(graph.labels)}, "label")
        hashes.append(nx.weisfeiler_lehman_graph_hash(other, node_attr="label", iterations=10))
    found = describe(MUTAG.graphs)
    assert found.equal.duplicates == len(hashes) - len(set(hashes)) == 13
    assert found.equal.groups == sum(hashes.count(h) > 1 for h in set(hashes)) == 11
    assert found.equal.graphs == sum(hashes.count(h) > 1 for h in hashes) == 24


def test_what_is_equal_here_is_equal_in_every_kernel():
    batch = NodeFeatures().fit_transform(MUTAG.graphs)
    first, _ = indistinguishable_graphs(batch)
    for blocks in (1, 4, 9):
        kinds = first_equal_graph(batch, blocks)
        assert (kinds[first] == kinds).all()


def test_a_node_keeps_its_own_colour():
    # Closed neighbourhoods, which the kernel sums over, hold the same labels in both, and so do their neighbourhoods.
    pair = Graph.from_edges([(0, 1)], 2, labels=[0, 1])
    batch = NodeFeatures().fit_transform([pair, pair])
    assert refine_colours(batch, 1).counts == [2, 1]  # fewer than before: to count these would end too early
    labels = ([0, 0, 0, 1, 0], [1, 0, 1, 0, 0])
    given = [Graph.from_edges([(0, 4), (1, 3), (2, 3), (3, 4)], 5, labels=part) for part in labels]
    assert describe(as_graphs(given)).equal.duplicates == 0


@pytest.mark.parametrize("distance", [2, 3, 5, 8])
def test_rounds_are_as_many_as_were_needed(distance):
    def ring_with_two_marks(apart: int) -> Graph:
        return Graph.from_edges([(i, (i + 1) % 20) for i in range(20)], 20, labels=[i in (0, apart) for i in range(20)])

    batch = as_graphs([ring_with_two_marks(distance), ring_with_two_marks(distance + 1), RING_OF_20])
    equal = describe(batch).equal
    # Half-way between the marks is the first node from which both are seen at once.
    assert (equal.duplicates, equal.rounds) == (0, distance // 2 + distance % 2)
    assert f"none: {equal.rounds} rounds" in str(equal)


def test_rounds_that_tell_no_graphs_apart_do_not_count():
    path = Graph.from_edges([(i, i + 1) for i in range(8)], 9)
    equal = describe(as_graphs([path, path, RING])).equal
    assert (equal.duplicates, equal.rounds) == (1, 0)  # the nodes of a path are distinguished in round after round


@pytest.mark.parametrize("name", [*FAMILIES, *KINDS, "negative weights", "random"])
def test_counts_are_those_of_networkx(name):
    rings = synthetic.erdos_renyi(12, 9, 0.15, random_state=3).graphs
    others = {"negative weights": NEGATIVE_WEIGHTS, "random": rings}
    batch = small_graphs(name) if name in KINDS else as_graphs(others.get(name) or FAMILIES[name])
    ways = [nx.from_scipy_sparse_array(g.adjacency, create_using=nx.DiGraph) for g in batch]
    both = [way.to_undirected() for way in ways]
    parts = [nx.number_connected_components(g) for g in both]
    found = describe(batch)
    assert found.graphs == len(both)
    assert found.nodes == sum(len(g) for g in both)
    assert found.edges == sum(g.number_of_edges() for g in both) == sum(g.n_edges for g in batch)
    assert found.isolated_nodes == sum(nx.number_of_isolates(g) for g in both)
    assert found.graphs_without_edges == sum(g.number_of_edges() == 0 for g in both)
    assert found.components == sum(parts)
    assert found.connected_graphs == parts.count(1)
    assert found.directed == any(
        way[v].get(u, {}).get("weight") != w for way in ways for u, v, w in way.edges(data="weight")
    )
    assert found.weighted == any(w != 1 for way in ways for _, _, w in way.edges(data="weight"))
    for spread, values in (
        (found.nodes_per_graph, [len(g) for g in both]),
        (found.edges_per_graph, [g.number_of_edges() for g in both]),
        (found.neighbours_per_node, [degree for way in ways for _, degree in way.out_degree()]),
    ):
        assert (spread.min, spread.max) == (min(values), max(values))
        assert (spread.median, spread.mean) == pytest.approx((median(values), fmean(values)))


def test_what_graphs_carry_is_counted():
    found = describe(MUTAG.graphs)
    assert (found.node_labels, found.node_attributes, found.edge_labels, found.features) == (7, 0, 4, "labels")
    assert (found.directed, found.weighted, found.self_loops) == (False, False, 0)
    loops = describe([Graph(np.eye(3) + np.eye(3, k=1), np.ones((3, 5))), Graph(np.ones((2, 2)), np.ones((2, 5)))])
    assert (loops.self_loops, loops.node_attributes, loops.node_labels, loops.features) == (5, 5, 0, "attributes")
    assert loops.edge_labels == 0
    assert loops.equal_typed is None
    pairs = as_graphs([Graph.from_edges([(0, 1)], 3, labels=[[0, 1], [1, 0], [0, 1]])])
    assert describe(pairs).node_labels == 2  # of two columns each


def test_weights_that_differ_by_direction_make_a_graph_directed():
    weights = np.array([[0.0, 1.0], [2.0, 0.0]])
    found = describe(as_graphs([Graph(weights, directed=True)]))
    assert (found.directed, found.weighted, found.edges) == (True, True, 1)
    found = describe(as_graphs([Graph(weights + weights.T, directed=True)]))
    assert (found.directed, found.weighted) == (False, True)
    ones_and_threes = as_graphs([Graph(np.ones((2, 2))), Graph(3 * np.ones((2, 2)))])
    assert [describe(ones_and_threes[i : i + 1]).weighted for i in (0, 1)] == [False, True]


def test_edge_labels_tell_more_apart():
    one, other = (Graph.from_edges([(0, 1)], 2, labels=[0, 0], edge_labels=[kind]) for kind in (1, 2))
    found = describe(as_graphs([one, other, one]), [0, 1, 0])
    assert (found.equal.duplicates, found.equal.best_accuracy) == (2, pytest.approx(2 / 3))
    assert (found.equal_typed.duplicates, found.equal_typed.best_accuracy) == (1, 1.0)
    assert "with edge labels" in str(found)


def test_features_can_be_chosen():
    batch = as_graphs([Graph.from_edges([(0, 1)], 2, labels=[0, 0]), Graph.from_edges([(0, 1)], 2, labels=[1, 1])])
    assert describe(batch).equal.duplicates == 0
    assert describe(batch, features="degree").equal.duplicates == 1
    assert describe(batch, features="degree").features == "degree"


# Targets: the bounds against all functions of groups, and against plain sums.

GROUPS = [0, 0, 0, 1, 1, 2, 2, 2, 2]
KNOWN = as_graphs([(RING, PATH, Graph.from_edges([(0, 1)], 2))[group] for group in GROUPS])


def test_no_function_of_groups_is_more_often_right():
    rng = np.random.default_rng(0)
    for _ in range(20):
        y = rng.integers(0, 3, len(GROUPS))
        best = max(np.mean(np.array(f)[GROUPS] == y) for f in itertools.product(range(3), repeat=3))
        found = describe(KNOWN, y).equal
        assert found.best_accuracy == pytest.approx(best)
        assert found.least_error is None
        groups = [{int(t) for g, t in zip(GROUPS, y, strict=True) if g == group} for group in range(3)]
        assert found.contradictory == sum(len(groups[group]) > 1 for group in GROUPS)


@pytest.mark.parametrize("columns", [(), (2,)])
def test_no_function_of_groups_is_nearer(columns):
    y = np.random.default_rng(1).standard_normal((len(GROUPS), *columns))
    found = describe(KNOWN, y).equal
    values = y.reshape(len(GROUPS), -1)
    means = np.array([values[np.array(GROUPS) == group].mean(axis=0) for group in range(3)])
    expected = [np.sqrt(np.mean((values[:, c] - means[GROUPS, c]) ** 2)) for c in range(values.shape[1])]
    assert found.least_error == pytest.approx(expected)
    assert found.best_accuracy is None
    assert found.contradictory == len(GROUPS)
    for change in (-0.01, 0.01):  # at the least, every step is uphill
        assert np.all(np.sqrt(np.mean((values - means[GROUPS] - change) ** 2, axis=0)) > found.least_error)


def test_equal_targets_of_equal_graphs_bound_nothing():
    assert describe(KNOWN, np.array(GROUPS) + 0.5).equal.least_error == (0.0,)
    found = describe(KNOWN, [f"class {group}" for group in GROUPS]).equal
    assert (found.best_accuracy, found.contradictory) == (1.0, 0)
    assert describe(KNOWN, np.array(["a", None] * 4 + ["a"], dtype=object)).equal.contradictory == len(GROUPS)


def test_a_ring_equals_two_triangles():
    found = describe(as_graphs([RING, TRIANGLES, PATH]), [0, 1, 1])
    assert (found.equal.duplicates, found.equal.groups, found.equal.graphs, found.equal.contradictory) == (1, 1, 2, 2)
    assert found.equal.best_accuracy == pytest.approx(2 / 3)
    assert found.components == 4


@pytest.mark.parametrize(("name", "duplicates", "best"), [("IMDB-BINARY", 463, 0.886), ("IMDB-MULTI", 1113, 0.6327)])
def test_known_bounds(shared_data, name, duplicates, best):
    data = datasets.load(name)
    found = describe(data.graphs, data.y).equal
    assert (found.duplicates, round(found.best_accuracy, 4)) == (duplicates, best)


def test_mutag_allows_every_graph():
    found = describe(MUTAG.graphs, MUTAG.y)
    assert (found.equal.contradictory, found.equal.best_accuracy) == (0, 1.0)
    assert found.equal_typed.duplicates == 0


# What comes out, and what is refused.


def test_text_and_plain_values_agree():
    found = describe(MUTAG.graphs, MUTAG.y)
    assert json.loads(json.dumps(found.to_dict()))["equal"]["duplicates"] == 13
    lines = dict(line.split("  ", 1) for line in repr(found).splitlines())
    assert str(found) == repr(found)
    assert lines["graphs"].strip() == "188"
    assert lines["nodes per graph"].strip() == "10 to 28, median 17.5, 17.93 on average"
    assert lines["equal graphs"].strip() == "13 equal an earlier one (11 groups, 24 graphs)"
    assert lines["edges"].strip() == "3,721, undirected, 4 labels"
    assert "least possible error    0.5 (RMSE)" in str(describe(as_graphs([RING, TRIANGLES]), [1.0, 2.0]))
    assert "directed, weighted" in str(describe(small_graphs("weighted")))


@pytest.mark.parametrize("given", [[], [Graph.from_edges([], 0)] * 2, [Graph.from_edges([], 1)] * 2])
def test_empty_batches_and_graphs_are_described(given):
    found = describe(as_graphs(given))
    assert (found.graphs, found.edges, found.graphs_without_edges) == (len(given), 0, len(given))
    assert found.components == found.isolated_nodes == found.nodes
    assert found.equal.duplicates == max(len(given) - 1, 0)
    assert describe(as_graphs(given), [1] * len(given)).equal.best_accuracy == (1.0 if given else None)
    assert "graphs" in str(found)


def test_without_numba_equal_graphs_are_unknown(monkeypatch):
    monkeypatch.setattr(_refinement, "compiled_code_runs", lambda: False)
    found = describe(MUTAG.graphs, MUTAG.y)
    assert found.equal is found.equal_typed is None
    assert found.components == 188
    assert "unknown without numba" in str(found)


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        ([1, 2], "y must have one entry for each of the 9 graphs, but has shape"),
        (3, "y must have one entry for each of the 9 graphs, but has shape"),
        ([0.5] * 8 + [np.nan], "y must be finite; leave out graphs without a target"),
    ],
)
def test_targets_that_do_not_fit_are_refused(y, sentence):
    with pytest.raises(InputError, match=sentence):
        describe(KNOWN, y)
