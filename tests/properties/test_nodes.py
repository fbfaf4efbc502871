"""The rows of a graph's nodes add up to its row, and each is the value of a plain recursion for that node."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.oracles import plain_subtree
from tests.oracles.plain import node_contributions as reference_contributions
from tests.tables import (
    ALL_ENGINES,
    ENGINES,
    EXACT,
    FAMILIES,
    FLOAT64,
    KERNELS,
    OTHER_KERNELS,
    SKETCHED,
    by_engine,
    case,
    one_hot,
    scales_of,
    takes,
)

from fastgntk import (
    GNTK,
    Compute,
    Graph,
    InputError,
    Sketch,
    as_graphs,
    cross_gram,
    datasets,
    node_contributions,
    prepare,
)
from fastgntk.engines import get_engine
from fastgntk.pairwise import node_contributions_in_chunks


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_contributions_are_those_of_the_definition(kernel):
    for family, some in FAMILIES.items():
        rows = one_hot(some)
        for g, graph in enumerate(some):
            expected = np.zeros((graph.n_nodes, len(some)))
            for h, other in enumerate(some):
                expected[:, h] = reference_contributions(graph, rows[g], other, rows[h], kernel)
            # One engine for each graph of a family in turn; families have two to four graphs.
            for engine in (ENGINES[g % 3], ENGINES[(g + 1) % 3]):
                with case(engine, family, g):
                    FLOAT64.check(node_contributions(graph, some, **by_engine(engine, kernel)), expected)


@pytest.mark.parametrize("kernel", OTHER_KERNELS.values(), ids=OTHER_KERNELS)
def test_contributions_to_kernels_on_colours_are_those_of_the_definition(kernel):
    for family in filter(lambda name: takes(kernel, name), FAMILIES):
        graphs = FAMILIES[family]
        for g, graph in enumerate(graphs):
            expected = [plain_subtree.node_contributions(graph, other, kernel) for other in graphs]
            with case(family, g):
                EXACT.check(node_contributions(graph, graphs, kernel), np.transpose(expected))


@pytest.mark.parametrize("options", [{}, {"merge_nodes": False}, {"sketch_features": True}], ids=str)
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_sketched_contributions_add_up_and_are_equal_for_equal_nodes(kernel, options):
    # A star of a clique: leaves are equal nodes, and everything is larger than its sketch.
    edges = [(i, j) for i in range(6) for j in range(i)] + [(0, k) for k in range(6, 20)]
    edge_labels = [i % 3 for i in range(15)] + [1] * 14
    scale = [0.5, 2.0] * 3 + [1.5] * 14
    graph = Graph.from_edges(edges, 20, labels=[0] * 6 + [1] * 14, edge_labels=edge_labels, node_scale=scale)
    sketched = replace(kernel, sketch=Sketch(size=4, **options))
    molecules = datasets.load("MUTAG").graphs[:3]
    train = prepare([graph, *molecules.with_node_scale(scales_of(molecules.n_nodes))], sketched)
    contributions = node_contributions(graph, train)
    SKETCHED.check(contributions.sum(axis=0), cross_gram([graph], train)[0])
    if options != {"merge_nodes": False}:
        SKETCHED.check(contributions[6:], np.broadcast_to(contributions[6], (14, 4)))


@pytest.mark.parametrize("engine", ALL_ENGINES)
def test_rows_of_many_tiles_are_in_their_places(engine, monkeypatch):
    monkeypatch.setattr(type(get_engine(engine)), "max_group_nodes", 40)
    batch = datasets.load("MUTAG").graphs[: 4 if engine == "kronecker" else 12]
    sketch = Sketch(size=5) if engine == "sketched" else None
    train = prepare(batch, **by_engine(engine, GNTK(blocks=2, sketch=sketch)))
    contributions = node_contributions(batch[2], train)
    SKETCHED.check(contributions.sum(axis=0), cross_gram(batch[2:3], train)[0])


def test_several_graphs_and_another_kernel_are_refused():
    some = FAMILIES["path"]
    with pytest.raises(InputError, match="graph must be one graph, but 2 graphs were given"):
        node_contributions(some, some)
    with pytest.raises(InputError, match=r"prepared for GNTK\(blocks=1\), but the kernel is GNTK\(blocks=2\); leave"):
        node_contributions(some[0], prepare(some, GNTK(1)), GNTK(2))


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["lossless", "decoupled", "sketched"])
@pytest.mark.parametrize("nodes", [1, 40, 10_000])
def test_contributions_of_many_graphs_are_those_of_one_at_a_time(engine, nodes):
    batch = datasets.load("MUTAG").graphs
    some = as_graphs([*batch[:7], Graph.from_edges([], 0, labels=[]), batch[9]])
    sketch = Sketch(size=4) if engine == "sketched" else None
    cols = prepare(batch[20:40], **by_engine(engine, GNTK(2, 2, "degree", sketch=sketch)))
    seen = 0
    for part, rows in node_contributions_in_chunks(some, cols, nodes=nodes):
        assert part.start == seen
        expected = [node_contributions(some[i : i + 1], cols) for i in range(part.start, part.stop)]
        FLOAT64.check(rows, np.concatenate(expected))
        seen = part.stop
    assert seen == len(some)


@pytest.mark.parametrize("kernel", [GNTK(2) + GNTK(1), GNTK(2) * GNTK(1, features="degree"), GNTK(2).normalized()])
def test_contributions_to_a_combination_come_one_graph_at_a_time(kernel):
    batch = datasets.load("MUTAG").graphs
    cols = prepare(batch[20:30], kernel, compute=Compute(engine="lossless"))
    parts = list(node_contributions_in_chunks(batch[:3], cols))
    assert [part for part, _ in parts] == [slice(i, i + 1) for i in range(3)]
    for part, rows in parts:
        FLOAT64.check(rows.sum(axis=0), cross_gram(batch[part], cols)[0])
