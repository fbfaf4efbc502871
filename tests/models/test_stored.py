"""Estimators on a matrix from disk: the same models, without a kernel value computed among training graphs."""

from __future__ import annotations

import shutil
from contextlib import contextmanager

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.svm import SVC
from tests.tables import FLOAT64, Tolerance

import fastgntk as fg
from fastgntk.models import _kernel_rows as _rows
from fastgntk.pairwise.store import _build
from fastgntk.solvers import SOLVERS

# Kernel values in another order of graphs differ by 1e-8 (tests/tables.py); over a ridge of 1e-2 that makes 1e-6.
SOLVED = Tolerance(relative=1e-6, absolute=1e-6)

DATA = fg.datasets.load("MUTAG")
GRAPHS, CLASSES = DATA.graphs[:150], DATA.y[:150]
EDGES = np.array([graph.n_edges for graph in GRAPHS], dtype=float)
NEW = DATA.graphs[150:]
SPEC = fg.GNTK(2, 1)
KERNEL = {"blocks": 2, "layers": 1, "engine": "lossless"}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_build, "_PAIRS", 1e3)  # small sides, so that there are several tiles
        stored = fg.gram(GRAPHS, SPEC, engine="lossless", store=tmp_path_factory.mktemp("stored") / "K.zarr")
    assert len(stored.all_tiles()) > 10
    return stored


@contextmanager
def nothing_computed():
    with pytest.MonkeyPatch.context() as patch:
        for name in ("gram", "cross_gram", "diagonal"):
            patch.setattr(_rows, name, None)
        yield


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_regression_is_the_same(store, solver, normalize):
    how = {**KERNEL, "ridge": 1e-2, "solver": solver, "rank": None if solver in ("cholesky", "eigen") else 60}
    plain = fg.GNTKRegressor(normalize=normalize, **how).fit(GRAPHS, EDGES)
    with nothing_computed():
        model = fg.GNTKRegressor(normalize=normalize, **how).fit(GRAPHS, EDGES, gram=store)
    SOLVED.check(np.array(model.predict(NEW, return_std=True)), np.array(plain.predict(NEW, return_std=True)))
    SOLVED.check(model.solution_.leave_one_out, plain.solution_.leave_one_out)
    SOLVED.check(model.expansion_.rows.own, plain.expansion_.rows.own)


def test_a_store_made_anew_is_opened_anew(tmp_path):
    path = tmp_path / "K.zarr"
    few, y = GRAPHS[:40], EDGES[:40]
    stale = fg.gram(few, SPEC, engine="lossless", store=path)
    shutil.rmtree(path)
    fg.gram(few, fg.GNTK(3, 1), engine="lossless", store=path)
    with pytest.raises(fg.InputError, match=r"holds a matrix with kernel GNTK\(blocks=3"):
        fg.GNTKRegressor(**KERNEL).fit(few, y, gram=stale)
    how = {**KERNEL, "blocks": 3, "ridge": 1e-2}
    model, plain = fg.GNTKRegressor(**how).fit(few, y, gram=stale), fg.GNTKRegressor(**how).fit(few, y)
    SOLVED.check(model.predict(few), plain.predict(few))


def test_the_name_of_no_engine_is_refused(store):
    with pytest.raises(fg.InputError, match=r"engine must be one of auto, .*, but is 'bogus'\.$"):
        fg.GNTKRegressor(blocks=2, layers=1, engine="bogus").fit(GRAPHS, EDGES, gram=store)


def test_the_same_kernel_in_other_words_is_the_same(store):
    how = {**KERNEL, "ridge": 1e-2}
    model = fg.GNTKRegressor(jump=(1, 1, 1), **how).fit(GRAPHS, EDGES, gram=store)
    SOLVED.check(model.predict(GRAPHS), fg.GNTKRegressor(**how).fit(GRAPHS, EDGES, gram=store).predict(GRAPHS))


def test_weights_count(store):
    weights = np.linspace(0.5, 2.0, len(GRAPHS))
    model, plain = (
        fg.GNTKRegressor(**KERNEL, ridge=1e-2).fit(GRAPHS, EDGES, weights, gram=given) for given in (store, None)
    )
    SOLVED.check(model.predict(NEW), plain.predict(NEW))


def test_a_classification_is_the_same(store):
    model = fg.GNTKClassifier(**KERNEL, method="ridge", ridge=1e-2)
    plain = clone(model).fit(GRAPHS, CLASSES)
    model.fit(GRAPHS, CLASSES, gram=str(store.path))  # by its path
    SOLVED.check(model.predict_proba(NEW), plain.predict_proba(NEW))
    assert "gram" not in model.get_params()


@pytest.mark.parametrize("method", ["svc", "ridge"])
def test_graphs_cut_in_the_same_way_give_the_same_bits(tmp_path, method):
    stored = fg.gram(GRAPHS, SPEC, engine="lossless", store=tmp_path / "K.zarr")
    assert len(stored.all_tiles()) == 1  # so that blocks end where they end in memory
    model = fg.GNTKClassifier(**KERNEL, method=method)
    plain = clone(model).fit(GRAPHS, CLASSES)
    model.fit(GRAPHS, CLASSES, gram=stored)
    assert np.array_equal(model.predict_proba(NEW), plain.predict_proba(NEW))


