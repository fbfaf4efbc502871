"""Which graphs and which parts of them a report draws."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.report.evaluated import (
    DATA,
)

from fastgntk import Graph, datasets
from fastgntk.models import GNTKRegressor
from fastgntk.report.data._drawings import drawn_part, turn
from fastgntk.report.data._graphs import graph_facts
from fastgntk.report.data._source import Source
from fastgntk.report.data._training import training_facts
from fastgntk.selection._out_of_fold import evaluation_left_out


def test_small_graphs_are_drawn_whole(facts):
    for i in (0, 50, 187):
        graph, drawing = DATA.graphs[i], facts["graphs"][i]["drawing"]
        pairs = {tuple(sorted(e)) for e in zip(drawing["edges"][::2], drawing["edges"][1::2], strict=True)}
        rows = np.repeat(np.arange(graph.n_nodes), graph.degrees)
        assert pairs == {tuple(sorted(e)) for e in zip(rows.tolist(), graph.indices.tolist(), strict=True)}
        assert [facts["node_labels"][k] for k in drawing["labels"]] == [str(label) for label in graph.labels]
        assert (facts["graphs"][i]["nodes"], facts["graphs"][i]["edges"]) == (graph.n_nodes, graph.n_edges)


def test_of_large_graphs_the_busy_middle_is_drawn():
    hub = [(0, i) for i in range(1, 301)]
    tail = [(i, i + 1) for i in range(300, 4999)]
    part = drawn_part(Graph.from_edges(hub + tail, 5000))
    assert len(part.nodes) == 150
    assert 0 in part.nodes
    assert 300 in part.nodes  # the one neighbour of the hub with a neighbour of its own
    assert len(part.edges) >= 149  # it hangs together


def test_what_is_drawn_hangs_together_as_far_as_it_can():
    """A star of 200 leaves has the busiest node; triangles apart from it have busier ones than its leaves."""
    star = [(0, i) for i in range(1, 201)]
    triangles = [(u, v) for a in range(201, 501, 3) for u, v in ((a, a + 1), (a + 1, a + 2), (a, a + 2))]
    part = drawn_part(Graph.from_edges(star + triangles, 501))
    assert len(part.nodes) == 150
    assert part.nodes.max() <= 200
    assert len(part.edges) == 149
    few = drawn_part(Graph.from_edges([(0, i) for i in range(1, 11)] + triangles, 501))
    assert set(range(11)) <= set(few.nodes.tolist())
    assert len(few.nodes) == 150


def test_of_many_edges_a_tree_is_kept():
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    clique = [(i, j) for i in range(60) for j in range(i)]
    tail = [(i, i + 1) for i in range(59, 99)]  # the last edges, and each of them is needed
    part = drawn_part(Graph.from_edges(clique + tail, 100))
    assert len(part.edges) == 400
    assert len({tuple(e) for e in part.edges.tolist()}) == 400
    matrix = coo_array((np.ones(400), tuple(part.edges.T)), shape=(100, 100))
    assert connected_components(matrix, directed=False)[0] == 1


def test_wrong_ones_are_drawn_first_then_an_even_spread():
    wrong = np.zeros(100, dtype=bool)
    wrong[[17, 90]] = True
    order = turn(wrong, 100).tolist()
    assert order[:2] == [17, 90]
    assert sorted(order) == list(range(100))
    first = np.sort(order[2:12])
    assert np.diff(first).max() <= 20
    assert first[-1] >= 80
    assert turn(np.ones(3, dtype=bool), 3).tolist() == [0, 1, 2]
    assert turn(np.zeros(1, dtype=bool), 1).tolist() == [0]


def test_drawings_keep_to_a_number_of_bytes(result):
    numbers = np.unique(DATA.y, return_inverse=True)[1]
    left_out = evaluation_left_out(DATA.graphs, numbers, result, workers=1)
    wrong = left_out.said != numbers
    said = left_out.said.tolist()
    source = Source.of(DATA)
    every, _, none = graph_facts(source, left_out, numbers.tolist(), said, wrong)
    assert not none
    some, _, told = graph_facts(source, left_out, numbers.tolist(), said, wrong, bytes_left=60_000)
    assert len(json.dumps(some, separators=(",", ":"))) < 60_000
    drawn = [i for i, g in enumerate(some) if "drawing" in g]
    assert 0 < len(drawn) < 188
    assert f"{len(drawn)} of 188 graphs are drawn" in told[0]
    assert set(np.flatnonzero(wrong).tolist()) <= set(drawn) or set(drawn) <= set(np.flatnonzero(wrong).tolist())
    assert some[drawn[0]]["drawing"] == every[drawn[0]]["drawing"]


def test_without_time_few_shares_are_told(result):
    numbers = np.unique(DATA.y, return_inverse=True)[1]
    left_out = evaluation_left_out(DATA.graphs, numbers, result, workers=1)
    some, _, told = graph_facts(
        Source.of(DATA), left_out, numbers.tolist(), left_out.said.tolist(), left_out.said != numbers, seconds=0.0
    )
    with_shares = sum("shares" in g["drawing"] for g in some)
    assert 0 < with_shares < 188
    assert f"computed for {with_shares} of the 188 graphs" in told[0]


def test_molecules_have_places_and_orders(tmp_path):
    pytest.importorskip("rdkit")
    path = tmp_path / "some.csv"
    path.write_text(
        "smiles,y\n" + "".join(f"{s},{i}\n" for i, s in enumerate(["C=CC#N", "CCO", "c1ccccc1C", "CC(=O)O"] * 3))
    )
    data = datasets.read_table(path, target="y")
    model = GNTKRegressor(1, 1, ridge=1e-1).fit(data.graphs, data.y)
    drawing = training_facts(data, model)["graphs"][0]["drawing"]
    assert len(drawing["places"]) == 8
    edges = dict(zip(zip(drawing["edges"][::2], drawing["edges"][1::2], strict=True), drawing["orders"], strict=True))
    assert edges == {(0, 1): 2.0, (1, 2): 1.0, (2, 3): 3.0}
    xy = np.array(drawing["places"]).reshape(-1, 2)
    lengths = [np.linalg.norm(xy[u] - xy[v]) for u, v in edges]
    np.testing.assert_allclose(lengths, 1.5, atol=0.2)
