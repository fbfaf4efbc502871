"""The kernel between nodes: the definition pair by pair, for any memory limit and choice of columns."""

from __future__ import annotations

import numpy as np
import pytest
from tests.tables import ALL_KERNELS, FAMILIES, FLOAT64, KERNELS, Tolerance, case

from fastgntk import GNTK, Compute, Graph, GraphBatch, InputError, NodeFeatures, Sketch, datasets, gram, node_gram
from fastgntk.engines import _node_kernel, get_engine
from fastgntk.pairwise import node_diagonal

# κ0 near λ = −1 makes of an ulp a 1e-8, and here nothing larger is added to it.
ONE_PAIR = Tolerance(relative=1e-7, absolute=2e-8)


def pair_by_pair(graph, kernel):
    """All levels of all pairs of nodes by another engine, each node read out as a graph of its own."""
    engine = get_engine("decoupled")
    batch = NodeFeatures().fit_transform(GraphBatch.from_graphs([graph]))
    group = engine.build_nodes(engine.finish_preparation(engine.prepare(batch, kernel)), batch)
    values = np.einsum("l,luv->uv", np.array(kernel.level_weights), engine.tile_readouts(group, group))
    return values / graph.n_nodes**2 if kernel.pool == "mean" and graph.n_nodes else values


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ALL_KERNELS.values(), ids=ALL_KERNELS)
def test_node_gram_is_the_kernel_of_every_pair_and_adds_up_to_that_of_the_graph(kernel, monkeypatch):
    for family, graphs in FAMILIES.items():
        for graph in graphs:
            expected, total = pair_by_pair(graph, kernel), gram([graph], kernel)[0, 0]
            for panel in (2, 512):
                monkeypatch.setattr(_node_kernel, "_PANEL", panel)
                with case(family, panel):
                    K = node_gram(graph, kernel)
                    ONE_PAIR.check(K, expected)
                    FLOAT64.check(K.sum(), total)


@pytest.mark.parametrize("kernel", ["the default", "typed edges", "unit, jump"])
def test_columns_are_those_of_the_whole_in_the_given_order(kernel):
    graph = datasets.load("MUTAG").graphs[0]
    whole = node_gram(graph, KERNELS[kernel])
    for nodes in ([3], [5, 1, 5, 0], np.arange(17) % 3 == 0, []):
        FLOAT64.check(node_gram(graph, KERNELS[kernel], nodes=nodes), whole[:, nodes if len(nodes) else slice(0)])
    FLOAT64.check(node_diagonal(graph, KERNELS[kernel], nodes=[4, 2]), whole.diagonal()[[4, 2]])


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_little_memory_and_more_threads_change_nothing(n_jobs):
    graph = datasets.synthetic.erdos_renyi(1, 150, 0.03).graphs[0]
    kernel = GNTK(3, 1, "degree")
    seen = []
    little = Compute(max_memory="1.5MB", n_jobs=n_jobs, progress=lambda done, total: seen.append(total))
    small = node_gram(graph, kernel, compute=little)
    FLOAT64.check(small, node_gram(graph, kernel))
    assert seen[0] > 5  # pieces
    with pytest.raises(InputError, match=r"max_memory=.* is too small: the norms of 150 nodes, and the result, take"):
        node_gram(graph, kernel, compute=Compute(max_memory="300kB"))


def test_node_gram_without_compiled_code_is_the_same(monkeypatch):
    graph = datasets.load("MUTAG").graphs[0]
    expected = node_gram(graph)
    monkeypatch.setattr(_node_kernel, "compiled_code_runs", lambda: False)
    FLOAT64.check(node_gram(graph), expected)


def test_bad_nodes_graphs_and_kernels_are_refused():
    graph = datasets.load("MUTAG").graphs[0]
    for nodes, words in (
        ([17], r"nodes must lie in 0\.\.16, but 17 was given"),
        ([0.5], "integers or a mask"),
        (np.ones(3, dtype=bool), "mask of nodes has 3 entries, but the graph has 17 nodes"),
    ):
        with pytest.raises(InputError, match=words):
            node_gram(graph, nodes=nodes)
    with pytest.raises(InputError, match="must be one graph, but 2 graphs were given"):
        node_gram(datasets.load("MUTAG").graphs[:2])
    with pytest.raises(InputError, match="needs edge labels"):
        node_gram(Graph.from_edges([(0, 1)], 2), GNTK(edges="typed"))
    with pytest.raises(InputError, match="leave the range of float64"):
        node_gram(Graph.from_edges([(0, 1)], 2, np.array([[1e200], [1e200]])))
    for kernel in (GNTK() + GNTK(2), GNTK().normalized(), GNTK(sketch=Sketch())):
        with pytest.raises(
            InputError, match="the kernel between nodes must be one GNTK or NNGP without a sketch, but is"
        ):
            node_gram(graph, kernel)
