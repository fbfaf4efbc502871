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
from fastgntk.models import _training_kernel
from fastgntk.pairwise import _prepared
from fastgntk.pairwise.store import StoredGram, _build
from fastgntk.solvers import SOLVERS

# Kernel values in another order of graphs differ by 1e-8 (tests/tables.py); over an alpha of 1e-2 that makes 1e-6.
SOLVED = Tolerance(relative=1e-6, absolute=1e-6)

DATA = fg.datasets.load("MUTAG")
GRAPHS, CLASSES = DATA.graphs[:150], DATA.y[:150]
EDGES = np.array([graph.n_edges for graph in GRAPHS], dtype=float)
NEW = DATA.graphs[150:]
KERNEL = fg.GNTK(2, 1)
LOSSLESS = fg.Compute(engine="lossless")
COMPOSITE = KERNEL + fg.GNTK(1, features="degree").normalized()
FEW, FEW_EDGES = GRAPHS[:40], EDGES[:40]
NEW_OF_FEW = [graph for graph in NEW if graph.labels.max() <= FEW.labels.max()][:20]  # without unseen labels


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_build, "_MAX_TILE_PAIRS", 1e3)  # small sides, so that there are several tiles
        stored = fg.gram(GRAPHS, KERNEL, compute=LOSSLESS, store=tmp_path_factory.mktemp("stored") / "K.zarr")
    assert len(stored.all_tiles()) > 10
    return stored


def regressor(kernel=KERNEL, **options) -> fg.GraphRegressor:
    return fg.GraphRegressor(kernel, **{"alpha": 1e-2, "compute": LOSSLESS, **options})


