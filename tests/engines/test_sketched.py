"""The sketched engine: the kernel of a sketched operator, the same by every route, and what it falls back to."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from tests.oracles.operators import operator_gram_levels
from tests.tables import EXACT, FAMILIES, FLOAT64, SKETCHED, SPECS

import fastgntk as fg
from fastgntk.engines import _sketched
from fastgntk.engines._operator import degree_sums
from fastgntk.engines._sketched import Sketched, _content
from fastgntk.sketch import SKETCHES, Sketching
from fastgntk.sketch._hadamard import padded_size

PAPER = {"merge_nodes": False, "sketch_features": True}
WAYS = {"default": {}, "merged": {"sketch_features": True}, "all nodes": {"merge_nodes": False}, "paper": PAPER}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
LARGER = list(fg.datasets.load("MUTAG").graphs[:6])


def prepared_batch(graphs):
    return fg.NodeFeatures().fit_transform(fg.as_graphs(graphs))


def parts_by_hand(one, spec, n_types):
    """Â as one matrix, or with typed edges as one for the node itself and for each type."""
    A, itself = one.adjacency().toarray(), np.eye(one.n_nodes)
    if spec.edges == "plain":
        return [A + itself]
    parts = [itself] + [np.zeros_like(A) for _ in range(n_types)]
    for u in range(one.n_nodes):
        for k in range(one.indptr[u], one.indptr[u + 1]):
            parts[1 + one.edge_labels[k]][u, one.indices[k]] = A[u, one.indices[k]]
    return parts


def colours_by_hand(one, parts, depth):
    """Colour refinement in plain Python, numbered by first node; weights and types count."""
    X = one.features.toarray() if sparse.issparse(one.features) else np.asarray(one.features)
    keys = [tuple(row) for row in (X + 0.0).tolist()]
    levels = []
    for _ in range(depth + 1):
        numbers: dict = {}
        colours = [numbers.setdefault(key, len(numbers)) for key in keys]
        levels.append(colours)
        keys = [
            tuple(sorted((r, part[u, v], colours[v]) for r, part in enumerate(parts) for v in np.flatnonzero(part[u])))
            for u in range(one.n_nodes)
        ]
    return levels


def sketched_operators(one, spec, sketching, n_types):
    """Write out Â SᵀS, or E Q D^(−½) SᵀS D^(½) E⁺ for distinct nodes, as (N, N) matrices."""
    N = one.n_nodes
    parts = parts_by_hand(one, spec, n_types)
    b = sketching.rows(N)
    levels = [list(range(N))] * (spec.blocks + 1)
    if sketching.merge_nodes:
        levels = colours_by_hand(one, parts, spec.blocks)
    out = []
    for block in range(1, spec.blocks + 1):
        below = np.array(levels[block - 1], dtype=int)
        distinct, first = np.unique(below, return_index=True)
        if b is None or len(distinct) <= b or (block == 1 and not sketching.sketch_features):
            out.append(parts)
            continue
        S = sketching.draw(N, b, _content(one), block).dense()[:, first]
        counts = np.bincount(below)
        E = (below[:, None] == distinct).astype(float)  # (N, m)
        weigh = np.sqrt(counts)
        # Rows of one colour of this level aggregate like their first node.
        representative = [levels[block].index(c) for c in levels[block]]
        B = [(part @ E)[representative] / weigh @ S.T @ S * weigh @ (E / counts).T for part in parts]
        out.append([np.where(np.abs(part) < 1e-12, 0.0, part) for part in B])  # what cancels in real numbers
    return out


def expected_levels(batch, spec, sketching):
    operators, scales, features = [], [], []
    n_types = 0 if batch.edge_labels is None else 1 + int(batch.edge_labels.max(initial=-1))
    for i in range(len(batch)):
        one = batch[i : i + 1]
        operators.append(sketched_operators(one, spec, sketching, n_types))
        sums = degree_sums(one)
        scales.append({"uniform": np.ones(len(sums)), "degree": 1.0 / sums, "unit": None}[spec.scale])
        features.append(one.features.toarray() if sparse.issparse(one.features) else np.asarray(one.features))
    return operator_gram_levels(operators, scales, features, spec)


def options_of(sketching):
    options = sketching.to_dict()
    options["sketch_size"] = options.pop("size")
    return options


@pytest.mark.filterwarnings("ignore::fastgntk.NotSketchedWarning")  # families have graphs of one node
@every_way
@pytest.mark.parametrize("sketch", SKETCHES)
@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("family", [*FAMILIES, "molecules"])
def test_it_is_the_exact_kernel_of_the_sketched_operator(family, spec, sketch, way):
    batch = prepared_batch(FAMILIES.get(family, LARGER))
    sketching = Sketching(sketch, 0.6 if family != "molecules" else 7, seed=1, **way)
    path = fg.gram_path(batch, SPECS[spec], engine="sketched", **options_of(sketching))
    SKETCHED.check(path.levels, expected_levels(batch, SPECS[spec], sketching))


@every_way
def test_a_fresh_sketch_for_each_block(way):
    batch, spec = prepared_batch(LARGER), fg.GNTK(blocks=3)
    sketching = Sketching("ams", 0.2, fresh_each_block=True, **way)
    levels = fg.gram_path(batch, spec, engine="sketched", **options_of(sketching)).levels
    SKETCHED.check(levels, expected_levels(batch, spec, sketching))
    once = fg.gram_path(batch, spec, engine="sketched", sketch_size=0.2, **way).levels
    assert not np.allclose(levels[3], once[3])


@every_way
@pytest.mark.parametrize("sketch", ["ams", "countsketch"])
@pytest.mark.parametrize("patch", [(7, 11), (11, 7)])
def test_patches_and_blocks_change_nothing(patch, sketch, way, monkeypatch):
    spec = fg.GNTK(blocks=2)
    options = {"engine": "sketched", "sketch": sketch, "sketch_size": 0.3, **way}
    expected = fg.gram(LARGER, spec, **options)
    monkeypatch.setattr(_sketched, "_PATCH_ROWS", patch[0])
    monkeypatch.setattr(_sketched, "_PATCH_COLS", patch[1])
    FLOAT64.check(fg.gram(LARGER, spec, **options), expected)
    monkeypatch.setattr(Sketched, "width", 30)
    FLOAT64.check(fg.gram(LARGER, spec, **options), expected)


@pytest.mark.parametrize("sketch", SKETCHES)
@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
@every_way
def test_it_is_positive_semi_definite(sketch, rate, way):
    graphs = fg.datasets.load("MUTAG").graphs[:40]
    K = fg.gram(graphs, engine="sketched", sketch=sketch, sketch_size=rate, **way)
    assert np.array_equal(K, K.T)
    values = np.linalg.eigvalsh(K)
    assert values[0] >= -1e-10 * values[-1]


@pytest.mark.parametrize("merge_nodes", [True, False])
def test_srht_at_full_padded_size_is_exact(merge_nodes, monkeypatch):
    graphs = fg.datasets.synthetic.erdos_renyi(3, 45, 0.5).graphs
    exact = fg.gram(graphs, fg.GNTK(blocks=3), engine="decoupled")
    monkeypatch.setattr(Sketching, "rows", lambda self, n: padded_size(n))
    if merge_nodes:  # otherwise a level with few distinct nodes is exact without a sketch
        monkeypatch.setattr(_sketched._Graph, "_sketch", always_sketch)
    options = {"sketch": "srht", "merge_nodes": merge_nodes, "sketch_features": True}
    full = fg.gram(graphs, fg.GNTK(blocks=3), engine="sketched", **options)
    np.testing.assert_allclose(full, exact, rtol=1e-8)


def always_sketch(self, level, below):
    first, counts = below
    S = self._sketching.draw(self._size, padded_size(self._size), self._content, level).dense()
    return S[:, first] * np.sqrt(counts)


@pytest.mark.parametrize("merge_nodes", [True, False])
def test_levels_are_unbiased_up_to_the_first_norm(merge_nodes):
    """The sketched operator is Q in expectation, so the mean over seeds of what it does tends to what Q does."""
    one = prepared_batch(LARGER[:1])
    exact = one.adjacency().toarray() + np.eye(one.n_nodes)
    spec = fg.GNTK(blocks=1)
    way = {"merge_nodes": merge_nodes, "sketch_features": True}
    draws = [sketched_operators(one, spec, Sketching("ams", 2, s, **way), 0)[0][0] for s in range(3_000)]
    X = one.features.toarray()
    mean = np.mean([B @ X for B in draws], axis=0)
    error = np.std([B @ X for B in draws], axis=0) / np.sqrt(len(draws))
    assert (np.abs(mean - exact @ X) <= 5 * error + 1e-12).all()
    assert error.max() > 0


def test_merged_nodes_spread_less_than_all_nodes():
    one = prepared_batch(LARGER[:1])
    spec = fg.GNTK(blocks=1)
    exact = (one.adjacency().toarray() + np.eye(one.n_nodes)) @ one.features.toarray()

    def spread(merge_nodes):
        way = {"merge_nodes": merge_nodes, "sketch_features": True}
        drawn = [sketched_operators(one, spec, Sketching("ams", 2, s, **way), 0)[0][0] for s in range(400)]
        found = [B @ one.features.toarray() for B in drawn]
        return np.mean([np.sum((f - exact) ** 2) for f in found])

    assert spread(True) < 0.7 * spread(False)


def test_the_sketch_of_a_graph_is_the_same_in_every_batch_and_call():
    graphs, spec = fg.datasets.load("MUTAG").graphs, fg.GNTK(blocks=2)
    features = fg.NodeFeatures().fit(graphs[:30])
    options = {"engine": "sketched", "sketch_size": 0.4, "seed": 7, "features": features}
    K = fg.gram(graphs[:30], spec, **options)
    assert np.array_equal(fg.gram(graphs[:30], spec, workers=1, **options), K)
    FLOAT64.check(fg.gram(graphs[10:30], spec, **options), K[10:, 10:])
    FLOAT64.check(fg.cross_gram(graphs[20:30], graphs[:20], spec, **options), K[20:, :20])
    FLOAT64.check(fg.diagonal(graphs[:30], spec, **options), np.diagonal(K))
    train = fg.prepare(graphs[:20], spec, **options)
    FLOAT64.check(fg.cross_gram(graphs[20:30], train), K[20:, :20])
    assert not np.allclose(fg.gram(graphs[:30], spec, **options | {"seed": 8}), K)


def test_prepared_small_graphs_meet_larger_ones_as_in_one_matrix():
    small = [fg.Graph.from_edges([(0, 1), (1, 2)], 3, labels=[0, 1, 0])] * 2
    large = [fg.Graph.from_edges([(i, (i + 1) % 9) for i in range(9)], 9, labels=[0, 1, 1] * 3)]
    options = {"engine": "sketched", "sketch_size": 5}
    with pytest.warns(fg.NotSketchedWarning, match="2 of 3 graphs; these are computed exactly"):
        K = fg.gram([*small, *large], **options)
    with pytest.warns(fg.NotSketchedWarning, match="2 of 2 graphs"):
        train = fg.prepare(small, **options)
    FLOAT64.check(fg.cross_gram(large, train), K[2:, :2])


def test_a_size_of_all_nodes_falls_back_to_an_exact_engine_and_says_so():
    graphs = fg.datasets.load("MUTAG").graphs[:20]
    exact = fg.gram(graphs)
    with pytest.warns(fg.NotSketchedWarning, match="sketch_size=1000 is not below the number of nodes of 20 of 20"):
        assert np.array_equal(fg.gram(graphs, engine="sketched", sketch_size=1000), exact)
    with pytest.warns(fg.NotSketchedWarning, match="sketch_size=1.0"):
        plan = fg.forecast(graphs, engine="sketched", sketch_size=1.0)
    assert plan.engine != "sketched"
    assert "all is exact" in plan.reason


def test_one_block_is_exact_unless_features_are_sketched():
    spec = fg.GNTK(blocks=1)
    exact = fg.gram(LARGER, spec, engine="decoupled")
    FLOAT64.check(fg.gram(LARGER, spec, engine="sketched", sketch_size=2), exact)
    assert not np.allclose(
        fg.gram(LARGER, spec, engine="sketched", sketch_size=2, sketch_features=True), exact, rtol=0.1
    )


def test_wide_sparse_features_stay_sparse_and_are_right():
    rng = np.random.default_rng(0)
    ring = [(i, (i + 1) % 40) for i in range(40)]
    graphs = [fg.Graph.from_edges(ring, 40, labels=rng.integers(0, 400, 40)) for _ in range(3)]
    FLOAT64.check(
        fg.gram(graphs, fg.GNTK(blocks=1), engine="sketched", sketch_size=5),
        fg.gram(graphs, fg.GNTK(blocks=1), engine="decoupled"),
    )


def test_the_sketch_depends_on_which_nodes_are_joined():
    hexagon = fg.Graph.from_edges([(i, (i + 1) % 6) for i in range(6)], 6)
    triangles = fg.Graph.from_edges([(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)], 6)
    weighted = fg.Graph.from_edges([(i, (i + 1) % 6) for i in range(6)], 6, weights=np.full(6, 2.0))
    contents = [_content(fg.as_graphs([g])) for g in (hexagon, triangles, weighted)]
    assert len(set(contents)) == 3
    assert _content(fg.as_graphs([triangles, hexagon])[1:2]) == contents[0]


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
        ready = fg.prepare([graph, others], fg.GNTK(2, 1, "unit", False), engine="sketched", sketch_size=9)
        K = fg.cross_gram([graph, others], ready)
        FLOAT64.check(K, np.full((2, 2), K[1, 1]))


def test_identical_graphs_have_identical_rows():
    g = fg.datasets.load("MUTAG").graphs[0]
    K = fg.gram([g, g], engine="sketched", sketch_size=4)
    EXACT.check(K, np.full((2, 2), K[0, 0]))


def test_auto_never_sketches():
    large = fg.datasets.synthetic.erdos_renyi(2, 400, 0.5).graphs
    assert fg.forecast(large).engine != "sketched"


@pytest.mark.parametrize("rate", [0.05, 0.3, 0.8])
@pytest.mark.parametrize("sketch", ["ams", "srht", "countsketch"])
@every_way
def test_memory_stays_below_the_estimate(sketch, rate, way):
    batch = prepared_batch(fg.datasets.synthetic.erdos_renyi(2, 400, 0.5).graphs)
    engine, spec = Sketched(Sketching(sketch, rate, **way)), fg.GNTK(blocks=2)
    prepared = engine.prepare(batch, spec)
    engine.tile(*[engine.block(prepared, np.array([i])) for i in (0, 1)])  # loads and compiles
    plan = fg.forecast(batch, spec, engine="sketched", sketch=sketch, sketch_size=rate, workers=1, **way)
    tracemalloc.start()
    try:
        engine.tile(*[engine.block(prepared, np.array([i])) for i in (0, 1)])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < plan.bytes < 6 * peak


def test_prepared_graphs_warn_about_new_graphs_too():
    graphs = fg.datasets.load("MUTAG").graphs
    train = fg.prepare(graphs[:3], engine="sketched", sketch_size=12)
    tiny = fg.Graph.from_edges([(0, 1)], 2, labels=[0, 0])
    with pytest.warns(fg.NotSketchedWarning, match="1 of 1 graphs"):
        fg.cross_gram([tiny], train)


def test_options_of_a_sketch_need_the_sketched_engine():
    graphs = fg.datasets.load("MUTAG").graphs[:2]
    with pytest.raises(
        fg.InputError, match=r"sketch='ams', sketch_size=3 needs engine='sketched', but engine is 'auto'"
    ):
        fg.gram(graphs, sketch="ams", sketch_size=3)
    with pytest.raises(TypeError, match="'skech'"):
        fg.gram(graphs, engine="sketched", skech="ams")
    train = fg.prepare(graphs, engine="sketched", sketch_size=0.5)
    with pytest.raises(fg.InputError, match="leave them out"):
        fg.cross_gram(graphs, train, sketch="ams")


def test_memory_is_bounded_where_all_pairs_of_nodes_would_not_fit():
    graphs = fg.datasets.synthetic.erdos_renyi(2, 1500, 0.1).graphs
    pairs = 8 * 1500 * 1500
    options = {"engine": "sketched", "sketch_size": 20}
    plan = fg.forecast(graphs, fg.GNTK(blocks=2), **options, workers=1)
    exact = fg.forecast(graphs, fg.GNTK(blocks=2), engine="decoupled", workers=1)
    assert plan.bytes < 2.5 * pairs < exact.bytes
    with pytest.raises(fg.InputError, match="memory=1 MB is too small"):
        fg.gram(graphs, fg.GNTK(blocks=2), **options, memory="1MB")


def test_a_cancelled_tile_returns_at_once():
    engine = Sketched(Sketching())
    prepared = engine.prepare(prepared_batch(LARGER), fg.GNTK(blocks=2))
    block = engine.block(prepared, np.arange(6))
    cancelled = np.ones(1, dtype=np.uint8)
    assert not engine.tile(block, block, cancelled)[1:].any()
    assert engine.tile(block, block, np.zeros(1, dtype=np.uint8))[1:].all()


def test_dense_products_in_parts_are_the_same(monkeypatch):
    graphs = fg.datasets.synthetic.erdos_renyi(2, 60, 0.6).graphs
    expected = fg.gram(graphs, fg.GNTK(blocks=2), engine="sketched", sketch_size=9)
    monkeypatch.setattr(_sketched, "_PATCH_COLS", 25)
    FLOAT64.check(fg.gram(graphs, fg.GNTK(blocks=2), engine="sketched", sketch_size=9), expected)


def test_evaluate_takes_a_sketch():
    grid = fg.selection.Grid(blocks=(2,), layers=(1,), scale=("degree",), jump=(True,), normalize=(True,), C=(10.0,))
    data = fg.datasets.load("MUTAG")
    options = {"grid": grid, "folds": [i % 3 for i in range(188)], "workers": 1, "engine": "sketched"}
    small, other = (fg.selection.evaluate(data, sketch_size=2, seed=seed, **options) for seed in (0, 1))
    large = fg.selection.evaluate(data, sketch_size=0.7, seed=0, **options)
    assert large.engine == "sketched"
    assert large.sketching == Sketching("ams", 0.7, seed=0).to_dict()
    assert len({small.accuracies, other.accuracies, large.accuracies}) == 3
    assert large.mean > max(0.7, small.mean)
