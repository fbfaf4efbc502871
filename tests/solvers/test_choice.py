"""Which solver ``solver="auto"`` takes, and that the log names it."""

from __future__ import annotations

import numpy as np
import pytest

import fastgntk as fg
from fastgntk import InputError, datasets
from fastgntk.solvers import _solve
from fastgntk.solvers._solve import SolverChoice, choose_solver

GRAPHS = datasets.load("MUTAG").graphs[:40]
CLASSES = datasets.load("MUTAG").y[:40]
ONE, LITTLE = fg.GNTK(1), fg.Compute(max_memory="12 kB")
SMALL = fg.selection.Grid(blocks=(1,), layers=(1,), scale=("uniform",), jump=(True,), C=(1.0,))

CHOICES = [
    # graphs, memory, rank, on disk, solver, some of the reason
    (1, "1GB", None, False, "cholesky", "exact"),
    (10_000, "0.8GB", None, False, "cholesky", "quick up to 10,000 graphs"),
    (
        10_000,
        "0.79GB",
        None,
        False,
        "nystrom",
        "a matrix of 800 MB is too much for max_memory=790 MB, but 1,000 columns fit",
    ),
    (10_001, "4GB", None, False, "cg", "a matrix of 800 MB fits"),
    (20_000, "4.2GB", None, False, "cg", "a matrix of 3.2 GB fits"),
    (20_000, "4.0GB", None, False, "nystrom", "a matrix of 3.2 GB is too much for max_memory=4.0 GB"),
    (20_000, "4.0GB", 1_000, False, "cg", "fits"),
    (100_000, "11GB", None, False, "nystrom", "but 3,163 columns fit"),
    (100_000, "10GB", None, False, "features", "and so are 3,163 of its columns: time and memory grow with the number"),
    (100_000, "10GB", 2_000, False, "nystrom", "but 2,000 columns fit"),
    (100_001, "11GB", None, False, "features", "more than 100,000 graphs"),
    (100_001, "1TB", None, False, "cg", "fits into memory"),
    (1_000_000, "64GB", None, False, "features", "more than 100,000 graphs"),
    (1_000_000, "64GB", None, True, "nystrom", "columns are read from disk"),
]


@pytest.mark.parametrize(("n", "memory", "rank", "stored", "solver", "words"), CHOICES)
def test_the_solver_by_graphs_and_memory(n, memory, rank, stored, solver, words):
    found = choose_solver("auto", n, rank=rank, memory=memory, stored=stored)
    assert found.solver == solver
    assert words in found.reason


@pytest.mark.parametrize("name", ["cholesky", "cg", "features"])
def test_a_solver_chosen_by_name_is_taken(name):
    assert choose_solver(name, 10**6, memory=1) == SolverChoice(name, "chosen by name")


@pytest.mark.parametrize("n", [50, 5_000, 30_000, 300_000])
def test_more_memory_never_gives_a_coarser_solver(n):
    order = ["features", "nystrom", "cg", "cholesky"]
    found = [order.index(choose_solver("auto", n, memory=10.0**power).solver) for power in range(3, 14)]
    assert found == sorted(found)


def _limits(monkeypatch, max_cholesky, max_nystrom, room=10**9):
    monkeypatch.setattr(_solve, "memory_budget", lambda memory: room)  # kernels need more than so little
    monkeypatch.setattr(_solve, "_MAX_CHOLESKY_GRAPHS", max_cholesky)
    monkeypatch.setattr(_solve, "_MAX_NYSTROM_GRAPHS", max_nystrom)


@pytest.mark.parametrize(
    ("max_cholesky", "max_nystrom", "room", "solver"),
    [
        (40, 40, 10**9, "cholesky"),
        (39, 40, 10**9, "cg"),
        (39, 40, 12_000, "nystrom"),
        (39, 39, 12_000, "features"),
    ],
)
def test_estimators_take_the_choice_and_log_it(monkeypatch, caplog, max_cholesky, max_nystrom, room, solver):
    _limits(monkeypatch, max_cholesky, max_nystrom, room)
    with caplog.at_level("INFO", "fastgntk"):
        number = fg.GraphRegressor(ONE, 0.1, n_components=5).fit(GRAPHS, GRAPHS.sizes)
        kind = fg.GraphClassifier(ONE, "ridge", alpha=0.1, n_components=5).fit(GRAPHS, CLASSES)
    assert number.solver_ == number.solution_.solver == kind.solver_ == solver
    assert caplog.text.count(f"solver {solver} for 40 graphs: ") == 2
    again = fg.GraphRegressor(ONE, 0.1, n_components=5, solver=solver).fit(GRAPHS, GRAPHS.sizes)
    assert np.array_equal(number.predict(GRAPHS), again.predict(GRAPHS))


def test_searches_take_the_choice(monkeypatch):
    _limits(monkeypatch, 0, 100)
    model = fg.GraphRegressorCV(SMALL, alphas=(0.1,)).fit(GRAPHS, GRAPHS.sizes)
    assert (model.solver, model.solver_) == ("auto", "cg")
    kind = fg.GraphClassifierCV(SMALL, "ridge", alphas=(0.1,)).fit(GRAPHS, CLASSES)
    assert kind.solver_ == "cg"


def test_a_solver_chosen_by_name_is_not_logged(caplog):
    with caplog.at_level("INFO", "fastgntk"):
        fg.GraphRegressor(ONE, solver="cholesky").fit(GRAPHS, GRAPHS.sizes)
    assert "solver cholesky" not in caplog.text


def test_svms_have_a_solver_of_their_own():
    assert fg.GraphClassifier(ONE).fit(GRAPHS, CLASSES).solver_ == "svm"
    assert fg.GraphClassifier(ONE, solver="auto").fit(GRAPHS, CLASSES).solver_ == "svm"
    with pytest.raises(InputError, match="solver and n_components apply to method='ridge' only"):
        fg.GraphClassifier(ONE, solver="features").fit(GRAPHS, CLASSES)


@pytest.mark.parametrize(
    "model", [fg.GraphClassifier(ONE, compute=LITTLE), fg.GraphClassifierCV(SMALL, compute=LITTLE)], ids=["one", "CV"]
)
def test_svms_beyond_the_memory_limit_are_refused_with_an_alternative(model):
    words = "need the whole kernel matrix of 40 graphs, 13 kB, which is more than max_memory=12 kB; use method='ridge'"
    with pytest.raises(InputError, match=words):
        model.fit(GRAPHS, CLASSES)


def test_a_stored_matrix_is_preferred_to_random_features(monkeypatch, tmp_path):
    pytest.importorskip("zarr")
    _limits(monkeypatch, 0, 0, 12_000)
    path = tmp_path / "gram.zarr"
    fg.gram(GRAPHS, fg.GNTK(1, 1), store=path)
    model = fg.GraphRegressor(fg.GNTK(1, 1), 0.1, n_components=5).fit(GRAPHS, GRAPHS.sizes, gram=path)
    assert model.solver_ == "nystrom"
    with pytest.raises(InputError, match="solver='features' needs no kernel values; leave gram out"):
        fg.GraphRegressor(fg.GNTK(1, 1), solver="features").fit(GRAPHS, GRAPHS.sizes, gram=path)
