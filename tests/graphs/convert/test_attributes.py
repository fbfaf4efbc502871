from __future__ import annotations

import warnings
from decimal import Decimal
from enum import Enum
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

from fastgntk import InputError, UnusedAttributesWarning, as_graphs
from fastgntk.graphs.convert._attributes import Attribute


def path(nodes: dict | None = None, edges: dict | None = None) -> nx.Graph:
    """A path of three nodes a, b, c with the values of each attribute in that order."""
    G = nx.path_graph(["a", "b", "c"])
    for name, values in (nodes or {}).items():
        for node, value in zip(G, values, strict=True):
            if value is not ...:
                G.nodes[node][name] = value
    for name, values in (edges or {}).items():
        for pair, value in zip(G.edges, values, strict=True):
            if value is not ...:
                G.edges[pair][name] = value
    return G


def unused_warning(G, **options) -> str:
    with pytest.warns(UnusedAttributesWarning) as caught:
        as_graphs([G], **options)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    return str(caught[0].message)


def refused(source, **options) -> str:
    with pytest.raises(InputError) as caught:
        as_graphs(source if isinstance(source, list) else [source], **options)
    message = str(caught.value)
    assert message.endswith(".")
    assert "\n" not in message
    return message


def test_usual_names_are_taken_by_default():
    batch = as_graphs(
        [path({"label": "CNO", "features": [[1, 2], [3, 4], [5, 6]]}, {"weight": [0.5, 2], "label": ["s", "double"]})]
    )
    assert batch.labels.tolist() == ["C", "N", "O"]
    assert batch.features.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert batch.weights.tolist() == [0.5, 0.5, 2, 2]
    assert batch.edge_labels.tolist() == ["s", "s", "double", "double"]
    assert as_graphs([path({"x": [1.5, 2, 3]})]).features.tolist() == [[1.5], [2], [3]]


def test_unused_attributes_raise_one_warning_for_all_graphs():
    G = path({"element": "CNO", "x": [1, 2, 3]}, {"length": [1, 2], "weight": [1, 2]})
    with pytest.warns(UnusedAttributesWarning) as caught:
        batch = as_graphs([G, path({"pos": [1, 2, 3], "x": [4, 5, 6]}, {"weight": [1, 1]})])
    assert [str(w.message) for w in caught] == [
        "not used: node attributes 'element', 'pos' and edge attribute 'length'; name what you need in node_labels=, "
        "node_features=, edge_labels=, edge_weights= or pass () to them to ignore it."
    ]
    assert batch.features.ravel().tolist() == [1, 2, 3, 4, 5, 6]


def test_usual_names_missing_on_some_nodes_raise_a_warning():
    G = path({"label": ["C", ..., "O"]}, {"weight": [2, ...]})
    assert unused_warning(G).startswith(
        "not used: node attribute 'label' (not on every node) and edge attribute 'weight' (not on every edge);"
    )
    with pytest.warns(UnusedAttributesWarning):
        batch = as_graphs([G])
    assert (batch.labels, batch.weights) == (None, None)


def test_attributes_of_later_nodes_only_raise_a_warning():
    assert unused_warning(path({"x": [1, 2, 3], "charge": [..., ..., 1]})).startswith(
        "not used: node attribute 'charge';"
    )
    assert unused_warning(path({"charge": [1, ..., ...]})).startswith("not used: node attribute 'charge';")


def test_graphs_with_equally_many_but_different_names():
    one, other = path({"label": "CNO", "charge": [1, 2, 3]}), path({"label": "OCN", "mass": [4, 5, 6]})
    for times in (1, 100):  # few are read together, many one group after the other
        batch = as_graphs([one] * times + [other] * times, node_labels="label")
        assert batch.labels.tolist() == list("CNO" * times + "OCN" * times)


def test_only_one_of_two_usual_names_is_taken():
    G = path({"x": [1, 2, 3], "features": [4, 5, 6]})
    assert unused_warning(G).startswith("not used: node attribute 'x';")


def test_named_attributes_disable_defaults_and_warnings():
    G = path({"element": "CNO", "label": [1, 2, 3]}, {"weight": [2, 3], "length": [1, 2]})
    assert unused_warning(G, node_labels="element").startswith("not used: edge attribute 'length';")
    with pytest.warns(UnusedAttributesWarning):
        batch = as_graphs([G], node_features="label")
    assert batch.labels is None
    assert batch.weights.tolist() == [2, 2, 3, 3]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        batch = as_graphs([G], node_labels=(), edge_labels=())
    assert (batch.labels, batch.weights) == (None, None)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"node_labels": 5}, "node_labels must be the name of an attribute or a sequence of names, but is 5"),
        ({"node_features": ["x", 3]}, r"node_features must be the name .* but is \['x', 3\]"),
        ({"edge_labels": ["a", "a"]}, "edge_labels must name each attribute once, but is 'a', 'a'"),
        ({"edge_weights": ["a", "b"]}, "an edge has one weight, but edge_weights names 2 attributes"),
        ({"node_labels": "charge"}, "no node has an attribute 'charge'; there are 'element'"),
        ({"edge_weights": "length"}, "no edge has an attribute 'length'; there are none at all"),
    ],
)
def test_invalid_attribute_names(options, words):
    with pytest.raises(InputError, match=words):
        as_graphs([path({"element": "CNO"})], **options)


