"""The sketched engine: the kernel of a sketched operator, the same by every route, and what it falls back to."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from tests.oracles.operators import operator_gram_levels
from tests.tables import EXACT, FAMILIES, FLOAT64, KERNELS, SKETCHED, case, scales_of

import fastgntk as fg
from fastgntk import GNTK, Compute, Sketch
from fastgntk.engines import _sketched, _sketched_level
from fastgntk.engines._sketched import Sketched
from fastgntk.graphs import content_keys
from fastgntk.sketch import SKETCHES
from fastgntk.sketch._matrices import padded_size

pytestmark = pytest.mark.usefixtures("one_blas_thread")

PAPER = {"merge_nodes": False, "sketch_features": True}
WAYS = {"default": {}, "merged": {"sketch_features": True}, "all nodes": {"merge_nodes": False}, "paper": PAPER}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
MOLECULES = fg.datasets.load("MUTAG").graphs[:6]
LARGER = list(MOLECULES.with_node_scale(scales_of(MOLECULES.n_nodes)))
DECOUPLED = Compute(engine="decoupled")


def prepared_batch(graphs):
    return fg.NodeFeatures().fit_transform(fg.as_graphs(graphs))


def parts_by_hand(one, kernel, n_types):
    """Â as one matrix, or with typed edges as one for the node itself and for each type."""
    A, itself = one.adjacency().toarray(), kernel.self_weight * np.eye(one.n_nodes)
    if kernel.scale == "symmetric":
        D = (A + itself).sum(axis=1)
        A, itself = A / np.sqrt(np.outer(D, D)), itself / np.sqrt(np.outer(D, D))
    if kernel.edges == "plain":
        return [A + itself]
    parts = [itself] + [np.zeros_like(A) for _ in range(n_types)]
    for u in range(one.n_nodes):
        for k in range(one.indptr[u], one.indptr[u + 1]):
            parts[1 + one.edge_labels[k]][u, one.indices[k]] = A[u, one.indices[k]]
    return parts


def colours_by_hand(one, parts, depth, *, uses_node_scale, residual=False):
    """Colour refinement in plain Python, numbered by first node; weights, types and scales, if given, count."""
    X = one.features.toarray() if sparse.issparse(one.features) else np.asarray(one.features)
    keys = [tuple(row) for row in (X + 0.0).tolist()]
    levels = []
    for _ in range(depth + 1):
        numbers: dict = {}
        colours = [numbers.setdefault(key, len(numbers)) for key in keys]
        levels.append(colours)
        keys = [
            (
                one.node_scale[u] if uses_node_scale else 0.0,
                levels[0][u] if residual else 0,
                *sorted((r, part[u, v], colours[v]) for r, part in enumerate(parts) for v in np.flatnonzero(part[u])),
            )
            for u in range(one.n_nodes)
        ]
    return levels


def sketched_operators(one, kernel, sketch, n_types):
    """Write out Â SᵀS, or E Q D^(−½) SᵀS D^(½) E⁺ for distinct nodes, as (N, N) matrices."""
    N = one.n_nodes
    parts = parts_by_hand(one, kernel, n_types)
    b = sketch.rows(N)
    levels = [list(range(N))] * (kernel.blocks + 1)
    if sketch.merge_nodes:
        levels = colours_by_hand(
            one, parts, kernel.blocks, uses_node_scale=kernel.scale == "given", residual=kernel.residual > 0
        )
    out = []
    for block in range(1, kernel.blocks + 1):
        below = np.array(levels[block - 1], dtype=int)
        distinct, first = np.unique(below, return_index=True)
        if b is None or len(distinct) <= b or (block == 1 and not sketch.sketch_features):
            out.append(parts)
            continue
        S = sketch.draw(N, b, content_keys(one).tobytes(), block).dense()[:, first]
        counts = np.bincount(below)
        E = (below[:, None] == distinct).astype(float)  # (N, m)
        weigh = np.sqrt(counts)
        # Rows of one colour of this level aggregate like their first node.
        representative = [levels[block].index(c) for c in levels[block]]
        B = [(part @ E)[representative] / weigh @ S.T @ S * weigh @ (E / counts).T for part in parts]
        out.append([np.where(np.abs(part) < 1e-12, 0.0, part) for part in B])  # what cancels in real numbers
    return out


def expected_levels(batch, kernel, sketch):
    operators, scales, features = [], [], []
    n_types = 0 if batch.edge_labels is None else 1 + int(batch.edge_labels.max(initial=-1))
    for i in range(len(batch)):
        one = batch[i : i + 1]
        operators.append(sketched_operators(one, kernel, sketch, n_types))
        sums = one.adjacency().toarray().sum(axis=1) + kernel.self_weight
        scale = {
            "uniform": np.ones(len(sums)),
            "symmetric": np.ones(len(sums)),  # in the operator
            "degree": 1.0 / np.where(sums == 0, 1.0, sums),
            "unit": None,
            "given": one.node_scale,
        }
        scales.append(scale[kernel.scale])
        features.append(one.features.toarray() if sparse.issparse(one.features) else np.asarray(one.features))
    levels = operator_gram_levels(operators, scales, features, kernel)
    sizes = np.maximum(batch.sizes, 1) if kernel.pool == "mean" else np.ones(len(batch))
    return levels / np.outer(sizes, sizes)


@pytest.mark.filterwarnings("ignore::fastgntk.NotSketchedWarning")  # families have graphs of one node
@pytest.mark.parametrize("kernel", KERNELS)
def test_values_are_the_exact_kernel_of_the_sketched_operator(kernel):
    # Every pair of kernel, family, kind of sketch and way is in some row; kinds and ways take turns along families.
    k = list(KERNELS).index(kernel)
    kinds, ways = list(SKETCHES), list(WAYS)
    for i, family in enumerate([*FAMILIES, "molecules"]):
        kind, way = kinds[(i + 2 * k) % len(kinds)], ways[(i + k) % len(ways)]
        batch = prepared_batch(FAMILIES.get(family, LARGER))
        sketch = Sketch(kind, 0.6 if family != "molecules" else 7, seed=1, **WAYS[way])
        with case(family, kind, way):
            levels = fg.gram_path(batch, replace(KERNELS[kernel], sketch=sketch)).levels
            SKETCHED.check(levels, expected_levels(batch, KERNELS[kernel], sketch))


@every_way
def test_a_fresh_sketch_for_each_block(way):
    batch, kernel = prepared_batch(LARGER), GNTK(blocks=3)
    sketch = Sketch("ams", 0.2, fresh_each_block=True, **way)
    levels = fg.gram_path(batch, replace(kernel, sketch=sketch)).levels
    SKETCHED.check(levels, expected_levels(batch, kernel, sketch))
    once = fg.gram_path(batch, replace(kernel, sketch=Sketch("ams", 0.2, **way))).levels
    assert not np.allclose(levels[3], once[3])


@pytest.mark.slow
@every_way
@pytest.mark.parametrize("kind", ["ams", "countsketch"])
@pytest.mark.parametrize("patch", [(7, 11), (11, 7)])
def test_values_do_not_depend_on_patches_and_groups(patch, kind, way, monkeypatch):
    kernel = GNTK(blocks=2, sketch=Sketch(kind, 0.3, **way))
    expected = fg.gram(LARGER, kernel)
    for module in (_sketched, _sketched_level):
        monkeypatch.setattr(module, "PATCH_ROWS", patch[0])
        monkeypatch.setattr(module, "PATCH_COLS", patch[1])
    FLOAT64.check(fg.gram(LARGER, kernel), expected)
    monkeypatch.setattr(Sketched, "max_group_nodes", 30)
    FLOAT64.check(fg.gram(LARGER, kernel), expected)


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("kind", SKETCHES)
def test_sketched_gram_is_positive_semi_definite(kind, rate):
    graphs = fg.datasets.load("MUTAG").graphs[:30]
    for name, way in WAYS.items():
        with case(name):
            K = fg.gram(graphs, GNTK(sketch=Sketch(kind, rate, **way)))
            assert np.array_equal(K, K.T)
            values = np.linalg.eigvalsh(K)
            assert values[0] >= -1e-10 * values[-1]


@pytest.mark.parametrize("merge_nodes", [True, False])
def test_srht_at_full_padded_size_is_exact(merge_nodes, monkeypatch):
    graphs = fg.datasets.synthetic.erdos_renyi(3, 45, 0.5).graphs
    exact = fg.gram(graphs, GNTK(blocks=3), compute=DECOUPLED)
    # Otherwise a graph, or a level with few distinct nodes, is exact without a sketch.
    monkeypatch.setattr(_sketched, "sketch_rows", lambda batch, kernel: padded_sizes(batch))
    monkeypatch.setattr(_sketched._SketchedGraph, "_sketch_matrix", always_sketch)
    sketch = Sketch("srht", merge_nodes=merge_nodes, sketch_features=True)
    full = fg.gram(graphs, GNTK(blocks=3, sketch=sketch))
    np.testing.assert_allclose(full, exact, rtol=1e-8)


def padded_sizes(batch):
    return np.array([padded_size(n) for n in batch.sizes.tolist()])


def always_sketch(self, level, below):
    first, counts = below
    S = self._sketch.draw(self._size, self._b, self._key, level).dense()
    return S[:, first] * np.sqrt(counts)


@pytest.mark.slow
@pytest.mark.parametrize("merge_nodes", [True, False])
def test_levels_are_unbiased_up_to_the_first_norm(merge_nodes):
    """The sketched operator is Q in expectation, so the mean over seeds of what it does tends to what Q does."""
    one = prepared_batch(LARGER[:1])
    exact = one.adjacency().toarray() + np.eye(one.n_nodes)
    kernel = GNTK(blocks=1)
    way = {"merge_nodes": merge_nodes, "sketch_features": True}
    draws = [sketched_operators(one, kernel, Sketch("ams", 2, s, **way), 0)[0][0] for s in range(3_000)]
    X = one.features.toarray()
    mean = np.mean([B @ X for B in draws], axis=0)
    error = np.std([B @ X for B in draws], axis=0) / np.sqrt(len(draws))
    assert (np.abs(mean - exact @ X) <= 5 * error + 1e-12).all()
    assert error.max() > 0


def test_merging_nodes_reduces_the_variance():
    one = prepared_batch(LARGER[:1])
    kernel = GNTK(blocks=1)
    exact = (one.adjacency().toarray() + np.eye(one.n_nodes)) @ one.features.toarray()

    def spread(merge_nodes):
        way = {"merge_nodes": merge_nodes, "sketch_features": True}
        drawn = [sketched_operators(one, kernel, Sketch("ams", 2, s, **way), 0)[0][0] for s in range(400)]
        found = [B @ one.features.toarray() for B in drawn]
        return np.mean([np.sum((f - exact) ** 2) for f in found])

    assert spread(True) < 0.7 * spread(False)


def test_the_sketch_of_a_graph_is_the_same_in_every_batch_and_call():
    graphs, kernel = fg.datasets.load("MUTAG").graphs, GNTK(blocks=2, sketch=Sketch(size=0.4, seed=7))
    K = fg.gram(graphs[:30], kernel)
    assert np.array_equal(fg.gram(graphs[:30], kernel, compute=Compute(n_jobs=1)), K)
    FLOAT64.check(fg.gram(graphs[10:30], kernel), K[10:, 10:])
    FLOAT64.check(fg.cross_gram(graphs[20:30], graphs[:20], kernel), K[20:, :20])
    FLOAT64.check(fg.diagonal(graphs[:30], kernel), np.diagonal(K))
    train = fg.prepare(graphs[:20], kernel)
    FLOAT64.check(fg.cross_gram(graphs[20:30], train), K[20:, :20])
    assert not np.allclose(fg.gram(graphs[:30], kernel.set_params(sketch__seed=8)), K)


def test_prepared_small_graphs_meet_larger_ones_as_in_one_matrix():
    small = [fg.Graph.from_edges([(0, 1), (1, 2)], 3, labels=[0, 1, 0])] * 2
    large = [fg.Graph.from_edges([(i, (i + 1) % 9) for i in range(9)], 9, labels=[0, 1, 1] * 3)]
    kernel = GNTK(sketch=Sketch(size=5))
    with pytest.warns(fg.NotSketchedWarning, match="2 of 3 graphs; these are computed exactly"):
        K = fg.gram([*small, *large], kernel)
    with pytest.warns(fg.NotSketchedWarning, match="2 of 2 graphs"):
        train = fg.prepare(small, kernel)
    FLOAT64.check(fg.cross_gram(large, train), K[2:, :2])


def test_a_size_of_all_nodes_falls_back_to_an_exact_engine_with_a_warning():
    graphs = fg.datasets.load("MUTAG").graphs[:20]
    exact = fg.gram(graphs)
    with pytest.warns(fg.NotSketchedWarning, match="sketch size 1000 is not below the number of nodes of 20 of 20"):
        assert np.array_equal(fg.gram(graphs, GNTK(sketch=Sketch(size=1000))), exact)
    with pytest.warns(fg.NotSketchedWarning, match="sketch size 1.0"):
        cost = fg.estimate_cost(graphs, GNTK(sketch=Sketch(size=1.0)))
    assert cost.engine != "sketched"
    assert "all is exact" in cost.leaves[0].reason


def test_one_block_is_exact_unless_features_are_sketched():
    kernel = GNTK(blocks=1)
    exact = fg.gram(LARGER, kernel, compute=DECOUPLED)
    FLOAT64.check(fg.gram(LARGER, replace(kernel, sketch=Sketch(size=2))), exact)
    features_too = fg.gram(LARGER, replace(kernel, sketch=Sketch(size=2, sketch_features=True)))
    assert not np.allclose(features_too, exact, rtol=0.1)


def test_wide_sparse_features_stay_sparse_and_are_right():
    rng = np.random.default_rng(0)
    ring = [(i, (i + 1) % 40) for i in range(40)]
    graphs = [fg.Graph.from_edges(ring, 40, labels=rng.integers(0, 400, 40)) for _ in range(3)]
    FLOAT64.check(
        fg.gram(graphs, GNTK(blocks=1, sketch=Sketch(size=5))),
        fg.gram(graphs, GNTK(blocks=1), compute=DECOUPLED),
    )


@pytest.mark.filterwarnings("ignore::fastgntk.NotSketchedWarning")  # small graphs, so that all is exact
def test_cancellation_in_a_later_block_is_zero_too():
    # After one block all nodes are the same unit vector. In the second, node 0 sums to 1 minus weights that sum to 1,
    # a remainder of rounding that must not become a unit vector again: the other nodes are left.
    x = np.array([[0.6, 0.8]])
    others = fg.Graph(np.zeros((6, 6)), np.repeat(x, 6, axis=0))
    for seed in range(20):
        parts = np.random.default_rng(seed).random(6)
        adjacency = np.zeros((7, 7))
        adjacency[0, 1:] = -parts / parts.sum()
        graph = fg.Graph(adjacency, np.concatenate([3 * x, np.repeat(x, 6, axis=0)]), directed=True)
        ready = fg.prepare([graph, others], GNTK(2, 1, "unit", False, sketch=Sketch(size=9)))
        K = fg.cross_gram([graph, others], ready)
        FLOAT64.check(K, np.full((2, 2), K[1, 1]))


def test_identical_graphs_have_identical_rows():
    g = fg.datasets.load("MUTAG").graphs[0]
    K = fg.gram([g, g], GNTK(sketch=Sketch(size=4)))
    EXACT.check(K, np.full((2, 2), K[0, 0]))


def test_a_kernel_without_a_sketch_is_never_sketched():
    large = fg.datasets.synthetic.erdos_renyi(2, 400, 0.5).graphs
    assert fg.estimate_cost(large).engine != "sketched"
    assert fg.estimate_cost(large, GNTK(sketch=Sketch())).engine == "sketched"


# Every kind of sketch with every way; rates take turns.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "way", "rate"),
    [
        (kind, way, (0.05, 0.3, 0.8)[(i + j) % 3])
        for i, kind in enumerate(["ams", "srht", "countsketch"])
        for j, way in enumerate(WAYS)
    ],
)
def test_memory_stays_below_the_estimate(kind, way, rate):
    batch = prepared_batch(fg.datasets.synthetic.erdos_renyi(2, 400, 0.5).graphs)
    sketch = Sketch(kind, rate, **WAYS[way])
    engine, kernel = Sketched(sketch), GNTK(blocks=2)
    prepared = engine.prepare(batch, kernel)
    engine.tile_readouts(*[engine.build_group(prepared, np.array([i])) for i in (0, 1)])  # loads and compiles
    cost = fg.estimate_cost(batch, replace(kernel, sketch=sketch), compute=Compute(n_jobs=1))
    tracemalloc.start()
    try:
        engine.tile_readouts(*[engine.build_group(prepared, np.array([i])) for i in (0, 1)])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < cost.bytes < 6 * peak


def test_prepared_graphs_warn_about_new_graphs_too():
    graphs = fg.datasets.load("MUTAG").graphs
    train = fg.prepare(graphs[:3], GNTK(sketch=Sketch(size=12)))
    tiny = fg.Graph.from_edges([(0, 1)], 2, labels=[0, 0])
    with pytest.warns(fg.NotSketchedWarning, match="1 of 1 graphs"):
        fg.cross_gram([tiny], train)


@pytest.mark.parametrize("engine", ["lossless", "decoupled", "kronecker"])
def test_an_exact_engine_is_refused_for_a_kernel_with_a_sketch(engine):
    graphs, kernel = fg.datasets.load("MUTAG").graphs[:2], GNTK(2, sketch=Sketch(size=3))
    words = rf"engine='{engine}' computes exact kernels, but GNTK\(blocks=2, sketch=.* has a sketch; use engine='auto'"
    for call in (
        fg.gram,
        fg.diagonal,
        fg.gram_path,
        fg.prepare,
        fg.estimate_cost,
        lambda *a, **o: fg.cross_gram(a[0], *a, **o),
    ):
        with pytest.raises(fg.InputError, match=words):
            call(graphs, kernel, compute=Compute(engine=engine))


def test_another_sketch_for_prepared_graphs_is_refused():
    graphs = fg.datasets.load("MUTAG").graphs[:2]
    train = fg.prepare(graphs, GNTK(sketch=Sketch(size=0.5)))
    with pytest.raises(fg.InputError, match=r"but the kernel is .* leave it out"):
        fg.cross_gram(graphs, train, GNTK(sketch=Sketch("srht", size=0.5)))


def test_memory_is_bounded_where_all_pairs_of_nodes_would_not_fit():
    graphs = fg.datasets.synthetic.erdos_renyi(2, 1500, 0.1).graphs
    pairs = 8 * 1500 * 1500
    kernel = GNTK(blocks=2, sketch=Sketch(size=20))
    cost = fg.estimate_cost(graphs, kernel, compute=Compute(n_jobs=1))
    exact = fg.estimate_cost(graphs, GNTK(blocks=2), compute=Compute("decoupled", n_jobs=1))
    assert cost.bytes < 2.5 * pairs < exact.bytes
    with pytest.raises(fg.InputError, match="max_memory=1 MB is too small"):
        fg.gram(graphs, kernel, compute=Compute(max_memory="1MB"))


def test_a_cancelled_tile_returns_at_once():
    engine = Sketched(Sketch())
    prepared = engine.prepare(prepared_batch(LARGER), GNTK(blocks=2))
    group = engine.build_group(prepared, np.arange(6))
    cancelled = np.ones(1, dtype=np.uint8)
    assert not engine.tile_readouts(group, group, cancelled)[1:].any()
    assert engine.tile_readouts(group, group, np.zeros(1, dtype=np.uint8))[1:].all()


def test_dense_products_do_not_depend_on_the_chunk_size(monkeypatch):
    graphs = fg.datasets.synthetic.erdos_renyi(2, 60, 0.6).graphs
    kernel = GNTK(blocks=2, sketch=Sketch(size=9))
    expected = fg.gram(graphs, kernel)
    for module in (_sketched, _sketched_level):
        monkeypatch.setattr(module, "PATCH_COLS", 25)
    FLOAT64.check(fg.gram(graphs, kernel), expected)


@pytest.mark.slow
def test_evaluate_takes_a_kernel_with_a_sketch():
    data = fg.datasets.load("MUTAG")

    def evaluated(size, seed):
        sketch = Sketch(size=size, seed=seed)
        base = GNTK(sketch=sketch)
        axes = {"blocks": (2,), "layers": (1,), "scale": ("degree",), "jump": (True,), "normalize": (True,)}
        grid = fg.selection.Grid(**axes, C=(10.0,), base=base)
        folds = [i % 3 for i in range(188)]
        found = fg.selection.evaluate(
            data, kernels=grid, cv=fg.selection.CrossValidation(folds=folds), compute=Compute(n_jobs=1)
        )
        assert found.engine == "sketched"
        assert {choice.kernel.leaves()[0].sketch for choice in found.choices} == {sketch}
        return found

    small, other, large = evaluated(2, 0), evaluated(2, 1), evaluated(0.7, 0)
    assert len({small.accuracies, other.accuracies, large.accuracies}) == 3
    assert large.mean > max(0.7, small.mean)
