from __future__ import annotations

import numpy as np
import pytest
from tests.oracles.plain import reference_gram
from tests.tables import FAMILIES, FLOAT64, KERNELS, Tolerance, case, one_hot, scales_of

from fastgntk import GNTK, Compute, Graph, InputError, NodeFeatures, as_graphs, cross_gram, datasets, gram, gram_path
from fastgntk.engines import Extent, _lossless, get_engine

PLAN = Tolerance(relative=1e-8, absolute=1e-12)
LOSSLESS, DECOUPLED = Compute(engine="lossless"), Compute(engine="decoupled")


def ready(engine, batch, kernel):
    """Prepared to the end."""
    prepared = engine.prepare(batch, kernel)
    for task in engine.preparation_tasks(prepared):
        engine.run_task(prepared, task, np.zeros(1, dtype=np.uint8))
    return engine.finish_preparation(prepared)


@pytest.fixture(scope="module")
def molecules():
    graphs = datasets.load("MUTAG").graphs
    return graphs.with_node_scale(scales_of(graphs.n_nodes))


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [GNTK(3, 2), GNTK(5, 1, "degree"), GNTK(3, 1, "unit", False)])
def test_values_do_not_depend_on_the_group_size(kernel, molecules, monkeypatch):
    expected = gram(molecules[:100], kernel, compute=LOSSLESS)
    for width in (1, 20, 100, 10_000):
        monkeypatch.setattr(type(get_engine("lossless")), "max_group_nodes", width)
        with case(width):
            PLAN.check(gram(molecules[:100], kernel, compute=LOSSLESS), expected)


def test_the_order_of_graphs_changes_no_value(molecules):
    order = np.random.default_rng(0).permutation(len(molecules))
    K = gram(molecules, GNTK(4, 1), compute=LOSSLESS)
    PLAN.check(gram(molecules[order], GNTK(4, 1), compute=LOSSLESS), K[np.ix_(order, order)])


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_tile_with_itself_equals_the_tile_with_a_copy(kernel, molecules):
    engine = get_engine("lossless")
    prepared = ready(engine, NodeFeatures().fit_transform(molecules[:40]), KERNELS[kernel])
    group, copy = (engine.build_group(prepared, np.arange(40)) for _ in range(2))
    PLAN.check(engine.tile_readouts(group, group), engine.tile_readouts(group, copy))


def test_a_tile_with_itself_does_half_of_the_work(molecules, monkeypatch):
    seen = []
    original = _lossless.compute_tile
    monkeypatch.setattr(_lossless, "compute_tile", lambda *a: seen.append(a[3]) or original(*a))
    engine = get_engine("lossless")
    prepared = ready(engine, NodeFeatures().fit_transform(molecules[:40]), GNTK(2))
    group, copy = (engine.build_group(prepared, np.arange(40)) for _ in range(2))
    engine.tile_readouts(group, group)
    engine.tile_readouts(group, copy)
    assert seen == [True, False]


@pytest.mark.parametrize("layers", [1, 3])
def test_many_continuous_features(layers):
    rng = np.random.default_rng(0)
    batch = [Graph(np.triu(rng.random((n, n)) < 0.2, 1), rng.standard_normal((n, 70))) for n in (40, 33, 1, 65)]
    batch.append(batch[0])
    kernel = GNTK(3, layers)
    FLOAT64.check(gram(batch, kernel, compute=LOSSLESS), gram(batch, kernel, compute=DECOUPLED))


@pytest.mark.parametrize("features", ["labels", "attributes"])
def test_a_node_with_ten_thousand_neighbours(features):
    leaves = 10_000 if features == "labels" else 600
    edges = [(0, i) for i in range(1, leaves + 1)]
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 3, leaves + 1)
    X = None if features == "labels" else rng.standard_normal((leaves + 1, 4))
    star = Graph.from_edges(edges, leaves + 1, X, labels=kinds if X is None else None)
    small = Graph.from_edges([(0, 1)], 2, None if X is None else X[:2], labels=[0, 1] if X is None else None)
    for scale in ("uniform", "degree", "unit"):
        kernel = GNTK(2, 1, scale)
        K = gram([star, small], kernel, compute=LOSSLESS)
        assert np.isfinite(K).all()
        if features == "attributes":
            FLOAT64.check(K, gram([star, small], kernel, compute=DECOUPLED))
        else:  # all leaves of a kind are one node with a weight; two graphs that differ in counts only
            twin = star_of_kinds(kinds, kernel)
            FLOAT64.check(K[0, 0], twin)