def test_missing_attribute_of_a_node_or_edge():
    whole, part = path({"q": [1, 2, 3]}, {"w": [1, 2]}), path({"q": [1, 2, ...]}, {"w": [..., 2]})
    assert refused([whole, part], node_labels="q", edge_labels=()) == (
        "graph 1, node 'c' has no attribute 'q'; give it to every node, or name another."
    )
    assert refused([whole, whole, part], node_labels=(), edge_weights="w") == (
        "graph 2, edge ('a', 'b') has no attribute 'w'; give it to every edge, or name another."
    )


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([True, False, True], [1, 0, 1]),
        ([1.0, 2.0, -3.0], [1, 2, -3]),
        (np.array([4, 5, 6], dtype=np.uint8), [4, 5, 6]),
        (["", "a", "abc"], ["", "a", "abc"]),
        ([np.str_("a"), "b", "c"], ["a", "b", "c"]),
        ([np.int64(2**62), 1, True], [2**62, 1, 1]),
        ([("C", 1), ("N", 2), ("O", 3)], [["C", "1"], ["N", "2"], ["O", "3"]]),
        ([(1, 2), (3, 4), (5, 6)], [[1, 2], [3, 4], [5, 6]]),
        ([(1,), (3,), (5,)], [1, 3, 5]),
    ],
)
def test_valid_labels(values, expected):
    batch = as_graphs([path({"label": values})])
    assert batch.labels.tolist() == expected
    assert batch.labels.dtype in (np.dtype(np.int64), np.dtype(f"U{batch.labels.dtype.itemsize // 4}"))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (
            [[1, 2], [2, 3], [3, 4]],
            "graph 0, node 'a' has 'label' = [1, 2]; a label must be an integer or a string",
        ),
        ([1, [2, 3], 4], "graph 0, node 'b' has 'label' = [2, 3]; a label must be an integer or a string: pass "),
        ([1, 2.5, 4], "node 'b' has 'label' = 2.5; a label must be"),
        ([1, float("nan"), 4], "node 'b' has 'label' = nan; a label must be"),
        ([1, 2, 2**63], f"node 'c' has 'label' = {2**63}; a label must be"),
        ([1, 2, 2**70], f"node 'c' has 'label' = {2**70}; a label must be"),
        ([None, 2, 3], "node 'a' has 'label' = None; a label must be"),
        ([{1}, {2}, {3}], "node 'a' has 'label' = {1}; a label must be"),
        ([1j, 2, 3], "node 'a' has 'label' = 1j; a label must be"),
        ([1, "C", 2], "node 'b' has 'label' = 'C', but graph 0, node 'a' has 1; labels must be all"),
        (
            [(1, 2), (1,), (1, 2)],
            "node 'b' has 1 labels in 'label', but graph 0, node 'a' has 2; all must have the same length",
        ),
        ([(1, 2), (1, [3]), (1, 2)], "node 'b' has 'label' = (1, [3]); a label must be"),
        ([(1, "a"), (1, 3), (1, "b")], "node 'b' has 'label' = 3, but graph 0, node 'a' has 'a'; labels must be all"),
        ([(), (), ()], "node 'a' has 'label' = (); a label must be"),
    ],
)
def test_invalid_labels(values, words):
    assert words in refused(path({"label": values}))


@pytest.mark.parametrize(
    "values",
    [[1, 2.5, True], [Decimal("1"), Fraction(5, 2), 1], [[1], [2.5], (1,)], [np.float32(1), np.array([2.5]), [1]]],
)
def test_valid_features(values):
    assert as_graphs([path({"x": values})]).features.tolist() == [[1], [2.5], [1]]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1, "2", 3], "graph 0, node 'b' has 'x' = '2'; it must be a real number or a vector of them: pass discrete"),
        ([1, None, 3], "node 'b' has 'x' = None; it must be a real number"),
        ([1, 2, 3j], "node 'c' has 'x' = 3j; it must be a real number"),
        ([[1, 2], [3, 4], [5]], "node 'c' has 1 numbers in 'x', but graph 0, node 'a' has 2; all must have the same"),
        ([[1, 2], [3, float("nan")], [5, 6]], "node 'b' has 'x' = [3, nan]; numbers must be finite"),
        ([1, 2, float("-inf")], "node 'c' has 'x' = -inf; numbers must be finite"),
        ([1, 2, (3, [4])], r"node 'c' has 'x' = (3, [4]); it must be a real number or a vector"),
        ([[[1]], [[2]], [[3]]], "node 'a' has 'x' = [[1]]; it must be a real number or a vector"),
    ],
)
def test_invalid_features(values, words):
    assert words in refused(path({"x": values}))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1, 2 + 1j], "graph 0, edge ('b', 'c') has 'weight' = (2+1j); it must be a real number"),
        ([float("nan"), 1], "graph 0, edge ('a', 'b') has 'weight' = nan; numbers must be finite"),
        (["1", "2"], "edge ('a', 'b') has 'weight' = '1'; it must be a real number"),
        ([[1, 2], [3, 4]], "edge ('a', 'b') has 2 numbers in 'weight', but a weight is one number"),
    ],
)
def test_invalid_weights(values, words):
    assert words in refused(path(edges={"weight": values}))


