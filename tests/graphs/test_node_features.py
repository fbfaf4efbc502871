from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from fastgntk import Graph, GraphBatch, InputError, NodeFeatures, UnseenLabelWarning, as_graphs


def labelled(*labels, edges=()) -> GraphBatch:
    return as_graphs([Graph.from_edges(list(edges), len(labels), labels=list(labels))])


def rows(batch: GraphBatch) -> list[list[float]]:
    return batch.features.toarray().tolist() if sparse.issparse(batch.features) else batch.features.tolist()


def test_auto_prefers_attributes_then_labels_then_degree():
    ring = [(0, 1), (1, 2), (2, 0)]
    both = as_graphs([Graph.from_edges(ring, 3, np.ones((3, 2)), labels=[1, 2, 3])])
    assert NodeFeatures().fit(both).kind_ == "attributes"
    assert NodeFeatures().fit(labelled(1, 2, 3)).kind_ == "labels"
    assert NodeFeatures().fit(as_graphs([Graph.from_edges(ring, 3)])).kind_ == "degree"
    assert rows(NodeFeatures("labels").fit_transform(both)) == np.eye(3).tolist()
    assert rows(NodeFeatures("degree").fit_transform(both)) == [[1.0]] * 3


def test_discrete_takes_labels_or_degrees_and_refuses_attributes_alone():
    path, attributes = [(0, 1), (1, 2)], np.arange(6.0).reshape(3, 2)
    both = as_graphs([Graph.from_edges(path, 3, attributes, labels=[4, 4, 7])])
    step = NodeFeatures("discrete").fit(both)
    assert (step.kind, step.kind_, rows(step.transform(both))) == ("discrete", "labels", [[1, 0], [1, 0], [0, 1]])
    assert rows(NodeFeatures("discrete").fit_transform(labelled(4, 4, 7))) == rows(step.transform(both))
    bare = as_graphs([Graph.from_edges(path, 3)])
    assert NodeFeatures("discrete").fit(bare).kind_ == "degree"
    assert rows(NodeFeatures("discrete").fit_transform(bare)) == [[1, 0], [0, 1], [1, 0]]
    alone = as_graphs([Graph.from_edges(path, 3, attributes)])
    with pytest.raises(InputError, match=r"^features='discrete' needs node labels, but .* GNTK"):
        NodeFeatures("discrete").fit(alone)


def test_one_hot_rows_follow_the_fitted_order():
    step = NodeFeatures().fit(labelled(5, 2, 9))
    assert rows(step.transform(labelled(9, 2))) == [[0, 0, 1], [1, 0, 0]]
    assert step.width_ == 3


def test_degrees_ignore_weights():
    star = as_graphs([Graph.from_edges([(0, 1), (0, 2)], 3, weights=[0.3, 7.0])])
    assert rows(NodeFeatures("degree").fit_transform(star)) == [[0, 1], [1, 0], [1, 0]]


def test_several_node_labels_are_concatenated():
    batch = as_graphs([Graph.from_edges([], 2, labels=[[0, 7], [1, 7]])])
    assert rows(NodeFeatures().fit_transform(batch)) == [[1, 0, 1], [0, 1, 1]]


@pytest.mark.parametrize("unseen", ["N", "A", "Z"])
def test_an_unseen_label_is_a_zero_row_and_counted(unseen):
    step = NodeFeatures().fit(labelled("C", "O"))
    with pytest.warns(UnseenLabelWarning, match="1 nodes in 1 graphs have a label that was absent"):
        assert rows(step.transform(labelled("O", unseen))) == [[0, 1], [0, 0]]


def test_an_unseen_degree_is_a_zero_row_and_counted():
    step = NodeFeatures("degree").fit(as_graphs([Graph.from_edges([(0, 1)], 2)]))
    with pytest.warns(UnseenLabelWarning, match="1 nodes in 1 graphs have a degree"):
        assert rows(step.transform(as_graphs([Graph.from_edges([(0, 1), (0, 2)], 3)]))) == [[0], [1], [1]]


def test_extended_features_keep_columns_and_add_new_ones_at_the_end():
    first = as_graphs([Graph.from_edges([], 2, labels=[["C", "x"], ["O", "y"]])])
    second = as_graphs([Graph.from_edges([], 2, labels=[["B", "y"], ["C", "z"]])])
    step = NodeFeatures().fit(first)
    wider = step.extend(second)
    assert rows(wider.transform(first)) == [[1, 0, 1, 0, 0, 0], [0, 1, 0, 1, 0, 0]]
    assert rows(wider.transform(second)) == [[0, 0, 0, 1, 1, 0], [1, 0, 0, 0, 0, 1]]
    assert step.width_ == 4
    assert step.unseen(second).tolist() == [True, True]
    assert wider.unseen(second).tolist() == [False, False]
    assert rows(wider.extend(first).transform(second)) == rows(wider.transform(second))


