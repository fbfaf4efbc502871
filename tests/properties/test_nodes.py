"""The rows of a graph's nodes add up to its row, and each is what a plain recursion gives for that node."""

from __future__ import annotations

import numpy as np
import pytest
from tests.oracles.plain import node_shares as reference_shares
from tests.tables import ALL_ENGINES, ENGINES, FAMILIES, FLOAT64, SKETCHED, SPECS, one_hot

from fastgntk import GNTK, Graph, InputError, as_graphs, cross_gram, datasets, node_shares, prepare
from fastgntk.pairwise import node_shares_in_chunks


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_node_has_its_share(family, spec, engine):
    some = FAMILIES[family]
    rows = one_hot(some)
    for g, graph in enumerate(some):
        expected = np.zeros((graph.n_nodes, len(some)))
        for h, other in enumerate(some):
            expected[:, h] = reference_shares(graph, rows[g], other, rows[h], spec)
        FLOAT64.check(node_shares(graph, some, spec, engine=engine), expected)


@pytest.mark.parametrize("options", [{}, {"merge_nodes": False}, {"sketch_features": True}], ids=str)
@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_sketched_shares_add_up_and_are_equal_for_equal_nodes(spec, options):
    # A star of a clique: leaves are equal nodes, and everything is larger than its sketch.
    edges = [(i, j) for i in range(6) for j in range(i)] + [(0, k) for k in range(6, 20)]
    graph = Graph.from_edges(edges, 20, labels=[0] * 6 + [1] * 14, edge_labels=[i % 3 for i in range(15)] + [1] * 14)
    train = prepare([graph, *datasets.load("MUTAG").graphs[:3]], spec, engine="sketched", sketch_size=4, **options)
    shares = node_shares(graph, train)
    SKETCHED.check(shares.sum(axis=0), cross_gram([graph], train)[0])
    if options != {"merge_nodes": False}:
        SKETCHED.check(shares[6:], np.broadcast_to(shares[6], (14, 4)))


@pytest.mark.parametrize("engine", ALL_ENGINES)
def test_rows_of_many_tiles_are_in_their_places(engine, monkeypatch):
    from fastgntk.engines import get_engine

    monkeypatch.setattr(type(get_engine(engine)), "width", 40)
    batch = datasets.load("MUTAG").graphs[: 4 if engine == "kronecker" else 12]
    options = {"sketch_size": 5} if engine == "sketched" else {}
    train = prepare(batch, GNTK(blocks=2), engine=engine, **options)
    shares = node_shares(batch[2], train)
    SKETCHED.check(shares.sum(axis=0), cross_gram(batch[2:3], train)[0])


def test_what_does_not_fit_is_refused():
    some = FAMILIES["path"]
    with pytest.raises(InputError, match="graph must be one graph, but 2 came"):
        node_shares(some, some)
    with pytest.raises(InputError, match="are those of the prepared graphs; leave them out"):
        node_shares(some[0], prepare(some, GNTK(1)), GNTK(2))


@pytest.mark.parametrize("engine", ["lossless", "decoupled", "sketched"])
@pytest.mark.parametrize("nodes", [1, 40, 10_000])
def test_shares_of_many_graphs_are_those_of_one_at_a_time(engine, nodes):
    batch = datasets.load("MUTAG").graphs
    some = as_graphs([*batch[:7], Graph.from_edges([], 0, labels=[]), batch[9]])
    options = {"sketch_size": 4} if engine == "sketched" else {}
    cols = prepare(batch[20:40], GNTK(2, 2, "degree"), engine=engine, **options)
    seen = 0
    for part, rows in node_shares_in_chunks(some, cols, nodes=nodes):
        assert part.start == seen
        expected = [node_shares(some[i : i + 1], cols) for i in range(part.start, part.stop)]
        FLOAT64.check(rows, np.concatenate(expected))
        seen = part.stop
    assert seen == len(some)
