from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from tests.tables import FLOAT64

from fastgntk import GNTK, Graph, InputError, cross_gram, datasets, diagonal, gram, normalize
from fastgntk.compat.grakel import GrakelGNTK

MUTAG = datasets.load("MUTAG").graphs
TRAIN, TEST = MUTAG[:12], MUTAG[30:35]
SPEC = GNTK(2, 1)

AS_GRAKEL = [
    ([{(0, 1), (1, 0), (1, 2), (2, 1)}, {0: "C", 1: "O", 2: "C"}, {}]),
    ([{(0, 1), (1, 0)}, {0: "C", 1: "N"}, {}]),
]
AS_GRAPHS = [
    Graph.from_edges([(0, 1), (1, 2)], 3, labels=["C", "O", "C"]),
    Graph.from_edges([(0, 1)], 2, labels=["C", "N"]),
]


@pytest.mark.parametrize("divide", [False, True])
def test_rows_are_new_graphs_and_columns_fitted_ones(divide):
    kernel = GrakelGNTK(2, 1, normalize=divide)
    K, rows = gram(TRAIN, SPEC), cross_gram(TEST, TRAIN, SPEC)
    if divide:
        K, rows = normalize(K), normalize(rows, diagonal(TEST, SPEC), diagonal(TRAIN, SPEC))
    FLOAT64.check(kernel.fit_transform(TRAIN), K)
    FLOAT64.check(kernel.transform(TEST), rows)
    FLOAT64.check(kernel.fit(TRAIN).transform(TRAIN), K)


@pytest.mark.parametrize("divide", [False, True])
def test_diagonals_are_raw_and_those_of_transformed_graphs_come_second(divide):
    kernel = GrakelGNTK(2, 1, normalize=divide).fit(TRAIN)
    FLOAT64.check(kernel.diagonal(), diagonal(TRAIN, SPEC))
    kernel.transform(TEST)
    fitted, transformed = kernel.diagonal()
    FLOAT64.check(fitted, diagonal(TRAIN, SPEC))
    FLOAT64.check(transformed, diagonal(TEST, SPEC))
    kernel.fit_transform(TEST)
    FLOAT64.check(kernel.diagonal(), diagonal(TEST, SPEC))
    kernel.transform(TEST)
    assert isinstance(kernel.fit(TRAIN).diagonal(), np.ndarray)


def test_diagonals_may_be_changed():
    kernel = GrakelGNTK(2, 1).fit(TRAIN)
    kernel.diagonal()[:] = 0
    assert kernel.diagonal().all()


def test_the_shapes_are_those_of_grakel():
    grakel = pytest.importorskip("grakel")
    theirs = grakel.WeisfeilerLehman(n_iter=2, normalize=True, base_graph_kernel=grakel.VertexHistogram)
    ours = GrakelGNTK(2, 1, normalize=True)
    for kernel, train, test in ((theirs, AS_GRAKEL, AS_GRAKEL[:1]), (ours, AS_GRAPHS, AS_GRAPHS[:1])):
        assert kernel.fit_transform(train).shape == (2, 2)
        assert np.shape(kernel.diagonal()) == (2,)
        assert kernel.transform(test).shape == (1, 2)
        np.testing.assert_allclose(kernel.transform(train).diagonal(), 1.0)
        assert [np.shape(part) for part in kernel.diagonal()] == [(2,), (2,)]
        assert kernel.fit(train) is kernel


def test_the_form_of_grakel_is_taken():
    FLOAT64.check(GrakelGNTK(2, 1).fit_transform(AS_GRAKEL), gram(AS_GRAPHS, SPEC))


def test_graphs_of_grakel_are_taken():
    grakel = pytest.importorskip("grakel")
    given = [grakel.Graph(*parts) for parts in AS_GRAKEL]
    FLOAT64.check(GrakelGNTK(2, 1).fit_transform(given), gram(AS_GRAPHS, SPEC))


def test_it_must_be_fitted_and_given_graphs():
    for method in (lambda kernel: kernel.transform(TEST), lambda kernel: kernel.diagonal()):
        with pytest.raises(NotFittedError):
            method(GrakelGNTK())
    for method in (GrakelGNTK().fit, GrakelGNTK().fit_transform, GrakelGNTK().fit(TRAIN).transform):
        with pytest.raises(InputError, match="X must be graphs, but is None"):
            method(None)


def test_clone_and_pickle_work():
    kernel = GrakelGNTK(2, 1, normalize=True)
    K = kernel.fit_transform(TRAIN)
    kernel.transform(TEST)
    again = pickle.loads(pickle.dumps(kernel))
    FLOAT64.check(again.transform(TRAIN), K)
    other = clone(kernel)
    assert other.get_params() == kernel.get_params()
    with pytest.raises(NotFittedError):
        other.diagonal()
