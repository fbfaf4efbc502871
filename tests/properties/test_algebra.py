"""Properties of the kernel on all graphs: symmetry, positive semi-definiteness, invariance, additivity."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.tables import (
    ALL_ENGINES,
    ENGINES,
    EXACT,
    FAMILIES,
    FLOAT64,
    KERNELS,
    LEAVES,
    by_engine,
    case,
    covering,
    every_row,
    joined,
)

from fastgntk import GNTK, WLOA, Graph, as_graphs, diagonal, gram, gram_path

every_kernel = pytest.mark.parametrize("kernel", LEAVES)


@pytest.mark.slow
@every_kernel
def test_symmetric_finite_and_positive_semidefinite(kernel):
    for engine, family in every_row(ALL_ENGINES, kernel, list(FAMILIES)):
        with case(engine, family):
            K = gram(FAMILIES[family], **by_engine(engine, LEAVES[kernel]))
            assert np.isfinite(K).all()
            assert np.array_equal(K, K.T)
            assert np.linalg.eigvalsh(K).min() >= -FLOAT64.relative * max(K.trace(), 0.0)


def _permuted(graph: Graph, order: np.ndarray) -> Graph:
    place = np.argsort(order)
    rows = np.repeat(np.arange(graph.n_nodes), graph.degrees)
    return Graph.from_edges(
        np.column_stack([place[rows], place[graph.indices]]),
        graph.n_nodes,
        None if graph.features is None else graph.features[order],
        weights=graph.weights,
        labels=None if graph.labels is None else graph.labels[order],
        edge_labels=graph.edge_labels,
        directed=True,
        node_scale=None if graph.node_scale is None else graph.node_scale[order],
    )


@pytest.mark.slow
@every_kernel
def test_node_order_does_not_matter(kernel):
    rng = np.random.default_rng(5)
    for engine, family in covering(ENGINES, kernel, list(FAMILIES)):
        graphs = FAMILIES[family]
        shuffled = [_permuted(g, rng.permutation(g.n_nodes)) for g in graphs]
        how = by_engine(engine, LEAVES[kernel])
        with case(engine, family):
            FLOAT64.check(gram(shuffled, **how), gram(graphs, **how))


@pytest.mark.slow
@pytest.mark.parametrize(
    "kernel", [k for k, leaf in LEAVES.items() if leaf.pool == "sum" and not isinstance(leaf, WLOA)]
)
def test_disjoint_union_adds(kernel):
    for engine, family in covering(ENGINES, kernel, list(FAMILIES)):
        graphs = FAMILIES[family]
        n = len(graphs)
        with case(engine, family):
            K = gram([*graphs, joined(graphs)], **by_engine(engine, LEAVES[kernel]))
            FLOAT64.check(K[:n, n], K[:n, :n].sum(axis=1))
            FLOAT64.check(K[n, n], K[:n, :n].sum())


@pytest.mark.parametrize("engine", ALL_ENGINES)
def test_mean_pooling_divides_by_the_numbers_of_nodes(engine):
    mean = KERNELS["mean pooling"]
    for family in ("path", "empty graph", "weighted"):
        graphs = FAMILIES[family]
        sizes = np.maximum([graph.n_nodes for graph in graphs], 1)
        how, summed = by_engine(engine, mean), by_engine(engine, replace(mean, pool="sum"))
        with case(family):
            EXACT.check(gram(graphs, **how), gram(graphs, **summed) / np.outer(sizes, sizes))
            EXACT.check(gram_path(graphs, **how).levels, gram_path(graphs, **summed).levels / np.outer(sizes, sizes))
            EXACT.check(diagonal(graphs, **how), diagonal(graphs, **summed) / sizes**2)


@pytest.mark.slow
@pytest.mark.parametrize("factor", [0.01, 3.0, 1e6])
@pytest.mark.parametrize("kernel", [name for name, kernel in KERNELS.items() if kernel.scale != "unit"])
def test_scaled_features_scale_the_kernel_by_the_square(kernel, factor):
    families = ["continuous features", "weighted", "directed", "cancellation", "zero features"]
    for engine, family in covering(ALL_ENGINES, kernel, families):
        graphs = as_graphs(FAMILIES[family])
        graphs = graphs.with_sketch_keys(range(len(graphs)))  # otherwise other features are another sketch
        scaled = graphs.with_features(factor * graphs.features)
        how = by_engine(engine, KERNELS[kernel])
        with case(engine, family):
            FLOAT64.check(gram(scaled, **how), factor**2 * gram(graphs, **how))


@pytest.mark.parametrize(("whole", "tenths"), [((1, 2, -3), (0.1, 0.2, -0.3)), ((7, 1, -8), (0.7, 0.1, -0.8))])
@pytest.mark.parametrize("engine", ALL_ENGINES)
def test_unit_scale_does_not_blow_up_the_remainder_of_a_cancelled_sum(engine, whole, tenths):
    # 0.1 + 0.2 − 0.3 is 5.6e-17 in floating point; its direction is noise and must not become a unit vector.
    assert sum(tenths) != 0 == sum(whole)
    path, keys = [(0, 1), (1, 2)], {"sketch_key": "path"}  # graphs of other features have other sketches
    other = Graph.from_edges([(0, 1)], 2, np.array([[2.0], [1.0]]), sketch_key="other")
    exact, rounded = (Graph.from_edges(path, 3, np.array([values]).T, **keys) for values in (whole, tenths))
    how = by_engine(engine, KERNELS["unit, deep layers"])
    FLOAT64.check(gram([rounded, other], **how), gram([exact, other], **how))


@pytest.mark.parametrize("factor", [1e-160, 1e-130, 1e150])
def test_unit_scale_ignores_the_size_of_features(factor):
    graphs = FAMILIES["continuous features"]
    scaled = [Graph(g.adjacency, factor * g.features) for g in graphs]
    kernel = KERNELS["unit, deep layers"]
    FLOAT64.check(gram(scaled, kernel), gram(graphs, kernel))


@pytest.mark.parametrize("engine", ENGINES)
def test_cancellation_in_a_later_block_is_zero_too(engine):
    # Node 1 sums itself minus node 0. Its features are three times those of node 0, so that after one block both are
    # the same unit vector up to rounding, and after the second node 1 is nothing: node 0 alone is left.
    how = by_engine(engine, GNTK(2, 1, "unit", False))
    for seed in range(20):
        x = np.random.default_rng(seed).standard_normal((1, 3))
        pair = Graph(np.array([[0, 0], [-1, 0]]), np.concatenate([x, 3 * x]), directed=True)
        alone = Graph(np.zeros((1, 1)), x)
        K = gram([pair, alone], **how)
        FLOAT64.check(K, np.full((2, 2), K[1, 1]))


def test_small_sums_that_are_no_remainder_keep_their_direction():
    # Both nodes sum to (0, 1e-9), which "unit" makes (0, 1): λ = 1 for all four pairs, each of which gives κ0 + κ1 = 2.
    graph = Graph.from_edges([(0, 1)], 2, np.array([[1.0, 0.0], [-1.0, 1e-9]]))
    FLOAT64.check(gram([graph], GNTK(1, 1, "unit", False)), [[8.0]])


@pytest.mark.parametrize("engine", ENGINES)
def test_node_of_norm_zero_contributes_nothing(engine):
    features = np.array([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]])
    scale = np.array([0.5, 3.0, 2.0])
    # Node 2 is isolated and zero.
    with_zero = Graph.from_edges([(0, 1)], 3, features, edge_labels=[5], node_scale=scale)
    without = Graph.from_edges([(0, 1)], 2, features[:2], edge_labels=[5], node_scale=scale[:2])
    for kernel in KERNELS.values():
        K = gram([with_zero, without], **by_engine(engine, kernel))
        share = 2 / 3 if kernel.pool == "mean" else 1.0  # in a mean, it still counts as a node
        EXACT.check(K[0, 0], share**2 * K[1, 1])
        EXACT.check(K[0, 1], share * K[1, 1])