def star_of_kinds(kinds, kernel):
    """The kernel of the star with itself, by the definition on four distinct nodes: the centre and a leaf of each kind.

    A star whose leaves of kind k number n_k has the operator B on distinct nodes: the centre sums n_k times leaf k.
    """
    counts = np.bincount(kinds[1:], minlength=3).astype(float)
    X = np.vstack([np.eye(3)[kinds[0]], np.eye(3)])
    B = np.eye(4)
    B[0, 1:], B[1:, 0] = counts, 1.0
    n = np.concatenate([[1.0], counts])
    sigma = K = X @ X.T
    total = n @ K @ n
    if kernel.scale == "degree":
        B = B / B.sum(axis=1, keepdims=True)
    for _ in range(kernel.blocks):
        sigma, K = B @ sigma @ B.T, B @ K @ B.T
        p = np.sqrt(np.diag(sigma))
        if kernel.scale == "unit":
            sigma, K, p = sigma / np.outer(p, p), K / np.outer(p, p), np.ones(4)
        lam = np.clip(sigma / np.outer(p, p), -1, 1)
        lam[np.abs(lam - 1) < 1e-14] = 1.0
        angle = np.arccos(lam)
        sigma = np.outer(p, p) * (lam * (np.pi - angle) + np.sin(angle)) / np.pi
        K = K * (np.pi - angle) / np.pi + sigma
        total = n @ K @ n + (total if kernel.jump else 0.0)
    return total


def test_sixty_blocks(molecules):
    few = molecules[:6]
    for scale in ("degree", "unit", "uniform"):
        kernel = GNTK(60, 1, scale)
        FLOAT64.check(gram(few, kernel, compute=LOSSLESS), gram(few, kernel, compute=DECOUPLED))


def test_values_beyond_float64_are_refused_with_the_block():
    dense = datasets.synthetic.clique_egos(2, 60, 1).graphs
    with pytest.raises(InputError, match=r"leave the range of float64 at block \d+ of 120; use scale='degree'"):
        gram(dense, GNTK(120, 1), compute=LOSSLESS)


@pytest.mark.parametrize("factor", [1e-160, 1e-20, 1e150])
def test_features_of_any_magnitude(factor):
    small = [Graph.from_edges([(0, 1), (1, 2)], 3, np.array([[1.0, 2.0], [0.5, -1.0], [3.0, 0.1]]))]
    scaled = [Graph.from_edges([(0, 1), (1, 2)], 3, factor * np.array([[1.0, 2.0], [0.5, -1.0], [3.0, 0.1]]))]
    ratio = gram(scaled, GNTK(3, 2), compute=LOSSLESS) / factor / factor
    if factor > 1e-100:
        FLOAT64.check(ratio, gram(small, GNTK(3, 2), compute=LOSSLESS))


@pytest.mark.parametrize("family", FAMILIES)
def test_more_blocks_than_the_diameter_of_the_graph(family):
    batch = FAMILIES[family]
    kernel = GNTK(6, 1)
    FLOAT64.check(gram(batch, kernel, compute=LOSSLESS), reference_gram(batch, one_hot(batch), kernel))


def test_every_depth_comes_from_one_pass(molecules, monkeypatch):
    engine = type(get_engine("lossless"))
    calls = []
    original = engine.tile_readouts
    monkeypatch.setattr(engine, "tile_readouts", lambda self, *a: calls.append(1) or original(self, *a))
    path = gram_path(molecules[:30], GNTK(5, 1), compute=LOSSLESS)
    for_all = len(calls)
    for depth in range(1, 6):
        calls.clear()
        PLAN.check(path.at(blocks=depth), gram(molecules[:30], GNTK(depth, 1), compute=LOSSLESS))
    assert for_all == len(calls)


def test_a_cancelled_tile_returns_at_once(molecules):
    engine = get_engine("lossless")
    prepared = ready(engine, NodeFeatures().fit_transform(molecules[:40]), GNTK(2))
    group = engine.build_group(prepared, np.arange(40))
    expected = engine.tile_readouts(group, group)
    void = engine.tile_readouts(group, group, np.ones(1, dtype=np.uint8))
    assert void.shape == expected.shape
    assert np.array_equal(engine.tile_readouts(group, group, np.zeros(1, dtype=np.uint8)), expected)


