"""Types of edges that graphs bring along later: nothing but the two graphs decides about their kernel."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import fastgntk as fg
from fastgntk.graphs import UnseenLabelWarning

TYPED = fg.GNTK(1, 1, edges="typed")


def chain(label, nodes=3):
    edges = [(i, i + 1) for i in range(nodes - 1)]
    return fg.Graph.from_edges(
        edges, nodes, labels=["C", "O"] * (nodes // 2) + ["C"] * (nodes % 2), edge_labels=[label] * (nodes - 1)
    )


STEP = fg.NodeFeatures().fit([chain("s")])


@pytest.mark.parametrize("features", ["auto", STEP])
@pytest.mark.parametrize("pair", [("d", "t"), ("d", "d"), ("s", "a"), ("t", "s")])
def test_a_pair_alone_decides(features, pair):
    rows, cols = [chain(pair[0])], [chain(pair[1])]
    expected = fg.gram(rows + cols, TYPED)[0, 1]
    assert fg.cross_gram(rows, cols, TYPED, features=features)[0, 0] == pytest.approx(expected)
    assert fg.cross_gram(rows, fg.prepare(cols, TYPED, features=features))[0, 0] == pytest.approx(expected)
    kernel = fg.GNTKKernel(1, 1, edges="typed", features=features).fit([chain("s"), *cols])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenLabelWarning)
        assert kernel.transform(rows)[0, 1] == pytest.approx(expected)


@pytest.mark.parametrize("features", ["auto", STEP])
def test_predictions_do_not_depend_on_what_else_is_asked(features, tmp_path):
    train = [chain("s", 2), chain("s", 3), chain("d", 4), chain("a", 3)]
    model = fg.GNTKRegressor(1, edges="typed", features=features).fit(train, [1.0, 2.0, 3.0, 5.0])
    model.save(tmp_path / "m.fgntk")
    with pytest.warns(UnseenLabelWarning, match="edges of 1 graphs have a label that no training graph has; the model"):
        among = model.predict([chain("t"), chain("d"), chain("s"), chain("a", 5)])
    alone = model.predict([chain("d")])
    np.testing.assert_allclose(alone, among[1:2], rtol=1e-9)
    np.testing.assert_allclose(fg.load_model(tmp_path / "m.fgntk").predict([chain("d")]), alone, rtol=1e-9)


def test_attributes_know_edge_types_too():
    def weighed(label):
        return fg.Graph.from_edges([(0, 1)], 2, np.eye(2), edge_labels=[label])

    step = fg.NodeFeatures().fit([weighed("s")])
    expected = fg.gram([weighed("d"), weighed("t")], TYPED)[0, 1]
    assert fg.cross_gram([weighed("d")], [weighed("t")], TYPED, features=step)[0, 0] == pytest.approx(expected)


def test_a_plain_kernel_does_not_look_at_edge_labels():
    model = fg.GNTKRegressor(1).fit([chain("s", 2), chain("s", 3), chain("s", 4)], [1.0, 2.0, 3.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(model.predict([chain(1, 4)]), model.predict([chain("s", 4)]), rtol=1e-9)
