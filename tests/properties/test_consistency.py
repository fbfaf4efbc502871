"""The same values by every route: pieces, depths, halves, threads, copies."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from tests.tables import ALL_ENGINES, EXACT, FAMILIES, FLOAT64, LEAVES, by_engine, case, covering

from fastgntk import (
    GNTK,
    WL,
    WLOA,
    Compute,
    InputError,
    NodeFeatures,
    as_graphs,
    cross_gram,
    datasets,
    diagonal,
    gram,
    gram_path,
)
from fastgntk.engines import get_engine
from fastgntk.kernels import Network

every_kernel = pytest.mark.parametrize("kernel", LEAVES)
every_engine = pytest.mark.parametrize(
    ("engine", "kernel"),
    [*((engine, GNTK(blocks=2)) for engine in ALL_ENGINES), ("histograms", WL(2)), ("histograms", WLOA(2))],
    ids=str,
)


@every_kernel
def test_cross_gram_is_a_part_of_gram(kernel):
    for engine, family in covering(ALL_ENGINES, kernel, list(FAMILIES)):
        batch, how = as_graphs(FAMILIES[family]), by_engine(engine, LEAVES[kernel])
        with case(engine, family):
            K = gram(batch, **how)
            FLOAT64.check(cross_gram(batch[:1], batch, **how), K[:1])
            FLOAT64.check(cross_gram(batch, batch, **how), K)


@pytest.mark.slow
@every_kernel
def test_diagonal_is_the_diagonal_of_gram(kernel):
    for engine, family in covering(ALL_ENGINES, kernel, list(FAMILIES)):
        how = by_engine(engine, LEAVES[kernel])
        with case(engine, family):
            FLOAT64.check(diagonal(FAMILIES[family], **how), np.diagonal(gram(FAMILIES[family], **how)))


@pytest.mark.slow
@every_kernel
def test_gram_path_gives_every_depth(kernel):
    deepest = LEAVES[kernel]
    for engine, family in covering(ALL_ENGINES, kernel, list(FAMILIES)):
        graphs = FAMILIES[family]
        with case(engine, family):
            path = gram_path(graphs, **by_engine(engine, deepest))
            assert path.levels.shape[0] == deepest.depth + 1
            for options in _shallower(deepest):
                FLOAT64.check(path.at(**options), gram(graphs, **by_engine(engine, replace(deepest, **options))))
            assert np.array_equal(path.at(), gram(graphs, **by_engine(engine, deepest)))


def _shallower(kernel):
    """Options of all kernels whose values a path has: depths, and for networks with and without jump."""
    if not isinstance(kernel, Network):
        return [{"iterations": depth} for depth in range(kernel.depth + 1)]
    return [{"blocks": blocks, "jump": jump} for blocks in range(1, kernel.blocks + 1) for jump in (False, True)]


@pytest.mark.slow
@every_engine
@pytest.mark.parametrize("width", [1, 37, 60, 10_000])
def test_cut_into_ragged_tiles_gives_the_same(engine, kernel, width, monkeypatch):
    batch = datasets.load("MUTAG").graphs[: 5 if engine == "kronecker" else 14]
    how = by_engine(engine, kernel)
    expected = gram(batch, **how)
    monkeypatch.setattr(type(get_engine(engine)), "max_group_nodes", width)
    FLOAT64.check(gram(batch, **how), expected)
    FLOAT64.check(cross_gram(batch[:4], batch[2:], **how), expected[:4, 2:])


@every_engine
def test_number_of_threads_changes_no_bit(engine, kernel, monkeypatch):
    monkeypatch.setattr(type(get_engine(engine)), "max_group_nodes", 40)
    batch = datasets.load("MUTAG").graphs[: 4 if engine == "kronecker" else 20]
    one = gram(batch, **by_engine(engine, kernel, n_jobs=1))
    for n_jobs in (2, 5):
        assert np.array_equal(one, gram(batch, **by_engine(engine, kernel, n_jobs=n_jobs)))


@every_engine
def test_memory_limit_changes_no_bit(engine, kernel):
    batch = datasets.load("MUTAG").graphs[: 4 if engine == "kronecker" else 60]  # several blocks of 256 nodes
    limits = {"lossless": "9MB", "decoupled": "9MB", "kronecker": "30MB", "sketched": "3MB", "histograms": "1MB"}
    expected = gram(batch, **by_engine(engine, kernel, max_memory="3GB", n_jobs=2))
    assert np.array_equal(gram(batch, **by_engine(engine, kernel, max_memory=limits[engine], n_jobs=2)), expected)


@every_engine
def test_prepared_graphs_and_groups_survive_pickling(engine, kernel):
    batch = NodeFeatures(kernel.features).fit_transform(
        as_graphs(FAMILIES["weighted" if kernel.features == "auto" else "path"])
    )
    runner = get_engine(engine)
    prepared = runner.prepare(batch, kernel)
    for task in runner.preparation_tasks(prepared):
        runner.run_task(prepared, task, np.zeros(1, dtype=np.uint8))
    prepared = runner.finish_preparation(prepared)
    some = np.arange(0, len(batch), 2)
    group = runner.build_group(prepared, some)
    copy = pickle.loads(pickle.dumps(group))
    assert np.array_equal(runner.tile_readouts(copy, copy), runner.tile_readouts(group, group))
    again = runner.build_group(pickle.loads(pickle.dumps(prepared)), some)
    assert np.array_equal(runner.tile_readouts(again, again), runner.tile_readouts(group, group))


@pytest.mark.parametrize("engine", ALL_ENGINES)
def test_level_zero_is_the_inner_product_of_feature_sums(engine):
    batch = as_graphs(FAMILIES["continuous features"])
    sums = np.stack([g.features.sum(axis=0) for g in batch])
    EXACT.check(gram_path(batch, **by_engine(engine, GNTK(blocks=1))).levels[0], sums @ sums.T)


def test_deep_kernels_stay_finite_or_name_the_block_that_overflows():
    batch = datasets.load("MUTAG").graphs[:3]
    assert np.isfinite(gram(batch, GNTK(blocks=60, layers=1, scale="degree"))).all()
    assert np.isfinite(gram(batch, GNTK(blocks=60, layers=1, scale="unit"))).all()
    dense = datasets.synthetic.clique_egos(2, 60, 1).graphs
    with pytest.raises(InputError, match=r"graphs 0\.\.1 × 0\.\.1 leave the range of float64 at block \d+ of 120"):
        gram(dense, GNTK(blocks=120, layers=1, scale="uniform"))


def test_auto_is_one_of_the_exact_engines_bit_by_bit():
    batch = datasets.load("MUTAG").graphs[:10]
    chosen = gram_path(batch, GNTK(2)).engine
    assert np.array_equal(gram(batch, GNTK(2)), gram(batch, GNTK(2), compute=Compute(engine=chosen)))