def test_tiles_allocate_no_more_than_estimated(molecules):
    import tracemalloc

    rng = np.random.default_rng(0)
    big = [Graph(np.triu(rng.random((500, 500)) < 0.01, 1), rng.standard_normal((500, 3))) for _ in range(2)]
    batch = as_graphs(big)
    gram(batch[:1], GNTK(2), compute=LOSSLESS)
    engine = get_engine("lossless")
    allowed = engine.tile_bytes(Extent(500, 1, 3), Extent(500, 1, 3))
    tracemalloc.start()
    prepared = engine.prepare(batch, GNTK(2))
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    for task in engine.preparation_tasks(prepared):
        engine.run_task(prepared, task, np.zeros(1, dtype=np.uint8))
    assert tracemalloc.get_traced_memory()[1] < kept + allowed
    prepared = engine.finish_preparation(prepared)
    rows, cols = (engine.build_group(prepared, np.array([i])) for i in (0, 1))
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    engine.tile_readouts(rows, cols)
    assert tracemalloc.get_traced_memory()[1] < kept + allowed
    tracemalloc.stop()


def test_empty_graphs_can_form_groups(monkeypatch):
    monkeypatch.setattr(type(get_engine("lossless")), "max_group_nodes", 1)
    batch = FAMILIES["empty graph"]
    FLOAT64.check(gram(batch, compute=LOSSLESS), gram(batch, compute=DECOUPLED))
    assert cross_gram(batch[:1], batch, compute=LOSSLESS).tolist() == [[0.0, 0.0, 0.0]]


def test_unit_scale_does_not_hide_overflow():
    A = np.zeros((4, 4))
    A[0, 1:] = A[1, 2] = A[2, 1] = 1e308
    graph = Graph(A, np.array([[1.0, 0], [0, 1], [0, 1], [1, 1]]), directed=True)
    for engine in ("lossless", "decoupled"):
        with pytest.raises(InputError, match="leave the range of float64"):
            gram([graph], GNTK(1, 1, "unit"), compute=Compute(engine=engine))


def test_degree_scale_divides_by_the_sum_that_was_checked():
    A = np.zeros((3, 3))
    A[0, 1], A[0, 2] = 1e16, -1e16
    graph = Graph(A, np.array([[1.0, 0], [0, 1], [1, 1]]), directed=True)
    FLOAT64.check(
        gram([graph], GNTK(2, 1, "degree"), compute=LOSSLESS), gram([graph], GNTK(2, 1, "degree"), compute=DECOUPLED)
    )


def test_norms_do_not_depend_on_the_division_into_tasks(molecules):
    engine = get_engine("lossless")
    batch = NodeFeatures().fit_transform(molecules)
    one, two = engine.prepare(batch, GNTK(4)), engine.prepare(batch, GNTK(4))
    never = np.zeros(1, dtype=np.uint8)
    engine.run_task(one, (0, len(batch)), never)
    for start in reversed(range(0, len(batch), 7)):
        engine.run_task(two, (start, min(start + 7, len(batch))), never)
    assert np.array_equal(one.table.norms.p_out, two.table.norms.p_out)
    assert np.array_equal(one.table.norms.q, two.table.norms.q)
    assert (one.table.norms.p_out > 0).all()


def test_tasks_cover_every_graph_once(molecules):
    engine = get_engine("lossless")
    prepared = engine.prepare(NodeFeatures().fit_transform(molecules), GNTK(3))
    tasks = engine.preparation_tasks(prepared)
    assert [i for a, b in tasks for i in range(a, b)] == list(range(188))
    assert engine.preparation_tasks(engine.prepare(NodeFeatures().fit_transform(molecules), GNTK(1))) == []


@pytest.mark.parametrize("engine", ["lossless", "decoupled"])
def test_sums_that_cancel_after_the_first_block_are_zero(engine):
    # Node 0 sees ten equal nodes with weight -0.1 each and is twice as long as they are. After one block it equals
    # them, and after two it is 1 - 10 · 0.1, which in floating point is 1e-16 and no direction.
    a = np.array([0.1, 0.7, 0.3])
    A = np.zeros((11, 11))
    A[0, 1:] = -0.1
    graph = Graph(A, np.vstack([2 * a, np.tile(a, (10, 1))]), directed=True)
    K = gram([graph], GNTK(2, 1, "unit", jump=False), compute=Compute(engine=engine))
    FLOAT64.check(K, [[10 * 10 * 3.0]])
