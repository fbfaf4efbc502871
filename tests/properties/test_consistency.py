"""The same values by every route: pieces, depths, halves, workers, copies."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from tests.tables import ALL_ENGINES, EXACT, FAMILIES, FLOAT64, SPECS

from fastgntk import GNTK, NodeFeatures, as_graphs, cross_gram, datasets, diagonal, gram, gram_path
from fastgntk.engines import get_engine

everywhere = pytest.mark.parametrize(
    ("engine", "spec", "family"), [(e, s, f) for e in ALL_ENGINES for s in SPECS for f in FAMILIES]
)


@everywhere
def test_cross_gram_is_a_part_of_gram(engine, spec, family):
    batch = as_graphs(FAMILIES[family])
    K = gram(batch, SPECS[spec], engine=engine)
    FLOAT64.check(cross_gram(batch[:1], batch, SPECS[spec], engine=engine), K[:1])
    FLOAT64.check(cross_gram(batch, batch, SPECS[spec], engine=engine), K)


@everywhere
def test_diagonal_is_the_diagonal_of_gram(engine, spec, family):
    expected = np.diagonal(gram(FAMILIES[family], SPECS[spec], engine=engine))
    FLOAT64.check(diagonal(FAMILIES[family], SPECS[spec], engine=engine), expected)


@everywhere
def test_gram_path_gives_every_depth(engine, spec, family):
    spec = SPECS[spec]
    path = gram_path(FAMILIES[family], spec, engine=engine)
    assert path.levels.shape[0] == spec.blocks + 1
    for blocks in range(1, spec.blocks + 1):
        for jump in (False, True):
            expected = gram(FAMILIES[family], replace(spec, blocks=blocks, jump=jump), engine=engine)
            FLOAT64.check(path.at(blocks, jump), expected)
    assert np.array_equal(path.at(), gram(FAMILIES[family], spec, engine=engine))


@pytest.mark.parametrize("engine", ALL_ENGINES)
@pytest.mark.parametrize("width", [1, 37, 60, 10_000])
def test_cut_into_ragged_tiles_gives_the_same(engine, width, monkeypatch):
    batch = datasets.load("MUTAG").graphs[: 5 if engine == "kronecker" else 14]
    spec = GNTK(blocks=2, layers=2)
    expected = gram(batch, spec, engine=engine)
    monkeypatch.setattr(type(get_engine(engine)), "width", width)
    FLOAT64.check(gram(batch, spec, engine=engine), expected)
    FLOAT64.check(cross_gram(batch[:4], batch[2:], spec, engine=engine), expected[:4, 2:])


@pytest.mark.parametrize("engine", ALL_ENGINES)
def test_number_of_workers_changes_no_bit(engine, monkeypatch):
    monkeypatch.setattr(type(get_engine(engine)), "width", 40)
    batch = datasets.load("MUTAG").graphs[: 4 if engine == "kronecker" else 20]
    one = gram(batch, GNTK(blocks=2), engine=engine, workers=1)
    for workers in (2, 5):
        assert np.array_equal(one, gram(batch, GNTK(blocks=2), engine=engine, workers=workers))


@pytest.mark.parametrize("engine", ALL_ENGINES)
def test_memory_limit_changes_no_bit(engine):
    batch = datasets.load("MUTAG").graphs[: 4 if engine == "kronecker" else 60]  # several blocks of 256 nodes
    little = {"lossless": "9MB", "decoupled": "9MB", "kronecker": "30MB", "sketched": "3MB"}[engine]
    expected = gram(batch, engine=engine, memory="3GB", workers=2)
    assert np.array_equal(gram(batch, engine=engine, memory=little, workers=2), expected)


@pytest.mark.parametrize("engine", ALL_ENGINES)
def test_prepared_graphs_and_blocks_survive_pickling(engine):
    batch = NodeFeatures().fit_transform(as_graphs(FAMILIES["weighted"]))
    runner = get_engine(engine)
    prepared = runner.prepare(batch, GNTK(blocks=2))
    for task in runner.tasks(prepared):
        runner.work(prepared, task, np.zeros(1, dtype=np.uint8))
    prepared = runner.finish(prepared)
    some = np.array([0, 2])
    block = runner.block(prepared, some)
    copy = pickle.loads(pickle.dumps(block))
    assert np.array_equal(runner.tile(copy, copy), runner.tile(block, block))
    again = runner.block(pickle.loads(pickle.dumps(prepared)), some)
    assert np.array_equal(runner.tile(again, again), runner.tile(block, block))


@pytest.mark.parametrize("engine", ALL_ENGINES)
def test_level_zero_is_the_inner_product_of_feature_sums(engine):
    batch = as_graphs(FAMILIES["continuous features"])
    sums = np.stack([g.features.sum(axis=0) for g in batch])
    EXACT.check(gram_path(batch, GNTK(blocks=1), engine=engine).levels[0], sums @ sums.T)


def test_deep_kernels_stay_finite_or_say_why():
    from fastgntk import InputError

    batch = datasets.load("MUTAG").graphs[:3]
    assert np.isfinite(gram(batch, GNTK(blocks=60, layers=1, scale="degree"))).all()
    assert np.isfinite(gram(batch, GNTK(blocks=60, layers=1, scale="unit"))).all()
    dense = datasets.synthetic.clique_egos(2, 60, 1).graphs
    with pytest.raises(InputError, match=r"graphs 0\.\.1 × 0\.\.1 leave the range of float64 at block \d+ of 120"):
        gram(dense, GNTK(blocks=120, layers=1, scale="uniform"))