@contextmanager
def no_kernel_values():
    """Make it an error to compute values among training graphs, or of training graphs with themselves."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("gram", "gram_columns"):
            patch.setattr(_training_kernel.pairwise, name, None)
        patch.setattr(_prepared, "leaf_diagonal", None)
        yield


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [KERNEL, KERNEL.normalized()], ids=["raw", "normalised"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_regression_from_a_store_is_the_same(store, solver, kernel):
    options = {"solver": solver, "n_components": None if solver in ("cholesky", "eigen") else 60}
    plain = regressor(kernel, **options).fit(GRAPHS, EDGES)
    with no_kernel_values():
        model = regressor(kernel, **options).fit(GRAPHS, EDGES, gram=store)
    SOLVED.check(np.array(model.predict(NEW, return_std=True)), np.array(plain.predict(NEW, return_std=True)))
    SOLVED.check(model.solution_.leave_one_out, plain.solution_.leave_one_out)
    SOLVED.check(model.similarities(NEW), plain.similarities(NEW))
    basis = model.expansion_.basis.prepared, plain.expansion_.basis.prepared
    SOLVED.check(*(next(iter(prepared.leaf_diagonals().values())) for prepared in basis))


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["cholesky", "nystrom"])
@pytest.mark.parametrize(
    ("stored", "fitted"),
    [
        (COMPOSITE, COMPOSITE),
        (COMPOSITE, COMPOSITE.normalized()),
        (COMPOSITE.normalized(), COMPOSITE.normalized()),
        (KERNEL.normalized(), KERNEL.normalized()),
        (2.0 * KERNEL, 2.0 * KERNEL),
        (2.0 * KERNEL, (2.0 * KERNEL).normalized()),
        (KERNEL * KERNEL, KERNEL * KERNEL),
        (KERNEL + KERNEL.normalized(), KERNEL + KERNEL.normalized()),
    ],
    ids=str,
)
def test_composite_kernel_from_a_store_is_the_same(tmp_path, stored, fitted, solver):
    """Also where the only leaf of the kernel has another diagonal than the stored matrix."""
    fg.gram(FEW, stored, compute=LOSSLESS, store=tmp_path / "K.zarr")
    model, plain = (
        regressor(fitted, solver=solver, n_components=30).fit(FEW, FEW_EDGES, gram=given)
        for given in (tmp_path / "K.zarr", None)
    )
    SOLVED.check(*(np.array(one.predict(NEW_OF_FEW, return_std=True)) for one in (model, plain)))
    SOLVED.check(model.similarities(NEW_OF_FEW), plain.similarities(NEW_OF_FEW))
    SOLVED.check(model.explain(NEW[0]).node_contributions, plain.explain(NEW[0]).node_contributions)


def test_normalised_kernel_with_unit_weights_uses_the_stored_form(tmp_path):
    fg.gram(FEW, KERNEL, compute=LOSSLESS, store=tmp_path / "K.zarr")
    weighted, plain = fg.GNTK(2, 1, jump=(1, 1, 1)).normalized(), KERNEL.normalized()
    model = regressor(weighted).fit(FEW, FEW_EDGES, gram=tmp_path / "K.zarr")
    SOLVED.check(model.predict(NEW_OF_FEW), regressor(plain).fit(FEW, FEW_EDGES).predict(NEW_OF_FEW))


def test_raw_kernel_from_a_normalised_store_is_refused(tmp_path):
    fg.gram(FEW, KERNEL.normalized(), compute=LOSSLESS, store=tmp_path / "K.zarr")
    with pytest.raises(fg.InputError, match=r"with kernel GNTK\(.*\)\.normalized\(\), not kernel GNTK\([^)]*\); give"):
        regressor().fit(FEW, FEW_EDGES, gram=tmp_path / "K.zarr")


def test_rebuilt_store_is_opened_again(tmp_path):
    path = tmp_path / "K.zarr"
    stale = fg.gram(FEW, KERNEL, compute=LOSSLESS, store=path)
    shutil.rmtree(path)
    fg.gram(FEW, fg.GNTK(3, 1), compute=LOSSLESS, store=path)
    with pytest.raises(
        fg.InputError, match=r"holds a matrix with kernel GNTK\(layers=1\), not kernel GNTK\(blocks=2, la"
    ):
        regressor().fit(FEW, FEW_EDGES, gram=stale)
    deeper = regressor(fg.GNTK(3, 1))
    model, plain = clone(deeper).fit(FEW, FEW_EDGES, gram=stale), deeper.fit(FEW, FEW_EDGES)
    SOLVED.check(model.predict(FEW), plain.predict(FEW))


def test_equivalent_kernel_is_accepted(store):
    model = regressor(fg.GNTK(2, 1, jump=(1, 1, 1))).fit(GRAPHS, EDGES, gram=store)
    SOLVED.check(model.predict(GRAPHS), regressor().fit(GRAPHS, EDGES, gram=store).predict(GRAPHS))


def test_sample_weights_count(store):
    weights = np.linspace(0.5, 2.0, len(GRAPHS))
    model, plain = (regressor().fit(GRAPHS, EDGES, weights, gram=given) for given in (store, None))
    SOLVED.check(model.predict(NEW), plain.predict(NEW))


def test_classification_from_the_path_of_a_store_is_the_same(store):
    model = fg.GraphClassifier(KERNEL, "ridge", alpha=1e-2, compute=LOSSLESS)
    plain = clone(model).fit(GRAPHS, CLASSES)
    model.fit(GRAPHS, CLASSES, gram=str(store.path))
    SOLVED.check(model.predict_proba(NEW), plain.predict_proba(NEW))
    assert "gram" not in model.get_params()


@pytest.mark.parametrize("method", ["svm", "ridge"])
@pytest.mark.parametrize("kernel", [KERNEL, COMPOSITE], ids=["tangent", "sum"])
def test_store_of_one_tile_gives_the_same_bits(tmp_path, method, kernel):
    stored = fg.gram(FEW, kernel, compute=LOSSLESS, store=tmp_path / "K.zarr")
    assert len(stored.all_tiles()) == 1  # so that blocks end where they end in memory
    model = fg.GraphClassifier(kernel, method, compute=LOSSLESS)
    plain = clone(model).fit(FEW, CLASSES[:40])
    model.fit(FEW, CLASSES[:40], gram=stored)
    assert np.array_equal(model.predict_proba(NEW_OF_FEW), plain.predict_proba(NEW_OF_FEW))


@pytest.mark.parametrize("solver", ["nystrom", "sketched"])
def test_no_more_is_read_than_the_solver_needs(store, solver, monkeypatch):
    gathered = []
    gather = StoredGram._gather

    def counting(self, rows, cols):
        gathered.append(len(rows) * len(cols))
        return gather(self, rows, cols)

    monkeypatch.setattr(StoredGram, "_gather", counting)
    monkeypatch.setattr("fastgntk.solvers._low_rank.BLOCK", store.tile_size)
    reads = []
    read = StoredGram._read
    monkeypatch.setattr(StoredGram, "_read", lambda self, tile: reads.append(tile) or read(self, tile))
    regressor(solver=solver, n_components=20).fit(GRAPHS, EDGES, gram=store)
    assert max(gathered) == len(GRAPHS) * (20 if solver == "nystrom" else store.tile_size)
    # Each tile once for its rows and once for its columns; the diagonal is read before.
    assert len(reads) <= 2 * len(store.all_tiles()) + -(-len(store) // store.tile_size)


def test_memory_limit_holds(store):
    model = regressor(solver="cholesky", compute=fg.Compute("lossless", max_memory="100kB"))
    with pytest.raises(fg.InputError, match="max_memory=100 kB is too small: the result alone takes 180 kB"):
        model.fit(GRAPHS, EDGES, gram=store)


def test_predictions_use_the_engine_of_the_store(tmp_path):
    fg.gram(FEW, KERNEL, compute=fg.Compute("decoupled"), store=tmp_path / "K.zarr")
    model = fg.GraphRegressor(KERNEL).fit(FEW, FEW_EDGES, gram=tmp_path / "K.zarr")
    assert model.expansion_.basis.prepared.engines == ["decoupled"]


def test_sketched_matrix_needs_the_same_sketch(tmp_path):
    path, sketched = tmp_path / "K.zarr", fg.GNTK(2, 1, sketch=fg.Sketch(size=0.9, seed=3))
    fg.gram(FEW, sketched, store=path)
    model = fg.GraphRegressor(sketched, 1e-2).fit(FEW, FEW_EDGES, gram=path)
    FLOAT64.check(model.expansion_.basis.prepared.diagonal(), fg.open_gram(path).diagonal())
    with pytest.raises(fg.InputError, match=r"with kernel .*seed=3\)\), not kernel .*seed=4\)\)"):
        clone(model).set_params(kernel__sketch__seed=4).fit(FEW, FEW_EDGES, gram=path)
    with pytest.raises(
        fg.InputError, match=r"with kernel .*seed=3\)\), not kernel GNTK\(blocks=2, layers=1\); give the"
    ):
        clone(model).set_params(kernel__sketch=None).fit(FEW, FEW_EDGES, gram=path)


@pytest.mark.parametrize(
    ("graphs", "options", "words"),
    [
        (
            GRAPHS,
            {"kernel": fg.GNTK(3, 1)},
            r"with kernel GNTK\(blocks=2.*, not kernel GNTK\(layers=1\); give the graphs",
        ),
        (GRAPHS, {"kernel": COMPOSITE}, r"with kernel GNTK\(.*\), not kernel .*; give the graphs and the kernel"),
        (GRAPHS, {"kernel": fg.GNTK(2, 1, jump=False)}, r"layers=1\), not kernel .*jump=False"),
        (GRAPHS, {"compute": fg.Compute("decoupled")}, "with engine lossless, not engine decoupled"),
        (
            GRAPHS,
            {"kernel": fg.GNTK(2, 1, features="degree")},
            r"layers=1\), not kernel .*features='degree'\); give the",
        ),
        (
            GRAPHS[::-1],
            {},
            r"other graphs, or .* in another order \(data [0-9a-f]{12}, not [0-9a-f]{12}\); give",
        ),
        (GRAPHS[:-1], {}, "holds the matrix of 150 graphs, but there are 149 to learn from; give the graphs and the"),
    ],
)
def test_other_matrix_is_refused(store, graphs, options, words):
    with pytest.raises(fg.InputError, match=words):
        regressor().set_params(**options).fit(graphs, EDGES[: len(graphs)], gram=store)


def test_incomplete_and_missing_stores_are_refused(store, tmp_path):
    with pytest.raises(
        fg.InputError, match="gram must be a matrix that fastgntk stored, or its path, but has type ndarr"
    ):
        regressor().fit(GRAPHS, EDGES, gram=np.asarray(store))
    with pytest.raises(fg.InputError, match=r"nothing.zarr does not exist; build it with"):
        regressor().fit(GRAPHS, EDGES, gram=tmp_path / "nothing.zarr")
    part = fg.open_gram(shutil.copytree(store.path, tmp_path / "part.zarr"))
    part.file((0, 1)).unlink()
    tiles = len(part.all_tiles())
    with pytest.raises(fg.InputError, match=f"has {tiles - 1} of its {tiles} tiles; finish it first by repeating"):
        regressor().fit(GRAPHS, EDGES, gram=part)


def test_stored_matrix_works_with_scikit_learn(store):
    K = fg.gram(GRAPHS, KERNEL, compute=LOSSLESS)
    from_store = SVC(kernel="precomputed").fit(np.asarray(store), CLASSES)
    plain = SVC(kernel="precomputed").fit(K, CLASSES)
    assert (from_store.predict(np.asarray(store)) == plain.predict(K)).all()
