"""Scales that graphs carry: equal to the built-in ones where these are given, and used by one kernel only."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from tests.tables import ALL_ENGINES, ENGINES, EXACT, FAMILIES, FLOAT64, SKETCHED, by_engine, case, scales_of

import fastgntk as fg
from fastgntk import GNTK, Graph, GraphBatch, InputError, NodeFeatures, datasets, gram, node_gram
from fastgntk.engines import TangentFeatures
from fastgntk.engines._aggregation import count_edge_types, row_sums
from fastgntk.pairwise import node_diagonal

GIVEN = {
    "plain": GNTK(3, 2, "given"),
    "typed": GNTK(2, 1, "given", jump=False, c_phi=1.3, edges="typed"),
}
every_kernel = pytest.mark.parametrize("kernel", GIVEN.values(), ids=GIVEN)


def same_as(scale: str, batch: GraphBatch) -> GraphBatch:
    """The graphs with the node scales that this scale computes."""
    sums = row_sums(batch)
    return batch.with_node_scale(np.ones(len(sums)) if scale == "uniform" else 1.0 / sums)


@pytest.mark.slow
@every_kernel
@pytest.mark.parametrize("scale", ["uniform", "degree"])
@pytest.mark.parametrize("engine", ALL_ENGINES)
@pytest.mark.filterwarnings("ignore::fastgntk.NotSketchedWarning")
def test_given_scales_equal_the_computed_ones(engine, scale, kernel):
    tolerance = SKETCHED if engine == "sketched" else FLOAT64
    for family, graphs in FAMILIES.items():
        batch = same_as(scale, fg.as_graphs(graphs))
        given, computed = by_engine(engine, kernel), by_engine(engine, replace(kernel, scale=scale))
        with case(family):
            tolerance.check(gram(batch, **given), gram(batch, **computed))
            tolerance.check(fg.diagonal(batch, **given), fg.diagonal(batch, **computed))
            tolerance.check(fg.gram_path(batch, **given).levels, fg.gram_path(batch, **computed).levels)
            tolerance.check(
                fg.node_contributions(batch[1], batch, **given), fg.node_contributions(batch[1], batch, **computed)
            )


@every_kernel
@pytest.mark.parametrize("scale", ["uniform", "degree"])
def test_given_scales_equal_the_computed_ones_between_nodes_and_in_random_features(scale, kernel):
    computed = replace(kernel, scale=scale)
    for family, graphs in FAMILIES.items():
        batch = same_as(scale, fg.as_graphs(graphs))
        ready = NodeFeatures().fit_transform(batch)
        types = count_edge_types(ready)
        with case(family):
            FLOAT64.check(node_gram(batch[1], kernel), node_gram(batch[1], computed))
            FLOAT64.check(node_diagonal(batch[1], kernel), node_diagonal(batch[1], computed))
            vectors = [TangentFeatures(k, 64, ready.features.shape[1], types, 0) for k in (kernel, computed)]
            FLOAT64.check(*(features(ready, np.float64) for features in vectors))
            FLOAT64.check(*(features.nodes(ready) for features in vectors))


@pytest.mark.parametrize("scale", ["uniform", "degree", "unit", "symmetric"])
def test_other_scales_ignore_what_graphs_carry_to_the_last_bit(scale):
    molecules = datasets.load("MUTAG").graphs[:10]
    scaled = molecules.with_node_scale(scales_of(molecules.n_nodes))
    for engine in ALL_ENGINES:
        how = by_engine(engine, GNTK(2, 1, scale))
        few = slice(4 if engine == "kronecker" else 10)
        with case(engine):
            assert np.array_equal(gram(scaled[few], **how), gram(molecules[few], **how))
    assert np.array_equal(node_gram(scaled[0], GNTK(2, 1, scale)), node_gram(molecules[0], GNTK(2, 1, scale)))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_factor_of_all_scales_is_a_power_of_it_in_the_kernel(engine):
    # Σ and K of a block are homogeneous: each block multiplies them by the square of the factor.
    molecules = datasets.load("MUTAG").graphs[: 3 if engine == "kronecker" else 10]
    scales = scales_of(molecules.n_nodes)
    how = by_engine(engine, GNTK(3, 2, "given", jump=False))
    for factor in (1e-5, 3.0):
        larger = gram(molecules.with_node_scale(factor * scales), **how)
        FLOAT64.check(larger, factor**6 * gram(molecules.with_node_scale(scales), **how))


@pytest.mark.parametrize("engine", ENGINES)
def test_node_of_scale_zero_contributes_nothing_after_level_zero(engine):
    kernel = GNTK(2, 2, "given", jump=(0.0, 1.0, 1.0))
    zero = Graph.from_edges([(0, 1), (1, 2)], 3, np.eye(3), node_scale=[2.0, 0.5, 0.0])
    contributions = fg.node_contributions(zero, [zero], **by_engine(engine, kernel))
    assert np.isfinite(contributions).all()
    assert contributions[2, 0] == 0.0
    assert (contributions[:2] > 0).all()
    # Its features still reach its neighbour in the first block, and nothing of it in the second.
    other = Graph.from_edges([(0, 1), (1, 2)], 3, np.eye(3)[[0, 1, 1]], node_scale=[2.0, 0.5, 0.0])
    assert gram([zero, other], **by_engine(engine, kernel))[0, 1] != pytest.approx(contributions.sum())
    nothing = Graph(zero.adjacency, zero.features, node_scale=np.zeros(3))
    assert not gram([zero, nothing], **by_engine(engine, kernel))[1].any()


def test_nodes_that_differ_in_scale_only_are_distinguished_in_every_block():
    """Both nodes of a pair have the same closed neighbourhood, so that only their own scales differ."""
    kernel = GNTK(1, 1, "given", jump=False)
    for engine in ENGINES:
        how = by_engine(engine, kernel)
        pair, swapped = (Graph.from_edges([(0, 1)], 2, np.eye(2), node_scale=s) for s in ([1.0, 7.0], [7.0, 1.0]))
        with case(engine):
            # λ = 1 for all pairs of nodes, each with c c' 2 (κ0(1) + κ1(1)): 2 (1 + 7)² · 2.
            FLOAT64.check(gram([pair, swapped], **how), np.full((2, 2), 256.0))
            FLOAT64.check(fg.node_contributions(pair, [pair], **how), [[32.0], [224.0]])


@pytest.mark.parametrize("engine", ALL_ENGINES)
@pytest.mark.filterwarnings("ignore::fastgntk.NotSketchedWarning")
def test_threads_tiles_memory_and_pickling_change_nothing(engine, monkeypatch):
    molecules = datasets.load("MUTAG").graphs[: 4 if engine == "kronecker" else 20]
    molecules = pickle.loads(pickle.dumps(molecules.with_node_scale(scales_of(molecules.n_nodes))))
    kernel = GNTK(2, 1, "given")
    whole = gram(molecules, **by_engine(engine, kernel, n_jobs=1))
    prepared = fg.prepare(molecules, **by_engine(engine, kernel))
    EXACT.check(gram(pickle.loads(pickle.dumps(prepared))), gram(prepared))
    FLOAT64.check(gram(prepared.subset(np.array([3, 1]))), whole[np.ix_([3, 1], [3, 1])])
    monkeypatch.setattr(type(fg.engines.get_engine(engine)), "max_group_nodes", 40)
    FLOAT64.check(gram(molecules, **by_engine(engine, kernel, n_jobs=2)), whole)
    FLOAT64.check(fg.cross_gram(molecules[:2], prepared), whole[:2])


def test_combinations_take_the_scale_where_it_is_used():
    molecules = datasets.load("MUTAG").graphs[:8]
    molecules = molecules.with_node_scale(scales_of(molecules.n_nodes))
    one, two = GNTK(2, 1, "given"), GNTK(1, 1, "degree")
    K = gram(molecules, 2.0 * one + two.normalized() * one)
    FLOAT64.check(K, 2.0 * gram(molecules, one) + gram(molecules, two.normalized()) * gram(molecules, one))


def test_predictions_explanations_and_random_features_use_the_scale():
    molecules = datasets.load("MUTAG").graphs[:40]
    molecules, y = molecules.with_node_scale(scales_of(molecules.n_nodes)), molecules.sizes.astype(float)
    kernel = GNTK(2, 1, "given")
    for options in ({}, {"solver": "features", "n_components": 64}):
        model = fg.GraphRegressor(kernel, 0.1, **options).fit(molecules[:30], y[:30])
        new = molecules[30]
        explanation = model.explain(new)
        prediction = model.predict([new])[0]
        np.testing.assert_allclose(explanation.node_by_training.sum() + explanation.intercept, prediction, rtol=1e-6)
        other = GraphBatch.from_graphs([new]).with_node_scale(np.ones(new.n_nodes))
        assert abs(model.predict(other)[0] - prediction) > 1e-3


def test_the_nodes_of_a_network_can_have_scales():
    graph = datasets.load("MUTAG").graphs[:1]
    graph = graph.with_node_scale(scales_of(graph.n_nodes))
    given = fg.NodeRegressor(GNTK(2, 1, "given")).fit(graph, np.arange(float(graph.n_nodes)))
    ones = fg.NodeRegressor(GNTK(2, 1, "given")).fit(graph.with_node_scale(np.ones(17)), np.arange(17.0))
    assert not np.allclose(given.predict(), ones.predict())


MISSING = r"^scale='given' needs the scale of every node, but the graphs carry none; pass node_scale= to Graph, call ba"


@pytest.mark.parametrize(
    "compute",
    [
        lambda batch, kernel: gram(batch, kernel),
        lambda batch, kernel: fg.prepare(batch, kernel),
        lambda batch, kernel: fg.cross_gram(batch, batch.with_node_scale(np.ones(batch.n_nodes)), kernel),
        lambda batch, kernel: node_gram(batch[0], kernel),
        lambda batch, kernel: fg.RandomFeatures(kernel, 16).fit(batch),
        lambda batch, kernel: fg.theory.finite_width_gram(batch, kernel, 4),
        lambda batch, kernel: fg.GraphRegressorCV([GNTK(1), kernel]).fit(batch, batch.sizes),
    ],
)
def test_graphs_without_scales_are_refused(compute):
    with pytest.raises(InputError, match=MISSING):
        compute(datasets.load("MUTAG").graphs[:12], GNTK(1, 1, "given"))


def test_graphs_without_nodes_need_no_scales():
    empty = Graph.from_edges([], 0, labels=[])
    for engine in ALL_ENGINES:
        assert not gram([empty, empty], **by_engine(engine, GNTK(2, 1, "given"))).any()


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
def test_scales_that_were_set_unchecked_are_refused(value):
    batch = datasets.load("MUTAG").graphs[:2]
    scales = np.ones(batch.n_nodes)
    scales[batch.offsets[1] + 3] = value
    with pytest.raises(InputError, match=f"^node 3 of graph 1 has the scale {value}; every node_scale must be finite"):
        gram(replace(batch, node_scale=scales), GNTK(1, 1, "given"))
