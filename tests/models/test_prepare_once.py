"""Work is done once: calls of the expensive steps in one fit and in one prediction."""

from __future__ import annotations

import pickle
import sys
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import fastgntk
from fastgntk import GNTK, GraphClassifier, GraphRegressor, datasets
from fastgntk.engines._lossless import Lossless
from fastgntk.engines._refinement import refine_colours
from fastgntk.graphs.convert._as_graphs import as_graphs
from fastgntk.pairwise._group_pairs import leaf_diagonal

DATA = datasets.load("MUTAG")
GRAPHS, CLASSES = DATA.graphs[:24], DATA.y[:24]
STEPS = {"convert": as_graphs, "refine": refine_colours, "prepare": Lossless.prepare, "diagonal": leaf_diagonal}
PACKAGE = Path(fastgntk.__file__).parent


class Calls:
    """Counts of calls by function, and the folders of the package in the order in which calls enter them."""

    def __init__(self) -> None:
        self.codes: Counter = Counter()
        self.folders: list[str] = []

    def __getitem__(self, step: str) -> int:
        return self.codes[STEPS[step].__code__]

    def note(self, frame, event, _) -> None:
        if event != "call":
            return
        self.codes[frame.f_code] += 1
        file = Path(frame.f_code.co_filename)
        if file.is_relative_to(PACKAGE):
            folder = file.relative_to(PACKAGE).parts[0] if file.parent != PACKAGE else ""
            if not self.folders or self.folders[-1] != folder:
                self.folders.append(folder)


@contextmanager
def counted():
    """Count the calls of this thread."""
    calls = Calls()
    before = sys.getprofile()
    sys.setprofile(calls.note)
    try:
        yield calls
    finally:
        sys.setprofile(before)


@pytest.fixture(scope="module", autouse=True)
def _warm():
    """Load compiled code and what is imported when first used."""
    GraphClassifier(GNTK(2), probability=False).fit(GRAPHS, CLASSES).predict(GRAPHS[:1])


@pytest.mark.parametrize("kernel", [GNTK(2), GNTK(2).normalized()])
def test_fit_converts_colours_and_prepares_once(kernel):
    model = GraphClassifier(kernel, probability=False)
    with counted() as calls:
        model.fit(GRAPHS, CLASSES)
    assert {step: calls[step] for step in ("convert", "refine", "prepare")} == {"convert": 1, "refine": 1, "prepare": 1}


def test_fit_of_a_sum_prepares_once_for_each_leaf():
    model = GraphClassifier(GNTK(2) + GNTK(1, features="degree"), probability=False)
    with counted() as calls:
        model.fit(GRAPHS, CLASSES)
    assert {step: calls[step] for step in ("convert", "refine", "prepare")} == {"convert": 1, "refine": 2, "prepare": 2}


def test_fit_of_a_regressor_prepares_once():
    with counted() as calls:
        GraphRegressor(GNTK(2), calibrate=False).fit(GRAPHS, GRAPHS.sizes.astype(float))
    assert {step: calls[step] for step in ("convert", "refine", "prepare")} == {"convert": 1, "refine": 1, "prepare": 1}


@pytest.mark.parametrize(
    ("model", "preparations"),
    [
        (GraphRegressor(GNTK(2), solver="nystrom", n_components=8), 2),  # all graphs, and the landmarks on their own
        (GraphRegressor(GNTK(2).normalized(), solver="nystrom", n_components=8), 2),
        (GraphRegressor(GNTK(2), solver="cg", n_components=8), 2),
    ],
    ids=["nystrom", "normalised", "cg"],
)
def test_fit_with_landmarks_prepares_them_once(model, preparations):
    with counted() as calls:
        model.fit(GRAPHS, GRAPHS.sizes.astype(float))
    assert {step: calls[step] for step in ("convert", "refine", "prepare")} == {
        "convert": 1,
        "refine": preparations,
        "prepare": preparations,
    }


def test_diagonals_of_landmarks_are_those_of_the_training_graphs():
    model = GraphRegressor(GNTK(2), solver="nystrom", n_components=8).fit(GRAPHS, GRAPHS.sizes.astype(float))
    with counted() as calls:
        model.similarities(GRAPHS[:1])
    assert calls["diagonal"] == 1  # of the new graph


def test_prediction_without_normalisation_needs_no_diagonal():
    model = GraphClassifier(GNTK(2), probability=False).fit(GRAPHS, CLASSES)
    with counted() as calls:
        model.predict(DATA.graphs[30:31])
    assert calls["diagonal"] == 0
    assert calls["prepare"] == 1


def test_prediction_with_normalisation_computes_the_diagonal_of_the_new_graph_only():
    model = GraphClassifier(GNTK(2).normalized(), probability=False).fit(GRAPHS, CLASSES)
    with counted() as calls:
        model.predict(DATA.graphs[30:31])
    assert calls["diagonal"] == 1


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (GraphClassifier(GNTK(2), probability=False), CLASSES),
        (GraphClassifier(), CLASSES),
        (GraphClassifier(method="ridge"), CLASSES),
        (GraphRegressor(), GRAPHS.sizes.astype(float)),
    ],
    ids=["SVM without probabilities", "SVM", "ridge classifier", "regressor"],
)
def test_fit_switches_between_folders_fewer_than_60_times(model, y):
    model.fit(GRAPHS, y)  # what is loaded at the first fit does not count
    with counted() as calls:
        model.fit(GRAPHS, y)
    assert len(calls.folders) < 60


def test_a_model_on_few_landmarks_keeps_no_other_training_graphs():
    model = GraphRegressor(GNTK(2, 1), solver="nystrom", n_components=4).fit(GRAPHS, GRAPHS.sizes.astype(float))
    whole = GraphRegressor(GNTK(2, 1), solver="cholesky").fit(GRAPHS, GRAPHS.sizes.astype(float))
    assert len(pickle.dumps(model.expansion_)) < len(pickle.dumps(whole.expansion_)) / 2
    restored = pickle.loads(pickle.dumps(model))
    np.testing.assert_allclose(restored.predict(GRAPHS), model.predict(GRAPHS), rtol=1e-12)
