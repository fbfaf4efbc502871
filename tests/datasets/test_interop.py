from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from tests.batches import same

from fastgntk import InputError, to_networkx
from fastgntk.datasets import from_networkx, load


def two(*y) -> list[nx.Graph]:
    out = [nx.path_graph(2), nx.path_graph(3)]
    for G, target in zip(out, y, strict=True):
        if target is not ...:
            G.graph["y"] = target
    return out


def test_data_set_round_trip():
    data = load("MUTAG")
    back = from_networkx(to_networkx(data.graphs, data.y), name="again")
    same(back.graphs, data.graphs)
    assert back.y.tolist() == data.y.tolist()
    assert back.y.dtype == np.int64
    assert back.name == "again"


@pytest.mark.parametrize(
    ("y", "kind"),
    [([1, 0], "i"), ([0.5, 1], "f"), (["a", "bcd"], "U"), ([[1, 2.5], [3, 4]], "f"), ([np.float32(1), 2], "f")],
)
def test_targets_keep_their_kind(y, kind):
    found = from_networkx(two(*y)).y
    assert found.tolist() == y
    assert found.dtype.kind == kind
    assert from_networkx(two(True, False)).y.tolist() == [1, 0]


def test_targets_by_other_names_and_none():
    graphs = two(1, 2)
    for i, G in enumerate(graphs):
        G.graph["z"] = i / 2
    assert from_networkx(graphs, "z").y.tolist() == [0, 0.5]
    assert from_networkx(graphs, ["z", "y"]).y.tolist() == [[0, 1], [0.5, 2]]
    assert from_networkx(graphs, None).y is None


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ((1, ...), "graph 1 has no attribute 'y' to learn; its own are none at all"),
        ((1, None), "graph 1 has no attribute 'y' to learn"),
        ((1, "a"), "graph 1 has 'y' = 'a'; targets must be all numbers, all strings"),
        (("a", 1), "graph 0 has 'y' = 'a'; targets must be"),
        ((1, 1j), "graph 1 has 'y' = 1j; targets must be"),
        (([1, 2], [1]), "the attribute 'y' must be one number, or equally many, for each graph"),
        (([1, 2], 1), "the attribute 'y' must be one number, or equally many"),
        ((1, {}), "graph 1 has 'y' = {}; targets must be"),
    ],
)
def test_invalid_targets(y, words):
    with pytest.raises(InputError) as caught:
        from_networkx(two(*y))
    assert words in str(caught.value)


def test_several_targets_are_numbers():
    with pytest.raises(InputError, match="each of several targets must be one number for each graph"):
        from_networkx(two("a", "b"), ["y"])


def test_other_graphs_are_rejected():
    with pytest.raises(InputError, match="graph 0 must be a NetworkX graph, but is a ndarray"):
        from_networkx([np.eye(2)])


def test_targets_beyond_int64_are_floats():
    assert from_networkx(two(2**63, 1)).y.tolist() == [2.0**63, 1.0]
    with pytest.raises(InputError, match=r"graph 0 has 'y' = \[1, \[2\]\]; targets must be all numbers"):
        from_networkx(two([1, [2]], [1, 2]))


def test_generators_of_graphs_are_accepted():
    assert from_networkx(G for G in two(1, 2)).y.tolist() == [1, 2]
    assert from_networkx(two(1, 2)[1]).y.tolist() == [2]
