from __future__ import annotations

import numpy as np

from fastgntk import GNTK, Graph, NodeFeatures, datasets, gram
from fastgntk.engines import equal_graphs

RING = Graph.from_edges([(i, (i + 1) % 6) for i in range(6)], 6)
TRIANGLES = Graph.from_edges([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)], 6)
PATH = Graph.from_edges([(0, 1), (1, 2), (2, 3)], 4)
TURNED = Graph.from_edges([(2, 1), (1, 3), (3, 0)], 4)  # the same path, numbered otherwise


def test_graphs_that_refinement_cannot_tell_apart_have_one_number():
    batch = NodeFeatures().fit_transform([PATH, RING, TURNED, TRIANGLES, Graph.from_edges([], 0), RING])
    assert equal_graphs(batch, 3).tolist() == [0, 1, 0, 1, 4, 1]


def test_deeper_refinement_tells_more_apart():
    # Two trees of one degree sequence in which neighbours of neighbours differ.
    one = Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 4), (2, 5), (5, 6)], 7, labels=[0] * 7)
    other = Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (1, 6)], 7, labels=[0] * 7)
    batch = NodeFeatures().fit_transform([one, other])
    assert equal_graphs(batch, 1).tolist() == [0, 0]
    assert equal_graphs(batch, 3).tolist() == [0, 1]


def test_equal_graphs_have_equal_rows_and_hardly_any_others_do():
    batch = datasets.load("MUTAG").graphs
    groups = equal_graphs(NodeFeatures().fit_transform(batch), 2)
    K = gram(batch, GNTK(2, 1))
    own = K.diagonal()
    distance = (own[:, None] + own - 2 * K) / np.sqrt(np.outer(own, own))
    same = groups[:, None] == groups
    assert np.sum(groups != np.arange(len(batch))) > 0
    assert np.abs(distance[same]).max() < 1e-9
    assert np.mean(distance[~same] < 1e-9) < 0.01


def test_graphs_with_equal_neighbourhoods_but_other_nodes_are_not_equal():
    # Closed neighbourhoods hold the same labels in both, but one has four nodes of label 0 and the other three.
    edges = [(0, 4), (1, 3), (2, 3), (3, 4)]
    given = [Graph.from_edges(edges, 5, labels=labels) for labels in ([0, 0, 0, 1, 0], [1, 0, 1, 0, 0])]
    batch = NodeFeatures().fit_transform(given)
    assert equal_graphs(batch, 1).tolist() == [0, 1]
    K = gram(given, GNTK(1, 1, jump=True))
    assert K[0, 0] > K[0, 1] + 1
