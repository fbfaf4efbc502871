"""Drawings of graphs: which graphs and which subgraphs are drawn."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.report.mutag import DATA, ONE_JOB

from fastgntk import GNTK, Graph, GraphRegressor, datasets
from fastgntk.report.data._drawings import select_subgraph
from fastgntk.report.data._graphs import Source, drawing_order, graph_data
from fastgntk.report.data._training import training_data
from fastgntk.selection import evaluation_out_of_fold

pytestmark = pytest.mark.slow


def test_small_graphs_are_drawn_completely(report):
    for i in (0, 50, 187):
        graph, drawing = DATA.graphs[i], report["graphs"][i]["drawing"]
        pairs = {tuple(sorted(e)) for e in zip(drawing["edges"][::2], drawing["edges"][1::2], strict=True)}
        rows = np.repeat(np.arange(graph.n_nodes), graph.degrees)
        assert pairs == {tuple(sorted(e)) for e in zip(rows.tolist(), graph.indices.tolist(), strict=True)}
        assert [report["node_labels"][k] for k in drawing["labels"]] == [str(label) for label in graph.labels]
        assert (report["graphs"][i]["nodes"], report["graphs"][i]["edges"]) == (graph.n_nodes, graph.n_edges)


def test_large_graphs_are_drawn_around_their_hub():
    hub = [(0, i) for i in range(1, 301)]
    tail = [(i, i + 1) for i in range(300, 4999)]
    nodes, edges = select_subgraph(Graph.from_edges(hub + tail, 5000))
    assert len(nodes) == 150
    assert 0 in nodes
    assert 300 in nodes  # the one neighbour of the hub with a neighbour of its own
    assert len(edges) >= 149  # connected


def test_subgraph_drawn_is_connected_if_possible():
    """The hub of a star has the largest degree; nodes of separate triangles have larger degrees than its leaves."""
    star = [(0, i) for i in range(1, 201)]
    triangles = [(u, v) for a in range(201, 501, 3) for u, v in ((a, a + 1), (a + 1, a + 2), (a, a + 2))]
    nodes, edges = select_subgraph(Graph.from_edges(star + triangles, 501))
    assert len(nodes) == 150
    assert nodes.max() <= 200
    assert len(edges) == 149
    nodes, _ = select_subgraph(Graph.from_edges([(0, i) for i in range(1, 11)] + triangles, 501))
    assert set(range(11)) <= set(nodes.tolist())
    assert len(nodes) == 150


def test_dense_graphs_keep_a_spanning_tree():
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    clique = [(i, j) for i in range(60) for j in range(i)]
    tail = [(i, i + 1) for i in range(59, 99)]  # the last edges, and each of them is needed
    _, edges = select_subgraph(Graph.from_edges(clique + tail, 100))
    assert len(edges) == 400
    assert len({tuple(e) for e in edges.tolist()}) == 400
    matrix = coo_array((np.ones(400), tuple(edges.T)), shape=(100, 100))
    assert connected_components(matrix, directed=False)[0] == 1


def test_wrong_predictions_are_drawn_first_then_an_even_spread():
    wrong = np.zeros(100, dtype=bool)
    wrong[[17, 90]] = True
    order = drawing_order(wrong).tolist()
    assert order[:2] == [17, 90]
    assert sorted(order) == list(range(100))
    first = np.sort(order[2:12])
    assert np.diff(first).max() <= 20
    assert first[-1] >= 80
    assert drawing_order(np.ones(3, dtype=bool)).tolist() == [0, 1, 2]
    assert drawing_order(np.zeros(1, dtype=bool)).tolist() == [0]


def test_drawings_respect_the_size_limit(result):
    numbers = np.unique(DATA.y, return_inverse=True)[1]
    out_of_fold = evaluation_out_of_fold(DATA.graphs, numbers, result, compute=ONE_JOB)
    wrong = out_of_fold.predicted != numbers
    predicted = out_of_fold.predicted.tolist()
    source = Source.from_data(DATA)
    every, _, no_warnings = graph_data(source, out_of_fold, numbers.tolist(), predicted, wrong)
    assert not no_warnings
    some, _, warnings = graph_data(source, out_of_fold, numbers.tolist(), predicted, wrong, max_bytes=60_000)
    assert len(json.dumps(some, separators=(",", ":"))) < 60_000
    drawn = [i for i, g in enumerate(some) if "drawing" in g]
    assert 0 < len(drawn) < 188
    assert f"{len(drawn)} of 188 graphs are drawn" in warnings[0]
    assert set(np.flatnonzero(wrong).tolist()) <= set(drawn) or set(drawn) <= set(np.flatnonzero(wrong).tolist())
    assert some[drawn[0]]["drawing"] == every[drawn[0]]["drawing"]


def test_contributions_respect_the_time_limit(result):
    numbers = np.unique(DATA.y, return_inverse=True)[1]
    out_of_fold = evaluation_out_of_fold(DATA.graphs, numbers, result, compute=ONE_JOB)
    some, _, warnings = graph_data(
        Source.from_data(DATA),
        out_of_fold,
        numbers.tolist(),
        out_of_fold.predicted.tolist(),
        out_of_fold.predicted != numbers,
        seconds=0.0,
    )
    explained = sum("contributions" in g["drawing"] for g in some)
    assert 0 < explained < 188
    assert f"computed for {explained} of the 188 graphs" in warnings[0]


def test_molecules_have_positions_and_bond_orders(tmp_path):
    pytest.importorskip("rdkit")
    path = tmp_path / "some.csv"
    path.write_text(
        "smiles,y\n" + "".join(f"{s},{i}\n" for i, s in enumerate(["C=CC#N", "CCO", "c1ccccc1C", "CC(=O)O"] * 3))
    )
    data = datasets.read_table(path, target="y")
    model = GraphRegressor(GNTK(1, 1), alpha=1e-1).fit(data.graphs, data.y)
    drawing = training_data(data, model)["graphs"][0]["drawing"]
    assert len(drawing["positions"]) == 8
    edges = dict(zip(zip(drawing["edges"][::2], drawing["edges"][1::2], strict=True), drawing["orders"], strict=True))
    assert edges == {(0, 1): 2.0, (1, 2): 1.0, (2, 3): 3.0}
    xy = np.array(drawing["positions"]).reshape(-1, 2)
    lengths = [np.linalg.norm(xy[u] - xy[v]) for u, v in edges]
    np.testing.assert_allclose(lengths, 1.5, atol=0.2)
