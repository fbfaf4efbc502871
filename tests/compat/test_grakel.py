from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from tests.tables import FLOAT64

from fastgntk import GNTK, Graph, InputError, cross_gram, datasets, diagonal, gram
from fastgntk.compat.grakel import GrakelKernel
from fastgntk.kernels import Normalized

MUTAG = datasets.load("MUTAG").graphs
TRAIN, TEST = MUTAG[:12], MUTAG[30:35]
KERNEL = GNTK(2, 1)
SUM = KERNEL + GNTK(1, features="degree")

every_kernel = pytest.mark.parametrize(
    "kernel", [KERNEL, KERNEL.normalized(), SUM.normalized()], ids=["raw", "normalised", "normalised sum"]
)

AS_GRAKEL = [
    ([{(0, 1), (1, 0), (1, 2), (2, 1)}, {0: "C", 1: "O", 2: "C"}, {}]),
    ([{(0, 1), (1, 0)}, {0: "C", 1: "N"}, {}]),
]
AS_GRAPHS = [
    Graph.from_edges([(0, 1), (1, 2)], 3, labels=["C", "O", "C"]),
    Graph.from_edges([(0, 1)], 2, labels=["C", "N"]),
]


@every_kernel
def test_rows_are_new_graphs_and_columns_fitted_ones(kernel):
    step, K = GrakelKernel(kernel), gram(TRAIN, kernel)
    FLOAT64.check(step.fit_transform(TRAIN), K)
    FLOAT64.check(step.transform(TEST), cross_gram(TEST, TRAIN, kernel))
    FLOAT64.check(step.fit(TRAIN).transform(TRAIN), K)


@every_kernel
def test_diagonals_are_raw_and_those_of_transformed_graphs_come_second(kernel):
    raw = kernel.kernel if isinstance(kernel, Normalized) else kernel
    step = GrakelKernel(kernel).fit(TRAIN)
    FLOAT64.check(step.diagonal(), diagonal(TRAIN, raw))
    step.transform(TEST)
    fitted, transformed = step.diagonal()
    FLOAT64.check(fitted, diagonal(TRAIN, raw))
    FLOAT64.check(transformed, diagonal(TEST, raw))
    step.fit_transform(TEST)
    FLOAT64.check(step.diagonal(), diagonal(TEST, raw))
    step.transform(TEST)
    assert isinstance(step.fit(TRAIN).diagonal(), np.ndarray)


def test_diagonal_is_a_copy():
    kernel = GrakelKernel(KERNEL).fit(TRAIN)
    kernel.diagonal()[:] = 0
    assert kernel.diagonal().all()


def test_shapes_equal_those_of_grakel():
    grakel = pytest.importorskip("grakel")
    theirs = grakel.WeisfeilerLehman(n_iter=2, normalize=True, base_graph_kernel=grakel.VertexHistogram)
    ours = GrakelKernel(KERNEL.normalized())
    for kernel, train, test in ((theirs, AS_GRAKEL, AS_GRAKEL[:1]), (ours, AS_GRAPHS, AS_GRAPHS[:1])):
        assert kernel.fit_transform(train).shape == (2, 2)
        assert np.shape(kernel.diagonal()) == (2,)
        assert kernel.transform(test).shape == (1, 2)
        np.testing.assert_allclose(kernel.transform(train).diagonal(), 1.0)
        assert [np.shape(part) for part in kernel.diagonal()] == [(2,), (2,)]
        assert kernel.fit(train) is kernel


def test_grakel_tuples_are_accepted():
    FLOAT64.check(GrakelKernel(KERNEL).fit_transform(AS_GRAKEL), gram(AS_GRAPHS, KERNEL))


def test_grakel_graphs_are_accepted():
    grakel = pytest.importorskip("grakel")
    given = [grakel.Graph(*parts) for parts in AS_GRAKEL]
    FLOAT64.check(GrakelKernel(KERNEL).fit_transform(given), gram(AS_GRAPHS, KERNEL))


def test_methods_need_fit_and_graphs():
    for method in (lambda kernel: kernel.transform(TEST), lambda kernel: kernel.diagonal()):
        with pytest.raises(NotFittedError):
            method(GrakelKernel())
    for method in (GrakelKernel().fit, GrakelKernel().fit_transform, GrakelKernel().fit(TRAIN).transform):
        with pytest.raises(InputError, match="graphs must be a sequence of graphs, but got None"):
            method(None)


def test_clone_and_pickle_work():
    kernel = GrakelKernel(KERNEL.normalized())
    K = kernel.fit_transform(TRAIN)
    kernel.transform(TEST)
    again = pickle.loads(pickle.dumps(kernel))
    FLOAT64.check(again.transform(TRAIN), K)
    other = clone(kernel)
    assert other.get_params() == kernel.get_params()
    with pytest.raises(NotFittedError):
        other.diagonal()
