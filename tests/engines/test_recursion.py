from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from tests.tables import EXACT, FAMILIES

from fastgntk import GNTK, Graph, GraphBatch, InputError, as_graphs, gram
from fastgntk.engines import _recursion, kappa0, kappa1, kappas
from fastgntk.engines._recursion import Aggregation, degree_sums

ANGLES = np.linspace(0.0, np.pi, 41)


def test_values_at_the_ends_and_the_middle():
    EXACT.check(kappa0([1.0, 0.0, -1.0]), [1.0, 0.5, 0.0])
    EXACT.check(kappa1([1.0, 0.0, -1.0]), [1.0, 1 / np.pi, 0.0])


@pytest.mark.parametrize("angle", ANGLES)
def test_equal_the_gaussian_expectations_they_stand_for(angle):
    # In the plane of x and y a standard normal w has a uniform direction t, and E r² = 2.
    both_positive = (angle - np.pi / 2, np.pi / 2)
    step = 2 * quad(lambda t: 1.0, *both_positive)[0] / (2 * np.pi)
    relu = 2 * 2 * quad(lambda t: np.cos(t) * np.cos(t - angle), *both_positive)[0] / (2 * np.pi)
    np.testing.assert_allclose([kappa0(np.cos(angle)), kappa1(np.cos(angle))], [step, relu], atol=1e-12)


def test_kappa0_is_the_derivative_of_kappa1():
    lam = np.linspace(-0.99, 0.99, 101)
    step = 1e-6
    slope = (kappa1(lam + step) - kappa1(lam - step)) / (2 * step)
    np.testing.assert_allclose(slope, kappa0(lam), atol=1e-8)


def test_cosines_past_one_by_rounding_are_taken_as_one():
    over = np.array([1 + 4e-16, -1 - 4e-16, 1.5, -2.0])
    assert kappa0(over).tolist() == [1.0, 0.0, 1.0, 0.0]
    assert kappa1(over).tolist() == [1.0, 0.0, 1.0, 0.0]


@pytest.mark.parametrize("below", [1e-15, 1e-12, 1e-8])
def test_kappa1_keeps_its_digits_near_one(below):
    lam = 1.0 - below
    delta = 1.0 - lam  # what floating point made of it
    series = 1.0 - delta + 2 * np.sqrt(2) / (3 * np.pi) * delta**1.5
    assert abs(kappa1(lam) - series) < 1e-15


def test_the_fused_form_equals_the_two_functions_and_may_overwrite_its_input():
    lam = np.cos(ANGLES)
    k0, work = np.empty_like(lam), np.empty_like(lam)
    k1 = lam.copy()
    kappas(k1, k0, k1, work)
    EXACT.check(k0, kappa0(lam))
    EXACT.check(k1, kappa1(lam))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("ratio", [0.0, 1e12])
def test_sparse_and_dense_products_equal_the_matrix(family, ratio, monkeypatch):
    monkeypatch.setattr(_recursion, "SPARSE_OVER_DENSE", ratio)
    batch = as_graphs(FAMILIES[family])
    block = np.random.default_rng(0).standard_normal((batch.n_nodes, 5))
    whole = batch.adjacency().toarray() + np.eye(batch.n_nodes)
    operator = Aggregation(batch).parts[0]
    assert operator.is_sparse == (ratio == 0.0 or batch.n_nodes == 0)
    EXACT.check(operator.left(block), whole @ block)
    transposed = np.ascontiguousarray(block.T).T
    EXACT.check(operator.left(transposed), whole @ block)


@pytest.mark.parametrize("family", FAMILIES)
def test_degree_sums_are_the_row_sums_of_a_hat(family):
    batch = as_graphs(FAMILIES[family])
    EXACT.check(degree_sums(batch), batch.adjacency().toarray().sum(axis=1) + 1.0)


def test_degree_scale_refuses_weights_without_a_positive_sum_and_names_the_node():
    good = Graph.from_edges([(0, 1)], 2, np.eye(2), weights=[0.5])
    bad = Graph.from_edges([(0, 1), (1, 2)], 3, np.ones((3, 2)), weights=[1.0, -2.5])
    with pytest.raises(InputError, match=r"-0\.5 for node 1 of graph 1; use scale='uniform'"):
        gram([good, bad], GNTK(scale="degree"))
    assert np.isfinite(gram([good, bad], GNTK(scale="uniform"))).all()


def test_a_batch_without_nodes_has_an_operator():
    empty = GraphBatch.from_graphs([Graph.from_edges([], 0)])
    assert Aggregation(empty).parts[0].left(np.zeros((0, 3))).shape == (0, 3)