def test_extend_after_fit_on_empty_graphs():
    step = NodeFeatures("labels").fit([Graph.from_edges([], 0, labels=[])])
    assert rows(step.extend(labelled(3, 1)).transform(labelled(3, 1))) == [[0, 1], [1, 0]]


def test_attributes_are_used_unchanged():
    values = np.array([[0.5, -1.0], [2.0, 0.0]])
    batch = as_graphs([Graph.from_edges([(0, 1)], 2, values)])
    assert np.array_equal(NodeFeatures().fit_transform(batch).features, values)


def test_all_concatenates_attributes_and_labels():
    first = as_graphs([Graph.from_edges([(0, 1)], 2, [[0.5, 0.0], [2.0, -1.0]], labels=["C", "O"])])
    later = as_graphs([Graph.from_edges([], 1, [[7.0, 8.0]], labels=["B"])])
    step = NodeFeatures("all").fit(first)
    assert rows(step.transform(first)) == [[0.5, 0, 1, 0], [2, -1, 0, 1]]
    assert (step.width_, step.attributes_width_) == (4, 2)
    assert rows(step.extend(later).transform(later)) == [[7, 8, 0, 0, 1]]
    assert rows(step.extend(later).transform(first)) == [[0.5, 0, 1, 0, 0], [2, -1, 0, 1, 0]]


def test_edge_types_keep_their_numbers_when_extended():
    def edges(*labels):
        ends = [(0, i + 1) for i in range(len(labels))]
        return as_graphs([Graph.from_edges(ends, 9, np.ones((9, 1)), edge_labels=list(labels))])

    step = NodeFeatures().fit(edges("double", "single"))
    assert step.transform(edges("double", "single")).edge_labels.tolist() == [0, 1, 0, 1]
    # New ones come behind those that are known, in order.
    extended = step.extend(edges("triple"))
    assert extended.transform(edges("triple", "single", "none")).edge_labels[:3].tolist() == [2, 1, 3]
    assert step.extend(edges(2, 1)).transform(edges(1, 2)).edge_labels[:2].tolist() == [2, 3]
    assert step.extend(edges(2)).extend(edges("a")).transform(edges("a", "single")).edge_labels[:2].tolist() == [3, 1]
    assert step.unseen_edges(edges("single", "a")).tolist() == [False, True, False, True]


@pytest.mark.parametrize(
    ("fit_on", "use_on", "kind", "words"),
    [
        (
            as_graphs([Graph.from_edges([], 1, np.ones((1, 2)), labels=["C"])]),
            as_graphs([Graph.from_edges([], 1, np.ones((1, 3)), labels=["C"])]),
            "all",
            "features have width 3, but the features were fitted on width 2",
        ),
        (labelled(1), labelled(1), "all", "have no continuous features"),
        (labelled(1), labelled("C"), "auto", "must be of the fitted kind"),
        (labelled(1), as_graphs([Graph.from_edges([], 1)]), "auto", "have no node labels; use features='degree'"),
        (labelled(1), labelled(1), "attributes", "have no continuous features; use features='labels'"),
        (
            as_graphs([Graph.from_edges([], 1, np.ones((1, 2)))]),
            as_graphs([Graph.from_edges([], 1, np.ones((1, 3)))]),
            "auto",
            "features have width 3, but the features were fitted on width 2",
        ),
        (labelled(1), as_graphs([Graph.from_edges([], 1, labels=[[1, 2]])]), "auto", "2 labels each, .* fitted on 1"),
    ],
)
def test_mismatched_batches_are_rejected(fit_on, use_on, kind, words):
    with pytest.raises(InputError, match=words):
        NodeFeatures(kind).fit(fit_on).transform(use_on)


def test_unfitted_features_raise():
    with pytest.raises(InputError, match="not fitted; call fit"):
        NodeFeatures().transform(labelled(1))


def test_lists_of_graphs_are_accepted():
    assert NodeFeatures().fit([np.eye(2)]).kind_ == "degree"


def test_warning_points_at_the_caller():
    with pytest.warns(UnseenLabelWarning) as caught:
        NodeFeatures().fit(labelled(1)).transform(labelled(2))
    assert caught[0].filename == __file__


def test_unknown_kind_is_rejected():
    with pytest.raises(
        InputError, match="features must be one of auto, attributes, labels, all, degree, discrete, but is 'onehot'"
    ):
        NodeFeatures("onehot")
