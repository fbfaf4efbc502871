from __future__ import annotations

import numpy as np

from fastgntk import GNTK, Graph, NodeFeatures, datasets, gram
from fastgntk.kernel import equal_graphs

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
