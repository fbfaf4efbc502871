from __future__ import annotations

import numpy as np
import pytest
from tests.tables import ENGINES, EXACT, FAMILIES, by_engine

from fastgntk import GNTK, Graph, GraphBatch, InputError, NodeFeatures, as_graphs, gram, node_contributions
from fastgntk.engines import _aggregation
from fastgntk.engines._aggregation import Aggregation, operator_matrix, row_sums


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("ratio", [0.0, 1e12])
def test_sparse_and_dense_products_equal_the_matrix(family, ratio, monkeypatch):
    monkeypatch.setattr(_aggregation, "SPARSE_OVER_DENSE", ratio)
    batch = as_graphs(FAMILIES[family])
    matrix = np.random.default_rng(0).standard_normal((batch.n_nodes, 5))
    whole = batch.adjacency().toarray() + np.eye(batch.n_nodes)
    operator = Aggregation(batch).relations[0]
    assert operator.is_sparse == (ratio == 0.0 or batch.n_nodes == 0)
    EXACT.check(operator.left(matrix), whole @ matrix)
    transposed = np.ascontiguousarray(matrix.T).T
    EXACT.check(operator.left(transposed), whole @ matrix)


@pytest.mark.parametrize("family", FAMILIES)
def test_row_sums_are_those_of_a_hat(family):
    batch = as_graphs(FAMILIES[family])
    EXACT.check(row_sums(batch), batch.adjacency().toarray().sum(axis=1) + 1.0)
    EXACT.check(row_sums(batch, 0.5), batch.adjacency().toarray().sum(axis=1) + 0.5)


@pytest.mark.parametrize("self_weight", [1.0, 0.5, 0.0])
@pytest.mark.parametrize("family", FAMILIES)
def test_symmetric_operator_is_that_of_a_gcn(family, self_weight):
    batch = NodeFeatures().fit_transform(FAMILIES[family])
    whole = batch.adjacency().toarray() + self_weight * np.eye(batch.n_nodes)
    D = np.diag(whole.sum(axis=1))
    root = np.linalg.pinv(np.sqrt(D))  # 0 where a node has no degree
    aggregation = Aggregation(batch, uses_edge_labels=True, self_weight=self_weight, symmetric=True)
    EXACT.check(aggregation.matrix.toarray(), root @ whole @ root)
    EXACT.check(sum(relation.matrix.toarray() for relation in aggregation.relations), root @ whole @ root)


def test_root_of_a_product_of_integers_is_rounded_once():
    # So that entries over sqrt(2 · 6) and over sqrt(3 · 4) are equal for refinement.
    a, b = (part.astype(float) for part in np.divmod(np.arange(2500), 50))
    assert np.array_equal(_aggregation._root_of_product(a, b), np.sqrt(a * b))


def test_symmetric_operator_of_very_large_and_very_small_weights_is_exact():
    weights = np.array([[0.0, 1e200, 0.0], [1e200, 0.0, 1e-200], [0.0, 1e-200, 0.0]])
    batch = as_graphs([Graph(weights)])
    expected = [[0.0, 1.0, 0.0], [1.0, 0.0, 1e-200], [0.0, 1e-200, 0.0]]
    EXACT.check(operator_matrix(batch, 0.0, True).toarray()[:2], np.array(expected)[:2])
    EXACT.check(operator_matrix(batch, 0.0, True).toarray()[2, 1] * 1e200, 1.0)


@pytest.mark.parametrize("self_weight", [1.0, 0.0])
def test_symmetric_scale_refuses_degrees_that_are_not_positive_and_names_the_node(self_weight):
    good = Graph.from_edges([(0, 1)], 3, np.eye(3), weights=[0.5])
    bad = Graph.from_edges([(0, 1), (1, 2)], 3, np.ones((3, 2)), weights=[1.5, -1.5])
    kernel = GNTK(1, scale="symmetric", self_weight=self_weight)
    assert np.isfinite(gram([good], kernel)).all()
    node, value = (1, "0") if self_weight == 0.0 else (2, r"-0\.5")
    words = rf"divides by the root of the sum of a node's weights plus self_weight, which is {value} for node {node} of"
    with pytest.raises(InputError, match=words):
        gram([good, Graph(bad.adjacency, np.eye(3))], kernel)


def test_degree_scale_refuses_weights_without_a_positive_sum_and_names_the_node():
    good = Graph.from_edges([(0, 1)], 2, np.eye(2), weights=[0.5])
    bad = Graph.from_edges([(0, 1), (1, 2)], 3, np.ones((3, 2)), weights=[1.0, -2.5])
    with pytest.raises(InputError, match=r"-0\.5 for node 1 of graph 1; use scale='uniform'"):
        gram([good, bad], GNTK(scale="degree"))
    assert np.isfinite(gram([good, bad], GNTK(scale="uniform"))).all()
    assert np.isfinite(gram([good, bad], GNTK(scale="degree", self_weight=2.75))).all()
    with pytest.raises(InputError, match=r"a node's weights plus self_weight, which is 0 for node 2 of graph 1; use"):
        gram([good, bad], GNTK(scale="degree", self_weight=2.5))


@pytest.mark.parametrize("scale", ["uniform", "degree", "unit"])
@pytest.mark.parametrize("engine", ENGINES)
def test_without_self_weight_a_node_without_neighbours_contributes_to_level_zero_only(engine, scale):
    lonely = Graph.from_edges([(0, 1)], 3, np.eye(3) + 1.0)
    kernel = GNTK(2, 1, scale, jump=(0.0, 1.0, 1.0), self_weight=0.0)
    contributions = node_contributions(lonely, [lonely], **by_engine(engine, kernel))[:, 0]
    assert (contributions[:2] > 0.0).all()
    assert contributions[2] == 0.0


def test_relation_of_an_empty_batch_is_empty():
    empty = GraphBatch.from_graphs([Graph.from_edges([], 0)])
    assert Aggregation(empty).relations[0].left(np.zeros((0, 3))).shape == (0, 3)
