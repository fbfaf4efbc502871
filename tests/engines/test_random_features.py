"""Random features against the kernel itself: expectation, error against size, and what they may depend on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.tables import ALL_SPECS, FAMILIES

from fastgntk import GNTK, Graph, GraphBatch, InputError, NodeFeatures, gram
from fastgntk.engines import RandomFeatures

ONE_LAYER = {
    "uniform": GNTK(1, 1, "uniform", jump=False),
    "degree, jump": GNTK(1, 1, "degree", jump=True, c_phi=1.4),
    "unit": GNTK(1, 1, "unit", jump=(0.5, 2.0)),
    "typed": GNTK(1, 1, "uniform", jump=False, edges="typed"),
}


def ready(family: str) -> GraphBatch:
    batch = GraphBatch.from_graphs(FAMILIES[family])
    return NodeFeatures("auto").fit(batch).transform(batch)


def drawn(batch: GraphBatch, spec: GNTK, size: int, seed: int, **options) -> RandomFeatures:
    types = 0 if batch.edge_labels is None else int(batch.edge_labels.max(initial=-1)) + 1
    return RandomFeatures(spec, size, batch.features.shape[1], types, seed, **options)


def errors(batch: GraphBatch, spec: GNTK, size: int, seeds: range, **options) -> np.ndarray:
    """What inner products are off by, in units of the self-similarities, for each of some seeds."""
    K = gram(batch, spec, engine="kronecker")
    norms = np.sqrt(np.diag(K))
    scale = np.where(np.outer(norms, norms) > 0, np.outer(norms, norms), 1.0)
    vectors = (drawn(batch, spec, size, seed, **options)(batch, np.float64) for seed in seeds)
    return np.array([(V @ V.T - K) / scale for V in vectors])


def test_what_cancels_is_nothing():
    triangle = [(0, 1), (1, 2), (2, 0)]
    batch = GraphBatch.from_graphs(
        [Graph.from_edges(triangle, 3, np.array(x)[:, None]) for x in ([0.1, 0.2, -0.3], [1.0, 2.0, 3.0])]
    )
    for dtype in (np.float32, np.float64):
        vectors = RandomFeatures(GNTK(blocks=1, scale="unit", jump=False), 64, 1, 0, 0)(batch, dtype)
        assert not vectors[0].any()
        assert vectors[1].any()


@pytest.mark.parametrize("family", ["path", "weighted", "directed", "cancellation", "zero features", "without labels"])
@pytest.mark.parametrize("spec", ONE_LAYER.values(), ids=ONE_LAYER)
def test_one_layer_is_right_on_average(family, spec):
    batch = ready(family)
    off = errors(batch, spec, 24, range(400), exact_norms=False)
    assert (np.abs(off.mean(axis=0)) < 5 * off.std(axis=0) / np.sqrt(len(off)) + 1e-9).all()


@pytest.mark.parametrize("exact_norms", [True, False])
@pytest.mark.parametrize("spec", ALL_SPECS.values(), ids=ALL_SPECS)
def test_many_features_are_close_to_the_kernel(spec, exact_norms):
    for family in ("star", "clique", "disconnected", "weighted", "opposite nodes", "empty graph"):
        batch = ready(family)
        off = errors(batch, spec, 8192, range(1, 2), exact_norms=exact_norms)
        assert np.abs(off).max() < (0.12 if exact_norms else 0.4), family


@pytest.mark.parametrize("exact_norms", [True, False])
def test_the_error_falls_with_the_square_root_of_the_size(exact_norms):
    batch, spec = ready("continuous features"), GNTK(blocks=2, layers=2)

    def error(size: int) -> float:
        return float(np.median(np.abs(errors(batch, spec, size, range(100), exact_norms=exact_norms))))

    assert 3.0 < error(128) / error(2048) < 5.5  # sqrt(16) is 4


def test_exact_norms_make_less_error():
    batch, spec = ready("clique"), GNTK(blocks=2, layers=1)
    off = {exact: np.mean(errors(batch, spec, 512, range(40), exact_norms=exact) ** 2) for exact in (True, False)}
    assert off[True] < off[False] / 9


def test_a_node_alone_has_the_norm_that_it_should_have():
    batch, spec = ready("single node")[:2], GNTK(blocks=3, layers=2, c_phi=1.3)
    assert np.abs(np.diag(errors(batch, spec, 64, range(1))[0])).max() < 1e-7  # of κ0 at 1 in the kernel itself


def test_each_graph_has_its_vector_whatever_comes_with_it():
    batch, spec = ready("duplicate nodes"), GNTK(blocks=2, layers=2, edges="typed")
    features = drawn(batch, spec, 100, 0)
    together = features(batch, np.float64)
    alone = np.concatenate([features(batch[i : i + 1], np.float64) for i in range(len(batch))])
    np.testing.assert_allclose(alone, together, rtol=1e-10, atol=1e-10 * np.abs(together).max())


def test_an_empty_graph_is_the_zero_vector():
    vectors = drawn(ready("empty graph"), GNTK(), 60, 0)(ready("empty graph"))
    assert vectors.shape == (3, 60)
    assert not vectors[[0, 2]].any()
    assert vectors[1].any()
    assert drawn(ready("path"), GNTK(), 60, 0)(ready("path")[:0]).shape == (0, 60)


def test_vectors_have_as_many_entries_as_asked_for():
    batch = ready("path")
    for spec in ALL_SPECS.values():
        for size in (11, 64, 257):
            features = drawn(batch, spec, size, 0)
            assert features(batch).shape == (2, size) == (2, features.n_columns)


def test_level_0_alone_is_exact_and_takes_no_more_than_it_needs():
    batch, spec = ready("path"), GNTK(blocks=2, jump=(4.0, 0.0, 0.0))
    features = drawn(batch, spec, 50, 0)
    vectors = features(batch, np.float64)
    assert vectors.shape == (2, 3) == (2, features.n_columns)
    np.testing.assert_allclose(vectors @ vectors.T, gram(batch, spec), rtol=1e-12)


def test_wide_features_of_level_0_are_sketched():
    rng = np.random.default_rng(0)
    batch = ready("path")
    wide = GraphBatch.from_graphs([type(g)(g.adjacency, rng.standard_normal((g.n_nodes, 500))) for g in batch])
    spec = GNTK(blocks=1, layers=1, jump=(1.0, 0.0))
    off = errors(wide, spec, 40, range(300))
    assert drawn(wide, spec, 40, 0)(wide).shape == (2, 40)
    assert (np.abs(off.mean(axis=0)) < 5 * off.std(axis=0) / np.sqrt(len(off))).all()


def test_further_types_count_as_the_last():
    batch, spec = ready("clique"), GNTK(blocks=2, layers=1, edges="typed")
    assert batch.edge_labels.max() == 2
    fewer = replace(batch, edge_labels=np.minimum(batch.edge_labels, 1))
    features = RandomFeatures(spec, 60, batch.features.shape[1], 2, 0)
    np.testing.assert_allclose(features(batch, np.float64), features(fewer, np.float64), rtol=1e-10)


def test_the_seed_decides():
    batch = ready("star")
    first, again, other = (drawn(batch, GNTK(), 64, seed)(batch) for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_too_few_features_are_refused():
    with pytest.raises(InputError, match=r"n_features must be 7 or more for 3 blocks, but is 6\."):
        RandomFeatures(GNTK(blocks=3), 6, 4, 0, 0)
