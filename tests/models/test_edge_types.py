"""Edge types that only new graphs have: the kernel of two graphs depends on these two alone."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import fastgntk as fg
from fastgntk import UnseenLabelWarning

TYPED = fg.GNTK(1, 1, edges="typed")


def chain(label, nodes=3):
    edges = [(i, i + 1) for i in range(nodes - 1)]
    return fg.Graph.from_edges(
        edges, nodes, labels=["C", "O"] * (nodes // 2) + ["C"] * (nodes % 2), edge_labels=[label] * (nodes - 1)
    )


@pytest.mark.parametrize("pair", [("d", "t"), ("d", "d"), ("s", "a"), ("t", "s")])
def test_kernel_depends_on_the_pair_alone(pair):
    rows, cols = [chain(pair[0])], [chain(pair[1])]
    expected = fg.gram(rows + cols, TYPED)[0, 1]
    assert fg.cross_gram(rows, cols, TYPED)[0, 0] == pytest.approx(expected)
    assert fg.cross_gram(rows, fg.prepare(cols, TYPED))[0, 0] == pytest.approx(expected)
    kernel = fg.KernelTransformer(TYPED).fit([chain("s"), *cols])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenLabelWarning)
        assert kernel.transform(rows)[0, 1] == pytest.approx(expected)


def test_predictions_do_not_depend_on_other_new_graphs(tmp_path):
    train = [chain("s", 2), chain("s", 3), chain("d", 4), chain("a", 3)]
    model = fg.GraphRegressor(fg.GNTK(1, edges="typed")).fit(train, [1.0, 2.0, 3.0, 5.0])
    model.save(tmp_path / "m.fgntk")
    with pytest.warns(UnseenLabelWarning, match="edges of 1 graphs have a label that no training graph has; the model"):
        among = model.predict([chain("t"), chain("d"), chain("s"), chain("a", 5)])
    alone = model.predict([chain("d")])
    np.testing.assert_allclose(alone, among[1:2], rtol=1e-9)
    np.testing.assert_allclose(fg.load_model(tmp_path / "m.fgntk").predict([chain("d")]), alone, rtol=1e-9)


def test_edge_types_are_extended_beside_attributes_too():
    def pair(label):
        return fg.Graph.from_edges([(0, 1)], 2, np.eye(2), edge_labels=[label])

    expected = fg.gram([pair("d"), pair("t")], TYPED)[0, 1]
    fitted = fg.prepare([pair("s"), pair("t")], TYPED)
    assert fg.cross_gram([pair("d")], fitted)[0, 1] == pytest.approx(expected)


def test_plain_kernel_ignores_edge_labels():
    model = fg.GraphRegressor(fg.GNTK(1)).fit([chain("s", 2), chain("s", 3), chain("s", 4)], [1.0, 2.0, 3.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(model.predict([chain(1, 4)]), model.predict([chain("s", 4)]), rtol=1e-9)


def test_composite_kernel_with_typed_edges_warns_of_unseen_types():
    train = [chain("s", 2), chain("s", 3), chain("d", 4)]
    model = fg.GraphRegressor(fg.GNTK(1, 1) + TYPED).fit(train, [1.0, 2.0, 3.0])
    with pytest.warns(UnseenLabelWarning, match="edges of 1 graphs have a label that no training graph has"):
        model.predict([chain("t")])
