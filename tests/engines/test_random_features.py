"""Random features against the kernel itself: expectation, error against size, and what they may depend on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.tables import ALL_KERNELS, FAMILIES

from fastgntk import GNTK, Compute, Graph, GraphBatch, InputError, NodeFeatures, gram
from fastgntk.engines import TangentFeatures

pytestmark = pytest.mark.usefixtures("one_blas_thread")

ONE_LAYER = {
    "uniform": GNTK(1, 1, "uniform", jump=False),
    "degree, jump": GNTK(1, 1, "degree", jump=True, c_phi=1.4),
    "unit": GNTK(1, 1, "unit", jump=(0.5, 2.0)),
    "typed": GNTK(1, 1, "uniform", jump=False, edges="typed"),
}


def ready(family: str) -> GraphBatch:
    batch = GraphBatch.from_graphs(FAMILIES[family])
    return NodeFeatures("auto").fit(batch).transform(batch)


def drawn(batch: GraphBatch, kernel: GNTK, size: int, seed: int, **options) -> TangentFeatures:
    types = 0 if batch.edge_labels is None else int(batch.edge_labels.max(initial=-1)) + 1
    return TangentFeatures(kernel, size, batch.features.shape[1], types, seed, **options)


def errors(batch: GraphBatch, kernel: GNTK, size: int, seeds: range, **options) -> np.ndarray:
    """What inner products are off by, in units of the diagonal, for each of some seeds."""
    K = gram(batch, kernel, compute=Compute(engine="kronecker"))
    norms = np.sqrt(np.diag(K))
    scale = np.where(np.outer(norms, norms) > 0, np.outer(norms, norms), 1.0)
    vectors = (drawn(batch, kernel, size, seed, **options)(batch, np.float64) for seed in seeds)
    return np.array([(V @ V.T - K) / scale for V in vectors])


def test_exact_cancellation_gives_zero():
    triangle = [(0, 1), (1, 2), (2, 0)]
    batch = GraphBatch.from_graphs(
        [Graph.from_edges(triangle, 3, np.array(x)[:, None]) for x in ([0.1, 0.2, -0.3], [1.0, 2.0, 3.0])]
    )
    for dtype in (np.float32, np.float64):
        vectors = TangentFeatures(GNTK(blocks=1, scale="unit", jump=False), 64, 1, 0, 0)(batch, dtype)
        assert not vectors[0].any()
        assert vectors[1].any()


@pytest.mark.slow
@pytest.mark.parametrize("family", ["path", "weighted", "directed", "cancellation", "zero features", "without labels"])
@pytest.mark.parametrize("kernel", ONE_LAYER.values(), ids=ONE_LAYER)
def test_one_layer_is_unbiased(family, kernel):
    batch = ready(family)
    off = errors(batch, kernel, 24, range(400), exact_norms=False)
    assert (np.abs(off.mean(axis=0)) < 5 * off.std(axis=0) / np.sqrt(len(off)) + 1e-9).all()


@pytest.mark.slow
@pytest.mark.parametrize("exact_norms", [True, False])
@pytest.mark.parametrize("kernel", ALL_KERNELS.values(), ids=ALL_KERNELS)
def test_many_features_are_close_to_the_kernel(kernel, exact_norms):
    for family in ("star", "clique", "disconnected", "weighted", "opposite nodes", "empty graph"):
        batch = ready(family)
        off = errors(batch, kernel, 8192, range(1, 2), exact_norms=exact_norms)
        assert np.abs(off).max() < (0.12 if exact_norms else 0.4), family


@pytest.mark.slow
@pytest.mark.parametrize("exact_norms", [True, False])
def test_the_error_falls_with_the_square_root_of_the_size(exact_norms):
    batch, kernel = ready("continuous features"), GNTK(blocks=2, layers=2)

    def error(size: int) -> float:
        return float(np.median(np.abs(errors(batch, kernel, size, range(100), exact_norms=exact_norms))))

    assert 3.0 < error(128) / error(2048) < 5.5  # sqrt(16) is 4


def test_exact_norms_reduce_the_error():
    batch, kernel = ready("clique"), GNTK(blocks=2, layers=1)
    off = {exact: np.mean(errors(batch, kernel, 512, range(40), exact_norms=exact) ** 2) for exact in (True, False)}
    assert off[True] < off[False] / 9


def test_single_node_has_its_exact_norm():
    batch, kernel = ready("single node")[:2], GNTK(blocks=3, layers=2, c_phi=1.3)
    assert np.abs(np.diag(errors(batch, kernel, 64, range(1))[0])).max() < 1e-7  # of κ0 at 1 in the kernel itself


def test_vectors_do_not_depend_on_the_batch():
    batch, kernel = ready("duplicate nodes"), GNTK(blocks=2, layers=2, edges="typed")
    features = drawn(batch, kernel, 100, 0)
    together = features(batch, np.float64)
    alone = np.concatenate([features(batch[i : i + 1], np.float64) for i in range(len(batch))])
    np.testing.assert_allclose(alone, together, rtol=1e-10, atol=1e-10 * np.abs(together).max())


def test_an_empty_graph_is_the_zero_vector():
    vectors = drawn(ready("empty graph"), GNTK(), 60, 0)(ready("empty graph"))
    assert vectors.shape == (3, 60)
    assert not vectors[[0, 2]].any()
    assert vectors[1].any()
    assert drawn(ready("path"), GNTK(), 60, 0)(ready("path")[:0]).shape == (0, 60)


def test_vectors_have_the_given_size():
    batch = ready("path")
    for kernel in ALL_KERNELS.values():
        for size in (11, 64, 257):
            features = drawn(batch, kernel, size, 0)
            assert features(batch).shape == (2, size) == (2, features.n_columns)


def test_level_0_alone_is_exact_and_as_wide_as_the_features():
    batch, kernel = ready("path"), GNTK(blocks=2, jump=(4.0, 0.0, 0.0))
    features = drawn(batch, kernel, 50, 0)
    vectors = features(batch, np.float64)
    assert vectors.shape == (2, 3) == (2, features.n_columns)
    np.testing.assert_allclose(vectors @ vectors.T, gram(batch, kernel), rtol=1e-12)


@pytest.mark.slow
def test_wide_features_of_level_0_are_sketched():
    rng = np.random.default_rng(0)
    batch = ready("path")
    wide = GraphBatch.from_graphs([type(g)(g.adjacency, rng.standard_normal((g.n_nodes, 500))) for g in batch])
    kernel = GNTK(blocks=1, layers=1, jump=(1.0, 0.0))
    off = errors(wide, kernel, 40, range(300))
    assert drawn(wide, kernel, 40, 0)(wide).shape == (2, 40)
    assert (np.abs(off.mean(axis=0)) < 5 * off.std(axis=0) / np.sqrt(len(off))).all()


def test_further_types_count_as_the_last():
    batch, kernel = ready("clique"), GNTK(blocks=2, layers=1, edges="typed")
    assert batch.edge_labels.max() == 2
    fewer = replace(batch, edge_labels=np.minimum(batch.edge_labels, 1))
    features = TangentFeatures(kernel, 60, batch.features.shape[1], 2, 0)
    np.testing.assert_allclose(features(batch, np.float64), features(fewer, np.float64), rtol=1e-10)


def test_vectors_depend_on_the_seed():
    batch = ready("star")
    first, again, other = (drawn(batch, GNTK(), 64, seed)(batch) for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_too_few_features_are_refused():
    with pytest.raises(InputError, match=r"n_components must be 7 or more for 3 blocks, but is 6\."):
        TangentFeatures(GNTK(blocks=3), 6, 4, 0, 0)