@pytest.mark.parametrize("solver", ["nystrom", "sketched"])
def test_no_more_is_read_than_the_solver_needs(store, solver, monkeypatch):
    held = []
    gather = fg.StoredGram._gather

    def noted(self, rows, cols):
        held.append(len(rows) * len(cols))
        return gather(self, rows, cols)

    monkeypatch.setattr(fg.StoredGram, "_gather", noted)
    monkeypatch.setattr("fastgntk.solvers._sketched.BLOCK", store.side)
    reads = []
    read = fg.StoredGram._read
    monkeypatch.setattr(fg.StoredGram, "_read", lambda self, tile: reads.append(tile) or read(self, tile))
    fg.GNTKRegressor(**KERNEL, solver=solver, rank=20).fit(GRAPHS, EDGES, gram=store)
    assert max(held) == len(GRAPHS) * (20 if solver == "nystrom" else store.side)
    # Each tile once for its rows and once for its columns; the diagonal is read before.
    assert len(reads) <= 2 * len(store.all_tiles()) + -(-len(store) // store.side)


def test_memory_counts(store):
    model = fg.GNTKRegressor(**KERNEL, solver="cholesky", memory="100kB")
    with pytest.raises(fg.InputError, match="memory=100 kB is too small: the result alone takes 180 kB"):
        model.fit(GRAPHS, EDGES, gram=store)


def test_a_model_goes_on_with_the_engine_of_the_store(tmp_path):
    few, path = GRAPHS[:30], tmp_path / "K.zarr"
    fg.gram(few, SPEC, engine="decoupled", store=path)
    model = fg.GNTKRegressor(blocks=2, layers=1).fit(few, EDGES[:30], gram=path)
    assert model.expansion_.rows.options.engine == "decoupled"


def test_a_sketched_matrix_needs_the_same_sketch(tmp_path):
    few, path = GRAPHS[:30], tmp_path / "K.zarr"
    sketch = {"sketch_size": 0.9, "seed": 3}
    fg.gram(few, SPEC, engine="sketched", store=path, **sketch)
    same, other, exact = (
        fg.GNTKRegressor(blocks=2, layers=1, ridge=1e-2, **how)
        for how in (
            {"engine": "sketched", "sketching": sketch},
            {"engine": "sketched", "sketching": sketch | {"seed": 4}},
            {},
        )
    )
    FLOAT64.check(same.fit(few, EDGES[:30], gram=path).expansion_.rows.own, fg.open_gram(path).diagonal())
    with pytest.raises(fg.InputError, match=r"with sketch .*'seed': 3.*, but sketch .*'seed': 4"):
        other.fit(few, EDGES[:30], gram=path)
    with pytest.raises(fg.InputError, match="with engine sketched, but engine auto was asked for; give the graphs"):
        exact.fit(few, EDGES[:30], gram=path)


@pytest.mark.parametrize(
    ("graphs", "options", "words"),
    [
        (GRAPHS, {"blocks": 3}, r"with kernel GNTK\(blocks=2.*, but kernel GNTK\(blocks=3.*; give the graphs and opt"),
        (GRAPHS, {"jump": False}, r"jump=True.*, but kernel .*jump=False"),
        (GRAPHS, {"engine": "decoupled"}, "with engine lossless, but engine decoupled was asked for"),
        (GRAPHS, {"features": "degree"}, "with data [0-9a-f]{12}, but data [0-9a-f]{12} was asked for; give the gr"),
        (GRAPHS[::-1], {}, "with data [0-9a-f]{12}, but data"),
        (GRAPHS[:-1], {}, "holds the matrix of 150 graphs, but there are 149 to learn from; give the graphs and opt"),
    ],
)
def test_another_matrix_is_refused(store, graphs, options, words):
    model = fg.GNTKRegressor(**KERNEL | options)
    with pytest.raises(fg.InputError, match=words):
        model.fit(graphs, EDGES[: len(graphs)], gram=store)


def test_what_is_no_whole_store_is_refused(store, tmp_path):
    model = fg.GNTKRegressor(**KERNEL)
    with pytest.raises(fg.InputError, match="gram must be a matrix that fastgntk stored, or its path, but is a ndarr"):
        model.fit(GRAPHS, EDGES, gram=np.asarray(store))
    with pytest.raises(fg.InputError, match=r"nothing.zarr does not exist; build it with"):
        model.fit(GRAPHS, EDGES, gram=tmp_path / "nothing.zarr")
    part = fg.open_gram(shutil.copytree(store.path, tmp_path / "part.zarr"))
    part.file((0, 1)).unlink()
    tiles = len(part.all_tiles())
    with pytest.raises(fg.InputError, match=f"has {tiles - 1} of its {tiles} tiles; compute the others first, by the"):
        model.fit(GRAPHS, EDGES, gram=part)


def test_it_goes_into_other_methods(store):
    K = fg.gram(GRAPHS, SPEC, engine="lossless")
    machine = SVC(kernel="precomputed").fit(np.asarray(store), CLASSES)
    plain = SVC(kernel="precomputed").fit(K, CLASSES)
    assert (machine.predict(np.asarray(store)) == plain.predict(K)).all()