def test_invalid_edge_label():
    assert "edge ('a', 'b') has 'label' = 0.5; a label must be" in refused(path(edges={"label": [0.5, 1]}))
    assert as_graphs([path(edges={"label": [("s", 1), ("d", 2)]})]).edge_labels.tolist() == (
        ['["s", "1"]'] * 2 + ['["d", "2"]'] * 2
    )


def test_long_values_are_truncated_in_messages():
    message = refused(path({"x": [1, "y" * 500, 2]}))
    assert len(message) < 250


@pytest.mark.parametrize("value", [10**400, 2**64])
def test_integers_beyond_float64_are_rejected_as_features(value):
    assert "a label must be an integer or a string" in refused(path({"label": [1, 2, value]}), node_labels="label")
    if value > 2**64:
        message = refused(path({"x": [1, 2, value]}), node_features="x")
        assert "graph 0, node 'c' has 'x' = 1000000" in message
        assert "it must be a real number" in message


@pytest.mark.parametrize(
    "values",
    [
        [3, 0, 255],
        [3, 0, 256],
        [3, -1, 7],
        [2**40, 0, 1],
        [True, False, 7],
        [np.int8(-3), np.uint8(9), 300],
        [1.0, 2, 3],
    ],
    ids=["small", "larger", "negative", "large", "booleans", "of NumPy", "whole floats"],
)
def test_integers_of_any_size_are_labels(values):
    labels = as_graphs([path({"label": values})]).labels
    assert labels.dtype == np.int64
    assert labels.tolist() == [int(value) for value in values]


def test_object_arrays_are_labels_by_their_values():
    for values in (["C", "N", "C"], [1, 0, 300], [1, 0, 3]):
        found = Attribute("label", np.array(values, dtype=object), str, "").labels()
        assert found.tolist() == values


def test_enum_members_become_their_text():
    class Element(str, Enum):  # noqa: UP042  # as people have written them before StrEnum
        CARBON = "C"
        NITROGEN = "N"

    labels = as_graphs([path({"label": [Element.CARBON, "C", Element.NITROGEN]})]).labels
    assert labels.tolist() == ["C", "C", "N"]


@pytest.mark.parametrize("number", [1, 300])
def test_number_like_objects_are_no_labels(number):
    values = [np.array(number), np.array(number), np.array(number)]
    assert "a label must be an integer or a string" in refused(path({"label": values}))


def test_repeated_strings():
    values = ["b", "aa", "b", "", "aa", "ccc"]
    G = nx.empty_graph(6)
    nx.set_node_attributes(G, dict(enumerate(values)), "label")
    assert as_graphs([G]).labels.tolist() == values


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([[1, 2], [3, 4], ["5", 6]], "node 'c' has 'x' = ['5', 6]; it must be a real number or a vector of them"),
        ([[1, 2], [3, 4], [5, 6j]], "node 'c' has 'x' = [5, 6j]; it must be a real number or a vector of them"),
        ([[1, 2], [3, 4], [5]], "node 'c' has 1 numbers in 'x', but graph 0, node 'a' has 2"),
        ([[1, 2], [3, 4], [5, [6]]], "node 'c' has 'x' = [5, [6]]; it must be a real number or a vector of them"),
        ([[1, 2], [3], [4, 5, 6]], "node 'b' has 1 numbers in 'x', but graph 0, node 'a' has 2"),
        ([[1, 2], [3, 4], 5], "node 'c' has 1 numbers in 'x', but graph 0, node 'a' has 2"),
        ([[1, 2], [np.float32(np.nan), 4], [5, 6]], "; numbers must be finite"),
        ([[[1], [2]], [[3], [4]], [[5], [6]]], "node 'a' has 'x' = [[1], [2]]; it must be a real number or a vector"),
    ],
)
def test_vectors_of_unequal_length_or_kind_are_rejected(values, words):
    assert words in refused(path({"x": values}), node_features="x")


def test_vectors_in_lists_tuples_and_arrays():
    for values in ([[1, 2], [3, 4.5], [True, 6]], [(1, 2), [3, 4.5], np.array([1, 6])]):
        assert as_graphs([path({"x": values})]).features.tolist() == [[1, 2], [3, 4.5], [1, 6]]
    assert as_graphs([path({"x": [[], [], []]})], node_features="x").features.shape == (3, 0)


def test_numpy_scalars_are_shown_as_numbers():
    G = path(edges={"weight": [np.float64("nan"), 1.0]})
    assert refused(G).startswith("graph 0, edge ('a', 'b') has 'weight' = nan;")
