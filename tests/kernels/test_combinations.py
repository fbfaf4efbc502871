"""Values of sums, products, factors and normalisation, against plain NumPy on the Gram matrices of the leaves."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from tests.tables import EXACT, FAMILIES, FLOAT64, by_engine

from fastgntk import (
    GNTK,
    WLOA,
    Compute,
    Graph,
    GraphRegressor,
    InputError,
    Sketch,
    as_graphs,
    cross_gram,
    datasets,
    diagonal,
    estimate_cost,
    gram,
    gram_path,
    node_contributions,
    node_gram,
    open_gram,
    prepare,
)
from fastgntk.engines import get_engine
from fastgntk.pairwise import needs_diagonals
from fastgntk.pairwise.store import _build

pytestmark = pytest.mark.usefixtures("one_blas_thread")

A = GNTK(2, 1)
B = GNTK(1, 2, "degree", features="degree")
T = GNTK(2, 1, "unit", edges="typed", jump=(0.5, 0.0, 2.0))
S = GNTK(2, 1, sketch=Sketch(size=0.5, seed=3))
W = WLOA(3)
LEAVES = (A, B, T, S, W)

GRAPHS = datasets.load("MUTAG").graphs[:18]


MORE_GRAPHS = datasets.load("MUTAG").graphs[:67]  # in a store, sides of 23, 23 and 21 graphs


def cosine(K):
    own = np.sqrt(np.diagonal(K))
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(K / own / own[:, None])


# Each kernel, and the same combination of the Gram matrices a, b, t, s, w of the leaves.
COMBINATIONS = {
    "sum": (A + B, lambda a, b, t, s, w: a + b),
    "product": (A * B, lambda a, b, t, s, w: a * b),
    "factor": (0.25 * A, lambda a, b, t, s, w: a / 4),
    "normalized": (A.normalized(), lambda a, b, t, s, w: cosine(a)),
    "normalized sum": ((A + B).normalized(), lambda a, b, t, s, w: cosine(a + b)),
    "sum of normalized": (A.normalized() + B.normalized(), lambda a, b, t, s, w: cosine(a) + cosine(b)),
    "normalized product": ((A * T).normalized(), lambda a, b, t, s, w: cosine(a) * cosine(t)),
    "one leaf twice": (A * A + 3 * A, lambda a, b, t, s, w: a**2 + 3 * a),
    "of two families": (A.normalized() * W.normalized() + 0.5 * W, lambda a, b, t, s, w: cosine(a) * cosine(w) + w / 2),
    "with a sketch": (S + 2 * A.normalized(), lambda a, b, t, s, w: s + 2 * cosine(a)),
    "nested": (
        (0.5 * A * B.normalized() + (2 * (B + T)).normalized()).normalized() * 7,
        lambda a, b, t, s, w: 7 * cosine(0.5 * a * cosine(b) + cosine(b + t)),
    ),
}
every_combination = pytest.mark.parametrize(("kernel", "combined"), COMBINATIONS.values(), ids=COMBINATIONS)


@pytest.fixture(scope="module")
def leaves():
    return [gram(GRAPHS, leaf) for leaf in LEAVES]


def check_symmetric(K, kernel):
    """To the last bit, unless rows and columns are divided by norms one after the other."""
    assert np.array_equal(K, K.T) or needs_diagonals(kernel)
    EXACT.check(K, K.T)


def options(kernel, engine):
    """An exact engine by name is refused for kernels with a sketch; these take ``auto``."""
    sketched = any(leaf.sketch for leaf in kernel.leaves())
    return Compute() if sketched else Compute(engine=engine)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["lossless", "decoupled"])
@every_combination
def test_values_are_the_combination_of_leaf_values(kernel, combined, engine, leaves):
    how = options(kernel, engine)
    expected = combined(*leaves)
    K = gram(GRAPHS, kernel, compute=how)
    FLOAT64.check(K, expected)
    check_symmetric(K, kernel)
    assert np.linalg.eigvalsh(K).min() >= -FLOAT64.relative * K.trace()
    FLOAT64.check(diagonal(GRAPHS, kernel, compute=how), np.diagonal(expected))
    FLOAT64.check(cross_gram(GRAPHS[:7], GRAPHS[7:], kernel, compute=how), expected[:7, 7:])
    prepared = prepare(GRAPHS[7:], kernel, compute=how)
    for _ in range(2):  # the second time, diagonals come from the first
        FLOAT64.check(cross_gram(GRAPHS[:7], prepared), expected[:7, 7:])
        FLOAT64.check(gram(prepared), expected[7:, 7:])
        FLOAT64.check(diagonal(prepared), np.diagonal(expected)[7:])
    rows = prepared.prepare_rows(GRAPHS[:7])
    FLOAT64.check(cross_gram(rows, prepared), expected[:7, 7:])
    FLOAT64.check(gram(rows), expected[:7, :7])


def test_kronecker_computes_combinations_too(leaves):
    few, (kernel, combined) = GRAPHS[:3], COMBINATIONS["nested"]
    expected = combined(*(K[:3, :3] for K in leaves))
    FLOAT64.check(gram(few, kernel, compute=Compute(engine="kronecker")), expected)


@every_combination
def test_contributions_of_nodes_add_up_to_the_row(kernel, combined, leaves):
    expected = combined(*leaves)
    parts = node_contributions(GRAPHS[4], GRAPHS, kernel)
    assert parts.shape == (GRAPHS[4].n_nodes, len(GRAPHS))
    FLOAT64.check(parts.sum(axis=0), expected[4])


def test_contributions_follow_the_algebra(leaves):
    a, b = (node_contributions(GRAPHS[4], GRAPHS, leaf) for leaf in (A, B))
    K, L = leaves[0], leaves[1]
    total = K + L
    for kernel, expected in (
        (A + B, a + b),
        (0.5 * A, 0.5 * a),
        (A * B, a * L[4]),
        (B * A, b * K[4]),
        ((A + B).normalized(), (a + b) / np.sqrt(total[4, 4] * np.diagonal(total))),
        (3 * B.normalized(), 3 * b / np.sqrt(L[4, 4] * np.diagonal(L))),
    ):
        FLOAT64.check(node_contributions(GRAPHS[4], GRAPHS, kernel), expected)
        FLOAT64.check(node_contributions(GRAPHS[4], prepare(GRAPHS, kernel)), expected)


@pytest.mark.slow
@every_combination
def test_ragged_tiles_and_threads_change_nothing(kernel, combined, leaves, monkeypatch):
    how = options(kernel, "decoupled" if kernel.leaves()[1:] else "lossless")
    for name in {*prepare(GRAPHS[:2], kernel, compute=how).engines}:
        monkeypatch.setattr(type(get_engine(name)), "max_group_nodes", 37)
    expected = combined(*leaves)
    one = gram(GRAPHS, kernel, compute=Compute(how.engine, n_jobs=1))
    FLOAT64.check(one, expected)
    for n_jobs in (5, -1):
        assert np.array_equal(gram(GRAPHS, kernel, compute=Compute(how.engine, n_jobs=n_jobs)), one)
    FLOAT64.check(cross_gram(GRAPHS[:13], GRAPHS[5:], kernel, compute=how), expected[:13, 5:])
    FLOAT64.check(node_contributions(GRAPHS[2], GRAPHS, kernel, compute=how).sum(axis=0), expected[2])


@pytest.fixture(scope="module")
def more_leaves():
    return [gram(MORE_GRAPHS, leaf) for leaf in LEAVES]


@pytest.mark.parametrize(
    ("kernel", "combined"),
    [
        pytest.param(
            *row, id=name, marks=() if name in ("sum", "normalized sum", "with a sketch") else pytest.mark.slow
        )
        for name, row in COMBINATIONS.items()
    ],
)
def test_stores_hold_the_combination(kernel, combined, more_leaves, tmp_path, monkeypatch):
    pytest.importorskip("zarr")
    monkeypatch.setattr(_build, "_MAX_TILE_PAIRS", 1e3)
    graphs, expected = MORE_GRAPHS, combined(*more_leaves)
    stored = gram(graphs, kernel, store=tmp_path / "K.zarr")
    assert (len(stored.all_tiles()), stored.tile_size) == (6, 23)
    FLOAT64.check(np.asarray(stored), expected)
    check_symmetric(np.asarray(stored), kernel)
    FLOAT64.check(stored.diagonal(), np.diagonal(expected))
    stored.file((0, 1)).unlink()
    with_shards = [gram(graphs, kernel, store=tmp_path / "K.zarr", shard=(k, 2)) for k in (1, 2)]
    assert np.array_equal(np.asarray(with_shards[1]), np.asarray(open_gram(tmp_path / "K.zarr")))
    FLOAT64.check(np.asarray(with_shards[1]), expected)
    with pytest.raises(InputError, match=r"K\.zarr holds a matrix with kernel .*, not kernel "):
        gram(graphs, 2 * kernel, store=tmp_path / "K.zarr")


@every_combination
def test_graph_and_node_order_do_not_matter(kernel, combined, leaves):
    rng = np.random.default_rng(0)
    order = rng.permutation(len(GRAPHS))
    shuffled = as_graphs([_relabelled(GRAPHS[i], rng) for i in order])
    # A sketch depends on the order of nodes.
    exact = kernel.map_leaves(lambda leaf: leaf.set_params(sketch=None) if leaf.sketch else leaf)
    a, b, t, _, w = leaves
    FLOAT64.check(gram(shuffled, exact), combined(a, b, t, a, w)[np.ix_(order, order)])


def _relabelled(graph: Graph, rng: np.random.Generator) -> Graph:
    place = rng.permutation(graph.n_nodes)
    rows = np.repeat(np.arange(graph.n_nodes), graph.degrees)
    edges = np.column_stack([place[rows], place[graph.indices]])
    labels = graph.labels[np.argsort(place)]
    return Graph.from_edges(edges, graph.n_nodes, labels=labels, edge_labels=graph.edge_labels, directed=True)


def test_graphs_that_are_zero_in_the_kernel_stay_zero_when_normalised():
    graphs = FAMILIES["empty graph"]
    for kernel in ((A + B).normalized(), A.normalized() * B.normalized(), (2 * A.normalized()).normalized()):
        EXACT.check(gram(graphs, kernel), [[0, 0, 0], [0, 1, 0], [0, 0, 0]])
        assert diagonal(graphs, kernel).tolist() == [0.0, 1.0, 0.0]
        EXACT.check(cross_gram(graphs, graphs, kernel), [[0, 0, 0], [0, 1, 0], [0, 0, 0]])


@every_combination
def test_empty_batch_gives_empty_matrices(kernel, combined):
    assert gram([], kernel).shape == (0, 0)
    assert diagonal([], kernel).shape == (0,)
    assert cross_gram([], GRAPHS[:2], kernel).shape == (0, 2)
    assert cross_gram(GRAPHS[:2], [], kernel).shape == (2, 0)


@pytest.mark.slow
@every_combination
def test_prepared_graphs_of_a_combination_survive_pickling(kernel, combined):
    train = prepare(GRAPHS[:6], kernel)
    diagonal(train)
    copy = pickle.loads(pickle.dumps(train))
    assert (copy.kernel, copy.engines, len(copy)) == (kernel, train.engines, 6)
    assert np.array_equal(gram(copy), gram(train))
    assert np.array_equal(cross_gram(GRAPHS[6:9], copy), cross_gram(GRAPHS[6:9], train))


def test_progress_of_a_combination_goes_once_from_start_to_end():
    for kernel in (A + B, (A * T).normalized(), A):
        seen = []
        gram(
            GRAPHS, kernel, compute=Compute(n_jobs=1, progress=lambda done, total, seen=seen: seen.append(done / total))
        )
        assert seen == sorted(seen)
        assert seen[-1] == 1.0


def test_only_single_kernels_have_depths_and_node_kernels():
    with pytest.raises(
        InputError,
        match=r"gram_path needs a single kernel such as GNTK\(3\), but the kernel is GNTK\(.*\) \+ GNTK\(.*; compute",
    ):
        gram_path(GRAPHS[:2], A + B)
    with pytest.raises(
        InputError,
        match=r"gram_path needs a single kernel such as GNTK\(3\), but the kernel is .*\.normalized\(\); compute",
    ):
        gram_path(prepare(GRAPHS[:2], A.normalized()))
    with pytest.raises(InputError, match="must be one GNTK or NNGP without a sketch"):
        node_gram(GRAPHS[0], A + B)
    for wrong in (np.eye(9), lambda: 3):
        with pytest.raises(
            InputError, match=r"kernel must be a kernel such as fastgntk\.GNTK\(\), but has type \w+\.$"
        ):
            node_gram(GRAPHS[0], wrong)
    for leaf in (A, W):
        FLOAT64.check(gram_path(prepare(GRAPHS[:4], leaf)).at(), gram(GRAPHS[:4], leaf))


@every_combination
def test_costs_are_those_of_the_leaves(kernel, combined):
    cost = estimate_cost(GRAPHS, kernel)
    alone = [estimate_cost(GRAPHS, leaf) for leaf in kernel.leaves()]
    assert [leaf.kernel for leaf in cost.leaves] == [repr(leaf) for leaf in kernel.leaves()]
    for leaf, single in zip(cost.leaves, alone, strict=True):
        (same,) = single.leaves
        for name in ("kernel", "engine", "reason", "groups", "tiles", "widest", "pairs", "compression"):
            assert getattr(leaf, name) == getattr(same, name)
    assert cost.seconds == pytest.approx(sum(leaf.seconds for leaf in cost.leaves))
    result = 8 * len(GRAPHS) ** 2
    extra = 0 if len(alone) == 1 else len(alone) * result
    assert cost.bytes == max(single.bytes for single in alone) + extra
    assert cost.engine == " and ".join(dict.fromkeys(single.engine for single in alone))
    assert (cost.graphs, cost.nodes, cost.node_pairs) == (alone[0].graphs, alone[0].nodes, alone[0].node_pairs)


@pytest.mark.parametrize("engine", ["lossless", "decoupled", "kronecker"])
def test_an_exact_engine_is_refused_if_any_leaf_has_a_sketch(engine):
    with pytest.raises(InputError, match=f"engine='{engine}' computes exact kernels, but GNTK.* has a sketch"):
        gram(GRAPHS[:2], A + S, compute=Compute(engine=engine))
    assert prepare(GRAPHS[:2], A + S).engines == ["lossless", "sketched"]


def test_engine_by_name_is_that_of_every_leaf():
    for engine in ("lossless", "decoupled"):
        how = by_engine(engine)["compute"]
        assert prepare(GRAPHS[:3], A + B * T, compute=how).engines == [engine] * 3


LARGE = [Graph(np.zeros((1, 1)), np.full((1, 1), 1e80))] * 3
OVERFLOWS = {  # values of the leaf are 6e160
    "product": A * A,
    "sum": 2e147 * A + 2e147 * A,  # only the sum overflows
    "factor": 1e300 * A,
    "normalized": (A * A).normalized(),
}
WAYS = {
    "gram": lambda kernel, _: gram(LARGE, kernel),
    "diagonal": lambda kernel, _: diagonal(LARGE, kernel),
    "cross_gram": lambda kernel, _: cross_gram(LARGE, LARGE, kernel),
    "store": lambda kernel, folder: gram(LARGE, kernel, store=folder / "K.zarr"),
    "nodes": lambda kernel, _: node_contributions(LARGE[0], LARGE, kernel),
    "regressor": lambda kernel, _: GraphRegressor(kernel).fit(LARGE, [1.0, 2.0, 3.0]),
}


@pytest.mark.parametrize("compute_values", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("kernel", OVERFLOWS.values(), ids=OVERFLOWS)
def test_overflow_in_a_combination_is_refused(kernel, compute_values, tmp_path):
    pytest.importorskip("zarr")
    with pytest.raises(InputError, match=r"values of .* leave the range of float64; normalise its parts, or use"):
        compute_values(kernel, tmp_path)


def test_combination_of_normalised_parts_does_not_overflow():
    FLOAT64.check(gram(LARGE, A.normalized() * A.normalized()), np.ones((3, 3)))


def test_memory_counts_the_matrices_of_all_leaves():
    one = 8 * len(GRAPHS) ** 2
    with pytest.raises(
        InputError, match=rf"max_memory=.* is too small: the result alone takes {4 * one / 1000:.0f} kB"
    ):
        gram(GRAPHS, A + B + T, compute=Compute(max_memory=4 * one - 1))
