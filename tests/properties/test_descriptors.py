"""Kernels on descriptors: equal to scikit-learn's and to literal formulas, and the same by every route."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from tests.tables import DESCRIPTOR_KERNELS, EXACT, case, described

from fastgntk import GNTK, RBF, Compute, Linear, Tanimoto, cross_gram, diagonal, gram, gram_path, parse_kernel, prepare
from fastgntk.engines._descriptor_kernels import Vectors

GRAPHS = described()
every_kernel = pytest.mark.parametrize("kernel", DESCRIPTOR_KERNELS.values(), ids=DESCRIPTOR_KERNELS)


def dense(block) -> np.ndarray:
    return block.toarray() if sparse.issparse(block) else np.asarray(block)


def expected(kernel, X: np.ndarray, train: np.ndarray) -> np.ndarray:
    """Values among rows X, scaled by the rows of ``train``, from scikit-learn or from loops over columns."""
    if isinstance(kernel, Tanimoto):
        return np.array([[minimum_over_maximum(x, y) for y in X] for x in X])
    logarithm = FunctionTransformer(lambda x: np.copysign(np.log(1 + abs(x)), x))
    steps = {"standard": [StandardScaler()], "log": [logarithm, StandardScaler()], "none": []}[kernel.scaling]
    for step in steps:
        step.fit(train)
        train, X = step.transform(train), step.transform(X)
    varies = np.ptp(train, axis=0) > 1e-9 * abs(train).max(axis=0)
    if steps:
        train, X = train[:, varies], X[:, varies]
    if isinstance(kernel, Linear):
        return linear_kernel(X) / X.shape[1]
    gamma = 1 / (2 * kernel.length_scale**2) if kernel.length_scale != "median" else 1 / median_square(train)
    return rbf_kernel(X - X.mean(axis=0), gamma=gamma)


def minimum_over_maximum(x, y) -> float:
    largest = sum(max(a, b) for a, b in zip(x, y, strict=True))
    return sum(min(a, b) for a, b in zip(x, y, strict=True)) / largest if largest else 1.0


def median_square(Z) -> float:
    squares = [sum((a - b) ** 2) for i, a in enumerate(Z) for b in Z[:i]]
    return float(np.median([square for square in squares if square > 0]))


@every_kernel
def test_values_equal_those_of_other_libraries(kernel):
    X = dense(GRAPHS.descriptors[kernel.on])
    EXACT.check(gram(GRAPHS, kernel), expected(kernel, X, X))


@every_kernel
def test_scales_are_those_of_the_columns_of_a_cross_matrix(kernel):
    X = dense(GRAPHS.descriptors[kernel.on])
    values = expected(kernel, X, X[:15])
    EXACT.check(cross_gram(GRAPHS[15:], GRAPHS[:15], kernel), values[15:, :15])
    train = prepare(GRAPHS[:15], kernel)
    EXACT.check(cross_gram(GRAPHS[15:], train), values[15:, :15])
    EXACT.check(gram(train.subset(np.array([9, 2, 4]))), values[np.ix_([9, 2, 4], [9, 2, 4])])
    EXACT.check(diagonal(train.prepare_rows(GRAPHS[15:])), values.diagonal()[15:])


@every_kernel
def test_matrices_are_symmetric_and_positive_semidefinite(kernel):
    graphs = described(60, seed=1)
    K = gram(graphs, kernel)
    assert np.array_equal(K, K.T)
    assert np.linalg.eigvalsh(K)[0] > -1e-12 * np.trace(K)
    if not isinstance(kernel, Linear):
        assert (K.diagonal() == 1.0).all()
        assert (diagonal(graphs, kernel) == 1.0).all()
    order = np.random.default_rng(0).permutation(60)
    EXACT.check(gram(graphs[order], kernel), K[np.ix_(order, order)])


@every_kernel
def test_values_are_the_same_by_every_route(kernel, monkeypatch):
    K = gram(GRAPHS, kernel)
    assert np.array_equal(gram_path(GRAPHS, kernel).at(), K)
    assert np.array_equal(gram(pickle.loads(pickle.dumps(prepare(GRAPHS, kernel)))), K)
    assert np.array_equal(gram(GRAPHS, parse_kernel(repr(kernel)), compute=Compute(n_jobs=1, max_memory="1MB")), K)
    assert np.array_equal(gram(GRAPHS, kernel, compute=Compute(engine="decoupled")), K)  # an option for networks
    monkeypatch.setattr(Vectors, "max_group_nodes", 5)
    EXACT.check(gram(GRAPHS, kernel), K)
    one = gram(GRAPHS, kernel, compute=Compute(n_jobs=1))
    assert np.array_equal(gram(GRAPHS, kernel, compute=Compute(n_jobs=3)), one)


def test_equal_rows_are_equal_graphs():
    for name in ("gaussian", "linear, log", "min-max of sparse counts"):
        with case(name):
            groups = prepare(GRAPHS, DESCRIPTOR_KERNELS[name]).first_equal_graph()
            same = {1: 4} if name == "min-max of sparse counts" else {}
            assert {int(first): i for i, first in enumerate(groups) if first != i} == {3: 5} | same
    both = RBF("heavy") + RBF("dose")
    assert prepare(GRAPHS, both).first_equal_graph().tolist() == list(range(len(GRAPHS)))


def test_numbers_far_from_zero_keep_their_digits():
    graphs = GRAPHS.with_descriptors(far=1e9 + np.arange(23.0))
    K = gram(graphs, RBF("far", 1.0, scaling="none"))
    assert K[3, 4] == pytest.approx(np.exp(-0.5), rel=1e-12)


def test_combinations_with_kernels_of_nodes():
    from fastgntk import datasets

    graphs = datasets.load("MUTAG").graphs[:23].with_descriptors(GRAPHS.descriptors)
    kernel, parts = (GNTK(1) * RBF("dose") + Linear("heavy")).normalized(), (GNTK(1), RBF("dose"), Linear("heavy"))
    first, second, third = (gram(graphs, part) for part in parts)
    values = first * second + third
    root = np.sqrt(values.diagonal())
    EXACT.check(gram(graphs, kernel), values / root / root[:, None])
    assert gram(graphs[:3], GNTK(1)).tolist() == gram(graphs[:3].with_descriptors(heavy=None), GNTK(1)).tolist()
