"""The kernel between nodes: the definition pair by pair, whatever the memory and the chosen columns."""

from __future__ import annotations

import numpy as np
import pytest
from tests.tables import ALL_SPECS, FAMILIES, FLOAT64, SPECS, Tolerance

from fastgntk import GNTK, Graph, GraphBatch, InputError, NodeFeatures, datasets, gram, node_gram
from fastgntk.engines import _node_pairs, get_engine
from fastgntk.pairwise import node_diagonal

# κ0 near λ = −1 makes of an ulp a 1e-8, and here nothing larger is added to it.
ONE_PAIR = Tolerance(relative=1e-7, absolute=2e-8)


def pair_by_pair(graph, spec):
    """All levels of all pairs of nodes by another engine, each node read out as a graph of its own."""
    engine = get_engine("decoupled")
    batch = NodeFeatures().fit_transform(GraphBatch.from_graphs([graph]))
    block = engine.node_block(engine.finish(engine.prepare(batch, spec)), batch)
    return np.einsum("l,luv->uv", np.array(spec.level_weights), engine.tile(block, block))


@pytest.mark.parametrize("panel", [2, 512])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("spec", ALL_SPECS.values(), ids=ALL_SPECS)
def test_it_is_the_kernel_of_every_pair_and_adds_up_to_that_of_the_graph(spec, family, panel, monkeypatch):
    monkeypatch.setattr(_node_pairs, "_PANEL", panel)
    for graph in FAMILIES[family]:
        K = node_gram(graph, spec)
        ONE_PAIR.check(K, pair_by_pair(graph, spec))
        FLOAT64.check(K.sum(), gram([graph], spec)[0, 0])


@pytest.mark.parametrize("spec", ["the default", "typed edges", "unit, jump"])
def test_columns_are_those_of_the_whole_in_the_order_asked_for(spec):
    graph = datasets.load("MUTAG").graphs[0]
    whole = node_gram(graph, SPECS[spec])
    for nodes in ([3], [5, 1, 5, 0], np.arange(17) % 3 == 0, []):
        FLOAT64.check(node_gram(graph, SPECS[spec], nodes=nodes), whole[:, nodes if len(nodes) else slice(0)])
    FLOAT64.check(node_diagonal(graph, SPECS[spec], nodes=[4, 2]), whole.diagonal()[[4, 2]])


@pytest.mark.parametrize("workers", [1, 3])
def test_little_memory_and_more_workers_change_nothing(workers):
    graph = datasets.synthetic.erdos_renyi(1, 150, 0.03).graphs[0]
    spec = GNTK(3, 1, "degree")
    seen = []
    small = node_gram(graph, spec, memory="1.5MB", workers=workers, progress=lambda done, total: seen.append(total))
    FLOAT64.check(small, node_gram(graph, spec))
    assert seen[0] > 5  # pieces
    with pytest.raises(InputError, match=r"memory=.* is too small: the norms of 150 nodes, and the result, take"):
        node_gram(graph, spec, memory="300kB")


def test_it_works_without_compiled_code(monkeypatch):
    graph = datasets.load("MUTAG").graphs[0]
    expected = node_gram(graph)
    monkeypatch.setattr(_node_pairs, "compiled_code_runs", lambda: False)
    FLOAT64.check(node_gram(graph), expected)


def test_what_does_not_fit_is_refused():
    graph = datasets.load("MUTAG").graphs[0]
    for nodes, words in (
        ([17], r"nodes must lie in 0\.\.16, but 17 came"),
        ([0.5], "whole numbers or a mask"),
        (np.ones(3, dtype=bool), "mask of nodes has 3 entries, but the graph has 17 nodes"),
    ):
        with pytest.raises(InputError, match=words):
            node_gram(graph, nodes=nodes)
    with pytest.raises(InputError, match="must be one graph, but 2 came"):
        node_gram(datasets.load("MUTAG").graphs[:2])
    with pytest.raises(InputError, match="needs edge labels"):
        node_gram(Graph.from_edges([(0, 1)], 2), GNTK(edges="typed"))
    with pytest.raises(InputError, match="leave the range of float64"):
        node_gram(Graph.from_edges([(0, 1)], 2, np.array([[1e200], [1e200]])))
